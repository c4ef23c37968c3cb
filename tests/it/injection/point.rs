//! One point: a scene with a fault, played and judged.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::calls::{CallFault, FAMILIES, Injection};
use super::causes::normal;
use super::ground::InjectionGround;
use super::proof::AfterPoint;
use super::scene::Scene;
use crate::support::CommandOutput;
use crate::support::random_tree::Dice;

/// How a point ended.
pub enum PointOutcome {
    /// The call did not happen so often.
    NotReached,
    /// All as it should be; how it ended, in words.
    Held { end: String },
    /// What is wrong.
    Broken(String),
}

/// How often each family is called in a scene, at most in one process or thread.
pub type CallCounts = BTreeMap<&'static str, usize>;

/// Counts the calls of a scene that nothing disturbs, which must hold as well, and returns its output.
pub fn count_calls(ground: &mut InjectionGround, scene: Scene) -> (CallCounts, CommandOutput) {
    let wanted = ground.lay(scene);
    let trace = ground.env.root().join("tmp/trace");
    let all: Vec<&str> = FAMILIES.iter().map(|family| family.calls).collect();
    let arguments = strace_arguments(&trace, &format!("trace={}", all.join(",")), None);
    let out = ground
        .call(scene, &arguments)
        .unwrap_or_else(|hung| panic!("{}: {hung}", scene.name()));
    let counts = counts(&fs::read_to_string(&trace).expect("strace wrote it"));
    let injection = Injection::random(&mut Dice::new(1), &FAMILIES[0], 1);
    let faults = AfterPoint {
        ground,
        scene,
        injection,
        wanted: &wanted,
        out: &out,
    }
    .faults();
    assert!(
        faults.is_empty() && scene.says_well(&out),
        "{}, undisturbed: {faults:?}\n{out}",
        scene.name()
    );
    (counts, out)
}

