"""Made by scripts/types from the JSON Schemas that `watchdog schema verdict|context|event|config` prints. Do not edit."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

# also the exit code: 0, 10, 11, 12, 13, 14, 15, 16 in this order
VerdictStatus = Literal[
    "complete",
    "incomplete",
    "waiting",
    "review",
    "timeout",
    "stopped",
    "failed",
    "error",
]

VerdictReason = Literal[
    "new_commits",
    "rescued",
    "nothing_to_do",
    "checks_passed",
    "checks_unmet",
    "unfinished",
    "working",
    "operation_in_progress",
    "background_work",
    "session_active",
    "rate_limited",
    "locked",
    "dependencies",
    "no_criteria",
    "max_iterations",
    "verify_timeout",
    "verify_failed",
    "repeated_nothing_to_do",
    "disputed",
    "criteria_changed",
    "tests_weakened",
    "untrusted",
    "rescue_incomplete",
    "max_probes",
    "session_timeout",
    "session_idle",
    "breaker_open",
    "budget_exhausted",
    "deadline_exceeded",
    "agent_stopped",
    "interrupted",
    "verify_unrunnable",
    "agent_unrunnable",
    "halted",
    "no_baseline",
    "probe_error",
    "git_error",
    "not_a_repository",
    "config_error",
    "store_error",
    "snapshot_failed",
]

# how strong a complete is
VerdictEvidence = Literal[
    "verified",
    "committed",
    "counted",
    "claimed",
    "none",
]

VerdictCommitsItemOrigin = Literal[
    "made_here",
    "imported",
    "rescued",
]


class VerdictCommitsItem(TypedDict):
    id: str
    subject: str
    origin: VerdictCommitsItemOrigin


class VerdictChanges(TypedDict):
    """null where it was not needed"""
    staged: int
    unstaged: int
    untracked: int
    conflicted: int
    # a merge, rebase or the like that is half done
    operation: Optional[str]
    # percent-escaped where not UTF-8
    paths: List[str]


class VerdictRescueLeftOutItem(TypedDict):
    path: str
    why: str


class _VerdictRescueRequired(TypedDict):
    snapshot: Optional[str]
    commits: int
    left_out: List[VerdictRescueLeftOutItem]


class VerdictRescue(_VerdictRescueRequired, total=False):
    branch: Optional[str]

VerdictProbesItemOutcome = Literal[
    "reply",
    "unreadable",
    "empty",
    "timed_out",
    "no_conversation",
    "not_installed",
    "not_logged_in",
    "overloaded",
    "rate_limited",
    "failed",
]

VerdictProbesItemReplyStatus = Literal[
    "complete",
    "waiting",
    "working",
]


class VerdictProbesItemReply(TypedDict):
    status: VerdictProbesItemReplyStatus


class VerdictProbesItemUsage(TypedDict):
    """what questions to the agent cost; a figure that it does not tell is null"""
    requests: int
    input_tokens: Optional[int]
    output_tokens: Optional[int]
    cost_usd: Optional[float]


class _VerdictProbesItemRequired(TypedDict):
    at: str
    duration_ms: int
    outcome: VerdictProbesItemOutcome
    reply: Optional[VerdictProbesItemReply]


class VerdictProbesItem(_VerdictProbesItemRequired, total=False):
    why: Optional[str]
    retry_at: Optional[str]
    disputed: Optional[str]
    # the session that answered
    session_id: Optional[str]
    # what questions to the agent cost; a figure that it does not tell is null
    usage: VerdictProbesItemUsage

VerdictChecksItemOutcome = Literal[
    "pass",
    "unmet",
    "waiting",
    "unrunnable",
    "failed",
    "timed_out",
    "skipped",
]

VerdictChecksItemEvidence = Literal[
    "verified",
    "committed",
    "counted",
    "claimed",
    "none",
]

# its outcome when the work began; one that passed before gives no evidence of the work
VerdictChecksItemBefore = Literal[
    "passed",
    "failed",
    "unknown",
]

# the judged tree with the test files as they were when the work began
VerdictChecksItemProofOldTests = Literal[
    "pass",
    "fail",
    "unknown",
    "not_run",
]

# the judged tree without the session's other changes
VerdictChecksItemProofNewTests = Literal[
    "pass",
    "fail",
    "unknown",
    "not_run",
]

# the judged tree with one more test that must fail
VerdictChecksItemProofCanary = Literal[
    "pass",
    "fail",
    "unknown",
    "not_run",
]


class _VerdictChecksItemProofRequired(TypedDict):
    # the judged tree with the test files as they were when the work began
    old_tests: VerdictChecksItemProofOldTests
    # the judged tree without the session's other changes
    new_tests: VerdictChecksItemProofNewTests
    # the test files that the session changed; at most 20
    judging_files: List[str]
    # the tests, or the files, by which it weakened what judges it; at most 20
    weakened: List[str]


class VerdictChecksItemProof(_VerdictChecksItemProofRequired, total=False):
    """how it ended in scratch checkouts of mixed trees"""
    # the judged tree with one more test that must fail
    canary: VerdictChecksItemProofCanary
    # the hidden checks that did not pass, without their output
    notes: List[str]
    # why an outcome is unknown
    why: str


class VerdictChecksItemTests(TypedDict):
    """what its test runner says that it ran"""
    ran: int
    failed: int
    skipped: int


class _VerdictChecksItemRequired(TypedDict):
    name: str
    type: str
    outcome: VerdictChecksItemOutcome
    evidence: VerdictChecksItemEvidence
    feedback: Optional[str]
    duration_ms: int


class VerdictChecksItem(_VerdictChecksItemRequired, total=False):
    # the tests that fail beside a pass, all of which failed when the work began
    baseline_failures: List[str]
    # whether an earlier pass with the same inputs answered
    cached: bool
    # its outcome when the work began; one that passed before gives no evidence of the work
    before: VerdictChecksItemBefore
    # how it ended in scratch checkouts of mixed trees
    proof: VerdictChecksItemProof
    # a known runner showed that tests ran, and not how many
    tests_uncounted: bool
    # what its test runner says that it ran
    tests: Optional[VerdictChecksItemTests]
    # the tree that it ran on, where that was a scratch checkout
    tree: Optional[str]

VerdictSessionKnownBy = Literal[
    "output",
    "hook",
    "transcript",
    "latest",
    "process",
]

# the state of that session; running where its agent does not say it
VerdictSessionState = Literal[
    "running",
    "busy",
    "waiting",
    "idle",
]

VerdictSessionEndedBy = Literal[
    "itself",
    "timeout",
    "silence",
    "limit",
    "interrupt",
]


class VerdictSessionEnded(TypedDict):
    """how the process of the session ended, where watchdog ran it"""
    exit_code: Optional[int]
    signal: Optional[int]
    by: VerdictSessionEndedBy


class _VerdictSessionRequired(TypedDict):
    id: Optional[str]
    known_by: VerdictSessionKnownBy
    idle_seconds: Optional[int]


class VerdictSession(_VerdictSessionRequired, total=False):
    """the session that a question goes to"""
    # the agent that ran it, by the name or path of its preset
    agent: Optional[str]
    # the process of a live session that watchdog did not start
    pid: int
    # the state of that session; running where its agent does not say it
    state: VerdictSessionState
    # how the process of the session ended, where watchdog ran it
    ended: Optional[VerdictSessionEnded]


class VerdictIgnoredLostItem(TypedDict):
    path: str
    bytes: int
    # the id of the snapshot that has the content
    snapshot: Optional[str]

VerdictElsewhereItemState = Literal[
    "pushed",
    "merged",
    "unpushed",
    "deleted",
    "stashed",
]

VerdictElsewhereItemBy = Literal[
    "merge",
    "squash",
    "rebase",
    "reset",
]


class VerdictElsewhereItem(TypedDict):
    branch: Optional[str]
    commit: str
    commits: int
    subject: str
    state: VerdictElsewhereItemState
    by: Optional[VerdictElsewhereItemBy]
    on: Optional[str]

VerdictClaimsItemClaim = Literal[
    "committed",
    "clean_tree",
    "pushed",
    "tests_passed",
    "build_passed",
    "lint_passed",
    "pull_request",
    "file_written",
    "nothing_left",
]

VerdictClaimsItemState = Literal[
    "held",
    "contradicted",
    "unproved",
]


class VerdictClaimsItem(TypedDict):
    claim: VerdictClaimsItemClaim
    state: VerdictClaimsItemState
    fact: str
    quote: str

VerdictGatesOffItemHow = Literal[
    "hooks_path",
    "removed",
    "emptied",
    "changed",
    "not_executable",
    "no_verify",
    "unreadable",
]


class VerdictGatesOffItem(TypedDict):
    gate: str
    how: VerdictGatesOffItemHow
    detail: str


class VerdictProbeUsage(TypedDict):
    """what questions to the agent cost; a figure that it does not tell is null"""
    requests: int
    input_tokens: Optional[int]
    output_tokens: Optional[int]
    cost_usd: Optional[float]

VerdictBreakerState = Literal[
    "closed",
    "open",
    "half_open",
]


class _VerdictBreakerRequired(TypedDict):
    state: VerdictBreakerState
    strikes: int
    limit: int
    open_until: Optional[str]


class VerdictBreaker(_VerdictBreakerRequired, total=False):
    since: Optional[str]
    why: Optional[str]


class VerdictNotesItem(TypedDict):
    code: str
    detail: str

VerdictRefusedToolsItemCause = Literal[
    "permission",
    "not_offered",
    "read_only",
    "read_only_git",
]


class VerdictRefusedToolsItem(TypedDict):
    tool: str
    cause: VerdictRefusedToolsItemCause
    # the option of that program that allows it; null where it is not known
    allow_with: Optional[str]

VerdictLoopAgentsItemHeldBecause = Literal[
    "usage_limit",
    "overload",
]


class VerdictLoopAgentsItem(TypedDict):
    name: str
    sessions: int
    spent: Dict[str, Any]
    held_until: Optional[str]
    held_because: Optional[VerdictLoopAgentsItemHeldBecause]


class VerdictLoop(TypedDict, total=False):
    """only of `watchdog loop`: see docs/loop.md"""
    id: str
    begun_at: str
    first_baseline: str
    resumed: bool
    over: bool
    spent: Dict[str, Any]
    # what each agent of the loop did: its sessions, what they spent, and until when it gets none
    agents: List[VerdictLoopAgentsItem]
    history: List[Dict[str, Any]]


class _VerdictRequired(TypedDict):
    schema: Literal[1]
    # also the exit code: 0, 10, 11, 12, 13, 14, 15, 16 in this order
    status: VerdictStatus
    reason: VerdictReason
    complete: bool
    # how strong a complete is
    evidence: VerdictEvidence
    # one line for a person
    message: str
    # what the agent should do next; a text whenever the status is incomplete
    feedback: Optional[str]
    # when to look again, where it is known
    retry_at: Optional[str]
    # absolute path
    worktree: Optional[str]
    spec: Optional[str]
    branch: Optional[str]
    # the commit that HEAD named when the session began
    baseline: Optional[str]
    head: Optional[str]
    # null where it could not be read: unknown is never zero
    new_commits: Optional[int]
    # null where it could not be read: unknown is never zero
    imported_commits: Optional[int]
    # files of a net change whose new content was all there before the session; null where it could not be read
    brought: Optional[int]
    net_change: Optional[bool]
    # newest first
    commits: List[VerdictCommitsItem]
    # null where it was not needed
    changes: Optional[VerdictChanges]
    rescued: bool
    rescue: Optional[VerdictRescue]
    probes_used: int
    probes: List[VerdictProbesItem]
    checks: List[VerdictChecksItem]
    # the session that a question goes to
    session: Optional[VerdictSession]
    # uncommitted files that were there before the session: kept, and not its work
    inherited: int
    # an earlier answer stands, because nothing changed since then
    unchanged_since: Optional[str]
    # what questions to the agent cost; a figure that it does not tell is null
    probe_usage: VerdictProbeUsage
    strike: bool
    not_a_strike_because: Optional[str]
    breaker: Optional[VerdictBreaker]
    # words for what weakens the facts
    degraded: List[str]
    duration_ms: int


class Verdict(_VerdictRequired, total=False):
    """
    What watchdog judged: printed by check, run, loop, sweep and evaluate with --json. Fields may be added; none
    changes its meaning within schema 1.
    """
    # null where it could not be read: unknown is never zero
    made_here: Optional[int]
    # files that changed after the session's recorded end: kept, and nobody's work
    changed_since_end: int
    # what helpers of the session hold that HEAD lacks
    helpers: List[str]
    # ignored files of the session's begin that are gone or empty, the first 100
    ignored_lost: List[VerdictIgnoredLostItem]
    # the session's work that HEAD lacks, or has in another form
    elsewhere: List[VerdictElsewhereItem]
    # what the session's last words claim of its work, beside the facts
    claims: List[VerdictClaimsItem]
    # hooks of the repository that could refuse a commit or a push, and are off
    gates_off: List[VerdictGatesOffItem]
    # the same with a sentence
    notes: List[VerdictNotesItem]
    log: Optional[str]
    survivors: List[str]
    # the tools that the session's agent was refused by its own program
    refused_tools: List[VerdictRefusedToolsItem]
    # only of `watchdog loop`: iterations that ended, earlier processes of the same loop included
    iterations: int
    # only of `watchdog loop`: see docs/loop.md
    loop: VerdictLoop


class ContextSummariesItemDetectedActionsItem(TypedDict, total=False):
    type: str


class ContextSummariesItem(TypedDict, total=False):
    iteration: Optional[int]
    assistant_responses: List[str]
    detected_actions: List[ContextSummariesItemDetectedActionsItem]


class ContextPlanStepsItem(TypedDict, total=False):
    step_id: Optional[Union[int, str]]
    title: str
    status: str


class ContextPlan(TypedDict, total=False):
    objective: Optional[str]
    status: Optional[str]
    steps: List[ContextPlanStepsItem]


class ContextMessagesItemToolResult(TypedDict, total=False):
    id: Optional[str]
    name: Optional[str]
    content: Any
    is_error: Optional[bool]


class ContextMessagesItem(TypedDict, total=False):
    role: str
    # a text, a block, or a list of blocks
    content: Any
    # one call or a list: id, name
    tool_call: Any
    # calls, also as OpenAI's Chat Completions has them
    tool_calls: Any
    # makes the message the result of that call
    tool_call_id: Any
    # the kind of an item of OpenAI's Responses
    type: Any
    call_id: Any
    name: Any
    output: Any
    tool_result: Optional[ContextMessagesItemToolResult]


class ContextUsage(TypedDict, total=False):
    # null where it could not be read: unknown is never zero
    turns: Optional[int]
    # null where it could not be read: unknown is never zero
    input_tokens: Optional[int]
    # null where it could not be read: unknown is never zero
    output_tokens: Optional[int]
    cost_usd: Optional[float]
    wall_seconds: Optional[float]


class _ContextRequired(TypedDict):
    schema: Literal[1]


class Context(_ContextRequired, total=False):
    """
    What is known of a session beside git: stdin of watchdog evaluate and of custom checks. Every key but schema is
    optional; unknown keys pass.
    """
    worktree: Optional[str]
    spec: Optional[str]
    # any git revision, or `unborn`
    baseline: Optional[str]
    head: Optional[str]
    # of the loop, from 1
    iteration: Optional[int]
    # whether the agent says that it is done
    claims_done: Optional[bool]
    stop_reason: Optional[str]
    # structured output that the agent is about to give
    tentative_output: Any
    # the agent's last text
    output: Optional[str]
    # what the agent was asked; an echo of it is nobody's claim
    prompt: Optional[str]
    summaries: Optional[List[ContextSummariesItem]]
    plan: Optional[ContextPlan]
    messages: Optional[List[ContextMessagesItem]]
    usage: Optional[ContextUsage]
    background_tasks: Optional[List[Any]]


class _EventRequired(TypedDict):
    schema: Literal[1]
    # unique; a notification that is delivered twice has the same one
    id: str
    # when it happened, in UTC
    at: str
    # the worktree's stable name in the store
    worktree: str
    # the name of the work
    spec: Optional[str]
    # readers must expect kinds that they do not know
    kind: str
    # what else is known; its fields depend on the kind, see docs/events.md
    data: Optional[Dict[str, Any]]


class Event(_EventRequired, total=False):
    """
    An event of watchdog's journal: one line of `watchdog events --json`, the body of a webhook, and what a notified
    command reads on stdin. Fields and kinds may be added; none changes its meaning within schema 1.
    """
    # the worktree's top folder; in notifications only
    path: str
    # the machine's name in its fleet; in `watchdog events --fleet` only
    machine: str

ConfigAgentPreset1 = Literal[
    "claude",
    "codex",
    "gemini",
    "opencode",
    "qwen",
    "copilot",
    "cursor",
    "amp",
]

# the program and its arguments
ConfigArgv = List[str]


class ConfigAgent(TypedDict, total=False):
    # the model that answers probes; null is the agent's own choice
    model: Optional[str]
    # the agent that is asked
    preset: Union[ConfigAgentPreset1, str]
    # another program instead of the preset: the question on stdin, the answer on stdout. `WATCHDOG_PROBE=<n>`
    # counts from 1; `WATCHDOG_QUESTION` is `probe` (its state) or `plan` (for `rescue`)
    probe: Optional[ConfigArgv]

ConfigAgentsItemPreset1 = Literal[
    "claude",
    "codex",
    "gemini",
    "opencode",
    "qwen",
    "copilot",
    "cursor",
    "amp",
]


class _ConfigAgentsItemRequired(TypedDict):
    # the agent's own name, no two alike
    name: str


class ConfigAgentsItem(_ConfigAgentsItemRequired, total=False):
    # instead of a preset. The prompt is on its stdin, unless an argument has `{prompt}` or `{prompt_file}`
    command: Optional[ConfigArgv]
    # other agents of this list that take over at a limit, in this order
    fallback: List[str]
    # US dollars that its sessions of one loop or task may cost
    max_cost_usd: Optional[float]
    # the model that it works with; null is the agent's own choice
    model: Optional[str]
    # as in `agent`
    preset: Union[ConfigAgentsItemPreset1, str]
    # which tasks it takes; null takes those of any role
    role: Optional[str]
    # the folder of its linked worktree, from the root of the worktree that holds the tasks; no two alike
    worktree: Optional[str]


class ConfigBreaker(TypedDict, total=False):
    # how long it stays open before one trial; doubled after each trial that is a timeout again, up to a day
    cooldown_seconds: int
    # strikes that open the breaker
    limit: int

# how its checks combine
ConfigGroupMode = Literal[
    "all",
    "any",
    "first",
]


class ConfigGroup(TypedDict):
    # checks and groups of them
    checks: List[ConfigEntry]
    # how its checks combine
    mode: ConfigGroupMode

# which of the agent's texts count: its `last` message, those since it was last asked, or all of the `session`
ConfigSignalIn = Literal[
    "last",
    "iteration",
    "session",
]

# `line`: alone on a line; `tag`: the whole content of an element such as `<promise>DONE</promise>`
ConfigSignalMatch = Literal[
    "line",
    "word",
    "contains",
    "tag",
]


_ConfigSignalOdd = TypedDict("_ConfigSignalOdd", {"in": "ConfigSignalIn"}, total=False)


class _ConfigSignalRequired(_ConfigSignalOdd):
    # what to look for
    text: str
    type: Literal['signal']


class ConfigSignal(_ConfigSignalRequired, total=False):
    """The agent says an agreed text."""
    # whether upper and lower case are the same
    ignore_case: bool
    # whether only the last line that is not blank counts
    last_line: bool
    # `line`: alone on a line; `tag`: the whole content of an element such as `<promise>DONE</promise>`
    match: ConfigSignalMatch
    # stands in verdicts; the type where it is not given
    name: str
    # the element's name, for the match `tag`
    tag: str

# whether it passes where all that failed did before
ConfigCommandBaselineFailures = Literal[
    "refuse",
    "allow",
]

# inside the worktree, relative to its root
ConfigInsidePath = str

ConfigCommandProof1 = Literal[
    "auto",
    "off",
]

ConfigCommandLine = Union[str, "ConfigArgv"]


class ConfigCommandProof2(TypedDict):
    hidden: List[ConfigCommandLine]

ConfigCommandTestChanges1 = Literal[
    "expected",
    "refused",
]


class _ConfigCommandRequired(TypedDict):
    # a text is run by `sh -c`
    run: ConfigCommandLine
    type: Literal['command']


class ConfigCommand(_ConfigCommandRequired, total=False):
    """A program decides."""
    # whether it passes where all that failed did before
    baseline_failures: ConfigCommandBaselineFailures
    # it runs in a scratch checkout of HEAD with the session's work, where nothing is that git ignores
    clean: bool
    # the folder it runs in, inside the worktree; null is the root
    cwd: Optional[ConfigInsidePath]
    # the JUnit XML file that it writes, inside the worktree; it must be written during the run
    junit: Optional[str]
    # it runs when the work begins, in a scratch checkout of the baseline; a pass there starts no session
    must_fail_first: bool
    # stands in verdicts; the type where it is not given
    name: str
    # whether a pass is tried in scratch checkouts, with hidden checks
    proof: Union[ConfigCommandProof1, ConfigCommandProof2]
    # the longest pass that is tried so
    proof_seconds: int
    # what counts as met, see below
    success: str
    # lines at the end of each stream that go into the feedback where no failing test is known
    tail_lines: int
    # what an old test that fails on the work means: the task changes it, or nothing may
    test_changes: Optional[ConfigCommandTestChanges1]
    # its test files, below `cwd`; empty: by the names that runners know
    tests_are: List[ConfigInsidePath]
    # its deadline; then its whole process tree is ended, and the verdict is `review`/`verify_timeout`
    timeout_seconds: int

# inside the worktree, relative to its root, or absolute
ConfigFilePath = str


class _ConfigPlanRequired(TypedDict):
    type: Literal['plan']


class ConfigPlan(_ConfigPlanRequired, total=False):
    """Every step of a plan is done: a JSON file, a markdown checklist, or the agent's own list."""
    # the states that mean done, exactly so
    done: List[str]
    # how many open titles go into the feedback
    max_titles: int
    # stands in verdicts; the type where it is not given
    name: str
    # headings of a checklist, in any case, below which open boxes do not count
    optional_sections: List[str]
    # a JSON plan with `steps`, or a markdown checklist; null is the agent's own list
    path: Optional[ConfigFilePath]
    # whether there must be a plan at all
    required: bool


