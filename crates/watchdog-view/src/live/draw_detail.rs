//! Draws a worktree in detail: a head, the names of the pages, and the page.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Margin, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{
    Block, Borders, HighlightSpacing, List, ListState, Paragraph, StatefulWidget, Widget as _,
};

use super::cells::{choose_sign, session_text, state_of, worktree_text};
use super::live_data::DetailTab;
use super::model::{DetailPage, LiveModel};
use super::paper::{BOLD, CHOSEN, DIM, PLAIN, draw_line, rank_style};
use super::update_detail::{PAGE_TOP, page_height, page_lines};
use crate::attention::AttentionRank;
use crate::wrapped_text::{cut, cut_path};
use watchdog_facts::display::escape_to_one_line;

/// Draws the detail.
pub fn draw_detail(model: &LiveModel, page: &DetailPage, area: Rect, buffer: &mut Buffer) {
    draw_head(model, page, area, buffer);
    draw_tabs(page.tab, area, buffer);
    let height = page_height(model);
    let bands = [
        Constraint::Length(PAGE_TOP),
        Constraint::Fill(1),
        Constraint::Length(1),
    ];
    let [_, inner, foot] = Layout::vertical(bands).areas(area);
    let is_list = page.tab == DetailTab::Snapshots && page.diff.is_none();
    let content = match &page.diff {
        Some((_, diff)) => diff.as_ref(),
        None => page.content.as_ref(),
    };
    match content {
        None => draw_line(buffer, inner, 0, &[("reading…", DIM)]),
        Some(content) if is_list && !content.snapshots.is_empty() => {
            let room = usize::from(area.width).saturating_sub(2);
            let lines = content.snapshots.iter().map(|shown| cut(&shown.line, room));
            let list = List::new(lines)
                .highlight_symbol("> ")
                .highlight_spacing(HighlightSpacing::Always)
                .highlight_style(CHOSEN);
            let mut state = ListState::default().with_selected(Some(page.chosen));
            StatefulWidget::render(list, inner, buffer, &mut state);
        }
        Some(_) => {
            let lines = page_lines(model, page);
            let top = page.scroll.min(lines.len().saturating_sub(height));
            let shown = lines.into_iter().skip(top).take(height).map(|line| {
                let style = match &page.diff {
                    Some(_) => diff_style(&line),
                    None => PLAIN,
                };
                Line::styled(line, style)
            });
            Paragraph::new(Text::from_iter(shown)).render(inner, buffer);
        }
    }
    let keys = keys_line(model, page, is_list);
    draw_line(buffer, foot, 0, &[(&keys, BOLD)]);
}

fn draw_head(model: &LiveModel, page: &DetailPage, area: Rect, buffer: &mut Buffer) {
    let Some(row) = model.row(&page.key) else {
        let path = escape_to_one_line(&page.key.worktree.display().to_string());
        let parts = [(path.as_str(), BOLD), ("  no longer watched", PLAIN)];
        return draw_line(buffer, area, 0, &parts);
    };
    let rank = AttentionRank::from_row(row);
    let state = format!("{} {}", choose_sign(rank), state_of(row));
    let mut about = format!("  {}", escape_to_one_line(&row.spec));
    if let Some(session) = &row.session {
        about.push_str(&format!("  session {}", session_text(model, row)));
        if let Some(agent) = &session.agent {
            about.push_str(&format!(" of {}", escape_to_one_line(agent)));
        }
    }
    let room = usize::from(area.width).saturating_sub(state.chars().count() + 2);
    let path = cut_path(&worktree_text(model, row), "", room.max(12));
    let parts = [
        (state.trim_start(), rank_style(rank)),
        ("  ", PLAIN),
        (&path, BOLD),
        (&about, PLAIN),
    ];
    draw_line(buffer, area, 0, &parts);
}

fn draw_tabs(open: DetailTab, area: Rect, buffer: &mut Buffer) {
    let names = DetailTab::ALL.into_iter().enumerate().map(|(at, tab)| {
        let (number, name) = (at + 1, tab.as_str());
        match tab == open {
            true => (format!("[{number} {name}] "), BOLD),
            false if area.width < 60 => (format!("{number} "), DIM),
            false => (format!(" {number} {name}  "), DIM),
        }
    });
    let names: Vec<(String, Style)> = names.collect();
    let parts: Vec<(&str, Style)> = names
        .iter()
        .map(|(name, style)| (name.as_str(), *style))
        .collect();
    draw_line(buffer, area, 1, &parts);
    let rule = Block::new().borders(Borders::TOP).border_style(DIM);
    rule.render(area.inner(Margin::new(0, 2)), buffer);
}

fn diff_style(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => PLAIN.fg(Color::Green),
        Some(b'-') => PLAIN.fg(Color::Red),
        Some(b'@') => DIM,
        _ => PLAIN,
    }
}

fn keys_line(model: &LiveModel, page: &DetailPage, is_list: bool) -> String {
    match (&model.busy, &page.diff) {
        (Some(busy), _) => format!("{busy}: being done…"),
        (None, Some((snapshot, _))) => {
            format!("{} · a act · Esc back", escape_to_one_line(&snapshot.id))
        }
        (None, None) if is_list => {
            "Enter shows the difference · a act · Tab next page · Esc back".into()
        }
        (None, None) if page.follow => {
            "follows the end · ↑ stops that · a act · Tab next page · Esc back".into()
        }
        (None, None) => "↑↓ scroll · G to the end · a act · Tab next page · Esc back".into(),
    }
}
