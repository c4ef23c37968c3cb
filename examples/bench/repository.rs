//! Makes the repositories to measure in, through `git fast-import`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::Result;

/// A repository to measure in.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub name: &'static str,
    pub commits: usize,
    pub files: usize,
    /// Remote branches that left the history long ago; the last of them shares nothing with it.
    pub remote_branches: usize,
}

/// Makes a repository, checked out.
pub fn make(path: &Path, shape: Shape) -> Result<()> {
    std::fs::create_dir_all(path)?;
    git(path, &["init", "-q", "-b", "main"])?;
    let stream = path.join(".git/stream");
    let mut out = BufWriter::new(File::create(&stream)?);
    for commit in 0..shape.commits {
        let when = 1_700_000_000 + commit;
        writeln!(
            out,
            "commit refs/heads/main\nmark :{}\ncommitter a <a@example.org> {when} +0000\ndata 2\nc\n",
            commit + 1
        )?;
        if commit == 0 {
            for file in 0..shape.files {
                let folders = (shape.files / 10).clamp(1, 40);
                let (folder, below) =
                    (file % folders, file / folders % (shape.files / 1600).max(1));
                writeln!(
                    out,
                    "M 100644 inline d{folder}/e{below}/f{file}\ndata 6\n{file:05}\n"
                )?;
            }
        }
        writeln!(out, "M 100644 inline counter\ndata 7\n{commit:06}\n")?;
    }
    for branch in 0..shape.remote_branches {
        let orphan = branch + 1 == shape.remote_branches;
        let left = branch * shape.commits / shape.remote_branches;
        writeln!(
            out,
            "commit refs/remotes/origin/b{branch}\ncommitter a <a@example.org> {} +0000\ndata 2\nr\n{}\nM 100644 inline r\ndata 5\n{branch:04}\n",
            1_700_000_000 + left,
            if orphan {
                String::new()
            } else {
                format!("from :{}", left + 1)
            }
        )?;
    }
    out.flush()?;
    drop(out);
    let status = Command::new("git")
        .arg("-C")
        .arg(path)
        .args(["fast-import", "--quiet"])
        .stdin(File::open(&stream)?)
        .status()?;
    if !status.success() {
        return Err("git fast-import failed".into());
    }
    std::fs::remove_file(stream)?;
    git(path, &["reset", "-q", "--hard"])?;
    git(path, &["pack-refs", "--all"])?;
    // git reads every file again that is as young as its index, by the second; with an older one it would be slow for no fault of its own.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    git(path, &["status"])
}

/// Runs git in a repository.
pub fn git(path: &Path, args: &[&str]) -> Result<()> {
    let identity = [
        ("GIT_AUTHOR_NAME", "a"),
        ("GIT_AUTHOR_EMAIL", "a@example.org"),
        ("GIT_COMMITTER_NAME", "a"),
        ("GIT_COMMITTER_EMAIL", "a@example.org"),
    ];
    let status = Command::new("git")
        .arg("-C")
        .arg(path)
        .args(args)
        .envs(identity)
        .stdout(Stdio::null())
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("git {args:?} failed").into())
    }
}
