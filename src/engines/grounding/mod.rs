//! Does the answer rest on the documents that were given to the model?
//!
//! - [`claims`]: answer → claims, with offsets and types
//! - [`tokens`], [`idf`]: words by their stems, and how much they tell
//! - [`index`], [`fields`], [`numbers`]: what the sources say
//! - [`support`], [`compression`]: what of a sentence they do not bear out
//! - [`ratios`], [`trust`]: measures → verdicts, trust score and evidence
//!
//! **Formula**: the sources are the record's context; without one, what tools answered in the conversation; without that,
//! a prompt of at least [`PROMPT_BYTES_MIN`] bytes that says that it hands a text over ("the following text", "based on
//! the", "context:"). Each sentence of the answer is measured against them and becomes supported, contradicted,
//! unsupported or not assessed. value = 1 - trust score; `warn` with an unsupported claim, `error` with a contradicted
//! one. Each context has a *relevance*: the share of the question's content words, weighed by idf, that it holds.
//!
//! **Range**: 0 (all claims are supported) to 1 (none is).
//!
//! **Source**: seed 004; the lexical support in the place of its two models, and the fit, are ours.
//!
//! **Limits**: words are compared, not meanings: a paraphrase is an invention, and known words put together wrongly are
//! not seen. The stemmer, the weights and the phrases are English, and names are looked for in English answers only; scripts without blanks are compared by pairs of
//! characters, and the detail `script` says so. Only a context votes, since the ratios were fitted on contexts; a trust
//! score by other sources is reported without a vote. [`CLAIMS_MAX`] sentences are looked at.

pub mod claims;
pub mod compression;
pub mod fields;
pub mod idf;
pub mod index;
pub mod numbers;
pub mod ratios;
pub mod support;
pub mod table;
pub mod tokens;
pub mod trust;

use std::{borrow::Cow, cell::RefCell, ops::Range};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{
    claims::{Claim, ClaimType},
    compression::Matcher,
    index::Index,
    ratios::fitted,
    support::{Scratch, Support, measure},
    tokens::Token,
    trust::{ClaimVerdict, Gathered, RESPONSE_CLAUSES, RESPONSE_MEASURES, Reason},
};
use super::{About, Assessment, Detail, Engine, Finding, Question, RatioSource, Severity, Signal, Status, Tier, View};
use crate::record::{Kind, Prompt, Record};

/// The engine.
pub const ENGINE: &str = "grounding";
/// The signal of a claim that the seed calls a hallucination.
pub const HALLUCINATION: &str = "grounding_hallucination";
/// Its ratio: a short answer that copies its source and changes one number is flagged. The seed flags such a claim
/// whatever else is said; it is too rare in the labelled answers (9 of 1,626) to be fitted.
pub const HALLUCINATION_RATIO: f64 = 30.0;
/// The ratio where a yes/no field is said to be the opposite, beside the fitted measure of such fields, which an answer
/// that is borne out otherwise outweighs.
pub const FLIPPED_RATIO: f64 = 3.0;
/// Sentences of an answer that are looked at.
pub const CLAIMS_MAX: usize = 2_000;
/// Claims that are kept for the report.
pub const CLAIMS_KEPT_MAX: usize = 50;
/// Bytes of a prompt that can be a source.
pub const PROMPT_BYTES_MIN: usize = 600;
/// Bytes at each end of a prompt in which it says that it hands a text over.
pub const HANDING_BYTES: usize = 400;
/// Contexts of which the relevance is reported.
pub const RELEVANCES_MAX: usize = 32;

/// What a prompt says that hands a text over.
const HANDING_PHRASES: [&str; 18] = [
    "following text",
    "following article",
    "following passage",
    "following document",
    "following news",
    "following context",
    "following transcript",
    "context:",
    "<context",
    "<document",
    "sources:",
    "search results",
    "passage:",
    "document:",
    "article:",
    "based on the",
    "based only on",
    "summarize the",
];

/// From where the sources of a record come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// The record's context.
    Context,
    /// What tools answered in the conversation.
    ToolResults,
    /// The prompt itself.
    Prompt,
}

impl SourceKind {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            SourceKind::Context => "context",
            SourceKind::ToolResults => "tool_results",
            SourceKind::Prompt => "prompt",
        }
    }
}

