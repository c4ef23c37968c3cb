//! Judges the checks that a proposal names, once each, as a verdict would: a run of no test is no
//! pass, and an empty list is not done.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use watchdog_core::checks::{
    BoundedText, Capabilities, CheckContext, CommandCheck, CommandRequest, CommandRun,
    CompletionCheck as _, FeatureListCheck, JudgeAnswer, JudgeRequest, LineOutcome, MatchedFile,
    PlanCheck, PushState, TouchedPaths,
};
use watchdog_core::config::parse_config;
use watchdog_core::config::settings::{CheckKind, CheckSpec, CommandCriterion, ConfigSettings};
use watchdog_facts::evidence::{
    Changes, CheckOutcome, Commits, FaultKind, ReadFact, UnreadableFact,
};
use watchdog_process::CancelFlag;

use crate::judge::capabilities::{read_worktree_file, run_below};

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
pub fn list_runnable_commands(settings: &ConfigSettings) -> Vec<(&str, &CommandCriterion)> {
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
    let capabilities = ProjectAlone {
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

/// Judges a list of work by its entry in `checks`: the outcome, and what is missing.
pub fn judge_list(root: &Path, entry: &str) -> (CheckOutcome, String) {
    let file = format!("{{\"checks\": [{entry}]}}");
    let cancel = CancelFlag::new();
    let capabilities = ProjectAlone {
        root,
        cancel: &cancel,
        begun: Instant::now(),
    };
    let context = CheckContext::new(&capabilities);
    let parsed = parse_config(&file, Path::new("completion.json"));
    let judgement = match parsed
        .as_ref()
        .map(|parsed| parsed.settings.checks.as_slice())
    {
        Ok(
            [
                CheckSpec::Single {
                    criterion: CheckKind::Plan(plan),
                    ..
                },
            ],
        ) => PlanCheck::new(plan.clone()).check(&context),
        Ok(
            [
                CheckSpec::Single {
                    criterion: CheckKind::FeatureList(list),
                    ..
                },
            ],
        ) => FeatureListCheck::new(list.clone()).check(&context),
        _ => return (CheckOutcome::Failed, "no such list".into()),
    };
    (judgement.outcome(), judgement.feedback().to_owned())
}

/// Capabilities to run a command and to read a file: there is no session to look at.
struct ProjectAlone<'a> {
    root: &'a Path,
    cancel: &'a CancelFlag,
    begun: Instant,
}

fn no_session<T>() -> ReadFact<T> {
    Err(UnreadableFact::new(FaultKind::Git, "there is no session"))
}

impl Capabilities for ProjectAlone<'_> {
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

    fn read_file(&self, path: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        read_worktree_file(self.root, path, limit)
    }

    fn baseline_file(&self, _path: &str, _limit: u64) -> ReadFact<Option<Vec<u8>>> {
        no_session()
    }

    fn read_touched(&self, _wanted: &dyn Fn(&str) -> bool) -> ReadFact<TouchedPaths> {
        no_session()
    }

    fn read_protected(&self, _globs: &[String]) -> ReadFact<TouchedPaths> {
        no_session()
    }

    fn read_push_state(&self) -> ReadFact<PushState> {
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
