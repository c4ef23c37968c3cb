//! The type `custom`: a program of the user's reads the context and gives its verdict.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::config::settings::{
    CheckKind, ConfigSettings, CustomCriterion, CustomMode, single_checks,
};
use watchdog_facts::evidence::{CheckOutcome, ProcessExit};
use watchdog_facts::verdict::Evidence;

use super::answers::{CommandOutput, CommandRequest, CommandRun, LineOutcome};
use super::check::{CheckContext, CheckJudgement, CompletionCheck};
use super::context_writer::context_to_json;
use super::feedback::{MAX_CHARS, cut_feedback, one_line, take_last_lines};
use super::named_files::shown_by_program;
use super::strict_json;

/// Lines of its stderr that become feedback.
const TAIL_LINES: usize = 20;

/// Met if a program decides so.
#[derive(Debug, Clone)]
pub struct CustomCheck {
    criterion: CustomCriterion,
}

impl CustomCheck {
    /// A check by this program.
    pub fn new(criterion: CustomCriterion) -> Self {
        CustomCheck { criterion }
    }

    fn title(&self) -> String {
        format!(
            "`{}`",
            cut_feedback(one_line(&self.criterion.run.to_string()), 200)
        )
    }

    /// Its verdict, as `{"complete": bool, "feedback": "…"}`.
    fn verdict(&self, text: &str) -> CheckJudgement {
        let title = self.title();
        let failed = |how: &str| CheckJudgement::Failed {
            why: format!("{title} {how}: {}", cut_feedback(one_line(text), 200)),
        };
        let answer = match strict_json::parse_strict_json(text) {
            Ok(Value::Object(answer)) => answer,
            Err(why) if why.contains(strict_json::KEY_TWICE) => {
                return failed(&format!("gave no answer, as {why}"));
            }
            _ => return failed("answered with something else than a JSON object"),
        };
        let feedback = match answer.get("feedback") {
            None | Some(Value::Null) => "",
            Some(Value::String(feedback)) => feedback.trim(),
            Some(_) => return failed("answered with a `feedback` that is no text"),
        };
        match answer.get("complete") {
            Some(Value::Bool(true)) if feedback.is_empty() => CheckJudgement::Pass {
                evidence: Evidence::Verified,
            },
            Some(Value::Bool(true)) => CheckJudgement::PassWith {
                evidence: Evidence::Verified,
                summary: cut_feedback(feedback.to_owned(), MAX_CHARS),
            },
            Some(Value::Bool(false)) if feedback.is_empty() => CheckJudgement::Unmet {
                feedback: format!("{title} says that the work is not complete"),
            },
            Some(Value::Bool(false)) => CheckJudgement::Unmet {
                feedback: cut_feedback(feedback.to_owned(), MAX_CHARS),
            },
            Some(_) => failed("answered with a `complete` that is neither true nor false"),
            None => failed("answered without `complete`"),
        }
    }

    fn judge_exit(&self, exit: ProcessExit, output: &CommandOutput) -> CheckJudgement {
        let title = self.title();
        let complaint = |stretches: Vec<Vec<u8>>| {
            stretches
                .last()
                .map(|bytes| take_last_lines(bytes, TAIL_LINES))
                .unwrap_or_default()
        };
        let with = |sentence: String| match complaint(output.stderr.stretches()) {
            said if said.is_empty() => sentence,
            said => format!("{sentence}\n{said}"),
        };
        match exit {
            ProcessExit::Code(126 | 127) => CheckJudgement::Unrunnable {
                why: with(format!("{title} cannot be run ({exit})")),
            },
            ProcessExit::Code(0) if output.stdout.dropped > 0 => CheckJudgement::Failed {
                why: format!(
                    "{title} wrote too much to tell what it answered: {} bytes were dropped",
                    output.stdout.dropped
                ),
            },
            ProcessExit::Code(0) => {
                let stdout = String::from_utf8_lossy(&output.stdout.stretches().concat())
                    .trim()
                    .to_owned();
                // Words that are no JSON are no verdict: the exit code is.
                if stdout.starts_with('{') {
                    self.verdict(&stdout)
                } else {
                    CheckJudgement::Pass {
                        evidence: Evidence::Verified,
                    }
                }
            }
            exit => CheckJudgement::Unmet {
                feedback: with(format!("{title} ended with {exit}")),
            },
        }
    }
}

