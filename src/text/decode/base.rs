//! Bytes written as text: hex, base32, base64, base58, base85, base2048, ecoji, uuencode; UTF-16 and gzip inside.
//!
//! A run is decoded only if every character of it belongs to the alphabet, and it is a view only if what comes out reads
//! as text ([`is_readable`]): an image, a hash or a key in base64 makes none. The strictest alphabet is tried first.
//!
//! **Sources**: RFC 4648 (base16, base32, base64), RFC 1924 and ZeroMQ RFC 32 (base85 alphabets), Adobe's Ascii85, the
//! Bitcoin alphabet of base58, POSIX uuencode; the alphabets of base2048 (Rust crate `base2048`) and ecoji (version 1)
//! were derived by encoding every value with their public implementations.
//!
//! **Limits**: base85 of ASCII text only; [`INFLATED_BYTES_MAX`], [`BASE58_CHARS_MAX`] (its arithmetic is quadratic) and
//! [`BASE58_TOTAL_CHARS_MAX`] of one text.

use std::{io::Read, ops::Range, sync::LazyLock};

use super::{
    Candidate, english,
    offsets::{Map, Piece, Writer},
    signs::{RUN_MIN_BYTES, Signs},
};

/// Bytes that compressed data may inflate to; what is beyond is left out.
pub const INFLATED_BYTES_MAX: usize = 256 << 10;
/// Characters of one run of base58.
pub const BASE58_CHARS_MAX: usize = 512;
/// How often a text may be passed over by base 85, whose blobs may begin at every mark.
const BASE85_PASSES_MAX: usize = 8;
/// Characters of base58 that are tried in one text.
pub const BASE58_TOTAL_CHARS_MAX: usize = 16 << 10;
/// Bytes that a decoded run has at least.
const DECODED_BYTES_MIN: usize = 8;
/// Bytes below which what was decoded must be letters in the main, since short runs decode to something by chance.
const SHORT_BYTES: usize = 24;
/// Characters of the first of several lines that are one blob.
const WRAPPED_LINE_MIN_CHARS: usize = 24;

/// How often a run changes from one block of characters to another at least.
const WIDE_CHANGES_MIN: usize = 4;

const SKIP: u8 = 0xfe;
const INVALID: u8 = 0xff;

/// An encoding of bits by single ASCII characters.
struct BitCode {
    name: &'static str,
    bits: u32,
    chars_of_group: usize,
    value_of: [u8; 256],
}

