//! The fields of the normal form and what logs call them: the one table behind the matching, the documentation,
//! `--map` and the JSON Schema.
//!
//! A key matches without regard to case, `_` and `-`, so `latencyMs`, `latency-ms` and `LATENCY_MS` are all
//! `latency_ms`. Where a record has several names of one field, the first in the table that is not null is taken. A
//! name may mean one thing in LLM calls and another in tool calls: an `input` is a prompt there and arguments here.
//!
//! **Limits**: `latency`, `duration`, `elapsed` and `execution_time` say nothing of their unit and are taken for
//! milliseconds, which `inspect` shows as assumed; other names without a
//! unit (`response_time`) are not read, since common logs have them in seconds.

use std::sync::LazyLock;

use super::values::Unit;

/// A field of the normal form; its number is its place in [`FIELDS`].
#[allow(missing_docs, reason = "the table says what each field is")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    Kind,
    Id,
    Timestamp,
    SessionId,
    Model,
    DeclaredModel,
    ServedModel,
    Provider,
    System,
    Prompt,
    Context,
    Response,
    LatencyMs,
    TtftMs,
    PromptTokens,
    ResponseTokens,
    FinishReason,
    Error,
    Rules,
    ExpectedSchema,
    Tools,
    ToolCalls,
    Tool,
    Args,
    Result,
    ExecutionTimeMs,
    Label,
    WasHallucination,
    Confidence,
}

/// Fields in the normal form.
pub(super) const FIELD_COUNT: usize = Field::Confidence as usize + 1;

impl Field {
    /// The field's name in the normal form.
    pub fn name(self) -> &'static str {
        FIELDS[self as usize].name
    }
}

/// What kind of value a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// One of the three kinds.
    Kind,
    /// A short text; numbers are taken as their digits.
    Name,
    /// A moment.
    Timestamp,
    /// A text, or something that has one.
    Text,
    /// A text or messages.
    Prompt,
    /// Documents.
    Context,
    /// A length of time, in milliseconds.
    DurationMs,
    /// A whole number.
    Count,
    /// A list of rules.
    Rules,
    /// A JSON Schema.
    Schema,
    /// Any JSON value.
    Any,
    /// Yes or no.
    Flag,
    /// A number from 0 to 1.
    Fraction,
}

impl Holds {
    /// Whether a value of this kind can have a unit of time.
    pub fn is_time(self) -> bool {
        matches!(self, Holds::Timestamp | Holds::DurationMs)
    }
}

/// A name that a field goes by.
#[derive(Clone, Copy, Debug)]
pub struct Name {
    /// The name, in `snake_case`.
    pub text: &'static str,
    /// The unit that the name promises, for times.
    pub unit: Option<Unit>,
}

/// What a field is, and how logs call it.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The field.
    pub field: Field,
    /// Its name in the normal form.
    pub name: &'static str,
    /// What kind of value it holds.
    pub holds: Holds,
    /// What it means, in one sentence.
    pub about: &'static str,
    /// Its names in any record, in order of precedence.
    pub names: &'static [Name],
    /// Further names in LLM calls, after `names`.
    pub llm_names: &'static [Name],
    /// Further names in tool calls and feedback, after `names`.
    pub tool_names: &'static [Name],
}

const fn name(text: &'static str) -> Name {
    Name { text, unit: None }
}

const fn ms(text: &'static str) -> Name {
    Name { text, unit: Some(Unit::Ms) }
}

const fn seconds(text: &'static str) -> Name {
    Name { text, unit: Some(Unit::S) }
}

const fn us(text: &'static str) -> Name {
    Name { text, unit: Some(Unit::Us) }
}

const fn ns(text: &'static str) -> Name {
    Name { text, unit: Some(Unit::Ns) }
}

const fn any(field: Field, holds: Holds, names: &'static [Name], about: &'static str) -> About {
    by_kind(field, holds, names, &[], &[], about)
}

const fn by_kind(
    field: Field,
    holds: Holds,
    names: &'static [Name],
    llm_names: &'static [Name],
    tool_names: &'static [Name],
    about: &'static str,
) -> About {
    About { field, name: names[0].text, holds, about, names, llm_names, tool_names }
}

