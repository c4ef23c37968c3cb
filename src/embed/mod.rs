//! THE FRONT DOOR for programs that judge without starting `watchdog`: [`check`], [`evaluate`], [`snapshot`] and [`rescue`], with a builder
//! each. They return the results of the commands of the same names, from the same records.
//!
//! Each call blocks until it is done; from async code it belongs on a thread of its own, such as
//! that of `spawn_blocking`. A call leaves the host alone: it handles no signal and catches no
//! panic. Only where a program must be started (the agent, a check, git) this process
//! becomes a subreaper, so that none of its children can be lost.
//!
//! ```
//! # use std::process::Command;
//! # let scratch = tempfile::tempdir()?;
//! # let git = |args: &[&str]| assert!(Command::new("git").arg("-C").arg(scratch.path()).args(args).status().unwrap().success());
//! # git(&["init", "-q"]);
//! # git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"]);
//! use completion_watchdog::{CheckBuilder, SnapshotBuilder};
//!
//! let state = scratch.path().join(".git/watchdog");
//! SnapshotBuilder::new(scratch.path()).state_dir(&state).run()?;
//! // ... the session works and commits ...
//! # std::fs::write(scratch.path().join("a.txt"), "work")?;
//! # git(&["add", "-A"]);
//! # git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "work"]);
//! let judgement = CheckBuilder::new(scratch.path()).state_dir(&state).run()?;
//! assert_eq!(judgement.verdict.status().as_str(), "complete");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builders;
mod call;

pub use builders::{
    CheckBuilder, EvaluateBuilder, RescueBuilder, SnapshotBuilder, check, evaluate, rescue,
    snapshot,
};

pub use watchdog_facts::context::SessionContext;
pub use watchdog_judge::judge::refusal::Refusal;
pub use watchdog_judge::modes::rescue_now::RescueReport;
pub use watchdog_judge::session::RecordedBaseline;
pub use watchdog_judge::wire::verdict_json::Judgement;
