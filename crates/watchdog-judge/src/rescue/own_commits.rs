//! The commits that watchdog makes itself: chosen, grouped, made one after the other, or on a branch of their own where
//! the current one may not or will not take them. Each is made whole or not at all, so that a crash between two leaves
//! fewer files for the next rescue, and nothing else.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::choice::choose_paths;
use super::grouping::{self, CommitGrouping, PlanSource};
use super::request::RescueRequest;
use super::single::{CommitAttempt, CommitGroup, commit_group, find_obstacle, find_protection};
use super::{checkboxes, fallback_branch, fixed, message, smuggled};
use watchdog_core::config::settings::RescueMode;
use watchdog_facts::display::name_first;
use watchdog_facts::evidence::{Degradation, RescueOutcome, WarningCode};
use watchdog_facts::shell_line::{WorktreeCommands, shell_word};
use watchdog_git::{CommitReadiness, Error, IndexBackup, SnapshotPath, Worktree, escape_path};

/// The commits made, for the proof.
#[derive(Debug, Default)]
pub(super) struct CommittedWork {
    /// Commits made on the current branch, by name.
    pub made: Vec<String>,
    /// The paths requested in them, as text and as in git.
    pub paths: Vec<(String, Vec<u8>)>,
    /// Paths that had changed since the snapshot before the first commit was made.
    pub changed_before: BTreeSet<String>,
    /// Paths that are on the other branch as the snapshot has them.
    pub as_they_were: BTreeSet<String>,
}

impl CommittedWork {
    /// Adds the commits of a further attempt.
    pub fn add(&mut self, more: CommittedWork) {
        self.made.extend(more.made);
        self.paths.extend(more.paths);
        self.changed_before.extend(more.changed_before);
        self.as_they_were.extend(more.as_they_were);
    }
}

/// Commits what may be committed, or says in `outcome` why not.
///
/// # Errors
/// When git's data cannot be read.
pub(super) fn make_commits(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    ask: Option<PlanSource<'_>>,
    state: &CommitReadiness,
    outcome: &mut RescueOutcome,
) -> Result<CommittedWork, Error> {
    let mut committed = CommittedWork::default();
    if let Some(obstacle) = find_obstacle(state) {
        outcome.failed = Some(obstacle);
        return Ok(committed);
    }
    let paths = worktree.snapshot_paths(&request.snapshot.commit)?;
    let choice = choose_paths(worktree, request, &paths)?;
    outcome.left_out.extend(choice.left_out);
    outcome.warnings.extend(choice.warnings);
    outcome.failed = choice.refused;
    let chosen = smuggled::remove_smuggled(worktree, request, choice.commit, outcome)?;
    if chosen.is_empty() {
        return Ok(committed);
    }
    let protected = find_protection(state, request.settings);
    let Some(grouping) = group_files(worktree, request, ask, protected.is_some(), chosen)? else {
        outcome.failed = Some("it was interrupted before anything was committed".into());
        return Ok(committed);
    };
    outcome.warnings.extend(grouping.note);
    let (refused, rest) = match protected {
        Some(why) => (Some(why), grouping.groups.as_slice()),
        None => {
            committed.changed_before = worktree
                .missing_from(request.snapshot)?
                .into_iter()
                .collect();
            let begun = Instant::now();
            let index_before = worktree.save_index()?;
            let mut done = one_by_one(
                worktree,
                request,
                state,
                &grouping.groups,
                begun,
                &mut committed,
                outcome,
            )?;
            if let (None, true, Some((list, texts))) =
                (&done.0, done.1.is_empty(), &grouping.fulfilled)
            {
                let ticked = checkboxes::check_off(
                    worktree,
                    request,
                    list,
                    texts,
                    calculate_time_left(request, begun),
                )?;
                committed.made.extend(ticked.commit);
                outcome.warnings.extend(ticked.note);
            }
            let was_hook = put_back_taken(
                worktree,
                request,
                (state, &index_before),
                &committed,
                outcome,
            );
            if was_hook && done.0.is_none() {
                done.0 = outcome.failed.take();
            }
            if let Some(moved) = describe_moved_head(worktree, state, &committed)? {
                match done.0.as_mut().or(outcome.failed.as_mut()) {
                    Some(why) => *why = format!("{moved}; {why}"),
                    None => outcome.failed = Some(moved),
                }
            }
            done
        }
    };
    smuggled::found_in(worktree, request, &committed.made, outcome)?;
    if let Some(why) = refused {
        match fallback_branch::commit_to_fallback(worktree, request, rest)? {
            Ok(there) => {
                committed.as_they_were = there.as_they_were;
                outcome.fallback_branch = Some(there.branch);
                outcome.failed = Some(match there.renamed {
                    Some(renamed) => format!("{renamed}; {why}"),
                    None => why,
                });
            }
            Err(also) => {
                outcome.failed = Some(format!(
                    "{why}\nand it could not be committed to a branch of its own: {also}"
                ))
            }
        }
    }
    Ok(committed)
}

