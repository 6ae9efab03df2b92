//! Documents out of prompts: most logs carry them inside of the prompt, where no engine can tell them from the question.
//!
//! - [`words`], [`lines`], [`tags`], [`handing`]: the words, headings, tags and sentences by which material is marked
//! - [`find`], [`documents`]: where it stands, and the documents in it
//! - [`task`]: what is asked beside it
//! - [`results`]: what tools of retrieval answered
//!
//! **What counts**: a task that names its material and then gives it. System prompt, the last turn of the user and the
//! results of its tools are looked at, and earlier turns where the last one has none. Material is taken for documents when
//! it is marked, has substance, and a task beside it asks about it ([`is_wanted`]); the better it is marked, the less of
//! it is enough. What is left of a text is the question. The results of tools stay where they are, too. What a harness tells
//! of the machine and the project ([`super::frames`]) is no material: nothing that is asked rests on it.
//!
//! **Limits**: the words are English, with the commonest of five other languages. A mark that the words do not know is
//! none. Where the record has documents of its own, nothing is cut. An answer that may also rest on what other tools
//! said is not measured against documents alone: then nothing is cut either. Linear in the text.

#[cfg(test)]
mod steps;

mod documents;
mod find;
mod glance;
mod handing;
mod lines;
mod results;
mod tags;
mod task;
mod words;

#[cfg(test)]
mod tests;

use std::{borrow::Cow, ops::Range};

use self::{
    find::{Extent, Frame},
    results::Results,
    task::{Task, sample},
    words::{HANDED, RESULTS, SITUATION, TEXTUAL, count},
};
use super::{Kind, Message, Passage, Place, Prompt, Record, frames::frames};

/// Bytes of the shortest text that is looked at: the shortest templates have more, with a document of a few sentences.
pub(crate) const TEXT_BYTES_MIN: usize = 200;
/// Words that documents must have when they are told apart: a number or a tag of their own is no coincidence.
const DOCUMENTS_WORDS_MIN: usize = 12;
/// Words that enclosed material must have.
const ENCLOSED_WORDS_MIN: usize = 15;
/// Words of material behind a heading: three or four sentences, so that one's own situation in a line or two is none.
const HEADED_WORDS_MIN: usize = 30;
/// Words of material that only a sentence announces.
const BARE_WORDS_MIN: usize = 40;
/// Words of material behind a heading, or announced, where nothing shows that a program filled the prompt in: people hand
/// over a few sentences, too.
const UNPROVEN_WORDS_MIN: usize = 60;
/// Words of marked material in a prompt that a program filled in: documents may be a line.
const FILLED_IN_WORDS_MIN: usize = 6;

/// Cuts the documents out of the texts of a record that was read.
pub(crate) fn cut(record: &mut Record<'_>) {
    if record.kind != Kind::Llm || !record.context.is_empty() || !may_hold(record) {
        return;
    }
    let turn = last_turn(&record.prompt);
    let results = results::of_turn(&record.prompt, turn.start);
    if matches!(results, Results::Other) {
        return;
    }
    let mut cuts = cuts(record, turn.clone());
    if cuts.iter().all(|(slot, _)| *slot == Slot::System) && turn.start > 0 {
        // Follow-up questions are about what an earlier turn brought.
        cuts.extend(cuts_of_messages(record, 0..turn.start));
    }
    if cuts.is_empty() && matches!(results, Results::None) {
        return;
    }
    let task = Task::of(record, &cuts);
    let mut found = wanted(record, &cuts, &task, false);
    if found.is_empty() {
        found = wanted(record, &cuts, &task, true);
    }
    record.logged_prompt = record.prompt_hash().filter(|_| !found.is_empty());
    for (slot, extents) in found {
        apply(record, slot, &extents);
    }
    if let Results::Documents(documents) = results {
        results::take(record, documents);
    }
}

