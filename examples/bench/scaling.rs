//! How the cost of a command grows with what lies around it: system calls and instructions, which the next run repeats, and CPU time.
//!
//! The small form counts system calls alone, and fails where a growth is above its limit.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};

use serde_json::json;
use watchdog_git::Worktree;

use super::counted::{count_calls, count_instructions, hide_auxv};
use super::process::{Contender, alternate};
use super::repository::{Shape, git, make};
use super::worktrees::{Layout, Worktrees};
use super::{Bench, Result, journal};

/// Of which there is more and more, and the commands that are measured beside it, with the most growth that the small form allows: the
/// present figure, rounded up. A linear cost is divided by the growth of the thing. The goal is 1.3, of a linear one 1.1.
const ROWS: [(&str, &str); 6] = [
    (
        "worktrees",
        "check 1.3, snapshot 2.4, run 2.0, hook stop 1.3, report 1.3, linear status 0.52, linear sweep 0.9",
    ),
    (
        "refs",
        "check 1.15, snapshot 1.3, run 1.3, hook stop 1.15, status 1.3, sweep 1.2",
    ),
    (
        "uncommitted files",
        "linear check 0.05, linear snapshot 0.1, linear run 0.12, linear hook stop 0.05, linear sweep 0.12, status 1.3",
    ),
    (
        "processes beside",
        "check 1.3, snapshot 1.3, run 1.3, hook stop 1.3, status 1.6, sweep 1.3",
    ),
    (
        "hundreds of events",
        "check 1.3, snapshot 1.3, run 1.3, hook stop 1.3, status 1.3, report 1.3, sweep 1.3",
    ),
    ("kB of transcript", "linear run 0.05, linear hook stop 0.05"),
];

/// What there is around a command.
struct Scene {
    folder: PathBuf,
    state: PathBuf,
    input: PathBuf,
    beside: Vec<Child>,
}

impl Drop for Scene {
    fn drop(&mut self) {
        for child in &mut self.beside {
            let _ended = child.kill().and_then(|()| child.wait());
        }
    }
}

/// What a command cost: system calls, instructions, milliseconds of CPU.
type Costs = [f64; 3];

/// Measures all rows. `scripts/bench` puts it where it sees no processes but its own.
pub fn measure(bench: &Bench, is_small: bool) -> Result<()> {
    if !is_small {
        hide_auxv()?;
    }
    let ratios = if is_small {
        ""
    } else {
        " instructions | CPU time |"
    };
    println!("| command | beside more | calls | growth |{ratios} goal |");
    let mut grown = Vec::new();
    for (thing, commands) in ROWS {
        measure_beside((bench, is_small), thing, commands, &mut grown)?;
    }
    if grown.is_empty() {
        Ok(())
    } else {
        Err(format!("grown: {}", grown.join(", ")).into())
    }
}

fn measure_beside(
    (bench, is_small): (&Bench, bool),
    thing: &str,
    commands: &str,
    grown: &mut Vec<String>,
) -> Result<()> {
    let mut commands: Vec<(&str, &str, Vec<Costs>)> = commands
        .split(", ")
        .filter_map(|command| command.rsplit_once(' '))
        .map(|(command, limit)| (command, limit, Vec::new()))
        .collect();
    let mut sizes = if is_small {
        vec![10, 300]
    } else {
        vec![10, 100, 1_000]
    };
    if thing == "worktrees" && bench.worktrees > 1_000 {
        sizes.push(bench.worktrees);
    }
    for &size in &sizes {
        let scene = Scene::lay(bench, thing, size)?;
        for (command, _, costs) in &mut commands {
            let is_largest = size > 1_000;
            if !is_largest || command.starts_with("linear ") {
                let command = command.trim_start_matches("linear ");
                costs.push(scene.measure((bench, is_small), command, is_largest)?);
            }
        }
    }
    fs::remove_dir_all(bench.scratch.join("scene"))?;
    for (command, limit, costs) in commands {
        let (goal, is_linear) = match command.starts_with("linear ") {
            true => (1.1, 1.0),
            false => (1.3, 0.0),
        };
        // The largest has no count of instructions.
        let times = |part: usize| {
            let mut counted = costs.iter().zip(&sizes).rev();
            let last = counted.find(|(costs, _)| costs[part] > 0.0);
            last.map_or(0.0, |(last, size)| {
                let linear = (*size as f64 / sizes[0] as f64).powf(is_linear);
                last[part] / costs[0][part] / linear
            })
        };
        let word = if times(0).max(times(1)) <= goal {
            "met"
        } else {
            "missed"
        };
        let calls: Vec<String> = costs.iter().map(|costs| costs[0].to_string()).collect();
        let ratios = (0..costs[0].len()).map(times).filter(|times| *times > 0.0);
        let ratios: Vec<String> = ratios.map(|times| format!("{times:.2}x")).collect();
        println!(
            "| {command} | {thing} | {} | {} | {word} |",
            calls.join(", "),
            ratios.join(" | ")
        );
        if is_small && times(0) > limit.parse()? {
            grown.push(format!(
                "{command} with {thing}, {:.2}x, above {limit}x",
                times(0)
            ));
        }
    }
    Ok(())
}