/// How HEAD is elsewhere than the commits left it, as where a hook switched the branch, with the way back, for a person.
fn describe_moved_head(
    worktree: &Worktree,
    state: &CommitReadiness,
    committed: &CommittedWork,
) -> Result<Option<String>, Error> {
    let now = worktree.commit_state()?;
    let Some(from) = &state.branch else {
        return Ok(None);
    };
    let git = WorktreeCommands::at(worktree.root());
    if now.branch.as_ref() == Some(from) {
        let is_ahead =
            |head: &&String| (now.head.as_ref()).is_some_and(|now| worktree.is_ancestor(head, now));
        let head = committed.made.last().or(state.head.as_ref());
        return Ok(head.filter(|head| !is_ahead(head)).map(|head| {
            let back = git.git(&format!("reset --keep {head:.12}"));
            format!("a hook took the branch {from} back from {head:.12}; go back with: {back}")
        }));
    }
    let way = match (&state.head, &now.head) {
        (Some(_), _) => "switch",
        // git makes no switch to a branch without a commit; commits made stay with it.
        (None, Some(_)) if committed.made.is_empty() => "switch --orphan",
        (None, _) => "switch -c",
    };
    Ok(Some(format!(
        "a hook switched from the branch {from} to {}; go back with: {}",
        now.branch.as_deref().unwrap_or("a commit without one"),
        git.git(&format!("{way} {}", shell_word(from)))
    )))
}

/// Puts back what a hook took out of the work tree and did not bring back: one that stashes, and dies. Its index comes back where no
/// commit was made. Returns whether it was so, whatever words git ended with.
fn put_back_taken(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    (state, index_before): (&CommitReadiness, &IndexBackup),
    committed: &CommittedWork,
    outcome: &mut RescueOutcome,
) -> bool {
    // On another branch or commit the files of this one are nobody's.
    let own_head = committed.made.last().or(state.head.as_ref());
    let is_here = |now: &CommitReadiness| {
        now.branch == state.branch && now.head.as_ref() == own_head && now.operation.is_none()
    };
    if !worktree.commit_state().is_ok_and(|now| is_here(&now)) {
        return false;
    }
    let put_back = || {
        let paths = worktree.put_back(request.snapshot, &committed.changed_before)?;
        if !paths.is_empty() && committed.made.is_empty() {
            worktree.put_index_back(index_before, &worktree.save_index()?)?;
        }
        Ok::<_, Error>(paths)
    };
    // Commits that were made stay known, whatever comes of the files: the snapshot has them.
    let taken: BTreeSet<String> = match put_back() {
        Ok(paths) => paths.into_iter().collect(),
        Err(error) => {
            let detail = format!("files that a hook took are in the snapshot alone: {error}");
            (outcome.warnings).push(Degradation::new(WarningCode::ChangedByHooks, detail));
            return false;
        }
    };
    let is_of_commit = |(path, _): &(String, Vec<u8>)| taken.contains(path);
    if outcome.failed.is_none() && committed.paths.iter().any(is_of_commit) {
        let why = "the repository's hooks took files out of the commit; they are in the work tree";
        outcome.failed = Some(why.into());
    }
    warn_about_paths(
        outcome,
        WarningCode::ChangedByHooks,
        &taken.iter().map(String::as_str).collect(),
        "taken out of the work tree by the repository's hooks while committed, and put back",
        request,
    );
    !taken.is_empty()
}