/// One claim, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedClaim {
    /// Where it stands in the answer.
    pub span: Range<usize>,
    /// What kind of statement it is.
    pub claim_type: ClaimType,
    /// What is said of it.
    pub verdict: ClaimVerdict,
    /// Why.
    pub reason: Reason,
    /// P(the sources bear it out) by the measures; 0 where a rule says that they contradict it.
    pub support: f64,
    /// The part that they do not, where it can be named.
    pub part: Option<Range<usize>>,
    /// The closest sentence of the sources: field and bytes.
    pub evidence: Option<(Cow<'static, str>, Range<usize>)>,
}

/// What is said of an answer and its sources.
#[derive(Clone, Debug, PartialEq)]
pub struct Grounding {
    /// From where the sources come.
    pub source: SourceKind,
    /// Supported claims / all claims.
    pub trust_score: f64,
    /// Claims by verdict, in the order of [`ClaimVerdict`].
    pub counts: [u32; 4],
    /// How much of the question each context holds.
    pub relevance: Vec<f64>,
    /// The first [`CLAIMS_KEPT_MAX`] claims.
    pub claims: Vec<JudgedClaim>,
}

/// The sources of a record, in order, with their fields; empty when there are none.
fn sources<'r>(record: &'r Record<'_>, prompt: &str, settings: &Settings) -> (SourceKind, Vec<(String, &'r str)>) {
    if !record.context.is_empty() {
        let passages = record.context.iter().enumerate();
        return (
            SourceKind::Context,
            passages.map(|(at, passage)| (format!("/context/{at}"), &*passage.text)).collect(),
        );
    }
    if let Prompt::Messages(messages) = &record.prompt {
        let results = messages.iter().enumerate().filter(|(_, said)| matches!(&*said.role, "tool" | "function"));
        let found: Vec<_> = results.map(|(at, said)| (format!("/prompt/{at}/text"), &*said.text)).collect();
        if !found.is_empty() {
            return (SourceKind::ToolResults, found);
        }
    }
    if prompt.len() < settings.prompt_bytes_min || !hands_over(prompt) {
        return (SourceKind::Prompt, Vec::new());
    }
    let field = |at: Option<usize>| at.map_or_else(|| "/prompt".to_owned(), |at| format!("/prompt/{at}/text"));
    (SourceKind::Prompt, record.prompt.texts().map(|(at, text)| (field(at), text)).collect())
}

/// Whether a prompt says, at one of its ends, that it hands a text over.
fn hands_over(prompt: &str) -> bool {
    let bytes = prompt.as_bytes();
    let head = &bytes[..bytes.len().min(HANDING_BYTES)];
    let tail = &bytes[bytes.len().saturating_sub(HANDING_BYTES)..];
    [head, tail].into_iter().any(|part| {
        let part = part.to_ascii_lowercase();
        HANDING_PHRASES.iter().any(|phrase| memchr::memmem::find(&part, phrase.as_bytes()).is_some())
    })
}

/// Room that is used again for every record; nothing of a record is read by the next.
#[derive(Default)]
struct Room {
    index: Index,
    matcher: Matcher,
    scratch: Scratch,
    tokens: Vec<Token>,
    costs: Vec<f64>,
}

thread_local! {
    static ROOM: RefCell<Room> = RefCell::default();
}

/// A sentence with what was measured of it.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The sentence.
    pub claim: Claim,
    /// What the sources say of it.
    pub support: Support,
    /// P(unsupported).
    pub unsupported: f64,
    /// The closest sentence of the sources: passage and bytes.
    pub evidence: Option<(u32, Range<usize>)>,
}

impl Measured {
    /// Whether it counts for the answer: a statement with something to compare, no question and no meta statement.
    pub fn counts(&self) -> bool {
        !self.claim.is_meta
            && !self.claim.is_question
            && self.claim.claim_type != ClaimType::Structured
            && self.support.checked > 0
    }
}

