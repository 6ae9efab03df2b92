//! Numbers: exact rationals, intervals for what is not rational or too long, and how numbers are written.
//!
//! **Exact**: a rational of two 62-bit parts, or of big integers beyond that, up to [`BITS_MAX`]. What is longer, and roots
//! that are not rational, is known as an [`Interval`] only, which always contains the true value.
//!
//! **Written**: digits with a decimal point, thousands separated by commas, thin or non-breaking spaces (in groups of
//! three, or of two as in India), European style where it is unambiguous (1.234,5), scientific notation.
//!
//! **Limits**: [`DIGITS_MAX`] digits of one number, powers of ten up to [`TEN_POWER_MAX`].
//!
//! An equation is false by its last digit, so that this reader is exact and keeps how a number was written. Who asks whether
//! two texts mean the same amount walks over [`all`] and compares doubles.

use std::{cmp::Ordering, ops::Range};

use num_bigint::BigInt;
use num_rational::{BigRational, Ratio};
use num_traits::{One, Signed, ToPrimitive, Zero};

/// Digits of one number; a longer one is not assessed.
pub const DIGITS_MAX: usize = 200;
/// The largest power of ten of scientific notation.
pub const TEN_POWER_MAX: i32 = 300;
/// Bits of numerator and of denominator of an exact number; beyond it an interval is known.
pub const BITS_MAX: u64 = 2_048;
/// Parts below this stay machine words: sums of their products fit into 128 bits.
const SMALL_BELOW: i128 = 1 << 62;
/// By how much an operation on doubles may be off, relative to its result.
const DOUBLE_ERROR: f64 = 4.0 * f64::EPSILON;

/// A rational number.
#[derive(Clone, Debug)]
pub enum Exact {
    /// Both parts below 2^62.
    Small(Ratio<i128>),
    /// Anything else.
    Big(Box<BigRational>),
}

impl Exact {
    /// A whole number.
    pub fn whole(value: i64) -> Exact {
        Exact::of_parts(i128::from(value), 1)
    }

    /// A fraction; `denominator` must not be zero.
    pub fn fraction(numerator: i64, denominator: i64) -> Exact {
        Exact::of_parts(i128::from(numerator), i128::from(denominator))
    }

    fn of_parts(numerator: i128, denominator: i128) -> Exact {
        Exact::of_ratio(Ratio::new(numerator, denominator))
    }

    fn of_ratio(ratio: Ratio<i128>) -> Exact {
        let is_small = ratio.numer().abs() < SMALL_BELOW && *ratio.denom() < SMALL_BELOW;
        if is_small { Exact::Small(ratio) } else { Exact::Big(Box::new(to_big(&ratio))) }
    }

    fn big(&self) -> BigRational {
        match self {
            Exact::Small(ratio) => to_big(ratio),
            Exact::Big(ratio) => (**ratio).clone(),
        }
    }

    fn bits(&self) -> u64 {
        match self {
            Exact::Small(ratio) => {
                let bits = |part: i128| u64::from(i128::BITS - part.unsigned_abs().leading_zeros());
                bits(*ratio.numer()).max(bits(*ratio.denom()))
            }
            Exact::Big(ratio) => ratio.numer().bits().max(ratio.denom().bits()),
        }
    }

    fn combine(
        &self,
        other: &Exact,
        small: fn(Ratio<i128>, Ratio<i128>) -> Ratio<i128>,
        big: fn(BigRational, BigRational) -> BigRational,
    ) -> Option<Exact> {
        if let (Exact::Small(a), Exact::Small(b)) = (self, other) {
            return Some(Exact::of_ratio(small(*a, *b)));
        }
        if self.bits() + other.bits() > 2 * BITS_MAX {
            return None;
        }
        let result = Exact::Big(Box::new(big(self.big(), other.big())));
        (result.bits() <= BITS_MAX).then(|| result.shrunk())
    }

    /// The same number, in machine words where they hold it.
    fn shrunk(self) -> Exact {
        let Exact::Big(ratio) = &self else { return self };
        match (ratio.numer().to_i64(), ratio.denom().to_i64()) {
            (Some(numerator), Some(denominator)) => {
                Exact::of_ratio(Ratio::new_raw(i128::from(numerator), i128::from(denominator)))
            }
            _ => self,
        }
    }

    /// The sum; `None` beyond [`BITS_MAX`].
    pub fn add(&self, other: &Exact) -> Option<Exact> {
        self.combine(other, |a, b| a + b, |a, b| a + b)
    }

