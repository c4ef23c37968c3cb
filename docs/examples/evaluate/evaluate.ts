// Asks watchdog whether the work in a worktree is done.
//
//     npx tsc --module nodenext --target es2022 evaluate.ts && node evaluate.js WORKTREE "the agent's last text"
//
// Prints the verdict in words and ends with watchdog's exit code. Needs Node.js 18 and watchdog in PATH (or in $WATCHDOG).

import { spawnSync } from "node:child_process";

/** What is known of the session. Every key is optional; `watchdog schema context` has all of them. */
export interface Context {
  output?: string;
  claims_done?: boolean;
  iteration?: number;
  spec?: string;
  baseline?: string;
}

export type Status = "complete" | "incomplete" | "waiting" | "review" | "timeout" | "stopped" | "failed" | "error";

/** The part of the verdict that a loop needs; `watchdog schema verdict` has all of it. */
export interface Verdict {
  status: Status;
  reason: string;
  complete: boolean;
  evidence: "verified" | "counted" | "claimed" | "none";
  message: string;
  feedback: string | null;
  checks: { name: string; type: string; outcome: string; feedback: string | null }[];
}

/** Judges the checks of the worktree's completion.json. Throws where there is no verdict at all. */
export function evaluate(worktree: string, context: Context): Verdict {
  const watchdog = process.env["WATCHDOG"] ?? "watchdog";
  const done = spawnSync(watchdog, ["-C", worktree, "evaluate", "--json"], {
    input: JSON.stringify({ schema: 1, ...context }),
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (done.error) throw done.error;
  if (!done.stdout) throw new Error(`watchdog ended with ${done.status}: ${done.stderr.trim()}`);
  return JSON.parse(done.stdout) as Verdict;
}

/** The exit code that watchdog itself would have ended with. */
const EXIT: Record<Status, number> = {
  complete: 0, incomplete: 10, waiting: 11, review: 12, timeout: 13, stopped: 14, failed: 15, error: 16,
};

const [worktree = ".", output = ""] = process.argv.slice(2);
const verdict = evaluate(worktree, { output, claims_done: true });
console.log(`${verdict.status} (${verdict.reason}, ${verdict.evidence}): ${verdict.message}`);
if (verdict.feedback) console.log(`next prompt: ${verdict.feedback}`);
process.exitCode = EXIT[verdict.status];
