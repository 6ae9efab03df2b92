//! Histories that are texts: chats of aider, its log of a model, the Markdown of `llm logs`, and chats that were exported as
//! Markdown.
//!
//! - aider (`.aider.chat.history.md`): `# aider chat started at`, `#### ` before each line of the user, `> ` before what
//!   aider says itself; all else is the answer. Of what aider says, the model and the token counts are read
//! - aider (`--llm-history-file`): `TO LLM` and a time, messages between rules, each line behind its role; `LLM RESPONSE`
//! - aider (`.aider.input.history`): `# ` with a time, and what was typed behind `+`: no answers
//! - `llm logs`: `# ` with a time and an id, `Model: **...**`, `## Prompt`, `## Response`
//! - others: a heading or a bold line that is nothing but the name of who speaks
//!
//! **Source**: Aider-AI/aider `io.py`, `utils.py`; simonw/llm `cli.py`; Cursor's export of chats, `/chat share` of Gemini CLI.
//!
//! **Limits**: a text is read as a whole: how a file is cut into texts is known to the framing. Aider rounds token counts
//! above a thousand, and says no time but that of the beginning. A command of aider that has no answer is no call.

use std::borrow::Cow;

use super::{
    conversation::{self, Frame, Speaker, message},
    transcript,
};
use crate::record::{
    Container,
    call::{Call, Entries, Outcome},
    json::{Json, Number},
};

const AIDER: Container = Container::named("aider");
const LLM: Container = Container::named("llm");
const MARKDOWN: Container = Container::named("markdown");

/// How aider begins a chat.
pub(crate) const AIDER_CHAT: &str = "# aider chat started at ";
/// How aider begins what it says to a model.
pub(crate) const AIDER_CALL: &str = "TO LLM ";
/// How aider begins each line of the user.
const AIDER_USER: &str = "#### ";

/// Reads a text of several lines; `None` when it is no history that is known.
pub(crate) fn read(text: &str) -> Option<Vec<Outcome<'static>>> {
    let mut entries = Entries::default();
    let is_short = !text.contains('\n');
    if text.starts_with(AIDER_CHAT) || (text.starts_with(AIDER_USER) && !is_short) {
        aider_chat(text, &mut entries);
    } else if is_short {
        return None;
    } else if is_typed(text) {
        entries.skipped(AIDER, "what a user typed, without an answer");
    } else if text.starts_with(AIDER_CALL) {
        aider_calls(text, &mut entries);
    } else if text.starts_with("# ") && text.contains("\n## Prompt") && text.contains("\n## Response") {
        llm_logs(text, &mut entries);
    } else if let Some(messages) = transcript::messages(text).or_else(|| by_headings(text)) {
        conversation::push(messages, Frame { container: MARKDOWN, ..Frame::default() }, &mut entries);
    } else {
        return None;
    }
    Some(entries.list)
}

/// Whether a text is what a user typed at a prompt: a time, and lines behind `+`.
fn is_typed(text: &str) -> bool {
    let Some((head, lines)) = text.split_once('\n') else { return false };
    let is_time = head.strip_prefix("# ").is_some_and(|time| time.parse::<jiff::civil::DateTime>().is_ok());
    is_time && lines.lines().all(|line| line.starts_with('+') || line.trim().is_empty())
}

fn string(text: &str) -> Json<'static> {
    Json::String(text.trim().to_owned().into())
}

/// A chat of aider, as far as it was read.
#[derive(Default)]
struct Chat {
    started: Option<String>,
    model: Option<String>,
    asked: Vec<String>,
    answer: String,
    tokens: Option<[Json<'static>; 2]>,
}

/// Reads chats of aider.
fn aider_chat(text: &str, entries: &mut Entries<'static>) {
    let mut chat = Chat::default();
    let mut was_user = false;
    let mut is_code = false;
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence && !chat.asked.is_empty();
        if let Some(started) = line.strip_prefix(AIDER_CHAT) {
            chat.close(entries);
            (chat.started, is_code) = (Some(started.trim().to_owned()), false);
        } else if let Some(said) = line.strip_prefix("####").filter(|said| said.is_empty() || said.starts_with(' ')) {
            if !was_user {
                chat.close(entries);
                is_code = false;
            }
            chat.asked.push(said.trim().to_owned());
            was_user = true;
            continue;
        } else if let Some(said) = line.strip_prefix('>').filter(|_| !is_code) {
            chat.hear(said.trim());
        } else if !chat.asked.is_empty() {
            chat.answer.push_str(line);
            chat.answer.push('\n');
        }
        was_user = was_user && line.trim().is_empty() && chat.answer.trim().is_empty();
    }
    chat.close(entries);
    if entries.list.is_empty() {
        entries.skipped(AIDER, "a chat without a question");
    }
}

