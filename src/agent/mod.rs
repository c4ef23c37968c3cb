//! Only duct. Starts every process, ends process trees, keeps bounded output; asks agents about themselves and reads their replies.

pub mod program;
