//! The normal form, as `llmverify convert` writes it: one record a line, and nothing of it left to be guessed.
//!
//! What is written is read back as it stands: no text in it is looked into for a body, no call in it is paired again, and
//! no answer is held to be a duplicate. So an audit of it gives the verdicts that an audit of the log gives.
//!
//! One table, [`COLUMNS`], says what each field is, how it is taken out of a record and put into one; the JSON Schema, the
//! columns of CSV and Parquet and both directions follow from it. Absent fields are left out; `null` stands for itself
//! where it is a value (`result`). In tables, messages, documents, calls and values are JSON in their cells, and so is a
//! text that is empty or begins with a quotation mark.
//!
//! **Limits**: what is not in a [`Record`] is not in it either: spans are gone, their calls have been put together. The
//! format that the log had is not kept.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{Writer, text};
use crate::record::{
    Container, Entry, Feedback, Kind, LatencySource, Message, Note, Passage, Place, Problem, Prompt, Record, ToolCall,
    json::{Json, Number},
    values::{self, Refusal, Unit, misplaced},
};

/// Name and version of the form.
pub const SCHEMA: &str = "llmverify.record/1";

/// Records of the normal form.
pub(super) const WRITER: Writer = Writer {
    container: Container::NORMAL,
    about: "records that `llmverify convert` wrote",
    told_by: "`schema` is `llmverify.record/1`",
    marks: &["schema"],
    matches: |value| text(value, "schema") == SCHEMA,
    read: |value, entries| entries.push(read(value).map(Entry::Record)),
    joiner: None,
};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// A text.
    Text,
    /// A number.
    Number,
    /// A whole number.
    Count,
    /// Yes or no.
    Flag,
    /// A list or any other value, as JSON.
    Json,
}

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'r> {
    /// A text.
    Text(Cow<'r, str>),
    /// A number.
    Number(f64),
    /// A whole number.
    Count(u64),
    /// Yes or no.
    Flag(bool),
    /// Any value.
    Json(Cow<'r, Json<'r>>),
}

/// A field of the normal form.
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub holds: Holds,
    /// What it means, in one sentence.
    pub about: &'static str,
    get: for<'r> fn(&'r Record<'r>) -> Option<Cell<'r>>,
    set: for<'a> fn(&mut Record<'a>, Json<'a>) -> Result<(), Refusal>,
}

macro_rules! text {
    ($field:ident, $about:literal) => {
        Column {
            name: stringify!($field),
            holds: Holds::Text,
            about: $about,
            get: |record| record.$field.as_deref().map(|text| Cell::Text(text.into())),
            set: |record, value| {
                record.$field = Some(text_of(value)?);
                Ok(())
            },
        }
    };
}

macro_rules! number {
    ($field:ident, $about:literal) => {
        Column {
            name: stringify!($field),
            holds: Holds::Number,
            about: $about,
            get: |record| record.$field.map(Cell::Number),
            set: |record, value| {
                record.$field = Some(values::duration_ms(&value, Unit::Ms)?);
                Ok(())
            },
        }
    };
}

macro_rules! count {
    ($field:ident, $about:literal) => {
        Column {
            name: stringify!($field),
            holds: Holds::Count,
            about: $about,
            get: |record| record.$field.map(Cell::Count),
            set: |record, value| {
                record.$field = Some(values::count(&value)?);
                Ok(())
            },
        }
    };
}

macro_rules! value {
    ($field:ident, $about:literal) => {
        Column {
            name: stringify!($field),
            holds: Holds::Json,
            about: $about,
            get: |record| record.$field.as_ref().map(|value| Cell::Json(Cow::Borrowed(value))),
            set: |record, value| {
                record.$field = Some(value);
                Ok(())
            },
        }
    };
}

