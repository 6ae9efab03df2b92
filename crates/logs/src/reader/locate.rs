//! Where the record is in a value that is none itself: whatever log systems, exports and interfaces put around it.
//!
//! The record is the shallowest object that is a call, at most [`DEPTH_MAX`] objects deep: through arrays, and through
//! strings that hold JSON ([`packed`](super::packed)), under whatever keys. All objects of that depth that are calls are
//! records, in their order. An object with texts comes before one of which only model and times are known, also where it
//! stands deeper: the one lends the other what it lacks. A list of names and values, and a table that is kept by
//! columns, is rows. In a list that begins with a moment (`[1795187000.1, {...}]`) that is the time of what follows.
//!
//! What stands around a record says when, where and how loud it was logged, and where it holds but one record also its id,
//! session, model, times and token counts, as far as the record lacks them.
//!
//! **Limits**: [`DEPTH_MAX`]; columns of at most [`ROWS_MAX`] rows.

use std::{borrow::Cow, rc::Rc};

use super::packed::{self, Budget};
use crate::record::{fields, json::Json, values};

/// Objects that may stand around a record.
pub const DEPTH_MAX: usize = 4;

/// Rows that a table by columns may have.
const ROWS_MAX: usize = 65_536;

type Entries<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// What stands around a value: the wrapper itself without what it wraps, and what stands around that.
#[derive(Debug)]
pub(super) struct Around<'a> {
    pub entries: Entries<'a>,
    pub outer: Option<Rc<Around<'a>>>,
}

/// Where a value stands in what is around it.
#[derive(Clone, Debug, Default)]
pub(super) struct Place<'a> {
    /// The object that it stands in.
    pub around: Option<Rc<Around<'a>>>,
    /// Whether it stands there alone below its key, and not in a list.
    is_alone: bool,
}

impl Place<'_> {
    /// Whether two values are those of two keys of one object.
    pub fn is_beside(&self, other: &Place<'_>) -> bool {
        let is_same = match (&self.around, &other.around) {
            (Some(one), Some(other)) => std::ptr::eq(Rc::as_ptr(one).cast::<()>(), Rc::as_ptr(other).cast()),
            _ => false,
        };
        is_same && self.is_alone && other.is_alone
    }
}

/// A value that may be a record.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    pub value: Json<'a>,
    pub place: Place<'a>,
}

/// An object in a value, and the moment that stands before it in a list.
struct Inner<'a> {
    value: Json<'a>,
    time: Option<Json<'a>>,
}

impl<'a> Inner<'a> {
    /// The object as a candidate at a place.
    fn candidate(self, place: Place<'a>) -> Candidate<'a> {
        let Some(time) = self.time else { return Candidate { value: self.value, place } };
        let around = Around { entries: vec![("timestamp".into(), time)], outer: place.around };
        Candidate { value: self.value, place: Place { around: Some(Rc::new(around)), is_alone: false } }
    }
}

/// The objects of a value.
pub(super) fn candidates<'a>(value: Json<'a>, budget: &Budget) -> Vec<Candidate<'a>> {
    let mut found = Vec::new();
    objects(value, None, budget, &mut found);
    found.into_iter().map(|inner| inner.candidate(Place::default())).collect()
}

/// The objects one level below some others, which are taken apart.
pub(super) fn below<'a>(candidates: Vec<Candidate<'a>>, budget: &Budget) -> Vec<Candidate<'a>> {
    let mut next = Vec::new();
    for Candidate { value, place } in candidates {
        let Json::Object(entries) = value else { continue };
        match rows(entries) {
            Ok(rows) => {
                let row = |value| Candidate { value, place: Place { is_alone: false, ..place.clone() } };
                next.extend(rows.into_iter().map(row));
            }
            Err(entries) => open(entries, place.around, budget, &mut next),
        }
    }
    next
}

