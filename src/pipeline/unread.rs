//! Which leaves of a unit went into no record, and what would read them.
//!
//! No reader tells what it took; it is looked up. A text is read when it is one of the texts of a record, is part of one,
//! or holds at least one of them (a prompt of which documents were cut out); a number is read when a record has it in
//! some unit; what stands below a value that a record has as a whole is read with it.
//!
//! A field that records lack is proposed for a leaf whose key is called like it, in words ([`GUESSES`]), a text also by the
//! keys above it; text that reads like prose is also proposed for the one of prompt and answer that is missing.
//!
//! **Limits**: units of up to [`UNIT_BYTES_MAX`] bytes, the first [`UNITS_FIRST`] and then every [`UNITS_EVERY`]th, so that
//! it costs an audit next to nothing. Units with parts of records, and those that hold no call, are not looked at: what a
//! writer leaves out of its own frames is left out on purpose.

use crate::{
    reader::Parsed,
    record::{
        Content, Entry, Kind, Message, Prompt, Record, Rejected, ToolCall,
        json::Json,
        values::{Unit, moment_ms},
    },
    report::unread::UnreadLeaf,
    writers::native::NO_CALL,
};

use super::{
    drive::UnitOf,
    places::{Step, pointer, walk},
};

/// Units at the beginning of the input that are looked at.
const UNITS_FIRST: u64 = 200;
/// After these, one of so many.
const UNITS_EVERY: u64 = 64;
/// The largest unit that is looked at.
const UNIT_BYTES_MAX: usize = 1 << 20;
/// Leaves of a unit that are told.
const LEAVES_MAX: usize = 200;
/// Shorter texts are looked for as a whole only.
const PART_BYTES_MIN: usize = 8;
/// Keys whose values say what something is, not what was said.
const STRUCTURE: [&str; 6] = ["role", "type", "object", "index", "kind", "key"];

/// What a leaf holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Prose,
    Number,
    Moment,
    Name,
}

/// What keys are called that hold a field, in words.
const GUESSES: [(&str, Holds, &[&str]); 11] = [
    (
        "response",
        Holds::Prose,
        &[
            "response",
            "res",
            "resp",
            "answer",
            "assistant",
            "bot",
            "reply",
            "completion",
            "output",
            "out",
            "generated",
            "generation",
            "ai",
            "result",
        ],
    ),
    (
        "prompt",
        Holds::Prose,
        &[
            "prompt",
            "question",
            "query",
            "user",
            "human",
            "input",
            "in",
            "request",
            "req",
            "ask",
            "asked",
            "utterance",
            "instruction",
        ],
    ),
    (
        "context",
        Holds::Prose,
        &["context", "document", "documents", "doc", "docs", "source", "passage", "retrieved", "chunk", "chunks"],
    ),
    ("system", Holds::Prose, &["system", "instructions", "persona"]),
    ("ttft_ms", Holds::Number, &["ttft", "first"]),
    ("latency_ms", Holds::Number, &["latency", "duration", "elapsed", "took", "ms", "seconds", "secs", "runtime"]),
    ("response_tokens", Holds::Number, &["completion", "output", "out", "generated", "response"]),
    ("prompt_tokens", Holds::Number, &["prompt", "input", "in", "request"]),
    ("timestamp", Holds::Moment, &["time", "timestamp", "ts", "date", "at", "created", "started", "when"]),
    ("model", Holds::Name, &["model", "engine", "deployment", "llm"]),
    ("session_id", Holds::Name, &["session", "conversation", "thread", "chat", "dialog"]),
];