impl Scene {
    fn lay(bench: &Bench, thing: &str, size: usize) -> Result<Self> {
        let at = bench.scratch.join("scene").join(size.to_string());
        let input = at.join("input");
        let mut scene = Scene {
            folder: at.join("repository"),
            state: at.join("state"),
            input,
            beside: Vec::new(),
        };
        if thing == "worktrees" {
            let worktrees = Worktrees::make(&at, size, Layout::Linked)?;
            scene.folder = worktrees.folder(0);
        } else {
            let remote_branches = if thing == "refs" { size } else { 0 };
            make(
                &scene.folder,
                Shape {
                    name: "scaling",
                    commits: 20,
                    files: 50,
                    remote_branches,
                },
            )?;
        }
        let transcript =
            scene.write_transcript(if thing == "kB of transcript" { size } else { 1 })?;
        let input = json!({"session_id": "s", "cwd": scene.folder, "hook_event_name": "Stop", "transcript_path": transcript});
        fs::write(&scene.input, input.to_string())?;
        scene.run(bench, &["snapshot"]).run()?;
        fs::write(scene.folder.join("counter"), "work")?;
        git(&scene.folder, &["commit", "-qam", "work"])?;
        match thing {
            "uncommitted files" => {
                fs::create_dir(scene.folder.join("new"))?;
                for n in 0..size {
                    fs::write(scene.folder.join(format!("new/{n}")), n.to_string())?;
                }
            }
            "processes beside" => {
                let sleeping = || Command::new("sleep").arg("10000").current_dir("/").spawn();
                scene.beside = (0..size)
                    .map(|_| sleeping())
                    .collect::<std::io::Result<_>>()?;
            }
            "hundreds of events" => {
                let worktree = Worktree::open(&scene.folder)?.worktree_id();
                journal::write(&scene.state, &worktree, 100 * size as u64, 2)?;
            }
            _ => {}
        }
        Ok(scene)
    }

    /// Commands and their results in Claude Code's form.
    fn write_transcript(&self, kilobytes: usize) -> Result<PathBuf> {
        let path = self.input.with_extension("jsonl");
        let lines = (0..kilobytes).flat_map(|n| {
            let call = json!({"type": "tool_use", "id": n.to_string(), "name": "Bash", "input": {"command": "ls"}});
            let result = json!({"type": "tool_result", "tool_use_id": n.to_string(), "content": "work"});
            [("assistant", call), ("user", result)].map(|(kind, block)| {
                let event = json!({"type": kind, "cwd": self.folder, "message": {"content": [block]}});
                format!("{:<511}\n", event.to_string())
            })
        });
        fs::write(&path, lines.collect::<String>())?;
        Ok(path)
    }

    fn run(&self, bench: &Bench, args: &[&str]) -> Contender {
        let head = [
            bench.watchdog.as_os_str(),
            "--state-dir".as_ref(),
            self.state.as_os_str(),
        ];
        let mut run = Contender::new(
            &self.folder,
            head.into_iter().chain(args.iter().map(AsRef::as_ref)),
        );
        run.input.clone_from(&self.input);
        run.codes = vec![0, 10];
        run
    }

    /// Each time from the same state.
    fn measure(
        &self,
        (bench, is_small): (&Bench, bool),
        command: &str,
        is_largest: bool,
    ) -> Result<Costs> {
        let transcript = self.input.with_extension("jsonl");
        let args: &[&str] = match command {
            "check" => &["check", "--no-probe", "--json"],
            "run" => &[
                "run",
                "--no-probe",
                "--",
                "cat",
                transcript.to_str().ok_or("a UTF-8 path")?,
            ],
            "sweep" => &["sweep", "--no-probe", "--json"],
            "hook stop" => &["hook", "stop"],
            word => &[word],
        };
        let saved = self.state.with_extension("saved");
        let anew = [
            "sh",
            "-c",
            "[ -d \"$0\" ] || cp -r \"$1\" \"$0\"; rm -rf \"$1\" && cp -r \"$0\" \"$1\"",
        ];
        let anew = anew
            .map(OsString::from)
            .into_iter()
            .chain([saved.into(), self.state.clone().into()]);
        let run = self.run(bench, args).after(anew.collect());
        if is_small {
            return Ok([count_calls(&run, &bench.scratch)?, 0.0, 0.0]);
        }
        // The first one leaves in the repository what the next ones meet.
        run.run()?;
        let calls = count_calls(&run, &bench.scratch)?;
        let instructions = if is_largest {
            0.0
        } else {
            count_instructions(&run, &bench.scratch)?
        };
        let [cost] = alternate(&[run], bench.rounds / 8)?;
        Ok([calls, instructions, cost.cpu.as_secs_f64()])
    }
}
