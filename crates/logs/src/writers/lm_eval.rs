//! Samples of the LM Evaluation Harness (`--log_samples`).
//!
//! - `arguments` has what was asked: `gen_args_0` with `arg_0`, or a list of lists in old logs; a chat is JSON in a string
//! - `resps` has what was answered, before any filter: every text is a call. A row of log-likelihoods holds none, since the
//!   answers were given
//! - a document is written once for each filter with the same answer, which is one call
//! - `doc` and `target` are the data set's, and no text of the model
//!
//! **Source**: what lm-evaluation-harness writes with `--log_samples`; not checked against each release.
//!
//! **Limits**: rows do not name the model; the file's name does.

use std::borrow::Cow;

use super::{Writer, has_any};
use crate::record::{
    Container,
    call::{Call, Entries, decoded, name_at},
    json::Json,
};

const CONTAINER: Container = Container::named("lm_eval");

/// Samples of the LM Evaluation Harness.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "samples of the LM Evaluation Harness",
    told_by: "`resps` with `arguments` or `doc_id`",
    marks: &["resps"],
    matches: |value| has_any(value, &["arguments", "doc_id"]),
    read,
    joiner: None,
};

fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let asked = requests(value.take("arguments").unwrap_or_default());
    let Some(Json::Array(answers)) = value.take("resps") else { return entries.skipped(CONTAINER, "no answer") };
    let parts = ["doc_id", "doc_hash", "prompt_hash", "target_hash"].map(|key| name_at(&value, &[key]));
    let id: Vec<Cow<'a, str>> = parts.into_iter().flatten().collect();
    let id = id.join("/");
    let before = entries.list.len();
    for (at, answers) in answers.into_iter().enumerate() {
        let answers = if let Json::Array(answers) = answers { answers } else { vec![answers] };
        for (repeat, answer) in answers.into_iter().enumerate() {
            let Json::String(text) = answer else { continue };
            let mut call = Call::llm(CONTAINER);
            call.record.id = Some(format!("{id}/{at}/{repeat}").into());
            // Rows of further filters have the same.
            call.record.response_id.clone_from(&call.record.id);
            call.ask(asked.get(at).or_else(|| asked.first()).cloned());
            call.record.response = Some(text);
            entries.push(Ok(call.finish()));
        }
    }
    if entries.list.len() == before {
        entries.skipped(CONTAINER, "likelihoods of given answers");
    }
}

/// What was asked, request by request.
fn requests(arguments: Json<'_>) -> Vec<Json<'_>> {
    fn first(arguments: Json<'_>) -> Json<'_> {
        match arguments {
            Json::Array(all) => all.into_iter().next().unwrap_or_default(),
            mut named => named.take("arg_0").unwrap_or_default(),
        }
    }
    let all: Vec<Json<'_>> = match arguments {
        Json::Array(all) => all,
        Json::Object(named) => named.into_iter().map(|(_, arguments)| arguments).collect(),
        _ => Vec::new(),
    };
    all.into_iter().map(|arguments| decoded(first(arguments))).collect()
}
