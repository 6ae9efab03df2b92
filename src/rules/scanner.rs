//! Text → hits: keywords, then a window, then the pattern, then entropy, context and check.
//!
//! One pass finds the keywords of all rules, another the numbers, which call the rules for their count of digits. Only
//! around them does a rule's pattern run, and it is compiled when it is first needed. Windows of one rule that overlap are
//! one window, so that a text is passed at most once by each pattern: linear time. A rule that needs a word near a number
//! is not called where none of its words stands.
//!
//! **Limits**: [`HITS_PER_RULE_MAX`] hits of one rule in one text; what is beyond is counted as capped.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Range,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use regex::bytes::{Regex, RegexBuilder};
use regex_automata::{Input, meta, nfa::thompson::WhichCaptures, util::syntax};

use super::{Candidate, Check, Checked, Family, Library, Rule, check, labels};
use crate::{
    hash,
    text::{decode::Decoded, keywords::Keywords},
};

/// Declarations of tools that are remembered, and hits of each.
const DECLARATIONS_MAX: usize = 1 << 14;
const DECLARATION_HITS_MAX: usize = 100;
/// Hits of one rule in one text.
pub const HITS_PER_RULE_MAX: usize = 200;
/// Bytes in front of a match in which a context word may stand.
const CONTEXT_BEFORE_BYTES: usize = 80;
/// Bytes behind a match in which a context word may stand.
const CONTEXT_AFTER_BYTES: usize = 40;
/// Memory that one compiled pattern may take, and its lazy automaton per thread.
const PATTERN_BYTES_MAX: usize = 4 << 20;
const AUTOMATON_BYTES_MAX: usize = 512 << 10;

/// How a pattern names the part of its match that is the evidence.
const VALUE_GROUP: &str = "(?P<value>";

/// Bytes by which a window may be widened, so that it cuts no token.
const TOKEN_BYTES_MAX: usize = 4 << 10;
/// Bytes by which a match may begin before its number, or end behind it.
const NUMBER_MARGIN_BYTES: usize = 24;
/// Counts of digits that are told apart; numbers beyond are long.
const DIGITS_MAX: usize = 40;
/// The shortest text of which [`Rule::alone`] speaks.
const ALONE_BYTES_MIN: usize = 5;
/// The longest text of which [`Rule::alone`] speaks.
pub const ALONE_BYTES_MAX: usize = 96;
/// The longest word without a digit in such a text: a group of letters of a value.
const WORD_OF_VALUE_BYTES_MAX: usize = 3;
/// The longest match of a number's rule behind whose first character the search goes on when the check fails.
const RETRY_BYTES_MAX: usize = 64;

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

/// What was found in what a tool says of itself.
#[derive(Clone, Debug, Default)]
pub struct Declaration {
    /// The attacks in it as it stands.
    pub scan: Scan,
    /// Those in its decoded views.
    pub views: Vec<(Decoded, Scan)>,
    /// What must not be shown.
    pub private: Vec<Range<usize>>,
    /// Whether a limit was reached.
    pub is_capped: bool,
}

/// All rules of a library, ready to be looked for.
pub struct Scanner {
    library: Library,
    /// By rule: whether it is looked for.
    is_wanted: Vec<bool>,
    /// Those that are looked for in every text.
    in_output: KeywordCallers,
    /// Those that are looked for in what users say: the same, and those of injection.
    in_input: KeywordCallers,
    /// Those that are looked for in data: the same, and the signs that data speaks to the model.
    in_data: KeywordCallers,
    /// Those that are looked for in what tools say of themselves: of attacks only.
    in_declarations: KeywordCallers,
    /// Those of rules that are looked for only beside others, by family.
    beside: OnceLock<Vec<(Family, KeywordCallers)>>,
    numbers: NumberRules,
    /// The rules of [`Rule::alone`].
    alone: Vec<u32>,
    /// The words of which none may stand near a match of some rule.
    silencers: BTreeSet<String>,
    compiled: Vec<OnceLock<Option<Compiled>>>,
    /// What was found in declarations, by the hash of their text: a cache on which no output can depend, for what is found
    /// is a function of the text.
    declarations: RwLock<HashMap<u64, Arc<Declaration>>>,
}

