//! The numbers of a sentence, so that equal ones are equal however they are written.
//!
//! **Formula**: the digits are those of [`number`], words those of [`spelled`], dates those of [`date`], units those of
//! [`unit`](crate::text::quantity::unit). Currency and percent signs are left out, so that a share in words is its percentage;
//! a time of the day becomes minutes (`5 pm`, `17:00`); `2.500` is both 2.5 and 2,500; `2 500` is one number.
//! A number of the answer is in the source when the source holds it, its hour or its time; a date, when the source holds one
//! that agrees, and what that does not say elsewhere; when it is at least
//! [`ROUNDED_FROM`] and the source has one within [`ROUNDED_SHARE`] that becomes it when rounded to its digits; or when the source has
//! it in another unit, lengths, masses and degrees rounded, all others exactly.
//!
//! **Source**: seed 004 asks whether a claim is supported; the equivalences are those whose absence gave false alarms in
//! the study behind this engine.
//!
//! **Limits**: "One", "first" and "half" are no numbers of an answer, and are numbers of a source. Numbers are compared in
//! single precision.

use std::ops::Range;

use super::tokens::{DIGIT, QUIET, Token};
use crate::text::quantity::{
    date::{self, Date},
    number, spelled,
    unit::{self, Unit as Measure},
};

/// Numbers from here on may be rounded.
pub const ROUNDED_FROM: f64 = 10.0;
/// How far a rounded number may be off.
pub const ROUNDED_SHARE: f64 = 0.02;
/// Numbers of a source with a unit that are converted.
pub const CONVERTED_MAX: usize = 512;

/// Dates of a source that are kept.
pub const DATES_MAX: usize = 512;

/// In what a number counts, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// None.
    Plain,
    /// Time of the day, in minutes.
    Time,
    /// A date.
    Date(Date),
    /// Degrees Celsius.
    Celsius,
    /// Degrees Fahrenheit.
    Fahrenheit,
    /// Any other.
    Measure(Measure),
}

/// One number and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Its value; minutes for a time of the day.
    pub value: f64,
    /// What it says when its points separate thousands.
    pub other: Option<f64>,
    /// In what it counts.
    pub unit: Unit,
    /// The token that it begins with.
    pub token: usize,
    /// The token behind it.
    pub end: usize,
    /// Where it stands.
    pub span: Range<usize>,
}

/// How a number is compared.
pub fn key(value: f64, is_time: bool) -> u64 {
    u64::from((value as f32).to_bits()) | u64::from(is_time) << 32
}

impl Number {
    /// The date that it is.
    pub fn date(&self) -> Option<Date> {
        if let Unit::Date(date) = self.unit { Some(date) } else { None }
    }

    /// How its readings are compared; a date has none.
    fn keys(&self) -> [Option<u64>; 2] {
        let is_time = self.unit == Unit::Time;
        let first = self.date().is_none().then(|| key(self.value, is_time));
        [first, self.other.map(|other| key(other, false))]
    }
}

/// Hands the numbers among the tokens of `text` to `take`, in order. In an answer, the numbers of lists and of passages
/// are no claims.
pub fn numbers(text: &str, tokens: &[Token], is_answer: bool, mut take: impl FnMut(Number)) {
    let has_digits = tokens.iter().any(|token| token.flags & DIGIT != 0);
    let range = tokens.first().zip(tokens.last()).filter(|_| has_digits).map(|(a, b)| a.span().start..b.span().end);
    let offset = range.as_ref().map_or(0, |range| range.start);
    let found = range.map(|range| date::all(&text[range], !is_answer)).unwrap_or_default();
    let mut dates = found.into_iter().map(|(span, date)| (span.start + offset..span.end + offset, date)).peekable();
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        while dates.peek().is_some_and(|(span, _)| span.end <= token.span().start) {
            dates.next();
        }
        if let Some((span, date)) = dates.next_if(|(span, _)| span.start <= token.span().start) {
            let end = index + tokens[index..].iter().take_while(|token| token.span().start < span.end).count();
            take(Number { value: 0.0, other: None, unit: Unit::Date(date), token: index, end, span });
            index = end;
            continue;
        }
        let number = if token.flags & DIGIT != 0 {
            digits(text, tokens, index).filter(|_| !is_answer || !is_label(text, tokens, index))
        } else if token.value > 0 {
            Some(words(text, tokens, index))
        } else if token.flags & QUIET != 0 {
            quiet(text, tokens, index, is_answer)
        } else {
            None
        };
        index = number.as_ref().map_or(index + 1, |number| number.end.max(index + 1));
        if let Some(number) = number {
            take(number);
        }
    }
}

