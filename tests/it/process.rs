//! Programs against real processes: their output, their limits, the end of their whole tree; and waiting for processes of others.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use watchdog_facts::evidence::ProcessExit;
use watchdog_process::{
    BoundedOutput, CancelFlag, FinishedProgram, PidWaitOutcome, ProgramRun, StartError,
    SurvivorRule, WaitPidError, reap_orphans, wait_for_pid,
};

use crate::process_scene::{Scene, alive, kill, passes_in_own_process, state, until};

/// Shorter than each grace and deadline that a fault would wait for, longer than a busy machine delays anything.
const SOON: Duration = Duration::from_secs(20);

/// A double fork and a session of its own: what a daemon does. Its pid goes to the file.
fn daemon(file: &str) -> String {
    format!("(setsid sh -c 'echo $$ > {file}; exec sleep 1000' >/dev/null 2>&1 </dev/null &); ")
}

/// Runs until `ready`, then cancels; returns how it ended and how long that took.
fn cancelled_when(program: &ProgramRun, ready: impl FnOnce()) -> (FinishedProgram, Duration) {
    let cancel = CancelFlag::new();
    std::thread::scope(|scope| {
        let runs = scope.spawn(|| program.run_cancellable(&cancel).expect("it starts"));
        ready();
        let begin = Instant::now();
        cancel.cancel();
        (runs.join().expect("no panic"), begin.elapsed())
    })
}

/// Runs a script that writes `ready` once it is: with ever longer deadlines, until one did not come too early.
fn ended_when_ready(scene: &Scene, program: &mut ProgramRun) -> FinishedProgram {
    loop {
        let finished = program.run().unwrap();
        if scene.path("ready").exists() {
            return finished;
        }
        program.deadline *= 2;
    }
}

#[test]
fn output_exit_code_and_signal_are_told_apart() {
    let scene = Scene::new();
    let finished = scene.sh("echo out; echo err >&2; exit 7").run().unwrap();
    assert_eq!(
        (finished.exit, finished.timed_out),
        (ProcessExit::Code(7), false)
    );
    assert_eq!(
        finished.stdout,
        BoundedOutput {
            bytes: b"out\n".to_vec(),
            dropped: 0
        }
    );
    assert_eq!(
        finished.stderr,
        BoundedOutput {
            bytes: b"err\n".to_vec(),
            dropped: 0
        }
    );
    assert_eq!(
        scene.sh("kill -9 $$").run().unwrap().exit,
        ProcessExit::Signal(9)
    );
    assert_eq!(
        scene.sh("kill -SEGV $$").run().unwrap().exit,
        ProcessExit::Signal(11)
    );
}

