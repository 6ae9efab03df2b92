//! How well the engines find what they look for, on labelled data.
//!
//! ```text
//! cargo bench --bench accuracy -- DATA [TASK...]      DATA/injection/*.jsonl.gz, DATA/pii/..., DATA/secret/...
//! ```
//!
//! Each item becomes a record and goes through a whole audit with the default settings; what is scored is what the
//! report says. The data is not part of this project (`docs/accuracy.md` names every set, its source and licence); a
//! set that is absent is named and left out.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark speaks")]

mod data;
mod equation;
mod field;
mod grounding;
mod injection;
mod json;
mod near;
mod pii;
mod secret;
mod tool_call;

use data::Data;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let Some((folder, tasks)) = arguments.split_first() else {
        println!("usage: cargo bench --bench accuracy -- DATA [TASK]...");
        println!(
            "TASK: injection, field, pii, secret, equation, json_repair, tool_call, groundedness, groundedness-fit; all but the last when not given"
        );
        return;
    };
    let data = Data::in_folder(folder);
    let is_wanted = |task: &str| tasks.is_empty() || tasks.iter().any(|wanted| wanted == task);
    if is_wanted("groundedness") {
        grounding::measure(&data);
    }
    // Writes the table that the library embeds, so it is done only on request.
    if tasks.iter().any(|wanted| wanted == "groundedness-fit") {
        grounding::fit(&data);
    }
    if is_wanted("injection") {
        injection::measure(&data);
    }
    if is_wanted("field") {
        field::measure(&data);
    }
    if is_wanted("pii") {
        pii::measure(&data);
    }
    if is_wanted("secret") {
        secret::measure(&data);
    }
    if is_wanted("equation") {
        equation::measure(&data);
    }
    if is_wanted("json_repair") {
        json::measure(&data);
    }
    if is_wanted("tool_call") {
        tool_call::measure(&data);
    }
}
