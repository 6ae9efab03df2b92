//! Bodies: what was asked and what was answered, in the dialects of the providers. Written once, read in every
//! container.
//!
//! - [`openai_chat`], [`openai_responses`], [`anthropic`], [`gemini`], [`bedrock`], [`ollama`], [`cohere`], [`servers`],
//!   [`langchain`]: one dialect each, request and response; [`vendor`]: the bodies of many others, which are small
//! - [`message`]: messages and their parts, in the spellings of all dialects
//! - [`usage`]: token counts
//!
//! A list of events of a streamed answer, and a text of server-sent events, is put together by [`stream`](super::stream), as events on lines of their own are.
//!
//! A body is told from a text or a structured answer by what only a body has; when in doubt it is an answer, and is
//! read as its JSON text.

pub(crate) mod anthropic;
pub(crate) mod bedrock;
pub(crate) mod cohere;
pub(crate) mod gemini;
pub(crate) mod langchain;
pub(crate) mod message;
pub(crate) mod ollama;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;
pub(crate) mod servers;
pub(crate) mod usage;
pub(crate) mod vendor;

use std::borrow::Cow;

use super::{
    Dialect, Message, Note, Notes, Passage, Prompt, ToolCall,
    fields::{self, Field, Scope},
    json::Json,
    stream::{Stream, pieces::Server},
    values,
};
use message::{Joined, Said, Turn, has_role, is_turn, take_text, text_of};
use usage::Usage;

/// The finish reason of an answer that calls tools and does not say why it ended.
const TOOL_CALLS: &str = "tool_calls";

/// What a message may have. An object without a role and with other keys is a structured answer and no message.
const MESSAGE_KEYS: [&str; 18] = [
    "role",
    "content",
    "refusal",
    "tool_calls",
    "function_call",
    "annotations",
    "audio",
    "name",
    "type",
    "id",
    "reasoning",
    "reasoning_content",
    "additional_kwargs",
    "response_metadata",
    "usage_metadata",
    "invalid_tool_calls",
    "provider_specific_fields",
    "example",
];

/// What a response body, a message or a text says.
#[derive(Debug, Default)]
pub(crate) struct Answer<'a> {
    pub dialect: Option<Dialect>,
    pub id: Option<Cow<'a, str>>,
    pub model: Option<Cow<'a, str>>,
    /// When it was made, by the provider's clock.
    pub created: Option<Json<'a>>,
    pub text: Option<Cow<'a, str>>,
    pub finish_reason: Option<Cow<'a, str>>,
    pub usage: Usage,
    pub error: Option<Cow<'a, str>>,
    pub tool_calls: Vec<ToolCall<'a>>,
    /// What some dialects repeat of the request.
    pub system: Option<Cow<'a, str>>,
    pub tools: Option<Json<'a>>,
    pub session_id: Option<Cow<'a, str>>,
    pub context: Vec<Passage<'a>>,
    /// What some dialects measure.
    pub latency_ms: Option<f64>,
    pub ttft_ms: Option<f64>,
    pub notes: Notes,
    /// Why nothing of the body is read.
    pub problem: Option<String>,
}

/// What a request body, a list of messages or a text asks.
#[derive(Debug, Default)]
pub(crate) struct Conversation<'a> {
    pub dialect: Option<Dialect>,
    pub system: Option<Cow<'a, str>>,
    pub model: Option<Cow<'a, str>>,
    pub tools: Option<Json<'a>>,
    pub expected_schema: Option<Json<'a>>,
    pub text: Option<Cow<'a, str>>,
    pub context: Vec<Passage<'a>>,
    pub notes: Notes,
    pub turns: Vec<Turn<'a>>,
}

impl<'a> Answer<'a> {
    /// An answer that is a text.
    pub fn of_text(text: Cow<'a, str>) -> Answer<'a> {
        Answer { text: Some(text), ..Answer::default() }
    }

    /// An answer that is one message, with the results of tools in it left aside.
    pub fn of_said(mut said: Said<'a>) -> Answer<'a> {
        let turn = said.turns.pop().unwrap_or_default();
        let mut answer = turn.into_answer();
        answer.context.append(&mut said.context);
        answer.notes.merge(said.notes);
        answer
    }

    /// A body that ended, has a place for its text and none in it, says that the answer was empty.
    pub fn or_empty(mut self) -> Answer<'a> {
        let is_other = !self.tool_calls.is_empty() || self.error.is_some();
        let has_ended = self.finish_reason.as_deref().is_some_and(|reason| reason != TOOL_CALLS);
        if self.text.is_none() && !is_other && has_ended {
            self.text = Some("".into());
        }
        self
    }
}

impl<'a> Conversation<'a> {
    /// A list of messages: those of the roles system and developer are the system prompt.
    pub fn of_messages(messages: Vec<Json<'a>>) -> Conversation<'a> {
        Conversation::of_said(Said::of_list(messages))
    }

    /// Messages that were read: those of the roles system and developer are the system prompt.
    pub fn of_said(said: Said<'a>) -> Conversation<'a> {
        let (system, turns): (Vec<_>, Vec<_>) =
            said.turns.into_iter().partition(|turn| matches!(turn.message.role.as_ref(), "system" | "developer"));
        let texts = system.into_iter().filter(|turn| turn.has_text).map(|turn| turn.message.text);
        Conversation {
            system: join_lines(texts.collect()),
            turns,
            context: said.context,
            notes: said.notes,
            ..Conversation::default()
        }
    }

    /// The conversation as a prompt.
    pub fn prompt(&mut self) -> Prompt<'a> {
        if let Some(text) = self.text.take() {
            return Prompt::Text(text);
        }
        if self.turns.is_empty() {
            return Prompt::Absent;
        }
        Prompt::Messages(std::mem::take(&mut self.turns).into_iter().map(|turn| turn.message).collect())
    }

    /// Takes the answer out that the conversation ends with. One that ends with the user or a tool waits for its answer:
    /// all of it is what the model was asked.
    pub fn split_last_answer(&mut self) -> Option<Answer<'a>> {
        let last = self.turns.pop_if(|turn| turn.message.role == "assistant")?;
        Some(last.into_answer())
    }
}

impl<'a> Turn<'a> {
    /// The message as an answer. One without text that calls tools is an answer whose finish reason says so.
    pub fn into_answer(self) -> Answer<'a> {
        let Turn { message: Message { text, tool_calls, .. }, has_text, calls_tools } = self;
        if calls_tools && text.is_empty() {
            return Answer { finish_reason: Some(TOOL_CALLS.into()), tool_calls, ..Answer::default() };
        }
        Answer { text: has_text.then_some(text), tool_calls, ..Answer::default() }
    }
}

