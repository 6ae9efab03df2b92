//! A context that is JSON becomes text, and its yes/no fields and opening hours become facts to compare with.
//!
//! **Formula**: every leaf becomes a line "key in words: value.", and every object inside of another begins with its key; true,
//! false and null read yes, no and unknown; a string longer than [`LONG_STRING_BYTES`] stands as it is. A sentence mentions a yes/no field when it holds all words of its
//! key (without general ones such as `good` or `for`), or the words in one. It is *flipped* when the field is true and
//! the mention is denied, or false and is not; a null is *asserted* when the mention is not denied, and *denied* when it
//! is: what is unknown neither holds nor fails. A denial reaches
//! [`DENIAL_BEFORE`] words ahead and [`DENIAL_BEHIND`] back, and not beyond "but" and its like.
//!
//! Hours: an object whose keys are days and whose values hold two times. In conflict are a time that no day has, a day
//! or range of days with a pair of times that is not theirs, a day that is not listed given times, a listed day called
//! closed, and "daily" where days are missing or differ.
//!
//! **Source**: the study behind this engine: of the sentences that a false flag marked, four in five were unsupported.
//!
//! **Limits**: [`LEAVES_MAX`] yes/no fields of a record; JSON nested beyond [`DEPTH_MAX`] is read as text. English.

use std::ops::Range;

use super::{
    idf::idf,
    index::Segment,
    numbers::{Number, Unit},
    tokens::{CONTRAST, NEGATION, Token, stem_of},
};

/// Strings longer than this are prose.
pub const LONG_STRING_BYTES: usize = 60;
/// Yes/no fields that are compared.
pub const LEAVES_MAX: usize = 512;
/// Levels of brackets that are read.
pub const DEPTH_MAX: usize = 64;
/// Words that a denial reaches ahead.
pub const DENIAL_BEFORE: usize = 8;
/// Words that a denial reaches back.
pub const DENIAL_BEHIND: usize = 3;
/// Words that "are not available" reaches back.
const CLAUSE_DENIAL_BEHIND: usize = 12;

/// Bytes between a key and its value: quotes, colon, blanks.
const KEY_GAP_BYTES: usize = 6;
/// From this level of brackets on, the yes/no fields of one object are choices of what its key names.
const GROUP_DEPTH_MIN: usize = 3;
/// A key of one word that is more common than this means the field only where its group is mentioned.
const COMMON_IDF: f64 = 6.0;

/// Words of keys that say nothing of what the field is about.
const GENERAL_KEY_WORDS: &[&str] = &[
    "restaurants",
    "restaurant",
    "business",
    "good",
    "for",
    "by",
    "info",
    "attributes",
    "is",
    "has",
    "accepts",
    "the",
    "a",
    "b",
    "c",
    "number",
    "of",
    "allows",
    "can",
    "enabled",
];

/// A field that is true, false or null.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// Stems of the words of its key.
    words: Vec<u32>,
    /// Stem of the words in one.
    joined: u32,
    /// Stems of the key of the group that it is a choice of; empty where there is no such group.
    group: Vec<u32>,
    /// Whether its key is a common word, which means the field only where the group is mentioned too.
    is_common: bool,
    /// Its value.
    pub value: Option<bool>,
    /// Where its value stands in the flattened text.
    pub at: usize,
}

/// What each day's hours are, in minutes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// From Monday; `None` where the day is not listed.
    pub days: [Option<(u32, u32)>; 7],
    /// Days of which the two times are the same.
    pub unclear: [bool; 7],
    /// Whether a field named hours is null.
    pub is_null: bool,
    /// Where it stands in the flattened text.
    pub at: usize,
}

/// The facts of a JSON context.
#[derive(Debug, Default)]
pub struct Facts {
    /// Yes/no fields.
    pub leaves: Vec<Leaf>,
    /// The hours, if there are any.
    pub schedule: Option<Schedule>,
    /// Where objects begin and end in the flattened text, in order.
    pub brackets: Vec<u32>,
}

impl Facts {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.leaves.clear();
        self.schedule = None;
        self.brackets.clear();
    }

    /// Whether there is nothing to compare with.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty() && self.schedule.is_none()
    }
}

