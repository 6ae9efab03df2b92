//! Units of measure and of money: which belong together, and by which exact factor.
//!
//! Nouns that count (apples, people) are no units: they neither agree nor differ. Months and years share a kind with days
//! but no factor with them, so that what mixes the two is never converted.

use std::{collections::HashMap, sync::LazyLock};

use serde::Deserialize;

use super::number::Exact;

/// What is measured. Units of one kind can be added once they are converted.
pub const KINDS: usize = 12;

/// One unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Which unit; synonyms share it.
    pub id: u8,
    /// What it measures, below [`KINDS`].
    pub kind: u8,
    /// How many of the kind's base unit it is, as a fraction.
    pub factor: (i64, i64),
}

/// Lengths.
pub const LENGTH: u8 = 0;
/// Masses.
pub const MASS: u8 = 1;
/// Time, to the week.
pub const TIME: u8 = 2;
/// Volumes, of which those of the kitchen are rounded.
pub const VOLUME: u8 = 3;
const DOLLAR: u8 = 4;
const OTHER_MONEY: u8 = 7;
/// Bits and bytes, whose thousand is 1,000 or 1,024.
pub const DATA: u8 = 9;
/// Months and years: as [`TIME`], without a factor to days.
pub const CALENDAR: u8 = 11;

/// The kinds by their names in the table, in the order of their numbers.
const KIND_NAMES: [&str; KINDS] = [
    "length",
    "mass",
    "time",
    "volume",
    "dollar",
    "euro",
    "pound",
    "other_money",
    "count",
    "data",
    "energy",
    "calendar",
];

/// A row of the table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// In lower case; the first one is shown.
    names: Vec<String>,
    kind: String,
    factor: (i64, i64),
    #[serde(default)]
    several_sizes: bool,
    #[serde(default)]
    other_sizes: Vec<(i64, i64)>,
}

/// The table as a file.
#[derive(Debug, Default, Deserialize)]
struct Table {
    unit: Vec<Entry>,
}

/// The units with their numbers, and which name is whose.
struct Known {
    units: Vec<(Unit, Entry)>,
    by_name: HashMap<String, u8>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let table: Table = toml::from_str(include_str!("units.toml")).unwrap_or_default();
    let kind = |name: &str| KIND_NAMES.iter().position(|known| *known == name).unwrap_or_default() as u8;
    let units: Vec<(Unit, Entry)> = table
        .unit
        .into_iter()
        .zip(0_u8..)
        .map(|(entry, id)| (Unit { id, kind: kind(&entry.kind), factor: entry.factor }, entry))
        .collect();
    let by_name = units.iter().flat_map(|(unit, entry)| entry.names.iter().map(|name| (name.clone(), unit.id)));
    Known { by_name: by_name.collect(), units }
});

/// The names of each unit.
pub fn names() -> impl Iterator<Item = &'static [String]> {
    KNOWN.units.iter().map(|(_, entry)| entry.names.as_slice())
}

/// Bytes of the longest name.
const NAME_BYTES_MAX: usize = 14;

impl Unit {
    /// The unit of this name, in any case.
    pub fn of(name: &str) -> Option<Unit> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return None;
        }
        let known = &*KNOWN;
        let at = match known.by_name.get(name) {
            Some(at) => *at,
            None => *known.by_name.get(&name.to_ascii_lowercase())?,
        };
        known.units.get(usize::from(at)).map(|(unit, _)| *unit)
    }

    /// Whether it is one of money.
    pub fn is_money(self) -> bool {
        (DOLLAR..=OTHER_MONEY).contains(&self.kind)
    }

    /// Whether its name is that of several units of different sizes: tons, and what cooks measure in.
    pub fn has_several_sizes(self) -> bool {
        KNOWN.units.get(usize::from(self.id)).is_some_and(|(_, entry)| entry.several_sizes)
    }

    /// What else a unit of its name measures, as base units: in one order for all units of a kind, British first.
    pub fn other_sizes(self) -> Vec<Exact> {
        let sizes = KNOWN.units.get(usize::from(self.id)).map(|(_, entry)| entry.other_sizes.as_slice());
        sizes.unwrap_or_default().iter().map(|(above, below)| Exact::fraction(*above, *below)).collect()
    }

    /// Its first name, in the singular: `m` of "metres".
    pub fn name(self) -> &'static str {
        KNOWN.units.get(usize::from(self.id)).and_then(|(_, entry)| entry.names.first()).map_or("", String::as_str)
    }

    /// How many base units of its kind it is.
    pub fn factor(self) -> Exact {
        Exact::fraction(self.factor.0, self.factor.1)
    }
}

fn cents() -> u8 {
    Unit::of("cents").map_or(u8::MAX, |unit| unit.id)
}

