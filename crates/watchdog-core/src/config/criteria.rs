//! The criteria of completion that a configuration can name: one type for each type of check, with its inputs and rules.

use std::time::Duration;

use serde_json::{Map, Value};

use super::settings::Mode;
use watchdog_facts::proof::TestChanges;

/// An entry of `checks`: a criterion or a group of them.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckSpec {
    /// Several that combine.
    Group {
        /// Whether all members must be met, or one.
        mode: Mode,
        /// The members, in the order of the file.
        checks: Vec<CheckSpec>,
    },
    /// A single one.
    Single {
        /// Given by the user, or the type word.
        name: String,
        /// The type of check.
        criterion: CheckKind,
    },
}

impl CheckSpec {
    /// Lets its programs run in a folder of the worktree.
    pub(super) fn run_below(&mut self, folder: &str) {
        match self {
            CheckSpec::Group { checks, .. } => {
                checks.iter_mut().for_each(|check| check.run_below(folder));
            }
            CheckSpec::Single { criterion, .. } => criterion.run_below(folder),
        }
    }
}

/// The single checks among these, and in the groups among them, in their order: name and criterion.
pub fn single_checks(checks: &[CheckSpec]) -> Vec<(&str, &CheckKind)> {
    let members = checks.iter().flat_map(|check| match check {
        CheckSpec::Group { checks, .. } => single_checks(checks),
        CheckSpec::Single { name, criterion } => vec![(name.as_str(), criterion)],
    });
    members.collect()
}

fn join_below(folder: &str, path: &str) -> String {
    format!("{folder}/{path}").trim_end_matches('/').to_owned()
}

/// Names a program by its place below the root, where a relative path names it.
pub(super) fn name_program_below(folder: &str, argv: &mut [String]) {
    if let Some(program) = argv.first_mut()
        && program.contains('/')
        && !program.starts_with('/')
    {
        *program = join_below(folder, program);
    }
}

/// The type of check, with its criterion.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckKind {
    /// The agent says an agreed text.
    Signal(SignalTextCriterion),
    /// A program decides: the verify command.
    Command(CommandCriterion),
    /// Every step of a plan is done.
    Plan(PlanCriterion),
    /// Every feature of a list passes.
    FeatureList(FeatureListCriterion),
    /// Commits and the state of the worktree decide.
    Git(GitCriterion),
    /// Files must be there.
    Files(FilesCriterion),
    /// An issue of GitHub is closed.
    Issue(IssueCriterion),
    /// The agent gave JSON of an agreed form.
    Structured(StructuredCriterion),
    /// A tool of the agent returned rows.
    SqlResult(SqlResultCriterion),
    /// A model answers a question about the work.
    Judge(JudgeCriterion),
    /// A project is in its last phase.
    Phase(PhaseCriterion),
    /// So many iterations were made.
    Iterations {
        /// The least number of iterations, from the key `count`.
        count: u64,
    },
    /// A program of the user's judges the whole context.
    Custom(CustomCriterion),
    /// Always met.
    Always,
    /// A type that the program which embeds this library registered.
    Registered {
        /// Its type word.
        kind: String,
        /// The entry as it was written, without `type` and `name`.
        keys: Map<String, Value>,
    },
}

impl CheckKind {
    /// The type word, as in `completion.json`.
    pub fn kind(&self) -> &str {
        match self {
            CheckKind::Signal(_) => "signal",
            CheckKind::Command(_) => "command",
            CheckKind::Plan(_) => "plan",
            CheckKind::FeatureList(_) => "feature_list",
            CheckKind::Git(_) => "git",
            CheckKind::Files(_) => "files",
            CheckKind::Issue(_) => "issue",
            CheckKind::Structured(_) => "structured",
            CheckKind::SqlResult(_) => "sql_result",
            CheckKind::Judge(_) => "judge",
            CheckKind::Phase(_) => "phase",
            CheckKind::Iterations { .. } => "iterations",
            CheckKind::Custom(_) => "custom",
            CheckKind::Always => "always",
            CheckKind::Registered { kind, .. } => kind,
        }
    }

    /// The program of the user's that it names.
    pub fn run(&self) -> Option<&CommandLine> {
        match self {
            CheckKind::Command(found) => Some(&found.run),
            CheckKind::Custom(found) => Some(&found.run),
            CheckKind::Judge(found) => found.run.as_ref(),
            _ => None,
        }
    }

    /// The folder that its program runs in, where that is not the root.
    pub fn cwd(&self) -> Option<&str> {
        match self {
            CheckKind::Command(found) => found.cwd.as_deref(),
            CheckKind::Custom(found) => found.cwd.as_deref(),
            _ => None,
        }
    }

