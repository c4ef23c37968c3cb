//! The seats of a pool: an agent with the name that it works under, and its work apart from that of the others.

use std::future::Future;
use std::sync::Arc;

use super::boot_clock::BootMoment;
use super::lease::RenewedLease;
use super::pool::{AgentPoolOptions, PoolAgent};
use super::task_queue::TaskQueue;
use crate::clock::now;
use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_store::LocalStore;
use watchdog_store::engine::{Lease, LeaseRenewal};
use watchdog_store::task::agent_lease;

/// An agent of the pool, with its state.
pub(super) struct AgentSeat {
    pub(super) agent: PoolAgent,
    /// The task that it works on, or is about to take.
    pub(super) busy: Option<String>,
    pub(super) errors: u32,
    /// Why it takes no more tasks.
    pub(super) out: Option<String>,
    /// Its name while it is ours.
    pub(super) name: AgentName,
}

/// The name of an agent under a lease, which goes back when this is dropped.
pub(super) struct AgentName {
    renewed: RenewedLease,
    store: Arc<dyn LocalStore>,
    lease: Lease,
}

impl AgentName {
    /// Whether another watchdog may have it by now.
    pub(super) fn is_lost(&self) -> bool {
        self.renewed.is_lost()
    }
}

impl Drop for AgentName {
    fn drop(&mut self) {
        // If this fails, the lease ends by itself.
        let _ = self.store.release(&self.lease);
    }
}

/// Takes the names that are free, as many as may work.
///
/// # Errors
/// Fails if the store cannot say.
pub(super) fn take_seats(
    queue: &TaskQueue,
    options: &AgentPoolOptions,
) -> Result<Vec<AgentSeat>, UnreadableFact> {
    let ttl = options.each.lease;
    let holder = format!(
        "{} {}",
        std::process::id(),
        watchdog_store::journal::event_id(now())
    );
    let mut seats = Vec::new();
    for agent in &options.agents {
        if seats.len() == options.at_most {
            break;
        }
        let store = queue.store();
        let requested_at = BootMoment::now();
        // Names are those of one machine: each has its own agents, and two may call theirs alike.
        let Some(lease) = agent_lease(
            store.as_ref(),
            &queue.repository_id,
            &agent.name,
            &holder,
            ttl,
        )?
        else {
            continue;
        };
        let (renewing, renewed) = (Arc::clone(&store), lease.clone());
        let renewed = RenewedLease::start(requested_at, ttl, move |ttl| {
            Ok(matches!(
                renewing.renew(&renewed, ttl)?,
                LeaseRenewal::Held(_)
            ))
        });
        let name = AgentName {
            renewed,
            store,
            lease,
        };
        seats.push(AgentSeat {
            agent: agent.clone(),
            busy: None,
            errors: 0,
            out: None,
            name,
        });
    }
    Ok(seats)
}

/// Does work of a seat. A panic ends this work alone: its seat is free again, and the lease of its task expires.
pub(super) async fn isolate_panic<T: 'static>(
    work: impl Future<Output = Result<T, UnreadableFact>> + 'static,
) -> Result<T, UnreadableFact> {
    tokio::task::spawn_local(work)
        .await
        .unwrap_or_else(|error| {
            Err(UnreadableFact::new(
                FaultKind::Git,
                format!("ended by a bug of watchdog: {error}"),
            ))
        })
}

#[cfg(test)]
mod tests {
    use tokio::task::{JoinSet, LocalSet};

    use super::super::seat::*;

    #[tokio::test]
    async fn panic_of_a_worker_ends_its_work_alone() {
        let workers = LocalSet::new();
        let ended = workers.run_until(async {
            let mut running: JoinSet<Result<u32, UnreadableFact>> = JoinSet::new();
            running.spawn_local(isolate_panic(async { panic!("this went wrong") }));
            running.spawn_local(isolate_panic(async { Ok(1) }));
            running.join_all().await
        });
        let ended = ended.await;
        assert!(ended.contains(&Ok(1)), "{ended:?}");
        assert!(
            ended.iter().any(|end| end
                .as_ref()
                .is_err_and(|error| error.why.contains("this went wrong"))),
            "{ended:?}"
        );
    }
}
