//! A machine of the fleet: its own home, state, clone, identity, clock and way to the server.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;

use super::remote::Remote;
use super::rough_way::RoughWay;
use super::watchdog;
use crate::support::{Running, TestEnv, WallClock, fill_line, wait_until};

/// What an agent does: a file for its task, which is another one each time, after a moment that differs, and now and then in two
/// commits.
const AGENT: &str = r#"
case $(( $(od -An -N1 -tu1 /dev/urandom) % 8 )) in
    0) sleep 2 ;;
    1) echo half > "$WATCHDOG_SPEC.txt"; git add -A; git commit -qm "feat: half of $WATCHDOG_SPEC" ;;
esac
echo "$WATCHDOG_SPEC by $0, $(od -An -N8 -tx1 /dev/urandom)" > "$WATCHDOG_SPEC.txt"
git add -A
git commit -qm "feat: $WATCHDOG_SPEC"
"#;

/// Kinds of events that docs/fleet.md keeps on their machine.
const STAYS: [&str; 11] = [
    "commits", "changes", "snapshot", "check", "restore", "dropped", "expired", "trust",
    "degraded", "notify", "watch",
];

/// A machine; dropped, everything on it ends.
pub struct Machine {
    pub name: String,
    pub way: RoughWay,
    env: TestEnv,
    clone: PathBuf,
    clock: WallClock,
    working: Option<Running>,
}

impl Machine {
    /// Joins the fleet. Its wall clock is ahead of the others' by `ahead`.
    pub fn join(
        name: &str,
        ahead: Duration,
        address: &dyn Fn(u16) -> String,
        server: u16,
        remote: &Remote,
    ) -> Self {
        let env = TestEnv::new();
        let (way, clock) = (RoughWay::to(server), WallClock::new(&env));
        let clone = env.root().join("clone");
        let _cloned = env
            .command("git", &env.root())
            .args(["clone", "-q"])
            .args([remote.path(), &clone])
            .run()
            .expect(0);
        let _named = env
            .command("git", &clone)
            .args(["config", "user.name", name])
            .run()
            .expect(0);
        let _quiet = env
            .command("git", &clone)
            .args(["config", "maintenance.auto", "false"])
            .run()
            .expect(0);
        env.write("config/completion.json", CONFIG);
        let machine = Machine {
            name: name.to_owned(),
            way,
            env,
            clone,
            clock,
            working: None,
        };
        machine.clock.be_ahead_by(ahead);
        let address = address(machine.way.port);
        machine
            .call(&[
                "fleet",
                "join",
                &address,
                "--name",
                name,
                "--repository",
                "proof/tasks",
            ])
            .expect(0);
        machine
    }

    fn call(&self, args: &[&str]) -> crate::support::CommandOutput {
        self.clock
            .read_by(watchdog(&self.env, &self.clone, args))
            .run()
    }

    /// Begins to work on the tasks of the fleet, and stays.
    pub fn work(&mut self) {
        let config = self
            .env
            .root()
            .join("config/completion.json")
            .to_string_lossy()
            .into_owned();
        let args = fill_line(
            "task work --agents 1 --stay --lease 3s --no-probe --child-wait 0s --config {}",
            &[&config],
        );
        let args: Vec<&str> = args
            .into_iter()
            .chain(["--", "sh", "-c", AGENT, &self.name])
            .collect();
        let run = self
            .clock
            .read_by(watchdog(&self.env, &self.clone, &args))
            .timeout(Duration::from_secs(600));
        self.working = Some(run.spawn());
    }

    /// Whether its watchdog ended although nobody ended it.
    pub fn gave_up(&mut self) -> bool {
        self.working.as_mut().is_some_and(Running::ended)
    }

    /// Ends its watchdog as `kill -9` does. Its session goes on.
    pub fn kill(&mut self) {
        if let Some(mut working) = self.working.take() {
            working.signal(Signal::KILL);
            while !working.ended() {
                std::thread::sleep(Duration::from_millis(5));
            }
            // Dropped while it ran, it would take the session with it.
        }
    }

    /// Lets its watchdog stand still, or go on.
    pub fn stand_still(&mut self, still: bool) {
        if let Some(working) = &self.working {
            working.signal(if still { Signal::STOP } else { Signal::CONT });
        }
    }

    /// Ends its work as Ctrl-C does, and sends what is not copied yet. A copy that a killed watchdog was at keeps its lease for a while.
    pub fn end(&mut self) {
        if let Some(working) = self.working.take() {
            working.signal(Signal::CONT);
            working.signal(Signal::INT);
            let _ended = working.wait();
        }
        wait_until("everything is copied", Duration::from_secs(60), || {
            let copied = self.call(&["fleet", "sync", "--json"]).expect(0).json();
            copied["busy"] == false && copied["copied"] == 0
        });
    }

    /// The ids of what it may share, in the order of its journal, since it joined.
    pub fn journal(&self) -> Vec<String> {
        let listed = self
            .call(&["events", "--all", "--json", "-n", "1000000"])
            .expect(0)
            .stdout;
        let event = |line: &str| {
            serde_json::from_str::<serde_json::Value>(line).expect("a line is an object")
        };
        let shared = |event: &serde_json::Value| {
            event["kind"]
                .as_str()
                .is_some_and(|kind| !STAYS.contains(&kind))
        };
        listed
            .lines()
            .map(event)
            .filter(shared)
            .filter_map(|event| event["id"].as_str().map(str::to_owned))
            .collect()
    }

    /// What its watchdog said last, for a round that failed.
    pub fn story(&self) -> String {
        let said = self
            .working
            .as_ref()
            .map(Running::stderr_so_far)
            .unwrap_or_default();
        let lines: Vec<&str> = said.lines().rev().take(15).collect();
        lines
            .into_iter()
            .rev()
            .map(|line| format!("  {}: {line}\n", self.name))
            .collect()
    }
}

/// Quick loops that ask nobody.
const CONFIG: &str = r#"{"version": 1, "limits": {"cooldown_seconds": 0}, "rescue": {"mode": "single"}, "completion_check": {"max_probes": 0}}"#;
