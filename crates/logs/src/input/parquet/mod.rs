//! Parquet files: each row is a unit, as an object in JSON; and tables that are written as Parquet.
//!
//! Rows are read one after another, a page of each column at a time: a file takes the memory of its pages, whatever its
//! size. The line of a row is its number, from 1, and its byte the number of rows before it.
//!
//! Columns without a value in a row are not in its object, and texts that the schema calls JSON are the values that they
//! spell. Structs are objects, lists arrays, maps objects (arrays of pairs where a key is no text). Times are in RFC 3339, UTC,
//! decimals numbers, binary values text where they are UTF-8 and else base64, what JSON has no number for is `null`.
//!
//! **Limits**: a row above `max_record_bytes` of JSON is rejected by name; one whose data are damaged is, too, and nothing is
//! read behind it. Intervals are not read. The crate below stops at some damages with a panic, and not with an error: it is
//! caught, and the hook of the process may print it. A schema has [`MAX_DEPTH`] levels at most, and the metadata
//! [`MAX_FOOTER_BYTES`] and [`MAX_SCHEMA_ELEMENTS`].

mod json;
mod write;

use std::{
    fmt::Display,
    io::{self, BufReader, Read},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
};

use bytes::Bytes;
use parquet::{
    basic::{ConvertedType, Repetition},
    errors::ParquetError,
    file::{
        reader::{ChunkReader, FileReader, Length},
        serialized_reader::SerializedFileReader,
    },
    record::reader::RowIter,
    schema::types::Type,
};
use rawzip::ReaderAt as _;

use super::{
    Batch, Content, Cut, Unit,
    framing::MAX_DEPTH,
    reader::Limits,
    store::{Section, Store},
};
pub use write::{Cell, Kind, TableWriter};

/// Bytes that the metadata of a file take at most. A file of a thousand columns in a thousand groups takes a tenth.
pub const MAX_FOOTER_BYTES: u64 = 1 << 30;

/// Columns, and structs, lists and maps around them, at most.
pub const MAX_SCHEMA_ELEMENTS: u64 = 10_000;

/// Enough for as many levels, at 6 KiB each.
const SCHEMA_STACK_BYTES: usize = 64 << 20;

/// The version and the beginning of the list that is the schema.
const SCHEMA_HEAD_BYTES: usize = 32;

/// Bytes of the tail of a file: the length of the metadata, and the mark.
const TAIL_BYTES: usize = 8;

/// The rows of a file that are still to be read.
pub(super) struct Rows {
    name: Arc<str>,
    rows: RowIter<'static>,
    schema: Arc<Type>,
    bytes_on_disk: u64,
    rows_expected: u64,
    read: u64,
    json_bytes: u64,
    is_damaged: bool,
}

struct Chunks(Arc<Store>);

impl AsRef<Store> for Store {
    fn as_ref(&self) -> &Store {
        self
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<Section<Store>>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(BufReader::new(Section::new(self.0.clone(), start, self.0.len())))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        // No more is kept free than there is to read.
        if start.saturating_add(length as u64) > self.0.len() {
            return Err(ParquetError::EOF("the file ends before its data".into()));
        }
        let mut bytes = Vec::with_capacity(length);
        Section::new(self.0.clone(), start, start + length as u64).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }
}

