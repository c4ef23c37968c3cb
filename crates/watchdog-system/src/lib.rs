//! The abilities that only Linux has, and their substitutes on other systems; and the one reader of
//! files that others may write, and of git's settings in the environment. No other crate asks which system it runs on:
//! `tests/it/one_system.rs` holds it.
//!
//! | what | on Linux | elsewhere |
//! |---|---|---|
//! | [`read_all`], [`read_below`], [`read_one`], [`command_line`], [`read_variable`], … | `/proc` | [`read_all`] is `Unsupported` and the rest nothing: a tree is its process group, and nobody's ancestry is known |
//! | [`hold_process`], [`signal_held`], [`wait_for_held`] | a pidfd | `ENOSYS`; callers poll the pid |
//! | [`process_life`] | `/proc`, with the moment of its begin | `kill(pid, 0)`; a reused pid is taken for the first one |
//! | [`adopt_orphans`] | `PR_SET_CHILD_SUBREAPER` | no: daemons that left the group are not found |
//! | [`start_with_mark`], [`mark_of`] | the soft limit of message queues | no mark |
//! | [`handles_signal`] | `SigCgt` | assumed: this version has a handler |
//! | [`find_holder`], [`with_variable`] | open files, folders and environments in `/proc` | nobody is seen |
//! | [`control_group`] | `/proc` | nothing |
//! | [`address_space_limit`], [`limits_leave_plenty`] | limits and control groups | threads are tried |
//! | [`lower_thread_priority`] | nice of one thread | like any other thread |
//! | [`limit_arenas`] | glibc's number of arenas | as many as the C library likes |
//! | [`boot_reading`] | boot id and `/proc/uptime` | nothing; leases go by the wall clock |
//! | [`time_since_boot`] | `CLOCK_BOOTTIME` | `CLOCK_MONOTONIC`, which counts sleep on macOS |
//! | [`time_awake`] | `CLOCK_MONOTONIC` | the same as [`time_since_boot`] |
//! | [`folder_of`], [`list_working_folders`] | the link `cwd` in `/proc` | unknown: no agent is found by its folder |
//! | [`file_system_kind`] | `statfs` | unknown: a sweep reads each worktree again, and SQLite itself refuses a log that it cannot share |
//! | [`flush_file_system`] | `syncfs` | none; files are flushed one by one, or all by `sync` |
//! | [`list_folder`] | `getdents64` into a buffer that is reused | `readdir` |
//! | [`FOLDER_TO_ENTER`] | `O_PATH` | `O_RDONLY`: a folder that may be entered but not listed is unreadable |
//! | [`reopen_stream`], [`enlarge_pipe`], [`PIPE_PIECE`] | `/proc/self/fd`, `F_SETPIPE_SZ`, 4096 bytes | no reopening, the size as it is, 512 bytes |
//! | [`mount_folder`] | namespaces of mounts and users | no start: a scratch checkout runs at its own path |
//! | [`host_name`] | `/proc/sys/kernel/hostname` | `/etc/hostname`, where it is |

#![warn(missing_docs)]

use std::sync::{Mutex, MutexGuard, PoisonError};

mod git_settings;
#[cfg(all(target_os = "linux", not(feature = "other-systems")))]
mod linux;
#[cfg(any(not(target_os = "linux"), feature = "other-systems", test))]
mod other_systems;
mod regular_file;
mod system_facts;

#[cfg(all(target_os = "linux", not(feature = "other-systems")))]
use linux as here;
#[cfg(not(all(target_os = "linux", not(feature = "other-systems"))))]
use other_systems as here;

// A list for all systems: what one of them lacks does not compile there.
pub use git_settings::{
    GitQuestion, ask_git, ask_git_with, distrust_git_settings, read_git_settings,
};
pub use here::{
    FOLDER_TO_ENTER, NOT_MOUNTED, PIPE_PIECE, address_space_limit, adopt_orphans, boot_reading,
    children_of_main_thread, command_line, control_group, enlarge_pipe, file_system_kind,
    find_holder, flush_file_system, folder_of, handles_signal, hold_process, host_name,
    limit_arenas, limits_leave_plenty, list_folder, list_working_folders, lower_thread_priority,
    mark_of, mount_folder, of_ticks, process_life, program_file, program_words, read_all,
    read_below, read_one, read_uptime, read_variable, reopen_stream, signal_held, signal_process,
    start_with_mark, stdin_of, time_awake, time_since_boot, wait_for_held, with_variable,
};
pub use regular_file::{
    is_missing, open_regular_file, read_behind, read_entries, read_regular_begin, read_regular_file,
};
pub use system_facts::{
    BootReading, ListingBuffer, NamedProcess, ProcessHandle, ProcessLife, ProcessRow,
};

/// Locks a mutex, also after a thread panicked with it: its value is whole at any moment.
pub fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
