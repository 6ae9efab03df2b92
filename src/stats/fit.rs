//! Labels become likelihood ratios: monotone tables, one per signal, and the weights with which they add up.
//!
//! **Formula**: [`table`] cuts what a signal measured into [`BINS`] bins of equal weight, or, where at least
//! [`ZERO_HEAVY_FROM`] of it is exactly zero, into zero and [`POSITIVE_BINS`] bins of what is above. With P and N the
//! weights of the two classes in a bin and π the share of P in all, p = (P + s π) / (P + N + s) with s = [`SMOOTHING`];
//! p is made monotone in the stated direction ([`isotonic`]); the table holds ln(p / (1 - p)) - ln(π / (1 - π)). Bins
//! that ended up with the same value are one.
//!
//! [`fusion`] minimises Σ w ln(1 + exp(-y (o + b + Σ βⱼ xⱼ))) + λ/2 Σ βⱼ² over b and β ≥ 0, where x are log ratios out of
//! such tables, y is 1 or -1, and o what else is known. With one column, the sum of all tables, β is the temperature.
//!
//! **Range**: log ratios are finite, since smoothing keeps p away from 0 and 1; β in [0, ∞), b within [`INTERCEPT_MAX`].
//!
//! **Source**: isotonic regression by pool-adjacent-violators, Ayer et al., Annals of Mathematical Statistics 26 (1955);
//! non-negative logistic weights by Newton steps with an inner coordinate descent, Friedman, Hastie and Tibshirani,
//! Journal of Statistical Software 33 (2010).
//!
//! **Limits**: a signal that tells against its stated direction gets a flat table, which says nothing. Tables are fitted
//! one at a time; that signals overlap is what the weights are for.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::log_odds;
use crate::hash;

/// Bins of equal weight.
pub const BINS: usize = 8;
/// Bins of what is above zero, where zero has a bin of its own.
pub const POSITIVE_BINS: usize = 3;
/// From this share of zeros on, zero has a bin of its own: the weight of two bins.
pub const ZERO_HEAVY_FROM: f64 = 0.25;
/// Every bin is fitted as if this many more had been seen, at the share of positives in all.
pub const SMOOTHING: f64 = 8.0;
/// λ of the weights of single signals.
pub const RIDGE_WEIGHTS: f64 = 3.0;
/// λ of a temperature: just enough that a perfect separation has a finite one.
pub const RIDGE_TEMPERATURE: f64 = 1.0;
/// No intercept is further away from 0 than this (a probability of about 1e-6).
pub const INTERCEPT_MAX: f64 = 13.8;

/// Significant digits of an edge; more would only copy the data.
const EDGE_DIGITS: i32 = 4;
/// Rounding errors of a number below 10^[`EDGE_DIGITS`] are below this.
const SCALING_ERROR_MAX: f64 = 1e-9;
/// Newton steps of [`fusion`] at most; it converges in about ten.
const NEWTON_STEPS_MAX: usize = 60;
/// Passes over the columns within one Newton step at most.
const DESCENT_PASSES_MAX: usize = 500;
/// Halvings of a Newton step that does not improve.
const HALVINGS_MAX: usize = 30;
/// A step below this ends the search.
const STEP_MIN: f64 = 1e-10;

/// Which way a signal points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The more, the likelier yes.
    #[default]
    Rising,
    /// The more, the likelier no.
    Falling,
}

/// One labelled measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// What was measured; one that is not finite is left out.
    pub value: f64,
    /// Whether the answer is yes.
    pub is_positive: bool,
    /// How much it counts, usually 1.
    pub weight: f64,
}

/// Log likelihood ratios by bin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Ascending; each is the largest value of its bin, and the last bin has no end.
    pub edges: Vec<f64>,
    /// One per bin, in nats: one more than there are edges.
    pub log_odds: Vec<f64>,
}

impl Table {
    /// What `value` adds to the log odds; nothing when it is no number.
    pub fn log_odds(&self, value: f64) -> f64 {
        look_up(&self.edges, &self.log_odds, value)
    }
}

