//! Keeps the commits of submodules in refs of their own repositories: a bump, `git submodule update` and `deinit` leave them to garbage
//! collection.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::index::entry::Mode;
use jiff::Timestamp;

use super::commit_text::tree_of;
use super::error::{Error, ReadContext as _};
use super::judged_ref::KEPT_FOR_ANOTHER;
use super::open::Worktree;
use super::origin_evidence::OriginEvidence;
use super::own_refs::{KEEPERS, OwnRef, OwnRefKind, STASH_KEEPER};
use super::path_text::escape_path;
use super::ref_owner::MAIN_HEAD;
use super::rescued::CommitAuthorship;
use super::worktrees::{ListedWorktree, git_dirs, list_worktrees};

/// More folders are not looked through for the repositories of submodules.
const MAX_FOLDERS: usize = 1_000;

/// More repositories around a submodule are not looked at.
const MAX_OUTER: usize = 8;

/// More branches of one submodule are not kept.
const MAX_BRANCHES: usize = 32;

/// A commit that no ref of its repository but ours reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftCommit {
    /// Its branch, or the submodule with its path, percent-escaped where not UTF-8, or its name where it has no folder.
    pub origin: String,
    /// The folder of its worktree, where that is there.
    pub folder: Option<PathBuf>,
    /// Its repository.
    pub git_dir: PathBuf,
    /// Full hexadecimal object name.
    pub id: String,
}

impl Worktree {
    /// Keeps HEAD and the branches of each submodule of this worktree. With the evidence of a baseline it also keeps
    /// the commits that were left since, and returns only those that no other commit took the place of; without, all that are left,
    /// and the entries of their stashes, which it keeps.
    /// The second list has the submodules that cannot be read or written.
    pub fn keep_submodule_commits(
        &self,
        since: Option<&OriginEvidence>,
        at: Timestamp,
    ) -> (Vec<LeftCommit>, Vec<Error>) {
        let (mut left_commits, mut failures) = (Vec::new(), Vec::new());
        for (git_dir, name) in self.submodule_git_dirs() {
            let commits = Worktree::open_git_dir(&git_dir).and_then(|submodule| {
                let folder = submodule.find_folder();
                let ids = submodule.keep_own_commits((since, folder.is_some()), at)?;
                Ok((ids, folder))
            });
            match commits {
                Ok((ids, folder)) => left_commits.extend(ids.into_iter().map(|id| LeftCommit {
                    origin: format!("submodule {name}"),
                    folder: folder.clone(),
                    git_dir: git_dir.clone(),
                    id: id.to_hex().to_string(),
                })),
                Err(error) => failures.push(error),
            }
        }
        (left_commits, failures)
    }

    /// The worktrees that a session in this one can disturb: those of its repository, and those of the repositories that have it as a
    /// submodule.
    pub fn list_neighbours(&self) -> Vec<ListedWorktree> {
        let mut neighbours = list_worktrees(&self.common_dir);
        let (mut root, mut git_dir) = (self.root.clone(), self.git_dir.clone());
        for _ in 0..MAX_OUTER {
            let outer = root.parent().and_then(|folder| Worktree::open(folder).ok());
            let has_it = |outer: &Worktree| outer.submodule_git_dirs().contains_key(&git_dir);
            let Some(outer) = outer.filter(has_it) else {
                break;
            };
            neighbours.extend(list_worktrees(&outer.common_dir));
            (root, git_dir) = (outer.root, outer.git_dir);
        }
        neighbours
    }

    /// The heads of the repositories of the submodules: by the folder of the repository, its name and each commit with its subject.
    pub fn list_submodule_heads(&self) -> BTreeMap<String, (String, Vec<String>)> {
        let repositories = self.submodule_git_dirs().into_iter();
        let with_heads = repositories.filter_map(|(git_dir, name)| {
            let submodule = Worktree::open_git_dir(&git_dir);
            let tips = submodule.and_then(|submodule| {
                let tips = submodule.list_heads()?;
                let describe = |tip: &ObjectId| {
                    let subject = submodule.stash_message(&tip.to_hex().to_string());
                    format!("{} {subject}", tip.to_hex_with_len(12))
                };
                Ok(tips.iter().map(describe).collect())
            });
            // A broken repository still has a name that can vanish.
            let folder = git_dir.to_str()?.to_owned();
            Some((folder, (name, tips.unwrap_or_default())))
        });
        with_heads.collect()
    }

