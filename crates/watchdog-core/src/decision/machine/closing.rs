//! The parts of every verdict: the facts, their warnings, and texts that several ends share.

use crate::config::settings::OnNoCriteria;
use watchdog_facts::display::{plural, shorten_text};
use watchdog_facts::evidence::{CheckOutcome, LeftOut, LeftOutReason, ProbeOutcome, WarningCode};
use watchdog_facts::shell_line::shell_word;
use watchdog_facts::verdict::{Evidence, Reason, Status, Verdict};

use crate::decision::judgement_rule::JudgementRule;

use super::facts::{ConfigTrust, MachineAction};
use super::stage::MachineStage;
use super::step::CheckMachine;

impl CheckMachine {
    pub(super) fn close(&mut self, verdict: Verdict) -> MachineAction {
        self.stage = MachineStage::Done;
        let mut verdict = self.accept(verdict);
        if let Some(brought) = self
            .brought_words()
            .filter(|brought| !verdict.message.contains(*brought))
        {
            verdict.message = format!("{}; {brought}", verdict.message);
        }
        let verdict = self.count_session(verdict);
        let mut degraded = std::mem::take(&mut self.degraded);
        let of_facts = [
            self.commits.as_ref().map(|commits| &commits.degraded),
            self.changes.as_ref().map(|changes| &changes.degraded),
            self.judged.as_ref().map(|judged| &judged.notes),
        ];
        for note in of_facts.into_iter().flatten().flatten() {
            if !degraded.contains(note) {
                degraded.push(note.clone());
            }
        }
        for path in std::mem::take(&mut self.dropping_links) {
            if self.left_out.iter().all(|skipped| skipped.path != path) {
                let why = LeftOutReason::Excluded;
                self.left_out.push(LeftOut { path, why });
            }
        }
        MachineAction::Conclude(Box::new(Verdict {
            commits: self.commits.clone(),
            changes: self.changes.clone(),
            rescue_commits: self.rescue_commits,
            snapshot: self.snapshot.clone(),
            rescue_branch: self.rescue_branch.clone(),
            left_out: self.left_out.clone(),
            probes_used: self.rounds_used,
            probes_left: self.rounds_left(),
            probes: self.probes.clone(),
            checks: self
                .judged
                .as_ref()
                .map(|judged| judged.results.clone())
                .unwrap_or_default(),
            degraded,
            gates_off: std::mem::take(&mut self.gates_off),
            inherited: self.inherited,
            changed_since_end: self.since_end,
            probe_usage: self
                .probes
                .iter()
                .fold(verdict.probe_usage, |sum, probe| sum.plus(probe.usage)),
            ..verdict
        }))
    }

    /// Turns a `complete` that the configuration does not accept into `review`.
    fn accept(&mut self, verdict: Verdict) -> Verdict {
        if verdict.status() != Status::Complete {
            return verdict;
        }
        let refused = match &self.setup.trust {
            ConfigTrust::Untrusted { allow_with } => Some((
                Reason::Untrusted,
                format!(
                    "{}, but completion.json is not trusted, so its criteria were not judged; read it, then type: {allow_with}",
                    verdict.message
                ),
            )),
            ConfigTrust::Settled
                if !self.setup.has_checks && self.setup.on_no_criteria == OnNoCriteria::Review =>
            {
                Some((
                    Reason::NoCriteria,
                    format!("{}, but no criteria are configured", verdict.message),
                ))
            }
            ConfigTrust::Settled if verdict.evidence < self.setup.require_evidence => Some((
                Reason::Disputed,
                format!(
                    "{}, but its evidence is '{}' and the configuration requires '{}'",
                    verdict.message,
                    verdict.evidence.as_str(),
                    self.setup.require_evidence.as_str()
                ),
            )),
            ConfigTrust::Settled
                if self.setup.require_evidence == Evidence::Verified && self.counts_no_test() =>
            {
                Some((
                    Reason::Disputed,
                    format!(
                        "{}, but no command shows how many tests ran, and the configuration requires 'verified'; have one write a JUnit file (`junit`)",
                        verdict.message
                    ),
                ))
            }
            ConfigTrust::Settled => None,
        };
        match refused {
            Some((reason, message)) => {
                self.by(match reason {
                    Reason::Untrusted => JudgementRule::UntrustedFile,
                    Reason::NoCriteria => JudgementRule::NoCriteriaConfigured,
                    _ => JudgementRule::EvidenceTooWeak,
                });
                Verdict::new(reason, message)
            }
            None => verdict,
        }
    }

