//! What sets watchdog up as JSON: the output of `watchdog init`, and of `watchdog hook install` and `uninstall`.

use serde_json::{Value, json};

/// What became of a first configuration.
#[derive(Debug, Clone, Copy)]
pub struct InitReport<'a> {
    /// The file that was written; `None` where nothing was.
    pub written: Option<&'a str>,
    /// The fingerprint that is trusted.
    pub trusted: Option<&'a str>,
    /// The text of the file; `None` where there is nothing to write.
    pub text: Option<&'a str>,
    /// What could be chosen besides, for people.
    pub offered: &'a [String],
    /// What a person should know.
    pub notes: &'a [String],
    /// The checks that were run: name, outcome, what is missing, milliseconds.
    pub tried: &'a [(String, &'static str, String, u64)],
    /// The command to type next.
    pub next: &'a str,
}

/// `watchdog init --json`.
pub fn init_json(report: &InitReport<'_>) -> Value {
    let tried = report
        .tried
        .iter()
        .map(|(name, outcome, feedback, millis)| {
            let feedback = (!feedback.is_empty()).then_some(feedback);
            json!({"name": name, "outcome": outcome, "feedback": feedback, "duration_ms": millis})
        });
    json!({
        "schema": 1,
        "written": report.written,
        "trusted": report.trusted,
        // It was read by the parser of configurations before.
        "proposed": report.text.and_then(|text| serde_json::from_str::<Value>(text).ok()),
        "offered": report.offered,
        "notes": report.notes,
        "tried": tried.collect::<Vec<_>>(),
        "next": report.next,
    })
}

/// `watchdog init --cron --json`: a line for cron, two units for systemd, and what a person should know of them.
pub fn cron_json(crontab: &str, service: &str, timer: &str, notes: &[String]) -> Value {
    json!({"schema": 1, "crontab": crontab, "service": service, "timer": timer, "notes": notes})
}

/// An edit of the settings that name hooks. `others` = entries of other people, which stay as they are; `needs` = what a person must do
/// besides.
pub fn hook_settings_json(
    agent: &str,
    file: &str,
    changed: bool,
    dry_run: bool,
    others: &[String],
    needs: Option<&str>,
    diff: &str,
) -> Value {
    json!({"schema": 1, "agent": agent, "file": file, "changed": changed, "dry_run": dry_run, "others": others, "needs": needs, "diff": diff})
}
