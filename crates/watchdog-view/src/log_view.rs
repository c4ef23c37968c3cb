//! Shows the events of a session as lines for a person: tools folded, secrets masked, fit for a
//! terminal. Pure.

use std::borrow::Cow;

use anstyle::{AnsiColor, Style};

use crate::amounts::{format_size, group_thousands};
use crate::wrapped_text::cut;
use watchdog_facts::context::SessionUsage;
use watchdog_facts::display::{escape_for_display, escape_to_one_line, plural};
use watchdog_facts::secret_lines::LineMasker;
use watchdog_facts::secret_shapes::mask_secrets;
use watchdog_facts::session_event::SessionEvent;

/// Lines of an error, and of a message of somebody else, that are shown.
const SHOWN: usize = 3;
/// A line of a narrower terminal wraps.
const NARROWEST: usize = 40;

/// Turns events into lines.
#[derive(Debug, Default)]
pub struct LogView {
    /// How wide one line about a tool may be.
    width: Option<usize>,
    masker: LineMasker,
    /// The end of the agent's text, which has no line feed yet.
    unended: String,
    /// The agent's last text.
    last_text: String,
    /// Whether the line before is of a tool or a note, and not of a text.
    behind_note: bool,
}

impl LogView {
    /// A view for lines of this width.
    pub fn new(width: Option<usize>) -> Self {
        LogView {
            width: width.map(|width| width.max(NARROWEST)),
            ..LogView::default()
        }
    }

    /// The lines of one event.
    pub fn lines(&mut self, event: &SessionEvent) -> Vec<String> {
        let mut lines = match event {
            SessionEvent::SaidPart { .. } => Vec::new(),
            _ => self.take_unended(),
        };
        match event {
            SessionEvent::Said { text } => {
                if std::mem::take(&mut self.behind_note) {
                    lines.push(String::new());
                }
                self.last_text.clear();
                self.said_more(&mask_secrets(text), &mut lines);
            }
            SessionEvent::SaidPart { text } => self.said_more(text, &mut lines),
            SessionEvent::Line { text } => {
                self.behind_note = false;
                lines.push(escape_for_display(&self.masker.mask(text)));
            }
            other => {
                self.behind_note = true;
                self.note(other, &mut lines);
            }
        }
        lines
    }

    /// The end of a text that nothing followed so far.
    pub fn take_unended(&mut self) -> Vec<String> {
        let begun_line = std::mem::take(&mut self.unended);
        if begun_line.is_empty() {
            Vec::new()
        } else {
            vec![escape_for_display(&self.masker.mask(&begun_line))]
        }
    }

    fn said_more(&mut self, text: &str, lines: &mut Vec<String>) {
        self.last_text.push_str(text);
        self.unended.push_str(text);
        if let Some(end) = self.unended.rfind('\n') {
            let begun_line = self.unended.split_off(end + 1);
            let whole = std::mem::replace(&mut self.unended, begun_line);
            lines.extend(
                whole
                    .lines()
                    .map(|line| escape_for_display(&self.masker.mask(line))),
            );
        }
    }

