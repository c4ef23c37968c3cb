//! The trees that a suite is tried on: the session's files beside those of where its work began.

use std::path::Path;

use super::SystemCapabilities;
use super::copied_dependencies::{SessionTrees, plain_folder};
use super::reruns::judging_files;
use watchdog_core::checks::{ChangedText, CodeBase, GateFilePart, RerunTree, put_test_modules};
use watchdog_core::config::settings::CommandCriterion;
use watchdog_facts::evidence::{FaultKind, ReadFact, UnreadableFact};
use watchdog_git::HistoryPoint;

/// Files that say how to build rather than what to do: a suite without them fails for another reason.
const MANIFESTS: [&str; 10] = [
    "json", "toml", "lock", "mod", "sum", "cfg", "ini", "yml", "yaml", "xml",
];

impl SystemCapabilities<'_> {
    pub(super) fn mix_tree(
        &self,
        criterion: &CommandCriterion,
        tree: RerunTree,
    ) -> Result<String, String> {
        if let RerunTree::InnerTests(base) = tree {
            return self.put_inner_tests(criterion, base);
        }
        let SessionTrees {
            judged,
            begin,
            changed,
            ..
        } = self.session_trees()?;
        let judging = judging_files(criterion).map_err(|unreadable| unreadable.why)?;
        let (tests, code): (Vec<&String>, Vec<&String>) =
            changed.iter().partition(|path| judging.judges(path));
        let worktree = self.input.worktree();
        let replace = |tree: &str, paths: &[&String]| {
            worktree.replace_in_tree(tree, paths.iter().copied(), begin)
        };
        let (mixed, gates) = match tree {
            RerunTree::Judged => return Ok(judged.clone()),
            RerunTree::Begin => return Ok(begin.clone()),
            RerunTree::OldTests => (replace(judged, &tests), begin),
            RerunTree::NewTests => (replace(judged, &code), judged),
            RerunTree::WithoutCode | RerunTree::InnerTests(_) => {
                let mixed = replace(judged, &code).and_then(|mixed| {
                    let files = code.iter().copied().filter(|path| !is_manifest(path));
                    worktree.empty_in_tree(&mixed, files)
                });
                (mixed, judged)
            }
        };
        let mut mixed = mixed.map_err(|error| error.to_string())?;
        // Of a manifest only the part counts that configures the runner.
        for path in code {
            let Some(part) = judging.part_of(path) else {
                continue;
            };
            let text = |tree: &str| {
                let text = worktree.text_in_tree(tree, path);
                text.map_err(|error| error.to_string())
            };
            let source = text(gates)?.unwrap_or_default();
            let whole = text(&mixed)?
                .map_or(Some(source.clone()), |base| {
                    part.replace_part(&base, &source)
                })
                .ok_or_else(|| {
                    format!("the part of {path} that configures the runner cannot be taken alone")
                })?;
            mixed = (worktree.put_in_tree(&mixed, path, whole.as_bytes()))
                .map_err(|error| error.to_string())?;
        }
        Ok(mixed)
    }

    /// Puts the new tests inside of files of code into this code.
    fn put_inner_tests(
        &self,
        criterion: &CommandCriterion,
        base: CodeBase,
    ) -> Result<String, String> {
        let SessionTrees {
            judged,
            begin,
            changed,
            ..
        } = self.session_trees()?;
        if let Some(path) = changed.iter().find(|path| is_manifest(path)) {
            return Err(format!("new tests may need what {path} now has"));
        }
        // Data stay as they are: a test that only reads new ones shows nothing of the code.
        let judging = judging_files(criterion).map_err(|unreadable| unreadable.why)?;
        let code = (changed.iter()).filter(|path| path.ends_with(".rs") && !judging.judges(path));
        let worktree = self.input.worktree();
        let mixed = match base {
            CodeBase::Begin => worktree.replace_in_tree(judged, code, begin),
            CodeBase::Empty => worktree.empty_in_tree(judged, code),
            CodeBase::Judged => Ok(judged.clone()),
        };
        drop(worktree);
        let mut mixed = mixed.map_err(|error| error.to_string())?;
        let files = self.read_inner_files(criterion);
        for (path, old, new) in files.map_err(|unreadable| unreadable.why)? {
            // The work is all of a new file.
            let Some((old, new)) = old.zip(new) else {
                continue;
            };
            let text = put_test_modules(&old, &new, base)
                .ok_or_else(|| format!("the new tests of {path} cannot be taken alone"))?;
            let added = (self.input.worktree()).put_in_tree(&mixed, &path, text.as_bytes());
            mixed = added.map_err(|error| error.to_string())?;
        }
        Ok(mixed)
    }

    /// The files of code that the spec's work changed and that may hold tests.
    pub(super) fn read_inner_files(
        &self,
        criterion: &CommandCriterion,
    ) -> ReadFact<Vec<ChangedText>> {
        let judging = judging_files(criterion)?;
        let folder = plain_folder(criterion.cwd.as_deref());
        let may_hold = |path: &str| {
            path.ends_with(".rs") && !judging.judges(path) && Path::new(path).starts_with(&folder)
        };
        if self.input.tests_point().0 == HistoryPoint::unknown() || !self.may_differ(&may_hold)? {
            return Ok(Vec::new());
        }
        let trees =
            (self.session_trees()).map_err(|why| UnreadableFact::new(FaultKind::Git, why))?;
        let worktree = self.input.worktree();
        let mut files = Vec::new();
        for path in trees.changed.iter().filter(|path| may_hold(path)) {
            let old = worktree.text_in_tree(&trees.begin, path)?;
            files.push((
                path.clone(),
                old,
                worktree.text_in_tree(&trees.judged, path)?,
            ));
        }
        Ok(files)
    }

    /// Whether the part of a manifest that configures the runner differs between the begin and what is judged.
    pub(super) fn changes_part(
        &self,
        trees: &SessionTrees,
        path: &str,
        part: Option<&GateFilePart>,
    ) -> bool {
        let worktree = self.input.worktree();
        part.is_some_and(|part| {
            let read = |tree: &str| {
                let text = worktree.text_in_tree(tree, path).ok().flatten();
                text.and_then(|text| part.extract_part(text.as_bytes()))
            };
            let begin = read(&trees.begin);
            begin.is_none() || begin != read(&trees.judged)
        })
    }
}

fn is_manifest(path: &str) -> bool {
    Path::new(path)
        .extension()
        .and_then(|end| end.to_str())
        .is_none_or(|end| MANIFESTS.contains(&end))
}
