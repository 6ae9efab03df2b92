//! LangSmith: runs, and the batches in which its SDK sends them.
//!
//! - `llm` is a call of a model, `tool` one of a tool; chains, prompts and parsers repeat their children; retrievers
//!   and embeddings hold no call
//! - `session_id` is the *project*; the conversation is `extra.metadata.{thread_id, session_id, conversation_id}`
//! - a batch `{"post": [...], "patch": [...]}` has the beginning of a run in one list and its end in the other; they
//!   are merged by id
//! - messages are bodies of a provider, or LangChain's serialised ones (`kwargs.content`)
//!
//! **Source**: langsmith 0.14, `RunTree`; times in RFC 3339 or in milliseconds since 1970.

use std::borrow::Cow;

use super::Writer;
use crate::{
    assemble::merges::{Merges, Parts},
    hash,
    record::{
        Container, Dialect, Entry, Format, Fragment, Ignored,
        body::{
            Answer, Conversation,
            message::{Joined, Said, passages, take_name, take_text},
            usage::Usage,
        },
        call::{Call, Entries, Outcome, is_said, name_at},
        json::Json,
    },
};

const CONTAINER: Container = Container::named("langsmith");

/// LangSmith runs.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "runs; batches of `post` and `patch`",
    told_by: "`run_type`, `dotted_order`",
    marks: &["dotted_order", "run_type", "post", "patch"],
    matches: is_run,
    read,
    joiner: Some(|limits| Box::new(Merges::new(PARTS, limits))),
};

/// A run is told in parts: its beginning in one batch, its end in another.
const PARTS: Parts = Parts {
    key: id_of,
    has_ended: |run| run.get("end_time").is_some_and(is_said),
    read: |value, entries| entries.push(run(value)),
};

fn is_run(value: &Json<'_>) -> bool {
    value.get("dotted_order").is_some() || value.get("run_type").is_some() || is_batch(value)
}

fn is_batch(value: &Json<'_>) -> bool {
    ["post", "patch"].iter().any(|key| {
        let runs = value.get(key).and_then(Json::as_array).unwrap_or_default();
        runs.iter().any(|run| run.get("dotted_order").is_some() || run.get("trace_id").is_some())
    })
}

/// The hash of the id of a run. A patch may come without an id: its place in the tree ends with it.
fn id_of(run: &Json<'_>) -> Option<u64> {
    let id = name_at(run, &["id"]).or_else(|| name_at(run, &["dotted_order"]))?;
    Some(hash::name(id.rsplit('Z').next().unwrap_or_default()))
}

/// Reads a run, or a batch of parts of runs.
fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let lists = [value.take("post"), value.take("patch")];
    if lists.iter().all(Option::is_none) {
        let children = value.take("child_runs");
        entries.push(run(value));
        if let Some(Json::Array(children)) = children {
            children.into_iter().filter(|child| child.as_object().is_some()).for_each(|child| read(child, entries));
        }
        return;
    }
    let before = entries.list.len();
    for list in lists.into_iter().flatten() {
        let Json::Array(runs) = list else { continue };
        let fragments = runs.into_iter().map(|run| Fragment::of_value(Format::of(CONTAINER), run));
        fragments.for_each(|fragment| entries.push(Ok(Entry::Fragment(fragment))));
    }
    if entries.list.len() == before {
        entries.skipped(CONTAINER, "no run");
    }
}

