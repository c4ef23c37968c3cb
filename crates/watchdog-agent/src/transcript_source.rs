//! Finds the transcripts of a folder, by the block `transcripts` of an agent's preset.
//!
//! A transcript is the folder's where its own path says so (`{slug}`), or its first line. Names and times are looked at before anything is
//! opened: folders that nothing was created in since are passed over, and of the other files only
//! the newest are opened. If more would have to be read than that, the listing says that it is
//! incomplete, so that no caller takes a session for the only one.

use std::cell::Cell;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::preset::definition::{RunningList, TranscriptLocation};
use super::preset::{AgentPreset, PresetCatalog};
use super::session_id::is_session_id;
use super::transcript::{ClaudeHome, TranscriptFile};
use watchdog_facts::display::to_hex;
use watchdog_system::{open_regular_file, read_entries};

/// How many names of a folder are read.
const ENTRIES: usize = 10_000;
/// How many names are read where the transcripts of all folders lie together, in all.
const NAMES: usize = 200_000;
/// How many files are looked at by their times.
const STATS: usize = 50_000;
/// How many first lines are read.
const OPENED: usize = 300;
/// Bytes of a first line: Codex writes the instructions of its model there.
const FIRST_LINE: u64 = 1 << 20;
/// Longer slugs are shortened by Claude Code, with a hash behind them; those are found by their beginning.
const SLUG: usize = 200;
/// File systems note times by a clock that lags behind, by a tick of the kernel.
pub(super) const COARSE: Duration = Duration::from_millis(100);

/// The agents that are built in and keep transcripts: each with the variable that names its folder, and the place of that in the home folder.
const FOLDERS: [(&str, Option<&str>, &str); 4] = [
    ("claude", Some("CLAUDE_CONFIG_DIR"), ".claude"),
    ("codex", Some("CODEX_HOME"), ".codex"),
    ("gemini", Some("GEMINI_CLI_HOME"), ".gemini"),
    ("qwen", None, ".qwen"),
];

/// The place of an agent's transcripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptSource {
    /// The word of the agent's preset.
    pub agent: String,
    /// The folder that the variable names, or that below the home folder.
    base: PathBuf,
    location: TranscriptLocation,
    /// Whether a question can go to the latest session, by the agent's own rule.
    pub asks_latest: bool,
}

/// Transcripts of one folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TranscriptListing {
    /// They, in no order.
    pub files: Vec<TranscriptFile>,
    /// Whether there are no others: everything that could be one was read.
    pub complete: bool,
}

impl TranscriptSource {
    /// The place of an agent's transcripts; `None` if its preset does not say it, or there is no
    /// home folder.
    pub fn from_preset(preset: &AgentPreset, home: &ClaudeHome) -> Option<Self> {
        let location = preset.transcripts.clone()?;
        let base = find_base(location.variable.as_deref(), &location.home, home)?;
        let asks_latest = preset
            .question
            .as_ref()
            .is_some_and(|question| question.latest.is_some());
        Some(TranscriptSource {
            agent: preset.name.clone(),
            base,
            location,
            asks_latest,
        })
    }

    /// The same of an agent that is built in; `None` where its folder is missing, and its preset is not read then.
    pub fn from_built_in(name: &str, home: &ClaudeHome) -> Option<Self> {
        let (_, variable, place) = FOLDERS.into_iter().find(|(agent, ..)| *agent == name)?;
        // A folder that cannot be looked for may be there.
        if let Ok(false) = find_base(variable, place, home)?.try_exists() {
            return None;
        }
        Self::from_preset(PresetCatalog::built_in_named(name)?.as_ref(), home)
    }

    /// The folder in which the agent lists its running sessions, and the form of that list.
    pub fn running_list(&self) -> Option<(PathBuf, &RunningList)> {
        let form = self.location.running.as_ref()?;
        Some((self.base.join(&form.folder), form))
    }