/// What is a number of a source only; in an answer a share of something is one.
fn quiet(text: &str, tokens: &[Token], index: usize, is_answer: bool) -> Option<Number> {
    /// Words behind a share.
    const SHARE_LINKS: [&str; 7] = ["of", "der", "des", "de", "del", "du", "da"];
    let token = &tokens[index];
    let value = spelled::quiet(&text[token.span()].to_lowercase())?;
    let is_share = value >= 25
        && tokens.get(index + 1).is_some_and(|next| SHARE_LINKS.contains(&lower(text, next).as_str()))
        // "The first quarter of 2020"
        && (value != 25 || index > 0 && matches!(lower(text, &tokens[index - 1]).as_str(), "a" | "one" | "un" | "ein"));
    (!is_answer || is_share).then(|| plain(value as f64, tokens, index))
}

fn plain(value: f64, tokens: &[Token], index: usize) -> Number {
    Number { value, other: None, unit: Unit::Plain, token: index, end: index + 1, span: tokens[index].span() }
}

/// The number of a list at the start of a line, of a passage, or of a scale.
fn is_label(text: &str, tokens: &[Token], index: usize) -> bool {
    let span = tokens[index].span();
    let bytes = text.as_bytes();
    if is_citation(bytes, &span) {
        return true;
    }
    let line = bytes[..span.start].iter().rev().take_while(|byte| **byte != b'\n').all(u8::is_ascii_whitespace);
    // "4 out of 5" and "4/5" rate; the 5 is the scale.
    let is_round = matches!(&text[span.clone()], "5" | "10" | "100");
    let is_behind_words =
        index > 1 && lower(text, &tokens[index - 1]) == "of" && lower(text, &tokens[index - 2]) == "out";
    let is_behind_slash = matches!(bytes[..span.start], [.., before, b'/'] if before.is_ascii_digit());
    if is_round && (is_behind_words || is_behind_slash) {
        return true;
    }
    let is_list = line && matches!(bytes[span.end.min(bytes.len())..], [b'.' | b')', b' ' | b'\n', ..]);
    is_list || index > 0 && matches!(lower(text, &tokens[index - 1]).as_str(), "passage" | "passages")
}

/// The mark of a source: `[1]`, `[1, 2]`, `[^3]`, `(2)`, or the digits of `【1†source】`.
fn is_citation(bytes: &[u8], span: &Range<usize>) -> bool {
    /// Digits of the number of a source.
    const CITATION_DIGITS_MAX: usize = 3;
    /// Bytes of a list of such numbers.
    const CITATION_BYTES_MAX: usize = 24;
    if span.len() > CITATION_DIGITS_MAX || !bytes[span.clone()].iter().all(u8::is_ascii_digit) {
        return false;
    }
    let before = &bytes[span.start.saturating_sub(CITATION_BYTES_MAX)..span.start];
    let behind = &bytes[span.end..bytes.len().min(span.end + CITATION_BYTES_MAX)];
    let is_inner = |byte: &&u8| byte.is_ascii_digit() || matches!(**byte, b',' | b' ' | b'^' | b'-' | b';');
    let open = before.iter().rev().find(|byte| !is_inner(byte));
    let close = behind.iter().find(|byte| !is_inner(byte));
    match (open, close) {
        (Some(b'['), Some(b']')) => true,
        (Some(b'('), Some(b')')) => before.ends_with(b"(") && behind.starts_with(b")"),
        _ => before.ends_with("\u{3010}".as_bytes()),
    }
}

