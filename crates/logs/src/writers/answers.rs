//! Rows of data sets that hold several answers to one question, or an answer in a way of their own.
//!
//! Each answer that a model gave is a call:
//!
//! - preferences: `chosen` and `rejected`, `preferred_output` and `non_preferred_output`; texts, lists of messages, or
//!   conversations that are one text (`Human:`, `Assistant:`)
//! - contests: `response_a` and `response_b`, `output_1` and `output_2`, `conversation_a` and `conversation_b`, with
//!   `model_a`, `generator_1`, ...; a question with several turns is a list of them
//! - lists: `completions`, `responses`, `answers`, `outputs` of objects with an answer and a model
//! - judgments of models: `judgment` with `user_prompt`, by the first of `judge`
//! - benchmarks: `choices` with `turns`; a file of their questions (`question_id`, `turns`) holds no call
//! - gold answers: the first of `answers`; where they are calls of tools in JSON, those
//! - rows of a text that is a conversation; tuning rows of Gemini (`contents`)
//! - trees of messages (`message_tree_id`): each reply of the assistant
//!
//! What stands beside the answers is read by the names that logs have for it.
//!
//! **Source**: Anthropic HH-RLHF, UltraFeedback, Nectar, LMSYS arena sets, AlpacaEval, PKU-SafeRLHF, OpenAI preference
//! tuning, FastChat `llm_judge`, xLAM, SQuAD, OpenAssistant.
//!
//! **Limits**: at most [`ANSWERS_MAX`] answers of a row. Of a conversation of several turns the last answer is the call, and
//! the others are its prompt.

use std::borrow::Cow;

use super::{
    Writer,
    conversation::{Speaker, is_message},
    has_all, native, transcript,
};
use crate::record::{
    Container, Note, Record,
    body::{self, gemini, message::take_text},
    call::{Entries, decoded},
    fields::{self, Field, Scope},
    json::Json,
    mapping::Mapping,
};

const CONTAINER: Container = Container::named("answers");

/// Answers of one row.
const ANSWERS_MAX: usize = 256;

/// Pairs of answers of which one was liked better.
const PREFERENCES: [[&str; 2]; 8] = [
    ["chosen", "rejected"],
    ["preferred_output", "non_preferred_output"],
    ["chosen_response", "rejected_response"],
    ["response_chosen", "response_rejected"],
    ["preferred", "dispreferred"],
    ["accepted", "rejected"],
    ["better", "worse"],
    ["positive", "negative"],
];

/// What answers of a contest are called, without the sign of the contestant.
const STEMS: [&str; 7] = ["response", "answer", "output", "completion", "conversation", "generation", "assistant"];

/// The signs of contestants.
const SIGNS: [[&str; 2]; 7] = [
    ["_a", "_b"],
    ["_A", "_B"],
    ["_1", "_2"],
    ["_0", "_1"],
    ["1", "2"],
    ["_model_a", "_model_b"],
    ["_model_1", "_model_2"],
];

/// What models of contestants are called, without the sign.
const MODELS: [&str; 4] = ["model", "generator", "model_name", "policy"];

/// Lists of answers.
const LISTS: [&str; 6] = ["completions", "responses", "answers", "outputs", "generations", "candidates"];

/// Rows with several answers.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "rows of data sets with several answers to one question",
    told_by: "`chosen` and `rejected`, `response_a` and `response_b`, a list of `completions` beside a question, ...",
    marks: &[
        "chosen",
        "preferred_output",
        "chosen_response",
        "response_chosen",
        "preferred",
        "accepted",
        "better",
        "positive",
        "response_a",
        "response_A",
        "response_1",
        "response_0",
        "response1",
        "response_model_a",
        "answer_a",
        "answer_A",
        "answer_1",
        "answer1",
        "output_a",
        "output_1",
        "output1",
        "completion_a",
        "completion_1",
        "conversation_a",
        "conversation_1",
        "generation_1",
        "assistant_a",
        "completions",
        "responses",
        "answers",
        "outputs",
        "generations",
        "candidates",
        "choices",
        "turns",
        "text",
        "chat",
        "contents",
        "message_tree_id",
        "judgment",
    ],
    matches: |value| Shape::of(value).is_some(),
    read,
    joiner: None,
};

