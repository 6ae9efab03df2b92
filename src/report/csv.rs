//! CSV: one row per record and rejected unit, with fixed columns, for spreadsheets.
//!
//! UTF-8, `,` between cells, `\n` after rows (the csv crate's default; RFC 4180 has CRLF, every reader takes both),
//! quoted where needed.
//!
//! A cell of text that a spreadsheet would run as a formula gets a leading apostrophe ([`guard_formula`]); numbers are
//! left alone. Control characters, also newlines, and characters that nobody sees are written as escapes, so that a row
//! is a line and no line is a command to a terminal or a CI runner.

use std::borrow::Cow;

use super::{
    format::{Format, Records},
    summary::Report,
    terminal::safe,
    verdict_record::{RejectedUnit, State, VerdictRecord},
};
use crate::engines::Question;

/// The columns. `p_…` is the posterior of a question, empty when it was not assessed.
pub const COLUMNS: [&str; 30] = [
    "type",
    "source",
    "line",
    "item",
    "byte",
    "id",
    "kind",
    "model",
    "tool",
    "session_id",
    "timestamp",
    "verdict",
    "high_risk",
    "fabricated",
    "p_fabricated",
    "attacked",
    "p_attacked",
    "leaking",
    "p_leaking",
    "degraded",
    "p_degraded",
    "is_hallucinated",
    "tier_reached",
    "signals",
    "findings",
    "health_score",
    "health_label",
    "explanation",
    "label",
    "problems",
];

/// What stands between several values in one cell.
const LIST_SEPARATOR: &str = "; ";

/// The CSV format.
#[derive(Clone, Copy, Debug, Default)]
pub struct Csv;

impl Format for Csv {
    fn default_records(&self) -> Records {
        Records::All
    }

    fn head(&self, out: &mut Vec<u8>) {
        write(COLUMNS.map(Cow::Borrowed), out);
    }

    fn record(&self, record: &VerdictRecord, out: &mut Vec<u8>) {
        let verdict = |question| record.questions.get(question).verdict.as_str();
        let posterior = |question: Question| {
            let answer = record.questions.get(question);
            number((answer.state == State::Assessed).then_some(answer.posterior))
        };
        let signals = record.signals.iter().filter(|signal| signal.fired).map(|signal| signal.id);
        let problems = record.problems.iter().map(|problem| format!("{} {}", problem.field, problem.reason));
        let row = [
            "record".into(),
            text(&record.source),
            number(Some(record.line)),
            number(record.item),
            number(Some(record.byte)),
            text(&record.id),
            text(record.kind),
            optional(&record.model),
            optional(&record.tool),
            optional(&record.session_id),
            optional(&record.timestamp),
            record.verdict.as_str().into(),
            flag(record.high_risk),
            verdict(Question::Fabricated).into(),
            posterior(Question::Fabricated),
            verdict(Question::Attacked).into(),
            posterior(Question::Attacked),
            verdict(Question::Leaking).into(),
            posterior(Question::Leaking),
            verdict(Question::Degraded).into(),
            posterior(Question::Degraded),
            flag(record.is_hallucinated),
            match record.tier_reached {
                crate::engines::Tier::Zero => "TIER_0".into(),
                crate::engines::Tier::One => "TIER_1".into(),
            },
            list(signals),
            list(rules(record)),
            number(record.health.as_ref().map(|health| health.score)),
            text(record.health.as_ref().map_or("", |health| health.label)),
            text(&record.explanation),
            optional(&record.label),
            text(&problems.collect::<Vec<_>>().join(LIST_SEPARATOR)).into_owned().into(),
        ];
        write(row, out);
    }

    fn rejected(&self, unit: &RejectedUnit, out: &mut Vec<u8>) {
        let row = COLUMNS.map(|column| match column {
            "type" => "rejected".into(),
            "source" => text(&unit.source),
            "line" => number(Some(unit.line)),
            "item" => number(unit.item),
            "byte" => number(Some(unit.byte)),
            "explanation" => text(&unit.reason),
            _ => Cow::Borrowed(""),
        });
        write(row, out);
    }

    fn summary(&self, _report: &Report, _out: &mut Vec<u8>) {}
}

/// `text` such that no spreadsheet takes it for a formula: one that begins with `=`, `+`, `-`, `@`, a tab, a line end, or
/// the full-width form of such a sign, gets a leading apostrophe, which spreadsheets hide.
///
/// Source: OWASP, "CSV Injection".
pub fn guard_formula(text: &str) -> Cow<'_, str> {
    let is_lone_minus = text == "-";
    if !is_lone_minus && text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The formula guard comes first: it must see a leading tab or line end before that becomes an escape.