const LATENCY_NAMES: &[Name] = &[
    ms("latency_ms"),
    name("latency"),
    ms("response_time_ms"),
    ms("duration_ms"),
    name("duration"),
    ms("elapsed_ms"),
    name("elapsed"),
    ms("delay_ms"),
    ms("total_time_ms"),
    ms("generation_time_ms"),
    seconds("latency_s"),
    seconds("latency_sec"),
    seconds("latency_seconds"),
    seconds("duration_s"),
    seconds("duration_sec"),
    seconds("duration_seconds"),
    seconds("elapsed_s"),
    seconds("elapsed_seconds"),
    seconds("response_time_s"),
    seconds("response_time_seconds"),
    us("latency_us"),
    us("duration_us"),
    ns("latency_ns"),
    ns("duration_ns"),
];

const EXECUTION_TIME_NAMES: &[Name] = &[
    ms("execution_time_ms"),
    ms("execution_ms"),
    ms("exec_time_ms"),
    name("execution_time"),
    seconds("execution_time_s"),
    seconds("execution_time_seconds"),
];

/// Every field of the normal form, in its order.
pub static FIELDS: [About; FIELD_COUNT] = [
    any(Field::Kind, Holds::Kind, &[name("kind"), name("type")], "What the record describes: llm, tool or feedback."),
    any(
        Field::Id,
        Holds::Name,
        &[
            name("id"),
            name("record_id"),
            name("request_id"),
            name("call_id"),
            name("response_id"),
            name("event_id"),
            name("span_id"),
            name("uuid"),
        ],
        "The record's own id; a missing one becomes source:line:item.",
    ),
    any(
        Field::Timestamp,
        Holds::Timestamp,
        &[
            name("timestamp"),
            ms("timestamp_ms"),
            name("time"),
            name("ts"),
            name("created_at"),
            name("start_time"),
            name("started_at"),
            name("start_timestamp"),
            name("@timestamp"),
            name("datetime"),
            name("date"),
            name("created"),
            name("logging_time"),
        ],
        "When the call began: RFC 3339, a date and time in UTC, or the time since 1970 in a unit told from its magnitude.",
    ),
    any(
        Field::SessionId,
        Holds::Name,
        &[
            name("session_id"),
            name("session"),
            name("conversation_id"),
            name("thread_id"),
            name("chat_id"),
            name("trace_id"),
        ],
        "The conversation that the call belongs to.",
    ),
    any(
        Field::Model,
        Holds::Name,
        &[
            name("model"),
            name("model_name"),
            name("model_id"),
            name("llm_model"),
            name("deployment"),
            name("model_permaslug"),
        ],
        "The model that answered.",
    ),
    any(
        Field::DeclaredModel,
        Holds::Name,
        &[
            name("declared_model"),
            name("requested_model"),
            name("request_model"),
            name("model_requested"),
            name("gen_ai.request.model"),
        ],
        "The model that was asked for, where the log names it apart from the one that answered.",
    ),
    any(
        Field::ServedModel,
        Holds::Name,
        &[name("served_model"), name("response_model"), name("model_served"), name("gen_ai.response.model")],
        "The model that answered, where `model` is the one that was asked for.",
    ),
    any(
        Field::Provider,
        Holds::Name,
        &[name("provider"), name("model_provider"), name("llm_provider"), name("provider_name"), name("vendor")],
        "Who served the model.",
    ),
    any(
        Field::System,
        Holds::Text,
        &[
            name("system"),
            name("system_prompt"),
            name("system_message"),
            name("system_instruction"),
            name("system_instructions"),
            name("instructions"),
        ],
        "The system prompt.",
    ),
    by_kind(
        Field::Prompt,
        Holds::Prompt,
        &[
            name("prompt"),
            name("question"),
            name("query"),
            name("instruction"),
            name("messages"),
            name("user_prompt"),
            name("user_message"),
            name("user_input"),
            name("request"),
            name("req"),
            name("full_request"),
        ],
        &[name("input"), name("inputs"), name("body")],
        &[],
        "What the model was asked: a text, or a list of messages.",
    ),
    any(
        Field::Context,
        Holds::Context,
        &[
            name("context"),
            name("contexts"),
            name("sources"),
            name("documents"),
            name("docs"),
            name("passages"),
            name("retrieved"),
            name("retrieved_contexts"),
            name("retrieved_documents"),
            name("retrieval_context"),
            name("source_documents"),
            name("chunks"),
        ],
        "Documents that the answer should rest on.",
    ),
    by_kind(
        Field::Response,
        Holds::Text,
        &[
            name("response"),
            name("completion"),
            name("answer"),
            name("response_text"),
            name("generation"),
            name("generated_text"),
            name("output_text"),
            name("model_output"),
            name("reply"),
            name("resp"),
            name("full_response"),
        ],
        &[name("output"), name("outputs"), name("result")],
        &[],
        "What the model answered.",
    ),
    by_kind(
        Field::LatencyMs,
        Holds::DurationMs,
        LATENCY_NAMES,
        EXECUTION_TIME_NAMES,
        &[],
        "Time to the whole response, in milliseconds.",
    ),
    any(
        Field::TtftMs,
        Holds::DurationMs,
        &[
            ms("ttft_ms"),
            ms("ttft"),
            ms("time_to_first_token_ms"),
            ms("time_to_first_token"),
            ms("first_token_ms"),
            ms("first_token_latency_ms"),
            seconds("ttft_s"),
            seconds("ttft_seconds"),
            seconds("time_to_first_token_s"),
            seconds("time_to_first_token_seconds"),
        ],
        "Time to the first token, in milliseconds.",
    ),
    any(
        Field::PromptTokens,
        Holds::Count,
        &[
            name("prompt_tokens"),
            name("input_tokens"),
            name("prompt_token_count"),
            name("input_token_count"),
            name("num_prompt_tokens"),
            name("num_input_tokens"),
            name("tokens_in"),
            name("tokens_prompt"),
        ],
        "Tokens in the prompt, as the provider counted them; also inside of a `usage` object.",
    ),
    any(
        Field::ResponseTokens,
        Holds::Count,
        &[
            name("response_tokens"),
            name("completion_tokens"),
            name("output_tokens"),
            name("generated_tokens"),
            name("response_token_count"),
            name("completion_token_count"),
            name("output_token_count"),
            name("num_completion_tokens"),
            name("num_output_tokens"),
            name("tokens_out"),
            name("tokens_completion"),
        ],
        "Tokens in the response, as the provider counted them; also inside of a `usage` object.",
    ),
    any(
        Field::FinishReason,
        Holds::Name,
        &[name("finish_reason"), name("stop_reason"), name("done_reason")],
        "Why the model stopped.",
    ),
    any(
        Field::Error,
        Holds::Text,
        &[name("error"), name("error_message"), name("exception"), name("err")],
        "The error that the call ended with.",
    ),
    any(
        Field::Rules,
        Holds::Rules,
        &[name("rules"), name("compliance_rules"), name("instruction_rules")],
        "Instruction rules that the response must follow.",
    ),
    any(
        Field::ExpectedSchema,
        Holds::Schema,
        &[
            name("expected_schema"),
            name("response_schema"),
            name("output_schema"),
            name("json_schema"),
            name("response_format"),
        ],
        "The JSON Schema that the response must satisfy; also inside of a `response_format`.",
    ),
    any(
        Field::Tools,
        Holds::Any,
        &[name("tools"), name("tool_definitions"), name("available_tools"), name("functions")],
        "The tools that the model was offered, each with the JSON Schema of its arguments.",
    ),
    any(
        Field::ToolCalls,
        Holds::Any,
        &[name("tool_calls"), name("function_calls")],
        "The tools that the answer calls, with their arguments.",
    ),
    by_kind(
        Field::Tool,
        Holds::Name,
        &[name("tool"), name("tool_name"), name("function"), name("function_name")],
        &[],
        &[name("name")],
        "The tool that was called.",
    ),
    by_kind(
        Field::Args,
        Holds::Any,
        &[
            name("args"),
            name("arguments"),
            name("tool_args"),
            name("tool_arguments"),
            name("tool_input"),
            name("function_args"),
            name("function_arguments"),
        ],
        &[],
        &[name("parameters"), name("params"), name("kwargs"), name("input"), name("inputs")],
        "What the tool was called with.",
    ),
    by_kind(
        Field::Result,
        Holds::Any,
        &[name("result"), name("tool_result"), name("tool_output"), name("return_value"), name("function_result")],
        &[],
        &[name("output"), name("outputs"), name("tool_response"), name("response"), name("observation")],
        "What the tool answered; null is an answer.",
    ),
    by_kind(
        Field::ExecutionTimeMs,
        Holds::DurationMs,
        EXECUTION_TIME_NAMES,
        &[],
        LATENCY_NAMES,
        "Time that the tool took, in milliseconds.",
    ),
    any(
        Field::Label,
        Holds::Name,
        &[name("label"), name("gold_label"), name("ground_truth_label")],
        "A label from outside, carried through to reports and never used for a verdict.",
    ),
    any(
        Field::WasHallucination,
        Holds::Flag,
        &[name("was_hallucination"), name("was_hallucinated")],
        "Feedback: whether the tool's result was in fact made up.",
    ),
    any(
        Field::Confidence,
        Holds::Fraction,
        &[name("confidence"), name("reported_confidence")],
        "Feedback: the confidence that had been reported.",
    ),
];
/// The kinds of record with names of their own; feedback goes by the names of tool calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Llm,
    Tool,
}