/// Whether a value holds an answer by itself: a text, a message, a body of a dialect, and no structured answer, which
/// may be any object.
pub(crate) fn is_answer(value: &Json<'_>) -> bool {
    match value {
        Json::String(_) => true,
        Json::Object(_) => is_message(value) || is_body_of_answer(value) || within(value, &is_framed_answer),
        Json::Array(items) => is_parts(items) || Stream::is_list(items) || AnswerList::of(items).is_some(),
        _ => false,
    }
}

/// Whether a value holds a question: a text, messages, a body of a dialect, or an object that holds one of these.
pub(crate) fn is_question(value: &Json<'_>) -> bool {
    match value {
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => {
            !items.is_empty()
                && (items.iter().all(is_turn)
                    || langchain::is_batch(items)
                    || is_parts(items)
                    || gemini::is_contents(items)
                    || openai_responses::is_items(items))
        }
        Json::Object(_) => is_message(value) || is_body_of_question(value) || within(value, &is_body_of_question),
        _ => false,
    }
}

/// Whether an object is a response body of any dialect.
fn is_body_of_answer(value: &Json<'_>) -> bool {
    value.get("choices").is_some_and(openai_chat::is_choices)
        || openai_chat::is_error(value)
        || is_response_body(value)
        || is_conversation(value)
}

/// Whether an object holds a conversation that ends with an answer, and little else: what an agent gives.
fn is_conversation(value: &Json<'_>) -> bool {
    let messages = value.get("messages").and_then(Json::as_array).unwrap_or_default();
    // One message of nobody is that of the one who answers.
    let is_alone = matches!(messages, [only] if only.get("content").is_some() && message::role(only).is_none());
    value.get("model").is_none() && (is_alone || matches!(AnswerList::of(messages), Some(AnswerList::Messages)))
}

/// Whether an object is a request body of any dialect, or has a question under a name for one.
fn is_body_of_question(value: &Json<'_>) -> bool {
    is_request_body(value) || named_question(value).is_some()
}

/// Whether an object is a request body of any dialect.
pub(crate) fn is_request_body(value: &Json<'_>) -> bool {
    let is_messages = |list: &Json<'_>| {
        let items = list.as_array().unwrap_or_default();
        !items.is_empty() && (items.iter().all(is_turn) || langchain::is_batch(items))
    };
    value.get("messages").is_some_and(is_messages)
        || gemini::is_request(value)
        || openai_responses::is_request(value)
        || vendor::is_request(value)
}

/// What a value holds, by itself or in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// A request body.
    Question,
    /// A response body.
    Answer,
}

/// Whether a value holds a request body or a response body of a dialect.
pub(crate) fn holder(value: &Json<'_>) -> Option<Holder> {
    let parsed = match value {
        Json::String(text) if is_framed_answer(value) && !text.is_empty() => return Some(Holder::Answer),
        Json::String(text) if holds_json(text) => Json::parse(text.as_bytes()).ok()?,
        _ => Json::Null,
    };
    let value = if parsed.is_null() { value } else { &parsed };
    match value {
        Json::Object(_) if is_framed_answer(value) || no_call(value).is_some() => Some(Holder::Answer),
        Json::Object(_) if is_request_body(value) => Some(Holder::Question),
        Json::Object(_) if within(value, &is_framed_answer) => Some(Holder::Answer),
        Json::Object(_) if within(value, &is_request_body) => Some(Holder::Question),
        Json::Array(items) if AnswerList::of(items).is_some() => Some(Holder::Answer),
        Json::Array(items) if items.iter().all(has_role) => Some(Holder::Question),
        _ => None,
    }
}

/// What a body is that answers no question of a model of language, by itself or in a frame, as a noun.
pub(crate) fn no_call(value: &Json<'_>) -> Option<&'static str> {
    let Json::Object(_) = value else { return None };
    vendor::no_call(value).or_else(|| {
        let path = path_to(value, &|inner| vendor::no_call(inner).is_some())?;
        vendor::no_call(&take_at(&mut value.clone(), &path))
    })
}

/// Where a question stands in an object that is none itself: what the model is asked, beside variables of a template.
fn named_question(value: &Json<'_>) -> Option<usize> {
    let entries = value.as_object()?;
    let is_message = |item: &Json<'_>| has_role(item) || langchain::is_serialised(item);
    let is_said = |value: &Json<'_>| match value {
        Json::String(text) => !text.trim().is_empty() && !holds_json(text),
        Json::Array(items) => !items.is_empty() && items.iter().all(is_message),
        _ => false,
    };
    named(entries, Field::Prompt, is_said)
        .or_else(|| {
            if let [Json::String(_)] = entries.iter().find(|(key, _)| key == "prompts")?.1.as_array()? {
                return entries.iter().position(|(key, _)| key == "prompts");
            }
            None
        })
        // A template with one variable has nothing else to say.
        .or_else(|| (entries.len() == 1 && is_said(&entries[0].1)).then_some(0))
}

