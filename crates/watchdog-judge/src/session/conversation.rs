//! Finds the session to probe: the id from its output or a hook, or the one transcript of this folder that was started during it.
//! Otherwise the latest conversation is probed, and the answering session is recorded: later probes go to the same one.

use std::path::Path;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use watchdog_agent::transcript::{self, TranscriptFile};
use watchdog_agent::transcript_source::{TranscriptListing, TranscriptSource};
use watchdog_facts::agent_source::AgentSource;
use watchdog_store::conversation::SpecConversations;
use watchdog_store::hook_session::{HookedAgent, MAIN};
use watchdog_store::session::SessionRecord;
use watchdog_store::{LocalStore, RecordType, StoreError};

/// A transcript that is begun so long after the end of a session may still be its own: its last words were being written.
const LATE: Duration = Duration::from_secs(5);

/// File systems note times by a clock that lags behind.
const COARSE: Duration = Duration::from_secs(1);

/// How a session is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionIdSource {
    /// Its own output told its id.
    Output,
    /// A hook told it.
    Hook,
    /// It is the one transcript that was begun since the baseline.
    Transcript,
    /// Unknown: the latest conversation, or the one that answered before.
    Latest,
}

impl SessionIdSource {
    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            SessionIdSource::Output => "output",
            SessionIdSource::Hook => "hook",
            SessionIdSource::Transcript => "transcript",
            SessionIdSource::Latest => "latest",
        }
    }
}

/// Whom a question goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeTarget {
    /// The session to resume by its id; `None` = the latest one by the agent's own rule.
    pub resume: Option<String>,
    /// The session that must answer, as far as that is known.
    pub expected: Option<String>,
    /// How it is known.
    pub known_by: SessionIdSource,
    /// Whether its transcript has grown since the baseline; `None` where that is unknown.
    pub has_grown: Option<bool>,
}

impl ProbeTarget {
    /// Finds the session of a spec. `reported_id` is the id that the session itself reported; `baseline_at` is `None` where no baseline is
    /// recorded, which selects the latest conversation. `source` = where the agent keeps its transcripts, as far as that is known.
    pub fn find_for_spec(
        store: &dyn LocalStore,
        (worktree_id, spec): (&str, &str),
        (root, source): (&Path, Option<&TranscriptSource>),
        reported_id: Option<&str>,
        baseline_at: Option<Timestamp>,
    ) -> Result<Self, StoreError> {
        let by_id = |id: String, known_by| ProbeTarget {
            resume: Some(id.clone()),
            expected: Some(id),
            known_by,
            has_grown: None,
        };
        let by_hook = |id: &str| {
            Ok::<_, StoreError>(if HookedAgent::read_row(store, id, MAIN)?.is_some() {
                SessionIdSource::Hook
            } else {
                SessionIdSource::Output
            })
        };
        if let Some(id) = reported_id {
            return Ok(by_id(id.to_owned(), by_hook(id)?));
        }
        let (mut since_baseline, mut record) = (None, None);
        if let Some(at) = baseline_at {
            // A session that began before the baseline is about other work.
            since_baseline = SessionRecord::read_row(store, worktree_id, spec)?
                .filter(|session| at <= session.started_at);
            if let Some(id) = since_baseline
                .as_ref()
                .and_then(|session| session.session_id.clone())
            {
                let known_by = by_hook(&id)?;
                return Ok(by_id(id, known_by));
            }
            record = SpecConversations::read_row(store, worktree_id, spec)?
                .filter(|record| record.baseline_at == at);
        }
        let listed = source
            .map(|source| source.listing(root, baseline_at))
            .unwrap_or_default();
        if let Some(SpecConversations {
            pinned: Some((id, how)),
            before,
            ..
        }) = &record
        {
            let known_by = if how == SessionIdSource::Transcript.as_str() {
                SessionIdSource::Transcript
            } else {
                SessionIdSource::Latest
            };
            let now = listed
                .files
                .iter()
                .find(|transcript| transcript.session_id == *id);
            let has_grown = now
                .and_then(|transcript| has_transcript_grown(before, transcript))
                .filter(|_| known_by == SessionIdSource::Latest);
            return Ok(ProbeTarget {
                has_grown,
                ..by_id(id.clone(), known_by)
            });
        }
        if let Some(conversations) = &record
            && let Some(begun_id) = the_one_begun(conversations, &listed, since_baseline.as_ref())
        {
            let conversation = by_id(begun_id, SessionIdSource::Transcript);
            conversation.pin(store, worktree_id, spec, None)?;
            return Ok(conversation);
        }
        // An agent that can be asked only by id is not asked by guess; by hand, the latest
        // conversation is meant.
        let by_guess = source.is_none_or(|source| source.asks_latest) || baseline_at.is_none();
        let latest = transcript::choose_latest_transcript(listed.files).filter(|_| by_guess);
        let has_grown = record
            .as_ref()
            .zip(latest.as_ref())
            .and_then(|(record, latest)| has_transcript_grown(&record.before, latest));
        Ok(ProbeTarget {
            resume: None,
            expected: latest.map(|latest| latest.session_id),
            known_by: SessionIdSource::Latest,
            has_grown,
        })
    }

