//! The type `structured`: the agent gave JSON of an agreed form. Its word, so that the evidence is claimed.

use serde_json::Value;

use crate::config::settings::{StructuredCriterion, TextScope};
use watchdog_facts::context::SessionContext;
use watchdog_facts::verdict::Evidence;

use super::agent_json::{find_candidates, names_itself};
use super::agent_words::{agent_texts, list_known_prompts};
use super::check::{CheckContext, CheckJudgement, CompletionCheck};
use super::feedback::{MAX_CHARS, cut_feedback, first_three, one_line};

/// Met when the last JSON that the agent gave has this form.
#[derive(Debug, Clone)]
pub struct StructuredOutputCheck {
    criterion: StructuredCriterion,
}

impl StructuredOutputCheck {
    /// A check of this form.
    pub fn new(criterion: StructuredCriterion) -> Self {
        StructuredOutputCheck { criterion }
    }

    /// The last that the agent gave: an error is a mark without a usable object.
    fn last(&self, session: &SessionContext) -> Option<Result<Value, String>> {
        // The tentative output is the newest of all.
        if let Some(output) = session
            .tentative_output
            .as_ref()
            .filter(|output| self.is_meant(output))
        {
            return Some(Ok(output.clone()));
        }
        let (prompts, tag) = (list_known_prompts(session), self.criterion.tag.as_deref());
        for text in agent_texts(session, self.criterion.scope).iter().rev() {
            // An echo of the requested form is no answer.
            let mut own = find_candidates(text, tag)
                .into_iter()
                .filter(|given| !prompts.iter().any(|prompt| prompt.contains(&given.raw)));
            if let Some(last) = own.next_back() {
                return Some(last.object);
            }
        }
        let detected =
            session
                .summaries
                .iter()
                .rev()
                .take(if self.criterion.scope == TextScope::Session {
                    usize::MAX
                } else {
                    1
                });
        let mut actions = detected.flat_map(|summary| summary.detected_actions.iter().rev());
        actions
            .find(|action| self.criterion.tag.is_some() && self.is_meant(action))
            .map(|action| Ok(action.clone()))
    }

    /// An output that is JSON as a whole needs no mark unless it bears another one.
    fn is_meant(&self, output: &Value) -> bool {
        let marked = output
            .get("signal")
            .or_else(|| output.get("type"))
            .is_some_and(Value::is_string);
        self.criterion
            .tag
            .as_deref()
            .is_none_or(|tag| !marked || names_itself(output, tag))
    }

    /// The mistake in an object.
    fn lacks(&self, parsed: &Result<Value, String>) -> Vec<String> {
        let wanted = &self.criterion;
        let asks = !wanted.required.is_empty() || wanted.schema.is_some();
        let object = match parsed {
            Ok(object) => object,
            Err(why) if asks => return vec![one_line(why)],
            Err(_) => return Vec::new(),
        };
        let mut wrong: Vec<String> = Vec::new();
        for (name, value) in &wanted.required {
            let shown = one_line(name);
            match (object.get(name), value) {
                (None, None) => wrong.push(format!("`{shown}` is missing")),
                (None, Some(value)) => {
                    wrong.push(format!("`{shown}` is missing, and must be {value}"))
                }
                (Some(actual), Some(value)) if actual != value => {
                    let actual_text = cut_feedback(one_line(&actual.to_string()), 100);
                    wrong.push(format!("`{shown}` is {actual_text}, and must be {value}"));
                }
                (Some(_), _) => {}
            }
        }
        wrong
    }

    fn form(&self) -> String {
        let wanted = &self.criterion;
        let mark = wanted
            .tag
            .as_ref()
            .map(|tag| format!("in <{0}>...</{0}>", one_line(tag)));
        let fields = wanted.required.iter().map(|(name, value)| match value {
            Some(value) => format!("{}: {value}", one_line(name)),
            None => one_line(name),
        });
        let fields: Vec<String> = fields.collect();
        let fields =
            (!fields.is_empty()).then(|| format!("with {}", cut_feedback(fields.join(", "), 500)));
        let schema = wanted.schema.as_ref().map(|schema| {
            format!(
                "that meets the JSON Schema {}",
                cut_feedback(schema.to_string(), 1500)
            )
        });
        let parts = ["a JSON object".to_owned()]
            .into_iter()
            .chain(mark)
            .chain(fields)
            .chain(schema);
        parts.collect::<Vec<_>>().join(" ")
    }
}

