//! An answer becomes claims: sentences with offsets, and what kind of statement each is.
//!
//! **Formula**: a text is cut into sentences ([`sentence`](crate::text::sentence)); code is not cut. Pieces below
//! [`CLAIM_CHARS_MIN`] characters are no claims.
//!
//! - A *meta statement* says what the documents do not hold ("the documents do not contain"); it is never held against
//!   the answer.
//! - An *outside-knowledge phrase* says that the answer does not rest on them ("based on my knowledge"); it is, whatever
//!   else the claim says.
//! - A question, a request to the reader ("please confirm", "let me know"), an offer and a sentence that declines claim
//!   nothing. Neither does one that announces ("Three things matter:").
//! - Types: `structured` (code, JSON, a row of a table), `mathematical` (an equation, or an operator between numbers),
//!   `citation` (a reference to a source), else `factual`.
//!
//! **Source**: seed 004, "Stage 1: Claim Splitting" and "Hallucination Detection Logic".
//!
//! **Limits**: the phrases are English, those of meta statements also German, French and Spanish.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{engines::language::refusal, text::sentence::split};

/// Characters of the shortest claim (seed 004: fragments below 15 are dropped).
pub const CLAIM_CHARS_MIN: usize = 15;

/// What does not say it.
const SOURCES: &[&str] =
    &["document", "documents", "context", "passage", "passages", "source", "sources", "article", "text"];
/// How.
const DENIALS: &[&str] = &["do not", "does not", "don't", "doesn't"];
/// What it does not do.
const SAYING: &[&str] = &["contain", "provide", "mention", "specify", "state", "include", "indicate", "say"];

/// What says that the documents are silent, besides each of [`SOURCES`] with [`DENIALS`] and [`SAYING`]. The apostrophe is straight or curly.
const META_STATEMENTS: &[&str] = &[
    "i don't have information",
    "can't find information",
    "cannot find information",
    "no specific information",
    "no information is provided",
    "no information about",
    "not mentioned in the",
    "not provided in the",
    "not specified in the",
    "i could not find",
    "i couldn't find",
    "unable to answer",
    "not enough information",
    "keine informationen",
    "keine angaben",
    "dokumente sagen nichts",
    "geht nicht hervor",
    "nicht erwähnt",
    "aucune information",
    "ne mentionne pas",
    "ne mentionnent pas",
    "ne contient pas",
    "ne contiennent pas",
    "no hay información",
    "no se menciona",
    "no contiene información",
    "no contienen información",
];

/// What says that the answer does not rest on the documents.
const OUTSIDE_KNOWLEDGE: &[&str] = &[
    "based on my knowledge",
    "based on general knowledge",
    "from my training",
    "i know that",
    "generally speaking",
    "it is well known",
    "as we all know",
    "in my understanding",
];

/// How a sentence begins that asks the reader for something, and claims nothing.
const REQUESTS: &[&str] = &[
    "i can also",
    "i can help you",
    "i can help with",
    "i'd be happy to",
    "i'd be glad to",
    "i would be happy to",
    "i'm happy to",
    "happy to help",
    "if you wish",
    "if you want me to",
    "if you tell me",
    "could you",
    "tell me",
    "bitte",
    "gerne",
    "wenn sie möchten",
    "wenn du möchtest",
    "falls sie",
    "falls du",
    "sagen sie mir",
    "sag mir",
    "lassen sie mich wissen",
    "n'hésitez pas",
    "n\u{2019}hésitez pas",
    "si vous souhaitez",
    "si vous voulez",
    "dites-moi",
    "por favor",
    "si desea",
    "si quieres",
    "si lo desea",
    "dígame",
    "avísame",
    "no dude en",
    "please",
    "let me know",
    "feel free",
    "if you need",
    "if you have",
    "if you'd like",
    "if you would like",
    "if so, please",
    "once you",
    "kindly",
];

