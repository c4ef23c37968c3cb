//! Finds the preset of a name, where a configuration names it: built in, the user's own, or a trusted file of the worktree.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::command_env::CommandEnv;
use super::open_worktree::OpenWorktree;
use crate::session::{RecordedBaseline, note_conversations};
use watchdog_agent::preset::catalog::read_preset_file;
use watchdog_agent::preset::{AgentPreset, PresetCatalog};
use watchdog_agent::recognition::AgentInside;
use watchdog_agent::stream::StreamFormat;
use watchdog_agent::transcript_source::TranscriptSource;
use watchdog_core::config::{ConfigError, ParsedConfig, PresetName, unknown_preset};
use watchdog_git::{Worktree, refuse_home_folder};
use watchdog_store::StoreError;
use watchdog_store::trust::{TrustStore, fingerprint_config};

/// A preset, and where it is from.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundPreset {
    /// The preset.
    pub preset: Arc<AgentPreset>,
    /// Its file; `None` = built in.
    pub file: Option<PathBuf>,
}

/// Why a name gives no preset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MissingPreset {
    /// Its file is wrong: a mistake of whoever wrote it.
    #[error("{0}")]
    Wrong(String),
    /// There is none: a mistake of whoever wrote the name.
    #[error("{}{own}", unknown_preset(name, known_names.iter().map(String::as_str)))]
    Unknown {
        /// The name.
        name: String,
        /// Every name that is known.
        known_names: Vec<String>,
        /// The place for further ones, as the end of a sentence.
        own: String,
    },
    /// Its file is not trusted.
    #[error("{path} is not trusted and not used; read it, then allow it with: {allow_with}")]
    Untrusted {
        /// The file, from the root of the worktree.
        path: String,
        /// The command that allows it.
        allow_with: String,
    },
}

impl CommandEnv {
    /// The preset that a configuration or a command line means in a worktree. A file of the worktree names commands, so its content counts
    /// only where it is trusted like that of `completion.json`; one below the file that `--config` names is trusted with it.
    ///
    /// # Errors
    /// Fails if there is none that counts.
    pub fn find_preset(
        &self,
        root: &Path,
        name: &PresetName,
    ) -> Result<FoundPreset, MissingPreset> {
        if name.is_path() {
            return self.preset_of_file(root, name.as_str());
        }
        match self.presets.of_word(name.as_str()) {
            Ok(Some(preset)) => {
                let file = if name.is_built_in() {
                    None
                } else {
                    self.presets.file_of(name.as_str())
                };
                Ok(FoundPreset { preset, file })
            }
            Ok(None) => Err(self.unknown_preset(name)),
            Err(problem) => Err(MissingPreset::Wrong(problem.to_string())),
        }
    }

    /// Refuses presets of a configuration that are not there. An untrusted preset is no mistake: it
    /// does not count, as a configuration that is not trusted does not.
    ///
    /// # Errors
    /// Each of them, at its place in the file.
    pub fn check_presets(
        &self,
        parsed: &ParsedConfig,
        root: &Path,
        origin: &Path,
    ) -> Result<(), ConfigError> {
        parsed.check_presets(origin, |named| match self.find_preset(root, &named.name) {
            Err(wrong @ (MissingPreset::Wrong(_) | MissingPreset::Unknown { .. })) => {
                Some(wrong.to_string())
            }
            Err(MissingPreset::Untrusted { .. }) | Ok(_) => None,
        })
    }

    /// A warning for each preset of a configuration whose file is not trusted.
    pub fn untrusted_presets(
        &self,
        parsed: &ParsedConfig,
        root: &Path,
    ) -> impl Iterator<Item = String> {
        parsed
            .presets
            .iter()
            .filter_map(move |named| match self.find_preset(root, &named.name) {
                Err(untrusted @ MissingPreset::Untrusted { .. }) => Some(untrusted.to_string()),
                _ => None,
            })
    }

    /// The same without where it is from, and with the reason as a text.
    pub fn agent_preset(&self, root: &Path, name: &PresetName) -> Result<Arc<AgentPreset>, String> {
        self.find_preset(root, name)
            .map(|found_preset| found_preset.preset)
            .map_err(|missing| missing.to_string())
    }

    /// How the output of a recorded session is read: the `stream` block of the agent that ran it, or of the preset that it was read as.
    /// Returns `None` if neither is known, or its file does not count any more: then the built-in
    /// readers must do.
    pub fn stream_of_session(
        &self,
        root: &Path,
        agent: Option<&str>,
        read_as: Option<&str>,
    ) -> Option<StreamFormat> {
        let name = PresetName::parse(agent.or(read_as)?)?;
        self.find_preset(root, &name).ok()?.preset.stream.clone()
    }

    /// Finds the place of an agent's transcripts; `None` if its preset does not say so, or a built-in agent has no folder.
    pub fn transcripts_of(&self, root: &Path, agent: &str) -> Option<TranscriptSource> {
        let name = PresetName::parse(agent)?;
        if name.is_built_in() {
            return TranscriptSource::from_built_in(agent, &self.claude_home);
        }
        let preset = self.agent_preset(root, &name).ok()?;
        TranscriptSource::from_preset(&preset, &self.claude_home)
    }

    /// Notes the conversations that there are when a baseline is recorded, of every agent that is known by a word: which of them will work
    /// is not known then.
    ///
    /// # Errors
    /// Fails if they cannot be written down.
    pub fn note_conversations(
        &self,
        open: &OpenWorktree,
        recorded: &RecordedBaseline,
        folder: &Path,
    ) -> Result<(), StoreError> {
        let sources = self.transcript_sources(&PresetName::BUILT_IN);
        note_conversations(
            open.store.as_ref(),
            (&open.worktree_id, &recorded.spec),
            (folder, &sources),
            recorded.at,
        )
    }

