//! The result on stdout, and whether it could be written. A command whose result reached nobody did not do its work, whatever
//! it found; a reader that went away (a pager that was quit) wants no more, and is no fault.

use std::io::{self, ErrorKind, Write};
use std::sync::Mutex;

use crate::cli::failure::CommandFailure;

/// Why the result could not be written: the first failure in this process.
static FAILED: Mutex<Option<String>> = Mutex::new(None);

/// Writes all of `bytes` to `out`, and remembers a failure for [`failure`].
///
/// # Errors
/// When they could not be written, a reader that went away included.
pub fn write_result(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let done = out.write_all(bytes).and_then(|()| out.flush());
    if let Err(error) = &done {
        record_write_error(error);
    }
    done
}

/// Remembers a failure to write the result, unless the reader went away.
pub fn record_write_error(error: &io::Error) {
    if error.kind() != ErrorKind::BrokenPipe {
        FAILED
            .lock()
            .expect("mutex poisoned")
            .get_or_insert_with(|| error.to_string());
    }
}

/// Returns the failure to report in the end, if the result could not be written.
pub fn get_write_failure() -> Option<CommandFailure> {
    let why = FAILED.lock().expect("mutex poisoned").clone()?;
    let failure =
        CommandFailure::store_failure(format!("failed to write the result to stdout: {why}"));
    Some(CommandFailure {
        reason: "output_error",
        ..failure
            .hint("make room where stdout goes, or send it elsewhere, and run the command again")
    })
}
