//! A log without its personal data and secrets: the same bytes, but for those that a rule hits.
//!
//! - [`tokens`]: a line → the strings and numbers in it, with a way from decoded text back to raw bytes
//! - `search`: a string or number → what of it is to be replaced
//! - [`names`]: names out of a log, as reports may show them
//! - [`values`]: what stands for a value: a numbered placeholder, asterisks, or a keyed hash
//!
//! **What is looked at**: every string of the log (object keys included) and every number, decoded, behind the name of its
//! field, as audits do; also in its decoded views, and in the JSON that a string holds, however often it is escaped. A line
//! that is no JSON is looked at as text, and said so in the [`Summary`].
//!
//! **What is written**: the raw bytes, with each hit replaced. Hits that overlap become one. A number becomes a string,
//! because no number says `[CREDIT_CARD_1]`. What was valid JSON stays valid JSON; a text without hits stays what it was,
//! byte for byte.
//!
//! **What stays**: what audits do not look for by default (dates that nobody was born on, web addresses); the log's own
//! clock, counts and ids.
//!
//! **Order**: lines are scanned in parallel and numbered in their order, so that the output does not depend on threads.
//!
//! **Limits**: what no rule knows stays. A value that is spread over two strings is not seen. A line above the limit that
//! the caller sets is left out where a single string of it is longer than that; see [`Redactor::part`].

pub mod names;
mod search;
pub mod tokens;
pub mod values;

use std::{collections::BTreeMap, sync::Arc};

use rayon::prelude::*;

use crate::rules::{Family, Hit, Scanner};
pub use names::Names;
use search::Search;
use tokens::{Kind, Lexer, Line, Token};
pub use values::{Mode, Values};

/// Lines that are named in a [`Summary`]; the others are counted.
pub const LINES_NAMED_MAX: usize = 20;

/// Which rules redact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    only: Vec<String>,
    ignore: Vec<String>,
}

impl Selection {
    /// Only the families (`pii`, `secret`) and rules of these names; all of both families when there are none. The rules
    /// of `ignore` only by their own name.
    ///
    /// # Errors
    /// When a name is neither; the message says so.
    pub fn new(only: &[String], ignore: &[String], scanner: &Scanner) -> Result<Selection, String> {
        for name in only {
            let is_rule = scanner.library().find(name).is_some_and(|rule| is_private(rule.family()));
            if !is_rule && !FAMILIES.iter().any(|family| family.as_str() == name) {
                return Err(format!("`{name}` is neither `pii` nor `secret` nor one of their rules"));
            }
        }
        Ok(Selection { only: only.to_vec(), ignore: ignore.to_vec() })
    }

    fn takes(&self, scanner: &Scanner, hit: &Hit) -> bool {
        let rule = scanner.library().rule(hit.rule);
        let is_of_family = self.only.is_empty() || self.only.iter().any(|name| name == rule.family().as_str());
        let is_wanted = is_of_family && !self.ignore.contains(&rule.id);
        is_private(rule.family()) && (is_wanted || self.only.contains(&rule.id))
    }
}

const FAMILIES: [Family; 2] = [Family::Pii, Family::Secret];

fn is_private(family: Family) -> bool {
    FAMILIES.contains(&family)
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Places that were replaced, by rule.
    pub by_rule: BTreeMap<String, u64>,
    /// Lines in all.
    pub lines: u64,
    /// Lines that are no JSON: how many, and the first of them.
    pub text_lines: (u64, Vec<u64>),
    /// Lines that were left out, in whole or from a certain place on: how many, and the first of them.
    pub lines_left_out: (u64, Vec<u64>),
    /// Strings of which not all could be searched, because a limit of decoding was reached.
    pub partly_searched: u64,
    /// Whether the log ends inside of a value.
    pub ends_open: bool,
}

impl Summary {
    /// Places that were replaced.
    pub fn replaced(&self) -> u64 {
        self.by_rule.values().sum()
    }

    /// Whether all of the log was JSON and is in the output.
    pub fn is_whole(&self) -> bool {
        self.text_lines.0 + self.lines_left_out.0 == 0 && !self.ends_open
    }
}

fn note((count, first): &mut (u64, Vec<u64>), line: u64) {
    *count += 1;
    if first.len() < LINES_NAMED_MAX {
        first.push(line);
    }
}

/// Redacts one log after another.
pub struct Redactor {
    scanner: Arc<Scanner>,
    selection: Selection,
    values: Values,
    lexer: Lexer,
    summary: Summary,
    /// Whether the next bytes go on in a line that has begun.
    in_line: bool,
}

