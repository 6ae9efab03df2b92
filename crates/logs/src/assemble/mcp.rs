//! Requests and responses of the Model Context Protocol → calls of tools.
//!
//! They are paired by their id, per connection and direction: ids begin anew in each session, and both ends number their
//! own requests. A connection is a server of a desktop log, else a source. Where the log does not say who sent a message,
//! the method of a request tells it, and the oldest open request of the id is what a response answers. An `initialize`
//! begins a session anew: what was open before stays unanswered.
//!
//! What `tools/list` declares is remembered per connection, and every call of a tool carries the tool's declaration: they
//! share it, and it counts once, as long as the connection or a call that waits has it.
//!
//! **Limits**: [`TOOLS_MAX`] declared tools of a connection, of [`DECLARATION_BYTES_MAX`] each. The protocol has no times; where the log adds them, the
//! duration is the time between the two messages.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{
    hash,
    input::Place,
    record::{
        Aside, Format, LatencySource,
        json::Json,
        piece::mcp::{self, Line, Message, Side},
    },
};

use super::{Assembler, Body, Fate, Joined, Key, Step, Whole, tool_calls::weight};

/// Declared tools that are remembered of a connection.
const TOOLS_MAX: usize = 1_024;
/// About how many bytes a declaration may take that calls bring along; larger ones are not remembered.
const DECLARATION_BYTES_MAX: u64 = 64 << 10;
/// Requests that are no calls of tools, and whose responses are still to come, that are remembered of a connection.
const OTHERS_MAX: usize = 1_024;

/// A call that waits for its response.
#[derive(Debug)]
pub struct Request {
    tool: String,
    args: Json<'static>,
    time_ms: Option<i64>,
    declaration: Option<Arc<Declared>>,
    session: Arc<str>,
}

/// What is remembered of a connection.
#[derive(Debug, Default)]
pub struct Connection {
    tools: HashMap<String, Arc<Declared>>,
    /// Calls that wait for their responses, by the numbers of their pieces.
    open: BTreeSet<u64>,
    others: VecDeque<u64>,
}

/// A declared tool.
#[derive(Debug)]
pub struct Declared {
    tool: Arc<Json<'static>>,
    bytes: u64,
    ledger: Ledger,
}

/// The bytes of all declared tools that something has.
#[derive(Clone, Debug, Default)]
pub struct Ledger(Arc<AtomicU64>);

impl Ledger {
    /// About how many they are.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn declared(&self, tool: Json<'static>, bytes: u64) -> Arc<Declared> {
        self.0.fetch_add(bytes, Ordering::Relaxed);
        Arc::new(Declared { tool: Arc::new(tool), bytes, ledger: self.clone() })
    }
}

impl Drop for Declared {
    fn drop(&mut self) {
        self.ledger.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Request {
    pub fn join_alone(self, place: Place, format: Format) -> Joined {
        self.join(place, format, None, None).without_half()
    }

    fn join(
        self,
        place: Place,
        format: Format,
        outcome: Option<Result<Json<'static>, Json<'static>>>,
        end_ms: Option<i64>,
    ) -> Joined {
        let mut record = mcp::record_of(self.tool, self.args, outcome);
        record.timestamp_ms = self.time_ms;
        record.session_id = Some(self.session.to_string().into());
        record.execution_time_ms = super::duration_ms(self.time_ms, end_ms);
        record.latency_source = record.execution_time_ms.map(|_| LatencySource::StartAndEnd);
        let mut joined = Joined::new(place, format, Whole::Record(Box::new(record)));
        joined.declaration = self.declaration.map(|declared| declared.tool.clone());
        joined
    }
}

impl Assembler {
    pub(super) fn push_mcp(&mut self, step: &mut Step, line: Line) -> Fate {
        let format = step.format;
        let aside = |what| Fate::Aside(Aside { format, what, is_parent: false });
        let Line { server, sender, time_ms, message } = line;
        let connection = step.in_source(server.as_deref().unwrap_or_default());
        match message {
            Message::Notification => aside("a notification"),
            Message::Request { id, method, mut params } => {
                if method == "initialize" {
                    self.forget_session(connection, step);
                }
                let by = sender.or(Side::of_request(&method)).unwrap_or(Side::Client);
                let name = named(connection, by, &id);
                let Some((tool, args)) = mcp::call_of(&method, &mut params) else {
                    let known = self.connections.get_or_insert_mut(connection, Connection::default);
                    known.others.push_back(name);
                    if known.others.len() > OTHERS_MAX {
                        known.others.pop_front();
                    }
                    return aside("a request of the protocol that calls no tool");
                };
                // An id that comes again names another call: the one before is left without an answer.
                if let Some(open) = self.take_waiting(Key::Mcp(name)) {
                    step.records.extend(open.join());
                }
                let known = self.connections.get_or_insert_mut(connection, Connection::default);
                known.open.insert(self.pieces);
                let declaration = known.tools.get(&tool).cloned();
                let session = server.map_or_else(|| step.place.source.clone(), Arc::from);
                let request = Request { tool, args, time_ms, declaration, session };
                self.begin(step, Key::Mcp(name), Body::Mcp(request));
                Fate::Held
            }
            Message::Response { id, mut outcome } => {
                let sides = match sender {
                    Some(sender) => vec![sender.other()],
                    None => vec![Side::Client, Side::Server],
                };
                let names: Vec<u64> = sides.into_iter().map(|side| named(connection, side, &id)).collect();
                let number = names.iter().find_map(|name| self.waiting(Key::Mcp(*name)));
                if let Some(number) = number
                    && let Some(open) = self.take(number)
                {
                    if let Some(known) = self.connections.get_mut(&connection) {
                        known.open.remove(&number);
                    }
                    if let Body::Mcp(request) = open.body {
                        step.records.push(request.join(open.place, open.format, Some(outcome), time_ms));
                    }
                    return Fate::Merged;
                }
                let known = self.connections.get_or_insert_mut(connection, Connection::default);
                if let Some(tools) = outcome.as_mut().ok().and_then(mcp::declared) {
                    known.declare(tools, &self.declared);
                    return aside("a list of tools");
                }
                match known.others.iter().position(|other| names.contains(other)) {
                    Some(position) => {
                        known.others.remove(position);
                        aside("an answer of the protocol to no call of a tool")
                    }
                    None => aside("an answer without its request"),
                }
            }
        }
    }

    /// Lets the calls of a connection go that are still open.
    fn forget_session(&mut self, connection: u64, step: &mut Step) {
        let open = self.connections.pop(&connection).map(|known| known.open).unwrap_or_default();
        let open: Vec<_> = open.into_iter().filter_map(|number| self.take(number)).collect();
        step.records.extend(open.into_iter().flat_map(super::Open::join));
    }
}

impl Connection {
    fn declare(&mut self, tools: Vec<Json<'static>>, ledger: &Ledger) {
        for tool in tools {
            let Some(name) = tool.get("name").and_then(Json::as_str).map(str::to_owned) else { continue };
            let bytes = weight(&tool) + name.len() as u64;
            let has_room = self.tools.len() < TOOLS_MAX || self.tools.contains_key(&name);
            if has_room && bytes <= DECLARATION_BYTES_MAX {
                self.tools.insert(name, ledger.declared(tool, bytes));
            }
        }
    }
}

fn named(connection: u64, side: Side, id: &str) -> u64 {
    hash::combine(hash::combine(connection, side as u64), hash::name(id))
}
