//! A loop of one's own around the judge: `cargo run --example embed -- WORKTREE COMMAND...` runs COMMAND in WORKTREE until its work is
//! complete, five times at most, and gives it what is still missing in `FEEDBACK`.

use std::process::Command;

use completion_watchdog::{CheckBuilder, SnapshotBuilder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut line = std::env::args_os().skip(1);
    let (Some(worktree), Some(program)) = (line.next(), line.next()) else {
        return Err("usage: embed WORKTREE COMMAND...".into());
    };
    let arguments: Vec<_> = line.collect();
    let mut feedback = String::new();
    for session in 1..=5 {
        let baseline = SnapshotBuilder::new(&worktree).run()?;
        println!("session {session} begins at {}", baseline.point.as_str());
        // Where the host starts the session itself, it waits for its end before it asks.
        #[expect(
            clippy::disallowed_methods,
            reason = "the host starts its own programs"
        )]
        Command::new(&program)
            .args(&arguments)
            .current_dir(&worktree)
            .env("FEEDBACK", &feedback)
            .status()?;
        let judgement = CheckBuilder::new(&worktree)
            .no_probe()
            .on_progress(|line| println!("  {line}"))
            .run()?;
        let verdict = &judgement.verdict;
        println!(
            "session {session}: {} ({}): {}",
            verdict.status().as_str(),
            verdict.reason.as_str(),
            verdict.message
        );
        if judgement.exit_code() != 10 {
            return Ok(());
        }
        feedback = verdict.feedback.clone().unwrap_or_default();
    }
    Ok(())
}
