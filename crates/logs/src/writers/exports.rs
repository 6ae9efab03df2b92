//! What chat applications export: conversations in frames of their own. Each answer is a call.
//!
//! - ChatGPT (and DeepSeek): `mapping` is a tree of messages; the branch that `current_node` ends counts, else the last one
//! - Open WebUI: `chat` with a list of `messages`, or a tree below `history`; `sources` of an answer are its documents
//! - LibreChat: a list of messages, or a tree of `children`
//! - Chatbot UI: `history`, with the model beside each list of messages
//! - text-generation-webui: pairs of question and answer below `internal`
//! - Character.AI: `turns` with `candidates`; Grok: `responses` of a conversation
//! - Gemini Apps in Google Takeout: an entry of My Activity, whose answer is HTML
//!
//! Claude.ai, Hugging Face Chat, Jan, SillyTavern and Flowise keep lists or lines of messages, which need no frame to be read
//! ([`chat`](super::chat)).
//!
//! **Source**: exports of ChatGPT and of Open WebUI 0.6; LibreChat `useExportConversation`; Chatbot UI v4; Google Takeout.
//!
//! **Limits**: branches that were left are not read. A tree of more than [`NODES_MAX`] messages is read from its end.

use std::borrow::Cow;

use super::{
    Writer, chat,
    conversation::{self, Frame, Speaker, message},
    has_all, has_any,
};
use crate::record::{
    Container,
    body::message::{take_name, take_text, text_of},
    call::{Call, Entries},
    json::Json,
};

/// Messages of one branch.
const NODES_MAX: usize = 65_536;

const CHATGPT: Container = Container::named("chatgpt");
const OPEN_WEBUI: Container = Container::named("open_webui");
const LIBRECHAT: Container = Container::named("librechat");
const CHATBOT_UI: Container = Container::named("chatbot_ui");
const TEXTGEN: Container = Container::named("textgen_webui");
const CHARACTER: Container = Container::named("character_ai");
const GROK: Container = Container::named("grok");
const TAKEOUT: Container = Container::named("gemini_takeout");

/// Exports of chat applications.
pub(super) const WRITER: Writer = Writer {
    container: Container::named("chat_export"),
    about: "exports of chat applications: ChatGPT, Open WebUI, LibreChat, Chatbot UI, text-generation-webui, Character.AI, Grok, Gemini Apps",
    told_by: "`mapping` of messages; `chat` with `history`; `messages` with `isCreatedByUser`; `internal` and `visible`; `safeHtmlItem`",
    marks: &[
        "mapping",
        "chat",
        "isCreatedByUser",
        "messages",
        "messagesTree",
        "history",
        "internal",
        "turns",
        "responses",
        "safeHtmlItem",
        "header",
    ],
    matches: |value| App::of(value).is_some(),
    read,
    joiner: None,
};

/// Who exports.
#[derive(Clone, Copy, Debug, PartialEq)]
enum App {
    ChatGpt,
    OpenWebUi,
    LibreChat,
    ChatbotUi,
    Textgen,
    Character,
    Grok,
    Takeout,
}

