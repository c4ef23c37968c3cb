//! Why a verdict is as it is: each fact in the order in which it was read, where it was read, what it ruled out, which rules were applied to
//! it, and what came next. Pure: it is made of a record alone.

use watchdog_facts::display::{plural, shorten_text};
use watchdog_facts::evidence::{CheckOutcome, ProbeOutcome, ReadFact, SessionEnd};

use super::ruled_out::ruled_out;
use super::run::{RecordedRun, RunEnd, run_record};
use super::{JudgementRecord, fact_word};
use crate::decision::judgement_rule::JudgementRule;
use crate::decision::machine::{
    ConfigTrust, JudgementScope, MachineAction, MachineEvent, ProbePause,
};

pub use super::ruled_out::RuledOut;

/// A fact, and what the machine made of it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ExplainedStep {
    /// Whole milliseconds after the judgement began.
    pub after_ms: u64,
    /// The word for the fact; `setup` for what was settled before the first one.
    pub fact: &'static str,
    /// Its source.
    pub read_from: String,
    /// The finding, in one line.
    #[serde(rename = "found")]
    pub finding: String,
    /// The ends that it ruled out.
    pub ruled_out: Vec<RuledOut>,
    /// The rules that today's machine applies to it.
    pub rules: Vec<JudgementRule>,
    /// The next action, in one line.
    pub then: String,
}

/// A judgement explained.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgementExplanation {
    /// Each fact, in order; what came before the first one is the first step.
    pub steps: Vec<ExplainedStep>,
    /// How today's rules end on these facts.
    pub end: RunEnd,
}

/// Explains a record by the rules of today.
pub fn explain_record(record: &JudgementRecord) -> JudgementExplanation {
    let RecordedRun { decisions, end } = run_record(record);
    let mut steps = Vec::new();
    for decision in decisions {
        let then = next_words(&decision.action);
        let recorded = decision.step.and_then(|at| record.steps.get(at));
        let event = recorded.and_then(|step| step.event.as_ref());
        steps.push(match event {
            None => ExplainedStep {
                after_ms: 0,
                fact: "setup",
                read_from: "the command line, the configuration and the store".into(),
                finding: setup_words(record),
                ruled_out: Vec::new(),
                rules: decision.rules,
                then,
            },
            Some(event) => ExplainedStep {
                after_ms: recorded.map_or(0, |step| step.after_ms),
                fact: fact_word(event),
                read_from: read_from(event),
                finding: describe_event(event),
                ruled_out: ruled_out(&record.setup, event),
                rules: decision.rules,
                then,
            },
        });
    }
    JudgementExplanation { steps, end }
}

/// The setup before the first fact.
fn setup_words(record: &JudgementRecord) -> String {
    let setup = &record.setup;
    let mut words = vec![match (&setup.trust, setup.has_checks) {
        (ConfigTrust::Untrusted { .. }, _) => {
            "completion.json is not trusted and does not count".to_string()
        }
        (ConfigTrust::Settled, true) => "checks are configured".to_string(),
        (ConfigTrust::Settled, false) => "no checks are configured".to_string(),
    }];
    if let JudgementScope::Criteria { .. } = setup.scope {
        words.push("only the criteria are judged".into());
    }
    words.extend(
        setup
            .session
            .as_ref()
            .map(|end| format!("the session {}", end_words(end))),
    );
    if setup.session_over {
        words.push("the session is known to be over".into());
    }
    if !setup.survivors.is_empty() {
        words.push(format!(
            "of it still runs: {}",
            shorten_text(&setup.survivors.join(", "), 160)
        ));
    }
    words.extend(setup.unasked.map(|cause| cause.clause().to_string()));
    let options = [
        (setup.no_probe, "--no-probe"),
        (setup.no_rescue, "--no-rescue"),
        (setup.once, "--once"),
    ];
    words.extend(
        options
            .into_iter()
            .filter(|(given, _)| *given)
            .map(|(_, word)| word.to_string()),
    );
    words.push(format!(
        "{} at most",
        plural(setup.completion.max_probes.into(), "probe")
    ));
    if setup.earlier.rounds_used > 0 {
        words.push(format!(
            "{} of them spent by earlier calls",
            setup.earlier.rounds_used
        ));
    }
    words.join("; ")
}

