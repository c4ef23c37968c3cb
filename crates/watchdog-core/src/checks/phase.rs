//! The type `phase`: a project is in its last phase, by the agent's words or by a field of a GitHub project.

use serde_json::Value;

use crate::config::settings::{PhaseCriterion, SignalMatch, SignalTextCriterion};
use watchdog_facts::context::SessionContext;
use watchdog_facts::display::plural;
use watchdog_facts::phase_words::named_phase;
use watchdog_facts::verdict::Evidence;

use super::agent_words::list_known_prompts;
use super::check::{CheckContext, CheckJudgement, CompletionCheck};
use super::feedback::{first_three, one_line};
use super::github;
use super::mentions::PhraseMatcher;

/// How many of the last iterations are searched for the phase.
const WINDOW: usize = 2;

/// How many items of a project are requested.
const ITEMS: &str = "1000";

/// Met when the project is in its last phase.
#[derive(Debug, Clone)]
pub struct PhaseCheck {
    criterion: PhaseCriterion,
}

impl PhaseCheck {
    /// A check of this project.
    pub fn new(criterion: PhaseCriterion) -> Self {
        PhaseCheck { criterion }
    }

    /// The phase that was named last in the last two iterations, and whether the agent itself claims it.
    fn stated_phase(&self, session: &SessionContext) -> (String, bool) {
        let prompts = list_known_prompts(session);
        let in_text = |text: &str| {
            named_phase(text, &[self.criterion.last.as_str()])
                .map(|(words, phase)| (phase, is_claimed(&words, text, &prompts)))
        };
        let oldest = session.summaries.len().saturating_sub(WINDOW);
        let summed = session.summaries[oldest..].iter().flat_map(|summary| {
            let texts = summary
                .assistant_responses
                .iter()
                .filter_map(|text| in_text(text));
            // An action that a program detected is no ambiguous mention.
            texts.chain(
                summary
                    .detected_actions
                    .iter()
                    .filter_map(detected_phase)
                    .map(|phase| (phase.to_lowercase(), true)),
            )
        });
        let last = summed
            .chain(session.output.as_deref().and_then(in_text))
            .last();
        last.unwrap_or_else(|| ("preparation".into(), false))
    }

    fn by_words(&self, session: &SessionContext) -> CheckJudgement {
        let (phase, claimed) = self.stated_phase(session);
        let last = one_line(&self.criterion.last);
        match phase.eq_ignore_ascii_case(&self.criterion.last) {
            true if claimed => CheckJudgement::PassWith {
                evidence: Evidence::Claimed,
                summary: format!("the agent says that the project is in the phase \"{last}\""),
            },
            true => CheckJudgement::Unmet {
                feedback: format!(
                    "the phase \"{last}\" is mentioned, and not claimed; when the project is in it, write a line of its own: phase: {last}"
                ),
            },
            false => CheckJudgement::Unmet {
                feedback: format!(
                    "the project is in the phase \"{}\"; when it is in the last one, write: phase: {last}",
                    one_line(&phase)
                ),
            },
        }
    }

    /// Every item of the project must be there.
    fn by_github(&self, context: &CheckContext<'_>, field: &str) -> CheckJudgement {
        let Some(project) = self.criterion.project else {
            return CheckJudgement::Unrunnable {
                why: "no project is named; give its number as `project`, or with --var project=N"
                    .into(),
            };
        };
        let project = project.to_string();
        let owner = self.criterion.owner.as_deref().unwrap_or("@me");
        let args = [
            "project",
            "item-list",
            project.as_str(),
            "--owner",
            owner,
            "--limit",
            ITEMS,
            "--format",
            "json",
        ];
        let answer = match github::query_github(context, &args, self.criterion.timeout) {
            Ok(answer) => answer,
            Err(ended) => return ended,
        };
        let Some(items) = answer.get("items").and_then(Value::as_array) else {
            return CheckJudgement::Failed {
                why: format!("GitHub did not tell the items of project {project}"),
            };
        };
        if answer
            .get("totalCount")
            .and_then(Value::as_u64)
            .is_some_and(|total| total > items.len() as u64)
        {
            return CheckJudgement::Failed {
                why: format!(
                    "project {project} has more than {ITEMS} items, and no more are looked at"
                ),
            };
        }
        let phase = |item: &Value| {
            let fields = item.as_object()?;
            fields
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(field))
                .and_then(|(_, value)| value.as_str().map(str::to_owned))
        };
        let behind: Vec<&str> = items
            .iter()
            .filter(|item| {
                phase(item).is_none_or(|phase| !phase.eq_ignore_ascii_case(&self.criterion.last))
            })
            .map(|item| {
                item.get("title")
                    .and_then(Value::as_str)
                    .unwrap_or("an item without a title")
            })
            .collect();
        let last = one_line(&self.criterion.last);
        if items.is_empty() {
            CheckJudgement::Unmet {
                feedback: format!(
                    "project {project} has no items, and an empty list is never complete"
                ),
            }
        } else if behind.is_empty() {
            let summary = format!(
                "Project {project}: {} in the phase \"{last}\"",
                plural(items.len() as u64, "item")
            );
            CheckJudgement::PassWith {
                evidence: Evidence::Verified,
                summary,
            }
        } else {
            let (count, all) = (behind.len(), items.len());
            CheckJudgement::Unmet {
                feedback: format!(
                    "{count} of {all} items of project {project} are not in the phase \"{last}\": {}",
                    first_three(&behind)
                ),
            }
        }
    }
}

