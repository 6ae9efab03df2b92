//! Messages in their order → calls of a model, and of its tools.
//!
//! Applications keep conversations, not calls. Where the messages of a model say which model it was, when it answered or
//! what that took, each of them is a call: its prompt is what was said since the answer before it, not the whole
//! conversation, so that a long one is read once and not once per call. What is said last and has no answer is a call
//! without one. A call of a tool and its result, wherever they stand, are one record of a tool.
//!
//! - who speaks: `role`, `from`, `sender`, `author`, `type`, ... in the words that all dialects have for it; or a flag (`is_user`)
//! - what is said: `content`, `parts`, `text`, ...; the message itself may stand one level down (`message`, `data`)
//! - what is known of it: by the names that logs have for it ([`native::lend`])
//!
//! **Limits**: of a conversation without ids of its own, ids of calls that are short pair nothing outside of it. At most
//! [`ASKED_MAX`] calls of tools wait for their results.

use std::borrow::Cow;

use super::native;
use crate::record::{
    Container, Dialect, Entry, Kind, Note, Record, ToolCall,
    body::{
        Answer, Conversation, error_of,
        message::{Joined, ROLE_KEYS, Said, Turn, passages, role_named, take_text},
        usage::Usage,
    },
    call::{Call, Entries},
    json::Json,
    values,
};

/// Calls of tools without a result that a conversation remembers.
const ASKED_MAX: usize = 256;

/// Bytes of a system prompt that the calls after the first one bring along.
const SYSTEM_AGAIN_BYTES_MAX: usize = 4 << 10;

/// Ids of this length are the only ones of their kind, whichever conversation they stand in.
const UNIQUE_ID_CHARS: usize = 16;

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    /// Whoever runs the model.
    System,
    /// The one who asks.
    User,
    /// The model.
    Model,
    /// A tool.
    Tool,
    /// The application itself: notices, failures.
    Client,
}

/// What notices of an application are called.
const NOTICES: [&str; 5] = ["info", "notice", "warning", "error", "client"];

/// Where a message says who speaks, beside where all dialects do.
const SPEAKER_KEYS: [&str; 3] = ["senderType", "message_type", "Author"];

/// Where it says whether the user speaks.
const IS_USER_KEYS: [&str; 5] = ["is_user", "isUser", "isCreatedByUser", "from_user", "is_human"];

/// Where it says what is said.
const CONTENT_KEYS: [&str; 9] =
    ["content", "parts", "text", "mes", "value", "message", "body", "blocks", "raw_content"];

/// Where the message itself stands, with facts around it.
pub(super) const FRAMES: [&str; 4] = ["message", "data", "kwargs", "msg"];

/// Where the calls of tools of a message stand.
const CALL_KEYS: [&str; 4] = ["tool_calls", "toolCalls", "function_call", "tool_requests"];

/// Where token counts stand.
const USAGE_KEYS: [&str; 7] =
    ["usage", "usage_metadata", "usageMetadata", "models_usage", "token_usage", "tokenUsage", "tokens"];

/// Where a message says when it was begun, and when it was whole.
const SPANS: [(&str, &str); 5] = [
    ("gen_started", "gen_finished"),
    ("started_at", "completed_at"),
    ("startedAt", "completedAt"),
    ("start_time", "end_time"),
    ("startTime", "endTime"),
];

impl Speaker {
    /// Who is called so.
    pub fn named(name: &str) -> Option<Speaker> {
        match role_named(name) {
            Some("user") => Some(Speaker::User),
            Some("assistant") => Some(Speaker::Model),
            Some("tool") => Some(Speaker::Tool),
            Some(_) => Some(Speaker::System),
            None => NOTICES.contains(&name).then_some(Speaker::Client),
        }
    }

    /// Who says a message.
    pub fn of(message: &Json<'_>) -> Option<Speaker> {
        let of_name = |value: &Json<'_>| match value {
            Json::String(name) => Speaker::named(name),
            Json::Object(_) => {
                ["role", "type", "label", "name"].iter().find_map(|key| Speaker::named(value.get(key)?.as_str()?))
            }
            _ => None,
        };
        let by_name = || ROLE_KEYS.iter().chain(&SPEAKER_KEYS).find_map(|key| of_name(message.get(key)?));
        // LangChain names the class of a message.
        let by_class = || of_name(message.get("id")?.as_array()?.last()?);
        let by_flag = || {
            let is_user = IS_USER_KEYS.iter().find_map(|key| message.get(key)?.as_bool());
            is_user.map(|is_user| if is_user { Speaker::User } else { Speaker::Model })
        };
        by_name().or_else(by_class).or_else(by_flag)
    }

    /// The role of messages.
    pub fn role(self) -> &'static str {
        match self {
            Speaker::System => "system",
            Speaker::User => "user",
            Speaker::Model => "assistant",
            Speaker::Tool => "tool",
            Speaker::Client => "client",
        }
    }
}

