//! What `llmverify inspect` says of a log: how it is understood, before anything is judged.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    coverage::Coverage,
    formats::FormatSummary,
    table::counted,
    terminal::{Styles, clip, guard_line, safe},
    unread::{SHOWN_MAX, UnreadSummary},
    verdict_record::place,
};

/// Characters of a text that a line shows.
const SHOWN_CHARS: usize = 160;

/// How a log is understood.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Inspection {
    /// Name and version of this object's format.
    pub schema: InspectionSchema,
    /// Sources that were opened or tried.
    pub files: u64,
    /// Bytes, after decompression.
    pub bytes: u64,
    /// Units that were cut, a unit of many items counted as so many, and so is one of which several records were made.
    pub units: u64,
    /// Units that are records.
    pub records: u64,
    /// Units that are parts of records which others begin.
    pub pieces: u64,
    /// Units that repeat their children.
    pub parent: u64,
    /// Units that hold no call.
    pub skipped: u64,
    /// Units that nobody knows.
    pub rejected: u64,
    /// Whether records + pieces + parent + skipped + rejected is units.
    pub ledger_adds_up: bool,
    /// What the log was written by.
    pub formats: FormatSummary,
    /// What the LLM calls hold.
    pub coverage: Coverage,
    /// The fields of the normal form that were found, in its order.
    pub fields: Vec<FieldFound>,
    /// Records of which places were looked up.
    pub places_of: u64,
    /// Where latencies come from.
    pub latency_sources: Vec<Counted>,
    /// What went into no record.
    pub unread: UnreadSummary,
    /// Mapped fields that stand in no record.
    pub unmatched: Vec<&'static str>,
    /// What is missing, and which engines then have nothing to go on.
    pub missing: Vec<Missing>,
    /// Why units were rejected.
    pub rejections: Vec<Counted>,
    /// Fields that were present and could not be used.
    pub problems: Vec<Counted>,
    /// Files of folders and archives that were not read.
    pub left_out: Vec<LeftOut>,
    /// The first record, as it is understood; texts cut and redacted.
    pub first_record: Vec<(String, String)>,
    /// The records that were asked for, in full; texts redacted.
    pub shown: Vec<Shown>,
}

/// A file that was not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Its name, as a source has it.
    pub source: String,
    /// Why it was not read.
    pub reason: String,
}

/// A record as it is understood, in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Shown {
    /// The source.
    pub source: String,
    /// The line on which it begins.
    pub line: u64,
    /// Its position among several of a unit.
    pub item: Option<u32>,
    /// Its fields and their values.
    pub fields: Vec<(String, String)>,
}

/// Name and version of the format of [`Inspection`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub enum InspectionSchema {
    /// The first version.
    #[default]
    #[serde(rename = "llmverify.inspection/1")]
    V1,
}

/// How often something occurs, and where first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counted {
    /// What.
    pub name: String,
    /// How often.
    pub count: u64,
    /// The source of the first.
    pub source: String,
    /// The line of the first.
    pub line: u64,
}

/// A field of the normal form, and where it was found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FieldFound {
    /// Its name.
    pub field: &'static str,
    /// Records that have it.
    pub records: u64,
    /// Where it stands, the most frequent first: pointers in which `*` is any index, `→` goes into JSON in a string.
    pub places: Vec<FieldPlace>,
}

/// Where a field stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FieldPlace {
    /// The pointer.
    pub pointer: String,
    /// Its unit, where it is a time.
    pub unit: Option<&'static str>,
    /// Records.
    pub records: u64,
}

/// A field that records lack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Missing {
    /// Its name.
    pub field: &'static str,
    /// `llm` or `tool`: of which records.
    pub kind: &'static str,
    /// Records that lack it.
    pub records: u64,
    /// Records of the kind.
    pub of: u64,
    /// Engines that need it.
    pub engines: Vec<&'static str>,
}

/// Files that were not read, of which the page names so many.
const LEFT_OUT_SHOWN_MAX: usize = 20;

