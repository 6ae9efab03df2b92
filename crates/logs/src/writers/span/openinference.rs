//! Spans of OpenInference (Arize, Phoenix).
//!
//! **Limits**: `llm.model_name` is overwritten by the model that answered; the one that was asked for stands in
//! `llm.invocation_parameters`, where it is logged.

use super::{Span, documents_of, genai::read_output};
use crate::{
    record::{
        body::{self, Answer, Conversation, message::take_text},
        call::{Call, count, decoded},
        json::Json,
    },
    writers::attributes::list_of,
};

pub(super) fn read<'a>(span: &mut Span<'a>, call: &mut Call<'a>) {
    let of = &mut span.attributes;
    let messages: Vec<Json<'a>> = of.list_at("llm.input_messages").into_iter().map(openinference_message).collect();
    let output: Vec<Json<'a>> = of.list_at("llm.output_messages").into_iter().map(openinference_message).collect();
    let (input_value, output_value) = (of.take(&["input.value"]).map(decoded), of.take(&["output.value"]).map(decoded));
    if messages.is_empty() {
        call.ask(input_value);
    } else {
        call.asked(Conversation::of_messages(messages));
    }
    // What a framework gives back of a call that failed is no answer.
    let is_answer = |value: &Json<'_>| !span.is_error || body::is_answer(value);
    let output_value = output_value.filter(is_answer);
    // The body that the answer came in knows its id; messages say what was answered.
    let body = output_value.map(body::read_answer).and_then(Result::ok);
    if !output.is_empty() {
        read_output(output, call);
    }
    call.record.finish_reason = of.name(&["llm.finish_reason"]).or(call.record.finish_reason.take());
    if let Some(mut body) = body {
        if call.record.response.is_some() || !call.record.tool_calls.is_empty() {
            (body.text, body.tool_calls) = (None, Vec::new());
        }
        call.answered(Answer { model: None, created: None, ..body });
    }
    let parameters = of.take(&["llm.invocation_parameters"]).map(decoded);
    let requested = of.name(&["llm.request.model_name"]).or_else(|| take_text(&mut parameters?, "model"));
    let answered = of.name(&["llm.response.model_name", "llm.model_name"]);
    (call.requested, call.served) = match (requested, answered) {
        (None, answered) => (answered, None),
        both => both,
    };
    call.record.provider = of.name(&["llm.provider", "llm.system"]);
    let tools: Vec<Json<'a>> = of
        .list_at("llm.tools")
        .into_iter()
        .filter_map(|mut tool| tool.take("tool")?.take("json_schema").map(decoded))
        .collect();
    if !tools.is_empty() {
        call.record.tools = Some(Json::Array(tools));
    }
    call.record.context.extend(documents_of(of));
    (call.record.prompt_tokens, call.record.response_tokens) = (
        count(of.get("llm.token_count.prompt")).or(call.record.prompt_tokens),
        count(of.get("llm.token_count.completion")).or(call.record.response_tokens),
    );
    call.record.cached_tokens =
        count(of.get("llm.token_count.prompt_details.cache_read")).or(call.record.cached_tokens);
    call.record.reasoning_tokens =
        count(of.get("llm.token_count.completion_details.reasoning")).or(call.record.reasoning_tokens);
}

/// `{"message": {"role", "content" | "contents": [{"message_content"}], "tool_calls": [{"tool_call"}]}}` as the others
/// have it.
fn openinference_message(mut message: Json<'_>) -> Json<'_> {
    let mut message = message.take("message").unwrap_or(message);
    let calls = message.take("tool_calls").map(list_of);
    let parts = message.take("contents").map(list_of);
    let parts =
        parts.map(|parts| parts.into_iter().map(|mut part| part.take("message_content").unwrap_or(part)).collect());
    if let Json::Object(entries) = &mut message {
        entries.retain(|(_, value)| !value.is_null());
        if let Some(parts) = parts {
            entries.retain(|(key, _)| key != "content");
            entries.push(("content".into(), Json::Array(parts)));
        }
        entries.extend(calls.map(|calls| ("tool_calls".into(), Json::Array(calls))));
    }
    message
}
