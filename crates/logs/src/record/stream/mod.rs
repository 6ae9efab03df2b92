//! Streamed answers put together again: events in their order → the body that a call without streaming would have had.
//! The events stand in units of their own (`assemble` feeds them one after another), or as a list in one value
//! ([`Stream::of_list`]).
//!
//! - [`openai_chat`]: `chat.completion.chunk` objects
//! - [`openai_responses`]: `response.*` events
//! - [`anthropic`]: `message_start` to `message_stop`
//! - [`gemini`]: partial `GenerateContentResponse` objects
//! - [`cohere`]: events of v1 and of v2
//! - [`converse`]: events of Bedrock Converse
//! - [`pieces`]: Ollama, llama.cpp, Text Generation Inference
//!
//! What comes out is a body in the dialect of the provider, for the reader of that dialect; nothing is known here of
//! records. An event that does not fit is left out, never an error: a log may begin or end in the middle of a stream.
//!
//! **Source**: the API references of the providers; the twelve event types are those that their SDKs accumulate.
//!
//! **Limits**: a stream holds at most [`PARTS_MAX`] choices, blocks or calls; what goes beyond is left out. What an event
//! says beside text, calls, finish reason and usage (log probabilities, citations, signatures) is left out.

pub mod anthropic;
pub mod cohere;
pub mod converse;
pub mod gemini;
pub mod openai_chat;
pub mod openai_responses;
pub mod pieces;

use std::borrow::Cow;

use super::{
    Dialect,
    json::{Json, Number},
};
use pieces::Server;

/// Choices, content blocks or tool calls of one stream.
pub const PARTS_MAX: usize = 1_024;

/// How the events of a stream are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamDialect {
    /// OpenAI Chat Completions.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini generateContent.
    Gemini,
    /// Cohere chat.
    Cohere,
    /// Bedrock Converse.
    Converse,
    /// Ollama.
    Ollama,
    /// llama.cpp.
    LlamaCpp,
    /// Text Generation Inference.
    Tgi,
}

impl StreamDialect {
    /// The dialect of the body that such a stream makes.
    pub fn body(self) -> Dialect {
        match self {
            StreamDialect::OpenaiChat => Dialect::OpenAiChat,
            StreamDialect::OpenaiResponses => Dialect::OpenAiResponses,
            StreamDialect::Anthropic => Dialect::Anthropic,
            StreamDialect::Gemini => Dialect::Gemini,
            StreamDialect::Cohere => Dialect::Cohere,
            StreamDialect::Converse => Dialect::BedrockConverse,
            StreamDialect::Ollama => Dialect::Ollama,
            StreamDialect::LlamaCpp => Dialect::LlamaCpp,
            StreamDialect::Tgi => Dialect::Tgi,
        }
    }

    /// The dialect of a server's pieces.
    fn of_server(server: Server) -> StreamDialect {
        match server {
            Server::Ollama => StreamDialect::Ollama,
            Server::LlamaCpp => StreamDialect::LlamaCpp,
            Server::Tgi => StreamDialect::Tgi,
        }
    }
}

/// How far a stream is after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More is to come.
    Open,
    /// The answer has ended; the token counts may still come.
    Ended,
    /// Nothing is to come.
    Complete,
}

/// A stream of which some events have been seen.
#[derive(Debug)]
pub enum Stream {
    /// OpenAI Chat Completions.
    OpenaiChat(openai_chat::Stream),
    /// OpenAI Responses.
    OpenaiResponses(openai_responses::Stream),
    /// Anthropic Messages.
    Anthropic(anthropic::Stream),
    /// Gemini generateContent.
    Gemini(gemini::Stream),
    /// Cohere chat.
    Cohere(cohere::Stream),
    /// Bedrock Converse.
    Converse(converse::Stream),
    /// A server whose pieces are answers in small.
    Pieces(pieces::Stream),
}

