//! Decides whether a tracked file still is what the index says: by its file times where they are conclusive, else by content.

use std::io::Read;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicBool;

use gix::bstr::{BStr, BString, ByteSlice};
use gix::filter::plumbing::pipeline::convert::ToGitOutcome;
use gix::index::entry::stat::Time;
use gix::index::entry::{Flags, Mode, Stat, stat};
use gix::index::{Entry, State};
use gix::worktree::stack::state::attributes::Source;
use rustix::fs::{FileType, Mode as Access, OFlags};

/// How a tracked file compares.
pub(super) enum FileComparison {
    Same,
    Changed,
    /// Unknown: it counts as changed, with the reason.
    Unreadable(String),
}

/// The repository's configuration of comparisons.
#[derive(Clone, Copy)]
pub(super) struct ComparisonOptions {
    pub stat: stat::Options,
    pub executable_bit: bool,
    pub symlinks: bool,
    pub fold_case: bool,
}

impl ComparisonOptions {
    pub(crate) fn for_repository(repo: &gix::Repository) -> gix::Result<Self> {
        let files = repo.filesystem_options()?;
        Ok(ComparisonOptions {
            stat: repo.stat_options()?,
            executable_bit: files.executable_bit,
            symlinks: files.symlink,
            fold_case: files.ignore_case,
        })
    }
}

/// Compares the files of one work tree; a thread has its own.
pub(super) struct FileComparer<'w> {
    repo: &'w gix::Repository,
    index: &'w State,
    rules: ComparisonOptions,
    /// Built when the first content must be read: it reads attributes.
    filters: Option<gix::filter::Pipeline<'w>>,
    /// The folder of the last file whose attributes were to be read: they are read once for all files of a folder in a row.
    attributes_read_in: Option<BString>,
}

impl<'w> FileComparer<'w> {
    pub(crate) fn new(
        repo: &'w gix::Repository,
        index: &'w State,
        rules: ComparisonOptions,
    ) -> Self {
        FileComparer {
            repo,
            index,
            rules,
            filters: None,
            attributes_read_in: None,
        }
    }

    /// Compares the file `name` in an open folder, of which `on_disk` was just read, with its entry, which is no submodule.
    pub(crate) fn compare(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &[u8],
        entry: &Entry,
        on_disk: &rustix::fs::Stat,
    ) -> FileComparison {
        // With `git add -N` the content is still to come.
        if entry.flags.contains(Flags::INTENT_TO_ADD) {
            return FileComparison::Changed;
        }
        let kind = FileType::from_raw_mode(on_disk.st_mode);
        let fits = match entry.mode {
            Mode::SYMLINK => {
                kind == FileType::Symlink || kind == FileType::RegularFile && !self.rules.symlinks
            }
            _ => kind == FileType::RegularFile,
        };
        let executable = on_disk.st_mode & 0o100 != 0;
        let bit_fits = !self.rules.executable_bit
            || match entry.mode {
                Mode::FILE => !executable,
                Mode::FILE_EXECUTABLE => executable,
                _ => true,
            };
        if !fits || !bit_fits {
            return FileComparison::Changed;
        }
        let stat = stat_of(on_disk);
        // The size of an entry is set to 0 where its times are not to be trusted.
        let unclear = entry.stat.size == 0 && !entry.id.is_empty_blob();
        if stat.matches(&entry.stat, self.rules.stat)
            && !stat.is_racy(self.index.timestamp(), self.rules.stat)
            && !unclear
        {
            return FileComparison::Same;
        }
        if stat.size != entry.stat.size && !unclear {
            return FileComparison::Changed;
        }
        match self.same_content(folder, name, entry, kind == FileType::Symlink) {
            Ok(true) => FileComparison::Same,
            Ok(false) => FileComparison::Changed,
            Err(why) => FileComparison::Unreadable(why),
        }
    }

