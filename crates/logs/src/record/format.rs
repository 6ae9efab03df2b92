//! What a record was written by: the container that frames a call, and the dialect of the bodies in it.
//!
//! The two are orthogonal: a Chat Completions body is read the same way whether it stands alone, in a pair of request
//! and response, or in the span of a tracer. A [`Format`] names both (`langfuse+gemini`), for reports and `inspect`.

use std::fmt;

/// How one call is framed: where its ids, times and session stand. The name is that of what wrote the log.
///
/// Writers name their own containers, each in its file (`writers`); those here are known to everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Container(&'static str);

impl Container {
    /// Our own names, and the common ones beside them, at the top level of an object.
    pub const NATIVE: Container = Container("native");
    /// A request body and a response body side by side.
    pub const PAIR: Container = Container("pair");
    /// Records of the normal form, as `llmverify convert` writes them.
    pub const NORMAL: Container = Container("normal");
    /// A response body alone.
    pub const BARE: Container = Container("bare");
    /// A list of messages alone.
    pub const CHAT: Container = Container("chat");

    /// The container of a writer.
    pub const fn named(name: &'static str) -> Container {
        Container(name)
    }

    /// The name in reports, and for `--format-in`.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl Default for Container {
    fn default() -> Container {
        Container::NATIVE
    }
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
    /// The bodies of vendors and servers that have a spelling of their own.
    Vendor,
    /// Ollama chat and generate.
    Ollama,
    /// Cohere chat.
    Cohere,
    /// llama.cpp completion.
    LlamaCpp,
    /// Text Generation Inference.
    Tgi,
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
    /// Attributes of the Langfuse SDKs from version 3 on.
    Langfuse,
    /// Attributes of Logfire's integrations.
    Logfire,
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
            Dialect::Vendor => "vendor",
            Dialect::Ollama => "ollama",
            Dialect::Cohere => "cohere",
            Dialect::LlamaCpp => "llama_cpp",
            Dialect::Tgi => "tgi",
            Dialect::GenAi => "genai",
            Dialect::GenAi136 => "genai_1_36",
            Dialect::OpenInference => "openinference",
            Dialect::TraceloopFlat => "traceloop_flat",
            Dialect::Traceloop => "traceloop",
            Dialect::Vercel => "vercel",
            Dialect::Langfuse => "langfuse",
            Dialect::Logfire => "logfire",
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
    /// All of them.
    pub const ALL: [LatencySource; 3] = [LatencySource::Reported, LatencySource::Assumed, LatencySource::StartAndEnd];

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
    /// The log has no text of prompt or response: engines of text have nothing to go on.
    HealthOnly,
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
    /// A field was found one level down, below a key that may be about anything.
    Guessed,
    /// The record is a literal of Python and no JSON.
    PythonLiteral,
    /// A latency without a unit stands beside numbers of nanoseconds or microseconds.
    UnitDoubtful,
}

impl Note {
    /// All notes.
    pub const ALL: [Note; 15] = [
        Note::DoubleEncoded,
        Note::Redacted,
        Note::ContentElsewhere,
        Note::MediaLeftOut,
        Note::CoarseLatency,
        Note::HealthOnly,
        Note::FurtherAnswers,
        Note::Wrapped,
        Note::TableRow,
        Note::ShortRow,
        Note::HalfMissing,
        Note::Unanswered,
        Note::Guessed,
        Note::PythonLiteral,
        Note::UnitDoubtful,
    ];

    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Note::DoubleEncoded => "double_encoded",
            Note::Redacted => "redacted",
            Note::ContentElsewhere => "content_elsewhere",
            Note::MediaLeftOut => "media_left_out",
            Note::CoarseLatency => "coarse_latency",
            Note::HealthOnly => "health_only",
            Note::FurtherAnswers => "further_answers",
            Note::Wrapped => "wrapped",
            Note::TableRow => "table_row",
            Note::ShortRow => "short_row",
            Note::HalfMissing => "half_missing",
            Note::Unanswered => "unanswered",
            Note::Guessed => "guessed",
            Note::PythonLiteral => "python_literal",
            Note::UnitDoubtful => "unit_doubtful",
        }
    }
}

/// A set of [`Note`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notes(u32);

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
    fn a_format_names_both_parts() {
        let check = |container, dialect, expected: &str| {
            assert_eq!(Format { container, dialect }.to_string(), expected);
        };
        check(Container::NATIVE, None, "native");
        check(Container::named("langfuse"), Some(Dialect::Gemini), "langfuse+gemini");
        check(Container::BARE, Some(Dialect::Anthropic), "bare+anthropic");
    }

    #[test]
    fn a_set_holds_what_was_added() {
        let mut notes = Notes::default();
        assert_eq!(notes.iter().count(), 0);
        notes.add(Note::HealthOnly);
        notes.add(Note::DoubleEncoded);
        assert_eq!(notes.iter().collect::<Vec<_>>(), [Note::DoubleEncoded, Note::HealthOnly]);
        assert!(!notes.has(Note::Redacted));
    }
}