    /// The difference; `None` beyond [`BITS_MAX`].
    pub fn sub(&self, other: &Exact) -> Option<Exact> {
        self.combine(other, |a, b| a - b, |a, b| a - b)
    }

    /// The product; `None` beyond [`BITS_MAX`].
    pub fn mul(&self, other: &Exact) -> Option<Exact> {
        self.combine(other, |a, b| a * b, |a, b| a * b)
    }

    /// The quotient; `None` beyond [`BITS_MAX`] and for a divisor of zero.
    pub fn div(&self, other: &Exact) -> Option<Exact> {
        if other.is_zero() { None } else { self.combine(other, |a, b| a / b, |a, b| a / b) }
    }

    /// The power; `None` beyond [`BITS_MAX`], and for zero to the power of zero or less.
    pub fn pow(&self, exponent: i64) -> Option<Exact> {
        if self.is_zero() && exponent <= 0 {
            return None;
        }
        let times = exponent.unsigned_abs();
        // 0, 1 and -1 stay small; of any other number the power has this many bits.
        if self.bits() > 1 && times.saturating_mul(self.bits() - 1) > BITS_MAX {
            return None;
        }
        if self.bits() <= 1 {
            return Some(if times.is_multiple_of(2) { self.abs() } else { self.clone() });
        }
        // Powers of parts without a common factor have none either.
        let (base, times) = (self.big(), u32::try_from(times).ok()?);
        let (numerator, denominator) = (base.numer().pow(times), base.denom().pow(times));
        let power = match (exponent < 0, numerator.is_negative()) {
            (false, _) => BigRational::new_raw(numerator, denominator),
            (true, false) => BigRational::new_raw(denominator, numerator),
            (true, true) => BigRational::new_raw(-denominator, -numerator),
        };
        Some(Exact::Big(Box::new(power)).shrunk())
    }

    /// The root, when it is rational.
    pub fn root(&self, degree: u32) -> Option<Exact> {
        if degree == 0 || self.is_negative() {
            return None;
        }
        let value = self.big();
        let (numerator, denominator) = (value.numer().nth_root(degree), value.denom().nth_root(degree));
        let is_exact = numerator.pow(degree) == *value.numer() && denominator.pow(degree) == *value.denom();
        is_exact.then(|| Exact::Big(Box::new(BigRational::new(numerator, denominator))).shrunk())
    }

    /// The number with the other sign.
    pub fn negated(&self) -> Exact {
        match self {
            Exact::Small(ratio) => Exact::Small(-ratio),
            Exact::Big(ratio) => Exact::Big(Box::new(-(**ratio).clone())),
        }
    }

    /// Without its sign.
    pub fn abs(&self) -> Exact {
        if self.is_negative() { self.negated() } else { self.clone() }
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        match self {
            Exact::Small(ratio) => ratio.is_zero(),
            Exact::Big(ratio) => ratio.is_zero(),
        }
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        match self {
            Exact::Small(ratio) => ratio.is_negative(),
            Exact::Big(ratio) => ratio.is_negative(),
        }
    }

    /// The number, when it is whole and fits.
    pub fn to_whole(&self) -> Option<i64> {
        match self {
            Exact::Small(ratio) => ratio.is_integer().then(|| ratio.numer().to_i64()).flatten(),
            Exact::Big(ratio) => ratio.is_integer().then(|| ratio.numer().to_i64()).flatten(),
        }
    }

    /// Whether it is whole.
    pub fn is_whole(&self) -> bool {
        match self {
            Exact::Small(ratio) => ratio.is_integer(),
            Exact::Big(ratio) => ratio.is_integer(),
        }
    }

    /// Whether it is a multiple of `unit` that is even.
    fn is_even_multiple(&self, unit: &Exact) -> bool {
        let halves = self.div(unit).and_then(|count| count.div(&Exact::whole(2)));
        halves.is_some_and(|halves| halves.is_whole())
    }

    /// The nearest double.
    pub fn to_double(&self) -> f64 {
        match self {
            Exact::Small(ratio) => *ratio.numer() as f64 / *ratio.denom() as f64,
            Exact::Big(ratio) => ratio.to_f64().unwrap_or(f64::NAN),
        }
    }

