//! Reads a log while its session writes it: the beginning, then the parts that take turns, by files that stay open.
//!
//! The parts are appended to the beginning at the end, and removed; the masked log then takes its place. An open file is read to its end
//! whatever becomes of its name; what no open file holds is read from the beginning's, to which everything was appended.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::log_files::{open_log, open_regular, part_of};
use watchdog_process::LOG_HEAD;

/// The text before and behind the number of bytes that were left out.
const NOTE: (&str, &str) = ("\n[watchdog: ", " bytes are left out here]\n");

/// A log that is read.
#[derive(Debug)]
pub struct LogReader {
    path: PathBuf,
    head: File,
    head_read: u64,
    /// The beginning ends here: there are parts.
    head_end: Option<u64>,
    /// The part that is read.
    part: Option<OpenPart>,
    /// The one after it, opened as soon as it is there.
    next: Option<OpenPart>,
    /// The part of each number that was read last: open, so that no new file gets its inode.
    read: [Option<OpenPart>; 2],
    parts_read: u64,
    over: bool,
}

#[derive(Debug)]
struct OpenPart {
    number: u8,
    file: File,
    inode: u64,
    modified: Option<SystemTime>,
}

impl LogReader {
    /// Opens the log of a session.
    ///
    /// # Errors
    /// As [`open_log`].
    pub fn open(logs: &Path, path: &Path) -> io::Result<Self> {
        Ok(LogReader::from_head(open_log(logs, path)?, path))
    }

