//! From what a project has to the configuration that fits it: checks, guards and limits, each with its reason. A total function.

use watchdog_core::config::settings::Preset;

use super::facts::{FoundList, ProjectFacts, ScriptRunner, TestPresence};

/// Iterations of a loop.
const ITERATIONS: u32 = 10;
/// Wall time of one session.
const SESSION_SECONDS: u64 = 2 * 60 * 60;
/// How long a session may be silent.
const IDLE_SECONDS: u64 = 30 * 60;

/// What a first configuration could say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProposal {
    /// Criteria, the best first.
    pub checks: Vec<ProposedCheck>,
    /// Paths that a session must not change.
    pub guards: Vec<ProposedGuard>,
    /// Limits of sessions and loops.
    pub limits: ProposedLimits,
    /// Agents that could be asked, the best first.
    pub agents: Vec<Preset>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// A criterion that could be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedCheck {
    /// The criterion.
    pub criterion: ProposedCriterion,
    /// What speaks for it, or against it.
    pub why: String,
    /// Whether it is written where nobody chooses.
    pub chosen: bool,
}

/// A criterion, as far as a proposal knows any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposedCriterion {
    /// A command that must succeed.
    Command {
        /// Its name in verdicts.
        name: String,
        /// What `sh -c` runs.
        run: String,
    },
    /// A list of features that must all pass.
    FeatureList {
        /// The file.
        path: String,
        /// Whether nothing but `passes` may change.
        freeze: bool,
    },
    /// A plan or checklist of which everything must be done.
    Plan {
        /// The file.
        path: String,
        /// The words that mean done; none for the usual one.
        done: Vec<String>,
    },
}

/// Paths that could be guarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedGuard {
    /// The paths.
    pub glob: String,
    /// What speaks for it, or against it.
    pub why: &'static str,
    /// Whether it is written where nobody chooses.
    pub chosen: bool,
}

/// Limits, in the units of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProposedLimits {
    /// Iterations of a loop.
    pub max_iterations: u32,
    /// Wall time of one session.
    pub session_timeout_seconds: u64,
    /// How long a session may be silent.
    pub idle_timeout_seconds: u64,
}

/// What is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenConfig {
    /// The criteria.
    pub checks: Vec<ProposedCriterion>,
    /// The guarded paths.
    pub guards: Vec<String>,
    /// The limits.
    pub limits: ProposedLimits,
    /// Who is asked; `None` leaves it to the default.
    pub agent: Option<Preset>,
}

impl ProposedCriterion {
    /// What a person reads of it.
    pub fn shown(&self) -> String {
        match self {
            ProposedCriterion::Command { name, run } => format!("check {name}: {run}"),
            ProposedCriterion::FeatureList { path, freeze: true } => format!("feature list {path}, frozen but for passes"),
            ProposedCriterion::FeatureList { path, freeze: false } => format!("feature list {path}"),
            ProposedCriterion::Plan { path, .. } => format!("plan {path}: every step done"),
        }
    }
}

impl ConfigProposal {
    /// What is written where nobody chooses.
    pub fn preselected(&self) -> ChosenConfig {
        let chosen = self.checks.iter().filter(|check| check.chosen).map(|check| check.criterion.clone()).collect();
        let guards = self.guards.iter().filter(|guard| guard.chosen).map(|guard| guard.glob.clone()).collect();
        ChosenConfig { checks: chosen, guards, limits: self.limits, agent: self.agents.first().copied() }
    }
}

/// Proposes a configuration for a project.
pub fn proposal(facts: &ProjectFacts) -> ConfigProposal {
    let mut found = ProposedChecks::default();
    found.cargo(facts);
    found.node(facts);
    found.python(facts);
    found.go(facts);
    found.task_runners(facts);
    found.lists(facts);
    make_names_unique(&mut found.checks);
    let mut notes = facts.unusable.clone();
    notes.extend(found.notes);
    notes.extend(missing_programs(facts, &found.checks));
    if facts.agents.is_empty() {
        notes.push("no agent was found in PATH: install one, or name one with agent.preset or agent.probe".into());
    }
    if !found.checks.iter().any(|check| check.chosen) {
        notes.push("no check is written: commits decide, and nothing judges what they do".into());
    }
    ConfigProposal {
        checks: found.checks,
        guards: guards(facts),
        limits: ProposedLimits { max_iterations: ITERATIONS, session_timeout_seconds: SESSION_SECONDS, idle_timeout_seconds: IDLE_SECONDS },
        agents: facts.agents.clone(),
        notes,
    }
}

