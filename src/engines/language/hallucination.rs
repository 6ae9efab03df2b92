//! What made-up answers often show: new names, new JSON keys, overconfidence, contradiction.
//!
//! **Formula**: risk = 0.4 speculative + 0.3 keys + 0.2 overconfident + 0.1 contradiction, clamped to [0, 1]; `low` to
//! 0.3, `medium` to 0.6, else `high`.
//! - speculative = min(1, capitalised entities of the response that the prompt does not hold / 5)
//! - keys = min(1, top-level JSON keys of the response that the prompt does not hold / 5)
//! - overconfident = 0, 0.5 for one, 0.8 for several of "definitely", "certainly", "guaranteed", "proven", "no doubt",
//!   "absolutely" and "100%"
//! - contradiction = 0.7 when the response holds both sides of a pair: "is required" and "is optional"; "must" and
//!   "does not need to"; and, in two sentences that share two content words and the word behind the phrase, can and
//!   cannot, will and will not, always and never
//!
//! **Range**: 0 (none of it) to 1 (all of it).
//!
//! **Source**: seed 001, "Hallucination Risk Heuristic"; "100%" from seed 000; the further pairs from its program, on
//! word boundaries and within one topic, for "cannot" alone is no contradiction.
//!
//! **Limits**: a risk indicator, no check of facts. Any answer that tells the reader something new names something
//! new, so that most answers to open questions are `medium`: its likelihood ratio is near 1 until it is fitted. Without
//! a prompt nothing can be new, and the first two terms are 0.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::of_response;
use crate::{
    engines::{
        About, Assessment, Detail, Engine, Finding, Question, RatioSource, Severity, Signal, SignalAbout, Status, Tier,
        View,
    },
    text::{Family, Features, hash::hash_of, words::is_stopword},
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: "hallucination",
    summary: "Looks for new names, new JSON keys, overconfident words and contradictions in the response.",
    formula: "0.4 speculative facts + 0.3 fabricated keys + 0.2 overconfident words + 0.1 contradiction",
    range: "0 (none of it) to 1 (all of it)",
    source: "seed 001, Hallucination Risk Heuristic; seed 000",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Fabricated,
        title: "New names, new keys, overconfidence or contradictions in the answer.",
        owasp: "LLM09",
        help: "Check the names and keys of the evidence against the prompt.",
    }],
};

/// The signal.
pub const SIGNAL: &str = "hallucination_risk";
/// Modest: alone the signal tells little.
pub const LIKELIHOOD_RATIO: f64 = 1.2;
/// Keys of a JSON response that are looked for in the prompt.
pub const KEYS_MAX: usize = 64;
/// Bytes on each side of a phrase within which its sentence is looked for.
const SENTENCE_BYTES_MAX: usize = 300;

/// The four terms, each from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// New entities.
    pub speculative_facts: f64,
    /// New JSON keys.
    pub fabricated_keys: f64,
    /// Overconfident words.
    pub overconfident: f64,
    /// A contradiction.
    pub contradiction: f64,
}

/// The weighted sum of the terms, clamped to [0, 1].
pub fn risk(scores: &Scores, weights: &Weights) -> f64 {
    let sum = weights.speculative_facts * scores.speculative_facts
        + weights.fabricated_keys * scores.fabricated_keys
        + weights.overconfident * scores.overconfident
        + weights.contradiction * scores.contradiction;
    sum.clamp(0.0, 1.0)
}

/// `low`, `medium` or `high`.
pub fn label(risk: f64, settings: &Settings) -> &'static str {
    if risk <= settings.low_to {
        "low"
    } else if risk <= settings.medium_to {
        "medium"
    } else {
        "high"
    }
}

/// How many of something there are against how many make a full score.
pub fn share(count: usize, full: u32) -> f64 {
    (count as f64 / f64::from(full.max(1))).clamp(0.0, 1.0)
}

/// The score of `count` different overconfident phrases.
pub fn overconfidence(count: usize, settings: &Settings) -> f64 {
    match count {
        0 => 0.0,
        1 => settings.overconfident_one,
        _ => settings.overconfident_several,
    }
}