impl Stream {
    /// A stream of which nothing has been seen.
    pub fn new(dialect: StreamDialect) -> Stream {
        match dialect {
            StreamDialect::OpenaiChat => Stream::OpenaiChat(openai_chat::Stream::default()),
            StreamDialect::OpenaiResponses => Stream::OpenaiResponses(openai_responses::Stream::default()),
            StreamDialect::Anthropic => Stream::Anthropic(anthropic::Stream::default()),
            StreamDialect::Gemini => Stream::Gemini(gemini::Stream::default()),
            StreamDialect::Cohere => Stream::Cohere(cohere::Stream::default()),
            StreamDialect::Converse => Stream::Converse(converse::Stream::default()),
            StreamDialect::Ollama => Stream::Pieces(pieces::Stream::new(Server::Ollama)),
            StreamDialect::LlamaCpp => Stream::Pieces(pieces::Stream::new(Server::LlamaCpp)),
            StreamDialect::Tgi => Stream::Pieces(pieces::Stream::new(Server::Tgi)),
        }
    }

    /// The dialect of an object that is an event of a stream by itself, and the id that its stream has in it.
    pub fn event_of(object: &Json<'_>) -> Option<(StreamDialect, Option<String>)> {
        let text = |key| object.get(key).and_then(Json::as_str).map(str::to_owned);
        if openai_chat::is_chunk(object) {
            return Some((StreamDialect::OpenaiChat, text("id")));
        }
        if let Some(kind) = object.get("type").and_then(Json::as_str) {
            if anthropic::is_event(kind, object) {
                return Some((StreamDialect::Anthropic, None));
            }
            if openai_responses::is_event(kind, object) {
                return Some((StreamDialect::OpenaiResponses, None));
            }
        }
        if cohere::is_event(object) {
            return Some((StreamDialect::Cohere, None));
        }
        if converse::is_event(object) {
            return Some((StreamDialect::Converse, None));
        }
        if let Some(server) = Server::of(object) {
            return Some((StreamDialect::of_server(server), server.name(object)));
        }
        gemini::is_part(object).then(|| (StreamDialect::Gemini, text("responseId").or_else(|| text("response_id"))))
    }

    /// Whether an event is a whole answer by itself, unless its stream was begun.
    pub fn may_stand_alone(dialect: StreamDialect, event: &Json<'_>) -> bool {
        match dialect {
            StreamDialect::OpenaiChat => openai_chat::is_whole(event),
            StreamDialect::Gemini => !gemini::is_open_part(event),
            _ => Server::of(event).is_some_and(|server| !server.is_open(event)),
        }
    }

