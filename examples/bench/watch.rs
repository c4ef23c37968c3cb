//! How soon `watchdog watch` tells the verdict after `git commit` returned, and what it costs while nothing happens.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use super::repository::git;
use super::worktrees::{Layout, Worktrees};
use super::{Bench, Result, millis};

/// How many commits are made, one after the other.
const COMMITS: usize = 50;

/// How many times one branch moves, one call of git after the other.
const MOVES: usize = 20_000;

/// How long nothing happens.
const IDLE: Duration = Duration::from_secs(20);

/// The looks at the start belong to the start, and so do their threads, which end after ten seconds.
const SETTLED: Duration = Duration::from_secs(12);

/// Watches so many worktrees of one repository, first in peace, then with commits.
pub fn measure(bench: &Bench) -> Result<()> {
    let worktrees = Worktrees::make(
        &bench.scratch.join("watched"),
        bench.worktrees,
        Layout::Linked,
    )?;
    let begun = Instant::now();
    let mut child = Watching(
        Command::new(&bench.watchdog)
            .arg("--state-dir")
            .arg(worktrees.state())
            .args(["watch", "--json"])
            .arg(worktrees.repository())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?,
    );
    let stderr = BufReader::new(child.0.stderr.take().ok_or("it was piped")?);
    let (told, ready) = channel();
    std::thread::spawn(move || {
        for line in stderr.lines().map_while(std::result::Result::ok) {
            let _ = told.send(line);
        }
    });
    while !ready
        .recv_timeout(Duration::from_secs(60))?
        .contains("watching ")
    {}
    let start = begun.elapsed();
    let (said, verdicts) = channel();
    let stdout = BufReader::new(child.0.stdout.take().ok_or("it was piped")?);
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(std::result::Result::ok) {
            let _ = said.send((Instant::now(), line));
        }
    });

    std::thread::sleep(SETTLED);
    let before = cpu(child.0.id())?;
    std::thread::sleep(IDLE);
    let idle = cpu(child.0.id())?.saturating_sub(before).as_secs_f64() / IDLE.as_secs_f64();

    let mut latencies = Vec::new();
    for n in 0..COMMITS {
        let at = worktrees.folder((n * 37) % bench.worktrees);
        fs::write(at.join("counter"), format!("commit {n}\n"))?;
        git(&at, &["commit", "-qam", &format!("commit {n}")])?;
        let returned = Instant::now();
        let (came, line) = verdicts.recv_timeout(Duration::from_secs(20))?;
        if !line.contains("\"new_commits\"") {
            return Err(format!("not what was expected: {line}").into());
        }
        latencies.push(came.saturating_duration_since(returned));
    }
    let flood = moves(&worktrees, child.0.id())?;
    let status = fs::read_to_string(format!("/proc/{}/status", child.0.id()))?;
    let peak: f64 = status
        .lines()
        .find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .trim()
                .strip_suffix(" kB")?
                .parse()
                .ok()
        })
        .unwrap_or(f64::NAN);
    latencies.sort();
    let at = |part: usize| millis(latencies[(latencies.len() - 1) * part / 10]);
    let count = bench.worktrees;
    println!(
        "| commit to verdict under `watch`, {count} worktrees: median | {} | the slowest tenth | {} | | | {:.1} MB |",
        at(5),
        at(9),
        peak / 1024.0
    );
    println!("| {flood} | | | | | | |");
    println!(
        "| `watch` while nothing happens: {:.3} % CPU; its start | {} | | | | | |",
        idle * 100.0,
        millis(start)
    );
    Ok(())
}

/// Moves one branch to and fro as fast as git does, and says what that cost the watch.
fn moves(worktrees: &Worktrees, pid: u32) -> Result<String> {
    let at = worktrees.folder(0);
    let read = |args: &[&str]| -> Result<String> {
        let out = Command::new("git").arg("-C").arg(&at).args(args).output()?;
        Ok(String::from_utf8(out.stdout)?.trim().to_owned())
    };
    let commits =
        ["to", "fro"].map(|word| read(&["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", word]));
    let [to, fro] = commits;
    let (commits, branch) = ([to?, fro?], read(&["symbolic-ref", "HEAD"])?);
    let (before, begun) = (process_cpu(pid)?, Instant::now());
    for n in 0..MOVES {
        git(&at, &["update-ref", &branch, &commits[n % 2]])?;
    }
    let took = begun.elapsed();
    // The look after the last move belongs to them.
    std::thread::sleep(Duration::from_secs(2));
    let used = process_cpu(pid)?.saturating_sub(before);
    Ok(format!(
        "`watch` while one branch moves {MOVES} times in {:.0} s: {:.2} s of CPU",
        took.as_secs_f64(),
        used.as_secs_f64()
    ))
}

/// Ends with whoever started it.
struct Watching(Child);

impl Drop for Watching {
    fn drop(&mut self) {
        // One that ended by itself already was told of by whoever waited for its lines.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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

/// The same, with the threads that ended, in hundredths of a second.
fn process_cpu(pid: u32) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name may hold blanks; user and system time are the 12th and 13th word behind it.
    let words = stat
        .rsplit_once(')')
        .ok_or("the name ends")?
        .1
        .split_ascii_whitespace()
        .skip(11)
        .take(2);
    let ticks = words
        .map(str::parse::<u64>)
        .sum::<std::result::Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}
