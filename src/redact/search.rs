//! One string or number of a log → what of it is to be replaced.
//!
//! A text is searched as audits search it: behind the name of its field, alone, and in its decoded views. A string that
//! holds JSON is also opened: its strings and numbers are searched behind *their* names, and so on, [`OPENED_MAX`] deep.
//! What was hit in the string as a whole is cut at the marks of the JSON in it, so that it stays JSON.
//!
//! **What stays**: the log's own clock, without which nobody could audit what comes out: a value that is nothing but a
//! moment, behind a name for one (`timestamp`, `created_at`, `startTimeUnixNano`). A bare number behind the name of a
//! count, an id or a size is no personal number, whatever its check digit.
//!
//! **Limits**: JSON that is cut off, or stands in a sentence, is searched as text.

use std::{borrow::Cow, cmp::Ordering, ops::Range};

use super::{
    Selection,
    tokens::{Decoded, Kind, Lexer, Line, Token, decoded},
};
use crate::{
    rules::{Family, Hit, Scanner, check::placeholder::is_redacted, scanner::ALONE_BYTES_MAX},
    text::decode,
};

/// Strings that hold JSON inside of each other that are opened. Each level doubles the backslashes of the one within.
pub(super) const OPENED_MAX: usize = 6;
/// Places of a line of text at which its JSON may begin.
const BEGINNINGS_MAX: usize = 8;

/// A place that is to be replaced.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    /// Its bytes.
    pub span: Range<usize>,
    /// The rule.
    pub rule: usize,
    /// What stands there, decoded.
    pub value: String,
    /// What it is part of.
    pub kind: Kind,
    /// Strings of JSON around it.
    pub depth: usize,
    strength: (bool, f64),
}

/// What was found in one text.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// In order; they do not overlap.
    pub places: Vec<Place>,
    /// Whether a limit kept part of it from being searched.
    pub is_capped: bool,
}

/// What is known of a token from the text around it.
#[derive(Clone, Copy, Debug, Default)]
struct Around<'a> {
    /// The name behind which it stands.
    name: Option<&'a str>,
    /// What was found there, in order.
    places: &'a [Place],
    /// Strings of JSON around it.
    depth: usize,
}

/// Looks for what the rules of a selection hit.
pub(super) struct Search<'s> {
    pub scanner: &'s Scanner,
    pub selection: &'s Selection,
}

