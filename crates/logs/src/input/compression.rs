//! Plain, gzip, zstd, bzip2 or xz, told apart by the first bytes and not by the name: it works for standard input as well.
//!
//! All of them may have several members or frames (as `cat a.gz b.gz` gives). Nothing is ever decompressed as a whole.
//!
//! **Limits**: what a source unpacks to is bounded ([`Unpacking`]), so that a small file that unpacks to a huge one does not take
//! the whole day. A zstd frame may ask for a window of [`MAX_ZSTD_WINDOW_BYTES`] and no dictionary, an xz stream for
//! [`MAX_XZ_MEMORY_KIB`]. Checksums are verified, those of zstd where a frame has one. Archives and files of other formats, also inside of
//! these, are told by [`magic`](super::magic); compression inside of compression is named in the error and not read.

use std::{
    io::{self, BufRead, BufReader, Cursor, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};

use super::magic::{self, Compression, FIRST_BYTES, Holds};

/// The largest window that a zstd frame may ask for: 128 MiB, what `zstd -d` allows by default.
pub const MAX_ZSTD_WINDOW_BYTES: u64 = 128 << 20;

/// The memory that an xz stream may ask for, in KiB: 256 MiB, four times what `xz -9` does.
pub const MAX_XZ_MEMORY_KIB: u32 = 256 << 10;

/// Any source of bytes.
pub type Input = Box<dyn Read + Send>;

/// How much a source may unpack to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unpacking {
    /// Bytes at most.
    pub max_bytes: u64,
    /// The limit that this comes from: its name and its value.
    pub limit: (&'static str, u64),
}

impl Read for Decompressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.first.is_empty() {
            let count = self.first.len().min(buffer.len());
            buffer[..count].copy_from_slice(&self.first[..count]);
            self.first.drain(..count);
            return Ok(count);
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.input.read(buffer),
        }
    }
}

impl Unpacking {
    /// As much as there is.
    pub const ALL: Unpacking = Unpacking { max_bytes: u64::MAX, limit: ("max_unpacked_bytes", u64::MAX) };
}

/// A source of bytes, decompressed as it is read.
pub struct Decompressed {
    input: Input,
    compression: Option<Compression>,
    holds: Holds,
    /// The first bytes that were decompressed, to tell what they are, and the error that ended them.
    first: Vec<u8>,
    failed: Option<io::Error>,
    bytes_on_disk: Arc<AtomicU64>,
}

impl Decompressed {
    /// Reads the first bytes of `input` and chooses the format by them. What holds no text is an error with the command
    /// that makes text of it.
    pub fn open(input: Input) -> io::Result<Decompressed> {
        let opened = Decompressed::sniff(input, Unpacking::ALL)?;
        match opened.holds {
            Holds::Text => Ok(opened),
            Holds::Zip => Err(opened.refused(magic::ZIP)),
            Holds::Parquet => Err(opened.refused(magic::PARQUET)),
        }
    }

    /// As [`Decompressed::open`], of what has no end: nothing but text, which is known by its first line.
    pub fn endless(mut input: Input) -> io::Result<Decompressed> {
        let first = first_bytes(&mut input)?;
        if magic::compression_of(&first).is_some() || magic::holds(&first) != Ok(Holds::Text) {
            return Err(io::Error::other("only text can be followed"));
        }
        Decompressed::sniff(Box::new(Cursor::new(first).chain(input)), Unpacking::ALL)
    }

    /// As [`Decompressed::open`], for who can read zip and Parquet. How much it gives is bounded by `unpacking`.
    pub fn sniff(mut input: Input, unpacking: Unpacking) -> io::Result<Decompressed> {
        let first = first_bytes(&mut input)?;
        let compression = magic::compression_of(&first);
        let holds = match compression {
            None => magic::holds(&first).map_err(|other| refused(other, None))?,
            Some(_) => Holds::Text,
        };
        let bytes_on_disk = Arc::new(AtomicU64::new(0));
        let counted = Counted { input: Cursor::new(first).chain(input), bytes: bytes_on_disk.clone() };
        let input: Input = match compression {
            None => Box::new(counted),
            Some(compression) => {
                Box::new(Unpacked::new(unpacked(counted, compression), compression.as_str(), unpacking))
            }
        };
        let (first, failed) = (Vec::new(), None);
        let mut opened = Decompressed { input, compression, holds, first, failed, bytes_on_disk };
        if let Some(outer) = compression {
            opened.look_inside(outer)?;
        }
        Ok(opened)
    }

