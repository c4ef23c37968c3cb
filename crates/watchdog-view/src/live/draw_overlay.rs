//! Draws the overlays above the list or the detail: the keys, the menu, a confirmation, a message.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Clear, Padding, Paragraph, Widget as _};
use unicode_width::UnicodeWidthStr as _;

use super::model::{LiveModel, LiveOverlay};
use super::paper::{BOLD, CHOSEN, DIM, PLAIN};
use super::update_detail::broken_lines;
use crate::wrapped_text::cut;

/// A box is no wider than this.
const WIDEST: u16 = 100;

const HELP: &[&str] = &[
    "↑ ↓ PgUp PgDn Home End   move; j k g G as well",
    "Enter                    open the chosen worktree; Esc goes back",
    "a                        act: judge, rescue, restore, end a loop, reset, trust",
    "/                        search paths, specs, branches and states",
    "f                        show only: what needs you, running, stalled, …",
    "s, 1 to 5                sort by attention, worktree, state, newest, session",
    "Tab, ← →, 1 to 5         the pages of a worktree: timeline, output, …",
    "q, Ctrl-C                quit; Ctrl-Z stops until fg",
    "",
    "! needs you   * running   ~ interrupted   - goes on   + complete   x gone",
    "– is unknown or not there, ? could not be read: neither is zero.",
];

/// Draws what stands above, where something does.
pub fn draw_overlay(model: &LiveModel, area: Rect, buffer: &mut Buffer) {
    const ANY_KEY: &str = "any key closes";
    let Some(overlay) = &model.overlay else {
        return;
    };
    let plain = |line: &str| (line.to_owned(), PLAIN);
    let (title, lines, scroll, keys) = match overlay {
        LiveOverlay::Help => {
            let lines = HELP.iter().map(|line| plain(line)).collect();
            ("keys".to_owned(), lines, 0, ANY_KEY)
        }
        LiveOverlay::Reading(name) => {
            let lines = vec![plain("reading which commands it names…")];
            (name.clone(), lines, 0, ANY_KEY)
        }
        LiveOverlay::Message(title, text, scroll) => {
            let lines = text.iter().map(|line| plain(line)).collect();
            (title.clone(), lines, *scroll, ANY_KEY)
        }
        LiveOverlay::Menu(deeds, chosen) => {
            let line = |(at, name): (usize, &String)| match at == *chosen {
                true => (format!("> {} {name}", at + 1), CHOSEN),
                false => (format!("  {} {name}", at + 1), PLAIN),
            };
            let names = deeds.iter().map(|deed| &deed.name);
            let mut lines: Vec<_> = names.enumerate().map(line).collect();
            let command = deeds.get(*chosen).map(|deed| deed.command.clone());
            lines.extend([plain(""), (command.unwrap_or_default(), DIM)]);
            let keys = "Enter chooses, and asks before anything is done · Esc";
            ("what to do".to_owned(), lines, 0, keys)
        }
        LiveOverlay::Confirm(deed, scroll) => {
            let mut lines: Vec<_> = deed.says.iter().map(|line| plain(line)).collect();
            let command = format!("  {}", deed.command);
            lines.extend([plain(""), ("The same as:".into(), DIM), (command, BOLD)]);
            let keys = "y does it · n or Esc cancels";
            (format!("{}?", deed.name), lines, *scroll, keys)
        }
    };
    draw_box(area, buffer, &title, &lines, scroll, keys);
}

/// A box in the middle: a title, lines that are broken to fit, and the keys below them.
fn draw_box(
    area: Rect,
    buffer: &mut Buffer,
    title: &str,
    text: &[(String, Style)],
    scroll: usize,
    keys: &str,
) {
    let width = area.width.min(WIDEST);
    let room = usize::from(width).saturating_sub(4);
    let lines: Vec<Line> = text
        .iter()
        .flat_map(|(text, style)| {
            let lines = broken_lines(text, room).into_iter();
            lines.map(|line| Line::styled(line, *style))
        })
        .collect();
    let shown = lines.len().min(usize::from(area.height) - 3).max(1);
    let height = u16::try_from(shown + 3)
        .unwrap_or(u16::MAX)
        .min(area.height);
    let box_area = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    let top = scroll.min(lines.len().saturating_sub(shown));
    let more = if top + shown < lines.len() {
        "↓ more · "
    } else {
        ""
    };
    let foot = Line::styled(cut(&format!("{more}{keys}"), room), BOLD);
    let text = lines.into_iter().skip(top).take(shown).chain([foot]);
    let head = cut(&format!("─ {title} "), usize::from(width).saturating_sub(3));
    Clear.render(box_area, buffer);
    // Half of a character that takes two columns cannot stay.
    for y in box_area.top()..box_area.bottom() {
        if let Some(before) = box_area.x.checked_sub(1).map(|x| &mut buffer[(x, y)])
            && before.symbol().width() > 1
        {
            before.reset();
        }
    }
    let block = Block::bordered()
        .border_style(DIM)
        .padding(Padding::horizontal(1))
        .title(Line::styled(head, BOLD));
    Paragraph::new(Text::from_iter(text))
        .block(block)
        .render(box_area, buffer);
}
