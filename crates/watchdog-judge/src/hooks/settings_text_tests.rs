//! Settings files as people write them: our entries in, our entries out, and nothing else touched.

use std::time::Duration;

use expect_test::expect;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::hooks::HeldAgents;

use super::*;

fn usual() -> HookEntries {
    HookEntries::usual(
        HookDialect::Claude,
        "watchdog",
        Duration::from_secs(600),
        HeldAgents::default(),
    )
}

fn install(text: &str) -> String {
    edit_settings(text, &usual(), "watchdog")
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .text
}

fn uninstall(text: &str) -> String {
    edit_settings(text, &HookEntries::none(HookDialect::Claude), "watchdog")
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .text
}

/// A file of a person who has opinions about formatting.
const THEIRS: &str = "{\n\t\"model\":   \"opus\",\n\t\"permissions\": {\"allow\": [\"Bash(git *)\" , \"Read\"]},\n\
    \t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{ \"hooks\": [ {\"type\": \"command\", \"command\": \"say done\"} ] }\n\t\t],\n\
    \t\t\"Notification\": []\n\t},\n\t\"z\": 1.50\n}";

#[test]
fn a_new_file_holds_our_entries_alone() {
    let text = install("");
    expect![[r#"
        {
          "hooks": {
            "SessionStart": [
              {
                "hooks": [
                  {
                    "type": "command",
                    "command": "watchdog hook session-start",
                    "timeout": 15
                  }
                ]
              }
            ],
            "UserPromptSubmit": [
              {
                "hooks": [
                  {
                    "type": "command",
                    "command": "watchdog hook prompt-submit",
                    "timeout": 5
                  }
                ]
              }
            ],
            "PreToolUse": [
              {
                "matcher": "StructuredOutput",
                "hooks": [
                  {
                    "type": "command",
                    "command": "watchdog hook pre-tool-use --within 590s",
                    "timeout": 600
                  }
                ]
              },
              {
                "matcher": "ExitWorktree",
                "hooks": [
                  {
                    "type": "command",
                    "command": "watchdog hook worktree-remove",
                    "timeout": 15
                  }
                ]
              }
            ],
            "PostToolUse": [
              {
                "matcher": "Bash",
                "hooks": [
                  {
                    "type": "command",
                    "command": "watchdog hook post-tool-use",
                    "timeout": 5
                  }
                ]
              }
            ],
            "Stop": [
              {
                "hooks": [
                  {
                    "type": "command",
                    "command": "watchdog hook stop --within 590s",
                    "timeout": 600
                  }
                ]
              }
            ],
            "SessionEnd": [
              {
                "hooks": [
                  {
                    "type": "command",
                    "command": "watchdog hook session-end",
                    "timeout": 5
                  }
                ]
              }
            ]
          }
        }
    "#]]
    .assert_eq(&text);
    assert_eq!(install(&text), text);
}

#[test]
fn what_else_is_there_stays_as_it_is() {
    let text = install(THEIRS);
    for line in THEIRS.lines().filter(|line| !line.contains("Notification")) {
        assert!(
            text.contains(line.trim_end_matches(',')),
            "{line} is gone:\n{text}"
        );
    }
    let value: Value = serde_json::from_str(&text).expect("still JSON");
    assert_eq!(value["hooks"]["Stop"].as_array().map(Vec::len), Some(2));
    assert_eq!(value["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    assert_eq!(install(&text), text, "a second time changes nothing");
    let back: Value = serde_json::from_str(&uninstall(&text)).expect("still JSON");
    assert_eq!(back, serde_json::from_str::<Value>(THEIRS).expect("JSON"));
}

#[test]
fn outdated_own_entries_are_updated_in_place() {
    let old = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/old/watchdog hook stop", "note": 1}, {"type": "command", "command": "mine"}]}],
        "SubagentStop": [{"hooks": [{"type": "command", "command": "watchdog hook subagent-stop --hold"}]}],
        "PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "watchdog hook pre-tool-use"}]}]}}"#;
    let value: Value = serde_json::from_str(&install(old)).expect("JSON");
    assert_eq!(
        value["hooks"]["Stop"][0]["hooks"],
        json!([{"type": "command", "command": "watchdog hook stop --within 590s", "note": 1, "timeout": 600}, {"type": "command", "command": "mine"}])
    );
    assert_eq!(
        value["hooks"].get("SubagentStop"),
        None,
        "sub-agents were not asked for"
    );
    assert_eq!(
        value["hooks"]["PreToolUse"].as_array().map(Vec::len),
        Some(2)
    );
    assert_eq!(
        value["hooks"]["PreToolUse"][0]["matcher"],
        "StructuredOutput"
    );
}

#[test]
fn custom_calls_are_named_and_left_alone() {
    let own_way = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "X=1 watchdog hook stop || true"}]}]}}"#;
    let edited =
        edit_settings(own_way, &HookEntries::none(HookDialect::Claude), "watchdog").expect("JSON");
    assert_eq!(
        (edited.text.as_str(), edited.others),
        (own_way, vec!["X=1 watchdog hook stop || true".to_owned()])
    );
}

