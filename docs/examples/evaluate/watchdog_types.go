// Made by scripts/types from the JSON Schemas that `watchdog schema verdict|context|event|config` prints. Do not edit.

package main

// VerdictStatus is: also the exit code: 0, 10, 11, 12, 13, 14, 15, 16 in this order
type VerdictStatus string

// The values of VerdictStatus that this version knows.
const (
	VerdictStatusComplete   VerdictStatus = "complete"
	VerdictStatusIncomplete VerdictStatus = "incomplete"
	VerdictStatusWaiting    VerdictStatus = "waiting"
	VerdictStatusReview     VerdictStatus = "review"
	VerdictStatusTimeout    VerdictStatus = "timeout"
	VerdictStatusStopped    VerdictStatus = "stopped"
	VerdictStatusFailed     VerdictStatus = "failed"
	VerdictStatusError      VerdictStatus = "error"
)

// VerdictReason is a part of what its name begins with.
type VerdictReason string

// The values of VerdictReason that this version knows.
const (
	VerdictReasonNewCommits          VerdictReason = "new_commits"
	VerdictReasonRescued             VerdictReason = "rescued"
	VerdictReasonNothingToDo         VerdictReason = "nothing_to_do"
	VerdictReasonChecksPassed        VerdictReason = "checks_passed"
	VerdictReasonChecksUnmet         VerdictReason = "checks_unmet"
	VerdictReasonUnfinished          VerdictReason = "unfinished"
	VerdictReasonWorking             VerdictReason = "working"
	VerdictReasonOperationInProgress VerdictReason = "operation_in_progress"
	VerdictReasonBackgroundWork      VerdictReason = "background_work"
	VerdictReasonSessionActive       VerdictReason = "session_active"
	VerdictReasonRateLimited         VerdictReason = "rate_limited"
	VerdictReasonLocked              VerdictReason = "locked"
	VerdictReasonDependencies        VerdictReason = "dependencies"
	VerdictReasonNoCriteria          VerdictReason = "no_criteria"
	VerdictReasonMaxIterations       VerdictReason = "max_iterations"
	VerdictReasonVerifyTimeout       VerdictReason = "verify_timeout"
	VerdictReasonVerifyFailed        VerdictReason = "verify_failed"
	VerdictReasonRepeatedNothingToDo VerdictReason = "repeated_nothing_to_do"
	VerdictReasonDisputed            VerdictReason = "disputed"
	VerdictReasonCriteriaChanged     VerdictReason = "criteria_changed"
	VerdictReasonTestsWeakened       VerdictReason = "tests_weakened"
	VerdictReasonUntrusted           VerdictReason = "untrusted"
	VerdictReasonRescueIncomplete    VerdictReason = "rescue_incomplete"
	VerdictReasonMaxProbes           VerdictReason = "max_probes"
	VerdictReasonSessionTimeout      VerdictReason = "session_timeout"
	VerdictReasonSessionIdle         VerdictReason = "session_idle"
	VerdictReasonBreakerOpen         VerdictReason = "breaker_open"
	VerdictReasonBudgetExhausted     VerdictReason = "budget_exhausted"
	VerdictReasonDeadlineExceeded    VerdictReason = "deadline_exceeded"
	VerdictReasonAgentStopped        VerdictReason = "agent_stopped"
	VerdictReasonInterrupted         VerdictReason = "interrupted"
	VerdictReasonVerifyUnrunnable    VerdictReason = "verify_unrunnable"
	VerdictReasonAgentUnrunnable     VerdictReason = "agent_unrunnable"
	VerdictReasonHalted              VerdictReason = "halted"
	VerdictReasonNoBaseline          VerdictReason = "no_baseline"
	VerdictReasonProbeError          VerdictReason = "probe_error"
	VerdictReasonGitError            VerdictReason = "git_error"
	VerdictReasonNotARepository      VerdictReason = "not_a_repository"
	VerdictReasonConfigError         VerdictReason = "config_error"
	VerdictReasonStoreError          VerdictReason = "store_error"
	VerdictReasonSnapshotFailed      VerdictReason = "snapshot_failed"
)

// VerdictEvidence is: how strong a complete is
type VerdictEvidence string

// The values of VerdictEvidence that this version knows.
const (
	VerdictEvidenceVerified  VerdictEvidence = "verified"
	VerdictEvidenceCommitted VerdictEvidence = "committed"
	VerdictEvidenceCounted   VerdictEvidence = "counted"
	VerdictEvidenceClaimed   VerdictEvidence = "claimed"
	VerdictEvidenceNone      VerdictEvidence = "none"
)

// VerdictCommitsItemOrigin is a part of what its name begins with.
type VerdictCommitsItemOrigin string

// The values of VerdictCommitsItemOrigin that this version knows.
const (
	VerdictCommitsItemOriginMadeHere VerdictCommitsItemOrigin = "made_here"
	VerdictCommitsItemOriginImported VerdictCommitsItemOrigin = "imported"
	VerdictCommitsItemOriginRescued  VerdictCommitsItemOrigin = "rescued"
)

// VerdictCommitsItem is a part of what its name begins with.
type VerdictCommitsItem struct {
	Id      string                   `json:"id"`
	Subject string                   `json:"subject"`
	Origin  VerdictCommitsItemOrigin `json:"origin"`
}

// VerdictChanges is: null where it was not needed
type VerdictChanges struct {
	Staged     int64 `json:"staged"`
	Unstaged   int64 `json:"unstaged"`
	Untracked  int64 `json:"untracked"`
	Conflicted int64 `json:"conflicted"`
	// a merge, rebase or the like that is half done
	Operation *string `json:"operation"`
	// percent-escaped where not UTF-8
	Paths []string `json:"paths"`
}

// VerdictRescueLeftOutItem is a part of what its name begins with.
type VerdictRescueLeftOutItem struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// VerdictRescue is a part of what its name begins with.
type VerdictRescue struct {
	Snapshot *string                    `json:"snapshot"`
	Commits  int64                      `json:"commits"`
	Branch   *string                    `json:"branch,omitempty"`
	LeftOut  []VerdictRescueLeftOutItem `json:"left_out"`
}

// VerdictProbesItemOutcome is a part of what its name begins with.
type VerdictProbesItemOutcome string

// The values of VerdictProbesItemOutcome that this version knows.
const (
	VerdictProbesItemOutcomeReply          VerdictProbesItemOutcome = "reply"
	VerdictProbesItemOutcomeUnreadable     VerdictProbesItemOutcome = "unreadable"
	VerdictProbesItemOutcomeEmpty          VerdictProbesItemOutcome = "empty"
	VerdictProbesItemOutcomeTimedOut       VerdictProbesItemOutcome = "timed_out"
	VerdictProbesItemOutcomeNoConversation VerdictProbesItemOutcome = "no_conversation"
	VerdictProbesItemOutcomeNotInstalled   VerdictProbesItemOutcome = "not_installed"
	VerdictProbesItemOutcomeNotLoggedIn    VerdictProbesItemOutcome = "not_logged_in"
	VerdictProbesItemOutcomeOverloaded     VerdictProbesItemOutcome = "overloaded"
	VerdictProbesItemOutcomeRateLimited    VerdictProbesItemOutcome = "rate_limited"
	VerdictProbesItemOutcomeFailed         VerdictProbesItemOutcome = "failed"
)

// VerdictProbesItemReplyStatus is a part of what its name begins with.
type VerdictProbesItemReplyStatus string

// The values of VerdictProbesItemReplyStatus that this version knows.
const (
	VerdictProbesItemReplyStatusComplete VerdictProbesItemReplyStatus = "complete"
	VerdictProbesItemReplyStatusWaiting  VerdictProbesItemReplyStatus = "waiting"
	VerdictProbesItemReplyStatusWorking  VerdictProbesItemReplyStatus = "working"
)

// VerdictProbesItemReply is a part of what its name begins with.
type VerdictProbesItemReply struct {
	Status VerdictProbesItemReplyStatus `json:"status"`
}

// VerdictProbesItemUsage is: what questions to the agent cost; a figure that it does not tell is null
type VerdictProbesItemUsage struct {
	Requests     int64    `json:"requests"`
	InputTokens  *int64   `json:"input_tokens"`
	OutputTokens *int64   `json:"output_tokens"`
	CostUsd      *float64 `json:"cost_usd"`
}

// VerdictProbesItem is a part of what its name begins with.
type VerdictProbesItem struct {
	At         string                   `json:"at"`
	DurationMs int64                    `json:"duration_ms"`
	Outcome    VerdictProbesItemOutcome `json:"outcome"`
	Reply      *VerdictProbesItemReply  `json:"reply"`
	Why        *string                  `json:"why,omitempty"`
	RetryAt    *string                  `json:"retry_at,omitempty"`
	Disputed   *string                  `json:"disputed,omitempty"`
	// the session that answered
	SessionId *string `json:"session_id,omitempty"`
	// what questions to the agent cost; a figure that it does not tell is null
	Usage *VerdictProbesItemUsage `json:"usage,omitempty"`
}