    /// Lets its program run in a folder of the worktree.
    fn run_below(&mut self, folder: &str) {
        match self {
            CheckKind::Command(found) => {
                found.cwd = Some(join_below(folder, found.cwd.as_deref().unwrap_or_default()));
                found.junit = found.junit.as_ref().map(|path| join_below(folder, path));
            }
            CheckKind::Custom(found) => found.cwd = Some(folder.to_owned()),
            CheckKind::Judge(found) => {
                if let Some(CommandLine::Argv(argv)) = &mut found.run {
                    name_program_below(folder, argv);
                }
            }
            _ => {}
        }
    }

    /// Whether it depends on the worktree alone. Other inputs (the agent's words, an issue, a model) are outside of git, so that
    /// a pass without any work may be new.
    pub fn of_worktree(&self) -> bool {
        match self {
            CheckKind::Command(_)
            | CheckKind::FeatureList(_)
            | CheckKind::Git(_)
            | CheckKind::Files(_) => true,
            CheckKind::Plan(found) => found.path.is_some(),
            _ => false,
        }
    }

    /// Whether judging it starts a program, which could disturb the work.
    pub fn runs_programs(&self) -> bool {
        match self {
            CheckKind::Command(_)
            | CheckKind::Custom(_)
            | CheckKind::Judge(_)
            | CheckKind::Issue(_)
            | CheckKind::Registered { .. } => true,
            CheckKind::Phase(found) => found.field.is_some(),
            CheckKind::Signal(_)
            | CheckKind::Plan(_)
            | CheckKind::FeatureList(_)
            | CheckKind::Git(_)
            | CheckKind::Files(_)
            | CheckKind::Structured(_)
            | CheckKind::SqlResult(_)
            | CheckKind::Iterations { .. }
            | CheckKind::Always => false,
        }
    }
}

/// Which of the agent's texts count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextScope {
    /// Its last message alone.
    #[default]
    Last,
    /// Every message since it was last asked something.
    Iteration,
    /// Every message that is known.
    Session,
}

/// An agreed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalTextCriterion {
    /// The text to find; never blank.
    pub text: String,
    /// The form that it must have.
    pub matching: SignalMatch,
    /// The element's name, for [`SignalMatch::Tag`].
    pub tag: String,
    /// Whether upper and lower case are the same.
    pub ignore_case: bool,
    /// Whether only the last line that is not blank counts.
    pub last_line: bool,
    /// Which texts count.
    pub scope: TextScope,
}

/// The form that an agreed text must have in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalMatch {
    /// Alone on a line.
    Line,
    /// Between characters that are no part of a word.
    Word,
    /// Anywhere.
    Contains,
    /// As the whole content of an element such as `<promise>…</promise>`.
    Tag,
}

/// Steps that must be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanCriterion {
    /// A JSON plan or a markdown checklist; `None` = the agent's own list of the session.
    pub path: Option<String>,
    /// The states that mean done, exactly so.
    pub done: Vec<String>,
    /// How many open titles go into the feedback.
    pub max_titles: usize,
    /// Headings of a checklist, in any case, below which open boxes do not count.
    pub optional_sections: Vec<String>,
    /// Whether there must be a plan at all.
    pub required: bool,
}

/// Features that must pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureListCriterion {
    /// The JSON file.
    pub path: String,
    /// Whether nothing but `passes` may differ from the file of the baseline commit.
    pub freeze: bool,
}

/// The state that git must show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitCriterion {
    /// Commits made here since the baseline, at least; they must change the tree. 0 asks for none.
    pub min_commits: u64,
    /// Whether nothing may be uncommitted or half done.
    pub require_clean: bool,
    /// Whether a remote must have HEAD.
    pub require_pushed: bool,
    /// Whether files changed since the baseline may hold no marks of a conflict.
    pub no_conflict_markers: bool,
    /// Globs of paths that must be as they were at the baseline.
    pub protected: Vec<String>,
}

impl Default for GitCriterion {
    fn default() -> Self {
        GitCriterion {
            min_commits: 1,
            require_clean: false,
            require_pushed: false,
            no_conflict_markers: false,
            protected: Vec::new(),
        }
    }
}

impl GitCriterion {
    /// Whether it asks for nothing at all.
    pub fn is_empty(&self) -> bool {
        let flags = self.require_clean || self.require_pushed || self.no_conflict_markers;
        self.min_commits == 0 && !flags && self.protected.is_empty()
    }
}

