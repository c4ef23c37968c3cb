//! Snapshots that leave their machine, and those that come from others.
//!
//! Any process in the repository can write a ref that looks like a snapshot's. What may leave is therefore read from the objects that would
//! go: the commits are those that watchdog makes, nothing in them is in a private part that is kept here, and the rule that chose the
//! private files finds none in it.

use std::collections::{HashMap, HashSet};

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use jiff::{SignedDuration, Timestamp};

use super::proof::{entry_at, tree_of};
use super::record::{self, SnapshotRecord, StoredSnapshot};
use super::spec_name::{PREFIX, PRIVATE_PREFIX, for_ref, path_text, sequence};
use super::take::{create, utc_of};
use super::{PrivacyClassifier, SnapshotCandidate, SnapshotSummary, diff, tree};
use crate::own_refs::require_readable;
use crate::{Error, Worktree};

/// How far the clock of another machine may be ahead.
const CLOCK_AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// A snapshot of this machine, and whether it may leave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotToShare {
    /// The snapshot.
    pub info: SnapshotSummary,
    /// Why it stays here; `None` = nothing that is private would go with it.
    pub obstacle: Option<SharingObstacle>,
}

/// Why a snapshot stays on its machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SharingObstacle {
    /// Its commits have other parents than those that its message names.
    #[error("its commits are not made as watchdog makes them")]
    ForeignCommit,
    /// It holds a file that belongs to the private part.
    #[error("{path} in it is private")]
    PrivateFile {
        /// Percent-escaped where not UTF-8.
        path: String,
    },
}

/// A snapshot of another machine, as its remote names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrivedSnapshot<'a> {
    /// The name of the work.
    pub spec: &'a str,
    /// Which machine's it is: one component of a ref.
    pub origin: &'a str,
    /// The last component of its name.
    pub leaf: &'a str,
    /// Its commit, which is in the repository.
    pub commit: &'a str,
}

/// What became of a snapshot of another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArrivedAs {
    /// It is listed from now on, under this id.
    Kept(String),
    /// It was here.
    Known,
    /// It is no snapshot of that work, or its time has not come; nothing was written.
    Refused,
}

/// Answers of the rule, by path, content, and what HEAD has there.
type RuleAnswers = HashMap<(BString, ObjectId, Option<ObjectId>), bool>;

impl Worktree {
    /// The snapshots of `spec` that this machine took and `wanted` accepts, newest first. `rule` is the one that chooses private files.
    ///
    /// # Errors
    /// When refs or objects cannot be read.
    pub fn snapshots_to_share(
        &self,
        spec: &str,
        wanted: &dyn Fn(&SnapshotSummary) -> bool,
        rule: PrivacyClassifier<'_>,
    ) -> Result<Vec<SnapshotToShare>, Error> {
        self.refresh()?;
        let folder = format!("{PREFIX}{}", for_ref(spec));
        let mut own = self.retry_if_refs_moved(|| record::all(&self.repo))?;
        own.retain(|stored| {
            stored
                .name
                .rsplit_once('/')
                .is_some_and(|(at, _)| at == folder)
                && stored.record.spec == spec
        });
        own.sort_by_cached_key(|stored| {
            std::cmp::Reverse((stored.record.at, sequence(&stored.name)))
        });
        let private = self.retry_if_refs_moved(|| self.private_objects())?;
        let mut answers = RuleAnswers::new();
        let mut found = Vec::new();
        for stored in own {
            let info = stored.clone().info();
            if wanted(&info) {
                let obstacle = self.obstacle(&stored, &private, rule, &mut answers)?;
                found.push(SnapshotToShare { info, obstacle });
            }
        }
        Ok(found)
    }

    /// Keeps a snapshot of another machine beside those of this one, where `rescue list` finds it.
    ///
    /// # Errors
    /// When its commit cannot be read, or the ref not be written.
    pub fn keep_arrived_snapshot(
        &self,
        arrived: &ArrivedSnapshot<'_>,
        now: Timestamp,
    ) -> Result<ArrivedAs, Error> {
        let doing = || format!("read the snapshot {}", arrived.commit);
        let id =
            ObjectId::from_hex(arrived.commit.as_bytes()).map_err(|e| Error::read(doing(), e))?;
        let commit = self
            .repo
            .find_commit(id)
            .map_err(|e| Error::read(doing(), e))?;
        let fits = |record: &SnapshotRecord| {
            let named = arrived
                .leaf
                .rsplit_once('-')
                .is_some_and(|(time, n)| time == utc_of(record.at) && n.parse::<u16>().is_ok());
            let is_due = now
                .checked_add(CLOCK_AHEAD)
                .is_ok_and(|latest| record.at <= latest);
            record.spec == arrived.spec && named && is_due
        };
        let record =
            SnapshotRecord::parse(&commit.message_raw_sloppy().to_str_lossy()).filter(fits);
        let Some(record) = record.filter(|record| self.is_ours(id, record).unwrap_or(false)) else {
            return Ok(ArrivedAs::Refused);
        };
        let own = format!(
            "{}/{}/{}",
            for_ref(arrived.spec),
            for_ref(arrived.origin),
            arrived.leaf
        );
        let created = create(self, &format!("{PREFIX}{own}"), id, record.at)?;
        Ok(if created {
            ArrivedAs::Kept(own)
        } else {
            ArrivedAs::Known
        })
    }

