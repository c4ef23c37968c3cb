//! Reads a blob in pieces, whatever its size. gix holds an object whole in memory, and reads none of 4 GiB and more from a pack.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::hash::oid;
use gix::objs::{Find, FindHeader};
use gix::odb::pack::data::entry::Header;
use gix::odb::pack::{data, index};
use gix::zlib::Decompress;
use gix::zlib::stream::inflate;

/// Blobs up to this size are read whole.
const WHOLE: u64 = 8 << 20;
/// A larger blob comes in pieces of this size; the last piece may be shorter.
pub(super) const PIECE: usize = 128 << 10;
/// A repack may move an object between the two steps of a search.
const SEARCHES: usize = 3;

/// Hands the content of a blob to `take`, piece by piece.
pub(super) fn read_blob(
    objects: &gix::OdbHandle,
    id: &oid,
    take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let missing = || io::Error::new(ErrorKind::NotFound, format!("object {id} is missing"));
    let size = objects
        .try_header(id)
        .map_err(io::Error::other)?
        .ok_or_else(missing)?
        .size;
    if size > WHOLE {
        for _ in 0..SEARCHES {
            match open_whole_entry(objects, id) {
                Ok(Some(mut entry)) => return entry.inflate_to(size, take),
                Ok(None) => break,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        if size > u64::from(u32::MAX) {
            let way = "git has it as a difference to another object; write it to a file with: git cat-file blob";
            return Err(io::Error::other(format!(
                "object {id} is too large to be read: {way} {id}"
            )));
        }
    }
    let mut content = Vec::new();
    take(
        objects
            .try_find(id, &mut content)
            .map_err(io::Error::other)?
            .ok_or_else(missing)?
            .data,
    )
}

/// Fails where the bytes of a blob do not match its name.
pub(super) fn verify_blob(objects: &gix::OdbHandle, id: &oid) -> io::Result<()> {
    let size = objects
        .try_header(id)
        .map_err(io::Error::other)?
        .map_or(0, |header| header.size);
    let mut hasher = gix::hash::hasher(id.kind());
    hasher.update(&gix::objs::encode::loose_header(
        gix::objs::Kind::Blob,
        size,
    ));
    read_blob(objects, id, &mut |piece| {
        hasher.update(piece);
        Ok(())
    })?;
    let actual: ObjectId = hasher.try_finalize().map_err(io::Error::other)?;
    if *actual == *id {
        Ok(())
    } else {
        Err(io::Error::other(format!(
            "object {id} is damaged: its bytes are those of {actual}"
        )))
    }
}

/// A compressed blob, from the beginning of its content on.
struct BlobEntry {
    from: BufReader<File>,
    inflate: Decompress,
}

impl BlobEntry {
    fn inflate_to(
        &mut self,
        size: u64,
        take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        let mut bytes_left = size;
        while bytes_left > 0 {
            let wanted = usize::try_from(bytes_left).unwrap_or(PIECE).min(PIECE);
            if inflate::read(&mut self.from, &mut self.inflate, &mut piece[..wanted])? != wanted {
                return Err(io::Error::new(
                    ErrorKind::UnexpectedEof,
                    "the object is shorter than its header says",
                ));
            }
            take(&piece[..wanted])?;
            bytes_left -= wanted as u64;
        }
        // The checksum of the content stands at its end.
        match inflate::read(&mut self.from, &mut self.inflate, &mut piece[..1])? {
            0 => Ok(()),
            _ => Err(io::Error::new(
                ErrorKind::InvalidData,
                "the object is longer than its header says",
            )),
        }
    }
}

/// Opens the first whole copy of a blob, loose or in a pack; `None` where each copy is a difference to another object.
fn open_whole_entry(objects: &gix::OdbHandle, id: &oid) -> io::Result<Option<BlobEntry>> {
    let store = objects.store_ref();
    let mut folders = vec![store.path().to_owned()];
    folders.extend(store.alternate_db_paths().map_err(io::Error::other)?);
    let mut is_difference = false;
    for folder in folders {
        if let Some(entry) = open_loose(&folder, id)? {
            return Ok(Some(entry));
        }
        for pack in packs_of(&folder)? {
            let Ok(index) = index::File::at(&pack, id.kind()) else {
                continue;
            };
            let Some(offset) = index.lookup(id).map(|at| index.pack_offset_at_index(at)) else {
                continue;
            };
            let mut from =
                BufReader::with_capacity(PIECE, File::open(pack.with_extension("pack"))?);
            from.seek(SeekFrom::Start(offset))?;
            let entry = data::Entry::from_read(&mut from, offset, id.kind().len_in_bytes())?;
            if entry.header == Header::Blob {
                return Ok(Some(BlobEntry {
                    from,
                    inflate: Decompress::new(),
                }));
            }
            is_difference = true;
        }
    }
    if is_difference {
        Ok(None)
    } else {
        Err(ErrorKind::NotFound.into())
    }
}

fn open_loose(objects: &Path, id: &oid) -> io::Result<Option<BlobEntry>> {
    let hex = id.to_hex().to_string();
    let from = match File::open(objects.join(&hex[..2]).join(&hex[2..])) {
        Ok(file) => BufReader::with_capacity(PIECE, file),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut entry = BlobEntry {
        from,
        inflate: Decompress::new(),
    };
    // The header ends with a zero byte.
    let mut byte = [1];
    while byte != [0] {
        if inflate::read(&mut entry.from, &mut entry.inflate, &mut byte)? == 0 {
            return Err(io::Error::new(
                ErrorKind::UnexpectedEof,
                "the object has no header",
            ));
        }
    }
    Ok(Some(entry))
}

fn packs_of(objects: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(objects.join("pack")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut packs = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "idx") {
            packs.push(path);
        }
    }
    Ok(packs)
}
