//! Bytes become units: paths, globs, folders and standard input, plain or compressed, cut into batches of whole units.
//!
//! A *unit* is what should be one record: a line of a JSON Lines file, an element of a JSON array, or one object of a
//! stream of pretty-printed objects, or an element of an array in a large document. Units are found here and parsed elsewhere; a unit that cannot even be cut out
//! (too large, unreadable) travels as [`Content::Rejected`] in its place, so that nothing is lost or counted twice.
//!
//! - [`names`]: which files of a folder are logs
//! - [`paths`]: arguments → ordered list of sources
//! - `zip`: the members of an archive; `store`: bytes that can be read at any place
//! - [`magic`]: what the first bytes say
//! - [`compression`]: gzip, zstd, bzip2 and xz
//! - [`framing`]: bytes → units; `scanner` finds where a value ends
//! - `parquet` (a feature): rows of Parquet files, and tables that are written as such
//! - `yaml`: pieces of YAML → JSON
//! - [`shell`]: what stands around the elements of a document that is too large to be one unit
//! - [`header`]: the first line of a table (CSV)
//! - [`ruled`]: tables as psql and mysql show them
//! - [`live`]: pipes, and files that grow
//! - [`reader`]: sources → [`Batch`]es, in order, bounded in memory

pub mod compression;
pub mod framing;
pub mod header;
pub mod live;
pub mod magic;
pub mod names;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod paths;
pub mod reader;
pub mod ruled;
mod scanner;
pub mod shell;
mod store;
mod yaml;
mod zip;

use std::{ops::Range, sync::Arc};

pub use header::Header;
pub use live::Stop;
pub use paths::{LeftOut, Why};
pub use reader::{Limits, Reader, Totals};
pub use shell::{Rest, Shell};

/// Where a unit stands: enough to find it again with `sed -n LINEp` or `dd`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The source as the user would write it (`-` for standard input).
    pub source: Arc<str>,
    /// Line on which the unit begins, from 1.
    pub line: u64,
    /// Position among the records of that line, from 0; `None` for the only one, or the first of several units.
    pub item: Option<u32>,
    /// Offset of the unit's first byte in the (decompressed) source.
    pub byte: u64,
}

/// Some whole units of one source, in order.
#[derive(Debug)]
pub struct Batch {
    /// The source that they come from.
    pub source: Arc<str>,
    /// Their bytes; [`Content::Text`] points into them.
    pub bytes: Vec<u8>,
    /// The units.
    pub units: Vec<Unit>,
    /// The header of the table whose rows they are; `None` when the source is no table.
    pub header: Option<Arc<Header>>,
}

/// One unit of input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Line on which it begins, from 1.
    pub line: u64,
    /// Position among the units that begin on that line: `None` for the first, then 1, 2, ...
    pub item: Option<u32>,
    /// Offset of its first byte in the (decompressed) source.
    pub byte: u64,
    /// What it holds.
    pub content: Content,
    /// The document of which it is an element, when that was too large to be one unit, and its shell is not.
    pub shell: Option<Arc<Shell>>,
}

/// What a unit holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Bytes to parse, as a range of [`Batch::bytes`]; never blank.
    Text(Range<usize>),
    /// What is left of a large document whose elements were units of their own. It stands where the document begins, and
    /// comes behind its elements.
    Rest(Rest),
    /// A unit that could not be cut out, and why.
    Rejected(Cut),
}

/// Why a unit, or the rest of a source, could not be cut out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// It is larger than the limit, which is named `max_record_bytes`.
    TooLarge {
        /// Its size, as far as it was seen.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The source could not be opened or read on from here (vanished, not permitted, cut in the middle of a gzip).
    Unreadable(String),
    /// The bytes end or break off inside of a value.
    Truncated(String),
    /// Its brackets are nested deeper than the limit, which is named [`framing::MAX_DEPTH`].
    TooDeep {
        /// The limit.
        limit: usize,
    },
}
