//! Builds the context of a session for checks: from its output where watchdog ran it, and from its transcript.

use std::path::Path;

use jiff::Timestamp;

use crate::session::ProbeTarget;
use watchdog_agent::stream::SessionSummary;
use watchdog_agent::transcript::{self, ClaudeHome};
use watchdog_agent::transcript_read;
use watchdog_core::config::settings::{AgentSettings, PresetName};
use watchdog_facts::context::{SessionContext, SessionUsage};
use watchdog_store::{LocalStore, RecordType, session::SessionRecord};

use super::command_env::CommandEnv;
use super::judgement_input::JudgementInput;

/// Summarizes the transcript of a session of Claude Code: the session with this id, or the latest in this folder, unless that one was last
/// written before `since`. Returns `None` if there is no such transcript, or it cannot be read.
pub fn session_summary(
    root: &Path,
    home: &ClaudeHome,
    session_id: Option<&str>,
    since: Option<Timestamp>,
) -> Option<SessionSummary> {
    let transcript_file = match session_id {
        Some(id) => transcript::find_session(root, home, id)?,
        None => {
            let latest = transcript::latest_session(root, home)?;
            let written = Timestamp::try_from(latest.modified).ok()?;
            Some(latest).filter(|_| since.is_none_or(|since| since <= written))?
        }
    };
    transcript_read::read_transcript(&transcript_file.path, transcript_read::WINDOW).ok()
}

/// The context for checks: the output of the session where watchdog ran it, and its transcript. Reads nothing where no check needs it.
pub(super) fn load_session_context(
    input: &JudgementInput,
    store: &dyn LocalStore,
    command_env: &CommandEnv,
    (seen, agent): (SessionContext, &AgentSettings),
) -> SessionContext {
    if input.settings.checks.is_empty() {
        return seen;
    }
    let mut context = seen;
    // Plain text only has the end of a session; the transcript has its actions, too.
    if context.messages.is_empty()
        && agent.preset == PresetName::CLAUDE
        && let Some(summary) = by_transcript(input, store, &command_env.claude_home)
    {
        context = merge_contexts(context, summary.context());
    }
    context.spec.get_or_insert_with(|| input.spec.clone());
    context
        .baseline
        .get_or_insert_with(|| input.baseline.as_str().to_owned());
    context
}

fn by_transcript(
    input: &JudgementInput,
    store: &dyn LocalStore,
    home: &ClaudeHome,
) -> Option<SessionSummary> {
    let root = input.session_folder(store);
    let recorded = SessionRecord::read_row(store, &input.worktree_id, &input.spec)
        .ok()
        .flatten();
    // A session that began before the baseline is about other work.
    let recorded =
        recorded.filter(|session| input.recorded_at.is_none_or(|at| at <= session.started_at));
    match recorded.and_then(|session| session.session_id) {
        Some(id) => session_summary(root, home, Some(&id), None),
        // Without a baseline's time the transcript of this work is unknown.
        None => {
            let at = input.recorded_at?;
            let whom = ProbeTarget::find_for_spec(
                store,
                (&input.worktree_id, &input.spec),
                (root, home.transcripts().as_ref()),
                None,
                Some(at),
            )
            .ok()?;
            let grown = whom.has_grown != Some(false);
            whom.expected
                .filter(|_| grown)
                .and_then(|id| session_summary(root, home, Some(&id), None))
        }
    }
}

/// Takes the context of the session, and fills its gaps.
fn merge_contexts(seen: SessionContext, transcript: SessionContext) -> SessionContext {
    let usage = SessionUsage {
        turns: seen.usage.turns.or(transcript.usage.turns),
        input_tokens: seen.usage.input_tokens.or(transcript.usage.input_tokens),
        output_tokens: seen.usage.output_tokens.or(transcript.usage.output_tokens),
        cost_usd: seen.usage.cost_usd.or(transcript.usage.cost_usd),
        wall_seconds: seen.usage.wall_seconds,
    };
    SessionContext {
        stop_reason: seen.stop_reason.or(transcript.stop_reason),
        output: seen.output.or(transcript.output),
        prompt: seen.prompt.or(transcript.prompt),
        plan: seen.plan.or(transcript.plan),
        messages: transcript.messages,
        usage,
        ..seen
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, SystemTime};

    use super::super::session_context::*;

    const ID: &str = "0a0a0a0a-0000-4000-8000-000000000001";

    #[test]
    fn latest_transcript_counts_only_if_written_since() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let root = fs::canonicalize(scratch.path())
            .expect("it exists")
            .join("work");
        fs::create_dir(&root).expect("a folder can be made");
        let slug: String = root
            .to_str()
            .expect("UTF-8")
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        let folder = scratch.path().join("claude/projects").join(slug);
        fs::create_dir_all(&folder).expect("a folder can be made");
        let path = folder.join(format!("{ID}.jsonl"));
        let line = r#"{"type":"assistant","sessionId":"S","message":{"id":"m","model":"m","content":[{"type":"text","text":"All done."}]}}"#;
        fs::write(&path, line.replace('S', ID)).expect("a file can be written");
        let home = ClaudeHome {
            config_dir: Some(scratch.path().join("claude").into()),
            home: None,
        };
        let output = |id: Option<&str>, since: Option<SystemTime>| {
            session_summary(
                &root,
                &home,
                id,
                since.map(|since| Timestamp::try_from(since).expect("an instant")),
            )
            .and_then(|context| context.output)
        };
        let now = SystemTime::now();
        let (before, after) = (now - Duration::from_secs(60), now + Duration::from_secs(60));
        assert_eq!(output(None, None).as_deref(), Some("All done."));
        assert_eq!(output(None, Some(before)).as_deref(), Some("All done."));
        assert_eq!(output(None, Some(after)), None);
        assert_eq!(
            output(Some(ID), Some(after)).as_deref(),
            Some("All done."),
            "its id says that it is the one"
        );
        assert_eq!(
            output(Some("0a0a0a0a-0000-4000-8000-000000000002"), None),
            None
        );
    }

    #[test]
    fn transcript_never_overwrites_observed_facts() {
        let seen = SessionContext {
            output: Some("the end".into()),
            usage: SessionUsage {
                wall_seconds: Some(3.0),
                ..SessionUsage::default()
            },
            ..SessionContext::default()
        };
        let transcript = SessionContext {
            output: Some("other".into()),
            prompt: Some("do it".into()),
            usage: SessionUsage {
                turns: Some(2),
                wall_seconds: Some(9.0),
                ..SessionUsage::default()
            },
            ..SessionContext::default()
        };
        let joined = merge_contexts(seen, transcript);
        assert_eq!(
            (joined.output.as_deref(), joined.prompt.as_deref()),
            (Some("the end"), Some("do it"))
        );
        assert_eq!(
            (joined.usage.turns, joined.usage.wall_seconds),
            (Some(2), Some(3.0))
        );
    }
}
