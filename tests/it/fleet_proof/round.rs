//! One round: tasks, machines, faults for as long as there is work, and what was recorded of it.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use super::checker::{RoundRecord, faults};
use super::faults::FleetFault;
use super::history;
use super::machine::Machine;
use super::own_server::OwnServer;
use super::remote::Remote;
use super::rough_way::RoughWay;
use super::turn::Turn;
use super::watchdog;
use crate::support::random_tree::Dice;
use crate::support::{Running, TestEnv, fill_line, wait_for, wait_until};
use crate::torture::Tally;

/// Once only one in so many tasks is left, the next round may begin.
const TAIL: usize = 10;

/// How large a round is.
#[derive(Debug, Clone, Copy)]
pub struct RoundSize {
    pub machines: usize,
    pub tasks: usize,
    /// How long it may take until every task has ended.
    pub patience: Duration,
    /// Whether a standby takes the server's place once.
    pub with_standby: bool,
}

/// A fault that lasts, and when it ends.
struct Lasting {
    fault: FleetFault,
    until: Instant,
}

struct FleetRound {
    server: OwnServer,
    machines: Vec<Machine>,
    follower: Follower,
    lasting: Vec<Lasting>,
    dice: Dice,
    took_over: bool,
}

/// Plays the round of a seed, and panics where anything is wrong.
pub fn play(seed: u64, size: RoundSize, tally: &mut Tally) {
    let mut dice = Dice::new(seed);
    let tasks = tasks(&mut dice, size.tasks);
    let remote = Remote::new(&tasks);
    let server = OwnServer::start(seed);
    let owner = TestEnv::new();
    let made = [
        "fleet",
        "init",
        &server.address("owner", server.port),
        "--worker",
        "worker",
    ];
    watchdog(&owner, &owner.root(), &made).run().expect(0);
    history::begin(&server);
    if size.with_standby {
        server.add_standby();
    }
    let machines = (0..size.machines)
        .map(|n| {
            // An hour lies between the first and the last.
            let ahead = Duration::from_secs(3600 * n as u64 / (size.machines - 1).max(1) as u64);
            Machine::join(
                &format!("m{n}"),
                ahead,
                &|port| server.address("worker", port),
                server.port,
                &remote,
            )
        })
        .collect();
    let follower = Follower::join(&server);
    let mut turn = Turn::wait();
    let following = follower.follow();
    let mut round = FleetRound {
        server,
        machines,
        follower,
        lasting: Vec::new(),
        dice,
        took_over: false,
    };
    let began = Instant::now();
    round.machines.iter_mut().for_each(Machine::work);
    // One that cannot connect at all says so and ends; it is followed from here on.
    wait_until("the follower is connected", Duration::from_secs(60), || {
        !following.stdout_so_far().is_empty()
    });
    let mut fails_over_at = size
        .with_standby
        .then(|| Duration::from_secs(5 + round.dice.roll(20) as u64));
    let mut looks_at = Duration::from_secs(5);
    let mut packs_at = looks_at;
    while began.elapsed() < size.patience {
        // Each look is a process and a connection.
        if looks_at <= began.elapsed() {
            match history::open_tasks(&round.server) {
                Some(0) => break,
                // Most machines have nothing left to do.
                Some(few) if few * TAIL <= size.tasks => turn.pass_on(),
                _ => {}
            }
            looks_at = began.elapsed() + Duration::from_millis(500);
        }
        if packs_at <= began.elapsed() {
            remote.pack();
            packs_at = began.elapsed() + Duration::from_secs(3);
        }
        round.pass_by();
        if fails_over_at.is_some_and(|at| at <= began.elapsed()) {
            fails_over_at = None;
            round.fail_over(tally);
        }
        round.go_wrong(tally);
        thread::sleep(Duration::from_millis(100));
    }
    let took = began.elapsed();
    round.calm();
    let gave_up: Vec<String> = round
        .machines
        .iter_mut()
        .filter_map(|machine| machine.gave_up().then(|| machine.name.clone()))
        .collect();
    let story: String = round.machines.iter().map(Machine::story).collect();
    for machine in &mut round.machines {
        machine.end();
    }
    let record = round.record(tasks, &remote, &following);
    tally.many("round", "seconds", took.as_secs());
    tally.many("round", "versions of tasks", record.versions.len() as u64);
    tally.many("round", "events", record.events.len() as u64);
    tally.many("round", "pushes", record.pushes.len() as u64);
    let taken_over = record
        .versions
        .iter()
        .filter(|version| version.status == "assigned")
        .count();
    tally.many("round", "times that a task was taken", taken_over as u64);
    tally.many("round", "tasks", record.tasks.len() as u64);
    let mut wrong = faults(&record);
    wrong.extend(
        gave_up
            .iter()
            .map(|name| format!("the watchdog of {name} ended by itself")),
    );
    let left = history::not_complete(&round.server);
    let said = following.stderr_so_far();
    assert!(
        wrong.is_empty(),
        "seed {seed}, after {took:?}:\n{}\n{left}\n{story}  the follower: {said}",
        wrong.join("\n")
    );
}