    /// Whether those of a folder lie together, so that all of them can be noted before a session begins.
    pub fn is_by_folder(&self) -> bool {
        self.location.folder.contains("{slug}")
    }

    /// The transcripts of a folder. If those of all folders lie together, lists those begun at or
    /// after `since`, or without it the latest alone.
    pub fn listing(&self, worktree: &Path, since: Option<Timestamp>) -> TranscriptListing {
        let Ok(root) = fs::canonicalize(worktree) else {
            return TranscriptListing::default();
        };
        if !self.reads_first_lines() {
            let unread = Cell::new(false);
            let folders = self.folders(&root, &unread);
            let paths = folders
                .iter()
                .flat_map(|folder| list_files(folder, ENTRIES, &unread));
            let files = paths.filter_map(|path| transcript_at(&path)).collect();
            return TranscriptListing {
                files,
                complete: !unread.get(),
            };
        }
        let since = since.map(|since| SystemTime::from(since.min(Timestamp::now())) - COARSE);
        let (mut candidates, mut complete) = self.candidates(&root, since);
        candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.0));
        let mut files = Vec::new();
        for (opened, (_, path)) in candidates.iter().enumerate() {
            if opened == OPENED {
                complete = false;
                break;
            }
            match self.read_first_line(path, &root) {
                FirstLine::Ours(file) if since.is_none() => {
                    return TranscriptListing {
                        files: vec![file],
                        complete,
                    };
                }
                FirstLine::Ours(file) => {
                    files.extend(Some(file).filter(|file| since <= file.begun))
                }
                FirstLine::Other => {}
                FirstLine::Unreadable => complete = false,
            }
        }
        TranscriptListing { files, complete }
    }

    /// The latest session of a folder; `None` if there is none.
    pub fn latest(&self, worktree: &Path) -> Option<TranscriptFile> {
        super::transcript::choose_latest_transcript(self.listing(worktree, None).files)
    }

    /// The transcript of a session by its id, as it is now.
    pub fn session(&self, worktree: &Path, session_id: &str) -> Option<TranscriptFile> {
        if !is_session_id(session_id) {
            return None;
        }
        let root = fs::canonicalize(worktree).ok()?;
        // A transcript in a folder that cannot be read is not at hand.
        let unread = Cell::new(false);
        let folders = self.folders(&root, &unread);
        if self.location.id == "name" {
            let transcript_file = folders
                .iter()
                .find_map(|folder| transcript_at(&folder.join(format!("{session_id}.jsonl"))))?;
            return Some(transcript_file).filter(|candidate_file| {
                self.location.cwd.is_none() || self.is_ours(&candidate_file.path, &root)
            });
        }
        // The names of such files have at least the beginning of the id.
        let part = &session_id[..8];
        let mut names_left = NAMES;
        let named = folders.iter().flat_map(|folder| {
            let paths = list_files(folder, names_left, &unread);
            names_left = names_left.saturating_sub(paths.len());
            paths
        });
        let named = named.filter(|path| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.contains(part))
        });
        named
            .take(OPENED)
            .find_map(|path| match self.read_first_line(&path, &root) {
                FirstLine::Ours(file) if file.session_id == session_id => Some(file),
                _ => None,
            })
    }

    fn reads_first_lines(&self) -> bool {
        self.location.id != "name" || self.location.cwd.is_some()
    }

    /// The files that can be a transcript begun since, with the time of the last change.
    fn candidates(
        &self,
        root: &Path,
        since: Option<SystemTime>,
    ) -> (Vec<(SystemTime, PathBuf)>, bool) {
        let (mut found, mut left, mut stats) = (Vec::new(), NAMES, STATS);
        let unread = Cell::new(false);
        for folder in self.folders(root, &unread) {
            // A folder changes when something is created in it.
            let unchanged = |since: SystemTime| {
                fs::metadata(&folder)
                    .and_then(|about| about.modified())
                    .is_ok_and(|at| at < since)
            };
            if since.is_some_and(unchanged) {
                continue;
            }
            let mut listed = list_files(&folder, left, &unread);
            left -= listed.len();
            // Names that begin with a time have the newest last.
            listed.sort();
            for path in listed.into_iter().rev() {
                if stats == 0 {
                    return (found, false);
                }
                stats -= 1;
                let Ok(about) = fs::metadata(&path) else {
                    continue;
                };
                let Some(modified) = about
                    .modified()
                    .ok()
                    .filter(|_| about.is_file() && about.len() > 0)
                else {
                    continue;
                };
                let old = since.is_some_and(|since| {
                    modified < since || about.created().is_ok_and(|begun| begun < since)
                });
                if !old {
                    found.push((modified, path));
                }
            }
        }
        (found, left > 0 && !unread.get())
    }

    fn is_ours(&self, path: &Path, root: &Path) -> bool {
        matches!(self.read_first_line(path, root), FirstLine::Ours(_))
    }

    fn read_first_line(&self, path: &Path, root: &Path) -> FirstLine {
        let mut line = Vec::new();
        let read = open_regular_file(path)
            .and_then(|file| BufReader::new(file.take(FIRST_LINE)).read_until(b'\n', &mut line));
        let Ok(first) = read
            .map_err(drop)
            .and_then(|_| serde_json::from_slice::<Value>(&line).map_err(drop))
        else {
            return FirstLine::Unreadable;
        };
        let text = |pointer: &str| first.pointer(pointer).and_then(Value::as_str);
        if let Some(pointer) = &self.location.cwd
            && !text(pointer).is_some_and(|cwd| is_folder(cwd, root))
        {
            return FirstLine::Other;
        }
        let id = match self.location.id.as_str() {
            "name" => path.file_stem().and_then(|name| name.to_str()),
            pointer => text(pointer),
        };
        let (Some(id), Ok(about)) = (id.filter(|id| is_session_id(id)), fs::metadata(path)) else {
            return FirstLine::Unreadable;
        };
        let Ok(modified) = about.modified() else {
            return FirstLine::Unreadable;
        };
        // A file that was copied or written anew is younger than its session.
        let stated = self
            .location
            .begun
            .as_deref()
            .and_then(text)
            .and_then(|at| at.parse::<Timestamp>().ok())
            .map(SystemTime::from);
        let begun = match (about.created().ok(), stated) {
            (Some(created), Some(stated)) => Some(created.min(stated)),
            (created, stated) => created.or(stated),
        };
        FirstLine::Ours(TranscriptFile {
            session_id: id.to_owned(),
            path: path.to_owned(),
            modified,
            size: about.len(),
            begun,
        })
    }

    /// The folders of the files, the last by name first: folders of days are named so that the newest are.
    fn folders(&self, root: &Path, unread: &Cell<bool>) -> Vec<PathBuf> {
        let mut matching_folders = vec![self.base.clone()];
        for part in self
            .location
            .folder
            .split('/')
            .filter(|part| !part.is_empty())
        {
            matching_folders = match part {
                "*" => matching_folders
                    .iter()
                    .flat_map(|folder| list_subfolders(folder, unread))
                    .take(ENTRIES)
                    .collect(),
                _ if part.contains("{slug}") => matching_folders
                    .iter()
                    .filter_map(|folder| slug_folder(folder, (part, root), unread))
                    .collect(),
                name => matching_folders
                    .iter()
                    .map(|folder| folder.join(name))
                    .collect(),
            };
        }
        matching_folders
    }
}

