//! Reads the sessions that an agent itself lists as running, by the block `transcripts.running` of its preset.
//!
//! A session can write such a file: what it says makes a worktree count as worked in, and no more.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use super::preset::definition::RunningList;
use super::recognition::{AgentInside, ListedSession, ListedState};
use super::session_id::is_session_id;
use super::transcript_source::TranscriptSource;
use watchdog_process::still_runs;
use watchdog_system::{read_entries, read_one, read_regular_file};

/// How many names are read.
const NAMES: usize = 10_000;
/// How many files are read.
const FILES: usize = 1_000;
/// A longer file is no entry.
const LONGEST: u64 = 16 << 10;

/// The sessions that an agent lists, and whose process runs.
pub fn read_running(source: &TranscriptSource) -> Vec<AgentInside> {
    let Some((folder, form)) = source.running_list() else {
        return Vec::new();
    };
    let entries = read_entries(&folder, NAMES).unwrap_or_default();
    let is_json = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "json");
    let paths = entries.iter().map(fs::DirEntry::path).filter(is_json);
    paths
        .take(FILES)
        .filter_map(|path| read_entry(&path, &source.agent, form))
        .collect()
}

fn read_entry(path: &Path, agent: &str, form: &RunningList) -> Option<AgentInside> {
    let entry: Value = serde_json::from_slice(&read_regular_file(path, LONGEST).ok()?).ok()?;
    let text = |pointer: &str| entry.pointer(pointer)?.as_str();
    let optional = |pointer: &Option<String>| text(pointer.as_deref()?);
    let pid = u32::try_from(entry.pointer(&form.pid)?.as_u64()?).ok()?;
    let stated = entry.pointer(&form.since).and_then(Value::as_i64);
    let stated = stated.and_then(|at| Timestamp::from_millisecond(at).ok());
    let written = || Timestamp::try_from(fs::metadata(path).ok()?.modified().ok()?).ok();
    let since = stated.or_else(written)?.min(Timestamp::now());
    // An entry that a killed session left behind names a process that is gone, or began later.
    // Another container's first process has the number of this machine's.
    if pid <= 1 || !still_runs(pid, since) {
        return None;
    }
    let began = optional(&form.began).and_then(|ticks| ticks.parse::<u64>().ok());
    let process = began.and_then(|began| Some((began, read_one(pid)?.started)));
    if process.is_some_and(|(began, started)| began != started) {
        return None;
    }
    let status = text(&form.status).filter(|_| stated.is_some());
    let state = match status {
        Some(word) if word == form.idle => ListedState::Idle,
        Some(word) if Some(word) == form.waiting.as_deref() => ListedState::Waiting,
        // An entry that lacks its state is of a session that may be at work.
        _ => ListedState::Busy,
    };
    let session_id = optional(&form.session_id).filter(|id| is_session_id(id));
    Some(AgentInside {
        agent: agent.to_owned(),
        pid,
        folder: fs::canonicalize(text(&form.cwd)?).ok()?,
        is_above: false,
        listed: Some(ListedSession {
            session_id: session_id.map(str::to_owned),
            state,
            since,
        }),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::transcript::ClaudeHome;

    const ID: &str = "0a0a0a0a-0000-4000-8000-000000000001";

    /// The list of a home folder, and the place where its entries lie.
    fn new_list(scratch: &Path) -> (TranscriptSource, PathBuf) {
        let folder = scratch.join("sessions");
        fs::create_dir(&folder).expect("a folder");
        let home = ClaudeHome {
            config_dir: Some(scratch.into()),
            home: None,
        };
        (home.transcripts().expect("a home"), folder)
    }

    fn own_entry() -> Value {
        let now = Timestamp::now().as_millisecond();
        json!({"pid": std::process::id(), "cwd": "/", "status": "busy", "statusUpdatedAt": now})
    }

    fn with(changes: Value) -> String {
        let mut entry = own_entry();
        let changes = changes.as_object().expect("an object").clone();
        entry.as_object_mut().expect("an object").extend(changes);
        entry.to_string()
    }

    #[test]
    fn only_a_running_process_is_listed() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let (source, folder) = new_list(scratch.path());
        let own = read_one(std::process::id());
        let ticks = |more: u64| own.as_ref().map(|row| (row.started + more).to_string());
        let (busy, idle) = (Some(ListedState::Busy), Some(ListedState::Idle));
        for (name, text, state) in [
            ("7.json", with(json!({"status": "idle"})), idle),
            ("7.json", own_entry().to_string(), busy),
            (
                "7.json",
                with(json!({"status": "waiting"})),
                Some(ListedState::Waiting),
            ),
            ("7.json", with(json!({"status": "shell"})), busy),
            ("7.json", with(json!({"status": 1})), busy),
            ("7.json", with(json!({"statusUpdatedAt": 0})), None),
            ("7.json", with(json!({"pid": u32::MAX >> 2})), None),
            ("7.json", with(json!({"pid": 1})), None),
            ("7.json", with(json!({"pid": -7})), None),
            ("7.json", with(json!({"procStart": ticks(0)})), busy),
            (
                "7.json",
                with(json!({"procStart": ticks(1)})),
                busy.filter(|_| own.is_none()),
            ),
            ("7.json", with(json!({"procStart": "Sat Nov 28"})), busy),
            ("7.json", with(json!({"cwd": "/no/such/folder"})), None),
            ("7.json", with(json!({"cwd": "/\u{0}"})), None),
            ("7.key", own_entry().to_string(), None),
            ("7.json", "{\"pid\":".to_owned(), None),
            ("7.json", "[".repeat(9_000), None),
            ("7.json", with(json!({"name": "x".repeat(20_000)})), None),
            (
                "7.json",
                json!({"pid": std::process::id(), "cwd": "/"}).to_string(),
                busy,
            ),
        ] {
            fs::write(folder.join(name), &text).expect("a file");
            let listed = read_running(&source);
            let states: Vec<ListedState> = (listed.iter())
                .filter_map(|agent| Some(agent.listed.as_ref()?.state))
                .collect();
            let shown: String = text.chars().take(200).collect();
            assert_eq!(states, Vec::from_iter(state), "{name} {shown}");
            fs::remove_file(folder.join(name)).expect("it was written");
        }
    }

    #[test]
    fn hostile_list_is_read_within_bounds() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let (source, folder) = new_list(scratch.path());
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, folder.join("0.json"), kind, mode, 0).expect("a pipe");
        std::os::unix::fs::symlink("/dev/zero", folder.join("1.json")).expect("a link");
        std::os::unix::fs::symlink(&folder, folder.join("2.json")).expect("a link");
        fs::create_dir(folder.join("3.json")).expect("a folder");
        let hour = 3_600_000;
        let future = Timestamp::now().as_millisecond() + hour;
        let entry = with(
            json!({"status": "idle", "statusUpdatedAt": future, "sessionId": "--resume\u{1b}[2J"}),
        );
        fs::write(folder.join("4.json"), entry).expect("a file");
        let listed = read_running(&source);
        let [only] = &listed[..] else {
            panic!("{listed:?}")
        };
        let session = only.listed.as_ref().expect("it is listed");
        assert!(session.since <= Timestamp::now(), "{session:?}");
        assert_eq!(session.session_id, None, "that is no id");
        let entry = with(json!({"sessionId": ID}));
        for number in 0..1_500 {
            fs::write(folder.join(format!("{}.json", 1_000 + number)), &entry).expect("a file");
        }
        let listed = read_running(&source);
        assert!((900..=FILES).contains(&listed.len()), "{}", listed.len());
        let is_named = |agent: &AgentInside| {
            (agent.listed.as_ref()).is_some_and(|listed| listed.session_id.as_deref() == Some(ID))
        };
        assert!(listed.iter().any(is_named));
    }
}
