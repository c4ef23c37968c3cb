//! Runs an iteration of a loop: a session with its own baseline, judged by the criteria of the
//! loop's beginning.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::rescue::private_rule;
use crate::session::{
    RecordedBaseline, UncommittedRule, log_path, read_recorded_baseline, refuse_replaced_clone,
};
use watchdog_agent::stream::StreamTap;
use watchdog_agent::{ConversationChoice, SessionAgent};
use watchdog_core::config::settings::{ConfigSettings, RescueMode};
use watchdog_core::decision::breaker::BreakerState;
use watchdog_core::decision::iteration::agent_order::standing_of;
use watchdog_core::decision::iteration::next::IterationOutcome;
use watchdog_core::decision::iteration::standing::LoopStanding;
use watchdog_core::decision::termination::SpentUsage;
use watchdog_facts::evidence::{SessionEnd, UnreadableFact, WarningCode};
use watchdog_facts::verdict::Verdict;
use watchdog_git::{HistoryPoint, KnownRefs, SnapshotRequest, Worktree};
use watchdog_process::{SessionLaunch, SessionTerms};
use watchdog_store::LocalStore;
use watchdog_store::account::{self, AccountLimit};

use crate::clock::now;
use crate::judge::admission::refuse_half_done;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::{EffectiveConfig, criteria_changed};
use crate::judge::input_assembly::begin_session;
use crate::judge::judgement_input::{JudgementInput, Overrides};
use crate::judge::judgement_run::ObservedSession;
use crate::judge::open_worktree::{OpenWorktree, require_usable_git};
use crate::judge::refusal::Refusal;
use crate::judge::session_agent::held;
use crate::judge::spawn_io::spawn_io;
use crate::modes::run::session_recognition::SessionRecognition;
use crate::modes::run::session_run::SessionOptions;
use crate::modes::run::session_wait::AgentBudget;
use crate::wire::verdict_json::Judgement;

use super::loop_agents::LoopAgent;
use super::request::LoopRequest;

/// The context that all iterations of a loop share.
pub struct LoopContext {
    /// The environment of the command.
    pub command_env: CommandEnv,
    /// The options.
    pub request: LoopRequest,
    /// The agents, the preferred one first; never empty.
    pub agents: Vec<LoopAgent>,
    /// watchdog's records.
    pub store: Arc<dyn LocalStore>,
    /// The top folder.
    pub root: PathBuf,
    /// The worktree's name in the store.
    pub worktree_id: String,
    /// The folder that its sessions run in, while it is there.
    pub folder: PathBuf,
    /// The name of the work.
    pub spec: String,
    /// The point at which the loop began.
    pub origin: HistoryPoint,
    /// The refs of that moment.
    pub refs: KnownRefs,
    /// The criteria at the start of this process: no session can change them.
    pub effective: EffectiveConfig,
    /// The prompt as a file, for programs that want one.
    pub prompt_file: PathBuf,
}

impl LoopContext {
    /// The verdict where a fact could not be read.
    pub fn unreadable(&self, why: UnreadableFact) -> Verdict {
        Verdict::unreadable(why.with_commands(&self.command_env.commands(&self.root)))
    }

    /// The settings, the limits of the command line included.
    pub fn settings(&self) -> &ConfigSettings {
        &self.effective.settings
    }

    /// Refuses to begin where a git operation is half done before the first session. A worktree that cannot be opened is refused later.
    pub fn refuse_half_done(&self) -> Result<(), Refusal> {
        Worktree::open(&self.root).map_or(Ok(()), |worktree| {
            refuse_half_done(&worktree, &self.request.overrides)
        })
    }

    /// The agents that a limit holds which another machine of the same account met.
    pub fn held_by_account(&self) -> Vec<(String, AccountLimit)> {
        // Mostly there is none, and no command line is read for it.
        if account::read_account(self.store.as_ref())
            .is_ok_and(|shared| shared.is_none_or(|shared| shared.limits.is_empty()))
        {
            return Vec::new();
        }
        let of = |agent: &LoopAgent| {
            Some((
                agent.name.clone(),
                held(
                    self.store.as_ref(),
                    agent.account_agent(&self.command_env).as_deref(),
                )?,
            ))
        };
        self.agents.iter().filter_map(of).collect()
    }

    fn open(&self) -> Result<OpenWorktree, UnreadableFact> {
        let worktree = Worktree::open(&self.root)?;
        Ok(OpenWorktree {
            notes: self.store.notes(),
            ..OpenWorktree::with_store(&self.command_env, worktree, &self.store)
        })
    }

