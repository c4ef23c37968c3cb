//! Tasks step by step, by several workers at once, over a real store.

use std::fs;

use super::*;
use crate::tasks::{folder, queue};
use watchdog_store::task;
use watchdog_store::task_store::LocalTasks;
use watchdog_store::{LocalStore, StateDir, open_store};

struct Scene {
    scratch: tempfile::TempDir,
    store: std::sync::Arc<dyn LocalStore>,
}

const TTL: Duration = Duration::from_secs(60);

fn later(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).expect("a time")
}

impl Scene {
    fn new(tasks: &[(&str, &str)]) -> Self {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let state =
            StateDir::resolve(Some(scratch.path().join("state")), None, None).expect("a folder");
        state.ensure().expect("it can be made");
        let store = open_store(&state).expect("a store");
        let scene = Scene { scratch, store };
        fs::create_dir_all(scene.root().join(folder::OWN)).expect("a folder");
        for (id, more) in tasks {
            scene.put(id, &format!("---\nid: {id}\ntitle: t\n{more}---\nx\n"));
        }
        scene
    }

    fn root(&self) -> std::path::PathBuf {
        self.scratch.path().join("work")
    }

    fn put(&self, id: &str, text: &str) {
        fs::write(self.root().join(folder::OWN).join(format!("{id}.md")), text).expect("a file");
    }

    fn text(&self, id: &str) -> String {
        fs::read_to_string(self.root().join(folder::OWN).join(format!("{id}.md"))).expect("a file")
    }

    fn board(&self) -> TaskBoard {
        let folder = folder::read_folder(&self.root(), folder::OWN).expect("a folder");
        let tasks = Arc::new(LocalTasks::new(self.store.clone(), "repo"));
        TaskBoard::read_tasks(tasks, &folder, || Ok(Vec::new()), later(0)).expect("records")
    }

    fn settled(&self) -> TaskBoard {
        let mut board = self.board();
        board.settle(later(1)).expect("records");
        board
    }
}

fn status(board: &TaskBoard, id: &str) -> TaskStatus {
    board.get(id).expect("it is there").record.status
}

fn taker(agent: &str) -> TaskClaimant<'_> {
    TaskClaimant {
        agent,
        holder: agent,
        ttl: TTL,
    }
}

#[test]
fn new_task_starts_by_file_status_and_dependencies() {
    let scene = Scene::new(&[
        ("a", ""),
        ("b", "depends_on: [a]\n"),
        ("c", "status: complete\n"),
        ("d", "status: in_progress\n"),
        ("e", "depends_on: [c]\n"),
        ("f", "status: blocked\n"),
    ]);
    let mut board = scene.board();
    let changes = board.settle(later(1)).expect("records");
    let stand: Vec<_> = board
        .entries()
        .map(|entry| (entry.id(), entry.record.status.as_str()))
        .collect();
    assert_eq!(
        stand,
        [
            ("a", "pending"),
            ("b", "blocked"),
            ("c", "complete"),
            ("d", "pending"),
            ("e", "pending"),
            ("f", "blocked")
        ]
    );
    assert_eq!(
        changes
            .iter()
            .filter(|change| change.from.is_none())
            .count(),
        6
    );
    assert_eq!(
        board.get("b").expect("there").record.message.as_deref(),
        Some("waits for a (pending)")
    );
    assert!(
        scene.board().settle(later(2)).expect("records").is_empty(),
        "a second look changes nothing"
    );
}

#[test]
fn later_complete_in_file_is_not_believed() {
    let scene = Scene::new(&[("a", ""), ("b", "depends_on: [a]\n")]);
    scene.settled();
    scene.put("a", "---\nid: a\ntitle: t\nstatus: complete\n---\nx\n");
    let board = scene.settled();
    assert_eq!(
        (status(&board, "a"), status(&board, "b")),
        (TaskStatus::Pending, TaskStatus::Blocked)
    );
}

