//! The ends of the decision tree: reason, evidence, message and feedback of each.

use jiff::Timestamp;

use crate::config::settings::OnNoCriteria;
use watchdog_facts::display::{name_first, plural};
use watchdog_facts::evidence::{
    CheckOutcome, CheckResult, OutcomeBeforeWork, ProbeOutcome, Reply, ReplyStatus, SessionEnd,
    UnreadableFact, WarningCode,
};
use watchdog_facts::verdict::{Evidence, Reason, Verdict};

use crate::decision::judgement_rule::JudgementRule;

use super::closing::{first_line, first_lines, says_something};
use super::facts::{ConfigTrust, MachineAction, UnaskedCause};
use super::stage::ProbeStopReason;
use super::step::CheckMachine;

/// After this many "nothing to do" in a row for a spec the verdict is a review.
const NOTHING_TO_DO_LIMIT: u32 = 3;

/// The feedback where no other text names the remaining work.
const FINISH: &str = "Finish the work and commit it.";

/// A question was put, and the agent named a limit.
const AGENT_AT_LIMIT: &str = "the agent met a usage limit";

/// No question was put.
const NO_QUESTION_PUT: &str = "the agent was not asked";

impl CheckMachine {
    pub(super) fn conclude_new_commits(&mut self) -> MachineAction {
        self.by(JudgementRule::CommitsDecide);
        let made = self.commits.as_ref().map_or(0, |commits| commits.made_here);
        let mut message = format!("{} made since the baseline", plural(made, "commit"));
        // If a person is asked for want of criteria, that sentence says so.
        if self.setup.trust == ConfigTrust::Settled
            && self.setup.on_no_criteria == OnNoCriteria::Git
        {
            message.push_str("; no checks are configured, so nothing judged what they do");
        }
        if let Some(leftovers) = self.leftovers() {
            message.push_str(&leftovers);
        }
        match &self.setup.session {
            Some(SessionEnd::TimedOut { .. }) => {
                message.push_str("; the session was ended by its timeout")
            }
            Some(SessionEnd::Idle { .. }) => {
                message.push_str("; the session fell silent and was ended")
            }
            Some(SessionEnd::RateLimited { .. }) => {
                message.push_str("; the session then met a usage limit")
            }
            Some(SessionEnd::LeftWork { what, .. }) => {
                message.push_str(&format!("; the session left work running: {what}"))
            }
            Some(SessionEnd::Unrunnable { why }) => {
                message.push_str(&format!("; the agent cannot go on: {}", first_line(why)))
            }
            Some(SessionEnd::CutShort { why, .. }) => {
                message.push_str(&format!("; the session was cut short: {}", first_line(why)))
            }
            Some(
                SessionEnd::Ended { .. }
                | SessionEnd::OverLimit { .. }
                | SessionEnd::NotStarted { .. }
                | SessionEnd::NotKept { .. },
            )
            | None => {}
        }
        self.conclude(Verdict {
            evidence: Evidence::Committed,
            ..Verdict::new(Reason::NewCommits, message)
        })
    }

    pub(super) fn conclude_rescued(&mut self) -> MachineAction {
        let message = format!(
            "the agent says that everything is done; {} made by rescue",
            plural(self.rescue_commits, "commit")
        );
        self.conclude(Verdict {
            evidence: Evidence::Claimed,
            ..Verdict::new(Reason::Rescued, message)
        })
    }

    /// The findings of such passed checks, one line each.
    fn join_findings(&self, is_such: fn(&CheckResult) -> bool) -> Option<String> {
        let results = self
            .judged
            .as_ref()?
            .results
            .iter()
            .filter(|result| result.outcome == CheckOutcome::Pass && is_such(result));
        let lines: Vec<String> = results
            .map(|result| first_line(&result.feedback))
            .filter(|line| !line.is_empty())
            .take(3)
            .collect();
        (!lines.is_empty()).then(|| lines.join("; "))
    }

