//! The arguments that all commands share which run sessions: when one is ended, and whose the uncommitted files before it are.

use std::time::Duration;

use clap::Args;

use watchdog_process::SessionTerms;

use super::time_span::parse_duration;

/// What becomes of files that are uncommitted before a session.
#[derive(Debug, Clone, Copy, Args)]
pub struct UncommittedArgs {
    /// Count what is uncommitted now as the session's work
    #[arg(long)]
    pub adopt: bool,
    /// Start the session even if what is uncommitted now cannot be kept in a snapshot first
    #[arg(long)]
    pub without_snapshot: bool,
}

/// When a session of `run`, `loop`, `task run` or `task work` is ended, and what becomes of what outlives it.
#[derive(Debug, Clone, Copy, Args)]
pub struct SessionArgs {
    /// End a session and all that it started after this time
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// End a session that has been silent for this time; 0 never does [default: 30m, for run none]
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub idle_timeout: Option<Duration>,
    /// End processes that outlive a session and --child-wait [default, except for run]
    #[arg(long, overrides_with = "no_end_survivors")]
    pub end_survivors: bool,
    /// Leave them running [default for run]
    #[arg(long, overrides_with = "end_survivors")]
    pub no_end_survivors: bool,
    /// Between TERM and KILL when a session must end
    #[arg(long, value_name = "DUR", value_parser = parse_duration, default_value = "10s")]
    pub grace: Duration,
    /// How long to wait for children that outlive a session
    #[arg(long, value_name = "DUR", value_parser = parse_duration, default_value = "10s")]
    pub child_wait: Duration,
}

impl SessionArgs {
    /// What they say. Where neither flag is given, the command decides whether survivors are ended.
    pub fn session_terms(&self, ends_survivors: bool) -> SessionTerms {
        SessionTerms {
            timeout: self.timeout,
            idle_timeout: self.idle_timeout,
            grace: self.grace,
            child_wait: self.child_wait,
            end_survivors: self.end_survivors || (ends_survivors && !self.no_end_survivors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_about_survivors_counts_and_without_one_the_command_decides() {
        use clap::Parser as _;
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            session: SessionArgs,
        }
        for (line, run, looped) in [
            ("x", false, true),
            ("x --end-survivors", true, true),
            ("x --no-end-survivors", false, false),
            ("x --end-survivors --no-end-survivors", false, false),
            ("x --no-end-survivors --end-survivors", true, true),
        ] {
            let session = Line::try_parse_from(line.split(' '))
                .unwrap_or_else(|error| panic!("{line}: {error}"))
                .session;
            assert_eq!(
                (
                    session.session_terms(false).end_survivors,
                    session.session_terms(true).end_survivors
                ),
                (run, looped),
                "{line}"
            );
        }
    }
}
