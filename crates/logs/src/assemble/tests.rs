//! Pieces in, records out: what belongs together, in which order, and that nothing gets lost.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::record::{Entry, Note, Parsed, RecordReader};

/// What came out: the line on which each record begins, and what it is; and the fates of all pieces.
#[derive(Debug, Default, PartialEq)]
struct Run {
    records: Vec<(u64, String)>,
    fates: Vec<Fate>,
    /// Records with which no unit is counted.
    further: usize,
    problems: Vec<String>,
    notes: Vec<&'static str>,
}

impl Run {
    /// Units that are counted with a record, and those that are not lost.
    fn is_balanced(&self) -> bool {
        let held = self.fates.iter().filter(|fate| **fate == Fate::Held).count();
        held == self.records.len() - self.further
    }

    fn texts(&self) -> Vec<&str> {
        self.records.iter().map(|(_, text)| text.as_str()).collect()
    }
}

fn place(source: &str, line: u64) -> Place {
    Place { source: Arc::from(source), line, item: None, byte: 0 }
}

fn piece(container: Container, text: &str) -> Piece<'static> {
    let value = Json::parse(text.as_bytes()).map_or_else(|_| Json::String(text.to_owned().into()), Json::into_owned);
    Piece { format: Format::of(container), value }
}

fn note(run: &mut Run, joined: Joined) {
    let text = match joined.whole {
        Whole::Tree(tree) => tree.to_compact_string(),
        Whole::Record(record) if record.kind == Kind::Tool => format!(
            "{}({}) = {} in {:?}",
            record.tool.as_deref().unwrap_or("?"),
            record.args.as_ref().map(Json::to_compact_string).unwrap_or_default(),
            record.result.as_ref().map_or("nothing".to_owned(), Json::to_compact_string),
            record.execution_time_ms
        ),
        Whole::Record(record) => {
            let texts: Vec<&str> = record.prompt.texts().map(|(_, text)| text).collect();
            format!("{:?} {texts:?} {:?}", record.id, record.response)
        }
        Whole::Continued(record, tree) => format!("{:?} {}", record.id, tree.to_compact_string()),
        Whole::Completed(record, tree) => format!("{:?} {}", record.id, tree.to_compact_string()),
    };
    run.further += usize::from(joined.is_further);
    run.notes.extend(joined.notes.iter().map(Note::as_str));
    run.problems.extend(joined.problems.into_iter().map(|problem| format!("{} {}", problem.field, problem.reason)));
    run.problems.extend(joined.notes.iter().map(|note| note.as_str().to_owned()));
    run.records.push((joined.place.line, text));
}

fn run_with(limits: &Limits, lines: &[(Container, &str, &str)]) -> Run {
    let (mut assembler, mut pairer, mut run) =
        (Assembler::new(limits), tool_calls::Pairer::new(limits), Run::default());
    for (number, (container, source, text)) in (1..).zip(lines) {
        let place = place(source, number);
        let pushed = match RecordReader::default().read(text.as_bytes()) {
            Parsed::One(Ok(Entry::Record(record))) if is_part(&record) => {
                assembler.push_record(place, text.len(), record.into_owned())
            }
            _ => assembler.push(place, text.len(), piece(*container, text)),
        };
        pushed.records.into_iter().for_each(|joined| note(&mut run, joined));
        for traffic in pushed.traffic {
            pairer.push(traffic).into_iter().for_each(|joined| note(&mut run, joined));
        }
        run.fates.push(pushed.fate);
    }
    assembler.finish().into_iter().for_each(|joined| note(&mut run, joined));
    pairer.finish().into_iter().for_each(|joined| note(&mut run, joined));
    let left = (assembler.bytes, assembler.declared.bytes(), assembler.open.len(), assembler.index.len());
    assert_eq!(left, (0, 0, 0, 0));
    run
}

fn run(container: Container, lines: &[&str]) -> Run {
    let lines: Vec<_> = lines.iter().map(|line| (container, "log", *line)).collect();
    let run = run_with(&Limits::default(), &lines);
    assert!(run.is_balanced(), "{run:?}");
    run
}

fn chunk(id: &str, delta: &str, finish: &str) -> String {
    format!(
        r#"{{"id":"{id}","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#
    )
}

