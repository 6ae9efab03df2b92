//! Where the material of a prompt stands: between tags, rules and fences, behind a heading or a sentence that announces
//! it, or in front of one that looks back.
//!
//! One way through the lines. What opens is looked at until it ends, and the way goes on behind it, so that the time is
//! linear in the text: a search for what closes that finds nothing is not made again.

use std::ops::Range;

use super::{
    documents::{self, Found, trimmed},
    glance::has_cue_word,
    handing::{Handing, Role, handing, lead},
    lines::{self, Kind, Label, Style},
    tags::{self, Element},
    words::{
        ABOUT, AHEAD, ASKS, BEHIND, CHANGES, CONDITIONS, GIVEN, HANDED, HERE, LEADS, MAKES, MATERIAL, ORDERS, POLITE,
        QUESTION, RESTING, RESULTS, SPOKEN, TEXTUAL, THIS, count, words,
    },
};

/// Words of the longest line that can be an instruction; what is longer is prose.
const INSTRUCTION_WORDS_MAX: usize = 60;
/// Words of an instruction that is a paragraph of its own without speaking of the answer: `Be brief.`
const REMARK_WORDS_MAX: usize = 20;
/// Words of a task that stands alone in front of its material.
const TASK_WORDS_MAX: usize = 40;
/// Words of the longest line that can be a question.
const QUESTION_WORDS_MAX: usize = 50;
/// Words behind the question on its line.
const ADDED_WORDS_MAX: usize = 10;
/// Lines of instructions that are taken off the end of material.
const TAIL_LINES_MAX: usize = 12;
/// Bytes of what may follow the material, from a heading on that documents have too.
const TAIL_BYTES_MAX: usize = 1_500;
/// Words of a title behind a heading that might also begin material.
const ABOUT_WORDS_MAX: usize = 8;
/// Words of material without a heading that stands in front of the task.
const BEHIND_WORDS_MIN: usize = 60;
/// Words of an answer that is there already, as in a model of what to do.
const FILLED_WORDS_MIN: usize = 2;
/// Lines of material in plain quotation marks.
const CITED_LINES_MAX: usize = 50;
/// Lines between a sentence that announces material and the material: rules for the answer stand there.
const PENDING_LINES_MAX: usize = 25;
/// Attempts to read JSON that breaks off.
const JSON_FAULTS_MAX: usize = 4;

/// How the material is set off from the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Frame {
    /// A sentence speaks of it, and nothing marks where it begins or ends.
    Bare,
    /// A heading or a colon stands in front of it.
    Headed,
    /// It is enclosed: by tags, rules, fences or brackets.
    Enclosed,
    /// It consists of documents that are told apart: by tags, numbers, or headings that repeat.
    Documents,
}

/// Material, found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Extent {
    /// All of it with its marks: headings, rules, tags.
    pub(super) span: Range<usize>,
    pub(super) documents: Vec<Found>,
    pub(super) frame: Frame,
    /// The groups of the noun that names it.
    pub(super) groups: u64,
    /// Words of the documents.
    pub(super) words: usize,
    /// Whether a sentence announces it.
    pub(super) is_announced: bool,
}

/// A sentence that announces material which has not come yet.
#[derive(Clone, Copy)]
struct Pending {
    groups: u64,
    /// Whether a plain paragraph may be it.
    may_be_bare: bool,
    /// Whether what a rule or a fence encloses may be it.
    may_be_framed: bool,
    /// The line of the sentence.
    line: usize,
}

struct Finder<'t> {
    text: &'t str,
    lines: Vec<Range<usize>>,
    kinds: Vec<Kind>,
    elements: Vec<Element>,
    /// Elements of material that stand in no other, in order.
    outer: Vec<usize>,
    found: Vec<Extent>,
    /// Bytes of rules and fences for which no closing one was found.
    unclosed: Vec<u8>,
    json_faults: usize,
    /// For each line the next one, or itself, that is a heading of an answer or of material.
    decides: Vec<u32>,
    /// The heading at the end of the text under which the answer is to be written.
    open_answer: Option<&'t str>,
    /// Whether a sentence announces what is looked at.
    is_announced: bool,
}

