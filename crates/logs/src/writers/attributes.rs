//! Attributes of spans: a flat list of dotted keys, in which messages are spread over keys with indices in them.
//!
//! **Limits**: dotted keys are taken apart to [`MAX_PARTS`] parts; what is behind stays one key.

use std::borrow::Cow;

use crate::record::{json::Json, values};

/// Parts that a dotted key is taken apart to.
const MAX_PARTS: usize = 16;

/// First parts of keys that some writers nest.
const ROOTS: [&str; 6] = ["llm", "gen_ai", "ai", "openinference", "input", "output"];

/// Last parts of keys whose value is a value, if an object.
const LEAVES: [&str; 5] = ["value", "invocation_parameters", "json_schema", "arguments", "metadata"];

/// Attributes by their keys.
#[derive(Debug, Default)]
pub(super) struct Attributes<'a> {
    entries: Vec<(Cow<'a, str>, Json<'a>)>,
}

impl<'a> Attributes<'a> {
    /// Attributes of an object: `{"llm.model_name": "m"}`, also nested: `{"llm": {"model_name": "m"}}`.
    pub fn of_object(object: Json<'a>) -> Attributes<'a> {
        match object {
            Json::Object(entries) => {
                let is_nested = |(key, value): &(Cow<'_, str>, Json<'_>)| {
                    ROOTS.contains(&key.as_ref()) && value.as_object().is_some()
                };
                if !entries.iter().any(is_nested) {
                    return Attributes { entries };
                }
                let mut flat = Vec::with_capacity(entries.len());
                entries.into_iter().for_each(|(key, value)| flatten(key, value, 0, &mut flat));
                Attributes { entries: flat }
            }
            _ => Attributes::default(),
        }
    }

    /// Attributes as OTLP lists them: `[{"key", "value": {"stringValue": ...}}]`.
    pub fn of_otlp(list: Json<'a>) -> Attributes<'a> {
        let Json::Array(list) = list else { return Attributes::of_object(list) };
        let entries = list.into_iter().filter_map(|mut entry| {
            let Some(Json::String(key)) = entry.take("key") else { return None };
            Some((key, entry.take("value").map(any_value).unwrap_or_default()))
        });
        Attributes { entries: entries.collect() }
    }

    /// The keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(key, _)| key.as_ref())
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        self.entries.iter().find(|(name, value)| name == key && !value.is_null()).map(|(_, value)| value)
    }

    /// The value of the first of these keys that has one, moved out.
    pub fn take(&mut self, keys: &[&str]) -> Option<Json<'a>> {
        keys.iter().find_map(|key| {
            let (_, value) = self.entries.iter_mut().find(|(name, value)| name == key && !value.is_null())?;
            Some(std::mem::take(value))
        })
    }

    /// A name under the first of these keys that has one, moved out.
    pub fn name(&mut self, keys: &[&str]) -> Option<Cow<'a, str>> {
        self.take(keys).and_then(|value| values::name(value).ok().flatten())
    }

    /// A text under a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Json::as_str)
    }

    /// What stands below a prefix (`gen_ai.prompt.`), as a list by the index that follows it: moved out.
    pub fn list(&mut self, prefix: &str) -> Vec<Json<'a>> {
        let below = self.entries.extract_if(.., |(key, _)| key.starts_with(prefix));
        let parts = below.map(|(key, value)| (key[prefix.len()..].to_owned(), value));
        list_of(nested(parts.collect()))
    }

    /// The value of a key that holds a list, else what stands below the key with indices.
    pub fn list_at(&mut self, key: &str) -> Vec<Json<'a>> {
        match self.take(&[key]).map(crate::record::call::decoded) {
            Some(Json::Array(items)) => items.into_iter().map(unflattened).collect(),
            _ => self.list(&format!("{key}.")),
        }
    }

    /// All of them as one object.
    pub fn into_object(self) -> Json<'a> {
        Json::Object(self.entries)
    }
}

