//! A system without room: no thread, no process, no memory to be had.

use crate::support::TestEnv;

#[test]
fn without_room_for_memory_or_threads_nothing_is_begun_and_the_error_says_what_helps() {
    let env = TestEnv::new();
    let repo = env.repo();
    for kilobytes in ["60000", "140000", "250000", "400000", "900000"] {
        let args = ["-c", "ulimit -v \"$1\"; shift; exec \"$@\"", "sh", kilobytes, env!("CARGO_BIN_EXE_watchdog")];
        let run = ["run", "--json", "--max-probes", "0", "--", "sh", "-c", "touch begun"];
        let out = env.command("sh", repo.path()).args(args).args(run).run().expect(16);
        assert!(out.stderr.contains("ulimit -v"), "{out}");
        assert!(!repo.has("begun"), "{out}");
        assert!(!repo.has(".git/index.lock"), "{out}");
    }
}
