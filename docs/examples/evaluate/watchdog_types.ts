// Made by scripts/types from the JSON Schemas that `watchdog schema verdict|context|event|config` prints. Do not edit.

/** also the exit code: 0, 10, 11, 12, 13, 14, 15, 16 in this order */
export type VerdictStatus =
  | "complete"
  | "incomplete"
  | "waiting"
  | "review"
  | "timeout"
  | "stopped"
  | "failed"
  | "error";

export type VerdictReason =
  | "new_commits"
  | "rescued"
  | "nothing_to_do"
  | "checks_passed"
  | "checks_unmet"
  | "unfinished"
  | "working"
  | "operation_in_progress"
  | "background_work"
  | "session_active"
  | "rate_limited"
  | "locked"
  | "dependencies"
  | "no_criteria"
  | "max_iterations"
  | "verify_timeout"
  | "verify_failed"
  | "repeated_nothing_to_do"
  | "disputed"
  | "criteria_changed"
  | "tests_weakened"
  | "untrusted"
  | "rescue_incomplete"
  | "max_probes"
  | "session_timeout"
  | "session_idle"
  | "breaker_open"
  | "budget_exhausted"
  | "deadline_exceeded"
  | "agent_stopped"
  | "interrupted"
  | "verify_unrunnable"
  | "agent_unrunnable"
  | "halted"
  | "no_baseline"
  | "probe_error"
  | "git_error"
  | "not_a_repository"
  | "config_error"
  | "store_error"
  | "snapshot_failed";

/** how strong a complete is */
export type VerdictEvidence =
  | "verified"
  | "committed"
  | "counted"
  | "claimed"
  | "none";

export type VerdictCommitsItemOrigin =
  | "made_here"
  | "imported"
  | "rescued";

export interface VerdictCommitsItem {
  id: string;
  subject: string;
  origin: VerdictCommitsItemOrigin;
}

/** null where it was not needed */
export interface VerdictChanges {
  staged: number;
  unstaged: number;
  untracked: number;
  conflicted: number;
  /** a merge, rebase or the like that is half done */
  operation: string | null;
  /** percent-escaped where not UTF-8 */
  paths: string[];
}

export interface VerdictRescueLeftOutItem {
  path: string;
  why: string;
}

export interface VerdictRescue {
  snapshot: string | null;
  commits: number;
  branch?: string | null;
  left_out: VerdictRescueLeftOutItem[];
}

export type VerdictProbesItemOutcome =
  | "reply"
  | "unreadable"
  | "empty"
  | "timed_out"
  | "no_conversation"
  | "not_installed"
  | "not_logged_in"
  | "overloaded"
  | "rate_limited"
  | "failed";

export type VerdictProbesItemReplyStatus =
  | "complete"
  | "waiting"
  | "working";

export interface VerdictProbesItemReply {
  status: VerdictProbesItemReplyStatus;
}

/** what questions to the agent cost; a figure that it does not tell is null */
export interface VerdictProbesItemUsage {
  requests: number;
  input_tokens: number | null;
  output_tokens: number | null;
  cost_usd: number | null;
}

export interface VerdictProbesItem {
  at: string;
  duration_ms: number;
  outcome: VerdictProbesItemOutcome;
  reply: VerdictProbesItemReply | null;
  why?: string | null;
  retry_at?: string | null;
  disputed?: string | null;
  /** the session that answered */
  session_id?: string | null;
  /** what questions to the agent cost; a figure that it does not tell is null */
  usage?: VerdictProbesItemUsage;
}

export type VerdictChecksItemOutcome =
  | "pass"
  | "unmet"
  | "waiting"
  | "unrunnable"
  | "failed"
  | "timed_out"
  | "skipped";

export type VerdictChecksItemEvidence =
  | "verified"
  | "committed"
  | "counted"
  | "claimed"
  | "none";

/** its outcome when the work began; one that passed before gives no evidence of the work */
export type VerdictChecksItemBefore =
  | "passed"
  | "failed"
  | "unknown";

/** the judged tree with the test files as they were when the work began */
export type VerdictChecksItemProofOldTests =
  | "pass"
  | "fail"
  | "unknown"
  | "not_run";

/** the judged tree without the session's other changes */
export type VerdictChecksItemProofNewTests =
  | "pass"
  | "fail"
  | "unknown"
  | "not_run";

/** the judged tree with one more test that must fail */
export type VerdictChecksItemProofCanary =
  | "pass"
  | "fail"
  | "unknown"
  | "not_run";