static HEX: LazyLock<BitCode> = LazyLock::new(|| BitCode::new("hex", 4, 2, &["0123456789abcdef", "0123456789ABCDEF"]));
static BASE32: LazyLock<BitCode> = LazyLock::new(|| {
    BitCode::new("base32", 5, 8, &["ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "abcdefghijklmnopqrstuvwxyz234567"])
});
static BASE64: LazyLock<BitCode> = LazyLock::new(|| {
    const STANDARD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    BitCode::new("base64", 6, 4, &[STANDARD, URL])
});

impl BitCode {
    fn new(name: &'static str, bits: u32, chars_of_group: usize, alphabets: &[&str]) -> BitCode {
        let mut value_of = [INVALID; 256];
        for alphabet in alphabets {
            for (byte, value) in alphabet.bytes().zip(0..) {
                value_of[usize::from(byte)] = value;
            }
        }
        for byte in b" \t\r\n=" {
            value_of[usize::from(*byte)] = SKIP;
        }
        BitCode { name, bits, chars_of_group, value_of }
    }

    /// The bytes of a run; `None` when a character does not belong, or the length cannot be.
    fn decode(&self, bytes: &[u8], range: Range<usize>) -> Option<Bytes> {
        let mut decoded = Bytes { data: Vec::with_capacity(range.len() * self.bits as usize / 8), map: Map::default() };
        let (mut group, mut chars, mut first) = (0u64, 0, range.start);
        let mut last = range.start;
        for at in range {
            let value = self.value_of[usize::from(bytes[at])];
            match value {
                SKIP => continue,
                INVALID => return None,
                _ => {}
            }
            if chars == 0 {
                first = at;
            }
            last = at;
            group = group << self.bits | u64::from(value);
            chars += 1;
            if chars == self.chars_of_group {
                decoded.push(group, chars as u32 * self.bits, first..at + 1);
                (group, chars) = (0, 0);
            }
        }
        if chars > 0 {
            let bits = chars as u32 * self.bits;
            if bits < 8 || bits % 8 >= self.bits {
                return None;
            }
            decoded.push(group >> (bits % 8), bits - bits % 8, first..last + 1);
        }
        Some(decoded)
    }

    fn has(&self, byte: u8) -> bool {
        self.value_of[usize::from(byte)] < SKIP
    }
}

/// Decoded bytes with their way back.
#[derive(Default)]
struct Bytes {
    data: Vec<u8>,
    map: Map,
}

impl Bytes {
    /// Adds the lowest `bits` of `group`, a multiple of eight.
    fn push(&mut self, group: u64, bits: u32, from: Range<usize>) {
        for shift in (0..bits / 8).rev() {
            self.data.push((group >> (shift * 8)) as u8);
        }
        self.map.push(bits as usize / 8, from);
    }

    /// The text that these bytes are, and by which further step; `None` unless it is readable.
    fn into_piece(self, strictness: Strictness) -> Option<(Option<&'static str>, Piece)> {
        if self.data.len() < DECODED_BYTES_MIN {
            return None;
        }
        if let Some(data) = inflated(&self.data) {
            let whole = self.map.original(&(0..self.map.len()))?;
            let text = String::from_utf8_lossy(&data).into_owned();
            let mut piece = Piece::default();
            piece.push(&text, whole);
            return is_readable(&piece.text, Strictness::Usual).then_some((Some("gzip"), piece));
        }
        if looks_like_utf16(&self.data) {
            let piece = self.utf16();
            return is_readable(&piece.text, strictness).then_some((Some("utf16"), piece));
        }
        // Most candidates are no text at all: the first bytes tell, and the rest need not be looked at.
        let start = &self.data[..self.data.len().min(64)];
        if start.iter().filter(|byte| is_control(**byte)).count() * 10 > start.len() {
            return None;
        }
        let piece = match String::from_utf8(self.data) {
            Ok(text) => Piece { text, map: self.map },
            Err(error) => lossy(error.as_bytes(), &self.map)?,
        };
        is_readable(&piece.text, strictness).then_some((None, piece))
    }

    fn utf16(&self) -> Piece {
        let mut piece = Piece::default();
        let units = self.data.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let mut at = 0;
        for unit in char::decode_utf16(units) {
            let character = unit.unwrap_or(char::REPLACEMENT_CHARACTER);
            let span = at..at + character.len_utf16() * 2;
            at = span.end;
            piece.push_char(character, self.map.original(&span).unwrap_or(0..0));
        }
        piece
    }
}

fn is_control(byte: u8) -> bool {
    byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r') || byte == 0x7f
}

/// Text with at most one byte in twenty that is none; those are left out.
fn lossy(data: &[u8], map: &Map) -> Option<Piece> {
    let mut piece = Piece::default();
    let (mut at, mut invalid) = (0, 0);
    for chunk in data.utf8_chunks() {
        for character in chunk.valid().chars() {
            let span = at..at + character.len_utf8();
            at = span.end;
            piece.push_char(character, map.original(&span)?);
        }
        at += chunk.invalid().len();
        invalid += chunk.invalid().len();
        if invalid * 20 > data.len() {
            return None;
        }
    }
    Some(piece)
}

fn looks_like_utf16(data: &[u8]) -> bool {
    let start = &data[..data.len().min(64) & !1];
    let zeros = start.chunks_exact(2).filter(|pair| pair[1] == 0 && pair[0] != 0).count();
    data.len().is_multiple_of(2) && start.len() >= 8 && zeros * 10 >= start.len() / 2 * 8
}

fn inflated(data: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let limit = INFLATED_BYTES_MAX as u64;
    match data {
        [0x1f, 0x8b, 8, ..] => flate2::read::GzDecoder::new(data).take(limit).read_to_end(&mut out).ok()?,
        [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => {
            flate2::read::ZlibDecoder::new(data).take(limit).read_to_end(&mut out).ok()?
        }
        _ => return None,
    };
    Some(out)
}

/// How sure a decoded text must look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Characters of a text.
    Usual,
    /// English: for alphabets of which ordinary text is full.
    English,
}

/// Whether what was decoded is text and not bytes that happen to be characters.
pub fn is_readable(text: &str, strictness: Strictness) -> bool {
    if strictness == Strictness::English {
        return english::score(text.bytes()).mean() >= 0.8 && letters_share(text) >= 0.7;
    }
    let (mut characters, mut controls, mut wordlike, mut letters) = (0usize, 0usize, 0usize, 0usize);
    for character in text.chars() {
        characters += 1;
        if character.is_control() && !matches!(character, '\t' | '\n' | '\r')
            || character == char::REPLACEMENT_CHARACTER
        {
            controls += 1;
        } else if character.is_alphanumeric() || character.is_whitespace() {
            wordlike += 1;
            letters += usize::from(character.is_alphabetic());
        }
    }
    if characters < DECODED_BYTES_MIN / 2 || controls * 25 > characters {
        return false;
    }
    if text.len() < SHORT_BYTES {
        // By chance, and not by purpose, letters of many scripts come out together.
        return text.is_ascii() && wordlike * 10 >= characters * 7 && letters * 2 >= characters;
    }
    wordlike * 20 >= characters * 11
}

/// Letters and spaces per character.
fn letters_share(text: &str) -> f64 {
    let wordlike = text.chars().filter(|character| character.is_alphabetic() || *character == ' ').count();
    wordlike as f64 / text.chars().count().max(1) as f64
}

/// Writers of one view each, by the steps that lead to it.
struct Found<'t> {
    text: &'t str,
    writers: Vec<(Vec<&'static str>, Writer<'t>)>,
    /// By code: up to where lines were taken together that were no blob. Trying again from each of them would pass over
    /// all that follow as often as there are lines.
    tried_until: [usize; 3],
    /// The next `~>`, once it was looked for.
    ascii85_end: Option<usize>,
    /// Characters that base 85 may still try to decode.
    base85_left: usize,
}

impl<'t> Found<'t> {
    fn new(text: &'t str) -> Found<'t> {
        let base85_left = BASE85_PASSES_MAX * text.len();
        Found { text, writers: Vec::new(), tried_until: [0; 3], ascii85_end: None, base85_left }
    }

    /// The first `~>` from `start` on; the end of the text when there is none. To be asked with rising positions.
    fn ascii85_end(&mut self, start: usize) -> usize {
        if self.ascii85_end.is_none_or(|end| end < start) {
            let end = memchr::memmem::find(&self.text.as_bytes()[start..], b"~>");
            self.ascii85_end = Some(end.map_or(self.text.len(), |offset| start + offset));
        }
        self.ascii85_end.unwrap_or(self.text.len())
    }

    fn add(&mut self, name: &'static str, further: Option<&'static str>, range: Range<usize>, piece: &Piece) {
        let steps: Vec<&'static str> = [name].into_iter().chain(further).collect();
        let at = self.writers.iter().position(|(known, _)| *known == steps).unwrap_or_else(|| {
            self.writers.push((steps, Writer::new(self.text)));
            self.writers.len() - 1
        });
        let writer = &mut self.writers[at].1;
        if range.start >= writer.done() {
            writer.piece(range, piece);
        }
    }
}

/// Finds what is encoded by ASCII characters.
pub fn find(signs: &Signs<'_>, out: &mut Vec<Candidate>) {
    let mut found = Found::new(signs.text);
    let mut base58_left = BASE58_TOTAL_CHARS_MAX;
    let mut done = 0;
    for run in &signs.runs {
        if run.start < done {
            continue;
        }
        done = run.end.max(of_run(signs, run.clone(), &mut base58_left, &mut found));
    }
    spaced_hex(signs, &mut found);
    uuencode(signs, &mut found);
    for (steps, writer) in found.writers {
        out.extend(writer.finish().map(|view| Candidate { steps, view }));
    }
}

/// Everything in one run of visible characters; where to go on.
fn of_run(signs: &Signs<'_>, run: Range<usize>, base58_left: &mut usize, found: &mut Found<'_>) -> usize {
    let bytes = signs.bytes();
    let mut at = run.start;
    let mut end = run.end;
    let mut any = false;
    while at < run.end {
        if !BASE64.has(bytes[at]) {
            at += 1;
            continue;
        }
        let len = bytes[at..run.end].iter().position(|byte| !BASE64.has(*byte)).unwrap_or(run.end - at);
        let word = at..at + len;
        at = word.end;
        if len >= RUN_MIN_BYTES {
            let stop = of_word(bytes, word, base58_left, found);
            any |= stop.is_some();
            end = end.max(stop.unwrap_or_default());
            at = at.max(stop.unwrap_or_default());
        }
    }
    if !any {
        base85(signs, run, found);
    }
    end
}

/// Tries the alphabets on a run of letters, digits, `+/-_`; where the blob ends, if it is one.
fn of_word(bytes: &[u8], word: Range<usize>, base58_left: &mut usize, found: &mut Found<'_>) -> Option<usize> {
    let mut end = word.end;
    while end < bytes.len() && end < word.end + 6 && bytes[end] == b'=' {
        end += 1;
    }
    let hex = match bytes[word.clone()] {
        [b'0', b'x' | b'X', ..] => word.start + 2..word.end,
        _ => word.clone(),
    };
    for (index, (code, range)) in
        [(&HEX, hex), (&BASE32, word.clone()), (&BASE64, word.clone())].into_iter().enumerate()
    {
        let of_code = |at: &Range<usize>| bytes[at.clone()].iter().all(|byte| code.has(*byte));
        if !of_code(&range) {
            continue;
        }
        let mut ends = [end, end];
        if range.start >= found.tried_until[index] {
            ends[0] = wrapped_end(bytes, code, range.clone());
            found.tried_until[index] = ends[0];
        }
        for end in ends {
            if let Some((further, piece)) = try_code(bytes, code, range.start..end) {
                found.add(code.name, further, word.start..end, &piece);
                return Some(end);
            }
        }
    }
    if let Some(end) = in_parts(bytes, word.clone(), end, found) {
        return Some(end);
    }
    base58(bytes, word, base58_left, found)
}

/// A path, or words glued by a dash, may hold a blob as one of its parts.
fn in_parts(bytes: &[u8], word: Range<usize>, end: usize, found: &mut Found<'_>) -> Option<usize> {
    let is_glue = |byte: u8| matches!(byte, b'/' | b'-' | b'_' | b'+');
    let mut any = None;
    let mut start = word.start;
    for at in word.start..=word.end {
        if at < word.end && !is_glue(bytes[at]) {
            continue;
        }
        let part = start..if at == word.end { end } else { at };
        start = at + 1;
        if (RUN_MIN_BYTES..word.len()).contains(&part.len())
            && let Some((further, piece)) = try_code(bytes, &BASE64, part.clone())
        {
            any = Some(part.end);
            found.add(BASE64.name, further, part, &piece);
        }
    }
    any
}

fn try_code(bytes: &[u8], code: &BitCode, range: Range<usize>) -> Option<(Option<&'static str>, Piece)> {
    let is_number = bytes[range.clone()].iter().all(u8::is_ascii_digit);
    // Half of all pairs of decimal digits are letters in hex.
    let strictness = if is_number { Strictness::English } else { Strictness::Usual };
    // A whole number of groups of the beginning tells most runs that are no text.
    let head = range.start..range.end.min(range.start + code.chars_of_group * 32);
    if head.len() < range.len() {
        let start = code.decode(bytes, head);
        if start.is_none_or(|start| !may_be_text(&start.data)) {
            return None;
        }
    }
    code.decode(bytes, range)?.into_piece(strictness)
}

/// Whether bytes begin like a text, or like something that holds one.
fn may_be_text(data: &[u8]) -> bool {
    let controls = data.iter().filter(|byte| is_control(**byte)).count();
    controls * 10 <= data.len() || looks_like_utf16(data) || matches!(data, [0x1f, 0x8b, ..] | [0x78, ..])
}

/// Where a blob ends that goes on over lines of equal length, the last of them shorter.
fn wrapped_end(bytes: &[u8], code: &BitCode, line: Range<usize>) -> usize {
    let width = line.len();
    let mut end = line.end;
    if width < WRAPPED_LINE_MIN_CHARS {
        return end;
    }
    loop {
        let gap = bytes[end..].iter().take(16).take_while(|byte| byte.is_ascii_whitespace()).count();
        let start = end + gap;
        let len = bytes[start..].iter().take(width + 1).take_while(|byte| code.has(**byte)).count();
        if gap == 0 || !bytes[end..start].contains(&b'\n') || len == 0 || len > width {
            break;
        }
        if len < width {
            let padded = bytes[start + len..].iter().take(6).take_while(|byte| **byte == b'=').count();
            let total = len + padded;
            // A word of the sentence behind the blob is no line of it.
            if padded > 0 || total.is_multiple_of(code.chars_of_group) || start + len == bytes.len() {
                end = start + total;
            }
            break;
        }
        end = start + len;
    }
    let padded = bytes[end..].iter().take(6).take_while(|byte| **byte == b'=').count();
    end + padded
}

/// Bytes in hex, each apart from the next: `69 67`, `69:67`, `0x69, 0x67`.
fn spaced_hex(signs: &Signs<'_>, found: &mut Found<'_>) {
    let bytes = signs.bytes();
    for place in super::signs::widened(signs.text, &signs.digits) {
        let mut decoded = Bytes::default();
        let mut start = place.start;
        let mut end = place.start;
        let mut at = place.start;
        loop {
            let next = (at..place.end.saturating_sub(1)).find(|at| bytes[*at].is_ascii_hexdigit());
            let Some(mut digit) = next else { break };
            let first = digit;
            if bytes[digit] == b'0' && matches!(bytes.get(digit + 1), Some(b'x' | b'X')) {
                digit += 2;
            }
            let is_pair = bytes.get(digit..digit + 2).is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit));
            let is_alone = !bytes.get(digit + 2).is_some_and(u8::is_ascii_alphanumeric)
                && (first == 0 || !bytes[first - 1].is_ascii_alphanumeric());
            let is_near = decoded.data.is_empty() || first - end <= 3;
            if !(is_pair && is_alone && is_near) {
                take(found, std::mem::take(&mut decoded), start..end);
                let skipped = bytes[first..place.end].iter().position(|byte| !byte.is_ascii_alphanumeric());
                match (is_pair && is_alone, skipped) {
                    (true, _) => {}
                    (false, Some(len)) => {
                        at = first + len;
                        continue;
                    }
                    (false, None) => break,
                }
            }
            let value = u8::from_str_radix(&signs.text[digit..digit + 2], 16).unwrap_or_default();
            if decoded.data.is_empty() {
                start = first;
            }
            decoded.push(value.into(), 8, first..digit + 2);
            (end, at) = (digit + 2, digit + 2);
        }
        take(found, decoded, start..end);
    }

    fn take(found: &mut Found<'_>, decoded: Bytes, range: Range<usize>) {
        // Decimal numbers of two digits are everywhere: only what reads as English is hex.
        if let Some((further, piece)) = decoded.into_piece(Strictness::English) {
            found.add("hex", further, range, &piece);
        }
    }
}

