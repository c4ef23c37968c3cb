//! A scripted program that stands for a coding agent in the end-to-end tests: a real process that does what its
//! script says, step by step, in the folder that it is started in.
//!
//! `fake-agent SCRIPT` reads a JSON array of steps from the file; `fake-agent --steps JSON` takes it from the
//! argument; `fake-agent --daemon JSON` leaves its session first. One step is an object with one key:
//!
//! | step | does |
//! |---|---|
//! | `{"write": {"path": "a.txt", "text": "x"}}` | writes a file |
//! | `{"append": {"path": "log", "text": "x"}}` | appends to a file |
//! | `{"commit": "message"}` | `git add -A`, then `git commit` |
//! | `{"git": ["checkout", "-q", "main"]}` | any git command, which must succeed |
//! | `{"print": "text"}`, `{"complain": "text"}` | writes to stdout, to stderr |
//! | `{"flood": {"text": "x", "bytes": 1000}}` | writes the text again and again until so many bytes are out |
//! | `{"wait_for": "path"}` | goes on when the file exists |
//! | `{"keep_prompt": "path"}` | appends its whole stdin and a line `-- end` to a file |
//! | `{"keep_env": {"name": "X", "path": "p"}}` | writes the value of a variable to a file |
//! | `{"child": [steps]}` | runs the steps in a child process, and does not wait |
//! | `{"daemon": [steps]}` | the same, in a session of its own and with a parent that is gone |
//! | `{"ignore": "TERM"}` | ignores a signal (TERM, INT or HUP) from now on |
//! | `{"probe": [[steps], [steps]]}` | the steps for probe number `WATCHDOG_PROBE`; the last ones from there on |
//! | `{"iteration": [[steps], [steps]]}` | the same for iteration `WATCHDOG_ITERATION` of a loop |
//! | `{"exit": 3}` | ends |
//! | `{"hang": true}` | never goes on |

#![expect(
    clippy::disallowed_methods,
    reason = "a test program: it is the outside world"
)]

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio, exit};
use std::time::Duration;

use serde_json::Value;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let script = match args.get(1).map(String::as_str) {
        Some("--steps") => args[2].clone(),
        Some("--daemon") => {
            // Not a group leader (a child just spawned), so that this cannot fail. The process that is then
            // started gets a parent that has ended by the time it looks.
            rustix::process::setsid().expect("a fresh child leads no group");
            start(&["--steps", &args[2]]);
            return;
        }
        Some(path) => fs::read_to_string(path)
            .unwrap_or_else(|e| fail(&format!("cannot read the script {path}: {e}"))),
        None => fail("which script?"),
    };
    let steps: Value = serde_json::from_str(&script)
        .unwrap_or_else(|e| fail(&format!("the script is no JSON: {e}")));
    play(&steps);
}

fn play(steps: &Value) {
    for step in steps
        .as_array()
        .unwrap_or_else(|| fail("a script is an array of steps"))
    {
        let (name, what) = step
            .as_object()
            .and_then(|step| step.iter().next())
            .unwrap_or_else(|| fail("a step is an object"));
        take(name, what);
    }
}

