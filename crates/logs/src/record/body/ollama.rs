//! Ollama: `/api/chat` answers below `message`, `/api/generate` below `response`; both say `done`.
//!
//! - latency: `total_duration`, which the server measures, in nanoseconds
//! - tokens: `prompt_eval_count`, `eval_count`
//! - a request is read as one of Chat Completions
//!
//! **Source**: docs/api.md of ollama/ollama.
//!
//! **Limits**: tokens of a prompt that was kept from the call before are not counted by the server.

use super::{
    Answer,
    message::{Joined, Said, take_text},
    usage::Usage,
};
use crate::record::{
    Dialect,
    json::Json,
    stream::pieces::Server,
    values::{self, Unit},
};

/// Whether the value is a response body, and no record that also holds the prompt.
pub(crate) fn is_response(value: &Json<'_>) -> bool {
    Server::of(value) == Some(Server::Ollama)
}

/// Reads a response body.
pub(crate) fn read_response(mut body: Json<'_>) -> Answer<'_> {
    let mut answer = match body.take("message") {
        Some(message) => {
            let mut said = Said::default();
            said.add(message, Joined::ByLines);
            Answer::of_said(said)
        }
        None => Answer { text: take_text(&mut body, "response"), ..Answer::default() },
    };
    let count = |key: &str| values::count(body.get(key)?).ok();
    answer.usage = Usage { prompt: count("prompt_eval_count"), response: count("eval_count"), ..Usage::default() };
    answer.latency_ms = body.get("total_duration").and_then(|took| values::duration_ms(took, Unit::Ns).ok());
    answer.dialect = Some(Dialect::Ollama);
    answer.finish_reason = take_text(&mut body, "done_reason").or(answer.finish_reason);
    answer.model = take_text(&mut body, "model");
    answer.created = body.take("created_at");
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, text: Option<&str>, finish: &str, tokens: [Option<u64>; 2]) {
        let value = Json::parse(body.as_bytes()).unwrap();
        assert!(is_response(&value), "{body}");
        let answer = read_response(value);
        assert_eq!((answer.text.as_deref(), answer.finish_reason.as_deref()), (text, Some(finish)));
        assert_eq!([answer.usage.prompt, answer.usage.response], tokens);
        assert_eq!((answer.latency_ms, answer.model.as_deref()), (Some(5191.566416), Some("llama3.2")));
    }

    #[test]
    fn answers_of_both_ways_in() {
        check(
            r#"{"model":"llama3.2","created_at":"2023-12-12T14:13:43.416799Z","message":{"role":"assistant","content":"Hello!"},
                "done":true,"done_reason":"stop","total_duration":5191566416,"prompt_eval_count":26,"eval_count":298}"#,
            Some("Hello!"),
            "stop",
            [Some(26), Some(298)],
        );
        check(
            r#"{"model":"llama3.2","response":"","done":true,"done_reason":"load","context":[1],"total_duration":5191566416}"#,
            Some(""),
            "load",
            [None, None],
        );
        check(
            r#"{"model":"llama3.2","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},
                "done":true,"total_duration":5191566416}"#,
            None,
            "tool_calls",
            [None, None],
        );
    }

    #[test]
    fn what_only_looks_so_is_none() {
        for body in [
            r#"{"model":"m","response":"r","prompt":"p","done":true}"#,
            r#"{"model":"m","response":{"a":1},"done":true}"#,
            r#"{"model":"m","response":"r"}"#,
            r#"{"message":{"content":"c"},"done":true}"#,
        ] {
            assert!(!is_response(&Json::parse(body.as_bytes()).unwrap()), "{body}");
        }
    }
}
