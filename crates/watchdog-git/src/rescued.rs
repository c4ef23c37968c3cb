//! Finds which commits a rescue made: by the names that the store has, and after a rewrite by their change, by author and author date, or
//! by the snapshot that their message names. A match only ever takes credit away.

use std::collections::HashSet;

use gix::ObjectId;
use gix::bstr::ByteSlice;
use sha2::{Digest, Sha256};

use super::error::{Error, ReadContext as _};
use super::open::Worktree;
use super::origin_evidence::{OriginEvidence, RescuedCommit};
use super::patch::PatchIds;
use super::snapshot::find_named_snapshot;
use super::walk::{CommitHistory, HistoryIndex};
use watchdog_facts::display::to_hex;

/// How many bytes of files are read to name changes.
const MAX_BYTES: u64 = 64 << 20;

impl Worktree {
    /// The record of commits that a rescue made, for a store, so that they are recognized later.
    ///
    /// # Errors
    /// [`Error::Read`] where a commit cannot be read.
    pub fn describe_rescued(&self, ids: &[String]) -> Result<Vec<RescuedCommit>, Error> {
        let mut history = CommitHistory::new(self)?;
        let mut patches = PatchIds::new(&self.repo, MAX_BYTES);
        let mut described = Vec::with_capacity(ids.len());
        for hex in ids {
            let id = hex
                .parse::<ObjectId>()
                .with_context(|| format!("read commit {hex}"))?;
            let node = history.node(id);
            let patch = patch_of(&mut history, &mut patches, node)?;
            described.push(RescuedCommit {
                id: hex.clone(),
                patch,
                authored: CommitAuthorship::read_commit(self, id)?.authored,
            });
        }
        Ok(described)
    }
}

/// Those of `candidates` that a rescue made. `amended` are commits that HEAD's reflog shows being amended here: they count as the session's
/// own work if they no longer contain exactly the change of the rescue's commit.
pub(super) fn find_rescued(
    worktree: &Worktree,
    history: &mut CommitHistory<'_>,
    candidates: &HashSet<HistoryIndex>,
    amended: &HashSet<HistoryIndex>,
    evidence: &OriginEvidence,
) -> Result<HashSet<HistoryIndex>, Error> {
    if candidates.is_empty() {
        return Ok(HashSet::new());
    }
    let recorded = evidence.read_rescued_commits()?;
    let ids: HashSet<&str> = recorded.iter().map(|commit| commit.id.as_str()).collect();
    let authored: HashSet<&str> = recorded
        .iter()
        .map(|commit| commit.authored.as_str())
        .collect();
    let changes: HashSet<&str> = recorded
        .iter()
        .filter_map(|commit| commit.patch.as_deref())
        .collect();
    let mut patches = PatchIds::new(&worktree.repo, MAX_BYTES);
    let mut rescued = HashSet::new();
    for &node in candidates {
        let id = history.id(node);
        if ids.contains(id.to_hex().to_string().as_str()) {
            rescued.insert(node);
            continue;
        }
        let message = CommitAuthorship::read_commit(worktree, id)?;
        let same = (message.names_a_snapshot || authored.contains(message.authored.as_str()))
            && !amended.contains(&node);
        let same = same
            || !changes.is_empty()
                && patch_of(history, &mut patches, node)?
                    .is_some_and(|patch| changes.contains(patch.as_str()));
        if same {
            rescued.insert(node);
        }
    }
    Ok(rescued)
}

/// The patch id of a commit's change; `None` where there is none, or it is too large.
pub(super) fn patch_of(
    history: &mut CommitHistory<'_>,
    patches: &mut PatchIds<'_>,
    node: HistoryIndex,
) -> Result<Option<String>, Error> {
    let after = history.tree(node)?;
    let before = history.parent_tree(node)?;
    if before == after {
        return Ok(None);
    }
    Ok(patches.name(before, after)?.map(|patch| to_hex(&patch)))
}

/// The facts in a commit's own text.
pub(super) struct CommitAuthorship {
    /// A name of author, author date and subject.
    pub authored: String,
    names_a_snapshot: bool,
}

impl CommitAuthorship {
    pub(super) fn read_commit(worktree: &Worktree, id: ObjectId) -> Result<Self, Error> {
        let doing = || format!("read commit {id}");
        let commit = worktree.repo.find_commit(id).with_context(doing)?;
        let parsed = commit.decode().with_context(doing)?;
        let subject = parsed
            .message
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default();
        let mut hash = Sha256::new();
        for part in [parsed.author.trim_ascii(), subject.trim()] {
            hash.update(part);
            hash.update([0]);
        }
        let named = find_named_snapshot(&parsed.message.to_str_lossy()).map(str::to_owned);
        let names_a_snapshot = named.is_some_and(|named| {
            named.starts_with("refs/watchdog/rescue/") || named.parse::<ObjectId>().is_ok()
        });
        Ok(CommitAuthorship {
            authored: to_hex(&hash.finalize()[..16]),
            names_a_snapshot,
        })
    }
}
