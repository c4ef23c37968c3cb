//! The type `always`: met, whatever happened. It shows nothing, so that its evidence is none.

use crate::decision::verdict::Evidence;

use super::check::{CheckContext, CompletionCheck, Judgement};

/// Always met.
#[derive(Debug, Clone, Copy)]
pub struct Always;

impl CompletionCheck for Always {
    fn check(&self, _context: &CheckContext<'_>) -> Judgement {
        Judgement::Pass { evidence: Evidence::None }
    }

    fn description(&self) -> String {
        "nothing more is asked".into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Fake;
    use super::*;

    #[test]
    fn it_passes_with_no_evidence_and_asks_nothing_of_the_outside() {
        let fake = Fake::default();
        assert_eq!(Always.check(&CheckContext::new(&fake)), Judgement::Pass { evidence: Evidence::None });
        assert!(fake.asked().is_empty());
    }
}
