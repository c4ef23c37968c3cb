//! What several test modules share.

pub mod scratch_repo;
