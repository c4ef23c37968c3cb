//! The check types that ask somebody outside: `issue` and `phase` (GitHub), `judge` (a model) and `custom` (a program).

use std::time::Duration;

use super::super::reader::{ConfigNode, ConfigSection, put};
use super::super::settings::{CheckKind, CommandLine, CustomCriterion, CustomMode, IssueCriterion, JudgeCriterion, PhaseCriterion};

pub(in super::super) const ISSUE_KEYS: &[&str] =
    &["type", "name", "number", "closed", "label", "pull_request", "repo", "require_clean", "timeout_seconds"];

pub(in super::super) const PHASE_KEYS: &[&str] = &["type", "name", "project", "final", "field", "owner", "timeout_seconds"];

pub(in super::super) const JUDGE_KEYS: &[&str] = &["type", "name", "question", "rubric", "run", "model", "timeout_seconds"];

pub(in super::super) const CUSTOM_KEYS: &[&str] = &["type", "name", "run", "timeout_seconds", "mode"];

/// The words for [`CustomMode`].
pub(in super::super) const CUSTOM_MODES: &[(&str, CustomMode)] = &[("call", CustomMode::Call), ("stream", CustomMode::Stream)];

/// Numbers of issues, pull requests and projects.
const NUMBERS: std::ops::RangeInclusive<u64> = 1..=u32::MAX as u64;

/// Reads an `issue` check.
pub(in super::super) fn issue(node: &ConfigNode<'_>) -> Option<CheckKind> {
    let section = node.section(ISSUE_KEYS)?;
    let mut found = IssueCriterion::new(None);
    // Null is for a dialect that leaves the number to be told.
    found.number = section.nullable("number", |n| n.whole(NUMBERS)).flatten();
    found.pull_request = section.nullable("pull_request", |n| n.whole(NUMBERS)).flatten();
    found.label = section.nullable("label", ConfigNode::text).flatten();
    found.repo = section.nullable("repo", repository).flatten();
    put(&mut found.closed, section.get("closed").and_then(|n| n.flag()));
    put(&mut found.require_clean, section.get("require_clean").and_then(|n| n.flag()));
    put(&mut found.timeout, timeout(&section));
    if section.get("number").is_none() && section.get("pull_request").is_none() {
        section.missing("number", "it is the issue that must be closed");
    } else if section.get("number").is_some() && !found.closed && found.label.is_none() && found.pull_request.is_none() {
        section.wrong("asks for nothing; give `label` or `pull_request`, or leave `closed` true");
    }
    Some(CheckKind::Issue(found))
}

