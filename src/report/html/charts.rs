//! Charts of the page: inline SVG with a title, and the numbers of the larger ones as a table beneath.
//!
//! Coordinates are written with one decimal, so that the bytes do not depend on the machine.

use std::fmt::Write as _;

use super::{
    super::{
        control::ControlBucket,
        summary::{Quantiles, Report, StreamChart, StreamHealth},
        table::{decimal, grouped, percent, start},
        timeline::Decisions,
    },
    clipped, text,
};
use crate::{stats::wilson, verdict::Decision};

/// Bins that a distribution is drawn with.
const BINS: usize = 48;
/// Factor between the largest and the smallest value that a distribution is drawn with at least.
const DECADES_MIN: f64 = 0.5;
/// A control chart of fewer points shows nothing.
const CONTROL_POINTS_MIN: u64 = 3;
/// Ticks at equal distances.
const TICKS_MAX: f64 = 5.0;

/// Decisions in the order in which they are stacked.
const WORST_FIRST: [Decision; 4] = [Decision::Block, Decision::Flag, Decision::Accept, Decision::NotAssessed];

/// All verdicts as one bar.
pub fn verdicts(report: &Report) -> String {
    let decisions = &report.verdicts.decisions;
    let total = decisions.total();
    if total == 0 {
        return "<p class=\"none\">No record was audited.</p>".to_owned();
    }
    let names = ["blocked", "flagged", "accepted", "not assessed"];
    let parts: [(&str, &str, u64); 4] = std::array::from_fn(|index| {
        let decision = WORST_FIRST[index];
        (decision.as_str(), names[index], decisions.of(decision))
    });
    let mut out = String::from(
        "<svg class=\"share\" viewBox=\"0 0 1000 14\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Verdicts\"><title>Verdicts</title>",
    );
    // What is not nothing is at least a hair wide.
    let width = |n: u64| if n == 0 { 0.0 } else { (n as f64 / total as f64 * 1000.0).max(2.0) };
    let scale = 1000.0 / parts.iter().map(|(_, _, n)| width(*n)).sum::<f64>();
    let mut x = 0.0;
    for (class, name, n) in parts {
        let width = width(n) * scale;
        let _ = write!(
            out,
            "<rect class=\"fill-{class}\" x=\"{x:.1}\" y=\"0\" width=\"{width:.1}\" height=\"14\"><title>{} {name}</title></rect>",
            grouped(n)
        );
        x += width;
    }
    out.push_str("</svg><ul class=\"legend\">");
    for (class, name, n) in parts {
        let share = percent(n as f64 / total as f64);
        let _ = write!(
            out,
            "<li><span class=\"swatch {class}\"></span><b>{}</b> {name} <span class=\"muted\">{}</span></li>",
            grouped(n),
            text(&share)
        );
    }
    let _ = write!(out, "<li><b>{}</b> at high risk</li></ul>", grouped(report.verdicts.high_risk));
    out
}

