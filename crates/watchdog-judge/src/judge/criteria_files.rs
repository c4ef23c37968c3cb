//! Compares the files that define completion with the anchor: guarded files, lists, and the files that command lines name.

use std::collections::BTreeSet;
use std::path::Path;

use crate::session::anchor::{DifferingFiles, point_of};
use watchdog_core::checks::{
    CriteriaFileNames, GateFile, GateFilePart, gate_files, list_possible_files,
};
use watchdog_core::config::settings::{
    CheckKind, CommandLine, ConfigSettings, RescueMode, single_checks,
};
use watchdog_core::decision::machine::CriteriaFilesRole;
use watchdog_facts::evidence::{CriteriaChanged, FaultKind, ReadFact, UnreadableFact};
use watchdog_facts::patterns::{path_glob, path_globs};
use watchdog_facts::shell_line::{WorktreeCommands, shell_word};
use watchdog_git::{GuardedPaths, HistoryPoint, Worktree};
use watchdog_store::anchor::CriteriaAnchor;

use super::configuration::FILE;
use super::judgement_input::JudgementInput;
use watchdog_system::read_regular_file;

/// The largest file of a runner that is compared, in bytes.
const MOST_BYTES: u64 = 16 << 20;

/// An anchor records at most this many files that differ already.
const MOST_DIFFERING: usize = 20_000;

/// The files to compare. Without a baseline nothing can be compared; the guarded files are then unknown, not unchanged.
pub fn choose_criteria_role(input: &JudgementInput) -> CriteriaFilesRole {
    let has_gates = (input.work.gates.as_ref())
        .is_some_and(|gates| !gates.hooks.is_empty() || gates.unread.is_some());
    if !input.settings.guards.is_empty() || input.pins_file {
        CriteriaFilesRole::Guarded
    } else if input.criteria_point() != HistoryPoint::unknown()
        && (has_gates || !CriteriaFileNames::from_settings(&input.settings).is_empty())
    {
        CriteriaFilesRole::Named
    } else {
        CriteriaFilesRole::None
    }
}

/// Compares them with the anchor.
pub fn compare_criteria_files(input: &JudgementInput) -> ReadFact<CriteriaChanged> {
    let settings = &input.settings;
    let point = input.criteria_point();
    if point == HistoryPoint::unknown() {
        return Err(UnreadableFact {
            kind: FaultKind::Git,
            why: "no baseline is recorded to compare guarded files with".into(),
            hint: Some(format!(
                "record one before the session with: {}",
                input.commands.watchdog("snapshot")
            )),
        });
    }
    let guards = path_globs(&settings.guards).map_err(glob_error_to_fact)?;
    let worktree = input.worktree();
    let root = worktree.root().to_owned();
    let named = named_files(settings, &point, &worktree)?;
    let mut changed = CriteriaChanged::default();
    if !guards.is_empty() || !named.is_empty() {
        let wanted = GuardedPaths::new(&settings.guards, named).map_err(glob_error_to_fact)?;
        let touched = worktree.changed_files(&point, differing_then(input), &wanted)?;
        (changed.guarded, changed.named) =
            touched.into_iter().partition(|path| guards.is_match(path));
    }
    let gates: Vec<GateFile> = list_gates(settings).collect();
    changed.named.extend(
        changed_gates(input, &worktree, &point, &gates)?
            .into_iter()
            .filter(|path| !guards.is_match(path)),
    );
    changed.named.sort();
    changed.named.dedup();
    // Deleting a trusted file does not withdraw its criteria.
    if input.pins_file
        && root.join(FILE).symlink_metadata().is_err()
        && !changed.guarded.iter().any(|path| path == FILE)
    {
        changed.guarded.insert(0, FILE.to_owned());
    }
    changed.guarded_total = changed.guarded.len();
    changed.guarded.truncate(CriteriaChanged::LISTED);
    Ok(changed)
}

/// The files that the settings name, as far as they lie in the worktree or in the commit.
fn named_files(
    settings: &ConfigSettings,
    point: &HistoryPoint,
    worktree: &Worktree,
) -> ReadFact<BTreeSet<String>> {
    let CriteriaFileNames { lists, words } = CriteriaFileNames::from_settings(settings);
    let mut named = at_point(point, worktree, words)?;
    named.extend(
        lists
            .into_iter()
            .filter_map(|path| strip_root(worktree.root(), path)),
    );
    Ok(named)
}