impl Inspection {
    /// The page for people.
    pub fn page(&self, styles: &Styles) -> String {
        let mut page = Page { out: String::new(), heading: styles.heading };
        let parts = [
            (self.records, "record", "records"),
            (self.pieces, "part of a record", "parts of records"),
            (self.parent, "parent", "parents"),
            (self.skipped, "without a call", "without a call"),
            (self.rejected, "rejected", "rejected"),
        ];
        let parts = parts.into_iter().filter(|(count, ..)| *count > 0);
        page.line(&format!(
            "{} in {} ({}): {}",
            counted(self.units, "unit", "units"),
            counted(self.files, "source", "sources"),
            counted(self.bytes, "byte", "bytes"),
            parts.map(|(count, one, many)| counted(count, one, many)).collect::<Vec<_>>().join(", ")
        ));
        if !self.ledger_adds_up {
            page.line("this does not add up: units were lost or counted twice");
        }
        if let Some(coverage) = self.coverage.line() {
            page.line(&coverage);
        }
        page.heading("Formats", !self.formats.records.is_empty());
        for entry in &self.formats.records {
            let first = place(&entry.source, entry.line, None);
            page.line(&format!(
                "  {:<32} {:>8} {:>5.1} %  first {first}",
                entry.name,
                entry.records,
                entry.share * 100.0
            ));
        }
        for entry in &self.formats.no_call {
            let first = place(&entry.source, entry.line, None);
            let what = format!("{} ({})", entry.what, entry.format);
            page.line(&format!("  {what:<32} {:>8} {}  first {first}", entry.units, entry.counted_as));
        }
        page.heading("Notes", !self.formats.notes.is_empty());
        for entry in &self.formats.notes {
            page.line(&format!(
                "  {:<32} {:>8}  first {}",
                entry.note,
                entry.records,
                place(&entry.source, entry.line, None)
            ));
        }
        page.heading("Fields", !self.fields.is_empty());
        for found in &self.fields {
            let places = found.places.iter().take(3).map(|place| match place.unit {
                Some(unit) => format!("{} ({unit})", place.pointer),
                None => place.pointer.clone(),
            });
            // A field of a record that is made of several units, or that was derived, has no place of its own.
            let places = if found.places.is_empty() { "-".to_owned() } else { places.collect::<Vec<_>>().join(", ") };
            page.line(&format!("  {:<18} {:>8}  {places}", found.field, found.records));
        }
        match self.places_of {
            all if all >= self.records => {}
            0 => page.line("  without places: each record is made of several units"),
            some => page.line(&format!("  places are those of {some} of {} records", self.records)),
        }
        page.heading(
            &format!("Not read (of {} that were looked at)", counted(self.unread.units, "unit", "units")),
            !self.unread.fields.is_empty(),
        );
        self.unread.rows().for_each(|row| page.line(&row));
        if self.unread.fields.len() > SHOWN_MAX {
            page.line(&format!("  and {} more", self.unread.fields.len() - SHOWN_MAX));
        }
        page.heading("Mapped, and found nowhere", !self.unmatched.is_empty());
        self.unmatched.iter().for_each(|field| page.line(&format!("  {field}")));
        page.heading("Missing", !self.missing.is_empty());
        for missing in &self.missing {
            let of = format!("in {} of {} {} records", missing.records, missing.of, missing.kind);
            page.line(&format!("  {:<18} {of}; nothing to go on for {}", missing.field, missing.engines.join(", ")));
        }
        for (title, list) in [("Rejected", &self.rejections), ("Could not be used", &self.problems)] {
            page.heading(title, !list.is_empty());
            for entry in list {
                page.line(&format!(
                    "  {:>8}  {}  first {}",
                    entry.count,
                    entry.name,
                    place(&entry.source, entry.line, None)
                ));
            }
        }
        page.heading("Files that were not read", !self.left_out.is_empty());
        for file in self.left_out.iter().take(LEFT_OUT_SHOWN_MAX) {
            page.line(&format!("  {:<32} {}", file.source, file.reason));
        }
        if self.left_out.len() > LEFT_OUT_SHOWN_MAX {
            page.line(&format!("  and {} more", self.left_out.len() - LEFT_OUT_SHOWN_MAX));
        }
        let is_first_shown = self.shown.is_empty() && !self.first_record.is_empty();
        page.heading("The first record, as it is understood", is_first_shown);
        for (name, value) in self.first_record.iter().filter(|_| is_first_shown) {
            page.line(&format!("  {name:<18} {value}"));
        }
        for shown in &self.shown {
            page.heading(&safe(&place(&shown.source, shown.line, shown.item)), true);
            for (name, value) in &shown.fields {
                page.text(name, value);
            }
        }
        page.out
    }
}

struct Page {
    out: String,
    heading: anstyle::Style,
}

impl Page {
    fn heading(&mut self, title: &str, is_wanted: bool) {
        if is_wanted {
            let style = self.heading;
            let _infallible = writeln!(self.out, "\n{style}{title}{style:#}");
        }
    }

    /// A field with its whole value, which may have several lines.
    fn text(&mut self, name: &str, value: &str) {
        let mut lines = value.lines();
        let first = lines.next().unwrap_or_default();
        let is_one = value.lines().count() <= 1;
        let _infallible = match is_one {
            true => writeln!(self.out, "{}", guard_line(&safe(&format!("  {name:<18} {first}")))),
            false => writeln!(self.out, "{}", guard_line(&safe(&format!("  {name}")))),
        };
        for line in value.lines().filter(|_| !is_one) {
            let _infallible = writeln!(self.out, "{}", guard_line(&safe(&format!("    {line}"))));
        }
    }

    fn line(&mut self, text: &str) {
        let text = safe(text);
        let shown = clip(text.trim_end(), SHOWN_CHARS + 60);
        let _infallible = writeln!(self.out, "{}", guard_line(&shown));
    }
}
