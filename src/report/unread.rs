//! What stayed unread: fields of units that went into no record, by how many units have them and how much text they hold.
//!
//! Fields are told apart by their pointers, in which `*` is any index and `→` goes into JSON in a string. Counts are
//! integers; of too many pointers those that are first in their own order are kept, so that parts merge to the same whole
//! however the log was cut.
//!
//! **Limits**: [`FIELDS_MAX`] pointers; what is looked at is said by [`Unread::units`].

use std::{cmp::Reverse, collections::BTreeMap};

use schemars::JsonSchema;
use serde::Serialize;

use super::{coverage::share, table::size};

/// Pointers that are told apart.
pub const FIELDS_MAX: usize = 500;
/// Fields that a page lists.
pub const SHOWN_MAX: usize = 12;
/// Fields that one line names.
const NAMED_MAX: usize = 3;

/// What some units add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// Units that were looked at.
    units: u64,
    fields: BTreeMap<String, Count>,
}

/// An unread field of one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadLeaf {
    /// Where it stands.
    pub pointer: String,
    /// Bytes of its text; 0 for what is no text.
    pub text_bytes: u64,
    /// Whether its text reads like something that a person or a model wrote.
    pub is_prose: bool,
    /// What would read it, as `--map` takes it.
    pub map: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Count {
    units: u64,
    text_bytes: u64,
    prose: u64,
    /// What would read it, by how many units say so.
    maps: BTreeMap<String, u64>,
}

impl Unread {
    /// Counts a unit with its unread leaves.
    pub fn unit(&mut self, leaves: Vec<UnreadLeaf>) {
        self.units += 1;
        let mut of_unit: BTreeMap<String, Count> = BTreeMap::new();
        for leaf in leaves {
            let count = of_unit.entry(leaf.pointer).or_default();
            count.units = 1;
            count.text_bytes += leaf.text_bytes;
            count.prose = count.prose.max(u64::from(leaf.is_prose));
            if let Some(map) = leaf.map {
                count.maps.insert(map, 1);
            }
        }
        of_unit.into_iter().for_each(|(pointer, count)| self.count(pointer, count));
        self.cap();
    }

    /// Adds what follows in the input.
    pub fn merge(&mut self, next: Unread) {
        self.units += next.units;
        next.fields.into_iter().for_each(|(pointer, count)| self.count(pointer, count));
        self.cap();
    }

    fn count(&mut self, pointer: String, count: Count) {
        let sum = self.fields.entry(pointer).or_default();
        sum.units += count.units;
        sum.text_bytes += count.text_bytes;
        sum.prose += count.prose;
        for (map, times) in count.maps {
            *sum.maps.entry(map).or_default() += times;
        }
    }

    fn cap(&mut self) {
        while self.fields.len() > FIELDS_MAX {
            self.fields.pop_last();
        }
    }

    /// The fields: texts that somebody wrote, then what can be mapped, then the others; of each those with most text first.
    pub fn summary(&self) -> UnreadSummary {
        let field = |(pointer, count): (&String, &Count)| UnreadField {
            pointer: pointer.clone(),
            units: count.units,
            share: count.units as f64 / self.units.max(1) as f64,
            text_bytes: count.text_bytes,
            is_prose: count.prose > 0,
            map: count.maps.iter().max_by_key(|(_, times)| **times).map(|(map, _)| map.clone()),
        };
        let mut fields: Vec<UnreadField> = self.fields.iter().map(field).collect();
        fields.sort_by_key(|field| Reverse((field.is_prose, field.map.is_some(), field.text_bytes, field.units)));
        UnreadSummary { units: self.units, fields }
    }
}

/// What stayed unread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct UnreadSummary {
    /// Units that were looked at.
    pub units: u64,
    /// The unread fields: texts that somebody wrote, then what can be mapped, then the others.
    pub fields: Vec<UnreadField>,
}

/// A field that went into no record.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UnreadField {
    /// Where it stands.
    pub pointer: String,
    /// Units that have it.
    pub units: u64,
    /// Their share of the units that were looked at.
    pub share: f64,
    /// Bytes of its texts.
    pub text_bytes: u64,
    /// Whether it holds what a person or a model wrote.
    pub is_prose: bool,
    /// What would read it, as an argument of `--map`; null when nobody can tell what it is.
    pub map: Option<String>,
}

impl UnreadSummary {
    /// One line for people; `None` when all that anybody wrote was read.
    pub fn line(&self) -> Option<String> {
        let prose: Vec<&UnreadField> = self.fields.iter().filter(|field| field.is_prose).collect();
        if prose.is_empty() {
            return None;
        }
        let named = |field: &&UnreadField| {
            let map = field.map.as_ref().map_or_else(String::new, |map| format!(", --map {map}"));
            format!("{} ({} of units, {}{map})", field.pointer, share(field.units, self.units), size(field.text_bytes))
        };
        let mut parts: Vec<String> = prose.iter().take(NAMED_MAX).map(named).collect();
        if prose.len() > NAMED_MAX {
            parts.push(format!("and {} more", prose.len() - NAMED_MAX));
        }
        Some(format!("unread texts: {}; `llmverify inspect` lists them", parts.join(", ")))
    }

    /// One line for each field of a page.
    pub fn rows(&self) -> impl Iterator<Item = String> {
        self.fields.iter().take(SHOWN_MAX).map(|field| {
            let map = field.map.as_ref().map_or_else(String::new, |map| format!("  --map {map}"));
            let text = if field.text_bytes > 0 { size(field.text_bytes) } else { String::new() };
            format!("  {:<32} {:>5} {:>9}{map}", field.pointer, share(field.units, self.units), text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(pointer: &str, text_bytes: u64, is_prose: bool, map: Option<&str>) -> UnreadLeaf {
        UnreadLeaf { pointer: pointer.to_owned(), text_bytes, is_prose, map: map.map(str::to_owned) }
    }

    #[test]
    fn parts_merge_to_the_whole_however_they_are_cut() {
        let unit = |number: u64| {
            let map = if number.is_multiple_of(3) { "prompt=/a" } else { "response=/a" };
            vec![
                leaf("/a", number, true, Some(map)),
                leaf("/b", 1, false, None),
                leaf(&format!("/{number:04}"), 2, false, None),
            ]
        };
        let part = |range: std::ops::Range<u64>| {
            let mut part = Unread::default();
            range.for_each(|number| part.unit(unit(number)));
            part
        };
        let whole = part(0..900);
        for cut in [1, 300, 899] {
            let mut merged = part(0..cut);
            merged.merge(part(cut..900));
            assert_eq!(merged.units, whole.units);
            assert_eq!(merged.summary().fields.len(), FIELDS_MAX);
        }
        let summary = part(0..10).summary();
        let first = &summary.fields[0];
        assert_eq!((first.pointer.as_str(), first.units, first.map.as_deref()), ("/a", 10, Some("response=/a")));
        assert_eq!(
            summary.line().unwrap(),
            "unread texts: /a (100% of units, 45 B, --map response=/a); `llmverify inspect` lists them"
        );
    }

    #[test]
    fn what_nobody_wrote_is_not_worth_a_line() {
        let mut unread = Unread::default();
        unread.unit(vec![leaf("/trace", 32, false, None)]);
        assert_eq!(unread.summary().line(), None);
        assert_eq!(unread.summary().rows().count(), 1);
    }
}
