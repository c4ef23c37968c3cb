//! A worktree whose refs git serves: asks git, and keeps the mirror as it answers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::git_server::{self, GitProcessOutput, REFTABLE, ReftableGit};
use super::mirror::{RefMirror, RefValue};
use crate::error::{Error, ReadContext as _};

/// The file that changes with every ref of a repository that keeps them in tables (reftable), below each of its git directories.
pub const TABLES: &str = "reftable/tables.list";

/// The refs of the last read.
#[derive(Default)]
pub(super) struct MirroredRefs {
    /// The list of tables that the mirror was read from.
    tables: Option<Vec<u8>>,
    pub refs: BTreeMap<String, RefValue>,
}

/// The options of a repository's refs, for a store of them elsewhere.
pub(crate) fn ref_store_options(repo: &gix::Repository) -> gix::refs::store::init::Options {
    gix::refs::store::init::Options {
        write_reflog: repo.refs.write_reflog,
        precompose_unicode: repo.refs.precompose_unicode,
        prohibit_windows_device_names: repo.refs.prohibit_windows_device_names,
    }
}

/// A worktree whose refs git serves.
pub(crate) struct ServedWorktree {
    server: &'static ReftableGit,
    git_dir: PathBuf,
    pub(super) common_dir: PathBuf,
    pub(super) mirror: RefMirror,
    pub(super) seen: RefCell<MirroredRefs>,
}

impl ServedWorktree {
    /// Starts to serve the worktree with these git directories.
    ///
    /// # Errors
    /// When no git server is set, the mirror cannot be written, or git does not answer.
    pub(crate) fn begin(git_dir: &Path, common_dir: &Path) -> Result<Self, Error> {
        let server = git_server::get_git_server().ok_or_else(|| {
            Error::read_failure(
                format!("read the refs of {}", common_dir.display()),
                format!("extensions.refStorage is '{REFTABLE}', and there is no git to ask"),
            )
        })?;
        let mirror = RefMirror::new(&server.scratch, git_dir)?;
        let served = ServedWorktree {
            server,
            git_dir: git_dir.to_owned(),
            common_dir: common_dir.to_owned(),
            mirror,
            seen: RefCell::default(),
        };
        served.refresh()?;
        Ok(served)
    }

    /// Lets gix read the refs of this repository from the mirror.
    pub(crate) fn store(&self, repo: &gix::Repository) -> gix::refs::file::Store {
        let options = ref_store_options(repo);
        gix::refs::file::Store::at_opts(self.folder().to_owned(), repo.object_hash(), options)
    }

    /// The folder that replaces the git directory for reading refs.
    pub(crate) fn folder(&self) -> &Path {
        self.mirror.folder()
    }

    /// Sees to it that the mirror shows the refs as they are now. Asks git only where a table has changed.
    ///
    /// # Errors
    /// When git does not answer, or the mirror cannot be written.
    pub(crate) fn refresh(&self) -> Result<(), Error> {
        let tables = self.tables()?;
        if self.seen.borrow().tables.as_ref() == Some(&tables) {
            return Ok(());
        }
        let mut seen = self.seen.borrow_mut();
        // The mirror is invalid until all of it is written.
        seen.tables = None;
        let refs = self.list()?;
        self.mirror.show(&refs)?;
        *seen = MirroredRefs {
            tables: Some(tables),
            refs,
        };
        Ok(())
    }

    /// The names of the tables, of which each change makes a new one.
    fn tables(&self) -> Result<Vec<u8>, Error> {
        let list = |folder: &Path| folder.join(TABLES);
        let shared = list(&self.common_dir);
        let mut tables = fs::read(&shared).with_context(|| format!("read {}", shared.display()))?;
        if self.git_dir != self.common_dir {
            tables.push(b'|');
            match fs::read(list(&self.git_dir)) {
                Ok(own) => tables.extend(own),
                // A worktree without refs of its own has none.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(Error::read_error(
                        format!("read {}", list(&self.git_dir).display()),
                        error,
                    ));
                }
            }
        }
        Ok(tables)
    }

    /// Runs git, and returns any answer.
    pub(super) fn ask(&self, args: &[&str], stdin: &[u8]) -> Result<GitProcessOutput, Error> {
        // No program of the repository runs, and no process stays behind.
        let fixed = [
            "--git-dir=.",
            "--no-pager",
            "--no-optional-locks",
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "gc.auto=0",
            "-c",
            "maintenance.auto=false",
            "-c",
            "core.fsync=reference",
            "-c",
            "core.fsyncMethod=fsync",
            "-c",
            "reftable.lockTimeout=10000",
        ];
        let all_args = [&fixed[..], args].concat();
        self.server
            .git
            .run(&self.git_dir, &all_args, stdin)
            .map_err(|why| self.silence_error(args, &why))
    }

    /// Asks git, which must answer with success.
    pub(super) fn git_output(&self, args: &[&str], stdin: &[u8]) -> Result<Vec<u8>, Error> {
        let answer = self.ask(args, stdin)?;
        match answer.code {
            Some(0) => Ok(answer.stdout),
            _ => Err(self.refusal_error(args, &answer)),
        }
    }

    pub(super) fn refusal_error(&self, args: &[&str], answer: &GitProcessOutput) -> Error {
        let how = answer.code.map_or_else(
            || "was ended".to_owned(),
            |code| format!("ended with exit code {code}"),
        );
        let stderr = answer.stderr.trim();
        // An older git says just this much.
        let hint = if stderr.contains("refstorage") {
            " (git 2.45 or later reads this format)"
        } else {
            ""
        };
        self.silence_error(args, &format!("it {how}: {stderr}{hint}"))
    }

    pub(super) fn silence_error(&self, args: &[&str], why: &str) -> Error {
        let what = args.first().copied().unwrap_or_default();
        Error::read_failure(
            format!(
                "ask git about the refs of {} (git {what})",
                self.common_dir.display()
            ),
            why.to_owned(),
        )
    }
}
