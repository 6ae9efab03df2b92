//! Pieces become records: what several units hold together is put together here, in input order, in bounded memory.
//!
//! - `streams`: chunks and events of streamed answers
//! - `batches`: requests and answers of batch files, by `custom_id`
//! - `mcp`: JSON-RPC requests and responses, by id, direction and connection
//! - `claude_code`, `codex`: sessions of coding agents
//! - `otel_events`: events of GenAI conventions up to 1.36, joined with their spans
//! - [`tool_calls`]: calls in conversations and their results, whatever the log was written by
//! - `claims`: records of the log's own for calls that conversations tell too
//! - [`duplicates`]: answers that the log holds twice
//!
//! All but the last three make records out of [`Piece`](crate::record::Piece)s, and out of records that are parts
//! ([`is_part`]): [`Assembler`]. The last three look at records that stand whole, and at what the assembler says of calls:
//! [`Pairer`](tool_calls::Pairer) and [`Answers`](duplicates::Answers). Records of our own form are never joined, merged or
//! held to be duplicates; the calls in their conversations are paired like all others.
//!
//! A record stands where its first piece stands, and comes out in the order of the piece that completed it; one that was
//! not completed comes out when there is no more room for it, or at the end of the input, in the order in which they
//! began. What comes out, and in which order, depends on the order of the pieces alone, never on batches or threads.
//!
//! **Ledger**: a unit that begins a record is counted with it, as audited, when it comes out; every other piece is counted
//! as merged. What holds no call (notifications, headings, meta lines) is counted by name, as skipped.
//!
//! **Limits**: [`Limits`]. Pieces that wait are bounded in number and bytes; the oldest record goes first, as far as it
//! has come, and the report notes how often that was so.

mod batches;
mod claims;
mod claude_code;
mod codex;
pub mod duplicates;
mod inputs;
mod mcp;
mod otel_events;
mod streams;
pub mod tool_calls;

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    iter, mem,
    sync::Arc,
};

use lru::LruCache;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    hash,
    input::Place,
    record::{
        Aside, Container, Dialect, Format, Kind, Note, Notes, Piece, Problem, Record,
        json::Json,
        piece::{self, Part},
    },
};
use tool_calls::Traffic;

/// What bounds the memory of the stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Records that may wait for further pieces; a batch file of OpenAI holds at most 50,000 requests.
    pub records_max: usize,
    /// Bytes of the pieces that they wait with, and of the tools that connections have declared.
    pub bytes_max: u64,
    /// Sessions and connections of which something is remembered (the model, declared tools); the longest unused go first.
    pub sessions_max: usize,
    /// Calls of tools that are remembered: those that wait for a result, and those that were seen.
    pub calls_max: usize,
    /// Answers that are remembered, to tell duplicates.
    pub answers_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            records_max: 131_072,
            bytes_max: 256 << 20,
            sessions_max: 4_096,
            calls_max: 65_536,
            answers_max: 65_536,
        }
    }
}

/// Pieces of streams that may follow the end of an answer before its token counts are no longer waited for.
const TAIL_PIECES: u64 = 1_024;
/// What a piece takes beside its text.
const PIECE_BYTES: u64 = 256;

/// A record that was put together.
#[derive(Debug)]
pub struct Joined {
    /// Where it begins.
    pub place: Place,
    /// Whether no unit is counted with it.
    pub is_further: bool,
    /// What it is.
    pub whole: Whole,
    /// What it was written by.
    pub format: Format,
    /// What is to be said of how it was put together.
    pub problems: Vec<Problem>,
    /// What its reader should know of that.
    pub notes: Notes,
    /// The declaration of the tool that it calls, shared by all of its calls.
    pub declaration: Option<Arc<Json<'static>>>,
    /// The conversation that it belongs to, where that is not told by its session id.
    pub scope: Option<u64>,
    /// Whether the calls in it came out already.
    pub is_paired: bool,
}