/// Appends the JSON text `raw` to `flat` as lines, and what maps them back to `segments`. `false`, and nothing appended,
/// when it is no JSON.
pub fn flatten(raw: &str, passage: u32, flat: &mut String, segments: &mut Vec<Segment>, facts: &mut Facts) -> bool {
    let trimmed = raw.trim();
    let is_json =
        trimmed.starts_with('{') && trimmed.ends_with('}') || trimmed.starts_with('[') && trimmed.ends_with(']');
    if !is_json {
        return false;
    }
    let before = (flat.len(), segments.len(), facts.leaves.len(), facts.brackets.len());
    let mut walker = Walker { raw, at: 0, passage, flat, segments, facts };
    let is_read = walker.value("", "", 0).is_some() && walker.rest_is_blank();
    if !is_read {
        flat.truncate(before.0);
        segments.truncate(before.1);
        facts.leaves.truncate(before.2);
        facts.brackets.truncate(before.3);
    }
    is_read
}

struct Walker<'a> {
    raw: &'a str,
    at: usize,
    passage: u32,
    flat: &'a mut String,
    segments: &'a mut Vec<Segment>,
    facts: &'a mut Facts,
}

impl<'a> Walker<'a> {
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.raw.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.raw.as_bytes().get(self.at).copied()
    }

    fn bracket(&mut self) {
        self.facts.brackets.push(self.flat.len() as u32);
    }

    /// The key of an object that is inside of another, as a line: "passengers".
    fn name(&mut self, key: &str, depth: usize) {
        if depth > 0 && !key.is_empty() {
            self.key(key, self.at);
            self.end_line("");
        }
    }

    fn rest_is_blank(&mut self) -> bool {
        self.peek().is_none()
    }

    fn value(&mut self, key: &'a str, parent: &'a str, depth: usize) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self.peek()? {
            b'{' => {
                self.bracket();
                self.name(key, depth);
                self.at += 1;
                loop {
                    match self.peek()? {
                        b'}' => break,
                        b',' => self.at += 1,
                        _ => {
                            let own = self.string()?;
                            (self.peek()? == b':').then(|| self.at += 1)?;
                            self.value(own, key, depth + 1)?;
                        }
                    }
                }
                self.at += 1;
                self.bracket();
            }
            b'[' => {
                self.at += 1;
                loop {
                    match self.peek()? {
                        b']' => break,
                        b',' => self.at += 1,
                        _ => self.value(key, parent, depth + 1)?,
                    }
                }
                self.at += 1;
            }
            b'"' | b'\'' => {
                let content = self.string()?;
                let start = self.at - 1 - content.len();
                self.text_leaf(key, parent, depth, content, start);
            }
            _ => {
                let rest = &self.raw[self.at..];
                let end = rest.find([',', '}', ']', '\n']).unwrap_or(rest.len());
                let literal = rest[..end].trim_end();
                let is_literal = literal.len() <= 40
                    && literal.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+'));
                (is_literal && !literal.is_empty()).then_some(())?;
                let start = self.at;
                self.at += end;
                self.literal(key, parent, depth, literal, start);
            }
        }
        Some(())
    }

    /// A string in either kind of quotes, without them and with its escapes.
    fn string(&mut self) -> Option<&'a str> {
        let quote = self.peek()?;
        if !matches!(quote, b'"' | b'\'') {
            return None;
        }
        let start = self.at + 1;
        let bytes = self.raw.as_bytes();
        let mut end = start;
        loop {
            end += memchr::memchr2(quote, b'\\', &bytes[end..])?;
            if bytes[end] == quote {
                self.at = end + 1;
                return Some(&self.raw[start..end]);
            }
            end += 2;
            if end > bytes.len() {
                return None;
            }
        }
    }

    fn text_leaf(&mut self, key: &'a str, parent: &'a str, depth: usize, content: &'a str, start: usize) {
        if content.len() > LONG_STRING_BYTES {
            self.copy(content, start);
            self.end_line("");
            return;
        }
        let lower = content.trim().to_ascii_lowercase();
        let answer = match lower.as_str() {
            "yes" | "true" | "free" | "paid" => Some(true),
            "no" | "false" | "none" => Some(false),
            _ => None,
        };
        self.key(key, start);
        if let Some(answer) = answer {
            self.leaf(key, parent, depth, Some(answer));
        }
        if let Some(day) = day_of(key) {
            self.hours(day, content);
        }
        self.copy(content, start);
        self.end_line(".");
    }

    fn literal(&mut self, key: &'a str, parent: &'a str, depth: usize, literal: &str, start: usize) {
        let (said, value) = match literal {
            "true" | "True" => ("yes", Some(Some(true))),
            "false" | "False" => ("no", Some(Some(false))),
            "null" | "None" => ("unknown", Some(None)),
            _ => (literal, None),
        };
        self.key(key, start);
        if let Some(value) = value {
            self.leaf(key, parent, depth, value);
        }
        if said == "unknown" && key.eq_ignore_ascii_case("hours") {
            let at = self.flat.len();
            self.facts.schedule.get_or_insert_with(|| Schedule { is_null: true, at, ..Schedule::default() });
        }
        self.segments.push(Segment { flat: self.flat.len() as u32, passage: self.passage, raw: start as u32 });
        self.flat.push_str(said);
        // The point stands for the last byte of the value, whose length may be another one.
        let raw = (start + literal.len() - 1) as u32;
        self.segments.push(Segment { flat: self.flat.len() as u32, passage: self.passage, raw });
        self.end_line(".");
    }

    /// The key in words. They stand for the place of the key where it is right before the value, else for that of the value.
    fn key(&mut self, key: &str, start: usize) {
        // Keys are slices of the raw text.
        let place = (key.as_ptr() as usize).wrapping_sub(self.raw.as_ptr() as usize + 1);
        let is_near = place < start && start - place - key.len() <= KEY_GAP_BYTES;
        let raw = if is_near { place } else { start } as u32;
        self.segments.push(Segment { flat: self.flat.len() as u32, passage: self.passage, raw });
        let before = self.flat.len();
        for word in camel_words(key) {
            if self.flat.len() > before {
                self.flat.push(' ');
            }
            self.flat.push_str(&word.to_lowercase());
        }
        if self.flat.len() > before {
            self.flat.push_str(": ");
        }
    }

    /// The content of a string, its escapes resolved.
    fn copy(&mut self, content: &str, start: usize) {
        let mut at = 0;
        loop {
            let segment = Segment { flat: self.flat.len() as u32, passage: self.passage, raw: (start + at) as u32 };
            self.segments.push(segment);
            let rest = &content[at..];
            let Some(escape) = memchr::memchr(b'\\', rest.as_bytes()) else {
                self.flat.push_str(rest);
                return;
            };
            self.flat.push_str(&rest[..escape]);
            let mut escaped = rest[escape + 1..].chars();
            let mut width = 1;
            match escaped.next() {
                Some('n' | 'r') => self.flat.push('\n'),
                Some('t') => self.flat.push(' '),
                Some('u') => {
                    let code = rest.get(escape + 2..escape + 6).and_then(|hex| u32::from_str_radix(hex, 16).ok());
                    self.flat.push(code.and_then(char::from_u32).unwrap_or(' '));
                    width = if code.is_some() { 5 } else { 1 };
                }
                Some(other) => {
                    self.flat.push(other);
                    width = other.len_utf8();
                }
                None => return,
            }
            at += escape + 1 + width;
        }
    }

    fn end_line(&mut self, stop: &str) {
        self.flat.push_str(stop);
        self.flat.push('\n');
    }

    fn leaf(&mut self, key: &str, parent: &str, depth: usize, value: Option<bool>) {
        if self.facts.leaves.len() >= LEAVES_MAX {
            return;
        }
        let words = key_stems(key);
        if words.is_empty() {
            return;
        }
        let joined: String = camel_words(key).filter(|word| !is_general(word)).collect();
        let group = if depth >= GROUP_DEPTH_MIN { key_stems(parent) } else { Vec::new() };
        let is_common = matches!(words[..], [only] if idf(only) < COMMON_IDF);
        let leaf = Leaf { words, joined: stem_of(&joined), group, is_common, value, at: self.flat.len() };
        self.facts.leaves.push(leaf);
    }

    fn hours(&mut self, day: usize, content: &str) {
        let mut times = content.split(|c: char| !c.is_ascii_digit() && c != ':').filter_map(|time| {
            let (hours, minutes) = time.split_once(':')?;
            let hours = hours.parse::<u32>().ok().filter(|hours| *hours <= 24)?;
            let minutes = minutes.parse::<u32>().ok().filter(|minutes| *minutes < 60)?;
            Some(hours * 60 + minutes)
        });
        if let (Some(open), Some(close)) = (times.next(), times.next()) {
            let at = self.flat.len();
            let schedule = self.facts.schedule.get_or_insert_with(|| Schedule { at, ..Schedule::default() });
            // "0:0-0:0" is written for closed days and for open ones.
            if open == close {
                schedule.unclear[day] = true;
            } else {
                schedule.days[day] = schedule.days[day].or(Some((open, close)));
            }
        }
    }
}

