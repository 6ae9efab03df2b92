//! How good an audit is on labelled records: the report of `llmverify eval`, as a table, JSON or CSV.
//!
//! **Formula**: the metrics are those of [`metrics`](crate::stats::metrics), over the posterior of one question; the
//! posterior of a record that was not assessed is its prior. Intervals are 95% bootstrap intervals over whole groups.
//! With a split, the threshold of the highest F1 on one part of the groups is reported on the other.
//!
//! **Range**: see there. A metric that is not defined (one class, nothing labelled) is null, and empty in CSV.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use serde::Serialize;

use super::{
    csv::guard_formula,
    safe_json,
    terminal::{Styles, clip, guard_line, safe},
};
use crate::{
    engines::Question,
    hash,
    stats::metrics::{Item, Ranking},
};

/// Resamples of the bootstrap, unless it is told otherwise.
pub const RESAMPLES: usize = 1000;
/// The seed of the bootstrap; any other is as good.
const SEED: u64 = 1;
/// How many metrics there are.
const METRIC_COUNT: usize = 11;
/// Their names, in the order of reports.
pub const METRICS: [&str; METRIC_COUNT] = [
    "precision",
    "recall",
    "f1",
    "auroc",
    "auroc_within",
    "average_precision",
    "brier",
    "expected_calibration_error",
    "precision_top_5",
    "precision_top_10",
    "precision_top_20",
];
/// The metrics of the table by group.
const GROUP_METRICS: [(usize, &str); 6] = [(0, "P"), (1, "R"), (2, "F1"), (3, "AUROC"), (5, "AP"), (7, "ECE")];
const NAME_CHARS_MAX: usize = 32;

/// One labelled record.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluated {
    /// Whether the answer is yes.
    pub is_positive: bool,
    /// The posterior; the prior when not assessed.
    pub posterior: f64,
    /// Whether there was anything to go on.
    pub is_assessed: bool,
    /// Whether the question was flagged or blocked.
    pub is_flagged: bool,
    /// What results are shown by.
    pub by: Option<String>,
    /// What is drawn, and split, as a whole.
    pub group: String,
    /// The stratum within which it is compared.
    pub within: Option<String>,
    /// How far what was found covers what is labelled.
    pub spans: Option<SpanCounts>,
}

/// Code points of the response that were found, labelled, and both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpanCounts {
    /// In a finding.
    pub found: u64,
    /// In a labelled span.
    pub labelled: u64,
    /// In both.
    pub both: u64,
}

/// How to evaluate.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The question.
    pub question: Question,
    /// The threshold; what the audit flags from when neither this nor a split is given.
    pub threshold: Option<f64>,
    /// The share of the groups on which the threshold is chosen; the rest is reported.
    pub split: Option<f64>,
    /// Resamples of the bootstrap; 0 for no intervals.
    pub resamples: usize,
    /// From where on the audit flags.
    pub flag_from: f64,
    /// Records that were audited and have no label.
    pub unlabelled: u64,
}

/// How good an audit is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// Name and version of this object's format.
    pub schema: EvaluationSchema,
    /// The question.
    pub question: Question,
    /// "Posterior ≥ threshold" is what precision, recall and F1 are of.
    pub threshold: f64,
    /// Where the threshold comes from.
    pub threshold_source: ThresholdSource,
    /// Records that the threshold was chosen on and that are not reported.
    pub tuning_records: u64,
    /// Records that were audited and have no label.
    pub unlabelled: u64,
    /// Over all reported records.
    pub all: GroupEvaluation,
    /// The threshold with the highest F1 on the very records that are reported, which flatters.
    pub best_f1_threshold: Option<f64>,
    /// Posterior against labels, in bins of equal width.
    pub reliability: Vec<ReliabilityRow>,
    /// The same for each value of what results are shown by.
    pub groups: Vec<GroupEvaluation>,
}