impl Chat {
    /// Takes what aider says itself.
    fn hear(&mut self, said: &str) {
        const MODELS: [&str; 3] = ["Main model: ", "Model: ", "Models: "];
        if let Some(rest) = MODELS.iter().find_map(|mark| said.strip_prefix(mark)) {
            self.model = rest.split_whitespace().next().map(str::to_owned);
        }
        if let Some(rest) = said.strip_prefix("Tokens: ") {
            let count = |what: &str| {
                let counted = rest
                    .split(", ")
                    .find_map(|part| part.trim().split('.').next().zip(part.find(what)).map(|_| part))?;
                rounded(counted.split_whitespace().next()?)
            };
            if let (Some(sent), Some(received)) = (count(" sent"), count(" received")) {
                self.tokens = Some([sent, received]);
            }
        }
    }

    /// The call of what was asked last.
    fn close(&mut self, entries: &mut Entries<'static>) {
        let (asked, answer, tokens) =
            (std::mem::take(&mut self.asked), std::mem::take(&mut self.answer), self.tokens.take());
        let asked = asked.join("\n");
        let answer = answer.trim();
        if asked.is_empty() {
            return;
        }
        if answer.is_empty() && tokens.is_none() && asked.starts_with('/') {
            return entries.skipped(AIDER, "a command of the user");
        }
        let mut call = Call::llm(AIDER);
        call.record.session_id = self.started.clone().map(Cow::Owned);
        call.requested = self.model.clone().map(Cow::Owned);
        call.ask(Some(string(&asked)));
        match answer.is_empty() {
            true => call.record.notes.add(crate::record::Note::Unanswered),
            // What a model says in JSON is a text all the same.
            false => call.record.response = Some(answer.to_owned().into()),
        }
        if let Some([sent, received]) = tokens {
            call.tokens(Some(&sent), Some(&received));
        }
        entries.push(Ok(call.finish()));
    }
}

/// A count as aider writes it: `30`, `1,234`, `1.2k`.
fn rounded(text: &str) -> Option<Json<'static>> {
    let plain = text.replace(',', "");
    let count = match plain.strip_suffix('k') {
        Some(thousands) => thousands.parse::<f64>().ok()? * 1e3,
        None => plain.parse::<f64>().ok()?,
    };
    (count.is_finite() && count >= 0.0).then(|| Json::Number(Number::Unsigned(count.round() as u64)))
}

/// Reads what aider says to a model, and hears of it.
fn aider_calls(text: &str, entries: &mut Entries<'static>) {
    const ANSWER: &str = "LLM RESPONSE ";
    let mut asked: Vec<Json<'static>> = Vec::new();
    let mut at: Option<&str> = None;
    let blocks = text.split('\n').fold(Vec::<Vec<&str>>::new(), |mut blocks, line| {
        if line.starts_with(AIDER_CALL) || line.starts_with(ANSWER) || blocks.is_empty() {
            blocks.push(Vec::new());
        }
        if let Some(block) = blocks.last_mut() {
            block.push(line);
        }
        blocks
    });
    for block in blocks {
        let Some((head, lines)) = block.split_first() else { continue };
        if let Some(time) = head.strip_prefix(AIDER_CALL) {
            (asked, at) = (of_roles(lines), Some(time.trim()));
            continue;
        }
        let Some(end) = head.strip_prefix(ANSWER) else { continue };
        let mut call = Call::llm(AIDER);
        call.times(at.map(string), Some(string(end)), None);
        call.ask(Some(Json::Array(std::mem::take(&mut asked))));
        let answers = of_roles(lines);
        let said = answers.last().and_then(|said| said.get("content")?.as_str().map(str::to_owned));
        call.record.response = said.map(Into::into);
        entries.push(Ok(call.finish()));
    }
    if !asked.is_empty() {
        let mut call = Call::llm(AIDER);
        call.times(at.map(string), None, None);
        call.ask(Some(Json::Array(asked)));
        call.record.notes.add(crate::record::Note::Unanswered);
        entries.push(Ok(call.finish()));
    }
}