fn take(name: &str, what: &Value) {
    match name {
        "write" => {
            let path = Path::new(text(&what["path"]));
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).unwrap_or_else(|e| fail(&format!("mkdir: {e}")));
            }
            fs::write(path, text(&what["text"])).unwrap_or_else(|e| fail(&format!("write: {e}")));
        }
        "append" => append(text(&what["path"]), text(&what["text"]).as_bytes()),
        "commit" => {
            git(&["add", "-A"]);
            git(&["commit", "-q", "-m", text(what)]);
        }
        "git" => git(&texts(what)),
        "print" => {
            print!("{}", text(what));
            let _ = io::stdout().flush();
        }
        "complain" => eprint!("{}", text(what)),
        "flood" => flood(
            text(&what["text"]),
            what["bytes"]
                .as_u64()
                .unwrap_or_else(|| fail("flood: how many bytes?")),
        ),
        "wait_for" => {
            while !Path::new(text(what)).exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        "keep_prompt" => {
            let mut prompt = Vec::new();
            let _ = io::stdin().read_to_end(&mut prompt);
            prompt.extend_from_slice(b"\n-- end\n");
            append(text(what), &prompt);
        }
        "keep_env" => {
            let value = std::env::var(text(&what["name"])).unwrap_or_default();
            fs::write(text(&what["path"]), value)
                .unwrap_or_else(|e| fail(&format!("keep_env: {e}")));
        }
        "child" => start(&["--steps", &what.to_string()]),
        "daemon" => {
            let status = command(&["--daemon", &what.to_string()]).status();
            status.unwrap_or_else(|e| fail(&format!("daemon: {e}")));
        }
        "ignore" => ignore(text(what)),
        "probe" => play_by_number("WATCHDOG_PROBE", what),
        "iteration" => play_by_number("WATCHDOG_ITERATION", what),
        "exit" => exit(
            what.as_i64()
                .and_then(|code| i32::try_from(code).ok())
                .unwrap_or_else(|| fail("exit: which code?")),
        ),
        "hang" => loop {
            std::thread::park();
        },
        other => fail(&format!("no such step: {other}")),
    }
}

/// Plays the script whose number a variable holds, from 1; the last one for all later numbers.
fn play_by_number(variable: &str, scripts: &Value) {
    let number: usize = std::env::var(variable)
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or_else(|| fail(&format!("{variable}?")));
    let all = scripts
        .as_array()
        .unwrap_or_else(|| fail("an array of scripts"));
    play(&all[number.saturating_sub(1).min(all.len() - 1)]);
}

/// Writes whole copies of the text and a cut one at the end, quickly. A reader that is gone ends it.
fn flood(unit: &str, bytes: u64) {
    let block = unit.repeat((1 << 20) / unit.len() + 1);
    // Only as many whole units as fit, so that blocks join without a seam.
    let block = &block.as_bytes()[..(1 << 20) / unit.len() * unit.len()];
    let mut out = io::stdout().lock();
    let mut left = bytes;
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        if out.write_all(&block[..now]).is_err() {
            return;
        }
        left -= now as u64;
    }
    let _ = out.flush();
}

fn ignore(signal: &str) {
    use tokio::signal::unix::{SignalKind, signal as listen};
    let kind = match signal {
        "TERM" => SignalKind::terminate(),
        "INT" => SignalKind::interrupt(),
        "HUP" => SignalKind::hangup(),
        other => fail(&format!("cannot ignore {other}")),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap_or_else(|e| fail(&format!("runtime: {e}")));
    let _inside = runtime.enter();
    // The handler, once there, stays for the life of the process; nobody listens to what it catches.
    let _listener = listen(kind).unwrap_or_else(|e| fail(&format!("ignore: {e}")));
}

fn git(args: &[&str]) {
    let status = Command::new("git")
        .args(args)
        .stdin(Stdio::null())
        .status()
        .unwrap_or_else(|e| fail(&format!("git: {e}")));
    if !status.success() {
        fail(&format!("git {args:?} failed"));
    }
}

fn command(args: &[&str]) -> Command {
    let own = std::env::current_exe().unwrap_or_else(|e| fail(&format!("who am I? {e}")));
    let mut command = Command::new(own);
    command.args(args).stdin(Stdio::null());
    command
}

fn start(args: &[&str]) {
    if let Err(e) = command(args).spawn() {
        fail(&format!("child: {e}"));
    }
}

fn append(path: &str, bytes: &[u8]) {
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(bytes))
        .unwrap_or_else(|e| fail(&format!("append to {path}: {e}")));
}

fn text(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| fail(&format!("not a text: {value}")))
}

fn texts(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .unwrap_or_else(|| fail("not an array"))
        .iter()
        .map(text)
        .collect()
}

fn fail(why: &str) -> ! {
    eprintln!("fake-agent: {why}");
    exit(99)
}
