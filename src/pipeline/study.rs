//! Labelled records with what was computed of them, for measuring and fitting; and unlabelled ones, for a person to label.
//!
//! Both go through the same audit as everything else, in the same order, so that what is measured is what an audit says.

use std::{
    borrow::Cow,
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
    engines::{Class, Question},
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
/// Characters of the name of a group of results.
const GROUP_CHARS_MAX: usize = 80;
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
    /// Those of them with an id that a label has, which other records or labels have too.
    pub ambiguous: u64,
    /// The threshold from which on the question is flagged, for most of the labelled calls.
    pub flag_from: Option<f64>,
}

/// A call, and how it came by its label.
struct Case {
    /// Its id, where a label has it.
    id: Option<String>,
    /// Whether the label is joined by that id alone.
    is_by_id: bool,
    /// What was computed of it, and the threshold; `None` without a label.
    said: Option<(Labelled, Evaluated, f64)>,
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
            opinions.map(|opinion| opinion.case(question, labels)).collect::<Vec<_>>()
        };
        let (mut cases, mut seen) = (Vec::new(), BTreeMap::<String, u64>::new());
        self.drive(input, filter, (&mut self.assembly(), &mut history), part, |part, _| {
            for case in part.into_iter().flatten() {
                if let Some(id) = &case.id {
                    *seen.entry(id.clone()).or_default() += 1;
                }
                // What has no label is only counted.
                if case.said.is_some() || case.id.is_some() { cases.push(case) } else { study.unlabelled += 1 }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        for Case { id, is_by_id, said } in cases {
            let is_shared = is_by_id && id.as_ref().and_then(|id| seen.get(id)).is_some_and(|records| *records > 1);
            let Some((labelled, evaluated, flag_from)) = said.filter(|_| !is_shared) else {
                study.unlabelled += 1;
                study.ambiguous += 1;
                continue;
            };
            *thresholds.entry(flag_from.to_bits()).or_default() += 1;
            study.labelled.push(labelled);
            study.evaluated.push(evaluated);
        }
        self.show_groups(&mut study.evaluated);
        study.flag_from = thresholds.into_iter().max_by_key(|(_, calls)| *calls).map(|(bits, _)| f64::from_bits(bits));
        Ok(study)
    }

    /// Names what results are shown by as it may be shown: cut, without what is personal or secret, and still apart.
    fn show_groups(&self, evaluated: &mut [Evaluated]) {
        let names = self.names();
        let (mut shown, mut taken) = (BTreeMap::<String, String>::new(), BTreeMap::<String, u64>::new());
        for by in evaluated.iter_mut().filter_map(|record| record.by.as_mut()) {
            let known = shown.entry(by.clone()).or_insert_with(|| {
                let name = names.shown(&cut_name(by)).into_owned();
                let times = taken.entry(name.clone()).or_default();
                *times += 1;
                if *times > 1 { format!("{name} ({times})") } else { name }
            });
            by.clone_from(known);
        }
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
            cards.extend(part.into_iter().flatten());
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
    fn case(&self, question: Question, labels: &Labels) -> Case {
        let identity = self.identity();
        let id = identity.id.filter(|id| labels.knows(id));
        let at = labels.at(&identity);
        let label = at.or_else(|| id.and_then(|id| labels.of_id(id)));
        let said = label.map(|label| {
            let (evaluated, flag_from) = self.evaluated(question, label);
            (self.labelled(question, label), evaluated, flag_from)
        });
        Case { id: id.map(str::to_owned), is_by_id: at.is_none(), said }
    }

    fn labelled(&self, question: Question, label: &Label) -> Labelled {
        let answer = &self.verdict.answers[question as usize];
        let signals = self.signals.iter().filter(|signal| signal.question == question).map(|signal| Measured {
            id: signal.id,
            value: measured(signal),
            log_odds: signal.evidence().contribution(),
            is_proof: signal.class == Class::Proof && signal.fired,
        });
        Labelled {
            is_positive: label.is_positive,
            group: label.group.clone().unwrap_or_else(|| self.own_place()),
            stream: self.shown_stream().to_owned(),
            prior: answer.prior,
            posterior: answer.posterior,
            signals: signals.collect(),
        }
    }

    /// The stream, if its name may be written to a file as it stands.
    fn shown_stream(&self) -> &str {
        let stream = self.call.stream.as_str();
        if self.names.shown(stream) == stream { stream } else { "" }
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
            push("args", &self.named(&args.to_compact_string()));
        }
        if let Some(result) = &record.result {
            push("result", &self.named(&result.to_compact_string()));
        }
        texts
    }

    /// Text that the rules have not looked into as one, without what they find in it, and cut.
    fn named(&self, text: &str) -> String {
        let shown = self.names.shown(text);
        shown[..shown.floor_char_boundary(CARD_TEXT_BYTES_MAX)].to_owned()
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

/// The first [`GROUP_CHARS_MAX`] characters of a name, with a sign when there are more.
fn cut_name(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(GROUP_CHARS_MAX) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => Cow::Borrowed(name),
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
    use crate::{config::Settings, input::Limits, pipeline::labels::LabelFields};

    fn reader(log: &str) -> Reader {
        Reader::from_stream("log", std::io::Cursor::new(log.as_bytes().to_vec()), Limits::default())
    }

    fn study(log: &str, labels: &Labels) -> Study {
        let auditor = Auditor::new(Settings::default()).unwrap();
        auditor.study(&mut reader(log), &Filter::default(), Question::Fabricated, labels).unwrap()
    }

    #[test]
    fn names_of_groups_are_shown_as_other_names_are() {
        let long = "word ".repeat(60);
        let names = ["jane.roe@acme-corp.com", "joe.doe@acme-corp.com", "north", &long];
        let log: String = names
            .iter()
            .map(|name| serde_json::json!({"model": name, "response": "r", "label": 1, "by": name}).to_string() + "\n")
            .collect();
        let fields = LabelFields { label: "label".to_owned(), by: vec!["by".to_owned()], ..LabelFields::default() };
        let study = study(&log, &Labels::of_log(&mut reader(&log), &fields).unwrap());
        let by: Vec<&str> = study.evaluated.iter().filter_map(|record| record.by.as_deref()).collect();
        assert_eq!(by[..3], ["[redacted]", "[redacted] (2)", "north"]);
        assert!(by[3].chars().count() < 100 && by[3].starts_with("word word"), "{}", by[3]);
        // Streams stand in a file that is handed on.
        assert_eq!(study.labelled[0].stream, "");
        assert!(study.labelled[2].stream.contains("north"), "{}", study.labelled[2].stream);
    }

    #[test]
    fn an_id_that_several_records_have_joins_no_label() {
        let entry =
            r#"{"schema":"llmverify.label/1","source":"old","line":9,"id":"a","question":"fabricated","label":1}"#;
        let labels = Labels::of_entries(
            &crate::pipeline::labels::LabelEntry::parse_lines("l", entry).unwrap(),
            Question::Fabricated,
        );
        let record = |id: &str| format!("{{\"id\":\"{id}\",\"model\":\"m\",\"response\":\"r\"}}\n");
        for (ids, expected) in [(["a", "b"], (1, 1, 0)), (["a", "a"], (0, 2, 2)), (["c", "b"], (0, 2, 0))] {
            let study = study(&ids.map(record).concat(), &labels);
            assert_eq!((study.labelled.len(), study.unlabelled, study.ambiguous), expected, "{ids:?}");
        }
    }

    #[test]
    fn arguments_and_results_on_cards_are_cut() {
        let long = "word ".repeat(2_000);
        let log = serde_json::json!({"tool": "t", "args": {"a": long}, "result": {"b": long}}).to_string();
        let auditor = Auditor::new(Settings::default()).unwrap();
        let is_done = |_: &Identity<'_>| false;
        let cards = Question::ALL
            .into_iter()
            .flat_map(|question| auditor.cards(&mut reader(&log), &Filter::default(), question, is_done).unwrap());
        let texts: Vec<(String, String)> = cards.flat_map(|card| card.texts).collect();
        assert!(["args", "result"].iter().all(|name| texts.iter().any(|(known, _)| known == name)), "{texts:?}");
        assert!(texts.iter().all(|(_, text)| text.len() <= CARD_TEXT_BYTES_MAX));
    }

    #[test]
    fn spans_are_counted_in_code_points() {
        // Bytes of é are two: 0..3 in bytes is "éa".
        let counts = span_counts("éabcd", &[0..3, 2..3], &[1..3, 4..9]);
        assert_eq!(counts, SpanCounts { found: 2, labelled: 3, both: 1 });
        assert_eq!(span_counts("", &[0..3, 4..5], &[0..1, 2..3]), SpanCounts::default());
    }
}
