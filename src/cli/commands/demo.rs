//! x
use crate::cli::failure::Failure;
use crate::cli::terminal::Terminal;
/// x
pub fn demo(_terminal: &Terminal) -> Result<u8, Failure> { Ok(0) }
