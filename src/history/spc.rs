//! Control charts: is a number of a call within what the process has shown so far?
//!
//! **Formula**: per chart, z = (x - mean) / sigma of the earlier points, at least [`POINTS_MIN`], on the chart's
//! [`Scale`]. The four Western Electric rules, whose weights add up per chart; the score is the largest of all charts:
//! - 0.40: the point is beyond 3 sigma
//! - 0.25: two of the last three points are beyond 2 sigma on one side
//! - 0.20: four of the last five points are beyond 1 sigma on one side
//! - 0.15: eight points in a row are on one side
//!
//! Times and sizes are charted as ln(max(x, 0.001)), other numbers as sign(x) · ln(1 + |x| / unit), the unit being a
//! tenth of the median size of the first [`POINTS_MIN`] points (the whole of it when they lie on both sides of zero).
//!
//! With m charts at once the limits are widened, so that a call with many fields does not alarm more often: with p the
//! tail probability of a limit, rule 1 goes to z(p/m), rule 2 to z(p/√m), rule 3 to z(p/m^¼), rule 4 to a run of
//! 8 + ⌈log₂ m⌉. A point's own value is in the windows of the rules, but not in mean and sigma. What is learnt is clipped
//! to mean ± 3 sigma, and the past weighs at most [`WEIGHT_MAX`] points, so that a fault does not move a chart and a new
//! level is learnt. Equal values (sigma 0) say nothing. A z from few points is that of
//! a Student's t as rare.
//!
//! **Range**: 0 (in control) to 1 (all four rules).
//!
//! **Source**: seed 002, "SPC Baselines" (rules, weights, Welford); Western Electric Company, Statistical Quality
//! Control Handbook (1956). Widening, clipping, cap and the scales are ours: on lognormal traffic with six charts, the
//! plain rules alarm on 18% of the calls, and on a scale of ln(1 + |x|), which depends on the unit of x, on 4.6%.
//!
//! **Limits**: the rules take points as independent; values with long waves alarm more often.

use serde::{Deserialize, Serialize};

use super::{
    plausibility::Window,
    reason::{Chart, Reason},
    shift::{self, Cusum, Since, When},
};
use crate::{
    engines::{About, Question, SignalAbout},
    stats::{normal, welford::Welford},
};

/// Settings of the control charts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// P(fires | fabricated) / P(fires | real) of `spc_anomaly`.
    pub likelihood_ratio: f64,
    /// P(fires | degraded) / P(fires | well) of `style_shift`.
    pub style_likelihood_ratio: f64,
    /// Whether the distance of a model's answers from the usual fingerprint is charted as `style_shift` (seed 001: the
    /// status of the engine counts instead).
    pub style_shift: bool,
    /// Points from which a chart speaks.
    pub points_min: u64,
    /// Weight of rule 1.
    pub outlier_weight: f64,
    /// Weight of rule 2.
    pub pair_weight: f64,
    /// Weight of rule 3.
    pub four_weight: f64,
    /// Weight of rule 4.
    pub run_weight: f64,
    /// Limit of rule 1, in sigmas.
    pub outlier_sigmas: f64,
    /// Limit of rule 2, in sigmas.
    pub pair_sigmas: f64,
    /// Limit of rule 3, in sigmas.
    pub four_sigmas: f64,
    /// Points of rule 4; at most [`RULE_POINTS_MAX`] are looked at.
    pub run_points: usize,
    /// Whether a distance from few points counts as less rare, as Student's t does (seed 002: no).
    pub few_points_are_uncertain: bool,
    /// The unit of a number's chart, as a share of the median size of its first points; when those lie on both sides of
    /// zero, the unit is the median size itself.
    pub unit_share: f64,
    /// Whether charts are linear (seed 002), not logarithmic.
    pub linear_scales: bool,
    /// Whether the scores of charts add up, to at most 1 (seed 002's program).
    pub sum_over_charts: bool,
    /// Whether limits are widened for the number of charts (seed 002: no).
    pub widen_limits: bool,
    /// Whether what is learnt is clipped (seed 002: no).
    pub clip: bool,
    /// Where it is clipped, in sigmas.
    pub clip_sigmas: f64,
    /// Whether the weight of the past is capped (seed 002: no).
    pub cap_weight: bool,
    /// Greatest weight of the past, in points.
    pub weight_max: f64,
    /// Whether calls that tier 0 blocks are learnt too (seed 002's program).
    pub learn_blocked: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            likelihood_ratio: LIKELIHOOD_RATIO,
            style_likelihood_ratio: STYLE_LIKELIHOOD_RATIO,
            style_shift: true,
            points_min: POINTS_MIN,
            outlier_weight: 0.40,
            pair_weight: 0.25,
            four_weight: 0.20,
            run_weight: 0.15,
            outlier_sigmas: 3.0,
            pair_sigmas: 2.0,
            four_sigmas: 1.0,
            run_points: 8,
            few_points_are_uncertain: true,
            unit_share: UNIT_SHARE,
            linear_scales: false,
            sum_over_charts: false,
            widen_limits: true,
            clip: true,
            clip_sigmas: CLIP_SIGMAS,
            cap_weight: true,
            weight_max: WEIGHT_MAX,
            learn_blocked: false,
        }
    }
}

