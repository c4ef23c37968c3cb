//! Records that a session cannot go on without a person, as it reports itself: the verdict on its work is `review` from then on.

use jiff::Timestamp;

use watchdog_core::decision::beside_claim::dispute_blocked;
use watchdog_facts::display::cut_text;
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_store::baseline;

use crate::clock::now;
use crate::judge::admission::PreparedJudgement;
use crate::judge::command_env::CommandEnv;
use crate::judge::input_assembly::SourceOfBaseline;
use crate::judge::judgement_input::Overrides;
use crate::judge::open_worktree::OpenWorktree;
use crate::judge::refusal::Refusal;
use crate::wire::verdict_json::Judgement;

/// Longer reports are cut to so many bytes.
const LONGEST: usize = 1000;

/// Records the report with the recorded baseline, and the `review` that it is: whoever is notified of such a verdict is told. Returns the
/// `review`, or the error that kept it from being recorded.
pub fn report_blocked(command_env: &CommandEnv, text: &str) -> Judgement {
    let begun = now();
    let reported = record_report(command_env, text.trim(), begun);
    reported
        .unwrap_or_else(|refusal| refusal)
        .into_judgement(command_env, begun)
}

fn record_report(
    command_env: &CommandEnv,
    text: &str,
    begun: Timestamp,
) -> Result<Refusal, Refusal> {
    let open = OpenWorktree::open(command_env)?;
    let overrides = Overrides {
        from_inside: true,
        ..Overrides::default()
    };
    let work = (SourceOfBaseline::Recorded(None), None);
    let prepared = PreparedJudgement::open(command_env, open, work, &overrides, begun)?;
    let text = cut_text(text, LONGEST);
    let (input, store) = (&prepared.input, prepared.store.as_ref());
    baseline::set_blocked(store, &input.worktree_id, &input.spec, Some(&text))?;
    let review = Verdict::new(Reason::Unfinished, "a person decides how to go on");
    Ok(prepared.refuse(dispute_blocked(review, &text)))
}
