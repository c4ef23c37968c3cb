//! The view that stays: every worktree at a glance, one of them in detail. It reads; what a person confirms is done by its caller.
//!
//! Pure are [`model`] (what is known and chosen), [`update`] (what a key or a fact changes, and what it asks of the world) and `draw` (the
//! cells of a frame). Around them: [`screen`] (the modes of the terminal), [`signals`], [`store_poll`], [`others_poll`], [`session_poll`],
//! [`row_reader`], [`detail_reader`] and [`trust_reader`], which read, most of them in threads.

pub mod cells;
mod deed;
pub mod detail_reader;
mod draw;
mod draw_detail;
mod draw_list;
mod draw_overlay;
mod frame_bench;
pub mod input;
pub mod live_data;
pub mod model;
pub mod others_poll;
mod paper;
pub mod row_reader;
pub mod screen;
pub mod session_poll;
pub mod signals;
pub mod store_poll;
mod timeline;
pub mod trust_reader;
pub mod update;
mod update_detail;
mod verdict_text;

#[cfg(test)]
mod draw_tests;
#[cfg(test)]
mod test_rows;
#[cfg(test)]
mod update_tests;

pub use frame_bench::FrameBench;
