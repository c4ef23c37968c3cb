//! The server of a fleet as the giver of slots for questions, and the way to it, which the modes know.

use std::time::Duration;

use watchdog_store::StateDir;

/// What the server of a fleet says of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerSlot {
    /// This machine has it.
    Given,
    /// The others have all of them.
    Full,
    /// The account has no cap any more.
    NoCap,
}

/// The server that gives the slots of an account. Every call ends within a deadline of its own.
pub trait SlotServer: Send + Sync {
    /// Asks for the slot of this name.
    ///
    /// # Errors
    /// Why the server cannot be used.
    fn take(&self, slot: &str, lasts: Duration) -> Result<ServerSlot, String>;

    /// Gives it back; one that does not arrive ends by itself.
    fn give_back(&self, slot: &str);
}

/// Reaches the server for an account.
pub type ConnectSlots = fn(&StateDir, &str) -> Result<Box<dyn SlotServer>, String>;
