//! Runs git against a remote that a person named, from a git directory of its own: nothing that stands in the repository's configuration,
//! hooks or environment says where a push goes, how it gets there, or what the remote answers.
//!
//! The directory lives for one command's work. It has the objects of the repository, a copy of the names of its branches (so that a fetch
//! says what is here already), and the address of the remote. The person's configuration for all
//! repositories counts as always: credentials, proxies, ssh. Only another address is no part of it:
//! the remote is named by a word that the directory alone rewrites.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use tempfile::TempDir;
use watchdog_facts::evidence::ProcessExit;
use watchdog_git::{Worktree, without_credentials};
use watchdog_process::FinishedProgram;
use watchdog_process::git_program::{format_last_lines, new_git_run, ssh_variables};
use watchdog_system::read_entries;

use crate::clock::now;

use super::batch_ssh::{SshSetting, goes_over_ssh, quiet_command};

/// How long git may take for one question to the remote.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// How long it may take to send or to get commits.
const TRANSFER: Duration = Duration::from_secs(600);

/// Settings of each call. The person's own hooks are for the person's pushes; a file beside the objects says nothing about which commit follows
/// which; and whatever could ask in a window does not.
const FIXED: [&str; 5] = [
    "core.hooksPath=/dev/null",
    "push.gpgSign=false",
    "protocol.ext.allow=never",
    "core.commitGraph=false",
    "credential.interactive=false",
];

/// The name of the remote in that directory.
const REMOTE: &str = "there";

/// Git beside a repository, with one remote.
pub(super) struct RemoteGit<'w> {
    worktree: &'w Worktree,
    dir: TempDir,
    /// The commits that the branches of the repository name, and those found here with everything
    /// that leads there.
    whole: RefCell<BTreeSet<String>>,
    objects: PathBuf,
    shallow: Option<PathBuf>,
    is_partial: bool,
    /// The ssh command that never asks, if git goes by ssh and would ask.
    ssh: Option<String>,
    url: String,
}

/// A command of git that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RemoteFailure {
    /// The output of git, without credentials.
    pub said: String,
}

