//! What is known of a session that watchdog did not run: its transcript tells.

use std::path::Path;

use jiff::Timestamp;

use crate::agent::stream::Told;
use crate::agent::transcript::{self, ClaudeHome};
use crate::agent::transcript_read;
use crate::decision::context::Context;
use crate::store::{Store, session};

use super::case::Case;
use super::surroundings::Surroundings;

/// Reads what the transcript of a session of Claude Code tells: of the session with this id, or of the latest in this folder, unless that
/// one was last written before `since`. `None` where there is no such transcript, or it cannot be read.
pub fn told(root: &Path, home: &ClaudeHome, session_id: Option<&str>, since: Option<Timestamp>) -> Option<Told> {
    let found = match session_id {
        Some(id) => transcript::session(root, home, id)?,
        None => {
            let latest = transcript::latest_session(root, home)?;
            let written = Timestamp::try_from(latest.modified).ok()?;
            Some(latest).filter(|_| since.is_none_or(|since| since <= written))?
        }
    };
    transcript_read::read(&found.path, transcript_read::WINDOW).ok()
}

/// What checks are told: what the session itself told where watchdog ran it, or what its transcript tells. Reads nothing where no check
/// would ask.
pub(super) fn settle_told(case: &Case, store: &dyn Store, surroundings: &Surroundings, seen: Context) -> Context {
    if case.settings.checks.is_empty() {
        return seen;
    }
    let mut context = seen;
    if context.output.is_none() && context.messages.is_empty() {
        let root = case.worktree.lock().expect("no panic while it was held").root().to_owned();
        let recorded = session::of(store, &case.worktree_id, &case.spec).ok().flatten().and_then(|session| session.session_id);
        // Without a recorded session or baseline nobody knows whether the latest transcript is about this work.
        let known = recorded.is_some() || case.recorded_at.is_some();
        let home = &surroundings.claude_home;
        if let Some(told) = known.then(|| told(&root, home, recorded.as_deref(), case.recorded_at)).flatten() {
            let of_transcript = told.context();
            context = Context {
                iteration: context.iteration,
                summaries: context.summaries,
                claims_done: context.claims_done,
                prompt: context.prompt.or(of_transcript.prompt),
                ..of_transcript
            };
        }
    }
    context.spec.get_or_insert_with(|| case.spec.clone());
    context.baseline.get_or_insert_with(|| case.baseline.as_str().to_owned());
    context
}