    /// What is compressed may be a format that is not read.
    fn look_inside(&mut self, outer: Compression) -> io::Result<()> {
        let first = self.peek(FIRST_BYTES).to_vec();
        if let Some(inner) = magic::compression_of(&first) {
            let what = format!("this is {} inside of {}; decompress it once", inner.as_str(), outer.as_str());
            return Err(io::Error::other(what));
        }
        self.holds = magic::holds(&first).map_err(|other| refused(other, Some(outer)))?;
        Ok(())
    }

    /// What the bytes are.
    pub fn holds(&self) -> Holds {
        self.holds
    }

    /// How they are compressed.
    pub fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// The error that says what it is, for where that cannot be read.
    pub(super) fn refused(&self, other: magic::Other) -> io::Error {
        refused(other, self.compression)
    }

    /// The first `count` bytes, fewer where there are not so many. They are still to be read.
    pub fn peek(&mut self, count: usize) -> &[u8] {
        if self.failed.is_none() && self.first.len() < count {
            let missing = (count - self.first.len()) as u64;
            self.failed = (&mut self.input).take(missing).read_to_end(&mut self.first).err();
        }
        &self.first[..self.first.len().min(count)]
    }

    /// Appends up to `limit` bytes to `buffer` and says how many; fewer than `limit` only at the end. What could be
    /// read before an error is in `buffer`.
    pub fn fill(&mut self, buffer: &mut Vec<u8>, limit: usize) -> io::Result<usize> {
        buffer.reserve(limit);
        self.take(limit as u64).read_to_end(buffer)
    }

    /// Bytes taken from the source so far, before decompression.
    pub fn bytes_on_disk(&self) -> u64 {
        self.bytes_on_disk.load(Ordering::Relaxed)
    }
}

/// What decompresses `input`.
fn unpacked(input: impl Read + Send + 'static, compression: Compression) -> Input {
    let input = BufReader::with_capacity(COMPRESSED_BUFFER_BYTES, input);
    match compression {
        Compression::Gzip => Box::new(MultiGzDecoder::new(input)),
        Compression::Zstd => Box::new(ZstdFrames::new(input)),
        Compression::Bzip2 => Box::new(MultiBzDecoder::new(input)),
        Compression::Xz => Box::new(XzReader::new_mem_limit(input, true, MAX_XZ_MEMORY_KIB)),
    }
}

const COMPRESSED_BUFFER_BYTES: usize = 128 << 10;

