//! The agents that work on this machine, by the processes of this user and by the agents' own lists: read once for many worktrees.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use watchdog_agent::preset::PresetCatalog;
use watchdog_agent::recognition::{AgentInside, agents_inside, agents_named_in};
use watchdog_agent::running_list::read_running;
use watchdog_agent::transcript_source::TranscriptSource;
use watchdog_process::{ProcessAncestry, read_with_ancestors};
use watchdog_system::{list_working_folders, lock_mutex, read_regular_file};

/// A `.git` file that is longer links to no git directory.
const LONGEST_LINK: u64 = 64 << 10;

/// How long a reading holds for all that share it.
const SHARED_FOR: Duration = Duration::from_secs(1);

/// The agents at work at one moment.
struct AgentReading {
    read_at: Instant,
    /// Each process and its folder.
    folders: Vec<(u32, PathBuf)>,
    /// The sessions that agents list themselves.
    listed: Vec<AgentInside>,
    ancestry: ProcessAncestry,
}

/// The agents at work, for many worktrees in a row.
#[derive(Clone, Default)]
pub struct SharedAgents(Arc<Mutex<Option<Arc<AgentReading>>>>);

impl SharedAgents {
    /// The agents at work, as read within the last second: their processes, and the lists beside `transcripts`.
    fn read(&self, transcripts: &dyn Fn() -> Vec<TranscriptSource>) -> Arc<AgentReading> {
        let mut last = lock_mutex(&self.0);
        match &*last {
            Some(reading) if reading.read_at.elapsed() <= SHARED_FOR => Arc::clone(reading),
            _ => {
                let reading = Arc::new(AgentReading {
                    read_at: Instant::now(),
                    folders: list_working_folders(),
                    listed: transcripts().iter().flat_map(read_running).collect(),
                    ancestry: ProcessAncestry::of_this_process(),
                });
                *last = Some(Arc::clone(&reading));
                reading
            }
        }
    }

    /// The folders of the sessions that agents list themselves.
    pub fn listed_folders(&self, transcripts: &dyn Fn() -> Vec<TranscriptSource>) -> Vec<PathBuf> {
        let reading = self.read(transcripts);
        let listed = reading.listed.iter();
        listed.map(|agent| agent.folder.clone()).collect()
    }

    /// The agents that work in a worktree, by their processes and by their own lists.
    pub fn inside(
        &self,
        presets: &PresetCatalog,
        transcripts: &dyn Fn() -> Vec<TranscriptSource>,
        root: &Path,
    ) -> Vec<AgentInside> {
        let reading = self.read(transcripts);
        let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        let is_inside = |folder: &Path| works_in(&root, folder);
        let is_above = |pid| reading.ancestry.is_above(pid);
        let pids: Vec<u32> = (reading.folders.iter())
            .filter(|(_, folder)| is_inside(folder))
            .map(|(pid, _)| *pid)
            .collect();
        let mut inside = match read_with_ancestors(&pids) {
            nobody if nobody.is_empty() => Vec::new(),
            processes => {
                let words = processes.iter().flat_map(|process| &process.argv);
                let agent_words = agents_named_in(presets, words);
                agents_inside(&processes, &agent_words, &is_above, &is_inside)
            }
        };
        let here = reading
            .listed
            .iter()
            .filter(|listed| is_inside(&listed.folder));
        for listed in here {
            match inside.iter_mut().find(|agent| agent.pid == listed.pid) {
                Some(agent) => agent.listed.clone_from(&listed.listed),
                None => inside.push(AgentInside {
                    is_above: is_above(listed.pid),
                    ..listed.clone()
                }),
            }
        }
        inside
    }

    /// Has the next call read anew.
    pub fn refresh(&self) {
        *lock_mutex(&self.0) = None;
    }
}

/// Whether a folder belongs to the work tree `root`, and to none that lies inside of it. Submodules belong to it.
fn works_in(root: &Path, folder: &Path) -> bool {
    let is_other_work_tree = |folder: &Path| {
        let dot = folder.join(".git");
        // A session may have put a device there.
        let is_own_link = |text: Vec<u8>| !String::from_utf8_lossy(&text).contains("/modules/");
        dot.is_dir() || read_regular_file(&dot, LONGEST_LINK).is_ok_and(is_own_link)
    };
    folder.starts_with(root)
        && !folder
            .ancestors()
            .take_while(|above| *above != root)
            .any(is_other_work_tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_worktree_is_not_part_of_outer() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let write = |path: &str, text: &str| {
            let path = scratch.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        write("src/a", "");
        write(".git/HEAD", "");
        write("trees/b/.git", "gitdir: /x/.git/worktrees/b\n");
        write("trees/b/src/c", "");
        write("lib/.git", "gitdir: ../.git/modules/lib\n");
        let works = |folder: &str| works_in(scratch.path(), &scratch.path().join(folder));
        assert!(works("") && works("src") && works("lib"));
        assert!(
            !works("trees/b") && !works("trees/b/src") && !works_in(scratch.path(), Path::new("/"))
        );
    }
}