    /// The files that existed during the checks and are in no commit: a pass may depend on them. A scratch checkout had none of them.
    fn judged_beside(&self) -> Option<String> {
        let judged = self.judged.as_ref()?;
        let in_worktree =
            |result: &CheckResult| result.outcome == CheckOutcome::Pass && result.tree.is_none();
        if !judged.results.iter().any(in_worktree) {
            return None;
        }
        let skipped: Vec<&str> =
            (self.left_out.iter().map(|skipped| skipped.path.as_str())).collect();
        let leaving_links = self
            .changes
            .as_ref()
            .map_or(0, |changes| changes.leaving_links);
        if skipped.is_empty() {
            return (leaving_links > 0)
                .then(|| format!("{} out of the worktree", plural(leaving_links, "link")));
        }
        Some(name_first(&skipped, 3))
    }

    /// Whether a check that passes now failed when the work began.
    fn failed_before(&self) -> bool {
        let results = self
            .judged
            .as_ref()
            .map_or(&[][..], |judged| &judged.results);
        results.iter().any(|result| {
            result.outcome == CheckOutcome::Pass
                && result.before == OutcomeBeforeWork::Failed
                && result.kind != "git"
        })
    }

    /// Every check passed, and the session weakened one: a person decides.
    fn conclude_tests_weakened(&mut self, name: &str, why: &str) -> MachineAction {
        let allow = self.setup.commands.watchdog("snapshot --accept-criteria");
        self.conclude_advising(
            Reason::TestsWeakened,
            format!("{name}: {why}; if that is right: {allow}"),
            Some(format!(
                "{why}. Put the tests back, or say that the task changes what they expect."
            )),
        )
    }

    pub(super) fn conclude_checks_passed(&mut self) -> MachineAction {
        let weakened = self
            .judged
            .iter()
            .flat_map(|judged| &judged.results)
            .find(|result| (result.proof.as_ref()).is_some_and(|proof| !proof.weakened.is_empty()));
        if let Some(CheckResult { name, feedback, .. }) = weakened.cloned() {
            return self.conclude_tests_weakened(&name, &feedback);
        }
        let (mut evidence, passed_before) = self
            .judged
            .as_ref()
            .map_or((Evidence::None, false), |judged| {
                (judged.evidence, judged.all_passed_before)
            });
        let mut message = "every check passed".to_string();
        if let Some(findings) = self.join_findings(|_| true) {
            message.push_str(&format!(" ({findings})"));
        }
        if passed_before {
            let shown = if self.has_commits() {
                Evidence::Committed
            } else {
                Evidence::None
            };
            evidence = evidence.min(shown);
            message.push_str(", as before the work began");
        } else if evidence == Evidence::Committed && !self.failed_before() {
            message.push_str("; whether they passed before the work began is unknown");
        }
        if let Some(beside) = self.judged_beside() {
            evidence = evidence.min(Evidence::Committed);
            self.note(
                WarningCode::JudgedWithUncommitted,
                format!("the checks passed beside files that are in no commit: {beside}"),
            );
        }
        if self.rescue_commits > 0 {
            message.push_str(&format!(
                "; {} made by rescue",
                plural(self.rescue_commits, "commit")
            ));
        } else if let Some(leftovers) = self.leftovers() {
            message.push_str(&leftovers);
        }
        self.conclude(Verdict {
            evidence,
            // They say why a pass is worth less.
            feedback: self.join_findings(|result| result.proof.is_some()),
            ..Verdict::new(Reason::ChecksPassed, message)
        })
    }

    pub(super) fn conclude_checks_unmet(&mut self) -> MachineAction {
        let feedback = self
            .unmet()
            .unwrap_or_else(|| "A configured check is not met.".to_string());
        let leftovers = self.leftovers().unwrap_or_default();
        let rescued = match self.rescue_commits {
            0 => leftovers,
            n => format!("; {} made by rescue", plural(n, "commit")),
        };
        let message = format!(
            "a check is not met: {}{rescued}{}",
            first_line(&feedback),
            self.why_nobody_answered()
        );
        self.conclude(Verdict {
            retry_at: self.limit_ends(),
            feedback: Some(feedback),
            ..Verdict::new(Reason::ChecksUnmet, message)
        })
    }

