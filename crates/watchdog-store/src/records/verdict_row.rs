//! The rows of a judgement in the journal. Readers get what was written, and the row has no fact twice:
//!
//! - The facts of a judgement are in the `record` of its verdict. The row leaves out whatever
//!   follows from them (the lists of commits, changes, questions and
//!   checks, and their figures) is left out of the row; so is what is as it usually is.
//! - Each deed is a row of its own, written when it happened (a question, a snapshot, a rescue).
//!   The verdict's row names it.
//!
//! Facts that cannot be rebuilt exactly stay in the row, so that nothing is lost, whatever a
//! verdict holds.

use serde_json::{Map, Value, json};

use watchdog_core::decision::machine::{MachineEvent, MachineSetup};
use watchdog_core::decision::record::{JudgementRecord, form};
use watchdog_facts::evidence::{Changes, CheckResult, Commits, Degradation, RescueOutcome};
use watchdog_facts::verdict::{ProbeRecord, ProbeUsage, Reason, Status};

use super::verdict_parts::{ChangesView, ProbeView, RescueView, as_json, rescue_data};
use crate::engine::NewEvent;
use crate::journal::kind;

/// The version of these rows; those before it hold their data as readers get it.
const VERSION: u64 = 2;

/// The key in the data of a verdict under which its facts are, as `watchdog_core::decision::record::form` writes them.
pub const RECORD: &str = "record";
/// The key in the data of a verdict that is about to be written: for each step that is a row of its own, that row's id.
pub const ROWS: &str = "record_rows";
/// The key in the data of a question or rescue that is about to be written: the whole fact.
pub const FACT: &str = "fact";

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
const LISTS: [(&str, &[&str]); 3] = [
    (
        "breaker",
        &["state", "strikes", "limit", "open_until", "since", "why"],
    ),
    ("session", &["id", "known_by", "idle_seconds"]),
    (
        "probe_usage",
        &["requests", "input_tokens", "output_tokens", "cost_usd"],
    ),
];

/// The text of an event's row.
pub(crate) fn pack(event: &NewEvent) -> String {
    let packed = match event.kind.as_str() {
        kind::VERDICT => pack_verdict(event),
        kind::PROBE => pack_fact(&event.data, |fact| {
            form::read_probe(fact).map(|record| as_json(ProbeView::from(&record)))
        }),
        kind::RESCUE => pack_fact(&event.data, |fact| {
            form::read_rescue(fact).map(|outcome| rescue_data(&outcome))
        }),
        _ => None,
    };
    packed.map_or_else(|| event.data.to_string(), |row| row.to_string())
}

/// Restores a row for its readers. `read_row` has the text of another row by its id.
pub(crate) fn unpack(event: &mut NewEvent, read_row: impl FnMut(&str) -> Option<String>) {
    if event.data.get("v").and_then(Value::as_u64) != Some(VERSION) {
        return;
    }
    let data = match event.kind.as_str() {
        kind::VERDICT => unpack_verdict(event, read_row),
        kind::PROBE => {
            form::read_probe(&event.data["f"]).map(|record| as_json(ProbeView::from(&record)))
        }
        kind::RESCUE => form::read_rescue(&event.data["f"]).map(|outcome| rescue_data(&outcome)),
        _ => None,
    };
    if let Some(data) = data {
        event.data = data;
    }
}

fn pack_fact(data: &Value, shown: impl FnOnce(&Value) -> Option<Value>) -> Option<Value> {
    let mut members = data.as_object()?.clone();
    let fact = members.remove(FACT)?;
    if shown(&fact).as_ref() == Some(&Value::Object(members.clone())) {
        return Some(json!({"v": VERSION, "f": fact}));
    }
    // The fact does not say all that readers get.
    members.insert("f".into(), fact);
    Some(members.into())
}

