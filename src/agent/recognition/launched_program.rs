//! Finds the programs that a command runs in the end, behind launchers, shells, runtimes and runners of packages. Pure.

use super::shell_commands::{commands_of, is_assignment};

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

const fn launcher(
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
    launcher("env", &["-u", "--unset", "-C", "--chdir"], 0),
    launcher("nice", &["-n", "--adjustment"], 0),
    launcher("ionice", &["-c", "--class", "-n", "--classdata"], 0),
    launcher("chrt", &[], 1),
    launcher("taskset", &[], 1),
    launcher("timeout", &["-k", "--kill-after", "-s", "--signal"], 1),
    launcher("gtimeout", &["-k", "--kill-after", "-s", "--signal"], 1),
    launcher("nohup", &[], 0),
    launcher("setsid", &[], 0),
    launcher(
        "stdbuf",
        &["-i", "-o", "-e", "--input", "--output", "--error"],
        0,
    ),
    launcher("unbuffer", &[], 0),
    launcher("time", &["-f", "--format", "-o", "--output"], 0),
    launcher("chronic", &[], 0),
    launcher("caffeinate", &["-t", "-w"], 0),
    launcher(
        "flock",
        &["-w", "--timeout", "-E", "--conflict-exit-code"],
        1,
    ),
    launcher("command", &[], 0),
    launcher("builtin", &[], 0),
    launcher("exec", &["-a"], 0),
    launcher(
        "xargs",
        &["-I", "-n", "-P", "-L", "-d", "-a", "-s", "-E"],
        0,
    ),
    launcher(
        "sudo",
        &["-u", "--user", "-g", "--group", "-D", "--chdir"],
        0,
    ),
    launcher("doas", &["-u", "-C"], 0),
    launcher("direnv", &[], 2),
];
/// Programs that run what stands behind `--`.
const BEHIND_DASHES: [&str; 7] = [
    "mise",
    "doppler",
    "op",
    "dotenv",
    "aws-vault",
    "chamber",
    "infisical",
];
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox"];
/// Runtimes whose first operand is a script.
const RUNTIMES: [&str; 7] = ["node", "nodejs", "deno", "bun", "tsx", "python", "ruby"];
/// Options of runtimes that take the next word as their value.
const RUNTIME_VALUED: [&str; 8] = [
    "-r",
    "--require",
    "--import",
    "--loader",
    "-C",
    "--conditions",
    "-W",
    "-X",
];
/// Options of runtimes with which no script runs.
const RUNTIME_INLINE: [&str; 6] = ["-e", "--eval", "-p", "--print", "-c", "-m"];
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
/// Options of theirs that take the next word as their value, but for those that name packages and commands.
const RUNNER_VALUED: [&str; 4] = ["--registry", "--cache", "-w", "--workspace"];
/// Words with which a program says something about itself, and begins no session.
const ABOUT_ITSELF: [&str; 6] = ["--version", "-V", "-v", "--help", "-h", "version"];

/// Whether a program only starts others, as shells and launchers do. What it starts is a process of its own.
pub(super) fn only_starts_others(word: &str) -> bool {
    let name = base_name(word).trim_start_matches('-');
    let starts = ["script", "eval", "watchdog"].contains(&name)
        || BEHIND_DASHES.contains(&name)
        || SHELLS.contains(&name);
    starts
        || LAUNCHERS.iter().any(|launcher| launcher.name == name)
        || PACKAGE_RUNNERS.iter().any(|(runner, _)| *runner == name)
}

/// The last part of a path.
pub(super) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The programs that a command runs: one, or several of a line for a shell. What only says something about itself is none.
pub(super) fn launched_programs(argv: &[String]) -> Vec<LaunchedProgram> {
    let mut found = Vec::new();
    follow(argv, 0, &mut found);
    found
}

