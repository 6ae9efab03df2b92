//! Events of a span, and the span itself, in logs of their own.

use super::*;

fn event(name: &str, time: u32, body: &str) -> String {
    format!(
        r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{{"traceId":"ab","spanId":"cd","eventName":"gen_ai.{name}","timeUnixNano":"17951871622{time:08}","body":{body}}}]}}]}}]}}"#
    )
}

fn value(entries: &[(&str, &str)]) -> String {
    let entries = entries.iter().map(|(key, text)| match text.starts_with('{') {
        true => format!(r#"{{"key":"{key}","value":{text}}}"#),
        false => format!(r#"{{"key":"{key}","value":{{"stringValue":"{text}"}}}}"#),
    });
    format!(r#"{{"kvlistValue":{{"values":[{}]}}}}"#, entries.collect::<Vec<_>>().join(","))
}

pub(super) fn user() -> String {
    event("user.message", 1, &value(&[("content", "Hello!")]))
}

pub(super) fn choice() -> String {
    event("choice", 2, &value(&[("index", r#"{"intValue":"0"}"#), ("message", &value(&[("content", "Hi")]))]))
}

/// The span of the two, without texts.
pub(super) fn span() -> String {
    let attributes = [("gen_ai.operation.name", "chat"), ("gen_ai.request.model", "m")];
    let attributes = attributes.map(|(key, text)| format!(r#"{{"key":"{key}","value":{{"stringValue":"{text}"}}}}"#));
    format!(
        r#"{{"traceId":"ab","spanId":"cd","name":"chat m","startTimeUnixNano":"1795187162000000000","endTimeUnixNano":"1795187163000000000","attributes":[{}]}}"#,
        attributes.join(",")
    )
}

#[test]
fn events_find_their_span_whichever_comes_first() {
    let system = event("system.message", 0, &value(&[("content", "Be short.")]));
    for at in 0..4 {
        let mut lines = vec![system.clone(), user(), choice()];
        lines.insert(at, span());
        let run = run(&lines);
        let expected = "id=cd at=1795187162000 model=m system=Be short. asked=[user: Hello!] said=Hi";
        assert_eq!((run.texts(), run.lines()), (vec![expected], vec![at as u64 + 1]), "the span at {at}");
        assert_eq!(run.others.len(), 3);
        assert_eq!((run.times(Note::HalfMissing), run.times(Note::HealthOnly)), (0, 0));
    }
}

#[test]
fn events_without_their_span_are_half_a_call() {
    let alone = run(&[user(), choice()]);
    assert_eq!((alone.texts(), alone.lines()), (vec!["at=1795187162200 asked=[user: Hello!] said=Hi"], vec![1]));
    assert_eq!(alone.times(Note::HalfMissing), 1);
    assert_eq!(run(&[user()]).times(Note::HalfMissing), 1);
    // An event of another span is another call's.
    let other = user().replace("\"cd\"", "\"ce\"");
    assert_eq!(run(&[user(), choice(), other]).records.len(), 2);
}
