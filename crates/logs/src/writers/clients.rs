//! What coding clients tell of their calls in log records: Gemini CLI and its forks, Claude Code, Codex.
//!
//! No event has the whole of a call, so that those of a session are put together in the order in which they come:
//!
//! | | asked | answered | failed | a tool |
//! |---|---|---|---|---|
//! | Gemini CLI | `api_request` | `api_response` | `api_error` | `tool_call` |
//! | Claude Code | `api_request_body` | `api_response_body`, `api_request` | `api_error` | `tool_result` |
//! | Codex | `api_request` | `sse_event` with token counts | `sse_event` or `api_request` with an error | `tool_result` |
//!
//! A prompt of the user (`user_prompt`) is that of the next call of its session, where that has none of its own. Gemini
//! CLI tells each request and each answer twice, in an event of its own and in one of the GenAI conventions: the two have
//! one moment. Its spans of tools are those of its events of the same tool at the same time.
//!
//! **Source**: `telemetry/types.ts` of Gemini CLI 0.1 to 0.61, `codex-rs/otel`, the monitoring page of Claude Code.
//!
//! **Limits**: an answer belongs to the oldest request of its session that has the same model and prompt. The duration
//! that Codex gives for a request ends with the headers; the call ends with its last event.

use std::{borrow::Cow, mem};

use super::{attributes::Attributes, log_event::LogEvent, span};
use crate::{
    assemble::{Fate, Joined, Joiner, Limits, Load, Step, waiting::Waiting},
    hash,
    record::{
        Container, Content, Entry, Format, Fragment, Kind, Prompt, Record,
        body::{self, message::take_text},
        call::{Call, count, decoded, is_said, skipped},
        json::Json,
        values::{self, Unit},
    },
};

/// Calls of a session that are held.
const CALLS_MAX: usize = 256;

/// What an event is to its session.
pub(super) enum Told {
    /// A part of a call.
    Part(&'static str),
    /// Nothing of a call.
    Notice,
}

/// What the events of clients are called, behind the name of the client.
const PARTS: [&str; 10] = [
    "user_prompt",
    "api_request",
    "api_response",
    "api_error",
    "tool_call",
    "tool_result",
    "sse_event",
    "api_request_body",
    "api_response_body",
    "websocket_event",
];

/// What an event is to the session of a client; `None` for one of somebody else.
pub(super) fn read(name: &str, event: &LogEvent<'_>, _container: Container) -> Option<Told> {
    if name == span::genai::DETAILS {
        // Gemini CLI repeats its own events; whoever else writes these stands in a span.
        let is_client =
            event.attributes.get("event.timestamp").is_some() && event.attributes.get("session.id").is_some();
        return is_client.then_some(Told::Part("details"));
    }
    let (client, what) = name.split_once('.')?;
    let is_client = matches!(client, "gemini_cli" | "claude_code" | "codex")
        || (event.attributes.get("session.id").is_some() && PARTS.contains(&what));
    let part = PARTS.into_iter().find(|part| *part == what);
    is_client.then(|| part.map_or(Told::Notice, Told::Part))
}

impl Told {
    /// The entry of the event.
    pub fn into_entry<'a>(self, event: LogEvent<'a>, container: Container) -> Entry<'a> {
        let Told::Part(part) = self else { return skipped(container, "a notice of a client") };
        let text = |text: Option<Cow<'a, str>>| text.map_or(Json::Null, Json::String);
        let name = event.name.or_else(|| event.body.as_str().map(|body| body.to_owned().into()));
        let mut entries: Vec<(Cow<'a, str>, Json<'a>)> = vec![
            ("part".into(), Json::String(part.into())),
            ("trace_id".into(), text(event.trace_id)),
            ("span_id".into(), text(event.span_id)),
            ("name".into(), text(name)),
        ];
        entries.extend(event.time.map(|time| ("time".into(), time)));
        entries.push(("attributes".into(), event.attributes.into_object()));
        let format = Format::of(container);
        Entry::Fragment(Fragment { joiner: JOINER, format, content: Content::Value(Json::Object(entries)) })
    }
}

/// The writer whose joiner puts the events together.
const JOINER: Container = super::otlp::CONTAINER;

/// A span of a tool of Gemini CLI, which has an event of its own.
pub(super) fn tool_span<'a>(mut record: Record<'a>) -> Entry<'a> {
    let format = record.format;
    // The name of the tool stands before the id that conversations have.
    if let Some((tool, id)) = record.tool.as_deref().zip(record.call_id.as_deref())
        && let Some(id) = id.strip_prefix(tool).and_then(|id| id.strip_prefix("__"))
    {
        record.call_id = Some(id.to_owned().into());
    }
    Entry::Fragment(Fragment { joiner: JOINER, format, content: Content::Record(Box::new(record)) })
}

