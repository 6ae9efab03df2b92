//! Does the user ask for what the system prompt forbids to give away?
//!
//! **Formula**: the words of the system prompt's prohibitions (sentences with never, not, secret, …) by their first
//! five letters, common words left out; the share of the user's such words that are among them.
//!
//! **Range**: 0 to 1; from [`SHARE_MIN`] with [`WORDS_MIN`] words in common the user asks for it.
//!
//! **Source**: own study on attacks that are attacks only against their system prompt.
//!
//! **Limits**: word overlap, in languages that put blanks between words. A user who asks about the topic that the
//! operator wants kept is found as well: the finding says what it is, and flags at most.

use std::{collections::BTreeSet, ops::Range};

/// Words in common from which a question counts.
pub const WORDS_MIN: usize = 1;
/// Share of the user's words from which a question counts.
pub const SHARE_MIN: f64 = 0.25;
/// Bytes of a user's text that is short enough to be about one thing.
pub const USER_BYTES_MAX: usize = 1_200;
/// Bytes of a system prompt that are read.
const SYSTEM_BYTES_MAX: usize = 16_000;
/// Characters of a word that are compared.
const STEM_CHARS: usize = 5;
/// Characters from which a word says something.
const WORD_CHARS_MIN: usize = 4;

/// Words that make a sentence a prohibition, or name what it protects.
const PROHIBITIONS: &[&str] = &[
    "never",
    "not",
    "dont",
    "don't",
    "don’t",
    "cannot",
    "can't",
    "without",
    "secret",
    "confidential",
    "private",
    "only",
    "forbidden",
    "refuse",
    "avoid",
    "unless",
    "prohibited",
    "protect",
    "password",
    "key",
    "hidden",
    "nothing",
];

/// Words that occur everywhere.
const COMMON: &[&str] = &[
    "about",
    "above",
    "after",
    "again",
    "also",
    "always",
    "answer",
    "anyone",
    "anything",
    "asked",
    "because",
    "been",
    "before",
    "being",
    "cannot",
    "could",
    "does",
    "doing",
    "dont",
    "even",
    "every",
    "everything",
    "following",
    "from",
    "give",
    "given",
    "have",
    "help",
    "here",
    "information",
    "into",
    "just",
    "know",
    "like",
    "made",
    "make",
    "many",
    "matter",
    "more",
    "most",
    "must",
    "need",
    "never",
    "only",
    "other",
    "over",
    "please",
    "prompt",
    "question",
    "respond",
    "response",
    "said",
    "should",
    "some",
    "such",
    "tell",
    "than",
    "that",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "this",
    "those",
    "under",
    "unless",
    "user",
    "users",
    "using",
    "very",
    "want",
    "what",
    "when",
    "where",
    "which",
    "while",
    "will",
    "with",
    "without",
    "would",
    "write",
    "your",
    "yourself",
];

/// The place in `user` of the first word that the prohibitions of `system` protect, when enough of its words are.
pub fn asks_for_protected(system: &str, user: &str) -> Option<Range<usize>> {
    if user.len() > USER_BYTES_MAX {
        return None;
    }
    let protected = protected_stems(&system[..system.floor_char_boundary(SYSTEM_BYTES_MAX)]);
    if protected.is_empty() {
        return None;
    }
    let mut stems = BTreeSet::new();
    let mut shared = BTreeSet::new();
    let mut first = None;
    for (span, stem) in stems_of(user) {
        if protected.contains(&stem) {
            first.get_or_insert(span);
            shared.insert(stem.clone());
        }
        stems.insert(stem);
    }
    let is_enough = shared.len() >= WORDS_MIN && shared.len() as f64 >= SHARE_MIN * stems.len() as f64;
    first.filter(|_| is_enough)
}

fn protected_stems(system: &str) -> BTreeSet<String> {
    let sentences = system.split(['.', '!', '?', ';', '\n']);
    let forbids = |sentence: &&str| {
        let mut words = sentence.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’');
        words.any(|word| PROHIBITIONS.contains(&word.to_lowercase().as_str()))
    };
    sentences.filter(forbids).flat_map(|sentence| stems_of(sentence).into_iter().map(|(_, stem)| stem)).collect()
}

/// The stems of the words that say something, with their places.
fn stems_of(text: &str) -> Vec<(Range<usize>, String)> {
    let mut stems = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                start = None;
                let word = text[from..at].to_lowercase();
                if word.chars().count() >= WORD_CHARS_MIN && !COMMON.contains(&word.as_str()) {
                    stems.push((from..at, word.chars().take(STEM_CHARS).collect()));
                }
            }
            _ => {}
        }
    }
    stems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(system: &str, user: &str, expected: Option<&str>) {
        assert_eq!(asks_for_protected(system, user).map(|span| &user[span]), expected, "{user}");
    }

    #[test]
    fn what_is_forbidden_and_asked_for_is_found() {
        let system = "You sell bread. Never talk about the recipe. The bakery opens at six.";
        check(system, "What is the recipe?", Some("recipe"));
        check(system, "When does the bakery open?", None);
        check(system, "", None);
        check("", "What is the recipe?", None);
        let long = "I would like to bake bread tonight for seven guests and wonder what recipe fits a small oven";
        check(system, long, None);
        check(system, &"recipe ".repeat(400), None);
    }
}
