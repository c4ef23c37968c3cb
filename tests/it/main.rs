//! The tests that need files, git or processes, as one binary.

/// Replies of probed agents, read from fixtures.
mod probe_reply;
