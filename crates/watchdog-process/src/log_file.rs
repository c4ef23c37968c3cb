//! The log of a session: its complete output, in a file of bounded size.
//!
//! The file holds the first 8 MiB. Further output goes alternately to two parts of 21 MiB beside it (`<log>.1`, `<log>.2`): when both are
//! full, the older one gives way to a new file, so that who reads it can read it to its end. At the end the parts are appended to the file,
//! after a line with the number of dropped bytes, and the secrets are taken out; so one file of at most 50 MiB is left, with the beginning
//! and at least the last 21 MiB. After a kill before that, the parts remain, unmasked.
//! A write error, on a full disk say, ends the log with a note: the session is worth more than its log.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::masked_log::mask_log;

/// Bytes of the beginning of an output; more goes to two parts until the session ends.
pub const LOG_HEAD: u64 = 8 << 20;

/// The sizes of the parts of a log, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogLimits {
    /// Of the beginning.
    pub head: u64,
    /// Of each of the two parts that take turns.
    pub part: u64,
}

impl Default for LogLimits {
    fn default() -> Self {
        LogLimits {
            head: LOG_HEAD,
            part: 21 << 20,
        }
    }
}

/// A log that is being written.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    limits: LogLimits,
    file: File,
    written: u64,
    /// How many parts were begun.
    turns: u64,
    dropped: u64,
    fault: Option<String>,
}

/// The result of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogOutcome {
    /// Bytes that were left out of its middle.
    pub dropped: u64,
    /// Why it is not whole or not masked, if writing failed.
    pub fault: Option<String>,
}

impl LogFile {
    /// Begins a log, readable by its owner only; an older one at the same path is replaced.
    pub(crate) fn create(path: &Path, limits: LogLimits) -> io::Result<Self> {
        let file = open_private(path)?;
        let log = LogFile {
            path: path.to_owned(),
            limits,
            file,
            written: 0,
            turns: 0,
            dropped: 0,
            fault: None,
        };
        // Parts of a run that was killed would be taken for ours.
        for part in [log.part(1), log.part(2)] {
            remove_part(&part)?;
        }
        Ok(log)
    }

    /// Appends bytes. Never fails: the first fault is remembered and ends the logging.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if self.fault.is_none()
            && let Err(error) = self.try_write(bytes)
        {
            self.fault = Some(format!(
                "the log stops here, the session went on: cannot write {}: {error}",
                self.path.display()
            ));
        }
    }

    /// Puts the parts together, and takes the secrets out.
    pub(crate) fn finish(mut self) -> LogOutcome {
        if self.turns > 0
            && let Err(error) = self.join()
        {
            let text = format!(
                "the end of the log is in {}.1 and .2: cannot append it: {error}",
                self.path.display()
            );
            self.fault.get_or_insert(text);
        }
        if let Err(error) = mask_log(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            let text = format!(
                "secrets in the log are not masked: cannot write {} anew: {error}",
                self.path.display()
            );
            self.fault.get_or_insert(text);
        }
        LogOutcome {
            dropped: self.dropped,
            fault: self.fault,
        }
    }

    fn try_write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let limit = if self.turns == 0 {
                self.limits.head
            } else {
                self.limits.part
            };
            if self.written >= limit {
                self.turn()?;
                continue;
            }
            let room = usize::try_from(limit - self.written).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.file.write_all(now)?;
            self.written += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    /// Goes on to the next part, over the older one if both are full.
    fn turn(&mut self) -> io::Result<()> {
        self.turns += 1;
        let part = self.part(self.turns);
        if self.turns > 2 {
            self.dropped += self.limits.part;
        }
        remove_part(&part)?;
        self.file = open_private(&part)?;
        self.written = 0;
        Ok(())
    }

    fn join(&mut self) -> io::Result<()> {
        let mut whole = OpenOptions::new().append(true).open(&self.path)?;
        if self.dropped > 0 {
            write!(
                whole,
                "\n[watchdog: {} bytes are left out here]\n",
                self.dropped
            )?;
        }
        for turn in [self.turns - 1, self.turns] {
            if turn > 0 {
                let part = self.part(turn);
                io::copy(&mut File::open(&part)?, &mut whole)?;
                std::fs::remove_file(part)?;
            }
        }
        Ok(())
    }

    fn part(&self, turn: u64) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(if turn % 2 == 1 { ".1" } else { ".2" });
        PathBuf::from(name)
    }
}

fn remove_part(part: &Path) -> io::Result<()> {
    match std::fs::remove_file(part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn open_private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    // The mode above counts for new files only. Other targets, such as /dev/null, keep theirs.
    if file.metadata()?.is_file() {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMALL: LogLimits = LogLimits { head: 10, part: 20 };

    fn logged(chunks: &[Vec<u8>]) -> (Vec<u8>, LogOutcome) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut log = LogFile::create(&path, SMALL).unwrap();
        chunks.iter().for_each(|chunk| log.write(chunk));
        let end = log.finish();
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            1,
            "the parts are gone"
        );
        (std::fs::read(path).unwrap(), end)
    }

    proptest! {
        #[test]
        fn log_keeps_beginning_and_end_of_output(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 0..12)) {
            let all = chunks.concat();
            let (text, end) = logged(&chunks);
            prop_assert_eq!(end.fault, None);
            if all.len() <= 50 {
                prop_assert_eq!(&text, &all);
                prop_assert_eq!(end.dropped, 0);
            } else {
                let note = format!("\n[watchdog: {} bytes are left out here]\n", end.dropped);
                let end_length = all.len() - 10 - usize::try_from(end.dropped).unwrap();
                prop_assert!(end.dropped == 0 || (20..=40).contains(&end_length), "{end_length} bytes of the end");
                let mut expected = all[..10].to_vec();
                if end.dropped > 0 {
                    expected.extend_from_slice(note.as_bytes());
                }
                expected.extend_from_slice(&all[all.len() - end_length..]);
                prop_assert_eq!(&text, &expected);
            }
        }
    }

    #[test]
    fn default_limits_bound_a_log_to_50_mib() {
        let LogLimits { head, part } = LogLimits::default();
        assert_eq!(head + 2 * part, 50 << 20);
    }

    #[test]
    fn log_is_private_even_over_an_older_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, "older and longer").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let mut log = LogFile::create(&path, SMALL).unwrap();
        log.write(b"new");
        log.finish();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn full_disk_ends_only_the_log_with_note() {
        let mut log = LogFile::create(Path::new("/dev/full"), SMALL).unwrap();
        log.write(b"first");
        log.write(b"second");
        assert!(log.finish().fault.unwrap().contains("No space left"));
    }
}
