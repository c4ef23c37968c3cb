//! Groups rows that cannot be read for the same reason: ten worktrees of a repository whose objects are gone are one fault. Pure but for
//! the names in `.git` files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use watchdog_git::named_git_dirs;

/// A row of a table with those that have the same fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultGroup {
    /// The row that stands for all.
    pub first: usize,
    /// The others, in their order.
    pub others: Vec<usize>,
}

/// The key of equal faults.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FaultKey {
    repository: PathBuf,
    /// The sentence, without the worktree's own names.
    why: String,
}

impl FaultKey {
    /// Of a worktree that cannot be read. Returns `None` if its `.git` names no repository: there
    /// is then no sign that it shares the fault with others.
    pub fn from_worktree(worktree: &Path, why: &str) -> Option<Self> {
        let (git_dir, repository) = named_git_dirs(worktree)?;
        Some(FaultKey {
            why: without_names(why, worktree, &git_dir),
            repository,
        })
    }
}

/// Rows by their faults: each at the place of its first row. A row without a key stands alone.
pub fn group_by_fault<R>(rows: &[R], key: impl Fn(&R) -> Option<FaultKey>) -> Vec<FaultGroup> {
    let mut groups: Vec<FaultGroup> = Vec::new();
    let mut group_at: HashMap<FaultKey, usize> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        let key = key(row);
        match key.as_ref().and_then(|key| group_at.get(key)) {
            Some(group) => groups[*group].others.push(at),
            None => {
                group_at.extend(key.map(|key| (key, groups.len())));
                groups.push(FaultGroup {
                    first: at,
                    others: Vec::new(),
                });
            }
        }
    }
    groups
}

fn without_names(why: &str, worktree: &Path, git_dir: &Path) -> String {
    [git_dir, worktree]
        .iter()
        .fold(why.to_owned(), |why, name| {
            why.replace(&name.display().to_string(), "…")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(repository: &str, why: &str) -> Option<FaultKey> {
        Some(FaultKey {
            repository: repository.into(),
            why: why.into(),
        })
    }

    #[test]
    fn same_repository_fault_forms_a_single_group() {
        let rows = [
            key("/r", "gone"),
            None,
            key("/r", "gone"),
            key("/s", "gone"),
            key("/r", "torn"),
            key("/r", "gone"),
            None,
        ];
        let groups = group_by_fault(&rows, Clone::clone);
        let alone = |first| FaultGroup {
            first,
            others: Vec::new(),
        };
        assert_eq!(
            groups,
            [
                FaultGroup {
                    first: 0,
                    others: vec![2, 5]
                },
                alone(1),
                alone(3),
                alone(4),
                alone(6)
            ]
        );
    }

    #[test]
    fn the_names_of_a_worktree_are_no_difference() {
        let of = |name: &str| {
            let (worktree, git_dir) = (
                PathBuf::from(format!("/all/{name}")),
                PathBuf::from(format!("/r/.git/worktrees/{name}")),
            );
            without_names(
                &format!(
                    "{}/HEAD of {}: no such file",
                    git_dir.display(),
                    worktree.display()
                ),
                &worktree,
                &git_dir,
            )
        };
        assert_eq!(
            (of("a"), of("a")),
            (of("b"), "…/HEAD of …: no such file".to_owned())
        );
    }
}
