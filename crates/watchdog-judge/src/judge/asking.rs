//! Probes the agent for a judgement: finds the session to resume, reuses a valid earlier answer, and checks the answer against git.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use crate::session::{ProbeTarget, SessionIdSource};
use watchdog_agent::preset::verdict_basis::VerdictBasis;
use watchdog_agent::probe::{self, ProbeRequest};
use watchdog_agent::prompt::{QuestionFacts, probe_prompt};
use watchdog_agent::reply_claims::ReplyClaims;
use watchdog_core::decision::commit_gate::RescueCaller;
use watchdog_core::decision::machine::EarlierRounds;
use watchdog_core::decision::standing_answer::{JudgementTrigger, is_last_word, stands_until};
use watchdog_facts::agent_source::AgentSource;
use watchdog_facts::display::plural;
use watchdog_facts::evidence::{Changes, Commits, ProbeOutcome, Reply, ReplyStatus, WarningCode};
use watchdog_facts::verdict::{ProbeRecord, ProbeUsage, Reason, Verdict};
use watchdog_git::RemoteState;
use watchdog_process::CancelFlag;
use watchdog_store::answer::StandingAnswer;
use watchdog_store::{RecordType, StoreError, is_first_note, short_hash};

use super::executor::ActionExecutor;
use super::session_agent::{
    SightedAgent, agent_of_question, cost_beyond_the_last_end, held, in_words, limit_met,
};
use super::sightings::JudgementProbes;
use crate::clock::{measure_since, now};
use crate::wire::verdict_json::JudgedSession;

