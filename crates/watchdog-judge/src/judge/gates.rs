//! Tells which of a repository's own gates a session switched off, or went around. git does not record `--no-verify`: the hooks that
//! are as the session found them are run once more on its new commits, in a scratch repository without remotes.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use watchdog_core::config::settings::{CheckKind, CheckSpec, ConfigSettings};
use watchdog_core::decision::machine::ConfigTrust;
use watchdog_facts::display::{cut_text, escape_to_one_line};
use watchdog_facts::evidence::{Commit, CommitOrigin, Commits, ProcessExit};
use watchdog_facts::gate_hooks::{GATE_HOOKS, GateHooks, GateOff, GateOffKind};
use watchdog_facts::secret_shapes::mask_secrets;
use watchdog_git::CommitForHooks;
use watchdog_process::git_program::{format_last_lines, new_git_run};
use watchdog_process::{CancelFlag, FinishedProgram, SurvivorRule};

use super::capabilities::{CopyRoom, ScratchCheckout, copy_tree};
use super::judgement_input::JudgementInput;

/// How many commits hooks look at, newest first, and how long in all.
const MOST_COMMITS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(60);

/// The hooks that look at a commit, in git's order.
const COMMIT_HOOKS: [&str; 2] = ["pre-commit", "commit-msg"];

/// Words of a hook, or of git, that lacks something in a scratch repository, and judges nothing.
const LACKS_SOMETHING: [&str; 9] = [
    "cannot find a hook",
    ": not found",
    "command not found",
    "` not found",
    "No such file or directory",
    "No such device",
    "annot find module",
    "No module named",
    "is not a git command",
];

/// The recorded gates that are not as they were, and with `runs` also one that refuses a commit of the session.
pub fn find_gates_off(input: &JudgementInput, runs: Option<&HookRuns<'_>>) -> Vec<GateOff> {
    let Some(recorded) = &input.work.gates else {
        return Vec::new();
    };
    let mut gates_off = input.worktree().compare_gate_hooks(recorded);
    let refusal = runs.and_then(|runs| runs.find_unverified(input, recorded, &gates_off));
    // Later changes are not the session's.
    if let Some(at_end) = &input.work.gates_at_end {
        gates_off.retain(|off| at_end.hooks.get(&off.gate) != recorded.hooks.get(&off.gate));
    }
    gates_off.extend(refusal);
    gates_off
}

/// Whether criteria rely on the repository's own gates: where commits decide, or a check's command runs hooks.
pub fn relies_on_gates(settings: &ConfigSettings) -> bool {
    fn relies(check: &CheckSpec) -> bool {
        match check {
            CheckSpec::Group { checks, .. } => checks.iter().any(relies),
            CheckSpec::Single { criterion, .. } => {
                let line = criterion.run().map(ToString::to_string).unwrap_or_default();
                let words = ["hook", "husky", "git commit", "git push"];
                matches!(criterion, CheckKind::Git(_))
                    || words
                        .iter()
                        .chain(&GATE_HOOKS)
                        .any(|word| line.contains(word))
            }
        }
    }
    settings.checks.is_empty() || settings.checks.iter().any(relies)
}

/// The means to run hooks on the commits of a session.
pub struct HookRuns<'a> {
    /// The commits since the baseline.
    pub commits: &'a Commits,
    /// The folder of scratch checkouts.
    pub scratch: PathBuf,
    /// Ends them.
    pub cancel: &'a CancelFlag,
}

impl HookRuns<'_> {
    /// The first refusal of one of the newest commits by a hook that is as it was.
    fn find_unverified(
        &self,
        input: &JudgementInput,
        recorded: &GateHooks,
        gates_off: &[GateOff],
    ) -> Option<GateOff> {
        let is_as_it_was = |hook: &&str| {
            recorded.hooks.contains_key(*hook) && !gates_off.iter().any(|off| off.gate == **hook)
        };
        let hooks: Vec<&str> = COMMIT_HOOKS.into_iter().filter(is_as_it_was).collect();
        let overrides = &input.overrides;
        let runs_nothing = overrides.once || overrides.from_inside;
        if hooks.is_empty() || runs_nothing || input.trust != ConfigTrust::Settled {
            return None;
        }
        let deadline = Instant::now() + PATIENCE;
        let is_own = |commit: &&Commit| commit.origin == CommitOrigin::MadeHere;
        let made = self.commits.listed.iter().filter(is_own);
        made.take(MOST_COMMITS).find_map(|commit| {
            let run = HookRun::prepare(input, commit, self, deadline)?;
            hooks.iter().find_map(|hook| run.find_refusal(hook, commit))
        })
    }
}

/// A scratch repository in which one commit is about to be made.
struct HookRun<'a> {
    scratch: ScratchCheckout,
    hooks_folder: String,
    made_on_branch: bool,
    deadline: Instant,
    cancel: &'a CancelFlag,
}