fn usage(id: &str, tokens: u32) -> String {
    format!(r#"{{"id":"{id}","object":"chat.completion.chunk","choices":[],"usage":{{"completion_tokens":{tokens}}}}}"#)
}

/// The chunks of one stream.
fn stream(id: &str, words: &[&str]) -> Vec<String> {
    let mut chunks = vec![chunk(id, r#"{"role":"assistant","content":""}"#, "null")];
    chunks.extend(words.iter().map(|word| chunk(id, &format!(r#"{{"content":"{word}"}}"#), "null")));
    chunks.push(chunk(id, "{}", r#""stop""#));
    chunks.push(usage(id, words.len() as u32));
    chunks
}

#[test]
fn a_stream_is_one_record() {
    let lines = stream("a", &["Hel", "lo"]);
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let whole = run(Container::Stream, &lines);
    assert_eq!(
        whole.records,
        [(
            1,
            concat!(
                r#"{"id":"a","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"#,
                r#""finish_reason":"stop"}],"usage":{"completion_tokens":2}}"#
            )
            .to_owned()
        )]
    );
    assert_eq!(whole.fates[0], Fate::Held);
    assert!(whole.fates[1..].iter().all(|fate| *fate == Fate::Merged));
    assert!(whole.problems.is_empty());
    // Without token counts it is the same, but for these.
    let without = run(Container::Stream, &lines[..4]);
    assert_eq!(without.records[0].1, whole.records[0].1.replace(r#","usage":{"completion_tokens":2}"#, ""));
    assert!(without.problems.is_empty());
    let cut = run(Container::Stream, &lines[..2]);
    assert_eq!(cut.problems, ["stream breaks off before the stream ends"]);
}

#[test]
fn a_stream_ends_with_its_mark_or_when_another_begins_under_its_id() {
    let (a, b) = (stream("x", &["one"]), stream("x", &["two"]));
    let lines = [&a[0], &a[1], &a[2], "[DONE]", &b[0], &b[1], &b[2], &b[0], &b[1], &b[2]];
    let run = run(Container::Stream, &lines);
    assert_eq!(run.records.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 5, 8]);
    // Counts that come late have nowhere to go, and begin no record.
    let late = [&a[0], &a[1], &a[2], "[DONE]", &a[3]];
    assert_eq!(self::run(Container::Stream, &late).records.len(), 1);
}

#[test]
fn a_done_mark_ends_a_stream_that_does_not_say_why_it_ended() {
    let open = |id: &str, word: &str| chunk(id, &format!(r#"{{"role":"assistant","content":"{word}"}}"#), "null");
    let (a, b, whole) = (open("", "one"), open("", "two"), stream("b", &["x"]));
    // Servers that give no reason, under one id or none: two answers all the same.
    let unexplained = run(Container::Stream, &[&a, "[DONE]", &b, "[DONE]"]);
    assert_eq!(unexplained.records.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 3]);
    assert!(unexplained.texts()[0].contains("one") && unexplained.texts()[1].contains("two"));
    assert_eq!(unexplained.problems, [""; 0]);
    // The mark of an answer that was whole before ends no other that runs beside it.
    let (first, second) = (open("a", "Hel"), chunk("a", r#"{"content":"lo"}"#, r#""stop""#));
    let lines = [&first, &whole[0], &whole[1], &whole[2], &whole[3], &first, "[DONE]", &second];
    let beside = run(Container::Stream, &lines);
    assert_eq!(beside.records.len(), 2);
    assert!(beside.texts()[1].contains("HelHello"), "{beside:?}");
}

#[test]
fn a_response_with_another_id_is_no_part_of_an_open_stream() {
    let part = r#"{"candidates":[{"content":{"parts":[{"text":"Part 1."}],"role":"model"},"index":0}]}"#;
    let other =
        r#"{"responseId":"r-2","candidates":[{"content":{"parts":[{"text":"Whole."}]},"finishReason":"STOP"}]}"#;
    let last = r#"{"candidates":[{"content":{"parts":[{"text":" Part 2."}]},"finishReason":"STOP"}]}"#;
    let run = |lines: &[&str]| {
        let lines: Vec<_> = lines.iter().map(|line| (Container::Stream, "log", *line)).collect();
        run_with(&Limits::default(), &lines)
    };
    assert_eq!(run(&[part, other]).records.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(run(&[part, last]).records.len(), 1);
}

#[test]
fn counts_that_do_not_come_are_not_waited_for_without_end() {
    let mut lines: Vec<String> = stream("a", &["x"]);
    lines.pop();
    for number in 0..TAIL_PIECES {
        lines.push(chunk(&format!("s{number}"), "{}", "null"));
    }
    let lines: Vec<(Container, &str, &str)> =
        lines.iter().map(|line| (Container::Stream, "log", line.as_str())).collect();
    let mut assembler = Assembler::new(&Limits::default());
    let mut came_with = None;
    for (number, (container, source, text)) in (1..).zip(lines) {
        if !assembler.push(place(source, number), text.len(), piece(container, text)).records.is_empty() {
            came_with = Some(number);
        }
    }
    assert_eq!(came_with, Some(3 + TAIL_PIECES));
}

#[test]
fn anthropic_and_responses_events_belong_to_their_source() {
    let start = r#"{"type":"message_start","message":{"id":"m1","model":"claude","usage":{"input_tokens":5,"output_tokens":1}}}"#;
    let text = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#;
    let stop = r#"{"type":"message_stop"}"#;
    let event = Container::Stream;
    let lines = [(event, "a", start), (event, "b", start), (event, "a", text), (event, "b", text), (event, "a", stop)];
    let run = run_with(&Limits::default(), &lines);
    assert_eq!(run.records.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(run.problems, ["stream breaks off before the stream ends"]);
    assert!(run.is_balanced());
    let begun_before = self::run(event, &[text, stop]);
    assert_eq!(begun_before.problems, ["stream begins in the middle of the stream"]);
}

#[test]
fn batches_are_joined_in_either_order() {
    let request = r#"{"custom_id":"r1","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"2+2?"}]}}"#;
    let answer = r#"{"id":"b","custom_id":"r1","response":{"status_code":200,"body":{"id":"c","choices":[{"message":{"content":"4"}}]}},"error":null}"#;
    let other = r#"{"custom_id":"r2","response":null,"error":{"code":"batch_expired","message":"late"}}"#;
    let batch = |lines: &[(&str, &str)]| {
        let lines: Vec<_> = lines.iter().map(|(source, line)| (Container::OpenAiBatch, *source, *line)).collect();
        run_with(&Limits::default(), &lines)
    };
    let pair = "Some(\"r1\") [\"2+2?\"] Some(\"4\")";
    for lines in [[("in", request), ("out", answer)], [("out", answer), ("in", request)]] {
        let joined = batch(&lines);
        assert_eq!(joined.records, [(1, pair.to_owned())]);
        assert_eq!(joined.fates, [Fate::Held, Fate::Merged]);
        assert!(joined.problems.is_empty());
    }
    let alone = batch(&[("in", request), ("out", other)]);
    assert_eq!(alone.problems, ["half_missing"; 2], "noted, and read as a whole");
    // Ids that come again are paired in their order.
    let again = batch(&[("in", request), ("in", request), ("out", answer), ("out", answer)]);
    assert_eq!(again.records, [(1, pair.to_owned()), (2, pair.to_owned())]);
}

#[test]
fn mcp_calls_are_paired_by_id_and_connection() {
    let call = |id: &str, city: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"weather","arguments":{{"city":"{city}"}}}}}}"#
        )
    };
    let answer = |id: &str, text: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}],"isError":false}}}}"#
        )
    };
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let tools = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"weather","inputSchema":{"type":"object"}}]}}"#;
    let begin = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    let (one, two, number, text) = (call("2", "Oslo"), call("3", "Rome"), call("4", "Bern"), call("\"4\"", "Linz"));
    let lines = [
        begin,
        list,
        tools,
        &one,
        &two,
        &answer("3", "hot"),
        &answer("2", "cold"),
        &number,
        &text,
        &answer("\"4\"", "mild"),
        begin,
        &answer("4", "late"),
        r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#,
    ];
    let run = run(Container::Mcp, &lines);
    assert_eq!(
        run.texts(),
        [
            r#"weather({"city":"Rome"}) = "hot" in None"#,
            r#"weather({"city":"Oslo"}) = "cold" in None"#,
            r#"weather({"city":"Linz"}) = "mild" in None"#,
            r#"weather({"city":"Bern"}) = nothing in None"#,
        ]
    );
    assert_eq!(run.problems, ["half_missing"]);
    let asides = run.fates.iter().filter(|fate| matches!(fate, Fate::Aside(_))).count();
    assert_eq!(asides, 6);
}

