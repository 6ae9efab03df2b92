//! Does the answer rest on the documents that were given to the model?
//!
//! - [`claims`]: answer → claims, with offsets and types
//! - [`tokens`], [`idf`]: words by their stems, and how much they tell
//! - [`index`], [`fields`], [`numbers`], [`aliases`]: what the sources say
//! - [`support`]: what of a sentence they do not bear out
//! - [`lexicon`], [`polarity`]: what of it they say otherwise
//! - [`ratios`], [`trust`]: measures → verdicts, trust score and evidence
//!
//! **Formula**: the sources are the record's context; without one, what tools answered in the conversation; without that,
//! a prompt of at least [`PROMPT_BYTES_MIN`] bytes that says that it hands a text over ("the following text", "based on
//! the", "context:"). Each sentence of the answer is measured against them and becomes supported, contradicted,
//! unsupported or not assessed; an answer that is a value, a row of a table or JSON is compared value by value. An answer
//! of fewer than [`trust::SHORT_TOKENS_MAX`] tokens, or of data, speaks by its worst claim; a longer one by its measures,
//! of which none speaks for it where no claim holds. value = 1 - trust score; `warn` with an unsupported claim, `error` with a contradicted
//! one. Each context has a *relevance*: the share of the question's content words, weighed by idf, that it holds.
//!
//! **Range**: 0 (all claims are supported) to 1 (none is).
//!
//! **Source**: seed 004; the lexical support in the place of its two models, and the fit, are ours.
//!
//! **Limits**: words are compared, not meanings: a paraphrase is an invention, and known words put together wrongly are
//! seen only where they make the opposite of a close sentence, or swap a part of it ([`polarity`]). The stemmer, the
//! weights and the phrases are English, and names are looked for in English answers only; scripts without blanks are
//! compared by pairs of characters, and the detail `script` says so. A context votes, and so does what tools answered to the only
//! question of a conversation, each by ratios of its own; by a prompt, and in longer conversations, only a contradiction speaks. [`CLAIMS_MAX`] sentences are looked at.

pub mod aliases;
pub mod claims;
pub mod fields;
pub mod idf;
pub mod index;
pub mod lexicon;
pub mod numbers;
pub mod polarity;
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
    index::Index,
    ratios::{Ratios, fitted},
    support::{Scratch, Support, measure},
    tokens::Token,
    trust::{CLAIMS, ClaimVerdict, Gathered, NO_CLAIM_RATIO, RESPONSE_CLAUSES, RESPONSE_MEASURES, Reason},
};
use super::{About, Assessment, Detail, Engine, Finding, Question, RatioSource, Severity, Signal, Status, Tier, View};
use crate::{
    record::{Kind, Message, Prompt, Record},
    text::lexicon::language_of,
};

/// The engine.
pub const ENGINE: &str = "grounding";
/// The signal of a claim that the seed calls a hallucination.
pub const HALLUCINATION: &str = "grounding_hallucination";
/// Its ratio: a short answer that copies its source and changes one number is flagged. The seed flags such a claim
/// whatever else is said; it is too rare in the labelled answers (9 of 1,626) to be fitted.
pub const HALLUCINATION_RATIO: f64 = 30.0;
/// The ratio where a sentence of a longer answer says the opposite of its closest one, or names another thing: among
/// the many sentences of a long answer one is taken for that by chance more often than in a short one.
pub const OPPOSITE_RATIO: f64 = 10.0;
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
    /// Nothing: the claims are listed and not compared.
    None,
}

impl SourceKind {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            SourceKind::Context => "context",
            SourceKind::ToolResults => "tool_results",
            SourceKind::Prompt => "prompt",
            SourceKind::None => "none",
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
    /// Supported claims / claims that could be compared.
    pub trust_score: f64,
    /// Claims by verdict, in the order of [`ClaimVerdict`].
    pub counts: [u32; 4],
    /// How much of the question each context holds.
    pub relevance: Vec<f64>,
    /// The first [`CLAIMS_KEPT_MAX`] claims.
    pub claims: Vec<JudgedClaim>,
}

