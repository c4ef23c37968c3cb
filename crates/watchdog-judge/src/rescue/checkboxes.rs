//! Finds the worktree's list of tasks, and ticks the boxes of those that a plan fulfilled, in a commit of its own.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::message::build_planned_message;
use super::request::RescueRequest;
use super::single::{CommitAttempt, CommitGroup, commit_group};
use super::task_list::{UncheckedBox, open_tasks};
use watchdog_facts::evidence::{Degradation, WarningCode};
use watchdog_git::{Error, SnapshotPath, SnapshotPathKind, Worktree};
use watchdog_system::read_regular_begin;

/// Longer lists are not read.
const LONGEST: u64 = 1 << 20;
/// Tasks that a subject names.
const NAMED: usize = 50;

/// A list of tasks in the worktree.
#[derive(Debug, Clone)]
pub(super) struct TaskList {
    /// Relative to the root, with slashes.
    pub path: String,
    /// Its open boxes.
    pub tasks: Vec<UncheckedBox>,
}

/// The list of tasks for a spec: its own one, or the one at the root. Links are not followed.
pub(super) fn find_task_list(root: &Path, spec: &str) -> Option<TaskList> {
    let last = spec.rsplit('/').next().unwrap_or(spec);
    let mut offsets = Vec::new();
    for name in [spec, last] {
        if !name.is_empty() && !name.split('/').any(|part| matches!(part, "" | "." | "..")) {
            offsets.extend(
                [
                    "specs",
                    "spec",
                    ".kiro/specs",
                    "openspec/changes",
                    "docs/specs",
                ]
                .map(|folder| format!("{folder}/{name}/tasks.md")),
            );
        }
    }
    offsets.extend(
        [
            "tasks.md",
            "TASKS.md",
            "Tasks.md",
            "TODO.md",
            "todo.md",
            "docs/tasks.md",
            "docs/TASKS.md",
        ]
        .map(str::to_owned),
    );
    offsets.into_iter().find_map(|path| {
        let tasks = open_tasks(&read_list_file(root, &path)?);
        (!tasks.is_empty()).then_some(TaskList { path, tasks })
    })
}

fn plain_file(root: &Path, path: &str) -> Option<PathBuf> {
    let whole = root.join(path);
    let meta = fs::symlink_metadata(&whole).ok()?;
    // A link on the way could lead out of the worktree.
    let inside = fs::canonicalize(&whole)
        .is_ok_and(|real| fs::canonicalize(root).is_ok_and(|root| real == root.join(path)));
    (meta.is_file() && meta.len() <= LONGEST && inside).then_some(whole)
}

fn read_list_file(root: &Path, path: &str) -> Option<Vec<u8>> {
    read_regular_begin(&plain_file(root, path)?, LONGEST).ok()
}

/// Ticks the boxes with these texts and commits the file. On an obstacle it changes nothing, and returns a note.
///
/// # Errors
/// When git's data cannot be read.
pub(super) fn check_off(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    path: &str,
    texts: &[String],
    deadline: Duration,
) -> Result<CheckboxResult, Error> {
    let not = |why: &str| {
        let detail = format!("the tasks that the plan fulfils are not ticked in {path}: {why}");
        Ok(CheckboxResult {
            commit: None,
            note: Some(Degradation::new(WarningCode::TasksNotTicked, detail)),
        })
    };
    let root = worktree.root();
    let (Some(before), Some(whole)) = (read_list_file(root, path), plain_file(root, path)) else {
        return not("it is no readable file any more");
    };
    let head = worktree.head_commit()?;
    let committed = head
        .map(|head| worktree.blob_at(&head, path))
        .transpose()?
        .flatten();
    if committed.as_ref() != Some(&before) {
        return not("it is not committed as it is");
    }
    let open = open_tasks(&before);
    let mut offsets = Vec::new();
    for text in texts {
        let mut same = open.iter().filter(|task| task.text == *text);
        match (same.next(), same.next()) {
            (Some(task), None) => offsets.push(task.at),
            (Some(_), Some(_)) => return not("several of its boxes have the same text"),
            (None, _) => return not("a box is gone"),
        }
    }
    // In place, byte by byte: another program that has the file open keeps it, and no other byte is touched.
    let written = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&whole)
        .and_then(|file| replace_bytes(&file, &offsets, b' ', b'x'));
    if let Err(error) = written {
        return not(&error.to_string());
    }
    let group = CheckboxCommit::new(path, request, texts);
    let made = commit_group(worktree, &group.group(), deadline)?;
    match made {
        CommitAttempt::Commit { commit, .. } => Ok(CheckboxResult {
            commit: Some(commit),
            note: None,
        }),
        CommitAttempt::CommitWithComplaint { commit, .. } => Ok(CheckboxResult {
            commit: Some(commit),
            note: None,
        }),
        CommitAttempt::Nothing => not("git sees no change in it"),
        CommitAttempt::Refused(why) | CommitAttempt::NotTried(why) => {
            let undone = OpenOptions::new()
                .read(true)
                .write(true)
                .open(&whole)
                .and_then(|file| replace_bytes(&file, &offsets, b'x', b' '));
            match undone {
                Ok(()) => not(&why),
                Err(error) => not(&format!(
                    "{why}; and they stay ticked in the work tree: {error}"
                )),
            }
        }
    }
}

