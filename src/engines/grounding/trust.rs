//! Measures become verdicts: one for each claim, a trust score for the answer, and evidence for the question whether the
//! answer is made up.
//!
//! **Formula**: P(unsupported) of a sentence comes from its measures by the fitted ratios ([`super::ratios`]).
//! - A question is `not_assessed`, for it claims nothing. So is a meta statement: it is never held against the answer and supports nothing.
//! - With an outside-knowledge phrase a claim is `unsupported`, whatever else it says.
//! - A claim is `contradicted` when a yes/no field is flipped, when hours differ, or when a number stands in no source, the
//!   source has another one beside the same word, and all but [`CONTRADICTED_WINDOW_MAX`] of the rest stands in one place.
//! - It is `unsupported` when another number stands in no source, or more than [`UNKNOWN_SHARE_MAX`] of its words does.
//! - Else it is `supported` when P(unsupported), from a prior of [`CLAIM_PRIOR`], is at most [`UNSUPPORTED_FROM`], and `unsupported` above.
//!
//! trust score = supported claims / claims that could be compared.
//!
//! **Range**: 0 (no claim is supported) to 1 (all are).
//!
//! **Source**: seed 004, "Hallucination Detection Logic" and "Trust Score", with a calibrated lexical support in the place
//! of its two models.
//!
//! **Limits**: an answer that is only an honest refusal has no trust score, and neither has one without sources.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    claims::Claim,
    idf::idf,
    polarity::Conflict,
    ratios::Ratios,
    support::{MEASURES, Support, measure},
    tokens::{CAPITAL, STOP, tokens},
};
use crate::{
    engines::{Question, SignalAbout},
    stats::log_odds::{prior_log_odds, probability},
};

/// From this P(unsupported) on, a claim is unsupported.
pub const UNSUPPORTED_FROM: f64 = 0.5;
/// P(unsupported) of a claim before it is looked at: so that it takes a ratio of 3. In RAGTruth 8 sentences in 100 are;
/// a ratio of 3 is about where F1 over its sentences is best.
pub const CLAIM_PRIOR: f64 = 0.25;
/// A claim of which no more than this is missing in the best place of the sources is about what stands there.
pub const CONTRADICTED_WINDOW_MAX: f64 = 0.2;
/// Share of a claim's words, by idf, that may stand in no source.
pub const UNKNOWN_SHARE_MAX: f64 = 0.6;
/// A claim that entails, or contradicts, does so from above this on (seed 004).
pub const ENTAILED_FROM: f64 = 0.5;

/// The signal of the claims one by one: all that is said of a short answer, and of an answer of which no claim holds.
pub const CLAIMS: &str = "grounding_claims";
/// Tokens below which an answer is short: fewer than nearly all of the answers that the measures were fitted on have.
pub const SHORT_TOKENS_MAX: usize = 25;
/// The ratio of a short answer by its worst claim: contradicted; with a number or a name, or a value, that no source
/// has; with words that none has; all supported.
pub const SHORT_RATIOS: [f64; 4] = [30.0, 5.0, 2.0, 0.5];
/// How far the measures of the worst claim move each of [`SHORT_RATIOS`] where it is a sentence. A number that no source has may
/// be a sum of those that it has: that flags, and only what the source contradicts blocks.
const SHORT_BOUNDS: [(f64, f64); 4] = [(30.0, 30.0), (3.5, 5.0), (1.3, 3.5), (0.3, 0.9)];
/// The ratio of a longer answer of which no claim is supported.
pub const NO_CLAIM_RATIO: f64 = 2.0;
/// The same where the sources are what tools answered, and where a short answer to them is not borne out: it may rest on
/// what was said before, on rules and on sums, so that this alone never flags.
pub const TOOL_CLAIM_RATIO: f64 = 1.2;

/// What is said of one claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// The sources bear it out.
    Supported,
    /// The sources say otherwise.
    Contradicted,
    /// The sources do not say so.
    Unsupported,
    /// There was nothing to compare.
    NotAssessed,
}

impl ClaimVerdict {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            ClaimVerdict::Supported => "supported",
            ClaimVerdict::Contradicted => "contradicted",
            ClaimVerdict::Unsupported => "unsupported",
            ClaimVerdict::NotAssessed => "not_assessed",
        }
    }
}

