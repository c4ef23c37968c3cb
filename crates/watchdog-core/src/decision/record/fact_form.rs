//! The written form of each fact. Positions never change their meaning within a version of the record.

use jiff::Timestamp;
use serde_json::Value;

use watchdog_facts::evidence::{
    ActivityFacts, Changes, CheckOutcome, CheckResult, Commit, CommitOrigin, Commits,
    CriteriaChanged, Degradation, FaultKind, GitOperation, HeldRescue, LeftOut, LeftOutReason,
    OutcomeBeforeWork, ProbeOutcome, ReadFact, Reply, ReplyStatus, RescueOutcome, TestCounts,
    UnreadableFact, WarningCode,
};
use watchdog_facts::verdict::{Evidence, ProbeRecord, ProbeUsage};

use super::bounds::{
    CHECKS_LISTED, LISTED, bound_changes, bound_check, bound_commits, bound_feedback, bound_probe,
    bound_rescue, short,
};
use super::packed::{PackedFields, UnpackedFields};
use crate::decision::machine::{ChecksResult, SurvivorFacts};

/// The member of a table whose word this is.
pub(super) fn by_word<T: Copy>(all: &[T], word: fn(T) -> &'static str, wanted: &str) -> Option<T> {
    all.iter().copied().find(|member| word(*member) == wanted)
}

const EVIDENCE: [Evidence; 5] = [
    Evidence::None,
    Evidence::Claimed,
    Evidence::Counted,
    Evidence::Committed,
    Evidence::Verified,
];
const OPERATIONS: [GitOperation; 6] = [
    GitOperation::Merge,
    GitOperation::Rebase,
    GitOperation::ApplyMailbox,
    GitOperation::CherryPick,
    GitOperation::Revert,
    GitOperation::Bisect,
];
const BEFORE: [OutcomeBeforeWork; 3] = [
    OutcomeBeforeWork::Passed,
    OutcomeBeforeWork::Failed,
    OutcomeBeforeWork::Unknown,
];
const STATUSES: [ReplyStatus; 3] = [
    ReplyStatus::Complete,
    ReplyStatus::Waiting,
    ReplyStatus::Working,
];
const FAULTS: [(FaultKind, &str); 6] = [
    (FaultKind::NotARepository, "not_a_repository"),
    (FaultKind::Git, "git"),
    (FaultKind::Store, "store"),
    (FaultKind::Config, "config"),
    (FaultKind::Snapshot, "snapshot"),
    (FaultKind::NoBaseline, "no_baseline"),
];

pub(super) fn evidence(word: &str) -> Option<Evidence> {
    by_word(&EVIDENCE, Evidence::as_str, word)
}

