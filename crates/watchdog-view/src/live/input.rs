//! The inputs of the view, and the effects it requests.

use crossterm::event::KeyCode;
use jiff::Zoned;

use super::live_data::{
    DetailTab, LiveRowKey, PlannedDeed, RowFacts, RowQuery, SnapshotChoice, TabContent,
};
use crate::overview::StatusRow;
use watchdog_judge::judge::live_session::SessionLiveness;

/// Something that happened.
#[derive(Debug)]
pub enum LiveInput {
    /// A key: Tab is `Right`, and its opposite `Left`.
    Key(KeyCode),
    /// A click on this line of the screen.
    Click(u16),
    /// Ctrl-C ends the view.
    Interrupted,
    /// Ctrl-Z stops the view until it is continued.
    Suspended,
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
    /// The facts of a row from git and the log.
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

/// An effect that the view requests.
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
    /// End by this signal; 0 is the key for that.
    Quit(i32),
}
