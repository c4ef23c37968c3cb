//! Tests of settings as JSON: writing and reading any configuration gives the same settings.

use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::super::parse::testing::reads;
use super::super::settings::*;
use super::super::{parse_bytes, parse_config};
use super::*;
use watchdog_facts::proof::TestChanges;
use watchdog_facts::verdict::Evidence;

#[test]
fn resolved_output_parses_to_the_same_settings() {
    let contract = reads(include_str!(
        "../../../../tests/fixtures/config/contract.json"
    ));
    for settings in [
        ConfigSettings::default(),
        contract,
        reads(r#"{"completion": {"signal": "D", "verify": ["x", "y"]}}"#),
    ] {
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
    (said(), prop::collection::vec("[^\0]{0,6}", 0..3))
        .prop_map(|(first, rest)| [vec![first], rest].concat())
}

fn target() -> impl Strategy<Value = NotifyTarget> {
    prop_oneof![
        argv().prop_map(NotifyTarget::Command),
        "https?://[a-z]{1,5}/[a-z?=]{0,5}".prop_map(NotifyTarget::Url)
    ]
}

fn preset() -> impl Strategy<Value = PresetName> {
    let own =
        ["my-agent", "agents/own.json"].map(|text| PresetName::parse(text).expect("a good name"));
    prop::sample::select([PresetName::BUILT_IN.to_vec(), own.to_vec()].concat())
}

fn mode() -> impl Strategy<Value = Mode> {
    prop::sample::select(vec![Mode::All, Mode::Any, Mode::First])
}

fn run() -> impl Strategy<Value = CommandLine> {
    let argv = (said(), prop::collection::vec("[^\0]{0,6}", 0..3))
        .prop_map(|(first, rest)| [vec![first], rest].concat());
    prop_oneof![
        said().prop_map(CommandLine::Shell),
        argv.prop_map(CommandLine::Argv)
    ]
}

fn scope() -> impl Strategy<Value = TextScope> {
    prop::sample::select(vec![
        TextScope::Last,
        TextScope::Iteration,
        TextScope::Session,
    ])
}

fn signal() -> impl Strategy<Value = CheckKind> {
    let matching = prop::sample::select(vec![
        SignalMatch::Line,
        SignalMatch::Word,
        SignalMatch::Contains,
        SignalMatch::Tag,
    ]);
    (
        "[a-zA-Z_ ]{0,8}[A-Z]",
        matching,
        "[a-z][a-z_-]{0,5}",
        any::<bool>(),
        any::<bool>(),
        scope(),
    )
        .prop_map(|(text, matching, tag, ignore_case, last_line, scope)| {
            let mut found = SignalTextCriterion::new(text, matching);
            (found.ignore_case, found.last_line, found.scope) = (ignore_case, last_line, scope);
            if matching == SignalMatch::Tag {
                found.tag = tag;
            }
            CheckKind::Signal(found)
        })
}

fn command() -> impl Strategy<Value = CheckKind> {
    let success = prop_oneof![
        (0..=125).prop_map(CommandSuccess::Exit),
        Just(CommandSuccess::Empty),
        "[^\0 ][^\0]{0,8}".prop_map(CommandSuccess::Contains),
        "[a-z]{1,6}".prop_map(CommandSuccess::Regex),
    ];
    let path = || prop::option::of("[a-z]{1,4}(/[a-z]{1,4})?");
    (
        run(),
        path(),
        seconds(1),
        success,
        0..=1000_usize,
        path(),
        any::<(bool, bool, bool)>(),
        (
            prop::option::of(prop::collection::vec(run(), 0..3)),
            prop::collection::vec("[a-z*]{1,5}(/[a-z]{1,4})?", 0..3),
            seconds(1),
            prop::sample::select(vec![
                None,
                Some(TestChanges::Expected),
                Some(TestChanges::Refused),
            ]),
        ),
    )
        .prop_map(
            |(run, cwd, timeout, success, tail_lines, junit, flags, proof)| {
                let (must_fail_first, clean, allows_begin_failures) = flags;
                let (proof, tests_are, proof_limit, test_changes) = proof;
                CheckKind::Command(CommandCriterion {
                    run,
                    cwd,
                    timeout,
                    success,
                    tail_lines,
                    junit,
                    must_fail_first,
                    clean,
                    tests_are,
                    proof: proof.map(Vec::into_boxed_slice),
                    proof_limit,
                    test_changes,
                    allows_begin_failures,
                })
            },
        )
}

fn lists() -> impl Strategy<Value = CheckKind> {
    let words = || prop::collection::vec(said(), 0..3);
    prop_oneof![
        (
            prop::option::of("/?[a-z]{1,5}(/[a-z]{1,4})?"),
            prop::collection::vec(said(), 1..3),
            0..=1000_usize,
            words(),
            any::<bool>()
        )
            .prop_map(|(path, done, max_titles, optional_sections, required)| {
                CheckKind::Plan(PlanCriterion {
                    path,
                    done,
                    max_titles,
                    optional_sections,
                    required,
                })
            }),
        ("/?[a-z]{1,5}", any::<bool>()).prop_map(|(path, freeze)| CheckKind::FeatureList(
            FeatureListCriterion { path, freeze }
        )),
        (
            prop::collection::vec("[a-z*]{1,5}(/[a-z]{1,4})?", 1..4),
            any::<bool>(),
            prop::option::of(said())
        )
            .prop_map(
                |(paths, non_empty, contains)| CheckKind::Files(FilesCriterion {
                    paths,
                    non_empty,
                    contains
                })
            ),
    ]
}

fn git() -> impl Strategy<Value = CheckKind> {
    (
        1..1000_u64,
        any::<[bool; 3]>(),
        prop::collection::vec("[a-z*]{1,6}", 0..3),
    )
        .prop_map(|(min_commits, flags, protected)| {
            let [require_clean, require_pushed, no_conflict_markers] = flags;
            CheckKind::Git(GitCriterion {
                min_commits,
                require_clean,
                require_pushed,
                no_conflict_markers,
                protected,
            })
        })
}

fn structured() -> impl Strategy<Value = CheckKind> {
    let value = || {
        prop_oneof![
            Just(json!(null)),
            any::<i64>().prop_map(Value::from),
            said().prop_map(Value::from)
        ]
    };
    let required = prop_oneof![
        prop::collection::btree_map("[a-z]{1,4}", value().prop_map(Some), 0..3),
        prop::collection::btree_map("[a-z]{1,4}", Just(None), 0..3),
    ];
    (said(), required, any::<bool>(), scope()).prop_map(|(tag, required, schema, scope)| {
        let schema = schema.then(|| json!({"type": "object"}));
        CheckKind::Structured(StructuredCriterion {
            tag: Some(tag),
            required: required.into_iter().collect(),
            schema,
            scope,
        })
    })
}

fn outside() -> impl Strategy<Value = CheckKind> {
    let number = || prop::option::of(1..1000_u64);
    prop_oneof![
        (
            number(),
            prop::option::of(said()),
            number(),
            prop::option::of("[a-z]{1,3}/[a-z]{1,3}"),
            any::<bool>(),
            seconds(1)
        )
            .prop_map(
                |(number, label, pull_request, repo, require_clean, timeout)| {
                    let closed = label.is_none();
                    CheckKind::Issue(IssueCriterion {
                        number,
                        closed,
                        label,
                        pull_request,
                        repo,
                        require_clean,
                        timeout,
                    })
                }
            ),
        (
            1..1000_u64,
            said(),
            prop::option::of(said()),
            prop::option::of(said()),
            seconds(1)
        )
            .prop_map(|(project, last, field, owner, timeout)| CheckKind::Phase(
                PhaseCriterion {
                    project: Some(project),
                    last,
                    field,
                    owner,
                    timeout
                }
            )),
        (
            said(),
            prop::option::of(said()),
            prop::option::of(run()),
            prop::option::of(said()),
            seconds(1)
        )
            .prop_map(|(question, rubric, run, model, timeout)| CheckKind::Judge(
                JudgeCriterion {
                    question,
                    rubric,
                    run,
                    model,
                    timeout
                }
            )),
        (
            run(),
            seconds(1),
            prop::sample::select(vec![CustomMode::Call, CustomMode::Stream]),
            prop::option::of(said())
        )
            .prop_map(|(run, timeout, mode, name)| {
                let definition = name.map(|name| serde_json::json!({"name": name}));
                CheckKind::Custom(CustomCriterion {
                    run,
                    cwd: None,
                    timeout,
                    mode,
                    definition,
                })
            }),
    ]
}

/// Any criterion that this program judges itself.
fn criterion() -> impl Strategy<Value = CheckKind> {
    let rows = (
        said(),
        prop::option::of(prop::collection::vec(said(), 0..3)),
        any::<u64>(),
    )
        .prop_map(|(tool, expected_columns, min_rows)| {
            CheckKind::SqlResult(SqlResultCriterion {
                tool,
                expected_columns,
                min_rows,
            })
        });
    let count = (1..=1_000_000_u64).prop_map(|count| CheckKind::Iterations { count });
    prop_oneof![
        signal(),
        command(),
        lists(),
        git(),
        structured(),
        rows,
        outside(),
        count,
        Just(CheckKind::Always)
    ]
}

fn checks() -> impl Strategy<Value = Vec<CheckSpec>> {
    let single =
        (said(), criterion()).prop_map(|(name, criterion)| CheckSpec::Single { name, criterion });
    let tree = single.prop_recursive(4, 12, 3, |inner| {
        (mode(), prop::collection::vec(inner, 1..4))
            .prop_map(|(mode, checks)| CheckSpec::Group { mode, checks })
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
        ignore_processes in prop::collection::vec("[a-z]{1,8}\\*?", 0..3),
        sensors in prop::collection::vec(argv(), 0..3),
    ) -> Limits {
        Limits { max_iterations, cooldown, max_stop_blocks, deadline, max_turns, max_total_tokens, max_cost_usd, max_wall, session_timeout, idle_timeout, background, ignore_processes, sensors }
    }
}

prop_compose! {
    fn rescue()(
        (mode, command) in prop_oneof![
            (prop::sample::select(vec![RescueMode::Plan, RescueMode::Single, RescueMode::Snapshot, RescueMode::Off]), prop::option::of(argv())),
            argv().prop_map(|argv| (RescueMode::Command, Some(argv))),
        ],
        (timeout, snapshot_every, quiet) in (seconds(1), seconds(0), seconds(0)),
        (exclude, protect) in (prop::collection::vec("[a-z.*]{1,6}", 0..3), prop::collection::vec("[a-z/*]{1,6}", 0..3)),
        trailers in prop::collection::vec("[A-Za-z-]{1,6}: [a-z{}]{1,6}", 0..3),
        (max_files, max_bytes, keep_days) in (1..=u64::MAX, 1..=u64::MAX, 1..=36_500_u32),
        (max_snapshot_bytes, bundle) in (prop::option::of(1..=u64::MAX), any::<bool>()),
        keep_ignored in prop::collection::vec("[a-z/*]{1,6}", 0..3),
    ) -> RescueSettings {
        RescueSettings { mode, command, timeout, exclude, max_files, max_bytes, max_snapshot_bytes, keep_ignored, bundle, protect, trailers, keep_days, snapshot_every, quiet }
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
                    AgentEntry { name, role, preset, model, command, worktree, fallback: Vec::new(), max_cost_usd: None }
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
        let read = parse_config(&text, Path::new("c")).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(read.settings, settings);
    }

    #[test]
    fn no_text_makes_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_bytes(&bytes, Path::new("c"));
    }

    #[test]
    fn damaged_real_file_never_panics_the_reader(at in 0..2000_usize, cut in 0..40_usize, put in "[\\[\\]{}\",:0-9a-z\\\\\u{e9}\u{0}]{0,6}") {
        let mut text = include_str!("../../../../tests/fixtures/config/contract.json").to_owned();
        let start = text.floor_char_boundary(at.min(text.len()));
        let end = text.floor_char_boundary((start + cut).min(text.len()));
        text.replace_range(start..end, &put);
        if let Err(error) = parse_config(&text, Path::new("c")) {
            prop_assert!(!error.problems.is_empty());
        }
    }

    #[test]
    fn any_value_at_known_key_never_panics(
        key in prop::sample::select(TOP.names()),
        value in "(null|true|-?[0-9]{1,25}|1e5|\"[a-z]{0,4}\"|\\[\\]|\\[null\\]|\\[\\{\\}\\]|\\{\\}|\\{\"type\":\"git\"\\}|\\[\\{\"type\":\\[\\]\\}\\])",
    ) {
        let _ = parse_config(&format!("{{\"{key}\": {value}}}"), Path::new("c"));
    }
}
