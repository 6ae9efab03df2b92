//! Is the whole answer the text of an error: a page or an object of a gateway, a message of a library, a traceback?
//!
//! **Formula**: the text, without white space around it, is
//! - a page of HTML whose head or first heading names a status from 400 on
//! - an object of JSON that has an `error` and besides it only what describes one; where JSON was asked for, only one in the
//!   form of servers (an object as the error, a status, an id of the request): `{"error": "no such order"}` is an answer there
//! - a line of a status (`502 Bad Gateway`), alone
//! - at most [`BYTES_MAX`] bytes that begin as libraries and providers begin ([`lexicon`]), or with the name of an exception,
//!   or a traceback
//!
//! **Source**: ours; the names of statuses are RFC 9110's.
//!
//! [`lexicon`]: crate::text::lexicon

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::structure;
use crate::{engines::View, text::lexicon::ERROR_TEXTS};

/// Bytes of the longest message that is one; tracebacks and pages may be longer.
pub const BYTES_MAX: usize = 400;
/// Bytes of a page that are looked at.
const PAGE_BYTES: usize = 2_000;

/// What stands in an object that describes an error, besides the error.
const COMPANIONS: [&str; 30] = [
    "error",
    "errors",
    "code",
    "status",
    "statusCode",
    "status_code",
    "message",
    "msg",
    "type",
    "detail",
    "details",
    "request_id",
    "requestId",
    "timestamp",
    "path",
    "success",
    "ok",
    "trace_id",
    "param",
    "error_code",
    "description",
    "retry_after",
    "object",
    "title",
    "instance",
    "reason",
    "__type",
    "fault",
    "Message",
    "domain",
];

/// The names of statuses, as one choice of a pattern.
fn names() -> String {
    let names = ERROR_TEXTS.status.iter().chain(&ERROR_TEXTS.status_words);
    names.map(|name| regex::escape(name)).collect::<Vec<_>>().join("|")
}

static STATUS: LazyLock<Regex> = LazyLock::new(|| {
    let (names, alone) = (names(), ERROR_TEXTS.status.iter().map(|name| regex::escape(name)).collect::<Vec<_>>());
    let alone = alone.join("|");
    let pattern = format!(
        r"^(?:http/\d(?:\.\d)? ?)?(?:(?:http )?error:? ?|status(?: code)?:? ?)?(?:[45]\d\d[ :,-]+(?:error:? ?)?(?:{names}|error\b)[^\n]{{0,120}}|[45]\d\d error|error code:? ?\d{{3,4}}|(?:{alone})[.!]?)\s*$"
    );
    RegexBuilder::new(&pattern).case_insensitive(true).build().expect("a pattern of this crate")
});

static BEGINS: LazyLock<Regex> = LazyLock::new(|| {
    let begins = ERROR_TEXTS.begins.iter().map(|begin| regex::escape(begin)).collect::<Vec<_>>().join("|");
    let pattern = format!(
        r"^(?:(?:i'm |i am |we're |we are )?(?:very )?sorry,? (?:but )?)?(?:(?:error|erreur|fehler|errore|erro|fatal error|fatal|exception|warning)\s*(?:\d{{3}})?\s*[:\-]\s*)?(?:{begins})|^(?:\[?error\]?|erreur|fehler|errore|erro|fatal error|fatal|exception)(?:\s*\d{{3,4}}\b|\s*:\s*\S)|^(?:[a-z_]\w*\.)*[A-Za-z]\w*(?-i:Error|Exception)\b\s*[:(]"
    );
    RegexBuilder::new(&pattern).case_insensitive(true).build().expect("a pattern of this crate")
});

/// How a sentence goes on that speaks of an error instead of being one.
const SPEAKS_OF_IT: [&str; 9] = ["is ", "are ", "was ", "were ", "means", "refers", "happens", "occurs when", "'s "];

/// Whether the text begins as libraries and providers begin, and does not go on to speak of it.
fn begins_as_error(text: &str) -> bool {
    BEGINS.find(text).is_some_and(|found| {
        let rest = text[found.end()..].trim_start();
        !SPEAKS_OF_IT.iter().any(|verb| rest.get(..verb.len()).is_some_and(|head| head.eq_ignore_ascii_case(verb)))
    })
}

