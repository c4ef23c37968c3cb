//! Which kind of name stands at the cursor of a command line that is still being typed.

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::args::Cli;

/// The names that a worktree knows, and words that are no values of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateKind {
    /// A spec that has a baseline.
    Spec,
    /// A spec that has snapshots.
    SnapshotSpec,
    /// A snapshot's id.
    Snapshot,
    /// A task's id.
    Task,
    /// A spec that has a baseline, or a log's id.
    SpecOrLog,
    /// A spec that has a baseline, or the id of a verdict's event.
    SpecOrVerdict,
    /// A status of a task.
    TaskStatus,
    /// A check that `watchdog init` would write.
    Check,
    /// A topic of `watchdog help`.
    HelpTopic,
    /// A page of `watchdog man`.
    ManualPage,
    /// A word that the argument takes.
    Listed,
}

/// A name at the cursor, and where to look for those that fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletedValue {
    /// The kind of name at the cursor.
    pub kind: CandidateKind,
    /// The value of `-C`.
    pub worktree: Option<String>,
    /// The value of `--config`.
    pub config: Option<String>,
    /// The value of `--state-dir`.
    pub state_dir: Option<String>,
    /// The arguments of the command that stand before it.
    pub before: Vec<String>,
    /// The words that the argument takes, and what each means.
    pub listed: Vec<(String, String)>,
    /// The items before the word in a list with commas.
    pub list_begins: String,
}

impl CompletedValue {
    /// Reads the words up to the cursor, the program's name first. Returns `None` if the last one
    /// is no name of this kind.
    pub fn at_the_end_of(words: &[String]) -> Option<Self> {
        let (current, before) = words.split_last()?;
        let whole = Cli::command();
        let mut commands = vec![&whole];
        let (mut worktree, mut config, mut state_dir) = (None, None, None);
        let mut waiting: Option<&Arg> = None;
        let mut positionals: Vec<String> = Vec::new();
        for word in before.iter().skip(1) {
            let (arg, value) = match waiting
                .take()
                .filter(|arg| !(is_option(word) && may_stand_alone(arg)))
            {
                Some(arg) => (arg, Some(word.as_str())),
                None if word == "--" => return None,
                None if is_option(word) => match find_option(&commands, word) {
                    Some(named_option) => named_option,
                    None => continue,
                },
                None => {
                    let last = commands.last()?;
                    match last
                        .find_subcommand(word)
                        .filter(|_| positionals.is_empty())
                    {
                        Some(command) => commands.push(command),
                        // Behind it are the arguments of another program.
                        None if find_positional(last, positionals.len())?
                            .is_trailing_var_arg_set() =>
                        {
                            return None;
                        }
                        None => positionals.push(word.clone()),
                    }
                    continue;
                }
            };
            match (arg.get_id().as_str(), value) {
                (_, None) => waiting = Some(arg),
                ("worktree", Some(value)) => worktree = Some(value.to_owned()),
                ("config", Some(value)) => config = Some(value.to_owned()),
                ("state_dir", Some(value)) => state_dir = Some(value.to_owned()),
                _ => {}
            }
        }
        let arg = match waiting.filter(|arg| !(is_option(current) && may_stand_alone(arg))) {
            Some(arg) => arg,
            None if is_option(current) && current.contains('=') => {
                find_option(&commands, current)?.0
            }
            None if current.starts_with('-') => return None,
            None => find_positional(commands.last()?, positionals.len())?,
        };
        let listed: Vec<(String, String)> = arg
            .get_possible_values()
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(describe_possible_value)
            .collect();
        let kind = find_candidate_kind(&commands, arg)
            .or((!listed.is_empty()).then_some(CandidateKind::Listed))?;
        let value = current
            .strip_prefix("--")
            .and_then(|long| long.split_once('='))
            .map_or(current.as_str(), |(_, value)| value);
        let list_begins = arg
            .get_value_delimiter()
            .and_then(|comma| value.rfind(comma))
            .map_or("", |at| &value[..=at])
            .to_owned();
        Some(CompletedValue {
            kind,
            worktree,
            config,
            state_dir,
            before: positionals,
            listed,
            list_begins,
        })
    }
}

fn describe_possible_value(value: &PossibleValue) -> (String, String) {
    (
        value.get_name().to_owned(),
        value
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default(),
    )
}

/// The argument at a place. The last one may take all that follows.
fn find_positional(command: &Command, at: usize) -> Option<&Arg> {
    let all: Vec<&Arg> = command.get_positionals().collect();
    all.get(at).copied().or_else(|| {
        all.last()
            .copied()
            .filter(|last| matches!(last.get_action(), ArgAction::Append))
    })
}

/// Whether an option can be given without its value.
fn may_stand_alone(arg: &Arg) -> bool {
    arg.get_num_args()
        .is_some_and(|count| count.min_values() == 0)
}

fn is_option(word: &str) -> bool {
    word.starts_with('-') && word.len() > 1
}

/// The option of a word that takes a value, and its value where the same word has it.
fn find_option<'c, 'w>(
    commands: &[&'c Command],
    word: &'w str,
) -> Option<(&'c Arg, Option<&'w str>)> {
    let arg_that = |fits: &dyn Fn(&Arg) -> bool| {
        let own = commands
            .last()
            .into_iter()
            .flat_map(|command| command.get_arguments());
        let above = commands
            .iter()
            .rev()
            .skip(1)
            .flat_map(|command| command.get_arguments().filter(|arg| arg.is_global_set()));
        own.chain(above).find(|arg| fits(arg))
    };
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long
            .split_once('=')
            .map_or((long, None), |(name, value)| (name, Some(value)));
        let named = |arg: &Arg| {
            arg.get_long() == Some(name)
                || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
        };
        return arg_that(&named)
            .filter(|arg| arg.get_action().takes_values())
            .map(|arg| (arg, value));
    }
    word.char_indices().skip(1).find_map(|(at, letter)| {
        let arg = arg_that(&|arg: &Arg| arg.get_short() == Some(letter))
            .filter(|arg| arg.get_action().takes_values())?;
        let value = &word[at + letter.len_utf8()..];
        Some((arg, (!value.is_empty()).then_some(value)))
    })
}

