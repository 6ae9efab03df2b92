//! A record in the making: what the writers put the parts of a call into.
//!
//! A latency is end minus beginning where a log has both; a number in the log counts only where it has not, because
//! the same key is in seconds here and in milliseconds there.

use std::borrow::Cow;

use super::{
    Around, Container, Dialect, Entry, Format, Ignored, Kind, LatencySource, Passage, Problem, Record, Span,
    body::{self, Answer, Conversation, langchain, message},
    json::Json,
    values::{self, Unit},
};

/// What a value of a container gives: one entry as a rule.
pub(crate) type Outcome<'a> = Result<Entry<'a>, String>;

/// The entries of a value, in their order.
#[derive(Debug, Default)]
pub(crate) struct Entries<'a> {
    pub list: Vec<Outcome<'a>>,
}

impl<'a> Entries<'a> {
    /// Adds an entry.
    pub fn push(&mut self, outcome: Outcome<'a>) {
        self.list.push(outcome);
    }

    /// Adds what holds no call of its own, under the name `what`.
    pub fn skipped(&mut self, container: Container, what: &'static str) {
        self.list.push(Ok(skipped(container, what)));
    }
}

/// Something recognised that holds no call.
pub(crate) fn skipped<'a>(container: Container, what: &'static str) -> Entry<'a> {
    Entry::Ignored(Ignored::skipped(Format::of(container), what))
}

/// Something recognised that repeats its children.
pub(crate) fn parent<'a>(container: Container, what: &'static str) -> Entry<'a> {
    Entry::Ignored(Ignored::parent(Format::of(container), what))
}

/// A record in the making.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub record: Record<'a>,
    /// The model that was asked for.
    pub requested: Option<Cow<'a, str>>,
    /// The model that answered.
    pub served: Option<Cow<'a, str>>,
    /// Beginning and end, in nanoseconds since the Unix epoch.
    start_ns: Option<i64>,
    end_ns: Option<i64>,
}

