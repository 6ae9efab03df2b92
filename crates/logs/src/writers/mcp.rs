//! Messages of the Model Context Protocol (JSON-RPC 2.0) → calls of tools.
//!
//! A message may have a time, a direction and the name of a server beside it, as tees and desktop clients write them:
//! `timestamp` (`ts`, `time`), `direction`, `server`, and the message itself below `message`.
//!
//! Requests and responses are paired by their id, per connection and direction: ids begin anew in each session, and both
//! ends number their own requests. A connection is a server of a desktop log, else a source. Where the log does not say who
//! sent a message, the method of a request tells it, and the oldest open request of the id is what a response answers. An
//! `initialize` begins a session anew: what was open before stays unanswered.
//!
//! What `tools/list` declares is remembered per connection, and every call of a tool carries the tool's declaration: they
//! share it, and it counts once, as long as the connection or a call that waits has it.
//!
//! **Source**: modelcontextprotocol.io, schema 2025-06-18; the log of the desktop client as it is on disk.
//!
//! **Limits**: [`TOOLS_MAX`] declared tools of a connection, of [`DECLARATION_BYTES_MAX`] each. The protocol has no times;
//! where the log adds them, the duration is the time between the two messages.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use lru::LruCache;

use crate::{
    assemble::{
        Fate, Joined, Joiner, Limits, Load, Step, duration_ms,
        waiting::{Open, Waiting},
    },
    hash,
    record::{
        Container, Content, Entry, Format, Fragment, Kind, LatencySource, Record, json::Json, values::unwrap_container,
    },
};

use super::{
    Writer,
    session::{text, time_ms},
};

const MESSAGES: Container = Container::named("mcp");

/// The log of a desktop client.
pub(crate) const DESKTOP_LOG: Container = Container::named("mcp_desktop");

/// MCP messages, one a line.
pub(super) const MCP: Writer = Writer {
    container: MESSAGES,
    about: "MCP messages",
    told_by: "`jsonrpc` = 2.0",
    marks: &["jsonrpc"],
    matches: |value| super::text(value, "jsonrpc").starts_with('2'),
    read: |value, entries| entries.push(Ok(Entry::Fragment(fragment(MESSAGES, value)))),
    joiner: Some(|limits| Box::new(Connections::new(limits))),
};

/// The MCP log of a desktop client, whose lines are no JSON.
pub(super) const DESKTOP: Writer = Writer {
    container: DESKTOP_LOG,
    about: "the MCP log of a desktop client (text)",
    told_by: "`Message from client: {`, `Message from server: {`; its other lines (time, level and server in brackets) hold no call",
    marks: &[],
    matches: |_| false,
    read: |value, entries| entries.push(Ok(Entry::Fragment(fragment(DESKTOP_LOG, value)))),
    joiner: None,
};