impl App {
    fn of(value: &Json<'_>) -> Option<App> {
        let list = |key: &str| value.get(key).and_then(Json::as_array).filter(|list| !list.is_empty());
        let is_node = |(_, node): &(Cow<'_, str>, Json<'_>)| has_any(node, &["message", "parent", "children"]);
        if value.get("mapping").and_then(Json::as_object).is_some_and(|nodes| nodes.iter().all(is_node)) {
            return Some(App::ChatGpt);
        }
        if value.get("chat").is_some_and(|chat| {
            chat.pointer("/history/messages").is_some()
                || (chat.get("models").is_some() && chat.get("messages").is_some())
        }) {
            return Some(App::OpenWebUi);
        }
        let is_librechat =
            |message: &Json<'_>| message.get("isCreatedByUser").is_some() && has_any(message, &["messageId", "text"]);
        if value.get("conversationId").is_some()
            && ["messages", "messagesTree"]
                .into_iter()
                .any(|key| list(key).is_some_and(|all| all.iter().all(is_librechat)))
        {
            return Some(App::LibreChat);
        }
        if has_all(value, &["history", "folders"])
            && list("history").is_some_and(|all| all.iter().all(|chat| chat.get("messages").is_some()))
        {
            return Some(App::ChatbotUi);
        }
        let is_pair = |pair: &Json<'_>| {
            pair.as_array().is_some_and(|pair| pair.len() == 2 && pair.iter().all(|text| text.as_str().is_some()))
        };
        if value.get("visible").is_some() && list("internal").is_some_and(|pairs| pairs.iter().all(is_pair)) {
            return Some(App::Textgen);
        }
        if list("turns").is_some_and(|turns| turns.iter().all(|turn| has_all(turn, &["candidates", "author"]))) {
            return Some(App::Character);
        }
        let is_response =
            |response: &Json<'_>| response.get("response").is_some_and(|said| has_all(said, &["sender", "message"]));
        if list("responses").is_some_and(|all| all.iter().all(is_response)) {
            return Some(App::Grok);
        }
        let is_entry = has_all(value, &["header", "title", "time"]);
        (is_entry
            && (value.get("safeHtmlItem").is_some()
                || value.get("header").and_then(Json::as_str).is_some_and(is_gemini)))
        .then_some(App::Takeout)
    }
}

fn is_gemini(header: &str) -> bool {
    header.starts_with("Gemini") || header == "Bard"
}

fn read<'a>(value: Json<'a>, entries: &mut Entries<'a>) {
    match App::of(&value) {
        Some(App::ChatGpt) => chatgpt(value, entries),
        Some(App::OpenWebUi) => open_webui(value, entries),
        Some(App::LibreChat) => librechat(value, entries),
        Some(App::ChatbotUi) => chatbot_ui(value, entries),
        Some(App::Textgen) => textgen(value, entries),
        Some(App::Character) => character(value, entries),
        Some(App::Grok) => grok(value, entries),
        Some(App::Takeout) => takeout(value, entries),
        None => entries.push(Err("no export of a chat application".to_owned())),
    }
}

/// The branch of a tree that ends in a node, or in the last leaf: its nodes, the first one first. `parent_of` names the node
/// above.
fn branch<'a>(
    mut nodes: Vec<(Cow<'a, str>, Json<'a>)>,
    end: Option<&str>,
    parent: &str,
    children: &str,
) -> Vec<Json<'a>> {
    let mut places: std::collections::HashMap<String, usize> =
        nodes.iter().enumerate().map(|(place, (id, _))| (id.to_string(), place)).collect();
    let name = |value: &Json<'_>, key: &str| value.get(key).and_then(Json::as_str).map(str::to_owned);
    let mut at = end.and_then(|end| places.get(end).copied());
    if at.is_none() {
        // The way down that was taken last.
        let root = nodes.iter().find(|(_, node)| name(node, parent).is_none_or(|id| !places.contains_key(&id)));
        let mut id = root.map(|(id, _)| id.to_string());
        for _ in 0..nodes.len().min(NODES_MAX) {
            at = id.as_ref().and_then(|id| places.get(id).copied()).or(at);
            let below = at.and_then(|at| nodes[at].1.get(children)?.as_array()?.last()?.as_str().map(str::to_owned));
            match below {
                Some(below) => id = Some(below),
                None => break,
            }
        }
    }
    let mut way = Vec::new();
    while let Some(place) = at.take() {
        let (id, node) = std::mem::take(&mut nodes[place]);
        places.remove(&*id);
        at = name(&node, parent).and_then(|id| places.get(&id).copied());
        way.push(node);
        if way.len() >= NODES_MAX {
            break;
        }
    }
    way.reverse();
    way
}

