//! Every command meets records and a repository that are damaged, full, read-only or unreadable: it names the cause, or says what it
//! says without it.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use super::ground::InjectionGround;
use super::scene::{READS, SCENES, Scene};
use crate::support::CommandOutput;

/// A cause that is laid beneath a command.
struct InjectedCause {
    name: &'static str,
    /// What a command says that meets it, one of these.
    words: &'static [&'static str],
    /// Lays it, and returns the program behind which the command runs.
    lay: fn(&InjectionGround) -> Vec<String>,
}

const CAUSES: &[InjectedCause] = &[
    InjectedCause { name: "damaged records", words: &["doctor --rebuild"], lay: damage_records },
    InjectedCause {
        name: "read-only records",
        words: &["Read-only file system", "readonly database"],
        lay: |ground| read_only(&ground.env.state()),
    },
];

/// Zeroes every page of the database but the first.
fn damage_records(ground: &InjectionGround) -> Vec<String> {
    let database = ground.env.state().join("watchdog.db");
    if !database.exists() {
        return Vec::new();
    }
    let connection = rusqlite::Connection::open(&database).expect("it is ours");
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("no other process has it");
    drop(connection);
    let mut bytes = fs::read(&database).expect("it is ours");
    bytes.chunks_mut(4096).skip(1).for_each(|page| page.fill(0));
    fs::write(&database, bytes).expect("it is ours");
    Vec::new()
}

/// Mounts a folder read-only, for the command alone.
fn read_only(folder: &Path) -> Vec<String> {
    let name = folder.to_str().expect("UTF-8");
    let script = format!("mount --bind {name} {name} && mount -o remount,bind,ro {name} && exec \"$@\"");
    ["unshare", "-rm", "sh", "-c", &script, "sh"].map(str::to_owned).into()
}

/// Output without what differs from run to run: numbers, ids, times.
fn normal(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let is_number = word.chars().any(|c| c.is_ascii_digit());
        words.push_str(if is_number { "#" } else { word });
    }
    words
}

/// A command that the cause does not reach says what it says when all is well.
fn is_as_undisturbed(out: &CommandOutput, undisturbed: &CommandOutput) -> bool {
    let said = |of: &CommandOutput| (of.code, normal(&of.stdout), normal(&of.stderr));
    said(out) == said(undisturbed)
}

#[test]
fn every_command_names_the_injected_cause() {
    // A watch is played among the failing calls.
    let all = SCENES.iter().copied().filter(|scene| *scene != Scene::Watch).chain(READS.iter().copied().map(Scene::Read));
    let scenes: Mutex<Vec<Scene>> = Mutex::new(all.collect());
    let silent = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut ground = InjectionGround::new();
                while let Some(scene) = { scenes.lock().expect("no worker panicked").pop() } {
                    let faults = meet_causes(&mut ground, scene);
                    silent.lock().expect("no worker panicked").extend(faults);
                }
            });
        }
    });
    let silent = silent.into_inner().expect("no worker panicked");
    assert!(silent.is_empty(), "{} commands do not name the cause:\n{}", silent.len(), silent.join("\n"));
}

fn meet_causes(ground: &mut InjectionGround, scene: Scene) -> Vec<String> {
    let call = |ground: &mut InjectionGround, cause: Option<&InjectedCause>| {
        ground.lay(scene);
        let wrapper = cause.map_or_else(Vec::new, |cause| (cause.lay)(ground));
        ground.call(scene, &wrapper).unwrap_or_else(|hung| panic!("{} {hung}", scene.name()))
    };
    let undisturbed = call(ground, None);
    let mut faults = Vec::new();
    for cause in CAUSES {
        let out = call(ground, Some(cause));
        let said = format!("{}{}", out.stdout, out.stderr);
        let is_named = cause.words.iter().any(|word| said.contains(word));
        if !(is_named || is_as_undisturbed(&out, &undisturbed)) {
            faults.push(format!("{} with {}: {out}\nundisturbed: {undisturbed}", scene.name(), cause.name));
        }
    }
    faults
}
