//! Tests that need real processes, repositories and disks. One binary; one module for each room.

/// The state directory under many processes, kill -9, damage, full and read-only disks.
mod store;
