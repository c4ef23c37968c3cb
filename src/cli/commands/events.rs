//! `watchdog events`: what was seen and decided, and, with `--follow`, what is seen and decided from now on.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::cli::args::EventsArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::reader;
use crate::cli::terminal::CommandTerminal;
use crate::cli::time_span::SinceTime;
use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::open_worktree::OpenWorktree;
use crate::judge::signals::SignalUrgency;
use crate::notify::event_tail::EventTail;
use crate::wire::event_json::event_json;
use crate::wire::event_words::answers_to;
use watchdog_facts::display::escape_to_one_line;
use watchdog_store::engine::{EventCursor, StoredEvent};
use watchdog_store::{LocalStore, open_store};

use super::runtime::in_runtime;

/// How many events are read at a time.
const BATCH: usize = 1_000;

/// Which events are shown.
struct EventFilter {
    /// `None` stands for every worktree.
    worktree: Option<String>,
    words: Vec<String>,
    since: Option<Timestamp>,
}

impl EventFilter {
    fn has(&self, event: &StoredEvent) -> bool {
        self.worktree.as_ref().is_none_or(|worktree| *worktree == event.worktree)
            && self.since.is_none_or(|since| since <= event.at)
            && answers_to(event, &self.words)
    }
}

/// Prints the last events, oldest first; with `--follow` then goes on until a signal comes or the reader goes away.
pub fn events(command_env: &CommandEnv, terminal: &CommandTerminal, args: EventsArgs) -> Result<u8, CommandFailure> {
    let (store, worktree) = open(command_env, args.all)?;
    let since = args.since.map(|since| match since {
        SinceTime::Ago(ago) => now().checked_sub(ago).unwrap_or(Timestamp::MIN),
        SinceTime::At(at) => at,
    });
    let chosen = EventFilter { worktree, words: args.kind, since };
    // A span of time is shown whole; without one the last few do.
    let last = args.last.unwrap_or(if since.is_some() { usize::MAX } else { 50 });
    let (found, cursor) = last_of(store.as_ref(), &chosen, last)?;
    let show = |event: &StoredEvent| reader::write_line(&if terminal.json { terminal.value_to(&event_json(event)) } else { line(event) });
    if found.iter().any(|event| show(event).is_err()) {
        return Ok(0);
    }
    if !args.follow {
        return Ok(0);
    }
    in_runtime(async |signals| {
        let mut tail = EventTail::new(store, command_env.state.root(), cursor);
        let mut reported = false;
        loop {
            match tail.read().await {
                Ok(events) => {
                    reported = false;
                    if events.iter().filter(|event| chosen.has(event)).any(|event| show(event).is_err()) {
                        return 0;
                    }
                    if !events.is_empty() {
                        continue;
                    }
                }
                // A store that cannot be read now may be read later; saying so once is enough.
                Err(error) if !reported => {
                    reported = true;
                    command_env.tell(&format!("{error}; looking again until it can be read"));
                }
                Err(_) => {}
            }
            tokio::select! {
                () = tail.changed() => {}
                () = signals.reached(SignalUrgency::Interrupted) => return 128 + u8::try_from(signals.last()).unwrap_or(0),
            }
            if reader::is_gone() {
                return 0;
            }
        }
    })
}

/// The store, and the worktree to show the events of; no worktree is needed to show those of all.
fn open(command_env: &CommandEnv, all: bool) -> Result<(Arc<dyn LocalStore>, Option<String>), CommandFailure> {
    if all {
        command_env.state.ensure()?;
        return Ok((open_store(&command_env.state)?, None));
    }
    let open = OpenWorktree::open(command_env)?;
    Ok((open.store, Some(open.worktree_id)))
}

/// The last `n` of the chosen events, and the place after the newest event of all.
fn last_of(store: &dyn LocalStore, chosen: &EventFilter, n: usize) -> Result<(VecDeque<StoredEvent>, EventCursor), CommandFailure> {
    let end = store.cursor_at(Timestamp::MAX)?;
    let begin = match chosen.since {
        Some(since) => store.cursor_at(since)?,
        None => EventCursor::START,
    };
    let (mut found, mut left) = (VecDeque::new(), end);
    while found.len() < n && left > begin {
        let wanted = n - found.len();
        // Without words to look for, each event that is read is wanted.
        let batch = if chosen.words.is_empty() { wanted.min(BATCH) } else { BATCH };
        let (events, before) = store.read_back(left, chosen.worktree.as_deref(), batch)?;
        if events.is_empty() {
            break;
        }
        left = before;
        for event in events.into_iter().rev().filter(|event| chosen.has(event)).take(wanted) {
            found.push_front(event);
        }
    }
    Ok((found, end))
}

fn line(event: &StoredEvent) -> String {
    let spec = event.spec.as_deref().unwrap_or("-");
    format!(
        "{:.3}  {:<16} {}  {}",
        event.at,
        escape_to_one_line(&event.kind),
        escape_to_one_line(spec),
        escape_to_one_line(&gist(&event.data))
    )
}

/// A verdict in its own words; anything else as the JSON that it is, cut.
fn gist(data: &Value) -> String {
    let text = |key: &str| data.get(key).and_then(Value::as_str);
    let mut gist = match (text("status"), text("reason"), text("message")) {
        (Some(status), Some(reason), Some(message)) => format!("{status} ({reason}): {message}"),
        _ => data.to_string(),
    };
    if let Some((end, _)) = gist.char_indices().nth(160) {
        gist.truncate(end);
        gist.push('…');
    }
    gist
}
