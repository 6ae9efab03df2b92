//! LangSmith: runs, and the batches in which its SDK sends them.
//!
//! - `llm` is a call of a model, `tool` one of a tool; chains, prompts and parsers repeat their children; retrievers
//!   and embeddings hold no call
//! - `session_id` is the *project*; the conversation is `extra.metadata.{thread_id, session_id, conversation_id}`
//! - a batch `{"post": [...], "patch": [...]}` has the beginning of a run in one list and its end in the other; they
//!   are merged by id. So are the parts of a form (`post.ID`, `post.ID.inputs`), where a log has them by their names
//! - the root of a trace whose other runs are not in the log is what they were asked and answered
//! - messages are bodies of a provider, or LangChain's serialised ones
//! - runs of LongTracer (`run_id`, `project_name`) are read alike: their answers stand in `outputs`, beside the model, and what
//!   a run prepares is no call
//!
//! **Source**: langsmith 0.0.60 to 0.15, `RunTree`, `client.py`; longtracer 0.1 to 0.3, `guard/tracer.py`, `adapters`; times in RFC 3339 or in milliseconds since 1970.

use super::Writer;
use crate::{
    assemble::merges::{Merges, Parts},
    hash,
    record::{
        Container, Entry, Format, Fragment, Ignored,
        body::{
            self,
            message::{passages, take_name, take_text},
            unwrapped,
            usage::Usage,
        },
        call::{Call, Entries, Outcome, decoded, is_said, name_at},
        json::Json,
        values::Unit,
    },
};

const CONTAINER: Container = Container::named("langsmith");

/// LangSmith runs.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "runs; batches of `post` and `patch`",
    told_by: "`run_type`, `dotted_order`; `post` and `patch`",
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
    value.get("dotted_order").is_some() || value.get("run_type").is_some() || is_batch(value) || is_form(value)
}

/// Whether an object holds the parts of a form, by their names.
fn is_form(value: &Json<'_>) -> bool {
    value.as_object().unwrap_or_default().iter().any(|(key, _)| of_form(key).is_some())
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
    if is_form(&value) {
        return read_form(value, entries);
    }
    let lists = [value.take("post"), value.take("patch")];
    if lists.iter().all(Option::is_none) {
        let children = value.take("child_runs");
        // What was sent when a run began, or ended, has the other half in a line of its own.
        let is_whole = value.get("run_type").is_some() && (PARTS.has_ended)(&value);
        if is_whole {
            entries.push(run(value))
        } else {
            push_part(value, entries)
        }
        if let Some(Json::Array(children)) = children {
            children.into_iter().filter(|child| child.as_object().is_some()).for_each(|child| read(child, entries));
        }
        return;
    }
    let before = entries.list.len();
    for list in lists.into_iter().flatten() {
        let Json::Array(runs) = list else { continue };
        runs.into_iter().for_each(|run| push_part(run, entries));
    }
    if entries.list.len() == before {
        entries.skipped(CONTAINER, "no run");
    }
}

fn push_part<'a>(part: Json<'a>, entries: &mut Entries<'a>) {
    entries.push(Ok(Entry::Fragment(Fragment::of_value(Format::of(CONTAINER), part))));
}

/// The name of a part of a form: `post.ID` has a run, `post.ID.inputs` what it was asked.
fn of_form(key: &str) -> Option<(&str, Option<&str>)> {
    let (_, rest) = key.split_once('.').filter(|(list, _)| matches!(*list, "post" | "patch"))?;
    let (id, field) = rest.split_once('.').map_or((rest, None), |(id, field)| (id, Some(field)));
    (id.len() == ID_CHARS).then_some((id, field))
}

/// Characters of a UUID.
const ID_CHARS: usize = 36;

/// Reads the parts of a form, in which what is large stands beside its run.
fn read_form<'a>(value: Json<'a>, entries: &mut Entries<'a>) {
    let Json::Object(parts) = value else { return };
    for (key, part) in parts {
        let Some((id, field)) = of_form(&key) else { continue };
        let id = Json::String(id.to_owned().into());
        push_part(
            match field {
                Some(field) => Json::Object(vec![("id".into(), id), (field.to_owned().into(), decoded(part))]),
                None => decoded(part),
            },
            entries,
        );
    }
}

