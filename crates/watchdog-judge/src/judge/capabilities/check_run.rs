//! Runs the command of a check, in a scratch checkout where it is to be clean.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::copied_dependencies::CopiedDependencies;
use super::scratch_checkout::ScratchCheckout;
use super::{SystemCapabilities, worktree_files};
use crate::clock::now;
use crate::judge::session_work;
use crate::rescue;
use watchdog_core::checks::{CheckCommandRun, CommandRequest, CommandRun, MAX_REPORT_BYTES};
use watchdog_core::config::settings::RescueMode;

/// Runs the command, in a scratch checkout where it is to be clean.
pub(super) fn run_criterion_command(
    capabilities: &SystemCapabilities<'_>,
    request: &CommandRequest<'_>,
    report: Option<&str>,
) -> CheckCommandRun {
    if !request.clean {
        return run_in(capabilities, &capabilities.input.root, request, report);
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
            let _copied = capabilities.shared_copies.as_ref().map(|supplies| {
                CopiedDependencies::move_into(
                    supplies,
                    folders,
                    &scratch,
                    (parent, capabilities.cancel),
                )
            });
            CheckCommandRun {
                tree: Some(tree),
                ..run_in(capabilities, scratch.folder(), request, report)
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

fn run_in(
    capabilities: &SystemCapabilities<'_>,
    root: &Path,
    request: &CommandRequest<'_>,
    report: Option<&str>,
) -> CheckCommandRun {
    let before = report.map(|path| read_stamp(root, path));
    let run = capabilities.run_at(root, request);
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
