//! Runs the command of a check, in a scratch checkout where it is to be clean.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::copied_dependencies::{CopiedDependencies, plain_folder};
use super::granted::{EnvChanges, describe_end, prepare_below};
use super::scratch_checkout::ScratchCheckout;
use super::{SystemCapabilities, own_path, worktree_files};
use crate::clock::now;
use crate::judge::session_work;
use crate::rescue;
use watchdog_core::checks::{
    Capabilities as _, CheckCommandRun, CheckContext, CommandCheck, CommandRequest, CommandRun,
    CompletionCheck as _, MAX_REPORT_BYTES, SuiteRun,
};
use watchdog_core::config::settings::{CommandCriterion, RescueMode};
use watchdog_facts::evidence::ProcessExit;
use watchdog_facts::proof::RerunOutcome;
use watchdog_process::{StartError, SurvivorRule, searches_below};

/// Runs the command, in a scratch checkout where it is to be clean.
pub(super) fn run_criterion_command(
    capabilities: &SystemCapabilities<'_>,
    request: &CommandRequest<'_>,
    report: Option<&str>,
) -> CheckCommandRun {
    if !request.clean {
        let run = || capabilities.run_command(request);
        return run_in(&capabilities.input.root, report, run);
    }
    let unrunnable = |why| CheckCommandRun {
        run: CommandRun::Unrunnable { why },
        report: None,
        tree: None,
    };
    let tree = match work_tree_id(capabilities) {
        Ok(tree) => tree,
        Err(why) => return unrunnable(why),
    };
    let Some(parent) = &capabilities.scratch else {
        return unrunnable("there is no place for a scratch checkout".into());
    };
    let scratch = {
        let worktree = capabilities.input.worktree();
        ScratchCheckout::of(&worktree, &tree, parent)
    };
    match scratch {
        Ok(scratch) => {
            let folders = (capabilities.input.root.as_path(), request.cwd);
            let moved = capabilities.shared_copies.as_ref().map(|supplies| {
                CopiedDependencies::move_into(
                    supplies,
                    folders,
                    &scratch,
                    (parent, capabilities.cancel),
                )
            });
            let _copied = match moved.transpose() {
                Ok(copied) => copied,
                Err(why) => return unrunnable(why),
            };
            let run = || run_in_scratch(capabilities, scratch.folder(), request);
            CheckCommandRun {
                tree: Some(tree),
                ..run_in(scratch.folder(), report, run)
            }
        }
        Err(why) => unrunnable(why),
    }
}

/// The tree of HEAD with the session's work, or the one that the caller set.
pub(super) fn work_tree_id(capabilities: &SystemCapabilities<'_>) -> Result<String, String> {
    if let Some(tree) = &capabilities.at_tree {
        return Ok(tree.clone());
    }
    let input = capabilities.input;
    let mut worktree = input.worktree();
    let refused = |error: watchdog_git::Error| format!("no scratch checkout can be made: {error}");
    if input.settings.rescue.mode == RescueMode::Off {
        let clean = worktree.clean_tree().map_err(refused)?;
        return clean.ok_or_else(|| {
            "a clean check needs a snapshot of what is uncommitted, and rescue.mode is off".into()
        });
    }
    worktree.to_owned_repo().map_err(refused)?;
    let request = (
        input.spec.as_str(),
        now(),
        "for a check in a scratch checkout",
    );
    let taken =
        rescue::take_snapshot(&worktree, request, &input.settings.rescue).map_err(refused)?;
    match taken {
        // Other files existed before the session, or belong to no session.
        Some(taken) => {
            let others = session_work::read_uncommitted(&worktree, &input.work)
                .map_err(refused)?
                .others;
            if others.is_empty() {
                Ok(taken.tree)
            } else {
                worktree.tree_without(&taken.tree, &others).map_err(refused)
            }
        }
        None => worktree
            .head()
            .and_then(|head| worktree.tree_at(&head))
            .map_err(refused),
    }
}