/// A short word in lower case; empty for a long one.
fn lower(text: &str, token: &Token) -> String {
    if token.length > 12 { String::new() } else { text[token.span()].to_ascii_lowercase() }
}

fn digits(text: &str, tokens: &[Token], index: usize) -> Option<Number> {
    let token = &tokens[index];
    let span = token.span();
    let bytes = text.as_bytes();
    // Part of a name: B12, COVID-19.
    let is_in_name = match bytes[..span.start] {
        [.., letter, b'-'] => letter.is_ascii_alphabetic(),
        [.., before] => before.is_ascii_alphabetic() || before == b'_',
        [] => false,
    };
    if is_in_name {
        return None;
    }
    let Grouped { value, other, end } = grouped(text, tokens, index);
    let span = span.start..tokens[end - 1].span().end;
    let next = tokens.get(end).filter(|next| next.start as usize <= span.end + 1);
    let word = word_behind(text, tokens, end, span.end);
    let is_attached = next.is_some_and(|next| next.start as usize == span.end);
    if let Some(minutes) = time(&text[span.clone()], &word, &bytes[span.end..]) {
        return Some(Number { value: minutes, other: None, unit: Unit::Time, token: index, end, span });
    }
    let factor = multiplier(&word, is_attached);
    let value = value? * factor;
    let sign = || {
        let before = text[..span.start].chars().next_back();
        let behind = text[span.end..].trim_start_matches([' ', '\u{a0}', '\u{202f}']).chars().next();
        let mut signs =
            [before, behind].into_iter().flatten().filter(|c| !c.is_alphanumeric() && !c.is_ascii_whitespace());
        signs.find_map(|sign| Measure::of(sign.encode_utf8(&mut [0; 4])))
    };
    let unit = match unit(&word, &bytes[span.end..]) {
        Unit::Plain => sign().map_or(Unit::Plain, Unit::Measure),
        unit => unit,
    };
    Some(Number { value, other: other.filter(|_| factor == 1.0), unit, token: index, end, span })
}

/// The word behind a number that ends at byte `end`, what tells working days from others left out.
fn word_behind(text: &str, tokens: &[Token], at: usize, end: usize) -> String {
    let near = |at: usize, end: usize| tokens.get(at).filter(|next| next.start as usize <= end + 1);
    let Some(word) = near(at, end) else { return String::new() };
    let lowered = lower(text, word);
    let is_between = matches!(lowered.as_str(), "working" | "business" | "calendar" | "consecutive" | "full");
    let next = near(at + 1, word.span().end).filter(|_| is_between);
    next.map_or(lowered, |next| lower(text, next))
}

/// Digits as they are read.
struct Grouped {
    value: Option<f64>,
    /// With points as separators of thousands.
    other: Option<f64>,
    /// The token behind them.
    end: usize,
}

/// The digits at a token, with groups of three behind blanks.
fn grouped(text: &str, tokens: &[Token], index: usize) -> Grouped {
    let written = &text[tokens[index].span()];
    let is_digits = |written: &str| written.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(written) {
        let (value, other) = value(written);
        return Grouped { value, other, end: index + 1 };
    }
    let is_blank = |a: &Token, b: &Token| matches!(&text[a.span().end..b.span().start], " " | "\u{a0}" | "\u{202f}");
    let is_group = |at: usize| {
        let (Some(group), Some(before)) = (tokens.get(at), tokens.get(at - 1)) else { return false };
        is_blank(before, group) && group.length == 3 && is_digits(&text[group.span()])
    };
    let mut value = written.parse().ok();
    let mut end = index + 1;
    let begins = written.len() <= 3 && !written.starts_with('0');
    let is_behind = index > 0 && tokens[index - 1].flags & DIGIT != 0 && is_blank(&tokens[index - 1], &tokens[index]);
    while begins && !is_behind && is_group(end) {
        let group: f64 = text[tokens[end].span()].parse().unwrap_or_default();
        value = value.map(|value: f64| value * 1000.0 + group);
        end += 1;
    }
    Grouped { value, other: None, end }
}

