//! The type `issue`: an issue of GitHub is closed, has a label, or a pull request is merged. Only GitHub's own answer counts.

use serde_json::Value;

use crate::config::settings::{GitCriterion, IssueCriterion};
use watchdog_facts::evidence::CheckOutcome;
use watchdog_facts::verdict::Evidence;

use super::check::{CheckContext, CheckJudgement, CompletionCheck};
use super::feedback::one_line;
use super::git::GitCheck;
use super::github;

/// Met if GitHub shows it.
#[derive(Debug, Clone)]
pub struct IssueCheck {
    criterion: IssueCriterion,
}

impl IssueCheck {
    /// A check of this issue or pull request.
    pub fn new(criterion: IssueCriterion) -> Self {
        IssueCheck { criterion }
    }

    fn view(
        &self,
        context: &CheckContext<'_>,
        what: &str,
        number: u64,
        fields: &str,
    ) -> Result<Value, CheckJudgement> {
        let number = number.to_string();
        let mut args = vec![what, "view", number.as_str(), "--json", fields];
        if let Some(repo) = &self.criterion.repo {
            args.extend(["--repo", repo]);
        }
        github::query_github(context, &args, self.criterion.timeout)
    }

    /// GitHub's answer where nothing is missing.
    fn describe_pass(&self) -> String {
        let wanted = &self.criterion;
        let closed = wanted
            .number
            .filter(|_| wanted.closed)
            .map(|number| format!("Issue #{number} closed"));
        let label = wanted
            .number
            .zip(wanted.label.as_ref())
            .map(|(number, label)| {
                format!("Issue #{number} has the label \"{}\"", one_line(label))
            });
        let merged = wanted
            .pull_request
            .map(|number| format!("Pull request #{number} merged"));
        closed
            .into_iter()
            .chain(label)
            .chain(merged)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The missing condition, if there is one.
    fn missing(&self, context: &CheckContext<'_>) -> Result<Option<String>, CheckJudgement> {
        let wanted = &self.criterion;
        if let Some(number) = wanted.number {
            let issue = self.view(context, "issue", number, "state,labels")?;
            // The number of a pull request is answered as well, with a state of its own.
            if wanted.closed && !github::state_is(&issue, "CLOSED")? {
                return Ok(Some(format!(
                    "issue #{number} is not closed; close it when its work is done"
                )));
            }
            if let Some(label) = &wanted.label {
                let labels = issue.get("labels").and_then(Value::as_array);
                let labels = labels.ok_or_else(|| CheckJudgement::Failed {
                    why: format!("GitHub did not tell the labels of issue #{number}"),
                })?;
                if !labels
                    .iter()
                    .any(|present| present.get("name").and_then(Value::as_str) == Some(label))
                {
                    return Ok(Some(format!(
                        "issue #{number} does not have the label \"{}\"",
                        one_line(label)
                    )));
                }
            }
        }
        if let Some(number) = wanted.pull_request {
            let pull_request = self.view(context, "pr", number, "state")?;
            if !github::state_is(&pull_request, "MERGED")? {
                return Ok(Some(format!("pull request #{number} is not merged")));
            }
        }
        Ok(None)
    }
}

impl CompletionCheck for IssueCheck {
    fn check(&self, context: &CheckContext<'_>) -> CheckJudgement {
        if self.criterion.number.is_none() && self.criterion.pull_request.is_none() {
            return CheckJudgement::Unrunnable {
                why: "no issue is named; give its `number` or a `pull_request`, or type --var issue=N".into(),
            };
        }
        if self.criterion.require_clean {
            let clean = GitCriterion {
                min_commits: 0,
                require_clean: true,
                ..GitCriterion::default()
            };
            let cleanness = GitCheck::new(clean).check(context);
            if cleanness.outcome() != CheckOutcome::Pass {
                return cleanness;
            }
        }
        match self.missing(context) {
            Ok(None) => CheckJudgement::PassWith {
                evidence: Evidence::Verified,
                summary: self.describe_pass(),
            },
            Ok(Some(feedback)) => CheckJudgement::Unmet { feedback },
            Err(ended) => ended,
        }
    }

    fn description(&self) -> String {
        let wanted = &self.criterion;
        let mut parts = Vec::new();
        let named = match (wanted.number, wanted.pull_request) {
            (Some(number), _) => Some(format!("issue #{number}")),
            (None, None) => Some("the issue that --var issue=N names".to_owned()),
            (None, Some(_)) => None,
        };
        if let Some(issue) = named {
            match (&wanted.label, wanted.closed) {
                (None, _) => parts.push(format!("{issue} is closed")),
                (Some(label), true) => parts.push(format!(
                    "{issue} is closed and has the label \"{}\"",
                    one_line(label)
                )),
                (Some(label), false) => parts.push(format!(
                    "{issue} has the label \"{}\" (do not close the issue)",
                    one_line(label)
                )),
            }
        }
        parts.extend(
            wanted
                .pull_request
                .map(|number| format!("pull request #{number} is merged")),
        );
        if wanted.require_clean {
            parts.push("nothing is left uncommitted".into());
        }
        parts.join(", and ")
    }
}

#[cfg(test)]
mod tests {
    use super::super::answers::{CapturedStream, CommandOutput, CommandRun};
    use super::super::tests::{Fake, broken};
    use super::*;
    use watchdog_facts::evidence::{Changes, CheckOutcome, ProcessExit};

    const ISSUE: &str = "gh issue view 7 --json state,labels";

