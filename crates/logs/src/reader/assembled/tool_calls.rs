//! Calls of tools in conversations.

use super::*;

const LONG: &str = "call_MY94XAcnfHzfAZcVHqt5FRRQ";

/// The calls that conversations tell.
#[track_caller]
fn check(name: &str, records: &[impl AsRef<str>], expected: &[(u64, &str)]) {
    assert_eq!(run(records).told(), expected, "{name}");
}

/// How many calls conversations tell.
fn count(records: &[impl AsRef<str>]) -> usize {
    run(records).told().len()
}

/// A request with these messages and an answer that calls a tool, in a session or in none.
fn conversation(session: &str, messages: &[&str]) -> String {
    let session = if session.is_empty() { String::new() } else { format!(r#""session_id":"{session}","#) };
    format!(r#"{{{session}"request":{{"messages":[{}]}},"response":"ok"}}"#, messages.join(","))
}

fn said(text: &str) -> String {
    format!(r#"{{"role":"user","content":"{text}"}}"#)
}

fn called(id: &str, city: &str) -> String {
    format!(
        r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{\"city\":\"{city}\"}}"}}}}]}}"#
    )
}

fn answered(id: &str, text: &str) -> String {
    format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{text}"}}"#)
}

/// A request of one message, answered by a call.
fn asks(session: &str, message: &str, id: &str, city: &str) -> String {
    let call = called(id, city);
    conversation(session, &[message])
        .replace(r#""response":"ok""#, &format!(r#""response":{{"choices":[{{"message":{call}}}]}}"#))
}

fn of(city: &str, text: &str) -> String {
    format!(r#"f({{"city":"{city}"}}) = "{text}" in None"#)
}

#[test]
fn a_call_that_comes_again_with_the_conversation_is_one_record() {
    let (oslo, warm, rome) = (called(LONG, "Oslo"), answered(LONG, "warm"), called(LONG, "Rome"));
    let (hello, other, once) = (said("hello"), said("other"), of("Oslo", "warm"));
    let lines = [conversation("", &[&hello, &oslo, &warm]), conversation("", &[&oslo, &warm, &other])];
    check("the window slides: the id is known all the same", &lines, &[(1, &once)]);
    let lines = ["a", "b", "a"].map(|session| conversation(session, &[&hello, &oslo, &warm]));
    check("a session that is run again has its ids again", &lines, &[(1, &once), (2, &once)]);
    let twice_the_same = conversation("", &[&hello, &oslo, &warm, &oslo, &warm]);
    assert_eq!(count(&[&twice_the_same, &twice_the_same]), 2, "an id that comes twice in one record is two calls");
    let twice_the_id = conversation("", &[&hello, &oslo, &warm, &rome, &warm]);
    assert_eq!(count(&[&twice_the_id, &twice_the_id]), 2);
    let (first, second) = ([called("c", "Oslo"), answered("c", "warm")], [called("c", "Rome"), answered("c", "hot")]);
    let both = conversation("", &[&hello, &first[0], &first[1], &second[0], &second[1], &first[0], &first[1]]);
    let expected = [(1, &*once), (1, &of("Rome", "hot")), (1, &once)];
    check("short ids are those of their conversation, and may come again in it", &[&both, &both], &expected);
    let elsewhere = conversation("", &[&other, &first[0], &first[1]]);
    assert_eq!(count(&[&both, &elsewhere]), 4);
}

#[test]
fn a_short_id_may_come_again_in_its_session() {
    let poll = |number: usize| said(&format!("poll {number}"));
    let ask = || asks("s", &poll(0), "c", "Oslo");
    let polls = |id: &str, count: usize, repeats: bool| -> Vec<String> {
        let messages: Vec<String> =
            (0..count).flat_map(|n| [poll(n), called(id, "Oslo"), answered(id, &format!("state {n}"))]).collect();
        let from = |n: usize| if repeats { 0 } else { 3 * n };
        let upto = |n: usize| messages[from(n)..3 * n + 3].iter().map(String::as_str).collect::<Vec<_>>();
        (0..count).map(|n| conversation("s", &upto(n))).collect()
    };
    let alone = |text: &str| conversation("s", &[&poll(0), &answered("c", text)]);
    for (name, records, expected) in [
        ("each record begins anew", polls("call_0", 4, false), 4),
        ("each record repeats the ones before", polls("call_0", 4, true), 4),
        ("the log is exported twice", [polls("call_0", 4, false), polls("call_0", 4, false)].concat(), 4),
        ("a long id is told once", polls(LONG, 4, false), 1),
        ("asked before", [vec![ask()], polls("c", 2, false)].concat(), 2),
        ("results alone", vec![ask(), alone("a"), ask(), alone("b")], 2),
        ("results alone, twice", vec![ask(), alone("a"), ask(), alone("a")], 1),
        ("a result alone, and again with its call", [vec![ask(), alone("state 0")], polls("c", 1, false)].concat(), 1),
    ] {
        assert_eq!(count(&records), expected, "{name}");
    }
}

#[test]
fn the_name_of_a_session_is_no_way_around_the_limits() {
    let limits = Limits { bytes_max: 10_000, ..Limits::default() };
    for (bytes, forgets) in [(10, false), (1_000, true), (100_000, false)] {
        let (mut drive, session) = (Drive::new(&limits), "s".repeat(bytes));
        (0..20).for_each(|number| drive.feed("log", &asks(&session, "", &format!("c{number}"), "Oslo")));
        assert_eq!(drive.pairer.limits_reached().is_some(), forgets, "{bytes}");
    }
    // What is left out of the records tells sessions apart all the same.
    let long = |last: &str| format!("{}{last}", "s".repeat(5_000));
    let tells = |session: &str| conversation(session, &[&called("c", "Oslo"), &answered("c", "warm")]);
    assert_eq!(count(&[&tells(&long("1")), &tells(&long("2")), &tells(&long("1"))]), 2);
}

#[test]
fn conversations_that_begin_alike_have_calls_of_their_own() {
    let hello = said("hello");
    let asks = |city: &str| asks("", &hello, "call_1", city);
    let answers =
        |city: &str, text: &str| conversation("", &[&hello, &called("call_1", city), &answered("call_1", text)]);
    for (name, city, text) in [("another call", "Rome", "hot"), ("another result of the same call", "Oslo", "cold")] {
        let lines = [asks("Oslo"), asks(city), answers("Oslo", "warm"), answers(city, text)];
        let found: Vec<String> = run(&lines).told().into_iter().map(|(_, text)| text.to_owned()).collect();
        assert_eq!(found, [of("Oslo", "warm"), of(city, text)], "{name}");
    }
    // A result alone belongs to the one call of its id; of two it is not known to which.
    let alone = conversation("", &[&hello, &answered("call_1", "warm")]);
    check("the only call", &[&asks("Oslo"), &alone], &[(1, &of("Oslo", "warm"))]);
    check("one of two", &[&asks("Oslo"), &asks("Rome"), &alone], &[]);
}

/// A record of the log's own for the call, and a conversation that tells of it.
#[test]
fn a_call_with_a_record_of_its_own_is_not_told_again() {
    let own =
        |more: &str| format!(r#"{{"tool":"f","args":{{"city":"Oslo"}},"result":"warm","latency_ms":12.5{more}}}"#);
    let tells =
        |session: &str, id: &str| conversation(session, &[&said("hello"), &called(id, "Oslo"), &answered(id, "warm")]);
    let observed = |more: &str| {
        format!(
            r#"{{"type":"TOOL","traceId":"t","id":"o","name":"f","input":{{"city":"Oslo"}},"output":"warm","startTime":"2025-08-28T07:32:31.216Z"{more}}}"#
        )
    };
    let generated = |id: &str| {
        format!(
            r#"{{"type":"GENERATION","traceId":"t","id":"g{id}","startTime":"2025-08-28T07:32:33Z","input":[{},{},{}],"output":"ok"}}"#,
            said("hello"),
            called(id, "Oslo"),
            answered(id, "warm")
        )
    };
    let (own_with, s) = (|id: &str| own(&format!(r#","call_id":"{id}","session_id":"s""#)), "s");
    let (span_alone, own_alone) = (observed(""), own(r#","session_id":"s""#));
    let with_id = |id: &str| observed(&format!(r#","metadata":{{"attributes":{{"gen_ai.tool.call.id":"{id}"}}}}"#));
    let elsewhere = generated("c").replace(r#""traceId":"t""#, r#""traceId":"u""#);
    for (name, records, expected) in [
        ("by a long id", vec![own_with(LONG), tells(s, LONG)], &["own"][..]),
        ("by a short id of the session", vec![own_with("c"), tells(s, "c"), tells(s, "c")], &["own"]),
        ("another id", vec![own_with("d"), tells(s, "c")], &["own", "told"]),
        ("a span without the id", vec![span_alone.clone(), generated("c")], &["own"]),
        ("a span with the id", vec![with_id("c"), generated("c")], &["own"]),
        ("another trace", vec![span_alone.clone(), elsewhere], &["own", "told"]),
        ("newest first", vec![generated("c"), with_id("c")], &["own"]),
        ("newest first, without the id", vec![generated("c"), span_alone.clone()], &["own"]),
        ("newest first, by a long id", vec![generated(LONG), span_alone.clone()], &["own"]),
        ("told before, by a long id", vec![tells("", LONG), with_id(LONG)], &["told"]),
        ("one of two", vec![span_alone, generated("c"), generated("c2")], &["own", "told"]),
        ("our own form without the id", vec![own_alone, tells(s, "c")], &["own", "told"]),
        ("a trace that no span is in", vec![generated("c")], &["told"]),
    ] {
        let run = run(&records);
        let tools = run.records.iter().filter(|record| record.text.starts_with("f("));
        let found: Vec<&str> = tools.map(|record| if record.is_told { "told" } else { "own" }).collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn what_a_trace_tells_comes_out_however_little_may_wait() {
    let generated = |number: usize| {
        let (call, result) = (called("c", &number.to_string()), answered("c", "warm"));
        let hello = said("hello");
        format!(
            r#"{{"type":"GENERATION","traceId":"t{number}","id":"g","input":[{hello},{call},{result}],"output":"ok"}}"#
        )
    };
    let lines: Vec<String> = (0..600).map(generated).collect();
    for calls_max in [3, Limits::default().calls_max] {
        let limits = Limits { calls_max, ..Limits::default() };
        let run = run_with(&limits, lines.iter().map(|line| ("log", line.as_str())));
        let places: Vec<u64> = run.told().into_iter().map(|(line, _)| line).collect();
        assert_eq!(places, (1..=600).collect::<Vec<_>>());
    }
}

#[test]
fn a_conversation_of_many_calls_is_walked_once() {
    const CALLS: usize = 40_000;
    let ids: Vec<String> = (0..CALLS).map(|number| format!("c{number}")).collect();
    let asked: Vec<String> = ids.iter().map(|id| called(id, "Oslo")).collect();
    // The last call is answered first.
    let results: Vec<String> = ids.iter().rev().map(|id| answered(id, "warm")).collect();
    let messages: Vec<&str> = asked.iter().chain(&results).map(String::as_str).collect();
    assert_eq!(count(&[&conversation("s", &messages)]), CALLS);
}
