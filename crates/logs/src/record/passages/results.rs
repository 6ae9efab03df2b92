//! What tools of retrieval answered: the documents in their results, by the name of the tool or by the shape of the JSON.

use std::{borrow::Cow, ops::Range};

use super::{
    documents,
    lines::{self},
    words::{self, HANDED},
};
use crate::record::{Message, Passage, Place, Prompt, Record, ToolCall, json::Json};

/// Words of a document in a result.
const DOCUMENT_WORDS_MIN: usize = 8;
/// Words of all documents of a result.
const RESULT_WORDS_MIN: usize = 12;
/// Objects around the list of documents, and around the text of one.
const DEPTH_MAX: usize = 4;
/// Bytes of a result that says nothing: `ok`, `[]`, a message about an error.
const NOTHING_BYTES_MAX: usize = 80;

/// Keys of lists of documents.
const LISTS: [&str; 22] = [
    "documents",
    "docs",
    "passages",
    "chunks",
    "results",
    "matches",
    "hits",
    "nodes",
    "contexts",
    "context",
    "snippets",
    "articles",
    "items",
    "data",
    "sources",
    "search_results",
    "source_nodes",
    "retrieved_documents",
    "citations",
    "retrieval_results",
    "retrievalResults",
    "value",
];
/// Keys of the text of a document, the best first.
const TEXTS: [&str; 13] = [
    "page_content",
    "pageContent",
    "content",
    "text",
    "passage",
    "chunk",
    "chunk_text",
    "body",
    "snippet",
    "excerpt",
    "raw_content",
    "markdown",
    "document",
];
/// Keys of what holds the text of a document, or is about it.
const AROUND: [&str; 7] = ["document", "node", "metadata", "payload", "_source", "fields", "source"];
/// Keys of the name of a document, the best first.
const NAMES: [&str; 14] = [
    "title",
    "name",
    "source",
    "url",
    "link",
    "uri",
    "file_name",
    "filename",
    "file",
    "path",
    "id",
    "doc_id",
    "document_id",
    "_id",
];

/// What the tools of a turn answered.
#[derive(Debug)]
pub(super) enum Results {
    /// Nothing.
    None,
    /// Documents and nothing else, by message.
    Documents(Vec<(usize, Vec<Retrieved>)>),
    /// Other things, too.
    Other,
}

/// What the tools answered from message `from` on.
pub(super) fn of_turn(prompt: &Prompt<'_>, from: usize) -> Results {
    let Prompt::Messages(messages) = prompt else { return Results::None };
    let mut found = Vec::new();
    for (at, message) in messages.iter().enumerate().skip(from) {
        if !may_hold(message) || message.is_error {
            continue;
        }
        let documents = documents_in(messages, at);
        if documents.is_empty() {
            return Results::Other;
        }
        found.push((at, documents));
    }
    if found.is_empty() { Results::None } else { Results::Documents(found) }
}

/// Puts what tools of retrieval answered into the context of a record.
pub(super) fn take(record: &mut Record<'_>, results: Vec<(usize, Vec<Retrieved>)>) {
    let Record { prompt: Prompt::Messages(messages), context, .. } = record else { return };
    for (at, documents) in results {
        let Some(message) = messages.get(at) else { continue };
        for Retrieved { id, span, text } in documents {
            let own = text.map_or_else(|| super::part(&message.text, span.clone()), Cow::Owned);
            let place = Place { field: Cow::Owned(format!("/prompt/{at}/text")), span, stays: true };
            context.push(Passage { id: id.map(Cow::Owned), text: own, place: Some(place) });
        }
    }
}

/// Whether a message is the result of a tool with something in it.
pub(super) fn may_hold(message: &Message<'_>) -> bool {
    is_result(message) && message.text.len() > NOTHING_BYTES_MAX
}

fn is_result(message: &Message<'_>) -> bool {
    matches!(&*message.role, "tool" | "function")
}

/// A document in a result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Retrieved {
    id: Option<String>,
    span: Range<usize>,
    /// What the document says, where it is not what stands there, for JSON escapes it.
    text: Option<String>,
}

