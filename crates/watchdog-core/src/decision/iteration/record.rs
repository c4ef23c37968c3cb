//! The summary of an iteration: for the next prompt, for checks, and for the verdict of the loop.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use watchdog_facts::context::IterationSummary;
use watchdog_facts::display::{cut_text, plural};
use watchdog_facts::phase_words::named_phase;
use watchdog_facts::secret_shapes::mask_secrets;
use watchdog_facts::verdict::{Reason, Verdict};

/// So many of the last iterations are remembered.
pub const KEPT: usize = 20;
/// How many characters of the agent's last words are kept.
pub const WORDS: usize = 200;
/// Subjects of commits that are remembered of each.
const SUBJECTS: usize = 5;
/// Bytes of a line of any of it.
const LINE: usize = 400;

/// The summary of an iteration. Bounded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IterationRecord {
    /// From 1.
    pub number: u32,
    /// When its session began.
    pub at: Timestamp,
    /// Session and judgement together.
    #[serde(rename = "duration_ms", with = "watchdog_facts::millis")]
    pub duration: Duration,
    /// Its verdict.
    pub reason: Reason,
    /// A line of it.
    pub message: String,
    /// How its session ended, where it was not well.
    pub crash: Option<String>,
    /// Commits made here meanwhile, rescue's included; `None` where they could not be read.
    pub commits: Option<u64>,
    /// Subjects of the newest of them.
    pub subjects: Vec<String>,
    /// The last that the agent said.
    pub words: Option<String>,
    /// The phase that these words name last, before they were cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Log of the session's output.
    pub log: Option<String>,
    /// The agent that had the session, where the loop names its agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl IterationRecord {
    /// The summary of a verdict and the session before it.
    pub fn new(number: u32, at: Timestamp, duration: Duration, verdict: &Verdict) -> Self {
        let commits = verdict.commits.as_ref();
        IterationRecord {
            number,
            at,
            duration,
            reason: verdict.reason,
            message: cut_text(&verdict.message, LINE),
            crash: None,
            commits: commits.map(|commits| commits.made_here),
            subjects: commits
                .into_iter()
                .flat_map(|commits| &commits.listed)
                .take(SUBJECTS)
                .map(|c| cut_text(&c.subject, LINE))
                .collect(),
            words: None,
            phase: None,
            log: None,
            agent: None,
        }
    }

    /// Adds how the session ended, where it was not well.
    pub fn with_crash(self, why: Option<&str>) -> Self {
        IterationRecord {
            crash: why.map(|why| cut_text(first_line(why), LINE)),
            ..self
        }
    }

    /// Adds the agent's last words: the first characters of them, on one line. `phases` are those besides the usual ones.
    pub fn with_words(self, words: Option<&str>, phases: &[&str]) -> Self {
        let cut = |words: &str| {
            mask_secrets(words)
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .chars()
                .take(WORDS)
                .collect::<String>()
        };
        let phase = words
            .and_then(|words| named_phase(words, phases))
            .map(|(_, phase)| phase);
        IterationRecord {
            phase,
            words: words.map(cut).filter(|words| !words.is_empty()),
            ..self
        }
    }

    /// A paragraph about it, for the next prompt.
    pub fn summary_line(&self) -> String {
        let mut text = format!(
            "Iteration {}: {}",
            self.number,
            self.words.as_deref().unwrap_or("...")
        );
        let made = match self.commits {
            Some(0) => "no commit".to_string(),
            Some(n) => format!("{} ({})", plural(n, "commit"), self.subjects.join("; ")),
            None if self.reason == Reason::AgentUnrunnable => "no session began".to_string(),
            None => "the commits could not be read".to_string(),
        };
        let crash = self
            .crash
            .as_deref()
            .map(|why| format!("; the session ended badly: {why}"))
            .unwrap_or_default();
        text.push_str(&format!(
            "\n  Judged {} ({}): {made}{crash}",
            self.reason.status().as_str(),
            self.reason.as_str()
        ));
        text
    }

    /// The same for checks.
    pub fn summary(&self) -> IterationSummary {
        IterationSummary {
            iteration: Some(self.number.into()),
            assistant_responses: self.words.iter().cloned().collect(),
            ..IterationSummary::default()
        }
    }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_facts::evidence::{Commit, CommitOrigin, Commits};

    fn record(words: Option<&str>) -> IterationRecord {
        let commit = |subject: &str| Commit {
            id: "a".repeat(40),
            subject: subject.into(),
            origin: CommitOrigin::MadeHere,
        };
        let commits = Commits {
            made_here: 2,
            listed: vec![commit("feat: b"), commit("feat: a")],
            ..Commits::default()
        };
        let verdict = Verdict {
            commits: Some(commits),
            ..Verdict::new(Reason::ChecksUnmet, "a check is not met")
        };
        IterationRecord::new(2, Timestamp::UNIX_EPOCH, Duration::ZERO, &verdict)
            .with_words(words, &[])
    }

    #[test]
    fn last_words_are_cut_at_200_whole_characters() {
        let first_line = |words: Option<&str>| {
            record(words)
                .summary_line()
                .lines()
                .next()
                .unwrap()
                .to_string()
        };
        assert_eq!(
            first_line(Some(&"x".repeat(250))),
            format!("Iteration 2: {}", "x".repeat(200))
        );
        assert_eq!(first_line(None), "Iteration 2: ...");
        assert_eq!(first_line(Some(" \n ")), "Iteration 2: ...");
        assert_eq!(first_line(Some("two\nlines")), "Iteration 2: two lines");
        assert_eq!(
            first_line(Some(&format!("{}🦀🦀", "a".repeat(199)))),
            format!("Iteration 2: {}🦀", "a".repeat(199))
        );
    }

    #[test]
    fn checks_get_the_number_and_the_last_words() {
        let summary_of = |words| {
            let summary = record(words).summary();
            (summary.iteration, summary.assistant_responses)
        };
        assert_eq!(
            summary_of(Some("two\nlines")),
            (Some(2), vec!["two lines".to_owned()])
        );
        assert_eq!(summary_of(None), (Some(2), Vec::new()));
    }

    #[test]
    fn summary_reports_a_session_that_never_began() {
        let verdict = Verdict::new(Reason::AgentUnrunnable, "the agent cannot be run");
        let record = IterationRecord::new(1, Timestamp::UNIX_EPOCH, Duration::ZERO, &verdict);
        assert!(
            record
                .summary_line()
                .ends_with("Judged failed (agent_unrunnable): no session began"),
            "{}",
            record.summary_line()
        );
    }

    #[test]
    fn commits_verdict_and_a_bad_end_are_told() {
        assert!(
            record(None)
                .summary_line()
                .ends_with("\n  Judged incomplete (checks_unmet): 2 commits (feat: b; feat: a)")
        );
        let crashed = IterationRecord {
            commits: None,
            ..record(None).with_crash(Some("exit code 1\nand more"))
        };
        assert!(
            crashed
                .summary_line()
                .ends_with(": the commits could not be read; the session ended badly: exit code 1"),
            "{}",
            crashed.summary_line()
        );
    }
}
