//! The type `files`: files must be there, and not empty.

use crate::config::escapes_worktree;
use crate::decision::verdict::Evidence;

use super::check::{CheckContext, CompletionCheck, Judgement};
use super::feedback::{MAX_CHARS, bounded, first_three, one_line};

/// Met when each pattern has a file that is not empty.
#[derive(Debug, Clone)]
pub struct FilesCheck {
    paths: Vec<String>,
}

impl FilesCheck {
    /// A check of these globs, relative to the root of the worktree.
    pub fn new(paths: Vec<String>) -> Self {
        FilesCheck { paths }
    }
}

impl CompletionCheck for FilesCheck {
    fn check(&self, context: &CheckContext<'_>) -> Judgement {
        if self.paths.is_empty() {
            return Judgement::Unmet { feedback: "no files are named, and an empty list is never complete".into() };
        }
        for path in &self.paths {
            if let Some(why) = escapes_worktree(path) {
                return Judgement::Unrunnable { why: format!("`{}` is not looked for: {why}", one_line(path)) };
            }
        }
        let (mut missing, mut empty, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for path in &self.paths {
            match context.capabilities.files(path) {
                Err(error) => unknown.push(format!("cannot look for `{}`: {error}", one_line(path))),
                Ok(found) if found.is_empty() => missing.push(path.as_str()),
                Ok(found) if found.iter().all(|file| file.size == 0) => empty.push(path.as_str()),
                Ok(_) => {}
            }
        }
        let mut parts = Vec::new();
        if !missing.is_empty() {
            parts.push(format!("missing files: {}", first_three(&missing)));
        }
        if !empty.is_empty() {
            parts.push(format!("empty files: {}", first_three(&empty)));
        }
        let unmet = !parts.is_empty();
        parts.extend(unknown.iter().take(3).cloned());
        let words = bounded(parts.join("; "), MAX_CHARS);
        match (unmet, unknown.is_empty()) {
            // A file that is known to be missing decides, whatever could not be looked at beside it.
            (true, _) => Judgement::Unmet { feedback: words },
            (false, false) => Judgement::Failed { why: words },
            (false, true) => Judgement::Pass { evidence: Evidence::Verified },
        }
    }

    fn description(&self) -> String {
        let paths: Vec<&str> = self.paths.iter().map(String::as_str).collect();
        let shown =
            if paths.len() <= 10 { paths.iter().map(|path| one_line(path)).collect::<Vec<_>>().join(", ") } else { first_three(&paths) };
        format!("these files exist and are not empty: {shown}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Fake;
    use super::*;
    use crate::decision::evidence::CheckOutcome;

    #[track_caller]
    fn check(paths: &[&str], there: &[(&'static str, u64)], outcome: CheckOutcome, words: &[&str]) {
        let fake = Fake { files: there.to_vec(), unreadable: vec!["locked/*"], ..Fake::default() };
        let judgement = FilesCheck::new(paths.iter().map(|path| (*path).to_owned()).collect()).check(&CheckContext::new(&fake));
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
        check(&["output.txt"], &[("output.txt", 0)], Unmet, &["empty files: output.txt"]);
        check(&["a", "b"], &[("a", 1)], Unmet, &["missing files: b"]);
        check(&["a", "b"], &[("a", 0)], Unmet, &["missing files: b; empty files: a"]);
        check(&["f0", "f1", "f2", "f3", "f4", "f5"], &[], Unmet, &["f0, f1, f2, ... (3 more)"]);
    }

    #[test]
    fn a_glob_needs_one_match_that_holds_something() {
        use CheckOutcome::{Pass, Unmet};
        check(&["src/**/*.py"], &[("src/__init__.py", 0), ("src/a/b.py", 9)], Pass, &[]);
        check(&["src/**/*.py"], &[("src/__init__.py", 0)], Unmet, &["empty files: src/**/*.py"]);
        check(&["src/*.py"], &[("src/a/b.py", 9)], Unmet, &["missing files: src/*.py"]);
    }

    #[test]
    fn what_cannot_be_looked_at_is_unknown() {
        check(&["locked/*"], &[], CheckOutcome::Failed, &["cannot look for `locked/*`: permission denied"]);
        check(&["locked/*", "a"], &[], CheckOutcome::Unmet, &["missing files: a; cannot look for"]);
    }

    #[test]
    fn an_empty_list_and_a_path_outside_never_pass() {
        check(&[], &[("a", 1)], CheckOutcome::Unmet, &["never complete"]);
        check(&["a", "../b"], &[("a", 1), ("../b", 1)], CheckOutcome::Unrunnable, &["`../b` is not looked for"]);
        check(&["/etc/passwd"], &[("/etc/passwd", 1)], CheckOutcome::Unrunnable, &["not relative"]);
    }

    #[test]
    fn the_description_names_the_files() {
        assert!(FilesCheck::new(vec!["custom.json".into()]).description().contains("custom.json"));
    }
}