    /// Records the session that answers probes about this spec, if its id was unknown. `answered` is the id in its output.
    pub fn pin(
        &self,
        store: &dyn LocalStore,
        worktree_id: &str,
        spec: &str,
        answered: Option<&str>,
    ) -> Result<(), StoreError> {
        if matches!(
            self.known_by,
            SessionIdSource::Output | SessionIdSource::Hook
        ) {
            return Ok(());
        }
        // A fork of a session answers under an id of its own.
        let Some(id) = self
            .resume
            .as_deref()
            .or(answered)
            .or(self.expected.as_deref())
        else {
            return Ok(());
        };
        let Some(conversations) = SpecConversations::read_row(store, worktree_id, spec)? else {
            return Ok(());
        };
        let pinned = Some((id.to_owned(), self.known_by.as_str().to_owned()));
        if conversations.pinned == pinned {
            return Ok(());
        }
        SpecConversations {
            pinned,
            ..conversations
        }
        .write_row(store, worktree_id, spec)
    }

    /// Whether this conversation has a transcript of this folder that has grown since the baseline.
    pub fn has_grown_here(
        &self,
        store: &dyn LocalStore,
        (worktree_id, spec): (&str, &str),
        (root, source): (&Path, &TranscriptSource),
    ) -> bool {
        let recorded = SpecConversations::read_row(store, worktree_id, spec)
            .ok()
            .flatten();
        let transcript = self
            .expected
            .as_deref()
            .and_then(|id| source.session(root, id));
        recorded
            .zip(transcript)
            .is_some_and(|(record, transcript)| {
                // Of those that were not noted, one that was begun since has grown.
                let noted = source.is_by_folder()
                    || begun_since(record.baseline_at, &transcript) == Some(true);
                noted && has_transcript_grown(&record.before, &transcript) == Some(true)
            })
    }

    /// Why a `complete` of this conversation proves nothing, if it does not.
    pub fn proves_nothing(&self) -> Option<String> {
        let id = self.expected.as_deref().unwrap_or("latest");
        (self.known_by == SessionIdSource::Latest && self.has_grown == Some(false))
            .then(|| format!("the conversation {id} has not grown since the baseline, so it knows nothing of the work"))
    }
}

/// Records the existing conversations at a baseline, to detect later which one was started or continued: those of every agent whose
/// transcripts of a folder lie together.
pub fn note_conversations(
    store: &dyn LocalStore,
    (worktree_id, spec): (&str, &str),
    (root, sources): (&Path, &[TranscriptSource]),
    baseline_at: Timestamp,
) -> Result<(), StoreError> {
    let by_folder = sources.iter().filter(|source| source.is_by_folder());
    let seen = by_folder
        .flat_map(|source| source.listing(root, None).files)
        .map(|seen| (seen.session_id, seen.size));
    let mut before: Vec<(String, u64)> = seen.collect();
    before.sort();
    SpecConversations {
        baseline_at,
        before,
        pinned: None,
        seen: Vec::new(),
    }
    .write_row(store, worktree_id, spec)
}

/// Whether a session was recorded since a baseline, or a transcript of the folder was begun or has
/// grown since then. An unknown answer counts as one.
///
/// # Errors
/// Fails if the records cannot be read.
pub fn has_conversation_since(
    store: &dyn LocalStore,
    (worktree_id, spec): (&str, &str),
    (root, sources): (&Path, &[TranscriptSource]),
    baseline_at: Timestamp,
) -> Result<bool, StoreError> {
    if SessionRecord::read_row(store, worktree_id, spec)?
        .is_some_and(|session| baseline_at <= session.started_at)
    {
        return Ok(true);
    }
    let Some(record) = SpecConversations::read_row(store, worktree_id, spec)?
        .filter(|record| record.baseline_at == baseline_at)
    else {
        return Ok(true);
    };
    Ok(sources
        .iter()
        .any(|source| has_worked(&record, root, source) != Some(false)))
}