/// The leaves of a unit that no record has; `None` for units that are not looked at.
pub(super) fn unread(unit: &UnitOf<'_>, parsed: &Parsed<'_>) -> Option<Vec<UnreadLeaf>> {
    let is_taken = unit.number < UNITS_FIRST || unit.number.is_multiple_of(UNITS_EVERY);
    if !is_taken || unit.bytes.len() > UNIT_BYTES_MAX {
        return None;
    }
    let outcomes: Vec<&Result<Entry<'_>, Rejected>> = match parsed {
        Parsed::One(outcome) => vec![outcome],
        Parsed::Many(items) => items.iter().map(|item| &item.outcome).collect(),
    };
    let mut records: Vec<&Record<'_>> = Vec::new();
    for outcome in outcomes {
        match outcome {
            Ok(Entry::Record(record)) => records.push(record),
            Ok(Entry::Fragment(fragment)) => match &fragment.content {
                Content::Record(record) => records.push(record),
                Content::Value(_) => return None,
            },
            Ok(Entry::Ignored(_)) => return None,
            Err(rejected) if rejected.reason == NO_CALL => {}
            Err(_) => return None,
        }
    }
    let tree = unit.tree()?;
    let told = Told::of(&records);
    let lacks = |field: &str| records.is_empty() || records.iter().any(|record| lacks(record, field));
    let mut leaves = Vec::new();
    walk(&tree, &mut |path, value| match value {
        Json::Object(_) | Json::Array(_) => !told.values.contains(&value),
        Json::String(text) => {
            let is_json = text.starts_with(['{', '[']) && Json::parse(text.as_bytes()).is_ok();
            if !is_json && !text.is_empty() && !is_structure(path) && !told.has_text(text) {
                let holds = match (is_prose(text), moment_ms(value)) {
                    (true, _) => Holds::Prose,
                    (false, Some(_)) => Holds::Moment,
                    (false, None) => Holds::Name,
                };
                note(&mut leaves, path, text.len() as u64, holds, &lacks);
            }
            is_json && !told.has_text(text)
        }
        Json::Number(number) => {
            // Nothing was counted or measured.
            let is_nothing = number.as_f64() == 0.0;
            if !is_nothing && !is_structure(path) && !told.has_number(number.as_f64(), value) {
                note(&mut leaves, path, 0, Holds::Number, &lacks);
            }
            false
        }
        Json::Bool(_) | Json::Null => false,
    });
    Some(leaves)
}

fn note(leaves: &mut Vec<UnreadLeaf>, path: &[Step], text_bytes: u64, holds: Holds, lacks: &impl Fn(&str) -> bool) {
    if leaves.len() < LEAVES_MAX {
        let map = proposed(path, holds, lacks);
        leaves.push(UnreadLeaf { pointer: pointer(path), text_bytes, is_prose: holds == Holds::Prose, map });
    }
}

fn is_structure(path: &[Step]) -> bool {
    matches!(path.last(), Some(Step::Key(key)) if STRUCTURE.contains(&key.as_str()))
}

/// What would read a leaf, as `--map` takes it.
fn proposed(path: &[Step], holds: Holds, lacks: &impl Fn(&str) -> bool) -> Option<String> {
    let keys: Option<Vec<&str>> = path
        .iter()
        .map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            // No pointer goes there for every record.
            Step::Element(..) | Step::Inside => None,
        })
        .collect();
    let keys = keys?;
    let may_be =
        |field: &str, of: Holds| (of == holds || (of, holds) == (Holds::Moment, Holds::Number)) && lacks(field);
    // What an object is called says what its texts are, and nothing of the numbers in it.
    let above = if holds == Holds::Prose { keys.len() } else { 1 };
    let named = keys.iter().rev().take(above).find_map(|key| {
        let words = words_of(key);
        let fits = |(field, of, known): &(&'static str, Holds, &[&str])| {
            // Many things are counted of an answer.
            let is_count = !field.ends_with("_tokens") || words.len() == 1 || words.iter().any(|word| word == "tokens");
            is_count && may_be(field, *of) && words.iter().any(|word| known.contains(&word.as_str()))
        };
        GUESSES.iter().find(|guess| fits(guess)).map(|(field, ..)| *field)
    });
    let missing = || match (holds, lacks("prompt"), lacks("response")) {
        (Holds::Prose, true, false) => Some("prompt"),
        (Holds::Prose, false, true) => Some("response"),
        _ => None,
    };
    let field = named.or_else(missing)?;
    let unit = match field.ends_with("_ms").then(|| unit_in(keys.last().copied().unwrap_or_default())) {
        Some(Some(unit)) => format!(":{}", unit.as_str()),
        _ => String::new(),
    };
    Some(format!("{field}={}{unit}", pointer(path)))
}

/// The unit that a key ends with.
fn unit_in(key: &str) -> Option<Unit> {
    match words_of(key).last().map(String::as_str) {
        Some("s" | "sec" | "secs" | "seconds") => Some(Unit::S),
        Some("us" | "micros" | "microseconds") => Some(Unit::Us),
        Some("ns" | "nanos" | "nanoseconds") => Some(Unit::Ns),
        _ => None,
    }
}

