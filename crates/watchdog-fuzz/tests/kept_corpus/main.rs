//! Every fuzz target over its kept inputs and a fixed number of mutations of them, the same ones in each run.

mod mutation;

use std::env;
use std::path::PathBuf;

use mutation::{Mutation, any_mutation, dictionary_words};
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use watchdog_fuzz::{FuzzTarget, TARGETS};

/// Of the mutations, where `WATCHDOG_FUZZ_SEED` names no other.
const SEED: u64 = 17;

#[track_caller]
fn play(name: &str) {
    let target = TARGETS
        .iter()
        .find(|target| target.name == name)
        .unwrap_or_else(|| panic!("{name} is no target"));
    let kept = target.kept_inputs();
    assert!(
        !kept.is_empty(),
        "{}: a target has at least one kept input",
        target.corpus().display()
    );
    for (file, input) in &kept {
        // A failure says which: its file is the only thing printed before it.
        eprintln!("{}", file.display());
        (target.run)(input);
    }
    mutate(target, &kept);
}

fn mutate(target: &FuzzTarget, kept: &[(PathBuf, Vec<u8>)]) {
    let words = dictionary_words(&target.dictionary());
    let config = Config {
        cases: number("WATCHDOG_FUZZ_MUTATIONS").map_or(target.mutations, |count| {
            u32::try_from(count).unwrap_or(u32::MAX)
        }),
        rng_seed: RngSeed::Fixed(number("WATCHDOG_FUZZ_SEED").unwrap_or(SEED)),
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&any_mutation(), |mutation: Mutation| {
        let input = mutation.apply(kept, &words);
        let run = std::panic::catch_unwind(|| (target.run)(&input));
        run.map_err(|_| {
            TestCaseError::fail(format!(
                "{}\n{:?}",
                input.escape_ascii(),
                kept_copy(target, &input)
            ))
        })
    });
    if let Err(error) = result {
        panic!("{}: {error}", target.name);
    }
}

/// The input that failed, in a file, from where it can be moved into the corpus. The last one is the smallest.
fn kept_copy(target: &FuzzTarget, input: &[u8]) -> PathBuf {
    let file = env::temp_dir().join(format!("watchdog-fuzz-{}", target.name));
    std::fs::write(&file, input).expect("the folder for scratch files takes one");
    file
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is \"{text}\", expected a number")),
    )
}

/// A test for each target, so that one says which failed.
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                play(stringify!($name));
            }
        )*

        #[test]
        fn every_target_is_run() {
            let run = [$(stringify!($name)),*];
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(run.as_slice(), names);
        }
    };
}

tests!(
    agent_streams,
    configuration,
    evaluate_context,
    front_matter,
    hook_input,
    index,
    packed_refs,
    reflogs,
    replies,
    rescue_plans,
    settings_edits,
    transcripts,
);
