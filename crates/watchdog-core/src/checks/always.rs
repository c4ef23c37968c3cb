//! The type `always`: met in every case. It proves nothing, so that its evidence is none.

use watchdog_facts::verdict::Evidence;

use super::check::{CheckContext, CheckJudgement, CompletionCheck};

/// Always met.
#[derive(Debug, Clone, Copy)]
pub struct AlwaysMet;

impl CompletionCheck for AlwaysMet {
    fn check(&self, _context: &CheckContext<'_>) -> CheckJudgement {
        CheckJudgement::Pass {
            evidence: Evidence::None,
        }
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
    fn always_passes_without_evidence_or_outside_reads() {
        let fake = Fake::default();
        assert_eq!(
            AlwaysMet.check(&CheckContext::new(&fake)),
            CheckJudgement::Pass {
                evidence: Evidence::None
            }
        );
        assert!(fake.asked().is_empty());
    }
}
