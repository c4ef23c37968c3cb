//! Writes the new objects of a snapshot: into loose files where there are few, into one pack where
//! there are many.
//!
//! The first ones wait in memory until it is clear which. Trees and commits wait to the end, where only those are written that the snapshot
//! leads to. Readers of what is not in the database yet ask [`NewObjects::content`] and [`NewObjects::size`]; trees are in the memory of
//! the snapshot's repository.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::PathBuf;

use gix::ObjectId;
use gix::objs::{Exists as _, Kind as ObjectKind, Write as _};

use super::pack_folder::{PackFolder, PublishedPack};
use super::pack_writer::PackWriter;
use crate::error::{Error, ReadContext as _};
use crate::shared_modes::SharedModes;

/// So many new objects go into a pack. git has the same limit for what it fetches (`fetch.unpackLimit`): fewer would leave
/// a pack behind for each small snapshot.
const PACKED_FROM: usize = 100;
/// So many where the folder has [`MANY_PACKS`] already: git looks through one pack after the other, and not everybody collects garbage.
const PACKED_FROM_BESIDE_MANY: usize = 2000;
/// How many packs git lets stand before it makes one of them (`gc.autoPackLimit`).
const MANY_PACKS: usize = 50;
/// A single blob from this size on goes into a pack: a loose one is compressed whether that helps or not.
const PACKED_ALONE: u64 = 32 << 20;
/// How much content waits in memory at most.
const WAITING: usize = 1 << 20;
/// How often a loose object is written where its folder is gone each time.
const ATTEMPTS: usize = 100;
/// More loose objects than this are flushed with the whole file system at once.
const FLUSH_ONE_BY_ONE: usize = 64;

/// An object that waits in memory.
struct WaitingEntry {
    kind: ObjectKind,
    id: ObjectId,
    content: Vec<u8>,
}

/// The new objects of one snapshot.
pub(super) struct NewObjects<'repo> {
    /// Keeps trees and commits in memory.
    repo: &'repo gix::Repository,
    /// The same database without that memory.
    disk: gix::OdbHandle,
    /// Written as loose files.
    loose: HashSet<ObjectId>,
    waiting: Vec<WaitingEntry>,
    /// In the memory of `repo`, in the order in which they came.
    own: Vec<ObjectId>,
    own_ids: HashSet<ObjectId>,
    pack: Option<PackWriter>,
    /// When a pack came or went last, before this snapshot.
    packs_changed_at: Option<(i64, i64)>,
    /// Number of new objects that become a pack; `None` until the first of them could.
    packed_from: Option<usize>,
    /// No pack can be made here.
    only_loose: bool,
    /// The pack refused an object, and what it had is gone with it.
    failure: Option<String>,
    published: Option<PublishedPack>,
    /// Somebody took the pack away before it was in its place.
    taken_away: bool,
}

impl<'repo> NewObjects<'repo> {
    /// `repo` must have its object memory on.
    pub(super) fn new(repo: &'repo gix::Repository) -> Self {
        let disk = repo.objects.clone().with_write_passthrough();
        // Looking for what is nowhere makes the packs known that came since the repository was opened.
        disk.exists(&ObjectId::null(repo.object_hash()));
        NewObjects {
            repo,
            disk,
            loose: HashSet::new(),
            waiting: Vec::new(),
            own: Vec::new(),
            own_ids: HashSet::new(),
            pack: None,
            packs_changed_at: PackFolder::for_repository(repo).changed_at(),
            packed_from: None,
            only_loose: false,
            failure: None,
            published: None,
            taken_away: false,
        }
    }

    /// Whether the database has an object. A pack that came meanwhile is not looked for: each new object would list the folder of packs.
    pub(super) fn is_there(&self, id: &gix::oid) -> bool {
        self.disk.exists_without_refresh(id)
    }

    /// Whether an object is known here and not in the database yet.
    pub(super) fn is_unwritten(&self, id: &ObjectId) -> bool {
        self.failure.is_some()
            || self.own_ids.contains(id)
            || self.waiting.iter().any(|waiting| waiting.id == *id)
            || self.pack.as_ref().is_some_and(|pack| pack.has(id))
    }

    /// Whether the finished pack was removed, or was never allowed to its place.
    pub(super) fn lost_its_pack(&self) -> bool {
        self.taken_away || self.published.as_ref().is_some_and(|pack| !pack.is_there())
    }

    /// The finished pack.
    pub(super) fn into_pack(self) -> Option<PublishedPack> {
        self.published
    }

    /// The failure that ended the pack.
    pub(super) fn get_failure(&self) -> Option<Error> {
        self.failure
            .as_ref()
            .map(|why| Error::read_failure("write an object of the snapshot", why.clone()))
    }

    /// Whether a file of this size that changed at `ctime` is most likely new to the database, and goes into a pack: no pack is as young as
    /// its change.
    pub(super) fn is_likely_new(&self, size: u64, ctime: (i64, i64)) -> bool {
        size >= PACKED_ALONE
            && !self.only_loose
            && self.packs_changed_at.is_some_and(|packed| packed < ctime)
    }