/// The terms of a response, and where the phrases stand. `prompt` is its features and its text, if there is one.
pub fn examine(
    text: &str,
    response: &Features,
    prompt: Option<(&Features, &str)>,
    settings: &Settings,
) -> (Scores, Vec<Finding>) {
    let new_entities = prompt.map_or(0, |(prompt, _)| {
        let new = response.entities.iter().filter(|entity| !prompt.vocabulary.contains(entity.hash));
        new.take(settings.entities_for_full_score as usize).count()
    });
    let new_keys = prompt.map_or(0, |(_, prompt)| new_keys(response, prompt));
    let mut findings = overconfident_findings(response, settings);
    let overconfident = overconfidence(findings.len(), settings);
    let sides = contradiction(text, response, settings);
    let contradiction = if sides.is_some() { settings.contradiction } else { 0.0 };
    for span in sides.into_iter().flatten() {
        findings.push(finding("hallucination/contradiction", Severity::Low, span));
    }
    let scores = Scores {
        speculative_facts: share(new_entities, settings.entities_for_full_score),
        fabricated_keys: share(new_keys, settings.keys_for_full_score),
        overconfident,
        contradiction,
    };
    (scores, findings)
}

fn new_keys(response: &Features, prompt: &str) -> usize {
    let Some(json) = response.json.as_ref().filter(|json| !json.keys.is_empty()) else { return 0 };
    let prompt = prompt.to_lowercase();
    json.keys.iter().take(KEYS_MAX).filter(|key| !prompt.contains(&key.to_lowercase())).count()
}

fn overconfident_findings(response: &Features, settings: &Settings) -> Vec<Finding> {
    let words = response.phrases.places(Family::Overconfident);
    let numbers = response.phrases.places(Family::HundredPercent).take(usize::from(settings.count_hundred_percent));
    words.chain(numbers).map(|span| finding("hallucination/overconfident", Severity::Info, span)).collect()
}

fn finding(rule: &'static str, severity: Severity, span: Range<usize>) -> Finding {
    Finding::new(rule, severity, "/response", span)
}

/// Both sides of the first contradiction.
fn contradiction(text: &str, response: &Features, settings: &Settings) -> Option<[Range<usize>; 2]> {
    let phrases = &response.phrases;
    let stated = [(Family::Required, Family::Optional), (Family::Must, Family::NeedNot)];
    for (yes, no) in stated {
        if let (Some(yes), Some(no)) = (phrases.places(yes).next(), phrases.places(no).next()) {
            return Some([yes, no]);
        }
    }
    if !settings.extended_pairs {
        return None;
    }
    let extended = [(Family::Can, Family::Cannot), (Family::Will, Family::WillNot), (Family::Always, Family::Never)];
    extended.into_iter().filter(|(yes, no)| phrases.has(*yes) && phrases.has(*no)).find_map(|(yes, no)| {
        let denials: Vec<Sentence> = phrases.places(no).map(|span| Sentence::around(text, span)).collect();
        let is_denial = |span: &Range<usize>| denials.iter().any(|denial| denial.phrase.start == span.start);
        let claims = phrases.places(yes).filter(|span| !is_denial(span)).map(|span| Sentence::around(text, span));
        claims.into_iter().find_map(|claim| {
            let denial = denials.iter().find(|denial| denial.contradicts(&claim, settings.topic_words))?;
            Some([claim.phrase.clone(), denial.phrase.clone()])
        })
    })
}

/// The sentence around a phrase, as the hashes of its content words.
struct Sentence {
    phrase: Range<usize>,
    start: usize,
    topic: Vec<u64>,
    /// The word behind the phrase: what can be done, or cannot.
    verb: Option<u64>,
}

impl Sentence {
    fn around(text: &str, phrase: Range<usize>) -> Sentence {
        let is_end = |byte: &u8| matches!(byte, b'.' | b'!' | b'?' | b'\n');
        let bytes = text.as_bytes();
        let before = &bytes[phrase.start.saturating_sub(SENTENCE_BYTES_MAX)..phrase.start];
        let start = phrase.start - before.iter().rev().take_while(|byte| !is_end(byte)).count();
        let behind = bytes[phrase.end..].iter().take(SENTENCE_BYTES_MAX);
        let end = phrase.end + behind.take_while(|byte| !is_end(byte)).count();
        let mut topic = Vec::new();
        for part in [&bytes[start..phrase.start], &bytes[phrase.end..end]] {
            let part = String::from_utf8_lossy(part);
            let words = part.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2);
            topic.extend(words.map(hash_of).filter(|hash| !is_stopword(*hash)));
        }
        topic.sort_unstable();
        topic.dedup();
        let behind = String::from_utf8_lossy(&bytes[phrase.end..end]);
        let verb = behind.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).map(hash_of);
        Sentence { phrase, start, topic, verb }
    }

    fn contradicts(&self, other: &Sentence, topic_words: u32) -> bool {
        let shared = self.topic.iter().filter(|word| other.topic.binary_search(word).is_ok()).count();
        let same_verb = self.verb.is_some() && self.verb == other.verb;
        self.start != other.start && same_verb && shared >= topic_words as usize
    }
}

