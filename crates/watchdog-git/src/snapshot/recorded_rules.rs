//! Records the ignore rules of a baseline, and tells which files only newer rules ignore.
//!
//! The `.gitignore` files are those of the baseline's commit. Rules that no commit has (`info/exclude`, the user's own list, `.gitignore` files
//! that were uncommitted) are kept beside it, in a commit of watchdog's own whose parent it is: `global/<n>` and `folders/<path>`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;
use std::rc::Rc;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::objs::tree::EntryKind;

use super::blobs::ObjectSink;
use super::disk::{FolderWalk, PathKind, as_path, split_path};
use super::ignore_rules::{FILE, FolderRules, LARGEST, global_sources};
use super::proof::entry_at;
use super::scan::TreeEdit;
use super::{diff, record, tree};
use crate::Worktree;
use crate::commit_text::tree_of;
use crate::error::{Error, ReadContext as _};
use crate::path_text::join_path;
use watchdog_facts::secret_shapes::find_added_secret;
use watchdog_facts::session_work::{in_tool_folder, is_dropping, is_hand_made};

/// The first line of a commit that keeps rules.
const MESSAGE: &str = "ignore rules of a watchdog baseline\n";
const GLOBAL: &str = "global";
const FOLDERS: &str = "folders";
/// Files that a tool leaves in a folder that it fills.
const MARKS: [&str; 3] = ["pyvenv.cfg", "CACHEDIR.TAG", ".git"];
/// Ends of names that no rule names: one that ignores most of `a7z` to `z7z` ignores everything.
const UNNAMED: [&str; 2] = ["7z", "7z.q7z"];
/// Entries of folders that are looked through at most, and files that are returned: more is no work of a session.
const MOST_ENTRIES: usize = 20_000;
const MOST_FILES: usize = 1_000;

