//! What single lines show: bullets, numbers, indentation, and code fences.
//!
//! **Fences**: a line with an odd number of ``` runs opens or closes a block. Outside of a block it opens one, but away
//! from the beginning of a line only when nothing or a language follows, so that prose about ``` opens nothing. Inside
//! of one it closes it, unless it begins the line and names a language: models nest fences of one length. Runs that
//! are shorter than the opening one are content. Two runs on one line are a block of their own.
//!
//! **Source**: seed 001, "List Detection" and "Code Block Detection".

use std::ops::Range;

use memchr::{memchr, memmem, memrchr};

/// The longest language name behind a fence.
const LANGUAGE_BYTES_MAX: usize = 40;

/// What the lines of a text show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// Lines that begin with `-`, `*` or `•` and white space.
    pub bullets: u64,
    /// Lines that begin with digits, `.` or `)`, and white space.
    pub numbered: u64,
    /// Lines that are not blank and begin with a tab or four spaces.
    pub indented: u64,
    /// Fenced blocks, one that is not closed included.
    pub blocks: u64,
    /// Whether a fence is never closed.
    pub unclosed: bool,
    /// The first block that may hold JSON.
    pub json_block: Option<Block>,
}

/// A fenced block whose content begins with a bracket, in an unnamed or JSON fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where the fence begins.
    pub start: usize,
    /// The bytes between the fences.
    pub content: Range<usize>,
    /// Whether the fence names JSON.
    pub names_json: bool,
}

impl Lines {
    /// Looks at every line of `text`.
    pub fn of(text: &str) -> Lines {
        let bytes = text.as_bytes();
        let mut lines = Lines::default();
        let mut start = 0;
        while start < bytes.len() {
            let rest = &bytes[start..];
            lines.beginning(rest);
            let Some(length) = memchr(b'\n', rest) else { break };
            start += length + 1;
        }
        if memchr(b'`', bytes).is_some() && memmem::find(bytes, b"```").is_some() {
            fences(bytes, &mut lines);
        }
        lines
    }

    /// Bullets and numbers together.
    pub fn list_items(&self) -> u64 {
        self.bullets + self.numbered
    }

    /// The beginning of a line; `rest` goes on to the end of the text.
    fn beginning(&mut self, rest: &[u8]) {
        match rest[0] {
            b'-' | b'*' => self.bullets += u64::from(begins_blank(&rest[1..])),
            0xE2 => self.bullets += u64::from(rest.strip_prefix("•".as_bytes()).is_some_and(begins_blank)),
            b'0'..=b'9' => {
                let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let mark = matches!(rest.get(digits), Some(b'.' | b')'));
                self.numbered += u64::from(mark && begins_blank(&rest[digits + 1..]));
            }
            b'\t' => self.indented += u64::from(is_line(&rest[1..])),
            b' ' => self.indented += u64::from(rest.strip_prefix(b"    ").is_some_and(is_line)),
            _ => {}
        }
    }
}

fn begins_blank(rest: &[u8]) -> bool {
    match rest.first() {
        Some(byte) if byte.is_ascii() => byte.is_ascii_whitespace(),
        Some(_) => rest.starts_with("\u{a0}".as_bytes()) || rest.starts_with("\u{3000}".as_bytes()),
        None => false,
    }
}

/// Whether anything stands on the line that `rest` begins with.
fn is_line(rest: &[u8]) -> bool {
    let first = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
    first.is_some_and(|byte| *byte != b'\n')
}

/// The outermost block at hand.
struct Open {
    start: usize,
    content: usize,
    ticks: usize,
    depth: u64,
    names_json: bool,
    may_be_json: bool,
}

fn fences(bytes: &[u8], lines: &mut Lines) {
    let finder = memmem::Finder::new(b"```");
    let mut open: Option<Open> = None;
    let mut position = 0;
    while let Some(found) = finder.find(&bytes[position..]) {
        let run = position + found;
        let line_start = memrchr(b'\n', &bytes[position..run]).map_or(position, |at| position + at + 1);
        let line_end = memchr(b'\n', &bytes[run..]).map_or(bytes.len(), |length| run + length);
        let fence = Fence::of(&bytes[line_start..line_end], run - line_start);
        position = line_end;
        match &mut open {
            None if fence.inline_blocks > 0 => lines.blocks += fence.inline_blocks,
            None if fence.begins_line || fence.name.is_some() => {
                lines.blocks += 1;
                open = Some(fence.open(run, (line_end + 1).min(bytes.len())));
            }
            None => {}
            Some(block) if fence.inline_blocks > 0 || fence.ticks < block.ticks => {}
            Some(block) if fence.begins_line && fence.name.is_some_and(|name| !name.is_empty()) => block.depth += 1,
            Some(block) if block.depth > 1 => block.depth -= 1,
            Some(block) => {
                note_json(bytes, block, run, lines);
                open = None;
            }
        }
    }
    lines.unclosed = open.is_some();
    if let Some(block) = open {
        note_json(bytes, &block, bytes.len(), lines);
    }
}