/// What the bin of `value` holds; 0 when it is no number.
pub fn look_up(edges: &[f64], log_odds: &[f64], value: f64) -> f64 {
    if value.is_nan() {
        return 0.0;
    }
    log_odds.get(edges.partition_point(|edge| value > *edge)).copied().unwrap_or(0.0)
}

/// The table of one signal; `None` when the labels are all one class or nothing varies.
pub fn table(observations: &[Observation], direction: Direction) -> Option<Table> {
    let mut sorted: Vec<Observation> = observations.iter().copied().filter(|seen| seen.value.is_finite()).collect();
    sorted.sort_by(|a, b| a.value.total_cmp(&b.value));
    let (positive, total) = sorted.iter().fold((0.0, 0.0), |(positive, total), seen| {
        (positive + if seen.is_positive { seen.weight } else { 0.0 }, total + seen.weight)
    });
    if positive <= 0.0 || positive >= total {
        return None;
    }
    let edges = edges(&sorted, total);
    if edges.is_empty() {
        return None;
    }
    let mut classes = vec![(0.0, 0.0); edges.len() + 1];
    for seen in &sorted {
        let (positive, negative) = &mut classes[edges.partition_point(|edge| seen.value > *edge)];
        *(if seen.is_positive { positive } else { negative }) += seen.weight;
    }
    let prior = positive / total;
    let smoothed: Vec<f64> =
        classes.iter().map(|(yes, no)| (yes + SMOOTHING * prior) / (yes + no + SMOOTHING)).collect();
    let weights: Vec<f64> = classes.iter().map(|(yes, no)| yes + no).collect();
    let base = log_odds::prior_log_odds(prior);
    let log_odds = isotonic(&smoothed, &weights, direction).into_iter().map(|p| log_odds::prior_log_odds(p) - base);
    let table = merged(&edges, &log_odds.collect::<Vec<f64>>());
    // Smoothing draws bins of different sizes differently, so that a flat table need not come out at 0 by itself.
    Some(if table.edges.is_empty() { Table { log_odds: vec![0.0], ..table } } else { table })
}

/// The edges of the bins of `sorted`, ascending; none when all values are one.
fn edges(sorted: &[Observation], total: f64) -> Vec<f64> {
    let zeros: f64 = sorted.iter().filter(|seen| seen.value == 0.0).map(|seen| seen.weight).sum();
    let has_zero_bin = zeros >= ZERO_HEAVY_FROM * total && sorted.first().is_some_and(|least| least.value >= 0.0);
    let mut edges = Vec::new();
    if has_zero_bin {
        let positive = &sorted[sorted.partition_point(|seen| seen.value <= 0.0)..];
        edges.push(0.0);
        quantile_edges(positive, total - zeros, POSITIVE_BINS, &mut edges);
    } else {
        quantile_edges(sorted, total, BINS, &mut edges);
    }
    edges.dedup();
    // An edge that nothing lies above would end an empty bin.
    let largest = sorted.last().map_or(f64::NEG_INFINITY, |most| most.value);
    edges.retain(|edge| *edge < largest);
    edges
}

/// Appends the least values below which at least 1/n, 2/n, … of the weight lies.
fn quantile_edges(sorted: &[Observation], total: f64, bins: usize, edges: &mut Vec<f64>) {
    let (mut below, mut next) = (0.0, 1);
    for seen in sorted {
        below += seen.weight;
        while next < bins && below >= total * next as f64 / bins as f64 {
            edges.push(rounded_up(seen.value));
            next += 1;
        }
    }
}

/// `value` at [`EDGE_DIGITS`] significant digits, never below it.
fn rounded_up(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let digits = EDGE_DIGITS - 1 - value.abs().log10().floor() as i32;
    // What the multiplication adds to a number that is short already must not count as a digit.
    let up = |scaled: f64| (scaled - SCALING_ERROR_MAX).ceil();
    let rounded = if digits >= 0 {
        let scale = 10_f64.powi(digits);
        up(value * scale) / scale
    } else {
        let scale = 10_f64.powi(-digits);
        up(value / scale) * scale
    };
    if rounded.is_finite() { rounded.max(value) } else { value }
}