// VerdictChecksItemOutcome is a part of what its name begins with.
type VerdictChecksItemOutcome string

// The values of VerdictChecksItemOutcome that this version knows.
const (
	VerdictChecksItemOutcomePass       VerdictChecksItemOutcome = "pass"
	VerdictChecksItemOutcomeUnmet      VerdictChecksItemOutcome = "unmet"
	VerdictChecksItemOutcomeWaiting    VerdictChecksItemOutcome = "waiting"
	VerdictChecksItemOutcomeUnrunnable VerdictChecksItemOutcome = "unrunnable"
	VerdictChecksItemOutcomeFailed     VerdictChecksItemOutcome = "failed"
	VerdictChecksItemOutcomeTimedOut   VerdictChecksItemOutcome = "timed_out"
	VerdictChecksItemOutcomeSkipped    VerdictChecksItemOutcome = "skipped"
)

// VerdictChecksItemEvidence is a part of what its name begins with.
type VerdictChecksItemEvidence string

// The values of VerdictChecksItemEvidence that this version knows.
const (
	VerdictChecksItemEvidenceVerified  VerdictChecksItemEvidence = "verified"
	VerdictChecksItemEvidenceCommitted VerdictChecksItemEvidence = "committed"
	VerdictChecksItemEvidenceCounted   VerdictChecksItemEvidence = "counted"
	VerdictChecksItemEvidenceClaimed   VerdictChecksItemEvidence = "claimed"
	VerdictChecksItemEvidenceNone      VerdictChecksItemEvidence = "none"
)

// VerdictChecksItemBefore is: its outcome when the work began; one that passed before gives no evidence of the work
type VerdictChecksItemBefore string

// The values of VerdictChecksItemBefore that this version knows.
const (
	VerdictChecksItemBeforePassed  VerdictChecksItemBefore = "passed"
	VerdictChecksItemBeforeFailed  VerdictChecksItemBefore = "failed"
	VerdictChecksItemBeforeUnknown VerdictChecksItemBefore = "unknown"
)

// VerdictChecksItemProofOldTests is: the judged tree with the test files as they were when the work began
type VerdictChecksItemProofOldTests string

// The values of VerdictChecksItemProofOldTests that this version knows.
const (
	VerdictChecksItemProofOldTestsPass    VerdictChecksItemProofOldTests = "pass"
	VerdictChecksItemProofOldTestsFail    VerdictChecksItemProofOldTests = "fail"
	VerdictChecksItemProofOldTestsUnknown VerdictChecksItemProofOldTests = "unknown"
	VerdictChecksItemProofOldTestsNotRun  VerdictChecksItemProofOldTests = "not_run"
)

// VerdictChecksItemProofNewTests is: the judged tree without the session's other changes
type VerdictChecksItemProofNewTests string

// The values of VerdictChecksItemProofNewTests that this version knows.
const (
	VerdictChecksItemProofNewTestsPass    VerdictChecksItemProofNewTests = "pass"
	VerdictChecksItemProofNewTestsFail    VerdictChecksItemProofNewTests = "fail"
	VerdictChecksItemProofNewTestsUnknown VerdictChecksItemProofNewTests = "unknown"
	VerdictChecksItemProofNewTestsNotRun  VerdictChecksItemProofNewTests = "not_run"
)

// VerdictChecksItemProofCanary is: the judged tree with one more test that must fail
type VerdictChecksItemProofCanary string

// The values of VerdictChecksItemProofCanary that this version knows.
const (
	VerdictChecksItemProofCanaryPass    VerdictChecksItemProofCanary = "pass"
	VerdictChecksItemProofCanaryFail    VerdictChecksItemProofCanary = "fail"
	VerdictChecksItemProofCanaryUnknown VerdictChecksItemProofCanary = "unknown"
	VerdictChecksItemProofCanaryNotRun  VerdictChecksItemProofCanary = "not_run"
)

// VerdictChecksItemProof is: how it ended in scratch checkouts of mixed trees
type VerdictChecksItemProof struct {
	// the judged tree with the test files as they were when the work began
	OldTests VerdictChecksItemProofOldTests `json:"old_tests"`
	// the judged tree without the session's other changes
	NewTests VerdictChecksItemProofNewTests `json:"new_tests"`
	// the judged tree with one more test that must fail
	Canary *VerdictChecksItemProofCanary `json:"canary,omitempty"`
	// the test files that the session changed; at most 20
	JudgingFiles []string `json:"judging_files"`
	// the tests, or the files, by which it weakened what judges it; at most 20
	Weakened []string `json:"weakened"`
	// the hidden checks that did not pass, without their output
	Notes []string `json:"notes,omitempty"`
	// why an outcome is unknown
	Why *string `json:"why,omitempty"`
}

// VerdictChecksItemTests is: what its test runner says that it ran
type VerdictChecksItemTests struct {
	Ran     int64 `json:"ran"`
	Failed  int64 `json:"failed"`
	Skipped int64 `json:"skipped"`
}

// VerdictChecksItem is a part of what its name begins with.
type VerdictChecksItem struct {
	Name     string                    `json:"name"`
	Type     string                    `json:"type"`
	Outcome  VerdictChecksItemOutcome  `json:"outcome"`
	Evidence VerdictChecksItemEvidence `json:"evidence"`
	Feedback *string                   `json:"feedback"`
	// the tests that fail beside a pass, all of which failed when the work began
	BaselineFailures []string `json:"baseline_failures,omitempty"`
	DurationMs       int64    `json:"duration_ms"`
	// whether an earlier pass with the same inputs answered
	Cached *bool `json:"cached,omitempty"`
	// its outcome when the work began; one that passed before gives no evidence of the work
	Before *VerdictChecksItemBefore `json:"before,omitempty"`
	// how it ended in scratch checkouts of mixed trees
	Proof *VerdictChecksItemProof `json:"proof,omitempty"`
	// a known runner showed that tests ran, and not how many
	TestsUncounted *bool `json:"tests_uncounted,omitempty"`
	// what its test runner says that it ran
	Tests *VerdictChecksItemTests `json:"tests,omitempty"`
	// the tree that it ran on, where that was a scratch checkout
	Tree *string `json:"tree,omitempty"`
}

// VerdictSessionKnownBy is a part of what its name begins with.
type VerdictSessionKnownBy string

// The values of VerdictSessionKnownBy that this version knows.
const (
	VerdictSessionKnownByOutput     VerdictSessionKnownBy = "output"
	VerdictSessionKnownByHook       VerdictSessionKnownBy = "hook"
	VerdictSessionKnownByTranscript VerdictSessionKnownBy = "transcript"
	VerdictSessionKnownByLatest     VerdictSessionKnownBy = "latest"
	VerdictSessionKnownByProcess    VerdictSessionKnownBy = "process"
)

// VerdictSessionState is: the state of that session; running where its agent does not say it
type VerdictSessionState string

// The values of VerdictSessionState that this version knows.
const (
	VerdictSessionStateRunning VerdictSessionState = "running"
	VerdictSessionStateBusy    VerdictSessionState = "busy"
	VerdictSessionStateWaiting VerdictSessionState = "waiting"
	VerdictSessionStateIdle    VerdictSessionState = "idle"
)

// VerdictSessionEndedBy is a part of what its name begins with.
type VerdictSessionEndedBy string

// The values of VerdictSessionEndedBy that this version knows.
const (
	VerdictSessionEndedByItself    VerdictSessionEndedBy = "itself"
	VerdictSessionEndedByTimeout   VerdictSessionEndedBy = "timeout"
	VerdictSessionEndedBySilence   VerdictSessionEndedBy = "silence"
	VerdictSessionEndedByLimit     VerdictSessionEndedBy = "limit"
	VerdictSessionEndedByInterrupt VerdictSessionEndedBy = "interrupt"
)

// VerdictSessionEnded is: how the process of the session ended, where watchdog ran it
type VerdictSessionEnded struct {
	ExitCode *int64                `json:"exit_code"`
	Signal   *int64                `json:"signal"`
	By       VerdictSessionEndedBy `json:"by"`
}

// VerdictSession is: the session that a question goes to
type VerdictSession struct {
	Id *string `json:"id"`
	// the agent that ran it, by the name or path of its preset
	Agent       *string               `json:"agent,omitempty"`
	KnownBy     VerdictSessionKnownBy `json:"known_by"`
	IdleSeconds *int64                `json:"idle_seconds"`
	// the process of a live session that watchdog did not start
	Pid *int64 `json:"pid,omitempty"`
	// the state of that session; running where its agent does not say it
	State *VerdictSessionState `json:"state,omitempty"`
	// how the process of the session ended, where watchdog ran it
	Ended *VerdictSessionEnded `json:"ended,omitempty"`
}

// VerdictIgnoredLostItem is a part of what its name begins with.
type VerdictIgnoredLostItem struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	// the id of the snapshot that has the content
	Snapshot *string `json:"snapshot"`
}

