//! What a format is, and how its pieces come together.
//!
//! A record is rendered on its own, so that batches can be rendered in parallel: each into a buffer through a
//! [`Renderer`], and the buffers are written in input order by a [`Writer`]. Both put the format's separator between
//! pieces, and nowhere else.

use std::{
    io::{self, Write},
    str::FromStr,
};

use super::{
    csv::Csv,
    github::Github,
    gitlab::Gitlab,
    html::Html,
    json::Json,
    jsonl::Jsonl,
    junit::Junit,
    markdown::Markdown,
    metrics::Metrics,
    sarif::Sarif,
    source_path::Folder,
    summary::Report,
    table::Table,
    terminal::Styles,
    verdict_record::{RejectedUnit, VerdictRecord},
};
use crate::verdict::Decision;

/// How verdicts and the report become bytes. A method that has nothing to write leaves `out` as it is; a format of the
/// report alone writes its [`summary`](Format::summary) and nothing else.
pub trait Format: Send + Sync {
    /// Which records it holds unless something else is asked for.
    fn default_records(&self) -> Records {
        Records::None
    }

    /// What stands between two pieces (records and rejected units).
    fn separator(&self) -> &'static [u8] {
        b""
    }

    /// What stands before everything else.
    fn head(&self, _out: &mut Vec<u8>) {}

    /// One record.
    fn record(&self, _record: &VerdictRecord, _out: &mut Vec<u8>) {}

    /// One unit that is no record.
    fn rejected(&self, _unit: &RejectedUnit, _out: &mut Vec<u8>) {}

    /// What stands after everything else.
    fn summary(&self, report: &Report, out: &mut Vec<u8>);
}

/// Which records an output holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// All of them.
    All,
    /// Those that are flagged or blocked.
    Flagged,
    /// None, and no rejected units either.
    None,
}

impl Records {
    /// All values, in the order of the documentation.
    pub const ALL: [Records; 3] = [Records::All, Records::Flagged, Records::None];

    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Records::All => "all",
            Records::Flagged => "flagged",
            Records::None => "none",
        }
    }

    /// Whether a record with this decision is written.
    pub fn keeps(self, decision: Decision) -> bool {
        match self {
            Records::All => true,
            Records::Flagged => decision >= Decision::Flag,
            Records::None => false,
        }
    }
}

impl FromStr for Records {
    type Err = String;

    fn from_str(text: &str) -> Result<Records, String> {
        let found = Records::ALL.into_iter().find(|value| value.as_str() == text);
        found.ok_or_else(|| format!("`{text}` is none of all, flagged, none"))
    }
}

/// What an output depends on besides the report.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Columns of a table.
    pub width: u16,
    /// How our own words are coloured in it.
    pub styles: Styles,
    /// What the paths for CI systems are relative to.
    pub folder: Folder,
}

/// Columns of a table that is not shown on a terminal.
pub const WIDTH_DEFAULT: u16 = 100;

impl Default for Setting {
    fn default() -> Setting {
        Setting { width: WIDTH_DEFAULT, styles: Styles::plain(), folder: Folder::default() }
    }
}

