//! The check types that count finished entries of a list: `plan` and `feature_list`.

use super::super::key_kinds::{FILE_PATH, FLAG, TEXT, filled_list_of, list_of, nullable, whole};
use super::super::key_table::{KeyBlock, keys, no_rules};
use super::super::settings::{CheckKind, FeatureListCriterion, PlanCriterion};
use super::check_type::{CheckType, criterion_of};

impl Default for PlanCriterion {
    fn default() -> Self {
        PlanCriterion {
            path: None,
            done: vec!["done".into()],
            max_titles: 3,
            optional_sections: Vec::new(),
            required: true,
        }
    }
}

impl Default for FeatureListCriterion {
    fn default() -> Self {
        FeatureListCriterion {
            path: "feature_list.json".into(),
            freeze: false,
        }
    }
}

pub(super) static PLAN: CheckType<PlanCriterion> = CheckType {
    doc: "Every step of a plan is done: a JSON file, a markdown checklist, or the agent's own list.",
    block: KeyBlock {
        name: "plan",
        defaults: PlanCriterion::default,
        keys: keys! { PlanCriterion;
            "path" => path: nullable(FILE_PATH), "a JSON plan with `steps`, or a markdown checklist; null is the agent's own list";
            "done" => done: filled_list_of(TEXT, "must not be an empty list"), "the states that mean done, exactly so";
            "max_titles" => max_titles: whole(0..=1000), "how many open titles go into the feedback";
            "optional_sections" => optional_sections: list_of(TEXT),
                "headings of a checklist, in any case, below which open boxes do not count";
            "required" => required: FLAG, "whether there must be a plan at all";
        },
        rules: no_rules,
    },
    any_of: &[],
    wrap: CheckKind::Plan,
    unwrap: criterion_of!(Plan),
};

pub(super) static FEATURE_LIST: CheckType<FeatureListCriterion> = CheckType {
    doc: "Every feature of a list passes.",
    block: KeyBlock {
        name: "feature_list",
        defaults: FeatureListCriterion::default,
        keys: keys! { FeatureListCriterion;
            "path" => path: FILE_PATH, "the JSON file";
            "freeze" => freeze: FLAG,
                "whether nothing but `passes` may differ from the baseline commit's file; more features may be added";
        },
        rules: no_rules,
    },
    any_of: &[],
    wrap: CheckKind::FeatureList,
    unwrap: criterion_of!(FeatureList),
};

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{criterion, refuses};
    use super::*;

    #[test]
    fn every_key_has_a_default() {
        assert_eq!(
            criterion(r#"{"type": "plan"}"#),
            CheckKind::Plan(PlanCriterion::default())
        );
        assert_eq!(
            criterion(r#"{"type": "plan", "path": null}"#),
            CheckKind::Plan(PlanCriterion::default())
        );
        assert_eq!(
            criterion(r#"{"type": "feature_list"}"#),
            CheckKind::FeatureList(FeatureListCriterion::default())
        );
    }

    #[test]
    fn every_key_is_read() {
        let keys = r#""path": "docs/plan.md", "done": ["done", "completed"], "max_titles": 0, "optional_sections": ["Later"], "required": false"#;
        let wanted = PlanCriterion {
            path: Some("docs/plan.md".into()),
            done: vec!["done".into(), "completed".into()],
            max_titles: 0,
            optional_sections: vec!["Later".into()],
            required: false,
        };
        assert_eq!(
            criterion(&format!(r#"{{"type": "plan", {keys}}}"#)),
            CheckKind::Plan(wanted)
        );
        let wanted = FeatureListCriterion {
            path: "/lists/f.json".into(),
            freeze: true,
        };
        assert_eq!(
            criterion(r#"{"type": "feature_list", "path": "/lists/f.json", "freeze": true}"#),
            CheckKind::FeatureList(wanted)
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (entry, words) in [
            (
                r#"{"type": "plan", "done": []}"#,
                "checks[0].done: must not be an empty list",
            ),
            (
                r#"{"type": "plan", "max_title": 3}"#,
                "did you mean `max_titles`?",
            ),
            (
                r#"{"type": "plan", "path": "../plan.json"}"#,
                "checks[0].path: must be a path inside the worktree",
            ),
            (
                r#"{"type": "feature_list", "freeze": 1}"#,
                "checks[0].freeze: expected true or false",
            ),
            (
                r#"{"type": "feature_list", "path": "/a/../b"}"#,
                "checks[0].path: must be a path inside the worktree, or an absolute one",
            ),
        ] {
            refuses(entry, words);
        }
    }
}
