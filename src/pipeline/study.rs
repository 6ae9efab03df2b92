//! Labelled records with what was computed of them, for measuring and fitting; and unlabelled ones, for a person to label.
//!
//! Both go through the same audit as everything else, in the same order, so that what is measured is what an audit says.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{ControlFlow, Range},
};

use anyhow::Result;

use super::{
    Auditor, Filter, Observed,
    judge::Opinion,
    labels::{Label, Labels},
};
use crate::{
    engines::Question,
    input::Reader,
    report::{
        evaluation::{Evaluated, SpanCounts},
        verdict_record::{Identity, place},
    },
    stats::log_odds,
    text::excerpt::REDACTED,
    verdict::{
        Decision,
        calibration::measured,
        fitting::{Labelled, Measured},
    },
};

/// The field that labelled spans point into.
const SPAN_FIELD: &str = "/response";
/// Cards that a labelling session keeps, those nearest to the threshold; the others come with the next session.
pub const CARDS_MAX: usize = 1_000;
/// Texts on a card.
const CARD_TEXTS_MAX: usize = 12;
/// Bytes of a text on a card.
const CARD_TEXT_BYTES_MAX: usize = 4_000;
/// Pieces of evidence on a card.
const CARD_FINDINGS_MAX: usize = 12;

/// All that was asked for of a labelled log.
#[derive(Clone, Debug, Default)]
pub struct Study {
    /// Labelled calls, in the order of the log, for a fit.
    pub labelled: Vec<Labelled>,
    /// The same calls, for an evaluation.
    pub evaluated: Vec<Evaluated>,
    /// Calls that were audited and have no label.
    pub unlabelled: u64,
    /// The threshold from which on the question is flagged, for most of the labelled calls.
    pub flag_from: Option<f64>,
}

/// A record for a person to label, safe to show.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// The source of the record.
    pub source: String,
    /// Line on which it begins.
    pub line: u64,
    /// Position among the records of that line.
    pub item: Option<u32>,
    /// Its own id, where it may be shown.
    pub id: Option<String>,
    /// The posterior of the question.
    pub posterior: f64,
    /// How far it is from the flag threshold, in log odds.
    pub distance: f64,
    /// The verdict in one or two sentences.
    pub explanation: String,
    /// Prompt, documents and answer, redacted: name and text.
    pub texts: Vec<(String, String)>,
    /// Rule and excerpt of what was found.
    pub evidence: Vec<(String, String)>,
}