/// The unit of a quantity: a product of powers of kinds, times a factor.
#[derive(Clone, Debug)]
pub struct Dimension {
    /// The power of each kind.
    pub powers: [i8; KINDS],
    /// How many base units it is.
    pub factor: Exact,
}

impl Dimension {
    /// Of a bare number.
    pub fn none() -> Dimension {
        Dimension { powers: [0; KINDS], factor: Exact::whole(1) }
    }

    /// With `unit` to the power of `power` besides.
    pub fn times(mut self, unit: Unit, power: i8) -> Option<Dimension> {
        let kind = usize::from(unit.kind);
        self.powers[kind] = self.powers[kind].checked_add(power)?;
        self.factor = self.factor.mul(&unit.factor().pow(i64::from(power))?)?;
        Some(self)
    }
}

/// Units that stand in an equation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units(u128);

impl Units {
    /// Notes `unit`.
    pub fn insert(&mut self, unit: Unit) {
        self.0 |= 1 << unit.id;
    }

    /// Whether `unit` stands there.
    pub fn contains(self, unit: Unit) -> bool {
        self.0 & (1 << unit.id) != 0
    }

    /// Those of both.
    pub fn union(self, other: Units) -> Units {
        Units(self.0 | other.0)
    }

    fn iter(self) -> impl Iterator<Item = Unit> {
        KNOWN.units.iter().map(|(unit, _)| *unit).filter(move |unit| self.contains(*unit))
    }

    /// Whether two different units measure the same, so that a number may stand converted.
    pub fn are_mixed(self) -> bool {
        let group = |unit: &Unit| if unit.kind == CALENDAR { TIME } else { unit.kind };
        let units: Vec<Unit> = self.iter().collect();
        units.iter().enumerate().any(|(at, a)| units[..at].iter().any(|b| group(a) == group(b)))
    }

    /// Whether those that measure the same, in different units, all measure time.
    pub fn are_mixed_in_time_only(self) -> bool {
        let units: Vec<Unit> = self.iter().filter(|unit| !matches!(unit.kind, TIME | CALENDAR)).collect();
        self.are_mixed() && units.iter().enumerate().all(|(at, a)| units[..at].iter().all(|b| a.kind != b.kind))
    }

    /// Factors by which a bare number of another unit must be multiplied to be one of these: 1/60 for hours, from minutes.
    /// Units of `others` are not bare. Powers of ten are left out, except for cents to dollars: they are slips, too.
    pub fn factors(self, others: Units) -> Vec<Exact> {
        let mut factors = Vec::new();
        for unit in self.iter().filter(|unit| others.iter().all(|other| other.kind != unit.kind)) {
            for (other, entry) in KNOWN.units.iter().filter(|(other, _)| other.kind == unit.kind) {
                let Some(factor) = other.factor().div(&unit.factor()) else { continue };
                let inverse = Exact::whole(1).div(&factor);
                let is_even = factor.is_whole() || inverse.as_ref().is_some_and(Exact::is_whole);
                let size = factor.to_whole().or_else(|| inverse.and_then(|inverse| inverse.to_whole())).unwrap_or(1);
                let is_power_of_ten = size.to_string().trim_end_matches('0') == "1";
                if is_even
                    && (!is_power_of_ten || entry.names[0] == "cent" || entry.names[0] == "pence" || unit.id == cents())
                {
                    factors.push(factor);
                }
            }
        }
        factors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_known_by_any_of_their_names() {
        assert_eq!(Unit::of("Hours"), Unit::of("h"));
        assert!(Unit::of("apples").is_none() && Unit::of("").is_none());
        for (unit, entry) in &KNOWN.units {
            assert_eq!(KIND_NAMES[usize::from(unit.kind)], entry.kind);
            for name in &entry.names {
                assert_eq!(Unit::of(name), Some(*unit), "{name}");
            }
        }
        assert!((50..128).contains(&KNOWN.units.len()));
    }

    #[test]
    fn hours_and_minutes_mix_and_hours_and_kilometres_do_not() {
        let units = |names: &[&str]| {
            let mut units = Units::default();
            names.iter().flat_map(|name| Unit::of(name)).for_each(|unit| units.insert(unit));
            units
        };
        assert!(units(&["hours", "minutes"]).are_mixed() && units(&["months", "days"]).are_mixed());
        assert!(!units(&["hours", "h", "km", "$"]).are_mixed());
        let factors = units(&["hours"]).factors(Units::default());
        assert!(factors.iter().any(|factor| factor.to_double() == 1.0 / 60.0));
        assert!(units(&["hours"]).factors(units(&["minutes"])).is_empty());
        let factors = units(&["mm"]).factors(Units::default());
        assert!(factors.iter().all(|factor| factor.to_double() > 100.0), "powers of ten are slips");
    }
}
