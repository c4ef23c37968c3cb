//! The real `Capabilities` of one judgement.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::rescue;
use watchdog_agent::preset::AgentPreset;
use watchdog_core::checks::{
    BoundedText, CachedPass, Capabilities, CapturedStream, CheckCommandRun, CheckDefinition,
    CommandOutput, CommandRequest, CommandRun, JudgeAnswer, JudgeRequest, LineOutcome, MatchedFile,
    PushState, ResultBeforeWork, SuiteRunner, TestEdits, TouchedPaths,
};
use watchdog_core::config::settings::{CommandLine, CommandSuccess};
use watchdog_facts::evidence::{
    Changes, CheckOutcome, Commits, FaultKind, ReadFact, TestCounts, UnreadableFact,
};
use watchdog_facts::secret_shapes::mask_secrets;
use watchdog_facts::verdict::ProbeUsage;
use watchdog_git as git;
use watchdog_git::{HistoryPoint, Worktree};
use watchdog_process::{
    BoundedOutput, CancelFlag, FinishedProgram, ProgramPurpose, ProgramRun, StartError,
    SurvivingProcess, SurvivorRule,
};
use watchdog_store::LocalStore;

use super::copied_dependencies::RerunSupplies;
use super::earlier_results::CheckCache;
use super::earlier_results::{self, CurrentOutcome};
use super::{check_run, judge, typescript, worktree_files};
use crate::judge::judgement_input::JudgementInput;
use crate::judge::line_checkers::LineCheckers;
use crate::judge::{criteria_files, session_work};

/// The system access of one judgement's checks.
pub struct SystemCapabilities<'a> {
    pub(super) input: &'a JudgementInput,
    pub(super) cancel: &'a CancelFlag,
    /// Another program than the preset's own name in `PATH`.
    pub agent_program: Option<OsString>,
    /// The agent's preset, or why there is none; `None` looks its word up.
    pub agent_preset: Option<Result<Arc<AgentPreset>, String>>,
    /// Checkers that may outlast this judgement.
    pub line_checkers: Arc<LineCheckers>,
    earlier_passes: Option<CheckCache>,
    spent: Mutex<ProbeUsage>,
    /// The records of how checks ended when the work began.
    pub(super) store: Option<Arc<dyn LocalStore>>,
    /// The folder of scratch checkouts.
    pub scratch: Option<PathBuf>,
    /// The tree that clean checks run on in place of the work: then nothing else of the worktree counts.
    pub at_tree: Option<String>,
    /// Whether a pass may be tried on mixed trees.
    pub tries_tests: bool,
    /// What the reruns of this judgement share.
    pub(super) supplies: Arc<RerunSupplies>,
    /// The supplies of the judgement for which this is a rerun.
    pub(super) shared_copies: Option<Arc<RerunSupplies>>,
    begun: Instant,
}

impl<'a> SystemCapabilities<'a> {
    /// The capabilities for this input. Commands end when `cancel` is raised.
    pub fn new(input: &'a JudgementInput, cancel: &'a CancelFlag) -> Self {
        SystemCapabilities {
            input,
            cancel,
            agent_program: None,
            agent_preset: None,
            line_checkers: Arc::default(),
            earlier_passes: None,
            spent: Mutex::default(),
            store: None,
            scratch: None,
            at_tree: None,
            tries_tests: false,
            supplies: Arc::default(),
            shared_copies: None,
            begun: Instant::now(),
        }
    }

    /// The same with a cache: commands that passed before need not run again, unless the command line asks for it.
    pub fn with_earlier_passes(self, store: Arc<dyn LocalStore>) -> Self {
        let earlier_passes =
            (!self.input.overrides.no_cache).then(|| CheckCache::new(Arc::clone(&store)));
        SystemCapabilities {
            earlier_passes,
            store: Some(store),
            ..self
        }
    }

    /// The cost of the questions to models so far.
    pub fn get_usage(&self) -> ProbeUsage {
        *self.spent.lock().expect("mutex poisoned")
    }

