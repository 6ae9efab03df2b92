//! Does the answer give as current what no longer is, or a date that cannot be?
//!
//! The recency index of the configuration lists facts (a phrase, with other words for it), each with the time in which it
//! holds and what replaces it. A sentence that has the phrase and speaks of the present claims that it holds when the
//! record was made; one with "as of" and a date, that it held then. Without an index, dates alone are looked at.
//!
//! **Formula**: value = sentences that are wrong about time / sentences with a fact of the index, or wrong.
//!
//! **Range**: 0 (all in time) to 1 (nothing is). Without such a sentence the engine is not assessed.
//!
//! **Source**: seed 003, verifier 06 (Temporal Consistency): "true at training time but no longer current", dated
//! assertions against a maintained recency index.
//!
//! **Limits**: English. Questions, denials, suppositions, the past tense, sentences with a date of their own, and those that
//! name what replaces the fact are no claims of currency. A record without a time is held against the index only where a
//! fact has no end and is replaced. Dates that no calendar has are found as [`date`] reads them; a
//! future event told in the past tense only with a whole date, more than [`FUTURE_DAYS_MIN`] days ahead.

use std::{
    collections::HashSet,
    ops::Range,
    sync::{Arc, LazyLock},
};

use aho_corasick::{AhoCorasick, MatchKind, packed};
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    date::{self, Mention},
    knowledge::load::{BadLine, day},
    sentence::{self, Stance},
};
use crate::{
    engines::{
        About, Assessment, Detail, Engine, Finding, Question, RatioSource, Severity, Signal, SignalAbout, Status, Tier,
        View,
    },
    record::Kind,
    text::{code, excerpt::unredacted},
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: NAME,
    summary: "Facts given as current that the recency index knows as outdated, and dates that cannot be.",
    formula: "sentences that are wrong about time / sentences with a fact of the index, or wrong",
    range: "0 (all in time) to 1 (nothing is)",
    source: "seed 003, verifier 06",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Fabricated,
        title: "A fact is given as current that is outdated, or a date that cannot be.",
        owasp: "LLM09",
        help: "Compare with the recency index; give the model the current date.",
    }],
};

/// The engine.
pub const NAME: &str = "temporal";
/// The signal.
pub const SIGNAL: &str = "temporal_conflict";
/// Ours: what is outdated was true once, so that it says less than a contradiction.
pub const LIKELIHOOD_RATIO: f64 = 3.0;
/// The ratio with which facts that are in time speak against fabrication.
const ABSENT_RATIO: f64 = 1.5;
/// Days by which an event must lie ahead to be told of too early: time zones and clocks differ.
pub const FUTURE_DAYS_MIN: i64 = 2;
/// Places of one text that are looked at.
pub const PLACES_MAX: usize = 1_000;
/// Facts of the index.
pub const FACTS_MAX: usize = 100_000;
/// Characters of a fact in a detail.
const FACT_CHARS_MAX: usize = 80;

/// Which files hold the recency index.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Files {
    /// JSON Lines or CSV with fact, aliases, valid_from, valid_to, replaced_by; relative to the configuration file.
    pub files: Vec<String>,
}

/// Settings of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Whether dates that no calendar has, and events of the future told in the past tense, are looked for.
    pub impossible_dates: bool,
    /// P(fires | fabricated) / P(fires | not).
    pub likelihood_ratio: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { impossible_dates: true, likelihood_ratio: LIKELIHOOD_RATIO }
    }
}

/// A fact and when it holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dated {
    /// The words for it.
    pub phrases: Vec<String>,
    /// First day, counted from 1970.
    pub valid_from: Option<i64>,
    /// First day on which it no longer holds.
    pub valid_to: Option<i64>,
    /// What holds instead.
    pub replaced_by: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Line {
    fact: String,
    aliases: Vec<String>,
    valid_from: Option<String>,
    valid_to: Option<String>,
    replaced_by: Option<String>,
}