/// Whether a value is a message: it has a speaker, and says something or calls tools.
pub(super) fn is_message(value: &Json<'_>) -> bool {
    if value.as_object().is_none() {
        return false;
    }
    let says = |message: &Json<'_>| {
        let is_said = |value: &Json<'_>| matches!(value, Json::String(_) | Json::Array(_) | Json::Object(_));
        CONTENT_KEYS.iter().chain(&CALL_KEYS).any(|key| message.get(key).is_some_and(is_said))
    };
    let is_framed =
        || FRAMES.iter().any(|key| value.get(key).is_some_and(|inner| Speaker::of(inner).is_some() && says(inner)));
    (Speaker::of(value).is_some() && says(value)) || is_framed()
}

/// Whether the message of a model says which call it is of: its model, when it was, or what it took.
pub(super) fn tells_call(message: &Json<'_>) -> bool {
    use crate::record::fields::{Field, meanings};
    const TOLD: [Field; 5] =
        [Field::Model, Field::Timestamp, Field::LatencyMs, Field::PromptTokens, Field::ResponseTokens];
    let tells = |entries: &[(Cow<'_, str>, Json<'_>)]| {
        entries.iter().any(|(key, value)| {
            let is_told = !value.is_null() && value.as_str() != Some("");
            is_told
                && (USAGE_KEYS.contains(&key.as_ref()) && Usage::is_one(value)
                    || meanings(key).iter().any(|target| TOLD.contains(&target.field)))
        })
    };
    let entries = message.as_object().unwrap_or_default();
    let frames = FRAMES.iter().chain(&["metadata", "response_metadata", "info", "extra", "meta"]);
    tells(entries) || frames.into_iter().any(|key| message.get(key).and_then(Json::as_object).is_some_and(tells))
}

/// One message, with what is known of it.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub speaker: Speaker,
    /// In the spelling of Chat Completions, as far as there is one.
    pub said: Json<'a>,
    /// All the rest.
    pub about: Json<'a>,
}

impl<'a> Message<'a> {
    /// Reads a message; gives it back when it is none.
    pub fn of(value: Json<'a>) -> Result<Message<'a>, Json<'a>> {
        let (mut message, frame) = unframed(value);
        let Some(speaker) = Speaker::of(&message).or_else(|| Speaker::of(frame.as_ref()?)) else {
            return Err(frame.unwrap_or(message));
        };
        let content = with_attachments(take_content(&mut message), message.take("attachments"));
        let calls = CALL_KEYS.iter().find_map(|key| message.take(key));
        let mut said = vec![("role".into(), Json::String(speaker.role().into()))];
        said.extend(content.map(|content| ("content".into(), content)));
        said.extend(calls.map(|calls| ("tool_calls".into(), calls)));
        if speaker == Speaker::Tool {
            let own = [
                "tool_call_id",
                "toolCallId",
                "call_id",
                "callId",
                "tool_use_id",
                "name",
                "tool_name",
                "error",
                "status",
            ];
            let own = own.into_iter().filter_map(|key| Some((key.into(), message.get(key)?.clone())));
            said.extend(own);
        }
        let mut about = match message {
            Json::Object(entries) => entries,
            _ => Vec::new(),
        };
        if let Some(Json::Object(outer)) = frame {
            about.extend(outer);
        }
        Ok(Message { speaker, said: Json::Object(said), about: Json::Object(about) })
    }

    /// When it was said, in milliseconds since 1970.
    pub fn time_ms(&self) -> Option<i64> {
        let mut record = Record::new(Kind::Llm);
        native::lend(self.about.clone(), &mut record);
        record.timestamp_ms
    }
}

/// A message without the frame that it stands in, and the frame.
fn unframed(mut value: Json<'_>) -> (Json<'_>, Option<Json<'_>>) {
    let holds = |inner: &Json<'_>| {
        inner.as_object().is_some()
            && (Speaker::of(inner).is_some() || inner.get("content").is_some() || inner.get("parts").is_some())
    };
    let framed = FRAMES.iter().find(|key| value.get(key).is_some_and(holds));
    match framed.and_then(|key| value.take(key)) {
        Some(inner) => (inner, Some(value)),
        None => (value, None),
    }
}