    pub(super) fn conclude_from_checks(&mut self, reason: Reason) -> MachineAction {
        let feedback = self.unmet();
        let why = feedback
            .as_deref()
            .map(|text| format!(": {}", first_line(text)))
            .unwrap_or_default();
        let message = match reason {
            Reason::VerifyUnrunnable => format!("a check could not run{why}"),
            Reason::VerifyTimeout => format!("a check did not end in time{why}"),
            Reason::BackgroundWork => format!("a check waits{why}"),
            _ => format!("a check ran without a result{why}"),
        };
        self.conclude_advising(reason, message, feedback)
    }

    pub(super) fn conclude_nothing_to_do(&mut self) -> MachineAction {
        let streak = self.setup.earlier.nothing_to_do_streak + 1;
        let beside = (self.commits.as_ref()).is_some_and(|commits| !commits.beside.is_empty());
        if streak >= NOTHING_TO_DO_LIMIT && !beside {
            self.by(JudgementRule::ThirdNothingToDo);
            let message = format!(
                "the agent says {streak} times in a row that nothing is to be done, and git shows nothing"
            );
            return self.conclude_with(Reason::RepeatedNothingToDo, message);
        }
        let leftovers = match self.left_out.len() as u64 {
            0 => String::new(),
            n => format!("; {} left uncommitted on purpose", plural(n, "file")),
        };
        let message = format!(
            "the agent says that everything is done; git shows no work of this session{leftovers}{}",
            self.kept_in()
        );
        self.conclude(Verdict {
            evidence: Evidence::Claimed,
            ..Verdict::new(Reason::NothingToDo, message)
        })
    }

    /// Uncommitted work should be committed, and it could not be.
    pub(super) fn conclude_not_committed(&mut self) -> MachineAction {
        self.by(JudgementRule::RescueMustSave);
        let why = match &self.rescue_failed {
            Some(why) => format!("rescue failed: {}", first_line(why)),
            None if !self.rescue_commits_allowed() => "rescue may not commit here".to_string(),
            None => "rescue had nothing that it could commit".to_string(),
        };
        let result = match self.rescue_commits {
            0 => "uncommitted work is left".to_string(),
            n => format!("{} made by rescue", plural(n, "commit")),
        };
        let message = format!("{result}; {why}{}", self.kept_in());
        self.conclude_with(Reason::RescueIncomplete, message)
    }

    /// The work is committed, but not where it belongs: whether it may go there is for a person.
    pub(super) fn conclude_on_fallback_branch(&mut self) -> MachineAction {
        self.by(JudgementRule::RescueMustSave);
        let branch = self.rescue_branch.clone().unwrap_or_default();
        let why = self.rescue_failed.clone().unwrap_or_default();
        let here = match self.rescue_commits {
            0 => String::new(),
            n => format!("{} made by rescue here; ", plural(n, "commit")),
        };
        let message = format!(
            "{here}the work is on the branch '{branch}' instead: {}{}",
            first_lines(&why),
            self.kept_in()
        );
        self.note(WarningCode::RescueElsewhere, why);
        self.conclude_with(Reason::RescueIncomplete, message)
    }

    pub(super) fn conclude_lost(&mut self, lost: &[String]) -> MachineAction {
        self.by(JudgementRule::RescueMustSave);
        let named = name_first(lost, 3);
        let (are, were) = if lost.len() == 1 {
            ("is", "it was")
        } else {
            ("are", "they were")
        };
        let why = (self.rescue_failed.as_deref())
            .map(|why| format!(": {}", first_lines(why)))
            .unwrap_or_default();
        let message = format!(
            "after the rescue {named} {are} neither in HEAD nor in the work tree as {were} before{why}{}",
            self.kept_in()
        );
        self.conclude_with(Reason::RescueIncomplete, message)
    }

