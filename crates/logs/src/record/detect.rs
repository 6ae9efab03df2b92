//! What a value was written by, told from its top-level keys.
//!
//! The keys are seen once and become bits; a value with none of the marks is in our own form (or a pair, or a list of
//! messages), and costs no more than that look. The rules stand in order, the first that holds wins: many containers
//! also look like a pair, so the particular come before the general. Every value is looked at by itself; a file may
//! mix formats.
//!
//! **Source**: the marks are keys that the writers named in [`Container`] always write.
//!
//! **Limits**: a key of a writer in a record of somebody else can mislead; `--format-in` overrides.

use super::{Container, json::Json, mapping::Mapping, stream::Stream};

macro_rules! marks {
    ($($name:ident = $($key:literal)|+;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "an enumeration of bits")]
        enum Bit { $($name),* }
        $(const $name: u64 = 1 << Bit::$name as u64;)*

        /// By the length of a key, what the ends of marks of this length are: most keys of our own form are done with
        /// one look.
        const ENDS: [u64; MAX_MARK_BYTES + 1] = {
            let mut ends = [0; MAX_MARK_BYTES + 1];
            $($(ends[$key.len()] |= ends_of($key.as_bytes());)+)*
            ends
        };

        fn mark_of(key: &str) -> u64 {
            let bytes = key.as_bytes();
            if bytes.len() > MAX_MARK_BYTES || bytes.is_empty() || ENDS[bytes.len()] & ends_of(bytes) == 0 {
                return 0;
            }
            match key {
                $($($key)|+ => $name,)*
                _ => 0,
            }
        }
    };
}

/// The longest mark.
const MAX_MARK_BYTES: usize = "model_map_information".len();

/// First and last byte of a key, which is not empty, as one of 64 bits.
const fn ends_of(key: &[u8]) -> u64 {
    1 << ((key[0] as u32 * 5 + key[key.len() - 1] as u32 * 3) & 63)
}

marks! {
    OTLP = "resourceSpans" | "resourceLogs" | "resourceMetrics" | "startTimeUnixNano" | "resource_spans"
        | "resource_logs" | "resource_metrics";
    BATCHES = "batches";
    SCHEMA_TYPE = "schemaType";
    JSONRPC = "jsonrpc";
    CUSTOM_ID = "custom_id";
    RESULT = "result";
    PARAMS = "params";
    LITELLM = "litellm_call_id" | "model_map_information";
    RUN = "dotted_order" | "run_type";
    INGEST = "post" | "patch";
    TRACE_CAMEL = "traceId";
    TRACE_SNAKE = "trace_id";
    PROVIDED_MODEL = "provided_model_name";
    TRACE = "trace";
    OBSERVATIONS = "observations";
    INFO = "info";
    DATA = "data";
    OP_NAME = "op_name";
    REQUEST_BODY = "request_body";
    RESPONSE_STATUS = "response_status" | "response_created_at";
    CATEGORY = "category";
    RESOURCE_ID = "resourceId" | "ResourceId";
    SESSION_CAMEL = "sessionId";
    UUID = "parentUuid" | "uuid" | "requestId" | "isSidechain";
    LEAF = "leafUuid";
    MESSAGE = "message";
    SNAPSHOT = "snapshot" | "toolUseResult";
    PAYLOAD = "payload";
    CALL_ID = "call_id";
    SUMMARY = "summary";
    RECORD_TYPE = "record_type";
    INSTRUCTIONS = "instructions";
    PROJECT_HASH = "projectHash";
    EVAL = "eval";
    SAMPLES = "samples" | "plan";
    EVAL_ID = "evalId";
    RESULTS = "results";
    INDICES = "promptIdx" | "testIdx";
    SPEC = "spec" | "final_report";
    EVENT_ID = "event_id";
    SAMPLE_ID = "sample_id";
    CONTEXT = "context";
    CONTEXT_FLAT = "context.trace_id" | "context.span_id";
    SPAN_KIND = "span_kind";
    ATTRIBUTES = "attributes";
    EVENT = "event";
    RID = "rid";
    CONVERSATIONS = "conversations" | "conversation";
    TSTAMP = "tstamp";
    INSTRUCTION = "instruction";
    GENERATED_TEXTS = "generated_texts";
    OBJECT = "object";
    TYPE = "type";
    CANDIDATES = "candidates" | "promptFeedback" | "usageMetadata";
    CONTENT = "content";
    DONE = "done";
    OUTPUT = "output";
    DELTA = "delta" | "content_block";
}

