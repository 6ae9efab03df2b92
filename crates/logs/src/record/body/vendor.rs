//! Bodies of vendors and servers that spell theirs in a way of their own, and without messages as a rule.
//!
//! | of | asked | answered |
//! |---|---|---|
//! | Titan | `inputText` | `results[].outputText` |
//! | Llama on Bedrock | `prompt` | `generation` |
//! | Mistral on Bedrock | `prompt` | `outputs[].text` |
//! | Cohere | `message` with `chat_history`, `preamble`, `documents` | `text`, `generations[].text`; since 2.0 `message` |
//! | Text Generation Inference, SageMaker, watsonx | `inputs`, `input` | `generated_text`, `results[].generated_text` |
//! | llama.cpp | `prompt` | `content` with `tokens_predicted` |
//! | Anthropic until 2023 | `prompt` | `completion` with `stop_reason` |
//! | Vertex AI endpoints | `instances` | `predictions` |
//! | AI21, HELM | `prompt` | `completions[].text`, `completions[].data.text` |
//! | Triton | `text_input` | `text_output` |
//! | the Vercel AI SDK | | `text` with `finishReason` |
//!
//! What stands around the text says why it ended and how many tokens it took, under names that are looked for in any of
//! these bodies.
//!
//! **Source**: the API references of the vendors; the parameters of models in the Bedrock user guide; huggingface
//! `text-generation-inference`, ggml-org `llama.cpp/tools/server`, stanford-crfm `helm`.

use std::borrow::Cow;

use super::{
    Answer, Conversation,
    message::{self, Joined, Said, passage, take_text},
    note_further,
    usage::Usage,
};
use crate::record::{
    Dialect, Notes,
    fields::{self, Field, Target},
    json::Json,
    values::{self, Unit},
};

/// Lists of answers, and where the text stands in an element.
const LISTS: [&str; 5] = ["results", "outputs", "generations", "completions", "predictions"];
/// Names of a text that is an answer wherever it stands.
const OWN_TEXTS: [&str; 4] = ["generated_text", "outputText", "generation", "text_output"];
/// Names of a text that is an answer beside one of [`ENDS`].
const TEXTS: [&str; 3] = ["text", "completion", "content"];
/// What only an answer has beside its text.
const ENDS: [&str; 12] = [
    "finish_reason",
    "finishReason",
    "stop_reason",
    "completionReason",
    "stop_type",
    "stopped_eos",
    "generation_id",
    "tokens_predicted",
    "logprob",
    "logprobs",
    "is_finished",
    "safetyAttributes",
];

/// Whether the value is a response body, and no record that also holds what was asked.
pub(crate) fn is_response(value: &Json<'_>) -> bool {
    let Some(entries) = value.as_object() else { return false };
    let is_asked = |key: &str| {
        let targets = fields::meanings(key).iter();
        targets.filter(|target| target.field == Field::Prompt).any(Target::is_own_name)
    };
    let is_alone = || !entries.iter().any(|(key, value)| !value.is_null() && is_asked(key));
    LISTS.iter().any(|key| value.get(key).is_some_and(is_list))
        || ((says_own(value) || says(value) || answers_with_message(value)) && is_alone())
}

fn is_text(value: &Json<'_>) -> bool {
    value.as_str().is_some()
}

/// Whether a value has a text under a name that only answers have.
fn says_own(value: &Json<'_>) -> bool {
    OWN_TEXTS.iter().any(|key| value.get(key).is_some_and(is_text))
}

/// Whether a value has a text, and something that only answers have beside it.
fn says(value: &Json<'_>) -> bool {
    TEXTS.iter().any(|key| value.get(key).is_some_and(is_text))
        && ENDS.iter().any(|key| value.get(key).is_some_and(|end| !end.is_null()))
        && !super::has_role(value)
}

/// Whether a value is a list of answers.
fn is_list(list: &Json<'_>) -> bool {
    let is_one = |item: &Json<'_>| {
        says_own(item) || says(item) || item.get("data").is_some_and(|data| data.get("text").is_some_and(is_text))
    };
    list.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(is_one))
}

