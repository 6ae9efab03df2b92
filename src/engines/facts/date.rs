//! Dates in prose: `2024-02-29`, `29 February 2024`, `February 29, 2024`, `February 2024`, `2024`.
//!
//! **Limits**: English names of months, the Gregorian calendar, years from 1000 to 2999. `03/04/2024` means different days
//! in different countries and is not read.

use std::{
    ops::{Range, RangeInclusive},
    sync::LazyLock,
};

use jiff::civil::Date;
use regex::Regex;

/// The years that are read.
const YEARS: RangeInclusive<i16> = 1000..=2999;
/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// A date that stands in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Mention {
    /// Where it stands.
    pub span: Range<usize>,
    /// The days that it means: the first, and the one after the last; `None` when there is no such day.
    pub days: Option<(i64, i64)>,
    /// Whether it names a day, and not a month or year.
    pub is_day: bool,
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

static DATES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let month = "(?P<M>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\\.?";
    let named = |name: &str| month.replace("?P<M>", &format!("?P<{name}>"));
    let year = |name: &str| format!("(?P<{name}>[12][0-9]{{3}})");
    let pattern = format!(
        "(?-u:\\b)(?:{}-(?P<m1>[0-9]{{2}})-(?P<d1>[0-9]{{2}})|(?P<d2>[0-9]{{1,2}})(?:st|nd|rd|th)?(?: of)? {}(?:,? {})?|{} (?P<d3>[0-9]{{1,2}})(?:st|nd|rd|th)?(?:,? {})?|{},? {}|{})(?-u:\\b)",
        year("y1"),
        named("m2"),
        year("y2"),
        named("m3"),
        year("y3"),
        named("m4"),
        year("y4"),
        year("y5"),
    );
    Regex::new(&pattern).ok()
});

/// All dates with a year, and days that no year has, in `text`.
pub fn mentions(text: &str) -> Vec<Mention> {
    let Some(dates) = DATES.as_ref() else { return Vec::new() };
    let mut found = Vec::new();
    for captures in dates.captures_iter(text) {
        let Some(whole) = captures.get(0) else { continue };
        let text_of = |name: &str| captures.name(name).map(|found| found.as_str());
        let number =
            |names: &[&str]| names.iter().find_map(|name| text_of(name)).and_then(|text| text.parse::<i16>().ok());
        let year = number(&["y1", "y2", "y3", "y4", "y5"]);
        let named = ["m2", "m3", "m4"].iter().find_map(|name| text_of(name)).and_then(month_of);
        let month = named.or(number(&["m1"]));
        let day = number(&["d1", "d2", "d3"]);
        let span = whole.range();
        // Part of a longer number, a path or an identifier.
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '/' | '_' | '.' | '$' | '€' | '£' | '#' | ':');
        let after = &text[span.end..];
        let goes_on = after.starts_with(['-', '/', '_', '%', ':'])
            || (after.starts_with(['.', ',']) && after[1..].starts_with(|c: char| c.is_ascii_digit()));
        if text[..span.start].chars().next_back().is_some_and(is_part) || goes_on {
            continue;
        }
        match (year, month, day) {
            (Some(year), Some(month @ 1..=12), Some(day)) => {
                let days = day_of(year, month, day).map(|first| (first, first + 1));
                // Beyond 31 it is no day of any month, but some other number.
                if days.is_some() || (1..=31).contains(&day) {
                    found.push(Mention { span, days, is_day: true });
                }
            }
            (Some(year), Some(month @ 1..=12), None) => {
                let (next_year, next_month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
                let days = day_of(year, month, 1).zip(day_of(next_year, next_month, 1));
                found.push(Mention { span, days, is_day: false });
            }
            (Some(year), None, None) => {
                let days = day_of(year, 1, 1).zip(day_of(year + 1, 1, 1));
                found.push(Mention { span, days, is_day: false });
            }
            // 2024 is a leap year: what it lacks, no year has.
            (None, Some(month), Some(day @ 1..=31)) if day_of(2024, month, day).is_none() => {
                found.push(Mention { span, days: None, is_day: true });
            }
            _ => {}
        }
    }
    found
}

