//! Dates as they are written, in any order and in the languages of `calendar.toml`: `14 June 2025`, `June 14th`,
//! `14.06.2025`, `2025-06-14`, `06/14/2025`, `5 de octubre de 2025`.
//!
//! **Formula**: a date is made of the parts that are written: day, month, year. Two dates agree where the parts that both
//! have are equal; one whose order is not plain (06/07/2025) agrees by either reading.
//!
//! **Limits**: Years from 1000 to 2999. A month without a day or a year is a date for who asks for it only. No weekdays, no
//! relative dates, no calendar but the Gregorian. It is not checked that there is such a day.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::{Range, RangeInclusive},
    sync::LazyLock,
};

use serde::Deserialize;

/// The years that are read.
const YEARS: RangeInclusive<u32> = 1000..=2999;
/// Letters of the longest name of a month, in bytes.
const NAME_BYTES_MAX: usize = 12;

/// The parts of a date that are written; 0 where one is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Date {
    /// The year.
    pub year: u16,
    /// The month, from 1.
    pub month: u8,
    /// The day of the month.
    pub day: u8,
    /// Whether day and month may have changed places.
    pub is_ambiguous: bool,
}

impl Date {
    /// Whether both can mean the same: what both say is equal, and both say the month.
    pub fn agrees(self, other: Date) -> bool {
        let is_equal = |a: u16, b: u16| a == 0 || b == 0 || a == b;
        let by = |a: Date, b: Date| {
            a.month != 0
                && a.month == b.month
                && is_equal(u16::from(a.day), u16::from(b.day))
                && is_equal(a.year, b.year)
        };
        let swapped = |date: Date| Date { day: date.month, month: date.day, ..date };
        by(self, other)
            || self.is_ambiguous && by(swapped(self), other)
            || other.is_ambiguous && by(self, swapped(other))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    capital: HashSet<String>,
    small: HashSet<String>,
    links: HashSet<String>,
    suffixes: HashSet<String>,
    weekdays: BTreeMap<String, Vec<String>>,
    months: BTreeMap<String, Vec<Vec<String>>>,
}

/// The table, and which name is whose.
struct Known {
    file: File,
    by_name: HashMap<String, u8>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let file: File = toml::from_str(include_str!("calendar.toml")).expect("a test reads the table");
    let named = |months: &Vec<Vec<String>>| {
        let pairs =
            months.iter().zip(1_u8..).flat_map(|(names, month)| names.iter().map(move |name| (name.clone(), month)));
        pairs.collect::<Vec<_>>()
    };
    let by_name = file.months.values().flat_map(named).collect();
    Known { file, by_name }
});

/// All names of the months, each with its number from 1.
pub fn month_names() -> impl Iterator<Item = (&'static str, u8)> {
    KNOWN.by_name.iter().map(|(name, month)| (name.as_str(), *month))
}

/// The names of the days of the week.
pub fn weekday_names() -> impl Iterator<Item = &'static str> {
    KNOWN.file.weekdays.values().flatten().map(String::as_str)
}

/// The month of this name, as it is written.
fn month_of(word: &str) -> Option<u8> {
    if word.len() > NAME_BYTES_MAX || word.len() < 3 {
        return None;
    }
    let lower = word.to_lowercase();
    let month = *KNOWN.by_name.get(&lower)?;
    let is_small = word.starts_with(char::is_lowercase);
    let is_other_word =
        is_small && KNOWN.file.capital.contains(&lower) || !is_small && KNOWN.file.small.contains(&lower);
    (!is_other_word).then_some(month)
}

/// What a word or a run of digits can be in a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Digits { value: u32, count: u8 },
    Month(u8),
    Link,
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    part: Part,
    start: usize,
    end: usize,
}