/// Decisions over time.
pub fn timeline(report: &Report) -> String {
    const WIDTH: f64 = 960.0;
    const HEIGHT: f64 = 170.0;
    const LEFT: f64 = 44.0;
    const BOTTOM: f64 = 22.0;
    let timeline = &report.timeline;
    let most = timeline.buckets.iter().map(|bucket| bucket.decisions.total()).max().unwrap_or(1).max(1);
    let step = (WIDTH - LEFT) / timeline.buckets.len().max(8) as f64;
    let plot = HEIGHT - BOTTOM - 8.0;
    let mut out = svg("timeline", WIDTH, HEIGHT, "Verdicts over time");
    let lines = [most / 2, most];
    for n in lines.into_iter().skip(usize::from(most < 2)) {
        let y = 8.0 + plot * (1.0 - n as f64 / most as f64);
        level(&mut out, LEFT, WIDTH, y, &grouped(n));
    }
    // A label needs the room of about a tenth of the chart.
    let every = timeline.buckets.len().max(8).div_ceil(8);
    for (index, bucket) in timeline.buckets.iter().enumerate() {
        let x = LEFT + step * index as f64;
        let decisions = &bucket.decisions;
        let label = start(bucket, timeline.bucket_ms);
        let _ = write!(
            out,
            "<g><title>{}: {} records, {} flagged, {} blocked</title>",
            text(&label),
            grouped(decisions.total()),
            grouped(decisions.flag),
            grouped(decisions.block)
        );
        let mut y = 8.0 + plot;
        for (class, n) in WORST_FIRST.map(|decision| (decision.as_str(), decisions.of(decision))) {
            if n == 0 {
                continue;
            }
            let height = (n as f64 / most as f64 * plot).max(1.5);
            y -= height;
            let _ = write!(
                out,
                "<rect class=\"fill-{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>",
                step - 2.0
            );
        }
        out.push_str("</g>");
        if index % every == 0 {
            // The last one ends where the chart does.
            let (x, anchor) = if x > WIDTH - 80.0 { (WIDTH, "end") } else { (x, "start") };
            let _ = write!(
                out,
                "<text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
                HEIGHT - 6.0,
                text(label.get("2000-".len()..).unwrap_or(&label))
            );
        }
    }
    out.push_str("</svg>");
    let rows = timeline.buckets.iter().map(|bucket| {
        let Decisions { accept, flag, block, not_assessed } = bucket.decisions;
        let mut row = vec![start(bucket, timeline.bucket_ms)];
        row.extend([accept, flag, block, not_assessed].map(grouped));
        row
    });
    out.push_str(&data(&["from", "accepted", "flagged", "blocked", "not assessed"], rows));
    out
}

/// A rate with its interval.
pub fn interval(name: &str, low: f64, rate: f64, high: f64, highest: f64) -> String {
    const WIDTH: f64 = 220.0;
    let x = |share: f64| 4.0 + (WIDTH - 8.0) * share / highest.max(1e-9);
    let mut out = svg("interval", WIDTH, 16.0, &format!("{name}: rate and 95% interval"));
    let _ = write!(
        out,
        "<line class=\"grid\" x1=\"4\" x2=\"{:.1}\" y1=\"8\" y2=\"8\"/><line class=\"whisker\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"8\" y2=\"8\"/><circle class=\"dot\" cx=\"{:.1}\" cy=\"8\" r=\"4\"/></svg>",
        WIDTH - 4.0,
        x(low),
        x(high),
        x(rate)
    );
    out
}

/// Median, 95th and 99th percentile on a logarithmic scale that all streams share.
pub fn quantiles(of: &Quantiles, slowest: f64) -> String {
    const WIDTH: f64 = 180.0;
    let (Some(p50), Some(p95), Some(p99)) = (of.p50, of.p95, of.p99) else { return String::new() };
    // Four decades below the slowest is where the scale begins.
    let top = slowest.max(1e-3).log10();
    let x = |value: f64| 3.0 + (WIDTH - 6.0) * ((value.max(1e-9).log10() - (top - 4.0)) / 4.0).clamp(0.0, 1.0);
    let title = format!("p50 {}, p95 {}, p99 {} ms", decimal(p50), decimal(p95), decimal(p99));
    let mut out = svg("quantiles", WIDTH, 14.0, &title);
    let _ = write!(
        out,
        "<line class=\"grid\" x1=\"3\" x2=\"{:.1}\" y1=\"7\" y2=\"7\"/><line class=\"whisker\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"7\" y2=\"7\"/><line class=\"thin\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"7\" y2=\"7\"/><circle class=\"dot\" cx=\"{:.1}\" cy=\"7\" r=\"3.5\"/><line class=\"thin\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"3\" y2=\"11\"/></svg>",
        WIDTH - 3.0,
        x(p50),
        x(p95),
        x(p95),
        x(p99),
        x(p50),
        x(p99),
        x(p99)
    );
    out
}

