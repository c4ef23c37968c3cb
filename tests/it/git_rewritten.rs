//! The commits since a baseline that is no longer part of HEAD's history.

use crate::git_history::{Session, sum, with_colleague};
use crate::support::assert_parts;
use crate::support::lone_repo::Repo;

#[test]
fn an_amended_baseline_counts_only_new_content() {
    let repo = Repo::init();
    repo.commit("seed");
    repo.commit_file("work.txt", "a\nb\nc\n", "work");
    let session = Session::begin(&repo);
    repo.git(&["commit", "-q", "--amend", "-m", "reworded"]);
    let commits = session.commits();
    assert_eq!(sum(&commits), (1, 0, 0, false, vec!["history_rewritten"]));
    let seed = repo.git(&["rev-parse", "HEAD~1"]);
    assert!(
        commits.degraded[0].detail.contains(&seed[..12]),
        "{}",
        commits.degraded[0].detail
    );
    repo.write("work.txt", "a\nb\nc\nd\n");
    repo.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    assert_eq!(session.sum(), (1, 1, 0, true, vec!["history_rewritten"]));
}

#[test]
fn rebased_commits_stay_the_same_work() {
    let (_seed, agent, other) = with_colleague();
    agent.commit_file("file.txt", "1\n2\n3\n4\n5\n6\n7\n8\n", "base");
    agent.git(&["push", "-q"]);
    other.git(&["pull", "-q"]);
    agent.commit_file("file.txt", "1\n2\n3\n4\n5\n6\n7\nEIGHT\n", "own");
    let session = Session::begin(&agent);
    // The colleague's change moves the agent's lines.
    other.commit_file("file.txt", "0\n0\n1\n2\n3\n4\n5\n6\n7\n8\n", "c1");
    other.git(&["push", "-q"]);
    agent.git(&["pull", "-q", "--rebase"]);
    assert_eq!(session.sum(), (2, 0, 1, false, vec!["history_rewritten"]));
    assert!(!session.commits().completes());
    agent.commit("more");
    assert_eq!(session.sum(), (3, 1, 1, true, vec!["history_rewritten"]));
    assert!(session.commits().completes());
}

#[test]
fn rebase_onto_a_recorded_branch_makes_no_work() {
    let repo = Repo::init();
    repo.commit("seed");
    repo.git(&["checkout", "-q", "-b", "feature"]);
    repo.commit("f1");
    repo.commit("f2");
    repo.git(&["checkout", "-q", "main"]);
    repo.commit("m1");
    repo.git(&["checkout", "-q", "feature"]);
    let session = Session::begin(&repo);
    repo.git(&["rebase", "-q", "main"]);
    assert_eq!(session.sum(), (3, 0, 1, false, vec!["history_rewritten"]));
    // Squashed, the patch is a new one, and the content is not.
    repo.git(&["reset", "-q", "--soft", "HEAD~2"]);
    repo.git(&["commit", "-q", "-m", "squashed"]);
    let (all, made, imported, ..) = session.sum();
    assert_eq!((all, made, imported), (2, 1, 1));
}

#[test]
fn a_reset_to_an_older_commit_is_noticed() {
    let repo = Repo::init();
    repo.commit("one");
    repo.commit("two");
    let session = Session::begin(&repo);
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(session.sum(), (0, 0, 0, false, vec!["history_rewritten"]));
    assert!(!session.commits().completes());
}

#[test]
fn an_orphan_branch_is_noticed() {
    let repo = Repo::init();
    repo.commit("one");
    let session = Session::begin(&repo);
    repo.git(&["checkout", "-q", "--orphan", "fresh"]);
    let commits = session.commits();
    assert_eq!(
        (commits.head.clone(), sum(&commits)),
        (None, (0, 0, 0, false, vec!["history_rewritten"]))
    );
    repo.commit("two");
    let commits = session.commits();
    assert_eq!(sum(&commits), (1, 1, 0, true, vec!["history_rewritten"]));
    assert_parts(&commits.degraded[0].detail, &["no commit in common"]);
}

#[test]
fn rewrites_with_binary_or_mode_changes_are_compared() {
    let repo = Repo::init();
    repo.commit("seed");
    repo.commit_file("blob.bin", "a\0b", "blob");
    std::fs::set_permissions(
        repo.path("blob.bin"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    repo.git(&["commit", "-q", "-a", "-m", "mode"]);
    let session = Session::begin(&repo);
    repo.git_line(
        "rebase -q -x {} HEAD~2",
        &["git commit -q --amend -m reworded-$(git rev-parse HEAD)"],
    );
    assert_eq!(session.sum(), (2, 0, 0, false, vec!["history_rewritten"]));
    repo.commit_file("blob.bin", "a\0c", "blob again");
    let (_, made, _, net, _) = session.sum();
    assert_eq!((made, net), (1, true));
}

#[test]
fn blobless_clone_is_compared_by_blob_names() {
    let seed = Repo::init();
    seed.commit_file("f", "one\n", "one");
    seed.commit_file("f", "two\n", "two");
    seed.git(&["config", "uploadpack.allowFilter", "true"]);
    let address = format!("file://{}", seed.root().display());
    seed.git(&["clone", "-q", "--filter=blob:none", &address, "../partial"]);
    let partial = seed.at("partial");
    let session = Session::begin(&partial);
    // The older content is not here, and nobody may fetch it.
    partial.git(&["remote", "set-url", "origin", "file:///nowhere"]);
    partial.git(&["commit", "-q", "--amend", "-m", "reworded"]);
    assert_eq!(session.sum(), (1, 0, 0, false, vec!["history_rewritten"]));
}

#[test]
fn uncomparably_many_commits_never_count_as_work() {
    let repo = Repo::init();
    repo.commit("seed");
    let import = |branch: &str, count: usize| {
        let mut stream = String::new();
        for n in 0..count {
            let from = if n == 0 {
                "from refs/heads/main^0\n"
            } else {
                ""
            };
            stream.push_str(&format!(
                "commit refs/heads/{branch}\ncommitter C <c@x> {} +0000\ndata 2\nc\n{from}",
                1_800_000_000 + n
            ));
            stream.push_str(&format!(
                "M 100644 inline {branch}\ndata <<END\n{n}\nEND\n\n"
            ));
        }
        std::fs::write(repo.path("../stream"), stream).unwrap();
        let input = std::fs::File::open(repo.path("../stream")).unwrap();
        assert!(
            repo.command(&["fast-import", "--quiet"])
                .stdin(input)
                .status()
                .unwrap()
                .success()
        );
    };
    import("long", 2100);
    repo.git(&["checkout", "-q", "long"]);
    let session = Session::begin(&repo);
    repo.git(&["checkout", "-q", "-b", "away", "main"]);
    repo.commit("work");
    let commits = session.commits();
    assert_eq!(
        sum(&commits),
        (
            1,
            0,
            0,
            false,
            vec!["history_rewritten", "rewrite_too_large"]
        )
    );
    assert!(!commits.completes());
}
