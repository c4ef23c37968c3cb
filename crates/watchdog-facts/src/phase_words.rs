//! The phase of a project in an agent's words.

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

/// The phases that a project goes through, unless its last one has a name of its own.
pub const PHASES: [&str; 5] = ["preparation", "processing", "review", "again", "complete"];

/// Words that name a phase: `phase: review`, `moving to review`, `starting implementation`.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    let words = r#"\bphase\s*(?:is|[:=])\s*["'`*]*(\w[\w-]*)|\b(?:moving|moved|proceeding|going|back) (?:on )?to (?:the )?["'`*]*(\w[\w-]*)|\b(?:starting|beginning) (?:the )?(implementation)\b|\bproject (?:is |now |fully )*(complete)d?\b"#;
    RegexBuilder::new(words).case_insensitive(true).build().expect("a fixed pattern")
});

/// The phase that a text names last, in lower case, and the words that name it. `last` is the name of the last phase.
pub fn named_phase(text: &str, last: &str) -> Option<(String, String)> {
    let named = NAMED.captures_iter(text).filter_map(|found| {
        let word = (1..=4).find_map(|at| found.get(at))?.as_str().to_lowercase();
        let phase = if word == "implementation" { "processing".to_owned() } else { word };
        let known = PHASES.contains(&phase.as_str()) || phase == last.to_lowercase();
        known.then(|| (found[0].to_owned(), phase))
    });
    named.last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_that_is_named_last_is_the_one() {
        let phase = |text: &str| named_phase(text, "Shipped").map(|(_, phase)| phase);
        for (text, wanted) in [
            ("Starting implementation now", Some("processing")),
            ("Phase: processing, then moving to review", Some("review")),
            ("the project is now complete", Some("complete")),
            ("phase: shipped", Some("shipped")),
            ("phase: lunch", None),
            ("no word of it", None),
        ] {
            assert_eq!(phase(text).as_deref(), wanted, "{text}");
        }
    }
}