fn run(mut value: Json<'_>) -> Outcome<'_> {
    let kind = take_text(&mut value, "run_type").unwrap_or_default();
    let mut call = match &*kind {
        "tool" => Call::tool(CONTAINER, take_name(&mut value, "name")),
        _ => Call::llm(CONTAINER),
    };
    let metadata = value.take("extra").and_then(|mut extra| extra.take("metadata")).unwrap_or_default();
    call.record.id = take_name(&mut value, "id");
    call.record.session_id =
        ["thread_id", "session_id", "conversation_id"].iter().find_map(|key| name_at(&metadata, &[key]));
    call.record.provider = name_at(&metadata, &["ls_provider"]);
    let first_token = value.take("first_token_time").or_else(|| first_token_event(&value));
    call.times(value.take("start_time"), value.take("end_time"), first_token);
    let (trace_id, parent_id) = (take_name(&mut value, "trace_id"), take_name(&mut value, "parent_run_id"));
    let id = call.record.id.clone();
    call.span(trace_id, id, parent_id);
    let (inputs, outputs) = (value.take("inputs"), value.take("outputs"));
    let skipped = |what| Ignored::skipped(Format::of(CONTAINER), what);
    match &*kind {
        "llm" => {
            call.requested = name_at(&metadata, &["ls_model_name"]);
            ask(&mut call, inputs);
            answer(&mut call, outputs);
            call.tokens(value.get("prompt_tokens"), value.get("completion_tokens"));
            if let Some(usage) = metadata.get("usage_metadata") {
                Usage::of(usage).fill(&mut call.record);
            }
        }
        "tool" => {
            call.args(inputs.map(unwrap_input));
            call.result(outputs.map(unwrap_output));
        }
        "retriever" => {
            return Ok(call.without_call(skipped("a retrieval"), outputs.map(passages).unwrap_or_default()));
        }
        "embedding" => return Ok(call.without_call(skipped("an embedding"), Vec::new())),
        _ => {
            let parent = Ignored::parent(Format::of(CONTAINER), "a span of a framework");
            return Ok(call.without_call(parent, Vec::new()));
        }
    }
    call.record.error =
        call.record.error.take().or_else(|| take_text(&mut value, "error").filter(|error| !error.is_empty()));
    Ok(call.finish())
}

/// The time of the first event of a streamed answer.
fn first_token_event<'a>(value: &Json<'a>) -> Option<Json<'a>> {
    let events = value.get("events")?.as_array()?;
    events.iter().find(|event| event.get("name").and_then(Json::as_str) == Some("new_token"))?.get("time").cloned()
}

fn ask<'a>(call: &mut Call<'a>, inputs: Option<Json<'a>>) {
    let Some(mut inputs) = inputs else { return };
    let is_batch = matches!(inputs.get("messages").and_then(Json::as_array), Some([Json::Array(_), ..]));
    let is_langchain =
        inputs.get("messages").and_then(Json::as_array).is_some_and(|list| list.iter().any(is_serialised));
    if is_batch || is_langchain {
        let messages = inputs.take("messages").map(flatten).unwrap_or_default();
        call.asked(of_langchain(messages));
        call.requested = call.requested.take().or_else(|| take_name(&mut inputs, "model"));
        return;
    }
    // A string template gives `{"prompts": ["..."]}`.
    if let Some(Json::Array(prompts)) = inputs.take("prompts") {
        return call.ask(prompts.into_iter().next());
    }
    if inputs.get("messages").is_none() && inputs.get("input").is_some() && inputs.get("model").is_none() {
        return call.ask(inputs.take("input"));
    }
    call.ask(Some(inputs));
}