/// A record, or what is read as one.
#[derive(Debug)]
pub enum Whole {
    /// A record.
    Record(Box<Record<'static>>),
    /// A tree in the form of a body, or of a pair of bodies.
    Tree(Json<'static>),
    /// A record, and the texts that it lacks, as a pair of bodies.
    Completed(Box<Record<'static>>, Json<'static>),
    /// A record that is the end of an answer, and the body that comes before it.
    Continued(Box<Record<'static>>, Json<'static>),
}

impl Joined {
    fn new(place: Place, format: Format, whole: Whole) -> Joined {
        Joined {
            place,
            is_further: false,
            whole,
            format,
            problems: Vec::new(),
            notes: Notes::default(),
            declaration: None,
            scope: None,
            is_paired: false,
        }
    }

    /// The other half of the call is not in the log. All that the log has of it was read.
    fn without_half(mut self) -> Joined {
        self.notes.add(Note::HalfMissing);
        self
    }

    fn lacking(mut self, field: &str, reason: impl Into<String>) -> Joined {
        self.problems.push(Problem { field: field.to_owned(), reason: reason.into() });
        self
    }
}

/// Whether a record may be a part of another: a line of a batch file, the last part of a streamed answer of Gemini, a span
/// whose texts stand in events of its own.
pub fn is_part(record: &Record<'_>) -> bool {
    let is_silent = || record.response.is_none() && record.tool_calls.is_empty();
    match (record.format.container, record.format.dialect) {
        (Container::OpenAiBatch | Container::AnthropicBatch, _) | (Container::Bare, Some(Dialect::Gemini)) => true,
        (_, Some(Dialect::GenAi136)) => record.span.is_some() && record.kind == Kind::Llm && is_silent(),
        _ => false,
    }
}

/// What becomes of the unit of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It begins a record, and is counted when that comes out.
    Held,
    /// It is a part of a record that another unit begins.
    Merged,
    /// It holds no call.
    Aside(Aside),
    /// It is none of what it seemed to be, and why.
    Rejected(String),
}

/// What a piece led to.
#[derive(Debug)]
pub struct Pushed {
    /// What becomes of its unit.
    pub fate: Fate,
    /// The records that are whole now, in their order.
    pub records: Vec<Joined>,
    /// What it says of calls of tools.
    pub traffic: Vec<Traffic>,
}

/// What waits under which name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Stream(u64),
    /// By id, and whether it is an answer.
    Batch(u64, bool),
    Mcp(u64),
    ClaudeCode(u64),
    Codex(u64),
    Events(u64),
}

/// A record that waits for further pieces.
#[derive(Debug)]
struct Open {
    key: Key,
    place: Place,
    format: Format,
    bytes: u64,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Stream(streams::Answer),
    Batch(batches::Half),
    Mcp(mcp::Request),
    ClaudeCode(claude_code::Turn),
    Codex(codex::Turn),
    Events(otel_events::Events),
}

/// Puts pieces together, one after another.
#[derive(Debug)]
pub struct Assembler {
    limits: Limits,
    /// By the number of the piece that began them.
    open: BTreeMap<u64, Open>,
    index: HashMap<Key, VecDeque<u64>>,
    bytes: u64,
    pieces: u64,
    /// Streams that have ended and wait for their token counts: when, and which.
    ended: VecDeque<(u64, u64)>,
    stream_pieces: u64,
    late: LruCache<u64, ()>,
    /// Where streams of a source stand with their `[DONE]`.
    sources: LruCache<u64, streams::Source>,
    connections: LruCache<u64, mcp::Connection>,
    declared: mcp::Ledger,
    /// Lines that were seen, whichever session they stand in, and in which turn.
    claude_lines: LruCache<u64, u64>,
    codex_sessions: LruCache<u64, codex::Session>,
    evicted: u64,
    evicted_for_bytes: u64,
}

