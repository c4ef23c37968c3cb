//! Does what a person confirmed, in a thread of its own: the same code as the command line that was shown.

use std::ffi::OsString;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use jiff::Timestamp;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use watchdog_system::{handles_signal, hold_process, signal_held};

use watchdog_judge::judge::configuration::MAX_BYTES;
use watchdog_process::still_runs;
use watchdog_system::read_regular_file;
use watchdog_view::held_back;
use watchdog_view::live::input::LiveInput;
use watchdog_view::live::live_data::{DeedMeans, PlannedDeed, ProcessRequest};

/// Runs a command line of watchdog's, the program's name first, and returns its exit code. Its
/// output is held back.
pub type RunWords = fn(&[OsString]) -> u8;

/// The exit code of a deed that was refused.
const REFUSED: u8 = 2;

/// Begins; what came of it goes to `to`.
pub fn perform_deed(
    deed: PlannedDeed,
    run: RunWords,
    to: Sender<LiveInput>,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("deed".into()).spawn(move || {
        let code = match &deed.means {
            Some(DeedMeans::Words(words)) => run(words),
            Some(DeedMeans::Signal { request, pid, since }) => match send_request(*request, *pid, *since) {
                Ok(()) => {
                    held_back::hold_back_text(match request {
                        ProcessRequest::End => "The loop was asked to end. Its verdict comes when its session has ended.",
                        ProcessRequest::Pause => "The loop was asked to pause. It ends when its session has been judged.",
                    });
                    0
                }
                Err(why) => {
                    held_back::hold_back_text(&why);
                    REFUSED
                }
            },
            Some(DeedMeans::TrustFile { words, path, bytes }) => {
                if read_regular_file(path, MAX_BYTES).is_ok_and(|now| now == *bytes) {
                    run(words)
                } else {
                    held_back::hold_back_text("The file changed while you read it. Nothing was trusted; look at it again.");
                    REFUSED
                }
            }
            None => REFUSED,
        };
        // A view that is gone needs no message.
        let _ = to.send(LiveInput::Performed(deed.name, code, held_back::take_held_lines()));
    })
}

fn signal_of(request: ProcessRequest) -> Signal {
    match request {
        ProcessRequest::End => Signal::TERM,
        ProcessRequest::Pause => Signal::USR1,
    }
}

/// Asks a process for something, if it still is the one that was recorded: a number may be another's by now.
fn send_request(request: ProcessRequest, pid: u32, since: Timestamp) -> Result<(), String> {
    let signal = signal_of(request);
    // Opened before it is known for the right one, so that it stays that one.
    let process = match hold_process(to_raw_pid(pid)?) {
        Ok(process) => Some(process),
        // The system has no such handles.
        Err(Errno::NOSYS) => None,
        Err(_) => return Err(explain_gone_loop()),
    };
    if !still_runs(pid, since) {
        return Err(explain_gone_loop());
    }
    // USR1 would kill a loop of an older version.
    if !handles_signal(pid, signal) {
        return Err(
            "This loop cannot be asked for that: it has just begun, or is of an older version."
                .to_owned(),
        );
    }
    let sent = match process {
        Some(process) => signal_held(&process, signal),
        None => kill_process(to_raw_pid(pid)?, signal),
    };
    sent.map_err(|error| format!("The loop could not be asked: {error}"))
}

fn to_raw_pid(pid: u32) -> Result<Pid, String> {
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(explain_gone_loop)
}

fn explain_gone_loop() -> String {
    "The loop is not running any more.".to_owned()
}
