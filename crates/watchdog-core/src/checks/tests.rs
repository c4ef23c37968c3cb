//! Facts handed to checks by tests, and the tables of how checks combine.

use std::io;
use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::config::settings::{
    CheckKind, CheckOrder, CheckSpec, CommandCriterion, CommandLine, CommandSuccess,
    ConfigSettings, FilesCriterion, GitCriterion, Mode,
};
use watchdog_facts::evidence::{
    Changes, CheckOutcome, Commits, FaultKind, OutcomeBeforeWork, ProcessExit, ReadFact,
    TestCounts, UnreadableFact,
};
use watchdog_facts::patterns::path_glob;
use watchdog_facts::patterns::path_globs;
use watchdog_facts::verdict::Evidence;

/// A scripted system for a test, with a log of the requests to it.
#[derive(Default)]
pub(super) struct Fake {
    pub(super) runs: Vec<(&'static str, CommandRun)>,
    pub(super) commits: Option<ReadFact<Commits>>,
    pub(super) changes: Option<ReadFact<Changes>>,
    pub(super) files: Vec<(&'static str, u64)>,
    pub(super) unreadable: Vec<&'static str>,
    /// The content of files in the worktree.
    pub(super) contents: Vec<(&'static str, String)>,
    /// The content of files in the baseline commit.
    pub(super) baseline: Vec<(&'static str, String)>,
    /// Whether the baseline commit cannot be read.
    pub(super) baseline_broken: bool,
    pub(super) touched: Option<ReadFact<Vec<&'static str>>>,
    /// How many more paths changed than are listed.
    pub(super) touched_unlisted: u64,
    pub(super) pushed: Option<ReadFact<PushState>>,
    pub(super) diff: Option<ReadFact<BoundedText>>,
    pub(super) judge: Option<JudgeAnswer>,
    /// Files that commands name and that changed.
    pub(super) changed_scripts: Option<ReadFact<Vec<String>>>,
    /// Whether commands passed before.
    pub(super) passed_before: Option<CachedPass>,
    /// The session's changes to tests.
    pub(super) edits: TestEdits,
    /// The report of a run.
    pub(super) report: Option<Result<Vec<u8>, String>>,
    /// The results of checks from when the work began.
    pub(super) at_begin: ResultBeforeWork,
    /// Answers of programs that stay, in order.
    pub(super) exchanges: Mutex<Vec<LineOutcome>>,
    pub(super) asked: Mutex<Vec<String>>,
}

/// The record of a check that failed when the work began.
const FAILED_BEFORE: ResultBeforeWork = ResultBeforeWork {
    before: OutcomeBeforeWork::Failed,
    tests: None,
};

impl Fake {
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn note(&self, what: String) {
        self.asked.lock().unwrap().push(what);
    }
}

impl Capabilities for Fake {
    /// One millisecond per look.
    fn clock(&self) -> Duration {
        Duration::from_millis(self.asked.lock().unwrap().len() as u64)
    }

    fn run_command(&self, request: &CommandRequest<'_>) -> CommandRun {
        let cwd = request
            .cwd
            .map(|cwd| format!(" in {cwd}"))
            .unwrap_or_default();
        let stdin = if request.stdin.is_empty() {
            String::new()
        } else {
            format!(" < {}", String::from_utf8_lossy(request.stdin))
        };
        self.note(format!(
            "run {}{cwd} for {} s{stdin}",
            request.line,
            request.timeout.as_secs()
        ));
        let run = self
            .runs
            .iter()
            .find(|(line, _)| *line == request.line.to_string());
        run.unwrap_or_else(|| panic!("{} is not to be run", request.line))
            .1
            .clone()
    }

    fn commits(&self) -> ReadFact<Commits> {
        self.note("commits".into());
        self.commits.clone().expect("commits are not to be read")
    }

    fn changes(&self) -> ReadFact<Changes> {
        self.note("changes".into());
        self.changes.clone().expect("changes are not to be read")
    }

    fn files(&self, glob: &str) -> io::Result<Vec<MatchedFile>> {
        self.note(format!("files {glob}"));
        if self.unreadable.contains(&glob) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let matcher = path_glob(glob).unwrap().compile_matcher();
        let matching = self.files.iter().filter(|(path, _)| matcher.is_match(path));
        Ok(matching
            .map(|(path, size)| MatchedFile {
                path: (*path).to_owned(),
                size: *size,
            })
            .collect())
    }

    fn read_file(&self, path: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        self.note(format!("read {path}"));
        if self.unreadable.contains(&path) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        match self.contents.iter().find(|(name, _)| *name == path) {
            Some((_, text)) if text.len() as u64 > limit => Err(io::ErrorKind::FileTooLarge.into()),
            Some((_, text)) => Ok(Some(text.clone().into_bytes())),
            None => Ok(None),
        }
    }

    fn baseline_file(&self, path: &str, _limit: u64) -> ReadFact<Option<Vec<u8>>> {
        self.note(format!("baseline {path}"));
        if self.baseline_broken {
            return Err(broken("the baseline is gone"));
        }
        Ok(self
            .baseline
            .iter()
            .find(|(name, _)| *name == path)
            .map(|(_, text)| text.clone().into_bytes()))
    }

    fn read_touched(&self, wanted: &dyn Fn(&str) -> bool) -> ReadFact<TouchedPaths> {
        self.note("touched".into());
        let all = self
            .touched
            .clone()
            .expect("touched paths are not to be read")?;
        let paths: Vec<String> = all
            .into_iter()
            .filter(|path| wanted(path))
            .map(str::to_owned)
            .collect();
        Ok(TouchedPaths {
            total: paths.len() as u64 + self.touched_unlisted,
            paths,
        })
    }

    fn read_protected(&self, globs: &[String]) -> ReadFact<TouchedPaths> {
        let patterns = path_globs(globs).expect("globs of tests are right");
        self.read_touched(&|path| patterns.is_match(path))
    }

    fn read_push_state(&self) -> ReadFact<PushState> {
        self.note("pushed".into());
        self.pushed
            .clone()
            .expect("remotes are not to be looked at")
    }

    fn diff(&self, limit: usize) -> ReadFact<BoundedText> {
        self.note(format!("diff of {limit} bytes"));
        self.diff.clone().expect("the diff is not to be read")
    }

    fn ask_judge(&self, request: &JudgeRequest<'_>) -> JudgeAnswer {
        self.note(format!("judge: {}", request.prompt));
        self.judge.clone().expect("nobody is to be asked")
    }

    fn exchange(&self, request: &CommandRequest<'_>, line: &str) -> LineOutcome {
        self.note(format!("line to {}: {line}", request.line));
        self.exchanges.lock().unwrap().remove(0)
    }

    fn changed_scripts(&self, _line: &CommandLine, _cwd: Option<&str>) -> ReadFact<Vec<String>> {
        self.changed_scripts
            .clone()
            .unwrap_or_else(|| Ok(Vec::new()))
    }

    fn passed_before(
        &self,
        _request: &CommandRequest<'_>,
        _rule: &CommandSuccess,
    ) -> Option<CachedPass> {
        self.passed_before.clone()
    }

    fn run_check(&self, request: &CommandRequest<'_>, report: Option<&str>) -> CheckCommandRun {
        CheckCommandRun {
            run: self.run_command(request),
            report: self.report.clone().filter(|_| report.is_some()),
            tree: None,
        }
    }

    fn edited_tests(&self, _lines: bool) -> ReadFact<TestEdits> {
        Ok(self.edits.clone())
    }

    fn at_begin(
        &self,
        _definition: &CheckDefinition,
        _outcome: CheckOutcome,
        _tests: Option<TestCounts>,
    ) -> ResultBeforeWork {
        self.at_begin
    }

    fn remember_pass(
        &self,
        request: &CommandRequest<'_>,
        rule: &CommandSuccess,
        _tests: Option<TestCounts>,
    ) {
        self.note(format!("remember {} by {rule:?}", request.line));
    }
}

pub(super) fn broken(why: &str) -> UnreadableFact {
    UnreadableFact {
        kind: FaultKind::Git,
        why: why.into(),
        hint: Some("run git fsck".into()),
    }
}

/// A check with a fixed judgement, which fails the test where it must not run.
struct Scripted(Option<CheckJudgement>);

impl CompletionCheck for Scripted {
    fn check(&self, _: &CheckContext<'_>) -> CheckJudgement {
        self.0.clone().expect("this check is not to be asked")
    }

    fn description(&self) -> String {
        "the script says so".into()
    }
}

fn scripted(name: &str, judgement: Option<CheckJudgement>) -> CheckTree {
    let check = Box::new(Scripted(judgement));
    CheckTree::Single {
        name: name.into(),
        kind: "scripted".into(),
        definition: CheckDefinition::default(),
        cost: CheckCost::Cheap,
        check,
    }
}

/// `p` passes, `c` passes claimed, `v` passes without evidence, `x` is unmet, `w` waits, `u` is unrunnable, `f` failed, `t` timed out,
/// `-` must not run; `[…]` is all, `(…)` is any, `<…>` is first, and empty ones are empty.
pub(super) fn parse_tree(text: &mut std::str::Chars<'_>) -> Option<CheckTree> {
    let pass = |evidence| Some(CheckJudgement::Pass { evidence });
    let say = |text: &str| text.to_owned();
    let letter = text.next()?;
    let judgement = match letter {
        '[' => {
            return Some(CheckTree::Group {
                mode: Mode::All,
                members: members(text),
            });
        }
        '(' => {
            return Some(CheckTree::Group {
                mode: Mode::Any,
                members: members(text),
            });
        }
        '<' => {
            return Some(CheckTree::Group {
                mode: Mode::First,
                members: members(text),
            });
        }
        ']' | ')' | '>' => return None,
        'p' => pass(Evidence::Verified),
        'c' => pass(Evidence::Claimed),
        'v' => pass(Evidence::None),
        'x' => Some(CheckJudgement::Unmet {
            feedback: say("X failed"),
        }),
        'w' => Some(CheckJudgement::Waiting {
            feedback: say("W waits"),
        }),
        'u' => Some(CheckJudgement::Unrunnable {
            why: say("U cannot"),
        }),
        'f' => Some(CheckJudgement::Failed {
            why: say("F unknown"),
        }),
        't' => Some(CheckJudgement::TimedOut { why: say("T late") }),
        '-' => None,
        other => panic!("{other}"),
    };
    Some(scripted(&letter.to_string(), judgement))
}

fn members(text: &mut std::str::Chars<'_>) -> Vec<CheckTree> {
    std::iter::from_fn(|| parse_tree(text)).collect()
}

#[track_caller]
fn judged(tree: &str) -> GroupOutcome {
    let fake = Fake {
        at_begin: FAILED_BEFORE,
        ..Fake::default()
    };
    parse_tree(&mut tree.chars())
        .unwrap()
        .evaluate(CheckOrder::CheapFirst, &CheckContext::new(&fake))
}

#[test]
fn groups_stop_as_soon_as_they_can_know() {
    use CheckOutcome::{Failed, Pass, TimedOut, Unmet, Unrunnable, Waiting};
    for (tree, outcome, feedback) in [
        ("[pp]", Pass, ""),
        ("[x-]", Unmet, "X failed"),
        ("[px-]", Unmet, "X failed"),
        ("[u-]", Unrunnable, "U cannot"),
        ("[w-]", Waiting, "W waits"),
        ("[f-]", Failed, "F unknown"),
        ("[t-]", TimedOut, "T late"),
        ("(p-)", Pass, ""),
        ("(xp-)", Pass, ""),
        ("(xx)", Unmet, "X failed; X failed"),
        ("(up-)", Pass, ""),
        ("(xu)", Unrunnable, "X failed; U cannot"),
        ("(uxw)", Unrunnable, "U cannot; X failed; W waits"),
        ("(xw)", Waiting, "X failed; W waits"),
        ("(tfw)", Failed, "T late; F unknown; W waits"),
        ("(xt)", TimedOut, "X failed; T late"),
        ("<xp->", Pass, ""),
        ("<xx>", Unmet, "X failed; X failed"),
        ("[(xp-)p]", Pass, ""),
        ("[(xp-)x]", Unmet, "X failed"),
        ("([px-]p)", Pass, ""),
        ("([px-]u)", Unrunnable, "X failed; U cannot"),
        ("[[[(<xp->)]]]", Pass, ""),
    ] {
        let group_outcome = judged(tree);
        assert_eq!(
            (group_outcome.outcome, group_outcome.feedback.as_str()),
            (outcome, feedback),
            "{tree}"
        );
        assert_eq!(
            group_outcome.evidence == Evidence::None,
            outcome != Pass,
            "{tree}"
        );
    }
}

#[test]
fn empty_list_is_incomplete_at_any_depth() {
    for tree in [
        "[]", "()", "<>", "[p[]]", "[p()]", "([])", "(()())", "[[[]]]",
    ] {
        let group_outcome = judged(tree);
        assert_eq!(group_outcome.outcome, CheckOutcome::Unmet, "{tree}");
        assert!(
            group_outcome.feedback.contains("never complete"),
            "{tree}: {}",
            group_outcome.feedback
        );
    }
    let group_outcome = evaluate_checks(
        &ConfigSettings::default(),
        &CheckContext::new(&Fake::default()),
    );
    assert_eq!(
        (group_outcome.outcome, group_outcome.results.len()),
        (CheckOutcome::Unmet, 0)
    );
}

#[test]
fn pass_is_as_strong_as_weakest_need() {
    for (tree, evidence) in [
        ("[pp]", Evidence::Verified),
        ("[pc]", Evidence::Claimed),
        ("[pv]", Evidence::None),
        ("(xc-)", Evidence::Claimed),
        ("(v-)", Evidence::None),
        ("[p(xp-)]", Evidence::Verified),
        ("[p(c-)]", Evidence::Claimed),
        ("([cp]-)", Evidence::Claimed),
    ] {
        let group_outcome = judged(tree);
        assert_eq!(
            (group_outcome.outcome, group_outcome.evidence),
            (CheckOutcome::Pass, evidence),
            "{tree}"
        );
    }
}

#[test]
fn first_names_its_winner() {
    assert_eq!(judged("<xp->").winner.as_deref(), Some("p"));
    assert_eq!(judged("<x<xc->->").winner.as_deref(), Some("c"));
    assert_eq!(judged("<x[pc]->").winner.as_deref(), Some("group 2"));
    assert_eq!(judged("<xx>").winner, None);
    assert_eq!(judged("(xp-)").winner, None);
}

#[test]
fn check_without_feedback_still_explains_itself() {
    let silent = scripted(
        "s",
        Some(CheckJudgement::Unmet {
            feedback: "  ".into(),
        }),
    );
    let group_outcome = silent.evaluate(CheckOrder::Given, &CheckContext::new(&Fake::default()));
    assert_eq!(group_outcome.feedback, "not met: the script says so");
}

fn single(criterion: CheckKind) -> CheckSpec {
    CheckSpec::Single {
        name: criterion.kind().to_owned(),
        criterion,
    }
}

fn command() -> CheckSpec {
    single(CheckKind::Command(CommandCriterion::new(
        CommandLine::Shell("npm test".into()),
    )))
}

fn git() -> CheckSpec {
    single(CheckKind::Git(GitCriterion::default()))
}

fn files() -> CheckSpec {
    single(CheckKind::Files(FilesCriterion::new(vec!["a".into()])))
}

/// A worktree with a commit and the file `a`, in which the tests end with `exit`.
fn worktree(exit: i32) -> Fake {
    Fake {
        runs: vec![(
            "npm test",
            CommandRun::Finished {
                exit: ProcessExit::Code(exit),
                output: CommandOutput::default(),
            },
        )],
        commits: Some(Ok(Commits {
            made_here: 1,
            net_change: true,
            ..Commits::default()
        })),
        files: vec![("a", 1)],
        at_begin: FAILED_BEFORE,
        ..Fake::default()
    }
}

#[test]
fn cheap_checks_run_first_unless_order_is_given() {
    let mut settings = ConfigSettings {
        checks: vec![command(), git(), files()],
        ..ConfigSettings::default()
    };
    let fake = worktree(0);
    let group_outcome = evaluate_checks(&settings, &CheckContext::new(&fake));
    assert_eq!(
        (group_outcome.outcome, group_outcome.evidence),
        (CheckOutcome::Pass, Evidence::Verified)
    );
    let remembered = "remember npm test by Exit(0)";
    assert_eq!(
        fake.asked(),
        ["commits", "files a", "run npm test for 300 s", remembered]
    );
    assert_eq!(
        group_outcome
            .results
            .iter()
            .map(|r| r.kind.as_str())
            .collect::<Vec<_>>(),
        ["command", "git", "files"],
        "as configured"
    );
    assert!(
        group_outcome
            .results
            .iter()
            .all(|r| r.duration >= Duration::from_millis(1) && !r.cached)
    );
    assert_eq!(
        group_outcome
            .results
            .iter()
            .map(|r| r.feedback.as_str())
            .collect::<Vec<_>>(),
        ["", "1 commit made here", "found a"]
    );
    settings.order = CheckOrder::Given;
    let fake = worktree(0);
    let _ = evaluate_checks(&settings, &CheckContext::new(&fake));
    assert_eq!(
        fake.asked(),
        ["run npm test for 300 s", remembered, "commits", "files a"]
    );
}

#[test]
fn all_missing_items_are_reported_on_request() {
    let fake = Fake::default();
    let judged = |tree: &str, context: CheckContext<'_>| {
        parse_tree(&mut tree.chars())
            .unwrap()
            .evaluate(CheckOrder::CheapFirst, &context)
    };
    let every = || CheckContext::new(&fake).asking_every(true);
    for (tree, outcome, feedback, asked) in [
        ("[xup]", CheckOutcome::Unmet, "X failed; U cannot", "xup"),
        ("[ux]", CheckOutcome::Unrunnable, "U cannot; X failed", "ux"),
        (
            "[p[xw]t]",
            CheckOutcome::Unmet,
            "X failed; W waits; T late",
            "pxwt",
        ),
        ("[pp]", CheckOutcome::Pass, "", "pp"),
        ("(xp-)", CheckOutcome::Pass, "", "xp"),
    ] {
        let group_outcome = judged(tree, every());
        let names: String = group_outcome
            .results
            .iter()
            .map(|result| result.name.as_str())
            .collect();
        assert_eq!(
            (
                group_outcome.outcome,
                group_outcome.feedback.as_str(),
                names.as_str()
            ),
            (outcome, feedback, asked),
            "{tree}"
        );
    }
}

/// An expensive check that passes only together with another one of its kind.
struct Together<'a>(&'a std::sync::Barrier, CheckJudgement);

impl CompletionCheck for Together<'static> {
    fn check(&self, _: &CheckContext<'_>) -> CheckJudgement {
        self.0.wait();
        self.1.clone()
    }

    fn description(&self) -> String {
        "two come together".into()
    }
}

#[test]
fn expensive_checks_run_in_parallel_yet_report_ordered() {
    let barrier: &'static std::sync::Barrier = Box::leak(Box::new(std::sync::Barrier::new(2)));
    let expensive = |name: &str, judgement| CheckTree::Single {
        name: name.into(),
        kind: "scripted".into(),
        definition: CheckDefinition::default(),
        cost: CheckCost::Expensive,
        check: Box::new(Together(barrier, judgement)),
    };
    let pass = || CheckJudgement::Pass {
        evidence: Evidence::Verified,
    };
    let unmet = |text: &str| CheckJudgement::Unmet {
        feedback: text.into(),
    };
    let fake = Fake::default();
    let context = CheckContext::new(&fake).side_by_side(2);
    for (first, second, outcome, feedback) in [
        (pass(), pass(), CheckOutcome::Pass, ""),
        (pass(), unmet("B"), CheckOutcome::Unmet, "B"),
        (unmet("A"), unmet("B"), CheckOutcome::Unmet, "A"),
    ] {
        let alone = vec![
            expensive("a", first.clone()),
            expensive("b", second.clone()),
        ];
        let beside = vec![
            expensive("a", first),
            scripted("p", Some(pass())),
            expensive("b", second),
        ];
        for (members, names) in [(alone, &["a", "b"][..]), (beside, &["a", "p", "b"])] {
            let group_outcome = CheckTree::Group {
                mode: Mode::All,
                members,
            }
            .evaluate(CheckOrder::CheapFirst, &context);
            assert_eq!(
                (group_outcome.outcome, group_outcome.feedback.as_str()),
                (outcome, feedback)
            );
            assert_eq!(
                group_outcome
                    .results
                    .iter()
                    .map(|result| result.name.as_str())
                    .collect::<Vec<_>>(),
                names
            );
        }
    }
}

#[test]
fn first_keeps_the_users_preference() {
    let settings = ConfigSettings {
        mode: Mode::First,
        checks: vec![command(), git()],
        ..ConfigSettings::default()
    };
    let group_outcome = evaluate_checks(&settings, &CheckContext::new(&worktree(0)));
    assert_eq!(group_outcome.winner.as_deref(), Some("command"));
}

#[test]
fn any_mode_prefers_evidence_over_always() {
    let settings = ConfigSettings {
        mode: Mode::Any,
        checks: vec![single(CheckKind::Always), command()],
        ..ConfigSettings::default()
    };
    let group_outcome = evaluate_checks(&settings, &CheckContext::new(&worktree(0)));
    assert_eq!(
        (group_outcome.outcome, group_outcome.evidence),
        (CheckOutcome::Pass, Evidence::Verified)
    );
    let group_outcome = evaluate_checks(&settings, &CheckContext::new(&worktree(1)));
    assert_eq!(
        (group_outcome.outcome, group_outcome.evidence),
        (CheckOutcome::Pass, Evidence::None)
    );
}

#[test]
fn unregistered_type_never_passes_and_is_named() {
    let moved = || {
        single(CheckKind::Registered {
            kind: "moved".into(),
            keys: serde_json::Map::new(),
        })
    };
    let fake = worktree(0);
    let settings = ConfigSettings {
        checks: vec![command(), moved()],
        ..ConfigSettings::default()
    };
    let group_outcome = evaluate_checks(&settings, &CheckContext::new(&fake));
    assert_eq!(group_outcome.outcome, CheckOutcome::Unrunnable);
    assert!(
        group_outcome
            .feedback
            .contains("no type of check is registered as `moved`"),
        "{}",
        group_outcome.feedback
    );
    assert!(
        fake.asked().is_empty(),
        "the tests need not run where another check decides already"
    );
    let settings = ConfigSettings {
        mode: Mode::Any,
        checks: vec![moved(), command()],
        ..ConfigSettings::default()
    };
    assert_eq!(
        evaluate_checks(&settings, &CheckContext::new(&worktree(0))).outcome,
        CheckOutcome::Pass
    );
    assert_eq!(
        evaluate_checks(&settings, &CheckContext::new(&worktree(1))).outcome,
        CheckOutcome::Unrunnable
    );
}

#[test]
fn what_done_means_is_told_in_one_list() {
    let group = CheckSpec::Group {
        mode: Mode::Any,
        checks: vec![files(), single(CheckKind::Always)],
    };
    let named = CheckSpec::Single {
        name: "committed".into(),
        criterion: CheckKind::Git(GitCriterion {
            require_clean: true,
            ..GitCriterion::default()
        }),
    };
    let settings = ConfigSettings {
        checks: vec![command(), named, group],
        ..ConfigSettings::default()
    };
    expect_test::expect![[r#"
        all of these:
          - `npm test` ends with exit 0
          - committed: 1 new commit with a net change is made, and nothing is left uncommitted
          - one of these:
            - these files exist and are not empty: a
            - nothing more is asked"#]]
    .assert_eq(&describe_checks(&settings));
    assert_eq!(describe_checks(&ConfigSettings::default()), "");
}
