//! Reads the rows of judgements as store format 3 wrote them. It goes one release after format 4 came.
//!
//! Such a row has short names, leaves out whatever follows from its facts, and names the rows of
//! questions, snapshots and rescues in place of what they hold. Its facts are lists without names.

use std::collections::HashMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use watchdog_core::config::settings::{
    CompletionSettings, ConfigSettings, OnNoCriteria, RescueMode,
};
use watchdog_core::decision::machine::{MachineEvent, MachineSetup};
use watchdog_core::decision::record::JudgementRecord;
use watchdog_facts::evidence::{Degradation, RescueOutcome};
use watchdog_facts::verdict::{Evidence, ProbeRecord, ProbeUsage, Reason, Status};

use super::verdict_parts::{ChangesView, ProbeView, RescueView, as_json, rescue_data};
use crate::engine::NewEvent;
use crate::journal::kind;

/// Short names in a row for the keys of a verdict.
const SHORT: [(&str, &str); 20] = [
    ("reason", "r"),
    ("evidence", "e"),
    ("message", "m"),
    ("feedback", "f"),
    ("retry_at", "ra"),
    ("worktree", "w"),
    ("spec", "s"),
    ("branch", "b"),
    ("baseline", "bl"),
    ("head", "h"),
    ("session", "se"),
    ("unchanged_since", "us"),
    ("probe_usage", "pu"),
    ("strike", "st"),
    ("not_a_strike_because", "ns"),
    ("breaker", "br"),
    ("notes", "n"),
    ("log", "l"),
    ("survivors", "sv"),
    ("duration_ms", "ms"),
];

/// Objects of a verdict that a row holds as a list of their values.
const LISTS: [(&str, &str); 3] = [
    ("breaker", "state strikes limit open_until since why"),
    ("session", "id known_by idle_seconds"),
    (
        "probe_usage",
        "requests input_tokens output_tokens cost_usd",
    ),
];

/// Gives an event of format 3 the data that readers get. `read_row` has the data of another row by its id.
pub(crate) fn upgrade_event(event: &mut NewEvent, read_row: impl FnMut(&str) -> Option<Value>) {
    if event.data["v"] != 2 {
        return;
    }
    let fact = &event.data["f"];
    let data = match event.kind.as_str() {
        kind::VERDICT => upgrade_verdict(event, read_row),
        kind::PROBE => ProbeRecord::deserialize(name_probe(fact))
            .ok()
            .map(|record| as_json(ProbeView::from(&record))),
        kind::RESCUE => RescueOutcome::deserialize(name_rescue(fact))
            .ok()
            .map(|outcome| rescue_data(&outcome)),
        _ => None,
    };
    if let Some(data) = data {
        event.data = data;
    }
}

fn upgrade_verdict(event: &NewEvent, read_row: impl FnMut(&str) -> Option<Value>) -> Option<Value> {
    let row = event.data.as_object()?;
    let own = row.get("d")?.as_object()?;
    let written = row.get("f").cloned();
    let record = written.map(|record| {
        JudgementRecord::deserialize(name_record(&join_rows(record, event, read_row)))
    });
    let facts = record.as_ref().and_then(|record| record.as_ref().ok());
    let notes_of_facts = facts.map(list_notes).unwrap_or_default();
    let mut data = usual_verdict(&event.spec, own.get("r")?.as_str()?, facts)?;
    for (key, value) in own {
        let key = SHORT
            .iter()
            .find(|(_, short)| short == key)
            .map_or(key.as_str(), |(long, _)| long);
        let names = LISTS.iter().find(|(object, _)| *object == key);
        let value = match (value, names) {
            (Value::Array(values), Some((_, names))) => names
                .split(' ')
                .zip(values.iter().cloned().chain(std::iter::repeat(Value::Null)))
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            (Value::Array(notes), None) if key == "notes" => notes
                .iter()
                .map(|note| {
                    let at = note.as_u64().and_then(|at| usize::try_from(at).ok());
                    at.and_then(|at| notes_of_facts.get(at))
                        .map_or_else(|| note.clone(), as_json)
                })
                .collect(),
            _ => value.clone(),
        };
        data.insert(key.to_owned(), value);
    }
    if !own.contains_key("degraded") {
        let notes = data["notes"].as_array().into_iter().flatten();
        let codes = notes.map(|note| note["code"].clone()).collect();
        data.insert("degraded".into(), codes);
    }
    for absent in row.get("x").and_then(Value::as_array).into_iter().flatten() {
        data.remove(absent.as_str()?);
    }
    if let Some(record) = record {
        // Its form is named where it cannot be read.
        let readable = record.map_or_else(
            |_| make_object([("form", 1.into())]),
            |record| record.to_json(),
        );
        data.insert("record".into(), readable);
    }
    Some(data.into())
}