impl Rows {
    /// Reads the metadata of a file.
    pub(super) fn open(name: &Arc<str>, store: Store) -> io::Result<Rows> {
        let bytes_on_disk = store.len();
        let mut tail = [0; TAIL_BYTES];
        store.read_exact_at(&mut tail, bytes_on_disk.saturating_sub(TAIL_BYTES as u64)).map_err(damaged)?;
        let [a, b, c, d, mark @ ..] = tail;
        if mark != *b"PAR1" {
            return Err(damaged("it does not end as Parquet does, or is encrypted"));
        }
        if u64::from(u32::from_le_bytes([a, b, c, d])) > MAX_FOOTER_BYTES {
            let reason = format!("its metadata are larger than max_footer_bytes, which is {MAX_FOOTER_BYTES}");
            return Err(io::Error::other(reason));
        }
        let footer_bytes = u64::from(u32::from_le_bytes([a, b, c, d]));
        let mut footer = [0; SCHEMA_HEAD_BYTES];
        let footer_at = bytes_on_disk.saturating_sub(TAIL_BYTES as u64 + footer_bytes);
        let count = store.read_at(&mut footer, footer_at)?;
        match schema_elements(&footer[..count]) {
            None => return Err(damaged("its metadata do not begin with a schema")),
            Some(elements) if elements > MAX_SCHEMA_ELEMENTS => {
                let reason = format!("its schema is larger than max_schema_elements, which is {MAX_SCHEMA_ELEMENTS}");
                return Err(io::Error::other(reason));
            }
            Some(_) => {}
        }
        let open = move || {
            let reader = SerializedFileReader::new(Chunks(Arc::new(store)))?;
            let metadata = reader.metadata().file_metadata();
            let (schema, rows) = (metadata.schema_descr().root_schema_ptr(), metadata.num_rows());
            check(&schema, 0)?;
            Ok((RowIter::from_file_into(Box::new(reader)), schema, u64::try_from(rows).unwrap_or_default()))
        };
        // The crate below goes into a schema by recursion, and what is nested too deep is found afterwards.
        let opened = thread::Builder::new().stack_size(SCHEMA_STACK_BYTES).spawn(|| guarded(open))?.join();
        let (rows, schema, rows_expected) =
            opened.map_err(|_| damaged("it does not fit together"))?.map_err(damaged)?;
        let name = name.clone();
        Ok(Rows { name, rows, schema, bytes_on_disk, rows_expected, read: 0, json_bytes: 0, is_damaged: false })
    }

    /// The next rows, and whether they are the last.
    pub(super) fn next_batch(&mut self, limits: &Limits) -> (Option<Batch>, bool) {
        let (mut bytes, mut units) = (Vec::new(), Vec::new());
        let mut is_finished = false;
        while !is_finished && bytes.len() < limits.batch_bytes.max(1) {
            let begin = bytes.len();
            let rows = &mut self.rows;
            let schema = &self.schema;
            let next = || {
                let Some(row) = rows.next().transpose()? else { return Ok(None) };
                json::row(&row, Some(schema), &mut bytes);
                Ok(Some(()))
            };
            let content = match guarded(next) {
                Ok(None) => {
                    is_finished = true;
                    // What a damaged file does not give must not be missed silently.
                    if self.read >= self.rows_expected {
                        break;
                    }
                    self.cut(&"it ends before its last row")
                }
                Ok(Some(())) => {
                    let size = (bytes.len() - begin) as u64;
                    if size > limits.max_record_bytes {
                        bytes.truncate(begin);
                        Content::Rejected(Cut::TooLarge { bytes: size, limit: limits.max_record_bytes })
                    } else {
                        Content::Text(begin..bytes.len())
                    }
                }
                Err(error) => {
                    is_finished = true;
                    bytes.truncate(begin);
                    self.cut(&error)
                }
            };
            units.push(Unit { line: self.read + 1, item: None, byte: self.read, content, shell: None });
            self.read += 1;
        }
        self.json_bytes += bytes.len() as u64;
        let batch = Batch { source: self.name.clone(), bytes, units, header: None };
        ((!batch.units.is_empty()).then_some(batch), is_finished)
    }

    fn cut(&mut self, error: &dyn Display) -> Content {
        self.is_damaged = true;
        Content::Rejected(Cut::Unreadable(format!("cannot be read on: the Parquet data is damaged: {error}")))
    }

    /// Rows so far, those that could not be read among them.
    pub(super) fn read(&self) -> u64 {
        self.read
    }

    /// Bytes of JSON so far.
    pub(super) fn json_bytes(&self) -> u64 {
        self.json_bytes
    }

    /// The source.
    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whether it could not be read to its end.
    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// About so many bytes of the file have been read.
    pub(super) fn bytes_read(&self) -> u64 {
        let share = self.read.min(self.rows_expected) as f64 / self.rows_expected.max(1) as f64;
        (self.bytes_on_disk as f64 * share) as u64
    }
}

