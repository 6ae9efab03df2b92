//! The normal form: one shape for LLM calls, tool calls and feedback, and what it is made of.
//!
//! - [`entry`]: what a value of a log turned out to be: a record, a fragment of one, or something without a call
//! - [`format`](mod@format): what a record was written by: container and dialect
//! - `fill`: what is known of one call from two places, in one record
//! - [`fields`]: the fields of the normal form, and what logs call them
//! - [`json`]: the borrowed JSON tree that a unit is parsed into
//! - `scan`: why a text is not strict JSON, and what can be read of it all the same
//! - [`values`]: times, counts and names out of JSON values
//! - `body`: what was asked and answered, in the dialects of the providers
//! - `passages`: the documents that stand inside of prompts
//! - [`stream`]: streamed answers put together again
//! - `call`: a record in the making, for the writers
//! - `settle`: the last look at a record that is whole
//! - [`frames`]: what a coding harness tells beside what the user says
//! - [`mapping`]: `--map field=/json/pointer`, for home-made logs
//! - [`schema`]: the JSON Schema of the normal form

pub(crate) mod body;
pub(crate) mod call;
pub mod entry;
pub mod fields;
mod fill;
pub mod format;
pub mod frames;
pub mod json;
pub mod mapping;
mod passages;
pub(crate) mod scan;
pub mod schema;
mod settle;
pub mod stream;
mod templates;
pub mod values;

use std::{borrow::Cow, ops::Range};

pub use entry::{Around, Content, Entry, Fragment, Ignored, Rejected};
pub use format::{Container, Dialect, Format, LatencySource, Note, Notes};
use json::{Json, owned};

use crate::hash;

/// What kind of event a record describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One call of a language model.
    Llm,
    /// One call of a tool.
    Tool,
    /// A person's label for earlier results of a tool; adapts thresholds, is not judged itself.
    Feedback,
}

impl Kind {
    /// The name of the kind in records and reports: `llm`, `tool` or `feedback`.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Llm => "llm",
            Kind::Tool => "tool",
            Kind::Feedback => "feedback",
        }
    }
}

/// One LLM call, tool call or feedback, in the normal form that every engine reads.
///
/// Text is borrowed from the unit where JSON allows it. A field that was present but unusable (a negative latency,
/// a number where text belongs) is `None` here and named in [`Record::problems`].
#[derive(Clone, Debug, PartialEq)]
pub struct Record<'a> {
    /// What the record describes.
    pub kind: Kind,
    /// What it was written by.
    pub format: Format,
    /// The record's own id; a missing one is replaced by `source:line:item` in reports.
    pub id: Option<Cow<'a, str>>,
    /// When the call began, in milliseconds since the Unix epoch.
    pub timestamp_ms: Option<i64>,
    /// The conversation that the call belongs to.
    pub session_id: Option<Cow<'a, str>>,
    /// The model that answered.
    pub model: Option<Cow<'a, str>>,
    /// The model that was asked for, where the log names it apart from the one that answered.
    pub declared_model: Option<Cow<'a, str>>,
    /// The id that the provider gave the answer, where it stands in the answer itself.
    pub response_id: Option<Cow<'a, str>>,
    /// Who served the model.
    pub provider: Option<Cow<'a, str>>,
    /// The machine, container or service that logged the call.
    pub host: Option<Cow<'a, str>>,
    /// The level at which it was logged.
    pub level: Option<Cow<'a, str>>,
    /// The system prompt.
    pub system: Option<Cow<'a, str>>,
    /// What the model was asked.
    pub prompt: Prompt<'a>,
    /// Documents that the answer should rest on.
    pub context: Vec<Passage<'a>>,
    /// What the model answered.
    pub response: Option<Cow<'a, str>>,
    /// Time to the whole response, in milliseconds; finite and not negative.
    pub latency_ms: Option<f64>,
    /// Where the latency (or the execution time) comes from.
    pub latency_source: Option<LatencySource>,
    /// Time to the first token, in milliseconds; finite and not negative.
    pub ttft_ms: Option<f64>,
    /// Tokens in the prompt, as the provider counted them, those of the cache included.
    pub prompt_tokens: Option<u64>,
    /// Tokens in the response, as the provider counted them, those of its reasoning included.
    pub response_tokens: Option<u64>,
    /// Of the tokens in the prompt, those that were read from a cache.
    pub cached_tokens: Option<u64>,
    /// Of the tokens in the response, those that the model spent on reasoning.
    pub reasoning_tokens: Option<u64>,
    /// Why the model stopped.
    pub finish_reason: Option<Cow<'a, str>>,
    /// The error that the call ended with, as text.
    pub error: Option<Cow<'a, str>>,
    /// Instruction rules that the response must follow (a JSON list, read by the compliance engine).
    pub rules: Option<Json<'a>>,
    /// The JSON Schema that the response must satisfy.
    pub expected_schema: Option<Json<'a>>,
    /// The tools that the model was offered, as the log defines them (a JSON list).
    pub tools: Option<Json<'a>>,
    /// The tools that the answer calls.
    pub tool_calls: Vec<ToolCall<'a>>,
    /// The tool that was called.
    pub tool: Option<Cow<'a, str>>,
    /// The id of the call that this tool call is, where a model asked for it.
    pub call_id: Option<Cow<'a, str>>,
    /// What the tool was called with.
    pub args: Option<Json<'a>>,
    /// What the tool answered. `Some(Json::Null)` is an answer, `None` is no answer in the log.
    pub result: Option<Json<'a>>,
    /// Time that the tool took, in milliseconds; finite and not negative.
    pub execution_time_ms: Option<f64>,
    /// A label from outside (ground truth), carried through to reports and never used for a verdict.
    pub label: Option<Cow<'a, str>>,
    /// The feedback, for [`Kind::Feedback`].
    pub feedback: Option<Feedback>,
    /// Where the call stands among others that a tracer recorded.
    pub span: Option<Box<Span<'a>>>,
    /// The conversation that the call belongs to, as a hash, where the log does not name it.
    pub scope: Option<u64>,
    /// The hash of the prompt as the log has it, where documents were cut out of it or it was read into messages.
    pub logged_prompt: Option<u64>,
    /// Whether the result stands in the prompt of a model's record as well, which says what the model made of it. Only
    /// known of calls that were cut out of a conversation as it was read; no log says so.
    pub result_in_prompt: bool,
    /// Values of the log's own that were asked for beside the fields above: the number of the pointer, and the value as text.
    pub extras: Vec<(u32, String)>,
    /// What the reader of the record should know, and what keeps no field from being used.
    pub notes: Notes,
    /// Fields that were present but could not be used as they stand.
    pub problems: Vec<Problem>,
}

