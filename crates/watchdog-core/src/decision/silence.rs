//! Whether a session that runs has fallen silent. Pure: the moments at which each sign of life was last seen are handed in.
//!
//! Every sign that exists must be silent; output always exists, and one that cannot be read proves nothing. All moments count from the
//! beginning of the session on one clock, which need not be that of the wall.

use std::time::Duration;

/// A session whose output told its final result is given this long to end.
pub const AFTER_RESULT: Duration = Duration::from_secs(60);
/// How many times the limit a call may wait for a person if no person can answer; then the session ends.
pub const UNANSWERED: u32 = 4;
/// The limit of `loop` and `task`, where none is named.
pub const USUAL_LIMIT: Duration = Duration::from_secs(1800);

/// Whether a call of a tool waits for a permission or for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PersonWait {
    /// No remote has it.
    #[default]
    No,
    /// A question goes out, or may.
    ForPerson {
        /// Whether a person can answer: at a terminal, or told by a hook.
        can_answer: bool,
    },
}

/// When a session last showed that it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LivenessSignals {
    /// It wrote something.
    pub output: Duration,
    /// Its work tree or git directory changed.
    pub files: Option<Duration>,
    /// Its transcript grew.
    pub transcript: Option<Duration>,
    /// Its processes used a hundredth of a core or more.
    pub processor: Option<Duration>,
    /// Whether it waits for somebody.
    pub waits: PersonWait,
    /// Whether its output contained the final result, and no process that it started since still runs.
    pub finished: bool,
}

/// The meaning of the signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SilenceVerdict {
    /// It shows life, or has not been silent for long enough.
    Alive {
        /// How long it has been silent.
        quiet: Duration,
    },
    /// It is silent, and waits for a permission or a person.
    Waiting {
        /// How long it has been silent.
        quiet: Duration,
    },
    /// It has fallen silent.
    Fallen {
        /// How long it has been silent.
        quiet: Duration,
    },
    /// It has told its final result and does not end.
    Finished {
        /// How long it has been silent.
        quiet: Duration,
    },
}

impl LivenessSignals {
    /// The last sign of life.
    pub fn last(&self) -> Duration {
        [self.files, self.transcript, self.processor]
            .into_iter()
            .flatten()
            .fold(self.output, Duration::max)
    }
}

/// Judges the signals. Without a limit a session never falls silent; one that has told its result ends all the same.
pub fn judge_silence(
    now: Duration,
    limit: Option<Duration>,
    signals: &LivenessSignals,
) -> SilenceVerdict {
    let quiet = now.saturating_sub(signals.last());
    if signals.finished && quiet >= AFTER_RESULT {
        return SilenceVerdict::Finished { quiet };
    }
    let Some(limit) = limit.filter(|limit| quiet >= *limit) else {
        return SilenceVerdict::Alive { quiet };
    };
    match signals.waits {
        PersonWait::No => SilenceVerdict::Fallen { quiet },
        PersonWait::ForPerson { can_answer: false }
            if quiet >= limit.saturating_mul(UNANSWERED) =>
        {
            SilenceVerdict::Fallen { quiet }
        }
        PersonWait::ForPerson { .. } => SilenceVerdict::Waiting { quiet },
    }
}

