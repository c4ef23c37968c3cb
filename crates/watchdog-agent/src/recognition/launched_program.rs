//! Finds the programs that a command runs in the end, behind launchers, shells, runtimes and runners of packages. Pure.

/// How many launchers may stand one behind the other.
const DEPTH: usize = 8;
/// The most words of a command that are looked at before its program: real launchers have few.
const WORDS: usize = 256;

/// A program by the way in which a command names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LaunchedProgram {
    /// A name or path.
    Program(String),
    /// A file that a runtime or shell runs.
    Script(String),
    /// The name of a package whose program a runner of packages runs.
    Package(String),
}

/// A program that runs another one, which its arguments name.
struct Launcher {
    name: &'static str,
    /// The options that take the next word as their value.
    valued: &'static [&'static str],
    /// How many words of its own stand before the program.
    operands: usize,
}

const fn new_launcher(
    name: &'static str,
    valued: &'static [&'static str],
    operands: usize,
) -> Launcher {
    Launcher {
        name,
        valued,
        operands,
    }
}

/// Launchers of the system. `docker`, `ssh` and `tmux` are none: what they run has another home, and its sessions are not here.
const LAUNCHERS: &[Launcher] = &[
    new_launcher("env", &["-u", "--unset", "-C", "--chdir"], 0),
    new_launcher("nice", &["-n", "--adjustment"], 0),
    new_launcher("timeout", &["-k", "--kill-after", "-s", "--signal"], 1),
    new_launcher("nohup", &[], 0),
    new_launcher("setsid", &[], 0),
    new_launcher("stdbuf", &["-i", "-o", "-e"], 0),
    new_launcher("time", &["-f", "--format", "-o", "--output"], 0),
    new_launcher("exec", &["-a"], 0),
];
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];
/// Runtimes whose first operand is a script.
const RUNTIMES: [&str; 7] = ["node", "nodejs", "deno", "bun", "tsx", "python", "ruby"];
/// Options of runtimes that take the next word as their value.
const RUNTIME_VALUED: [&str; 4] = ["-r", "--require", "--import", "--loader"];
/// Options of runtimes with which no script runs.
const RUNTIME_INLINE: [&str; 6] = ["-e", "--eval", "-p", "--print", "-c", "-m"];
/// Words that end a command of a line for a shell.
const OPERATORS: [&str; 5] = ["&&", "||", "|", "&", ";"];
/// Runners of packages, with the words that make them one.
const PACKAGE_RUNNERS: &[(&str, &[&str])] = &[
    ("npx", &[]),
    ("bunx", &[]),
    ("pnpx", &[]),
    ("uvx", &[]),
    ("npm", &["exec"]),
    ("npm", &["x"]),
    ("pnpm", &["dlx"]),
    ("pnpm", &["exec"]),
    ("yarn", &["dlx"]),
    ("yarn", &["exec"]),
    ("bun", &["x"]),
    ("pipx", &["run"]),
    ("uv", &["tool", "run"]),
];
/// Options of theirs that take the next word as their value. Behind `--package` the program is what follows.
const RUNNER_VALUED: [&str; 6] = [
    "-p",
    "--package",
    "--from",
    "--spec",
    "--registry",
    "--cache",
];
/// Words with which a program says something about itself, and begins no session.
const ABOUT_ITSELF: [&str; 6] = ["--version", "-V", "-v", "--help", "-h", "version"];

/// Whether a program only starts others, as shells and launchers do. The program that it starts is
/// a process of its own.
pub(super) fn only_starts_others(word: &str) -> bool {
    let name = base_name(word).trim_start_matches('-');
    SHELLS.contains(&name)
        || LAUNCHERS.iter().any(|launcher| launcher.name == name)
        || PACKAGE_RUNNERS.iter().any(|(runner, _)| *runner == name)
}

/// The last part of a path.
pub(super) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The programs that a command runs: one, or several of a line for a shell. A call that only prints
/// something about the program itself counts as none.
pub(super) fn launched_programs(argv: &[String]) -> Vec<LaunchedProgram> {
    let mut programs = Vec::new();
    follow_command_line(argv, 0, &mut programs);
    programs
}

