//! Typed access to a value of the file. Reports each wrong value with its key and position, and continues, so that one
//! run names every problem. Missing and wrong values are `None`; wrong ones are reported.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::nearest::format_nearest_hint;
use super::problem::{ProblemReport, quote_text, shown_key};
use super::settings::{CommandLine, PresetName};
use super::syntax::{KeyValue, SpannedValue, ValueKind};
use watchdog_facts::patterns::{escapes_worktree, path_glob};

/// Ten years. Longer waits are mistakes, and cannot be added to an instant everywhere.
pub(super) const MAX_SECONDS: u64 = 315_360_000;

/// The longest list that is read.
pub(super) const MAX_ENTRIES: usize = 1000;

/// A value, where it is, and where problems go.
pub(super) struct ConfigNode<'a> {
    pub(super) report: &'a ProblemReport<'a>,
    pub(super) json: &'a SpannedValue<'a>,
    pub(super) path: String,
}

/// An object whose keys are known.
pub(super) struct ConfigSection<'a> {
    report: &'a ProblemReport<'a>,
    members: &'a [KeyValue<'a>],
    at: usize,
    path: String,
}

impl<'a> ConfigNode<'a> {
    /// Reports a mistake in this value.
    pub(super) fn wrong(&self, message: impl Into<String>) {
        let message = message.into();
        self.report.problem(self.json.at, &self.path, || message);
    }

