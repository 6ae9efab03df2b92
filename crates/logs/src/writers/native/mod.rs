//! Our own names and the common ones beside them, and how a record is read by them.
//!
//! The names are those of [`FIELDS`]; this module reads what stands under them.
//!
//! An object is a call when it says so (`kind`), when it is a call of a tool (a tool with arguments, a result, a time or an
//! error), or when it has
//!
//! - a prompt, or a text response, under a name of its own
//! - both under names that say something in calls alone (`input` and `output`), or one of them beside a model or token counts
//! - a model beside token counts, a latency or an error
//!
//! What it is then:
//!
//! - kind: `kind` (or `type`) if it says so; else feedback if there is `was_hallucination`, a tool call if there is a
//!   `tool`, or a `name` beside `args` or `result`; else an LLM call
//! - null is absent, except for the `result` of a tool: a tool may answer null; `{}` is absent as prompt and response
//! - where no name holds a question or an answer, the one value that is a request body is the question, and the one that is
//!   a response body is the answer, whatever their keys
//! - prompt: a text, a list of messages (or of texts), a request body, one message, or an object that holds one of these,
//!   as HTTP has it. Any other object says nothing. Messages of the roles system and developer go to `system`, parts that
//!   are not text (images, audio, tool calls) are left out
//! - context: a text, an object, or a list of them; empty texts are left out
//! - response: a text, a message, a list of typed parts, a body of a dialect; any other object in a record that is a call
//!   without it is a structured answer, and is read as its compact JSON text
//! - args and result: as they are; a string that holds a JSON object (for results also an array) is parsed, once
//! - error: a text, or an object with a `message`; `false`, `0`, `""` and `{}` are no error; the status of a response of
//!   HTTP from 400 on is one
//! - what is missing is looked for one level down, below [`NESTED`], and noted as `guessed`
//!
//! **Limits**: of several names of one field only one is read.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::record::{
    Container, Dialect, Feedback, Format, Kind, LatencySource, Note, Passage, Problem, Record,
    body::{self, Answer, Conversation, Holder, error_of, message, message::passage, openai_chat, usage::Usage},
    fields::{self, FIELD_COUNT, Field, Scope},
    json::Json,
    mapping::{Mapped, Mapping},
    values::{self, Refusal, Unit, unwrap_container, unwrap_object},
};

use super::Writer;

pub use crate::record::fields::FIELDS;

/// Our own names.
pub(super) const WRITER: Writer = Writer {
    container: Container::NATIVE,
    about: "our own names and the common ones beside them",
    told_by: "everything else; `llmverify schema record` lists the names",
    marks: &[],
    matches: |_| false,
    read: |value, entries| entries.push(read(value, &Mapping::default()).map(crate::record::Entry::Record)),
    joiner: None,
};

/// A request body and a response body side by side, which are read beside our own names.
pub(super) const PAIR: Writer = Writer {
    container: Container::PAIR,
    about: "a request body and a response body",
    told_by: "`request`/`response`, `input`/`output`, `prompt`/`completion`, ...",
    ..WRITER
};

/// What an LLM call must have one of, where it states that it is one.
const LLM_NEEDS: [Field; 7] = [
    Field::Prompt,
    Field::Response,
    Field::Error,
    Field::LatencyMs,
    Field::TtftMs,
    Field::PromptTokens,
    Field::ResponseTokens,
];

/// Keys below which logs keep what they know of a call beside its texts, in lower case without `_` and `-`.
pub const NESTED: [&str; 14] = [
    "meta",
    "metadata",
    "metrics",
    "attributes",
    "data",
    "extra",
    "info",
    "stats",
    "timing",
    "timings",
    "usage",
    "responsemetadata",
    "performance",
    "llm",
];

/// Names of the end of a call, in lower case without `_` and `-`. With a beginning it gives the latency that is not told.
const END_NAMES: [&str; 8] =
    ["endtime", "endedat", "finishedat", "completedat", "endts", "finishtime", "respondedat", "endtimestamp"];

/// What a tool call must have one of, beside its tool.
const TOOL_NEEDS: [Field; 4] = [Field::Args, Field::Result, Field::ExecutionTimeMs, Field::Error];

/// Why an object is no record.
pub(crate) enum Refused<'a> {
    /// It is no call; here it is again.
    NoCall(Json<'a>),
    /// It is known to hold none, and what it is, as a noun.
    Known(&'static str),
    /// It says that it is one, and lacks what such a call must have.
    Lacking(String),
}

/// Reads an object as a record; the error says what was missing.
pub(super) fn read<'a>(object: Json<'a>, mapping: &Mapping) -> Result<Record<'a>, String> {
    let mapped = mapping.find(&object);
    read_call(object, mapped, b"").map_err(|refused| match refused {
        Refused::NoCall(_) | Refused::Known(_) => NO_CALL.to_owned(),
        Refused::Lacking(reason) => reason,
    })
}

/// What is said of an object in which nobody knows a call.
pub const NO_CALL: &str = "no call of a model or a tool that is known; map its fields with --map";