/// The folder that a variable names, or else that in the home folder.
fn find_base(variable: Option<&str>, place: &str, home: &ClaudeHome) -> Option<PathBuf> {
    match variable.and_then(|variable| home.variable(variable)) {
        Some(named) => Some(PathBuf::from(named)),
        None => Some(PathBuf::from(home.variable("HOME")?).join(place)),
    }
}

/// The content of a file's first line.
enum FirstLine {
    /// It is a transcript of the folder.
    Ours(TranscriptFile),
    /// It is one of another folder.
    Other,
    /// Whose it is cannot be read.
    Unreadable,
}

/// Whether a session's folder is this one: by its path, or by the hash of its path, as Gemini CLI writes it.
fn is_folder(cwd: &str, root: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt as _;
    let hash = || to_hex(&Sha256::digest(root.as_os_str().as_bytes()));
    Path::new(cwd) == root
        || cwd.len() == 64 && cwd == hash()
        || cwd.starts_with('/') && fs::canonicalize(cwd).is_ok_and(|cwd| cwd == root)
}

/// The paths in a folder, at most so many; notes where it cannot be read, so that nobody takes what is in it for nothing.
fn paths_in(folder: &Path, most: usize, unread: &Cell<bool>) -> Vec<PathBuf> {
    let entries = read_entries(folder, most).inspect_err(|_| unread.set(true));
    entries
        .unwrap_or_default()
        .iter()
        .map(fs::DirEntry::path)
        .collect()
}