/// Minutes of the day: `17:30`, `5 pm`, `5:30 p.m.`
fn time(written: &str, word: &str, behind: &[u8]) -> Option<f64> {
    let (hours, minutes) = written.split_once(':').unwrap_or((written, ""));
    // Seconds do not count.
    let minutes = minutes.split_once(':').map_or(minutes, |(minutes, _)| minutes);
    let half = match (word, behind.trim_ascii_start()) {
        ("am", _) | ("a", [_, b'.', b'm' | b'M', ..]) => Some(0),
        ("pm", _) | ("p", [_, b'.', b'm' | b'M', ..]) => Some(12),
        _ => None,
    };
    if minutes.is_empty() && half.is_none() || hours.len() > 2 || minutes.len() > 2 {
        return None;
    }
    let hours: u32 = hours.parse().ok()?;
    let minutes: u32 = if minutes.is_empty() { 0 } else { minutes.parse().ok()? };
    let hours = half.map_or(hours, |half| hours % 12 + half);
    (hours <= 24 && minutes < 60).then(|| f64::from(hours * 60 + minutes))
}

/// The value of digits with points and commas, and the one with points as separators of thousands. A comma that separates
/// no thousands is that of a decimal.
fn value(written: &str) -> (Option<f64>, Option<f64>) {
    if written.contains(':') {
        return (None, None);
    }
    match number::read(written) {
        (Ok(literal), length) if length == written.len() => {
            let thousands = literal.with_points_as_thousands.map(|value| value.to_double());
            (Some(literal.value.to_double()), thousands)
        }
        _ => {
            let is_decimal = written.matches(',').count() == 1 && !written.contains('.');
            // "1.250.000"
            let groups = written.split('.').skip(1);
            let is_thousands = groups.clone().count() > 1 && groups.clone().all(|group| group.len() == 3);
            let plain = match (is_decimal, is_thousands) {
                (true, _) => written.replacen(',', ".", 1),
                (_, true) => written.replace('.', ""),
                _ if written.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && groups.count() == 1 => {
                    written.to_owned()
                }
                _ => return (None, None),
            };
            (plain.parse().ok(), None)
        }
    }
}

/// What a word behind a number multiplies it by. Single letters count only where they are attached: 5 m is a length.
fn multiplier(word: &str, is_attached: bool) -> f64 {
    let letters = || spelled::money_scale(word).filter(|_| is_attached || word.len() > 1);
    spelled::scale(word).or_else(letters).map_or(1.0, |power| 10_f64.powi(power as i32))
}

fn unit(word: &str, behind: &[u8]) -> Unit {
    let is_degree = matches!(behind.trim_ascii_start(), [0xC2, 0xB0, ..]);
    match word {
        "c" | "celsius" => Unit::Celsius,
        "f" | "fahrenheit" => Unit::Fahrenheit,
        "degrees" => degrees(behind),
        _ if is_degree => degrees(behind),
        _ => Measure::of(word).map_or(Unit::Plain, Unit::Measure),
    }
}

/// The scale behind a degree sign or the word.
fn degrees(behind: &[u8]) -> Unit {
    let behind = behind.trim_ascii_start();
    let behind = behind.strip_prefix("\u{b0}".as_bytes()).or(behind.strip_prefix(b"degrees")).unwrap_or(behind);
    match behind.trim_ascii_start().first() {
        Some(b'C' | b'c') => Unit::Celsius,
        Some(b'F' | b'f') => Unit::Fahrenheit,
        _ => Unit::Plain,
    }
}