/// Reads an object as a record when it is a call, with what was mapped in it. `source` is its text, for integers that the tree cannot hold.
pub(crate) fn read_call<'a>(
    object: Json<'a>,
    mapped: Vec<Mapped<'a>>,
    source: &[u8],
) -> Result<Record<'a>, Refused<'a>> {
    let Json::Object(entries) = object else { return Err(Refused::NoCall(object)) };
    let mut draft = Draft::new(entries, mapped, source);
    draft.find_bodies();
    if let Some(what) = draft.no_call() {
        return Err(Refused::Known(what));
    }
    if !draft.is_call() {
        let object = Json::Object(draft.entries);
        return Err(body::no_call(&object).map_or(Refused::NoCall(object), Refused::Known));
    }
    draft.unfold_tool();
    let kind = draft.settle_kind();
    draft.refuse_lacking(kind).map_err(Refused::Lacking)?;
    let mut record = Record::new(kind);
    let span_ms = draft.span_ms();
    draft.read_envelope(&mut record);
    if kind != Kind::Llm {
        draft.read_tool(&mut record);
    }
    draft.read_conversation(&mut record);
    draft.guess_nested(&mut record);
    // A number whose unit nobody tells counts only where there are no two moments.
    if matches!(record.latency_source, None | Some(LatencySource::Assumed))
        && let Some(ms) = span_ms
    {
        *(if kind == Kind::Llm { &mut record.latency_ms } else { &mut record.execution_time_ms }) = Some(ms);
        record.latency_source = Some(LatencySource::StartAndEnd);
    }
    if kind == Kind::Feedback {
        draft.read_feedback(&mut record).map_err(Refused::Lacking)?;
    }
    record.problems = draft.problems;
    Ok(record)
}

/// Whether an object is a call by itself.
pub(super) fn is_call(object: &Json<'_>) -> bool {
    let entries = object.as_object().unwrap_or_default();
    Draft::new(entries.to_vec(), Vec::new(), b"").is_call()
}

/// Whether an object has nothing that a record could be made of: whoever takes it for a line without a call loses none.
pub(super) fn holds_no_call(object: &Json<'_>) -> bool {
    holds_no_call_beside(object, "")
}

/// Whether an object has nothing that a record could be made of, but for what stands under one key.
pub(super) fn holds_no_call_beside(object: &Json<'_>, beside: &str) -> bool {
    let entries = object.as_object().unwrap_or_default();
    let is_needed = |key: &str| {
        key == "choices"
            || key == "usage"
            || fields::meanings(key).iter().any(|target| {
                LLM_NEEDS.contains(&target.field) || matches!(target.field, Field::Tool | Field::WasHallucination)
            })
    };
    !entries.iter().any(|(key, value)| !value.is_null() && key != beside && is_needed(key))
}

/// What an object says of a call beside its texts, where a record lacks it: ids, model, times, token counts.
pub(crate) fn lend<'a>(object: Json<'a>, record: &mut Record<'a>) {
    let Json::Object(entries) = object else { return };
    let mut draft = Draft::new(entries, Vec::new(), b"");
    draft.scope = if record.kind == Kind::Llm { Scope::Llm } else { Scope::Tool };
    draft.lend(record, &Field::ABOUT_CALL);
}

/// What an object says of a call, where a record lacks it, as if it were the record itself.
pub(super) fn complete<'a>(object: Json<'a>, record: &mut Record<'a>) {
    let Json::Object(entries) = object else { return };
    let mut draft = Draft::new(entries, Vec::new(), b"");
    draft.scope = if record.kind == Kind::Llm { Scope::Llm } else { Scope::Tool };
    let mut other = Record::new(record.kind);
    draft.read_envelope(&mut other);
    if record.kind != Kind::Llm {
        draft.read_tool(&mut other);
    }
    draft.read_conversation(&mut other);
    draft.guess_nested(&mut other);
    other.problems = draft.problems;
    if !record.context.is_empty() {
        other.context.clear();
    }
    record.fill(other);
}

/// As [`lend`], and what stands one level down, below [`NESTED`].
pub(super) fn lend_deep<'a>(object: Json<'a>, record: &mut Record<'a>) {
    let Json::Object(entries) = object else { return };
    let mut draft = Draft::new(entries, Vec::new(), b"");
    draft.scope = if record.kind == Kind::Llm { Scope::Llm } else { Scope::Tool };
    draft.lend(record, &Field::ABOUT_CALL);
    let notes = record.notes;
    draft.guess_nested(record);
    record.notes = notes;
}

/// What of a wrapper says when, where and how loud the line was logged that it wraps.
pub(crate) fn place_of<'a>(entries: &[(Cow<'a, str>, Json<'a>)]) -> Vec<(Cow<'a, str>, Json<'a>)> {
    let is_place = |key: &str| {
        let targets = fields::meanings(key);
        targets.iter().any(|target| matches!(target.field, Field::Timestamp | Field::Host | Field::Level))
    };
    let named = entries.iter().filter(|(key, value)| is_place(key) && !matches!(value, Json::Array(_)));
    named.cloned().collect()
}

/// Lends a record what [`place_of`] found.
pub(crate) fn lend_place<'a>(place: &[(Cow<'a, str>, Json<'a>)], record: &mut Record<'a>) {
    if !place.is_empty() {
        let mut draft = Draft::new(place.to_vec(), Vec::new(), b"");
        draft.lend(record, &[Field::Timestamp, Field::Host, Field::Level]);
    }
}

/// Puts what was mapped over what a record has.
pub(crate) fn overlay<'a>(record: &mut Record<'a>, mapped: Vec<Mapped<'a>>) {
    let mut draft = Draft::new(Vec::new(), mapped, b"");
    draft.scope = if record.kind == Kind::Llm { Scope::Llm } else { Scope::Tool };
    let mut over = Record::new(record.kind);
    draft.read_envelope(&mut over);
    if record.kind != Kind::Llm {
        draft.read_tool(&mut over);
    }
    draft.read_conversation(&mut over);
    macro_rules! put {
        ($($field:ident),*) => {
            $(if over.$field.is_some() {
                record.$field = over.$field;
            })*
        };
    }
    put!(
        id,
        timestamp_ms,
        session_id,
        model,
        declared_model,
        provider,
        host,
        level,
        system,
        response,
        latency_ms,
        ttft_ms
    );
    put!(prompt_tokens, response_tokens, finish_reason, error, rules, expected_schema, tools, tool, args, result);
    put!(execution_time_ms, latency_source, label);
    if !over.prompt.is_absent() {
        record.prompt = over.prompt;
    }
    if !over.context.is_empty() {
        record.context = over.context;
    }
    if !over.tool_calls.is_empty() {
        record.tool_calls = over.tool_calls;
    }
    record.problems.append(&mut draft.problems);
}

