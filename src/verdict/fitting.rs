//! Labelled records become a calibration of one question, and what it gains is measured on records that it did not see.
//!
//! **Formula**: every signal that varies gets a table ([`fit::table`]); the tables are added up with non-negative weights
//! or with one temperature ([`fit::fusion`]), whichever has the lower cross-validated log loss unless one is asked for.
//! Signals without a table stay in the sum as they are. The prior is the intercept. A stream with at least
//! [`STREAM_LABELS_MIN`] labels has a prior of its own: its own intercept, fitted with
//! [`STREAM_SHRINKAGE`] more labels without evidence, of which the common prior's share is yes.
//!
//! Cross-validation keeps whole groups together; thresholds are chosen on posteriors out of fold.
//!
//! Whether it gains is told by the difference to the posteriors with which the records were judged, with 95% intervals over
//! resamples of whole groups ([`Gain`]): the area under the ROC curve is surely above chance, and surely larger than before; or not
//! surely smaller, while the log loss is surely lower.
//!
//! **Range**: see [`fit`](crate::stats::fit).
//!
//! **Source**: `docs/calibration.md` tells protocol and reasons.
//!
//! **Limits**: refuses below a stated number of labels per class, and when nothing varies. What it measured holds for
//! logs like the labelled one; a prior does not transfer to another mix of models and tasks.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::calibration::{Calibration, Provenance, QuestionCalibration, SignalTable, VERSION};
use crate::{
    engines::Question,
    stats::{
        fit::{self, Design, Direction, Fusion, Observation, RIDGE_TEMPERATURE, RIDGE_WEIGHTS},
        log_odds,
        metrics::{Confusion, Item, Ranking, intervals},
    },
};

/// Labels of each class that a fit needs, unless it is told otherwise.
pub const LABELS_PER_CLASS_MIN: usize = 50;
/// Folds of the cross-validation, unless it is told otherwise.
pub const FOLDS: usize = 5;
/// Labels that a stream needs for a prior of its own.
pub const STREAM_LABELS_MIN: usize = 30;
/// Labels that stand for the common prior in a stream's own.
pub const STREAM_SHRINKAGE: f64 = 10.0;
/// Resamples of the intervals of what a fit gains.
pub const RESAMPLES: usize = 400;
/// Their seed; any other is as good.
const SEED: u64 = 7;
/// The area under the ROC curve of a score that tells nothing.
const CHANCE: f64 = 0.5;
/// Decimals of the numbers in the file.
const DECIMALS: f64 = 1e6;

/// One signal of a labelled record.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Its id.
    pub id: &'static str,
    /// What it measured.
    pub value: f64,
    /// What it added to the log odds as the record was judged.
    pub log_odds: f64,
    /// Whether it is a proof that fired, which no table touches.
    pub is_proof: bool,
}

/// A labelled record, as far as the question is concerned.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelled {
    /// Whether the answer is yes.
    pub is_positive: bool,
    /// What it must not be parted from.
    pub group: String,
    /// The model or tool; empty where its name may not be written down, and then without a prior of its own.
    pub stream: String,
    /// The prior with which it was judged.
    pub prior: f64,
    /// The posterior with which it was judged.
    pub posterior: f64,
    /// Its signals.
    pub signals: Vec<Measured>,
}

/// How tables are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FusionKind {
    /// One non-negative weight per signal.
    Weights,
    /// All tables alike, times one temperature.
    Temperature,
}

impl FusionKind {
    /// The name in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            FusionKind::Weights => "weights",
            FusionKind::Temperature => "temperature",
        }
    }
}

/// What the flag threshold is chosen for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// The least total cost, with the costs of a miss and of a false alarm.
    Cost {
        /// Of a positive below the threshold.
        miss: f64,
        /// Of a negative at or above it.
        false_alarm: f64,
    },
    /// As many positives as possible while at most this share of the negatives is flagged.
    FalseAlarmRate(f64),
    /// The highest F1.
    F1,
}