/// Records with each label of health, as one small bar, and how the whole is.
pub fn health(of: Option<&StreamHealth>, condition: Option<&str>) -> String {
    const WIDTH: f64 = 80.0;
    let Some(health) = of else { return condition.unwrap_or("–").to_owned() };
    let counts = health.counts;
    let parts = [
        ("stable", counts.stable),
        ("minor", counts.minor_variation),
        ("degraded", counts.degraded),
        ("unstable", counts.unstable),
    ];
    let total = parts.iter().map(|(_, n)| n).sum::<u64>().max(1);
    let title: Vec<String> = parts.iter().map(|(name, n)| format!("{} {name}", grouped(*n))).collect();
    let mut out = svg("health", WIDTH, 10.0, &title.join(", "));
    let mut x = 0.0;
    for (name, n) in parts {
        let width = n as f64 / total as f64 * WIDTH;
        let _ = write!(out, "<rect class=\"health-{name}\" x=\"{x:.1}\" y=\"0\" width=\"{width:.1}\" height=\"10\"/>");
        x += width;
    }
    let _ = write!(
        out,
        "</svg> <span class=\"muted\">{}</span>",
        text(&condition.unwrap_or(health.label).replace('_', " "))
    );
    out
}

/// A bar as long as the share of the most.
pub fn bar(n: u64, most: u64) -> String {
    const WIDTH: f64 = 120.0;
    let width = (n as f64 / most.max(1) as f64 * WIDTH).max(1.5);
    let mut out = svg("bar", WIDTH, 10.0, &grouped(n));
    let _ = write!(out, "<rect class=\"fill-bar\" x=\"0\" y=\"1\" width=\"{width:.1}\" height=\"8\"/></svg>");
    out
}

/// Latency and tokens per second over all streams.
pub fn distributions(report: &Report) -> String {
    let mut out = String::from("<div class=\"pair\">");
    for (title, unit, bins) in
        [("Latency", "ms", &report.details.latency_ms), ("Tokens per second", "1/s", &report.details.tokens_per_second)]
    {
        let _ = write!(
            out,
            "<figure><figcaption>{title} <span class=\"muted\">{unit}, log scale</span></figcaption>{}</figure>",
            distribution(title, unit, bins)
        );
    }
    out.push_str("</div>");
    out
}

fn distribution(title: &str, unit: &str, bins: &[(f64, u64)]) -> String {
    const WIDTH: f64 = 460.0;
    const HEIGHT: f64 = 150.0;
    let positive: Vec<(f64, u64)> = bins.iter().copied().filter(|(upper, _)| *upper > 0.0).collect();
    let (Some(first), Some(last)) = (positive.first(), positive.last()) else {
        return "<p class=\"none\">No record has it.</p>".to_owned();
    };
    let (mut low, mut high) = (first.0.log10() - 0.02, last.0.log10() + 0.02);
    if high - low < DECADES_MIN {
        let middle = (low + high) / 2.0;
        (low, high) = (middle - DECADES_MIN / 2.0, middle + DECADES_MIN / 2.0);
    }
    let mut counts = [0u64; BINS];
    for (upper, count) in &positive {
        let at = ((upper.log10() - low) / (high - low) * BINS as f64) as usize;
        counts[at.min(BINS - 1)] += count;
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let step = WIDTH / BINS as f64;
    let plot = HEIGHT - 24.0;
    let edge = |at: usize| 10f64.powf(low + (high - low) * at as f64 / BINS as f64);
    let mut out = svg("distribution", WIDTH, HEIGHT, &format!("Distribution of {}", title.to_lowercase()));
    for tick in ticks(low, high) {
        let x = (tick.log10() - low) / (high - low) * WIDTH;
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{plot:.1}\"/><text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - 8.0,
            text(&short(tick))
        );
    }
    for (at, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let height = (*count as f64 / most as f64 * plot).max(1.5);
        let range = format!("{} to {} {unit}: {}", decimal(edge(at)), decimal(edge(at + 1)), grouped(*count));
        let _ = write!(
            out,
            "<rect class=\"fill-bar\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"><title>{}</title></rect>",
            step * at as f64,
            plot - height,
            step - 1.0,
            text(&range)
        );
    }
    out.push_str("</svg>");
    let rows = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    out.push_str(&data(
        &["from", "to", "records"],
        rows.map(|(at, count)| vec![decimal(edge(at)), decimal(edge(at + 1)), grouped(*count)]),
    ));
    out
}

/// A line across a chart at the height `y`, and what it stands for to its left.
fn level(out: &mut String, left: f64, width: f64, y: f64, label: &str) {
    let _ = write!(
        out,
        "<line class=\"grid\" x1=\"{left}\" x2=\"{width}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        left - 6.0,
        y + 4.0,
        text(label)
    );
}

