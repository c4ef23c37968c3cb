//! Looks at the fleet that this machine joined: is its server there, fit, and of one time with us. A machine in no fleet asks nobody.

use super::account_findings::account_findings;
use super::finding::DoctorFinding;
use crate::modes::fleet::FleetSetting;
use watchdog_facts::display::escape_to_one_line;
use watchdog_fleet::connection_settings::TlsMode;
use watchdog_fleet::machines::{FleetSurvey, survey};
use watchdog_fleet::migrations::FLEET_FORMAT;
use watchdog_store::StateDir;

/// Clocks that differ by more are worth a note, in milliseconds: leases go by the server's alone, the times of events do not.
const CLOCK_TOLERANCE_MS: u64 = 5_000;

/// What there is to say of the fleet and of the account of agents; of the fleet nothing where this machine is in none.
pub(super) fn fleet_findings(state: &StateDir) -> Vec<DoctorFinding> {
    let wrong =
        |why: String, hint: String| DoctorFinding::wrong("fleet", escape_to_one_line(&why), hint);
    let setting = match FleetSetting::of(state) {
        Ok(None) => return account_findings(state, None, None),
        Ok(Some(setting)) => setting,
        Err(error) => return vec![wrong(error.to_string(), error.hint())],
    };
    let reached = setting
        .server()
        .and_then(|server| Ok((survey(&server)?, server)));
    let (mut findings, server) = match &reached {
        Err(error) => (vec![wrong(error.to_string(), error.hint())], None),
        Ok((found, server)) => {
            let is_fit = found.format == Some(FLEET_FORMAT) && found.missing_rights.is_empty();
            (of_survey(&setting, found), Some(server).filter(|_| is_fit))
        }
    };
    findings.extend(account_findings(state, Some(&setting), server));
    findings
}

fn of_survey(setting: &FleetSetting, found: &FleetSurvey) -> Vec<DoctorFinding> {
    let server = setting.server.server();
    let tls = if found.is_encrypted {
        setting.server.tls.as_str()
    } else {
        "no TLS"
    };
    let detail = format!(
        "{} on {server} (PostgreSQL {}, {tls})",
        setting.name,
        escape_to_one_line(&found.version)
    );
    let mut findings = vec![DoctorFinding::ok("fleet", detail)];
    let mut wrong =
        |detail: String, mend: &str| findings.push(DoctorFinding::wrong("fleet", detail, mend));
    match found.format {
        None => wrong(
            "the database holds no fleet".into(),
            "have its owner run: watchdog fleet init URL",
        ),
        Some(newer) if newer > FLEET_FORMAT => {
            wrong(
                format!("the fleet has format {newer}, and this watchdog knows {FLEET_FORMAT}"),
                "use the newer watchdog that made it",
            );
        }
        Some(older) if older < FLEET_FORMAT => {
            wrong(
                format!("the fleet has format {older}, and this watchdog needs {FLEET_FORMAT}"),
                "have its owner run: watchdog fleet init URL",
            );
        }
        Some(_) => {}
    }
    if found.is_read_only {
        wrong(
            "the server is read-only, as a standby is".into(),
            "join with the address of the primary, or of several hosts of which one is it",
        );
    }
    if !found.missing_rights.is_empty() {
        let lacks = format!(
            "user '{}' lacks {}",
            escape_to_one_line(&setting.server.user),
            found.missing_rights.join(", ")
        );
        wrong(
            lacks,
            "see which rights are needed: watchdog fleet init --print-sql",
        );
    }
    let mut note =
        |detail: String, mend: &str| findings.push(DoctorFinding::note("fleet", detail, mend));
    if found.clock_ahead_ms.unsigned_abs() > CLOCK_TOLERANCE_MS {
        let seconds = found.clock_ahead_ms.unsigned_abs() / 1000;
        let side = if found.clock_ahead_ms > 0 {
            "ahead of"
        } else {
            "behind"
        };
        note(
            format!("this machine's clock is {seconds} s {side} the server's"),
            "have both follow a time server",
        );
    }
    let is_checked =
        found.is_encrypted && matches!(setting.server.tls, TlsMode::VerifyFull | TlsMode::VerifyCa);
    if !is_checked && !setting.server.is_on_this_machine() {
        note(
            "who answers as the server is not checked".into(),
            "join again with sslmode=verify-full in the address",
        );
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::doctor::FindingState;
    use watchdog_fleet::connection_settings::ConnectionSettings;

    fn found(address: &str, change: impl Fn(&mut FleetSurvey)) -> Vec<(FindingState, String)> {
        let server = ConnectionSettings::from_address(address, &|_| None).unwrap();
        let mut survey = FleetSurvey {
            events: None,
            version: "15.18".into(),
            format: Some(FLEET_FORMAT),
            is_encrypted: true,
            is_through_pooler: false,
            is_read_only: false,
            clock_ahead_ms: 0,
            missing_rights: Vec::new(),
            machines: Vec::new(),
        };
        change(&mut survey);
        let setting = FleetSetting {
            name: "one".into(),
            machine_id: "1".into(),
            server,
            account: None,
        };
        of_survey(&setting, &survey)
            .into_iter()
            .skip(1)
            .map(|finding| (finding.state, finding.detail))
            .collect()
    }

    #[test]
    fn each_thing_that_is_wrong_with_a_fleet_is_said_and_a_sound_one_is_one_line() {
        let far = "postgres://w@db.example/x";
        assert_eq!(found(far, |_| ()), []);
        assert_eq!(
            found("postgres://w@localhost/x", |survey| survey.is_encrypted =
                false),
            [],
            "nobody listens within this machine"
        );
        for (state, word, change) in [
            (
                FindingState::Wrong,
                "no fleet",
                (|survey| survey.format = None) as fn(&mut FleetSurvey),
            ),
            (FindingState::Wrong, "format 99", |survey| {
                survey.format = Some(99)
            }),
            (FindingState::Wrong, "needs", |survey| {
                survey.format = Some(0)
            }),
            (FindingState::Wrong, "read-only", |survey| {
                survey.is_read_only = true
            }),
            (FindingState::Wrong, "lacks insert", |survey| {
                survey.missing_rights = vec!["insert on watchdog.event".into()]
            }),
            (FindingState::Note, "61 s ahead of", |survey| {
                survey.clock_ahead_ms = 61_000
            }),
            (FindingState::Note, "61 s behind", |survey| {
                survey.clock_ahead_ms = -61_000
            }),
            (FindingState::Note, "not checked", |survey| {
                survey.is_encrypted = false
            }),
        ] {
            let said = found(far, change);
            assert!(
                said.len() == 1 && said[0].0 == state && said[0].1.contains(word),
                "{word}: {said:?}"
            );
        }
        assert_eq!(
            found("postgres://w@db.example/x?sslmode=require", |_| ()).len(),
            1
        );
    }
}