/// A line with a run of backticks.
struct Fence<'b> {
    ticks: usize,
    /// Whether nothing but indentation or a quotation mark stands before the run.
    begins_line: bool,
    /// The language behind the run, empty when nothing is there; `None` when it is something else.
    name: Option<&'b [u8]>,
    /// Blocks that begin and end on this line.
    inline_blocks: u64,
}

impl Fence<'_> {
    fn of(line: &[u8], run: usize) -> Fence<'_> {
        let (before, rest) = line.split_at(run);
        let ticks = rest.iter().take_while(|byte| **byte == b'`').count();
        let behind = rest[ticks..].trim_ascii();
        let further_runs = memmem::find_iter(behind, b"```").count() as u64;
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-#_.".contains(byte);
        let names_language = behind.len() <= LANGUAGE_BYTES_MAX && behind.iter().all(is_name);
        Fence {
            ticks,
            begins_line: before.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'>')),
            name: names_language.then_some(behind),
            inline_blocks: if further_runs % 2 == 1 { further_runs.div_ceil(2) } else { 0 },
        }
    }

    fn open(&self, start: usize, content: usize) -> Open {
        let name = self.name.unwrap_or(b"?").to_ascii_lowercase();
        let names_json = name.starts_with(b"json");
        let may_be_json = names_json || name.is_empty();
        Open { start, content, ticks: self.ticks, depth: 1, names_json, may_be_json }
    }
}

fn note_json(bytes: &[u8], block: &Open, end: usize, lines: &mut Lines) {
    let content = block.content.min(end)..end;
    let begins = matches!(bytes[content.clone()].trim_ascii_start().first(), Some(b'{' | b'['));
    if lines.json_block.is_none() && begins && block.may_be_json {
        lines.json_block = Some(Block { start: block.start, content, names_json: block.names_json });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn list_lines() {
        let check = |text: &str, bullets, numbered, indented| {
            let lines = Lines::of(text);
            assert_eq!((lines.bullets, lines.numbered, lines.indented), (bullets, numbered, indented), "{text:?}");
        };
        check("", 0, 0, 0);
        check("• one\n• two\n* three\n-four\n•five", 3, 0, 0);
        check("  - indented bullet\n- flush bullet", 1, 0, 0);
        check("1. Open\n2) Choose\n3.no\n12. yes\n4", 0, 3, 0);
        check("    one\n\ttwo\n    \n  three\n\t\n", 0, 0, 2);
        check("-\n*", 1, 0, 0);
    }

    #[test]
    fn fences_open_and_close() {
        let check = |text: &str, blocks, unclosed| {
            let lines = Lines::of(text);
            assert_eq!((lines.blocks, lines.unclosed), (blocks, unclosed), "{text:?}");
        };
        check("```js\nx\n```\n```\ny\n```", 2, false);
        check("```\nunclosed fence", 1, true);
        check("inline `code` only", 0, false);
        check("inline ```code``` only", 1, false);
        check("open one with ``` and close it", 0, false);
        check("Use:```python\nx\n```\nDone", 1, false);
        check("1. Step\n   ```sh\n   ls\n   ```\n2. End", 1, false);
        check("```sh\nls```\nDone", 1, false);
        check("```markdown\n# T\n```js\nx\n```\n```\nend", 1, false);
        check("```python\nx = 1\n\n```python\ny = 2\n```\nend", 1, true);
        check("````md\n```\n````\n", 1, false);
        check("```title=\"a b\"\nx\n```", 1, false);
        check("```\r\nx\r\n```\r\n", 1, false);
    }

    #[test]
    fn the_first_json_block_is_noted() {
        let content = |text: &str| Lines::of(text).json_block.map(|block| text[block.content].to_string());
        assert_eq!(content("```json\n{\"a\":1}\n```").as_deref(), Some("{\"a\":1}\n"));
        assert_eq!(content("a\n```py\n{}\n```\n```\n[1]\n```").as_deref(), Some("[1]\n"));
        assert_eq!(content("```JSON\n{\"a\":[1,2").as_deref(), Some("{\"a\":[1,2"));
        assert_eq!(content("```json\nnone\n```"), None);
        assert_eq!(content("```json"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_accepted(text in "[`a \n\t•1.{-]{0,80}") {
            let lines = Lines::of(&text);
            prop_assert!(lines.blocks <= text.matches("```").count() as u64);
            prop_assert!(!lines.unclosed || lines.blocks > 0);
        }
    }
}