    fn same_content(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &[u8],
        entry: &Entry,
        symlink: bool,
    ) -> Result<bool, String> {
        let hash = self.repo.object_hash();
        let blob = gix::object::Kind::Blob;
        if symlink {
            let target =
                rustix::fs::readlinkat(folder, name, Vec::new()).map_err(|e| e.to_string())?;
            return gix::objs::compute_hash(hash, blob, target.as_bytes())
                .map(|id| id == entry.id)
                .map_err(|e| e.to_string());
        }
        let path = entry.path(self.index);
        self.refuse_odd_attributes(path)?;
        // Not blocking and checked again, as the file may have become a pipe meanwhile.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = std::fs::File::from(
            rustix::fs::openat(folder, name, flags, Access::empty()).map_err(|e| e.to_string())?,
        );
        let metadata = file.metadata().map_err(|e| e.to_string())?;
        if !metadata.is_file() {
            return Ok(false);
        }
        let filters = match &mut self.filters {
            Some(filters) => filters,
            none => none.insert(build_filters(self.repo, self.index).map_err(|e| e.to_string())?),
        };
        let location = gix::path::from_bstr(path).map_err(|e| e.to_string())?;
        let outcome = filters
            .convert_to_git(file, &location, self.index)
            .map_err(|e| describe_root_cause(&e))?;
        let (mut discard, never) = (gix::progress::Discard, AtomicBool::new(false));
        let id = match outcome {
            ToGitOutcome::Unchanged(mut file) => gix::objs::compute_stream_hash(
                hash,
                blob,
                &mut file,
                metadata.len(),
                &mut discard,
                &never,
            )
            .map_err(|e| describe_root_cause(&e))?,
            ToGitOutcome::Buffer(content) => {
                gix::objs::compute_hash(hash, blob, content).map_err(|e| describe_root_cause(&e))?
            }
            ToGitOutcome::Process(mut stream) => {
                let mut content = Vec::new();
                stream
                    .read_to_end(&mut content)
                    .map_err(|e| e.to_string())?;
                gix::objs::compute_hash(hash, blob, &content)
                    .map_err(|e| describe_root_cause(&e))?
            }
        };
        Ok(id == entry.id)
    }

    /// Opening a pipe called `.gitattributes` would block without end.
    fn refuse_odd_attributes(&mut self, path: &BStr) -> Result<(), String> {
        let own_folder = path
            .rfind_byte(b'/')
            .map_or(BStr::new(""), |at| &path[..at]);
        if self
            .attributes_read_in
            .as_ref()
            .is_some_and(|folder| folder == own_folder)
        {
            return Ok(());
        }
        let root = self.repo.workdir().expect("only worktrees are opened");
        let folders = path
            .find_iter("/")
            .map(|at| &path[..at])
            .chain([BStr::new("")]);
        for folder in folders {
            let file = root
                .join(std::ffi::OsStr::from_bytes(folder))
                .join(".gitattributes");
            if is_odd_file(&file) {
                return Err(format!("{} is neither a file nor a link", file.display()));
            }
        }
        let info = self.repo.common_dir().join("info/attributes");
        if is_odd_file(&info) {
            return Err(format!("{} is neither a file nor a link", info.display()));
        }
        self.attributes_read_in = Some(own_folder.to_owned());
        Ok(())
    }
}

/// With attributes by the index that is compared with: the repository may have been opened for a sibling, and knows the sibling's.
fn build_filters<'w>(
    repo: &'w gix::Repository,
    index: &State,
) -> gix::Result<gix::filter::Pipeline<'w>> {
    let attributes = repo.attributes_only(index, Source::WorktreeThenIdMapping)?;
    gix::filter::Pipeline::new(repo, attributes.detach())
}

/// Whether something is there that must not be opened.
pub(super) fn is_odd_file(file: &std::path::Path) -> bool {
    std::fs::symlink_metadata(file).is_ok_and(|m| !m.is_file() && !m.is_symlink() && !m.is_dir())
}

/// A size as git's index has it: its low 32 bits, and never 0 for a file with content, as 0 says that the times are not to be trusted.
#[expect(clippy::cast_possible_truncation, reason = "git keeps the low 32 bits")]
pub(super) fn index_size(bytes: u64) -> u32 {
    match bytes as u32 {
        0 if bytes > 0 => 1 << 31,
        low => low,
    }
}

/// The innermost cause in a chain of errors, which is what a person can act on.
pub(super) fn describe_root_cause(error: &gix::Error) -> String {
    error
        .iter_errors()
        .last()
        .map_or_else(|| error.to_string(), ToString::to_string)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::unnecessary_cast,
    reason = "git keeps the low 32 bits of each, and the widths differ between systems"
)]
fn stat_of(stat: &rustix::fs::Stat) -> Stat {
    Stat {
        mtime: Time {
            secs: stat.st_mtime as u32,
            nsecs: stat.st_mtime_nsec as u32,
        },
        ctime: Time {
            secs: stat.st_ctime as u32,
            nsecs: stat.st_ctime_nsec as u32,
        },
        dev: stat.st_dev as u32,
        ino: stat.st_ino as u32,
        uid: stat.st_uid as u32,
        gid: stat.st_gid as u32,
        size: index_size(stat.st_size as u64),
    }
}
