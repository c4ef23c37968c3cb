//! Puts files into the object database as they are on disk, byte for byte, and makes them durable.
//!
//! No filter ever runs here: a filter is a program that the repository names, and its output for a
//! file is not what a restore should write.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::FileExt;

use gix::ObjectId;
use gix::bstr::BStr;
use gix::objs::tree::EntryKind;
use gix::objs::{Kind as ObjectKind, Write as _};

use super::disk::{FileStat, FolderWalk, PathKind, stat_of};
use super::new_objects::{NewObjects, StreamFailure};
use super::pack_folder::PublishedPack;
use crate::error::{Error, ReadContext as _};
use crate::shared_modes::SharedModes;

/// Files up to this size are read whole; larger ones pass through in pieces.
const WHOLE: u64 = 8 << 20;
/// How often a file is read again that changes while it is read.
const ATTEMPTS: usize = 5;

/// A file or symlink as it was at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CapturedFile {
    pub kind: EntryKind,
    pub id: ObjectId,
    pub stat: FileStat,
}

/// The object database that a snapshot goes to.
pub(super) struct ObjectSink<'repo> {
    repo: &'repo gix::Repository,
    /// Takes new objects; without it `repo` itself does.
    new: Option<NewObjects<'repo>>,
    /// Everything that the snapshot relies on, new or not.
    relied_on: HashSet<ObjectId>,
    /// The last refusal of the database that no later attempt made good.
    refused: Option<Error>,
    dry: bool,
}

/// How to store a file that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlobWriteMode {
    /// Only its name is wanted.
    Name,
    /// It is written into the object database.
    Content,
    /// It is written unless it is this object.
    UnlessIs(ObjectId),
}

impl BlobWriteMode {
    fn wants(self, id: ObjectId) -> bool {
        match self {
            BlobWriteMode::Name => false,
            BlobWriteMode::Content => true,
            BlobWriteMode::UnlessIs(known) => known != id,
        }
    }
}

impl<'repo> ObjectSink<'repo> {
    /// Writes into `repo` at once.
    pub(super) fn new(repo: &'repo gix::Repository) -> Self {
        ObjectSink {
            repo,
            new: None,
            relied_on: HashSet::new(),
            refused: None,
            dry: false,
        }
    }

    /// Gathers the objects of a snapshot, which are written by [`ObjectSink::make_durable`] at the latest. `repo` must have its object memory
    /// on.
    pub(super) fn gathering(repo: &'repo gix::Repository) -> Self {
        ObjectSink {
            new: Some(NewObjects::new(repo)),
            ..ObjectSink::new(repo)
        }
    }

    /// Only names content, writes nothing.
    pub(super) fn dry(repo: &'repo gix::Repository) -> Self {
        ObjectSink {
            dry: true,
            ..ObjectSink::new(repo)
        }
    }