// VerdictElsewhereItemState is a part of what its name begins with.
type VerdictElsewhereItemState string

// The values of VerdictElsewhereItemState that this version knows.
const (
	VerdictElsewhereItemStatePushed   VerdictElsewhereItemState = "pushed"
	VerdictElsewhereItemStateMerged   VerdictElsewhereItemState = "merged"
	VerdictElsewhereItemStateUnpushed VerdictElsewhereItemState = "unpushed"
	VerdictElsewhereItemStateDeleted  VerdictElsewhereItemState = "deleted"
	VerdictElsewhereItemStateStashed  VerdictElsewhereItemState = "stashed"
)

// VerdictElsewhereItemBy is a part of what its name begins with.
type VerdictElsewhereItemBy string

// The values of VerdictElsewhereItemBy that this version knows.
const (
	VerdictElsewhereItemByMerge  VerdictElsewhereItemBy = "merge"
	VerdictElsewhereItemBySquash VerdictElsewhereItemBy = "squash"
	VerdictElsewhereItemByRebase VerdictElsewhereItemBy = "rebase"
	VerdictElsewhereItemByReset  VerdictElsewhereItemBy = "reset"
)

// VerdictElsewhereItem is a part of what its name begins with.
type VerdictElsewhereItem struct {
	Branch  *string                   `json:"branch"`
	Commit  string                    `json:"commit"`
	Commits int64                     `json:"commits"`
	Subject string                    `json:"subject"`
	State   VerdictElsewhereItemState `json:"state"`
	By      *VerdictElsewhereItemBy   `json:"by"`
	On      *string                   `json:"on"`
}

// VerdictClaimsItemClaim is a part of what its name begins with.
type VerdictClaimsItemClaim string

// The values of VerdictClaimsItemClaim that this version knows.
const (
	VerdictClaimsItemClaimCommitted   VerdictClaimsItemClaim = "committed"
	VerdictClaimsItemClaimCleanTree   VerdictClaimsItemClaim = "clean_tree"
	VerdictClaimsItemClaimPushed      VerdictClaimsItemClaim = "pushed"
	VerdictClaimsItemClaimTestsPassed VerdictClaimsItemClaim = "tests_passed"
	VerdictClaimsItemClaimBuildPassed VerdictClaimsItemClaim = "build_passed"
	VerdictClaimsItemClaimLintPassed  VerdictClaimsItemClaim = "lint_passed"
	VerdictClaimsItemClaimPullRequest VerdictClaimsItemClaim = "pull_request"
	VerdictClaimsItemClaimFileWritten VerdictClaimsItemClaim = "file_written"
	VerdictClaimsItemClaimNothingLeft VerdictClaimsItemClaim = "nothing_left"
)

// VerdictClaimsItemState is a part of what its name begins with.
type VerdictClaimsItemState string

// The values of VerdictClaimsItemState that this version knows.
const (
	VerdictClaimsItemStateHeld         VerdictClaimsItemState = "held"
	VerdictClaimsItemStateContradicted VerdictClaimsItemState = "contradicted"
	VerdictClaimsItemStateUnproved     VerdictClaimsItemState = "unproved"
)

// VerdictClaimsItem is a part of what its name begins with.
type VerdictClaimsItem struct {
	Claim VerdictClaimsItemClaim `json:"claim"`
	State VerdictClaimsItemState `json:"state"`
	Fact  string                 `json:"fact"`
	Quote string                 `json:"quote"`
}

// VerdictGatesOffItemHow is a part of what its name begins with.
type VerdictGatesOffItemHow string

// The values of VerdictGatesOffItemHow that this version knows.
const (
	VerdictGatesOffItemHowHooksPath     VerdictGatesOffItemHow = "hooks_path"
	VerdictGatesOffItemHowRemoved       VerdictGatesOffItemHow = "removed"
	VerdictGatesOffItemHowEmptied       VerdictGatesOffItemHow = "emptied"
	VerdictGatesOffItemHowChanged       VerdictGatesOffItemHow = "changed"
	VerdictGatesOffItemHowNotExecutable VerdictGatesOffItemHow = "not_executable"
	VerdictGatesOffItemHowNoVerify      VerdictGatesOffItemHow = "no_verify"
	VerdictGatesOffItemHowUnreadable    VerdictGatesOffItemHow = "unreadable"
)

// VerdictGatesOffItem is a part of what its name begins with.
type VerdictGatesOffItem struct {
	Gate   string                 `json:"gate"`
	How    VerdictGatesOffItemHow `json:"how"`
	Detail string                 `json:"detail"`
}

// VerdictProbeUsage is: what questions to the agent cost; a figure that it does not tell is null
type VerdictProbeUsage struct {
	Requests     int64    `json:"requests"`
	InputTokens  *int64   `json:"input_tokens"`
	OutputTokens *int64   `json:"output_tokens"`
	CostUsd      *float64 `json:"cost_usd"`
}

// VerdictBreakerState is a part of what its name begins with.
type VerdictBreakerState string

// The values of VerdictBreakerState that this version knows.
const (
	VerdictBreakerStateClosed   VerdictBreakerState = "closed"
	VerdictBreakerStateOpen     VerdictBreakerState = "open"
	VerdictBreakerStateHalfOpen VerdictBreakerState = "half_open"
)

// VerdictBreaker is a part of what its name begins with.
type VerdictBreaker struct {
	State     VerdictBreakerState `json:"state"`
	Strikes   int64               `json:"strikes"`
	Limit     int64               `json:"limit"`
	OpenUntil *string             `json:"open_until"`
	Since     *string             `json:"since,omitempty"`
	Why       *string             `json:"why,omitempty"`
}

// VerdictNotesItem is a part of what its name begins with.
type VerdictNotesItem struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// VerdictRefusedToolsItemCause is a part of what its name begins with.
type VerdictRefusedToolsItemCause string

// The values of VerdictRefusedToolsItemCause that this version knows.
const (
	VerdictRefusedToolsItemCausePermission  VerdictRefusedToolsItemCause = "permission"
	VerdictRefusedToolsItemCauseNotOffered  VerdictRefusedToolsItemCause = "not_offered"
	VerdictRefusedToolsItemCauseReadOnly    VerdictRefusedToolsItemCause = "read_only"
	VerdictRefusedToolsItemCauseReadOnlyGit VerdictRefusedToolsItemCause = "read_only_git"
)

// VerdictRefusedToolsItem is a part of what its name begins with.
type VerdictRefusedToolsItem struct {
	Tool  string                       `json:"tool"`
	Cause VerdictRefusedToolsItemCause `json:"cause"`
	// the option of that program that allows it; null where it is not known
	AllowWith *string `json:"allow_with"`
}

// VerdictLoopAgentsItemHeldBecause is a part of what its name begins with.
type VerdictLoopAgentsItemHeldBecause string

// The values of VerdictLoopAgentsItemHeldBecause that this version knows.
const (
	VerdictLoopAgentsItemHeldBecauseUsageLimit VerdictLoopAgentsItemHeldBecause = "usage_limit"
	VerdictLoopAgentsItemHeldBecauseOverload   VerdictLoopAgentsItemHeldBecause = "overload"
)

// VerdictLoopAgentsItem is a part of what its name begins with.
type VerdictLoopAgentsItem struct {
	Name        string                            `json:"name"`
	Sessions    int64                             `json:"sessions"`
	Spent       map[string]any                    `json:"spent"`
	HeldUntil   *string                           `json:"held_until"`
	HeldBecause *VerdictLoopAgentsItemHeldBecause `json:"held_because"`
}

// VerdictLoop is: only of `watchdog loop`: see docs/loop.md
type VerdictLoop struct {
	Id            *string        `json:"id,omitempty"`
	BegunAt       *string        `json:"begun_at,omitempty"`
	FirstBaseline *string        `json:"first_baseline,omitempty"`
	Resumed       *bool          `json:"resumed,omitempty"`
	Over          *bool          `json:"over,omitempty"`
	Spent         map[string]any `json:"spent,omitempty"`
	// what each agent of the loop did: its sessions, what they spent, and until when it gets none
	Agents  []VerdictLoopAgentsItem `json:"agents,omitempty"`
	History []map[string]any        `json:"history,omitempty"`
}