/// How a row holds its answers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// Under two keys.
    Two([&'static str; 2]),
    /// Under two keys that name the contestants: stem and signs.
    Contest(&'static str, [&'static str; 2]),
    /// In a list.
    List(&'static str),
    /// Gold answers.
    Gold,
    /// Turns below `choices`.
    Benchmark,
    /// The questions of a benchmark.
    Questions,
    /// In a text.
    Text(&'static str),
    /// Contents of Gemini, of which the last is the answer.
    Contents,
    /// A tree of messages.
    Tree,
    /// What a model that judges was asked and answered.
    Judgment,
}

impl Shape {
    fn of(value: &Json<'_>) -> Option<Shape> {
        if value.get("message_tree_id").is_some() && value.pointer("/prompt/replies").is_some() {
            return Some(Shape::Tree);
        }
        if has_all(value, &["judgment", "user_prompt", "judge"]) {
            return Some(Shape::Judgment);
        }
        if let Some(two) =
            PREFERENCES.into_iter().find(|two| two.iter().all(|key| value.get(key).is_some_and(is_given)))
        {
            return Some(Shape::Two(two));
        }
        let contest = value.as_object().unwrap_or_default().iter().find_map(|(key, answer)| {
            let stem = STEMS.into_iter().find(|stem| key.starts_with(stem) && key.len() > stem.len())?;
            let is_other = |sign: &str| value.get(&format!("{stem}{sign}")).is_some_and(is_given);
            let signs = SIGNS.into_iter().find(|[first, second]| key[stem.len()..] == **first && is_other(second))?;
            is_given(answer).then_some(Shape::Contest(stem, signs))
        });
        contest.or_else(|| Shape::of_list(value)).or_else(|| Shape::of_text(value))
    }

    fn of_list(value: &Json<'_>) -> Option<Shape> {
        if value.get("choices").and_then(Json::as_array).is_some_and(|all| {
            !all.is_empty()
                && all.iter().all(|choice| choice.get("turns").is_some_and(|turns| turns.as_array().is_some()))
        }) {
            return Some(Shape::Benchmark);
        }
        let is_texts = |list: &Json<'_>| {
            list.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(|text| text.as_str().is_some()))
        };
        if has_all(value, &["question_id", "turns"]) && value.get("turns").is_some_and(is_texts) {
            return Some(Shape::Questions);
        }
        if !is_asked(value) || is_answered(value) {
            return None;
        }
        let is_list = |key: &&str| {
            let list = value.get(key).and_then(Json::as_array).unwrap_or_default();
            let is_text = |answer: &Json<'_>| answer.as_str().is_some() && *key != "answers" && *key != "candidates";
            !list.is_empty() && list.iter().all(|answer| is_text(answer) || answer_in(answer).is_some())
        };
        if let Some(key) = LISTS.into_iter().find(is_list) {
            return Some(Shape::List(key));
        }
        let is_gold = |answers: &Json<'_>| match answers {
            Json::Array(all) => !all.is_empty() && all.iter().all(|answer| answer.as_str().is_some()),
            Json::Object(_) => answers.get("text").is_some_and(|texts| texts.as_array().is_some()),
            Json::String(text) => text.trim_start().starts_with('['),
            _ => false,
        };
        value.get("answers").is_some_and(is_gold).then_some(Shape::Gold)
    }

    fn of_text(value: &Json<'_>) -> Option<Shape> {
        let is_text =
            |key: &&str| value.get(key).and_then(Json::as_str).is_some_and(|text| transcript::messages(text).is_some());
        if let Some(key) =
            ["text", "chat"].into_iter().find(is_text).filter(|_| !is_asked(value) && !is_answered(value))
        {
            return Some(Shape::Text(key));
        }
        let contents = value.get("contents").and_then(Json::as_array).unwrap_or_default();
        let closes = contents.last().is_some_and(|last| Speaker::of(last) == Some(Speaker::Model));
        (closes && gemini::is_contents(contents) && !is_answered(value)).then_some(Shape::Contents)
    }
}

/// Whether a value may be an answer: a text, a message, or a list of messages.
fn is_given(value: &Json<'_>) -> bool {
    match value {
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty() && items.iter().all(|item| item.as_str().is_some() || is_message(item)),
        Json::Object(_) => is_message(value) || answer_in(value).is_some(),
        _ => false,
    }
}