/// Why a claim has its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Its words and numbers stand in the sources.
    StandsInSource,
    /// They do for the most part, and nothing else speaks against it.
    MostlyInSource,
    /// A yes/no field of the source says the opposite.
    FieldSaysOtherwise,
    /// The hours of the source are others.
    HoursDiffer,
    /// The source says the opposite.
    SaysOpposite,
    /// The source has the statement with another number.
    NumberDiffers,
    /// The source has the statement of another name.
    NameDiffers,
    /// The source has the number in another unit.
    UnitDiffers,
    /// It holds a number that stands in no source.
    NumberNotInSource,
    /// It asserts a field of which the source does not know the value.
    ValueUnknownInSource,
    /// It names what no source names.
    NameNotInSource,
    /// Its words stand in no source.
    WordsNotInSource,
    /// Its words stand in the sources, but not together.
    WordsNotTogether,
    /// It says that it rests on other knowledge.
    OutsideKnowledge,
    /// It says that the sources are silent.
    HonestUncertainty,
    /// It asks.
    Question,
    /// It is code or data.
    NotProse,
    /// It has no words, numbers or names to compare.
    NothingToCompare,
    /// It stands behind the last claim that is looked at.
    BeyondClaimsMax,
    /// It is in another language than the sources, and has nothing that can be compared across languages.
    OtherLanguage,
    /// There is nothing to compare it with.
    NoSources,
}

impl Reason {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::StandsInSource => "stands_in_source",
            Reason::MostlyInSource => "mostly_in_source",
            Reason::FieldSaysOtherwise => "field_says_otherwise",
            Reason::HoursDiffer => "hours_differ",
            Reason::SaysOpposite => "says_opposite",
            Reason::NumberDiffers => "number_differs",
            Reason::NameDiffers => "name_differs",
            Reason::UnitDiffers => "unit_differs",
            Reason::NumberNotInSource => "number_not_in_source",
            Reason::ValueUnknownInSource => "value_unknown_in_source",
            Reason::NameNotInSource => "name_not_in_source",
            Reason::WordsNotInSource => "words_not_in_source",
            Reason::WordsNotTogether => "words_not_together",
            Reason::OutsideKnowledge => "outside_knowledge",
            Reason::HonestUncertainty => "honest_uncertainty",
            Reason::Question => "question",
            Reason::NotProse => "not_prose",
            Reason::NothingToCompare => "nothing_to_compare",
            Reason::BeyondClaimsMax => "beyond_claims_max",
            Reason::OtherLanguage => "other_language",
            Reason::NoSources => "no_sources",
        }
    }

    /// What is said of the claim, as a clause.
    pub fn clause(self) -> &'static str {
        match self {
            Reason::StandsInSource => "stands in the sources",
            Reason::MostlyInSource => "most of its words stand in the sources",
            Reason::FieldSaysOtherwise => "a field of the source says the opposite",
            Reason::HoursDiffer => "the hours of the source are others",
            Reason::SaysOpposite => "the source says the opposite",
            Reason::NumberDiffers => "the source has another number",
            Reason::NameDiffers => "the source has another name",
            Reason::UnitDiffers => "the source has another unit",
            Reason::NumberNotInSource => "a number stands in no source",
            Reason::ValueUnknownInSource => "the source does not know the value",
            Reason::NameNotInSource => "a name stands in no source",
            Reason::WordsNotInSource => "words stand in no source",
            Reason::WordsNotTogether => "the words do not stand together in a source",
            Reason::OutsideKnowledge => "says that it rests on other knowledge",
            Reason::HonestUncertainty => "says that the sources are silent",
            Reason::Question => "asks, offers, declines or announces",
            Reason::NotProse => "code or data",
            Reason::NothingToCompare => "nothing to compare",
            Reason::BeyondClaimsMax => "stands behind the last claim that is looked at",
            Reason::OtherLanguage => "in another language than the sources",
            Reason::NoSources => "no sources",
        }
    }
}

/// What the scores of a model that reads premise and hypothesis say of a claim: whether it is supported, and whether it is
/// flagged (seed 004). With no scores (`None`: the best similarity is below the gate) nothing is supported.
pub fn decide(scores: Option<(f64, f64)>, is_meta: bool, has_outside_phrase: bool) -> (bool, bool) {
    let (entailment, contradiction) = scores.unwrap_or((0.0, 0.0));
    let is_contradicted = contradiction > ENTAILED_FROM;
    let is_supported = entailment > ENTAILED_FROM && !is_contradicted && !has_outside_phrase;
    (is_supported, !is_meta && (is_contradicted || has_outside_phrase))
}