// Verdict is: What watchdog judged: printed by check, run, loop, sweep and evaluate with --json. Fields may be
// added; none changes its meaning within schema 1.
type Verdict struct {
	Schema int64 `json:"schema"`
	// also the exit code: 0, 10, 11, 12, 13, 14, 15, 16 in this order
	Status   VerdictStatus `json:"status"`
	Reason   VerdictReason `json:"reason"`
	Complete bool          `json:"complete"`
	// how strong a complete is
	Evidence VerdictEvidence `json:"evidence"`
	// one line for a person
	Message string `json:"message"`
	// what the agent should do next; a text whenever the status is incomplete
	Feedback *string `json:"feedback"`
	// when to look again, where it is known
	RetryAt *string `json:"retry_at"`
	// absolute path
	Worktree *string `json:"worktree"`
	Spec     *string `json:"spec"`
	Branch   *string `json:"branch"`
	// the commit that HEAD named when the session began
	Baseline *string `json:"baseline"`
	Head     *string `json:"head"`
	// null where it could not be read: unknown is never zero
	NewCommits *int64 `json:"new_commits"`
	// null where it could not be read: unknown is never zero
	MadeHere *int64 `json:"made_here,omitempty"`
	// null where it could not be read: unknown is never zero
	ImportedCommits *int64 `json:"imported_commits"`
	// files of a net change whose new content was all there before the session; null where it could not be read
	Brought   *int64 `json:"brought"`
	NetChange *bool  `json:"net_change"`
	// newest first
	Commits []VerdictCommitsItem `json:"commits"`
	// null where it was not needed
	Changes    *VerdictChanges     `json:"changes"`
	Rescued    bool                `json:"rescued"`
	Rescue     *VerdictRescue      `json:"rescue"`
	ProbesUsed int64               `json:"probes_used"`
	Probes     []VerdictProbesItem `json:"probes"`
	Checks     []VerdictChecksItem `json:"checks"`
	// the session that a question goes to
	Session *VerdictSession `json:"session"`
	// uncommitted files that were there before the session: kept, and not its work
	Inherited int64 `json:"inherited"`
	// files that changed after the session's recorded end: kept, and nobody's work
	ChangedSinceEnd *int64 `json:"changed_since_end,omitempty"`
	// an earlier answer stands, because nothing changed since then
	UnchangedSince *string `json:"unchanged_since"`
	// what helpers of the session hold that HEAD lacks
	Helpers []string `json:"helpers,omitempty"`
	// ignored files of the session's begin that are gone or empty, the first 100
	IgnoredLost []VerdictIgnoredLostItem `json:"ignored_lost,omitempty"`
	// the session's work that HEAD lacks, or has in another form
	Elsewhere []VerdictElsewhereItem `json:"elsewhere,omitempty"`
	// what the session's last words claim of its work, beside the facts
	Claims []VerdictClaimsItem `json:"claims,omitempty"`
	// hooks of the repository that could refuse a commit or a push, and are off
	GatesOff []VerdictGatesOffItem `json:"gates_off,omitempty"`
	// what questions to the agent cost; a figure that it does not tell is null
	ProbeUsage        VerdictProbeUsage `json:"probe_usage"`
	Strike            bool              `json:"strike"`
	NotAStrikeBecause *string           `json:"not_a_strike_because"`
	Breaker           *VerdictBreaker   `json:"breaker"`
	// words for what weakens the facts
	Degraded []string `json:"degraded"`
	// the same with a sentence
	Notes     []VerdictNotesItem `json:"notes,omitempty"`
	Log       *string            `json:"log,omitempty"`
	Survivors []string           `json:"survivors,omitempty"`
	// the tools that the session's agent was refused by its own program
	RefusedTools []VerdictRefusedToolsItem `json:"refused_tools,omitempty"`
	DurationMs   int64                     `json:"duration_ms"`
	// only of `watchdog loop`: iterations that ended, earlier processes of the same loop included
	Iterations *int64 `json:"iterations,omitempty"`
	// only of `watchdog loop`: see docs/loop.md
	Loop *VerdictLoop `json:"loop,omitempty"`
}

// ContextSummariesItemDetectedActionsItem is a part of what its name begins with.
type ContextSummariesItemDetectedActionsItem struct {
	Type *string `json:"type,omitempty"`
}

// ContextSummariesItem is a part of what its name begins with.
type ContextSummariesItem struct {
	Iteration          *int64                                    `json:"iteration,omitempty"`
	AssistantResponses []string                                  `json:"assistant_responses,omitempty"`
	DetectedActions    []ContextSummariesItemDetectedActionsItem `json:"detected_actions,omitempty"`
}

// ContextPlanStepsItem is a part of what its name begins with.
type ContextPlanStepsItem struct {
	StepId any     `json:"step_id,omitempty"`
	Title  *string `json:"title,omitempty"`
	Status *string `json:"status,omitempty"`
}

// ContextPlan is a part of what its name begins with.
type ContextPlan struct {
	Objective *string                `json:"objective,omitempty"`
	Status    *string                `json:"status,omitempty"`
	Steps     []ContextPlanStepsItem `json:"steps,omitempty"`
}

// ContextMessagesItemToolResult is a part of what its name begins with.
type ContextMessagesItemToolResult struct {
	Id      *string `json:"id,omitempty"`
	Name    *string `json:"name,omitempty"`
	Content any     `json:"content,omitempty"`
	IsError *bool   `json:"is_error,omitempty"`
}

// ContextMessagesItem is a part of what its name begins with.
type ContextMessagesItem struct {
	Role *string `json:"role,omitempty"`
	// a text, a block, or a list of blocks
	Content any `json:"content,omitempty"`
	// one call or a list: id, name
	ToolCall any `json:"tool_call,omitempty"`
	// calls, also as OpenAI's Chat Completions has them
	ToolCalls any `json:"tool_calls,omitempty"`
	// makes the message the result of that call
	ToolCallId any `json:"tool_call_id,omitempty"`
	// the kind of an item of OpenAI's Responses
	Type       any                            `json:"type,omitempty"`
	CallId     any                            `json:"call_id,omitempty"`
	Name       any                            `json:"name,omitempty"`
	Output     any                            `json:"output,omitempty"`
	ToolResult *ContextMessagesItemToolResult `json:"tool_result,omitempty"`
}

// ContextUsage is a part of what its name begins with.
type ContextUsage struct {
	// null where it could not be read: unknown is never zero
	Turns *int64 `json:"turns,omitempty"`
	// null where it could not be read: unknown is never zero
	InputTokens *int64 `json:"input_tokens,omitempty"`
	// null where it could not be read: unknown is never zero
	OutputTokens *int64   `json:"output_tokens,omitempty"`
	CostUsd      *float64 `json:"cost_usd,omitempty"`
	WallSeconds  *float64 `json:"wall_seconds,omitempty"`
}

// Context is: What is known of a session beside git: stdin of watchdog evaluate and of custom checks. Every key but
// schema is optional; unknown keys pass.
type Context struct {
	Schema   int64   `json:"schema"`
	Worktree *string `json:"worktree,omitempty"`
	Spec     *string `json:"spec,omitempty"`
	// any git revision, or `unborn`
	Baseline *string `json:"baseline,omitempty"`
	Head     *string `json:"head,omitempty"`
	// of the loop, from 1
	Iteration *int64 `json:"iteration,omitempty"`
	// whether the agent says that it is done
	ClaimsDone *bool   `json:"claims_done,omitempty"`
	StopReason *string `json:"stop_reason,omitempty"`
	// structured output that the agent is about to give
	TentativeOutput any `json:"tentative_output,omitempty"`
	// the agent's last text
	Output *string `json:"output,omitempty"`
	// what the agent was asked; an echo of it is nobody's claim
	Prompt          *string                `json:"prompt,omitempty"`
	Summaries       []ContextSummariesItem `json:"summaries,omitempty"`
	Plan            *ContextPlan           `json:"plan,omitempty"`
	Messages        []ContextMessagesItem  `json:"messages,omitempty"`
	Usage           *ContextUsage          `json:"usage,omitempty"`
	BackgroundTasks []any                  `json:"background_tasks,omitempty"`
}

// Event is: An event of watchdog's journal: one line of `watchdog events --json`, the body of a webhook, and what a
// notified command reads on stdin. Fields and kinds may be added; none changes its meaning within schema 1.
type Event struct {
	Schema int64 `json:"schema"`
	// unique; a notification that is delivered twice has the same one
	Id string `json:"id"`
	// when it happened, in UTC
	At string `json:"at"`
	// the worktree's stable name in the store
	Worktree string `json:"worktree"`
	// the worktree's top folder; in notifications only
	Path *string `json:"path,omitempty"`
	// the machine's name in its fleet; in `watchdog events --fleet` only
	Machine *string `json:"machine,omitempty"`
	// the name of the work
	Spec *string `json:"spec"`
	// readers must expect kinds that they do not know
	Kind string `json:"kind"`
	// what else is known; its fields depend on the kind, see docs/events.md
	Data map[string]any `json:"data"`
}

// ConfigAgentPreset1 is a part of what its name begins with.
type ConfigAgentPreset1 string

// The values of ConfigAgentPreset1 that this version knows.
const (
	ConfigAgentPreset1Claude   ConfigAgentPreset1 = "claude"
	ConfigAgentPreset1Codex    ConfigAgentPreset1 = "codex"
	ConfigAgentPreset1Gemini   ConfigAgentPreset1 = "gemini"
	ConfigAgentPreset1Opencode ConfigAgentPreset1 = "opencode"
	ConfigAgentPreset1Qwen     ConfigAgentPreset1 = "qwen"
	ConfigAgentPreset1Copilot  ConfigAgentPreset1 = "copilot"
	ConfigAgentPreset1Cursor   ConfigAgentPreset1 = "cursor"
	ConfigAgentPreset1Amp      ConfigAgentPreset1 = "amp"
)

