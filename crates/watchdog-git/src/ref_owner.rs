//! Decides whose a worktree or a branch of this repository is: this session's own, that of a helper that began during the session, or
//! another's.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::bstr::ByteSlice;

use super::error::Error;
use super::file_state::is_absent;
use super::known_refs::RefTip;
use super::open::Worktree;
use super::origin_evidence::OriginEvidence;
use super::worktree_id::worktree_id;
use watchdog_facts::ref_list::RefList;
use watchdog_system::{is_missing, read_regular_file};

/// The largest HEAD that is read, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// How git calls HEAD of the main worktree from another one.
pub(super) const MAIN_HEAD: &str = "main-worktree/HEAD";

/// Whose something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefOwner {
    /// The worktree itself, or its branch.
    This,
    /// Born during the session, without a record of its own.
    Helper,
    /// Any other owner.
    Other,
}

/// Tells whose worktrees and branches are.
pub(super) struct RefOwners {
    own_head: String,
    own_branch: Option<String>,
    /// The refs and worktrees at the baseline; `None` without a record.
    recorded: Option<Arc<RefList>>,
    /// Whether the record lists worktrees; an old one does not.
    knows_worktrees: bool,
    with_record: HashSet<String>,
    /// Full names of the branches that other worktrees have checked out.
    taken: HashSet<String>,
}

impl RefOwners {
    pub(super) fn new(worktree: &Worktree, evidence: &OriginEvidence) -> Result<Self, Error> {
        let recorded = match &evidence.refs {
            Some(refs) => Some(Arc::clone(refs.tips()?)),
            None => None,
        };
        let is_head = |(name, _): (&str, &str)| name == MAIN_HEAD || name.starts_with("worktrees/");
        let mut owners = RefOwners {
            own_head: head_name(worktree.git_dir(), worktree.common_dir()),
            own_branch: worktree
                .branch()
                .map(|branch| format!("refs/heads/{branch}")),
            knows_worktrees: recorded
                .as_ref()
                .is_some_and(|recorded| recorded.iter().any(is_head)),
            recorded,
            with_record: evidence.recorded_worktrees()?,
            taken: HashSet::new(),
        };
        for git_dir in git_dirs(worktree.common_dir())? {
            let name = head_name(&git_dir, worktree.common_dir());
            if owners.find_owner(&name, worktree.common_dir()) == RefOwner::Other
                && let Some(branch) = head_text(&git_dir)?
                    .as_deref()
                    .and_then(parse_symbolic_head)
            {
                owners.taken.insert(branch);
            }
        }
        Ok(owners)
    }

    /// Whose a ref is, by its full name; HEAD of a worktree is that worktree.
    pub(super) fn find_owner(&self, name: &str, common_dir: &Path) -> RefOwner {
        if name == self.own_head || name == "HEAD" || Some(name) == self.own_branch.as_deref() {
            return RefOwner::This;
        }
        let there = self
            .recorded
            .as_ref()
            .is_none_or(|recorded| recorded.contains(name));
        let linked = name
            .strip_prefix("worktrees/")
            .and_then(|head_name| head_name.strip_suffix("/HEAD"));
        if linked.is_some() || name == MAIN_HEAD {
            let git_dir = linked.map_or_else(
                || common_dir.to_owned(),
                |linked| common_dir.join("worktrees").join(linked),
            );
            let is_other = there
                || !self.knows_worktrees
                || self
                    .with_record
                    .contains(&worktree_id(&git_dir, common_dir));
            return if is_other {
                RefOwner::Other
            } else {
                RefOwner::Helper
            };
        }
        // Without a record the age of a branch is unknown; then only a worktree that has it checked out proves its owner.
        let is_other = self.recorded.is_some() && there || self.taken.contains(name);
        if is_other {
            RefOwner::Other
        } else {
            RefOwner::Helper
        }
    }

    /// Whether another's worktree has a branch checked out.
    pub(super) fn is_taken(&self, branch: &str) -> bool {
        self.taken.contains(branch)
    }

