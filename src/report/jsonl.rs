//! JSON Lines: one object per record and rejected unit as the audit goes, then one summary. `type` tells them apart.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    format::{Format, Records},
    safe_json,
    summary::Report,
    verdict_record::{RejectedUnit, VerdictRecord},
};

/// The JSON Lines format.
#[derive(Clone, Copy, Debug, Default)]
pub struct Jsonl;

/// The last line: the report, with its `type`.
#[derive(Serialize, JsonSchema)]
pub struct SummaryLine<'a> {
    /// What this object is.
    #[serde(rename = "type")]
    pub line_type: SummaryType,
    /// The report.
    #[serde(flatten)]
    pub report: &'a Report,
}

/// The `type` of a [`SummaryLine`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub enum SummaryType {
    /// The report on everything above it.
    #[default]
    #[serde(rename = "summary")]
    Summary,
}

impl Format for Jsonl {
    fn default_records(&self) -> Records {
        Records::All
    }

    fn record(&self, record: &VerdictRecord, out: &mut Vec<u8>) {
        line(record, out);
    }

    fn rejected(&self, unit: &RejectedUnit, out: &mut Vec<u8>) {
        line(unit, out);
    }

    fn summary(&self, report: &Report, out: &mut Vec<u8>) {
        line(&SummaryLine { line_type: SummaryType::Summary, report }, out);
    }
}

fn line<T: Serialize>(value: &T, out: &mut Vec<u8>) {
    safe_json::compact(value, out);
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{super::samples, *};

    fn write(record: &VerdictRecord) -> String {
        let mut out = Vec::new();
        Jsonl.head(&mut out);
        Jsonl.record(record, &mut out);
        Jsonl.rejected(&RejectedUnit::new("app.jsonl", 2, Some(1), 40, "is not JSON"), &mut out);
        Jsonl.summary(&samples::report(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_line_is_an_object_with_a_type() {
        let text = write(&samples::blocked_record(1));
        assert!(text.ends_with('\n'));
        let types: Vec<String> = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(types, ["record", "rejected", "summary"]);
    }

    #[test]
    fn hostile_text_stays_on_its_line_and_is_kept() {
        for hostile in samples::HOSTILE {
            let text = write(&samples::hostile_record(hostile));
            assert_eq!(text.lines().count(), 3);
            assert!(!text.replace('\n', "").contains(super::super::terminal::is_unsafe), "{hostile:?}");
            let record: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
            assert_eq!(record["id"], hostile);
            assert_eq!(record["signals"][0]["detail"], hostile);
        }
    }
}
