//! Checks once whether a running session, of any program, is active: by its log, its transcript, its files and its processes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use crate::session::record_lives;
use crate::watch::last_change;
use watchdog_agent::transcript::{self, ClaudeHome};
use watchdog_agent::transcript_read::unanswered_calls;
use watchdog_core::decision::silence::{
    LivenessSignals, PersonWait, SilenceVerdict, USUAL_LIMIT, judge_silence, may_wait_for_person,
};
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_process::session_meter::{ProcessSample, processes_below};
use watchdog_store::session::{self, SessionRecord};
use watchdog_store::{RecordType, StateDir, StoreError};

use super::command_env::CommandEnv;
use super::open_worktree::OpenWorktree;
use crate::clock::now;
use crate::wire::verdict_json::JudgedSession;
use watchdog_system::read_regular_file;

/// How long processor time is measured, where nothing else shows life: a hundredth of a core is one tick in it.
const STRETCH: Duration = Duration::from_secs(1);

/// How a session that runs is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionActivity {
    /// It shows life, or did a short while ago, or that is unknown.
    Running,
    /// It is silent, and waits for a permission or a person.
    Waiting,
    /// It has been silent for longer than it may.
    Stalled,
    /// It works on its turn, as its agent says.
    Busy,
    /// Its turn is over, as its agent or its transcript says.
    Idle,
}

/// The state of a running session at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLiveness {
    /// How it is doing.
    pub doing: SessionActivity,
    /// For how long it has been silent; `None` where nothing shows that.
    pub idle: Option<Duration>,
}

impl SessionActivity {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            SessionActivity::Running => "running",
            SessionActivity::Waiting => "waiting",
            SessionActivity::Stalled => "stalled",
            SessionActivity::Busy => "busy",
            SessionActivity::Idle => "idle",
        }
    }
}

impl SessionLiveness {
    /// The same for a verdict.
    pub fn to_session(self, record: &SessionRecord) -> JudgedSession {
        let known_by = if record.log.is_some() {
            "output"
        } else {
            "hook"
        };
        let idle_seconds = self.idle.map(|idle| idle.as_secs());
        JudgedSession {
            id: record.session_id.clone(),
            agent: record.agent.clone(),
            known_by,
            idle_seconds,
            ..JudgedSession::unknown()
        }
    }

    /// A clause about it for a sentence; may be empty.
    pub fn in_words(self) -> String {
        let minutes = self.idle.unwrap_or_default().as_secs() / 60;
        match self.doing {
            SessionActivity::Running | SessionActivity::Busy | SessionActivity::Idle => {
                String::new()
            }
            SessionActivity::Waiting => {
                format!("; it waits for a permission or a person, silent for {minutes} min")
            }
            SessionActivity::Stalled => format!("; it has stalled: silent for {minutes} min"),
        }
    }
}

/// A recorded session whose process lives.
#[derive(Debug, Clone)]
pub struct RunningSession {
    spec: String,
    record: SessionRecord,
    /// How it is doing.
    pub live: SessionLiveness,
}

impl RunningSession {
    /// The session of a worktree that runs: that of a spec, or without one the newest.
    ///
    /// # Errors
    /// Fails if the records cannot be read.
    pub fn find_running(
        around: &CommandEnv,
        open: &OpenWorktree,
        spec: Option<&str>,
    ) -> Result<Option<Self>, StoreError> {
        let (store, worktree_id) = (open.store.as_ref(), &open.worktree_id);
        let newest = match spec {
            Some(spec) => SessionRecord::read_row(store, worktree_id, spec)?
                .map(|record| (spec.to_owned(), record)),
            None => session::read_latest_session(store, worktree_id)?,
        };
        let running = newest.filter(|(_, record)| record_lives(record));
        Ok(running.map(|(spec, record)| Self::of_record(around, open.root(), spec, record)))
    }

    /// A session that is known to live.
    pub fn of_record(
        around: &CommandEnv,
        root: &Path,
        spec: String,
        record: SessionRecord,
    ) -> Self {
        let live = live_session(&record, root, &around.state, &around.claude_home);
        RunningSession { spec, record, live }
    }

    /// A sentence about it.
    pub fn in_words(&self) -> String {
        let RunningSession { spec, record, live } = self;
        let process = record
            .pid
            .map(|pid| format!(" (process {pid})"))
            .unwrap_or_default();
        format!(
            "a session of '{spec}' runs in this worktree since {:.0}{process}{}",
            record.started_at,
            live.in_words()
        )
    }