/// Name and version of the format of [`Evaluation`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum EvaluationSchema {
    /// The first version.
    #[default]
    #[serde(rename = "llmverify.evaluation/1")]
    V1,
}

/// Where a threshold comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ThresholdSource {
    /// It was asked for.
    Given,
    /// The highest F1 on the other part.
    Split,
    /// What the audit flags from.
    Policy,
}

/// The numbers of one group of records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupEvaluation {
    /// Its name; `all` for all.
    pub name: String,
    /// Labelled records.
    pub records: u64,
    /// Those labelled yes.
    pub positives: u64,
    /// Those with nothing to go on, which are scored by their prior.
    pub not_assessed: u64,
    /// Those that the audit flagged or blocked for this question.
    pub flagged: u64,
    /// By name, in the order of [`METRICS`].
    pub metrics: BTreeMap<&'static str, Metric>,
    /// Code points found and labelled; null without labelled spans.
    pub spans: Option<SpanEvaluation>,
}

/// One number with its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Metric {
    /// The number; null where it is not defined.
    pub value: Option<f64>,
    /// Lower end of its 95% interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// How well findings cover labelled spans, counted in code points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SpanEvaluation {
    /// Records with labelled spans.
    pub records: u64,
    /// The counts.
    #[serde(flatten)]
    pub counts: SpanCounts,
    /// Both / found.
    pub precision: Option<f64>,
    /// Both / labelled.
    pub recall: Option<f64>,
}

/// One row of the reliability table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReliabilityRow {
    /// Least posterior of the bin.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// Records in it.
    pub records: u64,
    /// Their mean posterior.
    pub mean_posterior: f64,
    /// The share of them that is labelled yes.
    pub positive_share: f64,
}

impl Evaluation {
    /// Evaluates `records`.
    pub fn new(records: &[Evaluated], options: &Options) -> Evaluation {
        let (tuning, reported) = split(records, options.split);
        let (threshold, threshold_source) = match (options.threshold, options.split) {
            (Some(threshold), _) => (threshold, ThresholdSource::Given),
            (None, Some(_)) => {
                let chosen = ranking(&tuning).best_f1_threshold();
                (chosen.unwrap_or(options.flag_from), ThresholdSource::Split)
            }
            (None, None) => (options.flag_from, ThresholdSource::Policy),
        };
        let whole = ranking(&reported);
        let mut by: BTreeMap<&str, Vec<&Evaluated>> = BTreeMap::new();
        for record in &reported {
            if let Some(name) = &record.by {
                by.entry(name).or_default().push(record);
            }
        }
        let group = |(name, records): (&str, Vec<&Evaluated>)| evaluate(name, &records, threshold, options.resamples);
        Evaluation {
            schema: EvaluationSchema::V1,
            question: options.question,
            threshold,
            threshold_source,
            tuning_records: tuning.len() as u64,
            unlabelled: options.unlabelled,
            all: evaluate("all", &reported, threshold, options.resamples),
            best_f1_threshold: whole.best_f1_threshold(),
            reliability: reliability(&whole),
            groups: by.into_iter().map(group).collect(),
        }
    }

