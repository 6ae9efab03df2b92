//! Text → hits: keywords, then a window, then the pattern, then entropy, context and check.
//!
//! One pass finds the keywords of all rules, another the numbers. Only around them does a rule's pattern run, and it is
//! compiled when it is first needed. Windows of one rule that overlap are one window, so that a text is passed at most
//! once by each pattern: linear time.
//!
//! **Limits**: [`HITS_PER_RULE_MAX`] hits of one rule in one text; what is beyond is counted as capped.

use std::{ops::Range, sync::OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::{Regex, RegexBuilder};

use super::{Candidate, Check, Checked, Family, Library, Rule, check};

/// Hits of one rule in one text.
pub const HITS_PER_RULE_MAX: usize = 200;
/// Bytes in front of a match in which a context word may stand.
const CONTEXT_BEFORE_BYTES: usize = 80;
/// Bytes behind a match in which a context word may stand.
const CONTEXT_AFTER_BYTES: usize = 40;
/// Memory that one compiled pattern may take, and its lazy automaton per thread.
const PATTERN_BYTES_MAX: usize = 4 << 20;
const AUTOMATON_BYTES_MAX: usize = 512 << 10;

/// A place where a rule matches.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Index of the rule in its [`Library`].
    pub rule: usize,
    /// The evidence, as bytes of the text; on character boundaries.
    pub span: Range<usize>,
    /// P(hit | yes) / P(hit | no).
    pub likelihood_ratio: f64,
    /// Whether a context word stands near.
    pub in_context: bool,
    /// Whether the check proves it.
    pub is_proven: bool,
    /// Why it is an example of documentation or tests, if it is one.
    pub example: Option<&'static str>,
}

/// All hits in one text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scan {
    /// In the order of their places, then of the rules.
    pub hits: Vec<Hit>,
    /// Whether a limit was reached.
    pub is_capped: bool,
}

/// All rules of a library, ready to be looked for.
pub struct Scanner {
    library: Library,
    families: Vec<Family>,
    /// Those of all families but injection, which are looked for in every text.
    keywords: Keywords,
    /// Those of injection, for texts that can attack.
    keywords_of_injection: OnceLock<Keywords>,
    /// Those of rules that are looked for only beside others.
    keywords_beside: OnceLock<Vec<(Family, Keywords)>>,
    /// The rules that look for numbers.
    number_rules: Vec<u32>,
    /// The fewest digits that any of them looks for.
    digits_min: usize,
    compiled: Vec<OnceLock<Option<Compiled>>>,
}

/// Keywords, ready to be looked for.
struct Keywords {
    automaton: AhoCorasick,
    /// For each keyword, the rules that it calls.
    called: Vec<Vec<u32>>,
}

struct Compiled {
    pattern: Regex,
    value_group: usize,
    check: Option<Check>,
}

/// Where a rule's pattern is to run.
struct Window {
    rule: u32,
    bytes: Range<usize>,
}

impl Scanner {
    /// A scanner for all rules of `library`.
    pub fn new(library: Library) -> Scanner {
        Scanner::for_families(library, &Family::ALL)
    }

    /// A scanner for the rules of some families.
    pub fn for_families(library: Library, families: &[Family]) -> Scanner {
        let of_families = || library.rules().iter().zip(0..).filter(|(rule, _)| families.contains(&rule.family()));
        let number_rules: Vec<u32> =
            of_families().filter(|(rule, _)| rule.digits.is_some()).map(|(_, index)| index).collect();
        let at_once = of_families().filter(|(rule, _)| !rule.beside && rule.family() != Family::Injection);
        let keywords = Keywords::of(at_once, AhoCorasickKind::DFA);
        let digits = number_rules.iter().filter_map(|index| library.rule(*index as usize).digits);
        Scanner {
            digits_min: digits.map(|[min, _]| min).min().unwrap_or(usize::MAX),
            compiled: library.rules().iter().map(|_| OnceLock::new()).collect(),
            library,
            families: families.to_vec(),
            keywords,
            keywords_of_injection: OnceLock::new(),
            keywords_beside: OnceLock::new(),
            number_rules,
        }
    }

