//! The way back: which bytes of the original text each byte of a view comes from.
//!
//! A view is made of segments. A segment maps groups of a fixed size to groups of a fixed size: one byte to one byte
//! where text was copied, three to four in base64, two to the six of `\u0041`. Runs of equal groups are one segment, so
//! that a map is small however long the text is. Every group of the original begins and ends on a character boundary.

use std::{ops::Range, sync::Arc};

/// Context that is copied on either side of what was decoded, in bytes.
///
/// A rule sees the words around an encoded one; text farther away is not copied, so that a view costs as much as what
/// was decoded and not as much as its text.
pub const CONTEXT_BYTES: usize = 96;

/// Groups of equal size that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    /// First byte in the view.
    at: usize,
    /// Bytes in the view.
    len: usize,
    /// First byte in the text; of the last group where the text runs backwards.
    from: usize,
    /// Bytes of a group in the view.
    group_out: usize,
    /// Bytes of a group in the text.
    group_in: usize,
    /// Whether the bytes stand in the text as they are.
    is_copied: bool,
    /// Whether the groups of the text run backwards.
    is_backwards: bool,
}

impl Segment {
    fn groups(&self) -> usize {
        self.len.div_ceil(self.group_out)
    }

    fn original(&self, span: &Range<usize>) -> Range<usize> {
        let first = (span.start.max(self.at) - self.at) / self.group_out;
        let last = (span.end.min(self.at + self.len) - self.at).div_ceil(self.group_out);
        let (first, last) = match self.is_backwards {
            true => (self.groups() - last, self.groups() - first),
            false => (first, last),
        };
        self.from + first * self.group_in..self.from + last * self.group_in
    }

    /// Takes up one more group, if it continues the run.
    fn extend(&mut self, out: usize, from: &Range<usize>) -> bool {
        if (self.group_out, self.group_in, self.is_copied) != (out, from.len(), false) {
            return false;
        }
        let is_single = self.len == self.group_out;
        let is_next = from.start == self.from + self.groups() * self.group_in;
        if is_next && (is_single || !self.is_backwards) {
            self.is_backwards = false;
        } else if from.end == self.from && (is_single || self.is_backwards) {
            self.is_backwards = true;
            self.from = from.start;
        } else {
            return false;
        }
        self.len += out;
        true
    }
}

/// From the bytes of a view to those of the text that it was made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    segments: Vec<Segment>,
    len: usize,
}

impl Map {
    /// Adds a group: `out` bytes of the view that come from `from`.
    pub fn push(&mut self, out: usize, from: Range<usize>) {
        if out == 0 {
            return;
        }
        if !self.segments.last_mut().is_some_and(|last| last.extend(out, &from)) {
            self.segments.push(Segment {
                at: self.len,
                len: out,
                from: from.start,
                group_out: out,
                group_in: from.len(),
                is_copied: false,
                is_backwards: false,
            });
        }
        self.len += out;
    }

    /// Adds bytes that stand in the text as they are.
    pub fn push_copy(&mut self, from: Range<usize>) {
        let len = from.len();
        if len == 0 {
            return;
        }
        match self.segments.last_mut() {
            Some(last) if last.is_copied && !last.is_backwards && last.from + last.len == from.start => last.len += len,
            _ => self.segments.push(Segment {
                at: self.len,
                len,
                from: from.start,
                group_out: 1,
                group_in: 1,
                is_copied: true,
                is_backwards: false,
            }),
        }
        self.len += len;
    }

    /// Adds what `inner` says of bytes that come from `base` on.
    fn append(&mut self, inner: &Map, base: usize) {
        for segment in &inner.segments {
            self.segments.push(Segment { at: self.len + segment.at, from: base + segment.from, ..segment.clone() });
        }
        self.len += inner.len;
    }

    /// The bytes of the text from which the bytes `span` of the view come; `None` outside of the view.
    pub fn original(&self, span: &Range<usize>) -> Option<Range<usize>> {
        self.touched(span).map(|segment| segment.original(span)).reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
    }

    /// Whether these bytes of the view stand otherwise in the text: some were decoded, or something between them left out.
    pub fn is_changed(&self, span: &Range<usize>) -> bool {
        let mut next = None;
        self.touched(span).any(|segment| {
            let is_broken = next.is_some_and(|next| segment.from != next);
            next = Some(segment.from + segment.len);
            !segment.is_copied || is_broken
        })
    }

    /// Bytes of the view.
    pub fn len(&self) -> usize {
        self.len
    }

    fn touched<'m>(&'m self, span: &Range<usize>) -> impl Iterator<Item = &'m Segment> {
        let first = self.segments.partition_point(|segment| segment.at + segment.len <= span.start);
        let end = span.end;
        self.segments[first..].iter().take_while(move |segment| segment.at < end)
    }
}

/// A decoded stretch of a text, with a map that counts in that text.
#[derive(Clone, Debug, Default)]
pub struct Piece {
    /// What it says.
    pub text: String,
    /// Where it comes from.
    pub map: Map,
}

impl Piece {
    /// Adds characters that come from `from`.
    pub fn push(&mut self, text: &str, from: Range<usize>) {
        self.text.push_str(text);
        self.map.push(text.len(), from);
    }

    /// Adds a character that comes from `from`.
    pub fn push_char(&mut self, character: char, from: Range<usize>) {
        self.text.push(character);
        self.map.push(character.len_utf8(), from);
    }

    /// Adds what stands in `text` at `range`.
    pub fn push_copy(&mut self, text: &str, range: Range<usize>) {
        self.text.push_str(&text[range.clone()]);
        self.map.push_copy(range);
    }
}

