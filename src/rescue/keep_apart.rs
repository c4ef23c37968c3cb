//! Which files of a snapshot are kept apart, in a ref that is never merged or pushed. Pure.

use super::secrets::looks_secret;
use crate::config::settings::RescueSettings;
use crate::decision::secret_shapes::{self, LIMIT};
use crate::git::Candidate;

/// The rule for [`crate::git::Worktree::take_snapshot_apart`]: what looks like a secret by its name or by
/// what is new in it, and what is larger than `max_bytes`. Whatever is never committed for one of these reasons belongs here, too.
pub fn private_rule(settings: &RescueSettings) -> impl Fn(&Candidate<'_>) -> Option<&'static str> + use<> {
    let max_bytes = settings.max_bytes;
    move |candidate| {
        if looks_secret(candidate.path) {
            Some("secret")
        } else if candidate.bytes > max_bytes {
            Some("too_large")
        } else if candidate.bytes <= LIMIT
            && let Some(content) = (candidate.content)()
            && secret_shapes::added(None, &content).is_some()
            && secret_shapes::added((candidate.committed)().as_deref(), &content).is_some()
        {
            Some("secret")
        } else {
            None
        }
    }
}