impl Redactor {
    /// A redactor of what the rules of `scanner` hit.
    pub fn new(scanner: Arc<Scanner>, selection: Selection, values: Values) -> Redactor {
        let (lexer, summary) = (Lexer::default(), Summary::default());
        Redactor { scanner, selection, values, lexer, summary, in_line: false }
    }

    /// Appends whole lines to `out`, redacted.
    pub fn lines(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut tokens = Vec::new();
        let mut start = 0;
        while start < bytes.len() {
            let end = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |length| start + length + 1);
            self.summary.lines += u64::from(!self.in_line);
            self.in_line = false;
            let before = tokens.len();
            match self.lexer.line(bytes, start..end, &mut tokens) {
                Line::Json => {}
                Line::Open(_) | Line::Text => {
                    // The line is searched as a whole; what was told apart in it before it broke off lies within.
                    tokens.truncate(before);
                    self.lexer = Lexer::default();
                    note(&mut self.summary.text_lines, self.summary.lines);
                    tokens.push(Token { raw: start..end, kind: Kind::Text, name: None });
                }
            }
            start = end;
        }
        self.write(bytes, &tokens, out);
    }

    /// Appends the beginning of a line that is too long to be held, redacted, and says how many bytes that were: up to the
    /// last string or number that may go on. 0 when nothing can be cut off: call [`Redactor::leave_out`] then.
    pub fn part(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        let mut tokens = Vec::new();
        let before = self.lexer.clone();
        let taken = match self.lexer.line(bytes, 0..bytes.len(), &mut tokens) {
            Line::Open(at) => at,
            Line::Json => bytes.len(),
            Line::Text => {
                self.lexer = before;
                0
            }
        };
        if taken > 0 {
            self.summary.lines += u64::from(!self.in_line);
            self.in_line = true;
            tokens.retain(|token| token.raw.end <= taken);
            self.write(&bytes[..taken], &tokens, out);
        }
        taken
    }

    /// The rest of the line is not written.
    pub fn leave_out(&mut self) {
        self.summary.lines += u64::from(!self.in_line);
        note(&mut self.summary.lines_left_out, self.summary.lines);
        // What follows up to the line break is part of it.
        self.in_line = true;
        self.lexer = Lexer::default();
    }

    /// The log is at its end; another may follow.
    pub fn end(&mut self) {
        self.summary.ends_open |= self.lexer.is_open();
        self.lexer = Lexer::default();
        self.in_line = false;
    }

    /// What was done so far.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    fn write(&mut self, bytes: &[u8], tokens: &[Token], out: &mut Vec<u8>) {
        let search = Search { scanner: &self.scanner, selection: &self.selection };
        let found: Vec<search::Found> = tokens.par_iter().map(|token| search.token(bytes, token)).collect();
        let mut written = 0;
        for found in found {
            self.summary.partly_searched += u64::from(found.is_capped);
            for place in found.places {
                let rule = &self.scanner.library().rule(place.rule).id;
                let replacement = match place.kind {
                    // Two masks may be the same, and two keys of an object must not.
                    Kind::Key => self.values.told_apart(rule, &place.value),
                    _ => self.values.replacement(rule, &place.value),
                };
                *self.summary.by_rule.entry(rule.clone()).or_default() += 1;
                out.extend_from_slice(&bytes[written..place.span.start]);
                let quote = if place.kind == Kind::Number { quote(place.depth) } else { String::new() };
                out.extend_from_slice([&quote, &*replacement, &quote].concat().as_bytes());
                written = place.span.end;
            }
        }
        out.extend_from_slice(&bytes[written..]);
    }
}