impl Line {
    fn check(self) -> Result<Dated, String> {
        let mut phrases = vec![self.fact.trim().to_owned()];
        phrases.extend(self.aliases.iter().map(|alias| alias.trim().to_owned()).filter(|alias| !alias.is_empty()));
        if phrases[0].is_empty() {
            return Err("has no fact".to_owned());
        }
        let valid_from = day("valid_from", self.valid_from.as_deref())?.map(|(first, _)| first);
        let valid_to = day("valid_to", self.valid_to.as_deref())?.map(|(_, after)| after);
        let replaced_by = self.replaced_by.map(|by| by.trim().to_owned()).filter(|by| !by.is_empty());
        if valid_from.zip(valid_to).is_some_and(|(from, to)| from >= to) {
            return Err("ends before it begins".to_owned());
        }
        if valid_from.is_none() && valid_to.is_none() && replaced_by.is_none() {
            return Err("has neither valid_from, valid_to nor replaced_by".to_owned());
        }
        Ok(Dated { phrases, valid_from, valid_to, replaced_by })
    }
}

/// The facts of the file `name`, JSON Lines or CSV by its ending.
///
/// # Errors
/// With the first line that cannot be used.
pub fn facts(name: &str, text: &str) -> Result<Vec<Dated>, BadLine> {
    let bad = |line: usize, reason: String| BadLine { line, reason };
    let lower = name.to_ascii_lowercase();
    if lower.ends_with(".jsonl") || lower.ends_with(".ndjson") {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        return lines
            .map(|(index, line)| {
                let line: Result<Line, _> = serde_json::from_str(line);
                line.map_err(|error| error.to_string()).and_then(Line::check).map_err(|why| bad(index + 1, why))
            })
            .collect();
    }
    if !lower.ends_with(".csv") {
        return Err(bad(1, "the ending of the file must be .jsonl or .csv".to_owned()));
    }
    const COLUMNS: [&str; 5] = ["fact", "aliases", "valid_from", "valid_to", "replaced_by"];
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| bad(1, error.to_string()))?.clone();
    if let Some(unknown) = headers.iter().find(|name| !COLUMNS.contains(name)) {
        return Err(bad(1, format!("unknown column {unknown:?}; the first line names the columns")));
    }
    let mut dated = Vec::new();
    for (index, row) in reader.records().enumerate() {
        let row = row.map_err(|error| bad(index + 2, error.to_string()))?;
        let line = row.position().map_or(index + 2, |position| position.line() as usize);
        let cell =
            |name: &str| headers.iter().position(|known| known == name).and_then(|at| row.get(at)).unwrap_or_default();
        let filled = |name: &str| Some(cell(name).to_owned()).filter(|text| !text.is_empty());
        let entry = Line {
            fact: cell("fact").to_owned(),
            aliases: cell("aliases").split('|').map(str::to_owned).collect(),
            valid_from: filled("valid_from"),
            valid_to: filled("valid_to"),
            replaced_by: filled("replaced_by"),
        };
        dated.push(entry.check().map_err(|why| bad(line, why))?);
    }
    Ok(dated)
}

/// The recency index, ready to be searched.
#[derive(Debug, Default)]
pub struct Index {
    phrases: Option<AhoCorasick>,
    /// The fact of each phrase.
    of_phrase: Vec<usize>,
    facts: Vec<Dated>,
}

impl Index {
    /// The index of `facts`.
    ///
    /// # Errors
    /// When there are too many.
    pub fn new(facts: Vec<Dated>) -> Result<Index, String> {
        if facts.len() > FACTS_MAX {
            return Err(format!("more than {FACTS_MAX} facts"));
        }
        let phrases: Vec<(&String, usize)> = facts
            .iter()
            .enumerate()
            .flat_map(|(index, fact)| fact.phrases.iter().map(move |phrase| (phrase, index)))
            .collect();
        let of_phrase = phrases.iter().map(|(_, fact)| *fact).collect();
        let built = (!phrases.is_empty()).then(|| {
            let builder =
                AhoCorasick::builder().ascii_case_insensitive(true).match_kind(MatchKind::LeftmostLongest).to_owned();
            builder.build(phrases.iter().map(|(phrase, _)| phrase))
        });
        let phrases = built.transpose().map_err(|error| format!("the facts cannot be searched: {error}"))?;
        Ok(Index { phrases, of_phrase, facts })
    }
}