/// What a message says: the first that is not empty.
fn take_content<'a>(message: &mut Json<'a>) -> Option<Json<'a>> {
    let is_empty = |value: &Json<'_>| match value {
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(_) => false,
        _ => true,
    };
    let full = CONTENT_KEYS.iter().find(|key| message.get(key).is_some_and(|value| !is_empty(value)));
    let found =
        full.or_else(|| CONTENT_KEYS.iter().find(|key| message.get(key).is_some_and(|value| !value.is_null())))?;
    message.take(found)
}

/// What a message says, with the texts of files that were attached to it.
fn with_attachments<'a>(content: Option<Json<'a>>, attachments: Option<Json<'a>>) -> Option<Json<'a>> {
    let Some(Json::Array(attachments)) = attachments else { return content };
    let documents = attachments.into_iter().filter_map(|mut file| {
        let text = take_text(&mut file, "extracted_content").filter(|text| !text.is_empty())?;
        let source = [("type".into(), Json::String("text".into())), ("data".into(), Json::String(text))];
        let title = file.take("file_name").map(|name| ("title".into(), name));
        let own = [
            ("type".into(), Json::String("document".into())),
            ("source".into(), Json::Object(source.into_iter().collect())),
        ];
        Some(Json::Object(own.into_iter().chain(title).collect()))
    });
    let documents: Vec<Json<'a>> = documents.collect();
    if documents.is_empty() {
        return content;
    }
    let mut parts = match content {
        Some(Json::Array(parts)) => parts,
        Some(text) => vec![text],
        None => Vec::new(),
    };
    parts.extend(documents);
    Some(Json::Array(parts))
}

/// What is told of a whole conversation.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame<'a> {
    pub container: Container,
    pub dialect: Option<Dialect>,
    pub session_id: Option<Cow<'a, str>>,
    pub model: Option<Cow<'a, str>>,
    pub provider: Option<Cow<'a, str>>,
    pub system: Option<Cow<'a, str>>,
}

/// A call of a tool that has no result yet.
#[derive(Debug)]
struct Asked<'a> {
    call: ToolCall<'a>,
    time_ms: Option<i64>,
}

/// A conversation, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Turns<'a> {
    pub frame: Frame<'a>,
    /// What was said since the last answer.
    inputs: Said<'a>,
    /// When it was begun, if it is to be answered.
    waits: Option<Option<i64>>,
    asked: Vec<Asked<'a>>,
}

