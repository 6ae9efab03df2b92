//! Plain, gzip or zstd, told apart by the first bytes and not by the name: it works for standard input as well.
//!
//! Gzip may have several members (as `cat a.gz b.gz` gives) and zstd several frames, skippable ones among them. Nothing
//! is ever decompressed as a whole, so that a small file that unpacks to a large one costs time and no memory.
//!
//! **Limits**: a zstd frame may ask for a window of [`MAX_ZSTD_WINDOW_BYTES`] and no dictionary. The checksums of
//! gzip are verified, those of zstd are not. Other archives, also inside of these, are named in the error with the
//! command that reads them, and not read.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};

/// The largest window that a zstd frame may ask for: 128 MiB, what `zstd -d` allows by default.
pub const MAX_ZSTD_WINDOW_BYTES: u64 = 128 << 20;

/// Any source of bytes.
pub type Input = Box<dyn Read + Send>;

/// A source of bytes, decompressed as it is read.
pub struct Decompressed {
    codec: Codec,
    /// The first bytes that were decompressed, to tell what they are, and the error that ended them.
    first: Vec<u8>,
    failed: Option<io::Error>,
    plain_bytes: u64,
}

enum Codec {
    Plain(Started),
    Gzip(Box<MultiGzDecoder<Compressed>>),
    Zstd(Box<ZstdFrames>),
}

/// The first bytes, which were read to tell the format, and the rest.
type Started = io::Chain<Cursor<Vec<u8>>, Input>;
type Compressed = BufReader<Counted>;

impl Decompressed {
    /// Reads the first bytes of `input` and chooses the format by them.
    pub fn open(mut input: Input) -> io::Result<Decompressed> {
        let mut first = Vec::new();
        (&mut input).take(FIRST_BYTES as u64).read_to_end(&mut first)?;
        if let Some(Other { name, command, .. }) = other_format(&first) {
            return Err(io::Error::other(format!("this is {name}; {command}")));
        }
        let outer = compression_of(&first);
        let started = Cursor::new(first).chain(input);
        let compressed = |started| BufReader::with_capacity(COMPRESSED_BUFFER_BYTES, Counted { started, bytes: 0 });
        let codec = match outer {
            Some(GZIP) => Codec::Gzip(Box::new(MultiGzDecoder::new(compressed(started)))),
            Some(_) => Codec::Zstd(Box::new(ZstdFrames::new(compressed(started)))),
            None => Codec::Plain(started),
        };
        let mut opened = Decompressed { codec, first: Vec::new(), failed: None, plain_bytes: 0 };
        if let Some(outer) = outer {
            opened.look_inside(outer)?;
        }
        Ok(opened)
    }

    /// What is compressed may be a format that is not read.
    fn look_inside(&mut self, outer: &str) -> io::Result<()> {
        let mut first = Vec::new();
        self.failed = self.decompress(&mut first, FIRST_BYTES).err();
        let what = match (other_format(&first), compression_of(&first)) {
            (Some(Other { name, command, .. }), _) => {
                format!("{name} inside of {outer}; decompress it, then {command}")
            }
            (None, Some(inner)) => format!("{inner} inside of {outer}; decompress it once"),
            (None, None) => {
                self.first = first;
                return Ok(());
            }
        };
        Err(io::Error::other(format!("this is {what}")))
    }

    /// Appends up to `limit` bytes to `buffer` and says how many; fewer than `limit` only at the end. What could be
    /// read before an error is in `buffer`.
    pub fn fill(&mut self, buffer: &mut Vec<u8>, limit: usize) -> io::Result<usize> {
        let known = self.first.len().min(limit);
        buffer.extend(self.first.drain(..known));
        if known == limit {
            return Ok(known);
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.decompress(buffer, limit - known).map(|count| known + count),
        }
    }