#[test]
fn a_declaration_is_shared_and_counts_once() {
    let list = |text: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"f","description":"{text}"}}]}}}}"#)
    };
    let call = |id: u64| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"f"}}}}"#);
    let mut assembler = Assembler::new(&Limits::default());
    let mut push = |number: u64, text: &str| {
        assembler.push(place("log", number), text.len(), piece(Container::Mcp, text));
        assembler.declared.bytes()
    };
    let one = push(1, &list(&"x".repeat(10_000)));
    assert!((10_000..11_000).contains(&one), "{one}");
    assert!((2..100).all(|number| push(number, &call(number)) == one), "however many calls wait with it");
    // What calls still have counts on when the connection declares it anew.
    assert!(push(100, &list(&"y".repeat(10_000))) == 2 * one);
    let declared: Vec<_> = assembler.finish().into_iter().filter_map(|joined| joined.declaration).collect();
    assert!(declared.len() == 98 && declared.iter().all(|other| Arc::ptr_eq(other, &declared[0])));
    assert_eq!(assembler.declared.bytes(), 0);
    // Connections are forgotten when what they have declared takes the room.
    let mut assembler = Assembler::new(&Limits { bytes_max: 30_000, ..Limits::default() });
    for number in 1..20 {
        let text = list(&"x".repeat(10_000));
        assembler.push(place(&format!("log{number}"), 1), text.len(), piece(Container::Mcp, &text));
        assert!(assembler.declared.bytes() <= 30_000);
    }
    assert_eq!(assembler.limits_reached().next(), Some(("assemble.bytes_max", 30_000, 17)));
}

