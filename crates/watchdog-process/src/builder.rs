//! The one place that starts processes. It fixes the environment, the folder, the process group and the pipes of each, on top of duct.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use os_pipe::{PipeReader, PipeWriter};
use rustix::io::Errno;
use rustix::process::Pid;

use super::process_tree::ProcessTree;
use super::program::StartError;
use super::program_search::find_startable;
use super::tree_registry::{self, TREE_VARIABLE};

/// Variables that point git at another repository, index or object store than the folder it is run in. A process that watchdog starts
/// (from within a git hook, say) gets them only when they are set for it on purpose.
pub const REDIRECTING_VARIABLES: [&str; 13] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_REPLACE_REF_BASE",
];

/// The source of its stdin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StdinSource {
    /// The stdin of this process, unless that is a terminal: a process in a group of its own is stopped when it reads one, so it gets none.
    Inherit,
    /// No input.
    Null,
    /// These bytes, then end of file. It may stop reading at any time.
    Bytes(Vec<u8>),
    /// A pipe that is written to while it runs.
    Open,
}

/// Everything that is to be known about a process before it starts.
pub(super) struct LaunchPlan<'a> {
    pub argv: &'a [OsString],
    pub cwd: &'a Path,
    pub env: &'a BTreeMap<OsString, Option<OsString>>,
    pub stdin: StdinSource,
    /// A folder, and the path that it has for this process and its children alone.
    pub mounted: Option<&'a (PathBuf, PathBuf)>,
}

/// A process that runs.
pub(super) struct StartedProcess<T> {
    pub tree: ProcessTree,
    /// For [`StdinSource::Open`].
    pub stdin: Option<PipeWriter>,
    /// The reader of its output.
    pub output: T,
}

/// Starts a process as the leader of its own process group and tree. `take_output` is given its stdout and stderr before there is a process: a
/// thread that cannot be had must not cost one that has begun to work.
pub(super) fn start_process<T>(
    plan: LaunchPlan<'_>,
    take_output: impl FnOnce(PipeReader, PipeReader) -> io::Result<T>,
) -> Result<StartedProcess<T>, StartError> {
    let name = plan
        .argv
        .first()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let fail = |source: io::Error| explain_start_failure(source, &name, &plan);
    if name.is_empty() {
        return Err(StartError::NotRunnable {
            program: name,
            why: "no program was named".into(),
        });
    }
    check_memory().map_err(fail)?;
    let (stdout, stdout_end) = os_pipe::pipe().map_err(fail)?;
    let (stderr, stderr_end) = os_pipe::pipe().map_err(fail)?;
    let (stdin, stdin_end) = match &plan.stdin {
        StdinSource::Open => os_pipe::pipe()
            .map(|(read, write)| (Some(read), Some(write)))
            .map_err(fail)?,
        StdinSource::Bytes(bytes) if !bytes.is_empty() => os_pipe::pipe()
            .map(|(read, write)| (Some(read), Some(write)))
            .map_err(fail)?,
        _ => (None, None),
    };
    let expression = build_expression(&plan, stdin, stdout_end, stderr_end);
    let output = take_output(stdout, stderr).map_err(fail)?;
    let stdin = match (stdin_end, &plan.stdin) {
        (Some(end), StdinSource::Bytes(bytes)) => {
            feed_stdin(end, bytes.clone()).map_err(fail)?;
            None
        }
        (end, _) => end,
    };

    // Another thread may have been forked off while it held a program open that was just written: that passes within moments.
    let mut tries = 0;
    let (id, (leader, handle)) = loop {
        match tree_registry::start_tree(|mark| start_expression(&expression, mark)) {
            Err(error)
                if error.raw_os_error() == Some(Errno::TXTBSY.raw_os_error()) && tries < 20 =>
            {
                tries += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            result => break result.map_err(fail)?,
        }
    };
    // The expression owns our copies of the ends that the process writes to: without this its output would never end.
    drop(expression);
    Ok(StartedProcess {
        tree: ProcessTree::new(handle, id, leader),
        stdin,
        output,
    })
}

/// Starts a program that goes on when this one ends: in a group of its own, with no input and no
/// output, and in no tree. The caller does not wait.
///
/// # Errors
/// When it cannot be started.
pub fn start_detached(argv: &[OsString], cwd: &Path) -> io::Result<()> {
    let (program, args) = argv
        .split_first()
        .ok_or_else(|| io::Error::other("no program was named"))?;
    let expression = duct::cmd(program, args)
        .dir(cwd)
        .stdin_null()
        .stdout_null()
        .stderr_null()
        .env_remove(TREE_VARIABLE)
        .unchecked();
    let started = expression
        .before_spawn(|command| {
            command.process_group(0);
            Ok(())
        })
        .start()?;
    // Dropped, it would get a thread that waits for it.
    std::mem::forget(started);
    Ok(())
}

/// Everything but the mark of the tree. In duct the innermost word counts, so nothing may be said twice.
fn build_expression(
    plan: &LaunchPlan<'_>,
    stdin: Option<PipeReader>,
    stdout: PipeWriter,
    stderr: PipeWriter,
) -> duct::Expression {
    let path_program = found_in_path(plan);
    // Started by its path, it is still told the name that was asked for.
    let name = path_program.is_some().then(|| plan.argv[0].clone());
    let program = path_program.unwrap_or_else(|| locate_program(&plan.argv[0], plan.cwd));
    let mounted = plan.mounted.cloned();
    let cwd = plan.cwd.to_owned();
    let mut expression = duct::cmd(program, &plan.argv[1..])
        .dir(mounted.as_ref().map_or(plan.cwd, |(folder, _)| folder))
        .stdout_file(stdout)
        .stderr_file(stderr)
        .unchecked()
        .before_spawn(move |command| {
            if let Some(name) = &name {
                command.arg0(name);
            }
            command.process_group(0);
            match &mounted {
                Some((folder, target)) => {
                    watchdog_system::mount_folder(command, (folder, target), &cwd)
                }
                None => Ok(()),
            }
        });
    expression = match (stdin, &plan.stdin) {
        (Some(pipe), _) => expression.stdin_file(pipe),
        (None, StdinSource::Inherit) if !io::stdin().is_terminal() => expression,
        _ => expression.stdin_null(),
    };
    for name in REDIRECTING_VARIABLES {
        if !plan.env.contains_key(OsStr::new(name)) {
            expression = expression.env_remove(name);
        }
    }
    for (name, value) in plan
        .env
        .iter()
        .filter(|(name, _)| name.as_os_str() != TREE_VARIABLE)
    {
        expression = match value {
            Some(value) => expression.env(name, value),
            None => expression.env_remove(name),
        };
    }
    expression
}

fn start_expression(
    expression: &duct::Expression,
    mark: &OsStr,
) -> io::Result<(u32, (Pid, duct::Handle))> {
    let handle = expression.env(TREE_VARIABLE, mark).start()?;
    let pid = handle
        .pids()
        .first()
        .copied()
        .ok_or_else(|| io::Error::other("it was started without a pid"))?;
    let leader = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("it was started with pid 0"))?;
    Ok((pid, (leader, handle)))
}

