//! The options and the results of a sweep.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::judge::judgement_input::Overrides;
use crate::wire::next_step::NextStep;
use crate::wire::sweep_json::{NotJudged, not_judged_line};
use crate::wire::verdict_json::{ChangesView, Judgement, VerdictView};
use watchdog_facts::evidence::{Degradation, WarningCode};
use watchdog_facts::verdict::{Reason, Status};

/// Called with each worktree as soon as it is judged: the row, how many are done, and of how many.
pub type SweepRowCallback = Arc<dyn Fn(&SweepRow, usize, usize) + Send + Sync>;

/// The options of a sweep.
#[derive(Clone)]
pub struct SweepRequest {
    /// Repositories, and folders to search for them.
    pub paths: Vec<PathBuf>,
    /// How many worktrees are judged side by side.
    pub jobs: usize,
    /// How many agents are probed side by side.
    pub max_parallel_probes: usize,
    /// The most questions for all worktrees together.
    pub max_probes_total: u32,
    /// The overrides for each judgement; always one round.
    pub overrides: Overrides,
    /// Called for each worktree.
    pub on_row: SweepRowCallback,
}

/// How many characters of a message are kept for the table.
const MESSAGE: usize = 600;

/// The message for a worktree in which nothing happened.
const UNTOUCHED: &str = "no commit, no change and no conversation since its baseline";

/// After this long an idle session beside uncommitted work is for a person.
const LONG_IDLE: Duration = Duration::from_secs(3600);

/// A worktree of a sweep.
#[derive(Debug, Clone)]
pub struct SweepRow {
    /// Its top folder.
    pub worktree: PathBuf,
    /// Its outcome.
    pub outcome: SweepOutcome,
}

/// The outcome of one worktree.
#[derive(Debug, Clone)]
pub enum SweepOutcome {
    /// It has a verdict.
    Judged(Box<Judgement>),
    /// Without a change since an earlier sweep, the row reuses its verdict.
    Again {
        /// The verdict's object.
        verdict: Box<VerdictView>,
    },
    /// It has none: why, and what else a person must know.
    NotJudged(NotJudged, Option<String>),
}

impl SweepRow {
    /// Its verdict, where it has one.
    pub fn to_verdict(&self) -> Option<VerdictView> {
        match &self.outcome {
            SweepOutcome::Judged(judgement) => Some(judgement.to_view()),
            SweepOutcome::Again { verdict } => Some((**verdict).clone()),
            _ => None,
        }
    }

    /// The verdict's object; for a worktree that was not judged, one with those of its keys that mean something.
    pub fn to_line(&self) -> String {
        match &self.outcome {
            SweepOutcome::Judged(judgement) => judgement.to_view().to_line(),
            SweepOutcome::Again { verdict } => verdict.to_line(),
            SweepOutcome::NotJudged(why, note) => {
                let usual = match why {
                    NotJudged::NoBaseline => Some("no baseline is recorded"),
                    NotJudged::Untouched => Some(UNTOUCHED),
                    NotJudged::Gone => None,
                };
                let parts: Vec<&str> = usual.into_iter().chain(note.as_deref()).collect();
                not_judged_line(&self.worktree, *why, &parts.join("; "))
            }
        }
    }

    /// Its line in the table.
    pub fn line(&self) -> SweepTableRow {
        let worktree = self.worktree.display().to_string();
        let blank = SweepTableRow {
            path: self.worktree.clone(),
            worktree,
            ..SweepTableRow::default()
        };
        let short = |text: &str| text.chars().take(MESSAGE).collect::<String>();
        let mut line = match &self.outcome {
            SweepOutcome::Judged(judgement) => {
                let verdict = &judgement.verdict;
                SweepTableRow {
                    status: Some(verdict.status()),
                    reason: verdict.reason.as_str(),
                    spec: judgement.spec.clone(),
                    commits: verdict.commits.as_ref().map(|commits| commits.made_here),
                    uncommitted: verdict.changes.as_ref().map(|changes| changes.total()),
                    message: short(&verdict.message),
                    long_idle: is_long_idle(judgement),
                    git_unusable: unusable_detail(&verdict.degraded).is_some(),
                    ..blank
                }
            }
            SweepOutcome::Again { verdict } => {
                let reason = verdict.known_reason();
                SweepTableRow {
                    status: reason.map(Reason::status),
                    reason: reason.map_or("", Reason::as_str),
                    spec: verdict.spec.clone(),
                    commits: verdict.made_here,
                    uncommitted: verdict.changes.as_ref().map(ChangesView::total),
                    message: short(verdict.message.as_deref().unwrap_or_default()),
                    git_unusable: unusable_detail(&verdict.notes).is_some(),
                    ..blank
                }
            }
            SweepOutcome::NotJudged(why, note) => SweepTableRow {
                reason: why.as_str(),
                message: short(note.as_deref().unwrap_or_default()),
                ..blank
            },
        };
        // The object of a verdict is large, and of most rows nobody needs the step.
        line.next = (line.needs_person().then(|| self.to_verdict()).flatten())
            .map(|verdict| NextStep::after_verdict(&verdict));
        line
    }
}