impl Search<'_> {
    /// What is to be replaced in one token of `bytes`.
    pub fn token(&self, bytes: &[u8], token: &Token) -> Found {
        let mut found = Found::default();
        found.places = self.in_token(bytes, token, &Around::default(), &mut found.is_capped);
        found
    }

    /// The same, with the spans as bytes of `bytes`.
    fn in_token(&self, bytes: &[u8], token: &Token, around: &Around<'_>, is_capped: &mut bool) -> Vec<Place> {
        let decoded = decoded(&bytes[token.raw.clone()], token.kind);
        let name = token.name.as_deref().or(around.name).filter(|_| token.kind != Kind::Key);
        let within = parts_of(around, token, &decoded);
        let around = Around { name, places: &within, depth: around.depth };
        let mut places = self.in_text(&decoded.text, token.kind, &around, is_capped);
        if token.kind == Kind::Number {
            places.truncate(1);
        }
        for place in &mut places {
            let span = decoded.raw(place.span.start)..decoded.raw(place.span.end);
            place.span = token.raw.start + span.start..token.raw.start + span.end;
            if token.kind == Kind::Number {
                place.span = token.raw.clone();
            }
        }
        places
    }

    fn in_text(&self, text: &str, kind: Kind, around: &Around<'_>, is_capped: &mut bool) -> Vec<Place> {
        let Around { name, depth, .. } = *around;
        if is_clock(name, text) {
            return Vec::new();
        }
        let mut places = self.as_it_stands(text, kind, name, depth, is_capped);
        if !around.places.is_empty() {
            places.extend_from_slice(around.places);
            places = joined(places, text);
        }
        if depth == OPENED_MAX || !matches!(kind, Kind::String | Kind::Text) {
            return places;
        }
        let Some(tokens) = opened(text, kind) else { return places };
        // A line of text is no string: what it holds needs no escapes.
        let depth = if kind == Kind::Text { depth } else { depth + 1 };
        let around = Around { name, places: &places, depth };
        let inside = tokens.iter().map(|token| self.in_token(text.as_bytes(), token, &around, is_capped));
        let mut inside: Vec<Place> = inside.flatten().collect();
        if kind == Kind::Text {
            let json = tokens.first().map_or(text.len(), |token| token.raw.start);
            inside.splice(..0, places.into_iter().filter(|place| place.span.end < json));
        }
        inside
    }

    /// What the rules hit in a text, behind its name, alone and in its decoded views.
    fn as_it_stands(
        &self,
        own: &str,
        kind: Kind,
        name: Option<&str>,
        depth: usize,
        is_capped: &mut bool,
    ) -> Vec<Place> {
        let (text, prefix) = match name {
            Some(name) => (Cow::Owned(format!("{name}: {own}")), name.len() + 2),
            None => (Cow::Borrowed(own), 0),
        };
        let mut hits = Vec::new();
        *is_capped |= self.search(&text, 0, &mut hits);
        if prefix > 0 && self.needs_no_name(own, kind, name) {
            *is_capped |= self.search(own, prefix, &mut hits);
        }
        let views = decode::views(&text);
        *is_capped |= views.is_capped;
        for view in &views.views {
            let mut inside = Vec::new();
            *is_capped |= self.search(&view.text, 0, &mut inside);
            for (hit, _) in inside {
                let value = view.text.get(hit.span.clone()).unwrap_or_default().to_owned();
                hits.push((Hit { span: view.original(hit.span.clone()), ..hit }, Some(value)));
            }
        }
        let in_value = hits.into_iter().filter(|(hit, _)| hit.span.end > prefix && hit.span.end <= text.len());
        let places = in_value.map(|(hit, value)| {
            let span = between_escapes(own, hit.span.start.max(prefix) - prefix..hit.span.end - prefix);
            let value = value.unwrap_or_else(|| own.get(span.clone()).unwrap_or_default().to_owned());
            Place { span, rule: hit.rule, value, kind, depth, strength: (hit.is_proven, hit.likelihood_ratio) }
        });
        let mut places = joined(places.collect(), own);
        self.take_tails(own, &mut places);
        places
    }

    /// Whether the text is also searched without the name of its field: where a value that is all of the text needs no
    /// word beside it, and where the name may keep a rule silent.
    fn needs_no_name(&self, own: &str, kind: Kind, name: Option<&str>) -> bool {
        let name = name.unwrap_or_default();
        let is_short = own.len() <= ALONE_BYTES_MAX;
        match kind {
            Kind::Number => is_short && RESULT_NAMES.contains(&name),
            _ if is_of_books(name) => false,
            _ => is_short || self.scanner.may_silence(name),
        }
    }

    /// A secret goes to its end, also where the pattern of its rule knows a shorter form: half a key is no key taken out.
    fn take_tails(&self, text: &str, places: &mut Vec<Place>) {
        let mut last_end = 0;
        places.retain_mut(|place| {
            if place.span.end <= last_end {
                return false;
            }
            place.span.start = place.span.start.max(last_end);
            if self.scanner.library().rule(place.rule).family() == Family::Secret {
                place.span.end = end_of_secret(text, &place.span);
            }
            last_end = place.span.end;
            true
        });
    }

    /// All hits in `text`, however many there are: a scan that reached a limit is done again in halves. Whether a limit was
    /// reached all the same.
    fn search(&self, text: &str, offset: usize, hits: &mut Vec<(Hit, Option<String>)>) -> bool {
        /// Bytes that both halves see, so that nothing is cut in two.
        const OVERLAP_BYTES: usize = 512;
        let scan = self.scanner.scan(text);
        let wanted = scan.hits.into_iter().filter(|hit| self.selection.takes(self.scanner, hit));
        hits.extend(wanted.map(|hit| (Hit { span: hit.span.start + offset..hit.span.end + offset, ..hit }, None)));
        if !scan.is_capped {
            return false;
        }
        if text.len() <= 4 * OVERLAP_BYTES {
            return true;
        }
        let middle = text.len() / 2;
        let first_end = text.ceil_char_boundary(middle + OVERLAP_BYTES / 2);
        let second_start = text.floor_char_boundary(middle - OVERLAP_BYTES / 2);
        let first = self.search(&text[..first_end], offset, hits);
        self.search(&text[second_start..], offset + second_start, hits) | first
    }
}

/// Names behind which a bare number may be all that a call gave back.
const RESULT_NAMES: [&str; 6] = ["result", "results", "output", "response", "return", "content"];

