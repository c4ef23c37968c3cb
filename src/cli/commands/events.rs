//! `watchdog events`: what was seen and decided.

use serde_json::json;

use crate::cli::args::EventsArgs;
use crate::cli::failure::Failure;
use crate::cli::terminal::Terminal;
use crate::decision::display::escape_to_one_line;
use crate::store::engine::Event;
use crate::supervisor::{Place, Surroundings};

/// How many events are looked through for those of one worktree.
const LOOKED_THROUGH: usize = 20_000;

/// Prints the last events, oldest first.
pub fn events(surroundings: &Surroundings, terminal: &Terminal, args: EventsArgs) -> Result<u8, Failure> {
    let place = Place::open(surroundings)?;
    let limit = if args.all { args.last } else { LOOKED_THROUGH };
    let mut events = place.store.newest(limit)?;
    events.retain(|event| args.all || event.worktree == place.worktree_id);
    let skip = events.len().saturating_sub(args.last);
    for event in events.iter().skip(skip) {
        if terminal.json { terminal.value(&to_json(event)) } else { terminal.line(&line(event)) }
    }
    Ok(0)
}

fn to_json(event: &Event) -> serde_json::Value {
    json!({"schema": 1, "id": event.id, "at": event.at.to_string(), "worktree": event.worktree, "spec": event.spec,
           "kind": event.kind, "data": event.data})
}

fn line(event: &Event) -> String {
    let spec = event.spec.as_deref().unwrap_or("-");
    let mut data = event.data.to_string();
    if data.len() > 160 {
        data = data.chars().take(160).collect::<String>() + "…";
    }
    format!("{:.3}  {:<16} {}  {}", event.at, event.kind, escape_to_one_line(spec), escape_to_one_line(&data))
}