/// The formats, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatName {
    /// For people, on a terminal.
    Table,
    /// One object, for programs.
    Json,
    /// One object per line, for pipes.
    Jsonl,
    /// One row per record, for spreadsheets.
    Csv,
    /// One page, for a browser.
    Html,
    /// For pull requests and step summaries.
    Markdown,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// JUnit XML, for the test tabs of CI systems.
    Junit,
    /// Annotations of GitHub Actions.
    Github,
    /// Code quality of GitLab.
    Gitlab,
    /// The Prometheus text format.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl FormatName {
    /// All formats, in the order of the documentation.
    pub const ALL: [FormatName; 12] = [
        FormatName::Table,
        FormatName::Json,
        FormatName::Jsonl,
        FormatName::Csv,
        FormatName::Html,
        FormatName::Markdown,
        FormatName::Sarif,
        FormatName::Junit,
        FormatName::Github,
        FormatName::Gitlab,
        FormatName::Prometheus,
        FormatName::OpenMetrics,
    ];

    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            FormatName::Table => "table",
            FormatName::Json => "json",
            FormatName::Jsonl => "jsonl",
            FormatName::Csv => "csv",
            FormatName::Html => "html",
            FormatName::Markdown => "markdown",
            FormatName::Sarif => "sarif",
            FormatName::Junit => "junit",
            FormatName::Github => "github",
            FormatName::Gitlab => "gitlab",
            FormatName::Prometheus => "prometheus",
            FormatName::OpenMetrics => "openmetrics",
        }
    }

    /// The format.
    pub fn format(self, setting: Setting) -> Box<dyn Format> {
        let Setting { width, styles, folder } = setting;
        match self {
            FormatName::Table => Box::new(Table { width, styles }),
            FormatName::Json => Box::new(Json),
            FormatName::Jsonl => Box::new(Jsonl),
            FormatName::Csv => Box::new(Csv),
            FormatName::Html => Box::new(Html),
            FormatName::Markdown => Box::new(Markdown),
            FormatName::Sarif => Box::new(Sarif { folder }),
            FormatName::Junit => Box::new(Junit),
            FormatName::Github => Box::new(Github { folder }),
            FormatName::Gitlab => Box::new(Gitlab { folder }),
            FormatName::Prometheus => Box::new(Metrics { is_open: false }),
            FormatName::OpenMetrics => Box::new(Metrics { is_open: true }),
        }
    }

    /// The endings of files, and the formats that they choose. The first that fits counts.
    pub const ENDINGS: [(&str, FormatName); 15] = [
        ("codequality.json", FormatName::Gitlab),
        ("code-quality-report.json", FormatName::Gitlab),
        (".sarif.json", FormatName::Sarif),
        (".sarif", FormatName::Sarif),
        (".txt", FormatName::Table),
        (".json", FormatName::Json),
        (".jsonl", FormatName::Jsonl),
        (".ndjson", FormatName::Jsonl),
        (".csv", FormatName::Csv),
        (".html", FormatName::Html),
        (".htm", FormatName::Html),
        (".md", FormatName::Markdown),
        (".xml", FormatName::Junit),
        (".prom", FormatName::Prometheus),
        (".om", FormatName::OpenMetrics),
    ];

    /// The format that the name of a file chooses by its ending.
    pub fn of_file_name(name: &str) -> Option<FormatName> {
        let name = name.to_ascii_lowercase();
        FormatName::ENDINGS.into_iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, format)| format)
    }

    /// The names, for messages.
    pub fn names() -> String {
        FormatName::ALL.map(FormatName::as_str).join(", ")
    }
}

impl FromStr for FormatName {
    type Err = String;

    fn from_str(text: &str) -> Result<FormatName, String> {
        let found = FormatName::ALL.into_iter().find(|value| value.as_str() == text);
        found.ok_or_else(|| format!("`{text}` is none of {}", FormatName::names()))
    }
}

/// Renders the pieces of one batch, in any thread.
#[derive(Clone, Copy)]
pub struct Renderer<'f> {
    /// The format.
    pub format: &'f dyn Format,
    /// Which records are written.
    pub records: Records,
}

impl Renderer<'_> {
    /// Whether a record with this decision leaves a trace in the output.
    pub fn shows(&self, decision: Decision) -> bool {
        self.records.keeps(decision)
    }

    /// Appends a record to the buffer of its batch.
    pub fn record(&self, record: &VerdictRecord, chunk: &mut Vec<u8>) {
        if self.shows(record.verdict) {
            self.piece(chunk, |out| self.format.record(record, out));
        }
    }

    /// Appends a rejected unit to the buffer of its batch.
    pub fn rejected(&self, unit: &RejectedUnit, chunk: &mut Vec<u8>) {
        if self.records != Records::None {
            self.piece(chunk, |out| self.format.rejected(unit, out));
        }
    }

    fn piece(&self, chunk: &mut Vec<u8>, render: impl Fn(&mut Vec<u8>)) {
        let length = chunk.len();
        if length > 0 {
            chunk.extend_from_slice(self.format.separator());
        }
        let begin = chunk.len();
        render(chunk);
        if chunk.len() == begin {
            chunk.truncate(length);
        }
    }
}

/// Writes the buffers of the batches in input order, with head and summary around them.
pub struct Writer<'f, W> {
    renderer: Renderer<'f>,
    out: W,
    begun: bool,
}