/// Whether an unanswered call of this tool may wait for a permission or a person. `runs` says that a process of the session began since.
pub fn may_wait_for_person(tool: &str, runs: bool) -> bool {
    match tool {
        // They wait for other work of the session, which has signs of life of its own.
        "Task" | "Agent" | "TaskOutput" | "AgentOutputTool" | "BashOutput" | "KillShell"
        | "KillBash" | "TaskStop" => false,
        "Bash" | "bash" | "shell" | "local_shell" | "exec" | "exec_command"
        | "command_execution" | "run_shell_command" => !runs,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Option<Duration> = Some(Duration::from_secs(100));

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn judged(now: u64, signals: LivenessSignals) -> SilenceVerdict {
        judge_silence(at(now), LIMIT, &signals)
    }

    #[test]
    fn every_signal_that_exists_must_be_silent() {
        let silent = LivenessSignals {
            output: at(1),
            files: Some(at(2)),
            transcript: Some(at(3)),
            processor: Some(at(4)),
            ..LivenessSignals::default()
        };
        assert_eq!(judged(103, silent), SilenceVerdict::Alive { quiet: at(99) });
        assert_eq!(
            judged(104, silent),
            SilenceVerdict::Fallen { quiet: at(100) }
        );
        for alive in [
            LivenessSignals {
                output: at(50),
                ..silent
            },
            LivenessSignals {
                files: Some(at(50)),
                ..silent
            },
            LivenessSignals {
                transcript: Some(at(50)),
                ..silent
            },
            LivenessSignals {
                processor: Some(at(50)),
                ..silent
            },
        ] {
            assert_eq!(
                judged(149, alive),
                SilenceVerdict::Alive { quiet: at(99) },
                "{alive:?}"
            );
        }
    }

    #[test]
    fn a_signal_that_is_missing_proves_nothing() {
        let only_output = LivenessSignals {
            output: at(5),
            ..LivenessSignals::default()
        };
        assert_eq!(
            judged(104, only_output),
            SilenceVerdict::Alive { quiet: at(99) }
        );
        assert_eq!(
            judged(105, only_output),
            SilenceVerdict::Fallen { quiet: at(100) }
        );
        let busy = LivenessSignals {
            processor: Some(at(90)),
            ..only_output
        };
        assert_eq!(judged(105, busy), SilenceVerdict::Alive { quiet: at(15) });
    }

    #[test]
    fn waiting_for_absent_person_turns_silent_later() {
        let waits = |can_answer| LivenessSignals {
            waits: PersonWait::ForPerson { can_answer },
            ..LivenessSignals::default()
        };
        assert_eq!(
            judged(1_000_000, waits(true)),
            SilenceVerdict::Waiting {
                quiet: at(1_000_000)
            }
        );
        assert_eq!(
            judged(399, waits(false)),
            SilenceVerdict::Waiting { quiet: at(399) }
        );
        assert_eq!(
            judged(400, waits(false)),
            SilenceVerdict::Fallen { quiet: at(400) }
        );
        assert_eq!(
            judged(99, waits(true)),
            SilenceVerdict::Alive { quiet: at(99) }
        );
    }

    #[test]
    fn session_has_a_minute_after_final_result() {
        let finished = LivenessSignals {
            output: at(10),
            finished: true,
            ..LivenessSignals::default()
        };
        assert_eq!(
            judged(69, finished),
            SilenceVerdict::Alive { quiet: at(59) }
        );
        assert_eq!(
            judged(70, finished),
            SilenceVerdict::Finished { quiet: at(60) }
        );
        assert_eq!(
            judge_silence(at(70), None, &finished),
            SilenceVerdict::Finished { quiet: at(60) },
            "without a limit, too"
        );
        let busy = LivenessSignals {
            processor: Some(at(65)),
            ..finished
        };
        assert_eq!(judged(70, busy), SilenceVerdict::Alive { quiet: at(5) });
        let short = LivenessSignals {
            finished: false,
            ..finished
        };
        assert_eq!(
            judge_silence(at(70), Some(at(30)), &short),
            SilenceVerdict::Fallen { quiet: at(60) }
        );
    }

    #[test]
    fn running_command_or_subagent_needs_no_person() {
        for (tool, runs, waits) in [
            ("Bash", true, false),
            ("Bash", false, true),
            ("Edit", false, true),
            ("mcp__browser__click", true, true),
            ("AskUserQuestion", true, true),
            ("Task", false, false),
        ] {
            assert_eq!(may_wait_for_person(tool, runs), waits, "{tool} {runs}");
        }
    }

    #[test]
    fn without_a_limit_nothing_falls_silent() {
        assert_eq!(
            judge_silence(at(1_000_000), None, &LivenessSignals::default()),
            SilenceVerdict::Alive {
                quiet: at(1_000_000)
            }
        );
        let later = LivenessSignals {
            output: at(9),
            ..LivenessSignals::default()
        };
        assert_eq!(
            judge_silence(at(5), LIMIT, &later),
            SilenceVerdict::Alive { quiet: at(0) },
            "a moment to come counts as now"
        );
    }
}
