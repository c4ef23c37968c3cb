//! The program of the long form: libFuzzer over the target that `WATCHDOG_FUZZ_TARGET` names. `scripts/nightly fuzz` builds and runs it.

#![no_main]

use std::sync::OnceLock;

use watchdog_fuzz::{FuzzTarget, TARGETS};

static TARGET: OnceLock<&FuzzTarget> = OnceLock::new();

fn named_target() -> &'static FuzzTarget {
    let name = std::env::var("WATCHDOG_FUZZ_TARGET").unwrap_or_default();
    TARGETS
        .iter()
        .find(|target| target.name == name)
        .unwrap_or_else(|| {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            panic!(
                "WATCHDOG_FUZZ_TARGET is \"{name}\"; expected one of {}",
                names.join(", ")
            )
        })
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| (TARGET.get_or_init(named_target).run)(input));
