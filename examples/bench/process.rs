//! Runs whole processes side by side, and measures what each of them cost.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Result;

/// What one process cost.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    pub wall: Duration,
    /// In user and system mode together. Hardly disturbed by what else the machine does.
    pub cpu: Duration,
    pub peak_kib: i64,
}

/// What is run in turn with others, as one unit: one or several processes, one after the other.
pub struct Contender {
    pub argvs: Vec<Vec<OsString>>,
    /// Where it runs.
    pub folder: PathBuf,
    /// What it reads.
    pub input: PathBuf,
    /// What is run before each time, unmeasured.
    pub preparation: Option<Vec<OsString>>,
    /// The exit codes that mean that it did its work.
    pub codes: Vec<i32>,
}

impl Contender {
    pub fn new(folder: &Path, argv: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Contender {
            argvs: vec![argv.into_iter().map(Into::into).collect()],
            folder: folder.to_owned(),
            input: "/dev/null".into(),
            codes: vec![0],
            preparation: None,
        }
    }

    /// A git command in a repository.
    pub fn git(repo: &Path, args: &[&str]) -> Self {
        Contender::new(repo, ["git"].iter().chain(args))
    }

    /// The same, with another one after it.
    pub fn then(mut self, other: Contender) -> Self {
        self.argvs.extend(other.argvs);
        self
    }

    pub fn ends_with(mut self, code: i32) -> Self {
        self.codes = vec![code];
        self
    }

    /// The same, each time after a preparation that is not measured.
    pub fn after(mut self, preparation: Vec<OsString>) -> Self {
        self.preparation = Some(preparation);
        self
    }

    /// The same, as the arguments of another program.
    pub fn under(&self, program: &[&str]) -> Self {
        let program = program.iter().map(OsString::from);
        let argv = program.chain(self.argvs[0].iter().cloned()).collect();
        Contender {
            argvs: vec![argv],
            folder: self.folder.clone(),
            input: self.input.clone(),
            preparation: self.preparation.clone(),
            codes: self.codes.clone(),
        }
    }

    pub fn run(&self) -> Result<Cost> {
        if let Some(argv) = &self.preparation {
            measure(argv, self, &[0])?;
        }
        let mut sum = Cost {
            wall: Duration::ZERO,
            cpu: Duration::ZERO,
            peak_kib: 0,
        };
        for argv in &self.argvs {
            let cost = measure(argv, self, &self.codes)?;
            sum = Cost {
                wall: sum.wall + cost.wall,
                cpu: sum.cpu + cost.cpu,
                peak_kib: sum.peak_kib.max(cost.peak_kib),
            };
        }
        Ok(sum)
    }
}

/// Runs every contender in turn, round after round, so that what the machine does meanwhile hits all of them alike.
/// Medians of wall and CPU time, and the highest peak.
pub fn alternate<const N: usize>(contenders: &[Contender; N], rounds: usize) -> Result<[Cost; N]> {
    let mut costs: [Vec<Cost>; N] = std::array::from_fn(|_| Vec::new());
    for round in 0..rounds + 2 {
        for (contender, costs) in contenders.iter().zip(&mut costs) {
            let cost = contender.run()?;
            // The first rounds warm the caches.
            if round >= 2 {
                costs.push(cost);
            }
        }
    }
    Ok(costs.map(|costs| Cost {
        wall: median(costs.iter().map(|cost| cost.wall)),
        cpu: median(costs.iter().map(|cost| cost.cpu)),
        peak_kib: costs.iter().map(|cost| cost.peak_kib).max().unwrap_or(0),
    }))
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Runs a program to its end.
fn measure(argv: &[OsString], contender: &Contender, codes: &[i32]) -> Result<Cost> {
    let begun = Instant::now();
    let mut command = Command::new(&argv[0]);
    let child = command
        .args(&argv[1..])
        .current_dir(&contender.folder)
        .stdin(File::open(&contender.input)?)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut status = 0;
    // SAFETY: a zeroed rusage is a valid out-parameter, and the pid is that of a child that nobody else waits for.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage) < 0 {
            return Err(io::Error::last_os_error().into());
        }
        usage
    };
    if !libc::WIFEXITED(status) || !codes.contains(&libc::WEXITSTATUS(status)) {
        return Err(format!("{argv:?} ended with wait status {status:#x}").into());
    }
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    Ok(Cost {
        wall: begun.elapsed(),
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        peak_kib: usage.ru_maxrss,
    })
}
