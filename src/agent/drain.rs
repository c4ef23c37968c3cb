//! Reads the output of a process as it comes, each stream in a thread of its own, so that the process never waits for us without need.
//!
//! A thread reads until the end of its stream, however long that takes. Whoever waits for the process does not wait for the threads:
//! a daemon that keeps a stream open must not hold anybody up. It is read on and thrown away then, for a closed pipe would kill the daemon.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use os_pipe::PipeReader;

use super::mirror::MirrorEnd;

/// How long an open but silent stream is listened to after the end of the leader.
const LEAK_GRACE: Duration = Duration::from_millis(200);

/// More than a pipe holds: when this much was read since the leader ended, all that the leader wrote was.
const PIPE_CAPACITY: u64 = 1 << 20;

/// Bytes per read; what an ordinary pipe holds.
const CHUNK: usize = 64 << 10;

const PASSING: u8 = 0;
const HURRYING: u8 = 1;
const DISCARDING: u8 = 2;

/// Which stream bytes came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// Keeps what is worth keeping of the output, in bounded memory.
pub(super) trait Keep: Send + 'static {
    fn keep(&mut self, from: Stream, bytes: &[u8]);
}

/// The threads that read a process's output.
pub(super) struct Drain<K> {
    kept: Arc<Mutex<Option<K>>>,
    phase: Arc<AtomicU8>,
    progress: [Arc<Progress>; 2],
    ends: Receiver<()>,
    open: usize,
}

/// How far one thread is.
#[derive(Default)]
struct Progress {
    read: AtomicU64,
    /// It has bytes in hand, which a slow terminal may hold up.
    busy: AtomicBool,
    ended: AtomicBool,
}

impl<K: Keep> Drain<K> {
    /// Starts reading. Of each stream a copy goes to `mirrors`.
    pub fn start(stdout: PipeReader, stderr: PipeReader, keep: K, mirrors: [Option<MirrorEnd>; 2]) -> io::Result<Self> {
        let (tell, ends) = channel();
        let drain = Drain {
            kept: Arc::new(Mutex::new(Some(keep))),
            phase: Arc::default(),
            progress: [Arc::default(), Arc::default()],
            ends,
            open: 2,
        };
        let [to_stdout, to_stderr] = mirrors;
        for (at, (pipe, from, mirror)) in [(stdout, Stream::Stdout, to_stdout), (stderr, Stream::Stderr, to_stderr)].into_iter().enumerate()
        {
            let (kept, phase, progress, tell) = (drain.kept.clone(), drain.phase.clone(), drain.progress[at].clone(), tell.clone());
            std::thread::Builder::new()
                .name(format!("{from:?}").to_lowercase())
                .stack_size(128 << 10)
                .spawn(move || read_to_end(pipe, from, &kept, mirror, &phase, &progress, &tell))?;
        }
        Ok(drain)
    }

    /// Waits until all that the ended leader wrote was taken: both streams have ended, or are silent and held open by somebody else.
    /// A slow terminal is waited for, until `give_up` says so.
    pub fn settle(&mut self, give_up: impl Fn() -> bool) {
        let begin: [u64; 2] = std::array::from_fn(|at| self.progress[at].read.load(Ordering::Acquire));
        let mut last = begin;
        let mut quiet_since = [Instant::now(); 2];
        while self.open > 0 && !give_up() {
            match self.ends.recv_timeout(Duration::from_millis(10)) {
                Ok(()) => {
                    self.open -= 1;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let mut wanted = false;
            for (at, progress) in self.progress.iter().enumerate() {
                let read = progress.read.load(Ordering::Acquire);
                if progress.busy.load(Ordering::Acquire) || read != last[at] {
                    quiet_since[at] = Instant::now();
                    last[at] = read;
                }
                let leaked = quiet_since[at].elapsed() >= LEAK_GRACE || read - begin[at] > PIPE_CAPACITY;
                wanted |= !leaked && !progress.ended.load(Ordering::Acquire);
            }
            if !wanted {
                return;
            }
        }
    }

    /// Stops waiting for whoever reads the mirrored output: what is still to come is kept, not shown.
    pub fn hurry(&self) {
        self.phase.fetch_max(HURRYING, Ordering::Release);
    }

    /// Takes what was kept. Streams that are still open are read on for as long as this process lives, and thrown away.
    /// `None` if a thread has panicked in the midst of keeping.
    pub fn finish(self) -> Option<K> {
        self.phase.fetch_max(DISCARDING, Ordering::Release);
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

fn read_to_end<K: Keep>(
    mut pipe: PipeReader,
    from: Stream,
    kept: &Mutex<Option<K>>,
    mut mirror: Option<MirrorEnd>,
    phase: &AtomicU8,
    progress: &Progress,
    tell: &Sender<()>,
) {
    let mut buffer = vec![0; CHUNK];
    loop {
        let read = match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        progress.busy.store(true, Ordering::Release);
        progress.read.fetch_add(read as u64, Ordering::AcqRel);
        if phase.load(Ordering::Acquire) < DISCARDING
            && let Some(kept) = kept.lock().unwrap_or_else(PoisonError::into_inner).as_mut()
        {
            kept.keep(from, &buffer[..read]);
        }
        if let Some(mirror) = &mut mirror {
            mirror.show(&buffer[..read], || phase.load(Ordering::Acquire) > PASSING);
        }
        progress.busy.store(false, Ordering::Release);
    }
    progress.ended.store(true, Ordering::Release);
    let _ = tell.send(());
}
