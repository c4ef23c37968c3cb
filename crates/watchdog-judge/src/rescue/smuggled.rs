//! Checks the output of the repository's filters and hooks in commits: it must not contain secrets that were left out.
//! Searches plain text only; encrypted or encoded output is opaque.

use std::collections::BTreeSet;

use super::fallback_branch;
use super::request::RescueRequest;
use super::secrets::secret_in;
use watchdog_facts::evidence::{Degradation, LeftOut, LeftOutReason, RescueOutcome, WarningCode};
use watchdog_facts::secret_shapes::LIMIT;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_git::{CommitMismatch, Error, SnapshotPath, Worktree};

/// Shorter lines and values are in many files.
const TELLING: usize = 8;

/// Takes those paths out of `chosen` that the repository's own filters would put a secret into.
///
/// # Errors
/// When git's data cannot be read.
pub(super) fn remove_smuggled<'p>(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    chosen: Vec<&'p SnapshotPath>,
    outcome: &mut RescueOutcome,
) -> Result<Vec<&'p SnapshotPath>, Error> {
    if !worktree.has_own_filters() {
        return Ok(chosen);
    }
    let names: Vec<&[u8]> = chosen.iter().map(|path| path.path.as_slice()).collect();
    // A filter that fails keeps the commit from being made as well.
    let Ok(tree) = fallback_branch::staged_tree(worktree, &names) else {
        return Ok(chosen);
    };
    let secrets = worktree.private_contents(request.snapshot, LIMIT)?;
    let mut bad = Vec::new();
    for content in worktree.staged_contents(&tree, request.snapshot, LIMIT)? {
        if let Some(rule) = find_new_secret(&content, &secrets) {
            let detail = format!(
                "{} was not committed: a filter of the repository puts a secret into it (rule {rule})",
                content.path
            );
            outcome
                .warnings
                .push(Degradation::new(WarningCode::SecretContent, detail));
            outcome.left_out.push(LeftOut {
                path: content.path.clone(),
                why: LeftOutReason::Secret,
            });
            bad.push(content.path);
        }
    }
    Ok(chosen
        .into_iter()
        .filter(|path| !bad.contains(&path.text))
        .collect())
}

/// Looks through commits that were made, as hooks have their say only then. A secret in one is a failure: the commit must not
/// be pushed.
///
/// # Errors
/// When git's data cannot be read.
pub(super) fn found_in(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    made: &[String],
    outcome: &mut RescueOutcome,
) -> Result<(), Error> {
    let mut secrets = None;
    let left_out: BTreeSet<String> = outcome
        .left_out
        .iter()
        .filter(|omitted| omitted.why == LeftOutReason::Secret)
        .map(|omitted| omitted.path.clone())
        .collect();
    for commit in made {
        for content in worktree.committed_contents(commit, request.snapshot, LIMIT, &left_out)? {
            if secrets.is_none() {
                secrets = Some(worktree.private_contents(request.snapshot, LIMIT)?);
            }
            let named = left_out.contains(&content.path).then_some("left-out-file");
            if let Some(rule) =
                named.or_else(|| find_new_secret(&content, secrets.as_deref().unwrap_or_default()))
            {
                let short: String = commit.chars().take(12).collect();
                let why = format!(
                    "a hook or filter of the repository put a secret into {} in the commit {short} (rule {rule}): do not push it; \
                     take it back with: {}",
                    content.path,
                    WorktreeCommands::at(worktree.root()).git(&format!("reset --soft {short}~1"))
                );
                outcome.failed = Some(
                    outcome
                        .failed
                        .take()
                        .map_or_else(|| why.clone(), |first| format!("{first}\n{why}")),
                );
            }
        }
    }
    Ok(())
}

/// The secret in a commit that was neither committed before nor in the file itself.
fn find_new_secret(content: &CommitMismatch, secrets: &[Vec<u8>]) -> Option<&'static str> {
    let earlier_contents = [content.before.as_deref(), content.in_snapshot.as_deref()];
    if super::looks_secret(&content.path) && content.before.as_ref() != Some(&content.after) {
        return Some("name");
    }
    let by_shape =
        secret_in(&content.path, content.before.as_deref(), &content.after).filter(|_| {
            secret_in(
                &content.path,
                content.in_snapshot.as_deref(),
                &content.after,
            )
            .is_some()
        });
    let old: BTreeSet<&[u8]> = earlier_contents
        .iter()
        .flatten()
        .flat_map(|text| split_trimmed_lines(text))
        .collect();
    let new: Vec<&[u8]> = split_trimmed_lines(&content.after)
        .filter(|line| !old.contains(line))
        .collect();
    let left_out = || {
        let mut telling = secrets
            .iter()
            .flat_map(|secret| split_recognisable_parts(secret));
        telling.any(|text| {
            new.iter().any(|line| contains_bytes(line, text))
                && !old.iter().any(|line| contains_bytes(line, text))
        })
    };
    by_shape.or_else(|| left_out().then_some("left-out-file"))
}

/// The lines of a secret, and the values in them, that are long enough to be known again.
fn split_recognisable_parts(secret: &[u8]) -> impl Iterator<Item = &[u8]> {
    let parts = split_trimmed_lines(secret)
        .filter(|line| !line.starts_with(b"#"))
        .flat_map(|line| {
            let value = line
                .iter()
                .position(|byte| matches!(byte, b'=' | b':'))
                .map(|at| line[at + 1..].trim_ascii());
            let bare = value.map(|value| {
                value
                    .strip_prefix(b"\"")
                    .and_then(|after_quote| after_quote.strip_suffix(b"\""))
                    .unwrap_or(value)
            });
            [Some(line), bare].into_iter().flatten()
        });
    parts.filter(|text| text.len() >= TELLING)
}

fn split_trimmed_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| matches!(byte, b'\n' | b'\r'))
        .map(<[u8]>::trim_ascii)
}

fn contains_bytes(line: &[u8], text: &[u8]) -> bool {
    line.len() >= text.len() && line.windows(text.len()).any(|part| part == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_of_left_out_file_is_recognised() {
        let secrets =
            [b"# a comment that is long\nDB_PASSWORD=\"correct horse\"\nPORT=1\n".to_vec()];
        let content = |kept_text: &str, after: &str| CommitMismatch {
            path: "notes.txt".into(),
            before: None,
            in_snapshot: Some(kept_text.as_bytes().to_vec()),
            after: after.as_bytes().to_vec(),
        };
        for (after, want) in [
            ("DB_PASSWORD=\"correct horse\"\n", Some("left-out-file")),
            (
                "notes\nit is correct horse, they say\n",
                Some("left-out-file"),
            ),
            ("a comment that is long\n", None),
            ("PORT=1\n", None),
            ("notes\n", None),
        ] {
            assert_eq!(
                find_new_secret(&content("notes\n", after), &secrets),
                want,
                "{after}"
            );
        }
        // The file on disk was judged before.
        assert_eq!(
            find_new_secret(
                &content("correct horse\n", "CORRECT\ncorrect horse\n"),
                &secrets
            ),
            None
        );
        let named = CommitMismatch {
            path: ".env".into(),
            ..content("", "x")
        };
        assert_eq!(find_new_secret(&named, &[]), Some("name"));
    }
}