// ConfigArgv is: the program and its arguments
type ConfigArgv = []string

// ConfigAgent is a part of what its name begins with.
type ConfigAgent struct {
	// the model that answers probes; null is the agent's own choice
	Model *string `json:"model,omitempty"`
	// the agent that is asked
	Preset any `json:"preset,omitempty"`
	// another program instead of the preset: the question on stdin, the answer on stdout. `WATCHDOG_PROBE=<n>`
	// counts from 1; `WATCHDOG_QUESTION` is `probe` (its state) or `plan` (for `rescue`)
	Probe *ConfigArgv `json:"probe,omitempty"`
}

// ConfigAgentsItemPreset1 is a part of what its name begins with.
type ConfigAgentsItemPreset1 string

// The values of ConfigAgentsItemPreset1 that this version knows.
const (
	ConfigAgentsItemPreset1Claude   ConfigAgentsItemPreset1 = "claude"
	ConfigAgentsItemPreset1Codex    ConfigAgentsItemPreset1 = "codex"
	ConfigAgentsItemPreset1Gemini   ConfigAgentsItemPreset1 = "gemini"
	ConfigAgentsItemPreset1Opencode ConfigAgentsItemPreset1 = "opencode"
	ConfigAgentsItemPreset1Qwen     ConfigAgentsItemPreset1 = "qwen"
	ConfigAgentsItemPreset1Copilot  ConfigAgentsItemPreset1 = "copilot"
	ConfigAgentsItemPreset1Cursor   ConfigAgentsItemPreset1 = "cursor"
	ConfigAgentsItemPreset1Amp      ConfigAgentsItemPreset1 = "amp"
)

// ConfigAgentsItem is a part of what its name begins with.
type ConfigAgentsItem struct {
	// instead of a preset. The prompt is on its stdin, unless an argument has `{prompt}` or `{prompt_file}`
	Command *ConfigArgv `json:"command,omitempty"`
	// other agents of this list that take over at a limit, in this order
	Fallback []string `json:"fallback,omitempty"`
	// US dollars that its sessions of one loop or task may cost
	MaxCostUsd *float64 `json:"max_cost_usd,omitempty"`
	// the model that it works with; null is the agent's own choice
	Model *string `json:"model,omitempty"`
	// the agent's own name, no two alike
	Name string `json:"name"`
	// as in `agent`
	Preset any `json:"preset,omitempty"`
	// which tasks it takes; null takes those of any role
	Role *string `json:"role,omitempty"`
	// the folder of its linked worktree, from the root of the worktree that holds the tasks; no two alike
	Worktree *string `json:"worktree,omitempty"`
}

// ConfigBreaker is a part of what its name begins with.
type ConfigBreaker struct {
	// how long it stays open before one trial; doubled after each trial that is a timeout again, up to a day
	CooldownSeconds *int64 `json:"cooldown_seconds,omitempty"`
	// strikes that open the breaker
	Limit *int64 `json:"limit,omitempty"`
}

// ConfigGroupMode is: how its checks combine
type ConfigGroupMode string

// The values of ConfigGroupMode that this version knows.
const (
	ConfigGroupModeAll   ConfigGroupMode = "all"
	ConfigGroupModeAny   ConfigGroupMode = "any"
	ConfigGroupModeFirst ConfigGroupMode = "first"
)

// ConfigGroup is a part of what its name begins with.
type ConfigGroup struct {
	// checks and groups of them
	Checks []ConfigEntry `json:"checks"`
	// how its checks combine
	Mode ConfigGroupMode `json:"mode"`
}

// ConfigSignalIn is: which of the agent's texts count: its `last` message, those since it was last asked, or all of
// the `session`
type ConfigSignalIn string

// The values of ConfigSignalIn that this version knows.
const (
	ConfigSignalInLast      ConfigSignalIn = "last"
	ConfigSignalInIteration ConfigSignalIn = "iteration"
	ConfigSignalInSession   ConfigSignalIn = "session"
)

// ConfigSignalMatch is: `line`: alone on a line; `tag`: the whole content of an element such as
// `<promise>DONE</promise>`
type ConfigSignalMatch string

// The values of ConfigSignalMatch that this version knows.
const (
	ConfigSignalMatchLine     ConfigSignalMatch = "line"
	ConfigSignalMatchWord     ConfigSignalMatch = "word"
	ConfigSignalMatchContains ConfigSignalMatch = "contains"
	ConfigSignalMatchTag      ConfigSignalMatch = "tag"
)

// ConfigSignal is: The agent says an agreed text.
type ConfigSignal struct {
	// whether upper and lower case are the same
	IgnoreCase *bool `json:"ignore_case,omitempty"`
	// which of the agent's texts count: its `last` message, those since it was last asked, or all of the
	// `session`
	In *ConfigSignalIn `json:"in,omitempty"`
	// whether only the last line that is not blank counts
	LastLine *bool `json:"last_line,omitempty"`
	// `line`: alone on a line; `tag`: the whole content of an element such as `<promise>DONE</promise>`
	Match *ConfigSignalMatch `json:"match,omitempty"`
	// stands in verdicts; the type where it is not given
	Name *string `json:"name,omitempty"`
	// the element's name, for the match `tag`
	Tag *string `json:"tag,omitempty"`
	// what to look for
	Text string `json:"text"`
	Type string `json:"type"`
}

// ConfigCommandBaselineFailures is: whether it passes where all that failed did before
type ConfigCommandBaselineFailures string

// The values of ConfigCommandBaselineFailures that this version knows.
const (
	ConfigCommandBaselineFailuresRefuse ConfigCommandBaselineFailures = "refuse"
	ConfigCommandBaselineFailuresAllow  ConfigCommandBaselineFailures = "allow"
)

// ConfigInsidePath is: inside the worktree, relative to its root
type ConfigInsidePath = string

// ConfigCommandProof1 is a part of what its name begins with.
type ConfigCommandProof1 string

// The values of ConfigCommandProof1 that this version knows.
const (
	ConfigCommandProof1Auto ConfigCommandProof1 = "auto"
	ConfigCommandProof1Off  ConfigCommandProof1 = "off"
)

// ConfigCommandLine is a part of what its name begins with.
type ConfigCommandLine = any

// ConfigCommandProof2 is a part of what its name begins with.
type ConfigCommandProof2 struct {
	Hidden []ConfigCommandLine `json:"hidden"`
}

// ConfigCommandTestChanges1 is a part of what its name begins with.
type ConfigCommandTestChanges1 string

// The values of ConfigCommandTestChanges1 that this version knows.
const (
	ConfigCommandTestChanges1Expected ConfigCommandTestChanges1 = "expected"
	ConfigCommandTestChanges1Refused  ConfigCommandTestChanges1 = "refused"
)

// ConfigCommand is: A program decides.
type ConfigCommand struct {
	// whether it passes where all that failed did before
	BaselineFailures *ConfigCommandBaselineFailures `json:"baseline_failures,omitempty"`
	// it runs in a scratch checkout of HEAD with the session's work, where nothing is that git ignores
	Clean *bool `json:"clean,omitempty"`
	// the folder it runs in, inside the worktree; null is the root
	Cwd *ConfigInsidePath `json:"cwd,omitempty"`
	// the JUnit XML file that it writes, inside the worktree; it must be written during the run
	Junit *string `json:"junit,omitempty"`
	// it runs when the work begins, in a scratch checkout of the baseline; a pass there starts no session
	MustFailFirst *bool `json:"must_fail_first,omitempty"`
	// stands in verdicts; the type where it is not given
	Name *string `json:"name,omitempty"`
	// whether a pass is tried in scratch checkouts, with hidden checks
	Proof any `json:"proof,omitempty"`
	// the longest pass that is tried so
	ProofSeconds *int64 `json:"proof_seconds,omitempty"`
	// a text is run by `sh -c`
	Run ConfigCommandLine `json:"run"`
	// what counts as met, see below
	Success *string `json:"success,omitempty"`
	// lines at the end of each stream that go into the feedback where no failing test is known
	TailLines *int64 `json:"tail_lines,omitempty"`
	// what an old test that fails on the work means: the task changes it, or nothing may
	TestChanges *ConfigCommandTestChanges1 `json:"test_changes,omitempty"`
	// its test files, below `cwd`; empty: by the names that runners know
	TestsAre []ConfigInsidePath `json:"tests_are,omitempty"`
	// its deadline; then its whole process tree is ended, and the verdict is `review`/`verify_timeout`
	TimeoutSeconds *int64 `json:"timeout_seconds,omitempty"`
	Type           string `json:"type"`
}

// ConfigFilePath is: inside the worktree, relative to its root, or absolute
type ConfigFilePath = string