/// The numbers of the engine.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How much each term counts.
    pub weights: Weights,
    /// New entities that make a full score.
    pub entities_for_full_score: u32,
    /// New JSON keys that make a full score.
    pub keys_for_full_score: u32,
    /// The score of one overconfident phrase.
    pub overconfident_one: f64,
    /// The score of several.
    pub overconfident_several: f64,
    /// The score of a contradiction.
    pub contradiction: f64,
    /// The highest risk that is `low`.
    pub low_to: f64,
    /// The highest risk that is `medium`.
    pub medium_to: f64,
    /// Whether "100%" is overconfident (seed 000).
    pub count_hundred_percent: bool,
    /// Whether can/cannot, will/will not and always/never contradict each other.
    pub extended_pairs: bool,
    /// Content words that two sentences must share for those pairs.
    pub topic_words: u32,
    /// P(fires | fabricated) / P(fires | not).
    pub likelihood_ratio: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            weights: Weights::default(),
            entities_for_full_score: 5,
            keys_for_full_score: 5,
            overconfident_one: 0.5,
            overconfident_several: 0.8,
            contradiction: 0.7,
            low_to: 0.3,
            medium_to: 0.6,
            count_hundred_percent: true,
            extended_pairs: true,
            topic_words: 2,
            likelihood_ratio: LIKELIHOOD_RATIO,
        }
    }
}

impl Settings {
    /// The letter of seed 001: its six words and its two pairs.
    pub fn seed() -> Settings {
        Settings { count_hundred_percent: false, extended_pairs: false, ..Settings::default() }
    }
}

/// How much each term counts.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Weights {
    /// Weight of new entities.
    pub speculative_facts: f64,
    /// Weight of new JSON keys.
    pub fabricated_keys: f64,
    /// Weight of overconfident words.
    pub overconfident: f64,
    /// Weight of a contradiction.
    pub contradiction: f64,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights { speculative_facts: 0.4, fabricated_keys: 0.3, overconfident: 0.2, contradiction: 0.1 }
    }
}

/// The engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HallucinationRisk {
    settings: Settings,
}

impl HallucinationRisk {
    /// The engine with these numbers.
    pub fn new(settings: Settings) -> HallucinationRisk {
        HallucinationRisk { settings }
    }
}

impl Engine for HallucinationRisk {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        of_response(view, |response| {
            let settings = &self.settings;
            let prompt = (!view.record.prompt.is_absent()).then_some((view.prompt, view.prompt_text));
            let (scores, findings) = examine(response, view.response, prompt, settings);
            let risk = risk(&scores, &settings.weights);
            let label = label(risk, settings);
            let status = Status::from_cuts(risk, settings.low_to.next_up(), settings.medium_to.next_up());
            let ratio = RatioSource::default_or_config(settings.likelihood_ratio, LIKELIHOOD_RATIO);
            let absent = Signal::absent(SIGNAL, Question::Fabricated, Tier::Zero, ratio);
            let signal =
                if label == "low" { Signal { score: risk, ..absent } } else { absent.fire(risk, clause(&scores)) };
            let assessment = Assessment::new(status, risk)
                .with("label", Detail::Label(label))
                .with("speculative_facts", Detail::Number(scores.speculative_facts))
                .with("fabricated_keys", Detail::Number(scores.fabricated_keys))
                .with("overconfident", Detail::Number(scores.overconfident))
                .with("contradiction", Detail::Number(scores.contradiction))
                .signal(signal);
            Assessment { findings, ..assessment }
        })
    }
}

