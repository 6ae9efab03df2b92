//! AWS Bedrock: the Converse dialect, and the native bodies of its vendors other than Anthropic.
//!
//! - Converse: parts are told apart by their only key (`text`, `toolUse`, `toolResult`); `metrics.latencyMs` is the
//!   latency that the service measured
//! - Titan `inputText` / `results[].outputText`, Llama `prompt` / `generation`, Cohere `message` / `text`, Mistral
//!   `prompt` / `outputs[].text`
//!
//! **Source**: the Bedrock runtime API reference; the vendors' model parameters in the Bedrock user guide.

use std::borrow::Cow;

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

/// Reads a request body of the other vendors.
pub(crate) fn read_vendor_request(mut body: Json<'_>) -> Option<Conversation<'_>> {
    let text = ["inputText", "prompt", "message"].into_iter().find_map(|key| take_text(&mut body, key))?;
    Some(Conversation { dialect: Some(Dialect::BedrockVendor), text: Some(text), ..Conversation::default() })
}

/// Reads a response body of the other vendors.
pub(crate) fn read_vendor_response(mut body: Json<'_>) -> Option<Answer<'_>> {
    let mut first = ["results", "outputs", "generations"].into_iter().find_map(|key| match body.take(key)? {
        Json::Array(items) => items.into_iter().next(),
        _ => None,
    });
    let place = first.as_mut().unwrap_or(&mut body);
    let text = ["outputText", "generation", "text", "completion"].into_iter().find_map(|key| take_text(place, key))?;
    let finish_reason: Option<Cow<'_, str>> =
        ["completionReason", "stop_reason", "finish_reason"].into_iter().find_map(|key| take_text(place, key));
    let count = |value: Option<&Json<'_>>| values::count(value?).ok();
    let mut usage = Usage::default();
    usage.response = count(place.get("tokenCount"));
    usage.response = usage.response.or_else(|| count(body.get("generation_token_count")));
    usage.prompt = count(body.get("inputTextTokenCount")).or_else(|| count(body.get("prompt_token_count")));
    Some(Answer { dialect: Some(Dialect::BedrockVendor), text: Some(text), finish_reason, usage, ..Answer::default() })
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
