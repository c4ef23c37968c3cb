//! Ignored files that no tool made, as they were when a session began: no commit has them. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::display::{escape_to_one_line, plural};
use super::session_work::{BULK_FOLDERS, in_tool_folder, is_dropping};

/// Such files by path, percent-escaped where not UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IgnoredFiles {
    /// Each with what tells it from another file. Empty files have nothing to lose.
    pub files: BTreeMap<String, FileMark>,
    /// The first path that was left out because of a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond: Option<String>,
}

impl IgnoredFiles {
    /// Whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The size of a file, and what stays the same where it is renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMark {
    /// Its size.
    pub bytes: u64,
    /// The file system's number of it.
    pub inode: u64,
    /// When it was last written, in whole seconds.
    pub mtime: i64,
}

/// An ignored file of the session's begin that is gone, or empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostFile {
    /// Its path.
    pub path: String,
    /// Its size when the session began.
    pub bytes: u64,
    /// The id of the snapshot that has its content; `None` where no copy is left.
    pub snapshot: Option<String>,
}

impl LostFile {
    /// The path and the size, for a person.
    pub fn describe(&self) -> String {
        let size = plural(self.bytes, "byte");
        format!("'{}' ({size})", escape_to_one_line(&self.path))
    }
}

/// Endings of files that compilers, runners and databases make again by themselves.
const OUTPUTS: [&str; 44] = [
    "o",
    "obj",
    "a",
    "so",
    "dylib",
    "dll",
    "lib",
    "exe",
    "pdb",
    "class",
    "jar",
    "war",
    "pyc",
    "pyo",
    "pyd",
    "whl",
    "rlib",
    "rmeta",
    "d",
    "gch",
    "gcda",
    "gcno",
    "log",
    "tmp",
    "temp",
    "pid",
    "sock",
    "lock",
    "cache",
    "tsbuildinfo",
    "map",
    "eslintcache",
    "stylelintcache",
    "coverage",
    "profraw",
    "aux",
    "toc",
    "fls",
    "out",
    "beam",
    "hi",
    "cmi",
    "cmo",
    "cmx",
];

/// Whether no build makes an ignored file, by its path below the place where git begins to ignore. Committed folders around that place may
/// have the name of a tool's.
pub fn is_made_by_hand(path: &str, ignored_from: usize) -> bool {
    let inside = path.get(ignored_from..).unwrap_or(path);
    let mut names = path.rsplit('/');
    let name = names.next().unwrap_or(path).to_ascii_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_transient = ["-wal", "-shm", "-journal", "~"];
    !in_tool_folder(inside)
        && !names.any(|folder| BULK_FOLDERS.contains(&folder))
        && !is_dropping(path)
        && !OUTPUTS.contains(&ending)
        && !is_transient.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_builds_is_not_made_by_hand() {
        for (path, ignored_from, expected) in [
            ("notes/plan.md", 0, true),
            ("dev.sqlite", 0, true),
            (".env.local", 0, true),
            ("public/uploads/a.png", 7, true),
            ("public/uploads/a.png", 0, false),
            ("uploads/dist/a.js", 0, false),
            ("web/node_modules/x/.env", 20, false),
            ("notes/", 0, true),
            ("target/", 0, false),
            ("dev.sqlite-wal", 0, false),
            ("lib/a.PYC", 4, false),
            ("server.log", 0, false),
            (".DS_Store", 0, false),
        ] {
            assert_eq!(is_made_by_hand(path, ignored_from), expected, "{path}");
        }
    }
}