    pub(super) fn conclude_disputed(&mut self) -> MachineAction {
        self.by(JudgementRule::DisputedReply);
        let why = self.disputed.clone().unwrap_or_default();
        // An answer that stands for a later round was given once.
        let times = self
            .probes
            .iter()
            .filter(|record| record.disputed.is_some() && !record.stands())
            .count()
            .max(1);
        let message = format!(
            "the agent contradicts what is known ({}): {why}{}",
            plural(times as u64, "answer"),
            self.kept_in()
        );
        self.conclude_with(Reason::Disputed, message)
    }

    pub(super) fn conclude_agent_stopped(&mut self) -> MachineAction {
        let last_message = self.last_message();
        let failed = self
            .rescue_failed
            .as_deref()
            .map(|why| format!("; rescue failed: {}", first_line(why)))
            .unwrap_or_default();
        let message = format!(
            "the agent says that it should not go on{last_message}{failed}{}",
            self.kept_in()
        );
        self.conclude_with(Reason::AgentStopped, message)
    }

    /// `--once`: the agent is alive, and a later call checks again.
    pub(super) fn conclude_alive(&mut self, reply: Reply) -> MachineAction {
        let last_message = self.last_message();
        let probes_left = format!("{} left", plural(self.rounds_left().into(), "probe"));
        if reply.status == ReplyStatus::Waiting {
            let message = format!(
                "the agent waits for work that runs elsewhere{last_message}; {probes_left}"
            );
            return self.conclude_with(Reason::BackgroundWork, message);
        }
        let message = format!("the agent says that it still works{last_message}; {probes_left}");
        let next = reply.next_action.filter(|text| says_something(text));
        let feedback =
            self.and_what_is_unmet(self.after_what_git_says(next.as_deref().unwrap_or(FINISH)));
        self.conclude_advising(Reason::Working, message, Some(feedback))
    }

    pub(super) fn conclude_no_probe(&mut self) -> MachineAction {
        let cut = match &self.setup.session {
            Some(SessionEnd::CutShort { why, .. }) => {
                format!("; the session was cut short: {}", first_line(why))
            }
            _ => String::new(),
        };
        let brought = self.brought_words();
        let message = format!(
            "{}, and the agent was not asked{cut}{}",
            brought.unwrap_or("no new commit"),
            self.kept_in()
        );
        let has_commits = self.work_left() || brought.is_some();
        let nothing = if has_commits {
            FINISH
        } else {
            "No new commit was made. Finish the work and commit it."
        };
        let feedback = self
            .unmet()
            .unwrap_or_else(|| self.after_what_git_says(nothing));
        self.conclude_advising(Reason::Unfinished, message, Some(feedback))
    }

    /// No question was possible: commits and checks are all that there is to judge by.
    pub(super) fn conclude_unasked(&mut self) -> MachineAction {
        if self.checks_unmet() {
            return self.conclude_checks_unmet();
        }
        if self.rescue_failed.is_some() {
            return self.conclude_not_committed();
        }
        if self.has_commits() {
            self.note_left_uncommitted();
            return self.conclude_new_commits();
        }
        let uncommitted = match self.rescue_commits {
            0 => self.leftovers().unwrap_or_default(),
            n => format!("; {} made by rescue", plural(n, "commit")),
        };
        let cause = self
            .setup
            .unasked
            .map_or("the agent was not asked", UnaskedCause::clause);
        let message = format!("no new commit, and {cause}{uncommitted}");
        let feedback = self.after_what_git_says(FINISH);
        self.conclude_advising(Reason::Unfinished, message, Some(feedback))
    }

    pub(super) fn conclude_cut_short(&mut self) -> MachineAction {
        let what = match self.rescue_commits {
            0 => format!("its uncommitted work was left as it is{}", self.kept_in()),
            n => format!("{} made by rescue", plural(n, "commit")),
        };
        let how = self.how_it_was_cut();
        let message = format!("the session {how}; {what}");
        let feedback = self.after_what_git_says(&format!(
            "The session {how}. Go on from where it stopped, and commit."
        ));
        let feedback = self.and_what_is_unmet(feedback);
        self.conclude_advising(Reason::Unfinished, message, Some(feedback))
    }

