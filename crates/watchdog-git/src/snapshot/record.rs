//! The commit of a snapshot: writes and parses its message.

use gix::ObjectId;
use gix::bstr::ByteSlice;
use jiff::Timestamp;

use super::spec_name::{PREFIX, PRIVATE_PREFIX, path_text};
use super::{SnapshotSummary, blobs::ObjectSink};
use crate::error::{Error, ReadContext as _};
use crate::own_refs::list_refs_below;
use watchdog_facts::evidence::LeftOut;

/// The record in a snapshot's commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SnapshotRecord {
    pub spec: String,
    pub at: Timestamp,
    pub why: String,
    pub branch: Option<String>,
    pub worktree: String,
    /// The commit that HEAD named; `None` on an unborn branch.
    pub head: Option<ObjectId>,
    /// The commit of the exact index; `None` where the index could not be read.
    pub index: Option<ObjectId>,
    /// Conflict stages and files of nested repositories.
    pub extras: Option<ObjectId>,
    /// The private commit, and its number of paths; no other object references it.
    pub private: Option<ObjectId>,
    pub private_files: u64,
    pub files: u64,
    pub bytes: u64,
    pub left_out: Vec<LeftOut>,
}

/// How many paths that were left out are named in the message.
const NAMED: usize = 200;

/// A line without control characters, as trailers are lines.
fn to_trailer_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect::<String>()
        .trim()
        .to_owned()
}

impl SnapshotRecord {
    pub(super) fn parents(&self) -> impl Iterator<Item = ObjectId> {
        [self.head, self.index, self.extras].into_iter().flatten()
    }

    pub(super) fn message(&self) -> String {
        let mut out = format!("watchdog snapshot of {}\n\n", to_trailer_line(&self.spec));
        out.push_str(
            "Uncommitted work, kept by watchdog. Bring it back with: watchdog rescue restore ID\n",
        );
        if !self.left_out.is_empty() {
            out.push_str("\nLeft out:\n");
            for skipped in self.left_out.iter().take(NAMED) {
                out.push_str(&format!(
                    "- {} ({})\n",
                    to_trailer_line(&skipped.path),
                    skipped.why
                ));
            }
            if self.left_out.len() > NAMED {
                out.push_str(&format!("- and {} more\n", self.left_out.len() - NAMED));
            }
        }
        out.push('\n');
        let hex = |id: Option<ObjectId>| id.map_or_else(|| "none".to_owned(), |id| id.to_string());
        for (key, value) in [
            ("Spec", to_trailer_line(&self.spec)),
            ("At", self.at.to_string()),
            ("Why", to_trailer_line(&self.why)),
            (
                "Branch",
                self.branch
                    .as_deref()
                    .map_or_else(String::new, to_trailer_line),
            ),
            ("Worktree", to_trailer_line(&self.worktree)),
            ("Head", hex(self.head)),
            ("Index", hex(self.index)),
            ("Extras", hex(self.extras)),
            ("Private", hex(self.private)),
            ("Private-Files", self.private_files.to_string()),
            ("Files", self.files.to_string()),
            ("Bytes", self.bytes.to_string()),
        ] {
            out.push_str(&format!("Watchdog-{key}: {value}\n"));
        }
        out
    }

    /// Reads a message; `None` where it is not one of ours.
    pub(super) fn parse(message: &str) -> Option<Self> {
        let trailers = message.trim_end().rsplit("\n\n").next()?;
        let value = |key: &str| {
            trailers.lines().find_map(|l| {
                l.strip_prefix("Watchdog-")?
                    .strip_prefix(key)?
                    .strip_prefix(':')
                    .map(|v| v.trim().to_owned())
            })
        };
        let id = |key: &str| value(key).and_then(|hex| hex.parse::<ObjectId>().ok());
        Some(SnapshotRecord {
            spec: value("Spec")?,
            at: value("At")?.parse().ok()?,
            why: value("Why")?,
            branch: value("Branch").filter(|b| !b.is_empty()),
            worktree: value("Worktree").unwrap_or_default(),
            head: id("Head"),
            index: id("Index"),
            extras: id("Extras"),
            private: id("Private"),
            private_files: value("Private-Files")
                .and_then(|n| n.parse().ok())
                .unwrap_or(0),
            files: value("Files")?.parse().ok()?,
            bytes: value("Bytes")?.parse().ok()?,
            left_out: Vec::new(),
        })
    }
}

/// Writes a commit in watchdog's own name: the user's identity may be missing, and is not needed.
pub(super) fn write_commit(
    blobs: &mut ObjectSink<'_>,
    tree: ObjectId,
    parents: impl IntoIterator<Item = ObjectId>,
    at: Timestamp,
    message: String,
) -> Result<ObjectId, Error> {
    let who = build_signature(at);
    if tree.is_empty_tree() {
        // Every git knows it without having it, but not `git fsck`.
        blobs.object(&gix::objs::Tree::empty())?;
    }
    blobs.object(&gix::objs::Commit {
        tree,
        parents: parents.into_iter().collect(),
        author: who.clone(),
        committer: who,
        encoding: None,
        message: message.into(),
        extra_headers: Vec::new(),
    })
}

