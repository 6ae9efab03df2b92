//! Metrics: the Prometheus text format (for the textfile collector of node_exporter) and OpenMetrics 1.0.
//!
//! A report is a picture of one log, so that every number is a gauge. Labels are models, tools, questions, verdicts and
//! rules, never records, sessions or sources: their number is bounded. Base units are seconds and bytes.
//!
//! **Source**: Prometheus, "Exposition formats" (0.0.4); OpenMetrics 1.0.0.

use std::fmt::Write as _;

use super::{
    format::{Format, Records},
    summary::{Quantiles, Report},
    terminal::clip,
    verdict_record::{RejectedUnit, VerdictRecord},
};

const LABEL_CHARS_MAX: usize = 128;
const MS_PER_S: f64 = 1000.0;

/// The Prometheus text format, or OpenMetrics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Metrics {
    /// Whether it is OpenMetrics, with units and an end.
    pub is_open: bool,
}

impl Format for Metrics {
    fn default_records(&self) -> Records {
        Records::None
    }

    fn record(&self, _record: &VerdictRecord, _out: &mut Vec<u8>) {}

    fn rejected(&self, _unit: &RejectedUnit, _out: &mut Vec<u8>) {}

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
    page.family("llmverify_input_bytes", "bytes", "Bytes of the log, after decompression.");
    page.sample(&[], input.bytes as f64);
    page.family("llmverify_records", "", "Audited records by verdict.");
    let decisions = &report.verdicts.decisions;
    for (verdict, n) in [
        ("accept", decisions.accept),
        ("flag", decisions.flag),
        ("block", decisions.block),
        ("not_assessed", decisions.not_assessed),
    ] {
        page.sample(&[("verdict", verdict)], n as f64);
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
    let labels: Vec<(&str, &str)> =
        all.iter().map(|stream| (stream.kind.unwrap_or("others"), stream.name.as_deref().unwrap_or(""))).collect();
    page.family("llmverify_stream_records", "", "Records by model or tool and verdict.");
    for ((kind, name), stream) in labels.iter().zip(&all) {
        let decisions = &stream.verdicts;
        for (verdict, n) in [
            ("accept", decisions.accept),
            ("flag", decisions.flag),
            ("block", decisions.block),
            ("not_assessed", decisions.not_assessed),
        ] {
            page.sample(&[("kind", kind), ("stream", name), ("verdict", verdict)], n as f64);
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

/// The value of a label, with what could end it escaped.
fn escaped(text: &str) -> String {
    clip(text, LABEL_CHARS_MAX).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

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
    fn a_label_cannot_be_left() {
        assert_eq!(escaped("a\"} 1\nb\\"), "a\\\"} 1\\\\nb\\\\");
        for hostile in samples::HOSTILE {
            let text = write(&samples::hostile_report(hostile), false);
            assert!(text.lines().all(|line| line.starts_with("llmverify_") || line.starts_with("# ")), "{hostile:?}");
        }
    }
}