/// Where a name of a field was found.
#[derive(Clone, Copy)]
struct Found {
    /// Index among the entries of the object.
    entry: usize,
    /// Precedence of the name, the lower the better.
    rank: u16,
    unit: Option<Unit>,
}

/// Added to the rank of a name whose value is null: anything else is better.
const NULL_RANK: u16 = 1000;

type Entries<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// A record in the making: the object's entries, from which fields are taken one by one.
struct Draft<'a, 's> {
    entries: Entries<'a>,
    mapped: Vec<Mapped<'a>>,
    /// By [`Scope`] and [`Field`].
    found: [[Option<Found>; FIELD_COUNT]; 2],
    scope: Scope,
    /// The entries `choices` and `usage` of a Chat Completions body.
    choices: Option<usize>,
    usage: Option<usize>,
    source: &'s [u8],
    /// Whether a latency stands under a name that says nothing of its unit.
    unit_is_assumed: bool,
    problems: Vec<Problem>,
}

impl<'a, 's> Draft<'a, 's> {
    fn new(entries: Entries<'a>, mapped: Vec<Mapped<'a>>, source: &'s [u8]) -> Draft<'a, 's> {
        let found = [[None; FIELD_COUNT]; 2];
        let (choices, usage) = (None, None);
        let mut draft = Draft {
            entries,
            mapped,
            found,
            scope: Scope::Llm,
            choices,
            usage,
            source,
            unit_is_assumed: false,
            problems: Vec::new(),
        };
        for index in 0..draft.entries.len() {
            draft.note_names(index);
        }
        draft
    }

    /// Puts question and answer where they are, when the best names do not hold them: under another name for one, or under
    /// any key, where one value alone is a request body or a response body.
    fn find_bodies(&mut self) {
        type Says = fn(&Json<'_>) -> bool;
        let question: (Field, Says, Holder) = (Field::Prompt, body::is_question, Holder::Question);
        let answer: (Field, Says, Holder) = (Field::Response, body::is_answer, Holder::Answer);
        let mut lacking: Vec<(Field, Holder)> = Vec::new();
        for (field, is_said, holder) in [question, answer] {
            let place = self.place(field);
            if self.is_mapped(field) || place.is_some_and(|found| is_said(&self.entries[found.entry].1)) {
                continue;
            }
            let other = place.and_then(|best| self.other_place(field, best.entry, is_said));
            match other {
                Some(other) => self.found[Scope::Llm as usize][field as usize] = Some(other),
                // A text is one, whatever it says; so is an answer of a body of the record itself.
                None if place.is_some_and(|found| self.entries[found.entry].1.as_str().is_some()) => {}
                None if field == Field::Response && self.choices.is_some() => {}
                None => lacking.push((field, holder)),
            }
        }
        // Of one alone nothing would be left for the other.
        let holds_json = |value: &Json<'_>| match value {
            Json::Object(entries) => !entries.is_empty(),
            Json::String(text) => text.starts_with(['{', '[']) || text.starts_with("data:"),
            _ => false,
        };
        let may_hold = self.entries.iter().filter(|(_, value)| holds_json(value)).count();
        if lacking.is_empty() || may_hold < lacking.len() || self.has_tool() {
            return;
        }
        let mut holders: [Vec<usize>; 2] = Default::default();
        for (at, (_, value)) in self.entries.iter().enumerate().filter(|(_, (_, value))| holds_json(value)) {
            if holds_both(value, WRAPPED_MAX) {
                continue;
            }
            if let Some(holder) = body::holder(value) {
                holders[holder as usize].push(at);
            }
        }
        let is_pair = lacking.iter().all(|(_, holder)| holders[*holder as usize].len() == 1);
        for (field, holder) in lacking.into_iter().filter(|_| is_pair) {
            let found = Found { entry: holders[holder as usize][0], rank: 0, unit: None };
            self.found[Scope::Llm as usize][field as usize] = Some(found);
        }
    }

    /// The best other place of a field that holds one.
    fn other_place(&self, field: Field, best: usize, is_said: fn(&Json<'_>) -> bool) -> Option<Found> {
        let entries = self.entries.iter().enumerate().filter(|(at, (_, value))| *at != best && !is_void(value));
        let named = entries.filter_map(|(entry, (key, value))| {
            let mut targets = fields::meanings(key).iter();
            let target = targets.find(|target| target.field == field && target.scope == Scope::Llm)?;
            Some((Found { entry, rank: target.rank, unit: None }, value))
        });
        named.filter(|(_, value)| is_said(value)).map(|(found, _)| found).min_by_key(|found| found.rank)
    }

    /// Whether a tool is named under a name of its own.
    fn has_tool(&self) -> bool {
        self.found[Scope::Tool as usize][Field::Tool as usize]
            .is_some_and(|found| fields::is_own_name(Field::Tool, found.rank))
    }

    /// What was answered instead of a text of a model, as a noun: vectors, pictures, lists.
    fn no_call(&self) -> Option<&'static str> {
        let found = self.place(Field::Response).filter(|_| !self.is_mapped(Field::Response))?;
        body::no_call(&self.entries[found.entry].1)
    }