/// The material of a text, in order and without overlap.
pub(super) fn extents(text: &str) -> Vec<Extent> {
    let elements = if memchr::memchr(b'<', text.as_bytes()).is_some() { tags::elements(text) } else { Vec::new() };
    let outer = outer_material(text, &elements);
    let lines = lines::lines_of_prompt(text);
    let mut covers = outer.iter().map(|at| elements[*at].outer()).peekable();
    let kinds = lines.iter().map(|line| {
        while covers.peek().is_some_and(|cover| cover.end <= line.start) {
            covers.next();
        }
        // What stands in an element is read with it.
        match covers.peek().is_some_and(|cover| cover.start <= line.start && line.end <= cover.end) {
            true => Kind::Plain,
            false => lines::kind(text, line),
        }
    });
    let kinds = kinds.collect();
    let mut finder = Finder {
        text,
        lines,
        kinds,
        elements,
        outer,
        found: Vec::new(),
        unclosed: Vec::new(),
        json_faults: 0,
        decides: Vec::new(),
        open_answer: None,
        is_announced: false,
    };
    finder.open_answer = finder.open_answer();
    finder.walk();
    if finder.found.is_empty() {
        finder.look_back();
    }
    finder.found
}

/// Elements of material that stand in no other one, and in no example.
fn outer_material(text: &str, elements: &[Element]) -> Vec<usize> {
    // Whether an element is material, or stands in material or an example.
    let mut is_inside = vec![false; elements.len()];
    let mut outer = Vec::new();
    let is_page = has_markup(text);
    for (at, element) in elements.iter().enumerate() {
        let is_around = element.parent.is_some_and(|parent| is_inside[parent]);
        let groups = match element.label {
            Label::Material(groups) => groups,
            _ => 0,
        };
        // `<article>` and `<section>` are tags of HTML too.
        let is_material = groups & (HANDED | RESULTS) != 0 || (groups & MATERIAL != 0 && !is_page);
        if is_material && !is_around {
            outer.push(at);
        }
        is_inside[at] = is_around || is_material || element.label == Label::Example;
    }
    outer
}

/// Whether a text holds a page in HTML, or a part of one.
fn has_markup(text: &str) -> bool {
    ["<div", "<html", "<body", "<script", "</p>", "</span>", "</td>", "</li>"]
        .iter()
        .any(|tag| memchr::memmem::find(text.as_bytes(), tag.as_bytes()).is_some())
}

