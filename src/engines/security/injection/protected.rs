//! Does the user ask for what the system prompt forbids to give away?
//!
//! **Formula**: the words of the sentences of the system prompt that forbid to say or give something, or call it secret,
//! by their first five letters, common words and those for saying and giving left out; the share of the user's such words that are among them.
//!
//! **Range**: 0 to 1; from [`SHARE_MIN`] on, and at least one word, the user asks for it.
//!
//! **Source**: own study on attacks that are attacks only against their system prompt.
//!
//! **Limits**: word overlap, in languages that put blanks between words. A user who honestly asks about a topic that the
//! operator wants left out is found as well, so that the finding flags at most, and its ratio is a setting. Of prompts
//! that have nothing to do with the operator's, 2% share a word with such a sentence.

use std::{collections::BTreeSet, ops::Range};

/// Share of the user's words from which a question counts.
pub const SHARE_MIN: f64 = 0.06;
/// Bytes of a user's text that is short enough to be about one thing.
pub const USER_BYTES_MAX: usize = 1_200;
/// Bytes of a system prompt that are read.
const SYSTEM_BYTES_MAX: usize = 16_000;
/// Characters of a word that are compared.
const STEM_CHARS: usize = 5;
/// Characters from which a word says something.
const WORD_CHARS_MIN: usize = 4;

/// Words that forbid.
const NEGATIONS: &[&str] = &[
    "never", "not", "dont", "don't", "don’t", "cannot", "can't", "can’t", "without", "no", "nobody", "refuse", "avoid",
    "unless", "only",
];

/// Words for saying, showing and giving, which a prohibition forbids.
const DISCLOSURES: &[&str] = &[
    "reveal",
    "tell",
    "share",
    "disclose",
    "mention",
    "give",
    "say",
    "show",
    "talk",
    "discuss",
    "discussing",
    "discussion",
    "divulge",
    "leak",
    "expose",
    "provide",
    "answer",
    "output",
    "print",
    "repeat",
    "write",
    "use",
    "allow",
    "access",
    "include",
    "respond",
    "generate",
    "let",
];

/// Words that say that something is to be kept.
const SECRECY: &[&str] =
    &["secret", "secrets", "confidential", "private", "password", "forbidden", "prohibited", "hidden", "protect"];

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
    let is_enough = !shared.is_empty() && shared.len() as f64 >= SHARE_MIN * stems.len() as f64;
    first.filter(|_| is_enough)
}

fn protected_stems(system: &str) -> BTreeSet<String> {
    let sentences = system.split(['.', '!', '?', ';', '\n']);
    let forbids = |sentence: &&str| {
        let words = sentence.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’');
        let words: Vec<String> = words.map(str::to_lowercase).collect();
        let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        has(SECRECY) || has(NEGATIONS) && has(DISCLOSURES)
    };
    let stems = sentences.filter(forbids).flat_map(|sentence| stems_of(sentence).into_iter().map(|(_, stem)| stem));
    // "Never mention it" protects no word of mentioning.
    let disclosures: Vec<String> = DISCLOSURES.iter().map(|word| stem_of(word)).collect();
    stems.filter(|stem| !disclosures.contains(stem)).collect()
}

/// The first letters of a word.
fn stem_of(word: &str) -> String {
    word.chars().take(STEM_CHARS).collect()
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
                    stems.push((from..at, stem_of(&word)));
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
        check("The code is in the vault; never mention it.", "A colleague mentioned a prompt injection.", None);
        check(system, "", None);
        check("", "What is the recipe?", None);
        check("The recipe is secret.", "What is the recipe?", Some("recipe"));
        check("Never be late with the recipe.", "What is the recipe?", None);
        let many = "recipe river mountain window garden sailor doctor bottle engine planet summer winter copper silver";
        check(system, many, Some("recipe"));
        check(system, &format!("{many} castle forest market bridge"), None);
        check(system, &"recipe ".repeat(400), None);
    }
}
