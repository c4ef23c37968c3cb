//! Compares files on disk with a commit: their exact bytes, and new ones without the present ignore rules.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::filter::plumbing::pipeline::{CrlfRoundTripCheck, convert::ToGitOutcome};
use gix::index::State;
use gix::index::entry::Mode;
use gix::worktree::stack::state::{Attributes, attributes::Source};
use rustix::fs::{Mode as Access, OFlags};
use sha2::{Digest, Sha256};

use super::error::{Error, ReadContext as _};
use super::guarded::has_dot_git;
use super::open::Worktree;
use super::path_text::join_path;
use super::worktrees::worktrees_of;
use watchdog_facts::display::to_hex;
use watchdog_system::is_missing;

/// The content of a path on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DiskContent {
    /// The same as in the commit.
    Same,
    /// No input.
    Absent,
    /// Something else, by the id of its bytes.
    Content(String),
}

/// Compares files on disk with one tree.
pub(super) struct DiskComparer<'w> {
    worktree: &'w Worktree,
    tree: ObjectId,
    conversion: Option<ContentConversion>,
    ignore: Option<gix::ignore::Search>,
}

/// Line endings and the like, by the attributes of the tree alone.
struct ContentConversion {
    attributes: gix::worktree::Stack,
    pipeline: gix::filter::plumbing::Pipeline,
}

impl<'w> DiskComparer<'w> {
    pub(crate) fn new(worktree: &'w Worktree, tree: ObjectId) -> Self {
        DiskComparer {
            worktree,
            tree,
            conversion: None,
            ignore: None,
        }
    }

