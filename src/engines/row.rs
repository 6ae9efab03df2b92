//! What the ordered stage may know of a record: numbers and hashes, no text.

use super::Signal;

/// Top-level fields of a tool's result that a row carries; further ones are not compared with history.
pub const FIELDS_MAX: usize = 64;

/// Structure of a text in four numbers (seed 001), in the units of [`crate::text::Features`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fingerprint {
    /// Words, separated by white space.
    pub tokens: f64,
    /// Sentences, at least 1.
    pub sentences: f64,
    /// `tokens / sentences`.
    pub average_sentence_length: f64,
    /// Shannon entropy of the code points, in bits.
    pub entropy_bits: f64,
}

/// Rolling averages of one stream, as they were before the row at hand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Baseline {
    /// Samples learnt so far.
    pub samples: u64,
    /// Whether enough samples were learnt to compare with.
    pub stable: bool,
    /// Average latency in milliseconds.
    pub latency_ms: Option<f64>,
    /// Average tokens per second.
    pub tokens_per_second: Option<f64>,
    /// Average fingerprint of responses.
    pub fingerprint: Option<Fingerprint>,
    /// Average of the second, stylistic vector (seed 000).
    pub style: Option<[f64; 4]>,
    /// What calls usually take, once enough were seen.
    pub usual: Option<Usual>,
    /// What a token of the answer usually takes, once enough were seen.
    pub usual_per_token: Option<Usual>,
}

/// What calls of a stream usually take, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usual {
    /// Half of them take longer.
    pub median_ms: f64,
    /// One in twenty takes longer.
    pub tail_ms: f64,
}

/// Times the median from which a call is slow.
pub const SLOW_TIMES: f64 = 10.0;
/// Times the 95th percentile from which a call is slow: many streams have long tails.
pub const SLOW_TAIL_TIMES: f64 = 3.0;
/// Times the median from which a call is slow for the tokens that it gave.
pub const SLOW_TOKEN_TIMES: f64 = 3.0;

impl Row {
    /// Whether the call took far longer than usual: [`SLOW_TIMES`] the median and [`SLOW_TAIL_TIMES`] the 95th percentile,
    /// and, where tokens are known, [`SLOW_TOKEN_TIMES`] the median of a token; with how many times the median it took.
    pub fn slowness(&self, baseline: &Baseline) -> Option<f64> {
        let (ms, usual) = (self.latency_ms?, baseline.usual?);
        let per_token = self.ms_per_token().zip(baseline.usual_per_token);
        let is_slow = ms >= SLOW_TIMES * usual.median_ms
            && ms >= SLOW_TAIL_TIMES * usual.tail_ms
            && per_token.is_none_or(|(ms, usual)| ms >= SLOW_TOKEN_TIMES * usual.median_ms);
        is_slow.then(|| ms / usual.median_ms)
    }

    /// What a token of the answer took.
    pub fn ms_per_token(&self) -> Option<f64> {
        let (ms, tokens) = (self.latency_ms?, self.response_tokens?);
        (tokens > 0.0).then(|| ms / tokens)
    }
}

/// One record, reduced to what history needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Whether the record is a tool call (else an LLM call or feedback).
    pub is_tool: bool,
    /// Hash of the stream's key (model or tool, or the `--group-by` field).
    pub stream: u64,
    /// Hash of the bare name of the model or tool, when it is not the stream's own: feedback is about it, however
    /// streams are grouped.
    pub subject: Option<u64>,
    /// Hash of the session id, if there is one.
    pub session: Option<u64>,
    /// Whether the session is guessed from how the conversation begins; others may begin alike.
    pub session_is_guessed: bool,
    /// When, in milliseconds since the epoch.
    pub timestamp_ms: Option<i64>,
    /// Latency of the call or execution time of the tool, in milliseconds.
    pub latency_ms: Option<f64>,
    /// Whether this latency is a whole number of milliseconds.
    pub latency_is_whole: bool,
    /// What `latency_anomaly` is, score and ratio, once the stream is known to have a clock finer than a millisecond.
    /// `None` when that makes no difference.
    pub latency_if_fine: Option<(f64, f64)>,
    /// What `latency_anomaly` is, score and ratio, once the tool's own past shows that it takes time. `None` when that
    /// makes no difference.
    pub latency_if_slow: Option<(f64, f64)>,
    /// Tokens in the response, as reported (or estimated, when that was asked for).
    pub response_tokens: Option<f64>,
    /// Whether the tokens are an estimate.
    pub tokens_are_estimated: bool,
    /// Fingerprint of the response, when there is one.
    pub fingerprint: Option<Fingerprint>,
    /// Stylistic vector of the response (seed 000), when there is one.
    pub style: Option<[f64; 4]>,
    /// What the compression engine needs besides the entropy, when there are a prompt and a response.
    pub compression_base: Option<super::language::compression::Base>,
    /// Hash of the canonical arguments of a tool call.
    pub args: Option<u64>,
    /// Hash of a tool's result.
    pub result: Option<u64>,
    /// Flows of the configuration that the tool begins, as bits.
    pub flows_begun: u64,
    /// Flows of the configuration that the tool ends, as bits.
    pub flows_ended: u64,
    /// Bytes of the tool's name.
    pub tool_bytes: usize,
    /// JSON-serialised length of a tool's result, in code points.
    pub result_length: Option<f64>,
    /// Top-level numeric fields of a tool's result: hash of the name, value, position among the result's fields; at
    /// most [`FIELDS_MAX`].
    pub fields: Vec<Field>,
    /// Hashes of the names of the top-level fields of a tool's result, in their order; at most one more than
    /// [`FIELDS_MAX`], which says that there are too many to compare.
    pub field_names: Vec<u64>,
    /// What the user said in this record, turn by turn, as the injection engine sees it; at most
    /// [`TURNS_MAX`](crate::engines::security::injection::TURNS_MAX), the last. Empty when there is nothing to go on.
    pub turns: Vec<Turn>,
    /// The names of the model, when the log has both the one that was asked for and the one that answered.
    pub models: Option<ModelNames>,
    /// Tier-0 signals that were computed from the record alone.
    pub tier0: Vec<Signal>,
    /// Whether the call failed: the log has an error, or the tool answered with an explicit one.
    pub is_error: bool,
    /// A person's label, when the record is feedback.
    pub feedback: Option<crate::record::Feedback>,
}

/// The names of a model as hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelNames {
    /// The one that was asked for.
    pub declared: u64,
    /// The one that answered.
    pub served: u64,
    /// Bytes of the name that answered.
    pub served_bytes: usize,
}

/// One thing that a user said, as an attack: numbers and bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Turn {
    /// Points of the injection engine.
    pub points: f64,
    /// The categories that it shows, as bits.
    pub categories: u32,
    /// Whether the model refused.
    pub is_refused: bool,
}

/// One numeric field of a tool result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// Hash of the field's name.
    pub name: u64,
    /// Its value.
    pub value: f64,
    /// Its position among the result's top-level fields.
    pub index: u32,
}