    /// Takes a blob, whole.
    pub(super) fn add_blob(&mut self, id: ObjectId, content: &[u8]) -> Result<(), Error> {
        if self.packs_from(self.count() + 1)? {
            return self.in_pack(|pack| pack.add(ObjectKind::Blob, id, content));
        }
        let waits = self
            .waiting
            .iter()
            .map(|waiting| waiting.content.len())
            .sum::<usize>()
            + content.len()
            <= WAITING;
        if waits {
            self.waiting.push(WaitingEntry {
                kind: ObjectKind::Blob,
                id,
                content: content.to_owned(),
            });
            return Ok(());
        }
        write_loose(&self.disk, ObjectKind::Blob, content, id)?;
        self.note_loose(id);
        Ok(())
    }

    /// Takes a blob of `size` bytes from a reader, and returns the id of what was read. `begin` is
    /// a part of it. A blob that the database already has, or that is not `wanted`, is not kept
    /// twice.
    pub(super) fn put_stream(
        &mut self,
        size: u64,
        begin: &[u8],
        from: &mut dyn Read,
        wanted: &dyn Fn(ObjectId) -> bool,
    ) -> Result<ObjectId, StreamFailure> {
        let doing = "write an object of the snapshot";
        let mut from = WatchedReader {
            from,
            failed: false,
        };
        let packs = self.packs_from(if size >= PACKED_ALONE {
            usize::MAX
        } else {
            self.count() + 1
        });
        let outcome = match (packs, self.pack.as_mut()) {
            (Err(error), _) => return Err(StreamFailure::Database(error)),
            (Ok(true), Some(pack)) => {
                let new = |id| wanted(id) && !self.disk.exists_without_refresh(&id);
                let added = pack.add_stream(size, begin, &mut from, &new);
                // A pack of nothing is none.
                if pack.is_empty() {
                    self.pack = None;
                }
                match added {
                    // A file that is built to collide must not take the others with it: it is as
                    // one that cannot be read.
                    Err(error) if error.kind() == ErrorKind::InvalidData => {
                        return Err(StreamFailure::Unreadable(Error::read_error(doing, error)));
                    }
                    Err(error) if !from.failed => Err(self.give_up_pack(&error)),
                    other => other.context(doing),
                }
            }
            _ => self
                .disk
                .write_stream(ObjectKind::Blob, size, &mut from)
                .context(doing)
                .inspect(|id| {
                    self.note_loose(*id);
                }),
        };
        outcome.map_err(|error| {
            if from.failed {
                StreamFailure::Unreadable(error)
            } else {
                StreamFailure::Database(error)
            }
        })
    }

    /// Takes a tree, a commit or bytes of our own: to be written in the end, if the snapshot leads to it.
    pub(super) fn put_own(
        &mut self,
        kind: ObjectKind,
        id: ObjectId,
        content: &[u8],
    ) -> Result<(), Error> {
        self.repo
            .objects
            .write_buf_with_known_id(kind, content, id)
            .context("write an object")?;
        if self.own_ids.insert(id) {
            self.own.push(id);
        }
        Ok(())
    }

    /// The content of a blob that is not in the database yet, or in it.
    pub(super) fn content(&mut self, id: ObjectId) -> Option<Vec<u8>> {
        if let Some(waiting) = self.waiting.iter().find(|waiting| waiting.id == id) {
            return Some(waiting.content.clone());
        }
        if let Some(packed) = self
            .pack
            .as_mut()
            .and_then(|pack| pack.content(&id).transpose())
        {
            return packed.ok();
        }
        self.repo
            .find_blob(id)
            .ok()
            .map(|mut blob| blob.take_data())
    }

    /// The size of an object that is not in the database yet.
    pub(super) fn size(&self, id: &gix::oid) -> Option<u64> {
        let waiting = self
            .waiting
            .iter()
            .find(|waiting| waiting.id == id)
            .map(|waiting| waiting.content.len() as u64);
        waiting.or_else(|| self.pack.as_ref()?.size(id))
    }

    /// Writes everything that waits and is among `wanted`, and makes all of it survive a power cut. Call it before a ref names it.
    pub(super) fn make_durable(&mut self, wanted: &HashSet<ObjectId>) -> Result<(), Error> {
        let doing = "make the snapshot durable";
        if let Some(failure) = self.get_failure() {
            return Err(failure);
        }
        let own: Vec<ObjectId> = self
            .own
            .iter()
            .copied()
            .filter(|id| wanted.contains(id))
            .collect();
        let folder = PackFolder::for_repository(self.repo);
        if self.pack.is_none() && self.waiting.is_empty() && self.loose.is_empty() && own.is_empty()
        {
            return Ok(());
        }
        folder.remove_leftovers();
        let packs = self.packs_from(self.loose.len() + self.waiting.len() + own.len())?;
        for id in own {
            let object = self.repo.find_object(id).context(doing)?;
            let (kind, content) = (object.kind, object.detach().data);
            if packs {
                self.in_pack(|pack| pack.add(kind, id, &content))?;
            } else {
                self.waiting.push(WaitingEntry { kind, id, content });
            }
        }
        for WaitingEntry { kind, id, content } in std::mem::take(&mut self.waiting) {
            write_loose(&self.disk, kind, &content, id)?;
            self.note_loose(id);
        }
        self.flush_loose().context(doing)?;
        if let Some(pack) = self.pack.take() {
            match pack.finish(&folder) {
                Ok(published) => self.published = Some(published),
                Err(error) => {
                    self.taken_away = error.kind() == ErrorKind::NotFound;
                    return Err(self.give_up_pack(&error));
                }
            }
        }
        self.own.clear();
        self.own_ids.clear();
        Ok(())
    }