/// An answer, measured against its sources.
#[derive(Clone, Debug)]
pub struct Examined {
    /// Its sentences.
    pub sentences: Vec<Measured>,
    /// By the order of [`RESPONSE_MEASURES`].
    pub measures: [f64; RESPONSE_MEASURES.len()],
    /// How much of the question each of the first [`RELEVANCES_MAX`] sources holds.
    pub relevance: Vec<f64>,
    /// Whether the sources are in a script without blanks, wholly or in part.
    pub has_pairs: bool,
    /// Sentences that were not looked at.
    pub beyond: usize,
}

/// Measures the answer `text`, in which `code` is code, against `passages`; what the question and the system prompt say
/// is no invention either.
pub fn examine<'p>(
    text: &str,
    code: &[Range<usize>],
    passages: impl ExactSizeIterator<Item = &'p str>,
    question: &str,
    system: &str,
) -> Examined {
    ROOM.with_borrow_mut(|room| {
        let Room { index, matcher, scratch, tokens, costs } = room;
        let count = passages.len().min(RELEVANCES_MAX);
        index.read(passages, question, system);
        scratch.begin(index.sentences.len(), !is_other_language(text));
        let mut found = claims::claims(text, code);
        let beyond = found.len().saturating_sub(CLAIMS_MAX);
        found.truncate(CLAIMS_MAX);
        let pieces: Vec<Range<usize>> = found.iter().map(|claim| claim.span.clone()).collect();
        let (with, alone) = matcher.costs(index.flat.as_bytes(), text.as_bytes(), &pieces, costs);
        let mut gathered = Gathered::default();
        let last = found.len().saturating_sub(1).max(1) as f64;
        let sentences = found.into_iter().zip(costs.iter()).enumerate().map(|(place, (claim, cost))| {
            let span = claim.span.clone();
            tokens.clear();
            tokens::tokens(text, span.clone(), |token| tokens.push(token));
            let mut support = support::of_sentence(index, text, span.clone(), tokens, scratch);
            support.measures[measure::PLACE] = place as f64 / last;
            support.measures[measure::LITERAL] = cost / span.len() as f64;
            let unsupported = trust::unsupported(&support, &fitted().sentence);
            let evidence = support.best.and_then(|best| index.raw_place(best));
            let measured = Measured { claim, support, unsupported, evidence };
            if measured.counts() {
                gathered.add(&measured.support, unsupported);
            }
            measured
        });
        let sentences = sentences.collect();
        let compression = if alone > 0.0 { with / alone } else { 0.0 };
        let relevance = index.relevance(count).unwrap_or_default();
        Examined { sentences, measures: gathered.measures(compression), relevance, has_pairs: index.has_pairs, beyond }
    })
}

/// Function words of languages other than English, of which German capitalises all nouns.
const OTHER_FUNCTION_WORDS: &[&str] = &[
    "der", "die", "das", "und", "ist", "nicht", "ein", "eine", "mit", "auf", "den", "dem", "zu", "von", "sich", "auch",
    "keine", "le", "la", "les", "des", "est", "une", "dans", "pour", "que", "el", "los", "las", "una", "con", "il",
    "di", "che", "per", "het", "een", "van", "niet", "os", "uma", "para", "com", "dazu", "mir", "heute", "im",
];
/// The same of English.
const ENGLISH_FUNCTION_WORDS: &[&str] = &[
    "the", "of", "and", "to", "a", "is", "that", "for", "it", "with", "as", "be", "this", "are", "by", "or", "your",
    "you",
];
/// Bytes of an answer by which its language is told.
const LANGUAGE_BYTES: usize = 2_000;

/// Whether more function words of other languages than of English stand at the head of a text.
fn is_other_language(text: &str) -> bool {
    let head = &text[..text.floor_char_boundary(LANGUAGE_BYTES)];
    let words = || head.split(|c: char| !c.is_alphabetic());
    let count =
        |list: &[&str]| words().filter(|word| list.iter().any(|known| word.eq_ignore_ascii_case(known))).count();
    count(OTHER_FUNCTION_WORDS) > count(ENGLISH_FUNCTION_WORDS)
}

/// The engine.
#[derive(Clone, Debug, Default)]
pub struct GroundingEngine {
    settings: Settings,
}

impl GroundingEngine {
    /// An engine with these settings.
    pub fn new(settings: Settings) -> GroundingEngine {
        GroundingEngine { settings }
    }