/// 1, 2 and 5 times the powers of ten between two logarithms: the powers alone when these are many, and round numbers at
/// equal distances when there are fewer than two.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let factors: &[f64] = if high - low > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let powers = (low.floor() as i32)..=(high.ceil() as i32);
    let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
    let found: Vec<f64> = all.filter(|tick| (low..=high).contains(&tick.log10())).collect();
    if found.len() > 1 {
        return found;
    }
    let (from, to) = (10f64.powf(low), 10f64.powf(high));
    // Two to five of them: the factors lie at most 2.5 apart.
    let power = 10f64.powf(((to - from) / TICKS_MAX).log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0].into_iter();
    let Some(step) = factors.map(|factor| factor * power).find(|step| (to - from) / step <= TICKS_MAX) else {
        return found;
    };
    let first = (from / step).ceil();
    (0..6).map(|n| (first + f64::from(n)) * step).filter(|tick| (from..=to).contains(tick)).collect()
}

/// A round number in few characters: 0.5, 200, 5k, 2M.
fn short(number: f64) -> String {
    for (size, unit) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if number >= size * 0.999 {
            return format!("{}{unit}", trimmed(number / size));
        }
    }
    trimmed(number)
}

fn trimmed(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The control charts of the busiest streams.
pub fn control(report: &Report) -> String {
    let is_long =
        |chart: &&StreamChart| chart.buckets.iter().map(|(_, bucket)| bucket.points).sum::<u64>() >= CONTROL_POINTS_MIN;
    let charts: Vec<&StreamChart> = report.details.charts.iter().filter(is_long).collect();
    if charts.is_empty() {
        return format!("<p class=\"none\">No stream has {CONTROL_POINTS_MIN} calls that were measured.</p>");
    }
    let mut out = String::from(
        "<p class=\"note\">The busiest streams, in the order of their calls; each point is the geometric mean of its calls, \
         the line through it their range. The bands reach 1 and 3 sigma from the centre, both as they were learnt before the \
         call. Circles mark calls that break a Western Electric rule; filled ones are beyond 3 sigma.</p><div class=\"grid-charts\">",
    );
    for chart in charts {
        out.push_str(&control_chart(chart));
    }
    out.push_str("</div>");
    out
}

const RULES: [&str; 4] = ["1 beyond 3σ", "2 of 3 beyond 2σ", "4 of 5 beyond 1σ", "8 on one side"];

fn control_chart(chart: &StreamChart) -> String {
    const WIDTH: f64 = 360.0;
    const HEIGHT: f64 = 124.0;
    const LEFT: f64 = 40.0;
    let name = chart.stream.as_deref().unwrap_or("(no name)");
    let plot = HEIGHT - 22.0;
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for (_, bucket) in &chart.buckets {
        let (least, most) = bucket.extremes();
        (low, high) = (low.min(least), high.max(most));
        if let Some((centre, sigma)) = bucket.limits() {
            (low, high) = (low.min(centre - 3.0 * sigma), high.max(centre + 3.0 * sigma));
        }
    }
    let room = ((high - low) * 0.05).max(0.05);
    (low, high) = (low - room, high + room);
    let y = |value: f64| 4.0 + (plot - 4.0) * (1.0 - (value - low) / (high - low));
    let last = chart.buckets.last().map_or(1, |(first, bucket)| first + bucket.points);
    let x = |number: f64| LEFT + (WIDTH - LEFT - 6.0) * number / last as f64;
    let middle = |(first, bucket): &(u64, ControlBucket)| x(*first as f64 + bucket.points as f64 / 2.0);
    let broken: [u64; 4] =
        std::array::from_fn(|rule| chart.buckets.iter().map(|(_, bucket)| bucket.broken[rule]).sum());
    let mut out = format!(
        "<figure><figcaption>{} <span class=\"muted\">{}, {}</span></figcaption>",
        clipped(name, super::NAME_CHARS_MAX),
        text(chart.what),
        text(chart.unit)
    );
    out.push_str(&svg(
        "control",
        WIDTH,
        HEIGHT,
        &format!("Control chart of {} of {}", chart.what, super::super::terminal::clip(name, super::NAME_CHARS_MAX)),
    ));
    for tick in ticks(low / std::f64::consts::LN_10, high / std::f64::consts::LN_10) {
        let y = y(tick.ln());
        level(&mut out, LEFT, WIDTH, y, &short(tick));
    }
    let limited: Vec<(f64, f64, f64)> = chart
        .buckets
        .iter()
        .filter_map(|of| of.1.limits().map(|(centre, sigma)| (middle(of), centre, sigma)))
        .collect();
    for (class, sigmas) in [("band three", 3.0), ("band one", 1.0)] {
        let upper = limited.iter().map(|(x, centre, sigma)| format!("{x:.1},{:.1}", y(centre + sigmas * sigma)));
        let lower = limited.iter().rev().map(|(x, centre, sigma)| format!("{x:.1},{:.1}", y(centre - sigmas * sigma)));
        let points: Vec<String> = upper.chain(lower).collect();
        let _ = write!(out, "<polygon class=\"{class}\" points=\"{}\"/>", points.join(" "));
    }
    let centre: Vec<String> = limited.iter().map(|(x, centre, _)| format!("{x:.1},{:.1}", y(*centre))).collect();
    let _ = write!(out, "<polyline class=\"centre\" points=\"{}\"/>", centre.join(" "));
    for of in chart.buckets.iter().filter(|(_, bucket)| bucket.points > 1) {
        let (least, most) = of.1.extremes();
        let x = middle(of);
        let _ = write!(
            out,
            "<line class=\"range\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
            y(least),
            y(most)
        );
    }
    let means: Vec<String> =
        chart.buckets.iter().map(|of| format!("{:.1},{:.1}", middle(of), y(of.1.mean()))).collect();
    let _ = write!(out, "<polyline class=\"series\" points=\"{}\"/>", means.join(" "));
    for of in &chart.buckets {
        let (first, bucket) = of;
        let Some(worst) = bucket.worst() else { continue };
        let class = if bucket.broken[0] > 0 { "violation far" } else { "violation" };
        let hits =
            RULES.iter().zip(bucket.broken).filter(|(_, n)| *n > 0).map(|(rule, n)| format!("{rule}: {}", grouped(n)));
        let title = format!(
            "calls {} to {}, farthest {} {}; {}",
            grouped(first + 1),
            grouped(first + bucket.points),
            decimal(worst.exp()),
            chart.unit,
            hits.collect::<Vec<_>>().join(", ")
        );
        let _ = write!(
            out,
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.2\"><title>{}</title></circle>",
            middle(of),
            y(worst),
            text(&title)
        );
    }
    let _ = write!(
        out,
        "<text class=\"tick\" x=\"{LEFT}\" y=\"{:.1}\">call 1</text><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text></svg>",
        HEIGHT - 6.0,
        WIDTH - 6.0,
        HEIGHT - 6.0,
        grouped(last)
    );
    let found = RULES.iter().zip(broken).filter(|(_, n)| *n > 0).map(|(rule, n)| format!("{rule}: {}", grouped(n)));
    let found: Vec<String> = found.collect();
    let note = match found.is_empty() {
        false => found.join(" · "),
        true if limited.is_empty() => "too few calls for limits".to_owned(),
        true => "in control".to_owned(),
    };
    let _ = write!(out, "<p class=\"note\">{}</p>", text(&note));
    let rows = chart.buckets.iter().map(|(first, bucket)| {
        let (least, most) = bucket.extremes();
        let mut row = vec![
            grouped(first + 1),
            grouped(bucket.points),
            decimal(bucket.mean().exp()),
            decimal(least.exp()),
            decimal(most.exp()),
        ];
        row.extend(bucket.broken.map(grouped));
        row
    });
    out.push_str(&data(
        &["from call", "calls", "geometric mean", "least", "most", "rule 1", "rule 2", "rule 3", "rule 4"],
        rows,
    ));
    out.push_str("</figure>");
    out
}

/// Posterior against labels.
pub fn calibration(report: &Report) -> String {
    const SIZE: f64 = 240.0;
    const LEFT: f64 = 34.0;
    let bins = &report.details.calibration;
    if bins.is_empty() {
        return "<p class=\"none\">The log has no labels (true or false, yes or no, 1 or 0) to compare with; <code>llmverify eval</code> and <code>llmverify calibrate</code> measure and fit on labelled records.</p>".to_owned();
    }
    let labelled: u64 = bins.iter().map(|bin| bin.labelled).sum();
    let x = |share: f64| LEFT + (SIZE - LEFT - 8.0) * share;
    let y = |share: f64| 8.0 + (SIZE - LEFT - 8.0) * (1.0 - share);
    let mut out = String::from("<div class=\"pair\"><figure>");
    out.push_str(&svg("calibration", SIZE, SIZE, "Posterior of fabricated against labels"));
    for share in [0.0, 0.5, 1.0] {
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{share}</text><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{share}</text>",
            x(0.0),
            x(1.0),
            y(share),
            y(share),
            LEFT - 6.0,
            y(share) + 4.0,
            x(share),
            SIZE - 12.0
        );
    }
    let _ = write!(
        out,
        "<line class=\"centre\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
        x(0.0),
        x(1.0),
        y(0.0),
        y(1.0)
    );
    let mut points = Vec::new();
    for bin in bins {
        let rate = bin.positive as f64 / bin.labelled.max(1) as f64;
        let (low, high) = wilson::interval(bin.positive, bin.labelled).unwrap_or((0.0, 1.0));
        let title = format!(
            "posterior {:.1} to {:.1}: {} of {} are labelled yes",
            bin.from,
            bin.to,
            grouped(bin.positive),
            grouped(bin.labelled)
        );
        let _ = write!(
            out,
            "<line class=\"thin\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/><circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"><title>{}</title></circle>",
            x(bin.mean),
            x(bin.mean),
            y(low),
            y(high),
            x(bin.mean),
            y(rate),
            text(&title)
        );
        points.push(vec![
            format!("{:.1} to {:.1}", bin.from, bin.to),
            format!("{:.3}", bin.mean),
            grouped(bin.labelled),
            percent(rate),
            format!("{} to {}", percent(low), percent(high)),
        ]);
    }
    let _ = write!(
        out,
        "</svg></figure><div><p class=\"note\">{} labelled records. On the line, a posterior of 0.3 is right three times in ten.</p>{}</div></div>",
        grouped(labelled),
        table(&["posterior", "mean", "labelled", "yes", "95% interval"], points.into_iter())
    );
    out
}

