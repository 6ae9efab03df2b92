//! `--map field=/json/pointer[:unit]`, for home-made logs: where a field of the normal form stands in their records.
//!
//! A mapped field wins over the names of [`FIELDS`]; where a record has nothing (or null)
//! at the pointer, the names are tried after all. A unit stands behind times only.
//!
//! **Limits**: a pointer whose last part ends with a unit in its own name (`/took:s`) cannot be told from one with a
//! unit; such a key must be followed by its unit (`/took:s:ms`).

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{
    fields::{FIELDS, Field, Holds},
    json::Json,
    values::Unit,
};

/// How alike a name must be to one of ours to be suggested (Jaro-Winkler).
const SUGGEST_FROM: f64 = 0.75;

/// Where the fields of the normal form stand in the records of a log. In TOML a table: `latency_ms = "/meta/took:s"`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>", into = "BTreeMap<String, String>")]
pub struct Mapping {
    /// At most one per field, in the order of [`FIELDS`].
    entries: Vec<Entry>,
}

/// One mapped field.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    field: Field,
    pointer: String,
    unit: Option<Unit>,
}

/// The value that a mapping found in a record.
#[derive(Debug)]
pub(crate) struct Mapped<'a> {
    pub field: Field,
    pub unit: Option<Unit>,
    pub value: Json<'a>,
}

impl Mapping {
    /// Reads `field=/json/pointer[:unit]` specifications, as the command line has them.
    pub fn parse(specs: &[String]) -> Result<Mapping, String> {
        let mut mapping = Mapping::default();
        for spec in specs {
            let Some((field, place)) = spec.split_once('=') else {
                return Err(format!("`{spec}` is not of the form field=/json/pointer"));
            };
            mapping.add(field.trim(), place.trim())?;
        }
        Ok(mapping)
    }

    /// Whether nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What `other` maps, and what only `self` maps: the command line over the configuration.
    pub fn overlaid_with(mut self, other: Mapping) -> Mapping {
        self.entries.retain(|entry| other.entries.iter().all(|theirs| theirs.field != entry.field));
        self.entries.extend(other.entries);
        self.entries.sort_by_key(|entry| entry.field);
        self
    }

    /// The values of the mapped fields in one record.
    pub(crate) fn find<'a>(&self, record: &Json<'a>) -> Vec<Mapped<'a>> {
        let found = self.entries.iter().filter_map(|Entry { field, pointer, unit }| {
            let value = record.pointer(pointer).filter(|value| !value.is_null() || *field == Field::Result)?;
            Some(Mapped { field: *field, unit: *unit, value: value.clone() })
        });
        found.collect()
    }

    /// The mapped fields that are not among those whose bits are set.
    pub(crate) fn unmatched(&self, found: u64) -> Vec<&'static str> {
        let entries = self.entries.iter().filter(|entry| found & (1 << entry.field as u64) == 0);
        entries.map(|entry| entry.field.name()).collect()
    }

    fn add(&mut self, name: &str, place: &str) -> Result<(), String> {
        let about = FIELDS.iter().find(|about| about.name == name).ok_or_else(|| unknown_field(name))?;
        let (pointer, unit) = split_unit(place, name, about.holds)?;
        if !pointer.starts_with('/') {
            return Err(format!(
                "`{pointer}`, where `{name}` should stand, is not a JSON pointer: it must begin with `/`"
            ));
        }
        if has_stray_tilde(pointer) {
            return Err(format!("`{pointer}`, where `{name}` should stand, has a `~` that is not `~0` or `~1`"));
        }
        if self.entries.iter().any(|entry| entry.field == about.field) {
            return Err(format!("`{name}` is mapped twice"));
        }
        self.entries.push(Entry { field: about.field, pointer: pointer.to_owned(), unit });
        self.entries.sort_by_key(|entry| entry.field);
        Ok(())
    }
}

impl TryFrom<BTreeMap<String, String>> for Mapping {
    type Error = String;

    fn try_from(table: BTreeMap<String, String>) -> Result<Mapping, String> {
        let mut mapping = Mapping::default();
        table.iter().try_for_each(|(name, place)| mapping.add(name, place))?;
        Ok(mapping)
    }
}

impl From<Mapping> for BTreeMap<String, String> {
    fn from(mapping: Mapping) -> BTreeMap<String, String> {
        let entries = mapping.entries.into_iter().map(|Entry { field, pointer, unit }| {
            let unit = unit.map_or(String::new(), |unit| format!(":{}", unit.as_str()));
            (field.name().to_owned(), pointer + &unit)
        });
        entries.collect()
    }
}

impl JsonSchema for Mapping {
    fn schema_name() -> Cow<'static, str> {
        "Mapping".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = FIELDS.iter().map(|about| about.name).collect();
        json_schema!({
            "type": "object",
            "description": "Where the fields of the normal form stand in the records of a log: a JSON Pointer, for times followed by `:` and a unit.",
            "propertyNames": { "enum": names },
            "additionalProperties": { "type": "string", "pattern": "^/" },
        })
    }
}