    fn how_it_was_cut(&self) -> String {
        match &self.setup.session {
            Some(SessionEnd::Idle { after }) => format!(
                "fell silent and was ended after {} s of silence",
                after.as_secs()
            ),
            Some(SessionEnd::CutShort { why, .. }) => format!("was cut short: {}", first_line(why)),
            _ => "was ended by its timeout".to_string(),
        }
    }

    /// The session is over without a claim of completion.
    pub(super) fn conclude_not_done(&mut self) -> MachineAction {
        let reply = match self.probes.last().map(|record| &record.outcome) {
            Some(ProbeOutcome::Reply(reply)) => Some(reply.clone()),
            _ => None,
        };
        let mut message = match &reply {
            Some(_) => format!(
                "the agent does not say that the work is done{}",
                self.last_message()
            ),
            None => "nobody says that the work is done".to_string(),
        };
        match self.rescue_commits {
            0 => message.push_str(&self.leftovers().unwrap_or_default()),
            n => message.push_str(&format!("; {} made by rescue", plural(n, "commit"))),
        }
        let pending: Vec<String> = reply
            .iter()
            .flat_map(|reply| reply.tasks_pending.iter())
            .map(|task| first_line(task))
            .take(20)
            .collect();
        let next = reply
            .and_then(|reply| reply.next_action)
            .filter(|text| says_something(text));
        let feedback = match (pending.is_empty(), next) {
            (false, _) => format!(
                "Not done yet: {}. Finish this, and commit.",
                pending.join("; ")
            ),
            (true, Some(next)) => next,
            (true, None) => FINISH.to_string(),
        };
        let feedback = self.after_what_git_says(&feedback);
        self.conclude_advising(Reason::Unfinished, message, Some(feedback))
    }

    /// git waits for somebody to finish something: nothing is complete before that.
    pub(super) fn conclude_half_done(&mut self) -> MachineAction {
        let (operation, conflicts) = match &self.commits {
            Some(commits) => (commits.operation, commits.conflicts.clone()),
            None => (None, Vec::new()),
        };
        let named = name_first(&conflicts, 5);
        let files = if conflicts.is_empty() {
            String::new()
        } else {
            format!("conflicts in {named}")
        };
        let (what, todo) = match operation {
            Some(operation) => {
                let word = operation.as_str();
                let article = if word.starts_with('a') { "an" } else { "a" };
                let beside = if files.is_empty() {
                    String::new()
                } else {
                    format!(" ({files})")
                };
                (
                    format!("{article} {word} is in progress{beside}"),
                    format!("Finish or abort the {word} that is in progress{beside}, then go on."),
                )
            }
            None => (
                format!("there are {files}"),
                format!("Resolve the {files}, and commit."),
            ),
        };
        let message = format!(
            "{what}; nothing is complete before it is finished or aborted{}",
            self.kept_in()
        );
        self.conclude_advising(Reason::OperationInProgress, message, Some(todo))
    }

    /// Something that the session began still runs.
    pub(super) fn conclude_survivors(&mut self) -> MachineAction {
        self.by(JudgementRule::SurvivorsHold);
        let named = self
            .setup
            .survivors
            .iter()
            .take(3)
            .cloned()
            .collect::<Vec<_>>()
            .join(", ");
        let message = format!(
            "work that the session began still runs: {named}; the agent is asked when it has ended{}",
            self.kept_in()
        );
        self.conclude_with(Reason::BackgroundWork, message)
    }

