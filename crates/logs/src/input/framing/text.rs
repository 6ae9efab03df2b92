//! Framing of texts: histories of chats, each a unit however many lines it takes; and lines that were cut into pieces.
//!
//! A text is told by its first line, or by the name of its source (`.md`: all of it is one text).

use memchr::memchr;

use super::{Framer, Mode, State, Unit};

/// What the texts of a source begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A chat of aider.
    AiderChat,
    /// What aider says to a model.
    AiderCall,
    /// An answer in the Markdown of `llm logs`.
    LlmLog,
    /// What a user typed at a prompt.
    Typed,
    /// The source is one text.
    Whole,
}

/// Bytes of a line that tell whether a text begins there.
const MARK_BYTES: usize = 64;

/// Bytes at which Docker cuts what a container writes.
const DOCKER_PIECE_BYTES: usize = 16 << 10;

impl Mark {
    /// The mark that the first line of a source is.
    pub(super) fn of(line: &[u8]) -> Option<Mark> {
        let marks = [Mark::AiderChat, Mark::AiderCall, Mark::LlmLog, Mark::Typed];
        // A chat may have been cut at its beginning.
        let is_cut_chat = line.starts_with(b"#### ");
        marks.into_iter().find(|mark| mark.begins(line)).or(is_cut_chat.then_some(Mark::AiderChat))
    }

    /// Whether a text begins with this line.
    fn begins(self, line: &[u8]) -> bool {
        let is_date = |text: &[u8]| {
            let digits = text.iter().take(10).enumerate();
            text.len() > 10
                && digits
                    .into_iter()
                    .all(|(at, byte)| if at == 4 || at == 7 { *byte == b'-' } else { byte.is_ascii_digit() })
        };
        let dated = || line.strip_prefix(b"# ").filter(|rest| is_date(rest));
        match self {
            Mark::AiderChat => line.starts_with(b"# aider chat started at "),
            Mark::AiderCall => line.strip_prefix(b"TO LLM ").is_some_and(is_date),
            Mark::LlmLog => {
                dated().is_some_and(|rest| rest[10] == b'T' && line.windows(15).any(|at| at == b" conversation: "))
            }
            Mark::Typed => dated().is_some_and(|rest| rest.len() == 26 && rest[10] == b' '),
            Mark::Whole => false,
        }
    }
}

impl Framer {
    /// Whether the name of a source says that all of it is one text.
    pub(super) fn is_called_text(name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        [".md", ".markdown"].iter().any(|ending| name.ends_with(ending))
    }

    /// Whether the line at hand is too short to tell whether a text begins there.
    pub(super) fn needs_text_mark(&self, buffer: &[u8]) -> bool {
        let rest = &buffer[self.position.min(buffer.len())..];
        self.state == State::TextLine && rest.len() < MARK_BYTES && !rest.contains(&b'\n')
    }

    /// At the beginning of a line of a text: does the next text begin here?
    pub(super) fn text_line(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        let rest = &buffer[self.position..];
        let end = memchr(b'\n', rest).unwrap_or(rest.len());
        let line = rest[..end].trim_ascii_end();
        if self.offset() > self.unit.byte && self.text_mark.is_some_and(|mark| mark.begins(line)) {
            self.blanks = 0;
            return self.cut(buffer, units);
        }
        self.state = State::Text;
    }

    /// In a line of a text.
    pub(super) fn text(&mut self, buffer: &[u8]) {
        match memchr(b'\n', &buffer[self.position..]) {
            Some(length) => {
                self.position += length + 1;
                self.line += 1;
                self.state = State::TextLine;
            }
            None => self.position = buffer.len(),
        }
    }

    /// Takes the source for texts.
    pub(super) fn begin_texts(&mut self, mark: Mark) {
        (self.mode, self.text_mark) = (Some(Mode::Text), Some(mark));
        (self.position, self.state) = (self.index(self.unit.byte), State::TextLine);
    }
}

/// Whether a line is a piece of a longer one, which a runtime of containers has cut: the rest is in the lines after it.
pub(super) fn is_piece(line: &[u8]) -> bool {
    is_docker_piece(line) || is_cri_piece(line)
}

/// `2026-11-20T15:06:00.1Z stdout P ...`, where a last piece has an `F`.
fn is_cri_piece(line: &[u8]) -> bool {
    const TIME_BYTES: std::ops::RangeInclusive<usize> = 19..=40;
    let head = &line[..line.len().min(60)];
    let Some(at) = memchr(b' ', head).filter(|at| TIME_BYTES.contains(at)) else { return false };
    let rest = &head[at + 1..];
    let rest = rest.strip_prefix(b"stdout ").or_else(|| rest.strip_prefix(b"stderr "));
    head[0].is_ascii_digit() && rest.is_some_and(|rest| rest.starts_with(b"P ") || rest.starts_with(b"P:"))
}

/// `{"log":"...","stream":"stdout",...}` that is as long as a piece gets and ends without a line break.
fn is_docker_piece(line: &[u8]) -> bool {
    if line.len() < DOCKER_PIECE_BYTES || !line.starts_with(b"{\"log\":\"") {
        return false;
    }
    let end = memchr::memmem::rfind(line, b"\",\"stream\":\"std");
    // A backslash of its own stands twice.
    let is_break = |text: &[u8]| {
        let escape = text.strip_suffix(b"n").unwrap_or_default();
        escape.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
    };
    end.is_some_and(|end| end >= DOCKER_PIECE_BYTES && !is_break(&line[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_docker_are_told_by_their_length_and_end() {
        let check = |length: usize, end: &str, expected: bool| {
            let line = format!("{{\"log\":\"{}{end}\",\"stream\":\"stdout\",\"time\":\"t\"}}", "x".repeat(length));
            assert_eq!(is_piece(line.as_bytes()), expected, "{length} {end}");
        };
        check(DOCKER_PIECE_BYTES, "", true);
        check(DOCKER_PIECE_BYTES, r"\n", false);
        check(DOCKER_PIECE_BYTES, r"\\n", true);
        check(DOCKER_PIECE_BYTES, r"\\\n", false);
        check(100, "", false);
    }
}
