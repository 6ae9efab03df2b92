//! Characters written by their numbers or names: percent, HTML entities, backslashes, quoted-printable, MIME words; and
//! strings that code puts together.
//!
//! An escape is decoded where it stands, with the text around it, since one letter in a word may be written so.
//! Escapes of control characters and of bytes that are no UTF-8 stay as they are.
//!
//! **Sources**: RFC 3986 (percent), HTML 5 (numeric references and the names of ASCII characters), RFC 2045 and 2047
//! (quoted-printable, MIME words); escapes of C, JSON, JavaScript, Python, Rust.

use std::ops::Range;

use memchr::memchr_iter;

use super::{
    Candidate,
    base::{Strictness, is_readable},
    offsets::{Piece, Writer},
    signs::Signs,
};

/// The escapes of quoted-printable that a text has at least: `a=10` is no escape.
const QUOTED_PRINTABLE_MIN: usize = 4;
/// Bytes of a line of quoted-printable.
const SOFT_LINE_BYTES_MAX: usize = 76;
/// Bytes of an HTML entity between `&` and `;`.
const ENTITY_BYTES_MAX: usize = 12;
/// White space and signs between two strings that are put together.
const JOINT_BYTES_MAX: usize = 32;

/// Names of ASCII characters and of the blanks in HTML.
#[rustfmt::skip]
const ENTITIES: [(&str, char); 44] = [
    ("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\''), ("nbsp", ' '), ("Tab", '\t'), ("NewLine", '\n'),
    ("excl", '!'), ("num", '#'), ("dollar", '$'), ("percnt", '%'), ("lpar", '('), ("rpar", ')'), ("ast", '*'), ("midast", '*'),
    ("plus", '+'), ("comma", ','), ("period", '.'), ("sol", '/'), ("colon", ':'), ("semi", ';'), ("equals", '='), ("quest", '?'),
    ("commat", '@'), ("lsqb", '['), ("lbrack", '['), ("bsol", '\\'), ("rsqb", ']'), ("rbrack", ']'), ("Hat", '^'), ("lowbar", '_'),
    ("UnderBar", '_'), ("grave", '`'), ("lcub", '{'), ("lbrace", '{'), ("verbar", '|'), ("vert", '|'), ("VerticalLine", '|'),
    ("rcub", '}'), ("rbrace", '}'), ("fjlig", 'f'), ("ensp", ' '), ("emsp", ' '),
];

/// A step that rewrites a text.
type Rewrite = fn(&str) -> Writer<'_>;

/// Finds all escapes.
pub fn find(signs: &Signs<'_>, out: &mut Vec<Candidate>) {
    let text = signs.text;
    let steps: [(&'static str, u8, Rewrite); 7] = [
        ("percent", b'%', percent),
        ("html_entities", b'&', html_entities),
        ("backslash", b'\\', backslash),
        ("mime_words", b'=', mime_words),
        ("quoted_printable", b'=', quoted_printable),
        ("string_concatenation", b'\'', string_concatenation),
        ("string_concatenation", b'"', string_concatenation),
    ];
    // Most texts hold none of the first three, which one pass tells.
    let [first, second, third] = [steps[0].1, steps[1].1, steps[2].1];
    let steps = match memchr::memchr3(first, second, third, text.as_bytes()) {
        Some(_) => &steps[..],
        None => &steps[3..],
    };
    let mut last = "";
    for &(name, sign, step) in steps {
        if name != last && memchr::memchr(sign, text.as_bytes()).is_some() {
            out.extend(step(text).finish().map(|view| Candidate { steps: vec![name], view }));
            last = name;
        }
    }
}

fn hex_byte(bytes: &[u8], at: usize) -> Option<u8> {
    Some(hex_number(bytes, at, 2)? as u8)
}

fn hex_number(bytes: &[u8], at: usize, digits: usize) -> Option<u32> {
    let digits = bytes.get(at..at + digits)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn is_shown(character: char) -> bool {
    !character.is_control() || matches!(character, '\t' | '\n' | '\r')
}

/// Escapes in a row, each of one byte, as text; `None` when they are none.
fn piece_of(data: &[u8], from: &[Range<usize>]) -> Option<Piece> {
    let mut piece = Piece::default();
    let mut at = 0;
    for character in std::str::from_utf8(data).ok()?.chars() {
        let end = at + character.len_utf8();
        if !is_shown(character) {
            return None;
        }
        piece.push_char(character, from[at].start..from[end - 1].end);
        at = end;
    }
    Some(piece)
}

fn percent(text: &str) -> Writer<'_> {
    let bytes = text.as_bytes();
    let mut writer = Writer::new(text);
    let (mut data, mut from) = (Vec::new(), Vec::new());
    let mut next = 0;
    for at in memchr_iter(b'%', bytes) {
        if at < next {
            continue;
        }
        next = at;
        while bytes.get(next) == Some(&b'%') {
            let Some(byte) = hex_byte(bytes, next + 1) else { break };
            data.push(byte);
            from.push(next..next + 3);
            next += 3;
        }
        if let Some(piece) = piece_of(&data, &from).filter(|piece| !piece.text.is_empty()) {
            writer.piece(at..next, &piece);
        }
        data.clear();
        from.clear();
        if let (Some(b'u'), Some(character)) =
            (bytes.get(at + 1), hex_number(bytes, at + 2, 4).and_then(char::from_u32))
            && is_shown(character)
        {
            next = at + 6;
            writer.replace(at..next, character.encode_utf8(&mut [0; 4]));
        }
        next = next.max(at + 1);
    }
    writer
}

fn html_entities(text: &str) -> Writer<'_> {
    let bytes = text.as_bytes();
    let mut writer = Writer::new(text);
    for at in memchr_iter(b'&', bytes) {
        let tail = &bytes[at + 1..bytes.len().min(at + 1 + ENTITY_BYTES_MAX)];
        let len = tail.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'#').count();
        let Ok(name) = std::str::from_utf8(&tail[..len]) else { continue };
        let character = match name.strip_prefix('#') {
            Some(number) => {
                let hex = number.strip_prefix(['x', 'X']);
                let code = hex.map_or_else(|| number.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok());
                code.and_then(char::from_u32).filter(|character| is_shown(*character))
            }
            None if tail.get(len) != Some(&b';') => None,
            None => ENTITIES.iter().find(|(known, _)| *known == name).map(|(_, character)| *character),
        };
        let Some(character) = character else { continue };
        let end = at + 1 + len + usize::from(tail.get(len) == Some(&b';'));
        writer.replace(at..end, character.encode_utf8(&mut [0; 4]));
    }
    writer
}

