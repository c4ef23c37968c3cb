//! Looks at the fleet that this machine joined: is its server there, fit, and of one time with us; and at the limits of the account of agents.
//! A machine in no fleet asks nobody.

use super::account_standing::{AccountStanding, account_as_recorded};
use super::fleet_setting::FleetSetting;
use crate::FleetServer;
use crate::connection_settings::TlsMode;
use crate::machines::{FleetSurvey, survey_server};
use crate::migrations::FLEET_FORMAT;
use watchdog_facts::display::escape_to_one_line;
use watchdog_judge::judge::doctor_finding::Findings;
use watchdog_store::{StateDir, open_store};

/// Clocks that differ by more are worth a note, in milliseconds: leases go by the server's alone, the times of events do not.
const CLOCK_TOLERANCE_MS: u64 = 5_000;

/// Looks at the fleet, where this machine is in one, and at the account of agents.
pub(super) fn examine_fleet(findings: &mut Findings, state: &StateDir) {
    let setting = match FleetSetting::from_state_dir(state) {
        Ok(None) => return examine_account(findings, state, None, None),
        Ok(Some(setting)) => setting,
        Err(error) => {
            return findings.wrong(
                "fleet",
                escape_to_one_line(&error.to_string()),
                error.hint(),
            );
        }
    };
    let reached = setting
        .server()
        .and_then(|server| Ok((survey_server(&server)?, server)));
    let server = match &reached {
        Err(error) => {
            findings.wrong(
                "fleet",
                escape_to_one_line(&error.to_string()),
                error.hint(),
            );
            None
        }
        Ok((survey, server)) => {
            add_survey(findings, &setting, survey);
            let is_fit = survey.format == Some(FLEET_FORMAT) && survey.missing_rights.is_empty();
            Some(server).filter(|_| is_fit)
        }
    };
    examine_account(findings, state, Some(&setting), server);
}

fn add_survey(findings: &mut Findings, setting: &FleetSetting, survey: &FleetSurvey) {
    let server = setting.server.server();
    let tls = match survey.is_encrypted {
        true => setting.server.tls.as_str(),
        false => "no TLS",
    };
    let version = escape_to_one_line(&survey.version);
    let name = &setting.name;
    findings.ok(
        "fleet",
        format!("{name} on {server} (PostgreSQL {version}, {tls})"),
    );
    match survey.format {
        None => findings.wrong(
            "fleet",
            "the database holds no fleet",
            "have its owner run: watchdog fleet init URL",
        ),
        Some(newer) if newer > FLEET_FORMAT => findings.wrong(
            "fleet",
            format!("the fleet has format {newer}, and this watchdog knows {FLEET_FORMAT}"),
            "use the newer watchdog that made it",
        ),
        Some(older) if older < FLEET_FORMAT => findings.wrong(
            "fleet",
            format!("the fleet has format {older}, and this watchdog needs {FLEET_FORMAT}"),
            "have its owner run: watchdog fleet init URL",
        ),
        Some(_) => {}
    }
    if survey.is_read_only {
        findings.wrong(
            "fleet",
            "the server is read-only, as a standby is",
            "join with the address of the primary, or of several hosts of which one is it",
        );
    }
    if !survey.missing_rights.is_empty() {
        let user = escape_to_one_line(&setting.server.user);
        findings.wrong(
            "fleet",
            format!("user '{user}' lacks {}", survey.missing_rights.join(", ")),
            "see which rights are needed: watchdog fleet init --print-sql",
        );
    }
    let ahead = survey.clock_ahead_ms;
    if ahead.unsigned_abs() > CLOCK_TOLERANCE_MS {
        let seconds = ahead.unsigned_abs() / 1000;
        let side = if ahead > 0 { "ahead of" } else { "behind" };
        findings.note(
            "fleet",
            format!("this machine's clock is {seconds} s {side} the server's"),
            "have both follow a time server",
        );
    }
    let is_checked = survey.is_encrypted
        && matches!(setting.server.tls, TlsMode::VerifyFull | TlsMode::VerifyCa);
    if !is_checked && !setting.server.is_on_this_machine() {
        findings.note(
            "fleet",
            "who answers as the server is not checked",
            "join again with sslmode=verify-full in the address",
        );
    }
}

/// Looks at the limits of the account that this machine works on. The server is asked where it can be, and the records of this machine say
/// the rest.
fn examine_account(
    findings: &mut Findings,
    state: &StateDir,
    setting: Option<&FleetSetting>,
    server: Option<&FleetServer>,
) {
    // A state that is not there or cannot be used is said where the state is looked at.
    if !state.root().is_dir() {
        return;
    }
    let Ok(recorded) = open_store(state).and_then(|local| account_as_recorded(local.as_ref()))
    else {
        return;
    };
    let recorded = AccountStanding {
        account: setting.and_then(|setting| setting.account.clone()),
        ..recorded
    };
    let standing = match server {
        None => Ok(recorded),
        Some(server) => recorded.refreshed_by(server),
    };
    let standing = match standing {
        Ok(standing) => standing,
        Err(error) => {
            return findings.wrong(
                "account",
                escape_to_one_line(&error.to_string()),
                error.hint(),
            );
        }
    };
    if let Some(name) = &standing.account {
        findings.ok("account", format!("'{name}'"));
        for fault in standing.faults() {
            findings.note("account", escape_to_one_line(&fault.detail), fault.mend);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection_settings::ConnectionSettings;
    use watchdog_judge::judge::doctor_finding::FindingState;

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
        let mut findings = Findings::default();
        add_survey(&mut findings, &setting, &survey);
        let findings = findings.0.into_iter().skip(1);
        findings
            .map(|finding| (finding.state, finding.detail))
            .collect()
    }

    #[test]
    fn each_fleet_fault_is_reported_on_its_line() {
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
            let findings = found(far, change);
            assert!(
                findings.len() == 1 && findings[0].0 == state && findings[0].1.contains(word),
                "{word}: {findings:?}"
            );
        }
        assert_eq!(
            found("postgres://w@db.example/x?sslmode=require", |_| ()).len(),
            1
        );
    }
}
