//! The shell around the view: threads that read, keys that come, frames that are drawn, deeds that are done.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anstream::{AutoStream, ColorChoice};
use rustix::process::{Signal, kill_current_process_group};
use tracing::level_filters::LevelFilter;

use super::perform::{RunWords, perform_deed};
use super::plain;
use crate::cli::args_status::StatusArgs;
use crate::cli::commands::fleet;
use crate::cli::commands::status::choose_rows;
use crate::cli::failure::{CommandFailure, signal_code};
use crate::cli::terminal::CommandTerminal;
use crate::cli::terminal_frame::is_dumb_terminal;
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_judge::clock::local_now;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::session::find_enclosing_session;
use watchdog_store::open_store;
use watchdog_view::live::{
    detail_reader::{DetailRequest, start_detail_reader},
    input::{LiveEffect, LiveInput},
    model::LiveModel,
    others_poll::OthersPoll,
    row_reader::RowReader,
    screen::{LiveScreen, terminal_size},
    session_poll::SessionPoll,
    signals::{read_keys, read_signals, spawn_reader},
    store_poll::{ChosenRows, POLL, StorePoll},
    trust_reader::prepare_trust,
    update::update_model,
};

/// Clocks on the screen go on this often.
const TICK: Duration = Duration::from_secs(1);
/// Inputs that one frame takes at most: a flood of them still leaves frames between.
const AT_ONCE: usize = 1_000;

/// Watches until somebody has seen enough.
pub fn watch_live(
    command_env: &CommandEnv,
    here: bool,
    terminal: &CommandTerminal,
    args: StatusArgs,
    run: RunWords,
) -> Result<u8, CommandFailure> {
    command_env.state.ensure()?;
    let others = match args.fleet {
        true => Some(
            OthersPoll::start(
                fleet::read_others(command_env, &args.machine)?,
                fleet::age_note,
            )
            .map_err(no_room)?,
        ),
        false => None,
    };
    let (below, specs) = choose_rows(command_env, here, &args);
    // A deed may end with notifications and progress: the view says what they came to.
    let quiet = CommandEnv {
        narrate: std::sync::Arc::new(|_: &str| {}),
        ..command_env.clone()
    };
    if terminal.json || args.plain || !is_drawable() {
        return plain::watch_as_lines(&quiet, (below, specs, others), terminal, &args.only);
    }
    let (to, inputs) = channel();
    read_signals(to.clone()).map_err(no_room)?;
    let screen = LiveScreen::take(args.mouse).map_err(|error| {
        CommandFailure::store_failure(format!("the terminal cannot be drawn on: {error}"))
            .hint("add --plain")
    })?;
    LiveShell::start(quiet, (below, specs, others), args.only, screen, run, to)?.run(&inputs)
}

/// Whether both ends are a terminal of a person's that can be drawn on, and the log does not write there, too.
fn is_drawable() -> bool {
    let logs = LevelFilter::current() != LevelFilter::OFF && io::stderr().is_terminal();
    !is_dumb_terminal() && !logs && io::stdin().is_terminal() && io::stdout().is_terminal()
}

fn no_room(error: io::Error) -> CommandFailure {
    CommandFailure::store_failure(format!("the view cannot begin: {error}"))
        .hint("add --plain, which needs fewer threads")
}

/// Everything that the event loop holds.
struct LiveShell {
    model: LiveModel,
    screen: LiveScreen,
    rows: RowReader,
    sessions: SessionPoll,
    detail: Sender<DetailRequest>,
    run: RunWords,
    to: Sender<LiveInput>,
    deed: Option<(String, JoinHandle<()>)>,
}

impl LiveShell {
    fn start(
        command_env: CommandEnv,
        chosen: ChosenRows,
        only: Vec<String>,
        mut screen: LiveScreen,
        run: RunWords,
        to: Sender<LiveInput>,
    ) -> Result<Self, CommandFailure> {
        let commands = WorktreeCommands::default().with_state_dir(command_env.state.explicit_dir());
        let mut model = LiveModel::new(local_now(), terminal_size(), commands);
        model.colour = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        model.home = std::env::var_os("HOME")
            .map(PathBuf::from)
            .filter(|home| home.is_absolute());
        model.only = only;
        screen.draw(&model).map_err(no_room)?;
        read_keys(to.clone()).map_err(no_room)?;
        let (rows, sessions) = (RowReader::default(), SessionPoll::default());
        let state = command_env.state.clone();
        rows.start(command_env.clone(), to.clone())
            .map_err(no_room)?;
        sessions
            .start(state.clone(), command_env.claude_home.clone(), to.clone())
            .map_err(no_room)?;
        let (detail, requests) = channel();
        start_detail_reader(command_env.clone(), requests, to.clone()).map_err(no_room)?;
        poll_records(&command_env, chosen, to.clone()).map_err(no_room)?;
        Ok(LiveShell {
            model,
            screen,
            rows,
            sessions,
            detail,
            run,
            to,
            deed: None,
        })
    }