/// The most calls of each family in one process or thread.
fn counts(trace: &str) -> CallCounts {
    let mut by_process: BTreeMap<(&str, &'static str), usize> = BTreeMap::new();
    for line in trace.lines() {
        let Some((pid, call)) = line.split_once(' ') else {
            continue;
        };
        let name = call.trim_start().split('(').next().unwrap_or_default();
        if let Some(family) = FAMILIES
            .iter()
            .find(|family| family.calls.split(',').any(|one| one == name))
        {
            *by_process.entry((pid, family.name)).or_default() += 1;
        }
    }
    let mut most = CallCounts::new();
    for ((_, family), count) in by_process {
        let entry = most.entry(family).or_default();
        *entry = (*entry).max(count);
    }
    most
}

fn strace_arguments(trace: &Path, traced: &str, inject: Option<&Injection>) -> Vec<String> {
    let mut arguments = vec![
        "strace".to_owned(),
        "-f".to_owned(),
        "-qq".to_owned(),
        "-o".to_owned(),
        trace.to_string_lossy().into_owned(),
    ];
    arguments.extend(["-e".to_owned(), traced.to_owned()]);
    match inject {
        // With the filter in the kernel strace sends no signals.
        Some(injection) if injection.fault == CallFault::Kill => {}
        _ => arguments.push("--seccomp-bpf".to_owned()),
    }
    if let Some(injection) = inject {
        arguments.extend(["-e".to_owned(), injection.strace_argument()]);
    }
    arguments.push("--".to_owned());
    arguments
}

/// Whether the trace shows a fault that does not exist, and that no program has an answer to: an
/// eventfd takes a write whatever the disk, and a lock is always freed. strace cuts a call in two
/// lines where another thread calls meanwhile; only the second one is marked.
fn cannot_be(trace: &str) -> bool {
    let mut unfinished_calls: BTreeMap<&str, &str> = BTreeMap::new();
    trace.lines().any(|line| {
        let pid = line.split(' ').next().unwrap_or_default();
        if line.ends_with("<unfinished ...>") {
            unfinished_calls.insert(pid, line);
        }
        let call = if line.contains(" resumed>") {
            unfinished_calls.remove(pid).unwrap_or(line)
        } else {
            line
        };
        let is_harmless = [r#", "\1\0\0\0\0\0\0\0", 8"#, "F_UNLCK", "LOCK_UN"]
            .iter()
            .any(|words| call.contains(words));
        is_harmless && line.contains("(INJECTED)")
    })
}

/// Plays a point of a command that only reads; returns what is wrong with it. Success without a word must come with the same output.
pub fn play_read(
    ground: &mut InjectionGround,
    (counts, well): &(CallCounts, CommandOutput),
    scene: Scene,
    dice: &mut Dice,
) -> Option<String> {
    let trace = ground.env.root().join("tmp/trace");
    for _ in 0..20 {
        let family = dice.pick(FAMILIES);
        let Some(most) = counts.get(family.name) else {
            continue;
        };
        let injection = Injection::random(dice, family, *most);
        if injection.fault == CallFault::Kill {
            continue;
        }
        ground.lay(scene);
        let out = match ground.call(
            scene,
            &strace_arguments(&trace, &format!("trace={}", family.calls), Some(&injection)),
        ) {
            Ok(out) => out,
            Err(hung) => return Some(format!("{}: {hung}", scene.name())),
        };
        let traced = fs::read_to_string(&trace).unwrap_or_default();
        if !traced.contains("(INJECTED)") || cannot_be(&traced) {
            continue;
        }
        let is_broken = out.code == Some(70) || differs_without_a_word(&out, well);
        let line = traced
            .lines()
            .find(|line| line.contains("(INJECTED)"))
            .unwrap_or_default();
        let what = format!(
            "{} with {} at {} {}: {line}\n{out}\nundisturbed: {well}",
            scene.name(),
            injection.word(),
            family.name,
            injection.at
        );
        return is_broken.then_some(what);
    }
    None
}

/// Whether a command succeeded with another output than it has undisturbed, and did not say why.
fn differs_without_a_word(out: &CommandOutput, well: &CommandOutput) -> bool {
    // A verdict has its notes beside it, and a list names a file that cannot be read.
    let notes = ["note: ", "(unreadable)", "\"left_out\":[{"];
    let notes_of = |of: &CommandOutput| {
        let json = serde_json::from_str::<Value>(&of.stdout).unwrap_or_default();
        [json["degraded"].clone(), json["note"].clone()]
    };
    out.code == Some(0)
        && normal(&out.stderr) == normal(&well.stderr)
        && !notes.iter().any(|note| out.stdout.contains(note))
        && notes_of(out) == notes_of(well)
        && normal(&out.stdout) != normal(&well.stdout)
}

/// Plays a point; with the undisturbed output, success without a word must come with the same.
pub fn play(
    ground: &mut InjectionGround,
    scene: Scene,
    injection: Injection,
    undisturbed: Option<&CommandOutput>,
) -> PointOutcome {
    let wanted = ground.lay(scene);
    let trace = ground.env.root().join("tmp/trace");
    let arguments = strace_arguments(
        &trace,
        &format!("trace={}", injection.family.calls),
        Some(&injection),
    );
    let called = ground.call(scene, &arguments);
    let traced = fs::read_to_string(&trace).unwrap_or_default();
    let reached = traced.contains("(INJECTED)") || traced.contains("killed by SIGKILL");
    if !reached || cannot_be(&traced) {
        return PointOutcome::NotReached;
    }
    let out = match called {
        Ok(out) => out,
        Err(hung) => return PointOutcome::Broken(hung),
    };
    let mut faults = AfterPoint {
        ground,
        scene,
        injection,
        wanted: &wanted,
        out: &out,
    }
    .faults();
    if let Some(well) = undisturbed.filter(|well| differs_without_a_word(&out, well)) {
        faults.push(format!("it differs without a word from: {well}"));
    }
    if faults.is_empty() {
        PointOutcome::Held {
            end: out
                .code
                .map_or("no code".to_owned(), |code| format!("exit {code}")),
        }
    } else {
        PointOutcome::Broken(format!("{}\n{out}", faults.join("\n")))
    }
}

#[test]
fn fault_without_reality_is_seen_in_halves() {
    let halves = "7 write(5, \"\\1\\0\\0\\0\\0\\0\\0\\0\", 8 <unfinished ...>\n8 close(3) = 0\n\
                  7 <... write resumed>) = -1 EINTR (Interrupted system call) (INJECTED)\n";
    assert!(cannot_be(halves));
    let of_another_thread = halves.replace("7 <...", "8 <...");
    assert!(!cannot_be(&of_another_thread));
}
