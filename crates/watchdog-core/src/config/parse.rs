//! The whole file: from text to settings, or to everything that is wrong with it.

use std::path::Path;

use super::elements::flat_keys::{self, FlatKeys};
use super::elements::{TOP, agent_description, behavior, completion_block, home_of, spec_runner};
use super::problem::{ConfigError, NamedPreset, ProblemReport};
use super::reader::{ConfigNode, ConfigSection, overwrite_if_read};
use super::settings::{CheckSpec, ConfigSettings, Mode};
use super::syntax;

/// The largest file that is read, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// Blocks of other dialects.
const DIALECTS: &[&str] = &["completion", "behavior"];

/// The content of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedConfig {
    /// With defaults for everything that the file leaves out, and every dialect lowered.
    pub settings: ConfigSettings,
    /// Notes for the user that are no errors, such as an empty list of checks.
    pub notes: Vec<String>,
    /// The presets that are not built in: whether they are there is for the caller to look up.
    pub presets: Vec<NamedPreset>,
}

impl ParsedConfig {
    /// Refuses the presets in which `problem` sees one.
    ///
    /// # Errors
    /// These problems, each at the place of the name.
    pub fn check_presets(
        &self,
        origin: &Path,
        problem: impl Fn(&NamedPreset) -> Option<String>,
    ) -> Result<(), ConfigError> {
        let problems: Vec<_> = self
            .presets
            .iter()
            .filter_map(|named| problem(named).map(|why| named.problem(why)))
            .collect();
        if problems.is_empty() {
            Ok(())
        } else {
            Err(ConfigError {
                origin: origin.to_owned(),
                problems,
                more: 0,
            })
        }
    }
}

/// Reads a configuration. `origin` names the file in messages.
///
/// # Errors
/// Everything that is wrong with it, each problem with line, column and key.
pub fn parse_config(text: &str, origin: &Path) -> Result<ParsedConfig, ConfigError> {
    parse_registered(text, origin, &[])
}

/// As [`parse_config`], for a program that judges types of check of its own: an entry of one of these types reads as
/// [`CheckKind::Registered`](super::settings::CheckKind::Registered), its keys unchecked.
///
/// # Errors
/// As [`parse_config`].
pub fn parse_registered(
    text: &str,
    origin: &Path,
    types: &[&str],
) -> Result<ParsedConfig, ConfigError> {
    let report = ProblemReport::knowing(text, types, home_of);
    let mut settings = ConfigSettings::default();
    if text.len() > MAX_BYTES {
        report.problem(0, "", || {
            format!(
                "the file is {} bytes long; at most {MAX_BYTES} are read",
                text.len()
            )
        });
    } else if let Some(json) = syntax::parse_json(text, &report) {
        read_top_level(
            &ConfigNode {
                report: &report,
                json: &json,
                path: String::new(),
            },
            &mut settings,
        );
    }
    let presets = report.take_presets();
    let notes = report.finish(origin)?;
    Ok(ParsedConfig {
        settings,
        notes,
        presets,
    })
}

/// Reads a configuration from the bytes of a file.
///
/// # Errors
/// As [`parse_config`]; also where the bytes are not UTF-8.
pub fn parse_bytes(bytes: &[u8], origin: &Path) -> Result<ParsedConfig, ConfigError> {
    let refuse = |valid: &str, why: String| {
        let report = ProblemReport::new(valid);
        report.problem(valid.len(), "", || why);
        report.finish(origin).map(|notes| ParsedConfig {
            settings: ConfigSettings::default(),
            notes,
            presets: Vec::new(),
        })
    };
    if bytes.len() > MAX_BYTES {
        return refuse(
            "",
            format!(
                "the file is {} bytes long; at most {MAX_BYTES} are read",
                bytes.len()
            ),
        );
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => parse_config(text, origin),
        Err(error) => {
            let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let utf16 = matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
            let hint = if utf16 { "; it looks like UTF-16" } else { "" };
            refuse(
                &valid,
                format!("the file is not UTF-8 text{hint}; save it as UTF-8"),
            )
        }
    }
}