    fn note_names(&mut self, entry: usize) {
        let (key, value) = &self.entries[entry];
        match (key.as_ref(), value) {
            ("choices", Json::Array(_)) => self.choices = Some(entry),
            ("usage", counts) if Usage::is_one(counts) => self.usage = Some(entry),
            _ => {}
        }
        let is_null = value.is_null();
        let is_void = is_void(value);
        for target in fields::meanings(key) {
            if is_null && !(target.field == Field::Result && target.is_own_name()) {
                continue;
            }
            if is_void && matches!(target.field, Field::Prompt | Field::Response) {
                continue;
            }
            let found = Found { entry, rank: target.rank + if is_null { NULL_RANK } else { 0 }, unit: target.unit };
            let best = &mut self.found[target.scope as usize][target.field as usize];
            if best.is_none_or(|best| found.rank < best.rank) {
                *best = Some(found);
            }
        }
    }

    /// Whether the object is a call of a model or of a tool, or feedback.
    fn is_call(&self) -> bool {
        if self.states_kind() || self.has(Field::WasHallucination) {
            return true;
        }
        let is_said = |field: Field, is_text: fn(&Json<'_>) -> bool| match self.place(field) {
            _ if self.is_mapped(field) => (true, true),
            Some(found) => {
                let value = &self.entries[found.entry].1;
                let is_own = fields::is_own_name(field, found.rank);
                (is_text(value), is_own && (is_text(value) || value.as_str().is_some()))
            }
            None => (false, false),
        };
        let (has_prompt, is_own_prompt) = is_said(Field::Prompt, body::is_question);
        let (has_response, is_own_response) = is_said(Field::Response, body::is_answer);
        if is_own_prompt
            || is_own_response
            || (has_prompt && has_response && !self.are_places())
            || self.has_choices()
            || self.is_error_body()
        {
            return true;
        }
        let has_tokens = self.has(Field::PromptTokens) || self.has(Field::ResponseTokens) || self.usage.is_some();
        let has_model =
            [Field::Model, Field::ServedModel, Field::DeclaredModel].iter().any(|field| self.has_text(*field));
        let has_texts = has_prompt || has_response;
        if has_texts && (has_model || has_tokens) {
            return true;
        }
        let is_timed = self.has(Field::LatencyMs) || self.has(Field::TtftMs);
        (has_model && (has_tokens || is_timed || self.has(Field::Error))) || self.is_tool_call()
    }

    /// Whether what stands for question and answer are names of files and addresses, as jobs that read and write have them.
    fn are_places(&self) -> bool {
        let is_place = |field: Field| {
            let value = self.place(field).map(|found| &self.entries[found.entry].1);
            value.and_then(Json::as_str).is_some_and(is_place)
        };
        is_place(Field::Prompt) && is_place(Field::Response)
    }

