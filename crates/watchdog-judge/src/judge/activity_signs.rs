//! The signs of life that a judgement reads: files, processes that outlived the session, transcripts.

use watchdog_agent::transcript::TranscriptFile;
use watchdog_agent::transcript_source::TranscriptSource;
use watchdog_facts::evidence::ActivityFacts;
use watchdog_git::Worktree;
use watchdog_process::SurvivingProcess;

use super::executor::ActionExecutor;

impl ActionExecutor {
    pub(super) fn activity(&self) -> ActivityFacts {
        let now_changed = self
            .worktree(Worktree::changes)
            .ok()
            .map(|changes| changes.fingerprint);
        let first = self.lock_initial_facts().fingerprint;
        let worktree = match (first, now_changed) {
            (Some(first), Some(now)) => Some(first != now),
            (_, _) => None,
        };
        let processes = (!self.survivors.is_empty())
            .then(|| self.survivors.iter().any(SurvivingProcess::still_runs));
        let transcript = self
            .lock_initial_facts()
            .transcript
            .clone()
            .map(|before| self.latest_transcript() != Some(before));
        ActivityFacts {
            worktree,
            processes,
            transcript,
        }
    }

    pub(super) fn remember_transcript(&self) {
        if self.lock_initial_facts().transcript.is_none() {
            self.lock_initial_facts().transcript = self.latest_transcript();
        }
    }

    pub(super) fn latest_transcript(&self) -> Option<TranscriptFile> {
        let source = self.transcripts()?;
        match &self.session_id {
            Some(id) => source.session(&self.input.root, id),
            // Which of the transcripts of all folders is written is not searched for.
            None if source.is_by_folder() => source.latest(&self.input.root),
            None => None,
        }
    }

    /// Returns the place of the agent's transcripts.
    pub(super) fn transcripts(&self) -> Option<TranscriptSource> {
        self.command_env
            .transcripts_of(&self.input.root, self.agent.preset.as_str())
    }

    /// The transcripts that tell whether the session works: those of this folder, or where all lie together the latest.
    pub(super) fn transcript_files(&self) -> Vec<TranscriptFile> {
        self.transcripts()
            .map(|source| source.listing(&self.input.root, None).files)
            .unwrap_or_default()
    }
}
