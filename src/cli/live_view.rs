//! The view of a loop in a terminal: a few lines at its lower end that are drawn anew each second, below the story that scrolls by.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use crate::agent::stream::StreamTap;
use crate::cli::terminal::CommandTerminal;
use crate::cli::terminal_frame::TerminalFrame;
use crate::clock::now;
use crate::judge::command_env::ProgressCallback;
use crate::modes::iterate::{LoopPhase, LoopStatus, LoopView};
use watchdog_core::decision::iteration::next::PauseReason;
use watchdog_core::decision::termination::SpentUsage;
use watchdog_facts::display::escape_to_one_line;

/// Between two drawings.
const TICK: Duration = Duration::from_secs(1);

/// The view of a loop in a terminal.
pub struct LiveView {
    terminal: CommandTerminal,
    drawn: Mutex<DrawnFrame>,
    ended: Condvar,
}

#[derive(Default)]
struct DrawnFrame {
    status: Option<LoopStatus>,
    frame: TerminalFrame,
    over: bool,
}

impl LiveView {
    /// Begins, where stderr is a terminal that can be drawn on and somebody wants to be told things.
    pub fn start(terminal: &CommandTerminal) -> Option<Arc<Self>> {
        if terminal.is_quiet() || !TerminalFrame::can_be_drawn() {
            return None;
        }
        let view = Arc::new(LiveView { terminal: *terminal, drawn: Mutex::default(), ended: Condvar::new() });
        let drawing = Arc::clone(&view);
        std::thread::Builder::new().name("view".into()).spawn(move || drawing.keep_drawing()).ok()?;
        Some(view)
    }

    /// Tells the story above the view.
    pub fn narrator(self: &Arc<Self>) -> ProgressCallback {
        let view = Arc::clone(self);
        let tell = self.terminal.narrator();
        Arc::new(move |text: &str| {
            let mut drawn = view.drawn();
            drawn.erase();
            tell(text);
            drawn.draw();
        })
    }

    /// Takes the view away, for the verdict.
    pub fn end(&self) {
        let mut drawn = self.drawn();
        drawn.over = true;
        drawn.erase();
        drop(drawn);
        self.ended.notify_all();
    }

    fn drawn(&self) -> MutexGuard<'_, DrawnFrame> {
        // A view that panicked while it was drawn is drawn anew.
        self.drawn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_drawing(&self) {
        let mut drawn = self.drawn();
        while !drawn.over {
            drawn.erase();
            drawn.draw();
            drawn = self.ended.wait_timeout(drawn, TICK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl LoopView for LiveView {
    fn show(&self, status: &LoopStatus) {
        let mut drawn = self.drawn();
        drawn.status = Some(status.clone());
        drawn.erase();
        drawn.draw();
    }
}

impl DrawnFrame {
    fn erase(&mut self) {
        self.frame.erase();
    }

    fn draw(&mut self) {
        let Some(status) = self.status.as_ref().filter(|status| !self.over && status.phase != LoopPhase::Over) else { return };
        if TerminalFrame::may_be_drawn() {
            self.frame.draw(&lines(status, now()));
        }
    }
}

/// What is shown. Nothing in it steers a terminal.
fn lines(status: &LoopStatus, now: Timestamp) -> Vec<String> {
    let since = |at: Timestamp| Duration::try_from(now.duration_since(at)).unwrap_or_default();
    let mut head = vec![
        escape_to_one_line(&status.spec),
        format!("iteration {}/{}", status.iteration, status.max_iterations),
        clock(since(status.since)),
    ];
    let live = status.tap.as_ref().map(StreamTap::view);
    let spent = live.as_ref().map_or(status.spent, |live| status.spent.plus(SpentUsage::of(&live.usage)));
    if spent.cost_usd > 0.0 {
        head.push(format!("${:.2}", spent.cost_usd));
    }
    if spent.tokens > 0 {
        head.push(format!("{} tokens", thousands(spent.tokens)));
    }
    if let Some((state, strikes, limit)) = status.breaker {
        head.push(format!("breaker {} {strikes}/{limit}", state.as_str()));
    }
    let second = match status.phase {
        LoopPhase::Session { since: at } => {
            let line = live.map(|live| escape_to_one_line(&live.last_line)).filter(|line| !line.is_empty());
            format!("session {}{}", clock(since(at)), line.map(|line| format!(": {line}")).unwrap_or_default())
        }
        LoopPhase::Judging => "judging".to_string(),
        LoopPhase::Pause { until, why } => {
            let left = Duration::try_from(until.duration_since(now)).unwrap_or_default();
            format!("{}: next session at {until:.0}, in {}", pause(why), clock(left))
        }
        LoopPhase::Over => return Vec::new(),
    };
    vec![head.join(" · "), format!("  {second}")]
}

fn pause(why: PauseReason) -> &'static str {
    match why {
        PauseReason::Cooldown => "cooldown",
        PauseReason::UsageLimit => "usage limit",
        PauseReason::Overload => "no room for the session",
        PauseReason::Crash => "after a crash",
        PauseReason::BackgroundWork => "background work",
    }
}

/// `7s`, `12m04s`, `1h02m`.
fn clock(length: Duration) -> String {
    let seconds = length.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h{minutes:02}m"),
    }
}

/// `950`, `12.3k`, `4.5M`.
fn thousands(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_core::decision::breaker::BreakerState;
    use watchdog_process::OutputReader as _;

    fn status(phase: LoopPhase) -> LoopStatus {
        LoopStatus {
            spec: "au\x1b[2Jth".into(),
            iteration: 3,
            max_iterations: 30,
            since: Timestamp::UNIX_EPOCH,
            phase,
            spent: SpentUsage { cost_usd: 1.234, tokens: 45_120, ..SpentUsage::default() },
            breaker: Some((BreakerState::Closed, 1, 3)),
            tap: None,
        }
    }

    #[test]
    fn iteration_time_cost_breaker_and_what_is_going_on_are_shown() {
        let at = |seconds| Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(seconds);
        let head = "au\\x1b[2Jth · iteration 3/30 · 12m04s · $1.23 · 45.1k tokens · breaker closed 1/3";
        let tap = StreamTap::default();
        tap.push(b"thinking\nreading \x1b]0;x\x07the tests\n");
        let session = LoopStatus { tap: Some(tap), ..status(LoopPhase::Session { since: at(700) }) };
        assert_eq!(lines(&session, at(724))[0], head);
        assert!(lines(&session, at(724))[1].starts_with("  session 24s: reading "), "{:?}", lines(&session, at(724)));
        assert!(!lines(&session, at(724)).concat().contains('\x1b'));
        let pause = status(LoopPhase::Pause { until: at(724 + 3720), why: PauseReason::UsageLimit });
        assert_eq!(lines(&pause, at(724)), [head, "  usage limit: next session at 1970-01-01T01:14:04Z, in 1h02m"]);
        assert!(lines(&status(LoopPhase::Over), at(724)).is_empty());
    }
}