/// Where an object of a list of answers has its answer.
fn answer_in(object: &Json<'_>) -> Option<&'static str> {
    const KEYS: [&str; 8] =
        ["response", "answer", "text", "content", "completion", "output", "generated_text", "response_text"];
    KEYS.into_iter().find(|key| object.get(key).is_some_and(|text| text.as_str().is_some()))
}

/// Whether a row has a question.
fn is_asked(value: &Json<'_>) -> bool {
    has_meaning(value, Field::Prompt)
}

fn is_answered(value: &Json<'_>) -> bool {
    has_meaning(value, Field::Response)
}

fn has_meaning(value: &Json<'_>, field: Field) -> bool {
    let is_one = |(key, value): &(Cow<'_, str>, Json<'_>)| {
        let is_said = !value.is_null() && value.as_str() != Some("") && !LISTS.contains(&key.as_ref());
        is_said && fields::meanings(key).iter().any(|target| target.field == field && target.scope == Scope::Llm)
    };
    value.as_object().unwrap_or_default().iter().any(is_one)
}

/// An answer, and who gave it.
struct Given<'a> {
    answer: Json<'a>,
    model: Option<Json<'a>>,
    system: Option<Json<'a>>,
}

/// Reads a row.
fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let Some(shape) = Shape::of(&value) else {
        return entries.push(Err("a row without answers".to_owned()));
    };
    let given: Vec<Given<'a>> = match shape {
        Shape::Questions => return entries.skipped(CONTAINER, "a question of a benchmark"),
        Shape::Tree => return tree(value, entries),
        Shape::Judgment => vec![judgment(&mut value)],
        Shape::Gold => return gold(value, entries),
        Shape::Two(keys) => keys.into_iter().map(|key| two(&mut value, key)).collect(),
        Shape::Contest(stem, signs) => signs.into_iter().map(|sign| contestant(&mut value, stem, sign)).collect(),
        Shape::List(key) => list(&mut value, key),
        Shape::Benchmark => turns(&mut value),
        Shape::Text(key) => {
            let messages = take_text(&mut value, key).and_then(|text| transcript::messages(&text));
            vec![Given { answer: Json::Array(messages.unwrap_or_default()), model: None, system: None }]
        }
        Shape::Contents => {
            vec![Given { answer: value.take("contents").unwrap_or_default(), model: None, system: None }]
        }
    };
    let forgotten = given.len().saturating_sub(ANSWERS_MAX);
    for given in given.into_iter().take(ANSWERS_MAX) {
        let mut record = record(&value, given);
        if let (Ok(record), true) = (&mut record, forgotten > 0) {
            record.notes.add(Note::FurtherAnswers);
        }
        entries.push(record.map(crate::record::Entry::Record));
    }
}

/// One of two answers.
fn two<'a>(row: &mut Json<'a>, key: &str) -> Given<'a> {
    let answer = row.take(key).unwrap_or_default();
    let names = [format!("{key}_model"), format!("{key}-model"), format!("model_{key}")];
    let model = names.iter().find_map(|name| row.take(name));
    Given { answer, model, system: None }
}

/// The answer of a contestant.
fn contestant<'a>(row: &mut Json<'a>, stem: &str, sign: &str) -> Given<'a> {
    let answer = row.take(&format!("{stem}{sign}")).unwrap_or_default();
    let sign = sign.trim_start_matches("_model");
    let names = MODELS.iter().map(|model| format!("{model}{sign}")).chain([format!("{stem}{sign}_model")]);
    let model = names.into_iter().find_map(|name| row.take(&name));
    Given { answer, model, system: None }
}

/// The answers of a list.
fn list<'a>(row: &mut Json<'a>, key: &str) -> Vec<Given<'a>> {
    let Some(Json::Array(answers)) = row.take(key) else { return Vec::new() };
    let mut models = match row.take("models") {
        Some(Json::Array(models)) if models.len() == answers.len() => models.into_iter().map(Some).collect(),
        _ => vec![None; answers.len()],
    };
    let of = |(index, mut answer): (usize, Json<'a>)| {
        let named = ["model", "model_name", "generator"].into_iter().find_map(|key| answer.take(key));
        let model = named.or_else(|| models[index].take());
        let text = answer_in(&answer).and_then(|key| answer.take(key));
        let system =
            answer.take("custom_system_prompt").filter(|system| system.as_str().is_some_and(|text| !text.is_empty()));
        Given { answer: text.unwrap_or(answer), model, system }
    };
    answers.into_iter().enumerate().map(of).collect()
}