/// `owner/name`, with a host before it where it is not github.com. It becomes an argument of a program.
fn repository(node: &ConfigNode<'_>) -> Option<String> {
    let text = node.text()?;
    let parts: Vec<&str> = text.split('/').collect();
    let plain = |part: &&str| {
        !part.is_empty() && !part.starts_with('-') && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    if (2..=3).contains(&parts.len()) && parts.iter().all(plain) {
        return Some(text);
    }
    node.wrong("must be a repository as `owner/name`");
    None
}

/// Reads a `phase` check.
pub(in super::super) fn phase(node: &ConfigNode<'_>) -> Option<CheckKind> {
    let section = node.section(PHASE_KEYS)?;
    let mut found = PhaseCriterion::new(section.nullable("project", |n| n.whole(NUMBERS)).flatten());
    put(&mut found.last, section.get("final").and_then(|n| n.text()));
    found.field = section.nullable("field", ConfigNode::text).flatten();
    found.owner = section.nullable("owner", ConfigNode::text).flatten();
    put(&mut found.timeout, timeout(&section));
    if found.field.is_some() && section.get("project").is_none_or(|n| n.is_null()) {
        section.missing("project", "`field` is a field of it");
    }
    Some(CheckKind::Phase(found))
}

/// Reads a `judge` check.
pub(in super::super) fn judge(node: &ConfigNode<'_>) -> Option<CheckKind> {
    let section = node.section(JUDGE_KEYS)?;
    let question = section.required("question", "it is what the judge answers").and_then(|n| n.text());
    // A null run asks the agent's preset.
    let run = section.nullable("run", |n| n.command_line()).flatten();
    let mut found = JudgeCriterion {
        question: question?,
        rubric: section.nullable("rubric", ConfigNode::text).flatten(),
        run,
        model: section.nullable("model", ConfigNode::text).flatten(),
        timeout: Duration::from_secs(120),
    };
    put(&mut found.timeout, timeout(&section));
    Some(CheckKind::Judge(found))
}

/// Reads a `custom` check.
pub(in super::super) fn custom(node: &ConfigNode<'_>) -> Option<CheckKind> {
    let section = node.section(CUSTOM_KEYS)?;
    let run = section.required("run", "it is the program that decides").and_then(|n| n.command_line());
    let mut found = CustomCriterion::new(run.unwrap_or(CommandLine::Argv(Vec::new())));
    put(&mut found.timeout, timeout(&section));
    put(&mut found.mode, section.get("mode").and_then(|n| n.word(CUSTOM_MODES)));
    (found.run != CommandLine::Argv(Vec::new())).then_some(CheckKind::Custom(found))
}

fn timeout(section: &ConfigSection<'_>) -> Option<Duration> {
    section.get("timeout_seconds").and_then(|n| n.seconds(1))
}

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{criterion, reads, refuses};
    use super::*;

    #[test]
    fn an_issue_must_be_closed_unless_told_otherwise() {
        assert_eq!(criterion(r#"{"type": "issue", "number": 7}"#), CheckKind::Issue(IssueCriterion::new(Some(7))));
        let keys = r#""number": 7, "closed": false, "label": "done", "repo": "me/it", "require_clean": true, "timeout_seconds": 9"#;
        let wanted = IssueCriterion {
            closed: false,
            label: Some("done".into()),
            repo: Some("me/it".into()),
            require_clean: true,
            timeout: Duration::from_secs(9),
            ..IssueCriterion::new(Some(7))
        };
        assert_eq!(criterion(&format!(r#"{{"type": "issue", {keys}}}"#)), CheckKind::Issue(wanted));
        let wanted = IssueCriterion { pull_request: Some(8), ..IssueCriterion::new(None) };
        assert_eq!(criterion(r#"{"type": "issue", "pull_request": 8}"#), CheckKind::Issue(wanted));
    }

    #[test]
    fn a_phase_is_told_by_words_or_by_a_field() {
        assert_eq!(criterion(r#"{"type": "phase"}"#), CheckKind::Phase(PhaseCriterion::new(None)));
        let wanted =
            PhaseCriterion { last: "Done".into(), field: Some("Status".into()), owner: Some("me".into()), ..PhaseCriterion::new(Some(9)) };
        let keys = r#""project": 9, "final": "Done", "field": "Status", "owner": "me""#;
        assert_eq!(criterion(&format!(r#"{{"type": "phase", {keys}}}"#)), CheckKind::Phase(wanted));
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
        let keys = r#""question": "q", "rubric": "r", "run": ["j"], "model": "m", "timeout_seconds": 3"#;
        assert_eq!(criterion(&format!(r#"{{"type": "judge", {keys}}}"#)), CheckKind::Judge(wanted));
        assert_eq!(criterion(r#"{"type": "custom", "run": ["j"]}"#), CheckKind::Custom(CustomCriterion::new(run.clone())));
        let wanted = CustomCriterion { mode: CustomMode::Stream, timeout: Duration::from_secs(3), ..CustomCriterion::new(run) };
        assert_eq!(criterion(r#"{"type": "custom", "run": ["j"], "mode": "stream", "timeout_seconds": 3}"#), CheckKind::Custom(wanted));
    }

    #[test]
    fn their_programs_are_shown_before_they_are_trusted() {
        let found = reads(r#"{"checks": [{"type": "custom", "run": "sh x"}, {"type": "judge", "question": "q", "run": ["j"]}]}"#);
        assert_eq!(found.commands(), ["check custom: sh x", "check judge: j"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (entry, words) in [
            (r#"{"type": "issue"}"#, "checks[0].number: missing"),
            (r#"{"type": "issue", "number": 0}"#, "checks[0].number: expected a whole number from 1"),
            (r#"{"type": "issue", "number": 7, "closed": false}"#, "checks[0]: asks for nothing"),
            (r#"{"type": "issue", "number": 7, "repo": "--web"}"#, "checks[0].repo: must be a repository as `owner/name`"),
            (r#"{"type": "judge"}"#, "checks[0].question: missing"),
            (r#"{"type": "phase", "final": ""}"#, "checks[0].final: must not be empty"),
            (r#"{"type": "phase", "field": "Status"}"#, "checks[0].project: missing; `field` is a field of it"),
            (r#"{"type": "custom"}"#, "checks[0].run: missing"),
            (r#"{"type": "custom", "run": null}"#, "checks[0].run: expected a command"),
            (r#"{"type": "custom", "run": []}"#, "checks[0].run: must name a program"),
            (r#"{"type": "custom", "run": "x", "mode": "steam"}"#, "did you mean `stream`?"),
        ] {
            refuses(entry, words);
        }
    }
}