    /// Which is larger.
    pub fn compare(&self, other: &Exact) -> Ordering {
        match (self, other) {
            // Cross products of parts below 2^62 fit.
            (Exact::Small(a), Exact::Small(b)) => (a.numer() * b.denom()).cmp(&(b.numer() * a.denom())),
            _ => self.big().cmp(&other.big()),
        }
    }

    /// As people write it: whole, as a decimal when it ends within a few places, else as a fraction or rounded.
    pub fn show(&self) -> String {
        const PLACES_MAX: u32 = 6;
        const DIGITS_SHOWN_MAX: usize = 40;
        let whole = |value: &Exact| match value {
            Exact::Small(ratio) => ratio.numer().to_string(),
            Exact::Big(ratio) => ratio.numer().to_string(),
        };
        if self.bits() as usize > DIGITS_SHOWN_MAX * 3 {
            return show_double(self.to_double());
        }
        if self.is_whole() {
            return whole(self);
        }
        for places in 1..=PLACES_MAX {
            let scaled = self.mul(&Exact::whole(10_i64.pow(places)));
            if let Some(scaled) = scaled.filter(Exact::is_whole) {
                let digits = whole(&scaled.abs());
                let padded = format!("{digits:0>width$}", width = places as usize + 1);
                let (front, back) = padded.split_at(padded.len() - places as usize);
                return format!("{}{front}.{back}", if self.is_negative() { "-" } else { "" });
            }
        }
        show_double(self.to_double())
    }
}

/// With six digits behind the point, or in scientific notation.
pub fn show_double(value: f64) -> String {
    let is_usual = (1e-4..1e15).contains(&value.abs());
    if is_usual { format!("{value:.6}") } else { format!("{value:.6e}") }
}

fn to_big(ratio: &Ratio<i128>) -> BigRational {
    BigRational::new_raw(BigInt::from(*ratio.numer()), BigInt::from(*ratio.denom()))
}

/// A closed range that contains the true value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

#[allow(clippy::should_implement_trait, reason = "they answer None where the result is not finite")]
impl Interval {
    /// The range between two ends, made wider by what doubles get wrong; `None` when it is not finite.
    pub fn widened(a: f64, b: f64) -> Option<Interval> {
        let (low, high) = (a.min(b), a.max(b));
        let interval = Interval { low: low - low.abs() * DOUBLE_ERROR, high: high + high.abs() * DOUBLE_ERROR };
        (interval.low.is_finite() && interval.high.is_finite()).then_some(interval)
    }

    /// A number, and how far the true value may lie away from it.
    pub fn around(value: &Exact, radius: f64) -> Option<Interval> {
        let middle = value.to_double();
        Interval::widened(middle - radius, middle + radius)
    }

    /// The sum.
    pub fn add(self, other: Interval) -> Option<Interval> {
        // What cancels leaves the error of its parts behind.
        let error = (self.magnitude() + other.magnitude()) * DOUBLE_ERROR;
        Interval::widened(self.low + other.low - error, self.high + other.high + error)
    }

    /// With the other sign.
    pub fn negated(self) -> Interval {
        Interval { low: -self.high, high: -self.low }
    }

