//! THE CORE. Facts in, verdict out. No IO, no clock, no async, no logging; time and chance are handed in.

pub mod beside_claim;
pub mod breaker;
pub mod context;
pub mod display;
pub mod evidence;
pub mod iteration;
pub mod machine;
pub mod reply;
pub mod rounds;
pub mod secret_shapes;
pub mod session_work;
pub mod shortage;
pub mod silence;
pub mod standing_answer;
pub mod survivor_quiet;
pub mod template;
pub mod termination;
pub mod verdict;
pub mod warning_code;
