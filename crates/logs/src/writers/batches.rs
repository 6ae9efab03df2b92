//! Lines of batch files, of OpenAI and of Anthropic: requests and answers, joined by their `custom_id`, in either order and
//! across the files of a run.
//!
//! - OpenAI: `{custom_id, method, url, body}` asked, `{custom_id, response | error}` answered
//! - Anthropic: `{custom_id, params}` asked, `{custom_id, result}` answered
//!
//! Each line is read as a record of its own, with the id for its id. Where an id comes more than once, requests and answers
//! are paired in their order. An answer without a request is a record alone, and a request without an answer too; both are
//! noted.
//!
//! **Limits**: a batch has no times (it may take a day), so that nothing is known of latency.

use crate::{
    assemble::{Fate, Joined, Joiner, Load, Step, waiting::Waiting},
    hash,
    record::{
        Container, Content, Dialect, Entry, Fragment, Record,
        body::{FIRST_ERROR_STATUS, error_of, message::take_name, message::take_text},
        call::{Call, Entries, Outcome, skipped},
        json::Json,
        values,
    },
};

use super::{Writer, has_any};

const OPENAI_LINES: Container = Container::named("openai_batch");
const ANTHROPIC_LINES: Container = Container::named("anthropic_batch");

/// OpenAI batch files.
pub(super) const OPENAI: Writer = Writer {
    container: OPENAI_LINES,
    about: "batch lines, asked and answered",
    told_by: "`custom_id` with `body`, `response` or `error`",
    marks: &["custom_id"],
    matches: |value| has_any(value, &["response", "error", "body"]),
    read: |value, entries| push(openai(value), entries),
    joiner: Some(|_| Box::new(Batches::default())),
};

/// Anthropic batch files.
pub(super) const ANTHROPIC: Writer = Writer {
    container: ANTHROPIC_LINES,
    about: "batch lines, asked and answered",
    told_by: "`custom_id` with `params`, or with a `result` that has a type",
    marks: &["custom_id"],
    matches: |value| {
        value.get("params").is_some() || value.get("result").is_some_and(|result| result.get("type").is_some())
    },
    read: |value, entries| push(anthropic(value), entries),
    joiner: Some(|_| Box::new(Batches::default())),
};

/// A record is half of a call until the other half comes.
fn push<'a>(outcome: Outcome<'a>, entries: &mut Entries<'a>) {
    entries.push(outcome.map(|entry| match entry {
        Entry::Record(record) => {
            let (joiner, format) = (record.format.container, record.format);
            Entry::Fragment(Fragment { joiner, format, content: Content::Record(Box::new(record)) })
        }
        other => other,
    }));
}

/// A line of an OpenAI batch file, of what was asked or of what was answered.
fn openai(mut value: Json<'_>) -> Outcome<'_> {
    let mut call = Call::llm(OPENAI_LINES);
    call.record.id = take_name(&mut value, "custom_id");
    if let Some(request) = value.take("body") {
        if value.get("url").and_then(Json::as_str).is_some_and(|url| url.ends_with("/embeddings")) {
            return Ok(skipped(OPENAI_LINES, "an embedding"));
        }
        call.ask(Some(request));
        return Ok(call.finish());
    }
    let error = value.take("error").and_then(error_of);
    if let Some(mut response) = value.take("response") {
        let status = response.get("status_code").and_then(|status| values::count(status).ok());
        let body = response.take("body");
        if body.as_ref().is_some_and(|body| body.get("object").and_then(Json::as_str) == Some("list")) {
            return Ok(skipped(OPENAI_LINES, "an embedding"));
        }
        call.answer(body);
        if status.is_some_and(|status| status >= FIRST_ERROR_STATUS) && call.record.error.is_none() {
            call.record.error = Some(format!("HTTP status {}", status.unwrap_or_default()).into());
            call.record.response = None;
        }
    }
    call.record.error = call.record.error.take().or(error);
    Ok(call.finish())
}

/// A line of an Anthropic batch, of what was asked or of what was answered.
fn anthropic(mut value: Json<'_>) -> Outcome<'_> {
    let mut call = Call::llm(ANTHROPIC_LINES);
    call.record.id = take_name(&mut value, "custom_id");
    if let Some(request) = value.take("params") {
        call.ask(Some(request));
        call.record.format.dialect = Some(Dialect::Anthropic);
        return Ok(call.finish());
    }
    let Some(mut result) = value.take("result") else {
        return Err("a line of a batch with neither params nor result".to_owned());
    };
    let kind = take_text(&mut result, "type");
    call.answer(result.take("message"));
    if call.record.response.is_none() && call.record.tool_calls.is_empty() {
        let error = result.take("error").and_then(|mut error| match error.take("error") {
            Some(inner) => error_of(inner),
            None => error_of(error),
        });
        call.record.error = error.or_else(|| kind.filter(|kind| kind != "succeeded"));
    }
    Ok(call.finish())
}

/// Lines that wait for the other halves of their calls, by id and by which half they are.
#[derive(Debug, Default)]
struct Batches {
    open: Waiting<Box<Record<'static>>>,
}

impl Joiner for Batches {
    fn push(&mut self, fragment: Fragment<'static>, step: &mut Step) -> Fate {
        let Content::Record(record) = fragment.content else { return Fate::Rejected("no line of a batch".to_owned()) };
        let is_answer = record.response.is_some() || !record.tool_calls.is_empty() || record.error.is_some();
        let Some(id) = record.id.as_deref().map(hash::name) else {
            step.records.push(Joined::record(step.place.clone(), *record).without_half());
            return Fate::Held;
        };
        let key = |is_answer: bool| hash::combine(id, u64::from(is_answer));
        let Some(other) = self.open.take_of(key(!is_answer)) else {
            self.open.begin(step, key(is_answer), record);
            return Fate::Held;
        };
        let whole = if is_answer { joined(*other.body, *record) } else { joined(*record, *other.body) };
        step.records.push(Joined::record(other.place, whole));
        Fate::Merged
    }

    fn load(&self) -> Load {
        self.open.load()
    }

    fn let_oldest_go(&mut self, step: &mut Step) {
        let oldest = self.open.take_oldest();
        step.records.extend(oldest.map(|open| Joined::record(open.place, *open.body).without_half()));
    }
}

/// Request and answer as one call.
fn joined(request: Record<'static>, answer: Record<'static>) -> Record<'static> {
    let mut record = answer;
    record.prompt = request.prompt;
    record.system = request.system;
    record.tools = request.tools;
    record.expected_schema = request.expected_schema;
    record.rules = request.rules;
    record.context.splice(0..0, request.context);
    record.notes.merge(request.notes);
    match &record.model {
        Some(_) => record.declared_model = request.model,
        None => record.model = request.model,
    }
    record
}
