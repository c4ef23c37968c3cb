//! The progress of a spec's check: its rounds for `--once`, which runs one round per call, and "nothing to do" results in a row.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::row::RecordType;
use crate::engine::LocalStore;
use crate::error::StoreError;

/// The state that earlier calls recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fruitless: u32,
    /// A hash of those checks; 0 where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[serde(serialize_with = "write_hash", deserialize_with = "read_unmet")]
    pub unmet: u64,
    /// The fingerprint of the uncommitted changes at the last check.
    #[serde(serialize_with = "write_hash", deserialize_with = "read_hash")]
    pub fingerprint: Option<u64>,
    /// A fingerprint of the state that the last judgement under an open breaker was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_state: Option<String>,
    /// When this was last changed.
    pub updated_at: Timestamp,
}

impl CheckProgress {
    /// Begins without a result.
    pub fn begin(baseline: Option<String>, now: Timestamp) -> Self {
        CheckProgress {
            baseline,
            updated_at: now,
            ..CheckProgress::default()
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

/// JSON numbers lose bits beyond 53 in some readers, so hashes are hexadecimal text; none is 0.
fn write_hash<S: Serializer>(
    hash: &(impl Copy + Into<Option<u64>>),
    to: S,
) -> Result<S::Ok, S::Error> {
    let hash: Option<u64> = (*hash).into();
    hash.map(|hash| format!("{hash:016x}")).serialize(to)
}

fn read_hash<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let text: Option<String> = Option::deserialize(from)?;
    text.map(|text| u64::from_str_radix(&text, 16).map_err(de::Error::custom))
        .transpose()
}

fn read_unmet<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    read_hash(from).map(Option::unwrap_or_default)
}

fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

impl RecordType for CheckProgress {
    const KIND: &'static str = "progress";
}

/// Changes the progress of a spec atomically; `change` may run several times. Begins one at `baseline` where there is none,
/// and restarts one that belongs to another baseline before `change` sees it.
pub fn update_progress<T>(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    baseline: Option<&str>,
    now: Timestamp,
    change: impl Fn(&mut CheckProgress) -> T,
) -> Result<T, StoreError> {
    CheckProgress::change_row(store, worktree_id, spec, |row| {
        let mut progress =
            row.unwrap_or_else(|| CheckProgress::begin(baseline.map(str::to_string), now));
        if progress.baseline.as_deref() != baseline {
            progress.restart(baseline.map(str::to_string), now);
        }
        progress.updated_at = now;
        let outcome = change(&mut progress);
        (progress, outcome)
    })
}
