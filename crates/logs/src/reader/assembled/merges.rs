//! Objects that a log tells in parts.

use super::*;
use crate::assemble::merges::GRACE_FRAGMENTS;

fn batch(key: &str, parts: &[impl AsRef<str>]) -> String {
    format!(r#"{{"{key}":[{}]}}"#, parts.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(","))
}

/// A run of a trace begins.
fn begun(trace: &str, id: &str, more: &str) -> String {
    format!(
        r#"{{"id":"{id}","trace_id":"{trace}","run_type":"llm","start_time":"2026-01-01T00:00:01Z","end_time":null,"inputs":{{"messages":[{{"role":"user","content":"{id}?"}}]}},"outputs":{{}}{more}}}"#
    )
}

/// A run of a trace ends.
fn ended(trace: &str, id: &str) -> String {
    format!(
        r#"{{"id":"{id}","trace_id":"{trace}","inputs":null,"end_time":"2026-01-01T00:00:03Z","outputs":{{"choices":[{{"message":{{"role":"assistant","content":"{id}!"}}}}]}}}}"#
    )
}

fn whole(id: &str) -> String {
    format!("id={id} at=1767225601000 asked=[user: {id}?] said={id}!")
}

/// Runs of several traces, in batches.
pub(super) fn lines() -> Vec<String> {
    vec![
        batch("post", &[begun("x", "a", ""), begun("y", "b", "")]),
        batch("patch", &[ended("x", "a")]),
        batch("post", &[begun("z", "c", "")]),
        batch("patch", &[ended("y", "b"), ended("z", "c")]),
    ]
}

#[test]
fn posts_and_patches_of_any_batch_are_one_run() {
    for (name, lines) in [
        ("in one batch", vec![format!(r#"{{"post":[{}],"patch":[{}]}}"#, begun("x", "a", ""), ended("x", "a"))]),
        ("in two", vec![batch("post", &[begun("x", "a", "")]), batch("patch", &[ended("x", "a")])]),
        ("the end first", vec![batch("patch", &[ended("x", "a")]), batch("post", &[begun("x", "a", "")])]),
    ] {
        let run = run(&lines);
        assert_eq!((run.texts(), &run.fates[..]), (vec![&*whole("a")], &[Fate::Held, Fate::Merged][..]), "{name}");
    }
    // Runs of several traces wait beside each other to the end.
    let run = run(&lines());
    assert_eq!(run.texts(), [whole("a"), whole("b"), whole("c")]);
    assert_eq!(run.lines(), [1, 1, 3]);
}

#[test]
fn a_run_that_has_ended_is_waited_for_no_longer_than_a_while() {
    let mut drive = Drive::new(&Limits::default());
    drive.feed("log", &batch("post", &[begun("x", "a", "")]));
    drive.feed("log", &batch("patch", &[ended("x", "a")]));
    let other = |number: u64| batch("post", &[begun("z", &format!("o{number}"), "")]);
    (0..GRACE_FRAGMENTS / 2).for_each(|number| drive.feed("log", &other(number)));
    let counted = r#"{"id":"a","trace_id":"x","prompt_tokens":7,"completion_tokens":3}"#;
    drive.feed("log", &batch("patch", &[counted]));
    let came = (0..2 * GRACE_FRAGMENTS).find(|number| drive.gives(&other(GRACE_FRAGMENTS + number)));
    // Its trace has ended then, too, and has its own time to wait.
    assert!(came.is_some_and(|came| came >= GRACE_FRAGMENTS / 2), "{came:?}");
    assert_eq!(drive.run.texts(), [format!("{} tokens=7+3", whole("a"))]);
    // What comes later is merged into nothing.
    drive.feed("log", &batch("patch", &[ended("x", "a")]));
    assert_eq!(drive.run.fates.last(), Some(&Fate::Merged));
    drive.finish();
}

#[test]
fn a_run_that_its_trace_knows_and_the_joiner_does_not_is_merged() {
    // The joiner remembers one run, and the last that it let go holds no call of which the trace would know.
    let mut drive = Drive::new(&Limits { answers_max: 1, ..Limits::default() });
    let chain = |number: u64| {
        let run = begun("w", &format!("c{number}"), "").replace(r#""llm""#, r#""chain""#);
        batch("post", &[run.replace(r#""end_time":null"#, r#""end_time":"2026-01-01T00:00:03Z""#)])
    };
    drive.feed("log", &batch("post", &[begun("x", "a", "")]));
    drive.feed("log", &batch("patch", &[ended("x", "a")]));
    let came = (0..4 * GRACE_FRAGMENTS).find(|number| drive.gives(&chain(*number)));
    assert!(came.is_some());
    drive.feed("log", &batch("post", &[begun("x", "a", "")]));
    assert_eq!(drive.run.fates.last(), Some(&Fate::Held), "the joiner does not know it");
    assert_eq!(drive.finish().texts(), [whole("a")]);
}

#[test]
fn a_run_without_an_id_is_one_by_itself() {
    let nameless = begun("x", "a", "").replace(r#""id":"a","#, "");
    assert_eq!(run(&[batch("post", &[&nameless, &nameless])]).records.len(), 2);
    // A patch may have only its place in the tree, which ends with the id.
    let placed = ended("x", "a").replace(r#""id":"a""#, r#""dotted_order":"20260101T000001000000Za""#);
    assert_eq!(run(&[batch("post", &[begun("x", "a", "")]), batch("patch", &[&placed])]).texts(), [whole("a")]);
}

#[test]
fn runs_that_wait_are_bounded() {
    let mut drive = Drive::new(&Limits { records_max: 3, ..Limits::default() });
    for number in 0..10 {
        drive.feed("log", &batch("post", &[begun(&format!("t{number}"), &format!("r{number}"), "")]));
        assert!(drive.assembler.load().records <= 3);
    }
    assert_eq!(drive.finish().lines(), (1..=10).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Runs that are told in parts of any size, in batches of any size, in any order, are the same runs.
    #[test]
    fn parts_in_any_order_and_batch_give_the_same_runs(parts in parts().prop_shuffle(), sizes in prop::collection::vec(1usize..5, 40)) {
        let (mut rest, mut lines) = (&parts[..], Vec::new());
        for size in sizes {
            let (now, later) = rest.split_at(size.min(rest.len()));
            lines.extend((!now.is_empty()).then(|| batch("patch", now)));
            rest = later;
        }
        let run = run(&lines);
        prop_assert_eq!(run.sorted(), ["a", "b", "c"].map(whole));
        prop_assert_eq!(run.fates.len(), parts.len());
        prop_assert_eq!(run.fates.iter().filter(|fate| **fate == Fate::Held).count(), 3);
    }
}

/// Three runs of two traces, with their keys spread over parts.
fn parts() -> impl Strategy<Value = Vec<String>> {
    let runs = [("a", "x"), ("b", "x"), ("c", "y")];
    prop::collection::vec(0usize..4, 3 * 8).prop_map(move |places| {
        let mut parts = Vec::new();
        for ((id, trace), places) in runs.iter().zip(places.chunks(8)) {
            let whole: serde_json::Value = serde_json::from_str(&begun(trace, id, "")).unwrap();
            let end: serde_json::Value = serde_json::from_str(&ended(trace, id)).unwrap();
            let said = |value: &serde_json::Value| {
                !value.is_null() && value.as_object().is_none_or(|object| !object.is_empty())
            };
            let entries = whole.as_object().unwrap().iter().chain(end.as_object().unwrap());
            let entries: Vec<_> =
                entries.filter(|(key, value)| *key != "id" && *key != "trace_id" && said(value)).collect();
            for part in 0..4 {
                let mut object = serde_json::json!({ "id": id, "trace_id": trace });
                for ((key, value), _) in entries.iter().zip(places).filter(|(_, place)| **place == part) {
                    object[key.as_str()] = (*value).clone();
                }
                parts.push(object.to_string());
            }
        }
        parts
    })
}
