//! Which files of the worktree say what done means: the lists that criteria read, and what their programs are named with.

use crate::config::settings::{CheckKind, CommandLine, ConfigSettings, single_checks};
use watchdog_facts::verdict::Evidence;

use super::check::{CheckContext, CheckJudgement};
use super::feedback::one_line;

/// The maximum number of words of one command line that are read.
const MOST_WORDS: usize = 256;

/// The names in criteria.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CriteriaFileNames {
    /// Feature lists, plans and checklists.
    pub lists: Vec<String>,
    /// Words of command lines that could be files of the worktree.
    pub words: Vec<String>,
}

impl CriteriaFileNames {
    /// Everything that the criteria of a configuration name.
    pub fn from_settings(settings: &ConfigSettings) -> Self {
        let mut file_names = CriteriaFileNames::default();
        single_checks(&settings.checks)
            .into_iter()
            .for_each(|(_, criterion)| file_names.add(criterion));
        for names in [&mut file_names.lists, &mut file_names.words] {
            names.sort();
            names.dedup();
        }
        file_names
    }

    /// Whether nothing is named.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty() && self.words.is_empty()
    }

    fn add(&mut self, criterion: &CheckKind) {
        match criterion {
            CheckKind::Plan(found) => self
                .lists
                .extend(found.path.as_deref().and_then(|path| from_root(path, None))),
            CheckKind::FeatureList(found) => self.lists.extend(from_root(&found.path, None)),
            _ => {}
        }
        if let Some(line) = criterion.run() {
            self.words
                .extend(list_possible_files(line, criterion.cwd()));
        }
    }
}

/// The words of a command line that could be files, as paths from the root of the worktree where they are relative. `cwd` is the folder
/// that it runs in.
pub fn list_possible_files(line: &CommandLine, cwd: Option<&str>) -> Vec<String> {
    let all = bare_words(line);
    let mut paths: Vec<String> = Vec::new();
    // A word may be relative to the working folder of the command, and to each folder that the line changes to.
    for folder in list_work_folders(line, cwd) {
        paths.extend(
            all.iter()
                .filter_map(|word| from_root(word, Some(folder.as_str()))),
        );
    }
    paths.sort();
    paths.dedup();
    paths
}

/// The folders that a command line works in, from the root of the worktree, which is the empty text: where it is started, and where
/// `cd`, `pushd`, `-C` or `--prefix` lead.
pub(super) fn list_work_folders(line: &CommandLine, cwd: Option<&str>) -> Vec<String> {
    let all = bare_words(line);
    let mut folders = vec![cwd.and_then(|cwd| from_root(cwd, None)).unwrap_or_default()];
    for pair in all
        .windows(2)
        .filter(|pair| CHANGES_FOLDER.contains(&pair[0].as_str()))
    {
        let more: Vec<String> = folders
            .iter()
            .filter_map(|folder| from_root(&pair[1], Some(folder)))
            .collect();
        folders.extend(more);
        folders.sort();
        folders.dedup();
        folders.truncate(MOST_FOLDERS);
    }
    folders
}

/// The names of the programs that a command line may start, without their folders.
pub(super) fn list_program_names(line: &CommandLine) -> Vec<String> {
    bare_words(line)
        .iter()
        .filter_map(|word| word.rsplit('/').next().map(str::to_owned))
        .collect()
}

/// The commands that change the folder.
const CHANGES_FOLDER: &[&str] = &[
    "cd",
    "pushd",
    "-C",
    "--prefix",
    "--directory",
    "--manifest-path",
];

/// The maximum number of folders of one command line that are tried.
const MOST_FOLDERS: usize = 16;

fn bare_words(line: &CommandLine) -> Vec<String> {
    let ends = |c: char| c.is_whitespace() || ";|&()<>{}\"'`=,:".contains(c);
    let split = |text: &str| text.split(ends).map(str::to_owned).collect::<Vec<_>>();
    let all: Vec<String> = match line {
        CommandLine::Shell(line) => [split(line), split(&as_the_shell_reads(line))].concat(),
        // An argument may be a whole path with blanks in it, or a line for a shell.
        CommandLine::Argv(argv) => argv
            .iter()
            .flat_map(|arg| std::iter::once(arg.clone()).chain(split(arg)))
            .collect(),
    };
    let mut all: Vec<String> = all
        .into_iter()
        .filter(|word| !word.is_empty())
        .take(MOST_WORDS)
        .collect();
    let modules: Vec<String> = all
        .windows(2)
        .filter(|pair| NAMES_A_MODULE.contains(&pair[0].as_str()))
        .flat_map(|pair| files_of_module(&pair[1]))
        .collect();
    all.extend(modules);
    all
}

