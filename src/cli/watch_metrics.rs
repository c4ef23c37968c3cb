//! The page that `watchdog watch --metrics` serves: the metrics of the records, and those of the watch itself.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::metrics_server::MetricsPage;
use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::modes::watching::{WatchCounts, WatchFigures};
use crate::report::PathFilter;
use crate::report::metrics::{CounterHistory, count, metrics, seconds};
use crate::report::overview::overview;
use crate::wire::metrics_text::{MetricSeries, metrics_text};
use watchdog_store::{LocalStore, StoreError};

/// Several scrapers at a time have the same page.
const FRESH: Duration = Duration::from_secs(1);

/// What is kept between two pages.
#[derive(Default)]
struct PageState {
    history: CounterHistory,
    last: Option<(Instant, String)>,
}

/// The page of a watch that begins now.
pub fn watch_page(
    command_env: &CommandEnv,
    store: Arc<dyn LocalStore>,
    figures: Arc<WatchFigures>,
) -> MetricsPage {
    let (state, home, began) = (
        command_env.state.clone(),
        command_env.claude_home.clone(),
        now(),
    );
    let kept = Mutex::new(PageState::default());
    Arc::new(move || {
        // Whoever waits here has the page that another one just had made.
        let mut kept = kept
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, text)) = kept.last.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok(text.clone());
        }
        let everywhere = PathFilter::default();
        let mut of_records = || -> Result<Vec<MetricSeries>, StoreError> {
            let now = now();
            let mut found = overview(store.as_ref(), &state, &everywhere, now)?;
            found.read_sessions(&state, &home);
            let (sums, incomplete) = kept.history.sums(store.as_ref(), &everywhere, now, || {})?;
            Ok(metrics(&found, &sums, incomplete, now))
        };
        let mut series = of_records().map_err(|error| error.to_string())?;
        series.extend(of_watch(&figures.counts(), began));
        let text = metrics_text(&series);
        kept.last = Some((Instant::now(), text.clone()));
        Ok(text)
    })
}

fn of_watch(counts: &WatchCounts, began: Timestamp) -> Vec<MetricSeries> {
    let counter = |name, help, amount| MetricSeries::counter(name, help).with(&[], count(amount));
    let gauge = |name, help, amount| MetricSeries::gauge(name, help).with(&[], count(amount));
    vec![
        MetricSeries::gauge(
            "watchdog_watch_start_timestamp_seconds",
            "When this watch began, in seconds since 1970.",
        )
        .with(&[], seconds(began)),
        counter(
            "watchdog_watch_scans_total",
            "Looks at single worktrees that this watch began.",
            counts.scans,
        ),
        counter(
            "watchdog_watch_judgements_total",
            "Judgements that this watch printed.",
            counts.judgements,
        ),
        counter(
            "watchdog_watch_full_scans_total",
            "How often every worktree was looked at again: after dropped events, a suspend or a stop, and every five minutes.",
            counts.full_scans,
        ),
        gauge(
            "watchdog_watch_queue_length",
            "Worktrees that wait for a look.",
            counts.due,
        ),
        gauge(
            "watchdog_watch_scans_under_way",
            "Looks that are under way.",
            counts.under_way,
        ),
        gauge(
            "watchdog_watch_worktrees",
            "Worktrees that this watch watches.",
            counts.worktrees,
        ),
        gauge(
            "watchdog_watch_folders",
            "Folders that the system watches for this watch.",
            counts.folders,
        ),
    ]
}
