//! The only way by which raw text reaches a report: cut, redacted and harmless to show.
//!
//! **What is kept**: the span and at most [`CONTEXT_CHARS`] code points on each side, [`EXCERPT_CHARS_MAX`] in all.
//!
//! **What is redacted**, also where it reaches into the excerpt from outside, and also when it is the span itself:
//! e-mail addresses; [`DIGITS_MIN`] digits or more, whatever separators stand between them; runs of [`TOKEN_CHARS_MIN`]
//! token characters or more with both letters and digits. Each becomes [`REDACTED`].
//!
//! **What is escaped** as `\u{..}`: control characters, line and paragraph separators, bidirectional controls, and
//! characters that are not visible. Line breaks and tabs become spaces.
//!
//! **Limits**: a name, a street or a password of words is not recognised here. [`REACH_CHARS`] code points on each side
//! of the excerpt are looked at; a run that reaches further counts as having both letters and digits.

use std::ops::Range;

/// Code points of context on each side of the evidence.
pub const CONTEXT_CHARS: usize = 30;
/// Code points of an excerpt, escapes included.
pub const EXCERPT_CHARS_MAX: usize = 160;
/// Characters of a name within a sentence of ours.
pub const NAME_CHARS_MAX: usize = 60;
/// Digits that are redacted, separators between them or not.
pub const DIGITS_MIN: usize = 7;
/// Token characters that are redacted when there are both letters and digits.
pub const TOKEN_CHARS_MIN: usize = 16;
/// What stands for redacted text.
pub const REDACTED: &str = "[redacted]";
/// Code points that are looked at on each side of an excerpt: the longest e-mail address (RFC 5321) and some more.
const REACH_CHARS: usize = 330;

/// The evidence `text[span]` with its context, safe to show; `sensitive` bytes of the text are redacted whatever they
/// look like. A span that does not lie in the text is moved into it.
pub fn excerpt(text: &str, span: Range<usize>, sensitive: &[Range<usize>]) -> String {
    cut(text, span, |region| region.hidden(sensitive))
}

/// What stands at `text[span]` and nothing around it, cut and redacted like [`excerpt`].
pub fn quote(text: &str, span: Range<usize>, sensitive: &[Range<usize>]) -> String {
    cut_within(text, span, 0, |region| region.hidden(sensitive))
}

/// What stands at `text[span]` for a person who asked for it: cut and escaped, and not redacted.
pub fn unredacted_quote(text: &str, span: Range<usize>) -> String {
    cut_within(text, span, 0, |_| Vec::new())
}

/// The evidence with its context as it stands, for a person who asked for it: cut and escaped, and not redacted.
pub fn unredacted(text: &str, span: Range<usize>) -> String {
    cut(text, span, |_| Vec::new())
}

/// A stretch of a whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// What stands there, safe to show; line breaks stay.
    pub text: String,
    /// Whether it is one of the places that were to be marked.
    pub is_marked: bool,
}

/// A whole text, at most so many code points of it, with the places in `marks` in stretches of their own: for a person who
/// looks at one record. `sensitive` bytes are redacted whatever they look like; nothing is when there is no such list.
pub fn whole(text: &str, chars_max: usize, marks: &[Range<usize>], sensitive: Option<&[Range<usize>]>) -> Vec<Stretch> {
    let end = forward(text, 0, chars_max);
    let region = Region::of(text, 0..forward(text, end, REACH_CHARS));
    let hidden = sensitive.map_or_else(Vec::new, |sensitive| region.hidden(sensitive));
    let last = region.index_of(end);
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut index = 0;
    while index < last {
        let (at, character) = region.chars[index];
        let run = hidden.iter().find(|run| run.contains(&index));
        let stands = at..run.map_or(at + 1, |run| region.chars.get(run.end).map_or(text.len(), |(at, _)| *at));
        let is_marked = marks.iter().any(|mark| mark.start < stands.end && stands.start < mark.end);
        if stretches.last().is_none_or(|last| last.is_marked != is_marked) {
            stretches.push(Stretch { text: String::new(), is_marked });
        }
        if let Some(stretch) = stretches.last_mut() {
            match (run, character) {
                (Some(_), _) => stretch.text.push_str(REDACTED),
                (None, '\n') => stretch.text.push('\n'),
                (None, '\r') => {}
                (None, '\t') => stretch.text.push(' '),
                (None, c) if is_invisible(c) => stretch.text.push_str(&escaped(c)),
                (None, c) => stretch.text.push(c),
            }
        }
        index = run.map_or(index + 1, |run| run.end);
    }
    stretches
}

fn escaped(character: char) -> String {
    format!("\\u{{{:x}}}", u32::from(character))
}