impl CompletionCheck for StructuredOutputCheck {
    fn check(&self, context: &CheckContext<'_>) -> CheckJudgement {
        if self.criterion.tag.is_none()
            && self.criterion.required.is_empty()
            && self.criterion.schema.is_none()
        {
            return CheckJudgement::Unrunnable {
                why: "nothing is asked of the JSON; give a `tag`, `required` or a `schema`".into(),
            };
        }
        let Some(last_object) = self.last(context.session) else {
            return CheckJudgement::Unmet {
                feedback: format!(
                    "no such answer was given; when the work is done, give {}",
                    self.form()
                ),
            };
        };
        let mut wrong = self.lacks(&last_object);
        if let (Some(schema), Ok(last_object)) = (&self.criterion.schema, &last_object) {
            match super::json_schema::list_violations(schema, last_object) {
                Ok(more) => wrong.extend(more),
                Err(why) => {
                    return CheckJudgement::Unrunnable {
                        why: format!("its `schema` cannot be used: {why}"),
                    };
                }
            }
        }
        if wrong.is_empty() {
            return CheckJudgement::PassWith {
                evidence: Evidence::Claimed,
                summary: "the last JSON that was given is as agreed".into(),
            };
        }
        let wrong: Vec<&str> = wrong.iter().map(String::as_str).collect();
        let feedback = format!(
            "the last JSON that was given is not as agreed: {}; give {}",
            first_three(&wrong),
            self.form()
        );
        CheckJudgement::Unmet {
            feedback: cut_feedback(feedback, MAX_CHARS),
        }
    }

