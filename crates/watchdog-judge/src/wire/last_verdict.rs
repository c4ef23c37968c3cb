//! A judgement read back from the journal, a verdict or what a hook decided, for whoever shows what is known without judging again.

use jiff::Timestamp;
use serde::Deserialize;

use super::next_step::NextStep;
use super::verdict_json::VerdictView;
use watchdog_facts::verdict::Status;
use watchdog_store::engine::StoredEvent;
use watchdog_store::journal::kind;

/// A verdict as the journal has it.
#[derive(Debug)]
pub struct LastVerdict {
    /// When it was reached.
    pub at: Timestamp,
    /// Without it, this version does not know the status.
    pub status: Option<Status>,
    /// Whether it was reached after the baseline was recorded. A verdict from before is about
    /// earlier work.
    pub since_baseline: bool,
    /// Whether a hook of the agent judged, and not a command.
    pub is_by_hook: bool,
    /// Returns the answer of a hook: `held` or `let_go`; `None` of a verdict.
    pub hook_answer: Option<String>,
    /// The verdict; of a hook those of its members that it decided.
    pub view: VerdictView,
}

impl LastVerdict {
    /// Reads the event of a verdict, or of a hook that judged.
    pub fn new(event: &StoredEvent, since_baseline: bool) -> Self {
        let status = Status::deserialize(&event.data["status"]).ok();
        let is_by_hook = event.kind == kind::HOOK;
        let answer = event.data["answer"].as_str().filter(|_| is_by_hook);
        LastVerdict {
            at: event.at,
            status,
            since_baseline,
            is_by_hook,
            hook_answer: answer.map(str::to_owned),
            view: VerdictView::read(&event.data),
        }
    }

    /// The sentence for a person, with what became of the agent where a hook judged.
    pub fn sentence(&self) -> String {
        let message = self.view.message.as_deref().unwrap_or_default().trim();
        let answer = match self.hook_answer.as_deref() {
            Some("held") => "its hook held the agent",
            Some(_) => "its hook let the agent go",
            None => return message.to_owned(),
        };
        format!("{answer}: {}", message.trim_start_matches("watchdog: "))
    }

    /// Returns a person's next step.
    pub fn next_step(&self) -> NextStep {
        NextStep::after_verdict(&self.view)
    }
}