fn find_candidate_kind(commands: &[&Command], arg: &Arg) -> Option<CandidateKind> {
    let path: Vec<&str> = commands
        .iter()
        .skip(1)
        .map(|command| command.get_name())
        .collect();
    match (path.as_slice(), arg.get_long(), arg.get_id().as_str()) {
        (["rescue", "list"], Some("spec"), _) => Some(CandidateKind::SnapshotSpec),
        (_, Some("spec"), _) => Some(CandidateKind::Spec),
        (["rescue", ..], None, "id") => Some(CandidateKind::Snapshot),
        (["task", ..], None, "id") => Some(CandidateKind::Task),
        (["logs"], None, "session") => Some(CandidateKind::SpecOrLog),
        (["explain"], None, "verdict") => Some(CandidateKind::SpecOrVerdict),
        (["task", ..], _, "status") => Some(CandidateKind::TaskStatus),
        (["init"], Some("try"), _) => Some(CandidateKind::Check),
        (["help"], None, "topic") => Some(CandidateKind::HelpTopic),
        (["man"], None, "page") => Some(CandidateKind::ManualPage),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completion_recognises_the_kind_at_cursor() {
        use CandidateKind::{
            Check, HelpTopic, Listed, ManualPage, Snapshot, SnapshotSpec, Spec, SpecOrLog,
            SpecOrVerdict, Task, TaskStatus,
        };
        for (line, expected) in [
            ("watchdog check --spec ", Some(Spec)),
            ("watchdog check --spec=a", Some(Spec)),
            ("watchdog check --json --max-probes 3 --spec a", Some(Spec)),
            ("watchdog run --spec a", Some(Spec)),
            ("watchdog breaker reset --spec ", Some(Spec)),
            ("watchdog rescue list --spec ", Some(SnapshotSpec)),
            ("watchdog rescue show ", Some(Snapshot)),
            ("watchdog -vC elsewhere rescue drop 2", Some(Snapshot)),
            ("watchdog rescue restore --to there ", Some(Snapshot)),
            ("watchdog task run ", Some(Task)),
            ("watchdog task set --reason why T", Some(Task)),
            ("watchdog task set T1 ", Some(TaskStatus)),
            ("watchdog task set T1 pending ", None),
            ("watchdog task list --status ", Some(TaskStatus)),
            ("watchdog status --only ", Some(Listed)),
            ("watchdog --color ", Some(Listed)),
            ("watchdog completions ", Some(Listed)),
            ("watchdog init --try ", Some(Check)),
            ("watchdog init --try=t", Some(Check)),
            ("watchdog init --try --yes --try te", Some(Check)),
            ("watchdog init --try --ye", None),
            ("watchdog init --try tests ", None),
            ("watchdog help ", Some(HelpTopic)),
            ("watchdog help rescue re", Some(HelpTopic)),
            ("watchdog man rescue ", Some(ManualPage)),
            ("watchdog man --dir ", None),
            ("watchdog task run T1 ", None),
            ("watchdog task run T1 -- ", None),
            ("watchdog rescue restore ID --to ", None),
            ("watchdog check --sp", None),
            ("watchdog check ", None),
            ("watchdog run claude --spec ", None),
            ("watchdog run -- claude --spec ", None),
            ("watchdog logs ", Some(SpecOrLog)),
            ("watchdog logs --follow a", Some(SpecOrLog)),
            ("watchdog logs a ", None),
            ("watchdog explain 0006", Some(SpecOrVerdict)),
            ("watchdog trust ", None),
            ("watchdog ", None),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(
                CompletedValue::at_the_end_of(&words).map(|value| value.kind),
                expected,
                "{line:?}"
            );
        }
    }

    #[test]
    fn completion_reads_worktree_and_configuration_options() {
        for line in [
            "watchdog -C a task show --config=b ",
            "watchdog --worktree=a --config b task show ",
            "watchdog task -Ca show --config b ",
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let completed = CompletedValue::at_the_end_of(&words).expect("a task is named");
            assert_eq!(
                (completed.worktree.as_deref(), completed.config.as_deref()),
                (Some("a"), Some("b")),
                "{line:?}"
            );
        }
        let words = ["watchdog", "events", "--kind=verdict,pro"].map(str::to_owned);
        assert_eq!(
            CompletedValue::at_the_end_of(&words)
                .map(|value| value.list_begins)
                .as_deref(),
            Some("verdict,")
        );
        let words = ["watchdog", "help", "--color", "never", "rescue", "re"].map(str::to_owned);
        assert_eq!(
            CompletedValue::at_the_end_of(&words).map(|value| value.before),
            Some(vec!["rescue".to_owned()])
        );
        let words: Vec<String> = "watchdog rescue restore --worktree new -C a "
            .split(' ')
            .map(str::to_owned)
            .collect();
        assert_eq!(
            CompletedValue::at_the_end_of(&words)
                .and_then(|value| value.worktree)
                .as_deref(),
            Some("a")
        );
    }
}
