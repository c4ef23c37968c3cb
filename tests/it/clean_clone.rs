//! The two commands of README for a fresh machine, typed in a clean clone.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use crate::support::TestEnv;
use crate::typed_blocks::blocks_of_the_readme;

/// A clone of what is committed, at the same place in every run, so that its build takes the same room each time.
fn clean_clone(env: &TestEnv) -> std::path::PathBuf {
    let clone = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clean-clone");
    if clone.exists() {
        fs::remove_dir_all(&clone).expect("an earlier run made it");
    }
    env.command("git", Path::new(env!("CARGO_TARGET_TMPDIR")))
        .args(["clone", "-q", env!("CARGO_MANIFEST_DIR"), "clean-clone"])
        .run()
        .expect(0);
    clone
}

/// Gives the clone what this run has compiled, as links: a person waits for that once, the tests need not. Cargo compiles
/// again what the clone lacks and what differs there: a file that is the same gets the time of the one that was compiled.
fn with_what_is_compiled(env: &TestEnv, clone: &Path) {
    let built = Path::new(env!("CARGO_BIN_EXE_watchdog"))
        .parent()
        .expect("it is in a folder");
    let there = clone.join("target/debug");
    fs::create_dir_all(&there).expect("the clone is ours");
    // Cargo writes into the files of its fingerprints: what was compiled here would be older than they say.
    for (how, part) in [("-al", "deps"), ("-al", "build"), ("-a", ".fingerprint")] {
        env.command("cp", built)
            .args([how, part])
            .args([&there])
            .run()
            .expect(0);
    }
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
    let committed = env
        .command("git", clone)
        .args(["ls-files", "-z"])
        .run()
        .expect(0)
        .stdout;
    for file in committed.split_terminator('\0') {
        let (compiled, cloned) = (checkout.join(file), clone.join(file));
        if let (Ok(meta), Ok(bytes)) = (fs::metadata(&compiled), fs::read(&compiled))
            && bytes == fs::read(&cloned).expect("git made it")
        {
            let cloned = File::options()
                .write(true)
                .open(&cloned)
                .expect("it is ours");
            cloned
                .set_modified(meta.modified().expect("Linux tells it"))
                .expect("it is ours");
        }
    }
}

#[test]
fn readme_commands_work_in_a_clean_clone() {
    let (demo, _, tests) = blocks_of_the_readme();
    let mut env = TestEnv::new();
    for name in [
        "HOME",
        "CARGO_HOME",
        "RUSTUP_HOME",
        "RUSTUP_TOOLCHAIN",
        "PATH",
    ] {
        if let Some(value) = std::env::var_os(name) {
            env.set(name, value);
        }
    }
    let clone = clean_clone(&env);
    with_what_is_compiled(&env, &clone);
    let out = env
        .command("sh", &clone)
        .args(["-c", &demo])
        .timeout(Duration::from_secs(840))
        .run()
        .expect(0);
    assert!(
        out.stdout.contains("That was the whole flow"),
        "{demo}: {out}"
    );
    let help = env
        .command("sh", &clone)
        .args(["-c", &format!("{tests} --help")])
        .run()
        .expect(0);
    assert!(help.stdout.contains("every test"), "{tests}: {help}");
    let status = env
        .command("git", &clone)
        .args(["status", "--porcelain"])
        .run()
        .expect(0);
    assert_eq!(status.stdout, "", "the clone is as clean as before");
    fs::remove_dir_all(&clone).expect("the clone is ours");
}
