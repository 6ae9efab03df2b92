//! Answers that a log holds twice: exported again, or written by two instruments.
//!
//! Two records hold the same answer when the provider gave both the same id, the texts and calls of the answer are the same,
//! and so are the prompts, unless one of the two has none. The first counts, further ones are merged.
//!
//! **Limits**: `answers_max` answers are remembered, the longest unused go first. Records of our own form are never held
//! to be duplicates: whoever writes one means it.

use lru::LruCache;

use crate::{
    record::{Container, Kind, Record},
    stats::hash,
};

use super::Limits;

/// What tells an answer from all others: its id with what it says, and what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    answer: u64,
    /// `None` for a record without a prompt.
    prompt: Option<u64>,
}

impl Mark {
    /// The mark of a record; `None` when its answer has no id of the provider.
    pub fn of(record: &Record<'_>) -> Option<Mark> {
        let id = record.response_id.as_deref()?;
        if record.kind != Kind::Llm || record.format.container == Container::Native {
            return None;
        }
        let mut answer = hash::combine(hash::name(id), hash::name(record.response.as_deref().unwrap_or_default()));
        for call in &record.tool_calls {
            answer = hash::combine(answer, hash::combine(hash::name(&call.name), call.args.canonical_hash()));
        }
        let texts = record.prompt.texts().map(|(_, text)| hash::name(text));
        Some(Mark { answer, prompt: texts.reduce(hash::combine) })
    }
}

/// The answers that were seen.
#[derive(Debug)]
pub struct Answers {
    seen: LruCache<u64, Option<u64>>,
}

impl Answers {
    /// No answer was seen yet.
    pub fn new(limits: &Limits) -> Answers {
        let answers = std::num::NonZeroUsize::new(limits.answers_max).unwrap_or(std::num::NonZeroUsize::MIN);
        Answers { seen: LruCache::new(answers) }
    }

    /// Whether an answer was seen before.
    pub fn is_known(&mut self, mark: Mark) -> bool {
        match self.seen.get_mut(&mark.answer) {
            Some(prompt) if prompt.is_none() || mark.prompt.is_none() || *prompt == mark.prompt => {
                *prompt = prompt.or(mark.prompt);
                true
            }
            // Another question under the same id: a test server, and no duplicate.
            Some(_) => false,
            None => {
                self.seen.put(mark.answer, mark.prompt);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_answer_to_the_same_question_is_one() {
        let mut answers = Answers::new(&Limits::default());
        let mark = |answer, prompt| Mark { answer, prompt };
        assert!(!answers.is_known(mark(1, None)));
        assert!(answers.is_known(mark(1, Some(5))), "one of the two has no prompt");
        assert!(answers.is_known(mark(1, Some(5))));
        assert!(!answers.is_known(mark(1, Some(6))), "another question");
        assert!(!answers.is_known(mark(2, Some(5))));
    }
}
