//! Answers stops and structured outputs: gathers the facts, has the machine judge and `hooks` answer, and records the answer.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::hooks::{
    HoldCountChange, HoldPoint, HoldStreak, HookAction, HookDecision, HookEvent, HookInput,
    HookReply, StopFacts, build_context, decide_claims, decide_hold, judge_criteria,
};
use crate::rescue::take_snapshot;
use crate::session::record_lives;
use watchdog_agent::session_history::{MOST_READ, SessionHistory};
use watchdog_agent::transcript_read;
use watchdog_agent::work_claims::read_work_claims;
use watchdog_core::checks::{self, CheckContext, GroupOutcome, read_sensors};
use watchdog_core::config::settings::{Limits, RescueMode, single_checks};
use watchdog_core::decision::beside_claim::join_names;
use watchdog_core::decision::machine::{
    ChecksResult, ConfigTrust, CriteriaFilesRole, EarlierRounds, MachineSetup,
};
use watchdog_core::decision::termination::{SpentUsage, find_stop_reason};
use watchdog_facts::context::SessionContext;
use watchdog_facts::evidence::{
    CheckOutcome, CheckResult, Degradation, UnreadableFact, WarningCode, WorkBeside,
};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_facts::verdict::Reason;
use watchdog_facts::work_claim::{ClaimState, WeighedClaim};
use watchdog_process::CancelFlag;
use watchdog_store::hook_session::{self, HookedAgent};
use watchdog_store::journal::kind;
use watchdog_store::{LocalStore, RecordType, baseline::BaselineRecord, session};

use super::hold_tally::HoldTally;
use super::hook_worktree::{HookRequest, HookWorktree};
use super::turns::read_calls;
use crate::clock::now;
use crate::judge::capabilities::SystemCapabilities;
use crate::judge::command_env::CommandEnv;
use crate::judge::executor::at_once;
use crate::judge::gates::find_gates_off;
use crate::judge::input_assembly::{SourceOfBaseline, open_judgement};
use crate::judge::journal::CommandJournal;
use crate::judge::judgement_input::{JudgementInput, Overrides};
use crate::judge::lost_ignored::find_lost_ignored;
use crate::judge::origins::keep_judged_head;
use crate::judge::snapshots::describe_gaps;
use crate::judge::weighed_claims::weigh_claims;
use crate::judge::{criteria_files, machine_log, session_work};
use crate::wire::hook_events::StopAnswer;
use crate::wire::judgement_events::check_data;
use crate::wire::verdict_json::as_json;

/// The pauses between looks at a transcript that its agent still writes, and their number.
const PAUSE: Duration = Duration::from_millis(20);
const MOST_LOOKS: u32 = 50;

/// Judges whether the agent may stop, or give its output: by the steps of a check, but without lock and breaker, since the session that
/// asks holds the one and a host waits for no other.
pub fn judge_stop(
    command_env: &CommandEnv,
    request: &HookRequest,
    event: HookEvent,
    hook_input: &HookInput,
    hooked: HookWorktree,
    cancel: &CancelFlag,
) -> Result<HookReply, UnreadableFact> {
    let stop = JudgedStop::from_request(command_env, request, event, hook_input, hooked)?;
    if stop.is_unheld() {
        return Ok(stop.with_notes(HookReply::quiet()));
    }
    let tally = HoldTally::read_count(
        stop.store.as_ref(),
        event,
        hook_input,
        &stop.input.worktree_id,
        stop.new_session(),
    )?;
    let holding = match event {
        HookEvent::PreToolUse => HoldPoint::Output,
        HookEvent::PostToolUse => HoldPoint::OutputTaken {
            finish: request.finish,
        },
        _ => HoldPoint::Stop,
    };
    let streak = tally.get_streak(calculate_hold_limit(
        &stop.input.settings.limits,
        request,
        holding,
    ));
    if tally.has_accepted_output(event, hook_input) {
        return Ok(decide_hold(holding, &StopFacts::Nothing, streak).reply);
    }

    let context = stop.session_context();
    let _within = machine_log::judgement_span(&stop.input).entered();
    machine_log::log_inputs(&stop.input);
    let (facts, results) = stop.facts(&context, cancel);
    let mut decision = decide_hold(holding, &facts, streak);
    if facts == StopFacts::Nothing
        && let Some(answer) = stop.answer_claims(streak)?
    {
        decision = answer;
    }
    if let Err(unreadable) = tally.count(decision.counted, holding, hook_input, stop.at) {
        // An unsaved count could hold the agent without end.
        decision = decide_hold(
            holding,
            &facts,
            HoldStreak {
                times: None,
                most: streak.most,
            },
        );
        command_env.tell(&unreadable.why);
    }
    stop.record(&context, &decision, streak, &results);
    Ok(stop.with_notes(decision.reply))
}

