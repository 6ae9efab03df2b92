//! Inspect AI logs: a document, or the members of an archive (`.eval`), which are one sample each.
//!
//! Each `model` event of a sample is a call, and each `tool` event one of a tool, also those within other events and of
//! tries that failed. A sample without such events is its conversation and its last answer.
//!
//! - messages that events share stand once in `events_data.messages`, and `input_refs` are ranges of them; long texts are
//!   `attachment://HASH`, which `attachments` has
//! - latency: `output.time`, else `call.time`, else `working_time` (seconds), else `completed` - `timestamp`
//! - model that was asked for: that of the event, else `eval.model`, else the only one of `model_usage`; that answered:
//!   `output.model`
//! - session: the sample's `uuid`; of old logs, which have none, run, sample and epoch
//! - of an archive, its header, the start of its journal, its summaries and reductions hold no calls
//!
//! **Source**: inspect_ai 0.3, `EvalLog` version 2: `log/_log.py`, `log/_condense.py`, `log/_recorders/eval.py`.

use std::borrow::Cow;

use super::{Writer, has_all, has_any};
use crate::record::{
    Container, Kind,
    body::{
        Conversation, error_of,
        message::{take_name, take_text},
        openai_chat,
        usage::Usage,
    },
    call::{Call, Entries, Outcome, name_at, parent},
    json::Json,
    values::{self, Unit},
};

const CONTAINER: Container = Container::named("inspect");

/// Inspect AI logs.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "Inspect AI logs: documents, and archives of samples",
    told_by: "`eval` with `samples`, `plan` or `status`; `epoch` and `target` with `input`; `scorer` with `samples`",
    marks: &["eval", "epoch", "scorer"],
    matches: |value| Part::of(value).is_some(),
    read,
    joiner: None,
};

/// What stands in the place of a long text.
const ATTACHMENT: &str = "attachment://";

/// Events within events that are followed.
const DEPTH_MAX: usize = 32;

/// A part of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// A whole log, or its header.
    Log,
    /// A sample.
    Sample,
    /// What is told of a sample in a list of them.
    Summary,
    /// The scores of all epochs.
    Reduction,
}

impl Part {
    fn of(value: &Json<'_>) -> Option<Part> {
        if value.get("eval").is_some() && has_any(value, &["samples", "plan", "status"]) {
            return Some(Part::Log);
        }
        let scores = value.get("samples").and_then(Json::as_array).unwrap_or_default();
        let is_score = |score: &Json<'_>| has_all(score, &["sample_id", "value"]);
        if value.get("scorer").is_some() && !scores.is_empty() && scores.iter().all(is_score) {
            return Some(Part::Reduction);
        }
        if !has_all(value, &["id", "epoch", "input", "target"]) {
            return None;
        }
        match has_any(value, &["messages", "output", "events", "transcript"]) {
            true => Some(Part::Sample),
            false => Some(Part::Summary),
        }
    }
}

/// Reads a log, or a part of one.
fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    match Part::of(&value) {
        Some(Part::Sample) => return read_sample(value, &Log::default(), entries),
        Some(Part::Summary) => return entries.push(Ok(parent(CONTAINER, "a summary of a sample"))),
        Some(Part::Reduction) => return entries.skipped(CONTAINER, "an evaluation"),
        Some(Part::Log) | None => entries.push(Ok(parent(CONTAINER, "the head of a log"))),
    }
    let log = Log { model: name_at(&value, &["eval", "model"]), run: name_at(&value, &["eval", "run_id"]) };
    let Some(Json::Array(samples)) = value.take("samples") else { return };
    for sample in samples {
        read_sample(sample, &log, entries);
    }
}

/// What a log says of all its samples.
#[derive(Default)]
struct Log<'a> {
    model: Option<Cow<'a, str>>,
    run: Option<Cow<'a, str>>,
}

/// What a sample says of all its events.
struct Sample<'a> {
    model: Option<Cow<'a, str>>,
    session: Option<Cow<'a, str>>,
    /// Messages that events refer to.
    messages: Vec<Json<'a>>,
    attachments: Json<'a>,
}

