//! The kind of this process's stdin, which sessions inherit: whether a person is there, and whether more input may come.

use std::io::IsTerminal as _;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::FileType;

/// Whether a person can type there.
pub fn stdin_is_terminal() -> bool {
    std::io::stdin().is_terminal()
}

/// Whether the other end may still write something. A terminal does not count: sessions do not get it.
pub fn stdin_may_bring_more() -> bool {
    let stdin = std::io::stdin();
    let Ok(about) = rustix::fs::fstat(&stdin) else {
        return false;
    };
    if !matches!(
        FileType::from_raw_mode(about.st_mode),
        FileType::Fifo | FileType::Socket
    ) {
        return false;
    }
    let mut ends = [PollFd::new(&stdin, PollFlags::IN)];
    let now = rustix::event::Timespec::try_from(Duration::ZERO).ok();
    if poll(&mut ends, now.as_ref()).is_err() {
        return true;
    }
    let seen = ends[0].revents();
    // A socket whose other end has gone is readable, and empty: taking it for open errs on the safe side.
    seen.contains(PollFlags::IN)
        || !seen.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
}