    /// The repository, with what was gathered of trees and commits.
    pub(super) fn repo(&self) -> &'repo gix::Repository {
        self.repo
    }

    /// Reads and stores the file at `path`; `None` where git cannot store it.
    ///
    /// A file that changes meanwhile is read again; one that never rests is taken as it was last read.
    pub(super) fn take(
        &mut self,
        below: &mut FolderWalk,
        path: &BStr,
        keep: BlobWriteMode,
    ) -> io::Result<Option<CapturedFile>> {
        // The failure of an earlier attempt counts only until a later one succeeds.
        let refused = self.refused.take();
        let outcome = self.take_at_rest(below, path, keep);
        if outcome.is_ok() {
            self.refused = None;
        }
        self.refused = refused.or(self.refused.take());
        outcome
    }

    fn take_at_rest(
        &mut self,
        below: &mut FolderWalk,
        path: &BStr,
        keep: BlobWriteMode,
    ) -> io::Result<Option<CapturedFile>> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let Some(stat) = below.lstat(path)? else {
                return Ok(None);
            };
            let attempt = match stat.kind {
                PathKind::Folder | PathKind::Special => return Ok(None),
                PathKind::Link => below.read_link(path).and_then(|target| {
                    let id = self.buffer(&target, keep)?;
                    Ok((
                        CapturedFile {
                            kind: EntryKind::Link,
                            id,
                            stat,
                        },
                        below.lstat(path)? == Some(stat),
                    ))
                }),
                PathKind::File { .. } => below
                    .open_file(path)
                    .and_then(|(file, opened)| self.file(file, opened, keep)),
            };
            match attempt {
                Ok((taken, true)) => return Ok(Some(taken)),
                Ok((taken, false)) => last = Some(Ok(Some(taken))),
                Err(error) => last = Some(Err(error)),
            }
            below.forget();
        }
        last.unwrap_or(Ok(None))
    }

    /// Reads an opened file. The flag says whether it stayed as it was.
    fn file(
        &mut self,
        mut file: File,
        stat: FileStat,
        keep: BlobWriteMode,
    ) -> io::Result<(CapturedFile, bool)> {
        let kind = match stat.kind {
            PathKind::File { executable: true } => EntryKind::BlobExecutable,
            _ => EntryKind::Blob,
        };
        let (id, read) = if stat.size <= WHOLE {
            let mut bytes = Vec::with_capacity(stat.size as usize + 1);
            (&mut file).take(WHOLE + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > WHOLE {
                self.stream(&mut file, stat, keep)?
            } else {
                (self.buffer(&bytes, keep)?, bytes.len() as u64)
            }
        } else {
            self.stream(&mut file, stat, keep)?
        };
        let after = stat_of(&file)?;
        Ok((
            CapturedFile {
                kind,
                id,
                stat: FileStat { size: read, ..stat },
            },
            after == stat && read == stat.size,
        ))
    }

    /// Whether content is to be written. Remembers wanted ids for [`ObjectSink::vanished`].
    fn is_new(&mut self, id: ObjectId, keep: BlobWriteMode) -> bool {
        let wanted = !self.dry && keep.wants(id);
        wanted && self.relied_on.insert(id) && !self.is_there(&id)
    }

    /// Marks the position for [`ObjectSink::forget_since`].
    pub(super) fn mark(&self) -> HashSet<ObjectId> {
        self.relied_on.clone()
    }

    /// Forgets later objects: nothing depends on them any more.
    pub(super) fn forget_since(&mut self, mark: HashSet<ObjectId>) {
        self.relied_on = mark;
    }

    /// Whether a garbage collection removed objects that no ref named yet. Call it once a ref names them, with a fresh look at the database:
    /// one that is open still has the index of a pack that is gone.
    pub(super) fn has_vanished_objects(&self, objects: &impl gix::objs::Exists) -> bool {
        let unwritten = |id: &ObjectId| self.new.as_ref().is_some_and(|new| new.is_unwritten(id));
        self.new.as_ref().is_some_and(NewObjects::lost_its_pack)
            || self
                .relied_on
                .iter()
                .any(|id| !objects.exists(id) && !unwritten(id))
    }

    /// Whether the database itself has the object. `Repository::has_object()` also claims the empty tree, which git
    /// misses when it checks the repository.
    fn is_there(&self, id: &gix::oid) -> bool {
        use gix::objs::Exists;
        self.new
            .as_ref()
            .map_or_else(|| self.repo.objects.exists(id), |new| new.is_there(id))
    }

    fn buffer(&mut self, bytes: &[u8], keep: BlobWriteMode) -> io::Result<ObjectId> {
        let id = gix::objs::compute_hash(self.repo.object_hash(), ObjectKind::Blob, bytes)
            .map_err(io::Error::other)?;
        if self.is_new(id, keep) {
            let outcome = match &mut self.new {
                Some(new) => new.add_blob(id, bytes).map(|()| id),
                None => self
                    .repo
                    .objects
                    .write_buf_with_known_id(ObjectKind::Blob, bytes, id)
                    .map_err(new_write_error),
            };
            self.note_written(id, outcome).map_err(io::Error::other)?;
        }
        Ok(id)
    }

    /// Records the result of writing the object `wanted`. An object that was never written is not expected to exist, or
    /// a full disk would look like a garbage collection.
    fn note_written(
        &mut self,
        wanted: ObjectId,
        outcome: Result<ObjectId, Error>,
    ) -> Result<ObjectId, Error> {
        if !matches!(&outcome, Ok(id) if *id == wanted) {
            self.relied_on.remove(&wanted);
        }
        match outcome {
            Ok(id) => {
                if self.new.is_none() {
                    SharedModes::for_repository(self.repo).adjust_object(self.repo, id);
                }
                self.relied_on.insert(id);
                Ok(id)
            }
            Err(error) => Err(self.refusal(error)),
        }
    }

    /// Remembers that the database refused an object.
    fn refusal(&mut self, error: Error) -> Error {
        let why = match &error {
            Error::Read { why, .. } => why.clone(),
            other => other.to_string(),
        };
        self.refused = Some(Error::read_failure("write an object of the snapshot", why));
        error
    }

    /// Fails where the database refused a file's content: one that could be read and not be kept is not left out, as a
    /// snapshot without it would let a rescue begin.
    pub(super) fn all_kept(&mut self) -> Result<(), Error> {
        // A pack that refuses an object loses all that it had, whatever was read since.
        let failed = self.new.as_ref().and_then(NewObjects::get_failure);
        self.refused.take().or(failed).map_or(Ok(()), Err)
    }

    /// Hashes first and writes only new objects, so that a large unchanged file costs no disk.
    /// Objects changed since the last pack was written are read once instead.
    fn stream(
        &mut self,
        file: &mut File,
        stat: FileStat,
        keep: BlobWriteMode,
    ) -> io::Result<(ObjectId, u64)> {
        let size = file.seek(io::SeekFrom::End(0))?;
        let wanted = !self.dry && keep != BlobWriteMode::Name;
        if wanted
            && self
                .new
                .as_ref()
                .is_some_and(|new| new.is_likely_new(size, stat.ctime))
        {
            return Ok((self.store(file, size, keep)?, size));
        }
        file.rewind()?;
        let mut hasher = gix::hash::hasher(self.repo.object_hash());
        hasher.update(&gix::objs::encode::loose_header(ObjectKind::Blob, size));
        let mut exact = ExactReader {
            from: &mut *file,
            bytes_left: size,
        };
        let mut buffer = vec![0; 1 << 17];
        loop {
            match exact.read(&mut buffer)? {
                0 => break,
                read => hasher.update(&buffer[..read]),
            }
        }
        let id = hasher.try_finalize().map_err(io::Error::other)?;
        if !self.is_new(id, keep) {
            return Ok((id, size));
        }
        // Hashes the written bytes again: the file may have changed since.
        let stored = self.store(file, size, BlobWriteMode::Content);
        if !matches!(&stored, Ok(written) if *written == id) {
            self.relied_on.remove(&id);
        }
        Ok((stored?, size))
    }

    /// Writes a file while its content gets its name.
    fn store(&mut self, file: &mut File, size: u64, keep: BlobWriteMode) -> io::Result<ObjectId> {
        let sample = sample_of(file, size);
        file.rewind()?;
        let mut exact = ExactReader {
            from: file,
            bytes_left: size,
        };
        let outcome = match &mut self.new {
            Some(new) => new.put_stream(size, &sample, &mut exact, &|id| keep.wants(id)),
            None => self
                .repo
                .objects
                .write_stream(ObjectKind::Blob, size, &mut exact)
                .map_err(|e| StreamFailure::Database(new_write_error(e))),
        };
        match outcome {
            Ok(id) => {
                if keep.wants(id) {
                    self.relied_on.insert(id);
                }
                Ok(id)
            }
            // The database did not refuse a file that cannot be read any more.
            Err(StreamFailure::Unreadable(error)) => Err(io::Error::other(error)),
            Err(StreamFailure::Database(error)) => Err(io::Error::other(self.refusal(error))),
        }
    }

    /// Writes a tree, a commit or bytes of our own, unless it is there.
    pub(super) fn object(&mut self, object: &dyn gix::objs::WriteTo) -> Result<ObjectId, Error> {
        let mut bytes = Vec::new();
        object.write_to(&mut bytes).context("encode an object")?;
        let kind = object.kind();
        let id = gix::objs::compute_hash(self.repo.object_hash(), kind, &bytes)
            .context("name an object")?;
        if self.is_new(id, BlobWriteMode::Content) {
            let outcome = match &mut self.new {
                Some(new) => new.put_own(kind, id, &bytes).map(|()| id),
                None => self
                    .repo
                    .objects
                    .write_buf_with_known_id(kind, &bytes, id)
                    .context("write an object"),
            };
            self.note_written(id, outcome)?;
        }
        Ok(id)
    }

    /// The content of a blob, whether it is in the database yet or not; `None` where it cannot be
    /// read.
    pub(super) fn content(&mut self, id: ObjectId) -> Option<Vec<u8>> {
        match &mut self.new {
            Some(new) => new.content(id),
            None => self
                .repo
                .find_blob(id)
                .ok()
                .map(|mut blob| blob.take_data()),
        }
    }

    /// The size of an object that is not in the database yet.
    pub(super) fn size(&self, id: &gix::oid) -> Option<u64> {
        self.new.as_ref().and_then(|new| new.size(id))
    }

    /// Writes what was gathered, and makes sure that it survives a power cut. Call it before a ref names any of it.
    pub(super) fn make_durable(&mut self) -> Result<(), Error> {
        self.new
            .as_mut()
            .map_or(Ok(()), |new| new.make_durable(&self.relied_on))
    }

    /// The pack that was written, if any: guarded from git's repacking until it is dropped.
    pub(super) fn into_pack(self) -> Option<PublishedPack> {
        self.new.and_then(NewObjects::into_pack)
    }
}