/// A conversation of ChatGPT.
fn chatgpt<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let Some(Json::Object(nodes)) = value.take("mapping") else { return };
    let end = take_text(&mut value, "current_node");
    let session_id = ["conversation_id", "id"].into_iter().find_map(|key| take_name(&mut value, key));
    let model = take_text(&mut value, "default_model_slug");
    let mut messages: Vec<Json<'a>> = Vec::new();
    let mut answer: Option<Answer<'a>> = None;
    for mut node in branch(nodes, end.as_deref(), "parent", "children") {
        let Some(mut said) = node.take("message").filter(|said| said.as_object().is_some()) else { continue };
        if let Some(Json::Array(fragments)) = said.take("fragments") {
            messages.extend(of_fragments(said, fragments));
            continue;
        }
        let author = said.take("author").unwrap_or_default();
        let Some(speaker) = Speaker::of(&Json::Object(vec![("author".into(), author.clone())])) else { continue };
        let Some((text, is_thought)) = said.take("content").map(content_of) else { continue };
        if speaker == Speaker::Model {
            if !is_thought {
                answer.get_or_insert_with(Answer::default).add(said, text);
            }
            continue;
        }
        if text.as_deref().is_none_or(|text| text.trim().is_empty()) {
            continue;
        }
        messages.extend(answer.take().map(Answer::into_message));
        let name = author.get("name").filter(|name| !name.is_null()).cloned();
        let about = [("create_time", said.take("create_time")), ("name", name.filter(|_| speaker == Speaker::Tool))];
        messages.push(message(speaker, text.map(Json::String), about));
    }
    messages.extend(answer.map(Answer::into_message));
    conversation::push(messages, Frame { container: CHATGPT, session_id, model, ..Frame::default() }, entries);
}

/// What ChatGPT says in one turn: several messages, some of which call tools.
#[derive(Default)]
struct Answer<'a> {
    texts: Vec<Json<'a>>,
    calls: Vec<Json<'a>>,
    about: Vec<(&'static str, Option<Json<'a>>)>,
}

impl<'a> Answer<'a> {
    fn add(&mut self, mut said: Json<'a>, text: Option<Cow<'a, str>>) {
        let recipient = take_text(&mut said, "recipient").filter(|name| name != "all");
        match (recipient, text) {
            (Some(tool), text) => {
                let args = text.map_or(Json::Null, Json::String);
                let call = [("name".into(), Json::String(tool)), ("arguments".into(), args)];
                self.calls.push(Json::Object(call.into_iter().collect()));
            }
            (None, Some(text)) if !text.is_empty() => self.texts.push(Json::String(text)),
            (None, _) => {}
        }
        let mut metadata = said.take("metadata").unwrap_or_default();
        let finish = metadata.take("finish_details").and_then(|mut details| details.take("type"));
        let own = [
            ("id", said.take("id")),
            ("create_time", said.take("create_time")),
            ("model", metadata.take("model_slug")),
            ("finish_reason", finish),
        ];
        for (key, value) in own {
            match self.about.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) if key == "finish_reason" || known.is_none() => *known = value.or(known.take()),
                Some(_) => {}
                None => self.about.push((key, value)),
            }
        }
    }

    fn into_message(self) -> Json<'a> {
        let calls = (!self.calls.is_empty()).then_some(Json::Array(self.calls));
        let texts = (!self.texts.is_empty()).then_some(Json::Array(self.texts));
        message(Speaker::Model, texts, self.about.into_iter().chain([("tool_calls", calls)]))
    }
}

/// The text of a content of ChatGPT, and whether it is a thought.
fn content_of(mut content: Json<'_>) -> (Option<Cow<'_, str>>, bool) {
    let kind = take_text(&mut content, "content_type").unwrap_or_default();
    match &*kind {
        "thoughts" | "reasoning_recap" | "model_editable_context" => (None, true),
        "user_editable_context" => {
            let keys = ["user_profile", "user_instructions"];
            let texts: Vec<Cow<'_, str>> = keys.into_iter().filter_map(|key| take_text(&mut content, key)).collect();
            (Some(texts.join("\n").into()), false)
        }
        _ => {
            let found = ["parts", "text", "result", "content"].into_iter().find_map(|key| content.take(key));
            (found.and_then(text_of), false)
        }
    }
}

