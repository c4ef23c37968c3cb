//! Measures how soon `watchdog watch` tells the verdict after `git commit` returned, and what it costs while nothing happens.
//!
//!     cargo run --release --example watch_latency -- [--worktrees N] [--commits N] [--idle SECONDS] [--watchdog PATH]
//!
//! Makes one repository with so many linked worktrees, records a baseline in each, starts one watch over all of them, and commits in one
//! after the other. There are no thresholds here, because a timing is no test.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts and times processes itself")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let (mut worktrees, mut commits, mut idle) = (1000, 50, 20);
    let mut watchdog = PathBuf::from("target/release/watchdog");
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        match arg.as_str() {
            "--worktrees" => worktrees = value.parse()?,
            "--commits" => commits = value.parse()?,
            "--idle" => idle = value.parse()?,
            "--watchdog" => watchdog = value.into(),
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    let watchdog = watchdog.canonicalize().map_err(|e| format!("{}: {e}; build it with: cargo build --release", watchdog.display()))?;
    let scratch = tempfile::tempdir()?;
    let repo = scratch.path().join("repo");
    fs::create_dir(&repo)?;
    git(&repo, &["init", "-q", "-b", "main"])?;
    for n in 0..50 {
        fs::write(repo.join(format!("file-{n}.txt")), format!("{n}\n"))?;
    }
    git(&repo, &["add", "-A"])?;
    git(&repo, &["commit", "-q", "-m", "start"])?;
    let command = |at: &Path| {
        let mut command = Command::new(&watchdog);
        command.env("WATCHDOG_STATE_DIR", scratch.path().join("state")).arg("-C").arg(at);
        command
    };
    let folder = |n: usize| scratch.path().join(format!("wt-{n}"));
    for n in 0..worktrees {
        git(&repo, &["worktree", "add", "-q", "-b", &format!("task/{n}"), folder(n).to_str().ok_or("a UTF-8 path")?])?;
        let done = command(&folder(n)).arg("snapshot").stdout(Stdio::null()).status()?;
        if !done.success() {
            return Err("watchdog snapshot failed".into());
        }
    }

    let begun = Instant::now();
    let mut child = command(&repo).args(["watch", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let stderr = BufReader::new(child.stderr.take().ok_or("it was piped")?);
    let (told, ready) = channel();
    std::thread::spawn(move || {
        for line in stderr.lines().map_while(std::result::Result::ok) {
            let _ = told.send(line);
        }
    });
    while !ready.recv_timeout(Duration::from_secs(60))?.contains("watching ") {}
    let start_up = begun.elapsed();
    let (said, verdicts) = channel();
    let stdout = BufReader::new(child.stdout.take().ok_or("it was piped")?);
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(std::result::Result::ok) {
            let _ = said.send((Instant::now(), line));
        }
    });

    // The looks at the start belong to the start, and so do their threads, which end after ten seconds.
    std::thread::sleep(Duration::from_secs(12));
    let before = cpu(child.id())?;
    std::thread::sleep(Duration::from_secs(idle));
    let idle_cpu = cpu(child.id())?.saturating_sub(before).as_secs_f64() / idle as f64;

    let mut latencies = Vec::new();
    for n in 0..commits {
        let at = folder((n * 37) % worktrees);
        fs::write(at.join("file-1.txt"), format!("commit {n}\n"))?;
        git(&at, &["commit", "-qam", &format!("commit {n}")])?;
        let returned = Instant::now();
        let (came, line) = verdicts.recv_timeout(Duration::from_secs(20))?;
        if !line.contains("\"new_commits\"") {
            return Err(format!("not what was expected: {line}").into());
        }
        latencies.push(came.saturating_duration_since(returned));
    }
    let resident = fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let resident = resident.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("unknown").trim().to_owned();
    child.kill()?;
    let _ = child.wait()?;
    latencies.sort();
    let at = |part: f64| latencies[((latencies.len() - 1) as f64 * part) as usize].as_secs_f64() * 1000.0;
    println!("| worktrees | start | idle CPU | resident | commit to verdict: median | 90 % | worst |");
    println!("|---|---|---|---|---|---|---|");
    println!(
        "| {worktrees} | {:.0} ms | {:.3} % | {resident} | {:.1} ms | {:.1} ms | {:.1} ms |",
        start_up.as_secs_f64() * 1000.0,
        idle_cpu * 100.0,
        at(0.5),
        at(0.9),
        at(1.0)
    );
    Ok(())
}

fn git(at: &Path, args: &[&str]) -> Result<()> {
    let person = ["-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "gc.auto=0"];
    let done = Command::new("git").current_dir(at).args(person).args(args).status()?;
    if done.success() { Ok(()) } else { Err(format!("git {args:?} failed").into()) }
}

/// User and system time that a process used so far.
fn cpu(pid: u32) -> Result<Duration> {
    // Nanoseconds on a CPU, of every thread.
    let mut total = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(task?.path().join("schedstat"))?;
        total += text.split(' ').next().unwrap_or("0").parse::<u64>()?;
    }
    Ok(Duration::from_nanos(total))
}