impl<'t> Finder<'t> {
    /// The heading at the end of the text that leaves room for the answer: `Answer:`, or the name of who answers.
    fn open_answer(&self) -> Option<&'t str> {
        let last = self.kinds.iter().rposition(|kind| *kind != Kind::Blank)?;
        match self.kind(last) {
            Kind::Heading { label: Label::Answer | Label::Speaker, content, .. }
                if self.text[*content..self.lines[last].end].trim().is_empty() =>
            {
                Some(self.phrase(last, *content))
            }
            _ => None,
        }
    }

    /// The words of a heading.
    fn phrase(&self, line: usize, content: usize) -> &'t str {
        self.text[self.lines[line].start..content].trim_matches(|c: char| !c.is_alphanumeric())
    }

    /// What a line is.
    fn kind(&self, line: usize) -> &Kind {
        #[cfg(test)]
        super::steps::step();
        &self.kinds[line]
    }

    fn walk(&mut self) {
        let mut pending: Option<Pending> = None;
        let mut next_element = 0;
        let mut at = 0;
        let mut has_begun = false;
        while at < self.lines.len() {
            let line = self.lines[at].clone();
            let begins = |element: &usize| begins_at(&self.elements, *element);
            // What was passed over stands in something else that was read, or that is code.
            while self.outer.get(next_element).is_some_and(|element| begins(element) < line.start) {
                next_element += 1;
            }
            if let Some(element) = self.outer.get(next_element).copied().filter(|element| begins(element) < line.end) {
                let mut last = element;
                self.is_announced = pending.is_some();
                self.add_element(element);
                // Others may follow on the line on which one ends.
                loop {
                    next_element += 1;
                    at = self.line_of(self.elements[last].close.end - 1).max(at);
                    match self
                        .outer
                        .get(next_element)
                        .copied()
                        .filter(|next| begins_at(&self.elements, *next) < self.lines[at].end)
                    {
                        Some(next) => {
                            self.add_element(next);
                            last = next;
                        }
                        None => break,
                    }
                }
                at += 1;
                has_begun = true;
                continue;
            }
            let is_first = !has_begun;
            pending = pending.filter(|pending| at - pending.line <= PENDING_LINES_MAX);
            self.is_announced = pending.is_some();
            has_begun |= *self.kind(at) != Kind::Blank;
            match self.kind(at).clone() {
                Kind::Blank => {}
                Kind::Heading { label: Label::Material(groups), style, is_end: false, content } => {
                    self.is_announced |= handing(self.text, &line).is_some_and(|said| said.announces());
                    if let Some(next) = self.open(at, content, line.start, groups, style) {
                        pending = None;
                        at = next;
                        continue;
                    }
                    let is_about = groups & ABOUT != 0;
                    if !is_about {
                        pending = Some(Pending { groups, may_be_bare: false, may_be_framed: true, line: at });
                    }
                }
                Kind::Rule { byte, label: Some(Label::Material(groups)) } => {
                    if let Some(next) = self.enclosed(at, at, byte, groups) {
                        pending = None;
                        at = next;
                        continue;
                    }
                }
                Kind::Rule { label: Some(_), .. } => {
                    if let Some(pending) = pending.as_mut() {
                        (pending.may_be_bare, pending.may_be_framed) = (false, false);
                    }
                }
                Kind::Rule { byte, .. } | Kind::Fence { byte, .. } => {
                    if let Some(next) = self.fenced(at, byte, &mut pending) {
                        at = next;
                        continue;
                    }
                }
                Kind::Number { number, is_named, .. } => {
                    let is_declared = pending.is_some();
                    let is_told = number <= 1 && (is_declared || (is_named && self.counts_on(at)));
                    let groups = pending.map_or(HANDED, |pending| pending.groups);
                    if is_told && let Some(next) = self.open(at, line.start, line.start, groups, Style::Colon) {
                        pending = None;
                        at = next;
                        continue;
                    }
                }
                Kind::Heading { label: Label::Part | Label::Speaker | Label::Example, .. } => {
                    if let Some(pending) = pending.as_mut() {
                        pending.may_be_bare = false;
                    }
                    // What a part says may hand material over, too.
                    if let Some(next) = self.plain(at, is_first, &mut pending) {
                        at = next;
                        continue;
                    }
                }
                Kind::Heading { .. } => {}
                Kind::Plain => {
                    if let Some(next) = self.plain(at, is_first, &mut pending) {
                        at = next;
                        continue;
                    }
                }
            }
            at += 1;
        }
    }

    /// A line of prose: it may announce material, or be it.
    fn plain(&mut self, at: usize, is_first: bool, pending: &mut Option<Pending>) -> Option<usize> {
        let line = self.lines[at].clone();
        let text = &self.text[line.clone()];
        if let Some(said) = self.announces(at, is_first) {
            let last = self.last_heading(at);
            if let Some(content) = said.content.or(last.map(|(content, _)| content)) {
                let groups = last.map_or(said.groups, |(_, own)| own);
                self.is_announced = true;
                if let Some(next) = self.open(at, content, content, groups, Style::Colon) {
                    *pending = None;
                    return Some(next);
                }
            }
            // `Summarize this article.`, and then the article.
            let is_task_alone =
                is_first && said.role == Role::Asks && (said.is(GIVEN) || said.sums) && count(text) <= TASK_WORDS_MAX;
            // `... that answers from the context.`, the context, `User: ...`, `Assistant:`
            let is_filled_in = self.open_answer.is_some() && said.asks && said.is(RESTING) && said.groups & HANDED != 0;
            let may_be_bare = said.is(AHEAD | HERE) || is_task_alone || is_filled_in;
            let may_be_framed = said.is(AHEAD | HERE | GIVEN) || (said.asks && said.is(RESTING));
            *pending = Some(Pending { groups: said.groups, may_be_bare, may_be_framed, line: at });
            return None;
        }
        if let Some((content, groups)) = self.last_heading(at)
            && let Some(next) = self.open(at, content, content, groups, Style::Colon)
        {
            *pending = None;
            return Some(next);
        }
        let announced = pending.filter(|pending| pending.may_be_bare)?;
        // What stands under `Question:` is the question.
        let before = (0..at).rev().find(|line| *self.kind(*line) != Kind::Blank);
        if before.is_some_and(|line| matches!(self.kind(line), Kind::Heading { label: Label::Question, .. })) {
            return None;
        }
        let is_apart = at > 0 && *self.kind(at - 1) == Kind::Blank && count(text) > REMARK_WORDS_MAX;
        if is_of_task(text) || (!is_apart && is_instruction(text)) {
            return None;
        }
        let next = self.bare(at, announced)?;
        *pending = None;
        Some(next)
    }

    /// What a line says of material. Looked at: lines with a cue, lines that end with a colon, and the first one.
    fn announces(&self, at: usize, is_first: bool) -> Option<Handing> {
        let line = &self.lines[at];
        let text = &self.text[line.clone()];
        let head = &text.as_bytes()[..text.len().min(super::handing::HANDING_BYTES_MAX)];
        let is_looked_at =
            is_first || text.trim_end().ends_with(':') || has_cue_word(head) || text.contains("elimited");
        is_looked_at.then(|| handing(self.text, line)).flatten().filter(Handing::announces)
    }

    /// A heading of material at the end of a line: `... be brief. Structured data:`
    fn last_heading(&self, at: usize) -> Option<(usize, u64)> {
        let line = &self.lines[at];
        let text = self.text[line.clone()].trim_end();
        let phrase = text.strip_suffix(':')?;
        let from = phrase.rfind(['.', '?', '!']).map_or(0, |stop| stop + 1);
        match lines::label_of(&phrase[from..]) {
            Some(Label::Material(groups)) => Some((line.start + text.len(), groups)),
            _ => None,
        }
    }

    /// Whether the documents that are numbered from this line on go on with the next number.
    fn counts_on(&self, at: usize) -> bool {
        /// Lines of the first document.
        const LINES_MAX: usize = 200;
        let Kind::Number { number: first, .. } = *self.kind(at) else { return false };
        let numbers = (at + 1..self.lines.len()).take(LINES_MAX).find_map(|line| match self.kind(line) {
            Kind::Number { number, is_named: true, .. } => Some(*number),
            _ => None,
        });
        numbers == Some(first + 1)
    }

    /// Rules and fences: they enclose what was announced; else a fence encloses code.
    fn fenced(&mut self, at: usize, byte: u8, pending: &mut Option<Pending>) -> Option<usize> {
        let is_fence = matches!(self.kind(at), Kind::Fence { .. });
        if let Some(announced) = *pending
            && announced.may_be_framed
            && !(is_fence && self.is_of_another_heading(at))
        {
            let next = match is_fence {
                true => self.quoted(at, self.lines[at].start, self.lines[at].start, announced.groups),
                false => self.enclosed(at, at, byte, announced.groups),
            };
            if next.is_some() {
                *pending = None;
                return next;
            }
            if !is_fence {
                // One rule alone: what follows is headed by it.
                let next = self.open(at, self.lines[at].end, self.lines[at].start, announced.groups, Style::Colon);
                if next.is_some() {
                    *pending = None;
                }
                return next;
            }
        }
        // Code is not looked into.
        if !is_fence || byte != b'`' {
            return None;
        }
        self.closing(at, byte, true).map(|close| close + 1)
    }

    /// Whether a fence stands behind a line that ends with a colon and speaks of something else: `in this format:`
    fn is_of_another_heading(&self, at: usize) -> bool {
        let Some(before) = (0..at).rev().find(|before| *self.kind(*before) != Kind::Blank) else { return false };
        let line = &self.lines[before];
        self.text[line.clone()].trim_end().ends_with(':')
            && handing(self.text, line).is_none_or(|said| said.content.is_none())
    }

    /// The line that holds a byte.
    fn line_of(&self, byte: usize) -> usize {
        self.lines.partition_point(|line| line.start <= byte).saturating_sub(1)
    }

    /// The first element of material that ends behind a byte.
    fn element_from(&self, byte: usize) -> Option<&Element> {
        let next = self.outer.partition_point(|element| self.elements[*element].close.end <= byte);
        self.outer.get(next).map(|element| &self.elements[*element])
    }

    /// Whether material in tags stands in a range: it is read by them, then.
    fn has_element(&self, range: &Range<usize>) -> bool {
        self.element_from(range.start).is_some_and(|element| element.open.start < range.end)
    }

    fn add_element(&mut self, at: usize) {
        let Label::Material(groups) = self.elements[at].label else { return };
        let documents = documents::of_element(self.text, &self.elements, at);
        let outer = self.elements[at].outer();
        let mut inside = self.elements[at + 1..].iter().take_while(|other| other.open.start < outer.end);
        let is_listed = inside.any(|other| other.parent == Some(at));
        let frame = if documents.len() > 1 || is_listed { Frame::Documents } else { Frame::Enclosed };
        self.add(outer, documents, frame, groups);
    }

    fn add(&mut self, span: Range<usize>, documents: Vec<Found>, frame: Frame, groups: u64) {
        let words = documents.iter().map(|document| count(&self.text[document.span.clone()])).sum();
        if words > 0 {
            let is_announced = self.is_announced;
            self.found.push(Extent { span, documents, frame, groups, words, is_announced });
        }
    }

    /// The line that closes a rule or a fence which opens at line `at`.
    fn closing(&mut self, at: usize, byte: u8, is_fence: bool) -> Option<usize> {
        let key = if is_fence { byte | 0x80 } else { byte };
        if self.unclosed.contains(&key) {
            return None;
        }
        let closes = |kind: &Kind| match kind {
            Kind::Fence { byte: other, .. } => is_fence && *other == byte,
            Kind::Rule { byte: other, .. } => !is_fence && *other == byte,
            _ => false,
        };
        let found = (at + 1..self.lines.len()).find(|line| closes(self.kind(*line)));
        if found.is_none() {
            self.unclosed.push(key);
        }
        found
    }

    /// Material between the rule at `at` and the next one of its kind. Its marks begin at line `from`.
    fn enclosed(&mut self, at: usize, from: usize, byte: u8, groups: u64) -> Option<usize> {
        let close = self.closing(at, byte, false)?;
        let body = self.lines[at].end..self.lines[close].start;
        let documents = documents::of_body(self.text, &body);
        if documents.is_empty() || self.has_element(&body) {
            return None;
        }
        let frame = frame_of(&documents, Frame::Enclosed);
        // In `--- CONTEXT --- ... --- RULES ---` the second one opens something else.
        let is_shared = matches!(self.kind(close), Kind::Rule { label: Some(_), .. });
        let end = if is_shared { self.lines[close].start } else { self.lines[close].end };
        self.add(self.lines[from].start..end, documents, frame, groups);
        Some(if is_shared { close } else { close + 1 })
    }

    /// Material in quotes of three, from `content` on in line `at`.
    fn quoted(&mut self, at: usize, content: usize, start: usize, groups: u64) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let byte = *bytes.get(content)?;
        let key = byte | 0xc0;
        if self.unclosed.contains(&key) {
            return None;
        }
        let line_end = self.lines[at].end;
        // The word behind backticks says what language they enclose.
        let info = self.text[content + 3..line_end].trim();
        let is_info = byte == b'`' && !info.is_empty() && !info.contains(char::is_whitespace) && !info.contains('`');
        let from = if is_info { line_end } else { content + 3 };
        let fence = [byte; 3];
        let Some(close) = memchr::memmem::find(&bytes[from..], &fence).map(|close| from + close) else {
            self.unclosed.push(key);
            return None;
        };
        let is_code = is_info
            && !matches!(
                &*info.to_ascii_lowercase(),
                "text" | "txt" | "md" | "markdown" | "json" | "csv" | "xml" | "yaml" | "html"
            );
        let end_line = self.line_of(close);
        if self.has_element(&(from..close)) {
            return None;
        }
        if !is_code {
            let documents = documents::of_body(self.text, &(from..close));
            let frame = frame_of(&documents, Frame::Enclosed);
            self.add(start..close + 3, documents, frame, groups);
        }
        Some((end_line + 1).max(at + 1))
    }

    /// Material behind a heading in line `at`, whose content begins at `content`. Its marks begin at `start`.
    fn open(&mut self, at: usize, content: usize, start: usize, groups: u64, style: Style) -> Option<usize> {
        let inline = self.text[content..self.lines[at].end].trim();
        if !inline.is_empty()
            && groups & ABOUT != 0
            && !inline.starts_with(['"', '\'', '`', '{', '[', '<'])
            && count(inline) <= ABOUT_WORDS_MAX
        {
            return None;
        }
        let mut first = at;
        let mut from = content;
        if inline.is_empty() {
            first = (at + 1..self.lines.len()).find(|line| *self.kind(*line) != Kind::Blank)?;
            from = self.lines[first].start;
        }
        from += self.text[from..].len() - self.text[from..].trim_start().len();
        if self.element_from(from).is_some_and(|element| element.open.start <= from) {
            return None;
        }
        let rest = &self.text[from..];
        if rest.starts_with("```") || rest.starts_with("\"\"\"") || rest.starts_with("'''") {
            return self.quoted(first, from, start, groups);
        }
        if first > at {
            match *self.kind(first) {
                Kind::Rule { byte, .. } => {
                    let line = self.line_of(start);
                    if let Some(next) = self.enclosed(first, line, byte, groups) {
                        return Some(next);
                    }
                    first += 1;
                    from = self.lines.get(first)?.start;
                }
                Kind::Heading { label: Label::Material(_), .. } if style != Style::Section => return None,
                Kind::Heading { label: Label::Part | Label::Speaker | Label::Answer | Label::Example, .. } => {
                    return None;
                }
                _ => {}
            }
        }
        if let Some(next) = self.json(from, start, groups).or_else(|| self.cited(from, start, groups)) {
            return Some(next);
        }
        self.until_end(at, first, from, start, groups, style, Frame::Headed)
    }

    /// Material that is one value in JSON.
    fn json(&mut self, from: usize, start: usize, groups: u64) -> Option<usize> {
        let rest = &self.text[from..];
        let is_object = rest.starts_with('{') && rest[1..].trim_start().starts_with(['"', '\'', '}']);
        let is_array = rest.starts_with('[') && rest[1..].trim_start().starts_with(['{', '"']);
        if !(is_object || is_array) || self.json_faults >= JSON_FAULTS_MAX {
            return None;
        }
        let Some(length) = json_length(rest.as_bytes()) else {
            self.json_faults += 1;
            return None;
        };
        let span = from..from + length;
        let end_line = self.line_of(span.end);
        let documents = vec![Found { id: None, span: span.clone() }];
        self.add(start..span.end, documents, Frame::Enclosed, groups);
        Some(end_line + 1)
    }

    /// Material in quotation marks that close at the end of a line.
    fn cited(&mut self, from: usize, start: usize, groups: u64) -> Option<usize> {
        let open = self.text[from..].chars().next().filter(|c| matches!(c, '"' | '“'))?;
        let close = if open == '"' { '"' } else { '”' };
        let first = self.line_of(from);
        let last = (first..self.lines.len().min(first + CITED_LINES_MAX)).find(|line| {
            let end = self.text[..self.lines[*line].end].trim_end().len();
            end > from + 1 && self.text[from..end].ends_with(close) && !self.text[from..end].ends_with("\"\"")
        })?;
        let end = self.text[..self.lines[last].end].trim_end().len();
        let inner = from + open.len_utf8()..end - close.len_utf8();
        // A text that begins and ends with speech is in no quotation marks.
        let is_whole = self.text[inner.clone()].matches(['"', '“', '”']).count().is_multiple_of(2);
        if !is_whole {
            return None;
        }
        let documents = vec![Found { id: None, span: from..end }];
        self.add(start..end, documents, Frame::Enclosed, groups);
        Some(last + 1)
    }

    /// Material without a heading, from the line `at` on.
    fn bare(&mut self, at: usize, announced: Pending) -> Option<usize> {
        let from = self.lines[at].start;
        self.until_end(at, at, from, from, announced.groups, Style::Colon, Frame::Bare)
    }

    /// Material from `from` in line `first` on, until something else begins.
    #[expect(clippy::too_many_arguments, reason = "all say where it begins")]
    fn until_end(
        &mut self,
        at: usize,
        first: usize,
        from: usize,
        start: usize,
        groups: u64,
        style: Style,
        frame: Frame,
    ) -> Option<usize> {
        let end = self.end_of(at, first, groups, style, frame);
        let is_filled = self.is_answered(end);
        let mut last = end;
        let takes_question = self.awaits_question(start, end);
        for line in (first + 1..end).rev().take(TAIL_LINES_MAX).take_while(|_| style != Style::Section) {
            let text = &self.text[self.lines[line].clone()];
            let is_apart = *self.kind(line - 1) == Kind::Blank;
            match self.kind(line) {
                Kind::Blank => {}
                Kind::Plain if is_question(text) => {
                    let may_be_asked = takes_question || (is_apart && end == self.lines.len());
                    if !may_be_asked {
                        break;
                    }
                    last = line;
                }
                Kind::Plain if is_of_task(text) => last = line,
                // It counts when one above it does.
                Kind::Plain if is_instruction(text) => {}
                _ => break,
            }
        }
        let stop = if last == 0 { from } else { self.lines[last - 1].end.max(from) };
        if is_filled {
            // A model of what to do, with its answer: it stays, and so does what it speaks of.
            return Some(end.max(at + 1));
        }
        let body = from..stop.max(from);
        let documents = documents::of_body(self.text, &body);
        if documents.is_empty() {
            return None;
        }
        // Nobody writes `[[ ## context ## ]]` but a program.
        let is_closed = self.kinds.get(end).is_some_and(|kind| matches!(kind, Kind::Heading { is_end: true, .. }));
        let frame = if is_closed { Frame::Enclosed } else { frame };
        let frame = if style == Style::Section { Frame::Documents } else { frame_of(&documents, frame) };
        self.add(start..body.end, documents, frame, groups);
        Some(end.max(at + 1))
    }

    /// Whether a question may stand at the end of material without a heading: where nothing else says what is asked, or
    /// where a question is spoken of in front.
    fn awaits_question(&self, start: usize, end: usize) -> bool {
        if matches!(self.kinds.get(end), Some(Kind::Heading { label: Label::Question, .. })) {
            return false;
        }
        let from = self.text.ceil_char_boundary(start.saturating_sub(super::handing::HANDING_BYTES_MAX));
        let asked = words(&self.text[from..start]).fold(0, |all, word| all | word.groups);
        asked & QUESTION != 0 || asked & ASKS == 0
    }

    /// The line at which material ends that begins in line `first` under a heading in line `at`.
    fn end_of(&self, at: usize, first: usize, groups: u64, style: Style, frame: Frame) -> usize {
        let is_ruled = at > 0 && matches!(self.kind(at - 1), Kind::Rule { .. });
        // Where the documents are questions with their answers, the last question is the user's.
        let is_faq = matches!(self.kind(first), Kind::Heading { label: Label::Question, .. }) && first > at;
        let mut question = None;
        let next_element = self.element_from(self.lines[first].start).map(|element| element.open.start);
        for line in first + 1..self.lines.len() {
            let is_last = |line: usize| self.text.len() - self.lines[line].start <= TAIL_BYTES_MAX;
            if next_element.is_some_and(|start| start < self.lines[line].end) {
                return question.unwrap_or(line);
            }
            let kind = self.kind(line);
            if style == Style::Section {
                if matches!(kind, Kind::Heading { style: Style::Section, .. }) {
                    return line;
                }
                continue;
            }
            match kind {
                Kind::Heading { is_end: true, label: Label::Material(_), .. } => return line,
                Kind::Heading { label: Label::Question, .. } if is_faq => question = Some(line),
                // `Q:` stands in documents, too.
                Kind::Heading { label: Label::Question, content, .. }
                    if self.phrase(line, *content) == "Q" && self.open_answer != Some("A") => {}
                Kind::Heading { label: Label::Question, .. } => return line,
                Kind::Heading { label: Label::Answer, .. } if is_faq => {}
                Kind::Heading { label: Label::Answer, style: own, content, .. } => {
                    let is_slot = match self.open_answer {
                        Some(open) => self.phrase(line, *content).eq_ignore_ascii_case(open),
                        None => is_last(line) || (*own == style && style != Style::Colon),
                    };
                    if is_slot {
                        return line;
                    }
                }
                Kind::Heading { label: Label::Part | Label::Example, style: own, content, .. } => {
                    let is_like = *own == style && style != Style::Colon;
                    if is_like || (is_last(line) && self.is_instructive(line, *content)) {
                        return line;
                    }
                }
                Kind::Heading { label: Label::Speaker, .. } if groups & SPOKEN == 0 => return question.unwrap_or(line),
                Kind::Heading { label: Label::Material(other), style: own, content, .. } => {
                    let is_about = other & ABOUT != 0 && *content < self.lines[line].end;
                    let is_other = groups & HANDED == 0 || other & (HANDED | RESULTS) != 0;
                    if (*own == style || frame == Frame::Bare) && is_other && !is_about {
                        return question.unwrap_or(line);
                    }
                }
                Kind::Rule { label: Some(_), .. } => return question.unwrap_or(line),
                Kind::Rule { .. } if is_ruled || self.ends_at_rule(line) => return question.unwrap_or(line),
                _ => {}
            }
        }
        question.unwrap_or(self.lines.len())
    }

    /// Whether what stands behind a heading tells the model what to do.
    fn is_instructive(&self, line: usize, content: usize) -> bool {
        let inline = self.text[content..self.lines[line].end].trim();
        if !inline.is_empty() {
            return is_instruction(inline);
        }
        let next = (line + 1..self.lines.len()).find(|next| *self.kind(*next) != Kind::Blank);
        next.is_none_or(|next| is_instruction(&self.text[self.lines[next].clone()]))
    }

    /// Whether the documents end at a rule, and do not go on behind it.
    fn ends_at_rule(&self, rule: usize) -> bool {
        let next = (rule + 1..self.lines.len()).find(|line| *self.kind(*line) != Kind::Blank);
        next.is_none_or(|next| match self.kind(next) {
            Kind::Heading { label: Label::Material(_) | Label::About, .. } => false,
            Kind::Heading { .. } => true,
            Kind::Plain => {
                let text = &self.text[self.lines[next].clone()];
                self.text.len() - self.lines[next].start <= TAIL_BYTES_MAX && (is_question(text) || is_of_task(text))
            }
            _ => false,
        })
    }

    /// Whether an answer follows that is there already, before other material does: then this is a model of what to do.
    fn is_answered(&mut self, from: usize) -> bool {
        if self.decides.is_empty() {
            let mut next = self.lines.len() as u32;
            let decides = (0..self.lines.len()).rev().map(|line| {
                if matches!(
                    self.kind(line),
                    Kind::Heading { label: Label::Material(_) | Label::Answer, is_end: false, .. }
                ) {
                    next = line as u32;
                }
                next
            });
            self.decides = decides.collect();
            self.decides.reverse();
        }
        let Some(line) = self.decides.get(from).map(|line| *line as usize) else { return false };
        let Some(Kind::Heading { label: Label::Answer, content, .. }) = self.kinds.get(line) else { return false };
        let is_filled = |text: &str| {
            count(text) >= FILLED_WORDS_MIN && !text.starts_with(['(', '[', '{', '<', '$']) && !is_instruction(text)
        };
        let inline = self.text[*content..self.lines[line].end].trim();
        if !inline.is_empty() {
            return is_filled(inline);
        }
        let next = line + 1;
        self.kinds.get(next) == Some(&Kind::Plain) && is_filled(self.text[self.lines[next].clone()].trim())
    }

    /// Material without any mark in front of a task that looks back at it: `Summarize the text above.`
    fn look_back(&mut self) {
        let mut end = self.lines.len();
        let mut told: Option<Handing> = None;
        for line in (0..self.lines.len()).rev().take(TAIL_LINES_MAX) {
            let span = &self.lines[line];
            let text = &self.text[span.clone()];
            let (is_tail, is_of_task) = match self.kind(line) {
                Kind::Blank | Kind::Rule { label: None, .. } => (true, false),
                Kind::Heading { label, .. } => (!matches!(label, Label::Material(_) | Label::About), true),
                Kind::Plain => (is_instruction(text) || is_question(text), is_of_task(text) || is_question(text)),
                _ => (false, false),
            };
            if !is_tail {
                break;
            }
            if is_of_task {
                end = line;
            }
            let looks_back = |said: &Handing| {
                let is_there =
                    said.is(BEHIND | GIVEN) || (said.groups & (TEXTUAL | HANDED) != 0 && said.is(THIS | RESTING));
                is_there && said.role == Role::Asks
            };
            told = handing(self.text, span).filter(looks_back).or(told);
        }
        let Some(said) = told.filter(|_| end > 0) else { return };
        let is_head = |line: &usize| match self.kind(*line) {
            Kind::Blank | Kind::Rule { label: None, .. } => true,
            Kind::Plain => {
                let text = &self.text[self.lines[*line].clone()];
                is_of_task(text) || (is_instruction(text) && count(text) <= REMARK_WORDS_MAX)
            }
            Kind::Heading { label, .. } => !matches!(label, Label::Material(_) | Label::About),
            _ => false,
        };
        let first = (0..end).find(|line| !is_head(line)).unwrap_or(end);
        if first >= end {
            return;
        }
        let body = self.lines[first].start..self.lines[end - 1].end;
        if count(&self.text[body.clone()]) >= BEHIND_WORDS_MIN {
            let documents = documents::of_body(self.text, &body);
            let span = trimmed(self.text, body);
            let frame = frame_of(&documents, Frame::Bare);
            self.is_announced = true;
            self.add(span, documents, frame, said.groups);
        }
    }
}

