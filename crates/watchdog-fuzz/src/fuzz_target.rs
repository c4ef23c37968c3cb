//! One fuzz target: a name, a total function over bytes, and how often every change runs it.

use std::path::{Path, PathBuf};

/// What is run over inputs.
#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    /// Its name: that of its corpus, its dictionary and its test.
    pub name: &'static str,
    /// Reads an input, and panics where something does not hold that must.
    pub run: fn(&[u8]),
    /// How many mutated inputs every change runs. Bounded by what an unoptimized build does in about two seconds.
    pub mutations: u32,
    /// Further kept inputs: files of this project whose names end so, below this folder of it.
    pub fixtures: Option<(&'static str, &'static [&'static str])>,
}

impl FuzzTarget {
    /// The folder of its kept inputs.
    pub fn corpus(&self) -> PathBuf {
        own_folder().join("corpus").join(self.name)
    }

    /// The words that mutations put in, in libFuzzer's format.
    pub fn dictionary(&self) -> PathBuf {
        own_folder()
            .join("dictionaries")
            .join(format!("{}.dict", self.name))
    }

    /// All kept inputs, with their files, in the order of their names.
    ///
    /// # Panics
    /// Where a file cannot be read.
    pub fn kept_inputs(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = files_in(&self.corpus(), &[""]);
        if let Some((folder, endings)) = self.fixtures {
            files.extend(files_in(&own_folder().join("../..").join(folder), endings));
        }
        let read = |file: PathBuf| {
            let bytes =
                std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            (file, bytes)
        };
        files.into_iter().map(read).collect()
    }
}

fn own_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files_in(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| {
        entry
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .path()
    });
    let mut files: Vec<PathBuf> = paths
        .filter(|path| {
            path.is_file()
                && endings
                    .iter()
                    .any(|ending| path.to_string_lossy().ends_with(ending))
        })
        .collect();
    files.sort();
    files
}
