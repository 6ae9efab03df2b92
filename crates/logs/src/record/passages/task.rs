//! What is asked beside the material, and what material is none.

use super::{
    Prompt, Record, Slot,
    find::{Extent, is_instruction, is_of_task},
    handing::{Role, handing},
    kept,
    lines::{self, Kind, Label},
    text_of,
    words::{
        AHEAD, ANSWER, ASKS, CHANGES, EDITS, GIVEN, HANDED, LEADS, MAKES, MATERIAL, OWN, PART, POLITE, QUESTION,
        RESTING, RESULTS, SITUATION, THE, THIS, count, words,
    },
};

/// Bytes at each end of a text in which the task is looked for.
const TASK_BYTES: usize = 3_000;
/// Lines of material by which it is told what it is.
const LINES_MAX: usize = 40;
/// Share of lines of instructions from which on material is none.
const ORDERS_SHARE: f64 = 0.34;
/// Share of lines of code from which on material is code.
const CODE_SHARE: f64 = 0.34;
/// Of so many bytes of code one is a bracket or an operator; of prose one of a hundred is.
const SIGNS_PER_BYTES: usize = 10;
/// Share of words about oneself from which on material is one's own situation.
const OWN_SHARE: f64 = 0.04;
/// Words by which it is told who speaks.
const OWN_WORDS_MAX: usize = 200;

/// What is asked of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Task {
    /// Something is asked that material can answer.
    pub(super) asks: bool,
    /// A sentence speaks of the material.
    pub(super) refers: bool,
    /// A sentence hands documents over as programs do: `the following pieces of context`, `the provided documents`.
    pub(super) hands: bool,
    /// A sentence says that the answer rests on documents: `answer from the context`.
    pub(super) rests: bool,
    /// The prompt ends with a place for the answer, as people do not write it.
    pub(super) leaves_room: bool,
    /// The material is to be changed, or something new is to be made.
    pub(super) changes: bool,
}

impl Task {
    /// The task of a record, of which `cuts` is the material.
    pub(super) fn of(record: &Record<'_>, cuts: &[(Slot, Vec<Extent>)]) -> Task {
        let mut task = Task::default();
        let mut slots = vec![Slot::System];
        match &record.prompt {
            Prompt::Absent => {}
            Prompt::Text(_) => slots.push(Slot::Prompt),
            Prompt::Messages(messages) => {
                // The first that speaks, and the last: what stands between is history.
                let said = |role: &str| messages.iter().position(|message| message.role == role).map(Slot::Message);
                slots.extend(said("system").or_else(|| said("developer")));
                slots.extend(messages.iter().rposition(|message| message.role == "user").map(Slot::Message));
                slots.extend(cuts.iter().map(|(slot, _)| *slot).filter(|slot| matches!(slot, Slot::Message(_))));
                slots.dedup();
            }
        }
        for slot in slots {
            let text = text_of(record, slot);
            let extents = cuts.iter().find(|(own, _)| *own == slot).map_or(&[][..], |(_, extents)| extents);
            let spans = kept(text, extents);
            let is_operator = slot == Slot::System;
            // What the user says beside a system prompt with documents is the question, however it is put.
            let has_documents_elsewhere = extents.is_empty() && !is_operator && !cuts.is_empty();
            task.asks |= has_documents_elsewhere && !text.trim().is_empty();
            for span in spans {
                task.read(&text[span]);
            }
        }
        task
    }

    /// Whether a program filled the prompt in, by its sentences.
    pub(super) fn is_filled_in(&self) -> bool {
        self.hands || self.rests
    }

    fn read(&mut self, text: &str) {
        if text.len() <= 2 * TASK_BYTES {
            self.read_part(text);
        } else {
            self.read_part(&text[..text.floor_char_boundary(TASK_BYTES)]);
            self.read_part(&text[text.ceil_char_boundary(text.len() - TASK_BYTES)..]);
        }
    }

    fn read_part(&mut self, text: &str) {
        for line in lines::lines_of_prompt(text) {
            match lines::kind(text, &line) {
                Kind::Heading { label: Label::Question, .. } => self.asks = true,
                Kind::Heading { label: Label::Answer, content, .. } => {
                    self.leaves_room |= text[content..].trim().is_empty();
                }
                _ => {}
            }
            if let Some(said) = handing(text, &line) {
                self.refers = true;
                let is_handed = said.groups & (HANDED | RESULTS) != 0;
                let is_handed = is_handed || (said.asks && (said.uses || said.groups & SITUATION != 0));
                let is_handed_over = said.asks || (said.role == Role::Presents && said.is(AHEAD));
                self.hands |= is_handed && is_handed_over && said.is(AHEAD | GIVEN);
                self.rests |= is_handed && said.asks && said.is(RESTING) && said.is(THE | THIS | GIVEN);
            }
            for sentence in text[line].split_inclusive(['.', '?', '!', ';', '。', '？']) {
                self.read_sentence(sentence);
            }
        }
    }