/// How to fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Folds of the cross-validation.
    pub folds: usize,
    /// Labels of each class that are needed.
    pub labels_per_class_min: usize,
    /// How tables are added up; the better of both when not given.
    pub fusion: Option<FusionKind>,
    /// Signals that tell against the question the more they measure.
    pub falling: BTreeSet<String>,
    /// What the flag threshold is chosen for; it stays as it is when not given.
    pub target: Option<Target>,
    /// What the labels are, in words.
    pub source: String,
}

impl Default for Options {
    fn default() -> Options {
        let falling = BTreeSet::new();
        let (folds, labels_per_class_min) = (FOLDS, LABELS_PER_CLASS_MIN);
        Options { folds, labels_per_class_min, fusion: None, falling, target: None, source: String::new() }
    }
}

/// Why nothing was fitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// All labels say the same.
    OneClass {
        /// Whether they all say yes.
        is_positive: bool,
        /// How many there are.
        labels: usize,
    },
    /// One class has too few labels.
    TooFew {
        /// Labelled yes.
        positives: usize,
        /// Labelled no.
        negatives: usize,
        /// Needed of each.
        needed: usize,
    },
    /// No signal of the question takes two values.
    NothingVaries,
    /// All labels are of one group, so that nothing can be held out.
    OneGroup,
    /// There are no labels.
    NoLabels,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::OneClass { is_positive, labels } => {
                let says = if *is_positive { 1 } else { 0 };
                write!(f, "all {labels} labels are {says}: ratios compare two classes, so label some of the other")
            }
            Refusal::TooFew { positives, negatives, needed } => write!(
                f,
                "{positives} labels are 1 and {negatives} are 0; at least {needed} of each are needed (--min-labels)"
            ),
            Refusal::NothingVaries => f.write_str("no signal of this question varies over the labelled records"),
            Refusal::OneGroup => {
                f.write_str("all labelled records are of one group, so none can be held out (--group)")
            }
            Refusal::NoLabels => f.write_str("no record has a label"),
        }
    }
}

impl std::error::Error for Refusal {}

/// How well posteriors do.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// The share of pairs in which the positive scores higher.
    pub auroc: Option<f64>,
    /// Precision, averaged over recall.
    pub average_precision: Option<f64>,
    /// The mean squared error.
    pub brier: Option<f64>,
    /// The mean log loss in nats.
    pub log_loss: Option<f64>,
    /// The expected calibration error.
    pub expected_calibration_error: Option<f64>,
}

impl Scores {
    /// Those of `posteriors` for `records`.
    pub fn of(records: &[Labelled], posteriors: &[f64]) -> Scores {
        let ranking = ranking(records, posteriors);
        Scores {
            auroc: ranking.auroc(),
            average_precision: ranking.average_precision(),
            brier: ranking.brier(),
            log_loss: ranking.log_loss(),
            expected_calibration_error: ranking.expected_calibration_error(),
        }
    }
}

/// What a fit changes on records that it did not see: after less before, as 95% intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gain {
    /// Of the area under the ROC curve; more is better.
    pub auroc: Option<(f64, f64)>,
    /// Of the log loss; less is better.
    pub log_loss: Option<(f64, f64)>,
    /// The area under the ROC curve itself, after the fit.
    pub auroc_after: Option<(f64, f64)>,
}

impl Gain {
    fn of(before: &Ranking, after: &Ranking) -> Gain {
        let difference =
            |of: fn(&Ranking) -> Option<f64>, before: &Ranking, after: &Ranking| Some(of(after)? - of(before)?);
        let [auroc, log_loss, auroc_after] = intervals([before, after], RESAMPLES, SEED, |[before, after]| {
            let auroc = difference(Ranking::stratified_auroc, before, after);
            [auroc, difference(Ranking::log_loss, before, after), after.stratified_auroc()]
        });
        Gain { auroc, log_loss, auroc_after }
    }

    /// Why the fit should not be used; `None` when it is better.
    pub fn objection(&self) -> Option<&'static str> {
        let ((Some(auroc), Some(log_loss)), Some(after)) = ((self.auroc, self.log_loss), self.auroc_after) else {
            return Some("what it gains cannot be told");
        };
        if auroc.1 < 0.0 {
            return Some("it ranks worse than before");
        }
        if after.0 <= CHANCE {
            return Some("it ranks no better than chance");
        }
        if auroc.0 > 0.0 && log_loss.0 <= 0.0 {
            return None;
        }
        if log_loss.1 < 0.0 {
            None
        } else {
            Some("it ranks no better than before, and its probabilities are no better")
        }
    }
}

