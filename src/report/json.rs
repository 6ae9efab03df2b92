//! One JSON object: the report, with the records that were asked for as its `records`.
//!
//! It can be streamed: the records stand first, one per line, and the rest of the object follows when all is counted.
//! Units that are no records are listed in the report's own `rejected`.

use super::{
    format::{Format, Records},
    safe_json,
    summary::Report,
    verdict_record::{RejectedUnit, VerdictRecord},
};

/// How a report begins, both here and when it is written by itself.
const BEGIN: &[u8] = b"{\n  \"schema\": \"llmverify.report/1\",\n";

/// The JSON format.
#[derive(Clone, Copy, Debug, Default)]
pub struct Json;

impl Format for Json {
    fn default_records(&self) -> Records {
        Records::Flagged
    }

    fn separator(&self) -> &'static [u8] {
        b","
    }

    fn head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(BEGIN);
        out.extend_from_slice(b"  \"records\": [");
    }

    fn record(&self, record: &VerdictRecord, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\n    ");
        safe_json::compact(record, out);
    }

    fn rejected(&self, _unit: &RejectedUnit, _out: &mut Vec<u8>) {}

    fn summary(&self, report: &Report, out: &mut Vec<u8>) {
        let report = safe_json::pretty(report);
        let rest = report.strip_prefix(BEGIN);
        debug_assert!(rest.is_some(), "a report begins with its schema");
        out.extend_from_slice(b"\n  ],\n");
        out.extend_from_slice(rest.unwrap_or(&report));
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    fn write(records: &[VerdictRecord]) -> String {
        let mut out = Vec::new();
        Json.head(&mut out);
        for (i, record) in records.iter().enumerate() {
            if i > 0 {
                out.extend_from_slice(Json.separator());
            }
            Json.record(record, &mut out);
        }
        Json.summary(&samples::report(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn records_stand_first_and_one_per_line() {
        let text = write(&[samples::blocked_record(1), samples::accepted_record(2)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..3], ["{", "  \"schema\": \"llmverify.report/1\",", "  \"records\": ["]);
        assert!(lines[3].starts_with("    {\"schema\":\"llmverify.verdict/1\",") && lines[3].ends_with("},"));
        assert!(lines[4].ends_with('}'));
        assert_eq!(lines[5], "  ],");
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys[..5], ["schema", "records", "tool", "gate", "input"]);
    }

    #[test]
    fn hostile_text_is_escaped_and_kept() {
        for hostile in samples::HOSTILE {
            let text = write(&[samples::hostile_record(hostile)]);
            assert!(!text.replace('\n', "").contains(super::super::terminal::is_unsafe), "{hostile:?}");
            assert!(text.lines().all(|line| !line.trim_start().starts_with("::")), "{hostile:?}");
            let report: serde_json::Value = serde_json::from_str(&text).unwrap();
            for field in ["id", "model", "tool", "session_id", "label", "source"] {
                assert_eq!(report["records"][0][field], hostile);
            }
        }
    }
}
