//! What a sweep of many worktrees costs, against a shell loop over git and against the least that anybody must do.

use std::ffi::OsString;
use std::fs;

use super::process::{Contender, alternate};
use super::repository::git;
use super::worktrees::{Layout, Worktrees};
use super::{Bench, Result, row};

/// Linked worktrees of one repository, then as many repositories.
pub fn measure(bench: &Bench) -> Result<()> {
    measure_one(bench, Layout::Linked, "worktrees of one repository")?;
    measure_one(bench, Layout::Separate, "repositories")
}

/// Every second worktree has a new commit. The first sweep, one when nothing changed since, the loop and the floor.
fn measure_one(bench: &Bench, layout: Layout, what: &str) -> Result<()> {
    let scratch = bench.scratch.join("swept");
    let worktrees = Worktrees::make(&scratch, bench.worktrees, layout)?;
    let folders: Vec<_> = (0..bench.worktrees).map(|n| worktrees.folder(n)).collect();
    for folder in folders.iter().step_by(2) {
        fs::write(folder.join("counter"), "work")?;
        git(folder, &["commit", "-qam", "work"])?;
    }
    // As in `make`: an index that is as young as its files would make git read all of them.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    for folder in &folders {
        git(folder, &["status"])?;
    }
    let list = bench.scratch.join("folders");
    let text: String = folders
        .iter()
        .map(|folder| format!("{}\n", folder.display()))
        .collect();
    fs::write(&list, text)?;
    let names = bench.scratch.join("names");
    let tracked = std::process::Command::new("git")
        .arg("-C")
        .arg(worktrees.repository())
        .args(["ls-files", "-z"])
        .output()?;
    fs::write(&names, tracked.stdout)?;

    let fresh = scratch.join("fresh-state");
    fs::rename(worktrees.state(), &fresh)?;
    fs::create_dir(worktrees.state())?;
    let repository = worktrees.repository();
    let argv = |words: &[&OsString]| {
        words
            .iter()
            .map(|word| OsString::from(*word))
            .collect::<Vec<_>>()
    };
    let (shell, dash_c) = (OsString::from("sh"), OsString::from("-c"));
    let (fresh, state, list) = (
        fresh.into_os_string(),
        worktrees.state().into_os_string(),
        list.into_os_string(),
    );
    // A repository tells of its worktrees; others must be searched for.
    let swept = if layout == Layout::Linked {
        repository.clone()
    } else {
        worktrees.all()
    };
    let sweep = || {
        let words = [
            "--state-dir".into(),
            state.clone(),
            "sweep".into(),
            "--no-probe".into(),
            "--json".into(),
        ];
        Contender::new(
            &swept,
            [bench.watchdog.clone().into_os_string()]
                .into_iter()
                .chain(words),
        )
    };
    // The lock files of all worktrees stay: `watchdog run` made them, and a file system that just lost a thousand files is slow to make new ones.
    let anew = OsString::from("rm -f \"$1\"/watchdog.db* && cp -r \"$0\"/. \"$1\"");
    let first = sweep().after(argv(&[&shell, &dash_c, &anew, &fresh, &state]));
    let each = format!(
        "while read -r at; do git -C \"$at\" rev-list --count {}..HEAD; git -C \"$at\" --no-optional-locks status --porcelain=v2; done < \"$0\"",
        worktrees.baseline
    );
    let looped = Contender::new(&repository, argv(&[&shell, &dash_c, &each.into(), &list]));
    let itself = std::env::current_exe()?.into_os_string();
    let floor = Contender::new(
        &repository,
        argv(&[&itself, &"--floor".into(), &names.into_os_string(), &list]),
    );
    let [first, again, looped, floor] =
        alternate(&[first, sweep(), looped, floor], bench.rounds / 8 + 1)?;
    let count = bench.worktrees;
    row(
        &format!("sweep of {count} {what}, 50 files each"),
        first,
        "a loop of rev-list and status",
        looped,
    );
    row("", first, "lstat of all, readdir of all", floor);
    row(
        "the same, nothing changed since",
        again,
        "the first sweep",
        first,
    );
    Ok(fs::remove_dir_all(scratch)?)
}
