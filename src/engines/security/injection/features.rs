//! Hits of rules → the set of features that a stretch of text shows.
//!
//! Each built-in injection rule is a feature, and so is each term of [`TERMS`], which is about the text as a whole. A
//! set of features is a number of 256 bits. With each feature goes its doubt: what speaks for an innocent reading of it
//! ([`super::exculpate`]).
//!
//! A text is judged in stretches of [`STRETCH_BYTES`], each half over the last, and within them by what stands within
//! [`NEAR_BYTES`], so that features that have nothing to do with each other do not meet in a long text.
//!
//! **Limits**: quoted or fenced phrases do not count in a text that talks about attacks; a text that says both is
//! taken at its word. What was decoded and what stands in data is never doubted.

use std::ops::Range;

use super::{
    super::evidence::{Place, ScannedText},
    exculpate::{Exculpations, Reading},
};
use crate::{
    rules::{Family, Hit, Library},
    text::decode::Decoded,
};

/// Bytes of text in which features are taken together.
pub const STRETCH_BYTES: usize = 16_000;
/// Bytes of text in which an order and what completes it stand.
pub const NEAR_BYTES: usize = 2_000;
/// Characters of a short text.
const SHORT_CHARS: usize = 160;
/// Characters of a very short text.
const VERY_SHORT_CHARS: usize = 80;
/// Characters of a text that is about one thing.
const PARAGRAPH_CHARS: usize = 600;
/// Characters from which a text has a second half.
const LONG_CHARS: usize = 200;
/// Lines of a made-up dialogue from which they are many.
const MANY_TURNS: usize = 8;

/// A set of features, by their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Set {
    low: u128,
    high: u128,
}

impl Set {
    /// The set of one feature.
    pub fn of(feature: u8) -> Set {
        if feature < 128 { Set { low: 1 << feature, high: 0 } } else { Set { low: 0, high: 1 << (feature - 128) } }
    }

    /// Whether the feature is in it.
    pub fn has(self, feature: u8) -> bool {
        self.meets(Set::of(feature))
    }

    /// Whether a feature is in both.
    pub fn meets(self, other: Set) -> bool {
        self.both(other) != Set::default()
    }

    /// What is in either.
    pub fn with(self, other: Set) -> Set {
        Set { low: self.low | other.low, high: self.high | other.high }
    }

    /// What is in both.
    pub fn both(self, other: Set) -> Set {
        Set { low: self.low & other.low, high: self.high & other.high }
    }

    /// The features, by rising number.
    pub fn features(self) -> impl Iterator<Item = u8> {
        let bits = |mut bits: u128, offset: u8| {
            std::iter::from_fn(move || {
                let next = (bits != 0).then(|| bits.trailing_zeros() as u8)?;
                bits &= bits - 1;
                Some(next + offset)
            })
        };
        bits(self.low, 0).chain(bits(self.high, 128))
    }
}

/// Features that stand together, and what speaks for an innocent reading of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// The features, and the terms that hold.
    pub set: Set,
    /// Features of which every hit is doubted, and the least doubt, in points.
    pub doubts: Vec<(u8, f64)>,
}

impl Part {
    /// What stands together, without doubt.
    pub fn of(set: Set) -> Part {
        Part { set, doubts: Vec::new() }
    }

    /// The doubt of a feature.
    pub fn doubt(&self, feature: u8) -> f64 {
        self.doubts.iter().find(|(known, _)| *known == feature).map_or(0.0, |(_, doubt)| *doubt)
    }

    fn add(&mut self, shown: &Shown<'_>) {
        let known = self.doubts.iter().position(|(feature, _)| *feature == shown.feature);
        match known {
            Some(index) if shown.doubt <= 0.0 => {
                self.doubts.swap_remove(index);
            }
            Some(index) => self.doubts[index].1 = self.doubts[index].1.min(shown.doubt),
            None if shown.doubt > 0.0 && !self.set.has(shown.feature) => self.doubts.push((shown.feature, shown.doubt)),
            None => {}
        }
        self.set = self.set.with(Set::of(shown.feature));
    }
}

