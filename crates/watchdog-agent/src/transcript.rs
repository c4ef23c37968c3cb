//! Transcripts of sessions: what is known of one without reading it, and those of Claude Code, whose folder watchdog reads most.
//!
//! The preset of an agent names the place of its transcripts; [`TranscriptSource`] finds them. The
//! newest by modification time is the latest session.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::transcript_source::TranscriptSource;

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
        ClaudeHome {
            config_dir: std::env::var_os("CLAUDE_CONFIG_DIR"),
            home: std::env::var_os("HOME"),
        }
    }

    /// The folder of its settings and transcripts; `None` without a home.
    pub fn folder(&self) -> Option<PathBuf> {
        let named =
            |value: &Option<OsString>| value.as_ref().filter(|v| !v.is_empty()).map(PathBuf::from);
        named(&self.config_dir).or_else(|| Some(named(&self.home)?.join(".claude")))
    }

    /// A variable of the environment, where it is not empty. These two are as they were read; any other is that of this process.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        let value = match name {
            "CLAUDE_CONFIG_DIR" => self.config_dir.clone(),
            "HOME" => self.home.clone(),
            name => std::env::var_os(name),
        };
        value.filter(|value| !value.is_empty())
    }

    /// The place of Claude Code's transcripts; `None` where it has no folder.
    pub fn transcripts(&self) -> Option<TranscriptSource> {
        TranscriptSource::from_built_in("claude", self)
    }
}

/// A transcript, at the time of reading.
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
    choose_latest_transcript(list_sessions(worktree, home))
}

/// The one of some transcripts that `--continue` would take.
pub fn choose_latest_transcript(transcripts: Vec<TranscriptFile>) -> Option<TranscriptFile> {
    transcripts
        .into_iter()
        .max_by(|a, b| (a.modified, &a.session_id).cmp(&(b.modified, &b.session_id)))
}

/// Every session that Claude Code recorded in this very folder, in no order.
pub fn list_sessions(worktree: &Path, home: &ClaudeHome) -> Vec<TranscriptFile> {
    home.transcripts()
        .map(|source| source.listing(worktree, None).files)
        .unwrap_or_default()
}

/// The transcript of a session by its id, as it is now.
pub fn find_session(
    worktree: &Path,
    home: &ClaudeHome,
    session_id: &str,
) -> Option<TranscriptFile> {
    home.transcripts()?.session(worktree, session_id)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::super::transcript_source::path_to_slug;
    use super::*;

    const OLD: &str = "0a0a0a0a-0000-4000-8000-000000000001";
    const NEW: &str = "0a0a0a0a-0000-4000-8000-000000000002";

    fn write(folder: &Path, name: &str, text: &str, age: u64) {
        fs::create_dir_all(folder).expect("a folder can be made");
        let path = folder.join(name);
        fs::write(&path, text).expect("a file can be written");
        let file = fs::File::options()
            .write(true)
            .open(path)
            .expect("the file opens");
        file.set_modified(SystemTime::now() - Duration::from_secs(age))
            .expect("times can be set");
    }

    #[test]
    fn newest_transcript_of_folder_is_latest_session() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let worktree = scratch.path().join("plain dir.x_y");
        fs::create_dir(&worktree).expect("a folder can be made");
        let config = scratch.path().join("config");
        let home = ClaudeHome {
            config_dir: Some(config.clone().into()),
            home: None,
        };
        assert_eq!(latest_session(&worktree, &home), None);

        let folder = config.join("projects").join(path_to_slug(
            &fs::canonicalize(&worktree).expect("a real path"),
        ));
        assert!(folder.to_string_lossy().ends_with("-plain-dir-x-y"));
        write(&folder, &format!("{OLD}.jsonl"), "{}\n", 60);
        write(&folder, &format!("{NEW}.jsonl"), "{}\n{}\n", 10);
        write(&folder, "notes.jsonl", "{}\n", 0);
        write(&folder, "0a0a0a0a-0000-4000-8000-000000000003.jsonl", "", 0);
        fs::create_dir(folder.join("0a0a0a0a-0000-4000-8000-000000000004.jsonl"))
            .expect("a folder can be made");
        let latest = latest_session(&worktree, &home).expect("a session");
        assert_eq!((latest.session_id.as_str(), latest.size), (NEW, 6));
        assert_eq!(find_session(&worktree, &home, OLD).map(|t| t.size), Some(3));
        assert_eq!(find_session(&worktree, &home, "../../etc"), None);

        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&worktree, &link).expect("a link can be made");
        assert_eq!(
            latest_session(&link, &home)
                .map(|t| t.session_id)
                .as_deref(),
            Some(NEW)
        );
    }

    #[test]
    fn home_serves_where_no_configuration_folder_is_named() {
        let home = ClaudeHome {
            config_dir: Some("".into()),
            home: Some("/h".into()),
        };
        assert_eq!(home.folder(), Some(PathBuf::from("/h/.claude")));
        assert_eq!(ClaudeHome::default().folder(), None);
        assert_eq!(ClaudeHome::default().transcripts(), None);
    }
}
