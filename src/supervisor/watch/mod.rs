//! `watchdog watch`: stays, and judges as commits, ends of sessions and changes happen.
//!
//! [`watch`] is the loop; `roster` knows which worktrees there are and whom a movement is about; `ears` hears movements;
//! `finder` searches; `look` judges one worktree, as `check --once` does; `pulse` notices time that went by unheard; `stalled` tells of
//! sessions that fell silent.

mod ears;
mod finder;
mod look;
#[cfg(test)]
mod look_panics;
mod pulse;
mod request;
mod roster;
mod rounds;
mod stalled;

pub use request::WatchRequest;
pub use rounds::watch;
