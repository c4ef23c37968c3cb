//! Which columns of the list fit a terminal, and how wide each is. Pure.

use super::cells::{
    NOT_SHARED, breaker_text, cost_text, count_text, last_line_text, session_text, state_of,
    worktree_text,
};
use super::live_data::LiveRowKey;
use super::model::LiveModel;
use crate::cli::wrapped_text::cut;
use crate::cli::wrapped_text::without_middle;
use crate::report::overview::StatusRow;
use watchdog_facts::display::escape_to_one_line;

/// The mark of the chosen row, the sign of its tone, and a blank.
pub const MARKS: usize = 3;

/// A column of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListColumn {
    /// The state in a word.
    State,
    /// The path.
    Worktree,
    /// The name of the work.
    Spec,
    /// How long the session has run.
    Session,
    /// Commits since the baseline.
    Commits,
    /// Paths that are not committed.
    Unsaved,
    /// What it cost.
    Cost,
    /// The breaker.
    Breaker,
    /// What the session said last.
    LastLine,
}

use ListColumn::{Breaker, Commits, Cost, LastLine, Session, Spec, State, Unsaved, Worktree};

/// From left to right.
const PLACES: [ListColumn; 9] = [
    State, Worktree, Spec, Session, Commits, Unsaved, Cost, Breaker, LastLine,
];
/// The most important first: those that a narrow terminal has no room for are left out from the end.
const PRIORITY: [ListColumn; 9] = [
    State, Worktree, Session, Unsaved, Commits, Breaker, Cost, Spec, LastLine,
];
/// A path is given no more than this while other columns want room.
const WIDEST_PATH: usize = 40;

impl ListColumn {
    /// Its head.
    pub fn head(self) -> &'static str {
        match self {
            State => "STATE",
            Worktree => "WORKTREE",
            Spec => "SPEC",
            Session => "SESSION",
            Commits => "COMMITS",
            Unsaved => "UNSAVED",
            Cost => "COST",
            Breaker => "BREAKER",
            LastLine => "LAST LINE",
        }
    }

    /// The columns that it takes at least.
    fn least(self) -> usize {
        match self {
            State => 11,
            Worktree => 16,
            Spec => 14,
            LastLine => 20,
            Session | Commits | Unsaved | Cost | Breaker => 7,
        }
    }

    /// Whether it has figures, which stand at its right.
    pub fn is_figure(self) -> bool {
        matches!(self, Session | Commits | Unsaved | Cost)
    }

    /// The cell of a row, of at most so many columns.
    pub fn cell(self, model: &LiveModel, row: &StatusRow, width: usize) -> String {
        if row.machine.is_some() && matches!(self, Commits | Unsaved | LastLine) {
            return cut(NOT_SHARED, width);
        }
        let facts = || model.facts.get(&LiveRowKey::of(row));
        match self {
            State => cut(&state_of(row), width),
            Worktree => without_middle(&worktree_text(model, row), width),
            Spec => cut(&escape_to_one_line(&row.spec), width),
            Session => cut(&session_text(model, row), width),
            Commits => cut(&count_text(facts().map(|facts| &facts.commits)), width),
            Unsaved => cut(&count_text(facts().map(|facts| &facts.unsaved)), width),
            Cost => cut(&cost_text(row, facts()), width),
            Breaker => cut(&breaker_text(row), width),
            LastLine => cut(&last_line_text(facts()), width),
        }
    }
}

/// The columns for a terminal of this width, from left to right, each with its own.
pub fn columns(width: usize) -> Vec<(ListColumn, usize)> {
    let mut left = width.saturating_sub(MARKS);
    let mut chosen = Vec::new();
    for column in PRIORITY {
        let needs = column.least() + usize::from(!chosen.is_empty());
        // Where not even the path has room, it takes what is there.
        if needs > left && column != Worktree {
            break;
        }
        left = left.saturating_sub(needs);
        chosen.push(column);
    }
    let has_last = chosen.contains(&LastLine);
    let more_path = if has_last {
        left.min(WIDEST_PATH - Worktree.least())
    } else {
        left
    };
    let room = width.saturating_sub(MARKS + State.least() + 1);
    let width_of = |column: ListColumn| match column {
        Worktree => (Worktree.least() + more_path).min(room),
        LastLine => LastLine.least() + left - more_path,
        other => other.least(),
    };
    PLACES
        .into_iter()
        .filter(|column| chosen.contains(column))
        .map(|column| (column, width_of(column)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_and_the_most_important_stay() {
        for width in 20..300 {
            let columns = columns(width);
            let taken: usize =
                MARKS + columns.iter().map(|(_, width)| width).sum::<usize>() + columns.len() - 1;
            assert!(taken <= width, "{width}: {columns:?}");
            assert_eq!(columns[0].0, State, "{width}");
            assert_eq!(columns[1].0, Worktree, "{width}");
        }
        let shown = |width| {
            columns(width)
                .into_iter()
                .map(|(column, _)| column)
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(40), [State, Worktree, Session]);
        assert_eq!(
            shown(80),
            [State, Worktree, Session, Commits, Unsaved, Cost, Breaker]
        );
        assert_eq!(shown(120), PLACES);
    }
}
