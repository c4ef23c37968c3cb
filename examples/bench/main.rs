//! Measures whole processes side by side in one run: watchdog against the git calls that a shell script would make.
//!
//! Printed are medians of wall time, ratios of wall and of CPU time, and peak memory; there are no thresholds here, because a
//! timing is no test. Call it by `scripts/bench`, which builds the release binary first. `docs/performance.md` holds what it says.

#![expect(
    clippy::disallowed_methods,
    reason = "a benchmark starts and times processes itself"
)]

mod cluster;
mod counted;
mod fleet;
mod fleet_claims;
mod fleet_events;
mod fleet_machines;
mod floor;
mod joined;
mod journal;
mod live;
mod process;
mod repository;
mod scaling;
mod snapshots;
mod sweep;
mod watch;
mod worktrees;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use process::{Contender, Cost, alternate};
use repository::{Shape, git, make};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Measures one row, or several that belong together, and prints them.
type Measure = fn(&Bench) -> Result<()>;

/// The rows, by the word that chooses them on the command line.
const ROWS: [(&str, Measure); 12] = [
    ("commits", commits),
    ("changes", changes),
    ("million", million),
    ("start", start),
    ("snapshots", snapshots::measure),
    ("sweep", sweep::measure),
    ("watch", watch::measure),
    ("reply", reply),
    ("journal", journal_rows),
    ("hooks", hooks),
    ("live", live::measure),
    ("joined", joined::measure),
];

/// The rows that run only where they are named: one starts a server, one takes 8 GB of the disk, one needs a second build.
const ON_REQUEST: [&str; 3] = ["joined", "million", "start"];

struct Bench {
    watchdog: PathBuf,
    /// Another build of it, to compare with.
    other: Option<PathBuf>,
    rounds: usize,
    scratch: PathBuf,
    events: u64,
    worktrees: usize,
}

fn main() -> Result<()> {
    let (mut rounds, mut events, mut worktrees) = (41, 1_000_000, 1_000);
    let mut watchdog = PathBuf::from("target/release/watchdog");
    let mut other = None;
    let mut scaling = None;
    let mut chosen = Vec::new();
    let mut fleet = fleet::FleetBench::default();
    let mut with_fleet = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--rounds" => rounds = value()?.parse()?,
            "--events" => events = value()?.parse()?,
            "--worktrees" => worktrees = value()?.parse()?,
            "--watchdog" => watchdog = value()?.into(),
            "--other" => other = Some(PathBuf::from(value()?).canonicalize()?),
            "--seconds" => fleet.seconds = value()?.parse()?,
            "--machines" => fleet.machines = value()?.parse()?,
            "scaling" | "--small" => scaling = Some(arg == "--small"),
            "fleet" => with_fleet = true,
            "--floor" => return floor::look(Path::new(&value()?), Path::new(&value()?)),
            row if ROWS.iter().any(|(name, _)| *name == row) => chosen.push(row.to_owned()),
            other => {
                let rows = ROWS.map(|(name, _)| name).join(", ");
                return Err(format!(
                    "unknown argument {other}; there are the rows {rows}, fleet, scaling, and --rounds N, --events N, --worktrees N, --seconds N, --machines N, --small, --watchdog PATH, --other PATH"
                )
                .into());
            }
        }
    }
    if with_fleet {
        return fleet::measure(&fleet::FleetBench { events, ..fleet });
    }
    let watchdog = watchdog.canonicalize().map_err(|e| {
        format!(
            "{}: {e}; build it with: cargo build --release",
            watchdog.display()
        )
    })?;
    let scratch = tempfile::tempdir()?;
    let bench = Bench {
        watchdog,
        other,
        rounds,
        scratch: scratch.path().to_owned(),
        events,
        worktrees,
    };
    if let Some(is_small) = scaling {
        return scaling::measure(&bench, is_small);
    }
    println!("{rounds} rounds, alternated; medians of whole processes\n");
    println!("| what | watchdog | against | | wall | CPU | peak |");
    println!("|---|---|---|---|---|---|---|");
    let by_itself = |name: &str| chosen.is_empty() && !ON_REQUEST.contains(&name);
    for (_, row) in ROWS
        .iter()
        .filter(|(name, _)| by_itself(name) || chosen.iter().any(|word| word == name))
    {
        row(&bench)?;
    }
    Ok(())
}

