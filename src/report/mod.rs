//! Verdicts become a report, reports become bytes.
//!
//! - [`verdict_record`]: what is said of one record, as an object that owns its text
//! - [`explanation`]: the same in one or two sentences
//! - [`aggregate`]: verdicts → counts, per batch, merged in input order
//! - [`formats`]: what the log was written by; [`coverage`]: what there is to judge; [`claims`]: what documents bear out; [`unread`]: what was not read;
//!   [`times`]: times whose unit cannot be right
//! - [`timeline`]: decisions over time, in at most a screenful of buckets
//! - [`summary`]: the report object
//! - [`format`](mod@format): what a format is, and the writer that puts rendered pieces in order
//! - [`inspection`]: how a log is understood
//! - [`issues`]: rule × flagged record, with fingerprints; [`catalogue`]: what is said of a rule
//! - [`control`]: control charts of whole streams; [`prices`]: what tokens cost
//! - [`comparison`]: this report against an earlier one
//! - [`table`], [`json`], [`jsonl`], [`csv`], [`html`], [`markdown`]: the formats for people and programs
//! - [`sarif`], [`junit`], [`github`], [`gitlab`], [`metrics`]: the formats of CI systems and metrics stores
//! - [`waterfall`]: why one record was judged as it was
//! - [`evaluation`]: how good an audit is on labelled records
//! - [`terminal`]: log text made safe to show; styles
//! - [`safe_json`]: JSON whose bytes are safe to show; [`source_path`]: paths as CI systems want them
//! - [`schema`]: the JSON Schemas of the output
//!
//! Nothing here knows a record or the input: what is reported comes in as verdicts, signals, assessments and strings,
//! and raw text only as an excerpt that was redacted when it was made.

pub mod aggregate;
pub mod catalogue;
pub mod checks;
pub mod claims;
pub mod comparison;
pub mod control;
pub mod coverage;
pub mod csv;
pub mod evaluation;
pub mod explanation;
pub mod format;
pub mod formats;
pub mod inspection;
pub mod github;
pub mod gitlab;
pub mod html;
pub mod issues;
pub mod json;
pub mod jsonl;
pub mod junit;
pub mod markdown;
pub mod metrics;
pub mod prices;
pub mod safe_json;
pub mod sarif;
pub mod schema;
pub mod source_path;
pub mod summary;
pub mod table;
pub mod terminal;
pub mod timeline;
pub mod times;
pub mod unread;
pub mod verdict_record;
pub mod waterfall;

#[cfg(test)]
mod samples;

pub use aggregate::{Badness, Floors, Measures, OnDemand, Partial};
pub use format::{Format, Records, Setting, Writer};
pub use summary::Report;
pub use verdict_record::{RejectedUnit, VerdictRecord};
