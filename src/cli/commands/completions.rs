//! `watchdog completions`: made from the command line's own definition, so that they cannot lag behind it.

use crate::cli::failure::CommandFailure;
use crate::cli::{help, result_output};

/// Prints shell completions.
pub fn completions(shell: clap_complete::Shell) -> Result<u8, CommandFailure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut help::arranged(), "watchdog", &mut text);
    // A reader that went away (a pager that was quit) is no fault of ours.
    let _ = result_output::write(&mut std::io::stdout().lock(), &text);
    Ok(0)
}