    fn judge(&self, view: &View<'_, '_>, text: &str) -> Assessment {
        let (source, passages) = sources(view.record, view.prompt_text, &self.settings);
        if passages.is_empty() {
            return Assessment::not_assessed("no sources");
        }
        let question = if source == SourceKind::Prompt { "" } else { view.prompt_text };
        let system = view.record.system.as_deref().unwrap_or_default();
        let examined = examine(text, &view.response.code, passages.iter().map(|(_, text)| *text), question, system);
        let fields: Vec<&str> = passages.iter().map(|(field, _)| field.as_str()).collect();
        let grounding = judged(&examined, source, &fields);
        let total: u32 = grounding.counts.iter().sum();
        if total == 0 {
            return Assessment::not_assessed("no claims in the response");
        }
        if examined.sentences.iter().all(|sentence| !sentence.claim.is_claim || sentence.claim.is_meta) {
            return Assessment::not_assessed("the response only says that the sources are silent");
        }
        if grounding.counts[ClaimVerdict::NotAssessed as usize] == total {
            return Assessment::not_assessed("no claim that could be compared");
        }
        let [_, contradicted, unsupported, _] = grounding.counts;
        let status = match (contradicted, unsupported) {
            (0, 0) => Status::Ok,
            (0, _) => Status::Warn,
            _ => Status::Error,
        };
        let mut assessment = Assessment::new(status, 1.0 - grounding.trust_score)
            .with("source", Detail::Label(source.as_str()))
            .with("trust_score", Detail::Number(grounding.trust_score))
            .with("claims", Detail::Count(u64::from(total)));
        if examined.has_pairs {
            assessment = assessment.with("script", Detail::Label("pairs_of_characters"));
        }
        if examined.beyond > 0 {
            assessment = assessment.with("beyond_claims_max", Detail::Count(examined.beyond as u64));
        }
        assessment.findings = findings(&grounding);
        if source == SourceKind::Context || self.settings.other_sources_vote {
            assessment.signals = signals(&examined.measures);
            let speaks = assessment.signals.iter().filter_map(|signal| signal.fitted_log_odds).sum::<f64>() > 0.0;
            if speaks && assessment.findings.is_empty() {
                assessment.findings.extend(weakest(&grounding));
            }
            assessment.signals.extend(hallucination(&grounding));
        }
        assessment.grounding = Some(Box::new(grounding));
        assessment
    }
}

/// The verdicts on the claims of an answer.
fn judged(examined: &Examined, source: SourceKind, fields: &[&str]) -> Grounding {
    let mut counts = [0; 4];
    counts[ClaimVerdict::NotAssessed as usize] = examined.beyond as u32;
    let mut claims = Vec::new();
    for sentence in examined.sentences.iter().filter(|sentence| sentence.claim.is_claim) {
        let Measured { claim, support, evidence, .. } = sentence;
        let unsupported = trust::of_claim(sentence.unsupported, &fitted().sentence);
        let (verdict, reason) = if claim.claim_type == ClaimType::Structured {
            (ClaimVerdict::NotAssessed, Reason::NotProse)
        } else {
            trust::verdict(claim, support, unsupported)
        };
        counts[verdict as usize] += 1;
        // A rule has decided, not the measures.
        let unsupported = if verdict == ClaimVerdict::Contradicted { 1.0 } else { unsupported };
        if claims.len() >= CLAIMS_KEPT_MAX {
            continue;
        }
        let part = match reason {
            Reason::NumberDiffers | Reason::NumberNotInSource => support.number.clone(),
            Reason::NameNotInSource => support.entity.clone(),
            Reason::WordsNotInSource => support.unsupported.clone(),
            _ => None,
        };
        let evidence = evidence.as_ref().and_then(|(passage, span)| {
            let field = fields.get(*passage as usize)?;
            Some((Cow::Owned((*field).to_owned()), span.clone()))
        });
        let claim_type = claim.claim_type;
        let support = 1.0 - unsupported;
        claims.push(JudgedClaim { span: claim.span.clone(), claim_type, verdict, reason, support, part, evidence });
    }
    let total: u32 = counts.iter().sum();
    let trust_score = f64::from(counts[ClaimVerdict::Supported as usize]) / f64::from(total.max(1));
    Grounding { source, trust_score, counts, relevance: examined.relevance.clone(), claims }
}