#[test]
fn task_has_single_worker_and_end_unblocks_dependents() {
    let scene = Scene::new(&[("a", ""), ("b", "depends_on: [a]\n")]);
    let mut board = scene.settled();
    let (held, changes) = board
        .claim("a", &taker("be-1"), later(2))
        .expect("a store")
        .expect("nobody has it");
    assert_eq!(
        (changes.len(), changes[0].to, changes[0].agent.as_deref()),
        (1, TaskStatus::Assigned, Some("be-1"))
    );
    assert!(
        scene
            .settled()
            .claim("a", &taker("be-2"), later(2))
            .expect("a store")
            .is_none(),
        "two workers never hold one task"
    );
    let change = held
        .step(TaskStatus::InProgress, later(3), |record| {
            record.attempts += 1
        })
        .expect("ours");
    assert_eq!(change.from, Some(TaskStatus::Assigned));
    assert!(matches!(
        held.step(TaskStatus::Assigned, later(3), |_| ()),
        Err(TaskBoardError::Illegal { .. })
    ));
    held.step(TaskStatus::Complete, later(4), |_| ())
        .expect("ours");
    held.release();
    let board = scene.settled();
    assert_eq!(
        (status(&board, "a"), status(&board, "b")),
        (TaskStatus::Complete, TaskStatus::Pending)
    );
    assert_eq!(board.get("a").expect("there").record.attempts, 1);
    assert_eq!(
        queue::next(&board.list_queued(), None).map(|task| task.link.id.as_str()),
        Some("b")
    );
}

#[test]
fn step_with_lost_answer_is_done_once() {
    let scene = Scene::new(&[("a", "")]);
    let mut board = scene.settled();
    let (held, _) = board
        .claim("a", &taker("be-1"), later(2))
        .expect("a store")
        .expect("nobody has it");
    for at in [3, 4] {
        let change = held
            .step(TaskStatus::InProgress, later(at), |record| {
                record.attempts += 1
            })
            .expect("it is ours");
        assert_eq!(change.to, TaskStatus::InProgress);
    }
    let board = scene.settled();
    let record = &board.get("a").expect("it is there").record;
    assert_eq!((record.attempts, record.changed_at), (1, later(3)));
    let back = held
        .step(TaskStatus::Assigned, later(5), |_| ())
        .expect_err("no task goes back there");
    assert!(matches!(back, TaskBoardError::Illegal { .. }), "{back}");
}

#[test]
fn dead_workers_task_returns_and_rejects_its_writes() {
    let scene = Scene::new(&[("a", "")]);
    let mut board = scene.settled();
    let short = TaskClaimant {
        ttl: Duration::from_millis(50),
        ..taker("be-1")
    };
    let (slow, _) = board
        .claim("a", &short, later(2))
        .expect("a store")
        .expect("nobody has it");
    slow.step(TaskStatus::InProgress, later(2), |_| ())
        .expect("ours");
    assert_eq!(
        status(&scene.settled(), "a"),
        TaskStatus::InProgress,
        "while the lease stands it is not given back"
    );
    let given_back = std::iter::repeat_with(|| scene.settled())
        .find(|board| status(board, "a") != TaskStatus::InProgress)
        .expect("endless");
    let record = &given_back.get("a").expect("there").record;
    assert_eq!(
        (record.status, record.reason.as_deref(), record.fence),
        (TaskStatus::Pending, Some(LEASE_ENDED), None)
    );
    assert!(!slow.renew(TTL).expect("a store"));
    assert!(matches!(
        slow.step(TaskStatus::Complete, later(3), |_| ()),
        Err(TaskBoardError::Lost { .. })
    ));
    let (_next, _) = scene
        .settled()
        .claim("a", &taker("be-2"), later(3))
        .expect("a store")
        .expect("it was given back");
    assert!(matches!(
        slow.step(TaskStatus::Complete, later(4), |_| ()),
        Err(TaskBoardError::Lost { .. })
    ));
    assert_eq!(
        scene
            .board()
            .get("a")
            .expect("there")
            .record
            .agent
            .as_deref(),
        Some("be-2")
    );
}

