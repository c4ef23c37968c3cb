//! The judge that any agent loop can call.

pub mod config;
pub mod decision;

pub mod checks;

pub mod agent;
pub mod git;
pub mod store;
pub mod watch;

pub mod rescue;
pub mod session;

pub mod supervisor;

pub mod cli;
