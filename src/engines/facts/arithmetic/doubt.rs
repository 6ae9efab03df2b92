//! Why an equation that does not hold may still be no false one: what a person would read in another way.
//!
//! Asked only of what is about to be called false, since a false equation blocks. Each reading has a reason that can be
//! stated; where one of them fits, the equation is not assessed.
//!
//! **Limits**: the readings are by their written form. What they let pass and is false all the same is a miss.

use std::sync::LazyLock;

use regex::Regex;

use super::{Reason, number};

/// An equation as it is written, with what its sides are worth.
#[derive(Clone, Copy, Debug)]
pub struct Said<'t> {
    /// What stands on the line before it.
    pub before: &'t str,
    /// The left side.
    pub left: &'t str,
    /// The right side.
    pub right: &'t str,
    /// What follows, to the end of the text.
    pub behind: &'t str,
    /// What the left side is.
    pub exact: f64,
    /// What the right side says.
    pub stated: f64,
    /// Operators of the left side.
    pub operators: usize,
}

/// Bytes before and behind an equation that are read.
const AROUND_BYTES: usize = 80;
/// Powers of 1,024, and of ten, that units differ by.
const SCALE_POWER_MAX: i32 = 12;

static DATA_UNIT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\d\s?(?:[kmgtp]i?b|bytes?|bits?|[kmg]bit)\b"));
static COMPOUND: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\d\s?(?:h|hrs?|hours?|min|minutes?|lbs?|ft|feet|'|°)\s?\d+\s?(?:m|min|mins|minutes?|s|sec|seconds?|oz|in|inch|inches)?\b|\d\s?(?:hours?|minutes?|pounds?|feet) (?:and )?\d",
    )
});
static ROUNDING: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\bround|\bceil|\bfloor\b|\bwhole\b|\bat least\b|\bneed"));
static COUNTED_IN: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\b(?:dozens?|pairs?|gross|0x[0-9a-f]+)\b"));
static DATE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\d{1,2}/\d{1,2}/\d{2,4}$|^(?:19|20)\d\d\s?[-–]\s?\d\d$"));
static DAY: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\d{1,2}/\d{1,2}$"));
static SPAN: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[$€£]?(\d[\d,]*(?:\.\d+)?)[-–][$€£]?(\d[\d,]*(?:\.\d+)?)$"));
static FORMATION: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\d(?:-\d){2,}$"));
static FRACTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\d+\s?/\s?\d+\b"));
static OPERATING: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\blog_?\{?\d*\}?\s*$|\b(?:ln|lg|choose)\s*$|[₀₁₂₃₄₅₆₇₈₉]\s*$"));
static OPTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^\s*(?:[-*]\s+)?(?:\(?[A-Ea-e][).]|(?i:students?|pupils?|child|kid|user|customer):)\s*$")
});
static PERCENTS: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*\d[\d.]*\s?%(?:\s*\+\s*\d[\d.]*\s?%)+\s*$"));
static SCALED_UNIT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)[²³]|\b(?:sq|square|cubic|mega|kilo|giga|tera|milli|micro|nano)|\b(?:ha|hectares?|l|ml|lit(?:er|re)s?)\b",
    )
});
static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"[A-Za-z²³µ°]"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a test compiles every pattern")
}

/// How else the equation may be meant.
pub fn other_reading(said: &Said<'_>) -> Option<Reason> {
    let Said { left, right, .. } = *said;
    let left = left.trim();
    // A number of something: #1234-5, issue 7-3.
    if said.before.trim_end().ends_with(['#', '№']) || COUNTED_IN.is_match(left) {
        return Some(Reason::Ambiguous);
    }
    // log₂ 8 + 1: the words before belong to the left side.
    if OPERATING.is_match(tail(said.before)) {
        return Some(Reason::Notation);
    }
    // An option of several, or what somebody else said.
    if OPTION.is_match(said.before) {
        return Some(Reason::Quoted);
    }
    if DATE.is_match(left) || DAY.is_match(left) && (1_900.0..2_100.0).contains(&said.stated) {
        return Some(Reason::Ambiguous);
    }
    if is_span(said, left) {
        return Some(Reason::Range);
    }
    // 1/2 cup = 4 oz, 1/125 = 8 ms: so much is worth so much.
    let is_rate = said.operators == 1 && said.exact < 1.0 && said.stated >= 1.0 && FRACTION.is_match(left);
    let behind = head(said.behind).split('\n').next().unwrap_or_default();
    let has_unit = WORD.is_match(right) || behind.trim_start().starts_with(|c: char| c.is_alphabetic());
    if is_rate && has_unit || COMPOUND.is_match(left) || continues_compound(right, behind) {
        return Some(Reason::MixedUnits);
    }
    if is_scaled(said, behind) {
        return Some(Reason::MixedUnits);
    }
    if is_rounded(said, left, behind) {
        return Some(Reason::Rounded);
    }
    is_corrected(said, left).then_some(Reason::TakenBack)
}

/// The first bytes of a text.
fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(AROUND_BYTES)]
}

/// The last bytes of a text.
fn tail(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(AROUND_BYTES))..]
}

/// From 9 to 5, pages 3-5, $10-$20, a formation of 4-4-2.
fn is_span(said: &Said<'_>, left: &str) -> bool {
    let sum: f64 = left.split('-').filter_map(|part| part.parse::<f64>().ok()).sum();
    if FORMATION.is_match(left) && sum == said.stated {
        return true;
    }
    let Some(ends) = SPAN.captures(left) else { return false };
    let end = |group: usize| ends[group].replace(',', "").parse::<f64>().unwrap_or_default();
    let (from, to) = (end(1), end(2));
    let is_on_the_clock = from <= 12.0 && to <= 12.0 && 12.0 - from + to == said.stated;
    from < to && said.stated >= 0.0 || is_on_the_clock
}

