//! Every name, shape and fault of a record of our own form.

use super::*;
use crate::record::{
    Prompt,
    fields::{About, Holds, Name},
};

fn record(json: &str) -> Record<'_> {
    outcome(json).unwrap_or_else(|reason| panic!("{json}: {reason}"))
}

fn outcome(json: &str) -> Result<Record<'_>, String> {
    read_call(Json::parse(json.as_bytes()).unwrap(), Vec::new(), json.as_bytes()).map_err(|refused| match refused {
        Refused::NoCall(_) | Refused::Known(_) => NO_CALL.to_owned(),
        Refused::Lacking(reason) => reason,
    })
}

/// A field of a record, as text.
fn shown(record: &Record<'_>, field: Field) -> Option<String> {
    let text = |text: &Option<Cow<'_, str>>| text.as_deref().map(str::to_owned);
    let json = |json: &Option<Json<'_>>| json.as_ref().map(Json::to_compact_string);
    let number = |number: Option<f64>| number.map(|number| number.to_string());
    match field {
        Field::Kind => Some(record.kind.as_str().to_owned()),
        Field::Id => text(&record.id),
        Field::Timestamp => record.timestamp_ms.map(|ms| ms.to_string()),
        Field::SessionId => text(&record.session_id),
        Field::Model => text(&record.model),
        Field::Provider => text(&record.provider),
        Field::Host => text(&record.host),
        Field::Level => text(&record.level),
        Field::System => text(&record.system),
        Field::Prompt => record.prompt.texts().map(|(_, text)| text.to_owned()).reduce(|all, text| all + "|" + &text),
        Field::Context => {
            record.context.iter().map(|passage| passage.text.to_string()).reduce(|all, text| all + "|" + &text)
        }
        Field::Response => text(&record.response),
        Field::LatencyMs => number(record.latency_ms),
        Field::TtftMs => number(record.ttft_ms),
        Field::PromptTokens => record.prompt_tokens.map(|count| count.to_string()),
        Field::ResponseTokens => record.response_tokens.map(|count| count.to_string()),
        Field::FinishReason => text(&record.finish_reason),
        Field::Error => text(&record.error),
        Field::Rules => json(&record.rules),
        Field::ExpectedSchema => json(&record.expected_schema),
        // The model that answered takes the name; the other one is what was asked for.
        Field::DeclaredModel => text(&record.declared_model).or(text(&record.model)),
        Field::ServedModel => text(&record.model),
        Field::Tools => json(&record.tools),
        Field::ToolCalls => record.tool_calls.first().map(|call| call.name.to_string()),
        Field::Tool => text(&record.tool),
        Field::Args => json(&record.args),
        Field::Result => json(&record.result),
        Field::ExecutionTimeMs => number(record.execution_time_ms),
        Field::Label => text(&record.label),
        Field::WasHallucination => record.feedback.map(|feedback| feedback.was_hallucination.to_string()),
        Field::Confidence => number(record.feedback.and_then(|feedback| feedback.confidence)),
    }
}

#[track_caller]
fn check(json: &str, field: Field, expected: Option<&str>) {
    assert_eq!(shown(&record(json), field).as_deref(), expected, "{json}");
}

/// A value for a field, and how [`shown`] shows it.
fn example(about: &About, unit: Option<Unit>) -> (&'static str, &'static str) {
    match (about.holds, unit) {
        _ if about.field == Field::ToolCalls => ("[{\"name\":\"text\"}]", "text"),
        (Holds::Kind, _) => ("\"llm\"", "llm"),
        (Holds::Timestamp, Some(_)) => ("1741569952000", "1741569952000"),
        (Holds::Timestamp, None) => ("\"2025-03-10T01:25:52Z\"", "1741569952000"),
        (Holds::DurationMs, Some(Unit::S)) => ("1.5", "1500"),
        (Holds::DurationMs, Some(Unit::Us)) => ("1500", "1.5"),
        (Holds::DurationMs, Some(Unit::Ns)) => ("1500000", "1.5"),
        (Holds::DurationMs, _) => ("1.5", "1.5"),
        (Holds::Count, _) => ("39", "39"),
        (Holds::Rules, _) => ("[{\"a\":1}]", "[{\"a\":1}]"),
        (Holds::Schema | Holds::Any, _) => ("{\"a\":1}", "{\"a\":1}"),
        (Holds::Flag, _) => ("true", "true"),
        (Holds::Fraction, _) => ("0.75", "0.75"),
        _ => ("\"text\"", "text"),
    }
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |all, word| all + &word[..1].to_uppercase() + &word[1..])
}

