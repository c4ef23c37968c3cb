//! Reads what git and the logs say of the rows on the screen, in a thread of its own: a repository may be large, and a disk slow.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::input::LiveInput;
use super::live_data::{LiveRowKey, RowFacts, RowQuery, ShownFact};
use super::signals::spawn_reader;
use crate::git_counts::{count_commits, count_uncommitted};
use watchdog_agent::stream::StreamTap;
use watchdog_git::Worktree;
use watchdog_judge::clock::local_now;
use watchdog_judge::clock::local_time::local_time;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::session::LogReader;
use watchdog_judge::wire::event_sentences::describe_event;
use watchdog_judge::wire::session_events::ended_session_cost;
use watchdog_process::OutputReader as _;
use watchdog_store::engine::WantedKind;
use watchdog_store::journal::kind;
use watchdog_store::{LocalStore, StateDir, open_store_to_read};
use watchdog_system::lock_mutex;

/// Between two rounds.
const PAUSE: Duration = Duration::from_secs(1);
/// A worktree in which something runs is read again after this; any other as soon as its records change, or after the second.
const AGAIN: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(30));
/// Bytes of a log that are read in one round, so that a long one delays no other.
const ROUND: usize = 4 << 20;
const CHUNK: usize = 64 << 10;
/// How many events of a worktree are searched for the end of its last session.
const HISTORY: usize = 200;

/// The rows that are wanted, for the thread that reads them.
#[derive(Clone, Default)]
pub struct RowReader(Arc<(Mutex<Vec<RowQuery>>, Condvar)>);

/// The facts read of a row, and when.
struct ReadRow {
    facts: RowFacts,
    query: RowQuery,
    git_at: Instant,
}

/// The log of a session that runs, as far as it was read.
struct TailedLog {
    path: PathBuf,
    reader: LogReader,
    tap: StreamTap,
}

impl RowReader {
    /// Begins; facts go to `to`.
    pub fn start(&self, command_env: CommandEnv, to: Sender<LiveInput>) -> std::io::Result<()> {
        let reader = self.clone();
        spawn_reader("rows", move || reader.keep_reading(&command_env, &to))
    }

    /// Takes the rows that are on the screen now.
    pub fn want(&self, queries: Vec<RowQuery>) {
        *self.lock_queries() = queries;
        self.0.1.notify_all();
    }

    fn lock_queries(&self) -> MutexGuard<'_, Vec<RowQuery>> {
        lock_mutex(&self.0.0)
    }

    fn keep_reading(&self, command_env: &CommandEnv, to: &Sender<LiveInput>) {
        let mut read: HashMap<LiveRowKey, ReadRow> = HashMap::new();
        let mut logs: HashMap<LiveRowKey, TailedLog> = HashMap::new();
        loop {
            let queries = self.lock_queries().clone();
            logs.retain(|key, _| {
                queries
                    .iter()
                    .any(|query| query.key == *key && query.log.is_some())
            });
            for query in &queries {
                let before = read.get(&query.key);
                let mut facts = before.map(|row| row.facts.clone()).unwrap_or_default();
                let again = if query.runs { AGAIN.0 } else { AGAIN.1 };
                let fresh = before.is_some_and(|row| {
                    row.git_at.elapsed() < again
                        && row.query.changed == query.changed
                        && row.query.baseline == query.baseline
                });
                let git_at = match before {
                    Some(row) if fresh => row.git_at,
                    _ => {
                        read_worktree(query, &command_env.state, &mut facts);
                        Instant::now()
                    }
                };
                read_log(query, command_env, &mut logs, &mut facts);
                if before.is_none_or(|row| row.facts != facts)
                    && to
                        .send(LiveInput::Facts(query.key.clone(), facts.clone()))
                        .is_err()
                {
                    return;
                }
                read.insert(
                    query.key.clone(),
                    ReadRow {
                        facts,
                        query: query.clone(),
                        git_at,
                    },
                );
                // Other rows are on the screen by now: those first.
                if *self.lock_queries() != queries {
                    break;
                }
            }
            let wanted = self.lock_queries();
            if *wanted == queries {
                drop(
                    self.0
                        .1
                        .wait_timeout(wanted, PAUSE)
                        .unwrap_or_else(PoisonError::into_inner),
                );
            }
        }
    }
}

