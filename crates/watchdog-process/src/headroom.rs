//! Whether the system has room for what watchdog is about to do: threads, processes, memory. Looked at before anything begins, because a shortage in
//! the midst of it ends a program from below.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

/// The required address space: each thread reserves some, most of which is never used.
const ADDRESS_SPACE: u64 = 1 << 30;
/// Threads that one command uses at a time, beside those that read files in parallel.
const THREADS: usize = 8;
/// Reading files uses one thread for each core, at most this many.
const CORES: usize = 16;

/// Limits that leave so many are not tried: that would cost every small command more than its work.
const PLENTY: u64 = 1024;

/// Why there is no room.
#[derive(Debug, thiserror::Error)]
pub enum HeadroomError {
    /// Too few further threads.
    #[error("no {wanted} further threads or processes may be had: {source}")]
    Threads {
        /// How many were tried.
        wanted: usize,
        /// The operating system's error at the first that failed.
        source: io::Error,
    },
    /// Too little address space.
    #[error("no more than {} MiB of memory may be addressed", allowed >> 20)]
    AddressSpace {
        /// The limit of the process, in bytes.
        allowed: u64,
    },
}

impl HeadroomError {
    /// The remedy.
    pub fn hint(&self) -> &'static str {
        match self {
            HeadroomError::Threads { .. } => "end some processes, or raise ulimit -u or the limit of pids",
            HeadroomError::AddressSpace { .. } => "raise ulimit -v to 1 GiB at least, or limit memory by a cgroup instead",
        }
    }
}

/// Looks whether there is room.
///
/// # Errors
/// Where there is none.
pub fn check_headroom() -> Result<(), HeadroomError> {
    #[cfg(target_os = "linux")]
    if let Some(allowed) = rustix::process::getrlimit(rustix::process::Resource::As).current.filter(|allowed| *allowed < ADDRESS_SPACE) {
        return Err(HeadroomError::AddressSpace { allowed });
    }
    if limits_leave_plenty() {
        return Ok(());
    }
    let wanted = THREADS + std::thread::available_parallelism().map_or(1, usize::from).min(CORES);
    hold_threads(wanted).map_err(|source| HeadroomError::Threads { wanted, source })
}

/// Whether neither the user's own limit nor one of the control groups is near. With an exhausted high limit, starting a thread reports
/// the error.
#[cfg(target_os = "linux")]
fn limits_leave_plenty() -> bool {
    let allowed = rustix::process::getrlimit(rustix::process::Resource::Nproc).current;
    allowed.is_none_or(|allowed| allowed >= 4 * PLENTY)
        && control_groups(&std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default()).iter().all(|group| left_in(group) >= PLENTY)
}

#[cfg(not(target_os = "linux"))]
fn limits_leave_plenty() -> bool {
    false
}

/// The control groups of a process that may limit its number of processes, each with its parents, from the system's file.
fn control_groups(text: &str) -> Vec<PathBuf> {
    let folders = text.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let top = match controllers {
            "" => "/sys/fs/cgroup",
            named if named.split(',').any(|name| name == "pids") => "/sys/fs/cgroup/pids",
            _ => return None,
        };
        Some(Path::new(top).join(path.trim_start_matches('/')))
    });
    folders
        .flat_map(|folder| {
            folder.ancestors().take_while(|above| above.starts_with("/sys/fs/cgroup")).map(Path::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

/// How many processes and threads a control group still allows; as many as there may be where it has no limit.
fn left_in(group: &Path) -> u64 {
    let number = |name: &str| std::fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    match number("pids.max") {
        Some(most) => most.saturating_sub(number("pids.current").unwrap_or(0)),
        None => u64::MAX,
    }
}

/// Has this many threads at the same time, for a moment.
fn hold_threads(wanted: usize) -> io::Result<()> {
    let mut held = Vec::with_capacity(wanted);
    let mut had = Ok(());
    for _ in 0..wanted {
        let (let_go, waits) = channel::<()>();
        match std::thread::Builder::new().stack_size(64 << 10).spawn(move || waits.recv().is_err()) {
            Ok(thread) => held.push((let_go, thread)),
            Err(error) => {
                had = Err(error);
                break;
            }
        }
    }
    for (let_go, thread) in held {
        drop(let_go);
        // It waits for nothing but this.
        let _ = thread.join();
    }
    had
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_groups_above_count_as_well() {
        let groups = |text: &str| control_groups(text).iter().map(|group| group.display().to_string()).collect::<Vec<_>>();
        assert_eq!(
            groups("0::/user.slice/a.scope\n"),
            ["/sys/fs/cgroup/user.slice/a.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"]
        );
        assert_eq!(groups("5:cpu,cpuacct:/x\n4:pids:/y\n")[0], "/sys/fs/cgroup/pids/y");
        assert_eq!(groups("nonsense"), [""; 0]);
    }

    #[test]
    fn a_control_group_with_a_limit_leaves_what_is_not_used() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        assert_eq!(left_in(scratch.path()), u64::MAX);
        for (most, left) in [("max\n", u64::MAX), ("100\n", 58), ("10\n", 0)] {
            std::fs::write(scratch.path().join("pids.max"), most).expect("a file can be written");
            std::fs::write(scratch.path().join("pids.current"), "42\n").expect("a file can be written");
            assert_eq!(left_in(scratch.path()), left, "{most}");
        }
    }

    #[test]
    fn there_is_room_where_the_tests_run_and_a_shortage_says_what_helps() {
        assert!(check_headroom().is_ok());
        let short = HeadroomError::AddressSpace { allowed: 300 << 20 };
        assert_eq!(short.to_string(), "no more than 300 MiB of memory may be addressed");
        assert!(short.hint().contains("ulimit -v"));
    }
}