fn backslash(text: &str) -> Writer<'_> {
    let bytes = text.as_bytes();
    let mut found: Vec<(Range<usize>, Piece)> = Vec::new();
    let mut is_any = false;
    let mut next = 0;
    for at in memchr_iter(b'\\', bytes) {
        if at < next {
            continue;
        }
        next = at + 1;
        let numbered = numbered_escapes(bytes, at);
        if let Some((end, piece)) = numbered {
            found.push((at..end, piece));
            (is_any, next) = (true, end);
        } else if let Some(simple) = bytes.get(at + 1).and_then(|byte| simple_escape(*byte)) {
            let mut piece = Piece::default();
            piece.push_char(simple, at..at + 2);
            found.push((at..at + 2, piece));
            next = at + 2;
        }
    }
    let mut writer = Writer::new(text);
    // A text with `\n` in it is ordinary; beside letters that are written as numbers it is one more escape.
    for (range, piece) in found.iter().filter(|_| is_any) {
        writer.piece(range.clone(), piece);
    }
    writer
}

fn simple_escape(byte: u8) -> Option<char> {
    Some(match byte {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'"' => '"',
        b'\'' => '\'',
        b'/' => '/',
        b'\\' => '\\',
        _ => return None,
    })
}

/// Escapes in a row that name bytes or code points.
fn numbered_escapes(bytes: &[u8], start: usize) -> Option<(usize, Piece)> {
    let mut piece = Piece::default();
    let (mut data, mut from): (Vec<u8>, Vec<Range<usize>>) = (Vec::new(), Vec::new());
    let mut at = start;
    while let Some((len, code, is_byte)) = numbered_escape(bytes, at) {
        if is_byte {
            data.push(code as u8);
            from.push(at..at + len);
            at += len;
            continue;
        }
        if !data.is_empty() {
            break;
        }
        let (len, character) = match code {
            0xd800..0xdc00 => match numbered_escape(bytes, at + len) {
                Some((more, low @ 0xdc00..0xe000, false)) => {
                    (len + more, char::from_u32(0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)))
                }
                _ => break,
            },
            _ => (len, char::from_u32(code)),
        };
        let Some(character) = character.filter(|character| is_shown(*character)) else { break };
        piece.push_char(character, at..at + len);
        at += len;
    }
    if piece.text.is_empty() {
        // Latin-1 where it is no UTF-8, as in most languages of programs.
        piece = piece_of(&data, &from).or_else(|| {
            let mut latin = Piece::default();
            for (byte, from) in data.iter().zip(&from) {
                let character = char::from(*byte);
                if !is_shown(character) {
                    return None;
                }
                latin.push_char(character, from.clone());
            }
            Some(latin)
        })?;
        at = from.last()?.end;
    } else if let Some(first) = from.first() {
        at = first.start;
    }
    Some((at, piece))
}