    /// Whether a list is one of the events of a stream.
    pub fn is_list(events: &[Json<'_>]) -> bool {
        dialect_of(events).is_some()
    }

    /// The stream whose events a list holds; gives the list back when it is none. What is no object (`[DONE]`) is passed
    /// over.
    ///
    /// # Errors
    /// With the list.
    pub fn of_list(events: Vec<Json<'_>>) -> Result<Stream, Vec<Json<'_>>> {
        let Some(dialect) = dialect_of(&events) else { return Err(events) };
        let mut stream = Stream::new(dialect);
        for event in events {
            if let Json::Object(_) = event {
                stream.absorb(event.into_owned());
            }
        }
        Ok(stream)
    }

    /// Whether the event begins a new stream, so that the one before it under the same id is over.
    pub fn is_beginning(&self, event: &Json<'_>) -> bool {
        match self {
            Stream::OpenaiChat(stream) => stream.is_over_before(event),
            Stream::OpenaiResponses(_) => event.get("type").and_then(Json::as_str) == Some("response.created"),
            Stream::Anthropic(_) => event.get("type").and_then(Json::as_str) == Some("message_start"),
            Stream::Gemini(stream) => stream.is_over_before(event),
            Stream::Cohere(_) => cohere::Stream::is_beginning(event),
            Stream::Converse(_) => event.get("messageStart").is_some(),
            Stream::Pieces(_) => false,
        }
    }

    /// Takes the next event.
    pub fn absorb(&mut self, event: Json<'static>) -> Progress {
        match self {
            Stream::OpenaiChat(stream) => stream.absorb(event),
            Stream::OpenaiResponses(stream) => stream.absorb(event),
            Stream::Anthropic(stream) => stream.absorb(event),
            Stream::Gemini(stream) => stream.absorb(event),
            Stream::Cohere(stream) => stream.absorb(event),
            Stream::Converse(stream) => stream.absorb(event),
            Stream::Pieces(stream) => stream.absorb(event),
        }
    }

    /// Why the stream is not whole, as a clause, when it is not.
    pub fn lack(&self) -> Option<&'static str> {
        let (has_head, has_end) = match self {
            Stream::OpenaiChat(stream) => (true, stream.has_ended()),
            Stream::OpenaiResponses(stream) => (stream.has_begun(), stream.has_ended()),
            Stream::Anthropic(stream) => (stream.has_begun(), stream.has_ended()),
            Stream::Gemini(stream) => (true, stream.has_ended()),
            Stream::Cohere(stream) => (stream.has_begun(), stream.has_ended()),
            Stream::Converse(stream) => (stream.has_begun(), stream.has_ended()),
            Stream::Pieces(stream) => (true, stream.has_ended()),
        };
        match (has_head, has_end) {
            (true, true) => None,
            (true, false) => Some("breaks off before the stream ends"),
            (false, true) => Some("begins in the middle of the stream"),
            (false, false) => Some("begins and breaks off in the middle of the stream"),
        }
    }

    /// The body of the answer, as far as it was seen.
    pub fn into_body(self) -> Json<'static> {
        match self {
            Stream::OpenaiChat(stream) => stream.into_body(),
            Stream::OpenaiResponses(stream) => stream.into_body(),
            Stream::Anthropic(stream) => stream.into_body(),
            Stream::Gemini(stream) => stream.into_body(),
            Stream::Cohere(stream) => stream.into_body(),
            Stream::Converse(stream) => stream.into_body(),
            Stream::Pieces(stream) => stream.into_body(),
        }
    }
}

/// The dialect of the events that a list holds.
fn dialect_of(events: &[Json<'_>]) -> Option<StreamDialect> {
    // A sign of life says nothing of what the others are.
    let is_sign = |event: &Json<'_>| event.get("type").and_then(Json::as_str) == Some("ping");
    let events = events.iter().filter(|event| matches!(event, Json::Object(_)) && !is_sign(event));
    let mut dialects = events.map(|event| Stream::event_of(event));
    let (dialect, _) = dialects.next().flatten()?;
    // Services put objects of their own between the events (metrics); a list of Gemini has nothing else.
    let mut is_pure = || dialects.all(|other| other.is_some_and(|(other, _)| other == dialect));
    (dialect != StreamDialect::Gemini || is_pure()).then_some(dialect)
}

fn string(text: impl Into<String>) -> Json<'static> {
    Json::String(Cow::Owned(text.into()))
}

fn object(entries: impl IntoIterator<Item = (&'static str, Json<'static>)>) -> Json<'static> {
    Json::Object(entries.into_iter().map(|(key, value)| (Cow::Borrowed(key), value)).collect())
}

fn index_of(part: &Json<'_>) -> usize {
    let index = part.get("index").or_else(|| part.get("output_index"));
    let index = index.and_then(Json::as_number).and_then(Number::as_integer);
    index.and_then(|index| usize::try_from(index).ok()).unwrap_or(0)
}

/// Appends the text of a key to `to`.
fn append(part: &Json<'_>, key: &str, to: &mut String) {
    if let Some(text) = part.get(key).and_then(Json::as_str) {
        to.push_str(text);
    }
}

/// Arguments that were streamed as text: the JSON in it, else the text.
fn arguments(text: String) -> Json<'static> {
    if text.trim().is_empty() {
        return object([]);
    }
    Json::parse_text(Cow::Owned(text)).unwrap_or_else(|text| Json::String(Cow::Owned(text.into_owned())))
}