/// A fit, and what it is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// What was fitted, on all records.
    pub calibration: Calibration,
    /// Of the posteriors with which the records were judged.
    pub before: Scores,
    /// Of the posteriors that fits on other records give.
    pub after: Scores,
    /// The difference, beyond chance or not.
    pub gain: Gain,
    /// Precision and recall of the flag threshold that was chosen, out of fold.
    pub at_threshold: Option<(f64, Confusion)>,
    /// Signals that have no table, because they do not vary.
    pub constant: Vec<&'static str>,
}

/// Fits `question` on `records`.
///
/// # Errors
/// When the labels do not suffice.
pub fn fit(question: Question, records: &[Labelled], options: &Options) -> Result<Fitted, Refusal> {
    refuse(records, options)?;
    let groups: Vec<&str> = records.iter().map(|record| record.group.as_str()).collect();
    let folds = fit::folds(&groups, options.folds.max(2));
    let fold_count = folds.iter().max().map_or(0, |last| last + 1);
    if fold_count < 2 {
        return Err(Refusal::OneGroup);
    }
    let everything: Vec<&Labelled> = records.iter().collect();
    let (tables, constant) = tables(&everything, &options.falling);
    if tables.is_empty() {
        return Err(Refusal::NothingVaries);
    }
    let candidates = match options.fusion {
        Some(kind) => vec![kind],
        None => vec![FusionKind::Weights, FusionKind::Temperature],
    };
    let held_out = candidates.into_iter().map(|kind| {
        let posteriors = out_of_fold(records, &folds, fold_count, kind, &options.falling);
        (Scores::of(records, &posteriors), kind, posteriors)
    });
    let loss = |scores: &Scores| scores.log_loss.unwrap_or(f64::INFINITY);
    let best = held_out.reduce(|best, other| if loss(&other.0) < loss(&best.0) { other } else { best });
    let Some((after, kind, posteriors)) = best else { return Err(Refusal::NoLabels) };

    let mut fitted = model(&everything, &tables, kind);
    let at_threshold = options.target.and_then(|target| choose(&ranking(records, &posteriors), target));
    fitted.flag_from = at_threshold.map(|(threshold, _)| threshold);
    fitted.provenance = Some(Provenance {
        source: options.source.clone(),
        labels: records.len() as u64,
        positives: records.iter().filter(|record| record.is_positive).count() as u64,
        groups: groups.iter().collect::<BTreeSet<_>>().len() as u64,
        folds: fold_count as u64,
        fusion: kind.as_str().to_owned(),
        auroc: after.auroc.map(rounded),
        log_loss: after.log_loss.map(rounded),
        brier: after.brier.map(rounded),
        expected_calibration_error: after.expected_calibration_error.map(rounded),
    });
    let judged: Vec<f64> = records.iter().map(|record| record.posterior).collect();
    let mut calibration = Calibration { version: VERSION, ..Calibration::default() };
    *calibration.of_mut(question) = fitted;
    let gain = Gain::of(&grouped(records, &folds, &judged), &grouped(records, &folds, &posteriors));
    Ok(Fitted { calibration, before: Scores::of(records, &judged), after, gain, at_threshold, constant })
}

/// The posterior of `record` under `fitted`, as the audit would have it.
pub fn posterior(fitted: &QuestionCalibration, record: &Labelled) -> f64 {
    let mut is_fitted = false;
    let sum = record.signals.iter().fold(0.0, |sum, signal| {
        let ours = fitted.log_odds(signal.id, signal.value).filter(|_| !signal.is_proof);
        is_fitted |= ours.is_some();
        sum + ours.unwrap_or(signal.log_odds)
    });
    let prior = fitted.prior_of(&record.stream).filter(|_| is_fitted).unwrap_or(record.prior);
    log_odds::probability(log_odds::prior_log_odds(prior) + sum)
}

