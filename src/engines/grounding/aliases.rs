//! Codes and names that stand for the same thing: `LAX` and "Los Angeles", `dob` and "date of birth".
//!
//! **Source**: `aliases.toml`: ISO 4217, ISO 3166 and IATA codes, signs of units, keys that data has for words.
//!
//! **Limits**: common ones. A code that is a word of English ("in", "no", "it") stands for its group only where the
//! sources write it in capitals or as the key of data. Names and their initials are found by rule ([`super::index`]).

use std::sync::LazyLock;

use serde::Deserialize;

use super::tokens::tokens;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    keys: Vec<String>,
    units: Vec<String>,
    currencies: Vec<String>,
    countries: Vec<String>,
    airports: Vec<String>,
}

/// Members of a group by the stems of their words.
pub type Group = Vec<Vec<u32>>;

static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| {
    let file: File = toml::from_str(include_str!("aliases.toml")).expect("a test reads the table");
    let lines = [file.keys, file.units, file.currencies, file.countries, file.airports].into_iter().flatten();
    let stems = |member: &str| {
        let mut stems = Vec::new();
        tokens(member, 0..member.len(), |token| stems.push(token.stem));
        stems
    };
    lines.map(|line| line.split(',').map(stems).collect()).collect()
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