/// The messages of a node of DeepSeek.
fn of_fragments<'a>(mut said: Json<'a>, fragments: Vec<Json<'a>>) -> Vec<Json<'a>> {
    let (model, at) = (said.take("model"), said.take("inserted_at"));
    let speaker = |fragment: &Json<'_>| match fragment.get("type").and_then(Json::as_str) {
        Some("REQUEST") => Some(Speaker::User),
        Some("RESPONSE") => Some(Speaker::Model),
        _ => None,
    };
    let message_of = |mut fragment: Json<'a>| {
        let speaker = speaker(&fragment)?;
        Some(message(speaker, fragment.take("content"), [("model", model.clone()), ("created_at", at.clone())]))
    };
    fragments.into_iter().filter_map(message_of).collect()
}

/// A conversation of Open WebUI.
fn open_webui<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let Some(mut chat) = value.take("chat") else { return };
    let session_id = take_name(&mut value, "id").or_else(|| take_name(&mut chat, "id"));
    let system = take_text(&mut chat, "system")
        .or_else(|| chat.take("params").and_then(|mut params| take_text(&mut params, "system")));
    let mut history = chat.take("history").unwrap_or_default();
    let end = take_text(&mut history, "currentId");
    let told = match history.take("messages") {
        Some(Json::Object(nodes)) => branch(nodes, end.as_deref(), "parentId", "childrenIds"),
        _ => Vec::new(),
    };
    // The list repeats the branch that is shown, at times without its sources.
    let listed = match chat.take("messages") {
        Some(Json::Array(messages)) if messages.len() > told.len() => messages,
        _ => told,
    };
    let messages = listed.into_iter().map(|mut message| {
        let documents = message.take("sources").map(documents_of);
        let error = message.take("error").map(|mut error| error.take("content").unwrap_or(error));
        let took = message.pointer("/usage/total_duration").cloned();
        if let Json::Object(entries) = &mut message {
            entries.extend(documents.map(|documents| ("documents".into(), Json::Array(documents))));
            entries.extend(error.map(|error| ("error".into(), error)));
            entries.extend(took.map(|took| ("total_duration_ns".into(), took)));
        }
        message
    });
    let system = system.filter(|text| !text.is_empty());
    let frame = Frame { container: OPEN_WEBUI, session_id, system, ..Frame::default() };
    conversation::push(messages.collect(), frame, entries);
}

/// The documents that an answer was made of.
fn documents_of(sources: Json<'_>) -> Vec<Json<'_>> {
    let Json::Array(sources) = sources else { return Vec::new() };
    let lists = sources.into_iter().filter_map(|mut source| match source.take("document") {
        Some(Json::Array(documents)) => Some(documents),
        other => other.map(|one| vec![one]),
    });
    lists.flatten().collect()
}

/// A conversation of LibreChat.
fn librechat<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let listed = value.take("messages").or_else(|| value.take("messagesTree"));
    let session_id = take_name(&mut value, "conversationId");
    let mut options = value.take("options").unwrap_or_default();
    let (model, provider) = (take_text(&mut options, "model"), take_text(&mut value, "endpoint"));
    let system = ["promptPrefix", "instructions", "system"].into_iter().find_map(|key| take_text(&mut options, key));
    let mut waiting: Vec<Json<'a>> = match listed {
        Some(Json::Array(messages)) => messages.into_iter().rev().collect(),
        _ => Vec::new(),
    };
    let mut messages = Vec::new();
    while let Some(mut said) = waiting.pop() {
        if let Some(Json::Array(children)) = said.take("children") {
            waiting.extend(children.into_iter().rev());
        }
        messages.push(of_librechat(said));
        if messages.len() >= NODES_MAX {
            break;
        }
    }
    let system = system.filter(|text| !text.is_empty());
    let frame = Frame { container: LIBRECHAT, session_id, model, provider, system, ..Frame::default() };
    conversation::push(messages, frame, entries);
}

