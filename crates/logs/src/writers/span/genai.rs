//! GenAI spans, of all ages of the conventions: texts in attributes, in events of the span, or in log records.
//!
//! | texts in | written by |
//! |---|---|
//! | `gen_ai.input.messages`, `gen_ai.output.messages`, as JSON or as values | conventions from 1.37 on; also in the event `gen_ai.client.inference.operation.details` |
//! | events `gen_ai.{system,user,assistant,tool}.message`, `gen_ai.choice` | conventions up to 1.36: log records, and in some SDKs events of the span (Azure, Strands) |
//! | events `gen_ai.content.prompt`, `gen_ai.content.completion` | conventions of 2024 |
//! | `gcp.vertex.agent.llm_request`, `gcp.vertex.agent.llm_response` | Google ADK |
//!
//! **Source**: semantic-conventions-genai, and the SDKs of Azure, AWS Strands, Semantic Kernel and Google ADK.
//! `gen_ai.server.time_to_first_token` is in seconds by the conventions; Strands writes milliseconds.

use std::borrow::Cow;

use super::{Attributes, Event, Span, documents_of};
use crate::record::{
    Dialect, Note,
    body::{
        self, Answer, Conversation,
        message::{Joined, Said, result_text, take_text, text_of},
        openai_chat,
    },
    call::{Call, count, decoded, is_said},
    json::Json,
    values::Unit,
};

/// The event with the whole of a call, and of some SDKs with a part of it.
pub(in crate::writers) const DETAILS: &str = "gen_ai.client.inference.operation.details";

/// What Strands calls the provider.
const STRANDS: &str = "strands-agents";

/// What the events of a span say.
#[derive(Debug, Default)]
pub(super) struct Told<'a> {
    system: Option<Cow<'a, str>>,
    messages: Vec<Json<'a>>,
    choices: Vec<Json<'a>>,
    output: Vec<Json<'a>>,
}

impl<'a> Told<'a> {
    /// Takes what the events of a span say of the call.
    pub fn of(events: &mut [Event<'a>]) -> Told<'a> {
        let mut told = Told::default();
        for event in events {
            told.take(&event.name, &mut event.attributes);
        }
        told
    }

    fn take(&mut self, name: &str, of: &mut Attributes<'a>) {
        match name {
            "gen_ai.content.prompt" => match of.take(&["gen_ai.prompt", "gen_ai.event.content"]).map(decoded) {
                Some(Json::Array(messages)) => self.messages.extend(messages),
                Some(Json::Object(mut body)) => match body.iter_mut().find(|(key, _)| key == "messages") {
                    Some((_, messages)) => self.messages.extend(super::list_of(std::mem::take(messages))),
                    None => self.messages.push(Json::Object(body)),
                },
                other => self.messages.extend(other),
            },
            "gen_ai.content.completion" => match of.take(&["gen_ai.completion", "gen_ai.event.content"]).map(decoded) {
                Some(Json::Array(messages)) => self.output.extend(messages),
                other => self.output.extend(other),
            },
            DETAILS => {
                let system = of.take(&["gen_ai.system_instructions"]).map(decoded).and_then(text_of);
                self.system = self.system.take().or(system);
                self.messages.extend(messages_at(of, &["gen_ai.input.messages"]));
                self.output.extend(messages_at(of, &["gen_ai.output.messages"]));
            }
            _ => {
                if let Some(kind) = kind_of_event(name) {
                    let body = match of.take(&["gen_ai.event.content"]) {
                        Some(body) => body,
                        None => std::mem::take(of).into_object(),
                    };
                    match message_in(body, kind) {
                        Some(message) if kind == "choice" => self.choices.push(message),
                        Some(message) => self.messages.push(message),
                        None => {}
                    }
                }
            }
        }
    }

    /// Takes events that stand in an attribute, as a list (pydantic-ai, Logfire). The last message of the assistant there
    /// is the answer, where no choice is told.
    fn take_list(&mut self, events: Option<Json<'a>>) {
        let Some(Json::Array(events)) = events else { return };
        for mut event in events {
            let Some(name) = take_text(&mut event, "event.name") else { continue };
            self.take(&name, &mut Attributes::of_object(event));
        }
        let is_answer = self.messages.last().and_then(|last| last.get("role")?.as_str()) == Some("assistant");
        if self.choices.is_empty() && self.output.is_empty() && is_answer {
            self.output.extend(self.messages.pop());
        }
    }

    /// What is asked, where the attributes of the span do not say it.
    fn ask(&mut self, call: &mut Call<'a>) {
        let messages = std::mem::take(&mut self.messages);
        if call.record.prompt.is_absent() && !messages.is_empty() {
            call.asked(Conversation::of_messages(messages));
        }
        call.record.system = call.record.system.take().or(self.system.take());
    }

    /// What is answered, where the attributes of the span do not say it.
    fn answer(&mut self, call: &mut Call<'a>) {
        if call.record.response.is_some() || !call.record.tool_calls.is_empty() {
            return;
        }
        if self.output.is_empty() {
            answer_choices(std::mem::take(&mut self.choices), call);
        } else {
            read_output(std::mem::take(&mut self.output), call);
        }
    }

    /// What a tool was called with and what it answered.
    pub fn of_tool(self) -> (Option<Json<'a>>, Option<Json<'a>>) {
        let args = self.messages.into_iter().find_map(|message| part_of(message, &["arguments"], &["content"]));
        let choices = self.choices.into_iter().filter_map(|mut choice| choice.take("message"));
        let results = self.output.into_iter().chain(choices);
        let result =
            results.into_iter().find_map(|message| part_of(message, &["response", "result", "content"], &["content"]));
        (args, result.map(|result| Json::String(result_text(result))))
    }
}

/// What stands under a key of the only part of a message, or else of the message itself.
fn part_of<'a>(mut message: Json<'a>, in_part: &[&str], in_message: &[&str]) -> Option<Json<'a>> {
    if let Some(Json::Array(parts)) = message.take("parts") {
        return parts.into_iter().find_map(|mut part| in_part.iter().find_map(|key| part.take(key)));
    }
    let held = in_message.iter().find_map(|key| message.take(key));
    held.filter(is_said).map(decoded)
}

