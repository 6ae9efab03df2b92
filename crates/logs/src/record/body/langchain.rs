//! LangChain: messages as its serialisers write them, the inputs of its models, and what they give.
//!
//! - a message: `{"lc": 1, "id": [.., "HumanMessage"], "kwargs": {"content"}}` (`dumpd`), `{"type": "human", "data":
//!   {"content"}}` (`message_to_dict`), `{"type": "human", "content"}` (its model), `["human", "text"]` (its shorthand)
//! - inputs: `messages`, a list of messages or a list of such lists (models are called in batches, of one as a rule), or
//!   `prompts`
//! - what comes out: `{"generations": [[{"text", "message", "generation_info"}]], "llm_output": {"token_usage"}}`
//! - model, finish reason and token counts stand in the message (`response_metadata`, `usage_metadata`), else in
//!   `llm_output`, else in `generation_info`
//!
//! **Source**: langchain-core 0.1 to 1.7, `load/dump.py`, `messages`, `outputs`; langchain-js `LLMResult`.
//!
//! **Limits**: of several generations only the first is read, which is noted.

use std::borrow::Cow;

use super::{
    Answer,
    message::{Joined, Said, take_name, take_text},
    note_further,
    usage::Usage,
};
use crate::record::{Dialect, json::Json};

/// Speakers of the shorthand.
const SPEAKERS: [&str; 8] = ["system", "human", "user", "ai", "assistant", "tool", "function", "developer"];

/// Whether a value is a message that a serialiser wrote, with what it says below a key of its own.
pub(crate) fn is_serialised(message: &Json<'_>) -> bool {
    let says = |inner: &Json<'_>| inner.get("content").is_some();
    message.get("kwargs").is_some_and(says) || message.get("data").is_some_and(says)
}

/// Whether a value is a message in shorthand.
pub(crate) fn is_shorthand(message: &Json<'_>) -> bool {
    match message.as_array() {
        Some([speaker, text]) => {
            speaker.as_str().is_some_and(|speaker| SPEAKERS.contains(&speaker)) && text.as_str().is_some()
        }
        _ => false,
    }
}

