//! Records that wait for further fragments, with what they take.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    mem,
};

use crate::{input::Place, record::Format};

use super::{Load, Step};

/// Numbers of one entry, as bits.
const ENTRY_BITS: u32 = 16;

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

/// Records that wait, each under a key and a number, which tells which of them began first.
#[derive(Debug)]
pub struct Waiting<B> {
    open: BTreeMap<u64, Open<B>>,
    /// The highest number so far.
    last: u64,
    by_key: HashMap<u64, VecDeque<u64>>,
    bytes: u64,
}

impl<B> Default for Waiting<B> {
    fn default() -> Waiting<B> {
        Waiting { open: BTreeMap::new(), last: 0, by_key: HashMap::new(), bytes: 0 }
    }
}

impl<B> Waiting<B> {
    /// What waits.
    pub fn load(&self) -> Load {
        let oldest = self.open.keys().next().copied();
        Load { records: self.open.len(), bytes: self.bytes, oldest }
    }

    /// Begins a record with the fragment at hand. One entry may begin several: what waited in one place goes on to another.
    pub fn begin(&mut self, step: &Step, key: u64, body: B) -> u64 {
        let number = (step.number << ENTRY_BITS).max(self.last + 1);
        self.last = number;
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
        let (mut waiting, mut began) = (Waiting::default(), Vec::new());
        for (number, key) in [(1, 7), (2, 8), (3, 7)] {
            began.push(waiting.begin(&step(number, 10), key, number * 100));
        }
        let [first, second, third] = began[..] else { panic!("three began") };
        assert_eq!((waiting.find(7), waiting.find(8), waiting.find(9)), (Some(first), Some(second), None));
        assert_eq!(waiting.get(second).map(|open| (open.place.line, open.body)), Some((2, 200)));
        *waiting.body(third).unwrap() += 1;
        assert_eq!(waiting.take(first).map(|open| open.body), Some(100));
        assert_eq!(waiting.take_of(7).map(|open| open.body), Some(301));
        assert_eq!((waiting.find(7), waiting.take(third).is_none()), (None, true), "what was taken is gone");
        assert_eq!(waiting.take_oldest().map(|open| open.body), Some(200));
        assert!(waiting.take_oldest().is_none() && waiting.by_key.is_empty());
    }

    #[test]
    fn bytes_are_counted_as_long_as_they_wait() {
        let mut waiting = Waiting::default();
        let first = waiting.begin(&step(1, 10), 7, ());
        waiting.grow(first, 5);
        let second = waiting.begin(&step(2, 100), 8, ());
        let unknown = second + 1;
        waiting.grow(unknown, 1_000);
        assert_eq!(waiting.load().bytes, 115);
        waiting.settle(first, 3);
        waiting.settle(unknown, 1_000);
        assert_eq!(waiting.load().bytes, 103);
        waiting.take(first);
        assert_eq!((waiting.load().bytes, waiting.load().oldest), (100, Some(second)));
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
                        list.push((waiting.begin(&step(number, bytes), key, number), key, bytes));
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
                prop_assert_eq!(gone.0.map(|open| open.body << ENTRY_BITS), gone.1.map(|at| list.remove(at).0));
                let load = waiting.load();
                let bytes = list.iter().map(|(_, _, bytes)| bytes).sum::<u64>();
                prop_assert_eq!((load.records, load.bytes, load.oldest), (list.len(), bytes, list.first().map(|one| one.0)));
                prop_assert_eq!(waiting.by_key.values().map(VecDeque::len).sum::<usize>(), list.len());
            }
        }
    }

    #[test]
    fn one_entry_may_begin_several_records() {
        let mut waiting = Waiting::default();
        let first = waiting.begin(&step(7, 1), 1, "first");
        let second = waiting.begin(&step(7, 1), 2, "second");
        let third = waiting.begin(&step(8, 1), 1, "third");
        assert!(first < second && second < third);
        assert_eq!(waiting.load().records, 3);
        assert_eq!(waiting.take_oldest().map(|open| open.body), Some("first"));
        assert_eq!(waiting.take_of(1).map(|open| open.body), Some("third"));
        assert_eq!(waiting.take_of(2).map(|open| open.body), Some("second"));
    }
}
