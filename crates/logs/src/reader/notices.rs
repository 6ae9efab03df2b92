//! What transports say between the records, and holds none: named, and not taken for something that nobody knows.
//!
//! **Source**: Elasticsearch's bulk API, CloudWatch Logs' subscriptions, the messages of Singer's taps and of Airbyte.

use std::borrow::Cow;

use crate::record::{Container, Entry, call::skipped, json::Json};

const TRANSPORT: Container = Container::named("transport");

/// What an object says that holds no record, when that is known.
pub(super) fn of<'a>(value: &Json<'_>) -> Option<Entry<'a>> {
    let entries = value.as_object()?;
    let what = match entries {
        [(action, about)] if is_action(action, about) => "an action of a bulk request",
        _ if value.get("messageType").and_then(Json::as_str) == Some("CONTROL_MESSAGE") => "a control message",
        _ => of_tap(value)?,
    };
    Some(skipped(TRANSPORT, what))
}

/// `{"index": {"_index": "calls", "_id": "1"}}`.
fn is_action(action: &str, about: &Json<'_>) -> bool {
    const ABOUT: [&str; 8] = [
        "routing",
        "pipeline",
        "version",
        "version_type",
        "if_seq_no",
        "if_primary_term",
        "require_alias",
        "retry_on_conflict",
    ];
    let is_about = |(key, value): &(Cow<'_, str>, Json<'_>)| {
        (key.starts_with('_') || ABOUT.contains(&key.as_ref())) && !matches!(value, Json::Object(_) | Json::Array(_))
    };
    matches!(action, "index" | "create" | "delete" | "update")
        && about.as_object().is_some_and(|entries| entries.iter().all(is_about))
}

/// What a tap says of its stream.
fn of_tap(value: &Json<'_>) -> Option<&'static str> {
    let has = |key: &str| value.get(key).is_some();
    match value.get("type").and_then(Json::as_str)? {
        "SCHEMA" if has("schema") => Some("a schema of a stream"),
        "STATE" if has("value") || has("state") => Some("a state of a stream"),
        "ACTIVATE_VERSION" if has("stream") => Some("a version of a stream"),
        "TRACE" if has("trace") => Some("a trace of a connector"),
        "LOG" if has("log") => Some("a log line of a connector"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::{Parsed, RecordReader};

    #[test]
    fn what_a_transport_says_is_named() {
        let check = |line: &str, expected: Option<&str>| {
            let Parsed::One(outcome) = RecordReader::default().read(line.as_bytes()) else { panic!("{line}") };
            let what = match outcome {
                Ok(Entry::Ignored(ignored)) => Some(ignored.what),
                _ => None,
            };
            assert_eq!(what, expected, "{line}");
        };
        check(r#"{"index":{"_index":"calls","_id":"1"}}"#, Some("an action of a bulk request"));
        check(r#"{"create":{}}"#, Some("an action of a bulk request"));
        check(r#"{"index":{"prompt":"p","response":"r"}}"#, None);
        check(r#"{"index":{"_id":"1"},"prompt":"p","response":"r"}"#, None);
        let control =
            r#"{"messageType":"CONTROL_MESSAGE","logEvents":[{"id":"","timestamp":1,"message":"Checking health."}]}"#;
        check(control, Some("a control message"));
        check(r#"{"type":"SCHEMA","stream":"calls","schema":{}}"#, Some("a schema of a stream"));
        check(r#"{"type":"STATE","value":{"bookmarks":{}}}"#, Some("a state of a stream"));
        check(r#"{"type":"RECORD","stream":"calls","record":{"prompt":"p","response":"r"}}"#, None);
        check(r#"{"type":"STATE"}"#, None);
    }
}
