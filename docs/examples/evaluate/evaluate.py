"""Asks watchdog whether the work in a worktree is done.

    python3 evaluate.py WORKTREE "the agent's last text"

Prints the verdict in words and ends with watchdog's exit code. Needs Python 3.8, watchdog_types.py
beside it, and watchdog in PATH (or in $WATCHDOG).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from watchdog_types import Context, Verdict, VerdictStatus


def evaluate(worktree: str, context: Context) -> Verdict:
    """Judges the checks of the worktree's completion.json. Raises where there is no verdict at all."""
    done = subprocess.run(
        [os.environ.get("WATCHDOG", "watchdog"), "-C", worktree, "evaluate", "--json"],
        input=json.dumps(context),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if not done.stdout:
        raise RuntimeError(f"watchdog ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


# The exit code that watchdog itself would have ended with.
EXIT: dict[VerdictStatus, int] = {"complete": 0, "incomplete": 10, "waiting": 11, "review": 12, "timeout": 13, "stopped": 14, "failed": 15, "error": 16}


def main() -> int:
    verdict = evaluate(sys.argv[1], {"schema": 1, "output": sys.argv[2], "claims_done": True})
    print(f"{verdict['status']} ({verdict['reason']}, {verdict['evidence']}): {verdict['message']}")
    if verdict["feedback"]:
        print(f"next prompt: {verdict['feedback']}")
    return EXIT[verdict["status"]]


if __name__ == "__main__":
    sys.exit(main())