impl Auditor {
    /// Audits `input` and keeps what was computed of the calls that have a label.
    ///
    /// # Errors
    /// None of its own; see [`Auditor::audit`].
    pub fn study(&self, input: &mut Reader, filter: &Filter, question: Question, labels: &Labels) -> Result<Study> {
        let mut study = Study::default();
        // By bits, which order thresholds as their values do.
        let mut thresholds: BTreeMap<u64, u64> = BTreeMap::new();
        let mut history = self.history();
        let part = |batch: Vec<Observed<'_>>| {
            let opinions = batch.into_iter().filter_map(|unit| self.opinion(unit));
            let of = |opinion: Opinion<'_>| {
                let label = labels.of(&opinion.identity());
                label.map(|label| (opinion.labelled(question, label), opinion.evaluated(question, label)))
            };
            opinions.map(of).collect::<Vec<_>>()
        };
        self.drive(input, filter, (&mut self.assembly(), &mut history), part, |part, _| {
            for case in part {
                let Some((labelled, (evaluated, flag_from))) = case else {
                    study.unlabelled += 1;
                    continue;
                };
                *thresholds.entry(flag_from.to_bits()).or_default() += 1;
                study.labelled.push(labelled);
                study.evaluated.push(evaluated);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        study.flag_from = thresholds.into_iter().max_by_key(|(_, calls)| *calls).map(|(bits, _)| f64::from_bits(bits));
        Ok(study)
    }

    /// Audits `input` and keeps the calls for which the question is open, the most open first: those whose posterior is
    /// nearest to the flag threshold. Calls that `is_done` are left out.
    ///
    /// # Errors
    /// None of its own; see [`Auditor::audit`].
    pub fn cards(
        &self,
        input: &mut Reader,
        filter: &Filter,
        question: Question,
        is_done: impl Fn(&Identity<'_>) -> bool + Sync,
    ) -> Result<Vec<Card>> {
        let mut cards: Vec<Card> = Vec::new();
        let mut history = self.history();
        let part = |batch: Vec<Observed<'_>>| {
            let opinions = batch.into_iter().filter_map(|unit| self.opinion(unit));
            let open = opinions.filter(|opinion| !is_done(&opinion.identity()));
            open.filter_map(|opinion| opinion.card(question)).collect::<Vec<_>>()
        };
        let sort = |cards: &mut Vec<Card>| {
            // Stable, so that of equal ones the earlier comes first.
            cards.sort_by(|a, b| a.distance.total_cmp(&b.distance));
            cards.truncate(CARDS_MAX);
        };
        self.drive(input, filter, (&mut self.assembly(), &mut history), part, |part, _| {
            cards.extend(part);
            if cards.len() > 2 * CARDS_MAX {
                sort(&mut cards);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        sort(&mut cards);
        Ok(cards)
    }
}

impl Opinion<'_> {
    fn labelled(&self, question: Question, label: &Label) -> Labelled {
        let answer = &self.verdict.answers[question as usize];
        let signals = self.signals.iter().filter(|signal| signal.question == question).map(|signal| Measured {
            id: signal.id,
            value: measured(signal),
            log_odds: signal.evidence().contribution(),
            is_proof: signal.proof && signal.fired,
        });
        Labelled {
            is_positive: label.is_positive,
            group: label.group.clone().unwrap_or_else(|| self.own_place()),
            stream: self.call.stream.clone(),
            prior: answer.prior,
            posterior: answer.posterior,
            signals: signals.collect(),
        }
    }

    fn own_place(&self) -> String {
        place(&self.place.source, self.place.line, self.place.item)
    }

    fn evaluated(&self, question: Question, label: &Label) -> (Evaluated, f64) {
        let answer = &self.verdict.answers[question as usize];
        let evaluated = Evaluated {
            is_positive: label.is_positive,
            posterior: answer.posterior,
            is_assessed: answer.not_assessed.is_none(),
            is_flagged: answer.decision >= Decision::Flag,
            by: label.by.clone(),
            group: label.group.clone().unwrap_or_else(|| self.own_place()),
            within: label.within.clone(),
            spans: label.spans.as_deref().map(|spans| self.span_counts(spans)),
        };
        (evaluated, self.flag_from[question as usize])
    }

    /// How far what was found in the response covers what is labelled there.
    fn span_counts(&self, labelled: &[Range<usize>]) -> SpanCounts {
        let text = self.call.record.response.as_deref().unwrap_or_default();
        let findings = self.assessments.iter().flat_map(|(_, said)| &said.findings);
        let found: Vec<Range<usize>> =
            findings.filter(|finding| finding.field == SPAN_FIELD).map(|finding| finding.span.clone()).collect();
        span_counts(text, &found, labelled)
    }

    fn card(&self, question: Question) -> Option<Card> {
        let answer = &self.verdict.answers[question as usize];
        answer.not_assessed.is_none().then(|| {
            let record = self.record();
            let evidence = record.findings.iter().take(CARD_FINDINGS_MAX);
            let log_odds = |p: f64| log_odds::prior_log_odds(p);
            Card {
                source: record.source.clone(),
                line: record.line,
                item: record.item,
                // An id that may not be shown is of no use to find the record by.
                id: self.call.record.id.as_deref().filter(|id| self.names.shown(id) == *id).map(str::to_owned),
                posterior: answer.posterior,
                distance: (log_odds(answer.posterior) - log_odds(self.flag_from[question as usize])).abs(),
                explanation: record.explanation.clone(),
                texts: self.card_texts(),
                evidence: evidence.map(|finding| (finding.rule.to_string(), finding.excerpt.clone())).collect(),
            }
        })
    }

    /// Prompt, documents and answer, without what the rules call personal or secret.
    fn card_texts(&self) -> Vec<(String, String)> {
        let record = &self.call.record;
        let mut texts: Vec<(String, String)> = Vec::new();
        let mut push = |name: &str, text: &str| {
            if !text.is_empty() && texts.len() < CARD_TEXTS_MAX {
                texts.push((name.to_owned(), text.to_owned()));
            }
        };
        if let Some((message, text)) = record.prompt.texts().last() {
            let field = message.map_or_else(|| "/prompt".to_owned(), |index| format!("/prompt/{index}/text"));
            push("prompt", &self.redacted(&field, text));
        }
        for (index, passage) in record.context.iter().enumerate() {
            push("context", &self.redacted(&format!("/context/{index}"), &passage.text));
        }
        if let Some(response) = &record.response {
            push("response", &self.redacted("/response", response));
        }
        if let Some(args) = &record.args {
            push("args", &self.names.shown(&args.to_compact_string()));
        }
        if let Some(result) = &record.result {
            push("result", &self.names.shown(&result.to_compact_string()));
        }
        texts
    }

    /// The text of one field with its sensitive parts taken out, and cut.
    fn redacted(&self, field: &str, text: &str) -> String {
        let cut = &text[..text.floor_char_boundary(CARD_TEXT_BYTES_MAX)];
        if self.names.shows_sensitive() {
            return cut.to_owned();
        }
        let about = self.call.sensitive.iter().filter(|(name, _)| name == field).map(|(_, span)| span.clone());
        let mut spans: Vec<Range<usize>> = about.collect();
        spans.sort_by_key(|span| (span.start, span.end));
        let (mut out, mut at) = (String::with_capacity(cut.len()), 0);
        for span in spans {
            let (start, end) = (cut.floor_char_boundary(span.start), cut.ceil_char_boundary(span.end));
            if end <= at || start >= cut.len() {
                continue;
            }
            out.push_str(&cut[at..start.max(at)]);
            out.push_str(REDACTED);
            at = end;
        }
        out.push_str(&cut[at..]);
        out
    }
}

/// Code points that were found, labelled, and both. `found` counts bytes, `labelled` code points.
fn span_counts(text: &str, found: &[Range<usize>], labelled: &[Range<usize>]) -> SpanCounts {
    let mut counts = SpanCounts::default();
    let (found, labelled) = (merged(found), merged(labelled));
    let (mut next_found, mut next_labelled) = (&found[..], &labelled[..]);
    for (index, (byte, _)) in text.char_indices().enumerate() {
        let (is_found, is_labelled) = (reaches(&mut next_found, byte), reaches(&mut next_labelled, index));
        counts.found += u64::from(is_found);
        counts.labelled += u64::from(is_labelled);
        counts.both += u64::from(is_found && is_labelled);
    }
    counts
}

/// Whether `at`, which only grows from call to call, lies in one of `spans`, which loses those that end before it.
fn reaches(spans: &mut &[Range<usize>], at: usize) -> bool {
    while let Some((first, rest)) = spans.split_first() {
        if at < first.end {
            return at >= first.start;
        }
        *spans = rest;
    }
    false
}

/// The same positions in as few spans as possible.
fn merged(spans: &[Range<usize>]) -> Vec<Range<usize>> {
    let sorted: BTreeSet<(usize, usize)> = spans.iter().map(|span| (span.start, span.end)).collect();
    let mut merged: Vec<Range<usize>> = Vec::new();
    for (start, end) in sorted {
        match merged.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => merged.push(start..end),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_counted_in_code_points() {
        // Bytes of é are two: 0..3 in bytes is "éa".
        let counts = span_counts("éabcd", &[0..3, 2..3], &[1..3, 4..9]);
        assert_eq!(counts, SpanCounts { found: 2, labelled: 3, both: 1 });
        assert_eq!(span_counts("", &[0..3, 4..5], &[0..1, 2..3]), SpanCounts::default());
    }
}
