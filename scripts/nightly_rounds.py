"""What long forms of tests share: one test of the test program is run again and again with other seeds, its counts are kept by commit, so
that a run that was cut short goes on, and the line of their sums is written into docs/reliability.md."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reliability.md"
CHILD = []
STOPPING = []


def parser(doc, unit, default):
    """The options of every such form."""
    options = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(f"--{unit}", type=int, default=default, dest="wanted")
    options.add_argument("--seed", type=int, default=1, help="of the first one")
    options.add_argument("--minutes", type=float, default=100, help="begins nothing later than this")
    options.add_argument("--restart", action="store_true", help="forgets what was played of this commit")
    return options


def commit():
    return subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], cwd=ROOT, text=True, capture_output=True).stdout.strip()


def built(target, *args):
    """Builds with cargo, and returns the program of a target."""
    args = ["cargo", *args, "--message-format", "json-render-diagnostics"]
    done = subprocess.run(args, cwd=ROOT, text=True, stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"scripts/nightly: '{target}' cannot be built")
    artifacts = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    programs = [one["executable"] for one in artifacts if one.get("executable") and one["target"]["name"] == target]
    return programs[-1]


def test_program(name="it", which=("--test", "it")):
    """Builds the tests, and returns their program."""
    return built(name, "test", "--no-run", *which)


def quick_watchdog():
    """Builds watchdog nearly as it is installed, in a fraction of the time."""
    return built("watchdog", "build", "--profile", "bench-fast", "--bin", "watchdog")


def scratch_room():
    """Where scratch folders are: in memory, where there is enough of it, unless TMPDIR names a place."""
    memory = pathlib.Path("/dev/shm")
    is_free = "TMPDIR" not in os.environ and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 << 30
    return memory if is_free else None


def run_test(program, test, env, *options):
    """Runs the test once; None where it was interrupted. What it leaves when it is killed is removed."""
    with tempfile.TemporaryDirectory(prefix="watchdog-", dir=scratch_room(), ignore_cleanup_errors=True) as scratch:
        # Some tests run programs as another user.
        os.chmod(scratch, 0o755)
        return run_test_in(scratch, program, test, env, *options)


def run_test_in(scratch, program, test, env, *options):
    began = time.monotonic()
    # In a group of its own: Ctrl-C ends it here, at once.
    with subprocess.Popen([program, "--exact", test, "--nocapture", *options], cwd=ROOT, env=dict(os.environ, TMPDIR=scratch, **env), text=True,
                          start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        CHILD.append(child)
        said, _ = child.communicate()
        CHILD.remove(child)
    if STOPPING:
        return None
    # "  count  word" below "group:".
    counts, group = {}, ""
    for line in said.splitlines():
        if found := re.fullmatch(r" +(\d+)  (.+)", line):
            counts[f"{group}: {found[2]}"] = int(found[1])
        elif line.endswith(":") and not line.startswith(" "):
            group = line[:-1]
    ok = child.returncode == 0
    return {"ok": ok, "seconds": round(time.monotonic() - began, 1), "counts": counts, "said": "" if ok else said[-20_000:]}


def play_missing(args, form, seeds, play, describe, jobs=1):
    """Plays the seeds that this commit has no result of, so many at a time, until the time is over; returns all results, by seed."""
    until = time.monotonic() + args.minutes * 60
    kept = ROOT / "target/nightly" / commit() / form
    if args.restart:
        shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True, exist_ok=True)

    def play_one(seed):
        file = kept / f"{seed}.json"
        if file.exists() or STOPPING or time.monotonic() > until or (row := play(seed)) is None:
            return
        row["seed"] = seed
        # In one step, so that a run that is killed leaves no half of a result.
        file.with_suffix(".new").write_text(json.dumps(row))
        file.with_suffix(".new").rename(file)
        print(f"{'ok' if row['ok'] else 'FAILED':7} {seed:6} {describe(row)} {row['seconds']:6.1f} s", flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(play_one, seeds))
    rows = [json.loads((kept / f"{seed}.json").read_text()) for seed in seeds if (kept / f"{seed}.json").exists()]
    if len(rows) < len(seeds):
        print("start it again to go on")
    return rows


def page(form):
    """What the page has of this form, between its marks: before, in, after."""
    begin, end = f"<!-- {form}: written by scripts/nightly {form} -->\n", f"<!-- end of {form} -->"
    before, rest = PAGE.read_text().split(begin)
    inside, after = rest.split(end)
    return before + begin, inside, end + after


def write_page(form, text):
    """The page has the first paragraph, one figure a line; target/nightly has the tables behind it."""
    head, _, tables = text.partition("\n\n")
    before, _, after = page(form)
    PAGE.write_text(before + head + "\n" + after)
    if tables:
        file = ROOT / "target/nightly" / commit() / f"{form}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
        print(f"{head}\nthe tables are in {file.relative_to(ROOT)}")


def stop(*_):
    STOPPING.append(True)
    for child in CHILD:
        os.killpg(child.pid, signal.SIGKILL)


def listen():
    """Ctrl-C and TERM end what plays; results that are there stay."""
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