    /// A tool beside what it was called with or gave. A `function` is any function, unless it has both a call's ends.
    fn is_tool_call(&self) -> bool {
        let is_tool =
            |field: Field| self.found[Scope::Tool as usize][field as usize].is_some() || self.is_mapped(field);
        let Some(tool) = self.found[Scope::Tool as usize][Field::Tool as usize] else {
            return self.is_mapped(Field::Tool) && TOOL_NEEDS.into_iter().any(is_tool);
        };
        let (key, value) = &self.entries[tool.entry];
        // A function with its parameters is declared, one with arguments is called.
        let is_called = value.get("arguments").is_some();
        // What describes a tool, as a schema does, names none.
        let is_named = value.as_object().is_none() || value.get("name").is_some_and(|name| name.as_str().is_some());
        match key.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("tool")) {
            true => is_called || (is_named && TOOL_NEEDS.into_iter().any(is_tool)),
            false => is_called || (value.as_str().is_some() && (is_tool(Field::Args) || is_tool(Field::Result))),
        }
    }

    /// Whether the record says what it is, in a way that is known: by `kind`, or by a `type` that is borne out.
    fn states_kind(&self) -> bool {
        let Some(found) = self.place(Field::Kind) else { return self.is_mapped(Field::Kind) };
        let (key, value) = &self.entries[found.entry];
        let is_borne_out = |kind: Kind| match kind {
            Kind::Llm => LLM_NEEDS.into_iter().any(|field| self.has(field)),
            Kind::Tool => self.is_tool_call(),
            Kind::Feedback => self.has(Field::WasHallucination),
        };
        let stated = value.as_str().and_then(kind_of);
        self.is_mapped(Field::Kind) || stated.is_some_and(|kind| key.eq_ignore_ascii_case("kind") || is_borne_out(kind))
    }

    /// Whether `choices` are those of a response body.
    fn has_choices(&self) -> bool {
        let Some(choices) = self.choices else { return false };
        openai_chat::is_choices(&self.entries[choices].1)
    }

    /// Whether the object is the error of a provider and nothing else.
    fn is_error_body(&self) -> bool {
        let is_error = |(key, value): &(Cow<'_, str>, Json<'_>)| key == "error" && openai_chat::is_error_object(value);
        self.entries.len() <= 2 && self.entries.iter().any(is_error)
    }

    /// Whether a field holds a name.
    fn has_text(&self, field: Field) -> bool {
        self.is_mapped(field)
            || self
                .place(field)
                .is_some_and(|found| self.entries[found.entry].1.as_str().is_some_and(|text| !text.is_empty()))
    }

    /// A tool that is an object `{"name", "arguments"}`, as OpenAI writes a call, becomes a name beside its arguments.
    fn unfold_tool(&mut self) {
        let Some(found) = self.place(Field::Tool) else { return };
        let tool = &mut self.entries[found.entry].1;
        let Some(name) = tool.take("name") else { return };
        let arguments = tool.take("arguments").or_else(|| tool.take("parameters"));
        *tool = name;
        if let Some(arguments) = arguments {
            self.entries.push(("arguments".into(), arguments));
            self.note_names(self.entries.len() - 1);
        }
    }

    fn settle_kind(&mut self) -> Kind {
        let kind = self.stated_kind().unwrap_or_else(|| self.likely_kind());
        self.scope = if kind == Kind::Llm { Scope::Llm } else { Scope::Tool };
        kind
    }

    /// The kind that the record states. A `type` of some other meaning is common and says nothing.
    fn stated_kind(&mut self) -> Option<Kind> {
        let is_type = !self.is_mapped(Field::Kind) && self.key_of(Field::Kind).is_some_and(|key| key == "type");
        let (value, _) = self.take(Field::Kind)?;
        let kind = value.as_str().and_then(kind_of);
        if kind.is_none() && !is_type {
            self.refuse(Field::Kind, "is not llm, tool or feedback".into());
        }
        kind
    }

    fn likely_kind(&self) -> Kind {
        if self.has(Field::WasHallucination) {
            return Kind::Feedback;
        }
        let has_name = self.found[Scope::Tool as usize][Field::Tool as usize].is_some();
        let is_call = self.has(Field::Args) || self.has(Field::Result);
        let is_asked = self.place(Field::Prompt).is_some_and(|found| fields::is_own_name(Field::Prompt, found.rank));
        if self.has(Field::Tool) || (has_name && is_call && !is_asked) { Kind::Tool } else { Kind::Llm }
    }

    /// Refuses an object that states a kind and has nothing of it.
    fn refuse_lacking(&self, kind: Kind) -> Result<(), String> {
        let (needs, what) = match kind {
            Kind::Llm => (&LLM_NEEDS[..], "none of"),
            Kind::Tool if !self.has(Field::Tool) => (&[Field::Tool][..], "a tool call without"),
            Kind::Tool => (&TOOL_NEEDS[..], "a tool and none of"),
            Kind::Feedback if !self.has(Field::WasHallucination) => {
                (&[Field::WasHallucination][..], "feedback without")
            }
            Kind::Feedback => (&[Field::Tool, Field::Model][..], "feedback without"),
        };
        let has_answer = kind == Kind::Llm && (self.choices.is_some() || self.usage.is_some());
        if has_answer || needs.iter().any(|field| self.has(*field)) {
            return Ok(());
        }
        let names: Vec<String> = needs.iter().map(|field| format!("`{}`", field.name())).collect();
        Err(format!("{what} {}; map yours with --map", names.join(", ")))
    }

    fn read_envelope(&mut self, record: &mut Record<'a>) {
        record.id = self.take_id(Field::Id);
        record.timestamp_ms = self.convert(Field::Timestamp, values::timestamp_ms);
        record.session_id = self.take_id(Field::SessionId);
        record.provider = self.take_name(Field::Provider);
        record.host = self.take_place(Field::Host);
        record.level = self.take_place(Field::Level);
        record.finish_reason = self.take_name(Field::FinishReason);
        record.label = self.take(Field::Label).and_then(|(label, _)| self.keep(Field::Label, values::label(label))?);
        record.error = self.take(Field::Error).and_then(|(error, _)| error_of(error));
        record.rules = self.take(Field::Rules).map(|(rules, _)| rules);
        let is_format = self.key_of(Field::ExpectedSchema).is_some_and(|key| key == "response_format");
        let is_format = is_format && !self.is_mapped(Field::ExpectedSchema);
        record.expected_schema = self.take(Field::ExpectedSchema).and_then(|(schema, _)| {
            let schema = unwrap_object(schema);
            let is_format = is_format && openai_chat::is_response_format(&schema);
            if is_format { openai_chat::schema_of_format(schema) } else { self.read_schema(schema) }
        });
        record.prompt_tokens = self.convert(Field::PromptTokens, |value, _| values::count(value));
        record.response_tokens = self.convert(Field::ResponseTokens, |value, _| values::count(value));
        if let Some(usage) = self.usage {
            let usage = std::mem::take(&mut self.entries[usage].1);
            self.fill_usage(Usage::of(&usage), record);
        }
    }

    /// Before the conversation: what is named `response` in a tool call is its result.
    fn read_tool(&mut self, record: &mut Record<'a>) {
        record.tool = self.take_name(Field::Tool);
        record.args = self.take(Field::Args).map(|(args, _)| unwrap_object(args));
        record.result = self.take(Field::Result).map(|(result, _)| unwrap_container(result));
        record.execution_time_ms = self.take_duration(Field::ExecutionTimeMs);
    }

    fn read_conversation(&mut self, record: &mut Record<'a>) {
        record.latency_ms = self.take_duration(Field::LatencyMs);
        record.ttft_ms = self.take_duration(Field::TtftMs);
        let has_mapped_model = self.is_mapped(Field::Model);
        let model = self.take_name(Field::Model);
        let declared = self.take_name(Field::DeclaredModel);
        let served = self.take_name(Field::ServedModel);
        record.tools = self.take(Field::Tools).map(|(tools, _)| tools);
        let called = self.take(Field::ToolCalls).map(|(calls, _)| message::read_calls(calls));
        let system = self.take(Field::System).and_then(|(system, _)| message::text_of(system));
        record.context = self.take(Field::Context).map(|(context, _)| self.read_context(context)).unwrap_or_default();

        let is_bare_body = self.choices.is_some() && !self.is_mapped(Field::Response);
        let answer = self.read_answer();
        let is_messages = !self.is_mapped(Field::Prompt) && self.key_of(Field::Prompt) == Some("messages");
        let is_chat_log = answer.is_none() && record.kind == Kind::Llm && is_messages;
        let mut asked = self.take(Field::Prompt).map(|(prompt, _)| self.read_prompt(prompt)).unwrap_or_default();
        let last = if is_chat_log { asked.split_last_answer() } else { None };
        let is_chat = last.is_some();
        let mut answer = answer.or(last).unwrap_or_default();

        record.format = format_of(is_bare_body, is_chat, answer.dialect.or(asked.dialect));
        record.prompt = asked.prompt();
        record.system = join(system, asked.system).or(answer.system.take());
        record.context.append(&mut asked.context);
        record.context.append(&mut answer.context);
        record.notes.merge(asked.notes);
        record.notes.merge(answer.notes);
        record.tools = record.tools.take().or(asked.tools).or(answer.tools);
        record.session_id = record.session_id.take().or(answer.session_id);
        record.expected_schema = record.expected_schema.take().or(asked.expected_schema);
        record.tool_calls = called.unwrap_or(answer.tool_calls);
        record.response_id = answer.id.clone().or_else(|| record.id.clone().filter(|_| is_bare_body));
        let answered = served.or(answer.model);
        if has_mapped_model {
            record.declared_model = declared.or(asked.model);
            record.model = model;
        } else if let Some(answered) = answered {
            record.declared_model = declared.or(asked.model).or(model);
            record.model = Some(answered);
        } else {
            // A log that names the model once, or twice in the request, does not say which one answered.
            let asked = asked.model;
            record.declared_model = declared.clone().filter(|_| model.is_some());
            record.model = model.or(asked).or(declared);
        }
        record.response = answer.text;
        record.finish_reason = record.finish_reason.take().or(answer.finish_reason);
        record.id = record.id.take().or(answer.id);
        record.error = record.error.take().or(answer.error);
        if record.error.is_none() {
            record.error = self.failure(record.response.as_deref().is_some_and(|text| !text.trim().is_empty()));
        }
        if let Some(created) = answer.created.filter(|_| record.timestamp_ms.is_none()) {
            record.timestamp_ms = self.keep(Field::Timestamp, values::timestamp_ms(&created, None));
        }
        self.fill_usage(answer.usage, record);
        if record.latency_ms.is_none() {
            record.latency_ms = answer.latency_ms;
        }
        record.ttft_ms = record.ttft_ms.or(answer.ttft_ms);
        let is_timed = record.latency_ms.is_some() || record.execution_time_ms.is_some();
        record.latency_source = is_timed.then(|| self.latency_source(record));
    }

    /// What a status says of a call that failed. A word for it counts only where there is no answer: many things have a
    /// status.
    fn failure(&self, is_answered: bool) -> Option<Cow<'a, str>> {
        const CODES: [&str; 7] =
            ["status", "status_code", "statusCode", "http_status", "http_status_code", "httpStatus", "response_status"];
        const WORDS: [&str; 4] = ["status", "state", "outcome", "call_status"];
        const FAILED: [&str; 8] =
            ["error", "errored", "failed", "failure", "fail", "timeout", "timed_out", "exception"];
        self.entries.iter().find_map(|(key, value)| {
            let key = key.as_ref();
            let code = values::count(value).ok().filter(|code| (400..600).contains(code) && CODES.contains(&key));
            if let Some(code) = code {
                return Some(format!("HTTP status {code}").into());
            }
            let is_word = |word: &str| FAILED.iter().any(|failed| word.eq_ignore_ascii_case(failed));
            let is_failed = match value {
                Json::String(word) => WORDS.contains(&key) && is_word(word),
                Json::Bool(is) => (!is && matches!(key, "success" | "succeeded" | "ok")) || (*is && key == "is_error"),
                _ => false,
            };
            (is_failed && !is_answered).then(|| format!("`{key}` says that the call failed").into())
        })
    }

    fn read_feedback(&mut self, record: &mut Record<'a>) -> Result<(), String> {
        let (value, _) = self.take(Field::WasHallucination).unwrap_or_default();
        let was_hallucination = values::flag(&value).map_err(|why| format!("`was_hallucination` {why}"))?;
        let confidence = self.convert(Field::Confidence, |value, _| values::fraction(value));
        record.feedback = Some(Feedback { was_hallucination, confidence });
        Ok(())
    }

    /// The answer of the model, from `choices` of the record itself or from what is called its response.
    fn read_answer(&mut self) -> Option<Answer<'a>> {
        if let Some(choices) = self.choices
            && !self.is_mapped(Field::Response)
        {
            let choices = std::mem::take(&mut self.entries[choices].1);
            let answer = openai_chat::read_choices(choices);
            return Some(Answer { dialect: Some(Dialect::OpenAiChat), ..answer });
        }
        let (value, _) = self.take(Field::Response)?;
        let answer = body::read_answer(value);
        let mut answer = self.keep(Field::Response, answer.map_err(|value| values::misplaced(&value, "text")))?;
        if let Some(problem) = answer.problem.take() {
            self.refuse(Field::Response, problem.into());
        }
        Some(answer)
    }

    fn read_prompt(&mut self, value: Json<'a>) -> Conversation<'a> {
        let asked = body::read_question(value);
        let asked = asked.map_err(|value| values::misplaced(&value, "text or a list of messages"));
        self.keep(Field::Prompt, asked).unwrap_or_default()
    }

    fn read_context(&mut self, value: Json<'a>) -> Vec<Passage<'a>> {
        match value {
            Json::Array(items) => items.into_iter().filter_map(passage).collect(),
            Json::String(_) | Json::Object(_) => passage(value).into_iter().collect(),
            other => {
                self.refuse(Field::Context, values::misplaced(&other, "text or a list of documents"));
                Vec::new()
            }
        }
    }

    fn read_schema(&mut self, schema: Json<'a>) -> Option<Json<'a>> {
        match unwrap_object(schema) {
            schema @ (Json::Object(_) | Json::Bool(_)) => Some(schema),
            other => {
                self.refuse(Field::ExpectedSchema, values::misplaced(&other, "a JSON Schema"));
                None
            }
        }
    }

    /// Token counts of a `usage` object, where the record has none of its own.
    fn fill_usage(&mut self, usage: Usage, record: &mut Record<'a>) {
        usage.fill(record);
        self.problems.append(&mut record.problems);
    }

    /// Milliseconds from a beginning that is called so to an end, when the record has both.
    fn span_ms(&self) -> Option<f64> {
        let begin = self.place(Field::Timestamp).filter(|_| !self.is_mapped(Field::Timestamp))?;
        let (key, begin) = &self.entries[begin.entry];
        if !key.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("start")) {
            return None;
        }
        let is_end = |key: &str| {
            let plain: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
            END_NAMES.contains(&plain.to_ascii_lowercase().as_str())
        };
        let (_, end) = self.entries.iter().find(|(key, value)| is_end(key) && !value.is_null())?;
        let ns = values::moment_ns(end, None).ok()? - values::moment_ns(begin, None).ok()?;
        (ns >= 0).then_some(ns as f64 / 1e6)
    }

    /// Whether the record has the field, under a name that any kind of record may use or under one of this kind.
    fn has(&self, field: Field) -> bool {
        self.is_mapped(field) || self.place(field).is_some()
    }

    fn is_mapped(&self, field: Field) -> bool {
        self.mapped.iter().any(|mapped| mapped.field == field)
    }

    fn place(&self, field: Field) -> Option<Found> {
        self.found[self.scope as usize][field as usize]
    }

    fn key_of(&self, field: Field) -> Option<&str> {
        self.place(field).map(|found| self.entries[found.entry].0.as_ref())
    }

    /// Moves the field's value out: the mapped one if there is one, else the best named one that is still there.
    fn take(&mut self, field: Field) -> Option<(Json<'a>, Option<Unit>)> {
        if let Some(index) = self.mapped.iter().position(|mapped| mapped.field == field) {
            let Mapped { value, unit, .. } = self.mapped.swap_remove(index);
            return Some((value, unit));
        }
        let found = self.place(field)?;
        let value = std::mem::take(&mut self.entries[found.entry].1);
        let is_answer = !value.is_null() || field == Field::Result;
        is_answer.then_some((value, found.unit))
    }

    /// A field through a conversion; a refusal becomes a problem.
    fn convert<T>(
        &mut self,
        field: Field,
        conversion: impl Fn(&Json<'a>, Option<Unit>) -> Result<T, Refusal>,
    ) -> Option<T> {
        let (value, unit) = self.take(field)?;
        self.keep(field, conversion(&value, unit))
    }

    fn take_duration(&mut self, field: Field) -> Option<f64> {
        let is_mapped = self.is_mapped(field);
        let (value, unit) = self.take(field)?;
        let ms = self.keep(field, values::duration_ms(&value, unit.unwrap_or(Unit::Ms)))?;
        let is_told = unit.is_some() || is_mapped || values::says_unit(&value);
        self.unit_is_assumed |= !is_told && field != Field::TtftMs;
        Some(ms)
    }

    /// Where a latency of the record comes from. A bare number beside `start_ns` is hardly one of milliseconds.
    fn latency_source(&self, record: &mut Record<'a>) -> LatencySource {
        if !self.unit_is_assumed {
            return LatencySource::Reported;
        }
        let is_fine =
            |key: &str| ["_ns", "_us", "_nanos", "_micros", "Nano", "Nanos"].iter().any(|end| key.ends_with(end));
        if self.entries.iter().any(|(key, _)| is_fine(key)) {
            record.notes.add(Note::UnitDoubtful);
        }
        LatencySource::Assumed
    }

    fn take_name(&mut self, field: Field) -> Option<Cow<'a, str>> {
        let (value, _) = self.take(field)?;
        self.keep(field, values::name(value)).flatten()
    }

    /// Where and how loud something was logged; loggers also write an object with a `name`.
    fn take_place(&mut self, field: Field) -> Option<Cow<'a, str>> {
        let (mut value, _) = self.take(field)?;
        let value = value.take("name").unwrap_or(value);
        values::name(value).ok().flatten()
    }

    /// What this object says of a call, where a record lacks it; whether it said anything.
    fn lend(&mut self, record: &mut Record<'a>, fields: &[Field]) -> bool {
        let mut over = Record::new(record.kind);
        let mut is_lent = false;
        for field in fields.iter().copied() {
            if self.place(field).is_none() {
                continue;
            }
            macro_rules! lend {
                ($slot:ident, $value:expr) => {
                    if record.$slot.is_none()
                        && let Some(value) = $value
                    {
                        record.$slot = Some(value);
                        is_lent = true;
                    }
                };
            }
            match field {
                Field::Id => lend!(id, self.take_id(field)),
                Field::Timestamp => lend!(timestamp_ms, self.convert(field, values::timestamp_ms)),
                Field::SessionId => lend!(session_id, self.take_id(field)),
                Field::Model => lend!(model, self.take_name(field)),
                Field::Provider => lend!(provider, self.take_name(field)),
                Field::Host => lend!(host, self.take_place(field)),
                Field::Level => lend!(level, self.take_place(field)),
                Field::LatencyMs if record.kind == Kind::Llm => lend!(latency_ms, self.take_duration(field)),
                Field::ExecutionTimeMs if record.kind == Kind::Tool => {
                    lend!(execution_time_ms, self.take_duration(field));
                }
                Field::TtftMs => lend!(ttft_ms, self.take_duration(field)),
                Field::PromptTokens => lend!(prompt_tokens, self.convert(field, |value, _| values::count(value))),
                Field::ResponseTokens => lend!(response_tokens, self.convert(field, |value, _| values::count(value))),
                Field::FinishReason => lend!(finish_reason, self.take_name(field)),
                _ => {}
            }
        }
        if let Some(usage) = self.usage.filter(|_| fields.contains(&Field::PromptTokens)) {
            Usage::of(&self.entries[usage].1).fill(&mut over);
            is_lent |= record.prompt_tokens.is_none() && over.prompt_tokens.is_some();
            record.prompt_tokens = record.prompt_tokens.or(over.prompt_tokens);
            record.response_tokens = record.response_tokens.or(over.response_tokens);
        }
        let is_timed = record.latency_ms.is_some() || record.execution_time_ms.is_some();
        if is_timed && record.latency_source.is_none() {
            record.latency_source = Some(self.latency_source(record));
        }
        is_lent
    }

    /// What a record lacks may stand one level down.
    fn guess_nested(&mut self, record: &mut Record<'a>) {
        for index in 0..self.entries.len() {
            let (key, value) = &mut self.entries[index];
            if !matches!(value, Json::Object(_)) || !is_nested_key(key) {
                continue;
            }
            let Json::Object(entries) = std::mem::take(value) else { continue };
            let mut inner = Draft::new(entries, Vec::new(), b"");
            inner.scope = self.scope;
            // An id down there is that of something else.
            if inner.lend(record, &Field::ABOUT_CALL[1..]) {
                record.notes.add(Note::Guessed);
            }
        }
    }

    /// A name; an integer beyond 64 bits, which the tree cannot hold, is read from the source again.
    fn take_id(&mut self, field: Field) -> Option<Cow<'a, str>> {
        let entry = self.place(field).filter(|_| !self.is_mapped(field)).map(|found| found.entry);
        let (value, _) = self.take(field)?;
        let name = values::name(value).or_else(|why| {
            let digits = entry.and_then(|entry| digits(self.source, &self.entries[entry].0));
            digits.map(|digits| Some(digits.into())).ok_or(why)
        });
        self.keep(field, name).flatten()
    }

    fn keep<T>(&mut self, field: Field, value: Result<T, Refusal>) -> Option<T> {
        value.map_err(|why| self.refuse(field, why)).ok()
    }

    fn refuse(&mut self, field: Field, why: Refusal) {
        self.problems.push(Problem { field: field.name().to_owned(), reason: why.into_owned() });
    }
}

