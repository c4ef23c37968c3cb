//! Every command meets records and a repository that are damaged, full, read-only or unreadable: it names the cause, or says what it
//! says without it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
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
    InjectedCause {
        name: "unreadable snapshots",
        words: &["Permission denied"],
        lay: |ground| close(&[ground.repo().join(".git/refs/watchdog")], 0o000),
    },
    InjectedCause {
        name: "unreadable logs",
        words: &["Permission denied"],
        lay: |ground| close(&[ground.env.state().join("logs")], 0o000),
    },
    InjectedCause {
        name: "unreadable records",
        words: &["Permission denied"],
        lay: |ground| close(&[ground.env.state().join("watchdog.db")], 0o000),
    },
    InjectedCause {
        name: "unreadable index",
        words: &["Permission denied", "permission denied"],
        lay: |ground| close(&[ground.repo().join(".git/index")], 0o000),
    },
    InjectedCause {
        name: "unwritable objects",
        words: &["Permission denied"],
        lay: |ground| close(&folders(&ground.repo().join(".git/objects")), 0o500),
    },
    InjectedCause {
        name: "full records",
        words: &["No space left on device", "disk is full"],
        lay: |ground| full(&ground.env.state()),
    },
    InjectedCause {
        name: "full repository",
        words: &["No space left on device"],
        lay: |ground| full(&ground.repo().join(".git")),
    },
    InjectedCause {
        name: "read-only repository",
        words: &["Read-only file system"],
        lay: |ground| read_only(&ground.repo().join(".git")),
    },
    InjectedCause {
        name: "damaged records",
        words: &["doctor --rebuild"],
        lay: damage_records,
    },
    InjectedCause {
        name: "locked records",
        words: &["in use by another process", "database is locked"],
        lay: |ground| lock(&ground.env.state().join("watchdog.db")),
    },
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
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .expect("no other process has it");
    drop(connection);
    let mut bytes = fs::read(&database).expect("it is ours");
    bytes.chunks_mut(4096).skip(1).for_each(|page| page.fill(0));
    fs::write(&database, bytes).expect("it is ours");
    Vec::new()
}

/// Holds the right to write the database for as long as the command runs.
fn lock(database: &Path) -> Vec<String> {
    let script = "import os, sqlite3, subprocess, sys\n\
        holder = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
        os.path.getsize(sys.argv[1]) and holder.execute('BEGIN IMMEDIATE')\n\
        sys.exit(subprocess.call(sys.argv[2:]))";
    let name = database.to_str().expect("UTF-8");
    if !database.exists() {
        return Vec::new();
    }
    ["python3", "-c", script, name].map(str::to_owned).into()
}

/// Takes rights away, and the capability that lets root do without.
fn close(paths: &[PathBuf], mode: u32) -> Vec<String> {
    for path in paths.iter().filter(|path| path.exists()) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }
    ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
        .map(str::to_owned)
        .into()
}

/// A folder and those below it.
fn folders(top: &Path) -> Vec<PathBuf> {
    let inner = fs::read_dir(top)
        .expect("it is ours")
        .map(|entry| entry.expect("it is ours").path())
        .filter(|path| path.is_dir());
    inner
        .collect::<Vec<_>>()
        .iter()
        .flat_map(|path| folders(path))
        .chain([top.to_owned()])
        .collect()
}

/// Puts what a folder holds on a file system of its own without any room, for the command alone.
fn full(folder: &Path) -> Vec<String> {
    let name = folder.to_str().expect("UTF-8");
    let script = format!(
        "cp -a {name} {name}.copy && mount -t tmpfs -o size=3m tmpfs {name} && cp -a {name}.copy/. {name} && rm -r {name}.copy && \
         {{ cat /dev/zero >{name}/filler 2>/dev/null; exec \"$@\"; }}"
    );
    ["unshare", "-rm", "sh", "-c", &script, "sh"]
        .map(str::to_owned)
        .into()
}

/// Mounts a folder read-only, for the command alone.
fn read_only(folder: &Path) -> Vec<String> {
    let name = folder.to_str().expect("UTF-8");
    let script =
        format!("mount --bind {name} {name} && mount -o remount,bind,ro {name} && exec \"$@\"");
    ["unshare", "-rm", "sh", "-c", &script, "sh"]
        .map(str::to_owned)
        .into()
}

/// Output without what differs from run to run: numbers, ids, times, ages and the columns that they take.
pub fn normal(text: &str) -> String {
    let ages = regex::Regex::new(
        r"just now|\d+ \w+ ago|watchdog-it-\w+|[0-9a-f]{14}-[0-9a-f]{16}-[0-9a-f]+-[0-9a-f]+",
    )
    .expect("a right pattern");
    let columns = regex::Regex::new(r" {2,}").expect("a right pattern");
    // A time at a whole second has no fraction.
    let fractions = regex::Regex::new(r"(\d)\.\d+").expect("a right pattern");
    let text = &fractions.replace_all(text, "$1");
    let text = columns
        .replace_all(&ages.replace_all(text, "AGE"), "  ")
        .into_owned();
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
    let all = SCENES
        .iter()
        .copied()
        .filter(|scene| *scene != Scene::Watch)
        .chain(READS.iter().copied().map(Scene::Read));
    let scenes: Mutex<Vec<Scene>> = Mutex::new(all.collect());
    let silent = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..6 {
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
    assert!(
        silent.is_empty(),
        "{} commands do not name the cause:\n{}",
        silent.len(),
        silent.join("\n")
    );
}

fn meet_causes(ground: &mut InjectionGround, scene: Scene) -> Vec<String> {
    let call = |ground: &mut InjectionGround, cause: Option<&InjectedCause>| {
        ground.lay(scene);
        let wrapper = cause.map_or_else(Vec::new, |cause| (cause.lay)(ground));
        ground
            .call(scene, &wrapper)
            .unwrap_or_else(|hung| panic!("{} {hung}", scene.name()))
    };
    let undisturbed = call(ground, None);
    let mut faults = Vec::new();
    for cause in CAUSES {
        let out = call(ground, Some(cause));
        let said = format!("{}{}", out.stdout, out.stderr);
        let is_named = cause.words.iter().any(|word| said.contains(word));
        if !(is_named || is_as_undisturbed(&out, &undisturbed)) {
            faults.push(format!(
                "{} with {}: {out}\nundisturbed: {undisturbed}",
                scene.name(),
                cause.name
            ));
        }
    }
    faults
}
