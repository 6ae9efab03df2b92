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

/// The database file format, section 1.3.
const SQLITE: Other = other(
    b"SQLite format 3\0",
    "an SQLite database",
    "read a table of it with `sqlite3 -json FILE \"SELECT * FROM TABLE\" | llmverify audit -`; `sqlite3 FILE .tables` lists them",
);

/// The storage of DuckDB, main header.
const DUCKDB: Other = Other {
    magic: b"DUCK",
    at: 8,
    name: "a DuckDB database",
    command: "read a table of it with `duckdb -jsonlines FILE \"FROM TABLE\" | llmverify audit -`; `duckdb FILE .tables` lists them",
};

const READ_ARROW: &str = "read it with `python -c \"import json, pyarrow.feather as f; [print(json.dumps(r, default=str)) for r in f.read_table('FILE').to_pylist()]\" | llmverify audit -` (`pip install pyarrow`)";
const READ_ARROW_STREAM: &str = "read it with `python -c \"import json, pyarrow.ipc as i; [print(json.dumps(r, default=str)) for b in i.open_stream('FILE') for r in b.to_pylist()]\" | llmverify audit -` (`pip install pyarrow`)";

/// What a file is that is called so, unless it begins with a bracket: protobuf has no mark. The names are those that
/// protobuf and the collector of OpenTelemetry give.
pub fn of_name(name: &str, first: &[u8]) -> Option<Other> {
    let is_protobuf = [".pb", ".binpb", ".otlp"].iter().any(|ending| name.ends_with(ending));
    (is_protobuf && !matches!(first.trim_ascii_start().first(), None | Some(b'{' | b'['))).then_some(PROTOBUF)
}

const PROTOBUF: Other = other(
    b"",
    "a protobuf file by its name",
    "make JSON of spans with `python -c \"from google.protobuf.json_format import MessageToJson as j; from opentelemetry.proto.trace.v1.trace_pb2 import TracesData as T; print(j(T.FromString(open('FILE','rb').read()), indent=None))\" | llmverify audit -` (`pip install opentelemetry-proto`)",
);

/// Formats that are not read at all, each with the command that makes text of it.
pub const OTHERS: [Other; 8] = [
    EMPTY_ZIP,
    SQLITE,
    DUCKDB,
    other(b"ARROW1", "an Arrow or Feather file", READ_ARROW),
    other(b"\xFF\xFF\xFF\xFF", "an Arrow stream", READ_ARROW_STREAM),
    // Avro 1.12, "Object container files".
    other(b"Obj\x01", "an Avro file", "read it with `fastavro FILE | llmverify audit -` (`pip install fastavro`)"),
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
            assert_eq!(holds(&[&vec![b'a'; other.at][..], other.magic].concat()), Err(other));
            let is_tar = other.at > MAGIC_BYTES;
            assert!(is_tar || other.at + other.magic.len() <= MAGIC_BYTES, "{other:?}");
        }
    }

    #[test]
    fn protobuf_is_told_by_its_name() {
        assert_eq!(of_name("a.binpb", b"\x0A_"), Some(PROTOBUF));
        assert_eq!(of_name("a.otlp", b" {\"resourceSpans\""), None);
        assert_eq!(of_name("a.jsonl", b"\x0A_"), None);
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
