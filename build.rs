//! Links what unwinds the stack (a part of the compiler's own library) into the binary, where the system has it as an archive.
//! Otherwise each start loads `libgcc_s.so` for it, which is a tenth of what it costs to start. Tells a release build its commit, and links a
//! debug build so that it starts quickly.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        tell_commit();
    }
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let for_here = env::var_os("HOST") == env::var_os("TARGET");
    let for_gnu =
        for_here && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    let is_static = env::var("CARGO_CFG_TARGET_FEATURE")
        .is_ok_and(|features| features.split(',').any(|one| one == "crt-static"));
    if for_gnu && !is_static && is("PROFILE", "debug") {
        // Without optimisation, 250,000 addresses in it are set at each start, were it not linked for one place in memory; the tests start
        // it some ten thousand times.
        println!("cargo::rustc-link-arg=-no-pie");
    }
    if for_gnu && has_archive() {
        // Stands before `libgcc_s`, which is then not needed and so not linked. A linker that takes archives in their order alone
        // finds nothing missing yet, and links `libgcc_s` as ever.
        println!("cargo::rustc-link-lib=dylib=gcc_eh");
    }
}

/// The commit that `--version` names. Other builds would have to be made again after each commit.
#[expect(
    clippy::disallowed_methods,
    reason = "the builder of processes is what is being built"
)]
fn tell_commit() {
    let git = |args: &[&str]| {
        let output = std::process::Command::new("git")
            .args(args)
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
            .filter(|text| !text.is_empty())
    };
    // Only where this is its own repository: unpacked sources inside of another one are no commit of that.
    let own = git(&["rev-parse", "--show-prefix"]).is_none()
        && git(&["rev-parse", "--show-toplevel"]).is_some();
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|_| own) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    if let Some(commit) = git(&["rev-parse", "--short=9", "HEAD"]).filter(|_| own) {
        println!("cargo::rustc-env=WATCHDOG_COMMIT={commit}");
    }
}

/// Whether the linker that rustc is going to call knows the archive.
#[expect(
    clippy::disallowed_methods,
    reason = "the builder of processes is what is being built"
)]
fn has_archive() -> bool {
    let linker = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let Ok(answer) = std::process::Command::new(linker)
        .arg("-print-file-name=libgcc_eh.a")
        .output()
    else {
        return false;
    };
    let path = PathBuf::from(String::from_utf8_lossy(&answer.stdout).trim());
    path.is_absolute() && path.is_file()
}
