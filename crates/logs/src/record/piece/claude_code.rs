//! Lines of a Claude Code session (`~/.claude/projects/**/*.jsonl`).
//!
//! `{type, uuid, parentUuid, sessionId, timestamp, isSidechain, message {id, model, role, content, stop_reason, usage}}`;
//! the content is that of Anthropic Messages. The result of a tool is a block of the next line of the user: what the model was
//! given. `toolUseResult` beside it is the client's own account, which repeats what the model had asked for, and is left out.
//!
//! **Source**: shapes seen in several public test suites (ccusage and others); there is no specification.

use super::{Part, text, time_ms};
use crate::record::json::Json;

/// A line that says something.
#[derive(Debug)]
pub struct Line {
    /// The session.
    pub session: Option<String>,
    /// The side conversation that it belongs to; empty for the main one.
    pub chain: String,
    /// When it was written, in milliseconds since the epoch.
    pub time_ms: Option<i64>,
    /// Who says what.
    pub said: Said,
}

/// Who says what.
#[derive(Debug)]
pub enum Said {
    /// The user, or a tool.
    User {
        /// Text, or blocks.
        content: Json<'static>,
        /// Whether the client says it, and neither a user nor a tool.
        is_meta: bool,
    },
    /// The model, or one block of what it says.
    Assistant {
        /// The id of the message; several lines of one message have the same.
        id: Option<String>,
        /// The message.
        message: Json<'static>,
    },
    /// The client, in the place of the model.
    Failed {
        /// The id of the message.
        id: Option<String>,
        /// The error of the call.
        error: String,
    },
}

/// What the client writes as model where it speaks itself.
const SYNTHETIC: &str = "<synthetic>";

/// Reads a line.
pub fn read(mut value: Json<'static>) -> Result<Part, String> {
    let Some(mut message) = value.take("message").filter(|message| message.as_object().is_some()) else {
        return Ok(Part::Aside(match value.get("type").and_then(Json::as_str) {
            Some("summary") => "a summary of a session",
            Some("system") => "a note of the client",
            Some("file-history-snapshot") => "a snapshot of files",
            _ => "a line of a session that is no message",
        }));
    };
    let role = text(&message, "role").or_else(|| text(&value, "type"));
    let said = match role.as_deref() {
        Some("user") => {
            let content = message.take("content").unwrap_or_default();
            let is_meta = value.get("isMeta").and_then(Json::as_bool) == Some(true);
            Said::User { content, is_meta }
        }
        Some("assistant") if text(&message, "model").as_deref() == Some(SYNTHETIC) => {
            if value.get("isApiErrorMessage").and_then(Json::as_bool) != Some(true) {
                return Ok(Part::Aside("a message that the client made"));
            }
            let said = message.pointer("/content/0/text").or_else(|| message.get("content")).and_then(Json::as_str);
            let error = said.unwrap_or("the call failed").to_owned();
            Said::Failed { id: text(&message, "id"), error }
        }
        Some("assistant") => Said::Assistant { id: text(&message, "id"), message },
        _ => return Ok(Part::Aside("a line of a session that is no message")),
    };
    let is_sidechain = value.get("isSidechain").and_then(Json::as_bool) == Some(true);
    // Lines of the main conversation name the agent whose result they bring.
    let chain = is_sidechain.then(|| text(&value, "agentId").unwrap_or_else(|| "sidechain".to_owned()));
    Ok(Part::ClaudeCode(Line {
        session: text(&value, "sessionId"),
        chain: chain.unwrap_or_default(),
        time_ms: time_ms(value.get("timestamp")),
        said,
    }))
}
