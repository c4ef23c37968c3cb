//! From the configuration to checks. An unknown type never gets here: reading the configuration names the nearest one.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::config::settings::{CheckKind, CheckSpec};

use super::always::AlwaysMet;
use super::answers::CheckDefinition;
use super::check::CompletionCheck;
use super::command::CommandCheck;
use super::custom::CustomCheck;
use super::feature_list::FeatureListCheck;
use super::files::FilesCheck;
use super::git::GitCheck;
use super::group::{CheckCost, CheckTree};
use super::issue::IssueCheck;
use super::iterations::IterationsCheck;
use super::judge::JudgeCheck;
use super::phase::PhaseCheck;
use super::plan::PlanCheck;
use super::signal::SignalCheck;
use super::sql_result::SqlResultCheck;
use super::structured::StructuredOutputCheck;
use super::unusable::UnusableCheck;

/// A check, and the cost of running it.
pub(super) type BuiltCheck = (CheckCost, Box<dyn CompletionCheck>);

/// Makes a check from the keys of an entry, without `type` and `name`; an error says which key is wrong and how.
type MakeCheck = Box<dyn Fn(&Map<String, Value>) -> Result<BuiltCheck, String> + Send + Sync>;

/// The types of check that a program adds to those of the format.
///
/// # Example
/// A type `branch`: HEAD must have moved by so many commits, wherever they come from.
/// ```
/// use std::path::Path;
///
/// use watchdog_core::checks::{CheckContext, CompletionCheck, CheckCost, CheckJudgement, CheckRegistry};
/// use watchdog_core::config::parse_registered;
/// use watchdog_facts::verdict::Evidence;
///
/// struct Moved(u64);
///
/// impl CompletionCheck for Moved {
///     fn check(&self, context: &CheckContext<'_>) -> CheckJudgement {
///         match context.capabilities.commits() {
///             Err(unreadable) => CheckJudgement::Failed { why: unreadable.why },
///             Ok(commits) if commits.new_commits >= self.0 => CheckJudgement::Pass { evidence: Evidence::Verified },
///             Ok(commits) => CheckJudgement::Unmet { feedback: format!("{} of {} commits are here", commits.new_commits, self.0) },
///         }
///     }
///
///     fn description(&self) -> String {
///         format!("HEAD has {} commits more than when the session began", self.0)
///     }
/// }
///
/// let registry = CheckRegistry::default().with("moved", |keys| match keys.get("by").and_then(|by| by.as_u64()) {
///     Some(by) if keys.len() == 1 => Ok((CheckCost::Cheap, Box::new(Moved(by)))),
///     _ => Err("a check of type `moved` has the one key `by`, a whole number".into()),
/// });
/// let text = r#"{"checks": [{"type": "moved", "by": 2}]}"#;
/// let parsed = parse_registered(text, Path::new("completion.json"), &registry.types())?;
/// assert_eq!(registry.describe(&parsed.settings), "all of these:\n  - HEAD has 2 commits more than when the session began");
/// // And to judge: registry.evaluate(&parsed.settings, &context).
/// # Ok::<(), watchdog_core::config::ConfigError>(())
/// ```
#[derive(Default)]
pub struct CheckRegistry {
    makers: BTreeMap<String, MakeCheck>,
}

impl std::fmt::Debug for CheckRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Registry").field(&self.types()).finish()
    }
}

impl CheckRegistry {
    /// Adds a type. The format's own types stay.
    pub fn with(
        mut self,
        kind: &str,
        make: impl Fn(&Map<String, Value>) -> Result<BuiltCheck, String> + Send + Sync + 'static,
    ) -> Self {
        self.makers.insert(kind.to_owned(), Box::new(make));
        self
    }

    /// The added types, for [`parse_registered`](crate::config::parse_registered).
    pub fn types(&self) -> Vec<&str> {
        self.makers.keys().map(String::as_str).collect()
    }

    /// The check or group that an entry of the configuration asks for. An entry that cannot be made into a check is never met, and
    /// says why.
    pub fn build(&self, spec: &CheckSpec) -> CheckTree {
        match spec {
            CheckSpec::Group { mode, checks } => CheckTree::Group {
                mode: *mode,
                members: checks.iter().map(|check| self.build(check)).collect(),
            },
            CheckSpec::Single { name, criterion } => {
                let (cost, check) = self.single(criterion);
                let definition = CheckDefinition::from_criterion(criterion);
                CheckTree::Single {
                    name: name.clone(),
                    kind: criterion.kind().to_owned(),
                    definition,
                    cost,
                    check,
                }
            }
        }
    }

    fn single(&self, criterion: &CheckKind) -> BuiltCheck {
        match criterion {
            CheckKind::Signal(found) => {
                (CheckCost::Cheap, Box::new(SignalCheck::new(found.clone())))
            }
            CheckKind::Command(command) => (
                CheckCost::Expensive,
                Box::new(CommandCheck::new(command.clone())),
            ),
            CheckKind::Plan(found) => (CheckCost::Cheap, Box::new(PlanCheck::new(found.clone()))),
            CheckKind::FeatureList(found) => (
                CheckCost::Cheap,
                Box::new(FeatureListCheck::new(found.clone())),
            ),
            CheckKind::Git(found) => (CheckCost::Cheap, Box::new(GitCheck::new(found.clone()))),
            CheckKind::Files(found) => (CheckCost::Cheap, Box::new(FilesCheck::new(found.clone()))),
            CheckKind::Always => (CheckCost::Vacuous, Box::new(AlwaysMet)),
            CheckKind::Registered { kind, keys } => match self.makers.get(kind) {
                Some(make) => make(keys)
                    .unwrap_or_else(|why| (CheckCost::Cheap, Box::new(UnusableCheck::new(why)))),
                None => {
                    let why = format!(
                        "no type of check is registered as `{kind}`; register it, or remove the check"
                    );
                    (CheckCost::Cheap, Box::new(UnusableCheck::new(why)))
                }
            },
            CheckKind::Issue(found) => (
                CheckCost::Expensive,
                Box::new(IssueCheck::new(found.clone())),
            ),
            CheckKind::Structured(found) => (
                CheckCost::Cheap,
                Box::new(StructuredOutputCheck::new(found.clone())),
            ),
            CheckKind::SqlResult(found) => (
                CheckCost::Cheap,
                Box::new(SqlResultCheck::new(found.clone())),
            ),
            CheckKind::Judge(found) => (
                CheckCost::Expensive,
                Box::new(JudgeCheck::new(found.clone())),
            ),
            CheckKind::Phase(found) if found.field.is_some() => (
                CheckCost::Expensive,
                Box::new(PhaseCheck::new(found.clone())),
            ),
            CheckKind::Phase(found) => (CheckCost::Cheap, Box::new(PhaseCheck::new(found.clone()))),
            CheckKind::Iterations { count } => {
                (CheckCost::Cheap, Box::new(IterationsCheck::new(*count)))
            }
            CheckKind::Custom(found) => (
                CheckCost::Expensive,
                Box::new(CustomCheck::new(found.clone())),
            ),
        }
    }
}

/// The check or group that an entry of the configuration asks for, of the format's own types.
pub fn build_check_tree(spec: &CheckSpec) -> CheckTree {
    CheckRegistry::default().build(spec)
}
