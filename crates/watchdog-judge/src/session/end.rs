//! How a session ended, as far as it bears on the judgement: from its exit, its events and the end of its output. Pure.

use jiff::Timestamp;

use watchdog_agent::last_words::LastWords;
use watchdog_agent::overload::ended_in_overload;
use watchdog_agent::preset::refusal::RefusalAdvice;
use watchdog_agent::stream::{SessionSummary, StreamDialect};
use watchdog_agent::unrunnable;
use watchdog_agent::usage_limit::ended_in_limit;
use watchdog_facts::display::{cut_text, escape_to_one_line, plural};
use watchdog_facts::evidence::{Degradation, ProcessExit, SessionEnd, WarningCode};
use watchdog_facts::refused_tool::ToolRefusals;
use watchdog_facts::secret_shapes::mask_secrets;
use watchdog_process::SessionOutcome;
use watchdog_process::plain_text::plain_text;

/// Bytes of a session's last line in a message.
const LAST_LINE: usize = 200;

/// An ended session, as its process, its events and its output tell of it.
#[derive(Debug)]
pub struct EndedSession<'a> {
    outcome: &'a SessionOutcome,
    summary: &'a SessionSummary,
    advice: Option<&'a RefusalAdvice>,
    last: LastWords,
    exit: ProcessExit,
    now: Timestamp,
}

impl<'a> EndedSession<'a> {
    /// Reads the end of the output. `advice` is what allows tools to this agent, and `now` is when it ended.
    pub fn new(
        outcome: &'a SessionOutcome,
        summary: &'a SessionSummary,
        advice: Option<&'a RefusalAdvice>,
        now: Timestamp,
    ) -> Self {
        let last = LastWords::from_tails(&outcome.tail_stdout, &outcome.tail);
        EndedSession {
            outcome,
            summary,
            advice,
            last,
            exit: outcome.exit.unwrap_or(ProcessExit::Signal(9)),
            now,
        }
    }

    /// The same session as if its process had ended with this exit.
    #[must_use]
    pub fn with_exit(self, exit: ProcessExit) -> Self {
        EndedSession { exit, ..self }
    }

    /// The session that its output names.
    pub fn session_id(&self) -> Option<String> {
        self.last.session_id().map(str::to_owned)
    }

    /// The warnings about the end: refused tools first, then what kept the session from its work.
    pub fn notes(&self) -> Vec<Degradation> {
        self.refused_tools()
            .into_iter()
            .chain(self.cut_short())
            .chain(self.warn_paused())
            .collect()
    }

    /// The last line of a session that failed, or that printed nothing but an error, for a person: masked, and without the indented
    /// lines of a stack trace.
    pub fn last_line(&self) -> Option<String> {
        let printed = plain_text(&self.outcome.tail).text;
        let is_message = |line: &&str| {
            !line.starts_with([' ', '\t', '{']) && line.contains(char::is_alphanumeric)
        };
        let error = (self.summary.error.as_deref()).filter(|_| self.summary.structured);
        let line = error
            .and_then(|error| error.lines().next())
            .or_else(|| printed.lines().rev().find(is_message))?;
        let lines = printed.lines().filter(|line| !line.trim().is_empty());
        let is_error = error.is_none() && lines.count() == 1 && unrunnable::is_error_line(line);
        (!self.exit.success() || is_error).then(|| {
            let line = escape_to_one_line(&mask_secrets(line.trim()));
            cut_text(&line, LAST_LINE)
        })
    }

    /// How it ended. A usage limit counts only if it is the last message of the session.
    pub fn end(&self) -> SessionEnd {
        if self.outcome.timed_out {
            return SessionEnd::TimedOut {
                after: self.outcome.duration,
            };
        }
        let exit = self.exit;
        if let Some(limit) = ended_in_limit(&self.last, exit, self.now) {
            return SessionEnd::RateLimited {
                why: limit.why,
                retry_at: limit.retry_at.or(self.summary.limit_ends),
            };
        }
        // Without a word of a known program, the service's status shows the limit.
        if let (true, Some(429), Some(error), None) = (
            self.summary.structured,
            self.summary.error_status,
            &self.summary.error,
            self.no_room(),
        ) {
            return SessionEnd::RateLimited {
                why: error.clone(),
                retry_at: self.summary.limit_ends,
            };
        }
        if let Some(why) = self.cannot_work() {
            return SessionEnd::Unrunnable { why };
        }
        let tasks = &self.summary.background_tasks;
        if !self.outcome.survivors.is_empty() && !tasks.is_empty() {
            // The agent should report background work that died with the session.
            let named = tasks
                .iter()
                .filter_map(|task| task.get("description")?.as_str());
            let what = named
                .filter(|name| !name.is_empty())
                .take(3)
                .collect::<Vec<_>>()
                .join(", ");
            let count = plural(tasks.len() as u64, "background task");
            return SessionEnd::LeftWork {
                exit,
                what: if what.is_empty() {
                    count
                } else {
                    format!("{count} ({what})")
                },
            };
        }
        match self.cut_short() {
            Some(note) => SessionEnd::CutShort {
                exit,
                why: note.detail,
            },
            None => SessionEnd::Ended { exit },
        }
    }

