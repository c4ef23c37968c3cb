//! The type `signal`: the agent says an agreed text. Its word alone, so that the evidence is claimed.

use crate::config::settings::{SignalMatch, SignalTextCriterion, TextScope};
use watchdog_facts::verdict::Evidence;

use super::agent_words::{agent_texts, list_known_prompts};
use super::check::{CheckContext, CheckJudgement, CompletionCheck};
use super::feedback::{cut_feedback, one_line};
use super::mentions::PhraseMatcher;

/// Met when the agent says the text as its own claim.
#[derive(Debug, Clone)]
pub struct SignalCheck {
    criterion: SignalTextCriterion,
}

impl SignalCheck {
    /// A check of this signal.
    pub fn new(criterion: SignalTextCriterion) -> Self {
        SignalCheck { criterion }
    }

    /// The text as it must be written.
    fn text(&self) -> String {
        let text = cut_feedback(one_line(&self.criterion.text), 200);
        match self.criterion.matching {
            SignalMatch::Tag => format!("<{0}>{text}</{0}>", self.criterion.tag),
            SignalMatch::Line | SignalMatch::Word | SignalMatch::Contains => text,
        }
    }

    /// How to say it.
    fn how(&self) -> String {
        let text = self.text();
        let location = if self.criterion.last_line {
            "as the last line"
        } else {
            "in the last message"
        };
        match self.criterion.matching {
            SignalMatch::Line => format!("write a line that is exactly {text}, {location}"),
            SignalMatch::Word | SignalMatch::Contains | SignalMatch::Tag => {
                format!("write {text} {location}")
            }
        }
    }
}

impl CompletionCheck for SignalCheck {
    fn check(&self, context: &CheckContext<'_>) -> CheckJudgement {
        if self.criterion.text.trim().is_empty() {
            return CheckJudgement::Unrunnable {
                why: "the signal has no text, and an empty text is never found".into(),
            };
        }
        let prompts = list_known_prompts(context.session);
        let texts = agent_texts(context.session, self.criterion.scope);
        let mentions = PhraseMatcher::new(&self.criterion, &prompts);
        if texts.iter().any(|text| mentions.claimed_in(text)) {
            let summary = format!(
                "the agent said \"{}\"",
                cut_feedback(one_line(&self.criterion.text), 200)
            );
            return CheckJudgement::PassWith {
                evidence: Evidence::Claimed,
                summary,
            };
        }
        let shown = cut_feedback(one_line(&self.criterion.text), 200);
        let no_text_note = if texts.is_empty() {
            " (no text of the agent is known)"
        } else {
            ""
        };
        CheckJudgement::Unmet {
            feedback: format!(
                "signal \"{shown}\" not found in output{no_text_note}; when the work is done, {}",
                self.how()
            ),
        }
    }

    fn description(&self) -> String {
        let whose = match self.criterion.scope {
            TextScope::Last => "in its last message",
            TextScope::Iteration | TextScope::Session => "in a message of its own",
        };
        format!(
            "the agent says so {whose}: {}, and not before the work is done",
            self.how()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Fake;
    use super::*;
    use watchdog_facts::context::{ContextMessage, SessionContext};

    fn judge(criterion: SignalTextCriterion, session: &SessionContext) -> CheckJudgement {
        let fake = Fake::default();
        SignalCheck::new(criterion).check(&CheckContext::new(&fake).with_session(session))
    }

    fn line() -> SignalTextCriterion {
        SignalTextCriterion::new("TASK_DONE", SignalMatch::Line)
    }

    fn output(text: &str) -> SessionContext {
        SessionContext {
            output: Some(text.into()),
            ..SessionContext::default()
        }
    }

    #[test]
    fn signal_is_only_the_agents_word() {
        let summary = "the agent said \"TASK_DONE\"".to_owned();
        assert_eq!(
            judge(line(), &output("Working...\nTASK_DONE\n")),
            CheckJudgement::PassWith {
                evidence: Evidence::Claimed,
                summary
            }
        );
    }

    #[test]
    fn feedback_names_missing_signal_and_its_form() {
        let wanted = "signal \"TASK_DONE\" not found in output; when the work is done, write a line that is exactly TASK_DONE, in the last message";
        assert_eq!(
            judge(line(), &output("Still working...")),
            CheckJudgement::Unmet {
                feedback: wanted.into()
            }
        );
        let nothing = judge(
            SignalTextCriterion::new("OK", SignalMatch::Tag),
            &SessionContext::default(),
        );
        assert!(
            nothing.feedback().contains("no text of the agent is known"),
            "{nothing:?}"
        );
        assert!(
            nothing
                .feedback()
                .ends_with("write <promise>OK</promise> in the last message"),
            "{nothing:?}"
        );
    }

    #[test]
    fn users_and_tools_say_nothing_for_the_agent() {
        let message = |role: &str| ContextMessage {
            role: role.into(),
            text: Some("TASK_DONE".into()),
            tool_result: None,
        };
        let anywhere = SignalTextCriterion {
            scope: TextScope::Session,
            ..line()
        };
        for (role, met) in [
            ("assistant", true),
            ("user", false),
            ("tool", false),
            ("system", false),
        ] {
            let session = SessionContext {
                messages: vec![message(role)],
                output: Some("bye".into()),
                ..SessionContext::default()
            };
            assert_eq!(
                judge(anywhere.clone(), &session).evidence() == Evidence::Claimed,
                met,
                "{role}"
            );
            assert_eq!(judge(line(), &session).evidence(), Evidence::None);
        }
    }

    #[test]
    fn a_signal_without_text_cannot_be_run() {
        assert!(matches!(
            judge(
                SignalTextCriterion::new(" ", SignalMatch::Contains),
                &output(" ")
            ),
            CheckJudgement::Unrunnable { .. }
        ));
    }
}
