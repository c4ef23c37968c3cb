//! `watchdog events`: what was seen and decided, and, with `--follow`, what is seen and decided from now on.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

use crate::cli::args::EventsArgs;
use crate::cli::event_lines::{EventLineStyle, EventLines, choose_time_zone};
use crate::cli::failure::{CommandFailure, signal_code};
use crate::cli::reader;
use crate::cli::table::terminal_width;
use crate::cli::terminal::CommandTerminal;
use crate::cli::time_span::SinceTime;
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::open_worktree::OpenWorktree;
use watchdog_judge::notify::event_tail::EventTail;
use watchdog_judge::wire::event_json::event_json;
use watchdog_judge::wire::event_words::answers_to;
use watchdog_judge::wire::judgement_events::with_those_within;
use watchdog_store::engine::{EventCursor, StoredEvent};
use watchdog_store::{LocalStore, RecordType, baseline::BaselineRecord, open_store_to_read};
use watchdog_view::event_order::by_time;

use super::runtime::in_runtime;

/// How many events are read at a time.
const BATCH: usize = 1_000;

/// Which events are shown.
pub(super) struct EventFilter {
    /// Without it, every worktree counts.
    pub(super) worktree: Option<String>,
    pub(super) words: Vec<String>,
    pub(super) since: Option<Timestamp>,
}

impl EventFilter {
    pub(super) fn has(&self, event: &StoredEvent) -> bool {
        self.worktree
            .as_ref()
            .is_none_or(|worktree| *worktree == event.worktree)
            && self.since.is_none_or(|since| since <= event.at)
            && answers_to(event, &self.words)
    }
}

/// Prints the last events, oldest first; with `--follow` then goes on until a signal comes or the reader goes away.
pub fn run_events_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: EventsArgs,
) -> Result<u8, CommandFailure> {
    let (store, worktree) = open_store(command_env, args.all)?;
    let (since, last) = span_of(&args);
    let chosen = EventFilter {
        worktree,
        words: args.kind,
        since,
    };
    let (found, cursor) = last_of(store.as_ref(), &chosen, last)?;
    let style = EventLineStyle {
        zone: choose_time_zone(args.utc),
        room: terminal_width(),
        whole: terminal.verbose,
        worktrees: (args.all && !terminal.json).then(|| load_worktree_folders(store.as_ref())),
        of_fleet: false,
    };
    let lines = EventLines::new(style, found.iter());
    let mut printer = EventPrinter {
        terminal: *terminal,
        lines,
        store: Arc::clone(&store),
    };
    if printer.show_all(found.into()).is_err() || !args.follow {
        return Ok(0);
    }
    in_runtime(async |signals| {
        let mut tail = EventTail::new(store, command_env.state.root(), cursor);
        let mut reported = false;
        loop {
            match tail.read_events().await {
                Ok(events) => {
                    reported = false;
                    let read = events.len();
                    let within = events
                        .into_iter()
                        .flat_map(with_those_within)
                        .filter(|event| chosen.has(event));
                    if printer.show_all(within.collect()).is_err() {
                        return 0;
                    }
                    if read > 0 {
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
                () = tail.wait_for_change() => {}
                () = signals.wait_for_interrupt() => return signal_code(signals.last()),
            }
            if reader::is_gone() {
                return 0;
            }
        }
    })
}

/// From when on, and how many at most: a span of time is shown whole; without one the last few do.
pub(super) fn span_of(args: &EventsArgs) -> (Option<Timestamp>, usize) {
    let since = args.since.as_ref().map(|since| match since {
        SinceTime::Ago(ago) => now().checked_sub(*ago).unwrap_or(Timestamp::MIN),
        SinceTime::At(at) => *at,
    });
    (
        since,
        args.last
            .unwrap_or(if since.is_some() { usize::MAX } else { 50 }),
    )
}

/// The store, and the worktree to show the events of; no worktree is needed to show those of all.
fn open_store(
    command_env: &CommandEnv,
    all: bool,
) -> Result<(Arc<dyn LocalStore>, Option<String>), CommandFailure> {
    if all {
        command_env.state.ensure()?;
        return Ok((open_store_to_read(&command_env.state)?, None));
    }
    let open = OpenWorktree::open_to_read(command_env)?;
    Ok((open.store, Some(open.worktree_id)))
}

/// The last `n` of the chosen events, and the place after the newest event of all.
fn last_of(
    store: &dyn LocalStore,
    chosen: &EventFilter,
    n: usize,
) -> Result<(VecDeque<StoredEvent>, EventCursor), CommandFailure> {
    let end = store.cursor_at(Timestamp::MAX)?;
    let begin = match chosen.since {
        Some(since) => store.cursor_at(since)?,
        None => EventCursor::START,
    };
    let (mut found, mut left) = (VecDeque::new(), end);
    while found.len() < n && left > begin {
        let wanted = n - found.len();
        // Without words to look for, each event that is read is wanted.
        let batch = if chosen.words.is_empty() {
            wanted.min(BATCH)
        } else {
            BATCH
        };
        let (events, before) = store.read_back(left, chosen.worktree.as_deref(), batch)?;
        if events.is_empty() {
            break;
        }
        left = before;
        let all = events
            .into_iter()
            .rev()
            .flat_map(|event| with_those_within(event).into_iter().rev());
        for event in all.filter(|event| chosen.has(event)).take(wanted) {
            found.push_front(event);
        }
    }
    Ok((found, end))
}

/// The folders of the worktrees that have a baseline, by their ids. An unreadable worktree has no
/// name.
fn load_worktree_folders(store: &dyn LocalStore) -> HashMap<String, PathBuf> {
    let rows = BaselineRecord::list_rows(store).unwrap_or_default();
    rows.into_iter()
        .filter_map(|(id, _, row)| Some((id, row.ok()?.worktree)))
        .collect()
}

/// Prints events, as they come.
struct EventPrinter {
    terminal: CommandTerminal,
    lines: EventLines,
    store: Arc<dyn LocalStore>,
}

impl EventPrinter {
    fn show_all(&mut self, events: Vec<StoredEvent>) -> io::Result<()> {
        let events = if self.terminal.json {
            events
        } else {
            by_time(events)
        };
        events.iter().try_for_each(|event| self.show(event))
    }

    fn show(&mut self, event: &StoredEvent) -> io::Result<()> {
        if self.terminal.json {
            return reader::write_line(&self.terminal.value_to(&event_json(event)));
        }
        if self.lines.lacks(event) {
            let unnamed = HashMap::from([(event.worktree.clone(), PathBuf::new())]);
            // A worktree without a baseline is not looked up again.
            self.lines.learn(
                unnamed
                    .into_iter()
                    .chain(load_worktree_folders(self.store.as_ref()))
                    .collect(),
            );
        }
        self.lines
            .next(event)
            .iter()
            .try_for_each(|line| reader::write_line(line))
    }
}
