//! Snapshots of many files and of a large one, and their restore, against git that stores and writes the same.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::process::{Contender, alternate};
use super::repository::git;
use super::{Bench, Result, row};

/// The size of the large file.
const LARGE: u64 = 400 << 20;

pub fn measure(bench: &Bench) -> Result<()> {
    for files in [100, 25_000] {
        let ground = Ground::new(bench, &format!("files-{files}"), files)?;
        let rounds = if files > 1000 {
            bench.rounds / 20 + 1
        } else {
            bench.rounds / 2 + 1
        };
        let add = ground.git(&["add", "-A"]);
        let import = ground.shell(
            "exec git -c core.fsync=all -c fastimport.unpackLimit=0 fast-import --quiet <../stream",
        );
        let [ours, add, import] = alternate(&[ground.snapshot(bench), add, import], rounds)?;
        row(
            &format!("snapshot of {files} new and changed files"),
            ours,
            "fast-import of the same, one synced pack",
            import,
        );
        row("", ours, "add -A", add);
        restore(bench, &ground, files, rounds)?;
    }
    let ground = Ground::new(bench, "large", 2)?;
    let mut random = File::open("/dev/urandom")?.take(LARGE);
    std::io::copy(&mut random, &mut File::create(ground.root.join("large"))?)?;
    let add = ground.git(&["add", "-A"]);
    let copy =
        ground.shell("rm -f ../copy && exec dd if=large of=../copy bs=1M conv=fsync status=none");
    let [ours, add, copy] = alternate(&[ground.snapshot(bench), add, copy], bench.rounds / 20 + 1)?;
    row(
        "snapshot of 400 MiB that do not compress",
        ours,
        "a copy of it, flushed",
        copy,
    );
    row("", ours, "add -A", add);
    Ok(())
}

/// The last snapshot into a new folder, against a new worktree of the same commit.
fn restore(bench: &Bench, ground: &Ground, files: usize, rounds: usize) -> Result<()> {
    alternate(&[ground.snapshot(bench)], 1)?;
    let cleared = |contender: Contender| {
        contender.after(shell(
            "rm -rf ../restored ../checkout && git worktree prune && sync -f .",
        ))
    };
    let restore = cleared(bench.watchdog(
        &ground.root,
        &["rescue", "restore", "latest", "--to", "../restored"],
    ));
    let named =
        "commit=$(git for-each-ref --count=1 --format='%(objectname)' refs/watchdog/rescue)";
    let checkout = cleared(Contender::new(
        &ground.root,
        shell(&format!(
            "{named} && git worktree add -q --detach ../checkout $commit && exec sync -f ../checkout"
        )),
    ));
    let [restore, checkout] = alternate(&[restore, checkout], rounds)?;
    row(
        &format!("restore of {files} files, flushed"),
        restore,
        "a new worktree of it, flushed",
        checkout,
    );
    Ok(())
}

/// A repository with uncommitted work, and a copy of its database to start from.
struct Ground {
    root: PathBuf,
    config: PathBuf,
    reset: Vec<OsString>,
}

impl Ground {
    /// Half of the files are changed ones, half of them new.
    fn new(bench: &Bench, name: &str, files: usize) -> Result<Self> {
        let folder = bench.scratch.join(name);
        let root = folder.join("repo");
        fs::create_dir_all(&root)?;
        for args in [
            ["init", "-q"].as_slice(),
            &["config", "gc.auto", "0"],
            &["config", "maintenance.auto", "false"],
        ] {
            git(&root, args)?;
        }
        let mut text = SourceText { seed: 5 };
        let path = |n: usize| {
            root.join(format!(
                "{}/m{}/p{}/f{n}",
                if n.is_multiple_of(2) { "src" } else { "new" },
                n % 100,
                n % 7
            ))
        };
        for n in (0..files).step_by(2) {
            write(&path(n), &text.next(), false)?;
        }
        git(&root, &["add", "-A"])?;
        git(&root, &["commit", "-q", "-m", "before"])?;
        git(&root, &["repack", "-q", "-a", "-d"])?;
        let mut stream = BufWriter::new(File::create(folder.join("stream"))?);
        for n in 0..files {
            write(&path(n), &text.next(), n.is_multiple_of(2))?;
            let content = fs::read(path(n))?;
            write!(stream, "blob\ndata {}\n", content.len())?;
            stream.write_all(&content)?;
            stream.write_all(b"\n")?;
        }
        stream.flush()?;
        let copied = Command::new("cp")
            .arg("-a")
            .arg(root.join(".git"))
            .arg(folder.join("git"))
            .status()?;
        if !copied.success() {
            return Err("cannot copy the repository".into());
        }
        let config = folder.join("snapshot-only.json");
        fs::write(&config, r#"{"version": 1, "rescue": {"mode": "snapshot"}}"#)?;
        Ok(Ground {
            root,
            config,
            reset: shell("rm -rf .git ../repo.state && cp -a ../git .git && sync -f ."),
        })
    }

    fn snapshot(&self, bench: &Bench) -> Contender {
        let config = self.config.to_string_lossy();
        bench
            .watchdog(&self.root, &["--config", &config, "rescue"])
            .after(self.reset.clone())
    }

    fn git(&self, args: &[&str]) -> Contender {
        Contender::git(&self.root, args).after(self.reset.clone())
    }

    fn shell(&self, line: &str) -> Contender {
        Contender::new(&self.root, shell(line)).after(self.reset.clone())
    }
}

fn shell(line: &str) -> Vec<OsString> {
    ["sh", "-c", line].map(Into::into).to_vec()
}

fn write(path: &Path, text: &str, append: bool) -> Result<()> {
    fs::create_dir_all(path.parent().ok_or("a file has a folder")?)?;
    File::options()
        .create(true)
        .append(append)
        .write(true)
        .truncate(!append)
        .open(path)?
        .write_all(text.as_bytes())?;
    Ok(())
}

/// Text that compresses as source code does, the same in each run.
struct SourceText {
    seed: u64,
}

impl SourceText {
    fn number(&mut self) -> usize {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) as usize
    }

    /// Some 200 to 3,000 bytes.
    fn next(&mut self) -> String {
        let size = [200, 600, 1000, 1500, 3000][self.number() % 5];
        let mut text = String::new();
        while text.len() < size {
            text.push_str(&" ".repeat(self.number() % 4 * 4));
            for _ in 0..self.number() % 7 + 2 {
                // One of 3,000 words of different length.
                let word = (self.number() % 3000) as u64;
                let _ = write!(
                    text,
                    "{:x} ",
                    word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (word % 9 * 4 + 20)
                );
            }
            text.push('\n');
        }
        text
    }
}