/// Terms about a text as a whole; their features have the highest numbers, from the last down.
pub const TERMS: [&str; 8] =
    ["upto_80", "upto_160", "late", "decoded", "hidden_tags", "many_turns", "upto_600", "after_refusal"];

/// The feature of a term, by its position in [`TERMS`].
const fn term(index: usize) -> u8 {
    255 - index as u8
}

const UPTO_80: u8 = term(0);
const UPTO_160: u8 = term(1);
const LATE: u8 = term(2);
const DECODED: u8 = term(3);
const HIDDEN_TAGS: u8 = term(4);
const MANY_TURNS_TERM: u8 = term(5);
const UPTO_600: u8 = term(6);
const AFTER_REFUSAL: u8 = term(7);

/// The numbers of the features.
#[derive(Clone, Debug)]
pub struct Names {
    /// By number.
    names: Vec<String>,
    /// For each rule of the library, the number of its feature.
    of_rule: Vec<Option<u8>>,
}

impl Names {
    /// Numbers the injection rules of `library` that are built in; a user's rule is no feature, it speaks for itself.
    pub fn of(library: &Library) -> Names {
        let built_in = Library::built_in();
        let mut names = Vec::new();
        let of_rule = library.rules().iter().map(|rule| {
            let is_feature = rule.family() == Family::Injection
                && names.len() < usize::from(term(TERMS.len()))
                && built_in.find(&rule.id).is_some();
            is_feature.then(|| {
                names.push(rule.id["injection/".len()..].to_owned());
                names.len() as u8 - 1
            })
        });
        let of_rule = of_rule.collect();
        Names { names, of_rule }
    }

    /// The feature of this name.
    pub fn feature(&self, name: &str) -> Option<u8> {
        let own = self.names.iter().position(|known| known == name).map(|index| index as u8);
        own.or_else(|| TERMS.iter().position(|known| *known == name).map(term))
    }

    /// The set of these features; unknown names are left out.
    pub fn set<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Set {
        let known = names.into_iter().filter_map(|name| self.feature(name));
        known.fold(Set::default(), |set, feature| set.with(Set::of(feature)))
    }

    /// The feature of a rule.
    pub fn of_rule(&self, rule: usize) -> Option<u8> {
        self.of_rule.get(rule).copied().flatten()
    }
}

/// Features that mean more than others, by what is asked of them here.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    /// Orders: where they stand says whether the end of a text belies its beginning.
    orders: Set,
    /// An attack wherever it stands; found by decoding, it was hidden.
    attacks: Set,
    /// What a text says that talks about attacks.
    discusses: Set,
    dialogue_line: Option<u8>,
}

impl Kinds {
    /// The kinds, in these names.
    pub fn of(names: &Names) -> Kinds {
        let overrides = [
            "override_previous",
            "override_given",
            "override_all",
            "ignore_above",
            "forget_everything",
            "override_romance",
            "override_french",
            "override_german",
            "override_slavic",
            "override_turkish",
            "override_austronesian",
            "override_vietnamese",
            "override_indic",
            "override_arabic",
            "override_east_asian",
            "override_thai",
            "override_dutch_nordic",
        ];
        let asks = [
            "show_prompt",
            "show_your_rules",
            "show_secret",
            "your_secret",
            "persona_unbound",
            "say_access_granted",
            "template_payload",
            "shows_operators_text",
            "drops_operators_text",
            "asks_about_setup",
            "imagines_no_rules",
            "shows_told_multilingual",
            "rules_void_multilingual",
            "show_prompt_multilingual",
        ];
        Kinds {
            orders: names.set([
                "override_previous",
                "override_given",
                "override_all",
                "ignore_above",
                "include_text",
                "only_output",
            ]),
            attacks: names.set(overrides.into_iter().chain(asks)),
            discusses: names.set(["discusses_attacks"]),
            dialogue_line: names.feature("question_label"),
        }
    }
}

