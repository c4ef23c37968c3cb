//! The live view: what a frame of many worktrees costs, and how long it takes from the start of the program to the first one, in a real
//! pseudo-terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use watchdog_store::StateDir;
use watchdog_view::live::FrameBench;

use super::worktrees::{Layout, Worktrees};
use super::{Bench, Result, millis};

const SIZE: (u16, u16) = (120, 40);
/// Frames that are drawn.
const FRAMES: usize = 2_000;

/// Measures and prints both.
pub fn measure(bench: &Bench) -> Result<()> {
    let many = Worktrees::make(&bench.scratch.join("live"), bench.worktrees, Layout::Linked)?;
    let state = StateDir::resolve(Some(many.state()), None, None)?;
    let mut view = FrameBench::open(&state, SIZE)?;
    let mut frames: Vec<Duration> = (0..FRAMES)
        .map(|_| {
            let began = Instant::now();
            view.scroll();
            began.elapsed()
        })
        .collect();
    let name = format!("frame, {} worktrees", view.rows());
    print(&name, &mut frames);
    let mut starts = (0..bench.rounds)
        .map(|_| first_frame(bench, &many))
        .collect::<Result<Vec<_>>>()?;
    print(
        &format!("start to the first rows, {} worktrees", bench.worktrees),
        &mut starts,
    );
    Ok(())
}

fn print(what: &str, times: &mut [Duration]) {
    times.sort();
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    println!(
        "| {what} | median {}; p99 {}; most {} | | | | | |",
        millis(at(0.5)),
        millis(at(0.99)),
        millis(at(1.0))
    );
}

/// The time until a row is on the screen.
fn first_frame(bench: &Bench, many: &Worktrees) -> Result<Duration> {
    let leader = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&leader)?;
    unlockpt(&leader)?;
    tcsetwinsize(
        &leader,
        Winsize {
            ws_row: SIZE.1,
            ws_col: SIZE.0,
            ws_xpixel: 0,
            ws_ypixel: 0,
        },
    )?;
    let name = ptsname(&leader, Vec::new())?;
    let end = File::options()
        .read(true)
        .write(true)
        .open(Path::new(std::ffi::OsStr::from_bytes(name.as_bytes())))?;
    let mut command = Command::new(&bench.watchdog);
    command
        .arg("--state-dir")
        .arg(many.state())
        .args(["status", "--watch"])
        .env("TERM", "xterm-256color");
    command
        .stdin(Stdio::from(end.try_clone()?))
        .stdout(Stdio::from(end.try_clone()?))
        .stderr(Stdio::from(end));
    let began = Instant::now();
    let mut child = command.spawn()?;
    drop(command);
    let mut terminal = File::from(leader);
    let (mut shown, mut bytes) = (Vec::new(), [0; 65_536]);
    let words = b"not judged";
    while !shown.windows(words.len()).any(|at| at == words) {
        let count = terminal.read(&mut bytes)?;
        shown.extend_from_slice(&bytes[..count]);
    }
    let took = began.elapsed();
    terminal.write_all(b"q")?;
    // What it still draws is read, so that it can end.
    while matches!(terminal.read(&mut bytes), Ok(1..)) {}
    child.wait()?;
    Ok(took)
}
