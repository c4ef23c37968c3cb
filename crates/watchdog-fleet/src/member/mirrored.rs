//! The state of each work from the events of the fleet: its baseline, its session, its loop and its
//! breaker, as records of the mirror. Pure.
//!
//! A copy has less than a record of its machine: no process, no log, no refs. Missing parts stay
//! unknown.

use std::path::PathBuf;

use jiff::Timestamp;
use watchdog_core::decision::breaker::Breaker;
use watchdog_facts::verdict::Reason;
use watchdog_store::baseline::{BaselineRecord, BaselineRefs};
use watchdog_store::engine::StoredEvent;
use watchdog_store::journal::kind;
use watchdog_store::looped::LoopRecord;
use watchdog_store::session::SessionRecord;

/// Stands for what does not leave its machine.
const NOT_SHARED: &str = "not shared";

/// The records of one work of another machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct MirroredWork {
    /// The baseline at which it began, or the first that was heard of it.
    pub baseline: Option<BaselineRecord>,
    /// Its last session.
    pub session: Option<SessionRecord>,
    /// Its last loop. A loop that a signal interrupted has an iteration under way; one that runs
    /// has none.
    pub looped: Option<LoopRecord>,
    /// Its breaker.
    pub breaker: Option<Breaker>,
}

/// The name of a worktree among those of all machines.
pub(super) fn mirrored_id(machine: &str, worktree: &str) -> String {
    format!("{machine}:{worktree}")
}

/// The folder of a worktree among those of all machines, as `scp` would name it.
fn mirrored_folder(machine: &str, event: &StoredEvent) -> PathBuf {
    let folder = event.data["folder"].as_str().unwrap_or(&event.worktree);
    PathBuf::from(mirrored_id(machine, folder))
}

impl MirroredWork {
    /// Takes the next event of this work.
    pub(super) fn take(&mut self, machine: &str, event: &StoredEvent) {
        let data = &event.data;
        let text = |key: &str| data[key].as_str();
        let commit = || {
            text("baseline")
                .filter(|commit| *commit != "unborn")
                .map(str::to_owned)
        };
        let begins = event.kind == kind::BASELINE;
        if begins || self.baseline.is_none() {
            self.baseline = Some(BaselineRecord {
                left_behind: Vec::new(),
                committer: None,
                commit: commit(),
                branch: self.baseline.take().and_then(|before| before.branch),
                refs: BaselineRefs::Here(Default::default()),
                at: event.at,
                worktree: mirrored_folder(machine, event),
                clone_id: None,
                blocked: None,
            });
        }
        if let Some(baseline) = &mut self.baseline {
            if data["folder"].is_string() {
                baseline.worktree = mirrored_folder(machine, event);
            }
            if let (kind::VERDICT, Some(branch)) = (event.kind.as_str(), text("branch")) {
                baseline.branch = Some(branch.to_owned());
            }
        }
        match event.kind.as_str() {
            kind::SESSION_STARTED if data["inner"] != true => {
                let agent = text("agent").map(str::to_owned);
                self.session = Some(SessionRecord {
                    agent,
                    ..SessionRecord::began(event.at)
                });
            }
            kind::SESSION_ENDED if data["inner"] != true => self.end_session(event.at),
            kind::VERDICT if !waits_for_it(text("reason")) => self.end_session(event.at),
            kind::BREAKER => self.breaker = parse_breaker(event),
            kind::STARTED => {
                if let Some(id) = text("loop") {
                    let resumed = self.looped.take().filter(|looped| looped.id == id);
                    let at_most = parse_number(&data["max_iterations"]);
                    let looped = resumed.unwrap_or_else(|| LoopRecord::new_begun(id, event.at));
                    self.looped = Some(LoopRecord {
                        at_most,
                        over: None,
                        under_way: None,
                        ..looped
                    });
                }
            }
            kind::ITERATION => {
                if let Some(looped) = &mut self.looped {
                    looped.standing.finished =
                        parse_number(&data["iteration"]).unwrap_or(looped.standing.finished);
                    looped.standing.chosen = text("agent")
                        .map(str::to_owned)
                        .or(looped.standing.chosen.take());
                }
            }
            kind::INTERRUPTED => {
                if let Some(looped) = self.looped.as_mut().filter(|looped| looped.over.is_none()) {
                    looped.under_way = Some((looped.standing.finished + 1, event.at));
                }
            }
            kind::COMPLETE | kind::REVIEW | kind::FAILED | kind::LIMIT
                if data["loop"].is_string() =>
            {
                if let Some(looped) = &mut self.looped {
                    let reason = Reason::ALL
                        .iter()
                        .copied()
                        .find(|reason| Some(reason.as_str()) == text("reason"));
                    looped.over = Some(reason.unwrap_or(Reason::Interrupted));
                }
            }
            _ => {}
        }
    }

    fn end_session(&mut self, at: Timestamp) {
        if let Some(session) = self
            .session
            .as_mut()
            .filter(|session| session.ended_at.is_none())
        {
            session.ended_at = Some(at);
        }
    }
}

/// Whether a verdict of this reason says that something still runs, or nothing of it.
fn waits_for_it(reason: Option<&str>) -> bool {
    [
        Reason::SessionActive,
        Reason::BackgroundWork,
        Reason::Locked,
        Reason::Dependencies,
    ]
    .iter()
    .any(|waiting_reason| Some(waiting_reason.as_str()) == reason)
}

fn parse_number(value: &serde_json::Value) -> Option<u32> {
    value.as_u64().and_then(|number| number.try_into().ok())
}

fn parse_breaker(event: &StoredEvent) -> Option<Breaker> {
    let strikes = parse_number(&event.data["strikes"]).unwrap_or(0);
    let since = event.data["since"]
        .as_str()
        .and_then(|since| since.parse().ok())
        .unwrap_or(event.at);
    let why = NOT_SHARED.to_owned();
    match event.data["state"].as_str()? {
        "open" => Some(Breaker::Open {
            strikes,
            since,
            why,
        }),
        "half_open" => Some(Breaker::HalfOpen {
            strikes,
            since,
            why,
            trial_since: None,
        }),
        _ => Some(Breaker::Closed { strikes, why: None }),
    }
}

#[cfg(test)]
#[path = "mirrored_tests.rs"]
mod tests;