/// Something that is wrong about time.
#[derive(Clone, Debug, PartialEq)]
pub struct Anachronism {
    /// `temporal/NAME`.
    pub rule: &'static str,
    /// Where it stands.
    pub span: Range<usize>,
    /// What is the case.
    pub detail: String,
}

/// What was found in a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Facts of the index that hold when they are said to.
    pub current: u64,
    /// What is wrong.
    pub wrong: Vec<Anachronism>,
}

/// Words with which a sentence speaks of the present.
const PRESENT: [&str; 33] = [
    "is",
    "are",
    "current",
    "currently",
    "now",
    "today",
    "latest",
    "newest",
    "recent",
    "present",
    "presently",
    "applies",
    "apply",
    "governs",
    "requires",
    "require",
    "must",
    "has",
    "have",
    "sets",
    "provides",
    "remains",
    "stands",
    "defines",
    "under",
    "valid",
    "force",
    "effective",
    "up-to-date",
    "supports",
    "costs",
    "use",
    "recommended",
];

static AS_OF: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i-u)\b(?:as of|as at|since)\s+(?:the end of |early |mid |late )?$").ok());

/// Months with fewer than 31 days, and what stands for them between numbers.
static IMPOSSIBLE: LazyLock<Option<packed::Searcher>> = LazyLock::new(|| {
    let patterns = [
        "Feb", "April", "Apr ", "Apr.", "June", "Jun ", "Septem", "Sept", "Sep ", "Novem", "Nov ", "Nov.", "-02-",
        "-04-31", "-06-31", "-09-31", "-11-31",
    ];
    packed::Searcher::new(patterns)
});

/// Checks `text`, written on `today` (days since 1970). What stands in `prompt` too, word for word, is quoted.
pub fn examine(text: &str, prompt: &str, today: Option<i64>, index: &Index, settings: &Settings) -> Report {
    let mut look = Look { text, prompt, today, code: None, report: Report::default() };
    look.at_index(index);
    if settings.impossible_dates {
        look.at_days();
        look.at_the_future();
    }
    let mut report = look.report;
    report.wrong.sort_by_key(|wrong| (wrong.span.start, wrong.span.end, wrong.rule));
    report.wrong.dedup_by_key(|wrong| wrong.span.clone());
    report
}

struct Look<'t> {
    text: &'t str,
    prompt: &'t str,
    today: Option<i64>,
    code: Option<Vec<Range<usize>>>,
    report: Report,
}

impl<'t> Look<'t> {
    /// The sentence around `place`, when it states something that is not only quoted.
    fn statement(&mut self, place: &Range<usize>) -> Option<(Range<usize>, &'t str, Stance)> {
        let text = self.text;
        let code = self.code.get_or_insert_with(|| code::code_ranges(text));
        if code::is_within(code, place.start) {
            return None;
        }
        let sentence = sentence::around(text, place.clone());
        let words = &text[sentence.clone()];
        let stance = Stance::of(words);
        let is_quoted = !self.prompt.is_empty() && self.prompt.contains(words);
        (stance.is_statement() && !is_quoted).then_some((sentence, words, stance))
    }

    fn wrong(&mut self, rule: &'static str, span: Range<usize>, detail: String) {
        if self.report.wrong.len() < PLACES_MAX {
            self.report.wrong.push(Anachronism { rule, span, detail });
        }
    }

    fn at_index(&mut self, index: &Index) {
        let Some(phrases) = &index.phrases else { return };
        let mut done = HashSet::new();
        for found in phrases.find_iter(self.text).take(PLACES_MAX) {
            let number = index.of_phrase[found.pattern().as_usize()];
            let (fact, place) = (&index.facts[number], found.range());
            if !sentence::is_whole_word(self.text, &place) {
                continue;
            }
            let Some((sentence, words, stance)) = self.statement(&place) else { continue };
            if stance.is_past || !done.insert((sentence.start, number)) {
                continue;
            }
            let knows = fact.replaced_by.as_ref().is_some_and(|by| sentence::find_phrase(words, by).is_some());
            let own = place.start - sentence.start..place.end - sentence.start;
            let Some(moment) = self.moment(words, &own).filter(|_| !knows) else { continue };
            match untimely(fact, moment) {
                Untimely::No => self.report.current += 1,
                Untimely::Unknown => {}
                Untimely::Outdated(detail) => self.wrong("temporal/outdated", place, detail),
                Untimely::Premature(detail) => self.wrong("temporal/premature", place, detail),
            }
        }
    }

