//! The header of a table: the first line of a CSV or TSV file, or the names of a table with bars and rules ([`ruled`](super::ruled)).
//!
//! A table is told by the name of its source (`.csv`, `.tsv`, also when compressed), or by a first line that is no JSON
//! and has at least [`KNOWN_NAMES_MIN`] names that logs of calls have, or by a statement that copies it (`COPY ... FROM stdin;`).

use std::borrow::Cow;

use super::ruled::Ruled;

/// Names of columns that must be known before a line is taken for a header.
const KNOWN_NAMES_MIN: usize = 2;

/// Names that logs of calls give to their columns, in lower case without `_`, `-`, `.` and blanks.
const KNOWN_NAMES: [&str; 32] = [
    "answer",
    "args",
    "completion",
    "completiontokens",
    "context",
    "conversationid",
    "error",
    "generation",
    "id",
    "input",
    "inputtokens",
    "instruction",
    "latency",
    "latencyms",
    "messages",
    "model",
    "output",
    "outputtokens",
    "prompt",
    "prompttokens",
    "query",
    "question",
    "request",
    "requestid",
    "response",
    "result",
    "sessionid",
    "system",
    "timestamp",
    "tool",
    "traceid",
    "userinput",
];

/// Names and separator of the columns of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The names of the columns, in their order.
    pub names: Vec<String>,
    /// What stands between two cells.
    pub delimiter: u8,
    /// How rows are told apart when the table is one that terminals show; `None` for CSV.
    pub ruled: Option<Ruled>,
    /// Whether a database copied the table out: a row is a line, and a backslash begins an escape.
    pub is_copied: bool,
}

/// What ends the rows that a database copied out.
pub const COPY_END: &[u8] = b"\\.";

impl Header {
    /// The separator that the name of a source promises.
    pub fn delimiter_of(source: &str) -> Option<u8> {
        let name = source.to_ascii_lowercase();
        let name = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        [(".csv", b','), (".tsv", b'\t')]
            .into_iter()
            .find(|(end, _)| name.ends_with(end))
            .map(|(_, delimiter)| delimiter)
    }

    /// The separator that a first line tells to spreadsheets, as in `sep=;`.
    pub fn separator_of(line: &[u8]) -> Option<u8> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
        match line {
            [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', separator] if separator.is_ascii() => Some(*separator),
            _ => None,
        }
    }

    /// The header that a first line is: any line where the source is known to be a table, else one with known names.
    pub fn of_line(line: &[u8], promised: Option<u8>) -> Option<Header> {
        if let Some(header) = Header::of_copy(line) {
            return Some(header);
        }
        if let Some(delimiter) = promised {
            let delimiter =
                if delimiter == b',' && !line.contains(&b',') && line.contains(&b';') { b';' } else { delimiter };
            return Header::read(line, delimiter);
        }
        let found = [b',', b'\t', b';'].into_iter().filter_map(|delimiter| Header::read(line, delimiter));
        found.max_by_key(Header::known_names).filter(|header| header.known_names() >= KNOWN_NAMES_MIN)
    }

    /// The header that a statement of PostgreSQL is: `COPY public.calls (id, payload) FROM stdin;`.
    pub fn of_copy(line: &[u8]) -> Option<Header> {
        let line = std::str::from_utf8(line.strip_prefix(b"COPY ")?).ok()?.trim_end();
        let (_, names) = line.strip_suffix("FROM stdin;")?.trim_end().split_once('(')?;
        let names = names.strip_suffix(')')?.split(", ").map(|name| name.trim_matches('"').to_owned());
        Some(Header { names: names.collect(), delimiter: b'\t', ruled: None, is_copied: true })
    }

    /// Whether one of the names is one that logs have.
    pub fn is_known(&self) -> bool {
        self.known_names() > 0
    }

    /// The cells of a row by the names of their columns, fewer where the row is short; the reason when it cannot be one of this table.
    pub fn cells(&self, row: &[u8]) -> Result<Vec<(&str, String)>, String> {
        let cells = match &self.ruled {
            _ if self.is_copied => copied_cells(row),
            Some(ruled) => ruled.row(row, self.names.len())?,
            None => cells(row, self.delimiter).ok_or("a row that breaks off inside of quotes")?,
        };
        if cells.len() > self.names.len() {
            return Err(format!("a row of {} cells where the header has {}", cells.len(), self.names.len()));
        }
        Ok(self.names.iter().map(String::as_str).zip(cells).collect())
    }

