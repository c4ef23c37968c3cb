//! Whether a command passed before on the same inputs: HEAD's tree with nothing uncommitted, the command line, its folder, its rule of
//! success, the environment. What is ignored is not looked at.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::checks::CommandRequest;
use crate::config::settings::{CommandLine, SuccessRule};
use crate::store::{Store, passed};

use super::super::case::Case;
use super::super::surroundings::now;

/// What passed before. Whatever cannot be read or written here makes a command run, and nothing else.
pub struct EarlierPasses {
    store: Arc<dyn Store>,
    /// The inputs of commands as they were right before they ran.
    asked: Mutex<HashMap<String, String>>,
}

impl EarlierPasses {
    /// Those that a store remembers.
    pub fn new(store: Arc<dyn Store>) -> Self {
        EarlierPasses { store, asked: Mutex::default() }
    }

    pub(super) fn has(&self, case: &Case, request: &CommandRequest<'_>, rule: &SuccessRule) -> bool {
        let command = command(case, request, rule);
        let inputs = inputs(case, &command);
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        match inputs {
            Some(inputs) => {
                let has = passed::has(self.store.as_ref(), &case.worktree_id, &inputs, now()).unwrap_or(false);
                asked.insert(command, inputs);
                has
            }
            None => {
                asked.remove(&command);
                false
            }
        }
    }

    /// A pass counts for what was there before the command ran and is there still.
    pub(super) fn remember(&self, case: &Case, request: &CommandRequest<'_>, rule: &SuccessRule) {
        let command = command(case, request, rule);
        let before = self.asked.lock().unwrap_or_else(PoisonError::into_inner).remove(&command);
        if let Some(inputs) = inputs(case, &command).filter(|now| before.as_ref() == Some(now)) {
            // What is not remembered runs again.
            let _ = passed::remember(self.store.as_ref(), &case.worktree_id, &inputs, now());
        }
    }
}

/// All that the configuration and the case say about a command, as one text without two meanings.
fn command(case: &Case, request: &CommandRequest<'_>, rule: &SuccessRule) -> String {
    let line = match request.line {
        CommandLine::Shell(line) => format!("{line:?}"),
        CommandLine::Argv(argv) => format!("{argv:?}"),
    };
    let stdin = passed::inputs(&[request.stdin]);
    format!("{line} {:?} {rule:?} {stdin} {:?}", request.cwd, case.spec)
}

fn inputs(case: &Case, command: &str) -> Option<String> {
    let tree = case.worktree.lock().expect("no panic while it was held").clean_tree();
    let tree = tree.ok().flatten()?;
    Some(passed::inputs(&[tree.as_bytes(), command.as_bytes(), &passed::environment()]))
}
