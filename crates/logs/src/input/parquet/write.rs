//! Tables → Parquet files.

use std::{io::Write, sync::Arc};

use parquet::{
    basic::{Compression, LogicalType, Repetition, Type as Physical},
    data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type},
    errors::{ParquetError, Result},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::{Type, TypePtr},
};

/// Bytes that are kept in memory before they are written as a group of rows.
const GROUP_BYTES: usize = 16 << 20;

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// 64-bit integers.
    Integer,
    /// 64-bit floating point numbers.
    Float,
    /// Truth values.
    Boolean,
    /// JSON, as text.
    Json,
}

/// A value of a row. It has the kind of its column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A floating point number.
    Float(f64),
    /// A truth value.
    Boolean(bool),
    /// JSON.
    Json(String),
}

/// Writes rows as a Parquet file, compressed with Snappy, which every reader knows.
pub struct TableWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Buffered>,
    bytes: usize,
}

/// The values of a column that are not written yet.
struct Buffered {
    name: String,
    values: Values,
    /// For each value 1, and 0 for each that is missing.
    definitions: Vec<i16>,
}

enum Values {
    Text(Vec<ByteArray>),
    Integer(Vec<i64>),
    Float(Vec<f64>),
    Boolean(Vec<bool>),
    Json(Vec<ByteArray>),
}

impl<W: Write + Send> TableWriter<W> {
    /// A table with columns of these names and kinds, whose values may all be missing.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn new<'c>(out: W, columns: impl IntoIterator<Item = (&'c str, Kind)>) -> Result<TableWriter<W>> {
        let columns: Vec<(&str, Kind)> = columns.into_iter().collect();
        let fields = columns.iter().map(|(name, kind)| field(name, *kind).map(Arc::new));
        let fields = fields.collect::<Result<Vec<TypePtr>>>()?;
        let schema = Type::group_type_builder("table").with_fields(fields).build()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        let columns = columns.into_iter().map(|(name, kind)| Buffered::new(name, kind)).collect();
        Ok(TableWriter { file, columns, bytes: 0 })
    }

    /// Adds a row: a value for each column, in their order; what is missing in the end is.
    ///
    /// # Errors
    /// When a value is not of the kind of its column, or cannot be written.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Option<Cell>>) -> Result<()> {
        let mut cells = cells.into_iter();
        for column in &mut self.columns {
            self.bytes += column.push(cells.next().flatten())?;
        }
        if cells.next().is_some() {
            return Err(ParquetError::General("a row has more values than the table has columns".into()));
        }
        if self.bytes >= GROUP_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes what is left, and gives back what was written to.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        self.file.into_inner()
    }

    fn flush(&mut self) -> Result<()> {
        if self.columns.iter().all(|column| column.definitions.is_empty()) {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut writer) = group.next_column()? else { break };
            let levels = &column.definitions[..];
            match &mut column.values {
                Values::Text(values) | Values::Json(values) => {
                    write::<ByteArrayType>(writer.typed(), values, levels)?;
                }
                Values::Integer(values) => write::<Int64Type>(writer.typed(), values, levels)?,
                Values::Float(values) => write::<DoubleType>(writer.typed(), values, levels)?,
                Values::Boolean(values) => write::<BoolType>(writer.typed(), values, levels)?,
            }
            writer.close()?;
            column.definitions.clear();
        }
        group.close()?;
        self.bytes = 0;
        Ok(())
    }
}

fn write<T: DataType>(
    writer: &mut parquet::column::writer::ColumnWriterImpl<'_, T>,
    values: &mut Vec<T::T>,
    definitions: &[i16],
) -> Result<()> {
    writer.write_batch(values, Some(definitions), None)?;
    values.clear();
    Ok(())
}

fn field(name: &str, kind: Kind) -> Result<Type> {
    let (physical, logical) = match kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Json => (Physical::BYTE_ARRAY, Some(LogicalType::Json)),
        Kind::Integer => (Physical::INT64, None),
        Kind::Float => (Physical::DOUBLE, None),
        Kind::Boolean => (Physical::BOOLEAN, None),
    };
    let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    builder.with_logical_type(logical).build()
}

impl Buffered {
    fn new(name: &str, kind: Kind) -> Buffered {
        let values = match kind {
            Kind::Text => Values::Text(Vec::new()),
            Kind::Integer => Values::Integer(Vec::new()),
            Kind::Float => Values::Float(Vec::new()),
            Kind::Boolean => Values::Boolean(Vec::new()),
            Kind::Json => Values::Json(Vec::new()),
        };
        Buffered { name: name.to_owned(), values, definitions: Vec::new() }
    }

    /// Keeps a value; about how many bytes it takes.
    fn push(&mut self, cell: Option<Cell>) -> Result<usize> {
        let bytes = match (&mut self.values, cell) {
            (_, None) => {
                self.definitions.push(0);
                return Ok(size_of::<i16>());
            }
            (Values::Text(values), Some(Cell::Text(text))) | (Values::Json(values), Some(Cell::Json(text))) => {
                let bytes = text.len();
                values.push(ByteArray::from(text.into_bytes()));
                bytes
            }
            (Values::Integer(values), Some(Cell::Integer(value))) => {
                values.push(value);
                size_of::<i64>()
            }
            (Values::Float(values), Some(Cell::Float(value))) => {
                values.push(value);
                size_of::<f64>()
            }
            (Values::Boolean(values), Some(Cell::Boolean(value))) => {
                values.push(value);
                size_of::<bool>()
            }
            (_, Some(cell)) => {
                let reason = format!("the column `{}` has another kind of values than {cell:?}", self.name);
                return Err(ParquetError::General(reason));
            }
        };
        self.definitions.push(1);
        Ok(bytes + size_of::<i16>())
    }
}
