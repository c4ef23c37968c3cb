//! Whether the files that say what done means are as they were when the work began: guarded ones, lists, and what programs are named with.

use std::collections::BTreeSet;
use std::path::Path;

use crate::checks::{NamedFiles, words};
use crate::config::path_globs;
use crate::config::settings::{CommandLine, Settings};
use crate::decision::evidence::{CriteriaChanged, Fact, FaultKind, Unreadable};
use crate::decision::machine::CriteriaFiles;
use crate::git::Point;

use super::case::Case;

/// Which files there are to compare. Without a baseline nothing can be compared; what is guarded is unknown then, not unchanged.
pub fn kind(settings: &Settings, baseline: &Point) -> CriteriaFiles {
    if !settings.guards.is_empty() {
        CriteriaFiles::Guarded
    } else if *baseline == Point::nowhere() || NamedFiles::of(settings).is_empty() {
        CriteriaFiles::None
    } else {
        CriteriaFiles::Named
    }
}

/// Compares them with the baseline.
pub fn changed(case: &Case) -> Fact<CriteriaChanged> {
    let settings = &case.settings;
    if case.origin.0 == Point::nowhere() {
        return Err(Unreadable {
            kind: FaultKind::Git,
            why: "no baseline is recorded to compare guarded files with".into(),
            hint: Some("record one with 'watchdog snapshot' before the session".into()),
        });
    }
    let wrong = |(pattern, error)| Unreadable {
        kind: FaultKind::Config,
        why: format!("`{pattern}` in guards is not a valid glob: {error}"),
        hint: None,
    };
    let guards = path_globs(&settings.guards).map_err(wrong)?;
    let NamedFiles { lists, words } = NamedFiles::of(settings);
    let worktree = case.worktree.lock().expect("no panic while it was held");
    let root = worktree.root().to_owned();
    let mut named: BTreeSet<String> = lists.into_iter().filter_map(|path| inside(&root, path)).collect();
    named.extend(at_baseline(case, &worktree, words)?);
    if guards.is_empty() && named.is_empty() {
        return Ok(CriteriaChanged::default());
    }
    let wanted = |path: &str| guards.is_match(path) || named.contains(path);
    let touched = worktree.touched_since(&case.origin.0, case.origin.1.as_ref(), &wanted)?;
    let (mut guarded, named): (Vec<String>, Vec<String>) = touched.into_iter().partition(|path| guards.is_match(path));
    let guarded_total = guarded.len();
    guarded.truncate(CriteriaChanged::LISTED);
    Ok(CriteriaChanged { guarded, guarded_total, named })
}

/// The files of the baseline that a command line names, and that changed since. Quiet where there is no baseline.
pub fn changed_scripts(case: &Case, line: &CommandLine, cwd: Option<&str>) -> Fact<Vec<String>> {
    if case.origin.0 == Point::nowhere() {
        return Ok(Vec::new());
    }
    let worktree = case.worktree.lock().expect("no panic while it was held");
    let named: BTreeSet<String> = at_baseline(case, &worktree, words(line, cwd))?.into_iter().collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    Ok(worktree.touched_since(&case.origin.0, case.origin.1.as_ref(), &|path| named.contains(path))?)
}

fn at_baseline(case: &Case, worktree: &crate::git::Worktree, words: Vec<String>) -> Fact<Vec<String>> {
    let root = worktree.root();
    let paths: Vec<String> = words.into_iter().filter_map(|word| inside(root, word)).collect();
    match &case.origin.0 {
        Point::Commit(commit) => Ok(worktree.files_at(commit, paths)?),
        Point::Unborn => Ok(Vec::new()),
    }
}

/// A path from the root of the worktree; `None` where it lies elsewhere.
fn inside(root: &Path, path: String) -> Option<String> {
    if !path.starts_with('/') {
        return Some(path);
    }
    Path::new(&path).strip_prefix(root).ok().map(|path| path.to_string_lossy().into_owned()).filter(|path| !path.is_empty())
}