/// The objects in the values of an object.
fn open<'a>(mut entries: Entries<'a>, outer: Option<Rc<Around<'a>>>, budget: &Budget, next: &mut Vec<Candidate<'a>>) {
    let (mut found, mut alone) = (Vec::new(), Vec::new());
    for (_, value) in &mut entries {
        let before = found.len();
        match value {
            Json::Object(_) | Json::Array(_) => objects(std::mem::take(value), None, budget, &mut found),
            Json::String(text) => {
                let opened = budget.unpack(text, |inner| objects(inner, None, budget, &mut found));
                if opened.is_some() {
                    *value = Json::Null;
                }
            }
            _ => {}
        }
        let is_alone = found.len() == before + 1;
        alone.extend((before..found.len()).map(|_| is_alone));
    }
    if found.is_empty() {
        return;
    }
    let around = Rc::new(Around { entries, outer });
    let place = |is_alone| Place { around: Some(around.clone()), is_alone };
    next.extend(found.into_iter().zip(alone).map(|(inner, is_alone)| inner.candidate(place(is_alone))));
}

/// The objects of a value, through arrays and strings that hold JSON; `time` is the moment that stands before it.
fn objects<'a>(value: Json<'a>, time: Option<&Json<'a>>, budget: &Budget, found: &mut Vec<Inner<'a>>) {
    match value {
        Json::Array(items) => match row_of_pairs(items) {
            Ok(value) => found.push(Inner { value, time: time.cloned() }),
            Err(items) => {
                if let Some(text) = packed::text_of_bytes(&items) {
                    return objects(Json::String(text.into()), time, budget, found);
                }
                let own = moment_of(&items);
                let time = own.as_ref().or(time);
                items.into_iter().skip(usize::from(own.is_some())).for_each(|item| objects(item, time, budget, found));
            }
        },
        Json::String(text) => {
            budget.unpack(&text, |inner| objects(inner, time, budget, found));
        }
        Json::Object(entries) if is_by_index(&entries) => match rows(entries) {
            Ok(rows) => found.extend(rows.into_iter().map(|value| Inner { value, time: time.cloned() })),
            Err(entries) => found.push(Inner { value: Json::Object(entries), time: time.cloned() }),
        },
        object @ Json::Object(_) => found.push(Inner { value: object, time: time.cloned() }),
        _ => {}
    }
}

/// The moment with which a list begins: `[1795187000.1, {...}]` of Fluent Bit and `["1795187000000000000", "..."]` of Loki;
/// newer ones of Fluent Bit have an object beside the moment.
fn moment_of<'a>(items: &[Json<'a>]) -> Option<Json<'a>> {
    /// Earlier ones are counts.
    const EARLIEST_MS: i64 = 946_684_800_000;
    let [first, _, ..] = items else { return None };
    let first = match first {
        Json::Array(pair) if matches!(pair.as_slice(), [_, Json::Object(entries)] if entries.is_empty()) => &pair[0],
        other => other,
    };
    let is_scalar = matches!(first, Json::Number(_) | Json::String(_));
    (is_scalar && values::moment_ms(first).is_some_and(|ms| ms >= EARLIEST_MS)).then(|| first.clone())
}

/// Whether a value is a table that is kept by columns, each an object of values by index, as pandas writes it.
pub(super) fn is_table_by_index(value: &Json<'_>) -> bool {
    value.as_object().is_some_and(is_by_index)
}

fn is_by_index(entries: &[(Cow<'_, str>, Json<'_>)]) -> bool {
    let is_index = |value: &Json<'_>| {
        let cells = value.as_object().unwrap_or_default();
        !cells.is_empty()
            && cells.iter().all(|(key, _)| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit()))
    };
    entries.len() > 1 && entries.iter().all(|(_, value)| is_index(value)) && column_rows(entries).is_some()
}

/// `[{"field": "@message", "value": ...}, ...]` as one object.
fn row_of_pairs(items: Vec<Json<'_>>) -> Result<Json<'_>, Vec<Json<'_>>> {
    const NAMES: [&str; 5] = ["field", "name", "key", "column", "Name"];
    const VALUES: [&str; 2] = ["value", "Value"];
    let name_of = |item: &Json<'_>| {
        let name = NAMES.iter().find_map(|key| item.get(key)?.as_str())?;
        VALUES.iter().any(|key| item.get(key).is_some()).then(|| name.to_owned())
    };
    let is_pair =
        |item: &Json<'_>| item.as_object().is_some_and(|entries| entries.len() <= 3) && name_of(item).is_some();
    if items.is_empty() || !items.iter().all(is_pair) {
        return Err(items);
    }
    let pairs = items.into_iter().filter_map(|mut item| {
        let name = name_of(&item)?;
        let value = VALUES.iter().find_map(|key| item.take(key)).unwrap_or_default();
        Some((name.into(), value))
    });
    Ok(Json::Object(pairs.collect()))
}

