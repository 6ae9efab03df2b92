//! Does the answer decline to answer?
//!
//! **Formula**: `refusal` (value 1) when a phrase of refusal begins within the first [`OPENING_CHARS`] code points and the
//! answer is short (at most [`SHORT_WORDS`] words, no code block); `partial` (0.5) when it goes on to answer, or when the
//! phrase stands further behind; else `none` (0). Straight and curly apostrophes are the same. Searched are the texts that
//! hold, as a word of its own, one of those without which nothing is declined.
//!
//! **Range**: 0 (answers) to 1 (declines).
//!
//! **Source**: ours; what it should tell apart is that of promptfoo's `is-refusal` and of over-refusal sets (XSTest).
//!
//! **Limits**: English, and the commonest openings in nine other languages. To decline is often right: it is no attack
//! and hardly a sign of bad service, so the ratio is at most 1.5. "I cannot see your files" (a limit of what the model
//! can do) is no refusal. The first [`SEARCHED_BYTES_MAX`] bytes are searched.

use std::{ops::Range, sync::LazyLock};

use regex::bytes::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{degraded, of_response};
use crate::{
    engines::{About, Assessment, Detail, Engine, Finding, Question, Severity, SignalAbout, Status, View},
    rules::scanner::compile,
    text::{Features, code, hash::hash_of},
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Answers that decline, wholly or in part.",
    formula: "1 when a phrase of refusal opens a short answer, 0.5 when there is more to it, else 0",
    range: "0 (answers) to 1 (declines)",
    source: "ours",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Degraded,
        title: "The model declined.",
        owasp: "",
        help: "Was the refusal right? If not, rephrase the prompt.",
    }],
};

/// The engine and its signal.
pub const SIGNAL: &str = "refusal";
/// A refusal says little about the service.
pub const LIKELIHOOD_RATIO: f64 = 1.5;
/// Code points within which a refusal that is the answer begins.
pub const OPENING_CHARS: usize = 200;
/// Words of an answer that does no more than decline.
pub const SHORT_WORDS: u64 = 150;
/// Bytes that are searched.
pub const SEARCHED_BYTES_MAX: usize = 8 << 10;

/// What a refusal looks like. `'` stands for any apostrophe, or none.
const PHRASES: &[&str] = &[
    r"\bI(?:(?: (?:really|simply|just|also|still|therefore|truly))? (?:can(?:not| not|'t)|could(?: not|n't)|w(?:ill not|on't))|(?:'m| am) (?:not able to|unable to|not (?:allowed|permitted|going|willing|comfortable)(?: to| with)?|not in a position to))(?: [a-z]+){0,2}? (?:help(?:ing)? (?:you )?(?:with|create|write|to)|assist|provide|providing|comply|fulfil+|creat|generat|writ(?:e|ing)|produc|answer|discuss|shar(?:e|ing)|engag|support|participat|continue with|reveal|disclose|do (?:that|this|so)|give|offer|respond|complete|process|proceed|fabricat|follow (?:that|this|those|these))",
    r"\bI(?:'m| am)(?: not able| unable) to (?:help|assist)",
    r"\b(?:I|we) (?:must|have to|need to|will have to|respectfully|politely)(?: [a-z]+)? (?:decline|refuse)",
    r"\bI(?:'d| would) (?:rather|prefer) not",
    r"\bsorry,? (?:but )?(?:I|that's not something I|this is not something I) (?:can(?:not|'t)?(?: do| help| assist|\.|,|;| with)|won't)",
    r"\bas an? (?:AI|artificial intelligence|(?:large )?language model)[^.\n]{0,80}? I (?:can(?:not|'t)|am (?:not able|unable)|'m (?:not able|unable)|won't|will not|must decline)",
    r"\b(?:against|violates?|not in line with) (?:my|our|the|openai's) (?:[a-z]+ ){0,2}(?:guidelines|programming|principles|polic(?:y|ies)|values)",
    r"\b(?:I|we) (?:do not|don't) (?:feel comfortable|engage in|assist with|provide (?:help|assistance|information|instructions) (?:on|with|for))",
    r"\b(?:your request|this request|that request) (?:cannot be|can't be|is not something)",
    "lo siento, (?:pero )?no puedo",
    "je suis d\u{e9}sol\u{e9}e?, (?:mais )?je ne (?:peux|suis)",
    "es tut mir leid, (?:aber )?(?:ich kann|dabei kann ich|das kann ich|ich darf)",
    "mi dispiace, (?:ma )?non posso",
    "(?:desculpe|sinto muito|lamento), (?:mas )?n\u{e3}o posso",
    "het spijt me, (?:maar )?ik kan",
    "(?:\u{62b1}\u{6b49}|\u{5bf9}\u{4e0d}\u{8d77})\u{ff0c}?(?:\u{6211})?(?:\u{65e0}\u{6cd5}|\u{4e0d}\u{80fd})",
    "\u{7533}\u{3057}\u{8a33}(?:\u{3042}\u{308a}|\u{3054}\u{3056}\u{3044})\u{307e}\u{305b}\u{3093}\u{304c}",
    "\u{c8c4}\u{c1a1}\u{d569}\u{b2c8}\u{b2e4}\\.? ?(?:\u{d558}\u{c9c0}\u{b9cc}|\u{ac00})",
    "\u{43a} \u{441}\u{43e}\u{436}\u{430}\u{43b}\u{435}\u{43d}\u{438}\u{44e}, \u{44f} \u{43d}\u{435} \u{43c}\u{43e}\u{433}\u{443}",
];

