//! Runs git for the room `git`, which starts no process: where a repository keeps its refs in a format that only git reads, and where
//! git's own words about its configuration count.

use std::path::Path;
use std::time::Duration;

use watchdog_facts::evidence::ProcessExit;
use watchdog_git::{GitProcessOutput, GitRunner, serve_with};
use watchdog_process::ProgramPurpose;
use watchdog_process::git_program::{ask_git_config, build_environment};
use watchdog_process::program::ProgramRun;
use watchdog_store::StateDir;

/// Reading refs takes a moment; writing waits for a lock.
const DEADLINE: Duration = Duration::from_secs(60);
/// Bytes of an answer, for about half a million refs. A longer answer is refused, because its missing part is unknown.
const KEEP: usize = 64 << 20;

/// Lets git read and write the refs of repositories in the reftable format, and tell of its configuration, for the rest of this process.
pub fn serve_refs(state: &StateDir) {
    serve_with(GitProcessRunner, state.served_refs_dir());
    watchdog_system::ask_git_with(ask_git_config);
}

struct GitProcessRunner;

impl GitRunner for GitProcessRunner {
    fn run(&self, folder: &Path, args: &[&str], stdin: &[u8]) -> Result<GitProcessOutput, String> {
        let mut program = ProgramRun::new([&["git"], args].concat(), folder);
        program.env = build_environment(folder);
        for (name, value) in [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            // No program of a remote runs because an object is missing.
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_COMMITTER_NAME", "watchdog"),
            ("GIT_COMMITTER_EMAIL", "watchdog@localhost"),
            // Its words are shown, and one of them is looked for.
            ("LC_ALL", "C"),
        ] {
            program.env.insert(name.into(), Some(value.into()));
        }
        program.stdin = stdin.to_vec();
        (program.deadline, program.keep, program.purpose) = (DEADLINE, KEEP, ProgramPurpose::Git);
        let finished = program.run().map_err(|error| error.to_string())?;
        if finished.timed_out {
            return Err(format!("it did not end within {} s", DEADLINE.as_secs()));
        }
        if finished.stdout.dropped > 0 {
            return Err(format!("its answer is longer than {} MiB", KEEP >> 20));
        }
        let code = match finished.exit {
            ProcessExit::Code(code) => Some(code),
            ProcessExit::Signal(_) => None,
        };
        Ok(GitProcessOutput {
            code,
            stdout: finished.stdout.bytes,
            stderr: String::from_utf8_lossy(&finished.stderr.bytes).into_owned(),
        })
    }
}