fn run(mut value: Json<'_>) -> Outcome<'_> {
    let kind = take_text(&mut value, "run_type").unwrap_or_default();
    let mut call = match &*kind {
        "tool" => Call::tool(CONTAINER, take_name(&mut value, "name")),
        _ => Call::llm(CONTAINER),
    };
    let is_longtracer = value.get("run_id").is_some() && value.get("project_name").is_some();
    let mut extra = value.take("extra").map(decoded).unwrap_or_default();
    let metadata = extra.take("metadata").or_else(|| value.take("metadata")).map(decoded).unwrap_or_default();
    let mut parameters = extra.take("invocation_params").unwrap_or_default();
    call.record.id = take_name(&mut value, "id").or_else(|| take_name(&mut value, "run_id"));
    call.record.session_id =
        ["thread_id", "session_id", "conversation_id"].iter().find_map(|key| name_at(&metadata, &[key]));
    call.record.provider = name_at(&metadata, &["ls_provider"]);
    let first_token = value.take("first_token_time").or_else(|| first_token_event(&value));
    // LongTracer corrects its durations, and not its moments.
    let took = value.take("duration_ms").filter(|took| is_longtracer && is_said(took));
    let end = value.take("end_time").filter(|_| took.is_none());
    call.times(value.take("start_time"), end, first_token);
    call.reported_latency(took.as_ref(), Unit::Ms);
    let parent_id = take_name(&mut value, "parent_run_id").or_else(|| take_name(&mut value, "parent_id"));
    let trace_id = take_name(&mut value, "trace_id");
    let id = call.record.id.clone();
    call.span(trace_id, id, parent_id);
    let [inputs, mut outputs] = ["inputs", "outputs"].map(|key| value.take(key).map(decoded));
    let error = take_text(&mut value, "error").filter(|error| !error.is_empty());
    let skipped = |what| Ignored::skipped(Format::of(CONTAINER), what);
    match &*kind {
        "llm" if is_longtracer => {
            let model = outputs.as_ref().and_then(|outputs| name_at(outputs, &["model"]));
            call.requested = model.filter(|model| !model.is_empty());
            let Some((answer, _)) = outputs.and_then(body::named_answer) else {
                return Ok(call.without_call(skipped("a step that prepares a call"), Vec::new()));
            };
            call.ask(inputs.filter(body::is_question));
            call.answered(answer);
        }
        "tool" if is_longtracer => {
            let mut given = outputs.take().unwrap_or_default();
            call.record.tool = take_name(&mut given, "tool").or(call.record.tool.take());
            call.args(inputs.filter(|inputs| inputs.as_object().is_some_and(|entries| !entries.is_empty())));
            call.result(["output", "output_preview"].into_iter().find_map(|key| given.take(key)));
        }
        "llm" => {
            call.requested = name_at(&metadata, &["ls_model_name"])
                .or_else(|| name_at(&parameters, &["model"]))
                .or_else(|| name_at(&parameters, &["model_name"]));
            call.ask(inputs);
            if let Some(usage) = outputs.as_ref().and_then(|outputs| outputs.get("usage_metadata")) {
                Usage::of(usage).fill(&mut call.record);
            }
            call.answer(outputs.map(unwrapped));
            call.tokens(value.get("prompt_tokens"), value.get("completion_tokens"));
            if let Some(usage) = metadata.get("usage_metadata") {
                Usage::of(usage).fill(&mut call.record);
            }
            call.record.tools = call.record.tools.take().or_else(|| parameters.take("tools"));
        }
        "tool" => {
            call.args(inputs.map(unwrap_input));
            call.result(outputs.map(unwrapped));
        }
        "retriever" => {
            return Ok(call.without_call(skipped("a retrieval"), outputs.map(passages).unwrap_or_default()));
        }
        "embedding" => return Ok(call.without_call(skipped("an embedding"), Vec::new())),
        _ => {
            let parent = Ignored::parent(Format::of(CONTAINER), "a span of a framework");
            return Ok(call.outline(inputs, outputs, parent));
        }
    }
    call.record.error = call.record.error.take().or(error);
    Ok(call.finish())
}

/// The time of the first event of a streamed answer.
fn first_token_event<'a>(value: &Json<'a>) -> Option<Json<'a>> {
    let events = value.get("events")?.as_array()?;
    events.iter().find(|event| event.get("name").and_then(Json::as_str) == Some("new_token"))?.get("time").cloned()
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