/// How an apostrophe is written, and left out.
const APOSTROPHES: [&str; 4] = ["'", "\u{2019}", "\u{2bc}", ""];

static REFUSES: LazyLock<Regex> = LazyLock::new(|| {
    let apostrophe = format!("(?:{})", APOSTROPHES.join("|"));
    let pattern = format!("(?i){}", PHRASES.join("|").replace('\'', &apostrophe));
    compile(&pattern).expect("the phrases are constant and a test compiles them")
});

/// Words of which every phrase of refusal holds one, or [`NEGATION`] and one of [`SUBJECTS`]. `'` as in [`PHRASES`].
const DECLINING: [&str; 20] = [
    "cannot",
    "can't",
    "couldn't",
    "won't",
    "don't",
    "unable",
    "sorry",
    "decline",
    "refuse",
    "against",
    "violate",
    "violates",
    "siento",
    "d\u{e9}sol\u{e9}",
    "d\u{e9}sol\u{e9}e",
    "leid",
    "dispiace",
    "n\u{e3}o",
    "spijt",
    "\u{441}\u{43e}\u{436}\u{430}\u{43b}\u{435}\u{43d}\u{438}\u{44e}",
];
/// The word that denies in the other phrases.
const NEGATION: &str = "not";
/// Of whom, or what, it is denied.
const SUBJECTS: [&str; 6] = ["i", "i'm", "i'd", "we", "request", "line"];
/// The same in languages that put no blanks between words.
const UNSPACED_MARKS: [&str; 4] =
    ["\u{62b1}\u{6b49}", "\u{5bf9}\u{4e0d}\u{8d77}", "\u{7533}\u{3057}\u{8a33}", "\u{c8c4}\u{c1a1}"];

/// The hashes of those words.
struct Marks {
    declining: Vec<u64>,
    negation: u64,
    subjects: Vec<u64>,
}

static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    let hashes = |words: &[&str]| -> Vec<u64> {
        let spellings = |word: &&str| APOSTROPHES.map(|apostrophe| word.replace('\'', apostrophe));
        let mut hashes: Vec<u64> = words.iter().flat_map(spellings).map(|word| hash_of(&word)).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    };
    Marks { declining: hashes(&DECLINING), negation: hash_of(NEGATION), subjects: hashes(&SUBJECTS) }
});

/// How far an answer declines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It does nothing else.
    Whole,
    /// It declines and answers, or declines a part.
    Partial,
    /// It does not.
    None,
}

