//! Broken JSON in a response: what is wrong, and whether it can be mended.
//!
//! **Formula**: the JSON of the text ([`crate::text::json_part`]) is parsed; while it does not parse, the next of six
//! steps is taken: remove comments, remove trailing commas, quote unquoted keys, replace single quotes, escape
//! newlines, close brackets. Each works on tokens: nothing inside of a string is changed, but for control characters,
//! which JSON does not allow there, and for the escapes that the new quotes need. Brackets are closed in nesting order.
//! What does not parse after them is read anew from the original, as a person would read it ([`reread`]).
//!
//! **Range**: 0 (valid), 0.5 (mended), 1 (beyond repair).
//!
//! **Source**: seed 001, "JSON Repair"; the last step is ours.
//!
//! **Limits**: what was meant is a guess: a text that was cut off is closed where it ends. [`REPAIR_BYTES_MAX`].

mod reread;

use std::ops::Range;

use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::Value;

use super::of_response;
use crate::{
    engines::{About, Assessment, Detail, Engine, Status, View, runtime::structure},
    text::{Lines, json_part::locate},
};

/// Bytes of JSON up to which a repair is tried.
pub const REPAIR_BYTES_MAX: usize = 1 << 20;

/// A step of the repair, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `// ...` and `/* ... */`.
    RemoveComments,
    /// A comma before a closing bracket or the end.
    RemoveTrailingCommas,
    /// `{key: 1}`.
    QuoteUnquotedKeys,
    /// `'text'`.
    ReplaceSingleQuotes,
    /// Line breaks, tabs and other control characters in strings; line breaks outside of all brackets.
    EscapeNewlines,
    /// Brackets, and a string at the end, that are not closed.
    CloseBrackets,
    /// Everything anew, with what is missing put in.
    Reread,
}

impl Step {
    /// All steps, in their order.
    pub const ALL: [Step; 7] = [
        Step::RemoveComments,
        Step::RemoveTrailingCommas,
        Step::QuoteUnquotedKeys,
        Step::ReplaceSingleQuotes,
        Step::EscapeNewlines,
        Step::CloseBrackets,
        Step::Reread,
    ];
    /// The six of the seed.
    const EDITS: &[Step] = Step::ALL.split_at(6).0;

    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Step::RemoveComments => "remove_comments",
            Step::RemoveTrailingCommas => "remove_trailing_commas",
            Step::QuoteUnquotedKeys => "quote_unquoted_keys",
            Step::ReplaceSingleQuotes => "replace_single_quotes",
            Step::EscapeNewlines => "escape_newlines",
            Step::CloseBrackets => "close_brackets",
            Step::Reread => "reread",
        }
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The step that made it.
    pub step: Step,
    /// Where, as a byte offset in the text.
    pub offset: usize,
    /// Bytes removed there.
    pub removed_bytes: usize,
    /// What stands there instead; never text of the input.
    pub inserted: String,
}

/// What was found, and what was done about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repair {
    /// Where the JSON stands in the text, if there is any.
    pub candidate: Option<Range<usize>>,
    /// The steps taken, and whether each changed something. None for valid JSON.
    pub steps: Vec<(Step, bool)>,
    /// Every change, step by step, in order.
    pub repairs: Vec<Change>,
    /// Whether the JSON is valid now.
    pub succeeded: bool,
    /// The value, when it is valid and not nested deeper than 127 levels.
    pub value: Option<Value>,
}

