//! The machine, exhaustively: every event that may answer an action is fed to every state that can be reached ([`explorer`]), over
//! representatives of all facts ([`event_space`]) and setups ([`setup_space`]), and each rule of the contract is judged there
//! ([`rules`], [`strike_rules`], [`earned_reasons`]) by what happened alone ([`event_ledger`]).

mod earned_reasons;
mod event_ledger;
mod event_space;
mod explored;
mod explorer;
mod forged;
mod forged_rows;
mod principles;
mod rules;
mod setup_space;
mod situation;
mod strike_rules;
