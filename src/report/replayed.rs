//! Recorded verdicts by the rules of today, and by another configuration.

use serde_json::Value;

use crate::wire::explain_json::PastVerdict;
use watchdog_core::config::settings::ConfigSettings;
use watchdog_core::decision::record::explanation::next_words;
use watchdog_core::decision::record::run::{RecordedRun, RunEnd, run};
use watchdog_core::decision::record::{JudgementRecord, fact_word, form, with_settings};
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_store::verdict_row::RECORD;

/// What came of one of them.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplayOutcome {
    /// The same reason again.
    Alike,
    /// Another one.
    Differs {
        /// Today's.
        new: Box<Verdict>,
        /// At which step the decisions differ first, and how.
        why: String,
    },
    /// The rules ask for a fact that nobody read.
    NotRecorded {
        /// The word for the fact.
        fact: String,
    },
    /// It cannot be run again.
    NotReplayed {
        /// Why.
        why: String,
    },
}

/// Every verdict with what came of it.
#[derive(Debug, Default)]
pub struct ReplayReport {
    /// In the order of the journal.
    pub verdicts: Vec<(PastVerdict, ReplayOutcome)>,
}

impl ReplayReport {
    /// How many judged alike.
    pub fn alike(&self) -> usize {
        self.verdicts.iter().filter(|(_, outcome)| *outcome == ReplayOutcome::Alike).count()
    }

    /// Whether any verdict differs.
    pub fn has_difference(&self) -> bool {
        self.verdicts.iter().any(|(_, outcome)| matches!(outcome, ReplayOutcome::Differs { .. }))
    }
}

/// Runs each of them through the rules of today, with the settings of another configuration where one is given.
pub fn replay(verdicts: Vec<PastVerdict>, settings: Option<&ConfigSettings>) -> ReplayReport {
    let outcome = |verdict: &PastVerdict| replay_one(&verdict.data, settings).unwrap_or_else(|outcome| outcome);
    ReplayReport {
        verdicts: verdicts
            .into_iter()
            .map(|verdict| {
                let outcome = outcome(&verdict);
                (verdict, outcome)
            })
            .collect(),
    }
}

fn replay_one(data: &Value, settings: Option<&ConfigSettings>) -> Result<ReplayOutcome, ReplayOutcome> {
    let not_replayed = |why: String| ReplayOutcome::NotReplayed { why };
    let recorded = data.get(RECORD).ok_or_else(|| not_replayed("recorded without its facts".into()))?;
    let record = form::read(recorded).map_err(not_replayed)?;
    if record.overruled {
        return Err(not_replayed("a limit outside of these rules decided".into()));
    }
    let old = data["reason"].as_str().unwrap_or_default();
    let old = *Reason::ALL.iter().find(|reason| reason.as_str() == old).ok_or_else(|| not_replayed(format!("unknown reason '{old}'")))?;
    let as_it_was = run(&record);
    let (changed, ran) = match settings {
        None => (record.clone(), as_it_was.clone()),
        Some(settings) => {
            let changed = with_settings(&record, settings).map_err(|fact| ReplayOutcome::NotRecorded { fact })?;
            let ran = run(&changed);
            (changed, ran)
        }
    };
    Ok(match &ran.end {
        RunEnd::NotRecorded { fact } => ReplayOutcome::NotRecorded { fact: (*fact).to_owned() },
        RunEnd::Concluded(verdict) if verdict.reason == old => ReplayOutcome::Alike,
        RunEnd::Concluded(verdict) => {
            ReplayOutcome::Differs { why: first_difference(&record, &as_it_was, &changed, &ran), new: verdict.clone() }
        }
    })
}

/// The first step whose decision is another one, in words.
fn first_difference(record: &JudgementRecord, before: &RecordedRun, changed: &JudgementRecord, now: &RecordedRun) -> String {
    let differs =
        (before.decisions.iter().zip(&now.decisions)).find(|(before, now)| before.action != now.action || before.step != now.step);
    let Some((before, now)) = differs else {
        // The rules of today run the same way with both setups: then the rules are what changed.
        let rules = now.decisions.last().map(|last| rules_words(&last.rules)).unwrap_or_default();
        return format!("the rules changed since then{rules}");
    };
    let after = now.step.and_then(|at| changed.steps.get(at).or_else(|| record.steps.get(at))).and_then(|step| step.event.as_ref());
    let after = after.map_or("setup", fact_word);
    format!("after {after}: {} in place of {}{}", next_words(&now.action), next_words(&before.action), rules_words(&now.rules))
}

fn rules_words(rules: &[watchdog_core::decision::judgement_rule::JudgementRule]) -> String {
    match rules {
        [] => String::new(),
        rules => format!(" ({})", rules.iter().map(|rule| rule.as_str()).collect::<Vec<_>>().join(", ")),
    }
}
