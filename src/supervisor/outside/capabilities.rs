//! The outside as checks see it, for real.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::agent::{Cancel, Kept, Leftovers, Program, StartError};
use crate::checks::{
    BoundedText, Capabilities, Captured, CommandOutput, CommandRequest, CommandRun, Exchange, FoundFile, JudgeAnswer, JudgeRequest, Pushed,
    Touched,
};
use crate::config::settings::CommandLine;
use crate::decision::evidence::{Changes, Commits, Fact, FaultKind, Unreadable};
use crate::git::{self, Point, Worktree};
use crate::rescue;

use super::super::case::Case;
use super::{judge_program, worktree_files};

/// The outside of one judgement.
pub struct Outside<'a> {
    case: &'a Case,
    root: &'a Path,
    cancel: &'a Cancel,
    begun: Instant,
}

impl<'a> Outside<'a> {
    /// The outside of a case. Commands end when `cancel` is raised.
    pub fn new(case: &'a Case, root: &'a Path, cancel: &'a Cancel) -> Self {
        Outside { case, root, cancel, begun: Instant::now() }
    }

    fn worktree<T>(&self, look: impl FnOnce(&Worktree) -> T) -> T {
        look(&self.case.worktree.lock().expect("no panic while it was held"))
    }

    /// The folder that a command runs in; one that a symbolic link leads out of the worktree is refused.
    fn folder(&self, cwd: Option<&str>) -> Result<PathBuf, String> {
        let Some(cwd) = cwd else { return Ok(self.root.to_owned()) };
        let folder = self.root.join(cwd).canonicalize().map_err(|error| format!("{cwd}: {error}"))?;
        if folder.starts_with(self.root) { Ok(folder) } else { Err(format!("{cwd} leads out of the worktree")) }
    }
}

impl Capabilities for Outside<'_> {
    fn clock(&self) -> Duration {
        self.begun.elapsed()
    }

    fn run_command(&self, request: &CommandRequest<'_>) -> CommandRun {
        let folder = match self.folder(request.cwd) {
            Ok(folder) => folder,
            Err(why) => return CommandRun::Unrunnable { why },
        };
        let argv: Vec<String> = match request.line {
            CommandLine::Shell(line) => vec!["sh".into(), "-c".into(), line.clone()],
            CommandLine::Argv(argv) => argv.clone(),
        };
        let mut program = Program::new(argv, folder);
        program.deadline = request.timeout;
        program.stdin = request.stdin.to_vec();
        let spec = std::ffi::OsString::from(&self.case.spec);
        program.env.insert("WATCHDOG_SPEC".into(), Some(spec));
        match program.run_with(self.cancel, Leftovers::End) {
            Ok((finished, _)) => {
                let output = CommandOutput { stdout: captured(finished.stdout), stderr: captured(finished.stderr) };
                match finished.timed_out || self.cancel.is_cancelled() {
                    true => CommandRun::TimedOut { output },
                    false => CommandRun::Finished { exit: finished.exit, output },
                }
            }
            Err(StartError::NotRunnable { program, why }) => CommandRun::Unrunnable { why: format!("{program}: {why}") },
            Err(error @ StartError::System { .. }) => CommandRun::Unrunnable { why: error.to_string() },
        }
    }

    fn commits(&self) -> Fact<Commits> {
        Ok(self.worktree(|worktree| worktree.commits_since(&self.case.baseline, self.case.known.as_deref()))?)
    }

    fn changes(&self) -> Fact<Changes> {
        Ok(self.worktree(Worktree::changes)?)
    }

    fn files(&self, glob: &str) -> io::Result<Vec<FoundFile>> {
        worktree_files::find(self.root, glob)
    }

    fn read_file(&self, path: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        worktree_files::read(self.root, path, limit)
    }

    fn baseline_file(&self, path: &str, limit: u64) -> Fact<Option<Vec<u8>>> {
        let unreadable = |why: String| Unreadable { kind: FaultKind::Git, why, hint: None };
        let inside = Path::new(path);
        let inside = if inside.is_absolute() { inside.strip_prefix(self.root).ok() } else { Some(inside) };
        let inside = inside.ok_or_else(|| unreadable(format!("{path} is outside of the worktree, so that no commit has it")))?;
        let Point::Commit(commit) = &self.case.baseline else { return Ok(None) };
        let found = self.worktree(|worktree| worktree.blob_at(commit, &inside.to_string_lossy()))?;
        match found {
            Some(bytes) if bytes.len() as u64 > limit => Err(unreadable(format!("{path} of the baseline is larger than {limit} bytes"))),
            found => Ok(found),
        }
    }

    fn touched(&self, wanted: &dyn Fn(&str) -> bool) -> Fact<Touched> {
        let mut paths = self.worktree(|worktree| worktree.touched_since(&self.case.baseline, self.case.known.as_deref(), wanted))?;
        let total = paths.len() as u64;
        paths.truncate(Touched::LISTED);
        Ok(Touched { paths, total })
    }

    fn pushed(&self) -> Fact<Pushed> {
        Ok(match self.worktree(Worktree::pushed)? {
            git::Pushed::Unborn => Pushed::Unborn,
            git::Pushed::NoRemote => Pushed::NoRemote,
            git::Pushed::Yes => Pushed::Yes,
            git::Pushed::No { ahead } => Pushed::No { ahead },
        })
    }

    fn diff(&self, limit: usize) -> Fact<BoundedText> {
        let found =
            self.worktree(|worktree| worktree.diff_since(&self.case.baseline, self.case.known.as_deref(), limit, &rescue::looks_secret))?;
        Ok(BoundedText { text: rescue::mask(&found.text), cut: found.cut })
    }

    fn ask_judge(&self, request: &JudgeRequest<'_>) -> JudgeAnswer {
        match request.run {
            Some(line) => judge_program::ask(self, line, request),
            None => {
                JudgeAnswer::Unrunnable { why: "this version of watchdog cannot ask the agent's preset; name a program in `run`".into() }
            }
        }
    }

    fn exchange(&self, request: &CommandRequest<'_>, _line: &str) -> Exchange {
        Exchange::Unrunnable { why: format!("this version of watchdog cannot talk to `{}` line by line", request.line) }
    }
}

fn captured(kept: Kept) -> Captured {
    let middle = if kept.dropped == 0 { 0 } else { kept.bytes.len() / 2 };
    let (head, tail) = kept.bytes.split_at(middle);
    Captured { head: head.to_vec(), dropped: kept.dropped, tail: tail.to_vec() }
}