    fn note(&self, event: &SessionEvent, lines: &mut Vec<String>) {
        let dim = Style::new().dimmed();
        let warn = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
        let bad = Style::new().fg_color(Some(AnsiColor::Red.into()));
        match event {
            SessionEvent::Named { session_id } => {
                lines.push(format!("{dim}session {}{dim:#}", one_line(session_id)))
            }
            SessionEvent::Message { role, text } => lines.extend(cut_to_first_lines(
                text,
                &format!("{}: ", one_line(role)),
                dim,
            )),
            SessionEvent::Called { tool, input } => {
                let bold = Style::new().bold();
                let (tool, input) = (one_line(tool), one_line(input));
                let room = self.width.map_or(usize::MAX, |width| {
                    width.saturating_sub(tool.chars().count() + 4)
                });
                lines.push(
                    format!("> {bold}{tool}{bold:#}  {}", cut(&input, room))
                        .trim_end()
                        .to_owned(),
                );
            }
            SessionEvent::Returned {
                content,
                is_error: true,
                ..
            } => lines.extend(cut_to_first_lines(content, "failed: ", bad)),
            SessionEvent::Returned { content, .. } => {
                lines.push(format!("    {dim}{}{dim:#}", summarize_content(content)))
            }
            SessionEvent::Refused { tool } => lines.push(format!(
                "{warn}! the program refused {}{warn:#}",
                one_line(tool)
            )),
            SessionEvent::Retried { why } => lines.push(format!(
                "{warn}! the service is asked again: {}{warn:#}",
                one_line(why)
            )),
            SessionEvent::TaskBegan { what } => lines.push(format!(
                "{dim}+ in the background: {}{dim:#}",
                one_line(what)
            )),
            SessionEvent::TaskEnded { what } => lines.push(format!(
                "{dim}- ended in the background: {}{dim:#}",
                one_line(what)
            )),
            SessionEvent::Fault { message } => {
                lines.extend(cut_to_first_lines(message, "error: ", bad))
            }
            SessionEvent::Ended { how, error, usage } => {
                lines.push(format!(
                    "{dim}= {}{}{dim:#}",
                    one_line(how),
                    format_usage(usage)
                ));
                if let Some(error) = error
                    .as_ref()
                    .filter(|error| mask_secrets(error).trim() != self.last_text.trim())
                {
                    lines.extend(cut_to_first_lines(error, "error: ", bad));
                }
            }
            SessionEvent::Gap { bytes } => lines.push(format!(
                "{dim}... {} bytes are left out here{dim:#}",
                group_thousands(*bytes)
            )),
            SessionEvent::Unread { .. }
            | SessionEvent::Said { .. }
            | SessionEvent::SaidPart { .. }
            | SessionEvent::Line { .. } => {}
        }
    }
}

/// A text on one line, without secrets.
fn one_line(text: &str) -> String {
    escape_to_one_line(&mask_secrets(text))
}

/// The first lines of a text.
fn cut_to_first_lines(text: &str, lead: &str, style: Style) -> Vec<String> {
    let masked = mask_secrets(text);
    let all: Vec<&str> = masked.trim().lines().collect();
    let mut lines: Vec<String> = Vec::new();
    for (at, line) in all.iter().take(SHOWN).enumerate() {
        let lead: Cow<'_, str> = if at == 0 {
            lead.into()
        } else {
            " ".repeat(lead.chars().count()).into()
        };
        lines.push(format!(
            "    {style}{lead}{}{style:#}",
            escape_for_display(line)
        ));
    }
    if all.is_empty() {
        lines.push(format!(
            "    {style}{}{style:#}",
            lead.trim_end().trim_end_matches(':')
        ));
    }
    if all.len() > SHOWN {
        lines.push(format!(
            "    {style}... {} more{style:#}",
            plural((all.len() - SHOWN) as u64, "line")
        ));
    }
    lines
}

fn summarize_content(content: &str) -> String {
    match content.trim_end().lines().count() {
        0 => "no output".into(),
        lines => format!(
            "{}, {}",
            plural(lines as u64, "line"),
            format_size(content.len() as u64)
        ),
    }
}