/// Whether the text contains these words as the agent's own claim.
fn is_claimed(words: &str, text: &str, prompts: &[&str]) -> bool {
    let signal = SignalTextCriterion {
        ignore_case: true,
        ..SignalTextCriterion::new(words, SignalMatch::Contains)
    };
    PhraseMatcher::new(&signal, prompts).claimed_in(text)
}

/// The phase in something that was detected, such as `{"type": "phase", "phase": "review"}`.
fn detected_phase(action: &Value) -> Option<&str> {
    let kind = action.get("type")?.as_str()?;
    let session = ["phase", "value", "to"]
        .iter()
        .find_map(|key| action.get(key)?.as_str());
    session.filter(|_| kind == "phase" || kind == "phase_change")
}

impl CompletionCheck for PhaseCheck {
    fn check(&self, context: &CheckContext<'_>) -> CheckJudgement {
        match &self.criterion.field {
            Some(field) => self.by_github(context, field),
            None => self.by_words(context.session),
        }
    }

    fn description(&self) -> String {
        let last = one_line(&self.criterion.last);
        match (&self.criterion.field, self.criterion.project) {
            (Some(field), Some(project)) => {
                format!(
                    "the field \"{}\" of every item of GitHub project {project} is \"{last}\"",
                    one_line(field)
                )
            }
            _ => {
                format!("the project is in its last phase, and you say so in a line: phase: {last}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::answers::{CapturedStream, CommandOutput, CommandRun};
    use super::super::tests::Fake;
    use super::*;
    use watchdog_facts::context::IterationSummary;
    use watchdog_facts::evidence::{CheckOutcome, ProcessExit};

    fn session(iterations: &[&[&str]]) -> SessionContext {
        let summary = |texts: &&[&str]| IterationSummary {
            assistant_responses: texts.iter().map(|text| (*text).to_owned()).collect(),
            ..IterationSummary::default()
        };
        SessionContext {
            summaries: iterations.iter().map(summary).collect(),
            ..SessionContext::default()
        }
    }

    fn check() -> PhaseCheck {
        PhaseCheck::new(PhaseCriterion::new(Some(9)))
    }

    #[test]
    fn last_phase_named_in_two_iterations_counts() {
        for (iterations, phase) in [
            (&[&["Starting implementation now"][..]][..], "processing"),
            (&[&["Phase: processing"]], "processing"),
            (&[&["Moving to review"]], "review"),
            (
                &[&["phase: complete"], &["looking"], &["still looking"]],
                "preparation",
            ),
            (&[&["phase: review"], &["phase: processing"]], "processing"),
            (&[&["Moving to review", "phase: complete"]], "complete"),
            (&[&["Moving to another file"]], "preparation"),
            (&[], "preparation"),
        ] {
            assert_eq!(
                check().stated_phase(&session(iterations)).0,
                phase,
                "{iterations:?}"
            );
        }
    }

    #[test]
    fn last_phase_must_be_claimed_not_announced() {
        let judge = |session: &SessionContext| {
            check().check(&CheckContext::new(&Fake::default()).with_session(session))
        };
        for text in [
            "All is done.\nPhase: complete",
            "Project complete",
            "All tests pass. The project is complete.",
            "PROJECT COMPLETED",
            // It is named again, and that is no claim.
            "Phase: complete\nThe prompt said to write phase: complete",
        ] {
            let met = judge(&session(&[&[text]]));
            assert_eq!(
                (met.outcome(), met.evidence()),
                (CheckOutcome::Pass, Evidence::Claimed),
                "{text}: {met:?}"
            );
        }
        for text in [
            "When the tests pass I will write phase: complete",
            "The project is complete? No: two items are open.",
            "project completeness",
        ] {
            let met = judge(&session(&[&[text]]));
            assert_eq!(met.outcome(), CheckOutcome::Unmet, "{text}: {met:?}");
            assert!(
                !met.feedback().contains("is in the phase \"complete\""),
                "it would contradict itself: {met:?}"
            );
        }
        for text in [
            "We are not yet in phase: complete",
            "When the tests pass I will write phase: complete",
            "phase: review",
        ] {
            assert!(
                matches!(judge(&session(&[&[text]])), CheckJudgement::Unmet { .. }),
                "{text}"
            );
        }
        let echo = SessionContext {
            prompt: Some("At the end write\nphase: complete".into()),
            ..session(&[&["At the end write\nphase: complete"]])
        };
        assert!(matches!(judge(&echo), CheckJudgement::Unmet { .. }));
    }

    #[test]
    fn detected_phase_counts_until_the_agent_contradicts() {
        let mut context = session(&[&["done"]]);
        context.summaries[0].detected_actions = vec![json!({"type": "phase", "phase": "complete"})];
        let judge = |session: &SessionContext| {
            check()
                .check(&CheckContext::new(&Fake::default()).with_session(session))
                .outcome()
        };
        assert_eq!(judge(&context), CheckOutcome::Pass);
        context.summaries.push(IterationSummary {
            assistant_responses: vec!["Back to review".into()],
            ..IterationSummary::default()
        });
        assert_eq!(judge(&context), CheckOutcome::Unmet);
    }

    #[test]
    fn of_what_a_program_detected_only_phases_count() {
        for (action, met) in [
            (json!({"type": "phase_change", "to": "Complete"}), true),
            (json!({"type": "phase", "value": "complete"}), true),
            (json!({"type": "decision", "phase": "complete"}), false),
            (json!({"type": "phase"}), false),
            (json!({"phase": "complete"}), false),
        ] {
            let mut context = session(&[&[]]);
            context.summaries[0].detected_actions = vec![action.clone()];
            let judgement =
                check().check(&CheckContext::new(&Fake::default()).with_session(&context));
            assert_eq!(judgement.outcome() == CheckOutcome::Pass, met, "{action}");
        }
    }

    #[test]
    fn truncated_github_answer_counts_as_missing() {
        let line = "gh project item-list 9 --owner @me --limit 1000 --format json";
        let whole = json!({"items": [{"title": "a", "phase": "complete"}]})
            .to_string()
            .into_bytes();
        for (dropped, outcome) in [(0, CheckOutcome::Pass), (7, CheckOutcome::Failed)] {
            let stdout = CapturedStream {
                head: whole.clone(),
                dropped,
                tail: Vec::new(),
            };
            let output = CommandOutput {
                stdout,
                ..CommandOutput::default()
            };
            let fake = Fake {
                runs: vec![(
                    line,
                    CommandRun::Finished {
                        exit: ProcessExit::Code(0),
                        output,
                    },
                )],
                ..Fake::default()
            };
            let criterion = PhaseCriterion {
                field: Some("Phase".into()),
                ..PhaseCriterion::new(Some(9))
            };
            assert_eq!(
                PhaseCheck::new(criterion)
                    .check(&CheckContext::new(&fake))
                    .outcome(),
                outcome
            );
        }
    }

    #[test]
    fn github_field_must_be_final_in_every_item() {
        let line = "gh project item-list 9 --owner o --limit 1000 --format json";
        let criterion = PhaseCriterion {
            field: Some("Phase".into()),
            owner: Some("o".into()),
            last: "Done".into(),
            ..PhaseCriterion::new(Some(9))
        };
        for (answer, outcome, words) in [
            (
                json!({"items": [{"title": "a", "phase": "Done"}], "totalCount": 1}),
                CheckOutcome::Pass,
                "Project 9: 1 item in the phase \"Done\"",
            ),
            (
                json!({"items": [{"title": "a", "phase": "Done"}, {"title": "b", "phase": "Review"}, {"title": "c"}]}),
                CheckOutcome::Unmet,
                "2 of 3 items",
            ),
            (json!({"items": []}), CheckOutcome::Unmet, "never complete"),
            (
                json!({"items": [{"phase": "Done"}], "totalCount": 2}),
                CheckOutcome::Failed,
                "no more are looked at",
            ),
            (
                json!({"error": "x"}),
                CheckOutcome::Failed,
                "did not tell the items",
            ),
        ] {
            let output = CommandOutput {
                stdout: CapturedStream::whole(answer.to_string()),
                ..CommandOutput::default()
            };
            let fake = Fake {
                runs: vec![(
                    line,
                    CommandRun::Finished {
                        exit: ProcessExit::Code(0),
                        output,
                    },
                )],
                ..Fake::default()
            };
            let judgement = PhaseCheck::new(criterion.clone()).check(&CheckContext::new(&fake));
            assert_eq!(judgement.outcome(), outcome, "{judgement:?}");
            assert!(judgement.feedback().contains(words), "{judgement:?}");
        }
        let nameless = PhaseCriterion {
            field: Some("Phase".into()),
            ..PhaseCriterion::new(None)
        };
        assert_eq!(
            PhaseCheck::new(nameless)
                .check(&CheckContext::new(&Fake::default()))
                .outcome(),
            CheckOutcome::Unrunnable
        );
    }
}
