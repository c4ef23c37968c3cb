//! Completion of an agent that another program describes: each word for a type of verdict, lowered
//! to checks.

use std::cell::RefCell;

use serde_json::Value;

use super::super::nearest::{find_misspelt_word, format_nearest_hint};
use super::super::problem::{quote_text, shown_key};
use super::super::reader::{ConfigNode, ConfigSection};
use super::super::settings::{
    CheckKind, CheckSpec, CommandLine, CustomCriterion, IssueCriterion, Mode, PhaseCriterion,
    SignalMatch, SignalTextCriterion, StructuredCriterion, TextScope,
};
use super::super::syntax::ValueKind;
use super::agent_checks::required_fields;
use super::limits::MAX_ITERATIONS;
use watchdog_facts::display::name_first;

/// How an agent of another program ends, by the kind of its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VerdictWord {
    Issue,
    Project,
    Iterations,
    Checks,
    Keyword,
    Structured,
    Composite,
    Handler,
    StepGraph,
}

/// Every word that these types have had, the newest last.
const WORDS: &[(&str, VerdictWord)] = &[
    ("issue", VerdictWord::Issue),
    ("project", VerdictWord::Project),
    ("iterate", VerdictWord::Iterations),
    ("manual", VerdictWord::Keyword),
    ("custom", VerdictWord::Handler),
    ("externalState", VerdictWord::Issue),
    ("phaseCompletion", VerdictWord::Project),
    ("iterationBudget", VerdictWord::Iterations),
    ("checkBudget", VerdictWord::Checks),
    ("keywordSignal", VerdictWord::Keyword),
    ("structuredSignal", VerdictWord::Structured),
    ("composite", VerdictWord::Composite),
    ("stepFlow", VerdictWord::StepGraph),
    ("stepMachine", VerdictWord::StepGraph),
    ("poll:state", VerdictWord::Issue),
    ("count:iteration", VerdictWord::Iterations),
    ("count:check", VerdictWord::Checks),
    ("detect:keyword", VerdictWord::Keyword),
    ("detect:structured", VerdictWord::Structured),
    ("detect:graph", VerdictWord::StepGraph),
    ("meta:composite", VerdictWord::Composite),
    ("meta:custom", VerdictWord::Handler),
];

/// The words that messages list: those of the first form and of today's.
const LISTED: &str = "issue, project, iterate, manual, custom, or of poll:state, count:iteration, count:check, detect:keyword, \
                      detect:structured, meta:composite, meta:custom";

/// The polled resources whose state counts.
const RESOURCES: &[(&str, Option<VerdictWord>)] = &[
    ("github-issue", Some(VerdictWord::Issue)),
    ("github-project", Some(VerdictWord::Project)),
    ("file", None),
    ("api", None),
];

const OPERATORS: &[(&str, Mode)] = &[
    ("and", Mode::All),
    ("or", Mode::Any),
    ("first", Mode::First),
];

/// Parts of the description that bear on the verdict. By default a block without a description
/// around it.
#[derive(Debug, Default)]
pub(super) struct DescribedAgent {
    /// The folder that handlers are in, with a slash at its end; empty for the root of the worktree.
    pub(super) handlers: String,
    /// The labels that an issue has when its work is done.
    pub(super) labels: Vec<String>,
    /// Whether an issue with these labels is closed then, too.
    pub(super) closes: bool,
    /// The number of the issue, where the description has one.
    pub(super) issue: Option<u64>,
    /// The whole description, for handlers.
    pub(super) definition: Value,
    /// Keys that were not read, where they may be ignored; `None` where an unknown key is an error.
    pub(super) ignored: Option<RefCell<Vec<String>>>,
}

/// A verdict, lowered.
#[derive(Debug, Default)]
pub(in super::super) struct LoweredVerdict {
    /// Its checks, of which all must be met.
    pub(in super::super) checks: Vec<CheckSpec>,
    /// How many iterations a loop may make.
    pub(in super::super) max_iterations: Option<u64>,
}

