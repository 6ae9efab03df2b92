//! Where the fields of a record stand in its unit: the leaves that have their values.
//!
//! No reader tells; a place is looked up. Of several leaves with the value of a field, one that is all of it comes before
//! one that ends with it (`openai/gpt-4o` for `gpt-4o`), one whose key sounds like the field before others, then one beside
//! the record's other fields (in the element of a list that holds the most of them), then one at the record's own position
//! in a list, then the one that is not so far down, then the first.
//!
//! **Limits**: [`LEAVES_MAX`] leaves a field are compared. A value that occurs twice under names that sound alike, in one
//! element of a list, may be placed at the other one.

use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use crate::record::{
    LatencySource, Record,
    json::{Json, Number},
    values::moment_ms,
};

/// Leaves with the value of one field that are compared.
const LEAVES_MAX: usize = 64;
/// Names up to this length are looked for behind a prefix.
const NAME_BYTES_MAX: usize = 128;
/// What a key sounds like is told by so much of it.
const KEY_BYTES: usize = 64;
/// JSON in strings is looked into so often.
const DECODED_MAX: usize = 2;
/// Nesting that is looked into.
const DEPTH_MAX: usize = 40;

/// Pointer, in which `*` is any index, and unit of a time.
pub(super) type Found = (String, Option<&'static str>);

/// A field whose place is looked for.
pub(super) struct Sought<'r> {
    /// Its name in the normal form.
    pub(super) field: &'static str,
    /// What keys sound like that hold it.
    pub(super) hints: &'static [&'static str],
    /// Its value.
    pub(super) value: Value<'r>,
}

/// What a field holds, as it is to be found in the unit.
pub(super) enum Value<'r> {
    Text(Cow<'r, str>),
    Number(f64),
    /// A length of time in milliseconds, from the log or computed.
    Time(f64),
    /// A moment, in milliseconds since 1970.
    Moment(i64),
    Json(&'r Json<'r>),
}

impl Value<'_> {
    /// The value, to be shown.
    pub(super) fn text(&self) -> String {
        match self {
            Value::Text(text) => text.to_string(),
            Value::Number(number) | Value::Time(number) => number.to_string(),
            Value::Moment(ms) => {
                jiff::Timestamp::from_millisecond(*ms).map_or_else(|_| ms.to_string(), |at| at.to_string())
            }
            Value::Json(json) => json.to_compact_string(),
        }
    }
}

/// What a record has under a field of the normal form.
pub(super) fn value_of<'r>(record: &'r Record<'r>, field: &str) -> Option<Value<'r>> {
    let text = |text: &'r Option<Cow<'r, str>>| text.as_deref().map(|text| Value::Text(text.into()));
    let number = |count: Option<u64>| count.map(|count| Value::Number(count as f64));
    match field {
        "id" => text(&record.id),
        "timestamp" => record.timestamp_ms.map(Value::Moment),
        "session_id" => text(&record.session_id),
        "model" => text(&record.model),
        "declared_model" => text(&record.declared_model),
        "provider" => text(&record.provider),
        "system" => text(&record.system),
        "prompt" => record.prompt.texts().find(|(_, text)| !text.is_empty()).map(|(_, text)| Value::Text(text.into())),
        "context" => record.context.first().map(|passage| Value::Text(passage.text.as_ref().into())),
        "response" => text(&record.response),
        "latency_ms" => record.latency_ms.map(Value::Time),
        "ttft_ms" => record.ttft_ms.map(Value::Time),
        "prompt_tokens" => number(record.prompt_tokens),
        "response_tokens" => number(record.response_tokens),
        "finish_reason" => text(&record.finish_reason),
        "error" => text(&record.error),
        "tool" => text(&record.tool),
        "args" => record.args.as_ref().map(Value::Json),
        "result" => record.result.as_ref().map(Value::Json),
        "execution_time_ms" => record.execution_time_ms.map(Value::Time),
        _ => None,
    }
}

