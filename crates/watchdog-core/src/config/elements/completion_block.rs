//! The dialect `completion {verify, signal, max_iterations}`: signal first, then verify.

use super::super::reader::{ConfigNode, put, small};
use super::super::settings::{CheckKind, CheckSpec, CommandCriterion, Limits, SignalCriterion, SignalMatch};
use super::limits::MAX_ITERATIONS;

/// Reads the block into checks and limits.
pub(in super::super) fn read(node: &ConfigNode<'_>, limits: &mut Limits) -> Vec<CheckSpec> {
    let Some(section) = node.section(&["verify", "signal", "max_iterations"]) else { return Vec::new() };
    if section.is_empty() {
        section.wrong("must not be empty; give `verify`, `signal`, or both");
    }
    let mut checks = Vec::new();
    if let Some(text) = section.get("signal").and_then(|n| n.text()) {
        checks
            .push(CheckSpec::Single { name: "signal".into(), criterion: CheckKind::Signal(SignalCriterion::new(text, SignalMatch::Line)) });
    }
    if let Some(run) = section.get("verify").and_then(|n| n.command_line()) {
        checks.push(CheckSpec::Single { name: "verify".into(), criterion: CheckKind::Command(CommandCriterion::new(run)) });
    }
    put(&mut limits.max_iterations, section.get("max_iterations").and_then(|n| n.whole(1..=MAX_ITERATIONS)).map(small));
    checks
}

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{fails, reads};
    use super::super::super::settings::{CommandLine, Mode};
    use super::*;

    #[test]
    fn signal_comes_first_then_verify() {
        let found = reads(r#"{"completion": {"verify": "npm test", "signal": "DONE", "max_iterations": 20}}"#);
        assert_eq!((found.mode, found.limits.max_iterations), (Mode::All, 20));
        let kinds: Vec<&str> = found
            .checks
            .iter()
            .map(|check| match check {
                CheckSpec::Single { criterion, .. } => criterion.kind(),
                CheckSpec::Group { .. } => "group",
            })
            .collect();
        assert_eq!(kinds, ["signal", "command"]);
        let verify = CommandCriterion::new(CommandLine::Shell("npm test".into()));
        assert_eq!(found.checks[1], CheckSpec::Single { name: "verify".into(), criterion: CheckKind::Command(verify) });
    }

    #[test]
    fn an_empty_block_is_an_error() {
        fails(r#"{"completion": {}}"#, "completion: must not be empty");
        fails(r#"{"completion": {"verify": ""}}"#, "completion.verify: must not be empty");
        fails(r#"{"completion": {"signal": "  "}}"#, "completion.signal: must not be empty");
        fails(r#"{"completion": {"verfy": "x"}}"#, "completion.verfy: unknown key, did you mean `verify`?");
        fails(r#"{"completion": {"verify": "x", "max_iterations": 0}}"#, "completion.max_iterations");
        fails(r#"{"completion": "x"}"#, "completion: expected an object");
    }
}
