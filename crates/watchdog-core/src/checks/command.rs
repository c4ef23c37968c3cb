//! The type `command`: a program decides.

use crate::config::settings::{CommandCriterion, CommandSuccess};
use watchdog_facts::display::plural;
use watchdog_facts::evidence::{CheckResult, Degradation, ProcessExit, TestCounts, WarningCode};
use watchdog_facts::patterns::output_regex;
use watchdog_facts::verdict::Evidence;

use super::answers::{CommandOutput, CommandRequest, CommandRun};
use super::baseline_failures::excuse_failures;
use super::check::{CheckContext, CheckJudgement, CompletionCheck, JudgedCheck};
use super::feedback::{MAX_CHARS, cut_feedback, first_three, one_line, take_last_lines};
use super::mentions::has_text;
use super::named_files::shown_by_program;
use super::proof::{ProvenPass, prove_pass};
use super::runners::{self, TestRun};

/// Met when a command ends as its rule of success says.
#[derive(Debug, Clone)]
pub struct CommandCheck {
    criterion: CommandCriterion,
}

/// Whether the rule is met, or why not.
enum SuccessOutcome {
    Met,
    Unmet(String),
    /// The part of the output that would decide was dropped.
    Unknown(String),
}

impl CommandCheck {
    /// A check of this command.
    pub fn new(criterion: CommandCriterion) -> Self {
        CommandCheck { criterion }
    }

    fn command_title(&self) -> String {
        let line = cut_feedback(one_line(&self.criterion.run.to_string()), 200);
        match &self.criterion.cwd {
            Some(cwd) => format!("`{line}` in `{}`", one_line(cwd)),
            None => format!("`{line}`"),
        }
    }

    fn find_evidence(&self, context: &CheckContext<'_>) -> Result<Evidence, CheckJudgement> {
        shown_by_program(&self.criterion.run, self.criterion.cwd.as_deref(), context)
    }

    /// A sentence, and below it the end of the command's output.
    fn with_output(&self, sentence: String, output: &CommandOutput) -> String {
        let lines = self.criterion.tail_lines;
        let end = |stream: &super::answers::CapturedStream| {
            stream
                .stretches()
                .last()
                .map(|bytes| take_last_lines(bytes, lines))
                .unwrap_or_default()
        };
        let (stdout, stderr) = (end(&output.stdout), end(&output.stderr));
        let text = match (stdout.is_empty(), stderr.is_empty()) {
            (true, true) => sentence,
            (false, true) => format!("{sentence}\n{stdout}"),
            (true, false) => format!("{sentence}\n{stderr}"),
            (false, false) => format!("{sentence}\nstderr:\n{stderr}\nstdout:\n{stdout}"),
        };
        cut_feedback(text, MAX_CHARS + MAX_CHARS / 4)
    }

    /// The feedback of a failed command: one failed test with its message where the runner names one, else the end of the output.
    fn describe_unmet(
        &self,
        title: &str,
        how: &str,
        run: Option<&TestRun>,
        tests: Option<TestCounts>,
        output: &CommandOutput,
    ) -> String {
        if tests.is_some_and(|tests| tests.ran == 0 && tests.failed == 0) {
            return self.with_output(format!("{title} ran no test ({how})"), output);
        }
        let Some(failure) = run.and_then(|run| run.failure.as_ref()) else {
            return self.with_output(format!("{title} {how}"), output);
        };
        let name = cut_feedback(one_line(&failure.name), 200);
        let message = cut_feedback(one_line(&failure.message), 400);
        let message = if message.is_empty() {
            message
        } else {
            format!(": {message}")
        };
        let others = tests.map_or(String::new(), |tests| {
            format!("; {} of {} failed", tests.failed, plural(tests.ran, "test"))
        });
        format!("test `{name}` fails{message} ({title} {how}{others})")
    }

