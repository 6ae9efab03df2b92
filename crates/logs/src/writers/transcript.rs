//! Conversations that are one text: who speaks stands at the beginning of what is said.
//!
//! - `Human:` and `Assistant:` at the beginning of a line, also `### Human:`, `USER:`, `User:`, `Bot:`, `AI:`
//! - templates of chat models: `<|im_start|>user`, `<|user|>`, `[INST]` and `[/INST]`, `<start_of_turn>user`
//! - `### Instruction:`, `### Input:`, `### Response:`
//!
//! A text is a conversation when it begins with a speaker, and the model speaks in it.
//!
//! **Limits**: who quotes a conversation in a conversation has its speakers taken for his own.

use std::{borrow::Cow, ops::Range};

use super::conversation::Speaker;
use crate::record::json::Json;

/// Tokens that begin what somebody says, and those that end it.
const MARKS: [(&str, Option<Speaker>); 17] = [
    ("<|im_start|>system", Some(Speaker::System)),
    ("<|im_start|>user", Some(Speaker::User)),
    ("<|im_start|>assistant", Some(Speaker::Model)),
    ("<|im_end|>", None),
    ("<|start_header_id|>system<|end_header_id|>", Some(Speaker::System)),
    ("<|start_header_id|>user<|end_header_id|>", Some(Speaker::User)),
    ("<|start_header_id|>assistant<|end_header_id|>", Some(Speaker::Model)),
    ("<|eot_id|>", None),
    ("<|system|>", Some(Speaker::System)),
    ("<|user|>", Some(Speaker::User)),
    ("<|assistant|>", Some(Speaker::Model)),
    ("<start_of_turn>user", Some(Speaker::User)),
    ("<start_of_turn>model", Some(Speaker::Model)),
    ("<end_of_turn>", None),
    ("[INST]", Some(Speaker::User)),
    ("[/INST]", Some(Speaker::Model)),
    ("<|endoftext|>", None),
];

/// Names that speak at the beginning of a line, before a colon.
const NAMES: [(&str, Speaker); 13] = [
    ("Human", Speaker::User),
    ("USER", Speaker::User),
    ("User", Speaker::User),
    ("Prompter", Speaker::User),
    ("Instruction", Speaker::User),
    ("Input", Speaker::User),
    ("Assistant", Speaker::Model),
    ("ASSISTANT", Speaker::Model),
    ("Response", Speaker::Model),
    ("Bot", Speaker::Model),
    ("AI", Speaker::Model),
    ("System", Speaker::System),
    ("SYSTEM", Speaker::System),
];

/// Blocks that a text may have.
const TURNS_MAX: usize = 4_096;

/// The messages of a text, when it is a conversation.
pub(super) fn messages(text: &str) -> Option<Vec<Json<'static>>> {
    let turns = by_marks(text).or_else(|| by_names(text))?;
    let messages = turns.into_iter().map(|(speaker, text)| {
        let entries = [("role", speaker.role()), ("content", text)];
        Json::Object(
            entries
                .map(|(key, value)| (Cow::Borrowed(key), Json::String(value.to_owned().into())))
                .into_iter()
                .collect(),
        )
    });
    Some(messages.collect())
}

type Turn<'t> = (Speaker, &'t str);

/// The turns between tokens of a template.
fn by_marks(text: &str) -> Option<Vec<Turn<'_>>> {
    let head = text.trim_start().trim_start_matches("<s>").trim_start_matches("<|begin_of_text|>").trim_start();
    MARKS.iter().find(|(mark, speaker)| speaker.is_some() && head.starts_with(mark))?;
    let mut turns: Vec<Turn<'_>> = Vec::new();
    let (mut from, mut speaker) = (0, None);
    let brackets = head.match_indices(['<', '[']).map(|(at, _)| at);
    let mut close = |range: Range<usize>, speaker: Option<Speaker>| {
        let said = head.get(range).unwrap_or_default().trim();
        let said = said.trim_end_matches("<s>").trim_end().trim_end_matches("</s>").trim_end();
        turns.extend(speaker.filter(|_| !said.is_empty()).map(|speaker| (speaker, said)));
        turns.len() < TURNS_MAX
    };
    for at in brackets {
        let Some((mark, who)) = MARKS.iter().find(|(mark, _)| head[at..].starts_with(mark)) else { continue };
        if !close(from..at, speaker) {
            return None;
        }
        (from, speaker) = (at + mark.len(), *who);
    }
    close(from..head.len(), speaker);
    turns.iter().any(|(speaker, _)| *speaker == Speaker::Model).then_some(turns)
}

