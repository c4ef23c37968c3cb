//! The prompt of the next session: the task, the criteria, and, from the second session on, the history and the feedback.

use std::collections::BTreeMap;

use crate::decision::template::{PromptTemplate, TemplateError};
use watchdog_facts::display::{cut_text, plural};
use watchdog_facts::evidence::CheckOutcome;
use watchdog_facts::phase_words::PHASES;
use watchdog_facts::verdict::Verdict;

use super::record::IterationRecord;

/// The placeholders of prompts.
pub const PLACEHOLDERS: &[&str] = &[
    "task",
    "criteria",
    "feedback",
    "remaining",
    "summaries",
    "iteration",
    "max_iterations",
    "budget",
    "last_end",
    "spec",
    "branch",
    "worktree",
    "baseline",
    "phase",
];

/// How many of the last iterations say the phase.
const PHASE_WINDOW: usize = 2;
/// How many of the last iterations the prompt lists.
const SUMMARIES: usize = 5;
/// How many bytes of the feedback the prompt has.
const FEEDBACK: usize = 8000;
/// Open checks that are named.
const REMAINING: usize = 20;
/// The criteria's text where none are configured.
const WITHOUT_CRITERIA: &str =
    "- the work is finished and committed on this branch, in commits that really change something";

/// The texts that prompts are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSet {
    task: PromptTemplate,
    initial: PromptTemplate,
    continuation: PromptTemplate,
    resumed: PromptTemplate,
    /// The whole prompts of later sessions in these phases.
    phases: BTreeMap<String, PromptTemplate>,
    /// The user's own values, by name.
    vars: BTreeMap<String, String>,
    /// Whether our own texts surround the task: they leave out parts that the task itself contains.
    ours: [bool; 2],
}

/// The texts that the user gave, each with a name for messages.
#[derive(Debug, Clone, Copy, Default)]
pub struct PromptTexts<'a> {
    /// The task.
    pub task: Option<(&'a str, &'a str)>,
    /// The whole prompt of a first session.
    pub initial: Option<(&'a str, &'a str)>,
    /// The whole prompt of each later one.
    pub continuation: Option<(&'a str, &'a str)>,
    /// The whole prompt of each later one in a phase: the phase, the text's name, and the text.
    pub phases: &'a [(String, String, String)],
}

/// A text of the user's with a mistake in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {error}")]
pub struct PromptError {
    /// Which text.
    pub name: String,
    /// The mistake.
    pub error: TemplateError,
}

/// The facts in a prompt.
#[derive(Debug, Clone, Default)]
pub struct PromptFacts<'a> {
    /// From 1.
    pub iteration: u32,
    /// The cap.
    pub max_iterations: u32,
    /// Whether the agent continues the same conversation.
    pub resumed: bool,
    /// The criteria, one line per check; empty where none are configured.
    pub criteria: &'a str,
    /// A task that the criteria's own handler has for this session, before that of the user.
    pub handler_task: Option<&'a str>,
    /// The last verdict, if a session ran already.
    pub last: Option<&'a Verdict>,
    /// Earlier iterations, oldest first.
    pub records: &'a [IterationRecord],
    /// The remaining budget, in words.
    pub budget: String,
    /// The name of the work.
    pub spec: &'a str,
    /// The branch.
    pub branch: Option<&'a str>,
    /// The top folder.
    pub worktree: &'a str,
    /// Commit at the loop's begin.
    pub baseline: &'a str,
}