/// The rules that look for numbers.
struct NumberRules {
    /// For each count of digits, the rules that look for as many.
    by_digits: Vec<Vec<u32>>,
    /// The rules whose numbers may stand in a longer run of digits and separators, with the most digits that they have.
    within: Vec<(u32, usize)>,
    /// The fewest digits that any of them looks for.
    digits_min: usize,
    /// The context words of the rules that are only called near one.
    words: Callers<u32>,
    /// By rule: whether it is only called near a context word.
    needs_word: Vec<bool>,
    /// For each count of digits, whether it calls such a rule.
    words_by_digits: Vec<bool>,
}

/// The keywords of rules: each calls rules, and says whether it must be a word by itself.
type KeywordCallers = Callers<(u32, bool)>;

/// Words, ready to be looked for, each with what it calls.
struct Callers<T> {
    words: Keywords,
    /// For each word, the rules, with whatever is to be known of them.
    called: Vec<Vec<T>>,
}

struct Compiled {
    pattern: meta::Regex,
    /// The same with the group `value`, where it has one; few patterns ever match.
    with_value: OnceLock<Option<meta::Regex>>,
    has_value: bool,
    clear: Option<Regex>,
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
        Scanner::of_rules(library, |_| true)
    }

    /// A scanner for the rules of `library` that are wanted.
    pub fn of_rules(library: Library, is_wanted: impl Fn(&Rule) -> bool) -> Scanner {
        let is_wanted: Vec<bool> = library.rules().iter().map(is_wanted).collect();
        let wanted = || library.rules().iter().zip(0_u32..).filter(|(_, index)| is_wanted[*index as usize]);
        let of = |is_family: fn(Family) -> bool| {
            keywords_of(wanted().filter(move |(rule, _)| !rule.beside && is_family(rule.family())))
        };
        Scanner {
            in_output: of(|family| !is_attack(family)),
            in_input: of(|family| family != Family::Indirect),
            in_data: of(|_| true),
            in_declarations: of(is_attack),
            beside: OnceLock::new(),
            numbers: NumberRules::of(wanted(), library.rules().len()),
            alone: wanted().filter(|(rule, _)| rule.alone).map(|(_, index)| index).collect(),
            silencers: wanted().flat_map(|(rule, _)| &rule.not_context).cloned().collect(),
            compiled: library.rules().iter().map(|_| OnceLock::new()).collect(),
            is_wanted,
            library,
            declarations: RwLock::default(),
        }
    }

    /// What was found in this declaration when it was first scanned.
    pub fn known_declaration(&self, text: &str) -> Option<Arc<Declaration>> {
        let known = self.declarations.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&hash::name(text)).cloned()
    }

    /// Remembers what was found in this declaration, as long as there is room.
    pub fn remember_declaration(&self, text: &str, found: &Arc<Declaration>) {
        let mut known = self.declarations.write().unwrap_or_else(PoisonError::into_inner);
        let is_small = found.scan.hits.len() <= DECLARATION_HITS_MAX && found.views.is_empty();
        if known.len() < DECLARATIONS_MAX && is_small {
            known.insert(hash::name(text), found.clone());
        }
    }

    /// The rules that this scanner looks for.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Whether the name of a field, in front of its value, may keep a rule from a hit.
    pub fn may_silence(&self, name: &str) -> bool {
        let name = format!("{name}: ");
        let lower = labels::lower(&name);
        labels::names_a_thing(&name, name.len(), &[]) || self.silencers.iter().any(|word| has_word(&lower, word))
    }

    /// Every hit in `text`, which a user said.
    pub fn scan(&self, text: &str) -> Scan {
        self.scan_by(text, &self.in_input, true, false)
    }

    /// Every hit in `text`, which is data: the result of a tool, a document.
    pub fn scan_data(&self, text: &str) -> Scan {
        self.scan_by(text, &self.in_data, true, false)
    }

    /// The attacks in `text`, which a tool says of itself; what it gives away is not looked for.
    pub fn scan_declaration(&self, text: &str) -> Scan {
        self.scan_by(text, &self.in_declarations, false, false)
    }

    /// Every hit in `text`, also of rules that are looked for only beside others.
    pub fn scan_thoroughly(&self, text: &str) -> Scan {
        self.scan_by(text, &self.in_data, true, true)
    }

    /// Every hit in `text` of a rule that is about no attack: for what no attacker wrote.
    pub fn scan_output(&self, text: &str) -> Scan {
        self.scan_by(text, &self.in_output, true, false)
    }

    fn scan_by(&self, text: &str, keywords: &KeywordCallers, with_numbers: bool, thoroughly: bool) -> Scan {
        let mut scan = Scan::default();
        let mut windows = Windows::of(self.compiled.len());
        self.keyword_windows(text, keywords, &mut windows);
        if with_numbers {
            if may_stand_alone(text) {
                self.alone.iter().for_each(|rule| windows.add(*rule, 0..text.len()));
            }
            self.number_windows(text, &mut windows);
        }
        if windows.windows.is_empty() && !thoroughly {
            return scan;
        }
        let mut hits = ByRule::of(self.compiled.len());
        self.run_all(text, windows, &mut hits, &mut scan);
        if thoroughly || !scan.hits.is_empty() {
            for (family, keywords) in self.beside() {
                let is_family = |hit: &Hit| self.library.rule(hit.rule).family() == *family;
                if thoroughly || scan.hits.iter().any(is_family) {
                    let mut windows = Windows::of(self.compiled.len());
                    self.keyword_windows(text, keywords, &mut windows);
                    self.run_all(text, windows, &mut hits, &mut scan);
                }
            }
        }
        scan.hits.sort_by_key(|hit| (hit.span.start, hit.span.end, hit.rule));
        scan
    }

    fn run_all(&self, text: &str, windows: Windows, hits: &mut ByRule, scan: &mut Scan) {
        let mut searched = ByRule::of(self.compiled.len());
        for window in windows.windows {
            self.run(text, window, (hits, &mut searched), scan);
        }
    }

    /// The rules that are looked for, with their index.
    fn wanted(&self) -> impl Iterator<Item = (&Rule, u32)> {
        self.library.rules().iter().zip(0..).filter(|(_, index)| self.is_wanted[*index as usize])
    }

    fn beside(&self) -> &[(Family, KeywordCallers)] {
        self.beside.get_or_init(|| {
            let of = |family| self.wanted().filter(move |(rule, _)| rule.beside && rule.family() == family);
            let with_some = Family::ALL.into_iter().filter(|family| of(*family).next().is_some());
            with_some.map(|family| (family, keywords_of(of(family)))).collect()
        })
    }

    /// Where which pattern is to run because of keywords; windows of one rule do not overlap and stand in order.
    fn keyword_windows(&self, text: &str, keywords: &KeywordCallers, windows: &mut Windows) {
        keywords.words.each(text.as_bytes(), |word, at| {
            for (rule, is_word) in &keywords.called[word] {
                if !is_word || is_whole_word(text.as_bytes(), &at) {
                    self.open(*rule, at.clone(), text.len(), windows);
                }
            }
        });
    }

    /// The same because of numbers.
    fn number_windows(&self, text: &str, windows: &mut Windows) {
        if self.numbers.digits_min == usize::MAX {
            return;
        }
        let mut near = ByRule::of(self.compiled.len());
        let mut numbers = 0;
        each_number(text.as_bytes(), self.numbers.digits_min, |span, digits| {
            numbers += 1;
            if self.numbers.asks_for_words(&span, digits) {
                self.numbers.mark_near(text, &span, numbers, &mut near);
            }
            self.numbers.each(&span, digits, |rule| {
                if !self.numbers.needs_word[rule as usize] || near.get(rule) == numbers {
                    self.open(rule, span.clone(), text.len(), windows);
                }
            });
        });
    }

    fn open(&self, rule: u32, around: Range<usize>, length: usize, windows: &mut Windows) {
        let [before, after] = self.library.rule(rule as usize).window_bytes();
        let bytes = around.start.saturating_sub(before)..(around.end + after).min(length);
        windows.add(rule, bytes);
    }

    fn run(&self, text: &str, window: Window, (hits, searched): (&mut ByRule, &mut ByRule), scan: &mut Scan) {
        let rule = self.library.rule(window.rule as usize);
        let compiled = self.compiled[window.rule as usize].get_or_init(|| Compiled::of(rule));
        let Some(compiled) = compiled else { return };
        let end = end_of_token(text.as_bytes(), window.bytes.end);
        let bytes = &text.as_bytes()[..end];
        // A window before this one may have been widened into it.
        let mut at = window.bytes.start.max(searched.get(window.rule) as usize);
        *searched.at(window.rule) = end as u32;
        while at < end {
            let Some((whole, value)) = compiled.find_at(rule, bytes, at) else { return };
            if hits.get(window.rule) as usize == HITS_PER_RULE_MAX {
                scan.is_capped = true;
                return;
            }
            // What follows the value may be what the next match begins with.
            at = value.end.max(whole.start + 1);
            let hit = judge(rule, compiled, text, value.clone(), window.rule as usize);
            if let Some(hit) = hit.or_else(|| judge_shorter(rule, compiled, text, value, window.rule as usize)) {
                at = hit.span.end.max(whole.start + 1);
                *hits.at(window.rule) += 1;
                scan.hits.push(hit);
            } else if rule.digits.is_some() && whole.len() <= RETRY_BYTES_MAX {
                // The number may begin behind one that stands in front of it.
                at = whole.start + 1;
            }
        }
    }
}

