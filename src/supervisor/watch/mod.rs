//! `watchdog watch`: stays, and judges as commits, ends of sessions and changes happen.
//!
//! [`watch`] is the loop; `roster` knows which worktrees there are and whom a movement is about; `ears` hears movements;
//! `finder` searches; `look` judges one worktree, as `check --once` does.

mod ears;
mod finder;
mod look;
mod request;
mod roster;
mod rounds;

pub use request::WatchRequest;
pub use rounds::watch;
