//! Settings back to JSON: what a configuration was lowered to, with every default written out. Reading it again gives the same settings.

use serde_json::{Value, json};

use super::elements::check_list::MODES;
use super::elements::{agent, breaker, check_list, completion_check, limits, notification, rescue, tasks};
use super::key_kinds::{KeyKind, list_of};
use super::parse::{EVIDENCE, ON_NO_CRITERIA, ORDERS};
use super::settings::ConfigSettings;

/// The settings as a version 1 configuration.
pub fn to_json(settings: &ConfigSettings) -> Value {
    let ConfigSettings {
        mode,
        on_no_criteria,
        require_evidence,
        completion_check,
        agent,
        rescue,
        breaker,
        guards,
        order,
        limits,
        tasks,
        agents,
        notify,
        checks,
    } = settings;
    json!({
        "version": 1,
        "mode": word(MODES, mode),
        "on_no_criteria": word(ON_NO_CRITERIA, on_no_criteria),
        "require_evidence": word(EVIDENCE, require_evidence),
        "completion_check": completion_check::BLOCK.write(completion_check.clone()),
        "agent": agent::BLOCK.write(agent.clone()),
        "rescue": rescue::BLOCK.write(rescue.clone()),
        "breaker": breaker::BLOCK.write(breaker.clone()),
        "guards": guards,
        "order": word(ORDERS, order),
        "limits": limits::BLOCK.write(limits.clone()),
        "tasks": tasks::BLOCK.write(tasks.clone()),
        "agents": agents.iter().map(|entry| agent::ENTRY.write(entry.clone())).collect::<Value>(),
        "notify": list_of(notification::ENTRY).write(notify),
        "checks": list_of(check_list::ENTRY).write(checks),
    })
}

fn word<T: PartialEq>(words: &[(&'static str, T)], meaning: &T) -> &'static str {
    words.iter().find(|(_, m)| m == meaning).map(|(word, _)| *word).expect("the tables of words name every variant")
}

#[cfg(test)]
#[path = "resolved_tests.rs"]
mod tests;