/// The answers to the turns of a benchmark, whose questions stand in another file.
fn turns<'a>(row: &mut Json<'a>) -> Vec<Given<'a>> {
    let model = row.take("model_id").or_else(|| row.take("model"));
    let Some(Json::Array(choices)) = row.take("choices") else { return Vec::new() };
    let turns = choices.into_iter().filter_map(|mut choice| match choice.take("turns") {
        Some(Json::Array(turns)) => Some(turns),
        _ => None,
    });
    let answer = |mut turn: Json<'a>| turn.take("content").unwrap_or(turn);
    turns.flatten().map(|turn| Given { answer: answer(turn), model: model.clone(), system: None }).collect()
}

/// What a judge answered, which has the first name of a pair: the second is its way to ask.
fn judgment<'a>(row: &mut Json<'a>) -> Given<'a> {
    let answer = row.take("judgment").unwrap_or_default();
    let model = match row.take("judge") {
        Some(Json::Array(names)) => names.into_iter().next(),
        name => name,
    };
    let asked = row.take("user_prompt").unwrap_or_default();
    if let Json::Object(entries) = row {
        entries.push(("prompt".into(), asked));
    }
    Given { answer, model, system: None }
}

/// A row with gold answers: the first of them.
fn gold<'a>(mut row: Json<'a>, entries: &mut Entries<'a>) {
    let mut note = false;
    let answer = match decoded(row.take("answers").unwrap_or_default()) {
        Json::Array(all) if all.first().is_some_and(|call| call.get("name").is_some()) => {
            let said = [("role".into(), Json::String("assistant".into())), ("tool_calls".into(), Json::Array(all))];
            Json::Object(said.into_iter().collect())
        }
        Json::Array(all) => {
            note = all.len() > 1;
            all.into_iter().next().unwrap_or_default()
        }
        mut object => match object.take("text") {
            Some(Json::Array(all)) => {
                note = all.len() > 1;
                all.into_iter().next().unwrap_or_default()
            }
            _ => Json::Null,
        },
    };
    if let Some(tools) = row.take("tools")
        && let Json::Object(entries) = &mut row
    {
        entries.push(("tools".into(), decoded(tools)));
    }
    let mut record = record(&row, Given { answer, model: None, system: None });
    if let (Ok(record), true) = (&mut record, note) {
        record.notes.add(Note::FurtherAnswers);
    }
    entries.push(record.map(crate::record::Entry::Record));
}

/// A tree of messages: each reply of the assistant, with the way to it.
fn tree<'a>(mut row: Json<'a>, entries: &mut Entries<'a>) {
    let id = row.take("message_tree_id");
    let mut waiting: Vec<(Vec<Json<'a>>, Json<'a>)> = vec![(Vec::new(), row.take("prompt").unwrap_or_default())];
    let mut answers = 0;
    while let Some((way, mut message)) = waiting.pop() {
        let speaker = Speaker::of(&message);
        let replies = match message.take("replies") {
            Some(Json::Array(replies)) => replies,
            _ => Vec::new(),
        };
        let role = speaker.map_or("user", Speaker::role);
        let said =
            [("role".into(), Json::String(role.into())), ("content".into(), message.take("text").unwrap_or_default())];
        let mut way = way;
        way.push(Json::Object(said.into_iter().collect()));
        if speaker == Some(Speaker::Model) && answers < ANSWERS_MAX {
            answers += 1;
            let own = [
                ("id", message.take("message_id")),
                ("created_at", message.take("created_date")),
                ("session_id", id.clone()),
            ];
            let own = own.into_iter().filter_map(|(key, value)| Some((key.into(), value?)));
            let given = Given { answer: Json::Array(way.clone()), model: message.take("model_name"), system: None };
            entries.push(record(&Json::Object(own.collect()), given).map(crate::record::Entry::Record));
        }
        waiting.extend(replies.into_iter().rev().map(|reply| (way.clone(), reply)));
    }
    if entries.list.is_empty() {
        entries.skipped(CONTAINER, "a tree of messages without an answer");
    }
}

