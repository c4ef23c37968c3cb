//! Decides which process belongs to which tree. Pure: the caller reads the process table.
//!
//! A tree is a leader that this process started and all its descendants. A daemon whose parents have ended is adopted by this process, a
//! subreaper, and is assigned by properties that it cannot easily shed, in this order:
//! it was seen below the leader before; its process group or session was started inside the tree; its environment carries the tree's mark;
//! its limits carry the tree's mark. A daemon without any of them belongs to the only tree that was alive when it started, and to none if
//! there were several: ending one tree must never end a part of another.

use std::collections::{BTreeMap, HashMap, HashSet};

use watchdog_system::ProcessRow;

/// The process that watches.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnProcess {
    pub pid: u32,
    pub group: u32,
    /// Whether orphans below it become its children.
    pub reaper: bool,
}

/// A living tree.
#[derive(Debug)]
pub(super) struct TrackedTree {
    pub leader: u32,
    /// When the leader began.
    pub started: u64,
    /// A limit that its processes inherit, and that others have only by chance.
    pub tree_mark: Option<u64>,
    /// Everything that was ever seen in it and still is in the table: pid and when it began.
    pub members: HashMap<u32, u64>,
}

/// The tree that an environment was inherited from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeMark {
    /// It names this tree, which may have ended.
    Tree(u64),
    /// No mark of this process, or it may not be read.
    None,
}

/// The further inputs for judging a table.
pub(super) struct TableContext<'a> {
    pub own: OwnProcess,
    /// The children that the main thread of this process holds: orphans are handed to it, while what other threads start stays with them.
    pub adopted: &'a HashSet<u32>,
    /// Reads the mark of a process.
    pub mark: &'a dyn Fn(u32) -> TreeMark,
    /// Reads the mark in a process's limits.
    pub tree_mark: &'a dyn Fn(u32) -> Option<u64>,
}

/// All living trees of this process, and what ended ones left running on purpose.
#[derive(Debug, Default)]
pub(super) struct ProcessTrees {
    pub trees: BTreeMap<u64, TrackedTree>,
    pub left: HashMap<u32, u64>,
    /// The marks of trees that ended: a process that carries one belongs to no living tree.
    pub ended_marks: HashSet<u64>,
}

impl ProcessTrees {
    /// Whether this pid leads a tree that was not reaped yet.
    pub(crate) fn is_leader(&self, pid: u32) -> bool {
        self.trees.values().any(|tree| tree.leader == pid)
    }

    /// Every process in this tree, parents before children, the leader first, the dead included. Remembers them.
    pub(crate) fn members(
        &mut self,
        id: u64,
        table: &[ProcessRow],
        sight: &TableContext<'_>,
    ) -> Vec<ProcessRow> {
        let present: HashMap<u32, u64> = table.iter().map(|row| (row.pid, row.started)).collect();
        for tree in self.trees.values_mut() {
            tree.members
                .retain(|pid, started| present.get(pid) == Some(started));
        }
        self.left
            .retain(|pid, started| present.get(pid) == Some(started));
        let Some(tree) = self.trees.get(&id) else {
            return Vec::new();
        };

        let (leader, started) = (tree.leader, tree.started);
        let mut rows: Vec<&ProcessRow> = table
            .iter()
            .filter(|row| row.pid == leader && row.started == started)
            .collect();
        let orphans = table.iter().filter(|row| {
            let strayed = row.parent == sight.own.pid || !sight.own.reaper;
            strayed
                && row.started >= started
                && row.pid != sight.own.pid
                && !self.is_leader(row.pid)
        });
        rows.extend(orphans.filter(|row| self.owner(row, sight) == Some(id)));

        let mut below: HashMap<u32, Vec<&ProcessRow>> = HashMap::new();
        for row in table {
            below.entry(row.parent).or_default().push(row);
        }
        let mut seen: HashSet<u32> = rows.iter().map(|row| row.pid).collect();
        let mut next = 0;
        while next < rows.len() {
            for &child in below.get(&rows[next].pid).into_iter().flatten() {
                if seen.insert(child.pid) {
                    rows.push(child);
                }
            }
            next += 1;
        }
        let members: Vec<ProcessRow> = rows.into_iter().cloned().collect();
        if let Some(tree) = self.trees.get_mut(&id) {
            tree.members
                .extend(members.iter().map(|row| (row.pid, row.started)));
        }
        members
    }

