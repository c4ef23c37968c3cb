//! The type `files`: files must exist, must not be empty by default, and must contain a text if one is configured.

use std::io;

use regex::bytes::{Regex, RegexBuilder};

use crate::config::settings::FilesCriterion;
use watchdog_facts::patterns::escapes_worktree;
use watchdog_facts::verdict::Evidence;

use super::answers::MatchedFile;
use super::check::{CheckContext, CheckJudgement, CompletionCheck};
use super::feedback::{MAX_CHARS, cut_feedback, first_three, one_line};

/// A file is searched up to this size, in bytes.
const SEARCHED: u64 = 16 << 20;

/// So many bytes are searched for one glob.
const SEARCHED_IN_ALL: u64 = 256 << 20;

/// Met if each pattern has a suitable file.
#[derive(Debug, Clone)]
pub struct FilesCheck {
    criterion: FilesCriterion,
}

/// The result of one pattern.
enum PatternMatch {
    Good,
    Missing,
    Empty,
    Without,
    Unknown(String),
}

impl FilesCheck {
    /// A check of these files.
    pub fn new(criterion: FilesCriterion) -> Self {
        FilesCheck { criterion }
    }

    fn match_file(&self, path: &str, context: &CheckContext<'_>) -> PatternMatch {
        let mut matches = match context.capabilities.files(path) {
            Err(error) => {
                return PatternMatch::Unknown(format!(
                    "cannot look for `{}`: {error}",
                    one_line(path)
                ));
            }
            Ok(matches) if matches.is_empty() => return PatternMatch::Missing,
            Ok(matches) => matches,
        };
        if self.criterion.non_empty {
            matches.retain(|file| file.size > 0);
        }
        match &self.criterion.contains {
            _ if matches.is_empty() => PatternMatch::Empty,
            None => PatternMatch::Good,
            Some(text) => search_files(&matches, text, context),
        }
    }
}

/// Looks for a text in any of the files.
fn search_files(files: &[MatchedFile], text: &str, context: &CheckContext<'_>) -> PatternMatch {
    let Ok(wanted) = build_text_pattern(text) else {
        return PatternMatch::Unknown("the text is too long to be searched for".into());
    };
    let mut unknown = None;
    let mut room = SEARCHED_IN_ALL;
    for file in files {
        let name = one_line(&file.path);
        if file.size > room {
            unknown.get_or_insert(format!(
                "there is too much to search for the text, from `{name}` on"
            ));
            break;
        }
        room -= file.size;
        match context.capabilities.read_file(&file.path, SEARCHED) {
            Ok(Some(bytes)) if wanted.is_match(&bytes) => return PatternMatch::Good,
            // It went away meanwhile, or holds something else.
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                unknown.get_or_insert(format!(
                    "`{name}` is larger than {SEARCHED} bytes and was not searched"
                ));
            }
            Err(error) => {
                unknown.get_or_insert(format!("`{name}` cannot be read: {error}"));
            }
        }
    }
    unknown.map_or(PatternMatch::Without, PatternMatch::Unknown)
}

/// The text as a pattern, which matches line ends of either kind.
fn build_text_pattern(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&regex::escape(text).replace('\n', r"\r?\n"))
        .size_limit(16 << 20)
        .build()
}

impl CompletionCheck for FilesCheck {
    fn check(&self, context: &CheckContext<'_>) -> CheckJudgement {
        let paths = &self.criterion.paths;
        if paths.is_empty() {
            return CheckJudgement::Unmet {
                feedback: "no files are named, and an empty list is never complete".into(),
            };
        }
        for path in paths {
            if let Some(why) = escapes_worktree(path) {
                return CheckJudgement::Unrunnable {
                    why: format!("`{}` is not looked for: {why}", one_line(path)),
                };
            }
        }
        let (mut missing, mut empty, mut without, mut unknown) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for path in paths {
            match self.match_file(path, context) {
                PatternMatch::Good => {}
                PatternMatch::Missing => missing.push(path.as_str()),
                PatternMatch::Empty => empty.push(path.as_str()),
                PatternMatch::Without => without.push(path.as_str()),
                PatternMatch::Unknown(why) => unknown.push(why),
            }
        }
        let mut parts = Vec::new();
        if !missing.is_empty() {
            parts.push(format!("missing files: {}", first_three(&missing)));
        }
        if !empty.is_empty() {
            parts.push(format!("empty files: {}", first_three(&empty)));
        }
        if let (false, Some(text)) = (without.is_empty(), &self.criterion.contains) {
            parts.push(format!(
                "files without \"{}\": {}",
                cut_feedback(one_line(text), 200),
                first_three(&without)
            ));
        }
        let unmet = !parts.is_empty();
        parts.extend(unknown.iter().take(3).cloned());
        let words = cut_feedback(parts.join("; "), MAX_CHARS);
        match (unmet, unknown.is_empty()) {
            // A missing file decides, even if others are unreadable.
            (true, _) => CheckJudgement::Unmet { feedback: words },
            (false, false) => CheckJudgement::Failed { why: words },
            (false, true) => {
                let names: Vec<&str> = paths.iter().map(String::as_str).collect();
                let summary = cut_feedback(format!("found {}", first_three(&names)), MAX_CHARS);
                CheckJudgement::PassWith {
                    evidence: Evidence::Verified,
                    summary,
                }
            }
        }
    }