#[derive(Default)]
struct ProposedChecks {
    checks: Vec<ProposedCheck>,
    notes: Vec<String>,
    /// Whether a language's own tool runs tests.
    tested: bool,
}

impl ProposedChecks {
    fn command(&mut self, name: &str, run: impl Into<String>, why: impl Into<String>, chosen: bool) {
        let criterion = ProposedCriterion::Command { name: name.into(), run: run.into() };
        self.checks.push(ProposedCheck { criterion, why: why.into(), chosen });
    }

    fn tests(&mut self, run: &str, why: &str) {
        self.command("tests", run, why, true);
        self.tested = true;
    }

    /// Where no test was found, a build is all that can pass: a run of no test is no pass.
    fn build(&mut self, build: &str, tests: &str, why: &str) {
        self.command("build", build, why, true);
        self.notes.push(format!("no test was found for `{tests}`, and a run of no test is no pass: add it once there are tests"));
    }

    fn cargo(&mut self, facts: &ProjectFacts) {
        let Some(cargo) = facts.cargo else { return };
        let all = if cargo.workspace { " --workspace" } else { "" };
        match cargo.tests {
            TestPresence::Found => self.tests(&format!("cargo test{all}"), "Cargo.toml"),
            TestPresence::NoneFound => self.build(&format!("cargo build{all}"), &format!("cargo test{all}"), "Cargo.toml"),
        }
    }

    fn node(&mut self, facts: &ProjectFacts) {
        let Some(node) = &facts.node else { return };
        let (program, runs) = match node.manager {
            ScriptRunner::Npm => ("npm", "npm run "),
            ScriptRunner::Pnpm => ("pnpm", "pnpm run "),
            ScriptRunner::Yarn => ("yarn", "yarn run "),
            ScriptRunner::Bun => ("bun", "bun run "),
        };
        if let Some(script) = node.scripts.get("test").filter(|script| is_test_script(script)) {
            // `bun test` is another command than the script.
            let run = if node.manager == ScriptRunner::Bun { "bun run test".to_owned() } else { format!("{program} test") };
            if watches(script) {
                self.command("tests", run, "scripts.test of package.json watches files, so it may never end", false);
            } else {
                self.tests(&run, "scripts.test of package.json");
            }
        } else if node.scripts.contains_key("build") {
            self.command("build", format!("{runs}build"), "scripts.build of package.json; it has no tests", true);
        }
        for (name, scripts) in [("types", &["typecheck", "type-check", "check-types"][..]), ("lint", &["lint"])] {
            if let Some(script) = scripts.iter().find(|script| node.scripts.contains_key(**script)) {
                self.command(name, format!("{runs}{script}"), format!("scripts.{script} of package.json"), false);
            }
        }
    }

    fn python(&mut self, facts: &ProjectFacts) {
        let Some(python) = &facts.python else { return };
        if !python.pytest && python.tests == TestPresence::NoneFound {
            return;
        }
        let run = match (python.launcher, python.own_pytest) {
            ("", None) => "pytest".to_owned(),
            ("", Some(own)) => own.to_owned(),
            (launcher, _) => format!("{launcher} pytest"),
        };
        let why = if python.pytest { "pytest is configured" } else { "files of tests" };
        self.tests(&run, why);
        if python.tests == TestPresence::NoneFound {
            self.notes.push("pytest is configured and no test was found: it fails until there is one".into());
        }
    }

    fn go(&mut self, facts: &ProjectFacts) {
        match facts.go {
            Some(TestPresence::Found) => self.tests("go test ./...", "go.mod"),
            Some(TestPresence::NoneFound) => self.build("go build ./...", "go test ./...", "go.mod"),
            None => {}
        }
    }