/// Where the fields of a record stand in `unit`; `position` is that of the record there.
pub(super) fn places_of(
    unit: &Json<'_>,
    position: usize,
    sought: &[Sought<'_>],
    latency_source: Option<LatencySource>,
) -> Vec<Option<Found>> {
    let mut search = Search { sought, leaves: sought.iter().map(|_| Vec::new()).collect() };
    walk(unit, &mut |path, value| {
        search.compare(path, value);
        true
    });
    let leaves = search.leaves;
    let home = home_of(&leaves);
    let is_computed = latency_source == Some(LatencySource::StartAndEnd);
    let found = |(sought, leaves): (&Sought<'_>, &Vec<Leaf>)| {
        let is_latency = matches!(sought.field, "latency_ms" | "execution_time_ms");
        if is_latency && is_computed {
            return Some(("end - start".to_owned(), None));
        }
        let best = leaves.iter().rev().max_by_key(|leaf| leaf.rank(&home, position));
        let Some(best) = best else {
            let is_between = is_computed && sought.field == "ttft_ms";
            return is_between.then(|| ("first token - start".to_owned(), None));
        };
        let is_assumed = is_latency && latency_source == Some(LatencySource::Assumed);
        Some((best.pointer(), if is_assumed { Some("ms, assumed") } else { best.unit }))
    };
    sought.iter().zip(&leaves).map(found).collect()
}

/// The element of a list in which most fields of a record stand, the innermost of several; empty when none holds two.
fn home_of(fields: &[Vec<Leaf>]) -> Vec<Step> {
    let mut fields_in: BTreeMap<&[Step], usize> = BTreeMap::new();
    for leaves in fields {
        let elements: BTreeSet<&[Step]> = leaves.iter().filter(|leaf| leaf.fits).flat_map(Leaf::elements).collect();
        for element in elements {
            *fields_in.entry(element).or_default() += 1;
        }
    }
    let best =
        fields_in.into_iter().filter(|(_, fields)| *fields > 1).max_by_key(|(path, fields)| (*fields, path.len()));
    best.map(|(path, _)| path.to_vec()).unwrap_or_default()
}

/// A step on the way to a leaf.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Key(String),
    /// An element of a list, by its position; those of attributes by their key, too.
    Element(usize, Option<String>),
    /// Into JSON in a string.
    Inside,
}

/// A leaf with the value that is looked for.
#[derive(Debug)]
struct Leaf {
    path: Vec<Step>,
    /// Whether it is the value, and not a longer name that ends with it.
    is_whole: bool,
    /// Whether its key sounds like the field.
    fits: bool,
    unit: Option<&'static str>,
}

impl Leaf {
    /// How well it suits: as it stands, by its key, beside the other fields, at the record's position, not far down.
    fn rank(&self, home: &[Step], position: usize) -> ([bool; 4], Reverse<usize>) {
        let is_at_home = !home.is_empty() && self.path.starts_with(home);
        let is_there = self.path.iter().any(|step| matches!(step, Step::Element(at, None) if *at == position));
        ([self.is_whole, self.fits, is_at_home, is_there], Reverse(self.path.len()))
    }

    /// The ways to the elements of lists that it stands in.
    fn elements(&self) -> impl Iterator<Item = &[Step]> {
        let is_element = |at: &usize| matches!(self.path[*at], Step::Element(_, None));
        (0..self.path.len()).filter(is_element).map(|at| &self.path[..=at])
    }

    fn pointer(&self) -> String {
        pointer(&self.path)
    }
}

/// A way as people read it: `*` is any index, `→` goes into JSON in a string.
pub(super) fn pointer(path: &[Step]) -> String {
    path.iter().fold(String::new(), |pointer, step| match step {
        Step::Key(key) => pointer + "/" + key,
        Step::Element(_, Some(key)) => pointer + "/[" + key + "]",
        Step::Element(_, None) => pointer + "/*",
        Step::Inside => pointer + " →",
    })
}

/// Shows every value of a unit to `visit`, the outer before the inner, also those in strings that hold JSON; what is
/// below a value for which it says `false` is passed over.
pub(super) fn walk(unit: &Json<'_>, visit: &mut impl FnMut(&[Step], &Json<'_>) -> bool) {
    Walk { path: Vec::new(), visit }.step(unit, 0, 0);
}

struct Walk<'v, V> {
    path: Vec<Step>,
    visit: &'v mut V,
}