/// Neighbouring bins of the same value, but for rounding, made one.
fn merged(edges: &[f64], log_odds: &[f64]) -> Table {
    const SAME_WITHIN: f64 = 1e-9;
    let mut table = Table { edges: Vec::new(), log_odds: log_odds.iter().copied().take(1).collect() };
    for (edge, pair) in edges.iter().zip(log_odds.windows(2)) {
        if (pair[1] - pair[0]).abs() > SAME_WITHIN {
            table.edges.push(*edge);
            table.log_odds.push(pair[1]);
        }
    }
    table
}

/// The monotone sequence nearest to `values` by weighted squares. A value of no weight takes that of the next.
pub fn isotonic(values: &[f64], weights: &[f64], direction: Direction) -> Vec<f64> {
    let sign = if direction == Direction::Rising { 1.0 } else { -1.0 };
    // (mean, weight, how many)
    let mut blocks: Vec<(f64, f64, usize)> = Vec::with_capacity(values.len());
    for (value, weight) in values.iter().zip(weights) {
        let mut block = (sign * value, *weight, 1);
        while let Some(last) = blocks.last().copied().filter(|last| last.0 >= block.0 || last.1 <= 0.0) {
            let weight = last.1 + block.1;
            let mean = if weight > 0.0 { (last.0 * last.1 + block.0 * block.1) / weight } else { block.0 };
            block = (mean, weight, last.2 + block.2);
            blocks.pop();
        }
        blocks.push(block);
    }
    blocks.into_iter().flat_map(|(mean, _, count)| std::iter::repeat_n(sign * mean, count)).collect()
}

/// What [`fusion`] learns from, one entry per labelled record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Design {
    /// Log ratios of each record, all of the same length; 0 for a signal that the record does not have.
    pub rows: Vec<Vec<f64>>,
    /// Whether the answer is yes.
    pub is_positive: Vec<bool>,
    /// How much the record counts, usually 1.
    pub weights: Vec<f64>,
    /// Log odds that are known besides, and stay as they are.
    pub offsets: Vec<f64>,
}

/// A logistic model over log ratios.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fusion {
    /// Log odds before any evidence.
    pub intercept: f64,
    /// One per column, not negative.
    pub weights: Vec<f64>,
}

impl Fusion {
    /// The log odds of one record.
    pub fn log_odds(&self, offset: f64, row: &[f64]) -> f64 {
        row.iter().zip(&self.weights).fold(offset + self.intercept, |sum, (x, weight)| sum + x * weight)
    }
}

/// The non-negative logistic weights of `design`, with an intercept that is not penalised.
pub fn fusion(design: &Design, ridge: f64) -> Fusion {
    let columns = design.rows.first().map_or(0, Vec::len);
    let mut model = Fusion { intercept: 0.0, weights: vec![0.0; columns] };
    let mut loss = objective(design, &model, ridge);
    for _ in 0..NEWTON_STEPS_MAX {
        let step = newton_step(design, &model, ridge);
        let Some((next, next_loss)) = halved(design, &model, &step, loss, ridge) else { break };
        let moved = next.weights.iter().zip(&model.weights).map(|(a, b)| (a - b).abs());
        let moved = moved.fold((next.intercept - model.intercept).abs(), f64::max);
        (model, loss) = (next, next_loss);
        if moved < STEP_MIN {
            break;
        }
    }
    model
}

/// The log loss of `design` under `model`, summed over its weights, and the penalty.
pub fn objective(design: &Design, model: &Fusion, ridge: f64) -> f64 {
    let penalty = ridge / 2.0 * model.weights.iter().map(|weight| weight * weight).sum::<f64>();
    let records = design.rows.iter().zip(&design.is_positive).zip(design.weights.iter().zip(&design.offsets));
    records.fold(penalty, |sum, ((row, is_positive), (weight, offset))| {
        let log_odds = model.log_odds(*offset, row);
        sum + weight * softplus(if *is_positive { -log_odds } else { log_odds })
    })
}