    /// Make and just stand in where no language's own tool runs tests; beside one they can be chosen.
    fn task_runners(&mut self, facts: &ProjectFacts) {
        for (program, file, targets) in [("make", "Makefile", &facts.make), ("just", "justfile", &facts.just)] {
            for target in ["test", "check"].into_iter().filter(|target| targets.contains(*target)) {
                let chosen = !self.tested;
                let why = if chosen { format!("target of the {file}") } else { format!("target of the {file}; the tests run already") };
                self.command("tests", format!("{program} {target}"), why, chosen);
                self.tested = true;
            }
            if targets.contains("lint") {
                self.command("lint", format!("{program} lint"), format!("target of the {file}"), false);
            }
        }
    }

    fn lists(&mut self, facts: &ProjectFacts) {
        for list in &facts.feature_lists {
            let criterion = ProposedCriterion::FeatureList { path: list.path.clone(), freeze: list.committed };
            self.checks.push(ProposedCheck { criterion, why: counted(list, "feature"), chosen: true });
            if !list.committed {
                self.notes.push(format!(
                    "{} is in no commit, so it is not frozen: commit it, then add \"freeze\": true, and only passes may change",
                    list.path
                ));
            }
        }
        for list in facts.plans.iter().chain(&facts.checklists) {
            let criterion = ProposedCriterion::Plan { path: list.path.clone(), done: list.done.clone() };
            // A list of wishes is never done, and one without open entries shows nothing.
            let wishes = list.path.to_ascii_lowercase().ends_with("todo.md");
            self.checks.push(ProposedCheck { criterion, why: counted(list, "step"), chosen: list.open > 0 && !wishes });
        }
    }
}

fn counted(list: &FoundList, what: &str) -> String {
    let many = if list.entries == 1 { "" } else { "s" };
    format!("{} {what}{many}, {} open; its marks are the agent's word", list.entries, list.open)
}

/// What `npm init` writes where nobody has tests is no test.
fn is_test_script(script: &str) -> bool {
    !script.trim().is_empty() && !script.contains("no test specified")
}

fn watches(script: &str) -> bool {
    script.split_whitespace().any(|word| matches!(word, "--watch" | "--watchAll" | "-w" | "watch"))
}

/// Two checks with one name are told apart by what they run: both where both are written, else the one that is only offered.
fn make_names_unique(checks: &mut [ProposedCheck]) {
    let named = |check: &ProposedCheck| match &check.criterion {
        ProposedCriterion::Command { name, .. } => Some((name.clone(), check.chosen)),
        ProposedCriterion::FeatureList { .. } | ProposedCriterion::Plan { .. } => None,
    };
    let names: Vec<(String, bool)> = checks.iter().filter_map(named).collect();
    for check in checks {
        let ProposedCriterion::Command { name, run } = &mut check.criterion else { continue };
        let alike =
            |chosen: Option<bool>| names.iter().filter(|other| other.0 == *name && chosen.is_none_or(|chosen| other.1 == chosen)).count();
        if check.chosen && alike(Some(true)) > 1 {
            *name = format!("{name} ({run})");
        } else if !check.chosen && alike(None) > 1 {
            *name = run.clone();
        }
    }
}

fn missing_programs(facts: &ProjectFacts, checks: &[ProposedCheck]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for check in checks.iter().filter(|check| check.chosen) {
        let ProposedCriterion::Command { run, .. } = &check.criterion else { continue };
        let program = run.split(' ').next().unwrap_or_default();
        if !program.contains('/') && !facts.programs.contains(program) {
            notes.push(format!("`{program}` is not in PATH here, and `{run}` needs it"));
        }
    }
    notes
}

fn guards(facts: &ProjectFacts) -> Vec<ProposedGuard> {
    let ci = facts.ci.iter().map(|glob| ProposedGuard {
        glob: glob.clone(),
        why: "continuous integration: a session that changes it ends in review",
        // What guards compare with is a baseline, and `evaluate` without one would be an error.
        chosen: false,
    });
    let tests = facts.test_folders.iter().map(|folder| ProposedGuard {
        glob: format!("{folder}/**"),
        why: "for tests that are given: a session that adds or changes one there ends in review",
        chosen: false,
    });
    ci.chain(tests).collect()
}

#[cfg(test)]
#[path = "proposal_tests.rs"]
mod tests;
