//! Which worktrees are found in repositories and folders, against what git made.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use watchdog_git::{SearchResult, Worktree, WorktreeState, find_worktrees};

use crate::support::{TestEnv, fill_line};

fn search(paths: &[&Path]) -> SearchResult {
    find_worktrees(
        &paths
            .iter()
            .map(|path| path.to_path_buf())
            .collect::<Vec<_>>(),
        &|| false,
    )
}

/// What was found below the scratch folder: its path there, and one word for its standing.
fn told(env: &TestEnv, search: &SearchResult) -> Vec<(String, &'static str)> {
    let name = |path: &Path| {
        path.strip_prefix(env.root())
            .unwrap_or(path)
            .display()
            .to_string()
    };
    let word = |standing: &WorktreeState| match standing {
        WorktreeState::There => "there",
        WorktreeState::Gone { .. } => "gone",
        WorktreeState::Broken { .. } => "broken",
        WorktreeState::Unlisted { .. } => "unlisted",
        WorktreeState::Nothing { .. } => "nothing",
    };
    search
        .worktrees
        .iter()
        .map(|found| (name(&found.root), word(&found.standing)))
        .collect()
}

#[test]
fn every_worktree_is_found_once_under_any_name() {
    let env = TestEnv::new();
    let repo = env.repo_named("all/repo");
    repo.git(&["worktree", "add", "-q", "../beside", "-b", "beside"]);
    repo.git(&["worktree", "add", "-q", ".worktrees/inside", "-b", "inside"]);
    repo.git_line("worktree add -q ../../elsewhere -b elsewhere", &[]);
    env.repo_named("all/repo/vendor/nested");
    repo.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    env.command("git", &env.root())
        .args(fill_line(
            "-C all/bare.git worktree add -q ../of-bare main",
            &[],
        ))
        .run()
        .expect(0);
    symlink(env.root().join("all"), env.root().join("all/loop")).unwrap();

    let all = env.root().join("all");
    let found = search(&[
        &all,
        &all.join("repo"),
        &all.join("beside"),
        &all.join("loop/repo/.git"),
    ]);
    let expected = [
        "all/beside",
        "all/of-bare",
        "all/repo",
        "all/repo/.worktrees/inside",
        "all/repo/vendor/nested",
        "elsewhere",
    ]
    .map(|name| (name.to_string(), "there"));
    assert_eq!(told(&env, &found), expected);
    assert_eq!(found.notes, Vec::<String>::new());
    for worktree in &found.worktrees {
        let opened = Worktree::open(&worktree.root).unwrap();
        let ours = (
            worktree.worktree_id(),
            worktree.git_dir.as_path(),
            worktree.common_dir.as_path(),
        );
        assert_eq!(
            ours,
            (opened.worktree_id(), opened.git_dir(), opened.common_dir()),
            "{}",
            worktree.root.display()
        );
    }
}

#[test]
fn broken_or_missing_worktrees_are_told_beside_others() {
    let env = TestEnv::new();
    let repo = env.repo_named("all/repo");
    for name in ["removed", "moved", "replaced", "fine"] {
        repo.git(&["worktree", "add", "-q", &format!("../{name}"), "-b", name]);
    }
    let all = env.root().join("all");
    fs::remove_dir_all(all.join("removed")).unwrap();
    fs::rename(all.join("moved"), all.join("new-place")).unwrap();
    fs::remove_dir_all(all.join("replaced")).unwrap();
    env.repo_named("all/replaced");
    env.write("all/garbage/.git", "nonsense\n");
    env.write("all/damaged/.git/config", "[core]\n");
    env.write("all/lost/.git", "gitdir: ../repo/.git/worktrees/never\n");
    fs::create_dir_all(all.join("sandbox/.git")).unwrap();
    env.write("plain/file", "x");

    let found = search(&[
        &all,
        &env.root().join("plain"),
        &env.root().join("nowhere"),
        &env.root().join("plain/file"),
    ]);
    let expected = [
        ("all/damaged", "broken"),
        ("all/fine", "there"),
        ("all/garbage", "broken"),
        ("all/lost", "broken"),
        ("all/new-place", "there"),
        ("all/removed", "gone"),
        ("all/replaced", "gone"),
        ("all/replaced", "there"),
        ("all/repo", "there"),
        ("nowhere", "nothing"),
        ("plain", "nothing"),
        ("plain/file", "nothing"),
    ];
    let mut told = told(&env, &found);
    told.sort();
    assert_eq!(told, expected.map(|(name, word)| (name.to_string(), word)));
}

#[test]
fn inner_folder_stands_for_its_whole_repository() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    repo.write("src/deep/file", "x");
    let found = search(&[&repo.path().join("src/deep")]);
    assert_eq!(
        told(&env, &found),
        [
            ("linked".to_string(), "there"),
            ("repo".to_string(), "there")
        ]
    );
}

#[test]
fn caches_and_fetched_packages_are_passed_by() {
    let env = TestEnv::new();
    for name in [
        "all/repo",
        "all/repo/node_modules/package",
        "all/repo/target/checkout",
        "all/repo/src/kept",
    ] {
        env.repo_named(name);
    }
    env.write(
        "all/repo/target/CACHEDIR.TAG",
        "Signature: 8a477f597d28d172789f06886806bc55\n",
    );
    let found = search(&[&env.root().join("all")]);
    assert_eq!(
        told(&env, &found),
        ["all/repo", "all/repo/src/kept"].map(|name| (name.to_string(), "there"))
    );
}

#[test]
fn a_search_ends_when_it_is_told_to() {
    let env = TestEnv::new();
    env.repo_named("all/a");
    let found = find_worktrees(&[env.root()], &|| true);
    assert_eq!(found.worktrees, []);
}

#[test]
fn unlistable_worktrees_are_an_entry_not_absent() {
    let env = TestEnv::new();
    let repo = env.repo_named("all/repo");
    repo.git(&["worktree", "add", "-q", "../beside", "-b", "beside"]);
    let list = env.root().join("all/repo/.git/worktrees");
    fs::rename(&list, list.with_extension("away")).unwrap();
    symlink("worktrees", &list).unwrap();
    let found = search(&[&env.root().join("all/repo")]);
    assert_eq!(
        told(&env, &found),
        [
            ("all/repo", "there"),
            ("all/repo/.git/worktrees", "unlisted")
        ]
        .map(|(name, word)| (name.to_string(), word))
    );
    // Nobody may take a sweep of the main worktree alone for one of all.
    let swept = env
        .watchdog(&env.root(), &["sweep", "--no-probe", "--json", "all/repo"])
        .expect(16);
    swept.assert_printed(&["its linked worktrees cannot be listed"]);
}
