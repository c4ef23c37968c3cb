//! What stands above the list or the detail: the keys, the menu, a confirmation, a message.

use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr as _;

use super::model::LiveOverlay;
use super::paper::{Ink, LivePaper};
use super::update_detail::broken_lines;
use crate::cli::wrapped_text::cut;

/// A box is no wider than this.
const WIDEST: usize = 100;

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
pub fn draw_overlay(paper: &mut LivePaper<'_>) {
    let keys_of_message = "any key closes";
    match &paper.model.overlay {
        None => {}
        Some(LiveOverlay::Help) => {
            let lines: Vec<(String, Ink)> = HELP
                .iter()
                .map(|line| ((*line).to_owned(), Ink::Plain))
                .collect();
            draw_box(paper, "keys", &lines, 0, keys_of_message);
        }
        Some(LiveOverlay::Reading(name)) => {
            draw_box(
                paper,
                name,
                &[("reading which commands it names…".to_owned(), Ink::Plain)],
                0,
                keys_of_message,
            );
        }
        Some(LiveOverlay::Message(title, text, scroll)) => {
            let lines: Vec<(String, Ink)> =
                text.iter().map(|line| (line.clone(), Ink::Plain)).collect();
            draw_box(paper, title, &lines, *scroll, keys_of_message);
        }
        Some(LiveOverlay::Menu(found, chosen)) => {
            let mut lines = Vec::new();
            for (at, deed) in found.iter().enumerate() {
                let mark = if at == *chosen { '>' } else { ' ' };
                lines.push((
                    format!("{mark} {} {}", at + 1, deed.name),
                    if at == *chosen {
                        Ink::Chosen
                    } else {
                        Ink::Plain
                    },
                ));
            }
            let command = found
                .get(*chosen)
                .map(|deed| deed.command.clone())
                .unwrap_or_default();
            lines.push((String::new(), Ink::Plain));
            lines.push((command, Ink::Dim));
            draw_box(
                paper,
                "what to do",
                &lines,
                0,
                "Enter chooses, and asks before anything is done · Esc",
            );
        }
        Some(LiveOverlay::Confirm(deed, scroll)) => {
            let mut lines: Vec<(String, Ink)> = deed
                .says
                .iter()
                .map(|line| (line.clone(), Ink::Plain))
                .collect();
            lines.push((String::new(), Ink::Plain));
            lines.push(("The same as:".into(), Ink::Dim));
            lines.push((format!("  {}", deed.command), Ink::Bold));
            draw_box(
                paper,
                &format!("{}?", deed.name),
                &lines,
                *scroll,
                "y does it · n or Esc cancels",
            );
        }
    }
}

/// A box in the middle: a title, lines that are broken to fit, and the keys below them.
fn draw_box(
    paper: &mut LivePaper<'_>,
    title: &str,
    text: &[(String, Ink)],
    scroll: usize,
    keys: &str,
) {
    let width = paper.width().min(WIDEST);
    let room = width.saturating_sub(4);
    let lines: Vec<(String, Ink)> = text
        .iter()
        .flat_map(|(line, ink)| {
            broken_lines(line, room)
                .into_iter()
                .map(|line| (line, *ink))
        })
        .collect();
    let height = (lines.len() + 3).min(paper.height());
    let (x, y) = ((paper.width() - width) / 2, (paper.height() - height) / 2);
    let of = |value: usize| u16::try_from(value).unwrap_or(u16::MAX);
    paper.clear(Rect {
        x: paper.area.x + of(x),
        y: paper.area.y + of(y),
        width: of(width),
        height: of(height),
    });
    let shown = height.saturating_sub(3).max(1);
    let top = scroll.min(lines.len().saturating_sub(shown));
    let left = paper.area.x + of(x);
    let head = cut(&format!("┌─ {title} "), width.saturating_sub(2));
    let rule = "─".repeat(width.saturating_sub(1 + head.width()));
    paper.line_within(left, y, width - 1, &[(&head, Ink::Bold), (&rule, Ink::Dim)]);
    paper.line_within(left + of(width - 1), y, 1, &[("┐", Ink::Dim)]);
    for (at, (line, ink)) in lines.iter().skip(top).take(shown).enumerate() {
        paper.line_within(left, y + 1 + at, 2, &[("│ ", Ink::Dim)]);
        paper.line_within(left + 2, y + 1 + at, room, &[(line, *ink)]);
        paper.line_within(left + of(width - 1), y + 1 + at, 1, &[("│", Ink::Dim)]);
    }
    let more = if top + shown < lines.len() {
        "↓ more · "
    } else {
        ""
    };
    let foot = format!("{more}{keys}");
    paper.line_within(left, y + height - 2, 2, &[("│ ", Ink::Dim)]);
    paper.line_within(left + 2, y + height - 2, room, &[(&foot, Ink::Bold)]);
    paper.line_within(left + of(width - 1), y + height - 2, 1, &[("│", Ink::Dim)]);
    let rule = "─".repeat(width.saturating_sub(2));
    paper.line_within(
        left,
        y + height - 1,
        width - 1,
        &[("└", Ink::Dim), (&rule, Ink::Dim)],
    );
    paper.line_within(left + of(width - 1), y + height - 1, 1, &[("┘", Ink::Dim)]);
}