class _ConfigFeatureListRequired(TypedDict):
    type: Literal['feature_list']


class ConfigFeatureList(_ConfigFeatureListRequired, total=False):
    """Every feature of a list passes."""
    # whether nothing but `passes` may differ from the baseline commit's file; more features may be added
    freeze: bool
    # stands in verdicts; the type where it is not given
    name: str
    # the JSON file
    path: ConfigFilePath


class _ConfigGitRequired(TypedDict):
    type: Literal['git']


class ConfigGit(_ConfigGitRequired, total=False):
    """Commits made here with a net change, and the state of the worktree, decide."""
    # commits made here since the session began, with a net change; 0 asks for none
    min_commits: int
    # stands in verdicts; the type where it is not given
    name: str
    # whether files that changed since the baseline may hold no `<<<<<<<`, `=======`, `>>>>>>>` lines of a conflict
    no_conflict_markers: bool
    # paths that must be as they were when the work began, in HEAD, in the index and on disk, even after a pull
    protected: List[ConfigInsidePath]
    # whether nothing may be left uncommitted, and no merge or rebase half done
    require_clean: bool
    # whether a remote-tracking branch must reach HEAD, without a question over the network
    require_pushed: bool


class _ConfigFilesRequired(TypedDict):
    # each needs at least one file
    paths: List[ConfigInsidePath]
    type: Literal['files']


