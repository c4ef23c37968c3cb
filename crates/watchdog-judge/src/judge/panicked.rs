//! Turns a panic of a judgement into a verdict: a bug that the work on one worktree met, or a system without room.

use std::any::Any;

use watchdog_facts::evidence::{FaultKind, UnreadableFact, WarningCode};
use watchdog_facts::shortage::shortage_in;
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_store::journal::kind;

use super::command_env::CommandEnv;
use super::journal::CommandJournal;
use super::open_worktree::OpenWorktree;
use super::refusal::about;
use crate::clock::now;
use crate::wire::verdict_json::Judgement;

/// The verdict on a worktree whose judgement panicked with this payload.
pub fn verdict_of_panic(panic: &(dyn Any + Send)) -> Verdict {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    if let Some(shortage) = text.and_then(shortage_in) {
        let why = format!("the system has no further {}", shortage.of);
        return Verdict::unreadable(UnreadableFact {
            kind: FaultKind::Store,
            why,
            hint: Some(shortage.helps.into()),
        });
    }
    let why = format!(
        "watchdog itself failed here, which is a bug: {}",
        text.unwrap_or("it left no message")
    );
    Verdict::new(Reason::GitError, why)
}

/// The verdict on a worktree whose judgement ran out of system resources, in the journal if it can be written. Opens everything again,
/// because the panic dropped the judgement's handles.
pub fn judged_without_room(around: &CommandEnv, why: UnreadableFact) -> Judgement {
    let begun = now();
    let mut judgement = about(around, None, Verdict::unreadable(why), begun);
    let written = OpenWorktree::open(around).and_then(|open| {
        judgement.worktree = open.root().display().to_string();
        judgement.branch = open.worktree.branch();
        let baseline = open.recorded_baseline(None)?;
        let spec = open.spec_or_default(baseline.as_ref());
        judgement.baseline = baseline.map(|record| record.point.as_str().to_owned());
        judgement.spec = Some(spec.clone());
        let journal = CommandJournal::new(open.store, &open.worktree_id, &spec);
        journal.write(kind::VERDICT, judgement.to_event_data(None));
        Ok(journal.fault())
    });
    if let Some(why) = written.unwrap_or_else(|unreadable| Some(unreadable.why)) {
        judgement
            .verdict
            .add_note(WarningCode::JournalUnwritable, why);
    }
    judgement
}

#[cfg(test)]
mod tests {
    use super::super::panicked::*;

    #[test]
    fn panic_from_resource_shortage_is_no_bug() {
        let of = |text: &str| verdict_of_panic(&text.to_owned());
        let short = of(
            "failed to spawn thread: Os { code: 11, kind: WouldBlock, message: \"Resource temporarily unavailable\" }",
        );
        assert_eq!(short.reason, Reason::StoreError);
        assert!(
            short.message.contains("thread or process") && short.message.contains("ulimit -u"),
            "{}",
            short.message
        );
        assert_eq!(of("index out of bounds").reason, Reason::GitError);
    }
}
