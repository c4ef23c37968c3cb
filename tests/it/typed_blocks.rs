//! The blocks of shell in README and the pages that claim to run, typed as they stand there, in their order.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::{CommandOutput, TestEnv};

/// Time for a page: the tutorial waits four seconds by itself.
const PAGE: Duration = Duration::from_secs(120);

/// What a person who has Claude Code has: an agent that commits when it is asked to work, and answers when it is asked for its state.
const CLAUDE: &str = r#"#!/bin/sh
case "$*" in
  *--version*) echo "2.1.0 (Claude Code)" ;;
  *--continue* | *--resume*) echo '{"type": "result", "subtype": "success", "is_error": false, "session_id": "1", "result": "{\"status\": \"complete\", \"message\": \"done\"}"}' ;;
  *) echo "$*" >> worked.txt; git add worked.txt; git commit -q -m "feat: work"; echo "I committed it." ;;
esac
"#;

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The blocks of a page that are marked as shell.
fn blocks(page: &Path) -> Vec<String> {
    let text =
        fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    text.split("\n```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("\n```"))
        .map(|(block, _)| block.to_owned())
        .collect()
}

/// Types blocks one after the other into one shell, which ends at the first that fails.
fn type_into_shell(env: &TestEnv, folder: &Path, name: &str, blocks: &[String]) -> CommandOutput {
    let typed: Vec<String> = (1..)
        .zip(blocks)
        .map(|(number, block)| {
            let file = env.write(&format!("typed/{name}-{number}.sh"), format!("{block}\n"));
            format!("echo '== block {number}'; . '{0}' || {{ echo \"== block {number} ended with $?\"; exit 1; }}\n", file.display())
        })
        .collect();
    env.command("bash", folder)
        .args(["-c", &typed.concat()])
        .timeout(PAGE)
        .run()
}

fn with_programs() -> TestEnv {
    let env = TestEnv::new();
    let claude = env.write("programs/claude", CLAUDE);
    fs::set_permissions(&claude, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("the file is ours");
    env.install("claude", &claude);
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    env
}

fn assert_the_page_runs(page: &str) {
    let env = with_programs();
    let name = page.replace(['/', '.'], "-");
    let repo = env.repo_named(&name);
    let blocks = blocks(&source(page));
    assert!(!blocks.is_empty(), "{page} has no block that claims to run");
    println!(
        "{page}: {}",
        type_into_shell(&env, repo.path(), &name, &blocks).expect(0)
    );
    env.assert_nothing_left();
}

#[test]
fn tutorial_blocks_run_as_they_stand() {
    assert_the_page_runs("docs/tutorial.md");
}

#[test]
fn recipe_blocks_run_as_they_stand() {
    let recipes = fs::read_dir(source("docs/recipes")).expect("there are recipes");
    let mut pages: Vec<String> = recipes
        .map(|entry| {
            entry
                .expect("it can be read")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    pages.sort();
    assert!(pages.len() >= 3, "{pages:?}");
    for page in pages {
        assert_the_page_runs(&format!("docs/recipes/{page}"));
    }
    assert_the_page_runs("docs/hooks.md");
}

/// The block of README that is typed in a clone of watchdog itself, the ones that are typed in a repository of the reader's own, and the
/// block that runs the tests.
pub fn blocks_of_the_readme() -> (String, Vec<String>, String) {
    let mut blocks = blocks(&source("README.md"));
    let tests = blocks.pop().expect("README has blocks");
    let demo = blocks.remove(0);
    (demo, blocks, tests)
}

#[test]
fn readme_uses_run_as_they_stand() {
    let env = with_programs();
    let repo = env.repo();
    let (_, uses, _) = blocks_of_the_readme();
    assert!(uses.len() >= 3, "{uses:#?}");
    let out = type_into_shell(&env, repo.path(), "README", &uses).expect(0);
    assert_eq!(
        repo.subjects_since(&format!("HEAD~{}", uses.len())),
        vec!["feat: work"; uses.len()],
        "one session each: {out}"
    );
    assert!(
        out.stderr.contains("complete (new_commits)") && out.stdout.contains("\"complete\":true"),
        "{out}"
    );
    env.assert_nothing_left();
}