/// Finds the JSON of `text` and mends it, if need be.
pub fn repair(text: &str, settings: &Settings) -> Repair {
    let Some((span, _)) = locate(text, Lines::of(text).json_block.as_ref()) else {
        return Repair::default();
    };
    let mut draft = Draft::new(&text[span.clone()], span.start);
    let mut repair = Repair { candidate: Some(span.clone()), ..Repair::default() };
    let mut valid = is_valid(&draft.text);
    if !valid && draft.text.len() <= REPAIR_BYTES_MAX {
        for step in Step::EDITS.iter().copied() {
            let edits = edits(step, &draft.text, settings);
            repair.steps.push((step, !edits.is_empty()));
            if edits.is_empty() {
                continue;
            }
            draft.apply(step, edits, &mut repair.repairs);
            valid = is_valid(&draft.text);
            if valid {
                break;
            }
        }
    }
    if !valid && draft.text.len() <= REPAIR_BYTES_MAX && settings.reread {
        let anew = reread::reread(&text[span.clone()], span.start);
        repair.steps.push((Step::Reread, anew.is_some()));
        if let Some((value, changes)) = anew {
            return Repair { repairs: changes, succeeded: true, value: Some(value), ..repair };
        }
    }
    repair.succeeded = valid;
    repair.value = if valid { serde_json::from_str(&draft.text).ok() } else { None };
    repair
}

fn is_valid(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// The text between two steps, with the place from which each byte comes.
struct Draft {
    text: String,
    origins: Vec<usize>,
    end: usize,
}

/// A range of the draft and what takes its place.
struct Edit {
    range: Range<usize>,
    insert: String,
}

impl Edit {
    fn new(range: Range<usize>, insert: impl Into<String>) -> Edit {
        Edit { range, insert: insert.into() }
    }
}

impl Draft {
    fn new(text: &str, offset: usize) -> Draft {
        let end = offset + text.len();
        Draft { text: text.to_string(), origins: (offset..end).collect(), end }
    }

    /// Applies edits that are in order and do not overlap.
    fn apply(&mut self, step: Step, edits: Vec<Edit>, changes: &mut Vec<Change>) {
        let mut text = String::with_capacity(self.text.len() + edits.len());
        let mut origins = Vec::with_capacity(text.capacity());
        let mut kept = 0;
        for Edit { range, insert } in edits {
            text.push_str(&self.text[kept..range.start]);
            origins.extend_from_slice(&self.origins[kept..range.start]);
            let offset = self.origins.get(range.start).copied().unwrap_or(self.end);
            text.push_str(&insert);
            origins.resize(text.len(), offset);
            kept = range.end;
            changes.push(Change { step, offset, removed_bytes: range.len(), inserted: insert });
        }
        text.push_str(&self.text[kept..]);
        origins.extend_from_slice(&self.origins[kept..]);
        (self.text, self.origins) = (text, origins);
    }
}

fn edits(step: Step, text: &str, settings: &Settings) -> Vec<Edit> {
    let tokens = tokens(text.as_bytes());
    match step {
        Step::RemoveComments => of_kind(&tokens, Kinds::Comment).map(|token| Edit::new(token.range(), "")).collect(),
        Step::RemoveTrailingCommas => trailing_commas(&tokens),
        Step::QuoteUnquotedKeys => unquoted_keys(text, &tokens),
        Step::ReplaceSingleQuotes => single_quotes(text, &tokens),
        Step::EscapeNewlines => control_characters(text, &tokens),
        Step::CloseBrackets => open_brackets(text, &tokens, settings),
        Step::Reread => Vec::new(),
    }
}

fn of_kind(tokens: &[Token], kind: Kinds) -> impl Iterator<Item = &Token> {
    tokens.iter().filter(move |token| token.kind == kind)
}

fn trailing_commas(tokens: &[Token]) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut closes = true;
    for token in tokens.iter().rev() {
        match token.kind {
            Kinds::Blank | Kinds::Comment => {}
            Kinds::Comma if closes => edits.push(Edit::new(token.range(), "")),
            kind => closes = kind == Kinds::Close,
        }
    }
    edits.reverse();
    edits
}