/// The words before a module of Python.
const NAMES_A_MODULE: &[&str] = &["-m", "import", "from"];

/// The files that a module of Python may be in.
fn files_of_module(module: &str) -> [String; 3] {
    let path = module.replace('.', "/");
    [
        format!("{path}.py"),
        format!("{path}/__init__.py"),
        format!("{path}/__main__.py"),
    ]
}

/// The quotes that the shell removes from a word.
const QUOTES: &str = "\"'";

/// More variables than this of one command line are not put in.
const MOST_VARIABLES: usize = 16;

/// A line without its quotes, and with the variables that it sets itself put in: `D=ci; sh "$D"/check.sh` names `ci/check.sh`.
fn as_the_shell_reads(line: &str) -> String {
    let mut plain = line.replace(|c: char| QUOTES.contains(c), "");
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let set: Vec<(String, String)> = plain
        .split(|c: char| c.is_whitespace() || ";|&()".contains(c))
        .filter_map(|word| word.split_once('='))
        .filter(|(name, value)| is_name(name) && !value.is_empty() && !value.contains('$'))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .take(MOST_VARIABLES)
        .collect();
    for (name, value) in set {
        plain = plain
            .replace(&format!("${{{name}}}"), &value)
            .replace(&format!("${name}"), &value);
        // A value that names itself grows no further than any line that a person writes.
        plain.truncate(plain.floor_char_boundary(LONGEST_LINE));
    }
    plain
}

/// How many bytes of a line are read once its variables are expanded.
const LONGEST_LINE: usize = 64 << 10;

/// A path without its detours; absolute ones stay absolute; `None` where it leads out, or nowhere.
fn from_root(word: &str, cwd: Option<&str>) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let folder = cwd.filter(|_| !word.starts_with('/')).unwrap_or_default();
    for part in folder.split('/').chain(word.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    if parts.is_empty() {
        return None;
    }
    let path = parts.join("/");
    Some(if word.starts_with('/') {
        format!("/{path}")
    } else {
        path
    })
}