impl Assembler {
    /// An assembler that holds nothing yet.
    pub fn new(limits: &Limits) -> Assembler {
        let sessions = std::num::NonZeroUsize::new(limits.sessions_max).unwrap_or(std::num::NonZeroUsize::MIN);
        let answers = std::num::NonZeroUsize::new(limits.answers_max).unwrap_or(std::num::NonZeroUsize::MIN);
        Assembler {
            limits: limits.clone(),
            open: BTreeMap::new(),
            index: HashMap::new(),
            bytes: 0,
            pieces: 0,
            ended: VecDeque::new(),
            stream_pieces: 0,
            late: LruCache::new(answers),
            sources: LruCache::new(sessions),
            connections: LruCache::new(sessions),
            declared: mcp::Ledger::default(),
            claude_lines: LruCache::new(answers),
            codex_sessions: LruCache::new(sessions),
            evicted: 0,
            evicted_for_bytes: 0,
        }
    }

    /// Takes the next piece of the input, which took `bytes` there.
    pub fn push(&mut self, place: Place, bytes: usize, piece: Piece<'static>) -> Pushed {
        self.pieces += 1;
        let format = piece.format;
        let mut step =
            Step { place, format, bytes: bytes as u64 + PIECE_BYTES, records: Vec::new(), traffic: Vec::new() };
        let fate = match piece::read(piece) {
            Err(reason) => Fate::Rejected(reason),
            Ok(Part::Aside(what)) => Fate::Aside(Aside { format, what, is_parent: false }),
            Ok(Part::Event { dialect, id, event }) => self.push_event(&mut step, dialect, id.as_deref(), event),
            Ok(Part::StreamEnd) => self.end_stream(&mut step),
            Ok(Part::Mcp(line)) => self.push_mcp(&mut step, line),
            Ok(Part::ClaudeCode(line)) => self.push_claude_code(&mut step, line),
            Ok(Part::Codex(line)) => self.push_codex(&mut step, line),
            Ok(Part::OtelEvent(event)) => self.push_otel_event(&mut step, event),
        };
        self.make_room(&mut step);
        Pushed { fate, records: step.records, traffic: step.traffic }
    }

    /// Takes a record that may be a part of another, which took `bytes` in the input: see [`is_part`].
    pub fn push_record(&mut self, place: Place, bytes: usize, record: Record<'static>) -> Pushed {
        self.pieces += 1;
        let (format, bytes) = (record.format, bytes as u64 + PIECE_BYTES);
        let mut step = Step { place, format, bytes, records: Vec::new(), traffic: Vec::new() };
        let fate = match format.container {
            Container::OpenAiBatch | Container::AnthropicBatch => self.push_half(&mut step, record),
            Container::Bare => self.push_last_part(&mut step, record),
            _ => self.push_otel_span(&mut step, record),
        };
        self.make_room(&mut step);
        Pushed { fate, records: step.records, traffic: step.traffic }
    }

    /// What has not been completed, in the order in which it began.
    pub fn finish(&mut self) -> Vec<Joined> {
        self.ended.clear();
        self.connections.clear();
        let numbers: Vec<u64> = self.open.keys().copied().collect();
        numbers.into_iter().filter_map(|number| self.take(number)).flat_map(Open::join).collect()
    }

    /// The limits that were reached: name, value, how often.
    pub fn limits_reached(&self) -> impl Iterator<Item = (&'static str, u64, u64)> {
        let notes = [
            ("assemble.records_max", self.limits.records_max as u64, self.evicted),
            ("assemble.bytes_max", self.limits.bytes_max, self.evicted_for_bytes),
        ];
        notes.into_iter().filter(|(_, _, times)| *times > 0)
    }