    /// The content of a path on disk, compared with the tree. Follows no links on the way.
    pub(crate) fn at(
        &mut self,
        path: &BStr,
        expected: Option<(Mode, ObjectId)>,
    ) -> io::Result<DiskContent> {
        let file = self.path_of(path);
        if !self.is_folder(path[..path.rfind("/").unwrap_or_default()].as_bstr())? {
            return Ok(DiskContent::Absent);
        }
        let metadata = match file.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if is_missing(&error) => return Ok(DiskContent::Absent),
            Err(error) => return Err(error),
        };
        let expected_mode = expected.map(|(mode, _)| mode);
        if expected_mode == Some(Mode::COMMIT) {
            return Ok(self.submodule(&file, expected.map(|(_, id)| id)));
        }
        let hash = |bytes: &[u8]| {
            gix::objs::compute_hash(
                self.worktree.repo.object_hash(),
                gix::object::Kind::Blob,
                bytes,
            )
        };
        if metadata.is_symlink() {
            let target = fs::read_link(&file)?;
            let id = hash(target.as_os_str().as_bytes()).map_err(io::Error::other)?;
            let same = expected == Some((Mode::SYMLINK, id));
            return Ok(if same {
                DiskContent::Same
            } else {
                DiskContent::Content(format!("link {id}"))
            });
        }
        if !metadata.is_file() {
            return Ok(DiskContent::Content(
                if metadata.is_dir() {
                    "folder"
                } else {
                    "special file"
                }
                .to_owned(),
            ));
        }
        let bytes = read_file(&file)?;
        let id = hash(&bytes).map_err(io::Error::other)?;
        let Some((mode, wanted)) = expected.filter(|(mode, _)| *mode != Mode::SYMLINK) else {
            return Ok(DiskContent::Content(id.to_hex().to_string()));
        };
        let executable = metadata.permissions().mode() & 0o100 != 0;
        let bits_count = self
            .worktree
            .repo
            .config_snapshot()
            .boolean("core.fileMode")
            .unwrap_or(true);
        if bits_count && executable != (mode == Mode::FILE_EXECUTABLE) {
            return Ok(DiskContent::Content(format!("mode {id}")));
        }
        // Content that cannot be converted cannot be compared, and counts as changed.
        let same = id == wanted
            || self
                .is_converted(path, mode, wanted, &bytes)
                .unwrap_or(false);
        Ok(if same {
            DiskContent::Same
        } else {
            DiskContent::Content(id.to_hex().to_string())
        })
    }

    /// The files below a folder that are `new`, but for those that the tree's own rules ignore.
    /// `depth` is how many folders deep they can lie.
    pub(crate) fn new_files(
        &mut self,
        folder: &str,
        depth: Option<usize>,
        new: &dyn Fn(&BStr) -> bool,
    ) -> Result<BTreeMap<BString, DiskContent>, Error> {
        let top = BString::from(super::path_text::unescape_path(folder));
        let mut contents = BTreeMap::new();
        if !top.is_empty()
            && (self.rules_ignore(top.as_bstr())? || self.is_ignored(top.as_bstr(), true)?)
        {
            return Ok(contents);
        }
        let mut open = vec![top.clone()];
        let mut others: Option<Vec<PathBuf>> = None;
        while let Some(folder) = open.pop() {
            let path = self.path_of(folder.as_bstr());
            let doing = || format!("list {}", path.display());
            if !self.is_folder(folder.as_bstr()).with_context(doing)? {
                continue;
            }
            let entries = match fs::read_dir(&path) {
                Ok(entries) => entries,
                Err(error) if is_missing(&error) => continue,
                Err(error) => return Err(Error::read_error(doing(), error)),
            };
            for entry in entries {
                let entry = entry.with_context(doing)?;
                let name = entry.file_name();
                if name == ".git" {
                    continue;
                }
                let path = join_path(&folder, name.as_bytes());
                let is_folder = entry.file_type().with_context(doing)?.is_dir();
                let too_deep =
                    is_folder && depth.is_some_and(|depth| path.find_iter("/").count() >= depth);
                if too_deep
                    || !is_folder && !new(path.as_bstr())
                    || self.is_ignored(path.as_bstr(), is_folder)?
                {
                    continue;
                }
                if !is_folder {
                    let here = self.at(path.as_bstr(), None).with_context(doing)?;
                    contents.insert(path, here);
                    continue;
                }
                // Another worktree of the repository is judged separately, unless a glob matches its path.
                let other_worktree = top.is_empty() && has_dot_git(&entry.path()) && {
                    let others = others.get_or_insert_with(|| {
                        worktrees_of(self.worktree.common_dir())
                            .into_iter()
                            .map(|worktree| worktree.root)
                            .collect()
                    });
                    others.contains(&entry.path())
                };
                if !other_worktree {
                    open.push(path);
                }
            }
        }
        Ok(contents)
    }

    /// Whether the tree's own rules ignore a path or a folder above it.
    pub(crate) fn rules_ignore(&mut self, path: &BStr) -> Result<bool, Error> {
        for at in path.find_iter("/") {
            if self.is_ignored(path[..at].as_bstr(), true)? {
                return Ok(true);
            }
        }
        self.is_ignored(path, false)
    }

    fn is_ignored(&mut self, path: &BStr, is_folder: bool) -> Result<bool, Error> {
        if self.ignore.is_none() {
            self.ignore = Some(self.ignore_rules()?);
        }
        let rules = self.ignore.as_ref().expect("was just made");
        let case = gix::glob::pattern::Case::Sensitive;
        Ok(rules
            .pattern_matching_relative_path(path, Some(is_folder), case)
            .is_some_and(|matched| !matched.pattern.is_negative()))
    }

    /// The `.gitignore` files of the tree: those of today, `info/exclude` and the user's own list are in the hands of whoever is judged.
    fn ignore_rules(&self) -> Result<gix::ignore::Search, Error> {
        const FILE: &[u8] = b".gitignore";
        let mut search = gix::ignore::Search::default();
        let index = self.index_of_tree()?;
        let mut files: Vec<(&BStr, ObjectId)> = (index.entries().iter())
            .filter(|entry| entry.mode == Mode::FILE || entry.mode == Mode::FILE_EXECUTABLE)
            .map(|entry| (entry.path(&index), entry.id))
            .filter(|(path, _)| {
                path.strip_suffix(FILE)
                    .is_some_and(|before| before.is_empty() || before.ends_with(b"/"))
            })
            .collect();
        files.sort_by_key(|(path, _)| path.find_iter("/").count());
        let root = self.worktree.root();
        for (path, id) in files {
            let blob = self
                .worktree
                .repo
                .find_object(id)
                .with_context(|| format!("read {path}"))?;
            let rules = gix::ignore::search::Ignore {
                support_precious: false,
            };
            // The only error is a name that cannot be expressed, which unix does not have.
            search
                .add_patterns_buffer(&blob.data, self.path_of(path), Some(root), rules)
                .ok();
        }
        Ok(search)
    }

    fn index_of_tree(&self) -> Result<State, Error> {
        let doing = || format!("read tree {}", self.tree);
        if self.tree == ObjectId::empty_tree(self.worktree.repo.object_hash()) {
            return Ok(State::new(self.worktree.repo.object_hash()));
        }
        Ok(self
            .worktree
            .repo
            .index_from_tree(&self.tree)
            .with_context(doing)?
            .into())
    }

    fn path_of(&self, path: &BStr) -> PathBuf {
        self.worktree
            .root()
            .join(Path::new(std::ffi::OsStr::from_bytes(path)))
    }

    /// Whether a path and all above it are folders, and no links. An unreadable one may be a
    /// folder, so that this is an error.
    fn is_folder(&self, path: &BStr) -> io::Result<bool> {
        let ends = path
            .find_iter("/")
            .chain((!path.is_empty()).then_some(path.len()));
        for end in ends {
            match self.path_of(path[..end].as_bstr()).symlink_metadata() {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(_) => return Ok(false),
                Err(error) if is_missing(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn submodule(&self, folder: &Path, expected: Option<ObjectId>) -> DiskContent {
        let dot_git = folder.join(".git");
        if dot_git.symlink_metadata().is_err() {
            // A submodule that was never checked out is an empty folder.
            let empty = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
            return if empty {
                DiskContent::Same
            } else {
                DiskContent::Content("folder".to_owned())
            };
        }
        let is_clean = || -> Result<bool, Error> {
            let inner = Worktree::open_at(&dot_git, folder)?;
            Ok(inner.head_id()? == expected && !inner.changes()?.any())
        };
        if is_clean().unwrap_or(false) {
            DiskContent::Same
        } else {
            DiskContent::Content("submodule".to_owned())
        }
    }

    /// Whether bytes are what a checkout makes of a blob: line endings, encoding and `$Id$` by the tree's attributes, or a file of git-lfs.
    fn is_converted(
        &mut self,
        path: &BStr,
        mode: Mode,
        wanted: ObjectId,
        bytes: &[u8],
    ) -> Option<bool> {
        let blob = self.worktree.repo.find_object(wanted).ok()?.detach().data;
        if let Some(named) = lfs_content(&blob) {
            return Some(to_hex(&Sha256::digest(bytes)) == named);
        }
        if self.conversion.is_none() {
            self.conversion = Some(self.conversion()?);
        }
        let ContentConversion {
            attributes,
            pipeline,
        } = self.conversion.as_mut()?;
        let at = attributes
            .at_entry(path, Some(mode), &self.worktree.repo.objects)
            .ok()?;
        let relative = gix::path::from_bstr(path).ok()?;
        let outcome = pipeline.convert_to_git(
            bytes,
            &relative,
            &mut |_, found| _ = at.matching_attributes(found),
            &mut |buffer| {
                buffer.extend_from_slice(&blob);
                Ok(Some(()))
            },
        );
        match outcome.ok()? {
            ToGitOutcome::Buffer(converted) => Some(converted == blob),
            ToGitOutcome::Unchanged(_) | ToGitOutcome::Process(_) => Some(false),
        }
    }

    fn conversion(&self) -> Option<ContentConversion> {
        let repo = &self.worktree.repo;
        let index = self.index_of_tree().ok()?;
        let mut collection = gix::attrs::search::MetadataCollection::default();
        let built_in = gix::attrs::Search::new_globals(
            std::iter::empty::<PathBuf>(),
            &mut Vec::new(),
            &mut collection,
        )
        .ok()?;
        let state = gix::worktree::stack::State::AttributesStack(Attributes::new(
            built_in,
            None,
            Source::IdMapping,
            collection,
        ));
        let attributes = gix::worktree::Stack::from_state_and_ignore_case(
            self.worktree.root(),
            false,
            state,
            &index,
            index.path_backing(),
        );
        let mut options = gix::filter::Pipeline::options(repo).ok()?;
        options.drivers.clear();
        options.crlf_roundtrip_check = CrlfRoundTripCheck::Skip;
        let pipeline = gix::filter::plumbing::Pipeline::new(
            repo.command_context().ok()?,
            repo.object_hash(),
            options,
        );
        Some(ContentConversion {
            attributes,
            pipeline,
        })
    }
}

/// Not blocking and not following, as the file may have become a pipe or a link meanwhile.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(path, flags, Access::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file any more"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The SHA-256 of the content that a pointer of git-lfs names.
fn lfs_content(blob: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(blob).ok().filter(|text| {
        text.len() < 1024 && text.starts_with("version https://git-lfs.github.com/")
    })?;
    text.lines()
        .find_map(|line| line.strip_prefix("oid sha256:"))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_looked_at_is_not_absent() {
        let folder = tempfile::tempdir().unwrap();
        gix::init(folder.path()).unwrap();
        let worktree = Worktree::open(folder.path()).unwrap();
        let mut disk =
            DiskComparer::new(&worktree, ObjectId::empty_tree(worktree.repo.object_hash()));
        assert_eq!(disk.at("none".into(), None).unwrap(), DiskContent::Absent);
        // A tree can hold a name that no file system takes.
        let longer_than_any = "n".repeat(300);
        assert!(disk.at(longer_than_any.as_str().into(), None).is_err());
    }

    #[test]
    fn only_regular_files_are_read_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "bytes").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), Access::RUSR | Access::WUSR).unwrap();
        assert_eq!(read_file(&at("file")).unwrap(), b"bytes");
        for name in ["link", "folder", "pipe", "nothing"] {
            assert!(read_file(&at(name)).is_err(), "{name}");
        }
    }
}