    /// Whether a linked worktree of the record is gone, and its log with it.
    pub(super) fn lost_worktree(&self, common_dir: &Path) -> bool {
        let is_lost = |(name, _): (&str, &str)| {
            name.starts_with("worktrees/") && is_absent(&common_dir.join(name))
        };
        self.recorded.iter().any(|names| names.iter().any(is_lost))
    }

    /// Whether a name in a reflog's message can be that of a helper's branch, also of one that is gone.
    pub(super) fn may_be_helpers(&self, name: &str, common_dir: &Path) -> bool {
        let name = name.split(['~', '^', '@']).next().unwrap_or_default();
        let name = name.strip_prefix("refs/heads/").unwrap_or(name);
        let Some(recorded) = &self.recorded else {
            return true;
        };
        let is_id = name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_special = name.is_empty() || name.ends_with("HEAD") || name.starts_with("refs/");
        let is_recorded = ["refs/tags/", "refs/remotes/", "refs/"]
            .iter()
            .any(|prefix| recorded.contains(&format!("{prefix}{name}")));
        let no_remote = is_absent(&common_dir.join("refs/remotes").join(name));
        !is_id
            && !is_special
            && !is_recorded
            && no_remote
            && self.find_owner(&format!("refs/heads/{name}"), common_dir) != RefOwner::Other
    }
}

impl Worktree {
    /// HEAD of every worktree of the repository, with the commit that it names.
    pub(super) fn heads_of_worktrees(&self, tips: &[RefTip]) -> Result<Vec<RefTip>, Error> {
        let zeros = "0".repeat(self.repo.object_hash().len_in_hex());
        let tip = |branch: &str| {
            tips.binary_search_by(|(name, _)| name.as_str().cmp(branch))
                .ok()
                .map(|at| tips[at].1.clone())
        };
        let commit = |text: &str| match parse_symbolic_head(text) {
            Some(branch) => tip(&branch),
            None => Some(text.trim().to_owned()).filter(|id| id.len() == zeros.len()),
        };
        let named = |git_dir: PathBuf| {
            let id = head_text(&git_dir)?.as_deref().and_then(commit);
            Ok((
                head_name(&git_dir, self.common_dir()),
                id.unwrap_or_else(|| zeros.clone()),
            ))
        };
        git_dirs(self.common_dir())?
            .into_iter()
            .map(named)
            .collect()
    }

    /// The reflog of HEAD.
    pub(super) fn head_log(&self) -> Result<PathBuf, Error> {
        match &self.served {
            // git asks no HEAD without a commit about its log.
            Some(served) if self.head_id()?.is_none() => {
                let log = (served.all_logs()?.into_iter()).find(|(name, _)| name == "HEAD");
                Ok(log.map_or_else(|| self.git_dir().join("logs/HEAD"), |(_, log)| log))
            }
            Some(served) => served.head_log(),
            None => Ok(self.git_dir().join("logs/HEAD")),
        }
    }

    /// The reflogs of the repository with the names of their refs: those of branches and of all worktrees' HEADs.
    pub(super) fn all_logs(&self) -> Result<Vec<(String, PathBuf)>, Error> {
        if let Some(served) = &self.served {
            return served.all_logs();
        }
        let heads = git_dirs(self.common_dir())?.into_iter();
        let mut logs: Vec<_> = heads
            .map(|git_dir| {
                (
                    head_name(&git_dir, self.common_dir()),
                    git_dir.join("logs/HEAD"),
                )
            })
            .collect();
        branch_logs(
            &self.common_dir().join("logs/refs/heads"),
            "refs/heads",
            &mut logs,
        )?;
        Ok(logs)
    }
}

/// The git directories of all worktrees of a repository, the main one first. An unreadable worktree
/// could be anybody's, so that a failed look is an error and no repository without worktrees.
pub(super) fn git_dirs(common_dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let linked = list_folder_entries(&common_dir.join("worktrees"))?;
    Ok([common_dir.to_owned()]
        .into_iter()
        .chain(linked.into_iter().map(|entry| entry.path()))
        .collect())
}

