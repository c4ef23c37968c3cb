//! Commands of checks that passed, by a fingerprint of all that they are known to depend on, so that they need not run again.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::row::{self, Row};
use crate::store::codec::sha256_hex;
use crate::store::engine::Store;
use crate::store::error::StoreError;
use crate::store::key::Key;

/// Passes that are kept for one worktree; the oldest go first.
const MOST: usize = 64;

/// A pass is this old at most: what is outside of the repository changes, too.
const FRESH: Duration = Duration::from_secs(86_400);

#[derive(Default)]
struct Passed {
    passes: Vec<(String, Timestamp)>,
}

#[derive(Serialize, Deserialize)]
struct PassedV1 {
    passes: Vec<PassV1>,
}

#[derive(Serialize, Deserialize)]
struct PassV1 {
    inputs: String,
    at: Timestamp,
}

impl Row for Passed {
    type Disk = PassedV1;
    const VERSION: u64 = 1;
    const KIND: &'static str = "passed";

    fn to_disk(&self) -> PassedV1 {
        PassedV1 { passes: self.passes.iter().map(|(inputs, at)| PassV1 { inputs: inputs.clone(), at: *at }).collect() }
    }

    fn from_disk(disk: PassedV1) -> Result<Self, String> {
        Ok(Passed { passes: disk.passes.into_iter().map(|pass| (pass.inputs, pass.at)).collect() })
    }
}

/// A fingerprint of what a command depends on.
pub fn inputs(parts: &[&[u8]]) -> String {
    sha256_hex(parts)
}

/// All variables that a command inherits, as one text. Left out is what differs from call to call and from shell to shell without meaning.
pub fn environment() -> Vec<u8> {
    let without_meaning = |name: &OsStr| ["_", "SHLVL", "PWD", "OLDPWD", "WATCHDOG_TREE"].iter().any(|known| name == *known);
    let mut variables: Vec<_> = std::env::vars_os().filter(|(name, _)| !without_meaning(name.as_os_str())).collect();
    variables.sort();
    variables.iter().flat_map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat()).collect()
}

/// Whether a command with these inputs passed within the last day. One that passed in the future did so by a clock that was wrong.
pub fn has(store: &dyn Store, worktree_id: &str, inputs: &str, now: Timestamp) -> Result<bool, StoreError> {
    let found = row::load::<Passed>(store, &key(worktree_id))?.unwrap_or_default();
    Ok(found.passes.iter().any(|(known, at)| known == inputs && *at <= now && now.duration_since(*at).unsigned_abs() < FRESH))
}

/// Remembers that a command with these inputs passed.
pub fn remember(store: &dyn Store, worktree_id: &str, inputs: &str, now: Timestamp) -> Result<(), StoreError> {
    row::update(store, &key(worktree_id), |found: Option<Passed>| {
        let mut passed = found.unwrap_or_default();
        passed.passes.retain(|(known, _)| known != inputs);
        passed.passes.push((inputs.to_owned(), now));
        let surplus = passed.passes.len().saturating_sub(MOST);
        passed.passes.drain(..surplus);
        (passed, ())
    })
}

fn key(worktree_id: &str) -> Key {
    Key::new(Passed::KIND, &[worktree_id])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SqliteStore;
    use crate::store::sqlite::tests::Scratch;

    #[test]
    fn passes_are_kept_for_a_day_and_no_more_of_them_than_there_is_room_for() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        let start: Timestamp = "2026-03-04T05:06:07Z".parse().unwrap();
        let hours = |n: i64| start + jiff::SignedDuration::from_hours(n);
        assert!(!has(&store, "w", "a", start).unwrap());
        remember(&store, "w", "a", start).unwrap();
        assert!(has(&store, "w", "a", hours(23)).unwrap());
        assert!(!has(&store, "w", "a", hours(24)).unwrap());
        assert!(!has(&store, "w", "a", hours(-1)).unwrap());
        assert!(!has(&store, "other", "a", start).unwrap());
        (0..MOST).for_each(|n| remember(&store, "w", &format!("b{n}"), hours(1)).unwrap());
        assert!(!has(&store, "w", "a", hours(1)).unwrap(), "the oldest went");
        assert!(has(&store, "w", "b0", hours(1)).unwrap());
        remember(&store, "w", "b0", hours(2)).unwrap();
        assert!(has(&store, "w", "b1", hours(2)).unwrap(), "one that passes again takes no second place");
    }

    #[test]
    fn what_differs_in_one_input_has_another_fingerprint() {
        assert_ne!(inputs(&[b"ab", b"c"]), inputs(&[b"a", b"bc"]));
    }
}
