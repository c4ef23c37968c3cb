//! Finds the preset of a name: built in, or a file of the configuration folder.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::definition::{AgentPreset, MAX_PRESET_BYTES};
use super::problem::PresetProblem;
use watchdog_core::config::PresetName;
use watchdog_system::{read_entries, read_regular_begin};

/// How many entries of the folder are read.
const ENTRIES: usize = 1000;

/// The files that are built in, in the order in which they are listed.
const FILES: [(&str, &str); 8] = [
    ("claude", include_str!("builtin/claude.json")),
    ("codex", include_str!("builtin/codex.json")),
    ("gemini", include_str!("builtin/gemini.json")),
    ("opencode", include_str!("builtin/opencode.json")),
    ("qwen", include_str!("builtin/qwen.json")),
    ("copilot", include_str!("builtin/copilot.json")),
    ("cursor", include_str!("builtin/cursor.json")),
    ("amp", include_str!("builtin/amp.json")),
];

/// Each is read where it is needed first: a check needs those of agents that it names, or whose folder is there.
static BUILT_IN: [OnceLock<Arc<AgentPreset>>; FILES.len()] =
    [const { OnceLock::new() }; FILES.len()];

fn read_built_in(n: usize) -> &'static Arc<AgentPreset> {
    let (name, text) = FILES[n];
    BUILT_IN[n].get_or_init(|| {
        Arc::new(
            AgentPreset::from_bytes(text.as_bytes(), Path::new(name))
                .expect("the presets that are built in are read by a test"),
        )
    })
}

/// The presets that a name can mean.
#[derive(Debug, Clone, Default)]
pub struct PresetCatalog {
    folder: Option<PathBuf>,
}

impl PresetCatalog {
    /// The presets that are built in, and those of a folder.
    pub fn new(folder: Option<PathBuf>) -> Self {
        PresetCatalog { folder }
    }

    /// The presets that are built in, and those of `$XDG_CONFIG_HOME/watchdog/agents` (`~/.config/watchdog/agents`).
    pub fn from_env() -> Self {
        let of = |variable: &str| {
            std::env::var_os(variable)
                .filter(|value: &OsString| !value.is_empty())
                .map(PathBuf::from)
        };
        let configuration = of("XDG_CONFIG_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| Some(of("HOME")?.join(".config")));
        PresetCatalog::new(configuration.map(|folder| folder.join("watchdog").join("agents")))
    }

    /// The folder of the user's own presets.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The presets that are built in.
    pub fn built_in() -> impl ExactSizeIterator<Item = &'static Arc<AgentPreset>> {
        (0..FILES.len()).map(read_built_in)
    }

    /// Returns the built-in preset of this name.
    pub fn built_in_named(name: &str) -> Option<Arc<AgentPreset>> {
        let n = FILES.iter().position(|(built_in, _)| *built_in == name)?;
        Some(Arc::clone(read_built_in(n)))
    }

    /// The words that name a preset: those that are built in, then the user's own as far as they can be listed.
    pub fn words(&self) -> Vec<String> {
        let built_in = FILES.map(|(name, _)| name.to_owned()).into_iter();
        built_in
            .chain(self.own_words().unwrap_or_default())
            .collect()
    }

    /// The presets that are built in, where their names `count`, then the user's own. A file of the user's that cannot be read is
    /// passed over: who names it hears of it.
    pub fn presets_where(&self, count: impl Fn(&str) -> bool) -> Vec<Arc<AgentPreset>> {
        let built_in = (0..FILES.len()).filter(|n| count(FILES[*n].0));
        let own = self.own_words().unwrap_or_default();
        let own = own.iter().filter_map(|word| self.of_word(word).ok()?);
        built_in
            .map(|n| Arc::clone(read_built_in(n)))
            .chain(own)
            .collect()
    }

