//! How well scores tell two classes apart, how far probabilities can be believed, and how sure one can be of both.
//!
//! **Formula**, with weights for counts throughout:
//! - AUROC: the share of pairs (positive, negative) in which the positive scores higher; a tie counts half. Stratified:
//!   the same over the pairs whose two members are in one stratum
//! - average precision: Σ (Rₖ - Rₖ₋₁) Pₖ over the distinct scores, descending, without interpolation
//! - Brier: the mean of (score - label)²
//! - expected calibration error: Σ (weight of a bin / total) |share of positives - mean score|, over [`BINS`] bins of
//!   equal width
//! - precision, recall and F1 of "score ≥ threshold"
//! - precision in the top q: of the ⌈q n⌉ highest scores; ties at the end count with the share that fits
//! - interval: percentiles 2.5 and 97.5 over resamples of whole groups, drawn with replacement by a seeded generator
//!
//! **Range**: all in [0, 1]; `None` where a metric is not defined (no positives, no negatives, nothing at all).
//!
//! **Source**: Hanley and McNeil, Radiology 143 (1982); Guo et al., ICML 2017 (calibration error by equal width); Efron
//! and Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13, on clusters as in Field and Welsh, JRSS B 69
//! (2007).
//!
//! **Limits**: the best threshold on the data at hand flatters; choose it on one part and report on another. Percentile
//! intervals are too narrow for fewer than about 20 groups.

use std::collections::BTreeMap;

use super::random::SplitMix64;

/// Bins of the calibration error and of the reliability table.
pub const BINS: usize = 15;
/// Probability mass outside of an interval, both sides together.
pub const INTERVAL_OUTSIDE: f64 = 0.05;

/// One scored and labelled item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    /// The higher, the likelier positive; for Brier and calibration error a probability.
    pub score: f64,
    /// Whether it is positive.
    pub is_positive: bool,
    /// Index of the group that is drawn as a whole.
    pub group: usize,
    /// Index of the stratum within which it is compared.
    pub stratum: usize,
    /// How often it counts.
    pub weight: f64,
}

impl Item {
    /// An item of the first group and stratum that counts once. Items of one group are drawn together: for intervals,
    /// give each a group.
    pub fn new(score: f64, is_positive: bool) -> Item {
        Item { score, is_positive, group: 0, stratum: 0, weight: 1.0 }
    }
}

/// Items by descending score; items whose score is no number are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    items: Vec<Item>,
}

/// Precision, recall and F1 at one threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confusion {
    /// Positives at or above the threshold.
    pub true_positives: f64,
    /// Negatives at or above it.
    pub false_positives: f64,
    /// Positives below it.
    pub false_negatives: f64,
    /// Negatives below it.
    pub true_negatives: f64,
}

impl Confusion {
    /// The share of positives at or above the threshold.
    pub fn precision(&self) -> Option<f64> {
        share(self.true_positives, self.true_positives + self.false_positives)
    }

    /// The share of the positives that are at or above it.
    pub fn recall(&self) -> Option<f64> {
        share(self.true_positives, self.true_positives + self.false_negatives)
    }

    /// The share of the negatives that are at or above it.
    pub fn false_alarm_rate(&self) -> Option<f64> {
        share(self.false_positives, self.false_positives + self.true_negatives)
    }

    /// The harmonic mean of precision and recall; 0 when nothing is found, `None` without positives.
    pub fn f1(&self) -> Option<f64> {
        let positives = self.true_positives + self.false_negatives;
        let both = 2.0 * self.true_positives + self.false_positives + self.false_negatives;
        if positives > 0.0 { share(2.0 * self.true_positives, both) } else { None }
    }
}

/// One row of a reliability table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reliability {
    /// Least score of the bin.
    pub from: f64,
    /// Its end, which belongs to the next bin, except for the last.
    pub to: f64,
    /// Weight of its items.
    pub weight: f64,
    /// Mean score of its items.
    pub mean_score: f64,
    /// Share of positives among them.
    pub positive_share: f64,
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

impl Ranking {
    /// Ranks `items`; those of the same score keep their order.
    pub fn new(mut items: Vec<Item>) -> Ranking {
        items.retain(|item| !item.score.is_nan());
        items.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ranking { items }
    }

    /// The items, by descending score.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Weight of the positives and of the negatives.
    pub fn class_weights(&self) -> (f64, f64) {
        class_weights(&self.items)
    }

    /// Runs of items of the same score.
    fn ties(&self) -> impl Iterator<Item = &[Item]> {
        // By comparison and not by bits, so that 0 and -0 tie.
        self.items.chunk_by(|a, b| a.score == b.score)
    }

