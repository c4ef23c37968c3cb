//! Joins the store's and git's evidence about the origin of commits, records the commits of a rescue, and keeps judged heads.

use std::path::Path;
use std::sync::Arc;

use watchdog_core::decision::beside_claim::{dispute_beside, join_names};
use watchdog_facts::display::{escape_to_one_line, plural};
use watchdog_facts::evidence::{
    BesideState, Changes, Commit, CommitOrigin, Commits, Degradation, RescueOutcome, WarningCode,
};
use watchdog_facts::shell_line::{WorktreeCommands, shell_path};
use watchdog_facts::verdict::{Evidence, Reason, Status, Verdict};
use watchdog_git::{
    KnownRefs, LeftCommit, OriginEvidence, RescuedCommit, UnmergedWork, UnsettledSubmodule,
    Worktree,
};
use watchdog_store::rescued::RescuedRecord;
use watchdog_store::{LocalStore, RecordType, baseline::BaselineRecord, rescued};

use super::judgement_input::JudgementInput;
use super::open_worktree::OpenWorktree;
use crate::clock::now;
use crate::session::{RecordedBaseline, describe_other_clone};

/// All that watchdog recorded about where the commits of a worktree come from.
pub fn origin_evidence(
    store: &Arc<dyn LocalStore>,
    worktree: &Worktree,
    refs: Option<&KnownRefs>,
) -> OriginEvidence {
    let (repository, of_rescues) = (worktree.repository_id(), Arc::clone(store));
    let of_baselines = Arc::clone(store);
    let evidence = OriginEvidence::from(refs).with_recorded_worktrees(move || {
        BaselineRecord::list_worktrees(of_baselines.as_ref()).map_err(|error| error.to_string())
    });
    evidence.with_rescued(move || {
        let commits = rescued::of_repository(of_rescues.as_ref(), &repository)
            .map_err(|error| error.to_string())?;
        Ok(commits
            .into_iter()
            .map(
                |RescuedRecord {
                     id,
                     patch,
                     authored,
                 }| RescuedCommit {
                    id,
                    patch,
                    authored,
                },
            )
            .collect())
    })
}

/// The same by the whole record of a baseline.
pub fn recorded_evidence(open: &OpenWorktree, recorded: &RecordedBaseline) -> OriginEvidence {
    origin_evidence(&open.store, &open.worktree, Some(&recorded.refs))
        .with_content(recorded.content())
}

/// Records which commits a rescue made, so that they never count as the session's own. If that
/// fails, the outcome warns of it.
pub fn remember_rescued(store: &dyn LocalStore, worktree: &Worktree, outcome: &mut RescueOutcome) {
    let described = worktree
        .describe_rescued(&outcome.made)
        .map_err(|error| error.to_string());
    let remembered = described.and_then(|commits| {
        let records: Vec<_> = commits
            .into_iter()
            .map(
                |RescuedCommit {
                     id,
                     patch,
                     authored,
                 }| RescuedRecord {
                    id,
                    patch,
                    authored,
                },
            )
            .collect();
        rescued::remember_rescued(
            store,
            &worktree.repository_id(),
            &worktree.worktree_id(),
            &records,
        )
        .map_err(|error| error.to_string())
    });
    if let Err(why) = remembered {
        let detail = format!(
            "cannot record which commits the rescue made: {why}; without their trailers they will count as the session's own"
        );
        outcome
            .warnings
            .push(Degradation::new(WarningCode::RescueUnrecorded, detail));
    }
}

/// Reads what HEAD lacks: the work of helpers where a verdict is complete, and changes inside of submodules. With any of it, the agent's
/// word alone is not enough for a complete.
pub fn settle_beside(input: &JudgementInput, mut verdict: Verdict) -> Verdict {
    let worktree = input.worktree();
    let (mut helpers, mut submodules) = (Vec::new(), Vec::new());
    if verdict.status() == Status::Complete {
        match worktree.unmerged_work(&input.evidence) {
            Ok(unmerged) => helpers = unmerged.iter().map(helper_words).collect(),
            Err(error) => verdict.add_note(WarningCode::HelpersUnread, error),
        }
    }
    // The rest after a rescue is not read again.
    let after_rescue = verdict.changes.is_none() && verdict.reason == Reason::Rescued;
    if after_rescue || verdict.changes.as_ref().is_some_and(Changes::any) {
        let is_change = |path: &String| {
            verdict
                .changes
                .as_ref()
                .is_none_or(|changes| changes.paths.contains(path))
        };
        match worktree.unsettled_submodules() {
            Ok(unsettled) => {
                submodules = unsettled
                    .iter()
                    .filter(|submodule| is_change(&submodule.path))
                    .map(|submodule| submodule_words(worktree.root(), submodule))
                    .collect()
            }
            Err(error) => verdict.add_note(WarningCode::SubmodulesUnread, error),
        }
    }
    let (left_commits, failures) = worktree.keep_submodule_commits(Some(&input.evidence), now());
    let unread = |error| Degradation::new(WarningCode::SubmodulesUnread, error);
    verdict.degraded.extend(failures.iter().map(unread));
    let left_words: Vec<String> = left_commits.iter().map(left_commit_words).collect();
    if !left_words.is_empty() {
        let detail = join_names(&left_words);
        verdict.add_clause(&detail);
        verdict.add_note(WarningCode::SubmoduleCommitsLeft, detail);
        submodules.extend(left_words);
    }
    dispute_beside(verdict, helpers, &submodules)
}