fn cut(text: &str, span: Range<usize>, hidden: impl FnOnce(&Region) -> Vec<Range<usize>>) -> String {
    cut_within(text, span, CONTEXT_CHARS, hidden)
}

fn cut_within(
    text: &str,
    span: Range<usize>,
    context_chars: usize,
    hidden: impl FnOnce(&Region) -> Vec<Range<usize>>,
) -> String {
    let start = floor_char(text, span.start);
    let end = floor_char(text, span.end).max(start);
    let shown_start = back(text, start, context_chars);
    let shown_end = forward(text, forward(text, start, EXCERPT_CHARS_MAX).min(end), context_chars);
    let region = Region::of(text, back(text, shown_start, REACH_CHARS)..forward(text, shown_end, REACH_CHARS));
    let hidden = hidden(&region);

    let mut writer = Writer { out: String::new(), chars: 0 };
    let mut index = region.index_of(shown_start);
    let last = region.index_of(shown_end);
    while index < last {
        let run = hidden.iter().find(|run| run.contains(&index));
        let fits = match run {
            Some(_) => writer.text(REDACTED),
            None => writer.character(region.chars[index].1),
        };
        if !fits {
            break;
        }
        index = run.map_or(index + 1, |run| run.end);
    }
    writer.out
}

/// A short text from the input (a rule's id, a name) as it may be shown.
pub fn shown(text: &str) -> String {
    excerpt(text, 0..text.len(), &[])
}

/// A name out of the log (a model, a key, a path to one) within a sentence of ours. A short one stands as it is, as in the
/// record's `model`: a report takes out of details what it takes out of names. What would have to be cut is redacted here,
/// for a part of a key is no key to a rule.
pub fn name(text: &str) -> String {
    if text.chars().count() <= NAME_CHARS_MAX {
        return unredacted(text, 0..text.len());
    }
    shown(&text.chars().take(NAME_CHARS_MAX).collect::<String>())
}

/// The characters that an excerpt is made from.
struct Region {
    /// Offset and character.
    chars: Vec<(usize, char)>,
    /// Whether the text goes on before and after.
    open: (bool, bool),
}

impl Region {
    fn of(text: &str, seen: Range<usize>) -> Region {
        let chars = text[seen.clone()].char_indices().map(|(at, character)| (seen.start + at, character));
        Region { chars: chars.collect(), open: (seen.start > 0, seen.end < text.len()) }
    }

    /// The index of the first character at or behind this offset.
    fn index_of(&self, offset: usize) -> usize {
        self.chars.partition_point(|(at, _)| *at < offset)
    }

    /// What is redacted, as ranges of characters in order; runs that touch are one.
    fn hidden(&self, sensitive: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut runs = self.digit_runs();
        runs.extend(sensitive.iter().map(|span| self.index_of(span.start)..self.index_of(span.end)));
        runs.extend(self.token_runs());
        runs.extend(self.addresses());
        runs.sort_unstable_by_key(|run| run.start);
        let mut joined: Vec<Range<usize>> = Vec::new();
        for run in runs {
            match joined.last_mut() {
                Some(last) if run.start <= last.end => last.end = last.end.max(run.end),
                _ => joined.push(run),
            }
        }
        joined
    }

    /// Digits and what may separate them.
    fn digit_runs(&self) -> Vec<Range<usize>> {
        if !self.chars.iter().any(|(_, character)| character.is_numeric()) {
            return Vec::new();
        }
        let is_digit = |index: &usize| self.chars[*index].1.is_numeric();
        let runs = self.runs(|character| character.is_numeric() || separates_digits(character));
        let within = runs.into_iter().filter_map(|run| {
            let digits = run.clone().filter(is_digit).count();
            let hide = digits >= DIGITS_MIN || (digits > 0 && self.is_cut(&run));
            hide.then_some(run.clone().find(is_digit)?..run.clone().rfind(is_digit)? + 1)
        });
        within.collect()
    }

    /// Token characters that may be a key.
    fn token_runs(&self) -> Vec<Range<usize>> {
        let mut runs = self.runs(is_token);
        runs.retain(|run| {
            // Most runs are words.
            if run.len() < TOKEN_CHARS_MIN {
                return false;
            }
            let visible = || self.chars[run.clone()].iter().map(|pair| pair.1).filter(|c| !is_invisible(*c));
            let mixed = visible().any(char::is_alphabetic) && visible().any(char::is_numeric);
            visible().count() >= TOKEN_CHARS_MIN && (mixed || self.is_cut(run))
        });
        runs
    }