/// Whether rules of the family are about text that tries to subvert a model.
fn is_attack(family: Family) -> bool {
    matches!(family, Family::Injection | Family::Indirect)
}

/// The keywords of rules, which come with their index; each calls its rules, and says whether it must be a word by itself.
fn keywords_of<'r>(rules: impl Iterator<Item = (&'r Rule, u32)>) -> KeywordCallers {
    let keyword = |(rule, index): (&'r Rule, u32)| {
        let is_word =
            |keyword| rule.needs_context && (rule.context.contains(keyword) || rule.weak_context.contains(keyword));
        rule.keywords.iter().map(move |keyword| (keyword.as_str(), (index, is_word(keyword))))
    };
    Callers::of(rules.flat_map(keyword))
}

impl<T: Copy> Callers<T> {
    /// Words, which may come more than once, and what each calls.
    fn of<'w>(words: impl Iterator<Item = (&'w str, T)>) -> Callers<T> {
        let mut called: BTreeMap<String, Vec<T>> = BTreeMap::new();
        for (word, rule) in words {
            // Only ASCII is found in any case.
            for word in labels::cases(&labels::lower(word)) {
                called.entry(word).or_default().push(rule);
            }
        }
        let (words, called): (Vec<String>, Vec<Vec<T>>) = called.into_iter().unzip();
        Callers { words: Keywords::of(&words), called }
    }
}

