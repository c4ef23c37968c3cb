//! Folders for targets whose readers take files, one for each thread.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};

thread_local! {
    static FOLDER: OnceCell<ScratchFolder> = const { OnceCell::new() };
}

/// A folder that goes with its thread.
#[derive(Debug)]
pub struct ScratchFolder(tempfile::TempDir);

/// Uses the folder of this thread.
pub fn in_thread<T>(use_it: impl FnOnce(&ScratchFolder) -> T) -> T {
    let made = || {
        ScratchFolder(
            tempfile::Builder::new()
                .prefix("watchdog-fuzz-")
                .tempdir()
                .expect("a scratch folder can be made"),
        )
    };
    FOLDER.with(|folder| use_it(folder.get_or_init(made)))
}

impl ScratchFolder {
    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A repository in it, without a commit, an index or refs. Made once.
    pub fn repository(&self) -> PathBuf {
        let root = self.path().join("repository");
        let git = root.join(".git");
        if !git.exists() {
            for folder in ["objects", "refs/heads"] {
                fs::create_dir_all(git.join(folder)).expect("a scratch folder can be made");
            }
            let config = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
            for (name, text) in [("HEAD", "ref: refs/heads/main\n"), ("config", config)] {
                fs::write(git.join(name), text).expect("a scratch file can be written");
            }
        }
        root
    }
}