impl ActionExecutor {
    fn sent_probe(&self) -> std::sync::MutexGuard<'_, JudgementProbes> {
        self.asking.seen.lock().expect("mutex poisoned")
    }

    /// Reuses the last answer about this spec if it is still valid. Then watchdog does not probe the agent again, and the number of
    /// remaining rounds is what it was when that answer led to its verdict. `ran_a_session` = this call just ran a session, which makes a
    /// new state.
    pub fn stand_by_the_last_answer(
        &mut self,
        ran_a_session: bool,
        earlier: &mut EarlierRounds,
    ) -> Result<(), StoreError> {
        let store = self.store.as_ref();
        let overrides = &self.input.overrides;
        if ran_a_session || overrides.no_probe || self.input.recorded_at.is_none() {
            return Ok(());
        }
        let Some(mut last) =
            StandingAnswer::read_row(store, &self.input.worktree_id, &self.input.spec)?
        else {
            return Ok(());
        };
        let now = now();
        if last.at > now {
            // The clock was set back: the answer counts as given now, and its pause ends.
            (last.at, last.since) = (now, last.since.min(now));
            last.write_row(store, &self.input.worktree_id, &self.input.spec)?;
        }
        let judged = if overrides.once {
            JudgementTrigger::Again
        } else {
            JudgementTrigger::Typed
        };
        if stands_until(&last.outcome, last.at, last.pauses, judged, now).is_none() {
            return Ok(());
        }
        if self
            .state(&(None, None))
            .is_none_or(|state| state != last.state)
        {
            return Ok(());
        }
        if last.last_word || !overrides.once {
            // The reused answer takes the place of the last round.
            let most = self.input.settings.completion_check.max_probes;
            earlier.rounds_used = most.saturating_sub(1);
            let replied = matches!(last.outcome, ProbeOutcome::Reply(_));
            (earlier.answered, earlier.alive) = (u32::from(replied), u32::from(replied));
        }
        if [Reason::NothingToDo, Reason::RepeatedNothingToDo]
            .iter()
            .any(|reason| reason.as_str() == last.reason)
        {
            earlier.nothing_to_do_streak = earlier.nothing_to_do_streak.saturating_sub(1);
        }
        self.asking.standing = Some(last);
        Ok(())
    }

    /// Whether the session ran no known agent, and none is configured: neither its command, its processes, its output nor a hook named
    /// one, and no conversation of this folder grew during it.
    pub fn knows_no_agent(&self) -> bool {
        let is_named = self
            .command_env
            .is_agent_named(self.input.names_agent, &self.agent);
        // Processes tell no session: it must be known whom of that agent to ask.
        let is_seen = self.ran.source == Some(AgentSource::Processes);
        if is_named || !is_seen && self.ran != SightedAgent::default() {
            return false;
        }
        let whom = self.whom();
        // Without conversations recorded at a baseline, the latest is the one that was meant.
        whom.resume.is_none() && (whom.expected.is_none() || whom.has_grown == Some(false))
    }

    /// The cost of plans and judges, without probes.
    pub fn spent_beside(&self) -> ProbeUsage {
        self.sent_probe().beside
    }

    /// Adds the cost of a plan or a judge.
    pub(super) fn spend_beside(&self, usage: ProbeUsage) {
        let mut sent = self.sent_probe();
        sent.beside = sent.beside.plus(usage);
    }

    /// The session that the judgement is about; `None` where nothing had to know it.
    pub fn session(&self) -> Option<JudgedSession> {
        let sent = self.sent_probe();
        let whom = sent.whom.as_ref()?;
        let answered = sent
            .last
            .as_ref()
            .and_then(|(_, record)| record.session_id.clone());
        let id = whom
            .resume
            .clone()
            .or(answered)
            .or_else(|| whom.expected.clone());
        Some(JudgedSession {
            id,
            agent: self.ran.agent.clone(),
            known_by: whom.known_by.as_str(),
            ..JudgedSession::unknown()
        })
    }

    fn session_folder(&self) -> &Path {
        self.input.session_folder(self.store.as_ref())
    }

    /// The session to probe. Found once and then cached, except for the latest conversation, which may grow.
    pub(super) fn whom(&self) -> ProbeTarget {
        if let Some(whom) = self
            .sent_probe()
            .whom
            .clone()
            .filter(|whom| whom.known_by != SessionIdSource::Latest)
        {
            return whom;
        }
        let source = self.transcripts().filter(|_| self.agent.probe.is_none());
        let folder = self.session_folder();
        let recorded = ProbeTarget::find_for_spec(
            self.store.as_ref(),
            (&self.input.worktree_id, &self.input.spec),
            (folder, source.as_ref()),
            self.session_id.as_deref(),
            self.input.record_at,
        );
        // Without readable records only the latest conversation is known; the writing functions report the error.
        let whom = recorded.unwrap_or_else(|_| ProbeTarget {
            resume: self.session_id.clone(),
            expected: source
                .filter(|source| source.asks_latest)
                .and_then(|source| source.latest(folder))
                .map(|transcript| transcript.session_id),
            known_by: SessionIdSource::Latest,
            has_grown: None,
        });
        self.sent_probe().whom = Some(whom.clone());
        whom
    }

    /// Puts a question, and notes what its answer means for a rescue.
    pub(super) fn put_question(
        &self,
        (number, contradiction): (u32, Option<&str>),
        facts: &(Option<Commits>, Option<Changes>),
        cancel: &CancelFlag,
    ) -> ProbeRecord {
        let record = self.ask(number, contradiction, facts, cancel);
        self.note_answer(matches!(&record.outcome, ProbeOutcome::Reply(reply) if reply.status == ReplyStatus::Complete));
        // The agent of a session that watchdog ran may have finished its work in answering.
        if self.gate.caller == RescueCaller::OwnSession {
            self.forget_sighting();
        }
        record
    }

    fn ask(
        &self,
        number: u32,
        contradiction: Option<&str>,
        facts: &(Option<Commits>, Option<Changes>),
        cancel: &CancelFlag,
    ) -> ProbeRecord {
        if let Some(settled) = self.sent_probe().settled.clone() {
            return ProbeRecord {
                usage: ProbeUsage::default(),
                ..settled
            };
        }
        let state = self.state(facts);
        if let Some(standing) = self
            .asking
            .standing
            .as_ref()
            .filter(|standing| state.as_ref() == Some(&standing.state))
        {
            return self.stand_by(standing);
        }
        let recipient = agent_of_question(&self.agent);
        if let Some(limit) = held(self.store.as_ref(), recipient.as_deref()) {
            return self.withheld(in_words(&limit), Some(limit.until));
        }
        let (at, whom) = (now(), self.whom());
        let settings = &self.input.settings;
        let to = whom
            .resume
            .as_deref()
            .map(|id| format!(", session {id}"))
            .unwrap_or_default();
        self.command_env.tell(&format!(
            "no new commit; asking the agent ({number} of {}{to})",
            settings.completion_check.max_probes
        ));
        // The prompt includes git's facts, so that the agent answers about the same state.
        self.journal.flush();
        self.remember_transcript();
        let git_facts = QuestionFacts {
            commits: facts.0.as_ref(),
            changes: facts.1.as_ref(),
        };
        let prompt = probe_prompt(&git_facts, contradiction);
        let timeout = settings.completion_check.probe_timeout;
        let request = self.question(&whom, (number, prompt), timeout);
        let answer = probe::ask_with(&request, &|program| program.run_cancellable(cancel));
        let outcome = self.add_doubt(answer.outcome, facts);
        if let ProbeOutcome::RateLimited { retry_at, .. } = &outcome {
            limit_met(self.store.as_ref(), recipient.as_deref(), *retry_at);
        }
        self.note_answered(matches!(outcome, ProbeOutcome::Reply(_)));
        let beyond = |(whole, id): (f64, &String)| {
            cost_beyond_the_last_end(self.store.as_ref(), &self.input.worktree_id, id, whole)
        };
        let cost_usd = answer.usage.cost_usd.or_else(|| {
            answer
                .session_cost_usd
                .zip(answer.session_id.as_ref())
                .and_then(beyond)
        });
        let usage = ProbeUsage {
            cost_usd,
            ..answer.usage
        };
        let record = ProbeRecord {
            at,
            duration: measure_since(at),
            outcome,
            disputed: None,
            session_id: answer.session_id,
            usage,
            withheld: false,
        };
        if let ProbeOutcome::Reply(reply) = &record.outcome {
            // An id that cannot be recorded is found out again.
            let _ = whom.pin(
                self.store.as_ref(),
                &self.input.worktree_id,
                &self.input.spec,
                record.session_id.as_deref(),
            );
            if reply.status == ReplyStatus::Complete
                && reply.doubt.is_some()
                && reply.doubt == self.explain_missing_proof()
            {
                self.sent_probe().settled = Some(record.clone());
            }
        }
        self.command_env.tell(&probe_line(&record));
        // This answer may be the first to identify the answering session.
        let state = state.and_then(|_| self.state(facts));
        self.sent_probe().last = state.map(|state| (state, record.clone()));
        record
    }

    /// A question to the agent about its session.
    pub(super) fn question<'a>(
        &'a self,
        whom: &'a ProbeTarget,
        (number, prompt): (u32, String),
        timeout: Duration,
    ) -> ProbeRequest<'a> {
        let root = &self.input.root;
        // An agent finds its conversation by its folder; a program of the configuration stands at the root.
        let folder = match self.agent.probe {
            Some(_) => root,
            None => self.session_folder(),
        };
        let session_id = whom.resume.as_deref();
        ProbeRequest {
            settings: &self.agent,
            preset: self.command_env.agent_preset(root, &self.agent.preset),
            program: self.program(),
            worktree: folder,
            session_id,
            expected_session: whom.expected.clone(),
            probed: self.command_env.probed_session(
                Some(self.store.as_ref()),
                &self.input.worktree_id,
                (root, &self.agent),
                session_id.or(whom.expected.as_deref()),
            ),
            number,
            prompt,
            timeout,
            now: now(),
        }
    }

    /// A limit that another machine of the account met leaves the question unasked. It is not
    /// recorded, so that the agent is asked as soon as that is over.
    fn withheld(&self, why: String, retry_at: Option<Timestamp>) -> ProbeRecord {
        self.command_env
            .tell(&format!("the agent is not asked: {why}"));
        self.note_answered(false);
        self.ask_nobody();
        let outcome = ProbeOutcome::RateLimited { why, retry_at };
        let (duration, usage) = (Duration::ZERO, ProbeUsage::default());
        ProbeRecord {
            at: now(),
            duration,
            outcome,
            disputed: None,
            session_id: None,
            usage,
            withheld: true,
        }
    }

    fn stand_by(&self, standing: &StandingAnswer) -> ProbeRecord {
        let record = ProbeRecord {
            at: standing.at,
            duration: Duration::ZERO,
            outcome: standing.outcome.clone(),
            disputed: None,
            session_id: standing.session_id.clone(),
            usage: ProbeUsage::default(),
            withheld: false,
        };
        self.command_env.tell(&format!(
            "nothing changed since {:.0}, so the agent's answer stands: {}",
            standing.since,
            answer_words(&record)
        ));
        self.note_answered(matches!(record.outcome, ProbeOutcome::Reply(_)));
        self.sent_probe().stood = true;
        // A plan would be a question about the same state, too.
        self.ask_nobody();
        record
    }

    /// An answer with the doubt that git or the transcript casts on it.
    fn add_doubt(
        &self,
        outcome: ProbeOutcome,
        facts: &(Option<Commits>, Option<Changes>),
    ) -> ProbeOutcome {
        match outcome {
            ProbeOutcome::Reply(reply)
                if reply.status == ReplyStatus::Complete && reply.doubt.is_none() =>
            {
                let doubt = self
                    .explain_missing_proof()
                    .or_else(|| self.missing_in_git(&reply, facts));
                ProbeOutcome::Reply(Reply { doubt, ..reply })
            }
            other => other,
        }
    }

    /// Why a `complete` proves nothing, whatever it says: the conversation has not grown, or nobody but the session itself names its agent.
    /// A transcript of this folder that has grown since the baseline names it as well as any hook.
    fn explain_missing_proof(&self) -> Option<String> {
        let whom = self.whom();
        whom.proves_nothing().or_else(|| {
            let doubt = self
                .ran
                .doubt(self.input.names_agent.then_some(&self.input.settings.agent))?;
            let work = (self.input.worktree_id.as_str(), self.input.spec.as_str());
            let has_grown = self.transcripts().is_some_and(|source| {
                whom.has_grown_here(self.store.as_ref(), work, (self.session_folder(), &source))
            });
            (!has_grown).then_some(doubt)
        })
    }

    /// The names in a reply that git does not have. An unreadable fact raises no dispute.
    fn missing_in_git(
        &self,
        reply: &Reply,
        (commits, changes): &(Option<Commits>, Option<Changes>),
    ) -> Option<String> {
        let claims = ReplyClaims::from_reply(reply);
        if claims.is_empty() {
            return None;
        }
        self.worktree(|worktree| {
            claims.missing(
                (
                    commits.as_ref().map(|commits| commits.new_commits),
                    changes.as_ref().map(Changes::any),
                ),
                &|id| worktree.resolve(id).is_ok(),
                &|path| worktree.head_has(path).unwrap_or(true),
                &|path| std::fs::symlink_metadata(self.input.root.join(path)).is_ok(),
                &|| {
                    !matches!(
                        worktree.read_remote_state(),
                        Ok(RemoteState::NoRemote | RemoteState::No { .. })
                    )
                },
            )
        })
    }

    /// A fingerprint of everything that an answer is about; `None` where something of it cannot be read.
    pub(super) fn state(&self, facts: &(Option<Commits>, Option<Changes>)) -> Option<String> {
        let head = match &facts.0 {
            Some(commits) => commits.head.clone(),
            None => (self.worktree(|worktree| worktree.head()).ok()?).to_commit(),
        };
        let work = match &facts.1 {
            Some(changes) => changes.fingerprint,
            None => {
                self.worktree(watchdog_git::Worktree::changes)
                    .ok()?
                    .fingerprint
            }
        };
        let whom = self.whom();
        let session = whom.resume.or(whom.expected);
        let transcript = session
            .as_deref()
            .and_then(|id| self.transcripts()?.session(self.session_folder(), id));
        let transcript = transcript.map(|transcript| (transcript.size, transcript.modified));
        let settings = &self.input.settings;
        let criteria = (
            &settings.mode,
            &settings.checks,
            &settings.guards,
            &self.agent,
            &settings.rescue.mode,
            &settings.require_evidence,
        );
        let more = (
            &settings.on_no_criteria,
            &self.input.trust,
            &self.input.baseline,
            self.input.recorded_at,
            &self.program(),
        );
        let text = format!("{head:?} {work} {transcript:?} {session:?} {criteria:?} {more:?}");
        Some(short_hash(&text))
    }

    /// Adds to the verdict what the agent cannot do and the verdict rests on. A person reads it once for each agent, later with `-v`.
    fn note_agent_gaps(&self, verdict: &mut Verdict) {
        let store = self.store.as_ref();
        let own_probe = self.agent.probe.is_some();
        if (verdict.probes.is_empty() || own_probe) && self.ran.agent.is_none() {
            return;
        }
        let Ok(preset) = self
            .command_env
            .agent_preset(&self.input.root, &self.agent.preset)
        else {
            return;
        };
        let basis = VerdictBasis::from_verdict(verdict);
        // A program of the user's own was asked in its place; one that no record names ran no session that is known.
        let basis = if self.ran.agent.is_some() {
            basis
        } else {
            VerdictBasis {
                probed: basis.probed,
                ..VerdictBasis::default()
            }
        };
        let basis = VerdictBasis {
            probed: basis.probed && !own_probe,
            ..basis
        };
        let Some(detail) = basis.weakened_by(&preset) else {
            return;
        };
        // A session moves no record; where none can be written, each verdict says it.
        let is_inside = self.command_env.inside.is_inside(store).unwrap_or(true);
        if !is_inside
            && is_first_note(store, WarningCode::AgentLacks, &preset.title).unwrap_or(true)
        {
            (self.command_env.narrate)(&detail);
        }
        verdict.add_note(WarningCode::AgentLacks, detail);
    }

    /// Adds a reused or new answer to the verdict and the records. Returns whether the verdict is the same as before, so that
    /// no count includes it twice.
    pub fn settle_answer(&self, verdict: &mut Verdict) -> Result<bool, StoreError> {
        let store = self.store.as_ref();
        self.note_agent_gaps(verdict);
        verdict.probe_usage = verdict
            .probes
            .iter()
            .fold(self.spent_beside(), |sum, record| sum.plus(record.usage));
        let (worktree, spec) = (&self.input.worktree_id, &self.input.spec);
        let (last, stood) = {
            let sent = self.sent_probe();
            (sent.last.clone(), sent.stood)
        };
        if verdict.reason == Reason::Interrupted {
            return Ok(false);
        }
        // A session may answer for its agent, as by another program in PATH.
        if last.is_some() && self.command_env.inside.is_inside(store)? {
            return Ok(false);
        }
        if let Some((state, record)) = last {
            // A rescue of this judgement is no change that needs another probe.
            let state = if verdict.rescue_commits > 0 {
                self.state(&(None, None)).unwrap_or(state)
            } else {
                state
            };
            let before = StandingAnswer::read_row(store, worktree, spec)
                .ok()
                .flatten()
                .filter(|before| before.state == state);
            let answer = StandingAnswer {
                since: before
                    .as_ref()
                    .map_or(record.at, |before| before.since.min(record.at)),
                pauses: before.map_or(0, |before| before.pauses.saturating_add(1)),
                state,
                at: record.at,
                outcome: record.outcome,
                session_id: record.session_id,
                reason: verdict.reason.as_str().to_owned(),
                last_word: is_last_word(verdict),
            };
            answer.write_row(store, worktree, spec)?;
            return Ok(false);
        }
        let Some(standing) = self.asking.standing.as_ref().filter(|_| stood) else {
            return Ok(false);
        };
        // A round that reuses an answer counts nothing again.
        (verdict.strike, verdict.not_a_strike_because) = (false, Some("unchanged"));
        if standing.reason != verdict.reason.as_str() {
            // The rounds of `--once` ended: report that once.
            let ended = StandingAnswer {
                reason: verdict.reason.as_str().to_owned(),
                last_word: is_last_word(verdict),
                ..standing.clone()
            };
            ended.write_row(store, worktree, spec)?;
            return Ok(false);
        }
        verdict.unchanged_since = Some(standing.since);
        if standing.last_word && verdict.reason != Reason::MaxProbes {
            // The rounds before it are over; this one is all there is.
            verdict.probes_used = u32::try_from(verdict.probes.len()).unwrap_or(u32::MAX);
        }
        let next = stands_until(
            &standing.outcome,
            standing.at,
            standing.pauses,
            JudgementTrigger::Again,
            now(),
        );
        let next = next
            .map(|at| format!(", and the agent is asked again at {at:.0}"))
            .unwrap_or_default();
        verdict.message.push_str(&format!(
            "; nothing changed since {:.0}{next}",
            standing.since
        ));
        Ok(standing.last_word)
    }
}

fn answer_words(record: &ProbeRecord) -> String {
    match &record.outcome {
        ProbeOutcome::Reply(reply) if reply.message.is_empty() => reply.status.as_str().to_owned(),
        ProbeOutcome::Reply(reply) => format!("{} ({})", reply.status.as_str(), reply.message),
        other => match other.why() {
            Some(why) => format!("{}: {why}", other.as_str()),
            None => other.as_str().to_owned(),
        },
    }
}

fn probe_line(record: &ProbeRecord) -> String {
    let cost = match (record.usage.input_tokens, record.usage.output_tokens) {
        (Some(read), Some(written)) => format!(" [{} in, {written} out]", plural(read, "token")),
        _ => String::new(),
    };
    match &record.outcome {
        ProbeOutcome::Reply(_) => format!("the agent says: {}{cost}", answer_words(record)),
        outcome => format!("{}{cost}", outcome.failure()),
    }
}