impl Settings {
    /// The letter of seeds 001 and 002 and, where they are silent, their programs.
    pub fn seed() -> Settings {
        Settings {
            style_shift: false,
            few_points_are_uncertain: false,
            linear_scales: true,
            sum_over_charts: true,
            widen_limits: false,
            clip: false,
            cap_weight: false,
            learn_blocked: true,
            ..Settings::default()
        }
    }
}

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Finds tool calls whose latency, size, fields or numbers leave their control charts.",
    formula: "four Western Electric rules, 0.40 + 0.25 + 0.20 + 0.15, limits widened for the number of charts; the largest chart counts",
    range: "0 (in control) to 1 (all four rules on one chart)",
    source: "seed 002; Western Electric Company (1956)",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Fabricated,
        title: "Latency, size, fields or numbers of the tool's answer leave their control charts.",
        owasp: "LLM09",
        help: "Compare with the tool's answers just before; has the tool changed, or was the answer made up?",
    }],
};

/// What is known of [`STYLE_SIGNAL`].
pub const STYLE_ABOUT: About = About {
    name: STYLE_SIGNAL,
    summary: "Finds answers shaped unlike the model's usual ones, on a control chart of the distance.",
    formula: "the four rules on the logarithm of the fingerprint distance, above the mean only",
    range: "0 (in control) to 1 (all four rules)",
    source: "seeds 000 and 001 for the distance, seed 002 for the chart",
    signals: &[SignalAbout {
        id: STYLE_SIGNAL,
        question: Question::Degraded,
        title: "The answer is shaped unlike the model's usual ones.",
        owasp: "",
        help: "Has the model or its system prompt changed?",
    }],
};

/// The signal of a tool call that is out of control.
pub const SIGNAL: &str = "spc_anomaly";
/// The signal of an answer shaped unlike the model's usual ones.
pub const STYLE_SIGNAL: &str = "style_shift";
/// Seed 002, "Signal Types & Likelihood Ratios".
pub const LIKELIHOOD_RATIO: f64 = 3.0;
/// Ours, modest until it is fitted.
pub const STYLE_LIKELIHOOD_RATIO: f64 = 3.0;
/// Seed 002: "at least 8 prior observations".
pub const POINTS_MIN: u64 = 8;
/// A number's chart is about linear up to a tenth of its median size and about logarithmic above it. A larger share
/// alarms more often on heavy tails (lognormal traffic: a third 2.3%, a tenth 1.1% of the calls), a smaller one on values
/// near zero.
pub const UNIT_SHARE: f64 = 0.1;
/// The limit of rule 1 is where learning stops to believe.
pub const CLIP_SIGMAS: f64 = 3.0;
/// A sigma of 500 points is known to 3%; more would only slow down what is learnt of a new level.
pub const WEIGHT_MAX: f64 = 500.0;
/// Points that the rules look at, at most: 8 + ⌈log₂ m⌉ for up to 128 charts, and one to spare.
pub const RULE_POINTS_MAX: usize = 16;
/// Values below this are charted as this on a logarithmic scale.
pub const LOG_FLOOR: f64 = 0.001;

