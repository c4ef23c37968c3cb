//! What must hold of everything that was recorded of a round. Pure: it reads records and returns what is wrong with them.

use std::collections::{BTreeMap, BTreeSet};

/// A version of a task's row, as the database wrote it down when it was made. Times are microseconds of the server's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskVersion {
    pub task: String,
    pub status: String,
    pub holder: Option<String>,
    pub fence: Option<i64>,
    pub until: Option<i64>,
    /// The commit that was judged, where it is complete.
    pub head: Option<String>,
    pub branch: Option<String>,
    /// When its statement began.
    pub began: i64,
    /// When it was written.
    pub written: i64,
}

/// One push to the remote: what it moved, all at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedRefs {
    /// The task whose fence it moved, with the fence that it set.
    pub fences: Vec<(String, i64)>,
    /// The task whose branch it moved.
    pub branches: Vec<String>,
}

/// What the remote says of a task at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskOnRemote {
    /// Where the branch is that the server names for it.
    pub tip: Option<String>,
    /// The tasks whose work is in that commit.
    pub holds: BTreeSet<String>,
}

/// The events of one machine, by id, in the order of its journal, as far as it may share them.
pub type SharedJournal = Vec<String>;

/// Everything that was recorded of a round.
#[derive(Debug, Clone, Default)]
pub struct RoundRecord {
    /// Each task with those that it depends on.
    pub tasks: BTreeMap<String, Vec<String>>,
    /// Versions of tasks, those of one task in the order in which they were made.
    pub versions: Vec<TaskVersion>,
    /// Pushes, in the order in which the remote took them.
    pub pushes: Vec<PushedRefs>,
    /// Of each task that the server calls complete.
    pub on_remote: BTreeMap<String, TaskOnRemote>,
    /// By machine.
    pub journals: BTreeMap<String, SharedJournal>,
    /// Machine and id of each event, in the order of the server.
    pub events: Vec<(String, String)>,
    /// Ids as a follower saw them.
    pub followed: Vec<String>,
    /// A standby took the server's place: what it did not have yet was seen before it came again.
    pub took_over: bool,
}

const HELD: [&str; 2] = ["assigned", "in_progress"];

/// What is wrong; nothing where everything holds.
pub fn faults(record: &RoundRecord) -> Vec<String> {
    let mut wrong = Vec::new();
    for task in record.tasks.keys() {
        let versions: Vec<&TaskVersion> = record
            .versions
            .iter()
            .filter(|version| version.task == *task)
            .collect();
        task_faults(task, &versions, &mut wrong);
        push_faults(task, &record.pushes, &mut wrong);
        remote_faults(task, record, &versions, &mut wrong);
    }
    event_faults(record, &mut wrong);
    wrong
}

fn task_faults(task: &str, versions: &[&TaskVersion], wrong: &mut Vec<String>) {
    let Some(last) = versions.last() else {
        wrong.push(format!("{task} was never written down"));
        return;
    };
    if last.status != "complete" {
        wrong.push(format!("{task} did not end: it is {}", last.status));
    }
    let completions: BTreeSet<Option<i64>> = versions
        .iter()
        .filter(|v| v.status == "complete")
        .map(|v| v.fence)
        .collect();
    if completions.len() > 1 {
        wrong.push(format!(
            "{task} was completed under several fences: {completions:?}"
        ));
    }
    for pair in versions.windows(2) {
        let (before, after) = (pair[0], pair[1]);
        if before.status == "complete" && after.status != "complete" {
            wrong.push(format!("{task} was complete and became {}", after.status));
        }
        if after.fence.is_some() && before.fence.is_some() && after.fence < before.fence {
            wrong.push(format!(
                "{task} went back from fence {:?} to {:?}",
                before.fence, after.fence
            ));
        }
        let held = HELD.contains(&before.status.as_str()) && before.holder.is_some();
        let changes_hands = after.holder != before.holder || after.fence != before.fence;
        let is_given_back = after.holder.is_none() && after.fence == before.fence;
        // It was written after the server had looked at the lease: an end between the two is no fault.
        if held
            && changes_hands
            && !is_given_back
            && before.until.is_none_or(|until| until > after.written)
        {
            wrong.push(format!(
                "{task} was taken from {:?} while its lease ran",
                before.holder
            ));
        }
        let new_hands = after.holder.is_some() && after.holder != before.holder;
        if new_hands && after.fence <= before.fence {
            wrong.push(format!(
                "{task} went to {:?} without a larger fence",
                after.holder
            ));
        }
        let completes = after.status == "complete" && before.status != "complete";
        if completes && (!held || after.fence.is_some_and(|fence| Some(fence) != before.fence)) {
            wrong.push(format!("{task} was completed by one that did not hold it"));
        }
        if completes && before.until.is_none_or(|until| until <= after.began) {
            wrong.push(format!("{task} was completed after its lease had ended"));
        }
    }
}