/// The one agent whose transcripts of the folder were begun or have grown since a baseline, else the one that was seen at work since then.
/// Returns `None` if another one may have worked, too.
///
/// # Errors
/// Fails if the records cannot be read.
pub fn find_agent_since(
    store: &dyn LocalStore,
    (worktree_id, spec): (&str, &str),
    (root, sources): (&Path, &[TranscriptSource]),
    baseline_at: Timestamp,
) -> Result<Option<(String, Option<AgentSource>)>, StoreError> {
    let Some(record) = SpecConversations::read_row(store, worktree_id, spec)?
        .filter(|record| record.baseline_at == baseline_at)
    else {
        return Ok(None);
    };
    let mut agents = sources
        .iter()
        .map(|source| (&source.agent, has_worked(&record, root, source)))
        .filter(|(_, worked)| *worked != Some(false));
    Ok(
        match (agents.next(), agents.next(), record.seen.as_slice()) {
            // A session could write a transcript of an agent that no look saw.
            (Some((agent, Some(true))), None, seen) if seen.iter().all(|saw| saw == agent) => {
                Some((agent.clone(), None))
            }
            (_, _, [seen]) => Some((seen.clone(), Some(AgentSource::Processes))),
            _ => None,
        },
    )
}

/// Whether the transcripts of an agent show work in a folder since the recorded baseline; `None` where that is unknown.
fn has_worked(record: &SpecConversations, root: &Path, source: &TranscriptSource) -> Option<bool> {
    let listed = source.listing(root, Some(record.baseline_at));
    let is_since = |file: &TranscriptFile| match source.is_by_folder() {
        true => has_transcript_grown(&record.before, file),
        false => begun_since(record.baseline_at, file),
    };
    let signs: Vec<Option<bool>> = listed.files.iter().map(is_since).collect();
    match signs.contains(&Some(true)) {
        true => Some(true),
        false => (listed.complete && !signs.contains(&None)).then_some(false),
    }
}

fn has_transcript_grown(before: &[(String, u64)], transcript: &TranscriptFile) -> Option<bool> {
    let size = before
        .iter()
        .find(|(id, _)| *id == transcript.session_id)
        .map(|(_, size)| *size);
    Some(size.is_none_or(|size| size < transcript.size))
}

/// Whether a transcript was begun at or after a baseline; `None` where the file system does not say when.
fn begun_since(baseline_at: Timestamp, transcript: &TranscriptFile) -> Option<bool> {
    // A time in the future counts as now.
    let baseline = SystemTime::from(baseline_at.min(Timestamp::now()));
    transcript.begun.map(|begun| baseline <= begun + COARSE)
}