impl PromptSet {
    /// Parses the texts, with our defaults for missing ones. `vars` are further placeholders with their values, which are inserted as
    /// they are.
    ///
    /// # Errors
    /// For an unknown placeholder.
    pub fn new(
        given: PromptTexts<'_>,
        vars: &BTreeMap<String, String>,
    ) -> Result<Self, PromptError> {
        let names: Vec<&str> = PLACEHOLDERS
            .iter()
            .copied()
            .chain(vars.keys().map(String::as_str))
            .collect();
        let read = |given: Option<(&str, &str)>, ours: &str| {
            let (name, text) = given.unwrap_or(("the prompt of watchdog", ours));
            PromptTemplate::parse(text, &names).map_err(|error| PromptError {
                name: name.to_owned(),
                error,
            })
        };
        let of_phase = |(phase, name, text): &(String, String, String)| {
            Ok((phase.clone(), read(Some((name, text)), "")?))
        };
        Ok(PromptSet {
            task: read(given.task, "")?,
            initial: read(given.initial, include_str!("prompts/initial.md"))?,
            continuation: read(given.continuation, include_str!("prompts/continuation.md"))?,
            resumed: read(given.continuation, include_str!("prompts/resumed.md"))?,
            phases: given
                .phases
                .iter()
                .map(of_phase)
                .collect::<Result<_, _>>()?,
            vars: vars.clone(),
            ours: [given.initial.is_none(), given.continuation.is_none()],
        })
    }

    /// Our own prompts around a task whose text is not a template: braces in it are its own.
    pub fn of_plain_task(text: &str) -> Self {
        let ours = PromptSet::new(PromptTexts::default(), &BTreeMap::new())
            .expect("our own prompts name known placeholders only");
        PromptSet {
            task: PromptTemplate::plain(text),
            ..ours
        }
    }

    /// The same around a task in which the user's own values are put in: then it is a template like any other.
    ///
    /// # Errors
    /// For an unknown placeholder; `name` is the text's.
    pub fn of_task(
        (name, text): (&str, &str),
        vars: &BTreeMap<String, String>,
    ) -> Result<Self, PromptError> {
        if vars.is_empty() {
            return Ok(PromptSet::of_plain_task(text));
        }
        PromptSet::new(
            PromptTexts {
                task: Some((name, text)),
                ..PromptTexts::default()
            },
            vars,
        )
    }

    /// The user's own values, by name.
    pub fn vars(&self) -> &BTreeMap<String, String> {
        &self.vars
    }

    /// The phases that have a prompt of their own.
    pub fn phases(&self) -> impl Iterator<Item = &str> {
        self.phases.keys().map(String::as_str)
    }

    /// The prompt of a session. A line feed ends it.
    pub fn compose(&self, facts: &PromptFacts<'_>) -> String {
        let first = facts.iteration <= 1;
        let phase = find_phase(facts);
        let (template, ours) = match (first, self.phases.get(phase), facts.resumed) {
            (true, _, _) => (&self.initial, self.ours[0]),
            (false, Some(of_phase), _) => (of_phase, false),
            (false, None, true) => (&self.resumed, self.ours[1]),
            (false, None, false) => (&self.continuation, self.ours[1]),
        };
        let mut values = collect_values(facts, first);
        values.insert("phase", phase.to_owned());
        values.extend(
            self.vars
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone())),
        );
        let task = self.task.fill(&values);
        if ours {
            for name in self.task.names() {
                values.remove(name);
            }
        }
        let tasks = [
            facts.handler_task.unwrap_or_default().trim(),
            task.trim_end(),
        ];
        values.insert(
            "task",
            tasks
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join("\n\n"),
        );
        let prompt = template.fill(&values);
        // An agent takes a text that begins so for a command or an option.
        let marked = if prompt.trim_start().starts_with(['/', '-']) {
            format!("Task: {}", prompt.trim_start())
        } else {
            prompt
        };
        format!("{}\n", marked.trim())
    }
}

/// The phase that the last iterations named last.
fn find_phase<'f>(facts: &PromptFacts<'f>) -> &'f str {
    let last = facts.records.iter().rev().take(PHASE_WINDOW);
    last.filter_map(|record| record.phase.as_deref())
        .next()
        .unwrap_or(PHASES[0])
}

