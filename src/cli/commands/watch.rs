//! `watchdog watch`: stays, and prints each judgement as it is made.

use std::sync::Arc;
use std::time::Duration;

use crate::cli::args_watch::WatchArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::metrics_server::{MetricsAddress, serve};
use crate::cli::reader;
use crate::cli::terminal::CommandTerminal;
use crate::cli::watch_metrics::watch_page;
use crate::judge::command_env::CommandEnv;
use crate::judge::judgement_input::Overrides;
use crate::modes::watching::watch as stay;
use crate::modes::watching::{WatchFigures, WatchRequest};
use crate::wire::verdict_json::Judgement;
use watchdog_store::open_store;

use super::fleet::copies;
use super::runtime::in_runtime;

/// A poll that is shorter than this costs more than it tells.
const SHORTEST_POLL: Duration = Duration::from_millis(100);

/// Its threads come and go for days, and share so many arenas of memory: it keeps half as much as without a limit (docs/performance.md).
const ARENAS: u8 = 2;

/// Watches until a signal comes, or nobody reads any more.
pub fn watch(
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
    let figures = Arc::new(WatchFigures::default());
    if let Some(address) = args.metrics {
        serve_metrics(command_env, terminal, address, &figures)?;
    }
    let on_row = {
        let (terminal, figures) = (*terminal, Arc::clone(&figures));
        move |judgement: &Judgement| {
            figures.judged();
            reader::write_line(&terminal.judgement_line(judgement)).is_ok()
        }
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
        figures,
    };
    let _copies = copies(command_env);
    let signal = in_runtime(async |signals| stay(command_env, &request, signals).await)??;
    Ok(if signal == 0 {
        0
    } else {
        128 + u8::try_from(signal).unwrap_or(0)
    })
}

/// Serves the metrics from now on; where that is not possible nothing is watched.
fn serve_metrics(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    address: MetricsAddress,
    figures: &Arc<WatchFigures>,
) -> Result<(), CommandFailure> {
    command_env.state.ensure()?;
    let store = open_store(&command_env.state)?;
    let served =
        serve(address, watch_page(command_env, store, Arc::clone(figures))).map_err(|error| {
            let failure = CommandFailure::usage(format!(
                "cannot serve metrics at {address}: {error}; nothing is watched"
            ));
            failure.hint(
                "choose another port, such as --metrics 9478, or --metrics 0 for one that is free",
            )
        })?;
    terminal.tell(&format!("metrics at http://{served}/metrics"));
    if served.is_public() {
        terminal
            .complain(&format!("warning: whoever reaches {served} can read the metrics, names of worktrees included; there is no login"));
    }
    Ok(())
}