impl Worktree {
    /// Records the rules of this moment for a baseline at `commit`, without lists that have a secret in them. `uncommitted` are the paths that
    /// are uncommitted now, escaped.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn keep_ignore_rules<'p>(
        &self,
        commit: &str,
        uncommitted: impl Iterator<Item = &'p str>,
    ) -> Result<(), Error> {
        let doing = "keep the ignore rules";
        let baseline = commit.parse::<ObjectId>().context(doing)?;
        let repo = &self.repo;
        let mut blobs = ObjectSink::new(repo);
        let mut files = BTreeMap::new();
        let mut keep =
            |path: String, bytes: Vec<u8>, blobs: &mut ObjectSink<'_>| -> Result<(), Error> {
                let id = blobs.object(&gix::objs::Blob { data: bytes })?;
                files.insert(BString::from(path), TreeEdit::Exactly(EntryKind::Blob, id));
                Ok(())
            };
        for (n, (_, bytes)) in global_sources(repo)
            .into_iter()
            .enumerate()
            .filter(|(_, (_, bytes))| has_rules(bytes) && find_added_secret(None, bytes).is_none())
        {
            keep(format!("{GLOBAL}/{n}"), bytes, &mut blobs)?;
        }
        // A file that ignores itself is listed by no status.
        let named: BTreeSet<&str> = uncommitted
            .filter(|path| *path == FILE || path.ends_with("/.gitignore"))
            .chain([FILE])
            .collect();
        let mut disk = FolderWalk::open(self.root()).context(doing)?;
        for path in named {
            let committed =
                entry_at(repo, tree_of(repo, baseline)?, path.as_bytes())?.map(|(_, id)| id);
            let committed = committed
                .and_then(|id| repo.find_blob(id).ok())
                .map(|mut blob| blob.take_data());
            // A link is no list of patterns, to git neither.
            let there = disk.open_file(path.as_bytes()).ok().and_then(|(file, _)| {
                let mut bytes = Vec::new();
                file.take(LARGEST)
                    .read_to_end(&mut bytes)
                    .ok()
                    .map(|_| bytes)
            });
            if let Some(bytes) = there.filter(|bytes| {
                committed.as_ref() != Some(bytes) && find_added_secret(None, bytes).is_none()
            }) {
                keep(format!("{FOLDERS}/{path}"), bytes, &mut blobs)?;
            }
        }
        let mut rules_commit = baseline;
        if !files.is_empty() {
            let rules = tree::edit_tree(
                repo,
                ObjectId::empty_tree(repo.object_hash()),
                &files,
                &mut blobs,
            )?;
            rules_commit = record::write_commit(
                &mut blobs,
                rules,
                [baseline],
                jiff::Timestamp::UNIX_EPOCH,
                MESSAGE.into(),
            )?;
            blobs.make_durable()?;
        }
        self.keep_rules_ref(&rules_commit.to_string())
    }

    /// The rules of the worktree's latest baseline; `None` where they were not recorded, or cannot
    /// be read.
    pub(crate) fn recorded_rules(&self) -> Option<RecordedRules> {
        let repo = &self.repo;
        let commit = repo.find_commit(self.rules_ref()?).ok()?;
        let (mut tree, mut beside) = (commit.tree_id().ok()?.detach(), BTreeMap::new());
        if commit.message_raw().ok()? == MESSAGE {
            for change in
                diff::diff_trees(repo, ObjectId::empty_tree(repo.object_hash()), tree).ok()?
            {
                let (_, id) = change.after?;
                beside.insert(change.path, repo.find_blob(id).ok()?.take_data());
            }
            tree = tree_of(repo, commit.parent_ids().next()?.detach()).ok()?;
        }
        let is_global = |path: &BString| path.starts_with(GLOBAL.as_bytes());
        let global = beside
            .iter()
            .filter(|(path, _)| is_global(path))
            .map(|(path, bytes)| (as_path(path).to_owned(), bytes.clone()));
        let global = Rc::new(FolderRules::from_sources(repo, self.root(), global));
        Some(RecordedRules {
            tree,
            beside,
            global,
            folders: RefCell::default(),
            repo: repo.clone(),
        })
    }
}

/// Whether a tool's mark lies in a folder.
pub(super) fn is_tools_folder(disk: &mut FolderWalk, folder: &BStr) -> bool {
    (MARKS.iter())
        .map(|mark| join_path(folder, mark.as_bytes()))
        .any(|mark| matches!(disk.lstat(&mark), Ok(Some(_))))
}

/// Whether a list has a line that is neither empty nor a comment.
fn has_rules(bytes: &[u8]) -> bool {
    bytes
        .lines()
        .any(|line| !line.trim().is_empty() && !line.starts_with(b"#"))
}

/// The ignore rules of a baseline.
pub(crate) struct RecordedRules {
    repo: gix::Repository,
    /// The tree of the baseline's commit.
    tree: ObjectId,
    /// Rules that the commit does not have, by their path in the tree that keeps them.
    beside: BTreeMap<BString, Vec<u8>>,
    global: Rc<FolderRules>,
    /// The rules of each folder that was asked for.
    folders: RefCell<BTreeMap<BString, Rc<FolderRules>>>,
}

/// Files that the rules of the baseline do not ignore.
#[derive(Debug, Default)]
pub(crate) struct NewlyIgnoredFiles {
    /// The files that look like a person's or an agent's own work.
    pub files: BTreeSet<BString>,
    /// The folders that were looked through.
    pub folders: Vec<BString>,
}

impl RecordedRules {
    /// Whether they ignore a path, or a folder that it lies in.
    pub(crate) fn ignores(&self, path: &BStr, is_folder: bool) -> bool {
        let inside = path.find_iter("/").map(|at| path[..at].as_bstr());
        inside
            .map(|folder| (folder, true))
            .chain([(path, is_folder)])
            .any(|(path, is_folder)| self.rules_of(split_path(path).0).ignores(path, is_folder))
    }