static BASE58: LazyLock<[u8; 256]> =
    LazyLock::new(|| values_of("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"));
/// Python's `b85encode` and git; ZeroMQ's.
static BASE85: LazyLock<[[u8; 256]; 2]> = LazyLock::new(|| {
    [
        values_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"),
        values_of("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"),
    ]
});
static ASCII85: LazyLock<[u8; 256]> = LazyLock::new(|| {
    let mut values = [INVALID; 256];
    for (value, byte) in (b'!'..=b'u').enumerate() {
        values[usize::from(byte)] = value as u8;
    }
    values
});

fn values_of(alphabet: &str) -> [u8; 256] {
    let mut values = [INVALID; 256];
    for (byte, value) in alphabet.bytes().zip(0..) {
        values[usize::from(byte)] = value;
    }
    values
}

/// A number in base 58, read as bytes; it has capitals, small letters and digits.
fn base58(bytes: &[u8], word: Range<usize>, left: &mut usize, found: &mut Found<'_>) -> Option<usize> {
    let chars = &bytes[word.clone()];
    let is_mixed = [u8::is_ascii_digit, u8::is_ascii_uppercase, u8::is_ascii_lowercase]
        .iter()
        .all(|class| chars.iter().take(BASE58_CHARS_MAX).any(class));
    if chars.len() > BASE58_CHARS_MAX.min(*left) || !is_mixed {
        return None;
    }
    if chars.iter().any(|byte| BASE58[usize::from(*byte)] == INVALID) {
        return None;
    }
    *left -= chars.len();
    let mut data: Vec<u8> = Vec::with_capacity(chars.len());
    for byte in chars {
        let mut carry = u32::from(BASE58[usize::from(*byte)]);
        for digit in &mut data {
            carry += u32::from(*digit) * 58;
            *digit = carry as u8;
            carry >>= 8;
        }
        while carry > 0 {
            data.push(carry as u8);
            carry >>= 8;
        }
    }
    data.reverse();
    let mut map = Map::default();
    map.push(data.len(), word.clone());
    let (further, piece) = Bytes { data, map }.into_piece(Strictness::Usual)?;
    found.add("base58", further, word.clone(), &piece);
    Some(word.end)
}

