//! What goes wrong in a round, and how it is put right again so that the damage can be looked at.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use rustix::process::Signal;

use super::ground::Ground;
use super::manifest::RESTLESS;
use super::scripts::{self, Hook};
use crate::support::random_tree::Dice;

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// watchdog gets a signal so long after the session's end, or after its start where there is no session.
    Signal(Signal, Duration),
    /// Every git that watchdog starts is killed so many microseconds later.
    KillGit(usize),
    /// The agent is killed while it works.
    KillAgent,
    /// The agent throws its own work away, after a snapshot during the session.
    AgentDestroys,
    /// This many bytes are left on the disk.
    DiskFull(u64),
    /// This many files can still be made on the disk.
    NoMoreFiles(u64),
    /// No object can be written.
    ReadOnlyObjects,
    /// A hook stands in the way.
    Hook(Hook),
    /// The rescue script is destructive.
    Script,
    /// A lock is left behind, this old.
    Lock(&'static str, Duration),
    /// Something writes to the work tree all the time.
    Restless,
    /// Another watchdog rescues at the same time.
    Twin,
}

const LOCKS: &[&str] = &[
    "index.lock",
    "index.lock",
    "HEAD.lock",
    "refs/heads/main.lock",
    "packed-refs.lock",
    "config.lock",
];

impl Fault {
    /// Any of them.
    pub fn random(dice: &mut Dice) -> Self {
        match dice.roll(22) {
            0 => Fault::None,
            1..=4 => Fault::Signal(Signal::KILL, moment(dice)),
            5 => Fault::Signal(
                *dice.pick(&[Signal::TERM, Signal::INT, Signal::HUP]),
                moment(dice),
            ),
            6 | 7 => Fault::KillGit(1 << dice.roll(15)),
            8 => Fault::KillAgent,
            9 | 10 => Fault::DiskFull(*dice.pick(&[
                0,
                1,
                4 << 10,
                16 << 10,
                64 << 10,
                256 << 10,
                1 << 20,
            ])),
            11 => Fault::NoMoreFiles(*dice.pick(&[0, 1, 2, 5, 10, 20, 40])),
            12 => Fault::ReadOnlyObjects,
            13 => Fault::Hook(Hook::Fails),
            14 => Fault::Hook(*dice.pick(&[Hook::Hangs, Hook::Kills])),
            15 => Fault::Hook(*dice.pick(&[Hook::Destroys, Hook::Kills])),
            16 | 17 => Fault::Script,
            18 => Fault::Twin,
            20 => Fault::AgentDestroys,
            19 => Fault::Lock(
                LOCKS[dice.roll(LOCKS.len())],
                Duration::from_secs(*dice.pick(&[0, 60, 4 * 24 * 3600])),
            ),
            _ => Fault::Restless,
        }
    }

    /// For the tally.
    pub fn name(&self) -> String {
        match self {
            Fault::None => "none".into(),
            Fault::Signal(signal, _) if *signal == Signal::KILL => "kill -9 of watchdog".into(),
            Fault::Signal(..) => "TERM, INT or HUP to watchdog".into(),
            Fault::KillGit(_) => "kill -9 of every git".into(),
            Fault::KillAgent => "kill -9 of the agent".into(),
            Fault::AgentDestroys => "agent that destroys its work".into(),
            Fault::DiskFull(_) => "full disk".into(),
            Fault::NoMoreFiles(_) => "no more files on the disk".into(),
            Fault::ReadOnlyObjects => "read-only objects".into(),
            Fault::Hook(Hook::Fails) => "hook that fails".into(),
            Fault::Hook(Hook::Hangs) => "hook that hangs".into(),
            Fault::Hook(Hook::Kills) => "hook that kills".into(),
            Fault::Hook(Hook::Destroys) => "hook that destroys".into(),
            Fault::Script => "rescue script that destroys".into(),
            Fault::Lock(..) => "lock left behind".into(),
            Fault::Restless => "files written all the time".into(),
            Fault::Twin => "another watchdog at the same time".into(),
        }
    }

    /// Whether the round needs a disk of its own.
    pub fn needs_disk(&self) -> bool {
        matches!(self, Fault::DiskFull(_) | Fault::NoMoreFiles(_))
    }

    /// Whether nothing at all can be kept, so that no rescue may be claimed.
    pub fn forbids_keeping(&self) -> bool {
        matches!(
            self,
            Fault::DiskFull(0 | 1) | Fault::NoMoreFiles(0 | 1) | Fault::ReadOnlyObjects
        )
    }