/// A quotation mark as it is written in a string that stands in so many others.
fn quote(depth: usize) -> String {
    let backslashes = (1_usize << depth) - 1;
    "\\".repeat(backslashes) + "\""
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::rules::{Library, examples::expand};

    /// One for all tests: making it takes longer than they do.
    fn scanner() -> Arc<Scanner> {
        static SCANNER: LazyLock<Arc<Scanner>> = LazyLock::new(|| Arc::new(Scanner::new(Library::built_in())));
        SCANNER.clone()
    }

    fn redactor(mode: Mode) -> Redactor {
        Redactor::new(scanner(), Selection::default(), Values::new(mode))
    }

    fn redact(log: &str) -> (String, Summary) {
        let mut redactor = redactor(Mode::Placeholder);
        let mut out = Vec::new();
        redactor.lines(log.as_bytes(), &mut out);
        redactor.end();
        (String::from_utf8(out).unwrap(), redactor.summary().clone())
    }

    fn key() -> String {
        expand("AKIA{base32:16}", "secret/aws_access_key_id", 0)
    }

    #[track_caller]
    fn check(log: &str, expected: &str) {
        let log = log.replace("KEY", &key());
        let (out, summary) = redact(&log);
        assert_eq!(out, expected);
        assert!(summary.is_whole(), "{summary:?}");
    }

    #[test]
    fn strings_are_replaced_and_everything_else_stays() {
        check(
            "{\"id\" : 1,\t\"prompt\":\"I am jo@example.org\" , \"response\":\"Hi jo@example.org, ann@example.org\"}\r\n\n",
            "{\"id\" : 1,\t\"prompt\":\"I am [EMAIL_1]\" , \"response\":\"Hi [EMAIL_1], [EMAIL_2]\"}\r\n\n",
        );
        check(
            r#"{"jo@example.org": ["KEY", "KEY"]}"#,
            r#"{"[EMAIL_1]": ["[AWS_ACCESS_KEY_ID_1]", "[AWS_ACCESS_KEY_ID_1]"]}"#,
        );
        check("[\n  {\n    \"a\": \"jo@example.org\"\n  }\n]\n", "[\n  {\n    \"a\": \"[EMAIL_1]\"\n  }\n]\n");
    }

    #[test]
    fn the_clock_of_the_log_stays() {
        for log in [
            r#"{"timestamp":"2024-05-13T00:30:00.967Z","created":1741569952}"#,
            r#"{"startTime":"2024-05-13 00:30:00","endTimeUnixNano":"1763651161339000000"}"#,
        ] {
            check(log, log);
        }
        check(r#"{"timestamp":"jo@example.org"}"#, r#"{"timestamp":"[EMAIL_1]"}"#);
        check(r#"{"time":"call +1 415 555 0132"}"#, r#"{"time":"call [PHONE_1]"}"#);
        check(r#"{"timestamps":["2024-05-13T00:30:00Z"]}"#, r#"{"timestamps":["[DATE_TIME_1]"]}"#);
    }

    #[test]
    fn a_line_that_breaks_off_is_searched_once() {
        let log = "{\"prompt\":\"jo@example.org\",\"response\":\"cut jo@example.org\n{\"prompt\":\"p\"}\n";
        let (out, _) = redact(log);
        assert_eq!(out, log.replace("jo@example.org", "[EMAIL_1]"));
        for end in 0..log.len() {
            let (out, _) = redact(&log[..end]);
            assert!(!out.contains("jo@example.org"), "{out}");
        }
    }

    #[test]
    fn escapes_are_read_and_kept() {
        check(r#"{"a":"x\njo@example.org\u00e9"}"#, r#"{"a":"x\n[EMAIL_1]\u00e9"}"#);
        check(r#"{"a":"\u006ao\u0040example.org"}"#, r#"{"a":"[EMAIL_1]"}"#);
        check(r#"{"a":"\ud83c\udf89 jo@example.org \ud800"}"#, r#"{"a":"\ud83c\udf89 [EMAIL_1] \ud800"}"#);
    }

    #[test]
    fn json_inside_of_a_string_stays_json() {
        check(r#"{"args":"{\"to\": \"jo@example.org\"}"}"#, r#"{"args":"{\"to\": \"[EMAIL_1]\"}"}"#);
        check(r#"{"args":"{\"to\": \"a\\nxo@example.org\"}"}"#, r#"{"args":"{\"to\": \"a\\n[EMAIL_1]\"}"}"#);
    }

    #[test]
    fn lines_that_are_no_json_are_read_as_text() {
        let (out, summary) = redact("{\"a\": 1}\nmail jo@example.org now\n{\"a\": \"jo@example.org\n");
        assert_eq!(out, "{\"a\": 1}\nmail [EMAIL_1] now\n{\"a\": \"[EMAIL_1]\n");
        assert_eq!(summary.text_lines, (2, vec![2, 3]));
        assert!(!summary.is_whole());
    }

    #[test]
    fn a_log_that_ends_inside_of_a_value_is_noted() {
        assert!(redact("{\"a\": [1,").1.ends_open);
    }

    #[test]
    fn a_long_line_is_taken_in_parts() {
        let line = format!("[{}1]", r#"{"a": "jo@example.org"}, "#.repeat(50));
        let (whole, _) = redact(&line);
        let mut redactor = redactor(Mode::Placeholder);
        let (mut out, mut rest) = (Vec::new(), Vec::new());
        for chunk in line.as_bytes().chunks(100) {
            rest.extend_from_slice(chunk);
            let taken = redactor.part(&rest, &mut out);
            rest.drain(..taken);
        }
        redactor.lines(&rest, &mut out);
        redactor.end();
        assert_eq!(String::from_utf8(out).unwrap(), whole);
        assert_eq!((redactor.summary().lines, redactor.summary().replaced()), (1, 50));
        assert!(redactor.summary().is_whole());
    }

    #[test]
    fn more_hits_than_a_scan_gives_are_all_replaced() {
        let many: String = (0..3_000).map(|n| format!("user{n}@example.org ")).collect();
        let (out, summary) = redact(&format!("{{\"a\": \"{many}\"}}"));
        assert!(!out.contains('@'), "{}", &out[..300]);
        assert_eq!(summary.replaced(), 3_000);
    }

    #[test]
    fn what_was_redacted_before_stays() {
        let rule = "[[rule]]\nid = \"secret/own\"\ncategory = \"own\"\nseverity = \"low\"\nlikelihood_ratio = 9.0\nsummary = \"s\"\n\
                    why = \"w\"\nsource = \"own\"\nkeywords = [\"word: \"]\npattern = 'word: (?P<value>\\S+)'\nhits = [\"word: x\"]\n\
                    misses = [\"x\"]\n";
        let scanner = Arc::new(Scanner::new(Library::with_files([("own.toml", rule)]).unwrap()));
        for mode in [Mode::Placeholder, Mode::Mask, Mode::Hash(vec![7; 16])] {
            let redact = |log: &[u8]| {
                let mut redactor = Redactor::new(scanner.clone(), Selection::default(), Values::new(mode.clone()));
                let mut out = Vec::new();
                redactor.lines(log, &mut out);
                (out, redactor.summary().replaced())
            };
            let (once, replaced) = redact(br#"{"word": "hunter2 is it", "a": "my word: hunter3"}"#);
            assert_eq!(replaced, 2);
            assert_eq!(redact(&once), (once.clone(), 0), "{}", String::from_utf8_lossy(&once));
        }
    }

    #[test]
    fn only_what_was_chosen_is_replaced() {
        let scanner = scanner();
        let choose = |only: &str| Selection::new(&[only.to_owned()], &[], &scanner);
        assert!(choose("injection").is_err() && choose("pii/nothing").is_err() && choose("pii/email_address").is_ok());
        let mut redactor = Redactor::new(scanner.clone(), choose("secret").unwrap(), Values::new(Mode::Placeholder));
        let mut out = Vec::new();
        redactor.lines(format!("\"jo@example.org {}\"", key()).as_bytes(), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "\"jo@example.org [AWS_ACCESS_KEY_ID_1]\"");
    }

    fn json_texts() -> impl Strategy<Value = String> {
        let piece =
            prop_oneof![Just("jo@example.org".to_owned()), Just(key()), "[a-z é\n\"\\\\/{}:]{0,12}", "\\PC{0,6}",];
        let text = prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.join(" "));
        prop::collection::vec((text.clone(), text), 0..5)
            .prop_map(|members| serde_json::to_string(&members).unwrap_or_default())
    }

    proptest! {
        #[test]
        fn bytes_without_hits_come_out_as_they_went_in(bytes in prop::collection::vec(any::<u8>().prop_filter("no at", |b| *b != b'@'), 0..300)) {
            let mut redactor = redactor(Mode::Mask);
            let mut out = Vec::new();
            redactor.lines(&bytes, &mut out);
            if redactor.summary().replaced() == 0 {
                prop_assert_eq!(out, bytes);
            }
        }

        #[test]
        fn json_stays_json_and_holds_no_hit(log in json_texts()) {
            let (out, summary) = redact(&log);
            prop_assert!(serde_json::from_str::<serde_json::Value>(&out).is_ok(), "{}", out);
            prop_assert!(summary.is_whole());
            let (again, second) = redact(&out);
            prop_assert_eq!(second.replaced(), 0, "{}", &out);
            prop_assert_eq!(again, out);
            if summary.replaced() == 0 {
                prop_assert_eq!(redact(&log).0, log);
            }
        }
    }
}