/// Entries of a folder; empty if it does not exist.
fn list_folder_entries(folder: &Path) -> Result<Vec<fs::DirEntry>, Error> {
    match fs::read_dir(folder).and_then(Iterator::collect) {
        Err(error) if is_missing(&error) => Ok(Vec::new()),
        read => read.map_err(|error| new_read_error(folder, &error)),
    }
}

pub(super) fn new_read_error(path: &Path, error: &io::Error) -> Error {
    Error::read_failure(format!("read {}", path.display()), error.to_string())
}

/// How git calls HEAD of a worktree from another one.
pub(super) fn head_name(git_dir: &Path, common_dir: &Path) -> String {
    match git_dir.file_name() {
        // The end of a line would end the ref in a record.
        Some(name) if git_dir != common_dir => {
            let name = name.as_encoded_bytes().to_str_lossy();
            format!("worktrees/{}/HEAD", name.replace(['\n', '\r'], "\u{fffd}"))
        }
        _ => MAIN_HEAD.to_owned(),
    }
}

/// The full names of the branches that worktrees with a record have checked out.
pub(super) fn checked_out(
    common_dir: &Path,
    with_record: &HashSet<String>,
) -> Result<HashSet<String>, Error> {
    let mut branches = HashSet::new();
    for git_dir in git_dirs(common_dir)?
        .iter()
        .filter(|git_dir| with_record.contains(&worktree_id(git_dir, common_dir)))
    {
        branches.extend(head_text(git_dir)?.as_deref().and_then(parse_symbolic_head));
    }
    Ok(branches)
}

/// The text of a worktree's HEAD; `None` where it has none.
fn head_text(git_dir: &Path) -> Result<Option<String>, Error> {
    let head = git_dir.join("HEAD");
    // A pipe must not be opened: that waits for somebody to write to it.
    let read = || match fs::symlink_metadata(&head)? {
        found if found.is_file() => {
            read_regular_file(&head, MOST_BYTES).map(|text| Some(text.to_str_lossy().into_owned()))
        }
        // As git once wrote it.
        found if found.is_symlink() => {
            fs::read_link(&head).map(|branch| Some(format!("ref: {}", branch.display())))
        }
        _ => Ok(None),
    };
    match read() {
        Err(error) if is_missing(&error) => Ok(None),
        read => read.map_err(|error| new_read_error(&head, &error)),
    }
}

/// The branch that the text of a HEAD names.
fn parse_symbolic_head(text: &str) -> Option<String> {
    Some(text.strip_prefix("ref:")?.trim().to_owned())
}

