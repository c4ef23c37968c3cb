//! Reads the output of a process as it comes, each stream in a thread of its own, so that the process never waits for us without need.
//!
//! A thread reads until the end of its stream, however long that takes. A wait for the process does not wait for the threads: a daemon
//! that keeps a stream open must not block it. The thread reads on and drops the bytes then, for a closed pipe would kill the daemon.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use os_pipe::PipeReader;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::mirror::MirrorWriter;
use watchdog_system::lock_mutex;

/// How long an open but silent stream is listened to after the end of the leader.
const LEAK_GRACE: Duration = Duration::from_millis(200);

/// Bytes per read, and what a pipe is made to hold where the system allows it: a flood then costs fewer switches between writer and reader.
const CHUNK: usize = 256 << 10;

const PASSING: u8 = 0;
const HURRYING: u8 = 1;
const DISCARDING: u8 = 2;

/// Which stream bytes came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputStream {
    Stdout,
    Stderr,
}

/// Keeps the useful part of the output, in bounded memory.
pub(super) trait OutputSink: Send + 'static {
    fn keep(&mut self, from: OutputStream, bytes: &[u8]);
}

/// The threads that read a process's output.
pub(super) struct OutputDrain<K> {
    kept: Arc<Mutex<Option<K>>>,
    phase: Arc<AtomicU8>,
    progress: [Arc<DrainProgress>; 2],
    /// Duplicates, to see what lies unread.
    pipes: [PipeReader; 2],
    ends: Receiver<()>,
    open: usize,
}

/// How far one thread is.
#[derive(Default)]
pub(super) struct DrainProgress {
    read: AtomicU64,
    /// It has no byte in hand and waits for more. Lowered before bytes are taken off the pipe, raised after they were dealt with.
    waiting: AtomicBool,
    ended: AtomicBool,
}

impl DrainProgress {
    /// Bytes that were read so far.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.read.load(Ordering::Acquire)
    }
}

/// How far one stream was when its leader had ended.
struct DrainTarget {
    /// Once more than this was read, all that the leader wrote was dealt with.
    until: u64,
    read: u64,
    quiet_since: Instant,
}

impl<K: OutputSink> OutputDrain<K> {
    /// Starts reading. Of each stream a copy goes to `mirrors`.
    pub(crate) fn start(
        stdout: PipeReader,
        stderr: PipeReader,
        keep: K,
        mirrors: [Option<MirrorWriter>; 2],
    ) -> io::Result<Self> {
        let (tell, ends) = channel();
        let drain = OutputDrain {
            kept: Arc::new(Mutex::new(Some(keep))),
            phase: Arc::default(),
            progress: [Arc::default(), Arc::default()],
            pipes: [stdout.try_clone()?, stderr.try_clone()?],
            ends,
            open: 2,
        };
        let [to_stdout, to_stderr] = mirrors;
        for (at, (pipe, from, mirror)) in [
            (stdout, OutputStream::Stdout, to_stdout),
            (stderr, OutputStream::Stderr, to_stderr),
        ]
        .into_iter()
        .enumerate()
        {
            let (kept, phase, progress, tell) = (
                drain.kept.clone(),
                drain.phase.clone(),
                drain.progress[at].clone(),
                tell.clone(),
            );
            std::thread::Builder::new()
                .name(format!("{from:?}").to_lowercase())
                .stack_size(128 << 10)
                .spawn(move || read_to_end(pipe, from, &kept, mirror, &phase, &progress, &tell))?;
        }
        Ok(drain)
    }

    /// The progress of both threads, for other threads.
    pub(crate) fn progress(&self) -> [Arc<DrainProgress>; 2] {
        self.progress.clone()
    }

    /// Waits until all output of the ended leader was read: both streams have ended, or are silent and held open by another process.
    /// Waits for a slow terminal until `give_up` is raised.
    pub(crate) fn settle(&mut self, give_up: impl Fn() -> bool) {
        let mut rests: [DrainTarget; 2] = std::array::from_fn(|at| {
            let unread = self.unread(at);
            let read = self.progress[at].read.load(Ordering::Acquire);
            // The bytes in hand may not be counted yet, and those that are may not be dealt with: each at most a chunk.
            DrainTarget {
                until: read + unread + 2 * CHUNK as u64,
                read,
                quiet_since: Instant::now(),
            }
        });
        while self.open > 0 && !give_up() {
            match self.ends.recv_timeout(Duration::from_millis(10)) {
                Ok(()) => self.open -= 1,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout)
                    if (0..2).all(|at| self.has_come(at, &mut rests[at])) =>
                {
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Whether all that the ended leader wrote to a stream was dealt with, and what others write is not worth waiting for.
    fn has_come(&self, at: usize, target: &mut DrainTarget) -> bool {
        // The order matters: nothing unread first, then nothing in hand. A thread that gets no processor time on a busy machine is not mistaken
        // for a silent stream.
        let unread = self.unread(at);
        let progress = &self.progress[at];
        let read = progress.read.load(Ordering::Acquire);
        if unread > 0 || !progress.waiting.load(Ordering::Acquire) || read != target.read {
            (target.quiet_since, target.read) = (Instant::now(), read);
        }
        progress.ended.load(Ordering::Acquire)
            || read > target.until
            || target.quiet_since.elapsed() >= LEAK_GRACE
    }

    fn unread(&self, at: usize) -> u64 {
        rustix::io::ioctl_fionread(&self.pipes[at]).unwrap_or(0)
    }

    /// Stops waiting for the reader of the mirrored output: the rest is kept, not shown.
    pub(crate) fn hurry(&self) {
        self.phase.fetch_max(HURRYING, Ordering::Release);
    }

    /// Takes the kept bytes. Threads of open streams continue to read and drop bytes for as long as this process lives.
    /// Absent if a thread has panicked in the midst of keeping.
    pub(crate) fn finish(self) -> Option<K> {
        self.phase.fetch_max(DISCARDING, Ordering::Release);
        lock_mutex(&self.kept).take()
    }
}

fn read_to_end<K: OutputSink>(
    mut pipe: PipeReader,
    from: OutputStream,
    sink: &Mutex<Option<K>>,
    mut mirror: Option<MirrorWriter>,
    phase: &AtomicU8,
    progress: &DrainProgress,
    tell: &Sender<()>,
) {
    watchdog_system::enlarge_pipe(&pipe, CHUNK);
    let mut buffer = vec![0; CHUNK];
    loop {
        progress.waiting.store(true, Ordering::Release);
        if poll(&mut [PollFd::new(&pipe, PollFlags::IN)], None) == Err(Errno::INTR) {
            continue;
        }
        progress.waiting.store(false, Ordering::Release);
        let read = match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        progress.read.fetch_add(read as u64, Ordering::AcqRel);
        if phase.load(Ordering::Acquire) < DISCARDING
            && let Some(open_sink) = lock_mutex(sink).as_mut()
        {
            open_sink.keep(from, &buffer[..read]);
        }
        if let Some(mirror) = &mut mirror {
            mirror.show(&buffer[..read], || phase.load(Ordering::Acquire) > PASSING);
        }
    }
    progress.ended.store(true, Ordering::Release);
    let _ = tell.send(());
}