/// The record of a row with one of its answers.
fn record<'a>(row: &Json<'a>, given: Given<'a>) -> Result<Record<'a>, String> {
    let Given { answer, model, system } = given;
    let mut entries: Vec<(Cow<'a, str>, Json<'a>)> = row.as_object().unwrap_or_default().to_vec();
    let turns = turns_of(&mut entries, answer);
    let answer = match turns {
        Ok(mut messages) => {
            let last = messages.iter().rposition(|message| Speaker::of(message) == Some(Speaker::Model));
            let answer = last.map(|last| messages.drain(last..).next().unwrap_or_default());
            if !messages.is_empty() {
                // What a list of messages says is all that was asked; a list beside it says it again.
                entries.retain(|(key, _)| !is_question(key));
                entries.push(("messages".into(), Json::Array(messages)));
            }
            answer.unwrap_or_default()
        }
        Err(answer) => {
            entries.retain(|(key, _)| key != "messages");
            answer
        }
    };
    entries.push(("response".into(), answer));
    if let Some(system) = system {
        entries.retain(|(key, _)| !matches!(key.as_ref(), "system" | "system_prompt"));
        entries.push(("system".into(), system));
    }
    if let Some(model) = model {
        entries.retain(|(key, _)| !fields::meanings(key).iter().any(|target| target.field == Field::Model));
        entries.push(("model".into(), model));
    }
    // What some sets call the id and the time of a row.
    for (own, name) in [("answer_id", "id"), ("question_id", "id"), ("prompt_id", "id"), ("tstamp", "timestamp")] {
        if !entries.iter().any(|(key, _)| key == name)
            && let Some((key, _)) = entries.iter_mut().find(|(key, _)| key == own)
        {
            *key = name.into();
        }
    }
    // Chats that a list of messages begins stand under the name of documents in some sets.
    for (key, value) in &mut entries {
        if key == "context"
            && value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(body::message::has_role))
        {
            *key = "messages".into();
        }
    }
    entries.push(("kind".into(), Json::String("llm".into())));
    let mut record = native::read(Json::Object(entries), &Mapping::default())?;
    record.format.container = CONTAINER;
    Ok(record)
}

fn is_question(key: &str) -> bool {
    fields::meanings(key).iter().any(|target| target.field == Field::Prompt && target.scope == Scope::Llm)
}

/// The messages that an answer is the end of; an answer that is none gives itself back.
fn turns_of<'a>(row: &mut Vec<(Cow<'a, str>, Json<'a>)>, answer: Json<'a>) -> Result<Vec<Json<'a>>, Json<'a>> {
    match answer {
        Json::Array(items) if items.iter().all(|item| item.as_str().is_some()) => Ok(alternating(row, items)),
        Json::Array(items) => Ok(items),
        Json::String(text) => {
            if let Some(messages) = transcript::messages(&text) {
                return Ok(messages);
            }
            // A list of turns that is kept as a text.
            let is_turn = |item: &Json<'_>| item.as_str().is_some() || item.is_null();
            match text.starts_with('[').then(|| Json::parse_text(text.clone())) {
                Some(Ok(Json::Array(items))) if !items.is_empty() && items.iter().all(is_turn) => {
                    Ok(alternating(row, items))
                }
                _ => Err(Json::String(text)),
            }
        }
        other => Err(other),
    }
}

/// The turns of questions and answers that are kept in two lists.
fn alternating<'a>(row: &mut [(Cow<'a, str>, Json<'a>)], answers: Vec<Json<'a>>) -> Vec<Json<'a>> {
    let asked = row.iter_mut().find(|(key, _)| is_question(key));
    let questions = asked.map(|(_, value)| decoded(std::mem::take(value)));
    let questions = match questions {
        Some(Json::Array(questions)) => questions,
        Some(one) => vec![one],
        None => Vec::new(),
    };
    let said = |role: &'static str, content: Json<'a>| {
        Json::Object(vec![("role".into(), Json::String(role.into())), ("content".into(), content)])
    };
    let mut questions = questions.into_iter();
    let mut messages = Vec::new();
    for answer in answers {
        messages.extend(questions.next().map(|question| said("user", question)));
        messages.push(said("assistant", answer));
    }
    messages
}
