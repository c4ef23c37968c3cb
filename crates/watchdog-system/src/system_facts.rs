//! Facts of a process, of the boot and of a folder, in one form for all systems.

use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::fd::OwnedFd;

/// A process, as the system's table shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRow {
    /// Its number.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// Its session.
    pub session: u32,
    /// It has ended and waits to be reaped.
    pub dead: bool,
    /// When it began, in clock ticks since the boot. With the pid this names it, but for a pid reused within one tick.
    pub started: u64,
    /// Processor time of its own and of children that it has waited for, in the same ticks.
    pub ticks: u64,
    /// The name of its program.
    pub name: String,
}

/// Whether a process runs, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessLife {
    /// It does not run; it may wait to be reaped.
    Gone,
    /// It runs.
    Running {
        /// When it began, since 1970 by the wall clock of the boot; `None` where the system does not show it.
        began: Option<Duration>,
    },
}

/// A process, and what it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedProcess {
    /// Its number.
    pub pid: u32,
    /// Its name or its command line.
    pub name: String,
}

/// A moment of the clock that no process can set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootReading {
    /// Names the boot.
    pub boot: String,
    /// Milliseconds since then, with the time that the machine slept.
    pub milliseconds: i64,
}

/// A process by a descriptor: whatever its pid is reused for, this names that very one.
#[derive(Debug)]
#[cfg_attr(
    any(not(target_os = "linux"), feature = "other-systems"),
    expect(dead_code, reason = "only Linux has what it holds")
)]
pub struct ProcessHandle(pub(crate) OwnedFd);

/// The buffer that the kernel fills when it lists a folder; reused from folder to folder.
#[derive(Default)]
#[cfg_attr(
    any(not(target_os = "linux"), feature = "other-systems"),
    expect(dead_code, reason = "only Linux has what it holds")
)]
pub struct ListingBuffer(pub(crate) Vec<MaybeUninit<u8>>);