impl NumberRules {
    /// The rules of these that look for numbers; `rules_total` is one more than the largest index.
    fn of<'r>(rules: impl Iterator<Item = (&'r Rule, u32)>, rules_total: usize) -> NumberRules {
        let mut words = Vec::new();
        let mut by_digits = vec![Vec::new(); DIGITS_MAX + 1];
        let mut within = Vec::new();
        let mut digits_min = usize::MAX;
        let mut needs_word = vec![false; rules_total];
        for (rule, index) in rules {
            let Some([min, max]) = rule.digits else { continue };
            digits_min = digits_min.min(min);
            within.push((index, max));
            by_digits.iter_mut().take(max + 1).skip(min).for_each(|rules: &mut Vec<u32>| rules.push(index));
            if rule.needs_context && rule.clear.is_none() {
                needs_word[index as usize] = true;
                let all = rule.context.iter().chain(&rule.weak_context);
                words.extend(all.map(|word| (word.as_str(), index)));
            }
        }
        let asks = |rules: &Vec<u32>| rules.iter().any(|rule| needs_word[*rule as usize]);
        NumberRules {
            words_by_digits: by_digits.iter().map(asks).collect(),
            by_digits,
            within,
            digits_min,
            words: Callers::of(words.into_iter()),
            needs_word,
        }
    }

    /// The rules that a number of so many digits calls.
    fn each(&self, span: &Range<usize>, digits: usize, mut call: impl FnMut(u32)) {
        if let Some(rules) = self.by_digits.get(digits) {
            rules.iter().for_each(|rule| call(*rule));
        }
        if span.len() > digits || digits > DIGITS_MAX {
            self.within.iter().filter(|(_, max)| digits > *max).for_each(|(rule, _)| call(*rule));
        }
    }

    /// Whether a number of so many digits calls a rule that needs a word near.
    fn asks_for_words(&self, span: &Range<usize>, digits: usize) -> bool {
        self.words_by_digits.get(digits).is_none_or(|asks| *asks) || span.len() > digits
    }

    /// Notes `number` for each rule of which a context word stands near.
    fn mark_near(&self, text: &str, span: &Range<usize>, number: u32, near: &mut ByRule) {
        let start = span.start.saturating_sub(CONTEXT_BEFORE_BYTES + NUMBER_MARGIN_BYTES);
        let end = (span.end + CONTEXT_AFTER_BYTES + NUMBER_MARGIN_BYTES).min(text.len());
        for part in [start..span.start, span.end..end] {
            let bytes = &text.as_bytes()[part];
            self.words.words.each(bytes, |word, at| {
                if is_whole_word(bytes, &at) {
                    self.words.called[word].iter().for_each(|rule| *near.at(*rule) = number);
                }
            });
        }
    }
}

