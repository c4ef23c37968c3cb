//! Measures whole processes side by side in one run: `watchdog check` against the git calls that a shell script would make.
//!
//! Every contender of a row runs in turn, round after round, so that what the machine does meanwhile hits all of them alike.
//! Printed are medians, ratios and peak memory; there are no thresholds here, because a timing is no test.
//! Call it by `scripts/bench`, which builds the release binary first.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts and times processes itself")]

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// One repository to measure in.
struct Row {
    name: &'static str,
    commits: usize,
    files: usize,
}

const ROWS: [Row; 4] = [
    Row { name: "small (20 commits, 50 files)", commits: 20, files: 50 },
    Row { name: "100,000 commits", commits: 100_000, files: 50 },
    Row { name: "10,000 files", commits: 20, files: 10_000 },
    Row { name: "100,000 files", commits: 20, files: 100_000 },
];

/// What one process cost.
struct Cost {
    wall: Duration,
    peak_kib: i64,
}

fn main() -> Result<()> {
    let mut rounds = 41;
    let mut watchdog = PathBuf::from("target/release/watchdog");
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--rounds" => rounds = args.next().ok_or("--rounds needs a number")?.parse()?,
            "--watchdog" => watchdog = args.next().ok_or("--watchdog needs a path")?.into(),
            other => return Err(format!("unknown argument {other}; there are --rounds N and --watchdog PATH").into()),
        }
    }
    let watchdog = watchdog.canonicalize().map_err(|e| format!("{}: {e}; build it with: cargo build --release", watchdog.display()))?;
    let scratch = tempfile::tempdir()?;
    println!("{rounds} rounds, alternated; medians of whole processes\n");
    println!("| repository | check | rev-list --count | ratio | rev-list + status | ratio | check peak |");
    println!("|---|---|---|---|---|---|---|");
    for row in &ROWS {
        let repo = scratch.path().join(row.name.replace(|c: char| !c.is_alphanumeric(), "-"));
        make_repository(&repo, row)?;
        let state = scratch.path().join("state");
        let check: Vec<OsString> = [
            watchdog.as_os_str().to_owned(),
            "-C".into(),
            repo.clone().into(),
            "--state-dir".into(),
            state.into(),
            "check".into(),
            "--baseline".into(),
            "HEAD~1".into(),
            "--spec".into(),
            "bench".into(),
            "--no-probe".into(),
            "--json".into(),
        ]
        .into();
        let git = |args: &[&str]| -> Vec<OsString> {
            let mut argv: Vec<OsString> = vec!["git".into(), "-C".into(), repo.clone().into()];
            argv.extend(args.iter().map(Into::into));
            argv
        };
        let count = git(&["rev-list", "--count", "HEAD~1..HEAD"]);
        let status = git(&["status", "--porcelain"]);
        measure(&status)?;
        let (mut checks, mut counts, mut boths, mut peak) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for round in 0..rounds + 3 {
            let (a, b, c) = (measure(&check)?, measure(&count)?, measure(&status)?);
            // The first rounds warm the caches.
            if round >= 3 {
                checks.push(a.wall);
                counts.push(b.wall);
                boths.push(b.wall + c.wall);
                peak = peak.max(a.peak_kib);
            }
        }
        let (check, count, both) = (median(&mut checks), median(&mut counts), median(&mut boths));
        println!(
            "| {} | {} | {} | {:.2}x | {} | {:.2}x | {:.1} MB |",
            row.name,
            millis(check),
            millis(count),
            ratio(check, count),
            millis(both),
            ratio(check, both),
            peak as f64 / 1024.0
        );
    }
    let (mut versions, mut nothings) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        versions.push(measure(&[watchdog.clone().into(), "--version".into()])?.wall);
        nothings.push(measure(&["/bin/true".into()])?.wall);
    }
    let (version, nothing) = (median(&mut versions), median(&mut nothings));
    println!("\nwatchdog --version: {} (a process that does nothing: {})", millis(version), millis(nothing));
    Ok(())
}

/// Runs a program to its end and measures wall time and peak memory.
fn measure(argv: &[OsString]) -> Result<Cost> {
    let begun = Instant::now();
    let child = Command::new(&argv[0]).args(&argv[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut status = 0;
    // SAFETY: a zeroed rusage is a valid out-parameter, and the pid is that of a child that nobody else waits for.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage) < 0 {
            return Err(io::Error::last_os_error().into());
        }
        usage
    };
    if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
        return Err(format!("{argv:?} ended with wait status {status:#x}").into());
    }
    Ok(Cost { wall: begun.elapsed(), peak_kib: usage.ru_maxrss })
}

/// Makes a repository through `git fast-import`, checked out, with one commit to be found as new.
fn make_repository(path: &Path, row: &Row) -> Result<()> {
    let git = |args: &[&str]| -> Result<()> {
        let status = Command::new("git").arg("-C").arg(path).args(args).stdout(Stdio::null()).status()?;
        if status.success() { Ok(()) } else { Err(format!("git {args:?} failed").into()) }
    };
    std::fs::create_dir_all(path)?;
    git(&["init", "-q", "-b", "main"])?;
    let stream = path.join(".git/stream");
    let mut out = BufWriter::new(File::create(&stream)?);
    for commit in 0..row.commits {
        let when = 1_700_000_000 + commit;
        writeln!(out, "commit refs/heads/main\ncommitter a <a@example.org> {when} +0000\ndata 2\nc\n")?;
        if commit == 0 {
            for file in 0..row.files {
                writeln!(out, "M 100644 inline d{}/e{}/f{file}\ndata 6\n{file:05}\n", file % 40, file % 7)?;
            }
        }
        writeln!(out, "M 100644 inline counter\ndata 7\n{commit:06}\n")?;
    }
    out.flush()?;
    let status = Command::new("git").arg("-C").arg(path).args(["fast-import", "--quiet"]).stdin(File::open(&stream)?).status()?;
    if !status.success() {
        return Err("git fast-import failed".into());
    }
    std::fs::remove_file(stream)?;
    git(&["reset", "-q", "--hard"])
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}