    /// Whether a recorded repository of a submodule is gone, where git did not take it to its place beneath the outer one: no other
    /// has its heads.
    pub fn is_submodule_gone(dot_git: &Path, heads: &[String]) -> bool {
        let Ok((git_dir, _)) = git_dirs(dot_git) else {
            return true;
        };
        let has_head = |there: &Worktree, head: &String| {
            let id = head.split(' ').next().unwrap_or_default();
            there.repo.rev_parse_single(id).is_ok()
        };
        match Worktree::open_git_dir(&git_dir) {
            Ok(there) => !heads.iter().all(|head| has_head(&there, head)),
            // Settings that git refuses remove no commit.
            Err(_) => !git_dir.join("HEAD").exists(),
        }
    }

    /// HEAD and the first branches, each commit once.
    fn list_heads(&self) -> Result<Vec<ObjectId>, Error> {
        let mut tips: Vec<ObjectId> = self.head_id()?.into_iter().collect();
        let listing_error = |e| Error::read_error(self.listing_branches(), e);
        let platform = (self.repo.references()).with_context(|| self.listing_branches())?;
        let branches = platform.local_branches().map_err(listing_error)?;
        for branch in branches.flatten().take(MAX_BRANCHES) {
            let tip = branch.target().try_id().map(|id| id.to_owned());
            tips.extend(tip.filter(|tip| !tips.contains(tip)));
        }
        Ok(tips)
    }

