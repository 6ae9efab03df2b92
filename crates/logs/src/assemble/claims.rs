//! Records of the log's own for calls that conversations tell once more: which belongs to which.
//!
//! A call has several names: its id, and tool and arguments within its trace or session, since tracers often leave out the
//! id on one of the two sides. Whatever waits here is found under any of its names, and is taken once: two calls that are
//! alike need two records.
//!
//! **Limits**: arguments that the two sides write differently are not the same. What waits is bounded by its owner.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::hash;

use super::tool_calls::is_unique;

/// The names of a call.
#[derive(Debug, Default)]
pub struct Names {
    /// Those under which it is found.
    own: Vec<u64>,
    /// Those under which its counterpart is looked for, the surest first.
    wanted: Vec<u64>,
}

impl Names {
    /// The names of a call in these groups: its trace, its session. Two ids that differ are two calls, whatever else agrees.
    pub fn of(groups: &[u64], id: Option<&str>, tool: &str, args: u64) -> Names {
        let mut names = Names::default();
        match id.map(|id| (id, hash::name(id))) {
            Some((id, name)) if is_unique(id) => names.own.push(hash::combine(0, name)),
            Some((_, name)) => {
                let named = hash::combine(name, hash::name(tool));
                names.own.extend(groups.iter().map(|group| hash::combine(*group, named)));
            }
            None => {}
        }
        names.wanted.clone_from(&names.own);
        let alike = hash::combine(hash::name(tool), args);
        for group in groups {
            let alike = |has_id: bool| hash::combine(hash::combine(*group, alike), u64::from(has_id));
            names.own.push(alike(id.is_some()));
            names.wanted.push(alike(false));
            names.wanted.extend(id.is_none().then(|| alike(true)));
        }
        names
    }

    /// Whether the call has no name that tells it from others.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
    }
}

/// What waits for its counterpart, by number.
#[derive(Debug, Default)]
pub struct Claims {
    names: BTreeMap<u64, Vec<u64>>,
    numbers: HashMap<u64, BTreeSet<u64>>,
}

impl Claims {
    /// Lets `number` wait under these names.
    pub fn put(&mut self, number: u64, names: Names) {
        for name in &names.own {
            self.numbers.entry(*name).or_default().insert(number);
        }
        self.names.insert(number, names.own);
    }

    /// The oldest that waits under one of the names looked for.
    pub fn find(&self, names: &Names) -> Option<u64> {
        names.wanted.iter().find_map(|name| self.numbers.get(name)?.first().copied())
    }

    /// Takes the oldest that waits under one of the names looked for.
    pub fn take(&mut self, names: &Names) -> Option<u64> {
        let number = self.find(names)?;
        self.remove(number);
        Some(number)
    }

    /// Lets `number` wait no longer.
    pub fn remove(&mut self, number: u64) {
        for name in self.names.remove(&number).unwrap_or_default() {
            if let Some(numbers) = self.numbers.get_mut(&name) {
                numbers.remove(&number);
                if numbers.is_empty() {
                    self.numbers.remove(&name);
                }
            }
        }
    }

    /// Lets the oldest go until at most `most` wait.
    pub fn shrink(&mut self, most: usize) {
        while self.names.len() > most
            && let Some(oldest) = self.names.keys().next().copied()
        {
            self.remove(oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_by_its_id_or_by_what_it_is() {
        const LONG: &str = "call_MY94XAcnfHzfAZcVHqt5FRRQ";
        let of =
            |groups: &[u64], id: &'static str, args| Names::of(groups, Some(id).filter(|id| !id.is_empty()), "f", args);
        for (waits, sought, expected) in [
            (of(&[1], "", 7), of(&[1], "", 7), true),
            (of(&[1], "", 7), of(&[1], "", 8), false),
            (of(&[1], "", 7), of(&[2], "", 7), false),
            (of(&[1, 2], "", 7), of(&[3, 2], "", 7), true),
            (of(&[1], "c", 7), of(&[1], "", 7), true),
            (of(&[1], "", 7), of(&[1], "c", 7), true),
            (of(&[1], "c", 7), of(&[1], "d", 7), false),
            (of(&[1], "c", 7), of(&[1], "c", 8), true),
            (of(&[1], "c", 7), of(&[2], "c", 7), false),
            (of(&[], LONG, 7), of(&[2], LONG, 8), true),
        ] {
            let mut claims = Claims::default();
            claims.put(1, waits);
            assert_eq!(claims.take(&sought).is_some(), expected, "{sought:?}");
            assert!(!expected || claims.numbers.is_empty(), "it is taken once, under all its names");
        }
        assert!(of(&[], "", 7).is_empty() && of(&[], "c", 7).is_empty());
    }

    #[test]
    fn the_oldest_goes_first() {
        let mut claims = Claims::default();
        (0..5).for_each(|number| claims.put(number, Names::of(&[1], None, "f", 7)));
        claims.shrink(3);
        assert_eq!(claims.take(&Names::of(&[1], None, "f", 7)), Some(2));
        claims.shrink(0);
        assert!(claims.names.is_empty() && claims.numbers.is_empty());
    }
}