    fn note_loose(&mut self, id: ObjectId) {
        SharedModes::for_repository(self.repo).adjust_object(self.repo, id);
        self.loose.insert(id);
    }

    /// The number of new objects so far.
    fn count(&self) -> usize {
        self.loose.len() + self.waiting.len()
    }

    /// Whether new objects go into a pack where they are so many; then there is one, with what waited.
    fn packs_from(&mut self, count: usize) -> Result<bool, Error> {
        if let Some(failure) = self.get_failure() {
            return Err(failure);
        }
        if self.pack.is_none() && !self.only_loose && count >= PACKED_FROM {
            let folder = PackFolder::for_repository(self.repo);
            let from = *self
                .packed_from
                .get_or_insert_with(|| match folder.packs() {
                    MANY_PACKS.. => PACKED_FROM_BESIDE_MANY,
                    _ => PACKED_FROM,
                });
            if count >= from {
                // A folder of packs that is missing or sealed leaves the way of few objects.
                match PackWriter::create(&folder, self.repo.object_hash()) {
                    Ok(pack) => self.pack = Some(pack),
                    Err(_) => self.only_loose = true,
                }
            }
        }
        if self.pack.is_none() {
            return Ok(false);
        }
        for WaitingEntry { kind, id, content } in std::mem::take(&mut self.waiting) {
            self.in_pack(|pack| pack.add(kind, id, &content))?;
        }
        Ok(true)
    }

    fn in_pack(
        &mut self,
        put: impl FnOnce(&mut PackWriter) -> io::Result<()>,
    ) -> Result<(), Error> {
        let pack = self.pack.as_mut().expect("asked for a pack before");
        put(pack).map_err(|error| self.give_up_pack(&error))
    }

    /// Gives up the pack with all that it has.
    fn give_up_pack(&mut self, error: &io::Error) -> Error {
        self.pack = None;
        let failure = Error::read_error("write an object of the snapshot", error);
        self.failure = Some(match &failure {
            Error::Read { why, .. } => why.clone(),
            other => other.to_string(),
        });
        failure
    }

    fn flush_loose(&mut self) -> io::Result<()> {
        let objects = self.repo.objects.store_ref().path().to_owned();
        flush_loose(objects, &mut self.loose)
    }
}

/// Writes one loose object, again where git removed its folder: `gc` and `prune` take an empty one away, also one that was just made.
fn write_loose(
    disk: &gix::OdbHandle,
    kind: ObjectKind,
    content: &[u8],
    id: ObjectId,
) -> Result<(), Error> {
    let mut attempts = 1;
    loop {
        match disk.write_buf_with_known_id(kind, content, id) {
            Ok(_) => return Ok(()),
            Err(error) if attempts < ATTEMPTS && error.is_not_found() => attempts += 1,
            Err(error) => return Err(Error::read_error("write an object of the snapshot", error)),
        }
    }
}

/// Makes loose objects survive a power cut.
fn flush_loose(objects: PathBuf, loose: &mut HashSet<ObjectId>) -> io::Result<()> {
    if loose.len() > FLUSH_ONE_BY_ONE
        && let Some(flushed) = watchdog_system::flush_file_system(File::open(&objects)?)
    {
        flushed?;
        loose.clear();
        return Ok(());
    }
    let mut folders: HashSet<PathBuf> = HashSet::new();
    for id in loose.drain() {
        let hex = id.to_string();
        let folder = objects.join(&hex[..2]);
        File::open(folder.join(&hex[2..]))?.sync_all()?;
        folders.insert(folder);
    }
    if !folders.is_empty() {
        folders.insert(objects);
    }
    for folder in folders {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Why a blob could not be taken from a reader.
pub(super) enum StreamFailure {
    /// The reader failed.
    Unreadable(Error),
    /// The database refused it.
    Database(Error),
}

/// Remembers that its reader failed.
struct WatchedReader<'f> {
    from: &'f mut dyn Read,
    failed: bool,
}

impl Read for WatchedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let outcome = self.from.read(buffer);
        self.failed |= outcome
            .as_ref()
            .is_err_and(|error| error.kind() != ErrorKind::Interrupted);
        outcome
    }
}
