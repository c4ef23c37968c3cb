//! One block of `completion.json` or one group of check types per file, each with its keys, its bounds and its tests.

pub(super) mod agent;
pub(super) mod behavior;
pub(super) mod breaker;
pub(super) mod check_list;
pub(super) mod command;
pub(super) mod completion_block;
pub(super) mod completion_check;
pub(super) mod facts;
pub(super) mod flat_keys;
mod home;
pub(super) mod limits;
pub(super) mod lists;
pub(super) mod notification;
pub(super) mod outside;
pub(super) mod rescue;
pub(super) mod spoken;
pub(super) mod tasks;

pub(super) use home::home_of;
pub use notification::notification_words;
