//! Which files of a folder are logs, by their names, and in which order the pieces of a rotated log are read.
//!
//! A name is looked at without what compression and rotation put behind it: `app.jsonl.2.gz`, `app.log.2026-11-20` and
//! `app.log-20261120.zst` are logs as `app.jsonl` and `app.log` are. A name that says nothing (`trace`, `output.txt`,
//! `archive.gz`) leaves it to the content. Copies (`app.jsonl.bak`, `app.jsonl~`) hold what another file holds already.
//!
//! The pieces of a rotated log are read from the oldest on, because history follows the order of the input: dates from the first,
//! numbers from the highest, then the file without any.

use std::cmp::{Ordering, Reverse};

/// Extensions of logs.
pub const LOG_EXTENSIONS: [&str; 13] =
    ["jsonl", "ndjson", "jsonlines", "json", "log", "csv", "tsv", "yaml", "yml", "har", "parquet", "zip", "eval"];

/// Extensions that may follow those of logs.
pub const COMPRESSED_EXTENSIONS: [&str; 5] = ["gz", "zst", "zstd", "bz2", "xz"];

/// Extensions that say nothing of what a file holds.
const VAGUE_EXTENSIONS: [&str; 3] = ["txt", "out", "data"];

/// Extensions of copies and of files that are being written.
const COPY_EXTENSIONS: [&str; 8] = ["bak", "backup", "orig", "save", "tmp", "part", "partial", "swp"];

/// What the name of a file says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// It is a log.
    Log,
    /// Nothing: its content has to tell.
    Nothing,
    /// It is a copy of something.
    Copy,
    /// It is something else.
    Other,
}

/// What the name of a file says of it.
pub fn said_by(name: &str) -> Said {
    let name = name.to_ascii_lowercase();
    if name.ends_with('~') {
        return Said::Copy;
    }
    match split(&name).base.rsplit_once('.') {
        None => Said::Nothing,
        Some((_, extension)) if LOG_EXTENSIONS.contains(&extension) => Said::Log,
        Some((_, extension)) if VAGUE_EXTENSIONS.contains(&extension) => Said::Nothing,
        Some((_, extension)) if COPY_EXTENSIONS.contains(&extension) => Said::Copy,
        Some(_) => Said::Other,
    }
}

/// Whether the name is hidden.
pub fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

/// The name without what compression and rotation put behind it.
pub fn base_of(name: &str) -> &str {
    split(name).base
}

/// How two files of one folder are read after one another.
pub fn in_order(a: &str, b: &str) -> Ordering {
    let (a_parts, b_parts) = (split(a), split(b));
    a_parts.base.cmp(b_parts.base).then(a_parts.age.cmp(&b_parts.age)).then_with(|| a.cmp(b))
}

struct Parts<'n> {
    base: &'n str,
    age: Age<'n>,
}

/// Which piece of a rotated log a file is, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Age<'n> {
    Dated(&'n str),
    Numbered(Reverse<u32>),
    Old,
    Current,
}

fn split(name: &str) -> Parts<'_> {
    let mut parts = Parts { base: name, age: Age::Current };
    while let Some((base, ending)) = split_ending(parts.base) {
        match age_of(ending) {
            Some(age) if parts.age == Age::Current => parts.age = age,
            None if COMPRESSED_EXTENSIONS.iter().any(|extension| ending.eq_ignore_ascii_case(extension)) => {}
            _ => break,
        }
        parts.base = base;
    }
    parts
}

/// What stands behind the last dot, or a date behind a dash.
fn split_ending(name: &str) -> Option<(&str, &str)> {
    let (base, ending) = name.rsplit_once('.').filter(|(base, _)| !base.is_empty())?;
    let dated =
        ending.split_once('-').filter(|(extension, date)| !is_date(ending) && !extension.is_empty() && is_date(date));
    match dated {
        Some((extension, date)) => Some((&name[..base.len() + 1 + extension.len()], date)),
        None => Some((base, ending)),
    }
}

fn age_of(ending: &str) -> Option<Age<'_>> {
    /// Digits of the number of a rotated log; more are a time.
    const NUMBER_DIGITS_MAX: usize = 4;
    if is_date(ending) {
        return Some(Age::Dated(ending));
    }
    if ending.eq_ignore_ascii_case("old") {
        return Some(Age::Old);
    }
    let is_number = !ending.is_empty() && ending.bytes().all(|byte| byte.is_ascii_digit());
    let number = ending.parse().ok().filter(|_| is_number && ending.len() <= NUMBER_DIGITS_MAX);
    number.map(|number| Age::Numbered(Reverse(number)))
}

/// Whether the text is a date, or a date and a time, as rotation writes them: 2026-11-20, 20261120, 2026-11-20_14-05, 1795132800.
fn is_date(text: &str) -> bool {
    /// Digits of a date, at least.
    const DATE_DIGITS_MIN: usize = 6;
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_spelt = text.bytes().all(|byte| byte.is_ascii_digit() || b"-_T:Z".contains(&byte.to_ascii_uppercase()));
    text.starts_with(['1', '2']) && is_spelt && digits >= DATE_DIGITS_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_files_are() {
        let check = |names: &[&str], expected: Said| {
            for name in names {
                assert_eq!(said_by(name), expected, "{name}");
            }
        };
        check(
            &["a.jsonl", "A.NDJSON", "a.json.gz", "a.b.log.zst", "traces.otlp.json", "run.eval", "x.parquet"],
            Said::Log,
        );
        check(&["a.jsonl.1", "a.jsonl.2.gz", "a.jsonl.gz.3", "a.log.2026-11-20", "a.log-20261120.gz"], Said::Log);
        check(
            &[
                "a.2026-11-20.jsonl",
                "a.jsonl.old",
                "a.log.2026-11-20_14-05.bz2",
                "a.log.1795132800",
                "a.log-20261120-1795132800.xz",
            ],
            Said::Log,
        );
        check(&["trace", "a.txt", "archive.gz", "a.1", "2026-11-20", "out.txt.2"], Said::Nothing);
        check(&["a.jsonl.bak", "a.jsonl~", "a.jsonl.tmp", "a.jsonl.gz.part"], Said::Copy);
        check(&["a.md", "a.png", "a.jsonl.md5", "a.json5", "a.log.12345", "a.log.1.2", "a.tar.gz"], Said::Other);
    }

    #[test]
    fn rotated_logs_are_read_from_the_oldest_on() {
        let expected = [
            "a.jsonl",
            "b.log.2026-11-19",
            "b.log.2026-11-20.gz",
            "b.log.10.gz",
            "b.log.2",
            "b.log.1",
            "b.log.old",
            "b.log",
            "b.log.gz",
            "c.jsonl",
        ];
        let mut names = expected;
        names.reverse();
        names.sort_by(|a, b| in_order(a, b));
        assert_eq!(names, expected);
        assert_eq!([base_of("a.csv.3.gz"), base_of("b.log-20261120"), base_of(".gz")], ["a.csv", "b.log", ".gz"]);
    }
}