/// The one transcript that was begun after the baseline, and not after the session's end where that
/// is known. Returns `None` if another one may have been begun.
fn the_one_begun(
    record: &SpecConversations,
    listed: &TranscriptListing,
    session: Option<&SessionRecord>,
) -> Option<String> {
    let end = session
        .and_then(|session| session.ended_at)
        .map(|end| SystemTime::from(end) + LATE);
    let in_time = |transcript: &&TranscriptFile| {
        end.zip(transcript.begun)
            .is_none_or(|(end, begun)| begun <= end)
            && begun_since(record.baseline_at, transcript) != Some(false)
    };
    let is_new = |transcript: &&TranscriptFile| {
        !record
            .before
            .iter()
            .any(|(id, _)| *id == transcript.session_id)
    };
    let mut begun = listed.files.iter().filter(is_new).filter(in_time);
    let first_begun = begun.next().filter(|_| listed.complete)?;
    begun
        .next()
        .is_none()
        .then(|| first_begun.session_id.clone())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use watchdog_agent::transcript::ClaudeHome;
    use watchdog_store::{LocalStore, StateDir, open_store};

    const A: &str = "0a0a0a0a-0000-4000-8000-000000000001";
    const B: &str = "0a0a0a0a-0000-4000-8000-000000000002";
    const C: &str = "0a0a0a0a-0000-4000-8000-000000000003";

    struct Ground {
        scratch: tempfile::TempDir,
        store: std::sync::Arc<dyn LocalStore>,
        home: ClaudeHome,
    }

    impl Ground {
        fn new() -> Self {
            let scratch = tempfile::tempdir().expect("a scratch folder");
            for folder in ["work", "claude"] {
                fs::create_dir(scratch.path().join(folder)).expect("a folder");
            }
            let state = StateDir::resolve(Some(scratch.path().join("state")), None, None)
                .expect("a state folder");
            state.ensure().expect("it can be made");
            let store = open_store(&state).expect("a store");
            let home = ClaudeHome {
                config_dir: Some(scratch.path().join("claude").into()),
                home: None,
            };
            Ground {
                scratch,
                store,
                home,
            }
        }

        fn root(&self) -> std::path::PathBuf {
            fs::canonicalize(self.scratch.path().join("work")).expect("it exists")
        }

        fn write(&self, id: &str, text: &str) {
            let root = self.root();
            let slug: String = root
                .to_str()
                .expect("UTF-8")
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
                .collect();
            let folder = self.scratch.path().join("claude/projects").join(slug);
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join(format!("{id}.jsonl")), text).expect("a file");
        }

        fn note(&self, at: Timestamp) {
            note_conversations(
                self.store.as_ref(),
                ("w", "s"),
                (&self.root(), &[self.source()]),
                at,
            )
            .expect("a row");
        }

        fn whom(&self, at: Option<Timestamp>) -> ProbeTarget {
            ProbeTarget::find_for_spec(
                self.store.as_ref(),
                ("w", "s"),
                (&self.root(), Some(&self.source())),
                None,
                at,
            )
            .expect("rows")
        }

        fn source(&self) -> TranscriptSource {
            self.home.transcripts().expect("a home")
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("an instant")
    }

    #[test]
    fn recorded_session_is_asked_before_newest_conversation() {
        let ground = Ground::new();
        ground.note(at(100));
        let record = SessionRecord {
            session_id: Some(A.into()),
            started_at: at(100),
            ended_at: Some(at(200)),
            ..SessionRecord::default()
        };
        record
            .write_row(ground.store.as_ref(), "w", "s")
            .expect("a row");
        ground.write(A, "{}\n");
        ground.write(B, "{}\n{}\n");
        let whom = ground.whom(Some(at(100)));
        assert_eq!(
            (whom.resume.as_deref(), whom.known_by),
            (Some(A), SessionIdSource::Output)
        );
        let by_hand = ground.whom(None);
        assert_eq!(
            (by_hand.resume, by_hand.known_by),
            (None, SessionIdSource::Latest),
            "without a record the latest is meant"
        );
        let later = ground.whom(Some(at(150)));
        assert_ne!(
            later.known_by,
            SessionIdSource::Output,
            "a session that began before the baseline is about other work"
        );
    }

    #[test]
    fn only_transcript_since_baseline_is_the_session() {
        let ground = Ground::new();
        ground.write(A, "{}\n");
        ground.note(at(100));
        ground.write(B, "{}\n");
        let whom = ground.whom(Some(at(100)));
        assert_eq!(
            (whom.resume.as_deref(), whom.known_by),
            (Some(B), SessionIdSource::Transcript)
        );
        ground.write(C, "{}\n{}\n");
        assert_eq!(
            ground.whom(Some(at(100))).resume.as_deref(),
            Some(B),
            "it stays the one, whoever comes later"
        );
    }

    #[test]
    fn unknown_answerer_keeps_session_that_must_grow() {
        let ground = Ground::new();
        ground.write(A, "{}\n");
        ground.note(at(100));
        let whom = ground.whom(Some(at(100)));
        assert_eq!(
            (
                whom.resume.as_deref(),
                whom.expected.as_deref(),
                whom.known_by
            ),
            (None, Some(A), SessionIdSource::Latest)
        );
        assert!(
            whom.proves_nothing()
                .expect("a reason")
                .contains("has not grown")
        );
        whom.pin(ground.store.as_ref(), "w", "s", Some(A))
            .expect("a row");
        ground.write(B, "{}\n");
        let again = ground.whom(Some(at(100)));
        assert_eq!(
            (again.resume.as_deref(), again.known_by, again.has_grown),
            (Some(A), SessionIdSource::Latest, Some(false))
        );
        ground.write(A, "{}\n{}\n");
        assert_eq!(ground.whom(Some(at(100))).proves_nothing(), None);
        ground.note(at(300));
        assert_eq!(
            ground.whom(Some(at(300))).resume,
            None,
            "a new baseline begins anew"
        );
    }

    #[test]
    fn conversation_since_the_baseline_is_seen() {
        let ground = Ground::new();
        ground.write(A, "{}\n");
        ground.note(at(100));
        let sources = [ground.source()];
        let since = |second| {
            has_conversation_since(
                ground.store.as_ref(),
                ("w", "s"),
                (&ground.root(), &sources),
                at(second),
            )
            .expect("rows")
        };
        assert!(!since(100), "none has grown");
        assert!(since(200), "of another baseline nothing is known");
        ground.write(A, "{}\n{}\n");
        assert!(since(100), "one has grown");
        ground.write(A, "{}\n");
        ground.write(B, "{}\n");
        assert!(since(100), "one was begun");
    }

    #[test]
    fn one_agent_that_worked_since_is_known() {
        use serde_json::json;
        let presets = ["claude", "codex", "gemini", "qwen"];
        let hash = |root: &Path| {
            use sha2::Digest as _;
            sha2::Sha256::digest(root.to_str().expect("UTF-8"))
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        let path_and_line = |preset: &str, root: &Path| {
            let slug = root
                .to_str()
                .expect("UTF-8")
                .replace(|c: char| !c.is_ascii_alphanumeric(), "-");
            match preset {
                "claude" => (format!(".claude/projects/{slug}/{A}.jsonl"), json!({})),
                "codex" => (
                    format!(".codex/sessions/2026/11/23/rollout-{A}.jsonl"),
                    json!({"payload": {"id": A, "cwd": root}}),
                ),
                "gemini" => (
                    format!(".gemini/tmp/work/chats/session-{A}.jsonl"),
                    json!({"sessionId": A, "projectHash": hash(root)}),
                ),
                _ => (format!(".qwen/projects/{slug}/chats/{A}.jsonl"), json!({})),
            }
        };
        // What was there at the baseline, what was written since, and whom that names.
        let tables: [(&[&str], &[&str], Option<&str>); 9] = [
            (&[], &[], None),
            (&[], &["claude"], Some("claude")),
            (&[], &["codex"], Some("codex")),
            (&[], &["gemini"], Some("gemini")),
            (&[], &["qwen"], Some("qwen")),
            (&["qwen"], &["codex"], Some("codex")),
            (&["qwen"], &["qwen"], Some("qwen")),
            (&[], &["claude", "codex"], None),
            (&[], &["gemini", "unreadable"], None),
        ];
        for (before, since, named) in tables {
            let ground = Ground::new();
            let root = ground.root();
            let home = ClaudeHome {
                config_dir: None,
                home: Some(ground.scratch.path().into()),
            };
            let sources: Vec<TranscriptSource> = presets
                .iter()
                .map(|preset| source_at(preset, &home))
                .collect();
            let append = |preset: &str| {
                let (path, text) = match preset {
                    "unreadable" => (
                        ".codex/sessions/2026/11/23/rollout-x.jsonl".to_owned(),
                        "nonsense".to_owned(),
                    ),
                    _ => Some(path_and_line(preset, &root))
                        .map(|(path, line)| (path, format!("{line}\n")))
                        .expect("a line"),
                };
                let path = ground.scratch.path().join(path);
                fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
                let earlier = fs::read_to_string(&path).unwrap_or_default();
                fs::write(path, earlier + &text).expect("a file");
            };
            before.iter().for_each(|preset| append(preset));
            let baseline_at = Timestamp::now();
            note_conversations(
                ground.store.as_ref(),
                ("w", "s"),
                (&root, &sources),
                baseline_at,
            )
            .expect("a row");
            since.iter().for_each(|preset| append(preset));
            let agent = |at| {
                find_agent_since(ground.store.as_ref(), ("w", "s"), (&root, &sources), at)
                    .expect("rows")
            };
            let by_transcript = named.map(|named| (named.to_owned(), None));
            assert_eq!(agent(baseline_at), by_transcript, "{before:?} {since:?}");
            assert_eq!(agent(at(100)), None, "of another baseline nothing is known");
        }
    }

    /// The source of a preset that is built in, in this home. No variable of this process moves it.
    fn source_at(preset: &str, home: &ClaudeHome) -> TranscriptSource {
        let preset =
            watchdog_agent::preset::PresetCatalog::built_in_named(preset).expect("it is built in");
        let mut preset = watchdog_agent::preset::AgentPreset::clone(&preset);
        preset.transcripts.as_mut().expect("it names them").variable = None;
        TranscriptSource::from_preset(&preset, home).expect("a home")
    }

    #[test]
    fn answering_fork_is_not_the_session() {
        let ground = Ground::new();
        ground.note(at(100));
        ground.write(A, "{}\n");
        let whom = ground.whom(Some(at(100)));
        whom.pin(ground.store.as_ref(), "w", "s", Some(C))
            .expect("a row");
        assert_eq!(ground.whom(Some(at(100))).resume.as_deref(), Some(A));
    }
}