/// Writes a view: what was decoded, with the context around it.
pub struct Writer<'t> {
    parent: &'t str,
    piece: Piece,
    /// What of the parent is already written or replaced.
    done: usize,
    /// Bytes of the parent that were replaced.
    changed: Vec<Range<usize>>,
}

/// What a step made of a text.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The view and its way back.
    pub piece: Piece,
    /// The bytes of the text that were replaced.
    pub changed: Vec<Range<usize>>,
}

impl<'t> Writer<'t> {
    /// Nothing of `parent` is written yet.
    pub fn new(parent: &'t str) -> Writer<'t> {
        Writer { parent, piece: Piece::default(), done: 0, changed: Vec::new() }
    }

    /// Replaces `range` by `text`; nothing in front of the end of what was replaced before.
    pub fn replace(&mut self, range: Range<usize>, text: &str) {
        self.begin(&range);
        self.piece.push(text, range);
    }

    /// Replaces `range` by a decoded stretch.
    pub fn piece(&mut self, range: Range<usize>, piece: &Piece) {
        self.begin(&range);
        self.piece.text.push_str(&piece.text);
        self.piece.map.append(&piece.map, 0);
    }

    /// Where the next replacement may begin.
    pub fn done(&self) -> usize {
        self.done
    }

    /// The view, if anything was replaced.
    pub fn finish(mut self) -> Option<Rewritten> {
        if self.changed.is_empty() {
            return None;
        }
        let end = boundary_below(self.parent, self.done + CONTEXT_BYTES).max(self.done);
        self.piece.push_copy(self.parent, self.done..end);
        Some(Rewritten { piece: self.piece, changed: self.changed })
    }

    fn begin(&mut self, range: &Range<usize>) {
        let gap = self.done..range.start.max(self.done);
        let before = boundary_below(self.parent, gap.end.saturating_sub(CONTEXT_BYTES)).max(gap.start);
        if self.changed.is_empty() {
            self.piece.push_copy(self.parent, before..gap.end);
        } else if gap.len() <= 2 * CONTEXT_BYTES {
            self.piece.push_copy(self.parent, gap);
        } else {
            let after = boundary_below(self.parent, gap.start + CONTEXT_BYTES);
            self.piece.push_copy(self.parent, gap.start..after);
            self.piece.push("\n", after..after);
            self.piece.push_copy(self.parent, before..gap.end);
        }
        self.done = range.end;
        match self.changed.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.changed.push(range.clone()),
        }
    }
}

/// The maps of a view, from the innermost step out to the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain(Vec<Arc<Map>>);

impl Chain {
    /// The same chain with one more step inside.
    pub fn with(&self, map: Map) -> Chain {
        let mut maps = Vec::with_capacity(self.0.len() + 1);
        maps.push(Arc::new(map));
        maps.extend(self.0.iter().cloned());
        Chain(maps)
    }

    /// The bytes of the original text from which the bytes `span` of the view come.
    pub fn original(&self, span: Range<usize>) -> Range<usize> {
        self.0.iter().fold(span, |span, map| {
            let at = map.original(&span).unwrap_or(0..0);
            // Something without an original of its own, such as the mark of an omission, leads to where it stands.
            if at.is_empty() && !span.is_empty() { at.start..at.start } else { at }
        })
    }

    /// Whether any of these bytes were decoded by any step.
    pub fn is_changed(&self, span: &Range<usize>) -> bool {
        let mut span = span.clone();
        for map in &self.0 {
            if map.is_changed(&span) {
                return true;
            }
            match map.original(&span) {
                Some(original) => span = original,
                None => return false,
            }
        }
        false
    }

    /// Whether the innermost step changed any of these bytes of the view.
    pub fn is_changed_last(&self, span: &Range<usize>) -> bool {
        self.0.first().is_some_and(|map| map.is_changed(span))
    }
}

/// The last character boundary at or in front of `at`.
pub fn boundary_below(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The first character boundary at or behind `at`.
pub fn boundary_above(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_groups_are_one_segment_forwards_and_backwards() {
        let mut map = Map::default();
        for group in 0..1_000 {
            map.push(3, group * 4..group * 4 + 4);
        }
        assert_eq!(map.segments.len(), 1);
        assert_eq!(map.original(&(3..6)), Some(4..8));
        assert_eq!(map.original(&(4..7)), Some(4..12));

        let mut map = Map::default();
        for at in (0..1_000).rev() {
            map.push(1, at..at + 1);
        }
        assert_eq!(map.segments.len(), 1);
        assert_eq!(map.original(&(0..1)), Some(999..1_000));
        assert_eq!(map.original(&(990..1_000)), Some(0..10));
        assert_eq!(map.original(&(1_000..1_001)), None);
    }

    #[test]
    fn far_context_is_left_out_and_near_context_is_not() {
        let text = format!("{}X{}Y{}", "a".repeat(500), "b".repeat(150), "c".repeat(500));
        let mut writer = Writer::new(&text);
        writer.replace(500..501, "decoded");
        writer.replace(651..652, "too");
        let made = writer.finish().unwrap();
        let expected = format!("{}decoded{}too{}", "a".repeat(96), "b".repeat(150), "c".repeat(96));
        assert_eq!(made.piece.text, expected);
        assert_eq!(made.piece.map.original(&(96..103)), Some(500..501));
        assert_eq!(made.piece.map.original(&(90..110)), Some(494..508));
        assert!(!made.piece.map.is_changed(&(0..96)));
        assert!(made.piece.map.is_changed(&(0..97)));
        assert_eq!(made.changed, [500..501, 651..652]);
        assert_eq!(made.piece.map.len(), expected.len());
    }
}
