//! The dialect `completion {verify, signal, max_iterations}`: signal first, then verify.

use serde_json::Value;

use super::super::key_kinds::{COMMAND_LINE, TEXT, optional, whole};
use super::super::key_table::{KeyBlock, keys};
use super::super::reader::{ConfigNode, overwrite_if_read};
use super::super::settings::{
    CheckKind, CheckSpec, CommandCriterion, CommandLine, Limits, SignalMatch, SignalTextCriterion,
};
use super::limits::MAX_ITERATIONS;

/// The block as it is written.
#[derive(Default)]
struct CompletionBlock {
    verify: Option<CommandLine>,
    signal: Option<String>,
    max_iterations: Option<u32>,
}

static BLOCK: KeyBlock<CompletionBlock> = KeyBlock {
    name: "completion",
    defaults: CompletionBlock::default,
    keys: keys! { CompletionBlock;
        "verify" => verify: optional(COMMAND_LINE), "a `command` check";
        "signal" => signal: optional(TEXT), "a `signal` check, which comes first";
        "max_iterations" => max_iterations: optional(whole(1..=MAX_ITERATIONS)), "`limits.max_iterations`";
    },
    rules: |section, _, _| {
        if section.is_empty() {
            section.wrong("must not be empty; give `verify`, `signal`, or both");
        }
    },
};

/// The block in a JSON Schema.
pub(in super::super) fn build_completion_schema() -> Value {
    let mut schema = BLOCK.schema();
    schema["minProperties"] = 1.into();
    schema
}

/// Reads the block into checks and limits.
pub(in super::super) fn read_block(node: &ConfigNode<'_>, limits: &mut Limits) -> Vec<CheckSpec> {
    let mut block = CompletionBlock::default();
    BLOCK.read_object(node, &mut block);
    overwrite_if_read(&mut limits.max_iterations, block.max_iterations);
    let signal = block
        .signal
        .map(|text| CheckKind::Signal(SignalTextCriterion::new(text, SignalMatch::Line)));
    let verify = block
        .verify
        .map(|run| CheckKind::Command(CommandCriterion::new(run)));
    let named = [("signal", signal), ("verify", verify)].into_iter();
    named
        .filter_map(|(name, criterion)| {
            Some(CheckSpec::Single {
                name: name.into(),
                criterion: criterion?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{fails, reads};
    use super::super::super::settings::{CommandLine, Mode};
    use super::*;

    #[test]
    fn signal_comes_first_then_verify() {
        let settings = reads(
            r#"{"completion": {"verify": "npm test", "signal": "DONE", "max_iterations": 20}}"#,
        );
        assert_eq!(
            (settings.mode, settings.limits.max_iterations),
            (Mode::All, 20)
        );
        let kinds: Vec<&str> = settings
            .checks
            .iter()
            .map(|check| match check {
                CheckSpec::Single { criterion, .. } => criterion.kind(),
                CheckSpec::Group { .. } => "group",
            })
            .collect();
        assert_eq!(kinds, ["signal", "command"]);
        let verify = CommandCriterion::new(CommandLine::Shell("npm test".into()));
        assert_eq!(
            settings.checks[1],
            CheckSpec::Single {
                name: "verify".into(),
                criterion: CheckKind::Command(verify)
            }
        );
    }

    #[test]
    fn an_empty_block_is_an_error() {
        fails(r#"{"completion": {}}"#, "completion: must not be empty");
        fails(
            r#"{"completion": {"verify": ""}}"#,
            "completion.verify: must not be empty",
        );
        fails(
            r#"{"completion": {"signal": "  "}}"#,
            "completion.signal: must not be empty",
        );
        fails(
            r#"{"completion": {"verfy": "x"}}"#,
            "completion.verfy: unknown key, did you mean `verify`?",
        );
        fails(
            r#"{"completion": {"verify": "x", "max_iterations": 0}}"#,
            "completion.max_iterations",
        );
        fails(r#"{"completion": "x"}"#, "completion: expected an object");
    }
}