fn begins_at(elements: &[Element], at: usize) -> usize {
    elements[at].open.start
}

fn frame_of(documents: &[Found], frame: Frame) -> Frame {
    if documents.iter().any(|document| document.id.is_some()) { Frame::Documents } else { frame }
}

/// Whether a line tells the model what to do, by its first words.
pub(super) fn is_instruction(line: &str) -> bool {
    let line = line.trim().trim_start_matches(|c: char| {
        c.is_ascii_digit() || matches!(c, '-' | '*' | '.' | ')' | '(' | '•' | '#' | '>' | ' ')
    });
    let head = &line[..line.floor_char_boundary(INSTRUCTION_WORDS_MAX * 12)];
    let mut first = 0;
    let mut found = 0;
    let mut total = 0;
    for (at, word) in words(head).enumerate() {
        if at == 0 {
            first = word.groups;
        }
        if at < 6 && at > 0 && (word.is(POLITE) && word.is(ORDERS)) {
            found |= ORDERS;
        }
        found |= word.groups & (ASKS | MATERIAL);
        total += 1;
    }
    if total > INSTRUCTION_WORDS_MAX || head.len() < line.len() {
        return false;
    }
    let verb = lead(head);
    first & ORDERS != 0
        || (first & CONDITIONS != 0 && found & (ASKS | HANDED) != 0)
        || (first & POLITE != 0 && verb & (ORDERS | LEADS | ASKS | CHANGES | MAKES) != 0)
        || first & (CHANGES | MAKES | ASKS) != 0
        || found & ORDERS != 0
}

fn is_question(line: &str) -> bool {
    let line = line.trim().trim_end_matches(['"', '\'', '”', ')']);
    // `Is it so? Explain.`
    let asked = line.rfind(['?', '？']).is_some_and(|at| count(&line[at..]) <= ADDED_WORDS_MAX);
    asked && count(line) <= QUESTION_WORDS_MAX
}

/// Whether a line at the end of material belongs to the task: an instruction that speaks of the answer, or of the material.
pub(super) fn is_of_task(line: &str) -> bool {
    if !is_instruction(line) {
        return false;
    }
    let asks = words(line).any(|word| word.is(ASKS));
    asks || (lead(line) & (LEADS | CHANGES | MAKES) != 0 && handing(line, &(0..line.len())).is_some())
}

/// Bytes of the JSON object or array that a text begins with; `None` when it breaks off.
fn json_length(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b'"' => {
                at += 1;
                loop {
                    match bytes.get(at)? {
                        b'"' => break,
                        b'\\' => at += 2,
                        _ => at += 1,
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}
