//! A set of features → points.
//!
//! **Formula**: a combination holds when each of its terms has a feature; its points are lowered by the doubt of its most
//! doubtful term, and the doubt of a term is that of its least doubtful feature ([`super::exculpate`]). `override` is the
//! largest of what is left; `persona` a curve over the sum of 2 per strong, 1 per weak and ½ per faint feature, each less
//! its doubt; points = max + ¼ min + 0.02 · that sum + 0.01 · combinations (at most ten), so that what shows more is
//! never level with what shows less.
//!
//! **Range**: 0 to about 17; where they flag and block is said in [`super::scale`].
//!
//! **Source**: `tables/injection/combinations.toml`, each with its reason.

use serde::Deserialize;

use super::features::{Names, Part, Set};

/// The share of the smaller channel that is added to the larger.
const SMALLER_SHARE: f64 = 0.25;
/// Points per persona feature and per combination that only break ties.
const PERSONA_TIE: f64 = 0.02;
const COMBINATION_TIE: f64 = 0.01;
/// Doubt that leaves nothing of a persona feature.
const DOUBT_FULL: f64 = 6.0;
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

    /// What a stretch comes to: `whole` is all that it shows, `near` what it shows part by part.
    pub fn points(&self, whole: &Part, near: &[Part]) -> Points<'_> {
        let (mut points, held) = near.iter().map(|part| self.overriding(part)).fold(
            (Points::default(), 0),
            |(best, most), (points, held)| {
                if (points.overriding, held) > (best.overriding, most) { (points, held) } else { (best, most) }
            },
        );
        let counts = [(2.0, self.strong), (1.0, self.weak), (0.5, self.faint)];
        let left = |feature: u8| (1.0 - whole.doubt(feature) / DOUBT_FULL).max(0.0);
        let sum_of = |features: Set| whole.set.both(features).features().map(left).sum::<f64>();
        let sum: f64 = counts.iter().map(|(each, features)| each * sum_of(*features)).sum();
        points.persona = along(&self.curve, sum);
        if points.persona >= 1.0 {
            let all = self.strong.with(self.weak).with(self.faint);
            points.contributing = points.contributing.with(all.both(whole.set));
        }
        let (larger, smaller) = (points.overriding.max(points.persona), points.overriding.min(points.persona));
        let ties = PERSONA_TIE * sum + COMBINATION_TIE * held.min(COMBINATIONS_TIED_MAX) as f64;
        points.total = larger + SMALLER_SHARE * smaller + ties;
        points
    }

    /// The override channel of what stands together, and how many combinations hold.
    fn overriding(&self, part: &Part) -> (Points<'_>, usize) {
        let mut points = Points::default();
        let mut held = 0;
        for combination in self.combinations.iter().filter(|combination| combination.holds(part.set)) {
            let left = combination.points - combination.doubt(part);
            if left <= 0.0 {
                continue;
            }
            held += 1;
            for term in &combination.terms {
                points.contributing = points.contributing.with(term.both(part.set));
            }
            if left > points.overriding {
                points.overriding = left;
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

    /// The doubt of the most doubtful term, which has the doubt of its least doubtful feature.
    fn doubt(&self, part: &Part) -> f64 {
        if part.doubts.is_empty() {
            return 0.0;
        }
        let of_term = |term: &Set| {
            let doubts = term.both(part.set).features().map(|feature| part.doubt(feature));
            doubts.fold(f64::INFINITY, f64::min)
        };
        self.terms.iter().map(of_term).fold(0.0, f64::max)
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
        let points = |features: &[&str]| {
            let part = Part::of(names.set(features.iter().copied()));
            combinations.points(&part, std::slice::from_ref(&part))
        };
        let clear = points(&["override_previous", "upto_160"]);
        assert_eq!((clear.overriding, clear.persona), (10.0, 0.0));
        let persona = points(&["persona_unbound", "never_refuse", "must_obey", "act_as"]);
        assert_eq!((persona.overriding, persona.persona), (0.0, 6.0));
        let both = points(&["override_previous", "upto_160", "persona_unbound", "never_refuse", "must_obey", "act_as"]);
        assert!((both.total - (10.0 + 1.5 + 0.14 + 0.02)).abs() < 1e-9, "{both:?}");
        assert_eq!(points(&[]), Points::default());
    }

    #[test]
    fn doubt_lowers_what_it_is_about() {
        let (names, combinations) = built_in();
        let feature = |name: &str| names.feature(name).unwrap();
        let total = |part: &Part| combinations.points(part, std::slice::from_ref(part)).total;
        let mut part = Part::of(names.set(["override_previous", "override_all", "upto_160"]));
        assert!(total(&part) >= 10.0);
        part.doubts = vec![(feature("override_previous"), 7.0)];
        assert!(total(&part) >= 10.0, "the other feature is not doubted");
        part.doubts.push((feature("override_all"), 6.0));
        assert!((total(&part) - 4.01).abs() < 0.02);
        let mut persona = Part::of(names.set(["persona_unbound", "never_refuse", "must_obey", "act_as"]));
        let certain = total(&persona);
        persona.doubts = vec![(feature("persona_unbound"), 6.0)];
        assert!(total(&persona) < certain - 1.0);
    }

    proptest! {
        #[test]
        fn more_incriminates_and_doubt_exculpates(features in prop::collection::vec(0_u8..=255, 0..40), feature: u8, doubt in 0.0..9.0_f64) {
            let (_, combinations) = built_in();
            let set = features.iter().fold(Set::default(), |set, feature| set.with(Set::of(*feature)));
            let total = |part: &Part| combinations.points(part, std::slice::from_ref(part)).total;
            let less = total(&Part::of(set));
            prop_assert!(total(&Part::of(set.with(Set::of(feature)))) >= less - 1e-9);
            let doubted = Part { set, doubts: features.iter().map(|feature| (*feature, doubt)).collect() };
            prop_assert!((0.0..=less + 1e-9).contains(&total(&doubted)));
        }
    }
}
