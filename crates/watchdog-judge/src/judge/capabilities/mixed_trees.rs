//! The trees that a suite is tried on: the session's files beside those of where its work began.

use std::path::Path;

use super::SystemCapabilities;
use super::copied_dependencies::SessionTrees;
use super::reruns::judging_files;
use watchdog_core::checks::{GateFilePart, RerunTree};
use watchdog_core::config::settings::CommandCriterion;

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
            RerunTree::WithoutCode => {
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