class ConfigFiles(_ConfigFilesRequired, total=False):
    """Each glob needs a file, by default one that is not empty."""
    # what the file must hold as well
    contains: Optional[str]
    # stands in verdicts; the type where it is not given
    name: str
    # whether an empty file is none
    non_empty: bool


class _ConfigIssueRequired(TypedDict):
    type: Literal['issue']


class ConfigIssue(_ConfigIssueRequired, total=False):
    """An issue of GitHub is closed or labelled, a pull request is merged."""
    # whether it must be closed
    closed: bool
    # a label that it must have
    label: Optional[str]
    # stands in verdicts; the type where it is not given
    name: str
    # the issue; required without `pull_request`
    number: Optional[int]
    # a pull request that must be merged
    pull_request: Optional[int]
    # the repository; null is that of the worktree
    repo: Optional[str]
    # whether nothing may be left uncommitted
    require_clean: bool
    # how long GitHub may take
    timeout_seconds: int

# which of the agent's texts count: its `last` message, those since it was last asked, or all of the `session`
ConfigStructuredIn = Literal[
    "last",
    "iteration",
    "session",
]


_ConfigStructuredOdd = TypedDict("_ConfigStructuredOdd", {"in": "ConfigStructuredIn"}, total=False)


class _ConfigStructuredRequired(_ConfigStructuredOdd):
    type: Literal['structured']