/// Files that must be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesCriterion {
    /// Globs, relative to the root of the worktree; each needs a file.
    pub paths: Vec<String>,
    /// Whether an empty file is none.
    pub non_empty: bool,
    /// The required content of the file.
    pub contains: Option<String>,
}

impl FilesCriterion {
    /// These globs, with the defaults of everything else.
    pub fn new(paths: Vec<String>) -> Self {
        FilesCriterion {
            paths,
            non_empty: true,
            contains: None,
        }
    }
}

/// An issue or a pull request of GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueCriterion {
    /// The issue; `None` where a dialect expects it on the command line, which makes the check unrunnable without a pull request.
    pub number: Option<u64>,
    /// Whether the issue must be closed.
    pub closed: bool,
    /// A label that the issue must have.
    pub label: Option<String>,
    /// A pull request that must be merged.
    pub pull_request: Option<u64>,
    /// The repository as `owner/name`; `None` = that of the worktree.
    pub repo: Option<String>,
    /// Whether nothing may be uncommitted.
    pub require_clean: bool,
    /// How long GitHub may take.
    pub timeout: Duration,
}

impl IssueCriterion {
    /// This issue must be closed, within a minute.
    pub fn new(number: Option<u64>) -> Self {
        let timeout = Duration::from_secs(60);
        IssueCriterion {
            number,
            closed: true,
            label: None,
            pull_request: None,
            repo: None,
            require_clean: false,
            timeout,
        }
    }
}

/// JSON that the agent must give.
#[derive(Debug, Clone, PartialEq)]
pub struct StructuredCriterion {
    /// The word that marks it: of a fenced block, an element, or its own field `signal` or `type`.
    pub tag: Option<String>,
    /// Fields that it must have, and their values where those are given.
    pub required: Vec<(String, Option<Value>)>,
    /// A JSON Schema that it must meet.
    pub schema: Option<Value>,
    /// Which texts count.
    pub scope: TextScope,
}

/// Rows that a tool must return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlResultCriterion {
    /// The tool's name.
    pub tool: String,
    /// The columns, in order; `None` = any.
    pub expected_columns: Option<Vec<String>>,
    /// Rows at least.
    pub min_rows: u64,
}

/// A question to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeCriterion {
    /// The yes-or-no question.
    pub question: String,
    /// How it is to decide.
    pub rubric: Option<String>,
    /// The program to ask; `None` = the agent's preset.
    pub run: Option<CommandLine>,
    /// The model of the preset; `None` = that of `agent`.
    pub model: Option<String>,
    /// How long the answer may take.
    pub timeout: Duration,
}

/// The phase that a project must be in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseCriterion {
    /// The project of GitHub.
    pub project: Option<u64>,
    /// The phase that completes it.
    pub last: String,
    /// The project's field that holds the phase; `None` = the agent's words.
    pub field: Option<String>,
    /// The owner of the project; `None` = the user of `gh`.
    pub owner: Option<String>,
    /// How long GitHub may take.
    pub timeout: Duration,
}

impl PhaseCriterion {
    /// The agent's words must name the phase `complete`.
    pub fn new(project: Option<u64>) -> Self {
        PhaseCriterion {
            project,
            last: "complete".into(),
            field: None,
            owner: None,
            timeout: Duration::from_secs(60),
        }
    }
}

/// A program that judges the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomCriterion {
    /// The program.
    pub run: CommandLine,
    /// As that of a command.
    pub cwd: Option<String>,
    /// How long one judgement may take.
    pub timeout: Duration,
    /// How it is talked to.
    pub mode: CustomMode,
    /// The description of the agent whose completion a TypeScript handler decides: its first argument. Such a handler gives the prompts of
    /// a loop, too.
    pub definition: Option<serde_json::Value>,
}

impl CustomCriterion {
    /// The handler of an agent that this describes. Its program lives as long as the loop.
    pub fn of_agent(handler: CommandLine, definition: serde_json::Value) -> Self {
        CustomCriterion {
            mode: CustomMode::Stream,
            definition: Some(definition),
            ..CustomCriterion::new(handler)
        }
    }

    /// This program, once for each judgement, with a minute for each.
    pub fn new(run: CommandLine) -> Self {
        CustomCriterion {
            run,
            cwd: None,
            timeout: Duration::from_secs(60),
            mode: CustomMode::Call,
            definition: None,
        }
    }
}

/// How a program that judges is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomMode {
    /// Started for each judgement: the context on its stdin, the answer on its stdout, and its end.
    Call,
    /// Started once: a line of JSON in, a line of JSON out, for each judgement.
    Stream,
}