/// Length, code, and whether it is a byte and not a code point.
fn numbered_escape(bytes: &[u8], at: usize) -> Option<(usize, u32, bool)> {
    if bytes.get(at) != Some(&b'\\') {
        return None;
    }
    let braced = |kind: usize| {
        let digits = bytes[at + kind + 1..].iter().take(7).take_while(|byte| byte.is_ascii_hexdigit()).count();
        let code = hex_number(bytes, at + kind + 1, digits)?;
        (digits > 0 && bytes.get(at + kind + 1 + digits) == Some(&b'}')).then_some((kind + digits + 2, code, false))
    };
    match bytes.get(at + 1)? {
        b'u' | b'x' if bytes.get(at + 2) == Some(&b'{') => braced(2),
        b'u' => Some((6, hex_number(bytes, at + 2, 4)?, false)),
        b'U' => Some((10, hex_number(bytes, at + 2, 8)?, false)),
        b'x' => Some((4, hex_number(bytes, at + 2, 2)?, true)),
        b'0'..=b'3' => {
            let digits = bytes.get(at + 1..at + 4)?;
            let is_octal = digits.iter().all(|byte| (b'0'..=b'7').contains(byte));
            let code = digits.iter().fold(0, |code, byte| code * 8 + u32::from(byte.wrapping_sub(b'0')));
            is_octal.then_some((4, code, true))
        }
        _ => None,
    }
}

fn quoted_printable(text: &str) -> Writer<'_> {
    let bytes = text.as_bytes();
    let mut writer = Writer::new(text);
    let escape = |at: usize| {
        let is_upper = |byte: &u8| byte.is_ascii_digit() || (b'A'..=b'F').contains(byte);
        let digits = bytes.get(at + 1..at + 3)?;
        if digits.iter().all(is_upper) { hex_byte(bytes, at + 1) } else { None }
    };
    // Escapes next to each other: in code `=` and two digits stand alone.
    let mut escapes = 0;
    let mut is_pair = false;
    for at in memchr_iter(b'=', bytes) {
        let is_escape = escape(at).is_some();
        escapes += usize::from(is_escape);
        is_pair |= is_escape && (bytes.get(at + 3) == Some(&b'=') && escape(at + 3).is_some());
        // A soft break ends a line of usual length; the padding of base64 is two of them, or ends a longer line.
        if matches!(bytes.get(at + 1..), Some([b'\n', ..] | [b'\r', b'\n', ..])) && bytes[at.saturating_sub(1)] != b'='
        {
            let line = bytes[at.saturating_sub(SOFT_LINE_BYTES_MAX)..at].iter().rev().position(|byte| *byte == b'\n');
            is_pair |= line.unwrap_or(at) < SOFT_LINE_BYTES_MAX;
        }
    }
    if escapes < QUOTED_PRINTABLE_MIN || !is_pair {
        return writer;
    }
    let (mut data, mut from) = (Vec::new(), Vec::new());
    let mut next = 0;
    for at in memchr_iter(b'=', bytes) {
        if at < next {
            continue;
        }
        next = at;
        loop {
            if let Some(byte) = escape(next) {
                data.push(byte);
                from.push(next..next + 3);
                next += 3;
            } else if bytes[next..].starts_with(b"=\n") {
                next += 2;
            } else if bytes[next..].starts_with(b"=\r\n") {
                next += 3;
            } else {
                break;
            }
            if bytes.get(next) != Some(&b'=') {
                break;
            }
        }
        if let Some(piece) = piece_of(&data, &from).filter(|_| next > at) {
            writer.piece(at..next, &piece);
        }
        data.clear();
        from.clear();
        next = next.max(at + 1);
    }
    writer
}