    /// An input with a baseline of its own, recorded now. Adopts uncommitted files before the first session of a loop if requested; before
    /// later ones, only those that its own sessions left.
    pub fn input_of_new_session(&self, number: u32) -> Result<JudgementInput, UnreadableFact> {
        let open = self.open()?;
        if number > 1 {
            require_usable_git(&open.worktree)?;
            refuse_replaced_clone(
                open.store.as_ref(),
                &open.worktree,
                &self.spec,
                &open.commands,
            )?;
        }
        let uncommitted = if number == 1 {
            self.request.overrides.uncommitted
        } else {
            UncommittedRule::Inherit
        };
        let session = (self.spec.as_str(), uncommitted, now());
        let effective = self.effective.clone();
        let (recorded, _) = begin_session(&self.command_env, &open, session, effective)?;
        Ok(self.input(open, recorded, true, false))
    }

    /// The input of the session that started last, for one that was interrupted or still works in the background.
    pub fn input_of_last_session(&self, no_probe: bool) -> Result<JudgementInput, UnreadableFact> {
        let open = self.open()?;
        let recorded_baseline =
            read_recorded_baseline(&open.store, &self.worktree_id, Some(&self.spec))?;
        let baseline_known = recorded_baseline.is_some();
        let recorded = recorded_baseline.unwrap_or_else(|| RecordedBaseline {
            refs: self.refs.clone(),
            ..RecordedBaseline::made_up(self.spec.clone(), self.origin.clone(), now())
        });
        Ok(self.input(open, recorded, baseline_known, no_probe))
    }

    fn input(
        &self,
        open: OpenWorktree,
        recorded: RecordedBaseline,
        baseline_known: bool,
        no_probe: bool,
    ) -> JudgementInput {
        let mut effective = self.effective.clone();
        if self.request.effective.is_none() {
            let work = (Some(self.spec.as_str()), Some(&self.origin));
            let new = criteria_changed(&self.command_env, &open, work, &effective.notes);
            effective.notes.extend(new);
        }
        let overrides = Overrides {
            no_probe: no_probe || self.request.overrides.no_probe,
            once: false,
            ..self.request.overrides.clone()
        };
        JudgementInput::new(open, recorded, baseline_known, effective, overrides)
            .begun_at(self.origin.clone(), self.refs.clone())
    }

    /// The agent with this name; the preferred one where none has it.
    pub fn agent(&self, name: Option<&str>) -> &LoopAgent {
        self.agents
            .iter()
            .find(|agent| Some(agent.name.as_str()) == name)
            .unwrap_or(&self.agents[0])
    }

    /// Describes a program of the user's before its first session, if its command line names an
    /// agent.
    pub fn describe_recognition(&self, agent: &LoopAgent) -> Option<String> {
        let SessionAgent::Program(argv) = &agent.worker else {
            return None;
        };
        let recognition = SessionRecognition::of_command(&self.command_env, None, argv);
        let clause = recognition.clause(&self.settings().agent, self.effective.names_agent)?;
        Some(if self.agents.len() > 1 {
            format!("{}: {clause}", agent.name)
        } else {
            clause
        })
    }

    /// Whether an agent is another than the preferred one, whose program the command line may name.
    pub fn is_another(&self, name: Option<&str>) -> bool {
        self.agent(name).name != self.agents[0].name
    }