impl<'a> Record<'a> {
    /// A record of a kind, with nothing in it yet.
    pub fn new(kind: Kind) -> Record<'a> {
        Record {
            kind,
            format: Format::default(),
            id: None,
            timestamp_ms: None,
            session_id: None,
            model: None,
            declared_model: None,
            response_id: None,
            provider: None,
            host: None,
            level: None,
            system: None,
            prompt: Prompt::Absent,
            context: Vec::new(),
            response: None,
            latency_ms: None,
            latency_source: None,
            ttft_ms: None,
            prompt_tokens: None,
            response_tokens: None,
            cached_tokens: None,
            reasoning_tokens: None,
            finish_reason: None,
            error: None,
            rules: None,
            expected_schema: None,
            tools: None,
            tool_calls: Vec::new(),
            tool: None,
            call_id: None,
            args: None,
            result: None,
            execution_time_ms: None,
            label: None,
            feedback: None,
            span: None,
            scope: None,
            logged_prompt: None,
            result_in_prompt: false,
            extras: Vec::new(),
            notes: Notes::default(),
            problems: Vec::new(),
        }
    }

    /// The text at a JSON Pointer into the normal form: `/response`, `/system`, `/prompt`, `/prompt/2/text`, `/context/0`,
    /// `/args/query`, `/result/items/3/name`,
    /// `/tools/0/function/description`.
    pub fn text_at(&self, pointer: &str) -> Option<&str> {
        let mut parts = pointer.strip_prefix('/')?.split('/');
        let (field, index) = (parts.next()?, parts.next().map(str::parse::<usize>));
        match (field, index, &self.prompt) {
            ("response", None, _) => self.response.as_deref(),
            ("model", None, _) => self.model.as_deref(),
            ("tool", None, _) => self.tool.as_deref(),
            ("response_id", None, _) => self.response_id.as_deref(),
            ("tool_calls", Some(Ok(index)), _) => self.tool_call_text(index, parts.next()?, pointer),
            ("system", None, _) => self.system.as_deref(),
            ("prompt", None, Prompt::Text(text)) => Some(text),
            ("prompt", Some(Ok(index)), Prompt::Messages(messages)) => messages.get(index).map(|said| &*said.text),
            ("context", Some(Ok(index)), _) => self.context.get(index).map(|passage| &*passage.text),
            ("args", ..) => self.args.as_ref()?.pointer(&pointer["/args".len()..])?.as_str(),
            ("tools", ..) => self.tools.as_ref()?.pointer(&pointer["/tools".len()..])?.as_str(),
            ("result", ..) => self.result.as_ref()?.pointer(&pointer["/result".len()..])?.as_str(),
            _ => None,
        }
    }

    /// The hash of the prompt as the log has it; `None` without one.
    pub(crate) fn prompt_hash(&self) -> Option<u64> {
        let texts = self.prompt.texts().map(|(_, text)| hash::name(text));
        self.logged_prompt.or_else(|| texts.reduce(hash::combine))
    }

    /// About how many bytes its texts take.
    pub fn text_bytes(&self) -> usize {
        let prompt: usize = self.prompt.texts().map(|(_, text)| text.len()).sum();
        let context: usize = self.context.iter().map(|passage| passage.text.len()).sum();
        let texts = [&self.system, &self.response, &self.error].into_iter().flatten().map(|text| text.len());
        let values = [&self.args, &self.result, &self.tools, &self.expected_schema].into_iter().flatten();
        prompt + context + texts.sum::<usize>() + values.map(Json::weight_bytes).sum::<usize>()
    }

    /// `/tool_calls/0/name` and `/tool_calls/0/args/...`.
    fn tool_call_text(&self, index: usize, part: &str, pointer: &str) -> Option<&str> {
        let call = self.tool_calls.get(index)?;
        match part {
            "name" => Some(&call.name),
            "args" => call
                .args
                .pointer(pointer.splitn(5, '/').nth(4).map_or("", |rest| &pointer[pointer.len() - rest.len() - 1..]))?
                .as_str(),
            _ => None,
        }
    }

    /// The same record, owning its text.
    pub fn into_owned(self) -> Record<'static> {
        Record {
            kind: self.kind,
            format: self.format,
            id: self.id.map(owned),
            timestamp_ms: self.timestamp_ms,
            session_id: self.session_id.map(owned),
            model: self.model.map(owned),
            declared_model: self.declared_model.map(owned),
            response_id: self.response_id.map(owned),
            provider: self.provider.map(owned),
            host: self.host.map(owned),
            level: self.level.map(owned),
            system: self.system.map(owned),
            prompt: self.prompt.into_owned(),
            context: self.context.into_iter().map(Passage::into_owned).collect(),
            response: self.response.map(owned),
            latency_ms: self.latency_ms,
            latency_source: self.latency_source,
            ttft_ms: self.ttft_ms,
            prompt_tokens: self.prompt_tokens,
            response_tokens: self.response_tokens,
            cached_tokens: self.cached_tokens,
            reasoning_tokens: self.reasoning_tokens,
            finish_reason: self.finish_reason.map(owned),
            error: self.error.map(owned),
            rules: self.rules.map(Json::into_owned),
            expected_schema: self.expected_schema.map(Json::into_owned),
            tools: self.tools.map(Json::into_owned),
            tool_calls: self.tool_calls.into_iter().map(ToolCall::into_owned).collect(),
            tool: self.tool.map(owned),
            call_id: self.call_id.map(owned),
            args: self.args.map(Json::into_owned),
            result: self.result.map(Json::into_owned),
            execution_time_ms: self.execution_time_ms,
            label: self.label.map(owned),
            feedback: self.feedback,
            span: self.span.map(|span| Box::new(span.into_owned())),
            scope: self.scope,
            logged_prompt: self.logged_prompt,
            result_in_prompt: self.result_in_prompt,
            extras: self.extras,
            notes: self.notes,
            problems: self.problems,
        }
    }
}

