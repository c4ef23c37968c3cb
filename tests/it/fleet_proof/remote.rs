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
            let text = format!(
                "---\nid: {id}\ntitle: Do {id}\ndepends_on: [{}]\n---\n",
                wanted.join(", ")
            );
            repo.write(&format!(".watchdog/tasks/{id}.md"), text);
        }
        let _ = repo.commit_all("the tasks");
        let path = env.root().join("remote.git");
        let path_text = path.to_string_lossy().into_owned();
        let _ = repo.git(&["clone", "-q", "--bare", ".", &path_text]);
        let remote = Remote { path, env };
        // It would look after each push whether there is garbage, and never find enough.
        let _ = remote.git(&["config", "receive.autogc", "false"]);
        // Each push would list all refs a second time, in a program of its own, as if what it brings lay in another repository.
        let _ = remote.git(&["config", "core.alternateRefsCommand", "true"]);
        let hook = remote
            .env
            .write("remote.git/hooks/reference-transaction", NOTES);
        fs::set_permissions(hook, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("it is ours");
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

    /// Packs its refs and objects, as whoever keeps such a repository does from time to time, in the middle of pushes. Nothing of
    /// that is written down as a push.
    pub fn pack(&self) {
        let quiet = ["-c", "core.hooksPath=/dev/null"];
        // A ref that moves at that moment stays as it is.
        let _ = self.git(&[&quiet[..], &["pack-refs", "--all"]].concat());
        let _ = self.git(&[&quiet[..], &["repack", "-dq"]].concat());
    }

    /// Every push that moved something of a task, in order.
    pub fn pushes(&self) -> Vec<PushedRefs> {
        let text = fs::read_to_string(self.path.join("pushes")).unwrap_or_default();
        let updates: Vec<Vec<(&str, &str)>> = text.lines().map(updates_of).collect();
        let fences: BTreeSet<&str> = updates
            .iter()
            .flatten()
            .filter(|(name, _)| name.starts_with(FENCE))
            .map(|(_, new)| *new)
            .collect();
        let fences = self.fences_in(&fences);
        let pushed = |updates: Vec<(&str, &str)>| {
            let mut push = PushedRefs {
                fences: Vec::new(),
                branches: Vec::new(),
            };
            for (name, new) in updates {
                if let Some(task) = name.strip_prefix(FENCE) {
                    push.fences.push((task.to_owned(), fences[new]));
                } else if let Some(task) = name.strip_prefix(BRANCH) {
                    push.branches.push(task.to_owned());
                }
            }
            push
        };
        updates
            .into_iter()
            .map(pushed)
            .filter(|push| !push.fences.is_empty() || !push.branches.is_empty())
            .collect()
    }

    /// The number behind the word `fence` in the message of each commit that a fence stands for. Git is asked once for all of them.
    fn fences_in(&self, commits: &BTreeSet<&str>) -> BTreeMap<String, i64> {
        let ids = commits
            .iter()
            .map(|id| format!("{id}\n"))
            .collect::<String>();
        let args = [
            "log",
            "--no-walk=unsorted",
            "--stdin",
            "-z",
            "--format=%H %B",
        ];
        let said = self
            .env
            .command("git", &self.path)
            .args(args)
            .stdin(ids)
            .run()
            .expect(0)
            .stdout;
        let fence = |message: &str| {
            let mut words = message
                .split(|c: char| !c.is_ascii_alphanumeric())
                .skip_while(|word| *word != "fence")
                .skip(1);
            words
                .find_map(|word| word.parse().ok())
                .unwrap_or_else(|| panic!("no fence in {message:?}"))
        };
        let of = |entry: &str| {
            entry
                .split_once(' ')
                .map(|(id, message)| (id.to_owned(), fence(message)))
        };
        said.split('\0').filter_map(of).collect()
    }

    /// What there is of each task that was completed on a branch: its file is the proof that a task's work is in a commit. Git is asked
    /// once for every file of every task.
    pub fn holds(&self, branches: &BTreeMap<&String, &String>) -> BTreeMap<String, TaskOnRemote> {
        let tips = self
            .git(&[
                "for-each-ref",
                "--format=%(refname:short) %(objectname)",
                "refs/heads",
            ])
            .unwrap_or_default();
        let tips: BTreeMap<&str, &str> = tips
            .lines()
            .filter_map(|line| line.split_once(' '))
            .collect();
        let tip_of = |branch: &String| tips.get(branch.as_str()).copied();
        let asked: Vec<(&str, &String)> = branches
            .values()
            .filter_map(|branch| tip_of(branch))
            .flat_map(|tip| branches.keys().map(move |task| (tip, *task)))
            .collect();
        let names = asked
            .iter()
            .map(|(tip, task)| format!("{tip}:{task}.txt\n"))
            .collect::<String>();
        let said = self
            .env
            .command("git", &self.path)
            .args(["cat-file", "--batch-check"])
            .stdin(names)
            .run()
            .expect(0)
            .stdout;
        assert_eq!(said.lines().count(), asked.len(), "git answers to each");
        let mut held: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for ((tip, task), answer) in asked.into_iter().zip(said.lines()) {
            if !answer.ends_with(" missing") {
                held.entry(tip).or_default().insert(task.clone());
            }
        }
        let found = |branch: &String| {
            let tip = tip_of(branch);
            TaskOnRemote {
                tip: tip.map(str::to_owned),
                holds: tip
                    .and_then(|tip| held.get(tip))
                    .cloned()
                    .unwrap_or_default(),
            }
        };
        branches
            .iter()
            .map(|(task, branch)| ((*task).clone(), found(branch)))
            .collect()
    }
}

/// Name and new value of each ref in a line of the hook.
fn updates_of(line: &str) -> Vec<(&str, &str)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    words
        .chunks_exact(3)
        .map(|update| (update[2], update[1]))
        .collect()
}
