//! The type `plan`: every step of a plan is done. Steps and boxes are the agent's own marks, so that the evidence is claimed.

use std::io;

use serde_json::Value;

use crate::config::settings::PlanCriterion;
use watchdog_facts::verdict::Evidence;

use super::check::{CheckContext, CheckJudgement, CompletionCheck};
use super::checklist::list_checklist_items;
use super::context_reader;
use super::feedback::{MAX_CHARS, cut_feedback, one_line};

/// A plan file is read up to this size, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// Met when every step of the plan is done, and there is one.
#[derive(Debug, Clone)]
pub struct PlanCheck {
    criterion: PlanCriterion,
}

/// A step of any kind of plan.
struct AgentPlanStep {
    title: String,
    done: bool,
}

impl PlanCheck {
    /// A check of this plan.
    pub fn new(criterion: PlanCriterion) -> Self {
        PlanCheck { criterion }
    }

    fn judge(&self, steps: &[AgentPlanStep], path: Option<&str>) -> CheckJudgement {
        let open: Vec<&AgentPlanStep> = steps.iter().filter(|step| !step.done).collect();
        if steps.is_empty() {
            let what = path.map_or_else(|| "the plan".to_owned(), display_path);
            return CheckJudgement::Unmet {
                feedback: format!(
                    "{what} has no steps, and an empty plan is never complete; write down what is to be done"
                ),
            };
        }
        if open.is_empty() {
            let summary = format!(
                "{0} of {0} steps of {1} are done",
                steps.len(),
                path.map_or_else(|| "the plan".to_owned(), display_path)
            );
            return CheckJudgement::PassWith {
                evidence: Evidence::Claimed,
                summary,
            };
        }
        let mut titles: Vec<String> = open
            .iter()
            .take(self.criterion.max_titles)
            .map(|step| format_step_title(step))
            .collect();
        if open.len() > titles.len()
            && let Some(last) = titles.last_mut()
        {
            last.push_str("...");
        }
        let titles = if titles.is_empty() {
            String::new()
        } else {
            format!(": {}", titles.join(", "))
        };
        let (open, all) = (open.len(), steps.len());
        let feedback = match path {
            None => format!(
                "You have {open} incomplete task(s) out of {all}. Please either complete all remaining tasks or update the plan to remove tasks \
                 that are no longer needed before producing output{titles}"
            ),
            Some(path) => format!(
                "{} has {open} incomplete task(s) out of {all}; do them and mark them there{titles}",
                display_path(path)
            ),
        };
        CheckJudgement::Unmet {
            feedback: cut_feedback(feedback, MAX_CHARS),
        }
    }

    fn of_file(&self, path: &str, context: &CheckContext<'_>) -> CheckJudgement {
        let bytes = match context.capabilities.read_file(path, MAX_BYTES) {
            Ok(Some(bytes)) => bytes,
            Ok(None) if self.criterion.required => {
                return CheckJudgement::Unmet {
                    feedback: format!(
                        "{} is not there; write down in it what is to be done",
                        display_path(path)
                    ),
                };
            }
            Ok(None) => {
                return CheckJudgement::Pass {
                    evidence: Evidence::None,
                };
            }
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                return CheckJudgement::Failed {
                    why: format!("{} is larger than {MAX_BYTES} bytes", display_path(path)),
                };
            }
            Err(error) => {
                return CheckJudgement::Failed {
                    why: format!("{} cannot be read: {error}", display_path(path)),
                };
            }
        };
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return CheckJudgement::Failed {
                why: format!("{} is not UTF-8 text", display_path(path)),
            };
        };
        let text = text.trim_start_matches('\u{feff}');
        let named_json = path.to_ascii_lowercase().ends_with(".json");
        match serde_json::from_str::<Value>(text) {
            Ok(value) if named_json || value.is_object() || value.is_array() => {
                match self.of_json(&value) {
                    Ok(steps) => self.judge(&steps, Some(path)),
                    Err(why) => CheckJudgement::Unmet {
                        feedback: format!("{} is no plan: {why}", display_path(path)),
                    },
                }
            }
            Err(error) if named_json => CheckJudgement::Unmet {
                feedback: format!("{} is invalid JSON: {error}", display_path(path)),
            },
            _ => {
                let items = list_checklist_items(text, &self.criterion.optional_sections);
                let unread = items.iter().filter(|item| item.done.is_none());
                let unread = join_unread(
                    &unread
                        .map(|item| cut_feedback(one_line(&item.title), 60))
                        .collect::<Vec<_>>(),
                );
                let steps: Vec<AgentPlanStep> = items
                    .into_iter()
                    .filter_map(|item| {
                        Some(AgentPlanStep {
                            done: item.done?,
                            title: item.title,
                        })
                    })
                    .collect();
                match self.judge(&steps, Some(path)) {
                    CheckJudgement::PassWith { evidence, summary } => CheckJudgement::PassWith {
                        evidence,
                        summary: summary + &unread,
                    },
                    CheckJudgement::Unmet { feedback } => CheckJudgement::Unmet {
                        feedback: feedback + &unread,
                    },
                    judgement => judgement,
                }
            }
        }
    }

    /// The steps of a JSON plan: under `steps`, `tasks` or `todos`, or the list itself.
    fn of_json(&self, value: &Value) -> Result<Vec<AgentPlanStep>, String> {
        let list = ["steps", "tasks", "todos"]
            .iter()
            .find_map(|key| value.get(key));
        let plan = context_reader::read_plan("", list.unwrap_or(value))
            .map_err(|error| error.to_string())?;
        Ok(plan
            .steps
            .into_iter()
            .map(|step| AgentPlanStep {
                done: self.is_done(&step.status),
                title: step.title,
            })
            .collect())
    }

    fn is_done(&self, status: &str) -> bool {
        self.criterion.done.iter().any(|done| done == status)
    }
}

