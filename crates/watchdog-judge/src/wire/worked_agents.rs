//! The agents that worked on the subject of a verdict, and why another agent took over: from the
//! events of the journal before it. Pure.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use watchdog_store::engine::StoredEvent;
use watchdog_store::journal::kind;

/// A session, and the change of the agent before it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkedSession {
    /// When its end was recorded.
    pub ended_at: Timestamp,
    /// The agent that ran it, by the name or path of its preset; `None` where that is unknown.
    pub agent: Option<String>,
    /// How it ended, in the journal's words.
    pub end: String,
    /// US dollars that it cost, where its program told that.
    pub cost_usd: Option<f64>,
    /// The agent that took over for it.
    #[serde(rename = "took_over")]
    pub change: Option<RecordedChange>,
}

/// A recorded change of the agent, by the names of the loop.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedChange {
    /// The agent of the session before.
    pub from: String,
    /// The agent that took over.
    pub to: String,
    /// The word for the reason, such as `usage_limit`.
    pub why: String,
    /// Until when the former one is held, as it was recorded.
    pub until: Option<String>,
}

/// Goes back through the journal, the newest event first.
#[derive(Debug, Default)]
pub struct WorkHistory {
    sessions: Vec<WorkedSession>,
    /// Whether the verdict before the next one is that of an iteration of the same loop.
    of_loop: bool,
    over: bool,
}

impl WorkHistory {
    /// Takes the next older event of the same worktree. Says whether older ones may belong to the same work: those of its loop, or else
    /// those since the verdict before.
    pub fn take(&mut self, event: &StoredEvent, spec: Option<&str>) -> bool {
        if self.over || event.spec.as_deref() != spec {
            return !self.over;
        }
        let text = |key: &str| event.data[key].as_str().map(str::to_owned);
        match event.kind.as_str() {
            kind::SESSION_ENDED => self.sessions.push(WorkedSession {
                ended_at: event.at,
                agent: text("agent"),
                end: text("end").unwrap_or_else(|| "unknown".into()),
                cost_usd: event.data["usage"]["cost_usd"].as_f64(),
                change: None,
            }),
            // It stands before the session of the one that took over.
            kind::AGENT_CHANGED => {
                let change = text("from").zip(text("to")).zip(text("why"));
                if let (Some(session), Some(((from, to), why))) = (self.sessions.last_mut(), change)
                {
                    session.change = Some(RecordedChange {
                        from,
                        to,
                        why,
                        until: text("until"),
                    });
                }
            }
            kind::ITERATION => self.of_loop = true,
            kind::VERDICT => self.over = !std::mem::take(&mut self.of_loop),
            // A loop that was resumed has more before it.
            kind::STARTED => {
                self.over = event.data["loop"].is_string() && event.data["resumed"] != true
            }
            _ => {}
        }
        !self.over
    }

    /// The sessions, oldest first.
    pub fn finish(mut self) -> Vec<WorkedSession> {
        self.sessions.reverse();
        self.sessions
    }
}

/// The session in a line for people.
pub fn worked_session_line(session: &WorkedSession) -> String {
    let change = session.change.as_ref().map_or_else(String::new, |change| {
        let until = change
            .until
            .as_ref()
            .map(|until| format!(", until {until}"))
            .unwrap_or_default();
        format!(
            "{} took over from {} ({}{until}): ",
            change.to,
            change.from,
            change.why.replace('_', " ")
        )
    });
    let agent = session
        .agent
        .as_deref()
        .unwrap_or("an agent that is not known");
    let cost = session
        .cost_usd
        .map(|cost| format!(", {cost:.2} USD"))
        .unwrap_or_default();
    format!(
        "{change}session of {agent}, ended {:.0} ({}){cost}",
        session.ended_at, session.end
    )
}

/// Whom the questions of a verdict went to, in a line for people; `None` where nobody was asked.
pub fn questions_line(verdict: &Value) -> Option<String> {
    let count = verdict["probes"].as_array().map_or(0, Vec::len);
    let times = if count == 1 {
        "once".to_owned()
    } else {
        format!("{count} times")
    };
    let about = verdict["session"]["agent"]
        .as_str()
        .map(|agent| format!(" about the session of {agent}"))
        .unwrap_or_default();
    (count > 0).then(|| format!("asked {times}{about}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(at: i64, kind: &str, data: Value) -> StoredEvent {
        StoredEvent {
            id: at.to_string(),
            at: Timestamp::from_second(at).expect("an instant"),
            worktree: "w".into(),
            spec: Some("s".into()),
            kind: kind.into(),
            data,
        }
    }

    fn agents(newest_first: &[StoredEvent]) -> Vec<Option<String>> {
        let mut history = WorkHistory::default();
        let _ = newest_first
            .iter()
            .all(|event| history.take(event, Some("s")));
        history
            .finish()
            .into_iter()
            .map(|session| session.agent)
            .collect()
    }

    #[test]
    fn only_loop_sessions_are_grouped_together() {
        let ended = |at, agent: &str| {
            event(
                at,
                kind::SESSION_ENDED,
                json!({"agent": agent, "end": "exit 0"}),
            )
        };
        let plain = |at, kind: &str| event(at, kind, json!({}));
        let looped = [
            ended(9, "codex"),
            event(
                8,
                kind::AGENT_CHANGED,
                json!({"from": "a", "to": "b", "why": "budget", "until": null}),
            ),
            plain(7, kind::ITERATION),
            plain(6, kind::VERDICT),
            ended(5, "claude"),
            event(4, kind::STARTED, json!({"loop": "l", "resumed": false})),
            ended(3, "gemini"),
        ];
        assert_eq!(
            agents(&looped),
            [Some("claude".to_owned()), Some("codex".to_owned())]
        );
        let runs = [
            ended(9, "codex"),
            plain(6, kind::VERDICT),
            ended(5, "claude"),
        ];
        assert_eq!(agents(&runs), [Some("codex".to_owned())]);
        let mut history = WorkHistory::default();
        let _ = looped.iter().all(|event| history.take(event, Some("s")));
        let sessions = history.finish();
        assert_eq!(
            worked_session_line(&sessions[1]),
            "b took over from a (budget): session of codex, ended 1970-01-01T00:00:09Z (exit 0)"
        );
    }
}
