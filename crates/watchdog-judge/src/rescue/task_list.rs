//! Reads the open boxes of a task list, and ticks them without touching another byte. Pure.

use std::sync::LazyLock;

use regex::bytes::Regex;

/// An open box: `- [ ] text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncheckedBox {
    /// The text behind the box, lossy UTF-8, trimmed.
    pub text: String,
    /// The position of the blank in the box, in bytes.
    pub at: usize,
}

/// Boxes that are listed at most.
pub(super) const LISTED: usize = 200;

static BOX: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m-u)^[ \t]*(?:>[ \t]*)*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\[( )\][ \t]+([^\r\n]+)")
        .expect("the pattern is a constant")
});
static FENCE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m-u)^[ \t]*(```+|~~~+)").expect("the pattern is a constant"));

/// The open boxes of a list in Markdown, in order. A box in a code fence is an example.
pub fn open_tasks(list: &[u8]) -> Vec<UncheckedBox> {
    let fences: Vec<usize> = FENCE.find_iter(list).map(|fence| fence.start()).collect();
    let boxes = BOX.captures_iter(list).filter_map(|captures| {
        let (mark, text) = (captures.get(1)?, captures.get(2)?);
        let fenced = fences.partition_point(|fence| *fence < mark.start()) % 2 == 1;
        let text = String::from_utf8_lossy(text.as_bytes()).trim().to_owned();
        (!fenced && !text.is_empty()).then_some(UncheckedBox {
            text,
            at: mark.start(),
        })
    });
    boxes.take(LISTED).collect()
}

/// The open box of a name: its number as `T3`, or its text if that is unique.
pub(super) fn find_by_name(tasks: &[UncheckedBox], name: &str) -> Option<usize> {
    let name = name.trim();
    if let Some(number) = name.strip_prefix('T').and_then(|n| n.parse::<usize>().ok()) {
        return number.checked_sub(1).filter(|at| *at < tasks.len());
    }
    let mut same = tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| task.text == name);
    let index = same.next()?.0;
    same.next().is_none().then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# Tasks\n\n- [x] 1 done\n- [ ] 2 login **form**\r\n  * [ ] 2.1 nested\n3. [ ] numbered\n- [ ]\n-[ ] no box\n\
                        ```md\n- [ ] an example\n```\n> - [ ] quoted\n- [-] dropped\n+ [ ] same\n+ [ ] same\n";

    #[test]
    fn open_boxes_are_found_and_nothing_else() {
        let texts: Vec<String> = open_tasks(LIST.as_bytes())
            .into_iter()
            .map(|task| task.text)
            .collect();
        assert_eq!(
            texts,
            [
                "2 login **form**",
                "2.1 nested",
                "numbered",
                "quoted",
                "same",
                "same"
            ]
        );
        assert_eq!(
            open_tasks(b"\xff\xfe- [ ] x\n- [ ] \xff\n")[0].text,
            "\u{fffd}"
        );
    }

    #[test]
    fn box_position_is_its_blank() {
        let mut bytes = LIST.as_bytes().to_vec();
        for task in open_tasks(LIST.as_bytes()) {
            assert_eq!(&LIST[task.at - 1..task.at + 2], "[ ]");
            bytes[task.at] = b'x';
        }
        assert_eq!(bytes.len(), LIST.len());
        assert!(open_tasks(&bytes).is_empty());
    }

    #[test]
    fn task_matches_by_number_or_unique_text() {
        let tasks = open_tasks(LIST.as_bytes());
        for (name, at) in [
            ("T1", Some(0)),
            ("T6", Some(5)),
            ("T7", None),
            ("T0", None),
            ("numbered", Some(2)),
            ("same", None),
            ("1 done", None),
            ("", None),
        ] {
            assert_eq!(find_by_name(&tasks, name), at, "{name}");
        }
    }
}
