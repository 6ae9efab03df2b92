//! What a record was written by: the container that frames a call, and the dialect of the bodies in it.
//!
//! The two are orthogonal: a Chat Completions body is read the same way whether it stands alone, in a pair of request
//! and response, or in the span of a tracer. A [`Format`] names both (`langfuse+gemini`), for reports and `inspect`.

use std::fmt;

/// How one call is framed: where its ids, times and session stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Container {
    /// Our own names, and the common ones beside them, at the top level of an object.
    #[default]
    Native,
    /// A request body and a response body side by side.
    Pair,
    /// A response body alone.
    Bare,
    /// A list of messages alone.
    Chat,
    /// ShareGPT: `conversations` of `from` and `value`.
    ShareGpt,
    /// A line of an OpenAI batch file.
    OpenAiBatch,
    /// A line of an Anthropic batch file.
    AnthropicBatch,
    /// OpenTelemetry, as OTLP/JSON: spans, logs, metrics.
    Otlp,
    /// OpenTelemetry, as the console exporters write it.
    OtelConsole,
    /// LiteLLM's standard logging payload.
    LiteLlm,
    /// Langfuse: observations, blob export, trace download.
    Langfuse,
    /// LangSmith: runs, ingestion batches.
    LangSmith,
    /// The model invocation log of AWS Bedrock.
    BedrockLog,
    /// MCP messages (JSON-RPC), one a line.
    Mcp,
    /// The MCP log of a desktop client.
    McpDesktop,
    /// A Claude Code session.
    ClaudeCode,
    /// A Codex session.
    Codex,
    /// A session of Gemini CLI.
    GeminiCli,
    /// MLflow traces.
    MlFlow,
    /// Weave calls.
    Weave,
    /// Phoenix spans.
    Phoenix,
    /// promptfoo results.
    Promptfoo,
    /// Inspect AI logs.
    Inspect,
    /// Helicone exports.
    Helicone,
    /// Azure diagnostics and API Management logs.
    Azure,
    /// OpenAI evals event logs.
    OpenAiEvals,
    /// Results of `vllm bench serve`, or lines of vLLM's request log.
    Vllm,
    /// Request logs of SGLang.
    SgLang,
    /// Pieces of a streamed answer, one a line.
    Stream,
}

/// How a body spells messages, tool calls and token counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// OpenAI Chat Completions.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini generateContent.
    Gemini,
    /// Bedrock Converse.
    BedrockConverse,
    /// The bodies of Bedrock's other vendors (Titan, Llama, Cohere, Mistral).
    BedrockVendor,
    /// Ollama chat and generate.
    Ollama,
    /// OpenTelemetry GenAI conventions from 1.37 on.
    GenAi,
    /// OpenTelemetry GenAI conventions up to 1.36.
    GenAi136,
    /// OpenInference attributes.
    OpenInference,
    /// Traceloop attributes up to 0.5x, one key per message.
    TraceloopFlat,
    /// Traceloop attributes from 0.6x on.
    Traceloop,
    /// Attributes of the Vercel AI SDK.
    Vercel,
    /// LangChain's serialised messages.
    LangChain,
}

/// What a record was written by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Format {
    /// How the call is framed.
    pub container: Container,
    /// How its bodies are spelled, where they have a spelling of their own.
    pub dialect: Option<Dialect>,
}

impl Container {
    /// All containers, in the order of the documentation.
    pub const ALL: [Container; 29] = [
        Container::Native,
        Container::Pair,
        Container::Bare,
        Container::Chat,
        Container::ShareGpt,
        Container::OpenAiBatch,
        Container::AnthropicBatch,
        Container::Otlp,
        Container::OtelConsole,
        Container::LiteLlm,
        Container::Langfuse,
        Container::LangSmith,
        Container::BedrockLog,
        Container::Mcp,
        Container::McpDesktop,
        Container::ClaudeCode,
        Container::Codex,
        Container::GeminiCli,
        Container::MlFlow,
        Container::Weave,
        Container::Phoenix,
        Container::Promptfoo,
        Container::Inspect,
        Container::Helicone,
        Container::Azure,
        Container::OpenAiEvals,
        Container::Vllm,
        Container::SgLang,
        Container::Stream,
    ];