/// Where a window that would end at `end` ends, so that it cuts no run of the characters that keys and tokens are made
/// of: a pattern would take the end of the window for the end of the value.
fn end_of_token(bytes: &[u8], end: usize) -> usize {
    let is_of_token =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=' | b'.');
    let cuts = end.checked_sub(1).and_then(|last| bytes.get(last)).is_some_and(is_of_token);
    let more = bytes[end..].iter().take(TOKEN_BYTES_MAX).take_while(|byte| is_of_token(byte));
    end + if cuts { more.count() } else { 0 }
}

fn is_whole_word(bytes: &[u8], word: &Range<usize>) -> bool {
    let is_letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    !is_letter(word.start.checked_sub(1).map(|at| &bytes[at])) && !is_letter(bytes.get(word.end))
}

/// Whether the text may be nothing but a value or a list of values: short, and each word has a digit or is part of one.
fn may_stand_alone(text: &str) -> bool {
    let is_part = |word: &str| word.len() <= WORD_OF_VALUE_BYTES_MAX || word.bytes().any(|byte| byte.is_ascii_digit());
    (ALONE_BYTES_MIN..=ALONE_BYTES_MAX).contains(&text.len())
        && text.split_whitespace().all(is_part)
        && text.bytes().any(|byte| byte.is_ascii_digit())
}

/// The windows opened so far, and for each rule the last of its own.
struct Windows {
    windows: Vec<Window>,
    /// 1 + index into `windows`.
    last: ByRule,
}

impl Windows {
    fn of(rules: usize) -> Windows {
        Windows { windows: Vec::new(), last: ByRule::of(rules) }
    }

    fn add(&mut self, rule: u32, bytes: Range<usize>) {
        let last = self.last.at(rule);
        if let Some(window) = (*last as usize).checked_sub(1).map(|index| &mut self.windows[index])
            && bytes.start <= window.bytes.end
        {
            window.bytes = window.bytes.start.min(bytes.start)..window.bytes.end.max(bytes.end);
            return;
        }
        self.windows.push(Window { rule, bytes });
        *last = self.windows.len() as u32;
    }
}

/// A number for each rule, 0 at first. Most texts call a few rules, and a cleared place for each of a thousand would cost
/// more than the text.
struct ByRule {
    few: Vec<(u32, u32)>,
    /// By rule; empty while there are few.
    all: Vec<u32>,
    rules: usize,
}

impl ByRule {
    const FEW_MAX: usize = 16;

    fn of(rules: usize) -> ByRule {
        ByRule { few: Vec::new(), all: Vec::new(), rules }
    }

