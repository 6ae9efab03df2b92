//! AWS Bedrock: the Converse dialect.
//!
//! - Converse: parts are told apart by their only key (`text`, `toolUse`, `toolResult`); `metrics.latencyMs` is the
//!   latency that the service measured
//! - the bodies of its vendors are their own: [`vendor`](super::vendor)
//!
//! **Source**: the Bedrock runtime API reference.

use super::{
    Answer, Conversation,
    message::{Joined, Said, take_text},
    openai_chat,
    usage::Usage,
};
use crate::record::{Dialect, json::Json, values};

/// Whether the value is a Converse response.
pub(crate) fn is_converse_response(value: &Json<'_>) -> bool {
    value.get("output").and_then(|output| output.get("message")).is_some_and(|message| message.get("content").is_some())
}

/// Whether a body with messages is a Converse request: its parts have no type.
pub(crate) fn is_converse_request(value: &Json<'_>) -> bool {
    let is_untyped = |part: &Json<'_>| {
        part.get("type").is_none()
            && ["text", "toolUse", "toolResult", "image", "document", "guardContent"]
                .iter()
                .any(|key| part.get(key).is_some())
    };
    let messages = value.get("messages").and_then(Json::as_array).unwrap_or_default();
    let mut contents = messages.iter().filter_map(|message| message.get("content")?.as_array()).peekable();
    contents.peek().is_some() && contents.all(|parts| parts.iter().all(is_untyped))
}

/// Reads a Converse response.
pub(crate) fn read_converse_response(mut body: Json<'_>) -> Answer<'_> {
    let mut said = Said::default();
    let message = body.take("output").and_then(|mut output| output.take("message"));
    let has_place = message.as_ref().is_some_and(|message| message.get("content").is_some());
    if let Some(message) = message {
        said.add(message, Joined::ByLines);
    }
    let mut answer = Answer::of_said(said);
    answer.dialect = Some(Dialect::BedrockConverse);
    answer.finish_reason = take_text(&mut body, "stopReason").or(answer.finish_reason);
    answer.usage = body.take("usage").map(|usage| Usage::of(&usage)).unwrap_or_default();
    let metrics = body.take("metrics");
    answer.latency_ms =
        metrics.and_then(|metrics| values::duration_ms(metrics.get("latencyMs")?, values::Unit::Ms).ok());
    if has_place { answer.or_empty() } else { answer }
}

/// Reads a Converse request.
pub(crate) fn read_converse_request(mut body: Json<'_>) -> Conversation<'_> {
    let tools = body.take("toolConfig").and_then(|mut config| config.take("tools")).map(unwrap_specs);
    let mut asked = openai_chat::read_request(body);
    asked.dialect = Some(Dialect::BedrockConverse);
    asked.tools = tools.or(asked.tools);
    asked
}

/// `[{"toolSpec": {"name", "inputSchema": {"json"}}}]` as `[{"name", "inputSchema"}]`.
fn unwrap_specs(tools: Json<'_>) -> Json<'_> {
    let Json::Array(tools) = tools else { return tools };
    let unwrapped = tools.into_iter().filter_map(|mut tool| {
        let mut spec = tool.take("toolSpec")?;
        let schema = spec.take("inputSchema").and_then(|mut schema| schema.take("json"));
        if let (Json::Object(entries), Some(schema)) = (&mut spec, schema) {
            entries.retain(|(key, _)| key != "inputSchema");
            entries.push(("inputSchema".into(), schema));
        }
        Some(spec)
    });
    Json::Array(unwrapped.collect())
}