fn read_top_level(node: &ConfigNode<'_>, settings: &mut ConfigSettings) {
    if node.members().is_none() {
        node.report_expected("an object, { … }, at the top of the file");
        return;
    }
    if agent_description::is_agent_file(node) {
        let lowered = agent_description::read_file(node);
        settings.checks = lowered.checks;
        limit_iterations(lowered.max_iterations, settings);
        return;
    }
    if spec_runner::is_runner_file(node) {
        return spec_runner::read_file(node, settings);
    }
    // A newer version may have other keys and meanings, so that nothing else would be a helpful complaint.
    if let Some(version) = node.peek("version")
        && version.whole(0..=u64::MAX).is_some_and(|n| n != 1)
    {
        version.wrong("this program reads version 1 of the configuration; update watchdog or write \"version\": 1");
        return;
    }
    let known_keys = [TOP.names(), flat_keys::BLOCK.names(), DIALECTS.to_vec()].concat();
    let Some(section) = node.section(&known_keys) else {
        return;
    };
    let flat = FlatKeys::read_flat(&section);
    TOP.read_keys(&section, settings);
    flat.lower(&section, &mut settings.completion_check);
    read_check_blocks(&section, settings);
}

/// The checks of every block that names some. Several blocks join with mode all.
fn read_check_blocks(section: &ConfigSection<'_>, settings: &mut ConfigSettings) {
    if section.has("checks") && settings.checks.is_empty() {
        section.note(
            "checks",
            "the list is empty, which is the same as none: `on_no_criteria` decides",
        );
    }
    let mut more: Vec<CheckSpec> = section
        .get("completion")
        .map(|n| completion_block::read_block(&n, &mut settings.limits))
        .unwrap_or_default();
    if let Some(node) = section.get("behavior") {
        let lowered = behavior::read_block(&node);
        more.extend(lowered.checks);
        let given = section
            .get("limits")
            .is_some_and(|limits| limits.has("max_iterations"));
        limit_iterations(lowered.max_iterations.filter(|_| !given), settings);
    }
    if more.is_empty() {
        return;
    }
    if settings.mode != Mode::All && !settings.checks.is_empty() {
        let group = CheckSpec::Group {
            mode: settings.mode,
            checks: std::mem::take(&mut settings.checks),
        };
        settings.checks.push(group);
    }
    settings.mode = Mode::All;
    settings.checks.extend(more);
}

fn limit_iterations(limit: Option<u64>, settings: &mut ConfigSettings) {
    overwrite_if_read(
        &mut settings.limits.max_iterations,
        limit.and_then(|limit| u32::try_from(limit).ok()),
    );
}

#[cfg(test)]
pub(super) mod testing {
    //! Test functions for every element: parse a text, or expect an error.

    use super::super::settings::CheckKind;
    use super::*;

    #[track_caller]
    pub(in super::super) fn reads(text: &str) -> ConfigSettings {
        match parse_config(text, Path::new("completion.json")) {
            Ok(parsed) => parsed.settings,
            Err(error) => panic!("{text}\n{error}"),
        }
    }

    #[track_caller]
    pub(in super::super) fn notes(text: &str) -> Vec<String> {
        parse_config(text, Path::new("completion.json"))
            .unwrap()
            .notes
    }

    #[track_caller]
    pub(in super::super) fn fails(text: &str, words: &str) {
        let error = parse_config(text, Path::new("completion.json"))
            .expect_err(text)
            .to_string();
        assert!(
            error.contains(words),
            "{text}\nexpected: {words}\nfound: {error}"
        );
        assert!(error.starts_with("completion.json:"), "{error}");
    }