/// Messages of which each line stands behind the role, with rules between them.
fn of_roles(lines: &[&str]) -> Vec<Json<'static>> {
    let mut turns: Vec<(Speaker, String)> = Vec::new();
    let mut is_begun = false;
    for line in lines {
        if line.starts_with("-------") {
            is_begun = false;
            continue;
        }
        let (role, said) = line.split_once(' ').unwrap_or((line, ""));
        let Some(speaker) = Speaker::named(role).filter(|_| role.chars().all(|c| c.is_ascii_uppercase())) else {
            continue;
        };
        match turns.last_mut().filter(|(last, _)| is_begun && *last == speaker) {
            Some((_, text)) => {
                text.push('\n');
                text.push_str(said);
            }
            None => turns.push((speaker, said.to_owned())),
        }
        is_begun = true;
    }
    turns.into_iter().map(|(speaker, text)| message(speaker, Some(string(&text)), [])).collect()
}

/// Reads the Markdown of `llm logs`.
fn llm_logs(text: &str, entries: &mut Entries<'static>) {
    let is_head = |line: &str| {
        line.strip_prefix("# ").is_some_and(|rest| rest.len() > 18 && rest.as_bytes()[4] == b'-' && rest.contains('T'))
    };
    let mut heads: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        match (is_head(line), heads.last_mut()) {
            (true, _) => heads.push((line, Vec::new())),
            (false, Some((_, lines))) => lines.push(line),
            (false, None) => {}
        }
    }
    for (head, lines) in heads {
        let mut words = head[2..].split_whitespace();
        let at = words.next();
        let named: Vec<&str> = words.collect();
        let after = |key: &str| {
            named.iter().position(|word| *word == key).and_then(|at| named.get(at + 1)).map(|name| (*name).to_owned())
        };
        let mut call = Call::llm(LLM);
        call.times(at.map(string), None, None);
        call.record.session_id = after("conversation:").map(Cow::Owned);
        call.record.id = after("id:").map(Cow::Owned);
        let model = lines.iter().find_map(|line| line.strip_prefix("Model: **")?.split("**").next());
        call.requested = model.map(|model| Cow::Owned(model.to_owned()));
        let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
        const SECTIONS: [&str; 6] = ["Prompt", "System", "Response", "Reasoning", "Token usage", "Prompt fragments"];
        for line in lines {
            let name =
                line.strip_prefix("## ").map(|name| name.trim_end_matches(':')).filter(|name| SECTIONS.contains(name));
            match (name, sections.last_mut()) {
                (Some(name), _) => sections.push((name, Vec::new())),
                (None, Some((_, lines))) => lines.push(line),
                (None, None) => {}
            }
        }
        for (name, lines) in sections {
            let said = lines.join("\n");
            let said = said.trim();
            match name {
                "Prompt" => call.ask(Some(string(said))),
                "System" => call.record.system = Some(said.to_owned().into()),
                "Response" => call.record.response = Some(said.to_owned().into()),
                "Token usage" => {
                    let count = |what: &str| {
                        let part = said.split(", ").find(|part| part.contains(what))?;
                        rounded(part.split_whitespace().next()?)
                    };
                    call.tokens(count("input").as_ref(), count("output").as_ref());
                }
                _ => {}
            }
        }
        entries.push(Ok(call.finish()));
    }
    if entries.list.is_empty() {
        entries.skipped(LLM, "a log without a call");
    }
}

/// The messages of a Markdown in which headings, or bold lines, name who speaks.
fn by_headings(text: &str) -> Option<Vec<Json<'static>>> {
    let is_title = text.starts_with('#') || text.starts_with("**") || text.starts_with("_**");
    if !is_title {
        return None;
    }
    let mut turns: Vec<(Speaker, Vec<&str>)> = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let speaker = if is_code { None } else { named(line) };
        match (speaker, turns.last_mut()) {
            (Some(speaker), _) => turns.push((speaker, Vec::new())),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => {}
        }
    }
    let has = |speaker: Speaker| turns.iter().any(|(of, _)| *of == speaker);
    if !has(Speaker::User) || !has(Speaker::Model) {
        return None;
    }
    let of = |(speaker, lines): (Speaker, Vec<&str>)| {
        let said = lines.join("\n");
        // A rule between two messages is part of neither.
        let said = said.trim().trim_end_matches("---").trim();
        (!said.is_empty()).then(|| message(speaker, Some(string(said)), []))
    };
    Some(turns.into_iter().filter_map(of).collect())
}

