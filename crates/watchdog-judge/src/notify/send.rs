//! Attempts once to bring events to a receiver, whichever kind it is.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::desktop::show_on_desktop;
#[cfg(feature = "webhooks")]
use super::https_post::post_webhook;
use super::mail::send_mail;
use super::message::NoticeMessage;
use super::notified_program::{notified_program, run_notified};
use super::receivers::{JSON, MessagePost, message_post};
pub use super::send_error::SendError;
use watchdog_core::config::settings::NotifyTarget;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_process::ProgramRun;

/// Brings events to a receiver. Programs and bare addresses are sent the first alone: they have one call for each. `commands`
/// name the records that a message is about.
///
/// # Errors
/// Fails if they did not arrive.
pub fn send_events(
    to: &NotifyTarget,
    events: &[&Value],
    commands: &WorktreeCommands,
    timeout: Duration,
) -> Result<(), SendError> {
    let Some(first) = events.first() else {
        return Ok(());
    };
    let word = |key: &str| first[key].as_str().unwrap_or_default();
    let message = || NoticeMessage::about(events, commands);
    match to {
        NotifyTarget::Url(url) => {
            let bare = MessagePost {
                url: url.clone(),
                body: first.to_string(),
                content_type: JSON,
                headers: vec![
                    ("x-watchdog-event", word("kind").into()),
                    ("x-watchdog-delivery", word("id").into()),
                ],
            };
            post_webhook(&bare, timeout)
        }
        NotifyTarget::Command(argv) => {
            let path = word("path");
            let cwd = if Path::new(path).is_dir() { path } else { "/" };
            run_notified(&ProgramRun {
                stdin: first.to_string().into_bytes(),
                cwd: cwd.into(),
                env: build_variables(first),
                ..notified_program(argv, timeout)
            })
        }
        NotifyTarget::Service { url, form } => {
            post_webhook(&message_post(url, form, &message()), timeout)
        }
        NotifyTarget::Desktop => show_on_desktop(&message(), timeout),
        NotifyTarget::Mail(to) => {
            let id = match events {
                [_] => word("id").to_owned(),
                several => format!("{}-{}", word("id"), several.len()),
            };
            send_mail(to, &message(), &id, timeout)
        }
    }
}

/// Sends nothing: this build has no network.
#[cfg(not(feature = "webhooks"))]
fn post_webhook(_: &MessagePost, _: Duration) -> Result<(), SendError> {
    let why = "this watchdog was built without webhooks: build it with --features webhooks";
    Err(SendError::new(why)
        .hint("check the host's name and the network; proxies are those of HTTPS_PROXY"))
}

/// The receiver without possible secrets: the arguments of a program, and all that follows the host of an address, are left out.
pub fn describe_recipient(to: &NotifyTarget) -> String {
    match to {
        NotifyTarget::Command(argv) => argv.first().cloned().unwrap_or_default(),
        NotifyTarget::Url(url) | NotifyTarget::Service { url, .. } => get_origin(url).to_owned(),
        NotifyTarget::Desktop => "desktop".to_owned(),
        NotifyTarget::Mail(to) => format!("mail to {}", to.join(", ")),
    }
}

/// Scheme and host of an address, without credentials before an `@`.
fn get_origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| host + at);
    match url[host..end].rfind('@') {
        Some(at) => &url[host + at + 1..end],
        None => &url[..end],
    }
}

/// The environment variables for a program, beside the event on its stdin.
fn build_variables(event: &Value) -> BTreeMap<OsString, Option<OsString>> {
    let text = |value: &Value| value.as_str().map(OsString::from);
    [
        ("WATCHDOG_EVENT", text(&event["kind"])),
        ("WATCHDOG_STATUS", text(&event["data"]["status"])),
        ("WATCHDOG_REASON", text(&event["data"]["reason"])),
        ("WATCHDOG_WORKTREE", text(&event["path"])),
        ("WATCHDOG_SPEC", text(&event["spec"])),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), value))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_secrets_stay_out_of_the_journal() {
        for (url, expected) in [
            (
                "https://hooks.example.invalid/services/T0/SECRET",
                "https://hooks.example.invalid",
            ),
            (
                "https://api.telegram.org/bot1:SECRET/sendMessage?chat_id=1",
                "https://api.telegram.org",
            ),
            ("http://user:SECRET@host:8080/x", "host:8080"),
            ("http://host?token=SECRET", "http://host"),
            ("http://host", "http://host"),
        ] {
            assert_eq!(describe_recipient(&NotifyTarget::Url(url.into())), expected);
        }
        assert_eq!(
            describe_recipient(&NotifyTarget::Command(vec![
                "curl".into(),
                "-u me:SECRET".into()
            ])),
            "curl"
        );
    }
}
