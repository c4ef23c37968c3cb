//! Tells which of a repository's own gates a session switched off, or went around. git does not record `--no-verify`: the hooks that
//! are as the session found them are run once more on its new commits, in a scratch repository without remotes.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use watchdog_core::config::settings::{CheckKind, ConfigSettings, single_checks};
use watchdog_core::decision::machine::ConfigTrust;
use watchdog_facts::display::{cut_text, escape_to_one_line};
use watchdog_facts::evidence::{Commit, CommitOrigin, Commits, ProcessExit};
use watchdog_facts::gate_hooks::{GATE_HOOKS, GateHooks, GateOff, GateOffKind};
use watchdog_facts::secret_shapes::mask_secrets;
use watchdog_git::{CommitForHooks, HistoryPoint};
use watchdog_process::git_program::{format_last_lines, new_git_run};
use watchdog_process::{CancelFlag, FinishedProgram, SurvivorRule};

use super::capabilities::{CopyRoom, ScratchCheckout, copy_tree};
use super::judgement_input::JudgementInput;

/// How many commits hooks look at, newest first, and how long in all.
const MOST_COMMITS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(20);

/// How many commits from before the session a hook may take to show that it can.
const MOST_CONTROLS: &str = "-n3";

/// Tells a hook that it runs once more: one with effects outside of the repository ends early.
const RERUN: &str = "WATCHDOG_GATE_RERUN";

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

/// The recorded gates that are not as they were, and with `runs` also one that refuses a commit of the session; and why others are
/// unknown.
pub fn find_gates_off(
    input: &JudgementInput,
    runs: Option<&HookRuns<'_>>,
) -> (Vec<GateOff>, Option<String>) {
    let Some(recorded) = &input.work.gates else {
        return Default::default();
    };
    let mut gates_off = input.worktree().compare_gate_hooks(recorded);
    let refusal = runs.map(|runs| runs.find_unverified(input, recorded, &gates_off));
    let (refusal, unknown) = match refusal {
        Some(Err(unknown)) => (None, Some(unknown)),
        refusal => (refusal.and_then(Result::ok).flatten(), None),
    };
    let unread = recorded.unread.as_ref().map(|why| {
        format!("whether a hook was switched off is unknown, because watchdog could not read it when the session began: {why}")
    });
    // Later changes are not the session's.
    if let Some(at_end) = &input.work.gates_at_end {
        gates_off.retain(|off| at_end.hooks.get(&off.gate) != recorded.hooks.get(&off.gate));
    }
    gates_off.extend(refusal);
    (gates_off, unread.or(unknown))
}

