//! Every ref that watchdog keeps in a repository: its kind, the commits that it alone keeps, and the removal of all refs.
//!
//! Only watchdog writes below `refs/watchdog/`, and removing a ref requires the worktree's lock. A loose ref is therefore unlinked
//! without a lock of git's, so that a kill leaves no lock that would block the next try; packed refs are git's to remove.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use gix::ObjectId;

use super::error::{Error, ReadContext as _};
use super::open::Worktree;
use super::reftable::{GitProcessOutput, get_git_server};
use super::verified::peel_tags;
use watchdog_system::is_missing;

/// The messages of the empty commits that keep others, which are their parents.
pub(super) const STASH_KEEPER: &str = "watchdog: entries of the stash";
pub(super) const BRANCH_KEEPER: &str = "watchdog: branches before a session";
pub(super) const KEEPERS: [&str; 2] = [STASH_KEEPER, BRANCH_KEEPER];

/// Prefix of all of them.
pub(super) const PREFIX: &str = "refs/watchdog/";

/// How long another git may hold the lock of the packed refs.
const PATIENCE: Duration = Duration::from_secs(3);

/// The purpose of a ref of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OwnRefKind {
    /// The baseline of a spec.
    Baseline,
    /// The commit that guards compare with.
    Anchor,
    /// A judged head.
    JudgedHead,
    /// A snapshot of uncommitted work.
    Snapshot,
    /// Secrets and over-size files of a snapshot.
    PrivatePart,
    /// Of a kind that this program does not know.
    Unknown,
}

impl OwnRefKind {
    fn from_folder(folder: &str) -> Self {
        match folder {
            "baseline" => OwnRefKind::Baseline,
            "anchor" => OwnRefKind::Anchor,
            "judged" => OwnRefKind::JudgedHead,
            "rescue" => OwnRefKind::Snapshot,
            "private" => OwnRefKind::PrivatePart,
            _ => OwnRefKind::Unknown,
        }
    }
}

/// A ref below `refs/watchdog/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnRef {
    /// Its whole name.
    pub name: String,
    /// Its purpose.
    pub kind: OwnRefKind,
    /// The worktree that it was written for; `None` where its name has none.
    pub worktree_id: Option<String>,
    /// The object that it names, hexadecimal.
    pub object: String,
}

/// Refuses where the folder of these refs, or the file of the packed ones, cannot be read: gix takes one that it cannot look into for
/// one that is not there. Returns whether the folder has entries.
pub(crate) fn require_readable(repo: &gix::Repository, prefix: &str) -> Result<bool, Error> {
    let folder = repo.common_dir().join(prefix.trim_end_matches('/'));
    let packed = repo.common_dir().join("packed-refs");
    let entries = fs::metadata(&folder)
        .and_then(|_| fs::read_dir(&folder)?.collect::<std::io::Result<Vec<_>>>())
        .map(|entries| !entries.is_empty());
    match (entries, fs::metadata(&packed)) {
        (Err(error), _) | (_, Err(error)) if !is_missing(&error) => Err(Error::read_failure(
            format!("list the refs in {}", folder.display()),
            error.to_string(),
        )),
        (has_entries, _) => Ok(has_entries.unwrap_or(false)),
    }
}

/// The refs below a prefix, by name. Both places are looked into before and after, and a list without any is read twice.
pub(crate) fn list_refs_below<'repo>(
    repo: &'repo gix::Repository,
    prefix: &str,
) -> Result<Vec<gix::Reference<'repo>>, Error> {
    let doing = || format!("list the refs below {prefix}");
    let list = || {
        let platform = repo.references().with_context(doing)?;
        platform
            .prefixed(prefix)
            .with_context(doing)?
            .map(|reference| reference.with_context(doing))
            .collect::<Result<Vec<_>, Error>>()
    };
    let has_entries = require_readable(repo, prefix)?;
    let mut refs = list()?;
    if refs.is_empty() && has_entries {
        refs = list()?;
    }
    require_readable(repo, prefix)?;
    Ok(refs)
}

impl Worktree {
    /// Every ref that watchdog keeps in this repository, sorted by name.
    ///
    /// # Errors
    /// When the refs cannot be listed.
    pub fn own_refs(&self) -> Result<Vec<OwnRef>, Error> {
        self.retry_if_refs_moved(|| self.own_refs_now())
    }