class ConfigStructured(_ConfigStructuredRequired, total=False):
    """The agent gave JSON of an agreed form."""
    # stands in verdicts; the type where it is not given
    name: str
    # fields with their values, or a list of names
    required: Union[Dict[str, Any], List[str]]
    # what the JSON must meet; at least one of the three is required
    schema: Dict[str, Any]
    # the word that marks the JSON
    tag: str


class _ConfigSqlResultRequired(TypedDict):
    type: Literal['sql_result']


class ConfigSqlResult(_ConfigSqlResultRequired, total=False):
    """A tool of the agent returned rows."""
    # the columns, in order; null is any
    expected_columns: Optional[List[str]]
    # rows at least
    min_rows: int
    # stands in verdicts; the type where it is not given
    name: str
    # the tool that returned the rows
    tool: str


class _ConfigJudgeRequired(TypedDict):
    # what a model answers with yes or no
    question: str
    type: Literal['judge']


class ConfigJudge(_ConfigJudgeRequired, total=False):
    """A model answers a question about the work."""
    # the model of the preset; null is that of `agent`
    model: Optional[str]
    # stands in verdicts; the type where it is not given
    name: str
    # how it is to decide
    rubric: Optional[str]
    # the program to ask, prompt on stdin and answer on stdout; null asks the agent's preset
    run: Optional[ConfigCommandLine]
    # how long the answer may take
    timeout_seconds: int


