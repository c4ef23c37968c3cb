//! Tests a scan that panics, in the real event loop: no input is known that makes a real scan panic.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::event_loop::watch_by;
use super::request::WatchRequest;
use super::scan::{ScanTask, WatchScanOutcome};
use crate::judge::command_env::CommandEnv;
use crate::judge::judgement_input::Overrides;
use crate::judge::signals::SignalState;
use crate::wire::verdict_json::Judgement;
use watchdog_store::StateDir;

type SharedLog = Arc<Mutex<Vec<String>>>;

/// As much of a repository as a search asks for.
fn bare_bones(root: &Path) {
    for folder in ["objects", "refs/heads"] {
        fs::create_dir_all(root.join(".git").join(folder))
            .expect("the scratch folder takes folders");
    }
    switch(root, "main");
}

fn switch(root: &Path, branch: &str) {
    let head = root.join(".git/HEAD");
    fs::write(
        head.with_extension("lock"),
        format!("ref: refs/heads/{branch}\n"),
    )
    .expect("the scratch folder takes files");
    fs::rename(head.with_extension("lock"), head).expect("as git does it");
}

async fn until(log: &SharedLog, line: &str, times: usize) {
    let seen = || {
        log.lock()
            .expect("nobody panics with it")
            .iter()
            .filter(|seen| *seen == line)
            .count()
    };
    let found = tokio::time::timeout(Duration::from_secs(20), async {
        while seen() < times {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(found.await.is_ok(), "{line}, {times} times: {log:?}");
}

#[test]
fn panicking_scan_fails_alone_and_watch_continues() {
    let scratch = tempfile::tempdir().expect("the system has room for a scratch folder");
    let (bad, good) = (scratch.path().join("bad"), scratch.path().join("good"));
    bare_bones(&bad);
    bare_bones(&good);
    let log = SharedLog::default();
    let note = {
        let log = Arc::clone(&log);
        move |line: String| log.lock().expect("nobody panics with it").push(line)
    };
    let state =
        StateDir::resolve(Some(scratch.path().join("state")), None, None).expect("it was named");
    let around = CommandEnv::new(scratch.path().to_owned(), state);
    let on_row = {
        let note = note.clone();
        move |judgement: &Judgement| {
            let verdict = &judgement.verdict;
            let name = judgement.worktree.rsplit('/').next().unwrap_or_default();
            note(format!(
                "{}/{} of {name}: {}",
                verdict.status().as_str(),
                verdict.reason.as_str(),
                verdict.message
            ));
            true
        }
    };
    let request = WatchRequest {
        paths: vec![scratch.path().to_owned()],
        overrides: Overrides::default(),
        probe: false,
        quiet_for: None,
        poll: Duration::from_secs(3600),
        poll_only: false,
        jobs: 1,
        on_row: Arc::new(on_row),
        has_readers: Arc::new(|| true),
    };
    let scan = async move |task: ScanTask| {
        let name = task
            .subject
            .root
            .file_name()
            .expect("a folder has a name")
            .to_string_lossy()
            .into_owned();
        note(name.clone());
        assert_ne!(name, "bad", "a bug that this one meets");
        WatchScanOutcome::Same { head: None }
    };
    let acts = async {
        let panic_lines = "error/git_error of bad: watchdog itself failed here, which is a bug";
        until(&log, "good", 1).await;
        until(&log, "bad", 1).await;
        switch(&good, "other");
        until(&log, "good", 2).await;
        switch(&bad, "other");
        until(&log, "bad", 2).await;
        switch(&good, "another");
        until(&log, "good", 3).await;
        let log = log.lock().expect("nobody panics with it");
        let panic_lines = log
            .iter()
            .filter(|line| {
                line.starts_with(panic_lines) && line.contains("a bug that this one meets")
            })
            .count();
        assert_eq!(panic_lines, 2, "{log:#?}");
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the system has room for one");
    runtime.block_on(async {
        let mut signals = SignalState::none();
        tokio::select! {
            ended = watch_by(&around, &request, &mut signals, scan) => panic!("the watch ended: {ended:?}"),
            () = acts => {}
        }
    });
}