#[test]
fn every_name_of_every_field_is_read_in_every_spelling() {
    for about in &FIELDS {
        let is_tool_field = (Field::Tool..=Field::ExecutionTimeMs).contains(&about.field);
        if !is_tool_field {
            check_names(about, Kind::Llm, about.names);
            check_names(about, Kind::Llm, about.llm_names);
        }
        check_names(about, Kind::Tool, about.names);
        check_names(about, Kind::Tool, about.tool_names);
    }
}

fn check_names(about: &About, kind: Kind, names: &[Name]) {
    let rest = match (about.field, kind) {
        (Field::Kind, _) => r#""error":"e""#,
        (Field::Error, Kind::Llm) => r#""kind":"llm","latency_ms":1"#,
        (Field::Error, _) => r#""kind":"tool","tool":"t","args":{}"#,
        (Field::Tool, _) => r#""kind":"tool","error":"e""#,
        (Field::WasHallucination, _) => r#""tool":"t""#,
        (Field::Confidence, _) => r#""tool":"t","was_hallucination":true"#,
        (_, Kind::Llm) => r#""kind":"llm","error":"e""#,
        _ => r#""kind":"tool","tool":"t","error":"e""#,
    };
    for name in names {
        let (value, expected) = example(about, name.unit);
        let spellings = [name.text.to_owned(), camel(name.text), name.text.replace('_', "-"), name.text.to_uppercase()];
        for spelling in spellings {
            let json = format!("{{{rest},\"{spelling}\":{value}}}");
            match (about.field, kind) {
                (Field::Response, Kind::Tool) if name.text == "response" => check(&json, Field::Result, Some(value)),
                (Field::LatencyMs, Kind::Tool) => check(&json, Field::ExecutionTimeMs, Some(expected)),
                _ => check(&json, about.field, Some(expected)),
            }
        }
    }
}

