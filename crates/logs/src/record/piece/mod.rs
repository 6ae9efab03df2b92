//! A piece, understood: what a unit that is a part of a record says, for the stage that puts records together.
//!
//! - [`mcp`]: messages of the Model Context Protocol
//! - [`claude_code`], [`codex`]: lines of sessions of coding agents
//! - [`otel_event`]: events of the GenAI conventions up to 1.36
//!
//! Events of streams are taken as they are; [`stream`](super::stream) puts them together.

pub mod claude_code;
pub mod codex;
pub mod mcp;
pub mod otel_event;

use super::{
    Container, Piece,
    json::Json,
    stream::{Stream, StreamDialect},
};

/// What a piece says.
#[derive(Debug)]
pub enum Part {
    /// A chunk or event of a streamed answer.
    Event {
        /// How it is written.
        dialect: StreamDialect,
        /// The id of the stream, where the event has it.
        id: Option<String>,
        /// The event.
        event: Json<'static>,
    },
    /// That a stream of server-sent events is over (`[DONE]`).
    StreamEnd,
    /// A message of the Model Context Protocol.
    Mcp(mcp::Line),
    /// A line of a Claude Code session.
    ClaudeCode(claude_code::Line),
    /// A line of a Codex session.
    Codex(codex::Line),
    /// An event of a span.
    OtelEvent(otel_event::Event),
    /// Something that holds no call, as a noun.
    Aside(&'static str),
}

/// What ends a stream of server-sent events.
pub const STREAM_END: &str = "[DONE]";

/// Understands a piece.
///
/// # Errors
/// With a clause that says why, when the piece is not what its container holds.
pub fn read(piece: Piece<'static>) -> Result<Part, String> {
    let Piece { format, value } = piece;
    match format.container {
        Container::Mcp | Container::McpDesktop => mcp::read(value),
        Container::ClaudeCode => claude_code::read(value),
        Container::Codex => codex::read(value),
        Container::Otlp => otel_event::read(value),
        _ => read_event(value),
    }
}

fn read_event(value: Json<'static>) -> Result<Part, String> {
    if value.as_str() == Some(STREAM_END) {
        return Ok(Part::StreamEnd);
    }
    match Stream::event_of(&value) {
        Some((dialect, id)) => Ok(Part::Event { dialect, id, event: value }),
        None => Err("a part of a record of no known kind".to_owned()),
    }
}

/// The text of a key, owned.
fn text(value: &Json<'_>, key: &str) -> Option<String> {
    value.get(key).and_then(Json::as_str).map(str::to_owned)
}

fn object(entries: impl IntoIterator<Item = (&'static str, Json<'static>)>) -> Json<'static> {
    Json::Object(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

fn string(text: impl Into<String>) -> Json<'static> {
    Json::String(text.into().into())
}

/// The milliseconds of a time, where it can be read.
fn time_ms(value: Option<&Json<'_>>) -> Option<i64> {
    super::values::timestamp_ms(value?, None).ok()
}