/// Types of Langfuse observations.
const OBSERVATION_TYPES: [&str; 12] = [
    "GENERATION",
    "SPAN",
    "EVENT",
    "AGENT",
    "TOOL",
    "CHAIN",
    "RETRIEVER",
    "EVALUATOR",
    "EMBEDDING",
    "GUARDRAIL",
    "TRACE",
    "DEFAULT",
];

/// Lines of Claude Code sessions that hold no message and whose type is one word; those of several words are told by
/// their hyphens (`queue-operation`, `last-prompt`), because every release adds some.
const CLIENT_LINES: [&str; 3] = ["mode", "tag", "progress"];

/// Types of the lines of a Codex session.
const CODEX_TYPES: [&str; 5] = ["session_meta", "turn_context", "response_item", "event_msg", "compacted"];

/// All that a line of a Codex session has, whatever its type: releases add types.
const CODEX_KEYS: [&str; 4] = ["timestamp", "type", "payload", "ordinal"];

/// What `value` was written by.
pub(super) fn detect(value: &Json<'_>) -> Container {
    let entries = value.as_object().unwrap_or_default();
    let mut marks = 0;
    for (key, _) in entries {
        marks |= mark_of(key);
    }
    // Keys that say nothing alone, and that records of our own form have.
    if marks & !(RESULT | CONTEXT | EVENT | MESSAGE | DATA | TRACE_SNAKE | OUTPUT) == 0 {
        return Container::Native;
    }
    let has = |all: u64| marks & all == all;
    let any = |of: u64| marks & of != 0;
    let text = |key: &str| value.get(key).and_then(Json::as_str).unwrap_or_default();
    if any(OTLP) || (any(BATCHES) && is_span_batches(value)) {
        return Container::Otlp;
    }
    if any(SCHEMA_TYPE) && text("schemaType") == "ModelInvocationLog" {
        return Container::BedrockLog;
    }
    if any(JSONRPC) && text("jsonrpc").starts_with('2') {
        return Container::Mcp;
    }
    if any(CUSTOM_ID)
        && (any(PARAMS) || (any(RESULT) && value.get("result").is_some_and(|result| result.get("type").is_some())))
    {
        return Container::AnthropicBatch;
    }
    if any(CUSTOM_ID) && ["response", "error", "body"].iter().any(|key| value.get(key).is_some()) {
        return Container::OpenAiBatch;
    }
    if any(LITELLM) {
        return Container::LiteLlm;
    }
    if any(RUN) || (any(INGEST) && is_ingest(value)) {
        return Container::LangSmith;
    }
    let is_observation = || OBSERVATION_TYPES.contains(&text("type"));
    if (any(TRACE_CAMEL) && is_observation())
        || (any(TRACE_SNAKE) && (any(PROVIDED_MODEL) || is_observation()))
        || (any(OBSERVATIONS) && value.get("observations").is_some_and(|list| list.as_array().is_some()))
    {
        return Container::Langfuse;
    }
    if has(INFO | DATA) && value.get("data").is_some_and(|data| data.get("spans").is_some()) {
        return Container::MlFlow;
    }
    if any(OP_NAME) {
        return Container::Weave;
    }
    if has(REQUEST_BODY | RESPONSE_STATUS) {
        return Container::Helicone;
    }
    if has(CATEGORY | RESOURCE_ID) {
        return Container::Azure;
    }
    let is_session_line = || {
        value.get("message").is_some_and(|message| message.as_object().is_some()) || value.get("parentUuid").is_some()
    };
    if any(LEAF)
        || (has(SESSION_CAMEL) && any(UUID) && is_session_line())
        || (any(SNAPSHOT) && text("type") == "file-history-snapshot")
        || (has(SESSION_CAMEL | TYPE) && is_client_line(value))
    {
        return Container::ClaudeCode;
    }
    let is_codex_line = || {
        let is_empty =
            value.get("payload").is_some_and(|payload| payload.as_object().is_some() && holds_no_call(payload));
        entries.len() > 2 && entries.iter().all(|(key, _)| CODEX_KEYS.contains(&key.as_ref())) && is_empty
    };
    if has(TYPE | PAYLOAD) && (CODEX_TYPES.contains(&text("type")) || is_codex_line())
        || any(CALL_ID | CONTENT | SUMMARY | RECORD_TYPE | INSTRUCTIONS) && is_flat_codex_line(value)
    {
        return Container::Codex;
    }
    let is_session = || value.get("messages").is_some_and(|list| list.as_array().is_some()) || holds_no_call(value);
    if (has(SESSION_CAMEL | PROJECT_HASH) && is_session())
        || (has(TYPE | CONTENT) && text("type") == "gemini" && holds_no_call(value))
    {
        return Container::GeminiCli;
    }
    if has(EVAL | SAMPLES) {
        return Container::Inspect;
    }
    if has(EVAL_ID | RESULTS) || (any(INDICES) && value.get("promptIdx").is_some() && value.get("testIdx").is_some()) {
        return Container::Promptfoo;
    }
    if (any(SPEC) && is_evals(value)) || has(EVENT_ID | SAMPLE_ID) {
        return Container::OpenAiEvals;
    }
    if any(CONTEXT_FLAT) || has(CONTEXT | SPAN_KIND | ATTRIBUTES) {
        return Container::Phoenix;
    }
    let is_span = |context: &Json<'_>| context.get("span_id").is_some();
    if has(CONTEXT | ATTRIBUTES) && value.get("context").is_some_and(is_span) || has(TRACE_CAMEL | ATTRIBUTES) {
        return Container::OtelConsole;
    }
    if has(EVENT | RID) {
        return Container::SgLang;
    }
    if any(CONVERSATIONS) && is_sharegpt(value) {
        return Container::ShareGpt;
    }
    if any(TSTAMP) && value.get("state").is_some() || any(INSTRUCTION) && value.get("output").is_some() {
        return Container::Chat;
    }
    if any(GENERATED_TEXTS) {
        return Container::Vllm;
    }
    if any(OBJECT | DELTA | TYPE) && is_chunk(value, any(DELTA)) {
        return Container::Stream;
    }
    let is_body = any(CANDIDATES | CONTENT | DONE)
        || (any(OBJECT) && text("object") == "response")
        || (any(TYPE) && text("type") == "error");
    if is_body && super::body::is_response_body(value) {
        return Container::Bare;
    }
    Container::Native
}