/// The guarded, protected and named files of a worktree that differ from a commit already. Their present content is later not taken for a
/// change.
pub fn find_differing_files(
    worktree: &Worktree,
    settings: &ConfigSettings,
    point: &HistoryPoint,
) -> ReadFact<DifferingFiles> {
    let mut named = named_files(settings, point, worktree)?;
    named.extend(
        rescue_words(settings)
            .into_iter()
            .filter_map(|word| strip_root(worktree.root(), word)),
    );
    let mut globs = settings.guards.clone();
    for (_, criterion) in single_checks(&settings.checks) {
        if let CheckKind::Git(git) = criterion {
            globs.extend(git.protected.iter().cloned());
        }
    }
    globs.extend(list_gates(settings).map(|gate| gate.glob));
    if globs.is_empty() && named.is_empty() {
        return Ok(DifferingFiles::new());
    }
    let mut changed_files = worktree.differing_files(
        point,
        &GuardedPaths::new(&globs, named).map_err(glob_error_to_fact)?,
    )?;
    // A person would not leave so many: they stay unrecorded, so that all of them count as changed.
    if changed_files.len() > MOST_DIFFERING {
        changed_files.clear();
    }
    Ok(changed_files)
}

/// The files of the worktree that the user's rescue command names.
fn rescue_words(settings: &ConfigSettings) -> Vec<String> {
    let rescue = &settings.rescue;
    match (&rescue.command, rescue.default_script()) {
        (Some(argv), _) if rescue.mode == RescueMode::Command => {
            list_possible_files(&CommandLine::Argv(argv.clone()), None)
        }
        (_, script) => script.into_iter().map(str::to_owned).collect(),
    }
}

/// Why the rescue command is not run, where it would run a file that the agent may have written: one that changed since the anchor, or since
/// the baseline where there is no anchor; without either the script that no configuration names.
pub fn refused_rescue_script(
    worktree: &Worktree,
    settings: &ConfigSettings,
    (anchor, baseline): (Option<&CriteriaAnchor>, Option<&HistoryPoint>),
    spec: &str,
) -> ReadFact<Option<String>> {
    let words = rescue_words(settings);
    if words.is_empty() {
        return Ok(None);
    }
    let commands = WorktreeCommands::at(worktree.root());
    let accept = commands.watchdog(&format!(
        "snapshot --spec {} --accept-criteria",
        shell_word(spec)
    ));
    let none = DifferingFiles::new();
    let (point, differing) = match (
        anchor,
        baseline.filter(|point| **point != HistoryPoint::unknown()),
    ) {
        (Some(anchor), _) => (point_of(anchor), &anchor.differing),
        (None, Some(baseline)) => (baseline.clone(), &none),
        (None, None) => {
            let refused = |script| {
                format!(
                    "rescue.command is not configured, and {script} was not run, as no record says who wrote it; name a command in \
                     rescue.command, or read the script and accept it with: {accept}"
                )
            };
            return Ok(settings
                .rescue
                .default_script()
                .filter(|script| worktree.root().join(script).exists())
                .map(refused));
        }
    };
    let named = words
        .into_iter()
        .filter_map(|word| strip_root(worktree.root(), word))
        .collect();
    let changed = worktree.changed_files(
        &point,
        differing,
        &GuardedPaths::new(&[], named).map_err(glob_error_to_fact)?,
    )?;
    let since = if anchor.is_some() {
        "anchor"
    } else {
        "baseline"
    };
    Ok(changed.into_iter().next().map(|script| {
        format!(
            "the rescue command runs {script}, which changed since the {since}, and was not run; read it, then accept it with: {accept}"
        )
    }))
}

/// The files that differed from the anchor's commit when it became the anchor.
fn differing_then(input: &JudgementInput) -> &DifferingFiles {
    static NONE: DifferingFiles = DifferingFiles::new();
    input
        .anchor
        .as_ref()
        .map_or(&NONE, |anchor| &anchor.differing)
}

