//! `watchdog fleet status`: the server as it is found, and what this machine knows by itself, which is said without the server as well.

use std::time::Duration;

use anstyle::Style;
use serde_json::Value;
use watchdog_facts::display::{escape_to_one_line, plural, time_span};
use watchdog_fleet::FleetError;
use watchdog_fleet::machines::{FleetSurvey, survey_server};
use watchdog_fleet::migrations::FLEET_FORMAT;
use watchdog_git::public_address;
use watchdog_store::open_store;

use crate::cli::failure::{CommandFailure, exit_code};
use crate::cli::table::{table_lines, terminal_width};
use crate::cli::terminal::CommandTerminal;
use watchdog_fleet::member::{
    AccountStanding, COUNTED, FleetSetting, account_as_recorded, shared_repositories,
    waiting_copies,
};
use watchdog_fleet::wire::fleet_json::{
    FleetMachineJson, FleetStatusJson, KeptEventsJson, SharedRepository, SharedRepositoryJson,
    WaitingCopies,
};
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::wire::verdict_json::as_answer;

use super::fleet_account_words::{show_account, standing_json};
use super::fleet_share::in_words as shared_in_words;
use super::fleet_words::{HOW_TO_JOIN, describe_events, format_count_with_verb, in_no_fleet};

/// The facts that this machine knows of its fleet.
struct FleetKnown {
    setting: FleetSetting,
    waiting: WaitingCopies,
    shared: Vec<SharedRepository>,
    account: AccountStanding,
}

pub(super) fn show_fleet_status(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
) -> Result<u8, CommandFailure> {
    let Some(setting) = FleetSetting::from_state_dir(&command_env.state)? else {
        return Ok(in_no_fleet(terminal, HOW_TO_JOIN));
    };
    let mut fleet_facts = FleetKnown {
        waiting: waiting_copies(command_env, &setting)?,
        shared: shared_repositories(&command_env.state)?,
        account: account_as_recorded(open_store(&command_env.state)?.as_ref())?,
        setting,
    };
    let survey = match survey_known_server(&mut fleet_facts) {
        Ok(surveyed) => surveyed,
        Err(error) => {
            let failure = CommandFailure::from(error);
            if terminal.json {
                return Err(CommandFailure {
                    partial_answer: Some(Box::new(fleet_facts.to_json(None))),
                    ..failure
                });
            }
            fleet_facts.show(terminal, None);
            return Err(failure);
        }
    };
    if terminal.json {
        terminal.value(&fleet_facts.to_json(Some(&survey)));
    } else {
        fleet_facts.show(terminal, Some(&survey));
        show_machines(terminal, &fleet_facts.setting, &survey);
    }
    Ok(exit_code(is_fit(&survey)))
}

/// Asks the server how it is, and how the account stands where it is fit.
fn survey_known_server(fleet_facts: &mut FleetKnown) -> Result<FleetSurvey, FleetError> {
    let server = fleet_facts.setting.server()?;
    let survey = survey_server(&server)?;
    if is_fit(&survey) {
        fleet_facts.account = fleet_facts.account.clone().refreshed_by(&server)?;
    }
    Ok(survey)
}

fn is_fit(survey: &FleetSurvey) -> bool {
    survey.format == Some(FLEET_FORMAT) && !survey.is_read_only && survey.missing_rights.is_empty()
}

/// Whether the server can be read and does not list this machine any more.
fn is_removed(setting: &FleetSetting, survey: &FleetSurvey) -> bool {
    survey.events.is_some()
        && !survey
            .machines
            .iter()
            .any(|machine| machine.id == setting.machine_id)
}

impl FleetKnown {
    fn to_json(&self, survey: Option<&FleetSurvey>) -> Value {
        let FleetKnown {
            setting,
            waiting,
            shared,
            account,
        } = self;
        let machines = survey.map(|surveyed| {
            let machines = surveyed.machines.iter().map(|machine| FleetMachineJson {
                name: &machine.name,
                is_this: machine.id == setting.machine_id,
                program: &machine.program,
                joined_at: machine.joined_at,
                seen_at: machine.seen_at,
                silent_seconds: machine.silent_seconds,
                clock_ahead_ms: machine.clock_ahead_ms,
            });
            machines.collect()
        });
        let repositories = shared.iter().map(|shared| SharedRepositoryJson {
            id: &shared.id,
            remote: &shared.remote,
            address: public_address(&shared.url),
        });
        as_answer(FleetStatusJson {
            joined: true,
            machine: &setting.name,
            account: setting.account.as_deref(),
            server: setting.server.server(),
            database: &setting.server.database,
            user: &setting.server.user,
            version: survey.map(|survey| survey.version.as_str()),
            format: survey.and_then(|survey| survey.format),
            known_format: FLEET_FORMAT,
            tls: survey.map(|survey| survey.is_encrypted),
            sslmode: setting.server.tls.as_str(),
            pooler: survey.map(|survey| survey.is_through_pooler),
            read_only: survey.map(|survey| survey.is_read_only),
            clock_ahead_ms: survey.map(|survey| survey.clock_ahead_ms),
            missing_rights: survey.map(|survey| &survey.missing_rights[..]),
            copies: *waiting,
            events: survey
                .and_then(|survey| survey.events.as_ref())
                .map(|events| KeptEventsJson {
                    oldest: events.oldest,
                    bytes: events.bytes,
                }),
            removed: survey.map(|survey| is_removed(setting, survey)),
            machines,
            account_standing: standing_json(Value::default(), account),
            repositories: repositories.collect(),
        })
    }

