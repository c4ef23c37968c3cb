//! Whether the system has room for what watchdog is about to do: threads, processes, memory. Looked at before anything begins, because a shortage in
//! the midst of it ends a program from below.

use std::io;
use std::sync::mpsc::channel;

/// Address space that is asked for: each thread reserves some, most of which is never used.
const ADDRESS_SPACE: u64 = 1 << 30;
/// Threads that one command uses at a time, beside those that look at files in parallel.
const THREADS: usize = 8;
/// Looking at files uses one thread for each core, of which so many are asked for at most.
const CORES: usize = 16;

/// Why there is no room.
#[derive(Debug, thiserror::Error)]
pub enum NoRoom {
    /// Too few further threads.
    #[error("no {wanted} further threads or processes may be had: {source}")]
    Threads { wanted: usize, source: io::Error },
    /// Too little address space.
    #[error("no more than {} MiB of memory may be addressed", allowed >> 20)]
    AddressSpace { allowed: u64 },
}

impl NoRoom {
    /// What helps.
    pub fn hint(&self) -> &'static str {
        match self {
            NoRoom::Threads { .. } => "end some processes, or raise ulimit -u or the limit of pids",
            NoRoom::AddressSpace { .. } => "raise ulimit -v to 1 GiB at least, or limit memory by a cgroup instead",
        }
    }
}

/// Looks whether there is room.
///
/// # Errors
/// Where there is none.
pub fn look_for_room() -> Result<(), NoRoom> {
    #[cfg(target_os = "linux")]
    if let Some(allowed) = rustix::process::getrlimit(rustix::process::Resource::As).current.filter(|allowed| *allowed < ADDRESS_SPACE) {
        return Err(NoRoom::AddressSpace { allowed });
    }
    let wanted = THREADS + std::thread::available_parallelism().map_or(1, usize::from).min(CORES);
    hold_threads(wanted).map_err(|source| NoRoom::Threads { wanted, source })
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
    fn there_is_room_where_the_tests_run_and_a_shortage_says_what_helps() {
        assert!(look_for_room().is_ok());
        let short = NoRoom::AddressSpace { allowed: 300 << 20 };
        assert_eq!(short.to_string(), "no more than 300 MiB of memory may be addressed");
        assert!(short.hint().contains("ulimit -v"));
    }
}