    /// A pass with the known facts about its tests. If the session deleted or ignored some, it counts as the agent's claim.
    fn weigh_pass(
        &self,
        mut judgement: CheckJudgement,
        tests_known: bool,
        tests: Option<TestCounts>,
        tree: Option<String>,
        context: &CheckContext<'_>,
    ) -> JudgedCheck {
        let title = self.command_title();
        let mut notes = Vec::new();
        let note = |code, why: &str| Degradation {
            code,
            detail: format!("{title}: {why}"),
        };
        let (mut word_only, mut proven) = (false, Evidence::Verified);
        if let Some(TestCounts {
            failed: failed @ 1..,
            ..
        }) = tests
        {
            notes.push(note(
                WarningCode::TestsFailed,
                &format!("it passed although {} failed", plural(failed, "test")),
            ));
            word_only = true;
            proven = Evidence::Claimed;
        }
        match context.capabilities.edited_tests(tests_known) {
            Ok(edits) => {
                if let Some(why) = edits.describe_lost() {
                    notes.push(note(WarningCode::TestsDeleted, &why));
                    word_only |= tests_known;
                }
            }
            Err(unreadable) => notes.push(note(WarningCode::TestsUnknown, &unreadable.why)),
        }
        if word_only
            && let CheckJudgement::Pass { evidence }
            | CheckJudgement::PassWith { evidence, .. }
            | CheckJudgement::PassedBefore { evidence } = &mut judgement
        {
            *evidence = (*evidence).min(Evidence::Claimed);
        }
        JudgedCheck {
            judgement,
            tests,
            tests_uncounted: tests_known && tests.is_none(),
            failing: Vec::new(),
            names_all: false,
            tree,
            notes,
            proven,
        }
    }

    /// A pass whose failures were all there when the work began.
    fn weigh_excused(
        &self,
        evidence: Evidence,
        (failing, tests): (Vec<String>, Option<TestCounts>),
        tree: Option<String>,
        context: &CheckContext<'_>,
    ) -> JudgedCheck {
        let names: Vec<&str> = failing.iter().map(String::as_str).collect();
        let count = plural(failing.len() as u64, "test");
        let verb = if failing.len() == 1 { "fails" } else { "fail" };
        let summary = format!(
            "{count} {verb} as when the work began: {}",
            first_three(&names)
        );
        let judgement = CheckJudgement::PassWith {
            evidence: evidence.min(Evidence::Committed),
            summary: summary.clone(),
        };
        let others = tests.map(|tests| TestCounts { failed: 0, ..tests });
        let mut judged = self.weigh_pass(judgement, true, others, tree, context);
        judged.notes.push(Degradation {
            code: WarningCode::TestsFailed,
            detail: format!("{}: {summary}", self.command_title()),
        });
        JudgedCheck {
            tests,
            failing,
            proven: Evidence::Committed,
            ..judged
        }
    }

    fn apply_rule(&self, exit: ProcessExit, output: &CommandOutput) -> SuccessOutcome {
        let wanted = match &self.criterion.success {
            CommandSuccess::Exit(code) => *code,
            CommandSuccess::Empty | CommandSuccess::Contains(_) | CommandSuccess::Regex(_) => 0,
        };
        if exit != ProcessExit::Code(wanted) {
            return SuccessOutcome::Unmet(match exit {
                ProcessExit::Code(code) => format!("ended with exit {code}, not {wanted}"),
                ProcessExit::Signal(signal) => format!("was ended by signal {signal}"),
            });
        }
        match &self.criterion.success {
            CommandSuccess::Exit(_) => SuccessOutcome::Met,
            CommandSuccess::Empty if output.stdout.is_blank() && output.stderr.is_blank() => {
                SuccessOutcome::Met
            }
            CommandSuccess::Empty => {
                SuccessOutcome::Unmet("must print nothing, and printed something".into())
            }
            CommandSuccess::Contains(text) => {
                let contains_text = |bytes: &[u8]| has_text(&String::from_utf8_lossy(bytes), text);
                search_output(output, contains_text, &format!("\"{}\"", one_line(text)))
            }
            CommandSuccess::Regex(pattern) => match output_regex(pattern) {
                Ok(regex) => search_output(
                    output,
                    |bytes| regex.is_match(&String::from_utf8_lossy(bytes)),
                    &format!("a match of /{}/", one_line(pattern)),
                ),
                Err(_) => SuccessOutcome::Unknown(
                    "has a rule of success that is not a valid regular expression".into(),
                ),
            },
        }
    }
}

/// Looks in either stream. Dropped output may have held it, so that only whole output proves its
/// absence.
fn search_output(
    output: &CommandOutput,
    is_match: impl Fn(&[u8]) -> bool,
    what: &str,
) -> SuccessOutcome {
    let streams = [&output.stdout, &output.stderr];
    if streams
        .iter()
        .flat_map(|stream| stream.stretches())
        .any(|bytes| is_match(&bytes))
    {
        return SuccessOutcome::Met;
    }
    match streams.iter().map(|stream| stream.dropped).sum::<u64>() {
        0 => SuccessOutcome::Unmet(format!("did not print {what}")),
        dropped => SuccessOutcome::Unknown(format!(
            "printed too much to tell whether it printed {what}: {dropped} bytes were dropped"
        )),
    }
}

impl CompletionCheck for CommandCheck {
    fn check(&self, context: &CheckContext<'_>) -> CheckJudgement {
        self.judge(context).judgement
    }