fn follow_command_line(argv: &[String], depth: usize, programs: &mut Vec<LaunchedProgram>) {
    let argv = &argv[argv
        .iter()
        .take(WORDS)
        .take_while(|word| is_assignment(word))
        .count()..];
    let Some((first, args)) = argv.split_first().filter(|_| depth < DEPTH) else {
        return;
    };
    let name = base_name(first);
    let is_runner = |(runner, words): &&(&str, &[&str])| {
        *runner == name
            && args
                .iter()
                .take(words.len())
                .map(String::as_str)
                .eq(words.iter().copied())
    };
    if SHELLS.contains(&name) {
        follow_shell(args, depth, programs);
    } else if let Some((_, words)) = PACKAGE_RUNNERS.iter().find(is_runner) {
        push_package(&args[words.len()..], programs);
    } else if RUNTIMES.contains(&without_version(name)) {
        push_script(args, programs);
    } else if let Some(launcher) = LAUNCHERS.iter().find(|launcher| launcher.name == name) {
        let operand_words = behind_options(args, launcher.valued);
        if operand_words.len() > launcher.operands {
            follow_command_line(&operand_words[launcher.operands..], depth + 1, programs);
        }
    } else {
        push_program(programs, LaunchedProgram::Program(first.clone()), args);
    }
}

fn push_program(programs: &mut Vec<LaunchedProgram>, program: LaunchedProgram, args: &[String]) {
    let about_itself = matches!(args, [only] if ABOUT_ITSELF.contains(&only.as_str()));
    if !about_itself {
        programs.push(program);
    }
}

/// The words behind the options of a program; assignments count as such, for `env`.
fn behind_options<'a>(args: &'a [String], valued: &[&str]) -> &'a [String] {
    let mut at = 0;
    while let Some(word) = args.get(at).filter(|_| at < WORDS) {
        if word == "--" {
            return &args[at + 1..];
        }
        if !(word.starts_with('-') && word.len() > 1 || is_assignment(word)) {
            break;
        }
        at += 1 + usize::from(valued.contains(&word.as_str()));
    }
    args.get(at..).unwrap_or_default()
}

/// The plain commands of a line for a shell: its words without quotes and assignments, cut at operators
/// that stand alone. Loops, groups, substitutions and here-documents are not read: what they run is
/// recognised as a process.
pub fn plain_commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    for word in shlex::Shlex::new(line) {
        let command = word.strip_suffix(';').unwrap_or(&word);
        let ends_command = command.len() < word.len() || OPERATORS.contains(&command);
        let words = commands.last_mut().expect("it begins with one");
        let is_prefix = words.is_empty() && (command == "!" || is_assignment(command));
        if !is_prefix && !OPERATORS.contains(&command) && !command.is_empty() {
            words.push(command.to_owned());
        }
        if ends_command {
            commands.push(Vec::new());
        }
    }
    commands.retain(|words| !words.is_empty());
    commands
}

/// Whether a word in front of a command sets a variable.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn follow_shell(args: &[String], depth: usize, programs: &mut Vec<LaunchedProgram>) {
    let (mut at, mut runs_line) = (0, false);
    while let Some(word) = args
        .get(at)
        .filter(|word| at < WORDS && word.len() > 1 && word.starts_with(['-', '+']))
    {
        let letters = if word.starts_with("--") {
            ""
        } else {
            word.as_str()
        };
        runs_line |= letters.contains('c');
        at += 1 + usize::from(letters.ends_with(['o', 'O']));
    }
    match args.get(at..) {
        Some([line, ..]) if runs_line => {
            for command in plain_commands(line) {
                follow_command_line(&command, depth + 1, programs);
            }
        }
        Some([file, rest @ ..]) => {
            push_program(programs, LaunchedProgram::Script(file.clone()), rest)
        }
        _ => {}
    }
}

fn push_script(args: &[String], programs: &mut Vec<LaunchedProgram>) {
    // `bun run FILE`, `deno run FILE`.
    let args = args.strip_prefix(&["run".to_owned()]).unwrap_or(args);
    if args
        .iter()
        .take_while(|word| word.starts_with('-'))
        .any(|word| RUNTIME_INLINE.contains(&word.as_str()))
    {
        return;
    }
    if let [file, rest @ ..] = behind_options(args, &RUNTIME_VALUED) {
        let program = match file.strip_prefix("npm:") {
            Some(package) => LaunchedProgram::Package(package.to_owned()),
            None => LaunchedProgram::Script(file.clone()),
        };
        push_program(programs, program, rest);
    }
}

fn push_package(args: &[String], programs: &mut Vec<LaunchedProgram>) {
    let args = behind_options(args, &RUNNER_VALUED);
    if let [name, rest @ ..] = args {
        push_program(programs, LaunchedProgram::Package(name.clone()), rest);
    }
}

/// `python3.12` is `python`.
fn without_version(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}