fn text(text: &str) -> Cow<'_, str> {
    match guard_formula(text) {
        Cow::Borrowed(text) => safe(text),
        Cow::Owned(guarded) => Cow::Owned(safe(&guarded).into_owned()),
    }
}

fn optional(value: &Option<String>) -> Cow<'_, str> {
    text(value.as_deref().unwrap_or_default())
}

fn number<T: ToString>(value: Option<T>) -> Cow<'static, str> {
    value.map_or(Cow::Borrowed(""), |value| Cow::Owned(value.to_string()))
}

fn flag(value: bool) -> Cow<'static, str> {
    if value { "true".into() } else { "false".into() }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> Cow<'static, str> {
    Cow::Owned(names.collect::<Vec<_>>().join(LIST_SEPARATOR))
}

/// The rules that were found, each once, in the order of the text.
fn rules(record: &VerdictRecord) -> impl Iterator<Item = &str> {
    let mut rules: Vec<&str> = Vec::new();
    for finding in &record.findings {
        if !rules.contains(&&*finding.rule) {
            rules.push(&finding.rule);
        }
    }
    rules.into_iter()
}

fn write(row: [Cow<'_, str>; COLUMNS.len()], out: &mut Vec<u8>) {
    let mut writer = csv::WriterBuilder::new().buffer_capacity(1024).from_writer(out);
    let written = writer.write_record(row.iter().map(|cell| cell.as_bytes()));
    debug_assert!(written.is_ok(), "writing to memory does not fail");
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    fn rows(write: impl Fn(&mut Vec<u8>)) -> Vec<Vec<String>> {
        let mut out = Vec::new();
        Csv.head(&mut out);
        write(&mut out);
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(out.as_slice());
        reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
    }

    fn cell<'r>(rows: &'r [Vec<String>], column: &str) -> &'r str {
        &rows[1][COLUMNS.iter().position(|name| *name == column).unwrap()]
    }

    #[test]
    fn a_row_holds_the_record() {
        let rows = rows(|out| Csv.record(&samples::blocked_record(3), out));
        assert_eq!(rows[0], COLUMNS);
        for (column, expected) in [
            ("type", "record"),
            ("line", "3"),
            ("item", ""),
            ("id", "app.jsonl:3"),
            ("verdict", "block"),
            ("fabricated", "block"),
            ("attacked", "not_assessed"),
            ("p_attacked", ""),
            ("is_hallucinated", "true"),
            ("signals", "schema_mismatch"),
            ("findings", "pii/email"),
            ("health_score", "0.5"),
            ("problems", "latency_ms is negative"),
        ] {
            assert_eq!(cell(&rows, column), expected, "{column}");
        }
        assert!(cell(&rows, "p_fabricated").starts_with("0.534"));
    }

    #[test]
    fn a_rejected_unit_is_a_row_too() {
        let unit = RejectedUnit::new("a.jsonl", 5, None, 77, "=is not, JSON");
        let rows = rows(|out| Csv.rejected(&unit, out));
        assert_eq!((cell(&rows, "type"), cell(&rows, "byte")), ("rejected", "77"));
        assert_eq!(cell(&rows, "explanation"), "'=is not, JSON");
    }

    #[test]
    fn formulas_get_an_apostrophe_and_other_text_does_not() {
        for text in ["=1+1", "+1", "-1", "@a", "\ta", "\ra", "\na", "＝1", "＋1", "－1", "＠a"] {
            assert_eq!(guard_formula(text), format!("'{text}"));
        }
        for text in ["", "a=1", " =1", "1-1", "'"] {
            assert_eq!(guard_formula(text), text);
        }
    }

    #[test]
    fn hostile_text_is_one_harmless_cell_on_one_line() {
        for hostile in samples::HOSTILE {
            let record = samples::hostile_record(hostile);
            let mut out = Vec::new();
            Csv.record(&record, &mut out);
            let line = String::from_utf8(out).unwrap();
            assert_eq!(line.lines().count(), 1, "{hostile:?}");
            assert!(!line.trim_end().contains(super::super::terminal::is_unsafe), "{hostile:?}");
            assert!(line.starts_with("record,"));
            for cell in &rows(|out| Csv.record(&record, out))[1] {
                assert_eq!(guard_formula(cell), cell.as_str(), "{hostile:?}");
            }
        }
    }

    #[test]
    fn numbers_are_left_alone() {
        assert_eq!(number(Some(-0.5)), "-0.5");
        assert_eq!(number(None::<f64>), "");
    }
}
