//! Chooses what goes into commits: by name, size and state ([`super::selection`]), then by content.

use std::collections::BTreeSet;

use super::request::{NO_OTHERS, RescueRequest};
use super::secrets;
use super::selection::select_paths;
use super::single::without_replaced;
use watchdog_core::config::settings::RescueSettings;
use watchdog_facts::evidence::{Degradation, LeftOut, LeftOutReason, WarningCode};
use watchdog_facts::secret_shapes::LIMIT;
use watchdog_git::{Error, FileBeforeAfter, SnapshotPath, SnapshotPathKind, Worktree};

/// The paths to commit, and the others.
#[derive(Debug, Default)]
pub(super) struct CommitChoice<'p> {
    /// In git's order.
    pub commit: Vec<&'p SnapshotPath>,
    /// The paths that stay out, and why.
    pub left_out: Vec<LeftOut>,
    /// Warnings about them for a person, never with a secret.
    pub warnings: Vec<Degradation>,
    /// Why nothing is committed at all.
    pub refused: Option<String>,
}

/// Sorts the paths of the request's snapshot.
///
/// # Errors
/// When contents cannot be read.
pub(super) fn choose_paths<'p>(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    paths: &'p [SnapshotPath],
) -> Result<CommitChoice<'p>, Error> {
    choose_by(
        worktree,
        request.settings,
        (paths, request.others),
        &|path| worktree.versions(request.snapshot, path, LIMIT),
    )
}

/// The same for paths of the work tree as it is now, without a snapshot.
///
/// # Errors
/// When HEAD cannot be read.
pub(super) fn choose_on_disk<'p>(
    worktree: &Worktree,
    settings: &RescueSettings,
    paths: &'p [SnapshotPath],
) -> Result<CommitChoice<'p>, Error> {
    choose_by(worktree, settings, (paths, &NO_OTHERS), &|path| {
        worktree.versions_on_disk(path, LIMIT)
    })
}

fn choose_by<'p>(
    worktree: &Worktree,
    settings: &RescueSettings,
    (paths, others): (&'p [SnapshotPath], &BTreeSet<String>),
    versions: &dyn Fn(&[u8]) -> Result<FileBeforeAfter, Error>,
) -> Result<CommitChoice<'p>, Error> {
    let selection = select_paths(paths, others, settings);
    let max = settings.max_files;
    let refused = selection.too_many.map(|many| {
        format!(
            "{many} files are to be committed, more than rescue.max_files ({max}) allows: ignore those that are no work, commit \
             them yourself, or raise it"
        )
    });
    let mut choice = CommitChoice {
        left_out: selection.left_out,
        refused,
        ..CommitChoice::default()
    };
    for path in selection.commit {
        if path.kind == SnapshotPathKind::File && worktree.find_dropping_link(&path.text).is_some()
        {
            choice.left_out.push(LeftOut {
                path: path.text.clone(),
                why: LeftOutReason::Excluded,
            });
            continue;
        }
        let reason = match secret_in(path, versions)? {
            Some(rule) => format!("something new in it looks like a secret (rule {rule})"),
            None if path.secret => {
                "it repeats a file that is left out as a secret by its name".to_owned()
            }
            None => {
                choice.commit.push(path);
                continue;
            }
        };
        choice.left_out.push(LeftOut {
            path: path.text.clone(),
            why: LeftOutReason::Secret,
        });
        let detail = format!("{} was not committed: {reason}", path.text);
        (choice.warnings).push(Degradation::new(WarningCode::SecretContent, detail));
    }
    choice.commit = without_replaced(choice.commit, worktree.root(), &mut choice.left_out);
    choice.left_out.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(choice)
}

fn secret_in(
    path: &SnapshotPath,
    versions: &dyn Fn(&[u8]) -> Result<FileBeforeAfter, Error>,
) -> Result<Option<&'static str>, Error> {
    if path.kind != SnapshotPathKind::File {
        return Ok(None);
    }
    let versions = versions(&path.path)?;
    Ok(versions
        .after
        .and_then(|after| secrets::secret_in(&path.text, versions.before.as_deref(), &after)))
}
