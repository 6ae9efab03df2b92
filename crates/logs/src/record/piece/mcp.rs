//! Messages of the Model Context Protocol (JSON-RPC 2.0): requests, responses and notifications.
//!
//! A message may have a time, a direction and the name of a server beside it, as tees and desktop clients write them:
//! `timestamp` (`ts`, `time`), `direction`, `server`, and the message itself below `message`.
//!
//! **Source**: modelcontextprotocol.io, schema 2025-06-18; the log of the desktop client as it is on disk.

use super::{Part, text, time_ms};
use crate::record::{Kind, Record, json::Json};

/// One message.
#[derive(Debug)]
pub struct Line {
    /// The server that is spoken with, where the log names it.
    pub server: Option<String>,
    /// Who sent it, where the log says so.
    pub sender: Option<Side>,
    /// When, in milliseconds since the epoch.
    pub time_ms: Option<i64>,
    /// What it says.
    pub message: Message,
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Asks for tools to be called.
    Client,
    /// Has the tools.
    Server,
}

/// What a message says.
#[derive(Debug)]
pub enum Message {
    /// A request.
    Request {
        /// What its response repeats: the JSON text, since `1` and `"1"` are two ids.
        id: String,
        /// What is asked for.
        method: String,
        /// With what.
        params: Json<'static>,
    },
    /// A response.
    Response {
        /// The id of its request.
        id: String,
        /// The result, or the error.
        outcome: Result<Json<'static>, Json<'static>>,
    },
    /// A notification.
    Notification,
}

impl Side {
    /// The other end.
    pub fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    /// Who asks for `method`, where only one of the two does.
    pub fn of_request(method: &str) -> Option<Side> {
        match method {
            "sampling/createMessage" | "roots/list" | "elicitation/create" => Some(Side::Server),
            "ping" => None,
            _ => Some(Side::Client),
        }
    }
}

/// Reads a message.
pub fn read(mut value: Json<'static>) -> Result<Part, String> {
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
        return Err("a message that is no JSON, or was cut".to_owned());
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
        (None, None) => return Ok(Part::Aside("a message that is neither request nor response")),
    };
    Ok(Part::Mcp(Line { server, sender, time_ms: time, message }))
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
pub fn call_of(method: &str, params: &mut Json<'static>) -> Option<(String, Json<'static>)> {
    let name = (method == "tools/call").then(|| text(params, "name"))??;
    Some((name, params.take("arguments").unwrap_or(Json::Object(Vec::new()))))
}

/// The tools that a `tools/list` declares.
pub fn declared(result: &mut Json<'static>) -> Option<Vec<Json<'static>>> {
    match result.take("tools") {
        Some(Json::Array(tools)) => Some(tools),
        _ => None,
    }
}

/// A tool record with the outcome of a call: structured content, else the JSON of a single text, else the content.
pub fn record_of(
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
            plain_result(parts.pop().and_then(|mut part| part.take("text")).unwrap_or_default())
        }
        Some(content) => content,
        None => std::mem::take(result),
    }
}

/// A result that was handed over as text: the object or array in it, else the text.
pub fn plain_result(result: Json<'static>) -> Json<'static> {
    match result {
        Json::String(text) if text.trim_start().starts_with(['{', '[']) => {
            Json::parse_text(text).unwrap_or_else(|text| Json::String(text.into_owned().into()))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        let Ok(Part::Mcp(line)) = read(Json::parse(text.as_bytes()).unwrap().into_owned()) else { panic!("{text}") };
        line
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
