//! `watchdog watch`: stays, and prints each judgement as it is made.

use std::sync::Arc;
use std::time::Duration;

use crate::cli::args_watch::WatchArgs;
use crate::cli::failure::{CommandFailure, signal_code};
use crate::cli::reader;
use crate::cli::terminal::CommandTerminal;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::judgement_input::Overrides;
use watchdog_judge::modes::watching::WatchRequest;
use watchdog_judge::modes::watching::watch_worktrees as stay;
use watchdog_judge::wire::verdict_json::Judgement;

use super::fleet::start_fleet_copies;
use super::runtime::in_runtime;

/// A poll that is shorter than this costs more than it tells.
const SHORTEST_POLL: Duration = Duration::from_millis(100);

/// Its threads come and go for days, and share so many arenas of memory: it keeps half as much as without a limit (docs/performance.md).
const ARENAS: u8 = 2;

/// Watches until a signal comes, or nobody reads any more.
pub fn run_watch_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: WatchArgs,
) -> Result<u8, CommandFailure> {
    watchdog_system::limit_arenas(ARENAS);
    let overrides = Overrides {
        max_probes: args.max_probes,
        probe_interval: None,
        probe_timeout: args.probe_timeout,
        no_probe: args.no_probe,
        no_rescue: args.no_rescue,
        once: true,
        ..Overrides::default()
    };
    let on_row = {
        let terminal = *terminal;
        move |judgement: &Judgement| reader::write_line(&terminal.judgement_line(judgement)).is_ok()
    };
    let request = WatchRequest {
        paths: if args.paths.is_empty() {
            vec![command_env.worktree.clone()]
        } else {
            args.paths
        },
        overrides,
        probe: args.probe,
        quiet_for: args.work_trees.then_some(args.quiet_for),
        poll: args.poll.max(SHORTEST_POLL),
        poll_only: args.poll_only,
        jobs: usize::from(args.jobs),
        on_row: Arc::new(on_row),
        has_readers: Arc::new(|| !reader::is_gone()),
    };
    let _copies = start_fleet_copies(command_env);
    let signal = in_runtime(async |signals| stay(command_env, &request, signals).await)??;
    Ok(signal_code(signal))
}