    /// The rules that this scanner looks for.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Every hit in `text`.
    pub fn scan(&self, text: &str) -> Scan {
        self.scan_by(text, true, false)
    }

    /// Every hit in `text`, also of rules that are looked for only beside others.
    pub fn scan_thoroughly(&self, text: &str) -> Scan {
        self.scan_by(text, true, true)
    }

    /// Every hit in `text` of a rule of another family than injection: for what no attacker wrote.
    pub fn scan_output(&self, text: &str) -> Scan {
        self.scan_by(text, false, false)
    }

    fn scan_by(&self, text: &str, is_input: bool, thoroughly: bool) -> Scan {
        let mut scan = Scan::default();
        let mut windows = Windows::default();
        self.keyword_windows(text, &self.keywords, &mut windows);
        if is_input {
            self.keyword_windows(text, self.keywords_of_injection(), &mut windows);
        }
        self.number_windows(text, &mut windows);
        self.run_all(text, windows, &mut scan);
        if thoroughly || !scan.hits.is_empty() {
            for (family, keywords) in self.keywords_beside() {
                let is_family = |hit: &Hit| self.library.rule(hit.rule).family() == *family;
                if thoroughly || scan.hits.iter().any(is_family) {
                    let mut windows = Windows::default();
                    self.keyword_windows(text, keywords, &mut windows);
                    self.run_all(text, windows, &mut scan);
                }
            }
        }
        scan.hits.sort_by_key(|hit| (hit.span.start, hit.span.end, hit.rule));
        scan
    }

    fn run_all(&self, text: &str, windows: Windows, scan: &mut Scan) {
        for window in windows.windows {
            self.run(text, window, scan);
        }
    }

    /// The rules that are looked for, with their index.
    fn wanted(&self) -> impl Iterator<Item = (&Rule, u32)> {
        self.library.rules().iter().zip(0..).filter(|(rule, _)| self.families.contains(&rule.family()))
    }

    fn keywords_of_injection(&self) -> &Keywords {
        self.keywords_of_injection.get_or_init(|| {
            let rules = self.wanted().filter(|(rule, _)| !rule.beside && rule.family() == Family::Injection);
            // Quicker to make than an automaton of the other kind, and run over a part of the texts only.
            Keywords::of(rules, AhoCorasickKind::ContiguousNFA)
        })
    }

    fn keywords_beside(&self) -> &[(Family, Keywords)] {
        self.keywords_beside.get_or_init(|| {
            let of = |family| self.wanted().filter(move |(rule, _)| rule.beside && rule.family() == family);
            let with_some = Family::ALL.into_iter().filter(|family| of(*family).next().is_some());
            with_some.map(|family| (family, Keywords::of(of(family), AhoCorasickKind::ContiguousNFA))).collect()
        })
    }

    /// Where which pattern is to run because of keywords; windows of one rule do not overlap and stand in order.
    fn keyword_windows(&self, text: &str, keywords: &Keywords, windows: &mut Windows) {
        for found in keywords.automaton.find_overlapping_iter(text) {
            for rule in &keywords.called[found.pattern().as_usize()] {
                self.open(*rule, found.range(), text.len(), windows);
            }
        }
    }

    /// The same because of numbers.
    fn number_windows(&self, text: &str, windows: &mut Windows) {
        if self.digits_min == usize::MAX {
            return;
        }
        each_number(text.as_bytes(), self.digits_min, |span, digits| {
            for rule in &self.number_rules {
                let [min, max] = self.library.rule(*rule as usize).digits.unwrap_or_default();
                if (min..=max).contains(&digits) || digits > max && span.len() > digits {
                    self.open(*rule, span.clone(), text.len(), windows);
                }
            }
        });
    }

