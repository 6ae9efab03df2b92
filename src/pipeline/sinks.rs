//! Where the bytes of an audit go: any number of formats, each to a writer of its own.

use std::io::{self, ErrorKind, Write};

use crate::report::{
    Format, Records, RejectedUnit, Report, VerdictRecord, Writer,
    format::Renderer,
};

/// One output: a format, which records it holds, and where it goes.
pub struct Sink<'f> {
    renderer: Renderer<'f>,
    /// `None` once its reader has gone.
    writer: Option<Writer<'f, Box<dyn Write + Send + 'f>>>,
}

/// What one batch adds to one sink.
pub type Chunk = Vec<u8>;

impl<'f> Sink<'f> {
    /// A sink that has written nothing yet.
    pub fn new(format: &'f dyn Format, records: Records, out: impl Write + Send + 'f) -> Sink<'f> {
        let renderer = Renderer { format, records };
        Sink { renderer, writer: Some(Writer::new(renderer, Box::new(out))) }
    }

    /// What renders batches for this sink, in any thread.
    pub(crate) fn renderer(&self) -> Renderer<'f> {
        self.renderer
    }

    /// Whether the reader has gone (a closed pipe, which is no error).
    pub fn is_closed(&self) -> bool {
        self.writer.is_none()
    }

    pub(crate) fn head(&mut self) -> io::Result<()> {
        self.write(Writer::head)
    }

    pub(crate) fn chunk(&mut self, chunk: &Chunk) -> io::Result<()> {
        self.write(|writer| writer.chunk(chunk))
    }

    pub(crate) fn finish(&mut self, report: &Report) -> io::Result<()> {
        match self.writer.take().map(|writer| writer.finish(report)) {
            Some(Err(error)) if error.kind() != ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }

    fn write(
        &mut self,
        write: impl FnOnce(&mut Writer<'f, Box<dyn Write + Send + 'f>>) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        match write(writer) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.writer = None;
                Ok(())
            }
            result => result,
        }
    }
}

/// Renders into one chunk per sink.
pub(crate) fn record(renderers: &[Renderer<'_>], record: &VerdictRecord, chunks: &mut [Chunk]) {
    for (renderer, chunk) in renderers.iter().zip(chunks) {
        renderer.record(record, chunk);
    }
}

/// As [`record`], for a unit that is no record.
pub(crate) fn rejected(renderers: &[Renderer<'_>], unit: &RejectedUnit, chunks: &mut [Chunk]) {
    for (renderer, chunk) in renderers.iter().zip(chunks) {
        renderer.rejected(unit, chunk);
    }
}
