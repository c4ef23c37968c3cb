//! Which repositories open, and how the others are refused.

use std::fs;
use std::path::Path;

use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_git::{Error, HistoryPoint, Worktree};

use crate::support::assert_parts;
use crate::support::lone_repo::Repo;

fn refused(path: &Path) -> Error {
    match Worktree::open(path) {
        Ok(worktree) => panic!("{} was opened", worktree.root().display()),
        Err(error) => error,
    }
}

#[test]
fn subfolder_opens_the_top_of_its_worktree() {
    let repo = Repo::init();
    repo.write("a/b/c.txt", "x");
    let worktree = Worktree::open(&repo.path("a/b")).unwrap();
    assert_eq!(worktree.root(), repo.root());
    assert_eq!(worktree.git_dir(), repo.path(".git"));
    assert_eq!(worktree.common_dir(), repo.path(".git"));
}

#[test]
fn symlinked_worktree_keeps_its_identity() {
    let repo = Repo::init();
    let link = repo.root().parent().unwrap().join("link");
    std::os::unix::fs::symlink(repo.root(), &link).unwrap();
    let (direct, linked) = (
        Worktree::open(repo.root()).unwrap(),
        Worktree::open(&link).unwrap(),
    );
    assert_eq!(linked.root(), repo.root());
    assert_eq!(direct.worktree_id(), linked.worktree_id());
}

#[test]
fn linked_worktrees_share_repository_but_not_identity() {
    let repo = Repo::init();
    repo.commit("one");
    repo.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let (main, side) = (
        Worktree::open(repo.root()).unwrap(),
        Worktree::open(repo.at("side").root()).unwrap(),
    );
    assert_eq!(side.root(), repo.at("side").root());
    assert_eq!(side.git_dir(), repo.path(".git/worktrees/side"));
    assert_eq!(side.common_dir(), main.common_dir());
    assert_eq!(side.repository_id(), main.repository_id());
    assert_ne!(side.worktree_id(), main.worktree_id());
    assert_ne!(main.repository_id(), main.worktree_id());
    assert!(
        main.worktree_id().len() == 16 && main.worktree_id().bytes().all(|b| b.is_ascii_hexdigit())
    );
    assert_eq!(
        (side.default_spec(), main.default_spec()),
        ("side".to_string(), "main".to_string())
    );
}

#[test]
fn bare_repository_opens_only_through_a_worktree() {
    let repo = Repo::init();
    repo.commit("one");
    repo.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = repo.at("bare.git");
    bare.git(&["worktree", "add", "-q", "../linked", "main"]);
    assert_eq!(
        Worktree::open(repo.at("linked").root())
            .unwrap()
            .branch()
            .as_deref(),
        Some("main")
    );
    assert!(matches!(refused(bare.root()), Error::Bare { .. }));
    assert!(matches!(refused(&bare.path("refs")), Error::Bare { .. }));
}