impl Grounding {
    /// Whether the claims were compared with anything.
    pub fn is_compared(&self) -> bool {
        self.source != SourceKind::None
    }
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
        let results = messages.iter().enumerate().filter(|(_, said)| is_tool(said));
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

/// Whether the answer comes right behind results of tools, to the only question of its conversation: then it rests on them.
/// In a longer conversation it may be about anything that was said.
fn answers_results(record: &Record<'_>) -> bool {
    let Prompt::Messages(messages) = &record.prompt else { return false };
    messages.last().is_some_and(is_tool) && messages.iter().filter(|said| said.role == "user").count() == 1
}

/// What was said beside the sources.
fn asked<'v>(view: &View<'v, '_>, source: SourceKind) -> Cow<'v, str> {
    match (source, &view.record.prompt) {
        (SourceKind::Prompt, _) => Cow::Borrowed(""),
        (SourceKind::ToolResults, Prompt::Messages(messages)) => {
            let others = messages.iter().filter(|said| !is_tool(said)).map(|said| &*said.text);
            Cow::Owned(others.collect::<Vec<_>>().join("\n"))
        }
        _ => Cow::Borrowed(view.prompt_text),
    }
}

fn is_tool(said: &Message<'_>) -> bool {
    matches!(&*said.role, "tool" | "function")
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
    scratch: Scratch,
    tokens: Vec<Token>,
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
    /// Whether most of the sources is data.
    pub is_data: bool,
    /// Whether the answer is in another language than the sources.
    pub is_foreign: bool,
    /// Sentences that were not looked at.
    pub beyond: usize,
    /// Tokens of the answer.
    pub tokens: usize,
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
        let Room { index, scratch, tokens } = room;
        let count = passages.len().min(RELEVANCES_MAX);
        index.read(passages, question, system);
        let lexicon = lexicon::of_texts(&[text, &index.flat]);
        // Data has no language.
        let is_foreign = !index.is_data && is_foreign(text, &index.flat);
        scratch.begin(index.sentences.len(), lexicon.is_english && !is_foreign);
        let mut found = claims::claims(text, code);
        let beyond = found.len().saturating_sub(CLAIMS_MAX);
        found.truncate(CLAIMS_MAX);
        let mut gathered = Gathered::default();
        let mut count_of_tokens = 0;
        let (places, is_data) = (found.len() as f64 + 1.0, index.is_data);
        let ratios = fitted().of_sentences(is_data);
        let is_code = |claim: &Claim| {
            let from = code.partition_point(|code| code.end <= claim.span.start);
            code.get(from).is_some_and(|code| code.start <= claim.span.start)
        };
        let sentences = found.into_iter().enumerate().map(|(place, claim)| {
            let span = claim.span.clone();
            tokens.clear();
            tokens::tokens(text, span.clone(), |token| tokens.push(token));
            count_of_tokens += tokens.len();
            let mut support = support::of_sentence(index, text, span.clone(), tokens, scratch);
            support.measures[measure::PLACE] = (place as f64 + 1.0) / places;
            if !is_foreign && !claim.is_meta && !claim.is_question && !claim.announces && !is_code(&claim) {
                support.conflict = support::conflict(index, text, span.clone(), tokens, lexicon, scratch);
                support.best = support.conflict.as_ref().map(|(sentence, _)| *sentence).or(support.best);
                support.measures[measure::OPPOSITE] = f64::from(u8::from(support.conflict.is_some()));
            }
            let unsupported = trust::unsupported(&support, ratios);
            let evidence = support.best.and_then(|best| index.raw_place(best));
            let measured = Measured { claim, support, unsupported, evidence };
            if measured.counts() {
                gathered.add(&measured.support, unsupported);
            }
            measured
        });
        let mut sentences: Vec<Measured> = sentences.collect();
        if let [only] = &mut sentences[..]
            && !only.claim.is_claim
            && !is_foreign
            && (1..=QUESTION_BYTES).contains(&question.len())
        {
            let (said, start) = (&text[only.claim.span.clone()], only.claim.span.start);
            let otherwise = || answered(index, question, said, start, lexicon, scratch);
            only.support.conflict = only.support.conflict.take().or_else(otherwise);
        }
        let relevance = index.relevance(count).unwrap_or_default();
        Examined {
            sentences,
            measures: gathered.measures(),
            is_data,
            is_foreign,
            relevance,
            has_pairs: index.has_pairs,
            beyond,
            tokens: count_of_tokens,
        }
    })
}

