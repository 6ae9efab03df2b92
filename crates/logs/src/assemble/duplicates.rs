//! Answers that a log holds twice: exported again, or written by two instruments.
//!
//! Two records hold the same answer when the provider gave both the same id, the texts and calls of the answer are the same,
//! and so are the prompts, unless one of the two has none. The first counts, further ones are merged.
//!
//! A cache gives one answer with one id to many calls, and each of them counts. Records of one writer are one call when
//! their own ids are the same, or where they have none of their own, their times; those of two writers when the two calls
//! were under way at the same time. What is not known tells nothing apart.
//!
//! **Limits**: `answers_max` answers are remembered, the longest unused go first, and of each the last [`CALLS_MAX`] calls.
//! Records of our own form are never held to be duplicates: whoever writes one means it.

use std::collections::VecDeque;

use lru::LruCache;

use crate::{
    hash,
    record::{Container, Format, Kind, Record},
};

use super::Limits;

/// Calls with one answer that are remembered.
const CALLS_MAX: usize = 16;
/// By how much the clocks of two writers may disagree: providers give whole seconds, and some writers the end.
const CLOCKS_MS: i64 = 2_000;

/// What tells an answer from all others: its id with what it says, and what it was asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    answer: u64,
    call: Call,
}

/// What tells a call from another with the same answer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Call {
    /// `None` for a record without a prompt.
    prompt: Option<u64>,
    writer: Format,
    /// `None` where the record is known by the id of the answer.
    id: Option<u64>,
    begin_ms: Option<i64>,
    latency_ms: i64,
}

impl Mark {
    /// The mark of a record; `None` when its answer has no id of the provider.
    pub fn of(record: &Record<'_>) -> Option<Mark> {
        let id = record.response_id.as_deref()?;
        if record.kind != Kind::Llm || matches!(record.format.container, Container::NATIVE | Container::NORMAL) {
            return None;
        }
        let mut answer = hash::combine(hash::name(id), hash::name(record.response.as_deref().unwrap_or_default()));
        for call in &record.tool_calls {
            answer = hash::combine(answer, hash::combine(hash::name(&call.name), call.args.canonical_hash()));
        }
        let span = record.span.as_ref().and_then(|span| span.id.as_deref());
        let own = span.or_else(|| record.id.as_deref().filter(|own| *own != id));
        let call = Call {
            prompt: record.prompt_hash(),
            writer: record.format,
            id: own.map(hash::name),
            begin_ms: record.timestamp_ms,
            latency_ms: record.latency_ms.unwrap_or_default() as i64,
        };
        Some(Mark { answer, call })
    }
}

impl Call {
    fn is(&self, other: &Call) -> bool {
        // Another question under the same id: a test server, and no duplicate.
        if self.prompt.zip(other.prompt).is_some_and(|(one, other)| one != other) {
            return false;
        }
        let times = self.begin_ms.zip(other.begin_ms);
        if self.writer != other.writer {
            let overlap = |(one, two): (i64, i64)| {
                let (one_ends, two_ends) = (one.saturating_add(self.latency_ms), two.saturating_add(other.latency_ms));
                one <= two_ends.saturating_add(CLOCKS_MS) && two <= one_ends.saturating_add(CLOCKS_MS)
            };
            return times.is_none_or(overlap);
        }
        match self.id.zip(other.id) {
            Some((one, other)) => one == other,
            None => times.is_none_or(|(one, other)| one == other),
        }
    }
}

/// The answers that were seen.
#[derive(Debug)]
pub struct Answers {
    seen: LruCache<u64, VecDeque<Call>>,
}

impl Answers {
    /// No answer was seen yet.
    pub fn new(limits: &Limits) -> Answers {
        let answers = std::num::NonZeroUsize::new(limits.answers_max).unwrap_or(std::num::NonZeroUsize::MIN);
        Answers { seen: LruCache::new(answers) }
    }

    /// Whether an answer was seen before.
    pub fn is_known(&mut self, mark: Mark) -> bool {
        let calls = self.seen.get_or_insert_mut(mark.answer, VecDeque::new);
        if let Some(known) = calls.iter_mut().find(|known| known.is(&mark.call)) {
            known.prompt = known.prompt.or(mark.call.prompt);
            return true;
        }
        if calls.len() == CALLS_MAX {
            calls.pop_front();
        }
        calls.push_back(mark.call);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: Format = Format::of(Container::PAIR);
    const SPAN: Format = Format::of(Container::named("otlp"));

    fn call(prompt: Option<u64>, writer: Format, id: Option<u64>, begin_ms: Option<i64>) -> Call {
        Call { prompt, writer, id, begin_ms, latency_ms: 500 }
    }

    #[test]
    fn the_same_answer_to_the_same_question_is_one() {
        let mut answers = Answers::new(&Limits::default());
        let mark = |answer, prompt| Mark { answer, call: call(prompt, PAIR, None, None) };
        assert!(!answers.is_known(mark(1, None)));
        assert!(answers.is_known(mark(1, Some(5))), "one of the two has no prompt");
        assert!(answers.is_known(mark(1, Some(5))));
        assert!(!answers.is_known(mark(1, Some(6))), "another question");
        assert!(answers.is_known(mark(1, Some(6))));
        assert!(!answers.is_known(mark(2, Some(5))));
    }

    #[test]
    fn a_cached_answer_is_one_of_each_call() {
        for (one, other, expected) in [
            ((PAIR, Some(1), Some(0)), (PAIR, Some(1), Some(0)), true),
            ((PAIR, Some(1), Some(0)), (PAIR, Some(2), Some(0)), false),
            ((PAIR, Some(1), Some(0)), (PAIR, Some(1), Some(9)), true),
            ((PAIR, None, Some(0)), (PAIR, None, Some(9)), false),
            ((PAIR, None, Some(0)), (PAIR, None, None), true),
            ((PAIR, Some(1), Some(0)), (SPAN, Some(2), Some(400)), true),
            ((PAIR, Some(1), Some(0)), (SPAN, Some(2), Some(60_000)), false),
            ((SPAN, Some(1), Some(60_000)), (PAIR, Some(2), Some(0)), false),
            ((PAIR, Some(1), None), (SPAN, Some(2), Some(0)), true),
        ] {
            let mut answers = Answers::new(&Limits::default());
            let mark = |(writer, id, at)| Mark { answer: 1, call: call(Some(5), writer, id, at) };
            assert!(!answers.is_known(mark(one)));
            assert_eq!(answers.is_known(mark(other)), expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn what_is_remembered_of_an_answer_is_bounded() {
        let mut answers = Answers::new(&Limits::default());
        let mut ask = |id| answers.is_known(Mark { answer: 1, call: call(None, PAIR, Some(id), None) });
        assert!((0..=CALLS_MAX as u64).all(|id| !ask(id)));
        assert!(ask(CALLS_MAX as u64));
        assert!(!ask(0), "the oldest was forgotten");
    }
}