fn refuse(records: &[Labelled], options: &Options) -> Result<(), Refusal> {
    let positives = records.iter().filter(|record| record.is_positive).count();
    let (negatives, needed) = (records.len() - positives, options.labels_per_class_min.max(1));
    if records.is_empty() {
        return Err(Refusal::NoLabels);
    }
    if positives == 0 || negatives == 0 {
        return Err(Refusal::OneClass { is_positive: positives > 0, labels: records.len() });
    }
    if positives < needed || negatives < needed {
        return Err(Refusal::TooFew { positives, negatives, needed });
    }
    Ok(())
}

/// As [`ranking`], with the groups of the records, to be compared within the folds: each fold has a fit of its own, and
/// intercepts that differ say nothing of how one fit ranks.
fn grouped(records: &[Labelled], folds: &[usize], posteriors: &[f64]) -> Ranking {
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    let items = records.iter().zip(posteriors).zip(folds).map(|((record, p), fold)| {
        let next = groups.len();
        let group = *groups.entry(&record.group).or_insert(next);
        Item { group, stratum: *fold, ..Item::new(*p, record.is_positive) }
    });
    Ranking::new(items.collect())
}

fn ranking(records: &[Labelled], posteriors: &[f64]) -> Ranking {
    let items = records.iter().zip(posteriors).map(|(record, p)| Item::new(*p, record.is_positive));
    Ranking::new(items.collect())
}

/// Posteriors of every record under a model that was fitted on the other folds.
fn out_of_fold(
    records: &[Labelled],
    folds: &[usize],
    fold_count: usize,
    kind: FusionKind,
    falling: &BTreeSet<String>,
) -> Vec<f64> {
    let mut posteriors: Vec<f64> = records.iter().map(|record| record.prior).collect();
    for fold in 0..fold_count {
        let seen: Vec<&Labelled> =
            records.iter().zip(folds).filter(|(_, at)| **at != fold).map(|(record, _)| record).collect();
        let fitted = model(&seen, &tables(&seen, falling).0, kind);
        let held_out = records.iter().zip(folds).zip(&mut posteriors).filter(|((_, at), _)| **at == fold);
        for ((record, _), p) in held_out {
            *p = posterior(&fitted, record);
        }
    }
    posteriors
}

/// The tables of all signals that vary, and the names of those that do not.
fn tables(
    records: &[&Labelled],
    falling: &BTreeSet<String>,
) -> (BTreeMap<&'static str, (Direction, fit::Table)>, Vec<&'static str>) {
    let mut seen: BTreeMap<&'static str, Vec<Observation>> = BTreeMap::new();
    for record in records {
        for signal in record.signals.iter().filter(|signal| !signal.is_proof) {
            let observation = Observation { value: signal.value, is_positive: record.is_positive, weight: 1.0 };
            seen.entry(signal.id).or_default().push(observation);
        }
    }
    let (mut tables, mut constant) = (BTreeMap::new(), Vec::new());
    for (id, observations) in seen {
        let direction = if falling.contains(id) { Direction::Falling } else { Direction::Rising };
        match fit::table(&observations, direction) {
            Some(table) => drop(tables.insert(id, (direction, table))),
            None => constant.push(id),
        }
    }
    (tables, constant)
}

/// Weights or temperature, and priors, over `tables`.
fn model(
    records: &[&Labelled],
    tables: &BTreeMap<&'static str, (Direction, fit::Table)>,
    kind: FusionKind,
) -> QuestionCalibration {
    let design = design(records, tables, kind);
    let ridge = if kind == FusionKind::Weights { RIDGE_WEIGHTS } else { RIDGE_TEMPERATURE };
    let fused = fit::fusion(&design, ridge);
    let weight = |column: usize| fused.weights.get(column).copied().unwrap_or(0.0);
    let entry = |(column, (id, (direction, table))): (usize, (&&str, &(Direction, fit::Table)))| {
        let weight = if kind == FusionKind::Weights { rounded(weight(column)) } else { 1.0 };
        let log_odds = table.log_odds.iter().copied().map(rounded).collect();
        ((*id).to_owned(), SignalTable { direction: *direction, edges: table.edges.clone(), log_odds, weight })
    };
    QuestionCalibration {
        temperature: (kind == FusionKind::Temperature).then(|| rounded(weight(0))),
        prior: Some(rounded(log_odds::probability(fused.intercept))),
        stream_priors: stream_priors(records, &design, &fused),
        signals: tables.iter().enumerate().map(entry).collect(),
        ..QuestionCalibration::default()
    }
}

