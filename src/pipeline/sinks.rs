//! Where the bytes of an audit go: any number of formats, each to a writer of its own.

use std::io::{self, ErrorKind, Write};

use crate::report::{Format, Records, RejectedUnit, Report, Writer, format::Renderer};

use super::judge::Opinion;

/// One output: a format, which records it holds, and where it goes.
pub struct Sink<'f> {
    renderer: Renderer<'f>,
    /// `None` once it is finished, or its reader has gone.
    writer: Option<Writer<'f, Box<dyn Write + Send + 'f>>>,
    is_closed: bool,
}

/// What one batch adds to one sink.
pub type Chunk = Vec<u8>;

impl<'f> Sink<'f> {
    /// A sink that has written nothing yet.
    pub fn new(format: &'f dyn Format, records: Records, out: impl Write + Send + 'f) -> Sink<'f> {
        let renderer = Renderer { format, records };
        Sink { renderer, writer: Some(Writer::new(renderer, Box::new(out))), is_closed: false }
    }

    /// What renders batches for this sink, in any thread.
    pub(crate) fn renderer(&self) -> Renderer<'f> {
        self.renderer
    }

    /// Whether the reader has gone (a closed pipe, which is no error).
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    pub(crate) fn head(&mut self) -> io::Result<()> {
        self.write(Writer::head)
    }

    pub(crate) fn chunk(&mut self, chunk: &Chunk) -> io::Result<()> {
        self.write(|writer| writer.chunk(chunk))
    }

    /// Hands on what was written, to who waits for it.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.write(Writer::flush)
    }

    pub(crate) fn finish(&mut self, report: &Report) -> io::Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        self.forgive(writer.finish(report).map(drop))
    }

    fn write(
        &mut self,
        write: impl FnOnce(&mut Writer<'f, Box<dyn Write + Send + 'f>>) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let result = write(writer);
        self.forgive(result)
    }

    /// A reader that goes has a right to; nothing more is written to it.
    fn forgive(&mut self, result: io::Result<()>) -> io::Result<()> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.writer = None;
                self.is_closed = true;
                Ok(())
            }
            result => result,
        }
    }
}

/// Renders into one chunk per sink; the object is made only when one of them shows it.
pub(crate) fn record(renderers: &[Renderer<'_>], opinion: &Opinion<'_>, chunks: &mut [Chunk]) {
    let is_shown = |renderer: &Renderer<'_>| renderer.shows(opinion.decision());
    if !renderers.iter().any(is_shown) {
        return;
    }
    let record = opinion.record();
    for (renderer, chunk) in renderers.iter().zip(chunks) {
        renderer.record(&record, chunk);
    }
}

/// As [`record`], for a unit that is no record.
pub(crate) fn rejected(renderers: &[Renderer<'_>], unit: &RejectedUnit, chunks: &mut [Chunk]) {
    for (renderer, chunk) in renderers.iter().zip(chunks) {
        renderer.rejected(unit, chunk);
    }
}
