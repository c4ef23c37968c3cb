//! Only the database and the files beside it: journal, baselines, breakers, locks, trust.
