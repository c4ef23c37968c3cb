//! Runs the git program where it must be git itself (commits, worktrees, merges): as the user would, but without prompts.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use super::builder::{foreign_git_variables, is_set};
use super::call_log::ProgramPurpose;
use super::program::{BoundedOutput, FinishedProgram, ProgramRun};
use watchdog_system::read_git_settings;

/// Between TERM and KILL.
const GRACE: Duration = Duration::from_secs(5);
/// Bytes of output that are kept.
const KEEP: usize = 64 << 10;
/// The same of the list of all settings.
const KEEP_OF_SETTINGS: usize = 16 << 20;
/// How long git may take to say what its configuration is.
const PATIENCE: Duration = Duration::from_secs(10);
/// The author of commits where none is configured.
const NAME: &str = "watchdog";
const EMAIL: &str = "watchdog@localhost";

/// The variables for a program that works in this folder: removes those that redirect git, and keeps settings that run nothing.
pub fn build_environment(folder: &Path) -> BTreeMap<OsString, Option<OsString>> {
    let mut env = (foreign_git_variables().into_iter())
        .map(|name| (name, None))
        .collect();
    // Settings that git refuses keep every repository from being opened.
    add_settings(
        &mut env,
        &read_git_settings(folder, |name| std::env::var_os(name)).unwrap_or_default(),
    );
    env
}

/// Asks git about its configuration in a folder, as [`watchdog_system::GitQuestion`]; nothing that such a command reads runs a program.
pub fn ask_git_config(folder: &Path, args: &[&str]) -> Option<Result<Vec<u8>, String>> {
    let value_of = |name: &OsString| {
        let is_setting = name.to_string_lossy().starts_with("GIT_CONFIG_");
        is_setting.then(|| std::env::var_os(name)).flatten()
    };
    let foreign = foreign_git_variables().into_iter();
    let mut run = ProgramRun::new([&["git"], args].concat(), folder);
    run.env = foreign
        .map(|name| (name.clone(), value_of(&name)))
        .collect();
    run.env.insert("LC_ALL".into(), Some("C".into()));
    (run.deadline, run.keep, run.purpose) = (PATIENCE, KEEP_OF_SETTINGS, ProgramPurpose::Git);
    let finished = run.run().ok().filter(|finished| !finished.timed_out)?;
    Some(match finished.exit.success() {
        true => Ok(finished.stdout.bytes),
        false => Err(format_last_lines(&finished)),
    })
}

/// Adds settings after those that the variables hold.
fn add_settings(env: &mut BTreeMap<OsString, Option<OsString>>, settings: &[(String, String)]) {
    if settings.is_empty() {
        return;
    }
    let count = env.get(OsStr::new("GIT_CONFIG_COUNT")).cloned().flatten();
    let first: usize = count
        .and_then(|count| count.to_str()?.parse().ok())
        .unwrap_or(0);
    let mut set = |name: String, value: &str| env.insert(name.into(), Some(value.into()));
    set(
        "GIT_CONFIG_COUNT".into(),
        &(first + settings.len()).to_string(),
    );
    for (n, (key, value)) in (first..).zip(settings) {
        set(format!("GIT_CONFIG_KEY_{n}"), key);
        set(format!("GIT_CONFIG_VALUE_{n}"), value);
    }
}

/// `GIT_SSH_COMMAND` and `GIT_SSH` of our environment, which every git that we start inherits.
pub fn ssh_variables() -> [Option<String>; 2] {
    ["GIT_SSH_COMMAND", "GIT_SSH"].map(|name| std::env::var(name).ok())
}

