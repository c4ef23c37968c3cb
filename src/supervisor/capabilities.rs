//! The outside as checks see it, for real.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::agent::{Cancel, Kept, Leftovers, Program, StartError};
use crate::checks::{Capabilities, Captured, CommandOutput, CommandRequest, CommandRun, FoundFile};
use crate::config::path_glob;
use crate::config::settings::CommandLine;
use crate::decision::evidence::{Changes, Commits, Fact};
use crate::git::{Worktree, escape_path};

use super::case::Case;

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
        let matcher = path_glob(glob).map_err(io::Error::other)?.compile_matcher();
        // Everything before the first wildcard is a plain folder: nothing beside it can match.
        let plain: PathBuf = Path::new(glob)
            .components()
            .take_while(|part| !part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{', '\\']))
            .collect();
        let mut walk = Walk { root: self.root, real_root: self.root.canonicalize()?, seen: HashSet::new(), found: Vec::new() };
        walk.visit(&plain, &|path| matcher.is_match(path))?;
        let mut found = walk.found;
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }
}

/// A walk below the root that follows links only where they stay inside, and no folder twice.
struct Walk<'a> {
    root: &'a Path,
    real_root: PathBuf,
    seen: HashSet<PathBuf>,
    found: Vec<FoundFile>,
}

impl Walk<'_> {
    fn visit(&mut self, relative: &Path, matches: &dyn Fn(&Path) -> bool) -> io::Result<()> {
        let path = self.root.join(relative);
        let real = match path.canonicalize() {
            Ok(real) => real,
            // A link to nowhere, or a file that went away: nothing is there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if !real.starts_with(&self.real_root) || real.strip_prefix(&self.real_root).is_ok_and(|inside| inside.starts_with(".git")) {
            return Ok(());
        }
        let metadata = fs::metadata(&real)?;
        if metadata.is_dir() {
            if !self.seen.insert(real) {
                return Ok(());
            }
            for entry in fs::read_dir(&path)? {
                self.visit(&relative.join(entry?.file_name()), matches)?;
            }
        } else if metadata.is_file() && matches(relative) {
            use std::os::unix::ffi::OsStrExt as _;
            self.found.push(FoundFile { path: escape_path(relative.as_os_str().as_bytes()), size: metadata.len() });
        }
        Ok(())
    }
}

fn captured(kept: Kept) -> Captured {
    let middle = if kept.dropped == 0 { 0 } else { kept.bytes.len() / 2 };
    let (head, tail) = kept.bytes.split_at(middle);
    Captured { head: head.to_vec(), dropped: kept.dropped, tail: tail.to_vec() }
}
