//! Whether a worktree needs a person, why, and what to type. A total function of its row: no IO, no clock.

use jiff::Zoned;

use super::overview::StatusRow;
use watchdog_core::decision::breaker::BreakerState;
use watchdog_core::decision::breaker::BreakerView;
use watchdog_facts::display::{cut_text, escape_to_one_line, plural};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_facts::verdict::{Reason, Status};
use watchdog_judge::clock::local_time::local_time;
use watchdog_judge::judge::live_session::SessionActivity;
use watchdog_judge::wire::last_verdict::LastVerdict;
use watchdog_judge::wire::next_step::NextStep;

/// Bytes of a sentence.
const SENTENCE: usize = 300;

/// Shows what is recorded of a worktree.
const INSPECT: &str = "events";

/// How soon somebody wants to see a row; the order is that of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttentionRank {
    /// The work stands still until a person decides or mends something.
    Person,
    /// A loop was interrupted: nothing goes on until it is run again.
    Resume,
    /// Something works on it.
    Running,
    /// It waits for its next session, or for a time.
    Next,
    /// It was not judged since its baseline.
    NotJudged,
    /// It is done.
    Complete,
    /// Its folder is gone.
    Gone,
}

impl AttentionRank {
    /// Of a row.
    pub fn from_row(row: &StatusRow) -> Self {
        let asks = |verdict: &LastVerdict| {
            verdict
                .status
                .is_none_or(|status| status.exit_code() >= Status::Review.exit_code())
        };
        let judged = row.last_judgement();
        // A session whose turn is over waits for a person's word.
        let idle = !row.runs() || row.is_idle();
        match judged.and_then(|verdict| verdict.status) {
            _ if row.gone => AttentionRank::Gone,
            _ if row.is_stalled() || row.silent().is_some() => AttentionRank::Person,
            _ if idle
                && (judged.is_some_and(asks)
                    || row.breaker.state == BreakerState::Open
                    || row.broken.is_some()) =>
            {
                AttentionRank::Person
            }
            _ if idle && row.loop_interrupted() => AttentionRank::Resume,
            Some(Status::Complete) if idle => AttentionRank::Complete,
            _ if row.runs() => AttentionRank::Running,
            None => AttentionRank::NotJudged,
            Some(_) => AttentionRank::Next,
        }
    }

    /// Whether the work is under way, or must go on: whatever is not live is done, was never judged, or is gone.
    pub fn is_live(self) -> bool {
        self < AttentionRank::NotJudged
    }

    /// Whether a person must look.
    pub fn needs_person(self) -> bool {
        self == AttentionRank::Person
    }
}

/// The attention that a row needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attention {
    /// How soon.
    pub rank: AttentionRank,
    /// Why, in one line that is fit for a terminal; empty where there is nothing to say.
    pub why: String,
    /// The command that goes on, whole and ready to be pasted; `None` where there is nothing to type.
    pub command: Option<String>,
}

/// Returns the attention that a row needs at this moment, which is also the zone of the times in
/// it. `commands` name the records; the worktree is the row's.
pub fn assess_attention(row: &StatusRow, commands: &WorktreeCommands, now: &Zoned) -> Attention {
    let rank = AttentionRank::from_row(row);
    let (why, step) = match rank {
        AttentionRank::Person => explain_person_needed(row, now),
        AttentionRank::Resume => {
            let iteration = row.looped.as_ref().map_or(0, |looped| looped.iteration());
            let why = format!(
                "loop interrupted at iteration {iteration}; run the same `watchdog loop` again there to resume"
            );
            (why, Some(NextStep::Inspect))
        }
        AttentionRank::Running => describe_running(row),
        AttentionRank::Next => next(row, now),
        AttentionRank::NotJudged => {
            let at = local_time(row.baseline_at, now);
            let why = match row.judgement_known {
                true => format!("not judged since its baseline was recorded at {at}"),
                false => format!(
                    "the journal has no judgement and does not reach back to its baseline, which was recorded at {at}"
                ),
            };
            (why, Some(NextStep::OfSpec("check")))
        }
        AttentionRank::Complete => (
            describe_verdict(row.verdict.as_ref()),
            row.verdict.as_ref().map(LastVerdict::next_step),
        ),
        AttentionRank::Gone => (
            "its folder is gone, or was moved; what was recorded of it is kept".to_owned(),
            None,
        ),
    };
    let seen = row.seen.as_ref().map(|seen| {
        let counts = row.counts.map(|(commits, paths)| {
            let commits = commits.map(|count| format!(", {}", plural(count, "commit")));
            let paths = plural(paths, "file");
            format!("{}, {paths} not committed", commits.unwrap_or_default())
        });
        let words = seen.in_words(&|at| local_time(at, now));
        format!("{words}{}", counts.unwrap_or_default())
    });
    let parts: Vec<String> = [why].into_iter().filter(|why| !why.is_empty()).collect();
    let why = parts.into_iter().chain(seen).collect::<Vec<_>>().join("; ");
    // The records of another machine are found by its own environment.
    let commands = if row.machine.is_some() {
        WorktreeCommands::default()
    } else {
        commands.clone()
    }
    .with_worktree(row.folder());
    let on = row
        .machine
        .as_ref()
        .map(|machine| format!("on {}: ", escape_to_one_line(&machine.name)))
        .unwrap_or_default();
    let command = step
        .and_then(|step| step.line(&commands, &row.spec, INSPECT))
        .map(|line| format!("{on}{line}"));
    Attention {
        rank,
        why: escape_to_one_line(&cut_text(&why, SENTENCE)),
        command,
    }
}