    /// The share of pairs in which the positive scores higher.
    pub fn auroc(&self) -> Option<f64> {
        let (concordant, pairs) = concordance(self.items.iter());
        share(concordant, pairs)
    }

    /// As [`Ranking::auroc`], over the pairs within one stratum.
    pub fn stratified_auroc(&self) -> Option<f64> {
        let mut strata: BTreeMap<usize, Vec<&Item>> = BTreeMap::new();
        for item in &self.items {
            strata.entry(item.stratum).or_default().push(item);
        }
        let (concordant, pairs) = strata.into_values().fold((0.0, 0.0), |(concordant, pairs), items| {
            let within = concordance(items.into_iter());
            (concordant + within.0, pairs + within.1)
        });
        share(concordant, pairs)
    }

    /// Precision, averaged over the recall that each score adds.
    pub fn average_precision(&self) -> Option<f64> {
        let (positives, _) = self.class_weights();
        if positives <= 0.0 {
            return None;
        }
        let (mut found, mut taken, mut sum) = (0.0, 0.0, 0.0);
        for tie in self.ties() {
            let (yes, no) = class_weights(tie);
            found += yes;
            taken += yes + no;
            if taken > 0.0 {
                sum += yes / positives * (found / taken);
            }
        }
        Some(sum)
    }

    /// The mean squared distance of the score from the label.
    pub fn brier(&self) -> Option<f64> {
        let (sum, total) = self.items.iter().fold((0.0, 0.0), |(sum, total), item| {
            let distance = item.score - if item.is_positive { 1.0 } else { 0.0 };
            (sum + item.weight * distance * distance, total + item.weight)
        });
        share(sum, total)
    }

    /// The mean log loss in nats, of scores kept [`PROBABILITY_MIN`] away from 0 and 1.
    pub fn log_loss(&self) -> Option<f64> {
        let (sum, total) = self.items.iter().fold((0.0, 0.0), |(sum, total), item| {
            let p = item.score.clamp(PROBABILITY_MIN, 1.0 - PROBABILITY_MIN);
            let loss = -if item.is_positive { p.ln() } else { (1.0 - p).ln() };
            (sum + item.weight * loss, total + item.weight)
        });
        share(sum, total)
    }

    /// Scores against labels in bins of equal width; bins that nothing falls into are left out.
    pub fn reliability(&self) -> Vec<Reliability> {
        let mut bins = [(0.0, 0.0, 0.0); BINS];
        for item in &self.items {
            let bin = &mut bins[bin_of(item.score)];
            bin.0 += item.weight;
            bin.1 += item.weight * item.score;
            bin.2 += if item.is_positive { item.weight } else { 0.0 };
        }
        let row = |(index, (weight, scores, positives)): (usize, (f64, f64, f64))| Reliability {
            from: index as f64 / BINS as f64,
            to: (index + 1) as f64 / BINS as f64,
            weight,
            mean_score: scores / weight,
            positive_share: positives / weight,
        };
        bins.into_iter().enumerate().filter(|(_, bin)| bin.0 > 0.0).map(row).collect()
    }

    /// How far, on average, the share of positives is from the score.
    pub fn expected_calibration_error(&self) -> Option<f64> {
        let (positives, negatives) = self.class_weights();
        let bins = self.reliability();
        let gaps = bins.iter().map(|bin| bin.weight * (bin.positive_share - bin.mean_score).abs());
        share(gaps.sum(), positives + negatives)
    }

    /// What "score ≥ threshold" gets right and wrong.
    pub fn at(&self, threshold: f64) -> Confusion {
        let (found, missed) = self.items.split_at(self.items.partition_point(|item| item.score >= threshold));
        let ((true_positives, false_positives), (false_negatives, true_negatives)) =
            (class_weights(found), class_weights(missed));
        Confusion { true_positives, false_positives, false_negatives, true_negatives }
    }

