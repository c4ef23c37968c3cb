//! A message on the user's desktop, by `notify-send`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use super::message::NoticeMessage;
use super::notified_program::{notified_program, run_notified};
use super::send_error::SendError;
use watchdog_facts::display::cut_text;
use watchdog_process::{ProgramRun, desktop_session};

/// So many bytes of the text, and of the title, fit a bubble.
const TEXT: usize = 1000;
const TITLE: usize = 200;

/// Shows a message.
///
/// # Errors
/// Fails if no desktop is reached, or `notify-send` is not there or refuses.
pub fn show_on_desktop(message: &NoticeMessage, timeout: Duration) -> Result<(), SendError> {
    let Some(session) = desktop_session() else {
        return Err(SendError::new(
            "no desktop session is there: no session bus (DBUS_SESSION_BUS_ADDRESS) and no DISPLAY",
        )
        .hint("log in to a desktop of this user, or use `mail` or a service"));
    };
    let env: BTreeMap<OsString, Option<OsString>> = session
        .into_iter()
        .map(|(name, value)| (name.into(), Some(value)))
        .collect();
    let urgency = if message.needs_person {
        "critical"
    } else {
        "normal"
    };
    let room = TEXT.saturating_sub(message.command.len()).max(TEXT / 2);
    let text = escape_markup(&format!(
        "{}\n\n{}",
        cut_text(&message.text, room),
        message.command
    ));
    let title = cut_text(&message.title, TITLE);
    // After `--` nothing is an option.
    let argv = [
        "notify-send",
        "--app-name=watchdog",
        &format!("--urgency={urgency}"),
        "--",
        &title,
        &text,
    ];
    run_notified(&ProgramRun {
        env,
        ..notified_program(argv, timeout)
    })
    .map_err(|error| {
        error.hint_where_missing(
            "install libnotify (libnotify-bin), or name a program with `command`",
        )
    })
}

/// The text as the markup that a bubble reads.
fn escape_markup(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_no_markup() {
        assert_eq!(
            escape_markup("<b>a & b</b>"),
            "&lt;b&gt;a &amp; b&lt;/b&gt;"
        );
    }
}