    /// The verdict to give instead of starting another session of the same spec: its baseline would replace that of this one.
    pub fn not_beside_it(&self) -> Verdict {
        let message = format!(
            "{}; wait for its end, or give the new one a name of its own with --spec",
            self.in_words()
        );
        Verdict::new(Reason::SessionActive, message)
    }

    /// The same for a verdict.
    pub fn to_session(&self) -> JudgedSession {
        self.live.to_session(&self.record)
    }
}

/// Looks at a session that runs in the work tree `root`.
pub fn live_session(
    record: &SessionRecord,
    root: &Path,
    state: &StateDir,
    home: &ClaudeHome,
) -> SessionLiveness {
    let since = |at: Timestamp| {
        Duration::try_from(at.duration_since(record.started_at)).unwrap_or_default()
    };
    let at = since(now());
    let limit = record.idle_limit.unwrap_or(USUAL_LIMIT);
    let output = record.log.as_deref().and_then(last_output).map(since);
    let transcript_file = match &record.session_id {
        Some(id) => transcript::find_session(root, home, id),
        None => transcript::latest_session(root, home).filter(|file| {
            Timestamp::try_from(file.modified).is_ok_and(|at| record.started_at <= at)
        }),
    };
    let written = transcript_file
        .as_ref()
        .and_then(|file| Timestamp::try_from(file.modified).ok())
        .map(since);
    // Without output or transcript its activity is unknown: that proves no stall.
    if output.is_none() && written.is_none() {
        return SessionLiveness {
            doing: SessionActivity::Running,
            idle: None,
        };
    }
    let mut signals = LivenessSignals {
        output: output.unwrap_or_default(),
        transcript: written,
        ..LivenessSignals::default()
    };
    let mut judged = judge_silence(at, Some(limit), &signals);
    if !matches!(judged, SilenceVerdict::Alive { .. }) {
        let except = [state.root().to_owned()];
        let changed = git_dir_of(root).and_then(|git_dir| last_change(root, &git_dir, &except));
        signals.files = changed
            .and_then(|change| Timestamp::try_from(change.at).ok())
            .map(since);
        judged = judge_silence(at, Some(limit), &signals);
    }
    if !matches!(judged, SilenceVerdict::Alive { .. }) {
        let (works, last) = measure_activity(record.pid);
        if works {
            signals.processor = Some(at);
        }
        let quiet = at.saturating_sub(signals.last());
        let runs = last
            .and_then(|sample| sample.youngest)
            .is_some_and(|youngest| youngest < quiet);
        let calls = unanswered_calls(transcript_file.as_ref().map(|file| file.path.as_path()));
        if calls.iter().any(|tool| may_wait_for_person(tool, runs)) {
            // Whether a person can answer is unknown here, so that no stall is reported.
            signals.waits = PersonWait::ForPerson { can_answer: true };
        }
        judged = judge_silence(at, Some(limit), &signals);
    }
    match judged {
        SilenceVerdict::Alive { quiet } | SilenceVerdict::Finished { quiet } => SessionLiveness {
            doing: SessionActivity::Running,
            idle: Some(quiet),
        },
        SilenceVerdict::Waiting { quiet } => SessionLiveness {
            doing: SessionActivity::Waiting,
            idle: Some(quiet),
        },
        SilenceVerdict::Fallen { quiet } => SessionLiveness {
            doing: SessionActivity::Stalled,
            idle: Some(quiet),
        },
    }
}

/// Whether its processes use a hundredth of a core, and their state after the measurement. A process that cannot be read counts as active.
fn measure_activity(pid: Option<u32>) -> (bool, Option<ProcessSample>) {
    let Some(before) = pid.and_then(processes_below) else {
        return (true, None);
    };
    std::thread::sleep(STRETCH);
    let after = pid.and_then(processes_below);
    let used = after.map(|after| after.used.saturating_sub(before.used));
    (used.is_none_or(|used| used * 100 >= STRETCH), after)
}

/// When a log was last written, or one of the parts that a long one has while it grows.
fn last_output(log: &Path) -> Option<Timestamp> {
    let name = log.file_name()?;
    let parts = std::fs::read_dir(log.parent()?).ok()?.flatten();
    let parts = parts.filter(|entry| {
        entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(name.as_encoded_bytes())
    });
    parts
        .filter_map(|entry| Timestamp::try_from(entry.metadata().ok()?.modified().ok()?).ok())
        .max()
}