class _ConfigPhaseRequired(TypedDict):
    type: Literal['phase']


class ConfigPhase(_ConfigPhaseRequired, total=False):
    """A project is in its last phase."""
    # the project's field that holds the phase; without it the agent's words tell
    field: Optional[str]
    # the phase that completes it
    final: str
    # stands in verdicts; the type where it is not given
    name: str
    # who owns the project; null is the user of `gh`
    owner: Optional[str]
    # the project's number
    project: Optional[int]
    # how long GitHub may take
    timeout_seconds: int


class _ConfigIterationsRequired(TypedDict):
    # iterations of a loop, which is a count and no proof
    count: int
    type: Literal['iterations']


class ConfigIterations(_ConfigIterationsRequired, total=False):
    """So many iterations were made."""
    # stands in verdicts; the type where it is not given
    name: str

# `call`: started for each judgement. `stream`: started once, a line of JSON in and one out for each
ConfigCustomMode = Literal[
    "call",
    "stream",
]


class _ConfigCustomRequired(TypedDict):
    # the program
    run: ConfigCommandLine
    type: Literal['custom']


class ConfigCustom(_ConfigCustomRequired, total=False):
    """A program of yours judges the context."""
    # what a handler in TypeScript gets as its first argument; such a handler gives the prompts of a `loop`, too
    definition: Dict[str, Any]
    # `call`: started for each judgement. `stream`: started once, a line of JSON in and one out for each
    mode: ConfigCustomMode
    # stands in verdicts; the type where it is not given
    name: str
    # how long one judgement may take
    timeout_seconds: int


