//! How many arenas the C library keeps, from which the threads of this process get memory.
//!
//! glibc keeps up to eight for each processor, and each stays as large as its threads ever made it: threads that come and go, as those of
//! a long watch, make all of them grow.

/// Has threads share so many arenas at most, where the C library has more than one. A process that
/// must go on when the address space runs short skips this limit: a thread's own arena has room
/// left, the shared ones cannot grow.
pub fn limit_arenas(most: u8) {
    #[cfg(target_env = "gnu")]
    {
        // glibc's malloc.h.
        const M_ARENA_MAX: i32 = -8;
        // SAFETY: the declaration is that of glibc's malloc.h; `mallopt` takes any two numbers, and refuses those it does not know.
        unsafe extern "C" {
            safe fn mallopt(parameter: i32, value: i32) -> i32;
        }
        // A refusal changes only the size.
        let _ = mallopt(M_ARENA_MAX, i32::from(most));
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = most;
}

#[cfg(target_env = "gnu")]
#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::limit_arenas;

    /// The arenas of threads that run at once, counted: glibc begins each at a multiple of 64 MiB.
    fn arenas_of_threads(threads: usize) -> usize {
        let all = Barrier::new(threads);
        let taken = || {
            let bytes = vec![0_u8; 4096];
            all.wait();
            bytes.as_ptr().addr() >> 26
        };
        let mut arenas: Vec<usize> = std::thread::scope(|scope| {
            (0..threads)
                .map(|_| scope.spawn(taken))
                .collect::<Vec<_>>()
                .into_iter()
                .map(|thread| thread.join().expect("a thread"))
                .collect()
        });
        arenas.sort_unstable();
        arenas.dedup();
        arenas.len()
    }

    #[test]
    fn threads_share_no_more_arenas_than_the_limit() {
        limit_arenas(2);
        // The test's own process may have made one more for its threads before.
        assert!(arenas_of_threads(12) <= 3);
    }
}
