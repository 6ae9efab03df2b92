//! Sources → batches of whole units, in order, one open file at a time, in bounded memory.
//!
//! The bytes are read straight into the buffer that the batch takes with it; what follows the last whole unit is carried
//! over into the next buffer. Which units there are, and their places, does not depend on the size of the batches.
//!
//! A source that cannot be opened or read on is data: one [`Content::Rejected`] unit says where and why, and the next
//! source follows.
//!
//! **Limits**: [`Limits`]. A batch takes about `batch_bytes` or one unit, whichever is more. The buffer doubles
//! when a unit does not fit, so that a reader holds at most about twice `max_record_bytes` beside its batch.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    fs::{File, Metadata},
    io::{self, Read as _},
    mem,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
};

use anyhow::{Context as _, Result, bail};

#[cfg(feature = "parquet")]
use super::parquet::Rows;
use super::{
    Batch, Content, Cut, Unit,
    compression::{Decompressed, Input, Unpacking},
    framing::{End, Framer, Progress, Recognises},
    live::{Live, Stop},
    magic::{self, Holds},
    names::{self, Said},
    paths::{self, LeftOut, Origin, Resolved, SNIFFED_BYTES, Source, Why},
    store::Store,
    yaml,
    zip::{Archive, Member},
};

/// What bounds the memory of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that a batch is filled with. Default: 64 KiB, large enough that the cost per batch vanishes and small enough
    /// that what is made of it stays in the caches.
    pub batch_bytes: usize,
    /// The largest unit, in decompressed bytes; larger ones are rejected by name. Default: 16 MiB.
    pub max_record_bytes: u64,
    /// An object that grows beyond this is looked into for an array whose elements are units of their own, and so is one
    /// that reaches `max_record_bytes`. Default: 1 MiB, more than a call takes that is a record by itself.
    pub document_bytes: u64,
    /// What must be read as a whole and is no file on disk (a zip archive or a Parquet file on standard input, or inside of
    /// gzip) is kept in memory up to this size. Default: 256 MiB.
    pub max_spool_bytes: u64,
    /// Bytes that a compressed source, or all members of an archive, unpack to at most. Default: 1 TiB.
    pub max_unpacked_bytes: u64,
    /// How many times its size a compressed file or an archive unpacks to at most, beyond the first
    /// [`UNPACKED_FREE_BYTES`]. Default: 1,000, above what logs reach that differ from line to line.
    pub max_unpacked_ratio: u64,
    /// What stands around such elements is kept for them up to this size. Default: 16 KiB, more than the heads of reports
    /// and resources take; it is read again with each element.
    pub shell_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::DEFAULT
    }
}

/// Sources that could not be read, of which the names are kept.
pub const UNREADABLE_NAMED_MAX: usize = 20;

/// What any source may unpack to, whatever its size.
pub const UNPACKED_FREE_BYTES: u64 = 1 << 30;

impl Limits {
    /// The defaults.
    pub const DEFAULT: Limits = Limits {
        batch_bytes: 64 << 10,
        max_record_bytes: 16 << 20,
        document_bytes: 1 << 20,
        max_spool_bytes: 256 << 20,
        max_unpacked_bytes: 1 << 40,
        max_unpacked_ratio: 1000,
        shell_bytes: 16 << 10,
    };

    /// How much a source of this size may unpack to. The size of a stream is not known.
    fn unpacking(&self, bytes_on_disk: Option<u64>) -> Unpacking {
        let by_ratio =
            bytes_on_disk.map(|bytes| bytes.saturating_mul(self.max_unpacked_ratio).max(UNPACKED_FREE_BYTES));
        match by_ratio {
            Some(max_bytes) if max_bytes < self.max_unpacked_bytes => {
                Unpacking { max_bytes, limit: ("max_unpacked_ratio", self.max_unpacked_ratio) }
            }
            _ => {
                let max_bytes = self.max_unpacked_bytes;
                Unpacking { max_bytes, limit: ("max_unpacked_bytes", max_bytes) }
            }
        }
    }
}

/// What has been read so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sources begun, those that could not be opened among them.
    pub files: u64,
    /// Sources that could not be opened, or not read to their end.
    pub unreadable_sources: u64,
    /// Bytes, decompressed.
    pub bytes: u64,
    /// Lines, the last one of a source also when no line break ends it.
    pub lines: u64,
    /// Lines between units that hold nothing but blanks.
    pub blank_lines: u64,
    /// Units, those that could not be cut out among them.
    pub units: u64,
    /// Bytes as they are stored, before decompression.
    pub bytes_on_disk: u64,
}

/// Reads sources in order and gives their units in batches.
pub struct Reader {
    limits: Limits,
    waiting: VecDeque<Waiting>,
    current: Option<Current>,
    #[cfg(feature = "parquet")]
    rows: Option<Rows>,
    totals: Totals,
    /// The totals of the sources before the current one.
    totals_before: Totals,
    bytes_on_disk_expected: Option<u64>,
    recognises: Recognises,
    shells_cut: u64,
    left_out: Vec<LeftOut>,
    unreadable: Vec<Arc<str>>,
    followed: Option<PathBuf>,
    stop: Stop,
    notes: Vec<(Arc<str>, String)>,
}