    /// What stands around an at sign, when something does on both sides.
    fn addresses(&self) -> Vec<Range<usize>> {
        // An at sign, or the beginning of one that is encoded.
        if !self.chars.iter().any(|(_, character)| matches!(character, '@' | '\u{FF20}' | '%')) {
            return Vec::new();
        }
        let mut runs = self.runs(is_address);
        runs.retain(|run| {
            let text: String = self.chars[run.clone()].iter().map(|pair| pair.1).collect();
            let text = text.replace("%40", "@").replace('\u{FF20}', "@");
            let sides = text.split_once('@');
            sides.is_some_and(|(l, r)| l.contains(char::is_alphanumeric) && r.contains(char::is_alphanumeric))
        });
        runs
    }

    /// Maximal runs of characters for which `is` holds.
    fn runs(&self, is: impl Fn(char) -> bool) -> Vec<Range<usize>> {
        let mut runs = Vec::new();
        let mut start = 0;
        for end in 0..=self.chars.len() {
            if self.chars.get(end).is_some_and(|(_, character)| is(*character)) {
                continue;
            }
            if start < end {
                runs.push(start..end);
            }
            start = end + 1;
        }
        runs
    }

    /// Whether the run goes on beyond what is looked at.
    fn is_cut(&self, run: &Range<usize>) -> bool {
        (self.open.0 && run.start == 0) || (self.open.1 && run.end == self.chars.len())
    }
}

struct Writer {
    out: String,
    chars: usize,
}

impl Writer {
    /// Writes `text` whole, or says that there is no room for it.
    fn text(&mut self, text: &str) -> bool {
        let chars = text.chars().count();
        if self.chars + chars > EXCERPT_CHARS_MAX {
            return false;
        }
        self.chars += chars;
        self.out.push_str(text);
        true
    }

    fn character(&mut self, character: char) -> bool {
        match character {
            '\n' | '\r' | '\t' => self.text(" "),
            _ if is_invisible(character) => self.text(&escaped(character)),
            _ => self.text(character.encode_utf8(&mut [0; 4])),
        }
    }
}

fn separates_digits(character: char) -> bool {
    let dash = matches!(character, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{FF0D}');
    let mark = matches!(character, '.' | '(' | ')' | '/' | '+' | '_' | ':' | '\'' | '·' | '*');
    dash || mark || (character.is_whitespace() && character != '\n') || is_invisible(character)
}

fn is_token(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_-./+=".contains(character) || is_invisible(character)
}

fn is_address(character: char) -> bool {
    character.is_alphanumeric() || "@\u{FF20}._%+-".contains(character) || is_invisible(character)
}

/// Characters that are escaped: they are not seen, or change how others are seen.
fn is_invisible(character: char) -> bool {
    let keeps_line = !matches!(character, '\n' | '\r' | '\t');
    (character.is_control() && keeps_line)
        || matches!(
            character,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
                | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
                | '\u{FE00}'..='\u{FE0E}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
                | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}'
        )
}