pub(super) fn branch_logs(
    folder: &Path,
    name: &str,
    logs: &mut Vec<(String, PathBuf)>,
) -> Result<(), Error> {
    for entry in list_folder_entries(folder)? {
        let name = format!(
            "{name}/{}",
            entry.file_name().as_encoded_bytes().to_str_lossy()
        );
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => branch_logs(&entry.path(), &name, logs)?,
            Ok(kind) if kind.is_file() => logs.push((name, entry.path())),
            Ok(_) => {}
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(new_read_error(&entry.path(), &error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A repository with a linked worktree `other`, as its folders are when nothing was committed.
    fn repository() -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        let git = home.path().join(".git");
        for folder in [
            "objects",
            "refs/heads",
            "refs/remotes/up",
            "worktrees/other",
            "worktrees/helper",
        ] {
            fs::create_dir_all(git.join(folder)).unwrap();
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(git.join("refs/remotes/up/fetched"), "").unwrap();
        fs::write(git.join("worktrees/helper/HEAD"), "ref: refs/heads/sub\n").unwrap();
        home
    }

    fn owners(home: &tempfile::TempDir, recorded: Option<&[&str]>) -> (Worktree, RefOwners) {
        let worktree = Worktree::open(home.path()).unwrap();
        let tips = recorded.map(|names| {
            names
                .iter()
                .map(|name| (name.to_string(), "1".repeat(40)))
                .collect::<Vec<_>>()
                .into()
        });
        let owners = RefOwners::new(&worktree, &OriginEvidence::default().with_refs(tips)).unwrap();
        (worktree, owners)
    }

    const RECORDED: &[&str] = &[
        "main-worktree/HEAD",
        "worktrees/other/HEAD",
        "refs/heads/main",
        "refs/heads/older",
        "refs/remotes/origin/main",
        "refs/tags/v1",
    ];

    #[test]
    fn branch_checked_out_elsewhere_is_no_helper_branch() {
        type Form = fn(&Path);
        let forms: [(Form, RefOwner); 5] = [
            (
                |head| fs::write(head, "ref: refs/heads/fresh\n").unwrap(),
                RefOwner::Other,
            ),
            (
                |head| symlink("refs/heads/fresh", head).unwrap(),
                RefOwner::Other,
            ),
            (
                |head| fs::write(head, "1".repeat(40)).unwrap(),
                RefOwner::Helper,
            ),
            (|head| fs::create_dir(head).unwrap(), RefOwner::Helper),
            (|_| (), RefOwner::Helper),
        ];
        for (n, (form, owner)) in forms.iter().enumerate() {
            let home = repository();
            form(&home.path().join(".git/worktrees/other/HEAD"));
            for recorded in [Some(RECORDED), None] {
                let (worktree, owners) = owners(&home, recorded);
                assert_eq!(
                    owners.find_owner("refs/heads/fresh", worktree.common_dir()),
                    *owner,
                    "form {n}, {recorded:?}"
                );
            }
        }
    }

    #[test]
    fn recorded_refs_are_foreign_and_new_ones_helpers() {
        let home = repository();
        let whose = |recorded: Option<&[&str]>, name: &str| {
            let (worktree, owners) = owners(&home, recorded);
            owners.find_owner(name, worktree.common_dir())
        };
        for (name, owner) in [
            ("HEAD", RefOwner::This),
            ("main-worktree/HEAD", RefOwner::This),
            ("refs/heads/main", RefOwner::This),
            ("refs/heads/older", RefOwner::Other),
            ("refs/heads/sub", RefOwner::Helper),
            ("worktrees/other/HEAD", RefOwner::Other),
            ("worktrees/helper/HEAD", RefOwner::Helper),
        ] {
            assert_eq!(whose(Some(RECORDED), name), owner, "{name}");
        }
        // A record that lists no worktrees, and none at all, make no worktree a helper.
        for recorded in [Some(&["refs/heads/main"][..]), None] {
            assert_eq!(
                whose(recorded, "worktrees/helper/HEAD"),
                RefOwner::Other,
                "{recorded:?}"
            );
            assert_eq!(
                whose(recorded, "refs/heads/sub"),
                RefOwner::Other,
                "{recorded:?}"
            );
            assert_eq!(
                whose(recorded, "refs/heads/loose"),
                RefOwner::Helper,
                "{recorded:?}"
            );
        }
    }

    #[test]
    fn only_unambiguous_name_may_be_helper_branch() {
        let home = repository();
        let (worktree, with_record) = owners(&home, Some(RECORDED));
        for (name, expected) in [
            ("sub", true),
            ("sub~1", true),
            ("sub^2", true),
            ("sub@{1}", true),
            ("refs/heads/sub", true),
            ("team/sub", true),
            ("gone", true),
            // git takes no fewer than four digits for a commit.
            ("abc", true),
            ("cafe", false),
            ("0123456789abcdef0123456789abcdef01234567", false),
            ("HEAD", false),
            ("HEAD~1", false),
            ("FETCH_HEAD", false),
            ("@{u}", false),
            ("", false),
            ("refs/tags/new", false),
            ("refs/remotes/origin/new", false),
            ("v1", false),
            ("tags/v1", false),
            ("origin/main", false),
            ("remotes/origin/main", false),
            ("up/fetched", false),
            ("older", false),
            ("refs/heads/older", false),
        ] {
            assert_eq!(
                with_record.may_be_helpers(name, worktree.common_dir()),
                expected,
                "{name}"
            );
        }
        // Without a record no name is known to be anybody else's.
        assert!(
            owners(&home, None)
                .1
                .may_be_helpers("older", worktree.common_dir())
        );
    }
}