fn is_general(word: &str) -> bool {
    GENERAL_KEY_WORDS.iter().any(|general| word.eq_ignore_ascii_case(general))
}

fn key_stems(key: &str) -> Vec<u32> {
    let specific: Vec<u32> = camel_words(key).filter(|word| !is_general(word)).map(stem_of).collect();
    if specific.is_empty() { camel_words(key).map(stem_of).collect() } else { specific }
}

/// The words of a key: "RestaurantsTakeOut" and "take_out" have two and more.
pub fn camel_words(key: &str) -> impl Iterator<Item = &str> {
    let bytes = key.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() && !(bytes[at].is_ascii_alphanumeric() || bytes[at] >= 0x80) {
            at += 1;
        }
        let start = at;
        while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] >= 0x80) {
            at += 1;
            let ends_lower = bytes[at - 1].is_ascii_lowercase() || bytes[at - 1].is_ascii_digit();
            let next_upper = bytes.get(at).is_some_and(u8::is_ascii_uppercase);
            let new_word = next_upper && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
            if next_upper && (ends_lower || new_word) {
                break;
            }
        }
        (start < at).then(|| key.get(start..at)).flatten()
    })
}

const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// The day that a word names, from Monday; also in the plural.
fn day_of(word: &str) -> Option<usize> {
    let lower = word.to_ascii_lowercase();
    let lower = lower.strip_suffix('s').unwrap_or(&lower);
    DAYS.iter().position(|day| *day == lower)
}

