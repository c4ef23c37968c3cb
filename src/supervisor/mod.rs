//! THE SHELL. Feeds facts to the decision machine and carries out the actions it asks for.
//!
//! [`check()`] and [`run()`] are thin: they settle what is asked (`place`, `configuration`, `case`), let `dispatcher` drive the
//! machine with the hands of `executor`, and settle what follows from the verdict (`judge`).

mod backoff;
mod budget;
mod case;
mod check;
mod configuration;
mod courier;
mod criteria_files;
mod dispatcher;
mod evaluate;
mod event_json;
mod event_words;
mod executor;
mod expiry;
mod hook;
mod iterate;
mod journal;
mod judge;
mod notices;
mod origins;
mod outside;
mod panicked;
mod periodic;
mod pid_wait;
mod place;
mod planner;
mod run;
mod serving_git;
mod session_cost;
mod session_run;
mod signals;
mod surroundings;
mod sweep;
mod tail;
mod task_queue;
mod told;
mod verdict_json;
mod watch;
mod work;

pub use case::{Asked, breaker_json};
pub use check::{CheckRequest, check};
pub use configuration::{FILE as CONFIGURATION_FILE, Governing, bad as bad_configuration, governing};
pub use courier::Courier;
pub use evaluate::evaluate;
pub use event_json::{EVENT_SCHEMA, event_json};
pub use event_words::{answers_to, event_words, words_of};
pub use expiry::expire;
pub use hook::{HookRequest, Host, answer_hook};
pub use iterate::{AskedLimits, LoopPlan, LoopRequest, LoopStatus, LoopView, Phase, plan_loop, run_loop};
pub use origins::remember_rescued;
pub use place::{Claim, Place};
pub use planner::Planner;
pub use run::{RunRequest, run};
pub use serving_git::serve_refs;
pub use signals::{Signals, Urgency};
pub use surroundings::{Narrate, Surroundings, now};
pub use sweep::{Hear, Line, Outcome, SweepReport, SweepRequest, SweepRow, sweep};
pub use tail::Tail;
pub use task_queue::{GovernedTask, TaskQueue, change_json};
pub use told::told;
pub use verdict_json::{BreakerJson, Judgement, LoopJson, SessionJson, millis, probe_json, reply_json, reply_of};
pub use watch::{WatchRequest, watch};
pub use work::{CrewOrder, CrewReport, Member, TaskEnd, TaskOrder, TaskReport, Where, run_task, work};