/// The best place of a field by its names in an object, of those whose values will do.
fn named(entries: &[(Cow<'_, str>, Json<'_>)], field: Field, will_do: impl Fn(&Json<'_>) -> bool) -> Option<usize> {
    let rank_of = |key: &str| {
        let targets = fields::meanings(key).iter();
        let targets = targets.filter(|target| target.field == field && target.scope == Scope::Llm);
        targets.map(|target| target.rank).min()
    };
    let said = entries.iter().enumerate().filter(|(_, (_, value))| will_do(value));
    said.filter_map(|(at, (key, _))| Some((rank_of(key)?, at))).min().map(|(_, at)| at)
}

/// Reads the answer of a step of a framework, which may stand under a name for one, beside the documents that it was made
/// from; `None` where it has no text.
pub(crate) fn named_answer(value: Json<'_>) -> Option<(Answer<'_>, Vec<Passage<'_>>)> {
    let is_text = |value: &Json<'_>| value.as_str().is_none_or(|text| !text.trim().is_empty()) && is_answer(value);
    if is_text(&value) {
        return Some((read_answer(value).ok()?, Vec::new()));
    }
    let Json::Object(mut entries) = value else { return None };
    let at = named(&entries, Field::Response, is_text)
        .or_else(|| (entries.len() == 1 && is_text(&entries[0].1)).then_some(0))?;
    let documents =
        named(&entries, Field::Context, |documents| documents.as_array().is_some_and(|list| !list.is_empty()));
    let documents = documents.map(|at| message::passages(std::mem::take(&mut entries[at].1))).unwrap_or_default();
    Some((read_answer(std::mem::take(&mut entries[at].1)).ok()?, documents))
}

/// What a function gave, without the object of one key that tracers put around it.
pub(crate) fn unwrapped(mut value: Json<'_>) -> Json<'_> {
    const NAMES: [&str; 7] = ["output", "outputs", "result", "return_value", "value", "response", "returned"];
    match value.as_object() {
        Some([(key, inner)]) if NAMES.contains(&key.as_ref()) && !inner.is_null() => {
            let key = key.clone();
            value.take(&key).unwrap_or_default()
        }
        _ => value,
    }
}

/// Frames that may stand around a body: an entry of HTTP, its content, a string.
const MAX_FRAMES: usize = 3;

/// Whether something below an object is what is looked for.
fn within(value: &Json<'_>, is_it: &impl Fn(&Json<'_>) -> bool) -> bool {
    path_to(value, is_it).is_some()
}

/// Where the shallowest value is that is looked for: below an object, through objects, lists of one and strings that hold
/// JSON, as places in each.
fn path_to(value: &Json<'_>, is_it: &impl Fn(&Json<'_>) -> bool) -> Option<Vec<usize>> {
    (1..=MAX_FRAMES).find_map(|frames| {
        let mut path = Vec::with_capacity(frames);
        reaches(value, is_it, frames, &mut path).then(|| {
            path.reverse();
            path
        })
    })
}

/// Looks for a value in exactly so many frames; the path comes the wrong way round.
fn reaches(value: &Json<'_>, is_it: &impl Fn(&Json<'_>) -> bool, frames: usize, path: &mut Vec<usize>) -> bool {
    if frames == 0 {
        return is_it(value);
    }
    let mut found = |at: usize, inner: &Json<'_>| {
        let is_found = match inner {
            Json::Object(_) | Json::Array(_) => reaches(inner, is_it, frames - 1, path),
            Json::String(text) if holds_json(text) => {
                Json::parse(text.as_bytes()).is_ok_and(|inner| reaches(&inner, is_it, frames - 1, path))
            }
            Json::String(_) => frames == 1 && is_it(inner),
            _ => false,
        };
        if is_found {
            path.push(at);
        }
        is_found
    };
    match value {
        Json::Object(entries) => entries.iter().enumerate().any(|(at, (_, inner))| found(at, inner)),
        Json::Array(items) => matches!(items.as_slice(), [only] if found(0, only)),
        _ => false,
    }
}

/// Takes the value at a path out.
fn take_at<'a>(value: &mut Json<'a>, path: &[usize]) -> Json<'a> {
    if let Json::String(text) = value
        && holds_json(text)
    {
        *value = Json::parse_text(std::mem::take(text)).unwrap_or_else(Json::String);
    }
    let Some((at, rest)) = path.split_first() else { return std::mem::take(value) };
    let inner = match value {
        Json::Object(entries) => entries.get_mut(*at).map(|(_, inner)| inner),
        Json::Array(items) => items.get_mut(*at),
        _ => None,
    };
    inner.map(|inner| take_at(inner, rest)).unwrap_or_default()
}

/// Whether a text may be an object or a list in JSON.
fn holds_json(text: &str) -> bool {
    text.starts_with(['{', '['])
}

/// What a list is that holds an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerList {
    /// The choices of a response body.
    Choices,
    /// The items of a response body of OpenAI Responses.
    Items,
    /// A conversation, or the messages of its end.
    Messages,
    /// One response body.
    Body,
}

impl AnswerList {
    fn of(items: &[Json<'_>]) -> Option<AnswerList> {
        let [first, ..] = items else { return None };
        let is_choice = |choice: &Json<'_>| {
            let has_end = choice.get("finish_reason").is_some() || choice.get("index").is_some();
            ["message", "delta", "text"].iter().any(|key| choice.get(key).is_some()) && has_end
        };
        if items.iter().all(is_choice) {
            return Some(AnswerList::Choices);
        }
        if items.iter().all(Json::is_null) {
            return None;
        }
        if openai_responses::is_items(items) {
            return Some(AnswerList::Items);
        }
        let is_message =
            |item: &Json<'_>| is_turn(item) && !matches!(item, Json::String(_)) && message::role(item).is_some();
        if items.iter().all(is_message) && items.iter().any(|item| message::role(item) == Some("assistant")) {
            return Some(AnswerList::Messages);
        }
        let is_body = match first {
            Json::String(text) if holds_json(text) => {
                Json::parse(text.as_bytes()).is_ok_and(|body| is_body_of_answer(&body))
            }
            _ => is_body_of_answer(first),
        };
        (items.len() == 1 && is_body).then_some(AnswerList::Body)
    }