/// The time that commits still have; never none, so that a late one can end properly.
pub(super) fn calculate_time_left(request: &RescueRequest<'_>, begun: Instant) -> Duration {
    request
        .settings
        .timeout
        .saturating_sub(begun.elapsed())
        .max(Duration::from_secs(1))
}

/// Groups the files. Asks the agent only if its answer can matter: not about one file, not for a branch that
/// takes no commits, and not again about work that a hook refused and that is on a fallback branch.
fn group_files<'p>(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    ask: Option<PlanSource<'_>>,
    protected: bool,
    chosen: Vec<&'p SnapshotPath>,
) -> Result<Option<CommitGrouping<'p>>, Error> {
    match ask {
        Some(ask)
            if request.settings.mode == RescueMode::Plan && chosen.len() > 1 && !protected =>
        {
            let branch = worktree.rescue_branch(request.spec)?;
            if branch.holds_head && message::is_about_snapshot(&branch.message, request.snapshot) {
                return Ok(Some(grouping::group_as_one(request, chosen)));
            }
            grouping::group_by_plan(worktree, request, chosen, ask)
        }
        _ => Ok(Some(grouping::group_as_one(request, chosen))),
    }
}

/// Makes the commits in order. Returns why one was refused, and the groups that are not committed.
fn one_by_one<'g, 'p>(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    state: &CommitReadiness,
    groups: &'g [CommitGroup<'p>],
    begun: Instant,
    committed: &mut CommittedWork,
    outcome: &mut RescueOutcome,
) -> Result<(Option<String>, &'g [CommitGroup<'p>]), Error> {
    for (n, group) in groups.iter().enumerate() {
        let groups_left = &groups[n..];
        let now = worktree.commit_state()?;
        if now.branch != state.branch || find_obstacle(&now).is_some() {
            let why =
                find_obstacle(&now).unwrap_or_else(|| "another branch was checked out".into());
            outcome.failed = Some(format!("while it was committed, the state changed: {why}"));
            return Ok((None, groups_left));
        }
        let mut made = commit_group(worktree, group, calculate_time_left(request, begun))?;
        // Hooks that put files right and refuse once, the pre-commit way, take the same files the second time.
        if matches!(made, CommitAttempt::Refused(_))
            && fixed::by_hooks(worktree, request, group, &committed.changed_before)?
        {
            made = commit_group(worktree, group, calculate_time_left(request, begun))?;
        }
        match made {
            CommitAttempt::Commit { commit, added } => {
                committed.made.push(commit);
                let added: Vec<String> = added.iter().map(|path| escape_path(path)).collect();
                let leaked: BTreeSet<&str> = outcome
                    .left_out
                    .iter()
                    .map(|omitted| omitted.path.as_str())
                    .filter(|path| added.iter().any(|a| a == path))
                    .collect();
                if !leaked.is_empty() {
                    let named = leaked.into_iter().collect::<Vec<_>>().join(", ");
                    let detail = format!(
                        "the repository's own hooks put into a commit what rescue leaves out: {named}"
                    );
                    let warning = Degradation::new(WarningCode::HooksAddedFiles, detail);
                    outcome.warnings.push(warning);
                }
            }
            CommitAttempt::CommitWithComplaint { commit, why } => {
                committed.made.push(commit);
                // The commit exists; a later step checks whether the index followed.
                let detail = format!("a commit was made, and then {why}");
                let warning = Degradation::new(WarningCode::CommitComplaint, detail);
                outcome.warnings.push(warning);
            }
            CommitAttempt::Nothing => continue,
            CommitAttempt::NotTried(why) => {
                outcome.failed = Some(why);
                return Ok((None, groups_left));
            }
            CommitAttempt::Refused(why) => return Ok((Some(why), groups_left)),
        }
        let paths = group.paths.iter();
        (committed.paths).extend(paths.map(|path| (path.text.clone(), path.path.clone())));
    }
    Ok((None, &[]))
}

