//! Runs the commands that a proposal names, once each, and judges them as a verdict would: a run of no test is no pass.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use watchdog_core::checks::{
    BoundedText, Capabilities, CheckContext, CommandCheck, CommandRequest, CommandRun,
    CompletionCheck as _, JudgeAnswer, JudgeRequest, LineOutcome, MatchedFile, PushState,
    TouchedPaths,
};
use watchdog_core::config::settings::{CheckKind, CheckSpec, CommandCriterion, ConfigSettings};
use watchdog_facts::evidence::{
    Changes, CheckOutcome, Commits, FaultKind, ReadFact, UnreadableFact,
};
use watchdog_process::CancelFlag;

use crate::judge::capabilities::run_below;

/// How a check ended that was run for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstRun {
    /// The check's name.
    pub name: String,
    /// How it ended.
    pub outcome: CheckOutcome,
    /// Why it is no pass, or what it printed then; empty on a pass.
    pub feedback: String,
    /// Wall time.
    pub took: Duration,
}

/// The commands of a configuration that can be run, by name.
pub fn runnable(settings: &ConfigSettings) -> Vec<(&str, &CommandCriterion)> {
    settings
        .checks
        .iter()
        .filter_map(|check| match check {
            CheckSpec::Single {
                name,
                criterion: CheckKind::Command(criterion),
            } => Some((name.as_str(), criterion)),
            _ => None,
        })
        .collect()
}

/// Runs one command at `root` to its end, or until `cancel` is raised.
pub fn first_run(
    root: &Path,
    name: &str,
    criterion: &CommandCriterion,
    cancel: &CancelFlag,
) -> FirstRun {
    let begun = Instant::now();
    let capabilities = CommandsAlone {
        root,
        cancel,
        begun,
    };
    let judgement = CommandCheck::new(criterion.clone()).check(&CheckContext::new(&capabilities));
    FirstRun {
        name: name.to_owned(),
        outcome: judgement.outcome(),
        feedback: judgement.feedback().to_owned(),
        took: begun.elapsed(),
    }
}

/// Capabilities to run a command, and nothing else: there is no session to look at.
struct CommandsAlone<'a> {
    root: &'a Path,
    cancel: &'a CancelFlag,
    begun: Instant,
}

fn no_session<T>() -> ReadFact<T> {
    Err(UnreadableFact {
        kind: FaultKind::Git,
        why: "there is no session".into(),
        hint: None,
    })
}

impl Capabilities for CommandsAlone<'_> {
    fn clock(&self) -> Duration {
        self.begun.elapsed()
    }

    fn run_command(&self, request: &CommandRequest<'_>) -> CommandRun {
        run_below(self.root, request, BTreeMap::new(), self.cancel)
    }

    fn commits(&self) -> ReadFact<Commits> {
        no_session()
    }

    fn changes(&self) -> ReadFact<Changes> {
        no_session()
    }

    fn files(&self, _glob: &str) -> io::Result<Vec<MatchedFile>> {
        Ok(Vec::new())
    }

    fn read_file(&self, _path: &str, _limit: u64) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn baseline_file(&self, _path: &str, _limit: u64) -> ReadFact<Option<Vec<u8>>> {
        no_session()
    }

    fn touched(&self, _wanted: &dyn Fn(&str) -> bool) -> ReadFact<TouchedPaths> {
        no_session()
    }

    fn protected(&self, _globs: &[String]) -> ReadFact<TouchedPaths> {
        no_session()
    }

    fn pushed(&self) -> ReadFact<PushState> {
        no_session()
    }

    fn diff(&self, _limit: usize) -> ReadFact<BoundedText> {
        no_session()
    }

    fn ask_judge(&self, _request: &JudgeRequest<'_>) -> JudgeAnswer {
        JudgeAnswer::Unrunnable {
            why: "there is no session".into(),
        }
    }

    fn exchange(&self, _request: &CommandRequest<'_>, _line: &str) -> LineOutcome {
        LineOutcome::Unrunnable {
            why: "there is no session".into(),
        }
    }
}