    fn decompress(&mut self, buffer: &mut Vec<u8>, limit: usize) -> io::Result<usize> {
        let before = buffer.len();
        buffer.reserve(limit);
        let limit = limit as u64;
        let result = match &mut self.codec {
            Codec::Plain(input) => input.take(limit).read_to_end(buffer),
            Codec::Gzip(input) => input.take(limit).read_to_end(buffer).map_err(|error| name_error(GZIP, error)),
            Codec::Zstd(input) => input.take(limit).read_to_end(buffer).map_err(|error| name_error(ZSTD, error)),
        };
        self.plain_bytes += (buffer.len() - before) as u64;
        result
    }

    /// Bytes taken from the source so far, before decompression.
    pub fn bytes_on_disk(&self) -> u64 {
        match &self.codec {
            Codec::Plain(_) => self.plain_bytes,
            Codec::Gzip(input) => input.get_ref().get_ref().bytes,
            Codec::Zstd(input) => input.source.get_ref().bytes,
        }
    }
}

const COMPRESSED_BUFFER_BYTES: usize = 128 << 10;

/// RFC 1952, section 2.3.1.
const GZIP_MAGIC: &[u8] = b"\x1F\x8B";

/// Bytes that tell a format: those up to the end of the mark in the first header of a tar archive.
const FIRST_BYTES: usize = 262;

/// A format that logs are kept in and that is not read here.
#[derive(Clone, Copy)]
struct Other {
    /// What its files begin with, from `at` on.
    magic: &'static [u8],
    at: usize,
    name: &'static str,
    /// What to do with it.
    command: &'static str,
}

const fn other(magic: &'static [u8], name: &'static str, command: &'static str) -> Other {
    Other { magic, at: 0, name, command }
}

/// POSIX.1-1988, ustar.
const TAR: Other = Other {
    magic: b"ustar",
    at: 257,
    name: "a tar archive",
    command: "read its files with `tar -xOf FILE | llmverify audit -`",
};
const UNZIP: &str = "read its files with `unzip -p FILE | llmverify audit -`, or make JSON of an Inspect log with `inspect log dump FILE.eval > FILE.json`";

const OTHER_FORMATS: [Other; 7] = [
    other(b"\xFD7zXZ\0", "an xz file", "read it with `xz -dc FILE | llmverify audit -`"),
    other(b"BZh", "a bzip2 file", "read it with `bzip2 -dc FILE | llmverify audit -`"),
    other(b"PK\x03\x04", "a zip archive", UNZIP),
    other(b"PK\x05\x06", "an empty zip archive", UNZIP),
    other(b"7z\xBC\xAF\x27\x1C", "a 7z archive", "read its files with `7z x -so FILE | llmverify audit -`"),
    other(
        b"PAR1",
        "a Parquet file",
        "convert it with `duckdb -c \"COPY (SELECT * FROM 'FILE.parquet') TO 'FILE.jsonl' (FORMAT json)\"`",
    ),
    TAR,
];

fn other_format(first: &[u8]) -> Option<Other> {
    OTHER_FORMATS.into_iter().find(|other| first.get(other.at..).is_some_and(|rest| rest.starts_with(other.magic)))
}

const GZIP: &str = "gzip";
const ZSTD: &str = "zstd";

fn compression_of(first: &[u8]) -> Option<&'static str> {
    if first.starts_with(GZIP_MAGIC) { Some(GZIP) } else { is_zstd(first).then_some(ZSTD) }
}

/// RFC 8878, sections 3.1.1 and 3.1.2: a frame, or a skippable frame.
fn is_zstd(first: &[u8]) -> bool {
    match first {
        [0x28, 0xB5, 0x2F, 0xFD, ..] => true,
        [low, 0x2A, 0x4D, 0x18, ..] => (0x50..=0x5F).contains(low),
        _ => false,
    }
}

fn name_error(format: &str, error: io::Error) -> io::Error {
    let message = match error.kind() {
        io::ErrorKind::UnexpectedEof => format!("the {format} data is cut off"),
        _ => format!("the {format} data is damaged: {error}"),
    };
    io::Error::new(error.kind(), message)
}

/// Counts what is read through it.
struct Counted {
    started: Started,
    bytes: u64,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.started.read(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }
}

