//! The events of a session by its output, in one form for all programs.

use super::context::SessionUsage;

/// A thing that happened in a session.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEvent {
    /// The program named its session.
    Named {
        /// Its name.
        session_id: String,
    },
    /// A text of the agent.
    Said {
        /// The text.
        text: String,
    },
    /// A part of a text of the agent: it continues the part before it.
    SaidPart {
        /// The part.
        text: String,
    },
    /// A message of somebody else.
    Message {
        /// Who: `user` or `system`.
        role: String,
        /// The message.
        text: String,
    },
    /// The agent called a tool.
    Called {
        /// The tool's name.
        tool: String,
        /// Its purpose.
        input: String,
    },
    /// A tool gave its result.
    Returned {
        /// The tool's name, where it is known.
        tool: Option<String>,
        /// The result.
        content: String,
        /// Whether it failed.
        is_error: bool,
    },
    /// The program refused the agent a call of this tool.
    Refused {
        /// The tool's name.
        tool: String,
    },
    /// The program asked the agent's service again.
    Retried {
        /// Why.
        why: String,
    },
    /// A task began to run in the background.
    TaskBegan {
        /// Its kind.
        what: String,
    },
    /// A task in the background ended.
    TaskEnded {
        /// Its kind.
        what: String,
    },
    /// An error that did not end the session by itself.
    Fault {
        /// Its message.
        message: String,
    },
    /// The program says that the session, or a turn of it, ended.
    Ended {
        /// How, in its own word.
        how: String,
        /// The message of the error that ended it.
        error: Option<String>,
        /// Its usage so far, as far as reported.
        usage: SessionUsage,
    },
    /// A line that is no event.
    Line {
        /// The line, without its end.
        text: String,
    },
    /// An event that is not shown: of a kind that is unknown, cut in two, or too long to be read.
    Unread {
        /// The program's word for its kind, or what is wrong with it.
        what: String,
    },
    /// The log left bytes out here.
    Gap {
        /// How many.
        bytes: u64,
    },
}
