//! The JSON shapes of a fleet: what leaves the program, and what a machine copies to the server.

pub mod fleet_copy;
pub mod fleet_json;