fn unquoted_keys(text: &str, tokens: &[Token]) -> Vec<Edit> {
    let is_key = |key: &str| key.chars().all(|c| c.is_alphanumeric() || "_$-.".contains(c));
    let mut edits = Vec::new();
    let mut open = Vec::new();
    let mut may_be_key = false;
    let mut word: Option<Range<usize>> = None;
    for token in tokens {
        match token.kind {
            Kinds::Blank | Kinds::Comment => continue,
            Kinds::Colon => {
                if let Some(key) = word.take() {
                    edits.push(Edit::new(key.start..key.start, "\""));
                    edits.push(Edit::new(key.end..key.end, "\""));
                }
            }
            Kinds::Open => open.push(text.as_bytes()[token.start]),
            Kinds::Close => {
                open.pop();
            }
            _ => {}
        }
        let key = token.kind == Kinds::Word && may_be_key && is_key(&text[token.range()]);
        word = key.then(|| token.range());
        may_be_key = matches!(token.kind, Kinds::Open | Kinds::Comma) && open.last() == Some(&b'{');
    }
    edits
}

fn single_quotes(text: &str, tokens: &[Token]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for token in of_kind(tokens, Kinds::SingleQuoted) {
        edits.push(Edit::new(token.start..token.start + 1, "\""));
        let inside = token.start + 1..token.end - usize::from(token.closed);
        let mut escaped = false;
        for (index, byte) in text.as_bytes()[inside.clone()].iter().enumerate() {
            let at = inside.start + index;
            match byte {
                b'\'' if escaped => edits.push(Edit::new(at - 1..at, "")),
                b'"' if !escaped => edits.push(Edit::new(at..at, "\\")),
                _ => {}
            }
            escaped = *byte == b'\\' && !escaped;
        }
        if token.closed {
            edits.push(Edit::new(token.end - 1..token.end, "\""));
        }
    }
    edits
}

fn control_characters(text: &str, tokens: &[Token]) -> Vec<Edit> {
    let bytes = text.as_bytes();
    let mut edits = Vec::new();
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate() {
        let between = depth == 0 && index > 0 && index + 1 < tokens.len();
        let escapes: fn(u8) -> bool = match token.kind {
            Kinds::DoubleQuoted => |byte| byte < 0x20,
            Kinds::Blank if between => |byte| matches!(byte, b'\n' | b'\r'),
            _ => |_| false,
        };
        for at in token.range().filter(|at| escapes(bytes[*at])) {
            edits.push(Edit::new(at..at + 1, escape(bytes[at])));
        }
        match token.kind {
            Kinds::Open => depth += 1,
            Kinds::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    edits
}

fn escape(byte: u8) -> String {
    match byte {
        b'\n' => "\\n".into(),
        b'\r' => "\\r".into(),
        b'\t' => "\\t".into(),
        _ => format!("\\u{byte:04x}"),
    }
}

fn open_brackets(text: &str, tokens: &[Token], settings: &Settings) -> Vec<Edit> {
    let bytes = text.as_bytes();
    let mut edits = Vec::new();
    let mut missing: Vec<u8> = Vec::new();
    for token in tokens {
        match token.kind {
            Kinds::Open => missing.push(if bytes[token.start] == b'{' { b'}' } else { b']' }),
            Kinds::Close => {
                let close = bytes[token.start];
                let inner = missing.iter().rev().take_while(|open| **open != close).count();
                let is_open = inner < missing.len();
                if inner > 0 && is_open && settings.close_before_mismatch {
                    let closers: String =
                        missing[missing.len() - inner..].iter().rev().map(|c| char::from(*c)).collect();
                    edits.push(Edit::new(token.start..token.start, closers));
                    missing.truncate(missing.len() - inner);
                }
                if missing.last() == Some(&close) {
                    missing.pop();
                }
            }
            _ => {}
        }
    }
    let cut = tokens.last().filter(|token| token.kind == Kinds::DoubleQuoted && !token.closed);
    if let Some(string) = cut {
        if !settings.close_cut_strings {
            return Vec::new();
        }
        let backslashes = bytes[string.range()].iter().rev().take_while(|byte| **byte == b'\\').count();
        let quote = if backslashes % 2 == 1 { "\\\"" } else { "\"" };
        edits.push(Edit::new(text.len()..text.len(), quote));
    }
    let closers: String = missing.iter().rev().map(|closer| char::from(*closer)).collect();
    if !closers.is_empty() {
        edits.push(Edit::new(text.len()..text.len(), closers));
    }
    edits
}

/// A token of JSON as it should be, or nearly is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Token {
    kind: Kinds,
    start: usize,
    end: usize,
    /// Whether a quoted text ends with its quote.
    closed: bool,
}

impl Token {
    fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kinds {
    Open,
    Close,
    Comma,
    Colon,
    DoubleQuoted,
    SingleQuoted,
    Comment,
    Blank,
    /// Anything else: numbers, literals, unquoted keys.
    Word,
}

fn tokens(bytes: &[u8]) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let token = token(bytes, start);
        start = token.end;
        tokens.push(token);
    }
    tokens
}