fn answer<'a>(call: &mut Call<'a>, outputs: Option<Json<'a>>) {
    let Some(mut outputs) = outputs else { return };
    if let Some(usage) = outputs.get("usage_metadata") {
        Usage::of(usage).fill(&mut call.record);
    }
    let Some(generations) = outputs.take("generations") else {
        let is_wrapped =
            outputs.as_object().is_some_and(|entries| entries.len() == 1) && outputs.get("output").is_some();
        return call.answer(if is_wrapped { outputs.take("output") } else { Some(outputs) });
    };
    let Some(mut first) = flatten(generations).into_iter().next() else { return };
    let message = first.take("message").map(deserialised);
    let reason = first.take("generation_info").and_then(|mut info| take_text(&mut info, "finish_reason"));
    let mut answer = match message {
        Some(message) => {
            let mut said = Said::default();
            let usage = message.get("usage_metadata").map(Usage::of).unwrap_or_default();
            let about = message.get("response_metadata").cloned().unwrap_or_default();
            said.add(message, Joined::ByLines);
            let answer = Answer::of_said(said);
            let model = name_at(&about, &["model_name"]).or_else(|| name_at(&about, &["model"]));
            let reason = name_at(&about, &["finish_reason"]).or_else(|| name_at(&about, &["stop_reason"]));
            let finish_reason = reason.or(answer.finish_reason);
            Answer { dialect: Some(Dialect::LangChain), usage, model, finish_reason, ..answer }
        }
        None => Answer { text: take_text(&mut first, "text"), ..Answer::default() },
    };
    answer.finish_reason = reason.or(answer.finish_reason);
    call.answered(answer);
    if let Some(mut about) = outputs.take("llm_output") {
        call.served = call.served.take().or_else(|| take_name(&mut about, "model_name"));
        if let Some(usage) = about.take("token_usage") {
            Usage::of(&usage).fill(&mut call.record);
        }
    }
}

/// Lists of lists as one list: LangChain calls models in batches, of one as a rule.
fn flatten(value: Json<'_>) -> Vec<Json<'_>> {
    match value {
        Json::Array(items) if matches!(items.first(), Some(Json::Array(_))) => {
            items.into_iter().next().map(flatten).unwrap_or_default()
        }
        Json::Array(items) => items,
        other => vec![other],
    }
}

fn of_langchain(messages: Vec<Json<'_>>) -> Conversation<'_> {
    let messages = messages.into_iter().map(deserialised);
    Conversation { dialect: Some(Dialect::LangChain), ..Conversation::of_messages(messages.collect()) }
}

fn is_serialised(message: &Json<'_>) -> bool {
    message.get("lc").is_some()
        || message.get("kwargs").is_some()
        || message.get("data").is_some_and(|data| data.get("content").is_some())
}

/// `{"lc": 1, "id": [..., "HumanMessage"], "kwargs": {"content"}}` as `{"type": "HumanMessage", "content"}`; also
/// `{"type": "human", "data": {"content"}}`.
fn deserialised(mut message: Json<'_>) -> Json<'_> {
    let class: Option<Cow<'_, str>> = match message.take("id") {
        Some(Json::Array(path)) => {
            path.into_iter().next_back().and_then(|name| if let Json::String(name) = name { Some(name) } else { None })
        }
        _ => take_text(&mut message, "type").filter(|_| message.get("data").is_some()),
    };
    let Some(mut inner) = message.take("kwargs").or_else(|| message.take("data")) else { return message };
    if let (Json::Object(entries), Some(class)) = (&mut inner, class) {
        entries.retain(|(key, _)| key != "type" && key != "role");
        entries.push(("role".into(), Json::String(class)));
    }
    inner
}

/// A tool called with one text has it under `input`.
fn unwrap_input(mut inputs: Json<'_>) -> Json<'_> {
    let is_alone = inputs.as_object().is_some_and(|entries| entries.len() == 1);
    match inputs.take("input").filter(|_| is_alone) {
        Some(Json::String(text)) => match Json::parse_text(text) {
            Ok(object @ Json::Object(_)) => object,
            Ok(other) => Json::Object(vec![("input".into(), other)]),
            Err(text) => Json::Object(vec![("input".into(), Json::String(text))]),
        },
        Some(object @ Json::Object(_)) => object,
        Some(other) => Json::Object(vec![("input".into(), other)]),
        None => inputs,
    }
}

fn unwrap_output(mut outputs: Json<'_>) -> Json<'_> {
    let is_alone = outputs.as_object().is_some_and(|entries| entries.len() == 1);
    match is_alone.then(|| outputs.take("output")).flatten() {
        Some(output) => output,
        None => outputs,
    }
}
