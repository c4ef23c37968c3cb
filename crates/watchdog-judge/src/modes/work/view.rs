//! The view of a pool of agents: each task that one of them works on is a loop with a view of its own.

use std::sync::Arc;

use crate::modes::iterate::LoopView;

/// Shows the loops of a pool.
pub trait AgentPoolView {
    /// The view of the loop that works on a task.
    fn task_view(&self, agent: &str, task: &str) -> Arc<dyn LoopView>;
}

/// Shows nothing; the lines of progress remain.
impl AgentPoolView for () {
    fn task_view(&self, _agent: &str, _task: &str) -> Arc<dyn LoopView> {
        Arc::new(())
    }
}
