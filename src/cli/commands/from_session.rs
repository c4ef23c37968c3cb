//! Guards commands for persons alone: refuses them inside a watched session, unless
//! `--from-session` says that this is meant, and records them in the journal.

use crate::cli::failure::CommandFailure;
use watchdog_facts::display::escape_to_one_line;
use watchdog_judge::clock::now;
use watchdog_judge::session::inside_or_left;
use watchdog_judge::wire::trust_json::{PersonDeed, person_deed_data};
use watchdog_store::LocalStore;
use watchdog_store::journal::{kind, new_event};

/// A command that moves what work is judged by.
pub struct PrivilegedCommand<'a> {
    /// As it is typed.
    pub command: &'static str,
    /// watchdog's records.
    pub store: &'a dyn LocalStore,
    /// The worktree's name in them.
    pub worktree_id: &'a str,
    /// Whether `--from-session` was given.
    pub from_session: bool,
}

impl PrivilegedCommand<'_> {
    /// Refuses the command where it comes from inside of a session and nobody said that this is meant. Both are written down.
    pub fn allow(&self) -> Result<(), CommandFailure> {
        let Some(spec) = inside_or_left(self.store)? else {
            return Ok(());
        };
        self.note(&PersonDeed::FromSession {
            spec: &spec,
            refused: !self.from_session,
        })?;
        if self.from_session {
            return Ok(());
        }
        let message = format!(
            "'{}' was called from inside of the session of '{}', and was refused",
            self.command,
            escape_to_one_line(&spec)
        );
        Err(CommandFailure::usage(message).hint("type it in a terminal outside of the session, or add --from-session where this is meant"))
    }

    /// Writes down what was done.
    pub fn note(&self, deed: &PersonDeed<'_>) -> Result<(), CommandFailure> {
        let data = person_deed_data(self.command, deed);
        // This append has no guarding lease, so it cannot be fenced.
        let _done = self.store.append(
            &[new_event(now(), self.worktree_id, None, kind::TRUST, data)],
            None,
        )?;
        Ok(())
    }
}
