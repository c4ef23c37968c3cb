//! CRITERIA. One file per type of check, one trait, groups that combine them.
