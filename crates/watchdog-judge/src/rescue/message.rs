//! The messages of a rescue's commits. Pure.

use super::request::RescueRequest;
use watchdog_git::{Snapshot, SnapshotPath, SnapshotPathKind};

/// How many files are listed.
const LISTED: usize = 50;
/// The longest scope that a subject line bears.
const SCOPE: usize = 40;

/// The message of a single commit of all files: a conventional subject, a summary, and the trailers.
pub(super) fn build_single_message(request: &RescueRequest<'_>, paths: &[&SnapshotPath]) -> String {
    let scope: String = request
        .spec
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || "._/-".contains(c) {
                c
            } else {
                '-'
            }
        })
        .take(SCOPE)
        .collect();
    let scope = scope.trim_matches('-');
    let subject = if scope.is_empty() {
        "chore".to_owned()
    } else {
        format!("chore({scope})")
    };
    let mut out = format!(
        "{subject}: rescue uncommitted work\n\nLeft uncommitted by a session, and committed as it was found:\n\n"
    );
    for path in paths.iter().take(LISTED) {
        let did = match path.kind {
            SnapshotPathKind::Deleted => "deleted ",
            SnapshotPathKind::File | SnapshotPathKind::Submodule => "",
        };
        // A name with a line break must not become a line of its own, let alone a trailer.
        out.push_str(&format!(
            "- {did}{}\n",
            path.text
                .chars()
                .map(|c| if c.is_control() { '?' } else { c })
                .collect::<String>()
        ));
    }
    if paths.len() > LISTED {
        out.push_str(&format!("- and {} more\n", paths.len() - LISTED));
    }
    out + &format_trailers(request)
}

/// The message of a commit that an agent planned.
pub(super) fn build_planned_message(
    request: &RescueRequest<'_>,
    subject: &str,
    body: &str,
) -> String {
    let body = if body.is_empty() {
        String::new()
    } else {
        format!("\n{body}\n")
    };
    format!("{subject}\n{body}{}", format_trailers(request))
}

/// The configured trailers, after an empty line; nothing where none are.
fn format_trailers(request: &RescueRequest<'_>) -> String {
    let line = |text: &str| {
        text.chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect::<String>()
    };
    let filled = |trailer: &String| {
        // Fills it in a single pass, so that a spec named "{snapshot}" stays unchanged.
        let mut out = String::new();
        let mut unfilled = trailer.as_str();
        while let Some(at) = unfilled.find('{') {
            out.push_str(&unfilled[..at]);
            unfilled = &unfilled[at..];
            if let Some(after) = unfilled.strip_prefix("{spec}") {
                out.push_str(request.spec);
                unfilled = after;
            } else if let Some(after) = unfilled.strip_prefix("{snapshot}") {
                out.push_str(&request.snapshot.name);
                unfilled = after;
            } else {
                out.push('{');
                unfilled = &unfilled[1..];
            }
        }
        line(&(out + unfilled)) + "\n"
    };
    let all: String = request.settings.trailers.iter().map(filled).collect();
    if all.is_empty() {
        all
    } else {
        format!("\n{all}")
    }
}

/// The same message, with the snapshot named in it despite the configured trailers: it identifies the branch.
pub(super) fn with_snapshot(message: &str, snapshot: &Snapshot) -> String {
    match is_about_snapshot(message, snapshot) {
        true => message.to_owned(),
        false => format!("{}\n\n{}\n", message.trim_end(), trailer_of(snapshot)),
    }
}

/// Whether a message names this very snapshot.
pub(super) fn is_about_snapshot(message: &str, snapshot: &Snapshot) -> bool {
    let trailer = trailer_of(snapshot);
    message.lines().any(|line| line == trailer)
}

fn trailer_of(snapshot: &Snapshot) -> String {
    format!("Watchdog-Snapshot: {}", snapshot.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_core::config::settings::{ConfigSettings, RescueSettings};

    fn snapshot() -> Snapshot {
        Snapshot {
            name: "refs/watchdog/rescue/a/1-0".into(),
            commit: String::new(),
            tree: String::new(),
            parent: None,
            files: 0,
            bytes: 0,
            left_out: vec![],
            failed_reads: vec![],
            at: jiff::Timestamp::UNIX_EPOCH,
            reused: false,
        }
    }

    #[test]
    fn the_message_is_conventional_and_cannot_be_forged() {
        let path = SnapshotPath {
            path: vec![],
            text: "a\nSigned-off-by: x".into(),
            kind: SnapshotPathKind::Deleted,
            bytes: 0,
            untracked: false,
            hidden: false,
            secret: false,
            nested: false,
        };
        let (snapshot, settings) = (snapshot(), ConfigSettings::default().rescue);
        let request = |spec| RescueRequest {
            settings: &settings,
            spec,
            snapshot: &snapshot,
            others: &super::super::NO_OTHERS,
        };
        let message = build_single_message(&request("spec/a b\n"), &[&path]);
        assert_eq!(
            message,
            "chore(spec/a-b): rescue uncommitted work\n\nLeft uncommitted by a session, and committed as it was found:\n\n\
             - deleted a?Signed-off-by: x\n\nWatchdog-Spec: spec/a b \nWatchdog-Snapshot: refs/watchdog/rescue/a/1-0\n"
        );
        assert!(build_single_message(&request("!!"), &[]).starts_with("chore: rescue"));
        for (files, more) in [
            (LISTED, None),
            (LISTED + 1, Some("- and 1 more")),
            (LISTED + 20, Some("- and 20 more")),
        ] {
            let message = build_single_message(&request("auth"), &vec![&path; files]);
            assert_eq!(
                message
                    .lines()
                    .filter(|line| line.starts_with("- deleted "))
                    .count(),
                LISTED
            );
            assert_eq!(
                message.lines().find(|line| line.starts_with("- and ")),
                more,
                "{files}"
            );
        }
    }

    #[test]
    fn trailers_are_as_configured_and_stand_apart() {
        let snapshot = snapshot();
        let mut settings = ConfigSettings::default().rescue;
        let planned = |settings: &RescueSettings, body| {
            super::build_planned_message(
                &RescueRequest {
                    settings,
                    spec: "{snapshot}",
                    snapshot: &snapshot,
                    others: &super::super::NO_OTHERS,
                },
                "fix: x",
                body,
            )
        };
        let defaults =
            "\nWatchdog-Spec: {snapshot}\nWatchdog-Snapshot: refs/watchdog/rescue/a/1-0\n";
        assert_eq!(planned(&settings, ""), format!("fix: x\n{defaults}"));
        assert_eq!(
            planned(&settings, "Because.\n\nA: b"),
            format!("fix: x\n\nBecause.\n\nA: b\n{defaults}")
        );
        settings.trailers = vec!["Refs: {spec}/{x}".into()];
        assert_eq!(planned(&settings, ""), "fix: x\n\nRefs: {snapshot}/{x}\n");
        settings.trailers.clear();
        let bare = planned(&settings, "");
        assert_eq!(bare, "fix: x\n");
        let named = with_snapshot(&bare, &snapshot);
        assert_eq!(
            named,
            "fix: x\n\nWatchdog-Snapshot: refs/watchdog/rescue/a/1-0\n"
        );
        assert_eq!(with_snapshot(&named, &snapshot), named);
    }
}
