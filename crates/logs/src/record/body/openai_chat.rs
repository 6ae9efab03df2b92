//! OpenAI Chat Completions, and what other providers offer in its place.
//!
//! - system: the messages of the roles system and developer, joined by newlines; prompt: all other messages
//! - response: `choices[0].message.content`, else its `refusal`. A message without text that calls tools is an
//!   answer: there is no response then, and the finish reason is `tool_calls`
//! - expected schema: that of the request's `response_format`, where it declares one
//! - an error body `{"error": {"message", "type", "code"}}`: an error and no response
//!
//! **Source**: the OpenAI API reference (openai/openai-openapi); `created` is in whole seconds of the provider's
//! clock, good enough for a timestamp and never for a latency.
//!
//! **Limits**: of several choices only the first is read, which is noted.

use std::borrow::Cow;

use super::{
    Answer, Conversation, error_of,
    message::{Joined, Said, take_text, text_of},
    note_further,
    usage::Usage,
};
use crate::record::{Dialect, json::Json};

/// Whether the value is a response body.
pub(crate) fn is_response(value: &Json<'_>) -> bool {
    matches!(value.get("choices"), Some(Json::Array(_)))
}

/// Whether a list is one of choices: messages, pieces of them, or texts, each in an object of its own.
pub(crate) fn is_choices(choices: &Json<'_>) -> bool {
    let is_choice =
        |choice: &Json<'_>| ["message", "delta", "text", "finish_reason"].iter().any(|key| choice.get(key).is_some());
    choices.as_array().is_some_and(|choices| choices.iter().all(is_choice))
}

/// Whether the value is an error body.
pub(crate) fn is_error(value: &Json<'_>) -> bool {
    value.get("error").is_some_and(is_error_object)
}

/// Whether the value is what stands below `error` in an error body.
pub(crate) fn is_error_object(error: &Json<'_>) -> bool {
    let has_message = error.get("message").is_some_and(|message| message.as_str().is_some());
    has_message && (error.get("type").is_some() || error.get("code").is_some())
}

/// Reads a response body, or an error body.
pub(crate) fn read_response(mut body: Json<'_>) -> Answer<'_> {
    let mut answer = body.take("choices").map(read_choices).unwrap_or_default();
    answer.dialect = Some(Dialect::OpenAiChat);
    answer.id = take_text(&mut body, "id");
    answer.model = take_text(&mut body, "model");
    answer.created = body.take("created");
    let usage = body.take("usage").or_else(|| body.take("usage_metadata"));
    answer.usage = usage.map(|usage| Usage::of(&usage)).unwrap_or_default();
    answer.error = body.take("error").and_then(error_of);
    answer
}

/// Reads the `choices` of a response body.
pub(crate) fn read_choices(choices: Json<'_>) -> Answer<'_> {
    let Json::Array(choices) = choices else { return Answer::default() };
    let count = choices.len();
    let Some(mut choice) = choices.into_iter().next() else { return Answer::default() };
    // Whoever strips texts takes the key out with them.
    let has_place = choice.get("message").is_some_and(|message| message.get("content").is_some());
    let mut answer = match choice.take("message").or_else(|| choice.take("delta")) {
        Some(message) => {
            let mut said = Said::default();
            said.add(message, Joined::ByLines);
            Answer::of_said(said)
        }
        None => Answer { text: take_text(&mut choice, "text"), ..Answer::default() },
    };
    note_further(count, &mut answer.notes);
    answer.finish_reason = finish_reason(&mut choice).or(answer.finish_reason);
    if has_place { answer.or_empty() } else { answer }
}

/// A finish reason; some writers put the choice that had it in its place.
fn finish_reason<'a>(choice: &mut Json<'a>) -> Option<Cow<'a, str>> {
    match choice.take("finish_reason").or_else(|| choice.take("stop_reason"))? {
        Json::String(reason) => Some(reason),
        mut other => take_text(&mut other, "finish_reason").or_else(|| take_text(&mut other, "type")),
    }
}

