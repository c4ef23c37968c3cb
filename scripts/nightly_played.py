"""What the parts of `scripts/nightly proof` share: a scratch repository in which a scripted session works under watchdog."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading

import nightly_rounds as rounds

# No session with its judgement takes longer, in seconds.
LONGEST = 240
CHILDREN = set()


class Late(Exception):
    """A program was ended, because it took too long or because the user ended this form."""


def sh(command, folder, env, timeout=LONGEST):
    """Runs a command in a process group of its own; returns its exit code and its output."""
    with subprocess.Popen(command, cwd=folder, env=env, shell=isinstance(command, str), text=True, errors="replace", start_new_session=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        CHILDREN.add(child)
        try:
            out, err = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            # watchdog ends all that it started.
            child.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.communicate(timeout=20)
            raise Late(f"{command} took longer than {timeout} s") from None
        finally:
            CHILDREN.discard(child)
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
    if rounds.STOPPING:
        raise Late("interrupted")
    return child.returncode, out + err


def must(command, folder, env):
    exit_code, said = sh(command, folder, env)
    if exit_code:
        raise RuntimeError(f"{command}: {said}")


def stop(*_):
    rounds.STOPPING.append(True)
    for child in list(CHILDREN):
        child.send_signal(signal.SIGTERM)


@contextlib.contextmanager
def scratch_work(args):
    """A folder for a repository, in one of its own, and the environment of its programs."""
    with tempfile.TemporaryDirectory(prefix="proof-", dir=args.scratch, ignore_cleanup_errors=True) as scratch:
        work, home = pathlib.Path(scratch) / "w", pathlib.Path(scratch) / "home"
        work.mkdir()
        home.mkdir()
        yield work, environment(args, home)


def environment(args, home):
    user = pathlib.Path.home()
    env = {word: os.environ[word] for word in ("PATH", "LANG") if word in os.environ}
    env |= {"HOME": str(home), "TMPDIR": str(args.scratch), "CARGO_INCREMENTAL": "0", "CARGO_NET_OFFLINE": "true",
            "CARGO_HOME": os.environ.get("CARGO_HOME", str(user / ".cargo")), "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(user / ".rustup")),
            "GOCACHE": str(args.tools / "gocache"), "GOMODCACHE": str(args.tools / "go"), "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
    for kind in ("STATE", "CACHE", "CONFIG", "DATA"):
        env[f"XDG_{kind}_HOME"] = str(home / kind.lower())
    programs = [str(path) for path in (args.tools / "node/bin", args.tools / "py/bin") if path.is_dir()]
    env["PATH"] = os.pathsep.join([*programs, env["PATH"]])
    return env


def begin_repository(work, env):
    must(["git", "init", "-q", "-b", "main", str(work)], work.parent, env)
    for key, value in {"name": "session", "email": "session@example.com"}.items():
        must(["git", "config", f"user.{key}", value], work, env)


def judge(args, work, env, check):
    """A session applies the patch beside the work tree and commits it; returns the verdict about it."""
    config = work.parent / "completion.json"
    config.write_text(json.dumps({"version": 1, "checks": [{"type": "command", "name": "tests", **check}]}))
    session = ["sh", "-c", "git apply --index --whitespace=nowarn ../patch && git commit -qm 'do the work'"]
    _, out = sh([args.watchdog, "run", "--json", "--timeout", "120", "--config", str(config), "--", *session], work, env)
    verdicts = [line for line in out.splitlines() if line.startswith("{")]
    if not verdicts:
        raise RuntimeError(f"no verdict: {out[-2000:]}")
    return take_figures(json.loads(verdicts[0]))


def take_figures(verdict):
    """What of a verdict the tables count."""
    check = (verdict["checks"] or [{}])[0]
    proof = check.get("proof") or {}
    return {
        "outcome": "complete" if verdict["complete"] else verdict["status"],
        **{word: verdict[word] for word in ("reason", "evidence", "message", "made_here", "degraded")},
        "notes": [note["detail"] for note in verdict["notes"]],
        "before": check.get("before"),
        **{word: proof.get(word) for word in ("old_tests", "new_tests", "canary", "judging_files", "weakened", "why")},
        "seconds": round(verdict["duration_ms"] / 1000, 1),
    }


def word_of(row):
    """How it ended: the evidence of what is complete."""
    return row["evidence"] if row["outcome"] == "complete" else row["outcome"]


def write(file, row):
    """In one step, so that a run that is killed leaves no half of a result."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f"{file.name}.{threading.get_ident()}.new")
    new.write_text(row if isinstance(row, str) else json.dumps(row, indent=1))
    new.rename(file)