    fn obstacle(
        &self,
        stored: &StoredSnapshot,
        private: &HashSet<ObjectId>,
        rule: PrivacyClassifier<'_>,
        answers: &mut RuleAnswers,
    ) -> Result<Option<SharingObstacle>, Error> {
        let repo = &self.repo;
        let record = &stored.record;
        if private.contains(&stored.commit) || !self.is_ours(stored.commit, record)? {
            return Ok(Some(SharingObstacle::ForeignCommit));
        }
        let empty = ObjectId::empty_tree(repo.object_hash());
        let head = record
            .head
            .map(|head| tree_of(repo, head))
            .transpose()?
            .unwrap_or(empty);
        let mut changes: Vec<(BString, _)> = Vec::new();
        for tree in [
            Some(stored.tree),
            record
                .index
                .map(|commit| tree_of(repo, commit))
                .transpose()?,
        ]
        .into_iter()
        .flatten()
        {
            changes.extend(
                diff::changes(repo, head, tree)?
                    .into_iter()
                    .map(|change| (change.path.clone(), change)),
            );
        }
        if let Some(extras) = record.extras {
            let changed = diff::changes(repo, empty, tree_of(repo, extras)?)?;
            changes.extend(
                changed
                    .into_iter()
                    .map(|change| (of_work(change.path.as_bstr()).to_owned(), change)),
            );
        }
        let read = |id: ObjectId| repo.find_blob(id).ok().map(|mut blob| blob.take_data());
        for (path, change) in changes {
            let Some((_, id)) = change.after.filter(|(mode, _)| !mode.is_commit()) else {
                continue;
            };
            let path = path.as_bstr();
            let committed = entry_at(repo, head, path)?.map(|(_, id)| id);
            let is_private = *answers
                .entry((path.to_owned(), id, committed))
                .or_insert_with(|| {
                    let candidate = SnapshotCandidate {
                        path: &path_text(path),
                        bytes: change.bytes,
                        ignored: false,
                        newly_ignored: false,
                        content: &|| read(id),
                        committed: &|| read(committed?),
                        secrets: &[],
                    };
                    rule(&candidate).is_some()
                });
            if is_private || (private.contains(&id) && !id.is_empty_blob()) {
                return Ok(Some(SharingObstacle::PrivateFile {
                    path: path_text(path),
                }));
            }
        }
        Ok(None)
    }

    /// Whether the commits of a snapshot have the parents that its message names: then nothing else goes with them.
    fn is_ours(&self, commit: ObjectId, record: &SnapshotRecord) -> Result<bool, Error> {
        let parents = |id: ObjectId| -> Result<Vec<ObjectId>, Error> {
            let commit = self
                .repo
                .find_commit(id)
                .map_err(|e| Error::read("read the snapshot", e))?;
            Ok(commit.parent_ids().map(gix::Id::detach).collect())
        };
        let with = |id: Option<ObjectId>, expected: Option<ObjectId>| match id {
            Some(id) => Ok::<_, Error>(parents(id)? == Vec::from_iter(expected)),
            None => Ok(true),
        };
        Ok(parents(commit)? == Vec::from_iter(record.parents())
            && with(record.index, record.head)?
            && with(record.extras, None)?)
    }

    /// Every commit and file of the private parts that are kept here.
    fn private_objects(&self) -> Result<HashSet<ObjectId>, Error> {
        let doing = "list the private parts of snapshots";
        let repo = &self.repo;
        let empty = ObjectId::empty_tree(repo.object_hash());
        require_readable(repo, PRIVATE_PREFIX)?;
        let platform = repo.references().map_err(|e| Error::read(doing, e))?;
        let mut found = HashSet::new();
        for reference in platform
            .prefixed(PRIVATE_PREFIX)
            .map_err(|e| Error::read(doing, e))?
        {
            let reference = reference.map_err(|e| Error::read(doing, e))?;
            let Some(id) = reference.target().try_id().map(ToOwned::to_owned) else {
                continue;
            };
            // A ref to something else keeps nothing private.
            let Ok(commit) = repo.find_commit(id) else {
                continue;
            };
            found.insert(id);
            let tree = commit
                .tree_id()
                .map_err(|e| Error::read(doing, e))?
                .detach();
            found.extend(
                diff::changes(repo, empty, tree)?
                    .into_iter()
                    .filter_map(|change| Some(change.after?.1)),
            );
        }
        Ok(found)
    }
}

/// The path of a file in the work tree, from that in the extras.
fn of_work(path: &BStr) -> &BStr {
    let below = |folder: &str| path.strip_prefix(folder.as_bytes())?.strip_prefix(b"/");
    let staged = || below(tree::CONFLICTS)?.splitn_str(2, "/").nth(1);
    below(tree::NESTED)
        .or_else(staged)
        .map_or(path, ByteSlice::as_bstr)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_extras_has_the_path_that_it_has_in_the_work_tree() {
        for (path, of) in [
            ("nested/a/b", "a/b"),
            ("conflicts/2/a/b", "a/b"),
            ("intent-to-add", "intent-to-add"),
            ("conflicts", "conflicts"),
        ] {
            assert_eq!(of_work(path.into()), BStr::new(of));
        }
    }
}
