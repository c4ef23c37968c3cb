//! The check types that count what is done in a list: `plan` and `feature_list`.

use super::super::reader::{ConfigNode, put};
use super::super::settings::{CheckKind, FeatureListCriterion, PlanCriterion};
use super::super::syntax::ValueKind;

pub(in super::super) const PLAN_KEYS: &[&str] = &["type", "name", "path", "done", "max_titles", "optional_sections", "required"];

pub(in super::super) const FEATURE_LIST_KEYS: &[&str] = &["type", "name", "path", "freeze"];

impl Default for PlanCriterion {
    fn default() -> Self {
        PlanCriterion { path: None, done: vec!["done".into()], max_titles: 3, optional_sections: Vec::new(), required: true }
    }
}

impl Default for FeatureListCriterion {
    fn default() -> Self {
        FeatureListCriterion { path: "feature_list.json".into(), freeze: false }
    }
}

/// Reads a `plan` check.
pub(in super::super) fn plan(node: &ConfigNode<'_>) -> Option<CheckKind> {
    let section = node.section(PLAN_KEYS)?;
    let path = section.nullable("path", |n| n.file_path()).flatten();
    let mut found = PlanCriterion { path, ..PlanCriterion::default() };
    if let Some(n) = section.get("done") {
        if matches!(&n.json.kind, ValueKind::List(items) if items.is_empty()) {
            n.wrong("must not be an empty list");
        }
        put(&mut found.done, n.list(ConfigNode::text));
    }
    put(&mut found.max_titles, section.get("max_titles").and_then(|n| n.whole(0..=1000)).map(|n| n as usize));
    put(&mut found.optional_sections, section.get("optional_sections").and_then(|n| n.list(ConfigNode::text)));
    put(&mut found.required, section.get("required").and_then(|n| n.flag()));
    Some(CheckKind::Plan(found))
}

/// Reads a `feature_list` check.
pub(in super::super) fn feature_list(node: &ConfigNode<'_>) -> Option<CheckKind> {
    let section = node.section(FEATURE_LIST_KEYS)?;
    let mut found = FeatureListCriterion::default();
    put(&mut found.path, section.get("path").and_then(|n| n.file_path()));
    put(&mut found.freeze, section.get("freeze").and_then(|n| n.flag()));
    Some(CheckKind::FeatureList(found))
}

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{criterion, refuses};
    use super::*;

    #[test]
    fn every_key_has_a_default() {
        assert_eq!(criterion(r#"{"type": "plan"}"#), CheckKind::Plan(PlanCriterion::default()));
        assert_eq!(criterion(r#"{"type": "plan", "path": null}"#), CheckKind::Plan(PlanCriterion::default()));
        assert_eq!(criterion(r#"{"type": "feature_list"}"#), CheckKind::FeatureList(FeatureListCriterion::default()));
    }

    #[test]
    fn every_key_is_read() {
        let keys =
            r#""path": "docs/plan.md", "done": ["done", "completed"], "max_titles": 0, "optional_sections": ["Later"], "required": false"#;
        let wanted = PlanCriterion {
            path: Some("docs/plan.md".into()),
            done: vec!["done".into(), "completed".into()],
            max_titles: 0,
            optional_sections: vec!["Later".into()],
            required: false,
        };
        assert_eq!(criterion(&format!(r#"{{"type": "plan", {keys}}}"#)), CheckKind::Plan(wanted));
        let wanted = FeatureListCriterion { path: "/lists/f.json".into(), freeze: true };
        assert_eq!(criterion(r#"{"type": "feature_list", "path": "/lists/f.json", "freeze": true}"#), CheckKind::FeatureList(wanted));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (entry, words) in [
            (r#"{"type": "plan", "done": []}"#, "checks[0].done: must not be an empty list"),
            (r#"{"type": "plan", "max_title": 3}"#, "did you mean `max_titles`?"),
            (r#"{"type": "plan", "path": "../plan.json"}"#, "checks[0].path: must be a path inside the worktree"),
            (r#"{"type": "feature_list", "freeze": 1}"#, "checks[0].freeze: expected true or false"),
            (r#"{"type": "feature_list", "path": "/a/../b"}"#, "checks[0].path: must be a path inside the worktree, or an absolute one"),
        ] {
            refuses(entry, words);
        }
    }
}
