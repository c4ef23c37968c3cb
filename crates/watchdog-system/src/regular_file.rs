//! Reads files that a session may have put there: a pipe, a device or an endless file in place of one costs neither time nor memory.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Opens a regular file, by way of links; refuses anything else without waiting for it.
///
/// # Errors
/// If it cannot be opened, or is not a regular file.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    let refused = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    // To open a device may set it off.
    if !fs::metadata(path)?.is_file() {
        return Err(refused());
    }
    // It may have become a pipe meanwhile.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(refused())
    }
}

/// Whether nothing is at a path, as opposed to something that cannot be read.
pub fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// The bytes of a regular file of at most `limit` bytes.
///
/// # Errors
/// As [`open_regular_file`]; a larger file is [`io::ErrorKind::FileTooLarge`].
pub fn read_regular_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let bytes = read_regular_begin(path, limit.saturating_add(1))?;
    if bytes.len() as u64 > limit {
        Err(io::ErrorKind::FileTooLarge.into())
    } else {
        Ok(bytes)
    }
}

/// The first bytes of a regular file, at most `most`.
///
/// # Errors
/// As [`open_regular_file`].
pub fn read_regular_begin(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = open_regular_file(path)?;
    file.take(most).read_to_end(&mut bytes).map(|_| bytes)
}

/// What a regular file has behind a place, at most `most` bytes of its end; and the place where these begin.
///
/// # Errors
/// As [`open_regular_file`].
pub fn read_behind(path: &Path, place: u64, most: u64) -> io::Result<(Vec<u8>, u64)> {
    let mut file = open_regular_file(path)?;
    let length = file.metadata()?.len();
    let begin = place.max(length.saturating_sub(most)).min(length);
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok((bytes, begin))
}

/// The entries of a folder, at most `limit` of them; empty only where there is no such folder.
///
/// # Errors
/// If it is there and cannot be read: then what is in it is unknown.
pub fn read_entries(folder: &Path, limit: usize) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.take(limit).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_within_the_limit_are_read() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "four").expect("a file");
        std::os::unix::fs::symlink("file", path("link")).expect("a link");
        std::os::unix::fs::symlink("/dev/zero", path("device")).expect("a link");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path("pipe"),
            rustix::fs::FileType::Fifo,
            Mode::RWXU,
            0,
        )
        .expect("a pipe");
        File::create(path("endless"))
            .and_then(|file| file.set_len(1 << 40))
            .expect("a sparse file");
        let read =
            |name: &str, limit| read_regular_file(&path(name), limit).map_err(|error| error.kind());
        for name in ["file", "link"] {
            assert_eq!(read(name, 4), Ok(b"four".to_vec()), "{name}");
            assert_eq!(read(name, 3), Err(io::ErrorKind::FileTooLarge), "{name}");
        }
        for name in ["device", "pipe"] {
            assert_eq!(read(name, 4), Err(io::ErrorKind::InvalidInput), "{name}");
        }
        assert_eq!(read("endless", 1 << 20), Err(io::ErrorKind::FileTooLarge));
        assert_eq!(read("missing", 4), Err(io::ErrorKind::NotFound));
    }

    #[test]
    fn only_a_missing_folder_is_empty() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "").expect("a file");
        std::os::unix::fs::symlink("loop", path("loop")).expect("a link");
        let count = |name: &str, limit| {
            read_entries(&path(name), limit)
                .map(|entries| entries.len())
                .map_err(|error| error.kind())
        };
        assert_eq!(
            (count("missing", 9), count(".", 9), count(".", 1)),
            (Ok(0), Ok(2), Ok(1))
        );
        assert!(count("file", 9) == Err(io::ErrorKind::NotADirectory) && count("loop", 9).is_err());
    }
}
