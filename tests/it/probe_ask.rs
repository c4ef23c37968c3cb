//! Probes of real programs: scripts that stand for agents, each of which answers or fails in its own way.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use watchdog_agent::preset::PresetCatalog;
use watchdog_agent::probe::{ProbeRequest, ProbeSubject, ask_with};
use watchdog_agent::prompt::{QuestionFacts, probe_prompt};
use watchdog_core::config::settings::{AgentSettings, PresetName};
use watchdog_facts::evidence::{ProbeOutcome, ReplyStatus};
use watchdog_process::program::ProgramRun;

const ID: &str = "97d38b7d-137f-44c8-a906-ac97e99b783f";
const OTHER: &str = "11111111-137f-44c8-a906-ac97e99b783f";

/// A scratch folder with one script in it.
struct Agent {
    scratch: TempDir,
    script: PathBuf,
    preset: Option<PresetName>,
    session_id: Option<&'static str>,
    expected_session: Option<&'static str>,
    timeout: Duration,
}

impl Agent {
    /// A custom probe: `agent.probe` names the script.
    fn custom(body: &str) -> Self {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let script = scratch.path().join("agent");
        fs::write(&script, format!("#!/bin/sh\n{body}\n")).expect("a script can be written");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("modes can be set");
        Agent {
            scratch,
            script,
            preset: None,
            session_id: None,
            expected_session: None,
            timeout: Duration::from_secs(30),
        }
    }

    /// The script stands where Claude Code does, asked to resume a known session.
    fn claude(body: &str) -> Self {
        Agent {
            preset: Some(PresetName::CLAUDE),
            session_id: Some(ID),
            ..Agent::custom(body)
        }
    }

    fn path(&self) -> &Path {
        self.scratch.path()
    }

    fn ask(&self) -> ProbeOutcome {
        let settings = AgentSettings {
            preset: self.preset.clone().unwrap_or(PresetName::CLAUDE),
            model: None,
            probe: self
                .preset
                .is_none()
                .then(|| vec![self.script.to_string_lossy().into_owned(), "one arg".into()]),
        };
        let request = ProbeRequest {
            settings: &settings,
            preset: PresetCatalog::built_in_named(settings.preset.as_str()).ok_or_else(String::new),
            program: self
                .preset
                .as_ref()
                .map(|_| self.script.clone().into_os_string()),
            worktree: self.path(),
            session_id: self.session_id,
            expected_session: self.expected_session.map(str::to_owned),
            probed: ProbeSubject::default(),
            number: 3,
            prompt: probe_prompt(&QuestionFacts::default(), None),
            timeout: self.timeout,
            now: "2026-08-19T16:28:34Z".parse().expect("an instant"),
        };
        ask_with(&request, &ProgramRun::run).outcome
    }
}

#[track_caller]
fn status(outcome: &ProbeOutcome) -> ReplyStatus {
    match outcome {
        ProbeOutcome::Reply(reply) => reply.status,
        other => panic!("no reply: {other:?}"),
    }
}

#[track_caller]
fn assert_fails(agent: &Agent, word: &str, why: &str) {
    let outcome = agent.ask();
    assert_eq!(outcome.as_str(), word, "{outcome:?}");
    assert!(
        outcome.why().unwrap_or_default().contains(why),
        "{outcome:?}"
    );
}