#[test]
fn a_server_asks_too_under_the_same_ids() {
    let line = |time: &str, sender: &str, message: &str| {
        format!(r#"{{"timestamp":"2026-01-01T00:00:{time}Z","server":"s","direction":"{sender}","message":{message}}}"#)
    };
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f"}}"#;
    let roots = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
    let lines = [
        line("01", "client", call),
        line("02", "server", roots),
        line("03", "client", r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#),
        line("04.5", "server", r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let run = run(Container::McpDesktop, &lines);
    assert_eq!(run.records, [(1, "f({}) = nothing in Some(3500.0)".to_owned())]);
}

const USER: &str = r#"{"type":"user","sessionId":"s","uuid":"u1","timestamp":"2026-03-01T22:38:47.000Z","message":{"role":"user","content":"run the tests"}}"#;
const TEXT: &str = r#"{"type":"assistant","sessionId":"s","uuid":"a1","timestamp":"2026-03-01T22:38:50.000Z","message":{"id":"m1","role":"assistant","model":"claude","content":[{"type":"text","text":"Running."}],"stop_reason":null,"usage":{"input_tokens":5,"output_tokens":3}}}"#;
const CALL: &str = r#"{"type":"assistant","sessionId":"s","uuid":"a2","timestamp":"2026-03-01T22:38:50.100Z","message":{"id":"m1","role":"assistant","model":"claude","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"bun test"}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":200}}}"#;
const RESULT: &str = r#"{"type":"user","sessionId":"s","uuid":"u2","timestamp":"2026-03-01T22:38:52.900Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"2 pass"}]},"toolUseResult":{"stdout":"2 pass","stderr":""}}"#;
const DONE: &str = r#"{"type":"assistant","sessionId":"s","uuid":"a3","timestamp":"2026-03-01T22:38:55.000Z","message":{"id":"m2","role":"assistant","model":"claude","content":"All pass.","stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":4}}}"#;

#[test]
fn a_claude_code_session_becomes_calls_of_the_model_and_of_tools() {
    let summary = r#"{"type":"summary","summary":"s","leafUuid":"x"}"#;
    let replay = CALL.replace("\"uuid\":\"a2\"", "\"uuid\":\"a9\",\"isSidechain\":true");
    let run = run(Container::ClaudeCode, &[summary, USER, TEXT, CALL, RESULT, DONE, &replay]);
    let expected = [
        (4, r#"Bash({"command":"bun test"}) = "2 pass" in Some(2800.0)"#),
        (
            3,
            concat!(
                r#"{"session_id":"s","timestamp":1772404730000,"request":{"messages":[{"role":"user","content":"run the tests"}],"#,
                r#""anthropic_version":null},"response":{"type":"message","role":"assistant","content":[{"type":"text","text":"Running."},"#,
                r#"{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"bun test"}}],"id":"m1","model":"claude","#,
                r#""stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":200}},"id":"m1"}"#
            ),
        ),
        (
            6,
            concat!(
                r#"{"session_id":"s","timestamp":1772404735000,"request":{"messages":[{"role":"user","content":"#,
                r#"[{"type":"tool_result","tool_use_id":"toolu_1","content":"2 pass"}]}],"anthropic_version":null},"#,
                r#""response":{"type":"message","role":"assistant","content":[{"type":"text","text":"All pass."}],"#,
                r#""id":"m2","model":"claude","stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":4}},"id":"m2"}"#
            ),
        ),
    ];
    assert_eq!(run.records, expected.map(|(line, text)| (line, text.to_owned())));
    let fates: Vec<&Fate> = run.fates.iter().collect();
    assert!(matches!(fates[0], Fate::Aside(_)));
    assert_eq!(fates[1..], [&Fate::Merged, &Fate::Held, &Fate::Merged, &Fate::Merged, &Fate::Held, &Fate::Merged]);
}

#[test]
fn a_line_of_a_message_counts_once_and_each_of_its_contents_counts() {
    let other = TEXT.replace("Running.", "Still running.");
    let open = run(Container::ClaudeCode, &[USER, TEXT, &other, TEXT, CALL]);
    assert_eq!(open.records.len(), 1, "{open:?}");
    for (text, times) in [("\"Running.\"", 1), ("Still running.", 1), ("toolu_1", 1), ("\"output_tokens\":200", 1)] {
        assert_eq!(open.texts()[0].matches(text).count(), times, "{text}: {open:?}");
    }
    // What comes after the message was whole is not lost.
    let late = run(Container::ClaudeCode, &[USER, TEXT, RESULT, DONE, &other, TEXT]);
    assert_eq!(late.records.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 4, 5]);
    assert!(late.texts()[2].contains("Still running."));
}

#[test]
fn what_a_continued_session_repeats_is_no_prompt_of_what_is_new() {
    let elsewhere = |line: &str| line.replace(r#""sessionId":"s""#, r#""sessionId":"s2""#);
    let (user, text, call) = (elsewhere(USER), elsewhere(TEXT), elsewhere(CALL));
    let (result, done) = (elsewhere(RESULT), elsewhere(DONE));
    let asked = user.replace("run the tests", "and now?");
    let new = done.replace("m2", "m3").replace("All pass.", "Nothing.");
    let lines = [USER, TEXT, CALL, RESULT, DONE, &user, &text, &call, &result, &done, &asked, &new];
    let run = run(Container::ClaudeCode, &lines);
    assert_eq!(run.records.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 2, 5, 12], "the call is one, too");
    assert!(run.texts()[3].contains("and now?") && !run.texts()[3].contains("run the tests"), "{run:?}");
}

#[test]
fn what_is_said_last_and_has_no_answer_is_a_call() {
    let said = |text: &str| USER.replace("run the tests", text);
    let (again, frame) = (said("and the others?"), said("<command-name>/exit</command-name>"));
    let meta = again.replace(r#""type":"user","#, r#""type":"user","isMeta":true,"#);
    for (lines, expected) in [
        (&[USER, TEXT, &again][..], &["and the others?"][..]),
        (&[USER], &["run the tests"]),
        (&[USER, &again], &["run the tests", "and the others?"]),
        (&[USER, TEXT, CALL, RESULT], &["tool_result"]),
        (&[USER, TEXT, &frame], &[]),
        (&[USER, TEXT, &meta], &[]),
        (&[USER, TEXT], &[]),
    ] {
        let run = run(Container::ClaudeCode, lines);
        assert_eq!(run.notes.len(), usize::from(!expected.is_empty()), "{run:?}");
        let last = run.texts()[run.records.len() - 1];
        assert!(expected.iter().all(|text| last.contains(text)), "{last}");
    }
    let asked = CODEX[2].replace("run date", "and the time?");
    let frame = CODEX[2].replace("run date", "<turn_aborted>by the user</turn_aborted>");
    for (more, expected) in [(&[&*asked, &frame][..], 4), (&[&frame], 3), (&[], 3)] {
        let run = run(Container::Codex, &[&CODEX[..7], more].concat());
        assert_eq!((run.records.len(), run.notes.len()), (expected, expected - 3), "{run:?}");
    }
    assert_eq!(run(Container::Codex, &CODEX[..5]).notes, ["unanswered"], "the result of a tool waits for an answer");
}

#[test]
fn what_a_stopped_tool_gave_was_not_sent() {
    let note = |text: &str| USER.replace("\"run the tests\"", &format!(r#"[{{"type":"text","text":"{text}"}}]"#));
    let (stopped, interrupted) =
        (note("[Request interrupted by user for tool use]"), note("[Request interrupted by user]"));
    let (rejected, now) = (RESULT.replace("2 pass", "The user doesn't want to proceed"), note("do it otherwise"));
    for (lines, expected) in [
        (&[USER, TEXT, CALL, &rejected, &stopped][..], 0),
        (&[USER, TEXT, CALL, RESULT, &interrupted], 1),
        (&[USER, TEXT, CALL, &rejected, &stopped, &now], 1),
        (&[USER, &interrupted], 1),
    ] {
        let run = run(Container::ClaudeCode, lines);
        assert_eq!(run.notes.len(), expected, "{run:?}");
    }
    let frame = CODEX[2].replace("run date", "<turn_aborted>by the user</turn_aborted>");
    for (output, expected) in [
        ("ok", 1),
        ("aborted", 0),
        ("aborted by user after 5.0s", 0),
        (r"Wall time: 5.0 seconds\naborted by user", 0),
        (r"aborted by user\nwas found in the log", 1),
    ] {
        let result = CODEX[4].replace(r#""ok""#, &format!(r#""{output}""#));
        let run = run(Container::Codex, &[&CODEX[..4], &[&result, &frame]].concat());
        assert_eq!(run.notes.len(), expected, "{output}: {run:?}");
    }
}

#[test]
fn what_two_sessions_tell_counts_in_one_of_them() {
    let failed = |more: &str, time: &str, text: &str| {
        format!(
            r#"{{"type":"assistant","sessionId":"s","isApiErrorMessage":true{time},"message":{{"role":"assistant"{more},"model":"<synthetic>","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    };
    let (id, time) = (r#","id":"f1""#, r#","timestamp":"2026-03-01T22:38:48.000Z""#);
    let later = |line: &str| line.replace("22:38:4", "22:39:4");
    let (again, of_id, of_time) = (later(USER), failed(id, "", "API Error: 529"), failed("", time, "API Error: 529"));
    let (of_none, other) = (failed("", "", "API Error: 529"), failed("", time, "API Error: 500"));
    let (untimed, now) = (USER.replace("2026-03-01T22:38:47.000Z", ""), later(RESULT));
    for (name, one, two, expected) in [
        ("a failure, by its id", vec![USER, &of_id], vec![USER, &of_id, &again, DONE], 2),
        ("a failure, by its time", vec![USER, &of_time], vec![USER, &of_time, &again, DONE], 2),
        ("another failure", vec![USER, &of_time], vec![USER, &other], 2),
        ("a failure that nothing tells apart", vec![USER, &of_none], vec![USER, &of_none], 2),
        ("answered later", vec![USER], vec![USER, TEXT], 1),
        ("answered before", vec![USER, TEXT], vec![USER], 1),
        ("never answered", vec![USER], vec![USER], 1),
        ("another question", vec![USER], vec![&again, TEXT], 2),
        ("a further question", vec![USER, &again], vec![USER, &again, DONE], 1),
        ("continued before the question", vec![USER, TEXT, &again], vec![USER, TEXT], 2),
        ("without a time", vec![&untimed], vec![&untimed, TEXT], 2),
        ("the result of a tool", vec![USER, CALL, &now], vec![USER, CALL, &now, DONE], 3),
    ] {
        let two: Vec<String> =
            two.iter().map(|line| line.replace(r#""sessionId":"s""#, r#""sessionId":"s2""#)).collect();
        let lines: Vec<&str> = one.into_iter().chain(two.iter().map(String::as_str)).collect();
        let run = run(Container::ClaudeCode, &lines);
        assert_eq!(run.records.len(), expected, "{name}: {run:?}");
    }
}

#[test]
fn an_unanswered_turn_is_read_as_a_prompt_without_a_response() {
    for (container, line, expected) in
        [(Container::ClaudeCode, USER, "run the tests"), (Container::Codex, CODEX[2], "run date")]
    {
        let mut assembler = Assembler::new(&Limits::default());
        assembler.push(place("log", 1), line.len(), piece(container, line));
        let [joined] = &mut assembler.finish()[..] else { panic!("{line}") };
        let Whole::Tree(tree) = mem::replace(&mut joined.whole, Whole::Tree(Json::Null)) else { panic!("{line}") };
        let record = RecordReader::default().read_tree(tree).ok().and_then(Entry::record).unwrap();
        let texts: Vec<&str> = record.prompt.texts().map(|(_, text)| text).collect();
        assert_eq!((texts, record.response, record.timestamp_ms.is_some()), (vec![expected], None, true));
    }
}

#[test]
fn what_has_come_out_is_given_back() {
    let mut assembler = Assembler::new(&Limits::default());
    let mut push = |container, number: u64, text: &str| {
        assembler.push(place("log", number), text.len(), piece(container, text));
        assembler.bytes
    };
    let turn = |number: u64| [USER.to_owned(), TEXT.replace("m1", &format!("m{number}"))];
    let of_claude: Vec<u64> =
        (0..50).map(|number| turn(number).map(|line| push(Container::ClaudeCode, number, &line))[1]).collect();
    assert_eq!(of_claude[1..].iter().max(), of_claude[1..].iter().min().map(|least| least + 1).as_ref());
    let of_codex: Vec<u64> = (0..50)
        .map(|number| {
            let count = CODEX[6].replace("1100", &number.to_string());
            [CODEX[2], CODEX[3], CODEX[4], CODEX[5], &count].map(|line| push(Container::Codex, number, line))[4]
        })
        .collect();
    assert_eq!(of_codex.iter().max(), of_codex.iter().min(), "nothing is left after a count of tokens");
    assembler.finish();
    assert_eq!(assembler.bytes, 0);
}

#[test]
fn what_the_client_says_in_the_place_of_the_model_is_an_error_of_the_call() {
    let failed = r#"{"type":"assistant","sessionId":"s","isApiErrorMessage":true,"message":{"role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"API Error: 529"}]}}"#;
    let run = run(Container::ClaudeCode, &[USER, failed]);
    assert!(run.texts()[0].ends_with(r#""error":"API Error: 529"}"#), "{run:?}");
}

const CODEX: [&str; 8] = [
    r#"{"timestamp":"2026-05-31T16:21:59.000Z","type":"session_meta","payload":{"id":"sess","model_provider":"openai"}}"#,
    r#"{"timestamp":"2026-05-31T16:21:59.543Z","type":"turn_context","payload":{"model":"gpt-5"}}"#,
    r#"{"timestamp":"2026-05-31T16:21:59.544Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"run date"}]}}"#,
    r#"{"timestamp":"2026-05-31T16:22:08.652Z","type":"response_item","payload":{"type":"function_call","name":"exec","arguments":"{\"cmd\":\"date\"}","call_id":"call-1"}}"#,
    r#"{"timestamp":"2026-05-31T16:22:09.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"call-1","output":"ok"}}"#,
    r#"{"timestamp":"2026-05-31T16:22:10.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}}"#,
    r#"{"timestamp":"2026-05-31T16:22:10.100Z","type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":1000,"cached_input_tokens":800,"output_tokens":100,"reasoning_output_tokens":20},"total_token_usage":{"total_tokens":1100}}}}"#,
    r#"{"timestamp":"2026-05-31T16:22:10.200Z","type":"event_msg","payload":{"type":"task_complete","duration_ms":4000}}"#,
];

#[test]
fn a_codex_session_becomes_calls_of_the_model_and_of_tools() {
    let run = run(Container::Codex, &[&CODEX[..7], &CODEX[6..]].concat());
    let expected = [
        (4, r#"exec({"cmd":"date"}) = "ok" in Some(348.0)"#),
        (
            4,
            concat!(
                r#"{"session_id":"sess","timestamp":1780244528652,"model":"gpt-5","provider":"openai","request":{"model":"gpt-5","#,
                r#""input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"run date"}]}]},"#,
                r#""response":{"object":"response","status":"completed","output":[{"type":"function_call","name":"exec","#,
                r#""arguments":"{\"cmd\":\"date\"}","call_id":"call-1"}]}}"#
            ),
        ),
        (
            6,
            concat!(
                r#"{"session_id":"sess","timestamp":1780244530000,"model":"gpt-5","provider":"openai","request":{"model":"gpt-5","#,
                r#""input":[{"type":"function_call_output","call_id":"call-1","output":"ok"}]},"response":{"object":"response","#,
                r#""status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}],"#,
                r#""usage":{"input_tokens":1000,"output_tokens":100,"input_tokens_details":{"cached_tokens":800},"#,
                r#""output_tokens_details":{"reasoning_tokens":20}}}}"#
            ),
        ),
    ];
    assert_eq!(run.records, expected.map(|(line, text)| (line, text.to_owned())));
    // The count that came again is no call.
    assert!(matches!(run.fates[7], Fate::Aside(Aside { what: "a token count that was seen before", .. })));
}

#[test]
fn long_instructions_come_whole_with_the_first_call_only() {
    let head = CODEX[0].replace(r#""id":"sess""#, &format!(r#""id":"sess","instructions":"{}""#, "x".repeat(50_000)));
    let mut lines = vec![head.as_str(), CODEX[1]];
    (0..20).for_each(|_| lines.extend([CODEX[2], CODEX[5]]));
    let run = run(Container::Codex, &lines);
    let bytes: Vec<usize> = run.texts().iter().map(|text| text.len()).collect();
    assert!(bytes.len() == 20 && bytes[0] > 50_000 && bytes[1..].iter().all(|bytes| *bytes < 5_000), "{bytes:?}");
}

#[test]
fn events_find_their_span_whichever_comes_first() {
    let event = |name: &str, body: &str| {
        format!(
            r#"{{"trace_id":"ab","span_id":"cd","event":"gen_ai.{name}","time":"1795187162231231093","body":{body}}}"#
        )
    };
    let user = event("user.message", r#"{"content":"Hello!"}"#);
    let choice = event("choice", r#"{"index":0,"message":{"content":"Hi"}}"#);
    let mut span = Record::new(Kind::Llm);
    span.id = Some("span".into());
    span.span =
        Some(Box::new(crate::record::Span { trace_id: Some("ab".into()), id: Some("cd".into()), parent_id: None }));
    let expected = concat!(
        r#"Some("span") {"request":{"messages":[{"role":"user","content":"Hello!"}]},"#,
        r#""response":{"object":"chat.completion","choices":[{"index":0,"message":{"content":"Hi"}}]}}"#
    );
    for at in 0..3 {
        let (mut assembler, mut all) = (Assembler::new(&Limits::default()), Run::default());
        let mut lines = vec![Some(&user), Some(&choice)];
        lines.insert(at, None);
        for (number, line) in (1..).zip(lines) {
            let pushed = match line {
                None => assembler.push_record(place("spans", number), 1, span.clone()),
                Some(text) => assembler.push(place("logs", number), 1, piece(Container::Otlp, text)),
            };
            pushed.records.into_iter().for_each(|joined| note(&mut all, joined));
            all.fates.push(pushed.fate);
        }
        assert_eq!(all.records, [(1, expected.to_owned())], "the span at {at}");
        assert_eq!(all.fates, [Fate::Held, Fate::Merged, Fate::Merged]);
    }
    let alone = run(Container::Otlp, &[&user, &choice]);
    assert_eq!(alone.problems, ["half_missing"]);
}

#[test]
fn what_waits_is_bounded_and_goes_in_its_order() {
    let lines: Vec<String> = (0..10).map(|number| chunk(&format!("s{number}"), r#"{"content":"x"}"#, "null")).collect();
    let lines: Vec<_> = lines.iter().map(|line| (Container::Stream, "log", line.as_str())).collect();
    let places = |run: &Run| run.records.iter().map(|(line, _)| *line).collect::<Vec<_>>();
    for limits in [
        Limits { records_max: 3, ..Limits::default() },
        Limits { bytes_max: 3 * (lines[0].2.len() as u64 + PIECE_BYTES), ..Limits::default() },
    ] {
        let run = run_with(&limits, &lines);
        assert_eq!(places(&run), (1..=10).collect::<Vec<_>>());
        let mut assembler = Assembler::new(&limits);
        for (number, (container, source, text)) in (1..).zip(&lines) {
            assembler.push(place(source, number), text.len(), piece(*container, text));
            assert!(assembler.open.len() <= 3);
        }
        assert_eq!(assembler.limits_reached().map(|(_, _, times)| times).collect::<Vec<_>>(), [7]);
    }
}

/// Every line that a test of this file has, with its container.
fn corpus() -> Vec<(Container, String)> {
    let mut lines: Vec<(Container, String)> = Vec::new();
    lines.extend(stream("a", &["x", "y"]).into_iter().map(|line| (Container::Stream, line)));
    lines.extend([USER, TEXT, CALL, RESULT, DONE].map(|line| (Container::ClaudeCode, line.to_owned())));
    lines.extend(CODEX.map(|line| (Container::Codex, line.to_owned())));
    for file in [
        include_str!("../../../../fixtures/assemble/mcp.jsonl"),
        include_str!("../../../../fixtures/assemble/batch_requests.jsonl"),
        include_str!("../../../../fixtures/assemble/batch_answers.jsonl"),
        include_str!("../../../../fixtures/assemble/streams.jsonl"),
    ] {
        let container = match file {
            _ if file.contains("jsonrpc") => Container::Mcp,
            _ if file.contains("custom_id") => Container::OpenAiBatch,
            _ => Container::Stream,
        };
        lines.extend(file.lines().map(|line| (container, line.to_owned())));
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However the chunks of streams are interleaved, the same answers come out.
    #[test]
    fn any_interleaving_gives_the_same_answers(order in prop::collection::vec(0usize..3, 24)) {
        let mut streams = [stream("a", &["1", "2"]), stream("b", &["3"]), stream("c", &["4", "5", "6"])].map(|chunks| chunks.into_iter());
        let mut lines: Vec<String> = order.iter().filter_map(|which| streams[*which].next()).collect();
        streams.into_iter().for_each(|rest| lines.extend(rest));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let mut answers: Vec<String> = run(Container::Stream, &lines).records.into_iter().map(|(_, text)| text).collect();
        answers.sort();
        let expected: Vec<String> = [("a", &["1", "2"][..]), ("b", &["3"]), ("c", &["4", "5", "6"])].iter().map(|(id, words)| {
            let lines = stream(id, words);
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            run(Container::Stream, &lines).records[0].1.clone()
        }).collect();
        prop_assert_eq!(answers, expected);
    }

    /// Wherever a log begins and ends, every unit is counted once.
    #[test]
    fn no_cut_loses_a_unit(from in 0usize..30, length in 0usize..60, records_max in 1usize..6) {
        let corpus = corpus();
        let lines: Vec<(Container, &str, &str)> =
            corpus.iter().skip(from).take(length).map(|(container, line)| (*container, "log", line.as_str())).collect();
        let run = run_with(&Limits { records_max, ..Limits::default() }, &lines);
        prop_assert_eq!(run.fates.len(), lines.len());
        prop_assert!(run.is_balanced(), "{:?}", run);
    }

    /// Whatever a piece holds, it gets a fate.
    #[test]
    fn damaged_pieces_get_a_fate(edits in prop::collection::vec((0usize..64, any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..40)) {
        let corpus = corpus();
        let mut lines: Vec<(Container, String)> = corpus.clone();
        for (line, key, with) in edits {
            let other = &corpus[with.index(corpus.len())].1;
            let at = line % lines.len();
            let text = &mut lines[at].1;
            // A value is replaced by another line, by null or by a number, so that what comes out is still JSON.
            let colons: Vec<usize> = text.match_indices("\":").map(|(at, _)| at + 2).collect();
            if colons.is_empty() {
                continue;
            }
            let at_colon = colons[key.index(colons.len())];
            let end = text[at_colon..].find([',', '}']).map_or(text.len(), |end| at_colon + end);
            let new = [other.as_str(), "null", "7", "[]", "{}", "\"x\""][with.index(6)].to_owned();
            text.replace_range(at_colon..end, &new);
        }
        let lines: Vec<(Container, &str, &str)> = lines.iter().map(|(container, line)| (*container, "log", line.as_str())).collect();
        let run = run_with(&Limits::default(), &lines);
        prop_assert!(run.is_balanced());
    }
}

/// What became of the calls in conversations, one record after another.
fn paired(records: &[&str]) -> Vec<(u64, String)> {
    let (mut pairer, mut run) = (tool_calls::Pairer::new(&Limits::default()), Run::default());
    for (number, text) in (1..).zip(records) {
        let Parsed::One(Ok(Entry::Record(record))) = RecordReader::default().read(text.as_bytes()) else {
            panic!("{text}")
        };
        if record.kind == Kind::Tool {
            match pairer.is_done(&record) {
                true => continue,
                false => run.records.push((number, "its own record".to_owned())),
            }
        }
        if let Some(traffic) = tool_calls::traffic_of(&record, &place("log", number)) {
            pairer.push(traffic).into_iter().for_each(|joined| note(&mut run, joined));
        }
    }
    pairer.finish().into_iter().for_each(|joined| note(&mut run, joined));
    run.records
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

#[test]
fn a_call_that_comes_again_with_the_conversation_is_one_record() {
    const LONG: &str = "call_MY94XAcnfHzfAZcVHqt5FRRQ";
    let (oslo, warm) = (called(LONG, "Oslo"), answered(LONG, "warm"));
    let (hello, other) = (said("hello"), said("other"));
    let once = r#"f({"city":"Oslo"}) = "warm" in None"#.to_owned();
    // The window slides: the id is known all the same.
    let lines = [conversation("", &[&hello, &oslo, &warm]), conversation("", &[&oslo, &warm, &other])];
    assert_eq!(paired(&[&lines[0], &lines[1]]), [(1, once.clone())]);
    // A session that is run again has its ids again.
    let lines = [conversation("a", &[&hello, &oslo, &warm]), conversation("b", &[&hello, &oslo, &warm])];
    assert_eq!(paired(&[&lines[0], &lines[1], &lines[0]]), [(1, once.clone()), (2, once.clone())]);
    // An id that comes twice in one record is two calls.
    let twice_the_same = conversation("", &[&hello, &oslo, &warm, &oslo, &warm]);
    assert_eq!(paired(&[&twice_the_same, &twice_the_same]).len(), 2);
    let rome = called(LONG, "Rome");
    let twice_the_id = conversation("", &[&hello, &oslo, &warm, &rome, &warm]);
    assert_eq!(paired(&[&twice_the_id, &twice_the_id]).len(), 2);
    // Short ids are those of their conversation, and may come again in it.
    let (first, second) = ([called("c", "Oslo"), answered("c", "warm")], [called("c", "Rome"), answered("c", "hot")]);
    let both = conversation("", &[&hello, &first[0], &first[1], &second[0], &second[1], &first[0], &first[1]]);
    let twice = r#"f({"city":"Rome"}) = "hot" in None"#.to_owned();
    assert_eq!(paired(&[&both, &both]), [(1, once.clone()), (1, twice), (1, once.clone())]);
    let elsewhere = conversation("", &[&other, &first[0], &first[1]]);
    assert_eq!(paired(&[&both, &elsewhere]).len(), 4);
}

#[test]
fn a_short_id_may_come_again_in_its_session() {
    let asks = |number: usize| said(&format!("poll {number}"));
    let ask = |session: &str, id: &str| {
        let call = called(id, "Oslo");
        format!(
            r#"{{"session_id":"{session}","request":{{"messages":[{}]}},"response":{{"choices":[{{"message":{call}}}]}}}}"#,
            asks(0)
        )
    };
    let polls = |id: &str, count: usize, repeats: bool| -> Vec<String> {
        let messages: Vec<String> =
            (0..count).flat_map(|n| [asks(n), called(id, "Oslo"), answered(id, &format!("state {n}"))]).collect();
        let from = |n: usize| if repeats { 0 } else { 3 * n };
        let upto = |n: usize| messages[from(n)..3 * n + 3].iter().map(String::as_str).collect::<Vec<_>>();
        (0..count).map(|n| conversation("s", &upto(n))).collect()
    };
    let alone = |id: &str, text: &str| conversation("s", &[&asks(0), &answered(id, text)]);
    const LONG: &str = "call_MY94XAcnfHzfAZcVHqt5FRRQ";
    for (name, records, expected) in [
        ("each record begins anew", polls("call_0", 4, false), 4),
        ("each record repeats the ones before", polls("call_0", 4, true), 4),
        ("the log is exported twice", [polls("call_0", 4, false), polls("call_0", 4, false)].concat(), 4),
        ("a long id is told once", polls(LONG, 4, false), 1),
        ("asked before", [vec![ask("s", "c")], polls("c", 2, false)].concat(), 2),
        ("results alone", vec![ask("s", "c"), alone("c", "a"), ask("s", "c"), alone("c", "b")], 2),
        ("results alone, twice", vec![ask("s", "c"), alone("c", "a"), ask("s", "c"), alone("c", "a")], 1),
        (
            "a result alone, and again with its call",
            [vec![ask("s", "c"), alone("c", "state 0")], polls("c", 1, false)].concat(),
            1,
        ),
    ] {
        let records: Vec<&str> = records.iter().map(String::as_str).collect();
        assert_eq!(paired(&records).len(), expected, "{name}");
    }
}

#[test]
fn the_name_of_a_session_is_no_way_around_the_limits() {
    let traffic = |session: &str, id: &str| {
        let text = format!(
            r#"{{"session_id":"{session}","request":{{"messages":[]}},"response":{{"choices":[{{"message":{}}}]}}}}"#,
            called(id, "Oslo")
        );
        let Parsed::One(Ok(Entry::Record(record))) = RecordReader::default().read(text.as_bytes()) else { panic!() };
        tool_calls::traffic_of(&record, &place("log", 1)).unwrap()
    };
    let limits = Limits { bytes_max: 10_000, ..Limits::default() };
    for (bytes, forgets) in [(10, false), (1_000, true), (100_000, false)] {
        let (mut pairer, session) = (tool_calls::Pairer::new(&limits), "s".repeat(bytes));
        (0..20).for_each(|number| drop(pairer.push(traffic(&session, &format!("c{number}")))));
        assert_eq!(pairer.limits_reached().is_some(), forgets, "{bytes}");
    }
    // What is left out of the records tells sessions apart all the same.
    let long = |last: &str| format!("{}{last}", "s".repeat(5_000));
    let tells = |session: &str| conversation(session, &[&called("c", "Oslo"), &answered("c", "warm")]);
    assert_eq!(paired(&[&tells(&long("1")), &tells(&long("2")), &tells(&long("1"))]).len(), 2);
}

#[test]
fn conversations_that_begin_alike_have_calls_of_their_own() {
    let hello = said("hello");
    let asks = |city: &str| {
        let call = called("call_1", city);
        format!(r#"{{"request":{{"messages":[{hello}]}},"response":{{"choices":[{{"message":{call}}}]}}}}"#)
    };
    let answers =
        |city: &str, text: &str| conversation("", &[&hello, &called("call_1", city), &answered("call_1", text)]);
    let of = |city: &str, text: &str| format!(r#"f({{"city":"{city}"}}) = "{text}" in None"#);
    // Another call, and another result of the same call.
    for (city, text) in [("Rome", "hot"), ("Oslo", "cold")] {
        let lines = [asks("Oslo"), asks(city), answers("Oslo", "warm"), answers(city, text)];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let found: Vec<String> = paired(&lines).into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, [of("Oslo", "warm"), of(city, text)]);
    }
    // A result alone belongs to the one call of its id; of two it is not known to which.
    let alone = conversation("", &[&hello, &answered("call_1", "warm")]);
    assert_eq!(paired(&[&asks("Oslo"), &alone]), [(1, of("Oslo", "warm"))]);
    assert_eq!(paired(&[&asks("Oslo"), &asks("Rome"), &alone]), []);
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
            r#"{{"type":"GENERATION","traceId":"t","id":"g","input":[{},{},{}],"output":"ok"}}"#,
            said("hello"),
            called(id, "Oslo"),
            answered(id, "warm")
        )
    };
    const LONG: &str = "call_MY94XAcnfHzfAZcVHqt5FRRQ";
    let (own_with, s) = (|id: &str| own(&format!(r#","call_id":"{id}","session_id":"s""#)), "s");
    let (span_alone, own_alone) = (observed(""), own(r#","session_id":"s""#));
    let in_trace = observed(r#","metadata":{"attributes":{"gen_ai.tool.call.id":"c"}}"#);
    let elsewhere = generated("c").replace(r#""traceId":"t""#, r#""traceId":"u""#);
    for (name, records, expected) in [
        ("by a long id", vec![own_with(LONG), tells(s, LONG)], &["own"][..]),
        ("by a short id of the session", vec![own_with("c"), tells(s, "c"), tells(s, "c")], &["own"]),
        ("another id", vec![own_with("d"), tells(s, "c")], &["own", "told"]),
        ("a span without the id", vec![span_alone.clone(), generated("c")], &["own"]),
        ("a span with the id", vec![in_trace.clone(), generated("c")], &["own"]),
        ("another trace", vec![span_alone.clone(), elsewhere], &["own", "told"]),
        ("newest first", vec![generated("c"), in_trace], &["own"]),
        ("newest first, without the id", vec![generated("c"), span_alone.clone()], &["own"]),
        ("newest first, by a long id", vec![generated(LONG), observed("").replace("\"o\"", "\"p\"")], &["own"]),
        ("one of two", vec![span_alone, generated("c"), generated("c2")], &["own", "told"]),
        ("our own form without the id", vec![own_alone, tells(s, "c")], &["own", "told"]),
        ("a trace that no span is in", vec![generated("c")], &["told"]),
    ] {
        let records: Vec<&str> = records.iter().map(String::as_str).collect();
        let found: Vec<&str> =
            paired(&records).iter().map(|(_, text)| if text.starts_with("its") { "own" } else { "told" }).collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn what_waits_for_a_span_comes_out_all_the_same() {
    let generated = |number: usize| {
        let (call, result) = (called("c", &number.to_string()), answered("c", "warm"));
        let hello = said("hello");
        format!(
            r#"{{"type":"GENERATION","traceId":"t{number}","id":"g","input":[{hello},{call},{result}],"output":"ok"}}"#
        )
    };
    let lines: Vec<String> = (0..600).map(generated).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let places: Vec<u64> = paired(&lines).into_iter().map(|(line, _)| line).collect();
    assert_eq!(places, (1..=600).collect::<Vec<_>>());
    let limits = Limits { calls_max: 3, ..Limits::default() };
    let (mut pairer, mut records) = (tool_calls::Pairer::new(&limits), 0);
    for (number, text) in (1..).zip(&lines) {
        let Parsed::One(Ok(Entry::Record(record))) = RecordReader::default().read(text.as_bytes()) else { panic!() };
        records += tool_calls::traffic_of(&record, &place("log", number)).map_or(0, |all| pairer.push(all).len());
    }
    assert_eq!(records, 597, "room is made by letting them out");
}

#[test]
fn a_conversation_of_many_calls_is_walked_once() {
    const CALLS: usize = 40_000;
    let ids: Vec<String> = (0..CALLS).map(|number| format!("c{number}")).collect();
    let asked: Vec<String> = ids.iter().map(|id| called(id, "Oslo")).collect();
    // The last call is answered first.
    let results: Vec<String> = ids.iter().rev().map(|id| answered(id, "warm")).collect();
    let messages: Vec<&str> = asked.iter().chain(&results).map(String::as_str).collect();
    assert_eq!(paired(&[&conversation("s", &messages)]).len(), CALLS);
}
