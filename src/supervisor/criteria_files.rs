//! Whether the files that say what done means are as they were when the work began: guarded ones, lists, and what programs are named with.

use std::collections::BTreeSet;
use std::path::Path;

use crate::checks::{NamedFiles, words};
use crate::config::path_globs;
use crate::config::settings::{CheckSpec, CommandLine, Criterion, RescueMode, Settings};
use crate::decision::evidence::{CriteriaChanged, Fact, FaultKind, Unreadable};
use crate::decision::machine::CriteriaFiles;
use crate::git::{Point, Wanted, Worktree};
use crate::session::anchor::{Differing, point_of};

use super::case::Case;
use super::configuration::FILE;

/// More files than this that differ already are not recorded with an anchor.
const MOST_DIFFERING: usize = 20_000;

/// Which files there are to compare. Without a baseline nothing can be compared; what is guarded is unknown then, not unchanged.
pub fn kind(case: &Case) -> CriteriaFiles {
    if !case.settings.guards.is_empty() || case.pins_file {
        CriteriaFiles::Guarded
    } else if case.criteria_point() == Point::nowhere() || NamedFiles::of(&case.settings).is_empty() {
        CriteriaFiles::None
    } else {
        CriteriaFiles::Named
    }
}

/// Compares them with the anchor.
pub fn changed(case: &Case) -> Fact<CriteriaChanged> {
    let settings = &case.settings;
    let point = case.criteria_point();
    if point == Point::nowhere() {
        return Err(Unreadable {
            kind: FaultKind::Git,
            why: "no baseline is recorded to compare guarded files with".into(),
            hint: Some("record one with 'watchdog snapshot' before the session".into()),
        });
    }
    let guards = path_globs(&settings.guards).map_err(wrong)?;
    let NamedFiles { lists, words } = NamedFiles::of(settings);
    let worktree = case.worktree.lock().expect("no panic while it was held");
    let root = worktree.root().to_owned();
    let mut named: BTreeSet<String> = lists.into_iter().filter_map(|path| inside(&root, path)).collect();
    named.extend(at_point(&point, &worktree, words)?);
    let mut changed = CriteriaChanged::default();
    if !guards.is_empty() || !named.is_empty() {
        let wanted = Wanted::new(&settings.guards, named).map_err(wrong)?;
        let touched = worktree.changed_files(&point, differing_then(case), &wanted)?;
        (changed.guarded, changed.named) = touched.into_iter().partition(|path| guards.is_match(path));
    }
    // A file that was trusted and is gone is nobody's word that there are no criteria any more.
    if case.pins_file && root.join(FILE).symlink_metadata().is_err() && !changed.guarded.iter().any(|path| path == FILE) {
        changed.guarded.insert(0, FILE.to_owned());
    }
    changed.guarded_total = changed.guarded.len();
    changed.guarded.truncate(CriteriaChanged::LISTED);
    Ok(changed)
}

/// The guarded, protected and named files of a worktree that differ from a commit already. What they are now is nobody's change later.
pub fn differing(worktree: &Worktree, settings: &Settings, point: &Point) -> Fact<Differing> {
    let root = worktree.root().to_owned();
    let NamedFiles { lists, words } = NamedFiles::of(settings);
    let mut named: BTreeSet<String> = lists.into_iter().filter_map(|path| inside(&root, path)).collect();
    named.extend(at_point(point, worktree, words)?);
    named.extend(rescue_words(settings).into_iter().filter_map(|word| inside(&root, word)));
    let mut globs = settings.guards.clone();
    settings.checks.iter().for_each(|check| add_protected(check, &mut globs));
    if globs.is_empty() && named.is_empty() {
        return Ok(Differing::new());
    }
    let mut found = worktree.differing_files(point, &Wanted::new(&globs, named).map_err(wrong)?)?;
    // More than a person could have left: what is not recorded counts as changed, and nothing is excused that nobody saw.
    if found.len() > MOST_DIFFERING {
        found.clear();
    }
    Ok(found)
}

/// The files of the worktree that the user's rescue command names.
fn rescue_words(settings: &Settings) -> Vec<String> {
    let rescue = &settings.rescue;
    match (&rescue.command, rescue.default_script()) {
        (Some(argv), _) if rescue.mode == RescueMode::Command => words(&CommandLine::Argv(argv.clone()), None),
        (_, script) => script.into_iter().map(str::to_owned).collect(),
    }
}

/// A file that the rescue command names and that changed since the anchor: who wrote it since may be the agent. Quiet without an anchor.
pub fn changed_rescue_script(case: &Case) -> Fact<Option<String>> {
    let words = rescue_words(&case.settings);
    let Some(anchor) = case.anchor.as_ref().filter(|_| !words.is_empty()) else { return Ok(None) };
    let worktree = case.worktree.lock().expect("no panic while it was held");
    let named = words.into_iter().filter_map(|word| inside(worktree.root(), word)).collect();
    let changed = worktree.changed_files(&point_of(anchor), &anchor.differing, &Wanted::new(&[], named).map_err(wrong)?)?;
    Ok(changed.into_iter().next())
}

fn add_protected(check: &CheckSpec, globs: &mut Vec<String>) {
    match check {
        CheckSpec::Group { checks, .. } => checks.iter().for_each(|check| add_protected(check, globs)),
        CheckSpec::Single { criterion: Criterion::Git(git), .. } => globs.extend(git.protected.iter().cloned()),
        CheckSpec::Single { .. } => {}
    }
}

/// What differed from the anchor's commit already when it became that.
fn differing_then(case: &Case) -> &Differing {
    static NONE: Differing = Differing::new();
    case.anchor.as_ref().map_or(&NONE, |anchor| &anchor.differing)
}

/// The files of some globs that changed since the anchor.
pub fn changed_globs(case: &Case, globs: &[String]) -> Fact<Vec<String>> {
    let wanted = Wanted::new(globs, BTreeSet::new()).map_err(wrong)?;
    let worktree = case.worktree.lock().expect("no panic while it was held");
    Ok(worktree.changed_files(&case.criteria_point(), differing_then(case), &wanted)?)
}

/// The files of the anchor that a command line names, and that changed since. Quiet where there is none.
pub fn changed_scripts(case: &Case, line: &CommandLine, cwd: Option<&str>) -> Fact<Vec<String>> {
    let point = case.criteria_point();
    if point == Point::nowhere() {
        return Ok(Vec::new());
    }
    let worktree = case.worktree.lock().expect("no panic while it was held");
    let named: BTreeSet<String> = at_point(&point, &worktree, words(line, cwd))?.into_iter().collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let wanted = Wanted::new(&[], named).map_err(wrong)?;
    Ok(worktree.changed_files(&point, differing_then(case), &wanted)?)
}

fn wrong((pattern, error): (String, globset::Error)) -> Unreadable {
    Unreadable { kind: FaultKind::Config, why: format!("`{pattern}` in guards is not a valid glob: {error}"), hint: None }
}

fn at_point(point: &Point, worktree: &Worktree, words: Vec<String>) -> Fact<Vec<String>> {
    let root = worktree.root();
    let paths: Vec<String> = words.into_iter().filter_map(|word| inside(root, word)).collect();
    match point {
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
