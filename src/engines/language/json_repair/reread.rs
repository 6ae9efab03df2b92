//! The last step: JSON is read as a person reads it, and what is missing is put in as it goes.
//!
//! **Formula**: one pass from left to right. Between tokens are blanks of all kinds, comments, `...` and fences. Then
//!
//! - a missing comma or colon is put in, and one too many left out
//! - a value that is missing is null; `True`, `None`, `undefined` and their like are read as what they mean
//! - a value without quotes is a text up to the next comma, bracket or line break; `name(value)` is the value
//! - any kind of quotes opens a text; a quote ends it where JSON could go on behind it, else it is part of the text
//! - a text whose end quote is missing ends before the next text, or with the input, without the brackets there
//! - texts joined by `+` are one; brackets are closed in the order in which they were opened
//! - several values are the items of one array, and `(1, 2)` is an array
//!
//! **Source**: ours. What two libraries that mend JSON, `json_repair` and `jsonrepair`, agree on was the guide;
//! where they do not, what a model is likely to have meant.
//!
//! **Limits**: [`DEPTH_MAX`] levels, else nothing is read; whether a quote ends a text is told from the next
//! [`LOOKAHEAD_BYTES`]. What was meant stays a guess.

use serde_json::{Map, Number, Value};

use super::{Change, Step};

/// Levels of brackets that are read.
pub const DEPTH_MAX: usize = 127;
/// Bytes of a key; one whose end quote is missing ends before its colon.
pub const KEY_BYTES_MAX: usize = 1_024;
/// Bytes behind a quote that are looked at.
pub const LOOKAHEAD_BYTES: usize = 256;

/// Reads `text`, which stands at `offset`, and says what was changed. `None` where no object and no array is in it.
pub fn reread(text: &str, offset: usize) -> Option<(Value, Vec<Change>)> {
    let mut reader = Reader { text, at: 0, offset, open: Vec::new(), changes: Vec::new() };
    let mut values = Vec::new();
    loop {
        reader.gap();
        match reader.peek() {
            None => break,
            Some('{' | '[' | '(') => values.push(reader.value()?),
            // A name before a bracket is a call; other texts between values are none.
            Some(_) if reader.is_call() => values.push(reader.value()?),
            Some(character) => reader.leave_out(identifier(reader.rest()).max(character.len_utf8())),
        }
    }
    let value = if values.len() > 1 { Value::Array(values) } else { values.pop()? };
    Some((value, reader.changes))
}

