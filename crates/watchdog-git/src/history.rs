//! Reads the commits since a baseline: how many, made where, and whether they changed anything.

use std::collections::HashSet;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use super::baseline::HistoryPoint;
use super::beside_head::BesideSearch;
use super::brought;
use super::error::{Error, ReadContext as _};
use super::known_refs::KnownRefs;
use super::net_change::{self, CommitsByOrigin, NetEffect};
use super::open::Worktree;
use super::origin::{self, CommitOrigins};
use super::origin_evidence::OriginEvidence;
use super::rescued;
use super::rewritten;
use super::walk::{CommitHistory, HistoryIndex};
use watchdog_facts::display::name_first;
use watchdog_facts::evidence::{Commit, CommitOrigin, Commits, Degradation, WarningCode};

impl Worktree {
    /// The commits that HEAD has and `baseline` has not.
    ///
    /// `refs` are the refs recorded with the baseline ([`Worktree::ref_tips`]); they prove which
    /// commits were there before. Without them only the reflogs speak.
    ///
    /// If the baseline is no longer part of HEAD's history (amend, rebase, reset), `degraded` says
    /// `history_rewritten`, and only commits whose patch the baseline's side does not have count as
    /// made here.
    ///
    /// # Errors
    /// [`Error::UnknownRevision`] names a baseline that is not here; [`Error::Read`] where an object or
    /// ref that is needed cannot be read. An unreadable fact is never counted as zero.
    pub fn commits_since(
        &self,
        baseline: &HistoryPoint,
        refs: Option<&KnownRefs>,
    ) -> Result<Commits, Error> {
        self.session_commits(baseline, &refs.into())
    }

    /// The same with everything that watchdog recorded: it separates the commits of rescues from the session's own.
    ///
    /// # Errors
    /// As [`Worktree::commits_since`].
    pub fn session_commits(
        &self,
        baseline: &HistoryPoint,
        evidence: &OriginEvidence,
    ) -> Result<Commits, Error> {
        self.retry_while_packing(|| self.session_commits_now(baseline, evidence))
    }

    fn session_commits_now(
        &self,
        baseline: &HistoryPoint,
        evidence: &OriginEvidence,
    ) -> Result<Commits, Error> {
        let baseline = match baseline {
            HistoryPoint::Unborn => None,
            HistoryPoint::Commit(hex) => {
                let unknown = || Error::UnknownRevision { rev: hex.clone() };
                Some(hex.parse::<ObjectId>().map_err(|_| unknown())?)
            }
        };
        let head = self.head_id()?;
        let mut history = CommitHistory::new(self)?;
        if let Some(baseline) = baseline {
            let node = history.node(baseline);
            if !history.load(node)? {
                return Err(Error::UnknownRevision {
                    rev: baseline.to_hex().to_string(),
                });
            }
        }
        let Some(head) = head else {
            let mut commits = unborn_again(baseline);
            BesideSearch {
                worktree: self,
                history: &mut history,
                new: &[],
                head,
                evidence,
            }
            .search(&mut commits);
            return Ok(commits);
        };
        let (new, contains_baseline, boundary) = match baseline {
            Some(baseline) => {
                let range = history.range(baseline, head)?;
                (range.commits, range.contains_baseline, range.boundary)
            }
            None => (history.all(head)?, true, Vec::new()),
        };
        let mut commits = Commits {
            head: Some(head.to_hex().to_string()),
            new_commits: new.len() as u64,
            ..Commits::default()
        };
        let origins = origin::sort_by_origin(self, &mut history, baseline, &new, evidence)?;
        let twins = origins.twins.len() as u64;
        commits.imported = origins.imported.len() as u64 - twins;
        commits.degraded.extend(origins.degraded.iter().cloned());

        let mut made: HashSet<HistoryIndex> = new
            .iter()
            .filter(|node| !origins.imported.contains(node))
            .copied()
            .collect();
        let rescued = rescued::find_rescued(self, &mut history, &made, &origins.amended, evidence)?;
        commits.rescued = rescued.len() as u64;
        made.retain(|node| !rescued.contains(node));
        if let Some(baseline) = baseline.filter(|_| !contains_baseline) {
            made = rewritten::made_anew(
                self,
                &mut history,
                &new,
                made,
                (baseline, head),
                (&boundary, &origins.amended),
                &mut commits.degraded,
            )?;
        }
        commits.made_here = made.len() as u64 + twins;
        let mut effect = net_change::compute_change(
            self,
            &mut history,
            baseline,
            head,
            &CommitsByOrigin {
                new: &new,
                made: &made,
                rescued: &rescued,
                origins: &origins,
            },
            evidence,
            &mut commits.degraded,
        )?;
        // They count as content that was there, whatever they change.
        if twins > 0 && (made.is_empty() || effect != NetEffect::Change) {
            let named = origins
                .twins
                .iter()
                .map(|node| history.id(*node).to_hex_with_len(12).to_string());
            effect = NetEffect::Brought(
                named
                    .map(|id| (id, "the same commit on a recorded ref".to_owned()))
                    .collect(),
            );
        }
        if effect == NetEffect::Change && !made.is_empty() {
            commits.degraded.extend(brought::note_unsearched(evidence)?);
        }
        let ours = commits.made_here + commits.rescued > 0;
        commits.net_change = ours && matches!(effect, NetEffect::Change | NetEffect::Brought(_));
        note_effect(&mut commits, &effect);
        commits.listed = self.list(&history, &new, &origins, &rescued)?;
        BesideSearch {
            worktree: self,
            history: &mut history,
            new: &new,
            head: Some(head),
            evidence,
        }
        .search(&mut commits);
        Ok(commits)
    }

