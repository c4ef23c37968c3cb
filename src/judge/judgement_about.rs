//! Makes a judgement from a verdict: adds the worktree and the work that it is about, and masks secrets.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use watchdog_facts::refused_tool::ToolRefusals;
use watchdog_facts::secret_shapes::mask;
use watchdog_facts::verdict::Verdict;

use super::command_env::CommandEnv;
use super::judgement_input::JudgementInput;
use super::machine_log;
use crate::clock::since;
use crate::wire::verdict_json::Judgement;

/// Masks the secrets that programs and agents printed into a verdict: it is shown, recorded, sent to others, and part of the next prompt.
fn masked(mut verdict: Verdict) -> Verdict {
    let mask_text = |text: &mut String| {
        if let Cow::Owned(masked) = mask(text) {
            *text = masked;
        }
    };
    mask_text(&mut verdict.message);
    verdict.feedback.iter_mut().for_each(mask_text);
    verdict
        .degraded
        .iter_mut()
        .for_each(|note| mask_text(&mut note.detail));
    verdict.helpers.iter_mut().for_each(mask_text);
    verdict
}

/// A verdict with its metadata.
pub fn about(
    command_env: &CommandEnv,
    input: Option<&JudgementInput>,
    verdict: Verdict,
    begun: Timestamp,
) -> Judgement {
    let verdict = masked(verdict);
    machine_log::concluded(&verdict, since(begun));
    let (worktree, branch) = match input {
        Some(input) => {
            let worktree = input.worktree();
            (worktree.root().to_owned(), worktree.branch())
        }
        None => (command_env.worktree.clone(), None),
    };
    Judgement {
        spec: input.map(|input| input.spec.clone()),
        branch,
        baseline: input.map(|input| input.baseline.as_str().to_owned()),
        duration: since(begun),
        ..bare_judgement(&worktree, verdict)
    }
}

/// A verdict on a worktree of which no more is known.
pub fn bare_judgement(worktree: &Path, verdict: Verdict) -> Judgement {
    Judgement {
        verdict,
        worktree: worktree.display().to_string(),
        spec: None,
        branch: None,
        baseline: None,
        breaker: None,
        log: None,
        session: None,
        survivors: Vec::new(),
        refused: ToolRefusals::default(),
        looped: None,
        duration: Duration::ZERO,
    }
}