/// What a chart is a chart of, which decides its scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A time or a size: not negative, and as far from its half as from its double.
    Magnitude,
    /// A number of any sign and any unit.
    Number,
}

/// The scale of a chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// As it is.
    Linear,
    /// ln(max(x, 0.001)), for times and sizes.
    Log,
    /// sign(x) · ln(1 + |x| / unit), for numbers of any sign and size.
    SignedLog {
        /// Below this size the scale is about linear, above it about logarithmic.
        unit: f64,
    },
}

impl Scale {
    /// A value on the scale.
    pub fn apply(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log => value.max(LOG_FLOOR).ln(),
            Scale::SignedLog { unit } => value.signum() * (value.abs() / unit).ln_1p(),
        }
    }

    /// Back from the scale.
    pub fn invert(self, x: f64) -> f64 {
        match self {
            Scale::Linear => x,
            Scale::Log => x.exp(),
            Scale::SignedLog { unit } => x.signum() * x.abs().exp_m1() * unit,
        }
    }
}

/// The limits of the rules for a number of charts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Rule 1, in sigmas.
    pub outlier: f64,
    /// Rule 2, in sigmas.
    pub pair: f64,
    /// Rule 3, in sigmas.
    pub four: f64,
    /// Rule 4, in points.
    pub run: usize,
}

impl Limits {
    /// The limits when `charts` charts speak at once.
    pub fn new(charts: usize, settings: &Settings) -> Limits {
        let run_points = settings.run_points.clamp(1, RULE_POINTS_MAX);
        if !settings.widen_limits || charts <= 1 {
            let (outlier, pair, four) = (settings.outlier_sigmas, settings.pair_sigmas, settings.four_sigmas);
            return Limits { outlier, pair, four, run: run_points };
        }
        let charts = charts as f64;
        Limits {
            outlier: widened(settings.outlier_sigmas, charts),
            pair: widened(settings.pair_sigmas, charts.sqrt()),
            four: widened(settings.four_sigmas, charts.sqrt().sqrt()),
            run: (run_points + charts.log2().ceil() as usize).min(RULE_POINTS_MAX),
        }
    }
}

/// A limit whose tail probability is `share` times smaller.
pub fn widened(sigmas: f64, share: f64) -> f64 {
    normal::quantile(normal::tail(sigmas) / share)
}

/// The rules that a point has broken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hits {
    /// Rule 1.
    pub outlier: bool,
    /// Rule 2, and whether above the mean.
    pub pair: Option<bool>,
    /// Rule 3, and whether above the mean.
    pub four: Option<bool>,
    /// Rule 4, and whether above the mean.
    pub run: Option<bool>,
}

impl Hits {
    /// The weights of the broken rules, added up.
    pub fn score(&self, settings: &Settings) -> f64 {
        let mut score = 0.0;
        for (broken, weight) in [
            (self.outlier, settings.outlier_weight),
            (self.pair.is_some(), settings.pair_weight),
            (self.four.is_some(), settings.four_weight),
            (self.run.is_some(), settings.run_weight),
        ] {
            if broken {
                score += weight;
            }
        }
        score.min(1.0)
    }

    /// Why, for each broken rule.
    pub fn reasons(self, chart: Chart, point: &Point, limits: &Limits, mut add: impl FnMut(Reason)) {
        if self.outlier {
            add(point.far(chart));
        }
        if let Some(above) = self.pair {
            add(Reason::Side { chart, points: 2, of: 3, sigmas: limits.pair, above });
        }
        if let Some(above) = self.four {
            add(Reason::Side { chart, points: 4, of: 5, sigmas: limits.four, above });
        }
        if let Some(above) = self.run {
            let run = limits.run as u32;
            add(Reason::Side { chart, points: run, of: run, sigmas: 0.0, above });
        }
    }
}

/// The four rules on standardised points, oldest first; the last is the point at hand.
pub fn rules(points: &[f64], limits: &Limits) -> Hits {
    let Some(&z) = points.last() else { return Hits::default() };
    Hits {
        outlier: z.abs() > limits.outlier,
        pair: side(points, 3, 2, limits.pair),
        four: side(points, 5, 4, limits.four),
        run: side(points, limits.run, limits.run, 0.0),
    }
}

