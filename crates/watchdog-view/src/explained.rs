//! Why a recorded verdict is as it is, from its event alone.

use watchdog_core::decision::record::JudgementRecord;
use watchdog_core::decision::record::explanation::{JudgementExplanation, explain_record};
use watchdog_core::decision::record::what_if::{ChangedEnd, SingleChange, what_if};
use watchdog_facts::verdict::Reason;
use watchdog_store::engine::{EventCursor, StoredEvent};
use watchdog_store::{LocalStore, StoreError};

use watchdog_judge::wire::verdict_json::RECORD;
use watchdog_judge::wire::worked_agents::{WorkHistory, WorkedSession};

/// Events that are read at a time, and how often.
const BATCH: usize = 500;
const BATCHES: usize = 10;

/// A verdict of the journal, explained as far as its facts are recorded.
#[derive(Debug)]
pub struct ExplainedVerdict {
    /// Its event.
    pub event: StoredEvent,
    /// The sessions that it is about, oldest first.
    pub sessions: Vec<WorkedSession>,
    /// The facts and rules; or why there are none.
    pub facts: Result<ExplainedFacts, String>,
}

/// The explanation of a verdict by its facts.
#[derive(Debug)]
pub struct ExplainedFacts {
    /// Each fact with what came of it.
    pub explanation: JudgementExplanation,
    /// The changes that would have changed the verdict.
    pub changes: Vec<(SingleChange, ChangedEnd)>,
    /// Whether the rules of today end as the verdict did, as far as they decided it.
    pub ends_alike: bool,
}

/// Verdicts that are given before any fact is read.
const WITHOUT_FACTS: [Reason; 5] = [
    Reason::BreakerOpen,
    Reason::SessionActive,
    Reason::Locked,
    Reason::Dependencies,
    Reason::DeadlineExceeded,
];

/// Explains the verdict of an event.
///
/// # Errors
/// Fails if the journal cannot be read.
pub fn explain_verdict(
    store: &dyn LocalStore,
    event: StoredEvent,
) -> Result<ExplainedVerdict, StoreError> {
    let (facts, sessions) = (facts_of(&event), sessions_before(store, &event)?);
    Ok(ExplainedVerdict {
        event,
        sessions,
        facts,
    })
}

/// The sessions that the verdict is about, oldest first.
fn sessions_before(
    store: &dyn LocalStore,
    event: &StoredEvent,
) -> Result<Vec<WorkedSession>, StoreError> {
    let mut history = WorkHistory::default();
    let mut end = store.cursor_at(event.at)?;
    for _ in 0..BATCHES {
        let (events, before) = store.read_back(end, Some(&event.worktree), BATCH)?;
        let goes_on = events
            .iter()
            .rev()
            .all(|earlier| history.take(earlier, event.spec.as_deref()));
        if !goes_on || events.is_empty() || before == EventCursor::START {
            break;
        }
        end = before;
    }
    Ok(history.finish())
}

fn facts_of(event: &StoredEvent) -> Result<ExplainedFacts, String> {
    let reason = event.data["reason"].as_str().unwrap_or_default();
    let Some(record) = event.data.get(RECORD) else {
        return Err(match WITHOUT_FACTS.iter().any(|factless| factless.as_str() == reason) {
            true => "it was given before any fact was read".to_owned(),
            false => {
                "it was recorded without its facts, as earlier versions of watchdog did, or before any fact was read: in which order they \
                      were read, which rules applied and what would have changed it are not known"
                    .to_owned()
            }
        });
    };
    let record = JudgementRecord::from_json(record)?;
    let explanation = explain_record(&record);
    let end = explanation.end.verdict();
    let ends_alike =
        record.overruled || end.is_some_and(|verdict| verdict.reason.as_str() == reason);
    Ok(ExplainedFacts {
        changes: what_if(&record),
        ends_alike,
        explanation,
    })
}
