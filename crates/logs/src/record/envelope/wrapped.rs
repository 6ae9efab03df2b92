//! What stands around records: lists below one key, as interfaces and exports give them, and records in a string.

use crate::record::json::Json;

/// Keys below which exports keep their records.
const LIST_KEYS: [&str; 14] = [
    "data",
    "records",
    "observations",
    "runs",
    "items",
    "rows",
    "traces",
    "spans",
    "calls",
    "logs",
    "results",
    "events",
    "requests",
    "value",
];

/// Keys below which log services keep the line that they were sent.
const LINE_KEYS: [&str; 5] = ["message", "log", "line", "msg", "textPayload"];

/// The list of records below one key of an object that is no record itself; gives the object back otherwise.
pub(in crate::record) fn list(mut value: Json<'_>) -> Result<Vec<Json<'_>>, Json<'_>> {
    let is_list = |held: &Json<'_>| {
        held.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(|item| item.as_object().is_some()))
    };
    for key in LIST_KEYS {
        if value.get(key).is_some_and(is_list)
            && let Some(Json::Array(items)) = value.take(key)
        {
            return Ok(items);
        }
    }
    Err(value)
}

/// A record that a log service keeps below a key, as an object or as JSON in a string.
pub(in crate::record) fn line<'a>(value: &Json<'a>) -> Option<Json<'a>> {
    LINE_KEYS.iter().chain(&["jsonPayload"]).find_map(|key| match value.get(key)? {
        Json::String(text) if text.trim_start().starts_with('{') => {
            Json::parse_text(text.clone()).ok().filter(|inner| inner.as_object().is_some())
        }
        inner @ Json::Object(_) => Some(inner.clone()),
        _ => None,
    })
}
