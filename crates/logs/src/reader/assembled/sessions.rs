//! Lines of the sessions of coding agents: Claude Code, Codex.

use super::*;

pub(super) const USER: &str = r#"{"type":"user","sessionId":"s","uuid":"u1","timestamp":"2026-03-01T22:38:47.000Z","message":{"role":"user","content":"run the tests"}}"#;
pub(super) const TEXT: &str = r#"{"type":"assistant","sessionId":"s","uuid":"a1","timestamp":"2026-03-01T22:38:50.000Z","message":{"id":"m1","role":"assistant","model":"claude","content":[{"type":"text","text":"Running."}],"stop_reason":null,"usage":{"input_tokens":5,"output_tokens":3}}}"#;
pub(super) const CALL: &str = r#"{"type":"assistant","sessionId":"s","uuid":"a2","timestamp":"2026-03-01T22:38:50.100Z","message":{"id":"m1","role":"assistant","model":"claude","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"bun test"}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":200}}}"#;
pub(super) const RESULT: &str = r#"{"type":"user","sessionId":"s","uuid":"u2","timestamp":"2026-03-01T22:38:52.900Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"2 pass"}]},"toolUseResult":{"stdout":"2 pass","stderr":""}}"#;
pub(super) const DONE: &str = r#"{"type":"assistant","sessionId":"s","uuid":"a3","timestamp":"2026-03-01T22:38:55.000Z","message":{"id":"m2","role":"assistant","model":"claude","content":"All pass.","stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":4}}}"#;