/// Who speaks after a line that is nothing but a name.
fn named(line: &str) -> Option<Speaker> {
    const NAME_BYTES_MAX: usize = 48;
    let line = line.trim();
    if line.len() > NAME_BYTES_MAX || !line.starts_with(['#', '*', '_']) {
        return None;
    }
    let is_mark = |c: char| matches!(c, '#' | '*' | '_' | ':' | ' ') || !c.is_ascii();
    let name = line.trim_matches(is_mark);
    match Speaker::named(name) {
        Some(Speaker::Client | Speaker::Tool) | None => None,
        speaker => speaker,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Entry, values};

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) -> Vec<Outcome<'static>> {
        let entries = read(text).unwrap_or_default();
        let shown: Vec<(String, String)> = entries
            .iter()
            .filter_map(|entry| entry.as_ref().ok().and_then(Entry::as_record))
            .map(|record| {
                let asked: Vec<&str> = record.prompt.texts().map(|(_, text)| text).collect();
                (asked.join("|"), record.response.clone().unwrap_or_default().into_owned())
            })
            .collect();
        let shown: Vec<(&str, &str)> = shown.iter().map(|(asked, said)| (&**asked, &**said)).collect();
        assert_eq!(shown, expected, "{text}");
        entries
    }

    #[test]
    fn chats_of_aider() {
        let chat = "# aider chat started at 2026-01-05 15:06:00\n\n> /usr/bin/aider\n> Main model: gpt-4o with diff edit format\n\n\
            #### Add a test\n#### for x\n\nSure.\n\n```\n> quoted\n{\"a\": 1}\n```\n\n> Tokens: 1.2k sent, 30 received. Cost: $0.01\n\
            > Applied edit to x.py\n\n#### /exit\n";
        let entries = check(chat, &[("Add a test\nfor x", "Sure.\n\n```\n> quoted\n{\"a\": 1}\n```")]);
        let record = entries[0].as_ref().ok().and_then(Entry::as_record).unwrap();
        assert_eq!(
            (record.model.as_deref(), record.prompt_tokens, record.response_tokens),
            (Some("gpt-4o"), Some(1200), Some(30))
        );
        assert!(matches!(entries[1], Ok(Entry::Ignored(_))));
        check("#### And now?\n\nNothing.", &[("And now?", "Nothing.")]);
        check("#### Nobody answers\n\n> error", &[("Nobody answers", "")]);
        assert!(read("#### a heading").is_none());
    }

    #[test]
    fn what_aider_says_to_a_model() {
        let log = "TO LLM 2026-01-05T15:06:00\n-------\nSYSTEM Be brief.\nSYSTEM Be kind.\n-------\nUSER Hi\nUSER there\n\
            LLM RESPONSE 2026-01-05T15:06:02\nASSISTANT Hello.\nASSISTANT\nASSISTANT Bye.\n";
        let entries = check(log, &[("Hi\nthere", "Hello.\n\nBye.")]);
        let record = entries[0].as_ref().ok().and_then(Entry::as_record).unwrap();
        assert_eq!((record.system.as_deref(), record.latency_ms), (Some("Be brief.\nBe kind."), Some(2000.0)));
    }

    #[test]
    fn logs_of_llm() {
        let log = "# 2026-01-05T15:06:00    conversation: 01h id: 02h\n\nModel: **gpt-4o**\n\n## Prompt\n\nHi\n\n## Response\n\n\
            ## A heading\n\nHello.\n\n## Token usage\n\n10 input, 5 output\n";
        let entries = check(log, &[("Hi", "## A heading\n\nHello.")]);
        let record = entries[0].as_ref().ok().and_then(Entry::as_record).unwrap();
        assert_eq!(
            (record.model.as_deref(), record.session_id.as_deref(), record.prompt_tokens),
            (Some("gpt-4o"), Some("01h"), Some(10))
        );
    }

    #[test]
    fn chats_in_markdown() {
        check("# A chat\n_Exported_\n\n---\n\n**User**\n\nHi\n\n---\n\n**Cursor**\n\nHello.\n", &[("Hi", "Hello.")]);
        check("## USER 🧑\u{200d}💻\n\nHi\n\n---\n\n## MODEL ✨\n\nHello.", &[("Hi", "Hello.")]);
        for text in ["# A page\n\nText.", "# Guide\n\n## User\n\nHow to.", "plain\ntext"] {
            assert!(read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn counts_as_aider_writes_them() {
        for (text, expected) in [("30", Some(30)), ("1,234", Some(1234)), ("1.2k", Some(1200)), ("many", None)] {
            assert_eq!(rounded(text).and_then(|count| values::count(&count).ok()), expected, "{text}");
        }
    }
}