    fn description(&self) -> String {
        format!("the agent gives {}", self.form())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::Fake;
    use super::*;
    use watchdog_facts::context::IterationSummary;
    use watchdog_facts::evidence::CheckOutcome::{self, Pass, Unmet, Unrunnable};

    fn criterion(tag: Option<&str>, required: &[(&str, Option<Value>)]) -> StructuredCriterion {
        let required = required
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        StructuredCriterion {
            tag: tag.map(str::to_owned),
            required,
            schema: None,
            scope: TextScope::Last,
        }
    }

    fn judge(criterion: StructuredCriterion, session: &SessionContext) -> CheckJudgement {
        StructuredOutputCheck::new(criterion)
            .check(&CheckContext::new(&Fake::default()).with_session(session))
    }

    fn output(text: &str) -> SessionContext {
        SessionContext {
            output: Some(text.into()),
            ..SessionContext::default()
        }
    }

    fn approved() -> StructuredCriterion {
        criterion(Some("review"), &[("status", Some(json!("approved")))])
    }

    #[test]
    fn fields_and_values_must_be_as_agreed() {
        let outcome = |text: &str| judge(approved(), &output(text)).outcome();
        assert_eq!(outcome("<review>{\"status\": \"approved\"}</review>"), Pass);
        assert_eq!(outcome("```review\n{\"status\": \"rejected\"}\n```"), Unmet);
        assert_eq!(
            outcome("{\"signal\": \"review\", \"status\": \"approved\"}"),
            Pass
        );
        assert_eq!(outcome("{\"status\": \"approved\"}"), Unmet);
        assert_eq!(outcome("```review\nnot json\n```"), Unmet);
        assert_eq!(outcome("no signal here"), Unmet);
        let rejection = judge(
            approved(),
            &output("<review>{\"status\": \"rejected\"}</review>"),
        );
        assert!(
            rejection
                .feedback()
                .contains("`status` is \"rejected\", and must be \"approved\""),
            "{rejection:?}"
        );
        let twice = "<review>{\"status\": \"no\", \"status\": \"approved\"}</review>";
        let judgement = judge(approved(), &output(twice));
        let key = "the key \"status\" stands twice in one object";
        assert!(judgement.feedback().contains(key), "{judgement:?}");
    }

    #[test]
    fn required_names_must_exist_unless_mark_suffices() {
        let named = || criterion(Some("c"), &[("summary", None)]);
        assert_eq!(
            judge(named(), &output(r#"{"type": "c", "summary": ""}"#)).outcome(),
            Pass
        );
        assert_eq!(judge(named(), &output(r#"{"type": "c"}"#)).outcome(), Unmet);
        assert_eq!(
            judge(
                criterion(Some("done"), &[]),
                &output("```done\nnot valid\n```")
            )
            .outcome(),
            Pass
        );
        assert_eq!(
            judge(criterion(None, &[]), &output("{}")).outcome(),
            Unrunnable
        );
    }

    #[test]
    fn last_answer_counts_without_an_echoed_form() {
        let twice = "<review>{\"status\": \"approved\"}</review> no, wait <review>{\"status\": \"rejected\"}</review>";
        assert_eq!(judge(approved(), &output(twice)).outcome(), Unmet);
        let form = "<review>{\"status\": \"approved\"}</review>";
        let echo = SessionContext {
            prompt: Some(format!("Answer with {form}")),
            ..output(&format!("I shall answer with {form}"))
        };
        assert_eq!(judge(approved(), &echo).outcome(), Unmet);
    }

    #[test]
    fn tentative_output_and_detected_actions_count_too() {
        let tentative = |value| SessionContext {
            tentative_output: Some(value),
            ..output("<review>{\"status\": \"rejected\"}</review>")
        };
        assert_eq!(
            judge(approved(), &tentative(json!({"status": "approved"}))).outcome(),
            Pass
        );
        assert_eq!(
            judge(
                approved(),
                &tentative(json!({"type": "other", "status": "approved"}))
            )
            .outcome(),
            Unmet
        );
        let action = json!({"type": "review", "status": "approved"});
        let session = SessionContext {
            summaries: vec![IterationSummary {
                detected_actions: vec![action],
                ..IterationSummary::default()
            }],
            ..SessionContext::default()
        };
        assert_eq!(judge(approved(), &session).outcome(), Pass);
    }

    #[test]
    fn only_marked_actions_of_last_iteration_count() {
        let action = |kind: &str| IterationSummary {
            detected_actions: vec![json!({"type": kind, "status": "approved"})],
            ..IterationSummary::default()
        };
        let outcome = |criterion: StructuredCriterion, kinds: &[&str]| {
            let session = SessionContext {
                summaries: kinds.iter().map(|kind| action(kind)).collect(),
                ..SessionContext::default()
            };
            judge(criterion, &session).outcome()
        };
        assert_eq!(outcome(approved(), &["other", "review"]), Pass);
        assert_eq!(outcome(approved(), &["review", "other"]), Unmet);
        assert_eq!(
            outcome(
                StructuredCriterion {
                    scope: TextScope::Session,
                    ..approved()
                },
                &["review", "other"]
            ),
            Pass
        );
        let unmarked = criterion(None, &[("status", Some(json!("approved")))]);
        assert_eq!(
            outcome(unmarked, &["review"]),
            Unmet,
            "without a mark anything that was detected would do"
        );
    }

    #[test]
    fn the_feedback_shows_the_form_that_is_wanted() {
        let asked = |criterion: StructuredCriterion| {
            judge(criterion, &output("done")).feedback().to_owned()
        };
        let feedback_start = "no such answer was given; when the work is done, give a JSON object";
        assert_eq!(
            asked(approved()),
            format!("{feedback_start} in <review>...</review> with status: \"approved\"")
        );
        assert_eq!(
            asked(criterion(Some("done"), &[])),
            format!("{feedback_start} in <done>...</done>")
        );
        assert_eq!(
            asked(criterion(None, &[("a", None), ("b", Some(json!(1)))])),
            format!("{feedback_start} with a, b: 1")
        );
    }

    #[test]
    fn a_schema_names_every_fault() {
        let schema = json!({"type": "object", "required": ["name", "age"], "properties": {"name": {"type": "string"}}});
        let with = |schema: Value| StructuredCriterion {
            schema: Some(schema),
            ..criterion(None, &[])
        };
        let outcome = |text: &str| judge(with(schema.clone()), &output(text));
        assert_eq!(
            outcome("```json\n{\"name\": \"a\", \"age\": 1}\n```").outcome(),
            CheckOutcome::Pass
        );
        let wrong = outcome("Here:\n```json\n{\"name\": 123}\n```");
        assert!(
            wrong.outcome() == Unmet
                && wrong.feedback().contains("name")
                && wrong.feedback().contains("age"),
            "{wrong:?}"
        );
        assert_eq!(
            judge(with(json!({"type": "objekt"})), &output("{}")).outcome(),
            Unrunnable
        );
    }
}
