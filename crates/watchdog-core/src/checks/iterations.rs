//! The type `iterations`: so many rounds of a loop were made. A count, and no proof.

use watchdog_facts::verdict::Evidence;

use super::check::{CheckContext, CheckJudgement, CompletionCheck};

/// Met when so many iterations were made.
#[derive(Debug, Clone, Copy)]
pub struct IterationsCheck {
    count: u64,
}

impl IterationsCheck {
    /// A check of so many iterations.
    pub fn new(count: u64) -> Self {
        IterationsCheck { count }
    }
}

impl CompletionCheck for IterationsCheck {
    fn check(&self, context: &CheckContext<'_>) -> CheckJudgement {
        let counted = context.session.iteration.or_else(|| {
            context
                .session
                .summaries
                .iter()
                .filter_map(|summary| summary.iteration)
                .max()
        });
        match counted {
            None => CheckJudgement::Failed {
                why: "how many iterations were made is not known: only a loop counts them".into(),
            },
            Some(made) if made >= self.count && self.count > 0 => CheckJudgement::PassWith {
                evidence: Evidence::Counted,
                summary: format!("{made} of {} iterations were made", self.count),
            },
            Some(made) => CheckJudgement::Unmet {
                feedback: format!("{made} of {} iterations were made; go on", self.count),
            },
        }
    }

    fn description(&self) -> String {
        format!("{} iterations were made", self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Fake;
    use super::*;
    use watchdog_facts::context::{IterationSummary, SessionContext};

    fn judge(count: u64, iteration: Option<u64>, summaries: &[u64]) -> CheckJudgement {
        let summaries = summaries
            .iter()
            .map(|n| IterationSummary {
                iteration: Some(*n),
                ..IterationSummary::default()
            })
            .collect();
        let session = SessionContext {
            iteration,
            summaries,
            ..SessionContext::default()
        };
        IterationsCheck::new(count)
            .check(&CheckContext::new(&Fake::default()).with_session(&session))
    }

    #[test]
    fn iteration_count_decides_without_further_evidence() {
        assert_eq!(
            judge(3, Some(1), &[]),
            CheckJudgement::Unmet {
                feedback: "1 of 3 iterations were made; go on".into()
            }
        );
        let met = CheckJudgement::PassWith {
            evidence: Evidence::Counted,
            summary: "3 of 3 iterations were made".into(),
        };
        assert_eq!(judge(3, Some(3), &[]), met);
        assert_eq!(judge(3, None, &[1, 2, 3]), met);
    }

    #[test]
    fn unknown_count_fails_and_zero_target_never_passes() {
        assert!(matches!(judge(1, None, &[]), CheckJudgement::Failed { .. }));
        assert!(matches!(
            judge(0, Some(5), &[]),
            CheckJudgement::Unmet { .. }
        ));
    }
}
