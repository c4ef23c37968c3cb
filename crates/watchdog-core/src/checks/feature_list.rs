//! The type `feature_list`: every feature of a list passes. The agent marks them itself, so that the evidence is claimed; `freeze` keeps
//! it from changing what they are.

use std::collections::HashMap;
use std::io;

use serde_json::{Map, Value};

use crate::config::settings::FeatureListCriterion;
use watchdog_facts::verdict::Evidence;

use super::check::{CheckContext, CheckJudgement, CompletionCheck};
use super::feedback::{MAX_CHARS, cut_feedback, first_three, one_line};
use super::strict_json;

/// A list is read up to this size, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Keys under which an object keeps its list.
const LISTS: &[&str] = &[
    "features",
    "userStories",
    "user_stories",
    "stories",
    "tasks",
    "items",
];

/// Met when every feature has `"passes": true`, and there is one.
#[derive(Debug, Clone)]
pub struct FeatureListCheck {
    criterion: FeatureListCriterion,
}

type FeatureEntry = Map<String, Value>;

impl FeatureListCheck {
    /// A check of this list.
    pub fn new(criterion: FeatureListCriterion) -> Self {
        FeatureListCheck { criterion }
    }

    fn path(&self) -> String {
        format!("`{}`", one_line(&self.criterion.path))
    }

    /// The mistake in the present list, compared with that of the baseline.
    fn frozen(
        &self,
        features: &[FeatureEntry],
        context: &CheckContext<'_>,
    ) -> Result<(), CheckJudgement> {
        let path = self.path();
        let unknown = |why: String| CheckJudgement::Failed {
            why: format!("whether {path} was changed cannot be told: {why}"),
        };
        let before = match context
            .capabilities
            .baseline_file(&self.criterion.path, MAX_BYTES)
        {
            Err(unreadable) => return Err(unknown(unreadable.why)),
            Ok(None) => {
                return Err(unknown(
                    "the baseline commit has no such file; commit it before a session begins"
                        .into(),
                ));
            }
            Ok(Some(bytes)) => features_of(&bytes)
                .map_err(|why| unknown(format!("that of the baseline commit is {why}")))?,
        };
        let mut unmatched_counts: HashMap<String, usize> = HashMap::new();
        features
            .iter()
            .for_each(|feature| *unmatched_counts.entry(without_passes(feature)).or_default() += 1);
        let mut changed = Vec::new();
        for feature in &before {
            match unmatched_counts
                .get_mut(&without_passes(feature))
                .filter(|count| **count > 0)
            {
                Some(count) => *count -= 1,
                None => changed.push(format_feature_label(feature)),
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = changed.iter().map(String::as_str).collect();
        let feedback = format!(
            "features of {path} were removed or reworded, and only `passes` may change: {}; restore them as they were at the baseline",
            first_three(&names)
        );
        Err(CheckJudgement::Unmet {
            feedback: cut_feedback(feedback, MAX_CHARS),
        })
    }
}

/// The features, or why this is no list of them.
fn features_of(bytes: &[u8]) -> Result<Vec<FeatureEntry>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())?;
    let value: Value = strict_json::parse_strict_json(text.trim_start_matches('\u{feff}'))
        .map_err(|error| format!("invalid JSON: {error}"))?;
    let list = match &value {
        Value::Object(members) => LISTS.iter().find_map(|name| members.get(*name)),
        other => Some(other),
    };
    let Some(Value::Array(entries)) = list else {
        return Err(
            "invalid JSON for a list of features: expected a list, or an object with a list under `features` or `userStories`".into()
        );
    };
    let read = |(n, entry): (usize, &Value)| match entry {
        Value::Object(feature) => Ok(feature.clone()),
        _ => Err(format!(
            "invalid JSON for a list of features: entry {} is not an object",
            n + 1
        )),
    };
    entries.iter().enumerate().map(read).collect()
}