/// Every field of the normal form, in its order.
pub static COLUMNS: [Column; 40] = [
    Column {
        name: "schema",
        holds: Holds::Text,
        about: "Name and version of the form: `llmverify.record/1`.",
        get: |_| Some(Cell::Text(SCHEMA.into())),
        set: |_, _| Ok(()),
    },
    Column {
        name: "kind",
        holds: Holds::Text,
        about: "What the record describes: `llm`, `tool` or `feedback`.",
        get: |record| Some(Cell::Text(record.kind.as_str().into())),
        set: |record, value| {
            let name = text_of(value)?;
            let kind = [Kind::Llm, Kind::Tool, Kind::Feedback].into_iter().find(|kind| kind.as_str() == name);
            record.kind = kind.ok_or("is none of llm, tool, feedback")?;
            Ok(())
        },
    },
    text!(id, "The record's own id, else where it stood: `source:line:item`."),
    Column {
        name: "timestamp",
        holds: Holds::Text,
        about: "When the call began: RFC 3339, in UTC, with milliseconds.",
        get: |record| {
            let moment = Timestamp::from_millisecond(record.timestamp_ms?).ok()?;
            Some(Cell::Text(format!("{moment:.3}").into()))
        },
        set: |record, value| {
            record.timestamp_ms = Some(values::timestamp_ms(&value, None)?);
            Ok(())
        },
    },
    text!(session_id, "The conversation that the call belongs to."),
    Column {
        name: "scope",
        holds: Holds::Text,
        about: "The conversation where the log does not name it, as 16 hexadecimal digits.",
        get: |record| record.scope.map(|scope| Cell::Text(format!("{scope:016x}").into())),
        set: |record, value| {
            let scope = u64::from_str_radix(&text_of(value)?, 16).map_err(|_| "is no hexadecimal number")?;
            record.scope = Some(scope);
            Ok(())
        },
    },
    text!(model, "The model that answered."),
    text!(declared_model, "The model that was asked for, where the log names it apart."),
    text!(response_id, "The id that the provider gave the answer."),
    text!(provider, "Who served the model."),
    text!(host, "The machine, container or service that logged the call."),
    text!(level, "The level at which it was logged."),
    text!(system, "The system prompt."),
    Column {
        name: "prompt",
        holds: Holds::Text,
        about: "What the model was asked, where that is one text.",
        get: |record| match &record.prompt {
            Prompt::Text(text) => Some(Cell::Text(text.as_ref().into())),
            _ => None,
        },
        set: |record, value| {
            record.prompt = Prompt::Text(text_of(value)?);
            Ok(())
        },
    },
    Column {
        name: "messages",
        holds: Holds::Json,
        about: "What the model was asked, where that is a conversation: `role`, `content`, `tool`, `call_id`, `is_error`, `tool_calls`.",
        get: |record| match &record.prompt {
            Prompt::Messages(messages) => Some(list(messages, message_as_json)),
            _ => None,
        },
        set: |record, value| {
            record.prompt = Prompt::Messages(each(value, message_of)?);
            Ok(())
        },
    },
    Column {
        name: "context",
        holds: Holds::Json,
        about: "Documents that the answer should rest on: `id`, `text`, and the `place` that one was cut from: `field` in this form, `start` and `end` in bytes before anything was cut, whether the text `stays` there.",
        get: |record| (!record.context.is_empty()).then(|| list(&record.context, passage_as_json)),
        set: |record, value| {
            record.context = each(value, passage_of)?;
            Ok(())
        },
    },
    text!(response, "What the model answered."),
    Column {
        name: "tool_calls",
        holds: Holds::Json,
        about: "The tools that the answer calls: `id`, `name`, `args`.",
        get: |record| (!record.tool_calls.is_empty()).then(|| list(&record.tool_calls, call_as_json)),
        set: |record, value| {
            record.tool_calls = each(value, call_of)?;
            Ok(())
        },
    },
    text!(finish_reason, "Why the model stopped."),
    text!(error, "The error that the call ended with."),
    number!(latency_ms, "Time to the whole response, in milliseconds."),
    number!(ttft_ms, "Time to the first token, in milliseconds."),
    Column {
        name: "latency_source",
        holds: Holds::Text,
        about: "Where the latency or the execution time comes from: `reported`, `reported, unit assumed`, `end minus start`.",
        get: |record| record.latency_source.map(|source| Cell::Text(source.as_str().into())),
        set: |record, value| {
            let name = text_of(value)?;
            record.latency_source = LatencySource::ALL.into_iter().find(|source| source.as_str() == name);
            Ok(())
        },
    },
    count!(prompt_tokens, "Tokens in the prompt, those of the cache included."),
    count!(response_tokens, "Tokens in the response, those of its reasoning included."),
    count!(cached_tokens, "Of the tokens in the prompt, those that were read from a cache."),
    count!(reasoning_tokens, "Of the tokens in the response, those of reasoning."),
    text!(tool, "The tool that was called."),
    text!(call_id, "The id of the call that this tool call is, where a model asked for it."),
    value!(args, "What the tool was called with."),
    value!(result, "What the tool answered; null is an answer."),
    number!(execution_time_ms, "Time that the tool took, in milliseconds."),
    value!(rules, "Instruction rules that the response must follow."),
    value!(expected_schema, "The JSON Schema that the response must satisfy."),
    value!(tools, "The tools that the model was offered, as the log defines them."),
    text!(label, "A label from outside."),
    Column {
        name: "was_hallucination",
        holds: Holds::Flag,
        about: "Feedback: whether the tool's result was in fact made up.",
        get: |record| record.feedback.map(|feedback| Cell::Flag(feedback.was_hallucination)),
        set: |record, value| {
            let was_hallucination = values::flag(&value)?;
            let confidence = record.feedback.and_then(|feedback| feedback.confidence);
            record.feedback = Some(Feedback { was_hallucination, confidence });
            Ok(())
        },
    },
    Column {
        name: "confidence",
        holds: Holds::Number,
        about: "Feedback: the confidence that had been reported.",
        get: |record| record.feedback?.confidence.map(Cell::Number),
        set: |record, value| {
            let confidence = values::fraction(&value)?;
            if let Some(feedback) = &mut record.feedback {
                feedback.confidence = Some(confidence);
            }
            Ok(())
        },
    },
    Column {
        name: "notes",
        holds: Holds::Json,
        about: "What was noted of the record when it was read from its log.",
        get: |record| {
            let notes: Vec<Json<'_>> = record.notes.iter().map(|note| borrowed(note.as_str())).collect();
            (!notes.is_empty()).then_some(Cell::Json(Cow::Owned(Json::Array(notes))))
        },
        set: |record, value| {
            for name in each(value, text_of)? {
                Note::ALL.into_iter().filter(|note| note.as_str() == name).for_each(|note| record.notes.add(note));
            }
            Ok(())
        },
    },
    Column {
        name: "problems",
        holds: Holds::Json,
        about: "Fields of the log that were present and could not be used: `field`, `reason`.",
        get: |record| (!record.problems.is_empty()).then(|| list(&record.problems, problem_as_json)),
        set: |record, value| {
            record.problems.extend(each(value, problem_of)?);
            Ok(())
        },
    },
];

