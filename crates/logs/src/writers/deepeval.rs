//! deepeval: cases of tests, and runs of them.
//!
//! - a case with an `actual_output` is a call; its documents are the `retrieval_context`, else the `context`, which is what an
//!   ideal answer rests on. A case without an output, as a golden, is a question
//! - the answers of a conversation are calls of their own
//! - `completion_time` is in seconds; the model is that of the `hyperparameters` of the run
//! - the scores of metrics are opinions, and not read
//!
//! **Source**: deepeval's `LLMTestCase`, `TestRun` and data sets; a data set that deepeval wrote.

use std::borrow::Cow;

use super::{
    Writer,
    conversation::{self, Frame},
    has_any,
};
use crate::record::{
    Container,
    body::message::{passages, take_name, take_text},
    call::{Call, Entries, is_said, name_at, parent},
    json::Json,
    values::Unit,
};

const CONTAINER: Container = Container::named("deepeval");

/// Cases of tests.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "cases of tests of deepeval, and runs of them",
    told_by: "`testCases`; `actual_output` (or `actualOutput`) with `input`",
    marks: &["actual_output", "actualOutput", "testCases"],
    matches: |value| {
        is_run(value) || (is_case(value) && value.get("input").is_some_and(|input| input.as_str().is_some()))
    },
    read,
    joiner: None,
};

fn is_run(value: &Json<'_>) -> bool {
    value.get("testCases").is_some_and(|cases| cases.as_array().is_some())
}

fn is_case(value: &Json<'_>) -> bool {
    has_any(value, &["actual_output", "actualOutput"])
}

fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    if !is_run(&value) {
        return case(value, None, entries);
    }
    entries.push(Ok(parent(CONTAINER, "the head of a log")));
    let parameters = value.take("hyperparameters").unwrap_or_default();
    let model = ["model", "model_name"].iter().find_map(|key| name_at(&parameters, &[key]));
    for one in list(value.take("testCases")) {
        case(one, model.clone(), entries);
    }
    for mut one in list(value.take("conversationalTestCases")) {
        let frame = Frame { container: CONTAINER, model: model.clone(), ..Frame::default() };
        conversation::push(list(one.take("turns")), frame, entries);
    }
}

fn case<'a>(mut value: Json<'a>, model: Option<Cow<'a, str>>, entries: &mut Entries<'a>) {
    let mut either = |names: [&str; 2]| names.into_iter().find_map(|key| value.take(key)).filter(is_said);
    let Some(output) = either(["actual_output", "actualOutput"]) else {
        return entries.skipped(CONTAINER, "a question of a benchmark");
    };
    let documents = either(["retrieval_context", "retrievalContext"]).or_else(|| either(["context", "context"]));
    let took = either(["completion_time", "completionTime"]);
    let mut call = Call::llm(CONTAINER);
    call.record.id = take_name(&mut value, "id");
    call.ask(value.take("input"));
    call.answer(Some(output));
    call.record.context = documents.map(passages).unwrap_or_default();
    call.reported_latency(took.as_ref(), Unit::S);
    call.requested = take_text(&mut value, "model").or(model);
    entries.push(Ok(call.finish()));
}

fn list(value: Option<Json<'_>>) -> Vec<Json<'_>> {
    if let Some(Json::Array(items)) = value { items } else { Vec::new() }
}
