//! Codes and names that stand for the same thing: `LAX` and "Los Angeles", `dob` and "date of birth".
//!
//! **Source**: `aliases.toml`: ISO 4217, ISO 3166 and IATA codes, keys that data has for words; units and their signs are those of
//! [`unit`].
//!
//! **Limits**: common ones. A code that is a word of English ("in", "no", "it") stands for its group only where the
//! sources write it in capitals or as the key of data. Names and their initials are found by rule ([`super::index`]).

use std::sync::LazyLock;

use serde::Deserialize;

use super::tokens::tokens;
use crate::text::quantity::unit;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    keys: Vec<String>,
    currencies: Vec<String>,
    countries: Vec<String>,
    airports: Vec<String>,
}

/// Members of a group by the stems of their words.
pub type Group = Vec<Vec<u32>>;

static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| {
    let file: File = toml::from_str(include_str!("aliases.toml")).expect("a test reads the table");
    // Units have one home; a code that is the key of something else is none here.
    let is_key = |name: &str| file.keys.iter().any(|line| line.split(',').any(|member| member.trim() == name));
    let names = |names: &[String]| names.iter().filter(|name| !is_key(name)).cloned().collect::<Vec<_>>().join(",");
    let units: Vec<String> = unit::names().map(names).filter(|line| line.contains(',')).collect();
    let lines = [file.keys, units, file.currencies, file.countries, file.airports].into_iter().flatten();
    let stems = |member: &str| {
        let mut stems = Vec::new();
        tokens(member, 0..member.len(), |token| stems.push(token.stem));
        stems
    };
    // A sign ("€") has no stem.
    let group = |line: String| line.split(',').map(stems).filter(|stems| !stems.is_empty()).collect::<Group>();
    lines.map(group).filter(|group| group.len() > 1).collect()
});

/// The groups.
pub fn groups() -> &'static [Group] {
    &GROUPS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::grounding::tokens::stem_of;

    #[test]
    fn groups_have_members() {
        assert!(groups().iter().all(|group| group.len() >= 2 && group.iter().all(|member| !member.is_empty())));
        let lax = groups().iter().find(|group| group[0] == [stem_of("LAX")]).unwrap();
        assert_eq!(lax[1], [stem_of("los"), stem_of("angeles")]);
    }
}