/// The notes of all facts, in their order.
fn list_notes(record: &JudgementRecord) -> Vec<Degradation> {
    let mut notes = record.setup.notes.clone();
    for event in record.steps.iter().filter_map(|step| step.event.as_ref()) {
        notes.extend_from_slice(match event {
            MachineEvent::Commits(Ok(commits)) => &commits.degraded,
            MachineEvent::Changes(Ok(changes)) => &changes.degraded,
            MachineEvent::Checks(judged) => &judged.notes,
            MachineEvent::Rescue(Ok(outcome)) => &outcome.warnings,
            MachineEvent::Survivors(facts) => facts.released.as_slice(),
            _ => &[],
        });
    }
    notes
}

/// A verdict as it usually was with this reason and these facts.
fn usual_verdict(
    spec: &Option<String>,
    reason: &str,
    record: Option<&JudgementRecord>,
) -> Option<Map<String, Value>> {
    let reason = Reason::ALL
        .iter()
        .find(|candidate| candidate.as_str() == reason)?;
    let (mut commits, mut changes, mut judged, mut rescue) = (None, None, None, None);
    let (mut snapshot, mut counted, mut rescue_commits) = (None, None, 0);
    let mut probes: Vec<&ProbeRecord> = Vec::new();
    let steps = record.map_or(&[][..], |record| &record.steps);
    for event in steps.iter().filter_map(|step| step.event.as_ref()) {
        match event {
            MachineEvent::Commits(Ok(read)) => commits = Some(read),
            MachineEvent::Changes(Ok(read)) => (changes, counted) = (Some(read), Some(read)),
            MachineEvent::Snapshot(Ok(Some(name))) => snapshot = Some(name),
            MachineEvent::Checks(result) => judged = Some(result),
            MachineEvent::Probe(probe) => probes.push(probe),
            MachineEvent::Rescue(Ok(outcome)) => {
                rescue_commits += outcome.commits;
                if outcome.commits > 0 {
                    // They are read again only where something else wants to know.
                    changes = None;
                }
                rescue = Some(outcome);
            }
            _ => {}
        }
    }
    let head = commits.map(|commits| commits.head.clone().unwrap_or_else(|| "unborn".into()));
    let worktree = record
        .and_then(|record| record.setup.commands.parts().0.strip_prefix(" -C "))
        .filter(|path| path.starts_with('/'));
    let usage = probes
        .iter()
        .fold(ProbeUsage::default(), |sum, probe| sum.plus(probe.usage));
    let earlier = record.map_or(0, |record| record.setup.earlier.rounds_used as usize);
    let feedback = judged
        .map(|judged| &judged.feedback)
        .filter(|text| !text.is_empty());
    let rescue = RescueView {
        branch: rescue.and_then(|outcome| outcome.fallback_branch.clone()),
        commits: rescue_commits,
        left_out: rescue.map_or_else(Vec::new, |outcome| outcome.left_out.clone()),
        snapshot: snapshot.cloned(),
        ..RescueView::default()
    };
    let usual = json!({
        "schema": 1,
        "status": reason.status().as_str(),
        "reason": reason.as_str(),
        "complete": reason.status() == Status::Complete,
        "evidence": "none",
        "message": null,
        "feedback": feedback.filter(|_| *reason == Reason::ChecksUnmet),
        "retry_at": null,
        "worktree": worktree,
        "spec": spec,
        "branch": spec,
        "baseline": head.as_ref().filter(|_| commits.is_some_and(|commits| commits.new_commits == 0)),
        "head": head,
        "new_commits": commits.map(|commits| commits.new_commits),
        "made_here": commits.map(|commits| commits.made_here),
        "imported_commits": commits.map(|commits| commits.imported),
        "net_change": commits.map(|commits| commits.net_change),
        "brought": commits.map(|commits| commits.brought),
        "commits": commits.map_or(&[][..], |commits| &commits.listed),
        "changes": changes.map(ChangesView::from),
        "rescued": rescue_commits > 0,
        "rescue": rescue.unless_empty(),
        "probes_used": earlier + probes.len(),
        "probes": probes.into_iter().map(ProbeView::from).collect::<Vec<_>>(),
        "checks": judged.map_or(&[][..], |judged| &judged.results),
        "session": null,
        "inherited": counted.map_or(0, |changes| changes.inherited),
        "changed_since_end": counted.map_or(0, |changes| changes.since_end),
        "unchanged_since": null,
        "helpers": [],
        "probe_usage": usage,
        "strike": false,
        "not_a_strike_because": reason.status().as_str(),
        "breaker": {"state": "closed", "strikes": 0, "limit": 3, "open_until": null, "since": null, "why": null},
        "degraded": [],
        "notes": [],
        "log": null,
        "survivors": [],
        "refused_tools": [],
        "duration_ms": 0,
    });
    usual.as_object().cloned()
}

