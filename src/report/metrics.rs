//! Metrics: the Prometheus text format (for the textfile collector of node_exporter) and OpenMetrics 1.0.
//!
//! A report is a picture of one log, so that every number is a gauge. Labels are models, tools, questions, verdicts and
//! rules, never records, sessions or sources: their number is bounded. Base units are seconds and bytes.
//!
//! Two series with the same labels make a collector refuse the whole page. So a name that does not stand in its label as
//! it is (too long, or with characters that are written as escapes) ends with a hash of it, and of names that are the
//! same in the report, because what was personal in them is redacted, the second has a number behind it.
//!
//! **Source**: Prometheus, "Exposition formats" (0.0.4); OpenMetrics 1.0.0.
//!
//! **Limits**: those numbers are by the order of the report (the busiest first), which is another one tomorrow.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{
    format::Format,
    summary::{Quantiles, Report, StreamSummary},
    terminal::{clip, safe},
};
use crate::{hash, verdict::Decision};

const LABEL_CHARS_MAX: usize = 128;
/// Characters of a tilde and the hash behind it.
const HASH_CHARS: usize = 9;
const MS_PER_S: f64 = 1000.0;

/// The Prometheus text format, or OpenMetrics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Metrics {
    /// Whether it is OpenMetrics, with units and an end.
    pub is_open: bool,
}

impl Format for Metrics {
    fn summary(&self, report: &Report, out: &mut Vec<u8>) {
        let mut page = Page { is_open: self.is_open, name: "", text: String::new() };
        whole(report, &mut page);
        questions(report, &mut page);
        streams(report, &mut page);
        rules(report, &mut page);
        if self.is_open {
            page.text.push_str("# EOF\n");
        }
        out.extend_from_slice(page.text.as_bytes());
    }
}

fn whole(report: &Report, page: &mut Page) {
    let version = report.tool.version;
    page.family("llmverify_build_info", "", "The program that wrote this report.");
    page.sample(&[("version", version)], 1.0);
    page.family("llmverify_gate_passed", "", "Whether the audit passed: 1 or 0.");
    page.sample(&[], f64::from(u8::from(report.gate.passed)));
    page.family("llmverify_exit_status", "", "The exit status of the audit.");
    page.sample(&[], f64::from(report.gate.exit.code()));
    page.family("llmverify_units", "", "Units of the log by what became of them.");
    let input = &report.input;
    for (outcome, n) in [
        ("audited", input.audited),
        ("feedback", input.feedback),
        ("merged", input.merged),
        ("parent", input.parent),
        ("rejected", input.rejected),
        ("skipped", input.skipped),
    ] {
        page.sample(&[("outcome", outcome)], n as f64);
    }
    page.family("llmverify_llm_calls", "", "Audited LLM calls by what they hold.");
    let coverage = &report.coverage;
    for (holds, n) in [
        ("any", coverage.llm_calls),
        ("prompt", coverage.prompt),
        ("response", coverage.response),
        ("model", coverage.model),
        ("latency", coverage.latency),
        ("context", coverage.context),
        ("no_text", coverage.health_only),
    ] {
        page.sample(&[("holds", holds)], n as f64);
    }
    page.family("llmverify_input_bytes", "bytes", "Bytes of the log, after decompression.");
    page.sample(&[], input.bytes as f64);
    page.family("llmverify_records", "", "Audited records by verdict.");
    let decisions = &report.verdicts.decisions;
    for verdict in Decision::ALL {
        page.sample(&[("verdict", verdict.as_str())], decisions.of(verdict) as f64);
    }
    page.family(
        "llmverify_high_risk_records",
        "",
        "Records with a proof, or a posterior of 0.9, on a question that blocks.",
    );
    page.sample(&[], report.verdicts.high_risk as f64);
    page.family("llmverify_level_shifts", "", "Levels that have shifted.");
    page.sample(&[], report.events_total as f64);
}

