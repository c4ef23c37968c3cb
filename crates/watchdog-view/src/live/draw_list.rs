//! The list of all worktrees. Only the rows on the screen are formatted.

use std::path::Path;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Text;
use ratatui::widgets::{HighlightSpacing, Row, StatefulWidget as _, Table, TableState};

use super::cells::{
    breaker_text, choose_sign, commits_text, cost_text, describe_row, last_line_text, session_text,
    state_of, unsaved_text, worktree_text,
};
use super::model::{FILTERS, ListOrder, LiveModel};
use super::paper::{BOLD, CHOSEN, DIM, PLAIN, draw_line, rank_style};
use super::update_detail::broken_lines;
use crate::attention::AttentionRank;
use crate::overview::StatusRow;
use crate::wrapped_text::{cut, cut_path};
use watchdog_facts::display::escape_to_one_line;

/// A column of the list.
struct ListColumn {
    head: &'static str,
    /// The columns of the screen that it takes at least.
    least: u16,
    /// The width of the terminal from which it has room, the most important columns first.
    shown_from: u16,
    is_figure: bool,
    cell: fn(&LiveModel, &StatusRow) -> String,
}

const WORKTREE: &str = "WORKTREE";
const SPEC: &str = "SPEC";
const LAST_LINE: &str = "LAST LINE";

/// From left to right; figures stand at the right of their columns.
const COLUMNS: [ListColumn; 9] = [
    column("STATE", 11, 0, false, |_, row| state_of(row)),
    column(WORKTREE, 16, 0, false, worktree_text),
    column(SPEC, 6, 86, false, |_, row| escape_to_one_line(&row.spec)),
    column("SESSION", 7, 39, true, session_text),
    column("COMMITS", 7, 55, true, commits_text),
    column("UNSAVED", 7, 47, true, unsaved_text),
    column("COST", 7, 71, true, cost_text),
    column("BREAKER", 7, 63, false, |_, row| breaker_text(row)),
    column(LAST_LINE, 20, 107, false, last_line_text),
];

const fn column(
    head: &'static str,
    least: u16,
    shown_from: u16,
    is_figure: bool,
    cell: fn(&LiveModel, &StatusRow) -> String,
) -> ListColumn {
    ListColumn {
        head,
        least,
        shown_from,
        is_figure,
        cell,
    }
}

impl ListColumn {
    fn text(&self, text: String) -> Text<'static> {
        match self.is_figure {
            true => Text::from(text).right_aligned(),
            false => Text::from(text),
        }
    }
}

/// Draws the list.
pub fn draw_list(model: &LiveModel, area: Rect, buffer: &mut Buffer) {
    let footer = Constraint::Length(model.footer_height());
    let bands = [Constraint::Length(1), Constraint::Fill(1), footer];
    let [title, list, footer] = Layout::vertical(bands).areas(area);
    draw_line(buffer, title, 0, &[(&summarize_rows(model), PLAIN)]);
    if model.order.is_empty() {
        draw_nothing(model, list, buffer);
    } else {
        draw_rows(model, list, buffer);
    }
    draw_footer(model, footer, buffer);
}

fn summarize_rows(model: &LiveModel) -> String {
    if !model.loaded {
        return if model.store_error.is_some() {
            String::new()
        } else {
            "reading the records…".into()
        };
    }
    let mut text = String::new();
    if model.order.len() < model.rows.len() {
        text.push_str(&format!("{} shown · ", model.order.len()));
    }
    if FILTERS[model.filter] != "all" {
        text.push_str(&format!("only {} · ", FILTERS[model.filter]));
    }
    if model.sort != ListOrder::Attention {
        text.push_str(&format!("by {} · ", model.sort.as_str()));
    }
    text + &model.counts
}

fn draw_nothing(model: &LiveModel, area: Rect, buffer: &mut Buffer) {
    let lines = if !model.loaded {
        Vec::new()
    } else if model.rows.is_empty() {
        let commands = model.commands.clone().with_worktree(Path::new("WORKTREE"));
        vec![
            "No worktree has a recorded baseline, so nothing is watched yet.".to_owned(),
            "Begin in a repository with:".to_owned(),
            format!("  {}", commands.watchdog("snapshot")),
            "or have a session watched with:".to_owned(),
            format!("  {}", commands.watchdog("run -- CMD")),
        ]
    } else {
        vec!["No worktree is like that. Esc shows all again.".to_owned()]
    };
    let all = lines
        .iter()
        .flat_map(|line| broken_lines(line, area.width.into()));
    for (at, line) in all.enumerate() {
        draw_line(buffer, area, 1 + at, &[(&line, PLAIN)]);
    }
}