/// The git directory of a work tree, as its `.git` says; none where there is none.
fn git_dir_of(root: &Path) -> Option<PathBuf> {
    let dot = root.join(".git");
    if dot.is_dir() {
        return Some(dot);
    }
    let text = String::from_utf8(read_regular_file(&dot, 4096).ok()?).ok()?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}

#[cfg(test)]
mod tests {
    use super::super::live_session::*;

    const ID: &str = "0a0a0a0a-0000-4000-8000-000000000001";

    struct Scene {
        scratch: tempfile::TempDir,
        child: watchdog_process::SessionProcess,
    }

    impl Scene {
        /// A session that began three hours ago and has said nothing for two; it runs and does nothing.
        fn new() -> (Self, SessionRecord) {
            let scratch = tempfile::tempdir().expect("a scratch folder");
            std::fs::create_dir_all(scratch.path().join("tree/.git"))
                .expect("a folder can be made");
            let mut spec = watchdog_process::SessionLaunch::new(["sleep", "1000"], scratch.path());
            spec.stdin = watchdog_process::StdinSource::Null;
            let child = watchdog_process::SessionProcess::start(&spec).expect("it starts");
            let log = scratch.path().join("log");
            std::fs::write(&log, "x").expect("a file can be written");
            age(&log, 7200);
            let started_at = now() - jiff::SignedDuration::from_hours(3);
            let record = SessionRecord {
                session_id: Some(ID.into()),
                agent: None,
                agent_source: None,
                read_as: None,
                pid: Some(child.pid()),
                started_at,
                ended_at: None,
                exit: None,
                log: Some(log),
                idle_limit: None,
                folder: None,
                survivors: Vec::new(),
                quiet: None,
            };
            (Scene { scratch, child }, record)
        }

        fn sample(&self, record: &SessionRecord) -> SessionLiveness {
            let state = StateDir::resolve(Some(self.scratch.path().join("state")), None, None)
                .expect("a state folder");
            let home = ClaudeHome {
                config_dir: Some(self.scratch.path().join("claude").into()),
                home: None,
            };
            live_session(record, &self.scratch.path().join("tree"), &state, &home)
        }

        fn transcript(&self, text: &str) -> PathBuf {
            let root =
                std::fs::canonicalize(self.scratch.path().join("tree")).expect("a real path");
            let slug = root
                .to_string_lossy()
                .replace(|c: char| !c.is_ascii_alphanumeric(), "-");
            let folder = self.scratch.path().join("claude/projects").join(slug);
            std::fs::create_dir_all(&folder).expect("a folder can be made");
            let path = folder.join(format!("{ID}.jsonl"));
            std::fs::write(&path, text).expect("a file can be written");
            path
        }
    }

    fn age(path: &Path, seconds: u64) {
        let file = std::fs::File::options()
            .write(true)
            .open(path)
            .expect("the file opens");
        file.set_modified(
            std::time::UNIX_EPOCH
                + Duration::from_secs(
                    u64::try_from(now().as_second()).expect("after 1970") - seconds,
                ),
        )
        .expect("times can be set");
    }

    #[test]
    fn changed_file_proves_a_live_session() {
        let (scene, record) = Scene::new();
        // The times of the files themselves cannot be set back: they are from a moment ago.
        let live = scene.sample(&record);
        assert_eq!(live.doing, SessionActivity::Running);
        assert!(
            live.idle
                .is_some_and(|idle| idle < Duration::from_secs(1800)),
            "{live:?}"
        );
        drop(scene.child);
    }

    #[test]
    fn silent_session_stalls_unless_awaiting_a_person() {
        let (scene, record) = Scene::new();
        let record = SessionRecord {
            idle_limit: Some(Duration::ZERO),
            ..record
        };
        assert_eq!(scene.sample(&record).doing, SessionActivity::Stalled);
        let call = serde_json::json!({"type": "assistant", "sessionId": ID, "message": {"id": "m", "role": "assistant", "model": "m",
            "content": [{"type": "tool_use", "id": "t", "name": "Edit", "input": {}}]}});
        age(&scene.transcript(&format!("{call}\n")), 7200);
        assert_eq!(scene.sample(&record).doing, SessionActivity::Waiting);
        drop(scene.child);
    }

    #[test]
    fn missing_log_and_transcript_prove_no_stall() {
        let (scene, record) = Scene::new();
        let record = SessionRecord {
            log: None,
            idle_limit: Some(Duration::ZERO),
            ..record
        };
        assert_eq!(
            scene.sample(&record),
            SessionLiveness {
                doing: SessionActivity::Running,
                idle: None
            }
        );
        drop(scene.child);
    }
}