fn collect_values<'f>(facts: &PromptFacts<'f>, first: bool) -> BTreeMap<&'f str, String> {
    let last = facts.last.filter(|_| !first);
    let records = &facts.records[facts.records.len().saturating_sub(SUMMARIES)..];
    let summaries: Vec<String> = records.iter().map(IterationRecord::summary_line).collect();
    let feedback = last
        .and_then(|last| last.feedback.as_deref())
        .unwrap_or_default();
    BTreeMap::from([
        (
            "criteria",
            if facts.criteria.is_empty() {
                WITHOUT_CRITERIA
            } else {
                facts.criteria
            }
            .to_owned(),
        ),
        ("feedback", cut_text(feedback, FEEDBACK)),
        (
            "remaining",
            last.map(format_unmet_checks).unwrap_or_default(),
        ),
        (
            "summaries",
            if first {
                String::new()
            } else {
                summaries.join("\n")
            },
        ),
        ("iteration", facts.iteration.to_string()),
        ("max_iterations", facts.max_iterations.to_string()),
        ("budget", facts.budget.clone()),
        (
            "last_end",
            last.map(|last| {
                format!(
                    "{} ({}): {}",
                    last.status().as_str(),
                    last.reason.as_str(),
                    last.message
                )
            })
            .unwrap_or_default(),
        ),
        ("spec", facts.spec.to_owned()),
        ("branch", facts.branch.unwrap_or_default().to_owned()),
        ("worktree", facts.worktree.to_owned()),
        ("baseline", facts.baseline.to_owned()),
    ])
}