fn format_step_title(step: &AgentPlanStep) -> String {
    match cut_feedback(one_line(&step.title), 200) {
        title if title.is_empty() => "<untitled>".into(),
        title => title,
    }
}

/// The lines that may be steps and were counted as none; empty where there are none.
fn join_unread(titles: &[String]) -> String {
    const NAMED: usize = 3;
    match titles.len() {
        0 => String::new(),
        count => format!(
            "; not counted, since their marks say neither open nor done ({count}): {}",
            titles[..count.min(NAMED)].join(", ")
        ),
    }
}

fn display_path(path: &str) -> String {
    format!("`{}`", one_line(path))
}

impl CompletionCheck for PlanCheck {
    fn check(&self, context: &CheckContext<'_>) -> CheckJudgement {
        if let Some(path) = &self.criterion.path {
            return self.of_file(path, context);
        }
        match &context.session.plan {
            Some(plan) => {
                let steps: Vec<AgentPlanStep> = plan
                    .steps
                    .iter()
                    .map(|step| AgentPlanStep {
                        title: step.title.clone(),
                        done: self.is_done(&step.status),
                    })
                    .collect();
                self.judge(&steps, None)
            }
            None if self.criterion.required => CheckJudgement::Unmet {
                feedback: "no plan has been created, as far as is known; make one and carry it out"
                    .into(),
            },
            None => CheckJudgement::Pass {
                evidence: Evidence::None,
            },
        }
    }

