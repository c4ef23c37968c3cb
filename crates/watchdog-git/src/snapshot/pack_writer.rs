//! Writes new objects into one pack as they come: one file and one flush in place of one of each for every object.
//!
//! Entries are whole objects, undeltified. Until the pack is finished it has a temporary name, and nothing reads it but this.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::thread;

use gix::ObjectId;
use gix::objs::Kind as ObjectKind;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::pack_entry::EntryEncoder;
use super::pack_folder::{PackFolder, PublishedPack, TemporaryFile};
use super::pack_index::{PackEntry, write_index};

/// Bytes written to the file at once.
const BUFFER: usize = 256 << 10;
/// The signature, the version and the number of objects.
const HEADER: usize = 12;

/// A pack that is being written.
pub(super) struct PackWriter {
    hash: gix::hash::Kind,
    out: PackOutput,
    encoder: EntryEncoder,
    inflate: gix::zlib::Decompress,
    objects: HashMap<ObjectId, PackEntry>,
}

impl PackWriter {
    pub(super) fn create(folder: &PackFolder, hash: gix::hash::Kind) -> io::Result<Self> {
        let mut out = PackOutput {
            temporary: folder.temporary("pack")?,
            buffer: Vec::with_capacity(BUFFER + (64 << 10)),
            written: 0,
        };
        out.write_bytes(&build_pack_header(0))?;
        Ok(PackWriter {
            hash,
            out,
            encoder: EntryEncoder::new(),
            inflate: gix::zlib::Decompress::new(),
            objects: HashMap::new(),
        })
    }

    pub(super) fn has(&self, id: &ObjectId) -> bool {
        self.objects.contains_key(id)
    }

    /// Whether nothing was added so far.
    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The size of an object's content.
    pub(super) fn size(&self, id: &gix::oid) -> Option<u64> {
        self.objects.get(id).map(|object| object.size)
    }

    /// Adds an object whose id is known, once.
    pub(super) fn add(&mut self, kind: ObjectKind, id: ObjectId, content: &[u8]) -> io::Result<()> {
        let Entry::Vacant(vacant) = self.objects.entry(id) else {
            return Ok(());
        };
        let offset = self.out.end();
        let mut crc32 = crc32fast::Hasher::new();
        self.encoder.whole(kind, content, &mut |bytes| {
            crc32.update(bytes);
            self.out.write_bytes(bytes)
        })?;
        vacant.insert(PackEntry {
            id,
            offset,
            crc32: crc32.finalize(),
            size: content.len() as u64,
        });
        Ok(())
    }

    /// Adds a blob of `size` bytes, and returns the id of what was read. `begin` is a part of it.
    /// If `from` fails, the pack has the blob, it is not `wanted`, or it is built to collide
    /// (`InvalidData`), the pack is as it was before; any other failure spoils it.
    pub(super) fn add_stream(
        &mut self,
        size: u64,
        begin: &[u8],
        from: &mut dyn Read,
        wanted: &dyn Fn(ObjectId) -> bool,
    ) -> io::Result<ObjectId> {
        let offset = self.out.end();
        let mut crc32 = crc32fast::Hasher::new();
        let mut name = gix::hash::hasher(self.hash);
        name.update(&gix::objs::encode::loose_header(ObjectKind::Blob, size));
        let streamed = self.encoder.stream(
            size,
            begin,
            from,
            &mut |bytes| name.update(bytes),
            &mut |bytes| {
                crc32.update(bytes);
                self.out.write_bytes(bytes)
            },
        );
        let named = streamed.and_then(|()| {
            name.try_finalize()
                .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
        });
        match named {
            Ok(id) if !self.has(&id) && wanted(id) => {
                self.objects.insert(
                    id,
                    PackEntry {
                        id,
                        offset,
                        crc32: crc32.finalize(),
                        size,
                    },
                );
                Ok(id)
            }
            other => {
                self.out.cut(offset)?;
                other
            }
        }
    }