/// A stop or an output of an agent, with the input of its judgement.
struct JudgedStop<'a> {
    command_env: &'a CommandEnv,
    request: &'a HookRequest,
    event: HookEvent,
    hook_input: &'a HookInput,
    store: Arc<dyn LocalStore>,
    input: JudgementInput,
    /// When the session began, where its own start hook recorded it.
    began: Option<Timestamp>,
    at: Timestamp,
}

impl<'a> JudgedStop<'a> {
    fn from_request(
        command_env: &'a CommandEnv,
        request: &'a HookRequest,
        event: HookEvent,
        hook_input: &'a HookInput,
        hooked: HookWorktree,
    ) -> Result<Self, UnreadableFact> {
        let HookWorktree { open, session } = hooked;
        let at = now();
        let store = Arc::clone(&open.store);
        let spec = request
            .spec
            .clone()
            .or_else(|| session.as_ref().and_then(|session| session.spec.clone()));
        let input = open_judgement(
            command_env,
            open,
            SourceOfBaseline::RecordedIfAny(None),
            spec.as_deref(),
            Overrides::default(),
        )?;
        let began = session_began(store.as_ref(), &input.worktree_id, &input.spec, hook_input);
        Ok(JudgedStop {
            command_env,
            request,
            event,
            hook_input,
            store,
            input,
            began,
            at,
        })
    }

    fn is_stop(&self) -> bool {
        matches!(self.event, HookEvent::Stop | HookEvent::SubagentStop)
    }

    /// Whether the agent may stop unjudged: it reported that it is blocked, or a person talks to it, and it changed nothing.
    fn is_unheld(&self) -> bool {
        if self.is_stop() && self.is_blocked() {
            return true;
        }
        let talks = self.is_stop() && !self.request.all_sessions && self.request.host.has_person;
        talks && !is_watched(self.store.as_ref(), &self.input) && !changed_something(&self.input)
    }

    fn is_blocked(&self) -> bool {
        let (id, spec) = (&self.input.worktree_id, &self.input.spec);
        let recorded = BaselineRecord::read_row(self.store.as_ref(), id, spec);
        recorded.is_ok_and(|row| row.is_some_and(|row| row.blocked.is_some()))
    }

    /// Adds to any answer what weakens the criteria, a damaged database that was put aside, stash entries and ignored files that are gone, and
    /// gates that are off. Keeps the commits that lie beside HEAD, and names them where HEAD has no new one.
    fn with_notes(&self, mut reply: HookReply) -> HookReply {
        let input = &self.input;
        let commits = (self.is_stop())
            .then(|| (input.worktree()).session_commits(&input.baseline, &input.evidence));
        let commits = commits.and_then(Result::ok);
        keep_judged_head(&input.worktree(), &input.spec, commits.as_ref());
        let of_stash = commits.iter().flat_map(|commits| &commits.degraded);
        let session = input.recorded_at.filter(|_| self.is_stop());
        let lost = session.and_then(|since| {
            find_lost_ignored(
                &input.worktree(),
                &input.work.ignored,
                since,
                &input.commands,
            )
        });
        let lost = lost.map(|(_, note)| note);
        let is_shown = |note: &&Degradation| {
            matches!(
                note.code,
                WarningCode::CriteriaChanged | WarningCode::StoreDamaged | WarningCode::StashLost
            )
        };
        let (gates_off, gates_unknown) = match self.is_stop() {
            true => find_gates_off(input, None),
            false => Default::default(),
        };
        let mut notes: Vec<String> = (input.notes.iter().chain(of_stash))
            .filter(is_shown)
            .chain(&lost)
            .map(|note| note.detail.clone())
            .chain(gates_off.into_iter().map(|gate| gate.detail))
            .chain(gates_unknown)
            .collect();
        let without = commits.as_ref().filter(|commits| commits.new_commits == 0);
        if let Some(commits) = without.filter(|commits| !commits.beside.is_empty()) {
            let described: Vec<String> = commits.beside.iter().map(WorkBeside::describe).collect();
            let sentence = format!("beside HEAD: {}", join_names(&described));
            match &mut reply.act {
                HookAction::Block { reason } => *reason = format!("{reason}\n{sentence}"),
                _ => notes.push(sentence),
            }
        }
        if notes.is_empty() {
            return reply;
        }
        let notes = format!("watchdog: {}", notes.join("; "));
        let message = match reply.message {
            Some(message) => format!("{message}\n{notes}"),
            None => notes,
        };
        HookReply {
            message: Some(message),
            ..reply
        }
    }

