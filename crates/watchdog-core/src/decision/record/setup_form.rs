//! The written form of a machine's setup: what differs from a fixed usual one, by short names.

use std::time::Duration;

use serde_json::{Map, Value};

use watchdog_facts::evidence::{ProcessExit, SessionEnd, StopReason};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_facts::verdict::{Evidence, Reason};

use super::bounds::short;
use super::fact_form::{by_word, evidence, instant, notes, read_notes};
use super::packed::{PackedFields, UnpackedFields};
use crate::config::settings::{CompletionSettings, ConfigSettings, OnNoCriteria, RescueMode};
use crate::decision::machine::{
    ConfigTrust, CriteriaFilesRole, EarlierRounds, JudgementScope, MachineSetup, UnaskedCause,
};
use crate::decision::session_life::SessionLife;

const RESCUES: [(RescueMode, &str); 5] = [
    (RescueMode::Plan, "plan"),
    (RescueMode::Single, "single"),
    (RescueMode::Command, "command"),
    (RescueMode::Snapshot, "snapshot"),
    (RescueMode::Off, "off"),
];

/// The word of a rescue mode, as in `completion.json`.
pub(super) fn rescue_word(mode: RescueMode) -> &'static str {
    RESCUES
        .iter()
        .find(|(known, _)| *known == mode)
        .map_or("plan", |(_, word)| word)
}

/// The defaults that a record leaves away. It stays as it is when the defaults of the configuration
/// change, so that old records keep their meaning.
fn usual() -> MachineSetup {
    MachineSetup {
        completion: CompletionSettings {
            max_probes: 5,
            probe_interval: Duration::from_secs(30),
            probe_timeout: Duration::from_secs(60),
            final_rescue_attempt: true,
        },
        rescue_mode: RescueMode::Plan,
        on_no_criteria: OnNoCriteria::Git,
        require_evidence: Evidence::None,
        ..MachineSetup::from_settings(&ConfigSettings::default())
    }
}

fn seconds(length: Duration) -> Value {
    match length.subsec_nanos() {
        0 => length.as_secs().into(),
        _ => length.as_secs_f64().into(),
    }
}

fn read_seconds(value: Option<&Value>, default: Duration) -> Duration {
    value
        .and_then(Value::as_f64)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .unwrap_or(default)
}

/// Writes what differs from the default.
pub(super) fn setup(setup: &MachineSetup) -> Value {
    let default = usual();
    let mut row = Map::new();
    let mut put = |name: &str, differs: bool, value: Value| {
        if differs {
            row.insert(name.to_owned(), value);
        }
    };
    let (own, usual) = (&setup.completion, &default.completion);
    put(
        "p",
        own.max_probes != usual.max_probes,
        own.max_probes.into(),
    );
    put(
        "i",
        own.probe_interval != usual.probe_interval,
        seconds(own.probe_interval),
    );
    put(
        "t",
        own.probe_timeout != usual.probe_timeout,
        seconds(own.probe_timeout),
    );
    put(
        "f",
        own.final_rescue_attempt != usual.final_rescue_attempt,
        own.final_rescue_attempt.into(),
    );
    put(
        "m",
        setup.rescue_mode != default.rescue_mode,
        rescue_word(setup.rescue_mode).into(),
    );
    put("nr", setup.no_rescue, true.into());
    put("np", setup.no_probe, true.into());
    let unasked = UnaskedCause::WORDS
        .iter()
        .find(|(cause, _)| Some(*cause) == setup.unasked)
        .map(|(_, word)| *word);
    put("ua", unasked.is_some(), unasked.into());
    put("o", setup.once, true.into());
    put("c", setup.has_checks, true.into());
    put("cp", setup.checks_run_programs, true.into());
    let files = match setup.criteria_files {
        CriteriaFilesRole::None => Value::Null,
        CriteriaFilesRole::Named => "named".into(),
        CriteriaFilesRole::Guarded => "guarded".into(),
    };
    put("g", !files.is_null(), files);
    put(
        "ng",
        setup.on_no_criteria == OnNoCriteria::Review,
        true.into(),
    );
    put(
        "re",
        setup.require_evidence != default.require_evidence,
        setup.require_evidence.as_str().into(),
    );
    if let ConfigTrust::Untrusted { allow_with } = &setup.trust {
        put("u", true, allow_with.as_str().into());
    }
    if let JudgementScope::Criteria { baseline_known } = setup.scope {
        put("s", true, baseline_known.into());
    }
    put("l", setup.read_leftovers, true.into());
    put(
        "se",
        setup.session.is_some(),
        setup.session.as_ref().map(session_end).unwrap_or_default(),
    );
    put("so", setup.session_over, true.into());
    put(
        "li",
        setup.life != SessionLife::Absent,
        session_life(&setup.life),
    );
    let survivors: Vec<Value> = setup
        .survivors
        .iter()
        .take(10)
        .map(|process| short(process, 160).into())
        .collect();
    put("sv", !survivors.is_empty(), survivors.into());
    put(
        "nl",
        setup.no_progress_limit.is_some(),
        setup.no_progress_limit.into(),
    );
    let earlier = &setup.earlier;
    let rounds = PackedFields::default()
        .number(earlier.rounds_used.into())
        .number(earlier.answered.into())
        .number(earlier.alive.into())
        .number(earlier.nothing_to_do_streak.into())
        .number(earlier.fruitless.into())
        .number(earlier.unmet);
    put("e", *earlier != EarlierRounds::default(), rounds.end());
    put("n", !setup.notes.is_empty(), notes(&setup.notes).into());
    let (worktree, state) = setup.commands.parts();
    put("w", !worktree.is_empty(), worktree.into());
    put("d", !state.is_empty(), state.into());
    row.into()
}