    /// Reports that something else was expected here.
    pub(super) fn report_expected(&self, what: &str) {
        self.report.problem(self.json.at, &self.path, || {
            format!("expected {what}, found {}", self.json.describe_kind())
        });
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self.json.kind, ValueKind::Null)
    }

    pub(super) fn is_empty_list(&self) -> bool {
        matches!(&self.json.kind, ValueKind::List(items) if items.is_empty())
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self.json.kind, ValueKind::List(_))
    }

    /// The members, unchecked, where it is an object.
    pub(super) fn members(&self) -> Option<&'a [KeyValue<'a>]> {
        match &self.json.kind {
            ValueKind::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Whether it is an object with this key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.members()
            .is_some_and(|members| members.iter().any(|m| m.name == key))
    }

    /// A member's value, unchecked.
    pub(super) fn peek(&self, key: &str) -> Option<ConfigNode<'a>> {
        let member = self.members()?.iter().find(|m| m.name == key)?;
        Some(ConfigNode {
            report: self.report,
            json: &member.value,
            path: join_key(&self.path, key),
        })
    }

    /// The object, with unknown and repeated keys reported. `keys` are its own.
    pub(super) fn section(&self, keys: &[&str]) -> Option<ConfigSection<'a>> {
        let section = self.open_section()?;
        for member in section
            .members
            .iter()
            .filter(|m| !keys.contains(&m.name.as_ref()))
        {
            self.report.problem(
                member.at,
                &join_key(&self.path, &shown_key(&member.name)),
                || {
                    let other_home = self
                        .report
                        .home_of(&member.name)
                        .filter(|home| *home != self.path);
                    match other_home {
                        Some("") => "unknown key here, it belongs at the top of the file".into(),
                        Some(home) => format!("unknown key here, it belongs in `{home}`"),
                        None if self.path.is_empty() && member.name == "fleet" => {
                            "unknown key, since `fleet.push_snapshots` was removed: snapshots stay on \
                             their machine; delete it, and let `rescue` commit what another machine needs"
                                .into()
                        }
                        None => format!("unknown key{}", format_nearest_hint(&member.name, keys.iter().copied())),
                    }
                },
            );
        }
        Some(section)
    }

    /// The object with any keys; repeated ones are reported.
    pub(super) fn open_section(&self) -> Option<ConfigSection<'a>> {
        let Some(members) = self.members() else {
            self.report_expected("an object");
            return None;
        };
        let mut seen = HashSet::new();
        for member in members.iter().filter(|m| !seen.insert(m.name.as_ref())) {
            self.report.problem(
                member.at,
                &join_key(&self.path, &shown_key(&member.name)),
                || {
                    let first = members
                        .iter()
                        .find(|m| m.name == member.name)
                        .map_or(0, |m| self.report.position(m.at).0);
                    format!("the key is given twice, first on line {first}; keep one")
                },
            );
        }
        Some(ConfigSection {
            report: self.report,
            members,
            at: self.json.at,
            path: self.path.clone(),
        })
    }

    pub(super) fn flag(&self) -> Option<bool> {
        match self.json.kind {
            ValueKind::Flag(flag) => Some(flag),
            _ => {
                self.report_expected("true or false");
                None
            }
        }
    }

    pub(super) fn whole(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let read = match self.json.kind {
            ValueKind::Number(number) => number.parse::<u64>().ok().filter(|n| range.contains(n)),
            _ => None,
        };
        if read.is_none() {
            self.report_expected(&match *range.end() {
                u64::MAX => format!("a whole number of at least {}", range.start()),
                end => format!("a whole number from {} to {end}", range.start()),
            });
        }
        read
    }

    /// A number above zero, fractions allowed.
    pub(super) fn positive(&self) -> Option<f64> {
        let read = match self.json.kind {
            ValueKind::Number(number) => number
                .parse::<f64>()
                .ok()
                .filter(|n| n.is_finite() && *n > 0.0),
            _ => None,
        };
        if read.is_none() {
            self.report_expected("a number above 0");
        }
        read
    }

    /// Whole seconds, `least` or more.
    pub(super) fn seconds(&self, least: u64) -> Option<Duration> {
        let read = match self.json.kind {
            ValueKind::Number(number) => number
                .parse::<u64>()
                .ok()
                .filter(|n| (least..=MAX_SECONDS).contains(n)),
            _ => None,
        };
        if read.is_none() {
            self.report_expected(&format!(
                "whole seconds from {least} to {MAX_SECONDS}, as a number"
            ));
        }
        read.map(Duration::from_secs)
    }

    /// A text that says something, without NUL.
    pub(super) fn text(&self) -> Option<String> {
        match &self.json.kind {
            ValueKind::Text(text) if text.trim().is_empty() => {
                self.wrong("must not be empty");
                None
            }
            ValueKind::Text(text) if text.contains('\0') => {
                self.wrong("must not contain a NUL character");
                None
            }
            ValueKind::Text(text) => Some(text.clone().into_owned()),
            _ => {
                self.report_expected("a text");
                None
            }
        }
    }

    /// The meaning of one of some words; `None` for any other word, which is not reported.
    pub(super) fn known_word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let ValueKind::Text(text) = &self.json.kind else {
            return None;
        };
        words
            .iter()
            .find(|(word, _)| word == text)
            .map(|(_, meaning)| *meaning)
    }

    /// A word of a fixed list.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let ValueKind::Text(text) = &self.json.kind else {
            self.report_expected(&format!(
                "one of {}",
                list_words(words.iter().map(|(word, _)| *word))
            ));
            return None;
        };
        let value = self.known_word(words);
        if value.is_none() {
            self.report.problem(self.json.at, &self.path, || {
                let words = || words.iter().map(|(word, _)| *word);
                unknown_word(text, words())
            });
        }
        value
    }

    /// The name of a preset. A name that may be the user's own is noted with its position, to be
    /// looked up.
    pub(super) fn preset(&self) -> Option<PresetName> {
        let ValueKind::Text(text) = &self.json.kind else {
            self.report_expected("the name of an agent");
            return None;
        };
        let Some(name) = PresetName::parse(text) else {
            self.wrong(unknown_preset(
                text,
                PresetName::BUILT_IN.iter().map(PresetName::as_str),
            ));
            return None;
        };
        self.report.preset(self.json.at, &self.path, &name);
        Some(name)
    }

    /// Each entry of a list, those that are wrong left out.
    pub(super) fn list<T>(&self, read: impl Fn(&ConfigNode<'a>) -> Option<T>) -> Option<Vec<T>> {
        let ValueKind::List(items) = &self.json.kind else {
            self.report_expected("a list");
            return None;
        };
        if items.len() > MAX_ENTRIES {
            self.wrong(format!(
                "has {} entries; at most {MAX_ENTRIES} are read",
                items.len()
            ));
            return None;
        }
        Some(
            items
                .iter()
                .enumerate()
                .filter_map(|(n, item)| read(&self.item(n, item)))
                .collect(),
        )
    }

    fn item(&self, n: usize, json: &'a SpannedValue<'a>) -> ConfigNode<'a> {
        ConfigNode {
            report: self.report,
            json,
            path: format!("{}[{n}]", self.path),
        }
    }

    /// A program and its arguments.
    pub(super) fn argv(&self) -> Option<Vec<String>> {
        let ValueKind::List(items) = &self.json.kind else {
            self.report_expected("a list of texts, the program and its arguments");
            return None;
        };
        if items.is_empty() {
            self.wrong("must name a program; the list is empty");
            return None;
        }
        let mut argv = Vec::with_capacity(items.len());
        for (n, item) in items.iter().enumerate() {
            let node = self.item(n, item);
            // Empty arguments are fine, an empty program is not.
            argv.push(if n == 0 {
                node.text()?
            } else {
                node.argument()?
            });
        }
        Some(argv)
    }

    fn argument(&self) -> Option<String> {
        match &self.json.kind {
            ValueKind::Text(text) if !text.contains('\0') => Some(text.clone().into_owned()),
            ValueKind::Text(_) => {
                self.wrong("must not contain a NUL character");
                None
            }
            _ => {
                self.report_expected("a text");
                None
            }
        }
    }

    /// A shell line or an argv.
    pub(super) fn command_line(&self) -> Option<CommandLine> {
        match &self.json.kind {
            ValueKind::Text(_) => self.text().map(CommandLine::Shell),
            ValueKind::List(_) => self.argv().map(CommandLine::Argv),
            _ => {
                self.report_expected(
                    "a command: a text for the shell, or a list of the program and its arguments",
                );
                None
            }
        }
    }

    /// A pattern of names or paths.
    pub(super) fn glob(&self) -> Option<String> {
        let text = self.text()?;
        match path_glob(&text) {
            Ok(_) => Some(text),
            Err(error) => {
                self.wrong(format!("not a valid glob: {}", error.kind()));
                None
            }
        }
    }

    /// A pattern of paths inside the worktree.
    pub(super) fn inside_glob(&self) -> Option<String> {
        let text = self.glob()?;
        match escapes_worktree(&text) {
            None => Some(text),
            Some(why) => {
                self.wrong(format!("must be a path inside the worktree: {why}"));
                None
            }
        }
    }

    /// A path inside the worktree, or an absolute one.
    pub(super) fn file_path(&self) -> Option<String> {
        let text = self.text()?;
        let relative = text.strip_prefix('/').unwrap_or(&text);
        match escapes_worktree(relative) {
            None => Some(text),
            Some(why) => {
                self.wrong(format!(
                    "must be a path inside the worktree, or an absolute one without `..`: {why}"
                ));
                None
            }
        }
    }

    /// A path inside the worktree.
    pub(super) fn inside_path(&self) -> Option<String> {
        let text = self.text()?;
        match escapes_worktree(&text) {
            None => Some(text),
            Some(why) => {
                self.wrong(format!("must be a path inside the worktree: {why}"));
                None
            }
        }
    }
}