    fn get(&self, rule: u32) -> u32 {
        if !self.all.is_empty() {
            return self.all[rule as usize];
        }
        self.few.iter().find(|(known, _)| *known == rule).map_or(0, |(_, number)| *number)
    }

    fn at(&mut self, rule: u32) -> &mut u32 {
        if self.all.is_empty() {
            let known = self.few.iter().position(|(known, _)| *known == rule);
            if known.is_some() || self.few.len() < ByRule::FEW_MAX {
                let place = known.unwrap_or(self.few.len());
                if known.is_none() {
                    self.few.push((rule, 0));
                }
                return &mut self.few[place].1;
            }
            self.all = vec![0; self.rules];
            for (known, number) in &self.few {
                self.all[*known as usize] = *number;
            }
        }
        &mut self.all[rule as usize]
    }
}

impl Compiled {
    fn of(rule: &Rule) -> Option<Compiled> {
        let pattern = compile_for_windows(&rule.pattern, WhichCaptures::Implicit)?;
        let clear = rule.clear.as_ref().and_then(|clear| compile(&format!("^(?:{clear})$")).ok());
        Some(Compiled {
            pattern,
            with_value: OnceLock::new(),
            has_value: rule.pattern.contains(VALUE_GROUP),
            clear,
            check: rule.check.as_deref().and_then(check::by_name),
        })
    }

    /// The next match from `at` on, and its value.
    fn find_at(&self, rule: &Rule, bytes: &[u8], at: usize) -> Option<(Range<usize>, Range<usize>)> {
        let whole = self.pattern.find(Input::new(bytes).range(at..))?.range();
        if !self.has_value {
            return Some((whole.clone(), whole));
        }
        let compile = || compile_for_windows(&rule.pattern, WhichCaptures::All);
        let pattern = self.with_value.get_or_init(compile).as_ref()?;
        let mut found = pattern.create_captures();
        pattern.captures(Input::new(bytes).range(whole.start..), &mut found);
        let value = found.get_group_by_name("value").map_or(whole.clone(), |value| value.range());
        Some((whole, value))
    }

    /// Whether the value at `span` needs no context word.
    fn needs_none(&self, rule: &Rule, text: &str, span: &Range<usize>) -> bool {
        !rule.needs_context
            || self.clear.as_ref().is_some_and(|clear| clear.is_match(&text.as_bytes()[span.clone()]))
            || rule.alone && text.len() <= ALONE_BYTES_MAX && is_all_of(text, span)
    }
}

/// A pattern, over bytes and with ASCII classes.
///
/// # Errors
/// When it is no pattern, or too large a one.
pub fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).unicode(false).size_limit(PATTERN_BYTES_MAX).dfa_size_limit(AUTOMATON_BYTES_MAX).build()
}

/// A pattern that runs over short windows. There it need not skip quickly to where it could match, and what that takes is
/// most of the work of compiling.
fn compile_for_windows(pattern: &str, which: WhichCaptures) -> Option<meta::Regex> {
    let config = meta::Config::new()
        .auto_prefilter(false)
        .utf8_empty(false)
        .which_captures(which)
        .nfa_size_limit(Some(PATTERN_BYTES_MAX))
        .hybrid_cache_capacity(AUTOMATON_BYTES_MAX);
    let syntax = syntax::Config::new().unicode(false).utf8(false);
    meta::Regex::builder().configure(config).syntax(syntax).build(pattern).ok()
}

/// Whether a pattern matches the empty string somewhere, at a boundary of words for example.
pub fn may_match_nothing(pattern: &str) -> bool {
    let config = syntax::Config::new().unicode(false).utf8(false);
    syntax::parse_with(pattern, &config).is_ok_and(|hir| hir.properties().minimum_len() == Some(0))
}

/// The hit of a match that ends at a separator in it: of several, the longest that holds.
fn judge_shorter(rule: &Rule, compiled: &Compiled, text: &str, value: Range<usize>, index: usize) -> Option<Hit> {
    /// Ends that are tried.
    const ENDS_MAX: usize = 8;
    if !rule.or_shorter {
        return None;
    }
    let bytes = text.as_bytes();
    let ends = value.clone().rev().filter(|at| matches!(bytes[*at], b' ' | b'-')).take(ENDS_MAX);
    ends.into_iter().find_map(|end| judge(rule, compiled, text, value.start..end, index))
}