#[test]
fn bytes_outside_utf8_arrive_unchanged() {
    let scene = Scene::new();
    let bytes: Vec<u8> = (0..2_000_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let mut cat = scene.sh("cat");
    (cat.stdin, cat.keep) = (bytes.clone(), bytes.len());
    let finished = cat.run().unwrap();
    assert!(finished.stdout.bytes == bytes && finished.stdout.dropped == 0);
}

#[test]
fn long_output_keeps_its_beginning_and_end() {
    let scene = Scene::new();
    let mut program = scene.sh("seq 1 200000");
    program.keep = 100;
    let kept = program.run().unwrap().stdout;
    let all: Vec<u8> = (1..=200_000)
        .flat_map(|n| format!("{n}\n").into_bytes())
        .collect();
    assert_eq!(kept.bytes, [&all[..50], &all[all.len() - 50..]].concat());
    assert_eq!(kept.dropped, all.len() as u64 - 100);
}

#[test]
fn large_stdin_arrives_or_may_stay_unread() {
    let scene = Scene::new();
    let mut program = scene.sh("wc -c");
    program.stdin = vec![b'x'; 4 << 20];
    assert_eq!(program.run().unwrap().stdout.bytes, b"4194304\n");
    for script in ["true", "head -c 1 >/dev/null", "exec <&-; sleep 0.1"] {
        program.argv[2] = script.into();
        assert_eq!(
            program.run().unwrap().exit,
            ProcessExit::Code(0),
            "{script}"
        );
    }
    program.argv[2] = "exec sleep 100".into();
    program.deadline = Duration::from_millis(200);
    let finished = program.run().unwrap();
    assert!(
        finished.timed_out && finished.duration < SOON,
        "{:?}",
        finished.duration
    );
}

#[test]
fn programs_on_path_run_even_without_shebang() {
    let scene = Scene::new();
    let (folder, mut program) = (tempfile::tempdir().unwrap(), scene.sh("echo \"$0\""));
    assert_eq!(program.run().unwrap().stdout.bytes, b"sh\n");
    let script = folder.path().join("unsaid");
    std::fs::write(&script, "echo ran\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    program.argv = vec!["unsaid".into()];
    program
        .env
        .insert("PATH".into(), Some(folder.path().into()));
    assert_eq!(program.run().unwrap().stdout.bytes, b"ran\n");
}

#[test]
fn without_stdin_a_program_reads_its_end() {
    assert_eq!(
        Scene::new().sh("cat; echo end").run().unwrap().stdout.bytes,
        b"end\n"
    );
}

#[test]
fn deadline_asks_the_program_to_end() {
    let scene = Scene::new();
    let mut program =
        scene.sh("trap 'echo asked; exit 3' TERM; : >ready; while :; do sleep 0.05; done");
    program.deadline = Duration::from_millis(300);
    let finished = ended_when_ready(&scene, &mut program);
    assert_eq!(
        (finished.exit, finished.timed_out),
        (ProcessExit::Code(3), true)
    );
    assert_eq!(
        finished.stdout.bytes, b"asked\n",
        "what it says at its end is kept"
    );
    assert!(
        finished.duration < program.deadline + SOON,
        "{:?}",
        finished.duration
    );
    assert_eq!(scene.left(), [0_u32; 0]);
}

#[test]
fn program_ignoring_term_is_killed_after_the_grace() {
    let scene = Scene::new();
    let mut program = scene.sh(
        "trap '' TERM; (trap '' TERM; : >ready; while :; do sleep 0.05; done) & while :; do sleep 0.05; done",
    );
    (program.deadline, program.grace) = (Duration::from_millis(200), Duration::from_millis(500));
    let finished = ended_when_ready(&scene, &mut program);
    assert_eq!(
        (finished.exit, finished.timed_out),
        (ProcessExit::Signal(9), true)
    );
    let late = finished
        .duration
        .checked_sub(program.deadline + program.grace);
    assert!(late.is_some_and(|late| late < SOON), "{finished:?}");
    assert_eq!(scene.left(), [0_u32; 0]);
}

#[test]
fn a_second_cancel_takes_the_grace_period_away() {
    let scene = Scene::new();
    let program = scene.sh("trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done");
    let cancel = CancelFlag::new();
    std::thread::scope(|scope| {
        let runs = scope.spawn(|| program.run_cancellable(&cancel).unwrap());
        scene.number("pid");
        cancel.cancel();
        cancel.cancel_now();
        let finished = runs.join().unwrap();
        assert!(
            finished.exit == ProcessExit::Signal(9) && finished.duration < SOON,
            "{finished:?}"
        );
    });
}

#[test]
fn a_stopped_program_ends_at_its_deadline_too() {
    let scene = Scene::new();
    let mut program = scene.sh("kill -STOP $$");
    program.deadline = Duration::from_millis(200);
    let finished = program.run().unwrap();
    assert_eq!(
        (finished.exit, finished.timed_out),
        (ProcessExit::Signal(15), true)
    );
}

#[test]
fn daemons_end_with_the_tree_whatever_they_shed() {
    let scene = Scene::new();
    let script = daemon("plain")
        // The environment too.
        + "(setsid env -i sh -c 'echo $$ > bare; exec sleep 1000' >/dev/null 2>&1 </dev/null &); "
        // Three generations, each in a session of its own.
        + "(setsid sh -c 'setsid sh -c \"echo \\$\\$ > deep; exec sleep 1000\" & exec sleep 1000' &); "
        + "(trap '' TERM HUP; nohup sh -c 'echo $$ > nohup; exec sleep 1000' >/dev/null 2>&1 &); wait; sleep 1000";
    let mut pids = Vec::new();
    let mut program = scene.sh(&script);
    program.grace = Duration::from_secs(2);
    let (finished, took) = cancelled_when(&program, || {
        pids.extend(["plain", "bare", "deep", "nohup"].map(|file| scene.number(file)))
    });
    assert!(!finished.timed_out);
    for pid in pids {
        assert!(!alive(pid), "{pid} of {:?}", scene.left());
    }
    assert_eq!(scene.left(), [0_u32; 0]);
    assert!(took < program.grace + SOON, "{took:?}");
}

#[test]
fn forking_tree_is_killed_completely() {
    let scene = Scene::new();
    let churn = "while :; do (setsid sh -c 'trap \"\" TERM; while :; do sleep 0.3 & sleep 0.01; done' &) ; sleep 0.03; done";
    let mut program = scene.sh(churn);
    (program.deadline, program.grace) = (Duration::from_millis(400), Duration::from_millis(100));
    let finished = program.run().unwrap();
    assert!(
        finished.timed_out && finished.duration < Duration::from_millis(500) + SOON,
        "{:?}",
        finished.duration
    );
    assert_eq!(scene.left(), [0_u32; 0]);
}

#[test]
fn folder_mounted_is_seen_by_its_program_alone() {
    let scene = Scene::new();
    for (folder, text) in [("real", "real"), ("copy", "copy")] {
        std::fs::create_dir_all(scene.path(folder).join("below")).expect("ours");
        std::fs::write(scene.path(folder).join("below/file"), text).expect("ours");
    }
    let mut program =
        scene.sh("cat file; pwd; id -u; grep -c '^CapEff:.*[1-9a-f]' /proc/self/status");
    program.cwd = scene.path("real/below");
    let plain = program.run().expect("it starts").stdout.bytes;
    program.mounted = Some((scene.path("copy"), scene.path("real")));
    match program.run() {
        Ok(finished) => {
            let seen = String::from_utf8_lossy(&finished.stdout.bytes).into_owned();
            let expected = String::from_utf8_lossy(&plain).replacen("real", "copy", 1);
            assert_eq!(seen, expected);
        }
        // A machine that makes no such namespace says just that.
        Err(error) => assert!(error.is_not_mounted(), "{error}"),
    }
    let file = std::fs::read_to_string(scene.path("real/below/file"));
    assert_eq!(file.expect("ours"), "real");
}

#[test]
fn daemon_holding_the_output_survives_without_delaying_us() {
    let scene = Scene::new();
    let program =
        scene.sh("(while [ ! -e go ]; do sleep 0.02; done; echo late; echo late >&2; echo $? > written; exec sleep 1000) & echo done");
    let (finished, survivors) = program
        .run_with(&CancelFlag::new(), SurvivorRule::Leave)
        .unwrap();
    assert_eq!(
        (finished.exit, &finished.stdout.bytes[..]),
        (ProcessExit::Code(0), &b"done\n"[..])
    );
    assert!(finished.duration < SOON, "{:?}", finished.duration);
    assert!(
        survivors
            .iter()
            .any(|survivor| alive(survivor.pid) && survivor.name == "sh"),
        "{survivors:?}"
    );
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(scene.number("written"), 0, "its output is still taken");
    // While a process becomes another program, nothing shows whose it is.
    until("the daemon goes on", || !scene.left().is_empty());
    scene.clear();
}

#[test]
fn endlessly_writing_daemon_causes_no_delay() {
    let scene = Scene::new();
    let finished = scene.sh("yes & echo $! > pid").run().unwrap();
    assert!(
        finished.exit.success() && finished.duration < SOON,
        "{:?}",
        finished.duration
    );
    assert!(alive(scene.number("pid")));
    scene.clear();
}

#[test]
fn leftover_processes_are_ended_on_request() {
    let scene = Scene::new();
    let program =
        scene
            .sh(&(daemon("daemon")
                + "while [ ! -e daemon ]; do sleep 0.01; done; sleep 1000 & exit 4"));
    let (finished, survivors) = program
        .run_with(&CancelFlag::new(), SurvivorRule::End)
        .unwrap();
    assert_eq!(
        (finished.exit, survivors),
        (ProcessExit::Code(4), Vec::new())
    );
    assert_eq!(scene.left(), [0_u32; 0]);
}

#[test]
fn ending_one_program_spares_the_other() {
    let (one, other) = (Scene::new(), Scene::new());
    // The second daemon has nothing of the tree left: no parent, group, session or environment.
    let script = daemon("daemon")
        + "(setsid env -i sh -c 'echo $$ > bare; exec sleep 1000' >/dev/null 2>&1 </dev/null &); sleep 1000 & echo $! > child; wait";
    let (first, second) = (one.sh(&script), other.sh(&script));
    let mut seen = Vec::new();
    let (finished, _) = cancelled_when(&second, || {
        let kept = ["daemon", "bare", "child"].map(|file| other.number(file));
        cancelled_when(&first, || {
            ["daemon", "bare", "child"]
                .into_iter()
                .for_each(|file| assert!(alive(one.number(file))))
        });
        assert!(one.left().is_empty() && !alive(one.number("bare")));
        seen.extend(kept.map(alive));
    });
    assert_eq!(
        (finished.exit, seen),
        (ProcessExit::Signal(15), vec![true; 3])
    );
    assert!(other.left().is_empty() && !alive(other.number("bare")));
}

#[test]
fn thousand_children_leak_no_process_descriptor_or_thread() {
    let scene = Scene::new();
    passes_in_own_process("process::a_thousand_short_children", &scene.path("."), &[]);
}

#[test]
#[ignore = "runs in a process of its own, by the test above"]
fn a_thousand_short_children() {
    let scene = Scene::new();
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    let program = scene.sh("i=0; while [ $i -lt 10 ]; do (setsid true &); (sleep 0.0$i >/dev/null 2>&1 &); i=$((i+1)); done");
    program.run().unwrap();
    let (descriptors, threads) = (count("/proc/self/fd"), count("/proc/self/task"));
    (0..50).for_each(|_| assert!(program.run().unwrap().exit.success()));
    let own = std::process::id();
    until("no child is left, dead or alive", || {
        reap_orphans();
        let children = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let listed: String = children
            .map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default())
            .collect();
        listed.split_whitespace().all(|pid| {
            pid.parse::<u32>()
                .is_ok_and(|pid| state(pid).is_none() && pid != own)
        })
    });
    // The first run's own may have been counted before they were closed.
    let is_back = || count("/proc/self/task") <= threads && count("/proc/self/fd") <= descriptors;
    until("threads and descriptors have ended", is_back);
}

#[test]
fn unrunnable_program_differs_from_a_refusing_system() {
    let scene = Scene::new();
    let write = |name: &str, text: &str, mode: u32| {
        std::fs::write(scene.path(name), text).unwrap();
        std::fs::set_permissions(scene.path(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    write("plain", "#!/bin/sh\n", 0o644);
    write("orphaned", "#!/no/such/interpreter\n", 0o755);
    write("binary", "\x7fELF nonsense", 0o755);
    write("good", "#!/bin/sh\necho \"$0\"\n", 0o755);
    let run = |program: &str| ProgramRun::new([program], scene.path(".")).run();
    let cases = [
        ("no-such-program-anywhere", "PATH"),
        ("./missing", "no such file"),
        ("./plain", "chmod +x"),
        ("./orphaned", "interpreter"),
        ("./binary", "#!"),
        ("/", "folder"),
        ("./plain/x", "not a folder"),
        ("", "no program"),
    ];
    for (program, expected) in cases {
        match run(program) {
            Err(StartError::NotRunnable {
                program: named,
                why,
            }) => assert!(
                named == program && why.contains(expected),
                "{program}: {why}"
            ),
            other => panic!("{program}: {other:?}"),
        }
    }
    assert!(
        run("./good").unwrap().exit.success(),
        "a relative path is meant from the folder of the program"
    );

    let long = ProgramRun::new(["true".to_string(), "x".repeat(8 << 20)], scene.path("."))
        .run()
        .unwrap_err();
    assert!(
        matches!(&long, StartError::System { source, .. } if source.to_string().contains("too long")),
        "{long:?}"
    );
    let nowhere = ProgramRun::new(["true"], scene.path("nowhere"))
        .run()
        .unwrap_err();
    assert!(
        matches!(&nowhere, StartError::System { source, .. } if source.to_string().contains("nowhere")),
        "{nowhere:?}"
    );
    assert!(matches!(
        ProgramRun::new(["a\0b"], scene.path(".")).run(),
        Err(StartError::System { .. })
    ));
}

#[test]
fn git_redirecting_variables_are_set_but_never_inherited() {
    let scene = Scene::new();
    let env = [
        ("GIT_DIR", "/elsewhere"),
        ("GIT_INDEX_FILE", "/elsewhere/index"),
        ("GIT_AUTHOR_NAME", "A"),
        ("SEEN", "1"),
    ];
    passes_in_own_process(
        "process::the_environment_of_a_program",
        &scene.path("."),
        &env,
    );
}

#[test]
#[ignore = "runs in a process of its own, by the test above"]
fn the_environment_of_a_program() {
    let scene = Scene::new();
    let mut program = scene.sh("echo $GIT_DIR,$GIT_INDEX_FILE,$GIT_AUTHOR_NAME,$SEEN,$SET");
    program.env.extend([
        ("GIT_INDEX_FILE".into(), Some("/own".into())),
        ("SEEN".into(), None),
        ("SET".into(), Some("2".into())),
    ]);
    assert_eq!(std::env::var("GIT_DIR").as_deref(), Ok("/elsewhere"));
    assert_eq!(
        String::from_utf8_lossy(&program.run().unwrap().stdout.bytes),
        ",/own,A,,2\n"
    );
}

#[test]
fn end_of_a_foreign_process_is_noticed() {
    let scene = Scene::new();
    let none = CancelFlag::new();
    let (_, _) = cancelled_when(
        &scene.sh("sleep 1000 & echo $! > pid; wait; sleep 1000"),
        || {
            let pid = scene.number("pid");
            assert_eq!(
                wait_for_pid(pid, &none, Some(Duration::from_millis(50))).unwrap(),
                PidWaitOutcome::TimedOut
            );
            let cancel = CancelFlag::new();
            cancel.cancel();
            assert_eq!(
                wait_for_pid(pid, &cancel, None).unwrap(),
                PidWaitOutcome::Cancelled
            );
            std::thread::scope(|scope| {
                let waits = scope
                    .spawn(|| wait_for_pid(pid, &none, Some(Duration::from_secs(60))).unwrap());
                until("it is waited for", || {
                    std::fs::read_dir("/proc/self/fd")
                        .unwrap()
                        .flatten()
                        .any(|fd| is_pidfd_of(&fd.path(), pid))
                });
                kill(pid);
                assert_eq!(waits.join().unwrap(), PidWaitOutcome::Ended);
            });
            until("it was reaped", || state(pid).is_none());
            assert_eq!(
                wait_for_pid(pid, &none, None).unwrap(),
                PidWaitOutcome::NotRunning
            );
        },
    );
    assert!(matches!(
        wait_for_pid(0, &none, None),
        Err(WaitPidError::NotAPid { pid: 0 })
    ));
    assert!(matches!(
        wait_for_pid(u32::MAX, &none, None),
        Err(WaitPidError::NotAPid { .. })
    ));
    assert!(matches!(
        wait_for_pid(std::process::id(), &none, None),
        Err(WaitPidError::Own { .. })
    ));
    assert_eq!(
        wait_for_pid(1, &none, Some(Duration::from_millis(10))).unwrap(),
        PidWaitOutcome::TimedOut
    );
}

fn is_pidfd_of(fd: &std::path::Path, pid: u32) -> bool {
    let name = fd
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    std::fs::read_to_string(format!("/proc/self/fdinfo/{name}"))
        .is_ok_and(|text| text.lines().any(|line| line == format!("Pid:\t{pid}")))
}

#[test]
fn reused_pid_never_prolongs_the_wait() {
    let scene = Scene::new();
    // Linux lets root choose the next pid. Where it does not, or others are quicker in all rounds, there is nothing to show.
    let reuse = "n=0; while [ $n -lt 50 ]; do n=$((n+1)); sleep 1000 & p=$!; echo $p > pid.new; mv pid.new pid.$n; \
                 while [ ! -e go.$n ]; do :; done; kill -9 $p; wait $p 2>/dev/null; \
                 echo $((p-1)) 2>/dev/null > /proc/sys/kernel/ns_last_pid || exit; sleep 1000 & [ $! = $p ] && { echo $p > reused; wait; }; done";
    let cancel = CancelFlag::new();
    let program = scene.sh(reuse);
    std::thread::scope(|scope| {
        let runs = scope.spawn(|| program.run_cancellable(&cancel).unwrap());
        for round in 1.. {
            until("the next round", || {
                scene.path(&format!("pid.{round}")).exists() || runs.is_finished()
            });
            if runs.is_finished() {
                return eprintln!("skipped: no pid could be chosen");
            }
            let pid = scene.number(&format!("pid.{round}"));
            let waits = scope.spawn(move || {
                wait_for_pid(pid, &CancelFlag::new(), Some(Duration::from_secs(60))).unwrap()
            });
            until("it is waited for", || {
                std::fs::read_dir("/proc/self/fd")
                    .unwrap()
                    .flatten()
                    .any(|fd| is_pidfd_of(&fd.path(), pid))
            });
            std::fs::write(scene.path(&format!("go.{round}")), "").unwrap();
            assert_eq!(waits.join().unwrap(), PidWaitOutcome::Ended);
            until("reused or next", || {
                scene.path("reused").exists()
                    || scene.path(&format!("pid.{}", round + 1)).exists()
                    || runs.is_finished()
            });
            if scene.path("reused").exists() {
                assert!(alive(pid), "another process has the pid");
                break;
            }
        }
        cancel.cancel();
    });
    assert_eq!(scene.left(), [0_u32; 0]);
}