/// A source whose turn has not come.
enum Waiting {
    Listed(Source),
    Stream(Arc<str>, Input),
    Member(Arc<str>, Archive, Member),
    Live(Arc<str>, Live),
}

/// What became of a source whose turn has come.
enum Begun {
    /// It is the current one.
    Reading,
    /// Its members wait in its place, or it holds no log.
    Passed,
    /// It cannot be opened; a batch that says why.
    Rejected(Batch),
}

/// The source that is being read.
struct Current {
    name: Arc<str>,
    input: Decompressed,
    /// Bytes taken of the archive, when it is a member of one.
    packed: Option<Arc<AtomicU64>>,
    /// Where its bytes come from, when they come while they are read.
    live: Option<Live>,
    framer: Framer,
    buffer: Vec<u8>,
    bytes: u64,
    end: Option<End>,
}

impl Reader {
    /// Lists the sources that the arguments name (see [`paths`]); opens none of them yet. An error is a wrong use.
    pub fn open(arguments: &[impl AsRef<OsStr>], limits: Limits) -> Result<Reader> {
        let Resolved { sources, left_out } = paths::resolve(arguments)?;
        let bytes_on_disk_expected = sources.iter().map(|source| source.bytes_on_disk).sum();
        let waiting = sources.into_iter().map(Waiting::Listed).collect();
        Ok(Reader { left_out, ..Reader::new(waiting, bytes_on_disk_expected, limits) })
    }

    /// Reads a file and what is written to it from then on, through rotations, until it is [stopped](Reader::stop). An error is
    /// a wrong use: nothing there, or no file.
    pub fn follow(path: &Path, limits: Limits) -> Result<Reader> {
        let shown = path.display();
        let metadata = path.metadata().with_context(|| format!("cannot follow `{shown}`"))?;
        if !metadata.is_file() {
            bail!("cannot follow `{shown}`: it is no file");
        }
        let live = Live::follow(path).with_context(|| format!("cannot follow `{shown}`"))?;
        let waiting = Waiting::Live(path.to_string_lossy().into(), live.clone());
        let reader = Reader { followed: Some(path.to_owned()), ..Reader::new(VecDeque::from([waiting]), None, limits) };
        reader.stop.watch(&live);
        Ok(reader)
    }

    /// Reads one stream, such as bytes in memory; compressed ones are told as in files.
    pub fn from_stream(name: &str, input: impl io::Read + Send + 'static, limits: Limits) -> Reader {
        Reader::new(VecDeque::from([Waiting::Stream(name.into(), Box::new(input))]), None, limits)
    }

    /// Asks `recognises` whether an object is something of its own when a large document is looked into for the array whose
    /// elements are units. Without it every object is, and the outermost array with an object counts.
    #[must_use]
    pub fn recognising(self, recognises: Recognises) -> Reader {
        Reader { recognises, ..self }
    }

    /// The next units, all of one source; at least one. `None` when everything is read.
    pub fn next_batch(&mut self) -> Option<Batch> {
        match self.advance(true) {
            Poll::Ready(batch) => batch,
            Poll::Pending => None,
        }
    }

    /// As [`Reader::next_batch`], without waiting for bytes of a pipe or of a file that grows.
    pub fn poll_batch(&mut self) -> Poll<Option<Batch>> {
        self.advance(false)
    }

    fn advance(&mut self, waits: bool) -> Poll<Option<Batch>> {
        loop {
            #[cfg(feature = "parquet")]
            if self.rows.is_some() {
                match self.next_rows() {
                    None => continue,
                    batch => return Poll::Ready(batch),
                }
            }
            let Some(current) = &mut self.current else {
                let Some(waiting) = self.waiting.pop_front() else { return Poll::Ready(None) };
                let waiting = match waiting {
                    Waiting::Listed(Source { name, origin: Origin::StandardInput, .. }) => {
                        let live = Live::of_stream(io::stdin());
                        self.stop.watch(&live);
                        Waiting::Live(name, live)
                    }
                    other => other,
                };
                if let Waiting::Live(_, live) = &waiting
                    && !waits
                    && !live.is_ready()
                {
                    self.waiting.push_front(waiting);
                    return Poll::Pending;
                }
                match self.begin(waiting) {
                    Begun::Rejected(batch) => return Poll::Ready(Some(batch)),
                    Begun::Reading | Begun::Passed => continue,
                }
            };
            let step = current.next_batch(&self.limits, waits);
            self.totals = self.totals_before.plus(&current.totals());
            match step {
                Step::Pending => return Poll::Pending,
                Step::Batch(batch) => return Poll::Ready(Some(batch)),
                Step::Finished(batch) => {
                    self.end_current();
                    if batch.is_some() {
                        return Poll::Ready(batch);
                    }
                }
            }
        }
    }