static PAGE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = format!(
        r"<(?:title|h1|h2)[^>]*>[^<]{{0,80}}?(?:\b[45]\d\d\b|{}|access denied|just a moment|attention required|error\b)",
        names()
    );
    RegexBuilder::new(&pattern).case_insensitive(true).build().expect("a pattern of this crate")
});

/// What the text is, as a clause, when it is one of an error and the user did not speak of such texts.
pub fn of(text: &str, view: &View<'_, '_>) -> Option<&'static str> {
    let what = kind(text)?;
    let asked = view.record.prompt.last_of_user().unwrap_or_default();
    let system = view.record.system.as_deref().unwrap_or_default();
    let is_page = what == PAGE_TOLD || what == STATUS_TOLD;
    // One word of every day may be the answer that was asked for.
    let is_label = || [asked, system].iter().any(|said| says_word(said, text));
    let is_asked_for = ERROR_TEXTS.asked.stands_in(asked)
        || (!is_page && ERROR_TEXTS.told.stands_in(asked))
        || (what == STATUS_TOLD
            && (is_label() || ERROR_TEXTS.told.stands_in(asked))
            && !text.contains(|c: char| c.is_ascii_digit()))
        || (what == OBJECT && structure::is_asked_for(view))
        || (matches!(what, OBJECT | SERVERS_OBJECT) && system.contains("\"error\""))
        || repeats_asked(text, asked);
    (!is_asked_for).then_some(what)
}

/// Whether `said` holds the words of `text`, in any case.
fn says_word(said: &str, text: &str) -> bool {
    let word = text.trim().trim_end_matches(['.', '!']).to_lowercase();
    said.to_lowercase().contains(&word)
}

const OBJECT: &str = "the answer is an object that tells of an error";
const SERVERS_OBJECT: &str = "the answer is an error object of a server";
const PAGE_TOLD: &str = "the answer is an error page";
const STATUS_TOLD: &str = "the answer is the status of an HTTP error";

/// Whether the text begins with words of the user, whom it tells what they mean.
fn repeats_asked(text: &str, asked: &str) -> bool {
    const WORDS: usize = 2;
    let head: Vec<String> = text.split_whitespace().take(WORDS).map(str::to_lowercase).collect();
    head.len() == WORDS && asked.to_lowercase().contains(&head.join(" "))
}

/// What the text is, when it is one of an error.
fn kind(text: &str) -> Option<&'static str> {
    let text = text.trim();
    match text.as_bytes().first()? {
        b'<' => {
            let head = &text[..text.floor_char_boundary(PAGE_BYTES.min(text.len()))];
            let lower = head.trim_start_matches('\u{feff}').to_ascii_lowercase();
            // Some servers put a comment in front.
            let lower = lower
                .strip_prefix("<!--")
                .and_then(|rest| rest.split_once("-->"))
                .map_or(&*lower, |(_, page)| page.trim_start());
            let is_page =
                lower.starts_with("<!doctype html") || lower.starts_with("<html") || lower.starts_with("<head");
            let is_object = (lower.starts_with("<?xml") || lower.starts_with("<error>"))
                && lower.contains("<error>")
                && lower.contains("<code>");
            (is_object || (is_page && PAGE.is_match(head))).then_some(PAGE_TOLD)
        }
        b'{' => error_object(text),
        _ if text.starts_with("Traceback (most recent call last)") => Some("the answer is the traceback of a program"),
        _ if text.len() > BYTES_MAX => None,
        _ if STATUS.is_match(text) => Some(STATUS_TOLD),
        _ if begins_as_error(text) => Some("the answer is the text of an error"),
        _ => None,
    }
}

