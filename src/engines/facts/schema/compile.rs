//! A JSON Schema made ready: refused where it would fetch something or take too long, compiled otherwise.
//!
//! **Formula**: with T the places that a schema unfolds into (references followed, a way back counted once) and m the most
//! schemas that look at one value (a list of required names or of allowed values is as many steps as it is long), an instance of n values and depth d takes at most T n steps, or m^(d + 1) n when the
//! schema is recursive. What would take more than [`STEPS_MAX`] is not begun.
//!
//! **Source**: JSON Schema 2020-12 and the drafts before it; the crate `jsonschema` checks, without its network features.
//!
//! **Limits**: references to other documents are refused, never fetched; so are `$id`s inside of a schema. Patterns are
//! linear regular expressions: look-around and back-references are refused. [`SCHEMA_VALUES_MAX`], [`CHAIN_MAX`].
//! `format` is an annotation and is not checked.

use std::collections::{HashMap, HashSet};

use jsonschema::{PatternOptions, Retrieve, Uri, Validator, error::ValidationErrorKind};
use serde_json::{Map, Value};

/// JSON values of one schema.
pub const SCHEMA_VALUES_MAX: usize = 20_000;
/// Schemas that may be nested in, or refer to, one another.
pub const CHAIN_MAX: usize = 200;
/// Steps that the check of one instance may take by the estimate.
pub const STEPS_MAX: f64 = 1e7;
/// Bytes of one compiled pattern.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// A schema that is ready to be used.
#[derive(Debug)]
pub struct Compiled {
    validator: Validator,
    cost: Cost,
}

/// Why a schema, or an instance, is not checked.
pub type Refusal = &'static str;

/// The schema refers to another document.
pub const REMOTE: Refusal = "the schema refers to another document, which is never fetched";
/// The schema refers to a place that it does not have.
pub const DANGLING: Refusal = "the schema refers to a place that it does not have";
/// The schema refers to itself without ever looking at a part of the value.
pub const ENDLESS: Refusal = "the schema refers to itself without end";
/// Beyond [`SCHEMA_VALUES_MAX`], [`CHAIN_MAX`] or [`STEPS_MAX`].
pub const TOO_LARGE: Refusal = "the schema is too large";
/// Beyond [`STEPS_MAX`] with this instance.
pub const TOO_LONG: Refusal = "the check would take too long";
/// Not a JSON Schema.
pub const INVALID: Refusal = "the schema is no valid JSON Schema";
/// A pattern with look-around or back-references, or one that is too large.
pub const PATTERN: Refusal = "the schema has a pattern that is no linear regular expression";

/// Refuses whatever is not in the schema itself.
struct Never;

impl Retrieve for Never {
    fn retrieve(&self, _: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(REMOTE.into())
    }
}

impl Compiled {
    /// Compiles `schema`.
    ///
    /// # Errors
    /// When it cannot be used, or must not be.
    pub fn new(schema: &Value) -> Result<Compiled, Refusal> {
        let cost = Cost::of(schema)?;
        let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX);
        let options = jsonschema::options().with_retriever(Never).with_pattern_options(patterns);
        let validator = options.build(schema).map_err(|error| match error.kind() {
            ValidationErrorKind::Referencing(_) => DANGLING,
            ValidationErrorKind::Pattern { .. }
            | ValidationErrorKind::Format { .. }
            | ValidationErrorKind::BacktrackLimitExceeded { .. } => PATTERN,
            _ => INVALID,
        })?;
        Ok(Compiled { validator, cost })
    }

    /// The validator and its steps, when it is done with `instance` in time.
    ///
    /// # Errors
    /// [`TOO_LONG`].
    pub fn for_instance(&self, instance: &Value) -> Result<(&Validator, f64), Refusal> {
        let (mut values, mut depth) = (0, 0);
        measure(instance, 1, &mut values, &mut depth);
        let steps = if self.cost.is_recursive {
            self.cost.at_one_value.powi(depth as i32 + 1) * values as f64
        } else {
            self.cost.unfolded * values as f64
        };
        if steps <= STEPS_MAX { Ok((&self.validator, steps)) } else { Err(TOO_LONG) }
    }
}

fn measure(value: &Value, at: usize, values: &mut usize, depth: &mut usize) {
    *values += 1;
    *depth = (*depth).max(at);
    match value {
        Value::Array(items) => items.iter().for_each(|item| measure(item, at + 1, values, depth)),
        Value::Object(members) => members.values().for_each(|member| measure(member, at + 1, values, depth)),
        _ => {}
    }
}