fn new_write_error(error: impl std::error::Error) -> Error {
    Error::read_error("write an object of the snapshot", error)
}

/// Pieces from the beginning, the middle and the end of a file, by which it is judged whether it compresses.
fn sample_of(file: &File, size: u64) -> Vec<u8> {
    let mut sample = Vec::new();
    let mut piece = vec![0; 16 << 10];
    for at in [0, size / 2, size.saturating_sub(piece.len() as u64)] {
        let read = file.read_at(&mut piece, at).unwrap_or(0);
        sample.extend_from_slice(&piece[..read]);
    }
    sample
}

/// Reads exactly so many bytes: neither what was appended meanwhile, nor fewer without an error, as an
/// object that is shorter than its header says would be corrupt.
struct ExactReader<'f> {
    from: &'f mut File,
    bytes_left: u64,
}

impl Read for ExactReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.bytes_left == 0 || buffer.is_empty() {
            return Ok(0);
        }
        let most = buffer
            .len()
            .min(usize::try_from(self.bytes_left).unwrap_or(usize::MAX));
        let outcome = match self.from.read(&mut buffer[..most]) {
            Ok(0) => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file became shorter while it was read",
            )),
            other => other,
        };
        if let Ok(read) = &outcome {
            self.bytes_left -= *read as u64;
        }
        outcome
    }
}
