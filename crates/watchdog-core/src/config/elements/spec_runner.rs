//! The whole `config.json` of spec-workflow-runner: its limits and its questions are read, its runner's own settings are noted, and the
//! checklist of a spec, which it names by folders alone, is left to a person.

use std::time::Duration;

use super::super::reader::{ConfigNode, MAX_SECONDS, overwrite_if_read};
use super::super::settings::{ConfigSettings, OnNoCriteria};
use super::TOP;
use super::agent_verdict::note_ignored;
use super::flat_keys::{self, FlatKeys};

/// Keys that such a file has and a configuration has not: it says where its specs are.
const MARKS: &[&str] = &["spec_workflow_dir_name", "specs_subdir", "tasks_filename"];

/// The settings that are read beside the flat keys.
const READ: &[&str] = &["no_commit_limit", "activity_timeout_seconds"];

/// Whether the file is that of the other runner.
pub(in super::super) fn is_runner_file(top: &ConfigNode<'_>) -> bool {
    MARKS.iter().filter(|key| top.has(key)).count() > 1
}

/// Reads the file.
pub(in super::super) fn read_file(top: &ConfigNode<'_>, settings: &mut ConfigSettings) {
    let Some(section) = top.open_section() else {
        return;
    };
    let flat = flat_keys::BLOCK.names();
    let ours: Vec<&str> = TOP
        .names()
        .into_iter()
        .chain(["completion", "behavior"])
        .collect();
    for member in top
        .members()
        .unwrap_or_default()
        .iter()
        .filter(|member| ours.contains(&member.name.as_ref()))
    {
        top.report.problem(member.at, &member.name, || {
            "a key of completion.json in the file of another runner; move it into a completion.json of its own".into()
        });
    }
    FlatKeys::read_flat(&section).lower(&section, &mut settings.completion_check);
    overwrite_if_read(
        &mut settings.breaker.limit,
        section
            .get("no_commit_limit")
            .and_then(|n| n.whole(1..=1000))
            .and_then(|n| u32::try_from(n).ok()),
    );
    let silence = section
        .get("activity_timeout_seconds")
        .and_then(|n| n.whole(1..=MAX_SECONDS));
    settings.limits.idle_timeout = silence.map(Duration::from_secs);
    // Which spec is worked on is said on its command line, so that no check can name its list.
    settings.on_no_criteria = OnNoCriteria::Review;
    section.note(
        MARKS[2],
        "a spec is done when every box of its list is; add a `plan` check of that list to a completion.json (`watchdog init` proposes it). \
         Without one a person decides: read as `on_no_criteria`: \"review\"",
    );
    let is_read = |name: &str| {
        flat.contains(&name)
            || READ.contains(&name)
            || MARKS.contains(&name)
            || ours.contains(&name)
    };
    let members = top
        .members()
        .unwrap_or_default()
        .iter()
        .map(|member| member.name.as_ref());
    let ignored: Vec<String> = members
        .filter(|name| !is_read(name))
        .map(super::super::problem::shown_key)
        .collect();
    note_ignored(&section, &ignored);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::parse::testing::{fails, notes, reads};
    use super::super::super::settings::OnNoCriteria;

    /// A whole file, with its keys in their usual order.
    const WHOLE: &str = r#"{
        "repos_root": "~/repos", "spec_workflow_dir_name": ".spec-workflow", "specs_subdir": "specs", "tasks_filename": "tasks.md",
        "codex_command": ["codex", "e"], "prompt_template": "Continue {spec_name}", "no_commit_limit": 4, "ignore_dirs": [".git"],
        "activity_timeout_seconds": 300, "codex_config_overrides": {"a.b": 60}, "retry_backoff_multiplier": 2.0,
        "enable_smart_completion_check": true, "completion_check_max_probes": 7, "completion_check_probe_interval": 45
    }"#;

    #[test]
    fn whole_file_sets_limits_and_questions_for_person() {
        let settings = reads(WHOLE);
        assert_eq!(
            (
                settings.completion_check.max_probes,
                settings.completion_check.probe_interval
            ),
            (7, Duration::from_secs(45))
        );
        assert_eq!(
            (settings.breaker.limit, settings.limits.idle_timeout),
            (4, Some(Duration::from_secs(300)))
        );
        assert_eq!(
            (settings.on_no_criteria, settings.checks.len()),
            (OnNoCriteria::Review, 0),
            "commits alone complete no spec"
        );
        let notes = notes(WHOLE);
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(
            notes[0].starts_with("tasks_filename: a spec is done when every box of its list is"),
            "{notes:?}"
        );
        assert!(
            notes[1].contains("`repos_root`, `codex_command`, `prompt_template`, `ignore_dirs`"),
            "{notes:?}"
        );
    }

    #[test]
    fn what_is_wrong_with_it_is_named() {
        let with = |more: &str| {
            format!(r#"{{"specs_subdir": "specs", "tasks_filename": "tasks.md", {more}}}"#)
        };
        fails(
            &with(r#""no_commit_limit": 0"#),
            "no_commit_limit: expected a whole number from 1",
        );
        fails(
            &with(r#""activity_timeout_seconds": "5m""#),
            "activity_timeout_seconds: expected a whole number",
        );
        fails(
            &with(r#""completion_check_max_probes": []"#),
            "completion_check_max_probes: expected a whole number",
        );
        fails(
            &with(r#""checks": [{"type": "always"}]"#),
            "checks: a key of completion.json in the file of another runner",
        );
        fails(
            r#"{"tasks_filename": "tasks.md"}"#,
            "tasks_filename: unknown key",
        );
    }
}
