//! Which kind of name stands at the cursor of a command line that is still being typed.

use clap::{Arg, Command, CommandFactory as _};

use super::args::Cli;

/// The names that only a worktree knows.
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
}

/// A name at the cursor, and where to look for those that fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletedValue {
    /// What is to be named.
    pub kind: CandidateKind,
    /// The value of `-C`.
    pub worktree: Option<String>,
    /// The value of `--config`.
    pub config: Option<String>,
}

impl CompletedValue {
    /// Reads the words up to the cursor, the program's name first. `None` where the last one is no name of this kind.
    pub fn at_the_end_of(words: &[String]) -> Option<Self> {
        let (current, before) = words.split_last()?;
        let whole = Cli::command();
        let mut commands = vec![&whole];
        let (mut worktree, mut config) = (None, None);
        let mut waiting: Option<&Arg> = None;
        let mut positional = 0;
        for word in before.iter().skip(1) {
            let (arg, value) = match waiting.take() {
                Some(arg) => (arg, Some(word.as_str())),
                None if word == "--" => return None,
                None if is_option(word) => match option(&commands, word) {
                    Some(found) => found,
                    None => continue,
                },
                None => {
                    let last = commands.last()?;
                    match last.find_subcommand(word).filter(|_| positional == 0) {
                        Some(command) => commands.push(command),
                        // Behind it are the arguments of another program.
                        None if last.get_positionals().nth(positional)?.is_trailing_var_arg_set() => return None,
                        None => positional += 1,
                    }
                    continue;
                }
            };
            match (arg.get_id().as_str(), value) {
                (_, None) => waiting = Some(arg),
                ("worktree", Some(value)) => worktree = Some(value.to_owned()),
                ("config", Some(value)) => config = Some(value.to_owned()),
                _ => {}
            }
        }
        let arg = match waiting {
            Some(arg) => arg,
            None if is_option(current) && current.contains('=') => option(&commands, current)?.0,
            None if current.starts_with('-') => return None,
            None => commands.last()?.get_positionals().nth(positional)?,
        };
        Some(CompletedValue { kind: kind(&commands, arg)?, worktree, config })
    }
}

fn is_option(word: &str) -> bool {
    word.starts_with('-') && word.len() > 1
}

/// The option of a word that takes a value, and its value where the same word has it.
fn option<'c, 'w>(commands: &[&'c Command], word: &'w str) -> Option<(&'c Arg, Option<&'w str>)> {
    let known = |fits: &dyn Fn(&Arg) -> bool| {
        let own = commands.last().into_iter().flat_map(|command| command.get_arguments());
        let above = commands.iter().rev().skip(1).flat_map(|command| command.get_arguments().filter(|arg| arg.is_global_set()));
        own.chain(above).find(|arg| fits(arg))
    };
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let named = |arg: &Arg| arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|all| all.contains(&name));
        return known(&named).filter(|arg| arg.get_action().takes_values()).map(|arg| (arg, value));
    }
    word.char_indices().skip(1).find_map(|(at, letter)| {
        let arg = known(&|arg: &Arg| arg.get_short() == Some(letter)).filter(|arg| arg.get_action().takes_values())?;
        let value = &word[at + letter.len_utf8()..];
        Some((arg, (!value.is_empty()).then_some(value)))
    })
}

fn kind(commands: &[&Command], arg: &Arg) -> Option<CandidateKind> {
    let path: Vec<&str> = commands.iter().skip(1).map(|command| command.get_name()).collect();
    match (path.as_slice(), arg.get_long(), arg.get_id().as_str()) {
        (["rescue", "list"], Some("spec"), _) => Some(CandidateKind::SnapshotSpec),
        (_, Some("spec"), _) => Some(CandidateKind::Spec),
        (["rescue", ..], None, "id") => Some(CandidateKind::Snapshot),
        (["task", ..], None, "id") => Some(CandidateKind::Task),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_the_word_at_the_cursor_is_known() {
        use CandidateKind::{Snapshot, SnapshotSpec, Spec, Task};
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
            ("watchdog task set T1 ", None),
            ("watchdog task run T1 ", None),
            ("watchdog task run T1 -- ", None),
            ("watchdog rescue restore ID --to ", None),
            ("watchdog check --sp", None),
            ("watchdog check ", None),
            ("watchdog run claude --spec ", None),
            ("watchdog run -- claude --spec ", None),
            ("watchdog trust ", None),
            ("watchdog ", None),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(CompletedValue::at_the_end_of(&words).map(|found| found.kind), expected, "{line:?}");
        }
    }

    #[test]
    fn the_worktree_and_the_configuration_of_the_line_are_read() {
        for line in
            ["watchdog -C a task show --config=b ", "watchdog --worktree=a --config b task show ", "watchdog task -Ca show --config b "]
        {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let found = CompletedValue::at_the_end_of(&words).expect("a task is named");
            assert_eq!((found.worktree.as_deref(), found.config.as_deref()), (Some("a"), Some("b")), "{line:?}");
        }
        let words: Vec<String> = "watchdog rescue restore --worktree new -C a ".split(' ').map(str::to_owned).collect();
        assert_eq!(CompletedValue::at_the_end_of(&words).and_then(|found| found.worktree).as_deref(), Some("a"));
    }
}