/// Whether a value has one message of the assistant, and something that only answers have beside it.
fn answers_with_message(value: &Json<'_>) -> bool {
    let ends =
        || ["finish_reason", "stop_reason", "usage"].iter().any(|key| value.get(key).is_some_and(|end| !end.is_null()));
    value.get("message").is_some_and(|message| message::role(message) == Some("assistant")) && ends()
}

/// Reads a response body.
pub(crate) fn read_response<'a>(mut body: Json<'a>) -> Option<Answer<'a>> {
    let mut notes = Notes::default();
    let (counts, latency_ms) = (usage_of(&body), latency_ms(&body));
    let name = |from: &Json<'a>, keys: &[&str]| {
        keys.iter().find_map(|key| values::name(from.get(key)?.clone()).ok().flatten())
    };
    let (id, model) = (name(&body, &["generation_id", "id"]), name(&body, &["model", "model_id", "model_name"]));
    let mut place = match LISTS.iter().find(|key| body.get(key).is_some_and(is_list)).and_then(|key| body.take(key)) {
        Some(Json::Array(mut items)) => {
            note_further(items.len(), &mut notes);
            items.swap_remove(0)
        }
        _ => std::mem::take(&mut body),
    };
    let beside = usage_of(&place);
    let usage =
        Usage { prompt: counts.prompt.or(beside.prompt), response: counts.response.or(beside.response), ..counts };
    let finish_reason = finish_reason(&mut place).or_else(|| finish_reason(&mut body));
    let message = place.take("message").filter(|message| message::role(message) == Some("assistant"));
    let mut answer = match message {
        Some(message) => {
            let mut said = Said::default();
            said.add(message, Joined::ByLines);
            Answer::of_said(said)
        }
        None => {
            if place.get("text").is_none()
                && let Some(inner @ Json::Object(_)) = place.take("data")
            {
                place = inner;
            }
            let text = OWN_TEXTS.into_iter().chain(TEXTS).find_map(|key| take_text(&mut place, key));
            let tool_calls = ["toolCalls", "tool_calls"].into_iter().find_map(|key| place.take(key));
            let tool_calls = tool_calls.map(message::read_calls).unwrap_or_default();
            let text = text.filter(|text| !text.is_empty() || tool_calls.is_empty());
            Answer { text, tool_calls, ..Answer::default() }
        }
    };
    if answer.text.is_none() && answer.tool_calls.is_empty() {
        return None;
    }
    answer.notes.merge(notes);
    let finish_reason = finish_reason.or(answer.finish_reason);
    Some(Answer { dialect: Some(Dialect::Vendor), id, model, finish_reason, latency_ms, usage, ..answer })
}

/// Why the answer ended; some write an object in its place.
fn finish_reason<'a>(place: &mut Json<'a>) -> Option<Cow<'a, str>> {
    let details = place.get("details").and_then(|details| details.get("finish_reason")).cloned();
    let reason = ["finish_reason", "finishReason", "stop_reason", "completionReason", "stop_type"]
        .into_iter()
        .find_map(|key| place.take(key));
    match reason.or(details)? {
        Json::String(reason) => Some(reason),
        mut other => take_text(&mut other, "reason"),
    }
}

/// Token counts, which stand beside the text or in an object of their own.
fn usage_of(body: &Json<'_>) -> Usage {
    let nested = ["/usage/tokens", "/usage/billed_units", "/meta/tokens", "/meta/billed_units", "/usage"];
    let counts = nested.iter().filter_map(|path| body.pointer(path)).find(|counts| Usage::is_one(counts));
    if let Some(counts) = counts {
        return Usage::of(counts);
    }
    let count = |key: &str| values::count(body.pointer(key)?).ok();
    let first = |keys: &[&str]| keys.iter().find_map(|key| count(key));
    Usage {
        prompt: first(&["/inputTextTokenCount", "/prompt_token_count", "/input_token_count", "/tokens_evaluated"]),
        response: first(&[
            "/tokenCount",
            "/generation_token_count",
            "/generated_token_count",
            "/tokens_predicted",
            "/details/generated_tokens",
        ]),
        ..Usage::default()
    }
}