/// Reads the facts from git: a missing fact is unreadable, and never zero.
fn read_worktree(query: &RowQuery, state: &StateDir, facts: &mut RowFacts) {
    let Ok(worktree) = (if query.readable {
        Worktree::open(&query.key.worktree).map_err(drop)
    } else {
        Err(())
    }) else {
        (facts.commits, facts.unsaved) = (ShownFact::Unreadable, ShownFact::Unreadable);
        return;
    };
    facts.commits = to_shown_fact(count_commits(&worktree, query.baseline.as_deref()));
    facts.unsaved = to_shown_fact(count_uncommitted(&worktree));
    let work = || (worktree.worktree_id(), query.key.spec.clone());
    if query.has_fallback {
        facts.agent_change = open_store_to_read(state)
            .ok()
            .and_then(|store| last_agent_change(store.as_ref(), work()));
    }
    if query.log.is_none() {
        facts.cost = open_store_to_read(state).map_or(ShownFact::Unreadable, |store| {
            last_cost(store.as_ref(), work())
        });
    }
}

fn to_shown_fact<T, E>(read: Result<T, E>) -> ShownFact<T> {
    read.map_or(ShownFact::Unreadable, ShownFact::Known)
}

/// Returns the cost of the last session, if its program told that.
fn last_cost(store: &dyn LocalStore, work: (String, String)) -> ShownFact<f64> {
    match store.newest_of(&[work], &[WantedKind::any(kind::SESSION_ENDED)], HISTORY) {
        Ok(newest_events) => {
            let cost = newest_events
                .into_iter()
                .flatten()
                .next()
                .and_then(|event| ended_session_cost(&event.data));
            cost.map_or(ShownFact::Unknown, ShownFact::Known)
        }
        Err(_) => ShownFact::Unreadable,
    }
}

/// The last change of the agent, in words.
fn last_agent_change(store: &dyn LocalStore, work: (String, String)) -> Option<String> {
    let newest_events = store
        .newest_of(&[work], &[WantedKind::any(kind::AGENT_CHANGED)], HISTORY)
        .ok()?;
    let here = local_now();
    newest_events
        .into_iter()
        .flatten()
        .next()
        .map(|event| describe_event(&event, &|at| local_time(at, &here)))
}

fn read_log(
    query: &RowQuery,
    command_env: &CommandEnv,
    logs: &mut HashMap<LiveRowKey, TailedLog>,
    facts: &mut RowFacts,
) {
    let Some(path) = &query.log else {
        facts.last_line.clear();
        return;
    };
    if logs.get(&query.key).is_none_or(|log| log.path != *path) {
        facts.cost = ShownFact::Unknown;
        let Ok(reader) = LogReader::open(&command_env.state.logs(), path) else {
            return;
        };
        let (agent, read_as) = &query.agent;
        let stream = command_env.stream_of_session(
            &query.key.worktree,
            agent.as_deref(),
            read_as.as_deref(),
        );
        logs.insert(
            query.key.clone(),
            TailedLog {
                path: path.clone(),
                reader,
                tap: StreamTap::of_anyone(stream.as_ref()),
            },
        );
    }
    let Some(log) = logs.get_mut(&query.key) else {
        return;
    };
    let mut buffer = vec![0; CHUNK];
    for _ in 0..ROUND / CHUNK {
        match log.reader.read_next(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => log.tap.push(&buffer[..count]),
        }
    }
    let view = log.tap.view();
    facts.last_line = view.describe_activity();
    facts.cost = view
        .usage
        .cost_usd
        .map_or(ShownFact::Unknown, ShownFact::Known);
}