    /// A budget or the deadline: the verdict reports the session's results, and is no success.
    pub(super) fn conclude_over_limit(&mut self) -> MachineAction {
        let Some(SessionEnd::OverLimit { stop }) = self.setup.session.clone() else {
            return self.conclude_with(Reason::BudgetExhausted, "a limit is reached");
        };
        let made = self.commits.as_ref().map_or(0, |commits| commits.made_here);
        let mut message = stop.why;
        if made > 0 {
            message.push_str(&format!(
                "; {} made since the baseline",
                plural(made, "commit")
            ));
        }
        match (self.rescue_commits, &self.rescue_failed) {
            (0, None) => message.push_str(&self.leftovers().unwrap_or_default()),
            (0, Some(why)) => message.push_str(&format!(
                "; rescue failed: {}{}",
                first_line(why),
                self.kept_in()
            )),
            (n, _) => message.push_str(&format!("; {} made by rescue", plural(n, "commit"))),
        }
        self.conclude_with(stop.reason, message)
    }

    /// The session is over, and work that it began is not.
    pub(super) fn conclude_left_work(&mut self) -> MachineAction {
        let what = match &self.setup.session {
            Some(SessionEnd::LeftWork { what, .. }) => first_line(what),
            _ => String::new(),
        };
        let message = format!(
            "the session ended, and work that it began still runs: {what}{}",
            self.kept_in()
        );
        self.conclude_advising(Reason::BackgroundWork, message, self.unmet())
    }

    /// The session was refused tools and left nothing: another one would meet the same, and no answer of its agent would change that.
    pub(super) fn conclude_refused(&mut self) -> MachineAction {
        self.by(JudgementRule::ToolsRefused);
        let why = self
            .setup
            .notes
            .iter()
            .find(|note| note.code == WarningCode::ToolsRefused)
            .map(|note| note.detail.clone());
        let why = why.unwrap_or_else(|| "the agent was refused tools".into());
        let feedback = match self.unmet() {
            Some(unmet) => format!("{unmet}\n{why}"),
            None => format!(
                "{why}. The session left no commit and no change: start it again with that option."
            ),
        };
        // The warning's sentence is added where verdicts are recorded.
        let message = "the session could do nothing: it left no commit and no change";
        self.conclude_advising(Reason::MaxIterations, message, Some(feedback))
    }

    /// A session that was cut short changed nothing.
    pub(super) fn conclude_session_cut(&mut self) -> MachineAction {
        let how = self.how_it_was_cut();
        let reason = match &self.setup.session {
            Some(SessionEnd::CutShort { .. }) => {
                let feedback =
                    format!("The session {how}. It left no commit and no change: begin again.");
                let message = format!("the session {how}; it left no commit and no change");
                return self.conclude_advising(Reason::Unfinished, message, Some(feedback));
            }
            Some(SessionEnd::Idle { .. }) => Reason::SessionIdle,
            _ => Reason::SessionTimeout,
        };
        let message = format!("the session {how}, with no commit and no change");
        self.conclude(Verdict {
            not_a_strike_because: Some("activity_of_the_session"),
            ..Verdict::new(reason, message)
        })
    }

    pub(super) fn conclude_session_limit(&mut self) -> MachineAction {
        let (why, retry_at) = match &self.setup.session {
            Some(SessionEnd::RateLimited { why, retry_at }) => (why.clone(), *retry_at),
            _ => (String::new(), None),
        };
        self.conclude_limit("the session met a usage limit", &why, retry_at)
    }

    /// `what` makes it wait; `why` is the text of whoever says so.
    fn conclude_limit(
        &mut self,
        what: &str,
        why: &str,
        retry_at: Option<Timestamp>,
    ) -> MachineAction {
        let message = format!("{what}: {}{}", first_line(why), self.rescued_or_kept());
        self.conclude(Verdict {
            retry_at,
            ..Verdict::new(Reason::RateLimited, message)
        })
    }

    /// The session's own last words: why its program cannot work.
    pub(super) fn conclude_session_unrunnable(&mut self) -> MachineAction {
        let why = match &self.setup.session {
            Some(SessionEnd::Unrunnable { why }) => why.clone(),
            _ => String::new(),
        };
        self.conclude_agent_unrunnable(&why)
    }