/// Whether a line of a session is the client's own.
fn is_client_line(value: &Json<'_>) -> bool {
    let kind = value.get("type").and_then(Json::as_str).unwrap_or_default();
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
    (CLIENT_LINES.contains(&kind) || (kind.contains('-') && kind.split('-').all(is_word))) && holds_no_call(value)
}

/// Whether the object has nothing that a record needs: whoever takes it for a line without a call loses none.
fn holds_no_call(value: &Json<'_>) -> bool {
    super::native::is_stranger(value, &Mapping::default())
}

/// Items of a Codex session that call a tool.
const CODEX_CALLS: [&str; 3] = ["function_call", "local_shell_call", "custom_tool_call"];

/// Items of a Codex session that hold what a tool gave.
const CODEX_OUTPUTS: [&str; 2] = ["function_call_output", "custom_tool_call_output"];

/// All that an item of a Codex session has where it stands without a `payload`.
const CODEX_ITEM_KEYS: [&str; 14] = [
    "type",
    "id",
    "timestamp",
    "status",
    "role",
    "content",
    "summary",
    "encrypted_content",
    "call_id",
    "name",
    "arguments",
    "input",
    "action",
    "output",
];

/// Whether the object is a line of a Codex session before lines had a `payload`: items as they are, below a heading.
fn is_flat_codex_line(value: &Json<'_>) -> bool {
    let text = |key: &str| value.get(key).and_then(Json::as_str).unwrap_or_default();
    let entries = value.as_object().unwrap_or_default();
    let has_only = |keys: &[&str]| entries.iter().all(|(key, _)| keys.contains(&key.as_ref()));
    let is_item = match text("type") {
        "message" => {
            let kind = value.pointer("/content/0/type").and_then(Json::as_str);
            value.get("role").is_some() && matches!(kind, Some("input_text" | "output_text"))
        }
        "reasoning" => value.get("summary").is_some_and(|summary| summary.as_array().is_some()),
        "" => {
            return has_only(&["record_type"])
                || (value.get("instructions").is_some() && has_only(&["id", "timestamp", "instructions", "git"]));
        }
        kind if CODEX_CALLS.contains(&kind) => value.get("call_id").is_some() && value.get("output").is_none(),
        kind => CODEX_OUTPUTS.contains(&kind) && value.get("call_id").is_some(),
    };
    is_item && has_only(&CODEX_ITEM_KEYS)
}