    /// The rules that hold in a folder.
    fn rules_of(&self, folder: &BStr) -> Rc<FolderRules> {
        if let Some(rules) = self.folders.borrow().get(folder) {
            return Rc::clone(rules);
        }
        let outer = if folder.is_empty() {
            Rc::clone(&self.global)
        } else {
            self.rules_of(split_path(folder).0)
        };
        let file = join_path(folder, FILE.as_bytes());
        let recorded = self
            .beside
            .get(&join_path(FOLDERS.as_bytes(), &file))
            .cloned();
        let committed = || {
            let (_, id) = entry_at(&self.repo, self.tree, &file).ok()??;
            Some(self.repo.find_blob(id).ok()?.take_data())
        };
        let rules = match recorded.or_else(committed) {
            Some(bytes) => Rc::new(outer.with_file(&bytes, file.as_bstr())),
            None => outer,
        };
        self.folders
            .borrow_mut()
            .insert(folder.to_owned(), Rc::clone(&rules));
        rules
    }

    /// The hand-made files at and below paths that today's rules ignore and these do not, and all
    /// files where a rule of today ignores everything (`*`): such a rule tells no files apart.
    /// Folders of tools, told by their names and by
    /// what lies in them, have none.
    pub(crate) fn find_newly_ignored(&self, root: &Path, ignored: &[BString]) -> NewlyIgnoredFiles {
        let mut newly = NewlyIgnoredFiles::default();
        let Ok(mut disk) = FolderWalk::open(root) else {
            return newly;
        };
        let mut rules_today = FolderRules::global(&self.repo, root);
        rules_today.enter(&mut disk, "".into(), "".into(), |_| None);
        let ignores = |name: String| rules_today.ignores(name.as_str().into(), false);
        let hides_all = UNNAMED.iter().any(|end| {
            let ignored = ('a'..='z').filter(|first| ignores(format!("{first}{end}")));
            ignored.count() > 13
        });
        let is_work = |path: &str| {
            let is_other = is_dropping(path) || in_tool_folder(path) || path.ends_with(FILE);
            is_hand_made(path) || hides_all && !is_other
        };
        let mut tool_folders: BTreeMap<BString, bool> = BTreeMap::new();
        let mut is_tools = |folder: &BStr, disk: &mut FolderWalk| {
            folder
                .find_iter("/")
                .chain([folder.len()])
                .filter(|end| *end > 0)
                .any(|end| {
                    let folder = folder[..end].as_bstr();
                    *tool_folders
                        .entry(folder.to_owned())
                        .or_insert_with(|| is_tools_folder(disk, folder))
                })
        };
        let mut entries_left = MOST_ENTRIES;
        let mut open: Vec<BString> = ignored.to_vec();
        while let Some(path) = open
            .pop()
            .filter(|_| entries_left > 0 && newly.files.len() < MOST_FILES)
        {
            entries_left -= 1;
            let path = path.as_bstr();
            let Ok(Some(stat)) = disk.lstat(path) else {
                continue;
            };
            let is_folder = stat.kind == PathKind::Folder;
            let text = path.to_str_lossy();
            let is_other = match stat.kind {
                PathKind::Folder => {
                    in_tool_folder(&format!("{text}/"))
                        || split_path(path).1 == ".git"
                        || is_tools(path, &mut disk)
                }
                PathKind::File { .. } => !is_work(&text) || is_tools(split_path(path).0, &mut disk),
                PathKind::Link | PathKind::Special => true,
            };
            if is_other || self.ignores(path, is_folder) {
                continue;
            }
            if !is_folder {
                newly.files.insert(path.to_owned());
                continue;
            }
            newly.folders.push(path.to_owned());
            open.extend(
                disk.list(path)
                    .into_iter()
                    .flatten()
                    .map(|entry| join_path(path, &entry.name)),
            );
        }
        newly
    }
}
