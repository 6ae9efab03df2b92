//! Spans of the Vercel AI SDK.

use super::Span;
use crate::{
    record::{
        body::{
            Answer, Conversation,
            message::{args_of, read_calls, text_of},
        },
        call::{Call, count, decoded},
        json::Json,
        values::Unit,
    },
    writers::attributes::list_of,
};

pub(super) fn read<'a>(span: &mut Span<'a>, call: &mut Call<'a>) {
    let of = &mut span.attributes;
    match of.take(&["ai.prompt.messages"]).map(decoded) {
        Some(Json::Array(messages)) => call.asked(Conversation::of_messages(messages)),
        _ => call.ask(of.take(&["ai.prompt"])),
    }
    let object = of.take(&["ai.response.object"]);
    let text = of.take(&["ai.response.text", "ai.result.text"]).or(object).and_then(text_of);
    let calls = of.take(&["ai.response.toolCalls", "ai.result.toolCalls"]).map(read_calls).unwrap_or_default();
    let text = text.filter(|text| !text.is_empty() || calls.is_empty());
    call.answered(Answer { text, tool_calls: calls, ..Answer::default() });
    call.record.finish_reason = of.name(&["ai.response.finishReason", "ai.finishReason"]);
    call.record.response_id = of.name(&["ai.response.id", "gen_ai.response.id"]);
    call.record.id = call.record.response_id.clone();
    call.requested = of.name(&["ai.model.id", "gen_ai.request.model"]);
    call.served = of.name(&["ai.response.model", "gen_ai.response.model"]);
    call.record.provider = of.name(&["ai.model.provider", "gen_ai.system"]);
    if let Some(tools) = of.take(&["ai.prompt.tools"]).map(decoded) {
        // Each tool is JSON in a string, its schema under `inputSchema`.
        call.record.tools = Some(Json::Array(list_of(tools).into_iter().map(args_of).collect()));
    }
    let prompt = of.take(&["ai.usage.inputTokens", "ai.usage.promptTokens", "gen_ai.usage.input_tokens"]);
    let response = of.take(&["ai.usage.outputTokens", "ai.usage.completionTokens", "gen_ai.usage.output_tokens"]);
    call.tokens(prompt.as_ref(), response.as_ref());
    call.record.cached_tokens = count(of.get("ai.usage.cachedInputTokens"));
    call.record.reasoning_tokens = count(of.get("ai.usage.reasoningTokens"));
    call.reported_ttft(of.take(&["ai.response.msToFirstChunk"]).as_ref(), Unit::Ms);
}