    pub(super) fn spend(&self, usage: ProbeUsage) {
        let mut spent = self.spent.lock().expect("mutex poisoned");
        *spent = spent.plus(usage);
    }

    /// The environment variables for every program of a check.
    pub(super) fn variables(&self) -> EnvChanges {
        BTreeMap::from([(
            "WATCHDOG_SPEC".into(),
            Some(OsString::from(&self.input.spec)),
        )])
    }

    fn worktree<T>(&self, read: impl FnOnce(&Worktree) -> T) -> T {
        read(&self.input.worktree())
    }
}

/// Runs the command of a check below a folder. A folder of its own that a symbolic link leads out of there is refused.
pub fn run_below(
    root: &Path,
    request: &CommandRequest<'_>,
    variables: BTreeMap<OsString, Option<OsString>>,
    cancel: &CancelFlag,
) -> CommandRun {
    match prepare_below(root, request, variables, cancel) {
        Ok(program) => describe_end(program.run_with(cancel, SurvivorRule::End), cancel),
        Err(why) => CommandRun::Unrunnable { why },
    }
}

/// The program of a check, below a folder.
pub(super) fn prepare_below(
    root: &Path,
    request: &CommandRequest<'_>,
    variables: EnvChanges,
    cancel: &CancelFlag,
) -> Result<ProgramRun, String> {
    let folder = resolve_folder(root, request.cwd)?;
    let (argv, env) = hosted_or_own(request, root, &folder, variables, cancel)?;
    Ok(ProgramRun {
        env,
        stdin: request.stdin.to_vec(),
        deadline: request.timeout,
        purpose: ProgramPurpose::Check,
        ..ProgramRun::new(argv, folder)
    })
}

/// The end of a check's program, for the check.
pub(super) fn describe_end(
    ended: Result<(FinishedProgram, Vec<SurvivingProcess>), StartError>,
    cancel: &CancelFlag,
) -> CommandRun {
    match ended {
        Ok((finished, _)) => {
            let output = CommandOutput {
                stdout: capture_stream(finished.stdout),
                stderr: capture_stream(finished.stderr),
            };
            match finished.timed_out || cancel.is_cancelled() {
                true => CommandRun::TimedOut { output },
                false => CommandRun::Finished {
                    exit: finished.exit,
                    output,
                },
            }
        }
        Err(StartError::NotRunnable { program, why }) => CommandRun::Unrunnable {
            why: format!("{program}: {why}"),
        },
        Err(error @ StartError::Shortage { .. }) => CommandRun::HeadroomError {
            why: error.to_string(),
        },
        Err(error @ StartError::System { .. }) => CommandRun::Unrunnable {
            why: error.to_string(),
        },
    }
}

fn resolve_folder(root: &Path, cwd: Option<&str>) -> Result<PathBuf, String> {
    let Some(cwd) = cwd else {
        return Ok(root.to_owned());
    };
    let leads_out = || format!("{cwd} leads out of the worktree");
    let folder = root
        .join(cwd)
        .canonicalize()
        .map_err(|error| format!("{cwd}: {error}"))?;
    let root = root.canonicalize().map_err(|error| error.to_string())?;
    if folder.starts_with(root) {
        Ok(folder)
    } else {
        Err(leads_out())
    }
}