/// The author of what watchdog commits for itself.
pub(crate) fn build_signature(at: Timestamp) -> gix::actor::Signature {
    gix::actor::Signature {
        name: "watchdog".into(),
        email: "watchdog@localhost".into(),
        time: gix::date::Time::new(at.as_second(), 0),
    }
}

/// A snapshot by its ref and its commit.
#[derive(Clone)]
pub(super) struct StoredSnapshot {
    pub name: String,
    pub commit: ObjectId,
    pub tree: ObjectId,
    pub record: SnapshotRecord,
}

impl StoredSnapshot {
    /// The ref of the private part, if there is one.
    pub(super) fn private_name(&self) -> Option<String> {
        self.record
            .private
            .map(|_| self.name.replacen(PREFIX, PRIVATE_PREFIX, 1))
    }

    pub(super) fn info(self) -> SnapshotSummary {
        SnapshotSummary {
            id: self
                .name
                .strip_prefix(PREFIX)
                .unwrap_or(&self.name)
                .to_owned(),
            name: self.name,
            commit: self.commit.to_string(),
            spec: self.record.spec,
            at: self.record.at,
            why: self.record.why,
            base: self.record.head.map(|id| id.to_string()),
            branch: self.record.branch,
            worktree: self.record.worktree,
            files: self.record.files,
            bytes: self.record.bytes,
            private_files: self.record.private_files,
        }
    }
}

/// All snapshots of a repository, oldest name first. A ref that is not ours is skipped.
pub(super) fn list_stored_snapshots(repo: &gix::Repository) -> Result<Vec<StoredSnapshot>, Error> {
    let mut snapshots = Vec::new();
    for reference in list_refs_below(repo, PREFIX)? {
        if let Some(stored) = read_stored(repo, &reference)? {
            snapshots.push(stored);
        }
    }
    Ok(snapshots)
}

/// Reads the snapshot that a ref names.
pub(super) fn read_stored(
    repo: &gix::Repository,
    reference: &gix::Reference<'_>,
) -> Result<Option<StoredSnapshot>, Error> {
    let name = path_text(reference.name().as_bstr());
    let Some(id) = reference.target().try_id().map(ToOwned::to_owned) else {
        return Ok(None);
    };
    // A ref to nothing is a snapshot that is gone; it must not hide the others, or keep a new one from being taken.
    let doing = || format!("read the snapshot {name}");
    let mut object = repo.try_find_object(id).with_context(doing)?;
    if object.is_none() && stands_as_file(repo, id).with_context(doing)? {
        object = repo.try_find_object(id).with_context(doing)?;
    }
    let Some(object) = object else {
        return Ok(None);
    };
    let Ok(commit) = object.try_into_commit() else {
        return Ok(None);
    };
    let tree = commit.tree_id().with_context(doing)?.detach();
    let record = SnapshotRecord::parse(&commit.message_raw_sloppy().to_str_lossy());
    Ok(record.map(|record| StoredSnapshot {
        name,
        commit: id,
        tree,
        record,
    }))
}

/// Whether an object has a file of its own. gix takes an object whose file it cannot stat for missing.
fn stands_as_file(repo: &gix::Repository, id: ObjectId) -> std::io::Result<bool> {
    let hex = id.to_string();
    let (folder, name) = hex.split_at(2);
    match std::fs::symlink_metadata(repo.objects.store_ref().path().join(folder).join(name)) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use watchdog_facts::evidence::LeftOutReason;

    proptest! {
        #[test]
        fn a_message_is_read_as_it_was_written(spec in "\\PC{0,20}", why in "\\PC{0,20}", files: u64, secs in 0i64..4_000_000_000, path in "\\PC{0,20}") {
            let record = SnapshotRecord {
                spec: to_trailer_line(&spec), at: Timestamp::from_second(secs).unwrap(), why: to_trailer_line(&why), branch: Some("main".into()),
                worktree: "/w".into(), head: None, index: Some(ObjectId::null(gix::hash::Kind::Sha1)), extras: None,
                private: None, private_files: 3, files, bytes: 7, left_out: vec![],
            };
            let with_left = SnapshotRecord { left_out: vec![LeftOut { path, why: LeftOutReason::Unreadable }], ..record.clone() };
            prop_assert_eq!(SnapshotRecord::parse(&with_left.message()), Some(record));
        }
    }

    #[test]
    fn a_value_cannot_forge_another_trailer() {
        let record = SnapshotRecord {
            spec: "x\nWatchdog-Files: 9".into(),
            at: Timestamp::UNIX_EPOCH,
            why: "\n\nWatchdog-Spec: y".into(),
            branch: None,
            worktree: "/w\n\nWatchdog-Spec: z".into(),
            head: None,
            index: None,
            extras: None,
            private: None,
            private_files: 0,
            files: 1,
            bytes: 2,
            left_out: vec![],
        };
        let read = SnapshotRecord::parse(&record.message()).unwrap();
        assert_eq!((read.files, read.spec.as_str()), (1, "x Watchdog-Files: 9"));
    }
}