    fn open(&self, rule: u32, around: Range<usize>, length: usize, windows: &mut Windows) {
        let [before, after] = self.library.rule(rule as usize).window_bytes();
        let bytes = around.start.saturating_sub(before)..(around.end + after).min(length);
        windows.add(rule, bytes, self.compiled.len());
    }

    fn run(&self, text: &str, window: Window, scan: &mut Scan) {
        let rule = self.library.rule(window.rule as usize);
        let compiled = self.compiled[window.rule as usize].get_or_init(|| Compiled::of(rule));
        let Some(compiled) = compiled else { return };
        let bytes = &text.as_bytes()[..window.bytes.end];
        let mut at = window.bytes.start;
        let mut hits = 0;
        while at < window.bytes.end {
            let Some(found) = compiled.pattern.captures_at(bytes, at) else { return };
            let Some(whole) = found.get(0) else { return };
            let value = found.get(compiled.value_group).unwrap_or(whole);
            at = whole.end().max(whole.start() + 1);
            if hits == HITS_PER_RULE_MAX {
                scan.is_capped = true;
                return;
            }
            if let Some(hit) = judge(rule, compiled, text, value.range(), window.rule as usize) {
                hits += 1;
                scan.hits.push(hit);
            }
        }
    }
}

impl Keywords {
    /// The keywords of rules, which come with their index.
    fn of<'r>(rules: impl Iterator<Item = (&'r Rule, u32)>, kind: AhoCorasickKind) -> Keywords {
        let mut keywords: Vec<String> = Vec::new();
        let mut called: Vec<Vec<u32>> = Vec::new();
        let mut index_of = std::collections::BTreeMap::new();
        for (rule, index) in rules {
            for keyword in &rule.keywords {
                let keyword = keyword.to_ascii_lowercase();
                let at = *index_of.entry(keyword.clone()).or_insert_with(|| {
                    keywords.push(keyword);
                    called.push(Vec::new());
                    called.len() - 1
                });
                called[at].push(index);
            }
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(kind))
            .build(&keywords)
            .or_else(|_| AhoCorasick::new(Vec::<String>::new()));
        Keywords { automaton: automaton.expect("an automaton of nothing can always be built"), called }
    }
}

/// The windows opened so far, and for each rule the last of its own.
#[derive(Default)]
struct Windows {
    windows: Vec<Window>,
    /// By rule; 1 + index into `windows`.
    last: Vec<u32>,
}

impl Windows {
    fn add(&mut self, rule: u32, bytes: Range<usize>, rules: usize) {
        if self.last.is_empty() {
            self.last = vec![0; rules];
        }
        let last = &mut self.last[rule as usize];
        if let Some(window) = (*last as usize).checked_sub(1).map(|index| &mut self.windows[index])
            && bytes.start <= window.bytes.end
        {
            window.bytes.end = window.bytes.end.max(bytes.end);
            return;
        }
        self.windows.push(Window { rule, bytes });
        *last = self.windows.len() as u32;
    }
}

impl Compiled {
    fn of(rule: &Rule) -> Option<Compiled> {
        let pattern = compile(&rule.pattern).ok()?;
        let value_group = pattern.capture_names().position(|name| name == Some("value")).unwrap_or(0);
        Some(Compiled { pattern, value_group, check: rule.check.as_deref().and_then(check::by_name) })
    }
}

/// A pattern, over bytes and with ASCII classes.
///
/// # Errors
/// When it is no pattern, or too large a one.
pub fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).unicode(false).size_limit(PATTERN_BYTES_MAX).dfa_size_limit(AUTOMATON_BYTES_MAX).build()
}

