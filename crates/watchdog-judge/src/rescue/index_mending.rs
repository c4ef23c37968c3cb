//! Brings the index to a commit that git made without replacing the index, as where it was killed in between: the next
//! plain commit would take the work back.

use std::time::Instant;

use super::index_lock;
use super::own_commits::calculate_time_left;
use super::request::RescueRequest;
use super::single::RESET;
use watchdog_facts::display::plural;
use watchdog_facts::evidence::{Degradation, WarningCode};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_git::{Error, Worktree};
use watchdog_process::git_program::{describe_failure, new_git_run};

/// Paths that a message names.
const NAMED: usize = 3;

/// Replaces index entries that are still as before the commits `made`. Returns, for a person, why it failed.
///
/// # Errors
/// When git's data cannot be read.
pub(super) fn mend_index(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    made: &[String],
) -> Result<Option<String>, Error> {
    let behind = worktree.index_behind(made, Some(&request.snapshot.commit))?;
    match behind.is_empty() {
        true => Ok(None),
        false => replace_entries(
            worktree,
            request,
            made,
            Some(&request.snapshot.commit),
            &behind,
        ),
    }
}

/// The same for a rescue that was killed earlier. Only where the work tree matches its commits: a user who staged a
/// reversal has it in the work tree, too.
///
/// # Errors
/// When git's data cannot be read.
pub(super) fn mend_earlier(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
) -> Result<Option<Degradation>, Error> {
    let (made, snapshot) = worktree.rescue_commits_at_head()?;
    let behind = worktree.index_behind(&made, snapshot.as_deref())?;
    if behind.is_empty() || !worktree.is_on_disk_as_committed(&behind)? {
        return Ok(None);
    }
    let detail = match replace_entries(worktree, request, &made, snapshot.as_deref(), &behind)? {
        None => format!(
            "an earlier rescue was cut short: the index is at its commits now ({})",
            describe_paths(&behind)
        ),
        Some(why) => why,
    };
    Ok(Some(Degradation::new(WarningCode::IndexMended, detail)))
}

fn replace_entries(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    made: &[String],
    snapshot: Option<&str>,
    behind: &[Vec<u8>],
) -> Result<Option<String>, Error> {
    let begun = Instant::now();
    let lock = worktree.git_dir().join("index.lock");
    let mut why =
        index_lock::wait_for_lock(&lock, worktree.root(), begun + request.settings.timeout).err();
    if why.is_none() {
        let paths: Vec<&[u8]> = behind.iter().map(Vec::as_slice).collect();
        let deadline = calculate_time_left(request, begun);
        let has_identity = worktree.has_identity();
        let done = new_git_run(worktree.root(), &RESET, &paths, has_identity, deadline).run();
        why = match done {
            Err(error) => Some(error.to_string()),
            // `git reset` of old ends with 1 where files differ from the index.
            Ok(finished) if !finished.exit.success() => {
                Some(describe_failure("git", &finished, deadline))
            }
            Ok(_) => None,
        };
    }
    let still = worktree.index_behind(made, snapshot)?;
    if still.is_empty() {
        return Ok(None);
    }
    Ok(Some(format!(
        "the index is still as it was before the rescue's commit ({}), and the next plain commit would take that back: \
         mend it with: {} ({})",
        describe_paths(&still),
        WorktreeCommands::at(worktree.root()).git("reset"),
        why.unwrap_or_else(|| "git changed nothing".into())
    )))
}

fn describe_paths(paths: &[Vec<u8>]) -> String {
    let first = paths
        .iter()
        .take(NAMED)
        .map(|path| watchdog_git::escape_path(path))
        .collect::<Vec<_>>()
        .join(", ");
    match paths.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {} more", plural(more as u64, "path")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::super::scratch_work::ScratchWork;
    use super::*;
    use watchdog_git::Snapshot;

    /// Work that was committed by a rescue that died before the index followed.
    fn cut_short() -> (ScratchWork, Snapshot, String) {
        let work = ScratchWork::new();
        for name in ["a", "b", "c", "tracked"] {
            work.write(name, "two\n");
        }
        let snapshot = work.snapshot();
        let commit = work.commit_without_index(&snapshot);
        assert_ne!(
            work.git(&["diff", "--cached", "--name-only"]),
            "",
            "the next plain commit would take the work back"
        );
        (work, snapshot, commit)
    }

    #[test]
    fn index_behind_rescue_commits_is_updated() {
        let (work, snapshot, commit) = cut_short();
        assert_eq!(
            mend_index(&work.open(), &work.request(&snapshot), &[commit]).unwrap(),
            None
        );
        assert_eq!(work.git(&["status", "--porcelain"]), "");
        assert_eq!(
            mend_earlier(&work.open(), &work.request(&snapshot)).unwrap(),
            None,
            "it is there already"
        );
    }

    #[test]
    fn index_left_by_earlier_rescue_is_mended() {
        let (work, snapshot, _) = cut_short();
        let told = mend_earlier(&work.open(), &work.request(&snapshot))
            .unwrap()
            .expect("it was cut short");
        assert_eq!(told.code, WarningCode::IndexMended);
        assert!(
            told.detail
                .contains("the index is at its commits now (a, b, c and 1 path more)"),
            "{}",
            told.detail
        );
        assert_eq!(work.git(&["status", "--porcelain"]), "");
    }

    #[test]
    fn unmendable_index_is_reported_with_cause_and_remedy() {
        let (mut work, snapshot, commit) = cut_short();
        work.settings.timeout = Duration::from_millis(600);
        let lock = work.root().join(".git/index.lock");
        let lock_file = fs::File::create(&lock).unwrap();
        let why = mend_index(
            &work.open(),
            &work.request(&snapshot),
            std::slice::from_ref(&commit),
        )
        .unwrap()
        .expect("the lock is held");
        assert!(
            why.contains("(a, b, c and 1 path more)") && why.contains(" reset"),
            "{why}"
        );
        assert!(
            why.contains("index.lock is held by") && !why.contains("waited for 0 s"),
            "{why}"
        );
        drop(lock_file);
        fs::remove_file(&lock).unwrap();

        work.settings.timeout = Duration::from_secs(30);
        let worktree = work.open();
        let config = work.root().join(".git/config");
        let before = fs::read_to_string(&config).unwrap();
        fs::write(&config, format!("{before}[core]\n\tcompression = 99\n")).unwrap();
        let why = mend_index(&worktree, &work.request(&snapshot), &[commit])
            .unwrap()
            .expect("git refuses its configuration");
        assert!(why.contains("compression level 99"), "{why}");
    }
}
