//! The measures of a period as JSON: `measures` of `watchdog report --json`. docs/report.md defines each; what is not known is null.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use watchdog_facts::verdict::Reason;
use watchdog_store::measures::{
    ABORT_WINDOW, AbortCounts, CompletedSpec, MeasureSummary, Spread, measure,
};
use watchdog_store::tally::{CounterSums, word};

/// The object of `measures`.
pub fn measures_json(sums: &CounterSums, completed: &[&CompletedSpec]) -> Value {
    let summary = MeasureSummary::new(sums, completed.iter().copied());
    let of = |word| sums.get_sum(word);
    let [of_sessions, of_changes, of_looks] = summary.questions;
    let reported = |word, by| (of(by) > 0).then(|| of(word));
    let mut unmet = summary.unmet.clone();
    let unmet_others = unmet.remove("").unwrap_or(0);
    json!({
        "judgements": {
            "sessions": summary.sessions,
            "changes": summary.changes,
            "looks": summary.looks,
            "sessions_by_status": by_status(&summary.sessions_by_reason),
            "sessions_by_reason": summary.sessions_by_reason,
        },
        "aborts": aborts_json(&summary),
        "rescues": {"tried": summary.rescues.0, "kept": summary.rescues.1, "success_rate": round_share(summary.rescue_rate())},
        "questions": {
            "total": summary.all_questions(), "of_sessions": of_sessions, "of_changes": of_changes, "of_looks": of_looks,
            "per_session": round_share(summary.questions_per_session()), "per_iteration": round_share(summary.questions_per_iteration()),
            "input_tokens": reported(word::QUESTION_TOKENS_IN, word::QUESTION_TOKENS_REPORTED),
            "output_tokens": reported(word::QUESTION_TOKENS_OUT, word::QUESTION_TOKENS_REPORTED),
            "tokens_told_by": of(word::QUESTION_TOKENS_REPORTED),
            "cost_usd": sums.question_cost_usd(),
            "cost_told_by": of(word::QUESTION_COST_REPORTED),
            "of": of(measure::QUESTION_VERDICTS),
        },
        "timeouts": {"total": summary.timeouts, "per_session": round_share(summary.timeout_rate())},
        "completions": {
            "total": summary.completions,
            "listed": completed.len(),
            "seconds": spread_json(summary.seconds, 1.0),
            "cost_usd": spread_json(summary.cost_micros, 1e6),
            "sessions": spread_json(summary.sessions_each, 1.0),
        },
        "held_back": {"by_reason": summary.held_back(), "unmet_checks": unmet, "unmet_others": unmet_others},
        "strikes": {"counted": summary.strikes, "not_counted": summary.no_strikes},
        "session_time": {"seconds": reported(measure::SESSION_SECONDS, measure::SESSIONS_TIMED), "told_by": of(measure::SESSIONS_TIMED),
                         "of": of(word::ENDED)},
    })
}

/// Reasons that this version does not know count as `other`.
fn by_status<'a>(
    reasons: impl IntoIterator<Item = (&'a String, &'a u64)>,
) -> BTreeMap<&'a str, u64> {
    let mut counts = BTreeMap::new();
    for (word, count) in reasons {
        let status = Reason::from_word(word).map_or("other", |reason| reason.status().as_str());
        *counts.entry(status).or_default() += count;
    }
    counts
}

fn aborts_json(summary: &MeasureSummary) -> Value {
    let counts = |counts: &AbortCounts| {
        json!({"total": counts.total, "went_on": counts.went_on, "went_on_in_new_session": counts.in_new_session,
               "held": counts.held, "undecided": counts.count_undecided(), "false_rate": round_share(counts.false_rate())})
    };
    let mut object = counts(&summary.aborts);
    object["window_days"] = (ABORT_WINDOW.as_secs() / 86_400).into();
    object["by_why"] = summary
        .aborts_by_why
        .iter()
        .map(|(why, of)| (why.clone(), counts(of)))
        .collect::<Map<_, _>>()
        .into();
    object
}

fn spread_json(spread: Option<Spread>, unit: f64) -> Value {
    let at = |of: fn(&Spread) -> f64| spread.as_ref().map(|spread| of(spread) / unit);
    json!({"median": at(|spread| spread.median), "p90": at(|spread| spread.p90), "told_by": spread.map_or(0, |spread| spread.count)})
}

fn round_share(share: Option<f64>) -> Option<f64> {
    share.map(|share| (share * 10_000.0).round() / 10_000.0)
}
