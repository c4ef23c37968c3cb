//! Where a session begins and ends: its baseline, and waiting for its end.
