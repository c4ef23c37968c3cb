//! Commands of checks that passed, by a fingerprint of all that they are known to depend on, so that they need not run again.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::row::{self, RecordType};
use crate::codec::sha256_hex;
use crate::engine::LocalStore;
use crate::error::StoreError;
use crate::key::RowKey;
use watchdog_facts::evidence::TestCounts;

/// Passes that are kept for one worktree; the oldest go first.
const MOST: usize = 64;

/// The maximum age of a cached pass: files and services outside of the repository change, too.
const FRESH: Duration = Duration::from_secs(86_400);

#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct PassRecord {
    passes: Vec<CommandPass>,
}

/// A command that passed.
#[derive(Clone, Serialize, Deserialize)]
struct CommandPass {
    inputs: String,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tests: Option<TestCounts>,
}

impl RecordType for PassRecord {
    const KIND: &'static str = "passed";
}

/// A fingerprint of what a command depends on.
pub fn fingerprint_inputs(parts: &[&[u8]]) -> String {
    sha256_hex(parts)
}

/// All variables that a command inherits, as one text. Left out is what differs from call to call and from shell to shell without meaning.
pub fn serialize_environment() -> Vec<u8> {
    let without_meaning = |name: &OsStr| {
        ["_", "SHLVL", "PWD", "OLDPWD", "WATCHDOG_TREE"]
            .iter()
            .any(|ignored| name == *ignored)
    };
    let mut variables: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| !without_meaning(name.as_os_str()))
        .collect();
    variables.sort();
    variables
        .iter()
        .flat_map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat())
        .collect()
}

/// The tests that a command with these inputs ran when it passed within the last day; `None` where
/// it did not. A pass in the future did so by a clock that was wrong.
pub fn find_pass(
    store: &dyn LocalStore,
    worktree_id: &str,
    inputs: &str,
    now: Timestamp,
) -> Result<Option<Option<TestCounts>>, StoreError> {
    let record = row::load_row::<PassRecord>(store, &pass_key(worktree_id))?.unwrap_or_default();
    let fresh = |at: Timestamp| at <= now && now.duration_since(at).unsigned_abs() < FRESH;
    let pass = record
        .passes
        .into_iter()
        .find(|pass| pass.inputs == inputs && fresh(pass.at));
    Ok(pass.map(|pass| pass.tests))
}

/// Remembers that a command with these inputs passed, and what it ran.
pub fn remember_pass(
    store: &dyn LocalStore,
    worktree_id: &str,
    inputs: &str,
    tests: Option<TestCounts>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let key = pass_key(worktree_id);
    row::update_default(store, &key, |passed: &mut PassRecord| {
        passed.passes.retain(|pass| pass.inputs != inputs);
        passed.passes.push(CommandPass {
            inputs: inputs.to_owned(),
            at: now,
            tests,
        });
        let surplus = passed.passes.len().saturating_sub(MOST);
        passed.passes.drain(..surplus);
    })
}

fn pass_key(worktree_id: &str) -> RowKey {
    RowKey::new(PassRecord::KIND, &[worktree_id])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqliteStore;
    use crate::sqlite::tests::Scratch;

    #[test]
    fn passes_are_kept_for_a_bounded_day() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        let start: Timestamp = "2026-03-04T05:06:07Z".parse().unwrap();
        let tests = TestCounts {
            ran: 3,
            failed: 0,
            skipped: 1,
        };
        let hours = |n: i64| start + jiff::SignedDuration::from_hours(n);
        let has = |worktree: &str, inputs: &str, at| {
            find_pass(&store, worktree, inputs, at).unwrap().is_some()
        };
        assert!(!has("w", "a", start));
        remember_pass(&store, "w", "a", None, start).unwrap();
        assert!(has("w", "a", hours(23)));
        assert!(!has("w", "a", hours(24)));
        assert!(!has("w", "a", hours(-1)));
        assert!(!has("other", "a", start));
        (0..MOST)
            .for_each(|n| remember_pass(&store, "w", &format!("b{n}"), None, hours(1)).unwrap());
        assert!(!has("w", "a", hours(1)), "the oldest went");
        assert!(has("w", "b0", hours(1)));
        remember_pass(&store, "w", "b0", Some(tests), hours(2)).unwrap();
        assert!(
            has("w", "b1", hours(2)),
            "one that passes again takes no second place"
        );
        assert_eq!(
            find_pass(&store, "w", "b0", hours(2)).unwrap(),
            Some(Some(tests))
        );
    }

    #[test]
    fn what_differs_in_one_input_has_another_fingerprint() {
        assert_ne!(
            fingerprint_inputs(&[b"ab", b"c"]),
            fingerprint_inputs(&[b"a", b"bc"])
        );
    }
}