impl Capabilities for SystemCapabilities<'_> {
    fn clock(&self) -> Duration {
        self.begun.elapsed()
    }

    fn run_command(&self, request: &CommandRequest<'_>) -> CommandRun {
        run_below(&self.input.root, request, self.variables(), self.cancel)
    }

    fn run_check(&self, request: &CommandRequest<'_>, report: Option<&str>) -> CheckCommandRun {
        check_run::run_criterion_command(self, request, report)
    }

    fn commits(&self) -> ReadFact<Commits> {
        let evidence = self.input.evidence.clone();
        let is_baseline = self.input.origin.0 == self.input.baseline;
        let evidence = if is_baseline {
            evidence
        } else {
            evidence.with_refs(self.input.origin.1.clone())
        };
        Ok(self.worktree(|worktree| worktree.session_commits(&self.input.origin.0, &evidence))?)
    }

    fn changes(&self) -> ReadFact<Changes> {
        Ok(self
            .worktree(|worktree| session_work::read_uncommitted(worktree, &self.input.work))?
            .changes)
    }

    fn files(&self, glob: &str) -> io::Result<Vec<MatchedFile>> {
        worktree_files::find_files(&self.input.root, glob)
    }

    fn read_file(&self, path: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        worktree_files::read_file(&self.input.root, path, limit)
    }

    fn baseline_file(&self, path: &str, limit: u64) -> ReadFact<Option<Vec<u8>>> {
        let unreadable = |why: String| UnreadableFact::new(FaultKind::Git, why);
        let inside = Path::new(path);
        let inside = if inside.is_absolute() {
            inside.strip_prefix(&self.input.root).ok()
        } else {
            Some(inside)
        };
        let inside = inside.ok_or_else(|| {
            unreadable(format!(
                "{path} is outside of the worktree, so that no commit has it"
            ))
        })?;
        let inside: PathBuf = inside
            .components()
            .filter(|part| *part != Component::CurDir)
            .collect();
        let HistoryPoint::Commit(commit) = self.input.criteria_point() else {
            return Ok(None);
        };
        let blob =
            self.worktree(|worktree| worktree.blob_at(&commit, &inside.to_string_lossy()))?;
        match blob {
            Some(bytes) if bytes.len() as u64 > limit => Err(unreadable(format!(
                "{path} of the baseline is larger than {limit} bytes"
            ))),
            found => Ok(found),
        }
    }

    fn read_touched(&self, wanted: &dyn Fn(&str) -> bool) -> ReadFact<TouchedPaths> {
        let mut paths = self.worktree(|worktree| {
            worktree.touched_since(&self.input.origin.0, self.input.origin.1.as_ref(), wanted)
        })?;
        let total = paths.len() as u64;
        paths.truncate(TouchedPaths::LISTED);
        Ok(TouchedPaths { paths, total })
    }

    fn read_protected(&self, globs: &[String]) -> ReadFact<TouchedPaths> {
        let mut paths = criteria_files::changed_globs(self.input, globs)?;
        let total = paths.len() as u64;
        paths.truncate(TouchedPaths::LISTED);
        Ok(TouchedPaths { paths, total })
    }

    fn head(&self) -> Option<String> {
        self.worktree(Worktree::head)
            .ok()
            .map(|head| head.as_str().to_owned())
    }

    fn hidden_entries(&self) -> ReadFact<Option<(u64, String)>> {
        Ok(self
            .worktree(Worktree::hidden_entries)?
            .map(|hidden| (hidden.total, hidden.first)))
    }

    fn read_push_state(&self) -> ReadFact<PushState> {
        Ok(match self.worktree(Worktree::read_remote_state)? {
            git::RemoteState::Unborn => PushState::Unborn,
            git::RemoteState::NoRemote => PushState::NoRemote,
            git::RemoteState::Yes => PushState::Yes,
            git::RemoteState::No { ahead } => PushState::No { ahead },
        })
    }

    fn diff(&self, limit: usize) -> ReadFact<BoundedText> {
        let diff = self.worktree(|worktree| {
            let from = if self.baseline_known() {
                self.input.origin.0.clone()
            } else {
                worktree.head()?
            };
            worktree.diff_since(
                &from,
                self.input.origin.1.as_ref(),
                limit,
                &rescue::looks_secret,
            )
        })?;
        Ok(BoundedText {
            text: mask_secrets(&diff.text).into_owned(),
            cut: diff.cut,
        })
    }

    fn baseline_known(&self) -> bool {
        self.input.origin.0 != HistoryPoint::unknown()
    }

    fn ask_judge(&self, request: &JudgeRequest<'_>) -> JudgeAnswer {
        match request.run {
            Some(line) => judge::ask_program(self, line, request),
            None => judge::ask_preset(self, request),
        }
    }

    fn changed_scripts(&self, line: &CommandLine, cwd: Option<&str>) -> ReadFact<Vec<String>> {
        criteria_files::changed_scripts(self.input, line, cwd)
    }

    fn passed_before(
        &self,
        request: &CommandRequest<'_>,
        rule: &CommandSuccess,
    ) -> Option<CachedPass> {
        self.earlier_passes.as_ref()?.of(self.input, request, rule)
    }

    fn remember_pass(
        &self,
        request: &CommandRequest<'_>,
        rule: &CommandSuccess,
        tests: Option<TestCounts>,
    ) {
        if let Some(passes) = &self.earlier_passes {
            passes.remember(self.input, request, rule, tests);
        }
    }

    fn at_begin(
        &self,
        definition: &CheckDefinition,
        outcome: CheckOutcome,
        tests: Option<TestCounts>,
    ) -> ResultBeforeWork {
        let find = |store: &Arc<dyn LocalStore>| {
            earlier_results::find(
                self.input,
                store.as_ref(),
                &CurrentOutcome {
                    definition,
                    outcome,
                    tests,
                },
            )
        };
        self.store
            .as_ref()
            .map_or_else(ResultBeforeWork::default, find)
    }

    fn suite_runner(&self) -> Option<&dyn SuiteRunner> {
        self.at_tree.is_none().then_some(self)
    }

    fn edited_tests(&self, lines: bool) -> ReadFact<TestEdits> {
        if self.at_tree.is_some() {
            Ok(TestEdits::default())
        } else {
            worktree_files::find_edited_tests(self.input, &self.input.root, lines)
        }
    }

    fn exchange(&self, request: &CommandRequest<'_>, line: &str) -> LineOutcome {
        let folder = match resolve_folder(&self.input.root, request.cwd) {
            Ok(folder) => folder,
            Err(why) => return LineOutcome::Unrunnable { why },
        };
        match hosted_or_own(
            request,
            &self.input.root,
            &folder,
            self.variables(),
            self.cancel,
        ) {
            Ok((argv, env)) => self.line_checkers.exchange(
                argv,
                folder,
                &env,
                (line, request.timeout, self.cancel),
            ),
            Err(why) => LineOutcome::Unrunnable { why },
        }
    }
}

