//! The words of `watchdog notify`.

use clap::{Args, Subcommand};

const AFTER_HELP: &str = "\
`notify` of completion.json says who is told of what: a program, an address (Slack, Discord, Telegram, ntfy), the desktop, or mail. A \
test goes out at once, in one attempt, to the receivers of the configuration that is in force here and trusted. The exit code is 0 where all \
have it, else 16; 2 where there is no receiver, and 12 where the configuration is not trusted.

Examples:
  watchdog notify test              every receiver
  watchdog notify test --on review  those that are told about review
  watchdog --config file.json notify test";

/// Arguments of `watchdog notify`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct NotifyArgs {
    /// What to do
    #[command(subcommand)]
    pub command: NotifyCommand,
}

/// What to do with notifications.
#[derive(Debug, Subcommand)]
pub enum NotifyCommand {
    /// Send a test notice to every receiver, now
    #[command(after_long_help = AFTER_HELP)]
    Test {
        /// Only to receivers that are told about this status, reason or kind of event; the notice is a sample of one
        #[arg(long, value_name = "WORD", value_parser = notify_word(), hide_possible_values = true)]
        on: Option<String>,
    },
}

fn notify_word() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(watchdog_core::config::notification_words())
}