    /// The product.
    pub fn mul(self, other: Interval) -> Option<Interval> {
        let ends = [self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high];
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        Interval::widened(low, ends.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    }

    /// The quotient; `None` when the divisor may be zero.
    pub fn div(self, other: Interval) -> Option<Interval> {
        if other.low <= 0.0 && other.high >= 0.0 {
            return None;
        }
        self.mul(Interval::widened(1.0 / other.low, 1.0 / other.high)?)
    }

    /// The power of a number that is not negative.
    pub fn pow(self, exponent: Interval) -> Option<Interval> {
        if self.low <= 0.0 {
            return None;
        }
        // Powers lose as many digits as the exponent has.
        let error =
            1.0 + DOUBLE_ERROR * (8.0 + exponent.magnitude() * (1.0 + self.low.ln().abs() + self.high.ln().abs()));
        let ends = [
            self.low.powf(exponent.low),
            self.low.powf(exponent.high),
            self.high.powf(exponent.low),
            self.high.powf(exponent.high),
        ];
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        Interval::widened(low / error, ends.iter().copied().fold(f64::NEG_INFINITY, f64::max) * error)
    }

    /// The power of any number, for a small whole exponent.
    pub fn whole_power(self, exponent: i64) -> Option<Interval> {
        if self.low > 0.0 {
            let exponent = exponent as f64;
            return self.pow(Interval { low: exponent, high: exponent });
        }
        if !(1..=16).contains(&exponent) {
            return None;
        }
        let mut power = self;
        for _ in 1..exponent {
            power = power.mul(self)?;
        }
        Some(power)
    }

    /// The larger distance from zero.
    pub fn magnitude(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }
}

/// A number as it is written.
#[derive(Clone, Debug)]
pub struct Literal {
    /// What it says.
    pub value: Exact,
    /// The unit of its last digit.
    pub last_place: Exact,
    /// Digits behind the decimal point.
    pub places: u32,
    /// Significant digits.
    pub digits: usize,
    /// What it says when its points separate thousands (1.200), where that is possible; with decimal commas, when its mark is
    /// meant the other way.
    pub with_points_as_thousands: Option<Exact>,
    /// Whether dots follow: the digits go on (0.333...).
    pub goes_on: bool,
    /// Whether a word or letter scales it (2.5 million), or a power of ten (6.02e23).
    pub is_scaled: bool,
    /// Whether every digit is 0 or 1, so that it may be binary.
    pub may_be_binary: bool,
}

impl Literal {
    /// A number of this value, exactly.
    pub fn exactly(value: Exact) -> Literal {
        Literal {
            value,
            last_place: Exact::whole(1),
            places: 0,
            digits: 1,
            with_points_as_thousands: None,
            goes_on: false,
            is_scaled: false,
            may_be_binary: false,
        }
    }

    /// Whether it may be rounded to its last digit: three digits behind the point, or two that are no multiple of 0.05, as
    /// prices and shares are.
    pub fn may_be_rounded(&self, places_min: u32) -> bool {
        let is_nice =
            self.places == 2 && self.value.mul(&Exact::whole(20)).is_some_and(|twentieths| twentieths.is_whole());
        self.places >= places_min && self.places > 0 && !is_nice
    }

    /// A number of one group of thousands that may be one with three decimals instead.
    fn or_with_decimals(mut self) -> Literal {
        self.with_points_as_thousands = self.value.div(&Exact::whole(1_000));
        self
    }

    /// The same number, times `factor`.
    pub fn scaled(mut self, factor: &Exact) -> Option<Literal> {
        self.value = self.value.mul(factor)?;
        self.last_place = self.last_place.mul(factor)?;
        self.with_points_as_thousands = None;
        self.is_scaled = true;
        Some(self)
    }

    /// How far a true value may lie away from one that is rounded to these digits.
    pub fn half_place(&self) -> f64 {
        self.last_place.to_double() / 2.0
    }
}

/// Why digits are no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotANumber {
    /// Versions, lists without blanks, times: digits that count nothing.
    Ambiguous,
    /// More than [`DIGITS_MAX`] digits, or a power of ten above [`TEN_POWER_MAX`].
    TooLong,
}

/// What stands before the decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DecimalMark {
    /// 1,234.5
    #[default]
    Point,
    /// 1.234,5
    Comma,
}

/// The mark that the numbers of `text` show: the comma when some number can be read with it only (3,5; 1.234,50), and none with
/// the point only (3.5; 1,234,567). "(3,4)" are two numbers.
pub fn decimal_mark(text: &str) -> DecimalMark {
    let bytes = text.as_bytes();
    let mut has_comma = false;
    let mut at = 0;
    while let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|digit| at + digit) {
        let (mut points, mut commas, mut group, mut is_grouped, mut end) = (0, 0, 0, true, start);
        let mut last = b' ';
        while let Some(byte) = bytes.get(end) {
            let is_mark = matches!(byte, b'.' | b',') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
            if !is_mark && !byte.is_ascii_digit() {
                break;
            }
            if is_mark {
                is_grouped &= if last == b' ' { group <= 3 } else { group == 3 };
                (points, commas) = (points + usize::from(*byte == b'.'), commas + usize::from(*byte == b','));
                (last, group) = (*byte, 0);
            } else {
                group += 1;
            }
            end += 1;
        }
        at = end;
        let is_enclosed = start > 0
            && matches!(bytes[start - 1], b'(' | b'[' | b'{')
            && bytes.get(end).is_some_and(|byte| matches!(byte, b')' | b']' | b'}'));
        match (points, commas, last) {
            (1, 0, _) if group != 3 => return DecimalMark::Point,
            (0, 2.., _) if is_grouped && group == 3 => return DecimalMark::Point,
            (1, 1.., b'.') if is_grouped => return DecimalMark::Point,
            (0, 1, _) => has_comma |= group != 3 && !is_enclosed,
            (1.., 1, b',') => has_comma |= is_grouped,
            _ => {}
        }
    }
    if has_comma { DecimalMark::Comma } else { DecimalMark::Point }
}

