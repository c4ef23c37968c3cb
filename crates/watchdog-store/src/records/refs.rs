//! Targets of all refs of a repository when a baseline was recorded: kept once for all baselines
//! that saw the same, as a thousand worktrees of one repository do, and apart from them, as few
//! judgements need it.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::baseline::{BaselineRecord, BaselineRefs};
use super::row::{self, RecordType};
use crate::codec::sha256_hex;
use crate::engine::{LocalStore, SwapOutcome};
use crate::error::StoreError;
use crate::key::RowKey;

/// So many bytes of text stay with the baseline.
const SHORT: usize = 4096;

/// How long refs without a baseline are kept: a writer stores the refs before the baseline that names them.
const UNUSED_KEPT: Duration = Duration::from_secs(2 * 86_400);

/// From this age on, refs that are there already are written again before a new baseline relies on them.
const RENEWED_AFTER: Duration = Duration::from_secs(86_400);

/// Writes refs as one text of `<object> <name>` lines.
pub(super) fn write_refs<S: Serializer>(refs: &[RecordedRef], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&to_text(refs))
}

/// Reads that text.
pub(super) fn read_text<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<RecordedRef>, D::Error> {
    from_text(&String::deserialize(from)?).map_err(de::Error::custom)
}

/// A full name of a ref with the object that it named.
type RecordedRef = (String, String);

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RefsRecord {
    at: Timestamp,
    #[serde(rename = "refs")]
    text: String,
}

impl RecordType for RefsRecord {
    const KIND: &'static str = "refs";
}

/// Keeps refs for a baseline that is about to be recorded, and returns what the baseline is to hold of them.
pub fn keep_refs(
    store: &dyn LocalStore,
    tips: Vec<RecordedRef>,
    now: Timestamp,
) -> Result<BaselineRefs, StoreError> {
    let text = to_text(&tips);
    if text.len() <= SHORT {
        return Ok(BaselineRefs::Here(tips));
    }
    let name = sha256_hex(&[text.as_bytes()])[..32].to_owned();
    let key = RowKey::new(RefsRecord::KIND, &[&name]);
    // Writes an unreadable row again.
    let fresh = row::load_row::<RefsRecord>(store, &key)
        .is_ok_and(|row| row.is_some_and(|refs| !is_older(&refs, RENEWED_AFTER, now)));
    if !fresh {
        row::overwrite_row(store, &key, &RefsRecord { at: now, text })?;
    }
    Ok(BaselineRefs::Kept(name))
}

/// The refs of a baseline.
///
/// # Errors
/// Also where they are gone: that is not a repository without refs.
pub fn read_refs(
    store: &dyn LocalStore,
    baseline: &BaselineRefs,
) -> Result<Vec<RecordedRef>, StoreError> {
    let name = match baseline {
        BaselineRefs::Here(tips) => return Ok(tips.clone()),
        BaselineRefs::Kept(name) => name,
    };
    let bad = |why: &str| StoreError::BadRecord {
        what: format!("refs '{name}'"),
        why: why.into(),
    };
    let row = row::load_row::<RefsRecord>(store, &RowKey::new(RefsRecord::KIND, &[name]))?
        .ok_or_else(|| bad("they are gone"))?;
    from_text(&row.text).map_err(|why| bad(&why))
}

/// Forgets the refs that no baseline names any more, and says how many.
pub fn forget_unused(store: &dyn LocalStore, now: Timestamp) -> Result<u64, StoreError> {
    let revisions = store.revisions(&RowKey::prefix(RefsRecord::KIND, &[]))?;
    if revisions.is_empty() {
        return Ok(0);
    }
    let mut named = HashSet::new();
    let mut failed = None;
    row::visit_rows::<BaselineRecord>(store, &[], |_, row| {
        match row.map(|baseline| baseline.refs) {
            Ok(BaselineRefs::Kept(name)) => drop(named.insert(name)),
            Ok(BaselineRefs::Here(_)) => {}
            Err(error) => failed = Some(error),
        }
    })?;
    // An unreadable baseline may name any of them.
    if let Some(error) = failed {
        return Err(error);
    }
    let mut forgotten = 0;
    for (key, rev) in revisions {
        if named.contains(&key.last_part()) {
            continue;
        }
        let young = row::load_row::<RefsRecord>(store, &key)
            .is_ok_and(|row| row.is_some_and(|refs| !is_older(&refs, UNUSED_KEPT, now)));
        if young {
            continue;
        }
        match store.delete(&key, rev)? {
            SwapOutcome::Ok(_) => forgotten += 1,
            SwapOutcome::Conflict => {}
            SwapOutcome::Unknown(failure) => return Err(failure),
        }
    }
    Ok(forgotten)
}

/// A clock that was turned back makes nothing older.
fn is_older(refs: &RefsRecord, age: Duration, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(refs.at)).is_ok_and(|since| since > age)
}

/// A repository may have tens of thousands of refs, so they are one text of `<object> <name>` lines: neither can hold blanks.
pub(super) fn to_text(tips: &[RecordedRef]) -> String {
    let mut text = String::with_capacity(
        tips.iter()
            .map(|(name, object)| name.len() + object.len() + 2)
            .sum(),
    );
    for (name, object) in tips {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(object);
        text.push(' ');
        text.push_str(name);
    }
    text
}

/// Parses the text of [`to_text`].
pub(super) fn from_text(text: &str) -> Result<Vec<RecordedRef>, String> {
    let pair = |line: &str| {
        line.split_once(' ')
            .map(|(object, name)| (name.to_string(), object.to_string()))
    };
    let tips: Option<Vec<_>> = text.lines().map(pair).collect();
    tips.ok_or_else(|| "a line of its refs has no name".to_string())
}

#[cfg(test)]
#[path = "refs_tests.rs"]
mod tests;
