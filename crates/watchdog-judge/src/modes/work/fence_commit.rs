//! The fence of a task on a remote: a ref that names a commit without files, whose message holds the fence and the number of the push.
//!
//! A server looks at the expected value of a ref only where a push moves it. Each push therefore makes a commit of its own, so that the
//! transaction of a late one fails as a whole.

use super::own_worktree::branch_of;

/// The first line of the message.
const SUBJECT: &str = "watchdog: fence of a task";

/// The content of a task's fence on a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FenceMark {
    /// The task.
    pub task: String,
    /// The fence of the lease under which it was pushed.
    pub fence: i64,
    /// Counts the pushes of the task.
    pub push: u64,
}

impl FenceMark {
    /// The message of its commit.
    pub(super) fn message(&self) -> String {
        format!(
            "{SUBJECT}\n\ntask: {}\nfence: {}\npush: {}\n",
            self.task, self.fence, self.push
        )
    }

    /// The mark of such a commit, as git prints it raw; `None` where it is none of ours.
    pub(super) fn of_commit(raw: &str) -> Option<Self> {
        let (_, message) = raw.split_once("\n\n")?;
        let body = message.strip_prefix(SUBJECT)?;
        let field = |name: &str| {
            body.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        Some(FenceMark {
            task: field("task")?.to_owned(),
            fence: field("fence")?.parse().ok()?,
            push: field("push")?.parse().ok()?,
        })
    }
}

/// The ref of a task's fence. An id of a task is a part of a ref as it is: it is checked when the task is read.
pub(super) fn fence_ref(task: &str) -> String {
    format!("refs/watchdog/fence/{task}")
}

/// The branch of a task where the remote takes several refs only one by one: one for each fence, so that none overwrites another's.
pub(super) fn branch_of_fence(task: &str, fence: i64) -> String {
    format!("{}-{fence}", branch_of(task))
}

/// The fence that such a branch belongs to; `None` for a branch of another task, or another kind.
pub(super) fn fence_of_branch(task: &str, branch: &str) -> Option<i64> {
    let number = branch.strip_prefix(&branch_of(task))?.strip_prefix('-')?;
    number
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| number.parse().ok())?
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;
    use watchdog_core::config::task_file::why_no_id;

    #[test]
    fn only_a_fence_reads_back_as_fence() {
        let mark = FenceMark {
            task: "T1".into(),
            fence: 42,
            push: 7,
        };
        let raw = |message: &str| {
            format!("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor x\n\n{message}")
        };
        assert_eq!(
            FenceMark::of_commit(&raw(&mark.message())),
            Some(mark.clone())
        );
        for plain_message in [
            "",
            "feat: x",
            "watchdog: fence of a task\n\ntask: T1\nfence: x\npush: 7",
            "watchdog: fence of a task\n\ntask: T1\nfence: 4",
        ] {
            assert_eq!(
                FenceMark::of_commit(&raw(plain_message)),
                None,
                "{plain_message}"
            );
        }
    }

    #[test]
    fn branch_belongs_to_single_task_and_fence() {
        for (task, branch, fence) in [
            ("T1", "watchdog/T1-5", Some(5)),
            ("T1", "watchdog/T1", None),
            ("T1", "watchdog/T1-5-6", None),
            ("T1-5", "watchdog/T1-5-6", Some(6)),
            ("T1", "watchdog/T12-5", None),
            ("T1", "watchdog/T1-x", None),
            ("T1", "watchdog/T1-", None),
            ("T1", "watchdog/T1-99999999999999999999", None),
        ] {
            assert_eq!(fence_of_branch(task, branch), fence, "{task} {branch}");
        }
        assert_eq!(fence_of_branch("T1", &branch_of_fence("T1", 12)), Some(12));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        #[expect(clippy::disallowed_methods, reason = "tests start git by themselves")]
        fn git_accepts_refs_of_every_valid_task_id(id in "[A-Za-z0-9][A-Za-z0-9._-]{0,12}(\\.lock|\\.|\\.\\.a|)") {
            prop_assume!(why_no_id(&id).is_none());
            for name in [fence_ref(&id), format!("refs/heads/{}", branch_of_fence(&id, 3))] {
                let fits = Command::new("git").args(["check-ref-format", &name]).status().expect("git").success();
                prop_assert!(fits, "{name}");
            }
        }
    }
}