    /// One JSON object.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = safe_json::pretty(self);
        json.push(b'\n');
        json
    }

    /// One row per group and metric.
    pub fn to_csv(&self) -> Vec<u8> {
        let mut rows = csv::Writer::from_writer(Vec::new());
        let mut write = |row: [String; 7]| {
            let written = rows.write_record(&row);
            debug_assert!(written.is_ok(), "writing to memory does not fail");
        };
        write(["group", "records", "positives", "metric", "value", "low", "high"].map(str::to_owned));
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        for group in std::iter::once(&self.all).chain(&self.groups) {
            let name = guard_formula(&safe(&group.name)).into_owned();
            let mut row = |metric: &str, Metric { value, low, high }: Metric| {
                let counts = [group.records, group.positives].map(|count| count.to_string());
                let [records, positives] = counts;
                let ends = [number(value), number(low), number(high)];
                let [value, low, high] = ends;
                write([name.clone(), records, positives, metric.to_owned(), value, low, high]);
            };
            for metric in METRICS {
                row(metric, group.metrics.get(metric).copied().unwrap_or_default());
            }
            if let Some(spans) = &group.spans {
                row("span_precision", Metric { value: spans.precision, ..Metric::default() });
                row("span_recall", Metric { value: spans.recall, ..Metric::default() });
            }
        }
        rows.into_inner().unwrap_or_default()
    }

    /// A page for people.
    pub fn to_table(&self, styles: &Styles) -> String {
        let mut page = String::new();
        let (heading, dim) = (styles.heading, styles.dim);
        let mut line = |text: &str| {
            page.push_str(&guard_line(text.trim_end()));
            page.push('\n');
        };
        let all = &self.all;
        line(&format!("{heading}{}{heading:#}  {}", self.question.as_str(), counts(all)));
        let source = match self.threshold_source {
            ThresholdSource::Given => "as given".to_owned(),
            ThresholdSource::Split => format!("highest F1 on {} other records", self.tuning_records),
            ThresholdSource::Policy => "from which on the audit flags".to_owned(),
        };
        line(&format!(
            "threshold {:.4}, {source}; {} records without a label left out",
            self.threshold, self.unlabelled
        ));
        line("");
        line(&format!("{dim}{:<28} {:>7}   {}{dim:#}", "", "value", "95% interval"));
        for name in METRICS {
            let metric = all.metrics.get(name).copied().unwrap_or_default();
            if name == "auroc_within" && metric.value.is_none() {
                continue;
            }
            let interval = match (metric.low, metric.high) {
                (Some(low), Some(high)) => format!("{low:.3} to {high:.3}"),
                _ => String::new(),
            };
            line(&format!("{name:<28} {:>7}   {interval}", shown(metric.value)));
        }
        if let Some(best) = self.best_f1_threshold {
            line(&format!("{dim}the highest F1 on these very records is at {best:.4}{dim:#}"));
        }
        if let Some(spans) = &all.spans {
            line("");
            let (precision, recall) = (shown(spans.precision), shown(spans.recall));
            line(&format!(
                "spans, by characters, in {} records: precision {precision}, recall {recall}",
                spans.records
            ));
        }
        if !self.reliability.is_empty() {
            line("");
            line(&format!(
                "{dim}{:<17} {:>8} {:>15} {:>15}{dim:#}",
                "posterior", "records", "mean posterior", "share of yes"
            ));
            for row in &self.reliability {
                let bin = format!("{:.3} to {:.3}", row.from, row.to);
                let (mean, share) = (row.mean_posterior, row.positive_share);
                line(&format!("{bin:<17} {:>8} {mean:>15.3} {share:>15.3}", row.records));
            }
        }
        if !self.groups.is_empty() {
            line("");
            let names = GROUP_METRICS.iter().fold(String::new(), |mut row, (_, name)| {
                let _ = write!(row, " {name:>6}");
                row
            });
            line(&format!("{dim}{:<width$} {:>8} {:>6}{names}{dim:#}", "", "records", "yes", width = NAME_CHARS_MAX));
        }
        for group in &self.groups {
            let values = GROUP_METRICS.iter().fold(String::new(), |mut row, (metric, _)| {
                let value = group.metrics.get(METRICS[*metric]).and_then(|metric| metric.value);
                let _ = write!(row, " {:>6}", shown(value));
                row
            });
            let name = clip(&group.name, NAME_CHARS_MAX);
            line(&format!(
                "{name:<width$} {:>8} {:>6}{values}",
                group.records,
                group.positives,
                width = NAME_CHARS_MAX
            ));
        }
        page
    }
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

fn counts(group: &GroupEvaluation) -> String {
    format!(
        "{} labelled records, {} of them yes; {} not assessed, {} flagged or blocked",
        group.records, group.positives, group.not_assessed, group.flagged
    )
}

