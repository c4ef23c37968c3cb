//! The progress of a spec's check: its rounds for `--once`, which runs one round per call, and "nothing to do" results in a row.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::row::{self, RecordType};
use crate::engine::LocalStore;
use crate::error::StoreError;

/// The state that earlier calls recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckProgress {
    /// The baseline commit that the rounds belong to; `None` = unborn.
    pub baseline: Option<String>,
    /// Rounds spent on it.
    pub rounds_used: u32,
    /// How many of them the agent answered.
    pub rounds_answered: u32,
    /// How many of them it answered with `waiting` or `working`.
    pub rounds_alive: u32,
    /// How many checks of this spec in a row, this baseline or not, ended as `nothing_to_do`.
    pub nothing_to_do_streak: u32,
    /// How many sessions in a row changed nothing under the same unmet checks.
    pub fruitless: u32,
    /// A hash of those checks; 0 where there are none.
    pub unmet: u64,
    /// The fingerprint of the uncommitted changes at the last check.
    pub fingerprint: Option<u64>,
    /// A fingerprint of the state that the last judgement under an open breaker was about.
    pub judged_state: Option<String>,
    /// When this was last changed.
    pub updated_at: Timestamp,
}

impl CheckProgress {
    /// Begins without a result.
    pub fn begin(baseline: Option<String>, now: Timestamp) -> Self {
        CheckProgress {
            baseline,
            rounds_used: 0,
            rounds_answered: 0,
            rounds_alive: 0,
            nothing_to_do_streak: 0,
            fruitless: 0,
            unmet: 0,
            fingerprint: None,
            judged_state: None,
            updated_at: now,
        }
    }

    /// Starts the rounds again, for a new baseline, a commit, or a verdict that ends the count. The streak continues, because it counts
    /// checks and not rounds.
    pub fn restart(&mut self, baseline: Option<String>, now: Timestamp) {
        let CheckProgress {
            nothing_to_do_streak,
            fruitless,
            unmet,
            ..
        } = *self;
        *self = CheckProgress {
            nothing_to_do_streak,
            fruitless,
            unmet,
            ..CheckProgress::begin(baseline, now)
        };
    }
}

/// JSON numbers lose bits beyond 53 in some readers, so the fingerprint is hexadecimal text.
#[derive(Serialize, Deserialize)]
pub(super) struct ProgressV1 {
    baseline: Option<String>,
    rounds_used: u32,
    rounds_answered: u32,
    rounds_alive: u32,
    nothing_to_do_streak: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    fruitless: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unmet: Option<String>,
    fingerprint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    judged_state: Option<String>,
    updated_at: Timestamp,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl RecordType for CheckProgress {
    type Disk = ProgressV1;
    const VERSION: u64 = 1;
    const KIND: &'static str = "progress";

    fn to_disk(&self) -> ProgressV1 {
        ProgressV1 {
            baseline: self.baseline.clone(),
            rounds_used: self.rounds_used,
            rounds_answered: self.rounds_answered,
            rounds_alive: self.rounds_alive,
            nothing_to_do_streak: self.nothing_to_do_streak,
            fruitless: self.fruitless,
            unmet: (self.unmet != 0).then(|| format!("{:016x}", self.unmet)),
            fingerprint: self.fingerprint.map(|bits| format!("{bits:016x}")),
            judged_state: self.judged_state.clone(),
            updated_at: self.updated_at,
        }
    }

    fn from_disk(disk: ProgressV1) -> Result<Self, String> {
        let bits = disk
            .fingerprint
            .map(|text| u64::from_str_radix(&text, 16))
            .transpose();
        Ok(CheckProgress {
            baseline: disk.baseline,
            rounds_used: disk.rounds_used,
            rounds_answered: disk.rounds_answered,
            rounds_alive: disk.rounds_alive,
            nothing_to_do_streak: disk.nothing_to_do_streak,
            fruitless: disk.fruitless,
            unmet: disk
                .unmet
                .and_then(|text| u64::from_str_radix(&text, 16).ok())
                .unwrap_or(0),
            fingerprint: bits.map_err(|e| format!("its fingerprint is not hexadecimal: {e}"))?,
            judged_state: disk.judged_state,
            updated_at: disk.updated_at,
        })
    }
}

/// The progress of a spec, if there is any.
pub fn read_progress(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
) -> Result<Option<CheckProgress>, StoreError> {
    row::load(store, &row::key::<CheckProgress>(worktree_id, spec))
}

/// Changes the progress of a spec atomically; `change` may run several times. Begins one at `baseline` where there is none,
/// and restarts one that belongs to another baseline before `change` sees it.
pub fn update<T>(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    baseline: Option<&str>,
    now: Timestamp,
    change: impl Fn(&mut CheckProgress) -> T,
) -> Result<T, StoreError> {
    row::update(
        store,
        &row::key::<CheckProgress>(worktree_id, spec),
        |row: Option<CheckProgress>| {
            let mut progress =
                row.unwrap_or_else(|| CheckProgress::begin(baseline.map(str::to_string), now));
            if progress.baseline.as_deref() != baseline {
                progress.restart(baseline.map(str::to_string), now);
            }
            progress.updated_at = now;
            let outcome = change(&mut progress);
            (progress, outcome)
        },
    )
}

/// Forgets the progress of a spec, its streak included.
pub fn forget(store: &dyn LocalStore, worktree_id: &str, spec: &str) -> Result<(), StoreError> {
    row::remove::<CheckProgress>(store, &row::key::<CheckProgress>(worktree_id, spec))
}
