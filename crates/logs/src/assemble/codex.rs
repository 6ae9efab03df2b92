//! Lines of Codex sessions → calls of the model, and of its tools.
//!
//! A call of the model is a run of items that it gives (reasoning, messages, calls of tools); its prompt is the run of
//! items that it was given before, not the whole session. It is whole with the token count that follows, or when the model
//! gives items again after it was given some. A count without items is a call of which only the tokens are known; the same
//! cumulative total once more is no call. What is said last and has no items is a call without an answer, unless the user stopped a tool.
//!
//! The instructions of a session come along with each of its calls: whole with the first one, and cut with all that follow,
//! since a record owns its texts and all of them are looked at.
//!
//! **Limits**: lines have no time at which a call of the model began, so that nothing is known of latency.
//! `duration_ms` of `task_complete` is that of a whole task and of no call.

use std::sync::Arc;

use crate::{
    hash,
    input::Place,
    record::{
        Aside, Dialect, Format,
        json::Json,
        piece::codex::{Line, Said},
        piece::mcp::plain_result,
    },
};

use super::{
    Assembler, Body, Fate, Joined, Key, Step, Whole,
    inputs::{Inputs, Wants, is_users, timestamp},
    object, string,
    tool_calls::Action,
};

/// Bytes of the instructions of a session that its first call brings along; further ones are cut.
const INSTRUCTIONS_BYTES_MAX: usize = 64 << 10;
/// Bytes of the instructions that the calls after the first one bring along.
const INSTRUCTIONS_AGAIN_BYTES_MAX: usize = 4 << 10;

/// How the client begins the output of a tool that the user stopped, or the last line of it.
const STOPPED: &str = "aborted by user";

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
    inputs: Inputs,
    /// What was said after the model had begun.
    next_inputs: Inputs,
    outputs: Vec<Json<'static>>,
    /// Where and when the first output stands.
    begun: Option<(Place, Option<i64>)>,
    usage: Option<Json<'static>>,
    /// Whether a call before this one has brought the instructions along.
    is_instructed: bool,
}

/// What a call has of its session.
#[derive(Clone, Debug, Default)]
struct Head {
    id: Option<Arc<str>>,
    provider: Option<String>,
    instructions: Option<Arc<str>>,
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
    /// The call of the model, and what has no answer.
    pub fn join(mut self, format: Format) -> impl Iterator<Item = Joined> {
        let answered = self.take_call(format);
        let inputs = std::mem::take(&mut self.inputs);
        let format = Format { dialect: Some(Dialect::OpenAiResponses), ..format };
        let unanswered =
            inputs.unanswered(format, |items, time| self.tree(time, Some(self.request(items)), None, None));
        answered.into_iter().chain(unanswered)
    }

    fn take_call(&mut self, format: Format) -> Option<Joined> {
        let (place, time_ms) = self.begun.take()?;
        let inputs = std::mem::replace(&mut self.inputs, std::mem::take(&mut self.next_inputs));
        let (outputs, usage) = (std::mem::take(&mut self.outputs), self.usage.take());
        let time = timestamp(time_ms);
        let tree = if inputs.is_empty() && outputs.is_empty() {
            self.tree(time, None, None, usage)
        } else {
            let response = object(
                [("object", string("response")), ("status", string("completed")), ("output", Json::Array(outputs))]
                    .into_iter()
                    .chain(usage.map(|usage| ("usage", usage))),
            );
            let request = self.request(inputs.into_items());
            self.is_instructed = true;
            self.tree(time, Some(request), Some(response), None)
        };
        let mut joined = Joined::new(place, format, Whole::Tree(tree));
        joined.is_paired = true;
        Some(joined)
    }