/** how it ended in scratch checkouts of mixed trees */
export interface VerdictChecksItemProof {
  /** the judged tree with the test files as they were when the work began */
  old_tests: VerdictChecksItemProofOldTests;
  /** the judged tree without the session's other changes */
  new_tests: VerdictChecksItemProofNewTests;
  /** the judged tree with one more test that must fail */
  canary?: VerdictChecksItemProofCanary;
  /** the test files that the session changed; at most 20 */
  judging_files: string[];
  /** the tests, or the files, by which it weakened what judges it; at most 20 */
  weakened: string[];
  /** the hidden checks that did not pass, without their output */
  notes?: string[];
  /** why an outcome is unknown */
  why?: string;
}

/** what its test runner says that it ran */
export interface VerdictChecksItemTests {
  ran: number;
  failed: number;
  skipped: number;
}

export interface VerdictChecksItem {
  name: string;
  type: string;
  outcome: VerdictChecksItemOutcome;
  evidence: VerdictChecksItemEvidence;
  feedback: string | null;
  /** the tests that fail beside a pass, all of which failed when the work began */
  baseline_failures?: string[];
  duration_ms: number;
  /** whether an earlier pass with the same inputs answered */
  cached?: boolean;
  /** its outcome when the work began; one that passed before gives no evidence of the work */
  before?: VerdictChecksItemBefore;
  /** how it ended in scratch checkouts of mixed trees */
  proof?: VerdictChecksItemProof;
  /** a known runner showed that tests ran, and not how many */
  tests_uncounted?: boolean;
  /** what its test runner says that it ran */
  tests?: VerdictChecksItemTests | null;
  /** the tree that it ran on, where that was a scratch checkout */
  tree?: string | null;
}

export type VerdictSessionKnownBy =
  | "output"
  | "hook"
  | "transcript"
  | "latest"
  | "process";

/** the state of that session; running where its agent does not say it */
export type VerdictSessionState =
  | "running"
  | "busy"
  | "waiting"
  | "idle";

export type VerdictSessionEndedBy =
  | "itself"
  | "timeout"
  | "silence"
  | "limit"
  | "interrupt";

/** how the process of the session ended, where watchdog ran it */
export interface VerdictSessionEnded {
  exit_code: number | null;
  signal: number | null;
  by: VerdictSessionEndedBy;
}

/** the session that a question goes to */
export interface VerdictSession {
  id: string | null;
  /** the agent that ran it, by the name or path of its preset */
  agent?: string | null;
  known_by: VerdictSessionKnownBy;
  idle_seconds: number | null;
  /** the process of a live session that watchdog did not start */
  pid?: number;
  /** the state of that session; running where its agent does not say it */
  state?: VerdictSessionState;
  /** how the process of the session ended, where watchdog ran it */
  ended?: VerdictSessionEnded | null;
}

export interface VerdictIgnoredLostItem {
  path: string;
  bytes: number;
  /** the id of the snapshot that has the content */
  snapshot: string | null;
}

export type VerdictElsewhereItemState =
  | "pushed"
  | "merged"
  | "unpushed"
  | "deleted"
  | "stashed";

export type VerdictElsewhereItemBy =
  | "merge"
  | "squash"
  | "rebase"
  | "reset";

export interface VerdictElsewhereItem {
  branch: string | null;
  commit: string;
  commits: number;
  subject: string;
  state: VerdictElsewhereItemState;
  by: VerdictElsewhereItemBy | null;
  on: string | null;
}

export type VerdictClaimsItemClaim =
  | "committed"
  | "clean_tree"
  | "pushed"
  | "tests_passed"
  | "build_passed"
  | "lint_passed"
  | "pull_request"
  | "file_written"
  | "nothing_left";

export type VerdictClaimsItemState =
  | "held"
  | "contradicted"
  | "unproved";

export interface VerdictClaimsItem {
  claim: VerdictClaimsItemClaim;
  state: VerdictClaimsItemState;
  fact: string;
  quote: string;
}

export type VerdictGatesOffItemHow =
  | "hooks_path"
  | "removed"
  | "emptied"
  | "changed"
  | "not_executable"
  | "no_verify"
  | "unreadable";

export interface VerdictGatesOffItem {
  gate: string;
  how: VerdictGatesOffItemHow;
  detail: string;
}

/** what questions to the agent cost; a figure that it does not tell is null */
export interface VerdictProbeUsage {
  requests: number;
  input_tokens: number | null;
  output_tokens: number | null;
  cost_usd: number | null;
}

export type VerdictBreakerState =
  | "closed"
  | "open"
  | "half_open";

export interface VerdictBreaker {
  state: VerdictBreakerState;
  strikes: number;
  limit: number;
  open_until: string | null;
  since?: string | null;
  why?: string | null;
}

export interface VerdictNotesItem {
  code: string;
  detail: string;
}

export type VerdictRefusedToolsItemCause =
  | "permission"
  | "not_offered"
  | "read_only"
  | "read_only_git";