/// A number in words that begins at `index`.
fn words(text: &str, tokens: &[Token], index: usize) -> Number {
    /// Words of the longest number.
    const WORDS_MAX: usize = 12;
    let last = index
        + 1
        + tokens[index..].windows(2).take_while(|pair| pair[1].start as usize <= pair[0].span().end + 1).count();
    let run: Vec<String> = tokens[index..last.min(index + WORDS_MAX)].iter().map(|token| lower(text, token)).collect();
    let run: Vec<&str> = run.iter().map(String::as_str).collect();
    let own = spelled::counting()[usize::from(tokens[index].value) - 1].1;
    let (value, count) = spelled::read(&run).unwrap_or((own, 1));
    let end = index + count;
    let span = tokens[index].span().start..tokens[end - 1].span().end;
    let unit = unit(&word_behind(text, tokens, end, span.end), &text.as_bytes()[span.end..]);
    Number { value: value as f64, other: None, unit, token: index, end, span }
}

/// Whether amounts in two different units are the same: lengths and masses may be rounded to a whole number.
fn is_converted(own: (f64, Measure), other: (f64, Measure)) -> bool {
    /// What a rounded amount may be off.
    const CONVERTED_OFF: f64 = 0.6;
    /// Days of a week in which people work.
    const WORKING_DAYS: f64 = 5.0 / 7.0;
    let factor = |unit: Measure| unit.factor.0 as f64 / unit.factor.1 as f64;
    let (a, b) = (own.0 * factor(own.1), other.0 * factor(other.1));
    if own.1.kind != other.1.kind || own.1.id == other.1.id {
        return false;
    }
    let is_rounded = matches!(own.1.kind, unit::LENGTH | unit::MASS);
    let off = if is_rounded { (ROUNDED_SHARE * a).max(CONVERTED_OFF * factor(own.1)) } else { 1e-6 * a };
    let is_week = |unit: Measure| unit.kind == unit::TIME && unit.name() == "week";
    (a - b).abs() <= off
        || is_week(own.1) && (a * WORKING_DAYS - b).abs() <= off
        || is_week(other.1) && (a - b * WORKING_DAYS).abs() <= off
}

/// `value` of degrees in the other scale.
fn degrees_in_other(value: f64, unit: Unit) -> Option<(f64, Unit)> {
    match unit {
        Unit::Celsius => Some((value * 1.8 + 32.0, Unit::Fahrenheit)),
        Unit::Fahrenheit => Some(((value - 32.0) / 1.8, Unit::Celsius)),
        _ => None,
    }
}

/// The numbers of a source, with the sentences in which they stand.
#[derive(Debug, Default)]
pub struct NumberIndex {
    /// Key and sentence, sorted.
    places: Vec<(u64, u32)>,
    /// Values that are no times, sorted.
    values: Vec<f64>,
    /// Degrees in the other scale, and amounts in their units.
    converted: Vec<(f64, Unit)>,
    /// Dates with their sentences.
    dates: Vec<(Date, u32)>,
}