/// Finds the paths of `lost` that are safe after all: a hook rewrote them during the commit, or the fallback branch has them.
///
/// # Errors
/// When commits cannot be read.
pub(super) fn accounted_for(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    committed: &CommittedWork,
    lost: Vec<String>,
    outcome: &mut RescueOutcome,
) -> Result<Vec<String>, Error> {
    let candidates: Vec<&[u8]> = committed
        .paths
        .iter()
        .filter(|(text, _)| lost.contains(text) && !committed.changed_before.contains(text))
        .map(|(_, path)| path.as_slice())
        .collect();
    let rewritten: Vec<&[u8]> = match candidates.is_empty() {
        true => Vec::new(),
        false => worktree.rewritten_by(&committed.made, request.snapshot, &candidates)?,
    };
    let rewritten: BTreeSet<&str> = committed
        .paths
        .iter()
        .filter(|(_, path)| rewritten.contains(&path.as_slice()))
        .map(|(text, _)| text.as_str())
        .collect();
    warn_about_paths(
        outcome,
        WarningCode::ChangedByHooks,
        &rewritten,
        "changed by the repository's hooks while committed",
        request,
    );
    let as_they_were: BTreeSet<&str> = lost
        .iter()
        .filter(|path| committed.as_they_were.contains(*path))
        .map(String::as_str)
        .collect();
    warn_about_paths(
        outcome,
        WarningCode::ChangedMeanwhile,
        &as_they_were,
        "changed in the work tree meanwhile, and committed to the other branch as they were",
        request,
    );
    let lost = lost
        .iter()
        .filter(|path| !rewritten.contains(path.as_str()) && !as_they_were.contains(path.as_str()));
    Ok(lost.cloned().collect())
}

fn warn_about_paths(
    outcome: &mut RescueOutcome,
    code: WarningCode,
    paths: &BTreeSet<&str>,
    what: &str,
    request: &RescueRequest<'_>,
) {
    if paths.is_empty() {
        return;
    }
    let paths: Vec<&str> = paths.iter().copied().collect();
    let named = name_first(&paths, 3);
    let detail = format!(
        "{what}: {named}; as they were before, they are kept in {}",
        request.snapshot.name
    );
    outcome.warnings.push(Degradation { code, detail });
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::grouping::PlanError;
    use super::super::scratch_work::ScratchWork;
    use super::*;

    #[test]
    fn agent_is_asked_unless_branch_holds_this_work() {
        for (names_snapshot, holds_head, is_asked) in [
            (true, true, false),
            (false, true, true),
            (true, false, true),
        ] {
            let mut work = ScratchWork::new();
            work.settings.mode = RescueMode::Plan;
            work.write("tracked", "two\n");
            work.write("new", "n\n");
            let snapshot = work.snapshot();
            let named = format!("Watchdog-Snapshot: {}", snapshot.name);
            let message = if names_snapshot {
                named.as_str()
            } else {
                "Watchdog-Snapshot: refs/watchdog/rescue/auth/another"
            };
            let parent: &[&str] = if holds_head { &["-p", "HEAD"] } else { &[] };
            let commit = work.git(
                &[
                    &["commit-tree", "HEAD^{tree}", "-m", "fix: x", "-m", message],
                    parent,
                ]
                .concat(),
            );
            work.git(&["branch", "watchdog/rescue/auth", &commit]);
            let paths = work.paths(&snapshot);
            let asked = Cell::new(false);
            let ask = |_: &str, _| {
                asked.set(true);
                Err(PlanError::Unavailable {
                    why: "a test".into(),
                })
            };
            let grouping = group_files(
                &work.open(),
                &work.request(&snapshot),
                Some(&ask),
                false,
                paths.iter().collect(),
            )
            .unwrap();
            assert_eq!(grouping.expect("nobody asked for an end").groups.len(), 1);
            assert_eq!(
                asked.get(),
                is_asked,
                "names the snapshot: {names_snapshot}, holds HEAD: {holds_head}"
            );
        }
    }
}