    fn prove(&self, result: &CheckResult, context: &CheckContext<'_>) -> Option<ProvenPass> {
        prove_pass(
            &self.criterion,
            result,
            context.capabilities.suite_runner()?,
        )
    }

    fn judge(&self, context: &CheckContext<'_>) -> JudgedCheck {
        let mut request = CommandRequest::new(&self.criterion.run, self.criterion.timeout);
        request.cwd = self.criterion.cwd.as_deref();
        request.clean = self.criterion.clean;
        let title = self.command_title();
        let rule = &self.criterion.success;
        if let Some(earlier) = context.capabilities.passed_before(&request, rule) {
            let tree = self.criterion.clean.then_some(earlier.tree);
            return match self.find_evidence(context) {
                Ok(evidence) => self.weigh_pass(
                    CheckJudgement::PassedBefore { evidence },
                    earlier.tests.is_some(),
                    earlier.tests,
                    tree,
                    context,
                ),
                Err(unknown) => unknown.into(),
            };
        }
        let ran = context
            .capabilities
            .run_check(&request, self.criterion.junit.as_deref());
        let tree = ran.tree;
        let unknown = |judgement| JudgedCheck {
            tree: tree.clone(),
            ..JudgedCheck::from(judgement)
        };
        let (exit, output) = match ran.run {
            CommandRun::Unrunnable { why } => {
                return unknown(CheckJudgement::Unrunnable {
                    why: format!("{title} cannot be run: {}", one_line(&why)),
                });
            }
            CommandRun::HeadroomError { why } => {
                return unknown(CheckJudgement::Failed {
                    why: format!("{title} could not be started: {}", one_line(&why)),
                });
            }
            CommandRun::TimedOut { output } => {
                let seconds = self.criterion.timeout.as_secs();
                let why = self.with_output(
                    format!("{title} did not end within {seconds} seconds"),
                    &output,
                );
                return unknown(CheckJudgement::TimedOut { why });
            }
            // The shell's words for "not executable" and "not found".
            CommandRun::Finished {
                exit: ProcessExit::Code(code @ (126 | 127)),
                output,
            } => {
                return unknown(CheckJudgement::Unrunnable {
                    why: self.with_output(format!("{title} cannot be run (exit {code})"), &output),
                });
            }
            CommandRun::Finished { exit, output } => (exit, output),
        };
        let line = self.criterion.run.to_string();
        let is_silent = output.stdout.is_blank() && output.stderr.is_blank();
        let run = match runners::runs_no_test(&line, is_silent) {
            true => Some(TestRun {
                counts: Some(TestCounts::default()),
                ..TestRun::default()
            }),
            false => runners::read_reports(&output),
        };
        let printed = run.as_ref().and_then(|run| run.counts);
        let tests_known = ran.report.is_some() || run.is_some();
        let counted = ran.report.map_or(Ok(printed), |report| {
            runners::counts_in_report(&report?)
                .map(Some)
                .map_err(|why| {
                    let path = one_line(self.criterion.junit.as_deref().unwrap_or_default());
                    format!("{path} is no JUnit report: {why}")
                })
        });
        let tests = counted.as_ref().ok().copied().flatten();
        let (failing, gap) = run
            .as_ref()
            .map_or_else(Default::default, |run| (run.failing.clone(), run.gap));
        let gap = gap.map(str::to_owned).or_else(|| {
            let is_exit = *rule == CommandSuccess::Exit(0);
            let named =
                runners::find_unnamed_failure(&line, exit, (&failing, printed.filter(|_| is_exit)));
            named.or_else(|| {
                (tests != printed).then(|| "its JUnit file counts other tests".to_owned())
            })
        });
        let names_all = gap.is_none();
        let runner = context.capabilities.suite_runner();
        let silent_runner = runners::named_runner(&line).filter(|_| !tests_known);
        let judgement = match (self.apply_rule(exit, &output), counted) {
            (SuccessOutcome::Met, Err(why)) => CheckJudgement::Failed {
                why: format!("{title} passed, and how many tests ran is unknown: {why}"),
            },
            (SuccessOutcome::Met, Ok(Some(TestCounts { ran: 0, .. }))) => CheckJudgement::Unmet {
                feedback: format!("{title} ran no test; make it run the tests of the work"),
            },
            (SuccessOutcome::Met, Ok(_)) if silent_runner.is_some() => {
                let runner = silent_runner.unwrap_or_default();
                let sentence = format!(
                    "{title} passed, and {runner} printed none of its closing lines: whether a test ran is unknown; \
                     let it print its summary, or name the JUnit file that it writes (junit)"
                );
                CheckJudgement::Unmet {
                    feedback: self.with_output(sentence, &output),
                }
            }
            (SuccessOutcome::Met, Ok(_)) => {
                // The number decides what a pass is worth; a runner that shows none has a cache of its own.
                if tests.is_some() || !tests_known {
                    context.capabilities.remember_pass(&request, rule, tests);
                }
                match self.find_evidence(context) {
                    Ok(evidence) => {
                        return self.weigh_pass(
                            CheckJudgement::Pass { evidence },
                            tests_known,
                            tests,
                            tree,
                            context,
                        );
                    }
                    Err(unknown) => unknown,
                }
            }
            (SuccessOutcome::Unmet(how), _) => {
                let mut feedback = self.describe_unmet(&title, &how, run.as_ref(), tests, &output);
                if let (true, Some(runner)) = (self.criterion.allows_begin_failures, runner) {
                    match gap.map_or_else(
                        || excuse_failures(&self.criterion, (&failing, tests), runner),
                        Err,
                    ) {
                        Ok(()) => match self.find_evidence(context) {
                            Ok(evidence) => {
                                return self.weigh_excused(
                                    evidence,
                                    (failing, tests),
                                    tree,
                                    context,
                                );
                            }
                            Err(unknown) => {
                                return JudgedCheck {
                                    tree,
                                    ..unknown.into()
                                };
                            }
                        },
                        Err(why) => feedback = format!("{why} (baseline_failures); {feedback}"),
                    }
                }
                CheckJudgement::Unmet { feedback }
            }
            (SuccessOutcome::Unknown(how), _) => CheckJudgement::Failed {
                why: self.with_output(format!("{title} {how}"), &output),
            },
        };
        JudgedCheck {
            tests,
            failing,
            names_all,
            tree,
            ..JudgedCheck::from(judgement)
        }
    }