    fn run(mut self, inputs: &Receiver<LiveInput>) -> Result<u8, CommandFailure> {
        let mut drawn = Instant::now();
        loop {
            let first = match inputs.recv_timeout(TICK.saturating_sub(drawn.elapsed())) {
                Ok(input) => input,
                Err(RecvTimeoutError::Timeout) => LiveInput::TimePassed(local_now()),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            };
            for input in std::iter::once(first).chain(inputs.try_iter().take(AT_ONCE)) {
                if let Some(code) = self.take(input)? {
                    return Ok(self.end(code));
                }
            }
            self.model.now = local_now();
            let size = terminal_size();
            if size != self.model.size {
                // Not every terminal sends a signal.
                let effects = update_model(&mut self.model, LiveInput::Resized(size.0, size.1));
                self.perform_all(effects)?;
            }
            self.screen.draw(&self.model).map_err(no_room)?;
            drawn = Instant::now();
        }
    }

    /// Takes an input; returns the exit code where it is the last.
    fn take(&mut self, input: LiveInput) -> Result<Option<u8>, CommandFailure> {
        match &input {
            LiveInput::Rows(rows, _) => self.sessions.set_sessions(rows),
            LiveInput::Continued => self.screen.take_again().map_err(no_room)?,
            _ => {}
        }
        let effects = update_model(&mut self.model, input);
        self.perform_all(effects)
    }

    fn perform_all(&mut self, effects: Vec<LiveEffect>) -> Result<Option<u8>, CommandFailure> {
        for effect in effects {
            match effect {
                LiveEffect::Quit(signal) => return Ok(Some(signal_code(signal))),
                LiveEffect::ReadRows(queries) => self.rows.want(queries),
                LiveEffect::ReadTab(tab) => self.request_detail(DetailRequest::Tab(tab)),
                LiveEffect::ReadDiff(snapshot) => {
                    self.request_detail(DetailRequest::Diff(snapshot))
                }
                LiveEffect::ReadTrust(key) => {
                    let commands = self.model.commands.clone();
                    let to = self.to.clone();
                    let prepare =
                        move || drop(to.send(LiveInput::Prepared(prepare_trust(&commands, &key))));
                    spawn_reader("trust", prepare).map_err(no_room)?;
                }
                LiveEffect::Perform(deed) => {
                    let name = deed.name.clone();
                    match perform_deed(deed, self.run, self.to.clone()) {
                        Ok(thread) => self.deed = Some((name, thread)),
                        Err(error) => {
                            let _ = self.to.send(LiveInput::Performed(
                                name,
                                1,
                                vec![format!("it could not begin: {error}")],
                            ));
                        }
                    }
                }
                LiveEffect::Suspend => {
                    self.screen.leave();
                    // All of this job stands still here until the shell continues it.
                    let _ = kill_current_process_group(Signal::STOP);
                    self.screen.take_again().map_err(no_room)?;
                }
            }
        }
        Ok(None)
    }

    fn request_detail(&self, request: DetailRequest) {
        // A reader that ended leaves its page as it is.
        let _ = self.detail.send(request);
    }

    /// Gives the terminal back, and waits for a deed that was begun.
    fn end(self, code: u8) -> u8 {
        drop(self.screen);
        if let Some((name, thread)) = self.deed.filter(|(_, thread)| !thread.is_finished()) {
            anstream::eprintln!("watchdog: waiting for the end of '{name}'");
            // A deed that panicked has said so.
            let _ = thread.join();
        }
        code
    }
}

/// Reads the records again and again, and first of all whether deeds are allowed from here.
fn poll_records(
    command_env: &CommandEnv,
    chosen: ChosenRows,
    to: Sender<LiveInput>,
) -> io::Result<()> {
    let command_env = command_env.clone();
    spawn_reader("records", move || {
        let mut poll = StorePoll::new(command_env.clone(), chosen);
        let mut answered = false;
        loop {
            // Before the rows: whoever sees one may act on it.
            if !answered
                && let Ok(inside) = open_store(&command_env.state)
                    .and_then(|store| find_enclosing_session(store.as_ref()))
            {
                answered = true;
                let why = inside.map(|spec| {
                    let spec = escape_to_one_line(&spec);
                    format!("This view runs inside of the session of '{spec}': what only a person may do is not done from here.")
                });
                let _ = to.send(LiveInput::DeedsAllowed(why));
            }
            let input = match poll.poll() {
                Ok(Some(found)) => Some(LiveInput::Rows(found.rows, found.notes)),
                Ok(None) => None,
                Err(error) => Some(LiveInput::StoreFailed(error.to_string())),
            };
            if input.is_some_and(|input| to.send(input).is_err()) {
                return;
            }
            std::thread::sleep(POLL);
        }
    })
}