fn damaged(error: impl Display) -> io::Error {
    io::Error::other(format!("the Parquet data is damaged: {error}"))
}

/// How many elements the schema has, by the first bytes of the metadata: in Thrift's compact protocol, a version and then a
/// list of structs.
fn schema_elements(footer: &[u8]) -> Option<u64> {
    let (&[first], rest) = footer.split_first_chunk::<1>()?;
    let (_, rest) = varint(rest).filter(|_| first == 0x15)?;
    let (&[second, head], rest) = rest.split_first_chunk::<2>()?;
    match (second, head >> 4, head & 0xF) {
        (0x19, 15, 12) => varint(rest).map(|(count, _)| count),
        (0x19, count, 12) => Some(u64::from(count)),
        _ => None,
    }
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = bytes.iter().take(9).position(|byte| byte & 0x80 == 0)? + 1;
    let (number, rest) = bytes.split_at(length);
    Some((number.iter().rev().fold(0, |number, byte| number << 7 | u64::from(byte & 0x7F)), rest))
}

/// What `read` gives; an error where it panics.
fn guarded<T>(read: impl FnOnce() -> parquet::errors::Result<T>) -> parquet::errors::Result<T> {
    let caught = catch_unwind(AssertUnwindSafe(read));
    caught.unwrap_or_else(|_| Err(ParquetError::General("it does not fit together".into())))
}

/// Whether rows of this type can be read: what the crate below takes for granted.
fn check(of: &Type, depth: usize) -> parquet::errors::Result<()> {
    let refuse = |reason: &str| Err(ParquetError::General(format!("the column `{}` {reason}", of.name())));
    if depth > MAX_DEPTH {
        return refuse("is nested too deep");
    }
    let converted = of.get_basic_info().converted_type();
    if converted == ConvertedType::INTERVAL {
        return refuse("is an interval, which is not read");
    }
    if of.is_primitive() {
        return Ok(());
    }
    let fields = of.get_fields();
    let is_repeated = |field: &Type| {
        field.get_basic_info().has_repetition() && field.get_basic_info().repetition() == Repetition::REPEATED
    };
    let is_whole = match converted {
        ConvertedType::LIST => fields.len() == 1 && is_repeated(&fields[0]) && has_children(&fields[0]),
        ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE => {
            fields.len() == 1
                && is_repeated(&fields[0])
                && fields[0].is_group()
                && matches!(fields[0].get_fields().len(), 1 | 2)
        }
        _ => !fields.is_empty() || depth == 0,
    };
    if !is_whole || (depth > 0 && !of.get_basic_info().has_repetition()) {
        return refuse("is a list, a map or a struct that is not one");
    }
    fields.iter().try_for_each(|field| check(field, depth + 1))
}