/// What of a sentence stands against the fields of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conflicts {
    /// Yes/no fields that are said to be the opposite.
    pub flipped: u32,
    /// Fields of unknown value that are said to hold.
    pub null_asserted: u32,
    /// Fields of unknown value that are said not to hold.
    pub null_denied: u32,
    /// Statements on hours that are not those of the source.
    pub hours: u32,
    /// Where the first of these stands in the flattened text.
    pub at: Option<usize>,
}

/// Compares one sentence of the answer with the facts.
pub fn conflicts(facts: &Facts, text: &str, tokens: &[Token], numbers: &[Number]) -> Conflicts {
    let mut found = Conflicts::default();
    let denials: Vec<usize> = (0..tokens.len()).filter(|index| tokens[*index].flags & NEGATION != 0).collect();
    let position = |stem: u32| tokens.iter().position(|token| token.stem == stem);
    let is_near = |denial: usize, at: usize| denial.abs_diff(at) <= CLAUSE_DENIAL_BEHIND;
    let is_denied = |at: usize| denials.iter().any(|denial| is_near(*denial, at) && reaches(text, tokens, *denial, at));
    let mentions_group = |leaf: &Leaf| leaf.group.iter().any(|stem| position(*stem).is_some());
    let mut mentioned: Vec<&[u32]> = Vec::new();
    for leaf in &facts.leaves {
        if leaf.is_common && !leaf.group.is_empty() && !mentions_group(leaf) {
            continue;
        }
        let all = leaf.words.iter().map(|stem| position(*stem)).collect::<Option<Vec<usize>>>();
        let at = all.and_then(|places| places.into_iter().max());
        let Some(at) = at.or_else(|| (leaf.words.len() > 1).then(|| position(leaf.joined)).flatten()) else { continue };
        mentioned.push(&leaf.group);
        // Of several records one has it and another has not.
        if facts.leaves.iter().any(|other| other.words == leaf.words && other.value != leaf.value) {
            continue;
        }
        let is_conflict = match (leaf.value, is_denied(at)) {
            (Some(true), true) | (Some(false), false) => {
                found.flipped += 1;
                true
            }
            (None, false) => {
                found.null_asserted += 1;
                true
            }
            (None, true) => {
                found.null_denied += 1;
                true
            }
            _ => false,
        };
        if is_conflict {
            found.at = found.at.or(Some(leaf.at));
        }
    }
    // A group that is named without any of its choices: "no parking", or "parking" where there is none.
    for group in facts.leaves.chunk_by(|a, b| a.group == b.group).filter(|group| group.len() > 1) {
        let first = &group[0];
        let Some(at) = first.group.last().and_then(|stem| position(*stem)) else { continue };
        let holds = group.iter().any(|leaf| leaf.value == Some(true));
        if !mentioned.contains(&first.group.as_slice()) && holds == is_denied(at) {
            found.flipped += 1;
            found.at = found.at.or(Some(first.at));
        }
    }
    if let Some(schedule) = &facts.schedule {
        found.hours = hours_conflicts(schedule, text, tokens, numbers);
        if found.hours > 0 {
            found.at = found.at.or(Some(schedule.at));
        }
    }
    found
}

