//! `watchdog fleet`: the setting that says which server this machine shares, joining and leaving; and the copies of what happens here, which
//! are sent beside the work, so that no verdict waits for a server.
//!
//! Reading order: `fleet_setting`, `membership`, `shared_repository`, `copying` (the journal to the server, in order, once), `copy_worker` (in a
//! thread of its own, for commands that stay), `copies` (of this machine), `following` (the events of all machines), `mirror` and `mirrored` (what
//! was read of them), `account_limits` (usage limits of an account that several machines share),
//! `account_standing` (how it stands), `fleet_findings` (what a doctor says of it), `recorded_membership` (the fleet as the judge asks for it).

mod account_limits;
mod account_standing;
mod copies;
mod copy_worker;
mod copying;
mod fleet_findings;
mod fleet_setting;
mod following;
mod membership;
mod mirror;
mod mirrored;
mod recorded_membership;
mod shared_repository;

pub use account_limits::{ClearedLimits, clear_account_limits, use_account};
pub use account_standing::{AccountFault, AccountStanding, account_as_recorded};
pub use copies::{COUNTED, begin_copies, copy_handed_over, copy_now, waiting_copies};
pub use copy_worker::CopyWorker;
pub use fleet_setting::{FleetSetting, FleetSettingError};
pub use following::{FleetJournal, FollowedNews};
pub use membership::{LeftFleet, join_fleet, leave_fleet};
pub use mirror::{FleetMirror, MirrorState};
pub use recorded_membership::RecordedMembership;
pub use shared_repository::{
    SharingProposal, keep_shared_repository, shared_repositories, shared_repository,
    sharing_proposal,
};
