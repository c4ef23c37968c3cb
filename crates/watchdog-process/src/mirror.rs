//! Shows the output of a session on our own streams, byte for byte, without ever being stuck there.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

/// The target for a session's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MirrorTarget {
    /// Its stdout on our stdout, its stderr on our stderr.
    #[default]
    Through,
    /// Both on our stderr, for our stdout is kept for a verdict.
    ToStderr,
    /// Nowhere.
    Off,
}

/// Lines of our own on the terminal that a session's output is shown on, too.
pub trait TerminalCover: std::fmt::Debug + Send + Sync {
    /// Has `show` write these bytes of the session where nothing of ours is in their way. Called in the thread that empties the pipe.
    fn pass(&self, bytes: &[u8], show: &mut dyn FnMut());
}

/// The most that a pipe which is ready for writing takes at once for sure.
const PIECE: usize = 4096;

/// How often a writer that waits for a slow reader polls whether it should still wait.
const POLL: Duration = Duration::from_millis(50);

/// An own stream, as a writer that gives up on a closed reader and can be interrupted while it
/// waits for a slow one.
pub(super) struct MirrorWriter {
    /// A duplicate: closing it does not close ours; `None` once the reader is gone.
    to: Option<File>,
    piece: usize,
    /// Our own lines on the same terminal.
    cover: Option<Arc<dyn TerminalCover>>,
}

impl MirrorTarget {
    /// The ends for stdout and stderr of the session.
    pub(super) fn ends(self, cover: Option<&Arc<dyn TerminalCover>>) -> [Option<MirrorWriter>; 2] {
        let stderr =
            || MirrorWriter::new(std::io::stderr()).map(|end| end.below(cover, std::io::stderr()));
        match self {
            MirrorTarget::Through => [
                MirrorWriter::new(std::io::stdout()).map(|end| end.below(cover, std::io::stdout())),
                stderr(),
            ],
            MirrorTarget::ToStderr => [stderr(), stderr()],
            MirrorTarget::Off => [None, None],
        }
    }
}

impl MirrorWriter {
    /// Fails if the stream is closed.
    fn new(stream: impl AsFd) -> Option<Self> {
        let stream = stream.as_fd();
        let kind = FileType::from_raw_mode(rustix::fs::fstat(stream).ok()?.st_mode);
        let slow =
            matches!(kind, FileType::Fifo | FileType::Socket) || rustix::termios::isatty(stream);
        // Other files than pipes, sockets and terminals never block a writer; a regular file opened again would be written from its
        // beginning.
        let again = if slow && kind != FileType::Socket {
            never_blocking(stream)
        } else {
            None
        };
        let piece = if slow && again.is_none() {
            PIECE
        } else {
            usize::MAX
        };
        let to = again.or_else(|| stream.try_clone_to_owned().ok())?;
        Some(MirrorWriter {
            to: Some(File::from(to)),
            piece,
            cover: None,
        })
    }

    /// The same for a stream that may have our own lines on its terminal, which is that of our stderr.
    fn below(self, cover: Option<&Arc<dyn TerminalCover>>, stream: impl AsFd) -> Self {
        let device =
            |stream: BorrowedFd<'_>| rustix::fs::fstat(stream).ok().map(|about| about.st_rdev);
        let stream = stream.as_fd();
        let covered =
            rustix::termios::isatty(stream) && device(stream) == device(std::io::stderr().as_fd());
        MirrorWriter {
            cover: cover.filter(|_| covered).cloned(),
            ..self
        }
    }

    /// Writes all of `bytes`, unless the reader is gone, or it is slow and `stop` says that there is no time for it.
    pub(crate) fn show(&mut self, bytes: &[u8], stop: impl Fn() -> bool) {
        match self.cover.clone() {
            Some(cover) => cover.pass(bytes, &mut || self.write(bytes, &stop)),
            None => self.write(bytes, &stop),
        }
    }

    fn write(&mut self, mut bytes: &[u8], stop: &impl Fn() -> bool) {
        while let Some(to) = &self.to
            && !bytes.is_empty()
        {
            if !wait_until_writable(to) {
                if stop() {
                    return;
                }
                continue;
            }
            match rustix::io::write(to, &bytes[..bytes.len().min(self.piece)]) {
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::INTR | Errno::AGAIN) => {}
                // A closed reader, a full disk, a terminal that hung up: the session continues without display, and its log is complete.
                Err(_) => self.to = None,
            }
        }
    }
}

/// The same pipe or terminal opened once more, where the system allows it. Setting our own stream to not block would set it for all who share it.
fn never_blocking(stream: BorrowedFd<'_>) -> Option<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    watchdog_system::reopen_stream(stream, flags)
}

/// Waits a moment until a write would not block.
fn wait_until_writable(to: &File) -> bool {
    let wait = Timespec::try_from(POLL).unwrap_or_default();
    !matches!(
        poll(&mut [PollFd::new(to, PollFlags::OUT)], Some(&wait)),
        Ok(0) | Err(Errno::INTR)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn slow_reader_gets_every_byte_in_order() {
        let (mut read, write) = os_pipe::pipe().unwrap();
        let bytes: Vec<u8> = (0..300_000_u32).flat_map(u32::to_ne_bytes).collect();
        let expected = bytes.clone();
        let writer =
            std::thread::spawn(move || MirrorWriter::new(write).unwrap().show(&bytes, || false));
        let mut got = Vec::new();
        read.read_to_end(&mut got).unwrap();
        writer.join().unwrap();
        assert!(got == expected);
    }

    #[test]
    fn a_reader_that_left_is_forgotten() {
        let (read, write) = os_pipe::pipe().unwrap();
        let mut end = MirrorWriter::new(write).unwrap();
        drop(read);
        end.show(b"unseen", || false);
        assert!(end.to.is_none());
        end.show(b"unseen", || false);
    }

    #[test]
    fn sleeping_reader_is_awaited_until_the_writer_hurries() {
        let (read, write) = os_pipe::pipe().unwrap();
        let hurry = std::sync::Arc::new(AtomicBool::new(false));
        let told = hurry.clone();
        let writer = std::thread::spawn(move || {
            MirrorWriter::new(write)
                .unwrap()
                .show(&[0; 1 << 20], || told.load(Ordering::SeqCst))
        });
        hurry.store(true, Ordering::SeqCst);
        writer.join().unwrap();
        drop(read);
    }
}
