//! A program at a terminal of its own: keys go in, and what it shows comes out.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::wait_for;

/// How long a program may take to show something, or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Keys, as a terminal sends them.
pub mod keys {
    /// One line down.
    pub const DOWN: &str = "\x1b[B";
    /// Goes on.
    pub const ENTER: &str = "\r";
    /// Chooses.
    pub const SPACE: &str = " ";
    /// Ctrl-C.
    pub const CTRL_C: &str = "\x03";
    /// Esc.
    pub const ESCAPE: &str = "\x1b";
}

/// A program that runs at a terminal. It is killed if the test drops it.
#[must_use = "a dropped program is killed"]
pub struct AtTerminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<Vec<u8>>>,
    reader: std::thread::JoinHandle<()>,
}

impl AtTerminal {
    /// Starts a command, whose environment and folder are set, at a terminal of so many columns and of this kind; `stdout` may go elsewhere.
    pub fn spawn(mut command: Command, columns: u16, term: &str, stdout: Option<File>) -> Self {
        let leader =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("the system has terminals");
        grantpt(&leader)
            .and_then(|()| unlockpt(&leader))
            .expect("it is ours");
        let size = Winsize {
            ws_row: 40,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&leader, size).expect("it takes a size");
        let name = ptsname(&leader, Vec::new()).expect("it has a name");
        let end = File::options()
            .read(true)
            .write(true)
            .open(Path::new(std::ffi::OsStr::from_bytes(name.as_bytes())))
            .expect("its other end");
        let side = || Stdio::from(end.try_clone().expect("descriptors are left"));
        command
            .stdin(side())
            .stdout(stdout.map_or_else(&side, Stdio::from))
            .stderr(side())
            .env("TERM", term);
        let child = command.spawn().expect("it can be started");
        // Whoever still has the other end open would keep the reader from its end.
        drop((command, end));
        let keyboard = File::from(leader);
        let screen = Arc::new(Mutex::new(Vec::new()));
        let (mut shown, kept) = (
            keyboard.try_clone().expect("descriptors are left"),
            Arc::clone(&screen),
        );
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // It fails once the program has ended.
            while let Ok(count @ 1..) = shown.read(&mut bytes) {
                kept.lock()
                    .expect("no test panics there")
                    .extend_from_slice(&bytes[..count]);
            }
        });
        AtTerminal {
            child,
            keyboard,
            screen,
            reader,
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to it alone.
    pub fn signal(&self, signal: rustix::process::Signal) {
        // It may have ended on its own; the test then looks at how.
        let _ =
            rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal);
    }

    /// Makes the terminal wider or narrower.
    pub fn resize(&self, columns: u16) {
        self.resize_to(columns, 40);
    }

    /// Gives the terminal so many columns and rows.
    pub fn resize_to(&self, columns: u16, rows: u16) {
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&self.keyboard, size).expect("it takes a size");
    }

    /// Whether the terminal edits lines and echoes keys, as a shell expects to find it.
    pub fn has_line_mode(&self) -> bool {
        let shared = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        tcgetattr(&self.keyboard).is_ok_and(|modes| modes.local_modes.contains(shared))
    }

    /// All that it showed so far, with its control sequences.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().expect("no test panics there")).into_owned()
    }

    /// Waits until it has shown this.
    #[track_caller]
    pub fn wait_for(&mut self, words: &str) -> &mut Self {
        let found = wait_for(PATIENCE, || self.shown().contains(words).then_some(()));
        assert!(
            found.is_some(),
            "it does not show {words:?}:\n{}",
            self.shown()
        );
        self
    }

    /// Types keys.
    pub fn press(&mut self, keys: &[&str]) -> &mut Self {
        for key in keys {
            self.keyboard
                .write_all(key.as_bytes())
                .expect("it reads keys");
        }
        self
    }

    /// Waits for its end; returns its exit code and all that it showed.
    #[track_caller]
    pub fn wait(mut self) -> (i32, String) {
        let ended = wait_for(PATIENCE, || {
            self.child
                .try_wait()
                .expect("our own child can be waited for")
        });
        let Some(status) = ended else {
            panic!("it still runs:\n{}", self.shown())
        };
        let read = wait_for(PATIENCE, || self.reader.is_finished().then_some(()));
        assert!(
            read.is_some(),
            "it ended, and something still has its terminal open:\n{}",
            self.shown()
        );
        (status.code().unwrap_or(-1), self.shown())
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
