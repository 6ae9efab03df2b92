//! The normal form's own field names and their common synonyms, and how a record is read by them.
//!
//! The names are those of [`FIELDS`]; this module reads what stands under them.
//!
//! - kind: `kind` (or `type`) if it says so; else feedback if there is `was_hallucination`, a tool call if there is a
//!   `tool`, or a `name` beside `args` or `result`; else an LLM call
//! - null is absent, except for the `result` of a tool: a tool may answer null
//! - prompt: a text, a list of messages (or of texts), an object with `messages`, one message; any other object is
//!   read as its JSON text. Messages of the roles system and developer go to `system`, parts that are not text
//!   (images, audio, tool calls) are left out
//! - context: a text, an object, or a list of them; empty texts are left out
//! - response: a text, a message, a list of typed parts, a Chat Completions body; anything else is read as its
//!   compact JSON text
//! - args and result: as they are; a string that holds a JSON object (for results also an array) is parsed, once
//! - error: a text, or an object with a `message`; `false`, `0`, `""` and `{}` are no error
//!
//! **Limits**: of several names of one field only one is read.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{
    Container, Dialect, Feedback, Format, Kind, LatencySource, Passage, Problem, Record,
    body::{self, Answer, Conversation, error_of, message, openai_chat, usage::Usage},
    fields::{self, FIELD_COUNT, Field, Scope},
    json::Json,
    mapping::{Mapped, Mapping},
    values::{self, Refusal, Unit},
};

pub use super::fields::FIELDS;

/// What an LLM call must have one of, to be one.
const LLM_NEEDS: [Field; 7] = [
    Field::Prompt,
    Field::Response,
    Field::Error,
    Field::LatencyMs,
    Field::TtftMs,
    Field::PromptTokens,
    Field::ResponseTokens,
];

/// Names of the end of a call, in lower case without `_` and `-`. With a beginning it gives the latency that is not told.
const END_NAMES: [&str; 8] =
    ["endtime", "endedat", "finishedat", "completedat", "endts", "finishtime", "respondedat", "endtimestamp"];

/// What a tool call must have one of, beside its tool.
const TOOL_NEEDS: [Field; 4] = [Field::Args, Field::Result, Field::ExecutionTimeMs, Field::Error];

/// Reads an object as a record. `source` is its text, for integers that the tree cannot hold. The error says what was
/// missing.
pub(super) fn read<'a>(object: Json<'a>, mapping: &Mapping, source: &[u8]) -> Result<Record<'a>, String> {
    let mapped = mapping.find(&object);
    let Json::Object(entries) = object else { return Err(format!("not a JSON object but {}", object.type_name())) };
    let mut draft = Draft::new(entries, mapped, source);
    draft.unfold_tool();
    let kind = draft.settle_kind();
    draft.refuse_strangers(kind)?;
    let mut record = Record::new(kind);
    let span_ms = draft.span_ms();
    draft.read_envelope(&mut record);
    if kind != Kind::Llm {
        draft.read_tool(&mut record);
    }
    draft.read_conversation(&mut record);
    if record.latency_source.is_none()
        && let Some(ms) = span_ms
    {
        *(if kind == Kind::Llm { &mut record.latency_ms } else { &mut record.execution_time_ms }) = Some(ms);
        record.latency_source = Some(LatencySource::StartAndEnd);
    }
    if kind == Kind::Feedback {
        draft.read_feedback(&mut record)?;
    }
    record.problems = draft.problems;
    Ok(record)
}

/// Whether an object has none of the fields that a record must have one of.
pub(super) fn is_stranger(object: &Json<'_>, mapping: &Mapping) -> bool {
    let entries = object.as_object().unwrap_or_default();
    let is_needed = |key: &str| {
        key == "choices"
            || key == "usage"
            || fields::meanings(key).iter().any(|target| {
                LLM_NEEDS.contains(&target.field) || matches!(target.field, Field::Tool | Field::WasHallucination)
            })
    };
    !entries.iter().any(|(key, value)| !value.is_null() && is_needed(key)) && mapping.find(object).is_empty()
}