#[test]
fn person_takes_only_legal_steps_on_unheld_tasks() {
    let scene = Scene::new(&[("a", ""), ("b", "depends_on: [a]\n")]);
    let mut board = scene.settled();
    let illegal = board
        .set_status("a", TaskStatus::Complete, None, later(2))
        .expect_err("it was not begun");
    assert_eq!(
        illegal.to_string(),
        "a: a task that is pending cannot become complete; it may become assigned, blocked"
    );
    board
        .set_status(
            "a",
            TaskStatus::Blocked,
            Some("wait for the design"),
            later(2),
        )
        .expect("legal");
    let mut board = scene.settled();
    assert_eq!(
        status(&board, "a"),
        TaskStatus::Blocked,
        "a person alone undoes a person's block"
    );
    board
        .set_status("a", TaskStatus::Pending, None, later(3))
        .expect("legal");
    let (held, _) = board
        .claim("a", &taker("be-1"), later(4))
        .expect("a store")
        .expect("nobody has it");
    let refused = scene
        .settled()
        .set_status("a", TaskStatus::Pending, None, later(5))
        .expect_err("somebody works on it");
    assert_eq!(refused.to_string(), "an agent works on a: be-1");
    held.release();
    // Set by hand, it needs no lease, and is not reset.
    let mut board = scene.settled();
    assert_eq!(
        status(&board, "a"),
        TaskStatus::Pending,
        "a lease that was given back early ends as well"
    );
    board
        .set_status("a", TaskStatus::Assigned, None, later(6))
        .expect("legal");
    board
        .set_status("a", TaskStatus::InProgress, None, later(6))
        .expect("legal");
    assert_eq!(status(&scene.settled(), "a"), TaskStatus::InProgress);
}

#[test]
fn task_in_review_is_retaken_but_complete_never() {
    let scene = Scene::new(&[
        ("a", "status: review\n"),
        ("b", "status: complete\n"),
        ("c", "depends_on: [a]\n"),
    ]);
    let mut board = scene.settled();
    let (_held, changes) = board
        .claim("a", &taker("me"), later(2))
        .expect("legal")
        .expect("nobody has it");
    assert_eq!(
        changes.iter().map(|change| change.to).collect::<Vec<_>>(),
        [TaskStatus::InProgress]
    );
    for id in ["b", "c"] {
        assert!(
            matches!(
                board.claim(id, &taker("me"), later(2)),
                Err(TaskBoardError::Illegal { .. })
            ),
            "{id}"
        );
        // The refusal left no lease behind.
        assert!(
            task::acquire_task_lease(scene.store.as_ref(), "repo", id, "x", TTL)
                .expect("a store")
                .is_some(),
            "{id}"
        );
    }
}

#[test]
fn status_write_back_never_overwrites_an_edit() {
    let scene = Scene::new(&[
        ("a", "status: pending # by me\nphase: 3\n"),
        ("b", "status: complete\n"),
    ]);
    let mut board = scene.settled();
    board
        .set_status("a", TaskStatus::Blocked, None, later(2))
        .expect("legal");
    assert!(board.write_back("a").expect("written"));
    assert_eq!(
        scene.text("a"),
        "---\nid: a\ntitle: t\nstatus: blocked # by me\nphase: 3\n---\nx\n"
    );
    assert!(!board.write_back("b").expect("nothing to write"));
    let mut board = scene.settled();
    assert!(!board.write_back("a").expect("nothing to write"));
    scene.put("a", "---\nid: a\ntitle: edited\n---\n");
    board
        .set_status("a", TaskStatus::Pending, None, later(3))
        .expect("legal");
    assert!(
        board
            .write_back("a")
            .expect_err("edited")
            .to_string()
            .contains("changed meanwhile")
    );
    assert!(scene.text("a").contains("edited"));
    scene.put("a", "---\n{id: a, title: t}\n---\n");
    assert!(
        scene
            .settled()
            .write_back("a")
            .expect("a place in the braces")
    );
    assert_eq!(
        scene.text("a"),
        "---\n{status: pending, id: a, title: t}\n---\n"
    );
    assert_eq!(
        fs::read_dir(scene.root().join(folder::OWN))
            .expect("there")
            .count(),
        2,
        "no draft stays"
    );
}
