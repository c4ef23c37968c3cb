//! Commits of branches from before a session that it takes from every ref: kept, and named with the way back.

use crate::siblings::{run, three_worktrees};
use crate::support::TestEnv;

#[test]
fn lost_branches_of_before_are_named_and_kept() {
    let env = TestEnv::new();
    let [main, own, sibling] = three_worktrees(&env);
    let base = main.head();
    main.commit_all("of main");
    sibling.commit_all("of the sibling");
    let name = main.path().file_name().unwrap().to_str().unwrap();
    let collect = "git reflog expire --expire=now --all; git gc -q --prune=now";
    for (script, lost) in [
        ("git -C MAIN reset -q --hard HEAD~1", "branch main"),
        (
            "git worktree remove ../sibling; git branch -q -D sibling",
            "branch sibling",
        ),
        ("git branch -q -f topic HEAD", "branch topic"),
        (
            "cd MAIN; git switch -q --detach topic; git branch -q -D topic; git switch -q main",
            "branch topic",
        ),
        (
            "git branch -q -m topic other; cd MAIN; git reset -q --soft HEAD~1; git commit -q -C ORIG_HEAD",
            "",
        ),
        ("git -C MAIN commit -q --amend -m other", ""),
    ] {
        main.git(&["switch", "-q", "-C", "topic", &base]);
        main.write("src/a", script);
        main.commit_all(script);
        main.git(&["switch", "-q", "main"]);
        let rev = lost.strip_prefix("branch ").unwrap_or("HEAD");
        let commit = main.git(&["rev-parse", rev]).trim().to_owned();
        let script = script.replace("MAIN", &format!("../{name}"));
        let verdict = run(&own, &format!("{script}; {collect}"));
        let message = verdict["message"].as_str().unwrap();
        let expected = match lost {
            "" => "no branch reaches".to_owned(),
            lost => format!(
                "{lost}: no branch reaches commit {} any more",
                &commit[..12]
            ),
        };
        let is_named = message.contains(&expected);
        assert_eq!(is_named, !lost.is_empty(), "{script}: {verdict:#}");
        main.git(&["cat-file", "-e", &commit]);
    }
    // A loop of sessions leaves one ref while no work is lost.
    let keepers = || {
        main.git(&[
            "for-each-ref",
            "--format=%(refname)",
            "refs/watchdog/judged",
        ])
    };
    let count = |refs: String| {
        refs.lines()
            .filter(|name| name.contains("%branches"))
            .count()
    };
    let before = count(keepers());
    for text in ["one", "two"] {
        main.write("src/a", text);
        main.commit_all(text);
        run(&own, "true");
    }
    assert!(count(keepers()) <= before + 1, "{}", keepers());
}
