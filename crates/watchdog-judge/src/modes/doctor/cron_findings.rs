//! Looks at the user's crontab: a line that calls watchdog without a PATH finds no agent.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use crate::judge::doctor_finding::Findings;
use crate::modes::init::{CRON_PATH, is_in_path};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_process::ProgramRun;

/// Looks at it, where there is one.
pub(super) fn examine_crontab(findings: &mut Findings, agent: &str, commands: &WorktreeCommands) {
    let mut list = ProgramRun::new(["crontab", "-l"], Path::new("/"));
    list.deadline = Duration::from_secs(5);
    // No crontab, and no program for one, are no fault.
    let listed = list.run().ok().filter(|finished| finished.exit.success());
    let listed = listed.map_or_else(Vec::new, |finished| finished.stdout.bytes);
    let line = line_without_path(&String::from_utf8_lossy(&listed));
    if let Some(line) = line.filter(|_| !is_in_path(agent, OsStr::new(CRON_PATH))) {
        findings.wrong(
            "cron",
            format!(
                "cron's own PATH is {CRON_PATH}, which has no {agent}, and this line sets none: {line}"
            ),
            format!("take the line that this prints: {}", commands.watchdog("init --cron")),
        );
    }
}

/// The first line that calls watchdog with cron's own PATH, and does not say where the agent is.
fn line_without_path(crontab: &str) -> Option<String> {
    let mut has_path = false;
    for line in crontab
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'))
    {
        let finds_agent = ["PATH=", "--agent-program", "WATCHDOG_AGENT_PROGRAM="];
        let finds_agent = line
            .split_whitespace()
            .any(|word| finds_agent.iter().any(|begin| word.starts_with(begin)));
        has_path |= line.starts_with("PATH")
            && line
                .trim_start_matches("PATH")
                .trim_start()
                .starts_with('=');
        let calls = [
            "watchdog sweep",
            "watchdog check",
            "watchdog --state-dir",
            "watchdog -C",
            "watchdog run",
            "watchdog task",
        ];
        if calls.iter().any(|words| line.contains(words)) && !finds_agent && !has_path {
            return Some(line.to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_a_path_is_found() {
        for (crontab, found) in [
            ("", false),
            ("0 3 * * * backup\n", false),
            ("*/10 * * * * /opt/watchdog sweep /src\n", true),
            ("# */10 * * * * watchdog sweep /src\n", false),
            (
                "*/10 * * * * PATH=/a:/b watchdog --state-dir /s sweep /src\n",
                false,
            ),
            ("PATH=/a:/b\n*/10 * * * * watchdog sweep /src\n", false),
            ("PATH = /a\n* * * * * watchdog check --once\n", false),
            (
                "* * * * * watchdog sweep --agent-program /opt/claude /src\n",
                false,
            ),
            (
                "* * * * * WATCHDOG_AGENT_PROGRAM=/opt/claude watchdog sweep /src\n",
                false,
            ),
            ("* * * * * SOMEPATH=/opt watchdog sweep /src\n", true),
            ("* * * * * watchdog check --once\nPATH=/a\n", true),
        ] {
            assert_eq!(line_without_path(crontab).is_some(), found, "{crontab}");
        }
    }
}