/// Reads the number at the beginning of `text`, which begins with a digit or a point and a digit. The second value is
/// the number of bytes that belong to it, number or not.
pub fn read(text: &str) -> (Result<Literal, NotANumber>, usize) {
    read_with(text, DecimalMark::Point)
}

/// The same where decimals stand behind `mark`.
pub fn read_with(text: &str, mark: DecimalMark) -> (Result<Literal, NotANumber>, usize) {
    let bytes = text.as_bytes();
    let mut length = 0;
    let mut marks: Vec<Mark> = Vec::new();
    loop {
        length += bytes[length..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let Some((separator, width)) = separator(&text[length..]) else { break };
        if !bytes.get(length + width).is_some_and(u8::is_ascii_digit) {
            break;
        }
        // A space separates groups of three only.
        let group = bytes[length + width..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if separator == Separator::Space && (group != 3 || length > 3 && marks.is_empty()) {
            break;
        }
        if marks.len() == DIGITS_MAX {
            return (Err(NotANumber::TooLong), length);
        }
        marks.push(Mark { at: length, width, separator, group });
        length += width;
    }
    let digits = &text[..length];
    if mark == DecimalMark::Comma {
        for mark in &mut marks {
            mark.separator = match mark.separator {
                Separator::Point => Separator::Comma,
                Separator::Comma => Separator::Point,
                Separator::Space => Separator::Space,
            };
        }
    }
    let literal = number(digits, &marks).map(|literal| match mark {
        DecimalMark::Comma if marks.len() == 1 && literal.places == 0 => literal.or_with_decimals(),
        _ => literal,
    });
    let (literal, exponent_length) = match literal {
        Err(why) => (Err(why), 0),
        Ok(literal) => match exponent(&text[length..]) {
            None => (Ok(literal), 0),
            Some((power, length)) => {
                (power_of_ten(power).and_then(|ten| literal.scaled(&ten).ok_or(NotANumber::TooLong)), length)
            }
        },
    };
    let end = length + exponent_length;
    let dots = ["...", "\u{2026}", "\\ldots", "\\dots"].into_iter().find(|dots| text[end..].starts_with(dots));
    match (literal, dots) {
        (Ok(literal), Some(dots)) if literal.places > 0 => (Ok(Literal { goes_on: true, ..literal }), end + dots.len()),
        (literal, _) => (literal, end),
    }
}

/// The digits of a running text with what they say, in order. What begins with a point (.5) begins there, unless the point
/// belongs to what stands before it.
pub fn all(text: &str) -> impl Iterator<Item = (Range<usize>, Result<Literal, NotANumber>)> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let digit = at + bytes[at..].iter().position(u8::is_ascii_digit)?;
        let is_behind_point = match bytes[at..digit] {
            [.., before, b'.'] => !before.is_ascii_alphanumeric(),
            [b'.'] => at == 0,
            _ => false,
        };
        let start = digit - usize::from(is_behind_point);
        let (literal, length) = read(&text[start..]);
        at = start + length;
        Some((start..at, literal))
    })
}

/// 10 to the power of `power`.
fn power_of_ten(power: i32) -> Result<Exact, NotANumber> {
    let is_short = power.abs() <= TEN_POWER_MAX;
    is_short.then(|| Exact::whole(10).pow(i64::from(power))).flatten().ok_or(NotANumber::TooLong)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    Point,
    Comma,
    Space,
}

struct Mark {
    at: usize,
    width: usize,
    separator: Separator,
    /// Digits that follow.
    group: usize,
}

/// What may stand between digits of one number, and its bytes.
fn separator(text: &str) -> Option<(Separator, usize)> {
    match text.as_bytes().first()? {
        b'.' => Some((Separator::Point, 1)),
        b',' => Some((Separator::Comma, 1)),
        b'{' => text.starts_with("{,}").then_some((Separator::Comma, 3)),
        b'\\' => text.starts_with("\\,").then_some((Separator::Space, 2)),
        0xC2 => text.starts_with('\u{a0}').then_some((Separator::Space, 2)),
        0xE2 => text.starts_with(['\u{2009}', '\u{202f}']).then_some((Separator::Space, 3)),
        _ => None,
    }
}

