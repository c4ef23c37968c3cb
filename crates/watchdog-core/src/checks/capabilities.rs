//! All that a check may do to the outside. The judge implements it for real; tests hand in facts.

use std::io;
use std::time::Duration;

use crate::config::settings::{CommandLine, CommandSuccess};
use watchdog_facts::evidence::{Changes, CheckOutcome, Commits, ReadFact, TestCounts};

use super::answers::{
    BoundedText, CachedPass, CheckCommandRun, CheckDefinition, CommandRequest, CommandRun,
    JudgeAnswer, JudgeRequest, LineOutcome, MatchedFile, PushState, ResultBeforeWork, TestEdits,
    TouchedPaths,
};
use super::suite_runs::SuiteRunner;

/// The outside, as checks see it.
///
/// Implementations start every process through the one builder of processes, and end its whole tree at the deadline.
pub trait Capabilities: Sync {
    /// A clock that only goes forward, from any start: it measures how long checks take.
    fn clock(&self) -> Duration;

    /// Runs a command to its end or its deadline.
    fn run_command(&self, request: &CommandRequest<'_>) -> CommandRun;

    /// Runs the command of a check, in a scratch checkout where the request asks for a clean one, and reads the report that it writes:
    /// a path from the root of the worktree, or of the checkout.
    fn run_check(&self, request: &CommandRequest<'_>, report: Option<&str>) -> CheckCommandRun {
        let report = report.map(|path| Err(format!("{path} cannot be read here")));
        CheckCommandRun {
            run: self.run_command(request),
            report,
            tree: None,
        }
    }

    /// The commits since the baseline.
    fn commits(&self) -> ReadFact<Commits>;

    /// The uncommitted changes.
    fn changes(&self) -> ReadFact<Changes>;

    /// The regular files of the worktree that match a [glob](watchdog_facts::patterns::path_glob), ignored ones included, except git's own
    /// folder. Symbolic links count only where they stay inside the worktree.
    ///
    /// # Errors
    /// Any read error; no match is an empty list and no error.
    fn files(&self, glob: &str) -> io::Result<Vec<MatchedFile>>;

    /// The bytes of a regular file: at a path relative to the root of the worktree, without symbolic links out of it, or at an
    /// absolute one; `None` where there is none.
    ///
    /// # Errors
    /// Any read error; a file of more than `limit` bytes is [`io::ErrorKind::FileTooLarge`].
    fn read_file(&self, path: &str, limit: u64) -> io::Result<Option<Vec<u8>>>;

    /// The bytes of a file as it was in the baseline commit; `None` where that has none. The path is relative to the root of the
    /// worktree, or an absolute one below it.
    fn baseline_file(&self, path: &str, limit: u64) -> ReadFact<Option<Vec<u8>>>;

    /// The paths that differ from the baseline, committed or not, and that `wanted` accepts. Changes of a mere pull do not
    /// count.
    fn read_touched(&self, wanted: &dyn Fn(&str) -> bool) -> ReadFact<TouchedPaths>;

    /// The paths of these globs that differ from where the work began, in HEAD, index or on disk.
    /// No rule excuses a change.
    fn read_protected(&self, globs: &[String]) -> ReadFact<TouchedPaths>;

    /// HEAD as it is now; `None` where it is not known.
    fn head(&self) -> Option<String> {
        None
    }

    /// How many entries of the index git is configured to ignore, and one of them.
    fn hidden_entries(&self) -> ReadFact<Option<(u64, String)>> {
        Ok(None)
    }

    /// Whether a remote has HEAD, by the refs of this repository; uses no network.
    fn read_push_state(&self) -> ReadFact<PushState>;

    /// The difference from the baseline, committed or not, in git's format: at most about `limit` bytes, and without secrets.
    fn diff(&self, limit: usize) -> ReadFact<BoundedText>;

    /// Whether a baseline is known. Without one [`diff`](Self::diff) is what HEAD lacks of the work tree.
    fn baseline_known(&self) -> bool {
        true
    }

    /// Asks a model, which has no tools and knows nothing but the question.
    fn ask_judge(&self, request: &JudgeRequest<'_>) -> JudgeAnswer;

    /// Gives a line to a program that stays, and waits for the line that it answers with. The program is started where none runs yet
    /// with the same command line and folder; `request.stdin` is not used.
    fn exchange(&self, request: &CommandRequest<'_>, line: &str) -> LineOutcome;

    /// Those of the files that a command line names, as the baseline had them, that changed since.
    fn changed_scripts(&self, _line: &CommandLine, _cwd: Option<&str>) -> ReadFact<Vec<String>> {
        Ok(Vec::new())
    }

    /// The result of a check from when the work began, given its present result. A result without any work was the same then.
    fn at_begin(
        &self,
        _definition: &CheckDefinition,
        _outcome: CheckOutcome,
        _tests: Option<TestCounts>,
    ) -> ResultBeforeWork {
        ResultBeforeWork::default()
    }

    /// Whether this very command passed before by this rule of success, and none of its known inputs changed since.
    fn passed_before(
        &self,
        _request: &CommandRequest<'_>,
        _rule: &CommandSuccess,
    ) -> Option<CachedPass> {
        None
    }

    /// Records that a command passed, for [`Capabilities::passed_before`], which the check called right before it ran.
    fn remember_pass(
        &self,
        _request: &CommandRequest<'_>,
        _rule: &CommandSuccess,
        _tests: Option<TestCounts>,
    ) {
    }

    /// The runner on which passes are tried; `None` where none is.
    fn suite_runner(&self) -> Option<&dyn SuiteRunner> {
        None
    }

    /// The session's changes to tests since the baseline. Compares lines only if `lines` is set.
    fn edited_tests(&self, _lines: bool) -> ReadFact<TestEdits> {
        Ok(TestEdits::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::{CheckContext, CommandCheck, CommandOutput, CompletionCheck};
    use crate::config::settings::CommandCriterion;
    use watchdog_facts::evidence::ProcessExit;

    /// A system that implements no more than it must.
    struct LeastSystem;

    impl Capabilities for LeastSystem {
        fn clock(&self) -> Duration {
            Duration::ZERO
        }

        fn run_command(&self, _: &CommandRequest<'_>) -> CommandRun {
            CommandRun::Finished {
                exit: ProcessExit::Code(1),
                output: CommandOutput::default(),
            }
        }

        fn commits(&self) -> ReadFact<Commits> {
            Ok(Commits::default())
        }

        fn changes(&self) -> ReadFact<Changes> {
            Ok(Changes::default())
        }

        fn files(&self, _: &str) -> io::Result<Vec<MatchedFile>> {
            Ok(Vec::new())
        }

        fn read_file(&self, _: &str, _: u64) -> io::Result<Option<Vec<u8>>> {
            Ok(None)
        }

        fn baseline_file(&self, _: &str, _: u64) -> ReadFact<Option<Vec<u8>>> {
            Ok(None)
        }

        fn read_touched(&self, _: &dyn Fn(&str) -> bool) -> ReadFact<TouchedPaths> {
            Ok(TouchedPaths::default())
        }

        fn read_protected(&self, _: &[String]) -> ReadFact<TouchedPaths> {
            Ok(TouchedPaths::default())
        }

        fn read_push_state(&self) -> ReadFact<PushState> {
            Ok(PushState::Unborn)
        }

        fn diff(&self, _: usize) -> ReadFact<BoundedText> {
            Ok(BoundedText {
                text: String::new(),
                cut: false,
            })
        }

        fn ask_judge(&self, _: &JudgeRequest<'_>) -> JudgeAnswer {
            JudgeAnswer::TimedOut
        }

        fn exchange(&self, _: &CommandRequest<'_>, _: &str) -> LineOutcome {
            LineOutcome::TimedOut
        }
    }

    #[test]
    fn forgetful_system_runs_every_command_and_knows_baseline() {
        assert!(LeastSystem.baseline_known());
        let failing =
            CommandCheck::new(CommandCriterion::new(CommandLine::Shell("npm test".into())));
        let judgement = failing.check(&CheckContext::new(&LeastSystem));
        assert_eq!(
            judgement.feedback(),
            "`npm test` ended with exit 1, not 0",
            "no earlier pass stands in for it"
        );
    }
}
