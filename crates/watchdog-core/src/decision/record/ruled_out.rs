//! The ends that a fact ruled out, and why: the ends of the decision tree that were not open any
//! more once it was known.

use watchdog_facts::display::{plural, shorten_text};
use watchdog_facts::evidence::{
    ActivityFacts, Changes, CheckOutcome, CheckResult, Commits, ProbeOutcome, ReplyStatus,
};
use watchdog_facts::verdict::ProbeRecord;

use crate::decision::machine::{ChecksResult, MachineEvent, MachineSetup};

/// An end that a fact ruled out.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RuledOut {
    /// A reason of a verdict, or `strike`.
    pub what: &'static str,
    /// Why.
    pub because: String,
}

fn rule_out(what: &'static str, because: impl Into<String>) -> Option<RuledOut> {
    Some(RuledOut {
        what,
        because: because.into(),
    })
}

/// The ends that an event ruled out at its step.
pub(super) fn ruled_out(setup: &MachineSetup, event: &MachineEvent) -> Vec<RuledOut> {
    match event {
        MachineEvent::Commits(Ok(commits)) => by_commits(setup, commits).into_iter().collect(),
        MachineEvent::Changes(Ok(changes)) => by_changes(changes).into_iter().collect(),
        MachineEvent::Checks(judged) => by_checks(judged).into_iter().collect(),
        MachineEvent::Probe(record) => by_probe(record).into_iter().collect(),
        MachineEvent::Activity(seen) => by_activity(*seen).into_iter().collect(),
        MachineEvent::Criteria(Ok(changed)) if changed.guarded_total > 0 => rule_out(
            "complete",
            format!("guarded files changed: {}", changed.guarded_words()),
        )
        .into_iter()
        .collect(),
        MachineEvent::Survivors(found) if !found.holding.is_empty() => rule_out(
            "complete",
            format!(
                "{} still runs",
                shorten_text(&found.holding.join(", "), 160)
            ),
        )
        .into_iter()
        .collect(),
        MachineEvent::Rescue(Ok(outcome)) if outcome.failed.is_some() => {
            let why = outcome.failed.as_deref().unwrap_or_default();
            rule_out(
                "rescued",
                format!("the rescue failed: {}", shorten_text(why, 160)),
            )
            .into_iter()
            .collect()
        }
        MachineEvent::Commits(Err(unreadable))
        | MachineEvent::Changes(Err(unreadable))
        | MachineEvent::Snapshot(Err(unreadable))
        | MachineEvent::Criteria(Err(unreadable))
        | MachineEvent::Rescue(Err(unreadable)) => rule_out(
            "complete",
            format!(
                "it could not be read: {}",
                shorten_text(&unreadable.why, 160)
            ),
        )
        .into_iter()
        .collect(),
        _ => Vec::new(),
    }
}

fn by_commits(setup: &MachineSetup, commits: &Commits) -> Option<RuledOut> {
    let end = if setup.has_checks {
        "complete by commits"
    } else {
        "new_commits"
    };
    if commits.half_done() {
        return rule_out(
            "complete",
            "an operation of git is half done, or paths are in conflict",
        );
    }
    match commits {
        _ if setup.has_checks && commits.completes() => rule_out(
            "new_commits",
            "checks are configured, and decide in its place",
        ),
        _ if commits.completes() => None,
        Commits { brought: 1.., .. } => rule_out(
            end,
            "all new content of the commits was there before the session",
        ),
        Commits { new_commits: 0, .. } => rule_out(end, "no commit was made since the baseline"),
        Commits {
            made_here: 0,
            rescued,
            imported,
            ..
        } => rule_out(
            end,
            format!(
                "of the new commits none was made here ({imported} imported, {rescued} made by rescue)"
            ),
        ),
        Commits { made_here, .. } => rule_out(
            end,
            format!(
                "{} made here, and nothing differs from the baseline",
                plural(*made_here, "commit")
            ),
        ),
    }
}

fn by_changes(changes: &Changes) -> Option<RuledOut> {
    match changes.work {
        0 => rule_out("rescued", "none of the session's work is uncommitted"),
        n => {
            let first = changes
                .work_paths
                .first()
                .map(|path| format!(", such as {}", shorten_text(path, 100)))
                .unwrap_or_default();
            rule_out(
                "nothing_to_do",
                format!(
                    "{} of the session's work uncommitted{first}",
                    plural(n, "file")
                ),
            )
        }
    }
}

fn by_checks(judged: &ChecksResult) -> Option<RuledOut> {
    let named = |outcome: CheckOutcome| {
        let of = judged
            .results
            .iter()
            .filter(|result| result.outcome == outcome);
        of.map(|result: &CheckResult| format!("'{}'", shorten_text(&result.name, 60)))
            .take(5)
            .collect::<Vec<_>>()
            .join(", ")
    };
    match judged.outcome {
        CheckOutcome::Pass if judged.all_passed_before => rule_out(
            "checks_passed alone",
            "every check passed before the work began, too",
        ),
        CheckOutcome::Pass => rule_out("checks_unmet", "every check passed"),
        outcome => rule_out(
            "checks_passed",
            format!("check {} ended as {}", named(outcome), outcome.as_str()),
        ),
    }
}

fn by_probe(record: &ProbeRecord) -> Option<RuledOut> {
    match &record.outcome {
        ProbeOutcome::Reply(reply) => match (reply.contradiction(), reply.status) {
            (Some(why), _) => rule_out(
                "complete",
                format!("the reply is disputed: {}", shorten_text(&why, 160)),
            ),
            (None, ReplyStatus::Complete) => None,
            (None, status) => rule_out(
                "complete",
                format!("the agent answered {}", status.as_str()),
            ),
        },
        other => rule_out("complete", format!("no usable reply ({})", other.as_str())),
    }
}

fn by_activity(seen: ActivityFacts) -> Option<RuledOut> {
    match seen.first_activity() {
        Some(what) => rule_out("strike", what.replace('_', " ")),
        None if seen == ActivityFacts::default() => {
            rule_out("strike", "whether anything moved is unknown")
        }
        None => None,
    }
}
