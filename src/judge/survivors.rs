//! Finds the processes that a session left running, and decides whether they still hold the verdict back.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use crate::watch::last_change;
use watchdog_core::decision::machine::SurvivorFacts;
use watchdog_core::decision::survivor_quiet::{ActivitySample, after_sample, holds};
use watchdog_facts::evidence::{Degradation, WarningCode};
use watchdog_process::session_meter::processes_below;
use watchdog_process::still_runs;
use watchdog_store::session::SessionRecord;
use watchdog_store::{LocalStore, session};

use super::judgement_input::JudgementInput;

/// Finds the processes that the session left running. Records since when they are idle, for the next call.
pub fn find(input: &JudgementInput, store: &dyn LocalStore, at: Timestamp) -> SurvivorFacts {
    let unknown = SurvivorFacts {
        session_over: input.overrides.session_over,
        ..SurvivorFacts::default()
    };
    let Some(record) = input.last_session(store) else {
        return unknown;
    };
    let gone = record
        .pid
        .is_some_and(|pid| !still_runs(pid, record.started_at));
    let ended = input.overrides.session_over || record.ended_at.is_some() || gone;
    let seen_until = record.ended_at.unwrap_or(record.started_at);
    let running: Vec<(u32, String)> = record
        .survivors
        .iter()
        .filter(|(pid, _)| still_runs(*pid, seen_until))
        .cloned()
        .collect();
    let named: Vec<String> = running
        .iter()
        .map(|(pid, name)| format!("{name} (process {pid})"))
        .collect();
    if running.is_empty() {
        return SurvivorFacts {
            session_over: ended,
            ..SurvivorFacts::default()
        };
    }
    let sample = ActivitySample {
        at,
        used: used(&running),
        written: written(input),
    };
    let quiet = after_sample(record.quiet, sample);
    // If the sample is not saved, the next one only starts the count again.
    if record.quiet != Some(quiet) {
        let same = |found: &SessionRecord| found.started_at == record.started_at;
        let _ = session::update(store, &input.worktree_id, &input.spec, |found| {
            if same(found) {
                found.quiet = Some(quiet);
            }
        });
    }
    if holds(
        record.ended_at.unwrap_or(at),
        input.settings.limits.background,
        quiet,
        at,
    ) {
        return SurvivorFacts {
            holding: named,
            session_over: false,
            released: None,
        };
    }
    let detail = format!(
        "the session left this running, and it no longer holds the verdict: {}",
        named.join(", ")
    );
    SurvivorFacts {
        released: Some(Degradation::new(WarningCode::Survivors, detail)),
        ..SurvivorFacts::default()
    }
}

/// The warning about so many processes of a session that still run; `None` where none does.
pub fn processes_left(count: usize) -> Option<Degradation> {
    let detail = match count {
        0 => return None,
        1 => "1 process of the session still runs".to_owned(),
        count => format!("{count} processes of the session still run"),
    };
    Some(Degradation::new(WarningCode::ProcessesLeft, detail))
}

/// Processor time of all of them; `None` where one cannot be read.
fn used(running: &[(u32, String)]) -> Option<Duration> {
    running
        .iter()
        .map(|(pid, _)| processes_below(*pid).map(|sample| sample.used))
        .sum()
}

fn written(input: &JudgementInput) -> Option<Timestamp> {
    let (root, git_dir) = {
        let worktree = input.worktree();
        (worktree.root().to_owned(), worktree.git_dir().to_owned())
    };
    let except: [&Path; 0] = [];
    Timestamp::try_from(last_change(&root, &git_dir, &except.map(Path::to_path_buf))?.at).ok()
}
