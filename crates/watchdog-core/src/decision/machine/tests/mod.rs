//! The decision tree, proved: a scripted world ([`world`], with an agent's [`replies`]), tables with every leaf of the contract's tree
//! ([`leaves`], [`criteria`]), what `run` knows more
//! ([`sessions`]), a session that may still live ([`alive`]), `--once` over several calls ([`once`]), the words of the verdict ([`words`],
//! [`ends`]), properties ([`properties`]) over arbitrary facts ([`facts`]), and every sequence of events over a few of each ([`exhaustive`]).

mod alive;
mod criteria;
mod ends;
mod exhaustive;
mod facts;
mod leaves;
mod once;
mod properties;
mod recorded;
mod replies;
mod sessions;
mod words;
mod world;
