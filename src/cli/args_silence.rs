//! The arguments about silent sessions and about what outlives one, shared by all commands that run sessions.

use std::time::Duration;

use clap::Args;

use super::time_span::duration;

/// Arguments of `run`, `loop`, `task run` and `task work`.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct SilenceArgs {
    /// End a session that has been silent for this time; 0 never does [default: 30m, for run none]
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub idle_timeout: Option<Duration>,
    /// End processes that outlive a session and --child-wait [default, except for run]
    #[arg(long, overrides_with = "no_end_survivors")]
    pub end_survivors: bool,
    /// Leave them running [default for run]
    #[arg(long, overrides_with = "end_survivors")]
    pub no_end_survivors: bool,
}

impl SilenceArgs {
    /// Whether survivors are ended, where neither flag is given as the command does.
    pub fn end_survivors(&self, usual: bool) -> bool {
        self.end_survivors || (usual && !self.no_end_survivors)
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
            silence: SilenceArgs,
        }
        for (line, run, looped) in [
            ("x", false, true),
            ("x --end-survivors", true, true),
            ("x --no-end-survivors", false, false),
            ("x --end-survivors --no-end-survivors", false, false),
            ("x --no-end-survivors --end-survivors", true, true),
        ] {
            let silence = Line::try_parse_from(line.split(' '))
                .unwrap_or_else(|error| panic!("{line}: {error}"))
                .silence;
            assert_eq!(
                (silence.end_survivors(false), silence.end_survivors(true)),
                (run, looped),
                "{line}"
            );
        }
    }
}