fn follow(argv: &[String], depth: usize, found: &mut Vec<LaunchedProgram>) {
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
        shell(args, depth, found);
    } else if let Some((_, words)) = PACKAGE_RUNNERS.iter().find(is_runner) {
        package(&args[words.len()..], depth, found);
    } else if RUNTIMES.contains(&without_version(name)) {
        script(args, found);
    } else if name == "script" {
        recorded(args, depth, found);
    } else if name == "eval" {
        lines(&args.join(" "), depth, found);
    } else if BEHIND_DASHES.contains(&name) {
        if let Some(at) = args.iter().take(WORDS).position(|word| word == "--") {
            follow(&args[at + 1..], depth + 1, found);
        }
    } else if let Some(launcher) = LAUNCHERS.iter().find(|launcher| launcher.name == name) {
        if name == "env"
            && let Some(at) = args
                .iter()
                .take(WORDS)
                .position(|word| word == "-S" || word == "--split-string")
        {
            return lines(&args[at + 1..].join(" "), depth, found);
        }
        let rest = behind_options(args, launcher.valued);
        if rest.len() > launcher.operands {
            follow(&rest[launcher.operands..], depth + 1, found);
        }
    } else {
        push(found, LaunchedProgram::Program(first.clone()), args);
    }
}

fn push(found: &mut Vec<LaunchedProgram>, program: LaunchedProgram, args: &[String]) {
    let about_itself = matches!(args, [only] if ABOUT_ITSELF.contains(&only.as_str()));
    if !about_itself {
        found.push(program);
    }
}

/// What stands behind the options of a program; assignments count as such, for `env`.
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

fn lines(line: &str, depth: usize, found: &mut Vec<LaunchedProgram>) {
    for command in commands_of(line) {
        follow(&command, depth + 1, found);
    }
}

fn shell(args: &[String], depth: usize, found: &mut Vec<LaunchedProgram>) {
    let (mut at, mut runs_a_line) = (0, false);
    while let Some(word) = args.get(at).filter(|_| at < WORDS) {
        if word == "--" {
            at += 1;
            break;
        }
        let Some(letters) = word
            .strip_prefix(['-', '+'])
            .filter(|letters| !letters.is_empty())
        else {
            break;
        };
        let long = letters.starts_with('-');
        runs_a_line |= !long && letters.contains('c');
        let valued = if long {
            ["-rcfile", "-init-file"].contains(&letters)
        } else {
            letters.ends_with(['o', 'O'])
        };
        at += 1 + usize::from(valued);
    }
    match args.get(at) {
        Some(line) if runs_a_line => lines(line, depth, found),
        // `busybox sh -c`.
        Some(word) if SHELLS.contains(&base_name(word)) => follow(&args[at..], depth + 1, found),
        Some(file) => push(
            found,
            LaunchedProgram::Script(file.clone()),
            &args[at + 1..],
        ),
        None => {}
    }
}

fn script(args: &[String], found: &mut Vec<LaunchedProgram>) {
    let mut args = args;
    // `bun run FILE`, `deno run FILE`.
    if args.first().is_some_and(|word| word == "run") {
        args = &args[1..];
    }
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
        push(found, program, rest);
    }
}

fn package(args: &[String], depth: usize, found: &mut Vec<LaunchedProgram>) {
    let mut at = 0;
    while let Some(word) = args.get(at).filter(|_| at < WORDS) {
        let (option, value) = word
            .split_once('=')
            .map_or((word.as_str(), None), |(option, value)| {
                (option, Some(value))
            });
        let value = value.or_else(|| args.get(at + 1).map(String::as_str));
        let words_of_value = usize::from(!word.contains('='));
        match option {
            "--" => {
                at += 1;
                break;
            }
            "-c" | "--call" => return lines(value.unwrap_or_default(), depth, found),
            // The program is what follows, or that of the package.
            "-p" | "--package" | "--from" | "--spec" => at += 1 + words_of_value,
            option if RUNNER_VALUED.contains(&option) => at += 1 + words_of_value,
            option if option.starts_with('-') => at += 1,
            _ => break,
        }
    }
    if let Some([name, rest @ ..]) = args.get(at..) {
        push(found, LaunchedProgram::Package(name.clone()), rest);
    }
}

/// `script` records a terminal: its command is a line behind `-c`, or stands behind the file's name, as on macOS.
fn recorded(args: &[String], depth: usize, found: &mut Vec<LaunchedProgram>) {
    for (at, word) in args.iter().take(WORDS).enumerate() {
        if let Some(line) = word.strip_prefix("--command=") {
            return lines(line, depth, found);
        }
        if word == "--" {
            return follow(&args[at + 1..], depth + 1, found);
        }
        if word == "--command"
            || (word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))
        {
            return lines(
                args.get(at + 1).map(String::as_str).unwrap_or_default(),
                depth,
                found,
            );
        }
        if !word.starts_with('-') {
            return follow(&args[at + 1..], depth + 1, found);
        }
    }
}

/// `python3.12` is `python`.
fn without_version(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}