/// Reads a request body.
pub(crate) fn read_request(mut body: Json<'_>) -> Conversation<'_> {
    let mut asked = match body.take("messages") {
        Some(Json::Array(items)) => Conversation::of_messages(items),
        _ => Conversation::default(),
    };
    asked.model = take_text(&mut body, "model");
    asked.tools = body.take("tools").or_else(|| body.take("functions"));
    asked.expected_schema = body.take("response_format").and_then(schema_of_format);
    let system = body.take("system").and_then(text_of);
    asked.system = system.or(asked.system);
    asked
}

/// Whether a value is what requests call `response_format`, and no schema itself.
pub(crate) fn is_response_format(value: &Json<'_>) -> bool {
    let Json::Object(_) = value else { return !matches!(value, Json::Bool(_)) };
    let kind = value.get("type").and_then(Json::as_str);
    value.get("json_schema").is_some() || matches!(kind, Some("json_schema" | "json_object" | "text"))
}

/// The schema in `{"type": "json_schema", "json_schema": {"schema": {...}}}`; other formats declare none.
pub(crate) fn schema_of_format(mut format: Json<'_>) -> Option<Json<'_>> {
    let schema = match format.take("json_schema") {
        Some(mut named) => named.take("schema"),
        None => format.take("schema"),
    };
    schema.filter(|schema| matches!(schema, Json::Object(_)))
}

#[cfg(test)]
mod tests {
    use crate::{
        reader::{Parsed, RecordReader},
        record::{Container, Content, Dialect, Entry, Format, Fragment, Prompt, Record},
    };

    const PAIRS: &str = include_str!("../../../../../fixtures/records/openai_chat_pair.jsonl");
    const RESPONSES: &str = include_str!("../../../../../fixtures/records/openai_chat_response.jsonl");
    const ERROR: &str = include_str!("../../../../../fixtures/records/openai_error.jsonl");
    const CHUNKS: &str = include_str!("../../../../../fixtures/records/openai_chat_chunks.jsonl");

    fn read(unit: &str) -> Record<'_> {
        match RecordReader::default().read(unit.trim().as_bytes()) {
            Parsed::One(Ok(Entry::Record(record))) => record,
            Parsed::One(Ok(Entry::Fragment(Fragment { content: Content::Record(record), .. }))) => *record,
            other => panic!("{unit}: {other:?}"),
        }
    }

    fn texts<'r>(record: &'r Record<'_>) -> Vec<&'r str> {
        record.prompt.texts().map(|(_, text)| text).collect()
    }

    #[test]
    fn pairs_of_request_and_response() {
        let records: Vec<Record<'_>> = PAIRS.lines().map(read).collect();
        let [plain, image, tools] = records.as_slice() else { panic!() };
        assert_eq!(plain.system.as_deref(), Some("You are a helpful assistant."));
        assert_eq!(texts(plain), ["Hello!"]);
        assert_eq!(plain.response.as_deref(), Some("Hello! How can I assist you today?"));
        assert_eq!((plain.prompt_tokens, plain.response_tokens), (Some(19), Some(10)));
        assert_eq!(plain.id.as_deref(), Some("chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT"));
        assert_eq!(plain.model.as_deref(), Some("gpt-5.4"), "the model that answered");
        assert_eq!(plain.timestamp_ms, Some(1_741_569_952_000));
        assert_eq!((plain.latency_ms, plain.finish_reason.as_deref()), (None, Some("stop")));
        assert_eq!(texts(image), ["What is in this image?"], "parts that are not text are left out");
        assert_eq!((tools.response.as_deref(), tools.finish_reason.as_deref()), (None, Some("tool_calls")));
        assert!(records.iter().all(|record| record.problems.is_empty()));
    }

    #[test]
    fn the_format_of_the_response_declares_its_schema() {
        let messages = r#""messages":[{"role":"user","content":"u"}]"#;
        let response = r#"{"choices":[{"message":{"content":"{}"}}]}"#;
        for (format, expected) in [
            (
                r#"{"type":"json_schema","json_schema":{"name":"n","schema":{"required":["a"]}}}"#,
                Some(r#"{"required":["a"]}"#),
            ),
            (r#"{"type":"json_object","schema":{"required":["a"]}}"#, Some(r#"{"required":["a"]}"#)),
            (r#"{"type":"json_object"}"#, None),
            (r#"{"type":"text"}"#, None),
            (r#""json""#, None),
            ("null", None),
        ] {
            let pair = format!(r#"{{"request":{{{messages},"response_format":{format}}},"response":{response}}}"#);
            let flat = format!(r#"{{{messages},"response_format":{format},"response":"{{}}"}}"#);
            for unit in [pair, flat] {
                let record = read(&unit);
                let schema = record.expected_schema.map(|schema| schema.to_compact_string());
                assert_eq!(schema.as_deref(), expected, "{unit}");
                assert!(record.problems.is_empty(), "{unit}: {:?}", record.problems);
            }
        }
        let both = read(r#"{"prompt":"p","response":"r","expected_schema":{"a":1},"response_format":{"type":"text"}}"#);
        assert_eq!(both.expected_schema.map(|schema| schema.to_compact_string()).as_deref(), Some(r#"{"a":1}"#));
    }

    #[test]
    fn bare_responses_read_as_those_of_pairs() {
        for (pair, response) in PAIRS.lines().map(read).zip(RESPONSES.lines().map(read)) {
            assert!(response.prompt.is_absent());
            let format = Format { container: Container::BARE, dialect: Some(Dialect::OpenAiChat) };
            assert_eq!(pair.format, Format { container: Container::PAIR, ..format });
            let (prompt, notes) = (Prompt::Absent, response.notes);
            let without_request =
                Record { prompt, format, notes, system: None, declared_model: None, tools: None, ..pair };
            assert_eq!(response, without_request);
        }
    }

    #[test]
    fn pairs_under_other_names_and_as_json_text() {
        for pair in PAIRS.lines() {
            let expected = read(pair).into_owned();
            let tree = serde_json::from_str::<serde_json::Value>(pair).unwrap();
            let (request, response) = (&tree["request"], &tree["response"]);
            let names = [
                ("req", "resp"),
                ("input", "output"),
                ("prompt", "completion"),
                ("body", "response"),
                ("Request", "Response"),
            ];
            for (asked, answered) in names {
                let objects = serde_json::json!({ asked: request, answered: response }).to_string();
                assert_eq!(read(&objects), expected, "{asked} {answered}");
                let strings =
                    serde_json::json!({ asked: request.to_string(), answered: response.to_string() }).to_string();
                assert_eq!(read(&strings), expected, "{asked} {answered} as JSON text");
            }
        }
    }

    #[test]
    fn the_envelope_adds_what_the_bodies_lack() {
        let pair = PAIRS.lines().next().unwrap();
        let unit =
            pair.replacen('{', r#"{"id":"mine","latency_ms":80,"session_id":"s","timestamp":5,"model":"alias","#, 1);
        let record = read(&unit);
        assert_eq!((record.id.as_deref(), record.session_id.as_deref()), (Some("mine"), Some("s")));
        assert_eq!((record.latency_ms, record.timestamp_ms), (Some(80.0), Some(5000)));
        assert_eq!(record.model.as_deref(), Some("gpt-5.4"), "the body says who answered");
    }

    #[test]
    fn error_bodies_are_errors_and_no_responses() {
        let message = "The model `bad-model` does not exist or you do not have access to it.";
        let body = ERROR.trim();
        let request = r#"{"model":"bad-model","messages":[{"role":"user","content":"u"}]}"#;
        for unit in [body.to_owned(), format!(r#"{{"request":{request},"response":{body}}}"#)] {
            let record = read(&unit);
            assert_eq!((record.error.as_deref(), record.response.as_deref()), (Some(message), None));
        }
        assert_eq!(read(&format!(r#"{{"request":{request},"response":{body}}}"#)).model.as_deref(), Some("bad-model"));
    }

    #[test]
    fn pieces_of_a_stream_are_pieces() {
        for chunk in CHUNKS.lines() {
            let parsed = RecordReader::default().read(chunk.as_bytes());
            let Parsed::One(Ok(Entry::Fragment(fragment))) = parsed else { panic!("{parsed:?}") };
            assert_eq!(fragment.format.to_string(), "stream+openai_chat");
        }
    }

    #[test]
    fn refusals_and_other_answers() {
        let check = |message: &str, expected: (Option<&str>, Option<&str>)| {
            let unit = format!(r#"{{"choices":[{{"message":{message}}}]}}"#);
            let record = read(&unit);
            assert_eq!((record.response.as_deref(), record.finish_reason.as_deref()), expected, "{message}");
        };
        check(r#"{"role":"assistant","content":null,"refusal":"No."}"#, (Some("No."), None));
        check(r#"{"role":"assistant","content":"","refusal":null}"#, (Some(""), None));
        check(r#"{"role":"assistant","content":null}"#, (None, None));
        check(r#"{"role":"assistant","content":"a","tool_calls":[]}"#, (Some("a"), None));
        check(r#"{"role":"assistant","content":"a","tool_calls":[{}]}"#, (Some("a"), None));
        check(r#"{"role":"assistant","content":"","tool_calls":[{}]}"#, (None, Some("tool_calls")));
        check(r#"{"role":"assistant","content":null,"function_call":{}}"#, (None, Some("tool_calls")));
        assert_eq!(read(r#"{"choices":[{"text":"t","finish_reason":"length"}]}"#).response.as_deref(), Some("t"));
        assert_eq!(read(r#"{"choices":[],"error":"e"}"#).response, None);
    }

    #[test]
    fn messages_with_counts_of_their_own_and_bodies_of_batches() {
        let message = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":7}}"#;
        let unit = format!(
            r#"{{"request":{{"system":"s","messages":[{{"role":"user","content":"u"}}]}},"response":{message}}}"#
        );
        let record = read(&unit);
        assert_eq!((record.response.as_deref(), record.system.as_deref()), (Some("a"), Some("s")));
        assert_eq!((record.id.as_deref(), record.model.as_deref()), (Some("msg_1"), Some("m")));
        assert_eq!((record.prompt_tokens, record.response_tokens), (Some(5), Some(7)));
        assert_eq!(record.finish_reason.as_deref(), Some("end_turn"));

        let body = RESPONSES.lines().next().unwrap();
        let batch =
            format!(r#"{{"id":"b","custom_id":"c","response":{{"status_code":200,"body":{body}}},"error":null}}"#);
        let record = read(&batch);
        assert_eq!(record.response.as_deref(), Some("Hello! How can I assist you today?"));
        assert_eq!((record.id.as_deref(), record.response_tokens), (Some("c"), Some(10)));
    }

    #[test]
    fn a_chat_log_ends_with_its_answer() {
        let record = read(
            r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"},{"role":"assistant","content":"d"}]}"#,
        );
        assert_eq!(texts(&record), ["a", "b", "c"]);
        assert_eq!((record.response.as_deref(), record.system.as_deref()), (Some("d"), Some("s")));
        assert!(record.problems.is_empty());

        // Whoever spoke last waits for an answer.
        for last in ["user", "tool"] {
            let unit = format!(
                r#"{{"messages":[{{"role":"user","content":"a"}},{{"role":"assistant","content":"b"}},{{"role":"{last}","content":"c"}}]}}"#
            );
            let waiting = read(&unit);
            assert_eq!((texts(&waiting), waiting.response.as_deref()), (vec!["a", "b", "c"], None));
            assert!(waiting.problems.is_empty());
        }

        let unanswered = read(r#"{"messages":[{"role":"user","content":"a"}]}"#);
        assert_eq!((texts(&unanswered), unanswered.response.as_deref()), (vec!["a"], None));

        let answered =
            read(r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"response":"r"}"#);
        assert_eq!((texts(&answered), answered.response.as_deref()), (vec!["a", "b"], Some("r")));
    }
}