    fn end_current(&mut self) {
        self.totals_before = self.totals;
        let Some(Current { name, framer, live, end, .. }) = self.current.take() else { return };
        if matches!(end, Some(End::Failed(_))) {
            self.name_unreadable(&name);
        }
        self.shells_cut += framer.shells_cut();
        if let Some((live, note)) = live.and_then(|live| Some((live.clone(), live.next_source()?))) {
            self.notes.extend(note.map(|note| (name.clone(), note)));
            self.waiting.push_front(Waiting::Live(name, live));
        }
        if self.stop.is_stopped() {
            self.waiting.clear();
        }
    }

    /// Whether `path` is a source that is still to be read, under whatever name.
    pub fn will_read(&self, path: &Path) -> bool {
        let is_waiting = self.waiting.iter().any(|waiting| match waiting {
            Waiting::Listed(source) => source.origin.is_at(path),
            _ => false,
        });
        is_waiting || self.followed.iter().any(|file| same_file::is_same_file(file, path).unwrap_or(false))
    }

    /// What has been read so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Files and folders below the arguments that are not read, each with the reason.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Names of sources that could not be opened, or not read to their end: the first [`UNREADABLE_NAMED_MAX`] of them.
    pub fn unreadable(&self) -> &[Arc<str>] {
        &self.unreadable
    }

    /// What ends inputs that have no end of their own, from any thread.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// What is to be said of sources that were read: their names and the notes.
    pub fn notes(&self) -> &[(Arc<str>, String)] {
        &self.notes
    }

    /// The limits that were reached without a rejected unit: name, value, how often.
    pub fn limits_reached(&self) -> impl Iterator<Item = (&'static str, u64, u64)> {
        let current = self.current.as_ref().map_or(0, |current| current.framer.shells_cut());
        let shells_cut = self.shells_cut + current;
        [("shell_bytes", self.limits.shell_bytes as u64, shells_cut)].into_iter().filter(|(.., times)| *times > 0)
    }

    /// Size of all sources as they are stored; `None` when one of them is a stream, whose size is not known.
    pub fn bytes_on_disk_expected(&self) -> Option<u64> {
        self.bytes_on_disk_expected
    }

    fn new(waiting: VecDeque<Waiting>, bytes_on_disk_expected: Option<u64>, limits: Limits) -> Reader {
        let (totals, totals_before) = (Totals::default(), Totals::default());
        let (recognises, shells_cut): (Recognises, u64) = (|_| true, 0);
        Reader {
            limits,
            waiting,
            current: None,
            #[cfg(feature = "parquet")]
            rows: None,
            totals,
            totals_before,
            bytes_on_disk_expected,
            recognises,
            shells_cut,
            left_out: Vec::new(),
            unreadable: Vec::new(),
            followed: None,
            stop: Stop::default(),
            notes: Vec::new(),
        }
    }

    /// Opens a source.
    fn begin(&mut self, waiting: Waiting) -> Begun {
        let name = match &waiting {
            Waiting::Listed(source) => source.name.clone(),
            Waiting::Stream(name, _) | Waiting::Member(name, ..) => name.clone(),
            Waiting::Live(name, _) => name.clone(),
        };
        self.open_waiting(waiting, &name).unwrap_or_else(|error| Begun::Rejected(self.reject(name, &error)))
    }

    fn name_unreadable(&mut self, name: &Arc<str>) {
        if self.unreadable.len() < UNREADABLE_NAMED_MAX {
            self.unreadable.push(name.clone());
        }
    }

    /// The one unit of a source that cannot be opened.
    fn reject(&mut self, name: Arc<str>, error: &io::Error) -> Batch {
        for totals in [&mut self.totals, &mut self.totals_before] {
            totals.files += 1;
            totals.unreadable_sources += 1;
            totals.units += 1;
        }
        self.name_unreadable(&name);
        let content = Content::Rejected(Cut::Unreadable(format!("cannot be opened: {error}")));
        let units = vec![Unit { line: 1, item: None, byte: 0, content, shell: None }];
        Batch { source: name, bytes: Vec::new(), units, header: None }
    }