export interface VerdictRefusedToolsItem {
  tool: string;
  cause: VerdictRefusedToolsItemCause;
  /** the option of that program that allows it; null where it is not known */
  allow_with: string | null;
}

export type VerdictLoopAgentsItemHeldBecause =
  | "usage_limit"
  | "overload";

export interface VerdictLoopAgentsItem {
  name: string;
  sessions: number;
  spent: { [key: string]: unknown };
  held_until: string | null;
  held_because: VerdictLoopAgentsItemHeldBecause | null;
}

/** only of `watchdog loop`: see docs/loop.md */
export interface VerdictLoop {
  id?: string;
  begun_at?: string;
  first_baseline?: string;
  resumed?: boolean;
  over?: boolean;
  spent?: { [key: string]: unknown };
  /** what each agent of the loop did: its sessions, what they spent, and until when it gets none */
  agents?: VerdictLoopAgentsItem[];
  history?: { [key: string]: unknown }[];
}

/**
 * What watchdog judged: printed by check, run, loop, sweep and evaluate with --json. Fields may be added; none
 * changes its meaning within schema 1.
 */
export interface Verdict {
  schema: 1;
  /** also the exit code: 0, 10, 11, 12, 13, 14, 15, 16 in this order */
  status: VerdictStatus;
  reason: VerdictReason;
  complete: boolean;
  /** how strong a complete is */
  evidence: VerdictEvidence;
  /** one line for a person */
  message: string;
  /** what the agent should do next; a text whenever the status is incomplete */
  feedback: string | null;
  /** when to look again, where it is known */
  retry_at: string | null;
  /** absolute path */
  worktree: string | null;
  spec: string | null;
  branch: string | null;
  /** the commit that HEAD named when the session began */
  baseline: string | null;
  head: string | null;
  /** null where it could not be read: unknown is never zero */
  new_commits: number | null;
  /** null where it could not be read: unknown is never zero */
  made_here?: number | null;
  /** null where it could not be read: unknown is never zero */
  imported_commits: number | null;
  /** files of a net change whose new content was all there before the session; null where it could not be read */
  brought: number | null;
  net_change: boolean | null;
  /** newest first */
  commits: VerdictCommitsItem[];
  /** null where it was not needed */
  changes: VerdictChanges | null;
  rescued: boolean;
  rescue: VerdictRescue | null;
  probes_used: number;
  probes: VerdictProbesItem[];
  checks: VerdictChecksItem[];
  /** the session that a question goes to */
  session: VerdictSession | null;
  /** uncommitted files that were there before the session: kept, and not its work */
  inherited: number;
  /** files that changed after the session's recorded end: kept, and nobody's work */
  changed_since_end?: number;
  /** an earlier answer stands, because nothing changed since then */
  unchanged_since: string | null;
  /** what helpers of the session hold that HEAD lacks */
  helpers?: string[];
  /** ignored files of the session's begin that are gone or empty, the first 100 */
  ignored_lost?: VerdictIgnoredLostItem[];
  /** the session's work that HEAD lacks, or has in another form */
  elsewhere?: VerdictElsewhereItem[];
  /** what the session's last words claim of its work, beside the facts */
  claims?: VerdictClaimsItem[];
  /** hooks of the repository that could refuse a commit or a push, and are off */
  gates_off?: VerdictGatesOffItem[];
  /** what questions to the agent cost; a figure that it does not tell is null */
  probe_usage: VerdictProbeUsage;
  strike: boolean;
  not_a_strike_because: string | null;
  breaker: VerdictBreaker | null;
  /** words for what weakens the facts */
  degraded: string[];
  /** the same with a sentence */
  notes?: VerdictNotesItem[];
  log?: string | null;
  survivors?: string[];
  /** the tools that the session's agent was refused by its own program */
  refused_tools?: VerdictRefusedToolsItem[];
  duration_ms: number;
  /** only of `watchdog loop`: iterations that ended, earlier processes of the same loop included */
  iterations?: number;
  /** only of `watchdog loop`: see docs/loop.md */
  loop?: VerdictLoop;
}

export interface ContextSummariesItemDetectedActionsItem {
  type?: string;
}

export interface ContextSummariesItem {
  iteration?: number | null;
  assistant_responses?: string[];
  detected_actions?: ContextSummariesItemDetectedActionsItem[];
}

export interface ContextPlanStepsItem {
  step_id?: number | string | null;
  title?: string;
  status?: string;
}

export interface ContextPlan {
  objective?: string | null;
  status?: string | null;
  steps?: ContextPlanStepsItem[];
}

export interface ContextMessagesItemToolResult {
  id?: string | null;
  name?: string | null;
  content?: unknown;
  is_error?: boolean | null;
}