/// Writes a record as one line of JSON Lines.
pub fn write_line(record: &Record<'_>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (at, (column, cell)) in cells(record).filter_map(|(column, cell)| Some((column, cell?))).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_text(column.name, out);
        out.push(b':');
        match cell {
            Cell::Text(text) => write_text(&text, out),
            Cell::Number(number) => write_json(&Json::Number(Number::Float(number)), out),
            Cell::Count(count) => write_json(&Json::Number(Number::Unsigned(count)), out),
            Cell::Flag(flag) => write_json(&Json::Bool(flag), out),
            Cell::Json(value) => write_json(&value, out),
        }
    }
    out.extend_from_slice(b"}\n");
}

/// The values of a record, column by column.
pub fn cells<'r>(record: &'r Record<'r>) -> impl Iterator<Item = (&'static Column, Option<Cell<'r>>)> {
    COLUMNS.iter().map(move |column| (column, (column.get)(record)))
}

impl Cell<'_> {
    /// The value as a cell of a table of texts.
    pub fn into_text(self) -> String {
        match self {
            Cell::Text(text) if text.is_empty() || text.starts_with('"') => Json::String(text).to_compact_string(),
            Cell::Text(text) => text.into_owned(),
            Cell::Number(number) => Json::Number(Number::Float(number)).to_compact_string(),
            Cell::Count(count) => count.to_string(),
            Cell::Flag(flag) => flag.to_string(),
            Cell::Json(value) => value.to_compact_string(),
        }
    }
}

/// A cell of a table as the value of its column; `None` for one that is empty, and of no column of ours.
pub(crate) fn value_of_cell<'c>(name: &str, cell: &'c str) -> Option<Json<'c>> {
    let column = COLUMNS.iter().find(|column| column.name == name)?;
    if cell.is_empty() {
        return None;
    }
    Some(match column.holds {
        Holds::Text if !cell.starts_with('"') => Json::String(cell.into()),
        Holds::Number | Holds::Count | Holds::Flag => Json::String(cell.into()),
        Holds::Text | Holds::Json => Json::parse_text(cell.into()).unwrap_or(Json::String(cell.into())),
    })
}

