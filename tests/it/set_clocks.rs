//! Wall clocks that are set while a command runs, or stand at the end of all dates.

use std::fs;
use std::time::Duration;

use jiff::Timestamp;

use crate::support::{TestEnv, WallClock, fill_line, wait_until};

#[test]
fn clock_set_forward_spends_no_time_budget() {
    let env = TestEnv::new();
    let repo = env.repo();
    let clock = WallClock::new(&env);
    let (begun, go) = (env.root().join("begun"), env.root().join("go"));
    let session = format!(
        "touch '{}'; while ! test -e '{}'; do sleep 0.05; done; echo >> done; git add done; git commit -qm done",
        begun.display(),
        go.display()
    );
    let args = fill_line(
        "loop --json --no-probe --max-iterations 2 --max-wall 30m --cooldown 0s -- sh -c {}",
        &[&session],
    );
    let looping = clock.read_by(repo.watchdog_command(&args)).spawn();
    wait_until("the session runs", Duration::from_secs(60), || {
        begun.exists()
    });
    clock.be_ahead_by(Duration::from_secs(2 * 3600));
    fs::write(&go, "").expect("a new file");
    let out = looping.wait().expect(0);
    assert_eq!(out.verdict(), "complete/new_commits", "{out}");
    assert!(
        out.json()["duration_ms"]
            .as_u64()
            .is_some_and(|took| took < 30 * 60 * 1000),
        "{out}"
    );
}

#[test]
fn last_year_of_all_dates_is_no_bug() {
    let env = TestEnv::new();
    let repo = env.repo();
    let clock = WallClock::new(&env);
    let end = Timestamp::MAX.duration_since(Timestamp::now());
    clock.be_ahead_by(Duration::try_from(end).expect("it is to come") - Duration::from_secs(60));
    let commands: [&[&str]; 12] = [
        &["snapshot"],
        &fill_line(
            "run --no-probe -- sh -c {}",
            &["echo > done; git add done; git commit -qm done"],
        ),
        &["check", "--no-probe"],
        &["sweep", "--no-probe", "."],
        &["loop", "--no-probe", "--max-iterations", "1", "--", "true"],
        &["status"],
        &["events"],
        &["explain"],
        &["report"],
        &["logs", "--list"],
        &["rescue", "list"],
        &["doctor"],
    ];
    for args in commands {
        let out = clock.read_by(repo.watchdog_command(args)).run();
        assert!(
            out.code.is_some_and(|code| code <= 16) && !out.stderr.contains("panicked"),
            "{args:?}: {out}"
        );
    }
}