/// The power of ten behind a number: `e6`, `E-3`.
fn exponent(text: &str) -> Option<(i32, usize)> {
    let rest = text.strip_prefix(['e', 'E'])?;
    let digits = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let is_word = digits[count..].starts_with(|c: char| c.is_alphanumeric());
    if count == 0 || is_word {
        return None;
    }
    let sign = if rest.starts_with('-') { -1 } else { 1 };
    let length = text.len() - digits.len() + count;
    Some((sign * digits[..count.min(6)].parse::<i32>().ok()?, length))
}

/// The number that digits with separators say.
fn number(text: &str, marks: &[Mark]) -> Result<Literal, NotANumber> {
    let of = |separator| marks.iter().filter(move |mark: &&Mark| mark.separator == separator);
    let points = of(Separator::Point).count();
    let commas = of(Separator::Comma).count();
    let spaces = of(Separator::Space).count();
    let first_group = marks.first().map_or(text.len(), |mark| mark.at);
    let last = marks.last();
    // The separator of thousands, if any, and the mark of decimals.
    let (thousands, decimal) = match (points, commas, spaces) {
        (0, 0, 0) => (None, None),
        (1, 0, 0) => (None, last),
        (_, 0, 0) => return Err(NotANumber::Ambiguous),
        (0, _, 0) => (Some(Separator::Comma), None),
        (0, 0, _) => (Some(Separator::Space), None),
        (1, 0, _) => (Some(Separator::Space), last),
        (1, _, 0) if last.is_some_and(|mark| mark.separator == Separator::Point) => (Some(Separator::Comma), last),
        (_, 1, 0) if last.is_some_and(|mark| mark.separator == Separator::Comma) => (Some(Separator::Point), last),
        _ => return Err(NotANumber::Ambiguous),
    };
    let mut groups = marks.iter().filter(|mark| Some(mark.separator) == thousands).peekable();
    let mut is_grouped = thousands.is_none() || (1..=3).contains(&first_group) && !text.starts_with('0');
    while let Some(group) = groups.next() {
        let is_last = groups.peek().is_none();
        let is_indian = !is_last && group.group == 2 && thousands == Some(Separator::Comma);
        is_grouped &= group.group == 3 || is_indian;
    }
    if !is_grouped || decimal.is_some_and(|mark| last.is_none_or(|last| last.at != mark.at)) {
        return Err(NotANumber::Ambiguous);
    }
    // 0900 is a time, 007 a name.
    let front = text.bytes().take_while(u8::is_ascii_digit).count();
    if front > 1 && text.starts_with('0') {
        return Err(NotANumber::Ambiguous);
    }
    let places = decimal.map_or(0, |mark| text.len() - mark.at - mark.width);
    let digits: String = text.bytes().filter(u8::is_ascii_digit).map(char::from).collect();
    if digits.len() > DIGITS_MAX {
        return Err(NotANumber::TooLong);
    }
    let mantissa = match digits.parse::<i64>() {
        Ok(small) => Exact::whole(small),
        Err(_) => Exact::Big(Box::new(BigRational::from_integer(
            BigInt::parse_bytes(digits.as_bytes(), 10).ok_or(NotANumber::Ambiguous)?,
        ))),
    };
    let last_place = Exact::whole(10).pow(-(places as i64)).ok_or(NotANumber::TooLong)?;
    let is_thousands =
        points == 1 && commas == 0 && places == 3 && (1..=3).contains(&first_group) && !text.starts_with('0');
    Ok(Literal {
        value: mantissa.mul(&last_place).ok_or(NotANumber::TooLong)?,
        last_place,
        places: places as u32,
        digits: digits.trim_start_matches('0').len(),
        with_points_as_thousands: is_thousands.then_some(mantissa),
        goes_on: false,
        is_scaled: false,
        may_be_binary: digits.bytes().all(|digit| matches!(digit, b'0' | b'1')),
    })
}

/// Whether `written` is a correct rounding of `exact` at the precision in which it is written. Of two that are equally
/// near, the one away from zero and the even one are both correct.
pub fn is_rounding(exact: &Exact, written: &Exact, last_place: &Exact) -> bool {
    let Some(distance) = exact.sub(written).map(|difference| difference.abs()) else { return false };
    let twice = distance.add(&distance).unwrap_or(distance);
    match twice.compare(last_place) {
        Ordering::Less => true,
        Ordering::Greater => false,
        Ordering::Equal => {
            written.abs().compare(&exact.abs()) == Ordering::Greater || written.is_even_multiple(last_place)
        }
    }
}