/// The JSON Schema (2020-12) of a record of this form.
pub fn schema() -> Value {
    let property = |column: &Column| {
        let mut property = match column.holds {
            Holds::Text => json!({ "type": "string" }),
            Holds::Number => json!({ "type": "number", "minimum": 0 }),
            Holds::Count => json!({ "type": "integer", "minimum": 0 }),
            Holds::Flag => json!({ "type": "boolean" }),
            Holds::Json => json!({}),
        };
        property["description"] = column.about.into();
        if column.name == "schema" {
            property["const"] = SCHEMA.into();
        }
        (column.name.to_owned(), property)
    };
    let properties: Map<String, Value> = COLUMNS.iter().map(property).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "llmverify normal form",
        "description": "One LLM call, tool call or feedback, as `llmverify convert` writes it.",
        "type": "object",
        "required": ["schema", "kind"],
        "properties": properties,
        "additionalProperties": false,
    })
}

/// Reads a record of this form.
fn read(value: Json<'_>) -> Result<Record<'_>, String> {
    let Json::Object(entries) = value else { return Err("not a record of the normal form".to_owned()) };
    let mut record = Record::new(Kind::Llm);
    record.format.container = Container::NORMAL;
    for (key, value) in entries {
        let Some(column) = COLUMNS.iter().find(|column| column.name == key) else { continue };
        if value.is_null() && column.name != "result" && column.name != "args" {
            continue;
        }
        if let Err(reason) = (column.set)(&mut record, value) {
            if column.name == "kind" {
                return Err(format!("`kind` {reason}"));
            }
            record.problems.push(Problem { field: column.name.to_owned(), reason: reason.into_owned() });
        }
    }
    Ok(record)
}

fn text_of(value: Json<'_>) -> Result<Cow<'_, str>, Refusal> {
    match value {
        Json::String(text) => Ok(text),
        other => Err(misplaced(&other, "text")),
    }
}

fn each<'a, T>(value: Json<'a>, of: impl Fn(Json<'a>) -> Result<T, Refusal>) -> Result<Vec<T>, Refusal> {
    match value {
        Json::Array(items) => items.into_iter().map(of).collect(),
        other => Err(misplaced(&other, "an array")),
    }
}

fn list<'r, T>(items: &'r [T], as_json: impl Fn(&'r T) -> Json<'r>) -> Cell<'r> {
    Cell::Json(Cow::Owned(Json::Array(items.iter().map(as_json).collect())))
}

/// An object of the fields that are there.
fn object<'r, const N: usize>(fields: [(&'static str, Option<Json<'r>>); N]) -> Json<'r> {
    Json::Object(fields.into_iter().filter_map(|(name, value)| Some((name.into(), value?))).collect())
}

fn borrowed<'r>(text: &'r str) -> Json<'r> {
    Json::String(text.into())
}

fn message_as_json<'r>(message: &'r Message<'r>) -> Json<'r> {
    let calls = || Json::Array(message.tool_calls.iter().map(call_as_json).collect());
    object([
        ("role", Some(borrowed(&message.role))),
        ("content", Some(borrowed(&message.text))),
        ("tool", message.tool.as_deref().map(borrowed)),
        ("call_id", message.call_id.as_deref().map(borrowed)),
        ("is_error", message.is_error.then_some(Json::Bool(true))),
        ("tool_calls", (!message.tool_calls.is_empty()).then(calls)),
    ])
}

fn message_of(mut value: Json<'_>) -> Result<Message<'_>, Refusal> {
    Ok(Message {
        role: take_text(&mut value, "role")?.unwrap_or_default(),
        text: take_text(&mut value, "content")?.unwrap_or_default(),
        tool: take_text(&mut value, "tool")?,
        call_id: take_text(&mut value, "call_id")?,
        is_error: value.get("is_error").and_then(Json::as_bool).unwrap_or_default(),
        tool_calls: value.take("tool_calls").map_or(Ok(Vec::new()), |calls| each(calls, call_of))?,
    })
}

fn call_as_json<'r>(call: &'r ToolCall<'r>) -> Json<'r> {
    object([
        ("id", call.id.as_deref().map(borrowed)),
        ("name", Some(borrowed(&call.name))),
        ("args", Some(call.args.clone())),
    ])
}

fn call_of(mut value: Json<'_>) -> Result<ToolCall<'_>, Refusal> {
    Ok(ToolCall {
        id: take_text(&mut value, "id")?,
        name: take_text(&mut value, "name")?.unwrap_or_default(),
        args: value.take("args").unwrap_or_default(),
    })
}

fn passage_as_json<'r>(passage: &'r Passage<'r>) -> Json<'r> {
    object([
        ("id", passage.id.as_deref().map(borrowed)),
        ("text", Some(borrowed(&passage.text))),
        ("place", passage.place.as_ref().map(place_as_json)),
    ])
}

fn passage_of(mut value: Json<'_>) -> Result<Passage<'_>, Refusal> {
    Ok(Passage {
        id: take_text(&mut value, "id")?,
        text: take_text(&mut value, "text")?.unwrap_or_default(),
        place: value.take("place").map(place_of).transpose()?,
    })
}

fn place_as_json(place: &Place) -> Json<'_> {
    let byte = |at: usize| Json::Number(Number::Unsigned(at as u64));
    object([
        ("field", Some(borrowed(&place.field))),
        ("start", Some(byte(place.span.start))),
        ("end", Some(byte(place.span.end))),
        ("stays", place.stays.then_some(Json::Bool(true))),
    ])
}

fn place_of(mut value: Json<'_>) -> Result<Place, Refusal> {
    let field = take_text(&mut value, "field")?.unwrap_or_default().into_owned().into();
    let byte = |key| value.get(key).map(values::count).transpose().map(|at| at.unwrap_or_default() as usize);
    let stays = value.get("stays").and_then(Json::as_bool).unwrap_or_default();
    Ok(Place { field, span: byte("start")?..byte("end")?, stays })
}

fn problem_as_json<'r>(problem: &'r Problem) -> Json<'r> {
    object([("field", Some(borrowed(&problem.field))), ("reason", Some(borrowed(&problem.reason)))])
}

