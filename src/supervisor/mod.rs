//! THE SHELL. Feeds facts to the decision machine and carries out the actions it asks for.
//!
//! [`check`] and [`run`] are thin: they settle what is asked (`place`, `configuration`), let `dispatcher` drive the machine with
//! the hands of `executor`, and settle what follows from the verdict (`settle`).

mod backoff;
mod case;
mod configuration;
mod journal;
mod place;
mod signals;
mod surroundings;
mod verdict_json;

pub use place::{Claim, Place};
pub use signals::{Signals, Urgency};
pub use surroundings::{Narrate, Surroundings, now, store_fault};
pub use verdict_json::{BreakerJson, Judgement, millis, probe_json, reply_json, reply_of};