/// How many things a list, or a map of lists, names.
fn listed(value: &Value) -> usize {
    match value {
        Value::Array(names) => names.len(),
        Value::Object(lists) => lists.values().map(listed).sum(),
        _ => 0,
    }
}

/// What checking against a schema costs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    unfolded: f64,
    at_one_value: f64,
    is_recursive: bool,
}

impl Cost {
    fn of(schema: &Value) -> Result<Cost, Refusal> {
        let (mut values, mut depth) = (0, 0);
        measure(schema, 1, &mut values, &mut depth);
        if values > SCHEMA_VALUES_MAX {
            return Err(TOO_LARGE);
        }
        let mut walk =
            Walk { root: schema, anchors: HashMap::new(), places: HashMap::new(), recursive: false, widest: 1.0 };
        walk.find_anchors(schema, true)?;
        let unfolded = walk.unfold(schema, 0)?;
        if unfolded > STEPS_MAX {
            return Err(TOO_LARGE);
        }
        Ok(Cost { unfolded, at_one_value: walk.widest, is_recursive: walk.recursive })
    }
}

/// What is known of a schema inside of the schema, by its address.
#[derive(Clone, Copy)]
enum Place {
    Open,
    Known { unfolded: f64, at_one_value: f64 },
}

struct Walk<'s> {
    root: &'s Value,
    anchors: HashMap<&'s str, &'s Value>,
    places: HashMap<*const Value, Place>,
    recursive: bool,
    widest: f64,
}

/// Keywords whose schemas look at the same value.
const SAME_VALUE: [&str; 9] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];
/// Keywords whose schemas look at parts of it.
const PARTS: [&str; 11] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "contentSchema",
];
/// Keywords that hold a list of what is looked for one by one, or a map of names to such lists.
const LISTS: [&str; 3] = ["required", "enum", "dependentRequired"];
/// Keywords that hold a map of names to schemas.
const MAPS: [&str; 6] = ["properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"];

impl<'s> Walk<'s> {
    fn find_anchors(&mut self, value: &'s Value, is_root: bool) -> Result<(), Refusal> {
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.find_anchors(item, false)),
            Value::Object(members) => {
                for (key, member) in members {
                    match (key.as_str(), member) {
                        ("$anchor" | "$dynamicAnchor", Value::String(name)) => {
                            self.anchors.insert(name, value);
                        }
                        ("$id" | "id", Value::String(id)) if !is_root => match id.strip_prefix('#') {
                            Some(name) => {
                                self.anchors.insert(name, value);
                            }
                            None if key == "$id" => return Err(REMOTE),
                            None => {}
                        },
                        _ => self.find_anchors(member, false)?,
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// How many schemas `schema` unfolds into.
    fn unfold(&mut self, schema: &'s Value, depth: usize) -> Result<f64, Refusal> {
        self.visit(schema, depth, false).map(|(unfolded, _)| unfolded)
    }

    fn visit(&mut self, schema: &'s Value, depth: usize, is_same_value: bool) -> Result<(f64, f64), Refusal> {
        let Value::Object(members) = schema else { return Ok((1.0, 1.0)) };
        if depth > CHAIN_MAX {
            return Err(TOO_LARGE);
        }
        let key: *const Value = schema;
        match self.places.get(&key) {
            Some(Place::Known { unfolded, at_one_value }) => return Ok((*unfolded, *at_one_value)),
            Some(Place::Open) if is_same_value && self.is_endless(schema) => return Err(ENDLESS),
            Some(Place::Open) => {
                self.recursive = true;
                return Ok((1.0, 1.0));
            }
            None => {}
        }
        self.places.insert(key, Place::Open);
        let listed = LISTS.iter().filter_map(|keyword| members.get(*keyword)).map(listed).sum::<usize>() as f64;
        let (mut unfolded, mut at_one_value) = (1.0 + listed, 1.0 + listed);
        for target in self.same_value(members)? {
            let (all, here) = self.visit(target, depth + 1, true)?;
            unfolded += all;
            at_one_value += here;
        }
        for target in PARTS.iter().flat_map(|keyword| schemas(members, keyword)) {
            unfolded += self.visit(target, depth + 1, false)?.0;
        }
        // A sum that is out of bounds must not grow on.
        let (unfolded, at_one_value): (f64, f64) = (f64::min(unfolded, f64::MAX), f64::min(at_one_value, f64::MAX));
        self.widest = self.widest.max(at_one_value);
        self.places.insert(key, Place::Known { unfolded, at_one_value });
        Ok((unfolded, at_one_value))
    }

    /// Whether `start` comes back to itself while it looks at one value.
    fn is_endless(&self, start: &'s Value) -> bool {
        let mut seen: HashSet<*const Value> = HashSet::new();
        let mut open = vec![start];
        while let Some(schema) = open.pop() {
            let Value::Object(members) = schema else { continue };
            for target in self.same_value(members).unwrap_or_default() {
                if std::ptr::eq(target, start) {
                    return true;
                }
                if seen.insert(target) {
                    open.push(target);
                }
            }
        }
        false
    }

    fn same_value(&self, members: &'s Map<String, Value>) -> Result<Vec<&'s Value>, Refusal> {
        let mut targets: Vec<&Value> = SAME_VALUE.iter().flat_map(|keyword| schemas(members, keyword)).collect();
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(Value::String(reference)) = members.get(keyword) {
                targets.push(self.resolve(reference)?);
            }
        }
        Ok(targets)
    }

    fn resolve(&self, reference: &str) -> Result<&'s Value, Refusal> {
        let id = self.root["$id"].as_str().unwrap_or_default().trim_end_matches('#');
        let local = reference.strip_prefix(id).unwrap_or(reference);
        let place = match local.strip_prefix('#') {
            Some(place) => place,
            None if local.is_empty() => "",
            None => return Err(REMOTE),
        };
        if place.is_empty() {
            return Ok(self.root);
        }
        let found = if place.starts_with('/') { self.root.pointer(place) } else { self.anchors.get(place).copied() };
        found.ok_or(DANGLING)
    }
}

/// The schemas of a keyword: one, a list, or a map of them.
fn schemas<'s>(members: &'s Map<String, Value>, keyword: &str) -> Vec<&'s Value> {
    match members.get(keyword) {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(Value::Object(map)) if MAPS.contains(&keyword) => map.values().collect(),
        Some(schema @ Value::Object(_)) => vec![schema],
        _ => Vec::new(),
    }
}

