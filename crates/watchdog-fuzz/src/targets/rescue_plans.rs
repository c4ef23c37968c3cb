//! Plans of agents for rescue commits: every changed file in exactly one of them, and messages that a person would keep.

use serde_json::{Map, Value};
use watchdog_facts::secret_shapes;
use watchdog_judge::rescue::{check_plan, open_tasks};

const FILES: [&str; 4] = ["src/a.rs", "b", "odd \n\"name\"", "./c"];
const TASKS: &[u8] = b"# Tasks\n- [x] done\n- [ ] write a\n  * [ ] write b\n- [ ] write b\n";

/// Reads an input as an answer with a plan.
pub fn run(input: &[u8]) {
    let _ = open_tasks(input);
    let Ok(answer) = serde_json::from_slice::<Map<String, Value>>(input) else {
        return;
    };
    let tasks = open_tasks(TASKS);
    let plan = match check_plan(&answer, &FILES, &tasks) {
        Ok(plan) => plan,
        Err(why) => return assert!(!why.is_empty(), "a refusal says why"),
    };
    let mut files: Vec<usize> = plan
        .iter()
        .flat_map(|commit| commit.files.iter().copied())
        .collect();
    files.sort_unstable();
    assert_eq!(files, [0, 1, 2, 3], "every file once");
    let mut ticked: Vec<usize> = plan
        .iter()
        .flat_map(|commit| commit.tasks.iter().copied())
        .collect();
    ticked.sort_unstable();
    assert!(
        ticked.iter().all(|at| *at < tasks.len())
            && ticked.windows(2).all(|pair| pair[0] != pair[1]),
        "{ticked:?}"
    );
    for commit in &plan {
        assert!(!commit.files.is_empty(), "no empty commit");
        assert!(
            commit.subject.contains(": ") && commit.subject.chars().count() <= 100,
            "{}",
            commit.subject
        );
        assert!(
            !commit.subject.chars().any(char::is_control),
            "{:?}",
            commit.subject
        );
        assert!(
            !commit
                .body
                .chars()
                .any(|c| c.is_control() && c != '\n' && c != '\t'),
            "{:?}",
            commit.body
        );
        // The subject is no place for a trailer, and may be about a part that is called so.
        let is_trailer = |line: &str| {
            line.trim_start()
                .to_ascii_lowercase()
                .starts_with("watchdog-")
        };
        assert!(!commit.body.lines().any(is_trailer), "{}", commit.body);
        for part in [&commit.subject, &commit.body] {
            assert_eq!(
                secret_shapes::find_added_secret(None, part.as_bytes()),
                None,
                "{part}"
            );
        }
    }
}
