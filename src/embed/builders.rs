//! Each call has a builder: its options, with the defaults of the command of the same name.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use watchdog_facts::context::SessionContext;
use watchdog_judge::clock::now;
use watchdog_judge::judge::judgement_input::Overrides;
use watchdog_judge::judge::open_worktree::OpenWorktree;
use watchdog_judge::judge::planner::PlannerAgent;
use watchdog_judge::judge::refusal::Refusal;
use watchdog_judge::modes::check::{CheckRequest, try_check};
use watchdog_judge::modes::evaluate::try_evaluate;
use watchdog_judge::modes::record_baseline::BaselineOptions;
use watchdog_judge::modes::record_baseline::record_baseline;
use watchdog_judge::modes::rescue_now::rescue_now;
use watchdog_judge::modes::rescue_now::{RescueOptions, RescueReport};
use watchdog_judge::session::RecordedBaseline;
use watchdog_judge::wire::verdict_json::Judgement;
use watchdog_process::CancelFlag;

use super::call::CallOptions;

/// Judges what happened in this worktree since its recorded baseline, as `watchdog check` does.
///
/// # Errors
/// Fails if no judgement was possible: no repository, no baseline, a session that runs, an open
/// breaker. A judgement that ends in `error`
/// is none of these.
///
/// ```no_run
/// let judgement = completion_watchdog::check(".")?;
/// println!("{}: {}", judgement.verdict.status().as_str(), judgement.verdict.message);
/// # Ok::<(), completion_watchdog::Refusal>(())
/// ```
pub fn check(worktree: impl AsRef<Path>) -> Result<Judgement, Refusal> {
    CheckBuilder::new(worktree).run()
}

/// Judges the configured checks of this worktree against the context of a session, as `watchdog evaluate` does: sends no probe,
/// commits nothing, takes no lock.
///
/// # Errors
/// Fails if no judgement was possible.
///
/// ```no_run
/// use completion_watchdog::SessionContext;
///
/// let context = SessionContext { output: Some("All done.".into()), ..SessionContext::default() };
/// let judgement = completion_watchdog::evaluate(".", context)?;
/// println!("{}", judgement.to_json());
/// # Ok::<(), completion_watchdog::Refusal>(())
/// ```
pub fn evaluate(worktree: impl AsRef<Path>, context: SessionContext) -> Result<Judgement, Refusal> {
    EvaluateBuilder::new(worktree, context).run()
}

/// Records the commit that HEAD names now as the baseline, as `watchdog snapshot` does.
///
/// # Errors
/// Fails if the worktree could not be read, or the record could not be written.
///
/// ```no_run
/// let baseline = completion_watchdog::snapshot(".")?;
/// println!("{}", baseline.point.as_str());
/// # Ok::<(), completion_watchdog::Refusal>(())
/// ```
pub fn snapshot(worktree: impl AsRef<Path>) -> Result<RecordedBaseline, Refusal> {
    SnapshotBuilder::new(worktree).run()
}

/// Commits the uncommitted files of this worktree, after a snapshot that can restore them, as `watchdog rescue` does.
///
/// # Errors
/// Fails if the worktree could not be read, or another process works on it.
///
/// ```no_run
/// use completion_watchdog::RescueReport;
///
/// match completion_watchdog::rescue(".")? {
///     RescueReport::Rescued { outcome, .. } => println!("{} commits", outcome.commits),
///     RescueReport::Nothing | RescueReport::Preview(_) => println!("nothing to rescue"),
/// }
/// # Ok::<(), completion_watchdog::Refusal>(())
/// ```
pub fn rescue(worktree: impl AsRef<Path>) -> Result<RescueReport, Refusal> {
    RescueBuilder::new(worktree).run()
}

/// The options of every call.
macro_rules! common_settings {
    () => {
        /// Sets the folder of journal, baselines and breakers; by default the command line's.
        pub fn state_dir(mut self, dir: impl Into<PathBuf>) -> Self {
            self.call.state_dir = Some(dir.into());
            self
        }

        /// Uses this configuration instead of the worktree's completion.json; naming it means trusting it.
        pub fn config(mut self, file: impl Into<PathBuf>) -> Self {
            self.call.config = Some(file.into());
            self
        }

        /// The agent's program, where it is not in PATH under its usual name.
        pub fn agent_program(mut self, program: impl Into<OsString>) -> Self {
            self.call.agent_program = Some(program.into());
            self
        }

        /// Receives progress, one line at a time, for a person.
        pub fn on_progress(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
            self.call.narrate = Arc::new(tell);
            self
        }
    };
}

/// A check; see [`check`].
pub struct CheckBuilder {
    call: CallOptions,
    request: CheckRequest,
}

impl CheckBuilder {
    /// Of this worktree: any path in it.
    pub fn new(worktree: impl AsRef<Path>) -> Self {
        CheckBuilder {
            call: CallOptions::new(worktree.as_ref().into()),
            request: CheckRequest::default(),
        }
    }

    common_settings!();

