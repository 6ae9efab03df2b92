//! Shape of the response: JSON, lists, code blocks; and whether a shape was promised and is broken.
//!
//! **Formula**: metadata; the value is 1 when promised JSON is broken, else 0. That is JSON that the response answers with,
//! that begins as JSON does, and whose first value does not parse. A response answers with JSON when it begins with it, in
//! a fence or without one; or when the prompt asks for JSON and the response has a JSON fence. So is JSON that the prompt or
//! the system prompt asks for, and nothing else, where the response holds none. JSON and fences that the end of the text cuts
//! off have the value 1, too, but are told by `truncation`: one fault is one signal. Broken JSON that nobody asked for is
//! evidence, and no fact.
//!
//! **Range**: 0 (nothing wrong) or 1 (broken).
//!
//! **Source**: seed 001, "StructureEngine"; the health value is ours.
//!
//! **Limits**: JSON in the middle of an explanation is an illustration (with comments, with "..."), which nothing will
//! parse, and is not held against the response. Several values in a row (JSON Lines) are not broken.

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize, de::IgnoredAny};

use crate::{
    engines::{
        About, Assessment, Detail, Effect, Engine, Question, RatioSource, Signal, SignalAbout, Status, Tier, View,
        language::NO_RESPONSE,
    },
    record::Kind,
    text::{Family, Features, JsonPart, json_part::Stand},
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: "structure",
    summary: "Counts JSON, lists and code blocks, and finds JSON and fences that are broken.",
    formula: "1 when JSON was promised and does not parse, or a code fence is never closed; else 0",
    range: "0 (nothing wrong) or 1 (broken)",
    source: "seed 001, StructureEngine",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Degraded,
        title: "JSON, lists or code blocks of the answer are broken.",
        owasp: "LLM05",
        help: "Use structured output, or validate and retry.",
    }],
};

/// The signal.
pub const SIGNAL: &str = "structure_broken";
/// A broken structure is seldom meant, but a client may not mind.
pub const LIKELIHOOD_RATIO: f64 = 3.0;

/// Whether the response answers with this JSON, valid or not.
pub fn is_promised(json: &JsonPart, prompt: &Features) -> bool {
    let was_asked_for = || prompt.phrases.has(Family::JsonAsked);
    let in_fence = matches!(json.stand, Stand::JsonFence { .. });
    json.looks_like_json && (json.opens_text() || (in_fence && was_asked_for()))
}

/// An order to answer with JSON and nothing else.
static JSON_ONLY: LazyLock<Regex> = LazyLock::new(|| {
    RegexBuilder::new(concat!(
        r"\b(?:only|just|strictly|nothing but|solely|uniquement|solamente|únicamente|nur|ausschließlich|soltanto|apenas)\b[^.\n]{0,30}\bjson\b",
        r"|\bjson\b[^.\n]{0,30}\b(?:only|nothing else|without any (?:other )?text|no prose|no (?:other|additional|extra) text)\b",
        // An order begins its sentence: "How do I return JSON?" and "my API returns JSON" are about JSON.
        r"|(?m:(?:^|[.!?:;,] |\b(?:please|must|should|always|and|then|you|to me|i need you to) )(?-m:(?:respond|reply|answer|return|output|provide|format your (?:answer|response|reply|output))(?: \w+){0,4}? (?:in|with|as|using|be) (?:a |an |the following )?(?:valid |strict |single |raw |pure )?json\b))",
        r"|(?m:(?:^|[.!?:;] |\b(?:you must|always|please) )(?-m:(?:return|output|produce|emit) (?:a |an )?(?:valid |strict |single |raw |pure )?json\b))",
        r"|\b(?:antworte|gib|liefere)\b[^.\n]{0,40}\bjson\b|\b(?:réponds|renvoie|retourne|responde|devuelve|rispondi|restituisci|responda|retorne)\b[^.\n]{0,40}\bjson\b",
    ))
    .case_insensitive(true)
    .build()
    .expect("a pattern of this crate")
});