/// The files of a folder that can be transcripts, of at most so many names.
fn list_files(folder: &Path, most: usize, unread: &Cell<bool>) -> Vec<PathBuf> {
    let mut paths = paths_in(folder, most, unread);
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "jsonl")
    });
    paths
}

fn list_subfolders(folder: &Path, unread: &Cell<bool>) -> Vec<PathBuf> {
    let mut paths = paths_in(folder, ENTRIES, unread);
    paths.retain(|path| fs::symlink_metadata(path).is_ok_and(|about| about.is_dir()));
    paths.sort();
    paths.reverse();
    paths
}

fn slug_folder(parent: &Path, (part, root): (&str, &Path), unread: &Cell<bool>) -> Option<PathBuf> {
    let name = part.replace("{slug}", &path_to_slug(root));
    if name.len() <= SLUG {
        return Some(parent.join(name));
    }
    let beginning = &name[..SLUG];
    let entries = paths_in(parent, ENTRIES, unread).into_iter();
    let candidates: Vec<PathBuf> = entries
        .filter(|path| {
            path.file_name()
                .and_then(|n| n.to_str())
                .is_some_and(|name| name.starts_with(beginning))
        })
        .collect();
    // Two long paths with the same beginning: which is ours is not known.
    match candidates.as_slice() {
        [one] => Some(one.clone()),
        _ => None,
    }
}

/// The folder name for a path: one `-` for each UTF-16 unit that is no ASCII letter or digit, as JavaScript replaces them.
pub(super) fn path_to_slug(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.chars()
        .flat_map(|c| {
            std::iter::repeat_n(
                if c.is_ascii_alphanumeric() { c } else { '-' },
                c.len_utf16(),
            )
        })
        .collect()
}

