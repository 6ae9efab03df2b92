//! Lines of batch files: requests and answers of OpenAI and Anthropic.
//!
//! | | request | answer |
//! |---|---|---|
//! | OpenAI | `custom_id`, `method`, `url`, `body` | `id`, `custom_id`, `response` (`status_code`, `body`) or null, `error` |
//! | Anthropic | `custom_id`, `params` | `custom_id`, `result` (`type`, and `message` or `error`) |
//!
//! **Limits**: a batch has no times (it may take a day), so that nothing is known of latency.

use super::{Part, object, string, text};
use crate::record::json::Json;

/// One line.
#[derive(Debug)]
pub struct Line {
    /// What requests and answers are joined by.
    pub custom_id: String,
    /// The body of the request or the answer.
    pub body: Option<Json<'static>>,
    /// Why there is no answer.
    pub error: Option<String>,
}

/// From which status on an answer is an error.
const ERROR_STATUS_FROM: f64 = 400.0;

/// Reads a line.
pub fn read(mut value: Json<'static>) -> Result<Part, String> {
    let custom_id = match value.get("custom_id") {
        Some(Json::String(id)) => id.clone().into_owned(),
        Some(id @ Json::Number(_)) => id.to_compact_string(),
        _ => return Err("a line of a batch without `custom_id`".to_owned()),
    };
    let is_url_of_embeddings = value.get("url").and_then(Json::as_str).is_some_and(|url| url.ends_with("/embeddings"));
    if is_url_of_embeddings {
        return Ok(Part::Aside("a request for an embedding"));
    }
    if let Some(body) = value.take("body").or_else(|| value.take("params")) {
        return Ok(Part::BatchRequest(Line { custom_id, body: Some(body), error: None }));
    }
    if let Some(result) = value.take("result") {
        return Ok(Part::BatchAnswer(read_result(custom_id, result)));
    }
    let mut response = value.take("response").unwrap_or_default();
    let body = response.take("body");
    if body.as_ref().and_then(|body| body.pointer("/data/0/embedding")).is_some() {
        return Ok(Part::Aside("an embedding"));
    }
    let status = response.get("status_code").and_then(Json::as_f64).filter(|code| *code >= ERROR_STATUS_FROM);
    let error = value.take("error").map(error_text).or_else(|| {
        let body = body.as_ref()?.get("error").cloned();
        status.map(|code| body.map_or_else(|| format!("status {code}"), error_text))
    });
    Ok(Part::BatchAnswer(Line { custom_id, body: body.filter(|_| error.is_none()), error }))
}

fn read_result(custom_id: String, mut result: Json<'static>) -> Line {
    let kind = text(&result, "type").unwrap_or_default();
    let error = (kind != "succeeded").then(|| result.take("error").map_or(kind, |mut error| {
        error_text(error.take("error").unwrap_or(error))
    }));
    Line { custom_id, body: result.take("message"), error }
}

fn error_text(error: Json<'_>) -> String {
    match &error {
        Json::String(text) => text.clone().into_owned(),
        _ => text(&error, "message").unwrap_or_else(|| error.to_compact_string()),
    }
}

/// Request and answer as one pair of bodies.
pub fn pair(request: Option<Line>, answer: Option<Line>) -> Json<'static> {
    let custom_id = request.as_ref().or(answer.as_ref()).map(|line| line.custom_id.clone()).unwrap_or_default();
    let request = request.and_then(|line| line.body).map(|body| ("request", body));
    let (body, error) = answer.map_or((None, None), |line| (line.body, line.error));
    let response = body.map(|body| ("response", body));
    let error = error.map(|error| ("error", string(error)));
    object([("id", string(custom_id))].into_iter().chain(request).chain(response).chain(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<Part, String> {
        read(Json::parse(text.as_bytes()).unwrap().into_owned())
    }

    #[test]
    fn answers_say_how_they_ended() {
        let check = |text: &str, has_body: bool, error: Option<&str>| {
            let Ok(Part::BatchAnswer(line)) = line(text) else { panic!("{text}") };
            assert_eq!((line.body.is_some(), line.error.as_deref()), (has_body, error), "{text}");
        };
        check(r#"{"custom_id":"a","response":{"status_code":200,"body":{"choices":[]}},"error":null}"#, true, None);
        check(
            r#"{"custom_id":"a","response":{"status_code":429,"body":{"error":{"message":"slow down"}}},"error":null}"#,
            false,
            Some("slow down"),
        );
        check(r#"{"custom_id":"a","response":{"status_code":500,"body":{}},"error":null}"#, false, Some("status 500"));
        check(r#"{"custom_id":"a","response":null,"error":{"code":"batch_expired","message":"late"}}"#, false, Some("late"));
        check(r#"{"custom_id":"a","result":{"type":"succeeded","message":{"content":[]}}}"#, true, None);
        check(r#"{"custom_id":"a","result":{"type":"expired"}}"#, false, Some("expired"));
        check(
            r#"{"custom_id":"a","result":{"type":"errored","error":{"type":"error","error":{"type":"x","message":"bad"}}}}"#,
            false,
            Some("bad"),
        );
    }

    #[test]
    fn embeddings_are_no_calls() {
        assert!(matches!(line(r#"{"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{}}"#), Ok(Part::Aside(_))));
        assert!(matches!(
            line(r#"{"custom_id":"a","response":{"status_code":200,"body":{"data":[{"embedding":[1]}]}}}"#),
            Ok(Part::Aside(_))
        ));
        assert!(line(r#"{"response":{}}"#).is_err());
    }
}