    /// The time for which a sentence claims what it says at `own`: now (`Some(None)` when that is not known) or a day.
    fn moment(&self, words: &str, own: &Range<usize>) -> Option<Option<(i64, i64)>> {
        let dates = date::mentions(words);
        let others: Vec<&Mention> = dates.iter().filter(|date| !own.contains(&date.span.start)).collect();
        let as_of =
            others.iter().find(|date| AS_OF.as_ref().is_some_and(|as_of| as_of.is_match(&words[..date.span.start])));
        if let Some(date) = as_of {
            return date.days.map(Some);
        }
        let is_present = || {
            words
                .split(|c: char| !c.is_alphanumeric() && c != '-')
                .any(|word| PRESENT.contains(&word.to_ascii_lowercase().as_str()))
        };
        (others.is_empty() && is_present()).then(|| self.today.map(|today| (today, today + 1)))
    }

    fn at_days(&mut self) {
        let Some(searcher) = IMPOSSIBLE.as_ref() else { return };
        /// Bytes around the name of a month that a date takes up.
        const DATE_BYTES: usize = 24;
        let (text, mut looked) = (self.text, 0);
        for found in searcher.find_iter(text) {
            let bytes = text.as_bytes();
            let near = found.start().saturating_sub(DATE_BYTES)..(found.end() + DATE_BYTES).min(text.len());
            // Only a day of 29 to 31 can be one too many.
            if !bytes[near].windows(2).any(|pair| matches!(pair, b"29" | b"30" | b"31")) {
                continue;
            }
            looked += 1;
            if looked > PLACES_MAX {
                return;
            }
            let sentence = sentence::around(text, found.start()..found.end());
            for mention in date::mentions(&text[sentence.clone()]) {
                let span = sentence.start + mention.span.start..sentence.start + mention.span.end;
                if mention.days.is_none() && span.contains(&found.start()) && self.statement(&span).is_some() {
                    self.wrong("temporal/impossible_date", span, "the month has no such day".to_owned());
                }
            }
        }
    }

    fn at_the_future(&mut self) {
        static TOLD: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(r"(?-u)\b(?:was|were) (?:born|held|signed|released|published|founded|launched|adopted|elected|announced|enacted|ratified|completed|opened|built|killed|arrested) (?:on|in) $|(?-u)\b(?:died|happened|occurred|took place|ended|began) (?:on|in) $").ok()
        });
        let Some((today, told)) = self.today.zip(TOLD.as_ref()) else { return };
        let this_year = date::shown(today).get(..4).and_then(|year| year.parse::<u16>().ok()).unwrap_or(u16::MAX);
        let text = self.text;
        let years = memchr::memmem::find_iter(text.as_bytes(), b"20").filter(|&at| {
            text.get(at..at + 4).and_then(|year| year.parse::<u16>().ok()).is_some_and(|year| year >= this_year)
        });
        for at in years.take(PLACES_MAX).collect::<Vec<_>>() {
            let sentence = sentence::around(text, at..at + 4);
            let words = &text[sentence.clone()];
            let ahead = date::mentions(words).into_iter().find(|date| {
                let is_here = date.span.contains(&(at - sentence.start));
                is_here && date.is_day && date.days.is_some_and(|(first, _)| first >= today + FUTURE_DAYS_MIN)
            });
            let Some(date) = ahead.filter(|date| told.is_match(&words[..date.span.start])) else { continue };
            let span = sentence.start + date.span.start..sentence.start + date.span.end;
            if self.statement(&span).is_some() {
                let detail = format!("told as past on {}", date::shown(today));
                self.wrong("temporal/future_as_past", span, detail);
            }
        }
    }
}