/// The strength of a program's pass. If the session changed a file that the command line names, the pass counts as the agent's claim: the
/// agent wrote the test that passed.
pub(super) fn shown_by_program(
    line: &CommandLine,
    cwd: Option<&str>,
    context: &CheckContext<'_>,
) -> Result<Evidence, CheckJudgement> {
    match context.capabilities.changed_scripts(line, cwd) {
        Ok(changed) if changed.is_empty() => Ok(Evidence::Verified),
        Ok(_) => Ok(Evidence::Claimed),
        Err(unreadable) => {
            let line = one_line(&line.to_string());
            Err(CheckJudgement::Failed {
                why: format!(
                    "whether files that `{line}` names were changed cannot be told: {}",
                    unreadable.why
                ),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::{
        CheckSpec, CommandCriterion, FeatureListCriterion, Mode, PlanCriterion,
    };

    #[track_caller]
    fn names(line: CommandLine, cwd: Option<&str>, wanted: &[&str]) {
        let line_words = list_possible_files(&line, cwd);
        let missing: Vec<_> = wanted
            .iter()
            .filter(|word| !line_words.contains(&(**word).to_owned()))
            .collect();
        assert!(
            missing.is_empty(),
            "{line:?}: {missing:?} of {line_words:?}"
        );
    }

    #[test]
    fn command_line_files_are_found_in_any_notation() {
        let shell = |line: &str| CommandLine::Shell(line.into());
        for (line, wanted) in [
            ("cd ci && sh check.sh", vec!["ci/check.sh"]),
            ("(cd a; cd b; ./c.sh)", vec!["a/b/c.sh", "a/c.sh"]),
            ("make -C ci check.sh", vec!["ci/check.sh"]),
            ("sh ci/*.sh", vec!["ci/*.sh"]),
            ("sh check.sh", vec!["check.sh"]),
            ("./scripts/check.sh --fast", vec!["scripts/check.sh"]),
            ("make lint && sh ./a/../check.sh|tail", vec!["check.sh"]),
            (
                "pytest --config=ci/test.ini \"tests/test_a.py::test_x\"",
                vec!["ci/test.ini", "tests/test_a.py"],
            ),
            (
                "bash -c '. ./env; run' <input.txt >/dev/null",
                vec!["env", "input.txt", "/dev/null"],
            ),
            ("/repo/check.sh", vec!["/repo/check.sh"]),
            ("sh \"ci\"/check.sh", vec!["ci/check.sh"]),
            ("D=ci; sh $D/check.sh", vec!["ci/check.sh"]),
            ("export D='ci' && sh \"${D}/check.sh\"", vec!["ci/check.sh"]),
            ("MY_DIR=ci; sh $MY_DIR/check.sh", vec!["ci/check.sh"]),
            (
                "python3 -m ci.check",
                vec!["ci/check.py", "ci/check/__main__.py"],
            ),
            (
                "python3 -c 'import ci.check; ci.check.run()'",
                vec!["ci/check.py", "ci/check/__init__.py"],
            ),
        ] {
            names(shell(line), None, &wanted);
        }
        for line in [
            "a-b=ci; sh $a-b/check.sh",
            "=ci; sh $/check.sh",
            "D=; sh $D/ci/check.sh",
            "D=$E; sh $D/ci/check.sh",
        ] {
            let line_words = list_possible_files(&shell(line), None);
            assert!(
                !line_words.contains(&"ci/check.sh".to_owned()),
                "the shell reads no such path in {line}: {line_words:?}"
            );
        }
        names(
            shell("sh ../check.sh x"),
            Some("web/app"),
            &["web/check.sh", "web/app/x"],
        );
        let argv = |argv: &[&str]| CommandLine::Argv(argv.iter().map(|&arg| arg.into()).collect());
        names(
            argv(&["sh", "my checks/a b.sh"]),
            None,
            &["my checks/a b.sh"],
        );
        names(argv(&["sh", "-c", "./check.sh; true"]), None, &["check.sh"]);
        assert_eq!(
            list_possible_files(&shell("../out.sh . / ./"), None),
            Vec::<String>::new()
        );
        assert!(list_possible_files(&shell(&"word ".repeat(100_000)), None).len() < 2);
    }

    #[test]
    fn criteria_name_lists_and_programs_at_any_depth() {
        let single = |criterion: CheckKind| CheckSpec::Single {
            name: "n".into(),
            criterion,
        };
        let command = CommandCriterion {
            cwd: Some("web".into()),
            ..CommandCriterion::new(CommandLine::Shell("./t.sh".into()))
        };
        let group = CheckSpec::Group {
            mode: Mode::Any,
            checks: vec![
                single(CheckKind::Command(command)),
                single(CheckKind::Always),
            ],
        };
        let plan = PlanCriterion {
            path: Some("TODO.md".into()),
            ..PlanCriterion::default()
        };
        let checks = vec![
            group,
            single(CheckKind::Plan(plan)),
            single(CheckKind::FeatureList(FeatureListCriterion::default())),
        ];
        let criteria_names = CriteriaFileNames::from_settings(&ConfigSettings {
            checks,
            ..ConfigSettings::default()
        });
        assert_eq!(
            (criteria_names.lists, criteria_names.words),
            (
                vec!["TODO.md".into(), "feature_list.json".into()],
                vec!["web/t.sh".into()]
            )
        );
        let is_empty = |check: CheckKind| {
            CriteriaFileNames::from_settings(&ConfigSettings {
                checks: vec![single(check)],
                ..ConfigSettings::default()
            })
            .is_empty()
        };
        assert!(!is_empty(CheckKind::FeatureList(
            FeatureListCriterion::default()
        )));
        assert!(!is_empty(CheckKind::Command(CommandCriterion::new(
            CommandLine::Shell("./t.sh".into())
        ))));
        assert!(
            is_empty(CheckKind::Always)
                && CriteriaFileNames::from_settings(&ConfigSettings::default()).is_empty()
        );
    }
}