/// An order to write nothing around the JSON.
static NOTHING_AROUND: LazyLock<Regex> = LazyLock::new(|| {
    RegexBuilder::new(
        r"\bno (?:prose|markdown|explanations?|commentary|preamble|other text|additional text|extra text)\b|\bnothing (?:else|but)\b|\bonly (?:valid |raw |the )?json\b|\bjson only\b|\b(?:nur|ausschließlich) json\b|\buniquement (?:un |du )?(?:objet )?json\b|\b(?:solo|solamente|únicamente) json\b",
    )
    .case_insensitive(true)
    .build()
    .expect("a pattern of this crate")
});

/// What the user and the operator say.
fn orders<'v>(view: &'v View<'_, '_>) -> [&'v str; 2] {
    [view.record.prompt.last_of_user().unwrap_or_default(), view.record.system.as_deref().unwrap_or_default()]
}

/// Whether the record asks for JSON: in the prompt, in the system prompt, or by a schema.
pub fn is_asked_for(view: &View<'_, '_>) -> bool {
    let speaks_of_json = |text: &&str| {
        let mut places = memchr::memchr2_iter(b'j', b'J', text.as_bytes());
        places.any(|at| text.as_bytes().get(at..at + 4).is_some_and(|word| word.eq_ignore_ascii_case(b"json")))
    };
    view.record.expected_schema.is_some() || orders(view).iter().any(speaks_of_json)
}

/// What is wrong with an answer that had to be JSON and nothing else, though what it holds of it parses.
fn not_only_json(view: &View<'_, '_>) -> Option<&'static str> {
    let response = view.response_text().trim();
    if !is_asked_for(view) || response.is_empty() || serde_json::from_str::<IgnoredAny>(response).is_ok() {
        return None;
    }
    let orders = orders(view);
    let is_ordered = orders.iter().any(|text| JSON_ONLY.is_match(text));
    match &view.response.json {
        None if is_ordered => Some("JSON was asked for, and the answer holds none"),
        Some(json) if json.begins_valid && !json.valid => {
            let rest = trailing(&response[json.span.start.min(response.len())..]);
            (json.opens_text() && rest).then_some("the JSON of the response has a bracket too many")
        }
        Some(json) if json.valid && is_ordered => {
            let is_embedded = json.stand == Stand::Embedded;
            let is_forbidden = orders.iter().any(|text| NOTHING_AROUND.is_match(text));
            (is_embedded && is_forbidden).then_some("JSON and nothing else was asked for, and the answer holds more")
        }
        _ => None,
    }
}

/// Whether a closing bracket follows the first value of `text`.
fn trailing(text: &str) -> bool {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let is_read = matches!(values.next(), Some(Ok(_)));
    is_read && text[values.byte_offset()..].trim_start().starts_with(['}', ']'])
}

/// Whether JSON was promised and is broken.
pub fn has_broken_json(response: &Features, prompt: &Features) -> bool {
    response.json.as_ref().is_some_and(|json| !json.begins_valid && is_promised(json, prompt))
}

/// The numbers of the engine.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// What the fault counts as: `fact`, `evidence`, `off`.
    pub effect: Effect,
    /// P(fires | degraded) / P(fires | not), where it counts as evidence.
    pub likelihood_ratio: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { effect: Effect::Fact, likelihood_ratio: LIKELIHOOD_RATIO }
    }
}

impl Settings {
    /// The letter of seed 001.
    pub fn seed() -> Settings {
        Settings { effect: Effect::Evidence, ..Settings::default() }
    }
}

/// The engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Structure {
    settings: Settings,
}

impl Structure {
    /// The engine with these numbers.
    pub fn new(settings: Settings) -> Structure {
        Structure { settings }
    }