fn design(records: &[&Labelled], tables: &BTreeMap<&'static str, (Direction, fit::Table)>, kind: FusionKind) -> Design {
    let columns: BTreeMap<&str, usize> = tables.keys().copied().zip(0..).collect();
    let mut design = Design::default();
    for record in records {
        let (mut row, mut offset) = (vec![0.0; columns.len()], 0.0);
        for signal in &record.signals {
            match (columns.get(signal.id), tables.get(signal.id)) {
                (Some(column), Some((_, table))) if !signal.is_proof => row[*column] += table.log_odds(signal.value),
                _ => offset += signal.log_odds,
            }
        }
        if kind == FusionKind::Temperature {
            row = vec![row.iter().sum()];
        }
        design.rows.push(row);
        design.is_positive.push(record.is_positive);
        design.weights.push(1.0);
        design.offsets.push(offset);
    }
    design
}

/// The priors of streams with enough labels, where there is more than one stream.
fn stream_priors(records: &[&Labelled], design: &Design, fused: &Fusion) -> BTreeMap<String, f64> {
    let mut members: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, record) in records.iter().enumerate() {
        members.entry(&record.stream).or_default().push(index);
    }
    if members.len() < 2 {
        return BTreeMap::new();
    }
    members.retain(|stream, members| !stream.is_empty() && members.len() >= STREAM_LABELS_MIN);
    let common = log_odds::probability(fused.intercept);
    let prior = |(stream, members): (&str, Vec<usize>)| {
        let known = |index: &usize| fused.log_odds(design.offsets[*index], &design.rows[*index]) - fused.intercept;
        let mut own = Design {
            rows: vec![Vec::new(); members.len() + 2],
            is_positive: members.iter().map(|index| design.is_positive[*index]).collect(),
            weights: vec![1.0; members.len()],
            offsets: members.iter().map(known).collect(),
        };
        own.is_positive.extend([true, false]);
        own.weights.extend([STREAM_SHRINKAGE * common, STREAM_SHRINKAGE * (1.0 - common)]);
        own.offsets.extend([0.0, 0.0]);
        (stream.to_owned(), rounded(log_odds::probability(fit::fusion(&own, 0.0).intercept)))
    };
    members.into_iter().map(prior).collect()
}

/// The threshold that `target` asks for, and what it gets right and wrong.
fn choose(ranking: &Ranking, target: Target) -> Option<(f64, Confusion)> {
    let threshold = match target {
        Target::F1 => ranking.best_f1_threshold(),
        Target::Cost { miss, false_alarm } => ranking
            .best_threshold(|confusion| miss * confusion.false_negatives + false_alarm * confusion.false_positives),
        Target::FalseAlarmRate(rate) => {
            let is_within = |confusion: &Confusion| confusion.false_alarm_rate().is_none_or(|alarms| alarms <= rate);
            let most = ranking.best_threshold(|confusion| {
                // Above the rate, fewer alarms are all that counts.
                if is_within(confusion) { -confusion.true_positives } else { confusion.false_positives }
            });
            // Where even the highest score is a false alarm too many, nothing is flagged.
            most.filter(|threshold| is_within(&ranking.at(*threshold))).or(Some(1.0))
        }
    }?;
    Some((threshold, ranking.at(threshold)))
}

