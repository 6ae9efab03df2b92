//! Writers of logs, one file each: how their values are told, how they are read, and how parts are put together.
//!
//! Ids, times and session stand in the frame that a writer makes; what was asked and answered is left to
//! [`body`](crate::record::body). A writer is told from the top-level keys of a value: its marks are seen in one look at
//! the keys, and only when one of them is there `matches` looks closer. The list is in order, the first that matches
//! wins: many containers also look like a pair, so the particular come before the general. Every value is looked at by
//! itself; a log may mix writers.
//!
//! Our own names, and the common ones beside them, are [`native`]: what no writer claims is read by them. [`normal`] is the
//! form that all records have in the end, written and read back.
//!
//! **Limits**: a key of a writer in a record of somebody else can mislead; `--format-in` overrides.

mod adk;
mod agentguard;
mod agents;
mod answers;
mod attributes;
mod autogen;
mod azure;
mod batches;
mod bedrock_log;
mod chat;
mod claude_code;
mod clients;
mod codex;
mod coding;
mod conversation;
mod datadog;
mod deepeval;
mod evals;
mod exports;
mod gemini_cli;
mod har;
mod haystack;
mod helicone;
mod helm;
mod inspect;
mod jaeger;
mod kong;
mod langfuse;
mod langsmith;
mod lines;
mod litellm;
mod lm_eval;
mod log_event;
mod mcp;
mod mlflow;
pub mod native;
mod newrelic;
pub mod normal;
mod otel_console;
mod otlp;
mod phoenix;
mod promptfoo;
mod servers;
mod session;
mod span;
mod span_rows;
mod steps;
mod streams;
mod texts;
mod transcript;
mod weave;

use std::sync::LazyLock;

use crate::{
    assemble::{Joiner, Limits},
    record::{Container, Fragment, call::Entries, json::Json},
};

pub(crate) use streams::{STREAM_END, fragment as stream_fragment};
pub(crate) use texts::read as read_text;

/// A writer of logs.
pub struct Writer {
    /// Its name in reports, and for `--format-in`.
    pub container: Container,
    /// What it writes, as a noun.
    pub about: &'static str,
    /// What its values are told by, for the documentation.
    pub told_by: &'static str,
    /// Top-level keys of which its values have at least one.
    marks: &'static [&'static str],
    /// Whether a value that has one of the marks is one of its own.
    matches: fn(&Json<'_>) -> bool,
    /// Reads a value.
    read: for<'a> fn(Json<'a>, &mut Entries<'a>),
    /// Makes what puts its fragments together.
    joiner: Option<NewJoiner>,
}

/// Makes a joiner.
type NewJoiner = fn(&Limits) -> Box<dyn Joiner>;

/// All writers, in the order in which values are told.
pub static WRITERS: &[&Writer] = &[
    &normal::WRITER,
    &otlp::WRITER,
    &bedrock_log::WRITER,
    &mcp::MCP,
    &batches::ANTHROPIC,
    &batches::OPENAI,
    &litellm::WRITER,
    &langsmith::WRITER,
    &langfuse::WRITER,
    &mlflow::WRITER,
    &weave::WRITER,
    &helicone::WRITER,
    &azure::WRITER,
    &coding::WRITER,
    &claude_code::WRITER,
    &codex::WRITER,
    &gemini_cli::WRITER,
    &inspect::WRITER,
    &promptfoo::WRITER,
    &evals::WRITER,
    &helm::WRITER,
    &lm_eval::WRITER,
    &deepeval::WRITER,
    &har::WRITER,
    &kong::WRITER,
    &haystack::WRITER,
    &agentguard::WRITER,
    &datadog::WRITER,
    &newrelic::WRITER,
    &jaeger::JAEGER,
    &jaeger::ZIPKIN,
    &phoenix::WRITER,
    &otel_console::WRITER,
    &span_rows::WRITER,
    &steps::WRITER,
    &servers::SGLANG,
    &exports::WRITER,
    &adk::WRITER,
    &agents::WRITER,
    &autogen::WRITER,
    &answers::WRITER,
    &lines::SHAREGPT,
    &chat::WRITER,
    &servers::VLLM,
    &streams::WRITER,
    &lines::BARE,
    &mcp::DESKTOP,
    &native::PAIR,
    &native::WRITER,
];

/// Marks tell writers as the bits of a number.
const _: () = assert!(WRITERS.len() <= u64::BITS as usize);

