//! How long calls to the server may take.

use std::time::Duration;

/// No call takes longer, connecting included.
pub const CALL_DEADLINE: Duration = Duration::from_secs(10);

/// Making the tables may wait for another one that makes them.
pub(crate) const INIT_DEADLINE: Duration = Duration::from_secs(60);
