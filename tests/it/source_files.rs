//! The source files of this project, each with its room and with what ships of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// A source file of this project.
pub struct Source {
    /// Relative to the project, with `/`.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// What ships of it: without comments and without the tests, which stand at the end of a file or in one of their own.
    pub shipped: String,
}

impl Source {
    /// The first folder below `src`, or the crate where a crate is one room; `None` for the roots (`main.rs`, `lib.rs`) and for tests.
    pub fn room(&self) -> Option<&str> {
        if let Some(path) = self.name.strip_prefix("crates/watchdog-") {
            let (krate, path) = path.split_once("/src/")?;
            return if ["core", "judge"].contains(&krate) {
                path.split_once('/').map(|(room, _)| room)
            } else {
                Some(krate)
            };
        }
        self.name
            .strip_prefix("src/")?
            .split_once('/')
            .map(|(room, _)| room)
    }

    /// The files that this one declares for tests only.
    fn test_files(&self) -> Vec<String> {
        static DECLARED: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r#"#\[cfg\(test\)\]\s*(?:#\[path = "([^"]+)"\]\s*)?(?:pub(?:\([a-z]+\))? )?mod (\w+);"#).expect("a fixed pattern")
        });
        let folder = self
            .name
            .rsplit_once('/')
            .expect("every source is in a folder")
            .0;
        let files = DECLARED
            .captures_iter(&self.text)
            .flat_map(|found| match found.get(1) {
                Some(path) => vec![format!("{folder}/{}", path.as_str())],
                None => self.files_of_module(&found[2]).to_vec(),
            });
        files.collect()
    }

    /// Where the text of a module that this file declares may stand.
    fn files_of_module(&self, module: &str) -> [String; 2] {
        let (folder, file) = self
            .name
            .rsplit_once('/')
            .expect("every source is in a folder");
        let inner = if ["mod.rs", "lib.rs", "main.rs"].contains(&file) {
            folder
        } else {
            self.name.trim_end_matches(".rs")
        };
        [
            format!("{inner}/{module}.rs"),
            format!("{inner}/{module}/mod.rs"),
        ]
    }
}

/// The source files below these folders, by name.
pub fn sources(folders: &[&str]) -> Vec<Source> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut planned_deeds = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| top.join(folder)).collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                // What lies beside `src` of a crate are tests.
                open.extend(Some(path).filter(|path| {
                    !(path.ends_with("tests") && folder.join("Cargo.toml").exists())
                }));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path
                    .strip_prefix(top)
                    .expect("below the top")
                    .to_string_lossy()
                    .replace('\\', "/");
                planned_deeds.push(Source {
                    name,
                    text: fs::read_to_string(&path).expect("a source file is text"),
                    shipped: String::new(),
                });
            }
        }
    }
    planned_deeds.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!planned_deeds.is_empty(), "no sources in {folders:?}");
    let mut tests: Vec<String> = planned_deeds.iter().flat_map(Source::test_files).collect();
    // What a file of tests declares is for tests only, too.
    let declared = Regex::new(r"(?m)^(?:pub(?:\([a-z]+\))? )?mod (\w+);").expect("a fixed pattern");
    let mut looked_at = 0;
    while looked_at < tests.len() {
        if let Some(source) = planned_deeds
            .iter()
            .find(|source| source.name == tests[looked_at])
        {
            let more = declared
                .captures_iter(&source.text)
                .flat_map(|file| source.files_of_module(&file[1]));
            tests.extend(
                more.filter(|name| !tests.contains(name))
                    .collect::<Vec<_>>(),
            );
        }
        looked_at += 1;
    }
    let inline = Regex::new(r"(?m)^\s*#\[cfg\(test\)\]\s*(pub(\([a-z]+\))? )?mod \w+ \{")
        .expect("a fixed pattern");
    for source in planned_deeds
        .iter_mut()
        .filter(|source| !tests.contains(&source.name))
    {
        let end = inline
            .find(&source.text)
            .map_or(source.text.len(), |tests| tests.start());
        let lines = source.text[..end]
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        source.shipped = lines.flat_map(|line| [line, "\n"]).collect();
    }
    planned_deeds
}