/// The note that git does not work in a worktree, if it is there.
pub(super) fn unusable_detail(notes: &[Degradation]) -> Option<&str> {
    let mut unusable = (notes.iter()).filter(|note| note.code == WarningCode::GitUnusable);
    unusable.next().map(|note| note.detail.as_str())
}

fn is_long_idle(judgement: &Judgement) -> bool {
    let idle = judgement
        .session
        .as_ref()
        .and_then(|session| session.idle_seconds)
        .unwrap_or_default();
    let verdict = &judgement.verdict;
    verdict.reason == Reason::SessionActive
        && idle >= LONG_IDLE.as_secs()
        && verdict
            .changes
            .as_ref()
            .is_some_and(|changes| changes.work_left())
}

/// A worktree in the table. Whole verdicts, with all their commits and paths, would be too large
/// for thousands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SweepTableRow {
    /// Its top folder.
    pub path: PathBuf,
    /// The same as a text.
    pub worktree: String,
    /// The verdict's status; `None` where it was not judged.
    pub status: Option<Status>,
    /// The verdict's reason, or `no_baseline`, `untouched` or `gone`.
    pub reason: &'static str,
    /// The name of the work.
    pub spec: Option<String>,
    /// Commits made here, where they were read.
    pub commits: Option<u64>,
    /// Uncommitted changes, where they were read.
    pub uncommitted: Option<u64>,
    /// The verdict's message.
    pub message: String,
    /// Whether a session has been idle for an hour beside work that is not committed.
    pub long_idle: bool,
    /// Whether git does not work there, as the message says.
    pub git_unusable: bool,
    /// The next step for a person, if the row calls for one.
    pub next: Option<NextStep>,
}

impl SweepTableRow {
    /// Whether a person must look.
    pub fn needs_person(&self) -> bool {
        self.status
            .is_some_and(|status| status.exit_code() >= Status::Review.exit_code())
    }

    /// Its rank in the table: first the rows that need a person, then running, complete and
    /// unjudged ones.
    pub fn rank(&self) -> u8 {
        match self.status {
            Some(_) if self.needs_person() => 0,
            Some(Status::Complete) => 2,
            Some(_) => 1,
            None => {
                if self.reason == NotJudged::Gone.as_str() {
                    4
                } else {
                    3
                }
            }
        }
    }
}

/// The results of a sweep.
#[derive(Debug, Clone, Default)]
pub struct SweepReport {
    /// Every scanned worktree, by its top folder.
    pub lines: Vec<SweepTableRow>,
    /// How many worktrees were found and not scanned, because a signal ended the sweep.
    pub not_reached: usize,
    /// Questions put to agents.
    pub probes: u32,
    /// Warnings for a person, beside the rows.
    pub notes: Vec<String>,
    /// Whether a damaged database was put aside, with the baselines of every worktree.
    pub has_lost_records: bool,
    /// Wall time.
    pub duration: Duration,
}

impl SweepReport {
    /// 0, or the highest code among `review`, `timeout`, `stopped`, `failed` and `error`. An interrupted sweep is `stopped`, and one that met a
    /// damaged database `error`.
    pub fn exit_code(&self) -> u8 {
        let code = |status: Status| match status {
            Status::Complete | Status::Incomplete | Status::Waiting => 0,
            Status::Review | Status::Timeout | Status::Stopped | Status::Failed | Status::Error => {
                status.exit_code()
            }
        };
        if self.has_lost_records {
            return Status::Error.exit_code();
        }
        let interrupted = if self.not_reached > 0 {
            Status::Stopped.exit_code()
        } else {
            0
        };
        self.lines
            .iter()
            .filter_map(|line| line.status)
            .map(code)
            .max()
            .unwrap_or(0)
            .max(interrupted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attention_comes_first_and_gone_worktrees_last() {
        let line = |status, reason| SweepTableRow {
            status,
            reason,
            ..SweepTableRow::default()
        };
        let ranks = [
            line(Some(Status::Error), ""),
            line(Some(Status::Waiting), ""),
            line(Some(Status::Complete), ""),
            line(None, "no_baseline"),
            line(None, "gone"),
        ];
        assert_eq!(ranks.map(|line| line.rank()), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn exit_code_is_highest_needing_attention() {
        let of = |statuses: &[Option<Status>], not_reached| {
            let line = |status: &Option<Status>| SweepTableRow {
                status: *status,
                ..SweepTableRow::default()
            };
            SweepReport {
                lines: statuses.iter().map(line).collect(),
                not_reached,
                ..SweepReport::default()
            }
            .exit_code()
        };
        assert_eq!(of(&[], 0), 0);
        assert_eq!(
            of(
                &[
                    Some(Status::Complete),
                    Some(Status::Incomplete),
                    Some(Status::Waiting),
                    None
                ],
                0
            ),
            0
        );
        assert_eq!(of(&[Some(Status::Review), Some(Status::Incomplete)], 0), 12);
        assert_eq!(
            of(
                &[
                    Some(Status::Failed),
                    Some(Status::Timeout),
                    Some(Status::Stopped)
                ],
                0
            ),
            15
        );
        assert_eq!(of(&[Some(Status::Error), Some(Status::Failed)], 3), 16);
        assert_eq!(of(&[Some(Status::Complete)], 1), 14);
    }
}
