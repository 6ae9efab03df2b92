//! Messages of the Model Context Protocol.

use super::*;

#[test]
fn calls_are_paired_by_id_and_connection() {
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
    let run = run(&lines);
    assert_eq!(
        run.texts(),
        [
            r#"weather({"city":"Rome"}) = "hot" in None"#,
            r#"weather({"city":"Oslo"}) = "cold" in None"#,
            r#"weather({"city":"Linz"}) = "mild" in None"#,
            r#"weather({"city":"Bern"}) = nothing in None"#,
        ]
    );
    assert_eq!((run.lines(), run.times(Note::HalfMissing), run.asides()), (vec![5, 4, 9, 8], 1, 6));
}

#[test]
fn a_declaration_is_shared_and_counts_once() {
    let list = |text: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"f","description":"{text}"}}]}}}}"#)
    };
    let call = |id: u64| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"f"}}}}"#);
    let mut drive = Drive::new(&Limits::default());
    let mut bytes = |text: &str| {
        drive.feed("log", text);
        drive.assembler.load().bytes
    };
    let declared = bytes(&list(&"x".repeat(10_000)));
    assert!((10_000..11_000).contains(&declared), "{declared}");
    let calls = (100..200).map(|id| bytes(&call(id))).last().unwrap() - declared;
    let first = bytes(&call(200)) - declared - calls;
    assert_eq!(calls, 100 * first, "however many calls wait with it");
    // What calls still have counts on when the connection declares it anew.
    assert_eq!(bytes(&list(&"y".repeat(10_000))), 2 * declared + 101 * first);
    let waited: Vec<_> = drive.assembler.finish().into_iter().filter_map(|joined| joined.declaration).collect();
    assert!(waited.len() == 101 && waited.iter().all(|other| Arc::ptr_eq(other, &waited[0])));
    drop(waited);
    assert_eq!(drive.assembler.load().bytes, 0);
    // Connections are forgotten when what they have declared takes the room.
    let mut drive = Drive::new(&Limits { bytes_max: 30_000, ..Limits::default() });
    for number in 1..20 {
        drive.feed(&format!("log{number}"), &list(&"x".repeat(10_000)));
        assert!(drive.assembler.load().bytes <= 30_000);
    }
    assert_eq!(drive.assembler.limits_reached().next(), Some(("assemble.bytes_max", 30_000, 17)));
}

#[test]
fn a_server_asks_too_under_the_same_ids() {
    let line = |time: &str, sender: &str, message: &str| {
        format!("2026-01-01T00:00:{time}Z [s] [info] Message from {sender}: {message} {{ metadata: undefined }}")
    };
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f"}}"#;
    let roots = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
    let lines = [
        line("01", "client", call),
        line("02", "server", roots),
        line("03", "client", r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#),
        line("04.5", "server", r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#),
    ];
    let run = run(&lines);
    assert_eq!((run.lines(), run.texts()), (vec![1], vec!["f({}) = nothing in Some(3500.0)"]));
}