    fn open_waiting(&mut self, waiting: Waiting, name: &Arc<str>) -> io::Result<Begun> {
        let limits = self.limits;
        let (mut packed, mut live) = (None, None);
        let (mut input, path) = match waiting {
            Waiting::Live(_, from) => {
                let input = match from.is_endless() {
                    true => Decompressed::endless(Box::new(from.clone()))?,
                    false => Decompressed::sniff(Box::new(from.clone()), limits.unpacking(None))?,
                };
                // Who decompresses cannot tell whether there is more.
                live = Some(from).filter(|_| input.compression().is_none());
                (input, None)
            }
            Waiting::Stream(_, input) => (Decompressed::sniff(input, limits.unpacking(None))?, None),
            Waiting::Listed(Source { origin, .. }) => open(origin, &limits)?,
            Waiting::Member(_, archive, member) => {
                let counter = packed.insert(Arc::new(AtomicU64::new(0)));
                let input = archive.member(&member, counter.clone())?;
                let mut input = Decompressed::sniff(input, limits.unpacking(Some(member.packed_bytes)))?;
                if input.holds() == Holds::Zip {
                    return Err(input.refused(magic::ZIP));
                }
                if said_by(&member) == Said::Nothing && !paths::begins_json(input.peek(SNIFFED_BYTES)) {
                    self.left_out.push(LeftOut { name: name.clone(), why: Why::NoLog });
                    return Ok(Begun::Passed);
                }
                (input, None)
            }
        };
        // Of what comes while it is read, no more is waited for.
        if live.is_none()
            && let Some(other) = magic::of_name(&name.to_ascii_lowercase(), input.peek(SNIFFED_BYTES))
        {
            return Err(input.refused(other));
        }
        match input.holds() {
            Holds::Text => self.read_text(name, input, packed, live),
            Holds::Parquet => self.open_rows(name, &mut input, path)?,
            Holds::Zip => {
                let store = stored(&mut input, path, &limits)
                    .map_err(|error| io::Error::other(format!("this is a zip archive: {error}")))?;
                self.unzip(name, store)?;
                return Ok(Begun::Passed);
            }
        }
        Ok(Begun::Reading)
    }

    fn read_text(&mut self, name: &Arc<str>, input: Decompressed, packed: Option<Arc<AtomicU64>>, live: Option<Live>) {
        self.totals.files += 1;
        self.totals_before.files += 1;
        let name = name.clone();
        let framer = Framer::new(&self.limits).recognising(self.recognises).of_source(&name);
        self.current = Some(Current { name, input, packed, live, framer, buffer: Vec::new(), bytes: 0, end: None });
    }

    #[cfg(feature = "parquet")]
    fn open_rows(&mut self, name: &Arc<str>, input: &mut Decompressed, path: Option<PathBuf>) -> io::Result<()> {
        let store = stored(input, path, &self.limits)
            .map_err(|error| io::Error::other(format!("this is a Parquet file: {error}")))?;
        self.rows = Some(Rows::open(name, store)?);
        self.totals.files += 1;
        self.totals_before.files += 1;
        Ok(())
    }

    #[cfg(not(feature = "parquet"))]
    fn open_rows(&mut self, _: &Arc<str>, input: &mut Decompressed, _: Option<PathBuf>) -> io::Result<()> {
        Err(input.refused(magic::PARQUET))
    }

    /// The next rows of a Parquet file.
    #[cfg(feature = "parquet")]
    fn next_rows(&mut self) -> Option<Batch> {
        let rows = self.rows.as_mut()?;
        let (batch, is_finished) = rows.next_batch(&self.limits);
        self.totals = self.totals_before.plus(&Totals {
            unreadable_sources: u64::from(rows.is_damaged()),
            bytes: rows.json_bytes(),
            lines: rows.read(),
            units: rows.read(),
            bytes_on_disk: rows.bytes_read(),
            ..Totals::default()
        });
        if is_finished {
            let damaged = self.rows.take().filter(Rows::is_damaged);
            damaged.into_iter().for_each(|rows| self.name_unreadable(rows.name()));
            self.totals_before = self.totals;
        }
        batch
    }

    /// Puts the members of an archive in its place.
    fn unzip(&mut self, name: &Arc<str>, store: Store) -> io::Result<()> {
        let unpacking = self.limits.unpacking(Some(store.len()));
        let (archive, members) = Archive::open(store, unpacking)?;
        let mut logs = Vec::new();
        for member in members {
            let name: Arc<str> = format!("{name}!{}", member.path).into();
            let why = match said_by(&member) {
                _ if is_hidden(&member) => Why::Hidden,
                Said::Copy => Why::Copy,
                Said::Other => Why::NoLog,
                Said::Log | Said::Nothing => {
                    logs.push(Waiting::Member(name, archive.clone(), member));
                    continue;
                }
            };
            self.left_out.push(LeftOut { name, why });
        }
        if logs.is_empty() {
            return Err(io::Error::other("the zip archive holds no logs"));
        }
        logs.into_iter().rev().for_each(|member| self.waiting.push_front(member));
        Ok(())
    }
}

/// What is read at any place: the file itself where that is possible.
fn stored(input: &mut Decompressed, path: Option<PathBuf>, limits: &Limits) -> io::Result<Store> {
    match path {
        Some(path) => Store::of_file(File::open(path)?),
        None => Store::of_stream(input, limits.max_spool_bytes),
    }
}

fn said_by(member: &Member) -> Said {
    names::said_by(member.path.rsplit(['/', '\\']).next().unwrap_or_default())
}

/// Whether a member stands below a hidden name, or in what macOS adds to archives.
fn is_hidden(member: &Member) -> bool {
    member.path.split(['/', '\\']).any(|part| names::is_hidden(part) || part == "__MACOSX")
}