fn findings(grounding: &Grounding) -> Vec<Finding> {
    let held = grounding.claims.iter().filter_map(|claim| {
        let (rule, severity) = match claim.verdict {
            ClaimVerdict::Contradicted => ("grounding/contradicted", Severity::Medium),
            ClaimVerdict::Unsupported => ("grounding/unsupported", Severity::Low),
            ClaimVerdict::Supported | ClaimVerdict::NotAssessed => return None,
        };
        let span = claim.part.clone().unwrap_or_else(|| claim.span.clone());
        let mut finding = Finding::new(rule, severity, "/response", span);
        finding.detail = Cow::Borrowed(claim.reason.clause());
        Some(finding)
    });
    held.collect()
}

/// What is shown where the answer as a whole speaks against itself and each claim passes by a little.
fn weakest(grounding: &Grounding) -> Option<Finding> {
    let supported = grounding.claims.iter().filter(|claim| claim.verdict == ClaimVerdict::Supported);
    let claim = supported.min_by(|a, b| a.support.total_cmp(&b.support))?;
    let mut finding = Finding::new("grounding/weakest", Severity::Low, "/response", claim.span.clone());
    finding.detail = Cow::Borrowed("the claim that is borne out least");
    Some(finding)
}

/// The seed's "hallucination": a claim of which the source has another number, whose field says the opposite, or that
/// says that it rests on other knowledge. Hours are among the fitted measures. Not in the list when there is no such claim.
fn hallucination(grounding: &Grounding) -> Option<Signal> {
    let ratio_of = |claim: &JudgedClaim| match claim.reason {
        Reason::NumberDiffers | Reason::OutsideKnowledge => HALLUCINATION_RATIO,
        Reason::FieldSaysOtherwise => FLIPPED_RATIO,
        _ => 0.0,
    };
    let claim = grounding.claims.iter().rev().max_by(|a, b| ratio_of(a).total_cmp(&ratio_of(b)))?;
    let ratio = (ratio_of(claim), RatioSource::Default);
    let signal = Signal::absent(HALLUCINATION, Question::Fabricated, Tier::Zero, ratio);
    (ratio.0 > 0.0).then(|| signal.fire(1.0, claim.reason.clause()))
}

/// The evidence of an answer.
fn signals(measures: &[f64; RESPONSE_MEASURES.len()]) -> Vec<Signal> {
    let adds = trust::contributions(measures, fitted());
    let mut signals = Vec::with_capacity(RESPONSE_MEASURES.len());
    for (index, id) in RESPONSE_MEASURES.into_iter().enumerate() {
        let ratio = (adds[index].exp(), RatioSource::Fitted);
        let mut signal = Signal::absent(id, Question::Fabricated, Tier::Zero, ratio);
        if adds[index] > 0.0 {
            signal = signal.fire(1.0, RESPONSE_CLAUSES[index]);
        }
        signal.measured = Some(measures[index]);
        signal.fitted_log_odds = Some(adds[index]);
        signals.push(signal);
    }
    signals
}

/// What is known of the engine.
pub const ABOUT: About = About {
    name: ENGINE,
    summary: "Looks for statements of the answer that the documents given to the model do not bear out.",
    formula: "trust score = supported claims / claims; value = 1 - trust score",
    range: "0 (all claims are supported) to 1 (none is)",
    source: "seed 004; lexical support in place of its models",
    signals: &trust::SIGNALS,
};

impl Engine for GroundingEngine {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        if view.record.kind != Kind::Llm {
            return None;
        }
        let text = view.response_text();
        if text.trim().is_empty() {
            return Some(Assessment::not_assessed("no response"));
        }
        Some(self.judge(view, text))
    }
}

/// The numbers of the engine.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Bytes from which a prompt that hands a text over is a source.
    pub prompt_bytes_min: usize,
    /// Whether a trust score by tool results or by the prompt has a vote; the ratios were fitted on contexts.
    pub other_sources_vote: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { prompt_bytes_min: PROMPT_BYTES_MIN, other_sources_vote: false }
    }
}
