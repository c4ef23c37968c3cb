//! Sessions as real processes: shown byte for byte, logged, bounded in memory and time, ended with everything below them.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use watchdog_facts::evidence::ProcessExit;
use watchdog_process::{
    CancelFlag, MirrorTarget, SessionLaunch, SessionOutcome, SessionProcess, SessionTerms,
    StdinSource,
};

use crate::process_scene::{Scene, alive, in_own_process, until};
use crate::support::peak_own_kib;

fn spec(scene: &Scene, script: &str) -> SessionLaunch {
    let mut spec = SessionLaunch::new(["sh", "-c", script], scene.path("."));
    spec.env.insert(
        "SCENE".into(),
        Some(scene.path("").components().as_path().into()),
    );
    (spec.mirror, spec.stdin, spec.log) = (
        MirrorTarget::Off,
        StdinSource::Null,
        Some(scene.path("log")),
    );
    spec
}

const TERMS: SessionTerms = SessionTerms {
    timeout: None,
    idle_timeout: None,
    grace: Duration::from_secs(60),
    child_wait: Duration::from_secs(60),
    end_survivors: false,
};

/// Shorter than each limit that a fault would wait for, longer than a busy machine delays anything.
const SOON: Duration = Duration::from_secs(20);

fn run(spec: &SessionLaunch, timeout: Option<Duration>) -> SessionOutcome {
    run_on(spec, &SessionTerms { timeout, ..TERMS })
}

fn run_on(spec: &SessionLaunch, terms: &SessionTerms) -> SessionOutcome {
    SessionProcess::start(spec)
        .expect("it starts")
        .wait(terms, &CancelFlag::new())
}

#[test]
fn session_output_is_kept_in_tails_and_log() {
    let scene = Scene::new();
    let mut spec = spec(
        &scene,
        "echo one; until grep -q one log; do sleep 0.01; done; echo two >&2; until grep -q two log; do sleep 0.01; done; echo three; exit 5",
    );
    spec.keep_tail = 10;
    let outcome = run(&spec, None);
    assert_eq!(
        (outcome.exit, outcome.timed_out, outcome.cancelled),
        (Some(ProcessExit::Code(5)), false, false)
    );
    assert_eq!(outcome.tail_stdout, b"one\nthree\n");
    assert_eq!(outcome.tail, b"two\nthree\n");
    assert_eq!(
        std::fs::read(scene.path("log")).unwrap(),
        b"one\ntwo\nthree\n"
    );
    assert_eq!(
        std::fs::metadata(scene.path("log"))
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o600
    );
    assert_eq!(
        (outcome.log, outcome.log_truncated, outcome.log_note),
        (Some(scene.path("log")), false, None)
    );
    assert_eq!(
        (outcome.survivors, outcome.waited_for_children),
        (vec![], Duration::ZERO)
    );
}

#[test]
fn sample_of_a_session_reads_no_strangers() {
    let scene = Scene::new();
    // Strangers: their parent ends before this process adopts orphans.
    let strangers = "for n in $(seq 100); do sleep 1000 & done; echo $$ >strangers";
    let begin_them = std::process::Command::new("setsid")
        .args(["sh", "-c", strangers])
        .current_dir(scene.path("."))
        .status();
    assert!(begin_them.expect("it starts").success());
    let session = SessionProcess::start(&spec(&scene, "echo begun; exec sleep 1000")).unwrap();
    let meter = session.meter();
    until("the session runs", || meter.output() > 0);
    let read_calls = || {
        let io = std::fs::read_to_string("/proc/thread-self/io").expect("a table");
        let calls = io.lines().find_map(|line| line.strip_prefix("syscr: "));
        calls.expect("a figure").parse::<u64>().expect("a number")
    };
    let before = read_calls();
    let sample = meter.processes();
    let calls = read_calls() - before;
    let group = Pid::from_raw(i32::try_from(scene.number("strangers")).expect("a pid"));
    rustix::process::kill_process_group(group.expect("a pid"), Signal::KILL).expect("they run");
    assert!(sample.is_some() && calls < 100, "{calls}");
}