    fn gh(code: i32, stdout: &str, stderr: &str) -> CommandRun {
        let output = CommandOutput {
            stdout: CapturedStream::whole(stdout),
            stderr: CapturedStream::whole(stderr),
        };
        CommandRun::Finished {
            exit: ProcessExit::Code(code),
            output,
        }
    }

    fn issue() -> IssueCriterion {
        IssueCriterion::new(Some(7))
    }

    #[track_caller]
    fn check(criterion: IssueCriterion, fake: Fake, outcome: CheckOutcome, words: &str) {
        let judgement = IssueCheck::new(criterion).check(&CheckContext::new(&fake));
        assert_eq!(judgement.outcome(), outcome, "{judgement:?}");
        assert!(judgement.feedback().contains(words), "{judgement:?}");
    }

    fn asked(line: &'static str, run: CommandRun) -> Fake {
        Fake {
            runs: vec![(line, run)],
            ..Fake::default()
        }
    }

    #[test]
    fn issue_counts_only_in_exact_closed_state() {
        use CheckOutcome::{Failed, Pass, Unmet};
        check(
            issue(),
            asked(ISSUE, gh(0, r#"{"state": "CLOSED"}"#, "")),
            Pass,
            "Issue #7 closed",
        );
        for state in ["OPEN", "closed", "MERGED", ""] {
            check(
                issue(),
                asked(ISSUE, gh(0, &format!(r#"{{"state": "{state}"}}"#), "")),
                Unmet,
                "issue #7 is not closed",
            );
        }
        for (run, words) in [
            (
                gh(1, "", "not logged in"),
                "ended with exit code 1: not logged in",
            ),
            (gh(4, "", "authenticate"), "gh auth login"),
            (gh(0, "", ""), "printed no JSON object"),
            (gh(0, "[]", ""), "printed no JSON object"),
            (gh(0, "{}", ""), "has no `state`"),
        ] {
            check(issue(), asked(ISSUE, run), Failed, words);
        }
    }

    #[test]
    fn check_without_gh_or_number_cannot_run() {
        let missing = CommandRun::Unrunnable {
            why: "it is not in PATH".into(),
        };
        check(
            issue(),
            asked(ISSUE, missing),
            CheckOutcome::Unrunnable,
            "gh auth login",
        );
        check(
            IssueCriterion::new(None),
            Fake::default(),
            CheckOutcome::Unrunnable,
            "give its `number`",
        );
        let late = CommandRun::TimedOut {
            output: CommandOutput::default(),
        };
        check(
            issue(),
            asked(ISSUE, late),
            CheckOutcome::TimedOut,
            "within 60 seconds",
        );
    }

    #[test]
    fn labels_repositories_and_pull_requests_are_asked_for() {
        use CheckOutcome::{Failed, Pass, Unmet};
        let labelled = |closed| IssueCriterion {
            label: Some("done".into()),
            closed,
            ..issue()
        };
        let open = |labels: &str| {
            asked(
                ISSUE,
                gh(
                    0,
                    &format!(r#"{{"state": "OPEN", "labels": {labels}}}"#),
                    "",
                ),
            )
        };
        check(
            labelled(false),
            open(r#"[{"name": "bug"}, {"name": "done"}]"#),
            Pass,
            "",
        );
        check(
            labelled(false),
            open(r#"[{"name": "Done"}]"#),
            Unmet,
            "does not have the label \"done\"",
        );
        check(
            labelled(false),
            open("null"),
            Failed,
            "did not tell the labels",
        );
        check(
            labelled(true),
            open(r#"[{"name": "done"}]"#),
            Unmet,
            "not closed",
        );
        let merged = IssueCriterion {
            pull_request: Some(9),
            repo: Some("o/r".into()),
            ..IssueCriterion::new(None)
        };
        let pr = "gh pr view 9 --json state --repo o/r";
        check(
            merged.clone(),
            asked(pr, gh(0, r#"{"state": "MERGED"}"#, "")),
            Pass,
            "",
        );
        check(
            merged.clone(),
            asked(pr, gh(0, r#"{"state": "CLOSED"}"#, "")),
            Unmet,
            "pull request #9 is not merged",
        );
        assert_eq!(
            IssueCheck::new(merged).description(),
            "pull request #9 is merged"
        );
        let nameless = IssueCheck::new(IssueCriterion::new(None)).description();
        assert_eq!(
            nameless, "the issue that --var issue=N names is closed",
            "an issue without a number is described, too"
        );
        assert!(
            IssueCheck::new(labelled(false))
                .description()
                .contains("do not close the issue")
        );
    }

    #[test]
    fn clean_tree_is_checked_first_on_request() {
        let clean = || IssueCriterion {
            require_clean: true,
            ..issue()
        };
        let dirty = Fake {
            changes: Some(Ok(Changes {
                staged: 1,
                work: 1,
                ..Changes::default()
            })),
            ..Fake::default()
        };
        check(
            clean(),
            dirty,
            CheckOutcome::Unmet,
            "uncommitted changes (1 file)",
        );
        let unknown = Fake {
            changes: Some(Err(broken("index"))),
            ..Fake::default()
        };
        check(clean(), unknown, CheckOutcome::Failed, "cannot be read");
        let closed = Fake {
            changes: Some(Ok(Changes::default())),
            ..asked(ISSUE, gh(0, r#"{"state": "CLOSED"}"#, ""))
        };
        check(clean(), closed, CheckOutcome::Pass, "");
    }
}
