//! THE CORE. Facts in, verdict out. No IO, no clock, no async, no logging; time and chance are handed in.

pub mod beside_claim;
pub mod breaker;
pub mod commit_gate;
pub mod iteration;
pub mod judgement_rule;
pub mod machine;
pub mod record;
pub mod rounds;
pub mod session_life;
pub mod silence;
pub mod standing_answer;
pub mod survivor_quiet;
pub mod template;
pub mod termination;