/// A feature and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown<'e> {
    /// The feature.
    pub feature: u8,
    /// Its rule, in the library.
    pub rule: usize,
    /// Bytes of the field's value.
    pub span: Range<usize>,
    /// The view in which it was found, if not in the text itself.
    pub view: Option<&'e Decoded>,
    /// What speaks for an innocent reading, in points.
    pub doubt: f64,
}

/// What one stretch of a text shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stretch<'e> {
    /// All features, and the terms that hold.
    pub whole: Part,
    /// The same for each part of [`NEAR_BYTES`] in which something stands, each half over the last.
    pub near: Vec<Part>,
    /// Where each feature first stands with the least doubt, in the order of the text.
    pub shown: Vec<Shown<'e>>,
}

/// What is asked of a text beside its hits.
#[derive(Clone, Copy, Debug)]
pub struct Around<'x> {
    /// What speaks for an innocent reading.
    pub exculpations: &'x Exculpations,
    /// Whether somebody has said something before in the same conversation.
    pub has_earlier_turns: bool,
    /// Whether the model refused what the user said just before.
    pub is_after_refusal: bool,
}

/// The features of `text`, stretch by stretch; none for a text without any.
pub fn stretches<'e>(text: &'e ScannedText<'_>, names: &Names, kinds: &Kinds, around: Around<'_>) -> Vec<Stretch<'e>> {
    let has_hits = !text.scan.hits.is_empty() || text.views.iter().any(|(_, scan)| !scan.hits.is_empty());
    if !has_hits && !has_hidden_text(text.value()) {
        return Vec::new();
    }
    let mut shown = plain(text, names, kinds, around);
    let in_plain = shown.iter().fold(Set::default(), |set, shown| set.with(Set::of(shown.feature)));
    for (view, scan) in &text.views {
        decoded(text, view, &scan.hits, (in_plain, kinds), names, &mut shown);
    }
    let mut whole = whole_text(text, &shown, in_plain, kinds);
    if around.is_after_refusal {
        whole = whole.with(Set::of(AFTER_REFUSAL));
    }
    if shown.is_empty() && !whole.has(HIDDEN_TAGS) {
        return Vec::new();
    }
    shown.sort_by_key(|shown| shown.span.start);
    split(&shown, whole, text.value().len())
}

fn plain<'e>(text: &'e ScannedText<'_>, names: &Names, kinds: &Kinds, around: Around<'_>) -> Vec<Shown<'e>> {
    let hits = text.scan.hits.iter();
    let hits: Vec<(u8, &Hit)> = hits.filter_map(|hit| Some((names.of_rule(hit.rule)?, hit))).collect();
    let discusses = hits.iter().any(|(feature, _)| kinds.discusses.has(*feature));
    let mut quotes = Quotes::new(&text.text);
    let mut reading = Reading::new(around.exculpations, &text.text, around.has_earlier_turns);
    let mut shown = Vec::with_capacity(hits.len());
    for (feature, hit) in hits {
        let is_quoted = quotes.holds(hit.span.start);
        if discusses && is_quoted {
            continue;
        }
        let is_short = is_quoted && quotes.is_short(&hit.span);
        let doubt = if text.place == Place::User { reading.doubt(feature, &hit.span, is_short) } else { 0.0 };
        if let Some(span) = in_value(hit.span.clone(), text.prefix) {
            shown.push(Shown { feature, rule: hit.rule, span, view: None, doubt });
        }
    }
    shown
}

/// What a view adds: an attack that the text itself does not show. Of text in leetspeak only that, and of other views
/// every feature, as if it stood in the text.
fn decoded<'e>(
    text: &'e ScannedText<'_>,
    view: &'e Decoded,
    hits: &[Hit],
    (in_plain, kinds): (Set, &Kinds),
    names: &Names,
    shown: &mut Vec<Shown<'e>>,
) {
    let only_attacks = view.steps.iter().any(|step| step.contains("leet"));
    for hit in hits {
        let Some(feature) = names.of_rule(hit.rule) else { continue };
        if in_plain.has(feature) || only_attacks && !kinds.attacks.has(feature) {
            continue;
        }
        if let Some(span) = in_value(view.original(hit.span.clone()), text.prefix) {
            shown.push(Shown { feature, rule: hit.rule, span, view: Some(view), doubt: 0.0 });
        }
    }
}