/// P(unsupported) of a sentence.
pub fn unsupported(support: &Support, ratios: &Ratios) -> f64 {
    let adds = ratios.ratio.iter().zip(&support.measures).map(|(ratio, value)| ratio.of(*value));
    probability(ratios.intercept + adds.sum::<f64>())
}

/// P(unsupported) of a claim by what was found in the fit, from [`CLAIM_PRIOR`] instead of the share in the fit.
pub fn of_claim(unsupported: f64, ratios: &Ratios) -> f64 {
    probability(prior_log_odds(unsupported) - ratios.intercept + prior_log_odds(CLAIM_PRIOR))
}

/// The ratio of a short answer whose worst claim, a sentence, is of `rank` and P(unsupported) by [`of_claim`].
pub fn short_ratio(rank: usize, unsupported: f64) -> f64 {
    let (least, most) = SHORT_BOUNDS[rank];
    (prior_log_odds(unsupported) - prior_log_odds(CLAIM_PRIOR)).exp().clamp(least, most)
}

/// The verdict on a claim and why; `unsupported` is that of [`of_claim`].
pub fn verdict(claim: &Claim, support: &Support, unsupported: f64) -> (ClaimVerdict, Reason) {
    let of = |measure: usize| support.measures[measure];
    if claim.is_meta {
        return (ClaimVerdict::NotAssessed, Reason::HonestUncertainty);
    }
    if claim.has_outside_phrase {
        return (ClaimVerdict::Unsupported, Reason::OutsideKnowledge);
    }
    if claim.is_question || claim.announces {
        return (ClaimVerdict::NotAssessed, Reason::Question);
    }
    if support.checked == 0 {
        return (ClaimVerdict::NotAssessed, Reason::NothingToCompare);
    }
    if of(measure::FLIPPED) > 0.0 {
        return (ClaimVerdict::Contradicted, Reason::FieldSaysOtherwise);
    }
    if of(measure::HOURS) > 0.0 {
        return (ClaimVerdict::Contradicted, Reason::HoursDiffer);
    }
    if support.differs && support.unknown_stems == 0 && of(measure::WINDOW) <= CONTRADICTED_WINDOW_MAX {
        return (ClaimVerdict::Contradicted, Reason::NumberDiffers);
    }
    if let Some((_, conflict)) = &support.conflict {
        return (ClaimVerdict::Contradicted, conflict.into());
    }
    let is_unknown = of(measure::NUMBERS) > 0.0 || support.unknown_share > UNKNOWN_SHARE_MAX;
    if unsupported <= UNSUPPORTED_FROM && !is_unknown {
        let is_whole = support.unsupported.is_none() && of(measure::ENTITIES) == 0.0;
        let reason = if is_whole { Reason::StandsInSource } else { Reason::MostlyInSource };
        return (ClaimVerdict::Supported, reason);
    }
    let reason = if of(measure::NUMBERS) > 0.0 {
        Reason::NumberNotInSource
    } else if of(measure::NULLS) + of(measure::NULLS_DENIED) > 0.0 {
        Reason::ValueUnknownInSource
    } else if support.entity.is_some() {
        Reason::NameNotInSource
    } else if support.unknown_stems > 0 {
        Reason::WordsNotInSource
    } else {
        Reason::WordsNotTogether
    };
    (ClaimVerdict::Unsupported, reason)
}

/// The verdict on a claim in another language than the sources: only numbers and dates are compared.
pub fn of_foreign(claim: &Claim, support: &Support) -> (ClaimVerdict, Reason) {
    if claim.is_meta {
        return (ClaimVerdict::NotAssessed, Reason::HonestUncertainty);
    }
    if claim.is_question || claim.announces {
        return (ClaimVerdict::NotAssessed, Reason::Question);
    }
    match (support.has_numbers, support.measures[measure::NUMBERS] > 0.0) {
        (true, true) if support.has_other_of_kind => (ClaimVerdict::Contradicted, Reason::NumberDiffers),
        (true, true) => (ClaimVerdict::Unsupported, Reason::NumberNotInSource),
        (true, false) => (ClaimVerdict::Supported, Reason::StandsInSource),
        (false, _) => (ClaimVerdict::NotAssessed, Reason::OtherLanguage),
    }
}