/// Tasks of which each depends on up to two earlier ones of its neighbourhood, half of them on none.
fn tasks(dice: &mut Dice, count: usize) -> BTreeMap<String, Vec<String>> {
    let name = |n: usize| format!("T{n:03}");
    (0..count)
        .map(|n| {
            let wanted = if n == 0 || dice.once_in(2) {
                0
            } else {
                1 + dice.roll(2)
            };
            let mut of: Vec<String> = (0..wanted)
                .map(|_| name(n - 1 - dice.roll(n.min(20))))
                .collect();
            of.sort();
            of.dedup();
            (name(n), of)
        })
        .collect()
}

/// Somebody who follows the events of all machines from the first on, over a way that is cut now and then.
struct Follower {
    env: TestEnv,
    way: RoughWay,
}

impl Follower {
    fn join(server: &OwnServer) -> Self {
        let (env, way) = (TestEnv::new(), RoughWay::to(server.port));
        watchdog(
            &env,
            &env.root(),
            &fill_line(
                "fleet join {} --name follower",
                &[&server.address("worker", way.port)],
            ),
        )
        .run()
        .expect(0);
        Follower { env, way }
    }

    fn follow(&self) -> Running {
        let args = ["events", "--fleet", "--follow", "--json", "-n", "1000000"];
        watchdog(&self.env, &self.env.root(), &args)
            .timeout(Duration::from_secs(900))
            .spawn()
    }
}

impl FleetRound {
    /// Ends what has lasted long enough.
    fn pass_by(&mut self) {
        let now = Instant::now();
        let (over, lasting) = std::mem::take(&mut self.lasting)
            .into_iter()
            .partition(|lasting: &Lasting| lasting.until <= now);
        self.lasting = lasting;
        let over: Vec<Lasting> = over;
        over.into_iter()
            .for_each(|lasting| self.mend(lasting.fault));
    }

    fn mend(&mut self, fault: FleetFault) {
        match fault {
            FleetFault::KillMachine(n) => self.machines[n].work(),
            FleetFault::StopMachine(n) => self.machines[n].stand_still(false),
            FleetFault::CutWay(_) => {}
            FleetFault::DelayWay(n, _) => self.machines[n].way.delay_by(Duration::ZERO),
            FleetFault::ShutWay(n) => self.machines[n].way.shut(false),
            FleetFault::StopServer => {
                self.server.start_again();
                self.lead_to_server();
            }
        }
    }

