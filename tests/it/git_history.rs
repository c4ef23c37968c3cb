//! The commits since a baseline.