    fn list(
        &self,
        history: &CommitHistory<'_>,
        new: &[HistoryIndex],
        origins: &CommitOrigins,
        rescued: &HashSet<HistoryIndex>,
    ) -> Result<Vec<Commit>, Error> {
        let mut listed = Vec::with_capacity(new.len().min(Commits::LISTED));
        for node in new.iter().take(Commits::LISTED) {
            let id = history.id(*node);
            let doing = || format!("read commit {id}");
            let commit = self.repo.find_commit(id).with_context(doing)?;
            let message = commit.message_raw().with_context(doing)?;
            let subject = message
                .lines()
                .find(|line| !line.trim().is_empty())
                .unwrap_or_default();
            let is_imported = origins.imported.contains(node) && !origins.twins.contains(node);
            let origin = match (is_imported, rescued.contains(node)) {
                (true, _) => CommitOrigin::Imported,
                (false, true) => CommitOrigin::Rescued,
                (false, false) => CommitOrigin::MadeHere,
            };
            listed.push(Commit {
                id: id.to_hex().to_string(),
                subject: subject.trim().to_str_lossy().into_owned(),
                origin,
            });
        }
        Ok(listed)
    }
}

/// HEAD has no commit. With a baseline that has one, its history is not here any more.
fn unborn_again(baseline: Option<ObjectId>) -> Commits {
    let mut commits = Commits::default();
    if let Some(baseline) = baseline {
        let detail = format!(
            "HEAD is on a branch without commits, and no longer contains the baseline {}",
            baseline.to_hex_with_len(12)
        );
        commits
            .degraded
            .push(Degradation::new(WarningCode::HistoryRewritten, detail));
    }
    commits
}

/// How many brought files are named.
const NAMED: usize = 3;

fn brought_words(files: &[(String, String)]) -> String {
    let named: Vec<String> = files
        .iter()
        .map(|(path, source)| format!("'{path}' ({source})"))
        .collect();
    format!(
        "all new content of the commits made here was there before: {}",
        name_first(&named, NAMED)
    )
}

fn note_effect(commits: &mut Commits, effect: &NetEffect) {
    if commits.made_here == 0 {
        return;
    }
    let what = match commits.made_here {
        1 => "the commit made here".to_string(),
        count => format!("none of the {count} commits made here"),
    };
    let (code, detail) = match effect {
        NetEffect::Change => return,
        NetEffect::Brought(files) => {
            commits.brought = files.len() as u64;
            (WarningCode::Brought, brought_words(files))
        }
        NetEffect::Droppings(path) => (
            WarningCode::NoNetChange,
            format!(
                "only what programs leave behind by themselves was committed, such as '{path}'"
            ),
        ),
        NetEffect::Empty if commits.made_here == 1 => {
            (WarningCode::EmptyCommits, format!("{what} changes no file"))
        }
        NetEffect::Empty => (WarningCode::EmptyCommits, format!("{what} changes a file")),
        NetEffect::Nothing => (
            WarningCode::NoNetChange,
            "what was made here adds up to no change of its own".to_string(),
        ),
    };
    commits.degraded.push(Degradation { code, detail });
}
