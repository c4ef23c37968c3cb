//! Uncommitted work into commits: snapshot, commit by mode, proof that nothing was lost.
