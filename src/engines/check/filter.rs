//! Which records a check is about, and the texts of a record that it looks at.

use std::borrow::Cow;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::Regex;

use super::{Check, Kinds, Refused, pattern};
use crate::record::{Kind, Record, json::Json};

/// The fields of the normal form that hold text, or a value that can be written as text.
pub const FIELDS: [&str; 16] = [
    "args",
    "context",
    "error",
    "finish_reason",
    "host",
    "id",
    "label",
    "level",
    "model",
    "prompt",
    "provider",
    "response",
    "result",
    "session_id",
    "system",
    "tool",
];

/// A field as a check names it: `response`, `/response`, `/args/command`, or `/meta/region` of the log's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// One of [`FIELDS`], and where in its value.
    Normal(&'static str, String),
    /// A value of the log's own, by the number of its pointer.
    Own(u32),
}

/// The JSON Pointers that checks have into the log's own records, each once.
#[derive(Clone, Debug, Default)]
pub struct Pointers(pub Vec<String>);

impl Pointers {
    /// The field that `name` means.
    pub fn field(&mut self, name: &str) -> Result<Field, String> {
        let pointer = if name.starts_with('/') { name.to_owned() } else { format!("/{name}") };
        let first = pointer[1..].split('/').next().unwrap_or_default();
        let first = if first == "session" { "session_id" } else { first };
        if let Some(field) = FIELDS.iter().find(|field| **field == first) {
            let rest = pointer[1..].find('/').map_or("", |at| &pointer[1 + at..]);
            return Ok(Field::Normal(field, rest.to_owned()));
        }
        if !name.starts_with('/') {
            let near = crate::text::nearest::nearest(name, &FIELDS);
            let meant = near
                .map_or_else(|| format!("they are {}", FIELDS.join(", ")), |near| format!("did you mean `{near}`?"));
            return Err(format!(
                "there is no field `{name}`; {meant}; a JSON pointer such as `/meta/{name}` finds a field of the log's own"
            ));
        }
        let known = self.0.iter().position(|known| *known == pointer);
        let number = known.unwrap_or_else(|| {
            self.0.push(pointer);
            self.0.len() - 1
        });
        Ok(Field::Own(number as u32))
    }
}

/// A text of a record: its pointer into the normal form, what it says, and its value where it is one.
pub struct Looked<'r> {
    /// JSON Pointer; that of the log's own record where the text is from there.
    pub pointer: Cow<'r, str>,
    /// The text: a string as it stands, any other value as JSON.
    pub text: Cow<'r, str>,
    /// The value, where it is no plain text.
    pub value: Option<&'r Json<'r>>,
}

impl Looked<'_> {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        match self.value {
            Some(Json::Null) => true,
            Some(Json::Array(items)) => items.is_empty(),
            Some(Json::Object(members)) => members.is_empty(),
            _ => self.text.trim().is_empty(),
        }
    }
}

impl Field {
    /// The texts of the field; none when the record has no such field. `tools` says which calls of tools an answer's
    /// arguments are taken from.
    pub fn texts<'r>(
        &'r self,
        record: &'r Record<'_>,
        pointers: &'r [String],
        tools: Option<&GlobSet>,
    ) -> Vec<Looked<'r>> {
        let plain = |pointer: &'static str, text: &'r str| {
            vec![Looked { pointer: pointer.into(), text: Cow::Borrowed(text), value: None }]
        };
        let option = |pointer, text: &'r Option<Cow<'_, str>>| {
            text.as_deref().map_or_else(Vec::new, |text| plain(pointer, text))
        };
        let value = |pointer: String, value: &'r Json<'_>| {
            let text = value.as_str().map_or_else(|| Cow::Owned(value.to_compact_string()), Cow::Borrowed);
            Looked { pointer: pointer.into(), text, value: Some(value) }
        };
        let (name, rest) = match self {
            Field::Own(number) => {
                let found = record.extras.iter().find(|(at, _)| at == number);
                let pointer = pointers.get(*number as usize).map_or("", String::as_str);
                let looked = |(_, text): &'r (u32, String)| Looked {
                    pointer: pointer.into(),
                    text: text.as_str().into(),
                    value: None,
                };
                return found.map(looked).into_iter().collect();
            }
            Field::Normal(name, rest) => (*name, rest.as_str()),
        };
        match name {
            "prompt" => {
                let pointer =
                    |at: Option<usize>| at.map_or(Cow::Borrowed("/prompt"), |at| format!("/prompt/{at}/text").into());
                let texts = record.prompt.texts();
                texts.map(|(at, text)| Looked { pointer: pointer(at), text: text.into(), value: None }).collect()
            }
            "context" => {
                let texts = record.context.iter().enumerate();
                let looked = |(at, passage): (usize, &'r crate::record::Passage<'_>)| Looked {
                    pointer: format!("/context/{at}").into(),
                    text: Cow::Borrowed(&passage.text),
                    value: None,
                };
                texts.map(looked).collect()
            }
            "args" if record.kind == Kind::Llm => {
                let calls = record.tool_calls.iter().enumerate();
                let calls = calls.filter(|(_, call)| tools.is_none_or(|tools| tools.is_match(&*call.name)));
                let found = calls.filter_map(|(at, call)| Some((at, call.args.pointer(rest)?)));
                found.map(|(at, found)| value(format!("/tool_calls/{at}/args{rest}"), found)).collect()
            }
            "args" | "result" => {
                let whole = if name == "args" { &record.args } else { &record.result };
                let found = whole.as_ref().and_then(|whole| whole.pointer(rest));
                found.map(|found| value(format!("/{name}{rest}"), found)).into_iter().collect()
            }
            "response" => option("/response", &record.response),
            "system" => option("/system", &record.system),
            "error" => option("/error", &record.error),
            "model" => option("/model", &record.model),
            "tool" => option("/tool", &record.tool),
            "provider" => option("/provider", &record.provider),
            "host" => option("/host", &record.host),
            "level" => option("/level", &record.level),
            "label" => option("/label", &record.label),
            "finish_reason" => option("/finish_reason", &record.finish_reason),
            "session_id" => option("/session_id", &record.session_id),
            "id" => option("/id", &record.id),
            _ => Vec::new(),
        }
    }
}