fn problem_of(mut value: Json<'_>) -> Result<Problem, Refusal> {
    let field = take_text(&mut value, "field")?.unwrap_or_default().into_owned();
    Ok(Problem { field, reason: take_text(&mut value, "reason")?.unwrap_or_default().into_owned() })
}

fn take_text<'a>(value: &mut Json<'a>, key: &str) -> Result<Option<Cow<'a, str>>, Refusal> {
    value.take(key).map(text_of).transpose()
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _infallible = serde_json::to_writer(out, text);
}

fn write_json(value: &Json<'_>, out: &mut Vec<u8>) {
    let _infallible = serde_json::to_writer(out, value);
}

#[cfg(test)]
mod tests {
    use proptest::{option, prelude::*};

    use super::*;
    use crate::record::{Notes, json::tests::values};

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            ".{0,12}",
            Just(String::new()),
            Just("\"quoted\"".to_owned()),
            Just(r#"{"choices":[{"message":{"content":"x"}}]}"#.to_owned()),
            Just(r#"[{"role":"user","content":"x"}]"#.to_owned()),
            Just("null".to_owned()),
        ]
    }

    /// A value as the reader has it: no float that an integer could be.
    fn json() -> impl Strategy<Value = Json<'static>> {
        values().prop_map(|value| Json::parse(value.to_string().as_bytes()).unwrap().into_owned())
    }

    fn call() -> impl Strategy<Value = ToolCall<'static>> {
        (option::of(text()), text(), json()).prop_map(|(id, name, args)| ToolCall {
            id: id.map(Into::into),
            name: name.into(),
            args,
        })
    }

    fn message() -> impl Strategy<Value = Message<'static>> {
        (text(), text(), option::of(text()), any::<bool>(), prop::collection::vec(call(), 0..2)).prop_map(
            |(role, text, tool, is_error, tool_calls)| Message {
                role: role.into(),
                text: text.into(),
                call_id: tool.clone().map(Into::into),
                tool: tool.map(Into::into),
                is_error,
                tool_calls,
            },
        )
    }

    fn place() -> impl Strategy<Value = Place> {
        (text(), 0..9_usize, 0..9_usize, any::<bool>()).prop_map(|(field, start, length, stays)| Place {
            field: field.into(),
            span: start..start + length,
            stays,
        })
    }

    fn prompt() -> impl Strategy<Value = Prompt<'static>> {
        prop_oneof![
            Just(Prompt::Absent),
            text().prop_map(|text| Prompt::Text(text.into())),
            prop::collection::vec(message(), 0..3).prop_map(Prompt::Messages),
        ]
    }

    prop_compose! {
        fn record()(
            kind in prop::sample::select(&[Kind::Llm, Kind::Tool, Kind::Feedback][..]),
            texts in prop::collection::vec(option::of(text()), 14),
            prompt in prompt(),
            context in prop::collection::vec((option::of(text()), text(), option::of(place())), 0..3),
            tool_calls in prop::collection::vec(call(), 0..2),
            json in (option::of(json()), option::of(json()), option::of(json())),
            times in (option::of(0.0..1e9), option::of(0.0..1e9), option::of(0.0..1e9)),
            counts in (option::of(0..1_u64 << 53), option::of(0..1_u64 << 53)),
            timestamp_ms in option::of(0..253_402_300_799_999_i64),
            scope in option::of(any::<u64>()),
            latency_source in option::of(prop::sample::select(&LatencySource::ALL[..])),
            notes in prop::collection::vec(prop::sample::select(&Note::ALL[..]), 0..3),
            problem in option::of((text(), text())),
        ) -> Record<'static> {
            let mut texts = texts.into_iter().map(|text| text.map(Cow::Owned));
            let mut next = || texts.next().flatten();
            let mut record = Record::new(kind);
            record.format.container = Container::NORMAL;
            (record.id, record.session_id, record.model) = (next(), next(), next());
            (record.declared_model, record.response_id, record.provider) = (next(), next(), next());
            (record.host, record.level, record.system, record.response) = (next(), next(), next(), next());
            (record.finish_reason, record.error, record.tool, record.label) = (next(), next(), next(), next());
            (record.prompt, record.tool_calls, record.timestamp_ms, record.scope) = (prompt, tool_calls, timestamp_ms, scope);
            let passage = |(id, text, place): (Option<String>, String, _)| Passage { id: id.map(Into::into), text: text.into(), place };
            record.context = context.into_iter().map(passage).collect();
            // No argument is as good as none; no other value may be null.
            let some = |value: Option<Json<'static>>| value.filter(|value| !value.is_null());
            (record.result, record.tools, record.rules) = (json.0, some(json.1.clone()), some(json.2));
            record.args = json.1;
            (record.latency_ms, record.ttft_ms, record.execution_time_ms) = times;
            (record.prompt_tokens, record.cached_tokens) = counts;
            record.latency_source = latency_source;
            record.notes = notes.into_iter().fold(Notes::default(), |mut notes, note| {
                notes.add(note);
                notes
            });
            record.problems = problem.into_iter().map(|(field, reason)| Problem { field, reason }).collect();
            record.feedback = (kind == Kind::Feedback).then_some(Feedback { was_hallucination: true, confidence: Some(0.5) });
            record
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_as_it_stands(record in record()) {
            let mut line = Vec::new();
            write_line(&record, &mut line);
            let tree = Json::parse(&line).unwrap();
            prop_assert_eq!(read(tree), Ok(record.clone()));
            let cells: Vec<(&str, String)> =
                cells(&record).filter_map(|(column, cell)| Some((column.name, cell?.into_text()))).collect();
            let entries = cells.iter().filter_map(|(name, cell)| Some(((*name).into(), value_of_cell(name, cell)?)));
            prop_assert_eq!(read(Json::Object(entries.collect())), Ok(record));
        }
    }

    #[test]
    fn the_schema_takes_what_is_written_and_nothing_else() {
        let mut record = Record::new(Kind::Llm);
        (record.prompt, record.response) = (Prompt::Text("p".into()), Some("r".into()));
        (record.latency_ms, record.timestamp_ms) = (Some(1.5), Some(0));
        let mut line = Vec::new();
        write_line(&record, &mut line);
        assert_eq!(
            std::str::from_utf8(&line).unwrap(),
            "{\"schema\":\"llmverify.record/1\",\"kind\":\"llm\",\"timestamp\":\"1970-01-01T00:00:00.000Z\",\
             \"prompt\":\"p\",\"response\":\"r\",\"latency_ms\":1.5}\n"
        );
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let value: Value = serde_json::from_slice(&line).unwrap();
        assert!(validator.is_valid(&value));
        for (key, wrong) in [("latency_ms", json!("fast")), ("more", json!(1)), ("schema", json!("other"))] {
            let mut value = value.clone();
            value[key] = wrong;
            assert!(!validator.is_valid(&value), "{key}");
        }
    }

    #[test]
    fn what_is_not_of_the_form_is_named() {
        let check = |json: &str| read(Json::parse(json.as_bytes()).unwrap().into_owned());
        assert_eq!(check(r#"{"kind":"song"}"#), Err("`kind` is none of llm, tool, feedback".to_owned()));
        let record = check(r#"{"kind":"llm","latency_ms":-1,"response":7,"unheard":1}"#).unwrap();
        let problems: Vec<String> =
            record.problems.iter().map(|problem| format!("{} {}", problem.field, problem.reason)).collect();
        assert_eq!(problems, ["latency_ms is negative", "response is a number where text belongs"]);
    }
}