// ConfigPlan is: Every step of a plan is done: a JSON file, a markdown checklist, or the agent's own list.
type ConfigPlan struct {
	// the states that mean done, exactly so
	Done []string `json:"done,omitempty"`
	// how many open titles go into the feedback
	MaxTitles *int64 `json:"max_titles,omitempty"`
	// stands in verdicts; the type where it is not given
	Name *string `json:"name,omitempty"`
	// headings of a checklist, in any case, below which open boxes do not count
	OptionalSections []string `json:"optional_sections,omitempty"`
	// a JSON plan with `steps`, or a markdown checklist; null is the agent's own list
	Path *ConfigFilePath `json:"path,omitempty"`
	// whether there must be a plan at all
	Required *bool  `json:"required,omitempty"`
	Type     string `json:"type"`
}

// ConfigFeatureList is: Every feature of a list passes.
type ConfigFeatureList struct {
	// whether nothing but `passes` may differ from the baseline commit's file; more features may be added
	Freeze *bool `json:"freeze,omitempty"`
	// stands in verdicts; the type where it is not given
	Name *string `json:"name,omitempty"`
	// the JSON file
	Path *ConfigFilePath `json:"path,omitempty"`
	Type string          `json:"type"`
}

// ConfigGit is: Commits made here with a net change, and the state of the worktree, decide.
type ConfigGit struct {
	// commits made here since the session began, with a net change; 0 asks for none
	MinCommits *int64 `json:"min_commits,omitempty"`
	// stands in verdicts; the type where it is not given
	Name *string `json:"name,omitempty"`
	// whether files that changed since the baseline may hold no `<<<<<<<`, `=======`, `>>>>>>>` lines of a
	// conflict
	NoConflictMarkers *bool `json:"no_conflict_markers,omitempty"`
	// paths that must be as they were when the work began, in HEAD, in the index and on disk, even after a pull
	Protected []ConfigInsidePath `json:"protected,omitempty"`
	// whether nothing may be left uncommitted, and no merge or rebase half done
	RequireClean *bool `json:"require_clean,omitempty"`
	// whether a remote-tracking branch must reach HEAD, without a question over the network
	RequirePushed *bool  `json:"require_pushed,omitempty"`
	Type          string `json:"type"`
}

// ConfigFiles is: Each glob needs a file, by default one that is not empty.
type ConfigFiles struct {
	// what the file must hold as well
	Contains *string `json:"contains,omitempty"`
	// stands in verdicts; the type where it is not given
	Name *string `json:"name,omitempty"`
	// whether an empty file is none
	NonEmpty *bool `json:"non_empty,omitempty"`
	// each needs at least one file
	Paths []ConfigInsidePath `json:"paths"`
	Type  string             `json:"type"`
}

// ConfigIssue is: An issue of GitHub is closed or labelled, a pull request is merged.
type ConfigIssue struct {
	// whether it must be closed
	Closed *bool `json:"closed,omitempty"`
	// a label that it must have
	Label *string `json:"label,omitempty"`
	// stands in verdicts; the type where it is not given
	Name *string `json:"name,omitempty"`
	// the issue; required without `pull_request`
	Number *int64 `json:"number,omitempty"`
	// a pull request that must be merged
	PullRequest *int64 `json:"pull_request,omitempty"`
	// the repository; null is that of the worktree
	Repo *string `json:"repo,omitempty"`
	// whether nothing may be left uncommitted
	RequireClean *bool `json:"require_clean,omitempty"`
	// how long GitHub may take
	TimeoutSeconds *int64 `json:"timeout_seconds,omitempty"`
	Type           string `json:"type"`
}

// ConfigStructuredIn is: which of the agent's texts count: its `last` message, those since it was last asked, or
// all of the `session`
type ConfigStructuredIn string

// The values of ConfigStructuredIn that this version knows.
const (
	ConfigStructuredInLast      ConfigStructuredIn = "last"
	ConfigStructuredInIteration ConfigStructuredIn = "iteration"
	ConfigStructuredInSession   ConfigStructuredIn = "session"
)

// ConfigStructured is: The agent gave JSON of an agreed form.
type ConfigStructured struct {
	// which of the agent's texts count: its `last` message, those since it was last asked, or all of the
	// `session`
	In *ConfigStructuredIn `json:"in,omitempty"`
	// stands in verdicts; the type where it is not given
	Name *string `json:"name,omitempty"`
	// fields with their values, or a list of names
	Required any `json:"required,omitempty"`
	// what the JSON must meet; at least one of the three is required
	Schema map[string]any `json:"schema,omitempty"`
	// the word that marks the JSON
	Tag  *string `json:"tag,omitempty"`
	Type string  `json:"type"`
}

// ConfigSqlResult is: A tool of the agent returned rows.
type ConfigSqlResult struct {
	// the columns, in order; null is any
	ExpectedColumns []string `json:"expected_columns,omitempty"`
	// rows at least
	MinRows *int64 `json:"min_rows,omitempty"`
	// stands in verdicts; the type where it is not given
	Name *string `json:"name,omitempty"`
	// the tool that returned the rows
	Tool *string `json:"tool,omitempty"`
	Type string  `json:"type"`
}

// ConfigJudge is: A model answers a question about the work.
type ConfigJudge struct {
	// the model of the preset; null is that of `agent`
	Model *string `json:"model,omitempty"`
	// stands in verdicts; the type where it is not given
	Name *string `json:"name,omitempty"`
	// what a model answers with yes or no
	Question string `json:"question"`
	// how it is to decide
	Rubric *string `json:"rubric,omitempty"`
	// the program to ask, prompt on stdin and answer on stdout; null asks the agent's preset
	Run ConfigCommandLine `json:"run,omitempty"`
	// how long the answer may take
	TimeoutSeconds *int64 `json:"timeout_seconds,omitempty"`
	Type           string `json:"type"`
}

// ConfigPhase is: A project is in its last phase.
type ConfigPhase struct {
	// the project's field that holds the phase; without it the agent's words tell
	Field *string `json:"field,omitempty"`
	// the phase that completes it
	Final *string `json:"final,omitempty"`
	// stands in verdicts; the type where it is not given
	Name *string `json:"name,omitempty"`
	// who owns the project; null is the user of `gh`
	Owner *string `json:"owner,omitempty"`
	// the project's number
	Project *int64 `json:"project,omitempty"`
	// how long GitHub may take
	TimeoutSeconds *int64 `json:"timeout_seconds,omitempty"`
	Type           string `json:"type"`
}

// ConfigIterations is: So many iterations were made.
type ConfigIterations struct {
	// iterations of a loop, which is a count and no proof
	Count int64 `json:"count"`
	// stands in verdicts; the type where it is not given
	Name *string `json:"name,omitempty"`
	Type string  `json:"type"`
}

// ConfigCustomMode is: `call`: started for each judgement. `stream`: started once, a line of JSON in and one out
// for each
type ConfigCustomMode string

// The values of ConfigCustomMode that this version knows.
const (
	ConfigCustomModeCall   ConfigCustomMode = "call"
	ConfigCustomModeStream ConfigCustomMode = "stream"
)

// ConfigCustom is: A program of yours judges the context.
type ConfigCustom struct {
	// what a handler in TypeScript gets as its first argument; such a handler gives the prompts of a `loop`, too
	Definition map[string]any `json:"definition,omitempty"`
	// `call`: started for each judgement. `stream`: started once, a line of JSON in and one out for each
	Mode *ConfigCustomMode `json:"mode,omitempty"`
	// stands in verdicts; the type where it is not given
	Name *string `json:"name,omitempty"`
	// the program
	Run ConfigCommandLine `json:"run"`
	// how long one judgement may take
	TimeoutSeconds *int64 `json:"timeout_seconds,omitempty"`
	Type           string `json:"type"`
}

// ConfigAlways is: Met, whatever happened; its evidence is none.
type ConfigAlways struct {
	// stands in verdicts; the type where it is not given
	Name *string `json:"name,omitempty"`
	Type string  `json:"type"`
}

// ConfigEntry is a part of what its name begins with.
type ConfigEntry = any

// ConfigCompletion is a part of what its name begins with.
type ConfigCompletion struct {
	// `limits.max_iterations`
	MaxIterations *int64 `json:"max_iterations,omitempty"`
	// a `signal` check, which comes first
	Signal *string `json:"signal,omitempty"`
	// a `command` check
	Verify ConfigCommandLine `json:"verify,omitempty"`
}

// ConfigCompletionCheck is a part of what its name begins with.
type ConfigCompletionCheck struct {
	// whether uncommitted work is rescued after the last round
	FinalRescueAttempt *bool `json:"final_rescue_attempt,omitempty"`
	// rounds at most; 0 asks nobody
	MaxProbes *int64 `json:"max_probes,omitempty"`
	// pause between rounds; a commit cuts it short
	ProbeIntervalSeconds *int64 `json:"probe_interval_seconds,omitempty"`
	// deadline of one probe
	ProbeTimeoutSeconds *int64 `json:"probe_timeout_seconds,omitempty"`
}

