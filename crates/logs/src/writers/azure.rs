//! Azure: diagnostics of Azure OpenAI, and the gateway logs of API Management.
//!
//! - `RequestResponse` has neither texts nor tokens: latency and status only, which is noted. The model is an alias
//!   (`modelDeploymentName`) beside `modelName` and `modelVersion`
//! - `GatewayLogs` has the bodies, as JSON in strings that end after 8192 bytes: a body that breaks off is named
//! - `durationMs` can be negative, and is refused then
//!
//! **Source**: Azure Monitor resource logs of Cognitive Services and API Management.

use std::borrow::Cow;

use super::{Writer, has_any};
use crate::record::{
    Container,
    body::{
        FIRST_ERROR_STATUS,
        message::{take_name, take_text},
    },
    call::{Call, Outcome, decoded, skipped},
    json::Json,
    values::{self, Unit},
};

const CONTAINER: Container = Container::named("azure");

/// Categories of these logs. What the console of a service shows is the service's own.
const CATEGORIES: [&str; 6] =
    ["RequestResponse", "GatewayLogs", "Audit", "Trace", "AzureOpenAIRequestUsage", "DeveloperPortalAuditLogs"];

/// Diagnostics; gateway logs of API Management.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "diagnostics; gateway logs of API Management",
    told_by: "`resourceId`, and a `category` of these logs",
    marks: &["category"],
    matches: |value| {
        let category = value.get("category").and_then(Json::as_str);
        category.is_some_and(|category| CATEGORIES.contains(&category)) && has_any(value, &["resourceId", "ResourceId"])
    },
    read: |value, entries| entries.push(read(value)),
    joiner: None,
};

/// Reads one entry of a log.
fn read(mut value: Json<'_>) -> Outcome<'_> {
    let category = take_text(&mut value, "category").unwrap_or_default();
    let mut properties = value.take("properties").map(decoded).unwrap_or_default();
    let mut call = Call::llm(CONTAINER);
    call.record.id = take_name(&mut value, "correlationId").or_else(|| take_name(&mut value, "CorrelationId"));
    call.record.provider = Some("azure.ai.openai".into());
    match &*category {
        "RequestResponse" => {
            let operation = take_text(&mut value, "operationName").unwrap_or_default();
            if operation.to_ascii_lowercase().contains("embedding") {
                return Ok(skipped(CONTAINER, "an embedding"));
            }
            call.times(value.take("time"), None, None);
            call.reported_latency(value.get("durationMs"), Unit::Ms);
            call.requested = take_text(&mut properties, "modelDeploymentName");
            let name = take_text(&mut properties, "modelName").filter(|name| !name.is_empty());
            let version = take_text(&mut properties, "modelVersion").filter(|version| !version.is_empty());
            call.served = name.map(|name| match version {
                Some(version) => Cow::Owned(format!("{name}-{version}")),
                None => name,
            });
            status(&mut call, value.get("resultSignature"));
        }
        "GatewayLogs" => {
            call.times(value.take("time"), None, None);
            call.reported_latency(properties.get("backendTime").or_else(|| value.get("durationMs")), Unit::Ms);
            let request = body(&mut call, &mut properties, "backendRequestBody", "prompt");
            call.ask(request);
            let response = body(&mut call, &mut properties, "backendResponseBody", "response");
            call.answer(response);
            call.requested =
                call.requested.take().or_else(|| take_text(&mut properties, "backendUrl").and_then(deployment));
            status(&mut call, properties.get("responseCode"));
        }
        _ => return Ok(skipped(CONTAINER, "a log entry without a call")),
    }
    Ok(call.finish())
}

/// A body in a string. One that breaks off is named, and no text is made of it.
fn body<'a>(call: &mut Call<'a>, properties: &mut Json<'a>, key: &str, field: &str) -> Option<Json<'a>> {
    let body = properties.take(key).or_else(|| {
        let own = key.replace("backend", "");
        let own = own.get(..1)?.to_ascii_lowercase() + own.get(1..)?;
        properties.take(&own)
    })?;
    match body {
        Json::String(text) if text.trim_start().starts_with(['{', '[']) => match Json::parse_text(text) {
            Ok(body) => Some(body),
            Err(text) => {
                call.problem(field, format!("breaks off in a body of {} bytes and is left out", text.len()));
                None
            }
        },
        Json::String(text) if text.is_empty() => None,
        other => Some(other),
    }
}

fn status(call: &mut Call<'_>, status: Option<&Json<'_>>) {
    if let Some(status) = status.and_then(|status| values::count(status).ok())
        && status >= FIRST_ERROR_STATUS
        && call.record.error.is_none()
    {
        call.record.error = Some(format!("HTTP status {status}").into());
    }
}

/// `https://host/openai/deployments/NAME/chat/completions`.
fn deployment(url: Cow<'_, str>) -> Option<Cow<'_, str>> {
    let (_, rest) = url.split_once("/deployments/")?;
    Some(rest.split('/').next()?.to_owned().into())
}