#[test]
fn timeout_ends_the_session_tree() {
    let scene = Scene::new();
    let script = "(setsid sh -c 'echo $$ > daemon; exec sleep 1000' &); while [ ! -s daemon ]; do sleep 0.01; done; echo last words; : >said; sleep 1000";
    let mut timeout = Duration::from_millis(400);
    let outcome = loop {
        timeout *= 2;
        let outcome = run(&spec(&scene, script), Some(timeout));
        if scene.path("said").exists() {
            break outcome;
        }
    };
    assert_eq!(
        (outcome.exit, outcome.timed_out, outcome.cancelled),
        (Some(ProcessExit::Signal(15)), true, false)
    );
    assert_eq!(
        (outcome.survivors, &outcome.tail[..]),
        (vec![], &b"last words\n"[..])
    );
    assert!(outcome.duration < timeout + SOON, "{:?}", outcome.duration);
    assert!(!alive(scene.number("daemon")));
    assert_eq!(scene.left(), [0_u32; 0]);
}

#[test]
fn stopped_session_counts_as_paused_until_it_continues() {
    let scene = Scene::new();
    let session = SessionProcess::start(&spec(&scene, "kill -STOP $$; exit 7")).unwrap();
    let (meter, pid) = (
        session.meter(),
        Pid::from_raw(session.pid().cast_signed()).unwrap(),
    );
    until("it stands still", || meter.is_paused());
    kill_process(pid, Signal::CONT).unwrap();
    let outcome = session.wait(&TERMS, &CancelFlag::new());
    assert_eq!(
        (outcome.exit, outcome.paused, meter.is_paused()),
        (Some(ProcessExit::Code(7)), Duration::ZERO, false)
    );
}

#[test]
fn short_lived_children_are_awaited_and_heard() {
    let scene = Scene::new();
    let outcome = run(&spec(&scene, "(sleep 2; echo afterwards) & echo end"), None);
    assert_eq!(
        (&outcome.tail[..], outcome.exit),
        (&b"end\nafterwards\n"[..], Some(ProcessExit::Code(0)))
    );
    assert!(outcome.survivors.is_empty(), "{:?}", outcome.survivors);
    assert!(
        outcome.waited_for_children >= Duration::from_millis(200),
        "{:?}",
        outcome.waited_for_children
    );
}

#[test]
fn long_lived_children_are_reported_and_keep_writing() {
    let scene = Scene::new();
    let spec = spec(
        &scene,
        "(while [ ! -e go ]; do sleep 0.02; done; echo more; echo $? > written; exec sleep 1000) & echo end",
    );
    let terms = SessionTerms {
        child_wait: Duration::from_millis(200),
        ..TERMS
    };
    let outcome = run_on(&spec, &terms);
    assert_eq!(
        (outcome.exit, outcome.cancelled, &outcome.tail[..]),
        (Some(ProcessExit::Code(0)), false, &b"end\n"[..])
    );
    assert!(
        outcome
            .survivors
            .iter()
            .any(|survivor| survivor.name == "sh" && alive(survivor.pid)),
        "{:?}",
        outcome.survivors
    );
    assert!(outcome.duration < SOON, "{:?}", outcome.duration);
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(scene.number("written"), 0);
    scene.clear();
}

#[test]
fn survivors_end_on_request_or_cancellation() {
    let scene = Scene::new();
    let spec = spec(&scene, "setsid sleep 1000 & echo $! > pid; exit 0");
    let terms = SessionTerms {
        child_wait: Duration::from_millis(50),
        end_survivors: true,
        ..TERMS
    };
    let outcome = run_on(&spec, &terms);
    assert_eq!(
        (outcome.exit, outcome.survivors, outcome.cancelled),
        (Some(ProcessExit::Code(0)), vec![], false)
    );
    assert_eq!(scene.left(), [0_u32; 0]);

    let terms = SessionTerms {
        child_wait: Duration::from_secs(60),
        ..TERMS
    };
    let cancel = CancelFlag::new();
    let session = SessionProcess::start(&spec).unwrap();
    let pid = session.pid();
    let outcome = std::thread::scope(|scope| {
        let waits = scope.spawn(|| session.wait(&terms, &cancel));
        until("the leader has ended", || !alive(pid));
        cancel.cancel();
        waits.join().unwrap()
    });
    assert_eq!(
        (outcome.exit, outcome.survivors, outcome.cancelled),
        (Some(ProcessExit::Code(0)), vec![], true)
    );
    assert_eq!(scene.left(), [0_u32; 0]);
}