/// Whether an answer is in another language than the sources, as far as function words tell.
fn is_foreign(text: &str, sources: &str) -> bool {
    /// Bytes of each by which its language is told.
    const LANGUAGE_BYTES: usize = 2_000;
    let language = |text: &str| language_of(&text[..text.floor_char_boundary(LANGUAGE_BYTES)]);
    let own = language(text);
    own.is_some() && language(sources).is_some_and(|other| Some(other) != own)
}

/// Bytes of a question that a value answers.
const QUESTION_BYTES: usize = 300;

/// What the sources say otherwise of a value that answers a question: "$40" to "What does the gold card cost?".
fn answered(
    index: &mut Index,
    question: &str,
    value: &str,
    start: usize,
    lexicon: &lexicon::Lexicon,
    scratch: &mut Scratch,
) -> Option<(u32, polarity::Conflict)> {
    let joined = format!("{} {value}", question.trim_end_matches(['?', ' ']));
    let offset = joined.len() - value.len();
    let mut list = Vec::new();
    tokens::tokens(&joined, 0..joined.len(), |token| list.push(token));
    support::of_sentence(index, &joined, 0..joined.len(), &list, scratch);
    let (sentence, conflict) = support::conflict(index, &joined, 0..joined.len(), &list, lexicon, scratch)?;
    match conflict {
        polarity::Conflict::Number(span) if span.start >= offset => {
            let span = span.start - offset + start..span.end - offset + start;
            Some((sentence, polarity::Conflict::Number(span)))
        }
        _ => None,
    }
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
            let mut assessment = Assessment::not_assessed("no sources");
            let listed = self.settings.list_claims.then(|| listed(text, &view.response.code));
            assessment.grounding = listed.filter(|found| !found.claims.is_empty()).map(Box::new);
            return assessment;
        }
        let question = asked(view, source);
        let system = view.record.system.as_deref().unwrap_or_default();
        let texts = || passages.iter().map(|(_, text)| *text);
        let fields: Vec<&str> = passages.iter().map(|(field, _)| field.as_str()).collect();
        // An answer that is data is compared value by value.
        let data = Data::of(text);
        let (said, code) = data.as_ref().map_or((text, &view.response.code[..]), |data| (&*data.lines, &[][..]));
        let mut examined = examine(said, code, texts(), &question, system);
        // The measures are of words, which say nothing across languages.
        let is_short = data.is_some() || examined.is_foreign || examined.tokens < trust::SHORT_TOKENS_MAX;
        let mut grounding = judged(&examined, said, source, &fields, data.is_some());
        if let Some(data) = &data {
            data.place(&mut grounding);
            examined.measures = Default::default();
        }
        let total: u32 = grounding.counts.iter().sum();
        if total == 0 {
            return Assessment::not_assessed("no claims in the response");
        }
        if grounding.claims.iter().all(|claim| claim.reason == Reason::HonestUncertainty) {
            return Assessment::not_assessed("the response only says that the sources are silent");
        }
        if grounding.counts[ClaimVerdict::NotAssessed as usize] == total {
            return Assessment::not_assessed("no claim that could be compared");
        }
        let [supported, contradicted, unsupported, _] = grounding.counts;
        let status = match (contradicted, unsupported) {
            (0, 0) => Status::Ok,
            (0, _) => Status::Warn,
            _ => Status::Error,
        };
        let mut assessment = Assessment::new(status, 1.0 - grounding.trust_score)
            .with("source", Detail::Label(source.as_str()))
            .with("trust_score", Detail::Number(grounding.trust_score))
            .with("claims", Detail::Count(u64::from(total)))
            .with("supported", Detail::Count(u64::from(supported)))
            .with("contradicted", Detail::Count(u64::from(contradicted)))
            .with("unsupported", Detail::Count(u64::from(unsupported)));
        if examined.has_pairs {
            assessment = assessment.with("script", Detail::Label("pairs_of_characters"));
        }
        if examined.beyond > 0 {
            assessment = assessment.with("beyond_claims_max", Detail::Count(examined.beyond as u64));
        }
        assessment.findings = findings(&grounding);
        if source == SourceKind::Context || self.settings.other_sources_vote {
            let rests_on_it =
                source == SourceKind::Context || (source == SourceKind::ToolResults && answers_results(view.record));
            let ratios = match source {
                SourceKind::ToolResults => &fitted().tool_results,
                _ => &fitted().response,
            };
            // Any other answer may rest on more: only what it contradicts speaks.
            let ratios = rests_on_it.then_some(ratios);
            let measured = ratios.filter(|_| !is_short);
            assessment.signals = measured.map(|ratios| signals(&examined.measures, ratios)).unwrap_or_default();
            if supported == 0 {
                // What speaks for an answer of which no claim holds is chance.
                assessment.signals.iter_mut().for_each(|signal| {
                    signal.fitted_log_odds = signal.fitted_log_odds.map(|add| add.max(0.0));
                });
            }
            let speaks = assessment.signals.iter().filter_map(|signal| signal.fitted_log_odds).sum::<f64>() > 0.0;
            if speaks && assessment.findings.is_empty() {
                assessment.findings.extend(weakest(&grounding));
            }
            let has_claims = is_short || supported == 0;
            if has_claims && (rests_on_it || contradicted > 0) {
                let is_prose = data.is_none()
                    && !examined.is_foreign
                    && examined.sentences.iter().any(|sentence| sentence.claim.is_claim);
                assessment.signals.push(of_claims(&grounding, is_short, is_prose));
            }
            if !is_short {
                assessment.signals.extend(hallucination(&grounding));
            }
        }
        assessment.grounding = Some(Box::new(grounding));
        assessment
    }
}