impl<'a> Call<'a> {
    /// A call of a model.
    pub fn llm(container: Container) -> Call<'a> {
        Call::of(Kind::Llm, container)
    }

    /// A call of a tool, by its name.
    pub fn tool(container: Container, tool: Option<Cow<'a, str>>) -> Call<'a> {
        let mut call = Call::of(Kind::Tool, container);
        call.record.tool = tool;
        call
    }

    pub fn of(kind: Kind, container: Container) -> Call<'a> {
        let record = Record { format: Format::of(container), ..Record::new(kind) };
        Call { record, requested: None, served: None, start_ns: None, end_ns: None }
    }

    /// Reads what was asked: a request body, a list of messages, or a text.
    pub fn ask(&mut self, request: Option<Json<'a>>) {
        if let Some(Ok(asked)) = request.map(body::read_question) {
            self.asked(asked);
        }
    }

    /// Takes what was asked.
    pub fn asked(&mut self, mut asked: Conversation<'a>) {
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
    pub fn answer(&mut self, response: Option<Json<'a>>) {
        if let Some(Ok(answer)) = response.map(body::read_answer) {
            self.answered(answer);
        }
    }

    /// Takes what was answered.
    pub fn answered(&mut self, mut answer: Answer<'a>) {
        // Servers that know no id and no name write empty ones, which tell no answer from another.
        answer.id = answer.id.filter(|id| !id.is_empty());
        answer.model = answer.model.filter(|model| !model.is_empty());
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

    pub fn spelled(&mut self, dialect: Option<Dialect>) {
        self.record.format.dialect = self.record.format.dialect.or(dialect);
    }

    /// What a tool was called with.
    pub fn args(&mut self, args: Option<Json<'a>>) {
        self.record.args = args.map(values::unwrap_object);
    }

    /// What a tool answered. LangChain puts a message around it, which names the call.
    pub fn result(&mut self, result: Option<Json<'a>>) {
        let Some(result) = result else { return };
        let is_message = |value: &Json<'_>| {
            message::role(value) == Some("tool")
                && (value.get("tool_call_id").is_some() || langchain::is_serialised(value))
        };
        if !is_message(&result) {
            self.record.result = Some(values::unwrap_container(result));
            return;
        }
        let mut message = langchain::deserialised(result);
        let id = message::take_name(&mut message, "tool_call_id");
        self.record.call_id = self.record.call_id.take().or(id);
        let content = message.take("content").map(values::unwrap_container);
        if message.get("status").and_then(Json::as_str) == Some("error") {
            self.record.error = self.record.error.take().or(content.clone().and_then(body::error_of));
        }
        self.record.result = content;
    }

    /// Takes beginning and end, and what lies between them is the latency.
    pub fn times(&mut self, start: Option<Json<'a>>, end: Option<Json<'a>>, first_token: Option<Json<'a>>) {
        let start = self.moment("timestamp", start);
        let [end, first_token] =
            [(self.latency_field(), end), ("ttft_ms", first_token)].map(|(field, at)| self.moment(field, at));
        if let Some(start) = start {
            self.record.timestamp_ms = i64::try_from(start.div_euclid(NS_PER_MS)).ok();
        }
        let ns = |moment: Option<i128>| moment.and_then(|ns| i64::try_from(ns).ok());
        (self.start_ns, self.end_ns) = (ns(start).or(self.start_ns), ns(end).or(self.end_ns));
        if let Some(ms) = self.between(self.latency_field(), start, end) {
            self.latency(ms, LatencySource::StartAndEnd);
        }
        if let Some(ms) = self.between("ttft_ms", start, first_token) {
            self.record.ttft_ms = Some(ms);
        }
    }

    /// Takes a latency that the log states, unless it follows from beginning and end.
    pub fn reported_latency(&mut self, value: Option<&Json<'a>>, unit: Unit) {
        let field = self.latency_field();
        let known = if self.record.kind == Kind::Llm { self.record.latency_ms } else { self.record.execution_time_ms };
        if known.is_none()
            && let Some(ms) = self.duration(field, value, unit)
        {
            self.latency(ms, LatencySource::Reported);
        }
    }

    /// Takes a time to the first token that the log states, unless it follows from moments.
    pub fn reported_ttft(&mut self, value: Option<&Json<'a>>, unit: Unit) {
        if self.record.ttft_ms.is_none() {
            self.record.ttft_ms = self.duration("ttft_ms", value, unit);
        }
    }

    /// Takes token counts, unless they are known.
    pub fn tokens(&mut self, prompt: Option<&Json<'a>>, response: Option<&Json<'a>>) {
        self.record.prompt_tokens = self.record.prompt_tokens.or_else(|| count(prompt));
        self.record.response_tokens = self.record.response_tokens.or_else(|| count(response));
    }

    pub fn latency_field(&self) -> &'static str {
        if self.record.kind == Kind::Llm { "latency_ms" } else { "execution_time_ms" }
    }

    pub fn latency(&mut self, ms: f64, source: LatencySource) {
        let record = &mut self.record;
        let field = if record.kind == Kind::Llm { &mut record.latency_ms } else { &mut record.execution_time_ms };
        *field = Some(ms);
        record.latency_source = Some(source);
    }

    pub fn moment(&mut self, field: &str, value: Option<Json<'a>>) -> Option<i128> {
        match values::moment_ns(&value.filter(is_said)?, None) {
            Ok(moment) => Some(moment),
            Err(why) => {
                self.problem(field, why);
                None
            }
        }
    }

    pub fn between(&mut self, field: &str, start: Option<i128>, end: Option<i128>) -> Option<f64> {
        let ns = end? - start?;
        if ns < 0 {
            self.problem(field, "ends before it begins");
            return None;
        }
        Some(ns as f64 / NS_PER_MS as f64)
    }

    pub fn duration(&mut self, field: &str, value: Option<&Json<'a>>, unit: Unit) -> Option<f64> {
        let value = value.filter(|value| is_said(value))?;
        match values::duration_ms(value, unit) {
            Ok(ms) => Some(ms),
            Err(why) => {
                self.problem(field, why);
                None
            }
        }
    }

    pub fn problem(&mut self, field: &str, reason: impl Into<String>) {
        self.record.problems.push(Problem { field: field.to_owned(), reason: reason.into() });
    }

    /// Where it stands among others that a tracer recorded.
    pub fn span(&mut self, trace_id: Option<Cow<'a, str>>, id: Option<Cow<'a, str>>, parent_id: Option<Cow<'a, str>>) {
        if trace_id.is_some() || id.is_some() {
            self.record.span = Some(Box::new(Span { trace_id, id, parent_id, ..Span::default() }));
        }
    }

    /// The record.
    pub fn record(self) -> Record<'a> {
        let Call { mut record, requested, served, start_ns, end_ns } = self;
        match served {
            Some(served) => (record.model, record.declared_model) = (Some(served), requested),
            None => record.model = requested,
        }
        if let Some(span) = &mut record.span {
            (span.start_ns, span.end_ns) = (start_ns, end_ns);
        }
        record
    }

    /// What a step was asked and answered that repeats its children: where it is the root of a trace, a call if the log has
    /// none of the trace, else what `ignored` says.
    pub fn outline(mut self, inputs: Option<Json<'a>>, outputs: Option<Json<'a>>, ignored: Ignored<'a>) -> Entry<'a> {
        let is_root = |span: &Span<'_>| span.trace_id.is_some() && span.parent_id.is_none();
        let is_told =
            self.record.span.as_deref().is_some_and(is_root) && inputs.as_ref().is_some_and(body::is_question);
        let Some((answer, documents)) = outputs.filter(|_| is_told).and_then(body::named_answer) else {
            return self.without_call(ignored, Vec::new());
        };
        self.ask(inputs);
        self.answered(answer);
        self.record.context.extend(documents);
        if let Some(span) = &mut self.record.span {
            span.outline = Some(ignored.format);
        }
        self.finish()
    }

    /// What holds no call but stands among some, with what it tells them.
    pub fn without_call(self, mut ignored: Ignored<'a>, documents: Vec<Passage<'a>>) -> Entry<'a> {
        let record = self.record();
        let session_id = record.session_id;
        ignored.around = record.span.map(|span| Box::new(Around { span: *span, session_id, documents }));
        Entry::Ignored(ignored)
    }

    /// The record, as an entry.
    pub fn finish(self) -> Entry<'a> {
        Entry::Record(self.record())
    }
}

const NS_PER_MS: i128 = 1_000_000;

/// Whether a value says something: writers put null, "" and NaN in the place of what they do not know.
pub(crate) fn is_said(value: &Json<'_>) -> bool {
    !matches!(value, Json::Null) && value.as_str() != Some("")
}

pub(crate) fn count(value: Option<&Json<'_>>) -> Option<u64> {
    values::count(value?).ok()
}

/// A name at the end of a path of keys, copied out (borrowed from the unit as a rule).
pub(crate) fn name_at<'a>(value: &Json<'a>, path: &[&str]) -> Option<Cow<'a, str>> {
    let found = path.iter().try_fold(value, |value, key| value.get(key))?;
    values::name(found.clone()).ok().flatten()
}

/// A string that holds JSON becomes what it holds; anything else stays.
pub(crate) fn decoded(value: Json<'_>) -> Json<'_> {
    match value {
        Json::String(text) if text.trim_start().starts_with(['{', '[', '"']) => {
            Json::parse_text(text).unwrap_or_else(Json::String)
        }
        other => other,
    }
}
