//! The metrics of the present state and of all figures, for Prometheus. A fact that is unknown has no sample: unknown is never zero.
//!
//! Labels are bounded: worktrees and specs are those of the table of `status`, every other label has a fixed set of words.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::PathFilter;
use super::attention::AttentionRank;
use super::figures::gather_figures;
use super::overview::{StatusOverview, StatusRow};
use watchdog_core::decision::breaker::BreakerState;
use watchdog_facts::verdict::{Reason, Status};
use watchdog_judge::judge::live_session::SessionActivity;
use watchdog_judge::wire::figures_json::FiguresReport;
use watchdog_judge::wire::metrics_text::MetricSeries;
use watchdog_store::tally::{CounterSums, word};
use watchdog_store::{LocalStore, StoreError};

/// The sums of all days up to now, and how many days are known to be incomplete. `tell` is called where that may take a while.
///
/// # Errors
/// When the store cannot be read.
pub fn sum_all_days(
    store: &dyn LocalStore,
    below: &PathFilter,
    now: Timestamp,
    tell: impl FnOnce(),
) -> Result<(CounterSums, u64), StoreError> {
    let today = now.to_zoned(TimeZone::UTC).date();
    let FiguresReport { days, .. } = gather_figures(store, below, Date::MIN, today, tell)?;
    let mut sums = CounterSums::default();
    days.iter().for_each(|day| sums.merge(&day.sums));
    let incomplete_days = days.iter().filter(|day| day.incomplete).count();
    Ok((sums, incomplete_days as u64))
}

/// The metrics of the records at this moment.
pub fn collect_metrics(
    overview: &StatusOverview,
    sums: &CounterSums,
    incomplete_days: u64,
    now: Timestamp,
) -> Vec<MetricSeries> {
    let mut series = vec![
        MetricSeries::gauge(
            "watchdog_build_info",
            "The version of watchdog that wrote this.",
        )
        .with(&[("version", env!("CARGO_PKG_VERSION"))], 1.0),
        MetricSeries::gauge(
            "watchdog_collected_timestamp_seconds",
            "When the records were read, in seconds since 1970.",
        )
        .with(&[], instant_to_seconds(now)),
        MetricSeries::gauge(
            "watchdog_unreadable_records",
            "Records that could not be read; what they say is missing here.",
        )
        .with(&[], count_to_value(overview.notes.len() as u64)),
        MetricSeries::gauge(
            "watchdog_incomplete_figures",
            "Days whose counts are known to lack something.",
        )
        .with(&[], count_to_value(incomplete_days)),
    ];
    series.extend(of_rows(&overview.rows));
    series.extend(build_counter_series(sums));
    series
}

fn of_rows(rows: &[StatusRow]) -> Vec<MetricSeries> {
    let mut worktrees = MetricSeries::gauge(
        "watchdog_worktrees",
        "Worktrees with a recorded baseline, by the state of their newest spec.",
    );
    let mut by_status: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows
        .iter()
        .filter(|row| row.is_newest && !row.is_unrecorded)
    {
        *by_status.entry(name_state(row)).or_default() += 1;
    }
    for word in STATES {
        worktrees.add(
            &[("status", word)],
            count_to_value(by_status.get(word).copied().unwrap_or(0)),
        );
    }
    let mut work = MetricSeries::gauge(
        "watchdog_work_status",
        "1 with the last judgement on a spec that has a row in watchdog status.",
    );
    let mut person = MetricSeries::gauge(
        "watchdog_needs_person",
        "Whether nothing goes on until a person decides or mends something.",
    );
    let mut running = MetricSeries::gauge(
        "watchdog_running",
        "Whether a session or a watchdog works on it.",
    );
    let mut interrupted = MetricSeries::gauge(
        "watchdog_loop_interrupted",
        "Whether its loop was interrupted and waits to be run again.",
    );
    let mut broken = MetricSeries::gauge("watchdog_broken", "Whether git cannot use the worktree.");
    let mut judged_at = MetricSeries::gauge(
        "watchdog_last_judgement_timestamp_seconds",
        "When it was judged last, in seconds since 1970.",
    );
    let mut session = MetricSeries::gauge(
        "watchdog_session_live",
        "1 where a session runs, with how it does as far as that shows.",
    );
    let mut began = MetricSeries::gauge(
        "watchdog_session_start_timestamp_seconds",
        "When the session that runs began.",
    );
    let mut idle = MetricSeries::gauge(
        "watchdog_session_idle_seconds",
        "For how long the session that runs has been silent.",
    );
    let mut stalled = MetricSeries::gauge(
        "watchdog_session_stalled",
        "Whether the session that runs is silent for longer than it may be.",
    );
    let mut breaker = MetricSeries::gauge(
        "watchdog_breaker_state",
        "1 for the state that the circuit breaker has, 0 for the others.",
    );
    let mut strikes = MetricSeries::gauge(
        "watchdog_breaker_strikes",
        "Strikes since the last complete.",
    );
    for row in rows {
        let worktree = row.worktree.display().to_string();
        let of = [("worktree", worktree.as_str()), ("spec", row.spec.as_str())];
        let with = |name, value| [of[0], of[1], (name, value)];
        let reason = row
            .last_judgement()
            .and_then(|verdict| verdict.view.known_reason())
            .map_or("", Reason::as_str);
        work.add(
            &[
                of[0],
                of[1],
                ("status", name_state(row)),
                ("reason", reason),
            ],
            1.0,
        );
        let rank = AttentionRank::from_row(row);
        person.add(&of, flag_to_value(rank.needs_person()));
        running.add(&of, flag_to_value(row.runs()));
        interrupted.add(&of, flag_to_value(row.loop_interrupted()));
        broken.add(&of, flag_to_value(row.broken.is_some()));
        if let Some(verdict) = row.verdict.as_ref() {
            judged_at.add(&of, instant_to_seconds(verdict.at));
        }
        if let Some(record) = &row.session {
            let doing = row.live.map_or("unknown", |live| live.doing.as_str());
            session.add(&with("state", doing), 1.0);
            began.add(&of, instant_to_seconds(record.started_at));
            if let Some(live) = row.live {
                stalled.add(&of, flag_to_value(live.doing == SessionActivity::Stalled));
            }
            if let Some(silent) = row.live.and_then(|live| live.idle) {
                idle.add(&of, silent.as_secs_f64());
            }
        }
        for breaker_state in [
            BreakerState::Closed,
            BreakerState::Open,
            BreakerState::HalfOpen,
        ] {
            breaker.add(
                &with("state", breaker_state.as_str()),
                flag_to_value(breaker_state == row.breaker.state),
            );
        }
        strikes.add(&of, f64::from(row.breaker.strikes));
    }
    vec![
        worktrees,
        work,
        person,
        running,
        interrupted,
        broken,
        judged_at,
        session,
        began,
        idle,
        stalled,
        breaker,
        strikes,
    ]
}