pub(super) const CODEX: [&str; 8] = [
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
fn a_claude_code_session_becomes_calls_of_the_model_and_of_tools() {
    let summary = r#"{"type":"summary","summary":"s","leafUuid":"x"}"#;
    let replay = CALL.replace("\"uuid\":\"a2\"", "\"uuid\":\"a9\",\"isSidechain\":true");
    let run = run(&[summary, USER, TEXT, CALL, RESULT, DONE, &replay]);
    assert_eq!(run.lines(), [4, 3, 6]);
    assert_eq!(
        run.texts(),
        [
            r#"Bash({"command":"bun test"}) = "2 pass" in Some(2800.0)"#,
            concat!(
                "id=m1 session=s at=1772404730000 model=claude asked=[user: run the tests] said=Running. ",
                r#"calls=Bash({"command":"bun test"}) finish=tool_use tokens=5+200"#
            ),
            concat!(
                "id=m2 session=s at=1772404735000 model=claude asked=[tool: 2 pass] said=All pass. ",
                "finish=end_turn tokens=9+4"
            ),
        ]
    );
    assert!(matches!(run.fates[0], Fate::Ignored(_)));
    assert_eq!(run.fates[1..], [Fate::Merged, Fate::Held, Fate::Merged, Fate::Merged, Fate::Held, Fate::Merged]);
}

#[test]
fn a_line_of_a_message_counts_once_and_each_of_its_contents_counts() {
    let other = TEXT.replace("Running.", "Still running.");
    let open = run(&[USER, TEXT, &other, TEXT, CALL]);
    assert_eq!(open.records.len(), 1, "{open:?}");
    for (text, times) in [("Running.", 1), ("Still running.", 1), ("Bash(", 1), ("tokens=5+200", 1)] {
        assert_eq!(open.texts()[0].matches(text).count(), times, "{text}: {open:?}");
    }
    // What comes after the message was whole is not lost.
    let late = run(&[USER, TEXT, RESULT, DONE, &other, TEXT]);
    assert_eq!(late.lines(), [2, 4, 5]);
    assert!(late.texts()[2].contains("Still running."));
}

/// Lines as another session has them.
fn elsewhere(line: &str) -> String {
    line.replace(r#""sessionId":"s""#, r#""sessionId":"s2""#)
}

#[test]
fn what_a_continued_session_repeats_is_no_prompt_of_what_is_new() {
    let first = [USER, TEXT, CALL, RESULT, DONE].map(str::to_owned);
    let asked = elsewhere(USER).replace("run the tests", "and now?");
    let new = elsewhere(DONE).replace("m2", "m3").replace("All pass.", "Nothing.");
    let again = first.clone().map(|line| elsewhere(&line));
    let run = run(&[&first[..], &again, &[asked, new]].concat());
    assert_eq!(run.lines(), [3, 2, 5, 12], "the call is one, too");
    assert!(run.texts()[3].contains("asked=[user: and now?]"), "{run:?}");
}

#[test]
fn what_is_said_last_and_has_no_answer_is_a_call() {
    let said = |text: &str| USER.replace("run the tests", text);
    let (again, frame) = (said("and the others?"), said("<command-name>/exit</command-name>"));
    let meta = again.replace(r#""type":"user","#, r#""type":"user","isMeta":true,"#);
    for (lines, expected) in [
        (&[USER, TEXT, &again][..], "asked=[user: and the others?]"),
        (&[USER], "asked=[user: run the tests]"),
        (&[USER, &again], "asked=[user: run the tests][user: and the others?]"),
        (&[USER, TEXT, CALL, RESULT], "asked=[tool: 2 pass]"),
        (&[USER, TEXT, &frame], "said=Running."),
        (&[USER, TEXT, &meta], "said=Running."),
        (&[USER, TEXT], "said=Running."),
    ] {
        let run = run(lines);
        let last = run.texts()[run.records.len() - 1];
        assert!(last.contains(expected), "{last}");
        assert_eq!(run.times(Note::Unanswered), usize::from(expected.starts_with("asked")), "{run:?}");
        assert_eq!(last.contains("said="), !expected.starts_with("asked"), "{last}");
    }
    let asked = CODEX[2].replace("run date", "and the time?");
    let frame = CODEX[2].replace("run date", "<turn_aborted>by the user</turn_aborted>");
    for (more, expected) in [(&[&*asked, &frame][..], 4), (&[&frame], 3), (&[], 3)] {
        let run = run(&[&CODEX[..7], more].concat());
        assert_eq!((run.records.len(), run.times(Note::Unanswered)), (expected, expected - 3), "{run:?}");
    }
    assert_eq!(run(&CODEX[..5]).times(Note::Unanswered), 1, "the result of a tool waits for an answer");
}

#[test]
fn an_unanswered_turn_has_its_prompt_and_its_time() {
    for (line, expected) in [
        (USER, "session=s at=1772404727000 asked=[user: run the tests]"),
        (CODEX[2], "at=1780244519544 asked=[user: run date]"),
    ] {
        let run = run(&[line]);
        assert_eq!((run.lines(), run.texts(), &run.fates[..]), (vec![1], vec![expected], &[Fate::Merged][..]));
    }
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
        let run = run(lines);
        assert_eq!(run.times(Note::Unanswered), expected, "{run:?}");
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
        let run = run(&[&CODEX[..4], &[&result, &frame]].concat());
        assert_eq!(run.times(Note::Unanswered), expected, "{output}: {run:?}");
    }
}

/// The note of a failed call.
fn failed(more: &str, time: &str, text: &str) -> String {
    format!(
        r#"{{"type":"assistant","sessionId":"s","uuid":"f","isApiErrorMessage":true{time},"message":{{"role":"assistant"{more},"model":"<synthetic>","content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

#[test]
fn what_two_sessions_tell_counts_in_one_of_them() {
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
        let lines: Vec<String> = one.into_iter().map(str::to_owned).chain(two.into_iter().map(elsewhere)).collect();
        let run = run(&lines);
        assert_eq!(run.records.len(), expected, "{name}: {run:?}");
    }
}

#[test]
fn what_the_client_says_in_the_place_of_the_model_is_an_error_of_the_call() {
    let run = run(&[USER, &failed("", "", "API Error: 529")]);
    assert_eq!(run.texts(), ["session=s asked=[user: run the tests] error=API Error: 529"]);
}

#[test]
fn what_has_come_out_is_given_back() {
    let mut drive = Drive::new(&Limits::default());
    let mut bytes = |lines: &[&str]| {
        lines.iter().for_each(|line| drive.feed("log", line));
        drive.assembler.load().bytes
    };
    let of_claude: Vec<u64> =
        (0..50).map(|number| bytes(&[USER, &TEXT.replace("m1", &format!("m{number}"))])).collect();
    assert_eq!(of_claude[1..].iter().max(), of_claude[1..].iter().min().map(|least| least + 1).as_ref());
    let count = |number: u64| CODEX[6].replace("1100", &number.to_string());
    let of_codex: Vec<u64> =
        (0..50).map(|number| bytes(&[CODEX[2], CODEX[3], CODEX[4], CODEX[5], &count(number)])).collect();
    assert_eq!(of_codex.iter().max(), of_codex.iter().min(), "nothing is left after a count of tokens");
    drive.finish();
}

#[test]
fn a_codex_session_becomes_calls_of_the_model_and_of_tools() {
    let run = run(&[&CODEX[..7], &CODEX[6..]].concat());
    assert_eq!(run.lines(), [4, 4, 6]);
    assert_eq!(
        run.texts(),
        [
            r#"exec({"cmd":"date"}) = "ok" in Some(348.0)"#,
            concat!(
                "session=sess at=1780244528652 model=gpt-5 provider=openai asked=[user: run date] ",
                r#"calls=exec({"cmd":"date"}) finish=tool_calls"#
            ),
            concat!(
                "session=sess at=1780244530000 model=gpt-5 provider=openai asked=[tool: ok] said=done ",
                "finish=completed tokens=1000+100 cached=800 reasoning=20"
            ),
        ]
    );
    // The count that came again is no call.
    let again = Fate::skipped(
        crate::record::Format::of(crate::record::Container::named("codex")),
        "a token count that was seen before",
    );
    assert_eq!(run.fates[7], again);
}

#[test]
fn long_instructions_come_whole_with_the_first_call_only() {
    let head = CODEX[0].replace(r#""id":"sess""#, &format!(r#""id":"sess","instructions":"{}""#, "x".repeat(50_000)));
    let mut lines = vec![head.as_str(), CODEX[1]];
    (0..20).for_each(|_| lines.extend([CODEX[2], CODEX[5]]));
    let run = run(&lines);
    let bytes: Vec<usize> = run.texts().iter().map(|text| text.len()).collect();
    assert!(bytes.len() == 20 && bytes[0] > 50_000 && bytes[1..].iter().all(|bytes| *bytes < 5_000), "{bytes:?}");
}