    /// The name in reports, and for `--format-in`.
    pub fn as_str(self) -> &'static str {
        match self {
            Container::Native => "native",
            Container::Pair => "pair",
            Container::Bare => "bare",
            Container::Chat => "chat",
            Container::ShareGpt => "sharegpt",
            Container::OpenAiBatch => "openai_batch",
            Container::AnthropicBatch => "anthropic_batch",
            Container::Otlp => "otlp",
            Container::OtelConsole => "otel_console",
            Container::LiteLlm => "litellm",
            Container::Langfuse => "langfuse",
            Container::LangSmith => "langsmith",
            Container::BedrockLog => "bedrock_log",
            Container::Mcp => "mcp",
            Container::McpDesktop => "mcp_desktop",
            Container::ClaudeCode => "claude_code",
            Container::Codex => "codex",
            Container::GeminiCli => "gemini_cli",
            Container::MlFlow => "mlflow",
            Container::Weave => "weave",
            Container::Phoenix => "phoenix",
            Container::Promptfoo => "promptfoo",
            Container::Inspect => "inspect",
            Container::Helicone => "helicone",
            Container::Azure => "azure",
            Container::OpenAiEvals => "openai_evals",
            Container::Vllm => "vllm",
            Container::SgLang => "sglang",
            Container::Stream => "stream",
        }
    }

    /// The container of this name.
    ///
    /// # Errors
    /// When there is none; the message lists those that there are.
    pub fn parse(name: &str) -> Result<Container, String> {
        let found = Container::ALL.into_iter().find(|container| container.as_str() == name);
        found.ok_or_else(|| {
            let known = Container::ALL.map(Container::as_str).join(", ");
            format!("`{name}` is no format; the formats are {known}")
        })
    }
}

impl Dialect {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Dialect::OpenAiChat => "openai_chat",
            Dialect::OpenAiResponses => "openai_responses",
            Dialect::Anthropic => "anthropic",
            Dialect::Gemini => "gemini",
            Dialect::BedrockConverse => "bedrock_converse",
            Dialect::BedrockVendor => "bedrock_vendor",
            Dialect::Ollama => "ollama",
            Dialect::GenAi => "genai",
            Dialect::GenAi136 => "genai_1_36",
            Dialect::OpenInference => "openinference",
            Dialect::TraceloopFlat => "traceloop_flat",
            Dialect::Traceloop => "traceloop",
            Dialect::Vercel => "vercel",
            Dialect::LangChain => "langchain",
        }
    }
}

impl Format {
    /// A container whose bodies have no spelling of their own.
    pub const fn of(container: Container) -> Format {
        Format { container, dialect: None }
    }

    /// The names of container and dialect; the second is empty where there is none.
    pub fn names(self) -> (&'static str, &'static str) {
        (self.container.as_str(), self.dialect.map_or("", Dialect::as_str))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.names() {
            (container, "") => out.write_str(container),
            (container, dialect) => write!(out, "{container}+{dialect}"),
        }
    }
}

/// Where a latency comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LatencySource {
    /// A number in the log.
    Reported,
    /// A number in the log that says nothing of its unit, and is taken for milliseconds.
    Assumed,
    /// End minus beginning.
    StartAndEnd,
}

impl LatencySource {
    /// The name in `inspect`.
    pub fn as_str(self) -> &'static str {
        match self {
            LatencySource::Reported => "reported",
            LatencySource::Assumed => "reported, unit assumed",
            LatencySource::StartAndEnd => "end minus start",
        }
    }
}