/// Takes the credit from a verdict about another clone than the baseline's: what is in it was not seen to be made since then.
pub fn settle_clone(
    input: &JudgementInput,
    store: &dyn LocalStore,
    mut verdict: Verdict,
) -> Verdict {
    let worktree = input.worktree();
    let is_recorded = || {
        Ok::<_, watchdog_git::Error>(
            input.clone_id == worktree.clone_id()? && worktree.has_its_folder(),
        )
    };
    if input.clone_id.is_none() || is_recorded().unwrap_or(false) {
        return verdict;
    }
    let detail = format!(
        "{}, since the baseline was recorded",
        describe_other_clone(store, &worktree)
    );
    if verdict.status() == Status::Complete {
        verdict.reason = Reason::Disputed;
        verdict.evidence = Evidence::None;
        verdict.message = format!(
            "{detail}, and what is in it completes nothing; begin anew with: {}",
            input.commands.watchdog("snapshot")
        );
        verdict.not_a_strike_because = Some(Reason::Disputed.status().as_str());
    } else {
        verdict.message = format!("{detail}; {}", verdict.message);
    }
    verdict.add_note(WarningCode::AnotherClone, detail);
    verdict
}

/// Notes commits that are younger than the recorded end of the session: a person's, or those of a process that left it unseen.
pub fn note_late_commits(
    input: &JudgementInput,
    store: &dyn LocalStore,
    mut verdict: Verdict,
) -> Verdict {
    let Some(commits) = &verdict.commits else {
        return verdict;
    };
    let ended = (input.last_session(store)).filter(|session| session.survivors.is_empty());
    let Some(ended_at) = ended.and_then(|session| session.ended_at) else {
        return verdict;
    };
    let worktree = input.worktree();
    // git knows whole seconds.
    let is_late = |commit: &&Commit| {
        worktree
            .committed_at(&commit.id)
            .is_ok_and(|at| at > ended_at.as_second() + 1)
    };
    let late = commits
        .listed
        .iter()
        .filter(|commit| commit.origin == CommitOrigin::MadeHere)
        .filter(is_late)
        .count();
    if late > 0 {
        let detail = format!(
            "{} made after the session ended at {ended_at:.0}",
            plural(late as u64, "commit")
        );
        if verdict.status() == Status::Complete {
            verdict.add_clause(&detail);
        }
        verdict.add_note(WarningCode::CommittedSinceEnd, detail);
    }
    verdict
}

fn submodule_words(root: &Path, submodule: &UnsettledSubmodule) -> String {
    let path = escape_to_one_line(&submodule.path);
    let unsaved_work = match (submodule.other_commit, submodule.uncommitted) {
        (true, true) => "uncommitted changes, and a commit that nothing here names",
        (true, false) => "a commit that nothing here names",
        (false, _) => "uncommitted changes",
    };
    let keep = match submodule.other_commit && !submodule.named {
        true => {
            let keep = WorktreeCommands::at(&root.join(&submodule.path)).git("switch -c NAME");
            format!(", nor any branch of its own (keep it with: {keep})")
        }
        false => String::new(),
    };
    format!("submodule {path} has {unsaved_work}{keep}")
}

/// A sentence about a commit that its branches left, with the command that brings it back.
pub fn left_commit_words(commit: &LeftCommit) -> String {
    let origin = escape_to_one_line(&commit.origin);
    let id: String = commit.id.chars().take(12).collect();
    let branch = format!("branch watchdog-{id} {}", commit.id);
    let bring_back = match &commit.folder {
        Some(folder) => WorktreeCommands::at(folder).git(&branch),
        // git refuses a repository whose work tree is gone, unless another is named.
        None => format!(
            "git --git-dir={} --work-tree=. {branch}",
            shell_path(&commit.git_dir)
        ),
    };
    format!(
        "{origin}: no branch reaches commit {id} any more, and watchdog keeps it (bring it back with: {bring_back})"
    )
}

fn helper_words(helper: &UnmergedWork) -> String {
    let what = if helper.has_worktree {
        "worktree"
    } else {
        "branch"
    };
    let name = escape_to_one_line(&helper.name);
    if let Some(why) = &helper.unreadable {
        return format!("{what} {name}: cannot look at it: {why}");
    }
    let counts = [
        (helper.commits, plural(helper.commits, "unmerged commit")),
        (
            helper.uncommitted,
            plural(helper.uncommitted, "uncommitted change"),
        ),
    ];
    let phrases: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(_, words)| words)
        .collect();
    format!("{what} {name}: {}", phrases.join(", "))
}

/// Keeps the judged head and the session's work elsewhere in refs, where the session made anything and the repository is writable.
/// No result depends on it.
pub fn keep_judged_head(worktree: &Worktree, spec: &str, commits: Option<&Commits>) {
    let Some(commits) = commits else { return };
    let beside = (commits.beside.iter())
        .filter(|work| work.state != BesideState::Stashed)
        .map(|work| &work.commit);
    // A repository that only others may write is judged all the same.
    for commit in beside {
        worktree.keep_beside(spec, commit, now()).ok();
    }
    if let Some(head) = commits.head.as_ref().filter(|_| commits.new_commits > 0) {
        worktree.keep_judged(spec, head, now()).ok();
    }
}