/// The documents in the result at message `at`; none when it is no result of retrieval.
fn documents_in(messages: &[Message<'_>], at: usize) -> Vec<Retrieved> {
    let message = &messages[at];
    let of_call = message.call_id.as_deref().and_then(|id| {
        let is_it = |call: &&ToolCall<'_>| call.id.as_deref() == Some(id);
        messages[..at].iter().rev().flat_map(|before| &before.tool_calls).find(is_it)
    });
    let tool = message.tool.as_deref().or(of_call.map(|call| &*call.name)).unwrap_or_default();
    let is_told = is_retrieval(tool);
    let documents = of_result(&message.text, is_told);
    let words: usize = documents
        .iter()
        .map(|document| words::count(document.text.as_deref().unwrap_or(&message.text[document.span.clone()])))
        .sum();
    if words >= RESULT_WORDS_MIN { documents } else { Vec::new() }
}

/// The documents in a result. `is_told`: the name of the tool says that it retrieves.
fn of_result(text: &str, is_told: bool) -> Vec<Retrieved> {
    let trimmed = text.trim_start();
    if trimmed.starts_with(['{', '[']) {
        let may_hold = is_told
            || TEXTS.iter().any(|key| memchr::memmem::find(text.as_bytes(), format!("\"{key}\"").as_bytes()).is_some());
        let Some(Ok(json)) = may_hold.then(|| Json::parse_text(Cow::Borrowed(text))) else {
            return plain(text, is_told);
        };
        let mut walk = Walk { spans: strings(text), at: 0, found: Vec::new(), text };
        walk.value(&json, 0, is_told);
        if walk.found.is_empty() && is_told && words::count(text) >= RESULT_WORDS_MIN {
            // A record of its own shape: it is the document.
            let start = text.len() - trimmed.len();
            return vec![Retrieved { id: None, span: start..text.trim_end().len(), text: None }];
        }
        return walk.found;
    }
    plain(text, is_told)
}

/// The documents of a result that is text.
fn plain(text: &str, is_told: bool) -> Vec<Retrieved> {
    let first =
        lines::lines(text).into_iter().map(|line| lines::kind(text, &line)).find(|kind| *kind != lines::Kind::Blank);
    // Results that are numbered as documents say what they are.
    let is_numbered = matches!(first, Some(lines::Kind::Number { is_named: true, .. }));
    if !is_told && !is_numbered {
        return Vec::new();
    }
    let elements = super::tags::elements(text);
    let outer = elements
        .iter()
        .position(|element| element.parent.is_none() && matches!(element.label, lines::Label::Material(_)));
    let documents = match outer {
        Some(at) => documents::of_element(text, &elements, at),
        None => documents::of_body(text, &(0..text.len())),
    };
    let of = |document: documents::Found| Retrieved {
        id: document.id.map(|id| text[id].to_owned()),
        span: document.span,
        text: None,
    };
    documents.into_iter().map(of).collect()
}

/// Whether the name of a tool says that it looks documents up.
fn is_retrieval(tool: &str) -> bool {
    const DOCUMENTS: [&str; 30] = [
        "retrieve",
        "retriever",
        "retrieval",
        "rag",
        "knowledge",
        "kb",
        "knowledgebase",
        "doc",
        "docs",
        "document",
        "documents",
        "documentation",
        "wiki",
        "wikipedia",
        "vectorstore",
        "vector",
        "vectordb",
        "semantic",
        "faq",
        "faqs",
        "article",
        "articles",
        "passage",
        "passages",
        "corpus",
        "handbook",
        "manual",
        "policy",
        "policies",
        "qdrant",
    ];
    const LOOKS_UP: [&str; 9] = ["search", "lookup", "look", "fetch", "find", "query", "read", "get", "ask"];
    const OF_THE_WEB: [&str; 14] = [
        "web",
        "internet",
        "google",
        "bing",
        "tavily",
        "duckduckgo",
        "brave",
        "serper",
        "perplexity",
        "exa",
        "url",
        "page",
        "webpage",
        "website",
    ];
    /// What is found by these is no document.
    const OTHER: [&str; 17] = [
        "code",
        "codebase",
        "grep",
        "create",
        "write",
        "update",
        "delete",
        "add",
        "upload",
        "list",
        "send",
        "edit",
        "save",
        "insert",
        "image",
        "images",
        "directory",
    ];
    let spoken = super::tags::spoken(tool).to_ascii_lowercase();
    let names = |list: &[&str]| spoken.split([' ', '/']).any(|word| list.contains(&word));
    if names(&OTHER) {
        return false;
    }
    let is_bare_search = matches!(&*spoken, "search" | "lookup" | "fetch" | "search tool" | "file search");
    names(&DOCUMENTS)
        || is_bare_search
        || (names(&LOOKS_UP) && names(&OF_THE_WEB))
        || matches!(&*spoken, "websearch" | "webfetch")
}

/// A way through JSON that keeps count of its strings, so that their places are known.
struct Walk<'t> {
    text: &'t str,
    /// Where the strings stand that are no keys, in order.
    spans: Vec<Range<usize>>,
    at: usize,
    found: Vec<Retrieved>,
}

