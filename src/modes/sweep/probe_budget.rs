//! The probe budget of a sweep: how many questions it may still put to agents, because tokens are the user's.

use std::sync::atomic::{AtomicU32, Ordering};

/// The remaining probes of a sweep.
pub struct ProbeBudget {
    left: AtomicU32,
    total: u32,
}

impl ProbeBudget {
    /// So many questions for the whole sweep.
    pub fn new(total: u32) -> Self {
        ProbeBudget {
            left: AtomicU32::new(total),
            total,
        }
    }

    /// Takes one question, if one is left.
    pub fn take(&self) -> bool {
        self.left
            .try_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            })
            .is_ok()
    }

    /// Puts one back that was not sent.
    pub fn put_back(&self) {
        self.left.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    /// How many were taken.
    pub fn taken(&self) -> u32 {
        self.total - self.left.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::super::probe_budget::*;

    #[test]
    fn no_more_is_taken_than_there_is_however_many_ask_at_once() {
        let probe_budget = ProbeBudget::new(100);
        let taken: usize = std::thread::scope(|scope| {
            let takers: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..60).filter(|_| probe_budget.take()).count()))
                .collect();
            takers.into_iter().map(|taker| taker.join().unwrap()).sum()
        });
        assert_eq!(
            (taken, probe_budget.taken(), probe_budget.is_spent()),
            (100, 100, true)
        );
        probe_budget.put_back();
        assert!(
            (
                probe_budget.taken(),
                probe_budget.take(),
                probe_budget.take()
            ) == (99, true, false),
            "one that was not sent"
        );
    }
}