impl Writer {
    /// The writer of this name.
    ///
    /// # Errors
    /// When there is none; the message lists those that there are.
    pub fn named(name: &str) -> Result<&'static Writer, String> {
        let found = WRITERS.iter().copied().find(|writer| writer.container.as_str() == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = WRITERS.iter().map(|writer| writer.container.as_str()).collect();
            format!("`{name}` is no format; the formats are {}", known.join(", "))
        })
    }

    /// The writer of a value, told from its top-level keys; `None` when nobody claims it.
    pub(crate) fn of(value: &Json<'_>) -> Option<&'static Writer> {
        let mut candidates = 0_u64;
        for (key, _) in value.as_object().unwrap_or_default() {
            candidates |= MARKS.of(key);
        }
        while candidates != 0 {
            let writer = WRITERS[candidates.trailing_zeros() as usize];
            if (writer.matches)(value) {
                return Some(writer);
            }
            candidates &= candidates - 1;
        }
        None
    }

    /// Reads a value.
    pub(crate) fn read<'a>(&self, value: Json<'a>, entries: &mut Entries<'a>) {
        (self.read)(value, entries);
    }
}

/// Whether a value is one message of a chat, which is a unit only where it stands by itself.
pub(crate) fn is_chat_line(value: &Json<'_>) -> bool {
    Writer::of(value).is_some_and(|writer| writer.container == chat::WRITER.container) && chat::is_line(value)
}