/// The id of a row that a verdict's row names: without the middle that the two share.
fn whole_id(reference: &str, from: &str) -> String {
    let process = from
        .split_once('-')
        .and_then(|(_, behind)| behind.rsplit_once('-'));
    match (reference.split_once('-'), process) {
        (Some((time, count)), Some((process, _))) if !count.contains('-') => {
            format!("{time}-{process}-{count}")
        }
        _ => reference.to_owned(),
    }
}

/// The position in a question's fact of why its reply is disputed, which was found after the question's own row was written.
const DISPUTED: usize = 5;

/// The record with what the rows hold that it names. A row that is gone is a step that was lost.
fn join_rows(
    mut record: Value,
    event: &NewEvent,
    mut read_row: impl FnMut(&str) -> Option<Value>,
) -> Value {
    let steps = record.get_mut(2).and_then(Value::as_array_mut);
    for step in steps.into_iter().flatten() {
        let Some(id) = step[2].get("@").and_then(Value::as_str) else {
            continue;
        };
        let row = read_row(&whole_id(id, &event.id)).unwrap_or_default();
        let disputed = step[2].get("d").cloned();
        // A snapshot's row holds its ref, any other one its fact.
        let Some(fact) = row.get("f").or_else(|| row.get("ref")) else {
            step[1] = "?".into();
            continue;
        };
        step[2] = fact.clone();
        if let (Some(why), Some(fields)) = (disputed, step[2].as_array_mut()) {
            fields.resize(fields.len().max(DISPUTED + 1), Value::Null);
            fields[DISPUTED] = why;
        }
    }
    record
}

