//! Chunks of streams.

use super::*;

fn chunk(id: &str, delta: &str, finish: &str) -> String {
    format!(
        r#"{{"id":"{id}","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#
    )
}

fn usage(id: &str, tokens: u32) -> String {
    format!(r#"{{"id":"{id}","object":"chat.completion.chunk","choices":[],"usage":{{"completion_tokens":{tokens}}}}}"#)
}

const END: &str = "data: [DONE]";

/// The chunks of one stream.
pub(super) fn stream(id: &str, words: &[&str]) -> Vec<String> {
    let mut chunks = vec![chunk(id, r#"{"role":"assistant","content":""}"#, "null")];
    chunks.extend(words.iter().map(|word| chunk(id, &format!(r#"{{"content":"{word}"}}"#), "null")));
    chunks.push(chunk(id, "{}", r#""stop""#));
    chunks.push(usage(id, words.len() as u32));
    chunks
}

#[test]
fn a_stream_is_one_record() {
    let lines = stream("a", &["Hel", "lo"]);
    let whole = run(&lines);
    assert_eq!((whole.lines(), whole.texts()), (vec![1], vec!["id=a said=Hello finish=stop tokens=?+2"]));
    assert_eq!(whole.fates[0], Fate::Held);
    assert!(whole.fates[1..].iter().all(|fate| *fate == Fate::Merged));
    // Without token counts it is the same, but for these.
    let without = run(&lines[..4]);
    assert_eq!(without.texts(), ["id=a said=Hello finish=stop"]);
    assert!(whole.problems.is_empty() && without.problems.is_empty());
    let cut = run(&lines[..2]);
    assert_eq!(cut.problems, ["stream breaks off before the stream ends"]);
    // Lines of server-sent events are the same.
    let events: Vec<String> = lines.iter().map(|line| format!("data: {line}")).collect();
    assert_eq!(run(&events).texts(), whole.texts());
}

#[test]
fn a_stream_ends_with_its_mark_or_when_another_begins_under_its_id() {
    let (a, b) = (stream("x", &["one"]), stream("x", &["two"]));
    let lines = [&a[0], &a[1], &a[2], END, &b[0], &b[1], &b[2], &b[0], &b[1], &b[2]];
    assert_eq!(run(&lines).lines(), [1, 5, 8]);
    // Counts that come late have nowhere to go, and begin no record.
    let late = [&a[0], &a[1], &a[2], END, &a[3]];
    assert_eq!(run(&late).lines(), [1]);
}

#[test]
fn a_done_mark_ends_a_stream_that_does_not_say_why_it_ended() {
    let open = |id: &str, word: &str| chunk(id, &format!(r#"{{"role":"assistant","content":"{word}"}}"#), "null");
    let (a, b, whole) = (open("", "one"), open("", "two"), stream("b", &["x"]));
    // Servers that give no reason, under one id or none: two answers all the same.
    let unexplained = run(&[&a, END, &b, END]);
    assert_eq!((unexplained.lines(), unexplained.texts()), (vec![1, 3], vec!["said=one", "said=two"]));
    assert!(unexplained.problems.is_empty());
    // The mark of an answer that was whole before ends no other that runs beside it.
    let (first, second) = (open("a", "Hel"), chunk("a", r#"{"content":"lo"}"#, r#""stop""#));
    let beside = run(&[&first, &whole[0], &whole[1], &whole[2], &whole[3], &first, END, &second]);
    assert_eq!(beside.texts(), ["id=b said=x finish=stop tokens=?+1", "id=a said=HelHello finish=stop"]);
}

#[test]
fn a_response_with_another_id_is_no_part_of_an_open_stream() {
    let part = r#"{"candidates":[{"content":{"parts":[{"text":"Part 1."}],"role":"model"},"index":0}]}"#;
    let other =
        r#"{"responseId":"r-2","candidates":[{"content":{"parts":[{"text":"Whole."}]},"finishReason":"STOP"}]}"#;
    let last = r#"{"candidates":[{"content":{"parts":[{"text":" Part 2."}]},"finishReason":"STOP"}]}"#;
    assert_eq!(run(&[part, other]).lines(), [2, 1]);
    assert_eq!(run(&[part, last]).texts(), ["said=Part 1. Part 2. finish=STOP"]);
}

#[test]
fn counts_that_do_not_come_are_not_waited_for_without_end() {
    let mut lines = stream("a", &["x"]);
    lines.pop();
    lines.extend((0..2_000).map(|number| chunk(&format!("s{number}"), "{}", "null")));
    let mut drive = Drive::new(&Limits::default());
    let came_with = lines.iter().position(|line| drive.gives(line));
    assert!(came_with.is_some_and(|came_with| came_with > 1_000), "{came_with:?}");
}

#[test]
fn events_without_an_id_belong_to_their_source() {
    let start = r#"{"type":"message_start","message":{"id":"m1","model":"claude","usage":{"input_tokens":5,"output_tokens":1}}}"#;
    let text = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#;
    let stop = r#"{"type":"message_stop"}"#;
    let lines = [("a", start), ("b", start), ("a", text), ("b", text), ("a", stop)];
    let both = run_with(&Limits::default(), lines);
    assert_eq!(both.lines(), [1, 2]);
    assert_eq!(both.problems, ["stream breaks off before the stream ends"]);
    let begun_before = run(&[text, stop]);
    assert_eq!(begun_before.problems, ["stream begins in the middle of the stream"]);
}

#[test]
fn what_waits_is_bounded_and_goes_in_its_order() {
    let lines: Vec<String> = (0..10).map(|number| chunk(&format!("s{number}"), r#"{"content":"x"}"#, "null")).collect();
    let mut one = Drive::new(&Limits::default());
    one.feed("log", &lines[0]);
    let bytes_max = 3 * one.assembler.load().bytes;
    for limits in [Limits { records_max: 3, ..Limits::default() }, Limits { bytes_max, ..Limits::default() }] {
        let mut drive = Drive::new(&limits);
        for line in &lines {
            drive.feed("log", line);
            assert!(drive.assembler.load().records <= 3);
        }
        assert_eq!(drive.assembler.limits_reached().map(|(_, _, times)| times).collect::<Vec<_>>(), [7]);
        assert_eq!(drive.finish().lines(), (1..=10).collect::<Vec<_>>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However the chunks of streams are interleaved, the same answers come out.
    #[test]
    fn any_interleaving_gives_the_same_answers(order in prop::collection::vec(0usize..3, 24)) {
        let words = [("a", &["1", "2"][..]), ("b", &["3"]), ("c", &["4", "5", "6"])];
        let mut streams = words.map(|(id, words)| stream(id, words).into_iter());
        let mut lines: Vec<String> = order.iter().filter_map(|which| streams[*which].next()).collect();
        streams.into_iter().for_each(|rest| lines.extend(rest));
        let expected = words.map(|(id, words)| run(&stream(id, words)).texts()[0].to_owned());
        let run = run(&lines);
        prop_assert_eq!(run.sorted(), expected);
    }
}