/// Something about a record that its reader should know, and that keeps no field from being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Note {
    /// The record is JSON inside of a JSON string.
    DoubleEncoded,
    /// A text was replaced by a placeholder before it was logged; it is read as absent.
    Redacted,
    /// Texts stand in a file beside the log.
    ContentElsewhere,
    /// Parts of messages that are no text (images, audio, files) are left out.
    MediaLeftOut,
    /// The log has whole seconds only; a latency made of them is coarse.
    CoarseLatency,
    /// The log has no text of prompt or response.
    NoText,
    /// Of several answers only the first is read.
    FurtherAnswers,
    /// The record stood below a key of something else: an export, a log service.
    Wrapped,
    /// The record is a row of a table.
    TableRow,
    /// A row of a table has fewer cells than its header has names.
    ShortRow,
    /// The other half of the call is not in the log: the request of a batch, the answer to it, the span of events.
    HalfMissing,
    /// What was said last in a session, without an answer in the log: a turn that was interrupted.
    Unanswered,
}

impl Note {
    /// All notes.
    pub const ALL: [Note; 12] = [
        Note::DoubleEncoded,
        Note::Redacted,
        Note::ContentElsewhere,
        Note::MediaLeftOut,
        Note::CoarseLatency,
        Note::NoText,
        Note::FurtherAnswers,
        Note::Wrapped,
        Note::TableRow,
        Note::ShortRow,
        Note::HalfMissing,
        Note::Unanswered,
    ];

    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Note::DoubleEncoded => "double_encoded",
            Note::Redacted => "redacted",
            Note::ContentElsewhere => "content_elsewhere",
            Note::MediaLeftOut => "media_left_out",
            Note::CoarseLatency => "coarse_latency",
            Note::NoText => "no_text",
            Note::FurtherAnswers => "further_answers",
            Note::Wrapped => "wrapped",
            Note::TableRow => "table_row",
            Note::ShortRow => "short_row",
            Note::HalfMissing => "half_missing",
            Note::Unanswered => "unanswered",
        }
    }
}

/// A set of [`Note`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notes(u16);

impl Notes {
    /// Adds a note.
    pub fn add(&mut self, note: Note) {
        self.0 |= 1 << note as u8;
    }

    /// Takes a note out.
    pub fn remove(&mut self, note: Note) {
        self.0 &= !(1 << note as u8);
    }

    /// Adds the notes of another set.
    pub fn merge(&mut self, other: Notes) {
        self.0 |= other.0;
    }

    /// Whether the note is in the set.
    pub fn has(self, note: Note) -> bool {
        self.0 & (1 << note as u8) != 0
    }

    /// The notes, in the order of [`Note::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Note> {
        Note::ALL.into_iter().filter(move |note| self.has(*note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_to_one() {
        for (index, container) in Container::ALL.into_iter().enumerate() {
            assert_eq!(container as usize, index);
            assert_eq!(Container::parse(container.as_str()), Ok(container));
        }
        assert!(
            Container::parse("syslog").unwrap_err().starts_with("`syslog` is no format; the formats are native, pair,")
        );
    }

    #[test]
    fn a_format_names_both_parts() {
        let check = |container, dialect, expected: &str| {
            assert_eq!(Format { container, dialect }.to_string(), expected);
        };
        check(Container::Native, None, "native");
        check(Container::Langfuse, Some(Dialect::Gemini), "langfuse+gemini");
        check(Container::Bare, Some(Dialect::Anthropic), "bare+anthropic");
    }

    #[test]
    fn a_set_holds_what_was_added() {
        let mut notes = Notes::default();
        assert_eq!(notes.iter().count(), 0);
        notes.add(Note::NoText);
        notes.add(Note::DoubleEncoded);
        assert_eq!(notes.iter().collect::<Vec<_>>(), [Note::DoubleEncoded, Note::NoText]);
        assert!(!notes.has(Note::Redacted));
    }
}
