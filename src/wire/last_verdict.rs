//! A judgement read back from the journal, a verdict or what a hook decided, for whoever shows what is known without judging again.

use jiff::Timestamp;
use serde_json::Value;

use super::next_step::NextStep;
use watchdog_facts::verdict::{Reason, Status};
use watchdog_store::engine::StoredEvent;
use watchdog_store::journal::kind;

/// A verdict as the journal has it.
#[derive(Debug)]
pub struct LastVerdict {
    /// When it was reached.
    pub at: Timestamp,
    /// `None` where this version does not know it.
    pub status: Option<Status>,
    /// Whether it was reached after the baseline was recorded. One from before is about earlier work.
    pub since_baseline: bool,
    by_hook: bool,
    object: Value,
}

impl LastVerdict {
    /// Reads the event of a verdict, or of a hook that judged.
    pub fn new(event: StoredEvent, since_baseline: bool) -> Self {
        let word = event.data["status"].as_str();
        let status = Reason::ALL
            .iter()
            .map(|reason| reason.status())
            .find(|status| Some(status.as_str()) == word);
        LastVerdict {
            at: event.at,
            status,
            since_baseline,
            by_hook: event.kind == kind::HOOK,
            object: event.data,
        }
    }

    /// A text of the verdict's object.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.object[key].as_str()
    }

    /// Strikes that open the breaker.
    pub fn breaker_limit(&self) -> Option<u64> {
        self.object["breaker"]["limit"].as_u64()
    }

    /// When the open breaker lets one trial through.
    pub fn breaker_open_until(&self) -> Option<Timestamp> {
        self.object["breaker"]["open_until"].as_str()?.parse().ok()
    }

    /// Whether a hook of the agent judged, and not a command.
    pub fn is_by_hook(&self) -> bool {
        self.by_hook
    }

    /// What a hook answered: `held` or `let_go`; `None` of a verdict.
    pub fn hook_answer(&self) -> Option<&str> {
        self.text("answer").filter(|_| self.by_hook)
    }

    /// The sentence for a person, with what became of the agent where a hook judged.
    pub fn sentence(&self) -> String {
        let message = self.text("message").unwrap_or_default().trim();
        match self.hook_answer() {
            Some("held") => format!(
                "its hook held the agent: {}",
                message.trim_start_matches("watchdog: ")
            ),
            Some(_) => format!(
                "its hook let the agent go: {}",
                message.trim_start_matches("watchdog: ")
            ),
            None => message.to_owned(),
        }
    }

    /// When a look makes sense again, where the verdict says that.
    pub fn retry_at(&self) -> Option<Timestamp> {
        self.text("retry_at")?.parse().ok()
    }

    /// Why, where this version knows the word.
    pub fn reason(&self) -> Option<Reason> {
        let word = self.text("reason")?;
        Reason::ALL
            .iter()
            .copied()
            .find(|reason| reason.as_str() == word)
    }

    /// What a person does next.
    pub fn next_step(&self) -> NextStep {
        NextStep::after_verdict(&self.object)
    }

    /// A field of the verdict's object as it is; null where it has none.
    pub(super) fn field(&self, key: &str) -> Value {
        self.object[key].clone()
    }
}