/// The frames of a zstd stream, one after another.
struct ZstdFrames {
    source: Compressed,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl ZstdFrames {
    fn new(source: Compressed) -> ZstdFrames {
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

    /// The decoder's error; a plain end of file when it had nothing left to read.
    fn explain(&mut self, error: FrameDecoderError) -> io::Error {
        match self.source.fill_buf() {
            Err(cause) => cause,
            Ok([]) => io::ErrorKind::UnexpectedEof.into(),
            Ok(_) => io::Error::other(error.to_string()),
        }
    }
}

impl Read for ZstdFrames {
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
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

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

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        let text = b"{\"a\":1}\n".repeat(100_000);
        let (front, back) = text.split_at(1234);
        let skippable = b"\x5A\x2A\x4D\x18\x03\0\0\0abc";
        for input in [
            text.clone(),
            gzip(&text),
            [gzip(front), gzip(b""), gzip(back)].concat(),
            zstd(&text),
            [zstd(front), skippable.to_vec(), zstd(b""), zstd(back)].concat(),
            [skippable.to_vec(), zstd(&text)].concat(),
        ] {
            assert!(read(&input, 1 << 20) == (text.clone(), None), "{:?}", &input[..8]);
            assert!(read(&input, 1000) == (text.clone(), None), "{:?}", &input[..8]);
        }
        for short in [&b""[..], b"\x28", b"\x28\xB5\x2F", b"\x1F", b"{}"] {
            assert_eq!(read(short, 10), (short.to_vec(), None));
        }
    }

    #[test]
    fn what_was_read_before_a_cut_is_kept() {
        let text: Vec<u8> =
            (0..100_000_u32).flat_map(|i| format!("{}\n", i.wrapping_mul(2_654_435_761)).into_bytes()).collect();
        for (format, packed) in [("gzip", gzip(&text)), ("zstd", zstd(&text))] {
            let (got, error) = read(&packed[..packed.len() / 2], 1 << 20);
            assert!(!got.is_empty() && text.starts_with(&got), "{format}");
            assert_eq!(error, Some(format!("the {format} data is cut off")));
        }
        let mut damaged = gzip(&text);
        let checksum = damaged.len() - 8;
        damaged[checksum] ^= 1;
        let (got, error) = read(&damaged, 1 << 20);
        assert!(got == text && error.is_some_and(|error| error.starts_with("the gzip data is damaged")));
    }

    #[test]
    fn other_formats_are_named() {
        for Other { magic, at, name, command } in OTHER_FORMATS {
            let file = [&vec![b'a'; at][..], magic, &[0; 20]].concat();
            assert_eq!(read(&file, 10).1, Some(format!("this is {name}; {command}")));
            assert!(at + magic.len() <= FIRST_BYTES && command.contains('`'));
            for (outer, packed) in [("gzip", gzip(&file)), ("zstd", zstd(&file))] {
                let expected = format!("this is {name} inside of {outer}; decompress it, then {command}");
                assert_eq!(read(&packed, 10), (Vec::new(), Some(expected)));
            }
        }
        let twice = read(&gzip(&gzip(b"{}")), 10).1;
        assert_eq!(twice.as_deref(), Some("this is gzip inside of gzip; decompress it once"));
    }

    proptest! {
        #[test]
        fn damaged_data_ends_in_bytes_or_an_error(
            at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>(), is_zstd in any::<bool>()
        ) {
            let text = b"{\"prompt\":\"a\",\"response\":\"b\"}\n{\"prompt\":\"c\"}\n".repeat(20);
            let mut packed = if is_zstd { zstd(&text) } else { gzip(&text) };
            let at = 4 + at.index(packed.len() - 4);
            packed[at] = byte;
            packed.truncate(packed.len() - cut.index(packed.len()) / 8);
            let mut decompressed = Decompressed::open(Box::new(Cursor::new(packed)))?;
            let mut got = Vec::new();
            let _ = decompressed.fill(&mut got, 1 << 20);
            prop_assert!(got.len() <= 1 << 20);
        }
    }
}