export interface ContextMessagesItem {
  role?: string;
  /** a text, a block, or a list of blocks */
  content?: unknown;
  /** one call or a list: id, name */
  tool_call?: unknown;
  /** calls, also as OpenAI's Chat Completions has them */
  tool_calls?: unknown;
  /** makes the message the result of that call */
  tool_call_id?: unknown;
  /** the kind of an item of OpenAI's Responses */
  type?: unknown;
  call_id?: unknown;
  name?: unknown;
  output?: unknown;
  tool_result?: ContextMessagesItemToolResult | null;
}

export interface ContextUsage {
  /** null where it could not be read: unknown is never zero */
  turns?: number | null;
  /** null where it could not be read: unknown is never zero */
  input_tokens?: number | null;
  /** null where it could not be read: unknown is never zero */
  output_tokens?: number | null;
  cost_usd?: number | null;
  wall_seconds?: number | null;
}

/**
 * What is known of a session beside git: stdin of watchdog evaluate and of custom checks. Every key but schema is
 * optional; unknown keys pass.
 */
export interface Context {
  schema: 1;
  worktree?: string | null;
  spec?: string | null;
  /** any git revision, or `unborn` */
  baseline?: string | null;
  head?: string | null;
  /** of the loop, from 1 */
  iteration?: number | null;
  /** whether the agent says that it is done */
  claims_done?: boolean | null;
  stop_reason?: string | null;
  /** structured output that the agent is about to give */
  tentative_output?: unknown;
  /** the agent's last text */
  output?: string | null;
  /** what the agent was asked; an echo of it is nobody's claim */
  prompt?: string | null;
  summaries?: ContextSummariesItem[] | null;
  plan?: ContextPlan | null;
  messages?: ContextMessagesItem[] | null;
  usage?: ContextUsage | null;
  background_tasks?: unknown[] | null;
}

/**
 * An event of watchdog's journal: one line of `watchdog events --json`, the body of a webhook, and what a notified
 * command reads on stdin. Fields and kinds may be added; none changes its meaning within schema 1.
 */
export interface Event {
  schema: 1;
  /** unique; a notification that is delivered twice has the same one */
  id: string;
  /** when it happened, in UTC */
  at: string;
  /** the worktree's stable name in the store */
  worktree: string;
  /** the worktree's top folder; in notifications only */
  path?: string;
  /** the machine's name in its fleet; in `watchdog events --fleet` only */
  machine?: string;
  /** the name of the work */
  spec: string | null;
  /** readers must expect kinds that they do not know */
  kind: string;
  /** what else is known; its fields depend on the kind, see docs/events.md */
  data: { [key: string]: unknown } | null;
}

export type ConfigAgentPreset1 =
  | "claude"
  | "codex"
  | "gemini"
  | "opencode"
  | "qwen"
  | "copilot"
  | "cursor"
  | "amp";

/** the program and its arguments */
export type ConfigArgv = string[];

export interface ConfigAgent {
  /** the model that answers probes; null is the agent's own choice */
  model?: string | null;
  /** the agent that is asked */
  preset?: ConfigAgentPreset1 | string;
  /**
   * another program instead of the preset: the question on stdin, the answer on stdout. `WATCHDOG_PROBE=<n>` counts
   * from 1; `WATCHDOG_QUESTION` is `probe` (its state) or `plan` (for `rescue`)
   */
  probe?: ConfigArgv | null;
}

export type ConfigAgentsItemPreset1 =
  | "claude"
  | "codex"
  | "gemini"
  | "opencode"
  | "qwen"
  | "copilot"
  | "cursor"
  | "amp";

export interface ConfigAgentsItem {
  /** instead of a preset. The prompt is on its stdin, unless an argument has `{prompt}` or `{prompt_file}` */
  command?: ConfigArgv | null;
  /** other agents of this list that take over at a limit, in this order */
  fallback?: string[];
  /** US dollars that its sessions of one loop or task may cost */
  max_cost_usd?: number | null;
  /** the model that it works with; null is the agent's own choice */
  model?: string | null;
  /** the agent's own name, no two alike */
  name: string;
  /** as in `agent` */
  preset?: ConfigAgentsItemPreset1 | string;
  /** which tasks it takes; null takes those of any role */
  role?: string | null;
  /** the folder of its linked worktree, from the root of the worktree that holds the tasks; no two alike */
  worktree?: string | null;
}

export interface ConfigBreaker {
  /** how long it stays open before one trial; doubled after each trial that is a timeout again, up to a day */
  cooldown_seconds?: number;
  /** strikes that open the breaker */
  limit?: number;
}

/** how its checks combine */
export type ConfigGroupMode =
  | "all"
  | "any"
  | "first";

