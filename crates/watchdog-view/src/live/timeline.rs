//! The events of a worktree and its snapshots, each on one line. Pure.

use jiff::{Timestamp, Zoned};

use crate::amounts::{format_age, format_size};
use watchdog_facts::display::{cut_text, escape_to_one_line, plural};
use watchdog_git::SnapshotSummary;
use watchdog_judge::clock::local_time::local_time;
use watchdog_judge::wire::event_sentences::describe_event;
use watchdog_store::engine::StoredEvent;

/// Bytes of a sentence.
const SENTENCE: usize = 400;

/// An event on one line: when, and what happened.
pub fn event_line(event: &StoredEvent, now: &Zoned) -> String {
    let event_text = escape_to_one_line(&cut_text(
        &describe_event(event, &|at| local_time(at, now)),
        SENTENCE,
    ));
    format!("{:<16}  {event_text}", local_time(event.at, now))
}

/// A snapshot on one line.
pub fn snapshot_line(snapshot: &SnapshotSummary, now: Timestamp) -> String {
    let id = escape_to_one_line(&snapshot.id);
    let files = plural(snapshot.files, "file");
    let why = escape_to_one_line(&snapshot.why);
    format!(
        "{:<14}  {files}, {}  {why}  {id}",
        format_age(snapshot.at, now),
        format_size(snapshot.bytes)
    )
}