impl<V: FnMut(&[Step], &Json<'_>) -> bool> Walk<'_, V> {
    fn step(&mut self, value: &Json<'_>, depth: usize, decoded: usize) {
        if depth > DEPTH_MAX || !(self.visit)(&self.path, value) {
            return;
        }
        match value {
            Json::Object(entries) => {
                for (key, inner) in entries {
                    self.path.push(Step::Key(key.replace('~', "~0").replace('/', "~1")));
                    self.step(inner, depth + 1, decoded);
                    self.path.pop();
                }
            }
            Json::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    // Attributes of OTLP are listed by key.
                    let key = item.get("key").and_then(Json::as_str).filter(|_| item.get("value").is_some());
                    self.path.push(Step::Element(at, key.map(str::to_owned)));
                    match (key, item.get("value")) {
                        (Some(_), Some(Json::Object(wrapped))) if wrapped.len() == 1 => {
                            self.step(&wrapped[0].1, depth + 1, decoded)
                        }
                        _ => self.step(item, depth + 1, decoded),
                    }
                    self.path.pop();
                }
            }
            Json::String(text) if decoded < DECODED_MAX && text.starts_with(['{', '[']) => {
                if let Ok(inner) = Json::parse(text.as_bytes()) {
                    self.path.push(Step::Inside);
                    self.step(&inner, depth + 1, decoded + 1);
                    self.path.pop();
                }
            }
            _ => {}
        }
    }
}

struct Search<'s, 'r> {
    sought: &'s [Sought<'r>],
    /// By field.
    leaves: Vec<Vec<Leaf>>,
}

impl Search<'_, '_> {
    /// Notes the value at hand for the fields that have it.
    fn compare(&mut self, path: &[Step], value: &Json<'_>) {
        let number = match value {
            Json::Number(number) => Some(number.as_f64()),
            Json::String(text) => text.parse().ok(),
            _ => None,
        };
        let text = match value {
            Json::String(text) => Some(Cow::Borrowed(text.as_ref())),
            Json::Number(Number::Unsigned(id)) => Some(Cow::Owned(id.to_string())),
            _ => None,
        };
        let text = text.as_deref();
        for (index, sought) in self.sought.iter().enumerate() {
            let (is_whole, unit) = match &sought.value {
                Value::Json(wanted) if value == *wanted => (true, None),
                Value::Text(wanted) if text == Some(wanted) => (true, None),
                Value::Text(name) if text.is_some_and(|text| ends_with_name(text, name)) => (false, None),
                Value::Number(wanted) if number == Some(*wanted) => (true, None),
                Value::Time(wanted) => match number.and_then(|number| unit_of(number, *wanted)) {
                    Some(unit) if fits(path, sought.hints) => (true, Some(unit)),
                    _ => continue,
                },
                // Fractions of seconds are cut in one place and rounded in another.
                Value::Moment(wanted)
                    if moment_ms(value).is_some_and(|ms| ms.abs_diff(*wanted) <= 1) && fits(path, sought.hints) =>
                {
                    (true, None)
                }
                _ => continue,
            };
            let fits = fits(path, sought.hints);
            let leaves = &mut self.leaves[index];
            if leaves.len() >= LEAVES_MAX {
                // One whose key fits is worth more than one whose does not.
                let Some(other) = leaves.iter().position(|leaf| !leaf.fits).filter(|_| fits) else { continue };
                leaves.remove(other);
            }
            leaves.push(Leaf { path: path.to_vec(), is_whole, fits, unit });
        }
    }
}

/// Whether the key at hand sounds like a field.
fn fits(path: &[Step], hints: &[&str]) -> bool {
    let key = path.iter().rev().find_map(|step| match step {
        Step::Key(key) | Step::Element(_, Some(key)) => {
            Some(key[..key.floor_char_boundary(KEY_BYTES)].to_ascii_lowercase())
        }
        _ => None,
    });
    key.is_some_and(|key| hints.iter().any(|hint| key.contains(hint)))
}

/// `azure/gpt-4o` and `openai:chat:gpt-4o` for `gpt-4o`.
fn ends_with_name(longer: &str, name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX
        && longer.len() <= 2 * NAME_BYTES_MAX
        && longer.strip_suffix(name).is_some_and(|prefix| prefix.ends_with(['/', ':']))
}

/// The unit in which a number is the wanted time.
fn unit_of(number: f64, wanted_ms: f64) -> Option<&'static str> {
    let agrees = |factor: f64| number > 0.0 && (number * factor - wanted_ms).abs() <= wanted_ms.abs() * 1e-9;
    [("ms", 1.0), ("s", 1e3), ("us", 1e-3), ("ns", 1e-6)]
        .into_iter()
        .find(|(_, factor)| agrees(*factor))
        .map(|(unit, _)| unit)
}
