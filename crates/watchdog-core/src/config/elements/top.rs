//! The top of the file: the words that hold for all of it, and its blocks.

use serde_json::json;

use super::super::key_kinds::{INSIDE_GLOB, list_of, word_of};
use super::super::key_table::{IrregularKey, KeyBlock, inner_block, no_rules, plain_key};
use super::super::reader::MAX_ENTRIES;
use super::super::settings::{CheckOrder, ConfigSettings, OnNoCriteria};
use super::{agent, breaker, check_list, completion_check, limits, notification, rescue, tasks};
use watchdog_facts::verdict::Evidence;

const ON_NO_CRITERIA: &[(&str, OnNoCriteria)] =
    &[("git", OnNoCriteria::Git), ("review", OnNoCriteria::Review)];

const EVIDENCE: &[(&str, Evidence)] = &[
    ("verified", Evidence::Verified),
    ("committed", Evidence::Committed),
    ("counted", Evidence::Counted),
    ("claimed", Evidence::Claimed),
    ("none", Evidence::None),
];

const ORDERS: &[(&str, CheckOrder)] = &[
    ("cheap_first", CheckOrder::CheapFirst),
    ("given", CheckOrder::Given),
];

/// The keys at the top of the file, those of the other dialects aside.
pub(in super::super) static TOP: KeyBlock<ConfigSettings> = KeyBlock {
    name: "",
    defaults: ConfigSettings::default,
    keys: &[
        &VERSION,
        &plain_key(
            "mode",
            word_of(check_list::MODES),
            |s: &mut ConfigSettings| &mut s.mode,
            "how the checks combine (see [Groups](#groups))",
        ),
        &plain_key(
            "on_no_criteria",
            word_of(ON_NO_CRITERIA),
            |s: &mut ConfigSettings| &mut s.on_no_criteria,
            "what decides without checks: `git` (commits) or `review` (a person)",
        ),
        &plain_key(
            "require_evidence",
            word_of(EVIDENCE),
            |s: &mut ConfigSettings| &mut s.require_evidence,
            "the weakest [evidence](verdict.md#evidence) that `complete` may have; weaker is `review`. `verified` wants a count of tests where commands judge",
        ),
        &inner_block(&completion_check::BLOCK, |s: &mut ConfigSettings| {
            &mut s.completion_check
        }),
        &inner_block(&agent::BLOCK, |s: &mut ConfigSettings| &mut s.agent),
        &inner_block(&rescue::BLOCK, |s: &mut ConfigSettings| &mut s.rescue),
        &inner_block(&breaker::BLOCK, |s: &mut ConfigSettings| &mut s.breaker),
        &plain_key(
            "guards",
            list_of(INSIDE_GLOB),
            |s: &mut ConfigSettings| &mut s.guards,
            "files that the session must [not change](#who-may-change-the-criteria), such as its tests",
        ),
        &plain_key(
            "order",
            word_of(ORDERS),
            |s: &mut ConfigSettings| &mut s.order,
            "the [order](#order-and-cost) of checks: `given` is one after the other, as written",
        ),
        &inner_block(&tasks::BLOCK, |s: &mut ConfigSettings| &mut s.tasks),
        &AGENTS,
        &plain_key(
            "notify",
            list_of(notification::ENTRY),
            |s: &mut ConfigSettings| &mut s.notify,
            "whom to tell about verdicts and events",
        ),
        &inner_block(&limits::BLOCK, |s: &mut ConfigSettings| &mut s.limits),
        &plain_key(
            "checks",
            list_of(check_list::ENTRY),
            |s: &mut ConfigSettings| &mut s.checks,
            "the criteria, see [Checks](#checks). An empty list is the same as none: `on_no_criteria` decides",
        ),
    ],
    rules: no_rules,
};

/// Looked at before everything else, because another version may have other keys.
static VERSION: IrregularKey<ConfigSettings> = IrregularKey {
    name: "version",
    read: |_, _| true,
    write: |_| 1.into(),
    schema: || json!({"const": 1}),
    words: "1",
    doc: "the version of this format; 1 is the only one",
};

/// An entry that names no preset has that of `agent`, which was read before.
static AGENTS: IrregularKey<ConfigSettings> = IrregularKey {
    name: "agents",
    read: |section, settings| {
        let preset = settings.agent.preset.clone();
        section.get("agents").is_none_or(|n| {
            agent::read_list(&n, &preset)
                .map(|entries| settings.agents = entries)
                .is_some()
        })
    },
    write: |settings| {
        settings
            .agents
            .iter()
            .map(|entry| agent::ENTRY.write(entry.clone()))
            .collect()
    },
    schema: || json!({"type": "array", "items": agent::ENTRY.schema(), "maxItems": MAX_ENTRIES}),
    words: "list of agents",
    doc: "the agents that work on tasks",
};