fn pack_verdict(event: &NewEvent) -> Option<Value> {
    let mut data = event.data.as_object()?.clone();
    let record = data.remove(RECORD);
    let rows = data.remove(ROWS).unwrap_or_default();
    let usual = usual(&event.spec, data.get("reason"), record.as_ref())?;
    let facts = record
        .as_ref()
        .and_then(|record| form::read_record(record).ok());
    let mut own = Map::new();
    for (key, value) in &data {
        // Without the reason nothing else can be rebuilt.
        if key == "reason" || usual.get(key) != Some(value) {
            own.insert(
                short(key).to_owned(),
                squeeze_value(key, value, facts.as_ref()),
            );
        }
    }
    if data.get("degraded") == Some(&codes(data.get("notes"))) {
        own.remove("degraded");
    }
    let absent: Vec<&String> = usual
        .keys()
        .filter(|key| !data.contains_key(*key))
        .collect();
    let mut row = Map::from_iter([
        ("v".to_owned(), VERSION.into()),
        ("d".to_owned(), own.into()),
    ]);
    if !absent.is_empty() {
        row.insert("x".into(), json!(absent));
    }
    if let Some(record) = record {
        row.insert("f".into(), with_references(record, &rows, &event.id));
    }
    Some(row.into())
}

fn unpack_verdict(event: &NewEvent, read_row: impl FnMut(&str) -> Option<String>) -> Option<Value> {
    let row = event.data.as_object()?;
    let record = row
        .get("f")
        .map(|record| with_rows(record.clone(), &event.id, read_row));
    let facts = record
        .as_ref()
        .and_then(|record| form::read_record(record).ok());
    let own = row.get("d")?.as_object()?;
    let mut data = usual(&event.spec, own.get("r"), record.as_ref())?;
    for (key, value) in own {
        let key = long(key);
        data.insert(key.to_owned(), unsqueeze_value(key, value, facts.as_ref()));
    }
    if !own.contains_key("degraded") {
        data.insert("degraded".into(), codes(data.get("notes")));
    }
    for key in row
        .get("x")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        data.remove(key);
    }
    if let Some(record) = record {
        data.insert(RECORD.into(), record);
    }
    Some(data.into())
}

fn short(key: &str) -> &str {
    SHORT
        .iter()
        .find(|(long, _)| *long == key)
        .map_or(key, |(_, short)| short)
}

fn long(key: &str) -> &str {
    SHORT
        .iter()
        .find(|(_, short)| *short == key)
        .map_or(key, |(long, _)| long)
}

fn codes(notes: Option<&Value>) -> Value {
    notes
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|note| note["code"].clone())
        .collect()
}

fn squeeze_value(key: &str, value: &Value, facts: Option<&JudgementRecord>) -> Value {
    let keys = LISTS
        .iter()
        .find(|(object, _)| *object == key)
        .map(|(_, keys)| *keys);
    match (value, keys) {
        (Value::Object(object), Some(keys))
            if object.len() == keys.len() && keys.iter().all(|key| object.contains_key(*key)) =>
        {
            let mut values: Vec<&Value> = keys.iter().map(|key| &object[*key]).collect();
            while values.last().is_some_and(|value| value.is_null()) {
                values.pop();
            }
            json!(values)
        }
        (Value::Array(notes), None) if key == "notes" => {
            let notes_of_facts = facts.map(all_notes).unwrap_or_default();
            let squeeze_note = |note: &Value| {
                notes_of_facts
                    .iter()
                    .position(|fact_note| fact_note == note)
                    .map_or_else(|| note.clone(), Value::from)
            };
            notes.iter().map(squeeze_note).collect()
        }
        _ => value.clone(),
    }
}

fn unsqueeze_value(key: &str, value: &Value, facts: Option<&JudgementRecord>) -> Value {
    let keys = LISTS
        .iter()
        .find(|(object, _)| *object == key)
        .map(|(_, keys)| *keys);
    match (value, keys) {
        (Value::Array(values), Some(keys)) => keys
            .iter()
            .enumerate()
            .map(|(at, key)| {
                (
                    (*key).to_owned(),
                    values.get(at).cloned().unwrap_or_default(),
                )
            })
            .collect(),
        (Value::Array(notes), None) if key == "notes" => {
            let notes_of_facts = facts.map(all_notes).unwrap_or_default();
            let at = |note: &Value| {
                note.as_u64()
                    .and_then(|at| notes_of_facts.get(usize::try_from(at).ok()?).cloned())
            };
            notes
                .iter()
                .map(|note| at(note).unwrap_or_else(|| note.clone()))
                .collect()
        }
        _ => value.clone(),
    }
}