/// = 1 h 15 min, = 2 lb 3 oz: the result goes on.
fn continues_compound(right: &str, behind: &str) -> bool {
    let goes_on = behind.trim_start().starts_with(|c: char| c.is_ascii_digit());
    COMPOUND.is_match(right) || goes_on && WORD.is_match(right)
}

/// 512 MB * 4 = 2 GB by powers of 1,024; 1920 * 1080 = 2.07 megapixels by powers of ten.
fn is_scaled(said: &Said<'_>, behind: &str) -> bool {
    let ratio = said.exact / said.stated;
    if !(ratio.is_finite() && ratio > 0.0) {
        return false;
    }
    /// By how much the stated number may be rounded.
    const ROUNDED_SHARE: f64 = 0.005;
    let is_power_of = |base: f64| {
        let power = (ratio.ln() / base.ln()).round();
        power != 0.0
            && power.abs() <= f64::from(SCALE_POWER_MAX)
            && (ratio / base.powf(power) - 1.0).abs() <= ROUNDED_SHARE
    };
    let is_data = DATA_UNIT.is_match(said.left) && DATA_UNIT.is_match(said.right);
    let unit = behind.split_whitespace().next().unwrap_or_default();
    let has_scaled_unit = [said.left, said.right, unit].iter().any(|text| SCALED_UNIT.is_match(text));
    // Of whole numbers, ten times as much is a slip rather than a unit, unless both sides have one.
    let may_be_scaled = said.stated.fract() != 0.0 || SCALED_UNIT.is_match(said.left);
    is_data && is_power_of(1_024.0) || has_scaled_unit && may_be_scaled && is_power_of(10.0)
}

/// 50 / 12 = 5 buses (rounding up); 33% + 33% + 33% = 100%.
fn is_rounded(said: &Said<'_>, left: &str, behind: &str) -> bool {
    let is_neighbour = said.stated == said.exact.floor() || said.stated == said.exact.ceil();
    if is_neighbour && (ROUNDING.is_match(behind) || ROUNDING.is_match(tail(said.before))) {
        return true;
    }
    /// Half of a percent point, for each share and the sum.
    const HALF_PERCENT: f64 = 0.005;
    let shares = left.matches('%').count() + 1;
    PERCENTS.is_match(left)
        && (said.exact - said.stated).abs() <= HALF_PERCENT * shares as f64 + 1e-9
        && said.stated == 1.0
}

/// The same left side stands once more behind, with the right result: the writer noticed.
fn is_corrected(said: &Said<'_>, left: &str) -> bool {
    said.behind.match_indices(left).take(4).any(|(at, _)| {
        let rest = said.behind[at + left.len()..].trim_start();
        let Some(rest) = rest.strip_prefix('=') else { return false };
        let (literal, _) = number::read(rest.trim_start_matches([' ', '$', '€', '£', '*']));
        literal.is_ok_and(|literal| literal.value.to_double() == said.exact)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Settings, examine};

    #[track_caller]
    fn check(text: &str, is_false: bool) {
        let report = examine(text, "", &Settings::default());
        let details: Vec<_> = report.refuted.iter().map(|claim| &claim.detail).collect();
        assert_eq!(!details.is_empty(), is_false, "{text}: {details:?}");
    }

    #[test]
    fn what_may_be_meant_otherwise_is_not_false() {
        for text in [
            "So 512 MB × 4 = 2 GB.",
            "2 × 512 KB = 1 MB",
            "45 min + 30 min = 1 h 15 min",
            "2 m × 3 m × 4 m = 24 m³ = 24,000 L",
            "1920 × 1080 = 2.07 megapixels",
            "17 / 5 = 4 (rounded up)",
            "We need 50 / 12 = 5 buses (rounding up).",
            "33% + 33% + 33% = 100%",
            "45% + 35% + 21% = 100%",
            "1/2 cup = 4 oz",
            "A shutter of 1/125 = 8 ms.",
            "1 dozen + 3 = 15",
            "He works 9-5 = 8 hours.",
            "$10-$20 = $15 average",
            "10/12/2024 = 1 booking",
            "FY 2023-24 = 12 months",
            "A 4-4-2 = 10 players.",
            "Order #1234-5 = 3 items",
            "9/11 = 2001",
            "Wait, 14 * 38 = 542. Let me check: 14 * 38 = 532.",
            "The student wrote 12 × 12 = 142.",
            "Some people believe 2 + 2 = 5.",
            "log₂ 8 + 1 = 4",
            "$\\log_{10} 100 + 1 = 3$",
            "5 choose 2 + 1 = 11",
            "A) 5 + 3 = 9\nB) 5 + 3 = 8",
            "Student: 8 * 7 = 54",
            "$3\\frac{1}{2} = 3.5$",
            "$2\\frac{1}{4} + 1\\frac{1}{2} = 3\\frac{3}{4}$",
        ] {
            check(text, false);
        }
    }

    #[test]
    fn what_cannot_is() {
        for text in [
            "14 * 38 = 542",
            "48/2 = 25 clips",
            "16-3-4 = 8 eggs",
            "$20-$5 = $14",
            "512 MB × 4 = 3 GB",
            "33% + 33% + 33% = 105%",
            "17 / 5 = 5",
            "It took 48 / 6 = 80 inches.",
            "That is 5 * 4 = 200 cubic inches.",
            "She has 48/2 = 25 eggs\n12 of them are brown.",
            "14 * 38 = 542, and 14 * 38 = 543",
        ] {
            check(text, true);
        }
    }
}
