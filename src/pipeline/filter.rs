//! Which units and records an audit takes: a time window, and a sample that depends on the input alone.

use std::{collections::BinaryHeap, str::FromStr};

use anyhow::{Context as _, Result, anyhow, bail};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use crate::{
    config::InputSettings,
    hash,
    input::{Content, Reader},
};

/// How much to audit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// So many units, or all where there are fewer.
    Count(u64),
    /// About this share of the units, in [0, 1].
    Share(f64),
}

impl FromStr for Sample {
    type Err = anyhow::Error;

    /// A number of units, or a share such as `5%`.
    fn from_str(text: &str) -> Result<Sample> {
        let expected = || anyhow!("expected a number of records, or a share such as 5%, not {text:?}");
        let Some(percent) = text.strip_suffix('%') else {
            return text.parse().map(Sample::Count).map_err(|_| expected());
        };
        let share = percent.trim_end().parse::<f64>().map_err(|_| expected())? / 100.0;
        if (0.0..=1.0).contains(&share) { Ok(Sample::Share(share)) } else { Err(expected()) }
    }
}

/// A date or an RFC 3339 time in milliseconds since the epoch; UTC when it names no zone.
///
/// # Errors
/// When it is neither.
pub fn parse_time(text: &str) -> Result<i64> {
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Ok(timestamp.as_millisecond());
    }
    let expected = || anyhow!("expected a date (2026-11-01) or an RFC 3339 time, not {text:?}");
    let civil = text.parse::<DateTime>().map_err(|_| expected())?;
    Ok(civil.to_zoned(TimeZone::UTC).map_err(|_| expected())?.timestamp().as_millisecond())
}

/// Which units and records to audit. What it leaves out is counted as skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Filter {
    /// Records before this time are left out, and records without a time: milliseconds since the epoch.
    pub since_ms: Option<i64>,
    /// Records from this time on are left out, and records without a time: milliseconds since the epoch.
    pub until_ms: Option<i64>,
    /// Units whose hash is above this are left out.
    hash_max: Option<u64>,
}

impl Filter {
    /// All units whose record's time is in the window, given in milliseconds since the epoch.
    pub fn between(since_ms: Option<i64>, until_ms: Option<i64>) -> Filter {
        Filter { since_ms, until_ms, hash_max: None }
    }

    /// What the settings ask for. A sample of a fixed number needs the hashes of all units first, for which `open` is
    /// read once; `is_repeatable` says whether that is possible.
    ///
    /// # Errors
    /// When a setting cannot be understood, or the input cannot be read twice.
    pub fn new(settings: &InputSettings, is_repeatable: bool, open: impl FnOnce() -> Result<Reader>) -> Result<Filter> {
        let time = |name, text: &str| match text {
            "" => Ok(None),
            text => parse_time(text).map(Some).context(name),
        };
        let mut filter = Filter::between(time("since", &settings.since)?, time("until", &settings.until)?);
        if settings.sample.is_empty() {
            return Ok(filter);
        }
        let sample = settings.sample.parse().context("sample")?;
        if matches!(sample, Sample::Count(_)) && !is_repeatable {
            bail!("a sample of N reads its input twice, which standard input cannot; use a share such as 5%");
        }
        filter.draw(sample, open)?;
        Ok(filter)
    }

    /// Draws a sample. Every unit has a fixed hash (of its source and offset); a sample is the units with the
    /// smallest. A count needs the hashes of all units first, for which `open` is read once.
    ///
    /// # Errors
    /// When `open` fails.
    fn draw(&mut self, sample: Sample, open: impl FnOnce() -> Result<Reader>) -> Result<()> {
        self.hash_max = match sample {
            Sample::Share(share) => Some((share.clamp(0.0, 1.0) * u64::MAX as f64) as u64),
            Sample::Count(count) => smallest_hashes(open()?, count),
        };
        Ok(())
    }

    /// Whether the sample takes the unit at `byte` of `source`.
    pub fn takes_unit(&self, source: &str, byte: u64) -> bool {
        self.hash_max.is_none_or(|max| unit_hash(source, byte) <= max)
    }

    /// Whether the window takes a record of this time.
    pub fn takes_time(&self, timestamp_ms: Option<i64>) -> bool {
        if self.since_ms.is_none() && self.until_ms.is_none() {
            return true;
        }
        let Some(time) = timestamp_ms else { return false };
        self.since_ms.is_none_or(|since| time >= since) && self.until_ms.is_none_or(|until| time < until)
    }
}

fn unit_hash(source: &str, byte: u64) -> u64 {
    hash::combine(hash::name(source), byte)
}

/// The `count`-th smallest hash of all units, `None` when there are not so many.
fn smallest_hashes(mut reader: Reader, count: u64) -> Option<u64> {
    let mut smallest = BinaryHeap::new();
    while let Some(batch) = reader.next_batch() {
        for unit in &batch.units {
            if matches!(unit.content, Content::Text(_)) {
                smallest.push(unit_hash(&batch.source, unit.byte));
                if smallest.len() as u64 > count {
                    smallest.pop();
                }
            }
        }
    }
    // A sample of none takes nothing that hashes above 0.
    if count == 0 { Some(0) } else { (smallest.len() as u64 >= count).then(|| smallest.peek().copied()).flatten() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_samples_are_understood() {
        assert_eq!(parse_time("1970-01-02").unwrap(), 86_400_000);
        assert_eq!(parse_time("1970-01-01T00:00:01Z").unwrap(), 1_000);
        assert_eq!(parse_time("1970-01-01T01:00:00+01:00").unwrap(), 0);
        assert!(parse_time("yesterday").is_err());
        assert_eq!("12".parse::<Sample>().unwrap(), Sample::Count(12));
        assert_eq!("5%".parse::<Sample>().unwrap(), Sample::Share(0.05));
        for text in ["", "-1", "200%", "half", "%"] {
            assert!(text.parse::<Sample>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_window_is_half_open_and_wants_a_time() {
        let filter = Filter::between(Some(10), Some(20));
        let taken = |time| filter.takes_time(time);
        assert_eq!([9, 10, 19, 20].map(|time| taken(Some(time))), [false, true, true, false]);
        assert!(!taken(None));
        assert!(Filter::default().takes_time(None));
    }

    #[test]
    fn a_share_takes_about_that_share_and_always_the_same() {
        let mut filter = Filter::default();
        filter.draw(Sample::Share(0.2), || unreachable!("a share needs no first pass")).unwrap();
        let taken: Vec<_> = (0..10_000).filter(|byte| filter.takes_unit("a.jsonl", *byte)).collect();
        assert!((1_800..2_200).contains(&taken.len()), "{}", taken.len());
        let again: Vec<_> = (0..10_000).filter(|byte| filter.takes_unit("a.jsonl", *byte)).collect();
        assert_eq!(taken, again);
    }

    #[test]
    fn a_count_takes_exactly_that_many() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "{\"prompt\":\"a\"}\n".repeat(1000)).unwrap();
        let path = file.path().to_str().unwrap().to_owned();
        for (count, expected) in [(0, 0), (1, 1), (137, 137), (1000, 1000), (5000, 1000)] {
            let open = || Reader::open(std::slice::from_ref(&path), crate::input::Limits::default());
            let mut filter = Filter::default();
            filter.draw(Sample::Count(count), open).unwrap();
            let mut reader = open().unwrap();
            let mut taken = 0;
            while let Some(batch) = reader.next_batch() {
                taken += batch.units.iter().filter(|unit| filter.takes_unit(&batch.source, unit.byte)).count();
            }
            assert_eq!(taken, expected, "of {count}");
        }
    }
}
