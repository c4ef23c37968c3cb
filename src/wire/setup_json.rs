//! What sets watchdog up as JSON: the output of `watchdog init`, and of `watchdog hook install` and `uninstall`.

use std::path::Path;

use serde_json::{Value, json};

/// `watchdog init --json`: the file, and the fingerprint by which it is trusted.
pub fn written_json(path: &Path, hash: &str) -> Value {
    json!({"schema": 1, "written": path.display().to_string(), "trusted": hash})
}

/// `watchdog init --cron --json`: a line for cron, and two units for systemd.
pub fn cron_json(crontab: &str, service: &str, timer: &str) -> Value {
    json!({"schema": 1, "crontab": crontab, "service": service, "timer": timer})
}

/// An edit of the settings that name hooks. `others` = entries of other people, which stay as they are.
pub fn hook_settings_json(file: &str, changed: bool, dry_run: bool, others: &[String], diff: &str) -> Value {
    json!({"schema": 1, "file": file, "changed": changed, "dry_run": dry_run, "others": others, "diff": diff})
}