    /// Any git revision, instead of the recorded baseline.
    pub fn baseline(mut self, revision: impl Into<String>) -> Self {
        self.request.baseline = Some(revision.into());
        self
    }

    /// The name of the work.
    pub fn spec(mut self, name: impl Into<String>) -> Self {
        self.request.spec = Some(name.into());
        self
    }

    /// First waits for this process to end.
    pub fn after_process(mut self, pid: u32) -> Self {
        self.request.pid = Some(pid);
        self
    }

    /// Asks the agent at most so many times; 0 never does.
    pub fn max_probes(mut self, most: u32) -> Self {
        self.request.overrides.max_probes = Some(most);
        self
    }

    /// Sends no probe: git and the checks decide.
    pub fn no_probe(mut self) -> Self {
        self.request.overrides.no_probe = true;
        self
    }

    /// Commits nothing; snapshots are taken all the same.
    pub fn no_rescue(mut self) -> Self {
        self.request.overrides.no_rescue = true;
        self
    }

    /// Runs one round, without waiting; the next call continues the count.
    pub fn once(mut self) -> Self {
        self.request.overrides.once = true;
        self
    }

    /// Judges.
    ///
    /// # Errors
    /// See [`check`].
    pub fn run(self) -> Result<Judgement, Refusal> {
        let CheckBuilder { call, request } = self;
        call.block_on(async |command_env, signals| {
            try_check(command_env, request, signals, now()).await
        })
    }
}

/// A judgement of the checks alone; see [`evaluate`].
pub struct EvaluateBuilder {
    call: CallOptions,
    context: SessionContext,
    overrides: Overrides,
}

impl EvaluateBuilder {
    /// Of this worktree, about this session.
    pub fn new(worktree: impl AsRef<Path>, context: SessionContext) -> Self {
        EvaluateBuilder {
            call: CallOptions::new(worktree.as_ref().into()),
            context,
            overrides: Overrides::default(),
        }
    }

    common_settings!();

    /// Runs all checks, and reports every failure.
    pub fn all(mut self) -> Self {
        self.overrides.every = true;
        self
    }

    /// Runs commands again that passed before on the same tree.
    pub fn no_cache(mut self) -> Self {
        self.overrides.no_cache = true;
        self
    }

    /// Judges.
    ///
    /// # Errors
    /// See [`evaluate`].
    pub fn run(self) -> Result<Judgement, Refusal> {
        let EvaluateBuilder {
            call,
            context,
            overrides,
        } = self;
        call.block_on(async |command_env, signals| {
            try_evaluate(command_env, context, overrides, signals, now()).await
        })
    }
}

/// A baseline to be recorded; see [`snapshot`].
pub struct SnapshotBuilder {
    call: CallOptions,
    options: BaselineOptions,
}

impl SnapshotBuilder {
    /// Of this worktree.
    pub fn new(worktree: impl AsRef<Path>) -> Self {
        SnapshotBuilder {
            call: CallOptions::new(worktree.as_ref().into()),
            options: BaselineOptions::default(),
        }
    }

    common_settings!();

    /// The name of the work.
    pub fn spec(mut self, name: impl Into<String>) -> Self {
        self.options.spec = Some(name.into());
        self
    }

    /// Files that are uncommitted now are the session's work.
    pub fn adopt(mut self) -> Self {
        self.options.adopt = true;
        self
    }

    /// Records.
    ///
    /// # Errors
    /// See [`snapshot`].
    pub fn run(self) -> Result<RecordedBaseline, Refusal> {
        let command_env = self.call.command_env()?;
        let open = OpenWorktree::open(&command_env)?;
        Ok(record_baseline(&command_env, &open, &self.options)?.0)
    }
}

/// A rescue; see [`rescue`].
pub struct RescueBuilder {
    call: CallOptions,
    options: RescueOptions,
}

impl RescueBuilder {
    /// Of this worktree.
    pub fn new(worktree: impl AsRef<Path>) -> Self {
        RescueBuilder {
            call: CallOptions::new(worktree.as_ref().into()),
            options: RescueOptions::default(),
        }
    }

    common_settings!();

    /// The name of the work.
    pub fn spec(mut self, name: impl Into<String>) -> Self {
        self.options.spec = Some(name.into());
        self
    }

    /// Says what would be committed, and changes nothing.
    pub fn dry_run(mut self) -> Self {
        self.options.dry_run = true;
        self
    }

    /// Rescues.
    ///
    /// # Errors
    /// See [`rescue`].
    pub fn run(self) -> Result<RescueReport, Refusal> {
        let command_env = self.call.command_env()?;
        let open = OpenWorktree::open(&command_env)?;
        let never = CancelFlag::new();
        let ask = |planner: &PlannerAgent<'_>, prompt: &str, attempt: u32| {
            planner.ask(prompt, attempt, &never)
        };
        let (report, notes) = rescue_now(&command_env, &open, &self.options, &ask)?;
        notes
            .iter()
            .for_each(|note| command_env.tell(&format!("{} ({})", note.detail, note.code)));
        Ok(report)
    }
}