/// Which records a check is about.
#[derive(Debug)]
pub struct Filter {
    kind: Option<Kind>,
    model: Option<GlobSet>,
    /// The tools; also those of the calls that an answer asks for.
    pub tool: Option<GlobSet>,
    session: Option<GlobSet>,
    path: Option<GlobSet>,
    conditions: Vec<(Field, Regex)>,
    /// Whether answers that call such tools count, beside calls of the tools.
    pub with_calls: bool,
}

impl Filter {
    /// Compiles the filter of `check`.
    pub fn new(check: &Check, pointers: &mut Pointers) -> Result<Filter, Refused> {
        let conditions = check.conditions.iter().map(|(field, text)| {
            let field = pointers.field(field).map_err(|why| ("where", why))?;
            Ok((field, pattern(text).map_err(|why| ("where", why))?))
        });
        Ok(Filter {
            kind: check.kind.map(|kind| if kind == Kinds::Llm { Kind::Llm } else { Kind::Tool }),
            model: globs("model", &check.model)?,
            tool: globs("tool", &check.tool)?,
            session: globs("session", &check.session)?,
            path: paths(&check.path)?,
            conditions: conditions.collect::<Result<_, Refused>>()?,
            with_calls: false,
        })
    }

    /// Whether the check is about `record`, which comes from `source`.
    pub fn takes(&self, record: &Record<'_>, source: &str, pointers: &[String]) -> bool {
        let is_of = |globs: &Option<GlobSet>, name: Option<&str>| {
            globs.as_ref().is_none_or(|globs| name.is_some_and(|name| globs.is_match(name)))
        };
        let is_of_tool = match record.kind {
            Kind::Llm => self.tool.as_ref().is_none_or(|tools| {
                self.with_calls && record.tool_calls.iter().any(|call| tools.is_match(&*call.name))
            }),
            _ => is_of(&self.tool, record.tool.as_deref()),
        };
        let holds = |(field, pattern): &(Field, Regex)| {
            field.texts(record, pointers, None).iter().any(|looked| pattern.is_match(&looked.text))
        };
        self.kind.is_none_or(|kind| kind == record.kind)
            && is_of_tool
            && is_of(&self.model, record.model.as_deref())
            && is_of(&self.session, record.session_id.as_deref())
            && is_of(&self.path, Some(source))
            && self.conditions.iter().all(holds)
    }
}

fn globs(key: &'static str, patterns: &[String]) -> Result<Option<GlobSet>, Refused> {
    set(key, patterns, |pattern| pattern.to_owned(), false)
}

/// Patterns of paths match at any folder, as those of `.gitignore` do: `prod/*.jsonl` matches `logs/prod/a.jsonl`.
fn paths(patterns: &[String]) -> Result<Option<GlobSet>, Refused> {
    let anywhere =
        |pattern: &str| if pattern.starts_with('/') { pattern.to_owned() } else { format!("{{,**/}}{pattern}") };
    set("path", patterns, anywhere, true)
}

fn set(
    key: &'static str,
    patterns: &[String],
    written: impl Fn(&str) -> String,
    literal_separator: bool,
) -> Result<Option<GlobSet>, Refused> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        // The pattern alone, so that what is said of it is said of what the user wrote.
        GlobBuilder::new(pattern).build().map_err(|why| (key, why.to_string()))?;
        let glob = GlobBuilder::new(&written(pattern)).literal_separator(literal_separator).build();
        builder.add(glob.map_err(|why| (key, why.to_string()))?);
    }
    builder.build().map(Some).map_err(|why| (key, why.to_string()))
}

/// What records are grouped by.
#[derive(Clone, Debug)]
pub enum GroupBy {
    /// Nothing: all records together.
    Nothing,
    /// The model of an LLM call, the tool of a tool call.
    Stream,
    /// A field.
    Field(Field),
}

impl GroupBy {
    /// What `name` means; empty for no groups.
    pub fn new(name: &str, pointers: &mut Pointers) -> Result<GroupBy, String> {
        match name {
            "" => Ok(GroupBy::Nothing),
            "stream" => Ok(GroupBy::Stream),
            name => pointers.field(name).map(GroupBy::Field),
        }
    }

    /// Whether there are groups.
    pub fn is_some(&self) -> bool {
        !matches!(self, GroupBy::Nothing)
    }

    /// The group of `record`; `None` where it has no such field, or nothing is grouped.
    pub fn of(&self, record: &Record<'_>, pointers: &[String]) -> Option<String> {
        match self {
            GroupBy::Nothing => None,
            GroupBy::Stream if record.kind == Kind::Llm => record.model.as_deref().map(str::to_owned),
            GroupBy::Stream => record.tool.as_deref().map(str::to_owned),
            GroupBy::Field(field) => {
                field.texts(record, pointers, None).into_iter().next().map(|looked| looked.text.into_owned())
            }
        }
    }
}