/// Where a text stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Key,
    Member,
    Item,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    offset: usize,
    /// The closing brackets that are still to come, outermost first.
    open: Vec<char>,
    changes: Vec<Change>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn change(&mut self, at: usize, removed_bytes: usize, inserted: &str) {
        let offset = self.offset + at;
        self.changes.push(Change { step: Step::Reread, offset, removed_bytes, inserted: inserted.to_owned() });
    }

    fn insert(&mut self, what: &str) {
        self.change(self.at, 0, what);
    }

    fn leave_out(&mut self, bytes: usize) {
        self.change(self.at, bytes, "");
        self.at += bytes;
    }

    /// Goes to the next token.
    fn gap(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            self.at += blank;
            let noise = noise(self.rest());
            if noise > 0 {
                self.leave_out(noise);
            } else if blank == 0 {
                return;
            }
        }
    }

    fn is_call(&self) -> bool {
        let name = identifier(self.rest());
        name > 0 && self.rest()[name..].trim_start_matches(' ').starts_with('(')
    }

    fn value(&mut self) -> Option<Value> {
        let place = if self.open.last() == Some(&'}') { Place::Member } else { Place::Item };
        match self.peek() {
            Some('{') => self.object(),
            Some('[') => self.array(']'),
            Some('(') => self.array(')'),
            Some(_) if quote(self.rest()).is_some() => Some(Value::String(self.joined_text(place))),
            Some('-' | '.' | '0'..='9') => Some(self.number(place)),
            Some(',' | ';' | '}' | ']' | ')') | None => {
                self.insert("null");
                Some(Value::Null)
            }
            Some(_) if self.is_call() => {
                self.leave_out(self.rest().find('(').unwrap_or_default());
                self.array(')')
            }
            Some(_) => Some(self.word(place)),
        }
    }

    fn begin(&mut self, close: char) -> Option<()> {
        self.at += 1;
        self.open.push(close);
        (self.open.len() <= DEPTH_MAX).then_some(())
    }

    /// Whether the innermost bracket ends here; goes behind its end.
    fn ends(&mut self) -> bool {
        let Some(close) = self.open.last().copied() else { return true };
        match self.peek() {
            None => self.insert(&close.to_string()),
            Some(character) if character == close => self.at += 1,
            // The end of an outer bracket ends the inner one too.
            Some(character @ ('}' | ']' | ')')) if self.open.contains(&character) => self.insert(&close.to_string()),
            Some('}' | ']') => {
                self.change(self.at, 1, &close.to_string());
                self.at += 1;
            }
            Some(_) => return false,
        }
        self.open.pop();
        true
    }

    /// Goes behind the commas before a member or an item; there should be one, and none before the first.
    fn commas(&mut self, is_first: bool) {
        let mut wanted = usize::from(!is_first);
        self.gap();
        while let Some(',' | ';') = self.peek() {
            if wanted > 0 && self.peek() == Some(',') {
                self.at += 1;
            } else {
                self.leave_out(1);
            }
            wanted = 0;
            self.gap();
        }
        if wanted > 0 && !matches!(self.peek(), None | Some('}' | ']' | ')')) {
            self.insert(",");
        }
    }

    fn object(&mut self) -> Option<Value> {
        self.begin('}')?;
        let mut members = Map::new();
        let mut last: Option<String> = None;
        loop {
            self.commas(last.is_none());
            if self.ends() {
                return Some(Value::Object(members));
            }
            match self.peek() {
                // A template's doubled brace, or one that says nothing.
                Some('{' | ')') => self.leave_out(1),
                // An array without a key goes on with the one before.
                Some('[') => {
                    let more = self.array(']')?;
                    let before = last.as_ref().and_then(|key| members.get_mut(key)).and_then(Value::as_array_mut);
                    if let (Some(before), Value::Array(more)) = (before, more) {
                        before.extend(more);
                    }
                }
                _ => last = self.member(&mut members)?.or(last),
            }
        }
    }

    /// Reads a key and its value, and gives the key; a word that is no key is left out.
    fn member(&mut self, members: &mut Map<String, Value>) -> Option<Option<String>> {
        let start = self.at;
        let key = if quote(self.rest()).is_some() { self.quoted(Place::Key) } else { self.bare_key() };
        if self.at == start {
            self.leave_out(self.peek().map_or(0, char::len_utf8));
            return Some(None);
        }
        self.gap();
        match self.peek() {
            Some(':') => self.at += 1,
            Some('=') => {
                let length = self.rest().find(|c| !matches!(c, '=' | '>')).unwrap_or(self.rest().len());
                self.change(self.at, length, ":");
                self.at += length;
            }
            // Two keys in a row: the first one was none.
            Some(_) if quote(&self.text[start..]).is_none() && is_key(self.rest()) => {
                self.change(start, self.at - start, "");
                return Some(None);
            }
            _ => self.insert(":"),
        }
        self.gap();
        let value = self.value()?;
        members.insert(key.clone(), value);
        Some(Some(key))
    }

    fn array(&mut self, close: char) -> Option<Value> {
        let start = self.at;
        self.begin(close)?;
        let mut items = Vec::new();
        let mut commas = 0;
        loop {
            let before = self.at;
            self.commas(items.is_empty());
            commas += self.text[before..self.at].matches(',').count();
            if self.ends() {
                break;
            }
            let before = self.at;
            let item = self.value()?;
            self.gap();
            let item = match item {
                Value::String(key) if self.peek() == Some(':') => self.members_of_item(before, key)?,
                item => item,
            };
            items.push(item);
            if self.at == before {
                self.leave_out(self.peek().map_or(0, char::len_utf8));
            }
        }
        if close != ')' {
            return Some(Value::Array(items));
        }
        self.change(start, 1, "[");
        // (1) is 1, and (1,) is not.
        Some(if items.len() == 1 && commas == 0 { items.swap_remove(0) } else { Value::Array(items) })
    }

    /// An object whose brackets are missing, as an item: `["key": 1]`.
    fn members_of_item(&mut self, start: usize, first: String) -> Option<Value> {
        self.change(start, 0, "{");
        let mut members = Map::new();
        let mut key = first;
        loop {
            self.at += 1;
            self.gap();
            let value = self.value()?;
            members.insert(key, value);
            self.gap();
            let comma = usize::from(self.peek() == Some(','));
            if !is_key(self.rest()[comma..].trim_start()) {
                self.insert("}");
                return Some(Value::Object(members));
            }
            self.at += comma;
            self.gap();
            key = if quote(self.rest()).is_some() { self.quoted(Place::Key) } else { self.bare_key() };
            self.gap();
            if self.peek() != Some(':') {
                return Some(Value::Object(members));
            }
        }
    }

    fn bare_key(&mut self) -> String {
        let rest = self.rest();
        let end = rest.find([':', ',', '{', '}', '[', ']', '"', '\n', '=']).unwrap_or(rest.len());
        let key = rest[..end].trim_end();
        self.change(self.at, 0, "\"");
        self.change(self.at + key.len(), 0, "\"");
        self.at += end;
        // A quote that ends what none began.
        if self.rest().starts_with("\":") {
            self.at += 1;
        }
        key.to_owned()
    }

    /// A number, or what begins like one.
    fn number(&mut self, place: Place) -> Value {
        let rest = self.rest();
        let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '{' | '}' | '[' | ']' | ')' | '"');
        let written = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let sign = if written.starts_with('-') { "-" } else { "" };
        let digits = written[sign.len()..].trim_end_matches(['e', 'E', '+', '-', '.']);
        let zero = if digits.starts_with('.') { "0" } else { "" };
        let mended = format!("{sign}{zero}{digits}");
        let next = rest[written.len()..].trim_start_matches([' ', '\t']).chars().next();
        let goes_on = matches!(next, Some(c) if c.is_alphabetic());
        if digits.is_empty() && !goes_on {
            self.change(self.at, written.len(), "null");
            self.at += written.len();
            return Value::Null;
        }
        match serde_json::from_str::<Number>(&mended) {
            Ok(number) if !goes_on || place == Place::Item => {
                if mended != written {
                    self.change(self.at, written.len(), &mended);
                }
                self.at += written.len();
                if self.rest().starts_with('"') && !is_key(self.rest()) && !opens_text(self.rest()) {
                    self.leave_out(1);
                }
                Value::Number(number)
            }
            _ => self.word(place),
        }
    }

    /// A value without quotes.
    fn word(&mut self, place: Place) -> Value {
        let rest = self.rest();
        let mut inner = 0usize;
        let mut end = rest.len();
        for (at, character) in rest.char_indices() {
            let behind = &rest[at + character.len_utf8()..];
            match character {
                '{' if place == Place::Item && is_key(behind.trim_start()) => end = at,
                '{' | '[' => inner += 1,
                '}' | ']' if inner > 0 => inner -= 1,
                '\n' | '}' | ']' => end = at,
                ',' if inner == 0 => end = at,
                ')' if self.open.last() == Some(&')') => end = at,
                '"' if goes_on(behind) || place == Place::Member && is_key(&rest[at..]) => end = at,
                '/' if at > 0 && rest[..at].ends_with(' ') && noise(&rest[at..]) > 0 => end = at,
                _ => continue,
            }
            if end == at {
                break;
            }
        }
        let said = rest[..end].trim_end();
        let start = self.at;
        self.at += end;
        if self.rest().starts_with('"') && !is_key(self.rest()) {
            self.at += 1;
        }
        let literal = match said {
            "true" | "True" | "TRUE" => Some(("true", Value::Bool(true))),
            "false" | "False" | "FALSE" => Some(("false", Value::Bool(false))),
            "null" | "None" | "Null" | "NULL" | "undefined" | "NaN" | "nil" => Some(("null", Value::Null)),
            _ => None,
        };
        match literal {
            Some((meant, value)) => {
                if meant != said {
                    self.change(start, said.len(), meant);
                }
                value
            }
            None => {
                self.change(start, 0, "\"");
                self.change(start + said.len(), 0, "\"");
                Value::String(said.to_owned())
            }
        }
    }

    /// A text, with what `+` joins to it.
    fn joined_text(&mut self, place: Place) -> String {
        let mut text = self.quoted(place);
        loop {
            let (at, changes) = (self.at, self.changes.len());
            self.gap();
            let behind = self.rest().strip_prefix('+').map(str::trim_start);
            if behind.is_none_or(|behind| quote(behind).is_none()) {
                self.at = at;
                self.changes.truncate(changes);
                return text;
            }
            self.leave_out(1);
            self.gap();
            text.push_str(&self.quoted(place));
        }
    }

    /// A text in quotes of any kind.
    fn quoted(&mut self, place: Place) -> String {
        let Some(Quote { open, close, is_usual }) = quote(self.rest()) else { return String::new() };
        let start = self.at;
        self.at += open;
        // ""twice"", but not an empty text.
        let doubled = is_usual
            && self.rest().strip_prefix(close).is_some_and(|rest| {
                rest.starts_with(|c: char| c.is_alphanumeric()) && head(rest).contains(&close.repeat(2))
            });
        if doubled {
            self.change(self.at, 1, "");
            self.at += 1;
        }
        if !is_usual {
            self.change(start, open, "\"");
        }
        let (begin, changes) = (self.at, self.changes.len());
        let mut said = String::new();
        let mut has_escape = false;
        loop {
            let rest = self.rest();
            if rest.is_empty() || place == Place::Key && self.at - begin >= KEY_BYTES_MAX {
                // What was changed on the way belongs to what follows.
                self.changes.truncate(changes);
                self.cut_off(place, begin, has_escape, &mut said);
                return said;
            }
            if let Some(behind) = rest.strip_prefix(close) {
                if self.closes(place, behind) || doubled && behind.starts_with(close) {
                    if !is_usual {
                        self.change(self.at, close.len(), "\"");
                    }
                    self.at += close.len();
                    if doubled && self.rest().starts_with(close) {
                        self.leave_out(close.len());
                    }
                    return said;
                }
                if let Some(length) = self.ended_before(place, begin, rest).filter(|_| !has_escape) {
                    self.at = begin + length;
                    said.truncate(length);
                    self.insert("\"");
                    return said;
                }
                self.change(self.at, 0, "\\");
                said.push_str(close);
                self.at += close.len();
                continue;
            }
            has_escape |= rest.starts_with('\\');
            self.character(close, &mut said);
        }
    }

    /// One character of a text, its escape resolved.
    fn character(&mut self, close: &str, said: &mut String) {
        let rest = self.rest();
        let Some(character) = rest.chars().next() else { return };
        if character != '\\' || close.starts_with('\\') {
            if character < ' ' {
                self.change(self.at, 1, "\\n");
            }
            said.push(character);
            self.at += character.len_utf8();
            return;
        }
        let Some(escaped) = rest[1..].chars().next() else {
            self.at += 1;
            return;
        };
        self.at += 1 + escaped.len_utf8();
        match escaped {
            'n' => said.push('\n'),
            't' => said.push('\t'),
            'r' => said.push('\r'),
            'b' => said.push('\u{8}'),
            'f' => said.push('\u{c}'),
            'u' => self.unicode(said),
            '"' | '\\' | '/' => said.push(escaped),
            _ => {
                let at = self.at - 1 - escaped.len_utf8();
                self.change(at, 1, "");
                said.push(escaped);
            }
        }
    }

    /// The four digits behind `\u`, and those of the second half of a pair.
    fn unicode(&mut self, said: &mut String) {
        let unit = |text: &str| text.get(..4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let Some(first) = unit(self.rest()) else {
            // Cut off in the middle.
            let length = self.rest().bytes().take(3).take_while(u8::is_ascii_hexdigit).count();
            self.leave_out(length);
            return;
        };
        self.at += 4;
        let second = self.rest().strip_prefix("\\u").and_then(unit);
        let pair = [Some(first), second];
        let decoded = char::decode_utf16(pair.into_iter().flatten()).next();
        match decoded {
            Some(Ok(character)) => {
                if character.len_utf16() == 2 {
                    self.at += 6;
                }
                said.push(character);
            }
            _ => said.push(char::REPLACEMENT_CHARACTER),
        }
    }

    /// Whether a quote ends the text of which `behind` is what follows.
    fn closes(&self, place: Place, behind: &str) -> bool {
        let behind = head(behind);
        let next = behind.trim_start();
        let blank = &behind[..behind.len() - next.len()];
        let Some(first) = next.chars().next() else { return true };
        match (place, first) {
            (Place::Key, ':' | '}' | ',' | '=') => true,
            (Place::Key, '0'..='9' | '{' | '[' | '"' | '\'' | '\u{201c}') => true,
            (Place::Key, _) => !blank.is_empty() && !next.contains("\":"),
            (_, '}' | ']') => true,
            (_, ')') => self.open.last() == Some(&')'),
            (Place::Item, ',' | ':') => true,
            (Place::Member, ',') => {
                let after = next[1..].trim_start();
                let is_end = after.starts_with(['}', ']', ',']) || after.is_empty() || noise(after) > 0;
                is_end || is_key(after) || after.starts_with(['{', '['])
            }
            (_, '+') => quote(next[1..].trim_start()).is_some(),
            (_, '/') => noise(next) > 0,
            _ if blank.contains('\n') => true,
            (Place::Member, _) => !blank.is_empty() && is_key(next),
            (_, '"' | '\'') => !blank.is_empty(),
            (Place::Item, '0'..='9' | '{' | '[') => !blank.is_empty(),
            _ => false,
        }
    }

    /// The length of what was said, where the quote at the head of `rest` opens the next text, and the end quote of
    /// this one is missing. Escapes make the said text shorter than the raw one; such a text is left as it is.
    fn ended_before(&self, place: Place, begin: usize, rest: &str) -> Option<usize> {
        let raw = &self.text[begin..self.at];
        let said = raw.trim_end();
        let mark = if place == Place::Key { ':' } else { ',' };
        let is_parted = said.ends_with(mark) || place != Place::Key && raw[said.len()..].contains('\n');
        let is_next = match place {
            Place::Key => true,
            Place::Member => is_key(rest),
            Place::Item => opens_text(rest),
        };
        if !is_parted || !is_next {
            return None;
        }
        let length = said.strip_suffix(mark).unwrap_or(said).trim_end().len();
        Some(length)
    }

    /// The text goes on to the end of the input.
    fn cut_off(&mut self, place: Place, begin: usize, has_escape: bool, said: &mut String) {
        let raw = &self.text[begin..self.at];
        let end = match (place, raw.find(':')) {
            (Place::Key, Some(colon)) => colon,
            (Place::Key, None) => raw.len(),
            // Brackets at the end are those that are open.
            _ => {
                let mut kept = raw.trim_end();
                for close in self.open.iter().rev() {
                    kept = kept.strip_suffix(*close).unwrap_or(kept).trim_end();
                }
                if kept.len() < raw.trim_end().len() { kept.trim_end_matches(',').len() } else { raw.len() }
            }
        };
        if end < raw.len() && !has_escape {
            said.truncate(end);
            self.at = begin + end;
        }
        self.insert("\"");
    }
}