/// The notes of all facts, in their order.
fn all_notes(record: &JudgementRecord) -> Vec<Value> {
    let mut all_notes: Vec<Value> = Vec::new();
    let mut add = |notes: &[Degradation]| all_notes.extend(notes.iter().map(as_json));
    add(&record.setup.notes);
    for event in record.steps.iter().filter_map(|step| step.event.as_ref()) {
        match event {
            MachineEvent::Commits(Ok(commits)) => add(&commits.degraded),
            MachineEvent::Changes(Ok(changes)) => add(&changes.degraded),
            MachineEvent::Checks(judged) => add(&judged.notes),
            MachineEvent::Rescue(Ok(outcome)) => add(&outcome.warnings),
            MachineEvent::Survivors(all_notes) => add(all_notes.released.as_slice()),
            _ => {}
        }
    }
    all_notes
}

/// The last facts of each kind.
#[derive(Default)]
struct LastFacts {
    commits: Option<Commits>,
    changes: Option<Changes>,
    inherited: u64,
    since_end: u64,
    snapshot: Option<String>,
    checks: Vec<CheckResult>,
    feedback: Option<String>,
    probes: Vec<ProbeRecord>,
    rescue: Option<RescueOutcome>,
    rescue_commits: u64,
}

impl LastFacts {
    fn from_record(record: &JudgementRecord) -> Self {
        let mut last = LastFacts::default();
        for event in record.steps.iter().filter_map(|step| step.event.as_ref()) {
            match event {
                MachineEvent::Commits(Ok(commits)) => last.commits = Some(commits.clone()),
                MachineEvent::Changes(Ok(changes)) => {
                    (last.inherited, last.since_end) = (changes.inherited, changes.since_end);
                    last.changes = Some(changes.clone());
                }
                MachineEvent::Snapshot(Ok(Some(name))) => last.snapshot = Some(name.clone()),
                MachineEvent::Checks(judged) => {
                    last.checks.clone_from(&judged.results);
                    last.feedback = Some(judged.feedback.clone()).filter(|text| !text.is_empty());
                }
                MachineEvent::Probe(probe) => last.probes.push(probe.clone()),
                MachineEvent::Rescue(Ok(outcome)) => {
                    last.rescue_commits += outcome.commits;
                    if outcome.commits > 0 {
                        // They are read again only where something else wants to know.
                        last.changes = None;
                    }
                    last.rescue = Some(outcome.clone());
                }
                _ => {}
            }
        }
        last
    }

    fn rescue(&self) -> Option<RescueView> {
        let outcome = self.rescue.clone().unwrap_or_default();
        let rescue = RescueView {
            branch: outcome.fallback_branch,
            commits: self.rescue_commits,
            left_out: outcome.left_out,
            snapshot: self.snapshot.clone(),
            ..RescueView::default()
        };
        rescue.unless_empty()
    }
}

/// A verdict as it usually is with this reason and these facts. It belongs to the version of the row: another answer for the same facts
/// would change what old rows say.
fn usual(
    spec: &Option<String>,
    reason: Option<&Value>,
    record: Option<&Value>,
) -> Option<Map<String, Value>> {
    let reason = Reason::ALL
        .iter()
        .find(|candidate| Some(candidate.as_str()) == reason.and_then(Value::as_str))?;
    let record = record.and_then(|record| form::read_record(record).ok());
    let last = record
        .as_ref()
        .map(LastFacts::from_record)
        .unwrap_or_default();
    let setup: Option<&MachineSetup> = record.as_ref().map(|record| &record.setup);
    let commits = last.commits.as_ref();
    let head = commits.map(|commits| commits.head.clone().unwrap_or_else(|| "unborn".into()));
    let worktree = setup
        .and_then(|setup| setup.commands.parts().0.strip_prefix(" -C "))
        .filter(|path| path.starts_with('/'));
    let usage = last
        .probes
        .iter()
        .fold(ProbeUsage::default(), |sum, probe| sum.plus(probe.usage));
    let earlier = setup.map_or(0, |setup| u64::from(setup.earlier.rounds_used));
    let changes = last.changes.as_ref();
    json!({
        "schema": 1,
        "status": reason.status().as_str(),
        "reason": reason.as_str(),
        "complete": reason.status() == Status::Complete,
        "evidence": "none",
        "message": null,
        "feedback": last.feedback.clone().filter(|_| *reason == Reason::ChecksUnmet),
        "retry_at": null,
        "worktree": worktree,
        "spec": spec,
        "branch": spec,
        "baseline": head.clone().filter(|_| commits.is_some_and(|commits| commits.new_commits == 0)),
        "head": head,
        "new_commits": commits.map(|commits| commits.new_commits),
        "made_here": commits.map(|commits| commits.made_here),
        "imported_commits": commits.map(|commits| commits.imported),
        "net_change": commits.map(|commits| commits.net_change),
        "brought": commits.map(|commits| commits.brought),
        "commits": commits.map(|commits| &commits.listed[..]).unwrap_or_default(),
        "changes": changes.map(ChangesView::from),
        "rescued": last.rescue_commits > 0,
        "rescue": last.rescue(),
        "probes_used": earlier + last.probes.len() as u64,
        "probes": last.probes.iter().map(ProbeView::from).collect::<Vec<_>>(),
        "checks": last.checks,
        "session": null,
        "inherited": last.inherited,
        "changed_since_end": last.since_end,
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
    })
    .as_object()
    .cloned()
}

