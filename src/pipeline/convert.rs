//! Logs of any format become records of the normal form, one after another.
//!
//! The same drive as an audit: what is merged, paired and put together there is so here, and the records come in the order
//! in which an audit judges them. A record without an id gets the place where it stood, so that a verdict on what was
//! converted leads back to the log.

use std::{borrow::Cow, io::Write, ops::ControlFlow};

#[cfg(feature = "parquet")]
use anyhow::bail;
use anyhow::{Context as _, Result};

use crate::{
    config::Settings,
    input::Reader,
    reader::Parsed,
    record::Record,
    report::{
        unread::{Unread, UnreadLeaf},
        verdict_record::place,
    },
    writers::normal::{self, COLUMNS, Cell},
};
#[cfg(feature = "parquet")]
use crate::{input::parquet, writers::normal::Holds};

use super::{
    Filter,
    drive::{Analyse, Assembly, Drive, Observed, Outcome, UnitOf},
    unread::unread,
};

/// Rejected units that are named; the others are counted.
pub const REJECTED_NAMED_MAX: usize = 20;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One object a line.
    JsonLines,
    /// One row a record, below a header.
    Csv,
    /// One row a record, by columns.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// What came of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Records that were written.
    pub records: u64,
    /// Units that are parts of records which others began.
    pub merged: u64,
    /// Units that repeat their children.
    pub parents: u64,
    /// Units that hold no call.
    pub without_call: u64,
    /// Units that were left out by a filter.
    pub skipped: u64,
    /// Units that are no records.
    pub rejected: u64,
    /// Records of which a field was present and could not be used.
    pub partially_read: u64,
    /// The first rejected units: where, and why.
    pub first_rejected: Vec<(String, String)>,
    /// Mapped fields that stand in no record.
    pub unmatched: Vec<&'static str>,
    /// Whether texts of the log are in no record.
    pub has_unread_texts: bool,
    /// The limits that were reached: name, value, how often.
    pub limits_reached: Vec<(&'static str, u64, u64)>,
}

/// Writes all records of `input` to `out`.
///
/// # Errors
/// When `out` cannot be written.
pub fn convert(
    input: &mut Reader,
    settings: &Settings,
    filter: &Filter,
    form: Form,
    out: &mut (dyn Write + Send),
) -> Result<Converted> {
    let reader = settings.reader();
    let drive = Drive { reader: &reader, filter, analyst: &AsItIs };
    let mut assembly = Assembly::new(&settings.assemble);
    let mut table = Table::begin(form, out).context(UNWRITABLE)?;
    let (mut whole, mut left) = (Converted::default(), Unread::default());
    let render = |units: Vec<Observed<'_, AsItIs, ()>>| rendered(units, form);
    drive.run(
        input,
        &mut assembly,
        |_| (),
        render,
        |part, _| {
            match part {
                None => table.flush().context(UNWRITABLE)?,
                Some((rows, part, unread)) => {
                    table.write(rows).context(UNWRITABLE)?;
                    whole.merge(part);
                    left.merge(unread);
                }
            }
            Ok(ControlFlow::Continue(()))
        },
    )?;
    table.finish().context(UNWRITABLE)?;
    whole.unmatched = reader.unmatched();
    whole.has_unread_texts = left.summary().line().is_some();
    whole.limits_reached = input.limits_reached().chain(assembly.limits_reached()).collect();
    Ok(whole)
}

const UNWRITABLE: &str = "cannot write the output";

/// Records, as they are written.
enum Rows {
    /// Lines of JSON or of CSV.
    Lines(Vec<u8>),
    /// The cells of a row each, by the columns of the normal form.
    #[cfg(feature = "parquet")]
    Cells(Vec<Vec<Option<parquet::Cell>>>),
}