    /// The criterion of the one check.
    #[track_caller]
    pub(in super::super) fn criterion(entry: &str) -> CheckKind {
        match reads(&format!(r#"{{"checks": [{entry}]}}"#))
            .checks
            .remove(0)
        {
            CheckSpec::Single { criterion, .. } => criterion,
            other => panic!("{other:?}"),
        }
    }

    /// How the one check fails.
    #[track_caller]
    pub(in super::super) fn refuses(entry: &str, words: &str) {
        fails(&format!(r#"{{"checks": [{entry}]}}"#), words);
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::{CheckKind, CheckOrder, OnNoCriteria};
    use super::testing::{fails, notes, reads};
    use super::*;
    use watchdog_facts::verdict::Evidence;

    /// The file of the contract, section 4, word for word.
    const CONTRACT: &str = include_str!("../../../../tests/fixtures/config/contract.json");

    #[test]
    fn an_empty_object_is_every_default() {
        assert_eq!(reads("{}"), ConfigSettings::default());
        assert!(notes("{}").is_empty());
        assert_eq!(reads(r#"{"version": 1}"#), ConfigSettings::default());
    }

    #[test]
    fn the_contracts_own_file_is_read() {
        let settings = reads(CONTRACT);
        let defaults = ConfigSettings {
            checks: settings.checks.clone(),
            guards: vec!["tests/**".into()],
            require_evidence: Evidence::Claimed,
            ..ConfigSettings::default()
        };
        assert_eq!(
            ConfigSettings {
                agents: Vec::new(),
                notify: Vec::new(),
                ..settings.clone()
            },
            defaults
        );
        assert_eq!(
            (
                settings.checks.len(),
                settings.agents.len(),
                settings.notify.len()
            ),
            (13, 1, 1)
        );
        assert_eq!(
            settings.commands(),
            [
                "notify on review, failed, breaker_open: notify-send watchdog",
                "check tests: cargo test",
                "check custom: python3 checks/decisions.py"
            ]
        );
    }

    #[test]
    fn words_at_the_top_are_read() {
        let settings = reads(
            r#"{"mode": "first", "on_no_criteria": "review", "require_evidence": "verified", "order": "given", "guards": ["tests/**"]}"#,
        );
        assert_eq!(
            (settings.mode, settings.on_no_criteria),
            (Mode::First, OnNoCriteria::Review)
        );
        assert_eq!(
            (settings.require_evidence, settings.order),
            (Evidence::Verified, CheckOrder::Given)
        );
        fails(
            r#"{"mode": "al"}"#,
            "mode: unknown word \"al\", did you mean `all`? It must be one of `all`, `any`, `first`",
        );
        assert_eq!(
            reads(r#"{"require_evidence": "committed"}"#).require_evidence,
            Evidence::Committed
        );
        fails(
            r#"{"require_evidence": "verify"}"#,
            "did you mean `verified`?",
        );
        fails(
            r#"{"order": 1}"#,
            "order: expected one of `cheap_first`, `given`, found the number 1",
        );
        fails(r#"{"guards": ["a["]}"#, "guards[0]: not a valid glob");
        fails(
            r#"{"cheks": []}"#,
            "cheks: unknown key, did you mean `checks`?",
        );
        fails(
            r#"{"fleet": {"push_snapshots": true}}"#,
            "fleet: unknown key, since `fleet.push_snapshots` was removed",
        );
    }

    #[test]
    fn another_version_is_refused_without_other_complaints() {
        let error = parse_config(r#"{"version": 2, "new": 1}"#, Path::new("c")).unwrap_err();
        assert_eq!(error.problems.len(), 1);
        assert!(error.to_string().contains("reads version 1"), "{error}");
        fails(r#"{"version": "1"}"#, "version: expected a whole number");
        fails(r#"{"version": null}"#, "version: expected a whole number");
    }

    #[test]
    fn files_without_configuration_are_distinguished() {
        for (text, words) in [
            ("", "completion.json:1:1: the file is empty"),
            (
                "[]",
                "expected an object, { … }, at the top of the file, found a list",
            ),
            ("5", "found the number 5"),
            ("null", "found null"),
            ("\u{feff}{}", "byte order mark"),
        ] {
            fails(text, words);
        }
        fails(
            &format!("{{}}{}", " ".repeat(MAX_BYTES)),
            "the file is 1048578 bytes long; at most 1048576 are read",
        );
        fails(&format!("{{\"a\":{}", "[".repeat(1000)), "nested too deep");
        let bytes = |bytes: &[u8]| parse_bytes(bytes, Path::new("c")).unwrap_err().to_string();
        assert_eq!(
            bytes(b"{\n\"a\xff\": 1}"),
            "c:2:3: the file is not UTF-8 text; save it as UTF-8"
        );
        assert!(bytes(&[0xff, 0xfe, b'{', 0]).contains("UTF-16"));
        assert!(bytes(&vec![b' '; MAX_BYTES + 1]).contains("bytes long"));
        assert!(parse_bytes(b"{}", Path::new("c")).is_ok());
        let longest = format!("{{}}{}", " ".repeat(MAX_BYTES - 2));
        assert!(
            parse_config(&longest, Path::new("c")).is_ok()
                && parse_bytes(longest.as_bytes(), Path::new("c")).is_ok()
        );
    }

    #[test]
    fn all_problems_are_named_in_file_order() {
        let text = "{\n \"breaker\": {\"limit\": 0},\n \"mode\": \"none\",\n \"completion_check\": {\"max_probes\": \"5\", \"max_probes\": 5}\n}";
        let error = parse_config(text, Path::new("c")).unwrap_err();
        let places: Vec<_> = error
            .problems
            .iter()
            .map(|p| (p.line, p.key.as_str()))
            .collect();
        let probes = "completion_check.max_probes";
        assert_eq!(
            places,
            [(2, "breaker.limit"), (3, "mode"), (4, probes), (4, probes)]
        );
        assert!(
            error
                .to_string()
                .contains("the key is given twice, first on line 4; keep one"),
            "{error}"
        );
    }

    #[test]
    fn problem_report_is_bounded_in_time_and_length() {
        let text = format!(
            "{{{}\"z\": 1}}",
            (0..60_000)
                .map(|n| format!("\"key_{n}\": 1,"))
                .collect::<String>()
        );
        let error = parse_config(&text, Path::new("c")).unwrap_err();
        assert_eq!((error.problems.len(), error.more), (20, 59_981));
        assert!(error.to_string().len() < 4000);
    }

    #[test]
    fn a_list_has_a_thousand_entries_at_most() {
        let list =
            |length: usize| format!(r#"{{"guards": [{}]}}"#, vec!["\"a\""; length].join(","));
        assert_eq!(reads(&list(1000)).guards.len(), 1000);
        fails(
            &list(1001),
            "guards: has 1001 entries; at most 1000 are read",
        );
        fails(
            &list(1500),
            "guards: has 1500 entries; at most 1000 are read",
        );
    }

    #[test]
    fn several_blocks_join_with_mode_all() {
        let listed_settings = reads(
            r#"{"mode": "any", "checks": [{"type": "always"}, {"type": "git"}], "completion": {"verify": "x"}}"#,
        );
        assert_eq!(listed_settings.mode, Mode::All);
        assert!(
            matches!(&listed_settings.checks[0], CheckSpec::Group { mode: Mode::Any, checks } if checks.len() == 2)
        );
        assert!(matches!(
            &listed_settings.checks[1],
            CheckSpec::Single {
                criterion: CheckKind::Command(_),
                ..
            }
        ));
        let joined_settings = reads(
            r#"{"completion": {"verify": "x"}, "behavior": {"completionType": "issue"}, "checks": [{"type": "git"}]}"#,
        );
        let kinds: Vec<&str> = joined_settings
            .checks
            .iter()
            .map(|check| match check {
                CheckSpec::Single { criterion, .. } => criterion.kind(),
                CheckSpec::Group { .. } => "group",
            })
            .collect();
        assert_eq!(kinds, ["git", "command", "issue"]);
        let verify_settings = reads(r#"{"mode": "any", "completion": {"verify": "x"}}"#);
        assert_eq!(
            (
                verify_settings.mode,
                verify_settings.checks.len(),
                verify_settings.commands()
            ),
            (Mode::All, 1, vec!["check verify: x".to_owned()])
        );
    }

    #[test]
    fn registered_types_are_read_in_their_places() {
        let text = r#"{"checks": [{"type": "weather", "name": "sun", "city": {"name": "Ulm"}}]}"#;
        let checks = parse_registered(text, Path::new("c"), &["weather"])
            .unwrap()
            .settings
            .checks;
        let keys = serde_json::json!({"city": {"name": "Ulm"}})
            .as_object()
            .unwrap()
            .clone();
        assert_eq!(
            checks,
            [CheckSpec::Single {
                name: "sun".into(),
                criterion: CheckKind::Registered {
                    kind: "weather".into(),
                    keys
                }
            }]
        );
        fails(text, "no type of check is named \"weather\"");
        let error = parse_registered(
            &text.replace("weather", "wether"),
            Path::new("c"),
            &["weather"],
        )
        .unwrap_err();
        assert!(
            error.to_string().contains("did you mean `weather`?"),
            "{error}"
        );
        let error = parse_registered(
            &text.replace("\"city\"", "\"name\""),
            Path::new("c"),
            &["weather"],
        )
        .unwrap_err();
        assert!(error.to_string().contains("given twice"), "{error}");
    }

    #[test]
    fn an_empty_list_of_checks_is_noted() {
        assert!(notes(r#"{"checks": []}"#)[0].starts_with("checks: the list is empty"));
    }
}
