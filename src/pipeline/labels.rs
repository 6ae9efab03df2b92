//! What people say of records: labels out of the log itself, or out of a file beside it.
//!
//! A label is 0 or 1, false or true, no or yes, as a number, a truth value or a text; null and a missing label are no
//! label. Anything else is an error that names the line, because a label that is misread spoils everything that is
//! fitted on it.
//!
//! - [`Labels::of_log`]: from a member of each record, with what groups it and its labelled spans
//! - [`LabelEntry`]: one line of the file that `llmverify label` writes; [`Labels::of_entries`] joins such a file to a
//!   log by place, unless another id stands there now, and else by id, where only one record and one label have it
//!
//! **Limits**: of a unit that is not strict JSON nothing is read here, so that its records count as unlabelled.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use crate::{
    engines::Question,
    input::{Content, Reader},
    record::json::Json,
    report::verdict_record::{Identity, place},
};

/// The group of a record that has nothing where its group should stand.
pub const NO_GROUP: &str = "(none)";
/// What stands between the parts of a group that is made of several fields.
const GROUP_SEPARATOR: &str = " / ";

/// Where labels and groups stand in a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelFields {
    /// Name or JSON Pointer of the label.
    pub label: String,
    /// Names or JSON Pointers of what results are shown by; empty for no groups.
    pub by: Vec<String>,
    /// Of what records must not be parted by; empty when every record stands for itself.
    pub group: Vec<String>,
    /// Of the strata within which records are compared; empty for none.
    pub within: Vec<String>,
}

/// What is known of one record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Label {
    /// Whether the answer is yes.
    pub is_positive: bool,
    /// What results are shown by.
    pub by: Option<String>,
    /// What it must not be parted from.
    pub group: Option<String>,
    /// The stratum within which it is compared.
    pub within: Option<String>,
    /// Labelled spans of the response, in code points.
    pub spans: Option<Vec<Range<usize>>>,
}

/// A line of the file that `llmverify label` writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelEntry {
    /// Name and version of this object's format.
    pub schema: LabelSchema,
    /// The source of the record.
    pub source: String,
    /// Line on which it begins, from 1.
    pub line: u64,
    /// Position among the records of that line, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(default)]
    pub item: Option<u32>,
    /// Its own id, if it has one.
    pub id: Option<String>,
    /// The question that was answered.
    pub question: Question,
    /// 1 for yes, 0 for no.
    pub label: u8,
}

/// Name and version of the format of [`LabelEntry`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LabelSchema {
    /// The first version.
    #[default]
    #[serde(rename = "llmverify.label/1")]
    V1,
}

/// The labels of a log.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    by_place: BTreeMap<(String, u64, Option<u32>), Placed>,
    /// The place of each id; `None` for one that several places have.
    by_id: BTreeMap<String, Option<(String, u64, Option<u32>)>>,
    /// Records that were read and have no label.
    pub unlabelled: u64,
    /// Labels that gave way to a later one of the same place.
    pub answered_again: u64,
}

/// A label, with the id that its record had.
#[derive(Clone, Debug)]
struct Placed {
    id: Option<String>,
    label: Label,
}

