//! Asks the handler of an agent's description for the texts of the next session. It is the same object that judges the iterations.

use watchdog_core::checks::{CheckContext, DescribedPrompt, ask_for_prompt, describe};
use watchdog_core::config::settings::ConfigSettings;
use watchdog_core::decision::iteration::record::IterationRecord;
use watchdog_core::decision::machine::ConfigTrust;
use watchdog_facts::context::SessionContext;
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_process::CancelFlag;

use crate::judge::admission::PreparedJudgement;
use crate::judge::capabilities::SystemCapabilities;
use crate::judge::refusal::Refusal;
use crate::judge::signals::{SignalState, SignalUrgency};
use crate::judge::spawn_io::spawn_io;

use super::session::LoopContext;

/// The texts of the handler for the session of this iteration, where the criteria have one. A handler that fails starts no session.
pub async fn read_described_prompt(
    prepared: PreparedJudgement,
    (number, records): (u32, &[IterationRecord]),
    context: &LoopContext,
    signals: &mut SignalState,
) -> Result<(PreparedJudgement, Option<DescribedPrompt>), Refusal> {
    if prepared.input.trust != ConfigTrust::Settled {
        return Ok((prepared, None));
    }
    let session = SessionContext {
        iteration: Some(number.into()),
        spec: Some(context.spec.clone()),
        worktree: Some(context.root.display().to_string()),
        summaries: records.iter().map(IterationRecord::summary).collect(),
        ..SessionContext::default()
    };
    let args = context.request.prompts.vars().clone();
    let line_checkers = context
        .command_env
        .line_checkers
        .clone()
        .unwrap_or_default();
    let cancel = CancelFlag::new();
    let asking = {
        let cancel = cancel.clone();
        spawn_io(move || {
            let mut capabilities = SystemCapabilities::new(&prepared.input, &cancel);
            capabilities.line_checkers = line_checkers;
            let texts = ask_for_prompt(
                &prepared.input.settings,
                &args,
                &CheckContext::new(&capabilities).with_session(&session),
            );
            drop(capabilities);
            (prepared, texts)
        })
    };
    let (prepared, texts) = signals
        .cancelling(SignalUrgency::Interrupted, &cancel, asking)
        .await;
    if signals.urgency() >= SignalUrgency::Interrupted {
        return Err(prepared.refuse(Verdict::new(
            Reason::Interrupted,
            "interrupted before the session was started",
        )));
    }
    match texts.transpose() {
        Ok(texts) => Ok((prepared, texts)),
        Err(why) => Err(prepared.refuse(Verdict::new(
            Reason::VerifyUnrunnable,
            format!("no session was started: {why}"),
        ))),
    }
}

/// The checks, one line each, with the handler's own words for its check.
pub fn criteria_words(settings: &ConfigSettings, texts: Option<&DescribedPrompt>) -> String {
    let described = describe(settings);
    match texts.and_then(|texts| Some((&texts.replaces, texts.criteria.as_ref()?))) {
        Some((general, own)) => described.replacen(general.as_str(), own.trim(), 1),
        None => described,
    }
}