/// A whole run in one of the alphabets of 85 characters, without the marks and quotes around it.
fn base85(signs: &Signs<'_>, run: Range<usize>, found: &mut Found<'_>) {
    let bytes = signs.bytes();
    let mut inner = run.clone();
    if bytes[run.clone()].starts_with(b"<~") {
        let end = found.ascii85_end(run.start + 2);
        inner = run.start + 2..if end == bytes.len() { run.end } else { end };
    }
    let is_quote = |byte: u8| matches!(byte, b'"' | b'\'' | b'`');
    let bare = match bytes[inner.clone()] {
        [first, .., last] if is_quote(first) && first == last => inner.start + 1..inner.end - 1,
        _ => inner.clone(),
    };
    for range in [bare, inner.clone()] {
        for (name, values) in [("ascii85", &*ASCII85), ("base85", &BASE85[0]), ("base85", &BASE85[1])] {
            // The first of each five characters of ASCII text is one of the first 42 of the alphabet.
            let mut firsts = bytes[range.clone()].iter().step_by(5).take(4).map(|byte| values[usize::from(*byte)]);
            if !firsts.all(|value| value < 42) {
                continue;
            }
            let head = range.start..range.end.min(range.start + 40);
            let is_text = base85_bytes(bytes, head, values).is_some_and(|head| may_be_text(&head.data));
            if !is_text {
                continue;
            }
            if range.len() > found.base85_left {
                return;
            }
            found.base85_left -= range.len();
            let decoded = base85_bytes(bytes, range.clone(), values);
            let Some((further, piece)) = decoded.and_then(|decoded| decoded.into_piece(Strictness::Usual)) else {
                continue;
            };
            if further.is_some() || letters_share(&piece.text) >= 0.7 {
                found.add(name, further, range, &piece);
                return;
            }
        }
        if inner.len() == run.len() && inner == range {
            return;
        }
    }
}

