//! The keys of the detail of one worktree, and what is read for it. Pure.

use crossterm::event::KeyCode;

use super::input::LiveEffect;
use super::live_data::{DetailTab, LiveRowKey, SnapshotChoice, TabContent};
use super::model::{DetailPage, LiveModel};
use super::update::move_by_key;
use crate::wrapped_text::break_line;

/// Lines above the text of a page: the head, the names of the pages, and a rule.
pub const PAGE_TOP: u16 = 3;

/// Lines of a page that fit on the screen.
pub fn page_height(model: &LiveModel) -> usize {
    model.size.1.saturating_sub(PAGE_TOP + 1).max(1).into()
}

/// The lines of a page as they stand on the screen, broken where they are longer than it is wide.
pub fn page_lines(model: &LiveModel, page: &DetailPage) -> Vec<String> {
    let content = match &page.diff {
        Some((_, diff)) => diff.as_ref(),
        None => page.content.as_ref(),
    };
    let room = usize::from(model.size.0).max(8);
    content
        .into_iter()
        .flat_map(|content| &content.lines)
        .flat_map(|line| broken_lines(line, room))
        .collect()
}

/// A line as lines of at most so many columns: broken between words, and within what is longer than a line. A command to paste is no
/// exception here, as nobody pastes from a view that moves.
pub fn broken_lines(line: &str, room: usize) -> Vec<String> {
    break_line(line, room, 2)
}

/// The snapshot that is chosen on the page of snapshots.
pub fn chosen_snapshot(model: &LiveModel) -> Option<&SnapshotChoice> {
    let page = model
        .detail
        .as_ref()
        .filter(|page| page.tab == DetailTab::Snapshots)?;
    match &page.diff {
        Some((snapshot, _)) => Some(snapshot),
        None => page.content.as_ref()?.snapshots.get(page.chosen),
    }
}

/// Takes a page that was read, where it is still wanted.
pub fn take_tab(model: &mut LiveModel, key: &LiveRowKey, tab: DetailTab, content: TabContent) {
    let height = page_height(model);
    let Some(mut page) = model.detail.take() else {
        return;
    };
    if page.key == *key && page.tab == tab {
        page.chosen = page.chosen.min(content.snapshots.len().saturating_sub(1));
        page.content = Some(content);
        if page.follow && page.diff.is_none() {
            page.scroll = page_lines(model, &page).len().saturating_sub(height);
        }
    }
    model.detail = Some(page);
}

/// Takes the difference that a snapshot makes, where it is still wanted.
pub fn take_diff(model: &mut LiveModel, of: &SnapshotChoice, content: TabContent) {
    if let Some((chosen, diff)) = model.detail.as_mut().and_then(|page| page.diff.as_mut())
        && chosen == of
    {
        *diff = Some(content);
    }
}

/// Takes a key.
pub fn detail_key(model: &mut LiveModel, key: KeyCode) -> Vec<LiveEffect> {
    let Some(mut page) = model.detail.take() else {
        return Vec::new();
    };
    let height = page_height(model);
    let mut effects = Vec::new();
    match key {
        KeyCode::Esc | KeyCode::Char('q') if page.diff.is_some() => {
            page.diff = None;
            page.scroll = 0;
        }
        KeyCode::Esc | KeyCode::Char('q') => return vec![LiveEffect::ReadTab(None)],
        KeyCode::Right | KeyCode::Left => {
            let count = DetailTab::ALL.len();
            let at = DetailTab::ALL
                .iter()
                .position(|tab| *tab == page.tab)
                .unwrap_or(0);
            let next = if key == KeyCode::Right {
                at + 1
            } else {
                at + count - 1
            } % count;
            effects = open_tab(&mut page, DetailTab::ALL[next]);
        }
        KeyCode::Char(c @ '1'..='5') => {
            effects = open_tab(&mut page, DetailTab::ALL[usize::from(c as u8 - b'1')])
        }
        KeyCode::Char('F') => page.follow = !page.follow,
        KeyCode::Enter if page.tab == DetailTab::Snapshots && page.diff.is_none() => {
            let chosen = page
                .content
                .as_ref()
                .and_then(|content| content.snapshots.get(page.chosen))
                .cloned();
            if let Some(snapshot) = chosen {
                page.diff = Some((snapshot.clone(), None));
                page.scroll = 0;
                effects.push(LiveEffect::ReadDiff(snapshot));
            }
        }
        key if page.tab == DetailTab::Snapshots && page.diff.is_none() => {
            let count = page
                .content
                .as_ref()
                .map_or(0, |content| content.snapshots.len());
            page.chosen = move_by_key(key, page.chosen, count, height).unwrap_or(page.chosen);
        }
        key => {
            let last = page_lines(model, &page).len().saturating_sub(height);
            if let Some(to) = move_by_key(key, page.scroll.min(last), last + 1, height) {
                page.scroll = to;
                page.follow = to == last;
            }
        }
    }
    if page.follow && page.diff.is_none() {
        page.scroll = page_lines(model, &page).len().saturating_sub(height);
    }
    model.detail = Some(page);
    effects
}

fn open_tab(page: &mut DetailPage, tab: DetailTab) -> Vec<LiveEffect> {
    // A page that is read from its beginning does not begin at its end.
    let follow = matches!(tab, DetailTab::Timeline | DetailTab::Output);
    *page = DetailPage {
        key: page.key.clone(),
        tab,
        content: None,
        scroll: 0,
        follow,
        chosen: 0,
        diff: None,
    };
    vec![LiveEffect::ReadTab(Some((page.key.clone(), tab)))]
}