/// The schema of a tool's arguments in the words of JSON Schema: `dict`, `float`, `tuple`, `any` and upper case, as
/// function definitions have them, and closed, for a function has no place for arguments that it does not declare.
pub fn of_arguments(definition: &Value) -> Value {
    let mut schema = definition.clone();
    translate(&mut schema, 0);
    if let Value::Object(members) = &mut schema
        && members.get("properties").is_some_and(Value::is_object)
        && !["additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "$ref"]
            .iter()
            .any(|keyword| members.contains_key(*keyword))
    {
        members.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    schema
}

fn translate(schema: &mut Value, depth: usize) {
    let Value::Object(members) = schema else { return };
    if depth > CHAIN_MAX {
        return;
    }
    let is_known = match members.get_mut("type") {
        Some(Value::String(name)) => translate_type(name),
        Some(Value::Array(names)) => {
            names.iter_mut().all(|name| if let Value::String(name) = name { translate_type(name) } else { false })
        }
        _ => true,
    };
    if !is_known {
        members.remove("type");
    }
    if members.get("required").is_some_and(|required| !required.is_array()) {
        members.remove("required");
    }
    for keyword in SAME_VALUE.iter().chain(&PARTS).chain(&["$defs", "definitions"]) {
        match members.get_mut(*keyword) {
            Some(Value::Array(items)) => items.iter_mut().for_each(|item| translate(item, depth + 1)),
            Some(Value::Object(map)) if MAPS.contains(keyword) => {
                map.values_mut().for_each(|schema| translate(schema, depth + 1));
            }
            Some(schema @ Value::Object(_)) => translate(schema, depth + 1),
            _ => {}
        }
    }
}

/// Whether the type is known, by its own name or by that of a programming language.
fn translate_type(name: &mut String) -> bool {
    let own = match name.to_ascii_lowercase().as_str() {
        "object" | "dict" | "hashmap" | "map" => "object",
        "array" | "list" | "tuple" | "arraylist" => "array",
        "string" | "str" | "char" => "string",
        "integer" | "int" | "long" | "short" | "byte" => "integer",
        "number" | "float" | "double" => "number",
        "boolean" | "bool" => "boolean",
        "null" | "none" => "null",
        _ => return false,
    };
    own.clone_into(name);
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(schema: &Value) -> Option<Refusal> {
        Compiled::new(schema).err()
    }

    #[test]
    fn what_must_not_be_used_is_refused() {
        let chain: Map<String, Value> =
            (0..5_000).map(|n| (format!("a{n}"), json!({"$ref": format!("#/$defs/a{}", n + 1)}))).collect();
        let doubling: Map<String, Value> = (0..60)
            .map(|n| {
                let next = json!({"$ref": format!("#/$defs/a{}", n + 1)});
                (format!("a{n}"), json!({"anyOf": [next, next]}))
            })
            .chain([("a60".to_owned(), json!({"type": "string"}))])
            .collect();
        for (schema, expected) in [
            (json!({"$ref": "https://example.com/schema.json"}), REMOTE),
            (json!({"properties": {"a": {"$ref": "file:///etc/passwd"}}}), REMOTE),
            (json!({"$ref": "other.json#/a"}), REMOTE),
            (json!({"properties": {"a": {"$id": "https://example.com/a"}}}), REMOTE),
            (json!({"$ref": "#/nowhere"}), DANGLING),
            (json!({"$ref": "#"}), ENDLESS),
            (json!({"allOf": [{"$ref": "#"}]}), ENDLESS),
            (
                json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}}),
                ENDLESS,
            ),
            (json!({"$ref": "#/$defs/a0", "$defs": chain}), TOO_LARGE),
            (json!({"$ref": "#/$defs/a0", "$defs": doubling}), TOO_LARGE),
            (json!({"type": "strin"}), INVALID),
            (json!({"required": "a"}), INVALID),
            (json!({"enum": vec![1; SCHEMA_VALUES_MAX + 1]}), TOO_LARGE),
        ] {
            assert_eq!(refusal(&schema), Some(expected), "{:.100}", schema.to_string());
        }
        for pattern in ["(?=a)b", r"(a)\1", "((((a{100}){100}){100}){100})"] {
            assert!(refusal(&json!({"pattern": pattern})).is_some(), "{pattern}");
        }
    }

    #[test]
    fn recursive_schemas_and_patterns_are_fine() {
        let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "n": {"type": "integer"}}});
        let compiled = Compiled::new(&tree).unwrap();
        let instance = json!({"left": {"left": {"n": 1}}, "right": {"n": "x"}});
        assert_eq!(compiled.for_instance(&instance).unwrap().0.iter_errors(&instance).count(), 1);
        let catastrophic = Compiled::new(&json!({"pattern": "^(a+)+$"})).unwrap();
        let text = json!("a".repeat(50_000) + "!");
        assert!(!catastrophic.for_instance(&text).unwrap().0.is_valid(&text));
    }

    #[test]
    fn a_recursion_that_doubles_is_stopped_by_the_depth_of_the_instance() {
        let schema = json!({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]}}});
        let compiled = Compiled::new(&schema).unwrap();
        let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!({"a": inner}));
        assert!(compiled.for_instance(&nested(4)).is_ok());
        assert_eq!(compiled.for_instance(&nested(100)).err(), Some(TOO_LONG));
        // 146 kB that took 24 GB while a list of names was one step.
        let names: Vec<String> = (0..3_000).map(|n| format!("k{n}")).collect();
        let compiled = Compiled::new(&json!({"items": {"required": names}})).unwrap();
        let objects = |count: usize| Value::Array(vec![json!({}); count]);
        assert_eq!(compiled.for_instance(&objects(30_000)).err(), Some(TOO_LONG));
        assert!(compiled.for_instance(&objects(100)).is_ok());
    }

    #[test]
    fn definitions_of_functions_are_translated_and_closed() {
        let schema = of_arguments(&json!({
            "type": "dict",
            "properties": {"type": {"type": "float"}, "list": {"type": "tuple", "items": {"type": "STRING"}}, "x": {"type": "any"}},
            "required": ["type"],
        }));
        let compiled = Compiled::new(&schema).unwrap();
        let valid = |instance: Value| compiled.for_instance(&instance).unwrap().0.is_valid(&instance);
        assert!(valid(json!({"type": 1.5, "list": ["a"], "x": {}})));
        assert!(
            !valid(json!({"type": "a"}))
                && !valid(json!({"type": 1, "list": [1]}))
                && !valid(json!({"type": 1, "more": 2}))
        );
    }
}