/// A kind of quotes.
struct Quote {
    /// Bytes of the opening one.
    open: usize,
    close: &'static str,
    /// Whether JSON has it.
    is_usual: bool,
}

/// The quote at the head of `text`.
fn quote(text: &str) -> Option<Quote> {
    let (open, close) = match text.chars().next()? {
        '"' => (1, "\""),
        '\'' => (1, "'"),
        '`' => (1, "`"),
        '\u{201c}' | '\u{201d}' => (3, "\u{201d}"),
        '\u{2018}' | '\u{2019}' => (3, "\u{2019}"),
        '\\' if text[1..].starts_with('"') => (2, "\\\""),
        _ => return None,
    };
    Some(Quote { open, close, is_usual: close == "\"" })
}

/// Bytes of a comment, an ellipsis, a fence or a blank that JSON does not know, at the head of `text`.
fn noise(text: &str) -> usize {
    let line = |text: &str| text.find('\n').unwrap_or(text.len());
    match text.as_bytes() {
        [b'/', b'/', ..] => line(text),
        [b'#', b' ', ..] => line(text),
        [b'/', b'*', ..] => text[2..].find("*/").map_or(text.len(), |at| at + 4),
        [b'.', b'.', b'.', ..] => text.len() - text.trim_start_matches('.').len(),
        [b'`', b'`', b'`', ..] => {
            let name = text.trim_start_matches('`');
            text.len() - name.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).len()
        }
        [0x80..=0xff, ..] => {
            let is_blank = |c: char| {
                c.is_whitespace() || matches!(c, '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{feff}' | '\u{2026}')
            };
            text.len() - text.trim_start_matches(|c: char| !c.is_ascii() && is_blank(c)).len()
        }
        _ => 0,
    }
}