    fn read_sentence(&mut self, sentence: &str) {
        let sentence = sentence.trim_ascii();
        let (mut all, mut verb) = (0, None);
        for word in words(sentence) {
            all |= word.groups;
            verb = verb.or((!word.is(POLITE)).then_some(word.groups));
        }
        let verb = verb.unwrap_or_default();
        // `You are given a query and a document.` asks for nothing yet.
        let is_given = verb & GIVEN != 0 && !words(sentence).next().is_some_and(|word| word.is(GIVEN));
        if is_given && !sentence.ends_with(['?', '？']) {
            return;
        }
        if verb & CHANGES != 0 || all & EDITS != 0 {
            self.changes = true;
        } else if all & ASKS != 0 || sentence.ends_with(['?', '？']) || verb & LEADS != 0 {
            self.asks = true;
        } else if verb & MAKES != 0 && !tells(sentence, all) {
            self.changes = true;
        }
    }
}

/// Whether what is to be written is the answer, or tells what the material says: `Write a response that completes the
/// request`, `Write a description of the house`.
fn tells(sentence: &str, all: u64) -> bool {
    let answers = all & ANSWER != 0 && all & (QUESTION | PART) != 0;
    let describes = words(sentence).any(|word| word.is(MATERIAL) && !word.is(SITUATION));
    answers || (describes && handing(sentence, &(0..sentence.len())).is_some())
}

/// The lines of the documents by which it is told what they are.
pub(super) fn sample<'t>(text: &'t str, extent: &'t Extent) -> impl Iterator<Item = &'t str> {
    extent
        .documents
        .iter()
        .flat_map(|document| text[document.span.clone()].lines())
        .filter(|line| !line.trim().is_empty())
        .take(LINES_MAX)
}

/// Whether material is code. JSON is none.
pub(super) fn is_code<'t>(lines: impl Iterator<Item = &'t str>) -> bool {
    let (mut code, mut all) = (0_u32, 0_u32);
    for line in lines.map(str::trim).filter(|line| !line.is_empty()).take(LINES_MAX) {
        all += 1;
        code += u32::from(is_line_of_code(line));
    }
    all > 0 && f64::from(code) >= CODE_SHARE * f64::from(all)
}

fn is_line_of_code(line: &str) -> bool {
    const STARTS: [&str; 20] = [
        "def ",
        "class ",
        "import ",
        "return ",
        "const ",
        "let ",
        "var ",
        "function ",
        "public ",
        "private ",
        "#include",
        "</",
        "<div",
        "SELECT ",
        "INSERT ",
        "//",
        "/*",
        "if (",
        "for (",
        "#!",
    ];
    // Data, and a Markdown list.
    if line.starts_with(['{', '[', '"', '|']) {
        return false;
    }
    let is_commented = line.split("//").next().is_some_and(|head| head.len() < line.len() && !head.ends_with(':'));
    let is_field = line.ends_with(',') && line.split_whitespace().next().is_some_and(|word| word.ends_with(':'));
    let ends = is_commented
        || is_field
        || line.ends_with(['{', '}', ';'])
        || line.ends_with("):")
        || line.ends_with(");")
        || line.ends_with("=>");
    let is_tag = line.starts_with('<') && line.ends_with('>') && count(line) <= 12;
    let is_begun = STARTS.iter().any(|word| line.starts_with(word)) && count(line) <= 12;
    let signs = line.bytes().filter(|byte| {
        matches!(
            byte,
            b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'=' | b';' | b'<' | b'>' | b'_' | b'$' | b'\\' | b'&' | b'|'
        )
    });
    ends || is_tag || is_begun || signs.count() * SIGNS_PER_BYTES >= line.len().max(1)
}

/// Whether material tells the model what to do. `is_strict`: only what speaks of the answer counts, for recipes and
/// manuals tell their readers what to do, too.
pub(super) fn is_order(text: &str, extent: &Extent, is_strict: bool) -> bool {
    let (mut orders, mut all) = (0_u32, 0_u32);
    for line in sample(text, extent) {
        for sentence in line.split_inclusive(['.', '?', '!']).filter(|sentence| count(sentence) > 1) {
            all += 1;
            let tells = if is_strict { is_of_task(sentence) } else { is_instruction(sentence) };
            orders += u32::from(tells && !sentence.ends_with('?'));
        }
    }
    all > 0 && f64::from(orders) >= ORDERS_SHARE * f64::from(all)
}

/// Whether the user speaks of themselves under a heading that may mean it: context, background, information.
pub(super) fn is_own_situation(text: &str, extent: &Extent) -> bool {
    let is_data = extent.documents.first().is_some_and(|document| text[document.span.clone()].starts_with(['{', '[']));
    if extent.groups & SITUATION == 0 || is_data {
        return false;
    }
    let (mut own, mut all) = (0_u32, 0_u32);
    let mut is_first_own = false;
    let spoken = extent.documents.iter().flat_map(|document| words(&text[document.span.clone()]));
    for (at, word) in spoken.take(OWN_WORDS_MAX).enumerate() {
        all += 1;
        own += u32::from(word.is(OWN));
        is_first_own |= at == 0 && word.is(OWN);
    }
    is_first_own || (all > 0 && f64::from(own) >= OWN_SHARE * f64::from(all))
}
