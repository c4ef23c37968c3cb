//! The tests that need files, git or processes, as one binary.

/// Probes of real programs.
mod probe_ask;
/// Replies of probed agents, read from fixtures.
mod probe_reply;
