"""Asks watchdog whether the work in a worktree is done.

    python3 evaluate.py WORKTREE "the agent's last text"

Prints the verdict in words and ends with watchdog's exit code. Needs Python 3.8 and watchdog in PATH (or in $WATCHDOG).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import List, Optional, TypedDict


class Context(TypedDict, total=False):
    """What is known of the session. Every key is optional; `watchdog schema context` has all of them."""

    output: str
    claims_done: bool
    iteration: int
    spec: str
    baseline: str


class Check(TypedDict):
    name: str
    type: str
    outcome: str
    feedback: Optional[str]


class Verdict(TypedDict):
    """The part of the verdict that a loop needs; `watchdog schema verdict` has all of it."""

    status: str
    reason: str
    complete: bool
    evidence: str
    message: str
    feedback: Optional[str]
    checks: List[Check]


def evaluate(worktree: str, context: Context) -> Verdict:
    """Judges the checks of the worktree's completion.json. Raises where there is no verdict at all."""
    done = subprocess.run(
        [os.environ.get("WATCHDOG", "watchdog"), "-C", worktree, "evaluate", "--json"],
        input=json.dumps({"schema": 1, **context}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if not done.stdout:
        raise RuntimeError(f"watchdog ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


# The exit code that watchdog itself would have ended with.
EXIT = {"complete": 0, "incomplete": 10, "waiting": 11, "review": 12, "timeout": 13, "stopped": 14, "failed": 15, "error": 16}


def main() -> int:
    verdict = evaluate(sys.argv[1], {"output": sys.argv[2], "claims_done": True})
    print(f"{verdict['status']} ({verdict['reason']}, {verdict['evidence']}): {verdict['message']}")
    if verdict["feedback"]:
        print(f"next prompt: {verdict['feedback']}")
    return EXIT[verdict["status"]]


if __name__ == "__main__":
    sys.exit(main())