impl Labels {
    /// How many labels there are.
    pub fn len(&self) -> usize {
        self.by_place.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is known of the record at this place, unless the label is of a record with another id.
    pub fn at(&self, record: &Identity<'_>) -> Option<&Label> {
        let placed = self.by_place.get(&(record.source.to_owned(), record.line, record.item))?;
        let is_other = placed.id.as_deref().zip(record.id).is_some_and(|(label, record)| label != record);
        (!is_other).then_some(&placed.label)
    }

    /// Whether a label has this id.
    pub fn knows(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    /// What is known of the one record with this id; `None` also when labels of several places have it.
    pub fn of_id(&self, id: &str) -> Option<&Label> {
        let place = self.by_id.get(id)?.as_ref()?;
        self.by_place.get(place).map(|placed| &placed.label)
    }

    /// Reads the labels that stand in the records of `input`.
    ///
    /// # Errors
    /// When a label is none; the message names the line. When no record has a field that is asked for.
    pub fn of_log(input: &mut Reader, fields: &LabelFields) -> Result<Labels> {
        let mut labels = Labels::default();
        let asked = [("--by", &fields.by), ("--group", &fields.group), ("--within", &fields.within)];
        let mut missing: BTreeSet<(&str, &str)> = BTreeSet::new();
        for (option, names) in asked {
            missing.extend(names.iter().map(|name| (option, name.as_str())));
        }
        while let Some(batch) = input.next_batch() {
            for unit in &batch.units {
                let Content::Text(range) = &unit.content else { continue };
                let Ok(tree) = Json::parse(trimmed(&batch.bytes[range.clone()])) else { continue };
                let records = tree.as_array().unwrap_or(std::slice::from_ref(&tree));
                missing.retain(|(_, name)| !records.iter().any(|record| find(record, name).is_some()));
                match &tree {
                    Json::Array(elements) => {
                        for (element, item) in elements.iter().zip(0..) {
                            labels.note(element, fields, (batch.source.to_string(), unit.line, Some(item)))?;
                        }
                    }
                    object => labels.note(object, fields, (batch.source.to_string(), unit.line, unit.item))?,
                }
            }
        }
        let has_records = !labels.is_empty() || labels.unlabelled > 0;
        if let Some((option, name)) = missing.first().filter(|_| has_records) {
            bail!("{option} {name}: no record has such a member");
        }
        Ok(labels)
    }

    fn note(&mut self, record: &Json<'_>, fields: &LabelFields, at: (String, u64, Option<u32>)) -> Result<()> {
        let Some(is_positive) = find(record, &fields.label).and_then(|value| label(value).transpose()) else {
            self.unlabelled += 1;
            return Ok(());
        };
        let is_positive = match is_positive {
            Ok(is_positive) => is_positive,
            Err(found) => {
                bail!("{}: {} is {found}, not 0 or 1 (or false or true)", place(&at.0, at.1, at.2), fields.label)
            }
        };
        let spans = record.get("spans").and_then(spans);
        let [by, group, within] = [&fields.by, &fields.group, &fields.within].map(|names| joined(record, names));
        self.by_place.insert(at, Placed { id: None, label: Label { is_positive, by, group, within, spans } });
        Ok(())
    }

    /// The labels of `entries` for one question. Of two for one place the later one counts.
    pub fn of_entries(entries: &[LabelEntry], question: Question) -> Labels {
        let mut labels = Labels::default();
        for entry in entries.iter().filter(|entry| entry.question == question) {
            let label = Label { is_positive: entry.label == 1, ..Label::default() };
            let place = (entry.source.clone(), entry.line, entry.item);
            let placed = Placed { id: entry.id.clone(), label };
            labels.answered_again += u64::from(labels.by_place.insert(place, placed).is_some());
        }
        for (place, placed) in &labels.by_place {
            let Some(id) = placed.id.clone() else { continue };
            labels.by_id.entry(id).and_modify(|known| *known = None).or_insert_with(|| Some(place.clone()));
        }
        labels
    }
}

impl LabelEntry {
    /// Reads the lines of `text`, which stands in `file`.
    ///
    /// # Errors
    /// When a line is none that `llmverify label` writes; the message names it.
    pub fn parse_lines(file: &str, text: &str) -> Result<Vec<LabelEntry>> {
        let mut entries = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            if line.trim().is_empty() {
                continue;
            }
            let entry: LabelEntry = match serde_json::from_str(line) {
                Ok(entry) => entry,
                Err(error) => bail!("{file}:{number}: not a label as `llmverify label` writes it: {error}"),
            };
            if entry.label > 1 {
                bail!("{file}:{number}: label is {}, not 0 or 1", entry.label);
            }
            entries.push(entry);
        }
        Ok(entries)
    }
}

fn trimmed(unit: &[u8]) -> &[u8] {
    unit.strip_prefix(b"\xef\xbb\xbf").unwrap_or(unit).trim_ascii()
}

/// The value at a JSON Pointer, or at a path of names with points between them.
fn find<'t, 'a>(record: &'t Json<'a>, name: &str) -> Option<&'t Json<'a>> {
    if name.starts_with('/') {
        return record.pointer(name);
    }
    record.get(name).or_else(|| name.split('.').try_fold(record, |value, key| value.get(key)))
}

/// Yes, no, or no label; what stands there instead, when it is none of them.
fn label(value: &Json<'_>) -> Result<Option<bool>, String> {
    if value.is_null() {
        return Ok(None);
    }
    let found = match value {
        Json::Bool(flag) => return Ok(Some(*flag)),
        Json::String(text) => text.trim().to_ascii_lowercase(),
        number => number.as_f64().map_or_else(|| number.type_name().to_owned(), |number| number.to_string()),
    };
    match found.as_str() {
        "1" | "true" | "yes" => Ok(Some(true)),
        "0" | "false" | "no" => Ok(Some(false)),
        "" | "null" => Ok(None),
        _ if matches!(value, Json::String(_)) => Err("a text".to_owned()),
        _ => Err(found),
    }
}

/// The values of several fields as one name; `None` when no field is asked for.
fn joined(record: &Json<'_>, names: &[String]) -> Option<String> {
    let shown = |name: &String| match find(record, name) {
        Some(Json::String(text)) => text.to_string(),
        Some(Json::Null) | None => NO_GROUP.to_owned(),
        Some(value) => value.to_compact_string(),
    };
    (!names.is_empty()).then(|| names.iter().map(shown).collect::<Vec<_>>().join(GROUP_SEPARATOR))
}

/// `[[start, end, ...], ...]`; `None` when it is anything else.
fn spans(value: &Json<'_>) -> Option<Vec<Range<usize>>> {
    let at = |value: &Json<'_>| value.as_number()?.as_integer().and_then(|number| usize::try_from(number).ok());
    let span = |span: &Json<'_>| match span.as_array()? {
        [start, end, ..] => Some(at(start)?..at(end)?),
        _ => None,
    };
    value.as_array()?.iter().map(span).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Limits;