#[test]
fn unusable_setting_is_named_with_its_mend() {
    let repo = Repo::init();
    repo.commit("one");
    repo.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let side = repo.at("side");
    let cases: [(&[&[&str]], &str, &str); 9] = [
        (&[&["core.bare", "true"]], "main", "core.bare"),
        (&[&["core.worktree", "/nowhere"]], "main", "core.worktree"),
        (&[&["core.worktree", "../../side"]], "main", "core.worktree"),
        (&[&["core.worktree", "../.."]], "main", "core.worktree"),
        (
            &[&["core.bare", "true"], &["core.worktree", "/nowhere"]],
            "main",
            "core.bare",
        ),
        (
            &[
                &["extensions.worktreeConfig", "true"],
                &["--worktree", "core.bare", "true"],
            ],
            "main",
            "core.bare",
        ),
        (
            &[
                &["extensions.worktreeConfig", "true"],
                &["core.bare", "true"],
            ],
            "side",
            "core.bare",
        ),
        (
            &[
                &["extensions.worktreeConfig", "true"],
                &["core.worktree", "/nowhere"],
            ],
            "side",
            "core.worktree",
        ),
        (&[&["core.bare", "maybe"]], "main", "core.bare"),
    ];
    let config_text = fs::read(repo.path(".git/config")).unwrap();
    for (settings, place, key) in cases {
        for words in settings {
            repo.git(&[&["config"], *words].concat());
        }
        let here = if place == "side" { &side } else { &repo };
        let finds_this = || {
            let answer = here.try_git(&["rev-parse", "--show-toplevel"]).stdout;
            String::from_utf8_lossy(&answer).trim_end() == here.root().to_string_lossy()
        };
        assert!(!finds_this(), "{settings:?}");
        let worktree = Worktree::open(here.root()).unwrap();
        assert_eq!(worktree.root(), here.root(), "{settings:?}");
        assert_eq!(worktree.changes().unwrap().untracked, 0, "{settings:?}");
        // A second fault shows when the first one is mended.
        let mut faults = Vec::new();
        while let Some(fault) = worktree.config_fault() {
            let hint = fault.hint();
            let mend = hint.strip_prefix("type: ").unwrap();
            let words: Vec<&str> = mend.split(' ').skip(1).collect();
            here.git(&words);
            faults.push(format!("{fault}; {mend}"));
        }
        assert!(
            faults[0].starts_with(key) && faults[0].contains("config"),
            "{faults:?}"
        );
        assert!(finds_this(), "{faults:?}");
        fs::write(repo.path(".git/config"), &config_text).unwrap();
        let _ = fs::remove_file(repo.path(".git/config.worktree"));
    }
}

#[test]
fn mend_opens_a_repository_that_git_refuses() {
    let repo = Repo::init();
    repo.commit("one");
    for script in ["git config extensions.objectformat sha1", "rm .git/HEAD"] {
        let run = |line: &str| {
            let mut shell = std::process::Command::new("sh");
            shell.current_dir(repo.root()).args(["-c", line]);
            assert!(shell.status().unwrap().success(), "{line}");
        };
        run(script);
        assert!(!repo.try_git(&["status"]).status.success());
        let hint = refused(repo.root()).hint();
        run(&hint
            .strip_prefix("type: ")
            .unwrap()
            .replace("BRANCH", "main"));
        repo.git(&["status"]);
        Worktree::open(repo.root()).unwrap();
    }
}

#[test]
fn plain_or_missing_folder_is_no_repository() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("nowhere")] {
        let error = refused(&path);
        assert!(
            matches!(&error, Error::NotARepository { path: named } if *named == path),
            "{error}"
        );
        let fault = UnreadableFact::from(error);
        assert_eq!(fault.kind, FaultKind::NotARepository);
        assert!(fault.hint.unwrap().contains("-C PATH"));
    }
}

#[test]
fn broken_git_folder_is_named_never_skipped() {
    let outer = Repo::init();
    outer.commit("one");
    for (what, name, text) in [
        ("truncated HEAD", "HEAD", ""),
        ("garbage in HEAD", "HEAD", "nonsense\n"),
        ("garbage in config", "config", "[core\nnonsense"),
    ] {
        let folder = format!("inner-{}", what.replace(' ', "-"));
        outer.git(&["init", "-q", &folder]);
        outer.write(&format!("{folder}/.git/{name}"), text);
        let error = refused(&outer.path(&folder));
        assert!(matches!(error, Error::Setting { .. }), "{what}: {error}");
        assert!(
            error.to_string().contains(&format!("{folder}/.git")),
            "{what}: {error}"
        );
    }
    fs::remove_file(outer.path("inner-garbage-in-config/.git/config")).unwrap();
    fs::create_dir(outer.path("inner-garbage-in-config/.git/config")).unwrap();
    let error = refused(&outer.path("inner-garbage-in-config"));
    assert!(error.hint().contains("type: mv "), "{error}");
    // Sandboxes leave empty `.git` folders behind; git walks past them.
    fs::create_dir_all(outer.path("sandbox/.git")).unwrap();
    assert_eq!(
        Worktree::open(&outer.path("sandbox")).unwrap().root(),
        outer.root()
    );
}