/// The verdict on a part of an answer that is no sentence: a value, a row of a table, a field. Only what can be right or
/// wrong by itself counts; words may be a label, and so may the names of a table's head.
pub fn of_fragment(support: &Support, is_name: bool, has_names: bool) -> (ClaimVerdict, Reason) {
    let of = |measure: usize| support.measures[measure];
    if let Some((_, conflict)) = &support.conflict {
        return (ClaimVerdict::Contradicted, conflict.into());
    }
    if of(measure::FLIPPED) > 0.0 {
        return (ClaimVerdict::Contradicted, Reason::FieldSaysOtherwise);
    }
    if of(measure::NUMBERS) > 0.0 {
        return (ClaimVerdict::Unsupported, Reason::NumberNotInSource);
    }
    if has_names && (support.entity.is_some() || is_name && support.unknown_stems > 0) {
        return (ClaimVerdict::Unsupported, Reason::NameNotInSource);
    }
    let holds = support.checked > 0 && (support.unknown_share == 0.0 || support.has_numbers);
    if holds {
        (ClaimVerdict::Supported, Reason::StandsInSource)
    } else {
        (ClaimVerdict::NotAssessed, Reason::NothingToCompare)
    }
}

/// Whether an answer is a name and no more: capitalised words, of which one is not common.
pub fn is_name(said: &str) -> bool {
    /// Words of the longest name.
    const WORDS_MAX: usize = 5;
    /// A word that is more common is no name: "Yes", "Done".
    const COMMON_IDF: f64 = 6.5;
    let mut count = 0;
    let mut is_rare = false;
    let mut is_name = true;
    tokens(said, 0..said.len(), |token| {
        count += 1;
        is_name &= token.flags & (CAPITAL | STOP) != 0 && (count > 1 || token.flags & STOP == 0);
        is_rare |= token.flags & STOP == 0 && idf(token.stem) >= COMMON_IDF;
    });
    (1..=WORDS_MAX).contains(&count) && is_name && is_rare
}

impl From<&Conflict> for Reason {
    fn from(conflict: &Conflict) -> Reason {
        match conflict {
            Conflict::Opposite => Reason::SaysOpposite,
            Conflict::Name(_) => Reason::NameDiffers,
            Conflict::Number(_) => Reason::NumberDiffers,
            Conflict::Unit(_) => Reason::UnitDiffers,
        }
    }
}

/// The measures of an answer, which are also its signals.
pub const RESPONSE_MEASURES: [&str; 8] = [
    "grounding_run",
    "grounding_numbers",
    "grounding_number_pairs",
    "grounding_names",
    "grounding_fields",
    "grounding_hours",
    "grounding_worst_claim",
    "grounding_mean_claim",
];

/// What each of [`RESPONSE_MEASURES`] says when it speaks against the answer.
pub const RESPONSE_CLAUSES: [&str; 8] = [
    "several words in a row stand in no source",
    "numbers of the answer stand in no source",
    "numbers of the answer stand beside other words in the sources",
    "names of the answer stand in no source",
    "yes/no fields of the source are said to be the opposite",
    "hours of the answer are not those of the source",
    "one claim is hardly supported",
    "the claims are hardly supported on the whole",
];

