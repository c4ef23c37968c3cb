//! Reads the sessions that an agent itself lists as running, by the block `transcripts.running` of its preset.
//!
//! A session can write such a file: what it says makes a worktree count as worked in, and no more.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use super::preset::definition::RunningList;
use super::recognition::AgentInside;
use super::transcript_source::TranscriptSource;
use watchdog_core::decision::session_life::SessionTurn;
use watchdog_process::still_runs;
use watchdog_system::read_regular_file;

/// How many files are read.
const FILES: usize = 1_000;
/// A longer file is no entry.
const LONGEST: u64 = 64 << 10;

/// The sessions that an agent lists, and whose process runs.
pub fn read_running(source: &TranscriptSource) -> Vec<AgentInside> {
    let Some((folder, form)) = source.running_list() else {
        return Vec::new();
    };
    let paths = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_json = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "json");
    let sessions = paths.filter(is_json).take(FILES);
    sessions
        .filter_map(|path| read_entry(&path, &source.agent, form))
        .collect()
}

fn read_entry(path: &Path, agent: &str, form: &RunningList) -> Option<AgentInside> {
    let entry: Value = serde_json::from_slice(&read_regular_file(path, LONGEST).ok()?).ok()?;
    let text = |pointer: &str| entry.pointer(pointer)?.as_str();
    let pid = u32::try_from(entry.pointer(&form.pid)?.as_u64()?).ok()?;
    let stated = entry.pointer(&form.since).and_then(Value::as_i64);
    let stated = stated.and_then(|at| Timestamp::from_millisecond(at).ok());
    let written = || Timestamp::try_from(fs::metadata(path).ok()?.modified().ok()?).ok();
    let since = stated.or_else(written)?;
    // An entry that lacks its state is of a session that may be at work.
    let turn = match stated.is_some() && text(&form.status) == Some(&form.idle) {
        true => SessionTurn::Over { since },
        false => SessionTurn::Busy,
    };
    let folder = fs::canonicalize(text(&form.cwd)?).ok()?;
    // An entry that a killed session left behind names a process that is gone, or began later.
    // Another container's first process has the number of this machine's.
    (pid > 1 && still_runs(pid, since)).then(|| AgentInside {
        agent: agent.to_owned(),
        pid,
        folder,
        is_above: false,
        turn: Some(turn),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::transcript::ClaudeHome;

    #[test]
    fn only_a_running_process_is_listed() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let folder = scratch.path().join("sessions");
        fs::create_dir(&folder).expect("a folder");
        let home = ClaudeHome {
            config_dir: Some(scratch.path().into()),
            home: None,
        };
        let source = home.transcripts().expect("a home");
        let (own, now) = (std::process::id(), Timestamp::now().as_millisecond());
        let entry = |pid: u32, status: &str, since: i64| {
            json!({"pid": pid, "cwd": "/", "status": status, "statusUpdatedAt": since}).to_string()
        };
        let over = SessionTurn::Over {
            since: Timestamp::from_millisecond(now).expect("an instant"),
        };
        for (name, text, turn) in [
            ("7.json", entry(own, "idle", now), Some(over)),
            ("7.json", entry(own, "busy", now), Some(SessionTurn::Busy)),
            (
                "7.json",
                entry(own, "waiting", now),
                Some(SessionTurn::Busy),
            ),
            ("7.json", entry(own, "shell", now), Some(SessionTurn::Busy)),
            ("7.json", entry(own, "idle", 0), None),
            ("7.json", entry(u32::MAX >> 2, "busy", now), None),
            ("7.key", entry(own, "busy", now), None),
            ("7.json", "{\"pid\":".to_owned(), None),
            (
                "7.json",
                json!({"pid": own, "cwd": "/"}).to_string(),
                Some(SessionTurn::Busy),
            ),
            ("7.json", entry(1, "busy", now), None),
        ] {
            fs::write(folder.join(name), &text).expect("a file");
            let listed = read_running(&source);
            let turns: Vec<SessionTurn> = listed.iter().filter_map(|agent| agent.turn).collect();
            assert_eq!(turns, Vec::from_iter(turn), "{name} {text}");
            fs::remove_file(folder.join(name)).expect("it was written");
        }
    }
}
