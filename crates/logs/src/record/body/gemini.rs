//! Gemini generateContent, in camelCase (REST) and in snake_case (the Python SDK, ADK).
//!
//! - prompt: `contents[].parts[].text`; system: `systemInstruction` (ADK keeps it in `config`)
//! - response: the texts of `candidates[0].content.parts`, thoughts left out. They are pieces of one text and are put
//!   together as they stand
//! - tool calls: `functionCall`; results: `functionResponse`, which has no id on the Gemini API
//! - a prompt that was blocked (`promptFeedback.blockReason`) is an error and no response
//! - context: the texts of `groundingMetadata.groundingChunks[].retrievedContext`
//!
//! **Source**: the Gemini API reference, google/genai `types`.
//!
//! **Limits**: of several candidates only the first is read, which is noted.

use std::borrow::Cow;

use super::{
    Answer, Conversation, error_of, join_lines,
    message::{Joined, Said, take_text, text_of},
    note_further,
    usage::Usage,
};
use crate::record::{Dialect, Passage, json::Json};

/// Whether the value is a response body, or the response object of ADK.
pub(crate) fn is_response(value: &Json<'_>) -> bool {
    if value.get("promptFeedback").is_some_and(|feedback| feedback.get("blockReason").is_some()) {
        return true;
    }
    if let Some(Json::Array(candidates)) = value.get("candidates") {
        let is_candidate = |candidate: &Json<'_>| {
            ["content", "finishReason", "finish_reason"].iter().any(|key| candidate.get(key).is_some())
        };
        return candidates.iter().all(is_candidate) && (!candidates.is_empty() || has_usage(value));
    }
    value.get("content").is_some_and(|content| matches!(content.get("parts"), Some(Json::Array(_))))
}

/// Whether a list is one of contents.
pub(crate) fn is_contents(items: &[Json<'_>]) -> bool {
    !items.is_empty() && items.iter().all(|item| matches!(item.get("parts"), Some(Json::Array(_))))
}

/// Whether the value is a request body.
pub(crate) fn is_request(value: &Json<'_>) -> bool {
    match value.get("contents") {
        Some(Json::Array(items)) => is_contents(items),
        Some(one @ Json::Object(_)) => one.get("parts").is_some(),
        Some(Json::String(_)) => value.get("model").is_some(),
        _ => false,
    }
}

/// Reads a response body.
pub(crate) fn read_response(mut body: Json<'_>) -> Answer<'_> {
    let mut answer = match body.take("candidates") {
        Some(Json::Array(candidates)) => {
            let count = candidates.len();
            let mut answer = candidates.into_iter().next().map(read_candidate).unwrap_or_default();
            note_further(count, &mut answer.notes);
            answer
        }
        _ if body.get("content").is_some() => read_candidate(std::mem::take(&mut body)),
        _ => Answer::default(),
    };
    read_frame(&mut body, &mut answer);
    answer
}

/// Reads what stands around the candidates.
pub(crate) fn read_frame<'a>(body: &mut Json<'a>, answer: &mut Answer<'a>) {
    answer.dialect = Some(Dialect::Gemini);
    answer.id = answer.id.take().or_else(|| either(body, "responseId", "response_id"));
    answer.model = answer.model.take().or_else(|| either(body, "modelVersion", "model_version"));
    answer.created = answer.created.take().or_else(|| body.take("createTime").or_else(|| body.take("create_time")));
    if let Some(usage) = body.take("usageMetadata").or_else(|| body.take("usage_metadata")) {
        answer.usage = Usage::of(&usage);
    }
    let blocked = body.take("promptFeedback").and_then(|mut feedback| take_text(&mut feedback, "blockReason"));
    answer.error = answer
        .error
        .take()
        .or_else(|| body.take("error").and_then(error_of))
        .or_else(|| blocked.map(|reason| format!("the prompt was blocked: {reason}").into()));
}

/// Reads one candidate, or ADK's response object, which is one with its frame.
pub(crate) fn read_candidate(mut candidate: Json<'_>) -> Answer<'_> {
    let mut said = Said::default();
    if let Some(content) = candidate.take("content") {
        said.add(content, Joined::AsTheyStand);
    }
    let mut answer = Answer::of_said(said);
    answer.finish_reason = either(&mut candidate, "finishReason", "finish_reason").or(answer.finish_reason);
    if let Some(mut grounding) = candidate.take("groundingMetadata").or_else(|| candidate.take("grounding_metadata"))
        && let Some(Json::Array(chunks)) =
            grounding.take("groundingChunks").or_else(|| grounding.take("grounding_chunks"))
    {
        answer.context.extend(chunks.into_iter().filter_map(retrieved));
    }
    read_frame(&mut candidate, &mut answer);
    answer.or_empty()
}

/// Reads a request body.
pub(crate) fn read_request(mut body: Json<'_>) -> Conversation<'_> {
    let mut asked = match body.take("contents") {
        Some(Json::Array(items)) => read_contents(items),
        Some(Json::String(text)) => Conversation { text: Some(text), ..Conversation::default() },
        Some(one) => read_contents(vec![one]),
        None => Conversation::default(),
    };
    asked.dialect = Some(Dialect::Gemini);
    asked.model = take_text(&mut body, "model");
    let mut config = body.take("config").or_else(|| body.take("generationConfig"));
    let system = [Some(&mut body), config.as_mut()].into_iter().flatten().find_map(|place| {
        place.take("systemInstruction").or_else(|| place.take("system_instruction")).and_then(text_of)
    });
    asked.system = join_lines(system.into_iter().chain(asked.system).collect());
    asked.tools = body.take("tools").or_else(|| config.as_mut().and_then(|config| config.take("tools")));
    asked
}

/// Reads a list of contents.
pub(crate) fn read_contents(items: Vec<Json<'_>>) -> Conversation<'_> {
    let mut said = Said::default();
    items.into_iter().for_each(|content| said.add(content, Joined::AsTheyStand));
    Conversation::of_said(said)
}

fn has_usage(value: &Json<'_>) -> bool {
    ["usageMetadata", "usage_metadata", "modelVersion", "model_version"].iter().any(|key| value.get(key).is_some())
}

fn retrieved(mut chunk: Json<'_>) -> Option<Passage<'_>> {
    let mut context = chunk.take("retrievedContext").or_else(|| chunk.take("retrieved_context"))?;
    let text = take_text(&mut context, "text").filter(|text| !text.is_empty())?;
    Some(Passage { id: take_text(&mut context, "title").or_else(|| take_text(&mut context, "uri")), text, place: None })
}

fn either<'a>(object: &mut Json<'a>, camel: &str, snake: &str) -> Option<Cow<'a, str>> {
    take_text(object, camel).or_else(|| take_text(object, snake))
}