/// `=?charset?B?...?=` and `=?charset?Q?...?=`.
fn mime_words(text: &str) -> Writer<'_> {
    let bytes = text.as_bytes();
    let mut writer = Writer::new(text);
    for at in memchr_iter(b'=', bytes) {
        if at < writer.done() || bytes.get(at + 1) != Some(&b'?') {
            continue;
        }
        let Some((end, piece)) = mime_word(bytes, at) else { continue };
        // White space between two words belongs to neither.
        let gap = writer.done()..at;
        let is_blank = !gap.is_empty() && gap.start > 0 && bytes[gap.clone()].iter().all(u8::is_ascii_whitespace);
        writer.piece(if is_blank { gap.start..end } else { at..end }, &piece);
    }
    writer
}

fn mime_word(bytes: &[u8], at: usize) -> Option<(usize, Piece)> {
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'*');
    let charset = bytes[at + 2..].iter().take(32).take_while(|byte| token(byte)).count();
    let kind = at + 2 + charset + 1;
    if bytes.get(kind - 1) != Some(&b'?') || bytes.get(kind + 1) != Some(&b'?') {
        return None;
    }
    let start = kind + 2;
    let len = bytes.get(start..)?.iter().position(|byte| matches!(byte, b'?' | b'\n' | b' '))?;
    let end = start + len + 2;
    if bytes.get(start + len..end) != Some(b"?=") {
        return None;
    }
    let (mut data, mut from) = (Vec::new(), Vec::new());
    match bytes[kind] {
        b'Q' | b'q' => {
            let mut next = start;
            while next < start + len {
                let escaped = if bytes[next] == b'=' { hex_byte(bytes, next + 1) } else { None };
                let width = if escaped.is_some() { 3 } else { 1 };
                let plain = if bytes[next] == b'_' { b' ' } else { bytes[next] };
                data.push(escaped.unwrap_or(plain));
                from.push(next..next + width);
                next += width;
            }
        }
        b'B' | b'b' => {
            let encoded = &bytes[start..start + len];
            data = data_encoding::BASE64.decode(encoded).ok()?;
            from = (0..data.len()).map(|index| start + index / 3 * 4..start + index / 3 * 4 + 4).collect();
        }
        _ => return None,
    }
    let piece = piece_of(&data, &from)?;
    is_readable(&piece.text, Strictness::Usual).then_some((end, piece))
}

/// `'igno' + 're'`: strings that are put together inside of a word.
fn string_concatenation(text: &str) -> Writer<'_> {
    let bytes = text.as_bytes();
    let mut writer = Writer::new(text);
    let mut joints: Vec<(Range<usize>, bool)> = Vec::new();
    for at in memchr::memchr2_iter(b'"', b'\'', bytes) {
        if joints.last().is_some_and(|(last, _)| at < last.end) {
            continue;
        }
        if let Some(end) = joint(bytes, at) {
            let is_letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
            joints.push((at..end, at > 0 && is_letter(at - 1) && is_letter(end)));
        }
    }
    // Code puts strings together between words; where it is done inside of words, those between words belong to it.
    let in_words = joints.iter().filter(|(_, is_in_word)| *is_in_word).count();
    for (range, is_in_word) in joints {
        if is_in_word || in_words >= 2 {
            writer.replace(range, "");
        }
    }
    writer
}

/// Where the second string begins, if `at` closes the first and a sign of concatenation stands between.
fn joint(bytes: &[u8], at: usize) -> Option<usize> {
    let tail = &bytes[at + 1..bytes.len().min(at + 1 + JOINT_BYTES_MAX)];
    let mut rest = tail.iter().enumerate().filter(|(_, byte)| !byte.is_ascii_whitespace());
    let (_, sign) = rest.next()?;
    let (mut index, mut quote) = rest.next()?;
    match sign {
        b'+' | b'.' | b'&' => {}
        b'|' if *quote == b'|' => (index, quote) = rest.next()?,
        _ => return None,
    }
    matches!(quote, b'"' | b'\'').then_some(at + 1 + index + 1)
}