    fn description(&self) -> String {
        let title = self.command_title();
        match &self.criterion.success {
            CommandSuccess::Exit(code) => format!("{title} ends with exit {code}"),
            CommandSuccess::Empty => format!("{title} ends with exit 0 and prints nothing"),
            CommandSuccess::Contains(text) => {
                format!("{title} ends with exit 0 and prints \"{}\"", one_line(text))
            }
            CommandSuccess::Regex(pattern) => format!(
                "{title} ends with exit 0 and prints a match of /{}/",
                one_line(pattern)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::answers::{CachedPass, CapturedStream, ResultBeforeWork, TestEdits};
    use super::super::registry::build_check_tree;
    use super::super::tests::{Fake, broken};
    use super::*;
    use crate::config::settings::{CheckKind, CheckOrder, CheckSpec, CommandLine};
    use watchdog_facts::evidence::{CheckOutcome, OutcomeBeforeWork, ReadFact};

    fn criterion(success: CommandSuccess) -> CommandCriterion {
        CommandCriterion {
            success,
            ..CommandCriterion::new(CommandLine::Shell("npm test".into()))
        }
    }

    fn finished(exit: ProcessExit, stdout: &[u8], stderr: &[u8]) -> CommandRun {
        CommandRun::Finished {
            exit,
            output: CommandOutput {
                stdout: CapturedStream::whole(stdout),
                stderr: CapturedStream::whole(stderr),
            },
        }
    }

    #[track_caller]
    fn check(success: CommandSuccess, run: CommandRun, outcome: CheckOutcome, words: &[&str]) {
        let fake = Fake {
            runs: vec![("npm test", run.clone())],
            ..Fake::default()
        };
        let judgement =
            CommandCheck::new(criterion(success.clone())).check(&CheckContext::new(&fake));
        assert_eq!(
            judgement.outcome(),
            outcome,
            "{success:?} {run:?}: {judgement:?}"
        );
        for word in words {
            assert!(
                judgement.feedback().contains(word),
                "{success:?} {run:?}: {judgement:?}"
            );
        }
        let expected = if outcome == CheckOutcome::Pass {
            Evidence::Verified
        } else {
            Evidence::None
        };
        assert_eq!(judgement.evidence(), expected);
        assert_eq!(
            judgement.feedback().is_empty(),
            outcome == CheckOutcome::Pass
        );
    }

    const RAN_NONE: &str = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.00s\n";

    const ONE_FAILS: &str = "running 2 tests\ntest a::c ... ok\ntest a::b ... FAILED\n\nfailures:\n\n---- a::b stdout ----\n\
        thread 'a::b' panicked at src/a.rs:7:5:\nboom\nnote: run with `RUST_BACKTRACE=1`\n\n\nfailures:\n    a::b\n\n\
        test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";

    #[test]
    fn silent_missing_script_ran_no_test() {
        for (line, output, outcome) in [
            ("npm test --if-present", "", CheckOutcome::Unmet),
            ("pnpm -r --if-present test", "\n", CheckOutcome::Unmet),
            ("npm test --if-present", "all good", CheckOutcome::Pass),
            ("make -q test", "", CheckOutcome::Unmet),
            ("make -j4 -kn test", "pytest", CheckOutcome::Unmet),
            ("make -k test", "", CheckOutcome::Pass),
            ("make -q docs", "", CheckOutcome::Pass),
            ("npm run build --if-present", "", CheckOutcome::Pass),
        ] {
            let run = finished(ProcessExit::Code(0), output.as_bytes(), b"");
            let fake = Fake {
                runs: vec![(line, run)],
                ..Fake::default()
            };
            let criterion = CommandCriterion::new(CommandLine::Shell(line.into()));
            let judgement = CommandCheck::new(criterion).check(&CheckContext::new(&fake));
            assert_eq!(judgement.outcome(), outcome, "{line}: {judgement:?}");
        }
    }

    #[test]
    fn the_rule_of_success_decides() {
        use CheckOutcome::{Pass, Unmet};
        let contains = || CommandSuccess::Contains("success".into());
        let regex = || CommandSuccess::Regex("^[0-9]+ passed$".into());
        let code = |code| ProcessExit::Code(code);
        for (rule, exit, stdout, stderr, outcome, words) in [
            (CommandSuccess::Exit(0), code(0), "", "", Pass, ""),
            (
                CommandSuccess::Exit(0),
                code(1),
                "",
                "",
                Unmet,
                "`npm test` ended with exit 1, not 0",
            ),
            (
                CommandSuccess::Exit(0),
                code(1),
                "",
                "test foo ... FAILED",
                Unmet,
                "FAILED",
            ),
            (
                CommandSuccess::Exit(0),
                code(0),
                RAN_NONE,
                "",
                Unmet,
                "`npm test` ran no test",
            ),
            (
                CommandSuccess::Exit(0),
                code(1),
                "9 passed in 0.1s",
                "",
                Unmet,
                "`npm test` ended with exit 1, not 0\n9 passed",
            ),
            (
                CommandSuccess::Exit(0),
                code(5),
                "no tests ran in 0.01s",
                "",
                Unmet,
                "`npm test` ran no test (ended with exit 5, not 0)",
            ),
            (
                CommandSuccess::Exit(0),
                code(101),
                ONE_FAILS,
                "",
                Unmet,
                "test `a::b` fails: src/a.rs:7:5: boom (`npm test` ended with exit 101, not 0; 1 of 2 tests failed)",
            ),
            (CommandSuccess::Exit(3), code(3), "", "", Pass, ""),
            (
                CommandSuccess::Exit(3),
                code(0),
                "",
                "",
                Unmet,
                "exit 0, not 3",
            ),
            (
                CommandSuccess::Exit(0),
                ProcessExit::Signal(9),
                "",
                "",
                Unmet,
                "signal 9",
            ),
            (CommandSuccess::Empty, code(0), "", "", Pass, ""),
            (CommandSuccess::Empty, code(0), " \n", "\n", Pass, ""),
            (
                CommandSuccess::Empty,
                code(0),
                "M a.rs",
                "",
                Unmet,
                "M a.rs",
            ),
            (
                CommandSuccess::Empty,
                code(0),
                "",
                "warning",
                Unmet,
                "warning",
            ),
            (CommandSuccess::Empty, code(1), "", "", Unmet, "exit 1"),
            (contains(), code(0), "test success message", "", Pass, ""),
            (contains(), code(0), "", "success", Pass, ""),
            (
                contains(),
                code(0),
                "Success",
                "",
                Unmet,
                "did not print \"success\"",
            ),
            (contains(), code(1), "success", "", Unmet, "exit 1"),
            (regex(), code(0), "run\n12 passed\ndone", "", Pass, ""),
            (
                regex(),
                code(0),
                "12 passed, 1 failed",
                "",
                Unmet,
                "did not print a match of /^[0-9]+ passed$/",
            ),
        ] {
            check(
                rule,
                finished(exit, stdout.as_bytes(), stderr.as_bytes()),
                outcome,
                &[words],
            );
        }
    }

    #[test]
    fn command_that_cannot_run_never_passes() {
        for success in [
            CommandSuccess::Exit(127),
            CommandSuccess::Exit(126),
            CommandSuccess::Exit(0),
            CommandSuccess::Empty,
        ] {
            let not_found = finished(ProcessExit::Code(127), b"", b"sh: npm: not found");
            check(
                success.clone(),
                not_found,
                CheckOutcome::Unrunnable,
                &["cannot be run (exit 127)", "npm: not found"],
            );
            check(
                success.clone(),
                finished(ProcessExit::Code(126), b"", b""),
                CheckOutcome::Unrunnable,
                &["exit 126"],
            );
            let refused = CommandRun::Unrunnable {
                why: "permission\ndenied".into(),
            };
            check(
                success,
                refused,
                CheckOutcome::Unrunnable,
                &["`npm test` cannot be run: permission denied"],
            );
        }
    }

    #[test]
    fn missed_deadline_shows_output_so_far() {
        let output = CommandOutput {
            stdout: CapturedStream::whole("waiting for the database"),
            stderr: CapturedStream::default(),
        };
        let words = ["did not end within 300 seconds", "waiting for the database"];
        check(
            CommandSuccess::Exit(0),
            CommandRun::TimedOut { output },
            CheckOutcome::TimedOut,
            &words,
        );
    }

    #[test]
    fn what_was_dropped_is_unknown_and_not_absent() {
        let gap = |head: &str, tail: &str| CommandRun::Finished {
            exit: ProcessExit::Code(0),
            output: CommandOutput {
                stdout: CapturedStream {
                    head: head.into(),
                    dropped: 99,
                    tail: tail.into(),
                },
                stderr: CapturedStream::default(),
            },
        };
        let contains = || CommandSuccess::Contains("success".into());
        check(
            contains(),
            gap("", "noise"),
            CheckOutcome::Failed,
            &["99 bytes were dropped"],
        );
        check(
            contains(),
            gap("suc", "cess"),
            CheckOutcome::Failed,
            &["too much to tell"],
        );
        check(contains(), gap("success", ""), CheckOutcome::Pass, &[]);
        check(
            CommandSuccess::Empty,
            gap("", ""),
            CheckOutcome::Unmet,
            &["printed something"],
        );
        check(
            CommandSuccess::Exit(0),
            gap("", ""),
            CheckOutcome::Pass,
            &[],
        );
    }

    #[test]
    fn feedback_is_the_bounded_end_of_both_streams() {
        let lines: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let criterion = CommandCriterion {
            tail_lines: 2,
            ..criterion(CommandSuccess::Exit(0))
        };
        let fake = Fake {
            runs: vec![(
                "npm test",
                finished(ProcessExit::Code(1), lines.as_bytes(), b"oops"),
            )],
            ..Fake::default()
        };
        let judgement = CommandCheck::new(criterion).check(&CheckContext::new(&fake));
        assert_eq!(
            judgement.feedback(),
            "`npm test` ended with exit 1, not 0\nstderr:\noops\nstdout:\nline 98\nline 99"
        );
        let endless = vec![b'x'; 5_000_000];
        let fake = Fake {
            runs: vec![(
                "npm test",
                finished(ProcessExit::Code(1), &endless, &endless),
            )],
            ..Fake::default()
        };
        let judgement = CommandCheck::new(super::CommandCriterion::new(CommandLine::Shell(
            "npm test".into(),
        )))
        .check(&CheckContext::new(&fake));
        assert!(judgement.feedback().chars().count() < 8000);
        let full = |letter: &str| format!("{}\n", letter.repeat(499)).repeat(4);
        let feedback_of = |cwd: Option<String>, text: &str| {
            let fake = Fake {
                runs: vec![(
                    "npm test",
                    finished(
                        ProcessExit::Code(0),
                        full("a").as_bytes(),
                        full("b").as_bytes(),
                    ),
                )],
                ..Fake::default()
            };
            let criterion = CommandCriterion {
                cwd,
                ..CommandCriterion::new(CommandLine::Shell("npm test".into()))
            };
            let success = CommandSuccess::Contains(text.into());
            CommandCheck::new(CommandCriterion {
                success,
                ..criterion
            })
            .check(&CheckContext::new(&fake))
            .feedback()
            .to_owned()
        };
        assert!(
            feedback_of(None, "x").ends_with(full("a").trim_end()),
            "both ends are shown whole: {}",
            feedback_of(None, "x").len()
        );
        assert_eq!(
            feedback_of(Some("w".repeat(600)), &"x".repeat(600))
                .chars()
                .count(),
            5003,
            "a long sentence leaves less room for them"
        );
    }

    #[test]
    fn pass_of_session_written_script_is_agents_word() {
        let judged = |changed: ReadFact<Vec<String>>, exit| {
            let runs = vec![("npm test", finished(ProcessExit::Code(exit), b"", b""))];
            let fake = Fake {
                runs,
                changed_scripts: Some(changed),
                ..Fake::default()
            };
            CommandCheck::new(criterion(CommandSuccess::Exit(0))).check(&CheckContext::new(&fake))
        };
        assert_eq!(
            judged(Ok(Vec::new()), 0),
            CheckJudgement::Pass {
                evidence: Evidence::Verified
            }
        );
        assert_eq!(
            judged(Ok(vec!["check.sh".into()]), 0),
            CheckJudgement::Pass {
                evidence: Evidence::Claimed
            }
        );
        assert_eq!(
            judged(Ok(vec!["check.sh".into()]), 1).outcome(),
            CheckOutcome::Unmet
        );
        let unknown = judged(Err(broken("the baseline is gone")), 0);
        let why =
            "whether files that `npm test` names were changed cannot be told: the baseline is gone";
        assert_eq!(unknown, CheckJudgement::Failed { why: why.into() });
    }

    #[test]
    fn what_passed_before_does_not_run_again() {
        let judged = |changed: Vec<String>, removed| {
            let edits = TestEdits {
                removed,
                ..TestEdits::default()
            };
            let tests = Some(TestCounts {
                ran: 2,
                failed: 0,
                skipped: 0,
            });
            let passed_before = Some(CachedPass {
                tests,
                ..CachedPass::default()
            });
            let fake = Fake {
                passed_before,
                changed_scripts: Some(Ok(changed)),
                edits,
                ..Fake::default()
            };
            let judgement = CommandCheck::new(criterion(CommandSuccess::Exit(0)))
                .check(&CheckContext::new(&fake));
            assert!(
                fake.asked().is_empty(),
                "nothing runs and nothing is remembered anew"
            );
            judgement
        };
        assert_eq!(
            judged(Vec::new(), 0),
            CheckJudgement::PassedBefore {
                evidence: Evidence::Verified
            }
        );
        assert_eq!(
            judged(vec!["check.sh".into()], 0),
            CheckJudgement::PassedBefore {
                evidence: Evidence::Claimed
            }
        );
        assert_eq!(
            judged(Vec::new(), 1),
            CheckJudgement::PassedBefore {
                evidence: Evidence::Claimed
            }
        );
    }

    #[test]
    fn only_passes_are_remembered() {
        for (exit, remembers) in [(0, true), (1, false), (127, false)] {
            let fake = Fake {
                runs: vec![("npm test", finished(ProcessExit::Code(exit), b"", b""))],
                ..Fake::default()
            };
            let _ = CommandCheck::new(criterion(CommandSuccess::Exit(0)))
                .check(&CheckContext::new(&fake));
            assert_eq!(
                fake.asked()
                    .iter()
                    .any(|asked| asked.starts_with("remember")),
                remembers,
                "{exit}"
            );
        }
    }

    #[test]
    fn the_description_names_command_folder_and_rule() {
        let mut criterion = criterion(CommandSuccess::Exit(0));
        criterion.cwd = Some("web".into());
        criterion.timeout = Duration::from_secs(7);
        assert_eq!(
            CommandCheck::new(criterion.clone()).description(),
            "`npm test` in `web` ends with exit 0"
        );
        let fake = Fake {
            runs: vec![("npm test", finished(ProcessExit::Code(0), b"", b""))],
            ..Fake::default()
        };
        assert_eq!(
            CommandCheck::new(criterion)
                .check(&CheckContext::new(&fake))
                .outcome(),
            CheckOutcome::Pass
        );
        assert_eq!(
            fake.asked(),
            [
                "run npm test in web for 7 s",
                "remember npm test by Exit(0)"
            ]
        );
    }

    #[test]
    fn pass_after_removed_tests_is_agents_word() {
        let passes = "running 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let judged = |stdout: &str, edits: TestEdits| {
            let runs = vec![(
                "npm test",
                finished(ProcessExit::Code(0), stdout.as_bytes(), b""),
            )];
            let fake = Fake {
                runs,
                edits,
                ..Fake::default()
            };
            let judged = CommandCheck::new(criterion(CommandSuccess::Exit(0)))
                .judge(&CheckContext::new(&fake));
            (
                judged.judgement.evidence(),
                judged
                    .notes
                    .into_iter()
                    .map(|note| format!("{}: {}", note.code, note.detail))
                    .collect::<Vec<_>>(),
            )
        };
        let deleted = || TestEdits {
            deleted: vec!["tests/a.rs".into()],
            ..TestEdits::default()
        };
        let deletion_warning =
            vec!["tests_deleted: `npm test`: the session deleted tests/a.rs".to_owned()];
        assert_eq!(
            judged(passes, TestEdits::default()),
            (Evidence::Verified, Vec::new())
        );
        assert_eq!(
            judged(passes, deleted()),
            (Evidence::Claimed, deletion_warning.clone())
        );
        assert_eq!(
            judged("all is well", deleted()),
            (Evidence::Verified, deletion_warning),
            "it may run no tests at all"
        );
        let ignored = TestEdits {
            ignored: 1,
            removed: 2,
            ..TestEdits::default()
        };
        let edit_warnings = vec!["tests_deleted: `npm test`: the session removed 2 tests and skips 1 test more than before".to_owned()];
        assert_eq!(judged(passes, ignored), (Evidence::Claimed, edit_warnings));
        let failed = "12 passed, 1 failed in 0.5s".to_owned();
        assert_eq!(judged(&failed, TestEdits::default()).0, Evidence::Claimed);
    }

    #[test]
    fn report_counts_instead_of_printed_output() {
        let judged = |report: Result<&str, &str>| {
            let runs = vec![(
                "npm test",
                finished(ProcessExit::Code(0), b"9 passed in 0.1s", b""),
            )];
            let report = Some(
                report
                    .map(|xml| xml.as_bytes().to_vec())
                    .map_err(str::to_owned),
            );
            let fake = Fake {
                runs,
                report,
                ..Fake::default()
            };
            let junit = Some("out.xml".to_owned());
            CommandCheck::new(CommandCriterion {
                junit,
                ..criterion(CommandSuccess::Exit(0))
            })
            .judge(&CheckContext::new(&fake))
        };
        let judged_report = judged(Ok(
            "<testsuite><testcase/><testcase><skipped/></testcase><testcase/></testsuite>",
        ));
        assert_eq!(
            (judged_report.judgement.outcome(), judged_report.tests),
            (
                CheckOutcome::Pass,
                Some(TestCounts {
                    ran: 2,
                    failed: 0,
                    skipped: 1
                })
            )
        );
        for (report, outcome, words) in [
            (
                Err("out.xml was not written by this run"),
                CheckOutcome::Failed,
                "out.xml was not written by this run",
            ),
            (
                Ok("<html/>"),
                CheckOutcome::Failed,
                "out.xml is no JUnit report",
            ),
            (Ok("<testsuites/>"), CheckOutcome::Unmet, "ran no test"),
        ] {
            let judged_report = judged(report);
            assert_eq!(judged_report.judgement.outcome(), outcome, "{words}");
            assert!(
                judged_report.judgement.feedback().contains(words),
                "{:?}",
                judged_report.judgement
            );
        }
    }

    #[test]
    fn smaller_suite_is_only_agents_word() {
        let counts = |ran, skipped| {
            Some(TestCounts {
                ran,
                failed: 0,
                skipped,
            })
        };
        let judged = |before: Option<TestCounts>, now: &str| {
            let output = CommandOutput {
                stdout: CapturedStream::whole(now),
                ..CommandOutput::default()
            };
            let runs = vec![(
                "t",
                CommandRun::Finished {
                    exit: ProcessExit::Code(0),
                    output,
                },
            )];
            let fake = Fake {
                runs,
                at_begin: ResultBeforeWork {
                    before: OutcomeBeforeWork::Failed,
                    tests: before,
                },
                ..Fake::default()
            };
            let criterion =
                CheckKind::Command(CommandCriterion::new(CommandLine::Shell("t".into())));
            let check = CheckSpec::Single {
                name: "tests".into(),
                criterion,
            };
            build_check_tree(&check).evaluate(CheckOrder::Given, &CheckContext::new(&fake))
        };
        for (before, now, evidence, words) in [
            (counts(5, 0), "5 passed in 0.1s", Evidence::Verified, ""),
            (counts(5, 0), "6 passed in 0.1s", Evidence::Verified, ""),
            (None, "1 passed in 0.1s", Evidence::Verified, ""),
            (
                counts(5, 0),
                "4 passed in 0.1s",
                Evidence::Claimed,
                "tests: 4 tests ran, and 5 did when the work began",
            ),
            (
                counts(5, 1),
                "5 passed, 2 skipped in 0.1s",
                Evidence::Claimed,
                "tests: 2 tests skipped, and 1 were when the work began",
            ),
        ] {
            let judged_suite = judged(before, now);
            assert_eq!(
                (judged_suite.outcome, judged_suite.evidence),
                (CheckOutcome::Pass, evidence),
                "{now}"
            );
            assert_eq!(
                judged_suite
                    .notes
                    .iter()
                    .map(|note| note.detail.as_str())
                    .collect::<String>(),
                words,
                "{now}"
            );
        }
    }
}
