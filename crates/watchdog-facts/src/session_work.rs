//! Whose an uncommitted file is: the session's, or one that was there before it, or one that came after its end. Pure.

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

use super::gate_hooks::GateHooks;
use super::ignored_files::IgnoredFiles;

/// Content ids by path; ids are equal where the bytes on disk are.
pub type ContentIds = BTreeMap<String, String>;

/// The uncommitted files when the session began, and when it ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionEdgeFiles {
    /// The files from before the session, which are no work while their content stays the same.
    pub inherited: ContentIds,
    /// The uncommitted files at the recorded end; `None` where no end is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ContentIds>,
    /// The entries of the stash when the session began, newest first; `None` where an older version recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stashes: Option<Vec<String>>,
    /// The contents that files had in those entries: whoever pops one brings them, and makes nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stashed: BTreeMap<String, Vec<String>>,
    /// The other worktrees of the repository when the session began, by their ids.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub siblings: BTreeMap<String, SiblingWork>,
    /// Sentences about those that were not looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread_siblings: Vec<String>,
    /// The gates of the repository when the session began; `None` where they were not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates: Option<GateHooks>,
    /// The same at the recorded end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates_at_end: Option<GateHooks>,
    /// The ignored files that no tool made, when the session began.
    #[serde(default, skip_serializing_if = "IgnoredFiles::is_empty")]
    pub ignored: IgnoredFiles,
    /// The bundle of all refs that was there when the session began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
}

/// Work in another worktree of the repository, when a session began that could disturb it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SiblingWork {
    /// The ref of the snapshot of what was uncommitted there, if anything was.
    pub snapshot: Option<String>,
    /// The shared git directory of its repository, where that has this one as a submodule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outer: Option<String>,
    /// The commits that its submodules had left behind.
    pub left_behind: Vec<String>,
    /// Its folder; empty where an older version recorded it.
    #[serde(default)]
    pub root: String,
    /// The first of its ignored files that no tool made.
    #[serde(default, skip_serializing_if = "IgnoredFiles::is_empty")]
    pub ignored: IgnoredFiles,
    /// The repositories of its submodules by their folders, each with its name and the commits of its HEAD and branches.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub submodules: BTreeMap<String, (String, Vec<String>)>,
}

/// Whose an uncommitted file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UncommittedOrigin {
    /// The session made it, or changed it.
    Session,
    /// It was uncommitted when the session began, and is as it was.
    Inherited,
    /// It came, or changed, after the recorded end.
    SinceEnd,
    /// A desktop, an editor or the agent's program left it behind.
    Dropping,
}

impl SessionEdgeFiles {
    /// The owner of the file at `path`; `id` returns its present content id, and is only called if it decides.
    pub fn whose(&self, path: &str, id: impl Fn() -> String) -> UncommittedOrigin {
        let before = self.inherited.get(path);
        let at_end = self.end.as_ref().map(|end| end.get(path));
        if before.is_none() && is_dropping(path) {
            return UncommittedOrigin::Dropping;
        }
        let stashed = self.stashed.get(path);
        if before.is_none() && at_end.is_none() && stashed.is_none() {
            return UncommittedOrigin::Session;
        }
        let now = id();
        if before == Some(&now) || stashed.is_some_and(|ids| ids.contains(&now)) {
            return UncommittedOrigin::Inherited;
        }
        match at_end {
            Some(at_end) if at_end != Some(&now) => UncommittedOrigin::SinceEnd,
            Some(_) | None => UncommittedOrigin::Session,
        }
    }

    /// Goes on after the recorded end, with these files uncommitted `now`: what came since then is no work of the session.
    pub fn resume(&mut self, now: &ContentIds) {
        for (path, id) in now {
            if self.whose(path, || id.clone()) == UncommittedOrigin::SinceEnd {
                self.inherited.insert(path.clone(), id.clone());
            }
        }
        (self.end, self.gates_at_end) = (None, None);
    }

    /// The uncommitted work of the session at its recorded end: the spec's work that the next session continues.
    pub fn left_by_session(&self) -> ContentIds {
        let end = self.end.iter().flatten();
        let is_older = |(path, id): &(&String, &String)| {
            self.inherited.get(*path) == Some(*id)
                || self.stashed.get(*path).is_some_and(|ids| ids.contains(*id))
        };
        end.filter(|file| !is_older(file))
            .map(|(path, id)| (path.clone(), id.clone()))
            .collect()
    }
}

