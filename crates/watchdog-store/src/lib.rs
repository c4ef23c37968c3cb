//! Only the database and the files beside it: journal, baselines, breakers, leases, locks, trust.
//!
//! - `state_dir`: where everything lives, and who may touch it ([`StateDir`]).
//! - [`engine`]: the traits [`SharedStore`] and [`LocalStore`], which know nothing of SQLite; `sqlite` implements both ([`SqliteStore`]);
//!   [`open_store`] opens the records of this machine.
//! - [`journal`], [`anchor`], [`answer`], [`baseline`], [`check_cache`], [`conversation`], [`copied`], [`expiry`], [`figures`],
//!   [`hook_session`], [`left_rows`], [`looped`], [`notice_record`], [`outbox`], [`progress`], [`refs`], [`session`], [`sweep_cache`],
//!   [`task`], [`uncommitted`]: typed, versioned rows over any [`LocalStore`].
//! - [`task_store`]: where tasks are recorded: here ([`task_store::LocalTasks`]), or in the table of a fleet.
//! - [`tally`]: what events add to the figures; [`measures`]: what several events of a spec come to together.
//! - [`rebuild`]: restores rows from git's refs, which are the source of truth.
//! - [`lock`], [`trust`]: plain files, so that they work where the database does not.
//!
//! Rescue never waits for this room: every failure here is a value, which the caller reports before it continues.

#![warn(missing_docs, unreachable_pub)]

mod access_lock;
mod clock;
mod codec;
#[cfg(test)]
mod conformance;
mod counters;
mod error;
pub mod event_kinds;
mod file;
mod key;
mod open;
mod original_settings;
mod records;

pub mod engine;
pub mod journal;
pub mod lock;
mod lock_patience;
pub mod measures;
mod notes;
pub mod rebuild;
#[cfg(test)]
pub mod shared_suite;
mod sqlite;
mod state_dir;
pub mod tally;
pub mod task_store;
#[cfg(test)]
pub mod task_suite;
pub mod trust;

pub use codec::{path_from_text, path_to_text, short_hash};
pub use engine::{LocalStore, SharedStore};
pub use error::StoreError;
pub use file::replace_file as replace_private_file;
pub use key::RowKey;
pub use notes::{StoreNotes, is_first_note, take_unread_notes};
pub use open::{open_store, open_store_to_read};
pub use original_settings::OriginalSettings;
pub use records::{
    RecordType, RowsByWorktree, account, anchor, answer, baseline, before, check_cache,
    conversation, copied, expiry, figures, hook_session, left_rows, looped, notice_record, outbox,
    progress, rebuilt, refs, rescued, seen_machines, session, still_work, sweep_cache, task,
    uncommitted, verdict_parts,
};
pub use sqlite::{GONE, STORE_FORMAT, SqliteStore, damaged_databases};
pub use state_dir::StateDir;
