//! Traces of agentguard (`awesome-agentguard`): a call and its result, one pair a line.
//!
//! - a pair is a call of a tool; a result that names a model and its `usage` is one of a model
//! - arguments by position stand beside those by name, as `args`
//! - `execution_time_ms` is measured; `hallucination` is the opinion of the library, and not read
//!
//! **Source**: awesome-agentguard 0.1 and 0.2, `core/types.py` (`TraceEntry`), `core/trace.py`.

use super::{Writer, has_any, text};
use crate::record::{
    Container,
    body::{message::take_name, message::take_text, usage::Usage},
    call::{Call, Outcome, decoded, is_said},
    json::Json,
    values::Unit,
};

const CONTAINER: Container = Container::named("agentguard");

/// What a call has as its status that gave nothing.
const FAILURES: [&str; 5] = ["failure", "timeout", "circuit_open", "budget_exceeded", "rate_limited"];

/// Traces of agentguard.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "traces of agentguard",
    told_by: "`call` and `result`, which name the same `tool_name`",
    marks: &["call"],
    matches: |value| {
        let tool = |key: &str| value.get(key).map(|part| text(part, "tool_name")).unwrap_or_default();
        !tool("call").is_empty()
            && tool("call") == tool("result")
            && value.get("result").is_some_and(|result| has_any(result, &["status", "return_value"]))
    },
    read: |value, entries| entries.push(read(value)),
    joiner: None,
};

fn read(mut value: Json<'_>) -> Outcome<'_> {
    let mut asked = value.take("call").unwrap_or_default();
    let mut result = value.take("result").unwrap_or_default();
    let is_llm = ["model", "usage"].iter().all(|key| result.get(key).is_some_and(is_said));
    let mut call = match is_llm {
        true => Call::llm(CONTAINER),
        false => Call::tool(CONTAINER, take_text(&mut asked, "tool_name")),
    };
    call.record.id = take_name(&mut asked, "call_id");
    call.record.session_id = take_name(&mut asked, "session_id");
    call.times(asked.take("timestamp"), None, None);
    call.reported_latency(result.get("execution_time_ms"), Unit::Ms);
    let args = arguments(asked.take("args"), asked.take("kwargs"));
    // What a validator thinks of a result is no failure of the call.
    let is_failed = FAILURES.contains(&text(&result, "status")) || !text(&result, "exception").is_empty();
    let given = result.take("return_value").filter(|given| !is_failed || !given.is_null());
    if is_llm {
        call.requested = take_text(&mut result, "model");
        call.record.provider = take_text(&mut result, "provider");
        call.ask(Some(args));
        call.answer(given.map(decoded));
        if let Some(usage) = result.take("usage") {
            Usage::of(&usage).fill(&mut call.record);
        }
    } else {
        call.args(Some(args));
        call.result(given);
    }
    if is_failed {
        let why = take_text(&mut result, "exception").filter(|why| !why.is_empty());
        let status = take_text(&mut result, "status").unwrap_or_default();
        call.record.error = why.or_else(|| Some(format!("the call has the status `{status}`").into()));
    }
    Ok(call.finish())
}

/// Arguments by name, with those by position.
fn arguments<'a>(by_position: Option<Json<'a>>, by_name: Option<Json<'a>>) -> Json<'a> {
    let mut entries = if let Some(Json::Object(entries)) = by_name { entries } else { Vec::new() };
    let by_position = by_position.filter(|list| list.as_array().is_some_and(|list| !list.is_empty()));
    entries.extend(by_position.map(|list| ("args".into(), list)));
    Json::Object(entries)
}