/// Every word of the state of a worktree.
const STATES: [&str; 11] = [
    "complete",
    "incomplete",
    "waiting",
    "review",
    "timeout",
    "stopped",
    "failed",
    "error",
    "not_judged",
    "unreadable",
    "gone",
];

/// The status since the baseline, or why there is none.
fn name_state(row: &StatusRow) -> &'static str {
    match row.last_judgement() {
        _ if row.gone => "gone",
        Some(verdict) => verdict.status.map_or("unreadable", Status::as_str),
        None => "not_judged",
    }
}

/// Returns the sums of the journal as series. A figure that no session reported has no sample.
fn build_counter_series(sums: &CounterSums) -> Vec<MetricSeries> {
    let simple = [
        (
            "watchdog_sessions_started_total",
            "Sessions that began.",
            word::STARTED,
        ),
        (
            "watchdog_sessions_ended_total",
            "Sessions whose end was seen.",
            word::ENDED,
        ),
        (
            "watchdog_loop_iterations_total",
            "Iterations of loops that ended.",
            word::ITERATIONS,
        ),
        (
            "watchdog_questions_total",
            "Questions to agents and models.",
            word::QUESTIONS,
        ),
        (
            "watchdog_rescues_total",
            "Rescues that made commits or tried to.",
            word::RESCUES,
        ),
        (
            "watchdog_rescues_failed_total",
            "Rescues that failed.",
            word::RESCUES_FAILED,
        ),
        (
            "watchdog_rescue_commits_total",
            "Commits that rescues made.",
            word::RESCUE_COMMITS,
        ),
        (
            "watchdog_breaker_trips_total",
            "How often a circuit breaker opened.",
            word::TRIPS,
        ),
    ];
    let mut series: Vec<MetricSeries> = simple
        .into_iter()
        .map(|(name, help, word)| {
            MetricSeries::counter(name, help).with(&[], count_to_value(sums.get_sum(word)))
        })
        .collect();
    let mut verdicts =
        MetricSeries::counter("watchdog_verdicts_total", "Verdicts by status and reason.");
    for (word, amount) in sums.below(word::VERDICT) {
        let status = Reason::from_word(word).map_or("other", |reason| reason.status().as_str());
        verdicts.add(
            &[("status", status), ("reason", word)],
            count_to_value(amount),
        );
    }
    let mut probes = MetricSeries::counter(
        "watchdog_probes_total",
        "Probes of agents by how they ended.",
    );
    for (outcome, amount) in sums.below(word::PROBE) {
        probes.add(&[("outcome", outcome)], count_to_value(amount));
    }
    let mut tokens = MetricSeries::counter(
        "watchdog_tokens_total",
        "Tokens of those sessions and questions that report them.",
    );
    for (of, reported, input, output) in [
        (
            "session",
            word::TOKENS_REPORTED,
            word::TOKENS_IN,
            word::TOKENS_OUT,
        ),
        (
            "question",
            word::QUESTION_TOKENS_REPORTED,
            word::QUESTION_TOKENS_IN,
            word::QUESTION_TOKENS_OUT,
        ),
    ] {
        if sums.get_sum(reported) > 0 {
            tokens.add(
                &[("of", of), ("direction", "input")],
                count_to_value(sums.get_sum(input)),
            );
            tokens.add(
                &[("of", of), ("direction", "output")],
                count_to_value(sums.get_sum(output)),
            );
        }
    }
    let mut cost = MetricSeries::counter(
        "watchdog_cost_dollars_total",
        "US dollars of those sessions and questions that report them.",
    );
    for (of, dollars) in [
        ("session", sums.cost_usd()),
        ("question", sums.question_cost_usd()),
    ] {
        if let Some(dollars) = dollars {
            cost.add(&[("of", of)], dollars);
        }
    }
    series.extend([verdicts, probes, tokens, cost]);
    series
}

fn flag_to_value(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// A count as a value. Counts above 2^53 lose their last figures, which nobody misses.
#[expect(
    clippy::cast_precision_loss,
    reason = "the format has no other numbers"
)]
fn count_to_value(amount: u64) -> f64 {
    amount as f64
}

/// An instant in seconds since 1970.
#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds since 1970 fit for ages"
)]
fn instant_to_seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1e3
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
