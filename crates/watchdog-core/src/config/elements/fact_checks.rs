//! The check types that look at facts: `git` and `files`.

use super::super::reader::{ConfigNode, put};
use super::super::settings::{CheckKind, FilesCriterion, GitCriterion};
use super::super::syntax::ValueKind;

pub(in super::super) const GIT_KEYS: &[&str] =
    &["type", "name", "min_commits", "require_clean", "require_pushed", "no_conflict_markers", "protected"];

pub(in super::super) const FILES_KEYS: &[&str] = &["type", "name", "paths", "non_empty", "contains"];

/// Reads a `git` check.
pub(in super::super) fn git(node: &ConfigNode<'_>) -> Option<CheckKind> {
    let section = node.section(GIT_KEYS)?;
    let mut found = GitCriterion::default();
    if let Some(n) = section.get("min_commits") {
        found.min_commits = n.whole(0..=u64::from(u32::MAX))?;
    }
    for (key, flag) in [
        ("require_clean", &mut found.require_clean),
        ("require_pushed", &mut found.require_pushed),
        ("no_conflict_markers", &mut found.no_conflict_markers),
    ] {
        if let Some(n) = section.get(key) {
            *flag = n.flag()?;
        }
    }
    if let Some(n) = section.get("protected") {
        found.protected = n.list(ConfigNode::inside_glob)?;
    }
    if found.is_empty() {
        section.wrong("asks for nothing; give `min_commits` of at least 1, `require_clean`: true, or another of its keys");
        return None;
    }
    Some(CheckKind::Git(found))
}

/// Reads a `files` check.
pub(in super::super) fn files(node: &ConfigNode<'_>) -> Option<CheckKind> {
    let section = node.section(FILES_KEYS)?;
    let list = section.required("paths", "it lists the files that must be there")?;
    let mut found = FilesCriterion::new(list.list(|n| n.inside_glob())?);
    if matches!(&list.json.kind, ValueKind::List(items) if items.is_empty()) {
        list.wrong("must name at least one file; an empty list can never be complete");
        return None;
    }
    put(&mut found.non_empty, section.get("non_empty").and_then(|n| n.flag()));
    found.contains = section.nullable("contains", ConfigNode::text).flatten();
    Some(CheckKind::Files(found))
}

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{criterion, fails};
    use super::*;

    #[test]
    fn git_asks_for_one_commit_unless_told_otherwise() {
        assert_eq!(criterion(r#"{"type": "git"}"#), CheckKind::Git(GitCriterion::default()));
        let keys =
            r#""min_commits": 0, "require_clean": true, "require_pushed": true, "no_conflict_markers": true, "protected": ["tests/**"]"#;
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
        fails(r#"{"checks": [{"type": "git", "min_commits": 0}]}"#, "checks[0]: asks for nothing");
        fails(r#"{"checks": [{"type": "git", "min_commits": 0, "protected": []}]}"#, "checks[0]: asks for nothing");
        fails(r#"{"checks": [{"type": "git", "min_commits": -2}]}"#, "checks[0].min_commits: expected a whole number");
        fails(r#"{"checks": [{"type": "git", "require_clen": true}]}"#, "did you mean `require_clean`?");
        fails(r#"{"checks": [{"type": "git", "protected": ["../x"]}]}"#, "checks[0].protected[0]: must be a path inside the worktree");
    }

    #[test]
    fn files_are_named_inside_the_worktree() {
        let wanted = FilesCriterion::new(vec!["a.txt".into(), "out/**/*.md".into()]);
        assert_eq!(criterion(r#"{"type": "files", "paths": ["a.txt", "out/**/*.md"]}"#), CheckKind::Files(wanted));
        let wanted = FilesCriterion { non_empty: false, contains: Some("ok".into()), ..FilesCriterion::new(vec!["a".into()]) };
        assert_eq!(criterion(r#"{"type": "files", "paths": ["a"], "non_empty": false, "contains": "ok"}"#), CheckKind::Files(wanted));
        fails(r#"{"checks": [{"type": "files"}]}"#, "checks[0].paths: missing");
        fails(r#"{"checks": [{"type": "files", "paths": []}]}"#, "checks[0].paths: must name at least one file");
        fails(r#"{"checks": [{"type": "files", "paths": ["a", "../b"]}]}"#, "checks[0].paths[1]: must be a path inside the worktree");
        fails(r#"{"checks": [{"type": "files", "paths": ["{a"]}]}"#, "checks[0].paths[0]: not a valid glob");
        fails(r#"{"checks": [{"type": "files", "paths": "a"}]}"#, "checks[0].paths: expected a list");
    }
}