/// What is written to.
enum Table<'o> {
    Lines(&'o mut (dyn Write + Send)),
    #[cfg(feature = "parquet")]
    Parquet(Box<parquet::TableWriter<&'o mut (dyn Write + Send)>>),
}

impl<'o> Table<'o> {
    fn begin(form: Form, out: &'o mut (dyn Write + Send)) -> Result<Table<'o>> {
        Ok(match form {
            Form::JsonLines => Table::Lines(out),
            Form::Csv => {
                out.write_all(&row(COLUMNS.iter().map(|column| column.name)))?;
                Table::Lines(out)
            }
            #[cfg(feature = "parquet")]
            Form::Parquet => {
                let kind = |holds| match holds {
                    Holds::Text => parquet::Kind::Text,
                    Holds::Number => parquet::Kind::Float,
                    Holds::Count => parquet::Kind::Integer,
                    Holds::Flag => parquet::Kind::Boolean,
                    Holds::Json => parquet::Kind::Json,
                };
                let columns = COLUMNS.iter().map(|column| (column.name, kind(column.holds)));
                Table::Parquet(Box::new(parquet::TableWriter::new(out, columns)?))
            }
        })
    }

    fn write(&mut self, rows: Rows) -> Result<()> {
        match (self, rows) {
            (Table::Lines(out), Rows::Lines(bytes)) => Ok(out.write_all(&bytes)?),
            #[cfg(feature = "parquet")]
            (Table::Parquet(table), Rows::Cells(rows)) => Ok(rows.into_iter().try_for_each(|row| table.row(row))?),
            #[cfg(feature = "parquet")]
            _ => bail!("rows of another form"),
        }
    }

    /// Hands on what was written, where a form has lines: the rows of Parquet wait for their group.
    fn flush(&mut self) -> Result<()> {
        match self {
            Table::Lines(out) => Ok(out.flush()?),
            #[cfg(feature = "parquet")]
            Table::Parquet(_) => Ok(()),
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Table::Lines(out) => Ok(out.flush()?),
            #[cfg(feature = "parquet")]
            Table::Parquet(table) => Ok(table.finish()?.flush()?),
        }
    }
}

/// Leaves records as they are.
struct AsItIs;

impl Analyse for AsItIs {
    type Read = Vec<UnreadLeaf>;
    type Out<'a> = Record<'a>;

    fn read(&self, unit: &UnitOf<'_>, parsed: &Parsed<'_>) -> Option<Vec<UnreadLeaf>> {
        unread(unit, parsed)
    }

    fn analyse<'a>(&self, record: Record<'a>, _: &str) -> Record<'a> {
        record
    }
}

fn rendered(units: Vec<Observed<'_, AsItIs, ()>>, form: Form) -> (Rows, Converted, Unread) {
    let (mut rows, mut part, mut left) = (Rows::of(form), Converted::default(), Unread::default());
    for (mut unit, _) in units {
        if let Some(leaves) = unit.read.take() {
            left.unit(leaves);
        }
        let at = || place(&unit.place.source, unit.place.line, unit.place.item);
        match unit.outcome {
            Outcome::Record(mut record) => {
                part.records += 1;
                part.partially_read += u64::from(!record.problems.is_empty());
                if record.id.is_none() {
                    record.id = Some(Cow::Owned(at()));
                }
                rows.push(&record, form);
            }
            Outcome::Rejected(rejected) => {
                part.rejected += 1;
                part.first_rejected.push((at(), rejected.reason));
                part.first_rejected.truncate(REJECTED_NAMED_MAX);
            }
            Outcome::Ignored(ignored) if ignored.is_parent => part.parents += 1,
            Outcome::Ignored(_) => part.without_call += 1,
            Outcome::Merged => part.merged += 1,
            Outcome::Skipped => part.skipped += 1,
            Outcome::Held | Outcome::Part(..) | Outcome::Joined(_) => {}
        }
    }
    (rows, part, left)
}

impl Rows {
    fn of(form: Form) -> Rows {
        match form {
            Form::JsonLines | Form::Csv => Rows::Lines(Vec::new()),
            #[cfg(feature = "parquet")]
            Form::Parquet => Rows::Cells(Vec::new()),
        }
    }

    fn push(&mut self, record: &Record<'_>, form: Form) {
        let cells = || normal::cells(record).map(|(_, cell)| cell);
        match self {
            Rows::Lines(bytes) if form == Form::JsonLines => normal::write_line(record, bytes),
            Rows::Lines(bytes) => {
                bytes.extend_from_slice(&row(cells().map(|cell| cell.map(Cell::into_text).unwrap_or_default())));
            }
            #[cfg(feature = "parquet")]
            Rows::Cells(rows) => {
                let cell = |cell| match cell {
                    Cell::Text(text) => parquet::Cell::Text(text.into_owned()),
                    Cell::Number(number) => parquet::Cell::Float(number),
                    // A count above the range of the column is no count of tokens.
                    Cell::Count(count) => parquet::Cell::Integer(i64::try_from(count).unwrap_or(i64::MAX)),
                    Cell::Flag(flag) => parquet::Cell::Boolean(flag),
                    Cell::Json(value) => parquet::Cell::Json(value.to_compact_string()),
                };
                rows.push(cells().map(|value| value.map(cell)).collect());
            }
        }
    }
}

/// One row of CSV.
fn row(cells: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory does not fail.
    let _infallible = writer.write_record(cells);
    writer.into_inner().unwrap_or_default()
}

impl Converted {
    fn merge(&mut self, next: Converted) {
        self.records += next.records;
        self.merged += next.merged;
        self.parents += next.parents;
        self.without_call += next.without_call;
        self.skipped += next.skipped;
        self.rejected += next.rejected;
        self.partially_read += next.partially_read;
        self.first_rejected.extend(next.first_rejected);
        self.first_rejected.truncate(REJECTED_NAMED_MAX);
    }
}