    /// The record of a session that is held for the first time.
    fn new_session(&self) -> HookedAgent {
        HookedAgent::new(self.input.root.clone(), self.request.spec.clone(), self.at)
    }

    /// The session's context. Reads its transcript only if a check or a budget needs it.
    fn session_context(&self) -> SessionContext {
        let JudgedStop {
            event,
            hook_input,
            input,
            ..
        } = self;
        let path = if *event == HookEvent::SubagentStop {
            &hook_input.agent_transcript_path
        } else {
            &hook_input.transcript_path
        };
        let is_read = self.request.dialect.has_known_transcript() && asks_the_transcript(input);
        let path = path.as_ref().filter(|path| path.is_file() && is_read);
        // An unreadable transcript gives an empty context: its usage is unknown then, and checks report the lack of messages.
        let read = path
            .and_then(|path| transcript_read::read_transcript(path, transcript_read::WINDOW).ok());
        let mut session = build_context(
            *event,
            hook_input,
            read.map(|summary| summary.context()).unwrap_or_default(),
        );
        session.usage.wall_seconds = self
            .began
            .map(|began| self.at.duration_since(began).as_secs_f64().max(0.0));
        session.spec = Some(input.spec.clone());
        session.baseline = input
            .known_refs
            .is_some()
            .then(|| input.baseline.as_str().to_owned());
        session
    }

    /// The facts behind the answer. Limits come first, before all other facts.
    fn facts(
        &self,
        context: &SessionContext,
        cancel: &CancelFlag,
    ) -> (StopFacts, Vec<CheckResult>) {
        let JudgedStop {
            command_env,
            store,
            input,
            ..
        } = self;
        let none = Vec::new();
        let settings = &input.settings;
        let counts = input.trust == ConfigTrust::Settled;
        if let Some(stop) = find_stop_reason(
            &settings.limits,
            &SpentUsage::from_usage(&context.usage),
            now(),
        )
        .filter(|_| counts)
        {
            return (StopFacts::Limit(stop), none);
        }
        if counts && !settings.limits.sensors.is_empty() {
            if let Err(why) = keep_work(command_env, input) {
                return (StopFacts::Failed { why }, none);
            }
            // A sensor without an answer holds nobody.
            if let (Some(stop), _) = read_sensors(
                &settings.limits,
                &SystemCapabilities::new(input, cancel),
                context,
            ) {
                return (StopFacts::Limit(stop), none);
            }
        }
        if counts && !settings.checks.is_empty() {
            let tasks = self.hook_input.running_tasks();
            if self.is_stop() && !tasks.is_empty() {
                return (StopFacts::Background { tasks }, none);
            }
            let runs_programs = input
                .setup(EarlierRounds::default(), None, false)
                .checks_run_programs;
            if let Err(why) = if runs_programs {
                keep_work(command_env, input)
            } else {
                Ok(())
            } {
                return (StopFacts::Failed { why }, none);
            }
        }
        // Files that criteria merely name are compared where the session is judged.
        let criteria_files = if settings.guards.is_empty() {
            CriteriaFilesRole::None
        } else {
            CriteriaFilesRole::Guarded
        };
        let setup = MachineSetup {
            criteria_files,
            ..input.setup(EarlierRounds::default(), None, false)
        };
        let judge = || {
            let mut capabilities =
                SystemCapabilities::new(input, cancel).with_earlier_passes(Arc::clone(store));
            capabilities.scratch = Some(command_env.state.scratch());
            let outcome = checks::evaluate_checks(
                settings,
                &CheckContext::new(&capabilities)
                    .with_session(context)
                    .side_by_side(at_once()),
            );
            to_checks_result(outcome, input.known_refs.is_some(), &input.commands)
        };
        judge_criteria(setup, judge, || {
            criteria_files::compare_criteria_files(input)
        })
    }