impl<'a> ConfigSection<'a> {
    pub(super) fn has(&self, key: &str) -> bool {
        self.members.iter().any(|m| m.name == key)
    }

    pub(super) fn get(&self, key: &str) -> Option<ConfigNode<'a>> {
        let member = self.members.iter().find(|m| m.name == key)?;
        Some(ConfigNode {
            report: self.report,
            json: &member.value,
            path: join_key(&self.path, key),
        })
    }

    /// The key's value, reported as missing where it is not given. `why` says who needs it.
    pub(super) fn get_required(&self, key: &str, why: &str) -> Option<ConfigNode<'a>> {
        let node = self.get(key);
        if node.is_none() {
            self.missing(key, why);
        }
        node
    }

    /// Reports a key that is not given.
    pub(super) fn missing(&self, key: &str, why: &str) {
        self.report
            .problem(self.at, &join_key(&self.path, key), || {
                format!("missing; {why}")
            });
    }

    /// Reads the key where it is given and not null; `Some(None)` is an explicit null.
    pub(super) fn nullable<T>(
        &self,
        key: &str,
        read: impl FnOnce(&ConfigNode<'a>) -> Option<T>,
    ) -> Option<Option<T>> {
        let node = self.get(key)?;
        if node.is_null() {
            Some(None)
        } else {
            read(&node).map(Some)
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Reports a mistake in the section as a whole.
    pub(super) fn wrong(&self, message: impl Into<String>) {
        let message = message.into();
        self.report.problem(self.at, &self.path, || message);
    }

    pub(super) fn note(&self, key: &str, note: &str) {
        let path = join_key(&self.path, key);
        self.report.note(if path.is_empty() {
            note.to_owned()
        } else {
            format!("{path}: {note}")
        });
    }
}

/// Overwrites a default where something was read.
pub(super) fn overwrite_if_read<T>(slot: &mut T, read: Option<T>) {
    if let Some(value) = read {
        *slot = value;
    }
}

/// Why the name of a preset is refused that is none of these.
pub fn unknown_preset<'k>(text: &str, presets: impl Iterator<Item = &'k str> + Clone) -> String {
    format!(
        "{}, or the path of a preset file that ends in `.json`",
        unknown_word(text, presets)
    )
}

fn unknown_word<'k>(text: &str, words: impl Iterator<Item = &'k str> + Clone) -> String {
    let (near, word_list) = (format_nearest_hint(text, words.clone()), list_words(words));
    let it = if near.ends_with('?') { " It" } else { "; it" };
    format!(
        "unknown word {}{near}{it} must be one of {word_list}",
        quote_text(text)
    )
}

/// Words as a list in a sentence.
pub(super) fn list_words<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words
        .map(|word| format!("`{word}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn join_key(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