impl DescribedAgent {
    /// The object with its keys: an unknown one is an error, or noted where the file is another program's. A slip of a known key is always
    /// an error, because it would otherwise be an ignored criterion.
    pub(super) fn section<'a>(
        &self,
        node: &ConfigNode<'a>,
        known_keys: &[&str],
    ) -> Option<ConfigSection<'a>> {
        let Some(ignored) = &self.ignored else {
            return node.section(known_keys);
        };
        let section = node.open_section()?;
        for member in node
            .members()
            .unwrap_or_default()
            .iter()
            .filter(|member| !known_keys.contains(&member.name.as_ref()))
        {
            let path = if node.path.is_empty() {
                shown_key(&member.name)
            } else {
                format!("{}.{}", node.path, shown_key(&member.name))
            };
            match find_misspelt_word(
                &member.name,
                known_keys.iter().copied().filter(|key| !node.has(key)),
            ) {
                Some(meant) => node.report.problem(member.at, &path, || {
                    format!("unknown key, did you mean `{meant}`?")
                }),
                None => ignored.borrow_mut().push(path),
            }
        }
        Some(section)
    }
}

/// Lowers a verdict: its type, and what configures it.
pub(super) fn lower_verdict(
    holder: &ConfigSection<'_>,
    kind: &ConfigNode<'_>,
    config: (&str, Option<ConfigNode<'_>>),
    around: &DescribedAgent,
) -> LoweredVerdict {
    let verdict = TypedVerdict {
        holder,
        kind,
        config,
        around,
    };
    let Some(checks) = verdict.read_verdict() else {
        return LoweredVerdict::default();
    };
    let counted = |check: &CheckSpec| match check {
        CheckSpec::Single {
            criterion: CheckKind::Iterations { count },
            ..
        } => Some(*count),
        _ => None,
    };
    let limit = verdict
        .config
        .1
        .as_ref()
        .and_then(|config| config.peek("maxIterations"));
    // A loop must get as far as what it counts.
    let max_iterations = checks
        .first()
        .and_then(counted)
        .or_else(|| limit.and_then(|node| node.whole(1..=MAX_ITERATIONS)));
    LoweredVerdict {
        checks,
        max_iterations,
    }
}

/// A type of verdict with the object that configures it.
struct TypedVerdict<'v, 'a> {
    holder: &'v ConfigSection<'a>,
    kind: &'v ConfigNode<'a>,
    /// The key of the configuration, and its value.
    config: (&'v str, Option<ConfigNode<'a>>),
    around: &'v DescribedAgent,
}

impl<'a> TypedVerdict<'_, 'a> {
    fn read_verdict(&self) -> Option<Vec<CheckSpec>> {
        let word = self.kind.text()?;
        let Some((_, kind)) = WORDS.iter().find(|(known, _)| *known == word) else {
            let key = self.kind.path.rsplit('.').next().unwrap_or_default();
            let near = format_nearest_hint(&word, WORDS.iter().map(|(known, _)| *known));
            self.kind.wrong(format!(
                "{key} must be one of {LISTED}; found {}{near}",
                quote_text(&word)
            ));
            return None;
        };
        let criterion = match kind {
            VerdictWord::Issue | VerdictWord::Project => return self.state(*kind),
            VerdictWord::Iterations => self.count(&word, "maxIterations")?,
            VerdictWord::Checks => self.count(&word, "maxChecks")?,
            VerdictWord::Keyword => self.keyword(&word)?,
            VerdictWord::Structured => self.read_structured_output(&word)?,
            VerdictWord::Composite => return self.composite(&word).map(|group| vec![group]),
            VerdictWord::Handler => self.handler(&word)?,
            VerdictWord::StepGraph => {
                let why = "is a graph of steps that only its own runner can walk; say what done means with another type, or with a `custom` \
                           check in completion.json";
                self.kind.wrong(format!("{} {why}", quote_text(&word)));
                return None;
            }
        };
        Some(vec![new_check_spec(criterion)])
    }

    /// `issue`, `project` and `poll:state`: the command line of the other program names the number, so the configuration may omit it.
    fn state(&self, kind: VerdictWord) -> Option<Vec<CheckSpec>> {
        let mut of = kind;
        let mut number = None;
        if let Some(config) = &self.config.1 {
            let section = self.around.section(
                config,
                &[
                    "resourceType",
                    "targetState",
                    "issue",
                    "project",
                    "maxIterations",
                ],
            )?;
            if let Some(limit) = section.get("maxIterations") {
                limit.whole(1..=MAX_ITERATIONS)?;
            }
            if let Some(resource) = section.get("resourceType") {
                let Some(polled) = resource.word(RESOURCES)? else {
                    resource.wrong("cannot be polled by watchdog; write a `files` check for a file, or a `command` check for an address");
                    return None;
                };
                of = if kind == VerdictWord::Project {
                    kind
                } else {
                    polled
                };
            }
            if let Some(state) = section.get("targetState") {
                target_is_closed(&state, of)?;
            }
            let key = if of == VerdictWord::Project {
                "project"
            } else {
                "issue"
            };
            if let Some(node) = section.get(key) {
                number = Some(node.whole(1..=u64::from(u32::MAX))?);
            }
        }
        if of == VerdictWord::Project {
            return Some(vec![new_check_spec(CheckKind::Phase(PhaseCriterion::new(
                number,
            )))]);
        }
        let number = number.or(self.around.issue);
        let closed = self.around.closes || self.around.labels.is_empty();
        let labels = self.around.labels.iter().cloned().map(Some);
        let labels: Vec<Option<String>> = if self.around.labels.is_empty() {
            vec![None]
        } else {
            labels.collect()
        };
        let issue = |label| {
            new_check_spec(CheckKind::Issue(IssueCriterion {
                closed,
                label,
                ..IssueCriterion::new(number)
            }))
        };
        Some(labels.into_iter().map(issue).collect())
    }

    /// Iterations of a loop, or looks of a monitor: each session is one of both.
    fn count(&self, word: &str, key: &str) -> Option<CheckKind> {
        let section = self.config_section(word, &[key], key)?;
        let node = section.get(key)?;
        match node.whole(1..=MAX_ITERATIONS) {
            Some(count) => Some(CheckKind::Iterations { count }),
            None => {
                node.wrong(format!("{key} must be a positive number"));
                None
            }
        }
    }

    fn keyword(&self, word: &str) -> Option<CheckKind> {
        let old = self
            .config
            .1
            .as_ref()
            .is_some_and(|config| config.has("completionKeyword"));
        let key = if old || !word.contains(':') {
            "completionKeyword"
        } else {
            "verdictKeyword"
        };
        let text = self
            .config_section(word, &[key, "maxIterations"], key)?
            .get(key)?
            .text()?;
        // Any answer of an iteration could hold the keyword.
        let criterion = SignalTextCriterion {
            scope: TextScope::Iteration,
            ..SignalTextCriterion::new(text, SignalMatch::Contains)
        };
        Some(CheckKind::Signal(criterion))
    }

    fn read_structured_output(&self, word: &str) -> Option<CheckKind> {
        let section = self.config_section(
            word,
            &["signalType", "requiredFields", "maxIterations"],
            "signalType",
        )?;
        let tag = Some(section.get("signalType")?.text()?);
        let required = match section.get("requiredFields") {
            Some(fields) => required_fields(&fields)?,
            None => Vec::new(),
        };
        Some(CheckKind::Structured(StructuredCriterion {
            tag,
            required,
            schema: None,
            scope: TextScope::Iteration,
        }))
    }

    fn composite(&self, word: &str) -> Option<CheckSpec> {
        let section = self.config_section(
            word,
            &["operator", "conditions", "maxIterations"],
            "operator",
        )?;
        let mode = section
            .get("operator")
            .and_then(|node| node.word(OPERATORS));
        let conditions = section.get_required(
            "conditions",
            &format!("conditions is required for the type {word}"),
        )?;
        if conditions.is_empty_list() {
            conditions.wrong("a composite without conditions can never be complete; add one");
            return None;
        }
        // An unreadable condition is reported, and then the whole file does not count.
        let checks = conditions.list(|node| self.condition(node))?;
        Some(CheckSpec::Group {
            mode: mode?,
            checks,
        })
    }

    fn condition(&self, node: &ConfigNode<'a>) -> Option<CheckSpec> {
        let section = self.around.section(node, &["type", "config"])?;
        let kind = section.get_required("type", "a condition names its type of verdict")?;
        let config = section.get("config");
        let mut checks = TypedVerdict {
            holder: &section,
            kind: &kind,
            config: ("config", config),
            around: self.around,
        }
        .read_verdict()?;
        if checks.len() == 1 {
            checks.pop()
        } else {
            Some(CheckSpec::Group {
                mode: Mode::All,
                checks,
            })
        }
    }

    fn handler(&self, word: &str) -> Option<CheckKind> {
        let section =
            self.config_section(word, &["handlerPath", "maxIterations"], "handlerPath")?;
        let path = section.get("handlerPath")?.inside_path()?;
        let path = format!("{}{}", self.around.handlers, path.trim_start_matches("./"));
        let is_typescript = [".ts", ".mts"].iter().any(|ending| path.ends_with(ending));
        let run = CommandLine::Argv(vec![path]);
        Some(CheckKind::Custom(match is_typescript {
            true => CustomCriterion::of_agent(run, self.around.definition.clone()),
            false => CustomCriterion::new(run),
        }))
    }

    /// The configuration with the one key that the type needs.
    fn config_section(
        &self,
        word: &str,
        known_keys: &[&str],
        needed: &str,
    ) -> Option<ConfigSection<'a>> {
        let why = format!("{needed} is required for the type {word}");
        let Some(config) = &self.config.1 else {
            self.holder.missing(self.config.0, &why);
            return None;
        };
        // A block of the first form may have the keys of its other types, too.
        let others: &[&str] = if self.around.ignored.is_none() {
            &["maxIterations", "completionKeyword", "handlerPath"]
        } else {
            &[]
        };
        let section = self
            .around
            .section(config, &[known_keys, others].concat())?;
        section.get_required(needed, &why)?;
        Some(section)
    }
}