/// A program that decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandCriterion {
    /// The command line.
    pub run: CommandLine,
    /// The folder inside the worktree that it runs in, relative to its root; `None` = the root.
    pub cwd: Option<String>,
    /// Its deadline.
    pub timeout: Duration,
    /// The rule of success.
    pub success: CommandSuccess,
    /// Lines of its output that go into the feedback.
    pub tail_lines: usize,
    /// The JUnit file that it writes, inside of the worktree: its counts take precedence over those in the output.
    pub junit: Option<String>,
    /// Whether it runs before the first session, in a scratch checkout of the baseline, and must fail there.
    pub must_fail_first: bool,
    /// Whether it runs in a scratch checkout of HEAD with the session's work, without the files that git ignores.
    pub clean: bool,
    /// Globs of its test files, below its folder; empty = the conventions of all known runners.
    pub tests_are: Vec<String>,
    /// The hidden checks of a pass, which is tried on mixed trees where the session changed its tests; `None`: it is not tried.
    pub proof: Option<Box<[CommandLine]>>,
    /// The longest pass that is tried so.
    pub proof_limit: Duration,
    /// Its owner's word about changed expectations.
    pub test_changes: Option<TestChanges>,
    /// Whether it passes with failures that were there when the work began.
    pub allows_begin_failures: bool,
}

/// A command as the user wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandLine {
    /// A string, run by `sh -c`.
    Shell(String),
    /// A program and its arguments, run as they are.
    Argv(Vec<String>),
}

impl std::fmt::Display for CommandLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CommandLine::Shell(line) => f.write_str(line),
            CommandLine::Argv(argv) => f.write_str(&argv.join(" ")),
        }
    }
}

/// The rule of success of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandSuccess {
    /// This exit code.
    Exit(i32),
    /// Empty stdout and stderr, and exit code 0.
    Empty,
    /// This text in its output, and exit code 0.
    Contains(String),
    /// This regular expression in its output, and exit code 0.
    Regex(String),
}

#[cfg(test)]
mod tests {
    use super::super::parse::testing::criterion;
    use super::*;

    #[test]
    fn each_type_declares_its_inputs_and_program_starts() {
        for (entry, of_worktree, runs_programs) in [
            (r#""type": "command", "run": "x""#, true, true),
            (r#""type": "feature_list""#, true, false),
            (r#""type": "git""#, true, false),
            (r#""type": "files", "paths": ["a"]"#, true, false),
            (r#""type": "plan", "path": "p.md""#, true, false),
            (r#""type": "plan""#, false, false),
            (r#""type": "signal", "text": "D""#, false, false),
            (r#""type": "issue", "number": 7"#, false, true),
            (r#""type": "structured", "tag": "t""#, false, false),
            (r#""type": "sql_result""#, false, false),
            (r#""type": "judge", "question": "q""#, false, true),
            (r#""type": "phase""#, false, false),
            (
                r#""type": "phase", "project": 9, "field": "Status""#,
                false,
                true,
            ),
            (r#""type": "iterations", "count": 1"#, false, false),
            (r#""type": "custom", "run": "x""#, false, true),
            (r#""type": "always""#, false, false),
        ] {
            let parsed_criterion = criterion(&format!("{{{entry}}}"));
            assert_eq!(
                (
                    parsed_criterion.of_worktree(),
                    parsed_criterion.runs_programs()
                ),
                (of_worktree, runs_programs),
                "{entry}"
            );
            assert!(
                entry.contains(&format!("\"{}\"", parsed_criterion.kind())),
                "{entry}"
            );
        }
        let registered = CheckKind::Registered {
            kind: "weather".into(),
            keys: Map::new(),
        };
        assert_eq!(
            (
                registered.kind(),
                registered.of_worktree(),
                registered.runs_programs()
            ),
            ("weather", false, true)
        );
    }

    #[test]
    fn any_single_git_key_makes_check_effective() {
        let nothing = GitCriterion {
            min_commits: 0,
            ..GitCriterion::default()
        };
        assert!(nothing.is_empty());
        for something in [
            GitCriterion {
                min_commits: 1,
                ..nothing.clone()
            },
            GitCriterion {
                require_clean: true,
                ..nothing.clone()
            },
            GitCriterion {
                require_pushed: true,
                ..nothing.clone()
            },
            GitCriterion {
                no_conflict_markers: true,
                ..nothing.clone()
            },
            GitCriterion {
                protected: vec!["a".into()],
                ..nothing
            },
        ] {
            assert!(!something.is_empty(), "{something:?}");
        }
    }
}
