//! Lines that are no JSON and hold some: a value behind whatever a log system puts before it, server-sent events, the MCP
//! log of a desktop client, JSON in a JSON string, a literal of Python.
//!
//! A line may begin with anything (a time, `stdout F`, `api-1 |`, `[pod/api]`, `INFO app.llm`, a key and a tab): when all
//! of it from some bracket on is one value, that is the value, also in quotes (`msg="{\"prompt\": ...}"`, `b'{...}'`). Of
//! what stands before it, the time, the level and the name of the machine are kept where the record has none. Colours of a
//! terminal are left out, and the pieces into which a runtime of containers cuts long lines are put together.
//!
//! A line of the MCP log without a message (the client starts a server, a transport closes) is told by its beginning and
//! what the client says there, and holds no call. What a server writes itself to that log is text.
//!
//! **Limits**: the value begins at one of the first [`BRACKETS_MAX`] brackets, in the first [`PREFIX_BYTES_MAX`] bytes.
//! Other logs of text are not read; a line of one that is known is named.

use crate::{
    record::{Container, Entry, Format, Ignored, Record, call::Outcome, json::Json, scan, values},
    writers::{STREAM_END, mcp_fragment, read_text, stream_fragment},
};

use super::python;

/// Brackets at which a value may begin.
const BRACKETS_MAX: usize = 8;
/// Bytes that may stand before a value.
const PREFIX_BYTES_MAX: usize = 1_024;

