//! Each file has a block of `completion.json` or a group of check types, each with its keys, its
//! bounds and its tests.

pub(super) mod agent;
mod agent_checks;
pub(super) mod agent_description;
mod agent_verdict;
pub(super) mod behavior;
pub(super) mod breaker;
pub(super) mod check_list;
mod check_type;
mod command;
pub(super) mod completion_block;
pub(super) mod completion_check;
mod external_checks;
mod fact_checks;
pub(super) mod flat_keys;
mod key_blocks;
pub(super) mod limits;
mod lists;
pub(super) mod notification;
pub(super) mod rescue;
pub(super) mod spec_runner;
pub(super) mod tasks;
mod top;

pub(super) use key_blocks::home_of;
pub use notification::notification_words;
pub(super) use top::TOP;