fn has_children(of: &Type) -> bool {
    of.is_primitive() || !of.get_fields().is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(rows: usize) -> Vec<u8> {
        let kinds = [Kind::Text, Kind::Integer, Kind::Float, Kind::Boolean, Kind::Json];
        let columns = ["text", "integer", "float", "boolean", "json"].into_iter().zip(kinds);
        let mut writer = TableWriter::new(Vec::new(), columns).expect("columns");
        for row in 0..rows {
            let cells = [
                Some(Cell::Text(format!("a\"{row}\n\u{e9}"))),
                (row % 2 == 0).then_some(Cell::Integer(row as i64 - 1)),
                Some(Cell::Float(row as f64 / 4.0)),
                Some(Cell::Boolean(row % 2 == 1)),
                (row % 4 != 3).then(|| Cell::Json("{\"b\": [1]}".to_owned())),
            ];
            writer.row(cells).expect("a row");
        }
        writer.finish().expect("a file")
    }

    /// Rows as their number and their text; a reason behind `!`.
    fn read(bytes: Vec<u8>, limits: &Limits) -> Vec<(u64, String)> {
        let mut rows = match Rows::open(&"x".into(), Store::Memory(bytes)) {
            Ok(rows) => rows,
            Err(error) => return vec![(0, format!("!{error}"))],
        };
        let mut all = Vec::new();
        loop {
            let (batch, is_finished) = rows.next_batch(limits);
            for unit in batch.iter().flat_map(|batch| &batch.units) {
                let text = match &unit.content {
                    Content::Text(range) => {
                        String::from_utf8_lossy(&batch.as_ref().unwrap().bytes[range.clone()]).into_owned()
                    }
                    other => format!("!{other:?}"),
                };
                all.push((unit.line, text));
            }
            if is_finished {
                assert_eq!(rows.read(), all.len() as u64);
                return all;
            }
        }
    }

    #[test]
    fn rows_are_objects() {
        let got = read(table(4), &Limits::default());
        let expected = [
            r#"{"text":"a\"0\né","integer":-1,"float":0.0,"boolean":false,"json":{"b": [1]}}"#,
            r#"{"text":"a\"1\né","float":0.25,"boolean":true,"json":{"b": [1]}}"#,
            r#"{"text":"a\"2\né","integer":1,"float":0.5,"boolean":false,"json":{"b": [1]}}"#,
            r#"{"text":"a\"3\né","float":0.75,"boolean":true}"#,
        ];
        assert_eq!(got, (1..).zip(expected.map(str::to_owned)).collect::<Vec<_>>());
        assert!(read(table(0), &Limits::default()).is_empty());
    }

    #[test]
    fn rows_do_not_depend_on_the_batches() {
        let whole = read(table(5000), &Limits::default());
        assert_eq!(whole.len(), 5000);
        for batch_bytes in [1, 1000, 1 << 30] {
            assert!(read(table(5000), &Limits { batch_bytes, ..Limits::default() }) == whole, "{batch_bytes}");
        }
        let small = read(table(5000), &Limits { max_record_bytes: 75, ..Limits::default() });
        assert!(small.len() == 5000 && small[4998].1.starts_with("!Rejected(TooLarge { bytes: "), "{:?}", small[4998]);
    }

    /// A file without rows whose schema is a struct in a struct in a struct.
    fn deep(levels: usize) -> Vec<u8> {
        let mut footer = vec![0x15, 0x02, 0x19, 0xFC];
        let mut count = levels + 1;
        while count >= 0x80 {
            footer.push((count & 0x7F) as u8 | 0x80);
            count >>= 7;
        }
        footer.push(count as u8);
        // Its repetition, its name, and that it has one child; of the last one, that it is a number.
        footer.extend([0x35, 0x02, 0x18, 0x01, b'a', 0x15, 0x02, 0x00].repeat(levels));
        footer.extend([0x15, 0x02, 0x25, 0x02, 0x18, 0x01, b'a', 0x00]);
        footer.extend([0x16, 0x00, 0x19, 0x0C, 0x00]);
        let length = (footer.len() as u32).to_le_bytes();
        [b"PAR1", &footer[..], &length, b"PAR1"].concat()
    }

    #[test]
    fn a_deep_schema_does_no_harm() {
        let all = Limits::default();
        assert!(read(deep(100), &all).is_empty());
        assert!(read(deep(200), &all)[0].1.contains("nested too deep"));
        assert!(read(deep(9_999), &all)[0].1.contains("nested too deep"));
        assert!(read(deep(100_000), &all)[0].1.contains("max_schema_elements"));
    }

    #[test]
    fn damaged_files_are_named() {
        let bytes = table(100);
        let all = Limits::default();
        for end in [4, 12, bytes.len() / 2, bytes.len() - 1] {
            assert!(read(bytes[..end].to_vec(), &all)[0].1.starts_with("!the Parquet data is damaged"), "{end}");
        }
        let mut huge = bytes.clone();
        let tail = huge.len() - 8;
        huge[tail..tail + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(read(huge, &all)[0].1.contains("max_footer_bytes"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
        #[test]
        fn any_damage_ends_in_rows_or_a_reason(
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
        ) {
            let mut bytes = table(20);
            for (at, byte) in flips {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let _ = read(bytes, &Limits::default());
        }
    }
}
