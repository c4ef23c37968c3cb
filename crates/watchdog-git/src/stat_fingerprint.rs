//! Fingerprints of the files and folders that a scan of a worktree read. As long as their sizes, times and inode numbers are the same,
//! another scan would find the same; git trusts its index by the same rule.
//!
//! A fingerprint is valid only for files that are older than the scan: a file written during it, or in the same tick of the clock, could
//! change again with the same times. And the file system must keep fine-grained times.

use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::State;
use gix::index::entry::Mode;
use sha2::{Digest, Sha256};

use super::comparison_parts::WorkTreeStatus;
use super::file_state::{StatStamp, is_remote};
use super::hidden::is_hidden;
use super::path_text::{escape_path, unescape_path};
use super::reftable::TABLES;
use super::worktrees::FoundWorktree;
use watchdog_facts::display::to_hex;
use watchdog_system::{is_missing, read_regular_file};

/// The maximum number of paths: beyond it, reading their stat data costs almost as much as a scan.
pub(super) const MOST: usize = 4000;

/// The paths that a scan read, from the top of the work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatFingerprints(Vec<PathStat>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct PathStat {
    path: BString,
    /// The state during the scan itself, so that the next scan notices any later change.
    state: Option<StatStamp>,
}

/// Files and folders beside the work tree that a judgement rested on.
#[derive(Debug, Clone, Copy)]
pub struct FingerprintScope<'a> {
    /// The worktree.
    pub worktree: &'a FoundWorktree,
    /// Further files of the caller, with any path.
    pub more: &'a [PathBuf],
}

/// The fingerprints of a scan; `None` where a part of it has none that are reliable.
pub(super) fn compute_fingerprints(
    repo: &gix::Repository,
    index: &State,
    status: &WorkTreeStatus,
) -> Option<StatFingerprints> {
    if !(status.unreadable.is_empty() && status.degraded.is_empty() && status.submodules.is_empty())
        || index.is_sparse()
    {
        return None;
    }
    if index.entries().len() + status.folders.len() + status.untracked.len() > MOST
        || index
            .entries()
            .iter()
            .any(|entry| entry.mode == Mode::COMMIT || is_hidden(entry))
    {
        return None;
    }
    let mut states = vec![None; index.entries().len()];
    for (at, state) in &status.states {
        states[*at] = Some(*state);
    }
    let tracked = index
        .entries()
        .iter()
        .zip(states)
        .map(|(entry, state)| PathStat {
            path: entry.path(index).to_owned(),
            state,
        });
    let beside = status.folders.iter().chain(&status.untracked).cloned();
    let settings = list_settings_files(repo)
        .into_iter()
        .map(|path| BString::from(path.into_os_string().into_vec()));
    let mut fingerprints: Vec<PathStat> = tracked
        .chain(
            beside
                .chain(settings)
                .map(|path| PathStat { path, state: None }),
        )
        .collect();
    fingerprints.sort_by(|a, b| a.path.cmp(&b.path));
    fingerprints.dedup_by(|a, b| a.path == b.path);
    Some(StatFingerprints(fingerprints))
}

/// Every file that the repository's configuration came from or could come from, and the ignore and attribute files that it
/// names. Absolute.
fn list_settings_files(repo: &gix::Repository) -> Vec<PathBuf> {
    use gix::config::Source;
    let config = repo.config_snapshot();
    let mut files: Vec<PathBuf> = config
        .plumbing()
        .sections()
        .filter_map(|section| section.meta().path.clone())
        .collect();
    for source in [Source::System, Source::Git, Source::User] {
        files.extend(source.storage_location(&mut |name| std::env::var_os(name)));
    }
    for key in ["core.excludesFile", "core.attributesFile"] {
        files.extend(config.trusted_path(key).ok().flatten());
    }
    // git reads these files without any configuration.
    for name in ["ignore", "attributes"] {
        let users = Source::Git.storage_location(&mut |name| std::env::var_os(name));
        files.extend(users.and_then(|config| Some(config.parent()?.join(name))));
    }
    files.retain(|path| path.is_absolute());
    files
}