/// The side on which `needed` of the last `of` points are beyond `limit`, if there are so many points.
fn side(points: &[f64], of: usize, needed: usize, limit: f64) -> Option<bool> {
    let last = &points[points.len().checked_sub(of)?..];
    if last.iter().filter(|&&z| z > limit).count() >= needed {
        Some(true)
    } else if last.iter().filter(|&&z| z < -limit).count() >= needed {
        Some(false)
    } else {
        None
    }
}

/// A value against its chart, before it is learnt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The value.
    pub value: f64,
    /// The value on the chart's scale.
    pub x: f64,
    /// The scale.
    pub scale: Scale,
    /// Mean of the chart, on its scale.
    pub mean: f64,
    /// Sigma of the chart, on its scale.
    pub sigma: f64,
    /// Distance from the mean in sigmas; `None` while the chart says nothing.
    pub z: Option<f64>,
    /// Whether the scale of the chart is not known yet.
    provisional: bool,
}

impl Point {
    /// That the value is as far from the chart's mean as it is.
    pub fn far(&self, chart: Chart) -> Reason {
        let (level, sigmas) = (self.scale.invert(self.mean), self.z.unwrap_or_default());
        Reason::Far { chart, value: self.value, level, sigmas, last: None }
    }
}

/// The unit of a chart by its first values: a share of their median size, the whole of it when they lie on both sides of
/// zero; 1 when that is 0.
fn unit_of(values: &[f64], share: f64) -> f64 {
    let mut sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let median = sizes.get(sizes.len() / 2).copied().unwrap_or_default();
    let both_sides = values.iter().any(|&value| value > 0.0) && values.iter().any(|&value| value < 0.0);
    let unit = if both_sides { median } else { median * share };
    if unit.is_normal() && unit > 0.0 { unit } else { 1.0 }
}

/// One point on the control chart of its stream, as reports draw it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ControlPoint {
    /// Its number in the stream, from 0.
    pub number: u64,
    /// The value, on the scale of the chart.
    pub x: f64,
    /// Centre and sigma of the points before, once there are enough of them.
    pub limits: Option<(f64, f64)>,
    /// Which of the four Western Electric rules it breaks, in their order.
    pub broken: [bool; 4],
}

/// Which deviations from the mean count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Both.
    Both,
    /// Values above it.
    Above,
    /// Values below it.
    Below,
}

/// One control chart.
#[derive(Clone, Debug, Default)]
pub struct ControlChart {
    moments: Welford,
    window: Window,
    cusum: Cusum,
    unit: Option<f64>,
}

impl ControlChart {
    /// Where a value stands on the chart.
    pub fn place(&self, value: f64, quantity: Quantity, settings: &Settings) -> Point {
        let (scale, provisional) = match (quantity, self.unit) {
            _ if settings.linear_scales => (Scale::Linear, false),
            (Quantity::Magnitude, _) => (Scale::Log, false),
            (Quantity::Number, Some(unit)) => (Scale::SignedLog { unit }, false),
            (Quantity::Number, None) => (Scale::Linear, true),
        };
        let (x, mean, sigma, weight) =
            (scale.apply(value), self.moments.mean(), self.moments.sigma(), self.moments.weight());
        let speaks = !provisional && weight >= settings.points_min as f64 && sigma > 0.0;
        let sigmas = (x - mean) / sigma;
        let z = if settings.few_points_are_uncertain { normal::of_sample(sigmas, weight) } else { sigmas };
        Point { value, x, scale, mean, sigma, z: (speaks && z.is_finite()).then_some(z), provisional }
    }

    /// The rules that a point breaks on a side; what lies on the other side counts as lying on the mean.
    pub fn hits(&self, point: &Point, limits: &Limits, side: Side) -> Hits {
        let Some(z) = point.z else { return Hits::default() };
        let mut points = [0.0; RULE_POINTS_MAX];
        let mut first = RULE_POINTS_MAX - 1;
        points[first] = z;
        let looked_at = limits.run.max(5) - 1;
        for earlier in (0..looked_at).map_while(|back| self.window.newest(back)) {
            first -= 1;
            points[first] = (earlier - point.mean) / point.sigma;
        }
        match side {
            Side::Both => {}
            Side::Above => points.iter_mut().for_each(|z| *z = z.max(0.0)),
            Side::Below => points.iter_mut().for_each(|z| *z = z.min(0.0)),
        }
        rules(&points[first..], limits)
    }

