//! A wall clock that leaps ahead of all other clocks, as it does for a process whose machine slept. No test can put the machine to
//! sleep, or set the clock that all share; so the one that a single process reads is shifted on its way out of the C library.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::TestEnv;
use super::command::Run;

/// Only the wall clock is shifted: the clock that timers run by stands still while a machine sleeps.
const SHIFTED: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *at) {
    long failed = syscall(SYS_clock_gettime, clock, at);
    const char *slept = getenv("TEST_SLEPT");
    char seconds[16] = "";
    int before = errno;
    int file = !failed && clock == CLOCK_REALTIME && slept ? open(slept, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0 && read(file, seconds, sizeof seconds - 1) > 0) at->tv_sec += atol(seconds);
    if (file >= 0) close(file);
    errno = before;
    return (int) failed;
}
"#;

/// The wall clock of chosen processes.
pub struct WallClock {
    library: PathBuf,
    slept: PathBuf,
}

impl WallClock {
    /// A clock that is right as yet. Needs the C compiler that Rust links with.
    pub fn new(env: &TestEnv) -> Self {
        let source = env.write("clock/shifted.c", SHIFTED);
        let library = source.with_file_name("shifted.so");
        let _compiled = env.command("cc", &env.root()).args(["-shared", "-fPIC", "-o"]).args([&library, &source]).run().expect(0);
        WallClock { slept: source.with_file_name("slept"), library }
    }

    /// Has a program read this clock.
    pub fn read_by(&self, run: Run) -> Run {
        run.env("LD_PRELOAD", self.library.as_os_str().to_string_lossy().as_ref()).env("TEST_SLEPT", self.slept.to_string_lossy().as_ref())
    }

    /// So much later than all other clocks have it. Replaced whole, as it may be read at this moment.
    pub fn be_ahead_by(&self, time: Duration) {
        let next = self.slept.with_file_name("next");
        fs::write(&next, time.as_secs().to_string()).expect("the scratch folder takes a file");
        fs::rename(next, &self.slept).expect("it takes its place");
    }
}
