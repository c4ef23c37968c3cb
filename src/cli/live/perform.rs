//! Does what a person confirmed, in a thread of its own: the same code as the command line that was shown.

use std::ffi::OsString;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use jiff::Timestamp;
#[cfg(not(target_os = "linux"))]
use rustix::process::kill_process;
use rustix::process::{Pid, Signal};
#[cfg(target_os = "linux")]
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

use super::input::LiveInput;
use super::live_data::{DeedMeans, PlannedDeed};
use crate::cli::held_back;
use watchdog_process::still_runs;

/// Runs a command line of watchdog's, the program's name first, and returns its exit code. What it says is held back.
pub type RunWords = fn(&[OsString]) -> u8;

/// The exit code of a deed that was refused.
const REFUSED: u8 = 2;

/// Begins; what came of it goes to `to`.
pub fn perform(deed: PlannedDeed, run: RunWords, to: Sender<LiveInput>) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("deed".into()).spawn(move || {
        let code = match &deed.means {
            Some(DeedMeans::Words(words)) => run(words),
            Some(DeedMeans::EndProcess { pid, since }) => match end_process(*pid, *since) {
                Ok(()) => {
                    held_back::keep("The loop was asked to end. Its verdict comes when its session has ended.");
                    0
                }
                Err(why) => {
                    held_back::keep(&why);
                    REFUSED
                }
            },
            Some(DeedMeans::TrustFile { words, path, bytes }) => {
                if std::fs::read(path).is_ok_and(|now| now == *bytes) {
                    run(words)
                } else {
                    held_back::keep("The file changed while you read it. Nothing was trusted; look at it again.");
                    REFUSED
                }
            }
            None => REFUSED,
        };
        // A view that is gone needs no message.
        let _ = to.send(LiveInput::Performed(deed.name, code, held_back::take()));
    })
}

/// Asks a process to end, if it still is the one that was recorded: a number may be another's by now.
#[cfg(target_os = "linux")]
fn end_process(pid: u32, since: Timestamp) -> Result<(), String> {
    // Opened before it is known for the right one, so that it stays that one.
    let process = pidfd_open(raw(pid)?, PidfdFlags::empty()).map_err(|_| gone())?;
    if !still_runs(pid, since) {
        return Err(gone());
    }
    pidfd_send_signal(process, Signal::TERM).map_err(|error| format!("The loop could not be asked to end: {error}"))
}

#[cfg(not(target_os = "linux"))]
fn end_process(pid: u32, since: Timestamp) -> Result<(), String> {
    if !still_runs(pid, since) {
        return Err(gone());
    }
    kill_process(raw(pid)?, Signal::TERM).map_err(|error| format!("The loop could not be asked to end: {error}"))
}

fn raw(pid: u32) -> Result<Pid, String> {
    i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(gone)
}

fn gone() -> String {
    "The loop is not running any more.".to_owned()
}