    /// A file that has no parts, such as a transcript.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub fn open_alone(path: &Path) -> io::Result<Self> {
        Ok(LogReader::from_head(open_regular(path)?, Path::new("")))
    }

    fn from_head(head: File, path: &Path) -> Self {
        LogReader {
            path: path.to_owned(),
            head,
            head_read: 0,
            head_end: None,
            part: None,
            next: None,
            read: [None, None],
            parts_read: 0,
            over: false,
        }
    }

    /// Reads what comes next; 0 where nothing more is there now.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub fn read_next(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // First: while it is looked for, what is read now may become its predecessor's end.
            let next_is_there = self.over || self.find_next();
            let count = self.read_current(buffer)?;
            if count > 0 || self.over || !next_is_there {
                return Ok(count);
            }
            if let Some(done) = self.part.take() {
                let number = usize::from(done.number - 1);
                self.read[number] = Some(done);
            }
            self.part = self.next.take();
        }
    }

    /// The session is over, and its log complete: reads what no open part holds.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub fn session_ended(&mut self) -> io::Result<()> {
        if self.over {
            return Ok(());
        }
        // The parts that are still open and still there, as after a kill, are read by `read`; only
        // then this has an effect.
        let (Some(end), Some(_)) = (self.head_end, &self.part) else {
            return Ok(());
        };
        let whole = self.head.metadata()?.len();
        if whole <= end {
            return Ok(());
        }
        let mut note = [0; 80];
        self.head.seek(SeekFrom::Start(end))?;
        let count = self.head.read(&mut note)?;
        let text = String::from_utf8_lossy(&note[..count]);
        let dropped = text
            .strip_prefix(NOTE.0)
            .and_then(|after_mark| after_mark.split_once(NOTE.1))
            .and_then(|(bytes, _)| bytes.parse::<u64>().ok());
        let note_length = dropped.map_or(0, |bytes| {
            (NOTE.0.len() + NOTE.1.len() + bytes.to_string().len()) as u64
        });
        let from = end + note_length + self.parts_read.saturating_sub(dropped.unwrap_or(0));
        self.head.seek(SeekFrom::Start(from.min(whole)))?;
        (self.over, self.part, self.next) = (true, None, None);
        Ok(())
    }

    fn read_current(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = |file: &mut File, buffer: &mut [u8]| loop {
            match file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        };
        if let Some(part) = &mut self.part {
            let count = read(&mut part.file, buffer)?;
            self.parts_read += count as u64;
            return Ok(count);
        }
        // Behind its end stands what the parts hold as well.
        let end = self.head_end.filter(|_| !self.over);
        let room = end.map_or(u64::MAX, |end| end.saturating_sub(self.head_read));
        let room = usize::try_from(room)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let count = read(&mut self.head, &mut buffer[..room])?;
        self.head_read += count as u64;
        Ok(count)
    }

    /// Opens the part that follows, if it is there; says whether it is.
    fn find_next(&mut self) -> bool {
        if self.next.is_some() {
            return true;
        }
        if self.path.as_os_str().is_empty() {
            return false;
        }
        let open = |number: u8| {
            let file = open_regular(&part_of(&self.path, number)).ok()?;
            let about = file.metadata().ok()?;
            let is_it = |part: &OpenPart| part.inode == about.ino();
            let new = !self.read[usize::from(number - 1)]
                .as_ref()
                .is_some_and(is_it)
                && !self.part.as_ref().is_some_and(is_it);
            new.then(|| OpenPart {
                number,
                file,
                inode: about.ino(),
                modified: about.modified().ok(),
            })
        };
        self.next = match &self.part {
            Some(part) => open(3 - part.number),
            // Beyond two parts, that which is being written is the younger one.
            None => match (open(1), open(2)) {
                (Some(one), Some(two)) => Some(if two.modified < one.modified {
                    two
                } else {
                    one
                }),
                (one, two) => one.or(two),
            },
        };
        if self.next.is_some() && self.part.is_none() {
            self.head_end = Some(LOG_HEAD);
        }
        self.next.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    struct Log {
        scratch: tempfile::TempDir,
        reader: LogReader,
        file: File,
    }

    impl Log {
        fn new() -> Self {
            let scratch = tempfile::tempdir().expect("a scratch folder");
            fs::create_dir_all(scratch.path().join("logs/w")).expect("a folder can be made");
            let file = File::create(scratch.path().join("logs/w/a.log")).expect("a log");
            let reader = LogReader::open(
                &scratch.path().join("logs"),
                &scratch.path().join("logs/w/a.log"),
            )
            .expect("it opens");
            Log {
                scratch,
                reader,
                file,
            }
        }

        fn path(&self, number: u8) -> PathBuf {
            part_of(&self.scratch.path().join("logs/w/a.log"), number)
        }

        fn write(&mut self, text: &str) {
            self.file
                .write_all(text.as_bytes())
                .expect("it can be written");
        }

        /// Fills the beginning, so that the parts follow.
        fn fill(&mut self) {
            let padding =
                usize::try_from(LOG_HEAD - self.file.metadata().expect("it is there").len())
                    .expect("it fits");
            self.file
                .write_all(&vec![b'.'; padding])
                .expect("it can be written");
        }

        fn turn(&mut self, number: u8) {
            let _ = fs::remove_file(self.path(number));
            self.file = File::create(self.path(number)).expect("a part");
        }

        fn join(&mut self, dropped: u64, parts: &[u8]) {
            let mut whole = File::options()
                .append(true)
                .open(self.scratch.path().join("logs/w/a.log"))
                .expect("the log");
            if dropped > 0 {
                write!(whole, "\n[watchdog: {dropped} bytes are left out here]\n")
                    .expect("it can be written");
            }
            for number in parts {
                whole
                    .write_all(&fs::read(self.path(*number)).expect("the part"))
                    .expect("it can be written");
                fs::remove_file(self.path(*number)).expect("it is removed");
            }
        }

        fn read_all(&mut self) -> String {
            let mut all = Vec::new();
            let mut buffer = [0; 4096];
            loop {
                match self.reader.read_next(&mut buffer).expect("it can be read") {
                    0 => {
                        return String::from_utf8_lossy(&all)
                            .trim_start_matches('.')
                            .to_owned();
                    }
                    count => all.extend_from_slice(&buffer[..count]),
                }
            }
        }

        fn rest(&mut self) -> String {
            let all = self.read_all();
            self.reader.session_ended().expect("it can be read");
            all + &self.read_all()
        }
    }

    #[test]
    fn growing_log_is_read_across_every_part() {
        let mut log = Log::new();
        log.write("one ");
        assert_eq!(log.read_all(), "one ");
        assert_eq!(log.read_all(), "");
        log.fill();
        log.read_all();
        for (number, text) in [(1, "two "), (2, "three "), (1, "four "), (2, "five ")] {
            log.turn(number);
            log.write(text);
            assert_eq!(log.read_all(), text);
        }
        log.write("six");
        log.join(9, &[1, 2]);
        assert_eq!(log.rest(), "six");
    }

    #[test]
    fn parts_joined_unseen_are_read_from_whole() {
        let mut log = Log::new();
        log.fill();
        log.turn(1);
        log.write("one ");
        assert_eq!(log.read_all(), "one ");
        log.write("two ");
        log.turn(2);
        log.write("three");
        log.join(0, &[1, 2]);
        assert_eq!(log.rest(), "two three", "the second part was never open");
        let mut log = Log::new();
        log.write("head ");
        log.fill();
        log.turn(1);
        log.write("tail");
        log.join(0, &[1]);
        let all = log.rest();
        assert!(
            all.starts_with("head ") && all.ends_with(".tail"),
            "no part was ever open"
        );
    }

    #[test]
    fn parts_after_a_kill_are_read_in_order() {
        let mut log = Log::new();
        log.fill();
        log.turn(2);
        log.write("older ");
        let back = SystemTime::now() - std::time::Duration::from_secs(5);
        log.file.set_modified(back).expect("times can be set");
        log.turn(1);
        log.write("younger");
        assert_eq!(log.rest(), "older younger");
    }
}