/// The material that is documents. Where none has the substance, `is_short` lets what a template marks have less.
fn wanted(record: &Record<'_>, cuts: &[(Slot, Vec<Extent>)], task: &Task, is_short: bool) -> Vec<(Slot, Vec<Extent>)> {
    let of_text = |(slot, extents): &(Slot, Vec<Extent>)| {
        let (text, is_of_operator) = (text_of(record, *slot), is_of_operator(record, *slot));
        let least = |extent: &Extent| if is_short { short_words_min(extent, task) } else { words_min(extent, task) };
        let is_one = |all: &Extent| {
            let is_told = || is_wanted(text, all, task, is_of_operator);
            // Rules for the answer are as short as that.
            all.words >= least(all) && is_told() && !(is_short && task::is_order(text, all, false))
        };
        let alike: Vec<Extent> = alike(extents).into_iter().filter(is_one).collect();
        let extents: Vec<Extent> =
            extents.iter().filter(|extent| alike.iter().any(|all| is_like(all, extent))).cloned().collect();
        (!extents.is_empty()).then_some((*slot, extents))
    };
    cuts.iter().filter_map(of_text).collect()
}

/// Words that material must have.
fn words_min(extent: &Extent, task: &Task) -> usize {
    let is_proven = task.is_filled_in() || task.leaves_room;
    match extent.frame {
        Frame::Documents => DOCUMENTS_WORDS_MIN,
        Frame::Enclosed => ENCLOSED_WORDS_MIN,
        Frame::Headed | Frame::Bare if !is_proven => UNPROVEN_WORDS_MIN,
        Frame::Headed => HEADED_WORDS_MIN,
        Frame::Bare => BARE_WORDS_MIN,
    }
}

/// The same where the prompt is a template, and has nothing else.
fn short_words_min(extent: &Extent, task: &Task) -> usize {
    let is_marked = extent.frame >= Frame::Headed && extent.groups & (HANDED | RESULTS) != 0;
    let is_template = task.is_filled_in() && (task.leaves_room || extent.is_announced);
    if is_marked && is_template { FILLED_IN_WORDS_MIN } else { usize::MAX }
}

/// A text that may hold documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    System,
    /// The prompt is one text.
    Prompt,
    /// A message, by its index.
    Message(usize),
}

impl Slot {
    /// Its JSON Pointer in the normal form.
    fn pointer(self) -> Cow<'static, str> {
        match self {
            Slot::System => Cow::Borrowed("/system"),
            Slot::Prompt => Cow::Borrowed("/prompt"),
            Slot::Message(index) => Cow::Owned(format!("/prompt/{index}/text")),
        }
    }
}

/// Whether any text of a record is long enough to hold documents beside a task.
fn may_hold(record: &Record<'_>) -> bool {
    let is_long = |text: &str| text.len() >= TEXT_BYTES_MIN;
    record.system.as_deref().is_some_and(is_long)
        || match &record.prompt {
            Prompt::Absent => false,
            Prompt::Text(text) => is_long(text),
            Prompt::Messages(messages) => {
                messages.iter().any(|message| is_long(&message.text) || results::may_hold(message))
            }
        }
}

/// The messages behind the last answer of the model, results of tools among them.
fn last_turn(prompt: &Prompt<'_>) -> Range<usize> {
    let Prompt::Messages(messages) = prompt else { return 0..0 };
    let is_answer = |message: &Message<'_>| {
        message.role == "assistant" && message.tool_calls.is_empty() && !message.text.is_empty()
    };
    let start = messages.iter().rposition(is_answer).map_or(0, |at| at + 1);
    // A record that ends with an answer is asked by what stands before it.
    if start == messages.len() { 0..messages.len() } else { start..messages.len() }
}

fn is_system(role: &str) -> bool {
    matches!(role, "system" | "developer")
}

fn text_of<'r>(record: &'r Record<'_>, slot: Slot) -> &'r str {
    match (slot, &record.prompt) {
        (Slot::System, _) => record.system.as_deref().unwrap_or_default(),
        (Slot::Prompt, Prompt::Text(text)) => text,
        (Slot::Message(index), Prompt::Messages(messages)) => messages.get(index).map_or("", |message| &message.text),
        _ => "",
    }
}

/// The material of the system prompt and of a turn.
fn cuts(record: &Record<'_>, turn: Range<usize>) -> Vec<(Slot, Vec<Extent>)> {
    let mut cuts = Vec::new();
    push(&mut cuts, record, Slot::System);
    match &record.prompt {
        Prompt::Absent => {}
        Prompt::Text(_) => push(&mut cuts, record, Slot::Prompt),
        Prompt::Messages(_) => cuts.extend(cuts_of_messages(record, turn)),
    }
    cuts
}