fn new_check_spec(criterion: CheckKind) -> CheckSpec {
    CheckSpec::Single {
        name: criterion.kind().to_owned(),
        criterion,
    }
}

/// Of an issue, only its being closed can be asked for here; of a project, its last phase.
fn target_is_closed(state: &ConfigNode<'_>, of: VerdictWord) -> Option<()> {
    let target = match &state.json.kind {
        ValueKind::Object(_) => state.peek("state"),
        _ => Some(ConfigNode {
            report: state.report,
            json: state.json,
            path: state.path.clone(),
        }),
    };
    let alone = state.members().is_none_or(|members| members.len() == 1);
    let is_closed = |node: &ConfigNode<'_>| matches!(&node.json.kind, ValueKind::Text(text) if text.eq_ignore_ascii_case("closed"));
    if of != VerdictWord::Project && alone && target.as_ref().is_some_and(is_closed) {
        return Some(());
    }
    state.wrong("this state cannot be polled; \"closed\" of an issue can, and an `issue` or `phase` check in completion.json says more");
    None
}

/// A note for all that was not read.
pub(super) fn note_ignored(section: &ConfigSection<'_>, ignored: &[String]) {
    const SHOWN: usize = 20;
    if ignored.is_empty() {
        return;
    }
    let quoted = ignored.iter().map(|key| format!("`{key}`"));
    let keys = name_first(&quoted.collect::<Vec<_>>(), SHOWN);
    section.note(
        "",
        &format!("not read, as it says nothing of when the work is complete: {keys}"),
    );
}
