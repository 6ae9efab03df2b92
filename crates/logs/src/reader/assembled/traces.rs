//! Spans of traces.

use super::*;
use crate::assemble::traces::{GRACE_ENTRIES, SPANS_MAX};

/// An observation of a trace that began in this second; the empty parent is none.
fn observed(kind: &str, (trace, id, parent): (&str, &str, &str), second: u32, more: &str) -> String {
    let time = |second: u32| format!("2026-01-01T00:{:02}:{:02}Z", second / 60, second % 60);
    let (start, end) = (time(second), time(second + 2));
    let parent = if parent.is_empty() { String::new() } else { format!(r#""parentObservationId":"{parent}","#) };
    format!(
        r#"{{"type":"{kind}","traceId":"{trace}","id":"{id}",{parent}"startTime":"{start}","endTime":"{end}"{more}}}"#
    )
}

fn span(ids: (&str, &str, &str), second: u32) -> String {
    observed("SPAN", ids, second, "")
}

fn asked(ids: (&str, &str, &str), second: u32, prompt: &str) -> String {
    observed("GENERATION", ids, second, &format!(r#","model":"m","input":"{prompt}""#))
}

fn said(ids: (&str, &str, &str), second: u32, answer: &str) -> String {
    observed("GENERATION", ids, second, &format!(r#","output":"{answer}""#))
}

fn call(ids: (&str, &str, &str), second: u32, prompt: &str, answer: &str) -> String {
    observed("GENERATION", ids, second, &format!(r#","model":"m","input":"{prompt}","output":"{answer}""#))
}

fn retrieved(ids: (&str, &str, &str), second: u32, document: &str) -> String {
    observed("RETRIEVER", ids, second, &format!(r#","input":"q","output":[{{"page_content":"{document}"}}]"#))
}

/// A call with the body that the provider gave, which has an id.
fn answered(ids: (&str, &str, &str), second: u32, id: &str) -> String {
    let body = format!(r#"{{"id":"{id}","choices":[{{"message":{{"role":"assistant","content":"a"}}}}]}}"#);
    observed("GENERATION", ids, second, &format!(r#","output":{body}"#))
}

/// Spans of several traces: a chain with a retrieval, a parent of one call, a call in two halves, a tool.
pub(super) fn lines() -> Vec<String> {
    vec![
        observed("SPAN", ("t1", "r", ""), 0, r#","sessionId":"s1""#),
        retrieved(("t1", "d1", "r"), 1, "Oslo is warm."),
        retrieved(("t1", "d2", "r"), 2, "Rome is hot."),
        observed("GENERATION", ("t1", "p", "r"), 3, r#","model":"m","usageDetails":{"input":7,"output":3}"#),
        observed("GENERATION", ("t1", "g", "p"), 4, r#","input":"How warm?","output":"Very.""#),
        observed("TOOL", ("t1", "f", "r"), 5, r#","name":"f","input":{"a":1},"output":"ok""#),
        asked(("t2", "g", ""), 10, "First half."),
        said(("t2", "g", ""), 10, "Second half."),
        asked(("t3", "g", "elsewhere"), 20, "Who?"),
        call(("t3", "h", "elsewhere"), 21, "What?", "That."),
    ]
}

#[test]
fn a_trace_becomes_its_calls() {
    let run = run(&lines());
    assert_eq!(
        run.texts(),
        [
            "id=g session=s1 at=1767225604000 model=m context=[Oslo is warm.][Rome is hot.] asked=How warm? said=Very. tokens=7+3",
            r#"f({"a":1}) = "ok" in Some(2000.0)"#,
            "id=g at=1767225610000 model=m asked=First half. said=Second half.",
            "id=g at=1767225620000 model=m asked=Who?",
            "id=h at=1767225621000 model=m asked=What? said=That.",
        ]
    );
    assert_eq!(run.lines(), [5, 6, 7, 9, 10]);
    assert_eq!(run.others, [(4, "a call that contains the call".to_owned()), (8, "merged".to_owned())]);
    assert_eq!(run.asides(), 3);
}

/// The calls of these lines in the order in which they come out: `asked said`.
#[track_caller]
fn check(name: &str, lines: &[String], expected: &[&str]) {
    let run = run(lines);
    let about = |text: &str| {
        let (start, end) = (text.find("asked=").or(text.find("said=")), text.find(" finish=").unwrap_or(text.len()));
        start.map_or_else(|| text.to_owned(), |start| text[start..end].to_owned())
    };
    let found: Vec<String> = run.texts().into_iter().map(about).collect();
    assert_eq!(found, expected, "{name}: {run:?}");
}

#[test]
fn calls_of_one_trace_are_told_apart() {
    let of = |id: &'static str, parent: &'static str| ("t", id, parent);
    let whole = "asked=q said=a";
    check("two halves", &[asked(of("g", ""), 1, "q"), said(of("g", ""), 1, "a")], &[whole]);
    check("the other way round", &[said(of("g", ""), 1, "a"), asked(of("g", ""), 1, "q")], &[whole]);
    check("two exports", &[call(of("g", ""), 1, "q", "a"), call(of("g", ""), 1, "q", "a")], &[whole]);
    let elsewhere = said(("u", "g", ""), 1, "a");
    check("one id in two traces", &[asked(of("g", ""), 1, "q"), elsewhere], &["asked=q", "said=a"]);
    check("no parent", &[call(of("g", ""), 1, "q", "a"), call(of("h", ""), 2, "q", "a")], &[whole, whole]);
    let parent = [call(of("g", ""), 1, "q", "a"), asked(of("h", "g"), 2, "q")];
    check("what the child lacks", &parent, &[whole]);
    let distant = [call(of("g", ""), 1, "q", "a"), span(of("s", "g"), 1), asked(of("h", "s"), 2, "q")];
    check("through a span", &distant, &[whole]);
    let two = [call(of("g", ""), 1, "q", "a"), asked(of("h", "g"), 2, "b"), asked(of("i", "g"), 3, "c")];
    check("a parent of two lends neither its texts", &two, &["asked=b", "asked=c"]);
    let three = [call(of("g", ""), 1, "q", "a"), asked(of("h", "g"), 1, "q"), said(of("i", "h"), 2, "b")];
    check("a parent of a parent", &three, &["asked=q said=b"]);
    check("its own parent", &[call(of("g", "g"), 1, "q", "a")], &[whole]);
    let ring = [call(of("g", "h"), 1, "q", "a"), call(of("h", "g"), 2, "q", "a")];
    check("each the parent of the other", &ring, &[whole, whole]);
    let newest_first = [call(of("g", ""), 2, "q", "b"), call(of("h", ""), 1, "q", "a")];
    check("they come as they began", &newest_first, &[whole, "asked=q said=b"]);
    check("one answer, told twice", &[answered(of("g", ""), 1, "c"), answered(of("h", ""), 2, "c")], &["said=a"]);
    let cached = [answered(of("g", ""), 1, "c"), answered(of("h", ""), 9, "c")];
    check("a cached answer", &cached, &["said=a", "said=a"]);
}

#[test]
fn what_a_trace_has_in_common_is_lent() {
    let session = |id: &str, session: &str| {
        call(("t", id, ""), 1, "q", "a").replace('}', &format!(r#","sessionId":"{session}"}}"#))
    };
    let tool = observed("TOOL", ("t", "f", ""), 2, r#","name":"f","input":{},"output":"ok""#);
    let run = run(&[session("g", "s"), call(("t", "h", ""), 2, "q", "a"), session("i", "other"), tool]);
    let sessions: Vec<bool> = run.texts().iter().map(|text| text.contains("session=s ")).collect();
    assert_eq!(sessions[..3].iter().filter(|has| **has).count(), 2, "its own session counts: {run:?}");
    let mut drive = Drive::new(&Limits::default());
    drive.feed("log", &call(("t", "g", ""), 1, "q", "a"));
    drive.feed("log", &observed("TOOL", ("t", "f", ""), 2, r#","name":"f","input":{},"output":"ok""#));
    let of_tool = drive.assembler.finish().into_iter().filter_map(Joined::into_record).last();
    assert_eq!(of_tool.and_then(|record| record.model).as_deref(), Some("m"), "tools have the model that called them");
}

#[test]
fn documents_become_the_context_of_the_call_that_follows() {
    const DOCUMENT: &str = "Oslo is the capital.";
    let of = |id: &'static str, parent: &'static str| ("t", id, parent);
    let found = |id: &'static str, parent: &'static str, second| retrieved(of(id, parent), second, DOCUMENT);
    let asks = |id: &'static str, parent: &'static str, second| call(of(id, parent), second, id, "a");
    let (root, chain, other) = (span(of("r", ""), 0), span(of("s1", "r"), 1), span(of("s2", "r"), 5));
    for (name, lines, expected) in [
        ("the next call", vec![found("d", "r", 1), asks("g", "r", 2), asks("h", "r", 3)], &["g"][..]),
        ("not the one before", vec![asks("g", "r", 1), found("d", "r", 2), asks("h", "r", 3)], &["h"]),
        ("by time, not by place", vec![asks("g", "r", 3), asks("h", "r", 1), found("d", "r", 2)], &["g"]),
        ("the nearest scope", vec![found("d", "s1", 1), asks("h", "s2", 2), asks("g", "s1", 3)], &["g"]),
        ("the scope around that", vec![found("d", "s1", 1), asks("g", "s2", 6)], &["g"]),
        ("any scope at last", vec![found("d", "gone", 1), asks("g", "r", 2)], &["g"]),
        ("no call follows", vec![asks("g", "r", 1), found("d", "r", 2)], &[]),
        (
            "else those whose prompts hold them",
            vec![found("d", "r", 1), asks("g", "r", 2), asks("h", "r", 3), call(of("i", "r"), 4, DOCUMENT, "a")],
            &["i"],
        ),
        ("once, however often retrieved", vec![found("d", "r", 1), found("e", "r", 2), asks("g", "r", 3)], &["g"]),
    ] {
        let lines = [vec![root.clone(), chain.clone(), other.clone()], lines].concat();
        let run = run(&lines);
        let context = format!("context=[{DOCUMENT}] ");
        let with: Vec<&str> = run.texts().into_iter().filter(|text| text.contains(&context)).collect();
        let ids: Vec<&str> = with.iter().map(|text| &text[3..4]).collect();
        assert_eq!(ids, expected, "{name}: {run:?}");
    }
}

/// A span that tells nothing and is the root of nothing.
fn filler(number: u64) -> String {
    span(("elsewhere", &format!("f{number}"), "gone"), 0)
}

#[test]
fn a_trace_waits_until_it_has_ended() {
    for (name, lines, is_over) in [
        ("its root was seen", [span(("t", "r", ""), 0), call(("t", "g", "r"), 1, "q", "a")], true),
        ("its root was not", [span(("t", "r", "gone"), 0), call(("t", "g", "r"), 1, "q", "a")], false),
        ("a text may still come", [span(("t", "r", ""), 0), asked(("t", "g", "r"), 1, "q")], false),
    ] {
        let mut drive = Drive::new(&Limits::default());
        lines.iter().for_each(|line| drive.feed("log", line));
        let came = (1..=2 * GRACE_ENTRIES).find(|number| drive.gives(&filler(*number)));
        assert_eq!(came, is_over.then_some(GRACE_ENTRIES), "{name}");
        // What comes when it has gone is merged where its twin has gone, else it is alone.
        drive.feed("log", &said(("t", "g", "r"), 1, "a"));
        drive.feed("log", &call(("t", "h", "r"), 2, "q", "b"));
        let late = if is_over { Fate::Merged } else { Fate::Held };
        assert_eq!(drive.run.fates[2 + came.unwrap_or(2 * GRACE_ENTRIES) as usize], late, "{name}");
        assert_eq!(drive.finish().texts().len(), 2, "{name}");
    }
}

#[test]
fn a_touch_makes_a_trace_wait_anew() {
    let mut drive = Drive::new(&Limits::default());
    drive.feed("log", &call(("t", "g", ""), 1, "q", "a"));
    for number in 0..3 * GRACE_ENTRIES {
        let line = if number % 100 == 0 { span(("t", &format!("s{number}"), "g"), 1) } else { filler(number) };
        assert!(!drive.gives(&line), "{number}");
    }
    assert_eq!(drive.finish().records.len(), 1);
}

#[test]
fn what_is_held_is_bounded() {
    let mut drive = Drive::new(&Limits::default());
    let came = (1..=SPANS_MAX).find(|number| drive.gives(&asked(("t", &format!("g{number}"), "r"), 1, "q")));
    assert_eq!(came, Some(SPANS_MAX), "a large trace is settled in parts");
    assert_eq!(drive.finish().records.len(), SPANS_MAX);
    // The oldest trace goes first.
    let mut drive = Drive::new(&Limits { records_max: 3, ..Limits::default() });
    for number in 0..10 {
        drive.feed("log", &asked((&format!("t{number}"), "g", ""), 1, "q"));
        assert!(drive.assembler.load().records <= 3);
    }
    assert_eq!(drive.assembler.limits_reached().next(), Some(("assemble.records_max", 3, 7)));
    assert_eq!(drive.finish().lines(), (1..=10).collect::<Vec<_>>());
    // Traces without a call of which the end never comes take room, too.
    let mut drive = Drive::new(&Limits { bytes_max: 100_000, ..Limits::default() });
    for number in 0..1_000 {
        drive.feed("log", &span((&format!("t{number}"), "s", "gone"), 1));
        assert!(drive.assembler.load().bytes <= 100_000);
    }
    assert!(drive.assembler.limits_reached().next().is_some_and(|(_, _, times)| times > 500), "they are many");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// In whatever order the spans of several traces stand, the same calls come out.
    #[test]
    fn spans_in_any_order_give_the_same_records(lines in Just(lines()).prop_shuffle()) {
        let (run, expected) = (run(&lines), run(&self::lines()));
        prop_assert_eq!(run.sorted(), expected.sorted());
    }

    /// Spans of one trace, each a call or none, below any other or itself.
    #[test]
    fn a_tree_of_any_shape_keeps_its_calls(spans in prop::collection::vec((0usize..3, 0usize..9, 0u32..20), 1..9)) {
        let name = |at: usize| format!("n{at}");
        let lines = spans.iter().enumerate().map(|(at, (kind, parent, second))| {
            let (id, parent) = (name(at), if *parent == 8 { String::new() } else { name(*parent) });
            let ids = ("t", id.as_str(), parent.as_str());
            match kind {
                0 => span(ids, *second),
                1 => call(ids, *second, &id, "a"),
                _ => observed("TOOL", ids, *second, r#","name":"f","input":{},"output":"ok""#),
            }
        });
        let run = run(&lines.collect::<Vec<_>>());
        let of = |kind: usize| spans.iter().filter(|(one, _, _)| *one == kind).count();
        let tools = run.texts().iter().filter(|text| text.starts_with("f(")).count();
        let calls = run.records.len() - tools;
        prop_assert_eq!(run.records.len() + run.others.len(), of(1) + of(2), "{:?}", run);
        prop_assert!(tools > 0 || of(2) == 0, "a tool within the same tool is not the only one: {:?}", run);
        prop_assert!(calls > 0 || of(1) == 0, "a call that contains a call is not the only one: {:?}", run);
    }
}