fn end_words(end: &SessionEnd) -> String {
    match end {
        SessionEnd::Ended { exit } => format!("ended by itself ({exit})"),
        SessionEnd::TimedOut { after } => {
            format!("was ended at its timeout of {} s", after.as_secs())
        }
        SessionEnd::Idle { after } => format!("was ended after {} s of silence", after.as_secs()),
        SessionEnd::RateLimited { why, .. } => {
            format!("met a usage limit: {}", shorten_text(why, 160))
        }
        SessionEnd::OverLimit { stop } => {
            format!("reached a limit: {}", shorten_text(&stop.why, 160))
        }
        SessionEnd::LeftWork { what, .. } => {
            format!("left work running: {}", shorten_text(what, 160))
        }
        SessionEnd::CutShort { why, .. } => format!("was cut short: {}", shorten_text(why, 160)),
        SessionEnd::Unrunnable { why } => format!("cannot go on: {}", shorten_text(why, 160)),
        SessionEnd::NotStarted { why, .. } | SessionEnd::NotKept { why } => {
            format!("was not started: {}", shorten_text(why, 160))
        }
    }
}

/// The source of an event's fact.
fn read_from(event: &MachineEvent) -> String {
    match event {
        MachineEvent::Commits(_) => "git: HEAD, refs and reflogs".into(),
        MachineEvent::Changes(_) => "git: the index and the work tree".into(),
        MachineEvent::Snapshot(_) => "git: a snapshot ref in the repository".into(),
        MachineEvent::Checks(judged) => {
            let named = judged
                .results
                .iter()
                .take(5)
                .map(|result| format!("{} '{}'", result.kind, shorten_text(&result.name, 60)));
            format!(
                "the configured checks: {}",
                named.collect::<Vec<_>>().join(", ")
            )
        }
        MachineEvent::Probe(record) if record.withheld => {
            "the store: what keeps the question from being asked".into()
        }
        MachineEvent::Probe(record) if record.stands() => {
            "the store: the agent's last answer, which still stands".into()
        }
        MachineEvent::Probe(record) => match &record.session_id {
            Some(id) => format!("the agent's reply, session {}", shorten_text(id, 60)),
            None => "the agent's reply".into(),
        },
        MachineEvent::Rescue(_) => "the rescue, and git after it".into(),
        MachineEvent::Survivors(_) => "the table of processes".into(),
        MachineEvent::Activity(_) => {
            "the work tree, the session's processes and the agent's transcript".into()
        }
        MachineEvent::Criteria(_) => "git: the files of the criteria, beside the anchor".into(),
        MachineEvent::Start | MachineEvent::WaitOver | MachineEvent::Interrupt => {
            "watchdog itself".into()
        }
    }
}

/// A fact in words, or why it is unknown.
fn describe_fact<T>(read: &ReadFact<T>, words: impl FnOnce(&T) -> String) -> String {
    match read {
        Ok(value) => words(value),
        Err(unreadable) => format!("could not be read: {}", shorten_text(&unreadable.why, 200)),
    }
}

