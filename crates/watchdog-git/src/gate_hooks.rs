//! The hooks of git that can refuse a commit or a push: recorded with a baseline, and compared at the end. Runs none of them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use gix::bstr::ByteSlice as _;

use super::content_ids::content_hash;
use super::error::{Error, ReadContext as _};
use super::harden;
use super::open::Worktree;
use super::path_text::escape_path;
use super::reflog::{self, ReflogAction, ReflogEntry};
use super::tree_change::find_file;
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::gate_hooks::{
    GATE_HOOKS, GateHook, GateHooks, GateOff, GateOffKind, does_nothing,
};
use watchdog_facts::shell_line::{WorktreeCommands, shell_path};
use watchdog_system::{is_missing, read_regular_file};

/// A larger hook is not read.
const MAX_HOOK: u64 = 16 << 20;

/// Files from beside a hook that scripts of husky run first.
const BESIDE: [&str; 3] = ["h", "husky.sh", "_/husky.sh"];

/// The lists of such managers, by a word of their stubs.
const MANAGERS: [(&str, &[&str]); 2] = [
    ("pre-commit", &[".pre-commit-config.yaml"]),
    (
        "lefthook",
        &[
            "lefthook.yml",
            ".lefthook.yml",
            "lefthook.yaml",
            "lefthook.toml",
            "lefthook.json",
        ],
    ),
];

/// How many texts are searched for what a hook runs.
const MOST_CALLED: usize = 32;

/// Programs that run the file that is named next.
const INTERPRETERS: [&str; 11] = [
    ".", "source", "sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl",
];

/// Programs that run what a file of the root calls by a word.
const MAKE: (&[&str], &[&str]) = (&["make"], &["GNUmakefile", "makefile", "Makefile"]);
const PACKAGE: (&[&str], &[&str]) = (&["npm", "pnpm", "yarn", "bun"], &["package.json"]);

/// A commit as its hooks would have seen it.
#[derive(Debug, Clone)]
pub struct CommitForHooks {
    /// Its tree.
    pub tree: String,
    /// Its parent; `None` for the first of a repository.
    pub parent: Option<String>,
    /// Its message.
    pub message: Vec<u8>,
    /// Whether the log of the current branch shows that it was made there, or cannot be read.
    pub made_on_branch: bool,
}

impl Worktree {
    /// The gates that git runs now, as far as they can be read.
    pub fn read_gate_hooks(&self) -> GateHooks {
        let mut gates = GateHooks::default();
        let folder = match self.hooks_folder() {
            Ok((folder, _)) => folder,
            Err(error) => {
                gates.unread = Some(error.to_string());
                return gates;
            }
        };
        gates.folder = escape_path(folder.as_os_str().as_bytes());
        for name in GATE_HOOKS {
            match self.read_hook(&folder, name) {
                Ok(Some((hook, false))) if is_executable(&hook) => {
                    gates.hooks.insert(name.to_owned(), hook);
                }
                Ok(_) => {}
                Err(error) => {
                    let path = escape_to_one_line(&folder.join(name).to_string_lossy());
                    gates
                        .unread
                        .get_or_insert(format!("failed to read {path}: {error}"));
                }
            }
        }
        gates
    }

    /// The recorded gates that git does not run as they were.
    pub fn compare_gate_hooks(&self, recorded: &GateHooks) -> Vec<GateOff> {
        let folder = self.hooks_folder();
        let recorded_folder = escape_to_one_line(&recorded.folder);
        let compare = |(name, hook): (&String, &GateHook)| {
            let (how, end, more) = match &folder {
                Err(error) => (GateOffKind::Unreadable, "is unknown", format!(": {error}")),
                Ok(now) => self.compare_gate(&recorded.folder, (name, hook), now)?,
            };
            Some(GateOff {
                gate: name.clone(),
                how,
                detail: format!(
                    "the hook {name} of {recorded_folder} {end} since the session began{more}"
                ),
            })
        };
        recorded.hooks.iter().filter_map(compare).collect()
    }

    /// The change of one gate, with the parts of a sentence about it; `None` where it is as it was.
    fn compare_gate(
        &self,
        recorded_folder: &str,
        (name, hook): (&str, &GateHook),
        (folder, setting): &(PathBuf, Option<String>),
    ) -> Option<(GateOffKind, &'static str, String)> {
        let state = self.read_hook(folder, name);
        if let Ok(Some((now, _))) = &state
            && now.digest == hook.digest
            && is_executable(now)
        {
            return None;
        }
        if escape_path(folder.as_os_str().as_bytes()) != recorded_folder {
            let value = match setting {
                Some(setting) => format!("'{}'", escape_to_one_line(setting)),
                None => "not set".to_owned(),
            };
            let find = WorktreeCommands::at(&self.root).git("config --show-origin core.hooksPath");
            let more = format!(": core.hooksPath is {value} (look with: {find})");
            return Some((GateOffKind::HooksPath, "is not run", more));
        }
        let none = String::new;
        Some(match state {
            Err(error) => (
                GateOffKind::Unreadable,
                "cannot be read",
                format!(": {error}"),
            ),
            Ok(None) => (GateOffKind::Removed, "is gone", none()),
            Ok(Some((_, true))) => (GateOffKind::Emptied, "does nothing", none()),
            Ok(Some((now, _))) if !is_executable(&now) => {
                let mend = format!("chmod +x {}", shell_path(&folder.join(name)));
                let more = format!(": git may not execute it (mend with: {mend})");
                (GateOffKind::NotExecutable, "is not run", more)
            }
            Ok(Some(_)) => (
                GateOffKind::Changed,
                "has changed, itself or what it runs,",
                none(),
            ),
        })
    }

