//! Lines of batch files.

use super::*;

#[test]
fn batches_are_joined_in_either_order() {
    let request = r#"{"custom_id":"r1","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"2+2?"}]}}"#;
    let answer = r#"{"id":"b","custom_id":"r1","response":{"status_code":200,"body":{"id":"c","choices":[{"message":{"content":"4"}}]}},"error":null}"#;
    let other = r#"{"custom_id":"r2","response":null,"error":{"code":"batch_expired","message":"late"}}"#;
    let batch = |lines: &[(&'static str, &'static str)]| run_with(&Limits::default(), lines.iter().copied());
    let pair = "id=r1 model=m asked=[user: 2+2?] said=4";
    for lines in [[("in", request), ("out", answer)], [("out", answer), ("in", request)]] {
        let joined = batch(&lines);
        assert_eq!((joined.lines(), joined.texts()), (vec![1], vec![pair]));
        assert_eq!(joined.fates, [Fate::Held, Fate::Merged]);
        assert_eq!(joined.times(Note::HalfMissing), 0);
    }
    let alone = batch(&[("in", request), ("out", other)]);
    assert_eq!(alone.texts(), ["id=r1 model=m asked=[user: 2+2?]", "id=r2 error=late"]);
    assert_eq!(alone.times(Note::HalfMissing), 2);
    // Ids that come again are paired in their order.
    let again = batch(&[("in", request), ("in", request), ("out", answer), ("out", answer)]);
    assert_eq!((again.lines(), again.texts()), (vec![1, 2], vec![pair, pair]));
}