/// The middle of an id, which is that of the process, where it is the same as in another id.
fn shared_part(id: &str) -> Option<(&str, &str, &str)> {
    let (time, rest) = id.split_once('-')?;
    let (process, count) = rest.rsplit_once('-')?;
    Some((time, process, count))
}

fn reference(id: &str, from: &str) -> String {
    match (shared_part(id), shared_part(from)) {
        (Some((time, process, count)), Some((_, own, _))) if process == own => {
            format!("{time}-{count}")
        }
        _ => id.to_owned(),
    }
}

fn shorten_reference(reference: &str, from: &str) -> String {
    match (
        reference.matches('-').count(),
        reference.split_once('-'),
        shared_part(from),
    ) {
        (1, Some((time, count)), Some((_, process, _))) => format!("{time}-{process}-{count}"),
        _ => reference.to_owned(),
    }
}

/// The position in a question's fact of why its reply is disputed: what the machine found after the question's own row was written.
const DISPUTED: usize = 5;

/// The record with the names of rows in place of what they hold.
fn with_references(mut record: Value, rows: &Value, from: &str) -> Value {
    let Some(steps) = record.get_mut(2).and_then(Value::as_array_mut) else {
        return record;
    };
    for (at, step) in steps.iter_mut().enumerate() {
        let Some(id) = rows.get(at.to_string()).and_then(Value::as_str) else {
            continue;
        };
        if let Some(fact) = step.get_mut(2) {
            let disputed = fact.get(DISPUTED).filter(|why| why.is_string()).cloned();
            *fact = json!({ "@": reference(id, from) });
            if let Some(why) = disputed {
                fact["d"] = why;
            }
        }
    }
    record
}

/// The record with what the rows hold that it names. A row that is gone is a step that was lost.
fn with_rows(
    mut record: Value,
    from: &str,
    mut read_row: impl FnMut(&str) -> Option<String>,
) -> Value {
    let Some(steps) = record.get_mut(2).and_then(Value::as_array_mut) else {
        return record;
    };
    for step in steps {
        let Some(id) = step
            .get(2)
            .and_then(|fact| fact.get("@"))
            .and_then(Value::as_str)
            .map(|id| shorten_reference(id, from))
        else {
            continue;
        };
        let disputed = step[2].get("d").cloned();
        let row: Option<Value> = read_row(&id).and_then(|text| serde_json::from_str(&text).ok());
        // A snapshot's row holds its ref, any other one its fact.
        let fact = row
            .as_ref()
            .and_then(|row| row.get("f").or_else(|| row.get("ref")))
            .cloned();
        match fact {
            Some(fact) => step[2] = with_dispute(fact, disputed),
            None => *step = json!([step[0], "?"]),
        }
    }
    record
}

fn with_dispute(mut fact: Value, disputed: Option<Value>) -> Value {
    if let (Some(why), Some(fields)) = (disputed, fact.as_array_mut()) {
        if fields.len() <= DISPUTED {
            fields.resize(DISPUTED + 1, Value::Null);
        }
        fields[DISPUTED] = why;
    }
    fact
}