/// Whether the denial at token `denial` is one of the word at `at`.
fn reaches(text: &str, tokens: &[Token], denial: usize, at: usize) -> bool {
    let (from, to) = (denial.min(at), denial.max(at));
    if tokens[from + 1..to.max(from + 1)].iter().any(|token| token.flags & CONTRAST != 0) {
        return false;
    }
    if denial <= at {
        return at - denial <= DENIAL_BEFORE;
    }
    if denial - at <= DENIAL_BEHIND {
        return true;
    }
    let word = |index: usize| text[tokens[index].span()].to_ascii_lowercase();
    let is_verb = matches!(word(denial - 1).as_str(), "is" | "are" | "was" | "were");
    let ends = denial + 1 == tokens.len()
        || matches!(
            word(denial + 1).as_str(),
            "available" | "provided" | "offered" | "allowed" | "included" | "present" | "options" | "an" | "accepted"
        );
    denial - at <= CLAUSE_DENIAL_BEHIND && is_verb && ends
}

/// Statements of a sentence on hours that the schedule does not bear out, at most [`HOURS_CONFLICTS_MAX`].
fn hours_conflicts(schedule: &Schedule, text: &str, tokens: &[Token], numbers: &[Number]) -> u32 {
    let times: Vec<(u32, usize)> =
        numbers.iter().filter(|n| n.unit == Unit::Time).map(|n| (n.value as u32, n.token)).collect();
    if schedule.is_null {
        return u32::from(!times.is_empty());
    }
    let listed = || schedule.days.iter().flatten();
    let is_known =
        |minutes: u32| listed().any(|(open, close)| minutes % 1440 == open % 1440 || minutes % 1440 == close % 1440);
    let mut count = times.iter().filter(|(minutes, _)| !is_known(*minutes)).count() as u32;
    let word =
        |index: usize| tokens.get(index).map(|token| text[token.span()].to_ascii_lowercase()).unwrap_or_default();
    let says = |wanted: &str| (0..tokens.len()).any(|index| word(index) == wanted);
    if times.is_empty() && !says("open") && !says("closed") {
        return 0;
    }
    let mut ranges: Vec<(usize, usize, Vec<usize>)> = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        let own = word(index);
        let days = match own.as_str() {
            "weekday" | "weekdays" => Some((0..5).collect()),
            "weekend" | "weekends" => Some(vec![5, 6]),
            "daily" => Some((0..7).collect()),
            "day" | "days" if matches!(word(index.wrapping_sub(1)).as_str(), "every" | "seven" | "7") => {
                Some((0..7).collect())
            }
            _ => day_of(&own).map(|day| vec![day]),
        };
        let Some(mut days) = days else {
            index += 1;
            continue;
        };
        let start = index;
        let between = tokens.get(index + 1).map(|next| &text[tokens[index].span().end..next.start as usize]);
        let joins = matches!(word(index + 1).as_str(), "to" | "through" | "until" | "thru");
        let dash = between.is_some_and(|between| between.contains(['-', '\u{2013}']));
        let end = if joins { index + 2 } else { index + 1 };
        if let (true, Some(from), Some(to)) = (joins || dash, day_of(&own), day_of(&word(end))) {
            days = if to >= from { (from..=to).collect() } else { (from..7).chain(0..=to).collect() };
            index = end;
        }
        ranges.push((start, index, days));
        index += 1;
    }
    let mut distinct: Vec<u32> = times.iter().map(|(minutes, _)| *minutes).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let distinct_times = distinct.len();
    for (position, (start, end, days)) in ranges.iter().enumerate() {
        if days.len() == 7 && (ranges.len() > 1 || distinct_times > 2) {
            continue;
        }
        let next = ranges.get(position + 1).map_or(tokens.len(), |range| range.0);
        let previous = position.checked_sub(1).map_or(0, |before| ranges[before].1 + 1);
        let behind: Vec<u32> =
            times.iter().filter(|(_, at)| *at > *end && *at < next).map(|(time, _)| *time).take(2).collect();
        let mut before: Vec<u32> =
            times.iter().filter(|(_, at)| *at >= previous && *at < *start).map(|(t, _)| *t).collect();
        before.drain(..before.len().saturating_sub(2));
        let pairs: Vec<&[u32]> =
            [behind.as_slice(), before.as_slice()].into_iter().filter(|pair| pair.len() == 2).collect();
        let is_closed = (start.saturating_sub(4)..=(end + 4).min(tokens.len())).any(|index| word(index) == "closed");
        let is_wrong = days.iter().filter(|day| !schedule.unclear[**day]).any(|day| match schedule.days[*day] {
            None => !pairs.is_empty() || (days.len() == 7 && says("open")),
            Some((open, close)) if !pairs.is_empty() => {
                !pairs.iter().any(|pair| pair[0] % 1440 == open % 1440 && pair[1] % 1440 == close % 1440)
            }
            Some(_) => is_closed && times.is_empty(),
        });
        count += u32::from(is_wrong);
    }
    count.min(HOURS_CONFLICTS_MAX)
}

