//! Chunks and events of streamed answers → one answer.
//!
//! A stream is known by the id in its events, and where these have none, by its source: events without an id belong to the
//! answer that was begun last in their file. An answer is whole when its end was seen together with its token counts; where
//! it has none, when `[DONE]` follows, or [`TAIL_PIECES`](super::TAIL_PIECES) further pieces of streams have passed.
//!
//! A `[DONE]` ends one stream of its file: one that was whole before it, else the one that ended first, else the one that
//! said something last, also where no event said why it ended.
//!
//! **Limits**: answers that are interleaved in one file without an id in every event cannot be told apart.

use crate::{
    hash,
    input::Place,
    record::{
        Aside, Format, Record,
        json::Json,
        stream::{Progress, Stream, StreamDialect},
    },
};

use super::{Assembler, Body, Fate, Joined, Key, Step, TAIL_PIECES, Whole};

/// What stands for the id of a stream whose events have none.
const NO_ID: &str = "";

/// A streamed answer of which some pieces have been seen.
#[derive(Debug)]
pub struct Answer {
    stream: Stream,
    /// Hash of id and dialect.
    name: u64,
    /// Whether `[DONE]` has ended it.
    is_done: bool,
}

/// Where the streams of a source stand with their `[DONE]`.
#[derive(Debug, Default)]
pub struct Source {
    /// Streams that were whole before it came.
    whole: u64,
    /// The stream that said something last.
    last: u64,
}

impl Answer {
    pub fn join(self, place: Place, format: Format) -> Joined {
        let lack = self.stream.lack().filter(|_| !self.is_done);
        let joined = Joined::new(place, format, Whole::Tree(self.stream.into_body()));
        match lack {
            Some(lack) => joined.lacking("stream", lack),
            None => joined,
        }
    }
}

impl Assembler {
    /// Takes an event of a stream.
    pub(super) fn push_event(
        &mut self,
        step: &mut Step,
        dialect: StreamDialect,
        id: Option<&str>,
        event: Json<'static>,
    ) -> Fate {
        self.stream_pieces += 1;
        self.let_ended_go(step);
        let name = hash::combine(step.in_source(id.unwrap_or(NO_ID)), dialect as u64);
        let key = Key::Stream(name);
        let known = self.waiting(key);
        let over = known.filter(|number| match self.body(*number) {
            Some(Body::Stream(answer)) => answer.stream.is_beginning(&event),
            _ => false,
        });
        if let Some(number) = over {
            self.let_go(number, step);
        }
        if let Some(number) = known.filter(|_| over.is_none()) {
            self.grow(number, step.bytes);
            let Some(Body::Stream(answer)) = self.body(number) else { return Fate::Merged };
            let progress = answer.stream.absorb(event);
            self.note_progress(number, progress, step);
            return Fate::Merged;
        }
        if self.late.contains(&name) && is_tail(&event) {
            return Fate::Merged;
        }
        if event.get("type").and_then(Json::as_str) == Some("ping") {
            return Fate::Aside(Aside { format: step.format, what: "a sign of life", is_parent: false });
        }
        let mut stream = Stream::new(dialect);
        let progress = stream.absorb(event);
        let number = self.begin(step, key, Body::Stream(Answer { stream, name, is_done: false }));
        self.note_progress(number, progress, step);
        Fate::Held
    }

    /// Takes a `[DONE]`, which ends one stream of its source.
    pub(super) fn end_stream(&mut self, step: &mut Step) -> Fate {
        let source = self.sources.get_or_insert_mut(hash::name(&step.place.source), Source::default);
        if source.whole > 0 {
            source.whole -= 1;
        } else {
            let last = source.last;
            let is_here =
                |number: &u64| self.open.get(number).is_some_and(|open| open.place.source == step.place.source);
            let number = self.ended.iter().map(|(_, number)| *number).find(is_here).unwrap_or(last);
            if let Some(Body::Stream(answer)) = self.body(number) {
                answer.is_done = true;
                self.let_go(number, step);
            }
        }
        Fate::Aside(Aside { format: step.format, what: "the end of a stream", is_parent: false })
    }

    /// Takes a response of Gemini that says why it ended: the last part of a stream where one is open, else a record.
    pub(super) fn push_last_part(&mut self, step: &mut Step, record: Record<'static>) -> Fate {
        let id = record.response_id.as_deref().unwrap_or(NO_ID);
        let name = hash::combine(step.in_source(id), StreamDialect::Gemini as u64);
        let Some(open) = self.take_waiting(Key::Stream(name)) else {
            step.records.push(Joined::new(step.place.clone(), step.format, Whole::Record(Box::new(record))));
            return Fate::Held;
        };
        if let Body::Stream(answer) = open.body {
            let whole = Whole::Continued(Box::new(record), answer.stream.into_body());
            step.records.push(Joined::new(open.place, open.format, whole));
        }
        Fate::Merged
    }

    fn note_progress(&mut self, number: u64, progress: Progress, step: &mut Step) {
        let source = self.sources.get_or_insert_mut(hash::name(&step.place.source), Source::default);
        source.last = number;
        source.whole += u64::from(progress == Progress::Complete);
        match progress {
            Progress::Complete => self.let_go(number, step),
            Progress::Ended => self.ended.push_back((self.stream_pieces, number)),
            Progress::Open => {}
        }
    }

    /// Streams whose token counts did not come.
    fn let_ended_go(&mut self, step: &mut Step) {
        while let Some((when, number)) = self.ended.front().copied() {
            if when + TAIL_PIECES > self.stream_pieces && self.open.contains_key(&number) {
                return;
            }
            self.ended.pop_front();
            self.let_go(number, step);
        }
    }

    fn let_go(&mut self, number: u64, step: &mut Step) {
        let Some(open) = self.take(number) else { return };
        if let Body::Stream(Answer { name, .. }) = &open.body {
            self.late.put(*name, ());
        }
        step.records.extend(open.join());
    }
}

/// Whether an event adds no text to an answer: what is left of it when the answer has gone.
fn is_tail(event: &Json<'_>) -> bool {
    let is_empty = |key: &str| event.get(key).is_none_or(|value| value.as_array().is_some_and(<[_]>::is_empty));
    event.get("type").is_none() && is_empty("choices") && is_empty("candidates")
}
