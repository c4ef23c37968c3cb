//! The few members of a verdict's event that measures need: the only place of this module that knows how such an event is written.

use serde_json::Value;
use watchdog_facts::verdict::{Reason, Status};

/// The longest name of a check that is kept, in characters.
const LONGEST_NAME: usize = 60;

/// A verdict as its event has it.
pub(super) struct VerdictFields<'a> {
    /// A reason that this version does not know is `None`.
    pub reason: Option<Reason>,
    /// Whether it repeats an answer that stood.
    pub unchanged: bool,
    /// Whether the breaker counted it.
    pub strike: bool,
    /// Why the breaker did not.
    pub not_a_strike_because: Option<&'a str>,
    /// Questions that it took.
    pub questions: u64,
    /// The names of the checks that are not met.
    pub unmet: Vec<String>,
    head: &'a str,
    baseline: &'a str,
    word: &'a str,
}

impl<'a> VerdictFields<'a> {
    pub(super) fn new(data: &'a Value) -> Self {
        let text = |key: &str| data[key].as_str().unwrap_or_default();
        let word = text("reason");
        let checks = data["checks"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let unmet = checks
            .iter()
            .filter(|check| check["outcome"] == "unmet")
            .filter_map(|check| check["name"].as_str());
        VerdictFields {
            reason: Reason::from_word(word),
            unchanged: !data["unchanged_since"].is_null(),
            strike: data["strike"] == true,
            not_a_strike_because: data["not_a_strike_because"].as_str(),
            questions: data["probe_usage"]["requests"].as_u64().unwrap_or(0),
            unmet: unmet
                .map(|name| name.chars().take(LONGEST_NAME).collect())
                .collect(),
            head: text("head"),
            baseline: text("baseline"),
            word,
        }
    }

    pub(super) fn status(&self) -> Option<Status> {
        self.reason.map(Reason::status)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.status() == Some(Status::Complete)
    }

    /// Whether it says only that something still runs, which a later verdict judges.
    pub(super) fn waits(&self) -> bool {
        matches!(
            self.reason,
            Some(
                Reason::SessionActive
                    | Reason::Locked
                    | Reason::BackgroundWork
                    | Reason::Dependencies
            )
        )
    }

    /// The judged state and the way, for comparison with the next one.
    pub(super) fn state(&self) -> String {
        let short = |commit: &'a str| commit.get(..16).unwrap_or(commit);
        format!(
            "{} {} {}",
            self.word.get(..40).unwrap_or(self.word),
            short(self.head),
            short(self.baseline)
        )
    }

    /// The reason's word in names of counters.
    pub(super) fn reason_word(&self) -> &'static str {
        self.reason.map_or("other", Reason::as_str)
    }
}