/// The checks that are not met, one line each.
fn format_unmet_checks(last: &Verdict) -> String {
    let open: Vec<_> = last
        .checks
        .iter()
        .filter(|check| check.outcome != CheckOutcome::Pass)
        .collect();
    let mut lines: Vec<String> = open
        .iter()
        .take(REMAINING)
        .map(|check| format!("- {}: {}", check.name, check.outcome.as_str()))
        .collect();
    if open.len() > REMAINING {
        lines.push(format!("- and {} more", open.len() - REMAINING));
    }
    if let Some(changes) = last.changes.as_ref().filter(|changes| changes.any()) {
        lines.push(format!(
            "- {} not committed",
            plural(changes.total(), "change")
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use super::*;
    use crate::sample_facts::command_result;

    use watchdog_facts::verdict::Reason;

    fn unmet() -> Verdict {
        Verdict {
            feedback: Some("tests: 2 failed {{task}}".into()),
            checks: vec![
                command_result("lint", CheckOutcome::Pass),
                command_result("tests", CheckOutcome::Unmet),
            ],
            ..Verdict::new(Reason::ChecksUnmet, "a check is not met")
        }
    }

    fn prompt(given: PromptTexts<'_>, iteration: u32, resumed: bool) -> String {
        let last = unmet();
        let records = [
            IterationRecord::new(1, Timestamp::UNIX_EPOCH, Duration::ZERO, &last)
                .with_words(Some("I think I am done."), &[]),
        ];
        let facts = PromptFacts {
            iteration,
            max_iterations: 30,
            resumed,
            criteria: "- tests: `cargo test` ends with exit code 0",
            last: (iteration > 1).then_some(&last),
            records: if iteration > 1 { &records } else { &[] },
            spec: "auth",
            ..PromptFacts::default()
        };
        PromptSet::new(given, &BTreeMap::new())
            .expect("good texts")
            .compose(&facts)
    }

    const TASK: PromptTexts<'_> = PromptTexts {
        task: Some(("PROMPT.md", "Build the login.\n")),
        initial: None,
        continuation: None,
        phases: &[],
    };

    #[test]
    fn first_prompt_holds_only_task_and_completion_terms() {
        let text = prompt(TASK, 1, false);
        assert!(
            text.starts_with("Build the login.\n\nDone means:\n- tests: `cargo test` ends"),
            "{text}"
        );
        assert!(
            text.contains("Say that you are done only when all of that is true"),
            "{text}"
        );
        assert!(
            !text.contains("iteration") && !text.contains("{{") && !text.contains("\n\n\n"),
            "{text}"
        );
    }

    #[test]
    fn later_prompts_carry_feedback_number_remainder_and_summaries() {
        let text = prompt(TASK, 2, false);
        for part in [
            "Build the login.\n",
            "iteration 2 of at most 30",
            "Iteration 1: I think I am done.",
            "- tests: unmet",
            "tests: 2 failed {{task}}",
            "Done means:\n- tests",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(
            !text.contains("lint: pass") && !text.contains("\n\n\n"),
            "{text}"
        );
        let resumed = prompt(TASK, 2, true);
        assert!(
            resumed.contains("tests: 2 failed") && !resumed.contains("Build the login"),
            "{resumed}"
        );
    }

    #[test]
    fn placeholders_in_task_suppress_appended_parts() {
        let own = PromptTexts {
            task: Some((
                "p",
                "No. {{iteration}}\n{{#feedback}}\nRED: {{feedback}}\n{{/feedback}}\nGo!",
            )),
            ..PromptTexts::default()
        };
        assert!(prompt(own, 1, false).starts_with("No. 1\nGo!\n"));
        let text = prompt(own, 2, false);
        assert!(
            text.starts_with("No. 2\nRED: tests: 2 failed {{task}}\nGo!\n"),
            "{text}"
        );
        assert_eq!(text.matches("2 failed").count(), 1, "{text}");
        assert!(text.contains("Done means:"), "{text}");
    }

    #[test]
    fn plain_task_keeps_braces_unless_variables_exist() {
        let first = |set: PromptSet| {
            set.compose(&PromptFacts {
                iteration: 1,
                ..PromptFacts::default()
            })
        };
        assert!(first(PromptSet::of_plain_task("Fix {{issue}}.")).starts_with("Fix {{issue}}.\n"));
        let none = PromptSet::of_task(("t", "Fix {{issue}}."), &BTreeMap::new())
            .expect("any text is a plain task");
        assert!(first(none).starts_with("Fix {{issue}}.\n"));
        let vars = BTreeMap::from([("issue".to_owned(), "7".to_owned())]);
        assert!(
            first(PromptSet::of_task(("t", "Fix {{issue}}."), &vars).expect("a known name"))
                .starts_with("Fix 7.\n")
        );
        let error = PromptSet::of_task(("t", "Fix {{who}}."), &vars)
            .expect_err("an unknown name")
            .to_string();
        assert!(
            error.starts_with("t: line 1: unknown placeholder '{{who}}'"),
            "{error}"
        );
    }

    #[test]
    fn twenty_unmet_checks_are_named_and_rest_counted() {
        let open = |count: usize| {
            let last = unmet();
            let checks = vec![last.checks[1].clone(); count];
            let last = Verdict { checks, ..last };
            let given = PromptTexts {
                continuation: Some(("c", "{{remaining}}")),
                ..TASK
            };
            let set = PromptSet::new(given, &BTreeMap::new()).expect("good texts");
            set.compose(&PromptFacts {
                iteration: 2,
                last: Some(&last),
                ..PromptFacts::default()
            })
        };
        let named = "- tests: unmet\n".repeat(20);
        for (count, more) in [(20, ""), (21, "- and 1 more\n"), (23, "- and 3 more\n")] {
            // An agent would take a dash for an option.
            assert_eq!(open(count), format!("Task: {named}{more}"));
        }
    }

    #[test]
    fn task_of_a_handler_stands_before_the_users() {
        let set = |given| PromptSet::new(given, &BTreeMap::new()).unwrap();
        let first = |set: PromptSet| {
            set.compose(&PromptFacts {
                iteration: 1,
                handler_task: Some("Decide.\n"),
                ..PromptFacts::default()
            })
        };
        assert!(first(set(TASK)).starts_with("Decide.\n\nBuild the login.\n\nDone means:\n"));
        assert!(first(set(PromptTexts::default())).starts_with("Decide.\n\nDone means:\n"));
    }

    #[test]
    fn a_whole_set_of_ones_own_stands_alone() {
        let given = PromptTexts {
            initial: Some(("initial.md", "{{task}} now")),
            continuation: Some(("continuation.md", "again: {{feedback}}")),
            ..TASK
        };
        assert_eq!(prompt(given, 1, false), "Build the login. now\n");
        assert_eq!(prompt(given, 2, false), "again: tests: 2 failed {{task}}\n");
    }

    #[test]
    fn without_criteria_a_commit_is_what_done_means() {
        let set = PromptSet::new(PromptTexts::default(), &BTreeMap::new())
            .expect("our own texts are good");
        let text = set.compose(&PromptFacts {
            iteration: 1,
            ..PromptFacts::default()
        });
        assert!(
            text.starts_with("Done means:\n- the work is finished and committed on this branch"),
            "{text}"
        );
    }

    #[test]
    fn a_mistake_names_the_file() {
        let given = PromptTexts {
            initial: Some(("set/initial.md", "{{taks}}")),
            ..PromptTexts::default()
        };
        let error = PromptSet::new(given, &BTreeMap::new())
            .expect_err("a mistake")
            .to_string();
        assert!(
            error.starts_with(
                "set/initial.md: line 1: unknown placeholder '{{taks}}', did you mean `task`?"
            ),
            "{error}"
        );
    }

    #[test]
    fn variable_is_inserted_verbatim_and_unknown_name_fails() {
        let vars = BTreeMap::from([
            (
                "issue".to_owned(),
                "7 {{feedback}} {{who}} \\{{task}}".to_owned(),
            ),
            ("who".to_owned(), "me".to_owned()),
        ]);
        let texts = PromptTexts {
            task: Some(("p", "Fix {{issue}}, {{who}}.{{#none}}x{{/none}}")),
            ..PromptTexts::default()
        };
        let error = PromptSet::new(texts, &vars)
            .expect_err("none is not given")
            .to_string();
        assert!(
            error.contains("p: line 1: unknown placeholder '{{none}}'"),
            "{error}"
        );
        let texts = PromptTexts {
            task: Some(("p", "Fix {{issue}}, {{who}}.")),
            initial: Some(("i", "{{task}} {{who}}")),
            ..PromptTexts::default()
        };
        let set = PromptSet::new(texts, &vars).expect("good texts");
        assert_eq!(
            set.compose(&PromptFacts {
                iteration: 1,
                ..PromptFacts::default()
            }),
            "Fix 7 {{feedback}} {{who}} \\{{task}}, me. me\n"
        );
    }

    #[test]
    fn later_session_gets_prompt_of_latest_phase() {
        let phases = ["review", "preparation", "deploy"].map(|phase| {
            (
                phase.to_owned(),
                format!("{phase}.md"),
                format!("{phase}: {{{{phase}}}}"),
            )
        });
        let texts = PromptTexts {
            continuation: Some(("c", "any: {{phase}}")),
            initial: Some(("i", "first: {{phase}}")),
            phases: &phases,
            ..TASK
        };
        let set = PromptSet::new(texts, &BTreeMap::new()).expect("good texts");
        assert_eq!(
            set.phases().collect::<Vec<_>>(),
            ["deploy", "preparation", "review"]
        );
        let last = unmet();
        let prompt_after = |words: &[&str]| {
            let of = |words: &&str| {
                IterationRecord::new(1, Timestamp::UNIX_EPOCH, Duration::ZERO, &last)
                    .with_words(Some(words), &["deploy"])
            };
            let records: Vec<_> = words.iter().map(of).collect();
            let iteration = u32::try_from(words.len()).expect("few") + 1;
            set.compose(&PromptFacts {
                iteration,
                resumed: iteration > 2,
                records: &records,
                ..PromptFacts::default()
            })
        };
        let long = format!("{} Moving to review", "word ".repeat(100));
        assert_eq!(prompt_after(&[]), "first: preparation\n");
        assert_eq!(prompt_after(&["hm"]), "preparation: preparation\n");
        assert_eq!(prompt_after(&[&long, "still at it"]), "review: review\n");
        assert_eq!(
            prompt_after(&["phase: review", "phase: processing"]),
            "any: processing\n",
            "one without a prompt of its own"
        );
        assert_eq!(
            prompt_after(&["phase: review", "Moving to deploy"]),
            "deploy: deploy\n",
            "a phase that only its own prompt declares"
        );
        assert_eq!(
            prompt_after(&["phase: review", "a", "b"]),
            "preparation: preparation\n",
            "what was named long ago is over"
        );
    }

    #[test]
    fn prompt_never_resembles_command_or_option() {
        for text in ["/compact everything", "-p do it", "  /x"] {
            let given = PromptTexts {
                initial: Some(("p", text)),
                ..PromptTexts::default()
            };
            assert!(prompt(given, 1, false).starts_with("Task: "), "{text}");
        }
    }
}
