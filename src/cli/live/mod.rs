//! `watchdog status --watch`: every worktree at a glance, one of them in detail, and what a person may do about it.
//!
//! Pure are `model` (what is known and chosen), `update` (what a key or a fact changes, and what it asks of the world) and `draw` (the cells
//! of a frame). The shell around them: `shell` (the event loop), `screen` (the modes of the terminal), `store_poll`, `others_poll`, `session_poll`,
//! `row_reader` and `detail_reader` (threads that read), `perform` (the thread that does what was confirmed), `plain` (lines in a pipe).

mod cells;
mod deed;
mod detail_reader;
mod draw;
mod draw_detail;
mod draw_list;
mod draw_overlay;
mod frame_bench;
mod input;
mod live_data;
mod model;
mod others_poll;
mod paper;
mod perform;
mod plain;
mod row_reader;
mod screen;
mod session_poll;
mod shell;
mod signals;
mod store_poll;
mod timeline;
mod trust_reader;
mod update;
mod update_detail;
mod verdict_text;

#[cfg(test)]
mod draw_tests;
#[cfg(test)]
mod test_rows;
#[cfg(test)]
mod update_tests;

pub use frame_bench::FrameBench;
pub(super) use others_poll::OthersReader;
pub(super) use shell::watch_live;