export interface ConfigGroup {
  /** checks and groups of them */
  checks: ConfigEntry[];
  /** how its checks combine */
  mode: ConfigGroupMode;
}

/** which of the agent's texts count: its `last` message, those since it was last asked, or all of the `session` */
export type ConfigSignalIn =
  | "last"
  | "iteration"
  | "session";

/** `line`: alone on a line; `tag`: the whole content of an element such as `<promise>DONE</promise>` */
export type ConfigSignalMatch =
  | "line"
  | "word"
  | "contains"
  | "tag";

/** The agent says an agreed text. */
export interface ConfigSignal {
  /** whether upper and lower case are the same */
  ignore_case?: boolean;
  /**
   * which of the agent's texts count: its `last` message, those since it was last asked, or all of the `session`
   */
  in?: ConfigSignalIn;
  /** whether only the last line that is not blank counts */
  last_line?: boolean;
  /** `line`: alone on a line; `tag`: the whole content of an element such as `<promise>DONE</promise>` */
  match?: ConfigSignalMatch;
  /** stands in verdicts; the type where it is not given */
  name?: string;
  /** the element's name, for the match `tag` */
  tag?: string;
  /** what to look for */
  text: string;
  type: "signal";
}

/** whether it passes where all that failed did before */
export type ConfigCommandBaselineFailures =
  | "refuse"
  | "allow";

/** inside the worktree, relative to its root */
export type ConfigInsidePath = string;

export type ConfigCommandProof1 =
  | "auto"
  | "off";

export type ConfigCommandLine = string | ConfigArgv;

export interface ConfigCommandProof2 {
  hidden: ConfigCommandLine[];
}

export type ConfigCommandTestChanges1 =
  | "expected"
  | "refused";

/** A program decides. */
export interface ConfigCommand {
  /** whether it passes where all that failed did before */
  baseline_failures?: ConfigCommandBaselineFailures;
  /** it runs in a scratch checkout of HEAD with the session's work, where nothing is that git ignores */
  clean?: boolean;
  /** the folder it runs in, inside the worktree; null is the root */
  cwd?: ConfigInsidePath | null;
  /** the JUnit XML file that it writes, inside the worktree; it must be written during the run */
  junit?: string | null;
  /** it runs when the work begins, in a scratch checkout of the baseline; a pass there starts no session */
  must_fail_first?: boolean;
  /** stands in verdicts; the type where it is not given */
  name?: string;
  /** whether a pass is tried in scratch checkouts, with hidden checks */
  proof?: ConfigCommandProof1 | ConfigCommandProof2;
  /** the longest pass that is tried so */
  proof_seconds?: number;
  /** a text is run by `sh -c` */
  run: ConfigCommandLine;
  /** what counts as met, see below */
  success?: string;
  /** lines at the end of each stream that go into the feedback where no failing test is known */
  tail_lines?: number;
  /** what an old test that fails on the work means: the task changes it, or nothing may */
  test_changes?: ConfigCommandTestChanges1 | null;
  /** its test files, below `cwd`; empty: by the names that runners know */
  tests_are?: ConfigInsidePath[];
  /** its deadline; then its whole process tree is ended, and the verdict is `review`/`verify_timeout` */
  timeout_seconds?: number;
  type: "command";
}

/** inside the worktree, relative to its root, or absolute */
export type ConfigFilePath = string;

/** Every step of a plan is done: a JSON file, a markdown checklist, or the agent's own list. */
export interface ConfigPlan {
  /** the states that mean done, exactly so */
  done?: string[];
  /** how many open titles go into the feedback */
  max_titles?: number;
  /** stands in verdicts; the type where it is not given */
  name?: string;
  /** headings of a checklist, in any case, below which open boxes do not count */
  optional_sections?: string[];
  /** a JSON plan with `steps`, or a markdown checklist; null is the agent's own list */
  path?: ConfigFilePath | null;
  /** whether there must be a plan at all */
  required?: boolean;
  type: "plan";
}

/** Every feature of a list passes. */
export interface ConfigFeatureList {
  /** whether nothing but `passes` may differ from the baseline commit's file; more features may be added */
  freeze?: boolean;
  /** stands in verdicts; the type where it is not given */
  name?: string;
  /** the JSON file */
  path?: ConfigFilePath;
  type: "feature_list";
}

/** Commits made here with a net change, and the state of the worktree, decide. */
export interface ConfigGit {
  /** commits made here since the session began, with a net change; 0 asks for none */
  min_commits?: number;
  /** stands in verdicts; the type where it is not given */
  name?: string;
  /**
   * whether files that changed since the baseline may hold no `<<<<<<<`, `=======`, `>>>>>>>` lines of a conflict
   */
  no_conflict_markers?: boolean;
  /** paths that must be as they were when the work began, in HEAD, in the index and on disk, even after a pull */
  protected?: ConfigInsidePath[];
  /** whether nothing may be left uncommitted, and no merge or rebase half done */
  require_clean?: boolean;
  /** whether a remote-tracking branch must reach HEAD, without a question over the network */
  require_pushed?: boolean;
  type: "git";
}