    /// Whether only programs of the user, and no fault of the system, touch the repository besides watchdog.
    pub fn has_foreign_writers(&self) -> bool {
        matches!(
            self,
            Fault::Script
                | Fault::AgentDestroys
                | Fault::Hook(Hook::Destroys | Hook::Kills)
                | Fault::KillGit(_)
        )
    }

    /// Whether something is killed that may be in the midst of a change of the index.
    pub fn kills(&self) -> bool {
        matches!(
            self,
            Fault::Signal(Signal::KILL, _)
                | Fault::KillGit(_)
                | Fault::Hook(Hook::Kills | Hook::Hangs)
                | Fault::Script
        )
    }
}

/// Half of the moments fall into the first steps, half anywhere.
fn moment(dice: &mut Dice) -> Duration {
    let within = [60_000, 400_000][dice.roll(2)];
    Duration::from_micros(dice.roll(within) as u64)
}

/// What a fault left in place, to be put right.
pub struct Planted {
    lock: Option<PathBuf>,
    restless: Option<(Arc<AtomicBool>, std::thread::JoinHandle<()>)>,
    sealed: Option<PathBuf>,
    gits_die: bool,
    full: bool,
}

impl Planted {
    /// Lets a fault begin that lasts while watchdog runs.
    pub fn plant(ground: &mut Ground, fault: &Fault) -> Self {
        let mut planted = Planted {
            lock: None,
            restless: None,
            sealed: None,
            gits_die: false,
            full: false,
        };
        match fault {
            Fault::KillGit(after) => {
                ground.kill_every_git(*after);
                planted.gits_die = true;
            }
            Fault::DiskFull(left) => {
                ground.fill_disk(*left);
                planted.full = true;
            }
            Fault::NoMoreFiles(more) => {
                ground.limit_files(*more);
                planted.full = true;
            }
            Fault::ReadOnlyObjects => {
                let objects = ground.root.join(".git/objects");
                ground.seal(&objects);
                planted.sealed = Some(objects);
            }
            Fault::Lock(name, age) => {
                let path = ground.root.join(".git").join(name);
                let file = std::fs::File::create(&path).unwrap();
                file.set_modified(SystemTime::now() - *age).unwrap();
                planted.lock = Some(path);
            }
            Fault::Restless => planted.restless = Some(write_all_the_time(ground.root.clone())),
            Fault::None
            | Fault::Signal(..)
            | Fault::KillAgent
            | Fault::AgentDestroys
            | Fault::Hook(_)
            | Fault::Script
            | Fault::Twin => {}
        }
        planted
    }

    /// Puts it right.
    pub fn heal(self, ground: &mut Ground, told: &str) {
        if let Some((stop, writer)) = self.restless {
            stop.store(true, Ordering::Relaxed);
            writer.join().unwrap();
        }
        if let Some(sealed) = self.sealed {
            ground.unseal(&sealed);
        }
        if self.gits_die {
            ground.let_git_live();
        }
        if self.full {
            ground.free_disk();
        }
        if let Some(lock) = self.lock {
            assert!(
                lock.exists(),
                "a foreign lock is never deleted: {}\n{told}",
                lock.display()
            );
            std::fs::remove_file(lock).unwrap();
        }
        scripts::remove_hooks(ground);
    }
}

/// Rewrites, grows, cuts, removes and renames files until it is told to stop.
fn write_all_the_time(root: PathBuf) -> (Arc<AtomicBool>, std::thread::JoinHandle<()>) {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    let writer = std::thread::spawn(move || {
        let mut n = 0usize;
        while !told.load(Ordering::Relaxed) {
            n += 1;
            let path = root.join(format!("{RESTLESS}{}", n % 7));
            // Any of these may fail, as the rescue script may be at work.
            match n % 5 {
                0 => drop(std::fs::remove_file(&path)),
                1 => drop(std::fs::rename(
                    &path,
                    root.join(format!("{RESTLESS}{}", (n + 3) % 7)),
                )),
                2 => drop(std::fs::create_dir(&path)),
                3 => drop(std::fs::remove_dir(&path)),
                _ => drop(std::fs::write(&path, vec![b'r'; n * 997 % 50_000])),
            }
            std::thread::sleep(Duration::from_micros(300));
        }
    });
    (stop, writer)
}