class _ConfigAlwaysRequired(TypedDict):
    type: Literal['always']


class ConfigAlways(_ConfigAlwaysRequired, total=False):
    """Met, whatever happened; its evidence is none."""
    # stands in verdicts; the type where it is not given
    name: str

ConfigEntry = Union["ConfigGroup", "ConfigSignal", "ConfigCommand", "ConfigPlan", "ConfigFeatureList", "ConfigGit", "ConfigFiles", "ConfigIssue", "ConfigStructured", "ConfigSqlResult", "ConfigJudge", "ConfigPhase", "ConfigIterations", "ConfigCustom", "ConfigAlways"]


class ConfigCompletion(TypedDict, total=False):
    # `limits.max_iterations`
    max_iterations: int
    # a `signal` check, which comes first
    signal: str
    # a `command` check
    verify: ConfigCommandLine


class ConfigCompletionCheck(TypedDict, total=False):
    # whether uncommitted work is rescued after the last round
    final_rescue_attempt: bool
    # rounds at most; 0 asks nobody
    max_probes: int
    # pause between rounds; a commit cuts it short
    probe_interval_seconds: int
    # deadline of one probe
    probe_timeout_seconds: int


class ConfigLimits(TypedDict, total=False):
    # for how long processes that outlive a session hold its verdict
    background_seconds: int
    # pause between iterations
    cooldown_seconds: int
    # after this instant nothing is started, such as `"2030-01-31T18:00:00Z"`
    deadline: Optional[str]
    # how long a session may be silent before it is ended; 0 never ends one; null is 1,800 for `loop` and `task`,
    # none for `run`
    idle_timeout_seconds: Optional[int]
    # programs, by name or glob, that hold no verdict when they outlive a session
    ignore_processes: List[str]
    # US dollars
    max_cost_usd: Optional[float]
    # iterations of `watchdog loop`
    max_iterations: int
    # how often in a row a stop hook may hold the agent; Claude Code itself gives up after eight
    max_stop_blocks: int
    # input and output tokens together
    max_total_tokens: Optional[int]
    # turns of the agent
    max_turns: Optional[int]
    # wall time of a loop, or of the one session of `run`
    max_wall_seconds: Optional[int]
    # programs that may ask for a halt: at each judgement one reads the context on stdin and answers `{"halt": bool,
    # "reason": "…"}` within 60 seconds; a halt is `failed`/`halted`, after a rescue
    sensors: List[ConfigArgv]
    # wall time of one session
    session_timeout_seconds: Optional[int]