#[test]
fn a_worktree_whose_repository_is_gone_is_named() {
    let repo = Repo::init();
    repo.commit("one");
    repo.git(&["worktree", "add", "-q", "../side"]);
    fs::remove_dir_all(repo.path(".git/worktrees/side")).unwrap();
    let error = refused(repo.at("side").root());
    assert!(error.hint().contains("worktree repair "), "{error}");
    assert_parts(&error.to_string(), &["side/.git", ".git/worktrees/side"]);
}

#[test]
fn unknown_extensions_are_refused_by_name() {
    let repo = Repo::init();
    repo.git(&["config", "core.repositoryFormatVersion", "1"]);
    repo.git(&["config", "extensions.timeTravel", "true"]);
    assert!(!repo.try_git(&["status"]).status.success());
    let error = refused(repo.root());
    assert!(error.to_string().contains("timetravel"), "{error}");
}

#[test]
fn sha256_repositories_shallow_clones_and_relative_worktrees_open() {
    let repo = Repo::init_with(&["--object-format=sha256"]);
    let head = repo.commit("one");
    assert_eq!(head.len(), 64);
    assert_eq!(
        Worktree::open(repo.root()).unwrap().head().unwrap(),
        HistoryPoint::Commit(head)
    );

    let repo = Repo::init();
    repo.commit("one");
    let head = repo.commit("two");
    repo.git_line(
        "clone -q --depth=1 {} ../shallow",
        &[&format!("file://{}", repo.root().display())],
    );
    assert_eq!(
        Worktree::open(repo.at("shallow").root())
            .unwrap()
            .head()
            .unwrap(),
        HistoryPoint::Commit(head)
    );
}

#[test]
fn repository_of_another_user_is_refused() {
    let repo = Repo::init();
    repo.commit("one");
    if std::os::unix::fs::chown(repo.root(), Some(12345), None).is_err() {
        return; // Only root can give files away.
    }
    std::os::unix::fs::chown(repo.path(".git"), Some(12345), None).unwrap();
    assert!(!repo.try_git(&["status"]).status.success());
    let error = refused(repo.root());
    assert!(matches!(error, Error::ForeignOwner { .. }), "{error}");
    let fault = UnreadableFact::from(error);
    assert!(fault.hint.unwrap().contains("safe.directory"));
    // The repository cannot vouch for itself.
    fs::write(
        repo.path(".git/config"),
        "[core]\n\trepositoryformatversion = 0\n[safe]\n\tdirectory = *\n",
    )
    .unwrap();
    assert!(matches!(refused(repo.root()), Error::ForeignOwner { .. }));
}

#[test]
fn head_is_attached_detached_or_unborn() {
    let repo = Repo::init();
    let worktree = Worktree::open(repo.root()).unwrap();
    assert_eq!(
        (worktree.head().unwrap(), worktree.branch().as_deref()),
        (HistoryPoint::Unborn, Some("main"))
    );
    let one = repo.commit("one");
    assert_eq!(worktree.head().unwrap(), HistoryPoint::Commit(one.clone()));
    repo.git(&["checkout", "-q", "--detach"]);
    assert_eq!(
        (worktree.head().unwrap(), worktree.branch()),
        (HistoryPoint::Commit(one.clone()), None)
    );
    assert_eq!(worktree.default_spec(), "detached");
    repo.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/alias"]);
    assert_eq!(worktree.head().unwrap(), HistoryPoint::Commit(one));
}

#[test]
fn damaged_branch_is_an_error_not_unborn() {
    let repo = Repo::init();
    repo.commit("one");
    for text in ["", "garbage\n", "0123\n"] {
        repo.write(".git/refs/heads/main", text);
        let error = Worktree::open(repo.root())
            .and_then(|w| w.head())
            .unwrap_err();
        assert!(matches!(error, Error::Read { .. }), "{text:?}: {error}");
    }
}

