//! Lists the ignored files that no tool made, and finds those that are gone later: no commit has them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

use gix::bstr::{BStr, BString, ByteSlice};
use jiff::Timestamp;

use super::disk::{FileStat, FolderWalk, PathKind, as_path, split_path};
use super::private::work_entry;
use super::proof::entry_at;
use super::recorded_rules::is_tools_folder;
use crate::error::{Error, ReadContext as _};
use crate::file_state::is_absent;
use crate::path_text::join_path;
use crate::{Worktree, escape_path, unescape_path};
use watchdog_facts::ignored_files::{FileMark, IgnoredFiles, LostFile, is_made_by_hand};
use watchdog_facts::session_work::BULK_FOLDERS;

/// How many files are recorded, in all and of one folder, how many paths are looked at, and for how long.
const MOST_FILES: usize = 1_000;
const MOST_IN_FOLDER: usize = 200;
const MOST_PATHS: usize = 50_000;
const PATIENCE: Duration = Duration::from_millis(500);
/// How many snapshots are searched for the content of a lost file.
const MOST_SNAPSHOTS: usize = 50;

impl Worktree {
    /// The files at and below these ignored paths that no tool made, those of outer folders first.
    pub(crate) fn list_hand_made(&self, mut ignored: Vec<BString>) -> IgnoredFiles {
        let Ok(disk) = FolderWalk::open(self.root()) else {
            return IgnoredFiles::default();
        };
        let mut walk = IgnoredWalk {
            disk,
            recorded: IgnoredFiles::default(),
            in_folder: HashMap::new(),
            paths: 0,
            deadline: Instant::now() + PATIENCE,
        };
        ignored.sort_by_cached_key(|path| (path.find_iter("/").count(), path.clone()));
        let with_start = |path: BString| {
            let start = path.rfind_byte(b'/').map_or(0, |at| at + 1);
            (path, start)
        };
        let mut queue: VecDeque<_> = ignored.into_iter().map(with_start).collect();
        while let Some((path, start)) = queue.pop_front() {
            if walk.is_over(&path) {
                break;
            }
            match walk.disk.lstat(&path) {
                Ok(Some(stat)) if stat.kind == PathKind::Folder => {
                    let folders = walk.enter(&path, start);
                    queue.extend(folders.into_iter().map(|folder| (folder, start)));
                }
                Ok(Some(_)) => walk.add_file(path, start),
                Ok(None) | Err(_) => {}
            }
        }
        walk.recorded
    }

    /// The recorded files at `root`, which may be gone, that are gone or empty, were not moved, and are not tracked, each with the newest
    /// snapshot that has its content.
    ///
    /// # Errors
    /// When HEAD, the index or snapshots cannot be read.
    pub fn find_lost_ignored(
        &self,
        root: &Path,
        recorded: &IgnoredFiles,
        since: Timestamp,
    ) -> Result<Vec<LostFile>, Error> {
        let mut missing: BTreeMap<BString, FileMark> = (recorded.files.iter())
            .map(|(path, mark)| (BString::from(unescape_path(path)), *mark))
            .collect();
        if !is_absent(root) {
            let doing = || format!("open {}", root.display());
            let mut disk = FolderWalk::open(root).with_context(doing)?;
            missing.retain(|path, mark| is_missing(root, &mut disk, path.as_bstr(), mark));
            if missing.is_empty() {
                return Ok(Vec::new());
            }
            let index = self.index()?;
            let head_tree = self.head_tree()?;
            let is_tracked = |path: &BString| {
                let path = path.as_bstr();
                let is_committed =
                    entry_at(&self.repo, head_tree, path).is_ok_and(|entry| entry.is_some());
                index.entry_by_path(path).is_some() || is_committed
            };
            missing.retain(|path, _| !is_tracked(path));
            drop_moved(&mut disk, &mut missing, recorded, since);
        }
        let missing = missing.iter();
        self.name_snapshots(root, missing.map(|(path, mark)| (escape_path(path), mark)))
    }

    /// The ignored files that no tool made and no snapshot of this worktree has.
    ///
    /// # Errors
    /// When the work tree or snapshots cannot be read.
    pub fn list_unkept_ignored(&self) -> Result<Vec<LostFile>, Error> {
        let (_, ignored) = self.changed_and_hand_made()?;
        let mut files = self.name_snapshots(self.root(), ignored.files.iter())?;
        files.retain(|file| file.snapshot.is_none());
        Ok(files)
    }

    /// These files, each with the newest snapshot that has its content.
    fn name_snapshots<'m>(
        &self,
        root: &Path,
        files: impl Iterator<Item = (impl ToString, &'m FileMark)>,
    ) -> Result<Vec<LostFile>, Error> {
        let unnamed = files.map(|(path, mark)| LostFile {
            path: path.to_string(),
            bytes: mark.bytes,
            snapshot: None,
        });
        let (mut lost, root): (Vec<LostFile>, _) = (unnamed.collect(), root.to_string_lossy());
        if lost.is_empty() {
            return Ok(lost);
        }
        let mut snapshots = self.snapshots(None)?;
        snapshots.retain(|info| info.private_files > 0 && info.worktree == root);
        for info in snapshots.into_iter().take(MOST_SNAPSHOTS) {
            let Ok(commit) = info.commit.parse::<gix::ObjectId>() else {
                continue;
            };
            for file in lost.iter_mut().filter(|file| file.snapshot.is_none()) {
                let path = BString::from(unescape_path(&file.path));
                // A private part that is gone has no content.
                let entry = work_entry(&self.repo, commit, path.as_bstr())
                    .ok()
                    .flatten();
                let bytes = entry.and_then(|(_, id)| self.repo.find_header(id).ok());
                if bytes.is_some_and(|header| header.size() >= file.bytes) {
                    file.snapshot = Some(info.id.clone());
                }
            }
        }
        Ok(lost)
    }
}

