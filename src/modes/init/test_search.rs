//! Looks for tests in a project, in a walk that ends.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::facts::TestPresence;

/// Entries of folders that are looked at.
const MOST_ENTRIES: usize = 20_000;
/// Files of Rust that are opened.
const MOST_OPENED: usize = 2_000;
/// So much of one is read, in bytes.
const MOST_READ: u64 = 256 << 10;
/// Folders that hold what others wrote, or what was built.
const FOREIGN: [&str; 8] = ["node_modules", "target", "vendor", "venv", "dist", "build", "third_party", "site-packages"];

/// Whether there are tests of each language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FoundTests {
    /// Of Rust: in files of their own, in modules, or in documentation.
    pub rust: TestPresence,
    /// Of Python.
    pub python: TestPresence,
    /// Of Go.
    pub go: TestPresence,
}

impl FoundTests {
    /// Looks below a folder. Links are not followed, hidden folders and those of others are left out.
    pub fn below(root: &Path) -> Self {
        let mut found = FoundTests::default();
        let (mut entries, mut opened) = (0, 0);
        let mut open: Vec<PathBuf> = vec![root.to_owned()];
        // The nearest folders first: of a large tree they tell the most.
        let mut next = 0;
        while let Some(folder) = open.get(next).cloned() {
            next += 1;
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                entries += 1;
                if entries > MOST_ENTRIES {
                    return found;
                }
                let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
                if kind.is_dir() && !name.starts_with('.') && !FOREIGN.contains(&name.as_str()) {
                    open.push(entry.path());
                } else if kind.is_file() {
                    found.note_file(&entry.path(), &name, &mut opened);
                }
            }
        }
        found
    }

    fn note_file(&mut self, path: &Path, name: &str, opened: &mut usize) {
        let is_python_test = || name.starts_with("test_") || name.ends_with("_test.py");
        if name.ends_with("_test.go") {
            self.go = TestPresence::Found;
        } else if name.ends_with(".py") && is_python_test() {
            self.python = TestPresence::Found;
        } else if name.ends_with(".rs") && self.rust == TestPresence::NoneFound && *opened < MOST_OPENED {
            *opened += 1;
            if has_rust_tests(path) {
                self.rust = TestPresence::Found;
            }
        }
    }
}

fn has_rust_tests(path: &Path) -> bool {
    let mut bytes = Vec::new();
    if fs::File::open(path).and_then(|file| file.take(MOST_READ).read_to_end(&mut bytes)).is_err() {
        return false;
    }
    let text = String::from_utf8_lossy(&bytes);
    let marks = ["#[test]", "::test]", "::test(", "#[rstest", "#[test_case", "proptest!", "#[wasm_bindgen_test"];
    marks.iter().any(|mark| text.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_where_they_are_ones_own() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("src/lib.rs", "fn a() {}");
        write("target/debug/x.rs", "#[test] fn a() {}");
        write("node_modules/x/test_a.py", "");
        write(".hidden/a_test.go", "");
        assert_eq!(FoundTests::below(folder.path()), FoundTests::default());
        write("src/deep/er/mod.rs", "#[tokio::test]\nasync fn a() {}");
        write("pkg/a_test.go", "");
        write("tests/test_a.py", "");
        let all = FoundTests { rust: TestPresence::Found, python: TestPresence::Found, go: TestPresence::Found };
        assert_eq!(FoundTests::below(folder.path()), all);
        assert_eq!(FoundTests::below(Path::new("/no/such/folder")), FoundTests::default());
    }
}