    /// The answer to the claims of the agent's last words, where the session changed something.
    fn answer_claims(&self, streak: HoldStreak) -> Result<Option<HookDecision>, UnreadableFact> {
        let (input, hook_input) = (&self.input, self.hook_input);
        let dialect = self.request.dialect;
        // Words before the end of something in the background are not the last ones.
        let is_due = self.event == HookEvent::Stop
            && input.recorded_at.is_some()
            && hook_input.running_tasks().is_empty();
        let Some(id) = hook_input.session_id.as_ref().filter(|_| is_due) else {
            return Ok(None);
        };
        let folder = hook_input.cwd.as_deref().unwrap_or(&input.root);
        let read = || read_calls(hook_input, folder, 0, MOST_READ).0;
        let (mut words, mut history) = (hook_input.last_message.clone(), None);
        if !dialect.tells_last_words() {
            let transcript = history.insert(read());
            let due = hook_input.fields.get("timestamp").and_then(Value::as_str);
            // The transcript may lag behind.
            let is_current = |transcript: &SessionHistory| match (&words, &transcript.last_words) {
                (Some(all), Some(last)) => all.ends_with(last),
                _ => due.is_some_and(|due| transcript.newest_at.as_deref() >= Some(due)),
            };
            let mut looks = 0..MOST_LOOKS;
            while words.is_none() && !is_current(transcript) && looks.next().is_some() {
                std::thread::sleep(PAUSE);
                *transcript = read();
            }
            words = (transcript.last_words.clone()).filter(|_| is_current(transcript));
        }
        let claims = words.map_or(Vec::new(), |words| read_work_claims(&words));
        if claims.is_empty() || !changed_something(input) {
            return Ok(None);
        }
        let mut weighed = weigh_claims(input, claims, &history.unwrap_or_else(read))?;
        let (store, row) = (self.store.as_ref(), hook_session::CLAIMS);
        let record = HookedAgent::read_row(store, id, row)?;
        let mut record = record.unwrap_or_else(|| self.new_session());
        // Each fact is said once in each state; its words name its kind of claim.
        let key = |claim: &WeighedClaim| format!("{}: {}", claim.state, claim.fact);
        weighed.retain(|claim| {
            claim.state != ClaimState::Held && !record.answered_facts.contains(&key(claim))
        });
        let decision = decide_claims(&weighed, record.held, streak);
        if let Some(decision) = &decision {
            record.held += u32::from(decision.counted == HoldCountChange::OneMore);
            record.answered_facts.extend(weighed.iter().map(key));
            record.last_event_at = self.at;
            record.write_row(store, id, row)?;
        }
        Ok(decision)
    }

    /// Records the answer in the log and the journal; the journal has nothing where nothing was judged.
    fn record(
        &self,
        context: &SessionContext,
        decision: &HookDecision,
        streak: HoldStreak,
        results: &[CheckResult],
    ) {
        tracing::info!(
            target: "watchdog::decision",
            hook = self.event.command(),
            status = decision.reason.map(|reason| reason.status().as_str()),
            reason = decision.reason.map(Reason::as_str),
            held = streak.times,
            "answers a hook"
        );
        if decision.message.is_empty() {
            return;
        }
        let journal = CommandJournal::new(
            Arc::clone(&self.store),
            &self.input.worktree_id,
            &self.input.spec,
        );
        for check in results {
            journal.note(kind::CHECK, check_data(check));
        }
        journal.write(
            kind::HOOK,
            as_json(StopAnswer {
                event: self.event.command(),
                session_id: self.hook_input.session_id.as_deref(),
                agent_id: self.hook_input.agent_id.as_deref(),
                stop_reason: context.stop_reason.as_deref(),
                answer: if decision.counted == HoldCountChange::OneMore {
                    "held"
                } else {
                    "let_go"
                },
                status: decision.reason.map(Reason::status),
                reason: decision.reason,
                message: &decision.message,
                times_held: streak.times,
                most: streak.most,
            }),
        );
        if decision.reply.message.is_none() {
            self.command_env.tell(&decision.message);
        }
    }
}

