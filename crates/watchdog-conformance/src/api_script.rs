//! What the scripted model answers, and when: rules, tried in order, each used as often as it says. Pure.

use std::time::Duration;

use serde_json::Value;

use super::model_request::ModelRequest;

/// One rule: conditions that must all hold, and the reply that is then given.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptRule {
    /// A text that the newest input must have.
    newest: Option<String>,
    /// A text that the newest input must not have.
    newest_lacks: Option<String>,
    /// A text that the whole request must have.
    history: Option<String>,
    /// Whether tools must be offered.
    tools: bool,
    /// Uses that are left; `None` = without end.
    left: Option<u32>,
    /// What is replied.
    pub reply: ScriptedReply,
    /// What passes before the first byte.
    pub delay: Duration,
}

/// What the model replies.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptedReply {
    /// A text.
    Text(String),
    /// A command line for the agent's own shell tool.
    Command(String),
    /// An answer in the form that was asked for: by the tool for it where one is offered, else as a text.
    Answer(Value),
    /// A fault instead of an answer.
    Fault(ApiFault),
}

/// A fault of the API, in the form that each protocol has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiFault {
    /// A usage limit, with the time until it is reset where that is told.
    UsageLimit(Option<Duration>),
    /// The service has no room.
    Overloaded,
    /// The key is not valid.
    NotLoggedIn,
}

impl ScriptRule {
    /// The rule that gives this reply once.
    pub fn new(reply: ScriptedReply) -> Self {
        ScriptRule {
            newest: None,
            newest_lacks: None,
            history: None,
            tools: false,
            left: Some(1),
            reply,
            delay: Duration::ZERO,
        }
    }

    /// Only where the newest input has this text.
    pub fn when(mut self, text: &str) -> Self {
        self.newest = Some(text.to_owned());
        self
    }

    /// Only where the newest input does not have this text.
    pub fn unless(mut self, text: &str) -> Self {
        self.newest_lacks = Some(text.to_owned());
        self
    }

    /// Only where the conversation has this text somewhere.
    pub fn in_history(mut self, text: &str) -> Self {
        self.history = Some(text.to_owned());
        self
    }

    /// Only where tools are offered, as they are not for the title of a conversation.
    pub fn with_tools(mut self) -> Self {
        self.tools = true;
        self
    }

    /// As often as it applies.
    pub fn always(mut self) -> Self {
        self.left = None;
        self
    }

    /// After this time.
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    fn applies(&self, request: &ModelRequest) -> bool {
        self.left != Some(0)
            && self
                .newest
                .as_ref()
                .is_none_or(|text| request.newest.contains(text))
            && self
                .newest_lacks
                .as_ref()
                .is_none_or(|text| !request.newest.contains(text))
            && self
                .history
                .as_ref()
                .is_none_or(|text| request.body.contains(text))
            && (!self.tools || !request.tools.is_empty())
    }
}

/// The rules of one scene, with the uses that are left of each.
#[derive(Debug, Clone, Default)]
pub struct ApiScript(Vec<ScriptRule>);

impl ApiScript {
    /// These rules, in this order.
    pub fn new(rules: impl IntoIterator<Item = ScriptRule>) -> Self {
        ApiScript(rules.into_iter().collect())
    }

    /// The first rule that applies, of which one use is spent; without any, a text that says so.
    pub fn take(&mut self, request: &ModelRequest) -> ScriptRule {
        let Some(rule) = self.0.iter_mut().find(|rule| rule.applies(request)) else {
            return ScriptRule::new(ScriptedReply::Text("There is nothing more to say.".into()));
        };
        let taken = rule.clone();
        rule.left = rule.left.map(|left| left - 1);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(text: &str) -> ModelRequest {
        ModelRequest::read(
            "/v1/chat/completions",
            &json!({"messages": [{"role": "user", "content": text}]}),
        )
        .unwrap()
    }

    #[test]
    fn script_rules_apply_in_order_with_their_counts() {
        let text = |text: &str| ScriptedReply::Text(text.into());
        let mut script = ApiScript::new([
            ScriptRule::new(text("once")).when("work"),
            ScriptRule::new(text("others"))
                .when("work")
                .unless("probe")
                .always(),
            ScriptRule::new(text("probed")).when("probe").always(),
        ]);
        let mut say = |asked_for: &str| script.take(&asked(asked_for)).reply;
        assert_eq!(say("work"), text("once"));
        assert_eq!(say("work"), text("others"));
        assert_eq!(say("work"), text("others"));
        assert_eq!(say("probe the work"), text("probed"));
        assert_eq!(say("hello"), text("There is nothing more to say."));
    }
}
