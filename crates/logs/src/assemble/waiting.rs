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
    use super::*;

    #[test]
    fn one_entry_may_begin_several_records() {
        let mut waiting = Waiting::default();
        let place = Place { source: "a".into(), line: 1, item: None, byte: 0 };
        let mut step =
            Step { place, format: Format::default(), bytes: 1, number: 7, records: Vec::new(), traffic: Vec::new() };
        let first = waiting.begin(&step, 1, "first");
        let second = waiting.begin(&step, 2, "second");
        step.number = 8;
        let third = waiting.begin(&step, 1, "third");
        assert!(first < second && second < third);
        assert_eq!(waiting.load().records, 3);
        assert_eq!(waiting.take_oldest().map(|open| open.body), Some("first"));
        assert_eq!(waiting.take_of(1).map(|open| open.body), Some("third"));
        assert_eq!(waiting.take_of(2).map(|open| open.body), Some("second"));
    }
}