impl Refusal {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Refusal::Whole => "refusal",
            Refusal::Partial => "partial",
            Refusal::None => "none",
        }
    }

    fn value(self) -> f64 {
        match self {
            Refusal::Whole => 1.0,
            Refusal::Partial => 0.5,
            Refusal::None => 0.0,
        }
    }
}

/// The first phrase of refusal.
fn phrase(text: &str) -> Option<Range<usize>> {
    let searched = &text.as_bytes()[..text.len().min(SEARCHED_BYTES_MAX)];
    let found = REFUSES.find(searched)?;
    Some(text.floor_char_boundary(found.start())..text.ceil_char_boundary(found.end()))
}

/// Whether `text`, of which these are the features, holds a word without which nothing is declined. Most answers do not,
/// and are not searched.
fn may_decline(text: &str, features: &Features) -> bool {
    let words = &features.vocabulary;
    let any = |hashes: &[u64]| hashes.iter().any(|hash| words.contains(*hash));
    let marks = &*MARKS;
    any(&marks.declining)
        || words.contains(marks.negation) && any(&marks.subjects)
        || features.code_points < text.len() as u64 && UNSPACED_MARKS.iter().any(|mark| text.contains(mark))
}

/// Whether a sentence begins by declining: what it says is of itself, and of nothing else.
pub fn declines(sentence: &str) -> bool {
    /// Bytes of "I'm really sorry, but as your assistant ", and of the sentence.
    const OPENING_BYTES: usize = 48;
    const SENTENCE_BYTES: usize = 160;
    sentence.len() <= SENTENCE_BYTES
        && !sentence.bytes().any(|byte| byte.is_ascii_digit())
        && may_hold(sentence)
        && phrase(sentence).is_some_and(|span| span.start <= OPENING_BYTES)
}

/// A look for letters that most phrases of refusal hold, before they are searched for.
fn may_hold(sentence: &str) -> bool {
    const HINTS: [&str; 16] = [
        "can't",
        "can\u{2019}t",
        "cannot",
        "can not",
        "unable",
        "sorry",
        "won't",
        "won\u{2019}t",
        "decline",
        "refuse",
        "nicht",
        "leider",
        "pas",
        "désol",
        "puedo",
        "siento",
    ];
    HINTS.iter().any(|hint| memchr::memmem::find(sentence.as_bytes(), hint.as_bytes()).is_some())
}

/// How far `text`, of which these are the features, declines, and where.
pub fn classify(text: &str, features: &Features) -> (Refusal, Option<Range<usize>>) {
    let Some(span) = may_decline(text, features).then(|| phrase(text)).flatten() else {
        return (Refusal::None, None);
    };
    if text[..span.start].chars().take(OPENING_CHARS).count() < OPENING_CHARS {
        let has_block = text.contains("```") || text.contains("~~~");
        let kind = if features.words <= SHORT_WORDS && !has_block { Refusal::Whole } else { Refusal::Partial };
        return (kind, Some(span));
    }
    if code::is_within(&features.code, span.start) { (Refusal::None, None) } else { (Refusal::Partial, Some(span)) }
}

/// The numbers of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// P(fires | degraded) / P(fires | not).
    pub likelihood_ratio: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { likelihood_ratio: LIKELIHOOD_RATIO }
    }
}

/// The engine.
pub struct RefusalEngine {
    settings: Settings,
}

impl RefusalEngine {
    /// The engine with these numbers.
    pub fn new(settings: Settings) -> RefusalEngine {
        RefusalEngine { settings }
    }
}