# how the checks combine (see Groups)
ConfigMode = Literal[
    "all",
    "any",
    "first",
]

ConfigNotifyItemOnItem = Literal[
    "complete",
    "incomplete",
    "waiting",
    "review",
    "timeout",
    "stopped",
    "failed",
    "error",
    "new_commits",
    "rescued",
    "nothing_to_do",
    "checks_passed",
    "checks_unmet",
    "unfinished",
    "working",
    "operation_in_progress",
    "background_work",
    "session_active",
    "rate_limited",
    "locked",
    "dependencies",
    "no_criteria",
    "max_iterations",
    "verify_timeout",
    "verify_failed",
    "repeated_nothing_to_do",
    "disputed",
    "criteria_changed",
    "tests_weakened",
    "untrusted",
    "rescue_incomplete",
    "max_probes",
    "session_timeout",
    "session_idle",
    "breaker_open",
    "budget_exhausted",
    "deadline_exceeded",
    "agent_stopped",
    "interrupted",
    "verify_unrunnable",
    "agent_unrunnable",
    "halted",
    "no_baseline",
    "probe_error",
    "git_error",
    "not_a_repository",
    "config_error",
    "store_error",
    "snapshot_failed",
    "baseline",
    "session_started",
    "session_ended",
    "commits",
    "changes",
    "snapshot",
    "probe",
    "check",
    "rescue",
    "restore",
    "dropped",
    "expired",
    "verdict",
    "breaker",
    "trust",
    "degraded",
    "assigned",
    "started",
    "iteration",
    "agent_changed",
    "blocked",
    "pending",
    "limit",
]


class _ConfigNotifyItemRequired(TypedDict):
    # statuses or reasons of a verdict, such as `review` or `breaker_open`, or kinds of events
    on: List[ConfigNotifyItemOnItem]