fn error_object(text: &str) -> Option<&'static str> {
    let Ok(Value::Object(object)) = serde_json::from_str(text) else { return None };
    let is_told = ["error", "errors"].iter().any(|key| {
        object.get(*key).is_some_and(|error| match error {
            Value::String(text) => !text.is_empty(),
            Value::Object(error) => {
                ["message", "type", "code", "status", "msg", "reason"].iter().any(|key| error.contains_key(*key))
            }
            Value::Array(errors) => !errors.is_empty(),
            Value::Bool(is_error) => *is_error && object.len() > 1,
            _ => false,
        })
    });
    let detail_only =
        object.len() == 1 && object.get("detail").is_some_and(|detail| detail.is_string() || detail.is_array());
    let says_error =
        |key: &str| object.get(key).and_then(Value::as_str).is_some_and(|it| it.eq_ignore_ascii_case("error"));
    let is_typed = says_error("type") || says_error("object") || object.contains_key("__type");
    let is_status =
        |key: &&str| object.get(*key).and_then(Value::as_u64).is_some_and(|code| (400..600).contains(&code));
    let has_status = ["code", "status", "statusCode", "status_code", "error_code"].iter().any(is_status);
    // Some gateways send a status or a message, and call it nothing.
    let message = ["message", "Message", "msg", "title"].iter().find_map(|key| object.get(*key)?.as_str());
    let is_message = message.is_some_and(|text| STATUS.is_match(text) || begins_as_error(text));
    let is_error = is_told || detail_only || is_typed || is_message || (has_status && message.is_some());
    if !is_error || !object.keys().all(|key| COMPANIONS.contains(&key.as_str())) {
        return None;
    }
    let is_of_server = object.get("error").is_some_and(Value::is_object)
        || is_typed
        || has_status
        || (is_message && !is_told)
        || ["request_id", "requestId", "trace_id"].iter().any(|key| object.contains_key(*key));
    Some(if is_of_server { SERVERS_OBJECT } else { OBJECT })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_errors_are_told_from_answers() {
        for (text, expected) in [
            ("502 Bad Gateway", true),
            (
                "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><center><h1>502 Bad Gateway</h1></center></body></html>",
                true,
            ),
            ("<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>", true),
            ("<html><head><title>Our prices</title></head></html>", false),
            (r#"{"error":{"message":"The server had an error","type":"server_error","code":null}}"#, true),
            (r#"{"detail":"Not Found"}"#, true),
            (r#"{"error":"timeout","code":504}"#, true),
            (r#"{"error":null,"answer":"Paris"}"#, false),
            (r#"{"error":"The word is misspelt","sentence":"x","correction":"y"}"#, false),
            ("Internal Server Error", true),
            ("Service Unavailable.", true),
            ("HTTP/1.1 503 Service Unavailable", true),
            ("Error: connect ECONNREFUSED 127.0.0.1:8080", true),
            ("openai.RateLimitError: Error code: 429", true),
            ("Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'x'", true),
            ("upstream connect error or disconnect/reset before headers. reset reason: overflow", true),
            ("Request timed out.", true),
            ("Es ist ein Fehler aufgetreten. Bitte versuchen Sie es später erneut.", true),
            ("发生错误,请稍后再试", true),
            (r#"{"message": "Internal server error"}"#, true),
            (r#"{"message": "Endpoint request timed out"}"#, true),
            (r#"{"status":500,"message":"no more workers"}"#, true),
            (r#"{"code":500,"msg":"no more workers"}"#, true),
            (r#"{"__type":"ThrottlingException","message":"Rate exceeded"}"#, true),
            (r#"{"object":"error","message":"The model does not exist","type":"NotFoundError","code":404}"#, true),
            (r#"{"message": "Your order is on its way"}"#, false),
            (r#"{"status":"ok","message":"Internal notes were saved"}"#, false),
            ("error code: 502", true),
            ("503 Backend read error", true),
            ("I'm sorry, the service is currently unavailable.", true),
            ("<!-- edge 7 -->\n<html><body><h2>504 Gateway Time-out</h2></body></html>", true),
            ("404 Not Found", true),
            ("Not Found", false),
            ("Not found.", false),
            ("Gone.", false),
            ("Conflict.", false),
            ("Something went wrong is what you would say there.", false),
            ("Error - prone classification aside, it is fine.", false),
            ("Exception - the B side is older.", false),
            ("The answer is 502.", false),
            ("404 people came to the concert.", false),
            ("Forbidden fruit is sweet.", false),
            ("Conflict is part of every family.", false),
            ("The error of his ways was plain to see.", false),
            ("Gone with the Wind was written by Margaret Mitchell.", false),
            ("", false),
        ] {
            assert_eq!(kind(text).is_some(), expected, "{text}: {:?}", kind(text));
        }
    }
}