/// The words of a key: `assistantMessage` and `assistant_message` are two.
fn words_of(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in key.chars() {
        let begins = !c.is_alphanumeric() || (c.is_uppercase() && was_lower);
        if begins {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a text reads like something that a person or a model wrote: several words, most of them of letters alone.
fn is_prose(text: &str) -> bool {
    /// Letters of scripts that set no spaces.
    const LETTERS_MIN: usize = 8;
    /// Words of other scripts.
    const WORDS_MIN: usize = 4;
    let begin = &text[..text.floor_char_boundary(4096)];
    if begin.chars().filter(|c| c.is_alphabetic() && !c.is_ascii()).count() >= LETTERS_MIN {
        return true;
    }
    let (mut words, mut plain) = (0, 0);
    for word in begin.split_whitespace() {
        let bare = word.trim_matches(|c: char| c.is_ascii_punctuation());
        words += 1;
        plain += usize::from(!bare.is_empty() && bare.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '-')));
    }
    words >= WORDS_MIN && plain * 2 > words
}

fn lacks(record: &Record<'_>, field: &str) -> bool {
    let is_llm = record.kind == Kind::Llm;
    match field {
        "response" => is_llm && record.response.is_none() && record.tool_calls.is_empty() && record.error.is_none(),
        "prompt" => is_llm && record.prompt.is_absent(),
        "context" => is_llm && record.context.is_empty(),
        "system" => is_llm && record.system.is_none(),
        "ttft_ms" => is_llm && record.ttft_ms.is_none(),
        "latency_ms" => is_llm && record.latency_ms.is_none(),
        "response_tokens" => is_llm && record.response_tokens.is_none(),
        "prompt_tokens" => is_llm && record.prompt_tokens.is_none(),
        "timestamp" => record.timestamp_ms.is_none(),
        "model" => is_llm && record.model.is_none(),
        "session_id" => record.session_id.is_none(),
        _ => false,
    }
}

/// What records say.
#[derive(Default)]
struct Told<'r> {
    texts: Vec<&'r str>,
    values: Vec<&'r Json<'r>>,
    numbers: Vec<f64>,
    moments: Vec<i64>,
}

