//! Decides by the `notify` of a trusted configuration which events go to whom. A notice goes into the outbox of the store before the
//! journal gets its event; the notification worker delivers it.

use std::path::Path;

use jiff::SignedDuration;

use watchdog_core::config::settings::NotifyRule;
use watchdog_store::engine::NewEvent;
use watchdog_store::journal::kind;
use watchdog_store::notice_record::NoticeRepeatRule;
use watchdog_store::outbox::{self, OutboxNotice};
use watchdog_store::{LocalStore, RecordType, StoreError, answer::StandingAnswer, notice_record};

use crate::wire::event_words::answers_to;
use crate::wire::notice_json::notice_json;

/// The notices that were put into the outbox.
#[must_use = "whoever delivers must be woken"]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfferedNotices {
    /// To be sent now.
    pub at_once: usize,
    /// Held back until all are known.
    pub held: usize,
}

/// The rules of one worktree.
#[derive(Debug, Clone)]
pub struct NotificationRules {
    rules: Vec<NotifyRule>,
    path: String,
}

impl NotificationRules {
    /// The rules of a configuration that is trusted, for the worktree at `root`.
    pub fn new(rules: Vec<NotifyRule>, root: &Path) -> Self {
        NotificationRules {
            rules,
            path: root.display().to_string(),
        }
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Puts the notices for these events into the outbox, and returns how many there are. Those for people are held back for so long.
    ///
    /// # Errors
    /// Fails if the store refuses, or the outbox is full.
    pub fn offer(
        &self,
        store: &dyn LocalStore,
        events: &[NewEvent],
        hold_time: Option<SignedDuration>,
    ) -> Result<OfferedNotices, StoreError> {
        let mut offered = OfferedNotices::default();
        for event in events {
            if self.is_empty() {
                continue;
            }
            let repeated = is_repeated(store, event, notice_record::would_repeat)?;
            for (n, rule) in self
                .rules
                .iter()
                .enumerate()
                .filter(|(_, rule)| !repeated && answers_to(event, &rule.on))
            {
                let (to, timeout, retries) = (rule.to.clone(), rule.timeout, rule.retries);
                let own_hold_time = hold_time.filter(|_| to.is_for_people());
                let not_before = own_hold_time.map_or(event.at, |delay| event.at + delay);
                let notice = OutboxNotice {
                    event: notice_json(event, &self.path),
                    to,
                    timeout,
                    retries,
                    attempts: 0,
                    not_before,
                };
                if !outbox::add_notice(store, &event.id, n, &notice)? {
                    return Err(StoreError::TooMany {
                        what: "notifications",
                        count: outbox::FULL,
                    });
                }
                *(if own_hold_time.is_some() {
                    &mut offered.held
                } else {
                    &mut offered.at_once
                }) += 1;
            }
            // Every event updates the record of repeats, because the next one is compared with it. Recorded before its notice is in the
            // outbox, it would be lost where this process is killed in between.
            is_repeated(store, event, notice_record::is_repeated)?;
        }
        Ok(offered)
    }
}

/// Compares a message with the record of those that were sent: the worktree, the spec, its state, the message.
type CompareNotice = fn(
    &dyn LocalStore,
    &str,
    &str,
    Option<&str>,
    (&str, NoticeRepeatRule),
) -> Result<bool, StoreError>;

/// Whether an event repeats the last one of its spec about the same state: the same verdict on the same commits and changes, or the end of
/// a task whose verdict was sent already. A new session, or a new task, is never a repeat. `compare` looks at the record, or updates it.
fn is_repeated(
    store: &dyn LocalStore,
    event: &NewEvent,
    compare: CompareNotice,
) -> Result<bool, StoreError> {
    let spec = event.spec.as_deref().unwrap_or_default();
    let text = |key: &str| event.data[key].as_str().unwrap_or_default();
    match event.kind.as_str() {
        kind::VERDICT => {
            // A probe that was repeated after a pause is about the same state. An unreadable answer counts as none.
            let answered = StandingAnswer::read_row(store, &event.worktree, spec)
                .ok()
                .flatten()
                .map(|answer| answer.state)
                .unwrap_or_default();
            let state = [text("baseline"), text("head"), &answered].join(" ");
            // Without a known HEAD nothing shows that it moved.
            let state = (!text("head").is_empty()).then_some(state.as_str());
            let again = if matches!(text("status"), "error" | "failed") {
                NoticeRepeatRule::AfterOthers
            } else {
                NoticeRepeatRule::NewStateOnly
            };
            let what = [text("status"), text("reason")].join(" ");
            compare(store, &event.worktree, spec, state, (&what, again))
        }
        // Opened again about the same state, it is no news.
        kind::BREAKER if text("state") == "open" => compare(
            store,
            &event.worktree,
            spec,
            None,
            ("breaker open", NoticeRepeatRule::NewStateOnly),
        ),
        kind::COMPLETE | kind::REVIEW | kind::FAILED => {
            let before = notice_record::read_last_message(store, &event.worktree, spec)?;
            Ok(before.split(' ').next() == Some(event.kind.as_str()))
        }
        kind::BASELINE | kind::SESSION_STARTED | kind::ASSIGNED | kind::STARTED => {
            notice_record::forget_messages(store, &event.worktree, spec)?;
            Ok(false)
        }
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::super::rules::*;
    use watchdog_core::config::settings::NotifyTarget;
    use watchdog_store::journal::new_event;
    use watchdog_store::{StateDir, open_store};

    fn offered(script: &[(&str, Value)], on: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::resolve(Some(folder.path().join("state")), None, None).unwrap();
        state.ensure().unwrap();
        let store = open_store(&state).unwrap();
        let on = on.iter().map(|word| (*word).to_owned()).collect();
        let rule = NotifyRule {
            on,
            ..NotifyRule::new(NotifyTarget::Command(vec!["x".into()]))
        };
        let notices = NotificationRules::new(vec![rule], Path::new("/w"));
        for (kind, data) in script {
            let event = new_event(Timestamp::UNIX_EPOCH, "w", Some("s"), kind, data.clone());
            let offered = notices.offer(store.as_ref(), &[event], None).unwrap();
            assert!(offered.at_once <= 1 && offered.held == 0);
        }
        let waiting = outbox::list_waiting_notices(store.as_ref()).unwrap();
        assert!(
            waiting
                .iter()
                .all(|(_, notice)| notice.event["path"] == "/w")
        );
        waiting
            .iter()
            .map(|(_, notice)| {
                notice.event["data"]["reason"]
                    .as_str()
                    .unwrap_or("-")
                    .to_owned()
            })
            .collect()
    }

    fn verdict(status: &str, reason: &str, head: &str) -> (&'static str, Value) {
        (
            "verdict",
            json!({"status": status, "reason": reason, "head": head}),
        )
    }

    #[test]
    fn only_what_was_asked_for_is_told() {
        let script = [
            verdict("review", "untrusted", "1"),
            verdict("complete", "rescued", "1"),
            ("probe", json!({"reason": "a probe"})),
        ];
        assert_eq!(
            offered(&script, &["review", "rescued"]),
            ["untrusted", "rescued"]
        );
        assert_eq!(offered(&script, &["probe"]), ["a probe"]);
        assert_eq!(offered(&script, &["failed"]), [""; 0]);
    }

    #[test]
    fn same_verdict_is_sent_once_until_changes() {
        let same = verdict("review", "untrusted", "1");
        let twice = [
            same.clone(),
            same.clone(),
            verdict("review", "untrusted", "2"),
            verdict("complete", "rescued", "2"),
            same.clone(),
        ];
        assert_eq!(offered(&twice, &["review"]), ["untrusted"; 3]);
        let sessions = [same.clone(), ("session_started", json!({})), same.clone()];
        assert_eq!(
            offered(&sessions, &["review"]),
            ["untrusted"; 2],
            "each session is told about"
        );
    }

    #[test]
    fn flapping_in_same_state_notifies_once_except_faults() {
        let head = |status, reason| verdict(status, reason, "1");
        let (working, timeout, error) = (
            head("incomplete", "working"),
            head("timeout", "max_probes"),
            head("error", "git_error"),
        );
        let refused = (
            "verdict",
            json!({"status": "stopped", "reason": "breaker_open", "head": null}),
        );
        let opens = ("breaker", json!({"state": "open", "reason": "opens"}));
        let week = [
            &working, &timeout, &opens, &refused, &timeout, &working, &timeout, &opens, &refused,
        ]
        .map(Clone::clone);
        assert_eq!(
            offered(&week, &["timeout", "stopped", "breaker_open"]),
            ["max_probes", "opens", "breaker_open"]
        );
        let faults = [&error, &error, &working, &error].map(Clone::clone);
        assert_eq!(
            offered(&faults, &["error"]),
            ["git_error"; 2],
            "a fault that comes back is another one"
        );
    }

    #[test]
    fn task_end_notice_is_dropped_after_same_verdict() {
        let end = ("complete", json!({"reason": "the task"}));
        assert_eq!(
            offered(
                &[verdict("complete", "new_commits", "1"), end.clone()],
                &["complete"]
            ),
            ["new_commits"]
        );
        assert_eq!(
            offered(
                &[verdict("waiting", "locked", "1"), end.clone()],
                &["complete"]
            ),
            ["the task"]
        );
        assert_eq!(offered(&[end], &["complete"]), ["the task"]);
    }
}
