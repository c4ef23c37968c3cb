//! Updates the view after a key or a fact, and requests effects. Pure.

use crossterm::event::KeyCode;

use super::deed::{list_deeds, no_deeds};
use super::input::{LiveEffect, LiveInput};
use super::live_data::{DetailTab, LiveRowKey, PlannedDeed};
use super::model::{DetailPage, FILTERS, ListOrder, LiveModel, LiveOverlay};
use super::update_detail::{chosen_snapshot, detail_key, take_diff, take_tab};
use crate::overview::StatusRow;

/// The signal that Ctrl-C stands for.
const INTERRUPTED: i32 = 2;
/// Characters that may be searched for.
const SEARCH: usize = 200;
/// The first line of the list on the screen, below the summary and the heads.
pub const LIST_TOP: u16 = 2;

/// Takes something that happened.
pub fn update_model(model: &mut LiveModel, input: LiveInput) -> Vec<LiveEffect> {
    match input {
        LiveInput::Key(key) => return handle_key(model, key),
        LiveInput::Click(line) => return handle_click(model, line),
        LiveInput::Interrupted => return vec![LiveEffect::Quit(INTERRUPTED)],
        LiveInput::Suspended => return vec![LiveEffect::Suspend],
        LiveInput::Resized(columns, rows) => {
            model.size = (columns, rows);
            model.keep_in_sight();
            return read_rows(model);
        }
        LiveInput::TimePassed(now) => model.now = now,
        LiveInput::Rows(rows, notes) => {
            model.store_error = None;
            model.notes = notes;
            model.take_rows(rows);
            return read_rows(model);
        }
        LiveInput::StoreFailed(why) => model.store_error = Some(why),
        LiveInput::Session(key, live) => {
            model.sessions.insert(key.clone(), live);
            let is_it = |row: &&mut StatusRow| {
                let is_same = row.worktree == key.worktree && row.spec == key.spec;
                is_same && row.session.is_some() && row.seen.is_none()
            };
            if let Some(row) = model.rows.iter_mut().find(is_it) {
                row.live = Some(live);
                model.arrange();
            }
        }
        LiveInput::Facts(key, facts) => {
            model.facts.insert(key, facts);
        }
        LiveInput::Tab(key, tab, content) => take_tab(model, &key, tab, content),
        LiveInput::Diff(of, content) => take_diff(model, &of, content),
        LiveInput::Prepared(found) => {
            // A person who went elsewhere meanwhile does not want it any more.
            if matches!(model.overlay, Some(LiveOverlay::Reading(_))) {
                model.overlay = Some(match found {
                    Ok(deed) => LiveOverlay::Confirm(Box::new(deed), 0),
                    Err(why) => LiveOverlay::Message("nothing was done".into(), vec![why], 0),
                });
            }
        }
        LiveInput::Performed(name, code, lines) => {
            model.busy = None;
            let title = format!("{name}: exit code {code}");
            model.overlay = Some(LiveOverlay::Message(title, lines, 0));
        }
        LiveInput::DeedsAllowed(why) => model.no_deeds = why,
        LiveInput::Continued => {}
        LiveInput::Ended(signal) => return vec![LiveEffect::Quit(signal)],
    }
    Vec::new()
}

/// Requests the facts for the rows on the screen.
fn read_rows(model: &LiveModel) -> Vec<LiveEffect> {
    vec![LiveEffect::ReadRows(model.queries())]
}

fn handle_key(model: &mut LiveModel, key: KeyCode) -> Vec<LiveEffect> {
    if model.overlay.is_some() {
        return overlay_key(model, key);
    }
    if model.typing {
        return search_key(model, key);
    }
    match key {
        KeyCode::Char('?') => model.overlay = Some(LiveOverlay::Help),
        KeyCode::Char('a') => return open_menu(model),
        KeyCode::Char('q') if model.detail.is_none() => return vec![LiveEffect::Quit(0)],
        _ if model.detail.is_some() => return detail_key(model, key),
        _ => return list_key(model, key),
    }
    Vec::new()
}

fn list_key(model: &mut LiveModel, key: KeyCode) -> Vec<LiveEffect> {
    match key {
        KeyCode::Enter | KeyCode::Right => return open_detail(model),
        KeyCode::Char('/') => model.typing = true,
        KeyCode::Char('s') => {
            let at = ListOrder::ALL
                .iter()
                .position(|order| *order == model.sort)
                .unwrap_or(0);
            model.sort = ListOrder::ALL[(at + 1) % ListOrder::ALL.len()];
            model.arrange();
        }
        KeyCode::Char(c @ '1'..='5') => {
            model.sort = ListOrder::ALL[usize::from(c as u8 - b'1')];
            model.arrange();
        }
        KeyCode::Char('f') => {
            model.filter = (model.filter + 1) % FILTERS.len();
            model.arrange();
        }
        KeyCode::Esc => {
            model.search.clear();
            model.filter = 0;
            model.arrange();
        }
        key => {
            if let Some(to) = move_by_key(
                key,
                model.selected_at().unwrap_or(0),
                model.order.len(),
                model.list_height(),
            ) {
                select_row(model, to);
            }
        }
    }
    read_rows(model)
}