/// Makes what puts the events together.
pub(super) fn joiner(_: &Limits) -> Box<dyn Joiner> {
    Box::<Sessions>::default()
}

/// The sessions of which calls are held.
#[derive(Debug, Default)]
struct Sessions {
    open: Waiting<Session>,
    calls: usize,
}

/// What is known of a session.
#[derive(Debug, Default)]
struct Session {
    calls: Vec<Open>,
    prompt: Option<Cow<'static, str>>,
}

/// A call, as far as it is told.
#[derive(Debug)]
struct Open {
    joined: Joined,
    is_answered: bool,
    /// Which prompt of the session it is part of.
    prompt_id: Option<Cow<'static, str>>,
    /// The moments of the events that tell it.
    moments: Vec<Cow<'static, str>>,
}

impl Open {
    fn record(&mut self) -> Option<&mut Record<'static>> {
        self.joined.record_mut()
    }
}

/// An event, taken apart.
struct Event {
    part: Cow<'static, str>,
    moment: Option<Cow<'static, str>>,
    prompt_id: Option<Cow<'static, str>>,
    record: Record<'static>,
    prompt: Option<Cow<'static, str>>,
    /// When it was written, in milliseconds.
    time_ms: Option<i64>,
}

impl Event {
    fn of(mut value: Json<'static>, format: Format) -> Event {
        let part = take_text(&mut value, "part").unwrap_or_default();
        let of = value.take("attributes").unwrap_or_default();
        let mut of = Attributes::of_object(of);
        let moment = of.name(&["event.timestamp"]);
        let stamp = moment.clone().map(Json::String);
        let time = value.take("time").filter(|_| stamp.is_none()).or(stamp);
        let time_ms = time.as_ref().and_then(values::moment_ms);
        let prompt_id = of.name(&["prompt_id", "prompt.id"]);
        let session = of.name(&["session.id", "conversation.id"]);
        let prompt = of.name(&["prompt"]).filter(|_| part == "user_prompt");
        let is_tool = matches!(&*part, "tool_call" | "tool_result");
        let mut call = Call::of(if is_tool { Kind::Tool } else { Kind::Llm }, format.container);
        call.record.format = format;
        call.record.session_id = session;
        call.record.timestamp_ms = time_ms;
        match &*part {
            "details" => {
                let attributes = mem::take(&mut of);
                let span = span::Span { attributes, ..span::Span::default() };
                if let Entry::Record(record) = span::read(span, format.container) {
                    call.record = Record { session_id: call.record.session_id, timestamp_ms: time_ms, ..record };
                }
            }
            _ if is_tool => read_tool(&mut of, &mut call),
            _ => read_call(&mut of, &mut call),
        }
        // An event that says how long something took is written at its end.
        let took = call.record.latency_ms.or(call.record.execution_time_ms).unwrap_or(0.0);
        call.record.timestamp_ms = time_ms.map(|end| end.saturating_sub(took as i64));
        call.span(take_text(&mut value, "trace_id"), take_text(&mut value, "span_id"), None);
        let mut record = call.record();
        if let Some(span) = &mut record.span {
            span.is_event = true;
        }
        Event { part, moment, prompt_id, record, prompt, time_ms }
    }

    /// Whether the event tells what was answered, or that nothing was.
    fn is_answer(&self) -> bool {
        let record = &self.record;
        match &*self.part {
            "api_response" | "api_error" | "sse_event" | "websocket_event" | "api_response_body" => true,
            _ => {
                record.response.is_some()
                    || record.error.is_some()
                    || record.response_id.is_some()
                    || record.response_tokens.is_some()
            }
        }
    }
}

/// Seconds are what no client writes; all say `_ms`.
fn read_times<'a>(of: &Attributes<'a>, call: &mut Call<'a>) {
    call.reported_latency(of.get("duration_ms"), Unit::Ms);
    call.reported_ttft(of.get("ttft_ms"), Unit::Ms);
}

/// What failed, where something did.
fn read_error<'a>(of: &mut Attributes<'a>, call: &mut Call<'a>) {
    let status = of.take(&["status_code", "http.response.status_code", "http.status_code"]);
    let status = status.and_then(|status| values::count(&status).ok()).filter(|status| *status >= 400);
    let error = of.name(&["error", "error.message", "error_message", "error.type", "error_type"]);
    let has_failed = of.take(&["success"]).is_some_and(|success| matches!(values::flag(&success), Ok(false)));
    let error = error.filter(|error| !error.is_empty() && (has_failed || error != "none"));
    let told = status.map(|status| format!("HTTP status {status}").into());
    let told = error.or(told).or_else(|| has_failed.then(|| "the tool failed".into()));
    call.record.error = call.record.error.take().or(told);
}