/// What such a line is.
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(super) enum Line<'a> {
    /// A value to read.
    Value(Json<'a>),
    /// A value behind some text.
    Behind(&'a str, Json<'a>),
    /// A value that stood in a string.
    InString(Json<'a>),
    /// A line that was cut into pieces.
    Joined(String),
    /// Something that needs no more reading.
    Entry(Entry<'a>),
    /// A history that is a text.
    Entries(Vec<Outcome<'a>>),
    /// A line of a log that is not read.
    Rejected(&'static str),
}

/// Marks of the MCP log: who sent the message that follows.
const DIRECTIONS: [(&str, &str); 2] = [("Message from client: {", "client"), ("Message from server: {", "server")];

/// What the MCP log puts in brackets beside the name of the server.
const LEVELS: [&str; 6] = ["info", "debug", "error", "warn", "warning", "trace"];

/// How the lines go on that the client writes itself.
const CLIENT_SAYS: [&str; 8] = [
    "Initializing server",
    "Server started",
    "Server transport",
    "Server disconnected",
    "Client transport",
    "Shutting down server",
    "Using MCP server command",
    "Using built-in Node.js",
];

/// Reads a line that does not begin with an object; `None` when it is none of these.
pub(super) fn read(bytes: &[u8]) -> Option<Line<'_>> {
    let text = std::str::from_utf8(bytes).ok()?.trim_end();
    if let Some(data) = text.strip_prefix("data:") {
        return event_data(data.trim_start());
    }
    if ["event:", "id:", "retry:", ": "].iter().any(|field| text.starts_with(field)) && text.len() < 200 {
        return Some(Line::Entry(skipped(Container::named("stream"), "a line of a stream without data")));
    }
    if let Some(entries) = read_text(text) {
        return Some(Line::Entries(entries));
    }
    if text.starts_with('"')
        && let Some(line) = in_string(text)
    {
        return Some(line);
    }
    if text.contains('\n')
        && let Some(whole) = joined(text)
    {
        return Some(Line::Joined(whole));
    }
    if is_field_of_journal(text) {
        return Some(Line::Entry(skipped(Container::named("journal"), "a field of a journal's export")));
    }
    for (mark, direction) in DIRECTIONS {
        if let Some(at) = text.find(mark) {
            return Some(message_of_log(&text[..at], direction, &text[at + mark.len() - 1..]));
        }
    }
    if is_log_of_client(text) {
        return Some(Line::Entry(skipped(Container::named("mcp_desktop"), "a line of a log without a message")));
    }
    let is_vllm = text.contains("Received request ") && text.contains("params: SamplingParams(");
    if is_vllm {
        let why = "a line of vLLM's request log, which is text; log requests as JSON in front of it";
        return Some(Line::Rejected(why));
    }
    let is_llama =
        ["srv  ", "slot ", "prompt eval time =", "llama_", "print_timing"].iter().any(|begin| text.starts_with(begin));
    behind(text).or_else(|| {
        let why = "a line of llama.cpp's server log, which has no texts; its answers have, where they are logged";
        is_llama.then_some(Line::Rejected(why))
    })
}

/// What begins an escape of a terminal.
pub(super) const ESCAPE: char = '\u{1b}';

/// A text without the escapes by which a terminal shows colours. JSON has none of them: its own are spelled.
pub(super) fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once(ESCAPE) {
        plain.push_str(before);
        // `[`, parameters, and the letter that ends them.
        let length =
            escape.strip_prefix('[').map(|body| body.find(|c: char| matches!(c, '@'..='~')).map_or(1, |at| at + 2));
        rest = &escape[length.unwrap_or(0)..];
    }
    plain.push_str(rest);
    plain
}

/// The value that a line ends with, behind some text.
pub(super) fn behind(text: &str) -> Option<Line<'_>> {
    // Whatever holds a value ends with one of these.
    if !text.ends_with(['}', ']', '"', '\'', ')']) && !text.contains("=\"{") {
        return None;
    }
    let head = &text[..text.floor_char_boundary(PREFIX_BYTES_MAX)];
    let brackets = head.match_indices(['{', '[']).map(|(at, _)| at).take(BRACKETS_MAX);
    let found = brackets.filter(|at| *at > 0).find_map(|at| {
        let rest = &text[at..];
        let value = match Json::parse_first(rest.as_bytes()) {
            Some((value, is_all)) => Some(value).filter(|_| is_all || is_quoted_by(text, at)),
            None => python::parse(rest).or_else(|| of_table(&text[..at], rest)),
        };
        let value = value.filter(|value| matches!(value, Json::Object(_) | Json::Array(_)))?;
        Some(Line::Behind(&text[..at], value))
    });
    found.or_else(|| {
        let quotes = head.match_indices("=\"").map(|(at, _)| at + 1).take(BRACKETS_MAX);
        quotes.into_iter().find_map(|at| {
            let (value, _) = Json::parse_first(&text.as_bytes()[at..])?;
            let Json::String(inner) = value else { return None };
            let value = Json::parse_text(inner).ok().filter(|value| matches!(value, Json::Object(_)))?;
            Some(Line::Behind(&text[..at], value))
        })
    })
}

/// Whether nothing follows the value that begins at `at` but what closes the quotes before it: `"payload"=>"{...}"}]`, `b'{...}'`.
fn is_quoted_by(text: &str, at: usize) -> bool {
    let Some(quote) = text[..at].chars().next_back().filter(|c| matches!(c, '"' | '\'' | '`')) else { return false };
    let rest = scan::scan(&text.as_bytes()[at..], 0).ok().and_then(|scan| text.get(at + scan.end..));
    let closes = |rest: &str| rest.chars().all(|c| matches!(c, ')' | ']' | '}' | '>' | ',' | ';' | ' '));
    rest.and_then(|rest| rest.strip_prefix(quote)).is_some_and(closes)
}

/// A value in a row that a database copied out, where each backslash stands twice.
fn of_table(prefix: &str, rest: &str) -> Option<Json<'static>> {
    let is_cell = prefix.ends_with('\t') && rest.contains("\\\\");
    let plain = is_cell.then(|| rest.replace("\\\\", "\\"))?;
    Json::parse(plain.as_bytes()).ok().map(Json::into_owned)
}

/// The text that containerd has cut into pieces: lines that go on (`P`) down to the one that does not (`F`).
fn joined(text: &str) -> Option<String> {
    let mut whole = String::with_capacity(text.len());
    for (at, line) in text.split('\n').enumerate() {
        let piece = cri_piece(line.trim_end_matches('\r'))?;
        if at == 0 {
            whole.push_str(&line[..line.len() - piece.len()]);
        }
        whole.push_str(piece);
    }
    Some(whole)
}