fn clause(scores: &Scores) -> String {
    let terms = [
        (scores.speculative_facts, "names that the prompt does not hold"),
        (scores.fabricated_keys, "JSON keys that the prompt does not hold"),
        (scores.overconfident, "overconfident words"),
        (scores.contradiction, "a contradiction"),
    ];
    let present: Vec<&str> = terms.iter().filter(|(score, _)| *score > 0.0).map(|(_, name)| *name).collect();
    format!("the response shows {}", present.join(", "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scores(prompt: &str, response: &str, settings: &Settings) -> Scores {
        let (prompt_features, features) = (Features::of(prompt), Features::of(response));
        examine(response, &features, Some((&prompt_features, prompt)), settings).0
    }

    #[test]
    fn names_in_the_prompt_are_not_new_in_any_case() {
        let check = |prompt, response, expected| {
            assert_eq!(scores(prompt, response, &Settings::default()).speculative_facts, expected, "{response}");
        };
        check("Ask about Alice Nakamura", "Work by Alice Nakamura goes on in Zurich.", 0.2);
        check("in zurich", "Work by Nakamura's group goes on in Zurich.", 0.2);
        check("x", "1) Paris 2) London 3) Berlin 4) Madrid 5) Rome 6) Oslo", 1.0);
    }

    #[test]
    fn keys_in_the_prompt_are_not_new() {
        let check = |response, expected| {
            assert_eq!(scores("Return STATUS", response, &Settings::default()).fabricated_keys, expected, "{response}");
        };
        check("{\"status\":1,\"alpha\":{\"x\":1}}", 0.2);
        check("[{\"alpha\":1},{\"beta\":1}]", 0.4);
        check("{\"alpha\":1", 0.0);
    }

    #[test]
    fn without_a_prompt_nothing_is_new() {
        let text = "The field is in Vienna. {\"alpha\":1}";
        let (scores, _) = examine(text, &Features::of(text), None, &Settings::default());
        assert_eq!(scores, Scores::default());
    }

    #[test]
    fn a_hundred_percent_is_overconfident_unless_the_letter_of_seed_001_is_asked_for() {
        let text = "It is 100% safe.";
        assert_eq!(scores("x", text, &Settings::default()).overconfident, 0.5);
        assert_eq!(scores("x", text, &Settings::seed()).overconfident, 0.0);
        assert_eq!(scores("x", "Definitely, definitely proven.", &Settings::seed()).overconfident, 0.8);
    }

    #[test]
    fn contradictions() {
        let check = |text, by_default, by_seed| {
            let found = |settings| scores("x", text, &settings).contradiction > 0.0;
            assert_eq!((found(Settings::default()), found(Settings::seed())), (by_default, by_seed), "{text}");
        };
        check("The flag is required. The flag is optional.", true, true);
        check("You must restart it. It does not need to restart.", true, true);
        check("You cannot disable it.", false, false);
        check("It will not start.", false, false);
        check("It always works and never stops.", false, false);
        check("The admin can delete old backups. The admin cannot delete old backups.", true, false);
        check("The admin can delete old backups. Users cannot log in.", false, false);
        check("I can write you a new character sheet. I can't copy the character sheet of the book.", false, false);
        check("The cache will survive a restart. A restart? The cache won\u{2019}t survive it.", true, false);
    }

    #[test]
    fn labels_change_above_their_cuts() {
        let settings = Settings::default();
        let labels = [0.0, 0.3, 0.31, 0.6, 0.61].map(|risk| label(risk, &settings));
        assert_eq!(labels, ["low", "low", "medium", "medium", "high"]);
    }

    proptest! {
        #[test]
        fn the_risk_is_monotone_and_in_range(a in prop::array::uniform4(0.0..=1.0f64), more in 0usize..4) {
            let of = |s: [f64; 4]| Scores {
                speculative_facts: s[0], fabricated_keys: s[1], overconfident: s[2], contradiction: s[3],
            };
            let mut b = a;
            b[more] = 1.0;
            let weights = Weights::default();
            prop_assert!((0.0..=1.0).contains(&risk(&of(a), &weights)));
            prop_assert!(risk(&of(b), &weights) >= risk(&of(a), &weights));
        }

        #[test]
        fn any_text_is_accepted(text in "(can|cannot|will|will not|é|[.!?\n —]|cache|proven|\\{){0,30}") {
            let (_, findings) = examine(&text, &Features::of(&text), None, &Settings::default());
            for finding in findings {
                prop_assert!(text.get(finding.span).is_some());
            }
        }
    }
}