fn month_of(name: &str) -> Option<i16> {
    let name = name.get(..3)?.to_ascii_lowercase();
    MONTHS.iter().position(|known| *known == name).map(|index| index as i16 + 1)
}

/// Days since 1970.
fn day_of(year: i16, month: i16, day: i16) -> Option<i64> {
    let date = Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    let epoch = Date::new(1970, 1, 1).ok()?;
    date.since((jiff::Unit::Day, epoch)).ok().map(|span| i64::from(span.get_days()))
}

/// The day of a moment.
pub fn day_of_ms(ms: i64) -> i64 {
    ms.div_euclid(DAY_MS)
}

/// A day as it is written in details.
pub fn shown(day: i64) -> String {
    let epoch = Date::new(1970, 1, 1).ok();
    let date = epoch.and_then(|epoch| epoch.checked_add(jiff::Span::new().try_days(day).ok()?).ok());
    date.map_or_else(|| format!("day {day}"), |date| date.to_string())
}

/// What a file states as a date: the first day that it means, and the one after the last.
pub fn parse(text: &str) -> Option<(i64, i64)> {
    let text = text.trim();
    let text = text.split_once('T').map_or(text, |(date, _)| date);
    if let Some((year, month)) = text.split_once('-').filter(|(_, month)| month.len() == 2) {
        let (year, month) = (year.parse().ok().filter(|year| YEARS.contains(year))?, month.parse().ok()?);
        let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        return day_of(year, month, 1).zip(day_of(next.0, next.1, 1));
    }
    let mut all = mentions(text);
    let only = all.pop().filter(|only| all.is_empty() && only.span == (0..text.len()))?;
    only.days
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(text: &str) -> Vec<(String, Option<String>)> {
        let of = |mention: Mention| (text[mention.span].to_owned(), mention.days.map(|(first, _)| shown(first)));
        mentions(text).into_iter().map(of).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, Option<&str>)]) {
        let found = days(text);
        let found: Vec<_> = found.iter().map(|(text, day)| (text.as_str(), day.as_deref())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn dates_in_prose() {
        check(
            "On 2024-02-29, or 29 February 2024.",
            &[("2024-02-29", Some("2024-02-29")), ("29 February 2024", Some("2024-02-29"))],
        );
        check(
            "March 5th, 2023 and Sept. 2020; in 1999",
            &[
                ("March 5th, 2023", Some("2023-03-05")),
                ("Sept. 2020", Some("2020-09-01")),
                ("1999", Some("1999-01-01")),
            ],
        );
        check("30 February", &[("30 February", None)]);
        check("April 31, 2022", &[("April 31, 2022", None)]);
        check("2023-02-29", &[("2023-02-29", None)]);
        for none in
            ["March 5", "2024-13-01", "12024-01-01", "id-2024-02-30", "$2000", "2024/02/30", "may 5", "2000.5", "20245"]
        {
            check(none, &[]);
        }
    }

    #[test]
    fn dates_of_files() {
        assert_eq!(parse("2024").map(|(a, b)| (shown(a), shown(b))), Some(("2024-01-01".into(), "2025-01-01".into())));
        assert_eq!(
            parse("2024-12").map(|(a, b)| (shown(a), shown(b))),
            Some(("2024-12-01".into(), "2025-01-01".into()))
        );
        assert_eq!(parse("2024-02-29T10:00:00Z").map(|(a, _)| shown(a)), Some("2024-02-29".into()));
        assert_eq!((parse("2023-02-29"), parse("soon"), parse("")), (None, None, None));
        assert_eq!(day_of_ms(-1), -1);
    }

    #[test]
    fn years_that_are_not_read_are_no_dates() {
        for (text, is_date) in [
            ("1000-01", true),
            ("2999-12", true),
            ("2999", true),
            ("32767-12", false),
            ("3000-01", false),
            ("0999-12", false),
            ("-32768-01", false),
            ("99999-12", false),
            ("2024-13", false),
            ("2024-00", false),
        ] {
            assert_eq!(parse(text).is_some(), is_date, "{text}");
        }
    }
}
