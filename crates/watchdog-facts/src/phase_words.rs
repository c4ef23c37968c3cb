//! The phase of a project in an agent's words.

use crate::patterns::FixedPattern;

/// The phases that a project goes through, unless its last one has a name of its own.
pub const PHASES: [&str; 5] = ["preparation", "processing", "review", "again", "complete"];

/// Words that name a phase: `phase: review`, `moving to review`, `starting implementation`.
static NAMED: FixedPattern = FixedPattern::new(
    r#"(?i)\bphase\s*(?:is|[:=])\s*["'`*]*(\w[\w-]*)|\b(?:moving|moved|proceeding|going|back) (?:on )?to (?:the )?["'`*]*(\w[\w-]*)|\b(?:starting|beginning) (?:the )?(implementation)\b|\bproject (?:is |now |fully )*(complete)d?\b"#,
);

/// Whether an agent's words can name a phase by this text.
pub fn is_phase_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

/// The phase that a text names last, in lower case, and the words that name it. `declared` are phases besides the usual ones.
pub fn named_phase(text: &str, declared: &[&str]) -> Option<(String, String)> {
    let declared: Vec<String> = declared.iter().map(|phase| phase.to_lowercase()).collect();
    let named = NAMED.captures_iter(text).filter_map(|groups| {
        let word = (1..=4)
            .find_map(|at| groups.get(at))?
            .as_str()
            .to_lowercase();
        let phase = if word == "implementation" && !declared.contains(&word) {
            "processing".to_owned()
        } else {
            word
        };
        let is_phase = PHASES.contains(&phase.as_str()) || declared.contains(&phase);
        is_phase.then(|| (groups[0].to_owned(), phase))
    });
    named.last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_named_phase_is_current() {
        let phase =
            |text: &str| named_phase(text, &["Shipped", "deploy-2"]).map(|(_, phase)| phase);
        for (text, wanted) in [
            ("Starting implementation now", Some("processing")),
            ("Phase: processing, then moving to review", Some("review")),
            ("the project is now complete", Some("complete")),
            ("phase: shipped", Some("shipped")),
            ("moving to deploy-2", Some("deploy-2")),
            ("phase: lunch", None),
            ("no word of it", None),
        ] {
            assert_eq!(phase(text).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn a_declared_phase_keeps_its_own_name() {
        let phase = |declared: &[&str]| {
            named_phase("Starting the implementation", declared).map(|(_, phase)| phase)
        };
        assert_eq!(
            phase(&["Implementation"]).as_deref(),
            Some("implementation")
        );
        assert_eq!(phase(&[]).as_deref(), Some("processing"));
        for (name, possible) in [
            ("deploy-2", true),
            ("_a", true),
            ("", false),
            ("-a", false),
            ("a b", false),
            ("a.b", false),
            ("a\u{1b}", false),
        ] {
            assert_eq!(is_phase_name(name), possible, "{name:?}");
            assert_eq!(
                named_phase(&format!("phase: {name}"), &[name])
                    .is_some_and(|(_, phase)| phase == name),
                possible,
                "{name:?}"
            );
        }
    }
}
