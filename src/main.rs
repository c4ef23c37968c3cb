//! The `watchdog` binary. Everything is in the library.

fn main() {}
