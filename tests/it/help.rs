//! What teaches: help, exit codes, manual pages, the version, and what `watchdog` alone says.

use std::fs;

use crate::support::{Step, TestEnv};

#[test]
fn help_explains_exit_codes_and_nearest_topics() {
    let env = TestEnv::new();
    let page = env
        .watchdog(&env.root(), &["help", "exit-codes"])
        .expect(0)
        .stdout;
    assert!(names_addresses_alone(&page), "{page}");
    for status in [
        "complete",
        "incomplete",
        "waiting",
        "review",
        "timeout",
        "stopped",
        "failed",
        "error",
    ] {
        assert!(page.contains(status), "{status} in {page}");
    }
    env.watchdog(&env.root(), &["help", "rescue", "restore"])
        .expect(0)
        .assert_printed(&["--branch"]);
    let wrong = env.watchdog(&env.root(), &["help", "exti-codes"]).expect(2);
    wrong.assert_told(&["did you mean `exit-codes`?"]);
    let wrong = env.watchdog(&env.root(), &["chek"]).expect(2);
    assert!(
        wrong.stderr.contains("'check'") && !wrong.stderr.contains("schema"),
        "{wrong}"
    );
}

/// Whether a text names a page of the documentation by its address alone: a package has no `docs/`.
fn names_addresses_alone(text: &str) -> bool {
    [" docs/", "\ndocs/"]
        .iter()
        .all(|path| !text.contains(path))
}

#[test]
fn every_script_states_its_purpose_first() {
    let env = TestEnv::new();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let scripts = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    for script in scripts.filter(|path| path.is_file() && path.extension().is_none()) {
        let said = env
            .command(&script, &env.root())
            .args(["--help"])
            .timeout(std::time::Duration::from_secs(30))
            .run()
            .expect(0)
            .stdout;
        let name = script
            .file_name()
            .unwrap()
            .to_string_lossy()
            .replace("nightly-", "nightly ");
        assert!(
            said.contains(&format!("scripts/{name}")),
            "{name} names itself in {said}"
        );
    }
}

#[test]
fn misspelt_option_starts_no_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    for command in ["run", "loop"] {
        let out = repo
            .watchdog(&[command, "--timout", "3", "--", "true"])
            .expect(2);
        assert!(out.stderr.contains("--timeout"), "{out}");
    }
}

#[test]
fn flag_variable_affects_only_its_own_command() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let asked = env.root().join("asked");
    let config = env.config_asking(
        &[
            Step::keep_env("WATCHDOG_PROBE", &asked),
            Step::print_json(&serde_json::json!({"status": "complete"})),
        ],
        serde_json::json!({}),
    );
    let line = ["--config", config.to_str().expect("UTF-8"), "check"];
    repo.watchdog_command(&line)
        .env("WATCHDOG_NO_PROBE", "1")
        .run()
        .expect(0);
    assert!(asked.exists(), "the agent was asked all the same");
}

#[test]
fn every_manual_page_is_written_without_mistakes() {
    let env = TestEnv::new();
    let folder = env.root().join("man");
    env.watchdog(
        &env.root(),
        &["man", "--dir", folder.to_str().expect("UTF-8")],
    )
    .expect(0);
    let pages: Vec<_> = ["man1", "man5"]
        .iter()
        .flat_map(|section| fs::read_dir(folder.join(section)).expect("it was written"))
        .map(|page| page.expect("it can be read").path())
        .collect();
    let named = |name: &str| pages.iter().any(|page| page.ends_with(name));
    assert!(
        named("man1/watchdog.1")
            && named("man1/watchdog-rescue-restore.1")
            && named("man5/completion.json.5"),
        "{pages:?}"
    );
    for page in &pages {
        let path = page.to_str().expect("UTF-8");
        let checked = env
            .command("groff", &env.root())
            .args(["-k", "-man", "-Tutf8", "-ww", "-z", path])
            .run()
            .expect(0);
        assert_eq!(checked.stderr, "", "{path}");
        assert!(
            names_addresses_alone(&fs::read_to_string(page).expect("a page")),
            "{path}"
        );
    }
    let page = folder.join("man1/watchdog-check.1");
    let shown = env
        .command("man", &env.root())
        .args(["-l", page.to_str().expect("UTF-8")])
        .env("MANPAGER", "cat")
        .run()
        .expect(0);
    assert!(
        shown
            .stdout
            .contains("Run commands again that passed before"),
        "an option that -h leaves out has its words: {shown}"
    );
    let about = env
        .watchdog(&env.root(), &["man", "completion.json"])
        .expect(0)
        .stdout;
    assert!(about.contains("max_probes") && about.contains("require_clean"));
    env.watchdog(&env.root(), &["man", "resuce"])
        .expect(2)
        .assert_told(&["`rescue`"]);
}

#[test]
fn the_version_names_the_format_of_the_records() {
    let env = TestEnv::new();
    let version = env.watchdog(&env.root(), &["--version"]).expect(0).stdout;
    assert!(
        version.starts_with("watchdog ") && version.contains("store format "),
        "{version}"
    );
}

#[test]
fn bare_watchdog_shows_status_or_how_to_begin() {
    let env = TestEnv::new();
    let repo = env.repo();
    let nothing = repo.watchdog(&[]).expect(2);
    assert!(
        nothing.stderr.contains("watchdog demo") && nothing.stdout.is_empty(),
        "{nothing}"
    );
    assert!(
        !env.state().join("watchdog.db").exists(),
        "a look leaves nothing behind"
    );
    repo.watchdog(&["snapshot"]).expect(0);
    let here = repo.watchdog(&["--json"]).expect(0).json();
    assert_eq!(
        here["worktrees"].as_array().map(Vec::len),
        Some(1),
        "{here}"
    );
    env.repo_named("other").watchdog(&[]).expect(2);
}
