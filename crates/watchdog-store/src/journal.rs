//! The journal: everything that was seen and decided, as events that are only ever appended.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use super::codec::sha256_hex;
use super::engine::{EventRetention, LocalStore, NewEvent, PRUNED_AT_ONCE};
use super::error::StoreError;
pub use super::event_kinds as kind;
use super::records::figures;
use watchdog_facts::secret_members::mask_value;

/// How long events stay.
const KEPT: Duration = Duration::from_secs(90 * 86_400);
/// The newest so many stay however old they are.
const KEPT_AT_LEAST: u64 = 1_000;
/// More than so many never stay; some 50 MB.
const KEPT_AT_MOST: u64 = 100_000;
/// How many events are folded into the figures at once.
const FOLDED_AT_ONCE: usize = 2_000;
/// After so many judgements one more batch of events may go. A judgement leaves about five events,
/// hardly ever ten.
const JUDGEMENTS_A_BATCH: usize = PRUNED_AT_ONCE as usize / 10;

/// An event with an id of its own. Texts that look like secrets are masked: events are kept for long, and are sent to others.
pub fn new_event(
    at: Timestamp,
    worktree_id: &str,
    spec: Option<&str>,
    kind: &str,
    mut data: serde_json::Value,
) -> NewEvent {
    mask_value(&mut data);
    NewEvent {
        id: event_id(at),
        at,
        worktree: worktree_id.into(),
        spec: spec.map(Into::into),
        kind: kind.into(),
        data,
    }
}

/// The event of a snapshot ref. Its id comes from the ref, so that rebuilding the journal from git repeats nothing.
pub fn snapshot_event(
    at: Timestamp,
    worktree_id: &str,
    spec: Option<&str>,
    reference: &str,
    commit: &str,
) -> NewEvent {
    let data = serde_json::json!({ "ref": reference, "commit": commit });
    let id = format!(
        "snapshot-{}",
        &sha256_hex(&[
            worktree_id.as_bytes(),
            reference.as_bytes(),
            commit.as_bytes()
        ])[..32]
    );
    NewEvent {
        id,
        at,
        worktree: worktree_id.into(),
        spec: spec.map(Into::into),
        kind: kind::SNAPSHOT.into(),
        data,
    }
}

/// An id that no other event has: the time, 64 random bits per process, and a count. Sorts by time.
pub fn event_id(at: Timestamp) -> String {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // The standard library seeds its hash maps from the system's random source: no further dependency is needed for an id.
    let process = PROCESS.get_or_init(|| {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(std::process::id());
        hasher.finish()
    });
    // A forked process would share the random bits, hence its pid besides them.
    let (pid, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    format!(
        "{:014x}-{process:016x}-{pid:x}-{count:x}",
        at.as_microsecond().max(0)
    )
}

/// Whether to delete old events now: after a verdict that took long, so that a quick one stays quick; and after one in 64 of the quick
/// ones, as the journal would otherwise grow without limit. The clock's last digits choose which.
pub fn tidy_is_due(took: Duration, now: Timestamp) -> bool {
    took > Duration::from_secs(1) || now.as_microsecond() % 64 == 0
}

/// Whether this process gave an event its id.
pub fn is_ours(id: &str) -> bool {
    let own = event_id(Timestamp::UNIX_EPOCH);
    // Time, process, pid and count; the middle two are the same in all ids of a process.
    own.splitn(4, '-')
        .skip(1)
        .take(2)
        .eq(id.splitn(4, '-').skip(1).take(2))
}

/// The process that gave an event its id.
pub fn process_of(id: &str) -> Option<u32> {
    u32::from_str_radix(id.split('-').nth(2)?, 16).ok()
}

/// Adds new events to the figures, then deletes old events, so that the journal stays bounded and the figures outlive it. Cheap
/// without work to do. Commands call it at their end with the number of their judgements: it deletes as many events as those can have
/// written, and some more, so that a long journal shrinks over several calls.
pub fn tidy_journal(
    store: &dyn LocalStore,
    now: Timestamp,
    judgements: usize,
) -> Result<u64, StoreError> {
    let older_than = now.checked_sub(KEPT).unwrap_or(Timestamp::MIN);
    let retention = EventRetention {
        older_than,
        at_least: KEPT_AT_LEAST,
        at_most: KEPT_AT_MOST,
    };
    let batches = 0..=judgements / JUDGEMENTS_A_BATCH;
    for _ in batches.clone() {
        // A failed fold must not make the journal grow: events that are old enough are deleted all the same.
        if figures::fold_events(store, FOLDED_AT_ONCE).unwrap_or(0) < FOLDED_AT_ONCE {
            break;
        }
    }
    let mut forgotten = 0;
    for _ in batches {
        let now_forgotten = store.prune(&retention)?;
        forgotten += now_forgotten;
        if now_forgotten < PRUNED_AT_ONCE {
            break;
        }
    }
    Ok(forgotten)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_its_process() {
        assert_eq!(
            process_of(&event_id(Timestamp::UNIX_EPOCH)),
            Some(std::process::id())
        );
        assert_eq!(
            [
                process_of(""),
                process_of("snapshot-0f"),
                process_of("a-b-zz-1")
            ],
            [None; 3]
        );
    }

    #[test]
    fn quick_verdicts_alone_keep_the_journal_short_too() {
        let due = |took: u64, micros: i64| {
            tidy_is_due(
                Duration::from_millis(took),
                Timestamp::from_microsecond(micros).unwrap(),
            )
        };
        let begun = 1_800_000_000_123_456;
        assert!((begun..begun + 1000).all(|micros| due(1001, micros)));
        let among_quick = (begun..begun + 6400)
            .filter(|micros| due(3, *micros))
            .count();
        assert_eq!(among_quick, 100);
    }
}
