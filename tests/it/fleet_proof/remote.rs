//! The repository that the work of all machines goes to. It writes down each push as it takes it, refs of one push in one line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::checker::{PushedRefs, TaskOnRemote};
use crate::support::TestEnv;

const FENCE: &str = "refs/watchdog/fence/";
const BRANCH: &str = "refs/heads/watchdog/";

/// Runs for each transaction of refs, once it is done. Pushes of one moment write one line each, as a line this short is written whole.
const NOTES: &str = r#"#!/bin/sh
[ "$1" = committed ] || exit 0
line=
while read -r update; do line="$line$update "; done
printf '%s\n' "$line" >> "$GIT_DIR/pushes"
"#;

/// A bare repository with the tasks in it.
pub struct Remote {
    env: TestEnv,
    path: PathBuf,
}

impl Remote {
    /// Makes it, with one file for each task.
    pub fn new(tasks: &BTreeMap<String, Vec<String>>) -> Self {
        let env = TestEnv::new();
        let repo = env.repo();
        for (id, wanted) in tasks {
            let text = format!("---\nid: {id}\ntitle: Do {id}\ndepends_on: [{}]\n---\n", wanted.join(", "));
            repo.write(&format!(".watchdog/tasks/{id}.md"), text);
        }
        let _ = repo.commit_all("the tasks");
        let path = env.root().join("remote.git");
        let path_text = path.to_string_lossy().into_owned();
        let _ = repo.git(&["clone", "-q", "--bare", ".", &path_text]);
        let remote = Remote { path, env };
        // It would look after each push whether there is garbage, and never find enough.
        let _ = remote.git(&["config", "receive.autogc", "false"]);
        let hook = remote.env.write("remote.git/hooks/reference-transaction", NOTES);
        fs::set_permissions(hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
        remote
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn git(&self, args: &[&str]) -> Option<String> {
        let done = self.env.command("git", &self.path).args(args).run();
        (done.code == Some(0)).then(|| done.stdout.trim().to_owned())
    }

    /// Every push that moved something of a task, in order.
    pub fn pushes(&self) -> Vec<PushedRefs> {
        let text = fs::read_to_string(self.path.join("pushes")).unwrap_or_default();
        text.lines().map(|line| self.pushed(line)).filter(|push| !push.fences.is_empty() || !push.branches.is_empty()).collect()
    }

    fn pushed(&self, line: &str) -> PushedRefs {
        let mut push = PushedRefs { fences: Vec::new(), branches: Vec::new() };
        let words: Vec<&str> = line.split_whitespace().collect();
        for update in words.chunks_exact(3) {
            let (new, name) = (update[1], update[2]);
            if let Some(task) = name.strip_prefix(FENCE) {
                push.fences.push((task.to_owned(), self.fence_in(new)));
            } else if let Some(task) = name.strip_prefix(BRANCH) {
                push.branches.push(task.to_owned());
            }
        }
        push
    }

    /// The number behind the word `fence` in the message of the commit that a fence stands for.
    fn fence_in(&self, commit: &str) -> i64 {
        let message = self.git(&["log", "-1", "--format=%B", commit]).expect("a pushed commit is there");
        let mut words = message.split(|c: char| !c.is_ascii_alphanumeric()).skip_while(|word| *word != "fence").skip(1);
        words.find_map(|word| word.parse().ok()).unwrap_or_else(|| panic!("no fence in {message:?}"))
    }

    /// What there is of a task that was completed on `branch`: its file is the proof that a task's work is in a commit.
    pub fn holds(&self, branch: &str) -> TaskOnRemote {
        let tip = self.git(&["rev-parse", "--verify", "-q", &format!("refs/heads/{branch}")]);
        let files = tip.as_ref().and_then(|tip| self.git(&["ls-tree", "--name-only", tip])).unwrap_or_default();
        let holds: BTreeSet<String> = files.lines().filter_map(|name| name.strip_suffix(".txt")).map(str::to_owned).collect();
        TaskOnRemote { tip, holds }
    }
}
