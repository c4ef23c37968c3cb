//! A verdict read back from the journal with what it rests on, for whoever shows that. What an event does not hold is `None`, and never
//! zero.

use serde_json::Value;

/// A verdict and its evidence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedVerdict {
    /// The word of its status.
    pub status: String,
    /// The word of its reason.
    pub reason: String,
    /// Its sentence.
    pub message: String,
    /// How strong its evidence is.
    pub evidence: String,
    /// The commit that it begins at.
    pub baseline: String,
    /// How many commits there were since.
    pub new_commits: Option<u64>,
    /// Those that are listed: name, subject and origin.
    pub commits: Vec<[String; 3]>,
    /// What was not committed: staged, unstaged, untracked, in conflict.
    pub changes: Option<[Option<u64>; 4]>,
    /// The paths of that which are listed.
    pub paths: Vec<String>,
    /// The checks: name, outcome and feedback.
    pub checks: Option<Vec<[String; 3]>>,
    /// The questions to the agent: outcome, its status and its message.
    pub probes: Option<Vec<[String; 3]>>,
    /// What weakens it: detail and code.
    pub notes: Vec<[String; 2]>,
    /// Whether it was a strike of the breaker.
    pub strike: Option<bool>,
}

impl RecordedVerdict {
    /// Reads the data of an event.
    pub fn read(data: &Value) -> Self {
        let list = |value: &Value| value.as_array().cloned();
        let changes = &data["changes"];
        RecordedVerdict {
            status: text(data, "status"),
            reason: text(data, "reason"),
            message: text(data, "message"),
            evidence: text(data, "evidence"),
            baseline: text(data, "baseline"),
            new_commits: data["new_commits"].as_u64(),
            commits: list(&data["commits"])
                .unwrap_or_default()
                .iter()
                .map(|it| ["id", "subject", "origin"].map(|key| text(it, key)))
                .collect(),
            changes: changes.is_object().then(|| {
                ["staged", "unstaged", "untracked", "conflicted"].map(|key| changes[key].as_u64())
            }),
            paths: list(&changes["paths"])
                .unwrap_or_default()
                .iter()
                .filter_map(|path| path.as_str().map(str::to_owned))
                .collect(),
            checks: list(&data["checks"]).map(|all| {
                all.iter()
                    .map(|it| ["name", "outcome", "feedback"].map(|key| text(it, key)))
                    .collect()
            }),
            probes: list(&data["probes"]).map(|all| all.iter().map(probe).collect()),
            notes: list(&data["notes"])
                .unwrap_or_default()
                .iter()
                .map(|it| ["detail", "code"].map(|key| text(it, key)))
                .collect(),
            strike: data["strike"].as_bool(),
        }
    }
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

fn probe(probe: &Value) -> [String; 3] {
    let said = [text(&probe["reply"], "message"), text(probe, "why")]
        .into_iter()
        .find(|said| !said.is_empty());
    [
        text(probe, "outcome"),
        text(&probe["reply"], "status"),
        said.unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_event_does_not_hold_is_not_zero() {
        let found = RecordedVerdict::read(&json!({"status": "error"}));
        assert_eq!(
            (found.new_commits, found.changes, found.checks),
            (None, None, None)
        );
        let found = RecordedVerdict::read(&json!({
            "new_commits": 0, "changes": {"staged": 1, "paths": ["a"]}, "checks": [{"name": "t", "outcome": "unmet", "feedback": "no"}],
            "probes": [{"outcome": "reply", "reply": {"status": "working", "message": "on it"}}, {"outcome": "timed_out", "why": "60 s"}],
        }));
        assert_eq!(
            (found.new_commits, found.changes, found.paths),
            (
                Some(0),
                Some([Some(1), None, None, None]),
                vec!["a".to_owned()]
            )
        );
        assert_eq!(
            found.checks,
            Some(vec![["t", "unmet", "no"].map(str::to_owned)])
        );
        let probes = [["reply", "working", "on it"], ["timed_out", "", "60 s"]];
        assert_eq!(
            found.probes,
            Some(probes.map(|probe| probe.map(str::to_owned)).to_vec())
        );
    }
}
