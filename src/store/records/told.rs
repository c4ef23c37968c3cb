//! The last verdict of a spec that there was to tell about, so that a cron job that finds the same again each minute tells it once.

use serde::{Deserialize, Serialize};

use super::row::{self, Row};
use crate::store::engine::Store;
use crate::store::error::StoreError;

struct Told {
    last: String,
}

#[derive(Serialize, Deserialize)]
struct ToldV1 {
    last: String,
}

impl Row for Told {
    type Disk = ToldV1;
    const VERSION: u64 = 1;
    const KIND: &'static str = "told";

    fn to_disk(&self) -> ToldV1 {
        ToldV1 { last: self.last.clone() }
    }

    fn from_disk(disk: ToldV1) -> Result<Self, String> {
        Ok(Told { last: disk.last })
    }
}

/// Notes what there is to tell now, and returns what there was before; empty where nothing was. Quiet where nothing changes.
pub fn replace(store: &dyn Store, worktree_id: &str, spec: &str, now: &str) -> Result<String, StoreError> {
    row::update(store, &row::key::<Told>(worktree_id, spec), |before: Option<Told>| {
        let before = before.map(|told| told.last).unwrap_or_default();
        (Told { last: now.to_owned() }, before)
    })
}

/// What there was to tell last; empty where nothing was.
pub fn last(store: &dyn Store, worktree_id: &str, spec: &str) -> Result<String, StoreError> {
    Ok(row::load::<Told>(store, &row::key::<Told>(worktree_id, spec))?.map(|told| told.last).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SqliteStore;
    use crate::store::sqlite::tests::Scratch;

    #[test]
    fn each_spec_has_a_last_word_of_its_own() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        for (spec, now, before) in [("a", "1", ""), ("a", "1", "1"), ("b", "2", ""), ("a", "", "1"), ("a", "3", "")] {
            assert_eq!(replace(&store, "w", spec, now).unwrap(), before, "{spec} {now}");
            assert_eq!(last(&store, "w", spec).unwrap(), now);
        }
    }
}