/// The part of the uncommitted files `now` that the next session of a spec inherits: all but those that an earlier session left.
pub fn drop_earlier_work(now: ContentIds, earlier: &ContentIds) -> ContentIds {
    now.into_iter()
        .filter(|(path, id)| earlier.get(path) != Some(id))
        .collect()
}

/// Files that programs leave behind by themselves. They are kept in snapshots, and are no work.
pub fn is_dropping(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let names = [
        ".DS_Store",
        "Thumbs.db",
        "desktop.ini",
        "nohup.out",
        ".directory",
    ];
    let editors = [".swp", ".swo", ".swx"];
    let agents = [
        ".claude/settings.local.json",
        ".claude/todos/",
        ".claude/logs/",
        ".codex/log/",
        ".gemini/tmp/",
        ".opencode/log/",
        ".aider.chat.history.md",
        ".aider.input.history",
        ".aider.tags.cache",
        ".specstory/",
        "claude.log",
        "codex.log",
        "gemini.log",
        "opencode.log",
    ];
    names.contains(&name)
        || editors
            .iter()
            .any(|end| name.starts_with('.') && name.ends_with(end))
        || agents.iter().any(|agent| match agent.strip_suffix('/') {
            Some(folder) => path.starts_with(agent) || path.contains(&format!("/{folder}/")),
            None => {
                path == *agent
                    || path.ends_with(&format!("/{agent}"))
                    || path.starts_with(&format!("{agent}.v"))
            }
        })
}

/// Folders that package managers and tools fill and that are never committed on purpose.
pub const BULK_FOLDERS: [&str; 18] = [
    "node_modules",
    "bower_components",
    ".venv",
    "__pycache__",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".gradle",
    ".terraform",
    ".next",
    ".nuxt",
    ".parcel-cache",
    ".svelte-kit",
    ".eggs",
    ".cargo-cache",
    ".pnpm-store",
];

/// Further folders that builds, tests, editors and agents fill. Somebody's own code may lie in one that is committed; in one that is ignored
/// it is not looked for.
const FILLED_FOLDERS: [&str; 59] = [
    "target",
    "venv",
    "env",
    "virtualenv",
    "vendor",
    "deps",
    "dist",
    "dist-newstyle",
    "build",
    "_build",
    ".build",
    "out",
    ".output",
    "bin",
    "obj",
    "Debug",
    "Release",
    "DerivedData",
    "Pods",
    "Carthage",
    "CMakeFiles",
    "cmake-build-debug",
    "cmake-build-release",
    "coverage",
    "htmlcov",
    ".nyc_output",
    "playwright-report",
    "test-results",
    "storybook-static",
    "site-packages",
    "site",
    "_site",
    "public",
    "generated",
    "tmp",
    "temp",
    "log",
    "logs",
    "cache",
    ".cache",
    ".turbo",
    ".vercel",
    ".netlify",
    ".serverless",
    ".angular",
    ".dart_tool",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".direnv",
    ".docusaurus",
    ".expo",
    ".yarn",
    ".bundle",
    ".idea",
    ".vscode",
    ".claude",
    ".codex",
    "elm-stuff",
    "zig-out",
];

/// Whether a path lies in a folder that tools fill, told by the names of its folders.
pub fn in_tool_folder(path: &str) -> bool {
    let mut folders = path.split('/');
    folders.next_back();
    folders.any(|name| {
        BULK_FOLDERS.contains(&name)
            || FILLED_FOLDERS.contains(&name)
            || name.ends_with(".egg-info")
    })
}

/// Endings of files that people and agents write: code, and text about it. Data is mostly a program's.
const HAND_MADE: [&str; 76] = [
    "rs", "py", "pyi", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte",
    "astro", "go", "java", "kt", "kts", "scala", "groovy", "c", "h", "cc", "cpp", "cxx", "hh",
    "hpp", "m", "mm", "cs", "fs", "vb", "rb", "erb", "php", "swift", "dart", "lua", "r", "jl",
    "ex", "exs", "erl", "hrl", "clj", "cljs", "hs", "ml", "mli", "elm", "nim", "zig", "v", "sv",
    "sol", "sh", "bash", "zsh", "fish", "ps1", "pl", "pm", "sql", "graphql", "proto", "tf", "html",
    "css", "scss", "sass", "less", "md", "mdx", "rst", "adoc", "txt",
];

