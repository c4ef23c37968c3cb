//! Where Claude Code keeps the transcripts of a worktree, and which of them `--continue` would take.
//!
//! A transcript is `<configuration>/projects/<slug>/<session id>.jsonl`; the slug is the real path of the folder with every
//! character that is not alphanumeric as `-`. The newest by modification time is the latest session.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::session_id::is_session_id;

/// How many entries of a folder are read.
const ENTRIES: usize = 10_000;
/// Claude Code shortens longer slugs and appends a hash; those are found by their beginning.
const SLUG: usize = 200;

/// Claude Code's folder, from its environment variables.
#[derive(Debug, Clone, Default)]
pub struct ClaudeHome {
    /// `CLAUDE_CONFIG_DIR`.
    pub config_dir: Option<OsString>,
    /// `HOME`.
    pub home: Option<OsString>,
}

impl ClaudeHome {
    /// Reads the two variables of this process.
    pub fn from_env() -> Self {
        ClaudeHome { config_dir: std::env::var_os("CLAUDE_CONFIG_DIR"), home: std::env::var_os("HOME") }
    }

    /// The folder of its settings and transcripts; `None` without a home.
    pub fn folder(&self) -> Option<PathBuf> {
        let named = |value: &Option<OsString>| value.as_ref().filter(|v| !v.is_empty()).map(PathBuf::from);
        named(&self.config_dir).or_else(|| Some(named(&self.home)?.join(".claude")))
    }

    fn projects(&self) -> Option<PathBuf> {
        Some(self.folder()?.join("projects"))
    }
}

/// One transcript, at the time of reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptFile {
    /// The session that it records.
    pub session_id: String,
    /// The file.
    pub path: PathBuf,
    /// When it was last written.
    pub modified: SystemTime,
    /// Bytes.
    pub size: u64,
    /// Its creation time, where the file system keeps it.
    pub begun: Option<SystemTime>,
}

/// The latest session that Claude Code recorded in this very folder; `None` if there is none.
///
/// Claude Code records sessions of a subfolder or another worktree in other folders, which neither this function nor `--continue` reads.
/// Reads names and times only, of at most 10,000 entries.
pub fn latest_session(worktree: &Path, home: &ClaudeHome) -> Option<TranscriptFile> {
    latest(sessions(worktree, home))
}

/// The one of some transcripts that `--continue` would take.
pub fn latest(transcripts: Vec<TranscriptFile>) -> Option<TranscriptFile> {
    transcripts.into_iter().max_by(|a, b| (a.modified, &a.session_id).cmp(&(b.modified, &b.session_id)))
}

/// Every session that Claude Code recorded in this very folder, in no order.
pub fn sessions(worktree: &Path, home: &ClaudeHome) -> Vec<TranscriptFile> {
    let entries = folder_of(worktree, home).and_then(|folder| fs::read_dir(folder).ok());
    let entries = entries.into_iter().flatten().take(ENTRIES).filter_map(Result::ok);
    entries.filter_map(|entry| transcript_at(&entry.path())).collect()
}

/// The transcript of a session by its id, as it is now.
pub fn session(worktree: &Path, home: &ClaudeHome, session_id: &str) -> Option<TranscriptFile> {
    if !is_session_id(session_id) {
        return None;
    }
    transcript_at(&folder_of(worktree, home)?.join(format!("{session_id}.jsonl")))
}

fn folder_of(worktree: &Path, home: &ClaudeHome) -> Option<PathBuf> {
    let real = fs::canonicalize(worktree).ok()?;
    let projects = home.projects()?;
    let slug = slug(&real);
    if slug.len() <= SLUG {
        return Some(projects.join(slug));
    }
    let beginning = &slug[..SLUG];
    let mut found = fs::read_dir(projects).ok()?.take(ENTRIES).filter_map(Result::ok).map(|entry| entry.path());
    let candidates: Vec<PathBuf> =
        found.by_ref().filter(|path| path.file_name().and_then(|n| n.to_str()).is_some_and(|name| name.starts_with(beginning))).collect();
    // Two long paths with the same beginning: which is ours is not known.
    match candidates.as_slice() {
        [one] => Some(one.clone()),
        _ => None,
    }
}

/// The folder name for a path: one `-` for each UTF-16 unit that is no ASCII letter or digit, as JavaScript replaces them.
fn slug(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.chars().flat_map(|c| std::iter::repeat_n(if c.is_ascii_alphanumeric() { c } else { '-' }, c.len_utf16())).collect()
}

fn transcript_at(path: &Path) -> Option<TranscriptFile> {
    let session_id = path.file_name()?.to_str()?.strip_suffix(".jsonl").filter(|id| is_session_id(id))?.to_owned();
    let about = fs::metadata(path).ok().filter(|about| about.is_file() && about.len() > 0)?;
    let (modified, begun) = (about.modified().ok()?, about.created().ok());
    Some(TranscriptFile { session_id, path: path.to_owned(), modified, size: about.len(), begun })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const OLD: &str = "0a0a0a0a-0000-4000-8000-000000000001";
    const NEW: &str = "0a0a0a0a-0000-4000-8000-000000000002";

    fn write(folder: &Path, name: &str, text: &str, age: u64) {
        fs::create_dir_all(folder).expect("a folder can be made");
        let path = folder.join(name);
        fs::write(&path, text).expect("a file can be written");
        let file = fs::File::options().write(true).open(path).expect("the file opens");
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).expect("times can be set");
    }

    #[test]
    fn the_newest_transcript_of_the_folder_is_the_latest_session() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let worktree = scratch.path().join("plain dir.x_y");
        fs::create_dir(&worktree).expect("a folder can be made");
        let config = scratch.path().join("config");
        let home = ClaudeHome { config_dir: Some(config.clone().into()), home: None };
        assert_eq!(latest_session(&worktree, &home), None);

        let folder = config.join("projects").join(slug(&fs::canonicalize(&worktree).expect("a real path")));
        assert!(folder.to_string_lossy().ends_with("-plain-dir-x-y"));
        write(&folder, &format!("{OLD}.jsonl"), "{}\n", 60);
        write(&folder, &format!("{NEW}.jsonl"), "{}\n{}\n", 10);
        write(&folder, "notes.jsonl", "{}\n", 0);
        write(&folder, "0a0a0a0a-0000-4000-8000-000000000003.jsonl", "", 0);
        fs::create_dir(folder.join("0a0a0a0a-0000-4000-8000-000000000004.jsonl")).expect("a folder can be made");
        let latest = latest_session(&worktree, &home).expect("a session");
        assert_eq!((latest.session_id.as_str(), latest.size), (NEW, 6));
        assert_eq!(session(&worktree, &home, OLD).map(|t| t.size), Some(3));
        assert_eq!(session(&worktree, &home, "../../etc"), None);

        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&worktree, &link).expect("a link can be made");
        assert_eq!(latest_session(&link, &home).map(|t| t.session_id).as_deref(), Some(NEW));
    }

    #[test]
    fn home_serves_where_no_configuration_folder_is_named() {
        let home = ClaudeHome { config_dir: Some("".into()), home: Some("/h".into()) };
        assert_eq!(home.projects(), Some(PathBuf::from("/h/.claude/projects")));
        assert_eq!(ClaudeHome::default().projects(), None);
    }
}