impl<'a> HookRun<'a> {
    /// The files, the index and the message of the commit, on top of its parent. `None` for a merge, and where there is no room.
    fn prepare(
        input: &JudgementInput,
        commit: &Commit,
        runs: &HookRuns<'a>,
        deadline: Instant,
    ) -> Option<Self> {
        let worktree = input.worktree();
        let CommitForHooks {
            tree,
            parent,
            message,
            made_on_branch,
        } = worktree.commit_for_hooks(&commit.id).ok()??;
        let hooks = worktree.hooks_folder().ok()?.0;
        let mut run = HookRun {
            scratch: ScratchCheckout::of(&worktree, &tree, &runs.scratch).ok()?,
            hooks_folder: String::new(),
            made_on_branch,
            deadline,
            cancel: runs.cancel,
        };
        let (branch, objects) = (worktree.branch(), worktree.common_dir().join("objects"));
        drop(worktree);
        let format = format!(
            "--object-format={}",
            if tree.len() > 40 { "sha256" } else { "sha1" }
        );
        let branch = branch.unwrap_or_else(|| "watchdog".to_owned());
        run.git(&["init", "-q", "--template=", &format, "-b", &branch])?;
        let git_dir = run.scratch.folder().join(".git");
        run.copy_hooks(&hooks, &input.root)?;
        fs::create_dir_all(git_dir.join("objects/info")).ok()?;
        fs::write(
            git_dir.join("objects/info/alternates"),
            format!("{}\n", objects.to_str()?),
        )
        .ok()?;
        fs::write(git_dir.join("COMMIT_EDITMSG"), message).ok()?;
        if let Some(parent) = parent {
            run.git(&["update-ref", "HEAD", &parent])?;
        }
        run.git(&["read-tree", &tree])?;
        // Files that a filter would change stay as they are.
        run.run(&["update-index", "-q", "--refresh"]);
        Some(run)
    }

    /// Copies the hooks to their own place in the scratch repository: one that goes by its own path must not reach the worktree. `None`
    /// where one names the worktree.
    fn copy_hooks(&mut self, hooks: &Path, root: &Path) -> Option<()> {
        let names_root = |hook: &&str| {
            let text = fs::read(hooks.join(hook)).unwrap_or_default();
            let name = root.as_os_str().as_bytes();
            text.windows(name.len()).any(|part| part == name)
        };
        if COMMIT_HOOKS.iter().any(names_root) {
            return None;
        }
        let inside = hooks.strip_prefix(root).ok();
        let inside = inside.filter(|inside| !inside.starts_with(".git"));
        let copy = self
            .scratch
            .folder()
            .join(inside.unwrap_or(Path::new(".git/hooks")));
        if !copy.exists() {
            fs::create_dir_all(copy.parent()?).ok()?;
            let mut room = CopyRoom {
                files: 1_000,
                bytes: 16 << 20,
                cancel: self.cancel,
            };
            copy_tree(hooks, &copy, &mut room)?;
        }
        self.hooks_folder = copy.to_str()?.to_owned();
        Some(())
    }

    /// The refusal of a commit by a hook. A hook that refuses the branch alone has to refuse another one as well, where the commit came
    /// from another branch.
    fn find_refusal(&self, hook: &str, commit: &Commit) -> Option<GateOff> {
        let mut words = self.run_hook(hook)?;
        if !self.made_on_branch {
            self.git(&["branch", "-m", "watchdog/elsewhere"])?;
            words = self.run_hook(hook)?;
        }
        let words = cut_text(&escape_to_one_line(&mask_secrets(words.trim())), 200);
        let words = Some(words).filter(|words| !words.is_empty());
        Some(GateOff {
            gate: hook.to_owned(),
            how: GateOffKind::NoVerify,
            detail: format!(
                "the hook {hook}, run once more on commit {} '{}', refuses it{}",
                &commit.id[..12],
                escape_to_one_line(&commit.subject),
                words.map_or(String::new(), |words| format!(": {words}"))
            ),
        })
    }

    /// The words with which a hook refuses. A hook that lacks something here, or does not end in time, refuses nothing.
    fn run_hook(&self, hook: &str) -> Option<String> {
        let folder = format!("core.hooksPath={}", self.hooks_folder);
        let mut args = vec!["-c", &folder, "hook", "run", hook];
        if hook == "commit-msg" {
            args.extend(["--", ".git/COMMIT_EDITMSG"]);
        }
        let finished = self.run(&args)?;
        let words = format_last_lines(&finished);
        let refuses = matches!(finished.exit, ProcessExit::Code(1..=125))
            && !LACKS_SOMETHING.iter().any(|lack| words.contains(lack));
        refuses.then_some(words)
    }

    fn git(&self, args: &[&str]) -> Option<()> {
        self.run(args)?.exit.success().then_some(())
    }

    fn run(&self, args: &[&str]) -> Option<FinishedProgram> {
        let time_left = self.deadline.checked_duration_since(Instant::now())?;
        let run = new_git_run(self.scratch.folder(), args, &[], true, time_left);
        let finished = run.run_with(self.cancel, SurvivorRule::End).ok()?.0;
        (!finished.timed_out && !self.cancel.is_cancelled()).then_some(finished)
    }
}