    /// The threshold with the least `cost` of what it gets right and wrong: halfway between two neighbouring scores,
    /// or the lowest score. Of equal ones the highest; `None` without items.
    pub fn best_threshold(&self, cost: impl Fn(&Confusion) -> f64) -> Option<f64> {
        let (positives, negatives) = self.class_weights();
        let (mut found, mut alarms) = (0.0, 0.0);
        let mut best: Option<(f64, f64)> = None;
        let mut ties = self.ties().peekable();
        while let Some(tie) = ties.next() {
            let (yes, no) = class_weights(tie);
            found += yes;
            alarms += no;
            let confusion = Confusion {
                true_positives: found,
                false_positives: alarms,
                false_negatives: positives - found,
                true_negatives: negatives - alarms,
            };
            let here = cost(&confusion);
            let score = tie[0].score;
            let threshold = ties.peek().map_or(score, |next| next[0].score + (score - next[0].score) / 2.0);
            if best.is_none_or(|(least, _)| here < least) {
                best = Some((here, threshold));
            }
        }
        best.map(|(_, threshold)| threshold)
    }

    /// The threshold with the highest F1; `None` without positives.
    pub fn best_f1_threshold(&self) -> Option<f64> {
        let (positives, _) = self.class_weights();
        if positives <= 0.0 {
            return None;
        }
        self.best_threshold(|confusion| -confusion.f1().unwrap_or(0.0))
    }

    /// The share of positives among the ⌈`top` n⌉ highest scores.
    pub fn precision_in_top(&self, top: f64) -> Option<f64> {
        let (positives, negatives) = self.class_weights();
        let wanted = ((positives + negatives) * top).ceil();
        let (mut left, mut found) = (wanted, 0.0);
        for tie in self.ties() {
            let (yes, no) = class_weights(tie);
            let taken = left.min(yes + no);
            if taken > 0.0 {
                found += yes * taken / (yes + no);
                left -= taken;
            }
        }
        share(found, wanted - left)
    }

    /// The 95% intervals of what `measure` returns, over `resamples` draws of whole groups. A metric that is undefined
    /// in more than half of the draws has none.
    pub fn intervals<const N: usize>(
        &self,
        resamples: usize,
        seed: u64,
        measure: impl Fn(&Ranking) -> [Option<f64>; N],
    ) -> [Option<(f64, f64)>; N] {
        intervals([self], resamples, seed, |[drawn]| measure(drawn))
    }
}

/// As [`Ranking::intervals`], of what `measure` returns of several rankings of the same groups, for which the same groups are
/// drawn each time: so are two scores of the same records compared.
pub fn intervals<const M: usize, const N: usize>(
    rankings: [&Ranking; M],
    resamples: usize,
    seed: u64,
    measure: impl Fn(&[Ranking; M]) -> [Option<f64>; N],
) -> [Option<(f64, f64)>; N] {
    let all = rankings.iter().flat_map(|ranking| &ranking.items);
    let groups: BTreeMap<usize, usize> =
        all.map(|item| (item.group, 0)).collect::<BTreeMap<_, _>>().into_keys().zip(0..).collect();
    let places = rankings.map(|ranking| ranking.items.iter().map(|item| groups[&item.group]).collect::<Vec<usize>>());
    let mut random = SplitMix64::new(seed);
    let mut drawn = rankings.map(Ranking::clone);
    let mut seen: [Vec<f64>; N] = std::array::from_fn(|_| Vec::with_capacity(resamples));
    for _ in 0..resamples {
        let mut counts = vec![0.0; groups.len()];
        for _ in 0..groups.len() {
            counts[random.below(groups.len())] += 1.0;
        }
        for ((drawn, own), places) in drawn.iter_mut().zip(&rankings).zip(&places) {
            for ((item, own), place) in drawn.items.iter_mut().zip(&own.items).zip(places) {
                item.weight = own.weight * counts[*place];
            }
        }
        for (values, value) in seen.iter_mut().zip(measure(&drawn)) {
            values.extend(value);
        }
    }
    seen.map(|mut values| {
        if values.is_empty() || values.len() * 2 < resamples {
            return None;
        }
        values.sort_by(f64::total_cmp);
        Some((quantile(&values, INTERVAL_OUTSIDE / 2.0), quantile(&values, 1.0 - INTERVAL_OUTSIDE / 2.0)))
    })
}

/// Probabilities are kept this far away from 0 and 1 where their logarithm is taken.
pub const PROBABILITY_MIN: f64 = 1e-12;

/// The `share` quantile of sorted values, with linear interpolation between neighbours.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

fn bin_of(score: f64) -> usize {
    // The cast cuts off what is outside of [0, 1).
    ((score * BINS as f64) as usize).min(BINS - 1)
}

fn class_weights(items: &[Item]) -> (f64, f64) {
    items.iter().fold(
        (0.0, 0.0),
        |(yes, no), item| {
            if item.is_positive { (yes + item.weight, no) } else { (yes, no + item.weight) }
        },
    )
}

