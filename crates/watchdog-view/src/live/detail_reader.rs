//! Reads the open page of the detail, again and again while it is open, in a thread of its own.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use jiff::Timestamp;

use super::input::LiveInput;
use super::live_data::{DetailTab, LiveRowKey, SnapshotChoice, TabContent};
use super::signals::spawn_reader;
use super::timeline::{event_line, snapshot_line};
use super::verdict_text::verdict_lines;
use crate::diff_summary::summarize_diff;
use crate::event_order::by_time;
use crate::log_view::LogView;
use crate::logs_choice::{SessionPhase, choose_log};
use crate::show_failure::ShowFailure;
use crate::task_lines::{in_order, why_waiting};
use watchdog_agent::stream::OutputEvents;
use watchdog_facts::display::{escape_for_display, escape_to_one_line};
use watchdog_git::Worktree;
use watchdog_judge::clock::{local_now, now};
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::open_worktree::OpenWorktree;
use watchdog_judge::modes::work::task_queue::TaskQueue;
use watchdog_judge::session::LogReader;
use watchdog_judge::wire::judgement_events::with_those_within;
use watchdog_judge::wire::verdict_json::VerdictView;
use watchdog_store::baseline::BaselineRecord;
use watchdog_store::engine::{EventCursor, WantedKind};
use watchdog_store::journal::kind;
use watchdog_store::{LocalStore, RecordType, open_store_to_read};

/// Between two readings of output that comes, and of any other page.
const PAUSES: (Duration, Duration) = (Duration::from_millis(300), Duration::from_secs(2));
/// Events that are shown.
const EVENTS: usize = 500;
/// Lines of output that are kept.
const OUTPUT: usize = 2_000;
const CHUNK: usize = 64 << 10;
/// Patches are shown up to this many bytes.
const PATCHES: usize = 256 << 10;
/// How many events of a worktree are searched for its verdict.
const HISTORY: usize = 1_000;

/// The part of the detail to read.
#[derive(Debug)]
pub enum DetailRequest {
    /// A page, from now on; `None` = none.
    Tab(Option<(LiveRowKey, DetailTab)>),
    /// The difference that a snapshot makes, once.
    Diff(SnapshotChoice),
}

