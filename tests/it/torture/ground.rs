//! Where a round takes place: a scratch folder, on a small disk of its own where the fault asks for one.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::TestEnv;
use crate::support::lone_repo::hermetic;

/// Size of a small disk in MiB.
const SMALL_DISK: u32 = 48;

/// The place of one round.
pub struct Ground {
    /// Goes first: what is mounted in a scratch folder must be gone before the folder is.
    mounts: Mounts,
    /// Programs, their environment and the scratch folder.
    pub env: TestEnv,
    /// The work tree.
    pub root: PathBuf,
    /// The small disk, where there is one.
    pub disk: Option<PathBuf>,
}

/// Unmounted when dropped.
#[derive(Default)]
struct Mounts(Vec<PathBuf>);

impl Mounts {
    fn mount(&mut self, args: &[&OsStr], at: &Path) {
        run("mount", &[args, &[at.as_os_str()]].concat());
        self.0.push(at.to_owned());
    }

    fn unmount(&mut self, at: &Path) {
        run("umount", &[OsStr::new("-l"), at.as_os_str()]);
        self.0.retain(|mounted| mounted != at);
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        for at in self.0.iter().rev() {
            // The test is over, and its namespace takes what is left.
            let _ = Command::new("umount").arg("-l").arg(at).output();
        }
    }
}

fn run(program: &str, args: &[&OsStr]) {
    let out = Command::new(program).args(args).output().unwrap();
    assert!(
        out.status.success(),
        "{program} {args:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
}

impl Ground {
    /// A scratch folder; with a small disk for repository and state where asked for.
    pub fn new(small_disk: bool) -> Self {
        let mut env = TestEnv::new();
        let mut mounts = Mounts::default();
        let mut disk = None;
        let mut root = env.root().join("repo");
        if small_disk {
            let at = env.root().join("disk");
            std::fs::create_dir(&at).unwrap();
            let size = OsString::from(format!("size={SMALL_DISK}m"));
            mounts.mount(
                &["-t", "tmpfs", "-o"]
                    .map(OsStr::new)
                    .into_iter()
                    .chain([size.as_os_str(), OsStr::new("small")])
                    .collect::<Vec<_>>(),
                &at,
            );
            env.set("WATCHDOG_STATE_DIR", at.join("state"));
            root = at.join("repo");
            disk = Some(at);
        }
        std::fs::create_dir_all(&root).unwrap();
        Ground {
            mounts,
            env,
            root,
            disk,
        }
    }

    /// Runs git in a folder, with no part of the fault.
    pub fn git_in<S: AsRef<OsStr>>(&self, folder: &Path, args: &[S]) -> Output {
        let mut command = Command::new("git");
        hermetic(&mut command, &self.env.home());
        let settings = [
            "gc.auto=0",
            "protocol.file.allow=always",
            "advice.detachedHead=false",
            "core.hooksPath=/dev/null",
        ];
        command.args(settings.iter().flat_map(|setting| ["-c", setting]));
        command
            .current_dir(folder)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .args(args)
            .output()
            .unwrap()
    }

    /// Runs git in the work tree, whatever comes of it.
    pub fn try_git<S: AsRef<OsStr>>(&self, args: &[S]) -> Output {
        self.git_in(&self.root, args)
    }

    /// Runs git in the work tree; it must succeed. Returns its output without the last line break.
    #[track_caller]
    pub fn git<S: AsRef<OsStr>>(&self, args: &[S]) -> Vec<u8> {
        let mut out = self.try_git(args);
        let shown: Vec<_> = args.iter().map(AsRef::as_ref).collect();
        assert!(
            out.status.success(),
            "git {shown:?}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        if out.stdout.last() == Some(&b'\n') {
            out.stdout.pop();
        }
        out.stdout
    }

    /// The same as text.
    #[track_caller]
    pub fn git_text(&self, args: &[&str]) -> String {
        String::from_utf8_lossy(&self.git(args)).into_owned()
    }

    /// The commit of HEAD; `None` on an unborn branch.
    pub fn head(&self) -> Option<String> {
        let out = self.try_git(&["rev-parse", "-q", "--verify", "HEAD"]);
        out.status
            .success()
            .then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
    }

    /// Fills the small disk until `left` bytes are free.
    pub fn fill_disk(&self, left: u64) {
        let filler = self.filler();
        let mut file = std::fs::File::create(&filler).unwrap();
        let block = vec![0u8; 1 << 16];
        // Smaller and smaller pieces, until not one byte fits.
        for piece in [1 << 16, 1 << 12, 1 << 8, 1] {
            while std::io::Write::write_all(&mut file, &block[..piece]).is_ok() {}
        }
        let full = file.metadata().unwrap().len();
        file.set_len(full.saturating_sub(left)).unwrap();
    }

    /// Lets only so many more files be made on the small disk.
    pub fn limit_files(&self, more: u64) {
        let disk = self.disk.as_ref().expect("this fault has a disk");
        let stat = rustix::fs::statvfs(disk).unwrap();
        self.remount(&format!("nr_inodes={}", stat.f_files - stat.f_ffree + more));
    }

    fn remount(&self, option: &str) {
        let disk = self.disk.as_ref().expect("this fault has a disk");
        run(
            "mount",
            &["-o", &format!("remount,{option}")]
                .map(OsStr::new)
                .into_iter()
                .chain([disk.as_os_str()])
                .collect::<Vec<_>>(),
        );
    }

    /// There is room again.
    pub fn free_disk(&self) {
        std::fs::remove_file(self.filler()).ok();
        self.remount("nr_inodes=1000000");
    }

    fn filler(&self) -> PathBuf {
        self.disk
            .as_ref()
            .expect("this fault has a disk")
            .join("filler")
    }

    /// Makes a folder read-only, for root too.
    pub fn seal(&mut self, folder: &Path) {
        self.mounts
            .mount(&[OsStr::new("--bind"), folder.as_os_str()], folder);
        run(
            "mount",
            &["-o", "remount,bind,ro"]
                .map(OsStr::new)
                .into_iter()
                .chain([folder.as_os_str()])
                .collect::<Vec<_>>(),
        );
    }

    /// Takes that back.
    pub fn unseal(&mut self, folder: &Path) {
        self.mounts.unmount(folder);
    }

    /// The `git` that watchdog and its programs find is killed so long after each start.
    pub fn kill_every_git(&self, after_micros: usize) {
        let git = self.env.root().join("bin/git");
        let real = std::fs::read_link(&git).unwrap();
        std::fs::rename(&git, self.real_git()).unwrap();
        let seconds = after_micros as f64 / 1e6;
        let script = format!(
            "#!/bin/sh\nexec timeout -s KILL {seconds:.6} '{}' \"$@\"\n",
            real.display()
        );
        self.env.write("bin/git", script);
        std::fs::set_permissions(git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// Takes that back.
    pub fn let_git_live(&self) {
        std::fs::rename(self.real_git(), self.env.root().join("bin/git")).unwrap();
    }

    fn real_git(&self) -> PathBuf {
        self.env.root().join("bin/real-git")
    }
}