/// The hit of a match, if entropy, context and check agree.
fn judge(rule: &Rule, compiled: &Compiled, text: &str, value: Range<usize>, index: usize) -> Option<Hit> {
    let span = text.floor_char_boundary(value.start)..text.ceil_char_boundary(value.end);
    if check::placeholder::is_redacted(text, &span) {
        return None;
    }
    let candidate = Candidate::new(text, span.clone());
    if rule.min_entropy_bits > 0.0 && entropy_bits(candidate.value().as_bytes()) < rule.min_entropy_bits {
        return None;
    }
    let checked = compiled.check.map_or(Checked::Holds, |check| check(&candidate));
    if checked == Checked::Fails {
        return None;
    }
    let in_context = has_word_near(text, &span, &rule.context);
    let has_reason = || compiled.needs_none(rule, text, &span) || has_word_near(text, &span, &rule.weak_context);
    if !in_context && !has_reason() || has_word_near(text, &span, &rule.not_context) {
        return None;
    }
    if heeds_labels(rule) && labels::names_a_thing(text, span.start, &rule.context) {
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

/// Whether a number of this rule may as well be that of a thing: its check lets too many others pass.
fn heeds_labels(rule: &Rule) -> bool {
    /// Ratio from which on form and check speak louder than a word in front.
    const RATIO_MAX: f64 = 100.0;
    rule.family() == Family::Pii && (rule.digits.is_some() || rule.needs_context) && rule.likelihood_ratio < RATIO_MAX
}

/// Whether the text is the value, but for quotes and punctuation around it, or a list of such values. A value that hangs
/// on a name by a hyphen (`model-20240229`) is part of the name.
fn is_all_of(text: &str, span: &Range<usize>) -> bool {
    let bare = |text: &str| text.trim_matches(|c: char| !c.is_alphanumeric()).len();
    let is_value = |word: &str| word == "and" || word.bytes().any(|byte| byte.is_ascii_digit());
    let has_name = |beside: Option<&str>| beside.is_some_and(|beside| beside.contains(char::is_alphanumeric));
    let before = text[..span.start].rsplit(char::is_whitespace).next();
    let behind = text[span.end..].split(char::is_whitespace).next();
    bare(text) == bare(&text[span.clone()])
        || !has_name(before) && !has_name(behind) && text.split_whitespace().all(is_value)
}

/// Whether one of `words` stands near the match, as a whole word, in any case.
pub fn has_word_near(text: &str, span: &Range<usize>, words: &[String]) -> bool {
    if words.is_empty() {
        return false;
    }
    let start = text.floor_char_boundary(span.start.saturating_sub(CONTEXT_BEFORE_BYTES));
    let end = text.ceil_char_boundary((span.end + CONTEXT_AFTER_BYTES).min(text.len()));
    let before = labels::lower(&text[start..span.start]);
    let after = labels::lower(&text[span.end..end]);
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
    while let Some(start) = next_digit(bytes, at) {
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

/// The first digit from `at` on. Most text has few, and whole chunks are passed by at once.
fn next_digit(bytes: &[u8], at: usize) -> Option<usize> {
    const CHUNK_BYTES: usize = 32;
    let mut start = at;
    for chunk in bytes.get(at..)?.chunks(CHUNK_BYTES) {
        if chunk.iter().fold(false, |any, byte| any | byte.is_ascii_digit()) {
            return chunk.iter().position(u8::is_ascii_digit).map(|offset| start + offset);
        }
        start += chunk.len();
    }
    None
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
            // Building it takes longer than all of these texts.
            static SCANNER: std::sync::LazyLock<Scanner> = std::sync::LazyLock::new(|| Scanner::new(Library::built_in()));
            for hit in SCANNER.scan(&text).hits {
                prop_assert!(text.get(hit.span.clone()).is_some());
                prop_assert!(hit.likelihood_ratio > 0.0);
            }
        }
    }
}