    /// The words of the user's own presets, sorted. A file that is named like a preset that is built in does not count.
    ///
    /// # Errors
    /// Fails if their folder is there and cannot be listed.
    pub fn own_words(&self) -> Result<Vec<String>, PresetProblem> {
        let Some(folder) = &self.folder else {
            return Ok(Vec::new());
        };
        let entries = read_entries(folder, ENTRIES)
            .map_err(|error| PresetProblem::new(folder, format!("failed to list it: {error}")))?;
        let names = entries.into_iter().map(|entry| entry.file_name());
        let words = names.filter_map(|name| Some(name.to_str()?.strip_suffix(".json")?.to_owned()));
        let mut own: Vec<String> = words
            .filter(|word| {
                PresetName::parse(word).is_some_and(|name| !name.is_path() && !name.is_built_in())
            })
            .collect();
        own.sort();
        Ok(own)
    }

    /// The file of one of the user's own.
    pub fn file_of(&self, word: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{word}.json")))
    }

    /// The preset of a word; `None` where there is none.
    ///
    /// # Errors
    /// Fails if the user's own file cannot be read.
    pub fn of_word(&self, word: &str) -> Result<Option<Arc<AgentPreset>>, PresetProblem> {
        if let Some(built_in_preset) = Self::built_in_named(word) {
            return Ok(Some(built_in_preset));
        }
        let Some(file) = self
            .file_of(word)
            .filter(|_| PresetName::parse(word).is_some_and(|name| !name.is_path()))
        else {
            return Ok(None);
        };
        let Some(bytes) = read_preset_file(&file)? else {
            return Ok(None);
        };
        let preset = AgentPreset::from_bytes(&bytes, &file)?;
        if preset.name != word {
            return Err(PresetProblem::new(
                &file,
                format!(
                    "name: it is {:?}, and the file is named {word}.json",
                    preset.name
                ),
            ));
        }
        Ok(Some(Arc::new(preset)))
    }
}

