//! What the first bytes of a source say it is.

use std::fmt;

/// How bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
}

impl Compression {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What bytes hold that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Text, or what is taken for it.
    Text,
    /// A zip archive.
    Zip,
    /// A Parquet file.
    Parquet,
}

/// A format that logs are kept in and that is not read as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Other {
    /// What its files begin with, from `at` on.
    pub magic: &'static [u8],
    /// Where that stands.
    pub at: usize,
    /// Its name, with an article.
    pub name: &'static str,
    /// What to do with it.
    pub command: &'static str,
}

const fn other(magic: &'static [u8], name: &'static str, command: &'static str) -> Other {
    Other { magic, at: 0, name, command }
}

/// Bytes that tell a format: those up to the end of the mark in the first header of a tar archive.
pub const FIRST_BYTES: usize = 262;

/// Bytes that tell all formats but tar.
const MAGIC_BYTES: usize = 16;

/// POSIX.1-1988, ustar.
pub const TAR: Other = Other {
    magic: b"ustar",
    at: 257,
    name: "a tar archive",
    command: "read its files with `tar -xOf FILE | llmverify audit -`",
};

const UNZIP: &str = "read its files with `unzip -p FILE | llmverify audit -`";

/// APPNOTE 4.3.7.
pub const ZIP: Other = other(b"PK\x03\x04", "a zip archive", UNZIP);

const EMPTY_ZIP: Other = other(b"PK\x05\x06", "an empty zip archive", UNZIP);

/// The Parquet format, "File format".
pub const PARQUET: Other = other(
    b"PAR1",
    "a Parquet file",
    "convert it with `duckdb -c \"COPY (SELECT * FROM 'FILE.parquet') TO 'FILE.jsonl' (FORMAT json)\"`",
);

/// Formats that are not read at all, each with the command that makes text of it.
pub const OTHERS: [Other; 3] = [
    EMPTY_ZIP,
    other(b"7z\xBC\xAF\x27\x1C", "a 7z archive", "read its files with `7z x -so FILE | llmverify audit -`"),
    TAR,
];

/// What bytes that are not compressed hold, by the first of them; what it is when it is not read.
pub fn holds(first: &[u8]) -> Result<Holds, Other> {
    if matches!(first.first(), Some(b'{' | b'[')) {
        return Ok(Holds::Text);
    }
    // Lines before a mark are text that happens to have it.
    let is = |other: &Other| {
        let (before, rest) = first.split_at(other.at.min(first.len()));
        rest.starts_with(other.magic) && !before.contains(&b'\n')
    };
    if is(&ZIP) {
        return Ok(Holds::Zip);
    }
    if is(&PARQUET) {
        return Ok(Holds::Parquet);
    }
    OTHERS.into_iter().find(is).map_or(Ok(Holds::Text), Err)
}

/// How the bytes are compressed, by the first of them.
pub fn compression_of(first: &[u8]) -> Option<Compression> {
    match first {
        [0x1F, 0x8B, ..] => Some(Compression::Gzip),
        // Sections 3.1.1 and 3.1.2 of RFC 8878: a frame, or a skippable frame.
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Some(Compression::Zstd),
        [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Some(Compression::Zstd),
        // The size of the blocks, and the mark of the first block or of the end.
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
        | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => Some(Compression::Bzip2),
        [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
        _ => None,
    }
}

/// Whether no more bytes are needed to know what this is: who follows a log cannot wait for them.
pub fn is_decided(first: &[u8]) -> bool {
    if compression_of(first).is_some() || holds(first) != Ok(Holds::Text) {
        return true;
    }
    let is_line = || first.len() >= MAGIC_BYTES && first.contains(&b'\n');
    matches!(first.first(), Some(b'{' | b'[')) || is_line()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        assert_eq!(holds(b"PK\x03\x04\x14\0"), Ok(Holds::Zip));
        assert_eq!(holds(b"PAR1\x15\0"), Ok(Holds::Parquet));
        assert_eq!(holds(b"PAR"), Ok(Holds::Text));
        assert_eq!(compression_of(b"BZh is a file format\n"), None);
        for other in OTHERS {
            assert!(other.at + other.magic.len() <= FIRST_BYTES && other.command.contains('`'), "{other:?}");
            let is_tar = other.at > MAGIC_BYTES;
            assert!(is_tar || other.at + other.magic.len() <= MAGIC_BYTES, "{other:?}");
        }
    }

    #[test]
    fn what_it_is_is_known_as_soon_as_a_line_is_there() {
        for (first, expected) in [
            (&b""[..], false),
            (b"{", true),
            (b"[1", true),
            (b"2026-01-01 INFO", false),
            (b"2026-01-01 INFO a\n", true),
            (b"a\n", false),
            (b"PAR1", true),
            (b"\x1F\x8B", true),
        ] {
            assert_eq!(is_decided(first), expected, "{first:?}");
        }
    }
}