/// Whether the object is a trace as query interfaces give it: OTLP under another name.
fn is_span_batches(value: &Json<'_>) -> bool {
    let batches = value.get("batches").and_then(Json::as_array).unwrap_or_default();
    batches.iter().any(|batch| batch.get("scopeSpans").or_else(|| batch.get("instrumentationLibrarySpans")).is_some())
}

fn is_ingest(value: &Json<'_>) -> bool {
    ["post", "patch"].iter().any(|key| {
        let runs = value.get(key).and_then(Json::as_array).unwrap_or_default();
        runs.iter().any(|run| run.get("dotted_order").is_some() || run.get("trace_id").is_some())
    })
}

fn is_evals(value: &Json<'_>) -> bool {
    value.get("final_report").is_some()
        || value.get("spec").is_some_and(|spec| spec.get("run_config").is_some() || spec.get("eval_name").is_some())
}

fn is_sharegpt(value: &Json<'_>) -> bool {
    let list = value.get("conversations").or_else(|| value.get("conversation")).and_then(Json::as_array);
    list.is_some_and(|list| !list.is_empty() && list.iter().all(|turn| turn.as_object().is_some()))
}

fn is_chunk(value: &Json<'_>, has_delta: bool) -> bool {
    let kind = |key: &str| value.get(key).and_then(Json::as_str).unwrap_or_default();
    let is_event = || matches!(kind("type"), "message_start" | "content_block_stop" | "message_stop" | "ping");
    kind("object") == "chat.completion.chunk"
        || ((has_delta || is_event() || kind("type").starts_with("response.")) && Stream::event_of(value).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: Container) {
        assert_eq!(detect(&Json::parse(json.as_bytes()).unwrap()), expected, "{json}");
    }

    #[test]
    fn what_only_resembles_a_container_is_our_own_form() {
        for json in [
            "{}",
            r#"{"prompt":"p","response":"r","type":"llm","context":["a"]}"#,
            r#"{"tool":"t","args":{},"result":{"type":"x"},"trace_id":"t"}"#,
            r#"{"type":"message","prompt":"p"}"#,
            r#"{"messages":[],"type":"GENERATION"}"#,
            r#"{"id":"a","object":"chat.completion","choices":[]}"#,
            r#"{"prompt":"p","info":{},"data":{}}"#,
            r#"{"prompt":"p","candidates":["Bob","Eve"]}"#,
            r#"{"prompt":"p","output":{"a":1},"event":"x"}"#,
            r#"{"schemaType":"other","prompt":"p"}"#,
        ] {
            check(json, Container::Native);
        }
    }

    #[test]
    fn the_particular_comes_before_the_general() {
        check(r#"{"litellm_call_id":"a","messages":[],"response":{}}"#, Container::LiteLlm);
        check(r#"{"traceId":"t","type":"GENERATION","input":[],"output":{}}"#, Container::Langfuse);
        check(r#"{"trace_id":"t","provided_model_name":null,"input":"a"}"#, Container::Langfuse);
        check(r#"{"run_type":"llm","inputs":{},"outputs":{}}"#, Container::LangSmith);
        check(r#"{"custom_id":"c","params":{}}"#, Container::AnthropicBatch);
        check(r#"{"custom_id":"c","result":{"type":"succeeded"}}"#, Container::AnthropicBatch);
        check(r#"{"custom_id":"c","response":null,"error":{}}"#, Container::OpenAiBatch);
        check(r#"{"sessionId":"s","parentUuid":null,"type":"user"}"#, Container::ClaudeCode);
        check(r#"{"sessionId":"s","requestId":"u","message":{}}"#, Container::ClaudeCode);
        check(r#"{"sessionId":"s","type":"queue-operation"}"#, Container::ClaudeCode);
        check(r#"{"sessionId":"s","type":"agent-setting"}"#, Container::ClaudeCode);
        check(r#"{"sessionId":"s","type":"chat"}"#, Container::Native);
        check(r#"{"sessionId":"s","type":"chat-completion","prompt":"p","response":"r"}"#, Container::Native);
        check(r#"{"sessionId":"s","type":"tool-call","tool":"t"}"#, Container::Native);
        check(r#"{"sessionId":"s","type":"summary","response":"r"}"#, Container::Native);
        check(r#"{"sessionId":"s","projectHash":"h","prompt":"p","response":"r"}"#, Container::Native);
        check(r#"{"type":"gemini","prompt":"p","content":"c"}"#, Container::Native);
        check(r#"{"timestamp":"t","type":"llm","payload":{"prompt":"p","response":"r"}}"#, Container::Native);
        check(r#"{"type":"tool_call","call_id":"c","name":"n","input":{},"output":"o"}"#, Container::Native);
        check(r#"{"type":"llm_call","call_id":"c","input":"i","output":"o"}"#, Container::Native);
        check(r#"{"model":"m","messages":[],"message":{"content":"a"},"done":true}"#, Container::Native);
        check(r#"{"model":"m","question":"q","response":"r","done":true}"#, Container::Native);
        check(r#"{"sessionId":"s","requestId":"u","prompt":"p"}"#, Container::Native);
        check(r#"{"sessionId":"s","prompt":"p"}"#, Container::Native);
        check(r#"{"sessionId":"s","projectHash":"h","messages":[]}"#, Container::GeminiCli);
        check(r#"{"id":"1","type":"gemini","content":"a"}"#, Container::GeminiCli);
        check(r#"{"type":"event_msg","payload":{}}"#, Container::Codex);
        check(r#"{"timestamp":"t","type":"world_state","payload":{}}"#, Container::Codex);
        check(r#"{"type":"world_state","payload":{}}"#, Container::Native);
        check(r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}"#, Container::Codex);
        check(r#"{"type":"function_call","name":"shell","arguments":"{}","call_id":"c"}"#, Container::Codex);
        check(r#"{"id":"a","timestamp":"t","instructions":null,"git":{}}"#, Container::Codex);
        check(r#"{"record_type":"state"}"#, Container::Codex);
        check(r#"{"instructions":"i","prompt":"p","call_id":"c","type":"function_call"}"#, Container::Native);
        check(r#"{"context":{"span_id":"1"},"attributes":{}}"#, Container::OtelConsole);
        check(r#"{"context":"c","attributes":{},"prompt":"p"}"#, Container::Native);
        check(r#"{"type":"content_block_delta","index":0,"delta":{}}"#, Container::Stream);
        check(r#"{"object":"chat.completion.chunk","choices":[]}"#, Container::Stream);
        check(
            r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"a"}],"stop_reason":null}"#,
            Container::Bare,
        );
        check(r#"{"candidates":[{"content":{"parts":[]}}]}"#, Container::Bare);
        check(r#"{"model":"m","message":{"role":"assistant","content":"a"},"done":true}"#, Container::Bare);
        check(r#"{"model":"m","prompt":"p","response":"r","done":true}"#, Container::Native);
    }
}