/// Enough bytes to tell the format, or all there are.
fn first_bytes(input: &mut Input) -> io::Result<Vec<u8>> {
    let mut first = vec![0; FIRST_BYTES];
    let mut length = 0;
    while length < FIRST_BYTES && !magic::is_decided(&first[..length]) {
        match input.read(&mut first[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    first.truncate(length);
    Ok(first)
}

fn refused(other: magic::Other, outer: Option<Compression>) -> io::Error {
    let magic::Other { name, command, .. } = other;
    io::Error::other(match outer {
        None => format!("this is {name}; {command}"),
        // tar takes the compression off by itself.
        Some(outer) if other == magic::TAR => format!("this is {name} inside of {outer}; {command}"),
        Some(outer) => format!("this is {name} inside of {outer}; decompress it, then {command}"),
    })
}

/// What was unpacked, no more of it than is allowed. Its errors name the format.
pub(super) struct Unpacked {
    input: Input,
    format: &'static str,
    limit: (&'static str, u64),
    /// Bytes that may still come. Members of one archive share it.
    left: Arc<AtomicU64>,
}

impl Unpacked {
    fn new(input: Input, format: &'static str, unpacking: Unpacking) -> Unpacked {
        Unpacked::with_shared(input, format, unpacking.limit, Arc::new(AtomicU64::new(unpacking.max_bytes)))
    }

    pub(super) fn with_shared(
        input: Input,
        format: &'static str,
        limit: (&'static str, u64),
        left: Arc<AtomicU64>,
    ) -> Unpacked {
        Unpacked { input, format, limit, left }
    }

    fn name(&self, error: io::Error) -> io::Error {
        let format = self.format;
        let message = match error.kind() {
            io::ErrorKind::Interrupted => return error,
            io::ErrorKind::UnexpectedEof => format!("the {format} data is cut off"),
            _ => format!("the {format} data is damaged: {error}"),
        };
        io::Error::new(error.kind(), message)
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.load(Ordering::Relaxed);
        let room = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        // At the limit one byte tells whether there is more.
        let result = match room {
            0 if !buffer.is_empty() => self.input.read(&mut [0]),
            _ => self.input.read(&mut buffer[..room]),
        };
        let count = result.map_err(|error| self.name(error))?;
        if count > room {
            let ((name, value), format) = (self.limit, self.format);
            let reason = format!("the {format} data unpacks to more than {name} allows, which is {value}");
            return Err(io::Error::other(reason));
        }
        self.left.store(left - count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Counts what is read through it.
struct Counted<R> {
    input: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The frames of a zstd stream, one after another.
pub(super) struct ZstdFrames<R> {
    source: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    pub(super) fn new(source: R) -> ZstdFrames<R> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_ZSTD_WINDOW_BYTES);
        ZstdFrames { source, decoder, is_in_frame: false }
    }

    /// Goes to the next frame with content; false at the end of the stream.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let length = u64::from(length);
                    if io::copy(&mut (&mut self.source).take(length), &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(self.explain(error)),
            }
        }
        Ok(false)
    }

    /// Whether the frame that was read to its end is what was packed, as far as it says.
    fn is_sound(&self) -> bool {
        let stated = self.decoder.get_checksum_from_data();
        stated.is_none_or(|stated| self.decoder.get_calculated_checksum() == Some(stated))
    }

    /// The decoder's error; a plain end of file when it had nothing left to read.
    fn explain(&mut self, error: FrameDecoderError) -> io::Error {
        match self.source.fill_buf() {
            Err(cause) => cause,
            Ok([]) => io::ErrorKind::UnexpectedEof.into(),
            Ok(_) => io::Error::other(error.to_string()),
        }
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_in_frame {
                if !self.next_frame()? {
                    return Ok(0);
                }
                self.is_in_frame = true;
            }
            if self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one_block = BlockDecodingStrategy::UptoBlocks(1);
                if let Err(error) = self.decoder.decode_blocks(&mut self.source, one_block) {
                    return Err(self.explain(error));
                }
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 {
                return Ok(count);
            }
            self.is_in_frame = !self.decoder.is_finished();
            if !self.is_in_frame && !self.is_sound() {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the checksum of a frame does not fit its content",
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::{magic::Other, *};

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory can be written to")
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    /// What can be read `limit` bytes at a time, and the error that ended it.
    fn read(input: &[u8], limit: usize) -> (Vec<u8>, Option<String>) {
        let mut text = Vec::new();
        let mut decompressed = match Decompressed::open(Box::new(Cursor::new(input.to_vec()))) {
            Ok(decompressed) => decompressed,
            Err(error) => return (text, Some(error.to_string())),
        };
        loop {
            match decompressed.fill(&mut text, limit) {
                Ok(count) if count < limit => {
                    assert_eq!(decompressed.bytes_on_disk(), input.len() as u64);
                    return (text, None);
                }
                Ok(_) => {}
                Err(error) => return (text, Some(error.to_string())),
            }
        }
    }

    fn bzip2(text: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory can be written to")
    }

    fn xz(text: &[u8]) -> Vec<u8> {
        let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).expect("xz");
        encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory can be written to")
    }

    type Pack = fn(&[u8]) -> Vec<u8>;
    const PACKS: [(&str, Pack); 4] = [("gzip", gzip), ("zstd", zstd), ("bzip2", bzip2), ("xz", xz)];

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        #[track_caller]
        fn check(input: &[u8], text: &[u8]) {
            for limit in [1 << 20, 1000] {
                assert!(read(input, limit) == (text.to_vec(), None), "{:?}", &input[..8]);
            }
        }
        let text = b"{\"a\":1}\n".repeat(100_000);
        let (front, back) = text.split_at(1234);
        check(&text, &text);
        for (_, pack) in PACKS {
            check(&pack(&text), &text);
            check(&[pack(front), pack(b""), pack(back)].concat(), &text);
        }
        let skippable = b"\x5A\x2A\x4D\x18\x03\0\0\0abc";
        check(&[zstd(front), skippable.to_vec(), zstd(back)].concat(), &text);
        check(&[skippable.to_vec(), zstd(&text)].concat(), &text);
        for short in [&b""[..], b"\x28", b"\x28\xB5\x2F", b"\x1F", b"{}", b"BZh9"] {
            assert_eq!(read(short, 10), (short.to_vec(), None));
        }
    }

    #[test]
    fn what_was_read_before_a_cut_is_kept() {
        let text: Vec<u8> =
            (0..300_000_u32).flat_map(|i| format!("{}\n", i.wrapping_mul(2_654_435_761)).into_bytes()).collect();
        for (format, pack) in PACKS {
            let packed = pack(&text);
            let (got, error) = read(&packed[..packed.len() / 2], 1 << 20);
            assert!(!got.is_empty() && text.starts_with(&got), "{format}");
            assert_eq!(error, Some(format!("the {format} data is cut off")));
            let mut damaged = packed;
            let middle = damaged.len() / 2;
            damaged[middle] ^= 0x55;
            let error = read(&damaged, 1 << 20).1;
            assert!(error.as_ref().is_some_and(|error| error.starts_with(&format!("the {format} data"))), "{error:?}");
        }
    }

    #[test]
    fn no_flip_of_a_bit_passes_unseen() {
        let text: Vec<u8> =
            (0..2_000_u32).flat_map(|i| format!("{{\"n\":{}}}\n", i.wrapping_mul(40_503)).into_bytes()).collect();
        for (format, pack) in PACKS {
            let packed = pack(&text);
            let mut unseen = Vec::new();
            for place in (0..300).map(|n| n * packed.len() * 8 / 300) {
                let mut damaged = packed.clone();
                damaged[place / 8] ^= 1 << (place % 8);
                let (got, error) = read(&damaged, 1 << 16);
                if error.is_none() && got != text {
                    unseen.push(place / 8);
                }
            }
            // Without its mark a file is no longer packed, and read as it is: then its bytes are no log.
            assert!(unseen.iter().all(|byte| *byte < 6), "{format}: {unseen:?} of {}", packed.len());
        }
    }

    #[test]
    fn other_formats_are_named() {
        for Other { magic: mark, at, name, command } in magic::OTHERS {
            let file = [&vec![b'a'; at][..], mark, &[0; 20]].concat();
            assert_eq!(read(&file, 10).1, Some(format!("this is {name}; {command}")));
            for (outer, pack) in PACKS {
                let then = if mark == magic::TAR.magic { "" } else { "decompress it, then " };
                let expected = format!("this is {name} inside of {outer}; {then}{command}");
                assert_eq!(read(&pack(&file), 10), (Vec::new(), Some(expected)));
            }
        }
        let twice = read(&xz(&gzip(b"{}")), 10).1;
        assert_eq!(twice.as_deref(), Some("this is gzip inside of xz; decompress it once"));
        assert!(read(b"PK\x03\x04", 10).1.is_some_and(|error| error.starts_with("this is a zip archive; ")));
    }

    #[test]
    fn what_data_unpack_to_is_bounded() {
        let text = b"{}\n".repeat(1000);
        for (format, pack) in PACKS {
            for (max_bytes, limit) in [(2999, 7), (2999, 10_000), (100, 100), (1, 1000)] {
                let unpacking = Unpacking { max_bytes, limit: ("max_unpacked_bytes", 5) };
                let input: Input = Box::new(Cursor::new(pack(&text)));
                let (mut got, mut result) = (Vec::new(), Ok(limit));
                match Decompressed::sniff(input, unpacking) {
                    Ok(mut opened) => {
                        while matches!(result, Ok(count) if count == limit) {
                            result = opened.fill(&mut got, limit);
                        }
                    }
                    Err(error) => result = Err(error),
                }
                let expected = format!("the {format} data unpacks to more than max_unpacked_bytes allows, which is 5");
                assert_eq!((got.len() as u64, result.map_err(|error| error.to_string())), (max_bytes, Err(expected)));
            }
            let unpacking = Unpacking { max_bytes: 3000, ..Unpacking::ALL };
            let mut got = Vec::new();
            let mut opened = Decompressed::sniff(Box::new(Cursor::new(pack(&text))), unpacking).expect(format);
            assert_eq!((opened.fill(&mut got, 10_000).ok(), got.len()), (Some(3000), 3000));
        }
    }

    proptest! {
        #[test]
        fn damaged_data_ends_in_bytes_or_an_error(
            at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>(),
            (_, pack) in prop::sample::select(PACKS.to_vec())
        ) {
            let text = b"{\"prompt\":\"a\",\"response\":\"b\"}\n{\"prompt\":\"c\"}\n".repeat(20);
            let mut packed = pack(&text);
            let at = 4 + at.index(packed.len() - 4);
            packed[at] = byte;
            packed.truncate(packed.len() - cut.index(packed.len()) / 8);
            let Ok(mut decompressed) = Decompressed::open(Box::new(Cursor::new(packed))) else { return Ok(()) };
            let mut got = Vec::new();
            let _ = decompressed.fill(&mut got, 1 << 20);
            prop_assert!(got.len() <= 1 << 20);
        }
    }
}
