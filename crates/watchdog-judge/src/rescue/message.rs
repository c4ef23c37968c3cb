//! The messages of a rescue's commits. Pure.

use super::request::RescueRequest;
use watchdog_git::{Snapshot, SnapshotPath, SnapshotPathKind, find_named_snapshot};

/// How many files are listed.
const LISTED: usize = 50;
/// The longest scope that a subject line bears; a longer one is left out.
const SCOPE: usize = 40;
/// Lines are wrapped here, in bytes as some hooks count them, and a longer name does not stay whole on its line.
const WIDTH: usize = 72;

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
        .collect();
    let scope = scope.trim_matches('-');
    let subject = if scope.is_empty() || scope.chars().count() > SCOPE {
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
        let name: String = (path.text.chars())
            .map(|c| if c.is_control() { '?' } else { c })
            .collect();
        out.push_str(&shorten_name(&format!("- {did}"), &name));
        out.push('\n');
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
    let (spec, snapshot) = (request.spec, request.snapshot);
    let mut all = String::new();
    for trailer in &request.settings.trailers {
        let mut line = fill_trailer(trailer, spec, &snapshot.name);
        if line
            .split_once(": ")
            .map_or(&*line, |(_, value)| value)
            .len()
            >= WIDTH
        {
            line = fill_trailer(trailer, spec, &snapshot.commit);
        }
        all.push_str(&fold_trailer(&line));
        all.push('\n');
    }
    if all.is_empty() {
        all
    } else {
        format!("\n{all}")
    }
}

/// Fills in a single pass, so that a spec named "{snapshot}" stays unchanged.
fn fill_trailer(trailer: &str, spec: &str, snapshot: &str) -> String {
    let mut out = String::new();
    let mut unfilled = trailer;
    while let Some(at) = unfilled.find('{') {
        out.push_str(&unfilled[..at]);
        unfilled = &unfilled[at..];
        if let Some(after) = unfilled.strip_prefix("{spec}") {
            out.push_str(spec);
            unfilled = after;
        } else if let Some(after) = unfilled.strip_prefix("{snapshot}") {
            out.push_str(snapshot);
            unfilled = after;
        } else {
            out.push('{');
            unfilled = &unfilled[1..];
        }
    }
    (out + unfilled)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// Puts the value of a long trailer on a line of its own, which git reads as the same value.
fn fold_trailer(line: &str) -> String {
    match line.split_once(": ") {
        Some((key, value)) if line.len() > WIDTH => {
            format!("{key}:\n{}", shorten_name(" ", value))
        }
        _ => line.to_owned(),
    }
}

/// A line with a name that cannot be wrapped; the middle of a name that no hook would take is left out.
fn shorten_name(before: &str, name: &str) -> String {
    let room = WIDTH - before.len();
    if name.len() <= room {
        return format!("{before}{name}");
    }
    let half = (room - '…'.len_utf8()) / 2;
    let first = &name[..name.floor_char_boundary(half)];
    let last = &name[name.ceil_char_boundary(name.len() - half)..];
    format!("{before}{first}…{last}")
}

/// Wraps the long lines of a text at words.
pub(super) fn wrap_text(text: &str) -> String {
    let mut wrapped = Vec::new();
    for line in text.lines() {
        let mut current = String::new();
        let words = line.split(' ').filter(|_| line.len() > WIDTH);
        for word in words.map(|word| shorten_name("", word)) {
            if current.is_empty() {
                current = word;
            } else if current.len() + 1 + word.len() <= WIDTH {
                current = format!("{current} {word}");
            } else {
                wrapped.push(std::mem::replace(&mut current, word));
            }
        }
        wrapped.push(if current.is_empty() {
            line.to_owned()
        } else {
            current
        });
    }
    wrapped.join("\n")
}

/// The same message, with the snapshot named in it despite the configured trailers: it identifies the branch.
pub(super) fn with_snapshot(message: &str, snapshot: &Snapshot) -> String {
    match is_about_snapshot(message, snapshot) {
        true => message.to_owned(),
        false => {
            let trailer = fold_trailer(&format!("Watchdog-Snapshot: {}", snapshot.name));
            format!("{}\n\n{trailer}\n", message.trim_end())
        }
    }
}

/// Whether a message names this very snapshot.
pub(super) fn is_about_snapshot(message: &str, snapshot: &Snapshot) -> bool {
    find_named_snapshot(message)
        .is_some_and(|name| name == snapshot.name || name == snapshot.commit)
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
