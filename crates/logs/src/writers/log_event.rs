//! Log records of OpenTelemetry, whoever carries them: the whole of a call, one message of it, or what a coding client
//! did.
//!
//! | name | what it is |
//! |---|---|
//! | `gen_ai.client.inference.operation.details` | a call, in attributes of the conventions from 1.37 on |
//! | `gen_ai.{system,user,assistant,tool}.message`, `gen_ai.choice` | one message of the call that is its span |
//! | `gen_ai.prompt` (Semantic Kernel) | the prompt of such a call |
//! | `gemini_cli.*`, `claude_code.*`, `codex.*` and those of their forks | parts of calls: [`clients`](super::clients) |
//!
//! Anything else holds no call.

use std::borrow::Cow;

use super::{
    attributes::Attributes,
    clients,
    span::{self, Span, genai},
};
use crate::record::{
    Container, Dialect, Entry, Note,
    body::Conversation,
    call::{Call, Outcome, name_at, skipped},
    json::Json,
    values,
};

/// A log record.
#[derive(Debug, Default)]
pub(super) struct LogEvent<'a> {
    pub trace_id: Option<Cow<'a, str>>,
    pub span_id: Option<Cow<'a, str>>,
    /// The name of the event, where the record has one beside its attributes.
    pub name: Option<Cow<'a, str>>,
    pub time: Option<Json<'a>>,
    pub attributes: Attributes<'a>,
    pub body: Json<'a>,
}

impl<'a> LogEvent<'a> {
    /// The name of the event, wherever it stands.
    fn named(&self) -> Cow<'a, str> {
        let told = match self.attributes.get("event.name") {
            Some(Json::String(name)) => Some(name.clone()),
            _ => None,
        };
        let is_said = |name: &Cow<'_, str>| !name.is_empty();
        let told = self.name.clone().filter(is_said).or(told).or_else(|| name_at(&self.body, &["event.name"]));
        let body = self.body.as_str().filter(|body| body.len() <= 64 && !body.contains(char::is_whitespace));
        // Claude Code names the event without itself, and says both in the body.
        match (told, body) {
            (Some(name), Some(body)) if body.len() > name.len() && body.ends_with(&*name) => body.to_owned().into(),
            (Some(name), _) => name,
            (None, body) => body.unwrap_or_default().to_owned().into(),
        }
    }
}

/// Reads a log record.
pub(super) fn read(event: LogEvent<'_>, container: Container) -> Outcome<'_> {
    let name = event.named();
    if let Some(outcome) = clients::read(&name, &event, container) {
        return Ok(outcome.into_entry(event, container));
    }
    if name == genai::DETAILS {
        return Ok(details(event, container));
    }
    if genai::kind_of_event(&name).is_some() || name == PROMPT {
        return Ok(message(&name, event, container));
    }
    Ok(skipped(container, "a log record without a call"))
}

/// The prompt of a text completion, in a body that is nothing but it.
const PROMPT: &str = "gen_ai.prompt";

/// The whole of a call. It tells of the span in which it was written.
fn details(event: LogEvent<'_>, container: Container) -> Entry<'_> {
    let LogEvent { trace_id, span_id, time, attributes, body, .. } = event;
    let attributes = with_body(attributes, body);
    let mut entry = span::read(Span { trace_id, id: span_id, start: time, attributes, ..Span::default() }, container);
    if let Entry::Record(record) = &mut entry {
        match &mut record.span {
            Some(span) => span.is_event = true,
            None => record.notes.add(Note::HalfMissing),
        }
    }
    entry
}

/// One message of a call, in an event of its own: a part of the call that is the event's span.
fn message<'a>(name: &str, event: LogEvent<'a>, container: Container) -> Entry<'a> {
    let mut call = Call::llm(container);
    call.record.timestamp_ms = event.time.and_then(|time| values::moment_ms(&time));
    match genai::kind_of_event(name) {
        Some(kind) => match genai::message_in(event.body, kind) {
            Some(choice) if kind == "choice" => genai::answer_choices(vec![choice], &mut call),
            Some(message) => call.asked(Conversation::of_messages(vec![message])),
            None => {}
        },
        None => call.ask(Some(event.body)),
    }
    call.record.format.dialect = Some(Dialect::GenAi136);
    let is_part = event.trace_id.is_some() && event.span_id.is_some();
    if is_part {
        call.span(event.trace_id, event.span_id, None);
    } else {
        call.record.notes.add(Note::HalfMissing);
    }
    let mut record = call.record();
    if let Some(span) = &mut record.span {
        span.is_event = true;
    }
    Entry::Record(record)
}

/// Attributes, and those that older writers put in the body.
fn with_body<'a>(attributes: Attributes<'a>, body: Json<'a>) -> Attributes<'a> {
    match (attributes.into_object(), body) {
        (Json::Object(mut entries), Json::Object(body)) => {
            entries.extend(body);
            Attributes::of_object(Json::Object(entries))
        }
        (object, _) => Attributes::of_object(object),
    }
}