fn read_sample<'a>(mut value: Json<'a>, log: &Log<'a>, entries: &mut Entries<'a>) {
    let mut transcript = value.take("transcript").unwrap_or_default();
    let mut sample = Sample {
        model: log.model.clone().or_else(|| only_model(&value)),
        session: session_of(&value, log),
        messages: list(value.take("events_data").and_then(|mut shared| shared.take("messages"))),
        attachments: value.take("attachments").or_else(|| transcript.take("content")).unwrap_or_default(),
    };
    let mut messages = std::mem::take(&mut sample.messages);
    messages.iter_mut().for_each(|message| sample.attach(message));
    sample.messages = messages;
    let before = entries.list.len();
    for mut retry in list(value.take("error_retries")) {
        sample.events(list(retry.take("events")), 0, entries);
    }
    sample.events(list(value.take("events").or_else(|| transcript.take("events"))), 0, entries);
    let is_llm = |entry: &Result<crate::record::Entry<'_>, String>| {
        entry.as_ref().ok().and_then(|entry| entry.as_record()).is_some_and(|record| record.kind == Kind::Llm)
    };
    if !entries.list[before..].iter().any(is_llm) {
        entries.push(sample.whole(value));
    }
}

/// The only model that a sample says it used.
fn only_model<'a>(sample: &Json<'a>) -> Option<Cow<'a, str>> {
    match sample.get("model_usage")?.as_object()? {
        [(model, _)] => Some(model.clone()),
        _ => None,
    }
}

/// What tells the conversation of a sample from others.
fn session_of<'a>(sample: &Json<'a>, log: &Log<'a>) -> Option<Cow<'a, str>> {
    name_at(sample, &["uuid"]).or_else(|| {
        let parts = [log.run.clone(), name_at(sample, &["id"]), name_at(sample, &["epoch"])];
        let parts: Vec<Cow<'a, str>> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("/").into())
    })
}