/// The claims of an answer with their types, without anything to compare them with.
fn listed(text: &str, code: &[Range<usize>]) -> Grounding {
    let mut counts = [0; 4];
    let mut kept = Vec::new();
    for claim in claims::claims(text, code).into_iter().filter(|claim| claim.is_claim).take(CLAIMS_MAX) {
        counts[ClaimVerdict::NotAssessed as usize] += 1;
        if kept.len() >= CLAIMS_KEPT_MAX {
            continue;
        }
        let reason = match claim {
            Claim { is_meta: true, .. } => Reason::HonestUncertainty,
            Claim { has_outside_phrase: true, .. } => Reason::OutsideKnowledge,
            Claim { is_question: true, .. } => Reason::Question,
            Claim { claim_type: ClaimType::Structured, .. } => Reason::NotProse,
            _ => Reason::NoSources,
        };
        let (verdict, part, evidence) = (ClaimVerdict::NotAssessed, None, None);
        let Claim { span, claim_type, .. } = claim;
        kept.push(JudgedClaim { span, claim_type, verdict, reason, support: 0.0, part, evidence });
    }
    Grounding { source: SourceKind::None, trust_score: 0.0, counts, relevance: Vec::new(), claims: kept }
}

/// The verdicts on the claims of an answer.
fn judged(examined: &Examined, text: &str, source: SourceKind, fields: &[&str], is_data: bool) -> Grounding {
    let mut counts = [0; 4];
    // An answer that is only a value has no sentence.
    let is_value = examined.sentences.iter().all(|sentence| !sentence.claim.is_claim);
    counts[ClaimVerdict::NotAssessed as usize] = examined.beyond as u32;
    let mut claims = Vec::new();
    for sentence in examined.sentences.iter().filter(|sentence| is_value || is_data || sentence.claim.is_claim) {
        let Measured { claim, support, evidence, .. } = sentence;
        let unsupported = trust::of_claim(sentence.unsupported, fitted().of_sentences(examined.is_data));
        let said = &text[claim.span.clone()];
        let is_row = claim.claim_type == ClaimType::Structured && said.starts_with('|');
        let (verdict, reason) = if examined.is_foreign && !is_data {
            trust::of_foreign(claim, support)
        } else if (is_value || is_data || is_row) && !claim.is_meta && !claim.is_question {
            trust::of_fragment(support, is_value && trust::is_name(said), !is_row)
        } else if claim.claim_type == ClaimType::Structured {
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
            Reason::NumberDiffers | Reason::NameDiffers | Reason::UnitDiffers => {
                support.conflict.as_ref().and_then(|(_, conflict)| conflict.part()).or(support.number.clone())
            }
            Reason::NumberNotInSource => support.number.clone(),
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
    // What nothing can bear out is left out.
    let compared: u32 = counts.iter().sum::<u32>() - counts[ClaimVerdict::NotAssessed as usize];
    let trust_score = f64::from(counts[ClaimVerdict::Supported as usize]) / f64::from(compared.max(1));
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
        Reason::SaysOpposite | Reason::NameDiffers | Reason::UnitDiffers => OPPOSITE_RATIO,
        // A tool's record has fields of many things.
        Reason::FieldSaysOtherwise if grounding.source != SourceKind::ToolResults => FLIPPED_RATIO,
        _ => 0.0,
    };
    let claim = grounding.claims.iter().rev().max_by(|a, b| ratio_of(a).total_cmp(&ratio_of(b)))?;
    let ratio = (ratio_of(claim), RatioSource::Default);
    let signal = Signal::absent(HALLUCINATION, Question::Fabricated, Tier::Zero, ratio);
    (ratio.0 > 0.0).then(|| signal.fire(1.0, claim.reason.clause()))
}

/// What the claims say of an answer, the worst of them. The measures of a sentence tell how bad it is, within bounds.
fn of_claims(grounding: &Grounding, is_short: bool, is_prose: bool) -> Signal {
    let rank = |claim: &JudgedClaim| match (claim.verdict, claim.reason) {
        (ClaimVerdict::Contradicted, _) => 0,
        (ClaimVerdict::Unsupported, Reason::WordsNotInSource | Reason::WordsNotTogether) => 2,
        (ClaimVerdict::Unsupported, Reason::OutsideKnowledge) => 0,
        (ClaimVerdict::Unsupported, _) => 1,
        (ClaimVerdict::Supported | ClaimVerdict::NotAssessed, _) => 3,
    };
    let worst = grounding.claims.iter().min_by(|a, b| rank(a).cmp(&rank(b)).then(a.support.total_cmp(&b.support)));
    let rank = worst.map_or(3, rank);
    let is_of_tools = grounding.source == SourceKind::ToolResults;
    let none = if is_of_tools { trust::TOOL_CLAIM_RATIO } else { NO_CLAIM_RATIO };
    let ratio = match rank {
        1 | 2 if is_of_tools && is_short => trust::TOOL_CLAIM_RATIO,
        _ if is_short && is_prose => worst.map_or(1.0, |claim| trust::short_ratio(rank, 1.0 - claim.support)),
        _ if is_short => trust::SHORT_RATIOS[rank],
        _ => none,
    };
    // No claim holds: never better than nothing known.
    let ratio = if grounding.trust_score == 0.0 { ratio.max(none) } else { ratio };
    let signal = Signal::absent(CLAIMS, Question::Fabricated, Tier::Zero, (ratio, RatioSource::Fitted));
    let mut signal =
        if ratio > 1.0 { signal.fire(1.0, worst.map_or("", |claim| claim.reason.clause())) } else { signal };
    signal.measured = Some(3.0 - rank as f64);
    signal.fitted_log_odds = Some(ratio.ln());
    signal
}

/// An answer that is JSON, as lines.
struct Data {
    lines: String,
    segments: Vec<index::Segment>,
}

impl Data {
    /// The answer as data; `None` where it is text. A fence of code around it is left out.
    fn of(text: &str) -> Option<Data> {
        let trimmed = text.trim();
        let inner = trimmed.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")).map_or(trimmed, |rest| {
            let rest = rest.strip_prefix("json").or(rest.strip_prefix("JSON")).unwrap_or(rest);
            rest.trim()
        });
        let (mut lines, mut segments, mut facts) = (String::new(), Vec::new(), fields::Facts::default());
        if !fields::flatten(inner, 0, &mut lines, &mut segments, &mut facts) {
            return None;
        }
        let offset = (inner.as_ptr() as usize - text.as_ptr() as usize) as u32;
        segments.iter_mut().for_each(|segment| segment.raw += offset);
        Some(Data { lines, segments })
    }

    /// Puts the claims where they stand in the answer.
    fn place(&self, grounding: &mut Grounding) {
        let raw = |span: &Range<usize>| fields::raw_place(&self.segments, span.clone()).map(|(_, raw)| raw);
        for claim in &mut grounding.claims {
            claim.part = claim.part.as_ref().and_then(raw);
            claim.span = raw(&claim.span).unwrap_or_default();
        }
    }
}

