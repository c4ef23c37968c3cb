//! The problems of a configuration file: each with its position, bounded in number, and safe to show.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::path::{Path, PathBuf};

use super::preset_name::PresetName;

/// How many problems are listed; the rest is only counted.
const LISTED: usize = 20;

/// How many characters of a text from the file are shown.
const SHOWN: usize = 60;

/// A thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Line in the file, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Full path of the key, such as `checks[0].run`; empty where the problem is the file itself.
    pub key: String,
    /// The expectation and the finding, without a final period.
    pub message: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.line, self.column)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

/// A configuration file that cannot be used, with everything that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The file, as it was named.
    pub origin: PathBuf,
    /// The problems, in the order of the file.
    pub problems: Vec<ConfigProblem>,
    /// How many problems there are beyond those listed.
    pub more: usize,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.problems.iter().enumerate() {
            let separator = if n == 0 { "" } else { "\n" };
            write!(f, "{separator}{}:{problem}", self.origin.display())?;
        }
        match self.more {
            0 => Ok(()),
            1 => write!(f, "\nand 1 more problem"),
            n => write!(f, "\nand {n} more problems"),
        }
    }
}

/// A preset that a file names and that is not built in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPreset {
    /// Line in the file, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Full path of the key, such as `agent.preset`.
    pub key: String,
    /// The name.
    pub name: PresetName,
}

impl NamedPreset {
    /// A problem with what it names.
    pub(super) fn problem(&self, message: String) -> ConfigProblem {
        ConfigProblem {
            line: self.line,
            column: self.column,
            key: self.key.clone(),
            message,
        }
    }
}

/// Finds the block that has a key, if exactly one does. The caller that knows the blocks passes it in.
type KeyBlockLookup = fn(&str) -> Option<&'static str>;

/// Collects problems and notes while a file is read.
pub(super) struct ProblemReport<'t> {
    text: &'t str,
    registered: &'t [&'t str],
    home_of: KeyBlockLookup,
    problems: RefCell<Vec<ConfigProblem>>,
    more: Cell<usize>,
    notes: RefCell<Vec<String>>,
    presets: RefCell<Vec<NamedPreset>>,
}

impl<'t> ProblemReport<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        ProblemReport {
            text,
            registered: &[],
            home_of: |_| None,
            problems: RefCell::default(),
            more: Cell::new(0),
            notes: RefCell::default(),
            presets: RefCell::default(),
        }
    }

    /// A report of a file with blocks of keys, which may name these types of check as well.
    pub(super) fn knowing(
        text: &'t str,
        registered: &'t [&'t str],
        home_of: KeyBlockLookup,
    ) -> Self {
        ProblemReport {
            registered,
            home_of,
            ..ProblemReport::new(text)
        }
    }

    /// The block that has a key, if exactly one does; the empty text is the top of the file.
    pub(super) fn home_of(&self, key: &str) -> Option<&'static str> {
        (self.home_of)(key)
    }

    /// Types of check that another program registered.
    pub(super) fn registered_types(&self) -> &'t [&'t str] {
        self.registered
    }

    /// Records a problem at a byte offset. The message is a closure because finding the nearest key costs time that a hostile file
    /// with a hundred thousand unknown keys should not be able to spend.
    pub(super) fn problem(&self, at: usize, key: &str, message: impl FnOnce() -> String) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() >= LISTED {
            self.more.set(self.more.get() + 1);
            return;
        }
        let (line, column) = self.position(at);
        problems.push(ConfigProblem {
            line,
            column,
            key: key.to_owned(),
            message: message(),
        });
    }

    /// Records something that is no error and that the user should know.
    pub(super) fn note(&self, note: String) {
        let mut notes = self.notes.borrow_mut();
        if notes.len() < LISTED {
            notes.push(note);
        }
    }

    /// Records a preset that is not built in, so that whoever knows the others can look it up.
    pub(super) fn preset(&self, at: usize, key: &str, name: &PresetName) {
        let mut presets = self.presets.borrow_mut();
        if !name.is_built_in() && presets.len() < LISTED {
            let (line, column) = self.position(at);
            presets.push(NamedPreset {
                line,
                column,
                key: key.to_owned(),
                name: name.clone(),
            });
        }
    }

    /// The presets that the file names and that are not built in, in the order in which they were read.
    pub(super) fn take_presets(&self) -> Vec<NamedPreset> {
        self.presets.take()
    }

    /// Line and column, both from 1, of a byte offset.
    pub(super) fn position(&self, at: usize) -> (usize, usize) {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        let start = before
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |n| n + 1);
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        (
            line,
            String::from_utf8_lossy(&before[start..]).chars().count() + 1,
        )
    }

    /// The notes, or the error where there was any problem.
    pub(super) fn finish(self, origin: &Path) -> Result<Vec<String>, ConfigError> {
        let mut problems = self.problems.into_inner();
        if problems.is_empty() {
            return Ok(self.notes.into_inner());
        }
        problems.sort_by_key(|p| (p.line, p.column));
        Err(ConfigError {
            origin: origin.to_owned(),
            problems,
            more: self.more.get(),
        })
    }
}

/// A text from the file, quoted, shortened, and with nothing in it that a terminal would act on.
pub(super) fn quote_text(text: &str) -> String {
    let cut: String = text
        .chars()
        .take(SHOWN)
        .flat_map(char::escape_debug)
        .collect();
    let dots = if text.chars().nth(SHOWN).is_some() {
        "..."
    } else {
        ""
    };
    format!("\"{cut}{dots}\"")
}

/// A key from the file as part of a path: as it is where it is a plain word, else quoted.
pub(super) fn shown_key(key: &str) -> String {
    let plain = !key.is_empty()
        && key.len() <= SHOWN
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if plain {
        key.to_owned()
    } else {
        quote_text(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_counts_characters_and_not_bytes() {
        let report = ProblemReport::new("{\n  \"é\": 1}");
        assert_eq!(report.position(0), (1, 1));
        assert_eq!(report.position(2), (2, 1));
        assert_eq!(report.position(8), (2, 6));
        assert_eq!(report.position(1000), (2, 10));
    }

    #[test]
    fn more_problems_than_are_listed_are_counted() {
        let report = ProblemReport::new("x");
        for n in 0..LISTED + 3 {
            report.problem(0, &format!("k{n}"), || "bad".into());
        }
        let error = report.finish(Path::new("c.json")).unwrap_err();
        assert_eq!((error.problems.len(), error.more), (LISTED, 3));
        assert!(
            error.to_string().starts_with("c.json:1:1: k0: bad\n"),
            "{error}"
        );
        assert!(
            error.to_string().ends_with("\nand 3 more problems"),
            "{error}"
        );
    }

    #[test]
    fn kept_notes_and_presets_have_a_limit() {
        let report = ProblemReport::new("x");
        let name = PresetName::parse("my-agent").unwrap();
        for n in 0..LISTED + 3 {
            report.note(format!("note {n}"));
            report.preset(0, &format!("agents[{n}]"), &name);
        }
        assert_eq!(report.take_presets().len(), LISTED);
        assert_eq!(report.finish(Path::new("c.json")).unwrap().len(), LISTED);
    }

    #[test]
    fn text_from_the_file_cannot_steer_a_terminal() {
        assert_eq!(
            quote_text("a\u{1b}[2J\u{202e}b"),
            "\"a\\u{1b}[2J\\u{202e}b\""
        );
        assert_eq!(shown_key("max_probes"), "max_probes");
        assert_eq!(shown_key("a\nb"), "\"a\\nb\"");
        assert!(quote_text(&"x".repeat(5000)).len() < 80);
    }
}