fn read_call<'a>(of: &mut Attributes<'a>, call: &mut Call<'a>) {
    call.requested = of.name(&["model", "model_name", "gen_ai.request.model"]);
    read_times(of, call);
    call.ask(of.take(&["request_text"]).map(decoded));
    let body = of.take(&["body"]).map(decoded);
    if let Some(body @ Json::Object(_)) = body {
        match body::is_answer(&body) {
            true => call.answer(Some(body)),
            false => call.ask(Some(body)),
        }
    }
    if let Some(answer) = of.take(&["response_text"]) {
        call.answer(Some(decoded(answer)));
    }
    let mut usage = |keys: &[&str]| of.take(keys).and_then(|value| count(Some(&value)));
    // Claude Code counts what came from the cache beside the others.
    let (read, written) = (usage(&["cache_read_tokens"]), usage(&["cache_creation_tokens"]));
    let beside = read.unwrap_or(0) + written.unwrap_or(0);
    let cached = usage(&["cached_content_token_count", "cached_token_count"]).or(read);
    let thoughts = usage(&["thoughts_token_count"]);
    let reasoning = usage(&["reasoning_token_count"]);
    let (input, output) =
        (usage(&["input_token_count", "input_tokens"]), usage(&["output_token_count", "output_tokens"]));
    let record = &mut call.record;
    record.prompt_tokens = record.prompt_tokens.or(input.map(|count| count + beside));
    // Gemini counts thoughts beside the candidates.
    record.response_tokens = record.response_tokens.or(output.map(|count| count + thoughts.unwrap_or(0)));
    record.cached_tokens = record.cached_tokens.or(cached);
    record.reasoning_tokens = record.reasoning_tokens.or(reasoning).or(thoughts);
    let reasons = of.take(&["finish_reasons", "stop_reason"]).map(decoded);
    let reason = reasons.and_then(|reasons| match reasons {
        Json::Array(mut reasons) => reasons.pop().and_then(body::message::text_of),
        reason => body::message::text_of(reason),
    });
    record.finish_reason = record.finish_reason.take().or(reason);
    record.id = record.id.take().or_else(|| of.name(&["request_id"]));
    read_error(of, call);
}

fn read_tool<'a>(of: &mut Attributes<'a>, call: &mut Call<'a>) {
    call.record.tool = of.name(&["function_name", "tool_name"]);
    call.record.call_id = of.name(&["call_id", "tool_use_id"]);
    call.args(of.take(&["function_args", "tool_input", "arguments", "tool_parameters"]).map(decoded));
    call.result(of.take(&["output", "tool_output", "tool_result"]).filter(is_said));
    read_times(of, call);
    read_error(of, call);
}

impl Joiner for Sessions {
    fn push(&mut self, fragment: Fragment<'static>, step: &mut Step) -> Fate {
        let format = fragment.format;
        let event = match fragment.content {
            Content::Value(value) => Event::of(value, format),
            Content::Record(record) => {
                let (part, time_ms) = ("tool_span".into(), record.timestamp_ms);
                Event { part, moment: None, prompt_id: None, record: *record, prompt: None, time_ms }
            }
        };
        let key = hash::name(event.record.session_id.as_deref().unwrap_or_default());
        let number = match self.open.find(key) {
            Some(number) => {
                self.open.grow(number, step.bytes);
                number
            }
            None => self.open.begin(step, key, Session::default()),
        };
        let Some(session) = self.open.body(number) else { return Fate::Merged };
        let before = session.calls.len();
        let released = step.records.len();
        let fate = session.take(event, step);
        let is_empty = session.calls.is_empty() && session.prompt.is_none();
        let (after, is_full) = (session.calls.len(), session.calls.len() > CALLS_MAX);
        self.calls = (self.calls + after).saturating_sub(before);
        if is_empty {
            self.open.take(number);
        } else if step.records.len() > released {
            self.open.settle(number, step.bytes);
        }
        if is_full {
            self.let_go(number, step);
        }
        fate
    }

    fn load(&self) -> Load {
        Load { records: self.calls, ..self.open.load() }
    }

    fn let_oldest_go(&mut self, step: &mut Step) {
        if let Some(number) = self.open.load().oldest {
            self.let_go(number, step);
        }
    }
}

impl Sessions {
    fn let_go(&mut self, number: u64, step: &mut Step) {
        let Some(open) = self.open.take(number) else { return };
        self.calls -= open.body.calls.len();
        step.records.extend(open.body.calls.into_iter().map(|call| call.joined));
    }
}

impl Session {
    /// Takes an event.
    fn take(&mut self, event: Event, step: &mut Step) -> Fate {
        match &*event.part {
            "user_prompt" => {
                self.prompt = event.prompt.filter(|prompt| !prompt.is_empty() && !prompt.starts_with('<'));
                Fate::skipped(step.format, "a prompt of a session")
            }
            "tool_call" | "tool_result" | "tool_span" => self.take_tool(event, step),
            _ => self.take_call(event, step),
        }
    }

