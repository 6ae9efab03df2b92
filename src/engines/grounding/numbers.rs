//! The numbers of a sentence, so that equal ones are equal however they are written.
//!
//! **Formula**: thousands separators, currency and percent signs are left out; k, m, bn, thousand, million, billion and
//! trillion multiply; number words up to ninety-nine are numbers; a time of the day becomes minutes (`5 pm`, `17:00`).
//! A number of the answer is in the source when the source holds it, its hour or its time; when it is at least
//! [`ROUNDED_FROM`] and the source has one within [`ROUNDED_SHARE`] that becomes it when rounded to its digits; or when the source has
//! it in another unit (Celsius and Fahrenheit, kilometres and miles, metres and feet, kilograms and pounds,
//! centimetres and inches).
//!
//! **Source**: seed 004 asks whether a claim is supported; the equivalences are those whose absence gave false alarms in
//! the study behind this engine.
//!
//! **Limits**: sums, differences and shares of numbers of the source count as not in it. "One", "first" and "half" are
//! no numbers here. Numbers are compared in single precision.

use std::ops::Range;

use super::tokens::{DIGIT, Token, WORD_VALUES};

/// Numbers from here on may be rounded.
pub const ROUNDED_FROM: f64 = 10.0;
/// How far a rounded number may be off.
pub const ROUNDED_SHARE: f64 = 0.02;
/// Numbers of a source with a unit that are converted.
pub const CONVERTED_MAX: usize = 512;

/// In what a number counts, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// None, or one that is not converted.
    Plain,
    /// Time of the day, in minutes.
    Time,
    /// Degrees Celsius.
    Celsius,
    /// Degrees Fahrenheit.
    Fahrenheit,
    /// Kilometres.
    Kilometres,
    /// Miles.
    Miles,
    /// Metres.
    Metres,
    /// Feet.
    Feet,
    /// Kilograms.
    Kilograms,
    /// Pounds.
    Pounds,
    /// Centimetres.
    Centimetres,
    /// Inches.
    Inches,
}

/// One number and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Its value; minutes for a time of the day.
    pub value: f64,
    /// In what it counts.
    pub unit: Unit,
    /// The token that it begins with.
    pub token: usize,
    /// Where it stands.
    pub span: Range<usize>,
}

/// How a number is compared.
pub fn key(value: f64, is_time: bool) -> u64 {
    u64::from((value as f32).to_bits()) | u64::from(is_time) << 32
}

impl Number {
    /// How it is compared.
    pub fn key(&self) -> u64 {
        key(self.value, self.unit == Unit::Time)
    }
}