fn format_usage(usage: &SessionUsage) -> String {
    let tokens = match (usage.input_tokens, usage.output_tokens) {
        (None, None) => None,
        (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
    };
    let parts = [
        usage.turns.map(|turns| plural(turns, "turn")),
        tokens.map(|tokens| format!("{} tokens", group_thousands(tokens))),
        usage.cost_usd.map(|cost| format!("${cost:.2}")),
    ];
    parts
        .into_iter()
        .flatten()
        .map(|part| format!(", {part}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: Option<usize>, events: &[SessionEvent]) -> Vec<String> {
        let mut view = LogView::new(width);
        let mut lines: Vec<String> = events.iter().flat_map(|event| view.lines(event)).collect();
        lines.extend(view.take_unended());
        lines
            .iter()
            .map(|line| anstream::adapter::strip_str(line).to_string())
            .collect()
    }

    fn new_text_event(text: &str) -> SessionEvent {
        SessionEvent::Said { text: text.into() }
    }

    fn returned(content: &str, is_error: bool) -> SessionEvent {
        SessionEvent::Returned {
            tool: None,
            content: content.into(),
            is_error,
        }
    }

    fn a_session() -> Vec<SessionEvent> {
        vec![
            SessionEvent::Message {
                role: "user".into(),
                text: "1\n2\n3\n4\n5".into(),
            },
            new_text_event("Let me look."),
            SessionEvent::Called {
                tool: "Bash".into(),
                input: "cargo test --all --no-fail-fast".into(),
            },
            returned("a\nb\n", false),
            returned("1\n2\n3\n4", true),
            SessionEvent::Unread {
                what: "news".into(),
            },
            new_text_event("All\ndone."),
            SessionEvent::Ended {
                how: "success".into(),
                error: None,
                usage: SessionUsage {
                    turns: Some(2),
                    input_tokens: Some(1200),
                    cost_usd: Some(0.125),
                    ..SessionUsage::default()
                },
            },
        ]
    }

    #[test]
    fn a_session_is_told_with_its_tools_folded() {
        let expected = [
            "    user: 1",
            "          2",
            "          3",
            "    ... 2 lines more",
            "",
            "Let me look.",
            "> Bash  cargo test --all --no-fail-fast",
            "    2 lines, 4 B",
            "    failed: 1",
            "            2",
            "            3",
            "    ... 1 line more",
            "",
            "All",
            "done.",
            "= success, 2 turns, 1,200 tokens, $0.12",
        ];
        assert_eq!(shown(None, &a_session()), expected);
        let call = [SessionEvent::Called {
            tool: "Bash".into(),
            input: "x".repeat(100),
        }];
        assert_eq!(shown(Some(50), &call)[0].chars().count(), 50);
    }

    #[test]
    fn text_parts_join_and_errors_appear_once() {
        let part = |text: &str| SessionEvent::SaidPart { text: text.into() };
        assert_eq!(
            shown(
                None,
                &[
                    new_text_event("a"),
                    part("ll "),
                    part("done\nnex"),
                    part("t")
                ]
            ),
            ["all done", "next"]
        );
        let ended = SessionEvent::Ended {
            how: "api_error".into(),
            error: Some("No credit".into()),
            usage: SessionUsage::default(),
        };
        assert_eq!(
            shown(None, &[new_text_event("No credit"), ended.clone()]),
            ["No credit", "= api_error"]
        );
        assert_eq!(
            shown(None, &[ended]),
            ["= api_error", "    error: No credit"]
        );
    }

    #[test]
    fn no_secret_and_no_control_is_shown() {
        let token = format!("{}{}", "ghp_", "a1B2".repeat(9));
        let bad = format!("\x1b]0;title\x07 \u{202e} {token}");
        let usage = SessionUsage::default();
        let events = [
            new_text_event(&bad),
            new_text_event(&format!("{}{}", &bad[..bad.len() - 8], "\n")),
            SessionEvent::SaidPart { text: bad.clone() },
            SessionEvent::Message {
                role: bad.clone(),
                text: bad.clone(),
            },
            SessionEvent::Called {
                tool: bad.clone(),
                input: bad.clone(),
            },
            returned(&bad, false),
            returned(&bad, true),
            SessionEvent::Named {
                session_id: bad.clone(),
            },
            SessionEvent::Refused { tool: bad.clone() },
            SessionEvent::Retried { why: bad.clone() },
            SessionEvent::TaskBegan { what: bad.clone() },
            SessionEvent::TaskEnded { what: bad.clone() },
            SessionEvent::Fault {
                message: bad.clone(),
            },
            SessionEvent::Ended {
                how: bad.clone(),
                error: Some(format!("{bad}.")),
                usage,
            },
            SessionEvent::Line { text: bad.clone() },
            SessionEvent::Unread { what: bad.clone() },
        ];
        for line in shown(None, &events) {
            assert!(
                !line.contains(&token)
                    && !line.contains(char::is_control)
                    && !line.contains('\u{202e}'),
                "{line:?}"
            );
        }
    }
}