/// Bytes of a name at the head of `text`.
fn identifier(text: &str) -> usize {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    text.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$')).unwrap_or(text.len())
}

/// The first [`LOOKAHEAD_BYTES`] of `text`.
fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(LOOKAHEAD_BYTES)]
}

/// Whether JSON goes on where `behind` follows a value.
fn goes_on(behind: &str) -> bool {
    let next = head(behind).trim_start();
    next.is_empty() || next.starts_with([',', '}', ']', ':'])
}

/// Whether a key and its colon stand at the head of `text`.
fn is_key(text: &str) -> bool {
    let text = head(text);
    let Some(Quote { open, close, .. }) = quote(text) else {
        let name = identifier(text);
        return name > 0 && text[name..].trim_start().starts_with(':') && !text[name..].trim_start().starts_with("://");
    };
    let mut from = open;
    while let Some(at) = text[from..].find(close) {
        from += at + close.len();
        let before = &text[..from - close.len()];
        let backslashes = before.len() - before.trim_end_matches('\\').len();
        if backslashes.is_multiple_of(2) {
            return text[from..].trim_start().starts_with(':');
        }
    }
    // Longer than what is looked at.
    text.len() >= LOOKAHEAD_BYTES - 3 && !text.contains('\n')
}

/// Whether a text stands at the head of `text`: its end quote is followed by what follows a text.
fn opens_text(text: &str) -> bool {
    let text = head(text);
    let Some(Quote { open, close, .. }) = quote(text) else { return false };
    text[open..].find(close).is_some_and(|at| at > 0 && goes_on(&text[open + at + close.len()..]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Value) {
        let found = reread(text, 0).map(|(value, _)| value);
        assert_eq!(found, Some(expected), "{text}");
    }

    #[test]
    fn what_is_missing_is_put_in() {
        check("{\"a\" 1 \"b\": 2\n\"c\": 3}", json!({"a": 1, "b": 2, "c": 3}));
        check("[1 \"a\" \"b\" [2] {}", json!([1, "a", "b", [2], {}]));
        check("{\"a\":, \"b\": }", json!({"a": null, "b": null}));
        check("{\"a\": [1, 2, {\"b\": 3", json!({"a": [1, 2, {"b": 3}]}));
        check("[\"key\": 1, \"other\": 2]", json!([{"key": 1, "other": 2}]));
        check("{\"a\": [1], [2, 3]}", json!({"a": [1, 2, 3]}));
    }

    #[test]
    fn what_is_too_much_is_left_out() {
        check("{, \"a\": 1,, }", json!({"a": 1}));
        check("[/* none */ 1, ... , 9 # last\n]", json!([1, 9]));
        check("{{\"a\": 1}}", json!({"a": 1}));
        check("{\"a\": 1]", json!({"a": 1}));
        check("callback({\"a\": 1});", json!({"a": 1}));
        check("[{\"a\": 1}, NOTE {\"b\": 2}]", json!([{"a": 1}, "NOTE", {"b": 2}]));
    }

    #[test]
    fn words_are_what_they_mean() {
        check("{a: True, b: None, c: undefined, d: False}", json!({"a": true, "b": null, "c": null, "d": false}));
        check(
            "{who: Ann Lee, when: 2024-10-18T18:35:22Z, url: https://a.test/b}",
            json!({"who": "Ann Lee", "when": "2024-10-18T18:35:22Z", "url": "https://a.test/b"}),
        );
        check("[.5, 2., 3e, -, 007, 1/3]", json!([0.5, 2, 3, null, "007", "1/3"]));
        check(
            "{\"id\": ObjectId(\"7\"), \"at\": (1, 2), \"one\": (3), \"none\": ()}",
            json!({"id": "7", "at": [1, 2], "one": 3, "none": []}),
        );
        check("{\"a\" = 1, b => 2}", json!({"a": 1, "b": 2}));
    }

    #[test]
    fn quotes_end_a_text_where_json_could_go_on() {
        check("{\"a\": \"so \"called\" text\", \"b\": 1}", json!({"a": "so \"called\" text", "b": 1}));
        check("{\"a\": \"one, \"two\", three.\"}", json!({"a": "one, \"two\", three."}));
        check("{'a': 'it's', \u{201c}b\u{201d}: \u{201c}c\u{201d}}", json!({"a": "it's", "b": "c"}));
        check("{\\\"a\\\": \\\"b\\\"}", json!({"a": "b"}));
        check("{\"a\": \"b\" + \"c\"}", json!({"a": "bc"}));
        check("{\"\"a\"\": \"\"b\"\"}", json!({"a": "b"}));
    }

    #[test]
    fn a_missing_quote_ends_with_its_text() {
        check("[\"a,\"b\"]", json!(["a", "b"]));
        check("{\"a\":\"b,c,\"d\":\"e\"}", json!({"a": "b,c", "d": "e"}));
        check("{\"a: \"b\"}", json!({"a": "b"}));
        check("{\"a\": \"b}", json!({"a": "b"}));
        check("{\"a\": \"b\n\"c\": \"d\"}", json!({"a": "b", "c": "d"}));
        check("{\"text\": \"with, commas, you see?", json!({"text": "with, commas, you see?"}));
    }

    #[test]
    fn several_values_are_items() {
        check("{\"a\": 1}\n{\"b\": 2}", json!([{"a": 1}, {"b": 2}]));
        check("see {\"a\": 1}, please", json!({"a": 1}));
        assert_eq!(reread("no brackets", 0), None);
        assert_eq!(reread(&"[".repeat(DEPTH_MAX + 1), 0), None);
    }

    #[test]
    fn hostile_texts_take_linear_time() {
        for piece in
            ["aaaa ", "\"k: 1, ", "\"a\" b", "\"\"x", "[\"a, ", "{a ", "a(", "' ", "/*", "\\u", "(1", "\u{201c}"]
        {
            let text = format!("{{\"a\": 1 {}", piece.repeat(20_000));
            let changes = reread(&text, 0).map_or(0, |(_, changes)| changes.len());
            assert!(changes <= 2 * text.len(), "{piece}: {changes} changes");
        }
    }

    #[test]
    fn escapes_are_read_and_broken_ones_left_out() {
        check("[\"\\ud83d\\ude00 \\u00e9 \\q \\ud83d x\\u12\"", json!(["\u{1f600} \u{e9} q \u{fffd} x"]));
    }

    #[test]
    fn changes_say_where_and_what() {
        let (_, changes) = reread("{a: True", 7).unwrap();
        let places: Vec<(usize, usize, &str)> =
            changes.iter().map(|c| (c.offset, c.removed_bytes, c.inserted.as_str())).collect();
        assert_eq!(places, [(8, 0, "\""), (9, 0, "\""), (11, 4, "true"), (15, 0, "}")]);
    }
}