    fn own_refs_now(&self) -> Result<Vec<OwnRef>, Error> {
        self.refresh()?;
        let mut refs = Vec::new();
        for (name, id) in self.refs_below(PREFIX)? {
            let mut parts = name[PREFIX.len()..].split('/');
            let kind = OwnRefKind::from_folder(parts.next().unwrap_or_default());
            let by_worktree = matches!(
                kind,
                OwnRefKind::Baseline | OwnRefKind::Anchor | OwnRefKind::JudgedHead
            );
            let worktree_id = parts.next().filter(|_| by_worktree).map(str::to_owned);
            refs.push(OwnRef {
                name,
                kind,
                worktree_id,
                object: id.to_string(),
            });
        }
        refs.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(refs)
    }

    /// The names of those among `refs` whose commits no other ref and no HEAD of a worktree reaches: without them git may collect these.
    /// Of several with the same commit one is named, that of a judged head first.
    ///
    /// # Errors
    /// When refs or commits cannot be read. An object that is not there keeps nothing.
    pub fn sole_keepers(&self, refs: &[&OwnRef]) -> Result<HashSet<String>, Error> {
        let mut keepers: HashMap<ObjectId, &OwnRef> = HashMap::new();
        for own in refs {
            let Ok(id) = own.object_id() else { continue };
            let mut ids = vec![id];
            if KEEPERS.contains(&self.stash_message(&own.object).as_str()) {
                let commit = self.repo.find_commit(id);
                ids = commit.map_or(ids, |commit| {
                    commit.parent_ids().map(gix::Id::detach).collect()
                });
            }
            for id in ids {
                let keeper = keepers.entry(id).or_insert(own);
                *keeper = if own.kind > keeper.kind { own } else { keeper };
            }
        }
        let unreached = self.find_unreached(keepers.keys().copied(), &[])?;
        Ok(unreached
            .iter()
            .map(|id| keepers[id].name.clone())
            .collect())
    }

    /// Those of these commits that no ref but ours and no HEAD of a worktree reaches, those named `without` aside.
    pub(super) fn find_unreached(
        &self,
        commits: impl Iterator<Item = ObjectId>,
        without: &[&str],
    ) -> Result<Vec<ObjectId>, Error> {
        let doing = "look for commits that only watchdog keeps";
        let commits: HashSet<ObjectId> = commits.filter(|id| self.has_object(*id)).collect();
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let peeled = |hex: &str| {
            let id = hex.parse::<ObjectId>().ok()?;
            Some(peel_tags(&self.repo, id)?.try_into_commit().ok()?.id)
        };
        let mut hidden: Vec<ObjectId> = self
            .ref_tips()?
            .iter()
            .filter(|(name, _)| !without.contains(&name.as_str()))
            .filter_map(|(_, hex)| peeled(hex))
            .collect();
        hidden.sort();
        hidden.dedup();
        let beyond = |tips: &mut dyn Iterator<Item = ObjectId>| {
            self.repo
                .rev_walk(tips)
                .with_hidden(hidden.iter().copied())
                .all()
                .context(doing)
        };
        let mut candidates: Vec<&ObjectId> = Vec::new();
        for commit in beyond(&mut commits.iter().copied())? {
            let id = commit.context(doing)?.id;
            candidates.extend(commits.get(&id));
        }
        let mut unreached = Vec::new();
        for id in candidates {
            // Of several tips with ancestors among them, made in the same second, the walk may pass one that a branch reaches.
            let first = beyond(&mut [*id].into_iter())?
                .next()
                .transpose()
                .context(doing)?;
            unreached.extend(first.map(|_| *id));
        }
        Ok(unreached)
    }

    /// Removes refs of ours with their logs and the folders that become empty. Skips a ref that moved meanwhile, or is gone.
    ///
    /// # Errors
    /// When a ref cannot be removed; those before it are gone then, and a second call removes the rest.
    pub fn remove_own_refs(&self, refs: &[&OwnRef]) -> Result<(), Error> {
        let named = refs
            .iter()
            .map(|own| Ok((own.name.clone(), own.object_id()?)));
        self.drop_refs(&named.collect::<Result<Vec<_>, Error>>()?)
    }