    /// The orphans that have ended and that only this process can reap. Never a leader, nor a process that another part of this process may
    /// have started.
    pub(crate) fn to_reap<'t>(
        &self,
        table: &'t [ProcessRow],
        sight: &TableContext<'_>,
    ) -> Vec<&'t ProcessRow> {
        let ours = |row: &ProcessRow| {
            let is_among =
                |processes: &HashMap<u32, u64>| processes.get(&row.pid) == Some(&row.started);
            is_among(&self.left)
                || self.trees.values().any(|tree| is_among(&tree.members))
                || self.trees.values().any(|tree| row.group == tree.leader)
                || (sight.adopted.contains(&row.pid) && row.group != sight.own.group)
        };
        table
            .iter()
            .filter(|row| {
                row.dead && row.parent == sight.own.pid && !self.is_leader(row.pid) && ours(row)
            })
            .collect()
    }

    /// The living tree that an orphan came from.
    fn owner(&self, orphan: &ProcessRow, sight: &TableContext<'_>) -> Option<u64> {
        let seen =
            |processes: &HashMap<u32, u64>| processes.get(&orphan.pid) == Some(&orphan.started);
        if let Some((id, _)) = self.trees.iter().find(|(_, tree)| seen(&tree.members)) {
            return Some(*id);
        }
        if seen(&self.left) {
            return None;
        }
        let from_inside = |tree: &TrackedTree| {
            (orphan.group != orphan.pid
                && (orphan.group == tree.leader || tree.members.contains_key(&orphan.group)))
                || (orphan.session != orphan.pid && tree.members.contains_key(&orphan.session))
        };
        if let Some((id, _)) = self.trees.iter().find(|(_, tree)| from_inside(tree)) {
            return Some(*id);
        }
        if let TreeMark::Tree(id) = (sight.mark)(orphan.pid) {
            return self.trees.contains_key(&id).then_some(id);
        }
        // A process in the own group may be a child of a library.
        if orphan.group == sight.own.group || !sight.adopted.contains(&orphan.pid) {
            return None;
        }
        let tree_mark = (sight.tree_mark)(orphan.pid);
        if let Some((id, _)) = self.trees.iter().find(|(_, tree)| {
            tree_mark.is_some() && tree.tree_mark == tree_mark && tree.started <= orphan.started
        }) {
            return Some(*id);
        }
        if tree_mark.is_some_and(|tree_mark| self.ended_marks.contains(&tree_mark)) {
            return None;
        }
        // The first process of a machine or container adopts strangers too.
        if sight.own.pid == 1 {
            return None;
        }
        let mut candidates = self
            .trees
            .iter()
            .filter(|(_, tree)| tree.started <= orphan.started)
            .map(|(id, _)| *id);
        let only = candidates.next();
        if candidates.next().is_some() {
            None
        } else {
            only
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: OwnProcess = OwnProcess {
        pid: 50,
        group: 40,
        reaper: true,
    };

    fn row(pid: u32, parent: u32, group: u32, session: u32, started: u64) -> ProcessRow {
        ProcessRow {
            pid,
            parent,
            group,
            session,
            dead: false,
            started,
            ticks: 0,
            name: format!("p{pid}"),
        }
    }

    fn two_trees() -> ProcessTrees {
        let mut process_trees = ProcessTrees::default();
        process_trees.trees.insert(
            1,
            TrackedTree {
                leader: 100,
                started: 10,
                tree_mark: Some(901),
                members: HashMap::new(),
            },
        );
        process_trees.trees.insert(
            2,
            TrackedTree {
                leader: 200,
                started: 20,
                tree_mark: Some(902),
                members: HashMap::new(),
            },
        );
        process_trees
    }

    fn pids(
        process_trees: &mut ProcessTrees,
        id: u64,
        table: &[ProcessRow],
        adopted: &[u32],
        marks: &[(u32, u64)],
    ) -> Vec<u32> {
        let adopted: HashSet<u32> = adopted.iter().copied().collect();
        let mark = |pid| {
            marks
                .iter()
                .find(|(of, _)| *of == pid)
                .map_or(TreeMark::None, |(_, id)| TreeMark::Tree(*id))
        };
        let tree_mark = |pid: u32| Some(if pid >= 900 { u64::from(pid) } else { 999 });
        process_trees
            .members(
                id,
                table,
                &TableContext {
                    own: OWN,
                    adopted: &adopted,
                    mark: &mark,
                    tree_mark: &tree_mark,
                },
            )
            .iter()
            .map(|row| row.pid)
            .collect()
    }

    fn leaders() -> Vec<ProcessRow> {
        vec![
            row(50, 1, 40, 40, 1),
            row(100, 50, 100, 40, 10),
            row(200, 50, 200, 40, 20),
        ]
    }

    #[test]
    fn descendants_belong_despite_moves_with_parents_first() {
        let mut table = vec![
            row(103, 102, 103, 103, 13),
            row(102, 101, 102, 102, 12),
            row(101, 100, 100, 40, 11),
            row(201, 200, 200, 40, 21),
        ];
        table.extend(leaders());
        assert_eq!(
            pids(&mut two_trees(), 1, &table, &[], &[]),
            [100, 101, 102, 103]
        );
        assert_eq!(pids(&mut two_trees(), 2, &table, &[], &[]), [200, 201]);
    }

    #[test]
    fn orphan_matches_history_then_group_then_mark() {
        let mut process_trees = two_trees();
        let mut before = leaders();
        before.push(row(300, 100, 300, 300, 30));
        assert_eq!(pids(&mut process_trees, 1, &before, &[], &[]), [100, 300]);

        let mut table = leaders();
        table.extend([
            row(300, 50, 300, 300, 30),
            row(301, 50, 200, 40, 31),
            row(302, 50, 302, 302, 32),
            row(303, 50, 303, 300, 33),
        ]);
        let adopted = [300, 301, 302, 303];
        assert_eq!(
            pids(&mut process_trees, 1, &table, &adopted, &[(302, 2)]),
            [100, 300, 303]
        );
        assert_eq!(
            pids(&mut process_trees, 2, &table, &adopted, &[(302, 2)]),
            [200, 301, 302]
        );
    }

    #[test]
    fn reused_pid_is_not_the_earlier_process() {
        let mut process_trees = two_trees();
        let mut before = leaders();
        before.push(row(300, 100, 300, 300, 30));
        pids(&mut process_trees, 1, &before, &[], &[]);
        let mut table = leaders();
        table.push(row(300, 50, 300, 300, 99));
        assert_eq!(pids(&mut process_trees, 1, &table, &[300], &[]), [100]);
    }

    #[test]
    fn traceless_orphan_belongs_to_only_possible_tree() {
        let mut table = leaders();
        table.push(row(300, 50, 300, 299, 15));
        assert_eq!(
            pids(&mut two_trees(), 1, &table, &[300], &[]),
            [100, 300],
            "only the first tree was alive then"
        );
        table.push(row(301, 50, 301, 299, 25));
        assert_eq!(
            pids(&mut two_trees(), 1, &table, &[300, 301], &[]),
            [100, 300],
            "two trees were: nobody's"
        );
        let mut alone = two_trees();
        alone.trees.remove(&2);
        table.retain(|row| row.pid != 200);
        assert_eq!(
            pids(&mut alone, 1, &table, &[300, 301], &[]),
            [100, 300, 301]
        );
    }

    #[test]
    fn orphan_is_found_by_its_remaining_limit() {
        let mut table = leaders();
        table.extend([
            row(901, 50, 901, 901, 30),
            row(902, 50, 902, 902, 30),
            row(903, 50, 903, 903, 30),
        ]);
        assert_eq!(
            pids(&mut two_trees(), 1, &table, &[901, 902, 903], &[]),
            [100, 901]
        );
        assert_eq!(
            pids(&mut two_trees(), 2, &table, &[901, 902, 903], &[]),
            [200, 902]
        );
    }

    #[test]
    fn possible_child_of_another_owner_is_left_alone() {
        let mut process_trees = two_trees();
        process_trees.trees.remove(&2);
        let mut table = leaders();
        table.pop();
        table.extend([
            row(300, 50, 40, 40, 30),
            row(301, 50, 301, 301, 31),
            row(302, 50, 302, 302, 5),
            row(303, 50, 303, 303, 33),
        ]);
        // 300 is in the own group, 301 was started by another thread, 302 is older than the tree, 303 carries the mark of a tree that
        // ended.
        assert_eq!(
            pids(&mut process_trees, 1, &table, &[300, 302, 303], &[(303, 9)]),
            [100]
        );
    }

    #[test]
    fn deliberate_survivor_is_not_claimed_by_another_tree() {
        let mut process_trees = two_trees();
        process_trees.trees.remove(&2);
        process_trees.left.insert(300, 30);
        let mut table = leaders();
        table.pop();
        table.push(row(300, 50, 300, 300, 30));
        assert_eq!(pids(&mut process_trees, 1, &table, &[300], &[]), [100]);
    }

    #[test]
    fn late_child_of_ended_tree_is_not_claimed() {
        let mut process_trees = two_trees();
        process_trees.trees.remove(&2);
        process_trees.ended_marks.insert(902);
        let mut table = leaders();
        table.pop();
        table.push(row(902, 50, 902, 902, 30));
        assert_eq!(pids(&mut process_trees, 1, &table, &[902], &[]), [100]);
    }

    #[test]
    fn only_dead_orphans_are_reaped_never_leaders() {
        let mut process_trees = two_trees();
        process_trees.left.insert(303, 33);
        let mut table = leaders();
        table.extend([
            row(300, 50, 300, 300, 30),
            row(301, 50, 301, 301, 31),
            row(302, 50, 40, 40, 32),
            row(303, 50, 303, 303, 33),
            row(304, 100, 100, 40, 34),
        ]);
        for row in &mut table[1..] {
            row.dead = true;
        }
        let adopted = HashSet::from([300, 302]);
        let reaped = process_trees.to_reap(
            &table,
            &TableContext {
                own: OWN,
                adopted: &adopted,
                mark: &|_| TreeMark::None,
                tree_mark: &|_| None,
            },
        );
        assert_eq!(
            reaped.iter().map(|row| row.pid).collect::<Vec<_>>(),
            [300, 303]
        );
    }
}