/// Puts what was mapped over what a record has.
pub(super) fn overlay<'a>(record: &mut Record<'a>, mapped: Vec<Mapped<'a>>) {
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
    put!(id, timestamp_ms, session_id, model, declared_model, provider, system, response, latency_ms, ttft_ms);
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
    problems: Vec<Problem>,
}

impl<'a, 's> Draft<'a, 's> {
    fn new(entries: Entries<'a>, mapped: Vec<Mapped<'a>>, source: &'s [u8]) -> Draft<'a, 's> {
        let found = [[None; FIELD_COUNT]; 2];
        let (choices, usage) = (None, None);
        let mut draft =
            Draft { entries, mapped, found, scope: Scope::Llm, choices, usage, source, problems: Vec::new() };
        for index in 0..draft.entries.len() {
            draft.note_names(index);
        }
        draft
    }

    fn note_names(&mut self, entry: usize) {
        let (key, value) = &self.entries[entry];
        match (key.as_ref(), value) {
            ("choices", Json::Array(_)) => self.choices = Some(entry),
            ("usage", counts) if Usage::is_one(counts) => self.usage = Some(entry),
            _ => {}
        }
        let is_null = value.is_null();
        for target in fields::meanings(key) {
            if is_null && !(target.field == Field::Result && target.is_own_name()) {
                continue;
            }
            let found = Found { entry, rank: target.rank + if is_null { NULL_RANK } else { 0 }, unit: target.unit };
            let best = &mut self.found[target.scope as usize][target.field as usize];
            if best.is_none_or(|best| found.rank < best.rank) {
                *best = Some(found);
            }
        }
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

    /// Refuses an object that has nothing to audit.
    fn refuse_strangers(&self, kind: Kind) -> Result<(), String> {
        let nothing_found = self.found.iter().flatten().all(Option::is_none);
        if nothing_found && self.mapped.is_empty() && self.choices.is_none() && self.usage.is_none() {
            return Err("no known field; map yours with --map".to_owned());
        }
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
        if let Some((_, unread @ 1..)) = last {
            let reason = format!("has {unread} after the last answer, which are not read");
            self.problems.push(Problem { field: "messages".to_owned(), reason });
        }
        let is_chat = last.is_some();
        let mut answer = answer.or(last.map(|(answer, _)| answer)).unwrap_or_default();

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
        if let Some(created) = answer.created.filter(|_| record.timestamp_ms.is_none()) {
            record.timestamp_ms = self.keep(Field::Timestamp, values::timestamp_ms(&created, None));
        }
        self.fill_usage(answer.usage, record);
        if record.latency_ms.is_none() {
            record.latency_ms = answer.latency_ms;
        }
        record.ttft_ms = record.ttft_ms.or(answer.ttft_ms);
        let is_timed = record.latency_ms.is_some() || record.execution_time_ms.is_some();
        record.latency_source = is_timed.then_some(LatencySource::Reported);
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
        self.convert(field, |value, unit| values::duration_ms(value, unit.unwrap_or(Unit::Ms)))
    }

    fn take_name(&mut self, field: Field) -> Option<Cow<'a, str>> {
        let (value, _) = self.take(field)?;
        self.keep(field, values::name(value)).flatten()
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

/// What was read: a body alone, a list of messages, a pair of bodies, or our own names.
fn format_of(is_bare_body: bool, is_chat: bool, dialect: Option<Dialect>) -> Format {
    let container = match (is_bare_body, is_chat, dialect) {
        (true, ..) => Container::Bare,
        (_, true, _) => Container::Chat,
        (_, _, Some(_)) => Container::Pair,
        _ => Container::Native,
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

/// One document. The keys of its text, in order of precedence: text, content, page_content, passage, body.
pub(super) fn passage(value: Json<'_>) -> Option<Passage<'_>> {
    let (id, text) = match value {
        Json::Null => return None,
        Json::String(text) => (None, text),
        mut object @ Json::Object(_) => {
            let text =
                ["text", "content", "page_content", "passage", "body"].into_iter().find_map(|key| object.take(key));
            match text.and_then(message::text_of) {
                Some(text) => {
                    let id = ["id", "doc_id", "document_id", "_id"].into_iter().find_map(|key| object.take(key));
                    (id.and_then(|id| values::name(id).ok().flatten()), text)
                }
                None => (None, object.to_compact_string().into()),
            }
        }
        other => (None, other.to_compact_string().into()),
    };
    (!text.is_empty()).then_some(Passage { id, text })
}

/// A string that holds a JSON object becomes that object.
pub(super) fn unwrap_object(value: Json<'_>) -> Json<'_> {
    unwrap(value, &['{'])
}

/// A string that holds a JSON object or array becomes that.
pub(super) fn unwrap_container(value: Json<'_>) -> Json<'_> {
    unwrap(value, &['{', '['])
}

fn unwrap<'a>(value: Json<'a>, begins: &[char]) -> Json<'a> {
    match value {
        Json::String(text) if text.trim_start().starts_with(begins) => {
            Json::parse_text(text).unwrap_or_else(Json::String)
        }
        other => other,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{
        Prompt,
        fields::{About, Holds, Name},
    };

    fn record(json: &str) -> Record<'_> {
        outcome(json).unwrap_or_else(|reason| panic!("{json}: {reason}"))
    }

    fn outcome(json: &str) -> Result<Record<'_>, String> {
        read(Json::parse(json.as_bytes()).unwrap(), &Mapping::default(), json.as_bytes())
    }

    /// A field of a record, as text.
    fn shown(record: &Record<'_>, field: Field) -> Option<String> {
        let text = |text: &Option<Cow<'_, str>>| text.as_deref().map(str::to_owned);
        let json = |json: &Option<Json<'_>>| json.as_ref().map(Json::to_compact_string);
        let number = |number: Option<f64>| number.map(|number| number.to_string());
        match field {
            Field::Kind => Some(record.kind.as_str().to_owned()),
            Field::Id => text(&record.id),
            Field::Timestamp => record.timestamp_ms.map(|ms| ms.to_string()),
            Field::SessionId => text(&record.session_id),
            Field::Model => text(&record.model),
            Field::Provider => text(&record.provider),
            Field::System => text(&record.system),
            Field::Prompt => {
                record.prompt.texts().map(|(_, text)| text.to_owned()).reduce(|all, text| all + "|" + &text)
            }
            Field::Context => {
                record.context.iter().map(|passage| passage.text.to_string()).reduce(|all, text| all + "|" + &text)
            }
            Field::Response => text(&record.response),
            Field::LatencyMs => number(record.latency_ms),
            Field::TtftMs => number(record.ttft_ms),
            Field::PromptTokens => record.prompt_tokens.map(|count| count.to_string()),
            Field::ResponseTokens => record.response_tokens.map(|count| count.to_string()),
            Field::FinishReason => text(&record.finish_reason),
            Field::Error => text(&record.error),
            Field::Rules => json(&record.rules),
            Field::ExpectedSchema => json(&record.expected_schema),
            // The model that answered takes the name; the other one is what was asked for.
            Field::DeclaredModel => text(&record.declared_model).or(text(&record.model)),
            Field::ServedModel => text(&record.model),
            Field::Tools => json(&record.tools),
            Field::ToolCalls => record.tool_calls.first().map(|call| call.name.to_string()),
            Field::Tool => text(&record.tool),
            Field::Args => json(&record.args),
            Field::Result => json(&record.result),
            Field::ExecutionTimeMs => number(record.execution_time_ms),
            Field::Label => text(&record.label),
            Field::WasHallucination => record.feedback.map(|feedback| feedback.was_hallucination.to_string()),
            Field::Confidence => number(record.feedback.and_then(|feedback| feedback.confidence)),
        }
    }

    #[track_caller]
    fn check(json: &str, field: Field, expected: Option<&str>) {
        assert_eq!(shown(&record(json), field).as_deref(), expected, "{json}");
    }

    /// A value for a field, and how [`shown`] shows it.
    fn example(about: &About, unit: Option<Unit>) -> (&'static str, &'static str) {
        match (about.holds, unit) {
            _ if about.field == Field::ToolCalls => ("[{\"name\":\"text\"}]", "text"),
            (Holds::Kind, _) => ("\"llm\"", "llm"),
            (Holds::Timestamp, Some(_)) => ("1741569952000", "1741569952000"),
            (Holds::Timestamp, None) => ("\"2025-03-10T01:25:52Z\"", "1741569952000"),
            (Holds::DurationMs, Some(Unit::S)) => ("1.5", "1500"),
            (Holds::DurationMs, Some(Unit::Us)) => ("1500", "1.5"),
            (Holds::DurationMs, Some(Unit::Ns)) => ("1500000", "1.5"),
            (Holds::DurationMs, _) => ("1.5", "1.5"),
            (Holds::Count, _) => ("39", "39"),
            (Holds::Rules, _) => ("[{\"a\":1}]", "[{\"a\":1}]"),
            (Holds::Schema | Holds::Any, _) => ("{\"a\":1}", "{\"a\":1}"),
            (Holds::Flag, _) => ("true", "true"),
            (Holds::Fraction, _) => ("0.75", "0.75"),
            _ => ("\"text\"", "text"),
        }
    }

    fn camel(name: &str) -> String {
        let mut words = name.split('_');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |all, word| all + &word[..1].to_uppercase() + &word[1..])
    }

    #[test]
    fn every_name_of_every_field_is_read_in_every_spelling() {
        for about in &FIELDS {
            let is_tool_field = (Field::Tool..=Field::ExecutionTimeMs).contains(&about.field);
            if !is_tool_field {
                check_names(about, Kind::Llm, about.names);
                check_names(about, Kind::Llm, about.llm_names);
            }
            check_names(about, Kind::Tool, about.names);
            check_names(about, Kind::Tool, about.tool_names);
        }
    }

    fn check_names(about: &About, kind: Kind, names: &[Name]) {
        let rest = match (about.field, kind) {
            (Field::Kind, _) => r#""error":"e""#,
            (Field::Error, Kind::Llm) => r#""kind":"llm","latency_ms":1"#,
            (Field::Error, _) => r#""kind":"tool","tool":"t","args":{}"#,
            (Field::Tool, _) => r#""kind":"tool","error":"e""#,
            (Field::WasHallucination, _) => r#""tool":"t""#,
            (Field::Confidence, _) => r#""tool":"t","was_hallucination":true"#,
            (_, Kind::Llm) => r#""kind":"llm","error":"e""#,
            _ => r#""kind":"tool","tool":"t","error":"e""#,
        };
        for name in names {
            let (value, expected) = example(about, name.unit);
            let spellings =
                [name.text.to_owned(), camel(name.text), name.text.replace('_', "-"), name.text.to_uppercase()];
            for spelling in spellings {
                let json = format!("{{{rest},\"{spelling}\":{value}}}");
                match (about.field, kind) {
                    (Field::Response, Kind::Tool) if name.text == "response" => {
                        check(&json, Field::Result, Some(value))
                    }
                    (Field::LatencyMs, Kind::Tool) => check(&json, Field::ExecutionTimeMs, Some(expected)),
                    _ => check(&json, about.field, Some(expected)),
                }
            }
        }
    }

    #[test]
    fn the_first_name_in_the_table_that_is_not_null_is_taken() {
        check(r#"{"latency":2,"latencyMs":1,"latency_s":3}"#, Field::LatencyMs, Some("1"));
        check(r#"{"latency":2,"latency_ms":null}"#, Field::LatencyMs, Some("2"));
        check(r#"{"answer":"b","output":"c","response":null}"#, Field::Response, Some("b"));
        check(r#"{"input":"a","prompt":"b","error":"e"}"#, Field::Prompt, Some("b"));
        check(r#"{"trace_id":"a","session_id":"b","prompt":"p"}"#, Field::SessionId, Some("b"));
    }

    #[test]
    fn the_kind_is_stated_or_follows_from_the_fields() {
        check(r#"{"prompt":"p"}"#, Field::Kind, Some("llm"));
        check(r#"{"tool":"t","args":{}}"#, Field::Kind, Some("tool"));
        check(r#"{"tool":null,"prompt":"p"}"#, Field::Kind, Some("llm"));
        check(r#"{"name":"t","arguments":{},"output":"o"}"#, Field::Kind, Some("tool"));
        check(r#"{"name":"t","result":null}"#, Field::Kind, Some("tool"));
        check(r#"{"name":"Mira","prompt":"p","result":"r"}"#, Field::Kind, Some("llm"));
        check(r#"{"name":"Mira","input":"p","output":"r"}"#, Field::Kind, Some("llm"));
        check(r#"{"type":"tool_call","name":"t","input":{"a":1},"output":"o"}"#, Field::Args, Some("{\"a\":1}"));
        check(r#"{"type":"message","prompt":"p"}"#, Field::Kind, Some("llm"));
        check(r#"{"kind":"chat.completion","prompt":"p"}"#, Field::Kind, Some("llm"));
        check(r#"{"tool":"t","was_hallucination":false}"#, Field::Kind, Some("feedback"));
        check(
            r#"{"kind":"feedback","tool":"t","was_hallucination":1,"confidence":0.9}"#,
            Field::Confidence,
            Some("0.9"),
        );
        let odd = record(r#"{"kind":"span","prompt":"p"}"#);
        assert_eq!((odd.kind, odd.problems[0].reason.as_str()), (Kind::Llm, "is not llm, tool or feedback"));
    }

    #[test]
    fn what_has_nothing_to_audit_is_rejected() {
        let check = |json: &str, expected: &str| assert_eq!(outcome(json).unwrap_err(), expected, "{json}");
        check("{}", "no known field; map yours with --map");
        check(r#"{"foo":1,"bar":{"prompt":"p"}}"#, "no known field; map yours with --map");
        check(r#"{"prompt":null}"#, "no known field; map yours with --map");
        let none = "none of `prompt`, `response`, `error`, `latency_ms`, `ttft_ms`, `prompt_tokens`, `response_tokens`; map yours with --map";
        check(r#"{"id":"a","model":"m"}"#, none);
        check(r#"{"id":"a","usage":{"cost":1}}"#, none);
        check(r#"{"kind":"tool","args":{}}"#, "a tool call without `tool`; map yours with --map");
        check(
            r#"{"tool":"t"}"#,
            "a tool and none of `args`, `result`, `execution_time_ms`, `error`; map yours with --map",
        );
        check(r#"{"kind":"feedback","tool":"t"}"#, "feedback without `was_hallucination`; map yours with --map");
        check(r#"{"was_hallucination":true}"#, "feedback without `tool`, `model`; map yours with --map");
        check(
            r#"{"tool":"t","was_hallucination":"maybe"}"#,
            "`was_hallucination` is a string where true or false belongs",
        );
        assert!(outcome(r#"{"tool":"t","result":null}"#).is_ok());
        assert!(outcome(r#"{"usage":{"input_tokens":1}}"#).is_ok());
    }

    #[test]
    fn what_cannot_be_used_is_a_problem_of_its_field() {
        let check = |json: &str, field: Field, reason: &str| {
            let record = record(json);
            assert_eq!(shown(&record, field), None, "{json}");
            let expected = Problem { field: field.name().to_owned(), reason: reason.to_owned() };
            assert_eq!(record.problems, [expected], "{json}");
        };
        check(r#"{"prompt":"p","latency_ms":-5}"#, Field::LatencyMs, "is negative");
        check(r#"{"latency_ms":-5}"#, Field::LatencyMs, "is negative");
        check(r#"{"prompt":"p","latency_ms":"fast"}"#, Field::LatencyMs, "is text and not a number");
        check(r#"{"prompt":"p","ttft_ms":[1]}"#, Field::TtftMs, "is an array where a number belongs");
        check(r#"{"prompt":"p","response_tokens":1.5}"#, Field::ResponseTokens, "is not a whole number");
        check(r#"{"prompt":"p","usage":{"prompt_tokens":-1}}"#, Field::PromptTokens, "is negative");
        check(r#"{"prompt":"p","timestamp":"soon"}"#, Field::Timestamp, "is not a date and time that can be read");
        check(r#"{"prompt":"p","model":{}}"#, Field::Model, "is an object where text belongs");
        check(r#"{"prompt":"p","response":7}"#, Field::Response, "is a number where text belongs");
        check(
            r#"{"prompt":true,"response":"r"}"#,
            Field::Prompt,
            "is a boolean where text or a list of messages belongs",
        );
        check(r#"{"prompt":"p","context":3}"#, Field::Context, "is a number where text or a list of documents belongs");
        check(
            r#"{"prompt":"p","expected_schema":[]}"#,
            Field::ExpectedSchema,
            "is an array where a JSON Schema belongs",
        );
        check(
            r#"{"tool":7,"execution_time_ms":-1,"args":{},"tool_name":"x"}"#.replace("7", "null").as_str(),
            Field::ExecutionTimeMs,
            "is negative",
        );
        check(r#"{"tool":"t","was_hallucination":true,"confidence":7}"#, Field::Confidence, "is not between 0 and 1");
    }

    #[test]
    fn a_beginning_and_an_end_give_the_latency_that_is_not_told() {
        let check = |json: &str, expected: Option<f64>| {
            let record = record(json);
            assert_eq!(record.latency_ms.or(record.execution_time_ms), expected, "{json}");
        };
        check(
            r#"{"prompt":"p","start_time":"2026-01-05T10:00:00.250Z","end_time":"2026-01-05T10:00:01.5Z"}"#,
            Some(1250.0),
        );
        check(r#"{"prompt":"p","startedAt":1767607200.5,"finishedAt":1767607201}"#, Some(500.0));
        check(r#"{"tool":"t","args":{},"start_time":1000,"end_time":1002}"#, Some(2000.0));
        check(r#"{"prompt":"p","start_time":1000,"end_time":1002,"latency_ms":7}"#, Some(7.0));
        check(r#"{"prompt":"p","start_time":1002,"end_time":1000}"#, None);
        check(r#"{"prompt":"p","created":1000,"end_time":1002}"#, None);
    }

    #[test]
    fn ids_keep_all_digits() {
        check(
            r#"{"id":123456789012345678901234567890,"prompt":"p"}"#,
            Field::Id,
            Some("123456789012345678901234567890"),
        );
        check(r#"{"prompt":"p","sessionId":-99999999999999999999}"#, Field::SessionId, Some("-99999999999999999999"));
        check(r#"{"id":9007199254740993,"prompt":"p"}"#, Field::Id, Some("9007199254740993"));
        let lost = record(r#"{"id":1e20,"prompt":"p"}"#);
        assert_eq!((lost.id, lost.problems.len()), (None, 1));
    }

    #[test]
    fn prompts_in_every_shape() {
        let check = |prompt: &str, expected: &[(&str, &str)]| {
            let json = format!("{{\"prompt\":{prompt},\"response\":\"r\"}}");
            let Prompt::Messages(messages) = record(&json).prompt else { panic!("{prompt}") };
            let messages: Vec<(&str, &str)> =
                messages.iter().map(|message| (message.role.as_ref(), message.text.as_ref())).collect();
            assert_eq!(messages, expected, "{prompt}");
        };
        check(
            r#"[{"role":"user","content":"a"},{"role":"assistant","content":null},{"role":"tool","content":"c"}]"#,
            &[("user", "a"), ("assistant", ""), ("tool", "c")],
        );
        check(
            r#"[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"x"}},{"type":"input_text","text":"b"}]}]"#,
            &[("user", "a\nb")],
        );
        check(r#"["a","b"]"#, &[("user", "a"), ("user", "b")]);
        check(r#"{"messages":[{"role":"user","content":"a"}]}"#, &[("user", "a")]);
        check(r#"{"role":"user","content":"a"}"#, &[("user", "a")]);
        check(r#""[{\"role\":\"user\",\"content\":\"a\"}]""#, &[("user", "a")]);
        let texts = [
            (r#""a""#, "a"),
            (r#"{"question":"q"}"#, r#"{"question":"q"}"#),
            (r#"[{"type":"text","text":"a"}]"#, "a"),
            (r#""{\"role\": 1}""#, r#"{"role": 1}"#),
            (r#"[[1]]"#, "[[1]]"),
        ];
        for (prompt, expected) in texts {
            let json = format!("{{\"prompt\":{prompt}}}");
            assert_eq!(record(&json).prompt, Prompt::Text(expected.into()), "{prompt}");
        }
        assert!(record(r#"{"prompt":[],"response":"r"}"#).prompt.is_absent());
    }

    #[test]
    fn system_messages_go_to_the_system_prompt() {
        let json = r#"{"system":"s","prompt":[{"role":"system","content":"a"},{"role":"user","content":"u"},{"role":"developer","content":"b"}]}"#;
        check(json, Field::System, Some("s\na\nb"));
        check(json, Field::Prompt, Some("u"));
    }

    #[test]
    fn contexts_in_every_shape() {
        let check = |context: &str, expected: &[(Option<&str>, &str)]| {
            let json = format!("{{\"prompt\":\"p\",\"context\":{context}}}");
            let record = record(&json);
            let passages: Vec<(Option<&str>, &str)> =
                record.context.iter().map(|passage| (passage.id.as_deref(), passage.text.as_ref())).collect();
            assert_eq!(passages, expected, "{context}");
        };
        check(r#""a""#, &[(None, "a")]);
        check(r#"["a","",null,"b"]"#, &[(None, "a"), (None, "b")]);
        check(
            r#"[{"id":7,"text":"a"},{"doc_id":"d","page_content":"b"},{"content":"c"}]"#,
            &[(Some("7"), "a"), (Some("d"), "b"), (None, "c")],
        );
        check(r#"{"id":"x","text":"a"}"#, &[(Some("x"), "a")]);
        check(r#"{"name":"Finch","stars":4.5}"#, &[(None, r#"{"name":"Finch","stars":4.5}"#)]);
        check(r#"[3,["a"]]"#, &[(None, "3"), (None, r#"["a"]"#)]);
        check("[]", &[]);
    }

    #[test]
    fn responses_in_every_shape() {
        let check = |response: &str, expected: &str| {
            check(&format!("{{\"prompt\":\"p\",\"response\":{response}}}"), Field::Response, Some(expected));
        };
        check(r#""""#, "");
        check(r#"{"b":1, "a": [1, 2.50]}"#, r#"{"b":1,"a":[1,2.5]}"#);
        check(r#"[1, "x"]"#, r#"[1,"x"]"#);
        check(r#"{"role":"assistant","content":"a"}"#, "a");
        check(r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, "a\nb");
        check(r#"[{"type":"text","text":"a"}]"#, "a");
        check(r#"{"title":"t","content":"c"}"#, r#"{"title":"t","content":"c"}"#);
        check(r#""{\"choices\": 3}""#, r#"{"choices": 3}"#);
        check(r#"{"error":{"message":"m"}}"#, r#"{"error":{"message":"m"}}"#);
    }

    #[test]
    fn tool_calls_in_every_shape() {
        check(r#"{"tool":"t","args":"{\"a\": 1}"}"#, Field::Args, Some(r#"{"a":1}"#));
        check(r#"{"tool":"t","args":"{\"a\": "}"#, Field::Args, Some(r#""{\"a\": ""#));
        check(r#"{"tool":"t","args":"[1]"}"#, Field::Args, Some(r#""[1]""#));
        check(r#"{"tool":"t","args":"{\"a\": \"{}\"}"}"#, Field::Args, Some(r#"{"a":"{}"}"#));
        check(r#"{"tool":"t","result":"[1, 2]"}"#, Field::Result, Some("[1,2]"));
        check(r#"{"tool":"t","result":" {\"a\":1} "}"#, Field::Result, Some(r#"{"a":1}"#));
        check(r#"{"tool":"t","result":"3"}"#, Field::Result, Some(r#""3""#));
        check(r#"{"tool":"t","result":null}"#, Field::Result, Some("null"));
        check(r#"{"tool":"t","output":null,"args":{}}"#, Field::Result, None);
        check(r#"{"tool":"t","result":null,"output":"o"}"#, Field::Result, Some("\"o\""));
        check(r#"{"tool":"t","result":{"a":1},"response":"r"}"#, Field::Response, Some("r"));
        check(r#"{"tool":"t","args":{},"response":{"a":1}}"#, Field::Result, Some(r#"{"a":1}"#));
        check(r#"{"tool":"t","args":{},"response":{"a":1}}"#, Field::Response, None);
        check(
            r#"{"tool":"t","latency_ms":5}"#.replace("5", "5,\"args\":{}").as_str(),
            Field::ExecutionTimeMs,
            Some("5"),
        );
        let both = r#"{"tool":"t","execution_time_ms":1,"latency_ms":5}"#;
        check(both, Field::ExecutionTimeMs, Some("1"));
        check(both, Field::LatencyMs, Some("5"));
        let call = r#"{"type":"function","function":{"name":"f","arguments":"{\"x\":2}"},"id":"call_1"}"#;
        check(call, Field::Tool, Some("f"));
        check(call, Field::Args, Some(r#"{"x":2}"#));
    }

    #[test]
    fn errors_in_every_shape() {
        let check = |error: &str, expected: Option<&str>| {
            check(&format!("{{\"prompt\":\"p\",\"error\":{error}}}"), Field::Error, expected);
        };
        check(r#""boom""#, Some("boom"));
        check(r#"{"message":"m","type":"t"}"#, Some("m"));
        check(r#"{"code":7}"#, Some(r#"{"code":7}"#));
        check("true", Some("true"));
        check("500", Some("500"));
        for nothing in ["null", "false", "0", "\"\"", "{}", "[]"] {
            check(nothing, None);
        }
    }

    #[test]
    fn a_mapped_field_wins_and_a_missing_pointer_leaves_the_names() {
        let specs = [
            "model=/meta/model",
            "latency_ms=/meta/latency_s:s",
            "prompt_tokens=/meta/input_tokens",
            "response=/text",
            "timestamp=/meta/t:ms",
        ];
        let mapping = Mapping::parse(&specs.map(str::to_owned)).unwrap();
        let read =
            |json: &str| read(Json::parse(json.as_bytes()).unwrap().into_owned(), &mapping, json.as_bytes()).unwrap();
        let mapped = read(
            r#"{"model":"named","latency_ms":1,"text":"t","response":null,"meta":{"model":"mapped","latency_s":1.6393,"input_tokens":7,"t":5}}"#,
        );
        assert_eq!(shown(&mapped, Field::Model).as_deref(), Some("mapped"));
        assert_eq!(shown(&mapped, Field::Response).as_deref(), Some("t"));
        assert_eq!((mapped.latency_ms, mapped.prompt_tokens, mapped.timestamp_ms), (Some(1639.3), Some(7), Some(5)));
        let named = read(r#"{"model":"named","latency_ms":1,"text":null,"response":"r","meta":{"latency_s":null}}"#);
        assert_eq!(shown(&named, Field::Model).as_deref(), Some("named"));
        assert_eq!((named.latency_ms, named.response.as_deref()), (Some(1.0), Some("r")));
        let unusable = read(r#"{"latency_ms":1,"meta":{"latency_s":-1}}"#);
        assert_eq!((unusable.latency_ms, unusable.problems.len()), (None, 1));
    }
}