    /// Lets the oldest go where there are too many.
    fn make_room(&mut self, step: &mut Step) {
        while self.open.len() > self.limits.records_max || self.bytes + self.declared.bytes() > self.limits.bytes_max {
            if self.declared.bytes() > self.limits.bytes_max / 2 && self.connections.pop_lru().is_some() {
                self.evicted_for_bytes += 1;
                continue;
            }
            let Some(number) = self.open.keys().next().copied() else { return };
            let is_for_bytes = self.open.len() <= self.limits.records_max;
            *(if is_for_bytes { &mut self.evicted_for_bytes } else { &mut self.evicted }) += 1;
            step.records.extend(self.take(number).into_iter().flat_map(Open::join));
        }
    }

    /// The oldest record that waits under `key`.
    fn waiting(&mut self, key: Key) -> Option<u64> {
        self.index.get(&key)?.front().copied()
    }

    fn body(&mut self, number: u64) -> Option<&mut Body> {
        self.open.get_mut(&number).map(|open| &mut open.body)
    }

    /// Adds the bytes of a piece to a record.
    fn grow(&mut self, number: u64, bytes: u64) {
        if let Some(open) = self.open.get_mut(&number) {
            open.bytes += bytes;
            self.bytes += bytes;
        }
    }

    /// Gives back the bytes of what has come out of a record that goes on: `kept` are left.
    fn settle(&mut self, number: u64, kept: u64) {
        if let Some(open) = self.open.get_mut(&number) {
            self.bytes = self.bytes + kept - mem::replace(&mut open.bytes, kept);
        }
    }

    /// Begins a record with the piece at hand.
    fn begin(&mut self, step: &Step, key: Key, body: Body) -> u64 {
        let number = self.pieces;
        let open = Open { key, place: step.place.clone(), format: step.format, bytes: step.bytes, body };
        self.bytes += open.bytes;
        self.open.insert(number, open);
        self.index.entry(key).or_default().push_back(number);
        number
    }

    fn take(&mut self, number: u64) -> Option<Open> {
        let open = self.open.remove(&number)?;
        self.bytes -= open.bytes;
        if let Some(waiting) = self.index.get_mut(&open.key) {
            // As a rule the oldest goes first; a search each time would make many of one name quadratic.
            match waiting.front() == Some(&number) {
                true => drop(waiting.pop_front()),
                false => waiting.retain(|other| *other != number),
            }
            if waiting.is_empty() {
                self.index.remove(&open.key);
            }
        }
        Some(open)
    }

    fn take_waiting(&mut self, key: Key) -> Option<Open> {
        let number = self.waiting(key)?;
        self.take(number)
    }
}

impl Open {
    fn join(self) -> Box<dyn Iterator<Item = Joined>> {
        let Open { place, format, body, .. } = self;
        match body {
            Body::Stream(answer) => Box::new(iter::once(answer.join(place, format))),
            Body::Batch(half) => Box::new(iter::once(half.join_alone(place, format))),
            Body::Mcp(request) => Box::new(iter::once(request.join_alone(place, format))),
            Body::ClaudeCode(turn) => Box::new(turn.join(format)),
            Body::Codex(turn) => Box::new(turn.join(format)),
            Body::Events(events) => Box::new(iter::once(events.join_alone(place, format))),
        }
    }
}

/// The piece at hand, and what has come of it.
struct Step {
    place: Place,
    format: Format,
    bytes: u64,
    records: Vec<Joined>,
    traffic: Vec<Traffic>,
}

impl Step {
    /// The hash of the source, and of a name in it.
    fn in_source(&self, name: &str) -> u64 {
        hash::combine(hash::name(&self.place.source), hash::name(name))
    }
}

/// The time between two moments in milliseconds; `None` when one is not known, or they are the wrong way round.
fn duration_ms(begin: Option<i64>, end: Option<i64>) -> Option<f64> {
    let ms = end?.checked_sub(begin?)?;
    (ms >= 0).then_some(ms as f64)
}

fn object(entries: impl IntoIterator<Item = (&'static str, Json<'static>)>) -> Json<'static> {
    Json::Object(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

fn string(text: impl Into<String>) -> Json<'static> {
    Json::String(text.into().into())
}