/// What llama.cpp measures: reading the prompt and writing the answer.
fn latency_ms(body: &Json<'_>) -> Option<f64> {
    let ms = |path: &str| values::duration_ms(body.pointer(path)?, Unit::Ms).ok();
    Some(ms("/timings/prompt_ms")? + ms("/timings/predicted_ms")?)
}

/// Whether the value is a request body that no answer, log or record of somebody's own looks like.
pub(crate) fn is_request(value: &Json<'_>) -> bool {
    const PARAMETERS: [&str; 13] = [
        "parameters",
        "temperature",
        "max_tokens",
        "max_tokens_to_sample",
        "max_gen_len",
        "maxTokens",
        "n_predict",
        "top_p",
        "textGenerationConfig",
        "stream",
        "chat_history",
        "preamble",
        "options",
    ];
    let has_parameters = || PARAMETERS.iter().any(|key| value.get(key).is_some());
    value.get("inputText").is_some_and(is_text)
        || value.get("text_input").is_some_and(is_text)
        || value
            .pointer("/instances/0")
            .is_some_and(|first| instance_text(first).is_some() || first.get("messages").is_some())
        || (["prompt", "inputs", "message"].iter().any(|key| value.get(key).is_some_and(is_text)) && has_parameters())
}

/// Reads a request body.
pub(crate) fn read_request(mut body: Json<'_>) -> Option<Conversation<'_>> {
    // A prompt beside its parameters is nobody's own.
    let is_own = ["instances", "inputText", "text_input", "chat_history"].iter().any(|key| body.get(key).is_some());
    let dialect = is_own.then_some(Dialect::Vendor);
    let model = ["model", "model_id"].into_iter().find_map(|key| take_text(&mut body, key));
    if let Some(Json::Array(instances)) = body.take("instances") {
        let first = instances.into_iter().next()?;
        if first.get("messages").is_some() {
            return super::read_request_body(first).ok();
        }
        let text = instance_text(&first)?.to_owned();
        return Some(Conversation { dialect, model, text: Some(text.into()), ..Conversation::default() });
    }
    let text = ["inputText", "prompt", "inputs", "message", "text_input"]
        .into_iter()
        .find_map(|key| take_text(&mut body, key))?;
    let Some(Json::Array(history)) = body.take("chat_history") else {
        return Some(Conversation { dialect, model, text: Some(text), ..Conversation::default() });
    };
    // Cohere keeps what was said before beside what is said.
    let mut said = Said::default();
    for mut turn in history {
        if let Some(text) = take_text(&mut turn, "message")
            && let Json::Object(entries) = &mut turn
        {
            entries.push(("content".into(), Json::String(text)));
        }
        said.add(turn, Joined::ByLines);
    }
    said.add(Json::String(text), Joined::ByLines);
    let documents = match body.take("documents") {
        Some(Json::Array(documents)) => documents.into_iter().filter_map(passage).collect(),
        _ => Vec::new(),
    };
    let asked = Conversation::of_said(said);
    let (system, tools) = (take_text(&mut body, "preamble").or(asked.system.clone()), body.take("tools"));
    Some(Conversation { dialect, model, system, tools, context: documents, ..asked })
}

fn instance_text<'v>(instance: &'v Json<'_>) -> Option<&'v str> {
    ["prompt", "content", "inputs", "text"].iter().find_map(|key| instance.get(key)?.as_str())
}

/// What a body is that answers no question of a model of language, as a noun; `None` for all others.
pub(crate) fn no_call(value: &Json<'_>) -> Option<&'static str> {
    let first = |key: &str| value.get(key).and_then(Json::as_array).and_then(<[_]>::first);
    let has =
        |one: Option<&Json<'_>>, keys: &[&str]| keys.iter().any(|key| one.is_some_and(|one| one.get(key).is_some()));
    let is_floats = |list: Option<&Json<'_>>| list.is_some_and(is_vector);
    let object = value.get("object").and_then(Json::as_str);
    let of = first("data").and_then(|first| first.get("object")).and_then(Json::as_str);
    if has(first("data"), &["embedding"])
        || is_floats(value.get("embedding").filter(|list| list.as_array().is_some()))
        || is_floats(value.get("embeddings"))
        || is_floats(value.pointer("/embeddings/float"))
        || is_floats(value.pointer("/embedding/values"))
        || has(value.pointer("/predictions/0"), &["embeddings"])
        || has(first("embeddings"), &["values"])
    {
        return Some("an embedding");
    }
    if has(first("results"), &["relevance_score", "flagged"]) {
        let is_moderation = has(first("results"), &["flagged"]);
        return Some(if is_moderation { "a moderation" } else { "a reranking" });
    }
    if has(first("data"), &["b64_json", "revised_prompt"]) || is_image_url(first("data")) {
        return Some("an image");
    }
    match (object, of) {
        (Some("list"), Some("model")) => Some("a list of models"),
        (Some("file" | "batch" | "assistant" | "vector_store" | "thread"), _) => Some("an object of a provider"),
        (Some("list"), Some("file" | "batch" | "assistant" | "vector_store" | "thread")) => {
            Some("a list of objects of a provider")
        }
        _ => None,
    }
}

/// Whether a value is a list of numbers, or of such lists.
fn is_vector(value: &Json<'_>) -> bool {
    let first = value.as_array().and_then(<[_]>::first);
    first.is_some_and(|first| first.as_number().is_some() || is_vector(first))
}

/// Whether an element of a list is an image by its address, and nothing else.
fn is_image_url(first: Option<&Json<'_>>) -> bool {
    first.and_then(Json::as_object).is_some_and(|entries| matches!(entries, [(key, _)] if key == "url"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::body::{read_answer, read_question};

    #[test]
    fn answers_of_many_vendors() {
        let check = |json: &str, finish: Option<&str>, tokens: [Option<u64>; 2]| {
            let value = Json::parse(json.as_bytes()).unwrap();
            assert!(is_response(&value), "{json}");
            let answer = read_answer(value).unwrap();
            assert_eq!((answer.text.as_deref(), answer.finish_reason.as_deref()), (Some("Hi"), finish), "{json}");
            assert_eq!([answer.usage.prompt, answer.usage.response], tokens, "{json}");
        };
        let both = [Some(3), Some(2)];
        check(
            r#"{"inputTextTokenCount":3,"results":[{"tokenCount":2,"outputText":"Hi","completionReason":"FINISH"}]}"#,
            Some("FINISH"),
            both,
        );
        check(
            r#"{"generation":"Hi","prompt_token_count":3,"generation_token_count":2,"stop_reason":"stop"}"#,
            Some("stop"),
            both,
        );
        check(r#"{"outputs":[{"text":"Hi","stop_reason":"stop"}]}"#, Some("stop"), [None, None]);
        check(
            r#"{"text":"Hi","generation_id":"g","finish_reason":"COMPLETE","meta":{"billed_units":{"input_tokens":3,"output_tokens":2}}}"#,
            Some("COMPLETE"),
            both,
        );
        check(
            r#"{"id":"i","message":{"role":"assistant","content":[{"type":"text","text":"Hi"}]},"finish_reason":"COMPLETE","usage":{"billed_units":{"input_tokens":1,"output_tokens":1},"tokens":{"input_tokens":3,"output_tokens":2}}}"#,
            Some("COMPLETE"),
            both,
        );
        check(
            r#"{"generated_text":"Hi","details":{"finish_reason":"eos_token","generated_tokens":2}}"#,
            Some("eos_token"),
            [None, Some(2)],
        );
        check(
            r#"{"model_id":"m","results":[{"generated_text":"Hi","generated_token_count":2,"input_token_count":3,"stop_reason":"eos_token"}]}"#,
            Some("eos_token"),
            both,
        );
        check(
            r#"{"content":"Hi","stop":true,"stop_type":"eos","tokens_evaluated":3,"tokens_predicted":2,"timings":{"prompt_ms":10.5,"predicted_ms":20}}"#,
            Some("eos"),
            both,
        );
        check(r#"{"completion":"Hi","stop_reason":"stop_sequence"}"#, Some("stop_sequence"), [None, None]);
        check(
            r#"{"success":true,"completions":[{"text":"Hi","logprob":-1.5,"finish_reason":{"reason":"stop"}}]}"#,
            Some("stop"),
            [None, None],
        );
        check(
            r#"{"completions":[{"data":{"text":"Hi"},"finishReason":{"reason":"endoftext"}}]}"#,
            Some("endoftext"),
            [None, None],
        );
        check(r#"{"predictions":[{"content":"Hi","safetyAttributes":{}}]}"#, None, [None, None]);
        check(
            r#"{"text":"Hi","toolCalls":[],"finishReason":"stop","usage":{"promptTokens":3,"completionTokens":2}}"#,
            Some("stop"),
            both,
        );
    }

    #[test]
    fn questions_of_many_vendors() {
        let check = |json: &str, system: Option<&str>, texts: &[&str]| {
            let mut asked = read_question(Json::parse(json.as_bytes()).unwrap()).unwrap();
            let prompt = asked.prompt();
            let got: Vec<&str> = prompt.texts().map(|(_, text)| text).collect();
            assert_eq!((asked.system.as_deref(), got.as_slice()), (system, texts), "{json}");
        };
        check(r#"{"inputText":"Hi","textGenerationConfig":{}}"#, None, &["Hi"]);
        check(r#"{"inputs":"Hi","parameters":{"max_new_tokens":5}}"#, None, &["Hi"]);
        check(r#"{"instances":[{"prompt":"Hi"}],"parameters":{}}"#, None, &["Hi"]);
        check(r#"{"instances":[{"messages":[{"role":"user","content":"Hi"}]}]}"#, None, &["Hi"]);
        check(
            r#"{"message":"Hi","preamble":"Be brief.","chat_history":[{"role":"USER","message":"a"},{"role":"CHATBOT","message":"b"}],"documents":[{"title":"t","snippet":"s"}]}"#,
            Some("Be brief."),
            &["a", "b", "Hi"],
        );
    }

    #[test]
    fn what_only_looks_so_is_no_answer() {
        for json in [
            r#"{"prompt":"p","completion":"c","stop_reason":"stop"}"#,
            r#"{"text":"Hi"}"#,
            r#"{"content":"Hi"}"#,
            r#"{"results":[{"text":"Hi"}]}"#,
            r#"{"message":"started","finish_reason":"x"}"#,
        ] {
            assert!(!is_response(&Json::parse(json.as_bytes()).unwrap()), "{json}");
        }
    }

    #[test]
    fn bodies_without_a_call_are_named() {
        for (json, expected) in [
            (r#"{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1]}]}"#, "an embedding"),
            (r#"{"data":[{"embedding":"//5+Pg=="}]}"#, "an embedding"),
            (r#"{"embedding":[0.1,0.2],"inputTextTokenCount":3}"#, "an embedding"),
            (r#"{"embeddings":[[0.1,0.2]]}"#, "an embedding"),
            (r#"{"embeddings":{"float":[[0.1]]}}"#, "an embedding"),
            (r#"{"embedding":{"values":[0.1]}}"#, "an embedding"),
            (r#"{"predictions":[{"embeddings":{"values":[0.1]}}]}"#, "an embedding"),
            (r#"{"results":[{"index":0,"relevance_score":0.9}]}"#, "a reranking"),
            (r#"{"id":"m","results":[{"flagged":false}]}"#, "a moderation"),
            (r#"{"created":1,"data":[{"b64_json":"a"}]}"#, "an image"),
            (r#"{"created":1,"data":[{"url":"https://a"}]}"#, "an image"),
            (r#"{"object":"list","data":[{"id":"gpt","object":"model"}]}"#, "a list of models"),
        ] {
            assert_eq!(no_call(&Json::parse(json.as_bytes()).unwrap()), Some(expected), "{json}");
        }
        assert_eq!(no_call(&Json::parse(br#"{"data":[{"id":1}],"results":[{"text":"a"}]}"#).unwrap()), None);
    }
}