/// Runs a command in a scratch checkout, at the worktree's own path where the system can show it there.
fn run_in_scratch(
    capabilities: &SystemCapabilities<'_>,
    scratch: &Path,
    request: &CommandRequest<'_>,
) -> CommandRun {
    let (root, cancel) = (&capabilities.input.root, capabilities.cancel);
    let mut variables = capabilities.variables();
    // A checkout has no repository, and one above it is not its own.
    let above = [root.parent(), scratch.parent()].into_iter().flatten();
    let ceilings = std::env::join_paths(above).ok();
    variables.insert("GIT_CEILING_DIRECTORIES".into(), ceilings);
    // Builds that trees share outside of them pass for those of another tree: cargo goes by paths below the root and times, Python by size and
    // second.
    variables.insert("PYTHONPYCACHEPREFIX".into(), None);
    // A server behind it would compile the worktree's own files.
    variables.insert("RUSTC_WRAPPER".into(), Some(OsString::new()));
    let has_copies = capabilities.shared_copies.is_some();
    let (line, cwd, inside) = (request.line, request.cwd, plain_folder(request.cwd));
    let builds = inside.join("target");
    let builds = if scratch.join(&builds).is_dir() {
        builds
    } else {
        "target".into()
    };
    let set_builds = |variables: &mut EnvChanges, checkout: &Path| {
        let builds = has_copies.then(|| checkout.join(&builds).into());
        variables.insert("CARGO_TARGET_DIR".into(), builds);
    };
    set_builds(&mut variables, scratch);
    let program = match prepare_below(scratch, request, variables, cancel) {
        Ok(program) => program,
        Err(why) => return CommandRun::Unrunnable { why },
    };
    if !own_path::escapes_checkout(line, &program.cwd) && (has_copies || !searches_below(root)) {
        // A place for temporary files is in no tree.
        if let Ok(inside) = std::env::temp_dir().strip_prefix(root) {
            let _ = fs::create_dir_all(scratch.join(inside));
        }
        let mut program = program.clone();
        program.cwd = root.join(inside);
        program.mounted = Some((scratch.to_owned(), root.clone()));
        set_builds(&mut program.env, root);
        let ended = program.run_with(cancel, SurvivorRule::End);
        if !ended.as_ref().is_err_and(StartError::is_not_mounted) {
            return describe_end(ended, cancel);
        }
    }
    if has_copies && let Some(way) = own_path::find_way_into(root, cwd, line) {
        let why = format!("{way} leads a scratch checkout into the worktree");
        return CommandRun::Unrunnable { why };
    }
    describe_end(program.run_with(cancel, SurvivorRule::End), cancel)
}

/// Runs a command with capabilities for one tree.
pub(super) type JudgeRun = fn(&SystemCapabilities<'_>, CommandCriterion) -> SuiteRun;

/// A check with all that its runner says.
pub(super) fn judge_suite(
    capabilities: &SystemCapabilities<'_>,
    clean: CommandCriterion,
) -> SuiteRun {
    let judged = CommandCheck::new(clean).judge(&CheckContext::new(capabilities));
    judged.as_suite_run()
}

/// A hidden check by its exit alone: agents read what watchdog writes of an output.
pub(super) fn judge_exit(
    capabilities: &SystemCapabilities<'_>,
    hidden: CommandCriterion,
) -> SuiteRun {
    let mut request = CommandRequest::new(&hidden.run, hidden.timeout);
    (request.cwd, request.clean) = (hidden.cwd.as_deref(), true);
    let outcome = match run_criterion_command(capabilities, &request, None).run {
        CommandRun::Finished { exit, .. } => match exit {
            ProcessExit::Code(0) => RerunOutcome::Pass,
            ProcessExit::Code(code @ (126 | 127)) => {
                return SuiteRun::unknown(format!("exit {code}"));
            }
            ProcessExit::Code(_) | ProcessExit::Signal(_) => RerunOutcome::Fail,
        },
        CommandRun::Unrunnable { why } | CommandRun::HeadroomError { why } => {
            return SuiteRun::unknown(why);
        }
        CommandRun::TimedOut { .. } => return SuiteRun::unknown("it did not end in time"),
    };
    SuiteRun {
        outcome,
        ..SuiteRun::default()
    }
}

fn run_in(root: &Path, report: Option<&str>, run: impl FnOnce() -> CommandRun) -> CheckCommandRun {
    let before = report.map(|path| read_stamp(root, path));
    let run = run();
    let report = report.map(|path| {
        let after = read_stamp(root, path);
        if after.is_none() {
            return Err(format!(
                "{path} is not there; name the JUnit file that the command writes"
            ));
        }
        if before.as_ref() == Some(&after) {
            return Err(format!(
                "{path} was not written by this run; name the JUnit file that the command writes"
            ));
        }
        let bytes = worktree_files::read_file(root, path, MAX_REPORT_BYTES)
            .map_err(|error| format!("cannot read {path}: {error}"))?;
        bytes.ok_or_else(|| format!("{path} went away"))
    });
    CheckCommandRun {
        run,
        report,
        tree: None,
    }
}

/// A stamp that changes whenever a file is written, however its times are set: the kernel itself sets the time of the last status change.
fn read_stamp(root: &Path, path: &str) -> Option<[i64; 5]> {
    let stat = fs::metadata(root.join(path)).ok()?;
    Some([
        stat.ino() as i64,
        stat.size() as i64,
        stat.mtime_nsec(),
        stat.ctime(),
        stat.ctime_nsec(),
    ])
}