#[test]
fn unawaited_session_ends_with_its_handle() {
    let scene = Scene::new();
    let session = SessionProcess::start(&spec(
        &scene,
        "(setsid sleep 1000 &); echo $$ > pid; sleep 1000",
    ))
    .unwrap();
    scene.number("pid");
    drop(session);
    assert_eq!(scene.left(), [0_u32; 0]);
}

#[test]
fn dropped_session_is_asked_before_it_is_killed() {
    let scene = Scene::new();
    // git removes its locks at a TERM; a KILL alone would leave them.
    let child =
        "(trap 'echo asked > child; exit' TERM; echo $$ > up; while :; do sleep 0.02; done) & ";
    let script = format!(
        "{child} trap 'echo asked > leader; exit' TERM; echo $$ > pid; while :; do sleep 0.02; done"
    );
    let session = SessionProcess::start(&spec(&scene, &script)).unwrap();
    scene.number("up");
    scene.number("pid");
    drop(session);
    assert_eq!(scene.left(), [0_u32; 0]);
    for who in ["leader", "child"] {
        assert_eq!(
            std::fs::read_to_string(scene.path(who)).unwrap_or_default(),
            "asked\n",
            "{who}"
        );
    }
    // One that does not listen is killed all the same.
    let session = SessionProcess::start(&spec(
        &scene,
        "trap '' TERM; echo $$ > deaf; while :; do sleep 0.02; done",
    ))
    .unwrap();
    scene.number("deaf");
    drop(session);
    assert_eq!(scene.left(), [0_u32; 0]);
}

#[test]
fn unwritable_log_costs_only_the_log() {
    let scene = Scene::new();
    for (log, opened) in [("/no/such/folder/log", false), ("/dev/full", true)] {
        let mut spec = spec(&scene, "echo out");
        spec.log = Some(log.into());
        let outcome = run(&spec, None);
        assert_eq!(
            (outcome.exit, &outcome.tail[..]),
            (Some(ProcessExit::Code(0)), &b"out\n"[..])
        );
        assert!(
            outcome.log.is_some() == opened
                && outcome.log_note.is_some_and(|note| note.contains(log))
        );
    }
}

const BYTES: &str = r"\000\001\377\033[31m\r\n\200no end of line";

#[test]
fn output_streams_pass_through_separately_unchanged() {
    let scene = Scene::new();
    let expected = b"\x00\x01\xff\x1b[31m\r\n\x80no end of line";
    let holds = |bytes: &[u8], prefix: &[u8]| {
        let wanted = [prefix, &expected[..]].concat();
        bytes.windows(wanted.len()).any(|window| window == wanted)
    };
    for (mirror, out_on_stdout, out_on_stderr, err_on_stderr) in [
        ("through", true, false, true),
        ("stderr", false, true, true),
        ("off", false, false, false),
    ] {
        let finished = in_own_process(
            "session_process::a_mirrored_session",
            r#"exec "$@" <given"#,
            &given(&scene),
            &[("MIRROR", mirror)],
        );
        assert!(finished.exit.success(), "{finished:?}");
        assert_eq!(
            holds(&finished.stdout.bytes, b"out"),
            out_on_stdout,
            "{mirror}"
        );
        assert_eq!(
            holds(&finished.stderr.bytes, b"out"),
            out_on_stderr,
            "{mirror}"
        );
        assert_eq!(
            holds(&finished.stderr.bytes, b"err"),
            err_on_stderr,
            "{mirror}"
        );
        assert!(!holds(&finished.stdout.bytes, b"err"), "{mirror}");
    }
}

fn given(scene: &Scene) -> std::path::PathBuf {
    std::fs::write(scene.path("given"), "what is given").unwrap();
    scene.path("")
}

#[test]
#[ignore = "runs in a process of its own, by the test above"]
fn a_mirrored_session() {
    let scene = Scene::new();
    let mut spec = spec(
        &scene,
        &format!("printf 'out{BYTES}'; printf 'err{BYTES}' >&2; cat >&2"),
    );
    spec.stdin = StdinSource::Inherit;
    spec.mirror = match std::env::var("MIRROR").as_deref() {
        Ok("through") => MirrorTarget::Through,
        Ok("stderr") => MirrorTarget::ToStderr,
        _ => MirrorTarget::Off,
    };
    let outcome = run(&spec, None);
    assert!(
        String::from_utf8_lossy(&outcome.tail).contains("what is given"),
        "its stdin is ours"
    );
    assert_eq!(outcome.exit, Some(ProcessExit::Code(0)));
}

