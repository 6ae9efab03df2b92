//! Where a text is code: fenced blocks and inline code.
//!
//! **Fenced**: from a line that begins with three or more backticks or tildes to the next line that begins with at least
//! as many of the same and holds nothing else; to the end of the text when there is none. **Inline**: between two single
//! backticks, or two double ones, on one line.
//!
//! **Source**: CommonMark 0.31, sections 4.5 and 6.1, without blocks that are indented only.
//!
//! **Limits**: one pass. Code that an answer does not mark as such is not seen.

use std::ops::Range;

/// The code of `text`, as byte ranges in order that do not overlap; marks included.
pub fn code_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    if memchr::memchr2(b'`', b'~', text.as_bytes()).is_none() {
        return ranges;
    }
    let mut open: Option<(usize, u8, usize)> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        match (open, fence(line)) {
            (None, Some((mark, length, _))) => open = Some((start, mark, length)),
            (Some((from, mark, length)), Some((closing, closing_length, true)))
                if closing == mark && closing_length >= length =>
            {
                ranges.push(from..end);
                open = None;
            }
            (None, None) => inline(line, start, &mut ranges),
            (Some(_), _) => {}
        }
        start = end;
    }
    if let Some((from, ..)) = open {
        ranges.push(from..text.len());
    }
    ranges
}

/// Whether `at` lies in one of `ranges`, which stand in order.
pub fn is_within(ranges: &[Range<usize>], at: usize) -> bool {
    let after = ranges.partition_point(|range| range.end <= at);
    ranges.get(after).is_some_and(|range| range.contains(&at))
}

/// The parts of `text` outside of `ranges`.
pub fn outside<'t>(text: &'t str, ranges: &[Range<usize>]) -> Vec<&'t str> {
    let mut parts = Vec::with_capacity(ranges.len() + 1);
    let mut at = 0;
    for range in ranges {
        parts.push(&text[at..range.start]);
        at = range.end;
    }
    parts.push(&text[at..]);
    parts
}

/// The mark of a fence, how many there are, and whether nothing follows them.
fn fence(line: &str) -> Option<(u8, usize, bool)> {
    let line = line.trim_start_matches([' ', '\t', '>']);
    let mark = *line.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = line.bytes().take_while(|byte| *byte == mark).count();
    let rest = &line[length..];
    (length >= 3 && !(mark == b'`' && rest.contains('`'))).then(|| (mark, length, rest.trim().is_empty()))
}

fn inline(line: &str, offset: usize, ranges: &mut Vec<Range<usize>>) {
    let bytes = line.as_bytes();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'`', &bytes[at..]) {
        let start = at + found;
        let ticks = bytes[start..].iter().take_while(|byte| **byte == b'`').count();
        let body = start + ticks;
        // Of longer runs than two on a line of prose nothing is known.
        let close =
            if ticks == 1 { memchr::memchr(b'`', &bytes[body..]) } else { memchr::memmem::find(&bytes[body..], b"``") };
        let Some(length) = close.filter(|_| ticks <= 2) else { return };
        let end = (body + length + ticks).min(bytes.len());
        ranges.push(offset + start..offset + end);
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let code: Vec<&str> = code_ranges(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(code, expected, "{text:?}");
    }

    #[test]
    fn fences_and_inline_code_are_code() {
        check("a\n```sh\nrm\n```\nb", &["```sh\nrm\n```\n"]);
        check("a\n~~~\nx\n```\n~~~\nb", &["~~~\nx\n```\n~~~\n"]);
        check("````md\n```\n````\nx", &["````md\n```\n````\n"]);
        check("run `rm -rf` or ``a`b``.", &["`rm -rf`", "``a`b``"]);
        check("```\nnever closed", &["```\nnever closed"]);
        check("one ` alone", &[]);
        check("> ```\n> x\n> ```\ny", &["> ```\n> x\n> ```\n"]);
        check("", &[]);
    }

    #[test]
    fn places_are_found_in_the_ranges() {
        let ranges = [2..4, 6..9];
        let within: Vec<usize> = (0..10).filter(|at| is_within(&ranges, *at)).collect();
        assert_eq!(within, [2, 3, 6, 7, 8]);
        assert_eq!(outside("0123456789", &ranges), ["01", "45", "9"]);
    }

    proptest! {
        #[test]
        fn ranges_are_in_order_and_on_characters(text in "[`~a é\n>]{0,80}") {
            let ranges = code_ranges(&text);
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start));
            prop_assert!(ranges.iter().all(|range| text.get(range.clone()).is_some()));
        }
    }
}
