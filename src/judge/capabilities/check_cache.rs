//! Remembers whether a command passed before on the same inputs: HEAD's tree with nothing uncommitted, the command line, its folder, its
//! rule of success, the environment. Ignored files are no input. A pass that is found while a session of the worktree runs is not used
//! again after its end: the session may have changed what is no input, such as ignored files.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use watchdog_core::checks::{CachedPass, CommandRequest};
use watchdog_core::config::settings::{CommandLine, CommandSuccess};
use watchdog_facts::evidence::TestCounts;
use watchdog_store::{LocalStore, check_cache};

use crate::clock::now;
use crate::judge::judgement_input::JudgementInput;
use crate::session::session_lives;

/// The passes of earlier runs. Where a record cannot be read or written, the command only runs again.
pub struct CheckCache {
    store: Arc<dyn LocalStore>,
    /// The inputs of commands as they were right before they ran.
    pending: Mutex<HashMap<String, String>>,
}

impl CheckCache {
    /// Those that a store remembers.
    pub fn new(store: Arc<dyn LocalStore>) -> Self {
        CheckCache {
            store,
            pending: Mutex::default(),
        }
    }

    pub(super) fn of(
        &self,
        input: &JudgementInput,
        request: &CommandRequest<'_>,
        rule: &CommandSuccess,
    ) -> Option<CachedPass> {
        let command = command(input, request, rule);
        let inputs = self.inputs(input, &command);
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        match inputs {
            Some((inputs, tree)) => {
                let found =
                    check_cache::find_pass(self.store.as_ref(), &input.worktree_id, &inputs, now())
                        .unwrap_or(None);
                pending.insert(command, inputs);
                found.map(|tests| CachedPass { tests, tree })
            }
            None => {
                pending.remove(&command);
                None
            }
        }
    }

    /// Records a pass, if the inputs after the command are those from before it.
    pub(super) fn remember(
        &self,
        input: &JudgementInput,
        request: &CommandRequest<'_>,
        rule: &CommandSuccess,
        tests: Option<TestCounts>,
    ) {
        let command = command(input, request, rule);
        let before = self
            .pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&command);
        if let Some((inputs, _)) = self
            .inputs(input, &command)
            .filter(|(now, _)| before.as_ref() == Some(now))
        {
            // Without a cache entry the command runs again.
            let _ = check_cache::remember(
                self.store.as_ref(),
                &input.worktree_id,
                &inputs,
                tests,
                now(),
            );
        }
    }

    /// A fingerprint of all inputs, and HEAD's tree.
    fn inputs(&self, input: &JudgementInput, command: &str) -> Option<(String, String)> {
        let tree = input.worktree().clean_tree();
        let tree = tree.ok().flatten()?;
        // A session that a person started by hand has no record; its own calls are known by their processes.
        let lives = input.overrides.from_inside
            || session_lives(self.store.as_ref(), &input.worktree_id).unwrap_or(true);
        let during: &[u8] = if lives { b"during a session" } else { b"" };
        Some((
            check_cache::inputs(&[
                tree.as_bytes(),
                command.as_bytes(),
                &check_cache::environment(),
                during,
            ]),
            tree,
        ))
    }
}

/// All that the configuration and the input say about a command, as one unambiguous text.
fn command(input: &JudgementInput, request: &CommandRequest<'_>, rule: &CommandSuccess) -> String {
    let line = match request.line {
        CommandLine::Shell(line) => format!("{line:?}"),
        CommandLine::Argv(argv) => format!("{argv:?}"),
    };
    let stdin = check_cache::inputs(&[request.stdin]);
    format!(
        "{line} {:?} {rule:?} {stdin} {:?} {}",
        request.cwd, input.spec, request.clean
    )
}
