//! The user's own rescue command.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::request::RescueRequest;
use watchdog_core::config::settings::RescueSettings;
use watchdog_facts::evidence::{Degradation, RescueOutcome, WarningCode};
use watchdog_git::Worktree;
use watchdog_process::git_program::{describe_failure, new_user_run};
use watchdog_process::program::StartError;

/// The default command, if the worktree has this file.
const DEFAULT: &str = RescueSettings::DEFAULT_SCRIPT;

/// Runs the command in the worktree with `WATCHDOG_SPEC` and `WATCHDOG_SNAPSHOT` set.
///
/// A missing command is a failure like any other: the work stays uncommitted and in the snapshot.
/// It is not judged here what
/// the command did; commits are counted and the snapshot is proved afterwards.
pub(super) fn run_user_command(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    outcome: &mut RescueOutcome,
) {
    let root = worktree.root();
    let missing = |what: String, outcome: &mut RescueOutcome| {
        let detail = format!(
            "{what}; the work stays uncommitted, and is kept in {}",
            request.snapshot.name
        );
        outcome
            .warnings
            .push(Degradation::new(WarningCode::RescueCommandMissing, detail));
        outcome.failed = Some(what);
    };
    let Some(argv) = build_argv(root, request) else {
        return missing(
            format!("no rescue.command is configured and the worktree has no {DEFAULT}"),
            outcome,
        );
    };
    let shown = argv[0].to_string_lossy().into_owned();
    let variables = [
        ("WATCHDOG_SPEC", OsStr::new(request.spec)),
        ("WATCHDOG_SNAPSHOT", OsStr::new(&request.snapshot.name)),
    ];
    match new_user_run(root, argv, &variables, request.settings.timeout).run() {
        Err(StartError::NotRunnable { program, why }) => {
            missing(
                format!("the rescue command '{program}' cannot be run: {why}"),
                outcome,
            );
        }
        Err(error) => outcome.failed = Some(error.to_string()),
        Ok(finished) if finished.timed_out || !finished.exit.success() => {
            let program = format!("'{shown}'");
            let why = describe_failure(&program, &finished, request.settings.timeout);
            outcome.failed = Some(why);
        }
        Ok(_) => {}
    }
}

/// The configured command, or the worktree's own script with the spec's name.
fn build_argv(root: &Path, request: &RescueRequest<'_>) -> Option<Vec<OsString>> {
    match request.settings.command.as_deref() {
        Some([program, rest @ ..]) => {
            // A path is relative to the worktree, whatever watchdog's own working directory.
            let program = if program.contains('/') {
                root.join(program).into_os_string()
            } else {
                program.into()
            };
            Some(
                [program]
                    .into_iter()
                    .chain(rest.iter().map(OsString::from))
                    .collect(),
            )
        }
        Some([]) | None => {
            let script = root.join(DEFAULT);
            script
                .is_file()
                .then(|| vec![script.into_os_string(), request.spec.into()])
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::scratch_work::ScratchWork;
    use super::*;

    #[test]
    fn each_command_failure_is_reported_by_its_kind() {
        let mut work = ScratchWork::new();
        work.write("tracked", "two\n");
        let snapshot = work.snapshot();
        let mut run = |command: &[&str], timeout| {
            work.settings.command = Some(command.iter().map(ToString::to_string).collect());
            work.settings.timeout = timeout;
            let mut outcome = RescueOutcome::default();
            super::run_user_command(&work.open(), &work.request(&snapshot), &mut outcome);
            (
                outcome.failed,
                outcome
                    .warnings
                    .iter()
                    .map(|warning| warning.code)
                    .collect::<Vec<_>>(),
            )
        };
        let patient = Duration::from_secs(30);
        for (command, timeout, fault, codes) in [
            (&["sh", "-c", "true"][..], patient, None, vec![]),
            (
                &["sh", "-c", "echo no >&2; exit 3"],
                patient,
                Some("'sh' ended with exit code 3: no"),
                vec![],
            ),
            (
                &["sleep", "600"],
                Duration::from_millis(50),
                Some("'sleep' did not end within 1 s"),
                vec![],
            ),
            (
                &["./nowhere"],
                patient,
                Some("cannot be run: there is no such file"),
                vec![WarningCode::RescueCommandMissing],
            ),
            (
                &["./tracked"],
                patient,
                Some("cannot be run: it may not be executed"),
                vec![WarningCode::RescueCommandMissing],
            ),
            (
                &[],
                patient,
                Some("no rescue.command is configured"),
                vec![WarningCode::RescueCommandMissing],
            ),
        ] {
            let (failed, found) = run(command, timeout);
            assert_eq!(
                (failed.is_some(), &found),
                (fault.is_some(), &codes),
                "{command:?} {failed:?}"
            );
            assert!(
                failed
                    .unwrap_or_default()
                    .contains(fault.unwrap_or_default()),
                "{command:?}"
            );
        }
    }
}
