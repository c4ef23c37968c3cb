//! Where a session begins and ends: its baseline, and waiting for its end.

pub mod anchor;

mod baseline;
mod end;

pub use baseline::{Recorded, record, recorded};
pub use end::{describe_end, log_path};