/// How a sentence begins that is polite, and claims nothing when it is short.
const COURTESIES: &[&str] = &[
    "you're welcome",
    "you\u{2019}re welcome",
    "you are welcome",
    "thank you",
    "thanks",
    "hello",
    "hi",
    "hey",
    "good morning",
    "good afternoon",
    "of course",
    "certainly",
    "sure",
    "glad to help",
    "happy to help",
    "i'm happy to help",
    "i hope this helps",
    "i hope that helps",
    "have a",
];
/// Words of the longest such sentence.
const COURTESY_WORDS_MAX: usize = 8;

static PHRASES: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let combined = SOURCES.iter().flat_map(|source| {
        let of_source = move |denial: &'static str| SAYING.iter().map(move |verb| format!("{source} {denial} {verb}"));
        DENIALS.iter().copied().flat_map(of_source)
    });
    let straight: Vec<String> = META_STATEMENTS.iter().map(|phrase| (*phrase).to_owned()).chain(combined).collect();
    let curly = straight.iter().map(|phrase| phrase.replace('\'', "\u{2019}"));
    let mut patterns: Vec<String> = OUTSIDE_KNOWLEDGE.iter().map(|phrase| (*phrase).to_owned()).collect();
    patterns.extend(curly);
    patterns.extend(straight);
    AhoCorasickBuilder::new().ascii_case_insensitive(true).build(patterns).ok()
});

/// What a claim states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimType {
    /// An equation, or numbers with an operator between them.
    Mathematical,
    /// A statement in words.
    Factual,
    /// Code, JSON, or a row of a table.
    Structured,
    /// A reference to a source.
    Citation,
}

impl ClaimType {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            ClaimType::Mathematical => "mathematical",
            ClaimType::Factual => "factual",
            ClaimType::Structured => "structured",
            ClaimType::Citation => "citation",
        }
    }
}

/// One sentence of an answer, or one piece of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Where it stands, without the white space around it.
    pub span: Range<usize>,
    /// Whether it is long enough to claim anything.
    pub is_claim: bool,
    /// What it states.
    pub claim_type: ClaimType,
    /// Whether it asks the reader something, or for something, offers it, or declines.
    pub is_question: bool,
    /// Whether it announces what follows, and says nothing itself.
    pub announces: bool,
    /// Whether it says that the documents are silent.
    pub is_meta: bool,
    /// Whether it says that it does not rest on the documents.
    pub has_outside_phrase: bool,
}

/// The sentences of an answer in order; `code` is what is not to be cut.
pub fn claims(text: &str, code: &[Range<usize>]) -> Vec<Claim> {
    let mut claims = Vec::new();
    split(text, code, |span| {
        let said = &text[span.clone()];
        let (is_meta, has_outside_phrase) = phrases(said);
        let is_claim = said.len() >= CLAIM_CHARS_MIN && said.chars().count() >= CLAIM_CHARS_MIN;
        let around = code.get(code.partition_point(|code| code.end <= span.start));
        let is_code = around.is_some_and(|code| code.start <= span.start && span.end <= code.end);
        let claim_type = if is_code { ClaimType::Structured } else { claim_type(said) };
        let is_question = asks(said) || refusal::declines(said);
        let announces = announces(said);
        claims.push(Claim { span, is_claim, claim_type, is_question, announces, is_meta, has_outside_phrase });
    });
    claims
}

