//! HTTP archives of browsers and proxies.
//!
//! - an entry whose request asks a model, or whose response is an answer of one, is a call; other requests hold none
//! - bodies are text, also in base64 (`encoding`); an answer may be the text of server-sent events
//! - `startedDateTime` is the beginning, `time` what all of it took in milliseconds
//! - where the body of the request names no model, the address may (`/models/NAME:`, `/deployments/NAME/`)
//!
//! **Source**: HAR 1.2; a capture of mitmproxy.
//!
//! **Limits**: forms and binary bodies are not read.

use std::borrow::Cow;

use super::{Writer, has_all};
use crate::record::{
    Container, Format, Ignored,
    body::{self, Holder},
    call::{Call, Entries, Outcome, decoded},
    json::Json,
    values::{self, Unit},
};

const CONTAINER: Container = Container::named("har");

/// HTTP archives.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "HTTP archives (HAR)",
    told_by: "`log` with `entries`; `startedDateTime` with `request` and `response`",
    marks: &["log", "startedDateTime"],
    matches: |value| {
        is_entry(value)
            || value.pointer("/log/entries").and_then(Json::as_array).is_some_and(|all| all.iter().all(is_entry))
    },
    read,
    joiner: None,
};

fn is_entry(value: &Json<'_>) -> bool {
    has_all(value, &["startedDateTime", "request", "response"])
}

fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    if is_entry(&value) {
        return entries.push(entry(value));
    }
    let Some(Json::Array(all)) = value.take("log").and_then(|mut log| log.take("entries")) else { return };
    if all.is_empty() {
        entries.skipped(CONTAINER, "an archive without an entry");
    }
    all.into_iter().for_each(|one| entries.push(entry(one)));
}

fn entry(mut value: Json<'_>) -> Outcome<'_> {
    let mut request = value.take("request").unwrap_or_default();
    let mut response = value.take("response").unwrap_or_default();
    let asked = request.take("postData").and_then(|mut data| data.take("text")).map(decoded);
    let answered = response.take("content").and_then(text_of).map(decoded);
    let status = response.get("status").and_then(|status| values::count(status).ok()).unwrap_or_default();
    let skipped = |what| Ok(crate::record::Entry::Ignored(Ignored::skipped(Format::of(CONTAINER), what)));
    if let Some(noun) = answered.as_ref().and_then(body::no_call) {
        return skipped(noun);
    }
    let is_asked = asked.as_ref().is_some_and(body::is_request_body);
    let is_answered =
        asked.is_some() && answered.as_ref().and_then(body::holder).is_some_and(|holder| holder == Holder::Answer);
    if !is_asked && !is_answered {
        return skipped("a request of the web");
    }
    let mut call = Call::llm(CONTAINER);
    call.times(value.take("startedDateTime"), None, None);
    call.reported_latency(value.get("time"), Unit::Ms);
    call.ask(asked);
    call.requested = call.requested.take().or_else(|| model_in(&request));
    // The page that a proxy shows where a server fails is no answer of a model.
    let is_failed = status >= 400;
    call.answer(answered.filter(|body| !is_failed || body.as_object().is_some()));
    if is_failed {
        let failed = || format!("the response has the status {status}").into();
        call.record.error = call.record.error.take().or_else(|| Some(failed()));
        call.record.response = None;
    }
    Ok(call.finish())
}

/// The model that an address names.
fn model_in<'a>(request: &Json<'a>) -> Option<Cow<'a, str>> {
    let url = request.get("url")?.as_str()?;
    let named = |before: &str, ends: &[char]| url.split_once(before)?.1.split(ends).next().map(str::to_owned);
    let name = named("/deployments/", &['/', '?']).or_else(|| named("/models/", &[':', '/', '?']))?;
    (!name.is_empty()).then_some(Cow::Owned(name))
}

/// The text of the content of a response.
fn text_of(mut content: Json<'_>) -> Option<Json<'_>> {
    let is_base64 = content.get("encoding").and_then(Json::as_str) == Some("base64");
    let text = content.take("text")?;
    if !is_base64 {
        return Some(text);
    }
    let text = String::from_utf8(values::base64(text.as_str()?)?).ok()?;
    Some(Json::String(text.into()))
}