    /// The order that starts a session. `Err` is the reason why it cannot have a prompt.
    pub fn options(
        &self,
        (number, agent): (u32, &LoopAgent),
        prompt: &str,
        standing: &LoopStanding,
        conversation: ConversationChoice<'_>,
    ) -> Result<SessionOptions, String> {
        let command = agent.prompted_command(prompt, &self.prompt_file, conversation)?;
        let mut env: BTreeMap<OsString, Option<OsString>> = BTreeMap::from([
            ("WATCHDOG_ITERATION".into(), Some(number.to_string().into())),
            ("WATCHDOG_SPEC".into(), Some(self.spec.clone().into())),
        ]);
        env.extend(
            command
                .env
                .into_iter()
                .map(|(name, value)| (name, Some(value))),
        );
        if let ConversationChoice::Resumed(Some(id)) = conversation {
            env.insert("WATCHDOG_SESSION_ID".into(), Some(id.into()));
        }
        let (tap, ruled_by) = match agent.preset_name() {
            Some(_) => (StreamTap::of_preset(agent.worker.stream()), None),
            None => {
                let recognition =
                    SessionRecognition::of_command(&self.command_env, None, &command.argv);
                recognition.reading(&self.command_env, &self.root, &self.settings().agent)
            }
        };
        Ok(SessionOptions {
            launch: SessionLaunch {
                log: Some(log_path(
                    &self.command_env.state.logs(),
                    &self.worktree_id,
                    now(),
                )),
                env,
                stdin: command.stdin,
                mirror: self.request.mirror,
                ..SessionLaunch::new(command.argv, self.session_folder())
            },
            agent: agent.preset_name(),
            ruled_by,
            terms: SessionTerms {
                idle_timeout: self
                    .request
                    .idle_timeout(self.settings().limits.idle_timeout),
                ..self.request.terms
            },
            tap,
            before: standing.spent,
            account_agent: agent.account_agent(&self.command_env),
            agent_budget: agent.max_cost_usd.map(|max_cost_usd| AgentBudget {
                agent: agent.name.clone(),
                max_cost_usd,
                before_usd: standing_of(&standing.agents, &agent.name)
                    .map_or(0.0, |agent_standing| agent_standing.spent.cost_usd),
            }),
        })
    }

    /// The folder for the next session. One that an earlier session removed is told.
    fn session_folder(&self) -> &Path {
        if self.folder.is_dir() {
            return &self.folder;
        }
        let (gone, root) = (self.folder.display(), self.root.display());
        self.command_env.tell(&format!(
            "{gone} is gone, so that the session runs in {root}"
        ));
        &self.root
    }

    /// The present state of the work. Returns `None` if it could not be read, with a warning.
    pub async fn work(&self) -> Option<String> {
        let (root, spec, rescue) = (
            self.root.clone(),
            self.spec.clone(),
            self.settings().rescue.clone(),
        );
        let reading = spawn_io(move || {
            let worktree = Worktree::open(&root)?;
            match rescue.mode {
                // Not even a snapshot is wanted: sizes and times must do.
                RescueMode::Off => {
                    let head = worktree.head()?;
                    worktree
                        .changes()
                        .map(|changes| format!("{head}-{:016x}", changes.fingerprint))
                }
                _ => {
                    let request = SnapshotRequest {
                        spec: &spec,
                        at: now(),
                        why: "between two sessions",
                        max_new_bytes: rescue.max_snapshot_bytes,
                        even_clean: false,
                    };
                    worktree.work_state(&request, &private_rule(&rescue))
                }
            }
        });
        match reading.await {
            Ok(state) => Some(state),
            Err(error) => {
                self.command_env
                    .tell(&format!("cannot determine progress: {error}"));
                None
            }
        }
    }
}

/// How a session ended badly, in words, and whether the service had no room for it.
pub fn crash_of(seen: &ObservedSession) -> Option<(String, bool)> {
    match &seen.end {
        // A program may end well although its service failed; one that stopped at a limit of its own did not crash then.
        Some(SessionEnd::Ended { exit } | SessionEnd::CutShort { exit, .. }) => {
            let overload = seen
                .notes
                .iter()
                .find(|note| note.code == WarningCode::Overloaded);
            let stopped = seen
                .notes
                .iter()
                .find(|note| note.code == WarningCode::EndUnconfirmed);
            (overload.map(|note| (note.detail.clone(), true)))
                .or_else(|| (!exit.success()).then(|| (exit.to_string(), false)))
                .or_else(|| stopped.map(|note| (note.detail.clone(), false)))
        }
        // A system without room is waited for like a service without room.
        Some(SessionEnd::NotStarted {
            why,
            shortage: true,
        }) => Some((why.clone(), true)),
        _ => None,
    }
}

/// The outcome of an iteration, for the state machine.
pub fn build_outcome(
    judgement: &Judgement,
    crash: Option<(String, bool)>,
    of_agent: bool,
    work: Option<String>,
    spent: SpentUsage,
) -> IterationOutcome {
    let (crash, overloaded) =
        crash.map_or((None, false), |(why, overloaded)| (Some(why), overloaded));
    IterationOutcome {
        reason: judgement.verdict.reason,
        retry_at: judgement.verdict.retry_at,
        of_agent,
        unasked: judgement
            .verdict
            .probes
            .last()
            .is_some_and(|probe| probe.withheld),
        crash,
        overloaded,
        breaker_open: judgement
            .breaker
            .as_ref()
            .is_some_and(|breaker| breaker.state == BreakerState::Open),
        work,
        spent,
    }
}