/// The material of messages; of those of the operator wherever they stand.
fn cuts_of_messages(record: &Record<'_>, turn: Range<usize>) -> Vec<(Slot, Vec<Extent>)> {
    let mut cuts = Vec::new();
    let Prompt::Messages(messages) = &record.prompt else { return cuts };
    for (index, message) in messages.iter().enumerate() {
        if is_system(&message.role) || (message.role == "user" && turn.contains(&index)) {
            push(&mut cuts, record, Slot::Message(index));
        }
    }
    cuts
}

fn push(cuts: &mut Vec<(Slot, Vec<Extent>)>, record: &Record<'_>, slot: Slot) {
    let text = text_of(record, slot);
    if text.len() >= TEXT_BYTES_MIN && glance::has_mark(text) {
        let frames = frames(text);
        let is_framed = |extent: &Extent| frames.iter().any(|frame| frame.span.contains(&extent.span.start));
        let mut extents = find::extents(text);
        extents.retain(|extent| !is_framed(extent));
        if !extents.is_empty() {
            cuts.push((slot, extents));
        }
    }
}

/// Material that is marked alike and called alike, together: what is true of some of it is true of all.
fn alike(extents: &[Extent]) -> Vec<Extent> {
    let mut alike: Vec<Extent> = Vec::new();
    for extent in extents {
        match alike.iter_mut().find(|all| is_like(all, extent)) {
            Some(all) => {
                all.documents.extend_from_slice(&extent.documents);
                all.words += extent.words;
            }
            None => alike.push(extent.clone()),
        }
    }
    alike
}

fn is_like(one: &Extent, other: &Extent) -> bool {
    (one.frame, one.groups, one.is_announced) == (other.frame, other.groups, other.is_announced)
}

/// Whether a text is the operator's: a system prompt.
fn is_of_operator(record: &Record<'_>, slot: Slot) -> bool {
    match (slot, &record.prompt) {
        (Slot::System, _) => true,
        (Slot::Message(index), Prompt::Messages(messages)) => {
            messages.get(index).is_some_and(|message| is_system(&message.role))
        }
        _ => false,
    }
}

/// Whether material is documents that the answer should rest on.
///
/// It has substance, is no code and no model of what to do; and the task asks about it. How much else is needed goes by
/// what it is called. "Documents" and the like are enough when something is asked. "Context" is also what people call
/// their own situation, and "text" what they want changed: then the prompt must be one that a program filled in, or the
/// task must ask and not change. "Data" or "description" are parts of any prompt: a sentence must announce them. A system
/// prompt is full of headings: there a sentence must say that the answer rests on documents, or tags must enclose them.
fn is_wanted(text: &str, extent: &Extent, task: &Task, is_of_operator: bool) -> bool {
    if !is_asked_about(extent, task, is_of_operator) || task::is_code(sample(text, extent)) {
        return false;
    }
    // A heading in code is a comment.
    if extent.frame <= Frame::Headed && task::is_code(text.lines()) {
        return false;
    }
    let is_filled_in = task.is_filled_in();
    let is_doubtful = extent.frame == Frame::Bare || (extent.frame != Frame::Documents && !is_filled_in);
    let is_own = || !task.hands && task::is_own_situation(text, extent);
    !(is_doubtful && (task::is_order(text, extent, is_filled_in) || is_own()))
}

/// Whether the task asks about material that is called and marked so.
fn is_asked_about(extent: &Extent, task: &Task, is_of_operator: bool) -> bool {
    let is_handed = extent.groups & (HANDED | RESULTS) != 0;
    let is_filled_in = task.is_filled_in();
    if is_of_operator {
        let is_enclosed = extent.frame >= Frame::Enclosed;
        return (is_filled_in && (is_handed || extent.is_announced)) || (is_enclosed && is_handed);
    }
    let may_be_own = extent.groups & SITUATION != 0 || !is_handed;
    if !may_be_own {
        return task.asks || (task.refers && !task.changes);
    }
    let is_template = is_filled_in || task.leaves_room;
    if is_handed {
        return task.asks && (is_template || !task.changes) || (is_template && task.refers && !task.changes);
    }
    let is_named = extent.groups & TEXTUAL != 0 || extent.is_announced || is_template;
    is_named && task.asks && !task.changes
}