fn svg(class: &str, width: f64, height: f64, title: &str) -> String {
    let title = text(title);
    format!(
        "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\"><title>{title}</title>"
    )
}

/// The numbers of a chart as a table that is folded away.
fn data(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    format!("<details class=\"data\"><summary>numbers</summary>{}</details>", table(head, rows))
}

fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut out = String::from("<div class=\"scroll\"><table><thead><tr>");
    for (index, title) in head.iter().enumerate() {
        let class = if index > 0 { " class=\"n\"" } else { "" };
        let _ = write!(out, "<th{class}>{}</th>", text(title));
    }
    out.push_str("</tr></thead>");
    for row in rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let class = if index > 0 { " class=\"n\"" } else { "" };
            let _ = write!(out, "<td{class}>{}</td>", text(cell));
        }
        out.push_str("</tr>");
    }
    out.push_str("</table></div>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(2.0, 3.0), [100.0, 200.0, 500.0, 1000.0]);
        assert_eq!(ticks(-1.0, 4.0).len(), 6);
        assert_eq!(ticks(1.98, 2.02), [96.0, 98.0, 100.0, 102.0, 104.0]);
        assert_eq!(ticks(2.4, 2.6), [300.0, 350.0]);
        assert_eq!([0.5, 200.0, 5000.0, 2e6].map(short), ["0.5", "200", "5k", "2M"]);
    }

    #[test]
    fn a_distribution_of_one_value_is_drawn() {
        let drawn = distribution("Latency", "ms", &[(812.0, 3)]);
        assert_eq!(drawn.matches("<rect").count(), 1);
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        assert!(distribution("Latency", "ms", &[(0.0, 3)]).contains("No record"));
    }
}
