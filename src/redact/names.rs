//! Names out of a log (ids, models, tools, sessions, labels, keys of objects) as a report may show them.
//!
//! A name stays what it is, so that a record can be found by it, except where a rule hits in it with a ratio of
//! [`RATIO_MIN`] or a proof: an address as a session, a key as an id. What was cut off is not known to be harmless: the
//! last word of a name that was cut goes with it.
//!
//! **Limits**: a weaker hit (a first name, seven digits) stays. [`NAME_BYTES_MAX`] bytes of a name are searched; what is
//! behind is not shown.

use std::{borrow::Cow, ops::Range};

use crate::{rules::Scanner, text::excerpt::REDACTED};

use super::is_private;

/// Hits below this do not take a name away.
pub const RATIO_MIN: f64 = 10.0;
/// Bytes of a name that are searched and shown.
pub const NAME_BYTES_MAX: usize = 16 << 10;
/// How names that were cut end.
const CUT: char = '…';

/// How names are shown.
#[derive(Clone, Copy)]
pub struct Names<'s> {
    /// `None` when everything may be shown.
    scanner: Option<&'s Scanner>,
}

impl<'s> Names<'s> {
    /// Without what the rules of `scanner` hit, unless `show_sensitive`.
    pub fn new(scanner: &'s Scanner, show_sensitive: bool) -> Names<'s> {
        Names { scanner: (!show_sensitive).then_some(scanner) }
    }

    /// Whether everything may be shown.
    pub fn shows_sensitive(&self) -> bool {
        self.scanner.is_none()
    }

    /// The name as it may be shown.
    pub fn shown<'t>(&self, name: &'t str) -> Cow<'t, str> {
        let Some(scanner) = self.scanner.filter(|_| !name.is_empty()) else { return Cow::Borrowed(name) };
        let searched = &name[..name.floor_char_boundary(NAME_BYTES_MAX)];
        let rule = |index| scanner.library().rule(index);
        let private = |text: &str| -> Vec<Range<usize>> {
            let hits = scanner.scan_output(text).hits.into_iter().filter(|hit| is_private(rule(hit.rule).family()));
            hits.filter(|hit| hit.is_proven || hit.likelihood_ratio >= RATIO_MIN).map(|hit| hit.span).collect()
        };
        let mut spans = private(searched);
        if searched.contains('/') {
            // Names are joined by slashes, and what stands beside a slash is part of a path to some rules.
            let mut start = 0;
            for part in searched.split('/') {
                spans.extend(private(part).into_iter().map(|span| start + span.start..start + span.end));
                start += part.len() + 1;
            }
        }
        if let Some(kept) = searched.strip_suffix(CUT) {
            let word = kept.rfind(char::is_whitespace).map_or(0, |at| at + 1);
            // A name of one word is cut short, not away.
            spans.push(kept.floor_char_boundary(word.max(kept.len() / 2))..kept.len());
        }
        if spans.is_empty() && searched.len() == name.len() {
            return Cow::Borrowed(name);
        }
        spans.sort_by_key(|span| span.start);
        let (mut out, mut at) = (String::new(), 0);
        for span in spans {
            if span.start >= at {
                out.push_str(&searched[at..span.start]);
                out.push_str(REDACTED);
            }
            at = at.max(span.end);
        }
        out.push_str(&searched[at..]);
        Cow::Owned(out)
    }

    /// Replaces `name` by what may be shown of it.
    pub fn hide(&self, name: &mut String) {
        if let Cow::Owned(shown) = self.shown(name) {
            *name = shown;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::rules::Library;

    #[test]
    fn addresses_and_keys_are_hidden_and_other_names_stay() {
        let scanner = Scanner::new(Library::built_in());
        let names = Names::new(&scanner, false);
        for name in
            ["req-0000017", "gpt-4o-2024-08-06", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "s 1", "", "get_weather"]
        {
            assert_eq!(names.shown(name), name);
        }
        assert_eq!(names.shown("chat/jo@example.org/1"), "chat/[redacted]/1");
        assert_eq!(names.shown("a secretkeythatwascu…"), "a secretke[redacted]…");
        assert_eq!(Names::new(&scanner, true).shown("jo@example.org"), "jo@example.org");
    }

    proptest! {
        #[test]
        fn any_name_is_shown_without_harm(before in "[a-z …/]{0,20}", behind in "[ …/][a-z ]{0,20}") {
            static SCANNER: LazyLock<Scanner> = LazyLock::new(|| Scanner::new(Library::built_in()));
            let name = format!("{before} jo@example.org{behind}");
            prop_assert!(!Names::new(&SCANNER, false).shown(&name).contains("jo@example.org"), "{}", name);
        }
    }
}