/// ln(1 + exp(x)), which does not overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// The longest of the step, its half, its quarter, … that lowers the loss.
fn halved(design: &Design, model: &Fusion, target: &Fusion, loss: f64, ridge: f64) -> Option<(Fusion, f64)> {
    let mut share = 1.0;
    for _ in 0..HALVINGS_MAX {
        let between = |from: f64, to: f64| from + share * (to - from);
        let weights = model.weights.iter().zip(&target.weights).map(|(from, to)| between(*from, *to)).collect();
        let next = Fusion { intercept: between(model.intercept, target.intercept), weights };
        let next_loss = objective(design, &next, ridge);
        if next_loss < loss {
            return Some((next, next_loss));
        }
        share /= 2.0;
    }
    None
}

/// The minimum, under the bounds, of the quadratic that touches the loss at `model`.
fn newton_step(design: &Design, model: &Fusion, ridge: f64) -> Fusion {
    let columns = model.weights.len();
    let size = columns + 1;
    // The intercept is the last column.
    let (mut gradient, mut hessian) = (vec![0.0; size], vec![0.0; size * size]);
    let records = design.rows.iter().zip(&design.is_positive).zip(design.weights.iter().zip(&design.offsets));
    let mut x = vec![1.0; size];
    for ((row, is_positive), (weight, offset)) in records {
        let p = log_odds::probability(model.log_odds(*offset, row));
        let error = weight * (p - if *is_positive { 1.0 } else { 0.0 });
        let curvature = weight * p * (1.0 - p);
        x[..columns].copy_from_slice(row);
        for (i, xi) in x.iter().enumerate().filter(|(_, xi)| **xi != 0.0) {
            gradient[i] += error * xi;
            for (j, xj) in x.iter().enumerate().take(i + 1) {
                hessian[i * size + j] += curvature * xi * xj;
            }
        }
    }
    for i in 0..size {
        for j in 0..i {
            hessian[j * size + i] = hessian[i * size + j];
        }
        hessian[i * size + i] += if i < columns { ridge } else { 0.0 };
    }
    for (gradient, weight) in gradient.iter_mut().zip(&model.weights) {
        *gradient += ridge * weight;
    }
    descend(model, gradient, &hessian)
}

/// Coordinate descent on the quadratic with this gradient at `model`, weights not negative.
fn descend(model: &Fusion, mut gradient: Vec<f64>, hessian: &[f64]) -> Fusion {
    let columns = model.weights.len();
    let size = columns + 1;
    let mut next = model.clone();
    for _ in 0..DESCENT_PASSES_MAX {
        let mut moved = 0.0_f64;
        for i in 0..size {
            let curvature = hessian[i * size + i];
            if curvature <= 0.0 {
                continue;
            }
            let now = if i < columns { next.weights[i] } else { next.intercept };
            let wanted = now - gradient[i] / curvature;
            let wanted = if i < columns { wanted.max(0.0) } else { wanted.clamp(-INTERCEPT_MAX, INTERCEPT_MAX) };
            let step = wanted - now;
            if step == 0.0 {
                continue;
            }
            *(if i < columns { &mut next.weights[i] } else { &mut next.intercept }) = wanted;
            for (gradient, curvature) in gradient.iter_mut().zip(&hessian[i * size..]) {
                *gradient += step * curvature;
            }
            moved = moved.max(step.abs());
        }
        if moved < STEP_MIN / 10.0 {
            break;
        }
    }
    next
}