    fn request(&self, inputs: Vec<Json<'static>>) -> Json<'static> {
        let Head { instructions, model, .. } = &*self.session;
        let most = if self.is_instructed { INSTRUCTIONS_AGAIN_BYTES_MAX } else { INSTRUCTIONS_BYTES_MAX };
        let instructions = instructions.as_deref().map(|text| string(&text[..text.floor_char_boundary(most)]));
        let Some(model) = model else {
            // A body is told by its model; without one it is a list.
            let message = |text| object([("type", string("message")), ("role", string("system")), ("content", text)]);
            return Json::Array(instructions.map(message).into_iter().chain(inputs).collect());
        };
        object(
            [("model", string(model.clone()))]
                .into_iter()
                .chain(instructions.map(|text| ("instructions", text)))
                .chain([("input", Json::Array(inputs))]),
        )
    }

    fn tree(
        &self,
        time: Option<Json<'static>>,
        request: Option<Json<'static>>,
        response: Option<Json<'static>>,
        usage: Option<Json<'static>>,
    ) -> Json<'static> {
        let Head { id, provider, model, .. } = &*self.session;
        object(
            id.iter()
                .map(|id| ("session_id", string(&**id)))
                .chain(time.map(|time| ("timestamp", time)))
                .chain(model.iter().map(|model| ("model", string(model.clone()))))
                .chain(provider.iter().map(|provider| ("provider", string(provider.clone()))))
                .chain(request.map(|request| ("request", request)))
                .chain(response.map(|response| ("response", response)))
                .chain(usage.map(|usage| ("usage", usage))),
        )
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
                step.records.extend(self.take_waiting(key).into_iter().flat_map(super::Open::join));
                let cut = |text: String| Arc::from(&text[..text.floor_char_boundary(INSTRUCTIONS_BYTES_MAX)]);
                let (id, instructions) = (id.map(Arc::from), instructions.map(cut));
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
                step.note_output(scope, id.as_ref(), &item, time_ms);
                let Some((_, turn)) = self.codex_turn(step, key, source) else { return Fate::Merged };
                let inputs = if turn.begun.is_some() { &mut turn.next_inputs } else { &mut turn.inputs };
                let wants = wants(&item);
                inputs.push(step, item, time_ms, wants);
                Fate::Merged
            }
            Said::Output(item) => {
                let (scope, id) = self.codex_scope(source);
                step.note_call(scope, id.as_ref(), &item, time_ms);
                let place = step.place.clone();
                let Some((number, turn)) = self.codex_turn(step, key, source) else { return Fate::Merged };
                let before = if turn.next_inputs.is_empty() { None } else { turn.take_call(format) };
                let is_first = turn.begun.is_none();
                turn.begun.get_or_insert((place, time_ms));
                turn.outputs.push(item);
                let kept = turn.inputs.bytes() + step.bytes;
                if before.is_some() {
                    self.settle(number, kept);
                    step.records.extend(before);
                }
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
                let Some((number, turn)) = self.codex_turn(step, key, source) else { return Fate::Merged };
                let is_first = turn.begun.is_none();
                turn.begun.get_or_insert((place, time_ms));
                turn.usage = Some(usage);
                step.records.extend(turn.take_call(format));
                let kept = turn.inputs.bytes();
                self.settle(number, kept);
                if is_first { Fate::Held } else { Fate::Merged }
            }
        }
    }

    fn codex_scope(&mut self, source: u64) -> (u64, Option<Arc<str>>) {
        let id = self.codex_sessions.get(&source).and_then(|session| session.head.id.clone());
        (id.as_ref().map_or(source, |id| hash::name(id)), id)
    }

    /// The open turn of a source, begun when there is none, with what is known of the session now.
    fn codex_turn(&mut self, step: &Step, key: Key, source: u64) -> Option<(u64, &mut Turn)> {
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
        Some((number, turn))
    }
}

impl Step {
    /// Notes a call of a tool.
    fn note_call(&mut self, scope: u64, session: Option<&Arc<str>>, item: &Json<'_>, time_ms: Option<i64>) {
        let text = |key| item.get(key).and_then(Json::as_str).map(str::to_owned);
        let Some(id) = text("call_id") else { return };
        let tool = text("name").or_else(|| text("type").map(|kind| kind.trim_end_matches("_call").to_owned()));
        let args = ["arguments", "input", "action"].into_iter().find_map(|key| item.get(key)).cloned();
        let args = plain_result(args.unwrap_or(Json::Object(Vec::new())).into_owned());
        self.traffic(scope, session, vec![Action::Call { id, tool: tool.unwrap_or_default(), args, time_ms }]);
    }

    /// Notes what a tool gave.
    fn note_output(&mut self, scope: u64, session: Option<&Arc<str>>, item: &Json<'_>, time_ms: Option<i64>) {
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

/// What is to follow an item: an answer, where the user says it, or a tool that was not stopped.
fn wants(item: &Json<'_>) -> Wants {
    let text = |key| item.get(key).and_then(Json::as_str);
    let wants_answer = match (text("type"), text("role")) {
        (Some("message"), Some("user")) => {
            let parts = item.get("content").and_then(Json::as_array).unwrap_or_default();
            let texts = parts.iter().map(|part| part.get("text").and_then(Json::as_str));
            texts.chain([text("content")]).flatten().any(is_users)
        }
        (Some("message"), _) => false,
        _ if text("output").is_some_and(is_stopped) => return Wants::Stopped,
        _ => true,
    };
    // Nothing looks for it under a name.
    if wants_answer { Wants::Answer(0) } else { Wants::Nothing }
}

/// Whether the output of a tool says that the user stopped it; what comes before is how long it ran.
fn is_stopped(output: &str) -> bool {
    let last = output.trim_end().lines().next_back().unwrap_or_default();
    last.starts_with(STOPPED) || output == "aborted"
}
