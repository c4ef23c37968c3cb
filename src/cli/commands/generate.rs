//! `watchdog completions` and `watchdog man`: made from the command line's own definition, so they cannot lag behind it.

use clap::CommandFactory as _;

use crate::cli::args::Cli;
use crate::cli::failure::CommandFailure;
use crate::cli::result_output;

/// Prints shell completions.
pub fn completions(shell: clap_complete::Shell) -> Result<u8, CommandFailure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "watchdog", &mut text);
    print(&text)
}

/// Prints the manual page, with a section per command.
pub fn man() -> Result<u8, CommandFailure> {
    let mut text = Vec::new();
    let mut command = Cli::command();
    command.build();
    let failed = |error: std::io::Error| CommandFailure::usage(format!("failed to make the manual page: {error}"));
    clap_mangen::Man::new(command.clone()).render(&mut text).map_err(failed)?;
    for sub in command.get_subcommands_mut() {
        let name: &'static str = Box::leak(format!("watchdog {}", sub.get_name()).into_boxed_str());
        let page = clap_mangen::Man::new(sub.clone().name(name));
        page.render_name_section(&mut text).map_err(failed)?;
        page.render_synopsis_section(&mut text).map_err(failed)?;
        page.render_options_section(&mut text).map_err(failed)?;
    }
    print(&text)
}

fn print(text: &[u8]) -> Result<u8, CommandFailure> {
    // A reader that went away (a pager that was quit) is no fault of ours.
    let _ = result_output::write(&mut std::io::stdout().lock(), text);
    Ok(0)
}