/// The records of the groups with the smallest hashes, up to `share` of the groups, and the others.
fn split(records: &[Evaluated], share: Option<f64>) -> (Vec<&Evaluated>, Vec<&Evaluated>) {
    let Some(share) = share else { return (Vec::new(), records.iter().collect()) };
    let groups: BTreeSet<(u64, &str)> =
        records.iter().map(|record| (hash::name(&record.group), record.group.as_str())).collect();
    let count = (groups.len() as f64 * share.clamp(0.0, 1.0)).round() as usize;
    let tuning: BTreeSet<&str> = groups.into_iter().take(count).map(|(_, name)| name).collect();
    records.iter().partition(|record| tuning.contains(record.group.as_str()))
}

fn ranking(records: &[&Evaluated]) -> Ranking {
    fn index(names: BTreeSet<&str>) -> BTreeMap<&str, usize> {
        names.into_iter().zip(0..).collect()
    }
    let groups = index(records.iter().map(|record| record.group.as_str()).collect());
    let strata = index(records.iter().filter_map(|record| record.within.as_deref()).collect());
    let item = |record: &&Evaluated| Item {
        group: groups.get(record.group.as_str()).copied().unwrap_or_default(),
        stratum: record.within.as_deref().and_then(|name| strata.get(name)).copied().unwrap_or_default(),
        ..Item::new(record.posterior, record.is_positive)
    };
    Ranking::new(records.iter().map(item).collect())
}

fn evaluate(name: &str, records: &[&Evaluated], threshold: f64, resamples: usize) -> GroupEvaluation {
    let ranking = ranking(records);
    let has_strata = records.iter().any(|record| record.within.is_some());
    let measure = |ranking: &Ranking| -> [Option<f64>; METRIC_COUNT] {
        let confusion = ranking.at(threshold);
        [
            confusion.precision(),
            confusion.recall(),
            confusion.f1(),
            ranking.auroc(),
            ranking.stratified_auroc().filter(|_| has_strata),
            ranking.average_precision(),
            ranking.brier(),
            ranking.expected_calibration_error(),
            ranking.precision_in_top(0.05),
            ranking.precision_in_top(0.1),
            ranking.precision_in_top(0.2),
        ]
    };
    let values = measure(&ranking);
    let intervals = ranking.intervals(resamples, SEED, measure);
    let metric = |(value, interval): (Option<f64>, Option<(f64, f64)>)| {
        let interval = interval.filter(|_| value.is_some());
        Metric { value, low: interval.map(|ends| ends.0), high: interval.map(|ends| ends.1) }
    };
    let count = |is: fn(&Evaluated) -> bool| records.iter().filter(|record| is(record)).count() as u64;
    GroupEvaluation {
        name: name.to_owned(),
        records: records.len() as u64,
        positives: count(|record| record.is_positive),
        not_assessed: count(|record| !record.is_assessed),
        flagged: count(|record| record.is_flagged),
        metrics: METRICS.into_iter().zip(values.into_iter().zip(intervals).map(metric)).collect(),
        spans: spans(records),
    }
}

fn spans(records: &[&Evaluated]) -> Option<SpanEvaluation> {
    let of: Vec<SpanCounts> = records.iter().filter_map(|record| record.spans).collect();
    let add = |sum: SpanCounts, one: &SpanCounts| SpanCounts {
        found: sum.found + one.found,
        labelled: sum.labelled + one.labelled,
        both: sum.both + one.both,
    };
    let counts = of.iter().fold(SpanCounts::default(), add);
    let share = |of: u64| (of > 0).then(|| counts.both as f64 / of as f64);
    let evaluation = SpanEvaluation {
        records: of.len() as u64,
        counts,
        precision: share(counts.found),
        recall: share(counts.labelled),
    };
    (!of.is_empty()).then_some(evaluation)
}