    pub(super) fn conclude_agent_unrunnable(&mut self, why: &str) -> MachineAction {
        let message = format!(
            "the agent cannot be run: {}{}",
            first_line(why),
            self.rescued_or_kept()
        );
        self.conclude_with(Reason::AgentUnrunnable, message)
    }

    /// No answer came that could be used: the end that has a name of its own, or that no probe was answered.
    pub(super) fn conclude_without_answer(&mut self) -> MachineAction {
        self.by(JudgementRule::NoUsableReply);
        match self.no_more_questions.clone() {
            Some(ProbeStopReason::RateLimited { why, retry_at }) => {
                return self.conclude_limit(AGENT_AT_LIMIT, &why, retry_at);
            }
            Some(ProbeStopReason::Withheld { why, retry_at }) => {
                return self.conclude_limit(NO_QUESTION_PUT, &why, retry_at);
            }
            Some(ProbeStopReason::Unrunnable { why }) => {
                return self.conclude_agent_unrunnable(&why);
            }
            Some(ProbeStopReason::NoAnswer) | None => {}
        }
        let how = match self.probes.last().map(|record| &record.outcome) {
            Some(outcome) => {
                let why = outcome
                    .why()
                    .map(|why| format!(": {}", first_line(why)))
                    .unwrap_or_default();
                format!("the last probe failed ({}){why}", outcome.as_str())
            }
            None => "no probe was answered".to_string(),
        };
        let message = format!("{how}{}", self.rescued_or_kept());
        self.conclude_advising(Reason::ProbeError, message, self.unmet())
    }

    /// The reason why no probe was possible, behind another reason.
    fn why_nobody_answered(&self) -> String {
        match &self.no_more_questions {
            Some(ProbeStopReason::RateLimited { why, .. }) => {
                format!("; {AGENT_AT_LIMIT}: {}", first_line(why))
            }
            Some(ProbeStopReason::Withheld { why, .. }) => {
                format!("; {NO_QUESTION_PUT}: {}", first_line(why))
            }
            Some(ProbeStopReason::Unrunnable { why }) => {
                format!("; the agent cannot be run: {}", first_line(why))
            }
            Some(ProbeStopReason::NoAnswer) | None => String::new(),
        }
    }

    fn limit_ends(&self) -> Option<Timestamp> {
        match &self.no_more_questions {
            Some(
                ProbeStopReason::RateLimited { retry_at, .. }
                | ProbeStopReason::Withheld { retry_at, .. },
            ) => *retry_at,
            _ => None,
        }
    }

    pub(super) fn conclude_unreadable(&mut self, unreadable: UnreadableFact) -> MachineAction {
        self.by(JudgementRule::UnknownIsNoZero);
        let placed = unreadable.with_commands(&self.setup.commands);
        self.conclude(Verdict::unreadable(placed))
    }

    pub(super) fn conclude_interrupted(&mut self) -> MachineAction {
        let made = match &self.commits {
            Some(commits) => format!("{} made here so far", plural(commits.made_here, "commit")),
            None => "the commits could not be read".to_string(),
        };
        let message = format!("interrupted; {made}{}", self.kept_in());
        self.conclude_with(Reason::Interrupted, message)
    }

    /// Every probe was spent. A strike where nothing speaks against it.
    pub(super) fn conclude_timeout(
        &mut self,
        not_a_strike_because: Option<&'static str>,
    ) -> MachineAction {
        let message = match self.rounds_used {
            0 => format!("no new commit, and no probe is allowed{}", self.kept_in()),
            n => format!(
                "{} spent, and no commit came{}",
                plural(n.into(), "probe"),
                self.kept_in()
            ),
        };
        let strike = not_a_strike_because.is_none();
        self.conclude(Verdict {
            strike,
            not_a_strike_because,
            ..Verdict::new(Reason::MaxProbes, message)
        })
    }

    pub(super) fn conclude_with(
        &mut self,
        reason: Reason,
        message: impl Into<String>,
    ) -> MachineAction {
        self.conclude(Verdict::new(reason, message))
    }
}
