//! The codes in `degraded`: warnings that weaken a verdict, and notes beside it. docs/verdict.md has a row for each, which a test checks.

use super::word_table::word_table;

word_table! {
    /// A warning about a verdict, as a code that programs may match.
    enum WarningCode;

    /// The agent cannot be asked as harmlessly as others, or does not report what this verdict rests on: what it lacks is named.
    AgentLacks = "agent_lacks",
    /// The verdict is complete, and the anchor could not follow it.
    AnchorUnmoved = "anchor_unmoved",
    /// Another clone is at the place of the recorded one.
    AnotherClone = "another_clone",
    /// The repository lost the commit of the earlier baseline, and a new one is recorded.
    BaselineLost = "baseline_lost",
    /// The baseline is recorded, and no ref keeps its commit from garbage collection.
    BaselineRefUnwritten = "baseline_ref_unwritten",
    /// All new content of the commits made here was there before: uncommitted, on a recorded ref, in a stash or in a reflog.
    Brought = "brought",
    /// A limit is set, and the session did not report its usage.
    BudgetUnknown = "budget_unknown",
    /// The repository's hooks changed files while they were committed; the originals are in the snapshot.
    ChangedByHooks = "changed_by_hooks",
    /// Files changed in the work tree during the rescue; as they were, they are on the other branch.
    ChangedMeanwhile = "changed_meanwhile",
    /// The uncommitted changes could not be read when the command was interrupted.
    ChangesUnreadable = "changes_unreadable",
    /// HEAD moved while a check ran, so that the check made a part of what it judged.
    CheckMovedHead = "check_moved_head",
    /// Git made a commit and complained all the same, as where it is killed, or a hook after the commit hangs.
    CommitComplaint = "commit_complaint",
    /// Commits were made after the recorded end of the session, while nothing of it was known to run.
    CommittedSinceEnd = "committed_since_end",
    /// The commits could not be read when the command was interrupted.
    CommitsUnreadable = "commits_unreadable",
    /// An oddity of the configuration, such as an empty list of checks, or a changed file that `--config` names.
    Configuration = "configuration",
    /// Files that say what done means changed since the anchor; `notes` names them.
    CriteriaChanged = "criteria_changed",
    /// Whether they changed is unknown.
    CriteriaUnknown = "criteria_unknown",
    /// The agent's program exited with code 0 and did not report success: it was stopped, or failed. No probe.
    EndUnconfirmed = "end_unconfirmed",
    /// It told its final result and did not end; after 60 s of silence watchdog ended it.
    EndedAfterResult = "ended_after_result",
    /// Commits were made here that change no file.
    EmptyCommits = "empty_commits",
    /// Hooks of git that could refuse are not as the session found them, or it committed around them.
    GatesOff = "gates_off",
    /// A setting of the repository keeps git from working here; the facts were read without it. Names key, file and mending command.
    GitUnusable = "git_unusable",
    /// The work of helpers or submodules could not be read.
    HelpersUnread = "helpers_unread",
    /// The index hides files or submodules from git (skip-worktree, assume-unchanged, `ignore`), or rules newer than the baseline ignore files.
    HiddenEntries = "hidden_entries",
    /// The baseline is no ancestor of HEAD any more; commits are counted by their patches.
    HistoryRewritten = "history_rewritten",
    /// A hook put files into a commit that rescue leaves out.
    HooksAddedFiles = "hooks_added_files",
    /// The repository's own filter programs were not run, so that an unstaged file may only seem changed.
    IgnoredFilters = "ignored_filters",
    /// Ignored files from before the session are gone or empty; the message names them, and the command that brings back those that a
    /// snapshot has.
    IgnoredLost = "ignored_lost",
    /// An earlier rescue was cut short between its commit and the index; the index follows it now.
    IndexMended = "index_mended",
    /// The session changed or deleted files that were uncommitted before it; the snapshot from before it has them.
    InheritedOverwritten = "inherited_overwritten",
    /// A record could not be written.
    JournalUnwritable = "journal_unwritable",
    /// Checks passed beside files that are in no commit: older than the session, changed after its end, or left out.
    JudgedWithUncommitted = "judged_with_uncommitted",
    /// Commits decided, and some of the session's work is uncommitted or was committed by a rescue only.
    LeftUncommitted = "left_uncommitted",
    /// A loop ended because a usage limit lasts longer than `--max-wait`.
    LimitTooLong = "limit_too_long",
    /// A commit has a link in place of an ignored folder, or one that leaves the worktree; the command that takes it out is named.
    LinkCommitted = "link_committed",
    /// The session's log is missing or not whole.
    LogIncomplete = "log_incomplete",
    /// The commits made here add up to no change of their own.
    NoNetChange = "no_net_change",
    /// Several sessions in a row left the work as it was, under the same unmet checks.
    NoProgress = "no_progress",
    /// No baseline is recorded, so everything uncommitted counts as the session's work.
    NoRecord = "no_record",
    /// The reflog of HEAD does not show how commits arrived; those that no recorded ref has count as made here.
    NoReflog = "no_reflog",
    /// Too much history to prove where every new commit comes from; the rest counts as made here.
    OriginUnproved = "origin_unproved",
    /// `loop` waited for such a service as long as `--max-wait`.
    OverloadTooLong = "overload_too_long",
    /// The service had no room for the session, or could not be reached: no strike, and no probe.
    Overloaded = "overloaded",
    /// A commit of everything was made instead of a plan, and why.
    PlanFallback = "plan_fallback",
    /// The agent was not asked, because the sweep's probes were spent.
    ProbesRationed = "probes_rationed",
    /// Processes of the session still run.
    ProcessesLeft = "processes_left",
    /// The rescue command is not there, so that the rescue failed.
    RescueCommandMissing = "rescue_command_missing",
    /// Why the current branch did not take the commits, with the hook's output.
    RescueElsewhere = "rescue_elsewhere",
    /// Commits were made, and not all of the work is safe in them: the verdict is `review`/`rescue_incomplete`.
    RescueFailed = "rescue_failed",
    /// The work stays in its snapshot, because a session may still live, or the work moves.
    RescueHeldBack = "rescue_held_back",
    /// The store could not record which commits a rescue made.
    RescueUnrecorded = "rescue_unrecorded",
    /// History was rewritten, and is too large to compare; commits that were not compared do not count as made here.
    RewriteTooLarge = "rewrite_too_large",
    /// A file was left out because new content looks like a secret; names the rule.
    SecretContent = "secret_content",
    /// Its refs are in the reftable format, so git itself reads them: the facts are the same.
    ServedByGit = "served_by_git",
    /// The agent's program ended the session at a limit of its own, such as its number of turns: no strike, and no probe.
    SessionCutShort = "session_cut_short",
    /// The session was stopped within its time limit, and ended at that all the same: no strike.
    SessionPaused = "session_paused",
    /// A sensor gave no usable answer.
    SensorUnread = "sensor_unread",
    /// A session that hooks or a killed watchdog left on record runs, and has been silent for too long.
    SessionStalled = "session_stalled",
    /// Work that was uncommitted in another worktree of the repository when the session began is gone, or commits that a branch had; a
    /// snapshot or a ref has it.
    SiblingWorkGone = "sibling_work_gone",
    /// Another worktree of the repository could not be looked at before the session, so that work that is gone there is not told.
    SiblingsUnread = "siblings_unread",
    /// Uncommitted work could not be kept in a snapshot.
    SnapshotFailed = "snapshot_failed",
    /// Old snapshots could not be dropped.
    SnapshotsNotDropped = "snapshots_not_dropped",
    /// The state directory is on a network file system: slower, and less safe.
    StateOnNetworkFs = "state_on_network_fs",
    /// The database was damaged; a copy is kept beside the new one.
    StoreDamaged = "store_damaged",
    /// The file system takes no write-ahead log; records are written another way.
    StoreJournalMode = "store_journal_mode",
    /// The database was replaced while it was in use.
    StoreReplaced = "store_replaced",
    /// A record could not be written.
    StoreUnwritable = "store_unwritable",
    /// Entries of the stash from before the session are gone; the commands that bring them back are named.
    StashLost = "stash_lost",
    /// No branch of a submodule reaches a commit there any more that was there at the baseline or was made since; a ref keeps it.
    SubmoduleCommitsLeft = "submodule_commits_left",
    /// The work of helpers or submodules could not be read.
    SubmodulesUnread = "submodules_unread",
    /// The processes that the session left running no longer hold the verdict: they were idle for 5 minutes, or
    /// `limits.background_seconds` are over.
    Survivors = "survivors",
    /// Boxes of fulfilled tasks stayed open, and why.
    TasksNotTicked = "tasks_not_ticked",
    /// Tests fail as they were when the work began: the session changed what they expect.
    TestsChanged = "tests_changed",
    /// The session deleted, skipped or ignored tests.
    TestsDeleted = "tests_deleted",
    /// A check passed although its runner says that tests failed.
    TestsFailed = "tests_failed",
    /// Fewer tests ran than when the work began.
    TestsShrunk = "tests_shrunk",
    /// The worth of a pass or of the session's changes to tests is unknown: untried, or a hidden check cannot run.
    TestsUnknown = "tests_unknown",
    /// The changed tests pass without the session's other work.
    TestsUnproved = "tests_unproved",
    /// The agent was refused tools; the message says which option allows them.
    ToolsRefused = "tools_refused",
    /// A file could not be read.
    UnreadablePath = "unreadable_path",
    /// The configuration is not trusted, and not used.
    Untrusted = "untrusted",
    /// A loop ended because several waits in a row brought nothing.
    WaitedInVain = "waited_in_vain",
    /// Uncommitted changes undo commits made since the baseline.
    WorkUndone = "work_undone",
}

impl WarningCode {
    /// Whether it tells of work that a session destroyed.
    pub const fn is_loss(self) -> bool {
        matches!(
            self,
            WarningCode::IgnoredLost
                | WarningCode::InheritedOverwritten
                | WarningCode::SiblingWorkGone
                | WarningCode::StashLost
                | WarningCode::SubmoduleCommitsLeft
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word_table::documented_words;

    #[test]
    fn warning_page_has_exactly_each_warning_word() {
        let mut code_words: Vec<&str> = WarningCode::ALL.iter().map(|code| code.as_str()).collect();
        code_words.sort_unstable();
        // Two lists may name the same word.
        let page = include_str!("../../../docs/verdict.md");
        let (_, part) = page.split_once("## Warnings").expect("it has the part");
        let mut documented = documented_words(part);
        documented.dedup();
        assert_eq!(documented, code_words);
    }
}