/// The prompt, in the shape in which it was logged.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Prompt<'a> {
    /// No prompt in the record.
    #[default]
    Absent,
    /// One text; its pointer is `/prompt`.
    Text(Cow<'a, str>),
    /// A list of messages; the pointer of the third is `/prompt/2/text`.
    Messages(Vec<Message<'a>>),
}

impl<'a> Prompt<'a> {
    /// The texts of the prompt in order, with the index that their pointer carries (`None` for one text).
    pub fn texts(&self) -> impl Iterator<Item = (Option<usize>, &str)> {
        let (text, messages) = match self {
            Prompt::Absent => (None, &[][..]),
            Prompt::Text(text) => (Some((None, text.as_ref())), &[][..]),
            Prompt::Messages(messages) => (None, messages.as_slice()),
        };
        let numbered = messages.iter().enumerate();
        text.into_iter().chain(numbered.map(|(i, message)| (Some(i), message.text.as_ref())))
    }

    /// What a user said last: the text of a prompt that is one, else that of the user's last message.
    pub fn last_of_user(&self) -> Option<&str> {
        match self {
            Prompt::Absent => None,
            Prompt::Text(text) => Some(text),
            Prompt::Messages(messages) => {
                let of_user = messages.iter().rev().find(|message| message.role == "user" && !message.text.is_empty());
                of_user.map(|message| message.text.as_ref())
            }
        }
    }

    /// Whether the record holds no prompt at all.
    pub fn is_absent(&self) -> bool {
        matches!(self, Prompt::Absent)
    }

    /// The same prompt, owning its text.
    pub fn into_owned(self) -> Prompt<'static> {
        match self {
            Prompt::Absent => Prompt::Absent,
            Prompt::Text(text) => Prompt::Text(owned(text)),
            Prompt::Messages(messages) => Prompt::Messages(messages.into_iter().map(Message::into_owned).collect()),
        }
    }
}