/// Reads it back; `None` where this version does not understand it.
pub(super) fn read_setup(value: &Value) -> Option<MachineSetup> {
    let row = value.as_object()?;
    let mut setup = usual();
    let text = |name: &str| row.get(name).and_then(Value::as_str);
    let flag = |name: &str| row.get(name).and_then(Value::as_bool).unwrap_or(false);
    if let Some(probes) = row.get("p").and_then(Value::as_u64) {
        setup.completion.max_probes = u32::try_from(probes).ok()?;
    }
    setup.completion.probe_interval = read_seconds(row.get("i"), setup.completion.probe_interval);
    setup.completion.probe_timeout = read_seconds(row.get("t"), setup.completion.probe_timeout);
    if let Some(last) = row.get("f").and_then(Value::as_bool) {
        setup.completion.final_rescue_attempt = last;
    }
    if let Some(word) = text("m") {
        setup.rescue_mode = RESCUES.iter().find(|(_, known)| *known == word)?.0;
    }
    setup.no_rescue = flag("nr");
    setup.no_probe = flag("np");
    setup.unasked = match text("ua") {
        None => None,
        Some(word) => Some(
            UnaskedCause::WORDS
                .iter()
                .find(|(_, known)| *known == word)?
                .0,
        ),
    };
    setup.once = flag("o");
    setup.has_checks = flag("c");
    setup.checks_run_programs = flag("cp");
    setup.criteria_files = match text("g") {
        None => CriteriaFilesRole::None,
        Some("named") => CriteriaFilesRole::Named,
        Some("guarded") => CriteriaFilesRole::Guarded,
        Some(_) => return None,
    };
    if flag("ng") {
        setup.on_no_criteria = OnNoCriteria::Review;
    }
    setup.require_evidence = text("re").map_or(Some(setup.require_evidence), evidence)?;
    if let Some(allow_with) = text("u") {
        setup.trust = ConfigTrust::Untrusted {
            allow_with: allow_with.to_owned(),
        };
    }
    if let Some(baseline_known) = row.get("s").and_then(Value::as_bool) {
        setup.scope = JudgementScope::Criteria { baseline_known };
    }
    setup.read_leftovers = flag("l");
    setup.session = match row.get("se") {
        None => None,
        Some(end) => Some(read_session_end(end)?),
    };
    setup.session_over = flag("so");
    setup.life = match row.get("li") {
        None => SessionLife::Absent,
        Some(life) => read_session_life(life)?,
    };
    setup.survivors = list(row, "sv")
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    setup.no_progress_limit = row
        .get("nl")
        .and_then(Value::as_u64)
        .and_then(|limit| u32::try_from(limit).ok());
    let rounds = UnpackedFields(list(row, "e"));
    setup.earlier = EarlierRounds {
        rounds_used: rounds.count(0),
        answered: rounds.count(1),
        alive: rounds.count(2),
        nothing_to_do_streak: rounds.count(3),
        fruitless: rounds.count(4),
        unmet: rounds.number(5),
    };
    setup.notes = read_notes(list(row, "n"));
    setup.commands =
        WorktreeCommands::from_parts(text("w").unwrap_or_default(), text("d").unwrap_or_default());
    Some(setup)
}