/// A git command in the work tree `root`, with the paths on its stdin.
pub fn new_git_run(
    root: &Path,
    args: &[&str],
    paths: &[&[u8]],
    identity: bool,
    deadline: Duration,
) -> ProgramRun {
    // No process runs on in the background, and no monitor of the repository may lie about what
    // changed.
    let fixed = [
        "git",
        "--literal-pathspecs",
        "-c",
        "gc.auto=0",
        "-c",
        "maintenance.auto=false",
        "-c",
        "core.fsmonitor=false",
    ];
    let mut env = build_environment(root);
    let mut set = |name: &str, value: &str| env.insert(name.into(), Some(value.into()));
    set("GIT_TERMINAL_PROMPT", "0");
    set("GIT_EDITOR", "true");
    set("GIT_NO_REPLACE_OBJECTS", "1");
    // Messages are parsed and shown: untranslated, but without taking UTF-8 away from hooks.
    set("LANGUAGE", "en");
    if !identity {
        for (name, value) in [
            ("GIT_AUTHOR_NAME", NAME),
            ("GIT_COMMITTER_NAME", NAME),
            ("GIT_AUTHOR_EMAIL", EMAIL),
            ("GIT_COMMITTER_EMAIL", EMAIL),
        ] {
            if !is_set(name) {
                set(name, value);
            }
        }
    }
    // A passphrase prompt must fail, not wait: gpg has no terminal, and ssh has an askpass program that refuses.
    for (name, value) in [
        ("SSH_ASKPASS", "false"),
        ("SSH_ASKPASS_REQUIRE", "force"),
        ("GIT_ASKPASS", "false"),
    ] {
        env.insert(name.into(), Some(value.into()));
    }
    env.insert("GPG_TTY".into(), None);
    ProgramRun {
        env,
        stdin: paths
            .iter()
            .flat_map(|path| path.iter().copied().chain([0]))
            .collect(),
        deadline,
        grace: GRACE,
        keep: KEEP,
        purpose: ProgramPurpose::Git,
        ..ProgramRun::new(fixed.iter().chain(args), root)
    }
}

impl ProgramRun {
    /// The same git command with more configuration, by key and value: what the repository's own says of these keys does not count.
    pub fn with_settings(mut self, settings: &[(String, String)]) -> Self {
        add_settings(&mut self.env, settings);
        self
    }
}

/// A program of the user in the work tree.
pub fn new_user_run(
    root: &Path,
    argv: Vec<OsString>,
    extra: &[(&str, &OsStr)],
    deadline: Duration,
) -> ProgramRun {
    let mut env = build_environment(root);
    for (name, value) in extra {
        env.insert(name.into(), Some((*value).to_owned()));
    }
    ProgramRun {
        env,
        deadline,
        grace: GRACE,
        keep: KEEP,
        purpose: ProgramPurpose::Rescue,
        ..ProgramRun::new(argv, root)
    }
}

/// How a program failed within its deadline or by it, with the last lines that it wrote, for a person.
pub fn describe_failure(program: &str, finished: &FinishedProgram, deadline: Duration) -> String {
    let how = if finished.timed_out {
        format!("did not end within {} s", deadline.as_secs_f64().ceil())
    } else {
        format!("ended with {}", finished.exit)
    };
    match format_last_lines(finished) {
        silent if silent.is_empty() => format!("{program} {how}"),
        lines => format!("{program} {how}: {lines}"),
    }
}

/// The last lines that a program wrote, complaints before the rest, for a person.
pub fn format_last_lines(finished: &FinishedProgram) -> String {
    const LINES: usize = 20;
    const CHARS: usize = 4000;
    let text = |output: &BoundedOutput| String::from_utf8_lossy(&output.bytes).trim().to_owned();
    let (err, out) = (text(&finished.stderr), text(&finished.stdout));
    let all = if err.is_empty() || out.is_empty() {
        format!("{out}{err}")
    } else {
        format!("{out}\n{err}")
    };
    let lines: Vec<&str> = all.lines().collect();
    let tail = lines[lines.len().saturating_sub(LINES)..].join("\n");
    let skip = tail.chars().count().saturating_sub(CHARS);
    tail.chars().skip(skip).collect()
}
