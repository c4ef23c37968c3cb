//! Watches the reader of our output while it is made: commands that go on for long end when the
//! reader is gone.

use std::io;

use super::result_output;

/// Writes a line to stdout, and says at once whether anybody still reads.
///
/// # Errors
/// Fails if the reader is gone.
pub fn write_line(text: &str) -> io::Result<()> {
    result_output::write_result(
        &mut anstream::stdout().lock(),
        format!("{text}\n").as_bytes(),
    )
}

/// Whether whoever read our output went away, which writing would only tell with the next line.
pub fn is_gone() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let out = io::stdout();
    let mut fds = [PollFd::new(&out, PollFlags::empty())];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut fds, Some(&at_once)).is_ok()
        && fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}