/// Weight of the pairs in which the positive scores higher (ties half), and of all pairs, of items by descending score.
fn concordance<'i>(items: impl Iterator<Item = &'i Item>) -> (f64, f64) {
    let (mut above, mut concordant, mut negatives) = (0.0, 0.0, 0.0);
    let mut tie = (f64::NAN, 0.0, 0.0);
    let mut close = |tie: (f64, f64, f64)| {
        concordant += tie.2 * (above + tie.1 / 2.0);
        above += tie.1;
        negatives += tie.2;
    };
    for item in items {
        if item.score != tie.0 {
            close(tie);
            tie = (item.score, 0.0, 0.0);
        }
        *(if item.is_positive { &mut tie.1 } else { &mut tie.2 }) += item.weight;
    }
    close(tie);
    (concordant, above * negatives)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SCORES: [f64; 14] = [0.95, 0.9, 0.9, 0.8, 0.7, 0.7, 0.55, 0.5, 0.4, 0.4, 0.3, 0.2, 0.1, 0.05];
    const LABELS: [u8; 14] = [1, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0];
    const WEIGHTS: [u8; 14] = [1, 2, 1, 3, 1, 1, 2, 1, 1, 1, 2, 1, 3, 1];

    fn ranking(weights: &[u8; 14]) -> Ranking {
        let item = |index: usize| Item {
            stratum: index % 3,
            weight: f64::from(weights[index]),
            ..Item::new(SCORES[index], LABELS[index] == 1)
        };
        // Not in the order of the scores, which must not matter.
        Ranking::new((0..14).map(|index| item(index * 5 % 14)).collect())
    }

    #[track_caller]
    fn check(got: Option<f64>, expected: f64) {
        assert!(got.is_some_and(|got| (got - expected).abs() < 1e-9), "{got:?} is not {expected}");
    }

    // Expected values: scikit-learn 1.9.1; the calibration error and the strata from their definitions, pair by pair.
    #[test]
    fn metrics_are_those_of_scikit_learn() {
        let ranking = ranking(&[1; 14]);
        check(ranking.auroc(), 0.802_083_333_333_333_4);
        check(ranking.average_precision(), 0.718_055_555_555_555_6);
        check(ranking.brier(), 0.189_821_428_571_428_57);
        check(ranking.log_loss(), 0.564_162_410_023_891_6);
        check(ranking.expected_calibration_error(), 0.239_285_714_285_714_27);
        check(ranking.stratified_auroc(), 0.916_666_666_666_666_6);
        let confusion = ranking.at(0.6);
        check(confusion.precision(), 2.0 / 3.0);
        check(confusion.recall(), 2.0 / 3.0);
        let confusion = ranking.at(0.5);
        check(confusion.precision(), 0.625);
        check(confusion.recall(), 5.0 / 6.0);
        check(confusion.f1(), 0.714_285_714_285_714_3);
        check(confusion.false_alarm_rate(), 0.375);
    }

    #[test]
    fn weighted_metrics_are_those_of_scikit_learn() {
        let ranking = ranking(&WEIGHTS);
        check(ranking.auroc(), 0.870_370_370_370_370_3);
        check(ranking.average_precision(), 0.795_414_462_081_128_1);
        check(ranking.brier(), 0.150_476_190_476_190_49);
    }

    // By hand: the two best are 1 and one of (1, 0) at .9; of five, both at .9, .8 and half of what is left at .7.
    #[test]
    fn ties_at_the_end_of_the_top_count_in_part() {
        let ranking = ranking(&[1; 14]);
        check(ranking.precision_in_top(0.05), 1.0);
        check(ranking.precision_in_top(0.1), 0.75);
        check(ranking.precision_in_top(5.0 / 14.0), 0.7);
        check(ranking.precision_in_top(1.0), 6.0 / 14.0);
        assert_eq!(ranking.precision_in_top(0.0), None);
    }

    // By hand: F1 is 2/3 at .8, .75 from the four found of six at .4, 5/7 at .5; the best cut is below both .4.
    #[test]
    fn the_best_threshold_lies_between_two_scores() {
        let ranking = ranking(&[1; 14]);
        let best = ranking.best_f1_threshold();
        check(best, 0.35);
        check(ranking.at(0.35).f1(), 0.75);
        let none_wrong = |confusion: &Confusion| confusion.false_positives * 100.0 + confusion.false_negatives;
        check(ranking.best_threshold(none_wrong), 0.925);
    }

    #[test]
    fn where_a_metric_is_not_defined_there_is_none() {
        let nothing = Ranking::default();
        assert_eq!(nothing.auroc().or(nothing.brier()).or(nothing.average_precision()), None);
        assert_eq!(nothing.expected_calibration_error().or(nothing.best_f1_threshold()), None);
        assert!(nothing.reliability().is_empty());
        let one_class = Ranking::new(vec![Item::new(0.2, false), Item::new(0.7, false), Item::new(f64::NAN, true)]);
        assert_eq!(one_class.items().len(), 2);
        assert_eq!(one_class.auroc().or(one_class.average_precision()).or(one_class.at(0.5).f1()), None);
        assert_eq!(one_class.at(0.5).precision(), Some(0.0));
        assert_eq!(one_class.intervals(20, 1, |drawn| [drawn.auroc()]), [None]);
    }

    #[test]
    fn intervals_are_reproducible_and_hold_the_value() {
        let items = (0..300).map(|i| Item { group: i / 3, ..Item::new(f64::from(i as u32 * 37 % 300), i % 4 == 0) });
        let ranking = Ranking::new(items.collect());
        let measure = |drawn: &Ranking| [drawn.auroc(), drawn.precision_in_top(0.1)];
        let intervals = ranking.intervals(200, 7, measure);
        assert_eq!(intervals, ranking.intervals(200, 7, measure));
        assert_ne!(intervals, ranking.intervals(200, 8, measure));
        for (interval, value) in intervals.into_iter().zip(measure(&ranking)) {
            let ((low, high), value) = (interval.unwrap(), value.unwrap());
            assert!(low < value && value < high, "{low} {value} {high}");
        }
    }

    // One group is always drawn as it is.
    #[test]
    fn one_group_has_an_interval_without_width() {
        let ranking = ranking(&[1; 14]);
        let [interval] = ranking.intervals(10, 1, |drawn| [drawn.auroc()]);
        assert_eq!(interval, ranking.auroc().map(|auroc| (auroc, auroc)));
    }

    fn items() -> impl Strategy<Value = Vec<Item>> {
        let one = (0..20_u32, any::<bool>(), 0..3_usize, 1..4_u32);
        let one = one.prop_map(|(score, is_positive, stratum, weight)| Item {
            stratum,
            weight: f64::from(weight),
            ..Item::new(f64::from(score) / 20.0, is_positive)
        });
        proptest::collection::vec(one, 0..60)
    }

    proptest! {
        #[test]
        fn auroc_is_the_share_of_pairs(items in items()) {
            let (mut concordant, mut pairs, mut within, mut pairs_within) = (0.0, 0.0, 0.0, 0.0);
            for yes in items.iter().filter(|item| item.is_positive) {
                for no in items.iter().filter(|item| !item.is_positive) {
                    let weight = yes.weight * no.weight;
                    let right = if yes.score > no.score { weight } else if yes.score == no.score { weight / 2.0 } else { 0.0 };
                    (concordant, pairs) = (concordant + right, pairs + weight);
                    if yes.stratum == no.stratum {
                        (within, pairs_within) = (within + right, pairs_within + weight);
                    }
                }
            }
            let ranking = Ranking::new(items);
            prop_assert_eq!(ranking.auroc(), share(concordant, pairs));
            prop_assert_eq!(ranking.stratified_auroc(), share(within, pairs_within));
        }

        #[test]
        fn all_is_in_range_and_the_reliability_table_adds_up(items in items(), threshold in 0.0..1.0f64) {
            let ranking = Ranking::new(items);
            let confusion = ranking.at(threshold);
            let all = [
                ranking.auroc(), ranking.average_precision(), ranking.brier(), ranking.expected_calibration_error(),
                confusion.precision(), confusion.recall(), confusion.f1(), ranking.precision_in_top(0.2),
            ];
            prop_assert!(all.into_iter().flatten().all(|value| (0.0..=1.0 + 1e-12).contains(&value)), "{:?}", all);
            let (yes, no) = ranking.class_weights();
            prop_assert_eq!(ranking.reliability().iter().map(|bin| bin.weight).sum::<f64>(), yes + no);
            let counted = confusion.true_positives + confusion.false_positives
                + confusion.false_negatives + confusion.true_negatives;
            prop_assert_eq!(counted, yes + no);
        }

        #[test]
        fn no_threshold_has_a_higher_f1_than_the_best(items in items(), threshold in 0.0..1.0f64) {
            let ranking = Ranking::new(items);
            if let Some(best) = ranking.best_f1_threshold() {
                prop_assert!(ranking.at(best).f1() >= ranking.at(threshold).f1());
            }
        }
    }
}