/// The turns that begin with a name and a colon.
fn by_names(text: &str) -> Option<Vec<Turn<'_>>> {
    let head = text.trim_start();
    let has_rule = head.starts_with("###");
    named(head, has_rule)?;
    let mut turns: Vec<Turn<'_>> = Vec::new();
    let mut begun: Option<(Speaker, usize)> = None;
    let mut at = 0;
    // With rules, names may also stand in the middle of a line.
    let mut starts = vec![0];
    match has_rule {
        true => starts.extend(head.match_indices("###").map(|(at, _)| at).skip(1)),
        false => starts.extend(head.match_indices('\n').map(|(at, _)| at + 1)),
    }
    for start in starts {
        let Some((speaker, length)) = named(&head[start..], has_rule) else { continue };
        if let Some((speaker, from)) = begun {
            turns.push((speaker, head[from..start].trim()));
        }
        at = start + length;
        begun = Some((speaker, at));
        if turns.len() >= TURNS_MAX {
            return None;
        }
    }
    let (speaker, from) = begun?;
    turns.push((speaker, head[from.min(head.len()).max(at)..].trim()));
    let has_answer = turns.iter().any(|(speaker, _)| *speaker == Speaker::Model);
    // A model that speaks first and alone is a label of something, and no conversation.
    let has_question = turns.iter().any(|(speaker, text)| *speaker == Speaker::User && !text.is_empty());
    let turns = turns.into_iter().filter(|(_, text)| !text.is_empty()).collect();
    (has_answer && has_question).then_some(turns)
}

/// Who speaks at the beginning of a text, and how many bytes say so.
fn named(text: &str, has_rule: bool) -> Option<(Speaker, usize)> {
    let name = match has_rule {
        true => text.strip_prefix("###")?.trim_start(),
        false => text,
    };
    let (name, speaker) = NAMES.iter().find_map(|(known, speaker)| {
        let rest = name.strip_prefix(known)?.strip_prefix(':')?;
        Some((rest, *speaker))
    })?;
    Some((speaker, text.len() - name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let shown: Vec<String> = messages(text)
            .unwrap_or_default()
            .iter()
            .map(|message| {
                let of = |key| message.get(key).and_then(Json::as_str).unwrap().to_owned();
                format!("{}: {}", of("role"), of("content"))
            })
            .collect();
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn texts_that_are_conversations() {
        check("\n\nHuman: Hi\nthere\n\nAssistant: Hello.", &["user: Hi\nthere", "assistant: Hello."]);
        check("### Human: Hi### Assistant: Hello.### Human: Bye", &["user: Hi", "assistant: Hello.", "user: Bye"]);
        check(
            "SYSTEM: Be brief.\nUSER: Hi\n\n\nASSISTANT: Hello.",
            &["system: Be brief.", "user: Hi", "assistant: Hello."],
        );
        check(
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>",
            &["system: Be brief.", "user: Hi", "assistant: Hello."],
        );
        check("<s>[INST] Hi [/INST] Hello. </s><s>[INST] Bye [/INST]", &["user: Hi", "assistant: Hello.", "user: Bye"]);
        check(
            "### Instruction:\nAdd.\n\n### Input:\n1 2\n\n### Response:\n3",
            &["user: Add.", "user: 1 2", "assistant: 3"],
        );
        for text in ["", "Hello.", "Note: Human: Hi", "Human: Hi", "AI: a label", "Human rights: what Assistant: means"]
        {
            check(text, &[]);
        }
    }
}