    /// The folder in which git looks for hooks now, and the setting that says so. The configuration may be younger than ours.
    pub fn hooks_folder(&self) -> Result<(PathBuf, Option<String>), Error> {
        let settings =
            watchdog_system::read_git_settings(&self.git_dir, |name| std::env::var_os(name))
                .unwrap_or_default();
        let repo = gix::open_opts(&self.git_dir, harden::build_open_options(&settings))
            .context("read core.hooksPath")?;
        let Some(setting) = repo.config_snapshot().string("core.hooksPath") else {
            return Ok((self.common_dir.join("hooks"), None));
        };
        let named = gix::path::from_bstr(setting.as_bstr()).unwrap_or_default();
        let folder = match (named.strip_prefix("~"), std::env::home_dir()) {
            (Ok(below), Some(home)) => home.join(below),
            // git takes an empty folder for the root of the system.
            _ if named.as_os_str().is_empty() => PathBuf::from("/"),
            _ => self.root.join(&named),
        };
        Ok((folder, Some(setting.to_string())))
    }

    /// A hook with what it runs, and whether that does nothing; `None` where git would run none.
    fn read_hook(&self, folder: &Path, name: &str) -> io::Result<Option<(GateHook, bool)>> {
        let Some((size, mode, stub)) = read_file(&folder.join(name))? else {
            return Ok(None);
        };
        let mut parts = vec![stub];
        // husky's stubs run the script of the folder above, if there is one.
        if let (true, Some(above)) = (folder.ends_with("_"), folder.parent()) {
            let Some((_, _, script)) = read_file(&above.join(name))? else {
                return Ok(None);
            };
            parts.push(script);
        }
        let idle = parts.iter().any(|part| does_nothing(part));
        let mut paths: Vec<_> = BESIDE.iter().map(|beside| folder.join(beside)).collect();
        for (_, lists) in MANAGERS
            .iter()
            .filter(|(word, _)| parts[0].contains_str(word))
        {
            paths.extend(lists.iter().map(|list| self.root.join(list)));
        }
        let called = self.list_called(parts.clone())?;
        for path in paths {
            parts.extend(read_file(&path)?.map(|(_, _, text)| text));
        }
        parts.extend(called);
        let digest = content_hash(&parts.join(&b'\0'));
        Ok(Some((GateHook { size, mode, digest }, idle)))
    }

