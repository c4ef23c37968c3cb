//! The input of one judgement: the worktree, its baseline, the options, and what calls with the same baseline left behind.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use jiff::Timestamp;

use crate::clock::now;
use crate::session::UncommittedRule;
use crate::session::anchor::point_of;
use watchdog_core::config::settings::ConfigSettings;
use watchdog_core::decision::machine::{ConfigTrust, EarlierRounds};
use watchdog_facts::display::{LARGE, format_size, plural};
use watchdog_facts::evidence::{Degradation, UnreadableFact};
use watchdog_facts::session_work::SessionEdgeFiles;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_facts::verdict::Verdict;
use watchdog_git::{
    HistoryPoint, KnownRefs, OriginEvidence, Worktree, leave_gone_folder, unescape_path,
};
use watchdog_store::anchor::CriteriaAnchor;
use watchdog_store::session::SessionRecord;
use watchdog_store::{LocalStore, RecordType, progress};

/// The options of the command line, which override the configuration.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `--max-probes`.
    pub max_probes: Option<u32>,
    /// `--probe-interval`.
    pub probe_interval: Option<Duration>,
    /// `--probe-timeout`.
    pub probe_timeout: Option<Duration>,
    /// `--no-probe`.
    pub no_probe: bool,
    /// `--no-rescue`.
    pub no_rescue: bool,
    /// `--once`.
    pub once: bool,
    /// `--all`.
    pub every: bool,
    /// `--no-cache`.
    pub no_cache: bool,
    /// `--adopt`: files that are uncommitted when the session begins are its work.
    pub uncommitted: UncommittedRule,
    /// After so many fruitless sessions in a row under the same unmet checks watchdog asks for a person; `None` where a loop counts.
    pub no_progress_limit: Option<u32>,
    /// Whether the session is known to have ended, because watchdog waited for its process.
    pub session_over: bool,
    /// Whether a session of the worktree runs this very process: watchdog judges, asks and rescues nothing, and records nothing.
    pub from_inside: bool,
    /// Whether another agent ran the session than the one whose program the command line names.
    pub other_agent: bool,
    /// `--without-snapshot`: starts a session even where no snapshot of uncommitted changes could be taken.
    pub without_snapshot: bool,
}

/// The input of one judgement.
pub struct JudgementInput {
    /// The worktree; one thread at a time reads it.
    pub(super) worktree: Mutex<Worktree>,
    /// Its top folder.
    pub root: PathBuf,
    pub(super) session_folder: OnceLock<PathBuf>,
    /// Everything else about the place.
    pub worktree_id: String,
    /// The name of the work.
    pub spec: String,
    /// The point at which the session began.
    pub baseline: HistoryPoint,
    /// The refs of that moment, where they were recorded with this very baseline.
    pub known_refs: Option<KnownRefs>,
    /// The same refs with everything else that was recorded about where commits come from.
    pub evidence: OriginEvidence,
    /// When the baseline was recorded; `None` where the command line named a commit that is not recorded.
    pub recorded_at: Option<Timestamp>,
    /// When the baseline of the spec was recorded, also where the command line named another commit in its place: the session is the same
    /// one.
    pub record_at: Option<Timestamp>,
    /// The point at which the work began, with its refs: checks count and compare from it. It is
    /// the baseline, except in a
    /// loop, where each session has a baseline of its own.
    pub origin: (HistoryPoint, Option<KnownRefs>),
    /// The anchor: the criteria that hold from session to session, where they are recorded.
    pub anchor: Option<CriteriaAnchor>,
    /// Whether the anchor's file is the one in force, so that it must not vanish.
    pub pins_file: bool,
    /// Whether the worktree's own criteria judge, and not others that the command line names.
    pub by_own_criteria: bool,
    /// The text of the worktree's file in force.
    pub governing_file: Option<String>,
    /// The uncommitted files when the session began, and at its recorded end.
    pub work: SessionEdgeFiles,
    /// The id of the clone that the baseline was recorded in; `None` where that is unknown.
    pub clone_id: Option<String>,
    /// The settings in force, with the overrides of the command line.
    pub settings: ConfigSettings,
    /// Whether the configuration says whom to ask, or the default agent is asked, which nobody named.
    pub names_agent: bool,
    /// Whether the configuration sets `rescue.mode`.
    pub sets_rescue_mode: bool,
    /// The overrides of the command line.
    pub overrides: Overrides,
    /// Whether the configuration counts.
    pub trust: ConfigTrust,
    /// Warnings about facts that are weak from the beginning.
    pub notes: Vec<Degradation>,
    /// Commands for a person to type about the worktree.
    pub commands: WorktreeCommands,
    /// The verdict of the open breaker, under which the judgement asks nobody.
    pub open_breaker: Option<Verdict>,
}