/// The kind of message that an event of the conventions up to 1.36 holds: `system`, `user`, `assistant`, `tool`, `choice`.
pub(in crate::writers) fn kind_of_event(name: &str) -> Option<&str> {
    let name = name.strip_prefix("gen_ai.")?;
    match name.strip_suffix(".message") {
        Some(kind @ ("system" | "developer" | "user" | "assistant" | "tool")) => Some(kind),
        _ => (name == "choice").then_some(name),
    }
}

/// The message in the body of an event, or the choice; `None` where content was not recorded. The body may be JSON in a
/// string, a text alone, or an object whose content is JSON in a string; the role may be told by the event alone.
pub(in crate::writers) fn message_in<'a>(body: Json<'a>, kind: &str) -> Option<Json<'a>> {
    let mut body = match decoded(body) {
        Json::Object(entries) => Json::Object(entries),
        content if is_said(&content) => Json::Object(vec![("content".into(), content)]),
        _ => return None,
    };
    if kind == "choice" {
        // What is answered stands under `message`, of Google ADK under `content`.
        let mut message = body.take("message").map(decoded);
        if !matches!(message, Some(Json::Object(_))) {
            let content = message.take().or_else(|| body.take("content").map(decoded)).filter(is_said);
            message = content.map(|content| {
                let calls = body.take("tool_calls");
                let calls = calls.map(|calls| ("tool_calls".into(), decoded(calls)));
                Json::Object([("content".into(), content)].into_iter().chain(calls).collect())
            });
        }
        let message = message.map(|message| ("message".into(), with_role(message, "assistant")));
        let reason = body.take("finish_reason").filter(is_said).map(|reason| ("finish_reason".into(), reason));
        let choice: Vec<_> = message.into_iter().chain(reason).collect();
        return (!choice.is_empty()).then_some(Json::Object(choice));
    }
    let has = |key: &str| body.get(key).is_some_and(is_said);
    if !["content", "tool_calls", "parts", "text", "items"].into_iter().any(has) {
        return None;
    }
    let Json::Object(entries) = &mut body else { return None };
    for (key, value) in entries.iter_mut() {
        match key.as_ref() {
            "content" | "tool_calls" => *value = content_of(std::mem::take(value)),
            // The id of a tool's message is that of the call that it answers.
            "id" if kind == "tool" => *key = "tool_call_id".into(),
            _ => {}
        }
    }
    Some(with_role(body, kind))
}

/// A content that is a list of parts as JSON in a string; a text that is an object is a text.
fn content_of(content: Json<'_>) -> Json<'_> {
    match content {
        Json::String(text) if text.starts_with("[{") => match Json::parse_text(text) {
            Ok(list @ Json::Array(_)) => list,
            Ok(other) => Json::String(other.to_compact_string().into()),
            Err(text) => Json::String(text),
        },
        other => other,
    }
}

fn with_role<'a>(mut message: Json<'a>, role: &str) -> Json<'a> {
    if let Json::Object(entries) = &mut message {
        match entries.iter_mut().find(|(key, _)| key == "role") {
            Some((_, told)) if is_said(told) => {}
            Some((_, told)) => *told = Json::String(role.to_owned().into()),
            None => entries.insert(0, ("role".into(), Json::String(role.to_owned().into()))),
        }
    }
    message
}

/// Takes the choices of an answer: the first is read.
pub(in crate::writers) fn answer_choices<'a>(choices: Vec<Json<'a>>, call: &mut Call<'a>) {
    if !choices.is_empty() {
        // A choice without a message was not recorded; it still says why the answer ended.
        let answer = openai_chat::read_choices(Json::Array(choices));
        call.answered(answer);
    }
}