/// The hit of a match, if entropy, context and check agree.
fn judge(rule: &Rule, compiled: &Compiled, text: &str, value: Range<usize>, index: usize) -> Option<Hit> {
    let span = text.floor_char_boundary(value.start)..text.ceil_char_boundary(value.end);
    let candidate = Candidate::new(text, span.clone());
    if rule.min_entropy_bits > 0.0 && entropy_bits(candidate.value().as_bytes()) < rule.min_entropy_bits {
        return None;
    }
    let checked = compiled.check.map_or(Checked::Holds, |check| check(&candidate));
    if checked == Checked::Fails {
        return None;
    }
    let in_context = has_word_near(text, &span, &rule.context);
    if rule.needs_context && !in_context || has_word_near(text, &span, &rule.not_context) {
        return None;
    }
    Some(Hit {
        rule: index,
        span,
        likelihood_ratio: rule.ratio(in_context),
        in_context,
        is_proven: checked == Checked::Proves,
        example: if let Checked::Example(why) = checked { Some(why) } else { None },
    })
}

/// Whether one of `words` stands near the match, as a whole word, in any case.
pub fn has_word_near(text: &str, span: &Range<usize>, words: &[String]) -> bool {
    if words.is_empty() {
        return false;
    }
    let start = text.floor_char_boundary(span.start.saturating_sub(CONTEXT_BEFORE_BYTES));
    let end = text.ceil_char_boundary((span.end + CONTEXT_AFTER_BYTES).min(text.len()));
    let before = text[start..span.start].to_ascii_lowercase();
    let after = text[span.end..end].to_ascii_lowercase();
    words.iter().any(|word| has_word(&before, word) || has_word(&after, word))
}

fn has_word(text: &str, word: &str) -> bool {
    let is_letter = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.match_indices(word).any(|(at, _)| {
        let bytes = text.as_bytes();
        !is_letter(at.checked_sub(1).map(|before| &bytes[before])) && !is_letter(bytes.get(at + word.len()))
    })
}

/// Shannon entropy of the bytes, in bits per byte.
pub fn entropy_bits(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let total = bytes.len() as f64;
    let terms = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / total);
    terms.map(|share| -share * share.log2()).sum()
}

/// Each run of digits, with single separators between them, that has at least `digits_min` of them.
fn each_number(bytes: &[u8], digits_min: usize, mut found: impl FnMut(Range<usize>, usize)) {
    let mut at = 0;
    while let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|offset| at + offset) {
        let (mut end, mut digits) = (start, 0);
        let mut next = start;
        while let Some(byte) = bytes.get(next) {
            if byte.is_ascii_digit() {
                digits += 1;
                end = next + 1;
            } else if !(separates(*byte) && next == end) {
                break;
            }
            next += 1;
        }
        if digits >= digits_min {
            found(start..end, digits);
        }
        at = end;
    }
}

fn separates(byte: u8) -> bool {
    matches!(byte, b' ' | b'-' | b'.' | b'/')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(text: &str) -> Vec<(&str, usize)> {
        let mut found = Vec::new();
        each_number(text.as_bytes(), 4, |span, digits| found.push((&text[span], digits)));
        found
    }

    #[test]
    fn numbers_go_on_over_single_separators() {
        assert_eq!(numbers("a 12-34 b 1 2 3 4, 123 x 1--2345"), [("12-34", 4), ("1 2 3 4", 4), ("2345", 4)]);
        assert_eq!(numbers(""), []);
    }

    #[test]
    fn context_words_are_whole_words_on_either_side() {
        let words = ["ssn".to_owned(), "social security".to_owned()];
        let near = |text: &str| has_word_near(text, &(text.find('#').unwrap()..text.find('#').unwrap() + 1), &words);
        assert!(near("my SSN: #") && near("Social Security no #") && near("# (ssn)"));
        assert!(!near("lessn #") && !near("ssns #") && !near(&format!("ssn {} #", "x".repeat(90))));
    }

    proptest! {
        #[test]
        fn any_text_is_scanned_without_harm(text in "\\PC{0,200}|[0-9 @./:=a-zA-Z_-]{0,300}") {
            let scanner = Scanner::new(Library::built_in());
            for hit in scanner.scan(&text).hits {
                prop_assert!(text.get(hit.span.clone()).is_some());
                prop_assert!(hit.likelihood_ratio > 0.0);
            }
        }
    }
}
