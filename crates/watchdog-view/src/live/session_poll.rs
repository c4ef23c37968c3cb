//! Looks after the sessions that run, each in a thread for as long as that takes: whether one has stalled is measured for a second.

use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::input::LiveInput;
use super::live_data::LiveRowKey;
use super::signals::spawn_reader;
use crate::overview::StatusRow;
use watchdog_agent::transcript::ClaudeHome;
use watchdog_judge::judge::live_session::live_session;
use watchdog_store::StateDir;
use watchdog_store::session::SessionRecord;
use watchdog_system::lock_mutex;

/// So many sessions are measured at a time.
const AT_ONCE: usize = 8;
/// Between two rounds.
const PAUSE: Duration = Duration::from_secs(2);

type RunningList = Vec<(LiveRowKey, PathBuf, SessionRecord)>;

/// The sessions that run, for the thread that looks after them.
#[derive(Clone, Default)]
pub struct SessionPoll(Arc<Mutex<RunningList>>);

impl SessionPoll {
    /// Begins; reports go to `to`.
    pub fn start(
        &self,
        state: StateDir,
        home: ClaudeHome,
        to: Sender<LiveInput>,
    ) -> std::io::Result<()> {
        let list = Arc::clone(&self.0);
        spawn_reader("sessions", move || {
            loop {
                let running = lock_mutex(&list).clone();
                for some in running.chunks(AT_ONCE) {
                    let (state, home) = (&state, &home);
                    let sent = std::thread::scope(|scope| {
                        let threads: Vec<_> = some
                            .iter()
                            .filter_map(|(key, root, record)| {
                                let to = to.clone();
                                let watch = move || {
                                    let liveness = live_session(record, root, state, home);
                                    to.send(LiveInput::Session(key.clone(), liveness)).is_ok()
                                };
                                // Without room for a thread the session stays as it was last seen.
                                std::thread::Builder::new().spawn_scoped(scope, watch).ok()
                            })
                            .collect();
                        threads
                            .into_iter()
                            .all(|thread| !matches!(thread.join(), Ok(false)))
                    });
                    if !sent {
                        return;
                    }
                }
                std::thread::sleep(PAUSE);
            }
        })
    }

    /// Takes the sessions of new rows.
    pub fn set_sessions(&self, rows: &[StatusRow]) {
        let is_ours = |row: &&StatusRow| !row.gone && row.machine.is_none() && row.seen.is_none();
        let running = rows.iter().filter(is_ours);
        let running = running.filter_map(|row| {
            Some((
                LiveRowKey::from_row(row),
                row.worktree.clone(),
                row.session.clone()?,
            ))
        });
        *lock_mutex(&self.0) = running.collect();
    }
}