/// The evidence of an answer.
fn signals(measures: &[f64; RESPONSE_MEASURES.len()], ratios: &Ratios) -> Vec<Signal> {
    let adds = trust::contributions(measures, ratios);
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
    formula: "trust score = supported claims / claims that could be compared; value = 1 - trust score",
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
    /// Whether claims compared with tool results or with the prompt have a vote: results of tools by ratios of their own where
    /// they answer the only question of a conversation, else only what is contradicted.
    pub other_sources_vote: bool,
    /// Whether the claims of an answer and their types are listed where there is nothing to compare them with, too. `explain`
    /// does so by itself.
    pub list_claims: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { prompt_bytes_min: PROMPT_BYTES_MIN, other_sources_vote: true, list_claims: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::testing::with_view;

    const DOCUMENT: &str = "The annual fee for the gold card is $95. The silver card costs $40 a year. Pets are not \
        allowed. The office in Lisbon was opened in 2014 by Maria Lindqvist.";
    const DATA: &str = r#"{"order_id": "A-1009", "price": 94.5, "dob": "1954-01-14", "destination": "LAX"}"#;
    const PRIOR: f64 = 0.15;

    /// Trust, and the log odds of all signals.
    fn of(context: &str, question: &str, answer: &str) -> Option<(f64, f64)> {
        let record = serde_json::json!({"prompt": question, "context": [context], "response": answer});
        with_view(&record.to_string(), |view| {
            let assessment = GroundingEngine::default().assess(view)?;
            let add = |signal: &Signal| signal.evidence().contribution();
            let adds = assessment.signals.iter().map(add).sum();
            Some((assessment.grounding?.trust_score, adds))
        })
    }

    #[track_caller]
    fn check(context: &str, question: &str, answer: &str, is_right: bool) {
        let (trust, adds) = of(context, question, answer).unwrap();
        assert_eq!(trust >= 0.5 && adds < 0.0, is_right, "{answer}: {trust} {adds}");
        // What is flagged: from P = 0.2 on.
        let flagged = (0.2f64 / 0.8).ln() - (PRIOR / (1.0 - PRIOR)).ln();
        assert_eq!(adds > flagged, !is_right, "{answer}: {trust} {adds}");
    }

    #[test]
    fn short_answers_are_compared() {
        let fee = "What is the fee of the gold card?";
        check(DOCUMENT, fee, "$95", true);
        check(DOCUMENT, fee, "$125", false);
        check(DOCUMENT, fee, "$40", false);
        check(DOCUMENT, fee, "The gold card costs $95 a year.", true);
        check(DOCUMENT, fee, "The annual fee for the gold card is $125.", false);
        check(DOCUMENT, "Are pets allowed?", "Pets are allowed.", false);
        check(DOCUMENT, "Are pets allowed?", "No, pets are not allowed.", true);
        check(DOCUMENT, "Where is it?", "Madrid", false);
        check(DOCUMENT, "Who opened it?", "Maria Lindqvist", true);
    }

    #[test]
    fn data_is_compared_value_by_value() {
        check(DATA, "Extract.", r#"{"order_id": "A-1009", "price": 94.5}"#, true);
        check(DATA, "Extract.", r#"{"order_id": "B-2000", "price": 84.5}"#, false);
        check(DATA, "Extract.", "```json\n{\"price\": 94.5, \"destination\": \"Los Angeles\"}\n```", true);
        check(DATA, "A table.", "| Item | Price |\n|---|---|\n| A-1009 | 94.50 |", true);
        check(DATA, "A table.", "| Item | Price |\n|---|---|\n| A-1009 | 99.50 |", false);
        check(DATA, "When?", "The date of birth is 14 January 1954.", true);
        check(DATA, "Where to?", "The destination is Los Angeles.", true);
    }

    #[test]
    fn words_that_claim_nothing_are_not_assessed() {
        for answer in ["No.", "You're welcome!", "Hello! How can I help you?", "The documents do not mention this."] {
            assert_eq!(of(DOCUMENT, "Thanks!", answer), None, "{answer}");
        }
    }

    #[test]
    fn claims_are_listed_without_sources_on_request() {
        let record = serde_json::json!({"prompt": "?", "response": "The sum is 3 + 4 = 7. Lisbon lies on the coast."});
        for (list_claims, expected) in [(true, Some(vec!["mathematical", "factual"])), (false, None)] {
            let engine = GroundingEngine::new(Settings { list_claims, ..Settings::default() });
            let found = with_view(&record.to_string(), |view| engine.assess(view)).unwrap();
            assert!(matches!(found.status, Status::NotAssessed { .. }) && found.signals.is_empty());
            let types = |found: Box<Grounding>| found.claims.iter().map(|claim| claim.claim_type.as_str()).collect();
            assert_eq!(found.grounding.map(types), expected);
        }
    }

    #[test]
    fn tools_speak_against_an_answer_and_prompts_only_by_a_contradiction() {
        let of = |messages: serde_json::Value, answer: &str| {
            let record = serde_json::json!({"messages": messages, "response": answer});
            with_view(&record.to_string(), |view| {
                let found = GroundingEngine::default().assess(view).unwrap();
                let add = |signal: &Signal| signal.evidence().contribution();
                (found.grounding.unwrap().source, found.signals.iter().map(add).sum::<f64>())
            })
        };
        let tool = serde_json::json!([
            {"role": "user", "content": "What does it cost?"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "quote", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "{\"order_id\": \"A-1009\", \"price\": 94.5}"},
        ]);
        for (answer, expected) in [
            ("The price is 94.50.", -1.0),
            ("The price is 84.50.", 1.0),
            ("I would advise to wait for the autumn.", 0.1),
        ] {
            let (source, adds) = of(tool.clone(), answer);
            assert_eq!(source, SourceKind::ToolResults);
            let is_so = if expected > 0.0 { adds > expected } else { adds < 0.0 };
            assert!(is_so, "{answer}: {adds}");
        }
    }

    proptest::proptest! {
        /// Whatever is said: where no claim holds the answer is worse than nothing known.
        #[test]
        fn no_trust_is_never_below_the_prior(
            kept in proptest::collection::vec(0usize..6, 1..7),
            words in "([a-z]{3,9} ){0,12}",
            is_data in proptest::bool::ANY,
        ) {
            let sentences = [
                "Pets are allowed.", "The annual fee for the gold card is $125.", "The office in Lisbon was opened in 2019.",
                "Green turtles paint murals in forgotten harbours.", "The silver card costs $40 a year.", "No dogs.",
            ];
            let said: Vec<&str> = kept.iter().map(|at| sentences[*at]).collect();
            let answer = format!("{} {words}", said.join(" "));
            if let Some((trust, adds)) = of(if is_data { DATA } else { DOCUMENT }, "?", &answer) {
                proptest::prop_assert!(trust > 0.0 || adds > 0.0, "{answer}: {trust} {adds}");
            }
        }
    }

    #[test]
    fn without_trust_nothing_speaks_for_an_answer() {
        let long = "Green turtles paint enormous murals in forgotten harbours. ".repeat(8);
        for answer in ["Pets are allowed.", "Tigers sleep in the hall.", &long] {
            let (trust, adds) = of(DOCUMENT, "?", answer).unwrap();
            assert!(trust == 0.0 && adds > 0.0, "{answer}: {trust} {adds}");
        }
    }
}
