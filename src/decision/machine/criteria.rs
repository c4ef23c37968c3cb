//! What becomes of a verdict where the files that say what done means changed since the anchor.
//!
//! They are looked at last: after the rescue, so that no work waits for it, and after the checks, whose programs could change them.

use crate::decision::evidence::{CriteriaChanged, Fact, Unreadable};
use crate::decision::verdict::{Reason, Status, Verdict};

use super::facts::{Action, CriteriaFiles};
use super::stage::Stage;
use super::step::Machine;

impl Machine {
    /// Looks at the files before a verdict that judges the work is given.
    pub(super) fn conclude(&mut self, verdict: Verdict) -> Action {
        let judges = matches!(verdict.status(), Status::Complete | Status::Incomplete | Status::Review);
        if self.setup.criteria_files == CriteriaFiles::None || !judges {
            return self.close(verdict);
        }
        self.stage = Stage::Criteria;
        self.held_back = Some(Box::new(verdict));
        Action::ReadCriteria
    }

    pub(super) fn on_criteria(&mut self, fact: Fact<CriteriaChanged>) -> Action {
        let verdict = *self.held_back.take().expect("a verdict is held back while the files are looked at");
        let changed = match fact {
            Ok(changed) => changed,
            Err(unreadable) => return self.criteria_unknown(verdict, unreadable),
        };
        if !changed.named.is_empty() {
            let detail = format!("the criteria name files that changed since the anchor: {}", changed.named.join(", "));
            self.note("criteria_changed", detail);
        }
        if changed.guarded_total == 0 {
            return self.close(verdict);
        }
        let guarded = changed.guarded_words();
        self.note("criteria_changed", format!("guarded files changed since the anchor: {guarded}"));
        if verdict.status() != Status::Complete {
            return self.close(verdict);
        }
        let message = format!("{}, but guarded files changed since the anchor: {guarded}; a person must look at them", verdict.message);
        self.close(Verdict { retry_at: verdict.retry_at, ..Verdict::new(Reason::CriteriaChanged, message) })
    }

    /// Where files are guarded, nothing is complete as long as nobody knows whether they changed.
    fn criteria_unknown(&mut self, verdict: Verdict, unreadable: Unreadable) -> Action {
        let why = format!("whether the criteria changed cannot be told: {}", unreadable.why);
        if self.setup.criteria_files == CriteriaFiles::Guarded && verdict.status() == Status::Complete {
            return self.close(Verdict::unreadable(Unreadable { why, ..unreadable }));
        }
        self.note("criteria_unknown", why);
        self.close(verdict)
    }
}