impl CustomCheck {
    fn run_program(&self, context: &CheckContext<'_>) -> CheckJudgement {
        let mut question = context_to_json(context.session);
        if let Some(definition) = &self.criterion.definition {
            question["handler"] = json!({"wants": "judge", "definition": definition});
        }
        let mut line = question.to_string();
        let mut request = CommandRequest::new(&self.criterion.run, self.criterion.timeout);
        request.may_be_typescript = true;
        request.cwd = self.criterion.cwd.as_deref();
        let (title, seconds) = (self.title(), self.criterion.timeout.as_secs());
        let unrunnable = |why: &str| CheckJudgement::Unrunnable {
            why: format!("{title} cannot be run: {}", one_line(why)),
        };
        let late = || CheckJudgement::TimedOut {
            why: format!("{title} did not answer within {seconds} seconds"),
        };
        match self.criterion.mode {
            CustomMode::Call => {
                line.push('\n');
                request.stdin = line.as_bytes();
                match context.capabilities.run_command(&request) {
                    CommandRun::Finished { exit, output } => self.judge_exit(exit, &output),
                    CommandRun::Unrunnable { why } => unrunnable(&why),
                    CommandRun::HeadroomError { why } => CheckJudgement::Failed {
                        why: format!("{title} could not be started: {}", one_line(&why)),
                    },
                    CommandRun::TimedOut { .. } => late(),
                }
            }
            CustomMode::Stream => match context.capabilities.exchange(&request, &line) {
                LineOutcome::Line(answer) => self.verdict(answer.trim()),
                LineOutcome::Unrunnable { why } => unrunnable(&why),
                LineOutcome::Failed { why } => CheckJudgement::Failed {
                    why: format!("{title} gave no answer: {}", one_line(&why)),
                },
                LineOutcome::TimedOut => late(),
            },
        }
    }
}

/// The texts that a handler in TypeScript has for the next session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedPrompt {
    /// The prompt, where it makes one.
    pub prompt: Option<String>,
    /// Its criteria, where it names them.
    pub criteria: Option<String>,
    /// The general description of its check, which the criteria replace.
    pub replaces: String,
}

/// Asks the first handler of an agent among the checks for the texts of the session that the context is about. `args` are the values of the
/// command line; `None` where no check has such a handler.
///
/// # Errors
/// The handler cannot be run, or gave no texts.
pub fn ask_for_prompt(
    settings: &ConfigSettings,
    args: &BTreeMap<String, String>,
    context: &CheckContext<'_>,
) -> Option<Result<DescribedPrompt, String>> {
    let criterion = single_checks(&settings.checks)
        .into_iter()
        .find_map(|(_, criterion)| match criterion {
            CheckKind::Custom(custom) => custom.definition.is_some().then_some(custom),
            _ => None,
        })?;
    let check = CustomCheck::new(criterion.clone());
    let mut question = context_to_json(context.session);
    question["handler"] =
        json!({"wants": "prompt", "definition": criterion.definition, "args": args});
    let mut request = CommandRequest::new(&criterion.run, criterion.timeout);
    request.may_be_typescript = true;
    request.cwd = criterion.cwd.as_deref();
    let title = check.title();
    Some(
        match context
            .capabilities
            .exchange(&request, &question.to_string())
        {
            LineOutcome::Line(answer) => match serde_json::from_str::<Value>(&answer) {
                Ok(answer) if answer.get("complete").is_none() => {
                    let text =
                        |key: &str| answer.get(key).and_then(Value::as_str).map(str::to_owned);
                    let criteria = text("detailed").or_else(|| text("short"));
                    Ok(DescribedPrompt {
                        prompt: text("prompt"),
                        criteria,
                        replaces: check.description(),
                    })
                }
                // A program that is no handler answers each line with a verdict.
                Ok(_) => Ok(DescribedPrompt {
                    prompt: None,
                    criteria: None,
                    replaces: check.description(),
                }),
                Err(_) => Err(format!("{title} answered with something else than JSON")),
            },
            LineOutcome::Unrunnable { why } | LineOutcome::Failed { why } => {
                Err(format!("{title} cannot be run: {}", one_line(&why)))
            }
            LineOutcome::TimedOut => Err(format!(
                "{title} did not answer within {} seconds",
                criterion.timeout.as_secs()
            )),
        },
    )
}

