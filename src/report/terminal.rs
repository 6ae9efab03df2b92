//! Log text made safe to show, and the styles of our own text.
//!
//! Model output is hostile: an escape sequence in an id can clear the screen or fake a line, a bidirectional override
//! can swap what is read, and a line that begins with `::` is a command to a CI runner. Every text from a log passes
//! [`safe`] before it is shown; every finished line passes [`guard_line`].

use std::{borrow::Cow, fmt::Write};

use anstyle::{AnsiColor, Style};

/// Whether a character must not be shown as it stands: control characters, line and paragraph separators,
/// bidirectional controls, and characters that nobody sees.
///
/// Zero-width joiners stay: emoji and several scripts need them.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}'                      // soft hyphen
            | '\u{61c}'                   // Arabic letter mark
            | '\u{180e}'                  // Mongolian vowel separator
            | '\u{200b}'                  // zero-width space
            | '\u{200e}'..='\u{200f}'     // left-to-right and right-to-left marks
            | '\u{2028}'..='\u{202e}'     // separators, embeddings, overrides
            | '\u{2060}'..='\u{206f}'     // word joiner, invisible operators, isolates, deprecated format characters
            | '\u{feff}'                  // byte order mark
            | '\u{fff9}'..='\u{fffb}'     // interlinear annotations
            | '\u{e0000}'..='\u{e007f}'   // tag characters
        )
}

/// Where the first unsafe character stands. Most text of a report is ASCII, which needs no decoding.
pub fn find_unsafe(text: &str) -> Option<usize> {
    if text.is_ascii() { text.bytes().position(|byte| byte.is_ascii_control()) } else { text.find(is_unsafe) }
}

/// `text` with every unsafe character written as an escape: `\n`, `\t`, `\x1b`, `\u{202e}`.
pub fn safe(text: &str) -> Cow<'_, str> {
    let Some(first) = find_unsafe(text) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        if is_unsafe(c) { escape(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// [`safe`] text of at most `chars_max` characters; what is cut off is replaced by `…`.
pub fn clip(text: &str, chars_max: usize) -> Cow<'_, str> {
    // Only as much as can be shown is escaped, so that a text of megabytes costs nothing.
    let cut = text.char_indices().nth(chars_max).map_or(text.len(), |(at, _)| at);
    let shown = safe(&text[..cut]);
    if cut == text.len() && shown.chars().count() <= chars_max {
        return shown;
    }
    let mut clipped: String = shown.chars().take(chars_max.saturating_sub(1)).collect();
    clipped.push('…');
    Cow::Owned(clipped)
}

/// The same of a place, whose end tells most: what is cut out of its middle is replaced by `…`.
pub fn clip_place(place: &str, chars_max: usize) -> Cow<'_, str> {
    let from_end = |chars: usize| place.char_indices().rev().nth(chars).map(|(at, c)| at + c.len_utf8());
    // What is escaped is longer than it was: as little as can be shown is looked at.
    let Some(_) = from_end(chars_max) else {
        let shown = safe(place);
        return if shown.chars().count() <= chars_max { shown } else { clip(place, chars_max) };
    };
    let head = chars_max / 4;
    let tail = from_end(chars_max.saturating_sub(head + 1)).unwrap_or(0);
    let tail = safe(&place[tail..]);
    let more = tail.chars().count().saturating_sub(chars_max.saturating_sub(head + 1));
    let tail: String = tail.chars().skip(more).collect();
    Cow::Owned(format!("{}{tail}", clip(place, head + 1)))
}

/// A line that a CI runner will not take for a command: one that begins with `::` or `##[` gets a backslash.
pub fn guard_line(line: &str) -> Cow<'_, str> {
    let start = line.trim_start();
    if start.starts_with("::") || start.starts_with("##[") {
        Cow::Owned(format!("\\{line}"))
    } else {
        Cow::Borrowed(line)
    }
}