fn list(value: Option<Json<'_>>) -> Vec<Json<'_>> {
    if let Some(Json::Array(items)) = value { items } else { Vec::new() }
}

impl<'a> Sample<'a> {
    /// Reads the calls among events.
    fn events(&self, events: Vec<Json<'a>>, depth: usize, entries: &mut Entries<'a>) {
        for mut event in events {
            let within = list(event.take("events"));
            if depth < DEPTH_MAX {
                self.events(within, depth + 1, entries);
            }
            if event.get("pending").and_then(Json::as_bool) == Some(true) {
                continue;
            }
            let read: fn(&Sample<'a>, Json<'a>) -> Outcome<'a> = match event.get("event").and_then(Json::as_str) {
                Some("model") => Sample::model,
                Some("tool") => Sample::tool,
                _ => continue,
            };
            self.attach(&mut event);
            entries.push(read(self, event));
        }
    }

    /// Puts long texts where they belong.
    fn attach(&self, value: &mut Json<'a>) {
        match value {
            Json::Array(items) => items.iter_mut().for_each(|item| self.attach(item)),
            Json::Object(entries) => entries.iter_mut().for_each(|(_, value)| self.attach(value)),
            Json::String(text) => {
                let found = text.strip_prefix(ATTACHMENT).and_then(|hash| self.attachments.get(hash));
                if let Some(found) = found {
                    *value = found.clone();
                }
            }
            _ => {}
        }
    }

    /// The messages of an event, which may be ranges of those that all share.
    fn input(&self, event: &mut Json<'a>) -> Vec<Json<'a>> {
        let mut messages = list(event.take("input"));
        for range in list(event.take("input_refs")) {
            let at = |index: usize| usize::try_from(values::count(range.as_array()?.get(index)?).ok()?).ok();
            let found = at(0).zip(at(1)).and_then(|(from, to)| self.messages.get(from..to.min(self.messages.len())));
            messages.extend(found.unwrap_or_default().iter().cloned());
        }
        messages
    }

    /// A call of a model.
    fn model(&self, mut event: Json<'a>) -> Outcome<'a> {
        let mut call = Call::llm(CONTAINER);
        call.record.id = take_name(&mut event, "uuid");
        call.record.session_id.clone_from(&self.session);
        call.requested = take_text(&mut event, "model").or_else(|| self.model.clone());
        call.asked(Conversation::of_messages(self.input(&mut event)));
        call.record.tools = event.take("tools").filter(|tools| tools.as_array().is_some_and(|tools| !tools.is_empty()));
        let output = event.take("output").unwrap_or_default();
        let took = [output.get("time"), event.pointer("/call/time"), event.get("working_time")];
        let took = took.into_iter().flatten().find(|took| !took.is_null()).cloned();
        let end = event.take("completed").filter(|_| took.is_none());
        call.times(event.take("timestamp"), end, None);
        call.reported_latency(took.as_ref(), Unit::S);
        output_of(output, event.take("error"), &mut call);
        Ok(call.finish())
    }

    /// A call of a tool.
    fn tool(&self, event: Json<'a>) -> Outcome<'a> {
        tool_event(event, self.session.clone())
    }

    /// The conversation of a sample that tells no events.
    fn whole(&self, mut value: Json<'a>) -> Outcome<'a> {
        let mut call = Call::llm(CONTAINER);
        call.record.id = name_at(&value, &["uuid"]).or_else(|| name_at(&value, &["id"]));
        call.record.session_id.clone_from(&self.session);
        call.requested.clone_from(&self.model);
        let output = value.take("output").unwrap_or_default();
        let has_answer = output.get("choices").and_then(Json::as_array).is_some_and(|choices| !choices.is_empty());
        let messages = value.take("messages").filter(|list| list.as_array().is_some_and(|list| !list.is_empty()));
        if let Some(Json::Array(mut messages)) = messages {
            // The last message is the answer itself, which the output repeats.
            let is_answer =
                messages.last().is_some_and(|last| last.get("role").and_then(Json::as_str) == Some("assistant"));
            if has_answer && is_answer {
                messages.pop();
            }
            call.asked(Conversation::of_messages(messages));
        } else {
            call.ask(value.take("input"));
        }
        call.times(value.take("started_at"), None, None);
        call.reported_latency(output.get("time"), Unit::S);
        output_of(output, value.take("error"), &mut call);
        Ok(call.finish())
    }
}

/// What a model put out.
fn output_of<'a>(mut output: Json<'a>, error: Option<Json<'a>>, call: &mut Call<'a>) {
    call.record.response_id = take_name(&mut output, "response_id");
    call.served = take_text(&mut output, "model").filter(|model| !model.is_empty());
    if let Some(usage) = output.take("usage") {
        Usage::of(&usage).fill(&mut call.record);
    }
    let completion = take_text(&mut output, "completion");
    match output.take("choices").filter(|choices| choices.as_array().is_some_and(|choices| !choices.is_empty())) {
        Some(choices) => call.answered(openai_chat::read_choices(choices)),
        None => call.record.response = completion.filter(|text| !text.is_empty()),
    }
    let error = [error, output.take("error")].into_iter().flatten().find(|error| !error.is_null()).and_then(error_of);
    call.record.error = call.record.error.take().or(error);
}

fn tool_event<'a>(mut event: Json<'a>, session: Option<Cow<'a, str>>) -> Outcome<'a> {
    let mut call = Call::tool(CONTAINER, take_text(&mut event, "function"));
    call.record.call_id = take_name(&mut event, "id");
    call.record.id = take_name(&mut event, "uuid").or_else(|| call.record.call_id.clone());
    call.record.session_id = session;
    call.times(event.take("timestamp"), event.take("completed"), None);
    call.reported_latency(event.get("working_time"), Unit::S);
    call.args(event.take("arguments"));
    call.result(event.take("result"));
    call.record.error = event.take("error").and_then(error_of);
    Ok(call.finish())
}
