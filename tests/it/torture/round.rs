//! One round: a random tree, random work, a random fault, and the proof.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::changes;
use super::fault::{Fault, Planted};
use super::ground::Ground;
use super::proof::{After, Before, prove};
use super::scripts::{self, Hook};
use super::start::{self, State};
use super::tally::Tally;
use crate::support::random_tree::Dice;
use crate::support::{CommandOutput, Running, Step, wait_for, wait_until};

/// How watchdog is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// `watchdog check`, with an agent to ask.
    Check,
    /// `watchdog rescue`.
    Rescue,
    /// `watchdog run`, with a session that leaves the work behind.
    Run,
}

/// What a session writes last, where a snapshot of all of it is waited for.
const LAST: &str = "written-last.txt";

/// No round waits longer for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Plays the round of a seed. Panics where anything is lost or wrong.
pub fn play(seed: u64, tally: &mut Tally) {
    let began = Instant::now();
    let mut dice = Dice::new(seed);
    let dice = &mut dice;
    let fault = Fault::random(dice);
    let mut action = *dice.pick(&[Action::Check, Action::Rescue, Action::Run]);
    if matches!(fault, Fault::KillAgent | Fault::AgentDestroys) {
        action = Action::Run;
    }
    let mut ground = Ground::new(fault.needs_disk());
    let state = State::random(dice);
    start::begin(&ground, dice, state);
    ground.env.watchdog(&ground.root, &["snapshot"]).expect(0);

    let (config, what) = configure(&ground, dice, &fault);
    tally.one("fault", fault.name());
    tally.one("action", format!("{action:?}"));
    tally.one("state", state.name());
    for word in &what {
        tally.one("script or hook", word);
    }
    let amount = dice.roll(25);
    let mut scene = Scene {
        ground: &mut ground,
        dice,
        tally,
        fault: &fault,
        amount,
    };
    let (before, out) = match action {
        Action::Run => scene.session(&config),
        Action::Check => scene.direct(&["check", "--json", "--config", &config]),
        Action::Rescue => scene.direct(&["rescue", "--json", "--config", &config]),
    };
    if std::env::var_os("WATCHDOG_TORTURE_STORY").is_some() {
        let word = out.stdout.lines().next().unwrap_or_default();
        println!(
            "seed {seed}: {:?}, {action:?}, {state:?}, {fault:?}, {what:?}, exit {:?}: {word}",
            began.elapsed(),
            out.code
        );
    }
    let after = After {
        fault: &fault,
        action,
        state,
        out: &out,
        story: format!("{what:?} config {config}"),
    };
    prove(&ground, &before, &after, tally);
}

/// The configuration of a round, with hooks and scripts in place; returns its path and what they do.
fn configure(ground: &Ground, dice: &mut Dice, fault: &Fault) -> (String, Vec<String>) {
    let mut what = Vec::new();
    let mut mode = *dice.pick(&["single", "single", "plan", "snapshot"]);
    let mut command = Value::Null;
    // Where something hangs, the deadline is what ends it.
    let mut timeout = 30;
    match fault {
        Fault::Script => {
            let (script, words) = scripts::rescue_script(ground, dice);
            if words.contains(&"hang") {
                timeout = 1;
            }
            mode = "command";
            command = json!([script]);
            what.extend(words.into_iter().map(|word| format!("script: {word}")));
        }
        Fault::Hook(kind) => {
            mode = "single";
            what.push(format!("hook: {}", scripts::hook(ground, dice, *kind)));
            if *kind == Hook::Hangs {
                timeout = 1;
            }
        }
        // A lock that somebody left is waited for until then.
        Fault::Lock(..) | Fault::KillGit(_) => timeout = 2,
        _ => {}
    }
    let mut rescue = json!({"mode": mode, "command": command, "timeout_seconds": timeout});
    if *fault == Fault::AgentDestroys {
        rescue["snapshot_seconds"] = json!(1);
    }
    if dice.once_in(4) {
        rescue["max_bytes"] = json!(100_000);
    }
    if dice.once_in(8) {
        rescue["max_files"] = json!(3);
    }
    if dice.once_in(8) {
        rescue["protect"] = json!(["main"]);
    }
    let status = *dice.pick(&["complete", "complete", "complete", "working", "nonsense"]);
    let reply =
        json!({"status": status, "message": "scripted", "should_continue": dice.once_in(2)});
    let probe = ground.env.fake_agent("probe", &[Step::print_json(&reply)]);
    let config = json!({
        "version": 1,
        "agent": {"probe": probe},
        "completion_check": {"max_probes": 1, "probe_interval_seconds": 0, "probe_timeout_seconds": 20},
        "rescue": rescue,
    });
    let path = ground
        .env
        .write("config/completion.json", config.to_string());
    (path.to_str().unwrap().to_owned(), what)
}

/// What is needed to get from work to its end.
struct Scene<'a> {
    ground: &'a mut Ground,
    dice: &'a mut Dice,
    tally: &'a mut Tally,
    fault: &'a Fault,
    amount: usize,
}

