//! Spans of Traceloop (OpenLLMetry) up to 0.5x: a message is spread over keys with an index, `gen_ai.prompt.0.content`.

use super::{Attributes, genai::read_output};
use crate::{
    record::{
        body::Conversation,
        call::{Call, decoded},
        json::Json,
    },
    writers::attributes::list_of,
};

pub(super) fn read<'a>(of: &mut Attributes<'a>, call: &mut Call<'a>) {
    let messages: Vec<Json<'a>> = of.list("gen_ai.prompt.").into_iter().map(flat_message).collect();
    if !messages.is_empty() {
        call.asked(Conversation::of_messages(messages));
    }
    let answers: Vec<Json<'a>> = of.list("gen_ai.completion.").into_iter().map(flat_message).collect();
    if !answers.is_empty() {
        read_output(answers, call);
    }
    let tools = of.list("llm.request.functions.").into_iter().map(|mut tool| {
        if let Json::Object(entries) = &mut tool
            && let Some((_, schema)) = entries.iter_mut().find(|(key, _)| key == "parameters")
        {
            *schema = decoded(std::mem::take(schema));
        }
        tool
    });
    let tools: Vec<Json<'a>> = tools.collect();
    if !tools.is_empty() {
        call.record.tools = Some(Json::Array(tools));
    }
}

/// A message of flat keys: calls are listed by index, and a content may be a list of parts in JSON.
fn flat_message(mut message: Json<'_>) -> Json<'_> {
    let calls = message.take("tool_calls").map(list_of);
    let content = message.take("content");
    let is_tool = message.get("role").and_then(Json::as_str) == Some("tool");
    let content = content.map(|content| match content {
        Json::String(text) if !is_tool && text.starts_with("[{") && text.contains("\"type\"") => {
            match Json::parse_text(text) {
                Ok(Json::Array(parts)) if parts.iter().all(|part| part.get("type").is_some()) => Json::Array(parts),
                Ok(other) => Json::String(other.to_compact_string().into()),
                Err(text) => Json::String(text),
            }
        }
        content => content,
    });
    if let Json::Object(entries) = &mut message {
        entries.retain(|(_, value)| !value.is_null());
        entries.extend(content.map(|content| ("content".into(), content)));
        entries.extend(calls.map(|calls| ("tool_calls".into(), Json::Array(calls))));
    }
    message
}
