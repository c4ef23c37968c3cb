//! The check types that query an outside party: `issue` and `phase` (GitHub), `judge` (a model) and `custom` (a program).

use std::time::Duration;

use super::super::key_kinds::{
    COMMAND_LINE, FLAG, OBJECT, TEXT, ValueForm, nullable, optional, seconds, whole, word_of,
};
use super::super::key_table::{KeyBlock, keys, no_rules};
use super::super::reader::{ConfigNode, ConfigSection};
use super::super::settings::{
    CheckKind, CommandLine, CustomCriterion, CustomMode, IssueCriterion, JudgeCriterion,
    PhaseCriterion,
};
use super::check_type::{CheckType, criterion_of};

const CUSTOM_MODES: &[(&str, CustomMode)] =
    &[("call", CustomMode::Call), ("stream", CustomMode::Stream)];

/// The largest number of an issue, a pull request or a project.
const MAX_NUMBER: u64 = u32::MAX as u64;

const REPOSITORY: ValueForm<String> = ValueForm {
    read: read_repository_name,
    schema: || serde_json::json!({"type": "string", "pattern": "^[^/]+(/[^/]+){1,2}$"}),
    words: "`owner/name`",
    ..TEXT
};

pub(super) static ISSUE: CheckType<IssueCriterion> = CheckType {
    doc: "An issue of GitHub is closed or labelled, a pull request is merged.",
    block: KeyBlock {
        name: "issue",
        defaults: || IssueCriterion::new(None),
        keys: keys! { IssueCriterion;
            // Null is for a dialect that expects the number on the command line.
            "number" => number: nullable(whole(1..=MAX_NUMBER)), "the issue; required without `pull_request`";
            "closed" => closed: FLAG, "whether it must be closed";
            "label" => label: nullable(TEXT), "a label that it must have";
            "pull_request" => pull_request: nullable(whole(1..=MAX_NUMBER)), "a pull request that must be merged";
            "repo" => repo: nullable(REPOSITORY), "the repository; null is that of the worktree";
            "require_clean" => require_clean: FLAG, "whether nothing may be left uncommitted";
            "timeout_seconds" => timeout: seconds(1), "how long GitHub may take";
        },
        rules: issue_asks_for_something,
    },
    any_of: &["number", "pull_request"],
    wrap: CheckKind::Issue,
    unwrap: criterion_of!(Issue),
};

fn issue_asks_for_something(section: &ConfigSection<'_>, criterion: &mut IssueCriterion, _: bool) {
    if !section.has("number") && !section.has("pull_request") {
        section.missing("number", "it is the issue that must be closed");
    } else if section.has("number")
        && !criterion.closed
        && criterion.label.is_none()
        && criterion.pull_request.is_none()
    {
        section.wrong("asks for nothing; give `label` or `pull_request`, or leave `closed` true");
    }
}