fn make_object<const N: usize>(members: [(&str, Value); N]) -> Value {
    members
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The values of a list under these names, over what a missing one means.
fn name_fields<const N: usize>(missing: [(&str, Value); N], values: &Value, names: &str) -> Value {
    let mut named = make_object(missing);
    let values = values.as_array().into_iter().flatten();
    for (name, value) in names.split(' ').zip(values) {
        if !value.is_null() {
            named[name] = value.clone();
        }
    }
    named
}

fn name_each(values: &Value, name: impl Fn(&Value) -> Value) -> Value {
    let values = values.as_array().into_iter().flatten();
    values.map(name).collect()
}

fn name_notes(values: &Value) -> Value {
    name_each(values, |note| {
        name_fields([("detail", "".into())], note, "code detail")
    })
}

fn name_record(record: &Value) -> Value {
    let mut last: HashMap<&str, &Value> = HashMap::new();
    let mut steps = Vec::new();
    for step in record[2].as_array().into_iter().flatten() {
        let kind = step[1].as_str().unwrap_or_default();
        // In place of a fact that was read again and is the same.
        let fact = match &step[2] {
            Value::String(same) if same == "=" && kind != "s" => last.get(kind).copied(),
            _ => None,
        };
        let fact = fact.unwrap_or(&step[2]);
        last.insert(kind, fact);
        let after_ms = step[0].as_u64().unwrap_or(0);
        steps.push(make_object([
            ("after_ms", after_ms.into()),
            ("event", name_event(kind, fact)),
        ]));
    }
    // Another version, or none, has no setup that is read.
    let setup = if record[0] == 1 {
        name_setup(&record[1])
    } else {
        Value::Null
    };
    let beside = name_each(&record[3], Value::clone);
    make_object([
        ("setup", setup),
        ("steps", steps.into()),
        ("beside", beside),
        ("overruled", (record[4] == true).into()),
    ])
}

fn name_event(kind: &str, fact: &Value) -> Value {
    let read = |name: fn(&Value) -> Value| match fact.get("!") {
        Some(why) => {
            let why = name_fields([("why", "".into())], why, "kind why hint");
            make_object([("Err", why)])
        }
        None => make_object([("Ok", name(fact))]),
    };
    let named = |names: &str| name_fields([], fact, names);
    let (word, fact) = match kind {
        "b" => return "start".into(),
        "w" => return "wait_over".into(),
        "i" => return "interrupt".into(),
        "c" => ("commits", read(name_commits)),
        "u" => ("changes", read(name_changes)),
        "s" => ("snapshot", read(Value::clone)),
        "k" => ("checks", name_checks(fact)),
        "p" => ("probe", name_probe(fact)),
        "r" => ("rescue", read(name_rescue)),
        "l" => {
            let mut facts = named("holding session_over released");
            facts["released"] = name_notes(&facts["released"]).get(0).cloned().into();
            ("survivors", facts)
        }
        "a" => ("activity", named("worktree processes transcript")),
        "g" => ("criteria", read(name_criteria)),
        _ => return Value::Null,
    };
    make_object([(word, fact)])
}

fn name_criteria(fact: &Value) -> Value {
    name_fields([], fact, "guarded guarded_total named")
}

fn name_commits(fact: &Value) -> Value {
    let mut commits = name_fields(
        [],
        fact,
        "head new_commits made_here net_change listed rescued imported degraded operation conflicts conflicts_total brought",
    );
    // The newest one is HEAD, as a rule.
    let head: Value = commits["head"].as_str().unwrap_or_default().into();
    commits["listed"] = name_each(&commits["listed"], |commit| {
        let mut commit = name_fields(
            [
                ("id", head.clone()),
                ("subject", "".into()),
                ("origin", 0.into()),
            ],
            commit,
            "id subject origin",
        );
        commit["origin"] = match commit["origin"].as_u64() {
            Some(0) => "made_here".into(),
            Some(1) => "imported".into(),
            _ => "rescued".into(),
        };
        commit
    });
    commits["degraded"] = name_notes(&commits["degraded"]);
    commits
}

fn name_changes(fact: &Value) -> Value {
    let mut changes = name_fields(
        [("paths", Vec::<Value>::new().into())],
        fact,
        "work paths untracked unstaged staged conflicted inherited since_end operation work_paths degraded",
    );
    if changes["work_paths"].is_null() {
        changes["work_paths"] = changes["paths"].clone();
    }
    changes["degraded"] = name_notes(&changes["degraded"]);
    changes
}

fn name_checks(fact: &Value) -> Value {
    let mut checks = name_fields(
        [("feedback", "".into()), ("all_passed_before", false.into())],
        fact,
        "outcome evidence feedback all_passed_before results notes",
    );
    checks["results"] = name_each(&checks["results"], |check| {
        let mut check = name_fields(
            [
                ("name", "".into()),
                ("type", "".into()),
                ("duration_ms", 0.into()),
            ],
            check,
            "name type outcome evidence feedback duration_ms cached before tests tree",
        );
        if check["tests"].is_array() {
            let names = ["ran", "failed", "skipped"];
            check["tests"] = name_fields(
                names.map(|name| (name, 0.into())),
                &check["tests"],
                "ran failed skipped",
            );
        }
        check
    });
    // The feedback of all is that of one of them, as a rule: its number is written then.
    if let Some(at) = checks["feedback"].as_u64() {
        let result = &checks["results"][usize::try_from(at).unwrap_or_default()];
        checks["feedback"] = result["feedback"].as_str().unwrap_or_default().into();
    }
    checks["notes"] = name_notes(&checks["notes"]);
    checks
}

fn name_probe(fact: &Value) -> Value {
    let mut probe = name_fields(
        [
            ("duration_ms", 0.into()),
            ("requests", 0.into()),
            ("withheld", false.into()),
        ],
        fact,
        "at duration_ms outcome answer retry_at disputed session_id requests input_tokens output_tokens cost_usd withheld",
    );
    probe["usage"] = probe.clone();
    let answer = probe["answer"].take();
    // A reply and a reason stand in the same place.
    if probe["outcome"] == "reply" {
        probe["reply"] = name_reply(&answer);
    } else {
        probe["why"] = answer;
    }
    probe
}

fn name_reply(answer: &Value) -> Value {
    let none = || Vec::<Value>::new().into();
    let missing = [
        ("message", "".into()),
        ("agents_details", none()),
        ("tasks_completed", none()),
        ("tasks_pending", none()),
    ];
    name_fields(
        missing,
        answer,
        "status message agents_active agents_details tasks_completed tasks_pending commits_made should_continue next_action doubt",
    )
}

fn name_rescue(fact: &Value) -> Value {
    let mut rescue = name_fields(
        [("commits", 0.into())],
        fact,
        "commits made failed lost fallback_branch left_out warnings left_out_total held_why held_until",
    );
    rescue["left_out"] = name_each(&rescue["left_out"], |skipped| {
        name_fields([("path", "".into())], skipped, "path why")
    });
    rescue["warnings"] = name_notes(&rescue["warnings"]);
    if rescue["held_why"].is_string() {
        rescue["held_back"] = make_object([
            ("why", rescue["held_why"].clone()),
            ("retry_at", rescue["held_until"].clone()),
        ]);
    }
    rescue
}

/// The setup that a row of format 3 leaves away, whatever is usual by now.
fn usual_setup() -> MachineSetup {
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

fn name_seconds(seconds: &Value) -> Value {
    as_json(Duration::try_from_secs_f64(seconds.as_f64().unwrap_or_default()).unwrap_or_default())
}

fn name_setup(row: &Value) -> Value {
    let mut setup = as_json(usual_setup());
    for (short, value) in row.as_object().into_iter().flatten() {
        let (path, value) = match short.as_str() {
            "p" => ("/completion/max_probes", value.clone()),
            "i" => ("/completion/probe_interval", name_seconds(value)),
            "t" => ("/completion/probe_timeout", name_seconds(value)),
            "f" => ("/completion/final_rescue_attempt", value.clone()),
            "m" => ("/rescue_mode", value.clone()),
            "nr" => ("/no_rescue", value.clone()),
            "np" => ("/no_probe", value.clone()),
            "ua" => ("/unasked", value.clone()),
            "o" => ("/once", value.clone()),
            "c" => ("/has_checks", value.clone()),
            "cp" => ("/checks_run_programs", value.clone()),
            "g" => ("/criteria_files", value.clone()),
            "ng" => ("/on_no_criteria", "review".into()),
            "re" => ("/require_evidence", value.clone()),
            "u" => (
                "/trust",
                make_object([("untrusted", make_object([("allow_with", value.clone())]))]),
            ),
            "s" => (
                "/scope",
                make_object([("criteria", make_object([("baseline_known", value.clone())]))]),
            ),
            "l" => ("/read_leftovers", value.clone()),
            "se" => ("/session", name_session_end(value)),
            "so" => ("/session_over", value.clone()),
            "li" => {
                let words = value[1].as_str().unwrap_or_default().into();
                let word = value[0].as_str().unwrap_or_default();
                (
                    "/life",
                    make_object([(word, make_object([("words", words)]))]),
                )
            }
            "sv" => ("/survivors", value.clone()),
            "nl" => ("/no_progress_limit", value.clone()),
            "e" => {
                let rounds = "rounds_used answered alive nothing_to_do_streak fruitless unmet";
                ("/earlier", name_fields([], value, rounds))
            }
            "n" => ("/notes", name_notes(value)),
            "w" => ("/commands/worktree", value.clone()),
            "d" => ("/commands/state", value.clone()),
            _ => continue,
        };
        if let Some(member) = setup.pointer_mut(path) {
            *member = value;
        }
    }
    setup
}

fn name_session_end(end: &Value) -> Value {
    let exit = || match &end[1] {
        Value::Array(signal) => make_object([("signal", signal.first().cloned().into())]),
        code => make_object([("code", code.clone())]),
    };
    let text = |at: usize| Value::from(end[at].as_str().unwrap_or_default());
    let word = end[0].as_str().unwrap_or_default();
    let fields = match word {
        "ended" => make_object([("exit", exit())]),
        "timed_out" | "idle" => make_object([("after", name_seconds(&end[1]))]),
        "rate_limited" => make_object([("why", text(1)), ("retry_at", end[2].clone())]),
        "over_limit" => {
            make_object([("stop", make_object([("reason", text(1)), ("why", text(2))]))])
        }
        "left_work" => make_object([("exit", exit()), ("what", text(2))]),
        "cut_short" => make_object([("exit", exit()), ("why", text(2))]),
        _ => make_object([("why", text(1)), ("shortage", (end[2] == true).into())]),
    };
    make_object([(word, fields)])
}
