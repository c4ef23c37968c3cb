//! The view as lines, for pipes and for people who have their screen read to them: one for every worktree, then one for every change. No
//! cursor moves, and nothing is drawn twice.

use std::collections::HashMap;
use std::sync::mpsc::{RecvTimeoutError, channel};

use jiff::{Timestamp, Zoned};

use crate::cli::failure::{CommandFailure, signal_code};
use crate::cli::reader;
use crate::cli::table::{shown_path, style_of};
use crate::cli::terminal::CommandTerminal;
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_judge::clock::local_now;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::live_session::SessionLiveness;
use watchdog_view::attention::{AttentionRank, assess_attention};
use watchdog_view::git_counts::read_counts;
use watchdog_view::live::{
    cells::{breaker_text, choose_sign, state_of},
    input::LiveInput,
    live_data::LiveRowKey,
    session_poll::SessionPoll,
    signals::read_signals,
    store_poll::{ChosenRows, POLL, StorePoll},
};
use watchdog_view::overview::{StatusOverview, StatusRow};

/// The stamp that tells a changed row: a clock that goes on does not count.
type RowStamp = (String, AttentionRank, Option<Timestamp>, String);

/// Writes lines until nobody reads any more or a signal comes.
pub fn watch_as_lines(
    command_env: &CommandEnv,
    chosen: ChosenRows,
    terminal: &CommandTerminal,
    only: &[String],
) -> Result<u8, CommandFailure> {
    let no_room = |error: std::io::Error| {
        CommandFailure::store_failure(format!("the view cannot begin: {error}"))
    };
    let (to, inputs) = channel();
    read_signals(to.clone()).map_err(no_room)?;
    let polled = SessionPoll::default();
    polled
        .start(
            command_env.state.clone(),
            command_env.claude_home.clone(),
            to,
        )
        .map_err(no_room)?;
    let mut poll = StorePoll::new(command_env.clone(), chosen);
    let mut lines = PlainLines {
        terminal: *terminal,
        commands: WorktreeCommands::default().with_state_dir(command_env.state.explicit_dir()),
        only: only.to_vec(),
        sessions: HashMap::new(),
        away: None,
        shown: None,
    };
    let mut last = None;
    let mut failed = false;
    loop {
        match poll.poll() {
            Ok(Some(mut found)) => {
                failed = false;
                found.rows.iter_mut().for_each(read_counts);
                polled.set_sessions(&found.rows);
                last = Some(found);
            }
            Ok(None) => failed = false,
            Err(error) if !failed => {
                failed = true;
                terminal.complain(&format!(
                    "watchdog: cannot read the records, trying again: {}",
                    escape_to_one_line(&error.to_string())
                ));
            }
            Err(_) => {}
        }
        if let Some(last_overview) = &mut last
            && lines.show(last_overview).is_err()
        {
            return Ok(0);
        }
        match inputs.recv_timeout(POLL) {
            Ok(LiveInput::Ended(signal)) => {
                return Ok(signal_code(signal));
            }
            Ok(LiveInput::Session(key, live)) => {
                lines.sessions.insert(key, live);
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(0),
        }
        if reader::is_gone() {
            return Ok(0);
        }
    }
}

/// The lines, and what they said already.
struct PlainLines {
    terminal: CommandTerminal,
    commands: WorktreeCommands,
    only: Vec<String>,
    sessions: HashMap<LiveRowKey, SessionLiveness>,
    /// Why the fleet could not be read, as it was said last.
    away: Option<String>,
    /// The rows as they were shown last; `None` before the first time.
    shown: Option<HashMap<LiveRowKey, RowStamp>>,
}

impl PlainLines {
    /// Shows what is another than it was.
    ///
    /// # Errors
    /// Fails if the reader is gone.
    fn show(&mut self, shown_overview: &mut StatusOverview) -> std::io::Result<()> {
        for row in shown_overview
            .rows
            .iter_mut()
            .filter(|row| row.session.is_some() && row.seen.is_none())
        {
            row.live = self.sessions.get(&LiveRowKey::from_row(row)).copied();
        }
        let now = local_now();
        if let Some(overview) = shown_overview
            .fleet
            .as_ref()
            .filter(|overview| overview.away != self.away)
        {
            match &overview.away {
                Some(why) => self.terminal.complain(&format!(
                    "watchdog: the fleet cannot be read, trying again: {}",
                    escape_to_one_line(why)
                )),
                None => self
                    .terminal
                    .complain("watchdog: the fleet can be read again"),
            }
            self.away.clone_from(&overview.away);
        }
        let first = self.shown.is_none();
        if first && shown_overview.rows.is_empty() {
            let snapshot = self
                .commands
                .clone()
                .with_worktree(std::path::Path::new("WORKTREE"))
                .watchdog("snapshot");
            // A reader that waits for a first line gets one.
            reader::write_line(&match self.terminal.json {
                true => self.terminal.value_to(&shown_overview.to_json(|_| false)),
                false => format!(
                    "no worktree has a recorded baseline, so nothing is watched yet; begin with: {snapshot}"
                ),
            })?;
        }
        let mut before = self.shown.take().unwrap_or_default();
        let mut shown = HashMap::new();
        let mut order: Vec<&StatusRow> = shown_overview.rows.iter().collect();
        order.sort_by_key(|row| AttentionRank::from_row(row));
        for row in order {
            let (key, stamp) = (LiveRowKey::from_row(row), build_stamp(row));
            let is_new = before.remove(&key).is_none_or(|before| before != stamp);
            if is_new && row.is_one_of(&self.only) {
                let line = if self.terminal.json {
                    self.terminal
                        .value_to(&shown_overview.to_json(|other_row| std::ptr::eq(row, other_row)))
                } else {
                    self.line(row, &now)
                };
                reader::write_line(&line)?;
            }
            shown.insert(key, stamp);
        }
        for key in before.keys().filter(|_| !self.terminal.json) {
            reader::write_line(&format!(
                "{}  forgotten    {}",
                format_time(&now),
                shown_path(&key.worktree.display().to_string())
            ))?;
        }
        self.shown = Some(shown);
        Ok(())
    }

    fn line(&self, row: &StatusRow, now: &Zoned) -> String {
        let row_attention = assess_attention(row, &self.commands, now);
        let style = style_of(row.judged_status());
        let path = shown_path(&row.worktree.display().to_string());
        let mut line = format!(
            "{}  {style}{} {:<11}{style:#}  {path} [{}]",
            format_time(now),
            choose_sign(row_attention.rank),
            state_of(row),
            escape_to_one_line(&row.spec)
        );
        if !row_attention.why.is_empty() {
            line.push_str(&format!("  {}", row_attention.why));
        }
        if let Some(command) = row_attention
            .command
            .filter(|_| row_attention.rank.needs_person())
        {
            line.push_str(&format!("; type: {command}"));
        }
        line
    }
}

fn format_time(now: &Zoned) -> String {
    now.strftime("%H:%M:%S").to_string()
}

fn build_stamp(row: &StatusRow) -> RowStamp {
    (
        state_of(row),
        AttentionRank::from_row(row),
        row.verdict.as_ref().map(|verdict| verdict.at),
        breaker_text(row),
    )
}