enum Untimely {
    No,
    Unknown,
    Outdated(String),
    Premature(String),
}

fn untimely(fact: &Dated, moment: Option<(i64, i64)>) -> Untimely {
    // The index is the auditor's and no part of the log: what it says is shown, also when it is a date or a number.
    let cut = |text: &str| {
        let text: String = text.chars().take(FACT_CHARS_MAX).collect();
        unredacted(&text, 0..text.len())
    };
    let instead = fact.replaced_by.as_deref().map(|by| format!("; replaced by {}", cut(by))).unwrap_or_default();
    match (moment, fact.valid_from, fact.valid_to) {
        (Some((first, _)), _, Some(to)) if to <= first => {
            Untimely::Outdated(format!("not valid since {}{instead}", date::shown(to)))
        }
        (Some((_, after)), Some(from), _) if after <= from => {
            Untimely::Premature(format!("valid from {} only", date::shown(from)))
        }
        (_, _, None) if fact.replaced_by.is_some() => Untimely::Outdated(format!("no longer valid{instead}")),
        (None, ..) => Untimely::Unknown,
        _ => Untimely::No,
    }
}

/// The engine.
pub struct Temporal {
    settings: Settings,
    index: Arc<Index>,
}

impl Temporal {
    /// The engine with these settings and this index.
    pub fn new(settings: Settings, index: Arc<Index>) -> Temporal {
        Temporal { settings, index }
    }
}

impl Engine for Temporal {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        if view.record.kind != Kind::Llm {
            return None;
        }
        let today = view.record.timestamp_ms.map(date::day_of_ms);
        let report = examine(view.response_text(), view.prompt_text, today, &self.index, &self.settings);
        Some(assessment(report, &self.settings))
    }
}

