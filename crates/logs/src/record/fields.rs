//! The fields of the normal form and what logs call them: the one table behind the matching, the documentation,
//! `--map` and the JSON Schema.
//!
//! A key matches without regard to case, `_` and `-`, so `latencyMs`, `latency-ms` and `LATENCY_MS` are all
//! `latency_ms`. Where a record has several names of one field, the first in the table that is not null is taken. A
//! name may mean one thing in LLM calls and another in tool calls: an `input` is a prompt there and arguments here.
//! Names that say something in calls alone do not make a call of an object: an `output` is an answer where there is a
//! prompt or a model, and nothing at all in a line of a build log.
//!
//! Names of durations also come with a unit behind them ([`UNITS`]): `took_seconds`, `inferenceTimeMs`. Who speaks and what
//! that is make names of texts ([`COMPOSED`]): `bot_text`, `userMsg`.
//!
//! **Limits**: names of durations that say nothing of their unit are taken for milliseconds, which `inspect` shows as
//! assumed; a model whose times cannot be milliseconds is named in the report.

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
    Host,
    Level,
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
pub(crate) const FIELD_COUNT: usize = Field::Confidence as usize + 1;

impl Field {
    /// What is known of a call beside its texts.
    pub(crate) const ABOUT_CALL: [Field; 13] = [
        Field::Id,
        Field::Timestamp,
        Field::SessionId,
        Field::Model,
        Field::Provider,
        Field::Host,
        Field::Level,
        Field::LatencyMs,
        Field::ExecutionTimeMs,
        Field::TtftMs,
        Field::PromptTokens,
        Field::ResponseTokens,
        Field::FinishReason,
    ];

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

/// What may stand behind the name of a duration.
pub const UNITS: [(&str, Unit); 15] = [
    ("ms", Unit::Ms),
    ("msec", Unit::Ms),
    ("millis", Unit::Ms),
    ("milliseconds", Unit::Ms),
    ("in_ms", Unit::Ms),
    ("s", Unit::S),
    ("sec", Unit::S),
    ("secs", Unit::S),
    ("seconds", Unit::S),
    ("in_seconds", Unit::S),
    ("us", Unit::Us),
    ("microseconds", Unit::Us),
    ("ns", Unit::Ns),
    ("nanos", Unit::Ns),
    ("nanoseconds", Unit::Ns),
];

/// Who speaks, and what that is: both together are names of a text, such as `bot_reply` and `user_text`. Listed names come
/// before these, and only in calls do they say anything.
const COMPOSED: [(Field, &[&str], &[&str]); 2] = [
    (
        Field::Response,
        &[
            "llm",
            "ai",
            "assistant",
            "bot",
            "chatbot",
            "model",
            "agent",
            "gpt",
            "chatgpt",
            "claude",
            "gemini",
            "openai",
            "final",
            "generated",
            "completion",
            "answer",
            "output",
            "response",
            "resp",
            "reply",
            "predicted",
            "chat",
            "text",
            "raw",
        ],
        &[
            "response",
            "answer",
            "reply",
            "output",
            "text",
            "message",
            "msg",
            "content",
            "completion",
            "result",
            "resp",
            "generation",
        ],
    ),
    (
        Field::Prompt,
        &["user", "human", "customer", "input", "prompt", "question", "query", "request", "chat", "text", "client"],
        &["prompt", "question", "query", "text", "message", "msg", "input", "content", "request", "utterance"],
    ),
];

/// Added to the rank of a composed name.
const COMPOSED_RANK: u16 = 200;

const fn name(text: &'static str) -> Name {
    Name { text, unit: None }
}

const fn ms(text: &'static str) -> Name {
    Name { text, unit: Some(Unit::Ms) }
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
    name("response_time"),
    name("duration"),
    name("elapsed"),
    name("elapsed_time"),
    name("response_latency"),
    name("total_latency"),
    name("total_time"),
    name("total_duration"),
    name("generation_time"),
    name("inference_time"),
    name("inference_latency"),
    name("processing_time"),
    name("request_duration"),
    name("request_latency"),
    name("response_duration"),
    name("call_duration"),
    name("llm_latency"),
    name("llm_duration"),
    name("llm_time"),
    name("model_latency"),
    name("api_latency"),
    name("api_time"),
    name("server_latency"),
    name("backend_latency"),
    name("e2e_latency"),
    name("end_to_end_latency"),
    name("round_trip"),
    name("round_trip_time"),
    name("rtt"),
    name("time_taken"),
    name("time_elapsed"),
    name("took"),
    name("runtime"),
    name("run_time"),
    name("wall_time"),
    name("wall_clock"),
    name("delay"),
    name("openai_latency"),
    name("provider_latency"),
    name("completion_latency"),
    name("completion_time"),
    name("generation_latency"),
    name("generation_duration"),
    name("inference_duration"),
    name("query_time"),
    ms("call_time_ms"),
    ms("time_ms"),
    ms("total_ms"),
    ms("dur_ms"),
    ms("lat_ms"),
    ms("rt_ms"),
    ms("exec_ms"),
    ms("processing_ms"),
    ms("request_time_ms"),
    ms("ms"),
    // Dify's.
    Name { text: "provider_response_latency", unit: Some(Unit::S) },
];

const EXECUTION_TIME_NAMES: &[Name] = &[
    ms("execution_time_ms"),
    ms("execution_ms"),
    name("execution_time"),
    name("execution_duration"),
    name("exec_time"),
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
            name("started_date_time"),
            name("request_time_utc"),
            name("requested_at"),
            name("request_timestamp"),
            name("call_time"),
            name("logged_at"),
            name("log_time"),
            name("event_time"),
            name("event_timestamp"),
            name("asctime"),
            name("date_time"),
            name("time_stamp"),
            name("timestamp_utc"),
            name("created_time"),
            name("create_time"),
            name("created_on"),
            name("created_date"),
            name("insert_time"),
            name("inserted_at"),
            name("insertion_time"),
            name("begin_time"),
            name("began_at"),
            name("time_generated"),
            name("time_created"),
            name("_time"),
            name("@t"),
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
            name("conv_id"),
            name("dialog_id"),
            name("dialogue_id"),
            name("chat_session_id"),
            name("conversation_uuid"),
            name("session_uuid"),
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
            name("ai_model"),
            name("model_slug"),
            name("deployment_name"),
            name("model_deployment"),
            name("llm_name"),
            name("engine"),
            name("llm"),
            name("model_used"),
            name("used_model"),
            name("llm_model_name"),
            name("llm_model_id"),
            name("chat_model"),
            name("completion_model"),
            name("generation_model"),
            name("openai_model"),
            name("gpt_model"),
            name("deployment_id"),
            name("model_key"),
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
        Field::Host,
        Holds::Name,
        &[
            name("host"),
            name("hostname"),
            name("host_name"),
            name("pod"),
            name("pod_name"),
            name("container_name"),
            name("instance_id"),
            name("service"),
            name("service_name"),
        ],
        "The machine, container or service that logged the call.",
    ),
    any(
        Field::Level,
        Holds::Name,
        &[name("level"), name("log_level"), name("severity"), name("level_name"), name("severity_text")],
        "The level at which the call was logged.",
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
            name("messages"),
            name("instruction"),
            name("user_prompt"),
            name("user_message"),
            name("user_input"),
            name("user_query"),
            name("user_question"),
            name("prompt_text"),
            name("full_prompt"),
            name("final_prompt"),
            name("rendered_prompt"),
            name("input_prompt"),
            name("llm_input"),
            name("model_input"),
            name("input_messages"),
            name("prompt_messages"),
            name("chat_messages"),
            name("request_messages"),
            name("human_message"),
            name("human_input"),
            name("input_text"),
        ],
        &[
            name("input"),
            name("inputs"),
            name("query"),
            name("request"),
            name("req"),
            name("full_request"),
            name("request_body"),
            name("request_payload"),
            name("req_body"),
            name("payload_in"),
            name("body"),
            name("user"),
            name("human"),
            name("utterance"),
        ],
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
            name("retrieved_docs"),
            name("retrieved_passages"),
            name("retrieved_chunks"),
            name("retrieval_context"),
            name("retriever_resources"),
            name("source_documents"),
            name("source_nodes"),
            name("context_documents"),
            name("reference_documents"),
            name("supporting_documents"),
            name("chunks"),
            name("evidence"),
            name("grounding_documents"),
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
            name("generated_text"),
            name("output_text"),
            name("model_output"),
            name("model_response"),
            name("model_answer"),
            name("llm_response"),
            name("llm_output"),
            name("llm_answer"),
            name("ai_response"),
            name("ai_message"),
            name("ai_output"),
            name("assistant_response"),
            name("assistant_message"),
            name("assistant_reply"),
            name("assistant_output"),
            name("bot_response"),
            name("bot_message"),
            name("bot_reply"),
            name("chatbot_response"),
            name("chat_response"),
            name("agent_response"),
            name("agent_output"),
            name("gpt_response"),
            name("final_answer"),
            name("final_response"),
            name("generated_answer"),
            name("generated_response"),
            name("response_content"),
            name("response_message"),
            name("answer_text"),
            name("completion_text"),
            name("actual_output"),
        ],
        &[
            name("output"),
            name("outputs"),
            name("result"),
            name("generation"),
            name("reply"),
            name("resp"),
            name("full_response"),
            name("response_body"),
            name("response_payload"),
            name("res_body"),
            name("generated"),
            name("prediction"),
            name("predicted"),
            name("assistant"),
            name("bot"),
            name("generated_output"),
            name("final_output"),
            name("reply_text"),
        ],
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
            ms("time_to_first_token"),
            ms("first_token"),
            ms("first_token_latency"),
            ms("first_token_time"),
            ms("time_to_first_chunk"),
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
            name("tokens_input"),
            name("in_tokens"),
            name("total_input_tokens"),
            name("request_tokens"),
            name("message_tokens"),
            name("n_prompt_tokens"),
            name("n_input_tokens"),
            name("usage_prompt_tokens"),
            name("usage_input_tokens"),
            name("llm_input_tokens"),
            name("total_prompt_tokens"),
            name("tokens_sent"),
            name("prompt_token"),
            name("input_token"),
            name("token_in"),
            name("prompt_toks"),
            name("input_toks"),
            name("input_tok"),
            name("tok_in"),
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
            name("tokens_output"),
            name("out_tokens"),
            name("total_output_tokens"),
            name("answer_tokens"),
            name("n_completion_tokens"),
            name("n_output_tokens"),
            name("n_generated_tokens"),
            name("usage_completion_tokens"),
            name("usage_output_tokens"),
            name("llm_output_tokens"),
            name("total_completion_tokens"),
            name("tokens_received"),
            name("completion_token"),
            name("output_token"),
            name("token_out"),
            name("completion_toks"),
            name("output_toks"),
            name("output_tok"),
            name("tok_out"),
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
pub(crate) enum Scope {
    Llm,
    Tool,
}

