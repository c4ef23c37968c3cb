//! Writes a task's status into its file: one word, every other byte as it was.

use std::path::Path;

use watchdog_core::config::task_file::{StatusPosition, TaskFile, TaskStatus, parse_task};

/// The bytes of a file with another status. `task` was parsed from these very bytes, `origin` names
/// them. Returns `None` if the result would not be read as this task with that status: a place that
/// is right in nearly all YAML is wrong in some.
pub fn with_status(
    bytes: &[u8],
    task: &TaskFile,
    status: TaskStatus,
    origin: &Path,
) -> Option<Vec<u8>> {
    let written = replace_status(bytes, &task.status_position, status.as_str());
    let again = parse_task(&written, origin).ok()?;
    if again.status != Some(status) {
        return None;
    }
    let as_before = TaskFile {
        status: task.status,
        status_position: task.status_position.clone(),
        ..again
    };
    (as_before == *task).then_some(written)
}

fn replace_status(bytes: &[u8], position: &StatusPosition, status: &str) -> Vec<u8> {
    let (range, word) = match position {
        StatusPosition::At(range) => (range.clone(), status.to_owned()),
        StatusPosition::Behind(at) => (*at..*at, format!(" {status}")),
        StatusPosition::FirstInBraces(at) => (*at..*at, format!("status: {status}, ")),
        StatusPosition::Line(at, indent) => {
            let line_end = if bytes[..*at].ends_with(b"\r\n") {
                "\r\n"
            } else {
                "\n"
            };
            (
                *at..*at,
                format!("{}status: {status}{line_end}", " ".repeat(*indent)),
            )
        }
    };
    [&bytes[..range.start], word.as_bytes(), &bytes[range.end..]].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use watchdog_core::config::task_file::TASK_STATUSES;

    #[track_caller]
    fn written(text: &str, status: TaskStatus) -> String {
        let task = parse_task(text.as_bytes(), Path::new("t.md"))
            .unwrap_or_else(|error| panic!("{text}\n{error}"));
        let after = with_status(text.as_bytes(), &task, status, Path::new("t.md"))
            .unwrap_or_else(|| panic!("{text}"));
        String::from_utf8(after).expect("it was text before")
    }

    #[test]
    fn one_word_changes_and_nothing_else() {
        for (before, after) in [
            (
                "---\nid: T\nstatus: pending # for now\ntitle: t\nestimate: L\n---\nx\n",
                "---\nid: T\nstatus: review # for now\ntitle: t\nestimate: L\n---\nx\n",
            ),
            (
                "---\nid: T\ntitle: t\nstatus: \"failed\"\n---\n",
                "---\nid: T\ntitle: t\nstatus: \"review\"\n---\n",
            ),
            (
                "---\nid: T\ntitle: t\nstatus:   'failed'   \n---\n",
                "---\nid: T\ntitle: t\nstatus:   'review'   \n---\n",
            ),
            (
                "---\nid: T\ntitle: t\n---\nstatus: pending\n",
                "---\nid: T\ntitle: t\nstatus: review\n---\nstatus: pending\n",
            ),
            (
                "---\r\nid: T\r\ntitle: t\r\n---\r\nx",
                "---\r\nid: T\r\ntitle: t\r\nstatus: review\r\n---\r\nx",
            ),
            (
                "\u{feff}---\nid: ü\n---\n"
                    .replace('ü', "T\ntitle: ü\nstatus: pending")
                    .as_str(),
                "\u{feff}---\nid: T\ntitle: ü\nstatus: review\n---\n",
            ),
            (
                "---\nid: T\nstatus:\ntitle: t\n---\n",
                "---\nid: T\nstatus: review\ntitle: t\n---\n",
            ),
            (
                "---\nid: T\ntitle: t\nstatus: ~\n---\n",
                "---\nid: T\ntitle: t\nstatus: review\n---\n",
            ),
            (
                "---\n{id: T, title: t, status: pending}\n---\n",
                "---\n{id: T, title: t, status: review}\n---\n",
            ),
            (
                "---\nid: T\ntitle: t\nstatus: |-\n  pending\n---\n",
                "---\nid: T\ntitle: t\nstatus: |-\n  review\n---\n",
            ),
            (
                "---\n{id: T, title: t}\n---\n",
                "---\n{status: review, id: T, title: t}\n---\n",
            ),
            (
                "---\n&a {id: T, title: t}\n---\n",
                "---\n&a {status: review, id: T, title: t}\n---\n",
            ),
            (
                "---\n{id: T, status: , title: t}\n---\n",
                "---\n{id: T, status: review , title: t}\n---\n",
            ),
            (
                "---\n  id: T\n  title: t\n---\n",
                "---\n  id: T\n  title: t\n  status: review\n---\n",
            ),
            (
                "---\nid: T\ntitle: t\n...\n---\n",
                "---\nstatus: review\nid: T\ntitle: t\n...\n---\n",
            ),
            (
                "---\nid: T\ntitle: t\n\u{feff} # end\n---\n",
                "---\nstatus: review\nid: T\ntitle: t\n\u{feff} # end\n---\n",
            ),
            (
                "---\nid: T\nstatus_note: x\nstatus: # none\ntitle: t\n---\n",
                "---\nid: T\nstatus_note: x\nstatus: review # none\ntitle: t\n---\n",
            ),
        ] {
            assert_eq!(written(before, TaskStatus::Review), after);
        }
    }

    #[test]
    fn a_status_that_cannot_be_replaced_is_refused() {
        for status in ["\"pend\\u0069ng\"", "&a"] {
            let text = format!("---\nid: T\ntitle: t\nstatus: {status}\n---\n");
            let error = parse_task(text.as_bytes(), Path::new("t.md"))
                .expect_err(&text)
                .to_string();
            assert!(
                error.contains("t.md:4:1: status: write it as one plain word"),
                "{error}"
            );
        }
    }

    #[test]
    fn unwritable_front_matter_leaves_file_unchanged() {
        for front in [
            "\u{feff}id: T\ntitle: t",
            "&a {id: T, title: t, b: c,\t\t  d&:, status:\n &&z!}",
        ] {
            let text = format!("---\n{front}\n---\n");
            let task = parse_task(text.as_bytes(), Path::new("t.md"))
                .unwrap_or_else(|error| panic!("{text}\n{error}"));
            assert_eq!(
                with_status(
                    text.as_bytes(),
                    &task,
                    TaskStatus::Review,
                    Path::new("t.md")
                ),
                None,
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn whatever_stands_around_it_stays(keys in prop::collection::vec("[a-f]{3,8}: [ -~&&[^'\"\\[\\]{}*&!|>%@`:#,?]]{1,10}", 0..6), body in "[ -~\n]{0,60}", at in 0usize..6) {
            let mut lines: Vec<String> = vec!["id: T".into(), "title: t".into()];
            let mut seen = std::collections::BTreeSet::new();
            lines.extend(keys.into_iter().filter(|line| seen.insert(line.split(':').next().map(str::to_owned))));
            let index = at.min(lines.len());
            lines.insert(index, "status: pending".into());
            let text = format!("---\n{}\n---\n{body}", lines.join("\n"));
            prop_assume!(parse_task(text.as_bytes(), Path::new("t.md")).is_ok());
            for (word, status) in TASK_STATUSES {
                prop_assert_eq!(written(&text, *status), text.replacen("status: pending", &format!("status: {word}"), 1));
            }
        }
    }
}