fn base85_bytes(bytes: &[u8], range: Range<usize>, values: &[u8; 256]) -> Option<Bytes> {
    let mut decoded = Bytes::default();
    let (mut group, mut chars, mut first, mut last) = (0u64, 0u32, range.start, range.start);
    for at in range {
        let byte = bytes[at];
        if byte.is_ascii_whitespace() {
            continue;
        }
        if byte == b'z' && chars == 0 && values[usize::from(b'z')] == INVALID {
            decoded.push(0, 32, at..at + 1);
            continue;
        }
        let value = values[usize::from(byte)];
        if value == INVALID {
            return None;
        }
        if chars == 0 {
            first = at;
        }
        last = at;
        group = group * 85 + u64::from(value);
        chars += 1;
        if chars == 5 {
            if group > u64::from(u32::MAX) {
                return None;
            }
            decoded.push(group, 32, first..at + 1);
            (group, chars) = (0, 0);
        }
    }
    match chars {
        0 => {}
        1 => return None,
        _ => {
            for _ in chars..5 {
                group = group * 85 + 84;
            }
            let dropped = (5 - chars) * 8;
            decoded.push((group & 0xffff_ffff) >> dropped, 32 - dropped, first..last + 1);
        }
    }
    Some(decoded)
}

/// Lines that name their length: uuencode.
fn uuencode(signs: &Signs<'_>, found: &mut Found<'_>) {
    let bytes = signs.bytes();
    let mut decoded = Bytes::default();
    let (mut start, mut end) = (0, 0);
    let mut at = 0;
    while at < bytes.len() {
        let line_end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |len| at + len);
        let line = at..line_end - usize::from(line_end > at && bytes[line_end - 1] == b'\r');
        match uu_line(bytes, &line) {
            Some(data) => {
                if decoded.data.is_empty() {
                    start = line.start;
                }
                end = line.end;
                decoded.data.extend_from_slice(&data.data);
                for group in data.groups {
                    decoded.map.push(group.0, group.1);
                }
            }
            None => take(found, std::mem::take(&mut decoded), start..end),
        }
        at = line_end + 1;
    }
    take(found, decoded, start..end);

    fn take(found: &mut Found<'_>, decoded: Bytes, range: Range<usize>) {
        if let Some((further, piece)) = decoded.into_piece(Strictness::Usual)
            && (further.is_some() || letters_share(&piece.text) >= 0.6)
        {
            found.add("uuencode", further, range, &piece);
        }
    }
}

