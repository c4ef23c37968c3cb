"""The scripted sessions of `scripts/nightly proof`, from scripts/proof_sessions.toml, and what the proof costs them."""
import collections
import concurrent.futures
import json
import pathlib
import shutil
import sys
import time
import tomllib

import nightly_rounds as rounds
from nightly_played import Late, begin_repository, judge, must, scratch_work, sh, word_of, write


def read_runners():
    with open(rounds.ROOT / "scripts/proof_sessions.toml", "rb") as file:
        runners = tomllib.load(file)["runners"]
    return {name: about for name, about in runners.items() if all(shutil.which(of) or pathlib.Path(of).exists() for of in about.get("needs", []))}


def sessions(args):
    wanted = [(f"{kind} {runner} {name}", about, session, kind) for runner, about in read_runners().items()
              for kind in ("dishonest", "honest") for name, session in about[kind].items()]
    wanted = [entry for entry in wanted if not args.name or any(text in entry[0] for text in args.name)]
    until = time.monotonic() + args.minutes * 60

    def play(entry):
        name, about, session, kind = entry
        file = args.results / "sessions" / f"{name}.json"
        if not file.exists() and not rounds.STOPPING and time.monotonic() < until:
            try:
                row = play_session(args, about, session)
            except (Late, RuntimeError) as fault:
                if rounds.STOPPING:
                    return None
                row = {"outcome": "fault", "message": str(fault)[:500], "evidence": None}
            write(file, row)
            print(f"{name}: {word_of(row)}", flush=True)
        return json.loads(file.read_text()) | {"name": name, "kind": kind, **session} if file.exists() else None

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        rows = [row for row in pool.map(play, wanted) if row]
    counts = collections.Counter((row["kind"], word_of(row)) for row in rows)
    lines = [f"{kind}: " + ", ".join(f"{count} {word}" for (of, word), count in sorted(counts.items()) if of == kind) for kind in ("dishonest", "honest")]
    wrong = [f"{row['name']}: {word_of(row)}: {row['message']}" for row in rows if is_wrong(row)]
    write(args.results / "sessions.txt", "\n".join(lines + wrong) + "\n")
    print("\n".join(lines + wrong))
    sys.exit(1 if wrong and not args.plain else 0)


def is_wrong(row):
    """An attack that deceives where none is known to, honest work that is held or not believed."""
    word = word_of(row)
    if row["kind"] == "dishonest":
        return word == "verified" and not row.get("not_held")
    return word not in ("verified", "committed", "claimed") or (row.get("verified", False) and word != "verified")


def play_session(args, about, session, **keys):
    with scratch_work(args) as (work, env):
        begin_repository(work, env)
        for path, text in about["files"].items():
            put(work / path, text)
        must("git add -A && git commit -qm begin", work, env)
        for path, old, new in session.get("edit", []):
            text = (work / path).read_text() if old else ""
            if old not in text:
                raise RuntimeError(f"{path} has no {old}")
            put(work / path, text.replace(old, new, 1) if old else new)
        for path in session.get("remove", []):
            (work / path).unlink()
        must("git add -A && git diff --cached --binary > ../patch && git reset -q --hard", work, env)
        if args.plain:
            exit_code, said = sh(f"git apply ../patch && {about['run']}", work, env)
            return {"outcome": f"exit {exit_code}", "evidence": None, "message": said[-800:]}
        return judge(args, work, env, {"run": about["run"], **keys})


def put(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.removeprefix("\n"))


def cost(args):
    """For each suite: how long the session took without the proof, and how much longer with it."""
    about = read_runners()["pytest"]
    played = {"no changed tests": about["honest"]["fixed"], "changed tests": about["honest"]["fixed_with_a_test"]}
    lines = []
    # For a suite of ten minutes stands a shorter one that takes longer than proof_seconds, too.
    for suite, keys in ((1, {}), (30, {}), (3, {"proof_seconds": 1})):
        slow = {"tests/test_slow.py": f"import time\n\n\ndef test_slow():\n    time.sleep({suite})\n"}
        for name, session in played.items():
            spent = {}
            for proof in ("off", "auto"):
                file = args.results / "cost" / f"{suite} s, {name}, {proof}.json"
                if not file.exists():
                    write(file, play_session(args, about | {"files": about["files"] | slow}, session, proof=proof, **keys))
                spent[proof] = row = json.loads(file.read_text())
            more = row["seconds"] - spent["off"]["seconds"]
            limit = f" (proof_seconds {keys['proof_seconds']})" if keys else ""
            lines.append(f"suite of {suite} s{limit}, {name}: {spent['off']['seconds']} s without the proof, {more:.1f} s more with it: {row['evidence']}, "
                         f"old_tests {row['old_tests']}, new_tests {row['new_tests']}, canary {row['canary']}; {row['why'] or '; '.join(row['notes'])}")
            print(lines[-1], flush=True)
    write(args.results / "cost.txt", "\n".join(lines) + "\n")
