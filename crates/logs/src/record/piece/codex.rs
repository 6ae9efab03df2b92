//! Lines of a Codex session (`~/.codex/sessions/**/rollout-*.jsonl`): `{timestamp, type, payload}`.
//!
//! - `session_meta`, `turn_context`: the session's id; the model from here on
//! - `response_item`: an item as in OpenAI Responses, said to the model or by it
//! - lines of 2025 without a `payload`: a heading with `id` and `instructions`, then the items as they are
//! - `event_msg` of the type `token_count`: the tokens of the last call (`last_token_usage`) and of the session so far
//!
//! **Source**: shapes seen in several public test suites; there is no specification. `total_token_usage` is cumulative and
//! never the tokens of a call.

use super::{Part, text, time_ms};
use crate::record::json::Json;

/// A line.
#[derive(Debug)]
pub struct Line {
    /// When it was written, in milliseconds since the epoch.
    pub time_ms: Option<i64>,
    /// What it says.
    pub said: Said,
}

/// What a line says.
#[derive(Debug)]
pub enum Said {
    /// A session begins.
    Session {
        /// Its id.
        id: Option<String>,
        /// Who serves the model.
        provider: Option<String>,
        /// What the model is told first.
        instructions: Option<String>,
    },
    /// The model that answers from here on.
    Model(Option<String>),
    /// An item that the model is given.
    Input(Json<'static>),
    /// An item that the model gives.
    Output(Json<'static>),
    /// The tokens of the last call.
    Tokens {
        /// Of the call, as in OpenAI Responses.
        usage: Json<'static>,
        /// Tokens of the session so far; the same number again is the same call again.
        total: Option<u64>,
        /// The model, where the count names it.
        model: Option<String>,
    },
}

/// Reads a line.
pub fn read(mut value: Json<'static>) -> Result<Part, String> {
    let time_ms = time_ms(value.get("timestamp"));
    let kind = text(&value, "type").unwrap_or_default();
    let Some(payload) = value.take("payload") else { return Ok(read_flat(value, time_ms)) };
    let said = match kind.as_str() {
        "session_meta" => read_heading(&payload),
        "turn_context" => Said::Model(text(&payload, "model")),
        "response_item" => match read_item(payload) {
            Some(said) => said,
            None => return Ok(Part::Aside("an item of a session that is neither said nor called")),
        },
        "event_msg" if text(&payload, "type").as_deref() == Some("token_count") => match read_tokens(payload) {
            Some(said) => said,
            None => return Ok(Part::Aside("a state of rate limits")),
        },
        "event_msg" => return Ok(Part::Aside("an event of a session, which repeats or frames its items")),
        "compacted" => return Ok(Part::Aside("a summary of a session")),
        _ => return Ok(Part::Aside("a line of a session that is no item")),
    };
    Ok(Part::Codex(Line { time_ms, said }))
}

/// Reads a line without a payload.
fn read_flat(value: Json<'static>, time_ms: Option<i64>) -> Part {
    if value.get("instructions").is_some() {
        return Part::Codex(Line { time_ms, said: read_heading(&value) });
    }
    match read_item(value) {
        Some(said) => Part::Codex(Line { time_ms, said }),
        None => Part::Aside("a line of a session that is no item"),
    }
}

fn read_heading(heading: &Json<'_>) -> Said {
    let base = heading.pointer("/base_instructions/text").and_then(Json::as_str).map(str::to_owned);
    Said::Session {
        id: text(heading, "id"),
        provider: text(heading, "model_provider"),
        instructions: text(heading, "instructions").or(base),
    }
}

fn read_item(item: Json<'static>) -> Option<Said> {
    let kind = text(&item, "type").unwrap_or_default();
    let is_answer = text(&item, "role").as_deref() == Some("assistant");
    match kind.as_str() {
        "message" if is_answer => Some(Said::Output(item)),
        "message" => Some(Said::Input(item)),
        "reasoning" => Some(Said::Output(item)),
        other if other.ends_with("_call_output") => Some(Said::Input(item)),
        other if other.ends_with("_call") => Some(Said::Output(item)),
        _ => None,
    }
}

fn read_tokens(mut payload: Json<'static>) -> Option<Said> {
    let mut info = payload.take("info")?;
    let total = info.pointer("/total_token_usage/total_tokens").and_then(Json::as_number);
    let total = total.and_then(|total| total.as_integer()).and_then(|total| u64::try_from(total).ok());
    let model = text(&info, "model");
    let mut usage = info.take("last_token_usage")?;
    let mut counts = Vec::new();
    for key in ["input_tokens", "output_tokens", "total_tokens"] {
        counts.extend(usage.take(key).map(|count| (key.into(), count)));
    }
    // Below the names that the Responses API has for them.
    for (key, below, name) in [
        ("cached_input_tokens", "input_tokens_details", "cached_tokens"),
        ("reasoning_output_tokens", "output_tokens_details", "reasoning_tokens"),
    ] {
        let count = usage.take(key);
        counts.extend(count.map(|count| (below.into(), Json::Object(vec![(name.into(), count)]))));
    }
    Some(Said::Tokens { usage: Json::Object(counts), total, model })
}
