//! `watchdog fleet`: the setting that says which server this machine shares, joining and leaving.

mod fleet_setting;
mod membership;

pub use fleet_setting::{FleetSetting, FleetSettingError};
pub use membership::{LeftFleet, join_fleet, leave_fleet};