/// Opens what was listed; also its path, when its bytes can be read at any place.
fn open(origin: Origin, limits: &Limits) -> io::Result<(Decompressed, Option<PathBuf>)> {
    match origin {
        Origin::StandardInput => Ok((Decompressed::sniff(Box::new(io::stdin()), limits.unpacking(None))?, None)),
        Origin::File(path) => {
            let file = File::open(&path)?;
            let size = file.metadata().ok().filter(Metadata::is_file).map(|metadata| metadata.len());
            let input = Decompressed::sniff(Box::new(file), limits.unpacking(size))?;
            let is_in_place = size.is_some() && input.compression().is_none();
            Ok((input, is_in_place.then_some(path)))
        }
        Origin::Missing(reason) => Err(io::Error::new(io::ErrorKind::NotFound, reason)),
    }
}

/// Appends what has come to `buffer`, up to `limit` bytes, and waits only for the first of them. Whether it was the end.
fn fill_live(input: &mut Decompressed, live: &Live, buffer: &mut Vec<u8>, limit: usize) -> io::Result<bool> {
    let begin = buffer.len();
    while buffer.len() - begin < limit && (buffer.len() == begin || live.is_ready()) {
        let before = buffer.len();
        buffer.resize(begin + limit, 0);
        let result = input.read(&mut buffer[before..]);
        buffer.truncate(before + result.as_ref().map_or(0, |count| *count));
        match result {
            Ok(0) => return Ok(true),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

impl Totals {
    fn plus(&self, other: &Totals) -> Totals {
        Totals {
            files: self.files + other.files,
            unreadable_sources: self.unreadable_sources + other.unreadable_sources,
            bytes: self.bytes + other.bytes,
            lines: self.lines + other.lines,
            blank_lines: self.blank_lines + other.blank_lines,
            units: self.units + other.units,
            bytes_on_disk: self.bytes_on_disk + other.bytes_on_disk,
        }
    }
}

/// What a source gives next.
enum Step {
    /// Units.
    Batch(Batch),
    /// Its last units, if there are any left.
    Finished(Option<Batch>),
    /// Nothing yet.
    Pending,
}

impl Current {
    fn next_batch(&mut self, limits: &Limits, waits: bool) -> Step {
        let mut units = Vec::new();
        loop {
            let progress = self.framer.frame(&self.buffer, self.end.as_ref(), &mut units);
            let is_finished = progress == Progress::Finished;
            let batch = (!units.is_empty()).then(|| self.take_batch(mem::take(&mut units), limits));
            let batch = batch.map(|batch| if self.framer.is_yaml() { Current::of_yaml(batch, limits) } else { batch });
            match batch {
                batch if is_finished => return Step::Finished(batch),
                Some(batch) => return Step::Batch(batch),
                None => {}
            }
            let unneeded = self.framer.release();
            self.buffer.drain(..unneeded);
            if !waits && self.live.as_ref().is_some_and(|live| !live.is_ready()) {
                return Step::Pending;
            }
            self.fill(limits.batch_bytes.max(1));
        }
    }

    /// The batch with its pieces of YAML as JSON.
    fn of_yaml(batch: Batch, limits: &Limits) -> Batch {
        let mut bytes = Vec::with_capacity(batch.bytes.len());
        let units = batch.units.into_iter().map(|unit| {
            let content = match unit.content {
                Content::Text(range) => match yaml::to_json(&batch.bytes[range], limits.max_record_bytes, &mut bytes) {
                    Ok(range) => Content::Text(range),
                    Err(cut) => Content::Rejected(cut),
                },
                other => other,
            };
            Unit { content, ..unit }
        });
        Batch { units: units.collect(), bytes, ..batch }
    }

    /// Gives the buffer away and begins a new one with the bytes that later units need.
    fn take_batch(&mut self, units: Vec<Unit>, limits: &Limits) -> Batch {
        let kept = self.framer.release();
        let header = self.framer.header();
        if kept < self.buffer.capacity() / 2 {
            // A batch holds no more memory than its units.
            let bytes = self.buffer[..kept].to_vec();
            self.buffer.drain(..kept);
            self.buffer.shrink_to(limits.batch_bytes);
            return Batch { source: self.name.clone(), bytes, units, header };
        }
        let tail = &self.buffer[kept..];
        let mut next =
            Vec::with_capacity(if self.end.is_some() { tail.len() } else { tail.len() + limits.batch_bytes });
        next.extend_from_slice(tail);
        self.buffer.truncate(kept);
        Batch { source: self.name.clone(), bytes: mem::replace(&mut self.buffer, next), units, header }
    }

    fn fill(&mut self, limit: usize) {
        let before = self.buffer.len();
        let result = match &self.live {
            None => self.input.fill(&mut self.buffer, limit).map(|count| count < limit),
            Some(live) => fill_live(&mut self.input, live, &mut self.buffer, limit),
        };
        match result {
            Ok(true) => self.end = Some(End::Complete),
            Ok(false) => {}
            Err(error) => self.end = Some(End::Failed(format!("cannot be read on: {error}"))),
        }
        self.bytes += (self.buffer.len() - before) as u64;
    }

    fn totals(&self) -> Totals {
        Totals {
            files: 0,
            unreadable_sources: u64::from(matches!(self.end, Some(End::Failed(_)))),
            bytes: self.bytes,
            lines: self.framer.lines(),
            blank_lines: self.framer.blank_lines(),
            units: self.framer.units(),
            bytes_on_disk: match &self.packed {
                Some(packed) => packed.load(Ordering::Relaxed),
                None => self.input.bytes_on_disk(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::{Cursor, Read, Write},
        path::Path,
    };

    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;
    use rawzip::CompressionMethod;

    use super::{super::zip, *};

    /// Source, line, byte and text of all units; a rejected one has its reason for a text.
    fn read_all(reader: &mut Reader) -> Vec<(String, u64, u64, String)> {
        let mut all = Vec::new();
        let mut bytes = 0;
        while let Some(batch) = reader.next_batch() {
            assert!(!batch.units.is_empty());
            bytes += batch.bytes.len() as u64;
            assert!(bytes <= reader.totals().bytes, "a batch holds bytes of another");
            assert_eq!(reader.totals().units, (all.len() + batch.units.len()) as u64, "a unit is counted once");
            for unit in batch.units {
                let text = match unit.content {
                    Content::Text(range) => String::from_utf8_lossy(&batch.bytes[range]).into_owned(),
                    Content::Rejected(cut) => format!("{cut:?}"),
                    Content::Rest(rest) => format!("{rest:?}"),
                };
                all.push((batch.source.to_string(), unit.line, unit.byte, text));
            }
        }
        all
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory can be written to")
    }

    fn open(folder: &Path, limits: Limits) -> Reader {
        Reader::open(&[folder.display().to_string()], limits).expect("a folder with logs")
    }

    #[test]
    fn a_reader_can_be_sent_to_another_thread() {
        fn is_send<T: Send>() {}
        is_send::<Reader>();
    }

    #[test]
    fn sources_follow_one_another_and_are_counted() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let packed = gzip(b"{\"c\":3}\n\n");
        fs::write(folder.path().join("a.jsonl"), "{\"a\":1}\n{\"b\":2}").expect("a file");
        fs::write(folder.path().join("b.jsonl"), "").expect("a file");
        fs::write(folder.path().join("c.jsonl.gz"), &packed).expect("a file");
        let mut reader = open(folder.path(), Limits::default());
        let on_disk = 15 + packed.len() as u64;
        assert_eq!(reader.bytes_on_disk_expected(), Some(on_disk));
        let units = read_all(&mut reader);
        let texts: Vec<&str> = units.iter().map(|unit| unit.3.as_str()).collect();
        assert_eq!(texts, ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"]);
        let expected = Totals {
            files: 3,
            bytes: 24,
            lines: 4,
            blank_lines: 1,
            units: 3,
            bytes_on_disk: on_disk,
            ..Totals::default()
        };
        assert_eq!(reader.totals(), &expected);
        assert!(reader.next_batch().is_none());
    }

    #[test]
    fn a_source_that_fails_is_data_and_the_next_one_follows() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let text: String = (0..20_000_u32).map(|i| format!("{{\"a\":{}}}\n", i.wrapping_mul(2_654_435_761))).collect();
        let packed = gzip(text.as_bytes());
        fs::write(folder.path().join("a.jsonl"), "{}").expect("a file");
        fs::write(folder.path().join("b.jsonl.gz"), &packed[..packed.len() / 2]).expect("a file");
        fs::write(folder.path().join("c.jsonl"), b"7z\xBC\xAF\x27\x1C").expect("a file");
        fs::write(folder.path().join("d.jsonl"), b"{}").expect("a file");
        let mut reader = open(folder.path(), Limits { batch_bytes: 1000, ..Limits::default() });
        fs::remove_file(folder.path().join("a.jsonl")).expect("the file is there");
        let units = read_all(&mut reader);
        let [vanished, whole @ .., cut, archive, last] = &units[..] else { panic!("{units:?}") };
        assert!(
            vanished.0.ends_with("a.jsonl") && vanished.3.contains("cannot be opened: No such file"),
            "{vanished:?}"
        );
        assert!(whole.len() > 1000);
        for (unit, line) in whole.iter().zip(text.lines()) {
            assert_eq!(unit.3, line);
        }
        let read: usize = text.lines().take(whole.len()).map(|line| line.len() + 1).sum();
        assert_eq!((cut.1, cut.2), (whole.len() as u64 + 1, read as u64));
        assert!(cut.3.contains("Unreadable") && cut.3.contains("the gzip data is cut off"), "{cut:?}");
        assert!(archive.3.contains("a 7z archive"), "{archive:?}");
        assert_eq!(last.3, "{}");
        assert_eq!(reader.totals().files, 4);
    }

    #[test]
    fn members_of_archives_are_sources() {
        let lines = b"{\"a\":1}\n{\"b\":2}\n";
        let zip = zip::tests::archive(&[
            ("samples/1.json", CompressionMethod::ZSTD, b"{\"s\":1}"),
            ("_journal/start.json", CompressionMethod::DEFLATE, b"{\"j\":1}"),
            ("a.jsonl.gz", CompressionMethod::STORE, &gzip(lines)),
            ("trace", CompressionMethod::STORE, b"[{\"t\":1}]"),
            ("prose", CompressionMethod::STORE, b"No log."),
            ("readme.md", CompressionMethod::STORE, b"{}"),
            ("__MACOSX/a.json", CompressionMethod::STORE, b"{}"),
            ("x/.b.json", CompressionMethod::STORE, b"{}"),
            ("inner.zip", CompressionMethod::STORE, b"PK\x03\x04"),
        ]);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("run.eval");
        fs::write(&path, &zip).expect("a file");
        let told = |mut reader: Reader| {
            let units = read_all(&mut reader);
            let texts: Vec<(String, String)> = units
                .into_iter()
                .map(|(source, _, _, text)| (source.split_once('!').expect("a member").1.to_owned(), text))
                .collect();
            (texts, *reader.totals(), reader.left_out().to_vec())
        };
        let of_file = told(Reader::open(&[&path], Limits::default()).expect("a file"));
        let (texts, totals, left_out) = &of_file;
        let is = |at: usize, name: &str, text: &str| texts[at].0 == name && texts[at].1.starts_with(text);
        assert!(is(0, "samples/1.json", "{\"s\":1}") && is(1, "_journal/start.json", "{\"j\":1}"), "{texts:?}");
        assert!(is(2, "a.jsonl.gz", "{\"a\":1}") && is(3, "a.jsonl.gz", "{\"b\":2}") && is(4, "trace", "{\"t\":1}"));
        assert!(is(5, "inner.zip", "Unreadable(\"cannot be opened: this is a zip archive; "), "{texts:?}");
        assert_eq!((texts.len(), totals.files, totals.unreadable_sources, totals.units), (6, 5, 1, 6));
        assert!(totals.bytes_on_disk < zip.len() as u64);
        let whys: Vec<Why> = left_out.iter().map(|left_out| left_out.why).collect();
        assert_eq!(whys, [Why::NoLog, Why::Hidden, Why::Hidden, Why::NoLog], "{left_out:?}");
        for input in [zip.clone(), gzip(&zip)] {
            let of_stream = told(Reader::from_stream("x", Cursor::new(input), Limits::default()));
            assert_eq!((&of_stream.0, of_stream.1.units), (texts, 6));
        }
        let refused = |bytes: &[u8], limits: Limits| {
            let units = read_all(&mut Reader::from_stream("x", Cursor::new(bytes.to_vec()), limits));
            assert_eq!(units.len(), 1, "{units:?}");
            units[0].3.clone()
        };
        let small = Limits { max_spool_bytes: 100, ..Limits::default() };
        assert!(refused(&zip, small).contains("above max_spool_bytes (100)"));
        let no_log = zip::tests::archive(&[("a.md", CompressionMethod::STORE, b"{}")]);
        assert!(refused(&no_log, Limits::default()).contains("the zip archive holds no logs"));
        assert!(refused(&zip[..zip.len() / 2], Limits::default()).contains("the zip data is damaged"));
    }

    #[test]
    fn what_unpacks_to_too_much_is_cut_where_the_limit_is() {
        let unpacking = |bytes| Limits { max_unpacked_ratio: 10, ..Limits::default() }.unpacking(bytes).max_bytes;
        assert_eq!([unpacking(None), unpacking(Some(5)), unpacking(Some(1 << 30))], [1 << 40, 1 << 30, 10 << 30]);
        let lines = gzip(&b"{\"a\":1}\n".repeat(1000));
        for batch_bytes in [1, 100, 1 << 20] {
            let limits = Limits { max_unpacked_bytes: 801, batch_bytes, ..Limits::default() };
            let units = read_all(&mut Reader::from_stream("x", Cursor::new(lines.clone()), limits));
            let last = units.last().expect("units");
            assert_eq!((units.len(), last.1, last.2), (101, 101, 800));
            assert!(last.3.contains("more than max_unpacked_bytes allows, which is 801"), "{last:?}");
        }
    }

    #[test]
    fn a_followed_file_gives_its_units_as_they_are_written() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("app.jsonl");
        let mut file = File::create(&path).expect("a file");
        let mut reader = Reader::follow(&path, Limits::default()).expect("it is there");
        assert!(reader.will_read(&path) && reader.poll_batch().is_pending());
        let mut next = |text: &[u8]| {
            file.write_all(text).expect("written");
            let batch = reader.next_batch().expect("units");
            let bytes = |unit: &Unit| match &unit.content {
                Content::Text(range) => String::from_utf8_lossy(&batch.bytes[range.clone()]).into_owned(),
                other => panic!("{other:?}"),
            };
            batch.units.iter().map(bytes).collect::<Vec<String>>()
        };
        assert_eq!(next(b"{\"a\":1}\n{\"b\":"), ["{\"a\":1}"]);
        assert_eq!(next(b"2}\n"), ["{\"b\":2}"]);
        assert!(reader.poll_batch().is_pending());
        reader.stop().stop();
        assert!(reader.next_batch().is_none());
        assert_eq!((reader.totals().lines, reader.totals().units), (2, 2));
        fs::write(&path, gzip(b"{}")).expect("a file");
        let mut reader = Reader::follow(&path, Limits::default()).expect("it is there");
        assert!(read_all(&mut reader)[0].3.contains("only text can be followed"));
        assert!(Reader::follow(folder.path(), Limits::default()).is_err());
    }

    #[test]
    fn a_unit_far_above_the_limit_takes_bounded_memory() {
        const WIDTH: u64 = 200 << 20;
        let limits = Limits { max_record_bytes: 1 << 20, ..Limits::default() };
        for (before, after, size) in [
            ("{}\n", "\n{\"b\":1}\n", WIDTH),
            ("[{},\n{\"a\":\"", "\"},\n{\"b\":1}]", WIDTH + 8),
            ("{\n}\n{\n\"a\":\"", "\n{\"b\":1}", WIDTH + 7),
        ] {
            let wide = io::repeat(b'x').take(WIDTH);
            let input = Cursor::new(before).chain(wide).chain(Cursor::new(after));
            let mut reader = Reader::from_stream("wide", input, limits);
            let mut contents = Vec::new();
            while let Some(batch) = reader.next_batch() {
                assert!(batch.bytes.capacity() <= 4 << 20, "{} bytes held", batch.bytes.capacity());
                contents.extend(batch.units.into_iter().map(|unit| (unit.line, unit.content)));
            }
            let [_, (wide_line, wide), (line, Content::Text(_))] = &contents[..] else { panic!("{contents:?}") };
            assert_eq!(wide, &Content::Rejected(Cut::TooLarge { bytes: size, limit: 1 << 20 }), "{before}");
            assert!(line > wide_line);
            assert_eq!(reader.totals().bytes, WIDTH + (before.len() + after.len()) as u64);
        }
    }

    struct Repeated {
        text: Vec<u8>,
        at: usize,
        left: usize,
    }

    impl Read for Repeated {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.left == 0 {
                return Ok(0);
            }
            let count = (&self.text[self.at..]).read(buffer)?;
            self.at += count;
            if self.at == self.text.len() {
                (self.at, self.left) = (0, self.left - 1);
            }
            Ok(count)
        }
    }

    #[test]
    fn a_large_document_takes_the_memory_of_its_elements() {
        const ELEMENTS: usize = 40_000;
        let element = format!("  {{\"id\": 1, \"a\": \"{}\"}},\n", "x".repeat(1000));
        for (before, between) in [("{\"list\": [\n", ""), ("{\n\"list\": [", "\n"), ("INFO {\"list\": [", "")] {
            let line = if between.is_empty() { element.replace('\n', "") } else { element.clone() };
            let repeated = Repeated { text: line.into_bytes(), at: 0, left: ELEMENTS };
            let input = Cursor::new(before.replace('\n', between)).chain(repeated).chain(Cursor::new("{}]}"));
            let mut reader = Reader::from_stream("wide", input, Limits::default());
            let mut units = 0;
            while let Some(batch) = reader.next_batch() {
                units += batch.units.len();
                assert!(batch.bytes.capacity() <= 3 << 18, "{} bytes held", batch.bytes.capacity());
            }
            assert_eq!((units, reader.totals().bytes > 40_000_000), (ELEMENTS + 2, true), "{before}");
        }
    }

    proptest! {
        #[test]
        fn units_do_not_depend_on_the_batches(
            pieces in prop::collection::vec("\\{\"a\":[0-9]{1,3}\\}|\\{|\\[|\\]|\\}|,|\n|\n|\n\\{| |\"|[a-z\u{e9}]{1,4}", 0..60),
            batch_bytes in 1_usize..50, is_packed in any::<bool>()
        ) {
            let text = pieces.concat().into_bytes();
            let input = if is_packed { gzip(&text) } else { text.clone() };
            let read = |batch_bytes| {
                let limits = Limits { batch_bytes, max_record_bytes: 30, document_bytes: 12, ..Limits::default() };
                let mut reader = Reader::from_stream("-", Cursor::new(input.clone()), limits);
                let units = read_all(&mut reader);
                (units, *reader.totals())
            };
            let whole = read(1 << 20);
            prop_assert_eq!(whole.1.bytes, text.len() as u64);
            prop_assert_eq!(whole.1.bytes_on_disk, input.len() as u64);
            prop_assert_eq!(&read(1), &whole);
            prop_assert_eq!(&read(batch_bytes), &whole);
        }
    }
}