fn in_value(span: Range<usize>, prefix: usize) -> Option<Range<usize>> {
    (span.end > prefix).then(|| span.start.saturating_sub(prefix)..span.end - prefix)
}

/// The terms that hold for a text.
fn whole_text(text: &ScannedText<'_>, shown: &[Shown<'_>], in_plain: Set, kinds: &Kinds) -> Set {
    let value = text.value();
    let chars = value.trim().chars().take(PARAGRAPH_CHARS + 1).count();
    let first_order = shown.iter().filter(|shown| kinds.orders.has(shown.feature)).map(|shown| shown.span.start).min();
    let turns = shown.iter().filter(|shown| Some(shown.feature) == kinds.dialogue_line).count();
    let was_hidden =
        |shown: &Shown<'_>| shown.view.is_some() && kinds.attacks.has(shown.feature) && !in_plain.has(shown.feature);
    let holds = [
        (UPTO_80, chars <= VERY_SHORT_CHARS),
        (UPTO_160, chars <= SHORT_CHARS),
        (UPTO_600, chars <= PARAGRAPH_CHARS),
        (LATE, chars > LONG_CHARS && first_order.is_some_and(|start| start > value.len() / 2)),
        (DECODED, shown.iter().any(was_hidden)),
        (HIDDEN_TAGS, has_hidden_text(value)),
        (MANY_TURNS_TERM, turns >= MANY_TURNS),
    ];
    holds.into_iter().filter(|(_, holds)| *holds).fold(Set::default(), |set, (term, _)| set.with(Set::of(term)))
}

/// Tag characters that make a word; flags of regions have at most six, behind a black flag.
const TAGS_MIN: usize = 8;

/// Whether the text holds tag characters (U+E0020 to U+E007E) that are no part of a flag.
fn has_hidden_text(text: &str) -> bool {
    // All of them begin with these two bytes, which hardly any other text holds.
    if memchr::memmem::find(text.as_bytes(), b"\xf3\xa0").is_none() {
        return false;
    }
    let mut run = 0;
    text.chars().any(|c| {
        run = if matches!(c, '\u{e0020}'..='\u{e007e}') { run + 1 } else { 0 };
        run >= TAGS_MIN
    })
}

/// Cuts a text with `shown`, which is sorted, into stretches.
fn split<'e>(shown: &[Shown<'e>], whole: Set, length: usize) -> Vec<Stretch<'e>> {
    let mut stretches = Vec::new();
    let mut start = 0;
    loop {
        let from = shown.partition_point(|shown| shown.span.start < start);
        let to = shown.partition_point(|shown| shown.span.start < start + STRETCH_BYTES);
        let end = (start + STRETCH_BYTES).min(length);
        let near = near(&shown[from..to], whole, start..end);
        let mut stretch = Stretch { whole: Part::of(whole), near, shown: Vec::new() };
        for shown in &shown[from..to] {
            let least = stretch.whole.set.has(shown.feature).then(|| stretch.whole.doubt(shown.feature));
            stretch.whole.add(shown);
            match least {
                None => stretch.shown.push(shown.clone()),
                Some(doubt) if shown.doubt < doubt => {
                    stretch.shown.retain(|known| known.feature != shown.feature);
                    stretch.shown.push(shown.clone());
                }
                Some(_) => {}
            }
        }
        stretches.push(stretch);
        if start + STRETCH_BYTES >= length {
            return stretches;
        }
        // Where nothing stands there is nothing to judge.
        let next = start + STRETCH_BYTES / 2;
        let next_shown = shown.get(shown.partition_point(|shown| shown.span.start < next));
        let Some(next_shown) = next_shown else { return stretches };
        let half = STRETCH_BYTES / 2;
        start = next.max(next_shown.span.start / half * half);
    }
}