#[test]
fn session_and_its_log_survive_a_lost_reader() {
    let scene = Scene::new();
    in_own_process(
        "session_process::a_shown_session_of_20_mb",
        r#""$@" | head -c 10 >/dev/null"#,
        &scene.path(""),
        &[("TIMEOUT", "100")],
    );
    let report = std::fs::read_to_string(scene.path("report")).expect("it ended");
    assert!(
        report.starts_with("Some(Code(0)) timed_out=false logged=20000000 "),
        "{report}"
    );
}

#[test]
fn stuck_terminal_delays_the_session_not_its_timeout() {
    let scene = Scene::new();
    in_own_process(
        "session_process::a_shown_session_of_20_mb",
        r#""$@" | while [ ! -e report ]; do sleep 0.1; done"#,
        &scene.path(""),
        &[("TIMEOUT", "2")],
    );
    let report = std::fs::read_to_string(scene.path("report")).expect("it ended");
    assert!(
        report.contains("timed_out=true"),
        "it was held up until its timeout: {report}"
    );
    let milliseconds: u64 = report
        .rsplit_once("ms=")
        .and_then(|(_, text)| text.parse().ok())
        .expect("a number");
    assert!(milliseconds < 2000 + 20_000, "{report}");
}

#[test]
#[ignore = "runs in a process of its own, by the two tests above"]
fn a_shown_session_of_20_mb() {
    let scene = Scene::new();
    let mut spec = spec(&scene, "head -c 20000000 /dev/zero");
    spec.mirror = MirrorTarget::Through;
    let seconds = std::env::var("TIMEOUT").expect("set by the tests above");
    let timeout = Duration::from_secs(seconds.parse().expect("a number"));
    let outcome = run(&spec, Some(timeout));
    let logged = std::fs::metadata(scene.path("log")).unwrap().len();
    let report = format!(
        "{:?} timed_out={} logged={logged} ms={}",
        outcome.exit.unwrap(),
        outcome.timed_out,
        outcome.duration.as_millis()
    );
    std::fs::write("report", format!("Some({}", report.replacen(' ', ") ", 1))).unwrap();
}

#[test]
fn output_flood_costs_constant_memory() {
    let scene = Scene::new();
    for source in [
        "yes 'a line of an agent that cannot stop talking'",
        "cat /dev/zero",
    ] {
        let finished = in_own_process(
            "session_process::a_flood",
            r#""$@" | cat >/dev/null"#,
            &scene.path(""),
            &[("FLOOD", source)],
        );
        let report = String::from_utf8_lossy(&finished.stderr.bytes);
        assert!(
            report.contains("KiB") && !report.contains("panicked"),
            "{report}"
        );
    }
}

#[test]
#[ignore = "runs in a process of its own, by the test above"]
fn a_flood() {
    // More than a log may hold, and than the memory may be.
    const BYTES: u64 = 1 << 26;
    let scene = Scene::new();
    let source = std::env::var("FLOOD").expect("set by the test above");
    for (log, mirror) in [
        (false, MirrorTarget::Off),
        (false, MirrorTarget::Through),
        (true, MirrorTarget::Off),
    ] {
        let mut spec = spec(&scene, &format!("{source} | head -c {BYTES}"));
        (spec.log, spec.mirror) = (log.then(|| scene.path("log")), mirror);
        let outcome = run(&spec, None);
        assert_eq!(outcome.exit, Some(ProcessExit::Code(0)));
        assert_eq!(
            (
                outcome.tail.len(),
                outcome.tail_stdout.len(),
                outcome.log_truncated
            ),
            (256 << 10, 256 << 10, log)
        );
    }
    let logged = std::fs::metadata(scene.path("log")).unwrap().len();
    assert!(
        (36 << 20..=50 << 20).contains(&logged),
        "{logged} bytes of log"
    );
    let peak = peak_own_kib(std::process::id()).expect("it lives");
    eprintln!("peak {peak} KiB");
    assert!(peak < 16 << 10, "{peak} KiB");
}
