//! The way to the server that gives slots for questions, for whoever begins a command.

use crate::judge::slot_server::ConnectSlots;

/// Reaches the server of the fleet; `None` in a build without one.
pub fn connect_slots() -> Option<ConnectSlots> {
    #[cfg(feature = "fleet")]
    let connect: Option<ConnectSlots> = Some(crate::modes::fleet::connect_slots);
    #[cfg(not(feature = "fleet"))]
    let connect = None;
    connect
}
