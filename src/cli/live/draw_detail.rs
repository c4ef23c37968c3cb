//! One worktree in detail: a head, the names of the pages, and the page.

use super::cells::{session_text, sign, state_of, worktree_text};
use super::live_data::DetailTab;
use super::model::DetailPage;
use super::paper::{Ink, LivePaper};
use super::update_detail::{PAGE_TOP, page_height, page_lines};
use crate::cli::wrapped_text::without_middle;
use crate::report::attention::AttentionRank;
use watchdog_facts::display::escape_to_one_line;

/// Draws the detail.
pub fn draw_detail(paper: &mut LivePaper<'_>) {
    let model = paper.model;
    let Some(page) = &model.detail else { return };
    draw_head(paper, page);
    draw_tabs(paper, page.tab);
    let height = page_height(model);
    let is_list = page.tab == DetailTab::Snapshots && page.diff.is_none();
    let reading = match &page.diff {
        Some((_, diff)) => diff.is_none(),
        None => page.content.is_none(),
    };
    if reading {
        paper.line(PAGE_TOP, &[("reading…", Ink::Dim)]);
    } else if let Some(content) = page
        .content
        .as_ref()
        .filter(|content| is_list && !content.snapshots.is_empty())
    {
        let top = (page.chosen + 1).saturating_sub(height);
        for (line, (at, snapshot)) in content
            .snapshots
            .iter()
            .enumerate()
            .skip(top)
            .take(height)
            .enumerate()
        {
            let mark = if at == page.chosen { "> " } else { "  " };
            paper.line(
                PAGE_TOP + line,
                &[(mark, Ink::Bold), (&snapshot.line, Ink::Plain)],
            );
            if at == page.chosen {
                paper.choose(PAGE_TOP + line);
            }
        }
    } else {
        let lines = page_lines(model, page);
        let top = page.scroll.min(lines.len().saturating_sub(height));
        for (at, line) in lines.iter().skip(top).take(height).enumerate() {
            let ink = if page.diff.is_some() {
                diff_ink(line)
            } else {
                Ink::Plain
            };
            paper.line(PAGE_TOP + at, &[(line, ink)]);
        }
    }
    draw_keys(paper, page, is_list);
}

fn draw_head(paper: &mut LivePaper<'_>, page: &DetailPage) {
    let model = paper.model;
    let Some(row) = model.row(&page.key) else {
        let path = escape_to_one_line(&page.key.worktree.display().to_string());
        paper.line(
            0,
            &[(&path, Ink::Bold), ("  no longer watched", Ink::Plain)],
        );
        return;
    };
    let rank = AttentionRank::of(row);
    let state = format!("{} {}", sign(rank), state_of(row));
    let mut rest = format!("  {}", escape_to_one_line(&row.spec));
    if row.session.is_some() {
        rest.push_str(&format!("  session {}", session_text(model, row)));
        if let Some(agent) = row
            .session
            .as_ref()
            .and_then(|session| session.agent.as_ref())
        {
            rest.push_str(&format!(" of {}", escape_to_one_line(agent)));
        }
    }
    let room = paper.width().saturating_sub(state.chars().count() + 2);
    let path = without_middle(&worktree_text(model, row), room.max(12));
    paper.line(
        0,
        &[
            (state.trim_start(), Ink::Ranked(rank)),
            ("  ", Ink::Plain),
            (&path, Ink::Bold),
            (&rest, Ink::Plain),
        ],
    );
}

fn draw_tabs(paper: &mut LivePaper<'_>, open: DetailTab) {
    let narrow = paper.width() < 60;
    let names: Vec<(String, Ink)> = DetailTab::ALL
        .into_iter()
        .enumerate()
        .map(|(at, tab)| {
            let name = match tab == open {
                true => format!("[{} {}] ", at + 1, tab.as_str()),
                false if narrow => format!("{} ", at + 1),
                false => format!(" {} {}  ", at + 1, tab.as_str()),
            };
            (name, if tab == open { Ink::Bold } else { Ink::Dim })
        })
        .collect();
    let parts: Vec<(&str, Ink)> = names
        .iter()
        .map(|(name, ink)| (name.as_str(), *ink))
        .collect();
    paper.line(1, &parts);
    let rule = "─".repeat(paper.width());
    paper.line(2, &[(&rule, Ink::Dim)]);
}

fn diff_ink(line: &str) -> Ink {
    match line.as_bytes().first() {
        Some(b'+') => Ink::Added,
        Some(b'-') => Ink::Removed,
        Some(b'@') => Ink::Dim,
        _ => Ink::Plain,
    }
}

fn draw_keys(paper: &mut LivePaper<'_>, page: &DetailPage, is_list: bool) {
    let model = paper.model;
    let keys = match (&model.busy, &page.diff) {
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
    };
    paper.line(paper.height() - 1, &[(&keys, Ink::Bold)]);
}