/// A message in the MCP log of a desktop client.
pub(crate) fn mcp_fragment(value: Json<'_>) -> Fragment<'_> {
    mcp::fragment(mcp::DESKTOP_LOG, value)
}

/// What puts the fragments of all writers together.
pub(crate) fn joiners(limits: &Limits) -> Vec<(Container, Box<dyn Joiner>)> {
    WRITERS.iter().filter_map(|writer| Some((writer.container, (writer.joiner?)(limits)))).collect()
}

static MARKS: LazyLock<Marks> = LazyLock::new(Marks::of_writers);

/// The longest mark.
const MAX_MARK_BYTES: usize = 32;

/// The marks of all writers, by key.
struct Marks {
    /// By the length of a key, what the ends of marks of this length are: most keys of our own form are done with one
    /// look.
    ends: [u64; MAX_MARK_BYTES + 1],
    /// Marks and their writers as bits, sorted.
    marks: Vec<(&'static str, u64)>,
}

impl Marks {
    fn of_writers() -> Marks {
        let mut marks: Vec<(&'static str, u64)> = Vec::new();
        let mut ends = [0; MAX_MARK_BYTES + 1];
        for (index, writer) in WRITERS.iter().enumerate() {
            for mark in writer.marks {
                ends[mark.len()] |= ends_of(mark.as_bytes());
                match marks.iter_mut().find(|(known, _)| known == mark) {
                    Some((_, writers)) => *writers |= 1 << index,
                    None => marks.push((mark, 1 << index)),
                }
            }
        }
        marks.sort_unstable();
        Marks { ends, marks }
    }

    /// The writers of which a key is a mark.
    fn of(&self, key: &str) -> u64 {
        let mut key = key;
        if key.len() > MAX_MARK_BYTES {
            // Parts of a form are called by what they are, and by an id.
            key = key.split_once('.').map_or("", |(mark, _)| mark);
        }
        let bytes = key.as_bytes();
        if bytes.is_empty() || bytes.len() > MAX_MARK_BYTES || self.ends[bytes.len()] & ends_of(bytes) == 0 {
            return 0;
        }
        self.marks.binary_search_by(|(mark, _)| (*mark).cmp(key)).map_or(0, |at| self.marks[at].1)
    }
}

/// First and last byte of a key, which is not empty, as one of 64 bits.
fn ends_of(key: &[u8]) -> u64 {
    1 << ((u32::from(key[0]) * 5 + u32::from(key[key.len() - 1]) * 3) & 63)
}

/// The string of a key, as `matches` compares it.
fn text<'v>(value: &'v Json<'_>, key: &str) -> &'v str {
    value.get(key).and_then(Json::as_str).unwrap_or_default()
}

/// Whether an object has all of these keys.
fn has_all(value: &Json<'_>, keys: &[&str]) -> bool {
    keys.iter().all(|key| value.get(key).is_some())
}

/// Whether an object has one of these keys.
fn has_any(value: &Json<'_>, keys: &[&str]) -> bool {
    keys.iter().any(|key| value.get(key).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_fits_and_every_name_is_one() {
        let mut names: Vec<&str> = WRITERS.iter().map(|writer| writer.container.as_str()).collect();
        for writer in WRITERS {
            assert!(writer.marks.iter().all(|mark| (1..=MAX_MARK_BYTES).contains(&mark.len())), "{:?}", writer.marks);
            assert_eq!(Writer::named(writer.container.as_str()).map(|named| named.container), Ok(writer.container));
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), WRITERS.len());
    }

    fn check(json: &str, expected: &str) {
        let value = Json::parse(json.as_bytes()).unwrap();
        let writer = Writer::of(&value).map_or("native", |writer| writer.container.as_str());
        assert_eq!(writer, expected, "{json}");
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
            check(json, "native");
        }
    }

    #[test]
    fn the_particular_comes_before_the_general() {
        check(r#"{"litellm_call_id":"a","messages":[],"response":{}}"#, "litellm");
        check(r#"{"traceId":"t","type":"GENERATION","input":[],"output":{}}"#, "langfuse");
        check(r#"{"trace_id":"t","provided_model_name":null,"input":"a"}"#, "langfuse");
        check(r#"{"run_type":"llm","inputs":{},"outputs":{}}"#, "langsmith");
        check(r#"{"custom_id":"c","params":{}}"#, "anthropic_batch");
        check(r#"{"custom_id":"c","result":{"type":"succeeded"}}"#, "anthropic_batch");
        check(r#"{"custom_id":"c","response":null,"error":{}}"#, "openai_batch");
        check(r#"{"sessionId":"s","parentUuid":null,"type":"user"}"#, "claude_code");
        check(r#"{"sessionId":"s","requestId":"u","message":{}}"#, "claude_code");
        check(r#"{"sessionId":"s","type":"queue-operation"}"#, "claude_code");
        check(r#"{"sessionId":"s","type":"agent-setting"}"#, "claude_code");
        check(r#"{"sessionId":"s","type":"chat"}"#, "native");
        check(r#"{"sessionId":"s","type":"chat-completion","prompt":"p","response":"r"}"#, "native");
        check(r#"{"sessionId":"s","type":"tool-call","tool":"t"}"#, "native");
        check(r#"{"sessionId":"s","type":"summary","response":"r"}"#, "native");
        check(r#"{"sessionId":"s","projectHash":"h","prompt":"p","response":"r"}"#, "native");
        check(r#"{"type":"gemini","prompt":"p","content":"c"}"#, "native");
        check(r#"{"timestamp":"t","type":"llm","payload":{"prompt":"p","response":"r"}}"#, "native");
        check(r#"{"type":"tool_call","call_id":"c","name":"n","input":{},"output":"o"}"#, "native");
        check(r#"{"type":"llm_call","call_id":"c","input":"i","output":"o"}"#, "native");
        check(r#"{"model":"m","messages":[],"message":{"content":"a"},"done":true}"#, "native");
        check(r#"{"model":"m","question":"q","response":"r","done":true}"#, "native");
        check(r#"{"sessionId":"s","requestId":"u","prompt":"p"}"#, "native");
        check(r#"{"sessionId":"s","prompt":"p"}"#, "native");
        check(r#"{"sessionId":"s","projectHash":"h","messages":[]}"#, "gemini_cli");
        check(r#"{"id":"1","type":"gemini","content":"a"}"#, "gemini_cli");
        check(r#"{"type":"event_msg","payload":{}}"#, "codex");
        check(r#"{"timestamp":"t","type":"world_state","payload":{}}"#, "codex");
        check(r#"{"type":"world_state","payload":{}}"#, "native");
        check(r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}"#, "codex");
        check(r#"{"type":"function_call","name":"shell","arguments":"{}","call_id":"c"}"#, "codex");
        check(r#"{"id":"a","timestamp":"t","instructions":null,"git":{}}"#, "codex");
        check(r#"{"record_type":"state"}"#, "codex");
        check(r#"{"instructions":"i","prompt":"p","call_id":"c","type":"function_call"}"#, "native");
        check(r#"{"context":{"span_id":"1"},"attributes":{}}"#, "otel_console");
        check(r#"{"context":"c","attributes":{},"prompt":"p"}"#, "native");
        check(r#"{"type":"content_block_delta","index":0,"delta":{}}"#, "stream");
        check(r#"{"object":"chat.completion.chunk","choices":[]}"#, "stream");
        check(
            r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"a"}],"stop_reason":null}"#,
            "bare",
        );
        check(r#"{"candidates":[{"content":{"parts":[]}}]}"#, "stream");
        check(r#"{"model":"m","message":{"role":"assistant","content":"a"},"done":true}"#, "stream");
        check(r#"{"model":"m","prompt":"p","response":"r","done":true}"#, "native");
    }
}