/// Begins; pages go to `to`.
pub fn start_detail_reader(
    command_env: CommandEnv,
    requests: Receiver<DetailRequest>,
    to: Sender<LiveInput>,
) -> std::io::Result<()> {
    spawn_reader("detail", move || {
        let mut open: Option<(LiveRowKey, DetailTab)> = None;
        let mut output = None;
        let mut last = None;
        loop {
            let follows = open
                .as_ref()
                .is_some_and(|(_, tab)| *tab == DetailTab::Output);
            match requests.recv_timeout(if follows { PAUSES.0 } else { PAUSES.1 }) {
                Ok(DetailRequest::Tab(tab)) => (open, output, last) = (tab, None, None),
                Ok(DetailRequest::Diff(snapshot)) => {
                    let content = read_diff(&snapshot);
                    if to.send(LiveInput::Diff(snapshot, content)).is_err() {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let Some((key, tab)) = &open else { continue };
            let of = CommandEnv {
                worktree: key.worktree.clone(),
                ..command_env.clone()
            };
            let read = match tab {
                tab if key.is_remote() => shared_page(&of, key, *tab),
                DetailTab::Timeline => read_timeline(&of, key),
                DetailTab::Output => read_output(&of, key, &mut output),
                DetailTab::Verdict => read_verdict(&of, key),
                DetailTab::Snapshots => read_snapshots(key),
                DetailTab::Tasks => read_tasks(&of),
            };
            let content = read.unwrap_or_else(|failure| TabContent {
                lines: describe_failure(&failure),
                ..TabContent::default()
            });
            if last.as_ref() != Some(&content) {
                last = Some(content.clone());
                if to.send(LiveInput::Tab(key.clone(), *tab, content)).is_err() {
                    return;
                }
            }
        }
    })
}

fn describe_failure(failure: &ShowFailure) -> Vec<String> {
    let hint = failure
        .hint
        .as_ref()
        .map(|hint| format!("  {}", escape_to_one_line(hint)));
    std::iter::once(escape_to_one_line(&failure.message))
        .chain(hint)
        .collect()
}

fn new_text_content(lines: Vec<String>) -> TabContent {
    TabContent {
        lines,
        snapshots: Vec::new(),
    }
}

/// The name of a worktree in the records; that of a folder that is gone is known by its path.
fn worktree_id(store: &dyn LocalStore, key: &LiveRowKey) -> Result<String, ShowFailure> {
    if let Ok(worktree) = Worktree::open(&key.worktree) {
        return Ok(worktree.worktree_id());
    }
    let baselines = BaselineRecord::list_rows(store)?;
    let is_it = |spec: &str, path: &PathBuf| spec == key.spec && *path == key.worktree;
    let id = baselines.into_iter().find_map(|(id, spec, row)| {
        row.ok()
            .filter(|row| is_it(&spec, &row.worktree))
            .map(|_| id)
    });
    id.ok_or_else(|| ShowFailure::from_text("nothing is recorded of this worktree any more"))
}

fn read_timeline(command_env: &CommandEnv, key: &LiveRowKey) -> Result<TabContent, ShowFailure> {
    let store = open_store_to_read(&command_env.state)?;
    let id = worktree_id(store.as_ref(), key)?;
    let (events, before) = store.read_back(store.cursor_at(Timestamp::MAX)?, Some(&id), EVENTS)?;
    let at = local_now();
    let whole = events.len() < EVENTS || before == EventCursor::START;
    let of_spec = events
        .into_iter()
        .filter(|event| event.spec.as_ref().is_none_or(|spec| *spec == key.spec));
    let mut lines: Vec<String> = by_time(of_spec.flat_map(with_those_within).collect())
        .iter()
        .map(|event| event_line(event, &at))
        .collect();
    if !whole {
        lines.insert(
            0,
            format!(
                "(the last {EVENTS} events; all are in: {})",
                command_env
                    .commands(&key.worktree)
                    .watchdog("events --last 100000")
            ),
        );
    }
    if lines.is_empty() {
        lines.push("no events are recorded of this work".into());
    }
    Ok(new_text_content(lines))
}

/// The output of a session, as far as it was read.
struct ReadOutput {
    path: PathBuf,
    reader: LogReader,
    events: OutputEvents,
    view: LogView,
    lines: VecDeque<String>,
    over: bool,
}

impl ReadOutput {
    fn read_more(&mut self, ended: bool) -> std::io::Result<()> {
        if self.over {
            return Ok(());
        }
        self.read_all()?;
        if ended {
            self.reader.session_ended()?;
            self.read_all()?;
            let last_events = self.events.finish();
            let mut lines: Vec<String> = last_events
                .iter()
                .flat_map(|event| self.view.lines(event))
                .collect();
            lines.extend(self.view.take_unended());
            self.keep(lines);
            self.over = true;
        }
        Ok(())
    }

    fn read_all(&mut self) -> std::io::Result<()> {
        let mut buffer = vec![0; CHUNK];
        loop {
            let count = self.reader.read_next(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            let events = self.events.push(&buffer[..count]);
            let lines = events
                .iter()
                .flat_map(|event| self.view.lines(event))
                .collect();
            self.keep(lines);
        }
    }

    fn keep(&mut self, lines: Vec<String>) {
        self.lines.extend(
            lines
                .into_iter()
                .map(|line| anstream::adapter::strip_str(&line).to_string()),
        );
        self.lines.drain(..self.lines.len().saturating_sub(OUTPUT));
    }
}

fn read_output(
    command_env: &CommandEnv,
    key: &LiveRowKey,
    read: &mut Option<ReadOutput>,
) -> Result<TabContent, ShowFailure> {
    let open = OpenWorktree::open_to_read(command_env)?;
    let chosen = choose_log(command_env, &open, Some(&key.spec))?;
    let unreadable = |error: std::io::Error| {
        ShowFailure::from_text(format!("cannot read {}: {error}", chosen.path.display()))
    };
    if read.as_ref().is_none_or(|read| read.path != chosen.path) {
        let opened = chosen.open_reader(&command_env.state.logs());
        let reader = opened.map_err(unreadable)?;
        let events = chosen.events(command_env, &open);
        let view = LogView::new(None);
        *read = Some(ReadOutput {
            path: chosen.path.clone(),
            reader,
            events,
            view,
            lines: VecDeque::new(),
            over: false,
        });
    }
    let phase = chosen.phase(&open);
    let Some(output) = read else {
        return Ok(TabContent::default());
    };
    output
        .read_more(phase == SessionPhase::Ended)
        .map_err(unreadable)?;
    let mut lines: Vec<String> = output.lines.iter().cloned().collect();
    if lines.is_empty() {
        lines.push(
            if phase == SessionPhase::Runs {
                "the session has said nothing yet"
            } else {
                "the session said nothing"
            }
            .into(),
        );
    }
    Ok(new_text_content(lines))
}

fn read_verdict(command_env: &CommandEnv, key: &LiveRowKey) -> Result<TabContent, ShowFailure> {
    let store = open_store_to_read(&command_env.state)?;
    let work = (worktree_id(store.as_ref(), key)?, key.spec.clone());
    let newest = store
        .newest_of(&[work], &[WantedKind::any(kind::VERDICT)], HISTORY)?
        .into_iter()
        .flatten()
        .next();
    let none = || {
        let judge = command_env.commands(&key.worktree).watchdog("check --once");
        vec![
            "This work was never judged.".to_owned(),
            format!("Judge it with: {judge}"),
        ]
    };
    Ok(new_text_content(newest.map_or_else(none, |event| {
        verdict_lines(&VerdictView::read(&event.data), event.at, &local_now())
    })))
}

/// Returns the copied data for a page of another machine.
fn shared_page(
    command_env: &CommandEnv,
    key: &LiveRowKey,
    tab: DetailTab,
) -> Result<TabContent, ShowFailure> {
    let copies = CommandEnv {
        state: command_env.state.fleet_mirror(),
        ..command_env.clone()
    };
    Ok(match tab {
        DetailTab::Timeline => read_timeline(&copies, key)?,
        DetailTab::Verdict => {
            let mut lines = read_verdict(&copies, key)?.lines;
            for line in &mut lines {
                *line = line
                    .replace(": not read", ": not shared")
                    .replace(": not recorded", ": not shared");
            }
            lines.push(
                "Commits by name, paths, feedback of checks and answers are not shared.".into(),
            );
            new_text_content(lines)
        }
        DetailTab::Output | DetailTab::Snapshots | DetailTab::Tasks => {
            new_text_content(vec![format!(
                "not shared: the {} of a worktree stays on its machine",
                tab.as_str()
            )])
        }
    })
}

fn read_snapshots(key: &LiveRowKey) -> Result<TabContent, ShowFailure> {
    let worktree = Worktree::open(&key.worktree)?;
    let root = worktree.root().to_string_lossy().into_owned();
    let at = now();
    let all_snapshots = worktree.snapshots(None)?;
    let here = all_snapshots
        .into_iter()
        .filter(|snapshot| snapshot.worktree == root || snapshot.spec == key.spec);
    let snapshots: Vec<SnapshotChoice> = here
        .map(|snapshot| SnapshotChoice {
            worktree: key.worktree.clone(),
            line: snapshot_line(&snapshot, at),
            id: snapshot.id,
        })
        .collect();
    let lines = if snapshots.is_empty() {
        vec!["no snapshots".to_owned()]
    } else {
        Vec::new()
    };
    Ok(TabContent { lines, snapshots })
}

fn read_diff(snapshot: &SnapshotChoice) -> TabContent {
    let read = || -> Result<TabContent, ShowFailure> {
        let worktree = Worktree::open(&snapshot.worktree)?;
        let diff = worktree
            .snapshot_diff(&snapshot.id, PATCHES)
            .map_err(|error| ShowFailure::from_text(error.to_string()))?;
        let mut lines = summarize_diff(&diff);
        for patch in diff.files.iter().filter_map(|file| file.patch.as_ref()) {
            lines.push(String::new());
            lines.extend(patch.lines().map(escape_for_display));
        }
        if diff.cut {
            lines.push(String::new());
            lines.push("… the rest of the patches is left out here".into());
        }
        Ok(new_text_content(lines))
    };
    read().unwrap_or_else(|failure| new_text_content(describe_failure(&failure)))
}

fn read_tasks(command_env: &CommandEnv) -> Result<TabContent, ShowFailure> {
    let queue = TaskQueue::open(command_env)?;
    let board = queue.board()?;
    let mut lines = Vec::new();
    for entry in in_order(&board) {
        let why = why_waiting(&board, entry)
            .map(|why| format!("  {why}"))
            .unwrap_or_default();
        let title = escape_to_one_line(&entry.loaded.task.title);
        lines.push(format!(
            "{:<11}  {:<8}  {title}{why}",
            entry.record.status.as_str(),
            escape_to_one_line(entry.id())
        ));
    }
    lines.extend(
        queue
            .folder
            .problems
            .iter()
            .map(|problem| escape_to_one_line(&problem.to_string())),
    );
    if lines.is_empty() {
        lines.push(format!(
            "no tasks in {}",
            escape_to_one_line(&queue.effective.settings.tasks.dir)
        ));
    }
    Ok(new_text_content(lines))
}
