//! The last verdict with what it rests on, as lines. Pure.

use jiff::{Timestamp, Zoned};

use watchdog_facts::display::{escape_for_display, escape_to_one_line, plural};
use watchdog_judge::clock::local_time::local_time;
use watchdog_judge::wire::verdict_json::{ProbeView, VerdictView};

/// Lines of a check's feedback that are shown.
const FEEDBACK: usize = 30;
/// Entries of each list that are shown.
const LISTED: usize = 50;

/// A verdict that was reached at this moment.
pub fn verdict_lines(verdict: &VerdictView, at: Timestamp, now: &Zoned) -> Vec<String> {
    let mut lines = vec![
        format!(
            "{} ({}), {}",
            shown_text(&verdict.status),
            shown_text(&verdict.reason),
            local_time(at, now)
        ),
        shown_text(&verdict.message),
        format!("evidence: {}", shown_text(&verdict.evidence)),
        String::new(),
        match verdict.new_commits {
            Some(count) => format!(
                "{} since {}",
                plural(count, "new commit"),
                short_name(verdict.baseline.as_deref().unwrap_or_default())
            ),
            None => "commits: not read".into(),
        },
    ];
    for commit in verdict.commits.iter().take(LISTED) {
        lines.push(format!(
            "  {} {} ({})",
            short_name(&commit.id),
            on_one_line(&commit.subject),
            commit.origin.as_str().replace('_', " ")
        ));
    }
    lines.push(match &verdict.changes {
        None => "unsaved work: not read".into(),
        Some(changes) => {
            let [staged, unstaged, untracked, conflicted] =
                [changes.staged, changes.unstaged, changes.untracked, changes.conflicted]
                    .map(|count| count.map_or_else(|| "?".to_owned(), |count| count.to_string()));
            format!("unsaved work: {staged} staged, {unstaged} unstaged, {untracked} untracked, {conflicted} in conflict")
        }
    });
    lines.extend(
        verdict
            .changes
            .iter()
            .flat_map(|changes| &changes.paths)
            .take(LISTED)
            .map(|path| format!("  {}", on_one_line(path))),
    );
    lines.push(String::new());
    lines.push(list_heading(verdict.checks.as_ref(), "check"));
    for check in verdict.checks.iter().flatten() {
        lines.push(format!(
            "  {}: {}",
            on_one_line(&check.name),
            check.outcome.as_str()
        ));
        lines.extend(
            check
                .feedback
                .lines()
                .take(FEEDBACK)
                .map(|line| format!("      {}", escape_for_display(line))),
        );
    }
    lines.push(list_heading(verdict.probes.as_ref(), "question"));
    for probe in verdict.probes.iter().flatten() {
        lines.push(format!("  {}", probe_line(probe)));
    }
    lines.extend(
        verdict
            .notes
            .iter()
            .map(|note| format!("note: {} ({})", on_one_line(&note.detail), note.code)),
    );
    if verdict.strike == Some(true) {
        lines.push("It counts as a strike of the breaker.".into());
    }
    lines
}

/// The outcome, the status that the agent gave, and what was said.
fn probe_line(probe: &ProbeView) -> String {
    let (status, message) = probe.reply.as_ref().map_or(("", ""), |reply| {
        (reply.status.as_str(), reply.message.as_str())
    });
    let why = probe.why.as_deref().unwrap_or_default();
    let words = [
        probe.outcome.as_str(),
        status,
        if message.is_empty() { why } else { message },
    ];
    let words: Vec<String> = (words.into_iter())
        .filter(|word| !word.is_empty())
        .map(on_one_line)
        .collect();
    words.join(" ")
}

fn shown_text(text: &Option<String>) -> String {
    on_one_line(text.as_deref().unwrap_or_default())
}

fn on_one_line(text: &str) -> String {
    escape_to_one_line(text)
}

fn list_heading<T>(list: Option<&Vec<T>>, noun: &str) -> String {
    list.map_or_else(
        || format!("{noun}s: not recorded"),
        |entries| plural(entries.len() as u64, noun),
    )
}

fn short_name(commit: &str) -> String {
    if commit.is_empty() {
        "?".into()
    } else {
        on_one_line(&commit.chars().take(10).collect::<String>())
    }
}