/// A bounded walk through ignored folders.
struct IgnoredWalk {
    disk: FolderWalk,
    recorded: IgnoredFiles,
    /// How many files of each folder were looked at.
    in_folder: HashMap<BString, usize>,
    paths: usize,
    deadline: Instant,
}

impl IgnoredWalk {
    /// Whether a bound is reached before this path.
    fn is_over(&mut self, path: &BString) -> bool {
        self.paths += 1;
        let is_full = self.recorded.files.len() == MOST_FILES || self.paths > MOST_PATHS;
        let is_over = is_full || Instant::now() > self.deadline;
        if is_over {
            (self.recorded.beyond).get_or_insert_with(|| escape_path(path));
        }
        is_over
    }

    /// Adds the files of a folder, unless a tool fills it, and returns the folders in it.
    fn enter(&mut self, folder: &BString, start: usize) -> Vec<BString> {
        let mut folders = Vec::new();
        if !is_made_by_hand(&format!("{}/", escape_path(folder)), start)
            || is_tools_folder(&mut self.disk, folder.as_bstr())
        {
            return folders;
        }
        let (mut files, entries) = (0, self.disk.list(folder));
        for entry in entries.into_iter().flatten() {
            let path = join_path(folder, &entry.name);
            files += usize::from(entry.kind != PathKind::Folder);
            // Output of tools lies between the files, so that some more are looked at. Folders among many files still count.
            if files > 2 * MOST_IN_FOLDER && entry.kind != PathKind::Folder {
                (self.recorded.beyond).get_or_insert_with(|| escape_path(&path));
                continue;
            }
            if self.is_over(&path) {
                break;
            }
            match entry.kind {
                PathKind::Folder => folders.push(path),
                PathKind::File { .. } => self.add_file(path, start),
                PathKind::Link | PathKind::Special => {}
            }
        }
        folders
    }

    fn add_file(&mut self, path: BString, start: usize) {
        let text = escape_path(&path);
        if !is_made_by_hand(&text, start) {
            return;
        }
        let folder = split_path(&path).0.to_owned();
        let count = self.in_folder.entry(folder).or_default();
        *count += 1;
        if *count > MOST_IN_FOLDER {
            self.recorded.beyond.get_or_insert(text);
        } else if let Ok(Some(stat)) = self.disk.lstat(&path)
            && matches!(stat.kind, PathKind::File { .. })
            && stat.size > 0
        {
            self.recorded.files.insert(text, mark_of(&stat));
        }
    }
}

fn mark_of(stat: &FileStat) -> FileMark {
    FileMark {
        bytes: stat.size,
        inode: stat.inode,
        mtime: stat.mtime.0,
    }
}

/// Whether nothing, or an empty file, is at the path, and no link leads to a file of that size. An unreadable path is not missing.
fn is_missing(root: &Path, disk: &mut FolderWalk, path: &BStr, mark: &FileMark) -> bool {
    match disk.lstat(path) {
        Err(_) => false,
        Ok(Some(stat)) if matches!(stat.kind, PathKind::File { .. }) && stat.size > 0 => false,
        Ok(_) => {
            let target = root.join(as_path(path)).metadata();
            !target.is_ok_and(|target| target.is_file() && target.len() == mark.bytes)
        }
    }
}

/// Drops the files that lie elsewhere in the work tree by now: the same file, or a copy that bears its name.
fn drop_moved(
    disk: &mut FolderWalk,
    missing: &mut BTreeMap<BString, FileMark>,
    recorded: &IgnoredFiles,
    since: Timestamp,
) {
    let mut queue = VecDeque::from([BString::default()]);
    let (mut paths, deadline) = (0, Instant::now() + PATIENCE);
    while let Some(folder) = queue.pop_front() {
        for entry in disk.list(&folder).into_iter().flatten() {
            paths += 1;
            if missing.is_empty() || paths > MOST_PATHS || Instant::now() > deadline {
                return;
            }
            let path = join_path(&folder, &entry.name);
            let is_bulk = BULK_FOLDERS.iter().any(|bulk| entry.name == *bulk);
            match entry.kind {
                PathKind::Folder if entry.name != ".git" && !is_bulk => queue.push_back(path),
                PathKind::File { .. } if !recorded.files.contains_key(&escape_path(&path)) => {
                    let Ok(Some(stat)) = disk.lstat(&path) else {
                        continue;
                    };
                    let (mark, is_new) = (mark_of(&stat), stat.ctime.0 >= since.as_second());
                    missing.retain(|was, was_mark| {
                        let is_copy = is_new && split_path(was).1 == entry.name;
                        *was_mark != mark && !(is_copy && was_mark.bytes == mark.bytes)
                    });
                }
                _ => {}
            }
        }
    }
}
