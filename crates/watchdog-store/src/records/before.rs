//! The outcome of checks when the work of a spec began, and the outcomes on trees that were judged with nothing uncommitted, from which
//! it is known without running anything twice.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::row::RecordType;
use crate::engine::LocalStore;
use crate::error::StoreError;
use watchdog_facts::evidence::{OutcomeBeforeWork, TestCounts};

/// Outcomes on trees that are kept for one spec; the oldest go first.
const MOST: usize = 64;

/// The recorded results of a spec's checks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ChecksBeforeRecord {
    /// By check: its outcome when the work began. Found once; forgotten when the work is complete.
    pub begun: Vec<OutcomeRecord>,
    /// Outcomes on trees, oldest first.
    pub seen: Vec<OutcomeRecord>,
}

/// How a check ended on a tree with nothing uncommitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeRecord {
    /// Hash of the check's definition.
    pub check: String,
    /// The tree.
    pub tree: String,
    /// Whether it passed; never unknown.
    #[serde(
        rename = "passed",
        serialize_with = "write_passed",
        deserialize_with = "read_passed"
    )]
    pub before: OutcomeBeforeWork,
    /// The test counts of its runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// The tests that failed, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// Whether these are all that failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names_all: bool,
    /// When it was found.
    pub at: Timestamp,
}

/// Whether a check passed, as a record has it.
fn write_passed<S: Serializer>(before: &OutcomeBeforeWork, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bool(*before == OutcomeBeforeWork::Passed)
}

fn read_passed<'de, D: Deserializer<'de>>(from: D) -> Result<OutcomeBeforeWork, D::Error> {
    Ok(match bool::deserialize(from)? {
        true => OutcomeBeforeWork::Passed,
        false => OutcomeBeforeWork::Failed,
    })
}

impl RecordType for ChecksBeforeRecord {
    const KIND: &'static str = "before";
}

impl ChecksBeforeRecord {
    /// The result of a check from when the work began.
    pub fn first_outcome(&self, check: &str) -> Option<&OutcomeRecord> {
        self.begun.iter().find(|mark| mark.check == check)
    }

    /// How a check last ended on a tree.
    pub fn outcome_on_tree(&self, check: &str, tree: &str) -> Option<&OutcomeRecord> {
        self.seen
            .iter()
            .rev()
            .find(|mark| mark.check == check && mark.tree == tree)
    }

    /// Keeps what was found about the beginning of the work.
    pub fn begin(&mut self, mark: OutcomeRecord) {
        self.begun.retain(|outcome| outcome.check != mark.check);
        self.begun.push(mark);
        let surplus = self.begun.len().saturating_sub(MOST);
        self.begun.drain(..surplus);
    }

    /// Keeps how a check ended on a tree.
    pub fn record_outcome(&mut self, mark: OutcomeRecord) {
        self.seen
            .retain(|outcome| outcome.check != mark.check || outcome.tree != mark.tree);
        self.seen.push(mark);
        let surplus = self.seen.len().saturating_sub(MOST);
        self.seen.drain(..surplus);
    }
}

/// Resets the record after a `complete`, so that the next work of the spec starts fresh. Does nothing where the record is empty.
pub fn work_is_complete(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
) -> Result<(), StoreError> {
    if ChecksBeforeRecord::read_or_default(store, worktree_id, spec)?
        .begun
        .is_empty()
    {
        return Ok(());
    }
    ChecksBeforeRecord::update_row(store, worktree_id, spec, |record| record.begun.clear())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqliteStore;
    use crate::sqlite::tests::Scratch;

    fn mark(check: &str, tree: &str, before: OutcomeBeforeWork) -> OutcomeRecord {
        let tests = Some(TestCounts {
            ran: 4,
            failed: 1,
            skipped: 2,
        });
        OutcomeRecord {
            check: check.into(),
            tree: tree.into(),
            before,
            tests,
            failing: Vec::new(),
            names_all: false,
            at: "2026-03-04T05:06:07Z".parse().unwrap(),
        }
    }

    #[test]
    fn initial_outcomes_stand_until_the_work_is_complete() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        assert_eq!(
            ChecksBeforeRecord::read_or_default(&store, "w", "s").unwrap(),
            ChecksBeforeRecord::default()
        );
        work_is_complete(&store, "w", "s").unwrap();
        ChecksBeforeRecord::update_row(&store, "w", "s", |record| {
            record.begin(mark("a", "t", OutcomeBeforeWork::Failed));
            record.record_outcome(mark("a", "t", OutcomeBeforeWork::Failed));
        })
        .unwrap();
        let before_work = ChecksBeforeRecord::read_or_default(&store, "w", "s").unwrap();
        assert_eq!(
            before_work.first_outcome("a"),
            Some(&mark("a", "t", OutcomeBeforeWork::Failed))
        );
        assert_eq!(
            (
                before_work.first_outcome("b"),
                before_work.outcome_on_tree("a", "other")
            ),
            (None, None)
        );
        work_is_complete(&store, "w", "s").unwrap();
        let after_completion = ChecksBeforeRecord::read_or_default(&store, "w", "s").unwrap();
        assert_eq!(
            (
                after_completion.first_outcome("a"),
                after_completion.outcome_on_tree("a", "t")
            ),
            (None, Some(&mark("a", "t", OutcomeBeforeWork::Failed)))
        );
    }

    #[test]
    fn last_outcome_on_tree_counts_and_oldest_expire() {
        let mut record = ChecksBeforeRecord::default();
        record.record_outcome(mark("a", "t", OutcomeBeforeWork::Failed));
        record.record_outcome(mark("a", "t", OutcomeBeforeWork::Passed));
        assert_eq!(
            (
                record.seen.len(),
                record.outcome_on_tree("a", "t").unwrap().before
            ),
            (1, OutcomeBeforeWork::Passed)
        );
        (0..MOST).for_each(|n| {
            record.record_outcome(mark("a", &n.to_string(), OutcomeBeforeWork::Passed))
        });
        assert_eq!(
            (record.seen.len(), record.outcome_on_tree("a", "t")),
            (MOST, None)
        );
    }
}