/// The dates of `text` in order; with `bare`, also months by themselves.
pub fn all(text: &str, bare: bool) -> Vec<(Range<usize>, Date)> {
    let pieces = pieces(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < pieces.len() {
        let read = in_digits(text, &pieces[at..]).or_else(|| in_words(text, &pieces[at..], bare));
        match read {
            Some((date, count)) => {
                found.push((pieces[at].start..pieces[at + count - 1].end, date));
                at += count;
            }
            None => at += 1,
        }
    }
    found
}

fn pieces(text: &str) -> Vec<Piece> {
    let bytes = text.as_bytes();
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let is_word = |c: char| c.is_alphanumeric();
        let Some(skip) = rest.find(is_word) else { break };
        let start = at + skip;
        let length = text[start..].find(|c: char| !is_word(c)).unwrap_or(text.len() - start);
        at = start + length;
        let mut word = &text[start..at];
        // "2025-06-14T10:00"
        if let Some(time) =
            word.find('T').filter(|time| (1..=2).contains(time) && word.starts_with(|c: char| c.is_ascii_digit()))
        {
            word = &word[..time];
            at = start + time;
        }
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let part = if digits > 0 {
            let is_plain = digits == word.len() || KNOWN.file.suffixes.contains(&word[digits..]);
            match word[..digits].parse() {
                Ok(value) if is_plain && digits <= 4 => Part::Digits { value, count: digits as u8 },
                _ => Part::Other,
            }
        } else if let Some(month) = month_of(word) {
            Part::Month(month)
        } else if KNOWN.file.links.contains(word) {
            Part::Link
        } else {
            Part::Other
        };
        pieces.push(Piece { part, start, end: at });
    }
    pieces
}

/// Three runs of digits with the same mark between them.
fn in_digits(text: &str, pieces: &[Piece]) -> Option<(Date, usize)> {
    let [a, b, c, ..] = pieces else { return None };
    let (Part::Digits { value: first, count }, Part::Digits { value: second, count: two }) = (a.part, b.part) else {
        return None;
    };
    let Part::Digits { value: third, count: three } = c.part else { return None };
    let mark = &text[a.end..b.start];
    if mark != &text[b.end..c.start] || !matches!(mark, "-" | "." | "/" | ". ") || two > 2 {
        return None;
    }
    // Part of a longer number, or of a version.
    let is_joined = |byte: Option<&u8>| matches!(byte, Some(b'-' | b'.' | b'/' | b':' | b','));
    let bytes = text.as_bytes();
    let is_before = a.start > 0 && is_joined(bytes.get(a.start - 1));
    let is_behind = is_joined(bytes.get(c.end)) && bytes.get(c.end + 1).is_some_and(u8::is_ascii_digit);
    if is_before || is_behind {
        return None;
    }
    let (year, day, month) = match (count, three) {
        (4, 1..=2) => (first, third, second),
        (1..=2, 4) if mark.starts_with('.') || first > 12 => (third, first, second),
        (1..=2, 4) if second > 12 => (third, second, first),
        (1..=2, 4) => (third, second, first),
        _ => return None,
    };
    let is_ambiguous = count <= 2 && !mark.starts_with('.') && first <= 12 && second <= 12 && first != second;
    Some((Date { is_ambiguous, ..date(year, month, day)? }, 3))
}

fn date(year: u32, month: u32, day: u32) -> Option<Date> {
    let is_date = (year == 0 || YEARS.contains(&year)) && month <= 12 && day <= 31 && (month > 0 || day == 0);
    let (year, month, day) = (year as u16, month as u8, day as u8);
    is_date.then_some(Date { year, month, day, is_ambiguous: false })
}