impl CompletionCheck for CustomCheck {
    fn check(&self, context: &CheckContext<'_>) -> CheckJudgement {
        let answer = self.run_program(context);
        if answer.outcome() != CheckOutcome::Pass {
            return answer;
        }
        match (shown_by_program(&self.criterion.run, None, context), answer) {
            (Ok(evidence), CheckJudgement::PassWith { summary: found, .. }) => {
                CheckJudgement::PassWith {
                    evidence,
                    summary: found,
                }
            }
            (Ok(evidence), _) => CheckJudgement::Pass { evidence },
            (Err(unknown), _) => unknown,
        }
    }

    fn description(&self) -> String {
        format!("{} says that the work is complete", self.title())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::answers::CapturedStream;
    use super::super::tests::Fake;
    use super::*;
    use crate::config::settings::CommandLine;
    use watchdog_facts::context::SessionContext;
    use watchdog_facts::evidence::CheckOutcome::{self, Failed, Pass, TimedOut, Unmet, Unrunnable};

    fn criterion(mode: CustomMode) -> CustomCriterion {
        CustomCriterion {
            mode,
            ..CustomCriterion::new(CommandLine::Argv(vec!["judge".into()]))
        }
    }

    #[track_caller]
    fn check(mode: CustomMode, fake: &Fake, outcome: CheckOutcome, words: &str) {
        let session = SessionContext {
            iteration: Some(3),
            ..SessionContext::default()
        };
        let judgement = CustomCheck::new(criterion(mode))
            .check(&CheckContext::new(fake).with_session(&session));
        assert_eq!(judgement.outcome(), outcome, "{judgement:?}");
        assert!(judgement.feedback().contains(words), "{judgement:?}");
    }

    fn ran(exit: ProcessExit, stdout: &str, stderr: &str) -> Fake {
        let output = CommandOutput {
            stdout: CapturedStream::whole(stdout),
            stderr: CapturedStream::whole(stderr),
        };
        Fake {
            runs: vec![("judge", CommandRun::Finished { exit, output })],
            ..Fake::default()
        }
    }

    #[test]
    fn stdout_answer_decides_before_the_exit_code() {
        for (exit, stdout, stderr, outcome, words) in [
            (0, r#"{"complete": true}"#, "", Pass, ""),
            (
                0,
                r#"{"complete": false, "feedback": "2 of 3 decisions"}"#,
                "",
                Unmet,
                "2 of 3 decisions",
            ),
            (
                0,
                r#"{"complete": false}"#,
                "",
                Unmet,
                "`judge` says that the work is not complete",
            ),
            (0, "", "", Pass, ""),
            (0, "all fine\n", "", Pass, ""),
            (
                0,
                r#"{"complete": "yes"}"#,
                "",
                Failed,
                "neither true nor false",
            ),
            (0, r#"{"done": true}"#, "", Failed, "without `complete`"),
            (
                0,
                r#"{"complete": false, "complete": true}"#,
                "",
                Failed,
                "the key \"complete\" stands twice",
            ),
            (
                0,
                r#"{"complete": true"#,
                "",
                Failed,
                "something else than a JSON object",
            ),
            (
                0,
                r#"{"complete": false, "feedback": 5}"#,
                "",
                Failed,
                "no text",
            ),
            (
                1,
                r#"{"complete": true}"#,
                "decisions are missing\n",
                Unmet,
                "ended with exit code 1\ndecisions are missing",
            ),
            (126, "", "", Unrunnable, "cannot be run"),
            (127, "", "not found", Unrunnable, "not found"),
        ] {
            check(
                CustomMode::Call,
                &ran(ProcessExit::Code(exit), stdout, stderr),
                outcome,
                words,
            );
        }
        check(
            CustomMode::Call,
            &ran(ProcessExit::Signal(9), "", ""),
            Unmet,
            "signal 9",
        );
    }

    #[test]
    fn extra_answer_text_is_passed_on() {
        let judge = |fake: &Fake| {
            CustomCheck::new(criterion(CustomMode::Call)).check(&CheckContext::new(fake))
        };
        let verified = Evidence::Verified;
        let judgement_of = |stdout: &str| judge(&ran(ProcessExit::Code(0), stdout, "noise"));
        assert_eq!(
            judgement_of(r#"{"complete": true}"#),
            CheckJudgement::Pass { evidence: verified }
        );
        assert_eq!(
            judgement_of(r#"{"complete": true, "feedback": " "}"#),
            CheckJudgement::Pass { evidence: verified }
        );
        let pass_with_summary = CheckJudgement::PassWith {
            evidence: verified,
            summary: "3 of 3 decisions".into(),
        };
        assert_eq!(
            judgement_of(r#"{"complete": true, "feedback": "3 of 3 decisions"}"#),
            pass_with_summary
        );
        assert_eq!(
            judge(&ran(ProcessExit::Code(1), "", "")).feedback(),
            "`judge` ended with exit code 1"
        );
        let stdout = CapturedStream {
            head: b"{\"complete\": true}".to_vec(),
            dropped: 5,
            tail: Vec::new(),
        };
        let output = CommandOutput {
            stdout,
            ..CommandOutput::default()
        };
        let cut = Fake {
            runs: vec![(
                "judge",
                CommandRun::Finished {
                    exit: ProcessExit::Code(0),
                    output,
                },
            )],
            ..Fake::default()
        };
        check(
            CustomMode::Call,
            &cut,
            Failed,
            "wrote too much to tell what it answered: 5 bytes were dropped",
        );
    }

    #[test]
    fn custom_check_reads_context_and_times_out() {
        let fake = ran(ProcessExit::Code(0), "", "");
        check(CustomMode::Call, &fake, Pass, "");
        assert!(
            fake.asked()[0].contains(r#""iteration":3"#),
            "{:?}",
            fake.asked()
        );
        let with = |run| Fake {
            runs: vec![("judge", run)],
            ..Fake::default()
        };
        check(
            CustomMode::Call,
            &with(CommandRun::TimedOut {
                output: CommandOutput::default(),
            }),
            TimedOut,
            "within 60 seconds",
        );
        check(
            CustomMode::Call,
            &with(CommandRun::Unrunnable {
                why: "it is gone".into(),
            }),
            Unrunnable,
            "it is gone",
        );
    }

    #[test]
    fn one_that_stays_answers_line_by_line() {
        let with = |answer| Fake {
            exchanges: Mutex::new(vec![answer]),
            ..Fake::default()
        };
        let line = |text: &str| with(LineOutcome::Line(text.into()));
        check(CustomMode::Stream, &line(r#"{"complete": true}"#), Pass, "");
        check(
            CustomMode::Stream,
            &line(r#"{"complete": false, "feedback": "more"}"#),
            Unmet,
            "more",
        );
        check(CustomMode::Stream, &line("ready"), Failed, "something else");
        check(CustomMode::Stream, &line(""), Failed, "something else");
        check(
            CustomMode::Stream,
            &with(LineOutcome::Failed {
                why: "it ended".into(),
            }),
            Failed,
            "it ended",
        );
        check(
            CustomMode::Stream,
            &with(LineOutcome::TimedOut),
            TimedOut,
            "60 seconds",
        );
        check(
            CustomMode::Stream,
            &with(LineOutcome::Unrunnable {
                why: "no such file".into(),
            }),
            Unrunnable,
            "no such file",
        );
    }
}