    /// Begins a fault now and then; a machine has one at a time, and at least half of them none.
    fn go_wrong(&mut self, tally: &mut Tally) {
        if !self.dice.once_in(8) || self.lasting.len() * 2 >= self.machines.len() {
            return;
        }
        let fault = FleetFault::random(&mut self.dice, self.machines.len());
        let about = |fault: FleetFault| match fault {
            FleetFault::KillMachine(n)
            | FleetFault::StopMachine(n)
            | FleetFault::CutWay(n)
            | FleetFault::DelayWay(n, _)
            | FleetFault::ShutWay(n) => Some(n),
            FleetFault::StopServer => None,
        };
        if self
            .lasting
            .iter()
            .any(|lasting| about(lasting.fault) == about(fault))
        {
            return;
        }
        match fault {
            FleetFault::KillMachine(n) => self.machines[n].kill(),
            FleetFault::StopMachine(n) => self.machines[n].stand_still(true),
            FleetFault::CutWay(n) => {
                self.machines[n].way.cut();
                self.follower.way.cut();
            }
            FleetFault::DelayWay(n, time) => self.machines[n].way.delay_by(time),
            FleetFault::ShutWay(n) => self.machines[n].way.shut(true),
            FleetFault::StopServer => self.server.stop_at_once(),
        }
        tally.one("fault", fault.name());
        let until = Instant::now() + fault.lasts(&mut self.dice);
        self.lasting.push(Lasting { fault, until });
    }

    fn fail_over(&mut self, tally: &mut Tally) {
        let is_down = |lasting: &Lasting| lasting.fault == FleetFault::StopServer;
        if let Some(at) = self.lasting.iter().position(is_down) {
            let lasting = self.lasting.remove(at);
            self.mend(lasting.fault);
        }
        if self.dice.once_in(2) {
            // Back from a power cut the first server shows what the standby has not got, until the standby follows it again.
            self.server.stop_at_once();
            self.server.start_again();
            self.lead_to_server();
            thread::sleep(Duration::from_millis(self.dice.roll(2_000) as u64));
            tally.one("fault", "server stopped at once, and again for good");
        }
        self.server.fail_over();
        self.lead_to_server();
        self.took_over = true;
        tally.one("fault", "a standby took the server's place");
    }

    fn lead_to_server(&self) {
        self.machines
            .iter()
            .map(|machine| &machine.way)
            .chain([&self.follower.way])
            .for_each(|way| way.lead_to(self.server.port));
    }

    /// Ends every fault.
    fn calm(&mut self) {
        for lasting in std::mem::take(&mut self.lasting) {
            if !matches!(lasting.fault, FleetFault::KillMachine(_)) {
                self.mend(lasting.fault);
            }
        }
    }

    fn record(
        &self,
        tasks: BTreeMap<String, Vec<String>>,
        remote: &Remote,
        following: &Running,
    ) -> RoundRecord {
        let versions = history::versions(&self.server);
        let events = history::events(&self.server);
        let branch_of: BTreeMap<&String, &String> = versions
            .iter()
            .filter(|version| version.status == "complete")
            .filter_map(|version| Some((&version.task, version.branch.as_ref()?)))
            .collect();
        let on_remote = remote.holds(&branch_of);
        let journals = self
            .machines
            .iter()
            .map(|machine| (machine.name.clone(), machine.journal()))
            .collect();
        let followed = followed(following, events.len());
        RoundRecord {
            tasks,
            pushes: remote.pushes(),
            on_remote,
            journals,
            followed,
            versions,
            events,
            took_over: self.took_over,
        }
    }
}

/// The ids that a follower printed, once there are as many as the server has, or no more come.
fn followed(following: &Running, expected: usize) -> Vec<String> {
    let ids = || -> Vec<String> {
        let said = following.stdout_so_far();
        let event = |line: &str| serde_json::from_str::<serde_json::Value>(line).ok();
        said.lines()
            .filter_map(event)
            .filter_map(|event| event["id"].as_str().map(str::to_owned))
            .collect()
    };
    wait_for(Duration::from_secs(60), || {
        Some(ids()).filter(|ids| ids.len() >= expected)
    })
    .unwrap_or_else(ids)
}
