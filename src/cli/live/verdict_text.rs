//! The last verdict with what it rests on, as lines. Pure.

use jiff::{Timestamp, Zoned};

use crate::clock::local_time::local_time;
use crate::wire::recorded_verdict::RecordedVerdict;
use watchdog_facts::display::{escape_for_display, escape_to_one_line, plural};

/// Lines of a check's feedback that are shown.
const FEEDBACK: usize = 30;
/// Entries of each list that are shown.
const LISTED: usize = 50;

/// A verdict that was reached at this moment.
pub fn verdict_lines(verdict: &RecordedVerdict, at: Timestamp, now: &Zoned) -> Vec<String> {
    let mut lines = vec![
        format!(
            "{} ({}), {}",
            safe(&verdict.status),
            safe(&verdict.reason),
            local_time(at, now)
        ),
        safe(&verdict.message),
        format!("evidence: {}", safe(&verdict.evidence)),
        String::new(),
        match verdict.new_commits {
            Some(count) => format!(
                "{} since {}",
                plural(count, "new commit"),
                short(&verdict.baseline)
            ),
            None => "commits: not read".into(),
        },
    ];
    for [id, subject, origin] in verdict.commits.iter().take(LISTED) {
        lines.push(format!(
            "  {} {} ({})",
            short(id),
            safe(subject),
            safe(origin).replace('_', " ")
        ));
    }
    lines.push(match verdict.changes {
        None => "unsaved work: not read".into(),
        Some(counts) => {
            let [staged, unstaged, untracked, conflicted] =
                counts.map(|count| count.map_or_else(|| "?".to_owned(), |count| count.to_string()));
            format!("unsaved work: {staged} staged, {unstaged} unstaged, {untracked} untracked, {conflicted} in conflict")
        }
    });
    lines.extend(
        verdict
            .paths
            .iter()
            .take(LISTED)
            .map(|path| format!("  {}", safe(path))),
    );
    lines.push(String::new());
    lines.push(heading(verdict.checks.as_ref(), "check"));
    for [name, outcome, feedback] in verdict.checks.iter().flatten() {
        lines.push(format!("  {}: {}", safe(name), safe(outcome)));
        lines.extend(
            feedback
                .lines()
                .take(FEEDBACK)
                .map(|line| format!("      {}", escape_for_display(line))),
        );
    }
    lines.push(heading(verdict.probes.as_ref(), "question"));
    for probe in verdict.probes.iter().flatten() {
        let said: Vec<String> = probe
            .iter()
            .filter(|word| !word.is_empty())
            .map(|word| safe(word))
            .collect();
        lines.push(format!("  {}", said.join(" ")));
    }
    lines.extend(
        verdict
            .notes
            .iter()
            .map(|[detail, code]| format!("note: {} ({})", safe(detail), safe(code))),
    );
    if verdict.strike == Some(true) {
        lines.push("It counts as a strike of the breaker.".into());
    }
    lines
}

fn safe(text: &str) -> String {
    escape_to_one_line(text)
}

fn heading<T>(found: Option<&Vec<T>>, noun: &str) -> String {
    found.map_or_else(
        || format!("{noun}s: not recorded"),
        |found| plural(found.len() as u64, noun),
    )
}

fn short(commit: &str) -> String {
    if commit.is_empty() {
        "?".into()
    } else {
        safe(&commit.chars().take(10).collect::<String>())
    }
}