#[test]
fn the_first_name_in_the_table_that_is_not_null_is_taken() {
    check(r#"{"model":"m","latency":2,"latencyMs":1,"latency_s":3}"#, Field::LatencyMs, Some("1"));
    check(r#"{"model":"m","latency":2,"latency_ms":null}"#, Field::LatencyMs, Some("2"));
    check(r#"{"model":"m","latency":2,"took_seconds":3}"#, Field::LatencyMs, Some("3000"));
    check(r#"{"answer":"b","output":"c","response":null}"#, Field::Response, Some("b"));
    check(r#"{"input":"a","prompt":"b","error":"e"}"#, Field::Prompt, Some("b"));
    check(r#"{"trace_id":"a","session_id":"b","prompt":"p"}"#, Field::SessionId, Some("b"));
}

#[test]
fn the_kind_is_stated_or_follows_from_the_fields() {
    check(r#"{"prompt":"p"}"#, Field::Kind, Some("llm"));
    check(r#"{"tool":"t","args":{}}"#, Field::Kind, Some("tool"));
    check(r#"{"tool":null,"prompt":"p"}"#, Field::Kind, Some("llm"));
    check(r#"{"name":"t","arguments":{},"output":"o"}"#, Field::Kind, Some("tool"));
    check(r#"{"name":"t","result":null}"#, Field::Kind, Some("tool"));
    check(r#"{"name":"Mira","prompt":"p","result":"r"}"#, Field::Kind, Some("llm"));
    check(r#"{"name":"Mira","input":"p","output":"r"}"#, Field::Kind, Some("llm"));
    check(r#"{"type":"tool_call","name":"t","input":{"a":1},"output":"o"}"#, Field::Args, Some("{\"a\":1}"));
    check(r#"{"type":"message","prompt":"p"}"#, Field::Kind, Some("llm"));
    check(r#"{"kind":"chat.completion","prompt":"p"}"#, Field::Kind, Some("llm"));
    check(r#"{"tool":"t","was_hallucination":false}"#, Field::Kind, Some("feedback"));
    check(r#"{"kind":"feedback","tool":"t","was_hallucination":1,"confidence":0.9}"#, Field::Confidence, Some("0.9"));
    let odd = record(r#"{"kind":"span","prompt":"p"}"#);
    assert_eq!((odd.kind, odd.problems[0].reason.as_str()), (Kind::Llm, "is not llm, tool or feedback"));
}

#[test]
fn what_has_nothing_to_audit_is_rejected() {
    let check = |json: &str, expected: &str| assert_eq!(outcome(json).unwrap_err(), expected, "{json}");
    for json in [
        "{}",
        r#"{"foo":1,"bar":{"prompt":"p"}}"#,
        r#"{"prompt":null}"#,
        r#"{"id":"a","model":"m"}"#,
        r#"{"id":"a","usage":{"cost":1}}"#,
        r#"{"tool":"t"}"#,
        r#"{"latency_ms":5}"#,
        r#"{"event":"job_done","result":{"rows":5}}"#,
        r#"{"output":"200 OK","level":"info"}"#,
        r#"{"level":"error","error":"connection reset"}"#,
        r#"{"request":{"method":"GET","url":"/"},"response":{"status":200}}"#,
        r#"{"response":{"rows":[1]}}"#,
        r#"{"prompt":{"a":1,"b":2}}"#,
        r#"{"input":"a.csv","rows":5}"#,
        r#"{"input":"a.csv","output":"b.csv","level":"info"}"#,
        r#"{"job":"etl","input":"s3://a/b","output":"/tmp/b"}"#,
        r#"{"tool":{"description":"d","$ref":"x"},"result":{"type":"object"}}"#,
        r#"{"message":"Server started","level":"info"}"#,
        r#"{"title":"A book","description":"It is long."}"#,
        r#"{"method":"GET","path":"/v1","status":200,"duration_ms":12}"#,
        r#"{"metric":"cpu","value":0.93,"ts":1795187000}"#,
        r#"{"query":"SELECT 1","duration_ms":3,"rows":1}"#,
        r#"{"msg":"request completed","req":{"method":"GET","url":"/"},"res":{"statusCode":200},"responseTime":12}"#,
        r#"{"user_text":"hello"}"#,
        r#"{"result_text":"done","level":"info"}"#,
        r#"{"function":"main","line":7,"elapsed":0.3,"message":"started"}"#,
        r#"{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}"#,
        r#"{"choices":["a","b"],"label":1}"#,
    ] {
        check(json, NO_CALL);
    }
    let none = "none of `prompt`, `response`, `error`, `latency_ms`, `ttft_ms`, `prompt_tokens`, `response_tokens`; map yours with --map";
    check(r#"{"kind":"llm","model":"m"}"#, none);
    check(r#"{"kind":"tool","args":{}}"#, "a tool call without `tool`; map yours with --map");
    let none = "a tool and none of `args`, `result`, `execution_time_ms`, `error`; map yours with --map";
    check(r#"{"kind":"tool","tool":"t"}"#, none);
    check(r#"{"kind":"feedback","tool":"t"}"#, "feedback without `was_hallucination`; map yours with --map");
    check(r#"{"was_hallucination":true}"#, "feedback without `tool`, `model`; map yours with --map");
    check(r#"{"tool":"t","was_hallucination":"maybe"}"#, "`was_hallucination` is a string where true or false belongs");
    assert!(outcome(r#"{"tool":"t","result":null}"#).is_ok());
    for json in [
        r#"{"model":"m","usage":{"input_tokens":1}}"#,
        r#"{"model":"m","latency_ms":1}"#,
        r#"{"model":"m","error":"timeout"}"#,
        r#"{"input":"a","output":"b"}"#,
        r#"{"model":"m","output":"b"}"#,
        r#"{"prompt":""}"#,
        r#"{"type":"llm","latency_ms":5}"#,
    ] {
        assert!(outcome(json).is_ok(), "{json}");
    }
}

#[test]
fn what_cannot_be_used_is_a_problem_of_its_field() {
    let check = |json: &str, field: Field, reason: &str| {
        let record = record(json);
        assert_eq!(shown(&record, field), None, "{json}");
        let expected = Problem { field: field.name().to_owned(), reason: reason.to_owned() };
        assert_eq!(record.problems, [expected], "{json}");
    };
    check(r#"{"prompt":"p","latency_ms":-5}"#, Field::LatencyMs, "is negative");
    check(r#"{"kind":"llm","latency_ms":-5}"#, Field::LatencyMs, "is negative");
    check(r#"{"prompt":"p","latency_ms":"fast"}"#, Field::LatencyMs, "is text and not a number");
    check(r#"{"prompt":"p","ttft_ms":[1]}"#, Field::TtftMs, "is an array where a number belongs");
    check(r#"{"prompt":"p","response_tokens":1.5}"#, Field::ResponseTokens, "is not a whole number");
    check(r#"{"prompt":"p","usage":{"prompt_tokens":-1}}"#, Field::PromptTokens, "is negative");
    check(r#"{"prompt":"p","timestamp":"soon"}"#, Field::Timestamp, "is not a date and time that can be read");
    check(r#"{"prompt":"p","model":{}}"#, Field::Model, "is an object where text belongs");
    check(r#"{"prompt":"p","response":7}"#, Field::Response, "is a number where text belongs");
    check(r#"{"prompt":true,"response":"r"}"#, Field::Prompt, "is a boolean where text or a list of messages belongs");
    check(r#"{"prompt":"p","context":3}"#, Field::Context, "is a number where text or a list of documents belongs");
    check(r#"{"prompt":"p","expected_schema":[]}"#, Field::ExpectedSchema, "is an array where a JSON Schema belongs");
    check(
        r#"{"tool":7,"execution_time_ms":-1,"args":{},"tool_name":"x"}"#.replace("7", "null").as_str(),
        Field::ExecutionTimeMs,
        "is negative",
    );
    check(r#"{"tool":"t","was_hallucination":true,"confidence":7}"#, Field::Confidence, "is not between 0 and 1");
}

#[test]
fn a_beginning_and_an_end_give_the_latency_that_is_not_told() {
    let check = |json: &str, expected: Option<f64>| {
        let record = record(json);
        assert_eq!(record.latency_ms.or(record.execution_time_ms), expected, "{json}");
    };
    check(
        r#"{"prompt":"p","start_time":"2026-01-05T10:00:00.250Z","end_time":"2026-01-05T10:00:01.5Z"}"#,
        Some(1250.0),
    );
    check(r#"{"prompt":"p","startedAt":1767607200.5,"finishedAt":1767607201}"#, Some(500.0));
    check(r#"{"tool":"t","args":{},"start_time":1000,"end_time":1002}"#, Some(2000.0));
    check(r#"{"prompt":"p","start_time":1000,"end_time":1002,"latency_ms":7}"#, Some(7.0));
    check(r#"{"prompt":"p","start_time":1002,"end_time":1000}"#, None);
    check(r#"{"prompt":"p","created":1000,"end_time":1002}"#, None);
}

#[test]
fn ids_keep_all_digits() {
    check(r#"{"id":123456789012345678901234567890,"prompt":"p"}"#, Field::Id, Some("123456789012345678901234567890"));
    check(r#"{"prompt":"p","sessionId":-99999999999999999999}"#, Field::SessionId, Some("-99999999999999999999"));
    check(r#"{"id":9007199254740993,"prompt":"p"}"#, Field::Id, Some("9007199254740993"));
    let lost = record(r#"{"id":1e20,"prompt":"p"}"#);
    assert_eq!((lost.id, lost.problems.len()), (None, 1));
}

#[test]
fn prompts_in_every_shape() {
    let check = |prompt: &str, expected: &[(&str, &str)]| {
        let json = format!("{{\"prompt\":{prompt},\"response\":\"r\"}}");
        let Prompt::Messages(messages) = record(&json).prompt else { panic!("{prompt}") };
        let messages: Vec<(&str, &str)> =
            messages.iter().map(|message| (message.role.as_ref(), message.text.as_ref())).collect();
        assert_eq!(messages, expected, "{prompt}");
    };
    check(
        r#"[{"role":"user","content":"a"},{"role":"assistant","content":null},{"role":"tool","content":"c"}]"#,
        &[("user", "a"), ("assistant", ""), ("tool", "c")],
    );
    check(
        r#"[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"x"}},{"type":"input_text","text":"b"}]}]"#,
        &[("user", "a\nb")],
    );
    check(r#"["a","b"]"#, &[("user", "a"), ("user", "b")]);
    check(r#"{"messages":[{"role":"user","content":"a"}]}"#, &[("user", "a")]);
    check(r#"{"role":"user","content":"a"}"#, &[("user", "a")]);
    check(r#""[{\"role\":\"user\",\"content\":\"a\"}]""#, &[("user", "a")]);
    let texts = [
        (r#""a""#, "a"),
        (r#"{"question":"q"}"#, "q"),
        (r#"{"topic":"bears"}"#, "bears"),
        (r#"{"headers":{},"body":{"data":"{\"prompt\":\"deep\"}"}}"#, "deep"),
        (r#"[{"type":"text","text":"a"}]"#, "a"),
        (r#""{\"role\": 1}""#, r#"{"role": 1}"#),
    ];
    for (prompt, expected) in texts {
        let json = format!("{{\"prompt\":{prompt}}}");
        assert_eq!(record(&json).prompt, Prompt::Text(expected.into()), "{prompt}");
    }
    for prompt in ["[]", "[[1]]", "{}", r#"{"a":1,"b":2}"#] {
        assert!(record(&format!(r#"{{"prompt":{prompt},"response":"r"}}"#)).prompt.is_absent(), "{prompt}");
    }
}

#[test]
fn system_messages_go_to_the_system_prompt() {
    let json = r#"{"system":"s","prompt":[{"role":"system","content":"a"},{"role":"user","content":"u"},{"role":"developer","content":"b"}]}"#;
    check(json, Field::System, Some("s\na\nb"));
    check(json, Field::Prompt, Some("u"));
}

#[test]
fn contexts_in_every_shape() {
    let check = |context: &str, expected: &[(Option<&str>, &str)]| {
        let json = format!("{{\"prompt\":\"p\",\"context\":{context}}}");
        let record = record(&json);
        let passages: Vec<(Option<&str>, &str)> =
            record.context.iter().map(|passage| (passage.id.as_deref(), passage.text.as_ref())).collect();
        assert_eq!(passages, expected, "{context}");
    };
    check(r#""a""#, &[(None, "a")]);
    check(r#"["a","",null,"b"]"#, &[(None, "a"), (None, "b")]);
    check(
        r#"[{"id":7,"text":"a"},{"doc_id":"d","page_content":"b"},{"content":"c"}]"#,
        &[(Some("7"), "a"), (Some("d"), "b"), (None, "c")],
    );
    check(r#"{"id":"x","text":"a"}"#, &[(Some("x"), "a")]);
    check(r#"{"name":"Finch","stars":4.5}"#, &[(None, r#"{"name":"Finch","stars":4.5}"#)]);
    check(r#"[3,["a"]]"#, &[(None, "3"), (None, r#"["a"]"#)]);
    check("[]", &[]);
}

#[test]
fn responses_in_every_shape() {
    let check = |response: &str, expected: &str| {
        check(&format!("{{\"prompt\":\"p\",\"response\":{response}}}"), Field::Response, Some(expected));
    };
    check(r#""""#, "");
    check(r#"{"b":1, "a": [1, 2.50]}"#, r#"{"b":1,"a":[1,2.5]}"#);
    check(r#"[1, "x"]"#, r#"[1,"x"]"#);
    check(r#"{"role":"assistant","content":"a"}"#, "a");
    check(r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, "a\nb");
    check(r#"[{"type":"text","text":"a"}]"#, "a");
    check(r#"{"title":"t","content":"c"}"#, r#"{"title":"t","content":"c"}"#);
    check(r#""{\"choices\": 3}""#, r#"{"choices": 3}"#);
    check(r#"{"error":{"message":"m"}}"#, r#"{"error":{"message":"m"}}"#);
}

#[test]
fn tool_calls_in_every_shape() {
    check(r#"{"tool":"t","args":"{\"a\": 1}"}"#, Field::Args, Some(r#"{"a":1}"#));
    check(r#"{"tool":"t","args":"{\"a\": "}"#, Field::Args, Some(r#""{\"a\": ""#));
    check(r#"{"tool":"t","args":"[1]"}"#, Field::Args, Some(r#""[1]""#));
    check(r#"{"tool":"t","args":"{\"a\": \"{}\"}"}"#, Field::Args, Some(r#"{"a":"{}"}"#));
    check(r#"{"tool":"t","result":"[1, 2]"}"#, Field::Result, Some("[1,2]"));
    check(r#"{"tool":"t","result":" {\"a\":1} "}"#, Field::Result, Some(r#"{"a":1}"#));
    check(r#"{"tool":"t","result":"3"}"#, Field::Result, Some(r#""3""#));
    check(r#"{"tool":"t","result":null}"#, Field::Result, Some("null"));
    check(r#"{"tool":"t","output":null,"args":{}}"#, Field::Result, None);
    check(r#"{"tool":"t","result":null,"output":"o"}"#, Field::Result, Some("\"o\""));
    check(r#"{"tool":"t","result":{"a":1},"response":"r"}"#, Field::Response, Some("r"));
    check(r#"{"tool":"t","args":{},"response":{"a":1}}"#, Field::Result, Some(r#"{"a":1}"#));
    check(r#"{"tool":"t","args":{},"response":{"a":1}}"#, Field::Response, None);
    check(r#"{"tool":"t","latency_ms":5}"#.replace("5", "5,\"args\":{}").as_str(), Field::ExecutionTimeMs, Some("5"));
    let both = r#"{"tool":"t","execution_time_ms":1,"latency_ms":5}"#;
    check(both, Field::ExecutionTimeMs, Some("1"));
    check(both, Field::LatencyMs, Some("5"));
    let call = r#"{"type":"function","function":{"name":"f","arguments":"{\"x\":2}"},"id":"call_1"}"#;
    check(call, Field::Tool, Some("f"));
    check(call, Field::Args, Some(r#"{"x":2}"#));
}

#[test]
fn errors_in_every_shape() {
    let check = |error: &str, expected: Option<&str>| {
        check(&format!("{{\"prompt\":\"p\",\"error\":{error}}}"), Field::Error, expected);
    };
    check(r#""boom""#, Some("boom"));
    check(r#"{"message":"m","type":"t"}"#, Some("m"));
    check(r#"{"code":7}"#, Some(r#"{"code":7}"#));
    check("true", Some("true"));
    check("500", Some("500"));
    for nothing in ["null", "false", "0", "\"\"", "{}", "[]"] {
        check(nothing, None);
    }
}

#[test]
fn a_mapped_field_wins_and_a_missing_pointer_leaves_the_names() {
    let specs = [
        "model=/meta/model",
        "latency_ms=/meta/latency_s:s",
        "prompt_tokens=/meta/input_tokens",
        "response=/text",
        "timestamp=/meta/t:ms",
    ];
    let mapping = Mapping::parse(&specs.map(str::to_owned)).unwrap();
    let read = |json: &str| read(Json::parse(json.as_bytes()).unwrap().into_owned(), &mapping).unwrap();
    let mapped = read(
        r#"{"model":"named","latency_ms":1,"text":"t","response":null,"meta":{"model":"mapped","latency_s":1.6393,"input_tokens":7,"t":5}}"#,
    );
    assert_eq!(shown(&mapped, Field::Model).as_deref(), Some("mapped"));
    assert_eq!(shown(&mapped, Field::Response).as_deref(), Some("t"));
    assert_eq!((mapped.latency_ms, mapped.prompt_tokens, mapped.timestamp_ms), (Some(1639.3), Some(7), Some(5)));
    let named = read(r#"{"model":"named","latency_ms":1,"text":null,"response":"r","meta":{"latency_s":null}}"#);
    assert_eq!(shown(&named, Field::Model).as_deref(), Some("named"));
    assert_eq!((named.latency_ms, named.response.as_deref()), (Some(1.0), Some("r")));
    let unusable = read(r#"{"model":"m","latency_ms":1,"meta":{"latency_s":-1}}"#);
    assert_eq!((unusable.latency_ms, unusable.problems.len()), (None, 1));
}

#[test]
fn what_no_name_holds_is_told_from_bodies() {
    let asked = r#"{"model":"m","messages":[{"role":"user","content":"Hello"}]}"#;
    let answered = r#"{"choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}"#;
    let (asked_text, answered_text) = (format!("{asked:?}"), format!("{answered:?}"));
    let check = |json: &str| {
        let record = record(json);
        let prompt: Vec<&str> = record.prompt.texts().map(|(_, text)| text).collect();
        assert_eq!((prompt.as_slice(), record.response.as_deref()), (&["Hello"][..], Some("Hi")), "{json}");
    };
    check(&format!(r#"{{"sent":{asked},"got":{answered}}}"#));
    check(&format!(r#"{{"sent":{asked_text},"got":{answered_text},"meta":{{"a":1}}}}"#));
    check(&format!(r#"{{"request":{{"url":"u","method":"POST"}},"sent":{asked},"got":{answered}}}"#));
    check(&format!(r#"{{"prompt":"Hello","upstream":{{"status":200,"body":{answered_text}}}}}"#));
    check(&format!(r#"{{"inputs":{{}},"query":"Hello","answer":"Hi","raw":{answered}}}"#));
    check(r#"{"prompt":{"id":"p","version":2},"messages":[{"role":"user","content":"Hello"}],"output":"Hi"}"#);
    // Two of a kind tell nothing.
    assert!(outcome(&format!(r#"{{"sent":{asked},"got":{answered},"more":{answered}}}"#)).is_err());
    assert!(outcome(&format!(r#"{{"tool":"t","sent":{asked},"got":{answered}}}"#)).is_err());
    // An answer that is none of a model.
    let embedded = r#"{"object":"list","data":[{"object":"embedding","embedding":[0.5]}]}"#;
    assert!(outcome(&format!(r#"{{"request":{{"model":"m","input":"a"}},"response":{embedded}}}"#)).is_err());
}

#[test]
fn a_status_says_that_a_call_failed() {
    let check = |json: &str, expected: Option<&str>| check(json, Field::Error, expected);
    let code = Some("HTTP status 503");
    check(r#"{"model":"m","prompt":"p","response":"","status_code":503}"#, code);
    check(r#"{"model":"m","prompt":"p","response":"Bad gateway","status":"503"}"#, code);
    check(r#"{"model":"m","prompt":"p","response":"r","status":200}"#, None);
    check(r#"{"model":"m","prompt":"p","status":"failed"}"#, Some("`status` says that the call failed"));
    check(r#"{"model":"m","prompt":"p","response":" ","success":false}"#, Some("`success` says that the call failed"));
    check(r#"{"model":"m","prompt":"p","is_error":true}"#, Some("`is_error` says that the call failed"));
    // An answer is one, whatever became of it.
    check(r#"{"model":"m","prompt":"p","response":"r","status":"failed","success":false}"#, None);
    check(r#"{"model":"m","prompt":"p","response":"r","status":"ok"}"#, None);
    check(r#"{"model":"m","prompt":"p","error":"e","status_code":503}"#, Some("e"));
}