/// The token that begins at `start`; it has at least one byte.
fn token(bytes: &[u8], start: usize) -> Token {
    let rest = &bytes[start..];
    let one = |kind| Token { kind, start, end: start + 1, closed: true };
    match rest[0] {
        b'{' | b'[' => one(Kinds::Open),
        b'}' | b']' => one(Kinds::Close),
        b',' => one(Kinds::Comma),
        b':' => one(Kinds::Colon),
        b'"' => quoted(bytes, start, Kinds::DoubleQuoted),
        b'\'' => quoted(bytes, start, Kinds::SingleQuoted),
        b'/' if rest.starts_with(b"//") => {
            let length = rest.iter().take_while(|byte| **byte != b'\n').count();
            Token { kind: Kinds::Comment, start, end: start + length, closed: true }
        }
        b'/' if rest.starts_with(b"/*") => {
            let length = memchr::memmem::find(&rest[2..], b"*/").map_or(rest.len(), |at| at + 4);
            Token { kind: Kinds::Comment, start, end: start + length, closed: true }
        }
        byte if byte.is_ascii_whitespace() => {
            let length = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            Token { kind: Kinds::Blank, start, end: start + length, closed: true }
        }
        _ => {
            let ends = |byte: &u8| b"{}[],:\"".contains(byte) || byte.is_ascii_whitespace();
            let length = rest.iter().take_while(|byte| !ends(byte)).count();
            Token { kind: Kinds::Word, start, end: start + length, closed: true }
        }
    }
}

/// A quoted text. A single quote closes only where a value or a key may end, for it is also an apostrophe.
fn quoted(bytes: &[u8], start: usize, kind: Kinds) -> Token {
    let quote = bytes[start];
    let mut escaped = false;
    for (index, byte) in bytes.iter().enumerate().skip(start + 1) {
        let closes = *byte == quote && !escaped && (quote == b'"' || ends_value(&bytes[index + 1..]));
        if closes {
            return Token { kind, start, end: index + 1, closed: true };
        }
        escaped = *byte == b'\\' && !escaped;
    }
    Token { kind, start, end: bytes.len(), closed: false }
}

fn ends_value(rest: &[u8]) -> bool {
    let next = rest.iter().find(|byte| !byte.is_ascii_whitespace());
    next.is_none_or(|byte| b",:}]".contains(byte))
}

/// How far a repair goes.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Whether a string that the text breaks off in is closed.
    pub close_cut_strings: bool,
    /// Whether brackets are also closed in the middle, before a closing bracket that belongs to an outer one.
    pub close_before_mismatch: bool,
    /// Whether what six steps do not mend is read anew.
    pub reread: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { close_cut_strings: true, close_before_mismatch: true, reread: true }
    }
}

impl Settings {
    /// The letter of seed 001: brackets are closed at the end, and nothing else is.
    pub fn seed() -> Settings {
        Settings { close_cut_strings: false, close_before_mismatch: false, reread: false }
    }
}

/// The engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonRepair {
    settings: Settings,
}