    /// Why the agent's program cannot work, where that is how its session ended.
    fn cannot_work(&self) -> Option<String> {
        let summary = self.summary;
        let by_words = match (&summary.error, summary.structured) {
            (Some(error), true) => unrunnable::in_error(error, summary.error_status),
            (None, true) => None,
            // A program without known events may still report its error in one of them.
            (_, false) => unrunnable::in_last_words(&self.last, self.exit),
        };
        // Gemini has exit codes of its own for what keeps it from beginning at all.
        by_words
            .or_else(|| match (summary.dialect, self.exit) {
                (Some(StreamDialect::Gemini), ProcessExit::Code(code)) if !summary.structured => {
                    unrunnable::by_gemini_exit(code)
                }
                _ => None,
            })
            .or_else(|| self.refused_request().filter(|_| !self.used_tools()))
    }

    /// Why the service refused the last request, by the error in the session's own structure.
    fn refused_request(&self) -> Option<String> {
        let error = (self.summary.structured).then_some(self.summary.error.as_ref()?)?;
        unrunnable::refusal_in_error(error, self.summary.error_status)
    }

    /// Whether the session worked before its end, so that another one meets that end later, if at all.
    fn used_tools(&self) -> bool {
        let messages = &self.summary.messages;
        messages.iter().any(|message| message.tool_result.is_some())
    }

    /// The warning that a timeout came early because the session stood still, for a quarter of its time at
    /// least: a session that stops itself for a moment has no excuse.
    fn warn_paused(&self) -> Option<Degradation> {
        let SessionOutcome {
            timed_out,
            paused,
            duration,
            ..
        } = self.outcome;
        let detail = format!(
            "the session was stopped for {} s of its time limit, so the timeout is no strike",
            paused.as_secs_f32().ceil()
        );
        (*timed_out && *paused * 4 >= *duration)
            .then_some(Degradation::new(WarningCode::SessionPaused, detail))
    }

    /// The warning about what ended the session before its work was done.
    fn cut_short(&self) -> Option<Degradation> {
        self.no_room()
            .or_else(|| self.limit_of_its_own())
            .or_else(|| self.warn_unconfirmed())
    }

    /// The warning that the service had no room for the session: the agent is not at fault.
    fn no_room(&self) -> Option<Degradation> {
        let by_status = || match (self.summary.structured, self.summary.error_status) {
            (true, Some(408 | 500..=599)) => self.summary.error.clone(),
            _ => None,
        };
        let why = ended_in_overload(&self.last, self.exit, self.now).or_else(by_status)?;
        Some(Degradation::new(
            WarningCode::Overloaded,
            format!("the service had no room for the session: {why}"),
        ))
    }

    /// The warning about a limit of the agent's own program or model that ended the session: the work is not at its end.
    fn limit_of_its_own(&self) -> Option<Degradation> {
        let (ended, error) = (self.summary.ended.as_deref(), self.summary.error.as_deref());
        let by_word =
            ended.is_some_and(|ended| ended.starts_with("error_max") || ended == "length");
        let detail = match self.refused_request().filter(|_| self.used_tools()) {
            Some(why) => format!("its last request failed: {why}"),
            None if by_word || error.is_some_and(unrunnable::is_limit_of_the_answer) => {
                let why = error.or(ended)?;
                format!("the agent's program ended the session at a limit of its own: {why}")
            }
            None => return None,
        };
        Some(Degradation::new(WarningCode::SessionCutShort, detail))
    }

    /// The warning that an exit code of 0 is no success, because the program did not report one: some end so when they are stopped.
    fn warn_unconfirmed(&self) -> Option<Degradation> {
        let summary = self.summary;
        if !summary.structured || !self.exit.success() || summary.reports_success() {
            return None;
        }
        let detail = match (&summary.error, summary.ended.is_some()) {
            (Some(error), true) => {
                format!("the agent's program reported an error, though its exit code is 0: {error}")
            }
            (error, false) if summary.expects_end => {
                let last = error
                    .as_deref()
                    .map(|error| format!(" ({error})"))
                    .unwrap_or_default();
                format!(
                    "the agent's program ended without its last event, as one that is stopped does{last}"
                )
            }
            _ => return None,
        };
        Some(Degradation::new(WarningCode::EndUnconfirmed, detail))
    }

    /// The tools that the agent was refused, and the option that allows them.
    pub fn refusals(&self) -> ToolRefusals {
        let tools = self.summary.refused_tools.clone();
        ToolRefusals {
            allow_with: self.advice.and_then(|advice| advice.option_for(&tools)),
            tools,
        }
    }

    /// The warning about tools that the agent was refused, with the option that allows them.
    fn refused_tools(&self) -> Option<Degradation> {
        let refused = self.refusals();
        let named: Vec<&str> = refused
            .tools
            .iter()
            .map(|refused| refused.tool.as_str())
            .collect();
        let detail = match refused.allow_with {
            Some(option) => format!("the agent was refused tools; allow them with {option}"),
            None if named.is_empty() => return None,
            None => format!("the agent was refused tools: {}", named.join(", ")),
        };
        Some(Degradation::new(WarningCode::ToolsRefused, detail))
    }
}