    /// The point as it is drawn: the `number`-th of its stream, against the plain limits.
    pub fn drawn(&self, point: &Point, number: u64, limits: &Limits) -> ControlPoint {
        let hits = self.hits(point, limits, Side::Both);
        ControlPoint {
            number,
            x: point.x,
            limits: point.z.map(|_| (point.mean, point.sigma)),
            broken: [hits.outlier, hits.pair.is_some(), hits.four.is_some(), hits.run.is_some()],
        }
    }

    /// Learns a point. When its level has shifted, the chart is centred on the new level, and the points since are
    /// returned.
    pub fn learn(
        &mut self,
        point: &Point,
        window_values: usize,
        when: When,
        settings: &Settings,
        shifts: &shift::Settings,
    ) -> Option<Since> {
        if let Some(z) = point.z.filter(|_| shifts.detect && self.moments.weight() >= shifts.points_min)
            && let Some(since) = self.cusum.add(z, point.x, when, shifts)
        {
            self.moments = Welford::around(since.mean(), point.sigma, since.points);
            self.window.clear();
            return Some(since);
        }
        let mut x = point.x;
        if settings.clip && point.z.is_some() {
            let reach = settings.clip_sigmas.abs() * point.sigma;
            x = x.max(point.mean - reach).min(point.mean + reach);
        }
        if settings.cap_weight {
            self.moments.push_capped(x, settings.weight_max);
        } else {
            self.moments.push(x);
        }
        self.window.push(x, window_values);
        if point.provisional && self.moments.weight() >= settings.points_min as f64 {
            self.settle(settings.unit_share);
        }
        None
    }

    /// Fixes the unit by the values so far, and puts them on the scale.
    fn settle(&mut self, unit_share: f64) {
        let values: Vec<f64> = (0..self.window.len()).rev().filter_map(|back| self.window.newest(back)).collect();
        let unit = unit_of(&values, unit_share);
        *self = ControlChart { unit: Some(unit), ..ControlChart::default() };
        for value in values {
            let x = Scale::SignedLog { unit }.apply(value);
            self.moments.push(x);
            self.window.push(x, usize::MAX);
        }
    }

