//! Whether the system has room for what watchdog is about to do: threads, processes, memory. Looked at before anything begins, because a shortage in
//! the midst of it ends a program from below.

use std::io;
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
            HeadroomError::Threads { .. } => {
                "end some processes, or raise ulimit -u or the limit of pids"
            }
            HeadroomError::AddressSpace { .. } => {
                "raise ulimit -v to 1 GiB at least, or limit memory by a cgroup instead"
            }
        }
    }
}

/// Looks whether there is room.
///
/// # Errors
/// If there is none.
pub fn check_headroom() -> Result<(), HeadroomError> {
    if let Some(allowed) =
        watchdog_system::address_space_limit().filter(|allowed| *allowed < ADDRESS_SPACE)
    {
        return Err(HeadroomError::AddressSpace { allowed });
    }
    // With an exhausted high limit, starting a thread reports the error.
    if watchdog_system::limits_leave_plenty(PLENTY) {
        return Ok(());
    }
    let wanted = THREADS
        + std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(CORES);
    hold_threads(wanted).map_err(|source| HeadroomError::Threads { wanted, source })
}

/// Has this many threads at the same time, for a moment.
fn hold_threads(wanted: usize) -> io::Result<()> {
    let mut threads = Vec::with_capacity(wanted);
    let mut had = Ok(());
    for _ in 0..wanted {
        let (let_go, waits) = channel::<()>();
        match std::thread::Builder::new()
            .stack_size(64 << 10)
            .spawn(move || waits.recv().is_err())
        {
            Ok(thread) => threads.push((let_go, thread)),
            Err(error) => {
                had = Err(error);
                break;
            }
        }
    }
    for (let_go, thread) in threads {
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
    fn headroom_suffices_for_tests_and_shortage_names_remedy() {
        assert!(check_headroom().is_ok());
        let short = HeadroomError::AddressSpace { allowed: 300 << 20 };
        assert_eq!(
            short.to_string(),
            "no more than 300 MiB of memory may be addressed"
        );
        assert!(short.hint().contains("ulimit -v"));
    }
}