/// Takes the documents of a text out of it.
fn apply(record: &mut Record<'_>, slot: Slot, extents: &[Extent]) {
    if extents.is_empty() {
        return;
    }
    let Record { system, prompt, context, .. } = record;
    let text = match (slot, prompt) {
        (Slot::System, _) => system.as_mut(),
        (Slot::Prompt, Prompt::Text(text)) => Some(text),
        (Slot::Message(index), Prompt::Messages(messages)) => messages.get_mut(index).map(|message| &mut message.text),
        _ => None,
    };
    let Some(text) = text else { return };
    for document in extents.iter().flat_map(|extent| &extent.documents) {
        let place = Place { field: slot.pointer(), span: document.span.clone(), stays: false };
        let id = document.id.clone().map(|id| part(text, id));
        context.push(Passage { id, text: part(text, document.span.clone()), place: Some(place) });
    }
    *text = without(text, extents);
}

/// A part of a text, borrowed where the text is.
fn part<'a>(text: &Cow<'a, str>, span: Range<usize>) -> Cow<'a, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[span]),
        Cow::Owned(text) => Cow::Owned(text[span].to_owned()),
    }
}

/// A text without its material; what is neither a document nor a mark stays.
fn without<'a>(text: &Cow<'a, str>, extents: &[Extent]) -> Cow<'a, str> {
    let kept = kept(text, extents);
    match &kept[..] {
        [] => Cow::Borrowed(""),
        [only] => part(text, only.clone()),
        _ => Cow::Owned(kept.into_iter().map(|span| &text[span]).collect()),
    }
}

/// What stays of a text, in order: all that is neither document nor mark.
fn kept(text: &str, extents: &[Extent]) -> Vec<Range<usize>> {
    let mut kept: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    for extent in extents {
        push_kept(&mut kept, from..extent.span.start);
        from = extent.span.start;
        for document in &extent.documents {
            push_beside(&mut kept, text, from..document.span.start, document.id.as_ref());
            from = document.span.end;
        }
        push_beside(&mut kept, text, from..extent.span.end, None);
        from = extent.span.end;
    }
    push_kept(&mut kept, from..text.len());
    kept
}

fn push_kept(kept: &mut Vec<Range<usize>>, span: Range<usize>) {
    match kept.last_mut() {
        _ if span.is_empty() => {}
        Some(last) if last.end == span.start => last.end = span.end,
        _ => kept.push(span),
    }
}

/// What stands beside documents stays, unless it only marks them. A title in words stays, too: the answer may call the
/// document by it, and no other text holds it.
fn push_beside(kept: &mut Vec<Range<usize>>, text: &str, gap: Range<usize>, id: Option<&Range<usize>>) {
    let title = id.filter(|id| count(&text[(*id).clone()]) > 1);
    let mut from = gap.start;
    for line in text[gap].split_inclusive('\n') {
        let span = from..from + line.len();
        let holds = |id: &Range<usize>| id.start < span.end && span.start < id.end;
        // An address on a line of its own is the id, and nothing else.
        let is_address =
            title.is_none() && id.is_some_and(|id| holds(id) && is_only_about(line, id.start - span.start));
        if title.is_some_and(holds) || !(is_address || is_mark(line)) {
            push_kept(kept, span.clone());
        }
        from = span.end;
    }
}

/// Whether a line says where a document is from, at `at`, and nothing else: `file_path: kb/7.txt`.
fn is_only_about(line: &str, at: usize) -> bool {
    let line = line.trim_end();
    let kind = lines::kind(line, &(0..line.len()));
    matches!(kind, lines::Kind::Heading { label: lines::Label::About, content, .. } if content == at && count(&line[content..]) == 1)
}

/// Whether a line only marks documents: white space, a rule, tags, a number, a heading without content.
fn is_mark(line: &str) -> bool {
    let line = line.trim();
    if line.starts_with('<') {
        return is_only_tags(line);
    }
    match lines::kind(line, &(0..line.len())) {
        lines::Kind::Blank | lines::Kind::Rule { .. } => true,
        lines::Kind::Fence { .. } => count(line) <= 1,
        lines::Kind::Number { content, .. } | lines::Kind::Heading { content, .. } => content >= line.len(),
        lines::Kind::Plain => is_only_tags(line),
    }
}

/// Whether a line holds tags, their short contents, and nothing else.
fn is_only_tags(line: &str) -> bool {
    /// Words of a title or an address between two tags.
    const ABOUT_WORDS_MAX: usize = 20;
    let line = line.trim_matches(['«', '»', '"', '`', '\'', '*', '_', '#', ':', '[', ']', ',', '|', ' ']);
    line.is_empty() || (line.starts_with('<') && line.ends_with('>') && count(line) <= ABOUT_WORDS_MAX)
}
