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
