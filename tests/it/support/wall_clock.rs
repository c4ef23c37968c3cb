//! A wall clock that leaps ahead of all other clocks, as it does for a process whose machine slept. No test can put the machine to
//! sleep, or set the clock that all share; so the one that a single process reads is shifted on its way out of the C library.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::TestEnv;
use super::command::Run;

/// Only the wall clock is shifted: the clock that timers run by stands still while a machine sleeps.
const SHIFTED: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int (*unshifted)(clockid_t, struct timespec *);
static const volatile long long *slept;

/* Before the first clock is read, and once: a program reads clocks thousands of times a second. */
static void begin(void) {
    const char *name = getenv("TEST_SLEPT");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    void *seconds = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *slept, PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (seconds != MAP_FAILED) slept = seconds;
    unshifted = (int (*)(clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    if (!unshifted) begin();
    int failed = unshifted(clock, at);
    if (!failed && clock == CLOCK_REALTIME && slept) at->tv_sec += *slept;
    return failed;
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
        let slept = env.write("clock/slept", 0_i64.to_ne_bytes());
        WallClock {
            library: library(env),
            slept,
        }
    }

    /// Has a program read this clock.
    pub fn read_by(&self, run: Run) -> Run {
        run.env("LD_PRELOAD", self.library.to_string_lossy().as_ref())
            .env("TEST_SLEPT", self.slept.to_string_lossy().as_ref())
    }

    /// So much later than all other clocks have it.
    pub fn be_ahead_by(&self, time: Duration) {
        self.shift(i64::try_from(time.as_secs()).expect("no machine sleeps for so long"));
    }

    /// At this moment, in Unix seconds, and running on from it.
    pub fn stand_at(&self, moment: u64) {
        let now = std::time::UNIX_EPOCH
            .elapsed()
            .expect("a clock after 1970")
            .as_secs();
        self.shift(moment.cast_signed() - now.cast_signed());
    }

    /// Written in place, in one step: programs that run look at these very bytes.
    fn shift(&self, seconds: i64) {
        let file = fs::OpenOptions::new()
            .write(true)
            .open(&self.slept)
            .expect("it is there");
        file.write_all_at(&seconds.to_ne_bytes(), 0)
            .expect("it takes eight bytes");
    }
}

/// The library that shifts the clock. It is compiled once for all tests, and again when its source changes.
fn library(env: &TestEnv) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    SHIFTED.hash(&mut hasher);
    let library = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("shifted-clock-{:x}.so", hasher.finish()));
    if !library.exists() {
        let source = env.write("clock/shifted.c", SHIFTED);
        let fresh = tempfile::Builder::new()
            .prefix("shifted-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .expect("a folder of our own");
        let compiled = fresh.path().join("shifted.so");
        let args = ["-O1", "-shared", "-fPIC", "-o"];
        let _compiled = env
            .command("cc", &env.root())
            .args(args)
            .args([&compiled, &source])
            .args(["-ldl"])
            .run()
            .expect(0);
        // In one step, as tests beside this one need it as well.
        fs::rename(&compiled, &library).expect("it takes its place");
    }
    library
}