/// Last words of the names of what logs count, measure and number.
const WORDS_OF_BOOKS: [&str; 47] = [
    "id",
    "ids",
    "uid",
    "uuid",
    "guid",
    "ulid",
    "hash",
    "digest",
    "checksum",
    "etag",
    "sha",
    "sha256",
    "commit",
    "fingerprint",
    "trace",
    "span",
    "tokens",
    "count",
    "counts",
    "total",
    "size",
    "bytes",
    "length",
    "ms",
    "ns",
    "us",
    "nano",
    "nanos",
    "seconds",
    "secs",
    "duration",
    "latency",
    "elapsed",
    "timestamp",
    "ts",
    "time",
    "index",
    "idx",
    "offset",
    "line",
    "seed",
    "version",
    "port",
    "created",
    "updated",
    "cost",
    "price",
];

/// Whether `name` is that of a count, a measure, an id or a time.
fn is_of_books(name: &str) -> bool {
    let start = name.char_indices().rev().find_map(|(at, c)| match c {
        _ if !c.is_ascii_alphanumeric() => Some(at + c.len_utf8()),
        'A'..='Z' if name[..at].ends_with(|before: char| before.is_ascii_lowercase()) => Some(at),
        _ => None,
    });
    let last = name.get(start.unwrap_or(0)..).unwrap_or_default();
    WORDS_OF_BOOKS.iter().any(|word| word.eq_ignore_ascii_case(last))
}

/// Names of the fields in which logs keep their own times, in letters and digits.
const CLOCK_NAMES: [&str; 17] = [
    "timestamp",
    "time",
    "ts",
    "created",
    "createdat",
    "updatedat",
    "starttime",
    "endtime",
    "startedat",
    "endedat",
    "completedat",
    "completionstarttime",
    "datetime",
    "starttimeunixnano",
    "endtimeunixnano",
    "timeunixnano",
    "observedtimeunixnano",
];

/// Whether `value`, behind `name`, is the log's own clock.
fn is_clock(name: Option<&str>, value: &str) -> bool {
    /// From 2001 to 2096 in seconds since the epoch.
    const EPOCH_SECONDS: Range<f64> = 1e9..4e9;
    let Some(name) = name else { return false };
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    if !CLOCK_NAMES.contains(&plain.to_ascii_lowercase().as_str()) {
        return false;
    }
    let is_epoch = |number: f64| [1.0, 1e3, 1e6, 1e9].iter().any(|unit| EPOCH_SECONDS.contains(&(number / unit)));
    match value.parse::<f64>() {
        Ok(number) => is_epoch(number),
        Err(_) => value.parse::<jiff::Timestamp>().is_ok() || value.parse::<jiff::civil::DateTime>().is_ok(),
    }
}

/// The strings and numbers of the JSON that `text` is; of a line of text, of the JSON that it ends with.
fn opened(text: &str, kind: Kind) -> Option<Vec<Token>> {
    let of = |from: usize| {
        let mut lexer = Lexer::default();
        let mut tokens = Vec::new();
        let line = lexer.line(text.as_bytes(), from..text.len(), &mut tokens);
        (line == Line::Json && !lexer.is_open() && !tokens.is_empty()).then_some(tokens)
    };
    if kind == Kind::Text {
        return text.match_indices(['{', '[']).take(BEGINNINGS_MAX).find_map(|(at, _)| of(at));
    }
    text.trim_ascii_start().starts_with(['{', '[', '"']).then(|| of(0)).flatten()
}

/// What of the places that were found in the text around lies in this token; the spans count in what it says, and hold no
/// half of an escape. What goes on behind the token is in the strings on its way, not in the names and numbers between.
fn parts_of(around: &Around<'_>, token: &Token, decoded: &Decoded<'_>) -> Vec<Place> {
    let Around { places, depth, .. } = *around;
    let first = places.partition_point(|place| place.span.end <= token.raw.start);
    let mine = places[first..].iter().take_while(|place| place.span.start < token.raw.end);
    let is_within = |place: &Place| token.raw.start <= place.span.start && place.span.end <= token.raw.end;
    let mine = mine.filter(|place| token.kind == Kind::String || is_within(place));
    let parts = mine.map(|place| {
        let start = place.span.start.max(token.raw.start) - token.raw.start;
        let end = place.span.end.min(token.raw.end) - token.raw.start;
        let (start, end) = (decoded.text_from(start), decoded.text_to(end));
        let span = start..end.max(start);
        let value = decoded.text.get(span.clone()).unwrap_or_default().to_owned();
        Place { span, value, kind: token.kind, depth, ..place.clone() }
    });
    parts.filter(|place| !place.span.is_empty()).collect()
}