    fn show(&self, terminal: &CommandTerminal, survey: Option<&FleetSurvey>) {
        let FleetKnown {
            setting,
            waiting,
            shared,
            account,
        } = self;
        let server = &setting.server;
        let (user, database) = (
            escape_to_one_line(&server.user),
            escape_to_one_line(&server.database),
        );
        terminal.line(&format!(
            "server    {} as '{user}', database '{database}'",
            server.server()
        ));
        if let Some(surveyed) = survey {
            about_server(setting, surveyed)
                .iter()
                .for_each(|line| terminal.line(line));
        }
        show_account(terminal, setting, account);
        terminal.line(&format!("copies    {}", in_words(waiting)));
        if let Some(surveyed) = survey {
            if let Some(events) = &surveyed.events {
                terminal.line(&format!("events    {}", describe_events(events)));
            }
            if is_removed(setting, surveyed) {
                terminal.line("removed   somebody took this machine out: nothing is copied until it joins again");
            }
        }
        for shared in shared {
            terminal.line(&format!("shares    {}", shared_in_words(shared)));
        }
    }
}

/// The server as it was found, a line each.
fn about_server(setting: &FleetSetting, survey: &FleetSurvey) -> Vec<String> {
    let tls = match (survey.is_encrypted, survey.is_through_pooler) {
        (true, false) => format!("TLS ({})", setting.server.tls.as_str()),
        (true, true) => format!(
            "TLS ({}), a pooler in transaction mode",
            setting.server.tls.as_str()
        ),
        (false, false) => "no TLS".to_owned(),
        (false, true) => "no TLS, a pooler in transaction mode".to_owned(),
    };
    let format = match survey.format {
        None => "no fleet".to_owned(),
        Some(format) if format == FLEET_FORMAT => format!("format {format}"),
        Some(format) => format!("format {format}, and this watchdog needs {FLEET_FORMAT}"),
    };
    let mut lines = vec![format!(
        "          PostgreSQL {}, {tls}, {format}",
        escape_to_one_line(&survey.version)
    )];
    if survey.is_read_only {
        lines.push("          read-only: nothing can be shared now".to_owned());
    }
    if !survey.missing_rights.is_empty() {
        lines.push(format!(
            "          rights that are missing: {}",
            survey.missing_rights.join(", ")
        ));
    }
    lines.push(format!(
        "clock     {}",
        clock_difference(survey.clock_ahead_ms)
    ));
    lines
}

fn show_machines(terminal: &CommandTerminal, setting: &FleetSetting, survey: &FleetSurvey) {
    if survey.machines.is_empty() {
        return;
    }
    terminal.line("");
    let rows: Vec<[String; 4]> = survey
        .machines
        .iter()
        .map(|machine| {
            let this = if machine.id == setting.machine_id {
                " (this one)"
            } else {
                ""
            };
            [
                format!("{}{this}", escape_to_one_line(&machine.name)),
                format!(
                    "{} ago",
                    time_span(Duration::from_secs(machine.silent_seconds))
                ),
                escape_to_one_line(&machine.program),
                clock_difference(machine.clock_ahead_ms),
            ]
        })
        .collect();
    let heads = ["MACHINE", "SEEN", "WATCHDOG", "CLOCK"];
    for line in table_lines(heads, &[], &rows, terminal_width(), |_| Style::new().bold()) {
        terminal.line(&line);
    }
    terminal.tell(&plural(rows.len() as u64, "machine"));
}

/// Describes the copies that wait.
fn in_words(waiting: &WaitingCopies) -> String {
    let more = if waiting.events == COUNTED {
        "at least "
    } else {
        ""
    };
    let mut text = match waiting.events {
        0 => "everything is copied".to_owned(),
        events => format!(
            "{more}{} of this machine's journal to look at: watchdog fleet sync",
            plural(events as u64, "event")
        ),
    };
    if let Some(since) = waiting.failing_since {
        text.push_str(&format!("; the server has taken none since {since:.0}"));
    }
    if waiting.missed > 0 {
        text.push_str(&format!(
            "; up to {} deleted before",
            format_count_with_verb(waiting.missed, "event")
        ));
    }
    text
}

/// How far a clock is from the server's.
fn clock_difference(ahead_ms: i64) -> String {
    let length = time_span(Duration::from_millis(ahead_ms.unsigned_abs()));
    match ahead_ms {
        -999..=999 => "with the server's".to_owned(),
        1000.. => format!("{length} ahead of the server's"),
        _ => format!("{length} behind the server's"),
    }
}