fn questions(report: &Report, page: &mut Page) {
    page.family("llmverify_question_records", "", "Records by question and what was decided on it.");
    for (question, of) in report.questions.iter() {
        let accepted = of.assessed - (of.flagged + of.blocked).min(of.assessed);
        for (verdict, n) in
            [("accept", accepted), ("flag", of.flagged), ("block", of.blocked), ("not_assessed", of.not_assessed)]
        {
            page.sample(&[("question", question.as_str()), ("verdict", verdict)], n as f64);
        }
    }
}

fn streams(report: &Report, page: &mut Page) {
    let all: Vec<_> = report.streams.iter().chain(&report.other_streams).collect();
    let labels = labels(&all);
    page.family("llmverify_stream_records", "", "Records by model or tool and verdict.");
    for ((kind, name), stream) in labels.iter().zip(&all) {
        for verdict in Decision::ALL {
            let n = stream.verdicts.of(verdict);
            page.sample(&[("kind", kind), ("stream", name), ("verdict", verdict.as_str())], n as f64);
        }
    }
    page.family("llmverify_stream_errors", "", "Records that ended with an error, by model or tool.");
    for ((kind, name), stream) in labels.iter().zip(&all) {
        page.sample(&[("kind", kind), ("stream", name)], stream.errors as f64);
    }
    for (family, help) in [
        ("llmverify_latency_seconds", "Latency by model or tool."),
        ("llmverify_ttft_seconds", "Time to the first token by model."),
    ] {
        page.family(family, "seconds", help);
        for ((kind, name), stream) in labels.iter().zip(&all) {
            let is_latency = family == "llmverify_latency_seconds";
            let Quantiles { p50, p95, p99 } = if is_latency { stream.latency_ms } else { stream.ttft_ms };
            for (quantile, value) in [("0.5", p50), ("0.95", p95), ("0.99", p99)] {
                if let Some(ms) = value {
                    page.sample(&[("kind", kind), ("stream", name), ("percentile", quantile)], ms / MS_PER_S);
                }
            }
        }
    }
    page.family("llmverify_tokens_per_second", "", "Response tokens per second by model.");
    for ((kind, name), stream) in labels.iter().zip(&all) {
        if let Some(rate) = stream.tokens_per_second {
            page.sample(&[("kind", kind), ("stream", name)], rate);
        }
    }
    page.family("llmverify_tokens", "", "Tokens by model and direction.");
    for ((kind, name), stream) in labels.iter().zip(&all) {
        for (direction, n) in [("prompt", stream.prompt_tokens), ("response", stream.response_tokens)] {
            if n > 0 {
                page.sample(&[("kind", kind), ("stream", name), ("direction", direction)], n as f64);
            }
        }
    }
    page.family("llmverify_cost", "", "What the tokens cost, by model and currency.");
    for ((kind, name), stream) in labels.iter().zip(&all) {
        for cost in &stream.cost {
            page.sample(&[("kind", kind), ("stream", name), ("currency", &cost.currency)], cost.amount);
        }
    }
    page.family("llmverify_unpriced_tokens", "", "Tokens that no price fits, by model; none without prices.");
    for ((kind, name), stream) in labels.iter().zip(&all) {
        if let Some(unpriced) = &stream.unpriced {
            page.sample(&[("kind", kind), ("stream", name)], unpriced.tokens() as f64);
        }
    }
    page.family("llmverify_health", "", "Health by model or tool: 0 is well, 1 is unwell.");
    for ((kind, name), stream) in labels.iter().zip(&all) {
        if let Some(health) = &stream.health {
            page.sample(&[("kind", kind), ("stream", name)], health.score);
        }
    }
}

fn rules(report: &Report, page: &mut Page) {
    page.family("llmverify_rule_records", "", "Flagged and blocked records by rule.");
    for (rule, of) in &report.issues.by_rule {
        page.sample(&[("rule", rule), ("question", of.question.as_str())], of.records as f64);
    }
}

struct Page {
    is_open: bool,
    /// The family at hand.
    name: &'static str,
    text: String,
}

impl Page {
    /// Begins a family; its name ends with its unit, where it has one.
    fn family(&mut self, name: &'static str, unit: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}");
        let _ = writeln!(self.text, "# TYPE {name} gauge");
        if self.is_open && !unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
        self.name = name;
    }