pub(super) fn instant(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

fn text_of(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}

pub(super) fn notes(notes: &[Degradation]) -> Vec<Value> {
    let note = |note: &Degradation| {
        PackedFields::default()
            .text(note.code.as_str())
            .text(&short(&note.detail, 400))
            .end()
    };
    notes.iter().take(2 * LISTED).map(note).collect()
}

/// A code that this version does not know is left away: it is a warning, and no fact.
pub(super) fn read_notes(values: &[Value]) -> Vec<Degradation> {
    let note = |value: &Value| {
        let fields = UnpackedFields::from_value(value)?;
        let code = by_word(WarningCode::ALL, WarningCode::as_str, fields.word(0))?;
        Some(Degradation {
            code,
            detail: fields.text(1),
        })
    };
    values.iter().filter_map(note).collect()
}

/// A fact, or in an object of its own why it is unknown.
pub(super) fn fact<T>(read: &ReadFact<T>, form: impl FnOnce(&T) -> Value) -> Value {
    match read {
        Ok(value) => form(value),
        Err(unreadable) => {
            let kind = FAULTS
                .iter()
                .find(|(kind, _)| *kind == unreadable.kind)
                .map_or("git", |(_, word)| word);
            let why = PackedFields::default()
                .text(kind)
                .text(&short(&unreadable.why, 400))
                .opt_text(unreadable.hint.as_deref())
                .end();
            serde_json::json!({ "!": why })
        }
    }
}

pub(super) fn read_fact<T>(
    value: &Value,
    form: impl FnOnce(&Value) -> Option<T>,
) -> Option<ReadFact<T>> {
    match value.get("!") {
        None => form(value).map(Ok),
        Some(why) => {
            let fields = UnpackedFields::from_value(why)?;
            let kind = FAULTS.iter().find(|(_, word)| *word == fields.word(0))?.0;
            Some(Err(UnreadableFact {
                kind,
                why: fields.text(1),
                hint: fields.opt_text(2),
            }))
        }
    }
}

fn origin_number(origin: CommitOrigin) -> u64 {
    match origin {
        CommitOrigin::MadeHere => 0,
        CommitOrigin::Imported => 1,
        CommitOrigin::Rescued => 2,
    }
}

pub(super) fn commits(commits: &Commits) -> Value {
    let total = commits.conflicts.len() as u64;
    let commits = bound_commits(commits);
    // The newest one is HEAD, as a rule.
    let id = |commit: &Commit| {
        if Some(&commit.id) == commits.head.as_ref() {
            String::new()
        } else {
            commit.id.clone()
        }
    };
    let pack_commit = |commit: &Commit| {
        PackedFields::default()
            .text(&id(commit))
            .text(&commit.subject)
            .number(origin_number(commit.origin))
            .end()
    };
    PackedFields::default()
        .opt_text(commits.head.as_deref())
        .number(commits.new_commits)
        .number(commits.made_here)
        .flag(commits.net_change)
        .list(commits.listed.iter().map(pack_commit).collect())
        .number(commits.rescued)
        .number(commits.imported)
        .list(notes(&commits.degraded))
        .opt_text(commits.operation.map(GitOperation::as_str))
        .texts(&commits.conflicts)
        .number(if total > LISTED as u64 { total } else { 0 })
        .number(commits.brought)
        .end()
}

pub(super) fn read_commits(value: &Value) -> Option<Commits> {
    let fields = UnpackedFields::from_value(value)?;
    let head = fields.opt_text(0);
    let read_commit = |value: &Value| {
        let fields = UnpackedFields::from_value(value)?;
        let origin = match fields.number(2) {
            0 => CommitOrigin::MadeHere,
            1 => CommitOrigin::Imported,
            _ => CommitOrigin::Rescued,
        };
        let id = fields
            .opt_text(0)
            .or_else(|| head.clone())
            .unwrap_or_default();
        Some(Commit {
            id,
            subject: fields.text(1),
            origin,
        })
    };
    Some(Commits {
        head: head.clone(),
        new_commits: fields.number(1),
        made_here: fields.number(2),
        imported: fields.number(6),
        rescued: fields.number(5),
        net_change: fields.flag(3),
        brought: fields.number(11),
        operation: by_word(&OPERATIONS, GitOperation::as_str, fields.word(8)),
        conflicts: fields.texts(9),
        listed: fields.list(4).iter().filter_map(read_commit).collect(),
        degraded: read_notes(fields.list(7)),
    })
}

pub(super) fn changes(changes: &Changes) -> Value {
    let changes = bound_changes(changes);
    // All of it is the session's work, as a rule: then the paths are not said twice.
    let same = changes.work_paths == changes.paths;
    PackedFields::default()
        .number(changes.work)
        .texts(&changes.paths)
        .number(changes.untracked)
        .number(changes.unstaged)
        .number(changes.staged)
        .number(changes.conflicted)
        .number(changes.inherited)
        .number(changes.since_end)
        .opt_text(changes.operation.map(GitOperation::as_str))
        .raw(if same {
            Value::Null
        } else {
            changes.work_paths.clone().into()
        })
        .list(notes(&changes.degraded))
        .end()
}

/// Without the fingerprint, which no rule looks at.
pub(super) fn read_changes(value: &Value) -> Option<Changes> {
    let fields = UnpackedFields::from_value(value)?;
    let paths = fields.texts(1);
    Some(Changes {
        staged: fields.number(4),
        unstaged: fields.number(3),
        untracked: fields.number(2),
        conflicted: fields.number(5),
        work: fields.number(0),
        work_paths: if fields.at(9).is_null() {
            paths.clone()
        } else {
            fields.texts(9)
        },
        inherited: fields.number(6),
        since_end: fields.number(7),
        operation: by_word(&OPERATIONS, GitOperation::as_str, fields.word(8)),
        paths,
        fingerprint: 0,
        degraded: read_notes(fields.list(10)),
    })
}

fn check(check: &CheckResult) -> Value {
    let check = bound_check(check);
    let tests = check
        .tests
        .map(|tests| vec![tests.ran.into(), tests.failed.into(), tests.skipped.into()])
        .unwrap_or_default();
    PackedFields::default()
        .text(&check.name)
        .text(&check.kind)
        .text(check.outcome.as_str())
        .text(check.evidence.as_str())
        .text(&check.feedback)
        .millis(check.duration)
        .flag(check.cached)
        .text(check.before.as_str())
        .list(tests)
        .opt_text(check.tree.as_deref())
        .end()
}

fn read_check(value: &Value) -> Option<CheckResult> {
    let fields = UnpackedFields::from_value(value)?;
    let tests = UnpackedFields(fields.list(8));
    Some(CheckResult {
        name: fields.text(0),
        kind: fields.text(1),
        outcome: by_word(&CheckOutcome::ALL, CheckOutcome::as_str, fields.word(2))?,
        evidence: evidence(fields.word(3))?,
        feedback: fields.text(4),
        duration: fields.millis(5),
        cached: fields.flag(6),
        before: by_word(&BEFORE, OutcomeBeforeWork::as_str, fields.word(7))?,
        tests: (!tests.0.is_empty()).then(|| TestCounts {
            ran: tests.number(0),
            failed: tests.number(1),
            skipped: tests.number(2),
        }),
        tree: fields.opt_text(9),
    })
}

/// The feedback of all is that of one of them, as a rule: its number is written then.
fn common_feedback(judged: &ChecksResult) -> Value {
    let text = bound_feedback(&judged.feedback);
    let of_one = judged
        .results
        .iter()
        .take(CHECKS_LISTED)
        .position(|result| short(&result.feedback, 400) == text);
    match of_one {
        _ if text.is_empty() => Value::Null,
        Some(index) => index.into(),
        None => text.into(),
    }
}

pub(super) fn checks(judged: &ChecksResult) -> Value {
    PackedFields::default()
        .text(judged.outcome.as_str())
        .text(judged.evidence.as_str())
        .raw(common_feedback(judged))
        .flag(judged.all_passed_before)
        .list(
            judged
                .results
                .iter()
                .take(CHECKS_LISTED)
                .map(check)
                .collect(),
        )
        .list(notes(&judged.notes))
        .number(if judged.results.len() > CHECKS_LISTED {
            judged.results.len() as u64
        } else {
            0
        })
        .end()
}

pub(super) fn read_checks(value: &Value) -> Option<ChecksResult> {
    let fields = UnpackedFields::from_value(value)?;
    let results: Vec<CheckResult> = fields
        .list(4)
        .iter()
        .map(read_check)
        .collect::<Option<_>>()?;
    let of_one = fields
        .opt_number(2)
        .and_then(|index| results.get(usize::try_from(index).ok()?))
        .map(|result| result.feedback.clone());
    Some(ChecksResult {
        outcome: by_word(&CheckOutcome::ALL, CheckOutcome::as_str, fields.word(0))?,
        evidence: evidence(fields.word(1))?,
        feedback: of_one.unwrap_or_else(|| fields.text(2)),
        all_passed_before: fields.flag(3),
        results,
        notes: read_notes(fields.list(5)),
    })
}

fn reply(reply: &Reply) -> Value {
    PackedFields::default()
        .text(reply.status.as_str())
        .text(&reply.message)
        .opt_flag(reply.agents_active)
        .texts(&reply.agents_details)
        .texts(&reply.tasks_completed)
        .texts(&reply.tasks_pending)
        .opt_number(reply.commits_made)
        .opt_flag(reply.should_continue)
        .opt_text(reply.next_action.as_deref())
        .opt_text(reply.doubt.as_deref())
        .end()
}

fn read_reply(value: &Value) -> Option<Reply> {
    let fields = UnpackedFields::from_value(value)?;
    Some(Reply {
        status: by_word(&STATUSES, ReplyStatus::as_str, fields.word(0))?,
        message: fields.text(1),
        agents_active: fields.opt_flag(2),
        agents_details: fields.texts(3),
        tasks_completed: fields.texts(4),
        tasks_pending: fields.texts(5),
        commits_made: fields.opt_number(6),
        should_continue: fields.opt_flag(7),
        next_action: fields.opt_text(8),
        doubt: fields.opt_text(9),
    })
}

/// A question and what came of it.
pub(super) fn probe(record: &ProbeRecord) -> Value {
    let record = bound_probe(record);
    let (answer, retry_at) = match &record.outcome {
        ProbeOutcome::Reply(said) => (reply(said), None),
        ProbeOutcome::RateLimited { why, retry_at } => (why.as_str().into(), text_of(*retry_at)),
        other => (other.why().into(), None),
    };
    let usage = &record.usage;
    PackedFields::default()
        .text(&record.at.to_string())
        .millis(record.duration)
        .text(record.outcome.as_str())
        .raw(answer)
        .opt_text(retry_at.as_deref())
        .opt_text(record.disputed.as_deref())
        .opt_text(record.session_id.as_deref())
        .number(usage.requests)
        .opt_number(usage.input_tokens)
        .opt_number(usage.output_tokens)
        .raw(usage.cost_usd.into())
        .flag(record.withheld)
        .end()
}

pub(super) fn read_probe(value: &Value) -> Option<ProbeRecord> {
    let fields = UnpackedFields::from_value(value)?;
    let word = fields.word(2);
    // A reply and a reason stand in the same place.
    let reply = if word == "reply" {
        read_reply(fields.at(3))
    } else {
        None
    };
    let outcome =
        ProbeOutcome::outcome_for_word(word, fields.text(3), instant(fields.at(4)), reply)?;
    Some(ProbeRecord {
        at: instant(fields.at(0))?,
        duration: fields.millis(1),
        outcome,
        disputed: fields.opt_text(5),
        session_id: fields.opt_text(6),
        usage: ProbeUsage {
            requests: fields.number(7),
            input_tokens: fields.opt_number(8),
            output_tokens: fields.opt_number(9),
            cost_usd: fields.at(10).as_f64(),
        },
        withheld: fields.flag(11),
    })
}

pub(super) fn rescue(outcome: &RescueOutcome) -> Value {
    let total = outcome.left_out.len() as u64;
    let outcome = bound_rescue(outcome);
    let pack_skipped = |skipped: &LeftOut| {
        PackedFields::default()
            .text(&skipped.path)
            .text(skipped.why.as_str())
            .end()
    };
    PackedFields::default()
        .number(outcome.commits)
        .texts(&outcome.made)
        .opt_text(outcome.failed.as_deref())
        .texts(&outcome.lost)
        .opt_text(outcome.fallback_branch.as_deref())
        .list(outcome.left_out.iter().map(pack_skipped).collect())
        .list(notes(&outcome.warnings))
        .number(if total > LISTED as u64 { total } else { 0 })
        .opt_text(outcome.held_back.as_ref().map(|rescue| rescue.why.as_str()))
        .opt_text(
            text_of(
                outcome
                    .held_back
                    .as_ref()
                    .and_then(|rescue| rescue.retry_at),
            )
            .as_deref(),
        )
        .end()
}

pub(super) fn read_rescue(value: &Value) -> Option<RescueOutcome> {
    let fields = UnpackedFields::from_value(value)?;
    let read_skipped = |value: &Value| {
        let fields = UnpackedFields::from_value(value)?;
        Some(LeftOut {
            path: fields.text(0),
            why: by_word(LeftOutReason::ALL, LeftOutReason::as_str, fields.word(1))?,
        })
    };
    Some(RescueOutcome {
        commits: fields.number(0),
        made: fields.texts(1),
        failed: fields.opt_text(2),
        lost: fields.texts(3),
        fallback_branch: fields.opt_text(4),
        left_out: fields
            .list(5)
            .iter()
            .map(read_skipped)
            .collect::<Option<_>>()?,
        warnings: read_notes(fields.list(6)),
        held_back: fields.opt_text(8).map(|why| HeldRescue {
            why,
            retry_at: instant(fields.at(9)),
        }),
    })
}

pub(super) fn survivors(survivors: &SurvivorFacts) -> Value {
    let released = survivors.released.as_slice();
    PackedFields::default()
        .texts(
            &survivors
                .holding
                .iter()
                .take(LISTED)
                .map(|process| short(process, 160))
                .collect::<Vec<_>>(),
        )
        .flag(survivors.session_over)
        .list(notes(released))
        .end()
}

pub(super) fn read_survivors(value: &Value) -> Option<SurvivorFacts> {
    let fields = UnpackedFields::from_value(value)?;
    Some(SurvivorFacts {
        holding: fields.texts(0),
        session_over: fields.flag(1),
        released: read_notes(fields.list(2)).pop(),
    })
}

pub(super) fn activity(seen: &ActivityFacts) -> Value {
    PackedFields::default()
        .opt_flag(seen.worktree)
        .opt_flag(seen.processes)
        .opt_flag(seen.transcript)
        .end()
}

pub(super) fn read_activity(value: &Value) -> Option<ActivityFacts> {
    let fields = UnpackedFields::from_value(value)?;
    Some(ActivityFacts {
        worktree: fields.opt_flag(0),
        processes: fields.opt_flag(1),
        transcript: fields.opt_flag(2),
    })
}

pub(super) fn criteria(changed: &CriteriaChanged) -> Value {
    let listed = |paths: &[String]| {
        paths
            .iter()
            .take(LISTED)
            .map(|path| short(path, 160))
            .collect::<Vec<_>>()
    };
    PackedFields::default()
        .texts(&listed(&changed.guarded))
        .number(changed.guarded_total as u64)
        .texts(&listed(&changed.named))
        .end()
}

pub(super) fn read_criteria(value: &Value) -> Option<CriteriaChanged> {
    let fields = UnpackedFields::from_value(value)?;
    let guarded_total = usize::try_from(fields.number(1)).unwrap_or(usize::MAX);
    Some(CriteriaChanged {
        guarded: fields.texts(0),
        guarded_total,
        named: fields.texts(2),
    })
}