    /// The last values, on the chart's scale.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Mean and spread, on the chart's scale.
    pub fn moments(&self) -> &Welford {
        &self.moments
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn score_of(points: &[f64], charts: usize) -> f64 {
        let settings = Settings::default();
        rules(points, &Limits::new(charts, &settings)).score(&settings)
    }

    #[test]
    fn each_rule_by_itself() {
        for (points, expected) in [
            (&[0.5, -0.5, 3.1][..], 0.40),
            (&[2.1, 0.0, 2.1], 0.25),
            (&[2.1, 0.0, -2.1], 0.0),
            (&[-1.1, 0.5, -1.1, -1.1, -1.1], 0.20),
            (&[0.1; 8], 0.15),
            (&[0.1; 7], 0.0),
            (&[0.0; 8], 0.0),
            (&[3.0], 0.0),
            (&[4.0; 8], 1.0),
            (&[], 0.0),
        ] {
            assert!((score_of(points, 1) - expected).abs() < 1e-12, "{points:?}: {}", score_of(points, 1));
        }
    }

    #[test]
    fn limits_are_widened_by_the_number_of_charts() {
        let limits = Limits::new(6, &Settings::default());
        assert!((limits.outlier - 3.509).abs() < 0.01, "{limits:?}");
        assert!(limits.pair > 2.3 && limits.pair < 2.4, "{limits:?}");
        assert_eq!(limits.run, 11);
        assert_eq!(Limits::new(6, &Settings::seed()).outlier, 3.0);
    }

    #[test]
    fn scales_go_both_ways() {
        let signed = Scale::SignedLog { unit: 2.0 };
        for scale in [Scale::Linear, Scale::Log, signed] {
            for value in [0.5, 1.0, 350.0, 1e9] {
                assert!((scale.invert(scale.apply(value)) / value - 1.0).abs() < 1e-9);
            }
        }
        assert_eq!(signed.apply(0.0), 0.0);
        assert_eq!(signed.apply(-3.0), -signed.apply(3.0));
        assert_eq!(Scale::Log.apply(0.0), LOG_FLOOR.ln());
    }

    fn charted(values: &[f64]) -> ControlChart {
        let (settings, shifts) = (Settings::default(), shift::Settings::default());
        let mut chart = ControlChart::default();
        for (&value, row) in values.iter().zip(0..) {
            let point = chart.place(value, Quantity::Magnitude, &settings);
            chart.learn(&point, 100, When { row, timestamp_ms: None }, &settings, &shifts);
        }
        chart
    }

    #[test]
    fn a_fault_does_not_move_the_chart() {
        let mut values: Vec<f64> = (0..100).map(|i| 100.0 + f64::from(i * 7 % 10)).collect();
        let before = charted(&values);
        values.push(1e6);
        let after = charted(&values);
        assert!((after.moments().mean() - before.moments().mean()).abs() < before.moments().sigma() * 0.1);
        let settings = Settings::default();
        assert!(after.place(1e6, Quantity::Magnitude, &settings).z.unwrap() > 20.0);
    }

    #[test]
    fn the_unit_of_a_number_does_not_matter() {
        let (settings, shifts) = (Settings::default(), shift::Settings::default());
        let z_in = |unit: f64| {
            let mut chart = ControlChart::default();
            for i in 0..50 {
                let point = chart.place(unit * f64::from(3 + i * 7 % 10), Quantity::Number, &settings);
                chart.learn(&point, 100, When::default(), &settings, &shifts);
            }
            chart.place(unit * 40.0, Quantity::Number, &settings).z.unwrap()
        };
        assert!((z_in(1.0) - z_in(1e-6)).abs() < 1e-6 && (z_in(1.0) - z_in(1e6)).abs() < 1e-6);
        assert!(z_in(1.0) > 3.0);
    }

    #[test]
    fn a_fault_shows_among_numbers_on_both_sides_of_zero() {
        let (settings, shifts) = (Settings::default(), shift::Settings::default());
        let mut chart = ControlChart::default();
        for i in 0..50 {
            let point = chart.place(f64::from(i * 7 % 11 - 5), Quantity::Number, &settings);
            chart.learn(&point, 100, When::default(), &settings, &shifts);
        }
        assert!(chart.place(1500.0, Quantity::Number, &settings).z.unwrap() > 5.0);
    }

    #[test]
    fn a_chart_is_silent_without_spread_or_points() {
        let settings = Settings::default();
        assert_eq!(charted(&[5.0; 40]).place(900.0, Quantity::Magnitude, &settings).z, None);
        assert_eq!(charted(&[5.0, 6.0, 7.0]).place(900.0, Quantity::Magnitude, &settings).z, None);
    }

    proptest! {
        #[test]
        fn more_charts_never_score_higher(points in prop::collection::vec(-5.0..5.0f64, 0..16), charts in 1usize..70) {
            prop_assert!(score_of(&points, charts + 1) <= score_of(&points, charts));
            prop_assert!((0.0..=1.0).contains(&score_of(&points, charts)));
        }

        #[test]
        fn both_sides_score_alike(points in prop::collection::vec(-5.0..5.0f64, 0..16)) {
            let mirrored: Vec<f64> = points.iter().map(|z| -z).collect();
            prop_assert_eq!(score_of(&points, 1), score_of(&mirrored, 1));
        }

        #[test]
        fn any_values_can_be_charted(values in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO, 0..60)) {
            let chart = charted(&values);
            let point = chart.place(1.0, Quantity::Magnitude, &Settings::default());
            let hits = chart.hits(&point, &Limits::new(3, &Settings::default()), Side::Both);
            prop_assert!((0.0..=1.0).contains(&hits.score(&Settings::default())));
        }
    }
}
