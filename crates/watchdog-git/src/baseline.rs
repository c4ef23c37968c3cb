//! Reads the parts of a baseline: HEAD, revisions by name, and the targets of all refs.

use gix::ObjectId;
use gix::bstr::ByteSlice;

use super::commit_text::tree_of;
use super::error::{Error, ReadContext as _};
use super::known_refs::RefTip;
use super::open::Worktree;
use super::own_refs::require_readable;
use super::verified::peel_tags;

/// A place in history: a commit, or the void before the first one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistoryPoint {
    /// The branch has no commit yet.
    Unborn,
    /// Full hexadecimal object name of a commit.
    Commit(String),
}

impl HistoryPoint {
    /// The word for [`HistoryPoint::Unborn`] on the command line, in JSON and in the store.
    pub const UNBORN: &'static str = "unborn";

    /// A commit id that no repository has: every operation that needs the unknown baseline fails.
    pub fn unknown() -> Self {
        HistoryPoint::Commit("0".repeat(40))
    }

    /// The full object name, or `unborn`.
    pub fn as_str(&self) -> &str {
        match self {
            HistoryPoint::Unborn => HistoryPoint::UNBORN,
            HistoryPoint::Commit(id) => id,
        }
    }

    /// The full object name of the commit, where it is one.
    pub fn commit(&self) -> Option<&str> {
        match self {
            HistoryPoint::Unborn => None,
            HistoryPoint::Commit(id) => Some(id),
        }
    }

    /// The same, as a value of its own.
    pub fn to_commit(&self) -> Option<String> {
        self.commit().map(str::to_owned)
    }
}

/// No commit is the void before the first one.
impl From<Option<String>> for HistoryPoint {
    fn from(commit: Option<String>) -> Self {
        commit.map_or(HistoryPoint::Unborn, HistoryPoint::Commit)
    }
}

impl std::fmt::Display for HistoryPoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Our own refs: snapshots of work. They are no evidence of where a commit came from.
const OWN_REFS: &str = "refs/watchdog/";

/// The folder of branches.
pub(super) const HEADS: &str = "refs/heads/";

impl Worktree {
    /// The commit of HEAD. Reads refs only, and not the commit itself.
    ///
    /// # Errors
    /// [`Error::Read`] where HEAD or its branch is damaged.
    pub fn head(&self) -> Result<HistoryPoint, Error> {
        Ok(self.head_id()?.map(|id| id.to_string()).into())
    }

    /// The commit of a point, which must be here; `None` for the void before the first commit.
    pub(super) fn commit_of(&self, point: &HistoryPoint) -> Result<Option<ObjectId>, Error> {
        match point {
            HistoryPoint::Unborn => Ok(None),
            HistoryPoint::Commit(hex) => {
                let unknown = || Error::UnknownRevision { rev: hex.clone() };
                let id = hex.parse::<ObjectId>().map_err(|_| unknown())?;
                if self.has_object(id) {
                    Ok(Some(id))
                } else {
                    Err(unknown())
                }
            }
        }
    }

    /// Like [`Worktree::head`], as an object id.
    pub(super) fn head_id(&self) -> Result<Option<ObjectId>, Error> {
        match self.retry_if_refs_moved(|| self.head_id_now())? {
            // A branch may look unborn while git packs its ref.
            None => {
                self.forget_packed_refs();
                self.retry_if_refs_moved(|| self.head_id_now())
            }
            found => Ok(found),
        }
    }

    /// The tree of HEAD; the empty tree on an unborn branch.
    pub(super) fn head_tree(&self) -> Result<ObjectId, Error> {
        let head = self.head_id()?;
        self.retry_while_packing(|| tree_of(&self.repo, head))
    }

    fn head_id_now(&self) -> Result<Option<ObjectId>, Error> {
        self.refresh()?;
        let doing = || format!("read HEAD of {}", self.root().display());
        let head = self.repo.head().with_context(doing)?;
        if head.is_unborn() {
            return Ok(None);
        }
        if let Some(id) = head.id() {
            return Ok(Some(id.detach()));
        }
        // A branch that is itself a symbolic ref: follow it to its end.
        match head.try_into_referent() {
            Some(mut branch) => Ok(Some(
                branch.follow_to_object().with_context(doing)?.detach(),
            )),
            None => Err(Error::read_failure(
                doing(),
                "it names neither a branch nor a commit",
            )),
        }
    }