    /// The same, by names and objects.
    pub(crate) fn drop_refs(&self, refs: &[(String, ObjectId)]) -> Result<(), Error> {
        self.refresh()?;
        if let Some(served) = &self.served {
            return refs
                .iter()
                .try_for_each(|(name, id)| served.delete(name, *id));
        }
        self.drop_packed(refs)?;
        for (name, id) in refs {
            self.drop_loose(name, *id)?;
        }
        self.refresh()
    }

    /// Has git remove those that are packed and still name these objects: where this process is killed, git goes on, and no lock of the
    /// packed refs stays behind. It never waits for that lock: what it read would be old, and the lock of the worktree gone.
    fn drop_packed(&self, refs: &[(String, ObjectId)]) -> Result<(), Error> {
        let doing = || format!("remove the packed refs below {PREFIX}");
        let begun = Instant::now();
        loop {
            let packed = (self.repo.refs.cached_packed_buffer()).with_context(doing)?;
            let Some(packed) = packed else { return Ok(()) };
            let mut lines = String::new();
            for (name, id) in refs {
                let packed_ref = packed.try_find(name.as_str());
                let is_packed = packed_ref.with_context(doing)?;
                if is_packed.is_some() && self.named_commit(name) == Some(*id) {
                    // A killed watchdog left it: this process holds the worktree's lock.
                    let _ = fs::remove_file(self.common_dir().join(format!("{name}.lock")));
                    lines += &format!("delete {name} {id}\n");
                }
            }
            drop(packed);
            if lines.is_empty() {
                return Ok(());
            }
            let args = ["update-ref", "--no-deref", "--stdin"];
            let failed = |why: String| Error::read_failure(doing(), why.trim().to_owned());
            let output =
                run_git_on_refs(self.common_dir(), &args, lines.as_bytes()).map_err(failed)?;
            if output.code == Some(0) {
                return Ok(());
            }
            // Another git packs, or another watchdog removed some of them.
            if begun.elapsed() >= PATIENCE {
                return Err(failed(output.stderr));
            }
            sleep(Duration::from_millis(50));
            self.refresh()?;
        }
    }

    fn drop_loose(&self, name: &str, id: ObjectId) -> Result<(), Error> {
        let doing = || format!("remove {name}");
        let top = self.common_dir();
        let (path, log) = (top.join(name), top.join("logs").join(name));
        match fs::read(&path) {
            Ok(text) if text.trim_ascii() != id.to_string().as_bytes() => return Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Error::read_error(doing(), error));
            }
            _ => {}
        }
        for file in [&path, &log] {
            match fs::remove_file(file) {
                Err(error) if !is_missing(&error) => {
                    return Err(Error::read_error(doing(), error));
                }
                _ => {}
            }
        }
        remove_empty_folders(&top.join("refs"), &path);
        remove_empty_folders(&top.join("logs/refs"), &log);
        Ok(())
    }
}

/// Runs git in a git directory to change packed refs, unless another program holds their lock; no hook hears of it. A submodule's work tree,
/// which its configuration names, may be gone.
pub(super) fn run_git_on_refs(
    git_dir: &Path,
    args: &[&str],
    stdin: &[u8],
) -> Result<GitProcessOutput, String> {
    let server = get_git_server().ok_or("there is no git to ask")?;
    let fixed = [
        "--git-dir=.",
        "--work-tree=.",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.packedRefsTimeout=0",
    ];
    server.git.run(git_dir, &[&fixed[..], args].concat(), stdin)
}

impl OwnRef {
    fn object_id(&self) -> Result<ObjectId, Error> {
        self.object
            .parse::<ObjectId>()
            .with_context(|| format!("remove {}", self.name))
    }
}

/// Removes the folders that are empty now, up to `top`, which stays.
fn remove_empty_folders(top: &Path, path: &Path) {
    let mut folder = path.parent();
    // A folder that is not empty, or was filled again, ends it.
    while let Some(empty) = folder.filter(|folder| {
        *folder != top && folder.starts_with(top) && fs::remove_dir(folder).is_ok()
    }) {
        folder = empty.parent();
    }
}
