//! The check types that look at facts: `git` and `files`.

use super::super::reader::Node;
use super::super::settings::Criterion;
use super::super::syntax::Kind;

pub(in super::super) const GIT_KEYS: &[&str] = &["type", "name", "min_commits", "require_clean"];

pub(in super::super) const FILES_KEYS: &[&str] = &["type", "name", "paths"];

/// Reads a `git` check.
pub(in super::super) fn git(node: &Node<'_>) -> Option<Criterion> {
    let section = node.section(GIT_KEYS)?;
    let min_commits = match section.get("min_commits") {
        Some(n) => n.whole(0..=u64::from(u32::MAX))?,
        None => 1,
    };
    let require_clean = match section.get("require_clean") {
        Some(n) => n.flag()?,
        None => false,
    };
    if min_commits == 0 && !require_clean {
        section.wrong("asks for nothing; give `min_commits` of at least 1, or `require_clean`: true");
        return None;
    }
    Some(Criterion::Git { min_commits, require_clean })
}

/// Reads a `files` check.
pub(in super::super) fn files(node: &Node<'_>) -> Option<Criterion> {
    let section = node.section(FILES_KEYS)?;
    let list = section.required("paths", "it lists the files that must be there")?;
    let paths = list.list(|n| n.inside_glob())?;
    if matches!(&list.json.kind, Kind::List(items) if items.is_empty()) {
        list.wrong("must name at least one file; an empty list can never be complete");
        return None;
    }
    Some(Criterion::Files { paths })
}

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{fails, reads};
    use super::super::super::settings::CheckSpec;
    use super::*;

    fn criterion(entry: &str) -> Criterion {
        match reads(&format!(r#"{{"checks": [{entry}]}}"#)).checks.remove(0) {
            CheckSpec::Single { criterion, .. } => criterion,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn git_asks_for_one_commit_unless_told_otherwise() {
        assert_eq!(criterion(r#"{"type": "git"}"#), Criterion::Git { min_commits: 1, require_clean: false });
        assert_eq!(
            criterion(r#"{"type": "git", "min_commits": 0, "require_clean": true}"#),
            Criterion::Git { min_commits: 0, require_clean: true }
        );
        fails(r#"{"checks": [{"type": "git", "min_commits": 0}]}"#, "checks[0]: asks for nothing");
        fails(r#"{"checks": [{"type": "git", "min_commits": -2}]}"#, "checks[0].min_commits: expected a whole number");
        fails(r#"{"checks": [{"type": "git", "clean": true}]}"#, "did you mean `require_clean`?");
    }

    #[test]
    fn files_are_named_inside_the_worktree() {
        assert_eq!(
            criterion(r#"{"type": "files", "paths": ["a.txt", "out/**/*.md"]}"#),
            Criterion::Files { paths: vec!["a.txt".into(), "out/**/*.md".into()] }
        );
        fails(r#"{"checks": [{"type": "files"}]}"#, "checks[0].paths: missing");
        fails(r#"{"checks": [{"type": "files", "paths": []}]}"#, "checks[0].paths: must name at least one file");
        fails(r#"{"checks": [{"type": "files", "paths": ["a", "../b"]}]}"#, "checks[0].paths[1]: must be a path inside the worktree");
        fails(r#"{"checks": [{"type": "files", "paths": ["{a"]}]}"#, "checks[0].paths[0]: not a valid glob");
        fails(r#"{"checks": [{"type": "files", "paths": "a"}]}"#, "checks[0].paths: expected a list");
    }
}
