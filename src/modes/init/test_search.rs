//! Looks for tests in the folders of a project. At most so many files are opened.

use std::io::Read as _;
use std::path::Path;

use watchdog_git::OwnFolder;

use super::facts::{TestPresence, is_inside};
use watchdog_system::open_regular_file;

/// Files of Rust that are opened.
const MOST_OPENED: usize = 2_000;
/// So much of one is read, in bytes.
const MOST_READ: u64 = 256 << 10;

/// The language of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestLanguage {
    /// Rust: in files of their own, in modules, or in documentation.
    Rust,
    /// Python.
    Python,
    /// Go.
    Go,
}

/// A look for tests.
pub struct TestSearch<'a> {
    /// The root of the worktree.
    root: &'a Path,
    /// Its folders.
    folders: &'a [OwnFolder],
    opened: usize,
}

impl<'a> TestSearch<'a> {
    /// In these folders of the worktree at `root`.
    pub fn new(root: &'a Path, folders: &'a [OwnFolder]) -> Self {
        TestSearch {
            root,
            folders,
            opened: 0,
        }
    }

    /// Looks in `top` and below it, but not in the `others` below it, which have tests of their own.
    pub fn below(&mut self, top: &str, others: &[&str], language: TestLanguage) -> TestPresence {
        let folders = self.folders;
        let own = folders.iter().filter(|folder| {
            is_inside(&folder.path, top)
                && !others.iter().any(|other| {
                    *other != top && is_inside(other, top) && is_inside(&folder.path, other)
                })
        });
        for folder in own {
            if folder
                .files
                .iter()
                .any(|name| self.is_test(&folder.path, name, language))
            {
                return TestPresence::Found;
            }
        }
        TestPresence::NoneFound
    }

    fn is_test(&mut self, folder: &str, name: &str, language: TestLanguage) -> bool {
        match language {
            TestLanguage::Go => name.ends_with("_test.go"),
            TestLanguage::Python => {
                name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
            }
            TestLanguage::Rust => {
                let opens = name.ends_with(".rs") && self.opened < MOST_OPENED;
                self.opened += usize::from(opens);
                opens && has_rust_tests(&self.root.join(folder).join(name))
            }
        }
    }
}

fn has_rust_tests(path: &Path) -> bool {
    let mut bytes = Vec::new();
    if open_regular_file(path)
        .and_then(|file| file.take(MOST_READ).read_to_end(&mut bytes))
        .is_err()
    {
        return false;
    }
    let text = String::from_utf8_lossy(&bytes);
    let marks = [
        "#[test]",
        "::test]",
        "::test(",
        "#[rstest",
        "#[test_case",
        "proptest!",
        "#[wasm_bindgen_test",
    ];
    marks.iter().any(|mark| text.contains(mark))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn tests_are_found_in_a_project_and_not_in_those_inside_of_it() {
        let root = tempfile::tempdir().unwrap();
        let folder = |path: &str, files: &[(&str, &str)]| {
            fs::create_dir_all(root.path().join(path)).unwrap();
            files.iter().for_each(|(name, text)| {
                fs::write(root.path().join(path).join(name), text).unwrap()
            });
            OwnFolder {
                path: path.into(),
                files: files.iter().map(|(name, _)| (*name).to_owned()).collect(),
                unread: None,
            }
        };
        let folders = [
            folder("", &[("test.txt", "")]),
            folder("api/src", &[("lib.rs", "fn a() {}"), ("test_data.txt", "")]),
            folder(
                "api/src/deep",
                &[("mod.rs", "#[tokio::test]\nasync fn a() {}")],
            ),
            folder("api2", &[("a_test.go", ""), ("test_a.py", "")]),
        ];
        let found = |top: &str, others: &[&str], language| {
            TestSearch::new(root.path(), &folders).below(top, others, language)
        };
        use TestLanguage::{Go, Python, Rust};
        use TestPresence::{Found, NoneFound};
        for (top, others, language, expected) in [
            ("", &[][..], Rust, Found),
            ("api", &[], Rust, Found),
            ("", &["api"], Rust, NoneFound),
            ("api", &["api", "", "api2"], Rust, Found),
            ("api/src", &["api/src/deep"], Rust, NoneFound),
            ("api2", &[], Rust, NoneFound),
            ("api2", &[], Go, Found),
            ("api2", &[], Python, Found),
            ("api", &[], Go, NoneFound),
            ("", &["api2"], Python, NoneFound),
            ("no/such", &[], Go, NoneFound),
        ] {
            assert_eq!(
                found(top, others, language),
                expected,
                "{top} without {others:?}: {language:?}"
            );
        }
    }
}