/// Hands the numbers among the tokens of `text` to `take`, in order. In an answer, the numbers of lists and of passages
/// are no claims.
pub fn numbers(text: &str, tokens: &[Token], is_answer: bool, mut take: impl FnMut(Number)) {
    let mut next_word = 0;
    for (index, token) in tokens.iter().enumerate() {
        let number = if token.flags & DIGIT != 0 {
            digits(text, tokens, index).filter(|_| !is_answer || !is_label(text, tokens, index))
        } else if token.value > 0 && index >= next_word {
            let found = words(text, tokens, index);
            next_word = index + found.1;
            Some(found.0)
        } else {
            None
        };
        if let Some(number) = number {
            take(number);
        }
    }
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
    let is_round = matches!(value(&text[span.clone()]), Some(5.0 | 10.0 | 100.0));
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
    let written = &text[span.clone()];
    let next = tokens.get(index + 1).filter(|next| next.start as usize <= span.end + 1);
    let word = next.map(|next| lower(text, next)).unwrap_or_default();
    let is_attached = next.is_some_and(|next| next.start as usize == span.end);
    if let Some(minutes) = time(written, &word, &bytes[span.end..]) {
        return Some(Number { value: minutes, unit: Unit::Time, token: index, span });
    }
    let value = value(written)? * multiplier(&word, is_attached);
    Some(Number { value, unit: unit(&word, &bytes[span.end..]), token: index, span })
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

/// The value of digits with points and commas.
fn value(written: &str) -> Option<f64> {
    if written.bytes().all(|byte| byte.is_ascii_digit()) {
        return written.parse().ok();
    }
    if written.contains(':') {
        return None;
    }
    let (whole, fraction) = written.rsplit_once('.').unwrap_or((written, ""));
    if whole.contains('.') {
        return None;
    }
    let groups = whole.split(',').skip(1);
    if whole.contains(',') && !groups.clone().all(|group| group.len() == 3) {
        return if fraction.is_empty() { whole.replacen(',', ".", 1).parse().ok() } else { None };
    }
    format!("{}.{fraction}0", whole.replace(',', "")).parse().ok()
}

/// What a word behind a number multiplies it by. Single letters count only where they are attached: 5 m is a length.
fn multiplier(word: &str, is_attached: bool) -> f64 {
    match word {
        "hundred" => 1e2,
        "thousand" => 1e3,
        "million" | "mn" => 1e6,
        "billion" | "bn" => 1e9,
        "trillion" => 1e12,
        "k" if is_attached => 1e3,
        "m" if is_attached => 1e6,
        "b" if is_attached => 1e9,
        _ => 1.0,
    }
}

fn unit(word: &str, behind: &[u8]) -> Unit {
    let is_degree = matches!(behind.trim_ascii_start(), [0xC2, 0xB0, ..]);
    match word {
        "c" | "celsius" => Unit::Celsius,
        "f" | "fahrenheit" => Unit::Fahrenheit,
        "km" | "kilometers" | "kilometres" | "kilometer" | "kilometre" => Unit::Kilometres,
        "mi" | "mile" | "miles" => Unit::Miles,
        "m" | "meter" | "meters" | "metre" | "metres" => Unit::Metres,
        "ft" | "foot" | "feet" => Unit::Feet,
        "kg" | "kilogram" | "kilograms" | "kilos" => Unit::Kilograms,
        "lb" | "lbs" | "pound" | "pounds" => Unit::Pounds,
        "cm" | "centimeters" | "centimetres" | "centimeter" | "centimetre" => Unit::Centimetres,
        "in" | "inch" | "inches" => Unit::Inches,
        "degrees" => degrees(behind),
        _ if is_degree => degrees(behind),
        _ => Unit::Plain,
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

/// A number in words that begins at `index`, and of how many tokens it is made.
fn words(text: &str, tokens: &[Token], index: usize) -> (Number, usize) {
    let of = |token: &Token| (token.value > 0).then(|| WORD_VALUES[usize::from(token.value) - 1].1);
    let mut value = of(&tokens[index]).unwrap_or_default();
    let mut count = 1;
    let is_near = |a: &Token, b: &Token| b.start as usize <= a.span().end + 1;
    if let Some(next) = tokens.get(index + 1).filter(|next| is_near(&tokens[index], next)) {
        let ones = of(next).filter(|ones| *ones < 10.0 && (20.0..=90.0).contains(&value));
        if let Some(ones) = ones {
            value += ones;
            count = 2;
        }
    }
    let last = &tokens[index + count - 1];
    let mut end = last.span().end;
    if let Some(next) = tokens.get(index + count).filter(|next| is_near(last, next)) {
        let factor = multiplier(&lower(text, next), false);
        if factor > 1.0 {
            value *= factor;
            end = next.span().end;
        }
    }
    let unit = tokens.get(index + count).map_or(Unit::Plain, |next| unit(&lower(text, next), &text.as_bytes()[end..]));
    (Number { value, unit, token: index, span: tokens[index].span().start..end }, count)
}

/// `value` in the unit to which `unit` is converted, and that unit.
fn converted(value: f64, unit: Unit) -> Option<(f64, Unit)> {
    Some(match unit {
        Unit::Celsius => (value * 1.8 + 32.0, Unit::Fahrenheit),
        Unit::Fahrenheit => ((value - 32.0) / 1.8, Unit::Celsius),
        Unit::Kilometres => (value / 1.609_344, Unit::Miles),
        Unit::Miles => (value * 1.609_344, Unit::Kilometres),
        Unit::Metres => (value / 0.3048, Unit::Feet),
        Unit::Feet => (value * 0.3048, Unit::Metres),
        Unit::Kilograms => (value / 0.453_592_37, Unit::Pounds),
        Unit::Pounds => (value * 0.453_592_37, Unit::Kilograms),
        Unit::Centimetres => (value / 2.54, Unit::Inches),
        Unit::Inches => (value * 2.54, Unit::Centimetres),
        Unit::Plain | Unit::Time => return None,
    })
}

/// The numbers of a source, with the sentences in which they stand.
#[derive(Debug, Default)]
pub struct NumberIndex {
    /// Key and sentence, sorted.
    places: Vec<(u64, u32)>,
    /// Values that are no times, sorted.
    values: Vec<f64>,
    /// Values in a unit of which another is converted to.
    converted: Vec<(f64, Unit)>,
}

impl NumberIndex {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.places.clear();
        self.values.clear();
        self.converted.clear();
    }

    /// Takes a number of the source in.
    pub fn add(&mut self, number: &Number, sentence: u32) {
        self.places.push((number.key(), sentence));
        match number.unit {
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
                    self.converted.extend(converted(number.value, unit));
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
        let key = number.key();
        let from = self.places.partition_point(|place| place.0 < key);
        self.places[from..].iter().take_while(move |place| place.0 == key).map(|place| place.1)
    }

    /// Whether the source holds the number, or one that it can stand for.
    pub fn supports(&self, number: &Number) -> bool {
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
        /// A conversion may be rounded to a whole number.
        const CONVERTED_OFF: f64 = 0.6;
        self.converted.iter().any(|(other, unit)| {
            *unit == number.unit && (is_near(*other, ROUNDED_SHARE) || (*other - value).abs() <= CONVERTED_OFF)
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
        for (text, expected) in [
            ("$1,200.50 and 3,5 or 1.5 million", vec![plain(1200.5), plain(3.5), plain(1.5e6)]),
            ("5 pm, 10:30 a.m., 17:30 and 24:00", vec![time(1020.0), time(630.0), time(1050.0), time(1440.0)]),
            ("5k and 2bn, B12, 45%", vec![plain(5000.0), plain(2e9), plain(45.0)]),
            ("forty-two cats, three hundred, one dog", vec![plain(42.0), plain(300.0)]),
            ("20\u{b0}C or 68 degrees Fahrenheit", vec![(20.0, Unit::Celsius), (68.0, Unit::Fahrenheit)]),
            ("5 km, 3 miles, 5 m", vec![(5.0, Unit::Kilometres), (3.0, Unit::Miles), (5.0, Unit::Metres)]),
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
    }
}