fn draw_rows(model: &LiveModel, area: Rect, buffer: &mut Buffer) {
    let columns: Vec<&ListColumn> = COLUMNS
        .iter()
        .filter(|column| column.shown_from <= area.width)
        .collect();
    let widths = share_width(model, &columns, area.width);
    // The mark of the chosen row stands before them.
    let constraints = std::iter::once(1).chain(widths.iter().copied());
    let rows = model
        .order
        .iter()
        .skip(model.top)
        .take(model.list_height())
        .map(|at| {
            let row = &model.rows[*at];
            let rank = AttentionRank::from_row(row);
            let cells = columns.iter().zip(&widths).map(|(column, width)| {
                let cell = (column.cell)(model, row);
                let text = column.text(match column.head {
                    WORKTREE => cut_path(&cell, &model.common, (*width).into()),
                    _ => cut(&cell, (*width).into()),
                });
                match column.head {
                    "STATE" => text.style(rank_style(rank)),
                    _ => text,
                }
            });
            let sign = Text::styled(choose_sign(rank).to_string(), rank_style(rank));
            Row::new(std::iter::once(sign).chain(cells))
        });
    let heads = columns
        .iter()
        .map(|column| column.text(column.head.to_owned()));
    let table = Table::new(rows, constraints)
        .header(Row::new(std::iter::once(Text::default()).chain(heads)).style(DIM))
        .highlight_symbol(">")
        .highlight_spacing(HighlightSpacing::Always)
        .row_highlight_style(CHOSEN);
    let chosen = model.selected_at().and_then(|at| at.checked_sub(model.top));
    table.render(area, buffer, &mut TableState::new().with_selected(chosen));
}

/// The width of each column: what it wants, and for those that want most equal shares of the room.
fn share_width(model: &LiveModel, columns: &[&ListColumn], width: u16) -> Vec<u16> {
    let want = |column: &&ListColumn| match column.head {
        WORKTREE => model.widest[0].max(column.least),
        SPEC => model.widest[1].max(column.least),
        LAST_LINE => u16::MAX,
        _ => column.least,
    };
    let mut by_want: Vec<(u16, usize)> = columns.iter().map(want).zip(0..).collect();
    by_want.sort_unstable();
    let mut widths = vec![0; columns.len()];
    let mut shares = u16::try_from(columns.len()).unwrap_or(1);
    let mut room = width.saturating_sub(2 + shares);
    for (want, at) in by_want {
        widths[at] = want.min(room / shares);
        room -= widths[at];
        shares -= 1;
    }
    widths
}

fn draw_footer(model: &LiveModel, area: Rect, buffer: &mut Buffer) {
    let height = usize::from(area.height);
    let mut lines = Vec::new();
    if let Some(why) = &model.store_error {
        lines.push(format!(
            "cannot read the records, trying again: {}",
            escape_to_one_line(why)
        ));
    }
    if let Some(row) = model.selected_row() {
        lines.extend(describe_row(model, row));
    }
    lines.extend(
        model
            .notes
            .iter()
            .map(|note| format!("note: {}", escape_to_one_line(note))),
    );
    // The first sentence has all of the room that the others leave.
    let first = lines
        .first()
        .map(|line| broken_lines(line, area.width.into()))
        .unwrap_or_default();
    let room = height.saturating_sub(lines.len().max(2)).max(1);
    let shown = first.iter().take(room).chain(lines.iter().skip(1));
    for (at, line) in shown.enumerate().take(height - 1) {
        draw_line(buffer, area, at, &[(line, DIM)]);
    }
    let keys = if model.typing {
        format!(
            "/{}_  Enter keeps · Esc ends the search",
            escape_to_one_line(&model.search)
        )
    } else if let Some(busy) = &model.busy {
        format!("{busy}: being done…")
    } else if !model.search.is_empty() {
        format!(
            "/{}  Esc shows all · ? keys · q quit",
            escape_to_one_line(&model.search)
        )
    } else if model.store_error.is_some() && height == 1 {
        lines.first().cloned().unwrap_or_default()
    } else {
        "Enter open · a act · / search · f filter · s sort · ? keys · q quit".into()
    };
    let position = match model.selected_at() {
        Some(at) if model.order.len() > model.list_height() => {
            format!("{} of {} · ", at + 1, model.order.len())
        }
        _ => String::new(),
    };
    draw_line(
        buffer,
        area,
        height - 1,
        &[(&position, PLAIN), (&keys, BOLD)],
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_appear_in_order_of_importance() {
        let shown = |width| {
            let shown = COLUMNS.iter().filter(|column| column.shown_from <= width);
            shown.map(|column| column.head).collect::<Vec<_>>()
        };
        assert_eq!(shown(40), ["STATE", WORKTREE, "SESSION"]);
        let at_80 = [
            "STATE", WORKTREE, "SESSION", "COMMITS", "UNSAVED", "COST", "BREAKER",
        ];
        assert_eq!(shown(80), at_80);
        for width in 39..300 {
            let columns = COLUMNS.iter().filter(|column| column.shown_from <= width);
            let least: u16 = columns.map(|column| column.least + 1).sum();
            assert!(2 + least <= width, "{width}");
        }
    }
}
