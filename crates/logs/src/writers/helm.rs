//! HELM: the state of a scenario, and the files beside it.
//!
//! - each element of `request_states` is a call: what was asked stands in `request`, what was answered in `result`
//! - `request_time` is in seconds; a request for an embedding holds no call
//! - a completion beyond the first is a further answer of the same call
//! - rows of `per_instance_stats.json` are scores, rows of `display_requests.json` and `display_predictions.json` repeat the
//!   state: they hold no call of their own.
//!   Those of `instances.json` are questions
//!
//! **Source**: the classes of crfm-helm (`Request`, `RequestState`) by name; not checked against files of a run.

use super::{Writer, has_all, has_any};
use crate::record::{
    Container, Entry, Format, Ignored, Note,
    body::{error_of, message::take_name, message::take_text},
    call::{Call, Entries, Outcome, is_said, name_at, parent},
    json::Json,
    values::{self, Unit},
};

const CONTAINER: Container = Container::named("helm");

/// Files of a run of HELM.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "states of scenarios of HELM",
    told_by: "`request_states`; `train_trial_index` with `request` and `result`, `stats` or `predicted_text`; \
              `references` with `input.text`",
    marks: &["request_states", "train_trial_index", "references"],
    matches: |value| {
        value.get("request_states").is_some_and(|states| states.as_array().is_some())
            || is_instance(value)
            || (value.get("train_trial_index").is_some() && has_any(value, &["request", "stats", "predicted_text"]))
    },
    read,
    joiner: None,
};

/// Whether a value is a question, of which a run has a list.
fn is_instance(value: &Json<'_>) -> bool {
    value.pointer("/input/text").is_some() && value.get("references").is_some_and(|all| all.as_array().is_some())
}

fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    if let Some(Json::Array(states)) = value.take("request_states") {
        entries.push(Ok(parent(CONTAINER, "the head of a log")));
        return states.into_iter().for_each(|state| entries.push(read_state(state)));
    }
    if is_instance(&value) {
        return entries.skipped(CONTAINER, "a question of a benchmark");
    }
    if has_all(&value, &["request", "result"]) {
        return entries.push(read_state(value));
    }
    match has_any(&value, &["request", "predicted_text"]) {
        true => entries.push(Ok(parent(CONTAINER, "a row for display"))),
        false => entries.skipped(CONTAINER, "an evaluation"),
    }
}

/// A request and its result.
fn read_state(mut state: Json<'_>) -> Outcome<'_> {
    let mut request = state.take("request").unwrap_or_default();
    let mut result = state.take("result").unwrap_or_default();
    let is_true = |place: &Json<'_>, key: &str| place.get(key).is_some_and(|flag| values::flag(flag) == Ok(true));
    if is_true(&request, "embedding") {
        return Ok(Entry::Ignored(Ignored::skipped(Format::of(CONTAINER), "an embedding")));
    }
    let mut call = Call::llm(CONTAINER);
    let parts = [name_at(&state, &["instance", "id"]), name_at(&state, &["train_trial_index"])];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    call.record.id = (!parts.is_empty()).then(|| parts.join("/").into());
    call.requested = take_name(&mut request, "model").or_else(|| take_name(&mut request, "model_deployment"));
    let asked = ["messages", "prompt"].into_iter().find_map(|key| request.take(key).filter(is_said));
    call.ask(asked);
    call.times(result.take("request_datetime").filter(is_said), None, None);
    call.reported_latency(result.get("request_time"), Unit::S);
    let is_failed = result.get("success").is_some() && !is_true(&result, "success");
    let completions = match result.take("completions") {
        Some(Json::Array(completions)) => completions,
        _ => Vec::new(),
    };
    if completions.len() > 1 {
        call.record.notes.add(Note::FurtherAnswers);
    }
    if let Some(mut first) = completions.into_iter().next().filter(|_| !is_failed) {
        let reason = first.take("finish_reason");
        call.record.response = take_text(&mut first, "text");
        call.record.finish_reason = reason.and_then(|mut reason| take_text(&mut reason, "reason"));
    }
    call.record.error = result.take("error").and_then(error_of).filter(|error| !error.is_empty());
    if is_failed && call.record.error.is_none() {
        call.record.error = Some("the request had no success".into());
    }
    Ok(call.finish())
}