/// Describes the fault, the cause of all else first: no verdict is worth reading where git fails.
fn explain_person_needed(row: &StatusRow, now: &Zoned) -> (String, Option<NextStep>) {
    if row.is_stalled() {
        let minutes = row
            .live
            .and_then(|live| live.idle)
            .unwrap_or_default()
            .as_secs()
            / 60;
        return (
            format!("its session has stalled: silent for {minutes} min"),
            Some(session_output(row)),
        );
    }
    if let (Some(silent), Some(machine)) = (row.silent(), &row.machine) {
        let why = format!(
            "its machine '{}' has been silent for {} min, and this ran there",
            machine.name,
            silent.as_secs() / 60
        );
        return (why, Some(NextStep::Inspect));
    }
    if let Some(why) = &row.broken {
        return (
            format!("git cannot use it: {why}"),
            Some(NextStep::Watchdog("doctor")),
        );
    }
    if row.breaker.state == BreakerState::Open {
        return (
            describe_breaker(&row.breaker, now),
            Some(NextStep::OfSpec("breaker reset")),
        );
    }
    let verdict = row.verdict.as_ref();
    if verdict.is_some_and(|verdict| verdict.status.is_none()) {
        return (
            "its last verdict cannot be read by this version".into(),
            Some(NextStep::OfSpec("check")),
        );
    }
    (
        describe_verdict(verdict),
        verdict.map(LastVerdict::next_step),
    )
}

/// The sentence of a verdict, shorter where its reason says it all: what a check saw beside a missing trust is for later.
pub fn shorten_verdict_message<'a>(reason: &str, message: &'a str) -> &'a str {
    const UNTRUSTED: &str = "completion.json is not trusted and not used; read it, then type:";
    if reason == Reason::Untrusted.as_str() && message.contains("completion.json") {
        UNTRUSTED
    } else {
        message
    }
}

/// The breaker, with the way it opened and when it lets a trial through.
pub fn describe_breaker(breaker: &BreakerView, now: &Zoned) -> String {
    let strikes = match breaker.limit {
        Some(limit) => format!("{} of {limit} strikes", breaker.strikes),
        None => plural(breaker.strikes.into(), "strike"),
    };
    let mut line = format!(
        "breaker {}: {strikes}",
        breaker.state.as_str().replace('_', "-")
    );
    match (breaker.state, breaker.open_until) {
        (BreakerState::Open, Some(until)) => line.push_str(&format!(
            "; one trial is let through at {}",
            local_time(until, now)
        )),
        (BreakerState::HalfOpen, _) => line.push_str("; one trial is let through"),
        _ => {}
    }
    if let Some(why) = breaker
        .why
        .as_deref()
        .filter(|_| breaker.state == BreakerState::Open)
    {
        line.push_str(&format!("; last strike: {why}"));
    }
    line
}

/// Returns the step that shows the session's output, if it has a log.
fn session_output(row: &StatusRow) -> NextStep {
    match row
        .session
        .as_ref()
        .and_then(|session| session.log.as_ref())
    {
        Some(_) => NextStep::Watchdog("logs"),
        None => NextStep::Inspect,
    }
}

fn describe_running(row: &StatusRow) -> (String, Option<NextStep>) {
    let waits = row
        .live
        .filter(|_| row.seen.is_none())
        .filter(|live| live.doing == SessionActivity::Waiting);
    let judged = row.last_judgement().filter(|verdict| verdict.is_by_hook);
    let why = match waits {
        Some(live) => {
            let minutes = live.idle.unwrap_or_default().as_secs() / 60;
            format!("its session waits for a permission or a person, silent for {minutes} min")
        }
        None => describe_verdict(judged),
    };
    (why, row.session.as_ref().map(|_| session_output(row)))
}

/// A verdict that the next session or a time will change.
fn next(row: &StatusRow, now: &Zoned) -> (String, Option<NextStep>) {
    let Some(verdict) = row.verdict.as_ref() else {
        return (String::new(), None);
    };
    let step = match verdict.next_step() {
        // Whatever was waited for may have come.
        NextStep::Inspect => NextStep::OfSpec("check"),
        step => step,
    };
    match verdict.view.retry_at {
        Some(at) if now.timestamp() < at => (
            format!(
                "{}; look again at {}",
                describe_verdict(Some(verdict)),
                local_time(at, now)
            ),
            None,
        ),
        _ => (describe_verdict(Some(verdict)), Some(step)),
    }
}

fn describe_verdict(verdict: Option<&LastVerdict>) -> String {
    verdict
        .map(|verdict| {
            shorten_verdict_message(
                verdict.view.reason.as_deref().unwrap_or_default(),
                &verdict.sentence(),
            )
            .to_owned()
        })
        .unwrap_or_default()
}

#[cfg(test)]
#[path = "attention_tests.rs"]
mod tests;