/// One message of a prompt.
///
/// The result of a tool is a message of its own, of the role `tool`, also where the log keeps it as a part of a message
/// of the user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message<'a> {
    /// Who speaks: `system`, `user`, `assistant`, `tool` or what the log says.
    pub role: Cow<'a, str>,
    /// What is said, the text parts joined by newlines.
    pub text: Cow<'a, str>,
    /// The tool whose result this is, where the log names it.
    pub tool: Option<Cow<'a, str>>,
    /// The id of the call that this is the result of.
    pub call_id: Option<Cow<'a, str>>,
    /// Whether the log says that the tool failed.
    pub is_error: bool,
    /// The tools that the message calls.
    pub tool_calls: Vec<ToolCall<'a>>,
}

impl<'a> Message<'a> {
    /// A message that is text and nothing else.
    pub fn new(role: impl Into<Cow<'a, str>>, text: impl Into<Cow<'a, str>>) -> Message<'a> {
        Message { role: role.into(), text: text.into(), ..Message::default() }
    }

    /// The same message, owning its text.
    pub fn into_owned(self) -> Message<'static> {
        Message {
            role: owned(self.role),
            text: owned(self.text),
            tool: self.tool.map(owned),
            call_id: self.call_id.map(owned),
            is_error: self.is_error,
            tool_calls: self.tool_calls.into_iter().map(ToolCall::into_owned).collect(),
        }
    }
}

/// One call of a tool by an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCall<'a> {
    /// The id by which its result names it.
    pub id: Option<Cow<'a, str>>,
    /// The tool.
    pub name: Cow<'a, str>,
    /// What it is called with; a string when that is no JSON.
    pub args: Json<'a>,
}

impl ToolCall<'_> {
    /// The same call, owning its text.
    pub fn into_owned(self) -> ToolCall<'static> {
        ToolCall { id: self.id.map(owned), name: owned(self.name), args: self.args.into_owned() }
    }
}

/// Where a call stands among others that a tracer recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span<'a> {
    /// The trace, in lower case where it is hexadecimal.
    pub trace_id: Option<Cow<'a, str>>,
    /// The span itself.
    pub id: Option<Cow<'a, str>>,
    /// The span that it is part of.
    pub parent_id: Option<Cow<'a, str>>,
    /// When it began, in nanoseconds since the Unix epoch.
    pub start_ns: Option<i64>,
    /// When it ended, in nanoseconds since the Unix epoch.
    pub end_ns: Option<i64>,
    /// Whether the record is not the span, but one message of its call that stands in an event of its own.
    pub is_event: bool,
    /// The writer's format, where it tells what a whole trace was asked and answered: a call only where the log has none of
    /// the trace.
    pub outline: Option<Format>,
}

impl Span<'_> {
    /// The same place, owning its text.
    pub fn into_owned(self) -> Span<'static> {
        Span {
            trace_id: self.trace_id.map(owned),
            id: self.id.map(owned),
            parent_id: self.parent_id.map(owned),
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            is_event: self.is_event,
            outline: self.outline,
        }
    }
}

/// One document of the context.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage<'a> {
    /// The document's own id.
    pub id: Option<Cow<'a, str>>,
    /// The document's text.
    pub text: Cow<'a, str>,
    /// Where it was cut from; `None` where the log has it as a document.
    pub place: Option<Place>,
}

/// Where a document stood in a text of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The JSON Pointer of that text in the normal form: `/system`, `/prompt`, `/prompt/2/text`. A `/prompt` of a template is
    /// the text as it was logged, before it was read into messages.
    pub field: Cow<'static, str>,
    /// Its bytes there, before anything was cut out.
    pub span: Range<usize>,
    /// Whether the text still holds it, as the results of tools do.
    pub stays: bool,
}

impl Passage<'_> {
    /// The same document, owning its text.
    pub fn into_owned(self) -> Passage<'static> {
        Passage { id: self.id.map(owned), text: owned(self.text), place: self.place }
    }
}

/// A person's label for what a tool returned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// Whether the result was in fact made up.
    pub was_hallucination: bool,
    /// The confidence that had been reported for it, if known.
    pub confidence: Option<f64>,
}

/// A field that was present but unusable: the record is audited without it, and the report says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field of the normal form, or the JSON pointer into the unit.
    pub field: String,
    /// Why it could not be used, as a clause ("is negative").
    pub reason: String,
}
