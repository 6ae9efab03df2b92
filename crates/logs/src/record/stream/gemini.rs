//! Gemini generateContent: partial responses → one response.
//!
//! Every part of a stream is a response of its own, with some of the text; neighbouring texts of the first candidate are
//! joined (thoughts apart), calls are appended, and the last finish reason, token counts, version, time and grounding
//! count. Both spellings of the keys occur, `usageMetadata` and `usage_metadata`. Further candidates are kept as the last
//! part has them, for the note that there were some.

use super::{PARTS_MAX, Progress, object, string};
use crate::record::json::Json;

/// A stream of which some parts have been seen.
#[derive(Debug, Default)]
pub struct Stream {
    parts: Vec<Json<'static>>,
    finish: Option<Json<'static>>,
    grounding: Option<Json<'static>>,
    further: Vec<Json<'static>>,
    usage: Option<Json<'static>>,
    id: Option<Json<'static>>,
    version: Option<Json<'static>>,
    created: Option<Json<'static>>,
    feedback: Option<Json<'static>>,
}

/// Whether an object is a response, or a part of one.
pub fn is_part(object: &Json<'_>) -> bool {
    let is_candidate = |value: &Json<'_>| value.get("content").is_some() || either(value, FINISH).is_some();
    let has_candidates =
        object.get("candidates").and_then(Json::as_array).is_some_and(|all| all.first().is_some_and(is_candidate));
    let only_usage = || either(object, USAGE).is_some_and(|usage| either(usage, PROMPT_TOKENS).is_some());
    has_candidates || object.get("candidates").is_none() && only_usage()
}

/// Whether an object is a part of a response that goes on.
pub fn is_open_part(object: &Json<'_>) -> bool {
    let candidate = object.pointer("/candidates/0");
    is_part(object) && candidate.is_none_or(|candidate| either(candidate, FINISH).is_none())
}

type Spellings = [&'static str; 2];

const GROUNDING: Spellings = ["groundingMetadata", "grounding_metadata"];
const CREATED: Spellings = ["createTime", "create_time"];
const FINISH: Spellings = ["finishReason", "finish_reason"];
const USAGE: Spellings = ["usageMetadata", "usage_metadata"];
const PROMPT_TOKENS: Spellings = ["promptTokenCount", "prompt_token_count"];
const VERSION: Spellings = ["modelVersion", "model_version"];
const ID: Spellings = ["responseId", "response_id"];
const FEEDBACK: Spellings = ["promptFeedback", "prompt_feedback"];

fn either<'j, 'a>(object: &'j Json<'a>, spellings: Spellings) -> Option<&'j Json<'a>> {
    spellings.iter().find_map(|key| object.get(key)).filter(|value| !value.is_null())
}

fn take_either<'a>(object: &mut Json<'a>, spellings: Spellings) -> Option<Json<'a>> {
    spellings.iter().find_map(|key| object.take(key))
}

impl Stream {
    /// Whether a part has said why the answer ended.
    pub fn has_ended(&self) -> bool {
        self.finish.is_some()
    }

    /// Whether a part belongs to another stream: the answer has ended, and the part holds text or calls.
    pub fn is_over_before(&self, part: &Json<'_>) -> bool {
        let content = part.pointer("/candidates/0/content/parts").and_then(Json::as_array);
        self.has_ended() && content.is_some_and(|parts| !parts.is_empty())
    }

    /// Takes the next part.
    pub fn absorb(&mut self, mut part: Json<'static>) -> Progress {
        for (slot, spellings) in [
            (&mut self.usage, USAGE),
            (&mut self.id, ID),
            (&mut self.version, VERSION),
            (&mut self.created, CREATED),
            (&mut self.feedback, FEEDBACK),
        ] {
            *slot = take_either(&mut part, spellings).or(slot.take());
        }
        if let Some(Json::Array(mut candidates)) = part.take("candidates")
            && !candidates.is_empty()
        {
            let mut candidate = candidates.remove(0);
            if !candidates.is_empty() {
                self.further = candidates;
            }
            self.finish = take_either(&mut candidate, FINISH).or(self.finish.take());
            self.grounding = take_either(&mut candidate, GROUNDING).or(self.grounding.take());
            if let Some(Json::Array(parts)) = candidate.take("content").and_then(|mut content| content.take("parts")) {
                parts.into_iter().for_each(|part| self.push(part));
            }
        }
        match (&self.finish, &self.usage) {
            (Some(_), Some(_)) => Progress::Complete,
            (Some(_), None) => Progress::Ended,
            (None, _) => Progress::Open,
        }
    }

    fn push(&mut self, part: Json<'static>) {
        let is_thought = |part: &Json<'_>| part.get("thought").and_then(Json::as_bool) == Some(true);
        let text = |part: &Json<'_>| part.get("text").and_then(Json::as_str).map(str::to_owned);
        if let Some(more) = text(&part)
            && let Some(last) = self.parts.last_mut()
            && is_thought(last) == is_thought(&part)
            && let Json::Object(entries) = last
            && let Some((_, Json::String(known))) = entries.iter_mut().find(|(key, _)| key == "text")
        {
            known.to_mut().push_str(&more);
        } else if self.parts.len() < PARTS_MAX {
            self.parts.push(part);
        }
    }

    /// The response.
    pub fn into_body(self) -> Json<'static> {
        let content = object([("parts", Json::Array(self.parts)), ("role", string("model"))]);
        let rest = [(FINISH[0], self.finish), (GROUNDING[0], self.grounding)];
        let candidate = object([("content", content)].into_iter().chain(present(rest)));
        let mut candidates = vec![candidate];
        candidates.extend(self.further.into_iter().take(1));
        let others = [
            (USAGE[0], self.usage),
            (VERSION[0], self.version),
            (ID[0], self.id),
            (CREATED[0], self.created),
            (FEEDBACK[0], self.feedback),
        ];
        object([("candidates", Json::Array(candidates))].into_iter().chain(present(others)))
    }
}

fn present<const N: usize>(
    entries: [(&'static str, Option<Json<'static>>); N],
) -> impl Iterator<Item = (&'static str, Json<'static>)> {
    entries.into_iter().filter_map(|(key, value)| Some((key, value?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_responses_become_one() {
        let mut stream = Stream::default();
        for (part, expected) in [
            (
                r#"{"candidates":[{"content":{"parts":[{"text":"Part 1. "}],"role":"model"},"index":0}]}"#,
                Progress::Open,
            ),
            (r#"{"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":10}}"#, Progress::Open),
            (
                r#"{"candidates":[{"content":{"parts":[{"text":"Part 2."},{"functionCall":{"name":"f","args":{}}}]},"finishReason":"STOP"}]}"#,
                Progress::Complete,
            ),
        ] {
            let part = Json::parse(part.as_bytes()).unwrap().into_owned();
            assert!(is_part(&part));
            assert_eq!(stream.absorb(part), expected);
        }
        let expected = concat!(
            r#"{"candidates":[{"content":{"parts":[{"text":"Part 1. Part 2."},{"functionCall":{"name":"f","args":{}}}],"#,
            r#""role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":10}}"#
        );
        assert_eq!(stream.into_body().to_compact_string(), expected);
    }
}