    /// The repositories of the submodules, each with its path or name: those that git keeps for this worktree, checked out or not, and those
    /// in their own folders. Without any of them this costs two looks at names.
    pub(super) fn submodule_git_dirs(&self) -> BTreeMap<PathBuf, String> {
        let mut repositories = BTreeMap::new();
        let top = self.git_dir.join("modules");
        let mut open = vec![top.clone()];
        let index = (self.root.join(".gitmodules").exists())
            .then(|| self.index().ok())
            .flatten();
        for index in index.iter() {
            let gitlinks = index
                .entries()
                .iter()
                .filter(|entry| entry.mode == Mode::COMMIT);
            for path in gitlinks.map(|entry| entry.path(index)) {
                let folder = self
                    .root
                    .join(gix::path::from_bstr(path).unwrap_or_default());
                if let Ok((git_dir, _)) = git_dirs(&folder.join(".git")) {
                    open.push(git_dir.join("modules"));
                    repositories.insert(git_dir, escape_path(path));
                }
            }
        }
        for _ in 0..MAX_FOLDERS {
            let Some(folder) = open.pop() else { break };
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    continue;
                }
                if path.join("HEAD").is_file() && path.join("objects").is_dir() {
                    open.push(path.join("modules"));
                    let name = path.strip_prefix(&top).unwrap_or(&path).as_os_str();
                    let name = escape_path(name.as_bytes()).replace("/modules/", "/");
                    repositories.entry(path).or_insert(name);
                } else {
                    open.push(path);
                }
            }
        }
        repositories
    }

    /// The folder of a submodule, where it is checked out.
    pub(super) fn find_folder(&self) -> Option<PathBuf> {
        let named = self.repo.config_snapshot().string("core.worktree");
        let folder = match named {
            Some(path) => self.git_dir.join(gix::path::from_bstr(path).ok()?),
            None => self.git_dir.parent()?.to_owned(),
        };
        (folder.join(".git").exists()).then(|| fs::canonicalize(folder).ok())?
    }

    /// Counts the refs that this repository keeps in its submodules, and removes them where `removes` says so; the second figure counts those
    /// that stay, because nothing else reaches their commits and `with_sole` is not set. A broken submodule keeps its refs.
    pub fn forget_in_submodules(&self, with_sole: bool, removes: bool) -> (u64, u64) {
        let (mut gone, mut staying) = (0, 0);
        for git_dir in self.submodule_git_dirs().into_keys() {
            let forget = || -> Result<(u64, u64), Error> {
                let submodule = Worktree::open_git_dir(&git_dir)?;
                let mut refs = submodule.own_refs()?;
                refs.retain(|own| own.name.contains(&format!("/{KEPT_FOR_ANOTHER}/")));
                let mut refs: Vec<&OwnRef> = refs.iter().collect();
                let all = refs.len() as u64;
                if !with_sole {
                    let sole = submodule.sole_keepers(&refs)?;
                    refs.retain(|own| !sole.contains(&own.name));
                }
                if removes {
                    submodule.remove_own_refs(&refs)?;
                }
                let removed = refs.len() as u64;
                Ok((removed, all - removed))
            };
            let (removed, unremoved) = forget().unwrap_or_default();
            gone += removed;
            staying += unremoved;
        }
        (gone, staying)
    }

    /// Does the work of [`Worktree::keep_submodule_commits`] in a submodule.
    fn keep_own_commits(
        &self,
        (since, is_checked_out): (Option<&OriginEvidence>, bool),
        at: Timestamp,
    ) -> Result<Vec<ObjectId>, Error> {
        let tips = self.list_heads()?;
        let by_reflog = self.left_commits()?;
        let stashes = match since {
            Some(_) => Vec::new(),
            None => self.stash_commits()?,
        };
        self.keep_commits_as((KEPT_FOR_ANOTHER, STASH_KEEPER), &stashes, at)?;
        let own_refs = self.own_refs()?;
        let judged_heads = (own_refs.iter())
            .filter(|own| own.kind == OwnRefKind::JudgedHead)
            .filter(|own| !KEEPERS.contains(&self.stash_message(&own.object).as_str()))
            .filter_map(|own| own.object.parse::<ObjectId>().ok());
        let candidates = by_reflog.iter().map(|(id, _)| *id).chain(judged_heads);
        // The next checkout moves HEAD of a submodule without a folder.
        let moving_head = Some(MAIN_HEAD).filter(|_| !is_checked_out);
        let candidates = candidates.chain(tips.iter().copied());
        let mut left_commits = self.find_unreached(candidates, moving_head.as_slice())?;
        if let Some(edge) = since.map(|evidence| evidence.edge.as_deref()) {
            // Without a record each may be older than the session.
            let Some(edge) = edge.filter(|edge| edge.at.is_some()) else {
                return Ok(Vec::new());
            };
            left_commits.retain(|id| !edge.left_behind.contains(&id.to_hex().to_string()));
            for id in &left_commits {
                self.keep_judged(KEPT_FOR_ANOTHER, &id.to_hex().to_string(), at)?;
            }
            let amended: HashSet<_> = by_reflog
                .iter()
                .filter(|(_, amends)| *amends)
                .map(|(id, _)| *id)
                .collect();
            left_commits.retain(|id| !amended.contains(id));
            left_commits = self.drop_replaced(left_commits, &tips)?;
        }
        for id in tips {
            self.keep_judged(KEPT_FOR_ANOTHER, &id.to_hex().to_string(), at)?;
        }
        let stashes = stashes.iter().flat_map(|hex| hex.parse::<ObjectId>());
        left_commits.extend(stashes);
        Ok(left_commits)
    }

    /// Drops the commits that a squash or a rebase made anew: a commit that is there has the same tree, or for each of theirs one has the same
    /// author, date and subject.
    pub(super) fn drop_replaced(
        &self,
        mut left_commits: Vec<ObjectId>,
        tips: &[ObjectId],
    ) -> Result<Vec<ObjectId>, Error> {
        if left_commits.is_empty() {
            return Ok(left_commits);
        }
        let there = tips.iter().filter(|id| !left_commits.contains(id));
        let reached: HashSet<_> = self.newest_commits(there.copied()).collect();
        let (mut authored, mut trees) = (HashSet::new(), HashSet::new());
        for id in &reached {
            authored.insert(CommitAuthorship::read_commit(self, *id)?.authored);
            trees.insert(tree_of(&self.repo, *id)?);
        }
        // An empty commit has the tree of its parent.
        let has_same_tree = |id: ObjectId, parent: Option<ObjectId>| -> Result<bool, Error> {
            let tree = tree_of(&self.repo, id)?;
            Ok(tree != tree_of(&self.repo, parent)? && trees.contains(&tree))
        };
        let was_authored = |id: ObjectId| -> Result<bool, Error> {
            Ok(authored.contains(&CommitAuthorship::read_commit(self, id)?.authored))
        };
        left_commits.retain(|tip| {
            let line: Vec<_> = self.newest_commits([*tip]).collect();
            let own = line.iter().take_while(|id| !reached.contains(*id)).count();
            !has_same_tree(*tip, line.get(1).copied()).unwrap_or(false)
                && !line[..own]
                    .iter()
                    .all(|id| was_authored(*id).unwrap_or(false))
        });
        Ok(left_commits)
    }
}