/** Each glob needs a file, by default one that is not empty. */
export interface ConfigFiles {
  /** what the file must hold as well */
  contains?: string | null;
  /** stands in verdicts; the type where it is not given */
  name?: string;
  /** whether an empty file is none */
  non_empty?: boolean;
  /** each needs at least one file */
  paths: ConfigInsidePath[];
  type: "files";
}

/** An issue of GitHub is closed or labelled, a pull request is merged. */
export interface ConfigIssue {
  /** whether it must be closed */
  closed?: boolean;
  /** a label that it must have */
  label?: string | null;
  /** stands in verdicts; the type where it is not given */
  name?: string;
  /** the issue; required without `pull_request` */
  number?: number | null;
  /** a pull request that must be merged */
  pull_request?: number | null;
  /** the repository; null is that of the worktree */
  repo?: string | null;
  /** whether nothing may be left uncommitted */
  require_clean?: boolean;
  /** how long GitHub may take */
  timeout_seconds?: number;
  type: "issue";
}

/** which of the agent's texts count: its `last` message, those since it was last asked, or all of the `session` */
export type ConfigStructuredIn =
  | "last"
  | "iteration"
  | "session";

/** The agent gave JSON of an agreed form. */
export interface ConfigStructured {
  /**
   * which of the agent's texts count: its `last` message, those since it was last asked, or all of the `session`
   */
  in?: ConfigStructuredIn;
  /** stands in verdicts; the type where it is not given */
  name?: string;
  /** fields with their values, or a list of names */
  required?: { [key: string]: unknown } | string[];
  /** what the JSON must meet; at least one of the three is required */
  schema?: { [key: string]: unknown };
  /** the word that marks the JSON */
  tag?: string;
  type: "structured";
}

/** A tool of the agent returned rows. */
export interface ConfigSqlResult {
  /** the columns, in order; null is any */
  expected_columns?: string[] | null;
  /** rows at least */
  min_rows?: number;
  /** stands in verdicts; the type where it is not given */
  name?: string;
  /** the tool that returned the rows */
  tool?: string;
  type: "sql_result";
}

/** A model answers a question about the work. */
export interface ConfigJudge {
  /** the model of the preset; null is that of `agent` */
  model?: string | null;
  /** stands in verdicts; the type where it is not given */
  name?: string;
  /** what a model answers with yes or no */
  question: string;
  /** how it is to decide */
  rubric?: string | null;
  /** the program to ask, prompt on stdin and answer on stdout; null asks the agent's preset */
  run?: ConfigCommandLine | null;
  /** how long the answer may take */
  timeout_seconds?: number;
  type: "judge";
}

/** A project is in its last phase. */
export interface ConfigPhase {
  /** the project's field that holds the phase; without it the agent's words tell */
  field?: string | null;
  /** the phase that completes it */
  final?: string;
  /** stands in verdicts; the type where it is not given */
  name?: string;
  /** who owns the project; null is the user of `gh` */
  owner?: string | null;
  /** the project's number */
  project?: number | null;
  /** how long GitHub may take */
  timeout_seconds?: number;
  type: "phase";
}

/** So many iterations were made. */
export interface ConfigIterations {
  /** iterations of a loop, which is a count and no proof */
  count: number;
  /** stands in verdicts; the type where it is not given */
  name?: string;
  type: "iterations";
}

/** `call`: started for each judgement. `stream`: started once, a line of JSON in and one out for each */
export type ConfigCustomMode =
  | "call"
  | "stream";

/** A program of yours judges the context. */
export interface ConfigCustom {
  /**
   * what a handler in TypeScript gets as its first argument; such a handler gives the prompts of a `loop`, too
   */
  definition?: { [key: string]: unknown };
  /** `call`: started for each judgement. `stream`: started once, a line of JSON in and one out for each */
  mode?: ConfigCustomMode;
  /** stands in verdicts; the type where it is not given */
  name?: string;
  /** the program */
  run: ConfigCommandLine;
  /** how long one judgement may take */
  timeout_seconds?: number;
  type: "custom";
}

/** Met, whatever happened; its evidence is none. */
export interface ConfigAlways {
  /** stands in verdicts; the type where it is not given */
  name?: string;
  type: "always";
}