/// The signals: one of the claims together, and one of each of [`RESPONSE_MEASURES`].
pub const SIGNALS: [SignalAbout; 10] = [
    SignalAbout {
        id: CLAIMS,
        question: Question::Fabricated,
        title: "Claims of the answer are not what the documents say.",
        owasp: "LLM09",
        help: "Compare the marked claims with their closest sentence.",
    },
    SignalAbout {
        id: "grounding_hallucination",
        question: Question::Fabricated,
        title: "The answer contradicts the documents given to the model.",
        owasp: "LLM09",
        help: "Compare the contradicted claim with the sentence beside it.",
    },
    SignalAbout {
        id: "grounding_run",
        question: Question::Fabricated,
        title: "Long parts of the answer stand nowhere in the documents.",
        owasp: "LLM09",
        help: "Compare the marked claims with their closest sentence.",
    },
    SignalAbout {
        id: "grounding_numbers",
        question: Question::Fabricated,
        title: "The answer has numbers that the documents do not.",
        owasp: "LLM09",
        help: "Compare the numbers with the source.",
    },
    SignalAbout {
        id: "grounding_number_pairs",
        question: Question::Fabricated,
        title: "Numbers of the answer stand beside other words than in the documents.",
        owasp: "LLM09",
        help: "Compare the numbers with the source.",
    },
    SignalAbout {
        id: "grounding_names",
        question: Question::Fabricated,
        title: "The answer names somebody or something that the documents do not.",
        owasp: "LLM09",
        help: "Look for the names in the documents.",
    },
    SignalAbout {
        id: "grounding_fields",
        question: Question::Fabricated,
        title: "Fields that the answer names do not stand in the documents so.",
        owasp: "LLM09",
        help: "Compare the named fields with the source.",
    },
    SignalAbout {
        id: "grounding_hours",
        question: Question::Fabricated,
        title: "Opening hours in the answer differ from the documents.",
        owasp: "LLM09",
        help: "Compare the hours with the source.",
    },
    SignalAbout {
        id: "grounding_worst_claim",
        question: Question::Fabricated,
        title: "One claim of the answer is not borne out by the documents.",
        owasp: "LLM09",
        help: "Compare the marked claim with its closest sentence.",
    },
    SignalAbout {
        id: "grounding_mean_claim",
        question: Question::Fabricated,
        title: "Statements of the answer are not borne out by the documents given to the model.",
        owasp: "LLM09",
        help: "Compare the marked claims with their closest sentence; look at what was retrieved.",
    },
];

/// Conflicts on hours beyond which an answer is no worse.
const HOURS_MAX: f64 = 3.0;
/// Gathers the measures of an answer sentence by sentence.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    sums: [f64; MEASURES.len()],
    run: f64,
    sentences: u32,
    doubt: f64,
    worst: f64,
}

impl Gathered {
    /// Takes a sentence in.
    pub fn add(&mut self, support: &Support, unsupported: f64) {
        self.sums.iter_mut().zip(&support.measures).for_each(|(sum, value)| *sum += value);
        self.run = self.run.max(support.measures[measure::RUN]);
        self.sentences += 1;
        self.doubt += unsupported;
        self.worst = self.worst.max(unsupported);
    }

    /// The measures of the answer, in the order of [`RESPONSE_MEASURES`].
    pub fn measures(&self) -> [f64; RESPONSE_MEASURES.len()] {
        let sums = &self.sums;
        [
            self.run,
            sums[measure::NUMBERS],
            sums[measure::NUMBER_PAIRS],
            sums[measure::ENTITIES],
            sums[measure::FLIPPED],
            sums[measure::HOURS].min(HOURS_MAX),
            self.worst,
            self.doubt / f64::from(self.sentences.max(1)),
        ]
    }
}

/// What each measure adds to the log odds; what no measure owns goes to the last.
pub fn contributions(measures: &[f64; RESPONSE_MEASURES.len()], ratios: &Ratios) -> [f64; RESPONSE_MEASURES.len()] {
    let mut adds = [0.0; RESPONSE_MEASURES.len()];
    for ((add, ratio), value) in adds.iter_mut().zip(&ratios.ratio).zip(measures) {
        *add = ratio.of(*value);
    }
    adds
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::engines::grounding::claims::{has_outside_phrase, is_meta_statement};

    #[test]
    fn golden_decisions_bind() {
        let mut bound = 0;
        for line in include_str!("../../../fixtures/golden/claims.jsonl").lines() {
            let vector: Value = serde_json::from_str(line).unwrap();
            if vector["engine"] != "claim_decision" || vector["agrees_with_seed"] != true {
                continue;
            }
            let (input, expected) = (&vector["input"], &vector["expected"]);
            let claim = input["claim"].as_str().unwrap();
            let gate = input["sts"].as_f64().unwrap() >= 0.25;
            let score = |name: &str| input["nli"][name].as_f64();
            let scores = score("entailment").zip(score("contradiction")).filter(|_| gate);
            let decided = decide(scores, is_meta_statement(claim), has_outside_phrase(claim));
            let expected = (expected["supported"].as_bool().unwrap(), expected["is_hallucination"].as_bool().unwrap());
            assert_eq!(decided, expected, "{}", vector["id"]);
            bound += 1;
        }
        assert!(bound >= 9, "{bound}");
    }
}
