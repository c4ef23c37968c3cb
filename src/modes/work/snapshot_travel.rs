//! Snapshots of uncommitted work on the remote of a task: where a person says so, those without anything private go when the work ends, and
//! come to the machine that takes over.
//!
//! Each has the fence of its lease in its name, and goes in one transaction with the fence: whoever comes late writes none.

use std::collections::BTreeSet;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::fence_commit::{FenceMark, fence_ref};
use super::remote_git::{RefUpdate, RemoteFailure, RemoteGit};
use super::task_remote::{PAUSE, RemoteRefs, TRIES, TaskRemote, TaskRemoteError};
use watchdog_core::config::settings::{ConfigSettings, RescueSettings};
use watchdog_git::{ArrivedAs, ArrivedSnapshot, SnapshotSummary, SnapshotToShare, Worktree};

use crate::rescue::private_rule;

/// Where they are on the remote: `<task>/fence-<fence>/<time>-<n>`.
const PREFIX: &str = "refs/watchdog/snapshot/";

/// So many go, or come, at once: the newest.
const MOST: usize = 100;

/// So many that are too old are removed from the remote at once.
const MOST_REMOVED: usize = 100;

/// A person's word that snapshots travel.
#[derive(Debug, Clone)]
pub(super) struct SnapshotSharing {
    rescue: RescueSettings,
}

/// What a push of snapshots came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PushedSnapshots {
    /// How many the remote has now that it did not have.
    pub pushed: usize,
    /// Why others stay here, each with its id.
    pub kept: Vec<String>,
}

/// A snapshot's ref on the remote.
struct RemoteSnapshot {
    name: String,
    commit: String,
    task: String,
    /// The component with the fence.
    origin: String,
    leaf: String,
}

impl SnapshotSharing {
    /// By the configuration that governs; `None` = none travels.
    pub(super) fn of(settings: &ConfigSettings) -> Option<Self> {
        settings.fleet.push_snapshots.then(|| SnapshotSharing {
            rescue: settings.rescue.clone(),
        })
    }
}

impl RemoteSnapshot {
    /// A ref that is named as watchdog names them; others are left alone.
    fn of((name, commit): (&String, &String)) -> Option<Self> {
        let mut parts = name.strip_prefix(PREFIX)?.split('/');
        let (task, origin, leaf) = (parts.next()?, parts.next()?, parts.next()?);
        let is_fence = origin
            .strip_prefix("fence-")
            .is_some_and(|fence| fence.bytes().all(|byte| byte.is_ascii_digit()));
        (is_fence && parts.next().is_none()).then(|| RemoteSnapshot {
            name: name.clone(),
            commit: commit.clone(),
            task: task.to_owned(),
            origin: origin.to_owned(),
            leaf: leaf.to_owned(),
        })
    }

    fn taken_at(&self) -> Option<Timestamp> {
        let (time, _) = self.leaf.rsplit_once('-')?;
        let utc = DateTime::strptime("%Y%m%dT%H%M%SZ", time).ok()?;
        Some(utc.to_zoned(TimeZone::UTC).ok()?.timestamp())
    }
}

/// The snapshots of other tasks that are older than they are kept. What a task may still go on from stays.
fn too_old<'a>(
    there: &'a [RemoteSnapshot],
    task: &str,
    sharing: &SnapshotSharing,
    now: Timestamp,
) -> Vec<&'a RemoteSnapshot> {
    let Ok(before) = now.checked_sub(SignedDuration::from_hours(
        24 * i64::from(sharing.rescue.keep_days),
    )) else {
        return Vec::new();
    };
    let is_old = |found: &&RemoteSnapshot| {
        found.task != task && found.taken_at().is_some_and(|at| at < before)
    };
    there.iter().filter(is_old).take(MOST_REMOVED).collect()
}

impl TaskRemote {
    /// Pushes the snapshots of the task that the remote lacks. Each began at a commit of `pushed`, which is on the remote: nothing but
    /// uncommitted work goes with it. Removes those of other tasks that are older than snapshots are kept.
    ///
    /// # Errors
    /// See [`TaskRemoteError`]; the remote is as it was then, where it is atomic.
    pub fn push_snapshots(
        &self,
        worktree: &Worktree,
        pushed: &str,
        sharing: &SnapshotSharing,
        now: Timestamp,
    ) -> Result<PushedSnapshots, TaskRemoteError> {
        let git = self.git(worktree)?;
        // The fence moves with them.
        let _ = self.recalled.take();
        let unread = |error: watchdog_git::Error| self.unread(&error);
        let bases: BTreeSet<String> = worktree
            .snapshots(Some(&self.task))
            .map_err(unread)?
            .into_iter()
            .filter_map(|info| info.base)
            .collect();
        // One whose commits are not on the remote would bring them along.
        let bases: BTreeSet<String> = bases
            .into_iter()
            .filter(|base| git.leads_to(base, pushed).unwrap_or(false))
            .collect();
        let rule = private_rule(&sharing.rescue);
        let mut is_atomic = true;
        let mut last = None;
        for n in 0..TRIES {
            std::thread::sleep(PAUSE * n);
            let seen = self.read_refs(&git)?;
            let there = self.remote_snapshots(&git, "*")?;
            let wanted = |info: &SnapshotSummary| {
                let is_known = there
                    .iter()
                    .any(|found| found.task == self.task && found.commit == info.commit);
                !is_known && info.base.as_ref().is_some_and(|base| bases.contains(base))
            };
            let mut own = worktree
                .snapshots_to_share(&self.task, &wanted, &rule)
                .map_err(unread)?;
            own.truncate(MOST);
            let outcome = PushedSnapshots {
                pushed: own
                    .iter()
                    .filter(|snapshot| snapshot.obstacle.is_none())
                    .count(),
                kept: own
                    .iter()
                    .filter_map(|snapshot| {
                        Some(format!(
                            "{}: {}",
                            snapshot.info.id,
                            snapshot.obstacle.as_ref()?
                        ))
                    })
                    .collect(),
            };
            let too_old = too_old(&there, &self.task, sharing, now);
            if outcome.pushed == 0 && too_old.is_empty() {
                return Ok(outcome);
            }
            match self.push_refs(&git, &seen, (&own, &too_old), is_atomic) {
                Ok(()) => return Ok(outcome),
                Err(failure) if is_atomic && failure.is_not_atomic() => is_atomic = false,
                Err(failure) => {
                    // A larger fence is an error of its own.
                    if self.read_refs(&git)? == seen
                        && self.remote_snapshots(&git, "*")?.len() == there.len()
                    {
                        return Err(self.away(failure));
                    }
                    last = Some(failure);
                }
            }
        }
        Err(self.away(last.unwrap_or_else(|| RemoteFailure {
            said: "others moved the fence each time".into(),
        })))
    }

