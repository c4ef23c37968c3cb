//! The proof of rescue: rounds of a random tree of changes and a random fault, through the real binary. After each, an
//! independent manifest of the work tree shows that every byte is still there or can be got back by `rescue restore`.
//!
//! A round is one seed: [`ground`] makes the repository, [`changes`] the work, [`fault`] what goes wrong, [`round`] plays
//! it, and [`proof`] compares with the [`manifest`]. [`rounds`] is the test.

mod changes;
mod fault;
mod ground;
pub mod manifest;
mod nested;
mod proof;
mod round;
mod rounds;
mod scripts;
mod start;
mod tally;

pub use tally::Tally;

/// A number that a script sets, or the one of every run.
pub fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|e| panic!("{name}={text}: {e}")),
        Err(_) => default,
    }
}