fn reliability(ranking: &Ranking) -> Vec<ReliabilityRow> {
    let row = |bin: crate::stats::metrics::Reliability| ReliabilityRow {
        from: bin.from,
        to: bin.to,
        records: bin.weight as u64,
        mean_posterior: bin.mean_score,
        positive_share: bin.positive_share,
    };
    ranking.reliability().into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<Evaluated> {
        let record = |index: usize| Evaluated {
            is_positive: index.is_multiple_of(4),
            posterior: (index * 7 % 40) as f64 / 80.0 + if index.is_multiple_of(4) { 0.4 } else { 0.0 },
            is_assessed: !index.is_multiple_of(10),
            is_flagged: index.is_multiple_of(5),
            by: Some(if index.is_multiple_of(2) { "=even" } else { "odd" }.to_owned()),
            group: format!("g{}", index / 2),
            within: None,
            spans: (index == 0).then_some(SpanCounts { found: 4, labelled: 2, both: 1 }),
        };
        (0..40).map(record).collect()
    }

    fn options() -> Options {
        let question = Question::Fabricated;
        Options { question, threshold: None, split: None, resamples: 50, flag_from: 0.4, unlabelled: 3 }
    }

    #[test]
    fn counts_and_metrics_are_those_of_the_records() {
        let evaluation = Evaluation::new(&records(), &options());
        let all = &evaluation.all;
        assert_eq!((all.records, all.positives, all.not_assessed, all.flagged), (40, 10, 4, 8));
        assert_eq!((evaluation.threshold, evaluation.threshold_source), (0.4, ThresholdSource::Policy));
        // All positives are at .4 or above, the threshold.
        assert_eq!(all.metrics["recall"].value, Some(1.0));
        assert_eq!(all.metrics["auroc_within"].value, None);
        assert_eq!(all.spans.map(|spans| (spans.precision, spans.recall)), Some((Some(0.25), Some(0.5))));
        let names: Vec<&str> = evaluation.groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["=even", "odd"]);
        assert_eq!(evaluation.groups[1].metrics["auroc"].value, None);
    }

    #[test]
    fn a_split_reports_on_what_the_threshold_was_not_chosen_on() {
        let split = Evaluation::new(&records(), &Options { split: Some(0.5), ..options() });
        assert_eq!((split.tuning_records, split.all.records), (20, 20));
        assert_eq!(split.threshold_source, ThresholdSource::Split);
        assert_eq!(split, Evaluation::new(&records(), &Options { split: Some(0.5), ..options() }));
        let given = Evaluation::new(&records(), &Options { threshold: Some(0.9), ..options() });
        assert_eq!((given.threshold, given.threshold_source), (0.9, ThresholdSource::Given));
    }

    #[test]
    fn all_formats_are_safe_and_hold_the_same() {
        let mut evaluation = Evaluation::new(&records(), &options());
        evaluation.groups[0].name = "=\u{1b}[2J\n::error::x".to_owned();
        let table = evaluation.to_table(&Styles::plain());
        assert!(!table.contains('\u{1b}') && table.lines().all(|line| !line.trim_start().starts_with("::")), "{table}");
        let json: serde_json::Value = serde_json::from_slice(&evaluation.to_json()).unwrap();
        assert_eq!(json["all"]["metrics"]["recall"]["value"], 1.0);
        assert_eq!(json["schema"], "llmverify.evaluation/1");
        let csv = String::from_utf8(evaluation.to_csv()).unwrap();
        assert_eq!(csv.lines().count(), 1 + 3 * METRICS.len() + 4);
        assert!(csv.contains("'=") && !csv.contains('\u{1b}'), "{csv}");
    }

    #[test]
    fn nothing_and_one_class_have_no_metrics() {
        for records in [&[][..], &records()[1..2]] {
            let evaluation = Evaluation::new(records, &Options { split: Some(0.5), ..options() });
            assert_eq!(evaluation.all.metrics["auroc"], Metric::default());
            assert!(evaluation.to_table(&Styles::plain()).contains("auroc"));
        }
    }
}