/// Everything of a feature but its mark, as text; keys are in order.
fn without_passes(feature: &FeatureEntry) -> String {
    let mut feature = feature.clone();
    feature.remove("passes");
    Value::Object(feature).to_string()
}

/// The name of the feature for a person.
fn format_feature_label(feature: &FeatureEntry) -> String {
    let text = |key: &str| match feature.get(key) {
        Some(Value::String(text)) => Some(one_line(text)).filter(|text| !text.is_empty()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let name = ["name", "title", "description"].into_iter().find_map(text);
    let label = match (text("id"), name) {
        (Some(id), Some(name)) => format!("{id} {name}"),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => "<unnamed>".into(),
    };
    cut_feedback(label, 200)
}

/// A word about a mark that is neither true nor false.
fn odd_mark(feature: &FeatureEntry) -> Option<&'static str> {
    match feature.get("passes") {
        Some(Value::Bool(_)) => None,
        None => Some("`passes` is missing"),
        Some(_) => Some("`passes` is neither true nor false"),
    }
}

impl CompletionCheck for FeatureListCheck {
    fn check(&self, context: &CheckContext<'_>) -> CheckJudgement {
        let path = self.path();
        let bytes = match context
            .capabilities
            .read_file(&self.criterion.path, MAX_BYTES)
        {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                return CheckJudgement::Unmet {
                    feedback: format!("{path} is not there; write the list of features"),
                };
            }
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                return CheckJudgement::Failed {
                    why: format!("{path} is larger than {MAX_BYTES} bytes"),
                };
            }
            Err(error) => {
                return CheckJudgement::Failed {
                    why: format!("{path} cannot be read: {error}"),
                };
            }
        };
        let features = match features_of(&bytes) {
            Ok(features) => features,
            Err(why) => {
                return CheckJudgement::Unmet {
                    feedback: cut_feedback(format!("{path} is {why}"), MAX_CHARS),
                };
            }
        };
        let open: Vec<String> = (features
            .iter()
            .filter(|feature| feature.get("passes") != Some(&Value::Bool(true))))
        .map(|feature| match odd_mark(feature) {
            Some(why) => format!("{} ({why})", format_feature_label(feature)),
            None => format_feature_label(feature),
        })
        .collect();
        let frozen = if self.criterion.freeze {
            self.frozen(&features, context)
        } else {
            Ok(())
        };
        match frozen {
            Err(tampered @ CheckJudgement::Unmet { .. }) => return tampered,
            // With open features, unreadable parts do not matter.
            Err(unknown) if open.is_empty() => return unknown,
            Err(_) | Ok(()) => {}
        }
        if features.is_empty() {
            return CheckJudgement::Unmet {
                feedback: format!("{path} has no features, and an empty list is never complete"),
            };
        }
        if open.is_empty() {
            let summary = format!("{0} of {0} features of {path} pass", features.len());
            return CheckJudgement::PassWith {
                evidence: Evidence::Claimed,
                summary,
            };
        }
        let names: Vec<&str> = open.iter().map(String::as_str).collect();
        let feedback = format!(
            "{} of {} features of {path} do not pass: {}",
            open.len(),
            features.len(),
            first_three(&names)
        );
        CheckJudgement::Unmet {
            feedback: cut_feedback(feedback, MAX_CHARS),
        }
    }

    fn description(&self) -> String {
        let frozen = if self.criterion.freeze {
            "; nothing else in it may be changed, but features may be added"
        } else {
            ""
        };
        format!(
            "every feature in {} works and has `passes`: true{frozen}",
            self.path()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Fake;
    use super::*;
    use watchdog_facts::evidence::CheckOutcome::{self, Failed, Pass, Unmet};

    #[track_caller]
    fn check(text: &str, outcome: CheckOutcome, words: &[&str]) {
        let fake = Fake {
            contents: vec![("feature_list.json", text.to_owned())],
            ..Fake::default()
        };
        let judgement =
            FeatureListCheck::new(FeatureListCriterion::default()).check(&CheckContext::new(&fake));
        assert_eq!(judgement.outcome(), outcome, "{judgement:?}");
        words
            .iter()
            .for_each(|word| assert!(judgement.feedback().contains(word), "{judgement:?}"));
        assert!(judgement.evidence() <= Evidence::Claimed);
    }

    #[test]
    fn every_feature_must_pass() {
        check(
            r#"[{"name": "a", "passes": true}, {"name": "b", "passes": true}]"#,
            Pass,
            &[],
        );
        check(
            r#"[{"name": "a", "passes": true}, {"name": "b", "passes": false}]"#,
            Unmet,
            &["1 of 2 features of `feature_list.json` do not pass: b"],
        );
        check(
            r#"[{"category": "x", "description": "Dark theme", "steps": ["1"], "passes": false}]"#,
            Unmet,
            &["Dark theme"],
        );
        check(
            r#"{"features": [{"name": "a", "passes": true}]}"#,
            Pass,
            &[],
        );
        check(
            r#"{"branchName": "x", "userStories": [{"id": "US-001", "title": "T", "passes": false}]}"#,
            Unmet,
            &["US-001 T"],
        );
        check(
            r#"[{"id": 7, "name": "", "title": "T", "passes": false}]"#,
            Unmet,
            &["do not pass: 7 T"],
        );
        check(r#"[{"passes": false}]"#, Unmet, &["<unnamed>"]);
        check(r#"[{"name": "画面", "passes": false}]"#, Unmet, &["画面"]);
        check("\u{feff}[{\"name\": \"a\", \"passes\": true}]", Pass, &[]);
    }

    #[test]
    fn only_a_plain_true_passes() {
        for mark in ["null", "1", "\"true\"", "\"yes\"", "[true]", "{}"] {
            check(
                &format!(r#"[{{"name": "login", "passes": {mark}}}]"#),
                Unmet,
                &["login (`passes` is neither true nor false)"],
            );
        }
        check(
            r#"[{"name": "login"}]"#,
            Unmet,
            &["login (`passes` is missing)"],
        );
        check(r#"[{"name": "login", "Passes": true}]"#, Unmet, &["login"]);
    }

    #[test]
    fn invalid_feature_list_is_never_complete() {
        for text in [
            "not json",
            "",
            "null",
            "5",
            "{}",
            r#"{"features": {}}"#,
            r#"["a"]"#,
            r#"[{"name":"a","passes":true},{"na"#,
        ] {
            check(text, Unmet, &["invalid JSON"]);
        }
        let twice = r#"[{"name": "a", "passes": false, "passes": true}]"#;
        check(
            twice,
            Unmet,
            &[
                "invalid JSON",
                "\"passes\" stands twice in one object (\"a\")",
            ],
        );
        check(
            r#"{"features": [], "features": [{"name": "a", "passes": true}]}"#,
            Unmet,
            &["\"features\" stands twice"],
        );
        check(
            "[]",
            Unmet,
            &["has no features, and an empty list is never complete"],
        );
        check(r#"{"features": []}"#, Unmet, &["has no features"]);
        let absent_judgement = FeatureListCheck::new(FeatureListCriterion::default())
            .check(&CheckContext::new(&Fake::default()));
        assert_eq!(
            absent_judgement.feedback(),
            "`feature_list.json` is not there; write the list of features"
        );
        let locked = Fake {
            unreadable: vec!["feature_list.json"],
            ..Fake::default()
        };
        let locked_judgement = FeatureListCheck::new(FeatureListCriterion::default())
            .check(&CheckContext::new(&locked));
        assert_eq!(
            locked_judgement,
            CheckJudgement::Failed {
                why: "`feature_list.json` cannot be read: permission denied".into()
            }
        );
        let large = " ".repeat(MAX_BYTES as usize + 1);
        check(
            &large,
            Failed,
            &[&format!(
                "`feature_list.json` is larger than {MAX_BYTES} bytes"
            )],
        );
    }

    const BEFORE: &str = r#"[{"category": "f", "description": "A", "steps": ["1", "2"], "passes": false}, {"category": "s", "description": "B", "steps": ["1"], "passes": false}]"#;

    #[track_caller]
    fn frozen(before: Option<&str>, now: &str, outcome: CheckOutcome, words: &str) {
        let fake = Fake {
            contents: vec![("f.json", now.to_owned())],
            baseline: before
                .map(|text| ("f.json", text.to_owned()))
                .into_iter()
                .collect(),
            ..Fake::default()
        };
        let judgement = FeatureListCheck::new(FeatureListCriterion {
            path: "f.json".into(),
            freeze: true,
        })
        .check(&CheckContext::new(&fake));
        assert_eq!(judgement.outcome(), outcome, "{judgement:?}");
        assert!(judgement.feedback().contains(words), "{judgement:?}");
    }

    #[test]
    fn a_frozen_list_changes_in_its_marks_alone() {
        let done = BEFORE.replace("false", "true");
        frozen(Some(BEFORE), &done, Pass, "");
        frozen(Some(&done), BEFORE, Unmet, "2 of 2 features");
        let swapped = r#"[{"passes": true, "description": "B", "category": "s", "steps": ["1"]}, {"category": "f", "description": "A", "steps": ["1", "2"], "passes": true}]"#;
        frozen(Some(BEFORE), swapped, Pass, "");
        let added = format!(
            r#"{}, {{"description": "C", "passes": true}}]"#,
            done.trim_end_matches(']')
        );
        frozen(Some(BEFORE), &added, Pass, "");
        frozen(
            Some(BEFORE),
            &done.replace(r#"["1", "2"]"#, r#"["1"]"#),
            Unmet,
            "removed or reworded, and only `passes` may change: A",
        );
        frozen(
            Some(BEFORE),
            &done.replace("\"B\"", "\"B, or not\""),
            Unmet,
            "only `passes` may change: B",
        );
        frozen(Some(BEFORE), "[]", Unmet, "A, B; restore them");
        frozen(
            Some(BEFORE),
            r#"[{"category": "f", "description": "A", "steps": ["1", "2"], "passes": true}]"#,
            Unmet,
            ": B;",
        );
        frozen(
            Some(r#"[{"name": "a", "passes": false}, {"name": "a", "passes": false}]"#),
            r#"[{"name": "a", "passes": true}]"#,
            Unmet,
            ": a;",
        );
        frozen(
            Some(BEFORE),
            &format!(r#"{{"features": {done}}}"#),
            Pass,
            "",
        );
    }

    #[test]
    fn incomparable_feature_list_is_not_unchanged() {
        let done = BEFORE.replace("false", "true");
        frozen(
            None,
            &done,
            Failed,
            "the baseline commit has no such file; commit it before a session begins",
        );
        frozen(None, BEFORE, Unmet, "2 of 2 features");
        frozen(
            Some("nonsense"),
            &done,
            Failed,
            "that of the baseline commit is invalid JSON",
        );
        let fake = Fake {
            contents: vec![("f.json", done)],
            baseline_broken: true,
            ..Fake::default()
        };
        let judgement = FeatureListCheck::new(FeatureListCriterion {
            path: "f.json".into(),
            freeze: true,
        })
        .check(&CheckContext::new(&fake));
        assert_eq!(
            judgement.feedback(),
            "whether `f.json` was changed cannot be told: the baseline is gone"
        );
    }

    #[test]
    fn the_description_names_the_file() {
        let frozen = FeatureListCheck::new(FeatureListCriterion {
            path: "custom.json".into(),
            freeze: true,
        });
        assert!(
            frozen.description().contains("`custom.json`")
                && frozen.description().contains("nothing else"),
            "{}",
            frozen.description()
        );
    }
}
