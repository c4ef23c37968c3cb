//! Commits as they are kept: marks without files whose message is all they hold, and which commit leads to which.

use gix::ObjectId;
use gix::objs::{Commit, Find as _, Kind, Tree};
use jiff::Timestamp;

use super::error::{Error, ReadContext as _};
use super::open::Worktree;
use super::shared_modes::SharedModes;
use super::snapshot::build_signature;
use super::verified::VerifyingObjectReader;

impl Worktree {
    /// Writes a commit without files, in watchdog's own name. No ref names it.
    ///
    /// # Errors
    /// When the repository takes no object.
    pub fn write_empty_commit(
        &self,
        message: &str,
        parents: &[ObjectId],
        at: Timestamp,
    ) -> Result<String, Error> {
        let doing = "write a commit without files";
        let who = build_signature(at);
        // Every git knows this tree without having it, but not `git fsck`.
        let tree = self
            .repo
            .write_object(Tree::empty())
            .context(doing)?
            .detach();
        let commit = Commit {
            tree,
            parents: parents.iter().copied().collect(),
            author: who.clone(),
            committer: who,
            encoding: None,
            message: message.into(),
            extra_headers: Vec::new(),
        };
        let id = self.repo.write_object(&commit).context(doing)?;
        for written in [tree, id.detach()] {
            SharedModes::for_repository(&self.repo).adjust_object(&self.repo, written);
        }
        Ok(id.detach().to_hex().to_string())
    }

    /// A commit as git keeps it, where it is here and has no files: its bytes match its name. The outer `None` = it is not here; the
    /// inner one = it is another object, or has files.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn empty_commit_text(&self, commit: &str) -> Result<Option<Option<String>>, Error> {
        let doing = || format!("read commit {commit}");
        let id = commit.parse::<ObjectId>().with_context(doing)?;
        let mut buffer = Vec::new();
        let read = VerifyingObjectReader(&self.repo.objects)
            .try_find(&id, &mut buffer)
            .with_context(doing)?;
        let Some(object) = read else { return Ok(None) };
        let tree = format!("tree {}\n", ObjectId::empty_tree(self.repo.object_hash()));
        let is_empty = object.kind == Kind::Commit && object.data.starts_with(tree.as_bytes());
        Ok(Some(is_empty.then(|| {
            String::from_utf8_lossy(object.data).into_owned()
        })))
    }

    /// The commit of a hexadecimal name.
    pub(crate) fn find_commit<S: Into<String>>(
        &self,
        hex: &str,
        doing: impl Fn() -> S,
    ) -> Result<gix::Commit<'_>, Error> {
        let id = hex.parse::<ObjectId>().with_context(&doing)?;
        self.repo.find_commit(id).with_context(doing)
    }

    /// Whether `old` is `new`, or one of its ancestors. `false` also where one of them cannot be read.
    pub fn is_ancestor(&self, old: &str, new: &str) -> bool {
        let id = |commit: &str| commit.parse::<ObjectId>().ok();
        let (Some(old), Some(new)) = (id(old), id(new)) else {
            return false;
        };
        self.is_ancestor_of(old, new).unwrap_or(false)
    }
}

/// The trees before a commit, which is that of its first parent, and with it.
pub(crate) fn trees_around(
    repo: &gix::Repository,
    commit: &gix::Commit<'_>,
) -> Result<(ObjectId, ObjectId), Error> {
    let parent = commit.parent_ids().next().map(gix::Id::detach);
    Ok((tree_of(repo, parent)?, tree_of(repo, commit.id)?))
}

/// The tree of a commit; the empty one for the void before the first commit.
pub(crate) fn tree_of(
    repo: &gix::Repository,
    commit: impl Into<Option<ObjectId>>,
) -> Result<ObjectId, Error> {
    let Some(id) = commit.into() else {
        return Ok(ObjectId::empty_tree(repo.object_hash()));
    };
    let commit = repo.find_commit(id);
    let tree = commit.and_then(|commit| Ok(commit.tree_id()?.detach()));
    tree.with_context(|| format!("read the tree of {id}"))
}
