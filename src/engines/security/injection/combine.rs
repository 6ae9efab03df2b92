//! A set of features → points.
//!
//! **Formula**: `override` is the largest of the combinations all of whose terms hold; `persona` a curve over
//! the sum of 2 per strong, 1 per weak and ½ per faint feature; points = max + ¼ min + 0.02 · that sum + 0.01 ·
//! combinations (at most ten), so that what shows more is never level with what shows less.
//!
//! **Range**: 0 to about 17; where they flag and block is said in [`super::scale`].
//!
//! **Source**: `tables/injection/combinations.toml`, each with its reason.

use serde::Deserialize;

use super::features::{Names, Set};

/// The share of the smaller channel that is added to the larger.
const SMALLER_SHARE: f64 = 0.25;
/// Points per persona feature and per combination that only break ties.
const PERSONA_TIE: f64 = 0.02;
const COMBINATION_TIE: f64 = 0.01;
const COMBINATIONS_TIED_MAX: usize = 10;

const TABLE: &str = include_str!("../../../rules/tables/injection/combinations.toml");

/// The combinations and the persona curve.
#[derive(Clone, Debug)]
pub struct Combinations {
    combinations: Vec<Combination>,
    strong: Set,
    weak: Set,
    faint: Set,
    curve: Vec<(f64, f64)>,
}

#[derive(Clone, Debug)]
struct Combination {
    points: f64,
    /// One feature of each must be there.
    terms: Vec<Set>,
    why: String,
}

/// What the features of a stretch come to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Points<'c> {
    /// Both channels together.
    pub total: f64,
    /// The override channel.
    pub overriding: f64,
    /// The persona channel.
    pub persona: f64,
    /// The features that contributed.
    pub contributing: Set,
    /// Why the combination with the most points has them; empty when there is none.
    pub why: &'c str,
}

impl Combinations {
    /// The built-in ones.
    pub fn built_in(names: &Names) -> Combinations {
        // A table that cannot be read is a defect of this crate, and `the_table_is_sound` names it.
        Combinations::read(TABLE, names).unwrap_or(Combinations {
            combinations: Vec::new(),
            strong: Set::default(),
            weak: Set::default(),
            faint: Set::default(),
            curve: Vec::new(),
        })
    }

    /// Those of a table.
    ///
    /// # Errors
    /// When it is no table of combinations, or names a feature that there is not.
    pub fn read(text: &str, names: &Names) -> Result<Combinations, String> {
        let file: File = toml::from_str(text).map_err(|e| e.to_string())?;
        let member = |name: &str| match names.feature(name) {
            Some(feature) => Ok(Set::of(feature)),
            None => Err(format!("there is no feature `{name}`")),
        };
        let all = |list: &[String]| {
            list.iter().try_fold(Set::default(), |set, name| Ok::<_, String>(set.with(member(name)?)))
        };
        let term = |term: &String| {
            term.split('|').try_fold(Set::default(), |set, name| match file.groups.get(name) {
                Some(group) => Ok::<_, String>(set.with(all(group)?)),
                None => Ok(set.with(member(name)?)),
            })
        };
        let combinations = file.combination.iter().map(|entry| {
            let terms = entry.when.iter().map(term).collect::<Result<_, _>>()?;
            Ok(Combination { points: entry.points, terms, why: entry.why.clone() })
        });
        Ok(Combinations {
            combinations: combinations.collect::<Result<_, String>>()?,
            strong: all(&file.persona.strong)?,
            weak: all(&file.persona.weak)?,
            faint: all(&file.persona.faint)?,
            curve: file.persona.curve.clone(),
        })
    }