// ConfigLimits is a part of what its name begins with.
type ConfigLimits struct {
	// for how long processes that outlive a session hold its verdict
	BackgroundSeconds *int64 `json:"background_seconds,omitempty"`
	// pause between iterations
	CooldownSeconds *int64 `json:"cooldown_seconds,omitempty"`
	// after this instant nothing is started, such as `"2030-01-31T18:00:00Z"`
	Deadline *string `json:"deadline,omitempty"`
	// how long a session may be silent before it is ended; 0 never ends one; null is 1,800 for `loop` and
	// `task`, none for `run`
	IdleTimeoutSeconds *int64 `json:"idle_timeout_seconds,omitempty"`
	// programs, by name or glob, that hold no verdict when they outlive a session
	IgnoreProcesses []string `json:"ignore_processes,omitempty"`
	// US dollars
	MaxCostUsd *float64 `json:"max_cost_usd,omitempty"`
	// iterations of `watchdog loop`
	MaxIterations *int64 `json:"max_iterations,omitempty"`
	// how often in a row a stop hook may hold the agent; Claude Code itself gives up after eight
	MaxStopBlocks *int64 `json:"max_stop_blocks,omitempty"`
	// input and output tokens together
	MaxTotalTokens *int64 `json:"max_total_tokens,omitempty"`
	// turns of the agent
	MaxTurns *int64 `json:"max_turns,omitempty"`
	// wall time of a loop, or of the one session of `run`
	MaxWallSeconds *int64 `json:"max_wall_seconds,omitempty"`
	// programs that may ask for a halt: at each judgement one reads the context on stdin and answers `{"halt":
	// bool, "reason": "…"}` within 60 seconds; a halt is `failed`/`halted`, after a rescue
	Sensors []ConfigArgv `json:"sensors,omitempty"`
	// wall time of one session
	SessionTimeoutSeconds *int64 `json:"session_timeout_seconds,omitempty"`
}

// ConfigMode is: how the checks combine (see Groups)
type ConfigMode string

// The values of ConfigMode that this version knows.
const (
	ConfigModeAll   ConfigMode = "all"
	ConfigModeAny   ConfigMode = "any"
	ConfigModeFirst ConfigMode = "first"
)

// ConfigNotifyItemOnItem is a part of what its name begins with.
type ConfigNotifyItemOnItem string

// The values of ConfigNotifyItemOnItem that this version knows.
const (
	ConfigNotifyItemOnItemComplete            ConfigNotifyItemOnItem = "complete"
	ConfigNotifyItemOnItemIncomplete          ConfigNotifyItemOnItem = "incomplete"
	ConfigNotifyItemOnItemWaiting             ConfigNotifyItemOnItem = "waiting"
	ConfigNotifyItemOnItemReview              ConfigNotifyItemOnItem = "review"
	ConfigNotifyItemOnItemTimeout             ConfigNotifyItemOnItem = "timeout"
	ConfigNotifyItemOnItemStopped             ConfigNotifyItemOnItem = "stopped"
	ConfigNotifyItemOnItemFailed              ConfigNotifyItemOnItem = "failed"
	ConfigNotifyItemOnItemError               ConfigNotifyItemOnItem = "error"
	ConfigNotifyItemOnItemNewCommits          ConfigNotifyItemOnItem = "new_commits"
	ConfigNotifyItemOnItemRescued             ConfigNotifyItemOnItem = "rescued"
	ConfigNotifyItemOnItemNothingToDo         ConfigNotifyItemOnItem = "nothing_to_do"
	ConfigNotifyItemOnItemChecksPassed        ConfigNotifyItemOnItem = "checks_passed"
	ConfigNotifyItemOnItemChecksUnmet         ConfigNotifyItemOnItem = "checks_unmet"
	ConfigNotifyItemOnItemUnfinished          ConfigNotifyItemOnItem = "unfinished"
	ConfigNotifyItemOnItemWorking             ConfigNotifyItemOnItem = "working"
	ConfigNotifyItemOnItemOperationInProgress ConfigNotifyItemOnItem = "operation_in_progress"
	ConfigNotifyItemOnItemBackgroundWork      ConfigNotifyItemOnItem = "background_work"
	ConfigNotifyItemOnItemSessionActive       ConfigNotifyItemOnItem = "session_active"
	ConfigNotifyItemOnItemRateLimited         ConfigNotifyItemOnItem = "rate_limited"
	ConfigNotifyItemOnItemLocked              ConfigNotifyItemOnItem = "locked"
	ConfigNotifyItemOnItemDependencies        ConfigNotifyItemOnItem = "dependencies"
	ConfigNotifyItemOnItemNoCriteria          ConfigNotifyItemOnItem = "no_criteria"
	ConfigNotifyItemOnItemMaxIterations       ConfigNotifyItemOnItem = "max_iterations"
	ConfigNotifyItemOnItemVerifyTimeout       ConfigNotifyItemOnItem = "verify_timeout"
	ConfigNotifyItemOnItemVerifyFailed        ConfigNotifyItemOnItem = "verify_failed"
	ConfigNotifyItemOnItemRepeatedNothingToDo ConfigNotifyItemOnItem = "repeated_nothing_to_do"
	ConfigNotifyItemOnItemDisputed            ConfigNotifyItemOnItem = "disputed"
	ConfigNotifyItemOnItemCriteriaChanged     ConfigNotifyItemOnItem = "criteria_changed"
	ConfigNotifyItemOnItemTestsWeakened       ConfigNotifyItemOnItem = "tests_weakened"
	ConfigNotifyItemOnItemUntrusted           ConfigNotifyItemOnItem = "untrusted"
	ConfigNotifyItemOnItemRescueIncomplete    ConfigNotifyItemOnItem = "rescue_incomplete"
	ConfigNotifyItemOnItemMaxProbes           ConfigNotifyItemOnItem = "max_probes"
	ConfigNotifyItemOnItemSessionTimeout      ConfigNotifyItemOnItem = "session_timeout"
	ConfigNotifyItemOnItemSessionIdle         ConfigNotifyItemOnItem = "session_idle"
	ConfigNotifyItemOnItemBreakerOpen         ConfigNotifyItemOnItem = "breaker_open"
	ConfigNotifyItemOnItemBudgetExhausted     ConfigNotifyItemOnItem = "budget_exhausted"
	ConfigNotifyItemOnItemDeadlineExceeded    ConfigNotifyItemOnItem = "deadline_exceeded"
	ConfigNotifyItemOnItemAgentStopped        ConfigNotifyItemOnItem = "agent_stopped"
	ConfigNotifyItemOnItemInterrupted         ConfigNotifyItemOnItem = "interrupted"
	ConfigNotifyItemOnItemVerifyUnrunnable    ConfigNotifyItemOnItem = "verify_unrunnable"
	ConfigNotifyItemOnItemAgentUnrunnable     ConfigNotifyItemOnItem = "agent_unrunnable"
	ConfigNotifyItemOnItemHalted              ConfigNotifyItemOnItem = "halted"
	ConfigNotifyItemOnItemNoBaseline          ConfigNotifyItemOnItem = "no_baseline"
	ConfigNotifyItemOnItemProbeError          ConfigNotifyItemOnItem = "probe_error"
	ConfigNotifyItemOnItemGitError            ConfigNotifyItemOnItem = "git_error"
	ConfigNotifyItemOnItemNotARepository      ConfigNotifyItemOnItem = "not_a_repository"
	ConfigNotifyItemOnItemConfigError         ConfigNotifyItemOnItem = "config_error"
	ConfigNotifyItemOnItemStoreError          ConfigNotifyItemOnItem = "store_error"
	ConfigNotifyItemOnItemSnapshotFailed      ConfigNotifyItemOnItem = "snapshot_failed"
	ConfigNotifyItemOnItemBaseline            ConfigNotifyItemOnItem = "baseline"
	ConfigNotifyItemOnItemSessionStarted      ConfigNotifyItemOnItem = "session_started"
	ConfigNotifyItemOnItemSessionEnded        ConfigNotifyItemOnItem = "session_ended"
	ConfigNotifyItemOnItemCommits             ConfigNotifyItemOnItem = "commits"
	ConfigNotifyItemOnItemChanges             ConfigNotifyItemOnItem = "changes"
	ConfigNotifyItemOnItemSnapshot            ConfigNotifyItemOnItem = "snapshot"
	ConfigNotifyItemOnItemProbe               ConfigNotifyItemOnItem = "probe"
	ConfigNotifyItemOnItemCheck               ConfigNotifyItemOnItem = "check"
	ConfigNotifyItemOnItemRescue              ConfigNotifyItemOnItem = "rescue"
	ConfigNotifyItemOnItemRestore             ConfigNotifyItemOnItem = "restore"
	ConfigNotifyItemOnItemDropped             ConfigNotifyItemOnItem = "dropped"
	ConfigNotifyItemOnItemExpired             ConfigNotifyItemOnItem = "expired"
	ConfigNotifyItemOnItemVerdict             ConfigNotifyItemOnItem = "verdict"
	ConfigNotifyItemOnItemBreaker             ConfigNotifyItemOnItem = "breaker"
	ConfigNotifyItemOnItemTrust               ConfigNotifyItemOnItem = "trust"
	ConfigNotifyItemOnItemDegraded            ConfigNotifyItemOnItem = "degraded"
	ConfigNotifyItemOnItemAssigned            ConfigNotifyItemOnItem = "assigned"
	ConfigNotifyItemOnItemStarted             ConfigNotifyItemOnItem = "started"
	ConfigNotifyItemOnItemIteration           ConfigNotifyItemOnItem = "iteration"
	ConfigNotifyItemOnItemAgentChanged        ConfigNotifyItemOnItem = "agent_changed"
	ConfigNotifyItemOnItemBlocked             ConfigNotifyItemOnItem = "blocked"
	ConfigNotifyItemOnItemPending             ConfigNotifyItemOnItem = "pending"
	ConfigNotifyItemOnItemLimit               ConfigNotifyItemOnItem = "limit"
)