/// Whoever moves a branch of a task moves its fence with it, and no fence comes back.
fn push_faults(task: &str, pushes: &[PushedRefs], wrong: &mut Vec<String>) {
    let mut newest = None;
    for push in pushes {
        let fence = push
            .fences
            .iter()
            .find(|(of, _)| of == task)
            .map(|(_, fence)| *fence);
        if push.branches.iter().any(|of| of == task) && fence.is_none() {
            wrong.push(format!("the branch of {task} was pushed without its fence"));
        }
        if fence.is_some() && fence < newest {
            wrong.push(format!(
                "{task} was pushed under fence {fence:?} after {newest:?}"
            ));
        }
        newest = newest.max(fence);
    }
}

fn remote_faults(
    task: &str,
    record: &RoundRecord,
    versions: &[&TaskVersion],
    wrong: &mut Vec<String>,
) {
    let Some(last) = versions
        .last()
        .filter(|version| version.status == "complete")
    else {
        return;
    };
    let Some(there) = record.on_remote.get(task) else {
        wrong.push(format!("nobody looked for {task} on the remote"));
        return;
    };
    if last.head.is_none() || there.tip != last.head {
        wrong.push(format!(
            "{task} was judged at {:?}, and the remote has {:?} on {:?}",
            last.head, there.tip, last.branch
        ));
    }
    let needed = with_dependencies(task, &record.tasks);
    let missing: Vec<&String> = needed.difference(&there.holds).collect();
    if !missing.is_empty() {
        wrong.push(format!(
            "the branch of {task} lacks the work of {missing:?}"
        ));
    }
}

fn with_dependencies(task: &str, tasks: &BTreeMap<String, Vec<String>>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut open = vec![task.to_owned()];
    while let Some(next) = open.pop() {
        open.extend(
            tasks
                .get(&next)
                .into_iter()
                .flatten()
                .filter(|of| !all.contains(*of))
                .cloned(),
        );
        all.insert(next);
    }
    all
}

fn event_faults(record: &RoundRecord, wrong: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (machine, id) in &record.events {
        if !seen.insert(id) {
            wrong.push(format!("the event {id} of {machine} is there twice"));
        }
    }
    for (machine, journal) in &record.journals {
        let there: Vec<&String> = record
            .events
            .iter()
            .filter(|(of, _)| of == machine)
            .map(|(_, id)| id)
            .collect();
        let known: BTreeSet<&String> = there.iter().copied().collect();
        for id in journal.iter().filter(|id| !known.contains(id)) {
            wrong.push(format!("the event {id} of {machine} was lost"));
        }
        let ours: BTreeSet<&String> = journal.iter().collect();
        let in_order: Vec<&String> = there
            .iter()
            .copied()
            .filter(|id| ours.contains(id))
            .collect();
        let expected: Vec<&String> = journal.iter().filter(|id| known.contains(id)).collect();
        if in_order != expected {
            wrong.push(format!("the events of {machine} are out of order"));
        }
    }
    followed_faults(record, wrong);
}

/// A follower sees each event once, in the order of the server; after a takeover those of each machine in their order.
fn followed_faults(record: &RoundRecord, wrong: &mut Vec<String>) {
    let machine_of: BTreeMap<&String, &String> = record
        .events
        .iter()
        .map(|(machine, id)| (id, machine))
        .collect();
    let lines = |ids: &[&String]| -> BTreeMap<&str, Vec<String>> {
        let mut lines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for id in ids {
            let line = if record.took_over {
                machine_of
                    .get(id)
                    .map_or("nobody", |machine| machine.as_str())
            } else {
                "all"
            };
            lines.entry(line).or_default().push((*id).clone());
        }
        lines
    };
    let on_server: Vec<&String> = record.events.iter().map(|(_, id)| id).collect();
    let followed: Vec<&String> = record.followed.iter().collect();
    if lines(&followed) != lines(&on_server) {
        let known: BTreeSet<&String> = followed.iter().copied().collect();
        let missed = on_server.iter().filter(|id| !known.contains(*id)).count();
        wrong.push(format!(
            "a follower saw {} events of {}, {missed} were passed over",
            followed.len(),
            on_server.len()
        ));
    }
}