#[test]
fn out_again_leaves_what_was_there() {
    for text in [
        "{}",
        "{\n}\n",
        "{\"hooks\": {}}",
        "{\"a\": 1}",
        "{\r\n  \"a\": 1\r\n}\r\n",
        "{\"hooks\": {\"Stop\": []}}",
        "// mine\n{\n  // of mine\n  \"a\": [1, 2] /* here */\n}\n",
        THEIRS,
    ] {
        assert_eq!(uninstall(text), text, "nothing of ours was in it");
        let value = |text: &str| {
            jsonc_parser::cst::CstRootNode::parse(&uninstall(&install(text)), &DIALECT)
                .expect("JSON")
                .to_string()
        };
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        let (after, before) = (squeezed(&value(text)), squeezed(text));
        let without = before
            .replace(",\"hooks\":{}", "")
            .replace("\"hooks\":{}", "")
            .replace("\"Stop\":[],", "")
            .replace("\"Stop\":[]", "");
        let without = without.replace("\"hooks\":{}", "");
        assert!(after == before || after == without, "{text}: {after}");
    }
    assert_eq!(uninstall(""), "");
}

#[test]
fn file_unreadable_to_the_host_is_refused() {
    for (text, why) in [
        ("{", "not valid JSON"),
        ("{\"a\": 1,}", "not valid JSON"),
        ("{'a': 1}", "not valid JSON"),
        ("{\"a\" 1}", "not valid JSON"),
        ("// only words", "comments only"),
        ("[]", "`the file` is a list, not an object"),
        ("7", "another value"),
        ("{\"hooks\": []}", "`hooks` is a list, not an object"),
        ("{\"hooks\": null}", "`hooks` is null, not an object"),
        (
            "{\"hooks\": {\"Stop\": {}}}",
            "`hooks.Stop` is an object, not a list",
        ),
        ("{\"hooks\": {}, \"hooks\": {}}", "`hooks` is there twice"),
        (
            "{\"hooks\": {\"Stop\": [], \"Stop\": []}}",
            "`hooks.Stop` is there twice",
        ),
    ] {
        for wanted in [usual(), HookEntries::none(HookDialect::Claude)] {
            let error = edit_settings(text, &wanted, "watchdog")
                .expect_err(text)
                .to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}

#[test]
fn byte_order_mark_and_windows_endings_stay() {
    let text = install("\u{feff}{\r\n  \"a\": 1\r\n}\r\n");
    assert!(text.starts_with("\u{feff}{\r\n  \"a\": 1,\r\n"), "{text:?}");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
}

fn settings() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        any::<i32>().prop_map(|n| json!(n)),
        "\\PC{0,6}".prop_map(|t| json!(t))
    ];
    let tree = leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|list| json!(list)),
            prop::collection::btree_map("[a-c]{1,2}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    });
    let command = prop::sample::select(vec![
        "say done",
        "watchdog hook stop",
        "/x/watchdog hook session-end --within 1s",
        "watchdog run",
    ]);
    let group = (
        prop::option::of("[A-Z]{1,3}"),
        prop::collection::vec(command, 0..3),
    )
        .prop_map(|(matcher, commands)| {
            let hooks: Vec<Value> = commands
                .iter()
                .map(|command| json!({"type": "command", "command": command}))
                .collect();
            matcher.map_or_else(
                || json!({"hooks": hooks}),
                |matcher| json!({"matcher": matcher, "hooks": hooks}),
            )
        });
    let event = prop::sample::select(vec!["Stop", "SessionEnd", "PreToolUse", "Notification"]);
    let hooks = prop::collection::btree_map(event, prop::collection::vec(group, 0..3), 0..4);
    (
        prop::collection::btree_map("[d-f]{1,2}", tree, 0..4),
        prop::option::of(hooks),
    )
        .prop_map(|(rest, hooks)| {
            let mut value = json!(rest);
            if let Some(hooks) = hooks {
                value["hooks"] = json!(hooks);
            }
            value
        })
}

/// All commands of a file, by event, that are not ours.
fn foreign(value: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (event, groups) in value["hooks"].as_object().into_iter().flatten() {
        for hook in groups
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|group| group["hooks"].as_array().into_iter().flatten())
        {
            let command = hook["command"].as_str().unwrap_or_default();
            let own = parse_own_command(command, "watchdog");
            if own.and_then(|own| HookDialect::Claude.event_name(own)) != Some(event.as_str()) {
                found.push((event.clone(), command.to_owned()));
            }
        }
    }
    found
}

proptest! {
    #[test]
    fn any_settings_keep_everything_but_our_own_entries(value in settings(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value).expect("JSON") } else { value.to_string() };
        let installed = install(&text);
        prop_assert_eq!(&install(&installed), &installed, "twice is once");
        let after: Value = serde_json::from_str(&installed).expect("still JSON");
        let gone: Value = serde_json::from_str(&uninstall(&installed)).expect("still JSON");
        for (name, kept) in value.as_object().expect("an object").iter().filter(|(name, _)| *name != "hooks") {
            prop_assert_eq!(&after[name], kept);
            prop_assert_eq!(&gone[name], kept);
        }
        prop_assert_eq!(foreign(&after), foreign(&value));
        prop_assert_eq!(foreign(&gone), foreign(&value));
        prop_assert_eq!(uninstall(&uninstall(&installed)), uninstall(&installed));
        let ours = |value: &Value, event: &str| value["hooks"][event].to_string().matches("watchdog hook").count();
        prop_assert_eq!(ours(&after, "SessionStart"), 1);
        prop_assert_eq!(ours(&gone, "SessionStart"), 0);
    }
}
