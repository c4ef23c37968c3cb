//! The beginning and end of a session: its baseline, waiting for its end, and the logs of its
//! output.

pub mod anchor;

mod baseline;
mod conversation;
mod end;
mod inside;
mod log_files;
mod log_reader;
mod other_clone;

pub use baseline::{
    RecentRefs, RecordedBaseline, UncommittedRule, read_recorded_baseline, record_head_baseline,
    recorded_sharing, spec_of_new_session,
};
pub use conversation::{
    ProbeTarget, SessionIdSource, find_agent_since, has_conversation_since, note_conversations,
};
pub use end::EndedSession;
pub use inside::{
    SharedInside, find_enclosing_session, inside_of, inside_or_left, record_lives, session_lives,
};
pub use log_files::{SessionLog, expire_logs, log_path, logs_of, open_log};
pub use log_reader::LogReader;
pub use other_clone::{
    AnewBy, begin_anew, describe_lost_baseline, describe_other_clone, describe_removed_repository,
    is_another_clone, is_same_clone, refuse_other_clone, refuse_replaced_clone,
};
