//! `watchdog fleet`: the setting that says which server this machine shares, joining and leaving; and the copies of what happens here, which
//! are sent beside the work, so that no verdict waits for a server.
//!
//! Reading order: `fleet_setting`, `membership`, `copying` (the journal to the server, in order, once), `copy_worker` (in a thread of its own,
//! for commands that stay), `copies` (of this machine).

mod copies;
mod copy_worker;
mod copying;
mod fleet_setting;
mod membership;

pub use copies::{COUNTED, WaitingCopies, begin_copies, copy_now, waiting_copies};
pub use copy_worker::CopyWorker;
pub use fleet_setting::{FleetSetting, FleetSettingError};
pub use membership::{LeftFleet, join_fleet, leave_fleet};