struct UuLine {
    data: Vec<u8>,
    groups: Vec<(usize, Range<usize>)>,
}

/// One line: its length, then four characters for every three bytes; blanks at its end may have been cut.
fn uu_line(bytes: &[u8], line: &Range<usize>) -> Option<UuLine> {
    let (first, body) = bytes[line.clone()].split_first()?;
    let len = usize::from(first.wrapping_sub(b' '));
    let full = len.div_ceil(3) * 4;
    if !(1..=45).contains(&len) || body.len() > full + 1 || body.len() < len * 4 / 3 {
        return None;
    }
    if !body.iter().all(|byte| (b' '..=b'`').contains(byte)) {
        return None;
    }
    let mut parsed = UuLine { data: Vec::with_capacity(len + 2), groups: Vec::new() };
    for group in 0..full / 4 {
        let value =
            |index: usize| u32::from(body.get(group * 4 + index).map_or(0, |byte| byte.wrapping_sub(b' ') & 0x3f));
        let bits = value(0) << 18 | value(1) << 12 | value(2) << 6 | value(3);
        let count = (len - group * 3).min(3);
        parsed.data.extend_from_slice(&bits.to_be_bytes()[1..1 + count]);
        let start = (line.start + 1 + group * 4).min(line.end);
        parsed.groups.push((count, start..(start + 4).min(line.end)));
    }
    Some(parsed)
}

