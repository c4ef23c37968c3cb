//! The dependencies of tasks: unmet and missing ones, and cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use watchdog_core::config::task_file::TaskStatus;

/// A task as far as dependencies go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DependencyNode {
    /// Its id.
    pub id: String,
    /// Its status.
    pub status: TaskStatus,
    /// Ids of the tasks that must be complete before it.
    pub depends_on: Vec<String>,
}

/// A dependency that keeps a task from beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockedBy {
    /// There is no such task.
    Missing(String),
    /// It is not complete.
    Unmet {
        /// The dependency.
        id: String,
        /// The present status of the dependency.
        status: TaskStatus,
    },
}

impl fmt::Display for BlockedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockedBy::Missing(id) => write!(f, "{id} (not found)"),
            BlockedBy::Unmet { id, status } => write!(f, "{id} ({})", status.as_str()),
        }
    }
}

/// Tasks by id, with their dependencies.
#[derive(Debug, Clone, Default)]
pub struct DependencyGraph {
    tasks: BTreeMap<String, (TaskStatus, Vec<String>)>,
}

impl DependencyGraph {
    /// Of two tasks with the same id the last counts; callers have told them apart before.
    pub fn new(tasks: impl IntoIterator<Item = DependencyNode>) -> Self {
        DependencyGraph {
            tasks: tasks
                .into_iter()
                .map(|link| (link.id, (link.status, link.depends_on)))
                .collect(),
        }
    }

    /// The unmet dependencies of a task, in the order of its file. Empty for an unknown task.
    pub fn blockers(&self, id: &str) -> Vec<BlockedBy> {
        let wanted = self
            .tasks
            .get(id)
            .map(|(_, wanted)| wanted.as_slice())
            .unwrap_or_default();
        wanted
            .iter()
            .filter_map(|id| match self.tasks.get(id) {
                None => Some(BlockedBy::Missing(id.clone())),
                Some((TaskStatus::Complete, _)) => None,
                Some((status, _)) => Some(BlockedBy::Unmet {
                    id: id.clone(),
                    status: *status,
                }),
            })
            .collect()
    }

    /// Whether nothing keeps a task from beginning.
    pub fn is_met(&self, id: &str) -> bool {
        self.blockers(id).is_empty()
    }

    /// Circles: tasks that wait, over however many others, for themselves. Each circle once, in its order, its smallest id first.
    pub fn cycles(&self) -> Vec<Vec<String>> {
        let mut cycles = BTreeSet::new();
        let mut finished = BTreeSet::new();
        for start in self.tasks.keys() {
            self.walk(start, &mut finished, &mut cycles);
        }
        cycles.into_iter().collect()
    }

    /// A walk in depth from `start` without recursion: files may name each other a thousand deep.
    fn walk<'a>(
        &'a self,
        start: &'a str,
        finished: &mut BTreeSet<&'a str>,
        cycles: &mut BTreeSet<Vec<String>>,
    ) {
        if finished.contains(start) {
            return;
        }
        let mut path: Vec<(&str, usize)> = vec![(start, 0)];
        let mut on_path: BTreeMap<&str, usize> = BTreeMap::from([(start, 0)]);
        while let Some((id, next)) = path.last_mut() {
            let id = *id;
            let wanted = self.tasks.get(id).and_then(|(_, wanted)| wanted.get(*next));
            *next += 1;
            match wanted {
                None => {
                    path.pop();
                    on_path.remove(id);
                    finished.insert(id);
                }
                Some(wanted) => {
                    if let Some(from) = on_path.get(wanted.as_str()) {
                        cycles.insert(rotate_circle(
                            path[*from..]
                                .iter()
                                .map(|(id, _)| (*id).to_owned())
                                .collect(),
                        ));
                    } else if let Some((known, _)) = self
                        .tasks
                        .get_key_value(wanted)
                        .filter(|(known, _)| !finished.contains(known.as_str()))
                    {
                        on_path.insert(known, path.len());
                        path.push((known, 0));
                    }
                }
            }
        }
    }
}

fn rotate_circle(mut circle: Vec<String>) -> Vec<String> {
    let smallest = circle
        .iter()
        .enumerate()
        .min_by(|a, b| a.1.cmp(b.1))
        .map_or(0, |(at, _)| at);
    circle.rotate_left(smallest);
    circle
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn links(tasks: &[(&str, TaskStatus, &[&str])]) -> DependencyGraph {
        DependencyGraph::new(tasks.iter().map(|(id, status, wanted)| DependencyNode {
            id: (*id).into(),
            status: *status,
            depends_on: wanted.iter().map(ToString::to_string).collect(),
        }))
    }

    #[test]
    fn missing_or_unfinished_dependency_holds_a_task() {
        use TaskStatus::{Complete, Pending, Review};
        let graph = links(&[
            ("A", Complete, &[]),
            ("B", Review, &[]),
            ("C", Pending, &["A", "B", "NOPE"]),
            ("D", Pending, &["A"]),
        ]);
        let blockers: Vec<String> = graph
            .blockers("C")
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(blockers, ["B (review)", "NOPE (not found)"]);
        assert!(graph.is_met("A") && graph.is_met("D") && !graph.is_met("C"));
    }

    #[test]
    fn circles_of_any_length_are_found_once() {
        for (tasks, expected) in [
            ("A:A", vec!["A"]),
            ("A B:A", vec![]),
            ("C:B B:A A:C", vec!["A C B"]),
            ("A:B B:A C:A,D D:D", vec!["A B", "D"]),
            ("A:B,C B:D C:D D", vec![]),
            ("A:NOPE", vec![]),
        ] {
            let link = |text: &str| {
                let (id, wanted) = text.split_once(':').unwrap_or((text, ""));
                let depends_on = wanted
                    .split(',')
                    .filter(|id| !id.is_empty())
                    .map(Into::into)
                    .collect();
                DependencyNode {
                    id: id.into(),
                    status: TaskStatus::Pending,
                    depends_on,
                }
            };
            let circles: Vec<String> = DependencyGraph::new(tasks.split(' ').map(link))
                .cycles()
                .iter()
                .map(|circle| circle.join(" "))
                .collect();
            assert_eq!(circles, expected, "{tasks}");
        }
    }

    #[test]
    fn long_dependency_chain_is_walked_without_recursion() {
        let task = |n: u32| DependencyNode {
            id: format!("{n}"),
            status: TaskStatus::Pending,
            depends_on: vec![format!("{}", (n + 1) % 50_000)],
        };
        assert_eq!(
            DependencyGraph::new((0..50_000).map(task)).cycles().len(),
            1
        );
    }

    proptest! {
        #[test]
        fn tasks_waiting_only_backwards_have_no_cycle(edges in prop::collection::vec((0u8..12, 0u8..12), 0..40)) {
            let link = |n: u8| DependencyNode {
                id: format!("{n:02}"),
                status: TaskStatus::Pending,
                depends_on: edges.iter().filter(|(from, to)| *from == n && to < from).map(|(_, to)| format!("{to:02}")).collect(),
            };
            prop_assert!(DependencyGraph::new((0..12).map(link)).cycles().is_empty());
            // One edge back from the first to the last of a chain closes a circle.
            let mut closed: Vec<DependencyNode> = (0..12).map(link).collect();
            if let Some((from, to)) = edges.iter().find(|(from, to)| to < from) {
                closed[usize::from(*to)].depends_on.push(format!("{from:02}"));
                prop_assert!(!DependencyGraph::new(closed).cycles().is_empty());
            }
        }
    }
}