fn rounded(value: f64) -> f64 {
    (value * DECIMALS).round() / DECIMALS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` records of two signals: one that tells (the positives' values lie higher), one that does not, and one
    /// that never changes. The numbers follow from the index alone.
    fn records(count: usize) -> Vec<Labelled> {
        let record = |index: usize| {
            let is_positive = index.is_multiple_of(3);
            let spread = (index * 7 % 10) as f64;
            let measured = |id, value, log_odds| Measured { id, value, log_odds, is_proof: false };
            let telling = spread + if is_positive { 5.0 } else { 0.0 };
            let noise = (index * 11 % 8) as f64;
            Labelled {
                is_positive,
                group: format!("g{}", index / 2),
                stream: if index.is_multiple_of(2) { "a" } else { "b" }.to_owned(),
                prior: 0.15,
                posterior: 0.15,
                signals: vec![
                    measured("telling", telling, 0.0),
                    measured("noise", noise, 0.0),
                    measured("same", 1.0, -0.3),
                ],
            }
        };
        (0..count).map(record).collect()
    }

    fn fitted(kind: Option<FusionKind>) -> Fitted {
        let options = Options { fusion: kind, ..Options::default() };
        fit(Question::Fabricated, &records(300), &options).unwrap()
    }

    #[test]
    fn what_tells_is_found_and_gains() {
        for kind in [None, Some(FusionKind::Weights), Some(FusionKind::Temperature)] {
            let fitted = fitted(kind);
            assert_eq!(fitted.before.auroc, Some(0.5));
            assert!(fitted.after.auroc > Some(0.85), "{:?}", fitted.after);
            assert!(fitted.after.log_loss < fitted.before.log_loss);
            assert!(fitted.after.expected_calibration_error < Some(0.08), "{:?}", fitted.after);
            assert_eq!(fitted.constant, ["same"]);
            let table = &fitted.calibration.fabricated.signals["telling"];
            assert!(table.log_odds[0] < -1.0 && table.log_odds.last() > Some(&1.0), "{table:?}");
        }
    }

    #[test]
    fn the_file_can_be_read_and_gives_the_same_posteriors() {
        let fitted = fitted(None).calibration;
        let again = Calibration::parse("x", &fitted.to_toml().unwrap()).unwrap();
        assert_eq!(again, fitted);
        for record in records(10) {
            let p = posterior(&fitted.fabricated, &record);
            assert_eq!(p, posterior(&again.fabricated, &record));
            assert!((0.0..=1.0).contains(&p));
        }
    }

    #[test]
    fn the_order_of_the_groups_names_decides_folds_and_nothing_else_does() {
        assert_eq!(fitted(None), fitted(None));
    }

    #[test]
    fn streams_have_priors_of_their_own() {
        let priors = fitted(None).calibration.fabricated.stream_priors;
        assert_eq!(priors.keys().collect::<Vec<_>>(), ["a", "b"]);
        let mut one = records(300);
        one.iter_mut().for_each(|record| record.stream = "a".to_owned());
        let fitted = fit(Question::Fabricated, &one, &Options::default()).unwrap();
        assert!(fitted.calibration.fabricated.stream_priors.is_empty());
    }

    #[test]
    fn the_prior_of_a_stream_is_that_of_its_labels_and_ten_more() {
        let fused = Fusion { intercept: log_odds::prior_log_odds(0.4), ..Fusion::default() };
        for (positives, labels, expected) in
            [(35, 35, Some(39.0 / 45.0)), (0, 40, Some(4.0 / 50.0)), (16, 40, Some(0.4)), (29, 29, None)]
        {
            let mut seen = records(labels + 30);
            for (index, record) in seen.iter_mut().enumerate() {
                record.stream = if index < labels { "own" } else { "other" }.to_owned();
                record.is_positive = index < positives;
            }
            let design = Design {
                rows: vec![Vec::new(); seen.len()],
                is_positive: seen.iter().map(|record| record.is_positive).collect(),
                weights: vec![1.0; seen.len()],
                offsets: vec![0.0; seen.len()],
            };
            let priors = stream_priors(&seen.iter().collect::<Vec<_>>(), &design, &fused);
            let own = priors.get("own").copied();
            assert_eq!(own.is_some(), expected.is_some(), "{positives} of {labels}");
            assert!((own.unwrap_or_default() - expected.unwrap_or_default()).abs() < 1e-4, "{own:?} {expected:?}");
            // A stream without a name that may be written has none.
            seen.iter_mut().filter(|record| record.stream == "own").for_each(|record| record.stream.clear());
            assert!(!stream_priors(&seen.iter().collect::<Vec<_>>(), &design, &fused).contains_key(""));
        }
    }

    #[test]
    fn a_threshold_keeps_what_it_was_chosen_for() {
        for rate in [0.0, 0.05, 0.2] {
            let options = Options { target: Some(Target::FalseAlarmRate(rate)), ..Options::default() };
            let (_, confusion) = fit(Question::Leaking, &records(300), &options).unwrap().at_threshold.unwrap();
            assert!(confusion.false_alarm_rate().unwrap() <= rate, "{confusion:?}");
        }
        let cost = |miss, false_alarm| {
            let target = Some(Target::Cost { miss, false_alarm });
            let fitted = fit(Question::Leaking, &records(300), &Options { target, ..Options::default() }).unwrap();
            fitted.calibration.leaking.flag_from.unwrap()
        };
        assert!(cost(10.0, 1.0) < cost(1.0, 10.0));
    }

    #[track_caller]
    fn check_refused(records: &[Labelled], expected: &str) {
        let refusal = fit(Question::Fabricated, records, &Options::default()).unwrap_err().to_string();
        assert!(refusal.contains(expected), "{refusal}");
    }

    #[test]
    fn what_cannot_be_fitted_is_refused() {
        check_refused(&[], "no record has a label");
        check_refused(&records(60), "20 labels are 1 and 40 are 0; at least 50 of each");
        let with = |change: fn(&mut Labelled)| {
            let mut records = records(300);
            records.iter_mut().for_each(change);
            records
        };
        check_refused(&with(|record| record.is_positive = true), "all 300 labels are 1");
        check_refused(&with(|record| record.is_positive = false), "all 300 labels are 0");
        check_refused(&with(|record| record.group.clear()), "one group");
        check_refused(&with(|record| record.signals.clear()), "no signal of this question varies");
        check_refused(&with(|record| record.signals.iter_mut().for_each(|s| s.value = f64::NAN)), "no signal");
    }

    #[test]
    fn fewer_groups_than_folds_are_enough() {
        let mut few = records(300);
        for (index, record) in few.iter_mut().enumerate() {
            record.group = format!("{}", index % 3);
        }
        let fitted = fit(Question::Fabricated, &few, &Options::default()).unwrap();
        assert_eq!(fitted.calibration.fabricated.provenance.map(|of| of.folds), Some(3));
    }

    #[test]
    fn a_fit_is_used_when_it_ranks_better_or_is_better_calibrated() {
        let gain =
            |auroc, log_loss, after| Gain { auroc: Some(auroc), log_loss: Some(log_loss), auroc_after: Some(after) };
        for (gain, expected) in [
            (gain((0.02, 0.1), (-0.3, -0.1), (0.7, 0.8)), None),
            (gain((0.02, 0.1), (-0.1, 0.1), (0.7, 0.8)), None),
            (gain((-0.02, 0.03), (-0.3, -0.1), (0.7, 0.8)), None),
            (gain((-0.02, 0.03), (-0.3, 0.1), (0.7, 0.8)), Some("its probabilities are no better")),
            (gain((-0.05, 0.03), (-0.3, -0.1), (0.45, 0.55)), Some("no better than chance")),
            (gain((-0.05, -0.01), (-0.3, -0.1), (0.7, 0.8)), Some("ranks worse")),
            (Gain::default(), Some("cannot be told")),
        ] {
            let objection = gain.objection();
            assert_eq!(objection.is_some(), expected.is_some(), "{gain:?}: {objection:?}");
            assert!(objection.unwrap_or_default().contains(expected.unwrap_or_default()), "{gain:?}: {objection:?}");
        }
    }

    #[test]
    fn labels_that_the_signals_tell_give_no_objection_and_others_do() {
        assert_eq!(fitted(None).gain.objection(), None);
        let mut noise = records(200);
        let mut random = crate::stats::random::SplitMix64::new(3);
        noise.iter_mut().for_each(|record| record.is_positive = random.below(2) == 0);
        let options = Options { labels_per_class_min: 10, ..Options::default() };
        let fitted = fit(Question::Fabricated, &noise, &options).unwrap();
        assert!(fitted.gain.objection().is_some(), "{:?}", fitted.gain);
    }
}