/// What a container wrote, in a line that its runtime has put down: `2026-11-20T15:06:00.1Z stdout P ...`.
fn cri_piece(line: &str) -> Option<&str> {
    let (time, rest) = line.split_once(' ')?;
    let (stream, rest) = rest.split_once(' ')?;
    let (tag, piece) = rest.split_once(' ')?;
    let is_one =
        time.len() > 18 && matches!(stream, "stdout" | "stderr") && (tag.starts_with('P') || tag.starts_with('F'));
    is_one.then_some(piece)
}

/// When, where and how loud a line was logged, by the text before its value.
pub(super) fn lend<'a>(prefix: &'a str, record: &mut Record<'a>) {
    const LEVELS: [&str; 10] =
        ["trace", "debug", "info", "notice", "warn", "warning", "error", "critical", "fatal", "severe"];
    let words: Vec<&str> = prefix.split([' ', '\t', '|']).filter(|word| !word.is_empty()).collect();
    let bare = |word: &'a str| word.trim_matches(['[', ']', '(', ')', ':', ',', '<', '>', '"']);
    // `level=info` says what it is.
    let words: Vec<&str> = words
        .into_iter()
        .map(|word| match word.split_once('=') {
            Some(("time" | "ts" | "timestamp" | "level" | "lvl" | "t", said)) => said,
            _ => word,
        })
        .collect();
    let is_level = |word: &str| LEVELS.contains(&word.to_ascii_lowercase().as_str());
    if record.timestamp_ms.is_none() {
        let moment = |text: &str| values::moment_ms(&Json::String(text.to_owned().into()));
        let written = |word: &str| word.len() >= 8 && word.contains(['-', '/', ':']);
        let one = || {
            words
                .iter()
                .map(|word| bare(word))
                .filter(|word| written(word) && word.contains(['T', ':']))
                .find_map(moment)
        };
        let two = || {
            let pairs = words.windows(2).map(|pair| format!("{} {}", bare(pair[0]), bare(pair[1])));
            pairs.into_iter().filter(|pair| written(pair)).find_map(|pair| moment(&pair))
        };
        record.timestamp_ms = two().or_else(one);
    }
    if record.level.is_none() {
        let level = words.iter().map(|word| bare(word)).find(|word| is_level(word));
        record.level = level.map(Into::into);
    }
    if record.host.is_none() {
        let pod = words.first().and_then(|word| bare(word).strip_prefix("pod/")?.split('/').next());
        // Loggers put a time or a level before the first line, composed services their name.
        let is_name =
            |name: &&str| !is_level(name) && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'));
        let service = || prefix.split_once('|').map(|(name, _)| name.trim()).filter(is_name);
        record.host = pod.or_else(service).filter(|name| !name.is_empty()).map(Into::into);
    }
}

fn event_data(data: &str) -> Option<Line<'_>> {
    if data == STREAM_END {
        return Some(Line::Entry(Entry::Fragment(stream_fragment(Json::String(data.into())))));
    }
    if data.is_empty() {
        return Some(Line::Entry(skipped(Container::named("stream"), "a line of a stream without data")));
    }
    match Json::parse(data.as_bytes()) {
        Ok(value @ Json::Object(_)) => Some(Line::Value(value)),
        _ => None,
    }
}

fn in_string(text: &str) -> Option<Line<'_>> {
    let Ok(Json::String(inner)) = Json::parse(text.as_bytes()) else { return None };
    match Json::parse_text(inner) {
        Ok(value @ Json::Object(_)) => Some(Line::InString(value)),
        _ => None,
    }
}