    fn description(&self) -> String {
        match &self.criterion.path {
            Some(path) => format!("every step in {} is done and marked so", display_path(path)),
            None => "every step of your own plan or todo list is done and marked so".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Fake;
    use super::*;
    use watchdog_facts::context::{AgentTodoPlan, PlanStep, SessionContext};
    use watchdog_facts::evidence::CheckOutcome::{self, Failed, Pass, Unmet};

    fn own(steps: &[(&str, &str)]) -> SessionContext {
        let steps = steps
            .iter()
            .map(|(title, status)| PlanStep {
                id: None,
                title: (*title).into(),
                status: (*status).into(),
            })
            .collect();
        SessionContext {
            plan: Some(AgentTodoPlan {
                status: Some("completed".into()),
                steps,
                ..AgentTodoPlan::default()
            }),
            ..SessionContext::default()
        }
    }

    fn judge(criterion: PlanCriterion, session: &SessionContext) -> CheckJudgement {
        PlanCheck::new(criterion).check(&CheckContext::new(&Fake::default()).with_session(session))
    }

    #[test]
    fn only_the_states_of_the_steps_count() {
        let check = |steps: &[(&str, &str)]| judge(PlanCriterion::default(), &own(steps));
        let summary = "2 of 2 steps of the plan are done".to_owned();
        assert_eq!(
            check(&[("a", "done"), ("b", "done")]),
            CheckJudgement::PassWith {
                evidence: Evidence::Claimed,
                summary
            }
        );
        for status in ["pending", "in_progress", "completed", "Done", "done ", ""] {
            assert_eq!(
                check(&[("a", "done"), ("b", status)]).outcome(),
                Unmet,
                "{status}"
            );
        }
        assert!(
            check(&[])
                .feedback()
                .starts_with("the plan has no steps, and an empty plan is never complete")
        );
        let done = PlanCriterion {
            done: vec!["done".into(), "completed".into()],
            ..PlanCriterion::default()
        };
        assert_eq!(
            judge(done, &own(&[("a", "completed"), ("b", "done")])).outcome(),
            Pass
        );
    }

    #[test]
    fn the_feedback_counts_and_names_the_first() {
        let open = |n: usize| {
            (0..n)
                .map(|n| (["A", "B", "C", "D", "E"][n], "pending"))
                .collect::<Vec<_>>()
        };
        let say = |max_titles, steps: &[(&str, &str)]| {
            let judgement = judge(
                PlanCriterion {
                    max_titles,
                    ..PlanCriterion::default()
                },
                &own(steps),
            );
            judgement.feedback().to_owned()
        };
        let advice = "Please either complete all remaining tasks or update the plan to remove tasks that are no longer needed before producing output";
        assert_eq!(
            say(3, &open(3)),
            format!("You have 3 incomplete task(s) out of 3. {advice}: A, B, C")
        );
        assert_eq!(
            say(3, &[&[("z", "done")], &open(4)[..]].concat()),
            format!("You have 4 incomplete task(s) out of 5. {advice}: A, B, C...")
        );
        assert_eq!(
            say(0, &open(1)),
            format!("You have 1 incomplete task(s) out of 1. {advice}")
        );
        assert!(say(3, &[("a\nb\u{1b}[2J", "")]).ends_with(": a b[2J"));
        assert!(say(3, &[(" ", "")]).ends_with(": <untitled>"));
    }

    #[test]
    fn missing_plan_is_undone_unless_optional() {
        assert_eq!(
            judge(PlanCriterion::default(), &SessionContext::default()).outcome(),
            Unmet
        );
        let optional = PlanCriterion {
            required: false,
            ..PlanCriterion::default()
        };
        assert_eq!(
            judge(optional.clone(), &SessionContext::default()),
            CheckJudgement::Pass {
                evidence: Evidence::None
            }
        );
        assert_eq!(
            judge(optional.clone(), &own(&[("a", "pending")])).outcome(),
            Unmet
        );
        assert_eq!(judge(optional, &own(&[])).outcome(), Unmet);
    }

    #[track_caller]
    fn file(path: &'static str, text: &str, outcome: CheckOutcome, words: &str) {
        let fake = Fake {
            contents: vec![(path, text.to_owned())],
            unreadable: vec!["locked.md"],
            ..Fake::default()
        };
        let criterion = PlanCriterion {
            path: Some(path.into()),
            optional_sections: vec!["Later".into()],
            ..PlanCriterion::default()
        };
        let judgement = PlanCheck::new(criterion).check(&CheckContext::new(&fake));
        assert_eq!(judgement.outcome(), outcome, "{judgement:?}");
        assert!(judgement.feedback().contains(words), "{judgement:?}");
        assert!(judgement.evidence() <= Evidence::Claimed);
    }

    #[test]
    fn plan_file_is_json_or_a_checklist() {
        let steps =
            |status: &str| format!(r#"[{{"step_id": 1, "title": "A", "status": "{status}"}}]"#);
        file(
            "p.json",
            &format!(r#"{{"objective": "o", "steps": {}}}"#, steps("done")),
            Pass,
            "",
        );
        file(
            "p.json",
            &format!(r#"{{"tasks": {}}}"#, steps("done")),
            Pass,
            "",
        );
        file(
            "p.json",
            &steps("todo"),
            Unmet,
            "`p.json` has 1 incomplete task(s) out of 1; do them and mark them there: A",
        );
        file("plan", &steps("todo"), Unmet, "1 incomplete");
        file("p.json", r#"{"steps": []}"#, Unmet, "`p.json` has no steps");
        file("p.json", "{}", Unmet, "has no steps");
        file("p.json", r#"{"steps": {}}"#, Unmet, "has no steps");
        file(
            "p.json",
            "null",
            Unmet,
            "`p.json` is no plan: expected an object",
        );
        file(
            "p.json",
            r#"{"steps": ["A"]}"#,
            Unmet,
            "is no plan: [0]: expected an object",
        );
        file("p.json", "{", Unmet, "`p.json` is invalid JSON: EOF");
        file("p.json", "", Unmet, "is invalid JSON");
        file("todo.md", "# Todo\n- [x] a\n## Later\n- [ ] b\n", Pass, "");
        file(
            "todo.md",
            "- [x] a\n- [ ] b\n- [ ] c",
            Unmet,
            "`todo.md` has 2 incomplete task(s) out of 3; do them and mark them there: b, c",
        );
        file("todo.md", "nothing here", Unmet, "has no steps");
        file("todo.md", "5", Unmet, "`todo.md` has no steps");
        file(
            "locked.md",
            "- [x] a",
            Failed,
            "`locked.md` cannot be read: permission denied",
        );
        file(
            "todo.md",
            &" ".repeat(5 << 20),
            Failed,
            "is larger than 4194304 bytes",
        );
    }

    #[test]
    fn missing_file_is_no_plan() {
        let check = |required| {
            let criterion = PlanCriterion {
                path: Some("p.md".into()),
                required,
                ..PlanCriterion::default()
            };
            PlanCheck::new(criterion).check(&CheckContext::new(&Fake::default()))
        };
        assert_eq!(
            check(true).feedback(),
            "`p.md` is not there; write down in it what is to be done"
        );
        assert_eq!(
            check(false),
            CheckJudgement::Pass {
                evidence: Evidence::None
            }
        );
    }
}
