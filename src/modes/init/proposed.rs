//! A proposed configuration as plain values: what could be written, and what is.

use serde_json::Value;

use watchdog_core::config::settings::PresetName;

use super::foreign_file::ForeignSetting;

/// What a first configuration could say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProposal {
    /// Criteria, the best first.
    pub checks: Vec<ProposedCheck>,
    /// Paths that a session must not change.
    pub guards: Vec<ProposedGuard>,
    /// Limits of sessions and loops.
    pub limits: ProposedLimits,
    /// Settings of other programs' files.
    pub takeovers: Vec<ProposedTakeover>,
    /// Agents that could be asked, the best first.
    pub agents: Vec<PresetName>,
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
        /// Its name in verdicts, which names the folder as well.
        name: String,
        /// What `sh -c` runs.
        run: String,
        /// The folder that it runs in, from the root of the worktree, which is the empty path.
        folder: String,
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
    /// A criterion of another program's file, as an entry of `checks`.
    Foreign {
        /// The entry.
        entry: Value,
        /// What it asks for.
        meaning: String,
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

/// The settings of another program's file, which are written together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedTakeover {
    /// The file.
    pub path: String,
    /// Its settings.
    pub settings: Vec<ForeignSetting>,
    /// Whether they are written where nobody chooses.
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
    /// The settings of other programs' files; of two for one key the later one holds.
    pub settings: Vec<ForeignSetting>,
    /// Who is asked; `None` leaves it to the default.
    pub agent: Option<PresetName>,
}

impl ProposedCriterion {
    /// What a person reads of it.
    pub fn shown(&self) -> String {
        match self {
            ProposedCriterion::Command { name, run, .. } => format!("check {name}: {run}"),
            ProposedCriterion::FeatureList { path, freeze: true } => {
                format!("feature list {path}, frozen but for passes")
            }
            ProposedCriterion::FeatureList {
                path,
                freeze: false,
            } => format!("feature list {path}"),
            ProposedCriterion::Plan { path, .. } => format!("plan {path}: every step done"),
            ProposedCriterion::Foreign { meaning, .. } => meaning.clone(),
        }
    }
}

impl ProposedCheck {
    /// Whether another program's file names it.
    pub fn is_foreign(&self) -> bool {
        matches!(self.criterion, ProposedCriterion::Foreign { .. })
    }
}

impl ProposedTakeover {
    /// What a person reads of it.
    pub fn shown(&self) -> String {
        let settings: Vec<String> = self.settings.iter().map(ForeignSetting::shown).collect();
        format!("settings of {}: {}", self.path, settings.join(", "))
    }
}

impl ConfigProposal {
    /// What is written where nobody chooses.
    pub fn preselected(&self) -> ChosenConfig {
        let chosen = self
            .checks
            .iter()
            .filter(|check| check.chosen)
            .map(|check| check.criterion.clone())
            .collect();
        let guards = self
            .guards
            .iter()
            .filter(|guard| guard.chosen)
            .map(|guard| guard.glob.clone())
            .collect();
        let settings = self
            .takeovers
            .iter()
            .filter(|takeover| takeover.chosen)
            .flat_map(|takeover| takeover.settings.clone())
            .collect();
        ChosenConfig {
            checks: chosen,
            guards,
            limits: self.limits,
            settings,
            agent: self.agents.first().cloned(),
        }
    }
}
