//! Where a session begins and ends: its baseline, and waiting for its end.

pub mod anchor;

mod baseline;
mod conversation;
mod end;
mod inside;

pub use baseline::{RecordedBaseline, UncommittedRule, record, recorded, spec_of_new_session};
pub use conversation::{ProbeTarget, SessionIdSource, note_conversations};
pub use end::{describe_end, log_path};
pub use inside::{inside, inside_of};