/// Whether a list holds lists of messages.
pub(crate) fn is_batch(items: &[Json<'_>]) -> bool {
    let is_list =
        |item: &Json<'_>| item.as_array().is_some_and(|messages| messages.iter().all(super::message::is_turn));
    !items.is_empty() && items.iter().all(is_list) && !items.iter().any(is_shorthand)
}

/// A message without what its serialiser put around it; any other stays.
pub(crate) fn deserialised(mut message: Json<'_>) -> Json<'_> {
    if is_shorthand(&message) {
        let Json::Array(pair) = message else { return message };
        return Json::Object(["role", "content"].into_iter().map(Cow::Borrowed).zip(pair).collect());
    }
    if !is_serialised(&message) {
        return message;
    }
    let class = match message.take("id") {
        Some(Json::Array(path)) => path.into_iter().next_back(),
        _ => message.take("type"),
    };
    let Some(mut inner) = message.take("kwargs").or_else(|| message.take("data")) else { return message };
    if let (Json::Object(entries), Some(class @ Json::String(_))) = (&mut inner, class) {
        entries.retain(|(key, _)| key != "type" && key != "role");
        entries.push(("role".into(), class));
    }
    inner
}

/// Whether the value is what a model gives.
pub(crate) fn is_result(value: &Json<'_>) -> bool {
    first_generation(value).is_some_and(|first| first.get("text").is_some() || first.get("message").is_some())
}

fn first_generation<'v, 'a>(value: &'v Json<'a>) -> Option<&'v Json<'a>> {
    match value.get("generations")?.as_array()?.first()? {
        Json::Array(batch) => batch.first(),
        first => Some(first),
    }
}

/// Reads what a model gives.
pub(crate) fn read_result(mut result: Json<'_>) -> Answer<'_> {
    let Some(Json::Array(generations)) = result.take("generations") else { return Answer::default() };
    let mut generations = match generations.into_iter().next() {
        Some(Json::Array(batch)) => batch,
        first => first.into_iter().collect(),
    };
    let count = generations.len();
    if count == 0 {
        return Answer::default();
    }
    let mut first = generations.swap_remove(0);
    let mut answer = match first.take("message") {
        Some(message) => {
            let mut said = Said::default();
            let about = About::of(&message);
            said.add(message, Joined::ByLines);
            about.complete(Answer { dialect: Some(Dialect::LangChain), ..Answer::of_said(said) })
        }
        None => Answer::default(),
    };
    let text = take_text(&mut first, "text");
    if answer.text.is_none() && answer.tool_calls.is_empty() {
        answer.text = text;
    }
    note_further(count, &mut answer.notes);
    if let Some(mut info) = first.take("generation_info").or_else(|| first.take("generationInfo")) {
        answer.finish_reason = ["finish_reason", "finishReason", "stop_reason", "done_reason"]
            .into_iter()
            .find_map(|key| take_text(&mut info, key))
            .or(answer.finish_reason);
        answer.model = answer.model.or_else(|| name(&mut info));
        answer.usage = answer.usage.or(info.get("usage_metadata").map(Usage::of));
    }
    if let Some(mut output) = result.take("llm_output").or_else(|| result.take("llmOutput")) {
        answer.model = answer.model.or_else(|| name(&mut output));
        let usage =
            ["token_usage", "tokenUsage", "usage", "estimatedTokenUsage"].iter().find_map(|key| output.get(key));
        answer.usage = answer.usage.or(usage.map(Usage::of));
    }
    answer
}

/// What a message of a model says beside its text.
#[derive(Default)]
pub(crate) struct About<'a> {
    model: Option<Cow<'a, str>>,
    finish_reason: Option<Cow<'a, str>>,
    usage: Option<Usage>,
}

impl<'a> About<'a> {
    /// Looks at a message, serialised or not.
    pub fn of(message: &Json<'a>) -> About<'a> {
        let message = ["kwargs", "data"].iter().find_map(|key| message.get(key)).unwrap_or(message);
        let mut about = message.get("response_metadata").cloned().unwrap_or_default();
        let usage = ["token_usage", "tokenUsage", "usage"].iter().find_map(|key| about.get(key).map(Usage::of));
        let usage = message.get("usage_metadata").filter(|usage| Usage::is_one(usage)).map(Usage::of).or(usage);
        let reason = ["finish_reason", "stop_reason", "finishReason", "done_reason"]
            .into_iter()
            .find_map(|key| take_text(&mut about, key));
        About { model: name(&mut about), finish_reason: reason, usage }
    }

    /// Puts it where the answer lacks it. A reason that the provider gave is better than one that was guessed.
    pub fn complete(self, answer: Answer<'a>) -> Answer<'a> {
        Answer {
            model: answer.model.or(self.model),
            finish_reason: self.finish_reason.or(answer.finish_reason),
            usage: answer.usage.or(self.usage),
            ..answer
        }
    }
}

fn name<'a>(about: &mut Json<'a>) -> Option<Cow<'a, str>> {
    ["model_name", "model", "model_id", "modelName"].into_iter().find_map(|key| take_name(about, key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::body::{read_answer, read_question};

    #[track_caller]
    fn check(json: &str, text: Option<&str>, calls: &[&str], about: [Option<&str>; 2], tokens: [Option<u64>; 2]) {
        let answer = read_answer(Json::parse(json.as_bytes()).unwrap()).unwrap();
        let names: Vec<String> =
            answer.tool_calls.iter().map(|call| format!("{}{}", call.name, call.args.to_compact_string())).collect();
        assert_eq!(answer.text.as_deref(), text);
        assert_eq!(names, calls);
        assert_eq!([answer.model.as_deref(), answer.finish_reason.as_deref()], about);
        assert_eq!([answer.usage.prompt, answer.usage.response], tokens);
    }

    #[test]
    fn what_models_give() {
        // Counts in the message, and in `llm_output`; a message with parts; a completion; LangChain for JavaScript.
        check(
            r#"{"generations":[[{"text":"Hi","generation_info":{"finish_reason":"stop"},"message":{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"Hi","usage_metadata":{"input_tokens":3,"output_tokens":2},"response_metadata":{"model_name":"m","finish_reason":"length"}}}}]],"llm_output":null,"type":"LLMResult"}"#,
            Some("Hi"),
            &[],
            [Some("m"), Some("stop")],
            [Some(3), Some(2)],
        );
        check(
            r#"{"generations":[[{"text":"","message":{"lc":1,"id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":[{"type":"tool_use","id":"a","name":"f","input":{}}],"additional_kwargs":{},"tool_calls":[{"id":"a","name":"f","args":{"x":1},"type":"tool_call"}]}}}]],"llm_output":{"usage":{"input_tokens":3,"output_tokens":2},"model":"m","stop_reason":"tool_use"}}"#,
            None,
            &[r#"f{"x":1}"#],
            [Some("m"), Some("tool_calls")],
            [Some(3), Some(2)],
        );
        check(
            r#"{"generations":[[{"text":"Hi","generation_info":null}]],"llm_output":{"token_usage":{"prompt_tokens":3,"completion_tokens":2},"model_name":"m"}}"#,
            Some("Hi"),
            &[],
            [Some("m"), None],
            [Some(3), Some(2)],
        );
        check(
            r#"{"generations":[[{"text":"","message":{"lc":1,"id":["langchain_core","messages","AIMessageChunk"],"kwargs":{"content":"","additional_kwargs":{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},"tool_calls":[]}},"generationInfo":{"finish_reason":"tool_calls"}}]],"llmOutput":{"tokenUsage":{"promptTokens":3,"completionTokens":2}}}"#,
            None,
            &[r#"f{"x":1}"#],
            [None, Some("tool_calls")],
            [Some(3), Some(2)],
        );
        check(
            r#"{"content":"Hi","additional_kwargs":{},"response_metadata":{"token_usage":{"prompt_tokens":3,"completion_tokens":2},"model_name":"m","finish_reason":"stop"},"type":"ai","id":"run-1","usage_metadata":null,"example":false}"#,
            Some("Hi"),
            &[],
            [Some("m"), Some("stop")],
            [Some(3), Some(2)],
        );
    }

    #[test]
    fn what_models_are_asked() {
        let said = |json: &str| {
            let asked = read_question(Json::parse(json.as_bytes()).unwrap()).unwrap();
            let turns = asked.turns.iter().map(|turn| format!("{}: {}", turn.message.role, turn.message.text));
            (asked.system.as_deref().map(str::to_owned), turns.collect::<Vec<_>>())
        };
        let dumped = r#"{"lc":1,"type":"constructor","id":["langchain","schema","messages","SystemMessage"],"kwargs":{"content":"s"}},{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"u"}}"#;
        let as_dict = r#"{"type":"system","data":{"content":"s","type":"system"}},{"type":"human","data":{"content":"u","type":"human"}}"#;
        let model = r#"{"type":"system","content":"s"},{"type":"human","content":"u"}"#;
        let shorthand = r#"["system","s"],["human","u"]"#;
        for messages in [dumped, as_dict, model, shorthand] {
            let expected = (Some("s".to_owned()), vec!["user: u".to_owned()]);
            assert_eq!(said(&format!("[{messages}]")), expected);
            assert_eq!(said(&format!("[[{messages}]]")), expected);
            assert_eq!(said(&format!(r#"{{"messages":[[{messages}]]}}"#)), expected);
            assert_eq!(said(&format!(r#"{{"messages":[{messages}]}}"#)), expected);
        }
    }
}