impl<'a> Turns<'a> {
    pub fn new(frame: Frame<'a>) -> Turns<'a> {
        Turns { frame, ..Turns::default() }
    }

    /// Takes the next message: the records that are whole with it.
    pub fn say(&mut self, message: Message<'a>) -> Vec<Record<'a>> {
        match message.speaker {
            Speaker::Model => self.answer(message),
            Speaker::Client => Vec::new(),
            _ => self.ask(message),
        }
    }

    /// Whether the result of this call was said since the last answer.
    pub fn has_result(&self, id: &str) -> bool {
        self.inputs.turns.iter().any(|turn| turn.message.call_id.as_deref() == Some(id))
    }

    /// Takes what the model is given.
    pub fn ask(&mut self, mut message: Message<'a>) -> Vec<Record<'a>> {
        let begun_ms = message.about.take("begun_at").and_then(|at| values::moment_ms(&at));
        let took = message.about.take("took_s");
        let time_ms = message.time_ms();
        let (first, speaker) = (self.inputs.turns.len(), message.speaker);
        self.inputs.add(message.said, self.joined());
        let mut records = Vec::new();
        for index in first..self.inputs.turns.len() {
            if self.inputs.turns[index].message.role == "tool" {
                let record = self.tool(index, begun_ms, time_ms).map(|record| timed(record, took.as_ref()));
                records.extend(record);
            }
        }
        if speaker != Speaker::System && self.inputs.turns.len() > first {
            self.waits.get_or_insert(time_ms);
        }
        records
    }

    /// Adds what the model is given and nobody answers by itself.
    pub fn frame_with(&mut self, message: Message<'a>) {
        self.inputs.add(message.said, self.joined());
    }

    /// Takes an answer.
    fn answer(&mut self, message: Message<'a>) -> Vec<Record<'a>> {
        let Message { said, about, .. } = message;
        let mut read = Said::default();
        read.add(said, self.joined());
        let results = read.turns.len().saturating_sub(1);
        let results: Vec<Turn<'a>> = read.turns.drain(..results).collect();
        let mut call = self.call();
        lend(about, &mut call);
        // The model of a conversation is that of messages that name none, and nothing that was asked for.
        if call.served.is_some() {
            call.requested = None;
        }
        let time_ms = call.record.timestamp_ms;
        let mut answer = Answer::of_said(read);
        self.asked.extend(answer.tool_calls.iter().cloned().map(|call| Asked { call, time_ms }));
        let forgotten = self.asked.len().saturating_sub(ASKED_MAX);
        self.asked.drain(..forgotten);
        self.keep_ids(&mut answer.tool_calls);
        call.answered(Answer { dialect: self.frame.dialect, ..answer });
        let is_empty = call.record.response.as_deref().is_none_or(str::is_empty);
        if is_empty && (call.record.error.is_some() || !call.record.tool_calls.is_empty()) {
            call.record.response = None;
        }
        let mut records = vec![call.record()];
        for result in results {
            self.inputs.turns.push(result);
            records.extend(self.tool(self.inputs.turns.len() - 1, None, time_ms));
        }
        records
    }

    /// A call with what was said since the answer before it.
    fn call(&mut self) -> Call<'a> {
        self.waits = None;
        let Frame { container, dialect, session_id, model, provider, system } = self.frame.clone();
        let mut call = Call::llm(container);
        call.record.session_id = session_id;
        call.record.provider = provider;
        call.requested = model;
        let mut asked = Conversation { dialect, ..Conversation::of_said(std::mem::take(&mut self.inputs)) };
        asked.system = asked.system.or(system);
        if let Some(system) = &asked.system {
            let again = system.floor_char_boundary(SYSTEM_AGAIN_BYTES_MAX);
            self.frame.system = Some(match system {
                Cow::Borrowed(text) => Cow::Borrowed(&text[..again]),
                Cow::Owned(text) => Cow::Owned(text[..again].to_owned()),
            });
        }
        call.asked(asked);
        call
    }

    /// The record of the tool whose result a message of the prompt is.
    fn tool(&mut self, index: usize, begun_ms: Option<i64>, time_ms: Option<i64>) -> Option<Record<'a>> {
        let has_session = self.frame.session_id.is_some();
        let result = &mut self.inputs.turns.get_mut(index)?.message;
        let at = match (&result.call_id, &result.tool) {
            (Some(id), _) => self.asked.iter().position(|asked| asked.call.id.as_ref() == Some(id)),
            (None, Some(tool)) => self.asked.iter().position(|asked| asked.call.name == *tool),
            (None, None) => (!self.asked.is_empty()).then_some(0),
        };
        let asked = at.map(|at| self.asked.remove(at));
        let (id, text, is_error) = (result.call_id.clone(), result.text.clone(), result.is_error);
        if !has_session {
            result.call_id.take_if(|id| id.len() < UNIQUE_ID_CHARS);
        }
        let (name, args, begun_ms) = match asked {
            Some(Asked { call, time_ms }) => (call.name, Some(call.args), begun_ms.or(time_ms)),
            None => (result.tool.clone()?, None, begun_ms),
        };
        let mut call = Call::tool(self.frame.container, Some(name));
        call.record.session_id = self.frame.session_id.clone();
        call.record.id = id.clone();
        call.record.call_id = id;
        call.record.timestamp_ms = begun_ms;
        if let Some(took) = crate::assemble::duration_ms(begun_ms, time_ms) {
            call.latency(took, crate::record::LatencySource::StartAndEnd);
        }
        call.args(args);
        match is_error {
            true => call.record.error = Some(text),
            false => call.result(Some(Json::String(text))),
        }
        Some(call.record())
    }

    /// Ids that are short tell a call from others in its own conversation only.
    fn keep_ids(&self, calls: &mut [ToolCall<'a>]) {
        if self.frame.session_id.is_none() {
            for call in calls {
                call.id.take_if(|id| id.len() < UNIQUE_ID_CHARS);
            }
        }
    }

    /// How the texts of parts become one: those of Gemini are pieces of one text.
    fn joined(&self) -> Joined {
        if self.frame.dialect == Some(Dialect::Gemini) { Joined::AsTheyStand } else { Joined::ByLines }
    }

    /// The call of what was said last, when nobody answered.
    pub fn finish(&mut self) -> Option<Record<'a>> {
        let time_ms = self.waits.take()?;
        let mut record = self.call().record();
        record.timestamp_ms = time_ms;
        record.notes.add(Note::Unanswered);
        Some(record)
    }
}

/// The record of a tool with how long it took, where its result says so.
fn timed<'a>(mut record: Record<'a>, took: Option<&Json<'_>>) -> Record<'a> {
    if let Some(Ok(ms)) = took.map(|took| values::duration_ms(took, values::Unit::S)) {
        record.execution_time_ms = Some(ms);
        record.latency_source = Some(crate::record::LatencySource::Reported);
    }
    record
}

/// Puts what a message says of its call where the record lacks it.
pub(super) fn lend<'a>(mut about: Json<'a>, call: &mut Call<'a>) {
    for key in USAGE_KEYS {
        if about.get(key).is_some_and(Usage::is_one)
            && let Some(mut usage) = about.take(key)
        {
            Usage::of(&usage).fill(&mut call.record);
            call.served = call.served.take().or_else(|| take_text(&mut usage, "model"));
        }
    }
    if let Some(documents) = about.take("documents") {
        call.record.context.extend(passages(documents));
    }
    let took = about.take("total_duration_ns");
    call.reported_latency(took.as_ref(), values::Unit::Ns);
    let error = ["error", "errorMessage", "error_message"].iter().find_map(|key| about.take(key)).and_then(error_of);
    call.record.error = call.record.error.take().or(error);
    if let Some(mut model) =
        about.take("model").or_else(|| about.take("modelVersion").or_else(|| about.take("model_version")))
    {
        let named = match model {
            Json::String(name) => Some(name),
            _ => ["id", "name", "model"].into_iter().find_map(|key| take_text(&mut model, key)),
        };
        call.served = named.filter(|name| !name.is_empty()).or(call.served.take());
    }
    for (begin, end) in SPANS {
        if about.get(begin).is_some() && about.get(end).is_some() {
            let (begin, end) = (about.take(begin), about.take(end));
            call.times(begin, end, None);
        }
    }
    if let Some(mut time) = about.take("time").filter(|time| time.as_object().is_some()) {
        call.times(
            time.take("created").or_else(|| time.take("start")),
            time.take("completed").or_else(|| time.take("end")),
            None,
        );
    }
    let ids = ["message_id", "messageId", "turn_id"];
    call.record.id = call.record.id.take().or_else(|| take_any(&mut about, &ids));
    let dates = ["send_date", "sentAt", "sent_at"];
    if let Some(date) = dates.iter().find_map(|key| about.take(key)) {
        call.record.timestamp_ms = call.record.timestamp_ms.or_else(|| values::moment_ms(&date));
    }
    native::lend_deep(about, &mut call.record);
    if let Some(model) = call.record.model.take() {
        call.served = call.served.take().or(Some(model));
    }
}

/// Whether a list is a conversation in which the answers are calls: all are messages, and one of the model's tells of it.
pub(super) fn is_log(messages: &[Json<'_>]) -> bool {
    let is_answer = |message: &Json<'_>| {
        let inner = FRAMES.iter().find_map(|key| Speaker::of(message.get(key)?));
        Speaker::of(message).or(inner) == Some(Speaker::Model)
    };
    !messages.is_empty()
        && messages.iter().all(is_message)
        && messages.iter().any(|message| is_answer(message) && tells_call(message))
}

/// A message of these entries, those that are absent left out.
pub(super) fn message<'a>(
    role: Speaker,
    content: Option<Json<'a>>,
    about: impl IntoIterator<Item = (&'static str, Option<Json<'a>>)>,
) -> Json<'a> {
    let about = about.into_iter().filter_map(|(key, value)| Some((key.into(), value?)));
    let mut entries = vec![("role".into(), Json::String(role.role().into()))];
    entries.extend(content.map(|content| ("content".into(), content)));
    entries.extend(about);
    Json::Object(entries)
}

/// The entries of a conversation.
pub(super) fn push<'a>(messages: Vec<Json<'a>>, frame: Frame<'a>, entries: &mut Entries<'a>) {
    let container = frame.container;
    let records = records(messages, frame);
    if records.is_empty() {
        entries.skipped(container, "a conversation without a message");
    }
    entries.list.extend(records.into_iter().map(|record| Ok(Entry::Record(record))));
}

/// The calls of a list of messages.
pub(super) fn records<'a>(messages: Vec<Json<'a>>, frame: Frame<'a>) -> Vec<Record<'a>> {
    let mut turns = Turns::new(frame);
    let mut records: Vec<Record<'a>> = Vec::new();
    for message in messages {
        if let Ok(message) = Message::of(message) {
            records.extend(turns.say(message));
        }
    }
    records.extend(turns.finish());
    records
}

/// The text of a name under one of these keys.
pub(super) fn take_any<'a>(object: &mut Json<'a>, keys: &[&str]) -> Option<Cow<'a, str>> {
    keys.iter().find_map(|key| object.take(key).and_then(|value| values::name(value).ok().flatten()))
}