    /// The commit that a revision names, tags peeled; `unborn` is the void before the first commit.
    ///
    /// # Errors
    /// [`Error::UnknownRevision`] where it names nothing here, [`Error::Read`] where it names another
    /// kind of object, or one that is missing.
    pub fn resolve(&self, rev: &str) -> Result<HistoryPoint, Error> {
        self.retry_while_packing(|| self.resolve_now(rev))
    }

    fn resolve_now(&self, rev: &str) -> Result<HistoryPoint, Error> {
        if rev == HistoryPoint::UNBORN {
            return Ok(HistoryPoint::Unborn);
        }
        let unknown = || Error::UnknownRevision {
            rev: rev.to_string(),
        };
        self.refresh()?;
        if rev.contains("@{") {
            self.read_logs()?;
        }
        let id = self
            .repo
            .rev_parse_single(rev)
            .map_err(|_| unknown())?
            .detach();
        let doing = || format!("take '{rev}' as a baseline");
        let object = match self.repo.try_find_object(id).with_context(doing)? {
            Some(object) => object,
            // A name that was typed in full says nothing about being here; a ref to a missing object is damage.
            None if rev.len() == id.kind().len_in_hex()
                && rev.eq_ignore_ascii_case(&id.to_hex().to_string()) =>
            {
                return Err(unknown());
            }
            None => {
                return Err(Error::read_failure(
                    doing(),
                    format!("object {id} is missing"),
                ));
            }
        };
        let end = peel_tags(&self.repo, object.id)
            .ok_or_else(|| Error::read_failure(doing(), "its tag leads to no object"))?;
        if end.kind != gix::object::Kind::Commit {
            return Err(Error::read_failure(
                doing(),
                format!("it names a {}, not a commit", end.kind),
            ));
        }
        Ok(HistoryPoint::Commit(end.id.to_hex().to_string()))
    }

    /// All refs with the objects they name, sorted by name, our own snapshots left out, and HEAD of each worktree of the repository, as git
    /// names it from another one (`main-worktree/HEAD`, `worktrees/<name>/HEAD`), and the older entries of the stash. Recorded with a baseline, they prove later which commits,
    /// branches and worktrees were already there. Tags are not peeled; a HEAD without a commit has a name of zeros.
    ///
    /// # Errors
    /// [`Error::Read`] where the refs cannot be listed. A single damaged ref is left out: it proves nothing.
    pub fn ref_tips(&self) -> Result<Vec<RefTip>, Error> {
        let mut tips = self.ref_tips_below("refs/")?;
        let heads = self.heads_of_worktrees(&tips)?;
        tips.extend(heads);
        tips.extend(self.older_stashes(&tips)?);
        tips.sort();
        Ok(tips)
    }

    /// The refs in a folder, without HEADs, each of which is a file of its own, and without the older entries of the stash.
    pub(super) fn ref_tips_below(&self, folder: &str) -> Result<Vec<RefTip>, Error> {
        // A ref may look damaged while git packs it; the next read finds it.
        self.retry_if_refs_moved(|| self.ref_tips_now(folder, true))
            .or_else(|_| self.retry_if_refs_moved(|| self.ref_tips_now(folder, false)))
    }

    fn ref_tips_now(&self, folder: &str, every: bool) -> Result<Vec<RefTip>, Error> {
        self.refresh()?;
        let doing = || format!("list the refs of {}", self.common_dir().display());
        require_readable(&self.repo, "refs")?;
        let refs = self.repo.references().with_context(doing)?;
        let mut tips = Vec::new();
        // By prefix, a damaged line of the packed refs can hide others.
        let refs = match folder {
            HEADS => refs.prefixed(folder),
            _ => refs.all(),
        };
        for reference in refs.with_context(doing)? {
            let reference = match reference {
                Ok(reference) => reference,
                Err(error) if every => {
                    return Err(Error::read_failure(doing(), error.to_string()));
                }
                Err(_) => continue,
            };
            let name = reference.name().as_bstr().to_str_lossy().into_owned();
            if name.starts_with(OWN_REFS) || !name.starts_with(folder) {
                continue;
            }
            // A name of zeros is no object: git calls such a ref broken.
            if let Some(id) = reference.target().try_id().filter(|id| !id.is_null()) {
                tips.push((name, id.to_hex().to_string()));
            }
        }
        tips.sort();
        tips.dedup();
        Ok(tips)
    }
}
