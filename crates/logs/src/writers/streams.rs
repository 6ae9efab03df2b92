//! Chunks and events of streamed answers, one a line → one answer.
//!
//! A stream is known by the id in its events, and where these have none, by its source: events without an id belong to the
//! answer that was begun last in their file. An answer is whole when its end was seen together with its token counts; where
//! it has none, when `[DONE]` follows, or [`TAIL_PIECES`] further pieces of streams have passed.
//!
//! A `[DONE]` ends one stream of its file: one that was whole before it, else the one that ended first, else the one that
//! said something last, also where no event said why it ended.
//!
//! A response of Gemini, Ollama or llama.cpp that says why it ended is the last part of a stream where one is open, else a
//! body alone; so is an answer of the old Completions.
//!
//! **Limits**: answers that are interleaved in one file without an id in every event cannot be told apart.

use std::collections::VecDeque;

use lru::LruCache;

use crate::{
    assemble::{
        Fate, Joined, Joiner, Limits, Load, Step,
        waiting::{Open, Waiting},
    },
    hash,
    record::{
        Container, Content, Entry, Format, Fragment, body,
        call::{Call, Entries},
        json::Json,
        stream::{Progress, Stream, StreamDialect, cohere, converse, gemini, openai_chat, pieces::Server},
    },
};

use super::{Writer, text};

const CONTAINER: Container = Container::named("stream");

/// What ends a stream of server-sent events.
pub(crate) const STREAM_END: &str = "[DONE]";

/// Pieces of streams that may follow the end of an answer before its token counts are no longer waited for.
const TAIL_PIECES: u64 = 1_024;

/// What stands for the id of a stream whose events have none.
const NO_ID: &str = "";

/// Pieces of streamed answers.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "pieces of a streamed answer, also as `data:` lines",
    told_by: "`chat.completion.chunk`, event types, parts of Gemini, `done` of Ollama",
    marks: &[
        "delta",
        "content_block",
        "object",
        "type",
        "candidates",
        "usageMetadata",
        "usage_metadata",
        "choices",
        "done",
        "stop",
        "token",
        "event_type",
        "messageStart",
        "contentBlockStart",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
        "metadata",
    ],
    matches: is_chunk,
    read,
    joiner: Some(|limits| Box::new(Streams::new(limits))),
};

fn is_chunk(value: &Json<'_>) -> bool {
    let kind = text(value, "type");
    let is_event = matches!(kind, "message_start" | "content_block_stop" | "message_stop" | "ping")
        || kind.starts_with("response.")
        || value.get("delta").is_some()
        || value.get("content_block").is_some();
    openai_chat::is_chunk(value)
        || (is_event && Stream::event_of(value).is_some())
        || (gemini::is_part(value) && body::is_response_body(value))
        || cohere::is_event(value)
        || converse::is_event(value)
        || Server::of(value).is_some()
        || is_filter(value)
}

/// Whether an object is what Azure says of the prompt before the answer begins.
fn is_filter(value: &Json<'_>) -> bool {
    value.get("prompt_filter_results").is_some()
        && value.get("choices").and_then(Json::as_array).is_some_and(<[_]>::is_empty)
}

fn read<'a>(value: Json<'a>, entries: &mut Entries<'a>) {
    if is_filter(&value) {
        return entries.skipped(CONTAINER, "what a content filter says of a prompt");
    }
    entries.push(Ok(Entry::Fragment(fragment(value))));
}