/// A message of LibreChat; that of a failed call says why it failed.
fn of_librechat<'a>(mut said: Json<'a>) -> Json<'a> {
    let is_users = said.take("isCreatedByUser").and_then(|flag| flag.as_bool()) == Some(true);
    let is_error = said.take("error").and_then(|flag| flag.as_bool()) == Some(true);
    let text = said.take("text");
    let content = match said.take("content") {
        Some(Json::Array(parts)) if !parts.is_empty() => Some(Json::Array(parts)),
        _ => text.clone(),
    };
    let about = [
        ("id", said.take("messageId")),
        ("model", said.take("model").filter(|_| !is_users)),
        ("createdAt", said.take("createdAt")),
        ("error", text.filter(|_| is_error)),
    ];
    let speaker = if is_users { Speaker::User } else { Speaker::Model };
    message(speaker, content.filter(|_| !is_error), about)
}

/// Conversations of Chatbot UI.
fn chatbot_ui<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let Some(Json::Array(chats)) = value.take("history") else { return };
    for mut chat in chats {
        let Some(Json::Array(messages)) = chat.take("messages") else { continue };
        let model = chat.take("model").map(|mut model| model.take("id").unwrap_or(model));
        let model = model.and_then(|model| crate::record::values::name(model).ok().flatten());
        let system = take_text(&mut chat, "prompt").filter(|text| !text.is_empty());
        let frame =
            Frame { container: CHATBOT_UI, session_id: take_name(&mut chat, "id"), model, system, ..Frame::default() };
        conversation::push(messages, frame, entries);
    }
}

/// A conversation of text-generation-webui.
fn textgen<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    const BEGIN: &str = "<|BEGIN-VISIBLE-CHAT|>";
    let Some(Json::Array(pairs)) = value.take("internal") else { return };
    let mut messages = Vec::new();
    for pair in pairs {
        let Json::Array(pair) = pair else { continue };
        let Ok([asked, answer]) = <[Json<'a>; 2]>::try_from(pair) else { continue };
        // What a character says first was not asked for.
        if asked.as_str() == Some(BEGIN) {
            continue;
        }
        messages.push(message(Speaker::User, Some(asked), []));
        if answer.as_str() != Some("") {
            messages.push(message(Speaker::Model, Some(answer), []));
        }
    }
    conversation::push(messages, chat::frame_of(TEXTGEN, value), entries);
}

/// A conversation of Character.AI: of several candidates the one that was taken.
fn character<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let Some(Json::Array(turns)) = value.take("turns") else { return };
    let messages = turns.into_iter().filter_map(|mut turn| {
        let author = turn.take("author").unwrap_or_default();
        let is_users = author.get("is_human").and_then(Json::as_bool) == Some(true);
        let chosen = turn.take("primary_candidate_id");
        let Some(Json::Array(candidates)) = turn.take("candidates") else { return None };
        let is_chosen = |candidate: &Json<'_>| chosen.is_some() && candidate.get("candidate_id") == chosen.as_ref();
        let place = candidates.iter().position(is_chosen).unwrap_or(0);
        let mut candidate = candidates.into_iter().nth(place)?;
        let speaker = if is_users { Speaker::User } else { Speaker::Model };
        let about = [("id", candidate.take("candidate_id")), ("create_time", candidate.take("create_time"))];
        Some(message(speaker, candidate.take("raw_content"), about))
    });
    let messages = messages.collect();
    conversation::push(messages, chat::frame_of(CHARACTER, value), entries);
}

/// A conversation of Grok.
fn grok<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let Some(Json::Array(responses)) = value.take("responses") else { return };
    let messages = responses.into_iter().filter_map(|mut response| response.take("response")).collect();
    let around = value.take("conversation").unwrap_or(value);
    conversation::push(messages, chat::frame_of(GROK, around), entries);
}