impl Scene<'_> {
    /// The work is there, and watchdog is called.
    fn direct(&mut self, args: &[&str]) -> (Before, CommandOutput) {
        changes::work(self.ground, self.dice, self.amount, self.tally);
        let before = Before::look(self.ground);
        let planted = Planted::plant(self.ground, self.fault);
        let running = self
            .ground
            .env
            .watchdog_command(&self.ground.root, args)
            .timeout(PATIENCE)
            .spawn();
        let out = self.ended_or_killed(running, Instant::now());
        planted.heal(self.ground, &out.to_string());
        (before, out)
    }

    /// watchdog runs a session, in which the work is done.
    fn session(&mut self, config: &str) -> (Before, CommandOutput) {
        let (up, go): (PathBuf, PathBuf) = (
            self.ground.env.root().join("session-is-up"),
            self.ground.env.root().join("session-may-go"),
        );
        let last = match self.fault {
            Fault::KillAgent => Step::hang(),
            _ => self
                .dice
                .pick(&[
                    Step::exit(0),
                    Step::exit(0),
                    Step::exit(3),
                    Step::print("done\n"),
                ])
                .clone(),
        };
        let session = [
            Step::write(up.to_str().unwrap(), ""),
            Step::wait_for(&go),
            last,
        ];
        let agent = self.ground.env.fake_agent("session", &session);
        // Some of them begin in the middle of a merge.
        let mut args = vec![
            "run",
            "--json",
            "--adopt",
            "--grace",
            "1s",
            "--child-wait",
            "1s",
            "--config",
            config,
            "--",
        ];
        args.extend(agent.iter().map(String::as_str));
        let running = self
            .ground
            .env
            .watchdog_command(&self.ground.root, &args)
            .timeout(PATIENCE)
            .spawn();
        wait_until("the session is up", PATIENCE, || up.exists());
        changes::work(self.ground, self.dice, self.amount, self.tally);
        if *self.fault == Fault::AgentDestroys {
            std::fs::write(self.ground.root.join(LAST), "last\n").unwrap();
        }
        let before = Before::look(self.ground);
        if *self.fault == Fault::AgentDestroys {
            self.wait_for_a_snapshot();
            let word = scripts::destroy_as_the_agent(self.ground, self.dice);
            self.tally.one("script or hook", format!("agent: {word}"));
        }
        let planted = Planted::plant(self.ground, self.fault);
        std::fs::write(&go, "").unwrap();
        if *self.fault == Fault::KillAgent {
            let line = agent.join(" ");
            let agents = self
                .ground
                .env
                .processes_left()
                .into_iter()
                .filter(|process| process.command == line);
            assert_eq!(
                agents.map(|process| process.kill()).count(),
                1,
                "one session"
            );
        }
        let out = self.ended_or_killed(running, Instant::now());
        planted.heal(self.ground, &out.to_string());
        (before, out)
    }

    /// Until one holds what was written last; it began after the rest was there.
    fn wait_for_a_snapshot(&self) {
        wait_until("a snapshot during the session", PATIENCE, || {
            let refs = self.ground.git_text(&[
                "for-each-ref",
                "--format=%(refname)",
                "refs/watchdog/rescue",
            ]);
            refs.lines().any(|name| {
                self.ground
                    .try_git(&["cat-file", "-e", &format!("{name}:{LAST}")])
                    .status
                    .success()
            })
        });
    }

    /// Signals where the fault is one; then waits until nothing runs any more.
    fn ended_or_killed(&mut self, running: Running, began: Instant) -> CommandOutput {
        if let Fault::Signal(signal, after) = self.fault {
            while let Some(left) = (began + *after)
                .checked_duration_since(Instant::now())
                .filter(|left| !left.is_zero())
            {
                std::thread::sleep(left);
            }
            running.signal(*signal);
        }
        if *self.fault == Fault::Twin {
            // It may be first, or find the other at work; either way it does no harm.
            let twin = self
                .ground
                .env
                .watchdog(&self.ground.root, &["rescue", "--json"]);
            self.tally.one(
                "the other watchdog",
                format!("exit {}", twin.code.unwrap_or(-1)),
            );
        }
        let out = running.wait();
        self.tally.one(
            "exit",
            out.code.map_or("none".into(), |code| code.to_string()),
        );
        // A killed watchdog's children go on; what would never end is ended here.
        let hangs = out.code == Some(128 + Signal::KILL.as_raw())
            && !matches!(self.fault, Fault::Signal(..));
        let patience = if hangs {
            Duration::from_millis(500)
        } else {
            Duration::from_secs(20)
        };
        if wait_for(patience, || {
            self.ground.env.processes_left().is_empty().then_some(())
        })
        .is_none()
        {
            self.ground
                .env
                .processes_left()
                .iter()
                .for_each(|process| process.kill());
            wait_until("what was left running is gone", PATIENCE, || {
                self.ground.env.processes_left().is_empty()
            });
            self.tally.one("left running", self.fault.name());
        }
        out
    }
}
