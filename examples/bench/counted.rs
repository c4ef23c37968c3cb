//! Counts what a process does instead of timing it: system calls with strace, instructions with valgrind.

use std::fs;
use std::io;
use std::path::Path;

use super::Result;
use super::process::Contender;

/// Calls whose number depends on when threads meet and how memory is given: all but these are counted.
const UNCOUNTED: &str = "trace=!futex,epoll_wait,epoll_pwait,clock_nanosleep,poll,ppoll,sched_yield,restart_syscall,rt_sigreturn,madvise,brk,mmap,munmap,mprotect,mremap";

/// The system calls of a process and of those that it starts.
pub fn count_calls(run: &Contender, scratch: &Path) -> Result<f64> {
    let path = scratch.join("calls");
    let table = path.to_str().ok_or("a UTF-8 path")?;
    let strace = [
        "strace",
        "-f",
        "-qq",
        "-c",
        "--seccomp-bpf",
        "-e",
        UNCOUNTED,
        "-o",
        table,
    ];
    run.under(&strace).run()?;
    let table = fs::read_to_string(&path)?;
    let total = table
        .lines()
        .last()
        .and_then(|line| line.split_whitespace().nth(3));
    Ok(total.ok_or("strace wrote no sum")?.parse()?)
}

/// The instructions of a process, without those that it starts.
pub fn count_instructions(run: &Contender, scratch: &Path) -> Result<f64> {
    let counts = scratch.join("instructions");
    let option = format!("--cachegrind-out-file={}", counts.display());
    run.under(&["valgrind", "--tool=cachegrind", "--cache-sim=no", &option])
        .run()?;
    let counts = fs::read_to_string(counts)?;
    let sum = counts
        .lines()
        .last()
        .and_then(|line| line.strip_prefix("summary: "));
    Ok(sum.ok_or("valgrind wrote no sum")?.trim().parse()?)
}

/// Lets prctl(PR_GET_AUXV) fail in all processes from here on: it names a vDSO that valgrind has taken away, and watchdog would crash in it.
pub fn hide_auxv() -> Result<()> {
    const PR_GET_AUXV: u32 = 0x4155_5856;
    let step = |code: u32, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let (load, equal, answer) = (
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        libc::BPF_RET | libc::BPF_K,
    );
    let mut steps = [
        step(load, 0, 0, 0),
        step(equal, 0, 3, libc::SYS_prctl as u32),
        step(load, 0, 0, 16),
        step(equal, 0, 1, PR_GET_AUXV),
        step(answer, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EINVAL as u32),
        step(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: 6,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: the program and its steps live until the kernel has copied them.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) != 0
    };
    if failed {
        Err(io::Error::last_os_error().into())
    } else {
        Ok(())
    }
}
