//! Takes the secrets out of a log that is complete.
//!
//! The masked copy stands beside the log until it is synced, then takes its place: a power cut leaves the one or the other.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use watchdog_facts::secret_lines::LineMasker;

/// Bytes that are looked through at once where there is nothing to mask.
const BLOCK: usize = 256 << 10;
/// Bytes of one line; a longer one counts as several, so that memory is bounded.
const LINE: u64 = 512 << 10;

/// Masks the secrets of a log; says whether there were any.
pub(super) fn mask_log(path: &Path) -> io::Result<bool> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let mut source = MaskedLines::from_file(file);
    let mut same = 0;
    // Nearly every log holds no secret: nothing is written then.
    let first = loop {
        match source.next_part()? {
            None => return Ok(false),
            Some(MaskedPart { read, masked: None }) => same += read,
            Some(MaskedPart {
                masked: Some(masked),
                ..
            }) => break masked,
        }
    };
    let beside = MaskedCopy::create(path)?;
    let mut to = BufWriter::new(&beside.file);
    io::copy(&mut File::open(path)?.take(same), &mut to)?;
    to.write_all(&first)?;
    while let Some(part) = source.next_part()? {
        to.write_all(part.masked.as_deref().unwrap_or(&source.part))?;
    }
    to.flush()?;
    drop(to);
    beside.replace_log(path)?;
    Ok(true)
}

/// A log in parts, each with what stands for it where it holds a secret.
struct MaskedLines {
    from: BufReader<File>,
    masker: LineMasker,
    part: Vec<u8>,
}

struct MaskedPart {
    read: u64,
    masked: Option<Vec<u8>>,
}

impl MaskedLines {
    fn from_file(file: File) -> Self {
        MaskedLines {
            from: BufReader::with_capacity(BLOCK, file),
            masker: LineMasker::default(),
            part: Vec::new(),
        }
    }

    fn next_part(&mut self) -> io::Result<Option<MaskedPart>> {
        self.part.clear();
        while self.part.len() < BLOCK {
            let room = LINE.saturating_sub(self.part.len() as u64).max(1);
            if self
                .from
                .by_ref()
                .take(room)
                .read_until(b'\n', &mut self.part)?
                == 0
            {
                break;
            }
        }
        if self.part.is_empty() {
            return Ok(None);
        }
        let read = self.part.len() as u64;
        let text = String::from_utf8_lossy(&self.part);
        let plain = self.masker.needs_none(&text);
        Ok(Some(MaskedPart {
            read,
            masked: if plain {
                None
            } else {
                masked_lines(&mut self.masker, &self.part)
            },
        }))
    }
}

/// The lines of a part without secrets; `None` where there are none.
fn masked_lines(masker: &mut LineMasker, part: &[u8]) -> Option<Vec<u8>> {
    let mut all = Vec::with_capacity(part.len());
    let mut changed = false;
    for line in part.split_inclusive(|byte| *byte == b'\n') {
        let (content, end) = line
            .strip_suffix(b"\n")
            .map_or((line, &b""[..]), |content| (content, &b"\n"[..]));
        let text = String::from_utf8_lossy(content);
        let masked = masker.mask(&text);
        if *masked == *text {
            all.extend_from_slice(content);
        } else {
            changed = true;
            all.extend_from_slice(masked.as_bytes());
        }
        all.extend_from_slice(end);
    }
    changed.then_some(all)
}

/// The copy; removed unless it took the place of the log.
struct MaskedCopy {
    path: PathBuf,
    file: File,
}

impl MaskedCopy {
    fn create(log: &Path) -> io::Result<Self> {
        let mut name = OsString::from(log);
        name.push(".masked");
        let path = PathBuf::from(name);
        // A killed watchdog may have left it.
        let _ = fs::remove_file(&path);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        Ok(MaskedCopy { path, file })
    }

    fn replace_log(mut self, log: &Path) -> io::Result<()> {
        self.file.flush()?;
        self.file.rewind()?;
        self.file.sync_all()?;
        fs::rename(&self.path, log)
    }
}

impl Drop for MaskedCopy {
    fn drop(&mut self) {
        // Gone already where it took the place of the log.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    fn token() -> String {
        format!("{}{}", "ghp_", "a1B2".repeat(9))
    }

    #[test]
    fn a_log_keeps_every_byte_but_its_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let filler = b"plain \xff\xfe line\n".repeat(BLOCK / 4);
        let key = format!(
            "-----BEGIN {0}-----\n{1}\n-----END {0}-----\n",
            "PRIVATE KEY",
            "aB3d".repeat(16)
        );
        let before = [
            &filler[..],
            format!("using {}\n", token()).as_bytes(),
            &filler,
            key.as_bytes(),
            b"\xffend",
        ]
        .concat();
        fs::write(&path, &before).unwrap();
        assert!(mask_log(&path).unwrap());
        let masked_key = format!(
            "-----BEGIN {0}-----\n[secret: private-key]\n-----END {0}-----\n",
            "PRIVATE KEY"
        );
        let expected = [
            &filler[..],
            b"using [secret: github-token]\n",
            &filler,
            masked_key.as_bytes(),
            b"\xffend",
        ]
        .concat();
        assert!(fs::read(&path).unwrap() == expected);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(!mask_log(&path).unwrap(), "masked once, it is as it is");
    }

    #[test]
    fn a_log_without_secrets_is_not_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        fs::write(&path, "one\ntwo").unwrap();
        let before = fs::metadata(&path).unwrap().ino();
        assert!(!mask_log(&path).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().ino(), before);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(mask_log(&link).is_err(), "a link leads anywhere");
    }
}