/// Messages as a list, or as JSON of one.
fn messages_at<'a>(of: &mut Attributes<'a>, keys: &[&str]) -> Vec<Json<'a>> {
    match of.take(keys).map(decoded) {
        Some(Json::Array(messages)) => messages.into_iter().filter(is_said).collect(),
        Some(message @ Json::Object(_)) => vec![message],
        _ => Vec::new(),
    }
}

pub(super) fn read<'a>(span: &mut Span<'a>, dialect: Dialect, call: &mut Call<'a>) {
    if dialect == Dialect::TraceloopFlat {
        super::flat::read(&mut span.attributes, call);
    }
    let mut told = Told::of(&mut span.events);
    let of = &mut span.attributes;
    told.take_list(of.take(&["events"]).map(decoded));
    call.record.provider = of.name(&["gen_ai.provider.name", "gen_ai.system"]);
    let is_strands = call.record.provider.as_deref() == Some(STRANDS);
    call.requested = of.name(&["gen_ai.request.model"]).or(call.requested.take());
    call.served = of.name(&["gen_ai.response.model"]);
    call.record.response_id = of.name(&["gen_ai.response.id"]);
    call.record.id = call.record.response_id.clone();
    let system = of.take(&["gen_ai.system_instructions"]).map(decoded).and_then(text_of);
    let input = messages_at(of, &["gen_ai.input.messages", "gen_ai.prompt"]);
    if !input.is_empty() {
        call.asked(Conversation::of_messages(input));
    }
    told.ask(call);
    call.record.system = body::join_lines(system.into_iter().chain(call.record.system.take()).collect());
    let output = messages_at(of, &["gen_ai.output.messages", "gen_ai.completion"]);
    if !output.is_empty() {
        read_output(output, call);
    }
    told.answer(call);
    let is_body = |value: &Json<'_>| value.as_object().is_some_and(|entries| !entries.is_empty());
    let mut adk = |key: &str| of.take(&[key]).map(decoded).filter(is_body);
    let (request, response) = (adk("gcp.vertex.agent.llm_request"), adk("gcp.vertex.agent.llm_response"));
    if call.record.prompt.is_absent() {
        call.ask(request);
    }
    if call.record.response.is_none() && call.record.tool_calls.is_empty() {
        call.answer(response);
    }
    let reasons = of.take(&["gen_ai.response.finish_reasons", "gen_ai.response.finish_reason"]).map(decoded);
    let reason = reasons.and_then(|reasons| match reasons {
        Json::Array(reasons) => reasons.into_iter().find_map(text_of),
        reason => text_of(reason),
    });
    // Semantic Kernel writes the name of an enumeration.
    let reason = reason.map(|reason| match reason.strip_prefix("FinishReason.") {
        Some(name) => name.to_ascii_lowercase().into(),
        None => reason,
    });
    call.record.finish_reason = match call.record.finish_reason.take() {
        Some(told) if reason.as_ref().is_none_or(|reason| reason.is_empty()) => Some(told),
        told => reason.or(told),
    };
    call.record.tools = call.record.tools.take().or_else(|| of.take(&["gen_ai.tool.definitions"]).map(decoded));
    call.record.context.extend(documents_of(of));
    call.tokens(
        of.get("gen_ai.usage.input_tokens").or_else(|| of.get("gen_ai.usage.prompt_tokens")),
        of.get("gen_ai.usage.output_tokens").or_else(|| of.get("gen_ai.usage.completion_tokens")),
    );
    let cached =
        of.get("gen_ai.usage.cache_read.input_tokens").or_else(|| of.get("gen_ai.usage.cache_read_input_tokens"));
    call.record.cached_tokens = call.record.cached_tokens.or(count(cached));
    let reasoning = of.get("gen_ai.usage.reasoning.output_tokens").or_else(|| of.get("gen_ai.usage.reasoning_tokens"));
    call.record.reasoning_tokens = call.record.reasoning_tokens.or(count(reasoning));
    let unit = if is_strands { Unit::Ms } else { Unit::S };
    let first_token = of.take(&["gen_ai.server.time_to_first_token"]);
    call.reported_ttft(
        of.take(&["gen_ai.response.time_to_first_chunk", "gen_ai.latency.time_to_first_token"]).as_ref(),
        Unit::S,
    );
    call.reported_ttft(first_token.as_ref(), unit);
}

/// The first message of an output is the answer; others are other answers.
pub(super) fn read_output<'a>(messages: Vec<Json<'a>>, call: &mut Call<'a>) {
    let count = messages.len();
    let Some(mut first) = messages.into_iter().next() else { return };
    let finish_reason = take_text(&mut first, "finish_reason");
    let mut said = Said::default();
    said.add(first, Joined::ByLines);
    let mut answer = Answer::of_said(said);
    answer.finish_reason = finish_reason.filter(|reason| !reason.is_empty()).or(answer.finish_reason);
    if count > 1 {
        answer.notes.add(Note::FurtherAnswers);
    }
    call.answered(answer);
}
