//! The list of all worktrees. Only the rows on the screen are formatted.

use std::path::Path;

use super::cells::{about, sign};
use super::columns::columns;
use super::model::{FILTERS, LiveModel};
use super::paper::{Ink, LivePaper};
use super::update_detail::broken_lines;
use crate::report::attention::AttentionRank;
use watchdog_facts::display::{escape_to_one_line, plural};

/// Draws the list.
pub fn draw_list(paper: &mut LivePaper<'_>) {
    let model = paper.model;
    paper.line(
        0,
        &[
            ("watchdog", Ink::Bold),
            ("  ", Ink::Plain),
            (&summary(model), Ink::Plain),
        ],
    );
    if model.order.is_empty() {
        draw_nothing(paper);
    } else {
        draw_rows(paper);
    }
    draw_footer(paper);
}

fn summary(model: &LiveModel) -> String {
    if !model.loaded {
        return if model.store_error.is_some() {
            String::new()
        } else {
            "reading the records…".into()
        };
    }
    let mut text = plural(model.rows.len() as u64, "worktree");
    let (need, running) = model.counts;
    if need > 0 {
        text.push_str(&format!(
            " · {need} {} you",
            if need == 1 { "needs" } else { "need" }
        ));
    }
    if running > 0 {
        text.push_str(&format!(" · {running} running"));
    }
    if model.order.len() < model.rows.len() {
        text.push_str(&format!(" · {} shown", model.order.len()));
    }
    if FILTERS[model.filter] != "all" {
        text.push_str(&format!(" · only {}", FILTERS[model.filter]));
    }
    if model.sort != super::model::ListOrder::Attention {
        text.push_str(&format!(" · by {}", model.sort.as_str()));
    }
    text
}

fn draw_nothing(paper: &mut LivePaper<'_>) {
    let model = paper.model;
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
    let all: Vec<String> = lines
        .iter()
        .flat_map(|line| broken_lines(line, paper.width()))
        .collect();
    for (at, line) in all.iter().enumerate().take(model.list_height()) {
        paper.line(2 + at, &[(line, Ink::Plain)]);
    }
}

fn draw_rows(paper: &mut LivePaper<'_>) {
    let model = paper.model;
    let columns = columns(paper.width());
    let padded = |text: &str, width: usize, right: bool| {
        use unicode_width::UnicodeWidthStr as _;
        let pad = " ".repeat(width.saturating_sub(text.width()));
        if right {
            format!("{pad}{text} ")
        } else {
            format!("{text}{pad} ")
        }
    };
    let heads: String = columns
        .iter()
        .map(|(column, width)| padded(column.head(), *width, column.is_figure()))
        .collect();
    paper.line(1, &[("   ", Ink::Dim), (heads.trim_end(), Ink::Dim)]);
    let chosen = model.selected_at();
    for (line, at) in (model.top..model.order.len())
        .take(model.list_height())
        .enumerate()
    {
        let row = &model.rows[model.order[at]];
        let rank = AttentionRank::of(row);
        let marks = format!(
            "{}{} ",
            if chosen == Some(at) { '>' } else { ' ' },
            sign(rank)
        );
        let cells: Vec<String> = columns
            .iter()
            .map(|(column, width)| {
                padded(&column.cell(model, row, *width), *width, column.is_figure())
            })
            .collect();
        let mut parts = vec![(marks.as_str(), Ink::Ranked(rank))];
        for (at, cell) in cells.iter().enumerate() {
            let cell = if at + 1 == cells.len() {
                cell.trim_end()
            } else {
                cell
            };
            parts.push((
                cell,
                if at == 0 {
                    Ink::Ranked(rank)
                } else {
                    Ink::Plain
                },
            ));
        }
        paper.line(2 + line, &parts);
        if chosen == Some(at) {
            paper.choose(2 + line);
        }
    }
}

fn draw_footer(paper: &mut LivePaper<'_>) {
    let model = paper.model;
    let height = model.footer_height();
    let top = paper.height().saturating_sub(height);
    let mut lines = Vec::new();
    if let Some(why) = &model.store_error {
        lines.push(format!(
            "cannot read the records, trying again: {}",
            escape_to_one_line(why)
        ));
    }
    if let Some(row) = model.selected_row() {
        lines.extend(about(model, row));
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
        .map(|line| broken_lines(line, paper.width()))
        .unwrap_or_default();
    let room = height.saturating_sub(lines.len().max(2)).max(1);
    let shown = first.iter().take(room).chain(lines.iter().skip(1));
    for (at, line) in shown.enumerate().take(height - 1) {
        paper.line(top + at, &[(line, Ink::Dim)]);
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
    paper.line(paper.height() - 1, &[(&keys, Ink::Bold)]);
}