/// A piece of a stream, or what ends one.
pub(crate) fn fragment(value: Json<'_>) -> Fragment<'_> {
    let dialect = Stream::event_of(&value).map(|(dialect, _)| dialect.body());
    Fragment::of_value(Format { container: CONTAINER, dialect }, value)
}

/// Streams that have not ended.
#[derive(Debug)]
struct Streams {
    open: Waiting<Streamed>,
    /// Streams that have ended and wait for their token counts: when, and which.
    ended: VecDeque<(u64, u64)>,
    pieces: u64,
    late: LruCache<u64, ()>,
    /// Where the streams of a source stand with their `[DONE]`.
    sources: LruCache<u64, Source>,
}

/// A streamed answer of which some pieces have been seen.
#[derive(Debug)]
struct Streamed {
    stream: Stream,
    /// Hash of id and dialect.
    name: u64,
    /// Whether `[DONE]` has ended it.
    is_done: bool,
}

#[derive(Debug, Default)]
struct Source {
    /// Streams that were whole before it came.
    whole: u64,
    /// The stream that said something last.
    last: u64,
}

impl Streams {
    fn new(limits: &Limits) -> Streams {
        Streams {
            open: Waiting::default(),
            ended: VecDeque::new(),
            pieces: 0,
            late: LruCache::new(limits.answers()),
            sources: LruCache::new(limits.sessions()),
        }
    }

    /// Takes an event of a stream.
    fn event(&mut self, dialect: StreamDialect, id: Option<&str>, event: Json<'static>, step: &mut Step) -> Fate {
        self.pieces += 1;
        self.let_ended_go(step);
        let name = hash::combine(step.in_source(id.unwrap_or(NO_ID)), dialect as u64);
        let mut known = self.open.find(name);
        if let Some(number) = known
            && self.open.get(number).is_some_and(|open| open.body.stream.is_beginning(&event))
        {
            self.let_go(number, step);
            known = None;
        }
        if let Some(number) = known {
            self.open.grow(number, step.bytes);
            let Some(streamed) = self.open.body(number) else { return Fate::Merged };
            let progress = streamed.stream.absorb(event);
            self.note_progress(number, progress, step);
            return Fate::Merged;
        }
        if self.late.contains(&name) && is_tail(dialect, &event) {
            return Fate::Merged;
        }
        if text(&event, "type") == "ping" {
            return Fate::skipped(step.format, "a sign of life");
        }
        if Stream::may_stand_alone(dialect, &event) {
            return alone(event, step);
        }
        let mut stream = Stream::new(dialect);
        let progress = stream.absorb(event);
        let number = self.open.begin(step, name, Streamed { stream, name, is_done: false });
        self.note_progress(number, progress, step);
        Fate::Held
    }

    /// Takes a `[DONE]`, which ends one stream of its source.
    fn end(&mut self, step: &mut Step) -> Fate {
        let source = self.sources.get_or_insert_mut(hash::name(&step.place.source), Source::default);
        if source.whole > 0 {
            source.whole -= 1;
        } else {
            let last = source.last;
            let is_here =
                |number: &u64| self.open.get(*number).is_some_and(|open| open.place.source == step.place.source);
            let number = self.ended.iter().map(|(_, number)| *number).find(is_here).unwrap_or(last);
            if let Some(streamed) = self.open.body(number) {
                streamed.is_done = true;
                self.let_go(number, step);
            }
        }
        Fate::skipped(step.format, "the end of a stream")
    }

    fn note_progress(&mut self, number: u64, progress: Progress, step: &mut Step) {
        let source = self.sources.get_or_insert_mut(hash::name(&step.place.source), Source::default);
        source.last = number;
        source.whole += u64::from(progress == Progress::Complete);
        match progress {
            Progress::Complete => self.let_go(number, step),
            Progress::Ended => self.ended.push_back((self.pieces, number)),
            Progress::Open => {}
        }
    }

    /// Streams whose token counts did not come.
    fn let_ended_go(&mut self, step: &mut Step) {
        while let Some((when, number)) = self.ended.front().copied() {
            if when + TAIL_PIECES > self.pieces && self.open.get(number).is_some() {
                return;
            }
            self.ended.pop_front();
            self.let_go(number, step);
        }
    }

    fn let_go(&mut self, number: u64, step: &mut Step) {
        let Some(open) = self.open.take(number) else { return };
        self.late.put(open.body.name, ());
        step.records.push(joined(open));
    }
}

impl Joiner for Streams {
    fn push(&mut self, fragment: Fragment<'static>, step: &mut Step) -> Fate {
        let Content::Value(value) = fragment.content else { return Fate::Rejected("no piece of a stream".to_owned()) };
        if value.as_str() == Some(STREAM_END) {
            return self.end(step);
        }
        match Stream::event_of(&value) {
            Some((dialect, id)) => self.event(dialect, id.as_deref(), value, step),
            None => Fate::Rejected("a part of a record of no known kind".to_owned()),
        }
    }

    fn load(&self) -> Load {
        self.open.load()
    }

    fn let_oldest_go(&mut self, step: &mut Step) {
        if let Some(number) = self.open.load().oldest {
            self.let_go(number, step);
        }
    }

    fn close(&mut self) {
        self.ended.clear();
    }
}

fn joined(open: Open<Streamed>) -> Joined {
    let Streamed { stream, is_done, .. } = open.body;
    let lack = stream.lack().filter(|_| !is_done);
    let mut call = Call::llm(CONTAINER);
    call.answered(body::read_stream(stream));
    let mut record = call.record();
    record.format = Format { dialect: open.format.dialect.or(record.format.dialect), ..open.format };
    let joined = Joined::record(open.place, record);
    match lack {
        Some(lack) => joined.lacking("stream", lack),
        None => joined,
    }
}

/// A whole answer that no stream waits for.
fn alone(mut value: Json<'static>, step: &mut Step) -> Fate {
    let asked = super::lines::take_asked(&mut value);
    let Ok(answer) = body::read_response_body(value) else {
        return Fate::Rejected("a part of a record of no known kind".to_owned());
    };
    let mut call = Call::llm(Container::BARE);
    call.asked(asked);
    call.answered(answer);
    step.release(call.record())
}

/// Whether an event adds no text to an answer: what is left of it when the answer has gone.
fn is_tail(dialect: StreamDialect, event: &Json<'_>) -> bool {
    let is_empty = |key: &str| event.get(key).is_none_or(|value| value.as_array().is_some_and(<[_]>::is_empty));
    matches!(dialect, StreamDialect::OpenaiChat | StreamDialect::Gemini)
        && is_empty("choices")
        && is_empty("candidates")
}
