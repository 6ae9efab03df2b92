//! Containers: how one call is framed, one file per writer. Ids, times and session stand in the frame; what was asked
//! and answered is left to [`body`](super::body).
//!
//! - [`lines`]: chat lists, ShareGPT, batch lines, bare bodies
//! - [`otlp`], [`span`]: OpenTelemetry, and its spans in all attribute dialects; also Phoenix and console exporters
//! - [`litellm`], [`langfuse`], [`langsmith`], [`bedrock_log`], [`helicone`], [`azure`], [`promptfoo`], [`inspect`], [`gemini_cli`],
//!   [`mlflow`], [`weave`], [`evals`], [`servers`]
//! - [`wrapped`]: lists below one key, and documents that hold records under names of their own
//!
//! A latency is end minus beginning where a log has both; a number in the log counts only where it has not, because
//! the same key is in seconds here and in milliseconds there.

mod attributes;
mod azure;
mod bedrock_log;
mod evals;
mod gemini_cli;
mod helicone;
mod inspect;
mod langfuse;
mod langsmith;
mod lines;
mod litellm;
mod mlflow;
mod otlp;
mod promptfoo;
mod servers;
mod span;
mod weave;
pub(super) mod wrapped;

use std::borrow::Cow;

use super::{
    Aside, Container, Dialect, Entry, Format, Kind, LatencySource, Note, Piece, Problem, Prompt, Record, Span,
    body::{self, Answer, Conversation, message::Joined},
    json::Json,
    native,
    stream::{Stream, gemini},
    values,
    values::Unit,
};

/// What a value of a container gives: one entry as a rule.
pub(super) type Outcome<'a> = Result<Entry<'a>, String>;

/// The entries of a value, in their order.
#[derive(Debug, Default)]
pub(super) struct Entries<'a> {
    pub list: Vec<Outcome<'a>>,
}

impl<'a> Entries<'a> {
    /// Adds an entry.
    pub fn push(&mut self, outcome: Outcome<'a>) {
        self.list.push(outcome);
    }

    /// Adds what holds no call of its own, under the name `what`.
    pub fn aside(&mut self, container: Container, what: &'static str) {
        self.list.push(Ok(aside(container, what)));
    }
}

/// Something recognised that holds no call.
fn aside<'a>(container: Container, what: &'static str) -> Entry<'a> {
    Entry::Aside(Aside { format: Format::of(container), what, is_parent: false })
}

/// Something recognised that repeats its children.
fn parent<'a>(container: Container, what: &'static str) -> Entry<'a> {
    Entry::Aside(Aside { format: Format::of(container), what, is_parent: true })
}

/// Reads a value of a container that is not read by [`native`].
pub(super) fn read<'a>(container: Container, value: Json<'a>, entries: &mut Entries<'a>) {
    match container {
        Container::Native | Container::Pair => {}
        // A response of Gemini that does not say why it ended is one part of a stream.
        Container::Bare if gemini::is_open_part(&value) => {
            let format = Format { container: Container::Stream, dialect: Some(Dialect::Gemini) };
            entries.push(Ok(Entry::Piece(Piece { format, value })));
        }
        Container::Bare => entries.push(lines::bare(value)),
        Container::Chat => entries.push(lines::chat(value)),
        Container::ShareGpt => entries.push(lines::sharegpt(value)),
        Container::OpenAiBatch => entries.push(lines::openai_batch(value)),
        Container::AnthropicBatch => entries.push(lines::anthropic_batch(value)),
        Container::Otlp => otlp::read(value, entries),
        Container::OtelConsole => entries.push(otlp::read_console(value)),
        Container::LiteLlm => entries.push(litellm::read(value)),
        Container::Langfuse => langfuse::read(value, entries),
        Container::LangSmith => langsmith::read(value, entries),
        Container::BedrockLog => entries.push(bedrock_log::read(value)),
        Container::MlFlow => mlflow::read(value, entries),
        Container::Weave => entries.push(weave::read(value)),
        Container::Phoenix => entries.push(otlp::read_phoenix(value)),
        Container::Promptfoo => promptfoo::read(value, entries),
        Container::Inspect => inspect::read(value, entries),
        Container::GeminiCli => gemini_cli::read(value, entries),
        Container::Helicone => entries.push(helicone::read(value)),
        Container::Azure => entries.push(azure::read(value)),
        Container::OpenAiEvals => evals::read(value, entries),
        Container::Vllm => servers::read_vllm(value, entries),
        Container::SgLang => entries.push(servers::read_sglang(value)),
        // Their records span lines.
        Container::Mcp | Container::McpDesktop | Container::ClaudeCode | Container::Codex => {
            entries.push(Ok(Entry::Piece(Piece { format: Format::of(container), value })));
        }
        Container::Stream => {
            let dialect = Stream::event_of(&value).map(|(dialect, _)| dialect.body());
            entries.push(Ok(Entry::Piece(Piece { format: Format { container, dialect }, value })));
        }
    }
}