/// The rows of a table in one object: lists of values by column (or objects of values by index), or lists of values by row
/// beside the names of the columns.
fn rows(mut entries: Entries<'_>) -> Result<Vec<Json<'_>>, Entries<'_>> {
    if let Some((names, rows)) = split_table(&entries) {
        let names = std::mem::take(&mut entries[names].1);
        let rows = std::mem::take(&mut entries[rows].1);
        return Ok(rows_of_split(names, rows));
    }
    let Some(count) = column_rows(&entries) else { return Err(entries) };
    let mut rows: Vec<Entries<'_>> = (0..count).map(|_| Vec::with_capacity(entries.len())).collect();
    for (name, column) in entries {
        let cells: Vec<Json<'_>> = match column {
            Json::Array(cells) => cells,
            Json::Object(cells) => cells.into_iter().map(|(_, cell)| cell).collect(),
            _ => Vec::new(),
        };
        for (row, cell) in rows.iter_mut().zip(cells) {
            row.push((name.clone(), cell));
        }
    }
    Ok(rows.into_iter().map(Json::Object).collect())
}

/// How many rows a table by columns has; `None` for anything else. One of the columns must have a name that is known.
fn column_rows(entries: &[(Cow<'_, str>, Json<'_>)]) -> Option<usize> {
    let cells = |value: &Json<'_>| match value {
        Json::Array(cells) => Some(cells.len()),
        Json::Object(cells) => {
            let is_index = |(key, _): &(Cow<'_, str>, Json<'_>)| key.bytes().all(|byte| byte.is_ascii_digit());
            cells.iter().all(is_index).then_some(cells.len())
        }
        _ => None,
    };
    let count = cells(&entries.first()?.1).filter(|count| (1..=ROWS_MAX).contains(count))?;
    let is_known = |key: &str| !fields::meanings(key).is_empty();
    let is_table = entries.len() > 1
        && entries.iter().all(|(_, value)| cells(value) == Some(count) && is_alike(value, &entries[0].1))
        && entries.iter().any(|(key, _)| is_known(key));
    is_table.then_some(count)
}