fn list<'a>(row: &'a Map<String, Value>, name: &str) -> &'a [Value] {
    row.get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn session_life(life: &SessionLife) -> Value {
    let (word, words) = match life {
        SessionLife::Absent => return Value::Null,
        SessionLife::Busy { words } => ("busy", words),
        SessionLife::Idle { words } => ("idle", words),
        SessionLife::Moved { words } => ("moved", words),
    };
    PackedFields::default()
        .text(word)
        .text(&short(words, 400))
        .end()
}

fn read_session_life(value: &Value) -> Option<SessionLife> {
    let fields = UnpackedFields::from_value(value)?;
    let words = fields.text(1);
    match fields.word(0) {
        "busy" => Some(SessionLife::Busy { words }),
        "idle" => Some(SessionLife::Idle { words }),
        "moved" => Some(SessionLife::Moved { words }),
        _ => None,
    }
}

fn exit_form(exit: ProcessExit) -> Value {
    match exit {
        ProcessExit::Code(code) => code.into(),
        ProcessExit::Signal(signal) => vec![signal].into(),
    }
}

fn read_exit(value: &Value) -> Option<ProcessExit> {
    let number = |value: &Value| value.as_i64().and_then(|number| i32::try_from(number).ok());
    match value.get(0) {
        Some(signal) => number(signal).map(ProcessExit::Signal),
        None => number(value).map(ProcessExit::Code),
    }
}

fn session_end(end: &SessionEnd) -> Value {
    let word = |word: &str| PackedFields::default().text(word);
    let shorten = |why: &str| short(why, 400);
    match end {
        SessionEnd::Ended { exit } => word("ended").raw(exit_form(*exit)),
        SessionEnd::TimedOut { after } => word("timed_out").raw(seconds(*after)),
        SessionEnd::Idle { after } => word("idle").raw(seconds(*after)),
        SessionEnd::RateLimited { why, retry_at } => word("rate_limited")
            .text(&shorten(why))
            .opt_text(retry_at.map(|at| at.to_string()).as_deref()),
        SessionEnd::OverLimit { stop } => word("over_limit")
            .text(stop.reason.as_str())
            .text(&shorten(&stop.why)),
        SessionEnd::LeftWork { exit, what } => {
            word("left_work").raw(exit_form(*exit)).text(&shorten(what))
        }
        SessionEnd::CutShort { exit, why } => {
            word("cut_short").raw(exit_form(*exit)).text(&shorten(why))
        }
        SessionEnd::Unrunnable { why } => word("unrunnable").text(&shorten(why)),
        SessionEnd::NotStarted { why, shortage } => {
            word("not_started").text(&shorten(why)).flag(*shortage)
        }
        SessionEnd::NotKept { why } => word("not_kept").text(&shorten(why)),
    }
    .end()
}

fn read_session_end(value: &Value) -> Option<SessionEnd> {
    let fields = UnpackedFields::from_value(value)?;
    let after = || read_seconds(Some(fields.at(1)), Duration::ZERO);
    Some(match fields.word(0) {
        "ended" => SessionEnd::Ended {
            exit: read_exit(fields.at(1))?,
        },
        "timed_out" => SessionEnd::TimedOut { after: after() },
        "idle" => SessionEnd::Idle { after: after() },
        "rate_limited" => SessionEnd::RateLimited {
            why: fields.text(1),
            retry_at: instant(fields.at(2)),
        },
        "over_limit" => {
            let reason = by_word(Reason::ALL, Reason::as_str, fields.word(1))?;
            SessionEnd::OverLimit {
                stop: StopReason {
                    reason,
                    why: fields.text(2),
                },
            }
        }
        "left_work" => SessionEnd::LeftWork {
            exit: read_exit(fields.at(1))?,
            what: fields.text(2),
        },
        "cut_short" => SessionEnd::CutShort {
            exit: read_exit(fields.at(1))?,
            why: fields.text(2),
        },
        "unrunnable" => SessionEnd::Unrunnable {
            why: fields.text(1),
        },
        "not_started" => SessionEnd::NotStarted {
            why: fields.text(1),
            shortage: fields.flag(2),
        },
        "not_kept" => SessionEnd::NotKept {
            why: fields.text(1),
        },
        _ => return None,
    })
}

#[cfg(test)]
#[path = "setup_form_tests.rs"]
mod tests;
