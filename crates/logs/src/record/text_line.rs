//! Lines that are no JSON and hold some: server-sent events, the MCP log of a desktop client, JSON in a JSON string.
//!
//! A line of the MCP log without a message (the client starts a server, a transport closes) is told by its beginning and what
//! the client says there, and holds no call. What a server writes itself to that log is text.
//!
//! **Limits**: other logs of text are not read; a line of one that is known is named.

use super::{Aside, Container, Entry, Format, Piece, json::Json, piece::STREAM_END};

/// What such a line is.
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(super) enum Line<'a> {
    /// A value to read.
    Value(Json<'a>),
    /// A value that stood in a string.
    InString(Json<'a>),
    /// Something that needs no more reading.
    Entry(Entry<'a>),
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

/// Reads a line that does not begin with a bracket; `None` when it is none of these.
pub(super) fn read(bytes: &[u8]) -> Option<Line<'_>> {
    let text = std::str::from_utf8(bytes).ok()?.trim_end();
    if let Some(data) = text.strip_prefix("data:") {
        return event_data(data.trim_start());
    }
    if ["event:", "id:", "retry:", ": "].iter().any(|field| text.starts_with(field)) && text.len() < 200 {
        return Some(Line::Entry(aside("a line of a stream without data")));
    }
    if text.starts_with('"') {
        return in_string(text);
    }
    for (mark, direction) in DIRECTIONS {
        if let Some(at) = text.find(mark) {
            return Some(message_of_log(&text[..at], direction, &text[at + mark.len() - 1..]));
        }
    }
    if is_log_of_client(text) {
        let format = Format::of(Container::McpDesktop);
        return Some(Line::Entry(Entry::Aside(Aside {
            format,
            what: "a line of a log without a message",
            is_parent: false,
        })));
    }
    let is_vllm = text.contains("Received request ") && text.contains("params: SamplingParams(");
    is_vllm
        .then_some(Line::Rejected("a line of vLLM's request log, which is text; log requests as JSON in front of it"))
}

fn event_data(data: &str) -> Option<Line<'_>> {
    if data == STREAM_END {
        let (format, value) = (Format::of(Container::Stream), Json::String(data.into()));
        return Some(Line::Entry(Entry::Piece(Piece { format, value })));
    }
    if data.is_empty() {
        return Some(Line::Entry(aside("a line of a stream without data")));
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
    Line::Entry(Entry::Piece(Piece { format: Format::of(Container::McpDesktop), value }))
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

fn aside<'a>(what: &'static str) -> Entry<'a> {
    Entry::Aside(Aside { format: Format::of(Container::Stream), what, is_parent: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_an_mcp_log() {
        let check = |line: &str, expected: &str| {
            let Some(Line::Entry(Entry::Piece(piece))) = read(line.as_bytes()) else { panic!("{line}") };
            assert_eq!(piece.value.to_compact_string(), expected, "{line}");
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
            assert_eq!(matches!(aside, Some(Line::Entry(Entry::Aside(_)))), is_one, "{line}");
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
}