    /// The content of an object that was added.
    pub(super) fn content(&mut self, id: &ObjectId) -> io::Result<Option<Vec<u8>>> {
        let Some(object) = self.objects.get(id).copied() else {
            return Ok(None);
        };
        self.out.flush()?;
        let size = usize::try_from(object.size).map_err(io::Error::other)?;
        let from = ReaderAt {
            file: &self.out.temporary.file,
            at: object.offset,
        };
        let mut from = io::BufReader::with_capacity((size + 64).min(64 << 10), from);
        // The header of an entry ends with its first byte below 128.
        let mut byte = [0x80];
        while byte[0] & 0x80 != 0 {
            from.read_exact(&mut byte)?;
        }
        let mut content = vec![0; size];
        self.inflate.reset();
        let read = gix::zlib::stream::inflate::read(&mut from, &mut self.inflate, &mut content)?;
        if read != size {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "an entry of the pack is shorter than it was",
            ));
        }
        Ok(Some(content))
    }

    /// Makes the pack durable and puts it to its place.
    pub(super) fn finish(mut self, folder: &PackFolder) -> io::Result<PublishedPack> {
        let mut objects: Vec<PackEntry> = self.objects.into_values().collect();
        objects.sort_unstable_by_key(|object| object.id);
        let count = u32::try_from(objects.len()).map_err(io::Error::other)?;
        self.out.flush()?;
        let file = &self.out.temporary.file;
        file.write_all_at(&build_pack_header(count), 0)?;
        let length = self.out.written;
        // The content goes to the disk while it is read for its checksum. Without a further thread it goes there after that.
        let checksum = thread::scope(|scope| {
            let flushed = thread::Builder::new()
                .spawn_scoped(scope, || file.sync_data())
                .ok();
            let checksum = checksum_of(file, length, self.hash);
            if let Some(Ok(Err(error))) = flushed.map(thread::ScopedJoinHandle::join) {
                return Err(error);
            }
            checksum
        })?;
        file.write_all_at(checksum.as_slice(), length)?;
        file.sync_all()?;

        let index = folder.temporary("idx")?;
        let mut out = BufWriter::with_capacity(64 << 10, &index.file);
        write_index(&objects, checksum, &mut out)?;
        out.flush()?;
        drop(out);
        index.file.sync_all()?;
        folder.publish(self.out.temporary, index, checksum)
    }
}

fn build_pack_header(count: u32) -> [u8; HEADER] {
    let mut header = *b"PACK\0\0\0\x02\0\0\0\0";
    header[8..].copy_from_slice(&count.to_be_bytes());
    header
}

/// The checksum that ends a pack. It names no object and answers for none, so nobody looks for collisions in it.
fn checksum_of(file: &File, length: u64, hash: gix::hash::Kind) -> io::Result<ObjectId> {
    match hash {
        gix::hash::Kind::Sha1 => digest_of::<Sha1>(file, length),
        _ => digest_of::<Sha256>(file, length),
    }
}

fn digest_of<D: Digest>(file: &File, length: u64) -> io::Result<ObjectId> {
    let mut digest = D::new();
    let mut from = ReaderAt { file, at: 0 }.take(length);
    let mut buffer = vec![0; BUFFER];
    let mut hashed = 0;
    loop {
        match from.read(&mut buffer)? {
            0 if hashed == length => {
                return ObjectId::try_from(digest.finalize().as_slice()).map_err(io::Error::other);
            }
            0 => {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the pack is shorter than it was written",
                ));
            }
            read => {
                digest.update(&buffer[..read]);
                hashed += read as u64;
            }
        }
    }
}

/// The file of a pack, written in large pieces.
struct PackOutput {
    temporary: TemporaryFile,
    buffer: Vec<u8>,
    /// Bytes in the file.
    written: u64,
}

impl PackOutput {
    fn end(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() < BUFFER {
            Ok(())
        } else {
            self.flush()
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temporary
            .file
            .write_all_at(&self.buffer, self.written)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Takes back what was put from `offset` on.
    fn cut(&mut self, offset: u64) -> io::Result<()> {
        if offset < self.written {
            self.buffer.clear();
            self.temporary.file.set_len(offset)?;
            self.written = offset;
        }
        self.buffer
            .truncate(usize::try_from(offset - self.written).map_err(io::Error::other)?);
        Ok(())
    }
}

/// Reads a file from a place on, wherever others are in it.
struct ReaderAt<'f> {
    file: &'f File,
    at: u64,
}

impl Read for ReaderAt<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