fn split_unit<'p>(place: &'p str, name: &str, holds: Holds) -> Result<(&'p str, Option<Unit>), String> {
    let Some((pointer, symbol)) = place.rsplit_once(':').filter(|(_, symbol)| !symbol.contains('/')) else {
        return Ok((place, None));
    };
    match (symbol.parse(), holds.is_time()) {
        (Ok(unit), true) => Ok((pointer, Some(unit))),
        (Ok(_), false) => Err(format!("`{name}` takes no unit, only times do")),
        (Err(()), true) => {
            let known = Unit::ALL.map(Unit::as_str).join(", ");
            Err(format!("`{symbol}`, behind the pointer of `{name}`, is not one of the units {known}"))
        }
        (Err(()), false) => Ok((place, None)),
    }
}

fn has_stray_tilde(pointer: &str) -> bool {
    pointer.split('~').skip(1).any(|rest| !rest.starts_with(['0', '1']))
}

fn unknown_field(name: &str) -> String {
    let normalised = name.to_ascii_lowercase().replace('-', "_");
    let synonym = FIELDS.iter().find(|about| about.names.iter().any(|known| known.text == normalised));
    let alike = |about: &&super::fields::About| strsim::jaro_winkler(about.name, &normalised);
    let nearest = FIELDS.iter().max_by(|left, right| alike(left).total_cmp(&alike(right)));
    match synonym.or(nearest.filter(|about| alike(about) >= SUGGEST_FROM)) {
        Some(about) => format!("there is no field `{name}`; did you mean `{}`?", about.name),
        None => {
            let names: Vec<&str> = FIELDS.iter().map(|about| about.name).collect();
            format!("there is no field `{name}`; the fields are {}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(specs: &[&str]) -> Result<Mapping, String> {
        Mapping::parse(&specs.iter().map(|spec| spec.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn specifications_are_read_or_refused() {
        let check = |spec: &str, expected: Result<&str, &str>| {
            let table = mapping(&[spec]).map(BTreeMap::from);
            let place = table.as_ref().map(|table| table.values().next().unwrap().as_str());
            assert_eq!(place, expected.map_err(str::to_owned).as_ref().map(|place| *place), "{spec}");
        };
        check("model=/meta/model", Ok("/meta/model"));
        check("latency_ms=/meta/latency_s:s", Ok("/meta/latency_s:s"));
        check("ttft_ms=/took:s:ms", Ok("/took:s:ms"));
        check("timestamp=/t:ns", Ok("/t:ns"));
        check("id=/a:b", Ok("/a:b"));
        check("id=/a~1b~0", Ok("/a~1b~0"));
        check("id=/", Ok("/"));
        check("id", Err("`id` is not of the form field=/json/pointer"));
        check("id=a", Err("`a`, where `id` should stand, is not a JSON pointer: it must begin with `/`"));
        check("id=", Err("``, where `id` should stand, is not a JSON pointer: it must begin with `/`"));
        check("id=/a~b", Err("`/a~b`, where `id` should stand, has a `~` that is not `~0` or `~1`"));
        check("model=/m:s", Err("`model` takes no unit, only times do"));
        check(
            "latency_ms=/l:min",
            Err("`min`, behind the pointer of `latency_ms`, is not one of the units ms, s, us, ns"),
        );
        check("latency=/l", Err("there is no field `latency`; did you mean `latency_ms`?"));
        check("sesion_id=/s", Err("there is no field `sesion_id`; did you mean `session_id`?"));
        assert!(mapping(&["zzz=/s"]).unwrap_err().starts_with("there is no field `zzz`; the fields are kind, id,"));
        assert_eq!(mapping(&["id=/a", "id=/b"]).unwrap_err(), "`id` is mapped twice");
    }

    #[test]
    fn a_toml_table_reads_and_writes_the_same() {
        #[derive(Serialize, Deserialize, PartialEq, Debug, schemars::JsonSchema)]
        struct Config {
            map: Mapping,
        }
        let text = "[map]\nlatency_ms = \"/meta/latency_s:s\"\nmodel = \"/meta/model\"\n";
        let config: Config = toml::from_str(text).unwrap();
        assert_eq!(config.map, mapping(&["model=/meta/model", "latency_ms=/meta/latency_s:s"]).unwrap());
        assert_eq!(toml::to_string(&config).unwrap(), text);
        let error = toml::from_str::<Config>("[map]\nmodle = \"/m\"").unwrap_err();
        assert!(error.to_string().contains("did you mean `model`?"), "{error}");
    }

    #[test]
    fn the_command_line_wins_over_the_configuration() {
        let base = mapping(&["model=/a", "id=/b"]).unwrap();
        let over = mapping(&["model=/c", "tool=/d"]).unwrap();
        assert_eq!(base.overlaid_with(over), mapping(&["tool=/d", "id=/b", "model=/c"]).unwrap());
    }
}