/// Nested objects as dotted keys; lists stay.
fn flatten<'a>(key: Cow<'a, str>, value: Json<'a>, depth: usize, flat: &mut Vec<(Cow<'a, str>, Json<'a>)>) {
    let is_leaf = LEAVES.contains(&key.rsplit('.').next().unwrap_or_default());
    match value {
        Json::Object(entries) if !is_leaf && depth < MAX_PARTS => {
            for (inner, value) in entries {
                flatten(format!("{key}.{inner}").into(), value, depth + 1, flat);
            }
        }
        value => flat.push((key, value)),
    }
}

/// A value of OTLP without its wrapping.
pub(super) fn any_value(value: Json<'_>) -> Json<'_> {
    let Json::Object(mut entries) = value else { return value };
    if entries.len() != 1 {
        return if entries.is_empty() { Json::Null } else { Json::Object(entries) };
    }
    let Some((key, held)) = entries.pop() else { return Json::Null };
    match (key.as_ref(), held) {
        ("stringValue" | "boolValue" | "doubleValue" | "bytesValue", held) => held,
        ("string_value" | "bool_value" | "double_value" | "bytes_value", held) => held,
        ("intValue" | "int_value", held @ Json::String(_)) => {
            let number = held.as_str().and_then(|digits| digits.parse::<i64>().ok());
            number.map_or(held, |number| {
                Json::Number(
                    u64::try_from(number)
                        .map_or(crate::record::json::Number::Signed(number), crate::record::json::Number::Unsigned),
                )
            })
        }
        ("intValue" | "int_value", held) => held,
        ("arrayValue" | "array_value", mut held) => match held.take("values") {
            Some(Json::Array(values)) => Json::Array(values.into_iter().map(any_value).collect()),
            _ => Json::Array(Vec::new()),
        },
        ("kvlistValue" | "kvlist_value", mut held) => match held.take("values") {
            Some(list @ Json::Array(_)) => Attributes::of_otlp(list).into_object(),
            _ => Json::Object(Vec::new()),
        },
        (_, held) => Json::Object(vec![(key, held)]),
    }
}

/// An object whose keys may be dotted (`{"message.role": "user"}`), nested; inside of lists too.
fn unflattened(value: Json<'_>) -> Json<'_> {
    match value {
        Json::Object(entries) if entries.iter().any(|(key, _)| key.contains('.')) => {
            let entries = entries.into_iter().map(|(key, value)| (key.into_owned(), unflattened(value)));
            nested(entries.collect())
        }
        Json::Array(items) => Json::Array(items.into_iter().map(unflattened).collect()),
        other => other,
    }
}

/// Dotted keys as nested objects. Sorted first, so that what belongs together stands together.
fn nested(mut entries: Vec<(String, Json<'_>)>) -> Json<'_> {
    entries.sort_by(|(left, _), (right, _)| left.split('.').cmp(right.split('.')));
    nest(entries, 0)
}

fn nest(entries: Vec<(String, Json<'_>)>, depth: usize) -> Json<'_> {
    let mut object: Vec<(Cow<'_, str>, Json<'_>)> = Vec::new();
    let mut group: Vec<(String, Json<'_>)> = Vec::new();
    let mut entries = entries.into_iter().peekable();
    while let Some((key, value)) = entries.next() {
        let head_end = if depth < MAX_PARTS { key.find('.') } else { None };
        let Some(head_end) = head_end else {
            object.push((key.into(), value));
            continue;
        };
        let head = key[..head_end].to_owned();
        group.push((key[head_end + 1..].to_owned(), value));
        while let Some((key, value)) =
            entries.next_if(|(key, _)| key.strip_prefix(&head).is_some_and(|rest| rest.starts_with('.')))
        {
            group.push((key[head_end + 1..].to_owned(), value));
        }
        let inner = nest(std::mem::take(&mut group), depth + 1);
        match object.last_mut().filter(|(known, _)| **known == head) {
            // A value and what stands below it: both are kept, the value under no name.
            Some((_, known)) if !matches!(known, Json::Object(_)) => {
                let value = std::mem::replace(known, inner);
                if let Json::Object(inner) = known {
                    inner.push(("".into(), value));
                }
            }
            _ => object.push((head.into(), inner)),
        }
    }
    Json::Object(object)
}

/// An object with indices for keys as a list, in their order; a list as it is.
pub(super) fn list_of(value: Json<'_>) -> Vec<Json<'_>> {
    match value {
        Json::Array(items) => items,
        Json::Object(entries) => {
            let mut numbered: Vec<(u64, Json<'_>)> =
                entries.into_iter().filter_map(|(key, value)| Some((key.parse().ok()?, value))).collect();
            numbered.sort_by_key(|(index, _)| *index);
            numbered.into_iter().map(|(_, value)| value).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(json: &str) -> Attributes<'_> {
        Attributes::of_object(Json::parse(json.as_bytes()).unwrap())
    }

    #[test]
    fn values_of_otlp_lose_their_wrapping() {
        let check = |json: &str, expected: &str| {
            let value = any_value(Json::parse(json.as_bytes()).unwrap());
            assert_eq!(value.to_compact_string(), expected, "{json}");
        };
        check(r#"{"stringValue":"a"}"#, r#""a""#);
        check(r#"{"intValue":"-19"}"#, "-19");
        check(r#"{"intValue":19}"#, "19");
        check(r#"{"intValue":"1795187161339576948"}"#, "1795187161339576948");
        check(r#"{"intValue":"x"}"#, r#""x""#);
        check(r#"{"arrayValue":{"values":[{"boolValue":true},{}]}}"#, "[true,null]");
        check(r#"{"arrayValue":{}}"#, "[]");
        check(r#"{"kvlistValue":{"values":[{"key":"a","value":{"doubleValue":0.5}}]}}"#, r#"{"a":0.5}"#);
        check(r#"{"a":1,"b":2}"#, r#"{"a":1,"b":2}"#);
    }

    #[test]
    fn keys_with_indices_become_lists() {
        let mut of = attributes(
            r#"{"m.10.role":"c","m.2.role":"b","m.0.role":"a","m.0.calls.0.id":"x","m.0.calls.1.id":"y","n":1}"#,
        );
        let list = of.list("m.");
        let shown: Vec<String> = list.iter().map(Json::to_compact_string).collect();
        assert_eq!(
            shown,
            [r#"{"calls":{"0":{"id":"x"},"1":{"id":"y"}},"role":"a"}"#, r#"{"role":"b"}"#, r#"{"role":"c"}"#]
        );
        assert!(of.list("m.").is_empty() && of.get("n").is_some());
    }

    #[test]
    fn a_value_with_others_below_it_is_kept() {
        let mut of = attributes(r#"{"m.0":"a","m.0.role":"b","m.0-x":"c"}"#);
        assert_eq!(of.list("m.")[0].to_compact_string(), r#"{"role":"b","":"a"}"#);
    }

    #[test]
    fn nested_attributes_are_those_of_dotted_keys() {
        let mut of = attributes(
            r#"{"llm":{"model_name":"m","input_messages":[{"message":{"role":"user"}}]},"input":{"value":{"a":{"b":1}}}}"#,
        );
        assert_eq!(of.name(&["llm.model_name"]).as_deref(), Some("m"));
        assert_eq!(of.list_at("llm.input_messages").len(), 1);
        assert_eq!(of.get("input.value").unwrap().to_compact_string(), r#"{"a":{"b":1}}"#);
    }

    #[test]
    fn long_and_deep_keys_are_bounded() {
        let deep = format!(r#"{{"m.0.{}":1}}"#, "a.".repeat(100_000));
        assert_eq!(attributes(&deep).list("m.").len(), 1);
    }
}