fn transcript_at(path: &Path) -> Option<TranscriptFile> {
    let session_id = path
        .file_name()?
        .to_str()?
        .strip_suffix(".jsonl")
        .filter(|id| is_session_id(id))?
        .to_owned();
    let about = fs::metadata(path)
        .ok()
        .filter(|about| about.is_file() && about.len() > 0)?;
    let (modified, begun) = (about.modified().ok()?, about.created().ok());
    Some(TranscriptFile {
        session_id,
        path: path.to_owned(),
        modified,
        size: about.len(),
        begun,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::preset::PresetCatalog;

    const A: &str = "01a20978-3979-7ed0-8d18-a07076ced231";
    const B: &str = "199082ab-e660-48e0-85d1-b13940d17b17";
    const C: &str = "8317b68f-2082-49f8-8532-0eb97367f047";

    struct Home {
        scratch: tempfile::TempDir,
        root: PathBuf,
    }

    impl Home {
        fn new() -> Self {
            let scratch = tempfile::tempdir().expect("a scratch folder");
            fs::create_dir_all(scratch.path().join("work")).expect("a folder");
            let root = fs::canonicalize(scratch.path().join("work")).expect("it exists");
            Home { scratch, root }
        }

        /// The source of a preset that is built in, in this home. No variable of this process moves it.
        fn source(&self, preset: &str) -> TranscriptSource {
            let preset = PresetCatalog::built_in_named(preset).expect("it is built in");
            let mut preset = AgentPreset::clone(&preset);
            preset.transcripts.as_mut().expect("it names them").variable = None;
            TranscriptSource::from_preset(
                &preset,
                &ClaudeHome {
                    config_dir: None,
                    home: Some(self.scratch.path().into()),
                },
            )
            .expect("a home")
        }

        fn write(&self, path: &str, first: &Value) {
            self.write_text(path, &format!("{first}\n{}\n", json!({"more": true})));
        }

        fn write_text(&self, path: &str, text: &str) {
            let path = self.scratch.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
    }

    fn codex(id: &str, cwd: &Path, at: Timestamp) -> Value {
        json!({"type": "session_meta", "payload": {"id": id, "timestamp": at, "cwd": cwd, "base_instructions": {"text": "x".repeat(30_000)}}})
    }

    fn ids(listing: &TranscriptListing) -> Vec<&str> {
        let mut ids: Vec<&str> = listing
            .files
            .iter()
            .map(|file| file.session_id.as_str())
            .collect();
        ids.sort_unstable();
        ids
    }

    fn ago(seconds: i64) -> Timestamp {
        Timestamp::now() - jiff::SignedDuration::from_secs(seconds)
    }

    #[test]
    fn agent_layout_locates_its_session() {
        let home = Home::new();
        let hash: String = Sha256::digest(home.root.to_str().expect("UTF-8"))
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let qwen = format!(
            ".qwen/projects/{}/chats/{C}.jsonl",
            path_to_slug(&home.root)
        );
        let gemini = json!({"sessionId": B, "projectHash": hash, "startTime": Timestamp::now()});
        home.write(
            &format!(".codex/sessions/2026/11/23/rollout-2026-11-23T17-33-23-{A}.jsonl"),
            &codex(A, &home.root, Timestamp::now()),
        );
        home.write(
            ".gemini/tmp/work/chats/session-2026-11-23T17-33-199082ab.jsonl",
            &gemini,
        );
        home.write(&qwen, &json!({"sessionId": C}));
        for (preset, id) in [("codex", A), ("gemini", B), ("qwen", C)] {
            let source = home.source(preset);
            for since in [None, Some(ago(5))] {
                let listing = source.listing(&home.root, since);
                assert_eq!(
                    (ids(&listing), listing.complete),
                    (vec![id], true),
                    "{preset} {since:?}"
                );
            }
            assert_eq!(
                source
                    .session(&home.root, id)
                    .map(|transcript_file| transcript_file.session_id)
                    .as_deref(),
                Some(id),
                "{preset}"
            );
            assert_eq!(
                source
                    .latest(&home.root)
                    .map(|transcript_file| transcript_file.session_id)
                    .as_deref(),
                Some(id),
                "{preset}"
            );
            for other_id in [A, B, C, "../../x", "ses_dfde5e0f2ffeKDNAhfAScDx7E4"]
                .into_iter()
                .filter(|candidate_id| *candidate_id != id)
            {
                assert_eq!(source.session(&home.root, other_id), None, "{preset}");
            }
            assert_eq!(
                source.listing(home.scratch.path(), None).files,
                [],
                "another folder's are not these, {preset}"
            );
        }
    }

    #[test]
    fn agent_without_folder_keeps_no_transcripts() {
        for preset in PresetCatalog::built_in() {
            let place = Home::new();
            let home = ClaudeHome {
                config_dir: None,
                home: Some(place.scratch.path().into()),
            };
            let row = FOLDERS.iter().find(|(name, ..)| *name == preset.name);
            let variable = |location: &TranscriptLocation| location.variable.clone();
            assert_eq!(
                row.map(|(_, variable, _)| variable.map(str::to_owned)),
                preset.transcripts.as_ref().map(variable),
            );
            let by_name = || TranscriptSource::from_built_in(&preset.name, &home);
            let source = TranscriptSource::from_preset(preset, &home);
            let is_moved =
                |source: &TranscriptSource| !source.base.starts_with(place.scratch.path());
            if source.as_ref().is_some_and(is_moved) {
                continue;
            }
            assert_eq!(by_name(), None, "{}", preset.name);
            if let Some(source) = &source {
                let first = source.location.folder.split('/').next().expect("a folder");
                fs::create_dir_all(source.base.join(first)).expect("a folder");
            }
            assert_eq!(by_name(), source, "{}", preset.name);
            let has_list = source.is_some_and(|source| source.running_list().is_some());
            assert_eq!(has_list, preset.name == "claude");
        }
    }

    #[test]
    fn session_begun_before_does_not_count_as_since() {
        let home = Home::new();
        let folder = ".codex/sessions/2026/11/23";
        home.write(
            &format!("{folder}/rollout-1-{A}.jsonl"),
            &codex(A, &home.root, ago(3600)),
        );
        home.write(
            &format!("{folder}/rollout-2-{B}.jsonl"),
            &codex(B, &home.root, Timestamp::now()),
        );
        home.write(
            &format!("{folder}/rollout-3-{C}.jsonl"),
            &codex(C, home.scratch.path(), Timestamp::now()),
        );
        let source = home.source("codex");
        let listing = source.listing(&home.root, Some(ago(60)));
        assert_eq!(
            (ids(&listing), listing.complete),
            (vec![B], true),
            "a copy of an old one is not new, and another folder's is not this one's"
        );
        assert_eq!(ids(&source.listing(&home.root, Some(ago(7200)))), [A, B]);
    }

    #[test]
    fn what_cannot_be_read_may_be_another_one() {
        for text in [
            "nonsense\n",
            "{\"payload\":{\"id\":",
            "{\"payload\": 1}",
            "[1]\n",
            "\u{0}",
        ] {
            let home = Home::new();
            let folder = ".codex/sessions/2026/11/23";
            home.write(
                &format!("{folder}/rollout-1-{A}.jsonl"),
                &codex(A, &home.root, Timestamp::now()),
            );
            home.write_text(&format!("{folder}/rollout-2.jsonl"), text);
            home.write_text(&format!("{folder}/notes.txt"), text);
            home.write_text(&format!("{folder}/rollout-3.jsonl"), "");
            let listing = home.source("codex").listing(&home.root, Some(ago(60)));
            // A first line that names another folder, or none, is no session of this one.
            let is_json = serde_json::from_str::<Value>(text.trim()).is_ok();
            assert_eq!(
                (ids(&listing), listing.complete),
                (vec![A], is_json),
                "{text}"
            );
        }
    }

    #[test]
    fn transcripts_in_an_unreadable_folder_are_unknown() {
        let home = Home::new();
        let source = home.source("qwen");
        assert!(source.listing(&home.root, None).complete, "no folder yet");
        // Rights keep nothing from root: another thing is in the place of the folder.
        home.write_text(
            &format!(".qwen/projects/{}/chats", path_to_slug(&home.root)),
            "",
        );
        assert!(
            [None, Some(ago(60))]
                .iter()
                .all(|since| !source.listing(&home.root, *since).complete)
        );
    }

    #[test]
    fn only_newest_of_many_transcripts_are_opened() {
        let home = Home::new();
        let folder = ".codex/sessions/2026/11/23";
        for number in 0..OPENED + 5 {
            let id = format!("01a20978-3979-7ed0-8d18-{number:012}");
            home.write_text(
                &format!("{folder}/rollout-{number:04}-{id}.jsonl"),
                &format!("{}\n", json!({"payload": {"id": id, "cwd": "/elsewhere"}})),
            );
        }
        let listing = home.source("codex").listing(&home.root, Some(ago(600)));
        assert_eq!(
            (listing.files.len(), listing.complete),
            (0, false),
            "whether there are others is not known"
        );
    }
}