/// Chooses the row that was clicked, or opens it where it is chosen.
fn handle_click(model: &mut LiveModel, line: u16) -> Vec<LiveEffect> {
    let rows = LIST_TOP..LIST_TOP + u16::try_from(model.list_height()).unwrap_or(u16::MAX);
    if model.overlay.is_some() {
        return overlay_key(model, KeyCode::Null);
    }
    if model.detail.is_some() || model.typing || !rows.contains(&line) {
        return Vec::new();
    }
    let at = usize::from(line - LIST_TOP) + model.top;
    if model.selected_at() == Some(at) {
        return open_detail(model);
    }
    select_row(model, at);
    read_rows(model)
}

/// Moves within a list of so many lines by a key; `None` if the key does not move.
pub fn move_by_key(key: KeyCode, at: usize, lines: usize, page: usize) -> Option<usize> {
    let last = lines.saturating_sub(1);
    Some(match key {
        KeyCode::Up | KeyCode::Char('k') => at.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => (at + 1).min(last),
        KeyCode::PageUp => at.saturating_sub(page),
        KeyCode::PageDown | KeyCode::Char(' ') => (at + page).min(last),
        KeyCode::Home | KeyCode::Char('g') => 0,
        KeyCode::End | KeyCode::Char('G') => last,
        _ => return None,
    })
}

fn select_row(model: &mut LiveModel, at: usize) {
    if let Some(row) = model.order.get(at) {
        model.selected = Some(LiveRowKey::from_row(&model.rows[*row]));
        model.keep_in_sight();
    }
}

fn search_key(model: &mut LiveModel, key: KeyCode) -> Vec<LiveEffect> {
    match key {
        KeyCode::Char(c) if model.search.chars().count() < SEARCH => model.search.push(c),
        KeyCode::Backspace => {
            model.search.pop();
        }
        KeyCode::Enter => model.typing = false,
        KeyCode::Esc => {
            model.typing = false;
            model.search.clear();
        }
        KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => {
            model.typing = false;
            return list_key(model, key);
        }
        _ => {}
    }
    model.arrange();
    read_rows(model)
}

fn open_detail(model: &mut LiveModel) -> Vec<LiveEffect> {
    let Some(key) = model
        .selected
        .clone()
        .filter(|key| model.row(key).is_some())
    else {
        return Vec::new();
    };
    let tab = DetailTab::default();
    model.detail = Some(DetailPage {
        key: key.clone(),
        tab,
        content: None,
        scroll: 0,
        follow: true,
        chosen: 0,
        diff: None,
    });
    vec![LiveEffect::ReadTab(Some((key, tab)))]
}

fn open_menu(model: &mut LiveModel) -> Vec<LiveEffect> {
    let key = model
        .detail
        .as_ref()
        .map(|detail| detail.key.clone())
        .or_else(|| model.selected.clone());
    let Some(row) = key.as_ref().and_then(|key| model.row(key)) else {
        return Vec::new();
    };
    let message = |lines| Some(LiveOverlay::Message("nothing to do".into(), lines, 0));
    let overlay = if let Some(why) = &model.no_deeds {
        message(vec![why.clone()])
    } else if let Some(busy) = &model.busy {
        message(vec![format!("'{busy}' is being done; wait for its end.")])
    } else {
        match list_deeds(model, row, chosen_snapshot(model)) {
            found if found.is_empty() => message(no_deeds(row)),
            found => Some(LiveOverlay::Menu(found, 0)),
        }
    };
    model.overlay = overlay;
    Vec::new()
}

fn overlay_key(model: &mut LiveModel, key: KeyCode) -> Vec<LiveEffect> {
    let page = usize::from(model.size.1).saturating_sub(6).max(1);
    match model.overlay.take() {
        Some(LiveOverlay::Menu(found, at)) => match key {
            KeyCode::Esc | KeyCode::Char('q') | KeyCode::Left => {}
            KeyCode::Enter | KeyCode::Right => return confirm_deed(model, found, at),
            KeyCode::Char(c @ '1'..='9') if usize::from(c as u8 - b'1') < found.len() => {
                return confirm_deed(model, found, usize::from(c as u8 - b'1'));
            }
            key => {
                let at = move_by_key(key, at, found.len(), page).unwrap_or(at);
                model.overlay = Some(LiveOverlay::Menu(found, at));
            }
        },
        Some(LiveOverlay::Confirm(deed, scroll)) => match key {
            KeyCode::Char('y' | 'Y') => {
                model.busy = Some(deed.name.clone());
                return vec![LiveEffect::Perform(*deed)];
            }
            KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => {}
            // Enter is no answer: whoever presses it once too often has nothing done.
            key => {
                let scroll =
                    move_by_key(key, scroll, deed.says.len() + page, page).unwrap_or(scroll);
                model.overlay = Some(LiveOverlay::Confirm(deed, scroll));
            }
        },
        Some(LiveOverlay::Message(title, lines, scroll)) => {
            match move_by_key(key, scroll, lines.len(), page) {
                Some(scroll) if lines.len() > page => {
                    model.overlay = Some(LiveOverlay::Message(title, lines, scroll))
                }
                _ => {}
            }
        }
        // Any key closes these.
        Some(LiveOverlay::Help | LiveOverlay::Reading(_)) | None => {}
    }
    Vec::new()
}

fn confirm_deed(model: &mut LiveModel, mut deeds: Vec<PlannedDeed>, at: usize) -> Vec<LiveEffect> {
    let deed = deeds.swap_remove(at);
    if deed.means.is_some() {
        model.overlay = Some(LiveOverlay::Confirm(Box::new(deed), 0));
        return Vec::new();
    }
    let key = deed.key.clone();
    model.overlay = Some(LiveOverlay::Reading(deed.name));
    vec![LiveEffect::ReadTrust(key)]
}