impl<'w> RemoteGit<'w> {
    /// Makes the directory.
    pub(super) fn beside(worktree: &'w Worktree, url: &str) -> Result<Self, RemoteFailure> {
        let failed = |why: String| RemoteFailure {
            said: without_credentials(&why, url),
        };
        if url.is_empty() || url.chars().any(char::is_control) {
            return Err(failed("the address of the remote is none".into()));
        }
        let tips = worktree
            .ref_tips()
            .map_err(|error| failed(error.to_string()))?;
        let is_long = tips.iter().any(|(_, id)| id.len() == 64);
        let dir = tempfile::Builder::new()
            .prefix("watchdog-remote-")
            .tempdir()
            .map_err(|error| failed(error.to_string()))?;
        let objects = worktree.common_dir().join("objects");
        let mut config =
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n".to_owned();
        if is_long {
            config.push_str("\tobjectformat = sha256\n");
        }
        // A partial clone lacks files of old commits: git gets those from the remote, in place of taking the clone for broken.
        let is_partial =
            has_promised_objects(&objects).map_err(|error| failed(error.to_string()))?;
        if is_partial {
            config.push_str(&format!("\tpartialclone = {REMOTE}\n"));
        }
        let quoted = url.replace('\\', "\\\\").replace('"', "\\\"");
        // A `url.*.insteadOf` of the person would have to begin like this name, and be longer than it.
        let named = dir.path().file_name().unwrap_or_default().to_string_lossy();
        config.push_str(&format!("[url \"{quoted}\"]\n\tinsteadOf = \"{named}\"\n[remote \"{REMOTE}\"]\n\turl = \"{named}\"\n"));
        if is_partial {
            config.push_str("\tpromisor = true\n");
        }
        let is_branch =
            |name: &str| name.starts_with("refs/heads/") || name.starts_with("refs/remotes/");
        let branches: Vec<_> = tips.iter().filter(|(name, _)| is_branch(name)).collect();
        let mut packed: Vec<String> = branches
            .iter()
            .map(|(name, id)| format!("{id} refs/here/{}\n", &name[5..]))
            .collect();
        packed.sort_by(|a, b| a.split(' ').nth(1).cmp(&b.split(' ').nth(1)));
        let write = || -> std::io::Result<()> {
            // It may hold a password.
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700))?;
            fs::create_dir(dir.path().join("objects"))?;
            fs::create_dir(dir.path().join("refs"))?;
            fs::write(dir.path().join("HEAD"), "ref: refs/heads/none\n")?;
            fs::write(dir.path().join("config"), &config)?;
            fs::write(
                dir.path().join("packed-refs"),
                format!("# pack-refs with: sorted \n{}", packed.concat()),
            )
        };
        write().map_err(|error| failed(error.to_string()))?;
        let shallow = Some(worktree.common_dir().join("shallow")).filter(|path| path.exists());
        let whole = RefCell::new(branches.iter().map(|(_, id)| id.clone()).collect());
        let mut made = RemoteGit {
            worktree,
            dir,
            whole,
            objects,
            shallow,
            is_partial,
            ssh: None,
            url: url.to_owned(),
        };
        if goes_over_ssh(url) {
            made.ssh = made.quiet_ssh()?;
        }
        Ok(made)
    }

    /// The person's ssh command with which git never asks.
    fn quiet_ssh(&self) -> Result<Option<String>, RemoteFailure> {
        // Without any such key git ends with 1.
        let configured = |key: &str| -> Result<Option<String>, RemoteFailure> {
            let finished = self.finish(&["config", "--get", key], b"", ANSWER_WITHIN)?;
            let value = String::from_utf8_lossy(&finished.stdout.bytes)
                .trim_end_matches('\n')
                .to_owned();
            Ok((finished.exit.success()).then_some(value))
        };
        let (ssh_command, variant) = (configured("core.sshCommand")?, configured("ssh.variant")?);
        let [command, program] = ssh_variables();
        Ok(quiet_command(SshSetting {
            command: command.as_deref(),
            configured: ssh_command.as_deref(),
            program: program.as_deref(),
            variant: variant.as_deref(),
        }))
    }

    /// Whether the history of the clone is cut: then it may lack what leads from one commit to another.
    pub(super) fn is_shallow(&self) -> bool {
        self.shallow.is_some()
    }

    /// Whether the configuration of all repositories leads to another address. Git does not follow it from here; where the person's own git
    /// would go elsewhere, nobody knows what is meant.
    pub(super) fn is_redirected(&self) -> Result<bool, RemoteFailure> {
        let args = ["ls-remote", "--get-url", "--", &self.url];
        Ok(self.run(&args, b"", ANSWER_WITHIN)?.trim_end_matches('\n') != self.url)
    }

    /// The refs of the remote that match `patterns`, by name.
    pub(super) fn refs(
        &self,
        patterns: &[&str],
    ) -> Result<BTreeMap<String, String>, RemoteFailure> {
        let args: Vec<&str> = ["ls-remote", "--refs", REMOTE]
            .iter()
            .chain(patterns)
            .copied()
            .collect();
        let listed = self.run(&args, b"", ANSWER_WITHIN)?;
        Ok(listed
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(id, name)| (name.to_owned(), id.to_owned()))
            .collect())
    }

    /// Gets what refs of the remote name, and all that leads there.
    pub(super) fn fetch(&self, refs: &[&str]) -> Result<(), RemoteFailure> {
        if refs.is_empty() {
            return Ok(());
        }
        // The fetched objects are on the disk before a ref names them.
        let fixed = [
            "-c",
            "core.fsync=committed",
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            REMOTE,
        ];
        self.run(
            &fixed.iter().chain(refs).copied().collect::<Vec<_>>(),
            b"",
            TRANSFER,
        )
        .map(drop)
    }

    /// Moves refs of the remote, each from the value that is expected (`None` = it is not there) to an object of this repository.
    pub(super) fn push(
        &self,
        updates: &[RefUpdate<'_>],
        atomic: bool,
    ) -> Result<(), RemoteFailure> {
        let mut args: Vec<String> = [
            "push",
            "--porcelain",
            "--no-verify",
            "--no-signed",
            "--recurse-submodules=no",
        ]
        .map(str::to_owned)
        .to_vec();
        if atomic {
            args.push("--atomic".into());
        }
        args.extend(updates.iter().map(|update| {
            format!(
                "--force-with-lease={}:{}",
                update.name,
                update.expected.unwrap_or_default()
            )
        }));
        args.push(REMOTE.into());
        args.extend(
            updates
                .iter()
                .map(|update| format!("{}:{}", update.to.unwrap_or_default(), update.name)),
        );
        self.run(
            &args.iter().map(String::as_str).collect::<Vec<_>>(),
            b"",
            TRANSFER,
        )
        .map(drop)
    }

    /// A commit without files and parents.
    pub(super) fn empty_commit(&self, message: &str) -> Result<String, RemoteFailure> {
        self.worktree
            .write_empty_commit(message, &[], now())
            .map_err(|error| self.unread(&error))
    }

    /// A commit as git keeps it, where it has no files. The outer `None` = it is not here, the inner one = it has some.
    pub(super) fn empty_commit_text(
        &self,
        id: &str,
    ) -> Result<Option<Option<String>>, RemoteFailure> {
        self.worktree
            .empty_commit_text(id)
            .map_err(|error| self.unread(&error))
    }

    /// Those of the commits that are not here with everything that leads there: a fetch that was
    /// cut off may leave the commit alone. Objects that a remote has promised to a partial clone
    /// count as here.
    pub(super) fn missing<'i>(&self, ids: &[&'i str]) -> Vec<&'i str> {
        let is_open =
            |id: &&str| !(self.whole.borrow().contains(*id) && self.worktree.has_commit(id));
        let open: Vec<&str> = ids.iter().copied().filter(is_open).collect();
        if open.is_empty() || self.are_whole(&open) {
            return Vec::new();
        }
        if open.len() == 1 {
            open
        } else {
            open.into_iter()
                .filter(|id| !self.are_whole(&[id]))
                .collect()
        }
    }

    /// Asks git once for all of them.
    fn are_whole(&self, ids: &[&str]) -> bool {
        let promised: &[&str] = if self.is_partial {
            &["--exclude-promisor-objects"]
        } else {
            &[]
        };
        let commits: Vec<String> = ids.iter().map(|id| format!("{id}^{{commit}}")).collect();
        let mut args = [&["rev-list", "--objects", "--quiet"], promised].concat();
        args.extend(commits.iter().map(String::as_str));
        args.extend(["--not", "--glob=refs/here/*"]);
        let are_whole = self.run(&args, b"", ANSWER_WITHIN).is_ok();
        if are_whole {
            self.whole
                .borrow_mut()
                .extend(ids.iter().map(ToString::to_string));
        }
        are_whole
    }

    /// Whether `old` is `new`, or one of its ancestors.
    pub(super) fn leads_to(&self, old: &str, new: &str) -> Result<bool, RemoteFailure> {
        if old == new {
            return Ok(true);
        }
        let finished = self.finish(
            &["merge-base", "--is-ancestor", old, new],
            b"",
            ANSWER_WITHIN,
        )?;
        match finished.exit {
            ProcessExit::Code(0) => Ok(true),
            ProcessExit::Code(1) => Ok(false),
            _ => Err(self.failure(&finished)),
        }
    }

    fn run(
        &self,
        args: &[&str],
        stdin: &[u8],
        deadline: Duration,
    ) -> Result<String, RemoteFailure> {
        let finished = self.finish(args, stdin, deadline)?;
        if !finished.exit.success() || finished.stdout.dropped > 0 {
            return Err(self.failure(&finished));
        }
        Ok(String::from_utf8_lossy(&finished.stdout.bytes).into_owned())
    }

    fn unread(&self, error: &watchdog_git::Error) -> RemoteFailure {
        RemoteFailure {
            said: without_credentials(&error.to_string(), &self.url),
        }
    }

    fn failure(&self, finished: &FinishedProgram) -> RemoteFailure {
        RemoteFailure {
            said: without_credentials(&format_last_lines(finished), &self.url),
        }
    }

    /// Runs git to its end, whatever its exit code says.
    fn finish(
        &self,
        args: &[&str],
        stdin: &[u8],
        deadline: Duration,
    ) -> Result<FinishedProgram, RemoteFailure> {
        let root = self.dir.path();
        let args: Vec<&str> = FIXED
            .iter()
            .flat_map(|setting| ["-c", setting])
            .chain(args.iter().copied())
            .collect();
        let mut program = new_git_run(root, &args, &[], false, deadline);
        let mut set = |name: &str, value: OsString| program.env.insert(name.into(), Some(value));
        set("GIT_DIR", root.as_os_str().to_owned());
        set("GIT_OBJECT_DIRECTORY", self.objects.as_os_str().to_owned());
        if let Some(shallow) = &self.shallow {
            set("GIT_SHALLOW_FILE", shallow.as_os_str().to_owned());
        }
        if let Some(ssh) = &self.ssh {
            set("GIT_SSH_COMMAND", ssh.into());
        }
        // Git Credential Manager may open a window.
        set("GCM_INTERACTIVE", "never".into());
        program.stdin = stdin.to_vec();
        // A list of refs is read whole.
        program.keep = 4 << 20;
        let failed = |why: String| RemoteFailure {
            said: without_credentials(&why, &self.url),
        };
        let finished = program.run().map_err(|error| failed(error.to_string()))?;
        if finished.timed_out {
            return Err(failed(format!(
                "the remote did not answer within {} s",
                deadline.as_secs()
            )));
        }
        Ok(finished)
    }
}

/// Whether objects are missing here that a remote has promised.
fn has_promised_objects(objects: &Path) -> io::Result<bool> {
    let packs = read_entries(&objects.join("pack"), usize::MAX)?;
    Ok(packs.iter().any(|entry| {
        entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "promisor")
    }))
}

/// A ref of the remote that a push moves.
#[derive(Debug, Clone, Copy)]
pub(super) struct RefUpdate<'a> {
    /// Its whole name.
    pub name: &'a str,
    /// The commit that it must name now; without it, the ref must not exist.
    pub expected: Option<&'a str>,
    /// The commit that it names then; without it, the ref is removed.
    pub to: Option<&'a str>,
}

impl RemoteFailure {
    /// Whether the remote takes several refs only one by one.
    pub(super) fn is_not_atomic(&self) -> bool {
        self.said.contains("does not support --atomic")
    }
}