#[test]
fn revisions_resolve_to_commits() {
    let repo = Repo::init();
    let one = repo.commit("one");
    let two = repo.commit("two");
    repo.git(&["tag", "-a", "v1", "-m", "first", &one]);
    repo.git(&["tag", "-a", "v1-again", "-m", "first", "v1"]);
    let worktree = Worktree::open(repo.root()).unwrap();
    for (rev, expected) in [
        ("HEAD", &two),
        ("HEAD~0", &two),
        ("HEAD~1", &one),
        ("HEAD^", &one),
        ("main", &two),
        ("@", &two),
        ("@{1}", &one),
        ("v1", &one),
        ("v1-again", &one),
        ("refs/tags/v1^{commit}", &one),
        (&one[..8], &one),
        (one.as_str(), &one),
    ] {
        assert_eq!(
            worktree
                .resolve(rev)
                .unwrap_or_else(|e| panic!("{rev}: {e}")),
            HistoryPoint::Commit(expected.clone()),
            "{rev}"
        );
    }
    assert_eq!(worktree.resolve("unborn").unwrap(), HistoryPoint::Unborn);
}

#[test]
fn unresolvable_revision_is_an_error_naming_it() {
    let repo = Repo::init();
    let one = repo.commit("one");
    let worktree = Worktree::open(repo.root()).unwrap();
    let missing = "1".repeat(40);
    for rev in [
        "nowhere",
        "HEAD~7",
        missing.as_str(),
        "",
        "HEAD..main",
        "-x",
    ] {
        let error = worktree.resolve(rev).unwrap_err();
        assert!(
            matches!(&error, Error::UnknownRevision { rev: named } if named == rev),
            "{rev}: {error}"
        );
    }
    for rev in ["HEAD:one.txt", "HEAD^{tree}"] {
        let error = worktree.resolve(rev).unwrap_err();
        assert!(
            matches!(error, Error::Read { .. }) && error.to_string().contains("not a commit"),
            "{rev}: {error}"
        );
    }
    fs::remove_file(repo.path(&format!(".git/objects/{}/{}", &one[..2], &one[2..]))).unwrap();
    let error = Worktree::open(repo.root())
        .unwrap()
        .resolve("main")
        .unwrap_err();
    assert!(
        matches!(error, Error::Read { .. }) && error.to_string().contains("missing"),
        "{error}"
    );
}

#[test]
fn the_recorded_refs_leave_out_our_own() {
    let repo = Repo::init();
    let one = repo.commit("one");
    repo.git(&["update-ref", "refs/watchdog/rescue/x", &one]);
    repo.git(&["update-ref", "refs/remotes/origin/main", &one]);
    repo.git(&["pack-refs", "--all"]);
    repo.git(&["branch", "later"]);
    let tips = Worktree::open(repo.root()).unwrap().ref_tips().unwrap();
    let names: Vec<&str> = tips.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "main-worktree/HEAD",
            "refs/heads/later",
            "refs/heads/main",
            "refs/remotes/origin/main"
        ]
    );
    assert!(tips.iter().all(|(_, id)| *id == one));
}

#[test]
fn a_damaged_packed_ref_hides_no_other() {
    let repo = Repo::init();
    let commit = repo.commit("one");
    let line = |n: u32| format!("{commit} refs/remotes/origin/{n}\n");
    let lines: String = (10..30).map(line).collect();
    let damage = "damage ".repeat(900);
    repo.write(
        ".git/packed-refs",
        &format!(
            "# pack-refs with: peeled fully-peeled sorted \n{lines}{damage}\n{}",
            line(30)
        ),
    );
    let tips = Worktree::open(repo.root()).unwrap().ref_tips().unwrap();
    let count = |prefix: &str| {
        (tips.iter())
            .filter(|tip| tip.0.starts_with(prefix))
            .count()
    };
    assert_eq!((count("refs/remotes/"), count("refs/heads/")), (21, 1));
}