/// From the values of a run, with their places, to its bytes.
type DecodeRun = fn(&[(u16, Range<usize>)]) -> Option<Bytes>;

/// An alphabet of characters that are not ASCII.
struct WideCode {
    name: &'static str,
    /// By character.
    values: Vec<(char, u16)>,
    /// Whether a character may belong, without looking it up.
    may_have: fn(char) -> bool,
    decode: DecodeRun,
}

/// 2048 characters of eleven bits, and eight that end a text with at most three; from the letters of many scripts.
static BASE2048: LazyLock<WideCode> = LazyLock::new(|| {
    WideCode::new(
        "base2048",
        include_str!("tables/base2048.txt"),
        |character| ('\u{aa}'..'\u{2000}').contains(&character),
        base2048,
    )
});
/// 1024 characters of ten bits, four that end a group of four bytes, and the filler.
static ECOJI: LazyLock<WideCode> = LazyLock::new(|| {
    WideCode::new(
        "ecoji",
        include_str!("tables/ecoji.txt"),
        |character| matches!(character, '\u{231a}'..'\u{2c00}' | '\u{1f000}'..'\u{20000}'),
        ecoji,
    )
});

impl WideCode {
    fn new(name: &'static str, table: &str, may_have: fn(char) -> bool, decode: DecodeRun) -> WideCode {
        let mut values: Vec<(char, u16)> = table.chars().filter(|character| *character != '\n').zip(0..).collect();
        values.sort_unstable();
        WideCode { name, values, may_have, decode }
    }