/// A field that a name may mean, in records of one scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub field: Field,
    pub scope: Scope,
    /// Precedence of the name, the lower the better.
    pub rank: u16,
    pub unit: Option<Unit>,
}

impl Target {
    /// Whether the name is the field's in any kind of record.
    pub fn is_own_name(&self) -> bool {
        is_own_name(self.field, self.rank)
    }
}

/// What a key may mean.
pub(super) fn meanings(key: &str) -> &'static [Target] {
    NAMES.look_up(key)
}

/// Whether a name of this rank is the field's in any kind of record.
pub(super) fn is_own_name(field: Field, rank: u16) -> bool {
    usize::from(rank) < FIELDS[field as usize].names.len()
}

/// A power of two, large enough that most buckets hold one name.
const BUCKETS: usize = 256;

/// Keys longer than this, without `_` and `-`, are not ours.
const MAX_NAME_BYTES: usize = 32;

static NAMES: LazyLock<Names> = LazyLock::new(Names::of_fields);

/// All names of all fields, normalised, in a small hash table.
struct Names {
    buckets: Vec<Vec<(String, Vec<Target>)>>,
}

impl Names {
    fn of_fields() -> Names {
        let mut names = Names { buckets: vec![Vec::new(); BUCKETS] };
        for about in &FIELDS {
            for (scope, further) in [(Scope::Llm, about.llm_names), (Scope::Tool, about.tool_names)] {
                for (rank, name) in (0..).zip(about.names.iter().chain(further)) {
                    names.add(name.text, Target { field: about.field, scope, rank, unit: name.unit });
                }
            }
        }
        names
    }