// ConfigNotifyItem is a part of what its name begins with.
type ConfigNotifyItem struct {
	// the program to run then
	Command *ConfigArgv `json:"command,omitempty"`
	// instead of a program: show it on the desktop
	Desktop *bool `json:"desktop,omitempty"`
	// instead of a program: send it by mail, through the system's sendmail
	Mail any `json:"mail,omitempty"`
	// statuses or reasons of a verdict, such as `review` or `breaker_open`, or kinds of events
	On []ConfigNotifyItemOnItem `json:"on"`
	// further attempts after one that failed
	Retries *int64 `json:"retries,omitempty"`
	// beside `url`: a message for people, in the form of this service or your own
	Template *string `json:"template,omitempty"`
	// deadline of one attempt
	TimeoutSeconds *int64 `json:"timeout_seconds,omitempty"`
	// instead of a program: the address to post to, http or https
	Url *string `json:"url,omitempty"`
}

// ConfigOnNoCriteria is: what decides without checks: `git` (commits) or `review` (a person)
type ConfigOnNoCriteria string

// The values of ConfigOnNoCriteria that this version knows.
const (
	ConfigOnNoCriteriaGit    ConfigOnNoCriteria = "git"
	ConfigOnNoCriteriaReview ConfigOnNoCriteria = "review"
)

// ConfigOrder is: the order of checks: `given` is one after the other, as written
type ConfigOrder string

// The values of ConfigOrder that this version knows.
const (
	ConfigOrderCheapFirst ConfigOrder = "cheap_first"
	ConfigOrderGiven      ConfigOrder = "given"
)

// ConfigRequireEvidence is: the weakest evidence that `complete` may have; weaker is `review`. `verified` wants a
// count of tests where commands judge
type ConfigRequireEvidence string

// The values of ConfigRequireEvidence that this version knows.
const (
	ConfigRequireEvidenceVerified  ConfigRequireEvidence = "verified"
	ConfigRequireEvidenceCommitted ConfigRequireEvidence = "committed"
	ConfigRequireEvidenceCounted   ConfigRequireEvidence = "counted"
	ConfigRequireEvidenceClaimed   ConfigRequireEvidence = "claimed"
	ConfigRequireEvidenceNone      ConfigRequireEvidence = "none"
)

// ConfigRescueMode is: `plan`: the agent plans the commits, watchdog makes them; `single`: one commit of
// everything; `command`: yours; `snapshot`: commit nothing; `off`: not even a snapshot. All but `off` begin with a
// snapshot
type ConfigRescueMode string

// The values of ConfigRescueMode that this version knows.
const (
	ConfigRescueModePlan     ConfigRescueMode = "plan"
	ConfigRescueModeSingle   ConfigRescueMode = "single"
	ConfigRescueModeCommand  ConfigRescueMode = "command"
	ConfigRescueModeSnapshot ConfigRescueMode = "snapshot"
	ConfigRescueModeOff      ConfigRescueMode = "off"
)

// ConfigRescue is a part of what its name begins with.
type ConfigRescue struct {
	// write a git bundle of all refs to the state directory before each session that finds new commits
	Bundle *bool `json:"bundle,omitempty"`
	// for the mode `command`, in the worktree, with `WATCHDOG_SPEC` and `WATCHDOG_SNAPSHOT`. Null is
	// `scripts/commit-rescue` of the worktree with the spec's name, if it is as it was accepted
	Command *ConfigArgv `json:"command,omitempty"`
	// names or globs that are never committed. A list given here replaces the default
	Exclude []string `json:"exclude,omitempty"`
	// how long snapshots are kept, in days, but for the newest of a spec
	KeepDays *int64 `json:"keep_days,omitempty"`
	// names or globs of ignored files that the snapshot before a session keeps apart, up to `max_snapshot_bytes`
	KeepIgnored []string `json:"keep_ignored,omitempty"`
	// larger files, in bytes, are not committed, and are kept apart in snapshots
	MaxBytes *int64 `json:"max_bytes,omitempty"`
	// with more changed files than this, nothing is committed
	MaxFiles *int64 `json:"max_files,omitempty"`
	// bytes of new files together; the largest beyond it are left out of snapshots, and named. Null keeps all
	MaxSnapshotBytes *int64 `json:"max_snapshot_bytes,omitempty"`
	// `plan`: the agent plans the commits, watchdog makes them; `single`: one commit of everything; `command`:
	// yours; `snapshot`: commit nothing; `off`: not even a snapshot. All but `off` begin with a snapshot
	Mode *ConfigRescueMode `json:"mode,omitempty"`
	// branches, by name or glob, that rescue never commits to; the work goes to `watchdog/rescue/<spec>`
	Protect []string `json:"protect,omitempty"`
	// how long the work must stand still before `check --once`, `sweep` and `watch` commit it without a known
	// end of the session; also the age of a stale lock of git
	QuietSeconds *int64 `json:"quiet_seconds,omitempty"`
	// shortest time between snapshots during a session; 0 takes none. A snapshot is taken at the beginning where
	// there is something to keep, then once the changed work tree has rested for a third of this time, at most
	// 10 s, or after one more interval
	SnapshotSeconds *int64 `json:"snapshot_seconds,omitempty"`
	// deadline of the command, of the plan, of the commits, and of a lock of another git, each
	TimeoutSeconds *int64 `json:"timeout_seconds,omitempty"`
	// the last lines of each message, as `Key: value`. A list given here replaces the default
	Trailers []string `json:"trailers,omitempty"`
}

// ConfigTasks is a part of what its name begins with.
type ConfigTasks struct {
	// the folder of task files, inside the worktree
	Dir *ConfigInsidePath `json:"dir,omitempty"`
}

// Config is: The configuration of watchdog, version 1. What this schema cannot say, such as contradictions between
// dialects, the program says.
type Config struct {
	Agent *ConfigAgent `json:"agent,omitempty"`
	// the agents that work on tasks
	Agents   []ConfigAgentsItem `json:"agents,omitempty"`
	Behavior map[string]any     `json:"behavior,omitempty"`
	Breaker  *ConfigBreaker     `json:"breaker,omitempty"`
	// the criteria, see Checks. An empty list is the same as none: `on_no_criteria` decides
	Checks          []ConfigEntry          `json:"checks,omitempty"`
	Completion      *ConfigCompletion      `json:"completion,omitempty"`
	CompletionCheck *ConfigCompletionCheck `json:"completion_check,omitempty"`
	// an older name of `completion_check.max_probes`
	CompletionCheckMaxProbes *int64 `json:"completion_check_max_probes,omitempty"`
	// an older name of `completion_check.probe_interval_seconds`
	CompletionCheckProbeInterval *int64 `json:"completion_check_probe_interval,omitempty"`
	// false is `completion_check.max_probes`: 0
	EnableSmartCompletionCheck *bool `json:"enable_smart_completion_check,omitempty"`
	// files that the session must not change, such as its tests
	Guards []ConfigInsidePath `json:"guards,omitempty"`
	Limits *ConfigLimits      `json:"limits,omitempty"`
	// how the checks combine (see Groups)
	Mode *ConfigMode `json:"mode,omitempty"`
	// whom to tell about verdicts and events
	Notify []ConfigNotifyItem `json:"notify,omitempty"`
	// what decides without checks: `git` (commits) or `review` (a person)
	OnNoCriteria *ConfigOnNoCriteria `json:"on_no_criteria,omitempty"`
	// the order of checks: `given` is one after the other, as written
	Order *ConfigOrder `json:"order,omitempty"`
	// the weakest evidence that `complete` may have; weaker is `review`. `verified` wants a count of tests where
	// commands judge
	RequireEvidence *ConfigRequireEvidence `json:"require_evidence,omitempty"`
	Rescue          *ConfigRescue          `json:"rescue,omitempty"`
	Tasks           *ConfigTasks           `json:"tasks,omitempty"`
	// the version of this format; 1 is the only one
	Version *int64 `json:"version,omitempty"`
}
