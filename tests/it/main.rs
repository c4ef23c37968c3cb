//! Every end-to-end test, in one binary: one link step, and one place that says what there is.

// The configuration as users write it.
mod config;
// Replies of probed agents, read from fixtures.
mod probe_reply;
