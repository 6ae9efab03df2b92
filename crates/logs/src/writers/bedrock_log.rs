//! The model invocation log of AWS Bedrock.
//!
//! - Converse: Converse bodies; `metrics.latencyMs` is the latency
//! - InvokeModel: bodies of the vendor (Anthropic, Titan, Llama, Cohere, Mistral)
//! - InvokeModelWithResponseStream: a list of the vendor's events, the last of which carries the latency and the time
//!   to the first byte
//! - model: `modelId`, without the parts of an ARN, as it was asked for; the one that answered is known only from the
//!   first event of a stream
//! - bodies above 100 KB stand in other objects (`inputBodyS3Path`): the record is read without them, which is noted
//!
//! **Source**: the Bedrock user guide, "Model invocation logging".

use std::borrow::Cow;

use super::{Writer, text};
use crate::record::{
    Container, Dialect, Note,
    body::{message::take_name, message::take_text, vendor},
    call::{Call, Outcome, decoded, name_at, skipped},
    json::Json,
    values,
};

const CONTAINER: Container = Container::named("bedrock_log");

/// Model invocation log of AWS Bedrock.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "model invocation log of AWS Bedrock",
    told_by: "`schemaType` = `ModelInvocationLog`",
    marks: &["schemaType"],
    matches: |value| text(value, "schemaType") == "ModelInvocationLog",
    read: |value, entries| entries.push(read(value)),
    joiner: None,
};

/// Reads one record of the log.
fn read(mut value: Json<'_>) -> Outcome<'_> {
    let mut call = Call::llm(CONTAINER);
    let operation = take_text(&mut value, "operation").unwrap_or_default();
    if operation.contains("Embed") {
        return Ok(skipped(CONTAINER, "an embedding"));
    }
    call.record.id = take_name(&mut value, "requestId");
    call.record.provider = Some("aws.bedrock".into());
    call.requested = take_text(&mut value, "modelId").map(model_name);
    if let Some(at) = value.take("timestamp") {
        call.times(Some(at), None, None);
    }
    if let Some(metadata) = value.get("requestMetadata") {
        let keys = ["session_id", "sessionId", "conversation_id", "conversationId"];
        call.record.session_id = keys.iter().find_map(|key| name_at(metadata, &[key]));
    }
    let mut input = value.take("input").unwrap_or_default();
    let mut output = value.take("output").unwrap_or_default();
    if input.get("inputBodyS3Path").is_some() || output.get("outputBodyS3Path").is_some() {
        call.record.notes.add(Note::ContentElsewhere);
    }
    if let Some(request) = input.take("inputBodyJson").map(decoded) {
        call.ask(Some(request));
    }
    if let Some(response) = output.take("outputBodyJson").map(decoded) {
        if let Some(what) = vendor::no_call(&response) {
            return Ok(skipped(CONTAINER, what));
        }
        answer(&mut call, response);
    }
    let prompt =
        [&input, &output].into_iter().find_map(|place| place.get("inputTokenCount").filter(|count| is_positive(count)));
    let response = output.get("outputTokenCount").filter(|count| is_positive(count));
    call.tokens(prompt, response);
    let error = take_text(&mut value, "errorCode").filter(|code| !code.is_empty());
    call.record.error = call.record.error.take().or(error);
    Ok(call.finish())
}

fn answer<'a>(call: &mut Call<'a>, mut response: Json<'a>) {
    let is_blocked = response.get("amazon-bedrock-guardrailAction").and_then(Json::as_str) == Some("INTERVENED");
    let metrics = response.take("amazon-bedrock-invocationMetrics");
    call.answer(Some(response));
    // Vendors may spell their bodies alike, on Bedrock and elsewhere.
    if call.record.format.dialect == Some(Dialect::Vendor) {
        call.record.format.dialect = Some(Dialect::BedrockVendor);
    }
    if let Some(metrics) = metrics {
        call.reported_latency(metrics.get("invocationLatency"), values::Unit::Ms);
        call.reported_ttft(metrics.get("firstByteLatency"), values::Unit::Ms);
        call.tokens(metrics.get("inputTokenCount"), metrics.get("outputTokenCount"));
    }
    if is_blocked && call.record.finish_reason.is_none() {
        call.record.finish_reason = Some("guardrail_intervened".into());
    }
}

/// The model behind an ARN or an inference profile.
fn model_name(id: Cow<'_, str>) -> Cow<'_, str> {
    match id.rsplit_once('/') {
        Some((_, name)) => name.to_owned().into(),
        None => id,
    }
}

fn is_positive(count: &Json<'_>) -> bool {
    values::count(count).is_ok_and(|count| count > 0)
}