export type ConfigEntry = ConfigGroup | ConfigSignal | ConfigCommand | ConfigPlan | ConfigFeatureList | ConfigGit | ConfigFiles | ConfigIssue | ConfigStructured | ConfigSqlResult | ConfigJudge | ConfigPhase | ConfigIterations | ConfigCustom | ConfigAlways;

export interface ConfigCompletion {
  /** `limits.max_iterations` */
  max_iterations?: number;
  /** a `signal` check, which comes first */
  signal?: string;
  /** a `command` check */
  verify?: ConfigCommandLine;
}

export interface ConfigCompletionCheck {
  /** whether uncommitted work is rescued after the last round */
  final_rescue_attempt?: boolean;
  /** rounds at most; 0 asks nobody */
  max_probes?: number;
  /** pause between rounds; a commit cuts it short */
  probe_interval_seconds?: number;
  /** deadline of one probe */
  probe_timeout_seconds?: number;
}

export interface ConfigLimits {
  /** for how long processes that outlive a session hold its verdict */
  background_seconds?: number;
  /** pause between iterations */
  cooldown_seconds?: number;
  /** after this instant nothing is started, such as `"2030-01-31T18:00:00Z"` */
  deadline?: string | null;
  /**
   * how long a session may be silent before it is ended; 0 never ends one; null is 1,800 for `loop` and `task`,
   * none for `run`
   */
  idle_timeout_seconds?: number | null;
  /** programs, by name or glob, that hold no verdict when they outlive a session */
  ignore_processes?: string[];
  /** US dollars */
  max_cost_usd?: number | null;
  /** iterations of `watchdog loop` */
  max_iterations?: number;
  /** how often in a row a stop hook may hold the agent; Claude Code itself gives up after eight */
  max_stop_blocks?: number;
  /** input and output tokens together */
  max_total_tokens?: number | null;
  /** turns of the agent */
  max_turns?: number | null;
  /** wall time of a loop, or of the one session of `run` */
  max_wall_seconds?: number | null;
  /**
   * programs that may ask for a halt: at each judgement one reads the context on stdin and answers `{"halt": bool,
   * "reason": "…"}` within 60 seconds; a halt is `failed`/`halted`, after a rescue
   */
  sensors?: ConfigArgv[];
  /** wall time of one session */
  session_timeout_seconds?: number | null;
}

/** how the checks combine (see Groups) */
export type ConfigMode =
  | "all"
  | "any"
  | "first";

export type ConfigNotifyItemOnItem =
  | "complete"
  | "incomplete"
  | "waiting"
  | "review"
  | "timeout"
  | "stopped"
  | "failed"
  | "error"
  | "new_commits"
  | "rescued"
  | "nothing_to_do"
  | "checks_passed"
  | "checks_unmet"
  | "unfinished"
  | "working"
  | "operation_in_progress"
  | "background_work"
  | "session_active"
  | "rate_limited"
  | "locked"
  | "dependencies"
  | "no_criteria"
  | "max_iterations"
  | "verify_timeout"
  | "verify_failed"
  | "repeated_nothing_to_do"
  | "disputed"
  | "criteria_changed"
  | "tests_weakened"
  | "untrusted"
  | "rescue_incomplete"
  | "max_probes"
  | "session_timeout"
  | "session_idle"
  | "breaker_open"
  | "budget_exhausted"
  | "deadline_exceeded"
  | "agent_stopped"
  | "interrupted"
  | "verify_unrunnable"
  | "agent_unrunnable"
  | "halted"
  | "no_baseline"
  | "probe_error"
  | "git_error"
  | "not_a_repository"
  | "config_error"
  | "store_error"
  | "snapshot_failed"
  | "baseline"
  | "session_started"
  | "session_ended"
  | "commits"
  | "changes"
  | "snapshot"
  | "probe"
  | "check"
  | "rescue"
  | "restore"
  | "dropped"
  | "expired"
  | "verdict"
  | "breaker"
  | "trust"
  | "degraded"
  | "assigned"
  | "started"
  | "iteration"
  | "agent_changed"
  | "blocked"
  | "pending"
  | "limit";

export interface ConfigNotifyItem {
  /** the program to run then */
  command?: ConfigArgv;
  /** instead of a program: show it on the desktop */
  desktop?: true;
  /** instead of a program: send it by mail, through the system's sendmail */
  mail?: string | string[];
  /** statuses or reasons of a verdict, such as `review` or `breaker_open`, or kinds of events */
  on: ConfigNotifyItemOnItem[];
  /** further attempts after one that failed */
  retries?: number;
  /** beside `url`: a message for people, in the form of this service or your own */
  template?: string;
  /** deadline of one attempt */
  timeout_seconds?: number;
  /** instead of a program: the address to post to, http or https */
  url?: string;
}

