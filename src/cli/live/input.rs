//! What may happen to the view, and what the view asks of the world.

use jiff::Zoned;

use super::live_data::{
    DetailTab, LiveRowKey, PlannedDeed, RowFacts, RowQuery, SnapshotChoice, TabContent,
};
use crate::judge::live_session::SessionLiveness;
use crate::report::overview::StatusRow;

/// A key or a movement of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveKey {
    /// A character that was typed.
    Char(char),
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// To the left.
    Left,
    /// To the right, or Tab.
    Right,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// To the first line.
    Home,
    /// To the last line.
    End,
    /// Opens or chooses.
    Enter,
    /// Backs out.
    Escape,
    /// Takes the last character back.
    Backspace,
    /// Ends the view.
    CtrlC,
    /// Stops the view until it is continued.
    CtrlZ,
    /// A click on this line of the screen.
    Click(u16),
}

/// Something that happened.
#[derive(Debug)]
pub enum LiveInput {
    /// A person did something.
    Key(LiveKey),
    /// The terminal has another size: columns and rows.
    Resized(u16, u16),
    /// Time went by.
    TimePassed(Zoned),
    /// The records were read, with what could not be read of them.
    Rows(Vec<StatusRow>, Vec<String>),
    /// The records cannot be read, and why.
    StoreFailed(String),
    /// How a session is doing.
    Session(LiveRowKey, SessionLiveness),
    /// What git and the log say of a row.
    Facts(LiveRowKey, RowFacts),
    /// A page of the detail was read.
    Tab(LiveRowKey, DetailTab, TabContent),
    /// The difference that a snapshot makes.
    Diff(SnapshotChoice, TabContent),
    /// A deed that first had to be read up on, ready to be confirmed; or why it cannot be.
    Prepared(Result<PlannedDeed, String>),
    /// A deed was done: its name, its exit code and what it said.
    Performed(String, u8, Vec<String>),
    /// Whether deeds are allowed from here: why not, or `None`.
    DeedsAllowed(Option<String>),
    /// The terminal must be drawn anew: the process was continued.
    Continued,
    /// A signal asks for the end: its number.
    Ended(i32),
}

/// What is asked of the world.
#[derive(Debug, Clone, PartialEq)]
pub enum LiveEffect {
    /// Read what git and the logs say of these rows, which are on the screen.
    ReadRows(Vec<RowQuery>),
    /// Read a page of the detail, and go on reading it; `None` ends that.
    ReadTab(Option<(LiveRowKey, DetailTab)>),
    /// Read the difference that a snapshot makes.
    ReadDiff(SnapshotChoice),
    /// Read which commands a worktree's configuration names, before a person trusts it.
    ReadTrust(LiveRowKey),
    /// Do this.
    Perform(PlannedDeed),
    /// Give the terminal back and stop, until the process is continued.
    Suspend,
    /// End with this exit code.
    Quit(u8),
}
