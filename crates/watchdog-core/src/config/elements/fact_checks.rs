//! The check types that use facts: `git` and `files`.

use super::super::key_kinds::{FLAG, INSIDE_GLOB, TEXT, filled_list_of, list_of, nullable, whole};
use super::super::key_table::{KeyBlock, keys, no_rules};
use super::super::reader::ConfigSection;
use super::super::settings::{CheckKind, FilesCriterion, GitCriterion};
use super::check_type::{CheckType, criterion_of};

pub(super) static GIT: CheckType<GitCriterion> = CheckType {
    doc: "Commits made here with a net change, and the state of the worktree, decide.",
    block: KeyBlock {
        name: "git",
        defaults: GitCriterion::default,
        keys: keys! { GitCriterion;
            "min_commits" => min_commits: whole(0..=u32::MAX as u64),
                "[commits made here](verdict.md#what-counts-as-a-commit) since the session began, with a net change; 0 asks for none";
            "require_clean" => require_clean: FLAG, "whether nothing may be left uncommitted, and no merge or rebase half done";
            "require_pushed" => require_pushed: FLAG,
                "whether a remote-tracking branch must reach HEAD, without a question over the network";
            "no_conflict_markers" => no_conflict_markers: FLAG,
                "whether files that changed since the baseline may hold no `<<<<<<<`, `=======`, `>>>>>>>` lines of a conflict";
            "protected" => protected: list_of(INSIDE_GLOB),
                "paths that must be as they were when the work began, in HEAD, in the index and on disk, even after a pull";
        },
        rules: git_asks_for_something,
    },
    any_of: &[],
    wrap: CheckKind::Git,
    unwrap: criterion_of!(Git),
};

/// The intention of a wrong key is unknown.
fn git_asks_for_something(
    section: &ConfigSection<'_>,
    criterion: &mut GitCriterion,
    all_right: bool,
) {
    if all_right && criterion.is_empty() {
        section.wrong("asks for nothing; give `min_commits` of at least 1, `require_clean`: true, or another of its keys");
    }
}

pub(super) static FILES: CheckType<FilesCriterion> = CheckType {
    doc: "Each glob needs a file, by default one that is not empty.",
    block: KeyBlock {
        name: "files",
        defaults: || FilesCriterion::new(Vec::new()),
        keys: keys! { FilesCriterion;
            "paths" => paths: filled_list_of(INSIDE_GLOB, "must name at least one file; an empty list can never be complete"),
                "each needs at least one file", mark_required("it lists the files that must be there");
            "non_empty" => non_empty: FLAG, "whether an empty file is none";
            "contains" => contains: nullable(TEXT), "what the file must hold as well";
        },
        rules: no_rules,
    },
    any_of: &[],
    wrap: CheckKind::Files,
    unwrap: criterion_of!(Files),
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::super::parse::testing::{criterion, fails};
    use super::*;

    #[test]
    fn git_asks_for_one_commit_unless_told_otherwise() {
        assert_eq!(
            criterion(r#"{"type": "git"}"#),
            CheckKind::Git(GitCriterion::default())
        );
        let keys = r#""min_commits": 0, "require_clean": true, "require_pushed": true, "no_conflict_markers": true, "protected": ["tests/**"]"#;
        assert_eq!(
            criterion(&format!(r#"{{"type": "git", {keys}}}"#)),
            CheckKind::Git(GitCriterion {
                min_commits: 0,
                require_clean: true,
                require_pushed: true,
                no_conflict_markers: true,
                protected: vec!["tests/**".into()]
            })
        );
        fails(
            r#"{"checks": [{"type": "git", "min_commits": 0}]}"#,
            "checks[0]: asks for nothing",
        );
        fails(
            r#"{"checks": [{"type": "git", "min_commits": 0, "protected": []}]}"#,
            "checks[0]: asks for nothing",
        );
        fails(
            r#"{"checks": [{"type": "git", "min_commits": -2}]}"#,
            "checks[0].min_commits: expected a whole number",
        );
        fails(
            r#"{"checks": [{"type": "git", "require_clen": true}]}"#,
            "did you mean `require_clean`?",
        );
        fails(
            r#"{"checks": [{"type": "git", "protected": ["../x"]}]}"#,
            "checks[0].protected[0]: must be a path inside the worktree",
        );
        let text = r#"{"checks": [{"type": "git", "min_commits": 0, "require_clean": "yes"}]}"#;
        let error = super::super::super::parse_config(text, Path::new("completion.json"))
            .expect_err(text)
            .to_string();
        assert!(
            error.contains("require_clean") && !error.contains("asks for nothing"),
            "it may ask for something: {error}"
        );
    }

    #[test]
    fn files_are_named_inside_the_worktree() {
        let wanted = FilesCriterion::new(vec!["a.txt".into(), "out/**/*.md".into()]);
        assert_eq!(
            criterion(r#"{"type": "files", "paths": ["a.txt", "out/**/*.md"]}"#),
            CheckKind::Files(wanted)
        );
        let wanted = FilesCriterion {
            non_empty: false,
            contains: Some("ok".into()),
            ..FilesCriterion::new(vec!["a".into()])
        };
        assert_eq!(
            criterion(r#"{"type": "files", "paths": ["a"], "non_empty": false, "contains": "ok"}"#),
            CheckKind::Files(wanted)
        );
        fails(
            r#"{"checks": [{"type": "files"}]}"#,
            "checks[0].paths: missing",
        );
        fails(
            r#"{"checks": [{"type": "files", "paths": []}]}"#,
            "checks[0].paths: must name at least one file",
        );
        fails(
            r#"{"checks": [{"type": "files", "paths": ["a", "../b"]}]}"#,
            "checks[0].paths[1]: must be a path inside the worktree",
        );
        fails(
            r#"{"checks": [{"type": "files", "paths": ["{a"]}]}"#,
            "checks[0].paths[0]: not a valid glob",
        );
        fails(
            r#"{"checks": [{"type": "files", "paths": "a"}]}"#,
            "checks[0].paths: expected a list",
        );
    }
}
