//! A verdict read back from the journal, for whoever shows what is known without judging again.

use jiff::Timestamp;
use serde_json::Value;

use super::next_step::NextStep;
use watchdog_facts::verdict::{Reason, Status};
use watchdog_store::engine::StoredEvent;

/// A verdict as the journal has it.
#[derive(Debug)]
pub struct LastVerdict {
    /// When it was reached.
    pub at: Timestamp,
    /// `None` where this version does not know it.
    pub status: Option<Status>,
    /// Whether it was reached after the baseline was recorded. One from before is about earlier work.
    pub since_baseline: bool,
    object: Value,
}

impl LastVerdict {
    /// Reads the event of a verdict.
    pub fn new(event: StoredEvent, since_baseline: bool) -> Self {
        let word = event.data["status"].as_str();
        let status = Reason::ALL.iter().map(|reason| reason.status()).find(|status| Some(status.as_str()) == word);
        LastVerdict { at: event.at, status, since_baseline, object: event.data }
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

    /// When a look makes sense again, where the verdict says that.
    pub fn retry_at(&self) -> Option<Timestamp> {
        self.text("retry_at")?.parse().ok()
    }

    /// Why, where this version knows the word.
    pub fn reason(&self) -> Option<Reason> {
        let word = self.text("reason")?;
        Reason::ALL.iter().copied().find(|reason| reason.as_str() == word)
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