impl Walk<'_> {
    fn value(&mut self, json: &Json<'_>, depth: usize, is_list: bool) {
        match json {
            Json::String(text) => {
                // A list of texts.
                if is_list && words::count(text) >= DOCUMENT_WORDS_MIN {
                    self.add(None, text, self.at);
                }
                self.at += 1;
            }
            Json::Array(items) => {
                for item in items {
                    match item {
                        Json::Object(_) if is_list => self.document(item),
                        Json::Object(_) => self.value(item, depth + 1, false),
                        _ => self.value(item, depth + 1, is_list && depth < DEPTH_MAX),
                    }
                }
            }
            Json::Object(entries) => {
                for (key, value) in entries {
                    let is_list =
                        depth < DEPTH_MAX && (LISTS.contains(&&**key) || words::groups(key.as_bytes()) & HANDED != 0);
                    self.value(value, depth + 1, is_list && !matches!(value, Json::String(_)));
                }
            }
            _ => {}
        }
    }

    /// One document: its text is the first that stands below a known key, in it or in what it holds.
    fn document(&mut self, json: &Json<'_>) {
        let from = self.at;
        let mut texts: Vec<(usize, usize, &str)> = Vec::new();
        let mut names: Vec<(usize, &str)> = Vec::new();
        gather(json, 0, from, &mut texts, &mut names);
        let best = texts
            .iter()
            .filter(|(.., text)| words::count(text) >= DOCUMENT_WORDS_MIN)
            .min_by_key(|(rank, at, _)| (*rank, *at));
        let name = names.iter().min_by_key(|(rank, _)| *rank).map(|(_, name)| (*name).to_owned());
        if let Some((_, at, text)) = best {
            self.add(name, text, *at);
        }
        self.at = from + count_strings(json);
    }

    fn add(&mut self, id: Option<String>, text: &str, at: usize) {
        let Some(span) = self.spans.get(at).cloned() else { return };
        let is_as_it_stands = self.text[span.clone()] == *text;
        self.found.push(Retrieved { id, span, text: (!is_as_it_stands).then(|| text.to_owned()) });
    }
}

/// Texts and names of a document, each with its rank and, for texts, the count of strings in front of it.
fn gather<'j>(
    json: &'j Json<'_>,
    depth: usize,
    mut at: usize,
    texts: &mut Vec<(usize, usize, &'j str)>,
    names: &mut Vec<(usize, &'j str)>,
) {
    let Json::Object(entries) = json else { return };
    for (key, value) in entries {
        if let Json::String(text) = value {
            if let Some(rank) = TEXTS.iter().position(|known| *known == key) {
                texts.push((rank, at, text));
            }
            if let Some(rank) =
                NAMES.iter().position(|known| *known == key).filter(|_| text.len() <= 300 && !text.is_empty())
            {
                names.push((depth * NAMES.len() + rank, text));
            }
        } else if depth < 2 && AROUND.contains(&&**key) {
            gather(value, depth + 1, at, texts, names);
        }
        at += count_strings(value);
    }
}

fn count_strings(json: &Json<'_>) -> usize {
    match json {
        Json::String(_) => 1,
        Json::Array(items) => items.iter().map(count_strings).sum(),
        Json::Object(entries) => entries.iter().map(|(_, value)| count_strings(value)).sum(),
        _ => 0,
    }
}

/// Where the strings of a JSON text stand that are no keys, without their quotation marks.
fn strings(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut spans = Vec::new();
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'"', &bytes[at..]).map(|open| at + open) {
        let mut close = open + 1;
        while let Some(next) = memchr::memchr2(b'"', b'\\', &bytes[close.min(bytes.len())..]).map(|next| close + next) {
            if bytes[next] == b'"' {
                close = next;
                break;
            }
            close = next + 2;
        }
        let after = bytes.get(close + 1..).unwrap_or_default().iter().find(|byte| !byte.is_ascii_whitespace());
        if after != Some(&b':') && close < bytes.len() {
            spans.push(open + 1..close);
        }
        at = (close + 1).min(bytes.len());
    }
    spans
}