/// Variables of git that say who commits and with which configuration, as opposed to in which repository.
const PERSONAL_GIT_VARIABLES: [&str; 11] = [
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
];

/// The variables of git in our environment that a git which commits must not inherit: all but those that say who and how.
pub fn foreign_git_variables() -> Vec<OsString> {
    std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| {
            name.to_string_lossy().starts_with("GIT_")
                && !PERSONAL_GIT_VARIABLES
                    .iter()
                    .any(|personal| name == personal)
        })
        .collect()
}

/// Whether a variable of our environment is set to something.
pub fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// The path of a program that is named without one, where no more than that has to be known to start it.
fn found_in_path(plan: &LaunchPlan<'_>) -> Option<OsString> {
    let name = &plan.argv[0];
    if name.as_encoded_bytes().contains(&b'/') {
        return None;
    }
    let search_path = match plan.env.get(OsStr::new("PATH")) {
        Some(set) => set.clone(),
        None => std::env::var_os("PATH"),
    };
    find_startable(name, &search_path?).map(PathBuf::into_os_string)
}

/// `PATH` resolves a name without a slash; a relative path is relative to the program's working folder.
fn locate_program(program: &OsStr, cwd: &Path) -> OsString {
    let path = Path::new(program);
    if program.as_encoded_bytes().contains(&b'/') && path.is_relative() {
        cwd.join(path).into_os_string()
    } else {
        program.to_owned()
    }
}

/// More memory than the threads around a process need to begin with, and more than an allocator keeps for itself. It is addressed and not used.
const ROOM: usize = 64 << 20;

