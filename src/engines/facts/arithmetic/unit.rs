//! Units of measure and of money: which belong together, and by which exact factor.
//!
//! Nouns that count (apples, people) are no units: they neither agree nor differ. Months and years share a kind with days
//! but no factor with them, so that what mixes the two is never converted.

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

const LENGTH: u8 = 0;
const MASS: u8 = 1;
const TIME: u8 = 2;
const VOLUME: u8 = 3;
const DOLLAR: u8 = 4;
const EURO: u8 = 5;
const POUND: u8 = 6;
const OTHER_MONEY: u8 = 7;
const COUNT: u8 = 8;
const DATA: u8 = 9;
const ENERGY: u8 = 10;
/// Months and years: as [`TIME`], without a factor to days.
const CALENDAR: u8 = 11;

/// Names in lower case, kind, factor to the base of the kind.
const UNITS: [(&[&str], u8, (i64, i64)); 58] = [
    (&["mm", "millimeter", "millimeters", "millimetre", "millimetres"], LENGTH, (1, 1_000)),
    (&["cm", "centimeter", "centimeters", "centimetre", "centimetres"], LENGTH, (1, 100)),
    (&["m", "meter", "meters", "metre", "metres"], LENGTH, (1, 1)),
    (&["km", "kms", "kilometer", "kilometers", "kilometre", "kilometres"], LENGTH, (1_000, 1)),
    (&["inch", "inches"], LENGTH, (254, 10_000)),
    (&["ft", "foot", "feet"], LENGTH, (3_048, 10_000)),
    (&["yd", "yard", "yards"], LENGTH, (9_144, 10_000)),
    (&["mi", "mile", "miles"], LENGTH, (1_609_344, 1_000)),
    (&["mg", "milligram", "milligrams"], MASS, (1, 1_000)),
    (&["g", "gram", "grams"], MASS, (1, 1)),
    (&["kg", "kgs", "kilo", "kilos", "kilogram", "kilograms"], MASS, (1_000, 1)),
    (&["tonne", "tonnes", "ton", "tons"], MASS, (1_000_000, 1)),
    (&["oz", "ounce", "ounces"], MASS, (28_349_523_125, 1_000_000_000)),
    (&["lb", "lbs", "pound", "pounds"], MASS, (45_359_237, 100_000)),
    (&["ms", "millisecond", "milliseconds"], TIME, (1, 1_000)),
    (&["s", "sec", "secs", "second", "seconds"], TIME, (1, 1)),
    (&["min", "mins", "minute", "minutes"], TIME, (60, 1)),
    (&["h", "hr", "hrs", "hour", "hours"], TIME, (3_600, 1)),
    (&["day", "days"], TIME, (86_400, 1)),
    (&["week", "weeks"], TIME, (604_800, 1)),
    (&["month", "months"], CALENDAR, (1, 1)),
    (&["year", "years", "yr", "yrs"], CALENDAR, (12, 1)),
    (&["quarter", "quarters"], CALENDAR, (3, 1)),
    (&["decade", "decades"], CALENDAR, (120, 1)),
    (&["century", "centuries"], CALENDAR, (1_200, 1)),
    (&["ml", "milliliter", "milliliters", "millilitre", "millilitres"], VOLUME, (1, 1_000)),
    (&["l", "liter", "liters", "litre", "litres"], VOLUME, (1, 1)),
    (&["gal", "gallon", "gallons"], VOLUME, (3_785_411_784, 1_000_000_000)),
    (&["qt", "quart", "quarts"], VOLUME, (946_352_946, 1_000_000_000)),
    (&["pint", "pints"], VOLUME, (473_176_473, 1_000_000_000)),
    (&["cup", "cups"], VOLUME, (2_365_882_365, 10_000_000_000)),
    (&["tbsp", "tablespoon", "tablespoons"], VOLUME, (1_478_676_478_125, 100_000_000_000_000)),
    (&["tsp", "teaspoon", "teaspoons"], VOLUME, (492_892_159_375, 100_000_000_000_000)),
    (&["$", "dollar", "dollars", "usd"], DOLLAR, (100, 1)),
    (&["cent", "cents", "¢"], DOLLAR, (1, 1)),
    (&["dime", "dimes"], DOLLAR, (10, 1)),
    (&["nickel", "nickels"], DOLLAR, (5, 1)),
    (&["penny", "pennies"], DOLLAR, (1, 1)),
    (&["€", "euro", "euros", "eur"], EURO, (100, 1)),
    (&["£", "gbp"], POUND, (100, 1)),
    (&["pence"], POUND, (1, 1)),
    (&["¥", "yen", "₹", "rupee", "rupees"], OTHER_MONEY, (1, 1)),
    (&["dozen", "dozens"], COUNT, (12, 1)),
    (&["pair", "pairs", "couple", "couples"], COUNT, (2, 1)),
    (&["bit", "bits"], DATA, (1, 8)),
    (&["byte", "bytes"], DATA, (1, 1)),
    (&["kb", "kilobyte", "kilobytes"], DATA, (1_000, 1)),
    (&["mb", "megabyte", "megabytes"], DATA, (1_000_000, 1)),
    (&["gb", "gigabyte", "gigabytes"], DATA, (1_000_000_000, 1)),
    (&["tb", "terabyte", "terabytes"], DATA, (1_000_000_000_000, 1)),
    (&["kib"], DATA, (1 << 10, 1)),
    (&["mib"], DATA, (1 << 20, 1)),
    (&["gib"], DATA, (1 << 30, 1)),
    (&["j", "joule", "joules"], ENERGY, (1, 1)),
    (&["kj"], ENERGY, (1_000, 1)),
    (&["wh"], ENERGY, (3_600, 1)),
    (&["kwh"], ENERGY, (3_600_000, 1)),
    (&["mwh"], ENERGY, (3_600_000_000, 1)),
];