/// Beyond this many conflicts on hours one sentence says no more.
pub const HOURS_CONFLICTS_MAX: u32 = 3;

/// The place in the raw passage that a place in the flattened text comes from.
pub fn raw_place(segments: &[Segment], flat: Range<usize>) -> Option<(u32, Range<usize>)> {
    let index = segments.partition_point(|segment| segment.flat as usize <= flat.start).checked_sub(1)?;
    let segment = segments[index];
    let last = segments.partition_point(|other| (other.flat as usize) < flat.end).checked_sub(1)?;
    let start = segment.raw as usize + flat.start - segment.flat as usize;
    let end = segments[last].raw as usize + flat.end - segments[last].flat as usize;
    Some((segment.passage, start..end.max(start)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::grounding::{numbers::numbers, tokens::tokens};

    const PLACE: &str = r#"{"name": "The \"Fork\"", "hours": {"Monday": "17:30-23:0", "Tuesday": "17:0-21:0"},
        "attributes": {"BusinessParking": {"garage": true, "lot": false}, "OutdoorSeating": false, "WiFi": "free",
        "RestaurantsTakeOut": true, "Music": null}}"#;

    fn facts_of(raw: &str) -> (String, Vec<Segment>, Facts) {
        let (mut flat, mut segments, mut facts) = (String::new(), Vec::new(), Facts::default());
        assert!(flatten(raw, 0, &mut flat, &mut segments, &mut facts), "{raw}");
        (flat, segments, facts)
    }

    #[track_caller]
    fn check(sentence: &str, expected: (u32, u32, u32)) {
        let (_, _, facts) = facts_of(PLACE);
        let (mut list, mut found) = (Vec::new(), Vec::new());
        tokens(sentence, 0..sentence.len(), |token| list.push(token));
        numbers(sentence, &list, true, |number| found.push(number));
        let conflicts = conflicts(&facts, sentence, &list, &found);
        assert_eq!((conflicts.flipped, conflicts.null_asserted, conflicts.hours), expected, "{sentence}");
    }

    #[test]
    fn json_reads_as_lines_that_lead_back() {
        let (flat, segments, facts) = facts_of(PLACE);
        assert!(flat.contains("name: The \"Fork\".\n") && flat.contains("restaurants take out: yes.\n"), "{flat}");
        assert_eq!(facts.leaves.len(), 6);
        let at = flat.find("Fork").unwrap();
        let (passage, raw) = raw_place(&segments, at..at + 4).unwrap();
        assert_eq!((passage, &PLACE[raw]), (0, "Fork"));
        for (line, place) in
            [("outdoor seating: no.", "\"OutdoorSeating\": false"), ("wi fi: free.", "\"WiFi\": \"free\"")]
        {
            let at = flat.find(line).unwrap();
            let (_, raw) = raw_place(&segments, at..at + line.len()).unwrap();
            assert_eq!(&PLACE[raw], place);
        }
        for (json, lines) in [
            ("[{'a': True, 'b': None}]", "a: yes.\nb: unknown.\n"),
            ("{\"savedPassengers\": [{\"name\": \"Ann\"}]}", "saved passengers: \nname: Ann.\n"),
        ] {
            assert_eq!(facts_of(json).0, lines);
        }
    }

    #[test]
    fn what_is_no_json_is_left_alone() {
        for raw in ["{not json}", "[1] See also [2]", "{\"a\": }", &"[".repeat(300)] {
            let (mut flat, mut segments, mut facts) = (String::from("x"), Vec::new(), Facts::default());
            assert!(!flatten(raw, 0, &mut flat, &mut segments, &mut facts), "{raw}");
            assert!(flat == "x" && segments.is_empty() && facts.is_empty());
        }
    }

    #[test]
    fn flipped_fields_and_asserted_nulls_are_seen() {
        check("It offers outdoor seating and takeout.", (1, 0, 0));
        check("There is no outdoor seating, but takeout is available.", (0, 0, 0));
        check("It does not offer take out.", (1, 0, 0));
        check("Parking in a garage is available.", (0, 0, 0));
        check("Parking is in a lot.", (1, 0, 0));
        check("A lot of people like it.", (0, 0, 0));
        check("There is live music.", (0, 1, 0));
        check("WiFi is not available.", (1, 0, 0));
        check("There is no music.", (0, 0, 0));
    }

    #[test]
    fn a_denied_null_is_counted() {
        let (_, _, facts) = facts_of(PLACE);
        for (sentence, expected) in [("There is no live music.", 1), ("There is live music.", 0), ("No pets.", 0)] {
            let mut list = Vec::new();
            tokens(sentence, 0..sentence.len(), |token| list.push(token));
            assert_eq!(conflicts(&facts, sentence, &list, &[]).null_denied, expected, "{sentence}");
        }
    }

    #[test]
    fn hours_are_compared() {
        check("It is open on Monday from 5:30 PM to 11 PM.", (0, 0, 0));
        check("It is open on Monday from 5 PM to 9 PM.", (0, 0, 1));
        check("It closes at 8 PM.", (0, 0, 1));
        check("It is open on Wednesday from 5 PM to 9 PM.", (0, 0, 1));
        check("It is closed on Tuesday.", (0, 0, 1));
        check("It is open daily from 5 PM to 9 PM.", (0, 0, 1));
        check("It is closed on Friday.", (0, 0, 0));
        check("The staff is friendly on Mondays.", (0, 0, 0));
    }
}