/// Whether watchdog runs the session of this worktree.
fn is_watched(store: &dyn watchdog_store::LocalStore, input: &JudgementInput) -> bool {
    let latest = session::read_latest_session(store, &input.worktree_id)
        .ok()
        .flatten();
    // Only watchdog itself keeps a log.
    latest.is_some_and(|(_, session)| record_lives(&session) && session.log.is_some())
}

/// Whether there is anything to judge: HEAD moved, or work was done since the session began.
/// Unreadable facts call for a judgement.
fn changed_something(input: &JudgementInput) -> bool {
    let worktree = input.worktree();
    let moved = worktree.head().map_or(true, |head| head != input.baseline);
    moved
        || session_work::read_uncommitted(&worktree, &input.work)
            .map_or(true, |work| work.changes.work_left())
}

/// How often the agent may be held: as the configuration says, but less often than the host allows.
fn calculate_hold_limit(limits: &Limits, request: &HookRequest, holding: HoldPoint) -> u32 {
    let host = if holding == HoldPoint::Stop {
        request.host.stop_blocks
    } else {
        request.host.output_retries
    };
    limits.max_stop_blocks.min(host.saturating_sub(1))
}

/// When the session began, as its own start hook recorded it.
fn session_began(
    store: &dyn watchdog_store::LocalStore,
    worktree_id: &str,
    spec: &str,
    hook_input: &HookInput,
) -> Option<Timestamp> {
    // It only serves the time budget: an unreadable record is unknown usage, and counts neither as spent nor as zero.
    let record = session::SessionRecord::read_row(store, worktree_id, spec)
        .ok()
        .flatten()?;
    (record.session_id.is_some() && record.session_id == hook_input.session_id)
        .then_some(record.started_at)
}

fn asks_the_transcript(input: &JudgementInput) -> bool {
    let limits = &input.settings.limits;
    let budget = limits.max_turns.is_some()
        || limits.max_total_tokens.is_some()
        || limits.max_cost_usd.is_some();
    // A check of an unknown type may read the agent's texts and actions.
    let blind = ["always", "command", "feature_list", "files", "git", "issue"];
    let mut checks = single_checks(&input.settings.checks).into_iter();
    budget || checks.any(|(_, criterion)| !blind.contains(&criterion.kind()))
}

/// The result of the checks, for a stop.
fn to_checks_result(
    outcome: GroupOutcome,
    baseline_known: bool,
    commands: &WorktreeCommands,
) -> ChecksResult {
    let mut feedback = outcome.feedback;
    if !baseline_known && outcome.outcome == CheckOutcome::Failed {
        feedback = format!(
            "no baseline is recorded in this worktree: record one by the hook 'session-start', or with: {}; {feedback}",
            commands.watchdog("snapshot")
        );
    }
    ChecksResult {
        outcome: outcome.outcome,
        evidence: outcome.evidence,
        feedback,
        results: outcome.results,
        // The end of the session judges whether there was any work. A stop is held for unmet criteria.
        all_passed_before: false,
        notes: outcome.notes,
    }
}

/// Takes a snapshot of the uncommitted files before programs run.
fn keep_work(command_env: &CommandEnv, input: &JudgementInput) -> Result<(), String> {
    if input.settings.rescue.mode == RescueMode::Off {
        return Ok(());
    }
    let request = (input.spec.as_str(), now(), "before the checks of a stop");
    let taken = take_snapshot(&input.worktree(), request, &input.settings.rescue);
    let all_read = taken.and_then(|taken| {
        let Some(taken) = taken else { return Ok(()) };
        if !taken.reused {
            command_env.tell(&format!("kept the uncommitted work in {}", taken.name));
        }
        if let Some(sentence) = describe_gaps(&taken) {
            command_env.tell(&sentence);
        }
        taken.require_all_read()
    });
    all_read.map_err(|error| {
        format!("the uncommitted work could not be kept before checks run: {error}")
    })
}