/// A message for the connections, which are the same for both containers.
pub(crate) fn fragment(container: Container, value: Json<'_>) -> Fragment<'_> {
    Fragment { joiner: MESSAGES, format: Format::of(container), content: Content::Value(value) }
}

/// Declared tools that are remembered of a connection.
const TOOLS_MAX: usize = 1_024;
/// About how many bytes a declaration may take that calls bring along; larger ones are not remembered.
const DECLARATION_BYTES_MAX: u64 = 64 << 10;
/// Requests that are no calls of tools, and whose responses are still to come, that are remembered of a connection.
const OTHERS_MAX: usize = 1_024;

/// One message.
#[derive(Debug)]
struct Line {
    /// The server that is spoken with, where the log names it.
    server: Option<String>,
    /// Who sent it, where the log says so.
    sender: Option<Side>,
    time_ms: Option<i64>,
    message: Message,
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// Asks for tools to be called.
    Client,
    /// Has the tools.
    Server,
}

/// What a message says. The id of a request is what its response repeats: the JSON text, since `1` and `"1"` are two ids.
#[derive(Debug)]
enum Message {
    Request { id: String, method: String, params: Json<'static> },
    Response { id: String, outcome: Result<Json<'static>, Json<'static>> },
    Notification,
}

impl Side {
    /// The other end.
    fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    /// Who asks for `method`, where only one of the two does.
    fn of_request(method: &str) -> Option<Side> {
        match method {
            "sampling/createMessage" | "roots/list" | "elicitation/create" => Some(Side::Server),
            "ping" => None,
            _ => Some(Side::Client),
        }
    }
}

/// Why a value is no message.
#[derive(Debug)]
enum NoMessage {
    /// It holds none, as a noun.
    Skipped(&'static str),
    /// It was to hold one, and what is wrong.
    Rejected(&'static str),
}

/// Reads a message.
fn read(mut value: Json<'static>) -> Result<Line, NoMessage> {
    let wrapper = match value.take("message") {
        Some(message) if value.get("jsonrpc").is_none() => {
            let wrapper = std::mem::replace(&mut value, message);
            Some(wrapper)
        }
        _ => None,
    };
    let around = wrapper.as_ref().unwrap_or(&value);
    let time = ["timestamp", "ts", "time"].into_iter().find_map(|key| time_ms(around.get(key)));
    let sender = text(around, "direction").and_then(|direction| side_of(&direction));
    let server = text(around, "server").or_else(|| text(around, "server_name"));
    if value.as_object().is_none() {
        return Err(NoMessage::Rejected("a message that is no JSON, or was cut"));
    }
    let id = value.get("id").filter(|id| !id.is_null()).map(Json::to_compact_string);
    let message = match (text(&value, "method"), id) {
        (Some(method), Some(id)) => Message::Request { id, method, params: value.take("params").unwrap_or_default() },
        (Some(_), None) => Message::Notification,
        (None, Some(id)) => {
            let error = value.take("error");
            let outcome = error.map_or_else(|| Ok(value.take("result").unwrap_or_default()), Err);
            Message::Response { id, outcome }
        }
        (None, None) => return Err(NoMessage::Skipped("a message that is neither request nor response")),
    };
    Ok(Line { server, sender, time_ms: time, message })
}

/// Who sends in a direction: its first word that names an end (`client`, `client->server`, `from client`, `outgoing`).
fn side_of(direction: &str) -> Option<Side> {
    let direction = direction.to_ascii_lowercase();
    let client = ["client", "outgoing", "sent", "out"].iter().filter_map(|word| direction.find(word)).min();
    let server = ["server", "incoming", "received", "in"].iter().filter_map(|word| direction.find(word)).min();
    match (client, server) {
        (Some(client), Some(server)) => Some(if client < server { Side::Client } else { Side::Server }),
        (Some(_), None) => Some(Side::Client),
        (None, Some(_)) => Some(Side::Server),
        (None, None) => None,
    }
}

/// What is asked for by `tools/call`: the tool, and its arguments.
fn call_of(method: &str, params: &mut Json<'static>) -> Option<(String, Json<'static>)> {
    let name = (method == "tools/call").then(|| text(params, "name"))??;
    Some((name, params.take("arguments").unwrap_or(Json::Object(Vec::new()))))
}

/// The tools that a `tools/list` declares.
fn declared(result: &mut Json<'static>) -> Option<Vec<Json<'static>>> {
    match result.take("tools") {
        Some(Json::Array(tools)) => Some(tools),
        _ => None,
    }
}

/// A tool record with the outcome of a call: structured content, else the JSON of a single text, else the content.
fn record_of(
    tool: String,
    args: Json<'static>,
    outcome: Option<Result<Json<'static>, Json<'static>>>,
) -> Record<'static> {
    let mut record = Record::new(Kind::Tool);
    record.tool = Some(tool.into());
    record.args = Some(args);
    match outcome {
        None => {}
        Some(Err(error)) => {
            let message = text(&error, "message").unwrap_or_else(|| error.to_compact_string());
            record.error = Some(message.into());
        }
        Some(Ok(mut result)) => {
            if result.get("isError").and_then(Json::as_bool) == Some(true) {
                let said = result.pointer("/content/0/text").and_then(Json::as_str);
                record.error = Some(said.unwrap_or("the tool says that it failed").to_owned().into());
                record.result = Some(result);
            } else {
                record.result = Some(content_of(&mut result));
            }
        }
    }
    record
}

fn content_of(result: &mut Json<'static>) -> Json<'static> {
    if let Some(structured) = result.take("structuredContent") {
        return structured;
    }
    match result.take("content") {
        Some(Json::Array(mut parts)) if parts.len() == 1 && parts[0].get("text").is_some() => {
            unwrap_container(parts.pop().and_then(|mut part| part.take("text")).unwrap_or_default())
        }
        Some(content) => content,
        None => std::mem::take(result),
    }
}

/// A call that waits for its response.
#[derive(Debug)]
struct Request {
    tool: String,
    args: Json<'static>,
    time_ms: Option<i64>,
    declaration: Option<Arc<Declared>>,
    session: Arc<str>,
}

/// What is remembered of a connection.
#[derive(Debug, Default)]
struct Connection {
    tools: HashMap<String, Arc<Declared>>,
    /// Calls that wait for their responses, by number.
    open: BTreeSet<u64>,
    others: VecDeque<u64>,
}

/// A declared tool.
#[derive(Debug)]
struct Declared {
    tool: Arc<Json<'static>>,
    bytes: u64,
    ledger: Ledger,
}

/// The bytes of all declared tools that something has.
#[derive(Clone, Debug, Default)]
struct Ledger(Arc<AtomicU64>);

impl Ledger {
    /// About how many they are.
    fn bytes(&self) -> u64 {
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

/// The record of a call, with its outcome where it has one.
fn joined(open: Open<Request>, outcome: Option<Result<Json<'static>, Json<'static>>>, end_ms: Option<i64>) -> Joined {
    let has_outcome = outcome.is_some();
    let Request { tool, args, time_ms, declaration, session } = open.body;
    let mut record = record_of(tool, args, outcome);
    record.format = open.format;
    record.timestamp_ms = time_ms;
    record.session_id = Some(session.to_string().into());
    record.execution_time_ms = duration_ms(time_ms, end_ms);
    record.latency_source = record.execution_time_ms.map(|_| LatencySource::StartAndEnd);
    let mut joined = Joined::record(open.place, record);
    joined.declaration = declaration.map(|declared| declared.tool.clone());
    if has_outcome { joined } else { joined.without_half() }
}

/// Calls that wait for their responses, and what is remembered of the connections that they stand in.
#[derive(Debug)]
struct Connections {
    open: Waiting<Request>,
    known: LruCache<u64, Connection>,
    declared: Ledger,
    bytes_max: u64,
}

impl Joiner for Connections {
    fn push(&mut self, fragment: Fragment<'static>, step: &mut Step) -> Fate {
        let Content::Value(value) = fragment.content else { return Fate::Rejected("no message".to_owned()) };
        let Line { server, sender, time_ms, message } = match read(value) {
            Ok(line) => line,
            Err(NoMessage::Skipped(what)) => return Fate::skipped(step.format, what),
            Err(NoMessage::Rejected(reason)) => return Fate::Rejected(reason.to_owned()),
        };
        let connection = step.in_source(server.as_deref().unwrap_or_default());
        match message {
            Message::Notification => Fate::skipped(step.format, "a notification"),
            Message::Request { id, method, mut params } => {
                if method == "initialize" {
                    self.forget_session(connection, step);
                }
                let by = sender.or(Side::of_request(&method)).unwrap_or(Side::Client);
                let name = named(connection, by, &id);
                let Some((tool, args)) = call_of(&method, &mut params) else {
                    self.connection(connection).note_other(name);
                    return Fate::skipped(step.format, "a request of the protocol that calls no tool");
                };
                // An id that comes again names another call: the one before is left without an answer.
                step.records.extend(self.open.take_of(name).map(|open| joined(open, None, None)));
                let declaration = self.connection(connection).tools.get(&tool).cloned();
                let session = server.map_or_else(|| step.place.source.clone(), Arc::from);
                let number = self.open.begin(step, name, Request { tool, args, time_ms, declaration, session });
                self.connection(connection).open.insert(number);
                Fate::Held
            }
            Message::Response { id, outcome } => self.respond(step, (connection, sender), &id, outcome, time_ms),
        }
    }

    fn load(&self) -> Load {
        let load = self.open.load();
        // Declarations go before calls do, once they take half of the room.
        let oldest = if self.are_declarations_too_many() { Some(0) } else { load.oldest };
        Load { bytes: load.bytes + self.declared.bytes(), oldest, ..load }
    }

    fn let_oldest_go(&mut self, step: &mut Step) {
        if self.are_declarations_too_many() && self.known.pop_lru().is_some() {
            return;
        }
        step.records.extend(self.open.take_oldest().map(|open| joined(open, None, None)));
    }

    fn close(&mut self) {
        self.known.clear();
    }
}

impl Connections {
    fn new(limits: &Limits) -> Connections {
        Connections {
            open: Waiting::default(),
            known: LruCache::new(limits.sessions()),
            declared: Ledger::default(),
            bytes_max: limits.bytes_max,
        }
    }

    fn are_declarations_too_many(&self) -> bool {
        self.declared.bytes() > self.bytes_max / 2 && !self.known.is_empty()
    }

    fn connection(&mut self, connection: u64) -> &mut Connection {
        self.known.get_or_insert_mut(connection, Connection::default)
    }

    fn respond(
        &mut self,
        step: &mut Step,
        (connection, sender): (u64, Option<Side>),
        id: &str,
        mut outcome: Result<Json<'static>, Json<'static>>,
        time_ms: Option<i64>,
    ) -> Fate {
        let sides = match sender {
            Some(sender) => vec![sender.other()],
            None => vec![Side::Client, Side::Server],
        };
        let names: Vec<u64> = sides.into_iter().map(|side| named(connection, side, id)).collect();
        let number = names.iter().find_map(|name| self.open.find(*name));
        if let Some(number) = number
            && let Some(open) = self.open.take(number)
        {
            if let Some(known) = self.known.get_mut(&connection) {
                known.open.remove(&number);
            }
            step.records.push(joined(open, Some(outcome), time_ms));
            return Fate::Merged;
        }
        let ledger = self.declared.clone();
        let known = self.connection(connection);
        if let Some(tools) = outcome.as_mut().ok().and_then(declared) {
            known.declare(tools, &ledger);
            return Fate::skipped(step.format, "a list of tools");
        }
        match known.others.iter().position(|other| names.contains(other)) {
            Some(position) => {
                known.others.remove(position);
                Fate::skipped(step.format, "an answer of the protocol to no call of a tool")
            }
            None => Fate::skipped(step.format, "an answer without its request"),
        }
    }

    /// Lets the calls of a connection go that are still open.
    fn forget_session(&mut self, connection: u64, step: &mut Step) {
        let open = self.known.pop(&connection).map(|known| known.open).unwrap_or_default();
        let open = open.into_iter().filter_map(|number| self.open.take(number));
        step.records.extend(open.map(|open| joined(open, None, None)));
    }
}

impl Connection {
    /// Remembers a request that calls no tool.
    fn note_other(&mut self, name: u64) {
        self.others.push_back(name);
        if self.others.len() > OTHERS_MAX {
            self.others.pop_front();
        }
    }

    fn declare(&mut self, tools: Vec<Json<'static>>, ledger: &Ledger) {
        for tool in tools {
            let Some(name) = tool.get("name").and_then(Json::as_str).map(str::to_owned) else { continue };
            let bytes = tool.weight_bytes() as u64 + name.len() as u64;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        read(Json::parse(text.as_bytes()).unwrap().into_owned()).unwrap_or_else(|_| panic!("{text}"))
    }

    #[test]
    fn what_stands_around_a_message_is_read() {
        let plain = line(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f"}}"#);
        assert!(plain.server.is_none() && plain.sender.is_none() && plain.time_ms.is_none());
        let logged = line(
            r#"{"timestamp":"2025-10-19T14:13:44.066Z","server":"s","direction":"client","message":{"jsonrpc":"2.0","id":"1","result":{}}}"#,
        );
        assert_eq!((logged.server.as_deref(), logged.sender), (Some("s"), Some(Side::Client)));
        assert_eq!(logged.time_ms, Some(1_760_883_224_066));
        assert!(matches!(logged.message, Message::Response { id, .. } if id == "\"1\""));
    }

    #[test]
    fn directions_are_read_by_their_first_word() {
        for (direction, expected) in [
            ("client->server", Some(Side::Client)),
            ("server_to_client", Some(Side::Server)),
            ("from client", Some(Side::Client)),
            ("incoming", Some(Side::Server)),
            ("?", None),
        ] {
            assert_eq!(side_of(direction), expected, "{direction}");
        }
    }

    #[test]
    fn results_are_as_structured_as_the_log_has_them() {
        let check = |result: &str, expected: &str, error: Option<&str>| {
            let result = Json::parse(result.as_bytes()).unwrap().into_owned();
            let record = record_of("f".to_owned(), Json::Null, Some(Ok(result)));
            assert_eq!(record.result.unwrap().to_compact_string(), expected);
            assert_eq!(record.error.as_deref(), error);
        };
        check(r#"{"content":[{"type":"text","text":"{\"t\": 1}"}]}"#, r#"{"t":1}"#, None);
        check(r#"{"content":[{"type":"text","text":"warm"}],"isError":false}"#, r#""warm""#, None);
        check(r#"{"content":[{"type":"text","text":"{}"}],"structuredContent":{"a":1}}"#, r#"{"a":1}"#, None);
        let failed = r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#;
        check(failed, failed, Some("no"));
    }
}
