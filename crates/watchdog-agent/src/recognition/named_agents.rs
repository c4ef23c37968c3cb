//! Names the agents of a command line, and of the processes of a session. Pure.

use std::ffi::{OsStr, OsString};

use super::launched_program::{LaunchedProgram, base_name, launched_programs};

/// The longest word of a command line that is read.
const WORD: usize = 256 << 10;
/// The most words of it.
const WORDS: usize = 512;
/// Endings of the files that a runtime runs.
const SCRIPT_ENDINGS: [&str; 5] = [".js", ".mjs", ".cjs", ".ts", ".py"];
/// Words that stand behind the name of a program for one platform.
const PLATFORM_WORDS: [&str; 18] = [
    "linux", "darwin", "apple", "macos", "windows", "win32", "pc", "unknown", "x64", "x86",
    "x86_64", "arm64", "aarch64", "musl", "gnu", "baseline", "static", "msvc",
];
/// Words that stand behind the number of a version.
const VERSION_WORDS: [&str; 6] = ["alpha", "beta", "rc", "nightly", "preview", "latest"];

/// The words by which an agent is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentWords {
    /// The name of its preset.
    pub agent: String,
    /// Its name for people.
    pub title: String,
    /// The dialect of its output, where it is one of those that code of ours reads.
    pub dialect: Option<String>,
    /// Names of its program.
    pub programs: Vec<String>,
    /// Names of the packages that hold it.
    pub packages: Vec<String>,
}

/// The agents that something names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum NamedAgents {
    /// No agent.
    #[default]
    None,
    /// This one.
    One(String),
    /// More than one, so that it is unclear whose session it is; sorted.
    Several(Vec<String>),
}

/// A process of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessCommand {
    /// Its pid.
    pub pid: u32,
    /// The process that it is a child of.
    pub parent: u32,
    /// Its command line, as the process itself shows it: it can write there what it wants.
    pub argv: Vec<OsString>,
}

impl NamedAgents {
    /// The agent, where it is one.
    pub fn one(&self) -> Option<&str> {
        match self {
            NamedAgents::One(agent) => Some(agent),
            NamedAgents::None | NamedAgents::Several(_) => None,
        }
    }

    fn from_names(mut agents: Vec<&str>) -> Self {
        agents.sort_unstable();
        agents.dedup();
        match agents.as_slice() {
            [] => NamedAgents::None,
            [one] => NamedAgents::One((*one).to_owned()),
            several => NamedAgents::Several(several.iter().map(ToString::to_string).collect()),
        }
    }
}

/// The agents that a command line runs.
pub fn agents_in_command(argv: &[OsString], agent_words: &[AgentWords]) -> NamedAgents {
    NamedAgents::from_names(agents_of(argv, agent_words))
}

/// The name of the one program that a command line runs in the end; `None` where it runs several, or a package.
pub fn single_program(argv: &[OsString]) -> Option<String> {
    let argv: Vec<String> = argv.iter().take(WORDS).map(|word| text_of(word)).collect();
    match launched_programs(&argv).as_slice() {
        [LaunchedProgram::Program(word) | LaunchedProgram::Script(word)] => {
            Some(base_name(word).to_owned())
        }
        _ => None,
    }
}

/// The agents that run among the processes of a session. A process that an agent started is its
/// tool, and not the session.
pub fn agents_in_processes(
    processes: &[ProcessCommand],
    agent_words: &[AgentWords],
) -> NamedAgents {
    let agents: Vec<(&ProcessCommand, Vec<&str>)> = processes
        .iter()
        .map(|process| (process, agents_of(&as_started(&process.argv), agent_words)))
        .collect();
    let is_below_one = |process: &ProcessCommand| {
        let mut parent = process.parent;
        // A circle cannot be, but processes are read one after the other while pids come again.
        for _ in 0..processes.len() {
            let Some((above, named)) = agents.iter().find(|(other, _)| other.pid == parent) else {
                return false;
            };
            if !named.is_empty() {
                return true;
            }
            parent = above.parent;
        }
        false
    };
    let topmost = agents
        .iter()
        .filter(|(process, named)| !named.is_empty() && !is_below_one(process));
    NamedAgents::from_names(
        topmost
            .flat_map(|(_, named)| named.iter().copied())
            .collect(),
    )
}

/// A program that wrote a title over its arguments shows all of it as one word.
fn as_started(argv: &[OsString]) -> Vec<OsString> {
    match argv {
        [title] => title
            .to_string_lossy()
            .split(' ')
            .take(WORDS)
            .map(OsString::from)
            .collect(),
        argv => argv.to_vec(),
    }
}

fn agents_of<'a>(argv: &[OsString], agent_words: &'a [AgentWords]) -> Vec<&'a str> {
    let argv: Vec<String> = argv.iter().take(WORDS).map(|word| text_of(word)).collect();
    let named = |program: &LaunchedProgram| {
        agent_words
            .iter()
            .find(|words| words.name(program))
            .map(|words| words.agent.as_str())
    };
    launched_programs(&argv).iter().filter_map(named).collect()
}

fn text_of(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    text[..text.floor_char_boundary(WORD.min(text.len()))].to_owned()
}

impl AgentWords {
    fn name(&self, program: &LaunchedProgram) -> bool {
        match program {
            LaunchedProgram::Program(word) => {
                self.has_program(base_name(word)) || self.has_package_folder(word)
            }
            LaunchedProgram::Script(word) => {
                let name = base_name(word);
                let name = SCRIPT_ENDINGS
                    .iter()
                    .find_map(|ending| name.strip_suffix(ending))
                    .unwrap_or(name);
                self.has_program(name) || self.has_package_folder(word)
            }
            LaunchedProgram::Package(word) => {
                let word = word.strip_prefix("npm:").unwrap_or(word);
                // The sign of a scope is no sign of a version.
                let version = word
                    .char_indices()
                    .skip(1)
                    .find(|(_, c)| *c == '@')
                    .map_or(word.len(), |(at, _)| at);
                let name = &word[..version];
                self.packages.iter().any(|package| is_named(name, package))
                    || self.has_program(name)
            }
        }
    }

    fn has_program(&self, name: &str) -> bool {
        let name = name.strip_suffix(".exe").unwrap_or(name);
        self.programs.iter().any(|program| is_named(name, program))
    }

    /// Whether a path leads into a package as package managers lay them out.
    fn has_package_folder(&self, path: &str) -> bool {
        self.packages.iter().any(|package| {
            path.split("node_modules/").skip(1).any(|inside| {
                inside
                    .strip_prefix(package.as_str())
                    .is_some_and(|after_package| after_package.starts_with('/'))
            })
        })
    }
}

/// Whether a name is this one, alone or with a version or a platform behind it.
fn is_named(name: &str, program_name: &str) -> bool {
    let Some(suffix) = name.strip_prefix(program_name) else {
        return false;
    };
    if suffix.is_empty() {
        return true;
    }
    suffix.starts_with(['-', '@', '_'])
        && suffix[1..]
            .split(['-', '_', '@'])
            .all(is_version_or_platform)
}

fn is_version_or_platform(word: &str) -> bool {
    let number = word.strip_prefix('v').unwrap_or(word);
    let numbers = |text: &str| {
        !text.is_empty()
            && text
                .split('.')
                .all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()))
    };
    let staged = || {
        VERSION_WORDS.iter().any(|stage| {
            word.strip_prefix(stage).is_some_and(|stage_number| {
                stage_number.is_empty() || numbers(stage_number.trim_start_matches('.'))
            })
        })
    };
    // `x86_64` is cut in two.
    PLATFORM_WORDS.contains(&word) || numbers(number) || staged()
}