/// A month by its name, with a day before or behind it, and a year.
fn in_words(text: &str, pieces: &[Piece], bare: bool) -> Option<(Date, usize)> {
    /// Bytes between two parts.
    const GAP_BYTES_MAX: usize = 3;
    let is_near = |at: usize| {
        let gap = &text[pieces[at - 1].end..pieces[at].start];
        gap.len() <= GAP_BYTES_MAX && gap.chars().all(|c| matches!(c, ' ' | '.' | ',' | '\u{a0}'))
    };
    // The next part that is no link.
    let next = |at: usize| {
        let (mut at, last) = (at, at + 2);
        while pieces.get(at).is_some_and(|piece| piece.part == Part::Link) && at < last && is_near(at) {
            at += 1;
        }
        pieces.get(at).filter(|_| is_near(at)).map(|piece| (at, piece.part))
    };
    let year = |at: usize| match next(at) {
        Some((place, Part::Digits { value, count: 4 })) if YEARS.contains(&value) => Some((value, place + 1)),
        _ => None,
    };
    let day = |part: Part| match part {
        Part::Digits { value: value @ 1..=31, count: 1..=2 } => Some(value),
        _ => None,
    };
    match pieces.first()?.part {
        part @ Part::Digits { .. } => {
            let day = day(part)?;
            let (at, Part::Month(month)) = next(1)? else { return None };
            let (year, count) = year(at + 1).unwrap_or((0, at + 1));
            Some((date(year, u32::from(month), day)?, count))
        }
        Part::Month(month) => {
            let month = u32::from(month);
            if let Some((year, count)) = year(1) {
                return Some((date(year, month, 0)?, count));
            }
            if let Some((at, day)) = next(1).and_then(|(at, part)| Some((at, day(part)?))) {
                // "June 14:30" and "June 3.5" are no days.
                let is_cut = !matches!(
                    text.as_bytes().get(pieces[at].end..),
                    Some([b'.' | b',' | b':', b'0'..=b'9', ..] | [b'%', ..])
                );
                if is_cut {
                    let (year, count) = year(at + 1).unwrap_or((0, at + 1));
                    return Some((date(year, month, day)?, count));
                }
            }
            bare.then(|| date(0, month, 0)).flatten().map(|date| (date, 1))
        }
        Part::Link | Part::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(u16, u8, u8)]) {
        let found: Vec<_> = all(text, false).iter().map(|(_, date)| (date.year, date.month, date.day)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn dates_are_read_in_any_order_and_language() {
        for text in [
            "14 June 2025",
            "14 Jun 2025",
            "June 14th, 2025",
            "the 14th of June 2025",
            "2025-06-14",
            "2025-06-14T10:00",
            "06/14/2025",
            "14/06/2025",
            "14.06.2025",
            "14. 6. 2025",
            "am 14. Juni 2025",
            "le 14 juin 2025",
            "el 14 de junio de 2025",
            "14 de junho de 2025",
        ] {
            check(text, &[(2025, 6, 14)]);
        }
        check("on 31 May, in May 1987, on Mar. 3", &[(0, 5, 31), (1987, 5, 0), (0, 3, 3)]);
        check("you may 14 times march 3 miles", &[]);
        check("version 3.11.7, 192.168.1.20, 10/20/30/4000", &[]);
        check("May costs 14 euros", &[]);
        assert_eq!(all("in June", true)[0].1.month, 6);
    }

    #[test]
    fn dates_agree_by_what_both_say() {
        let of = |text: &str| all(text, true)[0].1;
        for (a, b, expected) in [
            ("14 June 2025", "June 14", true),
            ("14 June 2025", "June 2025", true),
            ("14 June 2025", "14 July 2025", false),
            ("06/07/2025", "6 July 2025", true),
            ("06/07/2025", "7 June 2025", true),
            ("06/07/2025", "7 July 2025", false),
            ("14 June 2025", "14 June 2024", false),
        ] {
            assert_eq!((of(a).agrees(of(b)), of(b).agrees(of(a))), (expected, expected), "{a} {b}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "[0-9]{0,5}[-./ ,a-zé]{0,3}(June|mai|Mar|of|14|2025|[0-9]{1,3})[ .,/-]{0,3}(\\PC{0,6}|2025|14th|juin)") {
            for (span, _) in all(&text, true) {
                prop_assert!(text.get(span).is_some());
            }
        }
    }
}