impl NumberIndex {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.places.clear();
        self.values.clear();
        self.converted.clear();
        self.dates.clear();
    }

    /// Takes a number of the source in.
    pub fn add(&mut self, number: &Number, sentence: u32) {
        self.places.extend(number.keys().into_iter().flatten().map(|key| (key, sentence)));
        match number.unit {
            Unit::Date(date) => {
                if self.dates.len() < DATES_MAX {
                    self.dates.push((date, sentence));
                }
                let parts = [u16::from(date.day), date.year].into_iter().filter(|part| *part > 0);
                self.places.extend(parts.map(|part| (key(f64::from(part), false), sentence)));
            }
            Unit::Time => {
                let hour = (number.value / 60.0).floor();
                self.places.push((key(hour, false), sentence));
                self.places.push((key((hour + 11.0) % 12.0 + 1.0, false), sentence));
                if number.value == 1440.0 || number.value == 0.0 {
                    self.places.push((key(1440.0 - number.value, true), sentence));
                }
            }
            unit => {
                self.values.push(number.value);
                if number.value <= 24.0 && number.value.fract() == 0.0 {
                    self.places.push((key(number.value * 60.0, true), sentence));
                }
                if self.converted.len() < CONVERTED_MAX {
                    let measured = || matches!(unit, Unit::Measure(_)).then_some((number.value, unit));
                    self.converted.extend(degrees_in_other(number.value, unit).or_else(measured));
                }
            }
        }
    }

    /// To be called when all numbers are in.
    pub fn finish(&mut self) {
        self.places.sort_unstable();
        self.places.dedup();
        self.values.sort_unstable_by(f64::total_cmp);
    }

    /// Whether the source holds no number at all.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The sentences that hold exactly this number, in order.
    pub fn sentences(&self, number: &Number) -> impl Iterator<Item = u32> + '_ {
        let date = number.date();
        let dates = self.dates.iter().filter(move |(other, _)| date.is_some_and(|date| date.agrees(*other)));
        let plain = number.keys().into_iter().flatten().flat_map(|key| self.places_of(key));
        plain.chain(dates.map(|(_, sentence)| *sentence))
    }

    fn places_of(&self, key: u64) -> impl Iterator<Item = u32> + '_ {
        let from = self.places.partition_point(|place| place.0 < key);
        self.places[from..].iter().take_while(move |place| place.0 == key).map(|place| place.1)
    }

    /// Whether the source holds an amount of the same kind, or a date.
    pub fn has_kind(&self, number: &Number) -> bool {
        match number.unit {
            Unit::Date(_) => !self.dates.is_empty(),
            Unit::Measure(own) => {
                self.converted.iter().any(|(_, unit)| matches!(unit, Unit::Measure(unit) if unit.kind == own.kind))
            }
            _ => false,
        }
    }

    /// The different values of a source that has few of them; none where it has more than `max`.
    pub fn few_values(&self, max: usize) -> Vec<f64> {
        let mut values: Vec<f64> = if self.values.len() > 4 * max { Vec::new() } else { self.values.clone() };
        values.dedup();
        if values.len() > max { Vec::new() } else { values }
    }

    /// Whether the source holds a date that agrees, and elsewhere what that one does not say.
    fn has_date(&self, date: Date) -> bool {
        let stands = |part: u16| self.places_of(key(f64::from(part), false)).next().is_some();
        self.dates.iter().any(|(other, _)| {
            let month = Date { day: 0, ..*other };
            // "June 14 to 16, 2025": the month is that of both days.
            let bare = date.month == other.month && Date { year: 0, ..month }.agrees(date);
            (date.agrees(*other) || bare)
                && (date.day == 0 || date.agrees(*other) && other.day != 0 || stands(u16::from(date.day)))
                && (date.year == 0 || date.agrees(*other) && other.year != 0 || stands(date.year))
        })
    }

    /// Whether the source holds the number, or one that it can stand for.
    pub fn supports(&self, number: &Number) -> bool {
        if let Some(date) = number.date() {
            return self.has_date(date);
        }
        if self.sentences(number).next().is_some() {
            return true;
        }
        if number.unit == Unit::Time {
            return false;
        }
        let value = number.value;
        let is_near = |other: f64, share: f64| (other - value).abs() <= share * value.abs();
        if value >= ROUNDED_FROM {
            let from = self.values.partition_point(|other| *other < value * (1.0 - ROUNDED_SHARE));
            let near = self.values[from..].iter().take_while(|other| is_near(**other, ROUNDED_SHARE));
            if near.take(CONVERTED_MAX).any(|other| rounds_to(*other, value)) {
                return true;
            }
        }
        /// Degrees may be rounded to a whole number.
        const DEGREES_OFF: f64 = 0.6;
        self.converted.iter().any(|(other, unit)| match (number.unit, *unit) {
            (Unit::Measure(own), Unit::Measure(unit)) => is_converted((value, own), (*other, unit)),
            (own, unit) => own == unit && (is_near(*other, ROUNDED_SHARE) || (*other - value).abs() <= DEGREES_OFF),
        })
    }
}

