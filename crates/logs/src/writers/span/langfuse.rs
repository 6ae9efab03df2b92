//! Spans of the Langfuse SDKs from version 3 on: observations, their fields in attributes `langfuse.observation.*`.
//!
//! Input and output are bodies of any dialect, as JSON in a string where they are no text. The call has failed where the
//! level is ERROR. Time to the first token is `completion_start_time` minus the beginning.
//!
//! **Source**: `attributes.py` of the Python SDK (3.0 to 5.0), `attributes.ts` of the JavaScript SDK (4).

use super::Span;
use crate::record::{
    body::usage::Usage,
    call::{Call, decoded},
    json::Json,
};

pub(super) const TYPE: &str = "langfuse.observation.type";

/// Reads a call of a model.
pub(super) fn read<'a>(span: &mut Span<'a>, call: &mut Call<'a>) {
    let of = &mut span.attributes;
    call.requested =
        of.name(&["langfuse.observation.model.name", "langfuse.observation.model", "gen_ai.request.model"]);
    call.ask(of.take(&["langfuse.observation.input"]).map(decoded));
    call.answer(of.take(&["langfuse.observation.output"]).map(decoded));
    if let Some(usage) = of.take(&["langfuse.observation.usage_details"]).map(decoded) {
        Usage::of(&usage).fill(&mut call.record);
    }
    call.tokens(of.get("gen_ai.usage.input_tokens"), of.get("gen_ai.usage.output_tokens"));
    let parameters = of.take(&["langfuse.observation.model.parameters"]).map(decoded);
    let tools = parameters.and_then(|mut parameters| parameters.take("tools")).map(decoded);
    call.record.tools = call.record.tools.take().or(tools);
    let reason = of.name(&["langfuse.observation.metadata.finish_reason"]);
    let reason = reason.map(|reason| match decoded(Json::String(reason)) {
        Json::String(reason) => reason,
        other => other.to_compact_string().into(),
    });
    call.record.finish_reason = call.record.finish_reason.take().or(reason);
    if let Some(first) = of.take(&["langfuse.observation.completion_start_time"]).map(decoded) {
        span.first_token = Some(first);
    }
}