/// The finding, in one line.
fn describe_event(event: &MachineEvent) -> String {
    match event {
        MachineEvent::Commits(read) => describe_fact(read, |commits| {
            let head = commits
                .head
                .as_deref()
                .map_or("unborn", |head| &head[..head.len().min(10)]);
            let operation = commits
                .operation
                .map(|operation| format!("; a {} is half done", operation.as_str()))
                .unwrap_or_default();
            let conflicts = if commits.conflicts.is_empty() {
                ""
            } else {
                "; paths are in conflict"
            };
            let net = match commits.made_here > 0 {
                true if !commits.net_change => ", without a net change",
                true if commits.brought > 0 => ", only with content that was there before",
                _ => "",
            };
            format!(
                "HEAD {head}; {} since the baseline: {} made here{net}, {} imported, {} made by rescue{operation}{conflicts}",
                plural(commits.new_commits, "commit"),
                commits.made_here,
                commits.imported,
                commits.rescued
            )
        }),
        MachineEvent::Changes(read) => describe_fact(read, |changes| {
            let others = match (changes.inherited, changes.since_end) {
                (0, 0) => String::new(),
                (inherited, since) => {
                    format!("; {inherited} there before the session, {since} changed after its end")
                }
            };
            format!(
                "{} staged, {} unstaged, {} untracked, {} in conflict; {} of the session's work{others}",
                changes.staged,
                changes.unstaged,
                changes.untracked,
                changes.conflicted,
                plural(changes.work, "file")
            )
        }),
        MachineEvent::Snapshot(read) => describe_fact(read, |name| match name {
            Some(name) => format!("kept in {name}"),
            None => "nothing was uncommitted any more".into(),
        }),
        MachineEvent::Checks(judged) => {
            let describe_check = |result: &watchdog_facts::evidence::CheckResult| {
                let feedback = match (
                    result.outcome,
                    result.feedback.lines().find(|line| !line.trim().is_empty()),
                ) {
                    (CheckOutcome::Pass, _) | (_, None) => String::new(),
                    (_, Some(line)) => format!(" ({})", shorten_text(line.trim(), 120)),
                };
                let cached = if result.cached {
                    ", from an earlier pass"
                } else {
                    ""
                };
                format!(
                    "'{}' {}{feedback} after {} ms{cached}",
                    shorten_text(&result.name, 60),
                    result.outcome.as_str(),
                    result.duration.as_millis()
                )
            };
            let named = judged
                .results
                .iter()
                .take(5)
                .map(describe_check)
                .collect::<Vec<_>>()
                .join("; ");
            match judged.results.len().saturating_sub(5) {
                0 => named,
                more => format!("{named}; and {more} more"),
            }
        }
        MachineEvent::Probe(record) => match &record.outcome {
            ProbeOutcome::Reply(reply) => {
                let message = if reply.message.is_empty() {
                    String::new()
                } else {
                    format!(": {}", shorten_text(&reply.message.replace('\n', " "), 160))
                };
                format!("{}{message}", reply.status.as_str())
            }
            other => shorten_text(&other.failure(), 200),
        },
        MachineEvent::Rescue(read) => describe_fact(read, |outcome| {
            let failed = outcome
                .failed
                .as_deref()
                .map(|why| format!("; failed: {}", shorten_text(why, 160)))
                .unwrap_or_default();
            let branch = outcome
                .fallback_branch
                .as_deref()
                .map(|branch| format!("; on the branch {branch}"))
                .unwrap_or_default();
            let skipped = match outcome.left_out.len() {
                0 => String::new(),
                n => format!("; {} left out", plural(n as u64, "path")),
            };
            format!(
                "{} made{branch}{failed}{skipped}",
                plural(outcome.commits, "commit")
            )
        }),
        MachineEvent::WaitOver => "the pause is over, or something moved".into(),
        MachineEvent::Survivors(found) if found.holding.is_empty() => {
            "nothing of the session holds the verdict".into()
        }
        MachineEvent::Survivors(found) => {
            format!(
                "still runs: {}",
                shorten_text(&found.holding.join(", "), 160)
            )
        }
        MachineEvent::Activity(seen) => seen.first_activity().map_or_else(
            || {
                if [seen.worktree, seen.processes, seen.transcript]
                    .iter()
                    .all(Option::is_none)
                {
                    "unknown".into()
                } else {
                    "none".into()
                }
            },
            |what| what.replace('_', " "),
        ),
        MachineEvent::Criteria(read) => describe_fact(read, |changed| {
            let gates: Vec<_> = (changed.gates_off.iter())
                .map(|off| format!("; {}", off.detail))
                .collect();
            let unread = changed.files_unread.as_ref();
            let files = match (changed.guarded_total, changed.named.len()) {
                (0, 0) if unread.is_some() => {
                    unread.map_or_else(String::new, |unread| shorten_text(&unread.why, 200))
                }
                (0, 0) => "unchanged since the anchor".into(),
                (0, _) => format!(
                    "changed, and not guarded: {}",
                    shorten_text(&changed.named.join(", "), 160)
                ),
                (_, _) => format!("guarded files changed: {}", changed.guarded_words()),
            };
            files + &gates.concat()
        }),
        MachineEvent::Start | MachineEvent::Interrupt => "a signal came".into(),
    }
}

/// The request of an action, in one line.
pub fn next_words(action: &MachineAction) -> String {
    match action {
        MachineAction::ReadCommits => "read the commits".into(),
        MachineAction::ReadChanges => "read what is uncommitted".into(),
        MachineAction::TakeSnapshot => "keep it in a snapshot".into(),
        MachineAction::JudgeChecks => "judge the checks".into(),
        MachineAction::Ask {
            number,
            contradiction: None,
        } => format!("ask the agent (probe {number})"),
        MachineAction::Ask {
            number,
            contradiction: Some(_),
        } => format!("ask the agent again, with the contradiction (probe {number})"),
        MachineAction::Rescue => "rescue the work into commits".into(),
        MachineAction::Wait(ProbePause::Interval(length)) => {
            format!("wait {} s", length.as_secs_f64().ceil())
        }
        MachineAction::Wait(ProbePause::Backoff { attempt, .. }) => {
            format!("wait after {}", plural((*attempt).into(), "failed probe"))
        }
        MachineAction::ReadSurvivors => "look what of the session still runs".into(),
        MachineAction::ReadActivity => "look for signs of life".into(),
        MachineAction::ReadCriteria => "look whether the criteria changed".into(),
        MachineAction::Conclude(verdict) => format!(
            "{} ({})",
            verdict.status().as_str(),
            verdict.reason.as_str()
        ),
    }
}

#[cfg(test)]
#[path = "explanation_tests.rs"]
mod tests;