/// Whether a text is the name of a file, or an address: `s3://a/b`, `/tmp/x`, `a.csv`.
fn is_place(text: &str) -> bool {
    let is_word = !text.contains(char::is_whitespace);
    let has_extension = text.rsplit_once('.').is_some_and(|(stem, extension)| {
        let is_plain = extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
        !stem.is_empty()
            && (2..=7).contains(&extension.len())
            && is_plain
            && !extension.starts_with(|c: char| c.is_ascii_digit())
    });
    is_word && (text.contains("://") || (text.starts_with('/') && text.len() > 1) || has_extension)
}

/// Objects that may stand around a call where a body is looked for.
const WRAPPED_MAX: usize = 3;

/// Whether a value holds question and answer of a call, each under a key of its own: it is neither of them itself.
fn holds_both(value: &Json<'_>, depth: usize) -> bool {
    let parsed = match value {
        Json::String(text) if text.trim_start().starts_with('{') => Json::parse(text.as_bytes()).unwrap_or_default(),
        _ => Json::Null,
    };
    let Some(entries) = (if parsed.is_null() { value } else { &parsed }).as_object() else { return false };
    if depth > 0 && entries.iter().any(|(_, value)| holds_both(value, depth - 1)) {
        return true;
    }
    let mut draft = Draft::new(entries.to_vec(), Vec::new(), b"");
    draft.find_bodies();
    let places = [Field::Prompt, Field::Response].map(|field| draft.place(field).map(|found| found.entry));
    let [Some(asked), Some(answered)] = places else { return false };
    asked != answered && body::is_question(&draft.entries[asked].1) && body::is_answer(&draft.entries[answered].1)
}

