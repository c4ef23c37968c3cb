//! Finds the files that the table names: in a folder, above it or below it. Reads so much of each,
//! and regular files alone; notes what cannot be used.

use std::io;

use serde_json::Value;
use watchdog_git::{OwnFolder, Worktree};
use watchdog_system::read_regular_begin;

/// So much of a file is looked at, in bytes.
const MOST_BYTES: u64 = 1 << 20;
/// Files of the folders below that are opened for one line of the table.
const MOST_OPENED: usize = 2_000;

/// Looks for files of a worktree.
pub struct ProjectReader<'a> {
    /// The worktree.
    pub worktree: &'a Worktree,
    /// Its own folders, the nearest first.
    pub folders: &'a [OwnFolder],
    /// Notes on the files for a person.
    pub notes: Vec<String>,
    opened: usize,
}

impl<'a> ProjectReader<'a> {
    /// A reader of these folders.
    pub fn new(worktree: &'a Worktree, folders: &'a [OwnFolder]) -> Self {
        let unread = |folder: &OwnFolder| {
            let why = folder.unread.as_ref()?;
            Some(format!("failed to read ./{}: {why}", folder.path))
        };
        ProjectReader {
            worktree,
            folders,
            notes: folders.iter().filter_map(unread).collect(),
            opened: 0,
        }
    }

    /// The path of the first file in a column of the table.
    pub fn find_any(&mut self, folder: &OwnFolder, column: &str) -> Option<String> {
        column.split(", ").find_map(|sign| self.find(folder, sign))
    }

    fn find(&mut self, folder: &OwnFolder, sign: &str) -> Option<String> {
        let folders = self.folders;
        if let Some(sign) = sign.strip_prefix('^') {
            let mut above = folders
                .iter()
                .filter(|above| is_inside(&folder.path, &above.path));
            return above.find_map(|above| self.find(above, sign));
        }
        if let Some((top, sign)) = sign.split_once("**/") {
            let top = join_path(&folder.path, top.trim_end_matches('/'));
            let end = self.opened + MOST_OPENED;
            let mut below = folders.iter().filter(|below| is_inside(&below.path, &top));
            return below.find_map(|below| {
                if self.opened < end {
                    self.find(below, sign)
                } else {
                    None
                }
            });
        }
        let (pattern, wanted) = sign.split_at(sign.find([':', '#']).unwrap_or(sign.len()));
        let matches = |name: &&String| match pattern.split_once('*') {
            Some((start, end)) => {
                name.len() >= start.len() + end.len()
                    && name.starts_with(start)
                    && name.ends_with(end)
            }
            None => *name == pattern,
        };
        let deeper = Some(pattern.to_owned()).filter(|path| path.contains('/'));
        let mut paths = folder
            .files
            .iter()
            .filter(matches)
            .chain(&deeper)
            .map(|name| join_path(&folder.path, name));
        paths.find(|path| self.holds(path, wanted))
    }

    fn holds(&mut self, path: &str, wanted: &str) -> bool {
        if wanted.is_empty() {
            return self.worktree.root().join(path).is_file();
        }
        let Some(text) = self.read_text(path) else {
            return false;
        };
        match wanted.strip_prefix('#') {
            Some(name) if path.ends_with(".json") => self.has_script(path, &text, name),
            Some(name) => has_target(path, &text, name),
            None => text.contains(&wanted[1..]),
        }
    }

    /// The beginning of a file. A pipe or device in its place is no file.
    fn read_text(&mut self, path: &str) -> Option<String> {
        self.opened += 1;
        match read_regular_begin(&self.worktree.root().join(path), MOST_BYTES) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) => {
                use io::ErrorKind::{InvalidInput, NotFound};
                if !matches!(error.kind(), NotFound | InvalidInput) {
                    self.note(format!("failed to read {path}: {error}"));
                }
                None
            }
        }
    }

    /// Whether a package.json or composer.json has a script that can be run to its end.
    fn has_script(&mut self, path: &str, text: &str, name: &str) -> bool {
        let package: Value = match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
            Ok(package) => package,
            Err(error) => {
                self.note(format!(
                    "{path} is not used, as it is no valid JSON: {error}"
                ));
                return false;
            }
        };
        let script = &package["scripts"][name];
        let line = script.as_str().unwrap_or_default();
        let watches = |word: &str| matches!(word, "--watch" | "--watchAll" | "-w" | "watch");
        if line.split_whitespace().any(watches) {
            self.note(format!(
                "the script {name} of {path} is not used, as it watches files and may never end"
            ));
            return false;
        }
        // npm writes this placeholder.
        script.is_array() || !line.trim().is_empty() && !line.contains("no test specified")
    }

    /// Adds a note once.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// Whether a Makefile has a rule for a target, or a justfile a recipe that needs no argument.
fn has_target(path: &str, text: &str, name: &str) -> bool {
    let is_just = path.to_ascii_lowercase().ends_with("justfile");
    text.lines()
        .filter(|line| !line.starts_with(['\t', '#', ' ', '.', '[']))
        .filter_map(|line| line.split_once(':'))
        // Assignments are `a := b`, `a ::= b` and `a = b:c`.
        .filter(|(_, body)| !body.trim_start_matches(':').starts_with('='))
        .any(|(head, _)| {
            let mut words = head.trim_start_matches('@').split_whitespace();
            if is_just {
                words.next() == Some(name)
                    && words.all(|word| word.contains('=') || word.starts_with('*'))
            } else {
                !head.contains('=') && words.any(|word| word == name)
            }
        })
}

/// Whether a folder is another one or lies in it. Both are paths from the root, the empty path.
pub fn is_inside(folder: &str, top: &str) -> bool {
    let below = folder.strip_prefix(top);
    top.is_empty() || below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

fn join_path(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("", path) | (path, "") => path.to_owned(),
        _ => format!("{folder}/{name}"),
    }
}
