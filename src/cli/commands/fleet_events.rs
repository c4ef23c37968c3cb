//! `watchdog events --fleet`: what happened on all machines, in the order in which the server has it.

use std::io;

use crate::cli::args::EventsArgs;
use crate::cli::event_lines::{EventLineStyle, EventLines, choose_time_zone};
use crate::cli::failure::{CommandFailure, signal_code};
use crate::cli::reader;
use crate::cli::table::terminal_width;
use crate::cli::terminal::CommandTerminal;
use std::time::Duration;
use watchdog_facts::display::escape_to_one_line;
use watchdog_fleet::member::{FleetJournal, FleetSetting, FollowedNews};
use watchdog_fleet::wire::fleet_copy::is_shared;
use watchdog_fleet::wire::fleet_json::fleet_event_json;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_store::engine::StoredEvent;
use watchdog_store::event_kinds;

use super::events::{EventFilter, span_of};
use super::runtime::in_runtime;

/// How often it is looked whether anybody still reads.
const READER: Duration = Duration::from_secs(2);

/// The fleet of this machine.
///
/// # Errors
/// Fails if it is in none, or the setting cannot be read.
pub(super) fn setting_of(command_env: &CommandEnv) -> Result<FleetSetting, CommandFailure> {
    FleetSetting::from_state_dir(&command_env.state)?.ok_or_else(|| {
        CommandFailure::usage("this machine is in no fleet")
            .hint("join one with: watchdog fleet join URL --name NAME")
    })
}

/// Prints the last events of all machines, oldest first; with `--follow` then goes on until a signal comes or the reader goes away.
pub fn print_fleet_events(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: EventsArgs,
) -> Result<u8, CommandFailure> {
    let setting = setting_of(command_env)?;
    let (since, last) = span_of(&args);
    let unshared_kinds: Vec<&str> = args
        .kind
        .iter()
        .map(String::as_str)
        .filter(|word| is_local_only(word))
        .collect();
    if !unshared_kinds.is_empty() {
        terminal.tell(&format!(
            "note: not shared with the fleet, and so not shown: {}",
            unshared_kinds.join(", ")
        ));
    }
    let journal = FleetJournal::new(&setting, args.machine)?;
    let chosen = EventFilter {
        worktree: None,
        words: args.kind,
        since,
    };
    let (found, end) = journal.last(last, since, |event| chosen.has(event))?;
    let style = EventLineStyle {
        zone: choose_time_zone(args.utc),
        room: terminal_width(),
        whole: terminal.verbose,
        worktrees: None,
        of_fleet: true,
    };
    let mut printer = FleetPrinter {
        terminal: *terminal,
        lines: EventLines::new(style, found.iter()),
    };
    if printer.show_all(&found).is_err() || !args.follow {
        return Ok(0);
    }
    in_runtime(async |signals| {
        // A thread of its own: every call of the server blocks. The follower waits for slow
        // printing.
        let (to, mut news) = tokio::sync::mpsc::channel(1);
        let follow = move || journal.follow(end, |news| to.blocking_send(news).is_ok());
        if let Err(error) = std::thread::Builder::new()
            .name("fleet events".into())
            .spawn(follow)
        {
            command_env.tell(&format!("cannot follow the fleet: {error}"));
            return 70;
        }
        loop {
            tokio::select! {
                news = news.recv() => match news {
                    Some(FollowedNews::Events(events)) => {
                        let events: Vec<StoredEvent> = events.into_iter().filter(|event| chosen.has(event)).collect();
                        if printer.show_all(&events).is_err() {
                            return 0;
                        }
                    }
                    Some(FollowedNews::Away(error)) => {
                        command_env.tell(&format!("{}; trying again until it answers", escape_to_one_line(&error.to_string())));
                    }
                    Some(FollowedNews::Back) => command_env.tell("the fleet's server answers again; what came meanwhile follows"),
                    Some(FollowedNews::Lost) => command_env.tell(
                        "the fleet's server lacks events that were shown, as after a failover or from a backup; \
                         what was written since follows, and what comes again is not shown twice"
                    ),
                    None => return 70,
                },
                () = signals.wait_for_interrupt() => return signal_code(signals.last()),
                () = tokio::time::sleep(READER) => {}
            }
            if reader::is_gone() {
                return 0;
            }
        }
    })
}

/// Whether a word chooses a kind of event that no machine shares.
fn is_local_only(word: &str) -> bool {
    event_kinds::ALL.contains(&word) && !is_shared(word)
}

/// Prints events of several machines.
struct FleetPrinter {
    terminal: CommandTerminal,
    lines: EventLines,
}

impl FleetPrinter {
    fn show_all(&mut self, events: &[StoredEvent]) -> io::Result<()> {
        for event in events {
            if self.terminal.json {
                reader::write_line(&self.terminal.value_to(&fleet_event_json(event)))?;
            } else {
                self.lines
                    .next(event)
                    .iter()
                    .try_for_each(|line| reader::write_line(line))?;
            }
        }
        Ok(())
    }
}