    /// What a stretch comes to: `set` is all that it shows, `near` what it shows part by part.
    pub fn points(&self, set: Set, near: &[Set]) -> Points<'_> {
        let (mut points, held) = near.iter().map(|set| self.overriding(*set)).fold(
            (Points::default(), 0),
            |(best, most), (points, held)| {
                if (points.overriding, held) > (best.overriding, most) { (points, held) } else { (best, most) }
            },
        );
        let counts = [(2.0, self.strong), (1.0, self.weak), (0.5, self.faint)];
        let sum: f64 = counts.iter().map(|(each, features)| each * f64::from(set.shared(*features))).sum();
        points.persona = along(&self.curve, sum);
        if points.persona >= 1.0 {
            points.contributing.0 |= (self.strong.0 | self.weak.0 | self.faint.0) & set.0;
        }
        let (larger, smaller) = (points.overriding.max(points.persona), points.overriding.min(points.persona));
        let ties = PERSONA_TIE * sum + COMBINATION_TIE * held.min(COMBINATIONS_TIED_MAX) as f64;
        points.total = larger + SMALLER_SHARE * smaller + ties;
        points
    }

    /// The override channel of `set`, and how many combinations hold.
    fn overriding(&self, set: Set) -> (Points<'_>, usize) {
        let mut points = Points::default();
        let mut held = 0;
        for combination in self.combinations.iter().filter(|combination| combination.holds(set)) {
            held += 1;
            for term in &combination.terms {
                points.contributing.0 |= term.0 & set.0;
            }
            if combination.points > points.overriding {
                points.overriding = combination.points;
                points.why = &combination.why;
            }
        }
        (points, held)
    }
}

impl Combination {
    fn holds(&self, set: Set) -> bool {
        self.terms.iter().all(|term| set.meets(*term))
    }
}

/// The height of a curve of straight lines; level before its first and behind its last point.
pub fn along(curve: &[(f64, f64)], x: f64) -> f64 {
    let Some(&(first, height)) = curve.first() else { return 0.0 };
    if x <= first {
        return height;
    }
    for pair in curve.windows(2) {
        let ((from, low), (to, high)) = (pair[0], pair[1]);
        if x <= to {
            return low + (high - low) * (x - from) / (to - from);
        }
    }
    curve.last().map_or(0.0, |(_, height)| *height)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    groups: std::collections::BTreeMap<String, Vec<String>>,
    persona: Persona,
    combination: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Persona {
    strong: Vec<String>,
    weak: Vec<String>,
    faint: Vec<String>,
    curve: Vec<(f64, f64)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    points: f64,
    when: Vec<String>,
    why: String,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rules::Library;

    fn built_in() -> (Names, Combinations) {
        let names = Names::of(&Library::built_in());
        let combinations = Combinations::read(TABLE, &names);
        (names, combinations.unwrap())
    }

    #[test]
    fn the_table_is_sound() {
        let (_, combinations) = built_in();
        assert!(combinations.combinations.iter().all(|entry| !entry.why.is_empty() && !entry.terms.is_empty()));
        assert!(combinations.curve.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
    }

    #[test]
    fn a_table_that_names_an_unknown_feature_is_refused() {
        let names = Names::of(&Library::built_in());
        let table = TABLE.replace("\"stop_and_do\"]\nwhy", "\"stop_and_think\"]\nwhy");
        assert_eq!(Combinations::read(&table, &names).unwrap_err(), "there is no feature `stop_and_think`");
    }

    #[test]
    fn the_larger_channel_counts_in_full_and_the_smaller_by_a_quarter() {
        let (names, combinations) = built_in();
        let clear = combinations
            .points(names.set(["override_previous", "upto_160"]), &[names.set(["override_previous", "upto_160"])]);
        assert_eq!((clear.overriding, clear.persona), (10.0, 0.0));
        let persona = combinations.points(
            names.set(["persona_unbound", "never_refuse", "must_obey", "act_as"]),
            &[names.set(["persona_unbound", "never_refuse", "must_obey", "act_as"])],
        );
        assert_eq!((persona.overriding, persona.persona), (0.0, 6.0));
        let both = ["override_previous", "upto_160", "persona_unbound", "never_refuse", "must_obey", "act_as"];
        let both = combinations.points(names.set(both), &[names.set(both)]);
        assert!((both.total - (10.0 + 1.5 + 0.14 + 0.02)).abs() < 1e-9, "{both:?}");
        assert_eq!(combinations.points(Set::default(), &[]), Points::default());
    }

    proptest! {
        #[test]
        fn a_further_feature_never_lowers_the_points(set: u128, feature in 0_u8..128) {
            let (_, combinations) = built_in();
            let set = Set(set);
            let more = set.with(Set::of(feature));
            let (more, less) = (combinations.points(more, &[more]), combinations.points(set, &[set]));
            prop_assert!(more.total >= less.total - 1e-9);
        }
    }
}