/// Where the run of characters ends that a secret at `span` is part of; of a PEM block, its last line.
fn end_of_secret(text: &str, span: &Range<usize>) -> usize {
    let is_of_key = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '/' | '=');
    let is_block = text[span.clone()].starts_with("-----BEGIN");
    let is_part = |c: &char| is_of_key(c) || is_block && c.is_ascii_whitespace();
    let last = text[..span.end].chars().next_back();
    if !last.is_some_and(|last| is_part(&last)) {
        return span.end;
    }
    let tail: usize = text[span.end..].chars().take_while(is_part).map(char::len_utf8).sum();
    span.end + text[span.end..span.end + tail].trim_end().len()
}

/// Places that overlap as one, of the strongest rule; in order.
fn joined(mut places: Vec<Place>, text: &str) -> Vec<Place> {
    places.sort_by_key(|place| (place.span.start, place.span.end, place.rule));
    let mut groups: Vec<(Range<usize>, Place)> = Vec::new();
    for place in places {
        match groups.last_mut() {
            Some((span, strongest)) if place.span.start < span.end => {
                span.end = span.end.max(place.span.end);
                if by_strength(&place, strongest) == Ordering::Greater {
                    *strongest = place;
                }
            }
            _ => groups.push((place.span.clone(), place)),
        }
    }
    let found = groups.into_iter().filter_map(|(span, mut strongest)| {
        if strongest.span != span {
            strongest.value = text.get(span.clone()).unwrap_or_default().to_owned();
        }
        strongest.span = span;
        (!strongest.span.is_empty() && !is_redacted(text, &strongest.span)).then_some(strongest)
    });
    found.collect()
}

/// What is certain, then the larger ratio, then the longer.
fn by_strength(a: &Place, b: &Place) -> Ordering {
    let order = |place: &Place| (place.strength, place.span.len());
    order(a).partial_cmp(&order(b)).unwrap_or(Ordering::Equal)
}

/// `span` without the tail of an escape in front (`\n`, `\u00e9`) and without the backslash of one behind: a string often
/// holds JSON that is cut off, which must not get worse.
fn between_escapes(text: &str, mut span: Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let is_odd = |end: usize| bytes[..end].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
    if is_odd(span.start) {
        span.start += match bytes.get(span.start) {
            Some(b'u')
                if bytes
                    .get(span.start + 1..span.start + 5)
                    .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) =>
            {
                5
            }
            Some(b'n' | b'r' | b't' | b'b' | b'f' | b'"' | b'\\' | b'/') => 1,
            _ => 0,
        };
    }
    if span.start < span.end && is_odd(span.end) && bytes[span.end - 1] == b'\\' {
        span.end -= 1;
    }
    span.start.min(span.end)..span.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_ids_and_times_are_of_books() {
        for name in ["id", "request_id", "traceId", "total_tokens", "latency_ms", "startTimeUnixNano", "count"] {
            assert!(is_of_books(name), "{name}");
        }
        for name in ["", "content", "phone", "paid", "identity", "é", "answer"] {
            assert!(!is_of_books(name), "{name}");
        }
    }

    #[test]
    fn json_is_opened_where_all_of_it_is() {
        let texts = |text: &str, kind| {
            opened(text, kind).map(|tokens| tokens.into_iter().map(|token| text[token.raw].to_owned()).collect())
        };
        let some = |texts: &[&str]| Some(texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        assert_eq!(texts(r#" {"a": "b"} "#, Kind::String), some(&["a", "b"]));
        assert_eq!(texts(r#"{"a": 1}{"a": 2}"#, Kind::String), some(&["a", "1", "a", "2"]));
        for text in [r#"{"a": "b""#, "{a}", "[]", "hi {\"a\": 1}", "12", ""] {
            assert_eq!(texts(text, Kind::String), None, "{text}");
        }
        assert_eq!(texts("INFO [x] {\"a\": 1}\n", Kind::Text), some(&["a", "1"]));
        assert_eq!(texts("INFO [x] done", Kind::Text), None);
    }
}
