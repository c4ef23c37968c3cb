//! Globs, regular expressions and paths as the configuration writes them: one meaning, checked when the file is read and used when
//! the checks run. And the regular expressions that stand in the source.

use std::ops::Deref;
use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobSet};
use regex::{Regex, RegexBuilder};

/// A pattern of paths relative to the root of the worktree: `*` stays inside one folder, `**` does not.
pub fn path_glob(pattern: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
}

/// Several of them as one, or which one is none and why.
pub fn path_globs(patterns: &[String]) -> Result<GlobSet, (String, globset::Error)> {
    let mut set = GlobSet::builder();
    for pattern in patterns {
        set.add(path_glob(pattern).map_err(|error| (pattern.clone(), error))?);
    }
    set.build().map_err(|error| (patterns.join(", "), error))
}

/// A pattern searched in a command's output: `^` and `$` match at the ends of each line. Bounded in size.
pub fn output_regex(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern)
        .multi_line(true)
        .size_limit(1 << 20)
        .build()
}

/// The reason why a path, relative to the root of the worktree, could leave it; `None` if its text cannot.
/// Does not resolve symbolic links.
pub fn escapes_worktree(path: &str) -> Option<&'static str> {
    if path.trim().is_empty() {
        Some("it is empty")
    } else if path.contains('\0') {
        Some("it contains a NUL character")
    } else if path.starts_with('/')
        || path.starts_with('\\')
        || path.as_bytes().get(1) == Some(&b':')
    {
        Some("it is not relative to the worktree")
    } else if path.split(['/', '\\']).any(|part| part == "..") {
        Some("it leads out of the worktree")
    } else {
        None
    }
}

/// A regular expression of the source, compiled when it is first used.
#[derive(Debug)]
pub struct FixedPattern {
    text: &'static str,
    regex: OnceLock<Regex>,
}

impl FixedPattern {
    /// The pattern of this text.
    pub const fn new(text: &'static str) -> Self {
        FixedPattern {
            text,
            regex: OnceLock::new(),
        }
    }
}

impl Deref for FixedPattern {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        self.regex.get_or_init(|| compile_fixed(self.text))
    }
}

/// Compiles a text that the source makes.
///
/// # Panics
/// On a text that is no regular expression; a test of its use finds that.
pub fn compile_fixed(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stays_in_its_folder() {
        let matches = |pattern: &str, path: &str| {
            path_glob(pattern).unwrap().compile_matcher().is_match(path)
        };
        assert!(matches("src/*.rs", "src/lib.rs"));
        assert!(!matches("src/*.rs", "src/git/open.rs"));
        assert!(matches("tests/**", "tests/it/main.rs"));
        assert!(path_glob("a[").is_err());
    }

    #[test]
    fn a_regex_matches_lines_and_is_bounded() {
        assert!(output_regex("^ok$").unwrap().is_match("building\nok\ndone"));
        assert!(output_regex("(").is_err());
        assert!(output_regex("(a{1000}){1000}").is_err());
    }

    #[test]
    fn a_path_out_of_the_worktree_is_refused() {
        for path in [
            "",
            " ",
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a\\..\\b",
            "C:\\x",
            "a\0b",
            "..",
        ] {
            assert!(escapes_worktree(path).is_some(), "{path}");
        }
        for path in ["a", "a/b", ".env", "a..b", "...", "src/**/*.rs"] {
            assert_eq!(escapes_worktree(path), None, "{path}");
        }
    }
}