fn envelope(session_id: &str, more: &str) -> String {
    format!(r#"echo '{{"type":"result","subtype":"success","session_id":"{session_id}",{more}}}'"#)
}

#[test]
fn custom_probe_gets_question_and_number() {
    let agent = Agent::custom(concat!(
        "cat > question; echo \"$WATCHDOG_PROBE $1\" > how; pwd > where\n",
        r#"echo "Let me see."; echo '{"status": "waiting", "agents_active": true}'"#
    ));
    assert_eq!(status(&agent.ask()), ReplyStatus::Waiting);
    let read =
        |name: &str| fs::read_to_string(agent.path().join(name)).expect("the script wrote it");
    assert!(read("question").starts_with("STATUS PROBE"));
    assert_eq!(read("how"), "3 one arg\n");
    assert_eq!(
        Path::new(read("where").trim_end()),
        fs::canonicalize(agent.path()).expect("a real path")
    );
}

#[test]
fn unread_question_does_no_harm() {
    assert_eq!(
        status(&Agent::custom(r#"exec <&-; echo '{"status": "working"}'"#).ask()),
        ReplyStatus::Working
    );
}

#[test]
fn reply_of_a_failed_program_is_ignored() {
    let agent = Agent::custom(r#"echo '{"status": "complete"}'; echo "disk full" >&2; exit 3"#);
    assert_fails(&agent, "failed", "exit code 3: disk full");
}

#[test]
fn silence_and_babble_are_told_apart() {
    assert_eq!(Agent::custom("exit 0").ask(), ProbeOutcome::Empty);
    assert_eq!(Agent::custom("echo; echo '  '").ask(), ProbeOutcome::Empty);
    assert_fails(
        &Agent::custom("echo All work is complete."),
        "unreadable",
        "no JSON object",
    );
    assert_fails(
        &Agent::custom(r#"echo '{"status": "banana"}'"#),
        "unreadable",
        "banana",
    );
}

#[test]
fn a_missing_program_is_not_installed() {
    let mut agent = Agent::claude("exit 0");
    agent.script = agent.path().join("nowhere");
    assert_fails(&agent, "not_installed", "nowhere");
    let agent = Agent::custom("no-such-agent --print");
    assert_fails(&agent, "not_installed", "no-such-agent");
}

#[test]
fn unexecutable_program_counts_as_not_installed() {
    let agent = Agent::claude("exit 0");
    fs::set_permissions(&agent.script, fs::Permissions::from_mode(0o644))
        .expect("modes can be set");
    assert_fails(&agent, "not_installed", "agent");
}

#[test]
fn failures_of_claude_code_are_told_apart() {
    let error = |status: &str, text: &str| {
        Agent::claude(&format!(
            "{}; exit 1",
            envelope(
                ID,
                &format!(
                    r#""is_error":true,"terminal_reason":"api_error","api_error_status":{status},"result":"{text}""#
                )
            )
        ))
    };
    for (agent, word, why) in [
        (
            error("401", "Invalid API key"),
            "not_logged_in",
            "Invalid API key",
        ),
        (
            error("400", "Credit balance is too low"),
            "not_logged_in",
            "Credit balance is too low",
        ),
        (
            error("null", "Not logged in · Please run /login"),
            "not_logged_in",
            "/login",
        ),
        (
            error("529", "API Error: Repeated 529 Overloaded errors."),
            "overloaded",
            "529",
        ),
        (
            error("500", "API Error: 500 Internal server error."),
            "overloaded",
            "500",
        ),
        (
            error("null", "Request timed out."),
            "overloaded",
            "timed out",
        ),
        (
            error("429", "API Error: Request rejected (429) · slow down"),
            "rate_limited",
            "429",
        ),
        (
            error("400", "Prompt is too long"),
            "failed",
            "Prompt is too long",
        ),
        (
            Agent::claude("echo 'No conversation found with session ID: x' >&2; exit 1"),
            "no_conversation",
            "No conversation found",
        ),
        (
            Agent::claude("echo boom >&2; kill -9 $$"),
            "failed",
            "signal 9: boom",
        ),
        (
            Agent::claude("exit 9"),
            "failed",
            "exit code 9: it printed nothing",
        ),
    ] {
        assert_fails(&agent, word, why);
    }
}

#[test]
fn a_usage_limit_comes_with_its_reset() {
    let body = envelope(
        ID,
        r#""is_error":true,"result":"You have hit your limit · resets 7pm (UTC)""#,
    );
    let ProbeOutcome::RateLimited { retry_at, .. } =
        Agent::claude(&format!("{body}; exit 1")).ask()
    else {
        panic!("no limit")
    };
    assert_eq!(
        retry_at.map(|at| at.to_string()).as_deref(),
        Some("2026-08-19T19:00:00Z")
    );
    let custom = Agent::custom("echo 'You have hit your limit · resets 7pm (UTC)'").ask();
    assert_eq!(custom.as_str(), "rate_limited");
}

#[test]
fn reply_from_another_session_is_no_conversation() {
    let answer = r#""is_error":false,"result":"","structured_output":{"status":"complete"}"#;
    assert_eq!(
        status(&Agent::claude(&envelope(ID, answer)).ask()),
        ReplyStatus::Complete
    );
    assert_fails(
        &Agent::claude(&envelope(OTHER, answer)),
        "no_conversation",
        OTHER,
    );

    let continued = |answering: &str| Agent {
        session_id: None,
        expected_session: Some(ID),
        ..Agent::claude(&envelope(answering, answer))
    };
    assert_eq!(status(&continued(ID).ask()), ReplyStatus::Complete);
    assert_fails(&continued(OTHER), "no_conversation", OTHER);
}

#[test]
fn claude_without_a_recorded_session_is_not_asked() {
    let agent = Agent {
        session_id: None,
        ..Agent::claude("[ \"$1\" = --version ] || touch asked")
    };
    assert_fails(
        &agent,
        "no_conversation",
        "no session of Claude Code is recorded",
    );
    assert!(!agent.path().join("asked").exists());
}

#[test]
fn old_version_is_asked_only_with_safety_options() {
    let knows_all_but = |options: &str| {
        format!(
            r#"for a in "$@"; do for o in {options}; do if [ "$a" = "$o" ]; then echo "error: unknown option '$o'" >&2; exit 1; fi; done; done
echo "$@" > argv
{}"#,
            envelope(
                ID,
                r#""is_error":false,"result":"{\"status\":\"working\"}""#
            )
        )
    };
    let agent = Agent::claude(&knows_all_but("--json-schema --permission-prompts"));
    assert_eq!(status(&agent.ask()), ReplyStatus::Working);
    let argv = fs::read_to_string(agent.path().join("argv")).expect("it was asked");
    assert!(
        argv.contains("--tools") && !argv.contains("--json-schema") && !argv.contains("status"),
        "{argv}"
    );

    let agent = Agent::claude(&knows_all_but("--no-session-persistence"));
    assert_fails(&agent, "failed", "does not know --no-session-persistence");
    assert!(!agent.path().join("argv").exists());
}

#[test]
fn a_probe_ends_at_its_deadline() {
    let agent = Agent {
        timeout: Duration::from_millis(300),
        ..Agent::custom(r#"echo '{"status": "complete"}'; exec sleep 1000"#)
    };
    let begin = std::time::Instant::now();
    assert_eq!(agent.ask(), ProbeOutcome::TimedOut);
    assert!(begin.elapsed() < Duration::from_secs(60));
}

#[test]
fn flooding_output_is_read_from_its_end() {
    let flood = r#"head -c 30000000 /dev/zero | tr '\0' '{'; echo; echo '{"status": "working"}'"#;
    assert_eq!(status(&Agent::custom(flood).ask()), ReplyStatus::Working);
}