    /// What the texts of a hook run in the work tree: tracked scripts, rules of make, scripts of `package.json`, and what these run.
    fn list_called(&self, mut texts: Vec<Vec<u8>>) -> io::Result<Vec<Vec<u8>>> {
        let (of_hook, mut at) = (texts.len(), 0);
        let mut programs = BTreeSet::new();
        let root = format!("{}/", self.root.display());
        while let Some(text) = texts.get(at).filter(|_| at < MOST_CALLED) {
            at += 1;
            if text.contains(&0) {
                continue;
            }
            let text = String::from_utf8_lossy(text).replace(&root, "");
            let lines = text
                .lines()
                .filter(|line| !line.trim_start().starts_with('#'));
            let text = lines.collect::<Vec<_>>().join("\n");
            let is_end = |c: char| !c.is_alphanumeric() && !"._-+/".contains(c);
            let words: Vec<&str> = text.split(is_end).filter(|word| !word.is_empty()).collect();
            programs.extend(words.iter().map(|word| (*word).to_owned()));
            let mut called = Vec::new();
            let is_run = |nth: usize| nth > 0 && INTERPRETERS.contains(&words[nth - 1]);
            let runs: BTreeSet<(&str, bool)> = (words
                .iter()
                .enumerate()
                .map(|(nth, word)| (*word, is_run(nth))))
            .collect();
            for (word, is_run) in runs {
                called.extend(self.read_script(word, is_run)?);
            }
            let words: BTreeSet<&str> = words.into_iter().collect();
            for ((names, lists), find) in [
                (MAKE, find_rules as fn(&str, &str) -> Option<String>),
                (PACKAGE, find_package_scripts),
            ] {
                if !names.iter().any(|name| programs.contains(*name)) {
                    continue;
                }
                // Make reads the first of them that is there.
                let list = lists.iter().find(|list| self.root.join(list).is_file());
                let Some(name) = list else { continue };
                let Some((_, _, list)) = read_file(&self.root.join(name))? else {
                    continue;
                };
                let list = String::from_utf8_lossy(&list);
                let entries = words.iter().filter_map(|word| find(&list, word));
                called.extend(entries.map(|entry| format!("{name}\n{entry}").into_bytes()));
            }
            for text in called {
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
        }
        Ok(texts.split_off(of_hook))
    }

    /// The text of a tracked file that runs, behind its name and whether it may: after an interpreter, or as a program of its own.
    fn read_script(&self, word: &str, is_run: bool) -> io::Result<Option<Vec<u8>>> {
        let name = word.trim_start_matches("./").trim_start_matches('/');
        let is_inside = |part| matches!(part, Component::Normal(_));
        let path = self.root.join(name);
        if name.is_empty() || !Path::new(name).components().all(is_inside) || !path.is_file() {
            return Ok(None);
        }
        let tracked = (self.head_tree()).and_then(|tree| find_file(self, tree, name.into()));
        if !matches!(tracked, Ok(Some(_))) {
            return Ok(None);
        }
        let file = read_file(&path)?;
        let runs = |(_, mode, text): &(u64, u32, Vec<u8>)| {
            is_run || mode & 0o111 != 0 || text.starts_with(b"#!")
        };
        Ok(file.filter(runs).map(|(_, mode, text)| {
            let head = format!("{name} {}\n", mode & 0o111 != 0);
            [head.as_bytes(), &text].concat()
        }))
    }

    /// A commit as its hooks would have seen it; `None` for a merge.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn commit_for_hooks(&self, commit: &str) -> Result<Option<CommitForHooks>, Error> {
        let doing = || format!("read commit {commit}");
        let object = self.find_commit(commit, doing)?;
        let tree = object.tree_id().with_context(doing)?;
        let mut parents = object
            .parent_ids()
            .map(|parent| parent.to_hex().to_string());
        let parent = parents.next();
        let branch = self.branch().unwrap_or_default();
        let log = self.common_dir.join("logs/refs/heads").join(branch);
        let is_making =
            |entry: &ReflogEntry| entry.new == object.id && entry.action == ReflogAction::Made;
        let made_on_branch = self.served.is_some()
            || reflog::read_entries(&log).is_ok_and(|log| log.iter().any(is_making));
        Ok(parents.next().is_none().then(|| CommitForHooks {
            tree: tree.to_hex().to_string(),
            parent,
            message: object.message_raw_sloppy().to_vec(),
            made_on_branch,
        }))
    }
}

/// All that a makefile says of a target: its rules, those of a pattern, and the lines that choose how every recipe runs.
fn find_rules(makefile: &str, target: &str) -> Option<String> {
    const FOR_ALL: [&str; 5] = ["SHELL", "MAKEFLAGS", ".SHELLFLAGS", "include", "-include"];
    let (mut is_in_rule, mut rules) = (false, Vec::new());
    for line in makefile.lines() {
        let is_head = !line.starts_with(['\t', '#', ' ']) && !line.is_empty();
        if is_head {
            let (targets, _) = line.split_once(':').unwrap_or_default();
            is_in_rule = (targets.split_whitespace())
                .any(|word| word == target || word.contains('%'))
                || FOR_ALL.iter().any(|word| line.starts_with(word));
        }
        if is_in_rule {
            rules.push(line);
        }
    }
    let is_target = |line: &&str| line.contains(target);
    rules.iter().any(is_target).then(|| rules.join("\n"))
}

/// The scripts of a name in a `package.json`, with those that run before and behind it: the last of one name counts, a text may hide it.
fn find_package_scripts(package: &str, name: &str) -> Option<String> {
    let (_, scripts) = package.split_once("\"scripts\"")?;
    let mut values = Vec::new();
    for key in [name, &format!("pre{name}"), &format!("post{name}")] {
        for (_, value) in scripts
            .match_indices(&format!("\"{key}\""))
            .map(|(at, key)| scripts.split_at(at + key.len()))
        {
            let value = value.trim_start().strip_prefix(':').map(str::trim_start);
            let Some(value) = value.and_then(|value| value.strip_prefix('"')) else {
                continue;
            };
            let is_end = |at: usize| !value[..at].ends_with('\\');
            values.extend(
                value
                    .match_indices('"')
                    .find(|(at, _)| is_end(*at))
                    .map(|(end, _)| &value[..end]),
            );
        }
    }
    (!values.is_empty()).then(|| values.join("\n"))
}

fn is_executable(hook: &GateHook) -> bool {
    hook.mode & 0o111 != 0
}

/// Size, mode and bytes of a file; `None` where there is none.
fn read_file(path: &Path) -> io::Result<Option<(u64, u32, Vec<u8>)>> {
    let metadata = match fs::metadata(path) {
        Err(error) if is_missing(&error) => {
            return Ok(None);
        }
        metadata => metadata?,
    };
    let bytes = read_regular_file(path, MAX_HOOK)?;
    Ok(Some((metadata.len(), metadata.mode(), bytes)))
}