/// The environment variables of a program: those to set, and those to take away.
pub(super) type EnvChanges = BTreeMap<OsString, Option<OsString>>;

/// The arguments and variables of a command: its own, or those of what runs its TypeScript.
fn hosted_or_own(
    request: &CommandRequest<'_>,
    root: &Path,
    folder: &Path,
    variables: EnvChanges,
    cancel: &CancelFlag,
) -> Result<(Vec<OsString>, EnvChanges), String> {
    let hosted = if request.may_be_typescript {
        typescript::host_typescript(request.line, root, folder, cancel)?
    } else {
        None
    };
    Ok(match hosted {
        Some(hosted) => (
            hosted.argv,
            variables.into_iter().chain(hosted.env).collect(),
        ),
        None => (build_argv(request.line), variables),
    })
}

/// The arguments that run a command line.
fn build_argv(line: &CommandLine) -> Vec<OsString> {
    match line {
        CommandLine::Shell(line) => vec!["sh".into(), "-c".into(), line.into()],
        CommandLine::Argv(argv) => argv.iter().map(OsString::from).collect(),
    }
}

fn capture_stream(output: BoundedOutput) -> CapturedStream {
    let middle = if output.dropped == 0 {
        0
    } else {
        output.bytes.len() / 2
    };
    let (head, tail) = output.bytes.split_at(middle);
    CapturedStream {
        head: head.to_vec(),
        dropped: output.dropped,
        tail: tail.to_vec(),
    }
}
