//! The arguments that say what becomes of files which are uncommitted before a session.

use clap::Args;

/// What becomes of files that are uncommitted before a session.
#[derive(Debug, Clone, Copy, Args)]
pub struct UncommittedArgs {
    /// Count what is uncommitted now as the session's work
    #[arg(long)]
    pub adopt: bool,
    /// Start the session even if what is uncommitted now cannot be kept in a snapshot first
    #[arg(long)]
    pub without_snapshot: bool,
}
