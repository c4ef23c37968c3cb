//! Pushes the work on a task when it ends, before anybody is told that it is complete.

use std::path::Path;

use super::boot_clock::BootMoment;
use super::task::{AGAIN, ClaimedWork, status_after};
use super::task_remote::{RemoteBranch, TaskRemoteError};
use super::travel::TaskTravel;
use crate::judge::spawn_io::spawn_io;
use crate::wire::verdict_json::Judgement;
use watchdog_core::config::task_file::TaskStatus;
use watchdog_facts::shell_line::shell_word;
use watchdog_facts::verdict::Verdict;
use watchdog_git::{HistoryPoint, Worktree};

impl ClaimedWork {
    /// The way of its work to the remote of a shared repository.
    pub(super) fn travel(&self) -> Result<Option<TaskTravel>, Box<Verdict>> {
        let from = self.queue.open.root().to_owned();
        TaskTravel::find_for_task(
            &self.command_env,
            &self.queue.repository_id,
            (&self.options.id, self.held.fence()),
            from,
        )
        .map_err(|unreadable| {
            Box::new(Verdict::unreadable(
                unreadable.with_commands(&self.queue.open.commands),
            ))
        })
    }

    /// Pushes what was judged, and nothing newer. Finished work is tried again while the remote is away and the lease stands; without it the
    /// task is not complete. Of other work what is committed goes, if it can.
    pub(super) async fn push(
        &self,
        travel: &TaskTravel,
        judgement: &mut Judgement,
        root: &Path,
    ) -> Option<RemoteBranch> {
        let is_complete = status_after(&judgement.verdict) == TaskStatus::Complete;
        let judged = judgement
            .verdict
            .commits
            .as_ref()
            .and_then(|commits| commits.head.clone());
        let committed = || match Worktree::open(root).and_then(|worktree| worktree.head()) {
            Ok(HistoryPoint::Commit(head)) => Some(head),
            _ => None,
        };
        let commit = judged.or_else(committed)?;
        let begun = BootMoment::now();
        let mut is_reported = false;
        let error = loop {
            if self.renewed_lease.is_lost() {
                return None;
            }
            let (way, wanted) = (travel.clone(), commit.clone());
            match spawn_io(move || way.push(&wanted)).await {
                Ok(pushed) => return Some(pushed),
                Err(error @ TaskRemoteError::Away { .. })
                    if is_complete && !begun.after(self.options.push_retry).is_past() =>
                {
                    if !std::mem::replace(&mut is_reported, true) {
                        self.command_env.tell(&format!(
                            "{error}; the push of {} is tried again",
                            self.options.id
                        ));
                    }
                    tokio::time::sleep(AGAIN).await;
                }
                Err(error) => break error,
            }
        };
        if is_complete {
            // In the worktree that has the work.
            let again = self
                .command_env
                .commands(root)
                .watchdog(&format!("task run {}", shell_word(&self.options.id)));
            let Verdict {
                commits,
                changes,
                checks,
                ..
            } = std::mem::replace(
                &mut judgement.verdict,
                travel.not_pushed(&error, &commit, &again),
            );
            judgement.verdict = Verdict {
                commits,
                changes,
                checks,
                ..judgement.verdict.clone()
            };
        } else {
            self.command_env.tell(&format!(
                "what is committed of {} was not pushed: {error}",
                self.options.id
            ));
        }
        None
    }
}