    fn take_call(&mut self, event: Event, step: &mut Step) -> Fate {
        let is_answer = event.is_answer();
        let is_notice = match &*event.part {
            // Of the events of a stream only the last has the counts.
            "sse_event" | "websocket_event" => event.record.response_tokens.is_none() && event.record.error.is_none(),
            _ => false,
        };
        if is_notice {
            return Fate::skipped(step.format, "a notice of a client");
        }
        // What has been answered goes when the session goes on.
        let is_twin = |call: &Open| event.moment.as_ref().is_some_and(|moment| call.moments.contains(moment));
        let twin = self.calls.iter().position(is_twin);
        let found = twin.or_else(|| if is_answer { self.asked(&event) } else { None });
        let Some(at) = found else {
            self.release(step);
            let mut record = event.record;
            match self.prompt.take() {
                Some(prompt) if record.prompt.is_absent() => record.prompt = Prompt::Text(prompt),
                _ => {}
            }
            let joined = Joined::record(step.place.clone(), record);
            let (prompt_id, moments) = (event.prompt_id, event.moment.into_iter().collect());
            self.calls.push(Open { joined, is_answered: is_answer, prompt_id, moments });
            return Fate::Held;
        };
        let call = &mut self.calls[at];
        call.is_answered |= is_answer;
        call.moments.extend(event.moment);
        call.prompt_id = call.prompt_id.take().or(event.prompt_id);
        if let Some(record) = call.record() {
            if matches!(&*event.part, "sse_event" | "websocket_event") {
                // The duration of a request of Codex ends with the headers.
                let took = event.time_ms.zip(record.timestamp_ms).map(|(end, begin)| (end - begin) as f64);
                record.latency_ms = took.filter(|took| *took >= 0.0).or(record.latency_ms);
            }
            let span = record.span.take();
            let begun = record.timestamp_ms;
            record.fill(event.record);
            record.span = span.or(record.span.take());
            record.timestamp_ms = begun.or(record.timestamp_ms);
        }
        Fate::Merged
    }

    /// The oldest call that waits for the answer that an event tells.
    fn asked(&self, event: &Event) -> Option<usize> {
        let is_one = |one: &Option<Cow<'_, str>>, other: &Option<Cow<'_, str>>| {
            one.as_ref().zip(other.as_ref()).is_none_or(|(one, other)| one == other)
        };
        self.calls.iter().position(|call| {
            let model = call.joined.as_record().and_then(|record| record.model.clone());
            !call.is_answered && is_one(&call.prompt_id, &event.prompt_id) && is_one(&model, &event.record.model)
        })
    }

    /// A tool: an event and a span of the same tool, one within the time of the other, are one call.
    fn take_tool(&mut self, event: Event, step: &mut Step) -> Fate {
        let is_twin = |call: &mut Open| {
            call.record().is_some_and(|one| {
                one.kind == Kind::Tool
                    && one.tool == event.record.tool
                    && is_span(one) != is_span(&event.record)
                    && overlap(one, &event.record)
            })
        };
        let Some(at) = self.calls.iter_mut().position(is_twin) else {
            let joined = Joined::record(step.place.clone(), event.record);
            self.calls.push(Open { joined, is_answered: true, prompt_id: event.prompt_id, moments: Vec::new() });
            return Fate::Held;
        };
        let mut call = self.calls.remove(at);
        if let Some(record) = call.record() {
            let mut other = event.record;
            if is_span(&other) {
                mem::swap(record, &mut other);
            }
            record.fill(other);
        }
        step.records.push(call.joined);
        Fate::Merged
    }

    /// Lets the calls go that have been answered; tools wait for their twins.
    fn release(&mut self, step: &mut Step) {
        let is_over = |call: &mut Open| call.is_answered && call.record().is_some_and(|one| one.kind == Kind::Llm);
        step.records.extend(self.calls.extract_if(.., is_over).map(|call| call.joined));
    }
}

/// Whether the record is a span, and not an event.
fn is_span(record: &Record<'_>) -> bool {
    record.span.as_ref().is_some_and(|span| !span.is_event)
}

/// Whether two calls of tools were under way at the same time.
fn overlap(one: &Record<'_>, other: &Record<'_>) -> bool {
    let times = |record: &Record<'_>| {
        let begin = record.timestamp_ms?;
        Some((begin, begin.saturating_add(record.execution_time_ms? as i64 + 1)))
    };
    times(one).zip(times(other)).is_none_or(|(one, other)| one.0 <= other.1 && other.0 <= one.1)
}
