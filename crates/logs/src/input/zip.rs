//! Zip archives: each member is a source of its own.
//!
//! The directory says which members there are; their bytes are read in place, one after another, and never as a whole.
//! Stored, deflate, bzip2, zstd (as Inspect's `.eval` logs are) and xz are unpacked, sizes and checksums verified.
//!
//! **Limits**: [`MAX_DIRECTORY_BYTES`] of members and their names. What a member unpacks to is bounded as a file is. A member that
//! is encrypted, or packed in another way, is a source that cannot be opened. An archive that is cut off has no directory, and is
//! refused as a whole.

use std::{
    io::{self, BufReader, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bzip2::bufread::BzDecoder;
use flate2::{Crc, bufread::DeflateDecoder};
use lzma_rust2::XzReader;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipLocator};

use super::{
    compression::{Input, MAX_XZ_MEMORY_KIB, Unpacked, Unpacking, ZstdFrames},
    store::{Section, Store},
};

/// Bytes that the list of members takes at most: those of their names, and what is kept beside each.
pub const MAX_DIRECTORY_BYTES: usize = 256 << 20;

/// Names are at most 64 KiB long, and so are their extra fields and comments.
const DIRECTORY_BUFFER_BYTES: usize = 256 << 10;

const COMPRESSED_BUFFER_BYTES: usize = 64 << 10;

/// An archive whose members can be read.
#[derive(Clone)]
pub(super) struct Archive {
    opened: Arc<Opened>,
    /// What all members together may unpack to, and how much of it is left.
    limit: (&'static str, u64),
    left: Arc<AtomicU64>,
}

struct Opened(ZipArchive<Store>);

impl AsRef<Store> for Opened {
    fn as_ref(&self) -> &Store {
        self.0.get_ref()
    }
}

/// A member of an archive.
pub(super) struct Member {
    /// Its path in the archive.
    pub(super) path: Box<str>,
    /// Bytes that it takes there.
    pub(super) packed_bytes: u64,
    entry: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    is_encrypted: bool,
    unpacked_bytes: u64,
    crc: u32,
}

impl Archive {
    /// Reads the directory of an archive: its members, folders left out. All of them together may unpack to `unpacking`.
    pub(super) fn open(store: Store, unpacking: Unpacking) -> io::Result<(Archive, Vec<Member>)> {
        let mut buffer = vec![0; DIRECTORY_BUFFER_BYTES];
        let length = store.len();
        let archive =
            ZipLocator::new().locate_in_reader(store, &mut buffer, length).map_err(|(_, error)| damaged(error))?;
        let (mut members, mut bytes) = (Vec::new(), 0);
        let mut entries = archive.entries(&mut buffer);
        while let Some(entry) = entries.next_entry().map_err(damaged)? {
            if entry.is_dir() {
                continue;
            }
            let path: Box<str> = String::from_utf8_lossy(entry.file_path().as_ref()).into();
            bytes += path.len() + size_of::<Member>();
            if bytes > MAX_DIRECTORY_BYTES {
                let reason =
                    format!("its directory is larger than max_directory_bytes, which is {MAX_DIRECTORY_BYTES}");
                return Err(io::Error::other(reason));
            }
            members.push(Member {
                path,
                packed_bytes: entry.compressed_size_hint(),
                entry: entry.wayfinder(),
                method: entry.compression_method(),
                is_encrypted: entry.flags().is_encrypted(),
                unpacked_bytes: entry.uncompressed_size_hint(),
                crc: entry.crc32(),
            });
        }
        let (opened, left) = (Arc::new(Opened(archive)), Arc::new(AtomicU64::new(unpacking.max_bytes)));
        Ok((Archive { opened, limit: unpacking.limit, left }, members))
    }

    /// The bytes of a member. `packed` counts those that are read of the archive.
    pub(super) fn member(&self, member: &Member, packed: Arc<AtomicU64>) -> io::Result<Input> {
        if member.is_encrypted {
            return Err(io::Error::other("the member is encrypted"));
        }
        let (at, end) = self.opened.0.get_entry(member.entry).map_err(damaged)?.compressed_data_range();
        let section = Counted { input: Section::new(self.opened.clone(), at, end), bytes: packed };
        let section = BufReader::with_capacity(COMPRESSED_BUFFER_BYTES, section);
        let unpacked: Input = match member.method {
            CompressionMethod::STORE => Box::new(section),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(section)),
            CompressionMethod::BZIP2 => Box::new(BzDecoder::new(section)),
            CompressionMethod::ZSTD => Box::new(ZstdFrames::new(section)),
            CompressionMethod::XZ => Box::new(XzReader::new_mem_limit(section, false, MAX_XZ_MEMORY_KIB)),
            method => {
                let reason = format!("the member is packed with {method}; read it with `unzip -p FILE`");
                return Err(io::Error::other(reason));
            }
        };
        let verified =
            Verified { input: unpacked, crc: Crc::new(), expected: (member.unpacked_bytes, member.crc), seen: 0 };
        Ok(Box::new(Unpacked::with_shared(Box::new(verified), "zip", self.limit, self.left.clone())))
    }
}

fn damaged(error: rawzip::Error) -> io::Error {
    io::Error::other(format!("the zip data is damaged: {error}"))
}

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

/// Bytes whose number and checksum are known.
struct Verified {
    input: Input,
    crc: Crc,
    expected: (u64, u32),
    seen: u64,
}

impl Read for Verified {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.crc.update(&buffer[..count]);
        self.seen += count as u64;
        if count == 0 && !buffer.is_empty() && (self.seen, self.crc.sum()) != self.expected {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its size or its checksum is another"));
        }
        Ok(count)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::DeflateEncoder};
    use proptest::prelude::*;
    use rawzip::ZipArchiveWriter;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn packed(method: CompressionMethod, text: &[u8]) -> Vec<u8> {
        match method {
            CompressionMethod::STORE => text.to_vec(),
            CompressionMethod::DEFLATE => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory can be written to")
            }
            CompressionMethod::BZIP2 => {
                let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory can be written to")
            }
            CompressionMethod::ZSTD => compress_to_vec(text, CompressionLevel::Fastest),
            method => panic!("{method}"),
        }
    }

    /// An archive with these members.
    pub(in crate::input) fn archive(members: &[(&str, CompressionMethod, &[u8])]) -> Vec<u8> {
        let mut archive = ZipArchiveWriter::new(Vec::new());
        for (path, method, text) in members {
            let (mut entry, config) = archive.new_file(path).compression_method(*method).start().expect("a member");
            let mut verified = config.wrap(Vec::new());
            verified.write_all(text).expect("memory");
            let (_, descriptor) = verified.finish().expect("memory");
            entry.write_all(&packed(*method, text)).expect("memory");
            entry.finish(descriptor).expect("memory");
        }
        archive.finish().expect("memory")
    }

    /// A path, and what is read there.
    type Read = (String, Result<Vec<u8>, String>);

    fn read(bytes: Vec<u8>, unpacking: Unpacking) -> Result<Vec<Read>, String> {
        let (archive, members) = Archive::open(Store::Memory(bytes), unpacking).map_err(|error| error.to_string())?;
        let text = |member: &Member| {
            let mut text = Vec::new();
            let mut input = archive.member(member, Arc::default()).map_err(|error| error.to_string())?;
            input.read_to_end(&mut text).map_err(|error| error.to_string())?;
            Ok(text)
        };
        Ok(members.iter().map(|member| (member.path.to_string(), text(member))).collect())
    }

    const METHODS: [CompressionMethod; 4] =
        [CompressionMethod::STORE, CompressionMethod::DEFLATE, CompressionMethod::BZIP2, CompressionMethod::ZSTD];

    #[test]
    fn members_are_unpacked_and_verified() {
        let text = b"{\"a\":1}\n".repeat(10_000);
        let members: Vec<(&str, CompressionMethod, &[u8])> =
            METHODS.map(|method| ("a/b.jsonl", method, &text[..])).to_vec();
        let zip = archive(&members);
        let got = read(zip.clone(), Unpacking::ALL).expect("an archive");
        assert_eq!(got.len(), 4);
        assert!(got.iter().all(|(path, got)| path == "a/b.jsonl" && got.as_ref() == Ok(&text)));
        for (member, method) in members.iter().zip(METHODS) {
            let unpacking = Unpacking { max_bytes: 80_000 - 1, limit: ("max_unpacked_ratio", 3) };
            let got = read(archive(&[*member]), unpacking).expect("an archive");
            let expected = "the zip data unpacks to more than max_unpacked_ratio allows, which is 3";
            assert_eq!(got[0].1, Err(expected.to_owned()), "{method}");
            let mut damaged = archive(&[*member]);
            let middle = 40 + (damaged.len() - 150) / 2;
            damaged[middle] ^= 0x11;
            let got = read(damaged, Unpacking::ALL).expect("the directory is whole");
            assert!(
                got[0].1.as_ref().is_err_and(|error| error.starts_with("the zip data is")),
                "{method}: {:?}",
                got[0].1
            );
        }
        let cut = read(zip[..zip.len() / 2].to_vec(), Unpacking::ALL);
        assert!(cut.is_err_and(|error| error.starts_with("the zip data is damaged")));
    }

    proptest! {
        #[test]
        fn damaged_archives_end_in_bytes_or_an_error(
            at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>(),
            method in prop::sample::select(METHODS.to_vec())
        ) {
            let mut zip = archive(&[("a.jsonl", method, b"{\"a\":1}\n{\"b\":2}\n"), ("b.jsonl", method, b"{}")]);
            let at = at.index(zip.len());
            zip[at] = byte;
            zip.truncate(zip.len() - cut.index(zip.len()) / 8);
            let _ = read(zip, Unpacking { max_bytes: 1 << 20, ..Unpacking::ALL });
        }
    }
}