impl<'f, W: Write> Writer<'f, W> {
    /// A writer that has written nothing yet.
    pub fn new(renderer: Renderer<'f>, out: W) -> Writer<'f, W> {
        Writer { renderer, out, begun: false }
    }

    /// Renders batches for this writer.
    pub fn renderer(&self) -> Renderer<'f> {
        self.renderer
    }

    /// Writes what stands before everything else; once, and first.
    pub fn head(&mut self) -> io::Result<()> {
        let mut head = Vec::new();
        self.renderer.format.head(&mut head);
        self.out.write_all(&head)
    }

    /// Writes the buffer of the next batch.
    pub fn chunk(&mut self, chunk: &[u8]) -> io::Result<()> {
        if chunk.is_empty() {
            return Ok(());
        }
        if self.begun {
            self.out.write_all(self.renderer.format.separator())?;
        }
        self.begun = true;
        self.out.write_all(chunk)
    }

    /// Hands on what was written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writes what stands after everything else, and gives the sink back.
    pub fn finish(mut self, report: &Report) -> io::Result<W> {
        let mut summary = Vec::new();
        self.renderer.format.summary(report, &mut summary);
        self.out.write_all(&summary)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    fn write(name: FormatName, records: Records, batches: &[&[VerdictRecord]]) -> String {
        let format = name.format(Setting::default());
        let mut writer = Writer::new(Renderer { format: &*format, records }, Vec::new());
        writer.head().unwrap();
        for batch in batches {
            let mut chunk = Vec::new();
            for record in *batch {
                writer.renderer().record(record, &mut chunk);
            }
            writer.renderer().rejected(&RejectedUnit::new("a", 9, None, 0, "is not JSON"), &mut chunk);
            writer.chunk(&chunk).unwrap();
        }
        String::from_utf8(writer.finish(&samples::report()).unwrap()).unwrap()
    }

    #[test]
    fn the_bytes_do_not_depend_on_the_batches() {
        let [a, b, c] = [samples::blocked_record(1), samples::accepted_record(2), samples::scored_record(3, 0.2)];
        for name in FormatName::ALL {
            for records in Records::ALL {
                let format = name.format(Setting::default());
                let renderer = Renderer { format: &*format, records };
                let all = [&a, &b, &c];
                let outputs: Vec<Vec<u8>> = [1, 2, 3]
                    .map(|size| {
                        let mut writer = Writer::new(renderer, Vec::new());
                        writer.head().unwrap();
                        for batch in all.chunks(size) {
                            let mut chunk = Vec::new();
                            batch.iter().for_each(|record| renderer.record(record, &mut chunk));
                            writer.chunk(&chunk).unwrap();
                        }
                        writer.finish(&samples::report()).unwrap()
                    })
                    .into();
                assert_eq!(outputs[0], outputs[1], "{name:?} {records:?}");
                assert_eq!(outputs[0], outputs[2], "{name:?} {records:?}");
            }
        }
    }

    #[test]
    fn the_filter_leaves_out_what_was_not_asked_for() {
        let records = [samples::blocked_record(1), samples::accepted_record(2), samples::scored_record(3, 0.2)];
        let lines = |keep| write(FormatName::Jsonl, keep, &[&records]).lines().count();
        assert_eq!([lines(Records::All), lines(Records::Flagged), lines(Records::None)], [5, 4, 1]);
    }

    #[test]
    fn a_json_report_is_one_valid_object_whatever_it_holds() {
        let [a, b] = [samples::blocked_record(1), samples::accepted_record(2)];
        let batches: [&[&[VerdictRecord]]; 4] =
            [&[], &[&[]], &[std::slice::from_ref(&a)], &[&[a.clone(), b.clone()], &[], &[b]]];
        for (batches, n) in batches.into_iter().zip([0, 0, 1, 3]) {
            let report: serde_json::Value =
                serde_json::from_str(&write(FormatName::Json, Records::All, batches)).unwrap();
            assert_eq!(report["records"].as_array().unwrap().len(), n);
            assert_eq!(report["schema"], "llmverify.report/1");
            assert_eq!(report["input"]["units"], 25);
        }
    }

    #[test]
    fn names_are_read_back() {
        for name in FormatName::ALL {
            assert_eq!(name.as_str().parse(), Ok(name));
        }
        for records in Records::ALL {
            assert_eq!(records.as_str().parse(), Ok(records));
        }
        assert!("pdf".parse::<FormatName>().is_err() && "some".parse::<Records>().is_err());
    }
}