/// The features that stand near each other, part by part.
fn near(shown: &[Shown<'_>], whole: Set, stretch: Range<usize>) -> Vec<Part> {
    let with = |shown: &[Shown<'_>]| {
        let mut part = Part::of(whole);
        shown.iter().for_each(|shown| part.add(shown));
        part
    };
    if stretch.len() <= NEAR_BYTES {
        return vec![with(shown)];
    }
    let mut parts = Vec::new();
    for start in stretch.step_by(NEAR_BYTES / 2) {
        let from = shown.partition_point(|shown| shown.span.start < start);
        let to = shown.partition_point(|shown| shown.span.start < start + NEAR_BYTES);
        let part = with(&shown[from..to]);
        if parts.last() != Some(&part) {
            parts.push(part);
        }
    }
    parts
}

/// Says of rising positions whether they stand in quotes or in a code fence.
pub(in crate::engines::security) struct Quotes<'t> {
    text: &'t [u8],
    at: usize,
    in_fence: bool,
    /// The sign that closes the quotation.
    until: Option<u8>,
    /// Where the quotation began that was entered last.
    since: usize,
}

/// Bytes of a quotation that is a phrase; a longer one is a document, and a document may hold an attack.
const QUOTED_BYTES: usize = 240;
/// What stands here for curly quotes, which are several bytes.
const CURLY_OPEN: u8 = 1;
const CURLY_CLOSE: u8 = 2;

impl<'t> Quotes<'t> {
    pub(in crate::engines::security) fn new(text: &'t str) -> Quotes<'t> {
        Quotes { text: text.as_bytes(), at: 0, in_fence: false, until: None, since: 0 }
    }

    /// Whether the apostrophe here opens or closes a quotation: a letter stands on its inner side only.
    fn is_quote_sign(&self) -> bool {
        let is_letter = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
        let before = is_letter(self.at.checked_sub(1).and_then(|at| self.text.get(at)));
        let behind = is_letter(self.text.get(self.at + 1));
        if self.until == Some(b'\'') { before && !behind } else { !before && behind }
    }

    /// Whether the quotation around `hit` is no longer than a phrase.
    fn is_short(&self, hit: &Range<usize>) -> bool {
        let from = if self.in_fence || self.until.is_some() { self.since } else { hit.start };
        let limit = (from + QUOTED_BYTES).min(self.text.len());
        let ends = |byte: &u8| matches!(byte, b'"' | b'\'' | b'`' | b'\n' | 0x9d | 0x99 | 0xbb);
        hit.end <= limit && (limit == self.text.len() || self.text[hit.end..limit].iter().any(ends))
    }

    pub(in crate::engines::security) fn holds(&mut self, position: usize) -> bool {
        while self.at < position {
            let rest = &self.text[self.at..];
            let was_out = !self.in_fence && self.until.is_none();
            if rest.starts_with(b"```") {
                self.in_fence = !self.in_fence;
                self.since = if was_out { self.at } else { self.since };
                self.at += 3;
                continue;
            }
            let sign = match rest[0] {
                b'"' => b'"',
                b'\'' if self.is_quote_sign() => b'\'',
                b'\xe2' if rest.starts_with("“".as_bytes()) => CURLY_OPEN,
                b'\xe2' if rest.starts_with("”".as_bytes()) => CURLY_CLOSE,
                b'\n' => {
                    self.until = None;
                    0
                }
                _ => 0,
            };
            match self.until {
                // Another kind of quotes inside of these is part of what is quoted.
                Some(until) if until == sign => self.until = None,
                None if sign != 0 && sign != CURLY_CLOSE => {
                    self.until = Some(if sign == CURLY_OPEN { CURLY_CLOSE } else { sign });
                    self.since = self.at;
                }
                _ => {}
            }
            self.at += 1;
        }
        // A pattern may begin with the quote itself.
        self.in_fence
            || self.until.is_some()
            || self.text.get(position).is_some_and(|byte| matches!(byte, b'"' | b'\''))
    }
}