/// Whether `written` is `exact` with the digits behind its last one cut off.
pub fn is_truncation(exact: &Exact, written: &Exact, last_place: &Exact) -> bool {
    let (exact, written) = (exact.abs(), written.abs());
    let distance = exact.sub(&written);
    distance.is_some_and(|distance| !distance.is_negative() && distance.compare(last_place) == Ordering::Less)
}

/// n!, for a small n.
pub fn factorial(n: i64) -> Option<Exact> {
    const FACTORIAL_MAX: i64 = 200;
    if !(0..=FACTORIAL_MAX).contains(&n) {
        return None;
    }
    let product = (2..=n).fold(BigInt::one(), |product, factor| product * factor);
    let value = Exact::Big(Box::new(BigRational::from_integer(product)));
    (value.bits() <= BITS_MAX).then(|| value.shrunk())
}

/// In how many ways `k` of `n` can be chosen, for a small `n`.
pub fn choices(n: i64, k: i64) -> Option<Exact> {
    let others = n.checked_sub(k).filter(|others| *others >= 0 && k >= 0)?;
    factorial(n)?.div(&factorial(k)?.mul(&factorial(others)?)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn reads(text: &str, expected: &str, length: usize) {
        let (literal, bytes) = read(text);
        assert_eq!((literal.map(|literal| literal.value.show()), bytes), (Ok(expected.to_owned()), length), "{text}");
    }

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for (text, expected) in [
            ("42", "42"),
            ("1,234.5", "1234.5"),
            ("12,34,567", "1234567"),
            ("1.234,5", "1234.5"),
            ("1.234.567,25", "1234567.25"),
            ("1\u{202f}234\u{202f}567", "1234567"),
            ("1{,}000", "1000"),
            ("12\\,500", "12500"),
            ("6.02e23", "602000000000000000000000"),
            ("1e-3", "0.001"),
            (".5", "0.5"),
            ("0.333...", "0.333"),
        ] {
            reads(text, expected, text.len());
        }
        reads("5, 6", "5", 1);
        reads("5.", "5", 1);
        reads("3 400", "3", 1);
        reads("2e", "2", 1);
        for text in ["007", "0900", "1.2.3", "1,2", "1,23,4", "1.2,3.4", "01,234", "1,234,56"] {
            assert_eq!(read(text).0.err(), Some(NotANumber::Ambiguous), "{text}");
            assert_eq!(read(text).1, text.len(), "{text}");
        }
        assert_eq!(read(&"9".repeat(10_000)).0.err(), Some(NotANumber::TooLong));
        assert_eq!(read("1e999999999").0.err(), Some(NotANumber::TooLong));
    }

    #[test]
    fn the_numbers_of_a_text_are_found_where_they_stand() {
        for (text, expected) in [
            ("it is 1,234.5 kg, or 2", vec![("1,234.5", Some(1234.5)), ("2", Some(2.0))]),
            (".5 and a.5, then -.25", vec![(".5", Some(0.5)), ("5", Some(5.0)), (".25", Some(0.25))]),
            ("1.2.3 of 4", vec![("1.2.3", None), ("4", Some(4.0))]),
            ("none", vec![]),
            ("", vec![]),
        ] {
            let found = all(text).map(|(span, literal)| (&text[span], literal.ok().map(|one| one.value.to_double())));
            assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn a_rounding_is_the_nearest_number_of_its_precision() {
        let third = Exact::fraction(10, 3);
        let holds = |text: &str, exact: &Exact| {
            let written = read(text).0.unwrap();
            is_rounding(exact, &written.value, &written.last_place)
        };
        assert!(holds("3.33", &third) && holds("3", &third) && holds("3.3333", &third));
        assert!(!holds("3.34", &third) && !holds("4", &third) && !holds("3.30", &third));
        let half = Exact::fraction(5, 2);
        assert!(holds("3", &half) && holds("2", &half) && !holds("2.4", &half));
        assert!(!holds("3", &Exact::fraction(7, 2)), "neither away from zero nor even");
    }

    #[test]
    fn powers_and_roots_are_exact_or_nothing() {
        assert_eq!(Exact::whole(2).pow(200).unwrap().to_double(), 2_f64.powi(200));
        assert!(Exact::whole(2).pow(1_000_000_000).is_none());
        assert_eq!(Exact::whole(-1).pow(1_000_000_001).unwrap().show(), "-1");
        assert!(Exact::whole(0).pow(-1).is_none() && Exact::whole(1).div(&Exact::whole(0)).is_none());
        assert_eq!(Exact::fraction(9, 4).root(2).unwrap().show(), "1.5");
        assert!(Exact::whole(2).root(2).is_none());
        assert_eq!(factorial(5).unwrap().show(), "120");
        assert!(factorial(1_000_000).is_none());
        assert_eq!(choices(5, 2).unwrap().show(), "10");
        assert!(choices(2, 5).is_none() && choices(i64::MIN, 1).is_none() && choices(5, -1).is_none());
    }

    proptest! {
        #[test]
        fn an_interval_contains_the_exact_result(a in -1_000_000_i64..1_000_000, b in 1_i64..100_000, c in -999_i64..999) {
            let (x, y) = (Exact::fraction(a, b), Exact::whole(c));
            let (i, j) = (Interval::around(&x, 0.0).unwrap(), Interval::around(&y, 0.0).unwrap());
            let holds = |exact: Option<Exact>, interval: Option<Interval>| match (exact, interval) {
                (Some(exact), Some(interval)) => {
                    let value = exact.to_double();
                    interval.low <= value && value <= interval.high
                }
                _ => true,
            };
            prop_assert!(holds(x.add(&y), i.add(j)));
            prop_assert!(holds(x.sub(&y), i.add(j.negated())));
            prop_assert!(holds(x.mul(&y), i.mul(j)));
            prop_assert!(holds(x.div(&y), i.div(j)));
            prop_assert!(holds(x.pow(3), i.whole_power(3)));
            let inverse = x.pow(-3).and_then(|power| power.mul(&x)?.mul(&x)?.mul(&x));
            prop_assert!(inverse.is_none_or(|one| one.to_whole() == Some(1)));
        }

        #[test]
        fn arithmetic_agrees_with_machine_words(a in any::<i64>(), b in any::<i64>(), c in 1_i64..i64::MAX) {
            let (x, y) = (Exact::whole(a), Exact::whole(b));
            let as_big = |value: i128| Exact::of_parts(value, 1).show();
            prop_assert_eq!(x.add(&y).unwrap().show(), as_big(i128::from(a) + i128::from(b)));
            prop_assert_eq!(x.sub(&y).unwrap().compare(&Exact::whole(0)), a.cmp(&b));
            prop_assert_eq!(x.mul(&Exact::whole(c)).unwrap().div(&Exact::whole(c)).unwrap().compare(&x), Ordering::Equal);
        }

        #[test]
        fn reading_never_fails_on_any_text(text in "[0-9][0-9.,e{} +\\-]{0,30}") {
            let (_, length) = read(&text);
            prop_assert!(length > 0 && text.is_char_boundary(length));
        }

        #[test]
        fn every_digit_of_a_text_belongs_to_one_number(text in "[0-9a-zé.,{}\\\\ e+-]{0,40}") {
            let mut end = 0;
            for (span, _) in all(&text) {
                prop_assert!(end <= span.start && span.start < span.end);
                prop_assert!(!text[end..span.start].bytes().any(|byte| byte.is_ascii_digit()));
                end = span.end;
            }
            prop_assert!(!text[end..].bytes().any(|byte| byte.is_ascii_digit()));
        }
    }

    #[test]
    fn a_text_shows_its_decimal_mark() {
        for (text, comma) in [
            ("3,5 x 4 = 15", true),
            ("1.234,50 and 1.500", true),
            ("1,500 and 2,000", false),
            ("3,5 and 2.5", false),
            ("3,5 and 1,000,000", false),
            ("(3,4) and 1.200", false),
            ("1,2,3", false),
            ("on 12.05.2024: 3,5", true),
            ("", false),
        ] {
            assert_eq!(decimal_mark(text) == DecimalMark::Comma, comma, "{text}");
        }
        let value = |text| read_with(text, DecimalMark::Comma).0.map(|literal| literal.value.show());
        assert_eq!(value("1.234,50"), Ok("1234.5".to_owned()));
        assert_eq!(value("1.500"), Ok("1500".to_owned()));
        assert!(value("3.5").is_err());
    }
}
