//! The view of loops in a terminal: two lines for one loop, and one for each agent of a pool.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;

use crate::cli::progress_frame::ProgressFrame;
use crate::cli::terminal::CommandTerminal;
use watchdog_agent::stream::StreamTap;
use watchdog_core::decision::termination::SpentUsage;
use watchdog_facts::display::escape_to_one_line;
use watchdog_judge::judge::command_env::ProgressCallback;
use watchdog_judge::modes::iterate::{LoopPhase, LoopStatus, LoopView, why_in_words};
use watchdog_judge::modes::work::AgentPoolView;
use watchdog_system::lock_mutex;
use watchdog_view::progress_text::{
    format_clock, format_elapsed, format_spent, measure_elapsed, progress_line,
};

/// The loops that run, by the name that stands before each; that of a loop alone is empty.
type RunningLoops = Arc<Mutex<BTreeMap<String, LoopStatus>>>;

/// The view of one loop, or of a pool of them.
#[derive(Clone)]
pub struct LiveView {
    loops: RunningLoops,
    frame: Arc<ProgressFrame>,
}

/// A loop of a view.
struct NamedLoop {
    name: String,
    view: LiveView,
}

impl LiveView {
    /// Begins, where somebody wants to be told things.
    pub fn start(terminal: &CommandTerminal) -> Option<Self> {
        let loops = RunningLoops::default();
        let shown = Arc::clone(&loops);
        let frame = ProgressFrame::start(terminal, move |now| all_lines(&lock_mutex(&shown), now))?;
        Some(LiveView { loops, frame })
    }

    /// Tells the story above the view.
    pub fn narrator(&self) -> ProgressCallback {
        self.frame.narrator()
    }

    /// Takes the view away, for the verdict.
    pub fn end(&self) {
        self.frame.end();
    }

    /// The view of a loop of this name.
    pub fn new_loop_view(&self, name: String) -> Arc<dyn LoopView> {
        Arc::new(NamedLoop {
            name,
            view: self.clone(),
        })
    }
}

impl AgentPoolView for LiveView {
    fn task_view(&self, agent: &str, task: &str) -> Arc<dyn LoopView> {
        self.new_loop_view(format!("{agent}: {task}"))
    }
}

impl LoopView for NamedLoop {
    fn show(&self, status: &LoopStatus) {
        let mut loops = lock_mutex(&self.view.loops);
        loops.insert(self.name.clone(), status.clone());
    }
}

impl Drop for NamedLoop {
    fn drop(&mut self) {
        lock_mutex(&self.view.loops).remove(&self.name);
    }
}

/// Returns the lines to show. The lines hold no terminal control sequence.
fn all_lines(loops: &BTreeMap<String, LoopStatus>, now: Timestamp) -> Vec<String> {
    let of = |(name, status): (&String, &LoopStatus)| match name.as_str() {
        "" => vec![
            progress_line(render_head(status, now)),
            format!("  {}", describe_activity(status, now)),
        ],
        name => {
            let mut parts = vec![escape_to_one_line(name)];
            // If there is little room, its present activity matters more than its figures.
            let mut figures = render_head(status, now);
            figures.remove(0);
            parts.push(figures.remove(0));
            parts.push(describe_activity(status, now));
            parts.extend(figures);
            vec![progress_line(parts)]
        }
    };
    loops.iter().flat_map(of).collect()
}

/// The spec, the iteration, the time and what was spent.
fn render_head(status: &LoopStatus, now: Timestamp) -> Vec<String> {
    let live = status.tap.as_ref().map(StreamTap::live_view);
    let spent = live.as_ref().map_or(status.spent, |live| {
        status.spent.plus(SpentUsage::from_usage(&live.usage))
    });
    let [cost, tokens] = format_spent(&spent);
    vec![
        escape_to_one_line(&status.spec),
        format!("iteration {}/{}", status.iteration, status.max_iterations),
        format_clock(measure_elapsed(status.since, now)),
        cost,
        tokens,
        status
            .breaker
            .as_ref()
            .map(|breaker| {
                let limit = breaker.limit.unwrap_or_default();
                format!(
                    "breaker {} {}/{limit}",
                    breaker.state.as_str(),
                    breaker.strikes
                )
            })
            .unwrap_or_default(),
    ]
}

/// Describes its present activity.
fn describe_activity(status: &LoopStatus, now: Timestamp) -> String {
    match status.phase {
        LoopPhase::Session { since, limit } => {
            let tap = status.tap.as_ref();
            let activity = tap.map(|tap| tap.live_view().describe_activity());
            let activity = activity.filter(|words| !words.is_empty());
            format!(
                "session {}{}",
                format_elapsed(measure_elapsed(since, now), limit),
                activity
                    .map(|words| format!(": {words}"))
                    .unwrap_or_default()
            )
        }
        LoopPhase::Judging => "judging".to_string(),
        LoopPhase::Pause { until, why } => {
            let time_left = Duration::try_from(until.duration_since(now)).unwrap_or_default();
            format!(
                "{}: next session at {until:.0}, in {}",
                why_in_words(why),
                format_clock(time_left)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_core::decision::breaker::BreakerView;
    use watchdog_core::decision::iteration::next::PauseReason;
    use watchdog_process::OutputReader as _;

    fn status(phase: LoopPhase) -> LoopStatus {
        LoopStatus {
            spec: "au\x1b[2Jth".into(),
            iteration: 3,
            max_iterations: 30,
            since: Timestamp::UNIX_EPOCH,
            phase,
            spent: SpentUsage {
                cost_usd: 1.234,
                tokens: 45_120,
                ..SpentUsage::default()
            },
            breaker: Some(BreakerView {
                strikes: 1,
                limit: Some(3),
                ..BreakerView::default()
            }),
            tap: None,
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(seconds)
    }

    fn lines(name: &str, status: LoopStatus) -> Vec<String> {
        all_lines(&BTreeMap::from([(name.to_owned(), status)]), at(724))
    }

    #[test]
    fn view_shows_iteration_time_cost_and_activity() {
        let head =
            "au\\x1b[2Jth · iteration 3/30 · 12:04 · $1.23 · 45.1k tokens · breaker closed 1/3";
        let tap = StreamTap::default();
        tap.push(b"thinking\nreading \x1b]0;x\x07the tests\n");
        let session = LoopStatus {
            tap: Some(tap),
            ..status(LoopPhase::Session {
                since: at(700),
                limit: Some(Duration::from_secs(90)),
            })
        };
        let shown = lines("", session);
        assert_eq!(shown[0], head);
        assert!(
            shown[1].starts_with("  session 0:24 of 1:30: reading ")
                && !shown.concat().contains('\x1b'),
            "{shown:?}"
        );
        let pause = status(LoopPhase::Pause {
            until: at(724 + 3720),
            why: PauseReason::UsageLimit,
        });
        assert_eq!(
            lines("", pause),
            [
                head,
                "  a usage limit was met: next session at 1970-01-01T01:14:04Z, in 1:02:00"
            ]
        );
    }

    #[test]
    fn each_pool_loop_has_its_named_line() {
        let line = "agent-1: T\\x07 · iteration 3/30 · judging · 12:04 · $1.23 · 45.1k tokens · breaker closed 1/3";
        assert_eq!(lines("agent-1: T\x07", status(LoopPhase::Judging)), [line]);
    }
}
