//! Lines of Codex sessions → calls of the model, and of its tools.
//!
//! A call of the model is a run of items that it gives (reasoning, messages, calls of tools); its prompt is the run of
//! items that it was given before, not the whole session. It is whole with the token count that follows, or when the model
//! gives items again after it was given some. A count without items is a call of which only the tokens are known; the same
//! cumulative total once more is no call.
//!
//! **Limits**: lines have no time at which a call of the model began, so that nothing is known of latency.
//! `duration_ms` of `task_complete` is that of a whole task and of no call.

use std::sync::Arc;

use crate::{
    input::Place,
    record::{
        Aside, Format,
        json::{Json, Number},
        piece::codex::{Line, Said},
        piece::mcp::plain_result,
    },
    stats::hash,
};

use super::{Assembler, Body, Fate, Joined, Key, Step, Whole, object, string, tool_calls::Action};

/// Bytes of the instructions of a session that its calls bring along; further ones are cut.
const INSTRUCTIONS_BYTES_MAX: usize = 64 << 10;

/// What is remembered of a session.
#[derive(Debug, Default)]
pub struct Session {
    head: Arc<Head>,
    total: Option<u64>,
}

/// A call of the model, and what comes before it.
#[derive(Debug, Default)]
pub struct Turn {
    session: Arc<Head>,
    inputs: Vec<Json<'static>>,
    /// What was said after the model had begun.
    next_inputs: Vec<Json<'static>>,
    outputs: Vec<Json<'static>>,
    /// Where and when the first output stands.
    begun: Option<(Place, Option<i64>)>,
    usage: Option<Json<'static>>,
}

/// What a call has of its session.
#[derive(Clone, Debug, Default)]
struct Head {
    id: Option<String>,
    provider: Option<String>,
    instructions: Option<String>,
    model: Option<String>,
}

impl Session {
    /// Another model answers from here on.
    fn answered_by(&mut self, model: Option<String>) {
        if model.is_some() && model != self.head.model {
            Arc::make_mut(&mut self.head).model = model;
        }
    }
}

impl Turn {
    pub fn join(mut self, format: Format) -> Option<Joined> {
        self.take_call(format)
    }

    fn take_call(&mut self, format: Format) -> Option<Joined> {
        let (place, time_ms) = self.begun.take()?;
        let inputs = std::mem::replace(&mut self.inputs, std::mem::take(&mut self.next_inputs));
        let (outputs, usage) = (std::mem::take(&mut self.outputs), self.usage.take());
        let has_items = !inputs.is_empty() || !outputs.is_empty();
        let Head { id, provider, instructions, model } = Head::clone(&self.session);
        let request = object(
            model
                .iter()
                .map(|model| ("model", string(model.clone())))
                .chain(instructions.map(|text| ("instructions", string(text))))
                .chain([("input", Json::Array(inputs))]),
        );
        let response = object(
            [("object", string("response")), ("status", string("completed")), ("output", Json::Array(outputs))]
                .into_iter()
                .chain(usage.clone().map(|usage| ("usage", usage))),
        );
        let time = time_ms.and_then(|ms| u64::try_from(ms).ok());
        let tree = object(
            id.map(|id| ("session_id", string(id)))
                .into_iter()
                .chain(time.map(|ms| ("timestamp", Json::Number(Number::Unsigned(ms)))))
                .chain(model.map(|model| ("model", string(model))))
                .chain(provider.map(|provider| ("provider", string(provider))))
                .chain(has_items.then_some(("request", request)))
                .chain(has_items.then_some(("response", response)))
                .chain(usage.filter(|_| !has_items).map(|usage| ("usage", usage))),
        );
        let mut joined = Joined::new(place, format, Whole::Tree(tree));
        joined.is_paired = true;
        Some(joined)
    }
}