/// `TS [server] [info] Message from client: {json} { metadata: undefined }`; the two names may come in either order.
fn message_of_log<'a>(head: &'a str, direction: &'static str, body: &'a str) -> Line<'a> {
    let Some((message, _)) = Json::parse_first(body.as_bytes()) else {
        return Line::Rejected("a message in an MCP log that breaks off");
    };
    let (time, names) = head.split_once(char::is_whitespace).unwrap_or((head, ""));
    let names = names.split(['[', ']']).map(str::trim).filter(|name| !name.is_empty());
    let server = names.into_iter().find(|name| !LEVELS.contains(name)).unwrap_or_default();
    let value = Json::Object(vec![
        ("timestamp".into(), Json::String(time.into())),
        ("server".into(), Json::String(server.into())),
        ("direction".into(), Json::String(direction.into())),
        ("message".into(), message),
    ]);
    Line::Entry(Entry::Fragment(mcp_fragment(value)))
}

/// Whether a line is a field that `journalctl -o export` writes beside the message.
fn is_field_of_journal(text: &str) -> bool {
    const NAMES: [&str; 6] = ["PRIORITY=", "SYSLOG_", "CODE_", "INVOCATION_ID=", "MESSAGE_ID=", "TID="];
    let Some((name, value)) = text.split_once('=') else { return false };
    let is_name = name.starts_with('_') || NAMES.iter().any(|known| text.starts_with(known));
    let is_plain = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    is_name && is_plain && !name.is_empty() && !value.trim_start().starts_with(['{', '['])
}

/// Whether a line begins like those of a desktop client's log: `2025-07-20T14:09:08.507Z [info] [weather] `.
fn is_log_of_client(text: &str) -> bool {
    let mut words = text.splitn(4, ' ');
    let is_time = |word: &str| word.ends_with('Z') && word.parse::<jiff::Timestamp>().is_ok();
    let in_brackets = |word: &'_ str| word.strip_prefix('[')?.strip_suffix(']').map(str::to_owned);
    let is_begun = words.next().is_some_and(is_time);
    let names = [words.next().and_then(in_brackets), words.next().and_then(in_brackets)];
    let says = words.next().unwrap_or_default();
    let is_own = CLIENT_SAYS.iter().any(|phrase| says.starts_with(phrase));
    is_begun
        && is_own
        && names.iter().all(Option::is_some)
        && names.iter().flatten().any(|name| LEVELS.contains(&name.as_str()))
}

