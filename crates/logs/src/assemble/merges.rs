//! Objects that a log tells in several parts: a post when they begin and patches as they go on, in the same batch or in
//! others.
//!
//! Parts are merged key by key: what a later part says replaces what an earlier one said, but null and "" replace nothing.
//! An object that has ended waits for [`GRACE_FRAGMENTS`] further parts of any object, since clients send token counts
//! and scores after the end. What comes later than that is merged into nothing.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
};

use lru::LruCache;

use crate::record::{
    Content, Entry, Fragment,
    call::{Entries, is_said},
    json::Json,
};

use super::{Fate, Joined, Joiner, Limits, Load, Step, Whole, waiting::Waiting};

/// Parts that may follow the end of an object before no more is waited for.
pub const GRACE_FRAGMENTS: u64 = 1_024;

/// What the parts of a writer's objects are told by, and read as.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// The hash of the id that the parts of an object have in common.
    pub key: fn(&Json<'_>) -> Option<u64>,
    /// Whether an object says that it has ended.
    pub has_ended: fn(&Json<'_>) -> bool,
    /// Reads an object.
    pub(crate) read: for<'a> fn(Json<'a>, &mut Entries<'a>),
}

/// Merges the parts of a writer's objects.
#[derive(Debug)]
pub struct Merges {
    parts: Parts,
    open: Waiting<Merged>,
    /// Objects that have ended: when, and which.
    ended: VecDeque<(u64, u64)>,
    late: LruCache<u64, ()>,
    fragments: u64,
}

impl Merges {
    /// A joiner that holds nothing yet.
    pub fn new(parts: Parts, limits: &Limits) -> Merges {
        let late = LruCache::new(limits.answers());
        Merges { parts, open: Waiting::default(), ended: VecDeque::new(), late, fragments: 0 }
    }

    fn let_ended_go(&mut self, step: &mut Step) {
        while let Some((when, number)) =
            self.ended.front().copied().filter(|(when, _)| when + GRACE_FRAGMENTS <= self.fragments)
        {
            debug_assert!(when <= self.fragments);
            self.ended.pop_front();
            self.let_go(number, step);
        }
    }

    fn let_go(&mut self, number: u64, step: &mut Step) {
        let Some(open) = self.open.take(number) else { return };
        if let Some(key) = (self.parts.key)(&open.body.object) {
            self.late.put(key, ());
        }
        let mut entries = Entries::default();
        (self.parts.read)(open.body.object, &mut entries);
        for (at, outcome) in entries.list.into_iter().enumerate() {
            let whole = match outcome {
                Ok(Entry::Record(record)) => Whole::Record(Box::new(record)),
                Ok(Entry::Ignored(ignored)) => Whole::Ignored(ignored),
                Ok(Entry::Fragment(_)) => Whole::Rejected("a part of a part".to_owned()),
                Err(reason) => Whole::Rejected(reason),
            };
            let mut joined = Joined::whole(open.place.clone(), whole);
            joined.is_further = at > 0;
            step.records.push(joined);
        }
    }
}

impl Joiner for Merges {
    fn push(&mut self, fragment: Fragment<'static>, step: &mut Step) -> Fate {
        let Content::Value(value) = fragment.content else { return Fate::Rejected("a record and no part".to_owned()) };
        self.fragments += 1;
        self.let_ended_go(step);
        let key = (self.parts.key)(&value);
        let known = key.and_then(|key| self.open.find(key));
        let (number, fate) = match (known, key) {
            (Some(number), _) => {
                self.open.grow(number, step.bytes);
                if let Some(merged) = self.open.body(number) {
                    merged.add(value);
                }
                (number, Fate::Merged)
            }
            (None, Some(key)) if self.late.contains(&key) => return Fate::Merged,
            (None, key) => (self.open.begin(step, key.unwrap_or(step.number), Merged::new(value)), Fate::Held),
        };
        let has_ended = self.open.get(number).is_some_and(|open| (self.parts.has_ended)(&open.body.object));
        if key.is_none() {
            self.let_go(number, step);
        } else if has_ended && self.open.body(number).is_some_and(Merged::ends) {
            self.ended.push_back((self.fragments, number));
        }
        fate
    }

    fn load(&self) -> Load {
        self.open.load()
    }

    fn let_oldest_go(&mut self, step: &mut Step) {
        if let Some(number) = self.open.load().oldest {
            self.let_go(number, step);
        }
    }
}

/// An object, put together of what a log says of it.
#[derive(Debug)]
struct Merged {
    object: Json<'static>,
    /// Where its keys stand; empty as long as there is nothing to merge.
    places: HashMap<Cow<'static, str>, usize>,
    has_ended: bool,
}

impl Merged {
    fn new(object: Json<'static>) -> Merged {
        Merged { object, places: HashMap::new(), has_ended: false }
    }

    /// Notes the end; whether it was not noted before.
    fn ends(&mut self) -> bool {
        !std::mem::replace(&mut self.has_ended, true)
    }

    /// What a later part says replaces what an earlier one said.
    fn add(&mut self, later: Json<'static>) {
        let (Json::Object(entries), Json::Object(later)) = (&mut self.object, later) else { return };
        if self.places.is_empty() {
            // Of keys that come twice the first counts, as everywhere.
            let places = entries.iter().enumerate().rev();
            self.places = places.map(|(place, (key, _))| (key.clone(), place)).collect();
        }
        for (key, value) in later.into_iter().filter(|(_, value)| is_said(value)) {
            match self.places.get(&key) {
                // An object without keys says nothing where there is more.
                Some(_) if value.as_object().is_some_and(<[_]>::is_empty) => {}
                Some(place) => entries[*place].1 = value,
                None => {
                    self.places.insert(key.clone(), entries.len());
                    entries.push((key, value));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_later_replaces_what_was_said_before() {
        let parse = |text: &str| Json::parse(text.as_bytes()).unwrap().into_owned();
        let mut merged = Merged::new(parse(r#"{"id":"a","name":"f","end":null}"#));
        merged.add(parse(r#"{"name":null,"end":1,"error":""}"#));
        merged.add(parse(r#"{"name":"g","outputs":{},"tags":[]}"#));
        merged.add(parse(r#"{"outputs":{"x":1}}"#));
        merged.add(parse(r#"{"outputs":{}}"#));
        let expected = r#"{"id":"a","name":"g","end":1,"outputs":{"x":1},"tags":[]}"#;
        assert_eq!(merged.object.to_compact_string(), expected);
        assert_eq!(merged.places.len(), 5, "each key is found by one look");
    }
}