    fn add(&mut self, name: &str, target: Target) {
        let normalised = name.replace('_', "");
        let bucket = &mut self.buckets[bucket(normalised.as_bytes())];
        match bucket.iter_mut().find(|(known, _)| *known == normalised) {
            Some((_, targets)) => targets.push(target),
            None => bucket.push((normalised, vec![target])),
        }
    }

    fn look_up(&self, key: &str) -> &[Target] {
        let mut buffer = [0; MAX_NAME_BYTES];
        let Some(name) = normalise(key, &mut buffer) else { return &[] };
        let known = self.buckets[bucket(name)].iter().find(|(known, _)| known.as_bytes() == name);
        known.map_or(&[], |(_, targets)| targets)
    }
}

/// The key in lower case, without `_` and `-`; `None` when it is too long to be one of ours.
fn normalise<'b>(key: &str, buffer: &'b mut [u8; MAX_NAME_BYTES]) -> Option<&'b [u8]> {
    let mut length = 0;
    for byte in key.bytes().filter(|byte| !matches!(byte, b'_' | b'-')) {
        *buffer.get_mut(length)? = byte.to_ascii_lowercase();
        length += 1;
    }
    Some(&buffer[..length])
}

fn bucket(name: &[u8]) -> usize {
    let [first, last] = [name.first(), name.last()].map(|byte| usize::from(byte.copied().unwrap_or_default()));
    (name.len() * 37 + first * 7 + last * 11) % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_fields() {
        for (index, about) in FIELDS.iter().enumerate() {
            assert_eq!(about.field as usize, index, "{}", about.name);
            assert_eq!(about.name, about.names[0].text);
            assert!(about.about.ends_with('.') && !about.about.contains('\n'));
        }
    }

    #[test]
    fn a_name_means_one_field_in_one_kind_of_record() {
        let buckets = NAMES.buckets.iter().flatten();
        let mut names = 0;
        for (name, targets) in buckets {
            names += 1;
            assert!(name.len() <= MAX_NAME_BYTES, "{name}");
            for scope in [Scope::Llm, Scope::Tool] {
                let mut fields: Vec<Field> =
                    targets.iter().filter(|target| target.scope == scope).map(|target| target.field).collect();
                fields.sort();
                let allowed: &[&[Field]] =
                    &[&[Field::Response, Field::Result], &[Field::LatencyMs, Field::ExecutionTimeMs]];
                assert!(fields.len() <= 1 || allowed.contains(&fields.as_slice()), "{name} {fields:?}");
            }
        }
        assert!(names > 130);
    }
}