/// Bytes of the longest name.
const NAME_BYTES_MAX: usize = 12;

impl Unit {
    /// The unit of this name, in any case.
    pub fn of(name: &str) -> Option<Unit> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return None;
        }
        let at = UNITS.iter().position(|(names, ..)| names.iter().any(|known| known.eq_ignore_ascii_case(name)))?;
        let (_, kind, factor) = UNITS[at];
        Some(Unit { id: at as u8, kind, factor })
    }

    fn factor(self) -> Exact {
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
pub struct Units(u64);

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
        let has = move |id: &usize| self.0 & (1 << id) != 0;
        (0..UNITS.len()).filter(has).map(|id| Unit { id: id as u8, kind: UNITS[id].1, factor: UNITS[id].2 })
    }

    /// Whether two different units measure the same, so that a number may stand converted.
    pub fn are_mixed(self) -> bool {
        let group = |unit: &Unit| if unit.kind == CALENDAR { TIME } else { unit.kind };
        let units: Vec<Unit> = self.iter().collect();
        units.iter().enumerate().any(|(at, a)| units[..at].iter().any(|b| group(a) == group(b)))
    }

    /// Factors by which a bare number of another unit must be multiplied to be one of these: 1/60 for hours, from minutes.
    /// Units of `others` are not bare. Powers of ten are left out, except for cents to dollars: they are slips, too.
    pub fn factors(self, others: Units) -> Vec<Exact> {
        let mut factors = Vec::new();
        for unit in self.iter().filter(|unit| others.iter().all(|other| other.kind != unit.kind)) {
            for (names, _, factor) in UNITS.iter().filter(|(_, kind, _)| *kind == unit.kind) {
                let Some(factor) = Exact::fraction(factor.0, factor.1).div(&unit.factor()) else { continue };
                let inverse = Exact::whole(1).div(&factor);
                let is_even = factor.is_whole() || inverse.as_ref().is_some_and(Exact::is_whole);
                let size = factor.to_whole().or_else(|| inverse.and_then(|inverse| inverse.to_whole())).unwrap_or(1);
                let is_power_of_ten = size.to_string().trim_end_matches('0') == "1";
                if is_even && (!is_power_of_ten || names[0] == "cent" || names[0] == "pence" || unit.id == cents()) {
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
        let ids: Vec<u8> = UNITS.iter().flat_map(|(names, ..)| Unit::of(names[0])).map(|unit| unit.id).collect();
        assert_eq!(ids.len(), UNITS.len());
        assert!(
            UNITS.len() <= 64
                && UNITS.iter().all(|(names, kind, _)| {
                    usize::from(*kind) < KINDS && names.iter().all(|name| name.len() <= NAME_BYTES_MAX + 2)
                })
        );
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