/// An entry of My Activity.
fn takeout<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    const PROMPTED: [&str; 2] = ["Prompted ", "Asked "];
    let html = match value.take("safeHtmlItem") {
        Some(Json::Array(items)) => items,
        Some(one @ Json::Object(_)) => vec![one],
        _ => return entries.skipped(TAKEOUT, "an activity without an answer"),
    };
    let texts = html
        .into_iter()
        .filter_map(|mut item| take_text(&mut item, "html").or_else(|| take_text(&mut item, "htmlValue")));
    let answer = texts.map(|html| text_of_html(&html)).collect::<Vec<_>>().join("\n");
    let mut call = Call::llm(TAKEOUT);
    call.times(value.take("time"), None, None);
    if let Some(title) = take_text(&mut value, "title") {
        let asked = PROMPTED.iter().find_map(|verb| title.strip_prefix(verb)).unwrap_or(&title).to_owned();
        call.ask(Some(Json::String(asked.into())));
    }
    call.record.response = Some(answer.into());
    entries.push(Ok(call.finish()));
}

/// The text of HTML: without tags, blocks on lines of their own.
fn text_of_html(html: &str) -> String {
    const BLOCKS: [&str; 9] = ["p", "br", "li", "div", "tr", "h1", "h2", "h3", "pre"];
    const ENTITIES: [(&str, &str); 6] =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")];
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        let Some(end) = rest[at..].find('>') else {
            rest = &rest[at..];
            break;
        };
        let tag = rest[at + 1..at + end].trim_start_matches('/');
        let name = tag.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        if BLOCKS.contains(&name) && !text.ends_with('\n') && !text.is_empty() {
            text.push('\n');
        }
        rest = &rest[at + end + 1..];
    }
    text.push_str(rest);
    let text = ENTITIES.iter().fold(text, |text, (entity, plain)| text.replace(entity, plain));
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Entry;

    #[test]
    fn html_is_read_as_its_text() {
        for (html, expected) in [
            ("<p>Paris is the <b>capital</b>.</p><p>Yes &amp; no.</p>", "Paris is the capital.\nYes & no."),
            ("<ul><li>a &lt; b</li><li>c</li></ul>", "a < b\nc"),
            ("plain", "plain"),
            ("a <b", "a <b"),
        ] {
            assert_eq!(text_of_html(html), expected, "{html}");
        }
    }

    #[test]
    fn a_branch_is_the_way_to_its_end() {
        let check = |tree: &str, end: Option<&str>, expected: &[&str]| {
            let Ok(Json::Object(nodes)) = Json::parse(tree.as_bytes()) else { panic!("{tree}") };
            let way = branch(nodes, end, "parent", "children");
            let names: Vec<&str> = way.iter().filter_map(|node| node.get("n")?.as_str()).collect();
            assert_eq!(names, expected, "{end:?}");
        };
        let tree = r#"{"a":{"n":"a","parent":null,"children":["b","c"]},"b":{"n":"b","parent":"a","children":[]},"c":{"n":"c","parent":"a","children":["d"]},"d":{"n":"d","parent":"c","children":[]}}"#;
        check(tree, Some("b"), &["a", "b"]);
        check(tree, None, &["a", "c", "d"]);
        check(tree, Some("x"), &["a", "c", "d"]);
        check(r#"{"a":{"n":"a","parent":"b"},"b":{"n":"b","parent":"a"}}"#, Some("a"), &["b", "a"]);
    }

    fn entry(value: &str) -> Entry<'_> {
        let mut entries = Entries::default();
        read(Json::parse(value.as_bytes()).unwrap(), &mut entries);
        entries.list.remove(0).unwrap()
    }

    #[test]
    fn an_activity_is_a_call_when_it_has_an_answer() {
        let call = entry(
            r#"{"header":"Gemini Apps","title":"Prompted Hi","time":"2026-01-01T00:00:00Z","safeHtmlItem":[{"html":"<p>Hello.</p>"}]}"#,
        );
        assert_eq!(call.as_record().and_then(|record| record.response.as_deref()), Some("Hello."));
        let other = entry(r#"{"header":"Gemini Apps","title":"Used Gemini","time":"2026-01-01T00:00:00Z"}"#);
        assert!(matches!(other, Entry::Ignored(_)));
    }
}