impl JsonRepair {
    /// The engine with these settings.
    pub fn new(settings: Settings) -> JsonRepair {
        JsonRepair { settings }
    }
}

/// What is known of the engine.
pub const ABOUT: About = About {
    name: "json_repair",
    summary: "Tries to mend a response that should be JSON and does not parse.",
    formula: "steps in order, until it parses: comments, trailing commas, keys, single quotes, newlines, brackets, all anew",
    range: "0 (valid), 0.5 (mended), 1 (beyond repair)",
    source: "seed 001, JSON Repair",
    signals: &[],
};

impl Engine for JsonRepair {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        of_response(view, |response| {
            let json =
                view.response.json.as_ref().filter(|json| json.valid || structure::is_promised(json, view.prompt));
            let Some(json) = json else { return Assessment::not_assessed("no JSON") };
            if json.begins_valid {
                return Assessment::new(Status::Ok, 0.0);
            }
            let Repair { repairs, succeeded, .. } = repair(response, &self.settings);
            let (status, value) = if succeeded { (Status::Warn, 0.5) } else { (Status::Error, 1.0) };
            let steps = Step::ALL.iter().filter(|step| repairs.iter().any(|change| change.step == **step));
            let assessment = Assessment::new(status, value)
                .with("repaired", Detail::Flag(succeeded))
                .with("steps", Detail::Labels(steps.map(|step| step.as_str()).collect()))
                .with("repairs", Detail::Count(repairs.len() as u64));
            let first = repairs.first().map(|change| change.offset as u64);
            match first {
                Some(offset) => assessment.with("first_repair_offset", Detail::Count(offset)),
                None => assessment,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<Value>) -> Vec<Change> {
        let found = repair(text, &Settings::default());
        assert_eq!(found.value, expected, "{text}: {found:?}");
        assert_eq!(found.succeeded, expected.is_some(), "{text}");
        found.repairs
    }

    fn change(step: Step, offset: usize, removed_bytes: usize, inserted: &str) -> Change {
        Change { step, offset, removed_bytes, inserted: inserted.into() }
    }

    #[test]
    fn each_step_reports_where_it_changed_what() {
        assert_eq!(check("x {\"a\":1 /* c */}", Some(json!({"a": 1}))), [change(Step::RemoveComments, 9, 7, "")]);
        assert_eq!(check("[1,2, ]", Some(json!([1, 2]))), [change(Step::RemoveTrailingCommas, 4, 1, "")]);
        assert_eq!(
            check("{a-b: 1}", Some(json!({"a-b": 1}))),
            [change(Step::QuoteUnquotedKeys, 1, 0, "\""), change(Step::QuoteUnquotedKeys, 4, 0, "\"")]
        );
        assert_eq!(
            check("['x']", Some(json!(["x"]))),
            [change(Step::ReplaceSingleQuotes, 1, 1, "\""), change(Step::ReplaceSingleQuotes, 3, 1, "\"")]
        );
        assert_eq!(
            check("[\"a\nb\u{1}\"]", Some(json!(["a\nb\u{1}"])))[1],
            change(Step::EscapeNewlines, 5, 1, "\\u0001")
        );
        assert_eq!(check("é[{\"a\":[1", Some(json!([{"a": [1]}]))), [change(Step::CloseBrackets, 10, 0, "]}]")]);
    }

    #[test]
    fn offsets_are_those_of_the_text_after_earlier_steps_too() {
        let repairs = check("{/*c*/a:'b',}", Some(json!({"a": "b"})));
        let offsets: Vec<usize> = repairs.iter().map(|change| change.offset).collect();
        assert_eq!(offsets, [1, 11, 6, 7, 8, 10]);
    }

    #[test]
    fn strings_are_left_alone() {
        check("{\"url\":\"http://x.test/p\",n:1}", Some(json!({"url": "http://x.test/p", "n": 1})));
        check("{\"a\":\"{b: 'c',} /* d */\",}", Some(json!({"a": "{b: 'c',} /* d */"})));
        check("{'a':'it\\'s \"so\"', 'b': 'it's'}", Some(json!({"a": "it's \"so\"", "b": "it's"})));
    }

    #[test]
    fn what_was_cut_off_is_closed() {
        check("{\"a\":1", Some(json!({"a": 1})));
        check("{\"a\": {\"b\": 1}, \"c\": \"tru", Some(json!({"a": {"b": 1}, "c": "tru"})));
        check("[\"a\\", Some(json!(["a\\"])));
        check("```json\n[{\"a\":1,\n```", Some(json!([{"a": 1}])));
        check("{\n  \"a\": {\"b\": 1,\n  \"c\": 2\n}", Some(json!({"a": {"b": 1, "c": 2}})));
        check("{\"a\":[1,2}", Some(json!({"a": [1, 2]})));
    }

    #[test]
    fn what_six_steps_do_not_mend_is_read_anew() {
        for (text, value) in [
            ("{\"a\":True}", json!({"a": true})),
            ("{\"a\" 1}", json!({"a": 1})),
            ("{\"a\":\"b\"c\"}", json!({"a": "b\"c"})),
            ("{\"a\":1}{\"b\":2}", json!([{"a": 1}, {"b": 2}])),
            ("{\"a\":", json!({"a": null})),
        ] {
            check(text, Some(value));
            assert_eq!(repair(text, &Settings::seed()).value, None, "{text}");
        }
    }

    #[test]
    fn by_the_letter_of_the_seed_brackets_are_closed_at_the_end_only() {
        let steps = |text| repair(text, &Settings::seed()).steps.last().copied();
        assert_eq!(steps("{\"a\":[1,2}"), Some((Step::CloseBrackets, true)));
        assert_eq!(steps("{\"a\":\"b\"c\"}"), Some((Step::CloseBrackets, false)));
        assert!(!repair("{\"a\":[1,2}", &Settings::seed()).succeeded);
    }

    #[test]
    fn hostile_texts_take_linear_time() {
        for piece in ["[", "{'", "' ", "\"\\", "/*", "{a:", "}", ",", "[\""] {
            assert!(repair(&("[".to_string() + &piece.repeat(100_000)), &Settings::default()).steps.len() <= 7);
        }
        assert!(repair(&"[".repeat(REPAIR_BYTES_MAX + 1), &Settings::default()).steps.is_empty());
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-z'\"\\\\/*{}\\[\\],: \n\té]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-z'/\"]{1,4}", inner), 0..4)
                    .prop_map(|entries| entries.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn valid_json_is_never_changed(value in prop::collection::vec(values(), 1..3), pretty: bool) {
            let value = Value::from(value);
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let found = repair(&text.unwrap(), &Settings::default());
            prop_assert_eq!(found.value, Some(value));
            prop_assert!(found.repairs.is_empty() && found.steps.is_empty());
        }

        #[test]
        fn missing_closers_are_put_back(mut value in prop::collection::vec(values(), 1..3), last in 0..2usize) {
            value.push([json!(7), json!({"k": [7]})][last].clone());
            let value = Value::from(vec![Value::from(value)]);
            let text = serde_json::to_string(&value).unwrap();
            let found = repair(text.trim_end_matches([']', '}']), &Settings::default());
            prop_assert_eq!(found.value, Some(value));
        }

        #[test]
        fn what_is_json_reads_the_same_anew(value in prop::collection::vec(values(), 1..3), pretty: bool) {
            let value = Value::from(value);
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            prop_assert_eq!(reread::reread(&text.unwrap(), 0), Some((value, Vec::new())));
        }

        #[test]
        fn any_text_is_accepted(text in "[\\[\\]{}\"',:a1/* \n\\\\é]{0,40}") {
            let found = repair(&text, &Settings::default());
            for change in found.repairs {
                prop_assert!(change.offset + change.removed_bytes <= text.len());
            }
        }
    }
}
