//! Servers of models whose pieces are answers in small: each has some of the text under the key of the whole, and the last
//! one says why the answer ended, and what it took.
//!
//! - Ollama: `message.content` or `response`, until `done`
//! - llama.cpp `/completion`: `content`, until `stop`
//! - Text Generation Inference: `token.text`, until there is a `generated_text`
//!
//! What comes out is the last piece with all of the text, which is the body of an answer that was not streamed.
//!
//! **Source**: docs/api.md of ollama/ollama; tools/server/README.md of ggml-org/llama.cpp; the OpenAPI document of
//! huggingface/text-generation-inference.

use super::{PARTS_MAX, Progress, append, object, string};
use crate::record::json::Json;

/// Whose pieces they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// Ollama.
    Ollama,
    /// llama.cpp.
    LlamaCpp,
    /// Text Generation Inference.
    Tgi,
}

/// What holds the prompt where the value is a record of somebody's own.
const PROMPTS: [&str; 6] = ["prompt", "messages", "input", "question", "query", "instruction"];

/// A stream of which some pieces have been seen.
#[derive(Debug)]
pub struct Stream {
    server: Server,
    text: String,
    calls: Vec<Json<'static>>,
    last: Json<'static>,
    has_ended: bool,
}

impl Server {
    /// Whose piece an object is, or whose whole answer.
    pub fn of(object: &Json<'_>) -> Option<Server> {
        let text = |key: &str| object.get(key).and_then(Json::as_str);
        if object.get("done").and_then(Json::as_bool).is_some() {
            let has_content = || object.get("message").is_some_and(|message| message.get("content").is_some());
            let is_alone = || PROMPTS.iter().all(|key| object.get(key).is_none());
            let is_one = text("model").is_some() && (text("response").is_some() || has_content()) && is_alone();
            return is_one.then_some(Server::Ollama);
        }
        if object.get("stop").and_then(Json::as_bool).is_some() {
            const OWN: [&str; 5] = ["id_slot", "slot_id", "tokens_predicted", "multimodal", "timings"];
            let is_one = text("content").is_some() && OWN.iter().any(|key| object.get(key).is_some());
            return is_one.then_some(Server::LlamaCpp);
        }
        let is_token =
            object.get("token").is_some_and(|token| token.get("text").is_some() && token.get("id").is_some());
        (is_token && object.get("generated_text").is_some()).then_some(Server::Tgi)
    }

    /// Whether an answer goes on after a piece.
    pub fn is_open(self, piece: &Json<'_>) -> bool {
        let flag = |key: &str| piece.get(key).and_then(Json::as_bool) == Some(false);
        match self {
            Server::Ollama => flag("done"),
            Server::LlamaCpp => flag("stop"),
            Server::Tgi => piece.get("generated_text").is_none_or(Json::is_null),
        }
    }

    /// The name of the stream in a piece: pieces have none but that of their model.
    pub fn name(self, piece: &Json<'_>) -> Option<String> {
        let model = piece.get("model").and_then(Json::as_str).filter(|_| self == Server::Ollama);
        model.map(str::to_owned)
    }
}

impl Stream {
    /// A stream of which nothing has been seen.
    pub fn new(server: Server) -> Stream {
        Stream { server, text: String::new(), calls: Vec::new(), last: Json::Null, has_ended: false }
    }

    /// Whose pieces they are.
    pub fn server(&self) -> Server {
        self.server
    }

    /// Whether the last piece was seen.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Takes the next piece.
    pub fn absorb(&mut self, mut piece: Json<'static>) -> Progress {
        self.has_ended = !self.server.is_open(&piece);
        match self.server {
            Server::Ollama => {
                append(&piece, "response", &mut self.text);
                if let Some(mut message) = piece.take("message") {
                    append(&message, "content", &mut self.text);
                    if let Some(Json::Array(calls)) = message.take("tool_calls") {
                        self.calls.extend(calls);
                        self.calls.truncate(PARTS_MAX);
                    }
                }
            }
            Server::LlamaCpp => append(&piece, "content", &mut self.text),
            Server::Tgi => {
                let is_special = piece.pointer("/token/special").and_then(Json::as_bool) == Some(true);
                if let Some(token) = piece.get("token").filter(|_| !is_special) {
                    append(token, "text", &mut self.text);
                }
                if let Some(whole) = piece.get("generated_text").and_then(Json::as_str) {
                    whole.clone_into(&mut self.text);
                }
            }
        }
        self.last = piece;
        if self.has_ended { Progress::Complete } else { Progress::Open }
    }