impl StatFingerprints {
    /// A text, to be kept and read again with [`StatFingerprints::from_text`].
    pub fn to_text(&self) -> String {
        self.0
            .iter()
            .map(|entry| escape_path(&entry.path))
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Parses the text of [`StatFingerprints::to_text`].
    pub fn from_text(text: &str) -> Self {
        StatFingerprints(
            text.split('\n')
                .map(|path| PathStat {
                    path: BString::from(unescape_path(path)),
                    state: None,
                })
                .collect(),
        )
    }

    /// A hash of the present state of all paths; `None` where a file is not older than
    /// `scanned_at`, the file system is unreliable, or a file cannot be read.
    pub fn stamp(&self, scope: FingerprintScope<'_>, scanned_at: SystemTime) -> Option<String> {
        let worktree = scope.worktree;
        let mut hash = Sha256::new();
        if is_remote(&worktree.root) {
            return None;
        }
        let (git_dir, common) = (&worktree.git_dir, &worktree.common_dir);
        add_all(
            &mut hash,
            git_dir,
            [
                "",
                "HEAD",
                "index",
                "logs/HEAD",
                "FETCH_HEAD",
                "config.worktree",
                TABLES,
            ]
            .map(Path::new),
            scanned_at,
        )?;
        let branch = read_branch_path(git_dir)?;
        let files = [
            "config",
            "packed-refs",
            TABLES,
            "shallow",
            "info/exclude",
            "info/attributes",
            "info/grafts",
        ]
        .map(Path::new);
        add_all(
            &mut hash,
            common,
            files.into_iter().chain(branch.as_deref()),
            scanned_at,
        )?;
        for path in scope.more {
            add_path(&mut hash, path, scanned_at)?;
        }
        add_path(&mut hash, &worktree.root.join(".git"), scanned_at)?;
        let root = open_folder(&worktree.root)?;
        for PathStat { path, state } in &self.0 {
            if let Some(state) = state {
                hash.update(path.as_bytes());
                hash.update([0]);
                add_stamp(&mut hash, *state, scanned_at)?;
                continue;
            }
            let name: &BStr = if path.is_empty() {
                b".".as_bstr()
            } else {
                path.trim_end_with(|c| c == '/').as_bstr()
            };
            hash.update(path.as_bytes());
            hash.update([0]);
            // Of a user's own file what counts is its content, also behind a link.
            let follow = if path.starts_with(b"/") {
                rustix::fs::AtFlags::empty()
            } else {
                rustix::fs::AtFlags::SYMLINK_NOFOLLOW
            };
            add_found(
                &mut hash,
                rustix::fs::statat(&root, &**name, follow),
                scanned_at,
            )?;
        }
        Some(to_hex(&hash.finalize()))
    }
}

/// The branch that HEAD is on; the outer `None` where HEAD cannot be read.
fn read_branch_path(git_dir: &Path) -> Option<Option<PathBuf>> {
    let text = read_regular_file(&git_dir.join("HEAD"), 4096).ok()?;
    let Some(name) = text.strip_prefix(b"ref:") else {
        return Some(None);
    };
    let name = gix::path::from_bstr(name.trim_ascii().as_bstr())
        .ok()?
        .into_owned();
    // Any other place has rules of its own.
    name.starts_with("refs/heads").then_some(Some(name))
}

/// Opens a folder for relative lookups: resolving each full path would take most of the time.
fn open_folder(folder: &Path) -> Option<std::os::fd::OwnedFd> {
    let flags = watchdog_system::FOLDER_TO_ENTER
        | rustix::fs::OFlags::DIRECTORY
        | rustix::fs::OFlags::CLOEXEC;
    rustix::fs::open(folder, flags, rustix::fs::Mode::empty()).ok()
}

/// Takes in files below a folder, and with an empty name the folder itself.
fn add_all<'p>(
    hash: &mut Sha256,
    folder: &Path,
    names: impl IntoIterator<Item = &'p Path>,
    scanned_at: SystemTime,
) -> Option<()> {
    use std::os::unix::ffi::OsStrExt;
    let open = open_folder(folder)?;
    hash.update(folder.as_os_str().as_bytes());
    for name in names {
        hash.update(name.as_os_str().as_bytes());
        hash.update([0]);
        let name = if name.as_os_str().is_empty() {
            Path::new(".")
        } else {
            name
        };
        let link_stat = rustix::fs::statat(&open, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
        // The target of a link may change independently.
        if link_stat.is_ok_and(|stat| {
            rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Symlink
        }) {
            return None;
        }
        add_found(hash, link_stat, scanned_at)?;
    }
    Some(())
}

fn add_found(
    hash: &mut Sha256,
    status: rustix::io::Result<rustix::fs::Stat>,
    scanned_at: SystemTime,
) -> Option<()> {
    match status {
        Ok(stat) => add_stamp(hash, StatStamp::from_stat(&stat), scanned_at),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {
            hash.update([1]);
            Some(())
        }
        Err(_) => None,
    }
}

fn add_path(hash: &mut Sha256, path: &Path, scanned_at: SystemTime) -> Option<()> {
    use std::os::unix::ffi::OsStrExt;
    hash.update(path.as_os_str().as_bytes());
    hash.update([0]);
    match fs::symlink_metadata(path) {
        Ok(metadata) => add_metadata(hash, &metadata, scanned_at),
        Err(error) if is_missing(&error) => {
            hash.update([1]);
            Some(())
        }
        Err(_) => None,
    }
}

fn add_metadata(hash: &mut Sha256, metadata: &Metadata, scanned_at: SystemTime) -> Option<()> {
    // The target of a link may change independently.
    if metadata.is_symlink() {
        return None;
    }
    let state = StatStamp {
        seconds: [metadata.mtime(), metadata.ctime()],
        nanos: [metadata.mtime_nsec(), metadata.ctime_nsec()],
        rest: [
            metadata.mode().into(),
            metadata.ino(),
            metadata.size(),
            metadata.uid().into(),
        ],
    };
    add_stamp(hash, state, scanned_at)
}

/// Adds one file's state, unless it may have changed since the scan began.
fn add_stamp(hash: &mut Sha256, state: StatStamp, scanned_at: SystemTime) -> Option<()> {
    if !state.is_older_than(scanned_at) {
        return None;
    }
    let StatStamp {
        seconds,
        nanos,
        rest,
    } = state;
    hash.update([0]);
    for number in seconds.iter().chain(&nanos) {
        hash.update(number.to_le_bytes());
    }
    for number in rest {
        hash.update(number.to_le_bytes());
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;
    use crate::WorktreeState;

    #[test]
    fn fingerprint_changes_with_every_fact_of_a_scan() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let git_dir = root.join(".git");
        fs::create_dir_all(git_dir.join("refs/heads")).unwrap();
        fs::create_dir_all(root.join("empty")).unwrap();
        for (name, text) in [
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/index", "i"),
            (".git/refs/heads/main", "1"),
            ("a", "1"),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        let worktree = FoundWorktree {
            root: root.clone(),
            git_dir: git_dir.clone(),
            common_dir: git_dir,
            standing: WorktreeState::There,
        };
        let fingerprints = StatFingerprints(
            ["", "a", "empty/", "gone"]
                .map(|path| PathStat {
                    path: path.into(),
                    state: None,
                })
                .to_vec(),
        );
        let more = [root.join("settings")];
        let scope = FingerprintScope {
            worktree: &worktree,
            more: &more,
        };
        let later = || SystemTime::now() + Duration::from_secs(60);
        if is_remote(&root) {
            assert_eq!(
                fingerprints.stamp(scope, later()),
                None,
                "times of another machine prove nothing"
            );
            return;
        }
        let stamp = || fingerprints.stamp(scope, later()).unwrap();
        assert_eq!(
            StatFingerprints::from_text(&fingerprints.to_text()),
            fingerprints
        );
        assert_eq!(
            fingerprints.stamp(scope, SystemTime::now()),
            None,
            "what was written just now may be written again in this tick"
        );

        let mut last = stamp();
        assert_eq!(stamp(), last);
        let same_size = |name: &str, text: &str| {
            let before = fs::metadata(root.join(name)).unwrap().modified().unwrap();
            fs::write(root.join(name), text).unwrap();
            // A program that turns the time back cannot turn back when the file's record changed.
            File::options()
                .write(true)
                .open(root.join(name))
                .unwrap()
                .set_modified(before)
                .unwrap();
        };
        let steps: [(&str, &dyn Fn()); 7] = [
            ("a tracked file of the same size and time", &|| {
                same_size("a", "2")
            }),
            ("a file that was missing", &|| {
                fs::write(root.join("gone"), "").unwrap()
            }),
            ("a new file in a folder that holds nothing", &|| {
                fs::write(root.join("empty/new"), "").unwrap()
            }),
            ("the branch", &|| same_size(".git/refs/heads/main", "2")),
            ("packed refs", &|| {
                fs::write(root.join(".git/packed-refs"), "").unwrap()
            }),
            ("an operation under way", &|| {
                fs::write(root.join(".git/MERGE_HEAD"), "").unwrap()
            }),
            ("a file of whoever asks", &|| {
                fs::write(root.join("settings"), "").unwrap()
            }),
        ];
        for (what, step) in steps {
            next_tick(&root);
            step();
            let now = stamp();
            assert_ne!(now, last, "{what}");
            last = now;
        }
        fs::remove_file(root.join(".git/HEAD")).unwrap();
        assert_eq!(
            fingerprints.stamp(scope, later()),
            None,
            "without HEAD nothing is known"
        );
    }

    /// Two changes within one tick of the clock look like one; the margin of a real look keeps them apart.
    fn next_tick(root: &Path) {
        let beside = root.join(".git/beside");
        let time = || {
            fs::write(&beside, "").unwrap();
            fs::metadata(&beside).unwrap().modified().unwrap()
        };
        let first = time();
        while time() == first {
            std::thread::yield_now();
        }
    }
}
