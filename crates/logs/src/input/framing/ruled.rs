//! Framing of tables with bars and rules.

use std::sync::Arc;

use memchr::memchr;

use super::{Framer, Mode, State, Unit};
use crate::input::{
    header::COPY_END,
    ruled::{self, HEAD_BYTES_MAX, Head},
};

impl Framer {
    /// Whether the source is a table whose rows are lines: one with bars, or one that a database copied out.
    pub(super) fn is_ruled(&self) -> bool {
        self.header.as_ref().is_some_and(|header| header.ruled.is_some() || header.is_copied)
    }

    /// Whether the first line, which ends here, may be the beginning of a table with bars.
    pub(super) fn may_be_head(&self, buffer: &[u8]) -> bool {
        let is_open = |line| matches!(ruled::head(line, true), Head::Open);
        self.promised.is_none()
            && self.unit_size() < self.max_record_bytes
            && is_open(&buffer[self.index(self.unit.byte)..self.position])
    }

    /// Before the lines that tell whether the first one begins a table.
    pub(super) fn begin_head(&mut self) {
        self.row_line = self.offset();
        self.position += 1;
        self.state = State::Head;
    }

    pub(super) fn head(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        let start = self.index(self.unit.byte);
        let room = usize::try_from(self.max_record_bytes).unwrap_or(usize::MAX).min(HEAD_BYTES_MAX);
        let end = buffer.len().min(start.saturating_add(room));
        let length = memchr(b'\n', &buffer[self.position.min(end)..end]);
        self.position = length.map_or(end, |length| self.position + length);
        match ruled::head(&buffer[start..self.position], length.is_some()) {
            Head::Table(header) => self.end_head(buffer, header),
            Head::Open if length.is_some() => self.position += 1,
            Head::Open if end < start.saturating_add(room) => {}
            Head::Open | Head::None => self.give_up_head(buffer, units),
        }
    }

    /// At the end of the source. May go back.
    pub(super) fn close_head(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        match ruled::head(&buffer[self.index(self.unit.byte)..self.position], true) {
            Head::Table(header) => self.end_head(buffer, header),
            Head::Open | Head::None => self.give_up_head(buffer, units),
        }
    }

    fn end_head(&mut self, buffer: &[u8], header: super::Header) {
        let head = &buffer[self.index(self.unit.byte)..self.position];
        self.line += head.iter().filter(|&&byte| byte == b'\n').count() as u64;
        (self.mode, self.state, self.header) = (Some(Mode::Rows), State::Between, Some(Arc::new(header)));
    }

    /// The first line is something else, and the lines after it are looked at anew.
    fn give_up_head(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        self.position = self.index(self.row_line);
        self.decide(buffer, units);
    }

    pub(super) fn ruled_row(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        let Some(length) = memchr(b'\n', &buffer[self.position..]) else {
            self.position = buffer.len();
            return;
        };
        self.position += length;
        if self.is_too_large() {
            return self.cut(buffer, units);
        }
        if self.is_no_row(buffer) {
            self.state = State::Between;
            return;
        }
        let line = &buffer[self.index(self.row_line)..self.position];
        if self.header.as_ref().and_then(|header| header.ruled.as_ref()).is_some_and(|ruled| ruled.goes_on(line)) {
            self.position += 1;
            self.line += 1;
            self.row_line = self.offset();
            return;
        }
        self.is_after_rule = false;
        self.cut(buffer, units);
    }

    /// Whether the line at hand, which ends here, is a rule, or ends the table. Of two rules in a row the second one begins
    /// another table.
    pub(super) fn is_no_row(&mut self, buffer: &[u8]) -> bool {
        let is_first = self.row_line == self.unit.byte && !self.is_too_large();
        if is_first && self.header.as_ref().is_some_and(|header| header.is_copied) {
            let line = &buffer[self.index(self.unit.byte)..self.position];
            self.table_is_over = line.trim_ascii_end() == COPY_END;
            return self.table_is_over;
        }
        let Some(ruled) = self.header.as_ref().and_then(|header| header.ruled.as_ref()).filter(|_| is_first) else {
            return false;
        };
        let start = self.index(self.unit.byte);
        let line = &buffer[start..self.position];
        if ruled.is_end(line) {
            self.table_is_over = true;
            return true;
        }
        let is_rule = ruled.is_rule(line);
        if is_rule && self.is_after_rule {
            self.table_is_over = true;
            self.position = start;
        }
        self.is_after_rule = is_rule;
        is_rule
    }

    /// Behind the end of a table another source could begin.
    pub(super) fn begin_anew(&mut self) {
        (self.mode, self.header) = (None, None);
        (self.table_is_over, self.is_after_rule) = (false, false);
    }
}
