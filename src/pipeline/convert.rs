//! Logs of any format become records of the normal form, one after another.
//!
//! The same drive as an audit: what is merged, paired and put together there is so here, and the records come in the order
//! in which an audit judges them. A record without an id gets the place where it stood, so that a verdict on what was
//! converted leads back to the log.

use std::{borrow::Cow, io::Write, ops::ControlFlow};

use anyhow::{Context as _, Result};

use crate::{
    config::Settings,
    input::Reader,
    reader::Parsed,
    record::Record,
    report::verdict_record::place,
    writers::normal::{self, COLUMNS, Cell},
};

use super::{
    Filter,
    drive::{Analyse, Assembly, Drive, Observed, Outcome, UnitOf},
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
}

/// What came of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Records that were written.
    pub records: u64,
    /// Units that hold no call.
    pub without_call: u64,
    /// Units that repeat their children, or were left out by a filter.
    pub skipped: u64,
    /// Units that are no records.
    pub rejected: u64,
    /// Records of which a field was present and could not be used.
    pub partially_read: u64,
    /// The first rejected units: where, and why.
    pub first_rejected: Vec<(String, String)>,
    /// Mapped fields that stand in no record.
    pub unmatched: Vec<&'static str>,
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
    out: &mut (impl Write + Send),
) -> Result<Converted> {
    let reader = settings.reader();
    let drive = Drive { reader: &reader, filter, analyst: &AsItIs };
    let mut assembly = Assembly::new(&settings.assemble);
    if form == Form::Csv {
        let header: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
        out.write_all(&row(header)).context("cannot write the output")?;
    }
    let mut whole = Converted::default();
    let render = |units: Vec<Observed<'_, AsItIs, ()>>| rendered(units, form);
    drive.run(
        input,
        &mut assembly,
        |_| (),
        render,
        |part, _| {
            let Some((bytes, part)) = part else {
                out.flush().context("cannot write the output")?;
                return Ok(ControlFlow::Continue(()));
            };
            out.write_all(&bytes).context("cannot write the output")?;
            whole.merge(part);
            Ok(ControlFlow::Continue(()))
        },
    )?;
    out.flush().context("cannot write the output")?;
    whole.unmatched = reader.unmatched();
    Ok(whole)
}

/// Leaves records as they are.
struct AsItIs;

impl Analyse for AsItIs {
    type Read = ();
    type Out<'a> = Record<'a>;

    fn read(&self, _: &UnitOf<'_>, _: &Parsed<'_>) -> Option<()> {
        None
    }

    fn analyse<'a>(&self, record: Record<'a>) -> Record<'a> {
        record
    }
}

fn rendered(units: Vec<Observed<'_, AsItIs, ()>>, form: Form) -> (Vec<u8>, Converted) {
    let (mut bytes, mut part) = (Vec::new(), Converted::default());
    for (unit, _) in units {
        let at = || place(&unit.place.source, unit.place.line, unit.place.item);
        match unit.outcome {
            Outcome::Record(mut record) => {
                part.records += 1;
                part.partially_read += u64::from(!record.problems.is_empty());
                if record.id.is_none() {
                    record.id = Some(Cow::Owned(at()));
                }
                match form {
                    Form::JsonLines => normal::write_line(&record, &mut bytes),
                    Form::Csv => {
                        let cells =
                            normal::cells(&record).map(|(_, cell)| cell.map(Cell::into_text).unwrap_or_default());
                        bytes.extend_from_slice(&row(cells));
                    }
                }
            }
            Outcome::Rejected(rejected) => {
                part.rejected += 1;
                part.first_rejected.push((at(), rejected.reason));
                part.first_rejected.truncate(REJECTED_NAMED_MAX);
            }
            Outcome::Ignored(_) => part.without_call += 1,
            Outcome::Skipped => part.skipped += 1,
            Outcome::Merged | Outcome::Held | Outcome::Part(..) | Outcome::Joined(_) => {}
        }
    }
    (bytes, part)
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
        self.without_call += next.without_call;
        self.skipped += next.skipped;
        self.rejected += next.rejected;
        self.partially_read += next.partially_read;
        self.first_rejected.extend(next.first_rejected);
        self.first_rejected.truncate(REJECTED_NAMED_MAX);
    }
}
