//! What the log was written by: records by format, units that hold no call by name, and what was noted of records.
//!
//! All counts are integers and the first place of each is kept, so that parts merge in input order like the rest of the
//! report.
//!
//! **Limits**: the names come from fixed tables, which bounds all three lists.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::verdict_record::place;

/// The names of a container and of the dialect of its bodies; the second is empty where there is none.
pub type Names = (&'static str, &'static str);

/// The container of logs that are written for us: a table has nothing to say of it.
const NATIVE: Names = ("native", "");

/// What some units add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formats {
    records: BTreeMap<Names, Count>,
    asides: BTreeMap<(Names, &'static str, bool), Count>,
    notes: BTreeMap<&'static str, Count>,
}

/// How many there are, and where the first stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Count {
    count: u64,
    source: String,
    line: u64,
}

impl Count {
    fn one(&mut self, source: &str, line: u64) {
        if self.count == 0 {
            (self.source, self.line) = (source.to_owned(), line);
        }
        self.count += 1;
    }

    fn merge(&mut self, next: Count) {
        let count = self.count + next.count;
        if self.count == 0 {
            *self = next;
        }
        self.count = count;
    }
}

impl Formats {
    /// Counts a record with what was noted of it.
    pub fn record(&mut self, format: Names, notes: impl Iterator<Item = &'static str>, source: &str, line: u64) {
        self.records.entry(format).or_default().one(source, line);
        for note in notes {
            self.notes.entry(note).or_default().one(source, line);
        }
    }

    /// Counts a unit that holds no call.
    pub fn aside(&mut self, format: Names, what: &'static str, is_parent: bool, source: &str, line: u64) {
        self.asides.entry((format, what, is_parent)).or_default().one(source, line);
    }

    /// Adds what follows in the input.
    pub fn merge(&mut self, next: Formats) {
        next.records.into_iter().for_each(|(key, count)| self.records.entry(key).or_default().merge(count));
        next.asides.into_iter().for_each(|(key, count)| self.asides.entry(key).or_default().merge(count));
        next.notes.into_iter().for_each(|(key, count)| self.notes.entry(key).or_default().merge(count));
    }

    /// The lists, the most frequent first, then by name.
    pub fn summary(&self) -> FormatSummary {
        let total = self.records.values().map(|count| count.count).sum::<u64>();
        let mut records: Vec<FormatEntry> =
            self.records.iter().map(|(name, count)| entry(*name, count, total)).collect();
        records.sort_by_key(|entry| std::cmp::Reverse(entry.records));
        let no_call = self.asides.iter().map(|((name, what, is_parent), count)| NoCallEntry {
            format: joined(*name),
            what: (*what).to_owned(),
            counted_as: if *is_parent { "parent" } else { "skipped" },
            units: count.count,
            source: count.source.clone(),
            line: count.line,
        });
        let mut no_call: Vec<NoCallEntry> = no_call.collect();
        no_call.sort_by_key(|entry| std::cmp::Reverse(entry.units));
        let notes = self.notes.iter().map(|(note, count)| NoteEntry {
            note: (*note).to_owned(),
            records: count.count,
            source: count.source.clone(),
            line: count.line,
        });
        FormatSummary { records, no_call, notes: notes.collect() }
    }
}

/// What the log was written by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FormatSummary {
    /// Audited records by format, the most frequent first.
    pub records: Vec<FormatEntry>,
    /// Units that were recognised and hold no call of their own.
    pub no_call: Vec<NoCallEntry>,
    /// What was noted of records that could be used all the same.
    pub notes: Vec<NoteEntry>,
}

/// Records of one format.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FormatEntry {
    /// Its container, with the dialect of the bodies: `native`, `otlp+openinference`.
    pub name: String,
    /// Audited records.
    pub records: u64,
    /// Their share of all audited records.
    pub share: f64,
    /// The source of the first.
    pub source: String,
    /// The line of the first.
    pub line: u64,
}

/// Units of one kind that hold no call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NoCallEntry {
    /// Their format.
    pub format: String,
    /// What they are, as a noun.
    pub what: String,
    /// Where the ledger counts them: `parent` or `skipped`.
    pub counted_as: &'static str,
    /// How many.
    pub units: u64,
    /// The source of the first.
    pub source: String,
    /// The line of the first.
    pub line: u64,
}

/// Records with one note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NoteEntry {
    /// Its name.
    pub note: String,
    /// How many.
    pub records: u64,
    /// The source of the first.
    pub source: String,
    /// The line of the first.
    pub line: u64,
}

impl FormatSummary {
    /// One line for people; `None` when there is nothing to say but that the records are in our own form.
    pub fn line(&self) -> Option<String> {
        let is_native = |entry: &FormatEntry| entry.name == joined(NATIVE);
        if self.records.iter().all(is_native) && self.no_call.is_empty() && self.notes.is_empty() {
            return None;
        }
        let mut parts: Vec<String> =
            self.records.iter().map(|entry| format!("{} {}", entry.records, entry.name)).collect();
        parts.extend(self.no_call.iter().map(|entry| format!("{} {} ({})", entry.units, entry.what, entry.format)));
        parts.extend(self.notes.iter().map(|entry| format!("{} noted {}", entry.records, entry.note)));
        Some(format!("formats: {}", parts.join(", ")))
    }

    /// Where the first record of a format stands.
    pub fn place_of(entry: &FormatEntry) -> String {
        place(&entry.source, entry.line, None)
    }
}

fn entry(name: Names, count: &Count, total: u64) -> FormatEntry {
    FormatEntry {
        name: joined(name),
        records: count.count,
        share: count.count as f64 / total.max(1) as f64,
        source: count.source.clone(),
        line: count.line,
    }
}

fn joined((container, dialect): Names) -> String {
    if dialect.is_empty() { container.to_owned() } else { format!("{container}+{dialect}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(records: &[(Names, u64)]) -> Formats {
        let mut formats = Formats::default();
        for (name, line) in records {
            formats.record(*name, std::iter::empty(), "log", *line);
        }
        formats
    }

    #[test]
    fn parts_merge_to_the_whole_and_keep_the_first_place() {
        let (a, b) = (("otlp", "genai"), ("native", ""));
        let mut merged = of(&[(a, 1), (b, 2)]);
        merged.merge(of(&[(b, 3), (b, 4)]));
        assert_eq!(merged, of(&[(a, 1), (b, 2), (b, 3), (b, 4)]));
        let summary = merged.summary();
        let shown: Vec<(&str, u64, u64)> =
            summary.records.iter().map(|entry| (entry.name.as_str(), entry.records, entry.line)).collect();
        assert_eq!(shown, [("native", 3, 2), ("otlp+genai", 1, 1)]);
        assert_eq!(summary.line().unwrap(), "formats: 3 native, 1 otlp+genai");
    }

    #[test]
    fn our_own_form_alone_is_not_worth_a_line() {
        let mut formats = of(&[(NATIVE, 1)]);
        assert_eq!(formats.summary().line(), None);
        formats.aside(("otlp", ""), "metrics", false, "log", 2);
        formats.record(NATIVE, ["redacted"].into_iter(), "log", 3);
        assert_eq!(formats.summary().line().unwrap(), "formats: 2 native, 1 metrics (otlp), 1 noted redacted");
    }
}
