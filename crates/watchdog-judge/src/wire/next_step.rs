//! The next step of a person after a verdict, chosen by its data: which command, and of which program.

use super::verdict_json::{ChangesView, VerdictView};
use watchdog_facts::display::is_hostile;
use watchdog_facts::shell_line::{WorktreeCommands, shell_word};
use watchdog_facts::verdict::Reason;

/// The command to type about a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// No command goes on: somebody looks at what is recorded, or waits.
    Inspect,
    /// A command of watchdog's.
    Watchdog(&'static str),
    /// A command of watchdog's about the spec.
    OfSpec(&'static str),
    /// A command of git's.
    Git(String),
}

impl NextStep {
    /// After a verdict with this data. A reason that this version does not know leads to a look.
    pub fn after_verdict(verdict: &VerdictView) -> Self {
        (verdict.known_reason()).map_or(NextStep::Inspect, |reason| of_reason(reason, verdict))
    }

    /// The line to type; `inspect` is the command that shows what is recorded. Returns `None` if
    /// the spec has a character that no terminal could carry.
    pub fn line(&self, commands: &WorktreeCommands, spec: &str, inspect: &str) -> Option<String> {
        if spec
            .chars()
            .any(|c| is_hostile(c) || c == '\n' || c == '\t')
        {
            return None;
        }
        Some(match self {
            NextStep::Inspect => commands.watchdog(inspect),
            NextStep::Watchdog(what) => commands.watchdog(what),
            NextStep::OfSpec(what) if spec.is_empty() => commands.watchdog(what),
            NextStep::OfSpec(what) => {
                commands.watchdog(&format!("{what} --spec {}", shell_word(spec)))
            }
            NextStep::Git(what) => commands.git(what),
        })
    }
}

fn of_reason(reason: Reason, verdict: &VerdictView) -> NextStep {
    let uncommitted = verdict.changes.as_ref().map_or(0, ChangesView::total);
    let rescue_or = |otherwise| {
        if uncommitted > 0 {
            NextStep::OfSpec("rescue")
        } else {
            otherwise
        }
    };
    match reason {
        Reason::NewCommits | Reason::Rescued | Reason::NothingToDo | Reason::ChecksPassed => {
            new_commits(verdict).map_or(NextStep::Inspect, NextStep::Git)
        }
        Reason::Unfinished | Reason::Working | Reason::MaxProbes => {
            rescue_or(NextStep::OfSpec("check"))
        }
        Reason::ChecksUnmet
        | Reason::VerifyTimeout
        | Reason::VerifyFailed
        | Reason::Interrupted => NextStep::OfSpec("check"),
        Reason::NoBaseline => NextStep::OfSpec("snapshot"),
        Reason::OperationInProgress => NextStep::Git("status".into()),
        Reason::SessionTimeout | Reason::SessionIdle => rescue_or(NextStep::Inspect),
        Reason::RescueIncomplete => NextStep::OfSpec("rescue"),
        Reason::BreakerOpen => NextStep::OfSpec("breaker reset"),
        Reason::Untrusted => NextStep::Watchdog("trust"),
        // The message says the fault, and the command that mends it after a look.
        Reason::VerifyUnrunnable
        | Reason::AgentUnrunnable
        | Reason::Halted
        | Reason::ProbeError
        | Reason::GitError
        | Reason::NotARepository
        | Reason::ConfigError
        | Reason::StoreError
        | Reason::SnapshotFailed => NextStep::Watchdog("doctor"),
        Reason::BackgroundWork
        | Reason::SessionActive
        | Reason::RateLimited
        | Reason::Locked
        | Reason::Dependencies
        | Reason::NoCriteria
        | Reason::MaxIterations
        | Reason::RepeatedNothingToDo
        | Reason::Disputed
        | Reason::CriteriaChanged
        | Reason::TestsWeakened
        | Reason::BudgetExhausted
        | Reason::DeadlineExceeded
        | Reason::AgentStopped => NextStep::Inspect,
    }
}

/// The list of the commits since the baseline.
fn new_commits(verdict: &VerdictView) -> Option<String> {
    let hex = |name: &Option<String>| {
        let name = name.as_deref()?;
        (name.len() >= 40 && name.bytes().all(|b| b.is_ascii_hexdigit()))
            .then(|| name[..12].to_owned())
    };
    let head = hex(&verdict.head)?;
    let baseline = hex(&verdict.baseline);
    let range =
        (baseline.as_ref()).map_or_else(|| head.clone(), |baseline| format!("{baseline}..{head}"));
    (baseline.as_ref() != Some(&head)).then(|| format!("log --stat {range}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::next_step::*;

    #[test]
    fn next_step_rescues_uncommitted_work_first() {
        for (reason, left, step) in [
            ("max_probes", 1, NextStep::OfSpec("rescue")),
            ("max_probes", 0, NextStep::OfSpec("check")),
            ("session_idle", 2, NextStep::OfSpec("rescue")),
            ("session_idle", 0, NextStep::Inspect),
            ("of a later version", 3, NextStep::Inspect),
        ] {
            assert_eq!(
                NextStep::after_verdict(&VerdictView::read(
                    &json!({"reason": reason, "changes": {"untracked": left}})
                )),
                step,
                "{reason}"
            );
        }
    }

    #[test]
    fn unprintable_spec_yields_no_command_line() {
        let commands = WorktreeCommands::default();
        let of = |spec| NextStep::OfSpec("check").line(&commands, spec, "status");
        assert_eq!(of("a b").as_deref(), Some("watchdog check --spec 'a b'"));
        assert_eq!(of("").as_deref(), Some("watchdog check"));
        assert_eq!((of("a\u{1b}[2J"), of("a\nb")), (None, None));
    }
}