/// Whether criteria rely on the gates: where commits decide, or a check's command runs hooks.
pub fn relies_on_gates(settings: &ConfigSettings) -> bool {
    let relies = |(_, criterion): (&str, &CheckKind)| {
        let line = criterion.run().map(ToString::to_string).unwrap_or_default();
        let words = ["hook", "husky", "git commit", "git push"];
        matches!(criterion, CheckKind::Git(_))
            || words
                .iter()
                .chain(&GATE_HOOKS)
                .any(|word| line.contains(word))
    };
    settings.checks.is_empty() || single_checks(&settings.checks).into_iter().any(relies)
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
    /// The first refusal of one of the newest commits by a hook that is as it was. A hook that takes no commit of the baseline either
    /// shows nothing here; an error says so.
    fn find_unverified(
        &self,
        input: &JudgementInput,
        recorded: &GateHooks,
        gates_off: &[GateOff],
    ) -> Result<Option<GateOff>, String> {
        let is_as_it_was = |hook: &&str| {
            recorded.hooks.contains_key(*hook) && !gates_off.iter().any(|off| off.gate == **hook)
        };
        let hooks: Vec<&str> = COMMIT_HOOKS.into_iter().filter(is_as_it_was).collect();
        let overrides = &input.overrides;
        let runs_nothing = overrides.once || overrides.from_inside;
        if hooks.is_empty() || runs_nothing || input.trust != ConfigTrust::Settled {
            return Ok(None);
        }
        let deadline = Instant::now() + PATIENCE;
        let is_own = |commit: &&Commit| commit.origin == CommitOrigin::MadeHere;
        let made = self.commits.listed.iter().filter(is_own);
        let mut unknown = None;
        for commit in made.take(MOST_COMMITS) {
            let Some(run) = HookRun::prepare(input, &commit.id, self, deadline) else {
                continue;
            };
            for hook in &hooks {
                let Some(refusal) = run.find_refusal(hook, commit) else {
                    continue;
                };
                // git runs no such hook for a commit that it copies or takes back.
                match run.is_brought(input, &commit.id) {
                    Some(true) => {}
                    Some(false) if run.has_control(input, hook, &commit.id, self) => {
                        return Ok(Some(run.name_author(refusal, &commit.id)));
                    }
                    brought => {
                        let why = match brought {
                            Some(_) => "no commit from before the session passes it here",
                            None => "the commits from before the session cannot be read",
                        };
                        unknown = Some(format!("{}; but {why}", refusal.detail));
                    }
                }
            }
        }
        if Instant::now() >= deadline {
            unknown.get_or_insert(format!("its hooks, run once more, took over {PATIENCE:?}"));
        }
        unknown.map_or(Ok(None), |why| {
            Err(format!(
                "whether the session went around a hook is unknown: {why}"
            ))
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
        commit: &str,
        runs: &HookRuns<'a>,
        deadline: Instant,
    ) -> Option<Self> {
        let worktree = input.worktree();
        let CommitForHooks {
            tree,
            parent,
            message,
            made_on_branch,
        } = worktree.commit_for_hooks(commit).ok()??;
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
        let hash = if tree.len() > 40 { "sha256" } else { "sha1" };
        let format = format!("--object-format={hash}");
        let branch = branch.unwrap_or_else(|| "watchdog".to_owned());
        run.git(&["init", "-q", "--template=", &format, "-b", &branch])?;
        let git_dir = run.scratch.folder().join(".git");
        run.copy_hooks(&hooks, &input.root)?;
        fs::create_dir_all(git_dir.join("objects/info")).ok()?;
        let line = format!("{}\n", objects.to_str()?);
        fs::write(git_dir.join("objects/info/alternates"), line).ok()?;
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
        let inside = inside.unwrap_or(Path::new(".git/hooks"));
        let copy = self.scratch.folder().join(inside);
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
        let mut words = self.run_hook(hook)??;
        if !self.made_on_branch {
            self.git(&["branch", "-m", "watchdog/elsewhere"])?;
            words = self.run_hook(hook)??;
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

    /// Names an author who is not the committer: git runs no such hook for a patch that it applies. No record proves that it was one.
    fn name_author(&self, mut refusal: GateOff, commit: &str) -> GateOff {
        let people = self.read(&["log", "-1", "--format=%an <%ae>%n%cn <%ce>", commit]);
        let people = people.unwrap_or_default();
        if let Some((author, committer)) = people.split_once('\n')
            && author != committer
        {
            let author = escape_to_one_line(author);
            refusal.detail +=
                &format!(" (its author is {author}; git am runs no {})", refusal.gate);
        }
        refusal
    }

    /// Whether git made a commit from one that was there before the session, by cherry-pick, rebase or revert: by its change and the
    /// recorded refs, since a session can write any date. `None` where that is unknown.
    fn is_brought(&self, input: &JudgementInput, commit: &str) -> Option<bool> {
        let parent = format!("{commit}^");
        let parent_commit = self.run(&["rev-parse", "-q", "--verify", &parent])?;
        if !parent_commit.exit.success() {
            return Some(false);
        }
        let tips = input.evidence.refs.as_ref()?.tips().ok()?;
        let mut args = vec!["rev-list", "--no-walk"];
        args.extend(tips.iter().map(|(_, id)| id));
        if let HistoryPoint::Commit(baseline) = &input.baseline {
            args.push(baseline);
        }
        let commits = self.read(&args)?;
        // A commit on top of all of them, for a single comparison.
        let words = "-c user.name=w -c user.email=w commit-tree -m all";
        let mut args: Vec<&str> = words.split(' ').collect();
        args.extend(commits.lines().flat_map(|commit| ["-p", commit]));
        let tree = format!("{}^{{tree}}", commits.lines().next()?);
        args.push(&tree);
        let all = self.read(&args)?;
        let picked = self.read(&["cherry", &all, commit, &parent])?;
        if picked.starts_with('-') {
            return Some(true);
        }
        let message = self.read(&["log", "-1", "--format=%B", commit])?;
        let Some((_, undone)) = message.split_once("This reverts commit ") else {
            return Some(false);
        };
        let undone: String = undone.chars().take_while(char::is_ascii_hexdigit).collect();
        let base = format!("--merge-base={undone}");
        // The hooks look at its own earlier commits, too.
        let was_there = [&all, commit]
            .into_iter()
            .find_map(|tip| self.git(&["merge-base", "--is-ancestor", &undone, tip]));
        let undone = format!("{undone}^");
        let merged = self.read(&["merge-tree", "--write-tree", &base, &parent, &undone]);
        let tree = self.read(&["rev-parse", &format!("{commit}^{{tree}}")])?;
        Some(was_there.is_some() && merged == Some(tree))
    }

    /// Whether the hook takes a commit from before the session in such a place, one of the same kinds of files where there is any.
    fn has_control(
        &self,
        input: &JudgementInput,
        hook: &str,
        commit: &str,
        runs: &HookRuns<'_>,
    ) -> bool {
        let list = |paths: &[String]| {
            let mut args = vec!["--no-literal-pathspecs", "rev-list", "--no-merges"];
            args.extend([MOST_CONTROLS, input.baseline.as_str(), "--"]);
            args.extend(paths.iter().map(String::as_str));
            self.read(&args).filter(|commits| !commits.is_empty())
        };
        let changed = self.read(&["diff-tree", "-r", "--name-only", "--no-commit-id", commit]);
        let kinds: BTreeSet<String> = (changed.unwrap_or_default().lines())
            .map(|path| match Path::new(path).extension() {
                Some(extension) => format!("*.{}", extension.to_string_lossy()),
                None => format!(":(literal){path}"),
            })
            .collect();
        let kinds: Vec<String> = kinds.into_iter().collect();
        let commits = list(&kinds).or_else(|| list(&[])).unwrap_or_default();
        commits.lines().any(|commit| {
            let run = HookRun::prepare(input, commit, runs, self.deadline);
            run.is_some_and(|run| {
                let is_refused = || run.run_hook(hook).is_none_or(|words| words.is_some());
                !is_refused()
                    || (run.git(&["branch", "-m", "watchdog/elsewhere"]).is_some() && !is_refused())
            })
        })
    }

    /// The words with which a hook refuses, or that it takes the commit. `None` where it lacks something here, or does not end in time.
    fn run_hook(&self, hook: &str) -> Option<Option<String>> {
        let folder = format!("core.hooksPath={}", self.hooks_folder);
        let mut args = vec!["-c", &folder, "hook", "run", hook];
        if hook == "commit-msg" {
            args.extend(["--", ".git/COMMIT_EDITMSG"]);
        }
        let finished = self.run(&args)?;
        let words = format_last_lines(&finished);
        let lacks = LACKS_SOMETHING.iter().any(|lack| words.contains(lack));
        match finished.exit {
            exit if exit.success() => Some(None),
            ProcessExit::Code(1..=125) if !lacks => Some(Some(words)),
            _ => None,
        }
    }

    /// The output of git.
    fn read(&self, args: &[&str]) -> Option<String> {
        let finished = self.run(args)?;
        let text = String::from_utf8_lossy(&finished.stdout.bytes);
        (finished.exit.success()).then(|| text.trim().to_owned())
    }

    fn git(&self, args: &[&str]) -> Option<()> {
        self.run(args)?.exit.success().then_some(())
    }

    fn run(&self, args: &[&str]) -> Option<FinishedProgram> {
        let time_left = self.deadline.checked_duration_since(Instant::now())?;
        let mut run = new_git_run(self.scratch.folder(), args, &[], true, time_left);
        run.env.insert(RERUN.into(), Some("1".into()));
        let finished = run.run_with(self.cancel, SurvivorRule::End).ok()?.0;
        (!finished.timed_out && !self.cancel.is_cancelled()).then_some(finished)
    }
}
