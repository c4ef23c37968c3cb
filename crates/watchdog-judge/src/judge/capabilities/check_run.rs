//! Runs the command of a check, in a scratch checkout where it is to be clean: a folder of the state directory with the files of one tree
//! and no repository. Its owner removes it; the next watchdog removes those of a killed one.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, test_kill_process};

use super::{SystemCapabilities, worktree_files};
use crate::clock::now;
use crate::judge::session_work;
use crate::rescue;
use watchdog_core::checks::{CheckCommandRun, CommandRequest, CommandRun, MAX_REPORT_BYTES};
use watchdog_core::config::settings::RescueMode;
use watchdog_git::Worktree;

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
        Ok(scratch) => CheckCommandRun {
            tree: Some(tree),
            ..run_in(capabilities, scratch.folder(), request, report)
        },
        Err(why) => unrunnable(why),
    }
}

/// The tree of HEAD with the session's work, or the one that the caller set.
fn work_tree_id(capabilities: &SystemCapabilities<'_>) -> Result<String, String> {
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

/// One scratch checkout.
pub(super) struct ScratchCheckout {
    folder: PathBuf,
}

impl ScratchCheckout {
    /// Writes a tree below `parent`. The error is for a person.
    pub(super) fn of(worktree: &Worktree, tree: &str, parent: &Path) -> Result<Self, String> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let refused = |error: std::io::Error| {
            format!(
                "no scratch checkout can be made in {}: {error}",
                parent.display()
            )
        };
        let private = |folder: &Path| {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
        };
        private(parent).map_err(refused)?;
        remove_left_behind(parent);
        let name = format!(
            "{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let scratch = ScratchCheckout {
            folder: parent.join(name),
        };
        // One of an earlier process with this id.
        let _ = fs::remove_dir_all(&scratch.folder);
        private(&scratch.folder).map_err(refused)?;
        worktree
            .write_tree(tree, &scratch.folder)
            .map_err(|error| format!("no scratch checkout can be made: {error}"))?;
        Ok(scratch)
    }

    /// Where its files are.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for ScratchCheckout {
    fn drop(&mut self) {
        // The next scratch checkout removes the rest.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Removes the checkouts of processes that do not run any more.
fn remove_left_behind(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.split_once('-')?.0.parse().ok())
            .and_then(Pid::from_raw);
        if owner.is_some_and(|owner| test_kill_process(owner) == Err(rustix::io::Errno::SRCH)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a process that has ended is all that is needed"
    )]
    fn what_a_dead_process_left_is_removed_and_nothing_else() {
        let parent = std::env::temp_dir().join(format!("watchdog-scratch-{}", std::process::id()));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dead = format!("{}-0", child.id());
        child.wait().unwrap();
        let ours = format!("{}-7", std::process::id());
        for name in [dead.as_str(), ours.as_str(), "notes"] {
            fs::create_dir_all(parent.join(name).join("deep")).unwrap();
        }
        remove_left_behind(&parent);
        let mut names: Vec<String> = fs::read_dir(&parent)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, [ours, "notes".to_owned()]);
        fs::remove_dir_all(&parent).unwrap();
    }
}