/// The files of some globs that changed since the anchor.
pub fn changed_globs(input: &JudgementInput, globs: &[String]) -> ReadFact<Vec<String>> {
    let wanted = GuardedPaths::new(globs, BTreeSet::new()).map_err(glob_error_to_fact)?;
    let worktree = input.worktree();
    Ok(worktree.changed_files(&input.criteria_point(), differing_then(input), &wanted)?)
}

/// The changed files behind a command line since the anchor: those that it names, and those of well-known runners.
/// Quiet where there is none.
pub fn changed_scripts(
    input: &JudgementInput,
    line: &CommandLine,
    cwd: Option<&str>,
) -> ReadFact<Vec<String>> {
    let point = input.criteria_point();
    if point == HistoryPoint::unknown() {
        return Ok(Vec::new());
    }
    let worktree = input.worktree();
    let mut changed = changed_gates(input, &worktree, &point, &gate_files(line, cwd))?;
    let named = at_point(&point, &worktree, list_possible_files(line, cwd))?;
    if !named.is_empty() {
        changed.extend(worktree.changed_files(
            &point,
            differing_then(input),
            &GuardedPaths::new(&[], named).map_err(glob_error_to_fact)?,
        )?);
    }
    Ok(changed)
}

fn list_gates(settings: &ConfigSettings) -> impl Iterator<Item = GateFile> {
    let checks = single_checks(&settings.checks).into_iter();
    checks.flat_map(|(_, criterion)| {
        let lines = criterion.run().into_iter();
        lines.flat_map(|line| gate_files(line, criterion.cwd()))
    })
}

/// The gate files with a change in their relevant part.
fn changed_gates(
    input: &JudgementInput,
    worktree: &Worktree,
    point: &HistoryPoint,
    gates: &[GateFile],
) -> ReadFact<Vec<String>> {
    if gates.is_empty() {
        return Ok(Vec::new());
    }
    let globs: Vec<String> = gates.iter().map(|gate| gate.glob.clone()).collect();
    let mut changed = worktree.changed_files(
        point,
        differing_then(input),
        &GuardedPaths::new(&globs, BTreeSet::new()).map_err(glob_error_to_fact)?,
    )?;
    let is_of = |gate: &GateFile, path: &str| {
        path_glob(&gate.glob).is_ok_and(|glob| glob.compile_matcher().is_match(path))
    };
    changed.retain(|path| {
        gates.iter().filter(|gate| is_of(gate, path)).any(|gate| {
            *gate.part == GateFilePart::Whole || part_changed(worktree, point, path, gate.part)
        })
    });
    Ok(changed)
}

/// Whether the relevant part of a file differs from the anchor's commit, in HEAD or on disk. A file that cannot be read counts as changed.
fn part_changed(
    worktree: &Worktree,
    point: &HistoryPoint,
    path: &str,
    part: &GateFilePart,
) -> bool {
    let at = |point: &HistoryPoint| worktree.blob_at(point.commit()?, path).ok()?;
    let Some(before) = at(point).and_then(|bytes| part.extract_part(&bytes)) else {
        return true;
    };
    let now = [
        worktree.head().ok().and_then(|head| at(&head)),
        read_regular_file(&worktree.root().join(path), MOST_BYTES).ok(),
    ];
    now.iter().any(|bytes| {
        bytes
            .as_deref()
            .and_then(|bytes| part.extract_part(bytes))
            .as_ref()
            != Some(&before)
    })
}

fn glob_error_to_fact((pattern, error): (String, globset::Error)) -> UnreadableFact {
    UnreadableFact::new(
        FaultKind::Config,
        format!("`{pattern}` in guards is not a valid glob: {error}"),
    )
}

/// The files of a commit that words of a command line name, links on the way included.
fn at_point(
    point: &HistoryPoint,
    worktree: &Worktree,
    words: Vec<String>,
) -> ReadFact<BTreeSet<String>> {
    let root = worktree.root();
    let paths: Vec<String> = words
        .into_iter()
        .filter_map(|word| strip_root(root, word))
        .collect();
    Ok(worktree.files_named(point, &paths)?)
}

/// A path relative to the root of the worktree; `None` where it lies outside.
fn strip_root(root: &Path, path: String) -> Option<String> {
    if !path.starts_with('/') {
        return Some(path);
    }
    Path::new(&path)
        .strip_prefix(root)
        .ok()
        .map(|path| path.to_string_lossy().into_owned())
        .filter(|path| !path.is_empty())
}