/// Whether a value is an object or a list with nothing in it.
fn is_void(value: &Json<'_>) -> bool {
    match value {
        Json::Object(entries) => entries.is_empty(),
        Json::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Whether below a key stands what is known of a call beside its texts.
fn is_nested_key(key: &str) -> bool {
    // The longest of them; most keys are done with one look at their length.
    if key.len() > 20 {
        return false;
    }
    let plain: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    NESTED.contains(&plain.to_ascii_lowercase().as_str())
}

/// What was read: a body alone, a list of messages, a pair of bodies, or our own names.
fn format_of(is_bare_body: bool, is_chat: bool, dialect: Option<Dialect>) -> Format {
    let container = match (is_bare_body, is_chat, dialect) {
        (true, ..) => Container::BARE,
        (_, true, _) => Container::CHAT,
        (_, _, Some(_)) => Container::PAIR,
        _ => Container::NATIVE,
    };
    Format { container, dialect }
}

/// The kind that a text states.
fn kind_of(text: &str) -> Option<Kind> {
    let normalised = text.to_ascii_lowercase().replace(['-', '.', ' '], "_");
    match normalised.as_str() {
        "llm" | "llm_call" | "chat" | "chat_completion" | "completion" | "generation" => Some(Kind::Llm),
        "tool" | "tool_call" | "tool_use" | "tool_result" | "function" | "function_call" => Some(Kind::Tool),
        "feedback" => Some(Kind::Feedback),
        _ => None,
    }
}

/// The digits of an integer beyond 64 bits that stands at the top level of an object.
fn digits(source: &[u8], key: &str) -> Option<String> {
    let entries: std::collections::BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_slice(source).ok()?;
    let text = entries.get(key)?.get();
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.to_owned())
}

fn join<'a>(first: Option<Cow<'a, str>>, second: Option<Cow<'a, str>>) -> Option<Cow<'a, str>> {
    match (first, second) {
        (Some(first), Some(second)) => Some(format!("{first}\n{second}").into()),
        (first, second) => first.or(second),
    }
}