/// Reads a body that stands alone.
pub(super) fn read_body(value: Json<'_>) -> Outcome<'_> {
    lines::bare(value)
}

/// A record in the making.
#[derive(Debug)]
struct Call<'a> {
    record: Record<'a>,
    /// The model that was asked for.
    requested: Option<Cow<'a, str>>,
    /// The model that answered.
    served: Option<Cow<'a, str>>,
}

impl<'a> Call<'a> {
    /// A call of a model.
    fn llm(container: Container) -> Call<'a> {
        Call::of(Kind::Llm, container)
    }

    /// A call of a tool, by its name.
    fn tool(container: Container, tool: Option<Cow<'a, str>>) -> Call<'a> {
        let mut call = Call::of(Kind::Tool, container);
        call.record.tool = tool;
        call
    }

    fn of(kind: Kind, container: Container) -> Call<'a> {
        let record = Record { format: Format::of(container), ..Record::new(kind) };
        Call { record, requested: None, served: None }
    }

    /// Reads what was asked: a request body, a list of messages, or a text.
    fn ask(&mut self, request: Option<Json<'a>>) {
        if let Some(Ok(asked)) = request.map(body::read_question) {
            self.asked(asked);
        }
    }

    /// Takes what was asked.
    fn asked(&mut self, mut asked: Conversation<'a>) {
        self.spelled(asked.dialect);
        let record = &mut self.record;
        if record.prompt.is_absent() {
            record.prompt = asked.prompt();
        }
        record.system = record.system.take().or(asked.system);
        record.tools = record.tools.take().or(asked.tools);
        record.expected_schema = record.expected_schema.take().or(asked.expected_schema);
        record.context.append(&mut asked.context);
        record.notes.merge(asked.notes);
        self.requested = self.requested.take().or(asked.model);
    }

    /// Reads what was answered: a response body, a message, pieces of a stream, or a text.
    fn answer(&mut self, response: Option<Json<'a>>) {
        if let Some(Ok(answer)) = response.map(body::read_answer) {
            self.answered(answer);
        }
    }

    /// Takes what was answered.
    fn answered(&mut self, mut answer: Answer<'a>) {
        // The answer says more surely than the question in which dialect they are.
        if answer.dialect.is_some() {
            self.record.format.dialect = answer.dialect;
        }
        if let Some(problem) = answer.problem.take() {
            self.problem("response", problem);
        }
        let record = &mut self.record;
        record.response_id = record.response_id.take().or_else(|| answer.id.clone());
        record.id = record.id.take().or(answer.id);
        record.response = record.response.take().or(answer.text);
        record.finish_reason = record.finish_reason.take().or(answer.finish_reason);
        record.error = record.error.take().or(answer.error);
        record.system = record.system.take().or(answer.system);
        record.tools = record.tools.take().or(answer.tools);
        record.session_id = record.session_id.take().or(answer.session_id);
        if record.tool_calls.is_empty() {
            record.tool_calls = answer.tool_calls;
        }
        record.context.append(&mut answer.context);
        record.notes.merge(answer.notes);
        if let Some(created) = answer.created.filter(|_| record.timestamp_ms.is_none()) {
            record.timestamp_ms = values::timestamp_ms(&created, None).ok();
        }
        if let Some(latency_ms) = answer.latency_ms.filter(|_| record.latency_ms.is_none()) {
            (record.latency_ms, record.latency_source) = (Some(latency_ms), Some(LatencySource::Reported));
        }
        record.ttft_ms = record.ttft_ms.or(answer.ttft_ms);
        answer.usage.fill(record);
        self.served = self.served.take().or(answer.model);
    }

    fn spelled(&mut self, dialect: Option<Dialect>) {
        self.record.format.dialect = self.record.format.dialect.or(dialect);
    }

    /// What a tool was called with.
    fn args(&mut self, args: Option<Json<'a>>) {
        self.record.args = args.map(native::unwrap_object);
    }

    /// What a tool answered.
    fn result(&mut self, result: Option<Json<'a>>) {
        self.record.result = result.map(native::unwrap_container);
    }

    /// Takes beginning and end, and what lies between them is the latency.
    fn times(&mut self, start: Option<Json<'a>>, end: Option<Json<'a>>, first_token: Option<Json<'a>>) {
        let start = self.moment("timestamp", start);
        let [end, first_token] =
            [(self.latency_field(), end), ("ttft_ms", first_token)].map(|(field, at)| self.moment(field, at));
        if let Some(start) = start {
            self.record.timestamp_ms = i64::try_from(start.div_euclid(NS_PER_MS)).ok();
        }
        if let Some(ms) = self.between(self.latency_field(), start, end) {
            self.latency(ms, LatencySource::StartAndEnd);
        }
        if let Some(ms) = self.between("ttft_ms", start, first_token) {
            self.record.ttft_ms = Some(ms);
        }
    }

    /// Takes a latency that the log states, unless it follows from beginning and end.
    fn reported_latency(&mut self, value: Option<&Json<'a>>, unit: Unit) {
        let field = self.latency_field();
        let known = if self.record.kind == Kind::Llm { self.record.latency_ms } else { self.record.execution_time_ms };
        if known.is_none()
            && let Some(ms) = self.duration(field, value, unit)
        {
            self.latency(ms, LatencySource::Reported);
        }
    }

    /// Takes a time to the first token that the log states, unless it follows from moments.
    fn reported_ttft(&mut self, value: Option<&Json<'a>>, unit: Unit) {
        if self.record.ttft_ms.is_none() {
            self.record.ttft_ms = self.duration("ttft_ms", value, unit);
        }
    }

    /// Takes token counts, unless they are known.
    fn tokens(&mut self, prompt: Option<&Json<'a>>, response: Option<&Json<'a>>) {
        self.record.prompt_tokens = self.record.prompt_tokens.or_else(|| count(prompt));
        self.record.response_tokens = self.record.response_tokens.or_else(|| count(response));
    }

    fn latency_field(&self) -> &'static str {
        if self.record.kind == Kind::Llm { "latency_ms" } else { "execution_time_ms" }
    }

    fn latency(&mut self, ms: f64, source: LatencySource) {
        let record = &mut self.record;
        let field = if record.kind == Kind::Llm { &mut record.latency_ms } else { &mut record.execution_time_ms };
        *field = Some(ms);
        record.latency_source = Some(source);
    }

    fn moment(&mut self, field: &str, value: Option<Json<'a>>) -> Option<i128> {
        match values::moment_ns(&value.filter(is_said)?, None) {
            Ok(moment) => Some(moment),
            Err(why) => {
                self.problem(field, why);
                None
            }
        }
    }

    fn between(&mut self, field: &str, start: Option<i128>, end: Option<i128>) -> Option<f64> {
        let ns = end? - start?;
        if ns < 0 {
            self.problem(field, "ends before it begins");
            return None;
        }
        Some(ns as f64 / NS_PER_MS as f64)
    }

    fn duration(&mut self, field: &str, value: Option<&Json<'a>>, unit: Unit) -> Option<f64> {
        let value = value.filter(|value| is_said(value))?;
        match values::duration_ms(value, unit) {
            Ok(ms) => Some(ms),
            Err(why) => {
                self.problem(field, why);
                None
            }
        }
    }

    fn problem(&mut self, field: &str, reason: impl Into<String>) {
        self.record.problems.push(Problem { field: field.to_owned(), reason: reason.into() });
    }

    /// Where it stands among others that a tracer recorded.
    fn span(&mut self, trace_id: Option<Cow<'a, str>>, id: Option<Cow<'a, str>>, parent_id: Option<Cow<'a, str>>) {
        if trace_id.is_some() || id.is_some() {
            self.record.span = Some(Box::new(Span { trace_id, id, parent_id }));
        }
    }

    /// The record. One of an LLM call without any text is noted.
    fn finish(self) -> Entry<'a> {
        let Call { mut record, requested, served } = self;
        match served {
            Some(served) => (record.model, record.declared_model) = (Some(served), requested),
            None => record.model = requested,
        }
        let is_silent =
            matches!(record.prompt, Prompt::Absent) && record.response.is_none() && record.tool_calls.is_empty();
        if record.kind == Kind::Llm && is_silent && record.error.is_none() {
            record.notes.add(Note::NoText);
        }
        Entry::Record(record)
    }
}

const NS_PER_MS: i128 = 1_000_000;

/// Whether a value says something: writers put null, "" and NaN in the place of what they do not know.
fn is_said(value: &Json<'_>) -> bool {
    !matches!(value, Json::Null) && value.as_str() != Some("")
}

fn count(value: Option<&Json<'_>>) -> Option<u64> {
    values::count(value?).ok()
}

/// A name at the end of a path of keys, copied out (borrowed from the unit as a rule).
fn name_at<'a>(value: &Json<'a>, path: &[&str]) -> Option<Cow<'a, str>> {
    let found = path.iter().try_fold(value, |value, key| value.get(key))?;
    values::name(found.clone()).ok().flatten()
}

/// A string that holds JSON becomes what it holds; anything else stays.
fn decoded(value: Json<'_>) -> Json<'_> {
    match value {
        Json::String(text) if text.trim_start().starts_with(['{', '[', '"']) => {
            Json::parse_text(text).unwrap_or_else(Json::String)
        }
        other => other,
    }
}
