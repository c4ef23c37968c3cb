//! The Linux parts of `crate`.

mod arenas;
mod control_groups;
mod file_system;
mod mount_namespace;
mod pidfd;
mod proc_files;
mod process_table;
mod tree_mark;

use std::time::Duration;

use rustix::fd::AsFd;
use rustix::time::{ClockId, clock_gettime};

use crate::BootReading;

pub use arenas::limit_arenas;
pub use control_groups::{address_space_limit, control_group, limits_leave_plenty};
pub use file_system::{FOLDER_TO_ENTER, file_system_kind, flush_file_system, list_folder};
pub use mount_namespace::{NOT_MOUNTED, mount_folder};
pub use pidfd::{hold_process, signal_held, wait_for_held};
pub use proc_files::{
    find_holder, folder_of, handles_signal, host_name, list_working_folders, program_words,
    reopen_stream, stdin_of, with_variable,
};
pub use process_table::{
    children_of_main_thread, command_line, of_ticks, process_life, program_file, read_all,
    read_below, read_one, read_uptime, read_variable, signal_process,
};
pub use tree_mark::{mark_of, start_with_mark};

/// The most that a pipe which is ready for writing takes at once for sure.
pub const PIPE_PIECE: usize = 4096;

/// Makes this process the parent of orphans below it; `false` where the system has no such thing.
pub fn adopt_orphans() -> bool {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok()
}

/// Gives the calling thread the lowest priority, where threads have their own.
pub fn lower_thread_priority() {
    // A refusal changes only the speed.
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 19);
}

/// Has the kernel keep so many bytes of a pipe, where it lets us.
pub fn enlarge_pipe(pipe: impl AsFd, bytes: usize) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, bytes);
}

/// The time since boot, which nobody can set and which counts while the machine sleeps.
pub fn time_since_boot() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(
        now.tv_sec.unsigned_abs(),
        u32::try_from(now.tv_nsec).unwrap_or_default(),
    )
}

/// The time since boot in which the machine was awake.
pub fn time_awake() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(
        now.tv_sec.unsigned_abs(),
        u32::try_from(now.tv_nsec).unwrap_or_default(),
    )
}

/// The boot and the time since; `None` where the system names no boot.
pub fn boot_reading() -> Option<BootReading> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let milliseconds = std::fs::read_to_string("/proc/uptime")
        .ok()
        .and_then(|text| parse_milliseconds(&text))?;
    Some(BootReading {
        boot: boot.trim().to_string(),
        milliseconds,
    })
}

/// `12.34 56.78` as milliseconds of the first number.
fn parse_milliseconds(uptime: &str) -> Option<i64> {
    let (seconds, fraction) = uptime.split_whitespace().next()?.split_once('.')?;
    let fraction: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    seconds
        .parse::<i64>()
        .ok()?
        .checked_mul(1000)?
        .checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptime_has_milliseconds_and_nonsense_is_refused() {
        for (text, expected) in [
            ("12.34 5.6\n", Some(12_340)),
            ("0.01 0", Some(10)),
            ("7.5", Some(7_500)),
            ("", None),
            ("12", None),
            ("x.y", None),
        ] {
            assert_eq!(parse_milliseconds(text), expected, "{text:?}");
        }
    }
}