impl JudgementInput {
    /// The worktree; one thread at a time reads it.
    pub fn worktree(&self) -> MutexGuard<'_, Worktree> {
        leave_gone_folder(&self.root);
        self.worktree.lock().expect("mutex poisoned")
    }

    /// The commit that guarded, named and protected files are compared with.
    pub fn criteria_point(&self) -> HistoryPoint {
        self.anchor
            .as_ref()
            .map_or_else(|| self.origin.0.clone(), point_of)
    }

    /// The commit that changed tests are compared with, and the refs that place commits elsewhere, where they were recorded with it.
    pub fn tests_point(&self) -> (HistoryPoint, Option<&KnownRefs>) {
        let tests_from = self
            .anchor
            .as_ref()
            .and_then(|anchor| anchor.tests_from.clone());
        let point = tests_from.map_or_else(|| self.criteria_point(), HistoryPoint::Commit);
        let refs = self.origin.1.as_ref().filter(|_| point == self.origin.0);
        (point, refs)
    }

    /// The same input as a part of work that began earlier.
    pub fn begun_at(self, point: HistoryPoint, refs: KnownRefs) -> Self {
        JudgementInput {
            origin: (point, Some(refs)),
            ..self
        }
    }

    /// Whose the files are that were uncommitted before the session, for the first line of `run`.
    pub fn whose_work(&self) -> String {
        match (self.work.inherited.len() as u64, self.overrides.uncommitted) {
            (_, UncommittedRule::Adopt) => {
                "what is uncommitted now counts as the session's work".to_string()
            }
            (0, UncommittedRule::Inherit) => {
                "nothing is uncommitted before the session".to_string()
            }
            (n, UncommittedRule::Inherit) => {
                let large = Some(self.inherited_bytes()).filter(|bytes| *bytes >= LARGE);
                let large = large
                    .map(|bytes| format!(" ({})", format_size(bytes)))
                    .unwrap_or_default();
                format!(
                    "{}{large} uncommitted before the session: kept, and not its work (--adopt makes it so)",
                    plural(n, "file")
                )
            }
        }
    }

    /// The size of the inherited files as they are on disk.
    fn inherited_bytes(&self) -> u64 {
        let path = |text: &String| (self.root).join(OsStr::from_bytes(&unescape_path(text)));
        self.work
            .inherited
            .keys()
            .filter_map(|text| Some(path(text).symlink_metadata().ok()?.len()))
            .sum()
    }

    /// The last recorded session since the baseline. One that cannot be read proves nothing.
    pub fn last_session(&self, store: &dyn LocalStore) -> Option<SessionRecord> {
        let since = self.record_at?;
        SessionRecord::read_row(store, &self.worktree_id, &self.spec)
            .ok()
            .flatten()
            .filter(|session| since <= session.started_at)
    }

    /// The folder that the last session began in: its agent keeps its conversation by that name.
    pub fn session_folder(&self, store: &dyn LocalStore) -> &Path {
        self.session_folder.get_or_init(|| {
            let folder = self.last_session(store).and_then(|last| last.folder);
            let there = folder.filter(|folder| folder.starts_with(&self.root) && folder.is_dir());
            there.unwrap_or_else(|| self.root.clone())
        })
    }

    /// The commit where the session began; `None` before the first one.
    pub fn baseline_commit(&self) -> Option<String> {
        self.baseline.to_commit()
    }
}

impl JudgementInput {
    /// The rounds of earlier calls with the same baseline, and the fingerprint of the work at the first of them.
    pub fn earlier(
        &self,
        store: &dyn watchdog_store::LocalStore,
    ) -> Result<(EarlierRounds, Option<u64>), UnreadableFact> {
        let Some(progress) =
            progress::CheckProgress::read_row(store, &self.worktree_id, &self.spec)?
        else {
            return Ok((EarlierRounds::default(), None));
        };
        let streak = EarlierRounds {
            nothing_to_do_streak: progress.nothing_to_do_streak,
            fruitless: progress.fruitless,
            unmet: progress.unmet,
            ..EarlierRounds::default()
        };
        // Only `--once` continues the count; a check that waits starts at zero.
        if !self.overrides.once || progress.baseline != self.baseline_commit() {
            return Ok((streak, None));
        }
        let rounds = EarlierRounds {
            rounds_used: progress.rounds_used,
            answered: progress.rounds_answered,
            alive: progress.rounds_alive,
            ..streak
        };
        Ok((rounds, progress.fingerprint))
    }

    /// Stores the state for the next call. Writes nothing where nothing changes.
    pub fn leave(
        &self,
        store: &dyn watchdog_store::LocalStore,
        rounds: EarlierRounds,
        fingerprint: Option<u64>,
    ) -> Result<(), UnreadableFact> {
        let baseline = self.baseline_commit();
        let fingerprint = if rounds.rounds_used > 0 {
            fingerprint
        } else {
            None
        };
        let recorded = progress::CheckProgress::read_row(store, &self.worktree_id, &self.spec)?;
        let unchanged = match &recorded {
            None => rounds == EarlierRounds::default(),
            Some(progress) => {
                progress.baseline == baseline
                    && (
                        progress.rounds_used,
                        progress.rounds_answered,
                        progress.rounds_alive,
                        progress.nothing_to_do_streak,
                    ) == (
                        rounds.rounds_used,
                        rounds.answered,
                        rounds.alive,
                        rounds.nothing_to_do_streak,
                    )
                    && (progress.fruitless, progress.unmet) == (rounds.fruitless, rounds.unmet)
            }
        };
        if unchanged {
            return Ok(());
        }
        progress::update_progress(
            store,
            &self.worktree_id,
            &self.spec,
            baseline.as_deref(),
            now(),
            |progress| {
                progress.rounds_used = rounds.rounds_used;
                progress.rounds_answered = rounds.answered;
                progress.rounds_alive = rounds.alive;
                progress.nothing_to_do_streak = rounds.nothing_to_do_streak;
                progress.fruitless = rounds.fruitless;
                progress.unmet = rounds.unmet;
                progress.fingerprint = progress
                    .fingerprint
                    .filter(|_| rounds.rounds_used > 0)
                    .or(fingerprint);
            },
        )
        .map_err(UnreadableFact::from)
    }
}