impl Bench {
    /// A watchdog command in a repository, with a state directory of its own.
    fn watchdog(&self, repo: &Path, args: &[&str]) -> Contender {
        let mut state = OsString::from(repo);
        state.push(".state");
        let head: [OsString; 3] = [self.watchdog.clone().into(), "--state-dir".into(), state];
        Contender::new(repo, head.into_iter().chain(args.iter().map(Into::into)))
    }

    fn repository(&self, shape: Shape) -> Result<PathBuf> {
        let path = self
            .scratch
            .join(shape.name.replace(|c: char| !c.is_alphanumeric(), "-"));
        make(&path, shape)?;
        Ok(path)
    }
}

fn row(what: &str, ours: Cost, against: &str, theirs: Cost) {
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    println!(
        "| {what} | {} | {against} | {} | {:.2}x | {:.2}x | {:.1} MB |",
        millis(ours.wall),
        millis(theirs.wall),
        ratio(ours.wall, theirs.wall),
        ratio(ours.cpu, theirs.cpu),
        ours.peak_kib as f64 / 1024.0
    );
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

/// A check that finds a new commit.
fn commits(bench: &Bench) -> Result<()> {
    let shapes = [
        Shape {
            name: "small: 20 commits, 50 files",
            commits: 20,
            files: 50,
            remote_branches: 0,
        },
        Shape {
            name: "100,000 commits",
            commits: 100_000,
            files: 50,
            remote_branches: 0,
        },
    ];
    for shape in shapes {
        let repo = bench.repository(shape)?;
        let count = || Contender::git(&repo, &["rev-list", "--count", "HEAD~1..HEAD"]);
        let status = Contender::git(&repo, &["--no-optional-locks", "status", "--porcelain=v2"]);
        let check = bench.watchdog(
            &repo,
            &[
                "check",
                "--baseline",
                "HEAD~1",
                "--spec",
                "bench",
                "--no-probe",
                "--json",
            ],
        );
        let [check, one, both] = alternate(&[check, count(), count().then(status)], bench.rounds)?;
        row(
            &format!("new commit, {}", shape.name),
            check,
            "rev-list --count",
            one,
        );
        row("", check, "rev-list --count, then status", both);
    }
    let repo = bench.repository(Shape {
        name: "10,000 commits, 2,000 remote branches",
        commits: 10_000,
        files: 50,
        remote_branches: 2_000,
    })?;
    let [snapshot] = alternate(
        &[bench.watchdog(&repo, &["snapshot", "--spec", "bench"])],
        1,
    )?;
    fs::write(repo.join("new"), "work")?;
    git(&repo, &["add", "-A"])?;
    git(&repo, &["commit", "-q", "-m", "new"])?;
    let check = bench.watchdog(&repo, &["check", "--spec", "bench", "--no-probe", "--json"]);
    let count = Contender::git(
        &repo,
        &[
            "rev-list",
            "--count",
            "HEAD",
            "^HEAD~1",
            "--not",
            "--remotes",
        ],
    );
    let [check, count] = alternate(&[check, count], bench.rounds)?;
    row(
        "new commit, 2,000 remote branches, one an orphan",
        check,
        "rev-list --count --not --remotes",
        count,
    );
    let nothing = Contender::new(&repo, ["/bin/true"]);
    let [version, nothing] = alternate(
        &[bench.watchdog(&repo, &["--version"]), nothing],
        bench.rounds,
    )?;
    row(
        "`--version`: the start alone",
        version,
        "a process that does nothing",
        nothing,
    );
    row(
        "`snapshot`, 2,000 remote branches",
        snapshot,
        "a process that does nothing",
        nothing,
    );
    Ok(())
}

/// What is uncommitted, in a clean work tree.
fn changes(bench: &Bench) -> Result<()> {
    for (files, rounds) in [
        (1_000, bench.rounds),
        (10_000, bench.rounds / 2 + 1),
        (100_000, bench.rounds / 4 + 1),
    ] {
        changes_of(bench, files, rounds)?;
    }
    Ok(())
}

/// The same in a work tree of a million files.
fn million(bench: &Bench) -> Result<()> {
    changes_of(bench, 1_000_000, bench.rounds / 20 + 1)
}

fn changes_of(bench: &Bench, files: usize, rounds: usize) -> Result<()> {
    let bench_itself = std::env::current_exe()?;
    let repo = bench.repository(Shape {
        name: "files",
        commits: 2,
        files,
        remote_branches: 0,
    })?;
    let list = bench.scratch.join("list");
    let tracked = std::process::Command::new("git")
        .arg("-C")
        .arg(&repo)
        .args(["ls-files", "-z"])
        .output()?;
    fs::write(&list, tracked.stdout)?;
    let root = bench.scratch.join("root");
    fs::write(&root, repo.as_os_str().as_encoded_bytes())?;
    let look = bench
        .watchdog(
            &repo,
            &[
                "check",
                "--baseline",
                "HEAD",
                "--spec",
                "bench",
                "--no-probe",
                "--json",
            ],
        )
        .ends_with(10);
    let status = Contender::git(&repo, &["--no-optional-locks", "status", "--porcelain=v2"]);
    let floor = Contender::new(
        &repo,
        [
            bench_itself.as_os_str(),
            "--floor".as_ref(),
            list.as_os_str(),
            root.as_os_str(),
        ],
    );
    let [look, status, floor] = alternate(&[look, status, floor], rounds)?;
    row(
        &format!("changes, {files} files"),
        look,
        "status --porcelain=v2",
        status,
    );
    row("", look, "lstat of all, readdir of all", floor);
    Ok(fs::remove_dir_all(&repo)?)
}

/// Start and small check of this build against those of another one, a static one for example.
fn start(bench: &Bench) -> Result<()> {
    let other = bench
        .other
        .as_ref()
        .ok_or("the row start needs --other PATH, another build of watchdog")?;
    let repo = bench.repository(Shape {
        name: "start",
        commits: 20,
        files: 50,
        remote_branches: 0,
    })?;
    let check = [
        "check",
        "--baseline",
        "HEAD~1",
        "--spec",
        "bench",
        "--no-probe",
        "--json",
    ];
    for args in [&["--version"][..], &check] {
        let ours = bench.watchdog(&repo, args);
        let mut theirs = bench.watchdog(&repo, args);
        theirs.argvs[0][0] = other.clone().into_os_string();
        let [ours, theirs] = alternate(&[ours, theirs], bench.rounds)?;
        row(&format!("`{}`", args[0]), ours, "the other build", theirs);
        row(
            &format!("`{}` of the other build", args[0]),
            theirs,
            "this build",
            ours,
        );
    }
    Ok(())
}

/// A hostile reply, of growing size.
fn reply(bench: &Bench) -> Result<()> {
    let pieces = [
        ("{", "braces"),
        ("{\"status\":\"complete\",", "objects that do not end"),
        ("```json\n{\"x\"\n", "fences"),
        (
            "{\"type\":\"result\",\"result\":\"{\"}\n",
            "lines that look like results",
        ),
    ];
    for (piece, name) in pieces {
        let mut costs = Vec::new();
        for size in [16_usize, 64] {
            let file = bench.scratch.join("reply");
            fs::write(&file, piece.repeat((size << 20) / piece.len()))?;
            let read = Contender::new(
                &bench.scratch,
                [
                    bench.watchdog.as_os_str(),
                    "probe".as_ref(),
                    "--parse".as_ref(),
                    file.as_os_str(),
                ],
            )
            .ends_with(16);
            let [cost] = alternate(&[read], bench.rounds / 8 + 1)?;
            costs.push(cost);
        }
        row(
            &format!("reply of 64 MiB: {name}"),
            costs[1],
            "the same of 16 MiB",
            costs[0],
        );
    }
    Ok(())
}

/// Questions to a long journal.
fn journal_rows(bench: &Bench) -> Result<()> {
    let repo = bench.repository(Shape {
        name: "journal",
        commits: 20,
        files: 50,
        remote_branches: 0,
    })?;
    let run = |args: &[&str]| bench.watchdog(&repo, args);
    let check = [
        "check",
        "--baseline",
        "HEAD~1",
        "--spec",
        "bench",
        "--no-probe",
        "--json",
    ];
    let questions: [&[&str]; 6] = [
        &["breaker"],
        &["status"],
        &["report"],
        &["events", "--last", "50"],
        &["events", "--last", "50", "--all"],
        &check,
    ];
    let ask = || alternate(&questions.map(run), bench.rounds / 2 + 1);
    alternate(&[run(&check)], 1)?;
    let short = ask()?;
    let mut state = OsString::from(&repo);
    state.push(".state");
    let state = PathBuf::from(state);
    let worktree = watchdog_git::Worktree::open(&repo)?.worktree_id();
    journal::write(&state, &worktree, bench.events, 1_000)?;
    journal::watch(&state, &repo, 997)?;
    // The report's own flush would wait for what the disk still has to write of all these events.
    alternate(&[Contender::new(&bench.scratch, ["sync"])], 1)?;
    let begun = Instant::now();
    alternate(&[run(&["report"])], 1)?;
    println!(
        "| the first report, {} events never counted before | {} | | | | | |",
        bench.events,
        millis(begun.elapsed())
    );
    let long = ask()?;
    for ((question, short), long) in questions.iter().zip(short).zip(long) {
        row(
            &format!(
                "`{}`, {} events",
                question[..question.len().min(4)].join(" "),
                bench.events
            ),
            long,
            "a short journal",
            short,
        );
    }
    let begun = Instant::now();
    let found = journal::newest_verdicts(&state, 997)?;
    println!(
        "| the newest verdict of {found} worktrees, {} events | {} | | | | | |",
        bench.events,
        millis(begun.elapsed())
    );
    let begun = Instant::now();
    let gone = journal::prune(&state)?;
    println!(
        "| pruning once: {gone} events went | {} | | | | | |",
        millis(begun.elapsed())
    );
    Ok(())
}

/// A stop of the agent that is let go.
fn hooks(bench: &Bench) -> Result<()> {
    let repo = bench.repository(Shape {
        name: "hooks",
        commits: 20,
        files: 50,
        remote_branches: 0,
    })?;
    let criteria = |name: &str, checks: &str| -> Result<String> {
        let path = bench.scratch.join(name);
        fs::write(&path, format!("{{\"checks\": [{checks}]}}"))?;
        Ok(path.to_string_lossy().into_owned())
    };
    let files = criteria("files.json", r#"{"type": "files", "paths": ["d0/**"]}"#)?;
    alternate(&[bench.watchdog(&repo, &["snapshot"])], 1)?;
    let plain = bench.watchdog(&repo, &["hook", "stop"]);
    let judged = bench.watchdog(&repo, &["--config", &files, "hook", "stop"]);
    let other = bench.watchdog(&repo, &["hook", "post-tool-use"]);
    let nothing = Contender::new(&repo, ["/bin/true"]);
    let [plain, judged, other, nothing] =
        alternate(&[plain, judged, other, nothing], bench.rounds)?;
    row(
        "`hook stop` that allows, no checks",
        plain,
        "a process that does nothing",
        nothing,
    );
    row(
        "`hook stop` that allows, files are there",
        judged,
        "a process that does nothing",
        nothing,
    );
    row(
        "`hook post-tool-use`, another tool",
        other,
        "a process that does nothing",
        nothing,
    );
    Ok(())
}