    fn fields() -> LabelFields {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        LabelFields {
            label: "label".to_owned(),
            by: names(&["meta.dataset"]),
            group: names(&["/meta/source", "id"]),
            within: Vec::new(),
        }
    }

    fn read(log: &str) -> Result<Labels> {
        let mut input = Reader::from_stream("log", std::io::Cursor::new(log.as_bytes().to_vec()), Limits::default());
        Labels::of_log(&mut input, &fields())
    }

    fn identity(line: u64, item: Option<u32>, id: Option<&str>) -> Identity<'_> {
        Identity { source: "log", line, item, id, ..Identity::default() }
    }

    #[test]
    fn labels_groups_and_spans_are_read() {
        let log = concat!(
            "{\"id\": \"a\", \"response\": \"x\", \"label\": 1, \"meta\": {\"dataset\": \"d\", \"source\": 7}, \"spans\": [[0, 1, \"t\"]]}\n",
            "{\"response\": \"x\", \"label\": false}\n",
            "{\"response\": \"x\", \"label\": null}\n",
            "{\"response\": \"x\"}\n",
            "not JSON\n",
            "[{\"response\": \"x\", \"label\": \"yes\"}, {\"response\": \"y\", \"label\": \"0\"}]\n",
        );
        let labels = read(log).unwrap();
        assert_eq!((labels.len(), labels.unlabelled), (4, 2));
        let first = labels.at(&identity(1, None, Some("a"))).unwrap();
        assert!(first.is_positive);
        assert_eq!((first.by.as_deref(), first.group.as_deref()), (Some("d"), Some("7 / a")));
        assert_eq!(first.spans.as_deref().map(<[_]>::len), Some(1));
        let second = labels.at(&identity(2, None, None)).unwrap();
        assert_eq!((second.is_positive, second.by.as_deref()), (false, Some(NO_GROUP)));
        assert!(labels.at(&identity(3, None, None)).is_none());
    }

    #[test]
    fn a_label_that_is_none_is_named_with_its_line() {
        for (label, expected) in [
            ("\"maybe\"", "log:2: label is a text, not 0 or 1"),
            ("2", "log:2: label is 2, not"),
            ("0.5", "log:2: label is 0.5, not"),
            ("[1]", "log:2: label is an array, not"),
        ] {
            let log = format!("{{\"response\": \"x\", \"label\": 1}}\n{{\"response\": \"x\", \"label\": {label}}}\n");
            let error = read(&log).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_field_that_no_record_has_is_named() {
        let log =
            "{\"response\": \"x\", \"label\": 1, \"meta\": {\"dataset\": \"d\", \"source\": null}}\n{\"id\": 7}\n";
        assert!(read(log).is_ok());
        for (without, expected) in [("dataset", "--by meta.dataset: no"), ("source", "--group /meta/source: no")] {
            let error = read(&log.replace(without, "other")).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        assert!(read("").is_ok());
    }

    #[test]
    fn entries_are_joined_by_place_else_by_an_id_of_their_own() {
        let text = concat!(
            "{\"schema\":\"llmverify.label/1\",\"source\":\"log\",\"line\":3,\"id\":\"a\",\"question\":\"fabricated\",\"label\":1}\n\n",
            "{\"schema\":\"llmverify.label/1\",\"source\":\"log\",\"line\":4,\"item\":1,\"id\":null,\"question\":\"fabricated\",\"label\":0}\n",
            "{\"schema\":\"llmverify.label/1\",\"source\":\"log\",\"line\":5,\"id\":null,\"question\":\"attacked\",\"label\":0}\n",
        );
        let entries = LabelEntry::parse_lines("labels.jsonl", text).unwrap();
        assert_eq!(entries.len(), 3);
        let labels = Labels::of_entries(&entries, Question::Fabricated);
        assert_eq!(labels.len(), 2);
        assert!(labels.at(&identity(3, None, Some("a"))).is_some_and(|label| label.is_positive));
        assert!(labels.at(&identity(4, Some(1), None)).is_some_and(|label| !label.is_positive));
        assert!(labels.at(&identity(5, None, None)).is_none());
        // An id goes where its record goes, and its place is another's then.
        assert!(labels.of_id("a").is_some_and(|label| label.is_positive));
        assert!(labels.at(&identity(9, None, Some("a"))).is_none());
        assert!(labels.at(&identity(3, None, Some("b"))).is_none());
    }

    #[test]
    fn ids_of_several_labels_join_nothing_and_the_last_answer_counts() {
        let entry = |line: u64, id: &str, label: u8| LabelEntry {
            schema: LabelSchema::V1,
            source: "log".to_owned(),
            line,
            item: None,
            id: Some(id.to_owned()),
            question: Question::Fabricated,
            label,
        };
        let entries = [entry(1, "a", 1), entry(2, "a", 0), entry(3, "b", 1), entry(3, "b", 0)];
        let labels = Labels::of_entries(&entries, Question::Fabricated);
        assert_eq!((labels.len(), labels.answered_again), (3, 1));
        for (line, id, expected) in [(1, "a", true), (2, "a", false), (3, "b", false)] {
            assert_eq!(labels.at(&identity(line, None, Some(id))).map(|label| label.is_positive), Some(expected));
        }
        assert!(labels.knows("a") && labels.of_id("a").is_none());
        assert_eq!(labels.of_id("b").map(|label| label.is_positive), Some(false));
    }

    #[test]
    fn a_line_that_is_no_label_is_named() {
        let error = LabelEntry::parse_lines("l.jsonl", "\n{\"label\": 1}\n").unwrap_err().to_string();
        assert!(error.starts_with("l.jsonl:2: not a label"), "{error}");
        let wrong = "{\"schema\":\"llmverify.label/1\",\"source\":\"a\",\"line\":1,\"id\":null,\"question\":\"leaking\",\"label\":7}";
        assert!(LabelEntry::parse_lines("l.jsonl", wrong).unwrap_err().to_string().contains("label is 7"));
    }
}
