//! The room that snapshots need: told where it is large, measured, and limited.

use std::fs::File;

use serde_json::json;

use crate::support::{Repo, TestEnv};

/// A file of zeros, which takes no room on the disk.
fn write_sparse(repo: &Repo<'_>, name: &str, size: u64) {
    File::create(repo.path().join(name))
        .and_then(|file| file.set_len(size))
        .expect("the repository takes a file");
}

#[test]
fn large_work_is_told_with_its_size() {
    let env = TestEnv::new();
    let repo = env.repo();
    write_sparse(&repo, "dump", 120 << 20);
    let first = repo
        .watchdog(&["run", "--no-probe", "--", "sh", "-c", "echo small > small"])
        .expect(10);
    first.assert_told(&["1 file (120.0 MiB) uncommitted before the session"]);
    let told = "the snapshots have 120.0 MiB that HEAD has not; see which one could go with: watchdog rescue list --size";
    for command in [&["rescue", "list"][..], &["status"]] {
        let out = repo.watchdog(command).expect(0);
        assert!(
            out.stderr
                .replace(&format!(" -C {}", repo.path().display()), "")
                .contains(told),
            "{out}"
        );
    }
    // The second one has the same file: dropping either frees next to nothing.
    repo.watchdog(&["run", "--no-probe", "--", "rm", "dump"])
        .expect(10);
    let measured = repo
        .watchdog(&["rescue", "list", "--size", "--json"])
        .expect(0)
        .json();
    let alone: Vec<u64> = measured["snapshots"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| row["alone_bytes"].as_u64())
        .collect();
    assert!(
        alone.len() >= 2 && alone.iter().all(|bytes| *bytes < 100),
        "{measured}"
    );
    assert_eq!(measured["bytes"], (120 << 20) + 6, "{measured}");
    let text = repo.watchdog(&["rescue", "list", "--size"]).expect(0);
    assert!(
        text.stdout
            .lines()
            .next()
            .is_some_and(|head| head.contains("ALONE")),
        "{text}"
    );
    // Without it, no line is about sizes.
    for snapshot in repo.snapshots() {
        repo.git(&["update-ref", "-d", &snapshot]);
    }
    repo.watchdog(&["run", "--no-probe", "--", "true"]);
    for command in [&["rescue", "list"][..], &["status"]] {
        let out = repo.watchdog(command).expect(0);
        assert!(!out.stderr.contains("that HEAD has not"), "{out}");
    }
}

#[test]
fn largest_new_files_beyond_limit_stay_out() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = json!({"version": 1, "rescue": {"mode": "snapshot", "max_snapshot_bytes": 1000}});
    repo.write("completion.json", config.to_string());
    repo.commit_all("configure");
    repo.watchdog(&["trust"]).expect(0);
    repo.write("README.md", "changed\n".repeat(1000));
    for (name, bytes) in [("a", 300), ("b", 2000), ("c", 600), ("d", 700)] {
        repo.write(name, "x".repeat(bytes));
    }
    let out = repo
        .watchdog_line("run --no-probe --json -- sh -c {}", &["echo more >> a"])
        .expect(10);
    let told = "2 new files over rescue.max_snapshot_bytes, so no snapshot has them: 'd', 'b'";
    assert!(out.stderr.contains(told), "{out}");
    let newest = repo.snapshots().into_iter().max().expect("there is one");
    let names = repo.git(&["ls-tree", "--name-only", &newest]);
    assert_eq!(
        names.lines().collect::<Vec<_>>(),
        ["README.md", "a", "c", "completion.json"]
    );
    // A changed file is no new one, whatever its size.
    assert!(
        repo.file_in(&newest, "README.md")
            .is_some_and(|text| text.len() > 5000)
    );
    let rescued = repo.watchdog(&["rescue", "--json"]);
    rescued.assert_values(json!({
        "left_out": [{"path": "d", "why": "too_large"}, {"path": "b", "why": "too_large"}],
    }));
}