fn skipped<'a>(container: Container, what: &'static str) -> Entry<'a> {
    Entry::Ignored(Ignored::skipped(Format::of(container), what))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        reader::{Parsed, RecordReader},
        record::Note,
    };

    #[test]
    fn lines_of_an_mcp_log() {
        let check = |line: &str, expected: &str| {
            let Some(Line::Entry(Entry::Fragment(fragment))) = read(line.as_bytes()) else { panic!("{line}") };
            let crate::record::Content::Value(value) = fragment.content else { panic!("{line}") };
            assert_eq!(value.to_compact_string(), expected, "{line}");
        };
        check(
            r#"2025-10-19T14:13:44.066Z [money] [info] Message from client: {"jsonrpc":"2.0","id":4} { metadata: undefined }"#,
            r#"{"timestamp":"2025-10-19T14:13:44.066Z","server":"money","direction":"client","message":{"jsonrpc":"2.0","id":4}}"#,
        );
        check(
            r#"2025-07-20T14:09:08.507Z [info] [weather] Message from server: {"jsonrpc":"2.0","id":13}"#,
            r#"{"timestamp":"2025-07-20T14:09:08.507Z","server":"weather","direction":"server","message":{"jsonrpc":"2.0","id":13}}"#,
        );
        assert!(matches!(read(br#"T [a] Message from client: {"cut"#), Some(Line::Rejected(_))));
        for (line, is_one) in [
            ("2025-07-20T14:09:08.507Z [weather] [info] Initializing server...", true),
            ("2025-07-20T14:09:08Z [info] [weather] Server transport closed unexpectedly", true),
            ("2025-07-20T14:09:08Z [info] started", false),
            ("2025-07-20T14:09:08Z [main] [worker] started", false),
            ("2025-07-20 [info] [weather] Shutting down server...", false),
            ("Weather MCP Server running on stdio", false),
            (r#"2025-07-20T14:09:08Z [info] [api] {"prompt":"p","response":"r"}"#, false),
            ("2025-07-20T14:09:08Z [info] [api] listening on 8080", false),
        ] {
            let aside = read(line.as_bytes());
            assert_eq!(matches!(aside, Some(Line::Entry(Entry::Ignored(_)))), is_one, "{line}");
        }
    }

    #[test]
    fn lines_of_a_stream() {
        assert!(matches!(read(br#"data: {"object":"chat.completion.chunk"}"#), Some(Line::Value(_))));
        assert!(matches!(read(b"data: [DONE]"), Some(Line::Entry(_))));
        assert!(matches!(read(b"event: message_start"), Some(Line::Entry(_))));
        assert!(read(b"data: soon").is_none());
    }

    #[test]
    fn json_in_a_string() {
        assert!(matches!(read(br#""{\"prompt\":\"p\"}""#), Some(Line::InString(_))));
        assert!(read(br#""just text""#).is_none());
        assert!(read(b"2026-01-01 INFO started").is_none());
    }

    const CALL: &str = r#"{"prompt":"p [1]","response":"{r}"}"#;

    /// The record that a line ends with.
    fn record(line: &str) -> Option<Record<'_>> {
        let Parsed::One(Ok(Entry::Record(record))) = RecordReader::default().read(line.as_bytes()) else { return None };
        Some(record).filter(|record| record.response.as_deref() == Some("{r}"))
    }

    #[test]
    fn what_stands_before_a_value_says_when_and_where() {
        let check = |prefix: &str, time: Option<&str>, level: Option<&str>, host: Option<&str>| {
            let line = format!("{prefix}{CALL}");
            let record = record(&line).unwrap_or_else(|| panic!("{line}"));
            let time = time.map(|time| time.parse::<jiff::Timestamp>().unwrap().as_millisecond());
            assert_eq!(
                (record.timestamp_ms, record.level.as_deref(), record.host.as_deref()),
                (time, level, host),
                "{line}"
            );
            assert!(record.notes.has(Note::Wrapped));
        };
        let time = Some("2026-11-20T07:32:31Z");
        check("2026-11-20T07:32:31.000000000Z stdout F ", time, None, None);
        check("2026-11-20 07:32:31,000 INFO app.llm: ", time, Some("INFO"), None);
        check("[2026-11-20 07:32:31] [WARNING] ", time, Some("WARNING"), None);
        check("2026-11-20T07:32:31+00:00 | ERROR    | app:run:12 - ", time, Some("ERROR"), None);
        check("INFO:app.llm:", None, None, None);
        check("INFO | app.llm | ", None, Some("INFO"), None);
        check("api-1  | ", None, None, Some("api-1"));
        check("api-1  | 2026-11-20T07:32:31Z | ", time, None, Some("api-1"));
        check("[pod/api-7d9f/llm] ", None, None, Some("api-7d9f"));
        check("<134>1 2026-11-20T07:32:31Z web-1 llm 42 - - ", time, None, None);
        check("Nov 20 07:32:31 web-1 llm[42]: ", None, None, None);
        check("req-42\t", None, None, None);
        check("result {partial} [1, 2] ", None, None, None);
        check("time=2026-11-20T07:32:31Z level=INFO msg=call payload=", time, Some("INFO"), None);
        check("\u{1b}[36mapi-1  | \u{1b}[0m", None, None, Some("api-1"));
        check("\u{1b}[2m2026-11-20T07:32:31Z\u{1b}[0m [\u{1b}[32m\u{1b}[1minfo \u{1b}[0m] ", time, Some("info"), None);
        // What the record says itself counts.
        let own = r#"2026-11-20T07:32:31Z INFO {"prompt":"p","response":"{r}","level":"debug","timestamp":"2026-01-01T00:00:00Z"}"#;
        let own = record(own).unwrap();
        assert_eq!((own.level.as_deref(), own.timestamp_ms), (Some("debug"), Some(1_767_225_600_000)));
    }

    #[test]
    fn a_value_ends_its_line_and_begins_near_its_beginning() {
        let python = "INFO {'prompt': 'p', 'response': '{r}'}";
        let brackets = |count: usize| format!("{}{CALL}", "[x] ".repeat(count));
        let far = |bytes: usize| format!("{}{CALL}", "x".repeat(bytes));
        let cut_in_a_character = format!("{}é {CALL}", "x".repeat(PREFIX_BYTES_MAX - 1));
        for (line, expected) in [
            (python.to_owned(), true),
            (format!("x {CALL} "), true),
            (format!("x {CALL} y"), false),
            (format!("x b'{CALL}'"), true),
            (format!("[0] kube: [[1795187000.1, {{}}], {{\"log\"=>\"{CALL}\"}}]"), true),
            (format!("x {CALL}'"), false),
            (format!("x \"{CALL}\" y"), false),
            (format!("level=info msg={} app=api", serde_json::Value::from(CALL)), true),
            (format!("level=info msg={} app=api", serde_json::Value::from("{r}")), false),
            (format!("7\t{}", CALL.replace("p [1]", r#"p \\"q\\""#)), true),
            (format!("\u{1b}[32mINFO\u{1b}[0m {CALL}\u{1b}[0m"), true),
            (
                format!(
                    "2026-11-20T15:06:00.1Z stdout P {}\n2026-11-20T15:06:00.1Z stdout F {}",
                    &CALL[..9],
                    &CALL[9..]
                ),
                true,
            ),
            (format!("2026-11-20T15:06:00.1Z stdout P {}\nsomething else {}", &CALL[..9], &CALL[9..]), false),
            (format!("x {}", &CALL[..CALL.len() - 1]), false),
            (brackets(BRACKETS_MAX - 1), true),
            (brackets(BRACKETS_MAX), false),
            (far(PREFIX_BYTES_MAX - 1), true),
            (far(PREFIX_BYTES_MAX), false),
            (cut_in_a_character, false),
            ("x \"{r}\"".to_owned(), false),
        ] {
            assert_eq!(record(&line).is_some(), expected, "{line}");
        }
    }

    #[test]
    fn a_log_that_is_not_read_is_named() {
        let vllm = "INFO 11-20 07:32:31 logger.py:43] Received request cmpl-1: prompt: 'p', params: SamplingParams(n=1), lora_request: None.";
        assert!(matches!(read(vllm.as_bytes()), Some(Line::Rejected(why)) if why.contains("vLLM")));
        let llama = b"slot      release: id  0 | task 0 | stop processing: n_past = 100, truncated = 0";
        assert!(matches!(read(llama), Some(Line::Rejected(why)) if why.contains("llama.cpp")));
        assert!(matches!(read(b"__CURSOR=s=1;i=2"), Some(Line::Entry(Entry::Ignored(_)))));
        assert!(matches!(read(b"PRIORITY=6"), Some(Line::Entry(Entry::Ignored(_)))));
        assert!(read(b"ERROR=broken").is_none());
        assert!(matches!(read(b": keep-alive"), Some(Line::Entry(Entry::Ignored(_)))));
        assert!(matches!(read(b"data:"), Some(Line::Entry(Entry::Ignored(_)))));
        assert!(read(b"\xff {\"prompt\":\"p\"}").is_none(), "it is no text");
    }

    proptest! {
        #[test]
        fn a_value_is_found_behind_any_words(prefix in "([a-zA-Z0-9é:.|/-]{1,8}[ \t]){1,6}") {
            // Fields of a stream have a meaning of their own.
            prop_assume!(!["data:", "event:", "id:", "retry:"].iter().any(|field| prefix.starts_with(field)));
            let line = format!("{prefix}{CALL}");
            prop_assert!(record(&line).is_some(), "{}", line);
        }

        #[test]
        fn any_text_is_a_line_or_not(text in any::<String>(), prefix in "[\\[\\]{}<>|: \t\"'a-z0-9TZ-]{0,40}") {
            let _ = read(text.as_bytes());
            let _ = read(prefix.as_bytes());
            let _ = read(format!("{prefix}{text}{CALL}").as_bytes());
        }
    }
}
