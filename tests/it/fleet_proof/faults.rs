//! What goes wrong in a round, drawn from its seed.

use std::time::Duration;

use crate::support::random_tree::Dice;

/// A fault, and how long it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetFault {
    /// A watchdog is killed, and started again after a while.
    KillMachine(usize),
    /// A machine stands still for longer than its lease, and goes on.
    StopMachine(usize),
    /// The connections of a machine end in the middle of whatever they carry.
    CutWay(usize),
    /// Everything between a machine and the server takes longer.
    DelayWay(usize, Duration),
    /// Nothing of a machine reaches the server, and it is not told.
    ShutWay(usize),
    /// The server ends as in a power cut, and comes back.
    StopServer,
}

impl FleetFault {
    /// Draws one for so many machines.
    pub fn random(dice: &mut Dice, machines: usize) -> Self {
        let machine = dice.roll(machines);
        match dice.roll(12) {
            0..4 => FleetFault::KillMachine(machine),
            4 | 5 => FleetFault::StopMachine(machine),
            6 | 7 => FleetFault::CutWay(machine),
            8 => FleetFault::DelayWay(machine, Duration::from_millis(50 + dice.roll(400) as u64)),
            9 | 10 => FleetFault::ShutWay(machine),
            _ => FleetFault::StopServer,
        }
    }

    /// For the tally.
    pub fn name(self) -> &'static str {
        match self {
            FleetFault::KillMachine(_) => "watchdog killed",
            FleetFault::StopMachine(_) => "machine stood still",
            FleetFault::CutWay(_) => "connections cut",
            FleetFault::DelayWay(..) => "connections slow",
            FleetFault::ShutWay(_) => "server not reached",
            FleetFault::StopServer => "server stopped at once",
        }
    }

    /// How long it lasts.
    pub fn lasts(self, dice: &mut Dice) -> Duration {
        let tenths = match self {
            FleetFault::KillMachine(_) => 2 + dice.roll(20),
            // Longer than the lease of three seconds.
            FleetFault::StopMachine(_) => 35 + dice.roll(20),
            FleetFault::CutWay(_) => 0,
            FleetFault::DelayWay(..) | FleetFault::ShutWay(_) => 5 + dice.roll(45),
            FleetFault::StopServer => 2 + dice.roll(15),
        };
        Duration::from_millis(100 * tenths as u64)
    }
}