/// A field that a name may mean, in records of one scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
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
pub(crate) fn meanings(key: &str) -> &'static [Target] {
    NAMES.look_up(key)
}

/// Whether a name of this rank is the field's in any kind of record.
pub(crate) fn is_own_name(field: Field, rank: u16) -> bool {
    usize::from(rank) < FIELDS[field as usize].names.len()
}

/// Added to the rank of a name of a duration that says nothing of its unit.
const UNSURE_RANK: u16 = 500;

/// A power of two, large enough that most buckets hold one name.
const BUCKETS: usize = 4096;

/// Keys longer than this, without `_` and `-`, are not ours.
const MAX_NAME_BYTES: usize = 40;

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
                for (rank, name) in (0_u16..).zip(about.names.iter().chain(further)) {
                    let is_time = about.holds == Holds::DurationMs;
                    // A name that says its unit is surer than one that does not.
                    let unsure = if is_time && name.unit.is_none() { UNSURE_RANK } else { 0 };
                    let target = Target { field: about.field, scope, rank, unit: name.unit };
                    names.add(name.text, Target { rank: rank + unsure, ..target });
                    if is_time && !name.text.ends_with("_ms") {
                        for (suffix, unit) in UNITS {
                            names.add(&format!("{}_{suffix}", name.text), Target { unit: Some(unit), ..target });
                        }
                    }
                }
            }
        }
        for (field, speakers, nouns) in COMPOSED {
            let pairs = speakers.iter().flat_map(|speaker| nouns.iter().map(move |noun| (speaker, noun)));
            for (speaker, noun) in pairs.filter(|(speaker, noun)| speaker != noun) {
                let composed = format!("{speaker}_{noun}");
                // What is listed, or means something else already, stays so.
                if names.look_up(&composed).is_empty() {
                    let target = Target { field, scope: Scope::Llm, rank: COMPOSED_RANK, unit: None };
                    names.add(&composed, target);
                }
            }
        }
        names
    }

    fn add(&mut self, name: &str, target: Target) {
        let normalised = name.replace('_', "");
        let bucket = &mut self.buckets[bucket(normalised.as_bytes())];
        match bucket.iter_mut().find(|(known, _)| *known == normalised) {
            // A name that a rule makes and one that is listed are the same.
            Some((_, targets))
                if targets.iter().any(|known| (known.field, known.scope) == (target.field, target.scope)) => {}
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

/// The bucket of a name, by its length and three of its bytes.
fn bucket(name: &[u8]) -> usize {
    let middle = name.get(name.len() / 2).copied().map_or(0, usize::from);
    let [first, last] = [name.first(), name.last()].map(|byte| usize::from(byte.copied().unwrap_or_default()));
    (name.len() * 37 + first * 7 + last * 11 + middle * 61) % BUCKETS
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
    fn names_are_composed() {
        let check = |name: &str, expected: &[(Field, bool)]| {
            let meant = meanings(name).iter().filter(|target| target.scope == Scope::Llm);
            let meant: Vec<(Field, bool)> = meant.map(|target| (target.field, target.is_own_name())).collect();
            assert_eq!(meant, expected, "{name}");
        };
        check("bot_text", &[(Field::Response, false)]);
        check("modelReply", &[(Field::Response, false)]);
        check("bot_reply", &[(Field::Response, true)]);
        check("user_msg", &[(Field::Prompt, false)]);
        check("user_prompt", &[(Field::Prompt, true)]);
        check("text_text", &[]);
        check("response_time", &[(Field::LatencyMs, false)]);
        check("request_id", &[(Field::Id, true)]);
        check("output_message_count", &[]);
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
