//! Files of the worktree: found by globs, read up to a limit, and never by way of a link that leads out.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use watchdog_core::checks::MatchedFile;
use watchdog_facts::patterns::{escapes_worktree, path_glob};
use watchdog_git::{escape_path, unescape_path};
use watchdog_system::read_regular_file;

/// The files that match a glob, sorted by path.
pub(super) fn find(root: &Path, glob: &str) -> io::Result<Vec<MatchedFile>> {
    let matcher = path_glob(glob).map_err(io::Error::other)?.compile_matcher();
    // Everything before the first wildcard is a plain folder: nothing beside it can match.
    let plain: PathBuf = Path::new(glob)
        .components()
        .take_while(|part| {
            !part
                .as_os_str()
                .to_string_lossy()
                .contains(['*', '?', '[', '{', '\\'])
        })
        .collect();
    let mut walk = SymlinkSafeWalk {
        root,
        real_root: root.canonicalize()?,
        seen: HashSet::new(),
        found: Vec::new(),
    };
    walk.visit(&plain, &|path| matcher.is_match(path))?;
    let mut found = walk.found;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// The bytes of a regular file; `None` where there is none.
pub fn read(root: &Path, path: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let refused = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why.to_owned());
    let bytes = unescape_path(path);
    let named = Path::new(OsStr::from_bytes(&bytes));
    if !named.is_absolute()
        && let Some(why) = escapes_worktree(path)
    {
        return Err(refused(why));
    }
    let real = match root.join(named).canonicalize() {
        Ok(real) => real,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if !named.is_absolute() && !real.starts_with(root.canonicalize()?) {
        return Err(refused("a symbolic link leads out of the worktree"));
    }
    read_regular_file(&real, limit).map(Some)
}

/// A walk below the root that follows links only where they stay inside, and no folder twice.
struct SymlinkSafeWalk<'a> {
    root: &'a Path,
    real_root: PathBuf,
    seen: HashSet<PathBuf>,
    found: Vec<MatchedFile>,
}

impl SymlinkSafeWalk<'_> {
    fn visit(&mut self, relative: &Path, matches: &dyn Fn(&Path) -> bool) -> io::Result<()> {
        let path = self.root.join(relative);
        let real = match path.canonicalize() {
            Ok(real) => real,
            // A link to nowhere, or a file that went away: nothing is there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if !real.starts_with(&self.real_root)
            || real
                .strip_prefix(&self.real_root)
                .is_ok_and(|inside| inside.starts_with(".git"))
        {
            return Ok(());
        }
        let metadata = fs::metadata(&real)?;
        if metadata.is_dir() {
            if !self.seen.insert(real) {
                return Ok(());
            }
            for entry in fs::read_dir(&path)? {
                self.visit(&relative.join(entry?.file_name()), matches)?;
            }
        } else if metadata.is_file() && matches(relative) {
            self.found.push(MatchedFile {
                path: escape_path(relative.as_os_str().as_bytes()),
                size: metadata.len(),
            });
        }
        Ok(())
    }
}