/// Looks whether the threads around a process would find memory: one that begins without ends the whole program from below.
fn check_memory() -> io::Result<()> {
    let mut room = Vec::<u8>::new();
    room.try_reserve_exact(ROOM)
        .map_err(|_| io::Error::from_raw_os_error(Errno::NOMEM.raw_os_error()))?;
    // Without this the compiler may remove the allocation.
    std::hint::black_box(&room);
    Ok(())
}

/// Writes stdin from a thread of its own. A process that closes its stdin, or ends, ends the thread.
fn feed_stdin(mut end: PipeWriter, bytes: Vec<u8>) -> io::Result<()> {
    std::thread::Builder::new()
        .name("stdin".into())
        .stack_size(64 << 10)
        .spawn(move || {
            let _ = end.write_all(&bytes);
        })?;
    Ok(())
}

/// Tells a program that cannot be run, which trying again does not help, from a system that refuses.
fn explain_start_failure(source: io::Error, program: &str, plan: &LaunchPlan<'_>) -> StartError {
    let program = program.to_owned();
    let not_runnable = |why: String| StartError::NotRunnable {
        program: program.clone(),
        why,
    };
    let because = |why: String| StartError::System {
        program: program.clone(),
        source: io::Error::new(source.kind(), why),
    };
    let cwd = plan.cwd.display();
    if plan.mounted.is_none() && !plan.cwd.is_dir() {
        return because(format!(
            "the folder '{cwd}' that it should run in does not exist or is no folder"
        ));
    }
    let Some(errno) = source.raw_os_error().map(Errno::from_raw_os_error) else {
        return StartError::System { program, source };
    };
    if describe_shortage(errno).is_some() {
        return StartError::short(program, source);
    }
    let by_path = plan
        .argv
        .first()
        .filter(|name| name.as_encoded_bytes().contains(&b'/'))
        .map(|name| PathBuf::from(locate_program(name, plan.cwd)));
    match errno {
        Errno::NOENT if by_path.as_ref().is_some_and(|path| path.exists()) => {
            not_runnable("the interpreter that its first line names does not exist".into())
        }
        Errno::NOENT if by_path.is_some() => not_runnable("there is no such file".into()),
        Errno::NOENT => not_runnable("it is not in PATH; install it, or name it by its full path".into()),
        Errno::NOTDIR => not_runnable("a part of its path is not a folder".into()),
        Errno::ACCESS | Errno::PERM | Errno::ISDIR if by_path.as_ref().is_some_and(|path| path.is_dir()) => {
            not_runnable("it is a folder".into())
        }
        Errno::ACCESS if rustix::fs::access(plan.cwd, rustix::fs::Access::EXEC_OK).is_err() => {
            because(format!("the folder '{cwd}' that it should run in may not be entered"))
        }
        // The same error results from a folder of PATH that this user may not search.
        Errno::ACCESS if by_path.is_none() => {
            not_runnable("it is not in PATH, or may not be executed there; install it, or name it by its full path".into())
        }
        Errno::ACCESS | Errno::PERM => not_runnable("it may not be executed; chmod +x makes a file executable".into()),
        Errno::NOEXEC => not_runnable("it is not a program of this machine, and a script needs a first line that begins with #!".into()),
        Errno::TXTBSY => not_runnable("it is open for writing".into()),
        Errno::LOOP | Errno::NAMETOOLONG => not_runnable(source.to_string()),
        Errno::TOOBIG => because(format!(
            "its arguments and environment are too long ({} bytes of arguments); pass long text on stdin or in a file",
            plan.argv.iter().map(|arg| arg.len()).sum::<usize>()
        )),
        _ => StartError::System { program, source },
    }
}

/// The missing resource, and the remedy.
pub(super) fn describe_shortage(errno: Errno) -> Option<&'static str> {
    match errno {
        Errno::AGAIN => Some(
            "no further process or thread may be had; end some, or raise ulimit -u or the limit of pids",
        ),
        Errno::NOMEM => Some(
            "no further memory may be had; end some processes, or raise ulimit -v or the limit of memory",
        ),
        Errno::MFILE | Errno::NFILE => Some("no further file may be opened; raise ulimit -n"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_path_is_resolved_from_program_folder() {
        let cwd = Path::new("/work tree");
        for (program, expected) in [
            ("sh", "sh"),
            ("./run.sh", "/work tree/./run.sh"),
            ("scripts/run", "/work tree/scripts/run"),
            ("/bin/sh", "/bin/sh"),
        ] {
            assert_eq!(
                locate_program(OsStr::new(program), cwd),
                OsStr::new(expected)
            );
        }
    }
}