fn assessment(report: Report, settings: &Settings) -> Assessment {
    let wrong = report.wrong.len() as u64;
    let claims = report.current + wrong;
    if claims == 0 {
        return Assessment::not_assessed("nothing that is bound to a time");
    }
    let status = if wrong > 0 { Status::Error } else { Status::Ok };
    let mut assessment = Assessment::new(status, wrong as f64 / claims as f64).with("checked", Detail::Count(claims));
    let signal = match report.wrong.first() {
        None => Signal::absent(SIGNAL, Question::Fabricated, Tier::Zero, (ABSENT_RATIO, RatioSource::Default)),
        Some(first) => {
            let ratio = RatioSource::default_or_config(settings.likelihood_ratio, LIKELIHOOD_RATIO);
            let name = first.rule.strip_prefix("temporal/").unwrap_or(first.rule).replace('_', " ");
            let more = if wrong > 1 { format!("; {} more", wrong - 1) } else { String::new() };
            let detail = format!("{name}: {}{more}", first.detail);
            Signal::absent(SIGNAL, Question::Fabricated, Tier::Zero, ratio).fire(1.0, detail)
        }
    };
    let finding = |wrong: Anachronism| Finding {
        detail: wrong.detail.into(),
        ..Finding::new(wrong.rule, Severity::Medium, "/response", wrong.span)
    };
    assessment.findings = report.wrong.into_iter().map(finding).collect();
    assessment.signal(signal)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = r#"
{"fact":"Regulation 765/2008","aliases":["the old market regulation"],"valid_from":"2010-01-01","valid_to":"2021-07-15","replaced_by":"Regulation 2019/1020"}
{"fact":"Python 3.11","aliases":[],"valid_from":"2022-10-24","valid_to":"2023-10-01","replaced_by":"Python 3.12"}
{"fact":"the standard fee is 40 euros","replaced_by":"45 euros"}
{"fact":"the new visa rule","valid_from":"2025-01-01"}
"#;

    fn report(text: &str, today: &str) -> Report {
        let index = Index::new(facts("a.jsonl", FILE).unwrap()).unwrap();
        examine(text, "", date::parse(today).map(|(day, _)| day), &index, &Settings::default())
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let found = report(text, "2024-05-13");
        let found: Vec<(&str, &str)> =
            found.wrong.iter().map(|wrong| (wrong.rule, &text[wrong.span.clone()])).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn what_is_given_as_current_and_is_not() {
        let outdated = "temporal/outdated";
        check("Market surveillance is governed by Regulation 765/2008.", &[(outdated, "Regulation 765/2008")]);
        check("The latest version is Python 3.11, I believe.", &[(outdated, "Python 3.11")]);
        check("As of 2024, the current release is Python 3.11.", &[(outdated, "Python 3.11")]);
        check("In short, the standard fee is 40 euros.", &[(outdated, "the standard fee is 40 euros")]);
        check("The new visa rule applies to you.", &[("temporal/premature", "The new visa rule")]);
        assert_eq!(
            report("The latest is Python 3.11.", "2024").wrong[0].detail,
            "not valid since 2023-10-02; replaced by Python 3.12"
        );
    }

    #[test]
    fn what_is_no_claim_of_currency() {
        for text in [
            "Regulation 765/2008 was in force then.",
            "The former Regulation 765/2008 is of interest.",
            "Is Regulation 765/2008 still current?",
            "Regulation 765/2008 is no longer in force.",
            "Regulation 765/2008 is now Regulation 2019/1020.",
            "In March 2020, Regulation 765/2008 is the law.",
            "As of 2020, Regulation 765/2008 is in force.",
            "If Python 3.11 is installed, go on.",
            "Download Python 3.11 here.",
            "Python 3.112 is not it.",
        ] {
            check(text, &[]);
        }
        assert_eq!(report("The latest is Python 3.11.", "2023-01-01").current, 1);
        let index = Index::new(facts("a.jsonl", FILE).unwrap()).unwrap();
        let timeless = examine("The latest is Python 3.11.", "", None, &index, &Settings::default());
        assert_eq!((timeless.current, timeless.wrong.len()), (0, 0));
    }

    #[test]
    fn days_that_no_calendar_has() {
        let rule = "temporal/impossible_date";
        check("It is due on 30 February.", &[(rule, "30 February")]);
        check("She moved in on April 31, 2022, and left.", &[(rule, "April 31, 2022")]);
        check("Born 2023-02-29.", &[(rule, "2023-02-29")]);
        check("Due February 29, 2023 at noon", &[(rule, "February 29, 2023")]);
        for fine in [
            "29 February 2024",
            "June 30",
            "There is no February 30.",
            "February 30 does not exist",
            "`2023-02-30`",
            "Nov 2031",
        ] {
            check(fine, &[]);
        }
    }

    #[test]
    fn events_that_are_still_to_come() {
        check("The treaty was signed on 5 March 2031.", &[("temporal/future_as_past", "5 March 2031")]);
        for fine in [
            "The treaty was signed on 5 March 2021.",
            "It will be signed on 5 March 2031.",
            "The lease was extended to 5 March 2031.",
            "It ended in 2031.",
        ] {
            check(fine, &[]);
        }
    }

    #[test]
    fn a_bad_line_is_named() {
        for (name, text, line, reason) in [
            ("a.jsonl", "{\"fact\":\"a\",\"valid_to\":\"2020\"}\n{\"fact\":\"b\"}", 2, "neither"),
            ("a.jsonl", "{\"valid_to\":\"2020\"}", 1, "no fact"),
            ("a.jsonl", "{\"fact\":\"a\",\"valid_to\":\"then\"}", 1, "no date"),
            ("a.csv", "fact,until\n", 1, "unknown column"),
            ("a.csv", "fact,valid_to\na,2020\nb,x\n", 3, "no date"),
            ("a.txt", "", 1, "ending"),
        ] {
            let bad = facts(name, text).unwrap_err();
            assert!(bad.line == line && bad.reason.contains(reason), "{text}: {bad:?}");
        }
        assert_eq!(facts("a.csv", "fact,aliases,valid_to\na,b|c,2020\n").unwrap()[0].phrases, ["a", "b", "c"]);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "(Python 3.11|is|30|31|February|2023-02-29|as of|was signed on|5 March 2031|[é.?\\n ,]){0,12}") {
            for wrong in report(&text, "2024").wrong {
                prop_assert!(text.get(wrong.span).is_some());
            }
        }
    }
}