class ConfigNotifyItem(_ConfigNotifyItemRequired, total=False):
    # the program to run then
    command: ConfigArgv
    # instead of a program: show it on the desktop
    desktop: Literal[True]
    # instead of a program: send it by mail, through the system's sendmail
    mail: Union[str, List[str]]
    # further attempts after one that failed
    retries: int
    # beside `url`: a message for people, in the form of this service or your own
    template: str
    # deadline of one attempt
    timeout_seconds: int
    # instead of a program: the address to post to, http or https
    url: str

# what decides without checks: `git` (commits) or `review` (a person)
ConfigOnNoCriteria = Literal[
    "git",
    "review",
]

# the order of checks: `given` is one after the other, as written
ConfigOrder = Literal[
    "cheap_first",
    "given",
]

# the weakest evidence that `complete` may have; weaker is `review`. `verified` wants a count of tests where
# commands judge
ConfigRequireEvidence = Literal[
    "verified",
    "committed",
    "counted",
    "claimed",
    "none",
]

# `plan`: the agent plans the commits, watchdog makes them; `single`: one commit of everything; `command`: yours;
# `snapshot`: commit nothing; `off`: not even a snapshot. All but `off` begin with a snapshot
ConfigRescueMode = Literal[
    "plan",
    "single",
    "command",
    "snapshot",
    "off",
]


class ConfigRescue(TypedDict, total=False):
    # write a git bundle of all refs to the state directory before each session that finds new commits
    bundle: bool
    # for the mode `command`, in the worktree, with `WATCHDOG_SPEC` and `WATCHDOG_SNAPSHOT`. Null is
    # `scripts/commit-rescue` of the worktree with the spec's name, if it is as it was accepted
    command: Optional[ConfigArgv]
    # names or globs that are never committed. A list given here replaces the default
    exclude: List[str]
    # how long snapshots are kept, in days, but for the newest of a spec
    keep_days: int
    # names or globs of ignored files that the snapshot before a session keeps apart, up to `max_snapshot_bytes`
    keep_ignored: List[str]
    # larger files, in bytes, are not committed, and are kept apart in snapshots
    max_bytes: int
    # with more changed files than this, nothing is committed
    max_files: int
    # bytes of new files together; the largest beyond it are left out of snapshots, and named. Null keeps all
    max_snapshot_bytes: Optional[int]
    # `plan`: the agent plans the commits, watchdog makes them; `single`: one commit of everything; `command`:
    # yours; `snapshot`: commit nothing; `off`: not even a snapshot. All but `off` begin with a snapshot
    mode: ConfigRescueMode
    # branches, by name or glob, that rescue never commits to; the work goes to `watchdog/rescue/<spec>`
    protect: List[str]
    # how long the work must stand still before `check --once`, `sweep` and `watch` commit it without a known end of
    # the session; also the age of a stale lock of git
    quiet_seconds: int
    # shortest time between snapshots during a session; 0 takes none. A snapshot is taken at the beginning where
    # there is something to keep, then once the changed work tree has rested for a third of this time, at most 10 s,
    # or after one more interval
    snapshot_seconds: int
    # deadline of the command, of the plan, of the commits, and of a lock of another git, each
    timeout_seconds: int
    # the last lines of each message, as `Key: value`. A list given here replaces the default
    trailers: List[str]


class ConfigTasks(TypedDict, total=False):
    # the folder of task files, inside the worktree
    dir: ConfigInsidePath


class Config(TypedDict, total=False):
    """
    The configuration of watchdog, version 1. What this schema cannot say, such as contradictions between dialects,
    the program says.
    """
    agent: ConfigAgent
    # the agents that work on tasks
    agents: List[ConfigAgentsItem]
    behavior: Dict[str, Any]
    breaker: ConfigBreaker
    # the criteria, see Checks. An empty list is the same as none: `on_no_criteria` decides
    checks: List[ConfigEntry]
    completion: ConfigCompletion
    completion_check: ConfigCompletionCheck
    # an older name of `completion_check.max_probes`
    completion_check_max_probes: int
    # an older name of `completion_check.probe_interval_seconds`
    completion_check_probe_interval: int
    # false is `completion_check.max_probes`: 0
    enable_smart_completion_check: bool
    # files that the session must not change, such as its tests
    guards: List[ConfigInsidePath]
    limits: ConfigLimits
    # how the checks combine (see Groups)
    mode: ConfigMode
    # whom to tell about verdicts and events
    notify: List[ConfigNotifyItem]
    # what decides without checks: `git` (commits) or `review` (a person)
    on_no_criteria: ConfigOnNoCriteria
    # the order of checks: `given` is one after the other, as written
    order: ConfigOrder
    # the weakest evidence that `complete` may have; weaker is `review`. `verified` wants a count of tests where
    # commands judge
    require_evidence: ConfigRequireEvidence
    rescue: ConfigRescue
    tasks: ConfigTasks
    # the version of this format; 1 is the only one
    version: Literal[1]