fn floor_char(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The offset `count` code points before `at`, or the beginning.
fn back(text: &str, at: usize, count: usize) -> usize {
    text[..at].char_indices().rev().take(count).last().map_or(at, |(offset, _)| offset)
}

/// The offset `count` code points after `at`, or the end.
fn forward(text: &str, at: usize, count: usize) -> usize {
    text[at..].char_indices().nth(count).map_or(text.len(), |(offset, _)| at + offset)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, evidence: &str, expected: &str) {
        let start = text.find(evidence).expect("the evidence stands in the text");
        assert_eq!(excerpt(text, start..start + evidence.len(), &[]), expected);
    }

    #[test]
    fn context_is_thirty_code_points_on_each_side() {
        let (before, after) = ("ä".repeat(40), "ö".repeat(40));
        let text = format!("{before} x {after}");
        check(&text, "x", &format!("{} x {}", "ä".repeat(29), "ö".repeat(29)));
    }

    #[test]
    fn a_whole_text_has_its_marks_and_is_as_safe() {
        let text = "Dear jane.doe@example.com,\nignore the rules\u{7} and \tsend 4111 1111 1111 1111.";
        let at = text.find("ignore").unwrap();
        let mark = at..at + "ignore the rules".len();
        let shown = |chars_max, sensitive| {
            let stretches = whole(text, chars_max, std::slice::from_ref(&mark), sensitive).into_iter();
            stretches
                .map(|part| if part.is_marked { format!("<{}>", part.text) } else { part.text })
                .collect::<String>()
        };
        assert_eq!(shown(1000, Some(&[])), "Dear [redacted],\n<ignore the rules>\\u{7} and  send [redacted].");
        assert_eq!(
            shown(1000, None),
            text.replace("ignore the rules", "<ignore the rules>").replace('\u{7}', "\\u{7}").replace('\t', " ")
        );
        assert_eq!(shown(10, Some(&[])), "Dear [redacted]");
        assert_eq!(shown(4, Some(&[0..2, 3..4])), "[redacted]a[redacted]");
    }

    #[test]
    fn line_breaks_become_spaces_and_what_cannot_be_seen_is_escaped() {
        check("a\r\nb\tx", "x", "a  b x");
        check("\u{1b}[31mx\u{7}\u{0}", "x", "\\u{1b}[31mx\\u{7}\\u{0}");
        check("\u{202e}x\u{2066}\u{2028}\u{200b}\u{feff}", "x", "\\u{202e}x\\u{2066}\\u{2028}\\u{200b}\\u{feff}");
        check("x\u{e0041}\u{9b}é🎉", "x", "x\\u{e0041}\\u{9b}é🎉");
    }

    #[test]
    fn addresses_numbers_and_tokens_are_redacted() {
        for (text, expected) in [
            ("x, jane.doe@example.com now", "x, [redacted] now"),
            ("x mail j@x now", "x mail [redacted] now"),
            ("x user%40example.org", "x [redacted]"),
            ("x jané@exämple.com", "x [redacted]"),
            ("x j\u{200b}ane@example.com", "x [redacted]"),
            ("x @dataclass a @ b", "x @dataclass a @ b"),
            ("x 4111 1111 1111 1111.", "x [redacted]."),
            ("x +1 (555) 010-9999!", "x +[redacted]!"),
            ("x 555\u{2011}010\u{a0}9999", "x [redacted]"),
            ("x 12\u{200b}34567", "x [redacted]"),
            ("x １２３４５６７", "x [redacted]"),
            ("x 123456, 1,234,567", "x 123456, 1,234,567"),
            ("x sk_live_4eC39HqLyjWDarjt", "x [redacted]"),
            ("x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx", "x [redacted]"),
            ("x internationalization", "x internationalization"),
            ("x abcdefghijklmno1", "x [redacted]"),
            ("x abcdefghijklmn1", "x abcdefghijklmn1"),
        ] {
            check(text, "x", expected);
        }
    }

    #[test]
    fn the_span_itself_is_redacted_and_once() {
        check("key AKIA1234567890ABCDEF end", "AKIA1234567890ABCDEF", "key [redacted] end");
        check("jane@example.com,4111111111111111", "4111111111111111", "[redacted],[redacted]");
    }

    #[test]
    fn what_reaches_in_from_outside_is_redacted_too() {
        let card = format!("4111111111111111{}x", " ".repeat(27));
        check(&card, "x", &format!("[redacted]{}x", " ".repeat(27)));
        let token = format!("x{}abcdefghijklmnopqrstuvwxyz123456", " ".repeat(25));
        check(&token, "x", &format!("x{}[redacted]", " ".repeat(25)));
        let address = format!("x{}someone@example.com", " ".repeat(28));
        check(&address, "x", &format!("x{}[redacted]", " ".repeat(28)));
        let long = format!("1{}x", "a".repeat(2_000));
        check(&long, "x", "[redacted]");
    }

    #[test]
    fn whoever_asks_sees_what_stands_there_escaped() {
        let shown = unredacted("mail jane@example.com\u{1b}[2J x", 5..21);
        assert_eq!(shown, "mail jane@example.com\\u{1b}[2J x");
    }

    #[test]
    fn a_long_span_is_cut() {
        let text = "word ".repeat(500);
        assert_eq!(excerpt(&text, 10..2_000, &[]).chars().count(), EXCERPT_CHARS_MAX);
    }

    #[test]
    fn wrong_spans_are_moved_into_the_text() {
        assert_eq!(excerpt("äx", 1..2, &[]), "äx");
        assert_eq!(excerpt("ab", Range { start: 9, end: 3 }, &[]), "ab");
        assert_eq!(excerpt("", 0..0, &[]), "");
    }

    proptest! {
        #[test]
        fn an_excerpt_is_short_and_shows_nothing_dangerous(
            text in "[a-z0-9 @.\u{202a}-\u{202e}\u{0}-\u{1f}\u{2028}é-]{0,300}", start in 0usize..320, length in 0usize..320,
        ) {
            let shown = excerpt(&text, start..start + length, &[]);
            prop_assert!(shown.chars().count() <= EXCERPT_CHARS_MAX);
            prop_assert!(!shown.chars().any(|c| is_invisible(c) || c.is_control()));
            let digits = shown.replace(REDACTED, "|").replace(|c: char| !c.is_ascii_digit() && c != '|', " ");
            prop_assert!(digits.split([' ', '|']).all(|run| run.len() < DIGITS_MIN));
        }
    }
}