    /// A run of characters that may belong, as text.
    fn piece(&self, text: &str, run: Range<usize>) -> Option<Piece> {
        let characters = text[run.clone()].char_indices().filter(|(_, character)| *character != '\n');
        let value = |character| self.values.binary_search_by_key(&character, |(known, _)| *known).ok();
        let values = characters.map(|(at, character)| {
            let start = run.start + at;
            Some((self.values[value(character)?].1, start..start + character.len_utf8()))
        });
        let (further, piece) = (self.decode)(&values.collect::<Option<Vec<_>>>()?)?.into_piece(Strictness::Usual)?;
        further.is_none().then_some(piece)
    }
}

/// Finds what is encoded by other characters.
pub fn find_wide(signs: &Signs<'_>, out: &mut Vec<Candidate>) {
    for code in [&BASE2048, &ECOJI] {
        let mut writer = Writer::new(signs.text);
        let mut run = 0..0;
        let (mut blocks, mut last_block) = (0, 0);
        for (at, character) in signs.text.char_indices().chain([(signs.text.len(), ' ')]) {
            if (code.may_have)(character) || character == '\n' && run.end == at && !run.is_empty() {
                if run.end != at {
                    (run.start, blocks, last_block) = (at, 0, 0);
                }
                run.end = at + character.len_utf8();
                // The text of one language keeps to one block of characters.
                blocks += usize::from(u32::from(character) >> 7 != last_block);
                last_block = u32::from(character) >> 7;
                continue;
            }
            if run.end == at && blocks >= WIDE_CHANGES_MIN {
                let trimmed = run.start..run.start + signs.text[run.clone()].trim_end_matches('\n').len();
                if let Some(piece) = code.piece(signs.text, trimmed.clone()) {
                    writer.piece(trimmed, &piece);
                }
            }
        }
        out.extend(writer.finish().map(|view| Candidate { steps: vec![code.name], view }));
    }
}

fn base2048(run: &[(u16, Range<usize>)]) -> Option<Bytes> {
    let (last, body) = run.split_last()?;
    let tail_bits = if last.0 < 2048 { 11 } else { 3 };
    let bytes = (body.len() * 11 + tail_bits) / 8;
    let rest = bytes * 8 - body.len() * 11;
    let mut decoded = Bytes::default();
    let (mut bits, mut count, mut first) = (0u64, 0, run[0].1.start);
    for (index, (value, at)) in run.iter().enumerate() {
        let is_last = index + 1 == run.len();
        if *value >= 2048 && !is_last {
            return None;
        }
        let width = if is_last { rest } else { 11 };
        bits = bits << width | u64::from(value & 0x7ff & ((1 << width) - 1));
        count += width;
        while count >= 8 {
            decoded.push(bits >> (count - 8) & 0xff, 8, first.min(at.start)..at.end);
            count -= 8;
            bits &= (1 << count) - 1;
            first = at.start;
        }
        if count == 0 {
            first = at.end;
        }
    }
    Some(decoded)
}

fn ecoji(run: &[(u16, Range<usize>)]) -> Option<Bytes> {
    const FILLER: u64 = 1028;
    let mut decoded = Bytes::default();
    let groups = run.chunks_exact(4);
    if !groups.remainder().is_empty() {
        return None;
    }
    for group in groups {
        let value = |index: usize| u64::from(group[index].0);
        let bytes = match group.iter().position(|(value, _)| *value >= 1024) {
            None => 5,
            Some(3) if value(3) < FILLER => 4,
            Some(at @ 1..=3) => at,
            Some(_) => return None,
        };
        let low = match bytes {
            5 => value(3),
            4 => (value(3) - 1024) << 8,
            _ => 0,
        };
        let part = |index: usize| if value(index) < 1024 { value(index) } else { 0 };
        let bits = part(0) << 30 | part(1) << 20 | part(2) << 10 | low;
        decoded.push(bits >> (40 - bytes * 8), bytes as u32 * 8, group[0].1.start..group[3].1.end);
    }
    Some(decoded)
}