impl<'r> Told<'r> {
    fn of(records: &[&'r Record<'r>]) -> Told<'r> {
        let mut told = Told::default();
        records.iter().for_each(|record| told.add(record));
        told
    }

    fn add(&mut self, record: &'r Record<'r>) {
        let texts = [
            &record.id,
            &record.session_id,
            &record.model,
            &record.declared_model,
            &record.provider,
            &record.host,
            &record.level,
            &record.system,
            &record.response,
            &record.error,
            &record.finish_reason,
            &record.tool,
            &record.label,
        ];
        self.texts.extend(texts.into_iter().flatten().map(AsRef::as_ref));
        if let Prompt::Messages(messages) = &record.prompt {
            messages.iter().for_each(|message| self.message(message));
        }
        self.texts.extend(record.prompt.texts().map(|(_, text)| text));
        for passage in &record.context {
            self.texts.push(&passage.text);
            self.texts.extend(passage.id.as_deref());
        }
        record.tool_calls.iter().for_each(|call| self.call(call));
        let values = [&record.args, &record.result, &record.tools, &record.expected_schema];
        self.values.extend(values.into_iter().flatten());
        self.texts.extend(values.into_iter().flatten().filter_map(Json::as_str));
        let counts = [record.prompt_tokens, record.response_tokens, record.cached_tokens, record.reasoning_tokens];
        self.numbers.extend(counts.into_iter().flatten().map(|count| count as f64));
        self.numbers.extend([record.latency_ms, record.ttft_ms, record.execution_time_ms].into_iter().flatten());
        self.moments.extend(record.timestamp_ms);
        // The end of a call is in its latency.
        let took = record.latency_ms.or(record.execution_time_ms).map(|ms| ms.round() as i64);
        self.moments.extend(record.timestamp_ms.zip(took).map(|(begin, ms)| begin.saturating_add(ms)));
    }

    fn message(&mut self, message: &'r Message<'r>) {
        self.texts.push(&message.role);
        message.tool_calls.iter().for_each(|call| self.call(call));
    }

    fn call(&mut self, call: &'r ToolCall<'r>) {
        self.texts.push(&call.name);
        self.texts.extend(call.id.as_deref());
        self.values.push(&call.args);
        self.texts.extend(call.args.as_str());
    }

    fn has_text(&self, text: &str) -> bool {
        let trimmed = text.trim();
        let is_part = |told: &&str| {
            let told = *told;
            let (long, short) = if told.len() >= trimmed.len() { (told, trimmed) } else { (trimmed, told.trim()) };
            short.len() >= PART_BYTES_MIN && long.contains(short)
        };
        let moment = || moment_ms(&Json::String(text.into())).is_some_and(|ms| self.has_moment(ms));
        let number = || text.parse().is_ok_and(|number| self.has_time(number));
        self.texts.iter().any(|told| told.trim() == trimmed) || self.texts.iter().any(is_part) || number() || moment()
    }

    fn has_number(&self, number: f64, value: &Json<'_>) -> bool {
        self.has_time(number)
            || self.texts.iter().any(|told| told.parse() == Ok(number))
            || moment_ms(value).is_some_and(|ms| self.has_moment(ms))
    }

    /// A number, in whichever unit.
    fn has_time(&self, number: f64) -> bool {
        let is = |told: f64| {
            let same = |factor: f64| (number * factor - told).abs() <= told.abs() * 1e-9;
            [1.0, 1e3, 1e-3, 1e-6].into_iter().any(same)
        };
        self.numbers.iter().any(|told| is(*told))
    }

    fn has_moment(&self, ms: i64) -> bool {
        self.moments.iter().any(|told| told.abs_diff(ms) <= 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::RecordReader;

    /// Unread leaves of a unit: pointer and proposal.
    fn leaves(unit: &str) -> Option<Vec<(String, Option<String>)>> {
        let parsed = RecordReader::default().read(unit.as_bytes());
        let of = UnitOf { bytes: unit.as_bytes(), header: None, number: 0 };
        let leaves = unread(&of, &parsed)?;
        Some(leaves.into_iter().map(|leaf| (leaf.pointer, leaf.map)).collect())
    }

    #[track_caller]
    fn check(unit: &str, expected: &[(&str, Option<&str>)]) {
        let found = leaves(unit).unwrap();
        let found: Vec<(&str, Option<&str>)> =
            found.iter().map(|(pointer, map)| (pointer.as_str(), map.as_deref())).collect();
        assert_eq!(found, expected, "{unit}");
    }

    #[test]
    fn what_a_record_has_is_read_wherever_it_stands() {
        check(
            r#"{"id":"r-1","timestamp":"2026-03-02T09:00:00Z","model":"m","messages":[{"role":"system","content":"Be brief."},
            {"role":"user","content":"Where is it?"}],"response":"It is here, I think.","latency_s":1.25,"usage":{"prompt_tokens":7,"completion_tokens":9}}"#,
            &[],
        );
        check(
            r#"{"tool":"t","args":{"city":"Oslo","days":[1,2]},"result":"{\"sky\":\"clear\"}","execution_time_ms":12}"#,
            &[],
        );
        check(
            r#"{"log":"{\"prompt\":\"Where is it, please?\",\"response\":\"Here it is, on the table.\"}","stream":"stdout"}"#,
            &[("/stream", None)],
        );
    }

    #[test]
    fn what_no_record_has_is_proposed_by_its_name() {
        check(
            r#"{"prompt":"Where is it?","assistant_says":"It is here, I think so.","waitedSecs":1.5,"engine_used":"m"}"#,
            &[
                ("/assistant_says", Some("response=/assistant_says")),
                ("/waitedSecs", Some("latency_ms=/waitedSecs:s")),
                ("/engine_used", Some("model=/engine_used")),
            ],
        );
        check(
            r#"{"prompt":"Where is it?","zz":"It is here, I think so.","response":null}"#,
            &[("/zz", Some("response=/zz"))],
        );
        check(
            r#"{"req":{"text":"Where is it, do you know?"},"res":{"text":"It is here, I think so.","code":200}}"#,
            &[("/req/text", Some("prompt=/req/text")), ("/res/text", Some("response=/res/text")), ("/res/code", None)],
        );
        check(
            r#"{"prompt":"p","response":"r","note":"They were happy with the answer.","tags":["vip customer of ours, really"]}"#,
            &[("/note", None), ("/tags/*", None)],
        );
    }

    #[test]
    fn units_without_calls_and_parts_of_records_are_not_looked_at() {
        assert_eq!(leaves(r#"{"object":"chat.completion.chunk","id":"c","choices":[]}"#), None);
        assert_eq!(leaves("plain text"), None);
    }

    #[test]
    fn keys_are_told_apart_in_words() {
        for (key, expected) in
            [("assistantMessage", "assistant message"), ("LATENCY_MS", "latency ms"), ("prompt2Text", "prompt2 text")]
        {
            assert_eq!(words_of(key).join(" "), expected);
        }
    }

    #[test]
    fn prose_is_several_words() {
        for (text, expected) in [
            ("The capital of France is Paris.", true),
            ("今日はとても良い天気です", true),
            ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)", false),
            ("2026-03-02 09:00:00 UTC", false),
            ("gpt-4o-mini", false),
            ("", false),
        ] {
            assert_eq!(is_prose(text), expected, "{text}");
        }
    }
}