    /// Whether commands judged the work, and none of them shows a number of tests: any of them may have run nothing.
    fn counts_no_test(&self) -> bool {
        let results = self.judged.iter().flat_map(|judged| &judged.results);
        let mut commands = results
            .filter(|result| result.kind == "command" && result.outcome == CheckOutcome::Pass)
            .peekable();
        commands.peek().is_some()
            && commands.all(|result| result.tests.is_none() && !result.tests_uncounted)
    }

    /// The feedback of the configured checks that are not met, where they have some. Feedback of
    /// passed checks is left out.
    pub(super) fn unmet(&self) -> Option<String> {
        let judged = self.judged.as_ref().filter(|_| self.checks_unmet())?;
        Some(judged.feedback.clone()).filter(|text| !text.trim().is_empty())
    }

    /// Feedback that ends with what unmet checks miss.
    pub(super) fn and_what_is_unmet(&self, feedback: String) -> String {
        match self.unmet() {
            Some(unmet) => format!("{feedback}\n{unmet}"),
            None => feedback,
        }
    }

    /// Feedback that begins with git's summary of uncommitted work, where there is some.
    pub(super) fn after_what_git_says(&self, feedback: &str) -> String {
        let fact = self
            .changes
            .as_ref()
            .zip(self.commits.as_ref())
            .and_then(|(changes, commits)| changes.not_committed(commits));
        let fact = fact.or_else(|| self.brought_words().map(str::to_owned));
        fact.map_or_else(|| feedback.to_owned(), |fact| format!("{fact}. {feedback}"))
    }

    /// The sentence about commits made here whose new content was all there before.
    pub(super) fn brought_words(&self) -> Option<&str> {
        let commits = self
            .commits
            .as_ref()
            .filter(|commits| commits.brought > 0)?;
        commits
            .degraded
            .iter()
            .find(|note| note.code == WarningCode::Brought)
            .map(|note| note.detail.as_str())
    }

    /// The uncommitted changes beside the commits that decided.
    pub(super) fn leftovers(&self) -> Option<String> {
        let changes = self
            .changes
            .as_ref()
            .filter(|changes| changes.work_left())?;
        Some(format!(
            "; {} left uncommitted{}",
            plural(changes.work, "file"),
            self.kept_in()
        ))
    }

    pub(super) fn note_left_uncommitted(&mut self) {
        let what = match self.rescue_commits {
            0 => format!(
                "{} of the session's work left uncommitted",
                plural(
                    self.changes.as_ref().map_or(0, |changes| changes.work),
                    "file"
                )
            ),
            n => format!(
                "{} of work that the session left uncommitted, and nobody said that it is done",
                plural(n, "rescue commit")
            ),
        };
        self.note(WarningCode::LeftUncommitted, what);
    }

    pub(super) fn kept_in(&self) -> String {
        match &self.snapshot {
            Some(name) => {
                let id = name.strip_prefix("refs/watchdog/rescue/").unwrap_or(name);
                let restore = self
                    .setup
                    .commands
                    .watchdog(&format!("rescue restore {}", shell_word(id)));
                format!("; everything is kept, restore it with: {restore}")
            }
            None => String::new(),
        }
    }

    /// Fate of the uncommitted work, as the end of a sentence.
    pub(super) fn rescued_or_kept(&self) -> String {
        match self.rescue_commits {
            0 => self.kept_in(),
            n => format!("; {} made by rescue", plural(n, "commit")),
        }
    }

    pub(super) fn last_message(&self) -> String {
        match self.probes.last().map(|record| &record.outcome) {
            Some(ProbeOutcome::Reply(reply)) if !reply.message.is_empty() => {
                format!(": {}", first_line(&reply.message))
            }
            _ => String::new(),
        }
    }
}

/// The first lines with text as one: the name of the refusing program, and the start of its message.
pub(super) fn first_lines(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(3)
        .collect();
    shorten_text(&lines.join(": "), 300)
}

/// The first line with text, cut at 200 characters: messages are one line.
pub(super) fn first_line(text: &str) -> String {
    shorten_text(
        text.lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default(),
        200,
    )
}

/// Whether a text of the agent's is more than a word for nothing.
pub(super) fn says_something(text: &str) -> bool {
    let word = text.trim().trim_end_matches('.').to_lowercase();
    !matches!(
        word.as_str(),
        "" | "none" | "n/a" | "null" | "nothing" | "-"
    )
}