    fn read(self, mut items: Vec<Json<'_>>) -> Answer<'_> {
        match self {
            AnswerList::Choices => {
                let answer = openai_chat::read_choices(Json::Array(items));
                Answer { dialect: Some(Dialect::OpenAiChat), ..answer }
            }
            AnswerList::Items => {
                Answer { dialect: Some(Dialect::OpenAiResponses), ..openai_responses::read_output(items) }
            }
            AnswerList::Messages => read_last_message(items),
            AnswerList::Body => match items.swap_remove(0) {
                Json::String(text) => answer_in_text(text),
                body => read_response_body(body).unwrap_or_default(),
            },
        }
    }
}

/// Reads the last message of the assistant in a list.
fn read_last_message(mut messages: Vec<Json<'_>>) -> Answer<'_> {
    let last = messages.iter().rposition(|message| matches!(message::role(message), Some("assistant") | None));
    last.map(|last| read_message(messages.swap_remove(last))).unwrap_or_default()
}

/// What stands around a body and belongs to it: token counts, the model, why the answer ended.
fn complete<'a>(answer: &mut Answer<'a>, frame: &Json<'a>) {
    const COUNTS: [&str; 6] = ["usage", "usage_metadata", "usageMetadata", "tokenUsage", "token_usage", "tokens"];
    let name = |key: &str| values::name(frame.get(key)?.clone()).ok().flatten();
    let usage = COUNTS.iter().find_map(|key| frame.get(key).filter(|counts| Usage::is_one(counts)));
    answer.usage = std::mem::take(&mut answer.usage).or(usage.map(Usage::of));
    answer.model = answer.model.take().or_else(|| name("model"));
    answer.finish_reason = answer.finish_reason.take().or_else(|| name("finish_reason"));
}

/// The status of a response as HTTP has it; `None` for anything else.
fn http_status(value: &Json<'_>) -> Option<u64> {
    const FRAME: [&str; 7] = ["headers", "body", "statusText", "status_text", "content", "bodySize", "httpVersion"];
    let status = ["status", "status_code", "statusCode"].iter().find_map(|key| value.get(key)?.as_number());
    let status = status?.as_integer().filter(|status| (100..600).contains(status))?;
    FRAME.iter().any(|key| value.get(key).is_some()).then_some(status as u64)
}

/// HTTP statuses from here on are errors.
pub(crate) const FIRST_ERROR_STATUS: u64 = 400;

/// Reads what a record calls its response. Gives the value back when it holds no text at all.
pub(crate) fn read_answer(mut value: Json<'_>) -> Result<Answer<'_>, Json<'_>> {
    match value {
        Json::String(text) => Ok(answer_in_text(text)),
        Json::Object(ref entries) if entries.is_empty() => Err(value),
        Json::Object(_) => Ok(answer_in_object(value)),
        Json::Array(ref items) if is_parts(items) => {
            let mut message = Said::default();
            message.add(Json::Object(vec![("content".into(), std::mem::take(&mut value))]), Joined::ByLines);
            Ok(Answer::of_said(message))
        }
        Json::Array(items) => match Stream::of_list(items) {
            Ok(stream) => Ok(read_stream(stream)),
            Err(items) => Ok(match AnswerList::of(&items) {
                Some(list) => list.read(items),
                None => Answer::of_text(Json::Array(items).to_compact_string().into()),
            }),
        },
        other => Err(other),
    }
}

/// Reads an object that is a body, a message, one of these in a frame, or a structured answer.
fn answer_in_object(value: Json<'_>) -> Answer<'_> {
    let mut value = match read_response_body(value) {
        Ok(answer) => return answer,
        Err(value) if is_message(&value) => return read_message(value),
        Err(value) => value,
    };
    let status = http_status(&value);
    let mut answer = match path_to(&value, &is_framed_answer) {
        Some(path) => {
            let mut answer = match take_at(&mut value, &path) {
                Json::String(text) => answer_in_text(text),
                body => read_response_body(body).unwrap_or_default(),
            };
            complete(&mut answer, &value);
            answer
        }
        // What a service answered is not what a model said.
        None if status.is_some() => Answer::default(),
        None => Answer::of_text(value.to_compact_string().into()),
    };
    if let Some(status) = status.filter(|status| *status >= FIRST_ERROR_STATUS)
        && answer.error.is_none()
    {
        answer.error = Some(format!("HTTP status {status}").into());
    }
    answer
}

/// Whether a value in a frame is a response body, or the text of a streamed one.
fn is_framed_answer(value: &Json<'_>) -> bool {
    match value {
        Json::String(text) => is_server_sent(text) && Stream::is_list(&server_sent(text)),
        _ => is_body_of_answer(value),
    }
}

/// Reads a response body of any dialect; gives the value back when it is none.
pub(crate) fn read_response_body(mut value: Json<'_>) -> Result<Answer<'_>, Json<'_>> {
    let body = Keys::of(&value);
    if body.has(Keys::CHOICES) && openai_chat::is_response(&value) {
        return Ok(openai_chat::read_response(value));
    }
    if body.has(Keys::OUTPUT) && openai_responses::is_response(&value) {
        return Ok(openai_responses::read_response(value));
    }
    if body.has(Keys::OUTPUT) && bedrock::is_converse_response(&value) {
        return Ok(bedrock::read_converse_response(value));
    }
    if body.has(Keys::CANDIDATES | Keys::CONTENT) && gemini::is_response(&value) {
        return Ok(gemini::read_response(value));
    }
    if body.has(Keys::CONTENT | Keys::ERROR) && anthropic::is_response(&value) {
        return Ok(anthropic::read_response(value));
    }
    if body.has(Keys::ERROR) && openai_chat::is_error(&value) {
        return Ok(openai_chat::read_response(value));
    }
    if body.has(Keys::DONE) && ollama::is_response(&value) {
        return Ok(ollama::read_response(value));
    }
    if body.has(Keys::CONTENT) && servers::is_llama_cpp(&value) {
        return Ok(servers::read_llama_cpp(value));
    }
    if body.has(Keys::COHERE) && cohere::is_response(&value) {
        return Ok(cohere::read_response(value));
    }
    if body.has(Keys::GENERATIONS) && langchain::is_result(&value) {
        return Ok(langchain::read_result(value));
    }
    if body.has(Keys::VENDOR)
        && vendor::is_response(&value)
        && let Some(answer) = vendor::read_response(value.clone())
    {
        return Ok(answer);
    }
    if body.has(Keys::MESSAGES)
        && is_conversation(&value)
        && let Some(Json::Array(messages)) = value.take("messages")
    {
        return Ok(read_last_message(messages));
    }
    if body.has(Keys::BODY)
        && let Some(Json::Object(_)) = value.get("body")
        && let Some(inner) = value.take("body")
    {
        // What is below `body` is a body, or the value is a structured answer that has the key by chance.
        return read_response_body(inner).map_err(|inner| {
            put_back(&mut value, "body", inner);
            value
        });
    }
    Err(value)
}

/// Reads what the events of a stream were put together to.
pub(crate) fn read_stream<'a>(stream: Stream) -> Answer<'a> {
    match stream {
        Stream::OpenaiChat(stream) => openai_chat::read_response(stream.into_body()),
        Stream::OpenaiResponses(stream) => openai_responses::read_response(stream.into_body()),
        Stream::Anthropic(stream) => anthropic::read_response(stream.into_body()),
        Stream::Gemini(stream) => gemini::read_response(stream.into_body()),
        Stream::Cohere(stream) => cohere::read_response(stream.into_body()),
        Stream::Converse(stream) => bedrock::read_converse_response(stream.into_body()),
        Stream::Pieces(stream) => match stream.server() {
            Server::Ollama => ollama::read_response(stream.into_body()),
            Server::LlamaCpp => servers::read_llama_cpp(stream.into_body()),
            Server::Tgi => servers::read_tgi(stream.into_body()),
        },
    }
}

/// Reads what a record calls its prompt. Gives the value back when it holds no text at all.
pub(crate) fn read_question(value: Json<'_>) -> Result<Conversation<'_>, Json<'_>> {
    match value {
        Json::String(text) => Ok(question_in_text(text)),
        Json::Array(items) if is_parts(&items) && !items.iter().any(has_role) => {
            Ok(Conversation { text: text_of(Json::Array(items)), ..Conversation::default() })
        }
        Json::Array(items) if gemini::is_contents(&items) => {
            Ok(Conversation { dialect: Some(Dialect::Gemini), ..gemini::read_contents(items) })
        }
        Json::Array(items) if openai_responses::is_items(&items) => Ok(openai_responses::read_items(items)),
        Json::Array(items) if langchain::is_batch(&items) => Ok(Conversation::of_messages(of_batch(items))),
        Json::Array(items) if items.iter().all(is_turn) => Ok(Conversation::of_messages(items)),
        Json::Object(_) => match question_in_object(value) {
            Ok(asked) => Ok(asked),
            Err(value) if is_message(&value) => Ok(Conversation::of_messages(vec![value])),
            Err(mut value) => match path_to(&value, &is_body_of_question) {
                Some(path) => question_in_object(take_at(&mut value, &path)),
                None => Err(value),
            },
        },
        other => Err(other),
    }
}

/// The messages of the first call of a batch.
fn of_batch(items: Vec<Json<'_>>) -> Vec<Json<'_>> {
    match items.into_iter().next() {
        Some(Json::Array(messages)) => messages,
        other => other.into_iter().collect(),
    }
}

/// A body, or what stands under a name for a question.
fn question_in_object(value: Json<'_>) -> Result<Conversation<'_>, Json<'_>> {
    let mut value = match read_request_body(value) {
        Ok(asked) => return Ok(asked),
        Err(value) => value,
    };
    let Some(at) = named_question(&value) else { return Err(value) };
    let Json::Object(entries) = &mut value else { return Err(value) };
    let named = match std::mem::take(&mut entries[at].1) {
        Json::Array(mut items) if matches!(items.as_slice(), [Json::String(_)]) => items.swap_remove(0),
        named => named,
    };
    read_question(named)
}

/// Reads a request body of any dialect; gives the value back when it is none.
pub(crate) fn read_request_body(mut value: Json<'_>) -> Result<Conversation<'_>, Json<'_>> {
    let is_batch = |messages: &Json<'_>| messages.as_array().is_some_and(langchain::is_batch);
    if value.get("messages").is_some_and(is_batch)
        && let Some(Json::Array(items)) = value.take("messages")
    {
        put_back(&mut value, "messages", Json::Array(of_batch(items)));
    }
    if let Some(messages) = value.get("messages").filter(|messages| !messages.is_null()) {
        let Some(items) = messages.as_array().filter(|items| items.iter().all(is_turn)) else { return Err(value) };
        if bedrock::is_converse_request(&value) {
            return Ok(bedrock::read_converse_request(value));
        }
        let is_langchain = items.iter().any(|item| langchain::is_serialised(item) || langchain::is_shorthand(item));
        let dialect = match is_langchain {
            true => Dialect::LangChain,
            false if anthropic::is_request(&value) => Dialect::Anthropic,
            false => Dialect::OpenAiChat,
        };
        return Ok(Conversation { dialect: Some(dialect), ..openai_chat::read_request(value) });
    }
    if gemini::is_request(&value) {
        return Ok(gemini::read_request(value));
    }
    if openai_responses::is_request(&value) {
        return Ok(openai_responses::read_request(value));
    }
    if vendor::is_request(&value)
        && let Some(asked) = vendor::read_request(value.clone())
    {
        return Ok(asked);
    }
    Err(value)
}

/// Keys that a response body has at its top, as bits: most values have none of them, and are done with one look.
#[derive(Clone, Copy)]
struct Keys(u16);

impl Keys {
    const CHOICES: u16 = 1;
    const OUTPUT: u16 = 2;
    const CANDIDATES: u16 = 4;
    const CONTENT: u16 = 8;
    const ERROR: u16 = 16;
    const BODY: u16 = 32;
    const DONE: u16 = 64;
    const GENERATIONS: u16 = 128;
    const VENDOR: u16 = 256;
    const MESSAGES: u16 = 512;
    const COHERE: u16 = 1024;

    fn of(value: &Json<'_>) -> Keys {
        let bits = value.as_object().unwrap_or_default().iter().map(|(key, _)| match key.as_ref() {
            "choices" => Keys::CHOICES,
            "output" => Keys::OUTPUT,
            "candidates" | "promptFeedback" => Keys::CANDIDATES,
            "content" => Keys::CONTENT | Keys::VENDOR,
            "error" => Keys::ERROR,
            "body" => Keys::BODY,
            "done" => Keys::DONE,
            "generations" => Keys::GENERATIONS | Keys::VENDOR,
            "message" | "text" => Keys::COHERE | Keys::VENDOR,
            "completion" | "generated_text" | "outputText" | "generation" | "text_output" | "results" | "outputs"
            | "completions" | "predictions" => Keys::VENDOR,
            "messages" => Keys::MESSAGES,
            _ => 0,
        });
        Keys(bits.fold(0, |all, bit| all | bit))
    }

    fn has(self, any: u16) -> bool {
        self.0 & any != 0
    }
}

fn answer_in_text(text: Cow<'_, str>) -> Answer<'_> {
    if is_server_sent(&text) {
        return match Stream::of_list(server_sent(&text)) {
            Ok(stream) => read_stream(stream),
            Err(_) => Answer::of_text(text),
        };
    }
    const MARKS: [&str; 9] = [
        "\"choices\"",
        "\"error\"",
        "\"candidates\"",
        "\"stop_reason\"",
        "\"output\"",
        "\"type\":\"message\"",
        "\"type\": \"message\"",
        "\"generations\"",
        "\"role\"",
    ];
    let may_be_body = holds_json(&text) && MARKS.iter().any(|mark| text.contains(mark));
    if !may_be_body {
        return Answer::of_text(text);
    }
    match Json::parse_text(text.clone()).map(read_written) {
        Ok(Ok(answer)) => answer,
        Err(text) if is_cut_body(&text) => {
            let problem = format!("breaks off in a body of {} bytes and is left out", text.len());
            Answer { problem: Some(problem), ..Answer::default() }
        }
        _ => Answer::of_text(text),
    }
}

/// Reads what stands in a text, when it is no text of a model.
fn read_written(value: Json<'_>) -> Result<Answer<'_>, Json<'_>> {
    match value {
        Json::Array(items) => match AnswerList::of(&items) {
            Some(list) => Ok(list.read(items)),
            None => Err(Json::Array(items)),
        },
        message if has_role(&message) && is_message(&message) => Ok(read_message(message)),
        other => read_response_body(other),
    }
}

/// Whether a text is nothing but server-sent events.
fn is_server_sent(text: &str) -> bool {
    const FIELDS: [&str; 5] = ["data:", "event:", "id:", "retry:", ":"];
    let is_field = |line: &str| line.is_empty() || FIELDS.iter().any(|field| line.starts_with(field));
    FIELDS.iter().any(|field| text.starts_with(field)) && text.lines().all(is_field)
}

/// The objects in a text of server-sent events.
fn server_sent(text: &str) -> Vec<Json<'static>> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| Json::parse(data.trim().as_bytes()).ok().map(Json::into_owned)).collect()
}

/// Whether a text is the beginning of a response body: one that was cut off by what logged it. What a model said is no
/// body: it has none of the keys of the envelope.
fn is_cut_body(text: &str) -> bool {
    /// The envelope stands at the beginning, before what was said.
    const HEAD_BYTES: usize = 4096;
    const ENVELOPES: [&[&str]; 5] = [
        &["\"object\":\"chat.completion\""],
        &["\"choices\":[{\"index\":"],
        &["\"candidates\":[{\"content\":{"],
        &["\"type\":\"message\"", "\"role\":\"assistant\""],
        &["\"object\":\"response\""],
    ];
    let head = &text[..text.floor_char_boundary(HEAD_BYTES)];
    let head: String = head.chars().filter(|c| !c.is_whitespace()).collect();
    let ends_inside = || Json::parse(text.as_bytes()).is_err_and(|error| error.byte >= text.trim_end().len());
    ENVELOPES.iter().any(|marks| marks.iter().all(|mark| head.contains(mark))) && ends_inside()
}

fn question_in_text(text: Cow<'_, str>) -> Conversation<'_> {
    const MARKS: [&str; 3] = ["\"role\"", "\"contents\"", "\"kwargs\""];
    let may_be_body = holds_json(&text) && MARKS.iter().any(|mark| text.contains(mark));
    if may_be_body {
        let is_said = |item: &Json<'_>| has_role(item) || langchain::is_serialised(item);
        match Json::parse_text(text.clone()) {
            Ok(Json::Array(items))
                if !items.is_empty() && (items.iter().all(is_said) || langchain::is_batch(&items)) =>
            {
                return read_question(Json::Array(items)).unwrap_or_default();
            }
            Ok(body @ Json::Object(_)) => {
                if let Ok(asked) = read_request_body(body) {
                    return asked;
                }
            }
            _ => {}
        }
    }
    Conversation { text: Some(text), ..Conversation::default() }
}

fn read_message(message: Json<'_>) -> Answer<'_> {
    let is_langchain = langchain::is_serialised(&message);
    let about = langchain::About::of(&message);
    let mut message = langchain::deserialised(message);
    let (id, model) = (take_text(&mut message, "id"), take_text(&mut message, "model"));
    let usage = message.take("usage").map(|usage| Usage::of(&usage)).unwrap_or_default();
    let stop_reason = take_text(&mut message, "stop_reason");
    let mut said = Said::default();
    said.add(message, Joined::ByLines);
    let answer = Answer::of_said(said);
    let dialect = is_langchain.then_some(Dialect::LangChain);
    let answer = about.complete(Answer { dialect, id, model, usage, ..answer });
    Answer { finish_reason: stop_reason.or(answer.finish_reason), ..answer }
}

fn is_message(value: &Json<'_>) -> bool {
    let Some(entries) = value.as_object() else { return false };
    if langchain::is_serialised(value) {
        return true;
    }
    let has_content = entries.iter().any(|(key, _)| matches!(key.as_ref(), "content" | "tool_calls" | "parts"));
    has_content && (has_role(value) || entries.iter().all(|(key, _)| MESSAGE_KEYS.contains(&key.as_ref())))
}

/// Whether a list consists of typed parts, one of them with text or a call.
fn is_parts(items: &[Json<'_>]) -> bool {
    let is_typed = |part: &Json<'_>| part.get("type").and_then(Json::as_str).is_some();
    let says = |part: &Json<'_>| {
        part.get("text").and_then(Json::as_str).is_some()
            || matches!(part.get("type").and_then(Json::as_str), Some("tool_use" | "tool_call" | "tool-call"))
    };
    items.iter().all(is_typed) && items.iter().any(says) && !items.iter().any(has_role)
}

/// What an error says: its message, or its JSON.
pub(crate) fn error_of(error: Json<'_>) -> Option<Cow<'_, str>> {
    match error {
        Json::Null | Json::Bool(false) => None,
        Json::Number(number) if number.as_f64() == 0.0 => None,
        Json::String(text) => Some(text).filter(|text| !text.is_empty()),
        Json::Object(entries) if entries.is_empty() => None,
        Json::Array(items) if items.is_empty() => None,
        mut other => match take_text(&mut other, "message") {
            Some(text) => Some(text),
            _ => Some(other.to_compact_string().into()),
        },
    }
}

/// Texts as one, with newlines between them.
pub(crate) fn join_lines(mut texts: Vec<Cow<'_, str>>) -> Option<Cow<'_, str>> {
    if texts.len() > 1 { Some(texts.join("\n").into()) } else { texts.pop() }
}

/// Puts a value back under a key from which it was moved out.
fn put_back<'a>(object: &mut Json<'a>, key: &str, value: Json<'a>) {
    let Json::Object(entries) = object else { return };
    if let Some((_, slot)) = entries.iter_mut().find(|(name, _)| name == key) {
        *slot = value;
    }
}

/// Notes that only the first of several answers was read.
fn note_further(count: usize, notes: &mut Notes) {
    if count > 1 {
        notes.add(Note::FurtherAnswers);
    }
}

/// Whether the value is a response body of a dialect that is not told by its `choices`.
pub(crate) fn is_response_body(value: &Json<'_>) -> bool {
    openai_responses::is_response(value)
        || bedrock::is_converse_response(value)
        || gemini::is_response(value)
        || anthropic::is_response(value)
        || ollama::is_response(value)
        || servers::is_llama_cpp(value)
        || cohere::is_response(value)
        || langchain::is_result(value)
        || vendor::is_response(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Answer<'_> {
        read_answer(Json::parse(json.as_bytes()).unwrap()).unwrap()
    }

    /// Text, finish reason, calls, tokens of prompt and response.
    #[track_caller]
    fn check_stream(
        events: &[&str],
        (text, finish_reason): (Option<&str>, Option<&str>),
        expected_calls: &[&str],
        expected_tokens: [Option<u64>; 2],
    ) -> Answer<'static> {
        let Ok(Json::Array(events)) = Json::parse(format!("[{}]", events.join(",")).as_bytes()).map(Json::into_owned)
        else {
            panic!()
        };
        let answer = read_answer(Json::Array(events)).unwrap();
        let call = |call: &ToolCall<'_>| format!("{}({})", call.name, call.args.to_compact_string());
        let calls: Vec<String> = answer.tool_calls.iter().map(call).collect();
        let tokens = [answer.usage.prompt, answer.usage.response];
        assert_eq!((answer.text.as_deref(), answer.finish_reason.as_deref()), (text, finish_reason));
        assert_eq!(tokens, expected_tokens);
        assert_eq!(calls, expected_calls);
        answer
    }

    #[test]
    fn a_list_of_events_is_the_answer_that_they_were_streamed_of() {
        let answer = check_stream(
            &[
                r#"{"object":"chat.completion.chunk","id":"c","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
                r#"{"object":"chat.completion.chunk","id":"c","choices":[{"index":0,"delta":{"content":"Hel"}}]}"#,
                r#"{"object":"chat.completion.chunk","id":"c","choices":[{"index":0,"delta":{"content":"lo"}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":""}}]}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}"#,
                r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
                r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#,
                "\"[DONE]\"",
            ],
            (Some("Hello"), Some("tool_calls")),
            &[r#"f({"x":1})"#, "g({})"],
            [Some(3), Some(4)],
        );
        assert_eq!((answer.id.as_deref(), answer.tool_calls[0].id.as_deref()), (Some("c"), Some("a")));
        let answer = check_stream(
            &[
                r#"{"type":"message_start","message":{"id":"i","model":"m","usage":{"input_tokens":5,"cache_read_input_tokens":20,"output_tokens":1}}}"#,
                r#"{"type":"ping"}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"2}"}}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#,
                r#"{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":7,"invocationLatency":900,"firstByteLatency":300}}"#,
            ],
            (None, Some("tool_use")),
            &[r#"f({"a":2})"#],
            [Some(25), Some(9)],
        );
        assert_eq!((answer.latency_ms, answer.ttft_ms, answer.usage.cached), (Some(900.0), Some(300.0), Some(20)));
        let answer = check_stream(
            &[
                r#"{"candidates":[{"content":{"parts":[{"text":"Part 1, "}]}},{"content":{"parts":[{"text":"or"}]}}],"createTime":"2026-01-01T00:00:00Z"}"#,
                r#"{"candidates":[{"content":{"parts":[{"text":"part 2."}]},"finishReason":"STOP","groundingMetadata":{"groundingChunks":[{"retrievedContext":{"title":"t","text":"found"}}]}}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2}}"#,
            ],
            (Some("Part 1, part 2."), Some("STOP")),
            &[],
            [Some(3), Some(2)],
        );
        assert_eq!((answer.context.len(), answer.created.is_some()), (1, true));
        assert!(answer.notes.has(Note::FurtherAnswers));
        check_stream(
            &[
                r#"{"type":"response.created","response":{"id":"r","object":"response","model":"m","output":[]}}"#,
                r#"{"type":"response.output_text.delta","item_id":"i","output_index":0,"delta":"Hi"}"#,
            ],
            (Some("Hi"), None),
            &[],
            [None, None],
        );
    }

    #[test]
    fn a_text_of_server_sent_events_is_the_answer_too() {
        let of_text =
            |text: &str| read_answer(Json::String(text.to_owned().into())).unwrap().text.unwrap().into_owned();
        let delta = |text: &str| {
            format!(
                r#"{{"object":"chat.completion.chunk","id":"c","choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#
            )
        };
        let sent = format!("data: {}\n\nevent: chunk\ndata:{}\n\ndata: [DONE]\n\n", delta("Hel"), delta("lo"));
        assert_eq!(of_text(&sent), "Hello");
        let prose = "data: {\"type\":\"ping\"}\n\nThat is how a ping looks.";
        for text in ["data: none", "data: {\"a\":1}", "event: dinner", prose] {
            assert_eq!(of_text(text), text);
        }
    }

    #[test]
    fn a_list_of_something_else_is_a_structured_answer() {
        for json in [
            r#"[{"type":"ping","host":"a"},{"type":"ping"}]"#,
            "[]",
            "[1]",
            r#"[{"a":1}]"#,
            r#"[{"candidates":["Bob"]}]"#,
            r#"["[DONE]"]"#,
        ] {
            assert_eq!(read(json).text.as_deref(), Some(json));
        }
    }

    #[test]
    fn a_list_may_be_the_answer_itself() {
        let choice = r#"{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}"#;
        let message = r#"{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi"}"#;
        let item = r#"{"type":"reasoning","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}"#;
        for json in [
            format!("[{choice}]"),
            format!("[{message}]"),
            format!(r#"{{"messages":[{message}]}}"#),
            format!(r#"{{"output":{{"messages":[{message}]}}}}"#),
            format!("[{item}]"),
            r#"[{"generated_text":"Hi"}]"#.to_owned(),
            format!(r#""[{}]""#, message.replace('"', "\\\"")),
        ] {
            assert!(is_answer(&Json::parse(json.as_bytes()).unwrap()), "{json}");
            assert_eq!(read(&json).text.as_deref(), Some("Hi"), "{json}");
        }
        for json in [r#"[{"role":"user","content":"Hello"}]"#, r#"[{"index":0,"name":"a"}]"#] {
            assert_eq!(read(json).text.as_deref(), Some(json));
        }
    }

    #[test]
    fn a_body_in_frames_is_the_answer_with_what_stands_around_it() {
        let choices = r#"{"choices":[{"message":{"role":"assistant","content":"Hi"}}]}"#;
        let quoted = format!("{choices:?}");
        let sent = r#""data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\n""#;
        for json in [
            format!(r#"{{"status":200,"content":{{"mimeType":"m","text":{quoted}}}}}"#),
            format!(r#"{{"status":200,"content":{{"text":{sent}}}}}"#),
            format!(r#"{{"output":{choices},"usage":{{"input_tokens":3,"output_tokens":2}}}}"#),
            format!(r#"[{quoted}]"#),
        ] {
            assert_eq!(read(&json).text.as_deref(), Some("Hi"), "{json}");
        }
        let around = format!(r#"{{"output":{choices},"usage":{{"input_tokens":3,"output_tokens":2}}}}"#);
        assert_eq!(read(&around).usage.prompt, Some(3));
    }

    #[test]
    fn a_body_that_was_cut_off_is_no_answer() {
        let check = |text: &str, expected: Option<&str>| {
            let answer = read_answer(Json::String(text.into())).unwrap();
            assert_eq!((answer.text.as_deref(), answer.problem.is_some()), (expected, expected.is_none()), "{text}");
        };
        let whole = r#"{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"The answer is 42, and more"}}]}"#;
        check(whole, Some("The answer is 42, and more"));
        for end in [whole.len() - 1, whole.len() - 10, whole.len() - 30, whole.len() - 5] {
            check(&whole[..end], None);
        }
        let message = r#"{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"Hel"#;
        check(message, None);
        check(&message.replace(':', ": "), None);
        // What a model says may be JSON, and may break off.
        for said in [r#"{"choices": ["a", "b"#, r#"{"message":"m","choices":[{"text":"a"},{"te"#] {
            check(said, Some(said));
        }
        let with_text = r#"{"choices":[{"message":{"content":"a"}}]} and more"#;
        check(with_text, Some(with_text));
    }
}
