//! The last answer of a fleet's server about its machines, kept with the copies of their events for
//! when it is away.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::row::{self, RecordType};
use crate::engine::LocalStore;
use crate::error::StoreError;
use crate::key::RowKey;

/// A machine, as the server knew it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenMachine {
    /// Its name in the fleet.
    pub name: String,
    /// Its last heartbeat, by the server's clock.
    pub seen_at: Timestamp,
    /// Seconds between that and the reading, by the server's clock.
    pub silent_seconds: u64,
}

/// The machines, and when they were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenMachines {
    /// When the server said so, by the clock of this machine.
    pub read_at: Timestamp,
    /// By name.
    pub machines: Vec<SeenMachine>,
}

impl RecordType for SeenMachines {
    const KIND: &'static str = "seen_machines";
}

fn machines_key(fleet: &str) -> RowKey {
    RowKey::new(SeenMachines::KIND, &[fleet])
}

/// Keeps what the server said.
///
/// # Errors
/// If it cannot be written.
pub fn record_machines(
    store: &dyn LocalStore,
    fleet: &str,
    seen: &SeenMachines,
) -> Result<(), StoreError> {
    row::overwrite_row(store, &machines_key(fleet), seen)
}

/// The last answer, if there was one.
///
/// # Errors
/// If the store cannot be read.
pub fn read_machines(
    store: &dyn LocalStore,
    fleet: &str,
) -> Result<Option<SeenMachines>, StoreError> {
    row::load_row(store, &machines_key(fleet))
}