/// Whether two columns have their cells under the same indices, in the same order: else nobody knows which belong together.
fn is_alike(one: &Json<'_>, other: &Json<'_>) -> bool {
    match (one.as_object(), other.as_object()) {
        (Some(one), Some(other)) => one.iter().map(|cell| &cell.0).eq(other.iter().map(|cell| &cell.0)),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// Where the names and the rows of a table stand in an object that keeps them apart.
fn split_table(entries: &Entries<'_>) -> Option<(usize, usize)> {
    const NAMES: [&str; 4] = ["columns", "fields", "header", "headers"];
    const ROWS: [&str; 4] = ["data", "rows", "values", "dataArray"];
    let place = |keys: &[&str]| entries.iter().position(|(key, _)| keys.contains(&key.as_ref()));
    let (names, rows) = (place(&NAMES)?, place(&ROWS)?);
    let is_name = |name: &Json<'_>| name.as_str().is_some() || name.get("name").is_some();
    let is_names = entries[names].1.as_array().is_some_and(|names| !names.is_empty() && names.iter().all(is_name));
    let is_rows = entries[rows].1.as_array().is_some_and(|rows| rows.iter().all(|row| row.as_array().is_some()));
    (is_names && is_rows).then_some((names, rows))
}

fn rows_of_split<'a>(names: Json<'a>, rows: Json<'a>) -> Vec<Json<'a>> {
    let (Json::Array(names), Json::Array(rows)) = (names, rows) else { return Vec::new() };
    let name_of = |mut name: Json<'a>| match name.take("name").unwrap_or(name) {
        Json::String(name) => name,
        other => other.to_compact_string().into(),
    };
    let names: Vec<Cow<'a, str>> = names.into_iter().map(name_of).collect();
    let row = |row: Json<'a>| match row {
        Json::Array(cells) => Json::Object(names.iter().cloned().zip(cells).collect()),
        other => other,
    };
    rows.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        reader::{Parsed, RecordReader},
        record::{Note, Record, json::tests::values},
    };

    /// The objects of a value, level by level.
    fn levels(value: &Value) -> Vec<Vec<Value>> {
        let text = value.to_string();
        let budget = Budget::default();
        let (mut found, mut levels) = (candidates(Json::parse(text.as_bytes()).unwrap(), &budget), Vec::new());
        while !found.is_empty() {
            levels.push(found.iter().map(|candidate| candidate.value.to_value()).collect());
            found = below(found, &budget);
        }
        levels
    }

    #[test]
    fn objects_are_found_level_by_level() {
        let check = |value: Value, expected: &[Value]| {
            let levels: Vec<Value> = levels(&value).into_iter().map(Value::from).collect();
            assert_eq!(levels, expected, "{value}");
        };
        let tree = json!({"a": {"b": 1}, "c": [{"d": {}}, [{"e": 3}], 4], "f": "{\"g\": [{\"h\": 5}]}", "i": "text {", "j": 6});
        let next = json!([{"b": 1}, {"d": {}}, {"e": 3}, {"g": [{"h": 5}]}]);
        check(tree.clone(), &[json!([tree]), next, json!([{}, {"h": 5}])]);
        check(json!([1, [{"a": 1}, "[{\"b\": 2}]"]]), &[json!([{"a": 1}, {"b": 2}])]);
        check(json!([[], "[]", "[1", 1, null]), &[]);
        // A text may hold JSON behind some words, or in base64; a list may be bytes.
        check(
            json!({"a": "INFO {\"b\": 1}", "c": "eyJkIjoyfQ==", "e": b"{\"f\":3}"}),
            &[
                json!([{"a": "INFO {\"b\": 1}", "c": "eyJkIjoyfQ==", "e": b"{\"f\":3}"}]),
                json!([{"b": 1}, {"d": 2}, {"f": 3}]),
            ],
        );
        // A list of names and values is one object.
        let pairs = json!([{"field": "@message", "value": "m"}, {"field": "@ptr", "value": "p"}]);
        check(pairs, &[json!([{"@message": "m", "@ptr": "p"}])]);
        check(json!([{"name": "a", "value": 1}, {"name": "b"}]), &[json!([{"name": "a", "value": 1}, {"name": "b"}])]);
    }

    #[test]
    fn tables_are_rows() {
        let rows = json!([{"prompt": "a", "response": "b"}, {"prompt": "c", "response": "d"}]);
        for table in [
            json!({"prompt": ["a", "c"], "response": ["b", "d"]}),
            json!({"columns": ["prompt", "response"], "index": [0, 1], "data": [["a", "b"], ["c", "d"]]}),
            json!({"fields": [{"name": "prompt", "type": "s"}, {"name": "response"}], "rows": [["a", "b"], ["c", "d"]]}),
        ] {
            assert_eq!(levels(&table).get(1).map(|level| Value::from(level.clone())), Some(rows.clone()), "{table}");
        }
        let by_index = json!({"prompt": {"0": "a", "1": "c"}, "response": {"0": "b", "1": "d"}});
        assert_eq!(Value::from(levels(&by_index)[0].clone()), rows);
        for other in [
            json!({"prompt": ["a", "c"], "response": ["b"]}),
            json!({"prompt": ["a", "c"]}),
            json!({"left": ["a", "c"], "right": ["b", "d"]}),
            json!({"prompt": [], "response": []}),
            json!({"prompt": {"0": "a"}, "response": {"x": "b"}}),
            json!({"columns": [], "data": [["a"]]}),
            json!({"columns": ["prompt"], "data": ["a"]}),
        ] {
            let found =
                levels(&other).into_iter().skip(1).flatten().any(|row| row["prompt"] == "a" || row["left"] == "a");
            assert!(!found, "{other}");
        }
    }

    /// What is read of a value: prompt and answer of each record.
    #[track_caller]
    fn read(value: &Value) -> Vec<Record<'static>> {
        let text = value.to_string();
        let outcomes = match RecordReader::default().read(text.as_bytes()) {
            Parsed::One(outcome) => vec![outcome],
            Parsed::Many(items) => items.into_iter().map(|item| item.outcome).collect(),
        };
        outcomes.into_iter().filter_map(|outcome| outcome.ok()?.into_owned().record()).collect()
    }

    fn prompts(records: &[Record<'_>]) -> Vec<String> {
        let texts = records.iter().map(|record| record.prompt.texts().map(|(_, text)| text).collect());
        texts.collect()
    }

    fn record() -> Value {
        json!({"prompt": "p", "response": "r"})
    }

    #[test]
    fn the_shallowest_records_are_those() {
        let deep = (0..DEPTH_MAX).fold(record(), |inner, _| json!({ "xx": inner }));
        let call = |prompt: &str| json!({"prompt": prompt, "response": "r"});
        for (value, expected) in [
            (json!({"xx": call("a")}), &["a"][..]),
            (json!({"xx": [call("a"), {"yy": call("b")}], "zz": call("c")}), &["a", "c"]),
            (json!({"xx": call("a"), "yy": {"zz": call("b")}}), &["a"]),
            (json!({"xx": call("a").to_string()}), &["a"]),
            (json!([{"xx": call("a")}, call("b")]), &["a", "b"]),
            (json!({"xx": [[call("a")], [call("b")]]}), &["a", "b"]),
            (deep.clone(), &["p"]),
            (json!({ "xx": deep }), &[]),
            (json!({"xx": {"event": "job_done", "result": {"ok": true}}}), &[]),
        ] {
            assert_eq!(prompts(&read(&value)), expected, "{value}");
        }
    }

    /// A pair of bodies in a text is neither of the two, however many envelopes there are around it.
    #[test]
    fn a_pair_in_an_envelope_is_a_pair() {
        let pair = json!({
            "request": {"model": "m", "messages": [{"role": "user", "content": "p"}]},
            "response": {"choices": [{"message": {"role": "assistant", "content": "r"}}]},
        });
        let notice = json!({"Type": "Notification", "MessageId": "1", "Message": pair.to_string()});
        for value in [
            json!({"messageId": "1", "body": pair.to_string()}),
            json!({"Body": notice.to_string(), "ReceiptHandle": "x"}),
            json!({"payload": {"before": null, "after": {"id": 1, "body": pair.to_string()}}}),
            json!({"awslogs": {"data": "eyJsb2dFdmVudHMiOlt7Im1lc3NhZ2UiOiJJTkZPIHtcInByb21wdFwiOlwicFwiLFwicmVzcG9uc2VcIjpcInJcIn0ifV19"}}),
        ] {
            let records = read(&value);
            assert_eq!(prompts(&records), ["p"], "{value}");
            assert_eq!(records[0].response.as_deref(), Some("r"), "{value}");
        }
    }

    #[test]
    fn a_list_may_begin_with_a_moment() {
        let at = |value: &Value| {
            let records = read(value);
            let times: Vec<Option<i64>> = records.iter().map(|record| record.timestamp_ms).collect();
            times
        };
        let ms = Some(1_795_187_000_000);
        for (value, expected) in [
            (json!([1_795_187_000, record()]), &[ms][..]),
            (json!([[1_795_187_000.0, record()], [1_795_187_000, {"log": record().to_string()}]]), &[ms, ms]),
            (json!([[[1_795_187_000, {}], record()]]), &[ms]),
            (json!(["kube.api", [[1_795_187_000, record()]], {"size": 1}]), &[ms]),
            (json!({"stream": {}, "values": [["1795187000000000000", record().to_string(), {"trace": "t"}]]}), &[ms]),
            (json!({"xx": ["2026-11-20T15:03:20Z", record()]}), &[ms]),
            (json!({"xx": [3, record()]}), &[None]),
        ] {
            assert_eq!(at(&value), expected, "{value}");
        }
    }

    #[test]
    fn what_stands_around_says_when_and_where() {
        let time = "2026-01-01T00:00:00Z";
        let of_one = read(&json!({"time": time, "level": "info", "session_id": "s", "model": "m", "xx": record()}));
        let [one] = of_one.as_slice() else { panic!("{of_one:?}") };
        assert!(one.notes.has(Note::Wrapped));
        assert_eq!((one.timestamp_ms, one.level.as_deref()), (Some(1_767_225_600_000), Some("info")));
        assert_eq!((one.session_id.as_deref(), one.model.as_deref()), (Some("s"), Some("m")));
        // Of what several have around them it is not known whose it is, but when.
        let of_two = read(&json!({"time": time, "session_id": "s", "xx": [record(), record()]}));
        assert_eq!(of_two.len(), 2);
        assert!(of_two.iter().all(|one| one.timestamp_ms.is_some() && one.session_id.is_none()), "{of_two:?}");
        // What the record says itself counts.
        let own = read(&json!({"model": "other", "xx": {"prompt": "p", "response": "r", "model": "m"}}));
        assert_eq!(own[0].model.as_deref(), Some("m"));
    }

    #[test]
    fn what_stands_beside_a_record_is_what_is_known_of_it() {
        let usage = json!({"model": "m", "prompt_tokens": 7, "completion_tokens": 3});
        let beside = read(&json!({"xx": record(), "yy": usage}));
        assert_eq!(prompts(&beside), ["p"]);
        assert_eq!((beside[0].model.as_deref(), beside[0].prompt_tokens), (Some("m"), Some(7)));
        // In a list they are two.
        assert_eq!(read(&json!({"xx": [record(), usage]})).len(), 2);
        // Of two records with texts it is not known whose it is.
        assert_eq!(read(&json!({"xx": record(), "yy": record(), "zz": usage})).len(), 3);
    }

    /// What log systems put around a record, `shape` by `shape`.
    #[test]
    fn texts_further_down_come_before_what_has_none() {
        let told = json!({"zzz": {"prompt": "p", "response": "r"}});
        let found = read(&json!({"xxx": {"model": "m", "latency_ms": 5}, "yyy": told}));
        assert_eq!(prompts(&found), ["p"]);
        assert_eq!((found[0].model.as_deref(), found[0].latency_ms), (Some("m"), Some(5.0)));
        assert!(!found[0].notes.has(Note::HealthOnly));
        // Without texts anywhere it is what it is.
        let found = read(&json!({"xxx": {"model": "m", "latency_ms": 5}, "yyy": {"zzz": {"a": 1}}}));
        assert!(found.len() == 1 && found[0].notes.has(Note::HealthOnly), "{found:?}");
        // Of several nobody knows which is which.
        let silent = json!([{"model": "m", "latency_ms": 5}, {"model": "n", "latency_ms": 6}]);
        assert_eq!(read(&json!({"xxx": silent, "yyy": told})).len(), 3);
    }

    #[test]
    fn cells_of_columns_go_by_their_index() {
        let table = |prompts: Value, answers: Value| read(&json!({"prompt": prompts, "response": answers}));
        let found = table(json!({"0": "a", "1": "b"}), json!({"0": "for a", "1": "for b"}));
        assert_eq!(prompts(&found), ["a", "b"]);
        let found = table(json!({"0": "a", "1": "b"}), json!({"1": "for b", "0": "for a"}));
        assert!(found.iter().all(|record| record.response.as_deref() != Some("for b")), "{found:?}");
    }

    fn wrapped(inner: Value, shape: usize, key: &str) -> Value {
        match shape {
            0 => json!({ key: inner }),
            1 => json!({ "level": "info", key: inner, "n": 1 }),
            2 => json!({ key: inner.to_string() }),
            3 => json!({ key: [1, [inner], "text"] }),
            _ => json!({ key: [{}, inner, null] }),
        }
    }

    proptest! {
        #[test]
        fn a_record_is_found_whatever_is_around_it(shapes in prop::collection::vec((0usize..5, "[k-z]{3}[0-9]"), 0..=DEPTH_MAX)) {
            let value = shapes.iter().fold(record(), |inner, (shape, key)| wrapped(inner, *shape, key));
            let found = read(&value);
            prop_assert_eq!(prompts(&found), ["p"], "{}", value);
            prop_assert_eq!(found[0].response.as_deref(), Some("r"));
        }

        #[test]
        fn a_record_is_found_whatever_is_beside_it(other in values(), before in any::<bool>()) {
            let value = if before { json!({"kkk": other, "xxx": record()}) } else { json!({"xxx": record(), "kkk": other}) };
            prop_assert_eq!(prompts(&read(&value)), ["p"], "{}", value);
            read(&json!([other, value]));
        }

        /// A level has no more objects than the text has braces, and the levels end.
        #[test]
        fn any_value_is_taken_apart(value in values()) {
            let braces = value.to_string().matches('{').count();
            let levels = levels(&value);
            prop_assert!(levels.len() <= braces && levels.iter().all(|level| level.len() <= braces), "{}", value);
        }
    }
}