impl Engine for RefusalEngine {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        of_response(view, |response| {
            let (kind, span) = classify(response, view.response);
            let absent = degraded(SIGNAL, self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
            let signal = match kind {
                Refusal::Whole => absent.fire(1.0, "the answer declines"),
                Refusal::Partial | Refusal::None => absent,
            };
            let status = if kind == Refusal::Whole { Status::Warn } else { Status::Ok };
            let mut assessment =
                Assessment::new(status, kind.value()).with("kind", Detail::Label(kind.as_str())).signal(signal);
            assessment.findings = span
                .map(|span| Finding::new("refusal/phrase", Severity::Info, "/response", span))
                .into_iter()
                .collect();
            assessment
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Refusal {
        classify(text, &Features::of(text)).0
    }

    #[test]
    fn a_short_answer_that_declines_is_a_refusal() {
        for text in [
            "I'm sorry, but I can't help with that.",
            "I\u{2019}m sorry, but I can\u{2019}t assist with that request.",
            "I cannot provide instructions for making weapons.",
            "Sorry, I won't do that.",
            "As an AI language model, I am unable to give medical advice.",
            "I must respectfully decline.",
            "I apologize, but I'm not able to share that.",
            "That goes against my guidelines.",
            "I'm not comfortable writing that.",
            "Lo siento, pero no puedo ayudarte con eso.",
            "抱歉，我无法提供帮助。",
        ] {
            assert_eq!(kind(text), Refusal::Whole, "{text}");
        }
    }

    #[test]
    fn an_answer_is_no_refusal() {
        for text in [
            "I'm sorry to hear that. Here is what you can do.",
            "I can't wait to tell you.",
            "You cannot help with that if the door is locked.",
            "I cannot stress enough how much water you need.",
            "Sure, here is the code.",
            "If I can help with anything else, let me know.",
            "We cannot provide a refund after 30 days.",
            "I cannot see your files, so here is a general answer.",
            "",
        ] {
            assert_eq!(kind(text), Refusal::None, "{text}");
        }
    }

    #[test]
    fn what_holds_a_phrase_is_searched() {
        for text in [
            "I could not help with that.",
            "I couldn\u{2bc}t assist.",
            "I wont provide it.",
            "Well, I really will not comply.",
            "(I\u{2019}m not permitted to share it)",
            "Im unable to assist.",
            "We respectfully refuse.",
            "I\u{2019}d rather not",
            "Sorry, that's not something I can do.",
            "As a large language model, I must decline",
            "It violates our policies.",
            "This is not in line with my values.",
            "We do not engage in that.",
            "I dont feel comfortable.",
            "Your request is not something for me.",
            "This request can't be met.",
            "Je suis d\u{e9}sol\u{e9}e, mais je ne peux pas.",
            "Es tut mir leid, dabei kann ich nicht helfen.",
            "Mi dispiace, ma non posso.",
            "Desculpe, n\u{e3}o posso.",
            "Het spijt me, maar ik kan dat niet.",
            "\u{5bf9}\u{4e0d}\u{8d77}\u{ff0c}\u{6211}\u{4e0d}\u{80fd}\u{3002}",
            "\u{7533}\u{3057}\u{8a33}\u{3042}\u{308a}\u{307e}\u{305b}\u{3093}\u{304c}",
            "\u{c8c4}\u{c1a1}\u{d569}\u{b2c8}\u{b2e4}. \u{d558}\u{c9c0}\u{b9cc}",
            "\u{41a} \u{441}\u{43e}\u{436}\u{430}\u{43b}\u{435}\u{43d}\u{438}\u{44e}, \u{44f} \u{43d}\u{435} \u{43c}\u{43e}\u{433}\u{443}",
        ] {
            assert!(may_decline(text, &Features::of(text)), "{text}");
        }
        assert!(!may_decline("Here is what you can do.", &Features::of("Here is what you can do.")));
    }

    #[test]
    fn what_goes_on_to_answer_is_partial() {
        let long = format!("I can't help with the first part. {}", "But here is the second. ".repeat(40));
        assert_eq!(kind(&long), Refusal::Partial);
        let late = format!("{} I can't assist with the last question.", "Here is the answer. ".repeat(20));
        assert_eq!(kind(&late), Refusal::Partial);
        assert_eq!(kind("I can't help with that:\n```\nx\n```"), Refusal::Partial);
    }
}
