//! `watchdog check` and `watchdog run`: judge, and say so.

use crate::cli::args::{CheckArgs, JudgeArgs, RunArgs};
use crate::cli::failure::Failure;
use crate::cli::terminal::Terminal;
use crate::supervisor::{Asked, CheckRequest, RunRequest, Surroundings, check as judge_check, run as judge_run};

use super::runtime::in_runtime;

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
        idle_timeout: args.silence.idle_timeout,
        grace: args.grace,
        child_wait: args.child_wait,
        end_survivors: args.silence.end_survivors(false),
        output_to_stderr: terminal.json,
        asked: asked(&args.judge, false),
    };
    let judgement = in_runtime(async |signals| judge_run(surroundings, request, signals).await)?;
    terminal.verdict(&judgement, true);
    Ok(judgement.exit_code())
}

/// What the command line asks for.
pub fn asked(args: &JudgeArgs, once: bool) -> Asked {
    Asked {
        max_probes: args.max_probes,
        probe_interval: args.probe_interval,
        probe_timeout: args.probe_timeout,
        no_probe: args.no_probe,
        no_rescue: args.no_rescue,
        once,
        every: args.all,
        no_cache: args.no_cache,
    }
}