impl Assembler {
    pub(super) fn push_codex(&mut self, step: &mut Step, line: Line) -> Fate {
        let Line { time_ms, said } = line;
        let format = step.format;
        let aside = |what| Fate::Aside(Aside { format, what, is_parent: false });
        let source = hash::name(&step.place.source);
        let key = Key::Codex(source);
        match said {
            Said::Session { id, provider, instructions } => {
                step.records.extend(self.take_waiting(key).and_then(super::Open::join));
                let mut instructions = instructions;
                if let Some(text) = &mut instructions {
                    text.truncate(text.floor_char_boundary(INSTRUCTIONS_BYTES_MAX));
                }
                let head = Arc::new(Head { id, provider, instructions, model: None });
                self.codex_sessions.put(source, Session { head, total: None });
                aside("a heading of a session")
            }
            Said::Model(model) => {
                let session = self.codex_sessions.get_or_insert_mut(source, Session::default);
                session.answered_by(model);
                aside("a heading of a session")
            }
            Said::Input(item) => {
                let (scope, id) = self.codex_scope(source);
                step.note_output(scope, id.as_deref(), &item, time_ms);
                let Some(turn) = self.codex_turn(step, key, source) else { return Fate::Merged };
                let inputs = if turn.begun.is_some() { &mut turn.next_inputs } else { &mut turn.inputs };
                inputs.push(item);
                Fate::Merged
            }
            Said::Output(item) => {
                let (scope, id) = self.codex_scope(source);
                step.note_call(scope, id.as_deref(), &item, time_ms);
                let place = step.place.clone();
                let Some(turn) = self.codex_turn(step, key, source) else { return Fate::Merged };
                let is_next = !turn.next_inputs.is_empty();
                let before = if is_next { turn.take_call(format) } else { None };
                let is_first = turn.begun.is_none();
                turn.begun.get_or_insert((place, time_ms));
                turn.outputs.push(item);
                step.records.extend(before);
                if is_first { Fate::Held } else { Fate::Merged }
            }
            Said::Tokens { usage, total, model } => {
                let session = self.codex_sessions.get_or_insert_mut(source, Session::default);
                if total.is_some() && session.total == total {
                    return aside("a token count that was seen before");
                }
                session.total = total;
                session.answered_by(model);
                let place = step.place.clone();
                let Some(turn) = self.codex_turn(step, key, source) else { return Fate::Merged };
                let is_first = turn.begun.is_none();
                turn.begun.get_or_insert((place, time_ms));
                turn.usage = Some(usage);
                let call = turn.take_call(format);
                step.records.extend(call);
                if is_first { Fate::Held } else { Fate::Merged }
            }
        }
    }

    fn codex_scope(&mut self, source: u64) -> (u64, Option<String>) {
        let id = self.codex_sessions.get(&source).and_then(|session| session.head.id.clone());
        (id.as_ref().map_or(source, |id| hash::name(id)), id)
    }

    /// The open turn of a source, begun when there is none, with what is known of the session now.
    fn codex_turn(&mut self, step: &Step, key: Key, source: u64) -> Option<&mut Turn> {
        let number = match self.waiting(key) {
            Some(number) => {
                self.grow(number, step.bytes);
                number
            }
            None => self.begin(step, key, Body::Codex(Turn::default())),
        };
        let session = self.codex_sessions.get_or_insert_mut(source, Session::default);
        let head = session.head.clone();
        let Some(Body::Codex(turn)) = self.body(number) else { return None };
        turn.session = head;
        Some(turn)
    }
}

impl Step {
    /// Notes a call of a tool.
    fn note_call(&mut self, scope: u64, session: Option<&str>, item: &Json<'_>, time_ms: Option<i64>) {
        let text = |key| item.get(key).and_then(Json::as_str).map(str::to_owned);
        let Some(id) = text("call_id") else { return };
        let tool = text("name").or_else(|| text("type").map(|kind| kind.trim_end_matches("_call").to_owned()));
        let args = ["arguments", "input", "action"].into_iter().find_map(|key| item.get(key)).cloned();
        let args = plain_result(args.unwrap_or(Json::Object(Vec::new())).into_owned());
        self.traffic(scope, session, vec![Action::Call { id, tool: tool.unwrap_or_default(), args, time_ms }]);
    }

    /// Notes what a tool gave.
    fn note_output(&mut self, scope: u64, session: Option<&str>, item: &Json<'_>, time_ms: Option<i64>) {
        let Some(id) = item.get("call_id").and_then(Json::as_str).map(str::to_owned) else { return };
        let result = plain_result(item.get("output").cloned().unwrap_or_default().into_owned());
        let failed = result.get("success").and_then(Json::as_bool) == Some(false);
        let seconds = result.pointer("/metadata/duration_seconds").and_then(Json::as_f64);
        let action = Action::Result {
            id,
            tool: None,
            is_error: failed,
            time_ms,
            duration_ms: seconds.map(|seconds| seconds * 1e3).filter(|ms| ms.is_finite() && *ms >= 0.0),
            result,
        };
        self.traffic(scope, session, vec![action]);
    }
}
