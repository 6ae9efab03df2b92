//! Bytes that can be read at any place: a file, or what was read into memory because its source gives each byte once.

use std::{
    fs::File,
    io::{self, Read},
    sync::Arc,
};

use rawzip::{FileReader, ReaderAt};

/// Bytes that can be read at any place.
#[derive(Debug)]
pub(super) enum Store {
    File(FileReader, u64),
    Memory(Vec<u8>),
}

impl Store {
    pub(super) fn of_file(file: File) -> io::Result<Store> {
        let length = file.metadata()?.len();
        Ok(Store::File(FileReader::from(file), length))
    }

    /// Reads all of `input`, if that is no more than `max_spool_bytes`.
    pub(super) fn of_stream(input: &mut dyn Read, max_spool_bytes: u64) -> io::Result<Store> {
        let mut bytes = Vec::new();
        input.take(max_spool_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > max_spool_bytes {
            let reason = format!(
                "it must be read as a whole, which only a file on disk can be above max_spool_bytes ({max_spool_bytes})"
            );
            return Err(io::Error::other(reason));
        }
        Ok(Store::Memory(bytes))
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Store::File(_, length) => *length,
            Store::Memory(bytes) => bytes.len() as u64,
        }
    }
}

impl ReaderAt for Store {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Store::File(file, _) => file.read_at(buffer, offset),
            Store::Memory(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                (&bytes[start..]).read(buffer)
            }
        }
    }
}

/// The bytes of a store from one place to another.
pub(super) struct Section<S> {
    store: Arc<S>,
    at: u64,
    end: u64,
}

impl<S> Section<S> {
    pub(super) fn new(store: Arc<S>, at: u64, end: u64) -> Section<S> {
        Section { store, at, end }
    }
}

impl<S: AsRef<Store>> Read for Section<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let room = left.min(buffer.len());
        let count = (*self.store).as_ref().read_at(&mut buffer[..room], self.at)?;
        if count == 0 && room > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at += count as u64;
        Ok(count)
    }
}