    fn read(line: &[u8], delimiter: u8) -> Option<Header> {
        let names: Vec<String> = cells(line, delimiter)?.into_iter().map(|name| name.trim().to_owned()).collect();
        // A cell that holds JSON is no name: the table has no header.
        let is_name = |name: &String| !name.is_empty() && !name.starts_with(['{', '[']);
        (names.len() > 1 && names.iter().all(is_name)).then_some(Header {
            names,
            delimiter,
            ruled: None,
            is_copied: false,
        })
    }

    fn known_names(&self) -> usize {
        let is_known = |name: &&String| {
            let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
            KNOWN_NAMES.contains(&plain.to_ascii_lowercase().as_str())
        };
        self.names.iter().filter(is_known).count()
    }
}

/// The cells of a row that a database copied out; `\N` is none.
fn copied_cells(row: &[u8]) -> Vec<String> {
    let row = String::from_utf8_lossy(row);
    let cell = |cell: &str| {
        let mut plain = String::with_capacity(cell.len());
        let mut chars = cell.chars();
        while let Some(c) = chars.next() {
            if c != '\\' {
                plain.push(c);
                continue;
            }
            match chars.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                Some('r') => plain.push('\r'),
                Some('N') | None => {}
                Some(other) => plain.push(other),
            }
        }
        plain
    };
    row.split('\t').map(cell).collect()
}

fn cells(row: &[u8], delimiter: u8) -> Option<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(row);
    let mut record = csv::ByteRecord::new();
    let is_one =
        reader.read_byte_record(&mut record).ok()? && !reader.read_byte_record(&mut csv::ByteRecord::new()).ok()?;
    if !is_one {
        return None;
    }
    let text = |cell: &[u8]| match String::from_utf8_lossy(cell) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(text) => text,
    };
    Some(record.iter().map(text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_told_by_the_name_of_its_source_or_its_own() {
        let check = |line: &str, source: &str, expected: Option<&[&str]>| {
            let header = Header::of_line(line.as_bytes(), Header::delimiter_of(source));
            assert_eq!(
                header.map(|header| header.names),
                expected.map(|names| names.iter().map(|name| name.to_string()).collect()),
                "{line}"
            );
        };
        check("a,b", "x.csv", Some(&["a", "b"]));
        check("a;b", "X.CSV.gz", Some(&["a", "b"]));
        check("a\tb", "x.tsv", Some(&["a", "b"]));
        check("Prompt,Latency (ms),x", "-", Some(&["Prompt", "Latency (ms)", "x"]));
        check("prompt|x", "-", None);
        check("prompt\tresponse", "-", Some(&["prompt", "response"]));
        check("2026-01-01 INFO started, model loaded", "-", None);
        check("error, input", "-", Some(&["error", "input"]));
        check("prompt", "x.csv", None);
        check("a,b", "x.jsonl", None);
    }

    #[test]
    fn a_copy_of_a_database_is_a_table() {
        let header = Header::of_line(b"COPY public.calls (id, \"prompt\", response) FROM stdin;", None).unwrap();
        assert_eq!(header.names, ["id", "prompt", "response"]);
        let row: Vec<String> =
            header.cells(br#"1	\N	{"a": "x\\ny\\"z\\"\tw"}"#).unwrap().into_iter().map(|(_, cell)| cell).collect();
        assert_eq!(row, ["1", "", "{\"a\": \"x\\ny\\\"z\\\"\tw\"}"]);
        assert!(Header::of_copy(b"COPY calls FROM '/tmp/x.csv';").is_none());
        // A first line with a value is a row, whatever the source is called.
        assert!(Header::of_line(b"1\t{\"prompt\":\"p\"}", Some(b'\t')).is_none());
    }

    #[test]
    fn a_first_line_may_tell_the_separator() {
        let check =
            |line: &str, expected: Option<u8>| assert_eq!(Header::separator_of(line.as_bytes()), expected, "{line}");
        check("sep=;", Some(b';'));
        check("Sep=\t\r", Some(b'\t'));
        check("\"sep=|\"", Some(b'|'));
        check("sep=", None);
        check("sep=;;", None);
        check("sep=\u{e9}", None);
        check("separator", None);
    }

    #[test]
    fn rows_are_cells_by_name() {
        let header = Header::of_line(b"prompt,response,model", None).unwrap();
        assert_eq!(
            header.cells(b"\"a, \"\"b\"\"\",c").unwrap(),
            [("prompt", "a, \"b\"".to_owned()), ("response", "c".to_owned())]
        );
        assert_eq!(header.cells(b"1,2,3,4").unwrap_err(), "a row of 4 cells where the header has 3");
        assert_eq!(header.cells(b"\xff,2").unwrap()[0].1, "\u{fffd}");
        assert!(header.cells(b"a,b\nc,d").is_err(), "one row is one record");
    }
}