    fn description(&self) -> String {
        let paths: Vec<&str> = self.criterion.paths.iter().map(String::as_str).collect();
        let shown = if paths.len() <= 10 {
            paths
                .iter()
                .map(|path| one_line(path))
                .collect::<Vec<_>>()
                .join(", ")
        } else {
            first_three(&paths)
        };
        let text = self
            .criterion
            .contains
            .as_ref()
            .map(|text| format!(" and hold \"{}\"", cut_feedback(one_line(text), 200)));
        let how = match (&text, self.criterion.non_empty) {
            (Some(text), _) => text.as_str(),
            (None, true) => " and are not empty",
            (None, false) => "",
        };
        format!("these files exist{how}: {shown}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Fake;
    use super::*;
    use watchdog_facts::evidence::CheckOutcome;

    #[track_caller]
    fn check(paths: &[&str], there: &[(&'static str, u64)], outcome: CheckOutcome, words: &[&str]) {
        let fake = Fake {
            files: there.to_vec(),
            unreadable: vec!["locked/*"],
            ..Fake::default()
        };
        let judgement = FilesCheck::new(FilesCriterion::new(
            paths.iter().map(|path| (*path).to_owned()).collect(),
        ))
        .check(&CheckContext::new(&fake));
        assert_eq!(judgement.outcome(), outcome, "{judgement:?}");
        for word in words {
            assert!(judgement.feedback().contains(word), "{judgement:?}");
        }
    }

    #[test]
    fn every_file_must_be_there_and_hold_something() {
        use CheckOutcome::{Pass, Unmet};
        check(&["output.txt"], &[("output.txt", 1)], Pass, &[]);
        check(&["output.txt"], &[], Unmet, &["missing files: output.txt"]);
        check(
            &["output.txt"],
            &[("output.txt", 0)],
            Unmet,
            &["empty files: output.txt"],
        );
        check(&["a", "b"], &[("a", 1)], Unmet, &["missing files: b"]);
        check(
            &["a", "b"],
            &[("a", 0)],
            Unmet,
            &["missing files: b; empty files: a"],
        );
        check(
            &["f0", "f1", "f2", "f3", "f4", "f5"],
            &[],
            Unmet,
            &["f0, f1, f2, ... (3 more)"],
        );
    }

    #[test]
    fn a_glob_needs_one_match_that_holds_something() {
        use CheckOutcome::{Pass, Unmet};
        check(
            &["src/**/*.py"],
            &[("src/__init__.py", 0), ("src/a/b.py", 9)],
            Pass,
            &[],
        );
        check(
            &["src/**/*.py"],
            &[("src/__init__.py", 0)],
            Unmet,
            &["empty files: src/**/*.py"],
        );
        check(
            &["src/*.py"],
            &[("src/a/b.py", 9)],
            Unmet,
            &["missing files: src/*.py"],
        );
    }

    #[test]
    fn what_cannot_be_looked_at_is_unknown() {
        check(
            &["locked/*"],
            &[],
            CheckOutcome::Failed,
            &["cannot look for `locked/*`: permission denied"],
        );
        check(
            &["locked/*", "a"],
            &[],
            CheckOutcome::Unmet,
            &["missing files: a; cannot look for"],
        );
    }

    #[test]
    fn empty_list_and_outside_path_never_pass() {
        check(&[], &[("a", 1)], CheckOutcome::Unmet, &["never complete"]);
        check(
            &["a", "../b"],
            &[("a", 1), ("../b", 1)],
            CheckOutcome::Unrunnable,
            &["`../b` is not looked for"],
        );
        check(
            &["/etc/passwd"],
            &[("/etc/passwd", 1)],
            CheckOutcome::Unrunnable,
            &["not relative"],
        );
    }

    #[test]
    fn the_description_names_the_files() {
        let mut criterion = FilesCriterion::new(vec!["custom.json".into()]);
        assert_eq!(
            FilesCheck::new(criterion.clone()).description(),
            "these files exist and are not empty: custom.json"
        );
        criterion.contains = Some("ok".into());
        assert_eq!(
            FilesCheck::new(criterion).description(),
            "these files exist and hold \"ok\": custom.json"
        );
    }

    #[track_caller]
    fn holding(text: &str, contents: &[(&'static str, &str)], outcome: CheckOutcome, words: &str) {
        let fake = Fake {
            files: contents
                .iter()
                .map(|(path, text)| (*path, text.len() as u64))
                .collect(),
            contents: contents
                .iter()
                .map(|(path, text)| (*path, (*text).to_owned()))
                .collect(),
            unreadable: vec!["locked"],
            ..Fake::default()
        };
        let criterion = FilesCriterion {
            contains: Some(text.into()),
            ..FilesCriterion::new(vec!["*".into()])
        };
        let judgement = FilesCheck::new(criterion).check(&CheckContext::new(&fake));
        assert_eq!(judgement.outcome(), outcome, "{judgement:?}");
        assert!(judgement.feedback().contains(words), "{judgement:?}");
    }

    #[test]
    fn text_in_a_single_glob_match_suffices() {
        use CheckOutcome::{Failed, Pass, Unmet};
        holding(
            "all (2) pass",
            &[("a", "x"), ("b", "all (2) pass.")],
            Pass,
            "",
        );
        holding("two\nlines", &[("a", "two\r\nlines")], Pass, "");
        holding(
            "ok",
            &[("a", "OK"), ("b", "")],
            Unmet,
            "files without \"ok\": *",
        );
        holding("ok", &[("a", "")], Unmet, "empty files: *");
        holding(
            "ok",
            &[("locked", "ok"), ("z", "no")],
            Failed,
            "`locked` cannot be read: permission denied",
        );
        holding("ok", &[("locked", "ok"), ("z", "ok")], Pass, "");
        let large = "x".repeat(17 << 20);
        holding(
            "ok",
            &[("large", &large)],
            Failed,
            "`large` is larger than 16777216 bytes and was not searched",
        );
    }

    #[test]
    fn file_search_has_single_and_total_size_limits() {
        let judge = |files: &[(&'static str, u64)]| {
            let contents = vec![("z", "ok".to_owned())];
            let fake = Fake {
                files: files.to_vec(),
                contents,
                ..Fake::default()
            };
            let criterion = FilesCriterion {
                contains: Some("ok".into()),
                ..FilesCriterion::new(vec!["*".into()])
            };
            FilesCheck::new(criterion).check(&CheckContext::new(&fake))
        };
        const ALL: u64 = 256 << 20;
        let too_much =
            |name: &str| format!("there is too much to search for the text, from `{name}` on");
        assert_eq!(judge(&[("z", ALL)]).outcome(), CheckOutcome::Pass);
        assert_eq!(judge(&[("z", ALL + 1)]).feedback(), too_much("z"));
        assert_eq!(
            judge(&[("a", 2), ("z", ALL - 2)]).outcome(),
            CheckOutcome::Pass
        );
        assert_eq!(judge(&[("a", 3), ("z", ALL - 2)]).feedback(), too_much("z"));
        assert_eq!(
            judge(&[("a", 3), ("b", ALL - 2), ("z", 1)]).feedback(),
            too_much("b")
        );
    }

    #[test]
    fn long_multiline_text_is_found() {
        let text = "all of it passed\n".repeat(400);
        holding(
            &text,
            &[("a", &text.replace('\n', "\r\n"))],
            CheckOutcome::Pass,
            "",
        );
    }

    #[test]
    fn empty_file_counts_on_request() {
        let fake = Fake {
            files: vec![("a", 0)],
            ..Fake::default()
        };
        let criterion = FilesCriterion {
            non_empty: false,
            ..FilesCriterion::new(vec!["a".into()])
        };
        assert_eq!(
            FilesCheck::new(criterion.clone())
                .check(&CheckContext::new(&fake))
                .outcome(),
            CheckOutcome::Pass
        );
        assert_eq!(
            FilesCheck::new(criterion).description(),
            "these files exist: a"
        );
    }
}