/// The bytes of a preset's file, at most a little more than is allowed; `None` where there is none.
///
/// # Errors
/// Fails if it cannot be read.
pub fn read_preset_file(file: &Path) -> Result<Option<Vec<u8>>, PresetProblem> {
    let failed =
        |error: std::io::Error| PresetProblem::new(file, format!("failed to read it: {error}"));
    match fs::metadata(file) {
        Ok(about) if !about.is_file() => {
            return Err(PresetProblem::new(file, "not a regular file"));
        }
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    let most = u64::try_from(MAX_PRESET_BYTES)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    read_regular_begin(file, most).map(Some).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog() -> (tempfile::TempDir, PresetCatalog) {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let catalog = PresetCatalog::new(Some(scratch.path().to_owned()));
        (scratch, catalog)
    }

    #[test]
    fn configuration_reads_and_names_every_built_in_preset() {
        let names: Vec<&str> = PresetCatalog::built_in()
            .map(|preset| preset.name.as_str())
            .collect();
        assert_eq!(names, FILES.map(|(name, _)| name));
        assert_eq!(
            names,
            PresetName::BUILT_IN.each_ref().map(PresetName::as_str)
        );
        for preset in PresetCatalog::built_in() {
            assert!(
                !preset.title.is_empty() && preset.stream.is_some() && preset.login.is_some(),
                "{}",
                preset.name
            );
        }
        let untested: Vec<&str> = PresetCatalog::built_in()
            .filter(|preset| preset.tested.is_none())
            .map(|preset| preset.name.as_str())
            .collect();
        assert_eq!(untested, ["cursor", "amp"]);
    }

    #[test]
    fn folder_file_is_preset_unless_name_is_taken() {
        let (scratch, catalog) = catalog();
        let minimal = |name: &str| {
            format!(
                r#"{{"name": "{name}", "title": "T", "program": "t", "session": {{"args": ["{{user}}"]}}}}"#
            )
        };
        for (file, name) in [
            ("mine", "mine"),
            ("claude", "claude"),
            ("wrong", "other"),
            ("Odd", "odd"),
        ] {
            fs::write(scratch.path().join(format!("{file}.json")), minimal(name))
                .expect("a file can be written");
        }
        assert_eq!(catalog.own_words().expect("a folder"), ["mine", "wrong"]);
        assert_eq!(
            catalog
                .of_word("mine")
                .map(|named_preset| named_preset.map(|preset| preset.title.clone())),
            Ok(Some("T".into()))
        );
        assert_eq!(
            catalog
                .of_word("claude")
                .map(|named_preset| named_preset.map(|preset| preset.title.clone())),
            Ok(Some("Claude Code".into()))
        );
        assert!(catalog.of_word("wrong").is_err_and(
            |problem| problem.why.contains("\"other\"") && problem.why.contains("wrong.json")
        ));
        assert_eq!(catalog.of_word("none"), Ok(None));
        assert_eq!(catalog.of_word("../mine"), Ok(None));
    }

    #[test]
    fn hostile_file_is_refused_with_place_and_key() {
        let (scratch, catalog) = catalog();
        let file = scratch.path().join("x.json");
        let refused = |text: &[u8]| {
            fs::write(&file, text).expect("a file can be written");
            catalog.of_word("x").expect_err("it is refused").to_string()
        };
        let with = |more: &str| {
            format!(r#"{{"name": "x", "title": "T", "program": "t", "session": {{"args": ["{{user}}"]}}{more}}}"#).into_bytes()
        };
        for (text, expected) in [
            (b"nonsense".to_vec(), "x.json: 1:2: expected ident"),
            (b"\xff\xfe{".to_vec(), "x.json: 1:1: expected value"),
            (b"{}".to_vec(), "missing key `name`"),
            (with(r#", "sesion": {}"#), "1:85: unknown key `sesion`"),
            (with(r#", "sesion": {}"#), "did you mean `session`?"),
            (with(r#", "capabilities": ["report_cost"]"#), "did you mean `reports_cost`?"),
            (with(r#", "resume": {"by_id": ["--last"]}"#), "session.args: `{conversation}` is missing"),
            (with(r#", "question": {"args": ["{conversation}", "{prompts}"]}"#), "unknown placeholder `{prompts}`, did you mean `prompt`?"),
            (with(r#", "question": {"args": ["{conversation}"], "by_id": ["-r"]}"#), "question.by_id: `{id}` is missing"),
            (with(r#", "question": {"args": ["{conversation}"], "latest": []}"#), "question.latest: without `answers_under_its_id`"),
            (with(r#", "question": {"args": ["{conversation}"], "safety": ["-s"]}"#), "\"-s\" is none of question.args"),
            (with(r#", "transcripts": {"home": "../..", "folder": "{slug}", "id": "name"}"#), "transcripts: "),
            (br#"{"name": "X", "title": "T", "program": "t", "session": {"args": ["{user}"]}}"#.to_vec(), "name: \"X\" is no word"),
            (br#"{"name": "x", "title": "T", "program": "", "session": {"args": ["{user}"]}}"#.to_vec(), "program: must name"),
            (
                br#"{"name": "x", "title": "T", "program": "a\u0000", "session": {"args": ["{user}"]}}"#.to_vec(),
                "program: must not contain a NUL",
            ),
            (
                br#"{"name": "x", "title": "T", "program": "t", "session": {"args": ["a\u0000", "{user}"]}}"#.to_vec(),
                "session.args: must not",
            ),
            (br#"{"name": "x", "title": "T", "program": "t", "session": {"args": []}}"#.to_vec(), "session.args: `{user}` is missing"),
            (vec![b' '; 10 << 20], "at most 262144 are read"),
        ] {
            let refusal = refused(&text);
            assert!(refusal.contains(expected) && refusal.contains("x.json"), "{refusal}\nlacks {expected}");
            assert!(refusal.len() < 1500 && !refusal.contains('\u{1b}'), "{refusal}");
        }
        let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
        assert!(refused(&deep).contains("x.json"));
        fs::remove_file(&file).expect("it is there");
        fs::create_dir(&file).expect("a folder can be made");
        assert!(
            catalog
                .of_word("x")
                .is_err_and(|problem| problem.why.contains("not a regular file"))
        );
    }
}