/// Whether a file looks like a person's or an agent's own work, by its path alone.
pub fn is_hand_made(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let by_ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && HAND_MADE.contains(&ending.to_ascii_lowercase().as_str())
    });
    (by_ending || matches!(name, "Makefile" | "Dockerfile" | "Justfile" | "justfile"))
        && !name.contains(".min.")
        && !is_dropping(path)
        && !in_tool_folder(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(pairs: &[(&str, &str)]) -> ContentIds {
        pairs
            .iter()
            .map(|(path, id)| ((*path).to_owned(), (*id).to_owned()))
            .collect()
    }

    #[test]
    fn file_is_inherited_only_while_unchanged() {
        let record = SessionEdgeFiles {
            inherited: ids(&[("notes", "1")]),
            ..SessionEdgeFiles::default()
        };
        assert_eq!(
            record.whose("notes", || "1".into()),
            UncommittedOrigin::Inherited
        );
        assert_eq!(
            record.whose("notes", || "2".into()),
            UncommittedOrigin::Session
        );
        assert_eq!(
            record.whose("notes", || "absent".into()),
            UncommittedOrigin::Session
        );
        let popped = SessionEdgeFiles {
            stashed: [("a".to_owned(), vec!["1".to_owned(), "2".to_owned()])].into(),
            end: Some(ids(&[("a", "2"), ("b", "2")])),
            ..SessionEdgeFiles::default()
        };
        assert_eq!(
            popped.whose("a", || "2".into()),
            UncommittedOrigin::Inherited
        );
        assert_eq!(popped.left_by_session(), ids(&[("b", "2")]));
        assert_eq!(
            record.whose("new", || unreachable!("nothing was there before")),
            UncommittedOrigin::Session
        );
    }

    #[test]
    fn what_changes_after_the_end_is_nobodys() {
        let record = SessionEdgeFiles {
            inherited: ids(&[("notes", "1")]),
            end: Some(ids(&[("notes", "1"), ("made", "5")])),
            ..SessionEdgeFiles::default()
        };
        assert_eq!(
            record.whose("made", || "5".into()),
            UncommittedOrigin::Session
        );
        assert_eq!(
            record.whose("made", || "6".into()),
            UncommittedOrigin::SinceEnd
        );
        assert_eq!(
            record.whose("later", || "7".into()),
            UncommittedOrigin::SinceEnd
        );
        assert_eq!(
            record.whose("notes", || "1".into()),
            UncommittedOrigin::Inherited
        );
        assert_eq!(record.left_by_session(), ids(&[("made", "5")]));
    }

    #[test]
    fn next_session_continues_the_leftover_work() {
        let earlier_work = ids(&[("made", "5"), ("half", "1")]);
        let now = ids(&[("made", "5"), ("half", "2"), ("mine", "9")]);
        assert_eq!(
            drop_earlier_work(now, &earlier_work),
            ids(&[("half", "2"), ("mine", "9")])
        );
    }

    #[test]
    fn droppings_are_known_by_their_names() {
        for (path, want) in [
            (".DS_Store", true),
            ("src/.DS_Store", true),
            ("src/.main.rs.swp", true),
            (".claude/settings.local.json", true),
            (".claude/settings.json", false),
            (".claude/logs/x.txt", true),
            ("claude.log", true),
            ("shop/claude.log", true),
            ("my-claude.log", false),
            (".aider.tags.cache.v4/cache.db", true),
            ("shop/.codex/log/x", true),
            ("notes.swp", false),
            (".env", false),
            ("build.log", false),
            ("src/main.rs", false),
            ("swp", false),
        ] {
            assert_eq!(is_dropping(path), want, "{path}");
        }
    }

    #[test]
    fn code_is_told_from_output_of_tools() {
        for (path, is_work) in [
            ("lib/parser.rs", true),
            ("work.py", true),
            ("docs/NOTES.md", true),
            ("Makefile", true),
            ("notes.txt", true),
            ("web/node_modules/left-pad/index.js", false),
            ("target/debug/build/out.rs", false),
            (".venv/lib/site.py", false),
            ("pkg/__pycache__/a.py", false),
            ("coverage/prettify.js", false),
            ("my.egg-info/requires.txt", false),
            ("data.csv", false),
            ("results.json", false),
            ("app.min.js", false),
            ("debug.log", false),
            (".env", false),
            ("a.out", false),
            (".aider.chat.history.md", false),
        ] {
            assert_eq!(is_hand_made(path), is_work, "{path}");
        }
    }

    #[test]
    fn a_dropping_that_was_there_before_is_inherited() {
        let record = SessionEdgeFiles {
            inherited: ids(&[(".DS_Store", "1")]),
            ..SessionEdgeFiles::default()
        };
        assert_eq!(
            record.whose(".DS_Store", || "1".into()),
            UncommittedOrigin::Inherited
        );
        assert_eq!(
            SessionEdgeFiles::default().whose(".DS_Store", String::new),
            UncommittedOrigin::Dropping
        );
    }
}