    /// Gets the snapshots of the task that other machines pushed. How many are listed here from now on.
    ///
    /// # Errors
    /// Where the remote cannot be reached, or the repository not be written.
    pub fn fetch_snapshots(
        &self,
        worktree: &Worktree,
        now: Timestamp,
    ) -> Result<usize, TaskRemoteError> {
        let git = self.git(worktree)?;
        let mut there = self.remote_snapshots(&git, &format!("{}/*", self.task))?;
        there.retain(|found| found.task == self.task);
        there.sort_by(|a, b| b.leaf.cmp(&a.leaf));
        let here = worktree
            .snapshots(Some(&self.task))
            .map_err(|error| self.unread(&error))?;
        there.retain(|found| here.iter().all(|info| info.commit != found.commit));
        there.truncate(MOST);
        git.fetch(
            &there
                .iter()
                .map(|found| found.name.as_str())
                .collect::<Vec<_>>(),
        )
        .map_err(|failure| self.away(failure))?;
        let mut kept = 0;
        for RemoteSnapshot {
            commit,
            origin,
            leaf,
            ..
        } in &there
        {
            let arrived = ArrivedSnapshot {
                spec: &self.task,
                origin,
                leaf,
                commit,
            };
            let arrived = worktree
                .keep_arrived_snapshot(&arrived, now)
                .map_err(|error| self.unread(&error))?;
            kept += usize::from(matches!(arrived, ArrivedAs::Kept(_)));
        }
        Ok(kept)
    }

    fn remote_snapshots(
        &self,
        git: &RemoteGit<'_>,
        pattern: &str,
    ) -> Result<Vec<RemoteSnapshot>, TaskRemoteError> {
        let found = git
            .refs(&[&format!("{PREFIX}{pattern}")])
            .map_err(|failure| self.away(failure))?;
        Ok(found.iter().filter_map(RemoteSnapshot::of).collect())
    }

    fn push_refs(
        &self,
        git: &RemoteGit<'_>,
        seen: &RemoteRefs,
        (own, too_old): (&[SnapshotToShare], &[&RemoteSnapshot]),
        is_atomic: bool,
    ) -> Result<(), RemoteFailure> {
        let leaf = |id: &str| id.rsplit('/').next().unwrap_or_default().to_owned();
        let names: Vec<(String, &str)> = own
            .iter()
            .filter(|snapshot| snapshot.obstacle.is_none())
            .map(|snapshot| {
                (
                    format!(
                        "{PREFIX}{}/fence-{}/{}",
                        self.task,
                        self.fence,
                        leaf(&snapshot.info.id)
                    ),
                    snapshot.info.commit.as_str(),
                )
            })
            .collect();
        let mut updates: Vec<RefUpdate<'_>> = names
            .iter()
            .map(|(name, commit)| RefUpdate {
                name,
                expected: None,
                to: Some(commit),
            })
            .collect();
        updates.extend(too_old.iter().map(|old| RefUpdate {
            name: &old.name,
            expected: Some(&old.commit),
            to: None,
        }));
        if !is_atomic {
            return git.push(&updates, false);
        }
        let number = seen.mark.as_ref().map_or(0, |mark| mark.push) + 1;
        let fence = git.empty_commit(
            &FenceMark {
                task: self.task.clone(),
                fence: self.fence,
                push: number,
            }
            .message(),
        )?;
        let name = fence_ref(&self.task);
        updates.push(RefUpdate {
            name: &name,
            expected: seen.fence_id.as_deref(),
            to: Some(&fence),
        });
        git.push(&updates, true)
    }

    fn unread(&self, error: &watchdog_git::Error) -> TaskRemoteError {
        TaskRemoteError::Snapshots {
            why: error.to_string(),
        }
    }
}

#[cfg(test)]
#[path = "snapshot_travel_tests.rs"]
mod tests;