fn escape(c: char, out: &mut String) {
    let written = match c {
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        c if (c as u32) < 0x80 => write!(out, "\\x{:02x}", c as u32),
        c => write!(out, "\\u{{{:x}}}", c as u32),
    };
    debug_assert!(written.is_ok(), "writing to a string does not fail");
}

/// How our own text is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Styles {
    /// Section headings.
    pub heading: Style,
    /// `accept`, and a gate that passed.
    pub good: Style,
    /// `flag`.
    pub warning: Style,
    /// `block`, and a gate that did not pass.
    pub bad: Style,
    /// What matters less.
    pub dim: Style,
}

impl Styles {
    /// No styles at all: the bytes are the text.
    pub fn plain() -> Styles {
        Styles::default()
    }

    /// The colours for terminals.
    pub fn colored() -> Styles {
        Styles {
            heading: Style::new().bold(),
            good: AnsiColor::Green.on_default(),
            warning: AnsiColor::Yellow.on_default(),
            bad: AnsiColor::Red.on_default().bold(),
            dim: Style::new().dimmed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(safe(text), expected);
    }

    #[test]
    fn what_acts_on_a_terminal_is_written_as_an_escape() {
        check("\u{1b}[2Jgone", "\\x1b[2Jgone");
        check("a\nb\r\tc\0", "a\\nb\\r\\tc\\x00");
        check("abc\u{202e}cba", "abc\\u{202e}cba");
        check("\u{9b}31m", "\\u{9b}31m");
        check("\u{7f}", "\\x7f");
        check("\u{e0041}\u{2066}\u{feff}\u{200b}", "\\u{e0041}\\u{2066}\\u{feff}\\u{200b}");
    }

    #[test]
    fn what_people_write_stays() {
        for text in ["", "plain", "naïve — “quoted”", "延迟为二十毫秒。", "👩‍👩‍👧", "می‌خواهم", "a\\nb"]
        {
            assert!(matches!(safe(text), Cow::Borrowed(kept) if kept == text), "{text}");
        }
    }

    #[test]
    fn clipping_counts_what_is_shown() {
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abcd", 3), "ab…");
        let path = format!("logs/{}/session-2026.jsonl:1234:2", "a".repeat(60));
        for (place, chars_max, expected) in [
            ("a.jsonl:7", 40, "a.jsonl:7"),
            (path.as_str(), 40, "logs/aaaaa…a/session-2026.jsonl:1234:2"),
            ("é/é/é/é/é/é.jsonl:17", 12, "é/é…jsonl:17"),
            ("\u{1b}\u{1b}/a.jsonl:17", 12, "\\x1…jsonl:17"),
        ] {
            let shown = clip_place(place, chars_max);
            assert!(shown.chars().count() <= chars_max && shown.ends_with(&expected[expected.len() - 8..]), "{shown}");
            assert!(shown.starts_with(&expected[..2]), "{shown}");
        }
        assert_eq!(clip("\u{1b}ab", 4), "\\x1…");
        assert_eq!(clip("äöü", 3), "äöü");
    }

    #[test]
    fn commands_to_a_ci_runner_are_guarded() {
        assert_eq!(guard_line("  ::error::x"), "\\  ::error::x");
        assert_eq!(guard_line("##[group]x"), "\\##[group]x");
        assert_eq!(guard_line("std::error::Error"), "std::error::Error");
    }

    proptest! {
        #[test]
        fn nothing_unsafe_is_left_and_a_second_pass_changes_nothing(text in "\\PC*|(?s:.*)", max in 1..40usize) {
            let shown = safe(&text).into_owned();
            prop_assert_eq!(find_unsafe(&text), text.find(is_unsafe));
            prop_assert!(!shown.contains(is_unsafe));
            prop_assert_eq!(safe(&shown), shown.as_str());
            let clipped = clip(&text, max);
            prop_assert!(clipped.chars().count() <= max && !clipped.contains(is_unsafe));
        }
    }
}