/// Whether `other`, written with as many digits as `value` has, is `value`: 49.6 is about 50, and 1889 is not 1887.
fn rounds_to(other: f64, value: f64) -> bool {
    let written = format!("{value:e}");
    let digits = written.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    format!("{other:.*e}", digits - 1) == written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::grounding::tokens::tokens;

    fn of(text: &str, is_answer: bool) -> Vec<Number> {
        let (mut found, mut list) = (Vec::new(), Vec::new());
        tokens(text, 0..text.len(), |token| list.push(token));
        numbers(text, &list, is_answer, |number| found.push(number));
        found
    }

    #[test]
    fn numbers_are_read_as_written() {
        let time = |minutes: f64| (minutes, Unit::Time);
        let plain = |value: f64| (value, Unit::Plain);
        let measure = |name: &str| Unit::Measure(Measure::of(name).unwrap());
        for (text, expected) in [
            ("$1,200.50 and 3,5 or 1.5 million", vec![(1200.5, measure("$")), plain(3.5), plain(1.5e6)]),
            ("5 pm, 10:30 a.m., 17:30 and 24:00", vec![time(1020.0), time(630.0), time(1050.0), time(1440.0)]),
            ("5k and 2bn, B12, 45%", vec![plain(5000.0), plain(2e9), plain(45.0)]),
            ("forty-two cats, three hundred, one dog", vec![plain(42.0), plain(300.0), plain(1.0)]),
            ("20\u{b0}C or 68 degrees Fahrenheit", vec![(20.0, Unit::Celsius), (68.0, Unit::Fahrenheit)]),
            ("5 km, 5 m", vec![(5.0, measure("km")), (5.0, measure("metre"))]),
            ("2 500 or two thousand five hundred", vec![plain(2500.0), plain(2500.0)]),
            ("zwei, deux, dos", vec![plain(2.0); 3]),
            ("version 3.11.7", vec![]),
        ] {
            let found: Vec<(f64, Unit)> = of(text, false).iter().map(|number| (number.value, number.unit)).collect();
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(of("4.5 out of 5 stars since COVID-19", true).len(), 1);
        assert_eq!(of("1. Take 2 of them\n2) see passage 3", true).len(), 1);
        assert_eq!(of("costs 49 [1], [2, 3] rated 4/5 (1) [^4] \u{3010}5\u{2020}source\u{3011}", true).len(), 2);
        assert_eq!(of("in 2011 (330 metres), [1887]", true).len(), 3);
    }

    #[track_caller]
    fn check(source: &str, answer: &str, expected: bool) {
        let mut index = NumberIndex::default();
        of(source, false).iter().for_each(|number| index.add(number, 0));
        index.finish();
        let all = of(answer, true).iter().all(|number| index.supports(number));
        assert_eq!(all, expected, "{source} / {answer}");
    }

    #[test]
    fn equal_numbers_are_equal_however_they_are_written() {
        check("open 17:30-22:0", "from 5:30 pm to 10 pm", true);
        check("open 17:30-22:0", "from 5:30 pm to 9 pm", false);
        check("1.5 million people", "1,500,000 people", true);
        check("49.6 percent", "about 50%", true);
        check("49.6 percent", "about 60%", false);
        check("1,889 visitors", "about 1,900 visitors", true);
        check("finished in 1889", "finished in 1887", false);
        check("about 1,900 visitors", "1,889 visitors", false);
        check("a height of 100 m", "328 feet", true);
        check("58 \u{b0}F", "about 14 \u{b0}C", true);
        check("58 \u{b0}F", "about 20 \u{b0}C", false);
        check("5 km away", "3.1 miles away", true);
        check("twelve of them", "12 of them", true);
        check("7 of them", "8 of them", false);
        check("on 14 June 2025", "14.06.2025, 06/14/2025, 2025-06-14 and June 14th", true);
        check("on 14 June 2025", "14.07.2025", false);
        check("by 31 March", "by 31 May", false);
        check("from June 14 to 16, 2025", "on 16 June 2025", true);
        check("2,500 euros", "2.500 euros, 2500 euros, 2 500 euros and two thousand five hundred", true);
        check("half of the fee", "50% of the fee", true);
        check("half of the fee", "a quarter of the fee", false);
        check("the first day", "the 1st", true);
        check("1,240 metres", "1.24 km", true);
        check("90 minutes", "1.5 hours", true);
        check("90 minutes", "2 hours", false);
        check("within ten working days", "within two working weeks", true);
    }
}
