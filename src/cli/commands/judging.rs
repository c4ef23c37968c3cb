//! `watchdog check` and `watchdog run`: judge, and say so.

use std::time::Duration;

use crate::cli::args::{CheckArgs, JudgeArgs, RunArgs};
use crate::cli::failure::Failure;
use crate::cli::terminal::Terminal;
use crate::decision::verdict::Reason;
use crate::supervisor::{Asked, CheckRequest, Judgement, RunRequest, Signals, Surroundings, check as judge_check, run as judge_run};

/// Judges what happened since a baseline.
pub fn check(surroundings: &Surroundings, terminal: &Terminal, args: CheckArgs) -> Result<u8, Failure> {
    let request =
        CheckRequest { baseline: args.baseline, spec: args.judge.spec.clone(), pid: args.pid, asked: asked(&args.judge, args.once) };
    let judgement = in_runtime(async |signals| judge_check(surroundings, request, signals).await)?;
    terminal.verdict(&judgement, false);
    Ok(judgement.exit_code())
}

/// Wraps one session.
pub fn run(surroundings: &Surroundings, terminal: &Terminal, args: RunArgs) -> Result<u8, Failure> {
    let request = RunRequest {
        spec: args.judge.spec.clone(),
        command: args.command,
        timeout: args.timeout,
        grace: args.grace,
        child_wait: args.child_wait,
        output_to_stderr: terminal.json,
        asked: asked(&args.judge, false),
    };
    let judgement = in_runtime(async |signals| judge_run(surroundings, request, signals).await)?;
    terminal.verdict(&judgement, true);
    Ok(judgement.exit_code())
}

fn asked(args: &JudgeArgs, once: bool) -> Asked {
    Asked {
        max_probes: args.max_probes,
        probe_interval: args.probe_interval,
        probe_timeout: args.probe_timeout,
        no_probe: args.no_probe,
        no_rescue: args.no_rescue,
        once,
    }
}

/// Runs a judgement in a runtime of one thread, with signals listened to from the first moment.
fn in_runtime(work: impl AsyncFnOnce(&mut Signals) -> Judgement) -> Result<Judgement, Failure> {
    let failed = |error: std::io::Error| Failure::new(Reason::StoreError, format!("failed to start the event loop: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let judgement = runtime.block_on(async {
        let mut signals = Signals::listen().map_err(failed)?;
        Ok::<_, Failure>(work(&mut signals).await)
    })?;
    // A thread that still reads output which a survivor holds open must not keep us.
    runtime.shutdown_timeout(Duration::from_millis(100));
    Ok(judgement)
}
