//! Records that wait for further fragments, with what they take.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    mem,
};

use crate::{input::Place, record::Format};

use super::{Load, Step};

/// A record that waits.
#[derive(Debug)]
pub struct Open<B> {
    key: u64,
    /// Where its first fragment stands.
    pub place: Place,
    /// What its first fragment was written by.
    pub format: Format,
    bytes: u64,
    /// What is known of it.
    pub body: B,
}

/// Records that wait, each under a key and the number of the entry that began it.
#[derive(Debug)]
pub struct Waiting<B> {
    open: BTreeMap<u64, Open<B>>,
    by_key: HashMap<u64, VecDeque<u64>>,
    bytes: u64,
}

impl<B> Default for Waiting<B> {
    fn default() -> Waiting<B> {
        Waiting { open: BTreeMap::new(), by_key: HashMap::new(), bytes: 0 }
    }
}

impl<B> Waiting<B> {
    /// What waits.
    pub fn load(&self) -> Load {
        let oldest = self.open.keys().next().copied();
        Load { records: self.open.len(), bytes: self.bytes, oldest }
    }

    /// Begins a record with the fragment at hand.
    pub fn begin(&mut self, step: &Step, key: u64, body: B) -> u64 {
        let number = step.number;
        debug_assert!(!self.open.contains_key(&number), "an entry begins one record");
        let open = Open { key, place: step.place.clone(), format: step.format, bytes: step.bytes, body };
        self.bytes += open.bytes;
        self.open.insert(number, open);
        self.by_key.entry(key).or_default().push_back(number);
        number
    }

    /// The oldest record that waits under a key.
    pub fn find(&self, key: u64) -> Option<u64> {
        self.by_key.get(&key)?.front().copied()
    }

    /// The record of a number.
    pub fn get(&self, number: u64) -> Option<&Open<B>> {
        self.open.get(&number)
    }

    /// What is known of the record of a number.
    pub fn body(&mut self, number: u64) -> Option<&mut B> {
        self.open.get_mut(&number).map(|open| &mut open.body)
    }

    /// Adds the bytes of a fragment to a record.
    pub fn grow(&mut self, number: u64, bytes: u64) {
        if let Some(open) = self.open.get_mut(&number) {
            open.bytes += bytes;
            self.bytes += bytes;
        }
    }

    /// Gives back the bytes of what has come out of a record that goes on: `kept` are left.
    pub fn settle(&mut self, number: u64, kept: u64) {
        if let Some(open) = self.open.get_mut(&number) {
            self.bytes = self.bytes + kept - mem::replace(&mut open.bytes, kept);
        }
    }

    /// Takes the record of a number out.
    pub fn take(&mut self, number: u64) -> Option<Open<B>> {
        let open = self.open.remove(&number)?;
        self.bytes -= open.bytes;
        if let Some(waiting) = self.by_key.get_mut(&open.key) {
            // As a rule the oldest goes first; a search each time would make many of one name quadratic.
            match waiting.front() == Some(&number) {
                true => drop(waiting.pop_front()),
                false => waiting.retain(|other| *other != number),
            }
            if waiting.is_empty() {
                self.by_key.remove(&open.key);
            }
        }
        Some(open)
    }

    /// Takes the oldest record under a key out.
    pub fn take_of(&mut self, key: u64) -> Option<Open<B>> {
        let number = self.find(key)?;
        self.take(number)
    }

    /// Takes the oldest record out.
    pub fn take_oldest(&mut self) -> Option<Open<B>> {
        let number = self.open.keys().next().copied()?;
        self.take(number)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    fn step(number: u64, bytes: u64) -> Step {
        let place = Place { source: Arc::from("log"), line: number, item: None, byte: 0 };
        let format = Format::default();
        Step { place, format, bytes, number, records: Vec::new(), traffic: Vec::new() }
    }

    #[test]
    fn the_oldest_of_a_key_is_found_first() {
        let mut waiting = Waiting::default();
        for (number, key) in [(1, 7), (2, 8), (3, 7)] {
            assert_eq!(waiting.begin(&step(number, 10), key, number * 100), number);
        }
        assert_eq!((waiting.find(7), waiting.find(8), waiting.find(9)), (Some(1), Some(2), None));
        assert_eq!(waiting.get(2).map(|open| (open.place.line, open.body)), Some((2, 200)));
        *waiting.body(3).unwrap() += 1;
        assert_eq!(waiting.take(1).map(|open| open.body), Some(100));
        assert_eq!(waiting.take_of(7).map(|open| open.body), Some(301));
        assert_eq!((waiting.find(7), waiting.take(3).is_none()), (None, true), "what was taken is gone");
        assert_eq!(waiting.take_oldest().map(|open| open.body), Some(200));
        assert!(waiting.take_oldest().is_none() && waiting.by_key.is_empty());
    }

    #[test]
    fn bytes_are_counted_as_long_as_they_wait() {
        let mut waiting = Waiting::default();
        waiting.begin(&step(1, 10), 7, ());
        waiting.grow(1, 5);
        waiting.begin(&step(2, 100), 8, ());
        waiting.grow(9, 1_000);
        assert_eq!(waiting.load().bytes, 115);
        waiting.settle(1, 3);
        waiting.settle(9, 1_000);
        assert_eq!(waiting.load().bytes, 103);
        waiting.take(1);
        assert_eq!((waiting.load().bytes, waiting.load().oldest), (100, Some(2)));
    }

    proptest! {
        /// It is the same as a list that is searched from its beginning.
        #[test]
        fn what_waits_is_a_list(acts in prop::collection::vec((0u8..6, 0u64..4, 0u64..100), 0..60)) {
            let mut waiting = Waiting::default();
            let mut list: Vec<(u64, u64, u64)> = Vec::new();
            for (number, (act, key, bytes)) in (1..).zip(acts) {
                let of_key = list.iter().position(|(_, other, _)| *other == key);
                let last = list.len().checked_sub(1);
                let gone = match act {
                    0 | 1 => {
                        waiting.begin(&step(number, bytes), key, number);
                        list.push((number, key, bytes));
                        continue;
                    }
                    2 => {
                        let found = of_key.map(|at| { list[at].2 += bytes; list[at].0 });
                        prop_assert_eq!(waiting.find(key), found);
                        waiting.grow(found.unwrap_or(0), bytes);
                        continue;
                    }
                    3 => (waiting.take_of(key), of_key),
                    4 => (waiting.take_oldest(), last.map(|_| 0)),
                    _ => (last.and_then(|at| waiting.take(list[at].0)), last),
                };
                prop_assert_eq!(gone.0.map(|open| open.body), gone.1.map(|at| list.remove(at).0));
                let load = waiting.load();
                let bytes = list.iter().map(|(_, _, bytes)| bytes).sum::<u64>();
                prop_assert_eq!((load.records, load.bytes, load.oldest), (list.len(), bytes, list.first().map(|one| one.0)));
                prop_assert_eq!(waiting.by_key.values().map(VecDeque::len).sum::<usize>(), list.len());
            }
        }
    }
}
