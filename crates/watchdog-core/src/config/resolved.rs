//! Settings back to JSON: what a configuration was lowered to, with every default written out. Reading it again gives the same settings.

use serde_json::{Value, json};

use super::elements::check_list::MODES;
use super::elements::{agent, breaker, completion_check, limits, notification, rescue, tasks};
use super::key_kinds::{KeyKind, list_of};
use super::parse::{EVIDENCE, ON_NO_CRITERIA, ORDERS};
use super::resolved_check;
use super::settings::{CheckSpec, ConfigSettings, Mode};

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
        "checks": checks.iter().map(check).collect::<Value>(),
    })
}

pub(super) fn word<T: PartialEq>(words: &[(&'static str, T)], meaning: &T) -> &'static str {
    words.iter().find(|(_, m)| m == meaning).map(|(word, _)| *word).expect("the tables of words name every variant")
}

fn check(spec: &CheckSpec) -> Value {
    match spec {
        CheckSpec::Group { mode, checks } => {
            json!({"mode": word::<Mode>(MODES, mode), "checks": checks.iter().map(check).collect::<Value>()})
        }
        CheckSpec::Single { name, criterion } => {
            let mut entry = resolved_check::keys(criterion);
            entry["type"] = criterion.kind().into();
            entry["name"] = name.as_str().into();
            entry
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::parse::testing::reads;
    use super::super::settings::{
        AgentEntry, AgentSettings, BreakerSettings, CheckOrder, CompletionSettings, Limits, NotifyRule, NotifyTarget, OnNoCriteria, Preset,
        RescueMode, RescueSettings, TaskSettings,
    };
    use super::super::{parse, parse_bytes};
    use super::*;
    use watchdog_facts::verdict::Evidence;

    #[test]
    fn what_is_printed_as_resolved_reads_as_the_same_settings() {
        let contract = reads(include_str!("../../../../tests/fixtures/config/contract.json"));
        for settings in [ConfigSettings::default(), contract, reads(r#"{"completion": {"signal": "D", "verify": ["x", "y"]}}"#)] {
            assert_eq!(reads(&to_json(&settings).to_string()), settings);
        }
    }

    fn seconds(least: u64) -> impl Strategy<Value = Duration> {
        (least..=315_360_000).prop_map(Duration::from_secs)
    }

    fn said() -> impl Strategy<Value = String> {
        "[^\0]{0,12}".prop_filter("blank texts are refused", |text| !text.trim().is_empty())
    }

    fn argv() -> impl Strategy<Value = Vec<String>> {
        (said(), prop::collection::vec("[^\0]{0,6}", 0..3)).prop_map(|(first, rest)| [vec![first], rest].concat())
    }

    fn target() -> impl Strategy<Value = NotifyTarget> {
        prop_oneof![argv().prop_map(NotifyTarget::Command), "https?://[a-z]{1,5}/[a-z?=]{0,5}".prop_map(NotifyTarget::Url)]
    }

    fn preset() -> impl Strategy<Value = Preset> {
        prop::sample::select(vec![Preset::Claude, Preset::Codex, Preset::Gemini, Preset::Opencode])
    }

    fn mode() -> impl Strategy<Value = Mode> {
        prop::sample::select(vec![Mode::All, Mode::Any, Mode::First])
    }

    fn checks() -> impl Strategy<Value = Vec<CheckSpec>> {
        let single = (said(), resolved_check::arbitrary::criterion()).prop_map(|(name, criterion)| CheckSpec::Single { name, criterion });
        let tree = single.prop_recursive(4, 12, 3, |inner| {
            (mode(), prop::collection::vec(inner, 1..4)).prop_map(|(mode, checks)| CheckSpec::Group { mode, checks })
        });
        prop::collection::vec(tree, 0..4)
    }

    prop_compose! {
        fn limits()(
            (max_iterations, cooldown, max_stop_blocks) in (1..=1_000_000_u32, seconds(0), 0..=1000_u32),
            deadline in prop::option::of((0..4_000_000_000_i64).prop_map(|s| jiff::Timestamp::from_second(s).unwrap())),
            (max_turns, max_total_tokens) in (prop::option::of(1..=u64::MAX), prop::option::of(1..=u64::MAX)),
            max_cost_usd in prop::option::of(0.001..1e9_f64),
            (max_wall, session_timeout, idle_timeout, background) in
                (prop::option::of(seconds(1)), prop::option::of(seconds(1)), prop::option::of(seconds(0)), seconds(0)),
        ) -> Limits {
            Limits { max_iterations, cooldown, max_stop_blocks, deadline, max_turns, max_total_tokens, max_cost_usd, max_wall, session_timeout, idle_timeout, background }
        }
    }

    prop_compose! {
        fn rescue()(
            (mode, command) in prop_oneof![
                (prop::sample::select(vec![RescueMode::Plan, RescueMode::Single, RescueMode::Snapshot, RescueMode::Off]), prop::option::of(argv())),
                argv().prop_map(|argv| (RescueMode::Command, Some(argv))),
            ],
            (timeout, snapshot_every) in (seconds(1), seconds(0)),
            (exclude, protect) in (prop::collection::vec("[a-z.*]{1,6}", 0..3), prop::collection::vec("[a-z/*]{1,6}", 0..3)),
            trailers in prop::collection::vec("[A-Za-z-]{1,6}: [a-z{}]{1,6}", 0..3),
            (max_files, max_bytes, keep_days) in (1..=u64::MAX, 1..=u64::MAX, 1..=36_500_u32),
        ) -> RescueSettings {
            RescueSettings { mode, command, timeout, exclude, max_files, max_bytes, protect, trailers, keep_days, snapshot_every }
        }
    }

    prop_compose! {
        fn settings()(
            mode in mode(),
            on_no_criteria in prop::sample::select(vec![OnNoCriteria::Git, OnNoCriteria::Review]),
            require_evidence in prop::sample::select(vec![Evidence::None, Evidence::Claimed, Evidence::Counted, Evidence::Committed, Evidence::Verified]),
            (max_probes, probe_interval, probe_timeout, final_rescue_attempt) in (0..=10_000_u32, seconds(0), seconds(1), any::<bool>()),
            (preset, model, probe) in (preset(), prop::option::of(said()), prop::option::of(argv())),
            (rescue, limits) in (rescue(), limits()),
            (limit, cooldown) in (1..=1000_u32, seconds(0)),
            guards in prop::collection::vec("[a-z*]{1,6}", 0..3),
            order in prop::sample::select(vec![CheckOrder::CheapFirst, CheckOrder::Given]),
            agents in prop::collection::btree_map(said(), (prop::option::of(said()), self::preset(), prop::option::of(said()), prop::option::of(argv()), any::<bool>()), 0..3),
            notify in prop::collection::vec(
                (prop::collection::vec(prop::sample::select(vec!["review", "halted"]), 1..3), target(), 0..=20_u32), 0..3),
            checks in checks(),
        ) -> ConfigSettings {
            ConfigSettings {
                mode, on_no_criteria, require_evidence, rescue, limits, guards, order, checks,
                completion_check: CompletionSettings { max_probes, probe_interval, probe_timeout, final_rescue_attempt },
                agent: AgentSettings { preset, model, probe },
                breaker: BreakerSettings { limit, cooldown },
                tasks: TaskSettings { dir: "t".into() },
                agents: agents.into_iter()
                    .map(|(name, (role, preset, model, command, own))| {
                        let worktree = own.then(|| format!("../{name}"));
                        AgentEntry { name, role, preset, model, command, worktree }
                    })
                    .collect(),
                notify: notify.into_iter()
                    .map(|(on, to, retries)| NotifyRule { on: on.into_iter().map(str::to_owned).collect(), retries, ..NotifyRule::new(to) })
                    .collect(),
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

        #[test]
        fn settings_survive_being_written_and_read(settings in settings()) {
            let text = serde_json::to_string_pretty(&to_json(&settings)).unwrap();
            let read = parse(&text, Path::new("c")).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(read.settings, settings);
        }

        #[test]
        fn no_text_makes_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_bytes(&bytes, Path::new("c"));
        }

        #[test]
        fn no_damage_to_a_real_file_makes_the_reader_panic(at in 0..2000_usize, cut in 0..40_usize, put in "[\\[\\]{}\",:0-9a-z\\\\\u{e9}\u{0}]{0,6}") {
            let mut text = include_str!("../../../../tests/fixtures/config/contract.json").to_owned();
            let start = text.floor_char_boundary(at.min(text.len()));
            let end = text.floor_char_boundary((start + cut).min(text.len()));
            text.replace_range(start..end, &put);
            if let Err(error) = parse(&text, Path::new("c")) {
                prop_assert!(!error.problems.is_empty());
            }
        }

        #[test]
        fn no_value_at_any_known_key_makes_the_reader_panic(
            key in prop::sample::select(crate::config::parse::KEYS.to_vec()),
            value in "(null|true|-?[0-9]{1,25}|1e5|\"[a-z]{0,4}\"|\\[\\]|\\[null\\]|\\[\\{\\}\\]|\\{\\}|\\{\"type\":\"git\"\\}|\\[\\{\"type\":\\[\\]\\}\\])",
        ) {
            let _ = parse(&format!("{{\"{key}\": {value}}}"), Path::new("c"));
        }
    }
}