    /// The body of the answer.
    pub fn into_body(self) -> Json<'static> {
        let Stream { server, text, calls, last, .. } = self;
        let (key, whole) = match server {
            Server::Ollama => {
                let calls = (!calls.is_empty()).then_some(("tool_calls", Json::Array(calls)));
                let said = [("role", string("assistant")), ("content", string(text))];
                ("message", object(said.into_iter().chain(calls)))
            }
            Server::LlamaCpp => ("content", string(text)),
            Server::Tgi => ("generated_text", string(text)),
        };
        let Json::Object(mut entries) = last else { return object([(key, whole)]) };
        entries.retain(|(name, _)| !matches!(name.as_ref(), "message" | "response" | "content" | "generated_text"));
        entries.push((key.into(), whole));
        Json::Object(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&str], expected: Server, body: &str) {
        let mut stream = Stream::new(expected);
        for (index, piece) in pieces.iter().enumerate() {
            let piece = Json::parse(piece.as_bytes()).unwrap().into_owned();
            assert_eq!(Server::of(&piece), Some(expected), "{piece:?}");
            let is_last = index + 1 == pieces.len();
            assert_eq!(stream.absorb(piece), if is_last { Progress::Complete } else { Progress::Open });
        }
        assert_eq!(stream.into_body().to_compact_string(), body);
    }

    #[test]
    fn pieces_are_appended_until_the_last_one() {
        check(
            &[
                r#"{"model":"m","message":{"role":"assistant","content":"Hel"},"done":false}"#,
                r#"{"model":"m","message":{"role":"assistant","content":"lo","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":false}"#,
                r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","eval_count":2}"#,
            ],
            Server::Ollama,
            r#"{"model":"m","done":true,"done_reason":"stop","eval_count":2,"message":{"role":"assistant","content":"Hello","tool_calls":[{"function":{"name":"f","arguments":{}}}]}}"#,
        );
        check(
            &[
                r#"{"model":"m","response":"Hi","done":false}"#,
                r#"{"model":"m","response":"","done":true,"context":[1]}"#,
            ],
            Server::Ollama,
            r#"{"model":"m","done":true,"context":[1],"message":{"role":"assistant","content":"Hi"}}"#,
        );
        check(
            &[
                r#"{"index":0,"content":"Hi","tokens":[1],"stop":false,"id_slot":0,"tokens_predicted":1}"#,
                r#"{"content":"","stop":true,"model":"m","tokens_predicted":2,"prompt":"p"}"#,
            ],
            Server::LlamaCpp,
            r#"{"stop":true,"model":"m","tokens_predicted":2,"prompt":"p","content":"Hi"}"#,
        );
        check(
            &[
                r#"{"index":1,"token":{"id":5,"text":"Hi","special":false},"generated_text":null,"details":null}"#,
                r#"{"index":2,"token":{"id":2,"text":"</s>","special":true},"generated_text":"Hi","details":{"finish_reason":"eos_token"}}"#,
            ],
            Server::Tgi,
            r#"{"index":2,"token":{"id":2,"text":"</s>","special":true},"details":{"finish_reason":"eos_token"},"generated_text":"Hi"}"#,
        );
    }

    #[test]
    fn what_only_looks_so_is_none() {
        for object in [
            r#"{"model":"m","response":"r","prompt":"p","done":true}"#,
            r#"{"model":"m","done":true}"#,
            r#"{"task":"t","message":{"content":"c"},"done":true}"#,
            r#"{"content":"c","stop":true}"#,
            r#"{"token":{"text":"t"},"generated_text":null}"#,
        ] {
            assert_eq!(Server::of(&Json::parse(object.as_bytes()).unwrap()), None, "{object}");
        }
    }
}