/// The result of ticking.
#[derive(Debug, Clone)]
pub(super) struct CheckboxResult {
    /// The commit, where one was made.
    pub commit: Option<String>,
    /// Why none was.
    pub note: Option<Degradation>,
}

/// Puts `to` at each offset that holds `from`; checks all of them before it changes the first.
fn replace_bytes(file: &File, offsets: &[usize], from: u8, to: u8) -> std::io::Result<()> {
    for offset in offsets {
        let mut byte_read = [0];
        file.read_exact_at(&mut byte_read, *offset as u64)?;
        if byte_read[0] != from {
            return Err(std::io::Error::other("it was written meanwhile"));
        }
    }
    for offset in offsets {
        file.write_all_at(&[to], *offset as u64)?;
    }
    file.sync_all()
}

struct CheckboxCommit {
    path: SnapshotPath,
    message: String,
}

impl CheckboxCommit {
    fn new(path: &str, request: &RescueRequest<'_>, texts: &[String]) -> Self {
        let count = if texts.len() == 1 {
            "1 task".to_owned()
        } else {
            format!("{} tasks", texts.len())
        };
        let done: Vec<String> = texts
            .iter()
            .take(NAMED)
            .map(|text| format!("- {text}"))
            .collect();
        let path = SnapshotPath {
            path: path.into(),
            text: path.into(),
            kind: SnapshotPathKind::File,
            bytes: 0,
            untracked: false,
            hidden: false,
            secret: false,
            nested: false,
        };
        CheckboxCommit {
            path,
            message: build_planned_message(
                request,
                &format!("docs(tasks): tick {count} that this work fulfils"),
                &done.join("\n"),
            ),
        }
    }

    fn group(&self) -> CommitGroup<'_> {
        CommitGroup {
            message: self.message.clone(),
            paths: vec![&self.path],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scratch_work::ScratchWork;
    use super::*;

    #[test]
    fn overlong_or_outside_task_list_is_not_read() {
        let work = ScratchWork::new();
        let list_path = || find_task_list(&work.root(), "auth").map(|list| list.path);
        work.write("tasks.md", "- [ ] one\n");
        assert_eq!(list_path().as_deref(), Some("tasks.md"));

        let longest = usize::try_from(LONGEST).unwrap();
        let list = |length: usize| "- [ ] one\n".to_owned() + &"x".repeat(length - 10);
        work.write("tasks.md", &list(longest));
        assert_eq!(list_path().as_deref(), Some("tasks.md"));
        work.write("tasks.md", &list(longest + 1));
        assert_eq!(list_path(), None, "too long");

        fs::remove_file(work.root().join("tasks.md")).unwrap();
        fs::create_dir_all(work.beside("elsewhere/auth")).unwrap();
        fs::write(work.beside("elsewhere/auth/tasks.md"), "- [ ] another's\n").unwrap();
        std::os::unix::fs::symlink(work.beside("elsewhere"), work.root().join("specs")).unwrap();
        assert_eq!(list_path(), None, "behind a link");
        fs::create_dir(work.root().join("todo.md")).unwrap();
        assert_eq!(list_path(), None, "a folder");
    }
}