/// `owner/name`, with a host before it where it is not github.com. It becomes an argument of a program.
fn read_repository_name(node: &ConfigNode<'_>) -> Option<String> {
    let text = node.text()?;
    let parts: Vec<&str> = text.split('/').collect();
    let plain = |part: &&str| {
        !part.is_empty()
            && !part.starts_with('-')
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    if (2..=3).contains(&parts.len()) && parts.iter().all(plain) {
        return Some(text);
    }
    node.wrong("must be a repository as `owner/name`");
    None
}

pub(super) static PHASE: CheckType<PhaseCriterion> = CheckType {
    doc: "A project is in its last phase.",
    block: KeyBlock {
        name: "phase",
        defaults: || PhaseCriterion::new(None),
        keys: keys! { PhaseCriterion;
            "project" => project: nullable(whole(1..=MAX_NUMBER)), "the project's number";
            "final" => last: TEXT, "the phase that completes it";
            "field" => field: nullable(TEXT), "the project's field that holds the phase; without it the agent's words tell";
            "owner" => owner: nullable(TEXT), "who owns the project; null is the user of `gh`";
            "timeout_seconds" => timeout: seconds(1), "how long GitHub may take";
        },
        rules: field_has_project,
    },
    any_of: &[],
    wrap: CheckKind::Phase,
    unwrap: criterion_of!(Phase),
};

fn field_has_project(section: &ConfigSection<'_>, criterion: &mut PhaseCriterion, _: bool) {
    if criterion.field.is_some() && section.get("project").is_none_or(|n| n.is_null()) {
        section.missing("project", "`field` is a field of it");
    }
}

pub(super) static JUDGE: CheckType<JudgeCriterion> = CheckType {
    doc: "A model answers a question about the work.",
    block: KeyBlock {
        name: "judge",
        defaults: || JudgeCriterion {
            question: String::new(),
            rubric: None,
            run: None,
            model: None,
            timeout: Duration::from_secs(120),
        },
        keys: keys! { JudgeCriterion;
            "question" => question: TEXT, "what a model answers with yes or no", mark_required("it is what the judge answers");
            "rubric" => rubric: nullable(TEXT), "how it is to decide";
            "run" => run: nullable(COMMAND_LINE),
                "the program to ask, prompt on stdin and answer on stdout; null asks the agent's preset";
            "model" => model: nullable(TEXT), "the model of the preset; null is that of `agent`";
            "timeout_seconds" => timeout: seconds(1), "how long the answer may take";
        },
        rules: no_rules,
    },
    any_of: &[],
    wrap: CheckKind::Judge,
    unwrap: criterion_of!(Judge),
};

pub(super) static CUSTOM: CheckType<CustomCriterion> = CheckType {
    doc: "A program of yours judges the context.",
    block: KeyBlock {
        name: "custom",
        defaults: || CustomCriterion::new(CommandLine::Argv(Vec::new())),
        keys: keys! { CustomCriterion;
            "run" => run: COMMAND_LINE, "the program", mark_required("it is the program that decides");
            "timeout_seconds" => timeout: seconds(1), "how long one judgement may take";
            "mode" => mode: word_of(CUSTOM_MODES),
                "`call`: started for each judgement. `stream`: started once, a line of JSON in and one out for each";
            "definition" => definition: optional(OBJECT),
                "what a handler in TypeScript gets as its first argument; such a handler gives the prompts of a `loop`, too";
        },
        rules: no_rules,
    },
    any_of: &[],
    wrap: CheckKind::Custom,
    unwrap: criterion_of!(Custom),
};

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{criterion, reads, refuses};
    use super::*;

    #[test]
    fn an_issue_must_be_closed_unless_told_otherwise() {
        assert_eq!(
            criterion(r#"{"type": "issue", "number": 7}"#),
            CheckKind::Issue(IssueCriterion::new(Some(7)))
        );
        let keys = r#""number": 7, "closed": false, "label": "done", "repo": "me/it", "require_clean": true, "timeout_seconds": 9"#;
        let wanted = IssueCriterion {
            closed: false,
            label: Some("done".into()),
            repo: Some("me/it".into()),
            require_clean: true,
            timeout: Duration::from_secs(9),
            ..IssueCriterion::new(Some(7))
        };
        assert_eq!(
            criterion(&format!(r#"{{"type": "issue", {keys}}}"#)),
            CheckKind::Issue(wanted)
        );
        let wanted = IssueCriterion {
            pull_request: Some(8),
            ..IssueCriterion::new(None)
        };
        assert_eq!(
            criterion(r#"{"type": "issue", "pull_request": 8}"#),
            CheckKind::Issue(wanted)
        );
    }

    #[test]
    fn phase_comes_from_words_or_a_field() {
        assert_eq!(
            criterion(r#"{"type": "phase"}"#),
            CheckKind::Phase(PhaseCriterion::new(None))
        );
        let wanted = PhaseCriterion {
            last: "Done".into(),
            field: Some("Status".into()),
            owner: Some("me".into()),
            ..PhaseCriterion::new(Some(9))
        };
        let keys = r#""project": 9, "final": "Done", "field": "Status", "owner": "me""#;
        assert_eq!(
            criterion(&format!(r#"{{"type": "phase", {keys}}}"#)),
            CheckKind::Phase(wanted)
        );
    }

    #[test]
    fn judges_and_programs_have_their_time() {
        let run = CommandLine::Argv(vec!["j".into()]);
        let wanted = JudgeCriterion {
            question: "q".into(),
            rubric: Some("r".into()),
            run: Some(run.clone()),
            model: Some("m".into()),
            timeout: Duration::from_secs(3),
        };
        let keys =
            r#""question": "q", "rubric": "r", "run": ["j"], "model": "m", "timeout_seconds": 3"#;
        assert_eq!(
            criterion(&format!(r#"{{"type": "judge", {keys}}}"#)),
            CheckKind::Judge(wanted)
        );
        assert_eq!(
            criterion(r#"{"type": "custom", "run": ["j"]}"#),
            CheckKind::Custom(CustomCriterion::new(run.clone()))
        );
        let wanted = CustomCriterion {
            mode: CustomMode::Stream,
            timeout: Duration::from_secs(3),
            ..CustomCriterion::new(run)
        };
        assert_eq!(
            criterion(
                r#"{"type": "custom", "run": ["j"], "mode": "stream", "timeout_seconds": 3}"#
            ),
            CheckKind::Custom(wanted)
        );
    }

    #[test]
    fn their_programs_are_shown_before_they_are_trusted() {
        let settings = reads(
            r#"{"checks": [{"type": "custom", "run": "sh x"}, {"type": "judge", "question": "q", "run": ["j"]}]}"#,
        );
        assert_eq!(
            settings.commands(),
            ["check custom: sh x", "check judge: j"]
        );
    }

    #[test]
    fn repository_is_owner_and_name_with_optional_host() {
        let entry = |repo: &str| format!(r#"{{"type": "issue", "number": 7, "repo": "{repo}"}}"#);
        for repo in ["me/it", "my-org/a_b.c", "git.example.org/me/it"] {
            let CheckKind::Issue(found) = criterion(&entry(repo)) else {
                panic!("{repo} makes another type")
            };
            assert_eq!(found.repo.as_deref(), Some(repo));
        }
        for repo in [
            "it", "me/", "/it", "me//it", "a/b/c/d", "-me/it", "me/--web", "me/a b", "me/it;x",
            "mé/it",
        ] {
            refuses(
                &entry(repo),
                "checks[0].repo: must be a repository as `owner/name`",
            );
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (entry, words) in [
            (r#"{"type": "issue"}"#, "checks[0].number: missing"),
            (
                r#"{"type": "issue", "number": 0}"#,
                "checks[0].number: expected a whole number from 1",
            ),
            (
                r#"{"type": "issue", "number": 7, "closed": false}"#,
                "checks[0]: asks for nothing",
            ),
            (
                r#"{"type": "issue", "number": 7, "repo": "--web"}"#,
                "checks[0].repo: must be a repository as `owner/name`",
            ),
            (r#"{"type": "judge"}"#, "checks[0].question: missing"),
            (
                r#"{"type": "phase", "final": ""}"#,
                "checks[0].final: must not be empty",
            ),
            (
                r#"{"type": "phase", "field": "Status"}"#,
                "checks[0].project: missing; `field` is a field of it",
            ),
            (r#"{"type": "custom"}"#, "checks[0].run: missing"),
            (
                r#"{"type": "custom", "run": null}"#,
                "checks[0].run: expected a command",
            ),
            (
                r#"{"type": "custom", "run": []}"#,
                "checks[0].run: must name a program",
            ),
            (
                r#"{"type": "custom", "run": "x", "mode": "steam"}"#,
                "did you mean `stream`?",
            ),
        ] {
            refuses(entry, words);
        }
    }
}
