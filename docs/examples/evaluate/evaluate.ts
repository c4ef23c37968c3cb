// Asks watchdog whether the work in a worktree is done.
//
//     node evaluate.ts WORKTREE "the agent's last text"
//
// Prints the verdict in words and ends with watchdog's exit code. Needs Node.js 22.18, which runs TypeScript as it is, watchdog_types.ts
// beside it, and watchdog in PATH (or in $WATCHDOG).

import { spawnSync } from "node:child_process";

import type { Context, Verdict, VerdictStatus } from "./watchdog_types.ts";

/** Judges the checks of the worktree's completion.json. Throws where there is no verdict at all. */
export function evaluate(worktree: string, context: Context): Verdict {
  const watchdog = process.env["WATCHDOG"] ?? "watchdog";
  const done = spawnSync(watchdog, ["-C", worktree, "evaluate", "--json"], {
    input: JSON.stringify(context),
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (done.error) throw done.error;
  if (!done.stdout) throw new Error(`watchdog ended with ${done.status}: ${done.stderr.trim()}`);
  return JSON.parse(done.stdout) as Verdict;
}

/** The exit code that watchdog itself would have ended with. */
const EXIT: Record<VerdictStatus, number> = {
  complete: 0, incomplete: 10, waiting: 11, review: 12, timeout: 13, stopped: 14, failed: 15, error: 16,
};

const [worktree = ".", output = ""] = process.argv.slice(2);
const verdict = evaluate(worktree, { schema: 1, output, claims_done: true });
console.log(`${verdict.status} (${verdict.reason}, ${verdict.evidence}): ${verdict.message}`);
if (verdict.feedback) console.log(`next prompt: ${verdict.feedback}`);
process.exitCode = EXIT[verdict.status];