    /// What it says of a response.
    pub fn assess_features(&self, response: &Features, prompt: &Features) -> Assessment {
        let broken_json = has_broken_json(response, prompt);
        let unclosed_fence = response.lines.unclosed;
        let is_json = response.json.as_ref().is_some_and(|json| json.valid);
        let ratio = RatioSource::default_or_config(self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
        let absent = Signal::absent(SIGNAL, Question::Degraded, Tier::Zero, ratio);
        let is_cut = response.json.as_ref().is_some_and(|json| json.is_cut) || unclosed_fence;
        let (status, value) = if broken_json || unclosed_fence { (Status::Error, 1.0) } else { (Status::Ok, 0.0) };
        let signal = match broken_json && !is_cut {
            true => absent.fire(1.0, "the JSON of the response does not parse"),
            false => absent,
        };
        Assessment::new(status, value)
            .with("is_json", Detail::Flag(is_json))
            .with("list_count", Detail::Count(response.lines.list_items()))
            .with("code_block_count", Detail::Count(response.lines.blocks))
            .with("broken_json", Detail::Flag(broken_json))
            .with("unclosed_fence", Detail::Flag(unclosed_fence))
            .signal(signal)
    }
}

impl Engine for Structure {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        if view.record.kind != Kind::Llm {
            return None;
        }
        if view.record.response.is_none() {
            return Some(Assessment::not_assessed(NO_RESPONSE));
        }
        let mut assessment = self.assess_features(view.response, view.prompt);
        let broken = assessment.signals.pop()?;
        let signal = if self.settings.effect == Effect::Off {
            self.settings.effect.of(broken)
        } else if let Some(reason) = not_only_json(view) {
            (assessment.status, assessment.value) = (Status::Error, Some(1.0));
            self.settings.effect.of(broken.fire(1.0, reason))
        } else if broken.fired && is_asked_for(view) {
            self.settings.effect.of(broken)
        } else {
            // Nobody asked for JSON: what looks like it may be the literal of some language.
            Some(broken)
        };
        Some(assessment.signal(signal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_broken(prompt: &str, response: &str) -> bool {
        let assessment = Structure::default().assess_features(&Features::of(response), &Features::of(prompt));
        assert!(!assessment.signals[0].fired || assessment.value == Some(1.0));
        assessment.value == Some(1.0)
    }

    #[test]
    fn json_that_is_the_answer_and_does_not_parse_is_broken() {
        for response in ["{\"a\": 1,", "[{\"a\": 1}", " {'a': True}", "```json\n{\"a\": [1,2\n```", "{\"a\" : tru}"] {
            assert!(is_broken("x", response), "{response}");
        }
        assert!(is_broken("Return JSON", "Here it is:\n```json\n{\"a\": oops}\n```"));
    }

    #[test]
    fn an_order_is_told_from_a_question_about_json() {
        for (prompt, expected) in [
            ("Return JSON with the keys a and b.", true),
            ("Extract the names. Answer in JSON.", true),
            ("List them, and reply only with a JSON array.", true),
            ("Please output valid JSON.", true),
            ("You must always respond with a JSON object.", true),
            ("How do I make Flask return JSON?", false),
            ("Why does my API return JSON instead of XML?", false),
            ("Please do not return JSON, explain it.", false),
            ("How can I parse the output JSON of curl?", false),
        ] {
            assert_eq!(JSON_ONLY.is_match(prompt), expected, "{prompt}");
        }
    }

    #[test]
    fn a_fence_that_is_never_closed_is_broken() {
        assert!(is_broken("x", "Here:\n```python\nx = 1"));
    }

    #[test]
    fn prose_code_and_illustrations_are_not() {
        for response in [
            "",
            "Use {name} here.",
            "{name}, welcome!",
            "[1] Smith 2019\n[2] Jones 2020",
            "[get_weather(city=\"Rome\"), get_time()]",
            "[link](http://x) and more",
            "{\"a\":1}\n{\"b\":2}",
            "{\"a\":1} is the answer {not json}",
            "The config looks so:\n```json\n{\"a\": 1, // the first\n ...}\n```\nChange it.",
            "```js\nconst a = {b: 1\n```",
            "def f(x):\n    return {\"a\": x",
        ] {
            assert!(!is_broken("x", response), "{response}");
        }
    }
}