    fn sample(&mut self, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(self.name);
        if !labels.is_empty() {
            let labels: Vec<String> =
                labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
            let _ = write!(self.text, "{{{}}}", labels.join(","));
        }
        let _ = writeln!(self.text, " {value}");
    }
}

/// Kind and name of each stream as labels, no two the same.
fn labels(streams: &[&StreamSummary]) -> Vec<(&'static str, String)> {
    let mut given = BTreeSet::new();
    let label = |stream: &&StreamSummary| {
        let kind = stream.kind.unwrap_or("others");
        let name = told_apart(stream.name.as_deref().unwrap_or_default());
        let numbered = |n: u32| if n == 1 { name.clone() } else { format!("{name} ({n})") };
        let label = (1..).map(|n| (kind, numbered(n))).find(|label| !given.contains(label)).unwrap_or_default();
        given.insert(label.clone());
        label
    };
    streams.iter().map(label).collect()
}

/// A name in at most [`LABEL_CHARS_MAX`] characters, with a hash where these are not the name.
fn told_apart(name: &str) -> String {
    let shown = clip(name, LABEL_CHARS_MAX);
    if shown == name {
        return shown.into_owned();
    }
    format!("{}~{:08x}", clip(name, LABEL_CHARS_MAX - HASH_CHARS), hash::name(name) as u32)
}

/// The value of a label, with what could end it escaped.
fn escaped(text: &str) -> String {
    safe(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Measures, Partial, samples},
        *,
    };
    use crate::{engines::runtime::health, verdict::gate};

    fn write(report: &Report, is_open: bool) -> String {
        let mut out = Vec::new();
        Metrics { is_open }.summary(report, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_number_has_its_labels() {
        let text = write(&samples::report(), false);
        for line in [
            "llmverify_gate_passed 0",
            "llmverify_records{verdict=\"block\"} 1",
            "llmverify_stream_records{kind=\"tool\",stream=\"get_weather\",verdict=\"accept\"} 20",
            "llmverify_latency_seconds{kind=\"tool\",stream=\"get_weather\",percentile=\"0.5\"} 0.8125",
            "llmverify_rule_records{rule=\"schema_mismatch\",question=\"fabricated\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
        assert!(!text.contains("# EOF") && !text.contains("# UNIT"));
        let open = write(&samples::report(), true);
        assert!(open.ends_with("# EOF\n") && open.contains("# UNIT llmverify_latency_seconds seconds\n"));
    }

    #[test]
    fn no_two_series_have_the_same_labels() {
        let long = |end: &str| format!("{}{end}", "m".repeat(LABEL_CHARS_MAX));
        let names =
            [&*long("-2024"), &*long("-2025"), "a\nb", "a\\nb", "[redacted]", "[redacted]", "[redacted] (2)", ""];
        let mut partial = Partial::default();
        let measures = Measures { stream: Some("a"), ..Measures::default() };
        samples::accepted(1).count(&mut partial, &measures);
        let mut report =
            Report::new(partial, &samples::totals(), &gate::Policy::default(), &health::Settings::default());
        let stream = report.streams[0].clone();
        let named = |name: &str| StreamSummary { name: Some(name.to_owned()), ..stream.clone() };
        report.streams = names.into_iter().map(named).chain([StreamSummary { name: None, ..stream.clone() }]).collect();
        let text = write(&report, false);
        let series: Vec<&str> = text.lines().filter(|line| line.starts_with("llmverify_stream_errors{")).collect();
        let told_apart: BTreeSet<&&str> = series.iter().collect();
        assert_eq!((series.len(), told_apart.len()), (names.len() + 1, series.len()), "{series:#?}");
        for name in &told_apart {
            assert!(name.chars().count() < LABEL_CHARS_MAX + 60, "{name}");
        }
    }

    #[test]
    fn a_label_cannot_be_left() {
        assert_eq!(escaped("a\"} 1\nb\\"), "a\\\"} 1\\\\nb\\\\");
        for hostile in samples::HOSTILE {
            let text = write(&samples::hostile_report(hostile), false);
            assert!(text.lines().all(|line| line.starts_with("llmverify_") || line.starts_with("# ")), "{hostile:?}");
        }
    }
}