/** what decides without checks: `git` (commits) or `review` (a person) */
export type ConfigOnNoCriteria =
  | "git"
  | "review";

/** the order of checks: `given` is one after the other, as written */
export type ConfigOrder =
  | "cheap_first"
  | "given";

/**
 * the weakest evidence that `complete` may have; weaker is `review`. `verified` wants a count of tests where
 * commands judge
 */
export type ConfigRequireEvidence =
  | "verified"
  | "committed"
  | "counted"
  | "claimed"
  | "none";

/**
 * `plan`: the agent plans the commits, watchdog makes them; `single`: one commit of everything; `command`: yours;
 * `snapshot`: commit nothing; `off`: not even a snapshot. All but `off` begin with a snapshot
 */
export type ConfigRescueMode =
  | "plan"
  | "single"
  | "command"
  | "snapshot"
  | "off";

export interface ConfigRescue {
  /** write a git bundle of all refs to the state directory before each session that finds new commits */
  bundle?: boolean;
  /**
   * for the mode `command`, in the worktree, with `WATCHDOG_SPEC` and `WATCHDOG_SNAPSHOT`. Null is `scripts/commit-
   * rescue` of the worktree with the spec's name, if it is as it was accepted
   */
  command?: ConfigArgv | null;
  /** names or globs that are never committed. A list given here replaces the default */
  exclude?: string[];
  /** how long snapshots are kept, in days, but for the newest of a spec */
  keep_days?: number;
  /**
   * names or globs of ignored files that the snapshot before a session keeps apart, up to `max_snapshot_bytes`
   */
  keep_ignored?: string[];
  /** larger files, in bytes, are not committed, and are kept apart in snapshots */
  max_bytes?: number;
  /** with more changed files than this, nothing is committed */
  max_files?: number;
  /** bytes of new files together; the largest beyond it are left out of snapshots, and named. Null keeps all */
  max_snapshot_bytes?: number | null;
  /**
   * `plan`: the agent plans the commits, watchdog makes them; `single`: one commit of everything; `command`: yours;
   * `snapshot`: commit nothing; `off`: not even a snapshot. All but `off` begin with a snapshot
   */
  mode?: ConfigRescueMode;
  /** branches, by name or glob, that rescue never commits to; the work goes to `watchdog/rescue/<spec>` */
  protect?: string[];
  /**
   * how long the work must stand still before `check --once`, `sweep` and `watch` commit it without a known end of
   * the session; also the age of a stale lock of git
   */
  quiet_seconds?: number;
  /**
   * shortest time between snapshots during a session; 0 takes none. A snapshot is taken at the beginning where
   * there is something to keep, then once the changed work tree has rested for a third of this time, at most 10 s,
   * or after one more interval
   */
  snapshot_seconds?: number;
  /** deadline of the command, of the plan, of the commits, and of a lock of another git, each */
  timeout_seconds?: number;
  /** the last lines of each message, as `Key: value`. A list given here replaces the default */
  trailers?: string[];
}

export interface ConfigTasks {
  /** the folder of task files, inside the worktree */
  dir?: ConfigInsidePath;
}

/**
 * The configuration of watchdog, version 1. What this schema cannot say, such as contradictions between dialects,
 * the program says.
 */
export interface Config {
  agent?: ConfigAgent;
  /** the agents that work on tasks */
  agents?: ConfigAgentsItem[];
  behavior?: { [key: string]: unknown };
  breaker?: ConfigBreaker;
  /** the criteria, see Checks. An empty list is the same as none: `on_no_criteria` decides */
  checks?: ConfigEntry[];
  completion?: ConfigCompletion;
  completion_check?: ConfigCompletionCheck;
  /** an older name of `completion_check.max_probes` */
  completion_check_max_probes?: number;
  /** an older name of `completion_check.probe_interval_seconds` */
  completion_check_probe_interval?: number;
  /** false is `completion_check.max_probes`: 0 */
  enable_smart_completion_check?: boolean;
  /** files that the session must not change, such as its tests */
  guards?: ConfigInsidePath[];
  limits?: ConfigLimits;
  /** how the checks combine (see Groups) */
  mode?: ConfigMode;
  /** whom to tell about verdicts and events */
  notify?: ConfigNotifyItem[];
  /** what decides without checks: `git` (commits) or `review` (a person) */
  on_no_criteria?: ConfigOnNoCriteria;
  /** the order of checks: `given` is one after the other, as written */
  order?: ConfigOrder;
  /**
   * the weakest evidence that `complete` may have; weaker is `review`. `verified` wants a count of tests where
   * commands judge
   */
  require_evidence?: ConfigRequireEvidence;
  rescue?: ConfigRescue;
  tasks?: ConfigTasks;
  /** the version of this format; 1 is the only one */
  version?: 1;
}