/// Whether a sentence ends with a colon and holds no digits: "Here are the dates:".
fn announces(said: &str) -> bool {
    let head = said.trim_end_matches(['*', '_', ' ']);
    head.ends_with([':', '\u{ff1a}']) && !head.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a sentence ends with a question mark or begins as a request does.
fn asks(said: &str) -> bool {
    let is_question = said.trim_end_matches(['"', '\'', ')', '*', '\u{201d}']).ends_with(['?', '\u{ff1f}']);
    let head = said.trim_start_matches(|c: char| !c.is_alphanumeric());
    let begins_with = |request: &str| {
        let (Some(begin), Some(rest)) = (head.get(..request.len()), head.get(request.len()..)) else { return false };
        begin.eq_ignore_ascii_case(request) && !rest.starts_with(char::is_alphanumeric)
    };
    let is_courtesy = || {
        !said.bytes().any(|byte| byte.is_ascii_digit())
            && COURTESIES.iter().any(|courtesy| begins_with(courtesy))
            && said.split_whitespace().take(COURTESY_WORDS_MAX + 1).count() <= COURTESY_WORDS_MAX
    };
    is_question || REQUESTS.iter().any(|request| begins_with(request)) || is_courtesy()
}

/// Whether a sentence says that the documents are silent.
pub fn is_meta_statement(text: &str) -> bool {
    phrases(text).0
}

/// Whether a sentence says that it does not rest on the documents.
pub fn has_outside_phrase(text: &str) -> bool {
    phrases(text).1
}

fn phrases(text: &str) -> (bool, bool) {
    let Some(finder) = &*PHRASES else { return (false, false) };
    let (mut is_meta, mut is_outside) = (false, false);
    for found in finder.find_iter(text) {
        let index = found.pattern().as_usize();
        is_outside |= index < OUTSIDE_KNOWLEDGE.len();
        is_meta |= index >= OUTSIDE_KNOWLEDGE.len();
    }
    (is_meta, is_outside)
}

/// What a sentence states.
pub fn claim_type(text: &str) -> ClaimType {
    let bytes = text.as_bytes();
    let is_json = matches!(bytes, [b'{', .., b'}'] | [b'[', .., b'}' | b']']) && bytes.contains(&b'"');
    if is_json || bytes.iter().filter(|byte| **byte == b'|').count() >= 2 {
        return ClaimType::Structured;
    }
    if has_equation(bytes) {
        return ClaimType::Mathematical;
    }
    if has_citation(text) { ClaimType::Citation } else { ClaimType::Factual }
}

/// An equals sign with a number beside it, or an operator between two numbers.
fn has_equation(bytes: &[u8]) -> bool {
    let before = |at: usize| bytes[..at].iter().rev().find(|byte| **byte != b' ').is_some_and(u8::is_ascii_digit);
    let behind = |at: usize| bytes[at + 1..].iter().find(|byte| **byte != b' ').is_some_and(u8::is_ascii_digit);
    memchr::memchr3_iter(b'=', b'+', b'*', bytes).any(|at| {
        let is_equals = bytes[at] == b'=';
        if is_equals { before(at) || behind(at) } else { before(at) && behind(at) }
    })
}

/// `[3]`, "et al.", "passage 2", "according to", or an address.
fn has_citation(text: &str) -> bool {
    let bytes = text.as_bytes();
    let bracketed = memchr::memchr_iter(b'[', bytes).any(|at| {
        let digits =
            bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b' ')).count();
        (1..=8).contains(&digits) && bytes.get(at + 1 + digits) == Some(&b']')
    });
    static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let words = ["et al.", "http://", "https://", "doi:", "according to ", "passage ", "source: "];
        AhoCorasickBuilder::new().ascii_case_insensitive(true).build(words).ok()
    });
    bracketed || WORDS.as_ref().is_some_and(|words| words.is_match(text))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn split_of(text: &str) -> Vec<&str> {
        let code = crate::text::code::code_ranges(text);
        let claims = claims(text, &code).into_iter().filter(|claim| claim.is_claim);
        claims.map(|claim| &text[claim.span]).collect()
    }

    /// Vectors in which our rule is better, and stands.
    const OUR_RULE_STANDS: [&str; 4] = ["claim_split/024", "claim_split/027", "claim_split/028", "claim_split/040"];

    fn vectors() -> impl Iterator<Item = Value> {
        let lines = include_str!("../../../fixtures/golden/claims.jsonl").lines();
        lines
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|vector| vector["agrees_with_seed"] == true)
    }

    #[test]
    fn questions_and_requests_ask() {
        for (said, expected) in [
            ("Which one would you like to change?", true),
            ("- **Please** let me know the date.", true),
            ("Let me know if that suits you.", true),
            ("Pleased visitors come again.", false),
            ("If the flight is late, the fare is refunded.", false),
        ] {
            assert_eq!(asks(said), expected, "{said}");
        }
    }

    #[test]
    fn golden_vectors_bind() {
        let mut bound = [0; 3];
        for vector in vectors() {
            let (id, engine) = (vector["id"].as_str().unwrap(), vector["engine"].as_str().unwrap());
            let text = vector["input"]["text"].as_str().or(vector["input"]["claim"].as_str()).unwrap_or_default();
            match engine {
                "claim_split" if !OUR_RULE_STANDS.iter().any(|ours| id.ends_with(ours)) => {
                    let fold = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                    let found: Vec<String> = split_of(text).into_iter().map(fold).collect();
                    assert_eq!(serde_json::to_value(found).unwrap(), vector["expected"]["claims"], "{id}");
                    bound[0] += 1;
                }
                "meta_statement" => {
                    assert_eq!(is_meta_statement(text), vector["expected"]["is_meta_statement"], "{id} {text}");
                    bound[1] += 1;
                }
                "hallucination_pattern" => {
                    assert_eq!(has_outside_phrase(text), vector["expected"]["has_pattern"], "{id} {text}");
                    bound[2] += 1;
                }
                _ => {}
            }
        }
        assert!(bound.iter().all(|count| *count >= 12), "{bound:?}");
    }

    #[test]
    fn sentences_end_where_a_reader_stops() {
        for (text, expected) in [
            ("Fifteen chars..", &["Fifteen chars.."][..]),
            ("He said \"It works.\" Then he left the room.", &["He said \"It works.\"", "Then he left the room."]),
            (
                "1. Open the console panel. 2. Choose the region.",
                &["1. Open the console panel.", "2. Choose the region."],
            ),
            ("- bullet one is here\n- bullet two is here", &["- bullet one is here", "- bullet two is here"]),
            ("The meeting is at 5 p.m. Bring the documents.", &["The meeting is at 5 p.m.", "Bring the documents."]),
            ("The U.S. Senate met. See Fig. 3 for the votes.", &["The U.S. Senate met.", "See Fig. 3 for the votes."]),
            ("J. R. R. Tolkien wrote it. Read No. 7 first.", &["J. R. R. Tolkien wrote it.", "Read No. 7 first."]),
            ("Run `a. b! c? D` before the rest of it.", &["Run `a. b! c? D` before the rest of it."]),
            (
                "\u{6e29}\u{5ea6}\u{306f}\u{4e8c}\u{5341}\u{5ea6}\u{3067}\u{3042}\u{308a}\u{3001}\u{5bd2}\u{3044}\u{3067}\u{3059}\u{306d}\u{3002}\u{6e7f}\u{5ea6}\u{306f}\u{516d}\u{5341}\u{3067}\u{3059}\u{3002}",
                &[
                    "\u{6e29}\u{5ea6}\u{306f}\u{4e8c}\u{5341}\u{5ea6}\u{3067}\u{3042}\u{308a}\u{3001}\u{5bd2}\u{3044}\u{3067}\u{3059}\u{306d}\u{3002}",
                ],
            ),
        ] {
            assert_eq!(split_of(text), expected, "{text}");
        }
    }

    #[test]
    fn claims_have_types() {
        for (text, expected) in [
            ("The sum is 3 + 4 = 7.", ClaimType::Mathematical),
            ("The tower stands in Paris.", ClaimType::Factual),
            ("| a | b |", ClaimType::Structured),
            ("{\"a\": 1}", ClaimType::Structured),
            ("It was built in 1889 [2].", ClaimType::Citation),
            ("According to passage 3, it is tall.", ClaimType::Citation),
        ] {
            assert_eq!(claim_type(text), expected, "{text}");
        }
    }
}