/// Which of `count` folds each record is in: whole groups, dealt out in the order of their hashes, so that folds have
/// as many groups as one another. There are never more folds than groups.
pub fn folds(groups: &[&str], count: usize) -> Vec<usize> {
    let distinct: BTreeSet<(u64, &str)> = groups.iter().map(|group| (hash::name(group), *group)).collect();
    let count = count.min(distinct.len()).max(1);
    let order: Vec<(u64, &str)> = distinct.into_iter().collect();
    let fold = |group: &&str| order.binary_search(&(hash::name(group), *group)).unwrap_or_default() % count;
    groups.iter().map(fold).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen(pairs: &[(f64, u32)]) -> Vec<Observation> {
        let one = |(value, label): &(f64, u32)| Observation { value: *value, is_positive: *label == 1, weight: 1.0 };
        pairs.iter().map(one).collect()
    }

    #[track_caller]
    fn check_close(got: &[f64], expected: &[f64], tolerance: f64) {
        let near = got.len() == expected.len() && got.iter().zip(expected).all(|(a, b)| (a - b).abs() < tolerance);
        assert!(near, "{got:?} is not {expected:?}");
    }

    // By hand: zeros 1 of 6, ones 1 of 2, twos 2 of 3, nines 1 of 1; terciles of the six above zero are 1, 2.
    // π = 5/12; p = (1 + 8π)/14, (1 + 8π)/10, (2 + 8π)/11 and (1 + 8π)/9, of which the last two fall and are pooled.
    #[test]
    fn a_count_with_many_zeros_has_a_bin_for_zero() {
        let zeros = [(0.0, 1), (0.0, 0), (0.0, 0), (0.0, 0), (0.0, 0), (0.0, 0)];
        let others = [(1.0, 1), (1.0, 0), (2.0, 1), (2.0, 1), (2.0, 0), (9.0, 1)];
        let table = table(&seen(&[zeros, others].concat()), Direction::Rising).unwrap();
        assert_eq!(table.edges, [0.0, 1.0]);
        check_close(&table.log_odds, &[-0.465_874_34, 0.068_208_25, 0.272_477_34], 1e-6);
        assert_eq!(table.log_odds(0.0), table.log_odds[0]);
        assert_eq!(table.log_odds(0.5), table.log_odds[1]);
        assert_eq!(table.log_odds(1.0), table.log_odds[1]);
        assert_eq!(table.log_odds(2.0), table.log_odds[2]);
        assert_eq!(table.log_odds(f64::NAN), 0.0);
        assert_eq!(table.log_odds(f64::INFINITY), table.log_odds[2]);
    }

    // By hand: 16 values, two per bin; all below 9 negative, all above positive; p = (0 + 4)/10 and (2 + 4)/10.
    #[test]
    fn what_varies_is_cut_into_eight_bins_and_equal_neighbours_are_one() {
        let pairs: Vec<(f64, u32)> = (1..=16).map(|i| (f64::from(i), u32::from(i > 8))).collect();
        let table = table(&seen(&pairs), Direction::Rising).unwrap();
        assert_eq!(table.edges, [8.0]);
        check_close(&table.log_odds, &[-0.405_465_108, 0.405_465_108], 1e-9);
    }

    #[test]
    fn a_signal_that_tells_against_its_direction_says_nothing() {
        let pairs: Vec<(f64, u32)> = (1..=16).map(|i| (f64::from(i), u32::from(i <= 8))).collect();
        let rising = table(&seen(&pairs), Direction::Rising).unwrap();
        assert!(rising.edges.is_empty());
        check_close(&rising.log_odds, &[0.0], 1e-12);
        let falling = table(&seen(&pairs), Direction::Falling).unwrap();
        check_close(&falling.log_odds, &[0.405_465_108, -0.405_465_108], 1e-9);
    }

    #[test]
    fn one_class_or_one_value_has_no_table() {
        assert_eq!(table(&seen(&[(1.0, 1), (2.0, 1)]), Direction::Rising), None);
        assert_eq!(table(&seen(&[(1.0, 1), (1.0, 0)]), Direction::Rising), None);
        assert_eq!(table(&seen(&[(f64::NAN, 1), (f64::NAN, 0)]), Direction::Rising), None);
        assert_eq!(table(&[], Direction::Rising), None);
    }

    #[test]
    fn edges_are_short_numbers_and_never_below_the_value() {
        for (value, expected) in [
            (0.123_456, 0.1235),
            (0.1, 0.1),
            (3.0, 3.0),
            (123_456.0, 123_500.0),
            (-0.123_456, -0.1234),
            (1e-300, 1e-300),
        ] {
            let got = rounded_up(value);
            assert!(got >= value && (got - expected).abs() <= 1e-12 * expected.abs(), "{value}: {got}");
        }
    }

    // The example of isoreg's page in R, and a weighted one by hand: (3·1 + 1·3)/4 = 1.5.
    #[test]
    fn violators_are_pooled() {
        let got = isotonic(&[1.0, 0.0, 4.0, 3.0, 3.0, 5.0, 4.0, 2.0, 0.0], &[1.0; 9], Direction::Rising);
        check_close(&got, &[0.5, 0.5, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0], 1e-12);
        check_close(&isotonic(&[3.0, 1.0, 2.0], &[1.0, 3.0, 1.0], Direction::Rising), &[1.5, 1.5, 2.0], 1e-12);
        // scikit-learn's IsotonicRegression with these sample weights.
        let got = isotonic(&[0.2, 0.5, 0.1, 0.6, 0.4, 0.9], &[2.0, 1.0, 3.0, 1.0, 2.0, 1.0], Direction::Rising);
        check_close(&got, &[0.2, 0.2, 0.2, 0.466_666_67, 0.466_666_67, 0.9], 1e-8);
        check_close(&isotonic(&[1.0, 3.0], &[1.0, 1.0], Direction::Falling), &[2.0, 2.0], 1e-12);
        check_close(&isotonic(&[9.0, 1.0], &[0.0, 1.0], Direction::Rising), &[1.0, 1.0], 1e-12);
    }

    fn design(rows: &[&[f64]], labels: &[u32]) -> Design {
        Design {
            rows: rows.iter().map(|row| row.to_vec()).collect(),
            is_positive: labels.iter().map(|label| *label == 1).collect(),
            weights: vec![1.0; labels.len()],
            offsets: vec![0.0; labels.len()],
        }
    }

    // One column that is 1 for 3 of 4 positives and 0 for 1 of 4: the table gives b = logit(1/4), b + w = logit(3/4).
    #[test]
    fn without_a_penalty_the_model_is_the_two_by_two_table() {
        let rows: [&[f64]; 8] = [&[1.0], &[1.0], &[1.0], &[1.0], &[0.0], &[0.0], &[0.0], &[0.0]];
        let model = fusion(&design(&rows, &[1, 1, 1, 0, 1, 0, 0, 0]), 0.0);
        check_close(&[model.intercept, model.weights[0]], &[-(3.0_f64.ln()), 2.0 * 3.0_f64.ln()], 1e-8);
    }

    #[test]
    fn a_column_that_would_be_negative_is_left_out() {
        let rows: [&[f64]; 8] = [&[1.0], &[1.0], &[1.0], &[1.0], &[0.0], &[0.0], &[0.0], &[0.0]];
        let model = fusion(&design(&rows, &[1, 0, 0, 0, 1, 1, 1, 0]), 0.0);
        check_close(&[model.intercept, model.weights[0]], &[0.0, 0.0], 1e-9);
    }

    // Expected: scikit-learn's LogisticRegression(C = 1/3); with the second column turned round, scipy's L-BFGS-B.
    #[test]
    fn weights_are_those_of_other_solvers() {
        let columns = [
            [0.5, -1.2],
            [1.1, 0.3],
            [-0.4, 0.8],
            [2.0, 1.5],
            [-1.3, -0.7],
            [0.2, -0.1],
            [-0.9, 0.4],
            [1.6, -0.5],
            [-0.2, -1.0],
            [0.7, 0.9],
        ];
        let labels = [0, 1, 1, 1, 0, 0, 0, 1, 0, 1];
        let rows: Vec<&[f64]> = columns.iter().map(|row| &row[..]).collect();
        let model = fusion(&design(&rows, &labels), 3.0);
        let got = [model.weights[0], model.weights[1], model.intercept];
        check_close(&got, &[0.577_365_19, 0.537_508_05, -0.195_399_66], 1e-6);
        let turned = columns.map(|[a, b]| [a, -b]);
        let rows: Vec<&[f64]> = turned.iter().map(|row| &row[..]).collect();
        let model = fusion(&design(&rows, &labels), 3.0);
        let got = [model.weights[0], model.weights[1], model.intercept];
        check_close(&got, &[0.621_607_64, 0.0, -0.204_214_22], 1e-5);
    }

    #[test]
    fn an_offset_is_taken_as_it_is() {
        let mut known = design(&[&[], &[], &[], &[]], &[1, 1, 1, 0]);
        known.offsets = vec![1.0; 4];
        check_close(&[fusion(&known, 0.0).intercept], &[3.0_f64.ln() - 1.0], 1e-9);
    }

    #[test]
    fn one_class_has_a_finite_intercept() {
        let model = fusion(&design(&[&[0.0], &[0.0]], &[1, 1]), 1.0);
        assert!(model.intercept.is_finite() && model.intercept <= INTERCEPT_MAX);
        assert_eq!(fusion(&Design::default(), 1.0).intercept, 0.0);
    }

    #[test]
    fn groups_stay_together_and_folds_are_even() {
        let names: Vec<String> = (0..10).map(|i| format!("source {i}")).collect();
        let groups: Vec<&str> = names.iter().chain(&names).map(String::as_str).collect();
        let folds = folds(&groups, 5);
        assert_eq!(folds[..10], folds[10..]);
        for fold in 0..5 {
            assert_eq!(folds.iter().filter(|at| **at == fold).count(), 4);
        }
        assert_eq!(super::folds(&["a", "a"], 5), [0, 0]);
        assert!(super::folds(&["a", "b"], 5).iter().all(|fold| *fold < 2));
        assert!(super::folds(&[], 5).is_empty());
    }

    fn observations() -> impl Strategy<Value = Vec<Observation>> {
        let one = (prop_oneof![Just(0.0), -3.0..9.0f64, Just(f64::NAN)], any::<bool>(), 0.1..3.0f64);
        let one = one.prop_map(|(value, is_positive, weight)| Observation { value, is_positive, weight });
        proptest::collection::vec(one, 0..120)
    }

    proptest! {
        #[test]
        fn a_table_is_finite_monotone_and_has_one_more_value_than_edges(seen in observations(), falling: bool) {
            let direction = if falling { Direction::Falling } else { Direction::Rising };
            if let Some(table) = table(&seen, direction) {
                prop_assert_eq!(table.log_odds.len(), table.edges.len() + 1);
                prop_assert!(table.edges.windows(2).all(|pair| pair[0] < pair[1]));
                prop_assert!(table.log_odds.iter().all(|value| value.is_finite()));
                let rises = |pair: &[f64]| if falling { pair[0] > pair[1] } else { pair[0] < pair[1] };
                prop_assert!(table.log_odds.windows(2).all(rises), "{:?}", table);
            }
        }

        #[test]
        fn pooling_keeps_the_weighted_mean_and_a_second_pass_changes_nothing(
            pairs in proptest::collection::vec((-5.0..5.0f64, 0.1..4.0f64), 1..30)
        ) {
            let (values, weights): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let fitted = isotonic(&values, &weights, Direction::Rising);
            let mean = |values: &[f64]| values.iter().zip(&weights).map(|(value, weight)| value * weight).sum::<f64>();
            prop_assert!((mean(&values) - mean(&fitted)).abs() < 1e-9);
            let again = isotonic(&fitted, &weights, Direction::Rising);
            prop_assert!(again.iter().zip(&fitted).all(|(a, b)| (a - b).abs() < 1e-12));
        }

        #[test]
        fn the_weights_are_a_minimum(
            rows in proptest::collection::vec((proptest::array::uniform3(-2.0..2.0f64), any::<bool>()), 12..40)
        ) {
            let (rows, labels): (Vec<[f64; 3]>, Vec<bool>) = rows.into_iter().unzip();
            prop_assume!(labels.contains(&true) && labels.contains(&false));
            let rows: Vec<&[f64]> = rows.iter().map(|row| &row[..]).collect();
            let labels: Vec<u32> = labels.iter().map(|label| u32::from(*label)).collect();
            let design = design(&rows, &labels);
            let model = fusion(&design, RIDGE_WEIGHTS);
            let best = objective(&design, &model, RIDGE_WEIGHTS);
            prop_assert!(model.weights.iter().all(|weight| *weight >= 0.0));
            for column in 0..4 {
                for step in [1e-3, -1e-3] {
                    let mut other = model.clone();
                    match other.weights.get_mut(column) {
                        Some(weight) => *weight = (*weight + step).max(0.0),
                        None => other.intercept += step,
                    }
                    prop_assert!(objective(&design, &other, RIDGE_WEIGHTS) >= best - 1e-9);
                }
            }
        }
    }
}