    /// The agents that work in a worktree, by their processes and by their own lists.
    pub fn agents_inside(&self, root: &Path) -> Vec<AgentInside> {
        self.agents
            .inside(&self.presets, &|| self.sources_with_lists(), root)
    }

    /// The worktrees of the sessions that agents list themselves, as far as git can use them.
    pub fn worktrees_with_agents(&self) -> Vec<Worktree> {
        let open = |folder: PathBuf| {
            let worktree = Worktree::open(&folder).ok()?;
            refuse_home_folder(worktree.root(), None).ok()?;
            Some(worktree)
        };
        let folders = self.agents.listed_folders(&|| self.sources_with_lists());
        folders.into_iter().filter_map(open).collect()
    }

    /// The places of the agents that can list running sessions: Claude Code alone of those that are built in.
    fn sources_with_lists(&self) -> Vec<TranscriptSource> {
        self.transcript_sources(&[PresetName::CLAUDE])
    }

    /// Lists the places where these agents, as far as they have a folder, and the user's own presets keep transcripts.
    pub fn transcript_sources(&self, built_in: &[PresetName]) -> Vec<TranscriptSource> {
        let home = &self.claude_home;
        let names = built_in.iter().map(PresetName::as_str);
        let built_in = names.filter_map(|name| TranscriptSource::from_built_in(name, home));
        let own = self.presets.presets_where(|_| false);
        let own = own
            .iter()
            .filter_map(|preset| TranscriptSource::from_preset(preset, home));
        built_in.chain(own).collect()
    }

    /// The preset of an agent that is about to be started in the worktree of this command. An agent
    /// that was never run says so.
    ///
    /// # Errors
    /// Fails if there is none that counts.
    pub fn preset_to_start(&self, name: &PresetName) -> Result<Arc<AgentPreset>, MissingPreset> {
        let root = Worktree::open(&self.worktree).map_or_else(
            |_| self.worktree.clone(),
            |worktree| worktree.root().to_owned(),
        );
        let preset = self.find_preset(&root, name)?.preset;
        if preset.tested.is_none() {
            self.tell(&format!(
                "the preset of {} is untested: it follows documentation",
                preset.title
            ));
        }
        Ok(preset)
    }

    fn unknown_preset(&self, name: &PresetName) -> MissingPreset {
        let folder = || {
            Some(format!(
                "; your own are the files of {}",
                self.presets.folder()?.display()
            ))
        };
        let own = match self.presets.own_words() {
            Ok(_) => folder().unwrap_or_default(),
            Err(problem) => format!("; your own are unknown: {problem}"),
        };
        MissingPreset::Unknown {
            name: name.as_str().to_owned(),
            known_names: self.presets.words(),
            own,
        }
    }

    fn preset_of_file(&self, root: &Path, path: &str) -> Result<FoundPreset, MissingPreset> {
        let wrong = |why: String| MissingPreset::Wrong(format!("{path}: {why}"));
        // Relative to the file that names it.
        let base = self
            .config
            .as_deref()
            .and_then(Path::parent)
            .map_or_else(|| root.to_owned(), |folder| root.join(folder));
        let real = |path: &Path| {
            path.canonicalize()
                .map_err(|error| wrong(format!("failed to find it: {error}")))
        };
        let (base, root, file) = (real(&base)?, real(root)?, real(&base.join(path))?);
        let bytes =
            read_preset_file(&file).map_err(|problem| MissingPreset::Wrong(problem.to_string()))?;
        let Some(bytes) = bytes else {
            return Err(wrong("it is gone".into()));
        };
        let own_folder = self
            .presets
            .folder()
            .and_then(|folder| folder.canonicalize().ok());
        let is_own = own_folder.is_some_and(|folder| file.starts_with(folder))
            || self.config.is_some() && file.starts_with(&base);
        if !is_own {
            let Ok(relative) = file.strip_prefix(&root) else {
                return Err(wrong("a preset file lies in the worktree, beside the file that --config names, or in your own folder".into()));
            };
            self.check_trusted(&root, relative, &bytes)?;
        }
        // Only what is trusted is read further.
        let preset = AgentPreset::from_bytes(&bytes, &file)
            .map_err(|problem| MissingPreset::Wrong(problem.to_string()))?;
        Ok(FoundPreset {
            preset: Arc::new(preset),
            file: Some(file),
        })
    }

    fn check_trusted(
        &self,
        root: &Path,
        relative: &Path,
        bytes: &[u8],
    ) -> Result<(), MissingPreset> {
        let path = relative.display().to_string();
        let wrong = |why: String| MissingPreset::Wrong(format!("{path}: {why}"));
        let worktree = Worktree::open(root).map_err(|error| wrong(error.to_string()))?;
        let hash = fingerprint_config(&worktree.repository_id(), relative, bytes);
        match TrustStore::new(&self.state).is_trusted(&hash, self.trusted.as_deref()) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let allow_with = self.commands(root).watchdog(&format!(
                    "trust {}",
                    watchdog_facts::shell_line::shell_path(relative)
                ));
                Err(MissingPreset::Untrusted { path, allow_with })
            }
            Err(error) => Err(wrong(error.to_string())),
        }
    }
}

/// The preset of a word, for who has no command: built in, or the user's own.
pub fn preset_of_word(name: &PresetName) -> Result<Arc<AgentPreset>, String> {
    let preset = PresetCatalog::from_env()
        .of_word(name.as_str())
        .map_err(|problem| problem.to_string())?;
    preset.ok_or_else(|| format!("{name} is no agent that is known here"))
}
